"""A judge card of a run: how its judge is asked, what was measured of it, and the way of asking chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic_core import to_jsonable_python

from rubriclab import __version__
from rubriclab.apply import dumped, sealed
from rubriclab.apply.card import FORMAT, VERSION
from rubriclab.datasets.rubrics import rubric_to_value
from rubriclab.findings.cure import METHOD, Choice, Measured, cure
from rubriclab.findings.topic import Advice, clarity, setting
from rubriclab.findings.topics import Findings
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.embedded import TOP_LOGPROBS as EMBEDDED_LOGPROBS
from rubriclab.judges.request import TOP_LOGPROBS
from rubriclab.model import STATUSES, Arm, Call, Criterion, Judge, LabError, Rubric, RunData, ScoreOption, Study
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.model.wording import many
from rubriclab.runs.cost import price_of_call
from rubriclab.stats.inference import Interval
from rubriclab.store import RunInfo, Store
from rubriclab.study.plan import Plan, plan
from rubriclab.study.prompts.files import template_to_value
from rubriclab.study.prompts.template import asked_names
from rubriclab.study.protocols.base import criterion_of
from rubriclab.study.protocols.options import USUAL_ORDER, score_labels
from rubriclab.study.terms import Terms, terms_of


def judge_card(store: Store, run: str, *, arm: int | None = None, margin: float | None = None) -> dict[str, Any]:
    """The card of an arm's judge in its setting, sealed with its digest; in English, as all files are.

    ``arm``: any arm of the setting, by its number; may be left out where the run has one judge in one
    setting. ``margin``: see ``findings.cure``. Raises LabError where no card can be made, with the reason.
    """
    info, prepared, data, code, judge = _asked(store, run, arm)
    with speaking(SOURCE):
        return sealed(_value(store, info, prepared, data, cure(data, code, margin=margin), judge))


def card_words(store: Store, run: str, *, arm: int | None = None, margin: float | None = None) -> dict[str, Any]:
    """What of a card a page shows, in the reader's language: what was chosen, the ways of asking, the notes.

    Nothing of it is sealed or kept. Raises LabError as :func:`judge_card`.
    """
    info, prepared, data, code, judge = _asked(store, run, arm)
    choice, price = cure(data, code, margin=margin), price_of_call(store, info, judge)
    return {
        "choice": _choice(choice),
        "cures": [_cure(way, price) for way in choice.ways],
        "cure": choice.chosen,
        "notes": _notes(prepared.study, choice),
    }


def _asked(store: Store, run: str, arm: int | None) -> tuple[RunInfo, Plan, RunData, int, Judge]:
    """The run with its plan and data, the arm by its number, and its judge. Raises LabError where no card can be made."""
    info = store.run(run)
    if info.state == "imported":
        raise LabError(
            tr("“{name}” was imported: how its judge was asked is not known, so no card can say it.", name=info.name)
        )
    study = store.study(info.run)
    data = store.frame(info.run, probabilities=True)
    code = chosen_arm(data) if arm is None else arm
    if not 0 <= code < len(data.arms):
        raise LabError(tr("There is no arm {code}; the run has {arms}.", code=code, arms=_listed(data)))
    judge = next(one for one in study.judges if one.name == data.arms[code].judge)
    _refuse(judge, study)
    return info, plan(study), data, code, judge


def card_text(made: Mapping[str, Any]) -> str:
    """A card as the text of its file."""
    return dumped(made)


def chosen_arm(data: RunData) -> int:
    """The clearest arm of a run with one setting. Raises LabError, with the arms, for several."""
    if len({(setting(arm), arm.scores, arm.n_positions) for arm in data.arms}) > 1:
        raise LabError(
            tr(
                "The run has several judges or settings: say which with an arm's number. It has {arms}.",
                arms=_listed(data),
            )
        )
    return min(range(len(data.arms)), key=lambda code: clarity(data.arms[code]))


def _listed(data: RunData) -> str:
    return "; ".join(f"{code} = {arm}" for code, arm in enumerate(data.arms))


def _refuse(judge: Judge, study: Study) -> None:
    if not (JUDGE_KINDS[judge.kind].served or JUDGE_KINDS[judge.kind].own):
        message = {
            "python": msg(
                "Judge “{name}” is code of yours, and a card carries none: there is no model that a card could ask."
            ),
            "simulated": msg("Judge “{name}” is simulated: there is no model that a card could ask."),
        }[judge.kind]
        raise LabError(tr(message, name=judge.name))
    if study.design.axis == "batch":
        raise LabError(
            tr("A card asks about one response a call; a study of batches says what asking together would do.")
        )
    if study.design.shuffle_ids:
        raise LabError(tr("The study deals the labels out anew for every read; a card has one label for each score."))


# ---------------------------------------------------------------- the parts


def _value(store: Store, info: RunInfo, prepared: Plan, data: RunData, choice: Choice, judge: Judge) -> dict[str, Any]:
    arm, study = data.arms[choice.code], prepared.study
    price = price_of_call(store, info, judge)
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": f"{judge.name} · {arm.dataset}"[:200],
        "made": _made(info, study, data, choice),
        **asked_as(prepared, choice.code),
        "bias": _bias(data, arm),
        "choice": _choice(choice),
        "cures": [_cure(way, price) for way in choice.ways],
        "cure": choice.chosen,
        "notes": _notes(study, choice),
    }


def asked_as(prepared: Plan, code: int) -> dict[str, Any]:
    """What of a card says how an arm's judge is asked, as the study's own calls say it; nothing that was measured."""
    arm, study = prepared.arms[code], prepared.study
    number, judge = next((k, one) for k, one in enumerate(study.judges) if one.name == arm.judge)
    return {
        "judge": _judge(judge, terms_of(study, number, arm)),
        "axis": arm.axis,
        "prompt": _prompt(study, arm, prepared.first_call(code)),
        "rubric": _rubric(prepared, arm),
        "scores": list(arm.scores),
        "criteria": _criteria(prepared, arm),
    }


def _made(info: RunInfo, study: Study, data: RunData, choice: Choice) -> dict[str, Any]:
    """Which run it is of, and how much was measured."""
    mine = data.judgments[data.judgments["arm"].to_numpy() == choice.code]
    return {
        "by": f"rubriclab {__version__}",
        "on": info.changed.isoformat(timespec="seconds"),
        "run": info.run,
        "study": info.made_as,
        "dataset": data.arms[choice.code].dataset,
        "dataset_id": study.dataset.id,
        "items": choice.items,
        "units": choice.units,
        "rated": max((way.n_rated for way in choice.ways), default=0),
        "judgments": len(mine),
        "unread": int((mine["status"] != STATUSES.index("ok")).sum()),
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "margin": choice.margin,
        "unit": tr(choice.unit),
        "margin_steps": choice.margin_steps,
        "confidence": choice.confidence,
        "tested": choice.tested,
        "target": choice.target,
        "sentence": choice.sentence,
        "method": tr(METHOD),
    }


def _judge(judge: Judge, terms: Terms) -> dict[str, Any]:
    usual = JUDGE_KINDS[judge.kind].address
    sampling: dict[str, Any] = to_jsonable_python(asdict(terms.sampling))
    return {
        "name": judge.name,
        "kind": judge.kind,
        "model": judge.model,
        "served_model": judge.options.get("served_model"),
        "base_urls": list(judge.base_urls or ((usual,) if usual else ())),
        "key_env": judge.key_env,
        "sampling": sampling,
        "probabilities": terms.probabilities,
        "top_logprobs": EMBEDDED_LOGPROBS if JUDGE_KINDS[judge.kind].own else TOP_LOGPROBS,
        "begun": terms.begun,
        "timeout": judge.timeout,
        "price_input": judge.price_input,
        "price_output": judge.price_output,
    }


def _prompt(study: Study, arm: Arm, call: Call) -> dict[str, Any]:
    own = study.prompt_of(arm.variant)
    wanted = arm.variant.get("reference")
    reference: str | int | None = wanted or ("best" if wanted is None and study.design.show_reference else None)
    if arm.axis != "options" or (own is not None and "reference" not in asked_names(own)):
        reference = None
    return {
        "template": call.template,
        "own": None if own is None else template_to_value(own),
        "tie": arm.axis == "pairwise" and study.design.tie,
        "reference": reference,
    }


def _rubric(prepared: Plan, arm: Arm) -> dict[str, Any] | None:
    """The criteria on the arm's scale, each score with the label that was shown beside it."""
    if arm.axis == "pairwise" or prepared.study.rubric is None:
        return None
    study = prepared.study
    known = dict.fromkeys(
        criterion
        for item in range(len(study.dataset))
        if (criterion := criterion_of(study, item, arm.variant)).scores == arm.scores
    )
    ids = arm.variant.get("ids") if arm.axis == "options" else None
    return rubric_to_value(Rubric(prepared.study.rubric.name, tuple(_labelled(one, ids) for one in known)))


def _labelled(criterion: Criterion, ids: Any) -> Criterion:
    if ids is None:
        return criterion
    options = tuple(
        ScoreOption(option.score, option.description, label)
        for option, label in zip(criterion.options, score_labels(criterion.scores, ids), strict=True)
    )
    return Criterion(criterion.name, options, criterion.description)


def _criteria(prepared: Plan, arm: Arm) -> list[str]:
    """What changes places where all criteria are scored in one call. Raises LabError where texts differ in it."""
    if arm.axis != "criteria":
        return []
    fitting = {unit.options for unit in prepared.units if prepared.protocol.fits(prepared.study, arm, unit)}
    if len({frozenset(names) for names in fitting}) > 1:
        raise LabError(tr("The texts of this run are rated under different criteria; a card has one list of them."))
    return list(next(iter(sorted(fitting))))


def _bias(data: RunData, arm: Arm) -> list[dict[str, Any]]:
    """What the run says of the judge in this setting; who of the candidates wins is the data's, not the judge's."""
    lines = (line for line in Findings(data).advice() if line.of == setting(arm) and line.question != "ranking")
    return [_finding(line) for line in lines]


def _finding(line: Advice) -> dict[str, Any]:
    shown = line.effect
    ends = {"value": shown.estimate, "low": shown.low, "high": shown.high, "smallest": shown.sesoi}
    return {
        "question": line.title,
        "answer": line.answer,
        **{name: _number(value) for name, value in ends.items()},
        "unit": shown.unit,
        "verdict": shown.verdict,
    }


def _cure(way: Measured, price: float | None) -> dict[str, Any]:
    agreement = {"measure": "r", **_interval(way.agreement, way.agreement_ci), "n": way.n_rated}
    return {
        "key": way.key,
        "title": way.title,
        "why": way.why,
        "calls": round(way.calls, 6),
        "money_per_1000": None if price is None else _number(1000 * price * way.calls),
        "orders": [list(order) for order in way.orders],
        "draw": way.draw,
        "disagree": way.disagree,
        "correction": None if way.correction is None else dict(way.correction),
        "distance": _interval(way.distance, way.distance_ci),
        "bound": _number(way.bound),
        "agreement": agreement if math.isfinite(way.agreement) else None,
        "not_worse": way.not_worse,
        "allowed": way.allowed,
        "note": way.note,
    }


def _interval(value: float, ci: Interval) -> dict[str, float | None]:
    return {"value": _number(value), "low": _number(ci.low), "high": _number(ci.high)}


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None


def _notes(study: Study, choice: Choice) -> list[str]:
    notes = []
    if choice.left_out:
        notes.append(
            tr("{items} had an unread reply in some order and were not measured.", items=many(choice.left_out, "item"))
        )
    if choice.not_drawn:
        notes.append(tr("Measured on {items} drawn at random from a large run.", items=many(choice.items, "item")))
    if len(study.judges) > 1:
        notes.append(tr("Money is by the mean tokens of the run's calls, which several judges share."))
    if any(item.columns.get(USUAL_ORDER) for item in study.dataset.items):
        notes.append(
            tr(
                "The data's column {column} gave items orders of their own; the card's orders are of the scores.",
                column=USUAL_ORDER,
            )
        )
    return notes
