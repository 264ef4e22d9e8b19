"""The difference of two arms that reorder criteria."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.findings.contrast_results import (
    FEW,
    MEAN_SCORE,
    R_WITH_HUMANS,
    Cells,
    Contrast,
    Drawn,
    Side,
    cells_of,
    delta_of,
    differing,
    judged,
    made_contrast,
    measure_of,
)
from rubriclab.findings.criteria_rows import ItemSums, item_sums
from rubriclab.findings.frame import Bools
from rubriclab.findings.matching import Matched, item_keys, matched, resampled
from rubriclab.model import Arm, LabError
from rubriclab.model.language import tr
from rubriclab.stats import alignment as agree
from rubriclab.stats import contrast as stats
from rubriclab.stats.criteria import position_shifts
from rubriclab.stats.inference import Floats, Ints, sum_by


@dataclass(frozen=True)
class _Scored:
    """One arm of the criteria axis cut down to some criteria, in their order (``criterion``)."""

    sums: ItemSums
    human: Floats

    @classmethod
    def of(cls, side: Side, sums: ItemSums, names: Sequence[str]) -> _Scored:
        rank = np.full(len(sums.names), -1, dtype=np.int64)
        for place, name in enumerate(names):
            rank[sums.names.index(name)] = place
        at = np.flatnonzero(rank[sums.criterion] >= 0)
        kept = replace(
            sums,
            names=tuple(names),
            item_code=sums.item_code[at],
            text=sums.text[at],
            criterion=rank[sums.criterion[at]],
            sums=sums.sums[at],
            counts=sums.counts[at],
            squares=sums.squares[at],
        )
        human = side.data.items["human"].to_numpy().astype(np.float64)[kept.item_code]
        return cls(kept, human)

    @property
    def rated(self) -> Bools:
        """Of each item: read, with a human rating."""
        return np.asarray((self.sums.counts.sum(axis=1) > 0) & np.isfinite(self.human))

    def by_unit(self, at: Ints, unit: Ints, n_units: int, kept: Bools, reads: int) -> Floats:
        """(units, criteria x (2 positions + 6)): sums and counts of scores, moments.

        The moments are of means of ``reads`` reads (see ``contrast_options``).
        """
        sums, n = self.sums, len(self.sums.names)
        criterion, moments = sums.criterion[at], np.zeros((len(at), 6))
        read = sums.counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums.sums.sum(axis=1) / read
            variance = np.maximum(sums.squares - read * mean**2, 0.0) / (read - 1)
            fewer = np.minimum(reads, read)
            extra = np.where(fewer < read, variance * (1 / fewer - 1 / read), 0.0)
        for c in range(n):
            mine = kept & (criterion == c)
            moments[mine] = agree.moments(mean[at[mine]], self.human[at[mine]])
            moments[mine, 3] += extra[at[mine]]
        rows = np.hstack([sums.sums[at], sums.counts[at], moments])
        return sum_by(unit * n + criterion, rows, n_units * n).reshape(n_units, -1)


@dataclass(frozen=True)
class _Shifted:
    """Totals of one arm, then draws: sums and counts by criterion and place, r of each."""

    sums: tuple[Floats, Floats]
    counts: tuple[Floats, Floats]
    r: tuple[float, Floats]

    @classmethod
    def of(cls, totals: Floats, draws: Floats, n: int, places: int) -> _Shifted:
        tables = totals.reshape(n, -1), draws.reshape(len(draws), n, -1)
        sums, counts, r = (
            [part[..., cut] for part in tables]
            for cut in (slice(places), slice(places, 2 * places), slice(2 * places, None))
        )
        macro = [stats.mean_known(agree.r_of_moments(part), axis=-1) for part in r]
        return cls((sums[0], sums[1]), (counts[0], counts[1]), (float(macro[0]), macro[1]))

    def shift(self, drawn: bool) -> Floats:
        return position_shifts(self.sums[drawn], self.counts[drawn]).shift

    def mean(self, criteria: slice) -> tuple[float, Floats]:
        """Mean score over some criteria, and its draws."""
        with np.errstate(invalid="ignore"):
            one, many = (
                sums[..., criteria, :].sum(axis=(-2, -1)) / counts[..., criteria, :].sum(axis=(-2, -1))
                for sums, counts in zip(self.sums, self.counts, strict=True)
            )
        return float(one), np.asarray(many)


def criteria_contrast(a: Side, b: Side, seed: int, n_boot: int) -> Contrast:
    found_a, found_b = (item_sums(side.data, side.arm, side.judgments) for side in (a, b))
    used_a, used_b = _used(found_a), _used(found_b)
    names = [name for name in used_a if name in used_b]
    if not names:
        raise LabError(tr("These two cannot be compared: they have no criterion in common."))
    one, two = _Scored.of(a, found_a, names), _Scored.of(b, found_b, names)
    keys = item_keys(a.data, one.sums.item_code, b.data, two.sums.item_code)
    match = matched(keys[0], keys[1], one.sums.text, two.sums.text, changed=keys[2])
    rated_a, rated_b = one.rated[match.at_a], two.rated[match.at_b]
    if match.paired:
        rated_a = rated_b = rated_a & rated_b
    reads = min(one.sums.reads, two.sums.reads)
    sums_a = one.by_unit(match.at_a, match.unit_a, match.units_a, rated_a, reads)
    sums_b = two.by_unit(match.at_b, match.unit_b, match.units_b, rated_b, reads)
    drawn_a, drawn_b = resampled(sums_a, sums_b, paired=match.paired, n_boot=n_boot, seed=seed)
    n, places = len(names), a.arm.n_positions
    side_a, side_b = (_Shifted.of(*drawn, n, places) for drawn in (drawn_a, drawn_b))
    cells = _criterion_cells(names, a.arm, (side_a, sums_a), (side_b, sums_b), match)
    deltas = _deltas(names, (side_a, sums_a), (side_b, sums_b), match)
    rated = int(min(rated_a.sum(), rated_b.sum()))
    if rated > 1:
        known = side_a.r, side_b.r
        deltas.append(delta_of(R_WITH_HUMANS, "agreement", *known, rated, match.units))
    other = sorted(set(used_a) ^ set(used_b))
    warnings = list(_criterion_warnings(other, cells is not None))
    if rated > 1 and one.sums.reads != two.sums.reads:
        warnings.append(
            tr(
                "The budgets differ, {first} against {second} reads a score, and more reads alone raise "
                "agreement with humans: r is that of means of {reads} in both.",
                first=one.sums.reads,
                second=two.sums.reads,
                reads=reads,
            )
        )
    every = judged(a, b, match.units, "text", deltas)
    return made_contrast(a, b, match, "text", seed, n_boot, cells, every, warnings)


def _deltas(
    names: Sequence[str], one: tuple[_Shifted, Floats], two: tuple[_Shifted, Floats], match: Matched
) -> list[Drawn]:
    """Mean scores, over all criteria and of each."""
    (a, sums_a), (b, sums_b) = one, two
    items, n = min(len(match.at_a), len(match.at_b)), len(names)
    whole: list[tuple[str, slice]] = [(MEAN_SCORE, slice(None))]
    each = [(measure_of(name), slice(k, k + 1)) for k, name in enumerate(names)]
    # Of each unit and criterion the sum of its scores and how many there are.
    places = a.sums[0].shape[-1]
    of_a, of_b = (
        sums.reshape(len(sums), n, -1)[..., : 2 * places].reshape(len(sums), n, 2, places).sum(-1)
        for sums in (sums_a, sums_b)
    )
    deltas = []
    for measure, which in whole + each:
        totals = [part[:, which].sum(axis=1).T for part in (of_a, of_b)]
        differ = differing((totals[0][0], totals[0][1]), (totals[1][0], totals[1][1]), match)
        sides = a.mean(which), b.mean(which)
        deltas.append(delta_of(measure, "score", *sides, items, match.units, differ))
    return deltas


def _criterion_cells(
    names: Sequence[str], arm: Arm, a: tuple[_Shifted, Floats], b: tuple[_Shifted, Floats], match: Matched
) -> Cells | None:
    """None where an arm shows no criterion at several places."""
    n, places = len(names), arm.n_positions
    seen = [(sums.reshape(-1, n, 2 * places + 6)[..., places : 2 * places] > 0).sum(axis=0) for _, sums in (a, b)]
    several = [((table > 0).sum(axis=1) > 1) for table in seen]
    if not (several[0] & several[1]).any():
        return None
    usable = (np.minimum(*seen) >= FEW) & (several[0] & several[1])[:, None]
    of_a, of_b = (
        np.where(some[:, None], side.shift(False), np.nan) for some, (side, _) in zip(several, (a, b), strict=True)
    )
    draws = a[0].shift(True) - b[0].shift(True)
    most = float(np.ptp(arm.scores)) if arm.scores else np.inf
    return cells_of("criterion", names, of_a, of_b, draws, usable, match.units, most=2.0 * most)


def _criterion_warnings(other: Sequence[str], moved: bool) -> Iterator[str]:
    if other:
        listed = ", ".join(other[:6]) + (" …" if len(other) > 6 else "")
        yield tr("Criteria that only one of the two scores are left out: {names}.", names=listed)
    if not moved:
        yield tr(
            "In one of the two every criterion stands at one place only, so there are no shifts to compare. "
            "Use balanced, Williams or random orders."
        )


def _used(sums: ItemSums) -> list[str]:
    """Names of the criteria that an arm scores, in the run's order."""
    return [sums.names[c] for c in np.unique(sums.criterion)]
