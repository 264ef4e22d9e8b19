"""A finished run in, a judge card out: how one judge is asked, in which orders, and how far its
score then lies from the mean over all orders. The card holds no key and no address.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import Field

from rubriclab.core.judgments import Arm
from rubriclab.core.operations import same_rules
from rubriclab.core.topic import QUESTIONS, Findings
from rubriclab.data.limits import user_path
from rubriclab.data.tables import json_value
from rubriclab.judges.client import request_body
from rubriclab.measures.advice import advice_of
from rubriclab.measures.expected_error import error_by_orders
from rubriclab.measures.protocols import AVERAGE, BEST, CORRECTED, FORMS
from rubriclab.measures.reliability import ONE_ORDER, pooled
from rubriclab.model.data import DataSet
from rubriclab.model.judgment import RULES
from rubriclab.model.part import Part
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, digest, shorten
from rubriclab.study.plan import Plan, plan

FORMAT = 1
PROTOCOLS = (ONE_ORDER, AVERAGE)
REFUSED = {
    BEST: "it was chosen on these very answers, so how near it lies on others is not known",
    CORRECTED: "it changes scores by token probabilities, which no other client is sure to give",
    FORMS: "the forms were held against each other, not against the mean over all orders",
}
"""Protocols of What helps that no card promises, and why."""
AXES = ("options", "criteria")
MAX_CARD = 2_000_000


def card_of(
    findings: Findings,
    asked: Plan | None,
    *,
    protocol: str = "",
    margin: float | None = None,
    judge: str = "",
) -> dict[str, Any]:
    """The card of one judge of a run, as JSON values.

    ``protocol``: of PROTOCOLS; left out, as many orders as the advice about the judge says, or,
    with a ``margin``, as come within it. ``margin``: the distance that must not be passed, in
    points. Raises LabError for what cannot be promised, with the reason.
    """
    table = findings.judgments.table
    if asked is None:
        raise LabError(
            f"“{table.name}” was judged elsewhere, so its prompts are not known: a card needs a "
            f"run of the lab."
        )
    if not findings.judgments.finished:
        raise LabError(
            f"“{table.name}” is not finished: a card promises what a whole run measured. Resume it "
            f"first."
        )
    if protocol in REFUSED:
        raise LabError(
            f"A card cannot promise {protocol}: {REFUSED[protocol]}. Take {' or '.join(PROTOCOLS)}."
        )
    if protocol and protocol not in PROTOCOLS:
        raise LabError(
            f"There is no protocol “{shorten(protocol)}” for a card; expected "
            f"{' or '.join(PROTOCOLS)}."
        )
    if margin is not None and not 0 < margin < math.inf:
        raise LabError(f"The margin is {margin:g}; expected points above 0.")
    arms = _arms(findings, asked, judge)
    about, part = arms[0].condition, asked.parts[asked.part_of[arms[0].code]]
    words = {
        row.measure: row
        for row in findings.select(topic="verdict")
        if not row.of and findings.conditions[row.condition].setting == about.setting
    }
    if any(row.estimate.why == "unparsed_by_order" for row in words.values()):
        raise LabError(
            "Unparsed replies may go with the order, so no distance can be promised. Make them "
            "parse first."
        )
    calls = pooled(arms)
    columns, promises = error_by_orders(calls, arms[0])
    if protocol == ONE_ORDER:
        number = 1
    elif margin is not None:
        near = [number for number, promise in promises.items() if promise.high <= margin]
        number = near[0] if near else len(columns)
    elif protocol == AVERAGE:
        number = len(columns)
    else:
        number = advice_of(findings, arms[0].code).orders or len(columns)
    if margin is not None and promises[number].high > margin:
        best = promises[number]
        raise LabError(
            f"{number} order{'s' * (number > 1)} lie {best.distance:.2g} points (95% CI to "
            f"{best.high:.2g}) from the mean "
            f"over all orders, which is not within {margin:g}. Give a wider margin, or ask more "
            f"orders in a new run."
        )
    named = arms[0].names
    orders = [
        [named[option] for option in calls.shown[column].tolist()] for column in columns[:number]
    ]
    settings = next(judge for judge in asked.study.judges if judge.name == about.judge)
    strategy = {"kind": "custom", "name": "card", "orders": orders}
    design = asked.study.design.model_dump(
        mode="json", exclude={"vary", "strategies", "repeats", "repeats_on", "reorder"}
    )
    prompt = {"prompt": {"templates": [part.own.file.model_dump()]}} if part.own else {}
    study = Study.model_validate(
        {
            "name": table.name[:200],
            "data": [{"sample": True}],
            "rubric": part.rubric.document(),
            **prompt,
            "design": design | {"reorder": about.reorder, "strategies": [strategy], "repeats": 1},
            "judges": [settings.model_dump(exclude={"base_urls", "key_env", "ca_file"})],
        }
    )
    _same_requests(asked, about.judge, study)
    bias = {}
    for name in filter(words.__contains__, QUESTIONS):
        numbers = zip(
            ("value", "low", "high"), (words[name].value, *words[name].interval), strict=True
        )
        bias[name] = {"verdict": words[name].verdict} | {
            key: x if math.isfinite(x) else None for key, x in numbers
        }
    body = {
        "format": FORMAT,
        "rules": RULES,
        "run": {"id": table.run, "name": table.name, "made_with": dict(table.made_with)},
        "simulated": about.simulated,
        "study": study.model_dump(mode="json", exclude_defaults=True),
        "protocol": {
            "name": ONE_ORDER if number == 1 else AVERAGE,
            "orders": orders,
            "calls": number,
        },
        "promise": asdict(promises[number]) | {"one_order": promises[1].distance},
        "bias": bias,
    }
    return body | {"sha256": digest(body)}


def _arms(findings: Findings, asked: Plan, judge: str) -> list[Arm]:
    """The arms of the judge, all orders of one setting; the one with most orders first."""
    names = list(dict.fromkeys(condition.judge for condition in findings.conditions))
    if judge not in names and (judge or len(names) > 1):
        raise LabError(
            f"The run has the judges {', '.join(names)}; name the one that the card is for."
        )
    mine = [arm for arm in findings.judgments.arms if arm.condition.judge == (judge or names[0])]
    settings = list(dict.fromkeys(arm.condition.setting for arm in mine))
    if len(settings) > 1:
        raise LabError(
            f"The run asked this judge in {len(settings)} settings (data sets, axes or factors): a "
            f"card is of one. Run again "
            "with that one alone; calls that do not change keep their answers."
        )
    if mine[0].condition.reorder not in AXES:
        raise LabError(
            f"A card scores single answers; this run reordered {mine[0].condition.reorder}."
        )
    if (
        next(judge for judge in asked.study.judges if judge.name == mine[0].condition.judge).kind
        == "python"
    ):
        raise LabError(
            "The judge is your own code: call it where you need it, in the orders that the run "
            "recommends."
        )
    fixed = [arm for arm in mine if not arm.condition.drawn]
    if not fixed:
        raise LabError(
            "Orders were drawn for each item, so no order was asked of all: run balanced orders "
            "for a card."
        )
    return sorted(fixed, key=lambda arm: -len(arm.shown))


def _same_requests(asked: Plan, judge: str, study: Study) -> None:
    """Raises LabError where the card would send what the run did not: held against all calls about
    the first answer.
    """
    calls = asked.calls(judge)
    first = next(calls)
    number, row = asked.origins[first.items[0]]
    dataset, rubric = asked.sources[number]
    about = takewhile(lambda call: asked.origins[call.items[0]] == (number, row), calls)
    sent = [request_body(study.judges[0], call) for call in (first, *about)]
    card = plan(study, DataSet(dataset.name, (dataset.items[row],), dataset.id), rubric)
    if any(request_body(study.judges[0], call) not in sent for call in card.calls()):
        raise LabError(
            "A card of this run would not ask what the run asked, so nothing can be promised of it."
        )


class Promise(Part):
    """In points, of the distance of a score from the mean over all orders; see
    ``ExpectedError``.
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
    """What a card's file holds; ``study`` names no file, address or key."""

    format: int
    rules: int
    run: dict[str, Any]
    simulated: bool
    study: Study
    protocol: dict[str, Any]
    promise: Promise
    bias: dict[str, Any]
    sha256: str


def read_card(source: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], Study]:
    """(the card as JSON values, its study) from its file or its values.

    Raises LabError for what is no card, of a later format, changed since it was made, made under
    other rules of verdicts, or names anything outside itself.
    """
    if isinstance(source, Mapping):
        card: Any = dict(source)
    else:
        path = user_path(source)
        try:
            text = (
                path.read_text("utf-8")
                if path.is_file() and path.stat().st_size <= MAX_CARD
                else None
            )
        except (OSError, ValueError) as fault:  # ValueError: no UTF-8, or NUL in the name
            raise LabError(
                f"{shorten(path.name)} is no judge card: {shorten(str(fault), 120)}."
            ) from None
        if text is None:
            raise LabError(
                f"{shorten(path.name)} is no judge card: expected a file of at most {MAX_CARD:,} "
                f"bytes."
            )
        card = json_value(text, path.name)
    if not isinstance(card, dict) or not isinstance(card.get("format"), int) or "study" not in card:
        raise LabError(
            "This is no judge card; expected the file that export RUN --out judge.card.json writes."
        )
    if card["format"] > FORMAT:
        raise LabError(
            f"The card has format {card['format']}; this version reads {FORMAT}. Update rubriclab."
        )
    try:
        made = digest({name: value for name, value in card.items() if name != "sha256"})
    except (ValueError, TypeError, RecursionError) as fault:
        raise LabError(f"The card holds what JSON cannot: {shorten(str(fault), 120)}.") from None
    if card.get("sha256") != made:
        raise LabError(
            "The card was changed after it was made, so its promise does not hold. Export it again."
        )
    same_rules(card.get("rules", 1), "The card", "Export it again from its run.")
    study = validated(CardFile, card, "This is no judge card: ").study
    judge, part, strategies = study.judges[0], study.rubric, study.design.strategies
    outside = (
        judge.base_urls
        or judge.key_env
        or judge.ca_file
        or part is None
        or part.file
        or study.rubrics
    )
    single = len(study.judges) == len(study.data) == len(strategies) == 1 and strategies[0].orders
    if (
        outside
        or not single
        or judge.about.runs_code
        or not study.data[0].sample
        or study.design.vary.factors()
    ):
        raise LabError(
            "The card names a file, an address, a key or code, or several judges; a card of the "
            "lab names one "
            "judge, its rubric and its orders alone. Export it again."
        )
    return card, study
