"""One line an arm: the numbers that arms of any runs are set side by side with.

Nothing is computed here that another finding has: a line is put together from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.findings.alignment import AlignmentResult
from rubriclab.findings.comparison import ComparisonResult, JudgeComparison
from rubriclab.findings.criteria import ArmCriteria, CriteriaResult
from rubriclab.findings.matching import why_not
from rubriclab.findings.plain import plain
from rubriclab.findings.position import PositionArm, PositionResult
from rubriclab.model import Arm, RunData
from rubriclab.stats.inference import NO_INTERVAL, Interval

NAN = float("nan")


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

    ``first``: share at position 1; ``bias_cost``: of the default order, in points.
    """

    mean_score: float
    v: float
    v_ci: Interval
    first: float
    bias_cost: float
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


@dataclass(frozen=True)
class Found:
    """The findings of one run that lines are made of; None where its arms need none."""

    run: str
    name: str
    arms: tuple[Arm, ...]
    position: PositionResult | None = None
    alignment: AlignmentResult | None = None
    criteria: CriteriaResult | None = None
    comparison: ComparisonResult | None = None

    @classmethod
    def named(cls, data: RunData, **results: Any) -> Found:
        return cls(data.run, data.name, data.arms, **results)


def lines(found: Found) -> dict[int, Line]:
    """A line for each arm that has judgments, by its code."""
    made = [*_options(found), *_criteria(found), *_comparisons(found)]
    return {line.code: line for line in sorted(made, key=lambda line: line.code)}


def moves(line: Line) -> bool:
    """Does this arm vary the order, so that positions can be compared?"""
    if isinstance(line, OptionsLine):
        return math.isfinite(line.v)
    return not isinstance(line, CriteriaLine) or line.tested > 0


def lines_json(told: Sequence[Line]) -> list[dict[str, Any]]:
    """The summary table as ``compare --json`` shows it."""
    out = []
    for line in told:
        row = plain(line)
        arm = row.pop("arm")
        row["arm"] = row.pop("code")
        named = {name: arm[name] for name in ("judge", "dataset", "strategy", "axis", "simulated")}
        out.append({**named, "variant": str(line.arm.variant), **row})
    return out


def _options(found: Found) -> Iterator[OptionsLine]:
    if found.position is None:
        return
    alignment = found.alignment.arms if found.alignment else ()
    by_code = {arm.code: arm.pearson for arm in alignment}
    for one in found.position.arms:
        if one.judgments["total"]:
            r = by_code.get(one.code)
            yield _option(found, one, r.r if r else NAN, r.ci if r else NO_INTERVAL)


def _option(found: Found, one: PositionArm, r: float, r_ci: Interval) -> OptionsLine:
    where = one.position
    moved = one.moves_order
    return OptionsLine(
        run=found.run,
        run_name=found.name,
        code=one.code,
        arm=one.arm,
        n_items=one.n_items,
        read=one.n_used / (one.n_used + one.n_excluded),
        mean_score=one.mean_score,
        v=where.cramers_v if moved else NAN,
        v_ci=where.cramers_v_ci if moved else NO_INTERVAL,
        first=float(where.share[0]) if moved else NAN,
        bias_cost=one.bias_cost.default.cost,
        r=r,
        r_ci=r_ci,
        within_item_sd=one.within_item_sd.mean,
    )


def _criteria(found: Found) -> Iterator[CriteriaLine]:
    for one in found.criteria.arms if found.criteria else ():
        yield _criterion(found, one)


def _criterion(found: Found, one: ArmCriteria) -> CriteriaLine:
    r = one.alignment.pearson if one.alignment else None
    return CriteriaLine(
        run=found.run,
        run_name=found.name,
        code=one.code,
        arm=one.arm,
        n_items=one.texts,
        read=(one.scores - one.unread) / one.scores if one.scores else NAN,
        shift_mean=one.delta_mean,
        shift_max=one.delta_max,
        moved=one.significant_holm,
        tested=one.tested,
        r=r.r if r else NAN,
        r_ci=r.ci if r else NO_INTERVAL,
    )


def _comparisons(found: Found) -> Iterator[ComparisonLine]:
    for one in found.comparison.judges if found.comparison else ():
        if one.status["total"]:
            yield _compared(found, one)


def _compared(found: Found, one: JudgeComparison) -> ComparisonLine:
    calls = one.status["total"]
    return ComparisonLine(
        run=found.run,
        run_name=found.name,
        code=one.code,
        arm=found.arms[one.code],
        n_items=one.n_questions,
        read=1.0 - one.usable.unread_calls / calls,
        pc=one.pc,
        pc_ci=one.pc_ci,
        pf=one.pf,
        pf_ci=one.pf_ci,
        rs=one.rs,
        rs_ci=one.rs_ci,
        error=one.error,
        error_ci=one.error_ci,
    )


def short_names(told: Sequence[Line]) -> list[tuple[str, ...]]:
    """What tells each of these arms from the others, with the judge named first.

    Parts in the order judge, data set, strategy, setting, run. A simulated judge is named as one.
    """
    runs = dict.fromkeys((line.run, line.run_name) for line in told)
    names = [name for _, name in runs]
    titles = {run: name if names.count(name) == 1 else f"{name} ({run})" for run, name in runs}
    rows = [
        (
            f"{line.arm.judge} (simulated)" if line.arm.simulated else line.arm.judge,
            line.arm.dataset,
            line.arm.strategy,
            str(line.arm.variant),
            titles[line.run],
        )
        for line in told
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
    return [
        tuple(text for text, want in zip(row, wanted, strict=True) if want and text) for row in rows
    ]


def scales(told: Sequence[Line]) -> list[list[Line]]:
    """The lines whose arms can be drawn on one scale together, the largest group first."""
    groups: list[list[Line]] = []
    for line in told:
        home = next((g for g in groups if not why_not(g[0].arm, line.arm)), None)
        if home is None:
            groups.append([line])
        else:
            home.append(line)
    return sorted(groups, key=len, reverse=True)
