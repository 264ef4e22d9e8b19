"""One line an arm: the numbers that arms of any runs are set side by side with.

Nothing is computed here that another finding has: a line is put together from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy import special

from rubriclab.findings.alignment import ALIGNMENT
from rubriclab.findings.comparison import COMPARISON, ComparisonResult
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.findings.criteria import CRITERIA
from rubriclab.findings.criteria_results import ArmCriteria, CriteriaResult
from rubriclab.findings.matching import why_not
from rubriclab.findings.plain import plain
from rubriclab.findings.position import POSITION
from rubriclab.findings.position_results import PositionArm, PositionResult
from rubriclab.findings.topics import Findings
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import number
from rubriclab.stats.alignment import Correlation
from rubriclab.stats.inference import NO_INTERVAL, Interval

NAN = float("nan")
Z95 = 1.959964


@dataclass(frozen=True)
class Line:
    """Which arm of which run a line is about, and how much it rests on.

    ``n_items``: items, texts for criteria, questions for pairs and lists; ``read``: the share
    of judgments (scores, replies) that could be read.
    """

    run: str
    run_name: str
    code: int
    arm: Arm
    n_items: int
    read: float


@dataclass(frozen=True)
class OptionsLine(Line):
    """An arm that orders score options. Shares, V and costs are NaN where it kept to one order.

    ``reads``: of an item, on which r depends; ``shift``: mean score under the ascending order less that under the descending one, in score
    points; ``v``: without noise; ``first``: share at position 1; ``bias_cost``: of the default
    order, as the paper counts it.
    """

    reads: int
    mean_score: float
    shift: float
    shift_ci: Interval
    v: float
    v_ci: Interval
    first: float
    bias_cost: float
    bias_cost_why: str
    r: float
    r_ci: Interval
    within_item_sd: float


@dataclass(frozen=True)
class CriteriaLine(Line):
    """An arm that orders criteria. ``moved`` of ``tested`` criteria move (Holm)."""

    shift_mean: float
    shift_max: float
    moved: int
    tested: int
    r: float
    r_ci: Interval


@dataclass(frozen=True)
class ComparisonLine(Line):
    """An arm of pairs or lists: consistency, fairness, stability, unreadable replies."""

    pc: float
    pc_ci: Interval
    pf: float
    pf_ci: Interval
    rs: float
    rs_ci: Interval
    error: float
    error_ci: Interval


def lines(findings: Findings) -> dict[int, Line]:
    """A line for each arm of a run that has judgments, by its code."""
    every = [
        line
        for topic in findings.topics
        if topic.key in LINES
        for line in LINES[topic.key](findings.of(topic), findings)
    ]
    return {line.code: line for line in sorted(every, key=lambda line: line.code)}


def moves(line: Line) -> bool:
    """Does this arm vary the order, so that positions can be compared?"""
    if isinstance(line, OptionsLine):
        return math.isfinite(line.v)
    return not isinstance(line, CriteriaLine) or math.isfinite(line.shift_mean)


def lines_json(compared: Sequence[Line]) -> list[dict[str, Any]]:
    """The summary table as ``compare --json`` shows it."""
    out = []
    for line in compared:
        row = plain(line)
        arm = row.pop("arm")
        row["arm"] = row.pop("code")
        named = {name: arm[name] for name in ("judge", "dataset", "strategy", "axis", "simulated")}
        out.append({**named, "variant": str(line.arm.variant), **row})
    return out


def _options(result: PositionResult, findings: Findings) -> Iterator[OptionsLine]:
    by_code = {arm.code: arm.pearson for arm in findings.of(ALIGNMENT).arms}
    for arm in result.arms:
        if arm.judgments["total"]:
            r = by_code.get(arm.code, Correlation(NAN, NO_INTERVAL))
            yield _option(findings.data, arm, r)


def _option(data: RunData, arm: PositionArm, r: Correlation) -> OptionsLine:
    where, moved = arm.position, arm.moves_order
    return OptionsLine(
        run=data.run,
        run_name=data.name,
        code=arm.code,
        arm=arm.arm,
        n_items=arm.n_items,
        read=arm.n_used / (arm.n_used + arm.n_excluded),
        reads=-(-arm.judgments["total"] // max(arm.n_items, 1)),
        mean_score=arm.mean_score,
        shift=arm.shift.ascending if moved else NAN,
        shift_ci=arm.shift.ascending_ci if moved else NO_INTERVAL,
        v=where.v if moved else NAN,
        v_ci=where.v_ci if moved else NO_INTERVAL,
        first=float(where.share[0]) if moved else NAN,
        bias_cost=arm.bias_cost.default.cost,
        bias_cost_why=arm.bias_cost.why,
        r=r.r,
        r_ci=r.ci,
        within_item_sd=arm.within_item_sd.mean,
    )


def _criteria(result: CriteriaResult, findings: Findings) -> Iterator[CriteriaLine]:
    return (_criterion(findings.data, arm) for arm in result.arms)


def _criterion(data: RunData, arm: ArmCriteria) -> CriteriaLine:
    r = arm.alignment.pearson if arm.alignment else Correlation(NAN, NO_INTERVAL)
    return CriteriaLine(
        run=data.run,
        run_name=data.name,
        code=arm.code,
        arm=arm.arm,
        n_items=arm.texts,
        read=(arm.scores - arm.unread) / arm.scores if arm.scores else NAN,
        shift_mean=arm.delta_mean,
        shift_max=arm.delta_max,
        moved=arm.significant_holm,
        tested=arm.tested,
        r=r.r,
        r_ci=r.ci,
    )


def _comparisons(result: ComparisonResult, findings: Findings) -> Iterator[ComparisonLine]:
    return (_compared(findings.data, judge) for judge in result.judges if judge.status["total"])


def _compared(data: RunData, judge: JudgeComparison) -> ComparisonLine:
    calls = judge.status["total"]
    return ComparisonLine(
        run=data.run,
        run_name=data.name,
        code=judge.code,
        arm=data.arms[judge.code],
        n_items=judge.n_questions,
        read=1.0 - judge.usable.unread_calls / calls,
        pc=judge.pc,
        pc_ci=judge.pc_ci,
        pf=judge.pf,
        pf_ci=judge.pf_ci,
        rs=judge.rs,
        rs_ci=judge.rs_ci,
        error=judge.error,
        error_ci=judge.error_ci,
    )


STAYS = msg("{high} stays with its choice most often, {low} least. Consistency (PC): {sides}.")
STAYS_OPEN = msg("Undecided which of them stays with its choice most often. Consistency (PC): {sides}.")
MOVED = msg("The order moves {high} most and {low} least. Uneven picking without noise (V): {sides}.")
MOVED_OPEN = msg("Undecided which of them the order moves most. Uneven picking without noise (V): {sides}.")


def most_moved(compared: Sequence[Line]) -> str:
    """Which of some arms on one scale the order moves most, where that can be told; else that not.

    The largest of several estimates is lifted by noise: it is named only where it lies apart from
    the smallest by more than chance does, over all pairs of arms (Bonferroni). V is taken less what
    chance adds to it. Empty for fewer than two arms, and for criteria, whose largest shift has no
    interval.
    """
    known = sorted(
        (leaning for leaning in map(_leaning, compared) if leaning is not None), key=lambda leaning: leaning.value
    )
    if len(known) < 2:
        return ""
    low, high = known[0], known[-1]
    names = {
        id(leaning): " · ".join(name)
        for leaning, name in zip(known, short_names([leaning.line for leaning in known]), strict=True)
    }
    pairs = isinstance(low.line, ComparisonLine)
    form = ".0%" if pairs else ".2f"
    high_name, low_name = names[id(high)], names[id(low)]
    sides = f"{high_name} {number(high.value, form)}; {low_name} {number(low.value, form)}"
    reach = float(special.ndtri(1.0 - 0.025 / math.comb(len(known), 2)))
    apart = high.value - low.value > reach * math.hypot(high.below, low.above)
    shown, undecided = (STAYS, STAYS_OPEN) if pairs else (MOVED, MOVED_OPEN)
    return tr(shown if apart else undecided, high=high_name, low=low_name, sides=sides)


class _Leaning(NamedTuple):
    """A number of an arm and its standard error on either side, from its 95 % interval."""

    line: Line
    value: float
    below: float
    above: float


def _leaning(line: Line) -> _Leaning | None:
    """V without noise, or consistency; None where an arm has no interval for it."""
    if isinstance(line, OptionsLine):
        shown = value = line.v
        low, high = line.v_ci
    elif isinstance(line, ComparisonLine):
        shown = value = line.pc
        low, high = line.pc_ci
    else:
        return None
    if not all(map(math.isfinite, (shown, low, high))):
        return None
    return _Leaning(line, shown, (value - low) / Z95, (high - value) / Z95)


LINES: Mapping[str, Callable[[Any, Findings], Iterator[Line]]] = {
    POSITION.key: _options,
    CRITERIA.key: _criteria,
    COMPARISON.key: _comparisons,
}
"""Lines of the arms that a topic is about, by its key."""


def arm_result(findings: Findings, line: Line) -> PositionArm | ArmCriteria:
    """What a topic says of the one arm that ``line`` is about."""
    arms: Sequence[PositionArm] | Sequence[ArmCriteria] = findings.of(POSITION).arms
    if isinstance(line, CriteriaLine):
        arms = findings.of(CRITERIA).arms
    return next(arm for arm in arms if arm.code == line.code)


def short_names(compared: Sequence[Line]) -> list[tuple[str, ...]]:
    """What tells each of these arms from the others, with the judge named first.

    Parts in the order judge, data set, strategy, setting, run. A simulated judge is named as one.
    """
    runs = dict.fromkeys((line.run, line.run_name) for line in compared)
    names = [name for _, name in runs]
    titles = {run: name if names.count(name) == 1 else f"{name} ({run})" for run, name in runs}
    rows = [
        (
            f"{line.arm.judge} ({tr('simulated')})" if line.arm.simulated else line.arm.judge,
            line.arm.dataset,
            line.arm.strategy,
            str(line.arm.variant),
            titles[line.run],
        )
        for line in compared
    ]
    tells = [len({row[part] for row in rows}) > 1 for part in range(5)]
    if not any(tells):
        tells[2] = True
    tells[0] = True
    for part in (4, 1):  # a run or a data set is named only where the rest leaves a doubt
        fewer = [*tells[:part], False, *tells[part + 1 :]]
        if any(fewer) and len(set(_parts(rows, fewer))) == len(set(_parts(rows, tells))):
            tells = fewer
    return _parts(rows, tells)


def _parts(rows: Sequence[tuple[str, ...]], wanted: Sequence[bool]) -> list[tuple[str, ...]]:
    return [tuple(text for text, want in zip(row, wanted, strict=True) if want and text) for row in rows]


def scales(compared: Sequence[Line]) -> list[list[Line]]:
    """The lines whose arms can be drawn on one scale together, the largest group first."""
    groups: list[list[Line]] = []
    for line in compared:
        home = next((g for g in groups if not why_not(g[0].arm, line.arm)), None)
        if home is None:
            groups.append([line])
        else:
            home.append(line)
    return sorted(groups, key=len, reverse=True)
