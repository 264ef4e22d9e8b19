"""Send a prompt of the user's own, and check it before the first call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.model.data import Comparison
from rubriclab.model.judgment import Ordering, Reorder
from rubriclab.model.study import PromptFile, Study
from rubriclab.model.text import LabError, shorten
from rubriclab.study.labels import letters, natural_order
from rubriclab.study.options import FACTORS, OWN_AXES
from rubriclab.study.own_answers import asked_format, check_readable, form
from rubriclab.study.placeholders import (
    COMPARISON_NAMES,
    NAMES,
    RUBRIC_NAMES,
    Context,
    comparison_names,
    criteria_names,
    examples_names,
    score_names,
)
from rubriclab.study.prompts import Messages
from rubriclab.study.proof import LISTED, Proof, prove, prove_sections
from rubriclab.study.sections import arranged
from rubriclab.study.subjects import PROTOCOLS, Prompt, Subject, scale_of
from rubriclab.study.template import named, render


@dataclass(frozen=True)
class OwnPrompt:
    """A prompt file on an axis.

    tie: whether one may be given.
    uncut, sections: the file with the marks of its sections, and the order in which ``file`` has
        them; empty where the study gives none.
    """

    file: PromptFile
    axis: Reorder
    tie: bool
    uncut: PromptFile | None = None
    sections: str = ""

    @property
    def chooses(self) -> bool:
        return self.axis in ("pairs", "lists")

    def arranged(self, sections: str) -> "OwnPrompt":
        """Return the prompt as it is sent, with its sections in an order ("": its own).

        Raises LabError if an order is given and the prompt has no sections.
        """
        if self.axis not in FACTORS["sections"]:
            sections = ""
        sent = arranged(self.file, sections.split())
        return replace(self, file=sent, uncut=self.file, sections=sections)

    def labels(self, ordering: Ordering) -> tuple[str, ...]:
        """Return what a verdict may be: for candidates by position, a tie's label last where one
        may be given.
        """
        if not self.chooses:
            return ordering.labels
        n = len(ordering.shown)
        own = self.file.answer.labels or letters(n, tie=True)
        if not n <= len(own) <= n + 1:
            words = (
                f"[answer] labels has {len(own)} of them for {n} candidates; expected {n}, or "
                f"one more for a tie"
            )
            raise LabError(f"Prompt “{shorten(self.file.name)}”: {words}.")
        return own if self.tie else own[:n]

    def verdicts(self, subject: Subject, ordering: Ordering) -> tuple[str, ...]:
        """Return what a verdict may be. Where examples are listed, that is a score of the scale."""
        if self.axis == "examples":
            return scale_of(subject).labels
        return self.labels(ordering)

    def labelled(self, subject: Subject, ordering: Ordering) -> Ordering:
        """Return the ordering with the labels that the prompt shows: its own for candidates, the
        rubric's for a bare scale.
        """
        if self.chooses:
            return Ordering(ordering.shown, self.labels(ordering)[: len(ordering.shown)])
        if self.axis == "bare":
            return PROTOCOLS["options"].ordering(subject, ordering.shown)
        return ordering

    def prompt(self, subject: Subject, ordering: Ordering) -> Prompt:
        """Return what is sent. Raises LabError where the template cannot be rendered."""
        (messages,) = render(self.file, [self.context(subject, ordering)])
        rule = self.file.answer
        alone = rule.read == "label" and not rule.path and self.axis != "criteria"
        labels = natural_order(self.verdicts(subject, ordering)) if alone else ()
        return Prompt(messages, f"own-{rule.read}-{self.axis}.{self.file.id}", labels=labels)

    def answer(self, subject: Subject, ordering: Ordering) -> tuple[str, dict[str, Any]]:
        """Return (what a reply looks like, the fields of a request that hold a server to it)."""
        names = ordering.labels if self.axis == "criteria" else ()
        labels = self.verdicts(subject, ordering)
        if names:
            labels = tuple(map(str, subject.shape.scores))
        return form(self.file.answer, names), asked_format(
            self.file.answer, labels, subject.shape.targets
        )

    def context(self, subject: Subject, ordering: Ordering) -> Context:
        """Return what a template may name, in the order shown, as JSON values.

        ``options[].label``, ``.score``, ``.description``; ``criteria[].name``, ``.description``;
        ``responses[].label``, ``.text``; ``criterion`` where there is one; ``tie``: the label of a
        tie. ``labels`` never change with the order.
        """
        text = subject.text
        if isinstance(text, Comparison):
            return comparison_names(text, ordering, self.labels(ordering))
        criterion = subject.criteria[0]
        if self.axis == "options":
            return score_names(text, criterion, ordering, subject.reference)
        scale = PROTOCOLS["options"].ordering(subject, criterion.scores)
        if self.axis == "examples":
            listed = [subject.examples[int(k) - 1] for k in ordering.shown]
            shown = [(example.text, example.label) for example in listed]
            return examples_names(text, criterion, scale, shown)
        if self.axis == "criteria":
            return criteria_names(text, subject.criteria, ordering, scale)
        return score_names(text, criterion, scale)

    def check(self, subjects: Sequence[Subject], variant: Mapping[str, Any]) -> list[Proof]:
        """Return the proofs that only the order changes, for the first, middle and last subject.

        Raises LabError, before the first call, for a prompt that cannot be rendered or read, and
        for a column that an item lacks.
        """
        words, (names, columns) = f"Prompt “{shorten(self.file.name)}”", named(self.file)
        known = {
            *NAMES,
            LISTED[self.axis],
            *(COMPARISON_NAMES if self.chooses else RUBRIC_NAMES),
        }
        if unknown := sorted(names - known):
            expected = ", ".join(sorted(known - {""}))
            raise LabError(
                f"{words} names “{shorten(unknown[0])}”, which is not known here; expected "
                f"{expected}."
            )
        if "reference" in variant and "reference" not in names | columns:
            cure = "Put it in, or leave the factor out."
            raise LabError(
                f"{words} does not show {{{{ reference }}}}, which [design.vary] changes. {cure}"
            )
        protocol, made = PROTOCOLS["options" if self.axis == "bare" else self.axis], []
        for number, subject in enumerate(subjects):
            if columns:
                given = self.context(subject, protocol.ordering(subject, subject.options))["item"]
                if missing := sorted(columns - given.keys()):
                    has = ", ".join(shorten(name, 30) for name in given)
                    who = shorten(subject.text.item_id)
                    raise LabError(f"{words}: “{who}” has no column {missing[0]}; it has {has}.")
            named_item = subject.text.item_id == self.file.item
            if number not in (0, len(subjects) // 2, len(subjects) - 1) and not named_item:
                continue
            line: tuple[Any, ...] = subject.options
            lines = dict.fromkeys(
                [line, line[::-1], (*line[1:], line[0]), (*line[1::2], *line[::2])]
            )
            orderings = [
                self.labelled(subject, protocol.ordering(subject, order)) for order in lines
            ]
            if self.axis != "criteria":
                check_readable(
                    self.file,
                    self.verdicts(subject, orderings[0]),
                    chooses=self.chooses,
                    tie=self.tie,
                )
            contexts = [self.context(subject, ordering) for ordering in orderings]
            if self.uncut is not None and self.sections:
                prove_sections(self.uncut, self.sections, LISTED[self.axis], contexts)
            if self.axis == "bare":
                render(self.file, contexts[:1])
            else:
                made.append(prove(self.file, self.axis, subject.text.item_id, orderings, contexts))
        return sorted(made, key=lambda proof: proof.item != self.file.item)

    def check_signs(self, subject: Subject, messages: Messages, others: Messages) -> None:
        """Raise LabError where two orders of one subject hold different characters.

        The proof looks at three subjects. This is cheap enough for every call.
        """
        for number, (mine, other) in enumerate(zip(messages, others, strict=True), 1):
            if sorted(mine["content"]) != sorted(other["content"]):
                words = (
                    "more than the order changes. Take out what depends on the position or on "
                    "this item."
                )
                spot = f"message {number}: for item “{shorten(subject.text.item_id)}”"
                raise LabError(f"Prompt “{shorten(self.file.name)}”, {spot} {words}")


def own_prompts(study: Study) -> dict[tuple[Reorder, str], OwnPrompt]:
    """Return the study's own prompts by axis and name.

    Raises LabError where they have not been read, or do not fit the axes or the factor.
    """
    files = study.prompt.templates if study.prompt else ()
    if study.prompt is not None and not files:
        raise LabError(
            "The study's own prompt has not been read yet: give the file that [prompt] names."
        )
    if study.design.vary.prompt != (tuple(file.name for file in files) if len(files) > 1 else ()):
        raise LabError(
            "[design.vary] prompt is filled in by the lab; name the files in [prompt] and leave it "
            "out."
        )
    if files and study.design.alone:
        raise LabError(
            "[design] alone asks each criterion in the lab's own wording, so that the calls differ "
            "in nothing else. Leave out alone, or [prompt]."
        )
    other = [axis for axis in study.design.axes if axis not in OWN_AXES]
    if files and other:
        raise LabError(
            f"[prompt] cannot list {other[0]}; it is for reorder = {', '.join(OWN_AXES)}."
        )
    axes, tie = study.design.axes if files else (), study.design.tie
    return {(axis, file.name): OwnPrompt(file, axis, tie) for axis in axes for file in files}
