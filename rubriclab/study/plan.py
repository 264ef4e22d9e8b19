"""A study becomes calls, and replies become judgments.

What is asked and how a reply is read is the protocol's (see ``protocols``); here are the arms,
the order of the calls and their keys. Calls come item by item, all orderings of an item
together, so that a server's prefix cache holds the instruction and the response while the
rubric at the end changes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from rubriclab.datasets.remarks import remarks
from rubriclab.model import (
    Arm,
    Call,
    Item,
    Judgment,
    Ordering,
    Reply,
    Strategy,
    Study,
    StudyError,
    Variant,
    canonical_json,
)
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.model.wording import many
from rubriclab.study.own_prompts import Checked, checked_prompts, prompt_notes
from rubriclab.study.protocols import PROTOCOLS, Prompt, Protocol, Unit
from rubriclab.study.protocols.options import ID_STYLES, score_labels
from rubriclab.study.terms import Terms, call_digest, terms_of

__all__ = ["ID_STYLES", "Plan", "plan", "score_labels", "variants"]

MAX_ARMS = 10_000
MAX_READS = 2**15 - 1
"""Reads times repeats of one item under one arm: the store counts them in 16 bits."""


class _Rendered(NamedTuple):
    """What a unit's reads in one ordering share: its prompt, and the digest that their keys begin with."""

    prompt: Prompt
    messages: tuple[Mapping[str, str], ...]
    digest: hashlib._Hash
    same: str


@dataclass(frozen=True)
class Plan:
    """Every call of a study, in the order in which they are to be asked.

    ``study`` has its data set as it is judged (spread over criteria or paired up).
    ``planned[a]`` counts the calls of arm a. ``notes`` say what was left out and why.
    """

    study: Study
    arms: tuple[Arm, ...]
    planned: tuple[int, ...]
    notes: tuple[str, ...]
    _units: tuple[Unit, ...]

    def __len__(self) -> int:
        return sum(self.planned)

    @property
    def n_units(self) -> int:
        """What one ordering is about: items, texts with all their criteria, comparisons."""
        return len(self._units)

    @property
    def units(self) -> tuple[Unit, ...]:
        """Each of them, in the data's order."""
        return self._units

    def calls(self, judge: int | None = None, *, items: Sequence[int] | None = None) -> Iterator[Call]:
        """All calls (of one judge, by its index): judge, item, variant, strategy, read.

        ``items``: all items (by their index) in another order; what is asked is the same.
        """
        wanted = range(len(self.study.judges)) if judge is None else (judge,)
        place = {item: k for k, item in enumerate(items or ())}
        units = sorted(self._units, key=lambda unit: min(place.get(item, 0) for item in unit.items))
        for code in wanted:
            for unit in units:
                yield from self._unit_calls(code, unit)

    def first_call(self, arm: int) -> Call:
        """The first call of an arm: what a preview shows. Raises StudyError for an empty arm."""
        judge = next(i for i, judge in enumerate(self.study.judges) if judge.name == self.arms[arm].judge)
        for call in self.calls(judge):
            if call.arm == arm:
                return call
        raise StudyError(tr("Arm “{arm}” has no calls: {notes}", arm=self.arms[arm], notes=" ".join(self.notes)))

    def calls_about(self, item: int, *, arm: int) -> tuple[Call, ...]:
        """The calls of an arm that are about an item (by its index), in the order of its reads."""
        judge = next(i for i, judge in enumerate(self.study.judges) if judge.name == self.arms[arm].judge)
        about = (unit for unit in self._units if item in unit.items)
        return tuple(c for unit in about for c in self._unit_calls(judge, unit) if c.arm == arm)

    def find(self, key: str, *, item: int, arm: int) -> Call | None:
        """The call of that key among those about an item; None where there is none (any more)."""
        judge = next(i for i, judge in enumerate(self.study.judges) if judge.name == self.arms[arm].judge)
        for unit in self._units:
            if item in unit.items:
                for call in self._unit_calls(judge, unit):
                    if call.key == key:
                        return call
        return None

    def proofs(self, *prompts: PromptTemplate) -> Iterator[Checked]:
        """What other prompts of one's own would be like on these data (see ``own_prompts``)."""
        return checked_prompts(replace(self.study, prompts=prompts), self.arms, self._units, self.protocol)

    def read(self, call: Call, reply: Reply) -> Judgment:
        """The judgment that a reply amounts to; never raises for what a judge wrote."""
        return Judgment(call, reply, self.protocol.read(call, reply, tie=self.study.design.tie))

    @property
    def protocol(self) -> Protocol:
        """How its judges are asked."""
        return PROTOCOLS[self.study.design.axis]

    def _unit_calls(self, judge: int, unit: Unit) -> Iterator[Call]:
        asked: dict[str, int] = {}
        for arm_code, arm, strategy in self._arms_of(judge, unit):
            terms = terms_of(self.study, judge, arm)
            shown = self.protocol.orderings(self.study, arm, strategy, unit)
            reads = len(shown) * self.study.design.repeats
            # A read repeats an ordering more often than not: each is rendered and hashed once.
            rendered: dict[Ordering, _Rendered | None] = {}
            for read in range(unit.turn * reads, (unit.turn + 1) * reads):
                ordering = shown[read % len(shown)]
                if ordering not in rendered:
                    rendered[ordering] = self._rendered(arm, terms, unit, ordering)
                if (asking := rendered[ordering]) is not None:
                    yield self._call(judge, arm_code, terms, ordering, asking, read, asked)

    def _arms_of(self, judge: int, unit: Unit) -> Iterator[tuple[int, Arm, Strategy]]:
        name = self.study.judges[judge].name
        for code, (arm, strategy) in enumerate(zip(self.arms, self._strategies, strict=True)):
            if arm.judge == name and self.protocol.fits(self.study, arm, unit):
                yield code, arm, strategy

    @property
    def _strategies(self) -> tuple[Strategy, ...]:
        known = {strategy.name: strategy for strategy in self.study.design.strategies}
        return tuple(known[arm.strategy] for arm in self.arms)

    def _rendered(self, arm: Arm, terms: Terms, unit: Unit, ordering: Ordering) -> _Rendered | None:
        prompt = self.protocol.prompt(self.study, arm, unit, ordering)
        if prompt is None:
            return None
        messages = prompt.messages
        if terms.begun:
            begun = terms.begun.replace("{first}", str(ordering.shown[0]))
            messages = (*messages, {"role": "assistant", "content": begun})
        digest = call_digest(terms, prompt.template, messages, unit)
        return _Rendered(prompt, messages, digest, digest.hexdigest())

    def _call(
        self,
        judge: int,
        arm: int,
        terms: Terms,
        ordering: Ordering,
        asking: _Rendered,
        read: int,
        asked: dict[str, int],
    ) -> Call:
        prompt, messages, digest, same = asking
        # The same words asked twice within a study (a fixed order read ten times, a random
        # draw that repeats) are different calls: count them apart.
        repeat = asked.get(same, 0)
        asked[same] = repeat + 1
        digest = digest.copy()
        digest.update(f"|{repeat}{terms.twin}".encode())
        return Call(
            key=digest.hexdigest()[:32],
            judge=judge,
            arm=arm,
            items=prompt.items,
            read=read,
            repeat=repeat,
            ordering=ordering,
            messages=messages,
            template=prompt.template,
            sampling=terms.sampling,
            want_probabilities=terms.probabilities,
            reference=prompt.reference,
            scores=prompt.scores,
            reading=prompt.reading,
        )


def plan(study: Study) -> Plan:
    """All calls of ``study``. Raises StudyError, RubricError or DataError before the first one."""
    _check_sizes(study)
    protocol = PROTOCOLS[study.design.axis]
    study, left_out = protocol.judged(study)
    units, alone = protocol.units(study)
    arms = _arms(study, units)
    draft = Plan(study=study, arms=arms, planned=(0,) * len(arms), notes=(), _units=units)
    planned, unable = _count(draft)
    prompts = prompt_notes(study, arms, units, protocol)
    return replace(
        draft, planned=planned, notes=(*left_out, *alone, *unable, *prompts, *remarks(study.dataset, study.rubric))
    )


# ---------------------------------------------------------------- from study to plan


def _check_sizes(study: Study) -> None:
    """Raises StudyError for numbers no machine has room for, before any room is taken."""
    design = study.design
    if not 1 <= design.repeats <= MAX_READS:
        raise StudyError(
            tr("The design has repeats = {repeats:,}; give 1 to {most:,}.", repeats=design.repeats, most=MAX_READS)
        )
    levels = [len(of) for of in PROTOCOLS[design.axis].factors(design).values() if of]
    variants = math.prod(levels) if design.crossed else 1 + sum(n - 1 for n in levels)
    arms = variants * max(1, len(design.strategies)) * len(study.judges)
    if arms > MAX_ARMS:
        raise StudyError(
            tr(
                "The judges, strategies and factors make {arms}; at most {most:,} can be told apart. Take "
                "fewer levels, or leave the factors uncrossed.",
                arms=many(arms, "arm"),
                most=MAX_ARMS,
            )
        )


def _arms(study: Study, units: Sequence[Unit]) -> tuple[Arm, ...]:
    design = study.design
    if not design.strategies:
        raise StudyError(tr("Study “{name}” has no strategy: choose at least one.", name=study.name))
    names = [strategy.name for strategy in design.strategies]
    if len(set(names)) < len(names):
        raise StudyError(tr("Two strategies share a name in {names}; give each its own name.", names=names))
    settings = []
    for position, variant in enumerate(variants(study)):
        _check_variant(variant)
        everywhere = design.crossed or position == 0
        chosen = design.strategies if everywhere else design.strategies[:1]
        settings.append((variant, chosen, _shapes(study, units, variant)))
    return tuple(
        Arm(
            judge=judge.name,
            dataset=study.dataset.name,
            strategy=strategy.name,
            axis=design.axis,
            scores=scores,
            n_positions=n,
            variant=variant,
            simulated=judge.simulated,
        )
        for judge in study.judges
        for variant, chosen, shapes in settings
        for scores, n in shapes
        for strategy in chosen
    )


def variants(study: Study) -> tuple[Variant, ...]:
    """The study's factor settings: the baseline first (no levels where there are no factors)."""
    varied = PROTOCOLS[study.design.axis].factors(study.design)
    factors = [(name, tuple(levels)) for name, levels in varied.items() if levels]
    if not factors:
        return (Variant(),)
    for name, levels in factors:
        if len({canonical_json(level) for level in levels}) < len(levels):
            raise StudyError(tr("Factor “{name}” lists a level twice: {levels}.", name=name, levels=list(levels)))
    names = [name for name, _ in factors]
    if study.design.crossed:
        grid = product(*(levels for _, levels in factors))
        return tuple(Variant(tuple(zip(names, map(_frozen, row), strict=True))) for row in grid)
    base = [levels[0] for _, levels in factors]
    rows = [list(base)]
    for i, (_, levels) in enumerate(factors):
        rows.extend([*base[:i], level, *base[i + 1 :]] for level in levels[1:])
    return tuple(Variant(tuple(zip(names, map(_frozen, row), strict=True))) for row in rows)


def _frozen(level: Any) -> Any:
    return tuple(level) if isinstance(level, list) else level


def _check_variant(variant: Variant) -> None:
    for name, level in variant.levels:
        if name == "scale" and not (isinstance(level, int) and 2 <= level <= 10):
            raise StudyError(tr("Factor “scale” has the level {level!r}; use whole numbers 2 to 10.", level=level))
        if name == "answer" and level not in ("feedback", "score"):
            raise StudyError(tr("Factor “answer” has the level {level!r}; use feedback or score.", level=level))
        if name == "reference" and not isinstance(level, int):
            raise StudyError(tr("Factor “reference” has the level {level!r}; use 0 for none or a score.", level=level))


def _shapes(study: Study, units: Sequence[Unit], variant: Variant) -> list[tuple[tuple[int, ...], int]]:
    """The distinct (scores, number of positions) that the units of this study have."""
    protocol = PROTOCOLS[study.design.axis]
    shapes = (protocol.shape(study, unit, variant) for unit in units)
    return list(dict.fromkeys(shape for shape in shapes if shape is not None))


def _count(draft: Plan) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Calls per arm, without rendering them, and notes: items lacking a reference are out."""
    study, protocol = draft.study, draft.protocol
    planned = []
    skipped: dict[int, int] = {}
    for arm, strategy in zip(draft.arms, draft._strategies, strict=True):
        reads = protocol.reads(arm, strategy)
        _check_reads(strategy, reads, study.design.repeats)
        fitting = [unit for unit in draft._units if protocol.fits(study, arm, unit)]
        protocol.check(arm, strategy, fitting)
        wanted = arm.variant.get("reference")
        if wanted:
            able = [unit for unit in fitting if _has_reference(study, unit, wanted)]
            if not able:
                raise StudyError(
                    tr(
                        "No item has a reference answer of score {score}. Upload reference answers or write them with a "
                        "judge first, or leave that level out.",
                        score=wanted,
                    )
                )
            skipped[wanted] = len(fitting) - len(able)
            fitting = able
        planned.append(len(fitting) * reads * study.design.repeats)
    return tuple(planned), tuple(
        tr(
            "{items} {items:has|have} no reference answer of score {score} and {items:is|are} left out there.",
            items=many(count, "item"),
            score=score,
        )
        for score, count in skipped.items()
        if count
    )


def _check_reads(strategy: Strategy, reads: int, repeats: int) -> None:
    """Raises StudyError for more reads of an item than can be counted."""
    if reads * repeats > MAX_READS:
        raise StudyError(
            tr(
                "Strategy “{name}” with {reads}, each repeated {repeats:,} times, asks an item {times:,} times; "
                "at most {most:,} can be counted. Lower one of the two.",
                name=strategy.name,
                reads=many(reads, "read"),
                repeats=repeats,
                times=reads * repeats,
                most=MAX_READS,
            )
        )


def _has_reference(study: Study, unit: Unit, score: int) -> bool:
    item = study.dataset.items[unit.items[0]]
    return isinstance(item, Item) and score in item.references
