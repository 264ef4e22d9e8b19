"""Pairwise and list-wise judging: position consistency, preference fairness, stability, agreement.

Source: Shi et al., Judging the Judges, sections 2.2, 2.3, C and E, with the readings that yield
its Table 2 (method: section 5). A *series* is one comparison shown in p orders, each candidate
first once; for p = 2 it is the swapped pair. Arrays in, numbers out; codes are integers:

- ``position``: 1..p the place that was picked, 0 a tie, -1 a reply that cannot be read;
- ``question``, ``cell``: codes from 0; a cell is a candidate (or candidate set) x task.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import Floats, Ints, Note, Test, ratio
from rubriclab.stats.judges import ABSENT as ABSENT
from rubriclab.stats.judges import TIE as TIE
from rubriclab.stats.judges import UNREAD as UNREAD
from rubriclab.stats.judges import Agreement as Agreement
from rubriclab.stats.judges import Votes as Votes
from rubriclab.stats.judges import agreement as agreement
from rubriclab.stats.judges import cumulative as cumulative
from rubriclab.stats.judges import kendall as kendall
from rubriclab.stats.judges import votes as votes
from rubriclab.stats.repeats import Stability as Stability
from rubriclab.stats.repeats import stability as stability
from rubriclab.stats.win_rate import SUMS as SUMS
from rubriclab.stats.win_rate import Parabola as Parabola
from rubriclab.stats.win_rate import Point as Point
from rubriclab.stats.win_rate import against_chance as against_chance
from rubriclab.stats.win_rate import overall_win_rate as overall_win_rate
from rubriclab.stats.win_rate import parabola as parabola
from rubriclab.stats.win_rate import unrelated as unrelated

CONSISTENT, PRIMACY, RECENCY, NEUTRAL, UNREADABLE = range(5)
"""Classes of a series. NEUTRAL exists only for p > 2: several winners, but the first-shown
candidate won exactly as often as under no preference."""

_EXACT_LIMIT = 1 << 13
_SIGN_PATTERNS = 100_000
_SMALLEST_P = 1e-12


class Series(NamedTuple):
    """What each series came to; every array is (series,).

    ``kind``: one of the classes. ``winner``: the index of the candidate that won every order,
    p for a consistent tie, -1 otherwise. ``first``, ``last``: orders won by the candidate shown
    first, last. ``decided``: orders with a winner. ``unread``: orders that cannot be read.
    ``chance``: recency minus primacy to expect of it if the order did not matter.
    """

    kind: Ints
    winner: Ints
    first: Ints
    last: Ints
    decided: Ints
    unread: Ints
    chance: Floats


def classify(positions: Ints) -> Series:
    """Sort series into consistent, primacy, recency (method: section 5).

    ``positions``: (series, p); column j is the order in which candidate j stood first and the
    others followed cyclically. Consistent: the same candidate wins all p orders, or all tie.
    Otherwise, with m decided orders of which the first-shown candidate won F: primacy if
    F > m/p, recency if F < m/p, neutral if equal. m/p is what a judge without a preference
    gives the first place; for p = 2 this is exactly {AA, AC, CA} and {BB, BC, CB}, and for
    p > 2 it is the paper's "one vs. all" read so that a judge without a preference is not
    called recent merely because p - 1 of p places are not the first.

    Raises ValueError for fewer than two columns.
    """
    positions = np.asarray(positions, dtype=np.int64)
    if positions.ndim != 2 or positions.shape[1] < 2:
        raise ValueError(f"positions must be (series, p >= 2), not {positions.shape}")
    p = positions.shape[1]
    readable = (positions >= TIE).all(axis=1)
    candidate = np.where(positions > 0, (np.arange(p) + positions - 1) % p, p)
    same = (candidate == candidate[:, :1]).all(axis=1) & readable
    first = (positions == 1).sum(axis=1)
    decided = (positions > 0).sum(axis=1)
    kind = np.full(len(positions), NEUTRAL, dtype=np.int64)
    kind[p * first > decided] = PRIMACY
    kind[p * first < decided] = RECENCY
    kind[same] = CONSISTENT
    kind[~readable] = UNREADABLE
    return Series(
        kind=kind,
        winner=np.where(same, candidate[:, 0], -1),
        first=first,
        last=(positions == p).sum(axis=1),
        decided=decided,
        unread=(positions == UNREAD).sum(axis=1),
        chance=np.where(readable, _chance(candidate, decided), 0.0),
    )


def _chance(candidate: Ints, decided: Ints) -> Floats:
    """The mean of sign(m - p F) when a series' own winners are dealt to its orders at random.

    0 for pairs. For lists it is not: three different winners of three orders give the first
    place 0 or 1 wins far more often than 3. All p! deals up to p = 5, else 200 drawn ones.
    """
    p = candidate.shape[1]
    if p == 2:
        return np.zeros(len(candidate))
    if p <= 5:
        deals = np.array(list(permutations(range(p))))
    else:
        rng = np.random.default_rng(0)
        deals = rng.permuted(np.tile(np.arange(p), (200, 1)), axis=1)
    total = np.zeros(len(candidate))
    for deal in deals:
        first = (candidate[:, deal] == np.arange(p)).sum(axis=1)
        total += np.sign(decided - p * first)
    return total / len(deals)


# ------------------------------------------------------------------ PC, PF, error per cell


def cell_sums(series: Series, unit: Ints, cell: Ints, *, shape: tuple[int, int, int]) -> Floats:
    """Sufficient counts per resampling unit and cell, (units, cells, SUMS + p).

    ``unit``: what is resampled, of each series. ``shape`` is (units, cells, p). Columns:
    consistent series, readable series, recency minus primacy, series, unread replies, then for
    each candidate of the set its wins in the sense of the overall win rate: consistent wins +
    (consistent ties + inconsistent) / p.
    """
    n_units, n_cells, p = shape
    kind = series.kind
    readable = kind != UNREADABLE
    net = (kind == RECENCY).astype(np.float64) - (kind == PRIMACY)
    shared = (readable & ((series.winner < 0) | (series.winner == p))) / p
    columns = [kind == CONSISTENT, readable, net, np.ones(len(kind)), series.unread]
    columns += [(series.winner == j) + shared for j in range(p)]
    index = np.asarray(unit) * n_cells + np.asarray(cell)
    sums = [np.bincount(index, weights=c, minlength=n_units * n_cells) for c in columns]
    table = np.stack(sums, axis=1).astype(np.float64)
    return table.reshape(n_units, n_cells, SUMS + p)


class Rates(NamedTuple):
    """PC, PF and error of one or many sets of cells; arrays share the leading shape."""

    pc: Floats
    pf: Floats
    error: Floats


def rates(cells: Floats, *, p: int) -> Rates:
    """PC pooled over series, PF as the plain mean over cells, error (method: section 5).

    ``cells``: (..., cells, k) totals as ``cell_sums`` lays them out. PC = consistent /
    readable. PF of a cell = (rcn - pcn) / n with unreadable series in n; cells without a
    series are left out. Error = N / (N + p x readable). NaN where a denominator is 0.
    """
    consistent, readable, unread = (cells[..., c].sum(axis=-1) for c in (0, 1, 4))
    present = cells[..., 3] > 0
    per_cell = np.where(present, ratio(cells[..., 2], cells[..., 3]), 0.0)
    return Rates(
        pc=ratio(consistent, readable),
        pf=ratio(per_cell.sum(axis=-1), present.sum(axis=-1)),
        error=ratio(unread, unread + p * readable),
    )


def cell_rates(cells: Floats) -> tuple[Floats, Floats]:
    """(PC, PF) of every cell: (..., cells, k) -> two (..., cells); NaN for an empty cell."""
    return ratio(cells[..., 0], cells[..., 1]), ratio(cells[..., 2], cells[..., 3])


def cell_spread(cells: Floats) -> tuple[float, float, float, int]:
    """The paper's +-: population sd over cells of PC and of PF.

    ``cells``: (cells, k). Returns (sd of PC, sd of PC over readable cells only, sd of PF,
    cells without a readable series). In the paper's PC spread a cell in which nothing can be
    read counts as 0; the second number leaves such cells out. NaN without cells.
    """
    asked = cells[cells[:, 3] > 0]
    if len(asked) == 0:
        return float("nan"), float("nan"), float("nan"), 0
    pc, pf = cell_rates(asked)
    known = np.isfinite(pc)
    readable_sd = float(pc[known].std()) if known.any() else float("nan")
    return (float(np.where(known, pc, 0.0).std()), readable_sd, float(pf.std()), int((~known).sum()))


# ------------------------------------------------------------------ tests


def fairness_nets(series: Series, question: Ints, *, n_questions: int, p: int) -> Ints:
    """What each question adds to the test of PF = 0, (questions,); > 0 leans to recency.

    p = 2: recency pairs minus primacy pairs. p > 2: sum of (decided - p x first-shown wins),
    whose mean is 0 for a judge without a preference whatever its noise; counting classes is
    not (with p = 3 a coin-tossing judge gives 8 recency to 7 primacy).
    """
    if p == 2:
        score = (series.kind == RECENCY).astype(np.int64) - (series.kind == PRIMACY)
    else:
        score = series.decided - p * series.first
    readable = series.kind != UNREADABLE
    return _integer_sums(score * readable, question, n_questions)


def _integer_sums(values: Ints, codes: Ints, n: int) -> Ints:
    return np.rint(np.bincount(codes, weights=values, minlength=n)).astype(np.int64)


def clustered_sign_test(nets: Ints) -> Test:
    """Exact sign test of "no lean to either side", clustered by question.

    ``nets``: one integer a question (its recency pairs minus its primacy pairs). Cluster rule:
    under the null a question's net is as likely to be +d as -d, so the signs of whole questions
    are flipped together and the pairs inside a question may depend on each other in any way.
    The two-sided p is the share of the 2^m sign patterns of the m questions with a net other
    than 0 whose |sum| reaches the observed one; it is computed in full (the sum's
    characteristic function is prod cos(d t)); only sums beyond _EXACT_LIMIT take the normal limit
    or drawn patterns, and the note says so. With one inconsistent pair a
    question it is the ordinary sign test. No such question: p = 1.
    """
    name = "exact sign test over inconsistent pairs, clustered by question"
    sizes = np.abs(nets[nets != 0]).astype(np.int64)
    observed = int(nets.sum())
    if sizes.size == 0:
        return Test(name, 0.0, 0.0, 1.0, "no question leans to either side")
    note = ""
    if sizes.size < 6:
        least = 2.0 ** (1 - sizes.size)
        one, some = (
            "only one question leans to a side: the smallest possible p is {least:.3g}",
            "only {n} questions lean to a side: the smallest possible p is {least:.3g}",
        )
        note = Note.of(one, least=least) if sizes.size == 1 else Note.of(some, n=sizes.size, least=least)
    limit = _EXACT_LIMIT * (4 if sizes.size < 100 else 1)
    if int(sizes.sum()) >= limit:
        p, note = _large_tail(sizes, abs(observed))
    else:
        # No two-sided p is below its two extreme patterns, and the transform rounds at 1e-14.
        p = max(_sign_flip_tail(sizes, abs(observed)), 2.0 ** (1 - sizes.size), _SMALLEST_P)
        note = note or ("p is at most 1e-12" if p == _SMALLEST_P else "")
    return Test(name, float(observed), float(sizes.size), p, note)


def _large_tail(sizes: Ints, reached: int) -> tuple[float, str]:
    """(p, note) where the exact sum has too many values: normal limit, or drawn sign patterns."""
    values = sizes.astype(np.float64)
    spread = float(np.sqrt(np.square(values).sum()))
    # No single question may dominate, or the sum is not normal.
    if sizes.size >= 100 and float(values.max()) < 0.2 * spread:
        return float(2 * special.ndtr(-reached / spread)), "normal limit of the exact sum"
    rng = np.random.default_rng(0)
    hits = 0
    for start in range(0, _SIGN_PATTERNS, 1_000):
        signs = rng.integers(0, 2, size=(min(1_000, _SIGN_PATTERNS - start), sizes.size)) * 2 - 1
        hits += int((np.abs(signs @ sizes) >= reached).sum())
    return (hits + 1) / (_SIGN_PATTERNS + 1), Note.of("{n:,} random sign patterns", n=_SIGN_PATTERNS)


def _sign_flip_tail(sizes: Ints, reached: int) -> float:
    """P(|sum of +-sizes| >= reached) over equally likely signs.

    The minus signs' total S' = (sum sizes - sum) / 2 lies on 0..total, so its distribution is
    the inverse transform, on total + 1 points, of prod (1 + e^{-i w d}) / 2
    = e^{-i w total / 2} prod cos(w d / 2).
    """
    total = int(sizes.sum())
    values, counts = np.unique(sizes, return_counts=True)
    half = np.pi * np.arange(total + 1) / (total + 1)
    cosines = np.ones(total + 1)
    for value, count in zip(values, counts, strict=True):
        cosines *= np.cos(half * value) ** int(count)
    transform = cosines * np.exp(-1j * half * total)
    mass = np.clip(np.fft.ifft(transform).real, 0.0, 1.0)
    flipped = total - 2 * np.arange(total + 1)
    return float(min(1.0, mass[np.abs(flipped) >= reached].sum()))
