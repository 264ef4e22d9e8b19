"""Say what a part of a study asks: which orders about which subjects, and in what words."""

from collections import Counter
from collections.abc import Iterator, Mapping
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
"""Items on which a deterministic judge is asked its orders again, to show that its repeats are
equal.
"""


def deterministic(judge: JudgeSettings) -> bool:
    """Whether the same prompt gives the same answer: known of the embedded model at temperature 0
    alone.
    """
    return judge.about.deterministic and judge.temperature == 0


@dataclass(frozen=True)
class PlanPart:
    """What is asked alike: a data set under a rubric, an axis and a setting of the factors.

    ``subjects``: what one order is about, in the order in which they are asked about; ``sample``:
    numbers of those whose orders are asked again, None for all; ``scope``: what tells its calls
    from the same words in another data set or axis; ``own``: a prompt of the user's in place of the
    lab's.
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

    @property
    def axis(self) -> Reorder:
        return self.design.axes[0]

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.axis]

    @property
    def first(self) -> Subject:
        """What is shown of it first: what a pasted prompt was sent for, else the first subject."""
        named = self.own.file.item if self.own else ""
        return next(
            (subject for subject in self.subjects if named and subject.text.item_id == named),
            self.subjects[0],
        )

    @cached_property
    def by_shape(self) -> Mapping[Shape, list[int]]:
        numbers: dict[Shape, list[int]] = {}
        for number, subject in enumerate(self.subjects):
            numbers.setdefault(subject.shape, []).append(number)
        return numbers

    @cached_property
    def of_item(self) -> Mapping[int, list[Subject]]:
        """The subjects that an item (by its code) is asked about in: one, or beside others and
        alone.
        """
        out: dict[int, list[Subject]] = {}
        for subject in self.subjects:
            for code in subject.items:
                out.setdefault(code, []).append(subject)
        return out

    def asked(self, shape: Shape) -> list[Strategy]:
        """The strategies under which subjects of a shape are asked."""
        return self.protocol.strategies(shape, self.strategies)

    def asked_of(self, judge: JudgeSettings, shape: Shape) -> list[Strategy]:
        """Those of them under which a judge is asked."""
        return asked_of(judge, self.axis, shape, self.asked(shape))

    def asked_as(self, strategy: Strategy, judge: JudgeSettings, number: int) -> Strategy:
        """The strategy as a judge is asked it about the subject of that number; a number of calls
        that is named stands.

        Each order is asked again on ``sample`` where the study names one, and by a deterministic
        judge on the first subjects alone. ``judge``: with the levels of the part's factors.
        """
        if self.sample is not None:
            again = number in self.sample
        else:
            again = number < REPEATED_SUBJECTS or not deterministic(judge)
        return strategy if again or strategy.calls is not None else replace(strategy, repeats=1)

    def planned(self, shape: Shape, strategy: Strategy, judge: JudgeSettings) -> int:
        """Calls of a condition: those about subjects of one shape differ in the repeats alone."""
        numbers = self.by_shape[shape]
        settings = judge_at(judge, self.variant)
        asked = Counter(self.asked_as(strategy, settings, number) for number in numbers)
        first = self.subjects[numbers[0]]
        return sum(
            subjects * sum(1 for _ in self.orders(first, own)) for own, subjects in asked.items()
        )

    def orders(self, subject: Subject, strategy: Strategy) -> Iterator[Ordering]:
        """The ordering of every call about a subject under a strategy, repeats in."""
        seed = self.design.seed
        for ordering in self.protocol.orders(subject, strategy, seed):
            if self.own:
                ordering = self.own.labelled(subject, ordering)
            if self.variant.get("ids") == "shuffled":
                ordering = dealt(ordering, subject.id, seed)
            yield ordering

    def constraint(self, shape: Shape, strategy: Strategy, judge: JudgeSettings) -> Constraint:
        """How replies to the calls about subjects of a shape are constrained: not where they are
        more than one label.
        """
        subject = self.subjects[self.by_shape[shape][0]]
        prompt = self.prompt(subject, next(iter(self.orders(subject, strategy))), judge)
        return judge.constraint_of(prompt.template) if prompt.labels else "free"

    def prompt(self, subject: Subject, ordering: Ordering, judge: JudgeSettings) -> Prompt:
        """What a judge is sent about a subject in an order. Raises LabError for an own prompt that
        cannot be rendered.
        """
        if (options := decision_options(judge)) is not None:
            return decision_prompt(self.axis, subject, ordering, self.design, options)
        if self.own:
            return self.own.prompt(subject, ordering)
        return self.protocol.prompt(subject, ordering, self.design)
