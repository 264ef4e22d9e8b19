"""Say what a part of a study asks: which orders of which subjects, with which prompt."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rubriclab.model.constraint import Constraint
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Ordering, Reorder
from rubriclab.model.orders import Strategy
from rubriclab.model.study import DesignPart
from rubriclab.study.decisions import asked_of, decision_options, decision_prompt
from rubriclab.study.options import Variant, dealt, judge_at
from rubriclab.study.own_prompt import OwnPrompt
from rubriclab.study.subjects import PROTOCOLS, Prompt, Protocol, Shape, Subject

REPEATED_SUBJECTS = 10
"""Items on which a deterministic judge is asked again, to measure how equal its repeats are."""


def deterministic(judge: JudgeSettings) -> bool:
    """Return whether the same prompt gives the same reply, but for rounding.

    We know this only of the embedded model at temperature 0. Its scores depend a little on how many
    tokens it reads at once: 1 to 3 in 100 change.
    """
    return judge.about.deterministic and judge.temperature == 0


@dataclass(frozen=True)
class PlanPart:
    """The calls about one data set under one rubric, axis and setting of the factors.

    subjects: what one order is about, in the order in which they are asked.
    sample: numbers of the subjects whose orders are asked again; None for all.
    scope: distinguishes its calls from calls with the same words for another data set or axis.
    own: the user's prompt, instead of the lab's.
    asked_again: numbers of the subjects on which a deterministic judge repeats its orders; None for
        the first ones.
    """

    dataset: DataSet
    rubric: Rubric
    design: DesignPart
    variant: Variant
    subjects: tuple[Subject, ...]
    strategies: tuple[Strategy, ...]
    sample: frozenset[int] | None = None
    scope: tuple[str, ...] = ()
    own: OwnPrompt | None = None
    asked_again: frozenset[int] | None = None

    @property
    def axis(self) -> Reorder:
        return self.design.axes[0]

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.axis]

    @property
    def first(self) -> Subject:
        """Return the subject to show first: the one of a pasted prompt, or else the first one."""
        named = self.own.file.item if self.own else ""
        return next(
            (subject for subject in self.subjects if named and subject.text.item_id == named),
            self.subjects[0],
        )

    @cached_property
    def by_shape(self) -> Mapping[Shape, list[int]]:
        """Return the numbers of the subjects of each shape."""
        numbers: dict[Shape, list[int]] = {}
        for number, subject in enumerate(self.subjects):
            numbers.setdefault(subject.shape, []).append(number)
        return numbers

    @cached_property
    def of_item(self) -> Mapping[int, list[Subject]]:
        """Return the subjects of each item, by its code.

        An answer of a batch has two: the batch, and the answer alone.
        """
        out: dict[int, list[Subject]] = {}
        for subject in self.subjects:
            for code in subject.items:
                out.setdefault(code, []).append(subject)
        return out

    def asked(self, shape: Shape) -> list[Strategy]:
        """Return the strategies that apply to subjects of a shape."""
        return self.protocol.strategies(shape, self.strategies)

    def asked_of(self, judge: JudgeSettings, shape: Shape) -> list[Strategy]:
        """Return the strategies that apply to a judge and subjects of a shape."""
        return asked_of(judge, self.axis, shape, self.asked(shape))

    def asked_as(self, strategy: Strategy, judge: JudgeSettings, number: int) -> Strategy:
        """Return the strategy for one subject: with its repeats, or with each order once.

        Orders are repeated on ``sample`` if the study names one. A deterministic judge is asked
        again only about a few subjects. A number of calls that the study sets is kept.
        ``judge``: at the levels of the part's factors.
        """
        if self.sample is not None:
            again = number in self.sample
        elif not deterministic(judge):
            again = True
        elif self.asked_again is None:
            again = number < REPEATED_SUBJECTS
        else:
            again = number in self.asked_again
        return strategy if again or strategy.calls is not None else replace(strategy, repeats=1)

    def planned(self, shape: Shape, strategy: Strategy, judge: JudgeSettings) -> int:
        """Return the number of calls of a condition.

        Subjects of one shape have the same orders, and differ only in how often they are repeated.
        """
        return self.planned_for(self.by_shape[shape], strategy, judge)

    def planned_for(self, numbers: Sequence[int], strategy: Strategy, judge: JudgeSettings) -> int:
        """Return the number of calls about subjects of one shape, given by their numbers."""
        if not numbers:
            return 0
        settings = judge_at(judge, self.variant)
        asked = Counter(self.asked_as(strategy, settings, number) for number in numbers)
        first = self.subjects[numbers[0]]
        return sum(
            subjects * sum(1 for _ in self.orders(first, own)) for own, subjects in asked.items()
        )

    def orders(self, subject: Subject, strategy: Strategy) -> Iterator[Ordering]:
        """Yield the ordering of every call about a subject, with its repeats."""
        seed = self.design.seed
        for ordering in self.protocol.orders(subject, strategy, seed):
            if self.own:
                ordering = self.own.labelled(subject, ordering)
            if self.variant.get("ids") == "shuffled":
                ordering = dealt(ordering, subject.id, seed)
            yield ordering

    def constraint(self, shape: Shape, strategy: Strategy, judge: JudgeSettings) -> Constraint:
        """Return how replies about subjects of a shape are constrained.

        A reply that is more than one label is never constrained.
        """
        subject = self.subjects[self.by_shape[shape][0]]
        prompt = self.prompt(subject, next(iter(self.orders(subject, strategy))), judge)
        return judge.constraint_of(prompt.template) if prompt.labels else "free"

    def prompt(self, subject: Subject, ordering: Ordering, judge: JudgeSettings) -> Prompt:
        """Return what a judge is sent about a subject in an order.

        Raises LabError if a prompt of the user's cannot be rendered.
        """
        if (options := decision_options(judge)) is not None:
            return decision_prompt(self.axis, subject, ordering, self.design, options)
        if self.own:
            return self.own.prompt(subject, ordering)
        return self.protocol.prompt(subject, ordering, self.design)
