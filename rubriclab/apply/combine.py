"""What the calls about one item amount to: means over orders, one corrected call, two swapped ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rubriclab.apply.card import Card, Cure
from rubriclab.model import Outcome, Reply, Status
from rubriclab.model.wording import many

_T: tuple[float, ...] = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T += (2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
_T += (2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
"""Student's t, 0.975, on 1 to 30 degrees of freedom."""
_FLOOR = 1e-6
"""As in ``stats.debiasing``: probabilities below this are rounding, not preferences."""


@dataclass(frozen=True)
class Read:
    """One call: the order shown, what came back and what was read of it.

    ``score``: named by the reply (of a pair the place that won, 0 a tie); ``by_score``: chances of the scores (of
    a pair of its two candidates), in ascending order. ``text`` is the reply, word for word, to ``messages``.
    """

    order: tuple[int | str, ...]
    status: Status
    text: str
    score: float | None = None
    expected: float | None = None
    by_score: tuple[float, ...] | None = None
    kind: str | None = None
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    attempts: int = 1
    criteria: Mapping[str, float | None] = field(default_factory=dict)
    messages: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class Scored:
    """A number over the reads: the scores named, and the expected ones where tokens have chances.

    ``low``, ``high``: 95 % interval of the mean over orders (Student's t; None below two reads), of
    ``expected`` where there is one. Of a pair the share for the first candidate, 0 to 1.
    """

    score: float | None
    expected: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Judged(Scored):
    """What the judge says of one item. ``unread``: how many of ``reads`` gave no score.

    ``winner``: of a pair, 1 or 2, 0 for a tie. ``criteria``: where all are scored in one call;
    ``score`` is then their mean. ``note``: what a reader must know; empty where all is well.
    """

    cure: str
    reads: tuple[Read, ...]
    unread: int
    winner: int | None = None
    criteria: Mapping[str, Scored] = field(default_factory=dict)
    note: str = ""


def read_of(order: tuple[int | str, ...], reply: Reply, outcome: Outcome, *, pair: bool) -> Read:
    """One reply about one score or one pair."""
    chances = None
    if outcome.probabilities is not None:
        pairs = sorted(zip(map(int, order), outcome.probabilities, strict=True))
        chances = tuple(chance for _, chance in pairs)
    score: float | None = outcome.score
    if pair and outcome.position is not None:
        score = 0.0 if outcome.position == 0 else float(order[outcome.position - 1])
    return Read(
        order=order,
        status=outcome.status,
        text=reply.text,
        score=None if score is None else float(score),
        expected=outcome.expected,
        by_score=chances,
        kind=outcome.kind,
        error=reply.error,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        attempts=reply.attempts,
    )


def judged(card: Card, cure: Cure, reads: Sequence[Read]) -> Judged:
    """All reads of one item, put together as the cure says."""
    known = [read for read in reads if read.status == "ok"]
    note = (
        "" if len(known) == len(reads) else f"{len(reads) - len(known)} of {many(len(reads), 'reply')} gave no answer"
    )
    winner: int | None = None
    criteria: dict[str, Scored] = {}
    if card.axis == "criteria":
        scored, criteria = _criteria(card, reads)
    elif card.axis == "pairwise":
        scored, winner = _pair(cure, known)
    elif cure.correction is not None:
        scored = _corrected(card, cure.correction, known)
    else:
        scored = mean_of([read.score for read in known], [read.expected for read in known])
    return Judged(
        **vars(scored),
        cure=cure.key,
        reads=tuple(reads),
        unread=len(reads) - len(known),
        winner=winner,
        criteria=criteria,
        note=note,
    )


def mean_of(scores: Sequence[float | None], expected: Sequence[float | None]) -> Scored:
    """Means over reads; expected scores count where every read has one."""
    named = [score for score in scores if score is not None]
    likely = [value for value in expected if value is not None]
    whole = bool(likely) and len(likely) == len(named)
    low, high = _interval(likely if whole else named)
    return Scored(
        score=statistics.fmean(named) if named else None,
        expected=statistics.fmean(likely) if whole else None,
        low=low,
        high=high,
        n=len(named),
    )


def _interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return None, None
    quantile = _T[len(values) - 2] if len(values) - 2 < len(_T) else 1.96
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    middle = statistics.fmean(values)
    return middle - half, middle + half


def _criteria(card: Card, reads: Sequence[Read]) -> tuple[Scored, dict[str, Scored]]:
    parts = {name: mean_of([read.criteria.get(name) for read in reads], []) for name in card.criteria}
    known = [part.score for part in parts.values() if part.score is not None]
    whole = Scored(statistics.fmean(known) if known else None, None, None, None, len(known))
    return whole, parts


def _corrected(card: Card, correction: Mapping[str, object], known: Sequence[Read]) -> Scored:
    """One call with the pull of its places taken out, as it was measured on items of the run."""
    if not known:
        return Scored(None, None, None, None, 0)
    read = known[0]
    values = correction.get("values")
    if isinstance(values, Mapping):
        return Scored(float(values[str(int(read.score or 0))]), None, None, None, 1)
    prior = correction["prior"]
    if read.by_score is None or not isinstance(prior, Sequence):
        return Scored(None, None, None, None, 0)
    fair = fair_chances(read.order, read.by_score, prior)
    expected = sum(score * chance for score, chance in zip(card.scores, fair, strict=True))
    line = correction["line"]
    if isinstance(line, Mapping):
        expected = line["from"] + line["slope"] * (expected - line["at"])
    named = card.scores[max(range(len(fair)), key=lambda k: fair[k])]
    return Scored(float(named), expected, None, None, 1)


def fair_chances(order: Sequence[int | str], by_score: Sequence[float], prior: Sequence[float]) -> tuple[float, ...]:
    """Chances of the scores, ascending, with the prior of the places divided out, summing to 1."""
    place = {score: at for at, score in enumerate(order)}
    raw = [chance / prior[place[score]] for score, chance in zip(sorted(map(int, order)), by_score, strict=True)]
    total = sum(raw)
    return tuple(part / total for part in raw)


# ---------------------------------------------------------------- pairs


def _pair(cure: Cure, known: Sequence[Read]) -> tuple[Scored, int | None]:
    named: list[float | None] = [share(read) for read in known]
    lean = [leaning(read) for read in known]
    if cure.correction is not None:
        prior = cure.correction["prior"]
        lean = [corrected_leaning(read, prior) for read in known]
        named = [_side(value) if value is not None else None for value in lean]
        scored = mean_of(named, lean)
        return scored, _winner(scored.score)
    scored = mean_of(named, lean)
    if cure.disagree == "lean" and scored.score == 0.5 and scored.expected is not None:
        return scored, _winner(scored.expected)
    return scored, _winner(scored.score)


def share(read: Read) -> float:
    """1 for the first candidate, 0 for the second, a half for a tie."""
    return 0.5 if read.score == 0 else float(read.score == 1)


def leaning(read: Read) -> float | None:
    """The chance of the first candidate among the two; None without token probabilities."""
    if read.by_score is None or sum(read.by_score) <= 0:
        return None
    return read.by_score[0] / sum(read.by_score)


def corrected_leaning(read: Read, prior: Sequence[float]) -> float | None:
    """The same with the prior of the places divided out."""
    if read.by_score is None or sum(read.by_score) <= 0:
        return None
    clipped = [max(chance, _FLOOR) for chance in read.by_score]
    return fair_chances(read.order, clipped, prior)[0]


def _side(value: float) -> float:
    return 0.5 if value == 0.5 else float(value > 0.5)


def _winner(value: float | None) -> int | None:
    if value is None:
        return None
    return 0 if abs(value - 0.5) < 1e-9 else (1 if value > 0.5 else 2)
