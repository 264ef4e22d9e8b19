"""Draw whether consistent judges are fair, and on which comparisons judges part."""

import pandas as pd
import streamlit as st

from rubriclab.app.judges_view import Several, View, open_line, show
from rubriclab.figures.choice_pictures import (
    codes_of_judges,
    disagreement_steps,
    fairness_plane,
)
from rubriclab.model.text import shorten
from rubriclab.words.compact import hard_lines


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
    hard = hard_lines(several.findings, several.dataset)
    if not hard:
        return
    st.markdown("**The hardest comparisons** · most judges differ from the commonest choice")
    questions = several.questions()
    table = pd.DataFrame(
        [
            {
                "Question": shorten(questions.get(line.item) or line.prompt or line.item, 160),
                "Answers as shown": line.shown,
                "Calls that chose each": line.tally,
                "Judges that differ": line.differ,
            }
            for line in hard
        ]
    )
    key = f"{several.key}-hardest"
    places = [{"tab": "Judgments", "find": line.item} for line in hard]
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        width="stretch",
        on_select=lambda: open_line(several, key, places),
        selection_mode="single-row",
    )
    st.caption("The box before a line opens its calls in Judgments.")


VIEW = View("fairness", "Fairness", has, draw)
