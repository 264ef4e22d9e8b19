"""May the judge replace a rater? The alternative annotator test, and what of it hangs on the order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.findings.debiasing import MIN_ITEMS
from rubriclab.findings.debiasing_methods import corrected_calls
from rubriclab.findings.debiasing_reads import Group, grid_groups
from rubriclab.findings.effects import unfinished
from rubriclab.findings.frame import arm_units, option_rows, side_by_side, units
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.ratings import ratings_of
from rubriclab.findings.replacement_arms import CONTROL, CORRECTED, Case, ReplacementArm, Version, arm_replacement
from rubriclab.findings.topic import DocumentPart, Json, Sentence, Topic, clearest
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.inference import Floats

MAY = msg(
    "One read of {who} may stand in for a rater (allowance {epsilon:g}, the test's epsilon; {verdict}; advantage "
    "{advantage} {ends})"
)
NOT_SHOWN = msg(
    "One read of {who} was not shown to be able to stand in for a rater (allowance {epsilon:g}, the test's epsilon; "
    "{verdict}; advantage {advantage} {ends})"
)
NO_RATERS = msg("No item has ratings of two people: whether the judge may replace one cannot be asked.")


@dataclass(frozen=True)
class ReplacementResult:
    """The test of every arm of score options on rated items; ``epsilon``: see the topic's definition."""

    epsilon: float
    arms: tuple[ReplacementArm, ...]
    warnings: tuple[str, ...]


def replacement(data: RunData, *, epsilon: float | None = None, seed: int = 0) -> ReplacementResult:
    """The test for every arm of the options axis; ``epsilon`` None: as the run is read."""
    epsilon = data.epsilon if epsilon is None else epsilon
    ratings = ratings_of(data.items)
    if not (np.isfinite(ratings.values).sum(axis=1) > 1).any():
        return ReplacementResult(epsilon, (), (tr(NO_RATERS),))
    everyone = units(data.items, data.unit)
    corrected = {group.reference.code: _corrected(data, group, seed) for group in grid_groups(data, seed)}
    cases = []
    for code, arm, judgments in data.by_arm():
        if arm.axis != "options" or judgments.empty:
            continue
        rows = option_rows(data, arm, judgments)
        values = ratings.values[rows.item_code]
        given = np.flatnonzero(np.isfinite(values).any(axis=0)).tolist()
        mine = replace(ratings, names=tuple(ratings.names[k] for k in given), values=values[:, given])
        others = {name: whole[rows.item_code] for name, whole in corrected.get(code, {}).items()}
        cases.append(Case(code, arm, rows, mine, arm_units(rows, everyone), others, unfinished(data)))
    arms = side_by_side(lambda case: arm_replacement(case, epsilon, seed), cases)
    return ReplacementResult(epsilon, tuple(arms), ())


def _corrected(data: RunData, group: Group, seed: int) -> Mapping[str, Floats]:
    """The corrected call and its control by the run's items; nothing where no prior can be learnt."""
    readable = (group.reference.score >= 0).any(axis=1).sum()
    if readable < MIN_ITEMS or group.reference.score.shape[1] < 2:
        return {}
    calls = corrected_calls(group, "probabilities" if group.has_probabilities else "counts", seed)
    if calls is None:
        return {}
    whole = np.full((2, len(data.items)), np.nan)
    whole[:, group.reference.item] = calls
    return {CORRECTED: whole[0], CONTROL: whole[1]}


# ---------------------------------------------------------------- words


def verdict_words(version: Version, why: str = "") -> str:
    """Whether it passes, and against how many: “passes: beats 2 of 3 annotators”."""
    if version.passes is None:
        return tr("no verdict: {why}", why=tr(why)) if why else tr("no verdict")
    said = (
        msg("passes: beats {beaten} of {annotators}")
        if version.passes
        else msg("does not pass: beats {beaten} of {annotators}")
    )
    beaten = sum(one.beaten for one in version.annotators)
    return tr(said, beaten=beaten, annotators=many(version.tested, "annotator"))


def replacement_sentence(arm: ReplacementArm) -> str:
    """What one read of the judge may do, and what of it hangs on the order."""
    who, one = arm.arm.judge, arm.single
    if one.passes is None:
        return tr("Whether {who} may replace a rater is not said: {why}.", who=who, why=tr(arm.why))
    start = tr(
        MAY if one.passes else NOT_SHOWN,
        who=who,
        epsilon=arm.epsilon,
        verdict=verdict_words(one),
        advantage=number(one.advantage, ".2f"),
        ends=interval(one.advantage_ci, ".2f", brackets=True),
    )
    mean = arm.averaged
    if mean.passes != one.passes and mean.passes is not None:
        start += tr("; the mean over its reads does") if mean.passes else tr("; the mean over its reads does not")
    if one.passes and arm.constant.passes:
        start += tr(
            ". But so would a judge that gave every item the mean of all ratings (advantage {advantage}): "
            "passing here does not show that a judge reads",
            advantage=number(arm.constant.advantage, ".2f"),
        )
    return f"{start}. {order_sentence(arm)}".strip()


def order_sentence(arm: ReplacementArm) -> str:
    """How much of the verdict hangs on the order of the options; empty where there is one order."""
    tested = [order for order in arm.orders if order.passes is not None]
    if len(tested) < 2:
        return ""
    low, high = (pick(order.advantage for order in tested) for pick in (min, max))
    return tr(
        "It passes in {passing} of {orders}; the advantage runs from {low:.2f} to {high:.2f} as read, {spread} "
        "{ends} apart without luck.",
        passing=arm.passing_orders,
        orders=many(len(tested), "order"),
        low=low,
        high=high,
        spread=number(arm.spread, ".2f"),
        ends=interval(arm.spread_ci, ".2f", brackets=True),
    )


def sentences(result: ReplacementResult) -> Iterator[Sentence]:
    """Of each judge the arm that its position is judged by."""
    for name, arm in clearest(result.arms).items():
        yield Sentence(name, replacement_sentence(arm), 3 if arm.why else 2)


# ---------------------------------------------------------------- the topic


def _document(result: ReplacementResult, data: RunData) -> DocumentPart:
    tested = {arm.code: arm for arm in result.arms}
    arms: dict[int, Json] = {
        code: {"replacement": _arm_json(tested[code]) if code in tested else None}
        for code, arm in enumerate(data.arms)
        if arm.axis == "options"
    }
    return DocumentPart(arms, warnings=result.warnings)


def _arm_json(arm: ReplacementArm) -> Json:
    return {
        **picked(arm, "epsilon", "nearness", "persons", "n_items", "resampled", "n_units", "why"),
        **_version_json(arm.single),
        "orders": [{"ordering": [int(s) for s in one.name.split()], **_version_json(one)} for one in arm.orders],
        "orders_passing": arm.passing_orders if arm.orders else None,
        "spread": plain(arm.spread),
        "spread_ci": plain(arm.spread_ci),
        "averaged": _version_json(arm.averaged),
        "corrected": arm.corrected and _version_json(arm.corrected),
        "control": arm.control and _version_json(arm.control),
        "constant": _version_json(arm.constant),
        "warnings": plain(arm.warnings),
    }


def _version_json(version: Version) -> Json:
    low, high = plain(version.advantage_ci)
    return {
        **picked(version, "winning_rate", "passes", "winning_rate_paper"),
        "advantage": {"value": plain(version.advantage), "low": low, "high": high},
        "annotators": [_annotator_json(one) for one in version.annotators],
    }


def _annotator_json(one: Any) -> Json:
    return picked(one, "name", "n_items", "judge", "human", "p", "p_by", "beaten", "p_paper")


REPLACEMENT = Topic(
    "replacement",
    replacement,
    probabilities=True,
    title=msg("May the judge replace a rater?"),
    axes=frozenset({"options"}),
    document=_document,
    sentences=sentences,
)
