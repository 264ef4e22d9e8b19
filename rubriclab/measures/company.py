"""Say what scoring several in one call changes, compared with each by itself.

Of criteria: the verdicts of ``core/company_effects.py``, and next to them the judge's own noise in
both ways, its agreement with people, and what a score costs. Of answers: the mean difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.company_effects import (
    MOST_LEFT_OUT,
    Company,
    company_effects,
    pairs_of_ways,
    signed_ends,
)
from rubriclab.core.estimate import Estimate, Reach, Student, mean_over, plain, share_of
from rubriclab.core.judgments import Arm, grouped, hash_names, widest
from rubriclab.core.topic import Caution, Row, nothing, topic
from rubriclab.core.verdict import MeanVerdict, Verdict
from rubriclab.measures.agreement import weighted_kappa
from rubriclab.measures.rated import means, rated
from rubriclab.model.study import ReadingPart
from rubriclab.stats.noise import differences
from rubriclab.stats.resample import Floats, Ints

ALONE, TOGETHER = "alone", "together"
"""The two ways to ask, as ``of.way`` names them."""
JUDGED = ("company", "company_criterion", "company_single", "company_gate")
"""The measures that the verdicts are about."""


@topic("company", axes={"criteria", "responses"}, per="run")
def company(arms: Sequence[Arm], reading: ReadingPart | None = None) -> Iterator[Row | Caution]:
    """Yield what company changes, of answers in one call and of criteria in one call."""
    yield from company_of_answers([a for a in arms if a.condition.reorder == "responses"])
    if not arms[0].run.finished:
        for joint, _ in pairs_of_ways(arms):
            yield from nothing(JUDGED, "unfinished", condition=widest(joint).code)
        return
    for found in company_effects(arms, (reading or ReadingPart()).smallest):
        yield from verdict_rows(found)
        yield from own_noise(found)
        yield from agreement_of_ways(found)
        yield from tokens_of_ways(found)
        lost_alone, lost = found.left_out
        if max(lost_alone, lost) > MOST_LEFT_OUT:
            shares = {"together": lost, "alone": lost_alone}
            yield Caution("company_left_out", widest(found.together).code, shares)


# ------------------------------------------------------------------------------------ answers
def company_of_answers(arms: Sequence[Arm]) -> Iterator[Row]:
    """Yield what scoring several answers together adds to the score that each gets alone.

    It is a mean over items. Scores of one call go together, and so do answers to one prompt: the
    larger of the two errors counts.
    """
    for group in grouped(
        arms, lambda condition: (condition.judge, condition.dataset, condition.variant_key)
    ):
        asked_alone = [arm for arm in group if arm.positions == 1 and arm.ok.any()]
        if not asked_alone:
            continue
        alone = asked_alone[0]
        for arm in group:
            if arm.positions == 1:
                continue
            added = means(arm) - alone.of_run(means(alone))[arm.item_code]
            groupings = [(arm.unit, arm.unit_names)]
            prompt = arm.run.items["prompt"].iloc[arm.item_code]
            if arm.unit_kind != "prompt" and bool(prompt.notna().all()):
                code, names = pd.factorize(prompt)
                groupings.append((code.astype(np.int64), hash_names(names.to_numpy(dtype=object))))
            estimate = max(
                (mean_over(added, *grouping) for grouping in groupings), key=lambda e: e.error
            )
            estimate = replace(estimate, rule=Student(least=arm.step / arm.positions))
            n = int(np.isfinite(added).sum())
            yield Row(
                "company", estimate, {"against": alone.code}, condition=arm.code, counts={"n": n}
            )


# ------------------------------------------------------------------------------------ criteria
def verdict_rows(found: Company) -> Iterator[Row]:
    """Yield the mean difference, the difference of each criterion, single scores, and the gate."""
    against = {"against": found.alone.code}
    yield _verdict_row(found, "company", found.mean, against)
    for name, verdict in zip(found.names, found.criteria, strict=True):
        yield _verdict_row(found, "company_criterion", verdict, {"target": name, **against})
    yield _verdict_row(found, "company_single", found.single, against)
    gate = found.verdicts.gate
    yield Row(
        "company_gate",
        Estimate(float("nan"), np.zeros(0), np.zeros(0)),
        against,
        test=("permutation of calls over both ways", gate.p),
        counts={
            "n": found.texts,
            "units": found.verdicts.units,
            "deals": gate.deals,
            "exact": gate.exact,
            "parts": dict(gate.parts),
            "least": gate.least,
        },
        condition=widest(found.together).code,
    )


def _verdict_row(found: Company, measure: str, verdict: Verdict, of: dict[str, Any]) -> Row:
    """Return the row of a verdict. A mean has its sign: together - alone."""
    value, interval = verdict.value, verdict.interval
    if isinstance(verdict, MeanVerdict):
        value, interval = verdict.signed, signed_ends(verdict)
    return Row(
        measure,
        Estimate(value, np.zeros(0), np.zeros(0), why=verdict.why),
        of,
        test=("gate" if measure == "company_single" else "t", verdict.p),
        counts={
            "n": found.texts,
            "units": found.verdicts.units,
            "above_zero": verdict.above_zero,
            "units_needed": verdict.units_needed,
        },
        condition=widest(found.together).code,
        verdict=verdict.word,
        smallest=verdict.smallest,
        ends=interval,
        level=1 - found.verdicts.alpha,
        alpha=found.verdicts.alpha,
    )


def own_noise(found: Company) -> Iterator[Row]:
    """Yield how many scores differ when the same is asked again, in both ways, and the difference.

    On the items that were asked twice in both; of one call, twice in the same order.
    """
    first = found.together[0]
    by_way = {TOGETHER: repeats_differ(found.together), ALONE: repeats_differ([found.alone])}
    known = np.isfinite(by_way[TOGETHER]) & np.isfinite(by_way[ALONE])
    where = widest(found.together).code
    run = first.run
    criterion = run.items["criterion"].astype(str).to_numpy()
    units = run.unit_of_item, run.unit_names
    for way, values in by_way.items():
        for name in ("", *found.names):
            kept = known & (criterion == name if name else True)
            of = {"way": way} | ({"target": name} if name else {})
            estimate = share_of(np.where(kept, values, np.nan), kept, *units, none="no_repeats")
            counts = {"n": int(kept.sum())}
            yield Row("company_noise", estimate, of, condition=where, counts=counts)
    apart = np.where(known, by_way[TOGETHER] - by_way[ALONE], np.nan)
    yield Row(
        "company_noise_difference",
        mean_over(apart, *units, partial(Reach, 1.0), none="no_repeats"),
        {"against": found.alone.code},
        condition=where,
        counts={"n": int(known.sum())},
    )


def repeats_differ(arms: Sequence[Arm]) -> Floats:
    """(items of the run,): the share of pairs of calls in one order that gave different scores.

    NaN where no order of an item was asked twice.
    """
    item, order, score = [], [], []
    for arm in arms:
        kept = np.flatnonzero(arm.ok)
        item.append(arm.item_code[arm.item[kept]])
        order.append(arm.order_code[arm.order[kept]])
        score.append(arm.score[kept])
    codes: list[Ints] = [np.concatenate(part) for part in (item, order, score)]
    items, orders, scores = codes
    levels, known = len(arms[0].scores), len(arms[0].run.items)
    return differences(items, orders, scores, levels, known)[1]


def agreement_of_ways(found: Company) -> Iterator[Row]:
    """Yield the weighted kappa of single calls with people in both ways, and the difference.

    On the items that people rated and that have a score in both.
    """
    joint = widest(found.together)
    of_joint, of_alone = rated(joint), rated(found.alone)
    if of_joint is None or of_alone is None or not of_joint.comparable:
        return
    shared = np.intersect1d(
        joint.item_code[of_joint.paired], found.alone.item_code[of_alone.paired]
    )
    criterion = joint.run.items["criterion"].astype(str).to_numpy()
    for name in ("", *found.names):
        items = shared[criterion[shared] == name] if name else shared
        if not len(items):
            continue
        kappas = []
        of = {"target": name} if name else {}
        for way, side in ((TOGETHER, of_joint), (ALONE, of_alone)):
            which = np.searchsorted(side.arm.item_code, items)
            kappas.append(weighted_kappa(side, which))
            about: dict[str, Any] = {"condition": joint.code, "counts": {"n": len(items)}}
            yield Row("company_kappa", kappas[-1], {"way": way, **of}, **about)
        difference = replace(kappas[0] - kappas[1], rule=Student(heavy=True))
        of_difference = {**of, "against": found.alone.code}
        yield Row("company_kappa_difference", difference, of_difference, **about)


def tokens_of_ways(found: Company) -> Iterator[Row]:
    """Yield the tokens, in and out, that scoring all criteria of a text once takes in each way."""
    joint = widest(found.together)
    tokens = joint.run.table.tokens
    calls = {TOGETHER: 1, ALONE: len(found.names)}
    arms = {TOGETHER: joint, ALONE: found.alone}
    if not all(arm.code in tokens for arm in arms.values()):
        return
    for way, arm in arms.items():
        counted = tokens[arm.code]
        yield Row(
            "company_tokens",
            plain(calls[way] * counted.of_a_call, "counted"),
            {"way": way},
            condition=joint.code,
            counts={"n": counted.calls, "calls": calls[way]},
        )
