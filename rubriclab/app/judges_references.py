"""Draw which reference answer helps: what its score does to agreement, mean, and bias."""

import streamlit as st

from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.pictures import Shown, level_curves
from rubriclab.words.phrases import ci

FACTOR = "reference"
CURVES = {
    "spearman": "Spearman's rho",
    "pearson": "Pearson's r",
    "variant_shift": "Change of the mean score",
}


def has(several: Several) -> bool:
    """Return whether judges were shown reference answers of several scores."""
    levels = {about.variant.get(FACTOR) for about in several.findings.conditions}
    return len(levels - {None}) > 1


def draw(several: Several) -> None:
    """Draw a curve for each measure: along it the score of the reference, 0 for none."""
    st.markdown("**Which reference answer helps?** · along the axis its score; 0: no reference")
    columns = st.columns(len(CURVES), gap="medium")
    for column, (measure, title) in zip(columns, CURVES.items(), strict=True):
        picture = level_curves(several.findings, measure, FACTOR, several.dataset)
        with column:
            note = f"Lines on points: {ci()}."
            show(several, Shown(title, picture, note), f"reference-{measure}")


VIEW = View("references", "References", has, draw)
