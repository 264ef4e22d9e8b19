"""Draw what the form of the rubric changes: scores, and agreement with people or a judge."""

import streamlit as st

from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.form_pictures import (
    PEOPLE,
    agreement_by_form,
    best_form,
    changes_by_form,
    has_forms,
    table_of_forms,
    yardsticks_of_forms,
)
from rubriclab.words.several import whom


def has(several: Several) -> bool:
    """Return whether judges that score were asked in several forms."""
    return has_forms(several.findings)


def draw(several: Several) -> None:
    """Draw which form agrees best, what each form changes, and rho and r of every form."""
    findings, dataset = several.findings, several.dataset
    yardstick = _yardstick(several)
    if yardstick:
        if said := best_form(findings, dataset, yardstick):
            st.markdown(safe(said, 2_000))
        show(several, agreement_by_form(findings, dataset, yardstick), f"forms-{yardstick}")
    show(several, changes_by_form(findings, dataset), "forms-changes")
    if yardstick:
        show(several, table_of_forms(findings, dataset, yardstick), f"forms-table-{yardstick}")


def _yardstick(several: Several) -> str:
    """Ask whom the judges are compared with, if there are several; empty where there is nobody."""
    findings, dataset = several.findings, several.dataset
    yardsticks = yardsticks_of_forms(findings, dataset)
    if len(yardsticks) < 2:
        return yardsticks[0] if yardsticks else ""
    chosen = st.selectbox(
        "Compare with",
        yardsticks,
        format_func=lambda name: whom(findings) if name == PEOPLE else name,
        key=f"{several.key}-forms-{dataset}",
    )
    return chosen or yardsticks[0]


VIEW = View("forms", "Forms", has, draw)
