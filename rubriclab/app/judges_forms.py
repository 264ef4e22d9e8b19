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
    """Draw which form agrees best, rho and r of every form, and what each form changes."""
    _agreement(several)
    show(several, changes_by_form(several.findings, several.dataset), "forms-changes")


def _agreement(several: Several) -> None:
    """Draw rho and r of every form, and the differences from the default."""
    findings, dataset = several.findings, several.dataset
    yardsticks = yardsticks_of_forms(findings, dataset)
    if not yardsticks:
        return
    yardstick = yardsticks[0]
    if len(yardsticks) > 1:
        chosen = st.selectbox(
            "Compare with",
            yardsticks,
            format_func=lambda name: whom(findings) if name == PEOPLE else name,
            key=f"{several.key}-forms-{dataset}",
        )
        yardstick = chosen or yardstick
    if said := best_form(findings, dataset, yardstick):
        st.markdown(safe(said, 2_000))
    show(several, agreement_by_form(findings, dataset, yardstick), f"forms-{yardstick}")
    show(several, table_of_forms(findings, dataset, yardstick), f"forms-table-{yardstick}")


VIEW = View("forms", "Forms", has, draw)
