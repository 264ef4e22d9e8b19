"""Draw the view Factors of the tab Judges."""

from rubriclab.app.judges_view import Several, View


def has(several: Several) -> bool:
    """Return whether there is something to draw."""
    return not several


def draw(several: Several) -> None:
    """Draw the view."""
    assert several


VIEW = View("Factors", has, draw)
