"""Tell the user what a plan asks otherwise than one might expect: repeats, packing, constraints."""

from collections.abc import Iterator, Sequence

from rubriclab.model.constraint import SCHEMA_TOKENS
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Condition
from rubriclab.model.text import count
from rubriclab.study.decisions import packing_of
from rubriclab.study.options import judge_at
from rubriclab.study.parts import REPEATED_SUBJECTS, PlanPart, deterministic

SAMPLED_CALLS = 60
"""Calls of a condition, about, that are also asked for one free token where replies are
constrained. The median of so many probabilities is known to some 6 in 100 of their spread. They are
drawn by their keys, over all items and orders.
"""


def notes_on(judge: JudgeSettings, part: PlanPart) -> Iterator[str]:
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
