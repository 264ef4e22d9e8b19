"""Draw which scores each form brings out, and where it brings out none."""

from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.form_pictures import scores_of_forms


def has(several: Several) -> bool:
    """Return whether judges scored in several forms."""
    return bool(several.findings.select("form_score_share"))


def draw(several: Several) -> None:
    """Draw the matrix of form by score."""
    show(several, scores_of_forms(several.findings, several.dataset), "scores")


VIEW = View("scores", "Scores", has, draw)
