"""One response under one criterion a call; the score options change places."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from rubriclab.model import (
    Arm,
    Axis,
    Call,
    Criterion,
    Item,
    Ordering,
    Outcome,
    Reply,
    Strategy,
    Study,
    StudyError,
    Variant,
    designs,
)
from rubriclab.model.language import msg, tr
from rubriclab.study.prompts.names import fixed_order, option_names
from rubriclab.study.prompts.outcomes import option_outcome
from rubriclab.study.prompts.rubric import render_rubric, template_name
from rubriclab.study.prompts.template import asked_names
from rubriclab.study.protocols.base import Prompt, Protocol, Unit, answer_of, criterion_of

ID_STYLES = ("arabic", "letters", "roman")
USUAL_ORDER = "usual_order"
"""A column of the data that says in which order an item's scores are usually shown, as “3 1 2”: the order from
which its others are made, in place of the ascending one."""


class Options(Protocol):
    """A unit is an item, and a position shows one of its criterion's scores under a label."""

    axis: ClassVar[Axis] = "options"
    title = msg("Score options")
    about = msg("One criterion a call; the scores 1 to n change places.")
    settings = frozenset({"answer", "shuffle_ids", "scale", "ids", "reference"})
    begun = "The score is "

    def units(self, study: Study) -> tuple[tuple[Unit, ...], tuple[str, ...]]:
        units = (
            Unit((i,), tuple(item.columns.get(USUAL_ORDER, "").split()), item.item_id)
            for i, item in enumerate(study.dataset.items)
            if isinstance(item, Item)
        )
        return tuple(units), ()

    def lines(
        self, arm: Arm, strategy: Strategy, unit: Unit, *, seed: int = 0
    ) -> tuple[tuple[int, ...], ...] | tuple[tuple[str, ...], ...]:
        by_text = {str(score): score for score in arm.scores}
        usual = tuple(by_text[text] for text in unit.options if text in by_text)
        fits = sorted(usual) == sorted(arm.scores) and len(usual) == len(unit.options)
        return designs.orderings(strategy, usual if fits else arm.scores, seed=seed, item_id=unit.id)

    def shape(self, study: Study, unit: Unit, variant: Variant) -> tuple[tuple[int, ...], int]:
        scores = criterion_of(study, unit.items[0], variant).scores
        return scores, len(scores)

    def check(self, arm: Arm, strategy: Strategy, units: Sequence[Unit]) -> None:
        super().check(arm, strategy, units)
        if (ids := arm.variant.get("ids")) is not None:
            score_labels(arm.scores, ids)

    def orderings(self, study: Study, arm: Arm, strategy: Strategy, unit: Unit) -> tuple[Ordering, ...]:
        design = study.design
        by_score = _by_score(study, arm, unit)
        # To seed a generator takes longer than all else here.
        rng = random.Random(f"{design.seed}|ids|{unit.id}") if design.shuffle_ids else None
        shown = []
        for line in self.lines(arm, strategy, unit, seed=design.seed):
            dealt = rng.sample(by_score, len(by_score)) if rng is not None else by_score
            label: dict[int | str, str] = dict(zip(arm.scores, dealt, strict=True))
            shown.append(Ordering(shown=line, labels=tuple(label[s] for s in line)))
        return tuple(shown)

    def prompt(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> Prompt | None:
        item = _item(study, unit)
        wanted = arm.variant.get("reference")
        if wanted and wanted not in item.references:
            return None
        criterion = criterion_of(study, unit.items[0], arm.variant)
        reference = _reference(study, arm, item, criterion)
        if (own := study.prompt_of(arm.variant)) is not None:
            template, messages, reading = self.own_prompt(own, study, arm, unit, ordering)
            return Prompt(template, messages, unit.items, reference=reference, reading=reading)
        answer = answer_of(study, arm.variant)
        messages = render_rubric(item, criterion, ordering, answer=answer, reference_score=reference)
        return Prompt(template_name(answer), messages, unit.items, reference=reference)

    def names(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> dict[str, Any]:
        item, criterion = _item(study, unit), criterion_of(study, unit.items[0], arm.variant)
        reference, labels = _reference(study, arm, item, criterion), self.answers(study, arm, unit, ordering)
        return option_names(item, criterion, ordering, reference=reference, labels=labels)

    def answers(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> tuple[str, ...]:
        del arm, unit
        return fixed_order(ordering, dealt=study.design.shuffle_ids)

    def parsed(self, call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
        del tie
        return (option_outcome(call, reply),)


def _item(study: Study, unit: Unit) -> Item:
    item = study.dataset.items[unit.items[0]]
    if not isinstance(item, Item):
        raise StudyError(tr("“{item}” is a comparison: it has no score options.", item=item.item_id))
    return item


def _reference(study: Study, arm: Arm, item: Item, criterion: Criterion) -> int | None:
    """The score of the reference answer that is shown, None for none: of an own prompt, if it names one."""
    own = study.prompt_of(arm.variant)
    if own is not None and "reference" not in asked_names(own):
        return None
    wanted: int | None = arm.variant.get("reference")
    best = max(criterion.scores)
    if wanted is None and study.design.show_reference and best in item.references:
        wanted = best
    return wanted or None


def _by_score(study: Study, arm: Arm, unit: Unit) -> tuple[str, ...]:
    """The label of each score, lowest first: the factor's, else the rubric's own."""
    ids = arm.variant.get("ids")
    return criterion_of(study, unit.items[0], arm.variant).labels if ids is None else score_labels(arm.scores, ids)


def score_labels(scores: Sequence[int], ids: str | Sequence[str]) -> tuple[str, ...]:
    """The label of each score, lowest score first.

    ``letters`` are graded as at school, so the highest score is A (method: section 6).
    Raises StudyError for an unknown style or a list of the wrong length.
    """
    n = len(scores)
    if ids == "arabic":
        return tuple(map(str, scores))
    if ids == "letters":
        return tuple(chr(ord("A") + n - 1 - rank) for rank in range(n))
    if ids == "roman":
        return ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")[:n]
    if isinstance(ids, str):
        raise StudyError(
            tr(
                "Score IDs “{ids}” are not known; use one of {styles} or a list of labels.",
                ids=ids,
                styles=", ".join(ID_STYLES),
            )
        )
    labels = tuple(map(str, ids))
    if len(labels) != n or len({label.casefold() for label in labels}) != n:
        raise StudyError(
            tr(
                "Score IDs {labels} do not fit {n} scores; give {n} different labels, lowest score first.",
                labels=list(labels),
                n=n,
            )
        )
    return labels
