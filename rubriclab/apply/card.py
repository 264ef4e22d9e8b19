"""Make a judge card from a finished run, and read one back.

A card is a JSON file with which a pipeline uses the judge exactly as the run measured it. It says
how the judge is asked, in which orders, and the expected error: how far its score then lies from
the mean over all orders. It promises only what the run measured, so most of this file refuses what
a card cannot promise. A card holds no key and no address. Cards that people have keep their
meaning: a changed card needs a new FORMAT.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import Field

from rubriclab.core.judgments import Arm
from rubriclab.core.operations import same_rules
from rubriclab.core.topic import QUESTIONS, Findings, Row
from rubriclab.data.limits import user_path
from rubriclab.data.tables import json_value
from rubriclab.judges.client import request_body
from rubriclab.measures.advice import advice_of, word_of_setting
from rubriclab.measures.expected_error import ExpectedError, error_by_orders
from rubriclab.measures.protocols import AVERAGE, BEST, CORRECTED, FORMS
from rubriclab.measures.reliability import ONE_ORDER, pooled
from rubriclab.model.data import DataSet
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import RULES
from rubriclab.model.part import Part
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, count, digest, shorten
from rubriclab.study.parts import PlanPart
from rubriclab.study.plan import Plan, plan

FORMAT = 1
"""The version of a card's structure. A card of a later one is refused."""
PROTOCOLS = (ONE_ORDER, AVERAGE)
"""The methods that a card can promise."""
REFUSED = {
    BEST: "it was chosen on these very answers, so its error on other answers is not known",
    CORRECTED: "it needs token probabilities, which not every client returns",
    FORMS: "the prompts were compared with each other, not with the mean over all orders",
}
"""The other methods that the lab compares (see What helps), with why no card can promise them."""
AXES = ("options", "criteria")
"""Lists that a card can reorder. Calls with another list score several answers, or none."""
MAX_CARD = 2_000_000
"""Max bytes of a card's file. A card with a long rubric and 100 orders has about 100,000."""


# ---- making a card


def card_of(
    findings: Findings,
    asked: Plan | None,
    *,
    protocol: str = "",
    margin: float | None = None,
    judge: str = "",
) -> dict[str, Any]:
    """Return the card of one judge of a run, as JSON values.

    Args:
        asked: the run's plan; None for judgments that were made elsewhere.
        protocol: one of PROTOCOLS. If it is left out, the card has as many orders as the advice
            about the judge says or, with a ``margin``, as keep within it.
        margin: the largest expected error, in points.

    Raises LabError for what cannot be promised, with the reason.
    """
    asked = _checked_request(findings, asked, protocol, margin)
    table = findings.judgments.table
    arms = _arms(findings, asked, judge)
    widest = arms[0]
    about, part = widest.condition, asked.parts[asked.part_of[widest.code]]
    verdicts = _verdicts(findings, widest)
    calls = pooled(arms)
    columns, promises = error_by_orders(calls, widest)
    number = _number_of_orders(findings, widest, promises, protocol, margin)
    orders = [
        [widest.names[option] for option in calls.shown[column].tolist()]
        for column in columns[:number]
    ]
    study = _study_of_card(asked, part, table.name, widest, orders)
    _same_requests(asked, about.judge, study)
    body = {
        "format": FORMAT,
        "rules": RULES,
        "run": {"id": table.run, "name": table.name, "made_with": dict(table.made_with)},
        "simulated": about.simulated,
        "study": _without_defaults(study),
        "protocol": {
            "name": ONE_ORDER if number == 1 else AVERAGE,
            "orders": orders,
            "calls": number,
        },
        "promise": asdict(promises[number]) | {"one_order": promises[1].distance},
        "ladder": word_of_setting(findings, widest.code),
        "bias": {
            question: _bias(verdicts[question]) for question in QUESTIONS if question in verdicts
        },
    }
    return body | {"sha256": digest(body)}


def _checked_request(
    findings: Findings, asked: Plan | None, protocol: str, margin: float | None
) -> Plan:
    """Return the run's plan.

    Raises LabError if no card can be made of the run, or none with this protocol and margin.
    """
    name = findings.judgments.table.name
    if asked is None:
        raise LabError(
            f"“{name}” was judged elsewhere, so the lab does not know its prompts. A card needs a "
            "run of the lab."
        )
    if not findings.judgments.finished:
        raise LabError(
            f"“{name}” is not finished, and a card promises what a whole run measured. Resume it "
            "first."
        )
    if protocol in REFUSED:
        raise LabError(
            f"A card cannot promise {protocol}: {REFUSED[protocol]}. Use {' or '.join(PROTOCOLS)}."
        )
    if protocol and protocol not in PROTOCOLS:
        raise LabError(
            f"Unknown protocol for a card “{shorten(protocol)}”. Use {' or '.join(PROTOCOLS)}."
        )
    if margin is not None and not 0 < margin < math.inf:
        raise LabError(f"The margin is {margin:g}. Use points above 0.")
    return asked


def _arms(findings: Findings, asked: Plan, judge: str) -> list[Arm]:
    """Return the judge's arms (conditions) with fixed orders, the one with most orders first.

    Raises LabError unless all of the judge's arms have the same setting: they may differ only in
    the ordering strategy. A card is about one setting.
    """
    names = list(dict.fromkeys(condition.judge for condition in findings.conditions))
    if judge not in names and (judge or len(names) > 1):
        raise LabError(
            f"The run has the judges {', '.join(names)}. Name the one that the card is for."
        )
    mine = [arm for arm in findings.judgments.arms if arm.condition.judge == (judge or names[0])]
    settings = list(dict.fromkeys(arm.condition.setting for arm in mine))
    if len(settings) > 1:
        raise LabError(
            f"The run asked this judge in {len(settings)} settings (data sets, axes or factors), "
            "and a card is about one. Run again with that one only; calls that do not change keep "
            "their replies."
        )
    about = mine[0].condition
    if about.reorder not in AXES:
        raise LabError(
            f"A card scores single answers, and this run reordered {about.reorder}. Run a study "
            "that reorders options or criteria."
        )
    if _settings_of(asked, about.judge).about.runs_code:
        raise LabError(
            "The judge is your own code. Call it where you need it, in the orders that the run "
            "recommends."
        )
    fixed = [arm for arm in mine if not arm.condition.drawn]
    if not fixed:
        raise LabError(
            "Orders were drawn for each item, so no order was asked of all. Run balanced orders "
            "for a card."
        )
    return sorted(fixed, key=lambda arm: -len(arm.shown))


def _settings_of(asked: Plan, judge: str) -> JudgeSettings:
    for settings in asked.study.judges:
        if settings.name == judge:
            return settings
    raise LabError(f"The study has no judge “{shorten(judge)}”. Check the name.")


def _verdicts(findings: Findings, widest: Arm) -> dict[str, Row]:
    """Return the verdicts about the judge's setting, by measure.

    Raises LabError if the replies that could not be parsed may depend on the order. The expected
    error is computed without them, so it could be too small.
    """
    setting = widest.condition.setting
    verdicts = {
        row.measure: row
        for row in findings.select(topic="verdict")
        if not row.of and findings.conditions[row.condition].setting == setting
    }
    if any(row.estimate.why == "unparsed_by_order" for row in verdicts.values()):
        raise LabError(
            "Unparsed replies may depend on the order, so no error can be promised. Make them "
            "parse first."
        )
    return verdicts


def _number_of_orders(
    findings: Findings,
    widest: Arm,
    promises: Mapping[int, ExpectedError],
    protocol: str,
    margin: float | None,
) -> int:
    """Return how many orders the card asks.

    ``promises``: the expected error by the number of orders, ascending from 1. Raises LabError if
    the upper end of that error's interval is above the margin.
    """
    most = len(promises)
    if protocol == ONE_ORDER:
        number = 1
    elif margin is not None:
        enough = [number for number, promise in promises.items() if promise.high <= margin]
        number = enough[0] if enough else most
    elif protocol == AVERAGE:
        number = most
    else:
        number = advice_of(findings, widest.code).orders or most
    promise = promises[number]
    if margin is not None and promise.high > margin:
        lie = "lies" if number == 1 else "lie"
        rate = findings.pass_rate(widest.code)
        unit, factor = "points", 1.0
        if rate is not None:
            unit, factor = "percentage points", abs(rate.factor)
        raise LabError(
            f"{count(number, 'order')} {lie} {factor * promise.distance:.2g} {unit} (95% CI to "
            f"{factor * promise.high:.2g}) from the mean over all orders, which is not within "
            f"{factor * margin:g}. Give a wider margin, or ask more orders in a new run."
        )
    return number


def _study_of_card(
    asked: Plan, part: PlanPart, name: str, widest: Arm, orders: Sequence[Sequence[Any]]
) -> Study:
    """Return the study whose calls the card makes: one judge, one rubric, these orders.

    Addresses, keys and files are left out, because the pipeline has its own. The data are the
    sample only because a study needs some: the pipeline scores its own answers.
    """
    about = widest.condition
    design = part.design.model_dump(
        mode="json", exclude={"vary", "strategies", "repeats", "repeats_on", "reorder"}
    )
    design["reorder"] = about.reorder
    design["strategies"] = [{"kind": "custom", "name": "card", "orders": orders}]
    design["repeats"] = 1
    settings = _settings_of(asked, about.judge)
    body: dict[str, Any] = {
        "name": name[:200],
        "data": [{"sample": True}],
        "rubric": part.rubric.document(),
        "design": design,
        "judges": [settings.model_dump(exclude={"base_urls", "key_env", "ca_file"})],
    }
    if asked.study.reading.passes:
        body["reading"] = {"passes": asked.study.reading.passes}
    if part.own:
        design["sections"] = ""  # the file that was sent has them in this order already
        body["prompt"] = {"templates": [part.own.file.model_dump()]}
    return Study.model_validate(body)


def _without_defaults(study: Study) -> dict[str, Any]:
    """Return what differs from a study's defaults, and always the judge: its default may change."""
    body = study.model_dump(mode="json", exclude_defaults=True)
    return body | {"judges": [study.judges[0].model_dump(mode="json", exclude_defaults=True)]}


def _bias(row: Row) -> dict[str, Any]:
    """Return a verdict as JSON values. Numbers that are not known are null."""
    low, high = row.interval
    numbers = {"value": row.value, "low": low, "high": high}
    known = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
    return {"verdict": row.verdict} | known


def _same_requests(asked: Plan, judge: str, study: Study) -> None:
    """Raise LabError if the card would send a request that the run did not send.

    Only the calls about the first answer are compared. Requests about other answers have the same
    form, with other texts in it.
    """
    calls = asked.calls(judge)
    first = next(calls)
    number, row = asked.origins[first.items[0]]
    dataset, rubric = asked.sources[number]
    # A plan's calls about one answer follow each other.
    others = takewhile(lambda call: asked.origins[call.items[0]] == (number, row), calls)
    sent = [request_body(study.judges[0], call) for call in (first, *others)]
    card = plan(study, DataSet(dataset.name, (dataset.items[row],), dataset.id), rubric)
    if any(request_body(study.judges[0], call) not in sent for call in card.calls()):
        raise LabError(
            "A card of this run would not ask what the run asked, so it can promise nothing. Run "
            "the study again with this version of the lab."
        )


# ---- reading a card


class Promise(Part):
    """The expected error in a card's file, in points. Its fields are those of ``ExpectedError``.

    one_order: the same for a score from one order, to compare with.
    """

    distance: float = Field(ge=0, allow_inf_nan=False)
    low: float = Field(ge=0, allow_inf_nan=False)
    high: float = Field(ge=0, allow_inf_nan=False)
    margin: float = Field(ge=0, allow_inf_nan=False)
    one_order: float = Field(ge=0, allow_inf_nan=False)
    level: float
    items: int
    groups: int


class CardFile(Part):
    """The content of a card's file.

    run: the run's id, name and the versions it was made with.
    simulated: the judge was a simulation, so the card is only an exercise.
    study: what the card asks. It names no file, address or key.
    protocol: the method's name, its orders and the number of calls for a score.
    ladder: the word of the run's verdicts together; cards of earlier versions have none.
    bias: the run's verdicts by question, for information.
    sha256: the hash of all other fields.
    """

    format: int
    rules: int
    run: dict[str, Any]
    simulated: bool
    study: Study
    protocol: dict[str, Any]
    promise: Promise
    ladder: str | None = None
    bias: dict[str, Any]
    sha256: str


def read_card(source: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], Study]:
    """Return (the card as JSON values, its study) from its file or its values.

    Raises LabError if it is not a card, has a later format, was changed after it was made, was made
    under other rules for verdicts, or names anything outside itself.
    """
    card: Any = dict(source) if isinstance(source, Mapping) else _read_file(user_path(source))
    if not isinstance(card, dict) or not isinstance(card.get("format"), int) or "study" not in card:
        raise LabError(
            "This is not a judge card. Use the file that export RUN --out judge.card.json writes."
        )
    if card["format"] > FORMAT:
        raise LabError(
            f"The card has format {card['format']}, and this version reads up to {FORMAT}. Update "
            "rubriclab."
        )
    if card.get("sha256") != _hash(card):
        raise LabError(
            "The card was changed after it was made, so its promise does not hold. Export it again."
        )
    same_rules(card.get("rules", 1), "The card", "Export it again from its run.")
    content = card
    if isinstance(card["study"], dict):  # older cards left out this judge, which was the default
        content = card | {"study": {"judges": [{"name": "smollm2-135m"}]} | card["study"]}
    study = validated(CardFile, content, "This is not a judge card: ").study
    _refuse_outside(study)
    return card, study


def _read_file(path: Path) -> Any:
    """Return the JSON value of a file. Raises LabError if it cannot be read or is too large."""
    try:
        small = path.is_file() and path.stat().st_size <= MAX_CARD
        text = path.read_text("utf-8") if small else None
    except (OSError, ValueError) as fault:  # ValueError: not UTF-8, or NUL in the name
        raise LabError(
            f"{shorten(path.name)} is not a judge card: {shorten(str(fault), 120)}. Check the name."
        ) from None
    if text is None:
        raise LabError(
            f"{shorten(path.name)} is not a judge card. Use a file of at most {MAX_CARD:,} bytes."
        )
    return json_value(text, path.name)


def _hash(card: Mapping[str, Any]) -> str:
    """Return the hash of a card's fields, without the field ``sha256`` itself.

    It guards against mistakes, not against forgery: whoever changes a card can compute it again.
    """
    try:
        return digest({name: value for name, value in card.items() if name != "sha256"})
    except (ValueError, TypeError, RecursionError) as fault:
        raise LabError(
            f"The card holds what JSON cannot: {shorten(str(fault), 120)}. Export it again."
        ) from None


def _refuse_outside(study: Study) -> None:
    """Raise LabError for a card that names anything outside itself.

    A card may come from anybody, and whoever loads it has keys. So it may not say where requests
    go, which files are read, or which code runs.
    """
    judge, rubric, strategies = study.judges[0], study.rubric, study.design.strategies
    names_address_or_key = judge.base_urls or judge.key_env or judge.ca_file
    names_file = rubric is None or rubric.file or study.rubrics or not study.data[0].sample
    one_of_each = len(study.judges) == len(study.data) == len(strategies) == 1
    # Variants would add calls that the promise is not about.
    fixed_calls = one_of_each and strategies[0].orders and not study.design.vary.factors()
    if names_address_or_key or names_file or judge.about.runs_code or not fixed_calls:
        raise LabError(
            "The card names a file, an address, a key or code, or several judges. A card of the "
            "lab names one judge, its rubric and its orders only. Export it again."
        )
