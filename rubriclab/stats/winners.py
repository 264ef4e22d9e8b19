"""Does the order change who wins, more often than the same order asked twice would?

Two noisy readings of the same candidates name different winners even where nothing changed. So
changes between two arms are counted at equal numbers of reads, and set against changes between
two sets of reads of one arm in the same orders: the excess is what the order does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rubriclab.stats.correlation import TINY
from rubriclab.stats.human_correlation import FEWEST_UNITS, LeftOut
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, shuffled, sum_by_unit
from rubriclab.stats.proportions import clustered_wilson

Bools = NDArray[np.bool_]
Keys = NDArray[np.uint32] | NDArray[np.uint64]
_CELLS = 400_000
MANY_READS, MILLIONS = 20_000, 1_000_000
FEWEST_PROMPTS = 8
"""Below so many prompts shares of prompts have no interval: of 4 or 5 the one of a change of winner
was 0.6 to 0.8 wide and held in all of 180 studies, the one of tau in 0.80 to 0.90."""
MANY_PROMPTS = 20
"""From so many on a prompt's part of draws is no longer taken for a coin. Of 25 and 33 prompts of
three families intervals then held in 0.88 to 0.98 of 120 studies each, 0.94 on average (coins: 1.00,
at half again to twice the width); of 8 and 10 in 0.80 to 0.94, where coins held in 0.97 to 1.00."""


class _Effort(NamedTuple):
    """How often reads are drawn for the estimate, how many permutations, and draws for each."""

    rounds: int
    permutations: int
    tested: int

    @classmethod
    def of(cls, a: ArmReads, b: ArmReads) -> _Effort:
        """Less of all where there are MANY_READS, whose mean needs fewer draws.

        What a draw adds by luck is in the spread between prompts, from which intervals come: it makes
        them wider, never wrong.
        """
        reads = a.score.size + b.score.size
        if reads <= MANY_READS:
            return cls(20, 99, 2)
        return cls(5 if reads <= MILLIONS else 2, 39, 1)


_SAME = 9
"""Mean scores that agree in so many decimals are ties: the rest is rounding."""


@dataclass(frozen=True)
class ArmReads:
    """``score`` (items, reads), NaN unread; ``ordering``, alike, a code of the order shown."""

    score: Floats
    ordering: Ints

    @property
    def twice(self) -> Bools:
        """(items,): is any order among those read twice or more?"""
        codes = np.where(np.isfinite(self.score), self.ordering, -1 - np.arange(self.score.shape[1]))
        codes = np.sort(codes, axis=1)
        return np.asarray((np.diff(codes, axis=1) == 0).any(axis=1))


class WinnerChange(NamedTuple):
    """Shares of prompts whose winner changes, among those where both sides name one.

    ``changed`` between the arms, ``control`` between reads of one arm in the same orders (NaN
    where no order was read twice), ``excess`` the first less the second, each with its interval.
    ``p``: of exchanging reads of an item between the arms. ``decided``: prompts with one winner
    on both sides, the mean over draws; ``prompts`` compared; ``reads`` an item and side;
    ``repeated``: some arm read its orders twice, so that there can be a control.
    """

    changed: float
    changed_ci: Interval
    decided: float
    prompts: int
    reads: float
    repeated: bool
    control: float = float("nan")
    control_ci: Interval = NO_INTERVAL
    excess: float = float("nan")
    excess_ci: Interval = NO_INTERVAL
    p: float = float("nan")


def winner_change(a: ArmReads, b: ArmReads, cell: Ints, unit: Ints, *, seed: int = 0) -> WinnerChange:
    """Compare two arms on prompts; ``cell`` (prompts, candidates): rows of the arms, -1 for none.

    ``unit``: (prompts,), what varies independently. Reads are drawn at random, equally many of
    either arm; of an arm that read its orders twice, half of the reads of each order, the other
    half being the control. The test exchanges an item's reads between the arms, within which the
    order does nothing under the null hypothesis (Pesarin and Salmaso 2010, Permutation Tests for
    Complex Data, section 1.9). The excess has the interval of Newcombe 1998 (Improved Confidence
    Intervals for the Difference between Binomial Proportions Based on Paired Data, method 10),
    with Wilson's intervals at the effective number of prompts.
    """
    rng, rounds = np.random.default_rng(seed), _Effort.of(a, b).rounds
    twice = [side for side, arm in enumerate((a, b)) if _controls(arm, cell)]
    counts = _summed(_counted(a, b, cell, twice, rng, 0, rounds)) / rounds
    sums = sum_by_unit(unit, counts)
    changed, changed_ci = _ratio(sums, 0), _share(sums, 0)
    without_control = WinnerChange(
        changed.value,
        changed_ci,
        decided=float(sums[:, 1].sum()),
        prompts=int((counts[:, 5] > 0).sum()),
        reads=float(counts[:, 4].sum() / max(counts[:, 5].sum(), TINY)),
        repeated=bool(twice),
    )
    if not twice or len(sums) < FEWEST_UNITS:
        return without_control
    control, control_ci = _ratio(sums, 2), _share(sums, 2)
    return without_control._replace(
        control=control.value,
        control_ci=control_ci,
        excess=changed.value - control.value,
        excess_ci=_excess_interval((changed, changed_ci), (control, control_ci)),
        p=_permuted(a, b, cell, twice, rng),
    )


def _controls(arm: ArmReads, cell: Ints) -> bool:
    """Two candidates of some prompt, or more, that the arm read twice in one order."""
    known = np.append(arm.twice, False)[cell]
    return bool((known.sum(axis=1) >= 2).any())


def _share(sums: Floats, column: int) -> Interval:
    """Of a share whose prompts count as the part of the draws in which they changed.

    Such parts vary less than coins do, which many prompts show and few do not.
    """
    if len(sums) < FEWEST_PROMPTS:
        return NO_INTERVAL
    return clustered_wilson(sums[:, column], sums[:, column + 1], balanced=len(sums) >= MANY_PROMPTS)


def _ratio(sums: Floats, column: int) -> LeftOut:
    """Share of changes, and without each unit; columns of ``sums`` as ``_counted`` gives them."""
    top, bottom = sums[:, column], sums[:, column + 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(np.divide(top.sum(), bottom.sum()))
        return LeftOut(value, (top.sum() - top) / (bottom.sum() - bottom))


def _excess_interval(one: tuple[LeftOut, Interval], other: tuple[LeftOut, Interval]) -> Interval:
    (a, a_ci), (b, b_ci) = one, other
    if not all(np.isfinite([*a_ci, *b_ci])):
        return NO_INTERVAL
    together = 0.0
    if min(a.se, b.se) > TINY:
        together = float(np.clip(np.corrcoef(a.without, b.without)[0, 1], 0.0, 1.0))

    def reach(first: float, second: float) -> float:
        squared = first**2 + second**2 - 2.0 * together * first * second
        return float(np.sqrt(max(0.0, squared)))

    low = reach(a.value - a_ci.low, b_ci.high - b.value)
    high = reach(a_ci.high - a.value, b.value - b_ci.low)
    return Interval(a.value - b.value - low, a.value - b.value + high)


def _permuted(a: ArmReads, b: ArmReads, cell: Ints, twice: list[int], rng: np.random.Generator) -> float:
    """Share of exchanges (the observed arms among them) with an excess as great or greater."""
    _, number, tested = _Effort.of(a, b)
    if tested == 1:
        deal = _Deal.of(a, b, cell, twice, rng)
        seen = deal.excess(deal.scores)
        drawn = np.array([deal.excess(deal.again(rng)) for _ in range(number)])
    else:
        seen = _excess(_summed(_counted(a, b, cell, twice, rng, 0, tested)))
        drawn = np.array([_excess(of) for of in _counted(a, b, cell, twice, rng, number, tested)])
    return float((1 + (drawn >= seen - 1e-12).sum()) / (number + 1))


@dataclass(frozen=True)
class _Deal:
    """One draw of reads, kept for all permutations: scores that are dealt out anew are at random
    already, so that drawing the reads again adds nothing but time.

    ``scores`` (items, reads of both arms), those that were given first; ``code``, alike, their place
    among ``values``, none of them for a missing one. ``drawn``: of either arm its lines of reads as
    parts of a whole, (items, reads of both arms), which times the scores give means.
    """

    scores: Floats
    code: Keys
    values: Floats
    drawn: tuple[tuple[Floats, ...], ...]
    cell: Ints

    @classmethod
    def of(cls, a: ArmReads, b: ArmReads, cell: Ints, twice: list[int], rng: np.random.Generator) -> _Deal:
        pooled = np.hstack([a.score, b.score])
        known = np.isfinite(pooled)
        front = (~known).argsort(axis=1, kind="stable")
        lines = [_lines(_stacked(arm, 1), side in twice, rng) for side, arm in enumerate((a, b))]
        reads = _equal_reads(lines)
        drawn = []
        for side, of in enumerate(lines):
            wide = [(0, b.score.shape[1]), (a.score.shape[1], 0)][side]
            masks = [np.pad(_chosen(line, reads)[0], ((0, 0), wide)) for line in of]
            drawn.append(tuple(np.take_along_axis(_parts(mask), front, axis=1) for mask in masks))
        values = np.unique(pooled[known])
        # Random numbers of 32 bits, half the work, have room for the codes of a scale.
        codes = np.full(pooled.shape, len(values), dtype=np.uint32 if len(values) < 32 else np.uint64)
        codes[known] = np.searchsorted(values, pooled[known])
        codes = np.take_along_axis(codes, front, axis=1)
        values = np.append(values, 0.0)
        return cls(values[codes], codes, values, tuple(drawn), cell)

    def again(self, rng: np.random.Generator) -> Floats:
        """Every item's scores dealt out anew among its reads of both arms that gave one.

        Random numbers that carry a score in their last bits are sorted: missing ones stay last.
        """
        kind = self.code.dtype.type
        bits, last = kind(len(self.values).bit_length()), kind(1 << (8 * self.code.itemsize - 1))
        size = -(-self.code.nbytes // 8)
        keys: Any = rng.bit_generator.random_raw(size).view(kind)[: self.code.size].reshape(self.code.shape)
        keys >>= kind(1)
        keys >>= bits
        keys <<= bits
        keys |= self.code
        keys[self.code == len(self.values) - 1] |= last
        keys.sort(axis=1)
        keys &= kind((1 << int(bits)) - 1)
        return np.asarray(self.values[keys])

    def excess(self, scores: Floats) -> float:
        means = [[np.einsum("ir,ir->i", part, scores)[None] for part in of] for of in self.drawn]
        changed, decided, _ = _changes(means[0][0], means[1][0], self.cell)
        controls = [_changes(of[0], of[1], self.cell)[:2] for of in means if len(of) == 2]
        return _excess(np.stack([changed, decided, *np.mean(controls, axis=0)], axis=2)[0])


def _parts(chosen: Bools) -> Floats:
    """Each chosen read's part of the mean; NaN throughout where none is."""
    count = chosen.sum(axis=1, keepdims=True)
    return np.where(count > 0, chosen / np.maximum(count, 1), np.nan)


def _summed(tables: Iterable[Floats]) -> Floats:
    return np.asarray(np.sum(list(tables), axis=0))


def _excess(counts: Floats) -> float:
    changed, decided, control, by_chance = counts[:, :4].sum(axis=0)
    return float(changed / max(decided, TINY) - control / max(by_chance, TINY))


def _counted(
    a: ArmReads, b: ArmReads, cell: Ints, twice: list[int], rng: np.random.Generator, permutations: int, rounds: int
) -> Iterator[Floats]:
    """Per prompt (prompts, 6): changed, decided, both of the control, reads, compared.

    Summed over ``rounds`` draws of reads, one table a permutation; 0: of the arms as they are, in
    as many tables as it takes.
    """
    cells = max(1, a.score.size + b.score.size)
    left = permutations or rounds
    while left:
        batch = min(left, max(1, _CELLS // cells))
        left -= batch
        if not permutations:
            yield _drawn(_stacked(a, batch), _stacked(b, batch), cell, twice, rng).sum(axis=0)
            continue
        one, other = _exchanged(a, b, batch, rng)
        yield from _summed(_drawn(one, other, cell, twice, rng) for _ in range(rounds))


def _stacked(arm: ArmReads, batch: int) -> ArmReads:
    shape = (batch, *arm.score.shape)
    return ArmReads(np.broadcast_to(arm.score, shape), np.broadcast_to(arm.ordering, shape))


def _exchanged(a: ArmReads, b: ArmReads, batch: int, rng: np.random.Generator) -> tuple[ArmReads, ArmReads]:
    """Every item's scores dealt out anew among its reads of both arms that gave one."""
    pooled = np.broadcast_to(np.hstack([a.score, b.score]), (batch, len(a.score), a.score.shape[1] + b.score.shape[1]))
    known = np.isfinite(pooled)
    from_ = np.where(known, rng.random(pooled.shape), 2.0).argsort(axis=2)
    to = (~known).argsort(axis=2, kind="stable")
    dealt = np.empty(pooled.shape)
    np.put_along_axis(dealt, to, np.take_along_axis(pooled, from_, axis=2), axis=2)
    cut = a.score.shape[1]
    return (
        ArmReads(dealt[:, :, :cut], _stacked(a, batch).ordering),
        ArmReads(dealt[:, :, cut:], _stacked(b, batch).ordering),
    )


def _drawn(a: ArmReads, b: ArmReads, cell: Ints, twice: list[int], rng: np.random.Generator) -> Floats:
    """One draw of reads for each of a batch, (batch, prompts, 6) as ``_counted`` has it."""
    lines = [_lines(arm, side in twice, rng) for side, arm in enumerate((a, b))]
    reads = _equal_reads(lines)
    means = [[_mean_of(arm, line, reads) for line in of] for arm, of in zip((a, b), lines, strict=True)]
    changed, decided, compared = _changes(means[0][0], means[1][0], cell)
    controls = [_changes(of[0], of[1], cell)[:2] for of in means if len(of) == 2]
    control = np.mean(controls, axis=0) if controls else np.zeros((2, *changed.shape))
    present = cell >= 0
    each = np.where(present, reads[:, cell], 0).sum(axis=2) / present.sum(axis=1)
    columns = [changed, decided, *control, np.where(compared, each, 0.0), compared]
    return np.stack(columns, axis=2).astype(np.float64)


def _lines(arm: ArmReads, twice: bool, rng: np.random.Generator) -> list[Floats]:
    """A random place in the line for each read, above 0, or 0 for those that do not stand in it.

    (batch, items, reads). ``twice``: two lines, each with half of the reads of every order.
    """
    known = np.isfinite(arm.score)
    draw = 1.0 - rng.random(arm.score.shape)
    if not twice:
        return [known * draw]
    codes = np.where(known, arm.ordering, -1 - np.arange(arm.score.shape[2]))
    order = shuffled(codes, draw)
    sorted_codes = np.take_along_axis(codes, order, axis=2)
    new = np.diff(sorted_codes, axis=2, prepend=sorted_codes[:, :, :1] - 1) != 0
    at = np.arange(codes.shape[2])
    odd = (at - np.maximum.accumulate(np.where(new, at, 0), axis=2)) % 2 == 1
    even = np.concatenate([odd[:, :, 1:], np.zeros_like(odd[:, :, :1])], axis=2)
    lines = []
    for half in (even, odd):  # the last of an odd number stands in neither
        line = np.zeros(codes.shape)
        np.put_along_axis(line, order, half.astype(np.float64), axis=2)
        lines.append(line * (1.0 - rng.random(codes.shape)))
    return lines


def _equal_reads(lines: list[list[Floats]]) -> Ints:
    """(batch, items): as many reads of either arm as the shorter line has."""
    return np.asarray(np.minimum(*((line[0] > 0).sum(axis=2) for line in lines)))


def _chosen(line: Floats, reads: Ints) -> Bools:
    """The first ``reads`` (batch, items) of a line, (batch, items, reads)."""
    chosen = line > 0
    if bool((chosen.sum(axis=2) != reads).any()):
        rank = (-line).argsort(axis=2).argsort(axis=2)
        chosen &= rank < reads[:, :, None]
    return chosen


def _mean_of(arm: ArmReads, line: Floats, reads: Ints) -> Floats:
    """Mean of the first ``reads`` (batch, items) of a line, (batch, items); NaN for none."""
    chosen = _chosen(line, reads)
    total = np.where(chosen, arm.score, 0.0).sum(axis=2)
    count = chosen.sum(axis=2)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _changes(one: Floats, other: Floats, cell: Ints) -> tuple[Floats, Floats, Bools]:
    """(changed, decided, compared) of each prompt, (batch, prompts), from means (batch, items)."""
    a, b = (np.round(np.where(cell >= 0, means[:, cell], np.nan), _SAME) for means in (one, other))
    both = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(both, a, -np.inf), np.where(both, b, -np.inf)
    compared = both.sum(axis=2) >= 2
    decided = compared.copy()
    for side in (a, b):
        decided &= (side == side.max(axis=2, keepdims=True)).sum(axis=2) == 1
    changed = decided & (a.argmax(axis=2) != b.argmax(axis=2))
    return changed.astype(np.float64), decided.astype(np.float64), compared
