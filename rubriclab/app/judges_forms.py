"""Draw whether the form of the rubric changes how well judges agree with people."""

from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.form_pictures import agreement_by_form, has_forms


def has(several: Several) -> bool:
    """Return whether forms can be compared in how well they agree with people."""
    return has_forms(several.findings) and bool(several.findings.select("pearson"))


def draw(several: Several) -> None:
    """Draw rho and r of every form, and the differences from the default."""
    show(several, agreement_by_form(several.findings, several.dataset), "forms")


VIEW = View("forms", "Forms", has, draw)
