"""Subtract rows, and hold them to limits: a row passes, fails or cannot tell."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

from rubriclab.core.drift import Drift, drift
from rubriclab.core.judgments import grouped
from rubriclab.core.topic import MEASURES, QUESTIONS, Findings, Row
from rubriclab.model.judgment import RULES, Condition
from rubriclab.model.passing import PassRate
from rubriclab.model.text import LabError, shorten
from rubriclab.stats.proportions import clopper_pearson

Word = Literal["passes", "fails", "unknown"]
EVERY_ORDER = "*"
"""The key of a limit that each single order has to keep."""
AGAIN = 1 + 1.2816 * math.sqrt(2) / 1.96
"""A limit is this many upper halves of an interval above the value. The same design then passes it
in nine of ten new runs: one upper half, and 1.28 standard deviations of the difference of two runs.
"""


def contrast(a: Iterable[Row], b: Iterable[Row], against: Any = None) -> list[Row]:
    """Return a - b row by row, at 95% or at the higher level of both, without a verdict.

    Units that both have by name are paired, others are independent.

    Rows match by topic, measure and ``of``; where ``b`` is about several conditions, by the
    condition's number too. Measures that have no difference (V, extremes, statistics of tests) are
    left out. ``against``: what stands in ``of.against``, by default the number of b's condition.
    """
    others = list(b)
    several = len({row.condition for row in others if row.topic != "verdict"}) > 1

    def key(row: Row) -> tuple[Any, ...]:
        return (*row.key, row.condition) if several else row.key

    other = {key(row): row for row in others}
    made = []
    for row in a:
        partner = other.get(key(row))
        if partner is None or not row.about.contrast or row.topic == "verdict":
            continue
        of = {**row.of, "against": partner.condition if against is None else against}
        counts = {}
        if "n" in row.counts and "n" in partner.counts:
            counts["n"] = min(row.counts["n"], partner.counts["n"])
        difference = row.estimate - partner.estimate
        alpha = min(row.alpha, partner.alpha)
        made.append(
            replace(
                row,
                estimate=difference,
                of=of,
                test=None,
                counts=counts,
                level=1 - alpha,
                alpha=alpha,
                verdict="",
                ends=None,
            )
        )
    return made


# -------------------------------------------------------------------------------------------- limit
class Limit(NamedTuple):
    """A limit: ``measure`` lies within ``low`` and ``high``.

    key: only rows about this (a position, a criterion, an order); EVERY_ORDER: those about single
        orders. Empty: all rows that are about nothing narrower than the others.
    """

    measure: str
    low: float
    high: float
    key: str = ""

    def __str__(self) -> str:
        about = f"{self.measure}:{self.key}" if self.key else self.measure
        if self.low == -self.high:
            return f"{about}={self.high:g}"
        return f"{about}={self.low:g}..{self.high:g}".replace("-inf..", "..").replace("..inf", "..")


@dataclass(frozen=True)
class Checked:
    """A limit and a row that it was checked on.

    row: None where the run has none. ``why``: a key of the reasons where the row cannot tell.
    """

    limit: Limit
    word: Word
    row: Row | None = None
    why: str = ""


def limit_of(text: str) -> Limit:
    """Read a limit from text.

    “MEASURE=X”: at most X in size. “MEASURE=A..B”: from A to B, either may be left out.
    “MEASURE:KEY=…”: of one row; “MEASURE:*=…”: of every single order.

    Raises LabError for an unknown measure and for what is no number.
    """
    parts = re.fullmatch(r"\s*(\w+)(?::(.+?))?\s*=\s*(\S*?)(?:(\.\.)(\S*))?\s*", text)
    if parts is None:
        raise LabError(
            f"“{shorten(text)}” is no limit; expected MEASURE=X or MEASURE=A..B, as "
            f"favours_positions=0.1."
        )
    measure, key, low, between, high = parts.groups()
    if measure not in MEASURES:
        near = get_close_matches(measure, MEASURES, 3) or [*QUESTIONS]
        raise LabError(f"There is no measure “{shorten(measure)}”. Near it: {', '.join(near)}.")
    try:
        if between:
            ends = float(low or "-inf"), float(high or "inf")
        else:
            ends = -float(low), float(low)
    except ValueError:
        raise LabError(
            f"“{shorten(text)}”: the limit is no number; expected as in {measure}=0.1."
        ) from None
    if not ends[0] < ends[1] or ends == (-math.inf, math.inf):
        raise LabError(
            f"“{shorten(text)}” leaves no room: expected a number above 0, or A below B."
        )
    return Limit(measure, *ends, key or "")


def check(findings: Findings, limits: Sequence[Limit], judge: str = "") -> list[Checked]:
    """Check every row that a limit is about.

    It passes where its interval lies inside, and fails where it lies outside.

    To pass all intervals must lie inside, which needs no correction (intersection-union); to fail,
    an interval at 5% over the number of rows has to lie outside, and what is about the order also
    needs the open gate (``verdicts.md`` 2). An unfinished run, and a row whose number, interval or
    verdict is missing, cannot tell. ``judge``: only this judge's rows; of every judge where left
    out. Raises LabError for a judge that the run does not have.
    """
    if judge:
        known_judge(findings, judge)
    held: list[tuple[Limit, Row]] = []
    out: list[Checked] = []
    for limit in limits:
        rows = [
            row
            for row in findings.select(limit.measure)
            if _is_about(row, limit.key) and judge in ("", findings.conditions[row.condition].judge)
        ]
        plainest = min((len(row.of) for row in rows), default=0)
        rows = [row for row in rows if limit.key or len(row.of) == plainest]
        if not rows or not findings.judgments.finished:
            out.append(Checked(limit, "unknown", None, "unfinished" if rows else "no_row"))
        else:
            held += [(limit, row) for row in rows]
    for limit, row in held:
        word: Word = "unknown"
        low, high = row.interval
        blocked = row.topic == "verdict" and row.estimate.why == "unparsed_by_order"
        why = row.estimate.why if blocked else row.why
        if unclear := _unclear(findings, row):
            why = unclear
        elif math.isfinite(low) and not blocked:
            wide = row.ends or row.estimate.interval(1 - row.alpha / len(held))
            why = ""
            if limit.low <= low and high <= limit.high:
                # A number within its limit shows nothing of a judge whose calls could not have left
                # it.
                about_order = row.about.question or row.topic == "verdict"
                why = findings.withheld(row) if about_order else ""
                word = "unknown" if why else "passes"
            elif wide[0] > limit.high or wide[1] < limit.low:
                shut = row.about.question and not findings.gate_open(
                    row.condition, row.of.get("variant")
                )
                word, why = ("unknown", "gate_closed") if shut else ("fails", "")
        out.append(Checked(limit, word, row, why))
    return out


def in_every_order(findings: Findings, limits: Sequence[Limit]) -> list[Limit]:
    """Return limits that each single order has to keep, where the measure has rows by order.

    Raises LabError where none has.
    """
    made = []
    for limit in limits:
        by_order = any(_is_about(row, EVERY_ORDER) for row in findings.select(limit.measure))
        made.append(limit._replace(key=EVERY_ORDER) if by_order and not limit.key else limit)
    if all(limit.key != EVERY_ORDER for limit in made):
        named = ", ".join(dict.fromkeys(limit.measure for limit in limits))
        raise LabError(
            f"This run has no numbers of single orders for {named}. Leave out --every-order, or "
            f"limit sensitivity or specificity."
        )
    return made


def _is_about(row: Row, key: str) -> bool:
    """Return whether a limit with this key is about a row."""
    if key == EVERY_ORDER:
        return "order" in row.of
    return key in ("", *map(str, row.of.values()))


def _unclear(findings: Findings, row: Row) -> str:
    """Return why a row is held to no limit before it is known how labels were chosen; or empty.

    Labels chosen by the judge's verdict make its errors look rare in one class and common in the
    other.
    """
    if row.topic != "pass_fail" or findings.reading.labels:
        return ""
    for chosen in findings.select("labels_chosen", condition=row.condition):
        if chosen.rejects:
            return "labels_unclear"
    return ""


def same_rules(made: Any, what: str, again: str) -> None:
    """Raise LabError where something was made under other rules than those of this version.

    ``what``: the thing, as the subject of a sentence; ``again``: how it is made again.
    """
    if type(made) is not int or made < 1:
        raise LabError(f"{what} names “{shorten(str(made))}” as its rules; expected {RULES}.")
    if made < RULES:
        raise LabError(
            f"{what} was made under rules {made}; this version decides by rules {RULES}, so its "
            f"numbers may differ. {again}"
        )
    if made > RULES:
        raise LabError(
            f"{what} was made under rules {made}; this version knows rules up to {RULES}. "
            "Update rubriclab."
        )


def known_judge(findings: Findings, judge: str) -> str:
    """Return the judge if the run has it. Raises LabError naming those that it has."""
    names = list(dict.fromkeys(asked.judge for asked in findings.conditions))
    if judge not in names:
        raise LabError(
            f"The run has no judge “{shorten(judge)}”. It has {shorten(', '.join(names), 300)}."
        )
    return judge


class Derived(NamedTuple):
    """A limit that a run supports, and the row that it was derived from.

    ``can_fail``: whether any judge could fail it under the same design; a limit that none can fail
    proves nothing and is not offered.
    """

    limit: Limit
    row: Row
    can_fail: bool


def derived(findings: Findings, judge: str) -> list[Derived]:
    """Return limits that one judge of a run supports: a new run passes each nine times in ten.

    One for each question, over all settings of this judge alone: another judge's numbers would give
    it limits that it cannot fail. At least the smallest effect that matters, rounded up to two
    digits. Questions without an interval have none.
    """
    largest: dict[str, tuple[float, Row]] = {}
    for measure in QUESTIONS:
        for row in findings.select(measure):
            high = row.interval[1]
            if findings.conditions[row.condition].judge != judge or not math.isfinite(high):
                continue
            value = max(row.value, 0.0)
            size = max(row.smallest, value + AGAIN * (high - value))
            if size > largest.get(measure, (0.0, row))[0]:
                largest[measure] = size, row
    made = []
    for measure, (size, row) in largest.items():
        step = 10.0 ** (math.floor(math.log10(size)) - 1)
        high = math.ceil(size / step - 1e-9) * step
        limit = Limit(measure, -high, high)
        made.append(Derived(limit, row, high < _surely(findings.conditions[row.condition], row)))
    return made


def _surely(about: Condition, row: Row) -> float:
    """Return how large the effect surely is where every unit shows the most there can be.

    The lower end of the exact interval of such a judge (Clopper and Pearson 1934) at as many units
    as the row has: a limit at or above it fails no judge at all, however it answers. In the row's
    own unit.
    """
    most = 1.0
    reach = 1.0
    if row.measure == "moves_mean" or (row.measure == "favours_positions" and about.in_points):
        most = reach = float(about.scores[-1] - about.scores[0])
    elif row.measure == "favours_positions":
        most = reach = 1.0 - 1.0 / about.positions
    units = float(row.counts["units"])
    return most - reach * clopper_pearson(0.0, units, level=1 - row.alpha)[1]


def worst(words: Iterable[Word]) -> Word:
    """Return “fails” if any word is, else “unknown” if any is or there is none, else “passes”."""
    given = set(words)
    if "fails" in given:
        return "fails"
    if "unknown" in given or not given:
        return "unknown"
    return "passes"


class Drifted(NamedTuple):
    """Whether one setting changed. ``rate``: of two scores, what the mean says as a pass rate."""

    condition: Condition
    drift: Drift
    rate: PassRate | None


def drifts(before: Findings, after: Findings) -> list[Drifted]:
    """Return for every setting that both runs have whether it changed.

    Where each run has one judge, its name may differ.

    Raises LabError where the runs share no setting, and for a run that is not finished.
    """
    for findings in (before, after):
        if not findings.judgments.finished:
            raise LabError(
                f"“{findings.judgments.table.name}” is not finished: drift is told of finished "
                f"runs."
            )
    single = all(
        len({asked.judge for asked in findings.conditions}) == 1 for findings in (before, after)
    )
    smallest, sides = after.reading.smallest, []
    for findings in (before, after):
        groups = grouped(findings.judgments.arms, lambda condition: condition.setting[single:])
        sides.append({group[0].condition.setting[single:]: group for group in groups})
    shared = [
        key for key in sides[1] if key in sides[0] and sides[1][key][0].condition.reorder != "bare"
    ]
    if not shared:
        raise LabError(
            "The runs share no setting: data set, what is reordered, variant and scale (and judge)."
        )
    return [
        Drifted(
            sides[1][key][0].condition,
            drift(sides[0][key], sides[1][key], smallest),
            after.pass_rate(sides[1][key][0].code),
        )
        for key in shared
    ]
