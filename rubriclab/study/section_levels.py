"""Compare the orders of the sections that a study varies, before the first call.

Two orders that send the same prompts are refused. Of the others, the plan says which ones let a
server read more.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, shared_beginning
from rubriclab.study.parts import PlanPart
from rubriclab.study.subjects import Subject

LEAST_RATIO = 1.1
"""A server that has less than this much more to read is not worth a note."""


def at_each_order(parts: Sequence[PlanPart]) -> dict[str, PlanPart]:
    """Return the part of each order of the sections, with all other factors at their baselines.

    ``parts``: those of one data set and axis, the baseline first. Empty if the axis has no
    sections.
    """
    base = dict(parts[0].variant)
    if "sections" not in base:
        return {}
    return {
        part.variant["sections"]: part
        for part in parts
        if {**part.variant, "sections": base["sections"]} == base
    }


def check_sections_differ(levels: Sequence[Mapping[str, PlanPart]], judge: JudgeSettings) -> None:
    """Raise LabError for two orders of the sections that send the same prompts everywhere.

    They do if neither the prompt nor the data has a reference answer. ``levels``: what
    ``at_each_order`` returns for each data set and axis.
    """
    order_of: dict[tuple[str, ...], str] = {}
    for order in dict.fromkeys(order for each in levels for order in each):
        sent = tuple(_first_text(each[order], judge) for each in levels if order in each)
        if sent in order_of:
            raise LabError(
                f"[design.vary] sections: “{order_of[sent]}” and “{order}” send the same prompts, "
                f"because no reference answer is shown. Leave one of them out."
            )
        order_of[sent] = order


def _first_text(part: PlanPart, judge: JudgeSettings) -> str:
    """Return the first prompt about the first subject that has a reference answer, if any has."""
    with_reference = (subject for subject in part.subjects if subject.text.reference)
    return next(_texts_sent(part, next(with_reference, part.subjects[0]), judge))


def prefix_notes(levels: Mapping[str, PlanPart], judge: JudgeSettings) -> Iterator[str]:
    """Yield a note for each order of the sections with which a server has more to read.

    A server that caches the beginning of prompts reads a shared beginning once. ``levels``: as
    ``at_each_order`` returns them.
    """
    read = {order: _read_per_subject(part, judge) for order, part in levels.items()}
    known = next(iter(read), "")
    for order in read:
        ratio = read[order] / read[known]
        if ratio >= LEAST_RATIO:
            times = f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
            yield (
                f"sections = {order}: a server that caches the beginning of prompts reads about "
                f"{times} times as many tokens as with “{known}”, because its prompts "
                f"have less of their beginning in common."
            )


def _read_per_subject(part: PlanPart, judge: JudgeSettings) -> int:
    """Return how many characters a server with a cache of prefixes reads for one more subject.

    That is what the prompts of the second subject add to those of the first one. If there is only
    one subject, it is what its own prompts hold.
    """
    texts: list[str] = []
    read = [0]
    for subject in part.subjects[:2]:
        texts += _texts_sent(part, subject, judge)
        read.append(_characters_of_prefixes(texts))
    return read[-1] - read[-2]


def _texts_sent(part: PlanPart, subject: Subject, judge: JudgeSettings) -> Iterator[str]:
    """Yield the prompt of each order of the first strategy, as one text each."""
    strategy = part.asked_of(judge, subject.shape)[0]
    orders = dict.fromkeys(part.orders(subject, strategy))
    for order in orders:
        prompt = part.prompt(subject, order, judge)
        yield "\0".join(message["content"] for message in prompt.messages)


def _characters_of_prefixes(texts: Sequence[str]) -> int:
    """Return the characters of all texts, those of a shared beginning counted once.

    Each text shares most with a neighbour in sorted order.
    """
    ranked = sorted(texts)
    shared = sum(shared_beginning(a, b) for a, b in pairwise(ranked))
    return sum(map(len, ranked)) - shared
