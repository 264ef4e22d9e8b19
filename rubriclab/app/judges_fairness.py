"""Draw whether consistent judges are fair, and on which comparisons judges part."""

import pandas as pd
import streamlit as st

from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, open_line, show
from rubriclab.figures.choice_pictures import (
    codes_of_judges,
    disagreement_steps,
    fairness_plane,
)


def has(several: Several) -> bool:
    """Return whether several judges chose between the same answers."""
    return len(codes_of_judges(several.findings, several.dataset)) > 1


def draw(several: Several) -> None:
    """Draw |PF| against PC, the steps of disagreement, and the hardest comparisons."""
    left, right = st.columns(2, gap="large")
    with left:
        show(several, fairness_plane(several.findings, several.dataset), "fairness")
    with right:
        show(several, disagreement_steps(several.findings, several.dataset), "disagreement")
    _hardest(several)


def _hardest(several: Several) -> None:
    """List the comparisons on which most judges differ; one opens in Judgments."""
    rows = [
        row
        for row in several.findings.select("hardest")
        if several.findings.conditions[row.condition].dataset == several.dataset
    ]
    if not rows:
        return
    st.markdown("**The hardest comparisons** · most judges differ from the commonest choice")
    texts = several.findings.judgments.table.items.set_index("item_id")
    lines = []
    for row in rows:
        entry = {
            "Comparison": row.of["item"],
            "Order": row.of["order"],
            "Judges that differ": f"{row.value:g} of {row.counts['judges']:g}",
        }
        for column, name in (("instruction", "Question"), ("response", "Answers")):
            if column in texts and row.of["item"] in texts.index:
                entry[name] = str(texts.loc[row.of["item"], column])[:300]
        lines.append(entry)
    key = f"{several.key}-hardest"
    places = [{"tab": "Judgments", "find": str(row.of["item"])} for row in rows]
    st.dataframe(
        pd.DataFrame(lines),
        key=key,
        hide_index=True,
        width="stretch",
        on_select=lambda: open_line(several, key, places),
        selection_mode="single-row",
    )
    st.caption(safe("The box before a line opens its calls in Judgments."))


VIEW = View("fairness", "Fairness", has, draw)
