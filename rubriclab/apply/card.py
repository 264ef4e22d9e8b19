"""A finished run in, a judge card out: how one judge is asked, in which orders, and how far its score then lies from the mean
over all orders. The card holds no key and no address."""

import math
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from rubriclab.core.estimate import Estimate, Student, mean_over
from rubriclab.core.judgments import Arm
from rubriclab.core.operations import same_rules
from rubriclab.core.topic import QUESTIONS, Findings
from rubriclab.data.limits import user_path
from rubriclab.data.tables import json_value
from rubriclab.judges.client import request_body
from rubriclab.model.data import DataSet
from rubriclab.model.judge import Part
from rubriclab.model.judgment import RULES
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, digest, shorten
from rubriclab.stats.debias import Grid, grid_of, row_means
from rubriclab.stats.resample import Floats
from rubriclab.study.plan import Plan, plan
from rubriclab.topics.protocols import AVERAGE, BEST, CORRECTED, FORMS
from rubriclab.topics.reliability import ONE_ORDER, Pooled, pooled

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
ASKED_AGAIN = 0.5
"""At least so many of the items must have been asked in every order of a protocol."""


def card_of(
    findings: Findings,
    asked: Plan | None,
    *,
    protocol: str = "",
    margin: float | None = None,
    judge: str = "",
) -> dict[str, Any]:
    """The card of one judge of a run, as JSON values.

    ``protocol``: of PROTOCOLS; left out, one order where no question found an effect as large as matters, else as many orders
    as come within the margin, and where that is left out too at least as many as calls reach a dependability of 0.9.
    ``margin``: the distance that must not be passed, in points; the smallest change of the mean that matters where left out. Raises LabError for what cannot be promised, with the reason.
    """
    table = findings.judgments.table
    if asked is None:
        raise LabError(
            f"“{table.name}” was judged elsewhere, so its prompts are not known: a card needs a run of the lab."
        )
    if not findings.judgments.finished:
        raise LabError(
            f"“{table.name}” is not finished: a card promises what a whole run measured. Resume it first."
        )
    if protocol in REFUSED:
        raise LabError(
            f"A card cannot promise {protocol}: {REFUSED[protocol]}. Take {' or '.join(PROTOCOLS)}."
        )
    if protocol and protocol not in PROTOCOLS:
        raise LabError(
            f"There is no protocol “{shorten(protocol)}” for a card; expected {' or '.join(PROTOCOLS)}."
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
            "Unparsed replies may go with the order, so no distance can be promised. Make them parse first."
        )
    calls = pooled(arms)
    grid, columns = _grid(calls, arms[0])
    promises = {
        number: _promise(calls, grid, columns[:number]) for number in range(1, len(columns) + 1)
    }
    wanted = margin or findings.reading.smallest.points(arms[0].condition.scores)
    harmless = all(name in words and words[name].verdict == "equivalent" for name in QUESTIONS)
    near = [number for number, promise in promises.items() if promise["high"] <= wanted]
    if protocol == ONE_ORDER or (not protocol and margin is None and harmless):
        number = 1
    elif protocol == AVERAGE and margin is None:
        number = len(columns)
    else:
        number = near[0] if near else len(columns)
        if margin is None:  # what What helps recommends
            rows = [
                row
                for row in findings.select("calls_needed")
                if not row.of and math.isfinite(row.value)
            ]
            needed = [
                int(row.value)
                for row in rows
                if findings.conditions[row.condition].setting == about.setting
            ]
            number = min(max([number, *needed]), len(columns))
    if margin is not None and promises[number]["high"] > margin:
        best = promises[number]
        raise LabError(
            f"{number} order{'s' * (number > 1)} lie {best['distance']:.2g} points (95 % CI to {best['high']:.2g}) from the mean "
            f"over all orders, which is not within {margin:g}. Give a wider margin, or ask more orders in a new run."
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
        "promise": promises[number] | {"one_order": promises[1]["distance"]},
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
            f"The run asked this judge in {len(settings)} settings (data sets, axes or factors): a card is of one. Run again "
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
            "The judge is your own code: call it where you need it, in the orders that the run recommends."
        )
    fixed = [arm for arm in mine if not arm.condition.drawn]
    if not fixed:
        raise LabError(
            "Orders were drawn for each item, so no order was asked of all: run balanced orders for a card."
        )
    return sorted(fixed, key=lambda arm: -len(arm.shown))


def _grid(calls: Pooled, widest: Arm) -> tuple[Grid, list[int]]:
    """(calls by item and order, the orders that a card asks one after the other: ascending, its reverse, the next, its …)."""
    if not len(calls.value):
        raise LabError("No reply could be parsed, so there is nothing to promise.")
    grid = grid_of(calls.item, calls.items, calls.order, len(calls.shown), calls.value, 0)
    often = (grid.count > 0).mean(axis=0) >= ASKED_AGAIN
    lines = {tuple(row): column for column, row in enumerate(calls.shown.tolist()) if often[column]}
    wanted = [tuple(row) for row in widest.shown.tolist()]
    ascending = tuple(range(calls.shown.shape[1]))
    columns: dict[int, None] = {}
    for line in [ascending, *wanted]:
        for order in (line, line[::-1]):
            if order in lines and (order in wanted or line == ascending):
                columns[lines[order]] = None
    if len(columns) < 2:
        raise LabError(
            "All judgments were made in one order, so nothing is known of the others: run balanced orders."
        )
    if not np.isfinite(grid.noise).any():
        raise LabError(
            "No order was asked twice, so the noise of a call is not known: set repeats to 2 or more."
        )
    return grid, list(columns)


def _promise(calls: Pooled, grid: Grid, columns: list[int]) -> dict[str, Any]:
    """How far the mean of one call in each of these orders lies from the mean over all orders, in points.

    ``distance``: root mean square over items, without what the run's own noise adds, with its 95 % ends; ``margin``: the most
    of any item, its bias and 1.96 standard deviations of the calls' noise. Items that lack an order are left out.
    """
    known = grid.noise[np.isfinite(grid.noise)]
    noise = np.where(np.isfinite(grid.noise), grid.noise, known.mean())
    everywhere = (grid.count > 0).all(axis=1)
    if not everywhere.any():
        raise LabError("No answer has a score in every order, so no distance can be promised.")
    k, m = len(columns), grid.count.shape[1]
    share = np.full(m, -1 / m)
    share[columns] += 1 / k
    with np.errstate(invalid="ignore", divide="ignore"):
        error = ((share**2) * noise / grid.count).sum(axis=1)
    away: Floats = np.where(everywhere, (grid.mean * share).sum(axis=1), np.nan)
    of_call = row_means(noise[:, columns]) / k
    square: Estimate = mean_over(
        away**2 - error + of_call, calls.unit, calls.names, lambda _: Student(lopsided=True)
    )
    low, high = (
        math.sqrt(max(end, 0.0)) if math.isfinite(end) else math.nan for end in square.interval()
    )
    margin = float(np.nanmax(np.abs(away) + 1.96 * np.sqrt(of_call)))
    if not math.isfinite(high):
        raise LabError(
            f"{square.units} independent groups are too few for a promise: 8 are needed."
        )
    distance = math.sqrt(max(square.value, 0.0))
    return {
        "distance": distance,
        "low": low,
        "high": high,
        "level": 0.95,
        "margin": margin,
        "items": int(everywhere.sum()),
        "groups": square.units,
    }


def _same_requests(asked: Plan, judge: str, study: Study) -> None:
    """Raises LabError where the card would send what the run did not: held against all calls about the first answer."""
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
    """In points, of the distance of a score from the mean over all orders; see ``_promise``."""

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

    Raises LabError for what is no card, of a later format, changed since it was made, made under other rules of verdicts,
    or names anything outside itself.
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
                f"{shorten(path.name)} is no judge card: expected a file of at most {MAX_CARD:,} bytes."
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
        or judge.kind == "python"
        or not study.data[0].sample
        or study.design.vary.factors()
    ):
        raise LabError(
            "The card names a file, an address, a key or code, or several judges; a card of the lab names one "
            "judge, its rubric and its orders alone. Export it again."
        )
    return card, study
