"""Views of judges together, call by call: how far two agree beyond chance, and the calls they disagree on most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_table import judgments_of
from rubriclab.findings.comparison_together import JudgesTogether
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, number
from rubriclab.stats.judges import Agreement
from rubriclab.store import RunInfo


def chance_frame(group: JudgesTogether, counted: Agreement) -> pd.DataFrame:
    """Two judges a row: the share answered alike and the coefficients that take chance away."""
    rows = []
    for i, j in combinations(range(len(group.judges)), 2):
        cells = [(counted.share[i, j], counted.low[i, j], counted.high[i, j])]
        cells += [(c.value[i, j], c.low[i, j], c.high[i, j]) for c in counted.beyond_chance]
        told = [f"{number(v, '.2f')} {interval((lo, hi), '.2f', brackets=True)}" for v, lo, hi in cells]
        rows.append((f"{group.judges[i]} · {group.judges[j]}", *told, int(counted.n[i, j])))
    names = [msg("judges"), msg("alike"), *(one.name for one in counted.beyond_chance), msg("calls")]
    if len(group.judges) > 2:
        whole = f"{number(counted.alpha, '.2f')} {interval(counted.alpha_ci, '.2f', brackets=True)}"
        gaps = ["–"] * len(counted.beyond_chance)
        rows.append((tr("all"), *gaps, whole, int(group.n_instances)))
    return pd.DataFrame(rows, columns=names)


def hardest(info: RunInfo, group: JudgesTogether, arms: Sequence[Arm]) -> None:
    """The calls that judges disagree on most; of the chosen one its judgments."""
    st.markdown(tr("**The calls judges disagree on most**"), help=ui.about("disagreement"))
    if not group.hardest:
        st.caption(tr("No call on which two judges disagree."))
        return
    rows = [
        (hard.prompt, hard.task, " | ".join(hard.shown), hard.disagreement, *hard.choices.values())
        for hard in group.hardest
    ]
    frame = pd.DataFrame(rows, columns=[msg("prompt"), "task", msg("shown"), msg("differ"), *group.judges])
    chosen = uf.table(frame, key="comparison-hardest", select=True)
    if chosen and chosen[0] < len(group.hardest):
        hard = group.hardest[chosen[0]]
        codes = [
            code
            for code, arm in enumerate(arms)
            if arm.judge in group.judges and arm.dataset == group.dataset and arm.axis == group.axis
        ]
        judgments_of(info, [hard.item], codes, key=f"comparison-hard-{chosen[0]}")
