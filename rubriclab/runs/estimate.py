"""What a study will take and what it can see, as one document: ``python -m rubriclab plan``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.findings.agreement_planning import NO_AIM, AgreementAim, AgreementPlan, pilot_agreement, stated_agreement
from rubriclab.findings.plain import plain
from rubriclab.findings.planning import PowerPlan, planning, stated_power
from rubriclab.model import Arm, Item, LabError, Study
from rubriclab.model.designs import STRATEGIES
from rubriclab.model.option_sets import named_by_set
from rubriclab.model.wording import many
from rubriclab.runs.cost import JudgeCost, answer_mode, estimate, measured, same_order_repeats
from rubriclab.runs.sequential import EVERY
from rubriclab.stats.planning import STOP_METHOD
from rubriclab.store import Store
from rubriclab.study.plan import Plan, plan

TARGET = 0.8


@dataclass(frozen=True)
class ArmPlan:
    """One arm: its calls, the items it asks about and how often each is read.

    ``power``: None where the arm shows one order only or reorders something else.
    """

    arm: Arm
    calls: int
    items: int
    reads: int
    power: PowerPlan | None


@dataclass(frozen=True)
class StudyPlan:
    """Calls, cost, power and the stop rule of a study, before its first call.

    ``same_order_calls``: calls that ask an item again in an order it was asked in.
    ``money`` and ``seconds``: of all judges together (they work side by side, so the time is
    the slowest judge's); None where a price is not known. ``pilot``: the run whose noise the
    power rests on, None where it is stated. ``agreement``: what an interval on agreement with people
    takes, as guessed; or as in the pilot, of each arm's judge.
    """

    study: str
    calls: int
    money: float | None
    seconds: float
    judges: tuple[JudgeCost, ...]
    arms: tuple[ArmPlan, ...]
    effect_v: float
    target: float
    pilot: str | None
    same_order_calls: int
    agreement: tuple[AgreementPlan, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def tokens_in(self) -> int:
        return sum(judge.tokens_in for judge in self.judges)

    @property
    def tokens_out(self) -> int:
        return sum(judge.tokens_out for judge in self.judges)


def study_plan(
    study: Study,
    *,
    store: Store | None = None,
    effect_v: float = 0.1,
    pilot: str | None = None,
    randomness: float = 1.0,
    item_sd: float = 0.0,
    agreement: AgreementAim = NO_AIM,
) -> StudyPlan:
    """Plan a study without asking anything.

    ``store``: where earlier runs of the same judges are looked up for tokens and rates, and
    the ``pilot`` run for its noise. Without a pilot the noise is stated: ``randomness`` (share
    of reads whose position is as good as drawn) and ``item_sd`` (sd over items of an item's
    own share at a position). ``agreement``: with people, that is to be known so well. Raises LabError for an effect or a guess outside 0..1 or an unknown pilot.
    """
    _check_stated(effect_v, randomness, item_sd)
    planned = plan(study)
    judges = _costs(planned, store)
    repeats, bought = same_order_repeats(planned)
    power, pilot_run, warnings = _powers(planned, store, pilot, effect_v, randomness, item_sd)
    agreed, lacking = _agreement(planned, store, pilot, agreement)
    return StudyPlan(
        study=study.name,
        calls=len(planned),
        money=_money(judges),
        seconds=max((judge.seconds for judge in judges), default=0.0),
        judges=judges,
        arms=_arm_plans(planned, power),
        effect_v=effect_v,
        target=TARGET,
        pilot=pilot_run,
        same_order_calls=repeats,
        agreement=agreed,
        notes=(bought, *planned.notes),
        warnings=(*warnings, *lacking),
    )


def _arm_plans(planned: Plan, power: Mapping[int, PowerPlan]) -> tuple[ArmPlan, ...]:
    return tuple(
        ArmPlan(arm, calls, *_size(planned, code), power.get(code))
        for code, (arm, calls) in enumerate(zip(named_by_set(planned.arms), planned.planned, strict=True))
    )


def _money(judges: tuple[JudgeCost, ...]) -> float | None:
    """What all judges cost together; None where a price is not known."""
    paid = [judge.money for judge in judges]
    return None if None in paid else float(sum(m for m in paid if m is not None))


def _check_stated(effect_v: float, randomness: float, item_sd: float) -> None:
    if not 0 < effect_v < 1:
        raise LabError(f"V lies in 0..1: an effect of {effect_v:g} cannot be planned for.")
    if not 0 <= randomness <= 1 or item_sd < 0:
        raise LabError("The stated noise must have a randomness in 0..1 and an item sd of 0 or more.")


def plan_json(planned: StudyPlan) -> dict[str, Any]:
    """The document of ``plan --json``."""
    return {
        "study": planned.study,
        "calls": planned.calls,
        "same_order_calls": planned.same_order_calls,
        "tokens": {"input": planned.tokens_in, "output": planned.tokens_out},
        "money": planned.money,
        "seconds": planned.seconds,
        "judges": [plain(judge) for judge in planned.judges],
        "arms": [_arm_json(arm) for arm in planned.arms],
        "effect": {"v": planned.effect_v, "target_power": planned.target, "pilot": planned.pilot},
        "stop_rule": {
            "method": STOP_METHOD,
            "looks": f"after every {EVERY} judgments",
            "command": "python -m rubriclab run STUDY.toml --stop-at-width W",
        },
        "agreement": [plain(one) for one in planned.agreement],
        "notes": list(planned.notes),
        "warnings": list(planned.warnings),
    }


def _arm_json(planned: ArmPlan) -> dict[str, Any]:
    arm, power = planned.arm, planned.power
    about: dict[str, Any] = {
        "judge": arm.judge,
        "dataset": arm.dataset,
        "strategy": arm.strategy,
        "axis": arm.axis,
        "variant": {name: plain(level) for name, level in arm.variant.levels},
        "calls": planned.calls,
        "items": planned.items,
        "reads": planned.reads,
        "power": None,
    }
    if power is not None:
        about["power"] = {
            "value": plain(power.power_now),
            "assurance": plain(power.assurance_now),
            "test": "average position effect (Hotelling's T²)",
            "noise": power.noise,
            "noise_from": power.name,
            "unit": power.unit,
            "items_needed": power.items_needed,
            "items_assured": power.items_assured,
            "cheapest": plain(power.designs[0]) if power.designs else None,
            "designs": [plain(design) for design in power.designs[:10]],
            "curve": [plain(point) for point in power.curve],
            "warnings": list(power.warnings),
        }
    return about


def plan_text(planned: StudyPlan) -> str:
    """The same for people."""
    money = "no price known" if planned.money is None else f"{planned.money:,.2f}"
    lines = [
        f"{planned.study}: {many(planned.calls, 'call')}, about {planned.tokens_in:,} tokens in and "
        f"{planned.tokens_out:,} out, {_duration(planned.seconds)}, money: {money}",
        "",
    ]
    for judge in planned.judges:
        price = "no price" if judge.money is None else f"{judge.money:,.2f}"
        lines.append(
            f"  {judge.judge}: {many(judge.calls, 'call')}, {_duration(judge.seconds)}, {price} ({judge.basis})"
        )
    lines.append("")
    for arm in planned.arms:
        lines.append(f"  {arm.arm}: {many(arm.calls, 'call')}, {many(arm.items, 'item')} x {arm.reads} reads")
        if arm.power is not None:
            lines.append(f"    {_power_text(arm.power)}")
    for one in planned.agreement:
        lines += ["", f"  {one.sentence}", *(f"    {part}" for part in one.assumes)]
    rule = f"Stop rule on offer: run ... --stop-at-width W. {STOP_METHOD[0].upper()}{STOP_METHOD[1:]}."
    return "\n".join([*lines, "", rule, *planned.notes, *planned.warnings])


def _power_text(power: PowerPlan) -> str:
    sentence = f"power for V = {power.effect_v:g}: {power.power_now:.0%} (noise: {power.name})"
    if math.isfinite(power.assurance_now):
        sentence += f"; averaged over what the pilot leaves open {power.assurance_now:.0%}"
        if power.items_assured is not None:
            sentence += f" ({power.target:.0%} takes {power.items_assured:,} {power.unit}s)"
    if not power.designs:
        return f"{sentence}; no design tried reaches {power.target:.0%}"
    best = power.designs[0]
    return (
        f"{sentence}; cheapest design that reaches {power.target:.0%}: {best.strategy}, "
        f"{best.items:,} {power.unit}s x {best.reads} reads = {many(best.calls, 'call')}"
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


# ---------------------------------------------------------------- cost


def _costs(planned: Plan, store: Store | None) -> tuple[JudgeCost, ...]:
    """What each judge takes, from what earlier runs of it took where the store has some."""
    study = planned.study
    runs = store.runs() if store is not None else ()
    known = {
        judge.name: measured(
            store, runs, judge, dataset=study.dataset.name, axis=study.design.axis, answer=answer_mode(planned)
        )
        if store is not None
        else None
        for judge in study.judges
    }
    return estimate(planned, known)


# ---------------------------------------------------------------- power


def _size(planned: Plan, code: int) -> tuple[int, int]:
    """(items, reads of each) of an arm."""
    calls = planned.planned[code]
    first = planned.first_call(code) if calls else None
    if first is None:
        return 0, 0
    reads = len(planned.calls_about(first.items[0], arm=code))
    return calls // max(1, reads), reads


def _powers(
    planned: Plan, store: Store | None, pilot: str | None, effect_v: float, randomness: float, item_sd: float
) -> tuple[dict[int, PowerPlan], str | None, tuple[str, ...]]:
    """Power by arm code, the pilot's name, and what could not be done."""
    if pilot is not None and store is None:
        raise LabError("A pilot run is read from a store: name one with --store.")
    kinds = {s.name: STRATEGIES[s.kind] for s in planned.study.design.strategies}
    codes = [
        code
        for code, arm in enumerate(planned.arms)
        if arm.axis == "options" and kinds[arm.strategy].varies and planned.planned[code]
    ]
    if not codes:
        sentence = "Power is worked out for arms that reorder score options; this study has none."
        return {}, None, (sentence,)
    warnings: list[str] = []
    by_arm: dict[int, PowerPlan] = {}
    name = None
    for code in codes:
        arm = planned.arms[code]
        items, reads = _size(planned, code)
        if pilot is not None and store is not None:
            name = store.run(pilot).run
            measured_power = _from_pilot(store, name, arm, items, reads, effect_v)
            if measured_power is not None:
                by_arm[code] = measured_power
                continue
            warnings.append(f"The pilot has no arm like “{arm}”: its noise is stated instead.")
        by_arm[code] = stated_power(
            n_options=arm.n_positions,
            items=items,
            reads=reads,
            effect_v=effect_v,
            randomness=randomness,
            item_sd=item_sd,
            target=TARGET,
            max_items=None,
        )
    return by_arm, name, tuple(warnings)


def _from_pilot(store: Store, run: str, arm: Arm, items: int, reads: int, effect_v: float) -> PowerPlan | None:
    """Power from the pilot's arm of the same judge, scale and (if there) strategy."""
    data = store.frame(run)
    alike = [
        other
        for other in data.arms
        if (other.judge, other.n_positions, other.axis) == (arm.judge, arm.n_positions, arm.axis)
    ]
    alike.sort(key=lambda other: (other.strategy != arm.strategy, other.variant != arm.variant))
    plans = {p.name: p for p in planning(data, effect_v=effect_v, target=TARGET, items=items, reads=reads).plans}
    return next((plans[str(other)] for other in alike if str(other) in plans), None)


# ---------------------------------------------------------------- agreement


def agreement_guessed(planned: Plan, aim: AgreementAim) -> tuple[AgreementPlan, ...]:
    """What intervals on a guessed agreement with this study's people take; none without score options.

    Raises LabError as :func:`rubriclab.findings.agreement_planning.stated_agreement` does.
    """
    arms = _option_arms(planned)
    if not arms:
        return ()
    rated = _rated(planned)
    return stated_agreement(
        aim,
        items=len(rated),
        scores=arms[0].scores,
        people=np.array([rating for item in rated for rating in item.human]),
    )


def _option_arms(planned: Plan) -> list[Arm]:
    counted = zip(planned.arms, planned.planned, strict=True)
    return [arm for arm, calls in counted if arm.axis == "options" and calls]


def _rated(planned: Plan) -> list[Item]:
    return [item for item in planned.study.dataset.items if isinstance(item, Item) and item.human]


def _agreement(
    planned: Plan, store: Store | None, pilot: str | None, aim: AgreementAim
) -> tuple[tuple[AgreementPlan, ...], tuple[str, ...]]:
    """What intervals on agreement with people take: as guessed, and as in the pilot's arms of the same judges.

    Why a pilot says nothing is told to who asked about agreement.
    """
    arms = _option_arms(planned)
    if not arms:
        return (), ("Agreement is planned for score options; this study has none.",) if aim.guesses else ()
    plans = agreement_guessed(planned, aim)
    if pilot is None or store is None:
        return plans, ()
    data, warnings = store.frame(pilot), []
    for judge in dict.fromkeys(arm.judge for arm in arms):
        arm = next((a for a in data.arms if (a.judge, a.axis, a.scores) == (judge, "options", arms[0].scores)), None)
        if arm is None:
            continue
        found, reason = pilot_agreement(data, arm, items=len(_rated(planned)), half_width=aim.half_width)
        plans += tuple(replace(one, name=f"{judge}, {one.name}") for one in found)
        warnings += [f"{judge}: {reason}"] if reason and aim.guesses else []
    return plans, tuple(warnings)
