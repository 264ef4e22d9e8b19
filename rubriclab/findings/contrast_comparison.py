"""The difference of two arms of pairs or lists."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rubriclab.findings.comparison_cells import Cells, cells_of, fairness_rows
from rubriclab.findings.contrast_results import Contrast, Delta, Kind, Side, held, made_contrast
from rubriclab.findings.matching import item_keys, matched
from rubriclab.findings.series import ArmCalls, ArmSeries, RunCodes, arm_series, dense
from rubriclab.model import LabError
from rubriclab.model.language import msg, tr
from rubriclab.stats import comparison as pairs
from rubriclab.stats.advantage import clustered_difference
from rubriclab.stats.inference import Floats, Interval, Ints


@dataclass(frozen=True)
class _Compared:
    """One arm's complete series; a comparison is an item with a set of candidates.

    ``of``: the comparison of each series; ``item``, ``set``: of each comparison; ``sets``: the
    sets' names; ``question``: of each comparison, what is resampled; ``lead``: of each series, wins of
    the first place less wins of the last, by probabilities where ``first_place`` is.
    """

    run: RunCodes
    series: ArmSeries
    p: int
    of: Ints
    item: Ints
    set: Ints
    sets: tuple[str, ...]
    question: Ints
    lead: Floats

    @classmethod
    def of_side(cls, side: Side) -> _Compared:
        run = RunCodes.of(side.data)
        calls = ArmCalls.of(side.data, run, side.code, side.arm)
        series = arm_series(run, calls)
        width = max(len(series.members), 1)
        known, of = dense(series.item * width + series.set)
        sets = tuple("\x1f".join(run.names[c] for c in row) for row in series.members)
        item, soft = known // width, calls.soft_wins()
        wins = (calls.wins() if soft is None else soft)[series.calls].mean(axis=1)
        lead = wins[:, 0] - wins[:, -1]
        return cls(run, series, calls.p, of, item, known % width, sets, run.question[item], lead)

    def rows(self, at: Ints, unit: Ints) -> dict[str, tuple[float, Floats, Ints]]:
        """Each measure over the comparisons ``at``: its value, rows whose mean it is, their units."""
        of_comparison = np.full(len(self.item), -1, dtype=np.int64)
        of_comparison[at] = unit
        of_series = of_comparison[self.of]
        kept = of_series >= 0
        classes = self.series.classes
        classes = classes._replace(**{name: part[kept] for name, part in classes._asdict().items()})
        series = replace(
            self.series,
            classes=classes,
            item=self.series.item[kept],
            set=self.series.set[kept],
            positions=self.series.positions[kept],
        )
        return _measured(cells_of(self.run, series, self.p), series, of_series[kept], self.p, self.lead[kept])


def _measured(
    cells: Cells, series: ArmSeries, unit: Ints, p: int, lead: Floats
) -> dict[str, tuple[float, Floats, Ints]]:
    rates = pairs.rates(cells.total, p=p)
    kind, unread = series.classes.kind, series.classes.unread
    whole = kind != pairs.UNREADABLE
    of = unread + p * whole
    error = float(rates.error)
    lost = error + len(of) * (unread - error * of) / max(float(of.sum()), 1.0)
    advantage = float(lead[whole].mean()) if whole.any() else float("nan")
    return {
        "advantage": (advantage, lead[whole], unit[whole]),
        "pc": (float(rates.pc), (kind[whole] == pairs.CONSISTENT).astype(np.float64), unit[whole]),
        "error": (error, lost, unit),
        "pf": (float(rates.pf), fairness_rows(cells, np.arange(len(cells.total))), unit),
    }


def comparison_contrast(a: Side, b: Side, seed: int, n_boot: int) -> Contrast:
    one, two = _Compared.of_side(a), _Compared.of_side(b)
    if not len(one.item) or not len(two.item):
        raise LabError(tr("One of the two has no comparison that was shown in every order."))
    item_a, item_b, changed = item_keys(a.data, one.item, b.data, two.item)
    sets = {name: code for code, name in enumerate(dict.fromkeys((*one.sets, *two.sets)))}
    key_a, key_b = (
        item * len(sets) + np.array([sets[name] for name in side.sets], dtype=np.int64)[side.set]
        for item, side in ((item_a, one), (item_b, two))
    )
    match = matched(key_a, key_b, one.question, two.question, changed=changed)
    rows_a, rows_b = one.rows(match.at_a, match.unit_a), two.rows(match.at_b, match.unit_b)
    # Units of two runs that are not paired are not the same units.
    apart = 0 if match.paired else match.units_a
    items = min(len(match.at_a), len(match.at_b))
    itself = a.arm == b.arm and one.series.positions.tolist() == two.series.positions.tolist()
    deltas = []
    for measure, name, kind in _RATES:
        (value_a, of_a, unit_a), (value_b, of_b, unit_b) = rows_a[name], rows_b[name]
        bound = 1.0 if kind == "rate" else 2.0
        ci, ci_all = (
            clustered_difference(of_a, unit_a, of_b, unit_b + apart, bound=bound, level=level)[1]
            for level in (0.95, 1.0 - 0.05 / len(_RATES))
        )
        if itself and match.paired:  # an arm less itself is no sample of anything
            ci = ci_all = Interval(0.0, 0.0)
        delta = Delta(measure, kind, value_a, value_b, value_a - value_b, ci, items, ci_all)
        deltas.append(held(a, b, match.units, "question", delta))
    return made_contrast(a, b, match, "question", seed, n_boot, None, deltas, ())


_RATES: tuple[tuple[str, str, Kind], ...] = (
    (msg("advantage of the first place"), "advantage", "advantage"),
    (msg("consistency (PC)"), "pc", "rate"),
    (msg("unreadable"), "error", "rate"),
    (msg("fairness (PF)"), "pf", "fairness"),
)
