"""Tell the user what in a plan may be unexpected: repeats, packing and constraints."""

from collections.abc import Iterable, Iterator, Sequence

from rubriclab.model.constraint import SCHEMA_TOKENS
from rubriclab.model.data import Criterion
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Condition
from rubriclab.model.passing import MOST_LABEL, looks_reversed
from rubriclab.model.text import count, shorten
from rubriclab.study.decisions import packing_of
from rubriclab.study.options import judge_at
from rubriclab.study.parts import REPEATED_SUBJECTS, PlanPart, deterministic

SAMPLED_CALLS = 60
"""About this many calls of a condition with constrained replies are also asked for one free token.
The median of so many probabilities is known to about 6 in 100 of their spread. The calls are drawn
by their keys, over all items and orders.
"""


def notes_on(judge: JudgeSettings, part: PlanPart) -> Iterator[str]:
    """Yield notes on packing and on orders that are not repeated everywhere."""
    if packing_of(judge, part.axis) and not part.design.vary.packing:
        yield (
            f"{judge.name} gets the orders of an answer as questions of one request. To measure "
            f"whether that changes its replies, set "
            f'[design.vary] packing = ["packed", "alone", "reversed"].'
        )
    if part.sample is not None:
        what = "comparison" if part.axis in ("pairs", "lists") else "answer"
        yield (
            f"Each order is repeated only on {len(part.sample):,} of "
            f"{count(len(part.subjects), what)}."
        )
    repeated = [
        each
        for each in part.strategies
        if each.repeats > 1 and each.calls is None and not each.drawn
    ]
    sure = part.sample is None and deterministic(judge_at(judge, part.variant))
    if sure and repeated and len(part.subjects) > REPEATED_SUBJECTS:
        asked = "" if part.asked_again is None else " that are asked"
        yield (
            f"{judge.name} almost always gives the same reply to the same prompt, so each order is "
            f"asked once, and repeated only on the first {count(REPEATED_SUBJECTS, 'answer')}"
            f"{asked} to measure that. To repeat every order, set the strategy's number of calls."
        )


def passing_notes(criteria: Iterable[Criterion]) -> Iterator[str]:
    """Yield a note on each criterion whose lower score looks like the one that passes."""
    for criterion in criteria:
        if looks_reversed(criterion):
            passes, fails = (
                shorten(option.label or str(option.score), MOST_LABEL)
                for option in criterion.options
            )
            yield (
                f"The highest score, {fails}, counts as a pass. If it is the other way round, set "
                f'[reading] passes = "{passes}".'
            )


def constraint_notes(judge: JudgeSettings, conditions: Sequence[Condition]) -> Iterator[str]:
    """Yield notes on what a judge's constraint does not do, and on what it costs."""
    if judge.options.get("constrain") and not judge.older_constraint:
        yield (
            f"{judge.name}: options.constrain works only with vLLM, so it is not sent. Set "
            f"constrain instead."
        )
    if judge.constrain == "free":
        return
    own = [condition for condition in conditions if condition.judge == judge.name]
    left = [condition for condition in own if condition.constrain == "free"]
    if left:
        these = "the replies of this study are" if len(left) == len(own) else "some replies are"
        yield (
            f'{judge.name}: constrain = "{judge.constrain}" works only for replies of one label. '
            f"Here {these} longer, so they are not constrained."
        )
    if len(left) < len(own) and judge.constrain not in judge.about.reports_free:
        yield (
            f"{judge.name}: about {SAMPLED_CALLS} calls of each condition are followed by a "
            f"request for one free token. It measures the probability of the labels without the "
            f"constraint."
        )
    given = judge.max_tokens or SCHEMA_TOKENS
    if judge.constrain == "schema" and given < SCHEMA_TOKENS:
        yield (
            f"{judge.name}: max_tokens is {given}, but a reply in JSON takes up to "
            f"{SCHEMA_TOKENS}, so {SCHEMA_TOKENS} are requested."
        )
