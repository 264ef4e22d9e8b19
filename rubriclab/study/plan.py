"""Plan a study: every call of it, one after the other, each with its key.

Calls come item by item, so that a server's prefix cache holds instruction and response while the
options below them change. Within an item the calls of all strategies and repeats come in a seeded
random order: verdicts rest on the calls of an item being exchangeable (no drift over a session, no
memory). The small model has neither. Its calls come so that each shares as much of its prompt as
possible with the call before, which saves a third of its time. What it keeps of the call before is
no more than rounding: 1 to 3 in 100 scores change when the same order is asked again.
"""

import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

import pandas as pd

from rubriclab.data.rubrics import rubric_notes
from rubriclab.model.constraint import SCHEMA_TOKENS, Constraint
from rubriclab.model.data import Criterion, DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import (
    BROKEN,
    ITEM_COLUMNS,
    Call,
    Condition,
    Judgment,
    Ordering,
    Outcome,
    Reorder,
    Reply,
)
from rubriclab.model.looks import RunLooks, Scope, Stop
from rubriclab.model.orders import Strategy
from rubriclab.model.passing import check_cut, check_passes, named_by_score
from rubriclab.model.study import DesignPart, Study
from rubriclab.model.text import LabError, count, digest, look_alike, shorten
from rubriclab.study.decisions import check_decisions, packing_of
from rubriclab.study.examples import with_examples
from rubriclab.study.options import (
    Variant,
    check_answers,
    check_factors,
    design_at,
    judge_at,
    rescaled,
    rubric_at,
    variants,
    with_reference,
)
from rubriclab.study.outcomes import breaks_constraint, described, outcomes
from rubriclab.study.own_prompt import OwnPrompt, own_prompts
from rubriclab.study.parts import PlanPart
from rubriclab.study.plan_looks import (
    AskingOrder,
    asking_orders,
    planned_batches,
    repeated_where_asked_first,
    scope_of,
)
from rubriclab.study.plan_notes import SAMPLED_CALLS, constraint_notes, notes_on, passing_notes
from rubriclab.study.prompts import Messages
from rubriclab.study.proof import Proof
from rubriclab.study.section_levels import at_each_order, check_sections_differ, prefix_notes
from rubriclab.study.subjects import PROTOCOLS, Prompt, Shape, Subject, scale_of
from rubriclab.study.tokens import REASONING_TOKENS, answer_is_begun, answer_tokens

PACKING_QUESTIONS = 150
"""Prompts per task that are also asked with the other kinds of packing. With this many, the verdict
can be No although one score changed.
"""
KEY_DIGITS = 32
"""Hexadecimal digits of a call's key in the store: 128 bits, so that no two calls share a key."""
MAX_CONDITIONS = 2_000
"""Conditions of a study. More do not fit a table or a picture, and are most likely a mistake."""
MAX_REPEAT = 2**15 - 1
"""The store counts repeats in 16 bits."""


@dataclass(frozen=True)
class Plan:
    """Every call of a study. Condition c has ``planned[c]`` calls.

    sources: each data set with its rubric. wordings: the rubrics of the factor wording, by name.
    parts: by data set, then axis, then setting of the factors. part_of: the part of each condition.
    notes: what was left out or changed.
    asked: the conditions of a judge (by name), part and shape, with their strategies.
    origins: data set and row of each item.
    proofs: that only the order changes in the user's own prompts.
    looks: when a study that may stop early is looked at; None if only at its end.
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
    looks: RunLooks | None = None

    def __len__(self) -> int:
        return sum(self.planned)

    @property
    def rubric(self) -> Rubric:
        """The rubric of the first data set."""
        return self.sources[0][1]

    def calls(
        self,
        judge: str | None = None,
        scope: Scope | None = None,
        batch: int | None = None,
    ) -> Iterator[Call]:
        """Yield all calls, or those of one judge (by name), scope or batch of the looks.

        They come by judge, then by scope, batch and item. Only one item's calls are in memory at a
        time.
        """
        for settings in self.study.judges:
            for group in self._groups:
                own_scope = scope_of(self.parts[group[0]])
                if judge in (None, settings.name) and scope in (None, own_scope):
                    for asked in self._in_asking_order(group, own_scope, batch):
                        yield from self._subject_calls(settings, asked)

    @property
    def scopes(self) -> list[Scope]:
        """Return each data set with each axis, in the order in which they are asked."""
        return [scope_of(self.parts[group[0]]) for group in self._groups]

    def constraint(self, judge: str) -> Constraint:
        """Return how a judge's replies are constrained, if any of them are."""
        held = (part.constrain for part in self.conditions if part.judge == judge)
        return next((rung for rung in held if rung != "free"), "free")

    def items_frame(self) -> pd.DataFrame:
        """Return a table with a row for each item; the index is the item's code.

        Its columns are ITEM_COLUMNS, ``unit_text`` (a hash of the texts, which identifies the item
        in other runs) and ``source`` (the row in its data set).
        """
        rows = []
        for item, (number, source) in zip(self.items, self.origins, strict=True):
            dataset, rubric = self.sources[number]
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
                    _text_id(item, rubric),
                    source,
                )
            )
        return pd.DataFrame(rows, columns=[*ITEM_COLUMNS, "unit_text", "source"])

    def parse(self, call: Call, reply: Reply) -> tuple[Outcome, ...]:
        """Return what a reply says about each item of its call, whatever the judge wrote."""
        own = self.parts[self.part_of[call.condition]].own
        condition = self.conditions[call.condition]
        return outcomes(
            call,
            reply,
            condition,
            tie=self.study.design.tie,
            rule=own.file.answer if own else None,
            reports_free=self._reports_free(condition.judge, call.constrain),
        )

    def judgment(self, call: Call, reply: Reply) -> Judgment:
        """Return the call with its reply and outcomes, and a note if it breaks its constraint."""
        if breaks_constraint(call, reply):
            reply = reply.noted(BROKEN)
        return Judgment(call, reply, self.parse(call, reply))

    def try_reply(self, text: str) -> dict[str, str]:
        """Return how a reply to the first preview would be parsed.

        ``status`` is that of the outcome; ``read`` is the score, or the preferred candidate.
        """
        call = self.previews()[0]
        return described(call, self.parse(call, Reply(text)))

    def _reports_free(self, judge: str, rung: Constraint) -> bool:
        """Return whether a reply itself reports the probabilities without the constraint.

        With a JSON schema it never does, because the first token is a brace.
        """
        return any(
            part.name == judge and rung in part.about.reports_free for part in self.study.judges
        )

    def previews(self, *items: int) -> list[Call]:
        """Return the first judge's calls about items (by code), one for each order.

        Default orders come first, under every setting of the factors. Without a code, the first
        item of each data set and axis is shown. Raises LabError for an item outside the study.
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
                own: tuple[int | str, ...] = subject.options
                if part.own and part.own.file.order:
                    own = part.own.file.order  # the order of the pasted prompt
                ranked += [(order.shown != own, asked[order]) for order in orders]
        return [call for _, call in sorted(ranked, key=lambda pair: pair[0])]

    def messages(self, condition: int, item: int, ordering: Ordering) -> Messages:
        """Return what is sent about an item in an order under a condition (both by their codes)."""
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
            f"Item {item} is not part of this study. Choose another of its {len(self.items):,}."
        )

    # ------------------------------------------------------------ how calls are made

    @cached_property
    def _groups(self) -> list[list[int]]:
        """Return the numbers of the parts of each data set and axis, one for each setting."""
        return [
            list(group)
            for _, group in groupby(range(len(self.parts)), key=lambda code: self.parts[code].scope)
        ]

    def _by_subject(self, group: Sequence[int]) -> dict[str, list[tuple[int, int, Subject]]]:
        """Return every (part, number of the subject in it, subject) of a group, by subject."""
        by_id: dict[str, list[tuple[int, int, Subject]]] = {}
        for code in group:
            for number, subject in enumerate(self.parts[code].subjects):
                by_id.setdefault(subject.id, []).append((code, number, subject))
        return by_id

    def first_part(self, scope: Scope) -> PlanPart:
        """Return the part of a scope with the first levels of the factors."""
        return next(part for part in self.parts if scope_of(part) == scope)

    def _in_asking_order(
        self, group: Sequence[int], scope: Scope, batch: int | None
    ) -> Iterator[list[tuple[int, int, Subject]]]:
        """Yield what ``_by_subject`` has for each subject, by batch and then as in the data.

        ``batch``: the number of the only batch that is wanted.
        """
        subjects = self._by_subject(group).values()
        if self.looks is None:
            yield from subjects
            return
        batch_of = self.looks.scopes[scope].batch
        numbered = [(batch_of[asked[0][2].items[0]], asked) for asked in subjects]
        for number, asked in sorted(numbered, key=lambda pair: pair[0]):
            if batch in (None, number):
                yield asked

    def _subject_calls(
        self, judge: JudgeSettings, asked: list[tuple[int, int, Subject]]
    ) -> list[Call]:
        """Return one judge's calls about one subject at all settings, in the order of asking.

        ``asked``: (part, number of the subject in it, the subject).
        """
        # The same request may come from several strategies or settings. Each is a call of its own.
        times: Counter[str] = Counter()
        calls = []
        for code, number, subject in asked:
            part = self.parts[code]
            settings = judge_at(judge, part.variant)
            requests: dict[Ordering, _Request] = {}
            for condition, strategy in self.asked[judge.name, code, subject.shape]:
                repeats: Counter[Ordering] = Counter()
                for ordering in part.orders(subject, part.asked_as(strategy, settings, number)):
                    request = requests.get(ordering)
                    if request is None:
                        request = self._request(judge, settings, code, subject, ordering)
                        if requests and part.own is not None:
                            first = next(iter(requests.values()))
                            part.own.check_signs(subject, request.messages, first.messages)
                        requests[ordering] = request
                    asked_before = times[request.first_key]
                    key = request.first_key
                    if asked_before:
                        key = call_key(request.identity, asked_before)
                    calls.append(self._call(request, key, condition, settings, repeats[ordering]))
                    times[request.first_key] += 1
                    repeats[ordering] += 1
        seeded = hashlib.sha256(
            f"{self.study.design.seed}|calls|{asked[0][2].id}".encode("utf-8", "surrogatepass")
        )
        random.Random(int.from_bytes(seeded.digest()[:8], "big")).shuffle(calls)
        if judge.about.deterministic:
            calls = _by_shared_beginnings(calls)
        return calls

    def _request(
        self,
        judge: JudgeSettings,
        settings: JudgeSettings,
        code: int,
        subject: Subject,
        ordering: Ordering,
    ) -> "_Request":
        """Return what a judge is sent about a subject in an order, in the part of that code.

        ``settings``: the judge at the levels of the part's factors.
        """
        part = self.parts[code]
        prompt = part.prompt(subject, ordering, judge)
        messages = _sent(prompt, settings)
        varied = settings.extra if settings.extra != judge.extra else None
        tokens = answer_tokens(settings, subject, brief=prompt.brief)
        if prompt.labels and settings.constraint_of(prompt.template) == "schema":
            tokens = max(tokens, SCHEMA_TOKENS)
        if varied is not None and judge.max_tokens is None:
            tokens = REASONING_TOKENS  # a varied field may switch reasoning on
        extra, form = varied, ""
        if part.own is not None:
            form, fields = part.own.answer(subject, ordering)
            if fields and judge.about.chat:
                extra = (varied or settings.extra) | fields
        identity = {
            **self._judges[judge.name, code],
            "item": _canonical([*part.scope, subject.id] if part.scope else subject.id),
            "template": _canonical(prompt.template),
            "messages": _canonical(messages),
        }
        first_key = call_key(identity, 0)
        return _Request(
            subject,
            ordering,
            prompt,
            messages,
            tokens,
            extra,
            form,
            packing_of(settings, part.axis),
            identity,
            first_key,
        )

    def _call(
        self, request: "_Request", key: str, condition: int, settings: JudgeSettings, repeat: int
    ) -> Call:
        """Return one call of a request. ``settings``: the judge at the part's levels."""
        return Call(
            key=key[:KEY_DIGITS],
            condition=condition,
            items=request.subject.items,
            ordering=request.ordering,
            repeat=repeat,
            messages=request.messages,
            template=request.prompt.template,
            scores=request.subject.shape.scores,
            max_tokens=request.tokens,
            temperature=settings.temperature,
            reasoning_effort=settings.reasoning_effort,
            seed=settings.seed,
            extra=request.extra,
            form=request.form,
            pack=request.pack,
            labels=request.prompt.labels,
            constrain=self.conditions[condition].constrain,
            sampled=self._sampled(condition, key),
            scale=scale_of(request.subject).labels if request.subject.examples else (),
        )

    def _sampled(self, condition: int, key: str) -> bool:
        """Return whether a call is also asked for one free token (see SAMPLED_CALLS).

        Its key decides, so that a resumed run asks for the same ones.
        """
        about = self.conditions[condition]
        if about.constrain == "free" or self._reports_free(about.judge, about.constrain):
            return False
        return int(key[:8], 16) / 2**32 < SAMPLED_CALLS / self.planned[condition]

    @cached_property
    def _judges(self) -> Mapping[tuple[str, int], dict[str, str]]:
        """Return what a judge adds to the keys of its calls in each part, as JSON.

        ``twin`` distinguishes judges whose settings are the same.
        """
        out: dict[tuple[str, int], dict[str, str]] = {}
        seen: dict[str, dict[str, int]] = {}
        for judge in self.study.judges:
            for code, part in enumerate(self.parts):
                identity = _canonical(judge_at(judge, part.variant).identity())
                twins = seen.setdefault(identity, {})
                twin = twins.setdefault(judge.name, len(twins))
                out[judge.name, code] = {"judge": identity, "twin": str(twin)}
        return out


def _by_shared_beginnings(calls: Sequence[Call]) -> list[Call]:
    """Return the calls so that prompts that begin with the same lines come one after the other.

    Where the calls allow it, they keep their order: the first of several beginnings comes first.
    """
    places: dict[str, int] = {}  # by beginning: the first call that has it
    beginnings: list[list[int]] = []
    for place, call in enumerate(calls):
        longer_and_longer = accumulate(call.prompt.splitlines(keepends=True))
        beginnings.append([places.setdefault(text, place) for text in longer_and_longer])
    return [calls[place] for place in sorted(range(len(calls)), key=beginnings.__getitem__)]


@dataclass(frozen=True, slots=True)
class _Request:
    """What a judge is sent about a subject in an order, once or several times.

    tokens: the most that a reply may have. extra: further fields of the request.
    form: what a reply looks like. pack: how calls share the request.
    identity: everything that decides the reply, as JSON by field.
    first_key: the key of its first call.
    """

    subject: Subject
    ordering: Ordering
    prompt: Prompt
    messages: Messages
    tokens: int
    extra: dict[str, Any] | None
    form: str
    pack: str
    identity: dict[str, str]
    first_key: str


def call_key(identity: Mapping[str, str], repeat: int) -> str:
    """Return the key, in full, of the call that asks the same for the ``repeat``-th time, from 0.

    It is a hash of canonical JSON. The values of ``identity`` are JSON already, since a judge's is
    the same in all its calls. Stored runs have these keys: the order of fields is part of them.
    """
    fields = [f'"{name}":{value}' for name, value in identity.items()]
    text = "{" + ",".join([*fields, f'"repeat":{repeat}']) + "}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sent(prompt: Prompt, judge: JudgeSettings) -> Messages:
    """Return the messages of a prompt. The reply of an embedded judge is begun for it."""
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
    """Return the plan of ``study``. Calls are counted here, and made while they are iterated.

    ``more``: further data sets with their rubrics. ``wordings``: the rubrics of the factor
    ``wording``. Raises LabError, before any call, if data, rubric, orders, levels and numbers of
    calls do not fit together.
    """
    design, wordings = study.design, wordings or {}
    prompts = own_prompts(study)
    check_factors(design.vary, design.axes, study.judges)
    check_answers(design, study.judges, own=bool(prompts))
    check_decisions(study.judges, design, own=bool(prompts))
    sources = ((dataset, rubric), *more)
    _check_names(sources)
    study = _with_passing_score(study, _criteria_shown(sources, wordings, design))
    made = _Parts(study, prompts, wordings)
    made.notes += _notes_on_sources(sources, design, own=bool(prompts), passes=study.reading.passes)
    for number, (data, base) in enumerate(sources):
        made.add(number, data, base)
    orders: dict[Scope, AskingOrder] = {}
    if design.stop is not None:
        orders = made.asking_orders()
        made.parts = [
            repeated_where_asked_first(part, orders[scope_of(part)]) for part in made.parts
        ]
    asked = _conditions(study, made.parts)
    made.notes += [
        note for judge in study.judges for part in made.parts for note in notes_on(judge, part)
    ]
    if design.vary.sections:
        levels = [at_each_order(parts) for parts in made.by_scope()]
        check_sections_differ(levels, study.judges[0])
        made.notes += [note for each in levels for note in prefix_notes(each, study.judges[0])]
    made.notes += [
        note for judge in study.judges for note in constraint_notes(judge, asked.conditions)
    ]
    made.notes += [
        f"Prompt “{proof.prompt}”: {note}" for proof in made.proofs for note in proof.notes
    ]
    looks = None
    if design.stop is not None:
        looks = _run_looks(study, made, asked, orders, design.stop)
    return Plan(
        study=study,
        sources=sources,
        wordings=wordings,
        parts=tuple(made.parts),
        part_of=tuple(asked.part_of),
        items=tuple(made.items),
        conditions=tuple(asked.conditions),
        planned=tuple(asked.planned),
        notes=tuple(dict.fromkeys(made.notes)),
        identity=_study_identity(study, sources, wordings, prompts.values()),
        asked=asked.strategies,
        origins=tuple(made.origins),
        proofs=tuple(made.proofs),
        looks=looks,
    )


def _run_looks(
    study: Study,
    made: "_Parts",
    asked: "_Asked",
    orders: Mapping[Scope, AskingOrder],
    stop: Stop,
) -> RunLooks:
    """Return when a study that may stop early is looked at."""
    scopes = {scope: order.looks() for scope, order in orders.items()}
    judges = {judge.name: judge for judge in study.judges}
    planned: list[tuple[int, ...]] = [()] * len(asked.conditions)
    for (judge, code, shape), strategies in asked.strategies.items():
        part = made.parts[code]
        for number, strategy in strategies:
            looks = scopes[scope_of(part)]
            planned[number] = planned_batches(part, shape, strategy, judges[judge], looks)
    return RunLooks(stop=stop, scopes=scopes, planned=tuple(planned))


def _text_id(item: Item, rubric: Rubric) -> str:
    """Return a hash of an item's texts, which identifies it in other runs."""
    several = item.criterion if len(rubric.criteria) > 1 else None
    return digest(item.instruction, item.response, several)[:32]


Sources = Sequence[tuple[DataSet, Rubric]]
"""A study's data sets, each with its rubric."""


def _check_names(sources: Sources) -> None:
    """Raise LabError for two data sets whose names look alike, in tables too."""
    names = [look_alike(data.name) for data, _ in sources]
    for (data, _), name in zip(sources, names, strict=True):
        if names.count(name) > 1:
            raise LabError(
                f"Two data sets are called “{shorten(data.name)}”. Give each [[data]] a different "
                f"name."
            )


def _criteria_shown(
    sources: Sources, wordings: Mapping[str, Rubric], design: DesignPart
) -> list[Criterion]:
    """Return the criteria that calls show, with each wording and at each length of the scale."""
    rubrics = [*(rubric for _, rubric in sources), *wordings.values()]
    criteria = [criterion for rubric in rubrics for criterion in rubric.criteria]
    if not design.vary.scale:
        return criteria
    return [rescaled(criterion, n) for criterion in criteria for n in design.vary.scale]


def _with_passing_score(study: Study, criteria: Sequence[Criterion]) -> Study:
    """Return the study; where not all calls show the rubric's labels, it names the passing score.

    Raises LabError for a label or score that passes in no criterion, or not in all alike, and for a
    cut from which on all scores pass, or none.
    """
    check_passes(criteria, study.reading)
    check_cut([criterion.scores for criterion in criteria], study.reading)
    if study.design.axes == ("options",) and not study.design.vary.ids:
        return study
    return study.model_copy(update={"reading": named_by_score(criteria, study.reading)})


def _notes_on_sources(sources: Sources, design: DesignPart, *, own: bool, passes: str) -> list[str]:
    """Return what reading the data and the rubrics left out or changed.

    Notes on rubrics are about what the lab's own prompts would show of them.
    """
    notes = [data.note for data, _ in sources if data.note]
    rubrics_shown = not own and not set(design.axes) <= {"pairs", "lists"}
    if rubrics_shown:
        notes += dict.fromkeys(note for _, rubric in sources for note in rubric_notes(rubric))
    if not passes and not set(design.axes) <= {"pairs", "lists"}:
        notes += dict.fromkeys(
            note for _, rubric in sources for note in passing_notes(rubric.criteria)
        )
    return notes


def _study_identity(
    study: Study,
    sources: Sources,
    wordings: Mapping[str, Rubric],
    prompts: Iterable[OwnPrompt],
) -> str:
    """Return the study's identity with its data, rubrics and prompts."""
    data_ids = [data.id for data, _ in sources]
    rubric_ids = [rubric.id for _, rubric in sources]
    rubric_ids += [wordings[name].id for name in study.design.vary.wording]
    rubric_ids += dict.fromkeys(prompt.file.id for prompt in prompts)
    if study.examples is not None:
        rubric_ids.append(study.examples.id)
    # A single ID is not hashed, because a study could have only one in the first version.
    one_id = [ids[0] if len(ids) == 1 else digest(ids) for ids in (data_ids, rubric_ids)]
    return study.identity(*one_id)


class _Parts:
    """The parts of a study, collected from one data set after the other.

    origins: data set and row of each item.
    """

    def __init__(
        self,
        study: Study,
        prompts: Mapping[tuple[Reorder, str], OwnPrompt],
        wordings: Mapping[str, Rubric],
    ) -> None:
        self.study, self.prompts, self.wordings = study, prompts, wordings
        self.items: list[Item] = []
        self.origins: list[tuple[int, int]] = []
        self.parts: list[PlanPart] = []
        self.proofs: list[Proof] = []
        self.notes: list[str] = []
        self.rubrics: list[Rubric] = []

    def add(self, number: int, data: DataSet, rubric: Rubric) -> None:
        """Add the parts of the data set of that number, on each axis. Axes share equal items."""
        self.rubrics.append(rubric)
        codes_of: dict[tuple[Any, ...], int] = {}
        for axis in self.study.design.axes:
            design = self.study.design.model_copy(update={"reorder": axis})
            made, rows, notes = PROTOCOLS[axis].items(data, rubric, design)
            codes = _coded(made, rows, codes_of, len(self.items))
            fresh = [k for k, code in enumerate(codes) if code >= len(self.items)]
            self.items += [made[k] for k in fresh]
            self.origins += [(number, rows[k]) for k in fresh]
            self.notes += notes
            self._add_axis(self._scope(number, data, axis), data, rubric, design, made, codes)

    def by_scope(self) -> list[list[PlanPart]]:
        """Return the parts of each data set and axis."""
        return [list(group) for _, group in groupby(self.parts, key=lambda part: part.scope)]

    def asking_orders(self) -> dict[Scope, AskingOrder]:
        """Return the order in which the units of each data set and axis are asked."""
        texts = [
            _text_id(item, self.rubrics[number])
            for item, (number, _) in zip(self.items, self.origins, strict=True)
        ]
        return asking_orders(self.parts, self.items, texts, self.study.design.seed)

    def _scope(self, number: int, data: DataSet, axis: Reorder) -> tuple[str, ...]:
        """Return what distinguishes calls of a data set and axis from the same words in another.

        It is empty for the first of each, because a study could have only one in the first version.
        """
        scope: list[str] = []
        if number:
            scope.append(f"data {data.name}")
        if axis != self.study.design.axes[0]:
            scope.append(f"axis {axis}")
        return tuple(scope)

    def _add_axis(
        self,
        scope: tuple[str, ...],
        data: DataSet,
        rubric: Rubric,
        design: DesignPart,
        items: Sequence[Item],
        codes: Sequence[int],
    ) -> None:
        """Add one part for each setting of the factors. ``codes``: of ``items`` in the run."""
        vary, axis = design.vary, design.axes[0]
        known: dict[tuple[str, int | None], tuple[tuple[Subject, ...], list[str]]] = {}
        for variant in variants(vary, axis):
            shown, score = rubric_at(rubric, variant, self.wordings), variant.get("reference")
            if (shown.id, score) not in known:  # sampling and request fields do not change subjects
                known[shown.id, score] = _subjects(data, shown, design, items, codes, score)
                if axis == "examples":
                    bare, own_notes = known[shown.id, score]
                    made, more = with_examples(bare, self.study.examples)
                    known[shown.id, score] = tuple(made), [*own_notes, *more]
            subjects, notes = known[shown.id, score]
            if variant.get("packing") in vary.packing[1:]:
                chosen = _repeated(subjects, PACKING_QUESTIONS, design.seed) or ()
                subjects = tuple(subjects[number] for number in sorted(chosen))
            part = PlanPart(
                data,
                shown,
                design_at(design, variant),
                variant,
                subjects,
                _strategies_at(design, variant),
                _repeated(subjects, design.repeats_on, design.seed),
                scope,
                self._prompt_at(design_at(design, variant), variant),
            )
            self.parts.append(part)
            if part.own is not None:
                self.proofs += part.own.check(subjects, variant)
            for judge in self.study.judges:
                _try(part, judge)
            self.notes += notes

    def _prompt_at(self, design: DesignPart, variant: Variant) -> OwnPrompt | None:
        """Return the user's prompt at a setting of the factors, None for the lab's own.

        ``design``: at that setting.
        """
        names = [name for _, name in self.prompts]
        if not names:
            return None
        own = self.prompts[design.axes[0], variant.get("prompt") or names[0]]
        return own.arranged(design.sections)


def _strategies_at(design: DesignPart, variant: Variant) -> tuple[Strategy, ...]:
    """Return all strategies at the baseline, and the first one at other settings of the factors.

    Crossed factors are asked under all strategies.
    """
    strategies = tuple(design.plans())
    levels = design.vary.factors()
    baseline = all(variant[name] == known[0] for name, known in levels.items())
    return strategies if baseline or design.vary.crossed else strategies[:1]


@dataclass
class _Asked:
    """The conditions of a study.

    planned: the number of calls of each. part_of: the part of each.
    strategies: the conditions of a judge, part and shape, with their strategies.
    """

    conditions: list[Condition] = field(default_factory=list)
    planned: list[int] = field(default_factory=list)
    part_of: list[int] = field(default_factory=list)
    strategies: dict[tuple[str, int, Shape], list[tuple[int, Strategy]]] = field(
        default_factory=dict
    )


def _conditions(study: Study, parts: Sequence[PlanPart]) -> _Asked:
    """Return a condition for each judge, part, shape and strategy. Raises LabError for too many."""
    asked = _Asked()
    for judge in study.judges:
        for code, part in enumerate(parts):
            packed = bool(packing_of(judge_at(judge, part.variant), part.axis))
            for shape in part.by_shape:
                for strategy in part.asked_of(judge, shape):
                    number = len(asked.conditions)
                    key = (judge.name, code, shape)
                    asked.strategies.setdefault(key, []).append((number, strategy))
                    asked.part_of.append(code)
                    asked.planned.append(part.planned(shape, strategy, judge))
                    asked.conditions.append(
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
                            packed=packed,
                            constrain=part.constraint(shape, strategy, judge),
                            labels=shape.labels,
                            passages=shape.passages,
                        )
                    )
    if len(asked.conditions) > MAX_CONDITIONS:
        raise LabError(
            f"Judges, data sets, strategies and factors make {len(asked.conditions):,} "
            f"conditions; the limit is {MAX_CONDITIONS:,}. Use fewer levels, or crossed = false."
        )
    return asked


def _coded(
    items: Sequence[Item], rows: Sequence[int], shared: dict[tuple[Any, ...], int], first: int
) -> list[int]:
    """Return the code of each item in the run.

    An item that another axis has too keeps its code. A new one gets the next, from ``first`` on.
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
    """Return the subjects of a part, and notes on what was left out.

    ``codes``: those of ``items`` in the run. ``score``: that of the reference answer to show.
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
        raise LabError(
            f"[design.vary] reference: no answer of “{shorten(dataset.name)}” has a reference "
            f"answer of score {score}. Give the data a column reference_{score}, or leave the "
            f"level out."
        )
    if len(able) < len(subjects):
        missing = count(len(subjects) - len(able), "answer")
        notes = [
            *notes,
            f"reference = {score}: {missing} left out, without a reference answer of that score.",
        ]
    return able, notes


def _try(part: PlanPart, judge: JudgeSettings) -> None:
    """Make the first orders and prompts of a part, so that errors appear before the first call."""
    for shape, numbers in part.by_shape.items():
        subject = part.subjects[numbers[0]]
        for strategy in part.asked_of(judge, shape):
            orders = list(part.orders(subject, strategy))
            part.prompt(subject, orders[0], judge)
            if len(orders) > MAX_REPEAT:
                raise LabError(
                    f"“{strategy.name}” makes {len(orders):,} calls per item; the limit is "
                    f"{MAX_REPEAT:,}. Use fewer orders or repeats."
                )


def _repeated(
    subjects: Sequence[Subject], wanted: float | None, seed: int
) -> frozenset[int] | None:
    """Return the numbers of the subjects whose orders are repeated, None for all.

    ``wanted``: a share of each task's prompts (below 1), or a number of them. A hash of the seed
    ranks the prompts, so that every setting of the factors repeats the same ones.
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


def _canonical(value: Any) -> str:
    """Return canonical JSON of a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
