"""Win rates corrected for the order: what a leaderboard would be under both orders.

Each judge's candidates by the share of their comparisons that they win, as logged and as they
would if each comparison had been shown in every order; which of them change rank by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.findings.comparison import COMPARED
from rubriclab.findings.comparison_cells import common_candidate
from rubriclab.findings.comparison_effects import Source, identified, in_both_orders
from rubriclab.findings.effects import unfinished
from rubriclab.findings.plain import plain
from rubriclab.findings.series import ArmCalls, ArmSeries, RunCodes, arm_series
from rubriclab.findings.topic import DocumentPart, Sentence, Topic, about
from rubriclab.model import Axis, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many
from rubriclab.stats import leaderboard as stats
from rubriclab.stats.advantage import Design
from rubriclab.stats.comparison import UNREADABLE
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints

_EQUAL = 1e-12
MODEL = msg("Bradley-Terry with a term for the first place, ties as half")


@dataclass(frozen=True)
class Candidate:
    """One candidate's win rate over its ``calls``, ties as 1/p. ``logged``: as it is; ``corrected``:
    under both orders; ``first``: of its calls, in how many it stood first. Ranks from 1, of those
    that are ranked; equal rates share the better one."""

    candidate: str
    calls: int
    first: float
    logged: float
    logged_ci: Interval
    corrected: float
    corrected_ci: Interval
    logged_rank: int | None
    rank: int | None


@dataclass(frozen=True)
class Swap:
    """Two candidates that change rank. ``better``: of the two, under both orders; ``logged``,
    ``corrected``: its win rate less the other's; ``sure``: the interval, which holds for all pairs
    of candidates at once, leaves out 0."""

    better: str
    worse: str
    logged: float
    corrected: float
    corrected_ci: Interval
    sure: bool


@dataclass(frozen=True)
class Leaderboard:
    """One judge's candidates, the best under both orders first, and the ``swaps`` among ``pairs``
    of ranked ones. The ``baseline``, which all are compared with, is not ranked. ``modelled``: calls
    of pairs too seldom seen that took ``model``. ``why``: nothing can be corrected."""

    code: int
    judge: str
    dataset: str
    strategy: str
    variant: str
    axis: Axis
    n_positions: int
    simulated: bool
    unit: str
    n_questions: int
    design: Design
    source: Source
    baseline: str | None
    modelled: int
    model: str
    candidates: tuple[Candidate, ...]
    swaps: tuple[Swap, ...]
    pairs: int
    why: str = ""


def leaderboards(data: RunData, *, seed: int = 0) -> tuple[Leaderboard, ...]:
    """The leaderboard of every pairwise and list-wise arm; intervals are by question."""
    del seed
    run = RunCodes.of(data)
    picked = [(code, arm) for code, arm in enumerate(data.arms) if arm.axis in COMPARED]
    return tuple(_leaderboard(data, run, code, ArmCalls.of(data, run, code, arm)) for code, arm in picked)


def _leaderboard(data: RunData, run: RunCodes, code: int, rows: ArmCalls) -> Leaderboard:
    series, soft = arm_series(run, rows), rows.soft_wins()
    wins, unit = rows.wins() if soft is None else soft, run.question[rows.item]
    names = rows.sets(run)[0]
    placed, _, why = identified(run, rows, series, wins)
    logged, both = stats.as_logged(wins, names, unit), stats.Both({}) if why else _both(run, rows, series, wins)
    members = np.unique(np.sort(names, axis=1), axis=0)
    baseline = common_candidate(members)
    ranked = [c for c in logged if c != baseline]
    swaps, pairs = _swaps(run, logged, both.shares, ranked)
    return Leaderboard(
        code=code,
        judge=rows.arm.judge,
        dataset=rows.arm.dataset,
        strategy=rows.arm.strategy,
        variant=str(rows.arm.variant),
        axis=rows.arm.axis,
        n_positions=rows.p,
        simulated=rows.arm.simulated,
        unit=run.unit,
        n_questions=len(np.unique(unit)),
        design="one order" if why else placed.design,
        source="choices" if soft is None else "probabilities",
        baseline=None if baseline is None else run.names[baseline],
        modelled=both.modelled,
        model=MODEL if both.modelled else "",
        candidates=_candidates(run, logged, both.shares, ranked, _stood_first(wins, names)),
        swaps=tuple(replace(swap, sure=False) for swap in swaps) if unfinished(data) else swaps,
        pairs=pairs,
        why=why,
    )


def _both(run: RunCodes, rows: ArmCalls, series: ArmSeries, wins: Floats) -> stats.Both:
    """Win rates under both orders, from the design that carries most of the calls."""
    names, within, sets = rows.sets(run)
    if in_both_orders(rows, series):
        whole = series.classes.kind != UNREADABLE
        calls = series.calls[whole]
        return stats.in_every_order(wins[calls], names[calls], run.question[series.item[whole]])
    return stats.in_one_order(wins, within, sets, run.question[rows.item], names)


def _stood_first(wins: Floats, names: Ints) -> dict[int, int]:
    """In how many readable calls each candidate stood first."""
    read = np.isfinite(wins).all(axis=1)
    known, count = np.unique(names[read, 0], return_counts=True)
    return dict(zip(known.tolist(), count.tolist(), strict=True))


def _candidates(
    run: RunCodes,
    logged: Mapping[int, stats.Shares],
    both: Mapping[int, stats.Shares],
    ranked: Sequence[int],
    first: Mapping[int, int],
) -> tuple[Candidate, ...]:
    logged_rank, rank = _ranks(logged, ranked), _ranks(both, ranked)
    nan, made = float("nan"), []
    for code, plainly in logged.items():
        corrected = both.get(code)
        made.append(
            Candidate(
                candidate=run.names[code],
                calls=len(plainly.values),
                first=first.get(code, 0) / len(plainly.values),
                logged=plainly.rate,
                logged_ci=plainly.interval(),
                corrected=corrected.rate if corrected else nan,
                corrected_ci=corrected.interval() if corrected else NO_INTERVAL,
                logged_rank=logged_rank.get(code),
                rank=rank.get(code),
            )
        )
    return tuple(sorted(made, key=lambda one: (-np.nan_to_num(one.corrected, nan=-1.0), -one.logged, one.candidate)))


def _ranks(shares: Mapping[int, stats.Shares], ranked: Sequence[int]) -> dict[int, int]:
    rates = {code: round(shares[code].rate, 12) for code in ranked if code in shares}
    return {code: 1 + sum(other > rate for other in rates.values()) for code, rate in rates.items()}


def _swaps(
    run: RunCodes, logged: Mapping[int, stats.Shares], both: Mapping[int, stats.Shares], ranked: Sequence[int]
) -> tuple[tuple[Swap, ...], int]:
    """The pairs that change rank, the surest first, and how many pairs there are."""
    known = [code for code in ranked if code in both]
    one, other = np.triu_indices(len(known), 1)
    before, after = (np.array([of[code].rate for code in known]) for of in (logged, both))
    was, now = (rate[one] - rate[other] for rate in (before, after)) if len(known) else (before, after)
    turned = np.flatnonzero((was * now < 0) & (np.abs(was) > _EQUAL) & (np.abs(now) > _EQUAL))
    level = 1.0 - 0.05 / max(len(one), 1)
    swaps = []
    for pair in turned.tolist():
        codes = known[one[pair]], known[other[pair]]
        better, worse = codes if now[pair] > 0 else codes[::-1]
        ends = both[better].less(both[worse], level=level)
        apart = -abs(float(was[pair])), abs(float(now[pair]))
        swaps.append(Swap(run.names[better], run.names[worse], *apart, ends, bool(ends.low > 0)))
    return tuple(sorted(swaps, key=lambda swap: (-swap.corrected, swap.better))), len(one)


# ---------------------------------------------------------------- the topic


def leaderboard_sentence(board: Leaderboard) -> str:
    """What the win rates become under both orders, and whether the ranking changes."""
    if board.why:
        return tr(
            "The win rates of {judge} cannot be corrected for the order: {why}.", judge=board.judge, why=tr(board.why)
        )
    if board.design == "both orders":
        return tr("Most comparisons were read in both orders: the win rates are those of both.")
    known = [one for one in board.candidates if np.isfinite(one.corrected) and one.candidate != board.baseline]
    if not known:
        return tr("No candidate of {judge} was seen at every place: no win rate is corrected.", judge=board.judge)
    most = max(known, key=lambda one: abs(one.corrected - one.logged))
    ends = interval(most.corrected_ci, ".3f", brackets=True)
    words = tr(
        "Under both orders {candidate} would win {corrected:.3f} {ends} of its comparisons; as logged it "
        "wins {logged:.3f}",
        candidate=most.candidate,
        corrected=most.corrected,
        ends=ends,
        logged=most.logged,
    )
    if len(known) < 2:
        return f"{words}."
    sure = sum(swap.sure for swap in board.swaps)
    n, pairs = len(board.swaps), many(board.pairs, "pair")
    if n == 1:
        among = tr("{n} of {pairs} of candidates changes rank, {sure} beyond chance.", n=n, pairs=pairs, sure=sure)
    else:
        among = tr("{n} of {pairs} of candidates change rank, {sure} beyond chance.", n=n, pairs=pairs, sure=sure)
    return tr("{rates}, the largest difference. {among}", rates=words, among=among)


def _document(boards: tuple[Leaderboard, ...], data: RunData) -> DocumentPart:
    del data
    return DocumentPart(beside={"leaderboards": plain(boards)})


def _sentences(boards: tuple[Leaderboard, ...]) -> Iterator[Sentence]:
    return (
        Sentence(about(board), leaderboard_sentence(board)) for board in boards if board.design == "one random order"
    )


LEADERBOARD = Topic(
    "leaderboard",
    leaderboards,
    probabilities=True,
    title=msg("Win rates under both orders"),
    axes=COMPARED,
    document=_document,
    sentences=_sentences,
)
