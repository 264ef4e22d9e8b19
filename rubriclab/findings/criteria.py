"""Does the order of the criteria in one prompt move their scores?

Per arm of the criteria axis: by how many points each criterion moves from the first place to the
last, the root mean square of shifts less noise (see ``criteria_order``); criterion x position
shifts, Delta Pos, Friedman per criterion with Holm's correction, agreement with humans (macro mean
over criteria), and what the criterion read just before adds (method: section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from rubriclab.findings.alignment import NOT_ALIGNED, StrategyDifference, agreement_json, difference_json
from rubriclab.findings.alignment_advice import FIRST, against_people
from rubriclab.findings.criteria_agreement import Aligned, Raters, arm_pairs, compared, corrected, macro
from rubriclab.findings.criteria_order import (
    ALPHA,
    SameOrder,
    anchor,
    cell_intervals,
    first_less_last,
    order_advice,
    order_effect,
    order_sentence,
    reads_apart,
    repeats,
    root_mean_square,
)
from rubriclab.findings.criteria_results import ArmCriteria, CarryoverRow, CriteriaResult, CriterionEffect
from rubriclab.findings.criteria_rows import Layout, Rows, arm_rows
from rubriclab.findings.frame import side_by_side, status_counts
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.topic import Advice, DocumentPart, Json, Sentence, Topic, about, arm_json
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import criteria as stats
from rubriclab.stats.alignment import Agreement
from rubriclab.stats.criteria import Carryover, Friedman
from rubriclab.stats.inference import Floats, holm

FEW_TEXTS = 20


def criteria(data: RunData, *, seed: int = 0) -> CriteriaResult:
    """Criterion-order effects of every arm, and paired differences in macro r; nothing in them is drawn (``seed``)."""
    del seed
    chosen = [(code, arm, rows) for code, arm, rows in data.by_arm() if arm.axis == "criteria" and len(rows)]
    if not chosen:
        why = tr("This run scores one criterion a call, so there is no order of criteria to study.")
        return CriteriaResult((), (), (why,))
    layout = Layout.of(data)
    human = data.items["human"].to_numpy().astype(np.float64)
    raters = Raters(data.items)
    results: list[ArmCriteria] = []
    differences: list[StrategyDifference] = []
    for dataset in dict.fromkeys(arm.dataset for _, arm, _ in chosen):
        arms = side_by_side(
            lambda one: arm_rows(data, layout, *one), [one for one in chosen if one[1].dataset == dataset]
        )
        aligned = {rows.code: Aligned.of(rows, human) for rows in arms}
        pairs = arm_pairs(arms, aligned)
        results += _arms_of(data, arms, aligned, raters)
        differences.extend(compared(pair) for pair in pairs)
    results.sort(key=lambda arm: arm.code)
    return CriteriaResult(tuple(results), corrected(differences), ())


# ---------------------------------------------------------------- position effects


def _arms_of(
    data: RunData, arms: Sequence[Rows], aligned: dict[int, Aligned | None], raters: Raters
) -> list[ArmCriteria]:
    agreement = {rows.code: raters.on(rows) for rows in arms}
    each = side_by_side(lambda rows: reads_apart(data, rows), arms)
    apart = {rows.code: points for rows, points in zip(arms, each, strict=True)}

    def one(rows: Rows) -> ArmCriteria:
        others = [other for other in arms if other is not rows]
        control = repeats(data, rows, others, apart)
        return _arm(data, rows, control, aligned[rows.code], agreement[rows.code])

    return side_by_side(one, arms)


def _arm(
    data: RunData, rows: Rows, control: SameOrder, aligned: Aligned | None, raters: Agreement | None
) -> ArmCriteria:
    n, sums, counts = len(rows.names), rows.sums, rows.counts
    tests = [_friedman(sums[:, c], counts[:, c]) for c in range(n)]
    p = np.array([test.p for test in tests])
    effects = _effects(data, rows, aligned, tests, holm(p))
    carried = stats.carryover(rows.text, rows.criterion, rows.position, rows.before, rows.value, n_criteria=n)
    known = np.array([effect.delta_pos for effect in effects if np.isfinite(effect.delta_pos)])
    pull, pull_test = anchor(data, rows)
    return ArmCriteria(
        code=rows.code,
        arm=rows.arm,
        texts=rows.texts,
        reads=rows.matrix.shape[1],
        scores=rows.asked,
        unread=rows.asked - len(rows.value),
        criteria=effects,
        rms=root_mean_square(rows),
        repeats=control,
        delta_mean=float(known.mean()) if known.size else float("nan"),
        delta_max=float(known.max()) if known.size else float("nan"),
        significant=int((p < ALPHA).sum()),
        significant_holm=int((holm(p) < ALPHA).sum()),
        tested=int(np.isfinite(p).sum()),
        alignment=None if aligned is None else macro(aligned),
        raters=raters,
        carryover=_carryover_rows(rows.names, carried),
        carryover_separable=carried.separable,
        pull=pull,
        pull_test=pull_test,
        warnings=tuple(_warnings(rows, tests, known.size, carried)),
    )


def _effects(
    data: RunData, rows: Rows, aligned: Aligned | None, tests: Sequence[Friedman], p_holm: Floats
) -> tuple[CriterionEffect, ...]:
    counts, sums = rows.counts, rows.sums
    shifts = stats.position_shifts(sums.sum(axis=0), counts.sum(axis=0))
    ends, slopes = cell_intervals(rows), first_less_last(data, rows)
    return tuple(
        CriterionEffect(
            criterion=name,
            first_less_last=slopes[c],
            positions=tuple(range(1, rows.arm.n_positions + 1)),
            exposure=tuple(int(x) for x in counts[:, c].sum(axis=0)),
            mean=float(sums[:, c].sum() / max(counts[:, c].sum(), 1.0)),
            shift=tuple(float(x) for x in shifts.shift[c]),
            shift_ci=tuple(ends[c]),
            delta_pos=float(shifts.delta[c]),
            friedman=tests[c],
            p_holm=float(p_holm[c]),
            r=None if aligned is None else float(aligned.each[c]),
            n_items=0 if aligned is None else aligned.count(c),
        )
        for c, name in enumerate(rows.names)
    )


def _friedman(sums: Floats, counts: Floats) -> Friedman:
    """Friedman over the positions the criterion stood at; reads at one position averaged."""
    shown = counts.sum(axis=0) > 0
    with np.errstate(invalid="ignore"):
        return stats.friedman((sums / counts)[:, shown])


def _carryover_rows(names: Sequence[str], carryover: Carryover) -> tuple[CarryoverRow, ...]:
    if not carryover.separable:
        return ()
    return tuple(
        CarryoverRow(name, float(carryover.effect[c]), carryover.ci[c], float(carryover.p[c]), float(p_holm))
        for c, (name, p_holm) in enumerate(zip(names, holm(carryover.p), strict=True))
    )


def _warnings(rows: Rows, tests: Sequence[Friedman], moved: int, carried: Carryover) -> Iterator[str]:
    unread = rows.asked - len(rows.value)
    if unread == rows.asked:
        yield tr(
            "None of {criterion_scores} could be read: the page Judgments has every reply word for word.",
            criterion_scores=many(unread, "criterion score"),
        )
        return
    if unread:
        yield tr(
            "{unread} of {asked} criterion scores could not be read and are left out.", unread=unread, asked=rows.asked
        )
    if moved == 0:
        yield tr(
            "Under this strategy every criterion stands at one position only: a position effect cannot be seen. "
            "Use balanced, Williams or random orders."
        )
    else:
        yield from _of_orders(rows, tests, carried)
    if rows.texts < FEW_TEXTS:
        yield tr("Only {texts} texts carry the intervals; read them with care.", texts=rows.texts)


def _of_orders(rows: Rows, tests: Sequence[Friedman], carried: Carryover) -> Iterator[str]:
    """What limits the findings about orders, where criteria moved at all."""
    if 2 * ((rows.counts > 0).sum(axis=2) == 1).sum() > (rows.counts.sum(axis=2) > 0).sum():
        yield tr(
            "Most texts were read in one order each: what is said compares texts that were dealt different orders, "
            "and is right if these were dealt at random."
        )
    excluded = max(test.excluded for test in tests)
    if excluded:
        yield tr(
            "Up to {excluded} of {texts} texts are left out of the Friedman tests because a position is missing for "
            "them.",
            excluded=excluded,
            texts=rows.texts,
        )
    if carried.adjusted == "position":
        yield tr(
            "The neighbour effect takes position as acting alike on all criteria: this design has too few orders to "
            "let it differ between them."
        )
    if not carried.separable:
        yield tr(
            "This design cannot tell the criterion read just before from the position: some criteria never follow "
            "each other, or always at one place. Use orders in which each follows each (a Williams design)."
        )


# ---------------------------------------------------------------- the topic


def _sentences(result: CriteriaResult) -> Iterator[Sentence]:
    for name, text in _alarming(result):
        yield Sentence(name, text, FIRST)
    first: dict[str, ArmCriteria] = {}
    for arm in sorted(result.arms, key=lambda arm: (not arm.varied, -arm.reads)):
        first.setdefault(about(arm.arm), arm)
    for name in dict.fromkeys(about(arm.arm) for arm in result.arms):
        yield Sentence(name, order_sentence(first[name]), 0)


def _summary(result: CriteriaResult) -> str:
    tested = [arm for arm in result.arms if arm.varied]
    moved = sum(order_effect(arm)[1].verdict == "effect" for arm in tested)
    if not tested:
        return ""
    return tr(
        "the order of the criteria is shown to move scores in {moved} of {arms}",
        moved=moved,
        arms=many(len(tested), "arm"),
    )


def _advice(result: CriteriaResult) -> Iterator[Advice]:
    return order_advice(result.arms)


def _document(result: CriteriaResult, data: RunData) -> DocumentPart:
    rows = {code: judgments for code, _, judgments in data.by_arm()}
    return DocumentPart(
        {arm.code: _arm_json(arm, rows[arm.code]) for arm in result.arms},
        {"comparisons": [difference_json(one) for one in result.comparisons]},
        warnings=result.warnings,
    )


def _arm_json(arm: ArmCriteria, judgments: pd.DataFrame) -> Json:
    aligned = {} if arm.alignment is None else {"alignment": agreement_json(arm.alignment, arm.raters)}
    return {
        **arm_json(arm.arm),
        "n_criteria": arm.arm.n_positions,
        "n_texts": arm.texts,
        "reads": arm.reads,
        "calls": int(judgments["call"].nunique()),
        "judgments": status_counts(judgments),
        **NOT_ALIGNED,
        **aligned,
        "criteria": [_effect_json(effect) for effect in arm.criteria],
        **picked(arm, "rms", "repeats", "pull"),
        "pull_p": plain(arm.pull_test.p),
        "delta_pos": {"mean": plain(arm.delta_mean), "max": plain(arm.delta_max)},
        "significant": {"raw": arm.significant, "corrected": arm.significant_holm, "tested": arm.tested},
        **picked(arm, "carryover", "carryover_separable", "warnings"),
    }


def _effect_json(effect: CriterionEffect) -> Json:
    test = picked(effect.friedman, "statistic", "df", "p", "blocks", "excluded")
    shown = picked(effect, "criterion", "first_less_last", "positions", "shift", "shift_ci", "delta_pos")
    return {**shown, "friedman": test | picked(effect, "p_holm")}


def _alarming(result: CriteriaResult) -> Iterator[tuple[str, str]]:
    """(judge, data set and setting, what is said) of those that run against people, once each."""
    for name in dict.fromkeys(about(arm.arm) for arm in result.arms):
        rated = [a.alignment for a in result.arms if about(a.arm) == name and a.alignment]
        worst = min(rated, key=lambda a: np.nan_to_num(a.pearson.r, nan=1.0), default=None)
        if worst is not None and worst.pearson.ci.high < 0:
            r = worst.pearson
            yield name, against_people(name, r.r, r.ci, worst.n_items, "score")


CRITERIA = Topic(
    "criteria",
    criteria,
    title=msg("Order of the criteria"),
    axes=frozenset({"criteria"}),
    document=_document,
    sentences=_sentences,
    summary=_summary,
    advice=_advice,
    alarms=lambda result: (text for _, text in _alarming(result)),
)
