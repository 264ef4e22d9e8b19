"""Two conditions in, of one run or two; does the order matter more to the first: up to three
differences out, a word each.

Only what both judged counts. Rows are subtracted by ``contrast``; nothing is estimated anew.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.core.estimate import Reach, missing
from rubriclab.core.judgments import Arm, Judgments
from rubriclab.core.operations import contrast
from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import Findings, Row

PARTS = {
    "positions": ("position_share", "first_minus_last", "first_advantage"),
    "mean": ("line", "turn"),
    "single": ("order_excess", "choice_excess"),
}
"""Each question, and the measures that are held against each other for it: the first that an axis
has; of the mean both.
"""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two conditions, in findings of the ``texts`` answers that both judged; in whole findings
    where ``why`` (a key of the reasons) says that no difference can be had.
    """

    arms: tuple[Arm, Arm]
    findings: tuple[Findings, Findings]
    texts: int
    why: str = ""


def paired(a: Findings, code_a: int, b: Findings, code_b: int) -> Pair:
    """Both are read as ``a`` is."""
    if b.reading != a.reading:
        b = Findings(Judgments(b.judgments.table, a.reading.unit), a.reading)
    sides, names = ((a, code_a), (b, code_b)), [_names(a), _names(b)]
    judged = [
        names[k][findings.judgments.arms[code].item_code]
        for k, (findings, code) in enumerate(sides)
    ]
    shared = np.intersect1d(judged[0], judged[1])
    asked = {
        (part.reorder, part.scores, part.positions)
        for part in (a.conditions[code_a], b.conditions[code_b])
    }
    why = "not_alike" if len(asked) > 1 else "" if len(shared) else "no_common"
    if not why:
        kept = [
            _restricted(*side, np.isin(own, shared)) for side, own in zip(sides, names, strict=True)
        ]
        (a, code_a), (b, code_b) = kept
    arms = a.judgments.arms[code_a], b.judgments.arms[code_b]
    return Pair(arms, (a, b), 0 if why else arms[0].answers, why)


def _names(findings: Findings) -> np.ndarray[Any, Any]:
    """(items,): names that other runs share, by an item's text and criterion."""
    texts, criteria = (
        Judgments(findings.judgments.table, "item").unit_names,
        findings.judgments.items["criterion"],
    )
    return np.array(
        [f"{text} {name or ''}" for text, name in zip(texts.tolist(), criteria, strict=True)]
    )


def _restricted(findings: Findings, code: int, items: np.ndarray[Any, Any]) -> tuple[Findings, int]:
    """Findings of a condition's setting on these items (items,) alone, and its number in them; all
    if it judged no others.
    """
    table, own = findings.judgments.table, findings.conditions[code].setting
    asked = table.rows["condition"].to_numpy()
    mine = np.array([other.setting == own for other in findings.conditions])[asked]
    kept = mine & items[table.rows["item"]]
    if kept.sum() == mine.sum():
        return findings, code
    numbers, condition = np.unique(asked[kept], return_inverse=True)
    table = replace(
        table,
        conditions=tuple(table.conditions[number] for number in numbers),
        planned=(),
        rows=table.rows[kept].assign(condition=condition).reset_index(drop=True),
        probabilities=None if table.probabilities is None else table.probabilities[kept],
    )
    return Findings(Judgments(table, findings.reading.unit), findings.reading), int(
        np.searchsorted(numbers, code)
    )


def differences(pair: Pair, against: Any = None) -> list[Row]:
    """A row A - B for each question that both have numbers for; ``against`` as of ``contrast``.

    *effect*: the number's interval, by the rule of verdicts and at 95% for all numbers of all
      questions at once (Sidak),
    leaves out 0, and the order is shown to matter to one of the two at all; of single scores to the
    one that is said to depend more. *equivalent*: every number's own 95% interval lies inside the
    smallest effect, and so does what units that were not met could carry (``core/verdict.py``).
    Shares are held against the smallest share, points against the smallest change of the mean.
    ``counts``: ``question``; the numbers ``a`` and ``b``; ``most``, what the difference may be in
    size; ``parts``, how many numbers a question has. Judges alike in bias, or without one, were
    said to differ in 0.01 to 0.09 (mean 0.04) of 100 simulated studies a cell, of 15, 40 and 100
    answers; 1 of log-odds more for the first option was found in 0.74 of 15 answers and in all of
    40.
    """
    # Of two scores what a position gains is half of what the pass rate moves by: one question, not
    # two.
    pass_rate = not pair.arms[0].condition.chooses and len(pair.arms[0].scores) == 2
    questions = [name for name in PARTS if name != "positions" or not pass_rate]
    asked = [
        (question, parts)
        for question in questions
        if (parts := _parts(pair, PARTS[question], against))
    ]
    return [
        _difference(pair, *part, (1 - ALPHA) ** (1 / (len(asked) * len(part[1])))) for part in asked
    ]


def _parts(pair: Pair, measures: tuple[str, ...], against: Any) -> list[tuple[Row, Row, Row]]:
    """(A - B, A, B) of the rows of these measures that both have a number of."""
    mine, theirs = (
        {row.key: row for row in findings.select(condition=arm.code) if row.measure in measures}
        for findings, arm in zip(pair.findings, pair.arms, strict=True)
    )
    both = [(row, theirs[key]) for key, row in mine.items() if key in theirs]
    known = [(a, b) for a, b in both if math.isfinite(a.value) and math.isfinite(b.value)]
    kept = measures if "line" in measures else [a.measure for a, _ in known[:1]]
    return [(contrast([a], [b], against)[0], a, b) for a, b in known if a.measure in kept]


def _difference(pair: Pair, question: str, parts: list[tuple[Row, Row, Row]], level: float) -> Row:
    """The number of a question that differs for sure, else the one that may differ most, with its
    word, or why it has none.
    """
    scores, smallest = pair.arms[0].scores, pair.findings[0].reading.smallest
    points = parts[0][0].about.unit == "points"
    if points:
        limit = smallest.points(pair.arms[0].condition.scores)
    else:
        limit = smallest.single if question == "single" else smallest.share
    reach = (
        2 * float(scores[-1] - scores[0])
        if points
        else 1.0
        if question == "positions" and len(parts) > 1
        else 2.0
    )
    ruled = [
        replace(row.estimate, rule=Reach(reach, row.value + row.estimate.influence))
        for row, *_ in parts
    ]
    bands = [estimate.interval(level) for estimate in ruled]
    inside = [estimate.interval() for estimate in ruled]
    beyond = [max(low, -high) for low, high in bands]
    away = any(end > 0 for end in beyond)
    reaches = (
        beyond if away else [max(map(abs, ends)) for ends in inside]
    )  # else the one that may differ most
    furthest = max(range(len(parts)), key=lambda k: (reaches[k], abs(parts[k][0].value), -k))
    row, a, b = parts[furthest]
    unmet = reach * (1 - ALPHA ** (1 / max(row.estimate.units, 1))) / 2
    most = max(max(map(abs, ends)) for ends in inside)
    most = max(most, unmet) if math.isfinite(most) else most
    # Does the order matter to any item of either? A side that was judged in one order has no gate.
    both = [
        findings.gate_p(arm.code) for findings, arm in zip(pair.findings, pair.arms, strict=True)
    ]
    gates = [p for p in both if math.isfinite(p)]
    finished = all(findings.judgments.finished for findings in pair.findings)
    why = pair.why or ("" if finished else "unfinished") or ("" if gates else "no_orders")
    verdict = "" if why else "undecided"
    if not why and most < limit:
        verdict = "equivalent"
    elif not why and away:
        if question == "single":
            # The side that is said to depend more has to be shown to depend on the order at all: a
            # judge that answers each prompt by a fixed draw changes scores with the order as with
            # any other change of the prompt.
            shown, lacking = both[0 if row.value > 0 else 1] <= ALPHA, "gate_of_more"
        else:
            shown, lacking = min(gates) <= ALPHA, "neither_gate"
        if shown:
            verdict = "effect"
        else:
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
        "above_zero": away,
    }
    return replace(
        row,
        topic="difference",
        smallest=limit,
        verdict=verdict,
        ends=bands[furthest] if verdict == "effect" else inside[furthest],
        estimate=missing(why) if pair.why else replace(row.estimate, why=why),
        counts=counts,
    )
