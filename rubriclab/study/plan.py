"""A study with its data and rubric in; every call of it, one after the other, and what its replies say, out.

Calls come item by item, so that a server's prefix cache holds instruction and response while the options below them
change. Within an item the calls of all strategies and repeats come in a seeded random order: verdicts rest on the
calls of an item being exchangeable (no drift over a session, no memory).
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import ITEM_COLUMNS, Call, Condition, Ordering, Outcome, Reply
from rubriclab.model.orders import Strategy
from rubriclab.model.study import Study
from rubriclab.model.text import LabError, count, digest
from rubriclab.study.axes import PROTOCOLS
from rubriclab.study.prompts import Messages
from rubriclab.study.protocols import Protocol, Shape, Subject

REPEATED_SUBJECTS = 10
"""Items on which a deterministic judge is asked its orders again, to show that its repeats are equal."""
LABEL_TOKENS, FEEDBACK_TOKENS, REASONING_TOKENS = 16, 1_024, 16_384
EMBEDDED_TOKENS_BEHIND_LABEL, EMBEDDED_TOKENS_A_LINE, EMBEDDED_FEEDBACK_TOKENS = 2, 8, 320
"""Tokens that an answer may have where the judge names no number. An embedded model seldom ends by itself, so it is cut
behind its label or its lines (their names apart)."""
MAX_REPEAT = 2**15 - 1
"""The store counts repeats in 16 bits."""


@dataclass(frozen=True)
class Plan:
    """Every call of a study. ``conditions[c]`` has ``planned[c]`` calls; ``notes`` say what was left out or changed.

    ``subjects``: what one order is about, in the order in which they are asked about.
    """

    study: Study
    dataset: DataSet
    rubric: Rubric
    items: tuple[Item, ...]
    conditions: tuple[Condition, ...]
    planned: tuple[int, ...]
    notes: tuple[str, ...]
    identity: str
    subjects: tuple[Subject, ...]
    _sources: tuple[int, ...]

    def __len__(self) -> int:
        return sum(self.planned)

    @property
    def protocol(self) -> Protocol:
        """What one call asks about."""
        return PROTOCOLS[self.study.design.reorder]

    def calls(self, judge: str | None = None) -> Iterator[Call]:
        """All calls, or those of one judge by its name: by judge, then by item; never more than one item's at once."""
        for settings in self.study.judges:
            if judge in (None, settings.name):
                for number, subject in enumerate(self.subjects):
                    yield from self._subject_calls(settings, number, subject)

    def items_frame(self) -> pd.DataFrame:
        """The run's items, one row each, its index the item's code.

        ITEM_COLUMNS, ``unit_text`` (a hash of the texts that names the item in other runs) and ``source`` (which of
        the data set's items it comes from).
        """
        rows = [
            (item.item_id, self.dataset.name, item.criterion, item.block, item.prompt, item.candidate, item.task,
             dict(item.ratings), unit_text(item, several=len(self.rubric.criteria) > 1), source)
            for item, source in zip(self.items, self._sources, strict=True)
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=[*ITEM_COLUMNS, "unit_text", "source"])

    def parse(self, call: Call, reply: Reply) -> tuple[Outcome, ...]:
        """What a reply says about each item of its call; never raises for what a judge wrote."""
        return self.protocol.parse(call, reply, self.conditions[call.condition].targets, self.study.design)

    def previews(self, item: int = 0) -> list[Call]:
        """The first judge's call about an item (by its code) in each order that it is shown in, the default one first.

        Raises LabError for an item that is not asked about.
        """
        subject = self._subject_of(item)
        asked = {call.ordering: call for call in self._subject_calls(self.study.judges[0], 0, subject)}
        orders = dict.fromkeys(
            order
            for strategy in self.protocol.strategies(subject.shape, self.study.design.plans())
            for order in self.protocol.orders(subject, strategy, self.study.design.seed)
        )
        return [asked[order] for order in sorted(orders, key=lambda order: order.shown != subject.options)]

    def orders_of_first_item(self) -> list[Call]:
        """As ``previews`` for the first item that is asked about."""
        return self.previews(self.subjects[0].items[0])

    def messages(self, condition: int, item: int, ordering: Ordering) -> Messages:
        """What was sent about an item (by its code) in an order under a condition (by its code)."""
        name = self.conditions[condition].judge
        judge = next(judge for judge in self.study.judges if judge.name == name)
        return self._rendered(judge, self._subject_of(item), ordering)

    # ------------------------------------------------------------ how calls are made

    @cached_property
    def _of_item(self) -> dict[int, Subject]:
        return {code: subject for subject in self.subjects for code in subject.items}

    def _subject_of(self, item: int) -> Subject:
        if item not in self._of_item:
            raise LabError(f"Item {item} is not asked about; choose another one of {len(self.items):,}.")
        return self._of_item[item]

    def _rendered(self, judge: JudgeSettings, subject: Subject, ordering: Ordering) -> Messages:
        messages = self.protocol.messages(subject, ordering, self.study.design)
        begun = self.protocol.begins(subject, ordering, self.study.design) if answer_is_begun(judge) else ""
        return (*messages, {"role": "assistant", "content": begun}) if begun else messages

    def _subject_calls(self, judge: JudgeSettings, number: int, subject: Subject) -> list[Call]:
        """The calls of one judge about one subject, in their random order."""
        design = self.study.design
        template = self.protocol.template(subject, design)
        tokens = answer_tokens(judge, subject, brief=self.protocol.brief(subject, design))
        rendered: dict[Ordering, tuple[Messages, Any]] = {}
        times: dict[Ordering, int] = {}  # the same words again, whichever strategy asks, are another call
        calls = []
        for code, strategy in self._strategies[judge.name, subject.shape]:
            repeats: dict[Ordering, int] = {}
            for ordering in self.protocol.orders(subject, asked_as(strategy, judge, number), design.seed):
                if ordering not in rendered:
                    messages = self._rendered(judge, subject, ordering)
                    rendered[ordering] = messages, self._hash(judge, template, subject, messages)
                messages, begun = rendered[ordering]
                key = begun.copy()
                key.update(f"{times.get(ordering, 0)}}}".encode())
                calls.append(
                    Call(
                        key.hexdigest()[:32], code, subject.items, ordering, repeats.get(ordering, 0), messages, template,
                        subject.shape.scores, tokens, judge.temperature, judge.reasoning_effort, judge.seed,
                    )
                )  # fmt: skip
                times[ordering] = times.get(ordering, 0) + 1
                repeats[ordering] = repeats.get(ordering, 0) + 1
        seeded = hashlib.sha256(f"{design.seed}|calls|{subject.id}".encode("utf-8", "surrogatepass")).digest()
        random.Random(int.from_bytes(seeded[:8], "big")).shuffle(calls)
        return calls

    @cached_property
    def _strategies(self) -> Mapping[tuple[str, Shape], list[tuple[int, Strategy]]]:
        """(condition, strategy) of each judge and shape."""
        out: dict[tuple[str, Shape], list[tuple[int, Strategy]]] = {}
        for code, condition in enumerate(self.conditions):
            shape = Shape(tuple(map(int, condition.scores)), condition.targets, condition.positions)
            asked = self.protocol.strategies(shape, self.study.design.plans())
            strategy = next(strategy for strategy in asked if strategy.name == condition.strategy)
            out.setdefault((condition.judge, shape), []).append((code, strategy))
        return out

    @cached_property
    def _identities(self) -> Mapping[str, str]:
        """Each judge as its calls' keys have it; ``twin`` tells judges apart that differ in their names alone."""
        out: dict[str, str] = {}
        for judge in self.study.judges:
            identity = _canonical(judge.identity())
            twins = sum(text.startswith(f'"judge":{identity},') for text in out.values())
            out[judge.name] = f'"judge":{identity},"twin":{twins}'
        return out

    def _hash(self, judge: JudgeSettings, template: str, subject: Subject, messages: Messages) -> Any:
        """The hash of all that decides a call's answer but its repeat, which comes last."""
        text = (
            f'{{{self._identities[judge.name]},"item":{_canonical(subject.id)},"template":{_canonical(template)},'
            f'"messages":{_canonical(messages)},"repeat":'
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass"))


def plan(study: Study, dataset: DataSet, rubric: Rubric) -> Plan:
    """All calls of ``study``; they are counted here and made when they are asked for.

    Raises LabError, before any call, for data, rubric, orders or numbers of calls that do not fit together.
    """
    protocol = PROTOCOLS[study.design.reorder]
    items, sources, left_out = protocol.items(dataset, rubric, study.design)
    subjects, notes = protocol.subjects(items, rubric, study.design)
    notes = [*left_out, *notes]
    strategies = study.design.plans()
    by_shape: dict[Shape, list[int]] = {}
    for number, subject in enumerate(subjects):
        by_shape.setdefault(subject.shape, []).append(number)
    for subject in (subjects[numbers[0]] for numbers in by_shape.values()):
        for strategy in protocol.strategies(subject.shape, strategies):  # refused before the first call
            orders = list(protocol.orders(subject, strategy, study.design.seed))
            protocol.messages(subject, orders[0], study.design)
            if len(orders) > MAX_REPEAT:
                raise LabError(f"“{strategy.name}” asks {len(orders):,} times an item; at most {MAX_REPEAT:,} can be.")
    conditions, planned = [], []
    for judge in study.judges:
        for shape, numbers in by_shape.items():
            for strategy in protocol.strategies(shape, strategies):
                conditions.append(
                    Condition(
                        judge.name, dataset.name, strategy.name, study.design.reorder, shape.scores, shape.targets,
                        shape.positions, drawn=strategy.drawn, simulated=judge.simulated,
                    )
                )  # fmt: skip
                planned.append(_calls_of(protocol, judge, strategy, subjects, numbers, study.design.seed))
    notes += [note for judge in study.judges for note in _repeat_notes(judge, strategies, len(subjects))]
    return Plan(
        study, dataset, rubric, items, tuple(conditions), tuple(planned), tuple(notes),
        study.identity(dataset.id, rubric.id), tuple(subjects), sources,
    )  # fmt: skip


def _calls_of(
    protocol: Protocol, judge: JudgeSettings, strategy: Strategy, subjects: list[Subject], numbers: list[int], seed: int
) -> int:
    """Calls of a condition: the subjects of one shape have the same number, but for those that are repeated."""
    first = subjects[numbers[0]]
    repeated = sum(number < REPEATED_SUBJECTS for number in numbers)
    often = sum(1 for _ in protocol.orders(first, asked_as(strategy, judge, 0), seed))
    once = sum(1 for _ in protocol.orders(first, asked_as(strategy, judge, REPEATED_SUBJECTS), seed))
    return repeated * often + (len(numbers) - repeated) * once


def asked_as(strategy: Strategy, judge: JudgeSettings, number: int) -> Strategy:
    """The strategy as a judge is asked it about the subject of that number.

    An embedded model at temperature 0 gives one and the same answer to one prompt, so beyond the first subjects each
    order is asked once; where the study names a number of calls, it is asked so often.
    """
    if not deterministic(judge) or strategy.calls is not None or number < REPEATED_SUBJECTS:
        return strategy
    return replace(strategy, repeats=1)


def deterministic(judge: JudgeSettings) -> bool:
    """Whether the same prompt gives the same answer: known of the embedded model at temperature 0 alone."""
    return judge.kind == "embedded" and judge.temperature == 0


def _repeat_notes(judge: JudgeSettings, strategies: list[Strategy], subjects: int) -> Iterator[str]:
    repeated = [part for part in strategies if part.repeats > 1 and part.calls is None and not part.drawn]
    if deterministic(judge) and repeated and subjects > REPEATED_SUBJECTS:
        yield (
            f"{judge.name} answers the same prompt in the same way, so each order is asked once, and again only on "
            f"the first {count(REPEATED_SUBJECTS, 'answer')}, to show that. Set calls to have every order asked again."
        )


def answer_is_begun(judge: JudgeSettings) -> bool:
    """Whether a judge's answer is begun for it where a score alone is asked for.

    Embedded models are so small that they would chat first: 2 % of their first-token probability falls on a label,
    87 % behind “The score is ”; with all criteria in one call they copy the task unless the first line is begun.
    The judge's option ``prefill = false`` switches it off.
    """
    return judge.kind == "embedded" and bool(judge.options.get("prefill", True))


def answer_tokens(judge: JudgeSettings, subject: Subject, *, brief: bool) -> int:
    """Tokens that an answer may have: the judge's own number, else enough for a label (``brief``) or a text."""
    if judge.max_tokens is not None:
        return judge.max_tokens
    if judge.reasoning_effort is not None:
        return REASONING_TOKENS
    if not answer_is_begun(judge):
        return LABEL_TOKENS if brief else EMBEDDED_FEEDBACK_TOKENS if judge.kind == "embedded" else FEEDBACK_TOKENS
    if brief:
        options = subject.criteria[0].options if subject.criteria else ()
        longest = max((len(option.shown_label) for option in options), default=1)
        return min(longest + EMBEDDED_TOKENS_BEHIND_LABEL, LABEL_TOKENS)
    names = subject.shape.targets or tuple("Response 1" for _ in subject.answers)
    return sum(EMBEDDED_TOKENS_A_LINE + len(name) // 2 for name in names) if names else EMBEDDED_FEEDBACK_TOKENS


def unit_text(item: Item, *, several: bool) -> str:
    """A hash of an item's texts (with ``several`` criteria also of its criterion): what names it in other runs."""
    return digest(item.instruction, item.response, item.criterion if several else None)[:32]


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
