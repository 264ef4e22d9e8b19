"""Compare two conditions, of one run or of two: does the order matter more to the first?

Up to three differences come out, each with a word. Only answers that both judged count. Rows are
subtracted by ``contrast``: nothing is estimated a second time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.core.estimate import Reach, missing
from rubriclab.core.judgments import Arm, Judgments
from rubriclab.core.operations import contrast
from rubriclab.core.topic import Findings, Row
from rubriclab.core.verdict import Interval, Word, word_of
from rubriclab.model.looks import RunLooks

MEASURES_OF = {
    "positions": ("position_share", "first_minus_last", "first_advantage"),
    "mean": ("line", "turn"),
    "single": ("order_excess", "choice_excess"),
}
"""The measures that are compared for each question: the first that the kind of list has; for the
mean both.
"""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two conditions that are compared.

    ``findings``: of the ``texts`` answers that both judged; of all answers where ``why`` (a key of
    the reasons) says that there can be no difference.
    """

    arms: tuple[Arm, Arm]
    findings: tuple[Findings, Findings]
    texts: int
    why: str = ""

    @property
    def finished(self) -> bool:
        sides = zip(self.findings, self.arms, strict=True)
        return all(findings.judgments.has_verdict(arm.code) for findings, arm in sides)

    @property
    def alpha(self) -> float:
        """1 less the level of intervals: where each side is at a look of its own, the wider one's.

        Intervals of all looks hold together, so it does not matter why a side stopped.
        """
        return min(arm.alpha for arm in self.arms)


class Part(NamedTuple):
    """One number of a question: A - B, and the rows of A and B that it is the difference of."""

    row: Row
    a: Row
    b: Row


def paired(a: Findings, code_a: int, b: Findings, code_b: int) -> Pair:
    """Return two conditions restricted to what both judged. Both are read as ``a`` is."""
    if b.reading != a.reading:
        b = Findings(Judgments(b.judgments.table, a.reading.unit), a.reading)
    names_a, names_b = _names(a), _names(b)
    judged_a = names_a[a.judgments.arms[code_a].item_code]
    judged_b = names_b[b.judgments.arms[code_b].item_code]
    shared = np.intersect1d(judged_a, judged_b)
    why = ""
    if _kind(a, code_a) != _kind(b, code_b):
        why = "other_axis" if _one_scores_criteria(a, code_a, b, code_b) else "not_alike"
    elif not len(shared):
        why = "no_common"
    if not why:
        a, code_a = _restricted(a, code_a, np.isin(names_a, shared))
        b, code_b = _restricted(b, code_b, np.isin(names_b, shared))
    arms = a.judgments.arms[code_a], b.judgments.arms[code_b]
    return Pair(arms, (a, b), 0 if why else arms[0].answers, why)


def _kind(findings: Findings, code: int) -> tuple[Any, ...]:
    """Return what two conditions must have in common to be compared."""
    about = findings.conditions[code]
    return about.reorder, about.scores, about.positions, about.labels, about.passages


def _one_scores_criteria(a: Findings, code_a: int, b: Findings, code_b: int) -> bool:
    """Return whether one of two conditions scores all criteria in a call, and the other scores one.

    They differ in their words too, so the difference would not be what company does.
    """
    kinds = {a.conditions[code_a].reorder, b.conditions[code_b].reorder}
    return kinds in ({"criteria", "options"}, {"criteria", "bare"})


def _names(findings: Findings) -> NDArray[Any]:
    """Return a name for each item, (items,), that other runs share: its text and criterion."""
    texts = Judgments(findings.judgments.table, "item").unit_names
    criteria = findings.judgments.items["criterion"]
    return np.array(
        [f"{text} {name or ''}" for text, name in zip(texts.tolist(), criteria, strict=True)]
    )


def _restricted(findings: Findings, code: int, items: NDArray[Any]) -> tuple[Findings, int]:
    """Return findings of a condition's setting on some items, and its number in them.

    ``items``: (items,), whether each is kept. All findings where the setting judged no others.
    """
    table = findings.judgments.counted
    setting = findings.conditions[code].setting
    asked = table.rows["condition"].to_numpy()
    mine = np.array([other.setting == setting for other in findings.conditions])[asked]
    kept = mine & items[table.rows["item"]]
    if kept.sum() == mine.sum():
        return findings, code
    numbers, condition = np.unique(asked[kept], return_inverse=True)
    table = replace(
        table,
        conditions=tuple(table.conditions[number] for number in numbers),
        planned=(),
        looks=_looks(findings.judgments, numbers, table.rows[kept]),
        rows=table.rows[kept].assign(condition=condition).reset_index(drop=True),
        probabilities=None if table.probabilities is None else table.probabilities[kept],
    )
    restricted = Findings(Judgments(table, findings.reading.unit), findings.reading)
    return restricted, int(np.searchsorted(numbers, code))


def _looks(judgments: Judgments, conditions: NDArray[Any], rows: pd.DataFrame) -> RunLooks | None:
    """Return the looks at some conditions with some of their rows: batches that are in stay in.

    conditions: their codes. rows: of the run, in complete batches.
    """
    looks = judgments.table.looks
    if looks is None:
        return None
    planned = []
    for code in conditions.tolist():
        known = judgments.looked_of(code)
        if known is None:
            return None
        calls = rows[rows["condition"] == code].drop_duplicates("call")
        batch = known.looks.batch[calls["item"].to_numpy(dtype=np.int64)]
        made = np.bincount(batch, minlength=len(known.looks.units))
        # A batch that is not in has to stay so, also where this condition has no call in it.
        later = np.maximum(looks.planned[code], 1)
        in_full = np.arange(len(made)) < known.complete
        planned.append(tuple(np.where(in_full, made, later).tolist()))
    return replace(looks, planned=tuple(planned))


def differences(pair: Pair, against: Any = None) -> list[Row]:
    """Return a row A - B for each question that both have numbers for.

    *effect*: the number's interval leaves out 0, at 95% for all numbers of all questions at once
    (Sidak), and the order is shown to matter to one of the two at all; for single scores, to the
    one that depends more. *equivalent*: every number's own 95% interval lies inside the smallest
    effect, and so does what units that were not met could carry (``core/verdict.py``). Shares are
    compared with the smallest share, points with the smallest change of the mean. Where a side is
    at a look at part of its run, the level is the higher one of both (``Pair.alpha``).

    ``against``: as for ``contrast``. In ``counts``: ``question``; the numbers ``a`` and ``b``;
    ``most``, the size that the difference may have; ``parts``, how many numbers a question has.

    Measured on 100 simulated studies a cell, of 15, 40 and 100 answers: judges with the same bias,
    or without one, were said to differ in 0.01 to 0.09 (mean 0.04). A log-odds of 1 more for the
    first option was detected in 0.74 with 15 answers and in all with 40.
    """
    questions = [*MEASURES_OF]
    if not pair.arms[0].condition.chooses and len(pair.arms[0].scores) == 2:
        # Of two scores what a position gains is half of what the pass rate moves by: one question.
        questions.remove("positions")
    asked: dict[str, list[Part]] = {}
    for question in questions:
        parts = _parts(pair, MEASURES_OF[question], against)
        if parts:
            asked[question] = parts
    made = []
    for question, parts in asked.items():
        # Sidak over all numbers: of each question, and of the questions.
        level = (1 - pair.alpha) ** (1 / (len(asked) * len(parts)))
        made.append(_difference(pair, question, parts, level))
    return made


def _parts(pair: Pair, measures: tuple[str, ...], against: Any) -> list[Part]:
    """Return the difference of each row of these measures that both have a number of."""
    mine, theirs = (
        {row.key: row for row in findings.select(condition=arm.code) if row.measure in measures}
        for findings, arm in zip(pair.findings, pair.arms, strict=True)
    )
    known = [
        (row, theirs[key])
        for key, row in mine.items()
        if key in theirs and math.isfinite(row.value) and math.isfinite(theirs[key].value)
    ]
    if not known:
        return []
    kept = measures if "line" in measures else (known[0][0].measure,)
    return [Part(contrast([a], [b], against)[0], a, b) for a, b in known if a.measure in kept]


@dataclass(frozen=True)
class _Furthest:
    """The number of a question that surely differs, else the one that may differ most.

    ``inside``: its own 95% interval. ``band``: its interval for all numbers of all questions at
    once. ``away``: whether any number's band leaves out 0. ``most``: the size that any of the
    question's numbers may have.
    """

    part: Part
    inside: Interval
    band: Interval
    away: bool
    most: float


def _furthest(parts: Sequence[Part], reach: float, level: float, alpha: float) -> _Furthest:
    """Return the number that a question's row is about.

    ``level``: of the bands; ``alpha``: 1 less the level of single intervals.
    """
    ruled = [
        replace(row.estimate, rule=Reach(reach, row.value + row.estimate.influence))
        for row, *_ in parts
    ]
    bands = [estimate.interval(level) for estimate in ruled]
    inside = [estimate.interval(1 - alpha) for estimate in ruled]
    beyond = [max(low, -high) for low, high in bands]
    away = any(end > 0 for end in beyond)
    sizes = beyond if away else [_size(ends) for ends in inside]
    furthest = max(range(len(parts)), key=lambda k: (sizes[k], abs(parts[k].row.value), -k))
    most = max(map(_size, inside))
    if math.isfinite(most):
        # As in core/verdict.py: at least half of what units that were not met could carry.
        unmet = 1 - alpha ** (1 / max(parts[furthest].row.estimate.units, 1))
        most = max(most, reach * unmet / 2)
    return _Furthest(parts[furthest], inside[furthest], bands[furthest], away, most)


def _difference(pair: Pair, question: str, parts: Sequence[Part], level: float) -> Row:
    """Return the row of a question, with its word or the reason why it has none."""
    furthest = _furthest(parts, _reach(pair, question, parts), level, pair.alpha)
    row, a, b = furthest.part
    limit = _limit(pair, question, points=row.in_points)
    most, why = furthest.most, _why_no_word(pair)
    verdict: Word | str = ""
    if not why:
        lacking = _not_shown(pair, question, row) if furthest.away else ""
        verdict = word_of(-most, most, limit, shown=furthest.away and not lacking)
        if verdict == "undecided":
            why = lacking
    why = why or row.estimate.why or ("" if math.isfinite(most) else "too_few_units")
    counts = {
        **row.counts,
        "question": question,
        "a": a.value,
        "b": b.value,
        "most": most,
        "parts": len(parts),
        "texts": pair.texts,
        "above_zero": furthest.away,
    }
    return replace(
        row,
        topic="difference",
        smallest=limit,
        verdict=verdict,
        ends=furthest.band if verdict == "effect" else furthest.inside,
        estimate=missing(why) if pair.why else replace(row.estimate, why=why),
        counts=counts,
    )


def _limit(pair: Pair, question: str, *, points: bool) -> float:
    """Return the smallest difference that matters, in the unit of the question's numbers."""
    smallest = pair.findings[0].reading.smallest
    if points:
        return smallest.points(pair.arms[0].condition.scores)
    return smallest.single if question == "single" else smallest.share


def _reach(pair: Pair, question: str, parts: Sequence[Part]) -> float:
    """Return the most by which one unit can move the difference of a question."""
    if parts[0].row.in_points:
        scores = pair.arms[0].scores
        return 2 * float(scores[-1] - scores[0])
    # Shares of one position differ by 1 at most. Advantages, and excesses over noise, are
    # differences of shares themselves: theirs differ by 2.
    return 1.0 if question == "positions" and len(parts) > 1 else 2.0


def _size(ends: Interval) -> float:
    """Return the largest size that an interval holds."""
    return max(map(abs, ends))


def _why_no_word(pair: Pair) -> str:
    """Return why no question of a pair can have a word, or an empty text."""
    if pair.why:
        return pair.why
    if not pair.finished:
        return "unfinished"
    return "no_orders" if _gates(pair) == [None, None] else ""


def _gates(pair: Pair) -> list[bool | None]:
    """Return whether either gate is open: does the order matter to any item? None in one order."""
    sides = zip(pair.findings, pair.arms, strict=True)
    return [findings.gate_open(arm.code) for findings, arm in sides]


def _not_shown(pair: Pair, question: str, row: Row) -> str:
    """Return why a difference is no order effect, or an empty text.

    For single scores the side that depends more has to be shown to depend on the order at all: a
    judge that answers each prompt by a fixed draw changes scores with the order as with any other
    change of the prompt.
    """
    gates = _gates(pair)
    if question == "single":
        more = gates[0] if row.value > 0 else gates[1]
        return "" if more else "gate_of_more"
    return "" if any(gates) else "neither_gate"
