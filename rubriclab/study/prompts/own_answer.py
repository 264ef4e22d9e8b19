"""What a reply to a user's own prompt says: the label at the place where its rule finds the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rubriclab.model import StudyError
from rubriclab.model.answers import CRITERION, NoAnswer, Spot, answer_spot, compose, first_group, label_index
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerRule, PromptTemplate, Reading
from rubriclab.study.prompts.criteria import name_key

TIES = ("tie", "draw", "=")


class OwnAnswer(NamedTuple):
    """The index of the label that was answered, or None and why not; ``spot``: where it stands."""

    index: int | None  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    why: str
    spot: Spot | None


def read_answer(text: str, reading: Reading, *, criterion: str = "") -> OwnAnswer:
    """Which of ``reading.labels`` the reply gives. Strict: what is not a label is not read."""
    spot = answer_spot(text, reading, criterion=criterion)
    if isinstance(spot, NoAnswer):
        return OwnAnswer(None, spot.why, None)
    index = label_index(spot.text, reading.labels)
    return OwnAnswer(index, "read" if index is not None else "not a label", spot)


def is_tie(own: OwnAnswer) -> bool:
    """Whether a reply that gives no label says at the place of its answer that it is a tie."""
    return own.index is None and own.spot is not None and own.spot.text.strip().casefold() in TIES


def read_line(text: str, reading: Reading, criterion: str) -> OwnAnswer:
    """The last label in the last line that begins with the criterion's name, as “[Clarity] good”."""
    key, read = name_key(criterion), None
    for line in text.splitlines():
        bare = re.sub(r"^\W*(?:\d+\W+)?", "", line)
        cut = next((i for i in range(len(bare) + 1) if name_key(bare[:i]) == key), None)
        if cut is not None and not bare[cut : cut + 1].isalnum():
            read = read_answer(bare[cut:], Reading(AnswerRule("last_label"), reading.labels))
    return read or OwnAnswer(None, "missing", None)


def check_readable(template: PromptTemplate, labels: Sequence[str], criteria: Sequence[str] = ()) -> None:
    """Raises StudyError for a label that could not be read back from its own answer.

    ``criteria``: those that are answered in one reply; none where one label is the answer.
    """
    rule = template.answer
    reading = Reading(rule, tuple(labels))
    for label in labels:
        if rule.read == "regex":
            _check_group(template, label)
            continue
        said = dict.fromkeys(criteria or ("",), label)
        text = compose(rule, said) or ""
        for name in said:
            read = read_criterion(text, reading, name) if name else read_answer(text, reading)
            if read.index is None or labels[read.index] != label:
                given = tr(" (read as “{label}”)", label=labels[read.index]) if read.index is not None else ""
                raise StudyError(
                    tr(
                        "Prompt “{name}”, answer: the label “{label}” cannot be read back from the answer "
                        "{text!r}{given}. Choose other labels, or another way to read the answer.",
                        name=template.name,
                        label=label,
                        text=text[:80],
                        given=given,
                    )
                )


def read_criterion(text: str, reading: Reading, criterion: str) -> OwnAnswer:
    """What a reply about several criteria says of one. JSON without ``{criterion}`` in its path holds
    it by name there; labels stand on a line each, behind the name."""
    rule = reading.rule
    if rule.read in ("label", "last_label"):
        return read_line(text, reading, criterion)
    if rule.read == "json" and CRITERION not in rule.path:
        reading = Reading(AnswerRule("json", f"{rule.path}.{CRITERION}"), reading.labels)
    return read_answer(text, reading, criterion=criterion)


def _check_group(template: PromptTemplate, label: str) -> None:
    """A pattern cannot be turned into an answer; but what stands in its group has to match the label."""
    pattern = template.answer.pattern
    place = first_group(pattern)
    group = pattern if place is None else re.sub(r"^\?P<\w+>", "", pattern[place[0] + 1 : place[1] - 1])
    try:
        matches = re.fullmatch(group, label, re.IGNORECASE) if place else re.search(group, label, re.IGNORECASE)
    except re.error:  # it refers to something outside of the group
        return
    if matches is None:
        raise StudyError(
            tr(
                "Prompt “{name}”, answer: the pattern {group!r} cannot match the label “{label}”, so no reply "
                "could give it. Widen the pattern, or choose other labels.",
                name=template.name,
                group=group,
                label=label,
            )
        )
