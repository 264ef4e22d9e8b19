"""What goes along with consistency: cells of judges, tasks and candidates, and the table of what removing each costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.model.judgment import JudgmentTable
from rubriclab.store.store import Store
from rubriclab.topics.what_goes_along import cells_of, what_goes_along
from tests.tables import comparisons, on_two_sets

BOTH = [[0, 1], [1, 0]]
TASKS, OTHERS = ("law", "maths", "code"), ("b", "c", "d", "e", "f")


def judged(rng: np.random.Generator, consistent: float, judge: str) -> JudgmentTable:
    """Each of ten questions a task: “a” against five others; a pair is consistent with this chance, else always first."""
    cells = list(product(TASKS, OTHERS, range(10)))
    right = rng.integers(1, 3, len(cells))
    keeps = rng.random(len(cells)) < consistent
    position = np.stack([np.where(keeps, right, 1), np.where(keeps, 3 - right, 1)], axis=1)
    return comparisons(
        position, BOTH, names=[("a", other) for _, other, _ in cells], judge=judge, task=[task for task, *_ in cells],
        input_length=[10 + k for *_, k in cells], output_length=[5] * len(cells),
    )  # fmt: skip


def judges(*consistent: float) -> JudgmentTable:
    made = [judged(np.random.default_rng(k), share, f"judge {k}") for k, share in enumerate(consistent)]
    rows = [t.rows.assign(condition=k, call=t.rows["call"] + k * len(t.rows)) for k, t in enumerate(made)]
    return replace(made[0], conditions=tuple(t.conditions[0] for t in made), rows=pd.concat(rows, ignore_index=True))


@pytest.mark.papers(58)
def test_the_judge_goes_along_where_judges_differ() -> None:
    rows = {(row.of["outcome"], row.of["term"]): row for row in what_goes_along(Judgments(judges(0.95, 0.6, 0.2)).arms)}
    whole, without = rows["PC", "none"], rows["PC", "judge"]
    assert whole.counts["n"] == 3 * 3 * 5
    assert (whole.value, without.counts["df"], without.why) == (0.0, 2, "chosen_by_aic")
    assert without.value == pytest.approx(without.counts["aic"] - whole.counts["aic"])
    assert without.value == np.nanmax([row.value for (outcome, _), row in rows.items() if outcome == "PC"])
    # PF: each inconsistent pair is one of primacy, so that judge explains it as well; tasks explain nothing.
    assert rows["PF", "judge"].value > 20
    assert rows["PF", "task"].why == "dropped"
    # Every answer has as many signs, so its length is no variable; that of the question is the same in every cell.
    assert not {term for _, term in rows} & {"output_length", "input_length"}


def test_a_cell_by_hand() -> None:
    """Four pairs of one cell: consistent for a, consistent for b, always first, a tie in both (consistent): PC 3/4,
    PF -1/4; a wins (1 + 2 x 1/2) / 4 = 1/2: no gap."""
    table = comparisons([[1, 2], [2, 1], [1, 1], [0, 0]], BOTH, input_length=[2, 4, 0, 2])
    (cell,) = cells_of(Judgments(table).arms[0]).to_dict("records")
    assert (cell["PC"], cell["PF"], cell["quality_gap"], cell["input_length"]) == (0.75, -0.25, 0.0, 2.0)


def test_data_sets_are_told_by_themselves_and_together() -> None:
    table = on_two_sets(judged(np.random.default_rng(0), 0.9, "j"), judged(np.random.default_rng(1), 0.3, "j"))
    rows = list(what_goes_along(Judgments(table).arms))
    assert {(row.condition, row.of.get("dataset")) for row in rows} == {(0, None), (1, None), (0, "all")}


def test_few_cells_have_no_model() -> None:
    table = comparisons([[1, 2], [2, 1]] * 4, BOTH, task=["law", "maths"] * 4)
    assert {row.why for row in what_goes_along(Judgments(table).arms)} == {"few_cells"}


@pytest.mark.papers(59)
def test_lengths_come_from_the_texts_that_the_store_keeps(tmp_path: Path) -> None:
    texts = {"instruction": ["12", "1234"], "response": ["x" * 9, "y" * 4]}
    kept = comparisons([[1, 2], [2, 1]], BOTH, task=["law", "maths"], unit_text=["u", "v"], **texts)
    without = comparisons([[1, 2], [1, 2]], BOTH, task=["law", "maths"], unit_text=["u", "v"])
    with Store.open(tmp_path / "lab.duckdb") as store:
        runs = [store.add_table(replace(table, run=name)) for name, table in (("a", kept), ("b", without))]
        read = [Judgments(store.table(run)) for run in runs]
    cells = cells_of(read[0].arms[0])
    assert cells[["input_length", "output_length"]].to_numpy().tolist() == [[2.0, 9.0], [4.0, 4.0]]
    assert cells_of(read[1].arms[0])["input_length"].isna().all()
    assert {row.why for row in what_goes_along(read[1].arms)} == {"few_cells"}
