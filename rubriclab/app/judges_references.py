"""Draw which reference answer helps: what its score does to agreement, mean, and bias."""

import streamlit as st

from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.form_pictures import PEOPLE, reference_words, yardsticks_of_forms
from rubriclab.figures.pictures import NO_REFERENCE, REFERENCE, Shown, level_curves
from rubriclab.words.phrases import ci_of
from rubriclab.words.several import short, whom

AGREEMENT = {"spearman": "Spearman's rho", "pearson": "Pearson's r"}
SHIFT = "variant_shift"
MOST_PULLED = 8
"""Sentences about references; the tab Scores shows every share."""


def has(several: Several) -> bool:
    """Return whether judges were shown reference answers of several scores."""
    levels = {about.variant.get(REFERENCE) for about in several.findings.conditions}
    return len(levels - {None}) > 1


def draw(several: Several) -> None:
    """Draw a curve for each measure: along it the score of the reference."""
    findings, dataset = several.findings, several.dataset
    st.markdown(
        f"**Which reference answer helps?** · along the axis its score; {NO_REFERENCE}: no "
        "reference answer"
    )
    curves = {SHIFT: "Change of the mean score"}
    yardsticks = yardsticks_of_forms(findings, dataset)
    if yardsticks:
        # People's scores, or else the first judge's: as in the forms.
        who = whom(findings) if yardsticks[0] == PEOPLE else short(yardsticks[0])
        against = "" if yardsticks[0] == PEOPLE else f":against={yardsticks[0]}"
        agreement = {f"{name}{against}": f"{said} with {who}" for name, said in AGREEMENT.items()}
        curves = agreement | curves
    columns = st.columns(len(curves), gap="medium")
    for column, (measure, title) in zip(columns, curves.items(), strict=True):
        picture = level_curves(findings, measure, REFERENCE, dataset)
        with column:
            note = f"Lines on points: {ci_of(findings)}."
            show(several, Shown(title, picture, note), f"reference-{measure}")
    pulled = reference_words(findings, dataset)
    said = [f"{text}." for text in pulled[:MOST_PULLED]]
    if len(pulled) > MOST_PULLED:
        said.append(f"{len(pulled) - MOST_PULLED} more are in the view Scores.")
    if not said:
        said = ["No reference surely pulls scores to one score."]
    st.markdown(safe(" ".join(said), 2_000))
    st.caption(
        "Hollow: no reference answer. A reference pulls where the CI of a score's share lies "
        "wholly above that of the same score in the default form."
    )


VIEW = View("references", "References", has, draw)
