"""One response under all its criteria in one call; the criteria change places."""

from __future__ import annotations

from typing import Any, ClassVar

from rubriclab.model import Arm, Axis, Call, Item, Ordering, Outcome, Reply, Strategy, Study, StudyError, Variant
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.study.prompts.criteria import CRITERIA_TEMPLATE, render_criteria
from rubriclab.study.prompts.names import criteria_names
from rubriclab.study.prompts.outcomes import criteria_outcomes
from rubriclab.study.protocols.base import Prompt, Protocol, Unit, criterion_of


class Criteria(Protocol):
    """A unit is a text with an item for each criterion; its reply has a line for each."""

    axis: ClassVar[Axis] = "criteria"
    title = msg("Criteria")
    about = msg("All criteria in one call; they change places.")
    begun = "Scores:\n[{first}]"
    one_label = False

    def units(self, study: Study) -> tuple[tuple[Unit, ...], tuple[str, ...]]:
        texts: dict[str, list[tuple[int, str]]] = {}
        for i, item in enumerate(study.dataset.items):
            if isinstance(item, Item):
                block = item.block or f"{item.instruction}\0{item.response}"
                texts.setdefault(block, []).append((i, str(item.criterion)))
        units, notes = [], []
        for block, members in texts.items():
            names = tuple(name for _, name in members)
            if len(set(names)) == len(names) > 1:
                units.append(Unit(tuple(i for i, _ in members), names, block))
            else:
                notes.append(
                    tr(
                        "Text “{text}” has {criteria}: left out.",
                        text=block[:60],
                        criteria=many(len(members), "criterion"),
                    )
                )
        if not units:
            raise StudyError(
                tr(
                    "No text has two or more criteria, so there is no criterion order to vary. "
                    "Choose a rubric with several criteria."
                )
            )
        return tuple(units), tuple(notes)

    def shape(self, study: Study, unit: Unit, variant: Variant) -> tuple[tuple[int, ...], int]:
        return criterion_of(study, unit.items[0], variant).scores, len(unit.options)

    def orderings(self, study: Study, arm: Arm, strategy: Strategy, unit: Unit) -> tuple[Ordering, ...]:
        lines = self.lines(arm, strategy, unit, seed=study.design.seed)
        return tuple(Ordering(shown=line) for line in lines)

    def names(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> dict[str, Any]:
        criteria = [criterion_of(study, i, arm.variant) for i in unit.items]
        labels = self.answers(study, arm, unit, ordering)
        return criteria_names(_text(study, unit), criteria, ordering, labels=labels)

    def answers(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> tuple[str, ...]:
        del ordering
        first, *others = (criterion_of(study, i, arm.variant) for i in unit.items)
        if (other := next((c for c in others if c.labels != first.labels), None)) is not None:
            raise StudyError(
                tr(
                    "Criteria “{first}” and “{other}” have different labels; in one call all need the same.",
                    first=first.name,
                    other=other.name,
                )
            )
        return first.labels

    def named(self, unit: Unit) -> tuple[str, ...]:
        return unit.options

    def prompt(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> Prompt:
        text = _text(study, unit)
        by_name = dict(zip(unit.options, unit.items, strict=True))
        as_shown = tuple(by_name[str(name)] for name in ordering.shown)
        if (own := study.prompt_of(arm.variant)) is not None:
            template, messages, reading = self.own_prompt(own, study, arm, unit, ordering)
            return Prompt(template, messages, as_shown, scores=arm.scores, reading=reading)
        criteria = [criterion_of(study, i, arm.variant) for i in unit.items]
        messages = render_criteria(text, criteria, ordering, scale=arm.scores)
        return Prompt(CRITERIA_TEMPLATE, messages, as_shown, scores=arm.scores)

    def parsed(self, call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
        del tie
        return criteria_outcomes(call, reply)


def _text(study: Study, unit: Unit) -> Item:
    text = study.dataset.items[unit.items[0]]
    if not isinstance(text, Item):
        raise StudyError(tr("“{item}” is a comparison: it is not rated under criteria.", item=text.item_id))
    return text
