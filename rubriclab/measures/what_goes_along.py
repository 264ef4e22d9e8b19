"""Find what goes along with PC and PF over cells of judges, tasks and candidates.

Source: Shi et al., Tables 3 to 8.

A cell is a judge, a task and the candidate that is compared with the baseline. Cells share
questions and candidates, and the quality gap comes from the same calls as PC: a variable that is
kept goes along with PC or PF, which does not make it a cause.

Variables are selected stepwise in both directions on least squares (Shi et al., Appendix E). AIC is
n log(RSS / n) + 2 k with k the fitted parameters of the mean, which is what the paper's tables show
(Table 5: n = 3,360, RSS 61.974, k = 52 gives -13,312).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.core.estimate import missing, plain
from rubriclab.core.judgments import Arm, grouped
from rubriclab.core.topic import Row, topic
from rubriclab.measures.pairs import but_judge, compared
from rubriclab.model.judgment import LENGTHS
from rubriclab.stats.resample import Floats, Ints

# ------------------------------------------------------------------------------- stepwise selection
ALMOST = 1e-9


class Model(NamedTuple):
    """``k`` parameters; ``rss``: residual sum of squares; ``aic``."""

    k: int
    rss: float
    aic: float


class Stepwise(NamedTuple):
    """The result of stepwise selection over ``n`` cells.

    chosen: None where cells are fewer than parameters + 2 or the outcome never varies.
    without: the model without each variable that was kept. ``dropped``: the other variables.
    """

    n: int
    chosen: Model | None
    without: dict[str, Model]
    dropped: tuple[str, ...]


def stepwise(y: Floats, variables: Mapping[str, Floats | Ints]) -> Stepwise:
    """Remove or add the variable that lowers AIC most, from all variables on, until none does.

    ``y``: (cells,). ``variables``: name -> (cells,), integers are categories, floats numbers; a
    variable enters and leaves whole. Cells with a NaN are left out, and so are variables that take
    one value.
    """
    kept = np.isfinite(y) & np.all([np.isfinite(values) for values in variables.values()], axis=0)
    y = y[kept]
    blocks = {
        name: block
        for name, values in variables.items()
        if (block := _columns(values[kept])).shape[1]
    }
    parameters = 1 + sum(block.shape[1] for block in blocks.values())
    if not blocks or len(y) < parameters + 2 or np.ptp(y) == 0:
        return Stepwise(len(y), None, {}, ())
    names, current = list(blocks), _fit(y, list(blocks.values()))
    # Ends, as no set comes twice: AIC falls, or a variable that others imply leaves at equal AIC.
    while True:
        moves = []
        for name in blocks:
            # Without the variable if the model has it, else with it.
            after = [other for other in blocks if (other in names) != (other == name)]
            moves.append((_fit(y, [blocks[other] for other in after]), name not in names, after))
        best, adds, after = min(moves, key=lambda move: round(move[0].aic, 9))
        worst_allowed = current.aic - ALMOST if adds else current.aic + ALMOST
        if best.aic > worst_allowed:
            break
        names, current = after, best
    without = {name: _fit(y, [blocks[other] for other in names if other != name]) for name in names}
    return Stepwise(len(y), current, without, tuple(name for name in blocks if name not in names))


def _columns(values: Floats | Ints) -> Floats:
    """(cells, k) columns of a design beside a constant; k = 0 of one value."""
    if values.dtype.kind in "iu":
        levels, code = np.unique(values, return_inverse=True)
        return np.asarray((code[:, None] == np.arange(1, len(levels))).astype(np.float64))
    spread = float(values.std()) if len(values) else 0.0
    # Lengths in the thousands beside shares would spoil the rank.
    return (
        ((values - values.mean()) / spread)[:, None] if spread > 0 else np.zeros((len(values), 0))
    )


def _fit(y: Floats, blocks: list[Floats]) -> Model:
    """Least squares on a constant and the blocks; columns that others imply cost no parameter."""
    n = len(y)
    design = np.column_stack([np.ones(n), *blocks])
    solution, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    # A perfect fit has no finite AIC; rounding is the floor that keeps models comparable.
    least = n * (np.finfo(np.float64).eps * float(np.abs(y).max())) ** 2
    rss = max(float(np.square(y - design @ solution).sum()), least)
    return Model(int(rank), rss, n * float(np.log(rss / n)) + 2 * int(rank))


# --------------------------------------------------------------------------------- the topic's rows
NONE = "none"
"""The table's row in which nothing is removed."""


@topic("what_goes_along", axes={"pairs", "lists"}, per="run", joins_judges=True)
def what_goes_along(arms: Sequence[Arm]) -> Iterator[Row]:
    """Yield rows for conditions that differ only in their judge, on each data set and on all.

    On all of them the data set is a variable too. Where tasks or candidates imply it, it is dropped
    first, as in the paper's Tables 3 and 4.
    """
    for group in grouped(arms, but_judge):
        datasets = grouped(group, lambda about: about.dataset)
        parts: list[tuple[list[Arm], dict[str, str]]] = [(part, {}) for part in datasets]
        if len(datasets) > 1:
            parts.append((group, {"dataset": "all"}))
        for part, of in parts:
            cells = pd.concat([cells_of(arm) for arm in part], ignore_index=True)
            if len(cells) > 1:
                yield from tables(cells, part[0].code, of)


def cells_of(arm: Arm) -> pd.DataFrame:
    """One row a cell: judge, data set, task, candidate, PC, PF, quality gap and mean lengths."""
    made = compared(arm)
    if not made.parsed.any():
        return pd.DataFrame()
    parsed = made.by_cell(made.parsed)
    with np.errstate(invalid="ignore", divide="ignore"):
        cells = {
            "judge": arm.condition.judge,
            "dataset": arm.condition.dataset,
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
    """Yield how much AIC grows without each variable that was kept, then the dropped ones."""
    variables = {
        name: pd.factorize(cells[name])[0].astype(np.int64)
        for name in ("judge", "dataset", "task", "candidate")
    }
    more = {
        name: cells[name].to_numpy(dtype=np.float64)
        for name in ("quality_gap", *LENGTHS)
        if name in cells
    }
    # Cells without a value are left out: a length that a whole data set lacks would leave it out.
    known = {name: np.isfinite(values) for name, values in more.items()}
    more = {
        name: values
        for name, values in more.items()
        if pd.Series(known[name]).groupby(cells["dataset"]).any().all()
    }
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
