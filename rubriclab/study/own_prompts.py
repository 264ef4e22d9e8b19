"""A study's own prompts, checked before the first call: they can be rendered, only the order changes,
and every label can be read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rubriclab.model import Arm, Comparison, Item, Ordering, Strategy, Study, StudyError
from rubriclab.model.answers import answer_words
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.study.prompts.names import columns_of
from rubriclab.study.prompts.own_answer import check_readable
from rubriclab.study.prompts.proof import Messages, Proof, prove
from rubriclab.study.prompts.template import asked_columns, asked_names, check_names
from rubriclab.study.protocols import Protocol, Unit


@dataclass(frozen=True)
class Checked:
    """A prompt on one thing: the proof, and the id of the item or comparison that was rendered."""

    template: PromptTemplate
    item_id: str
    proof: Proof


def checked_prompts(study: Study, arms: Sequence[Arm], units: Sequence[Unit], protocol: Protocol) -> Iterator[Checked]:
    """Every own prompt on the first, the middle and the last thing it is asked about, for each setting.

    Raises StudyError for a prompt that cannot be rendered or whose answers cannot be read back.
    """
    seen = set()
    for arm in arms:
        template = study.prompt_of(arm.variant)
        setting = (arm.variant, arm.scores, arm.n_positions)
        if template is None or setting in seen or arm.n_positions == 1:  # alone, nothing changes places
            continue
        seen.add(setting)
        check_names(template, arm.axis)
        fitting = [unit for unit in units if protocol.fits(study, arm, unit)]
        for unit in _some(study, template, fitting):
            yield _checked(study, template, arm, unit, protocol)


def prompt_notes(study: Study, arms: Sequence[Arm], units: Sequence[Unit], protocol: Protocol) -> tuple[str, ...]:
    """Which prompts are sent, and what is to be known of them. Raises StudyError for one that must not be sent."""
    if not study.prompts:
        return ()
    if "answer" in study.design.factors:
        raise StudyError(
            tr(
                "Factor “answer” chooses among the lab's own prompts, and this study has prompts of its own. "
                "Leave the factor out, or name several files in the factor “prompt”."
            )
        )
    if "reference" in study.design.factors:
        for prompt in study.prompts:
            if "reference" not in asked_names(prompt):
                raise StudyError(
                    tr(
                        "Factor “reference” changes what a prompt shows as reference, and prompt “{name}” does not name "
                        "it. Leave the factor out, or write {{{{ reference }}}} where it is to stand.",
                        name=prompt.name,
                    )
                )
    warnings: dict[str, None] = {}
    for prompt in study.prompts:
        how = answer_words(prompt.answer)
        warnings[tr("Prompt “{name}” is sent; its answer is read as {how}.", name=prompt.name, how=how)] = None
    for checked in checked_prompts(study, arms, units, protocol):
        name = checked.template.name
        if checked.proof.faults:
            raise StudyError(
                tr(
                    "Prompt “{name}”, {fault} (“rubriclab prompt check” shows two renderings side by side.)",
                    name=name,
                    fault=checked.proof.faults[0],
                )
            )
        warnings |= dict.fromkeys(
            tr("Prompt “{name}”, {warning}", name=name, warning=warning) for warning in checked.proof.warnings
        )
    return tuple(warnings)


def _checked(study: Study, template: PromptTemplate, arm: Arm, unit: Unit, protocol: Protocol) -> Checked:
    item = study.dataset.items[unit.items[0]]
    orderings = _orderings(study, arm, unit, protocol)
    labels = protocol.answers(study, arm, unit, orderings[0])
    check_readable(replace(template, answer=protocol.rule(template.answer)), labels, protocol.named(unit))
    try:
        proof = prove(template, arm.axis, orderings, lambda ordering: protocol.names(study, arm, unit, ordering))
    except StudyError as fault:
        raise StudyError(f"{fault} (item “{item.item_id}”)") from fault
    unnamed = _unnamed_place(template, proof.one)
    return Checked(template, item.item_id, replace(proof, warnings=(*proof.warnings, *unnamed)))


def _orderings(study: Study, arm: Arm, unit: Unit, protocol: Protocol) -> tuple[Ordering, ...]:
    """The usual order, the reverse, a rotation and one that is neither; labels stay with what they name."""
    usual: tuple[int | str, ...] = protocol.lines(arm, Strategy("fixed", reads=1), unit)[0]
    mixed = (*usual[1::2], *usual[::2])
    lines = tuple(dict.fromkeys((usual, usual[::-1], (*usual[1:], usual[0]), mixed)))
    still = replace(study, design=replace(study.design, shuffle_ids=False))
    return protocol.orderings(still, arm, Strategy("custom", orderings=lines), unit)


def _some(study: Study, template: PromptTemplate, units: Sequence[Unit]) -> list[Unit]:
    """The first, the middle and the last, and one for each column that some items lack."""
    chosen = [units[0], units[len(units) // 2], units[-1]] if units else []
    for column in asked_columns(template):
        lacking = (unit for unit in units if column not in columns_of(_item(study, unit)).names)
        chosen = [unit for unit in (next(lacking, None),) if unit is not None] + chosen
    return list({unit.id: unit for unit in chosen}.values())


def _item(study: Study, unit: Unit) -> Item | Comparison:
    return study.dataset.items[unit.items[0]]


def _unnamed_place(template: PromptTemplate, messages: Messages) -> list[str]:
    """A warning where the prompt never names what its answer is looked for by."""
    rule = template.answer
    wanted = rule.path.split(".")[-1] if rule.read == "json" else rule.tag
    if not wanted or "{" in wanted or any(wanted.casefold() in m["content"].casefold() for m in messages):
        return []
    what = tr("“{path}” of its JSON", path=rule.path) if rule.read == "json" else tr("the tag “{tag}”", tag=rule.tag)
    return [
        tr(
            "answer: it is read at {what}, and the prompt never names “{wanted}”: perhaps no reply has it.",
            what=what,
            wanted=wanted,
        )
    ]
