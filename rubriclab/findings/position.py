"""Score-option position: what a run's options-axis arms say about where a judge picks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from rubriclab.findings.arm_tables import ArmTables, Outcome, arm_tables
from rubriclab.findings.effects import step
from rubriclab.findings.frame import Units, known_mean, side_by_side, units
from rubriclab.findings.ordering import UNIT, BiasCost, Costed
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.position_arms import arm_result
from rubriclab.findings.position_results import NoiseFloor, PositionArm, PositionResult
from rubriclab.findings.shift import mean_words, one_words, order_words, same_order
from rubriclab.findings.topic import Advice, DocumentPart, Json, Sentence, Topic, about, arm_json, clarity, setting
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many
from rubriclab.stats import position as stat
from rubriclab.stats.inference import Floats, holm
from rubriclab.stats.shift import excess
from rubriclab.stats.verdict import Verdict, effect

OF_COST = msg("percentage points of Bias Cost")


def position(data: RunData, *, seed: int = 0, n_boot: int = 1000, outcome: Outcome = "score") -> PositionResult:
    """Position effects of every options-axis arm (method: section 3; Xu v1, v2 setting 1).

    ``outcome``: what the within-item spread and the mean are computed from, the selected
    score or the expected score of the token probabilities.
    """
    everyone = units(data.items, data.unit)

    def counted(arm: tuple[int, Arm, pd.DataFrame]) -> ArmTables:
        return arm_tables(data, *arm, everyone, outcome)

    work = side_by_side(counted, [arm for arm in data.by_arm() if arm[1].axis == "options"])
    stills = [None if source is None else work[source] for source in _one_order_arms(work)]

    def result(at: int) -> PositionArm:
        still = stills[at]
        repeats = None if still is None else same_order(still, len(data.items))
        return arm_result(data, work[at], repeats, seed=seed, n_boot=n_boot)

    arms = side_by_side(result, range(len(work)))
    floors = [
        None if still is None else _noise_floor(still, moved, everyone)
        for still, moved in zip(stills, work, strict=True)
    ]
    arms = [replace(arm, noise_floor=floor) for arm, floor in zip(arms, floors, strict=True)]
    return _corrected(arms)


# ---------------------------------------------------------------- across arms


def _one_order_arms(work: Sequence[ArmTables]) -> list[int | None]:
    """For each arm the one-order arm of the same judge, data, variant and scale, if there is one."""

    def family(arm: Arm) -> tuple[object, ...]:
        return (arm.judge, arm.dataset, str(arm.variant), arm.scores)

    still: dict[tuple[object, ...], int] = {}
    for i, arm in enumerate(work):
        key = family(arm.arm)
        if arm.one_order and arm.rows.ok.any() and (key not in still or arm.arm.strategy == "fixed"):
            still[key] = i
    return [None if arm.one_order else still.get(family(arm.arm)) for arm in work]


def _noise_floor(still: ArmTables, moved: ArmTables, everyone: Units) -> NoiseFloor:
    """Compare an arm with its unchanged-order arm, item by item."""
    size = len(everyone.code)
    own, reordered = (_spread_out(still.disagreement, still, size), _spread_out(moved.disagreement, moved, size))
    both = np.isfinite(own + reordered)
    found = excess(reordered - own, everyone.code, everyone.n)
    reads = moved.items.by_score.sum(axis=1)
    return NoiseFloor(
        strategy=still.arm.strategy,
        n_items=int(both.sum()),
        n_excluded=moved.rows.n_items - int(both.sum()),
        own=known_mean(own[both]),
        reordered=known_mean(reordered[both]),
        excess=found.value,
        excess_ci=found.interval,
        v=stat.v_from_own_noise(own[moved.rows.item_code], reads, moved.rows.n),
    )


def _spread_out(values: Floats, work: ArmTables, size: int) -> Floats:
    """An arm's per-item values at the run's item codes; NaN elsewhere."""
    out = np.full(size, np.nan)
    out[work.rows.item_code] = values
    return out


def _corrected(arms: list[PositionArm]) -> PositionResult:
    """Holm over the arms of each judge, once for the headline test and once for order sensitivity.

    One reader asks one judge; what other judges did changes nothing about it.
    """
    out, n_tests = list(arms), 0
    for judge in dict.fromkeys(arm.arm.judge for arm in arms):
        at = [i for i, arm in enumerate(arms) if arm.arm.judge == judge]
        headline = holm(np.array([arms[i].position.test.p for i in at]))
        any_order = holm(np.array([arms[i].position.any_order.p for i in at]))
        tests = int(np.isfinite(headline).sum())
        n_tests += tests
        for i, p, q in zip(at, headline.tolist(), any_order.tolist(), strict=True):
            shares = replace(arms[i].position, p_holm=p, any_order_p_holm=q, n_tests=tests)
            out[i] = replace(arms[i], position=shares)
    warnings = () if arms else (tr("This run has no arm that reorders score options."),)
    return PositionResult(tuple(out), n_tests, warnings)


# ---------------------------------------------------------------- the topic


def clearest(arms: Sequence[PositionArm]) -> PositionArm | None:
    """The arm that tells position from score best: by its strategy, then by its data."""
    usable = [a for a in arms if a.moves_order]
    return min(usable, key=lambda arm: (clarity(arm.arm), -arm.n_used), default=None)


def by_setting(arms: Iterable[PositionArm]) -> dict[str, list[PositionArm]]:
    """Arms that differ in their strategy only, together."""
    grouped: dict[str, list[PositionArm]] = {}
    for arm in arms:
        grouped.setdefault(about(arm.arm), []).append(arm)
    return grouped


def position_sentence(arm: PositionArm) -> str:
    """By how much the order moves this arm's judge, in score points."""
    who, mean = arm.arm.judge, arm.shift.mean
    if not arm.moves_order:
        return tr("{who} always saw one order here, so position and score cannot be told apart.", who=who)
    if not np.isfinite(mean.estimate):
        return tr("Nothing can be said yet of how much the order moves {who}: {why}.", who=who, why=tr(mean.why))
    shown = tr("{estimate:+.2f} points", estimate=mean.estimate)
    if np.isfinite(mean.low):
        shown += f" {interval(mean.interval, '+.2f', brackets=True)}"
    by = (
        tr("from descending to ascending order")
        if arm.shift.mean_by == "ascending"
        else tr(
            "from {lowest} to {highest}",
            lowest=order_words(arm.shift.lowest_order),
            highest=order_words(arm.shift.highest_order),
        )
    )
    lead = {
        "effect": tr("The order moves {who}'s mean score", who=who),
        "equivalent": tr("The order moves {who}'s mean score by less than {sesoi:g} points", who=who, sesoi=mean.sesoi),
        "undecided": tr("Whether the order moves {who}'s mean score is not settled", who=who),
    }[mean.verdict]
    why = f" ({tr(mean.why)})" if mean.why else ""
    return f"{lead}: {shown} {by}{why}."


def _sentences(result: PositionResult) -> Iterator[Sentence]:
    for name, arms in by_setting(result.arms).items():
        arm = clearest(arms)
        yield Sentence(name, position_sentence(arm or arms[0]), 3 if arm is None else 0)
        if arm is not None:
            yield Sentence(name, f"{tr('Does the order move single scores?')} {one_words(arm.shift)}", 2)


COUNTED: Mapping[Verdict, str] = {
    "effect": msg("{n} effect"),
    "equivalent": msg("{n} equivalent"),
    "undecided": msg("{n} undecided"),
}
"""How often an answer was given, the answers in the order in which they are told."""


def _summary(result: PositionResult) -> str:
    clear = [clearest(arms) for arms in by_setting(result.arms).values()]
    verdicts = [arm.shift.mean.verdict for arm in clear if arm is not None]
    if not verdicts:
        return ""
    counts = ", ".join(
        tr(message, n=verdicts.count(verdict)) for verdict, message in COUNTED.items() if verdict in verdicts
    )
    return tr(
        "does the order move the mean score of {judges} or {judges:setting|settings}: {counts}",
        judges=many(len(verdicts), "judge"),
        counts=counts,
    )


def _advice(result: PositionResult) -> Iterator[Advice]:
    for arms in by_setting(result.arms).values():
        arm = clearest(arms) or arms[0]
        whom = setting(arm.arm)
        yield Advice(
            whom,
            "mean score",
            tr("Does the order move the mean score?"),
            mean_words(arm.shift),
            arm.shift.mean,
            primary=True,
        )
        yield Advice(
            whom,
            "single scores",
            tr("Does the order move single scores?"),
            one_words(arm.shift),
            arm.shift.one,
            primary=True,
        )
        if arm.moves_order and np.isfinite(arm.bias_cost.best.cost):
            yield _single_order(arm, whom)


def _single_order(arm: PositionArm, whom: tuple[str, str, str]) -> Advice:
    """Another order than the usual one is advised only where units that did not choose it agree."""
    gain, best, shift = arm.bias_cost.without_noise, arm.bias_cost.best, arm.shift.mean
    smallest = 100.0 * shift.sesoi / step(arm.arm.scores)
    saving = effect(gain.gain, gain.gain_ci, smallest, unit=OF_COST, why=_open(arm))
    usual = best.ordering == arm.bias_cost.default.ordering
    if saving.verdict == "effect" and saving.low > 0 and not usual:
        text = tr(
            "Show {order}: on items that did not choose it, the best order costs {gain:.1f} percentage "
            "points of Bias Cost less than the usual one.",
            order=order_words(best.ordering),
            gain=gain.gain,
        )
    elif not np.isfinite(gain.gain):
        text = tr(
            "Not known: {why}. Nothing speaks for another order than the usual one yet.",
            why=tr(arm.bias_cost.why_noisy),
        )
    else:
        if saving.verdict == "effect":
            saving = replace(saving, verdict="undecided", why=tr("no order is shown to be better"))
        text = tr("Keep the usual order: no other is shown to be better.")
    return Advice(whom, "single order", tr("Which order, if one call must do?"), text, saving)


def _open(arm: PositionArm) -> str:
    if np.isfinite(arm.bias_cost.without_noise.gain):
        return arm.unfinished if arm.shift.mean.why == arm.unfinished else ""
    return tr(arm.bias_cost.why_noisy)


def _limits(result: PositionResult) -> Iterator[str]:
    """What the run could have seen at all, and what its own noise looks like."""
    for name, mine in by_setting(result.arms).items():
        arm = clearest(mine)
        if arm is None:
            yield tr("{name}: one order only, so a pull of the position cannot be told from the score.", name=name)
            continue
        shift = arm.shift
        half = (shift.ascending_ci.high - shift.ascending_ci.low) / 2
        if np.isfinite(half):
            yield tr(
                "{name}: with {units} the shift of the mean score from descending to ascending order is known "
                "to within ±{half:.2f} points (95 %). A smaller one may be there, unseen.",
                name=name,
                units=many(arm.n_units, arm.unit),
                half=half,
            )
        else:
            yield tr("{name}: {units} are too few for an interval.", name=name, units=many(arm.n_units, arm.unit))
        floor = arm.noise_floor
        if floor is None and not arm.shift.single.source:
            yield tr(
                "{name}: no order was read twice, so part of every change between orders may be the judge's own "
                "randomness.",
                name=name,
            )
        elif floor is not None and np.isfinite(floor.own):
            yield tr(
                "{name}: two reads in one and the same order differ {own:.0%} of the time, across orders "
                "{reordered:.0%}; only what is beyond the first is the order's.",
                name=name,
                own=floor.own,
                reordered=floor.reordered,
            )
    if result.n_tests > 1:
        yield tr(
            "{n} tests of a kind were made; the p-values of each judge's are corrected with Holm.", n=result.n_tests
        )


def _document(result: PositionResult, data: RunData) -> DocumentPart:
    """Shares as fractions, Bias Costs in points."""
    del data
    arms = {arm.code: _arm_json(arm) for arm in result.arms}
    return DocumentPart(arms, n_tests=result.n_tests, warnings=result.warnings)


def _arm_json(arm: PositionArm) -> Json:
    sd = arm.within_item_sd
    return {
        **arm_json(arm.arm),
        "n_options": len(arm.arm.scores),
        **picked(
            arm,
            *("n_items", "n_units", "unit", "n_used", "n_excluded", "judgments", "moves_order"),
            *("shift", "position"),
            *("table", "score_distribution", "outcome", "mean_score", "noise_floor"),
            *("smallest_visible_effect", "label_mass", "warnings"),
        ),
        "bias_cost": _cost_json(arm.bias_cost),
        "within_item_sd": plain(sd.mean),
        "within_item_sd_items": {"used": sd.n_items, "excluded": sd.n_excluded},
        "criteria": [],
    }


def _cost_json(cost: BiasCost) -> Json:
    def named(entry: Costed) -> Json:
        return {"ordering": list(entry.ordering), "cost": plain(entry.cost)}

    return {
        "default": plain(cost.default.cost),
        "default_ordering": list(cost.default.ordering),
        "cyclic_best": named(cost.cyclic_best),
        "best": named(cost.best),
        "without_noise": plain(cost.without_noise),
        "unit": UNIT,
        "why_unknown": cost.why,
        "why_unknown_without_noise": cost.why_noisy,
    }


POSITION = Topic(
    "position",
    position,
    title=msg("Where the judge picks"),
    axes=frozenset({"options"}),
    document=_document,
    sentences=_sentences,
    summary=_summary,
    advice=_advice,
    limits=_limits,
)
