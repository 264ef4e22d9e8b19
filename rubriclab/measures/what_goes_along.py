"""Cells of judges, tasks and candidates in; what goes along with PC and PF over them out (Shi et
al., Tables 3 to 8).

A cell is a judge, a task and the candidate beside the baseline. Cells share questions and
candidates, and the quality gap comes from the same calls as PC: what is kept goes along with them,
which is no cause.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from rubriclab.core.estimate import missing, plain
from rubriclab.core.judgments import Arm, grouped
from rubriclab.core.topic import Row, topic
from rubriclab.measures.pairs import but_judge, compared
from rubriclab.stats.stepwise import stepwise

LENGTHS = ("input_length", "output_length")
"""Columns of items: signs of the question, and of all answers, where their texts are kept."""
NONE = "none"
"""The table's row in which nothing is removed."""


@topic("what_goes_along", axes={"pairs", "lists"}, per="run")
def what_goes_along(arms: Sequence[Arm]) -> Iterator[Row]:
    """Of conditions that differ in their judge alone, on each data set; of several data sets also
    together.
    """

    for group in grouped(arms, but_judge):
        datasets = grouped(group, lambda about: about.dataset)
        for part, of in [(part, {}) for part in datasets] + [(group, {"dataset": "all"})] * (
            len(datasets) > 1
        ):
            cells = pd.concat([cells_of(arm) for arm in part], ignore_index=True)
            if len(cells) > 1:
                yield from tables(cells, part[0].code, of)


def cells_of(arm: Arm) -> pd.DataFrame:
    """One row a cell: judge, task, candidate, PC, PF, quality gap and mean lengths."""
    made = compared(arm)
    if not made.parsed.any():
        return pd.DataFrame()
    parsed = made.by_cell(made.parsed)
    with np.errstate(invalid="ignore", divide="ignore"):
        cells = {
            "judge": arm.condition.judge,
            "task": [made.tasks[k] for k in made.task[made.first]],
            "candidate": [made.set_name(k) for k in made.set[made.first]],
            "PC": made.by_cell(made.consistent) / parsed,
            "PF": made.by_cell(made.net) / made.count,
            "quality_gap": np.abs(made.by_cell(made.won) / parsed[:, None] - 1 / made.p).max(
                axis=1
            ),
        }
    items = arm.run.items.iloc[arm.item_code]
    for name in LENGTHS:
        if name in items:
            length = np.array(items[name].fillna(np.nan), dtype=np.float64)
            cells[name] = made.by_cell(length[made.item]) / made.count
    return pd.DataFrame(cells)


def tables(cells: pd.DataFrame, code: int, of: dict[str, str]) -> Iterator[Row]:
    """By how much AIC grows without each variable that was kept, from the whole model on; those
    that were dropped.
    """
    variables = {
        name: pd.factorize(cells[name])[0].astype(np.int64)
        for name in ("judge", "task", "candidate")
    }
    more = {
        name: cells[name].to_numpy(dtype=np.float64)
        for name in ("quality_gap", *LENGTHS)
        if name in cells
    }
    more = {name: values for name, values in more.items() if np.isfinite(values).any()}
    for outcome in ("PC", "PF"):
        made = stepwise(cells[outcome].to_numpy(dtype=np.float64), {**variables, **more})
        about, n = {"outcome": outcome, **of}, {"n": made.n}
        if made.chosen is None:
            yield Row(
                "aic_removed",
                missing("few_cells"),
                {**about, "term": NONE},
                condition=code,
                counts=n,
            )
            continue
        for term, model in {NONE: made.chosen, **made.without}.items():
            counts = {
                "df": made.chosen.k - model.k,
                "sum_sq": model.rss - made.chosen.rss,
                "rss": model.rss,
            }
            change = plain(model.aic - made.chosen.aic, "chosen_by_aic")
            counts |= {**n, "aic": model.aic}
            yield Row("aic_removed", change, {**about, "term": term}, condition=code, counts=counts)
        for term in made.dropped:
            yield Row(
                "aic_removed", missing("dropped"), {**about, "term": term}, condition=code, counts=n
            )
