"""Every way to spend calls on an item, and how far each lies from the mean over the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.findings.debiasing_reads import Grid, Group, Source
from rubriclab.findings.frame import Bools, count_table
from rubriclab.model.language import msg
from rubriclab.stats import debiasing as stats
from rubriclab.stats.choice import fit_choice, layout
from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import Floats, Interval, Ints, sum_by_unit
from rubriclab.stats.ordering import canonical, ordering_costs
from rubriclab.stats.position import position_given_score

CALLS = (1, 2, 3, 5, 10)


@dataclass
class Tally:
    """Sums per item of one method over splits: squared distances, and what of them is the
    reference's own noise; per split the estimates, for Pearson's r.

    ``estimates``: (items,) a split, NaN for items not held out or not known.
    """

    squared: Floats
    noise: Floats
    count: Floats
    estimates: list[Floats] = field(default_factory=list)
    split_means: list[float] = field(default_factory=list)

    def add(self, estimate: Floats, reference: Floats, noise: Floats, held_out: Ints) -> None:
        """``held_out``: items of this split; ``estimate``, ``reference`` and its ``noise`` theirs."""
        gap = (estimate - reference) ** 2
        known = np.isfinite(gap) & np.isfinite(noise)
        at = held_out[known]
        self.squared[at] += gap[known]
        self.noise[at] += noise[known]
        self.count[at] += 1
        mean = distance(gap[known].mean(), noise[known].mean()) if known.any() else np.nan
        self.split_means.append(float(mean))
        spread_out = np.full(len(self.squared), np.nan)
        spread_out[held_out] = estimate
        self.estimates.append(spread_out)

    def moments(self, human: Floats) -> tuple[Bools, Floats, Floats]:
        """What Pearson's r needs, an item a column: (known (splits, items), then
        (3, splits, items) 1, y, yy, which methods share, and x, xx, xy, which they do not)."""
        x = np.stack(self.estimates)
        known = np.isfinite(x) & np.isfinite(human)
        x, y = np.where(known, x, 0.0), np.where(known, human, 0.0)
        shared = np.stack([known.astype(np.float64), y, y * y])
        return known, shared, np.stack([x, x * x, x * y])


Key = tuple[str, int]
CONTROL = msg("shrunk, order ignored")
"""One call drawn towards the mean as the debiaser is, without regard to the order."""
CHEAPEST = msg("best ordering")


def distance(squared: Floats | float, noise: Floats | float) -> Floats:
    """Root mean square distance from the reference less the reference's own noise.

    E (x - reference)^2 = E (x - truth)^2 + Var(reference) for a reference whose noise is not x's.
    """
    return np.asarray(np.sqrt(np.maximum(np.asarray(squared) - noise, 0.0)))


def split_tallies(
    group: Group, source: Source, readable: Bools, probe_size: int, splits: int, seed: int, target: Group | None = None
) -> tuple[dict[Key, Tally], Floats | None]:
    """Repeat: draw a probe, learn from it, measure every method on the other items.

    ``target``: on all of its items instead; it was asked as ``group`` was. The probes are the same
    either way, so that what is tried there is what was learnt here.
    """
    probes, rng = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    measured = target or group
    n_items = len(measured.human)
    tallies: dict[Key, Tally] = {}
    priors: list[Floats] = []
    columns = group.reference.column_ordering
    n_reads = group.reference.score.shape[1]
    cut = stats.halves(group.reference.position[columns]) if columns is not None else None
    ways = (cut.first, cut.second) if cut else (np.arange(0, n_reads, 2), np.arange(1, n_reads, 2))
    values = measured.reference.values(source)
    usable = np.flatnonzero(readable)
    for split in range(splits):
        order = probes.permutation(usable)
        probe, held_out = np.sort(order[:probe_size]), np.sort(order[probe_size:])
        held_out = held_out if target is None else np.arange(n_items)
        own, other = (ways[0], ways[1]) if split % 2 == 0 else (ways[1], ways[0])
        reference = _mean(values[held_out][:, other])
        # Two halves of one size that share no read: half of their squared difference.
        noise = 0.5 * (_mean(values[held_out][:, own]) - reference) ** 2
        learned = learn(group.reference, probe, source)
        if learned is not None:
            priors.append(learned.prior)
        for key, estimate in _methods(group, measured, source, held_out, own, probe, learned, rng):
            tally = tallies.setdefault(key, Tally(np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)))
            tally.add(estimate, reference, noise, held_out)
    return tallies, np.mean(priors, axis=0) if priors else None


def _mean(values: Floats) -> Floats:
    """Row means of what was read; NaN for rows without."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@dataclass(frozen=True)
class Learned:
    """What the probe taught: the place prior; for counts the probe items' content and means."""

    prior: Floats
    content: Floats
    means: Floats


def learn(grid: Grid, probe: Ints, source: Source) -> Learned | None:
    """The position prior from the probe items' reads; None where they cannot give one."""
    row, column = np.nonzero(grid.score[probe] >= 0)
    ordering, choice = grid.ordering[probe][row, column], grid.score[probe][row, column]
    values = _mean(grid.values(source)[probe])
    if source == "probabilities" and grid.chances is not None:
        chances = grid.chances[probe][row, column]
        if not len(chances):
            return None
        places_alone = stats.position_prior(chances, row, grid.position[ordering])
        return None if places_alone is None else Learned(places_alone, np.empty((0, 0)), values)
    places = layout(grid.shown)
    fit = fit_choice(places, row, ordering, choice, effects=("position",))
    if fit.position is None or not np.isfinite(fit.position.log_odds).all():
        return None
    prior = np.asarray(special.softmax(fit.position.log_odds))
    at = places.position[ordering, choice]
    content = stats.probe_content(row, choice, at, prior, len(probe))
    return Learned(prior, content, values)


def _methods(
    taught: Group,
    group: Group,
    source: Source,
    held_out: Ints,
    own: Ints,
    probe: Ints,
    learned: Learned | None,
    rng: np.random.Generator,
) -> Iterator[tuple[Key, Floats]]:
    """Every method's estimate for the held-out items of ``group``; ``own``: reference reads to call from.

    ``taught``: where the ``probe`` is from that they learn from.
    """
    reference = group.reference
    values = reference.values(source)[held_out][:, own]
    for calls in CALLS:
        if calls <= len(own):
            yield ("balanced", calls), _drawn(values, calls, rng)
        for name, grid in (("fixed", group.fixed), ("random", group.random)):
            if grid is not None and calls <= grid.score.shape[1]:
                yield (name, calls), _drawn(grid.values(source)[held_out], calls, rng)
    cheapest = _cheapest_column(taught.reference, probe, own)
    if cheapest is not None:
        yield (CHEAPEST, 1), reference.values(source)[held_out, cheapest]
    call, example = _one_call(group, own), _one_call(taught, own)
    if call is None or example is None:
        return
    grid, number = call
    if group.fixed is None:
        yield ("fixed", 1), grid.values(source)[held_out, number]
    if learned is None:
        return
    for key, estimate in ((("debiased", 1), corrected_call), ((CONTROL, 1), control_call)):
        yield key, estimate((example[0], probe), (grid, held_out), number, source, learned)


def _shrunk(x: Floats, rest: Floats, means: Floats) -> Floats:
    """Held-out items' values (``rest``) on the line along which the probe's (``x``) follow their ``means``.

    A call is noisier than a mean, so the line is flatter than 1.
    """
    at, start, slope = line_of(x, means)
    return np.asarray(start + slope * (rest - at))


def line_of(x: Floats, means: Floats) -> tuple[float, float, float]:
    """(mean of x, mean of means, slope): the line along which ``means`` follow ``x``; NaN below two items."""
    known = np.isfinite(x) & np.isfinite(means)
    if known.sum() < 2:
        return (float("nan"),) * 3
    x, y = x[known], means[known]
    spread = x - x.mean()
    slope = float(spread @ (y - y.mean()) / (spread @ spread)) if np.ptp(x) > 0 else 0.0
    return float(x.mean()), float(y.mean()), slope


def corrected_call(
    example: tuple[Grid, Ints], rest: tuple[Grid, Ints], number: int, source: Source, learned: Learned
) -> Floats:
    """One call of the items ``rest``, corrected as the probe's items (``example``) taught."""
    if source == "counts":
        return _corrected(*rest, number, source, learned)
    probe, others = (_corrected(grid, items, number, source, learned) for grid, items in (example, rest))
    return _shrunk(probe, others, learned.means)


def control_call(
    example: tuple[Grid, Ints], rest: tuple[Grid, Ints], number: int, source: Source, learned: Learned
) -> Floats:
    """The same call drawn towards the mean alike, with places that all count alike."""
    if source == "counts":
        flat = replace(learned, prior=np.full(len(learned.prior), 1 / len(learned.prior)))
        return _corrected(*rest, number, source, flat)
    probe, others = (grid.values(source)[items, number] for grid, items in (example, rest))
    return _shrunk(probe, others, learned.means)


def _drawn(values: Floats, calls: int, rng: np.random.Generator) -> Floats:
    """Mean of ``calls`` reads drawn without replacement for each item; NaN if one was unread."""
    reads = values.shape[1]
    draw = rng.random(values.shape)
    if calls == reads:
        return np.asarray(values @ np.full(reads, 1.0 / reads))
    if calls == 1:
        return np.asarray(values[np.arange(len(values)), draw.argmin(axis=1)])
    last = np.partition(draw, calls - 1, axis=1)[:, calls - 1 : calls]
    return np.asarray(np.where(draw <= last, values, 0.0) @ np.full(reads, 1.0 / calls))


def _cheapest_column(grid: Grid, probe: Ints, own: Ints) -> int | None:
    """The read whose ordering has the least Bias Cost on the probe; None if orderings vary."""
    columns = grid.column_ordering
    if columns is None:
        return None
    n = grid.shown.shape[1]
    row, column = np.nonzero(grid.score[probe] >= 0)
    ordering, choice = grid.ordering[probe][row, column], grid.score[probe][row, column]
    at = grid.position[ordering]
    counts = count_table((choice, n), (at[np.arange(len(choice)), choice], n))
    exposure = count_table((np.tile(np.arange(n), len(at)), n), (at.ravel(), n))
    table = position_given_score(counts, exposure)
    costs = ordering_costs(np.where(np.isfinite(table), table, 1 / n), grid.shown[columns[own]])
    return int(own[int(np.argmin(costs))])


def _one_call(group: Group, own: Ints) -> tuple[Grid, int] | None:
    """The one call to correct: in ascending order, from the fixed arm or the design's own half."""
    if group.fixed is not None:
        return group.fixed, 0
    grid = group.reference
    columns = grid.column_ordering
    if columns is None:
        return grid, int(own[0])
    ascending = np.asarray(canonical(grid.shown.shape[1]))
    fits = own[(grid.shown[columns[own]] == ascending).all(axis=1)]
    return (grid, int(fits[0])) if len(fits) else None


def _corrected(grid: Grid, held_out: Ints, number: int, source: Source, learned: Learned) -> Floats:
    """The expected score of one call with the place prior divided out; NaN where unread."""
    scores = np.asarray(grid.arm.scores, dtype=np.float64)
    ordering, choice = grid.ordering[held_out, number], grid.score[held_out, number]
    known = ordering >= 0
    corrected = np.full(len(held_out), np.nan)
    position = grid.position
    if source == "probabilities" and grid.chances is not None:
        chances = grid.chances[held_out[known], number]
        fair = stats.divide_out(chances, position[ordering[known]], learned.prior)
        corrected[known] = stats.expected_score(fair, scores)
        return corrected
    used, rank = np.unique(ordering[known], return_inverse=True)
    table = stats.posterior_score(position[used], learned.prior, learned.content, learned.means)
    corrected[known] = table[rank, choice[known]]
    return corrected


def corrected_calls(group: Group, source: Source, seed: int) -> tuple[Floats, Floats] | None:
    """One corrected call for every item, and the control's, (items,) each; None where there is none.

    What corrects an item was learnt from the other half of the units, so that no item helps to
    correct itself or its like.
    """
    reference = group.reference
    found = np.full((2, len(group.human)), np.nan)
    call = _one_call(group, np.arange(reference.score.shape[1]))
    units = np.unique(group.unit)
    half = np.isin(group.unit, np.random.default_rng(seed).permutation(units)[: len(units) // 2])
    for probe, held_out in ((half, ~half), (~half, half)):
        taught, others = np.flatnonzero(probe), np.flatnonzero(held_out)
        learned = learn(reference, taught, source) if len(taught) else None
        if learned is None or call is None:
            return None
        grid, number = call
        for row, estimate in enumerate((corrected_call, control_call)):
            found[row, others] = estimate((grid, taught), (grid, others), number, source, learned)
    return found[0], found[1]


class Measured(NamedTuple):
    """A method's mean squared distance, its root and its mean r over splits, each without each unit."""

    squared: LeftOut
    distance: LeftOut
    r: LeftOut

    def interval(self) -> Interval:
        """Of the distance: the root of the squared distance's, which is a plain mean over units."""
        low, high = self.squared.interval()
        return Interval(*(float(distance(end, 0.0)) for end in (low, high)))


def without_units(tallies: dict[Key, Tally], human: Floats, unit: Ints) -> dict[Key, Measured]:
    """Every method measured on all units and without each of them.

    Each is made of sums over the same items, so that two methods' distances move together.
    """
    measured = {}
    for name, tally in tallies.items():
        known = tally.count > 0
        count = np.maximum(tally.count, 1)
        each = np.stack([np.where(known, (tally.squared - tally.noise) / count, 0.0), known.astype(np.float64)], axis=1)
        gap = sum_by_unit(unit, each)
        all_of, left = gap.sum(axis=0), gap.sum(axis=0) - gap
        with np.errstate(invalid="ignore", divide="ignore"):
            squared = LeftOut(float(all_of[0] / all_of[1]), left[:, 0] / left[:, 1])
        root = LeftOut(float(distance(squared.value, 0.0)), distance(squared.without, 0.0))
        _, shared, own = tally.moments(human)
        both, alone = (np.moveaxis(sum_by_unit(unit, np.moveaxis(part, 2, 0)), 0, 2) for part in (shared, own))
        both_all, alone_all = both.sum(axis=2, keepdims=True), alone.sum(axis=2, keepdims=True)
        r = LeftOut(
            float(pearson(both_all, alone_all).mean()),
            np.asarray(pearson(both_all - both, alone_all - alone).mean(axis=0)),
        )
        measured[name] = Measured(squared, root, r)
    return measured


def pearson(shared: Floats, own: Floats) -> Floats:
    """r from sums (3, ...) of 1, y, yy and of x, xx, xy; NaN if a side is constant."""
    (m, y, yy), (x, xx, xy) = shared, own
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = xx - x * x / m, yy - y * y / m
        r = (xy - x * y / m) / np.sqrt(spread_x * spread_y)
        flat = (spread_x <= 1e-12 * np.abs(xx)) | (spread_y <= 1e-12 * np.abs(yy)) | (m < 3)
    return np.where(flat, np.nan, r)
