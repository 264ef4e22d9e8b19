"""Draw the tab Judges: how several judges, or data sets, compare, one view at a time."""

from dataclasses import replace

import streamlit as st

from rubriclab.app import (
    judges_agreement,
    judges_axes,
    judges_baseline,
    judges_company,
    judges_factors,
    judges_fairness,
    judges_forms,
    judges_gap,
    judges_overview,
    judges_paper_table,
    judges_people,
    judges_positions,
    judges_references,
    judges_scores,
    judges_tasks,
    judges_ways,
    viewport,
)
from rubriclab.app.judges_view import Several, View

VIEWS: tuple[View, ...] = (
    judges_ways.VIEW,
    judges_company.VIEW,
    judges_overview.VIEW,
    judges_positions.VIEW,
    judges_paper_table.VIEW,
    judges_axes.VIEW,
    judges_people.VIEW,
    judges_forms.VIEW,
    judges_references.VIEW,
    judges_scores.VIEW,
    judges_tasks.VIEW,
    judges_fairness.VIEW,
    judges_gap.VIEW,
    judges_agreement.VIEW,
    judges_baseline.VIEW,
    judges_factors.VIEW,
)
"""All views, in the order of their pills."""


def views_of(several: Several) -> list[View]:
    """Return the views that have something to draw."""
    return [view for view in VIEWS if view.has(several)]


def is_shown(several: Several) -> bool:
    """Return whether there is anything to compare: judges, data sets, ways to ask, or forms.

    One judge that was asked in several forms has the views of forms, which no other tab draws. So
    has one that was asked for its criteria together and alone.
    """
    asked = {about.reorder for about in several.findings.conditions}
    several_of_one = (several.judges, several.datasets, asked)
    of_one = judges_forms.has(several) or judges_company.has(several)
    compared = max(map(len, several_of_one)) > 1 or of_one
    return compared and bool(views_of(several))


def draw(several: Several) -> None:
    """Draw the pills and the chosen view. The address keeps the view's slug."""
    views = {view.slug: view for view in views_of(several)}
    if not views:
        return
    slugs = list(views)
    key = f"{several.key}-view"
    if st.session_state.get(key) not in slugs:
        wanted = st.query_params.get("view", "")
        # Links that were made before slugs have the pill's own words.
        by_name = {view.name: slug for slug, view in views.items()}
        st.session_state[key] = by_name.get(wanted, wanted if wanted in slugs else slugs[0])

    def choose() -> None:
        st.query_params["view"] = st.session_state[key]

    chosen = st.segmented_control(
        "View",
        slugs,
        format_func=lambda slug: views[slug].name,
        key=key,
        required=True,
        on_change=choose,
        label_visibility="collapsed",
    )
    narrow = viewport.is_narrow(f"{several.key}-viewport")
    views[str(chosen)].draw(replace(several, narrow=narrow))
