"""Do the judge's scores go with the humans', and how much of it is owed to the orderings?

Per arm: r and rho of an item's mean score with its mean human rating, what the raters' own
agreement lets one hope for, every single ordering's r, and how many reads are enough. Between
the strategies of a judge: differences at equal numbers of reads. Across a factor's levels: the
sweep table. An item counts where a human rated it and any of its reads gave a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.findings.alignment_advice import advice, alarms, alignment_sentence, sentences
from rubriclab.findings.alignment_arms import ArmAlignment, Cases, OrderingRank, arms_of, available_cases, case_setting
from rubriclab.findings.alignment_ceiling import Raters
from rubriclab.findings.alignment_results import AlignmentResult, StrategyDifference
from rubriclab.findings.effects import in_r
from rubriclab.findings.frame import Units, option_rows, side_by_side, units
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.topic import DocumentPart, Json, Question, Topic
from rubriclab.model import Arm, RunData, Variant
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import plural
from rubriclab.stats.alignment import Agreement, Correlation, Difference
from rubriclab.stats.human_correlation import difference, r_with_humans
from rubriclab.stats.inference import NO_INTERVAL, Ints, holm
from rubriclab.stats.position import selection
from rubriclab.stats.reliability import TARGET

__all__ = [
    "ALIGNMENT",
    "SWEEP",
    "AlignmentResult",
    "StrategyDifference",
    "Sweep",
    "SweepPoint",
    "agreement_json",
    "alignment",
    "alignment_sentence",
    "difference_json",
    "sweep",
]


@dataclass(frozen=True)
class SweepPoint:
    """One level of a factor for one judge: strength of position bias and r with humans.

    ``code``: the arm that it is.
    """

    code: int
    judge: str
    dataset: str
    strategy: str
    others: str
    level: Any
    n_options: int
    judgments: int
    cramers_v: float
    pearson: Correlation
    n_items: int


@dataclass(frozen=True)
class Sweep:
    """A factor's levels in the order of the study, for every judge, data set and strategy."""

    factor: str
    levels: tuple[Any, ...]
    points: tuple[SweepPoint, ...]
    warnings: tuple[str, ...]


def alignment(data: RunData, *, seed: int = 0) -> AlignmentResult:
    """Agreement with humans of every arm of the options axis, and differences of strategies.

    Intervals leave out one unit after the other; ``seed`` is for the choices of reads of the
    budget curve and for the multipliers of the rank sets.
    """
    human = data.items["human"].to_numpy().astype(np.float64)
    if not np.isfinite(human).any():
        return AlignmentResult((), (), seed, (tr(_NO_HUMAN),))
    unit = units(data.items, data.unit)
    cases = side_by_side(lambda one: available_cases(data, *one, human, unit.code), _arms(data))
    raters = Raters(data.items, unit.code)
    arms: list[ArmAlignment] = []
    compared: list[StrategyDifference] = []
    for dataset in dict.fromkeys(case.arm.dataset for case in cases):
        group = [case for case in cases if case.arm.dataset == dataset]
        arms += arms_of(data, group, raters, unit, seed)
        compared += _comparisons(data, group, unit)
    arms.sort(key=lambda result: result.code)
    warnings = () if arms else (tr("This run has no judgments under one criterion at a time."),)
    return AlignmentResult(tuple(arms), tuple(compared), seed, warnings)


def sweep(data: RunData, factor: str, *, seed: int = 0) -> Sweep:
    """V and r at every level of ``factor`` (Figures 6, 7; Table 4 for the factor "scale").

    Arms that differ in another factor or in strategy are lines of their own (``others``).
    """
    aligned = {arm.code: arm for arm in alignment(data, seed=seed).arms}
    points = []
    for code, arm, judgments in _arms(data):
        if factor not in dict(arm.variant.levels):
            continue
        agreement = aligned.get(code)
        rows = option_rows(data, arm, judgments)
        picked = selection(np.bincount(rows.position[rows.ok], minlength=rows.n))
        others = Variant(tuple(pair for pair in arm.variant.levels if pair[0] != factor))
        points.append(
            SweepPoint(
                code=code,
                judge=arm.judge,
                dataset=arm.dataset,
                strategy=arm.strategy,
                others=str(others),
                level=arm.variant.get(factor),
                n_options=rows.n,
                judgments=int(rows.ok.sum()),
                cramers_v=picked.v,
                pearson=agreement.pearson if agreement else Correlation(float("nan"), NO_INTERVAL),
                n_items=agreement.n_items if agreement else 0,
            )
        )
    levels = tuple(dict.fromkeys(point.level for point in points))
    warnings = () if len(levels) > 1 else (tr("This run does not vary “{factor}”.", factor=factor),)
    return Sweep(factor, levels, tuple(points), warnings)


# ---------------------------------------------------------------- arms and their differences

_NO_HUMAN = msg("No item has a human rating, so agreement with humans cannot be shown.")


def _arms(data: RunData) -> Iterator[tuple[int, Arm, pd.DataFrame]]:
    for code, arm, judgments in data.by_arm():
        if arm.axis == "options" and len(judgments):
            yield code, arm, judgments


def _comparisons(data: RunData, cases: Sequence[Cases], unit: Units) -> Iterator[StrategyDifference]:
    """Every two strategies of one judge under one variant, balanced first.

    p values are corrected over what is asked of one judge in one setting: other judges, and how
    they fail, change nothing.
    """
    for key in dict.fromkeys(case_setting(case) for case in cases):
        group = [case for case in cases if case_setting(case) == key]
        group.sort(key=lambda case: case.arm.strategy != "balanced")
        pairs = [(a, b, _shared(a, b)) for a, b in combinations(group, 2)]
        deltas = [_delta(a, b, *shared) for a, b, shared in pairs]
        corrected = holm(np.array([delta.p for delta in deltas]))
        for (a, b, (at_a, _)), delta, p in zip(pairs, deltas, corrected, strict=True):
            yield _comparison(data, (a, b), delta, float(p), len(at_a), unit)


def _shared(a: Cases, b: Cases) -> tuple[Ints, Ints]:
    """The places, in either, of the items that both have a score for."""
    _, at_a, at_b = np.intersect1d(a.item, b.item, assume_unique=True, return_indices=True)
    return at_a.astype(np.int64), at_b.astype(np.int64)


def _delta(a: Cases, b: Cases, at_a: Ints, at_b: Ints) -> Difference:
    """r of a less r of b on the same items, both with the reads of the one that has fewer."""
    reads = float(min(a.most, b.most))
    one, other = a.reads.only(at_a), b.reads.only(at_b)
    return difference(r_with_humans(one, at=reads), r_with_humans(other, at=reads))


def _comparison(
    data: RunData, pair: tuple[Cases, Cases], delta: Difference, p: float, n: int, unit: Units
) -> StrategyDifference:
    a, b = pair
    reads = min(a.most, b.most)
    warnings: tuple[str, ...] = ()
    if a.most != b.most:
        warnings = (
            tr(
                "The budgets differ: {first} has {first_reads} reads an item, {second} {second_reads}. They are compared "
                "at {reads} each, since more reads alone raise agreement.",
                first=a.arm.strategy,
                first_reads=a.most,
                second=b.arm.strategy,
                second_reads=b.most,
                reads=reads,
            ),
        )
    return StrategyDifference(
        judge=a.arm.judge,
        dataset=a.arm.dataset,
        variant=a.arm.variant,
        a=a.arm.strategy,
        b=b.arm.strategy,
        delta_r=delta.delta,
        ci=delta.ci,
        p=delta.p,
        p_holm=p,
        n_items=n,
        excluded=len(np.union1d(a.rows.item_code, b.rows.item_code)) - n,
        reads_a=a.most,
        reads_b=b.most,
        warnings=warnings,
        test=tr("Fisher's z without each {unit}, at equal reads", unit=plural(unit.kind, 1)),
        reads=reads,
        orders=in_r(data, delta.delta, delta.ci),
    )


# ---------------------------------------------------------------- the topic


NOT_ALIGNED: Json = {"alignment": None, "ordering_rank": [], "budget": []}
"""What the document says of an arm without human ratings."""


def _document(result: AlignmentResult, data: RunData) -> DocumentPart:
    aligned = {arm.code: arm for arm in result.arms}
    arms = {
        code: _arm_json(aligned[code]) if code in aligned else NOT_ALIGNED
        for code, arm in enumerate(data.arms)
        if arm.axis == "options"
    }
    comparisons = [difference_json(pair) for pair in result.comparisons]
    return DocumentPart(arms, {"comparisons": comparisons}, warnings=result.warnings)


def _arm_json(arm: ArmAlignment) -> Json:
    return {
        "alignment": agreement_json(arm, arm.raters) | _beside(arm),
        "ordering_rank": [_ranked(one) for one in arm.ordering_rank],
        "budget": [picked(point, "k", "mean_r", "low", "high") for point in arm.budget],
    }


def _ranked(rank: OrderingRank) -> Json:
    return picked(rank, "ordering", "r", "ci", "rank", "rank_low", "rank_high")


def _beside(arm: ArmAlignment) -> Json:
    """What stands beside r: the ceiling, how many reads are enough, what is missing."""
    more: Json = {"ceiling": plain(arm.ceiling), "more_reads": plain(arm.more), "against_humans": arm.against}
    if (sure := arm.reliability) is not None:
        more["reliability"] = picked(sure, "one", "all", "noise", "noise_ci", "reads") | {
            "target": TARGET,
            "needed": plain(sure.enough),
            "needed_ci": plain(sure.enough_ci),
        }
    missing = plain(arm.sensitivity)
    return more | {"missing": arm.missing, "sensitivity": missing, "warnings": plain(arm.warnings)}


def agreement_json(agreement: Any, raters: Agreement | None) -> Json:
    """Agreement with humans, with the raters' own beside it."""
    return {
        **picked(agreement, "n_items", "excluded", "pearson", "spearman"),
        "raters": raters and picked(raters, "alpha", "leave_one_out_r"),
    }


def difference_json(pair: StrategyDifference) -> Json:
    """One entry of ``comparisons``; a variant is named where the study has factors."""
    entry = picked(pair, "judge", "dataset", "a", "b", "delta_r", "ci", "n_items")
    if pair.orders is not None:
        entry |= picked(pair, "reads", "p", "p_holm", "orders")
    return entry | ({"variant": str(pair.variant)} if pair.variant.levels else {})


ALIGNMENT = Topic(
    "alignment",
    alignment,
    title=msg("Agreement with people"),
    axes=frozenset({"options"}),
    document=_document,
    sentences=sentences,
    advice=advice,
    alarms=alarms,
)
SWEEP = Question("sweep", sweep)
