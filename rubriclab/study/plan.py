"""A study with its data and rubric in; every call of it, one after the other, and what its replies
say, out.

Calls come item by item, so that a server's prefix cache holds instruction and response while the
options below them change. Within an item the calls of all strategies and repeats come in a seeded
random order: verdicts rest on the calls of an item being exchangeable (no drift over a session, no
memory).
"""

import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import pandas as pd

from rubriclab.data.rubrics import rubric_notes
from rubriclab.model.constraint import SCHEMA_TOKENS, Constraint, constrained_label
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.ending import ending_of
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import (
    BROKEN,
    ITEM_COLUMNS,
    UNBEGUN,
    Call,
    Condition,
    Judgment,
    Ordering,
    Outcome,
    Reorder,
    Reply,
    level_text,
)
from rubriclab.model.orders import Strategy
from rubriclab.model.study import DesignPart, Study
from rubriclab.model.text import LabError, count, digest, look_alike, shorten
from rubriclab.study.decisions import (
    asked_of,
    check_decisions,
    decision_options,
    decision_prompt,
    packing_of,
)
from rubriclab.study.options import (
    Variant,
    check_factors,
    dealt,
    judge_at,
    rubric_at,
    variants,
    with_reference,
)
from rubriclab.study.outcomes import label_probabilities, outcomes
from rubriclab.study.own_prompt import OwnPrompt, own_prompts
from rubriclab.study.prompts import Messages
from rubriclab.study.proof import Proof
from rubriclab.study.subjects import PROTOCOLS, Prompt, Protocol, Shape, Subject

PACKING_QUESTIONS = 150
"""Questions of each task on which packing is held against what it is measured by: what an answer No
takes where one moves.
"""
REPEATED_SUBJECTS = 10
"""Items on which a deterministic judge is asked its orders again, to show that its repeats are
equal.
"""
LABEL_TOKENS, FEEDBACK_TOKENS, REASONING_TOKENS = 16, 1_024, 16_384
EMBEDDED_TOKENS_BEHIND_LABEL, EMBEDDED_TOKENS_A_LINE, EMBEDDED_FEEDBACK_TOKENS = 2, 8, 320
"""Tokens that an answer may have where the judge names no number. An embedded model seldom ends by
itself, so it is cut behind its label or its lines (their names apart).
"""
SAMPLED_CALLS = 60
"""Calls of a condition, about, that are also asked for one free token where replies are
constrained: the median of so many probabilities is known to some 6 in 100 of their spread, and they
are drawn by their keys, over all items and orders.
"""
MAX_CONDITIONS = 2_000
MAX_REPEAT = 2**15 - 1
"""The store counts repeats in 16 bits."""


@dataclass(frozen=True)
class PlanPart:
    """What is asked alike: a data set under a rubric, an axis and a setting of the factors.

    ``subjects``: what one order is about, in the order in which they are asked about; ``sample``:
    numbers of those whose orders are asked again, None for all; ``scope``: what tells its calls
    from the same words in another data set or axis; ``own``: a prompt of the user's in place of the
    lab's.
    """

    dataset: DataSet
    rubric: Rubric
    design: DesignPart
    variant: Variant
    subjects: tuple[Subject, ...]
    strategies: tuple[Strategy, ...]
    sample: frozenset[int] | None = None
    scope: tuple[str, ...] = ()
    own: OwnPrompt | None = None

    @property
    def axis(self) -> Reorder:
        return self.design.axes[0]

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.axis]

    @property
    def first(self) -> Subject:
        """What is shown of it first: what a pasted prompt was sent for, else the first subject."""
        named = self.own.file.item if self.own else ""
        return next(
            (subject for subject in self.subjects if named and subject.text.item_id == named),
            self.subjects[0],
        )

    @cached_property
    def by_shape(self) -> Mapping[Shape, list[int]]:
        numbers: dict[Shape, list[int]] = {}
        for number, subject in enumerate(self.subjects):
            numbers.setdefault(subject.shape, []).append(number)
        return numbers

    @cached_property
    def of_item(self) -> Mapping[int, list[Subject]]:
        """The subjects that an item (by its code) is asked about in: one, or beside others and
        alone.
        """
        out: dict[int, list[Subject]] = {}
        for subject in self.subjects:
            for code in subject.items:
                out.setdefault(code, []).append(subject)
        return out

    def asked(self, shape: Shape) -> list[Strategy]:
        """The strategies under which subjects of a shape are asked."""
        return self.protocol.strategies(shape, self.strategies)

    def asked_of(self, judge: JudgeSettings, shape: Shape) -> list[Strategy]:
        """Those of them under which a judge is asked."""
        return asked_of(judge, self.axis, shape, self.asked(shape))

    def asked_as(self, strategy: Strategy, judge: JudgeSettings, number: int) -> Strategy:
        """The strategy as a judge is asked it about the subject of that number; a number of calls
        that is named stands.

        Each order is asked again on ``sample`` where the study names one, and by a deterministic
        judge on the first subjects alone. ``judge``: with the levels of the part's factors.
        """
        if self.sample is not None:
            again = number in self.sample
        else:
            again = number < REPEATED_SUBJECTS or not deterministic(judge)
        return strategy if again or strategy.calls is not None else replace(strategy, repeats=1)

    def planned(self, shape: Shape, strategy: Strategy, judge: JudgeSettings) -> int:
        """Calls of a condition: those about subjects of one shape differ in the repeats alone."""
        numbers = self.by_shape[shape]
        settings = judge_at(judge, self.variant)
        asked = Counter(self.asked_as(strategy, settings, number) for number in numbers)
        first = self.subjects[numbers[0]]
        return sum(
            subjects * sum(1 for _ in self.orders(first, own)) for own, subjects in asked.items()
        )

    def orders(self, subject: Subject, strategy: Strategy) -> Iterator[Ordering]:
        """The ordering of every call about a subject under a strategy, repeats in."""
        seed = self.design.seed
        for ordering in self.protocol.orders(subject, strategy, seed):
            ordering = self.own.labelled(subject, ordering) if self.own else ordering
            yield (
                dealt(ordering, subject.id, seed)
                if self.variant.get("ids") == "shuffled"
                else ordering
            )

    def constraint(self, shape: Shape, strategy: Strategy, judge: JudgeSettings) -> Constraint:
        """How replies to the calls about subjects of a shape are constrained: not where they are
        more than one label.
        """
        subject = self.subjects[self.by_shape[shape][0]]
        prompt = self.prompt(subject, next(iter(self.orders(subject, strategy))), judge)
        return judge.constraint_of(prompt.template) if prompt.labels else "free"

    def prompt(self, subject: Subject, ordering: Ordering, judge: JudgeSettings) -> Prompt:
        """What a judge is sent about a subject in an order. Raises LabError for an own prompt that
        cannot be rendered.
        """
        if (options := decision_options(judge)) is not None:
            return decision_prompt(self.axis, subject, ordering, self.design, options)
        return (
            self.own.prompt(subject, ordering)
            if self.own
            else self.protocol.prompt(subject, ordering, self.design)
        )


@dataclass(frozen=True)
class Plan:
    """Every call of a study. ``conditions[c]`` has ``planned[c]`` calls; ``notes`` say what was
    left out or changed.

    ``sources``: each data set with its rubric; ``wordings``: the rubrics that the factor of that
    name has; ``parts``: by data set, then axis, then setting of the factors; ``part_of[c]``: that
    of condition c; ``asked``: the conditions of a judge (by its name), part and shape with their
    strategies; ``origins``: data set and row of each item; ``proofs``: of own prompts, that only
    the order changes.
    """

    study: Study
    sources: tuple[tuple[DataSet, Rubric], ...]
    wordings: Mapping[str, Rubric]
    parts: tuple[PlanPart, ...]
    part_of: tuple[int, ...]
    items: tuple[Item, ...]
    conditions: tuple[Condition, ...]
    planned: tuple[int, ...]
    notes: tuple[str, ...]
    identity: str
    asked: Mapping[tuple[str, int, Shape], Sequence[tuple[int, Strategy]]]
    origins: tuple[tuple[int, int], ...]
    proofs: tuple[Proof, ...] = ()

    def __len__(self) -> int:
        return sum(self.planned)

    @property
    def rubric(self) -> Rubric:
        """The rubric of the first data set."""
        return self.sources[0][1]

    def calls(
        self, judge: str | None = None, scope: tuple[str, ...] | None = None
    ) -> Iterator[Call]:
        """All calls, or those of one judge by its name, or of one scope (a data set and axis).

        By judge, then by item; never more than one item's at once.
        """
        for settings in self.study.judges:
            for group in self._groups:
                if judge in (None, settings.name) and scope in (None, self.parts[group[0]].scope):
                    for asked in self._by_subject(group).values():
                        yield from self._subject_calls(settings, asked)

    def constraint(self, judge: str) -> Constraint:
        """How replies to a judge are constrained, as far as any is."""
        held = (part.constrain for part in self.conditions if part.judge == judge)
        return next((rung for rung in held if rung != "free"), "free")

    def items_frame(self) -> pd.DataFrame:
        """The run's items, one row each, its index the item's code.

        ITEM_COLUMNS, ``unit_text`` (a hash of the texts that names the item in other runs) and
        ``source`` (which of its data set's items it comes from).
        """
        rows = []
        for item, (number, source) in zip(self.items, self.origins, strict=True):
            dataset, rubric = self.sources[number]
            several = item.criterion if len(rubric.criteria) > 1 else None
            unit_text = digest(item.instruction, item.response, several)[:32]
            rows.append(
                (
                    item.item_id,
                    dataset.name,
                    item.criterion,
                    item.block,
                    item.prompt,
                    item.candidate,
                    item.task,
                    dict(item.ratings),
                    unit_text,
                    source,
                )
            )
        return pd.DataFrame(rows, columns=[*ITEM_COLUMNS, "unit_text", "source"])

    def parse(self, call: Call, reply: Reply) -> tuple[Outcome, ...]:
        """Read what a reply says of each item of its call; never raises for what a judge wrote."""
        if UNBEGUN in reply.note and call.begun:  # what a cut answer says is read otherwise
            call = replace(call, messages=call.messages[:-1])
        made = self._read(call, as_constrained(call, reply))
        judge = self.conditions[call.condition].judge
        if call.constrain == "free" or self._reports_free(judge, call.constrain):
            return made
        mass = label_probabilities(reply.free_top, call.labels)[1] if reply.free_top else None
        return tuple(replace(outcome, mass=mass) for outcome in made)

    def judgment(self, call: Call, reply: Reply) -> Judgment:
        """Return the call with its reply and what it says; a reply that breaks its constraint has a
        note of that.
        """
        if breaks_constraint(call, reply):
            reply = reply.noted(BROKEN)
        return Judgment(call, reply, self.parse(call, reply))

    def _reports_free(self, judge: str, rung: Constraint) -> bool:
        """Whether a reply itself says what its labels get without the constraint.

        In JSON the first token is a brace whoever reports it.
        """
        return any(
            part.name == judge and rung in part.about.reports_free for part in self.study.judges
        )

    def _read(self, call: Call, reply: Reply) -> tuple[Outcome, ...]:
        own = self.parts[self.part_of[call.condition]].own
        rule = own.file.answer if own else None
        return outcomes(
            call, reply, self.conditions[call.condition], tie=self.study.design.tie, rule=rule
        )

    def try_reply(self, text: str) -> dict[str, str]:
        """What would be read of a reply to the first call shown: its status, and the score (or what
        is preferred).
        """
        call = self.previews()[0]
        outcomes = self.parse(call, Reply(text))
        shown = [
            call.ordering.shown[outcome.position - 1]
            if outcome.score is None and outcome.position
            else outcome.score
            for outcome in outcomes
        ]
        read = ", ".join("nothing" if value is None else level_text(value) for value in shown)
        return {"status": min(outcome.status for outcome in outcomes).name.lower(), "read": read}

    def previews(self, *items: int) -> list[Call]:
        """The first judge's call about each item (by its code) in each order that it is shown in,
        default ones first.

        Without a code: about the first item of each data set and axis. Where factors are varied,
        every setting of them in the default order comes before other orders. Raises LabError for an
        item that is not asked about.
        """
        judge = self.study.judges[0]
        ranked: list[tuple[bool, Call]] = []
        for item in items or dict.fromkeys(
            self.parts[group[0]].first.items[0] for group in self._groups
        ):
            asking = [
                (code, subject)
                for code, part in enumerate(self.parts)
                for subject in part.of_item.get(item, ())
            ]
            if not asking:
                raise self._not_asked(item)
            for code, subject in asking:
                part = self.parts[code]
                asked = {
                    call.ordering: call for call in self._subject_calls(judge, [(code, 0, subject)])
                }
                orders = dict.fromkeys(
                    order
                    for strategy in part.asked_of(judge, subject.shape)
                    for order in part.orders(subject, strategy)
                )
                own = (
                    part.own.file.order if part.own else ()
                ) or subject.options  # a pasted prompt's own order first
                ranked += [(order.shown != own, asked[order]) for order in orders]
        return [call for _, call in sorted(ranked, key=lambda pair: pair[0])]

    def messages(self, condition: int, item: int, ordering: Ordering) -> Messages:
        """What was sent about an item (by its code) in an order under a condition (by its code)."""
        part = self.parts[self.part_of[condition]]
        judge = next(
            judge for judge in self.study.judges if judge.name == self.conditions[condition].judge
        )
        for subject in part.of_item.get(item, ()):
            fits = sorted(map(str, ordering.shown)) == sorted(map(str, subject.options))
            if fits and len(ordering.labels) == len(ordering.shown):
                return _sent(part.prompt(subject, ordering, judge), judge)
        raise self._not_asked(item)

    def _not_asked(self, item: int) -> LabError:
        return LabError(
            f"Item {item} is not asked about; choose another one of {len(self.items):,}."
        )

    # ------------------------------------------------------------ how calls are made

    @cached_property
    def _groups(self) -> list[list[int]]:
        """Parts (by their numbers) of one data set and axis, which differ in the factors'
        levels.
        """
        return [
            list(group)
            for _, group in groupby(range(len(self.parts)), key=lambda code: self.parts[code].scope)
        ]

    def _by_subject(self, group: Sequence[int]) -> dict[str, list[tuple[int, int, Subject]]]:
        """(part, number of the subject in it, the subject) in all parts of a group that ask about
        it, by subject.
        """
        by_id: dict[str, list[tuple[int, int, Subject]]] = {}
        for code in group:
            for number, subject in enumerate(self.parts[code].subjects):
                by_id.setdefault(subject.id, []).append((code, number, subject))
        return by_id

    def _subject_calls(
        self, judge: JudgeSettings, asked: list[tuple[int, int, Subject]]
    ) -> list[Call]:
        """The calls of one judge about one subject in all settings of the factors, in their random
        order.

        ``asked``: (part, number of the subject in it, the subject).
        """
        times: Counter[str] = (
            Counter()
        )  # the same words again, whichever strategy or setting asks, are another call
        calls = []
        for code, number, subject in asked:
            part = self.parts[code]
            settings = judge_at(judge, part.variant)
            extra = settings.extra if settings.extra != judge.extra else None
            pack = packing_of(settings, part.axis)
            known: dict[Ordering, tuple[Messages, Prompt, int, str]] = {}
            for condition, strategy in self.asked[judge.name, code, subject.shape]:
                repeats: Counter[Ordering] = Counter()
                for ordering in part.orders(subject, part.asked_as(strategy, settings, number)):
                    if ordering not in known:
                        prompt = part.prompt(subject, ordering, judge)
                        messages = _sent(prompt, settings)
                        if known and part.own is not None:
                            part.own.check_signs(subject, messages, next(iter(known.values()))[0])
                        tokens = answer_tokens(settings, subject, brief=prompt.brief)
                        if prompt.labels and settings.constraint_of(prompt.template) == "schema":
                            tokens = max(tokens, SCHEMA_TOKENS)
                        if extra is not None and judge.max_tokens is None:
                            tokens = REASONING_TOKENS  # the field may switch reasoning on
                        identity = self._identity(judge, code, prompt.template, subject, messages)
                        known[ordering] = messages, prompt, tokens, identity
                    messages, prompt, tokens, identity = known[ordering]
                    shape, fields = part.own.answer(subject, ordering) if part.own else ("", {})
                    held = (
                        (extra or settings.extra) | fields if fields and judge.about.chat else extra
                    )
                    key = hashlib.sha256(
                        f"{identity}{times[identity]}}}".encode("utf-8", "surrogatepass")
                    )
                    calls.append(
                        Call(
                            key.hexdigest()[:32],
                            condition,
                            subject.items,
                            ordering,
                            repeats[ordering],
                            messages,
                            prompt.template,
                            subject.shape.scores,
                            tokens,
                            settings.temperature,
                            settings.reasoning_effort,
                            settings.seed,
                            held,
                            shape,
                            pack,
                            labels=prompt.labels,
                            constrain=self.conditions[condition].constrain,
                            sampled=self._sampled(condition, key.hexdigest()),
                        )
                    )
                    times[identity] += 1
                    repeats[ordering] += 1
        seeded = hashlib.sha256(
            f"{self.study.design.seed}|calls|{asked[0][2].id}".encode("utf-8", "surrogatepass")
        )
        random.Random(int.from_bytes(seeded.digest()[:8], "big")).shuffle(calls)
        return calls

    def _sampled(self, condition: int, key: str) -> bool:
        """Whether a call is one of the about SAMPLED_CALLS of a constrained condition, whichever
        session asks it.
        """
        about = self.conditions[condition]
        if about.constrain == "free" or self._reports_free(about.judge, about.constrain):
            return False
        return int(key[:8], 16) / 2**32 < SAMPLED_CALLS / self.planned[condition]

    @cached_property
    def _judges(self) -> Mapping[tuple[str, int], str]:
        """Each judge under each part as its calls' keys have it; ``twin`` tells judges apart that
        answer as one.
        """
        out: dict[tuple[str, int], str] = {}
        seen: dict[str, dict[str, int]] = {}
        for judge in self.study.judges:
            for code, part in enumerate(self.parts):
                identity = _canonical(judge_at(judge, part.variant).identity())
                twins = seen.setdefault(identity, {})
                out[judge.name, code] = (
                    f'"judge":{identity},"twin":{twins.setdefault(judge.name, len(twins))}'
                )
        return out

    def _identity(
        self, judge: JudgeSettings, part: int, template: str, subject: Subject, messages: Messages
    ) -> str:
        """All that decides a call's answer but its repeat, which comes last."""
        scope = self.parts[part].scope
        return (
            f"{{{self._judges[judge.name, part]},"
            f'"item":{_canonical([*scope, subject.id] if scope else subject.id)},'
            f'"template":{_canonical(template)},"messages":{_canonical(messages)},"repeat":'
        )


def _sent(prompt: Prompt, judge: JudgeSettings) -> Messages:
    """The messages of a prompt; the answer of an embedded judge is begun for it."""
    if not prompt.begun or not answer_is_begun(judge):
        return prompt.messages
    return (*prompt.messages, {"role": "assistant", "content": prompt.begun})


def plan(
    study: Study,
    dataset: DataSet,
    rubric: Rubric,
    more: Sequence[tuple[DataSet, Rubric]] = (),
    wordings: Mapping[str, Rubric] | None = None,
) -> Plan:
    """All calls of ``study``; they are counted here and made when they are asked for.

    ``more``: its further data sets with their rubrics; ``wordings``: the rubrics that the factor
    ``wording`` names. Raises LabError, before any call, for data, rubric, orders, levels or numbers
    of calls that do not fit together.
    """
    design, wordings = study.design, wordings or {}
    prompts = own_prompts(study)
    check_factors(design.vary, design.axes, study.judges)
    check_decisions(study.judges, design, own=bool(prompts))
    sources = [(dataset, rubric), *more]
    names = [look_alike(known.name) for known, _ in sources]
    for (known, _), name in zip(sources, names, strict=True):
        if names.count(name) > 1:
            raise LabError(
                f"Two data sets are called “{shorten(known.name)}”: give each [[data]] a name of "
                f"its own."
            )
    items: list[Item] = []
    origins: list[tuple[int, int]] = []
    parts: list[PlanPart] = []
    notes = [data.note for data, _ in sources if data.note]
    if not prompts and not {*design.axes} <= {"pairs", "lists"}:
        said = [note for _, base in sources for note in rubric_notes(base)]
        notes += dict.fromkeys(said)
    proofs: list[Proof] = []
    for number, (data, base) in enumerate(sources):
        shared: dict[tuple[Any, ...], int] = {}
        for axis in design.axes:
            scope = (
                *([f"data {data.name}"] if number else []),
                *([f"axis {axis}"] if axis != design.axes[0] else []),
            )
            protocol, own = PROTOCOLS[axis], design.model_copy(update={"reorder": axis})
            made, rows, said = protocol.items(data, base, own)
            codes = _coded(made, rows, shared, len(items))
            fresh = [k for k, code in enumerate(codes) if code >= len(items)]
            items += [made[k] for k in fresh]
            origins += [(number, rows[k]) for k in fresh]
            notes += said
            asked: dict[tuple[str, int | None], tuple[tuple[Subject, ...], list[str]]] = {}
            for variant in variants(design.vary, axis):
                shown, score = rubric_at(base, variant, wordings), variant.get("reference")
                if (shown.id, score) not in asked:  # sampling and request fields change no subject
                    asked[shown.id, score] = _subjects(data, shown, own, made, codes, score)
                subjects, said = asked[shown.id, score]
                base_levels = all(
                    variant[name] == levels[0] for name, levels in design.vary.factors().items()
                )
                strategies = tuple(
                    design.plans() if base_levels or design.vary.crossed else design.plans()[:1]
                )
                if variant.get("packing") in design.vary.packing[1:]:
                    chosen = _repeated(subjects, PACKING_QUESTIONS, design.seed) or ()
                    subjects = tuple(subjects[number] for number in sorted(chosen))
                sample = _repeated(subjects, design.repeats_on, design.seed)
                prompt = prompts.get(
                    (axis, variant.get("prompt") or next((name for _, name in prompts), ""))
                )
                parts.append(
                    PlanPart(data, shown, own, variant, subjects, strategies, sample, scope, prompt)
                )
                proofs += prompt.check(parts[-1].subjects, variant) if prompt else []
                for judge in study.judges:
                    _try(parts[-1], judge)
                notes += said
    conditions: list[Condition] = []
    planned, part_of = [], []
    asking: dict[tuple[str, int, Shape], list[tuple[int, Strategy]]] = {}
    for judge in study.judges:
        for code, part in enumerate(parts):
            for shape in part.by_shape:
                for strategy in part.asked_of(judge, shape):
                    asking.setdefault((judge.name, code, shape), []).append(
                        (len(conditions), strategy)
                    )
                    conditions.append(
                        Condition(
                            judge.name,
                            part.dataset.name,
                            strategy.name,
                            part.axis,
                            shape.scores,
                            shape.targets,
                            shape.positions,
                            variant=part.variant,
                            drawn=strategy.drawn,
                            simulated=judge.simulated,
                            packed=bool(packing_of(judge_at(judge, part.variant), part.axis)),
                            constrain=part.constraint(shape, strategy, judge),
                        )
                    )
                    planned.append(part.planned(shape, strategy, judge))
                    part_of.append(code)
    if len(conditions) > MAX_CONDITIONS:
        most = (
            f"at most {MAX_CONDITIONS:,} can be told apart. Take fewer levels, or crossed = false."
        )
        raise LabError(
            f"Judges, data sets, strategies and factors make {len(conditions):,} conditions; {most}"
        )
    notes += [note for judge in study.judges for part in parts for note in _notes_on(judge, part)]
    notes += [note for judge in study.judges for note in constraint_notes(judge, conditions)]
    ids = [[data.id for data, _ in sources], [base.id for _, base in sources]]
    ids[1] += [wordings[name].id for name in design.vary.wording]
    ids[1] += dict.fromkeys(prompt.file.id for prompt in prompts.values())
    notes += [f"Prompt “{proof.prompt}”: {note}" for proof in proofs for note in proof.notes]
    return Plan(
        study,
        tuple(sources),
        wordings,
        tuple(parts),
        tuple(part_of),
        tuple(items),
        tuple(conditions),
        tuple(planned),
        tuple(dict.fromkeys(notes)),
        study.identity(*(known[0] if len(known) == 1 else digest(known) for known in ids)),
        asking,
        tuple(origins),
        tuple(proofs),
    )


def _coded(
    items: Sequence[Item], rows: Sequence[int], shared: dict[tuple[Any, ...], int], first: int
) -> list[int]:
    """The code of each item in the run: that of the same item under another axis, else the next
    from ``first`` on.
    """
    earlier, codes = dict(shared), []
    for item, row in zip(items, rows, strict=True):
        key = (row, item.item_id, item.criterion, item.block, item.candidate)
        codes.append(earlier.get(key, first))
        first += key not in earlier
        shared.setdefault(key, codes[-1])
    return codes


def _subjects(
    dataset: DataSet,
    rubric: Rubric,
    design: DesignPart,
    items: Sequence[Item],
    codes: Sequence[int],
    score: int | None,
) -> tuple[tuple[Subject, ...], list[str]]:
    """(subjects, notes). ``codes``: those of ``items`` in the run; ``score``: of the reference
    answer that is shown.
    """
    subjects, notes = PROTOCOLS[design.axes[0]].subjects(items, rubric, design)
    if list(codes) != list(range(len(codes))):
        subjects = [
            replace(subject, items=tuple(codes[code] for code in subject.items))
            for subject in subjects
        ]
    if score is None:
        return tuple(subjects), notes
    able = tuple(
        shown for subject in subjects if (shown := with_reference(subject, score)) is not None
    )
    if not able:
        cure = f"Give the data a column reference_{score}, or leave the level out."
        none = f"no answer of “{shorten(dataset.name)}” has a reference answer of score {score}"
        raise LabError(f"[design.vary] reference: {none}. {cure}")
    if len(able) < len(subjects):
        missing = count(len(subjects) - len(able), "answer")
        notes = [
            *notes,
            f"reference = {score}: {missing} left out, without a reference answer of that score.",
        ]
    return able, notes


def _try(part: PlanPart, judge: JudgeSettings) -> None:
    """Tries the orders and prompts of a part: what cannot be asked or shown is refused here."""
    for shape, numbers in part.by_shape.items():
        subject = part.subjects[numbers[0]]
        for strategy in part.asked_of(judge, shape):
            orders = list(part.orders(subject, strategy))
            part.prompt(subject, orders[0], judge)
            if len(orders) > MAX_REPEAT:
                raise LabError(
                    f"“{strategy.name}” asks {len(orders):,} times an item; at most {MAX_REPEAT:,} "
                    f"can be."
                )


def _repeated(
    subjects: Sequence[Subject], wanted: float | None, seed: int
) -> frozenset[int] | None:
    """Numbers of the subjects whose orders are asked again: all of a share of each task's
    questions, or of so many.

    Each question has a rank of its own by the seed, so that every setting of the factors repeats
    the same ones.
    """
    if wanted is None:
        return None
    tasks: dict[str, dict[str, list[int]]] = {}
    for number, subject in enumerate(subjects):
        questions = tasks.setdefault(subject.text.task or "", {})
        questions.setdefault(subject.text.prompt or subject.id, []).append(number)
    chosen: list[int] = []
    for task, questions in tasks.items():
        number = int(wanted) if wanted >= 1 else math.ceil(wanted * len(questions))
        for question in sorted(questions, key=lambda name: digest(seed, "repeats", task, name))[
            :number
        ]:
            chosen += questions[question]
    return frozenset(chosen)


def deterministic(judge: JudgeSettings) -> bool:
    """Whether the same prompt gives the same answer: known of the embedded model at temperature 0
    alone.
    """
    return judge.about.deterministic and judge.temperature == 0


def _notes_on(judge: JudgeSettings, part: PlanPart) -> Iterator[str]:
    if packing_of(judge, part.axis) and not part.design.vary.packing:
        yield (
            f"{judge.name} gets the orders of an answer as questions of one request. Whether that "
            f"changes its answers is measured "
            'with [design.vary] packing = ["packed", "alone", "reversed"].'
        )
    if part.sample is not None:
        yield (
            f"Each order is asked again on {len(part.sample):,} of "
            f"{count(len(part.subjects), 'subject')} alone."
        )
    repeated = [
        each
        for each in part.strategies
        if each.repeats > 1 and each.calls is None and not each.drawn
    ]
    sure = part.sample is None and deterministic(judge_at(judge, part.variant))
    if sure and repeated and len(part.subjects) > REPEATED_SUBJECTS:
        yield (
            f"{judge.name} answers the same prompt in the same way, so each order is asked once, "
            f"and again only on "
            f"the first {count(REPEATED_SUBJECTS, 'answer')}, to show that. Set the strategy's "
            f"number of calls to have every order asked again."
        )


def breaks_constraint(call: Call, reply: Reply) -> bool:
    """Return whether a whole reply is none of the labels that it was held to."""
    if call.constrain == "free" or reply.error or ending_of(reply.finish) != "whole":
        return False
    return constrained_label(reply.text, call.constrain, call.labels, call.begun) is None


def as_constrained(call: Call, reply: Reply) -> Reply:
    """Return the reply with the bare label as its text where it was constrained, and with none
    where it breaks that.

    A server that no longer holds the constraint (another one behind a router) gives another judge's
    answers: they are not read as if it did.
    """
    if call.constrain == "free" or reply.error or ending_of(reply.finish) != "whole":
        return reply  # why it is not whole is said of it, and not that it breaks anything
    label = constrained_label(reply.text, call.constrain, call.labels, call.begun)
    return replace(reply, text=label or "")


def constraint_notes(judge: JudgeSettings, conditions: Sequence[Condition]) -> Iterator[str]:
    """What a constraint of the judge does not do, or not for free."""
    if judge.options.get("constrain") and not judge.older_constraint:
        yield (
            f"{judge.name}: options.constrain is of vLLM alone and is not sent. "
            "Set constrain instead."
        )
    if judge.constrain == "free":
        return
    own = [condition for condition in conditions if condition.judge == judge.name]
    left = [condition for condition in own if condition.constrain == "free"]
    if left:
        every = "no reply" if len(left) == len(own) else "not every reply"
        yield (
            f'{judge.name}: constrain = "{judge.constrain}" is for replies that are one label, and '
            f"{every} of this study is. "
            "The others are asked for freely."
        )
    if len(left) < len(own) and judge.constrain not in judge.about.reports_free:
        yield (
            f"{judge.name}: about {SAMPLED_CALLS} calls of each condition are followed by a "
            f"request for one free token, to "
            "measure what probability the labels have without the constraint."
        )
    given = judge.max_tokens or SCHEMA_TOKENS
    if judge.constrain == "schema" and given < SCHEMA_TOKENS:
        yield (
            f"{judge.name}: max_tokens is {given}, and an answer in JSON takes up to "
            f"{SCHEMA_TOKENS}: so many are asked for."
        )


def answer_is_begun(judge: JudgeSettings) -> bool:
    """Whether a judge's answer is begun for it where a score alone is asked for.

    Embedded models are so small that they would chat first: 2% of their first-token probability
    falls on a label, 87% behind “The score is ”; with all criteria in one call they copy the task
    unless the first line is begun. The judge's option ``prefill = false`` switches it off.
    """
    return judge.about.small_model and bool(judge.options.get("prefill", True))


def answer_tokens(judge: JudgeSettings, subject: Subject, *, brief: bool) -> int:
    """Tokens that an answer may have: the judge's own number, else enough for a label (``brief``)
    or a text.
    """
    if judge.max_tokens is not None:
        return judge.max_tokens
    if judge.reasoning_effort is not None:
        return REASONING_TOKENS
    if not answer_is_begun(judge):
        return (
            LABEL_TOKENS
            if brief
            else EMBEDDED_FEEDBACK_TOKENS
            if judge.about.small_model
            else FEEDBACK_TOKENS
        )
    if brief:
        options = subject.criteria[0].options if subject.criteria else ()
        longest = max((len(option.shown_label) for option in options), default=1)
        return min(longest + EMBEDDED_TOKENS_BEHIND_LABEL, LABEL_TOKENS)
    names = subject.shape.targets or tuple("Response 1" for _ in subject.answers)
    return (
        sum(EMBEDDED_TOKENS_A_LINE + len(name) // 2 for name in names)
        if names
        else EMBEDDED_FEEDBACK_TOKENS
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
