"""What comes of a study: calls, replies, outcomes, judgments, and a run's judgments as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from rubriclab.model.faults import LabError
from rubriclab.model.language import tr
from rubriclab.model.option_sets import named_by_set
from rubriclab.model.prompt import Reading
from rubriclab.model.study import SMALLEST_EFFECT, Arm, Ordering, Sampling, UnitChoice
from rubriclab.model.wording import many

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Status = Literal["ok", "unparsed", "refused", "truncated", "error"]
STATUSES: tuple[Status, ...] = ("ok", "unparsed", "refused", "truncated", "error")

EPSILON = 0.15
"""What a judge's being cheaper than an annotator is worth where nobody says: that of a skilled annotator
(Calderon, Reichart and Dror 2025, section 3.3: 0.2 for experts, 0.1 for crowd workers)."""
WRITE_TEMPLATE, REVIEW_TEMPLATE = "reference-write.v1", "reference-review.v1"
"""Templates of calls that ask for a reference answer, and for the score of one."""


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a judge. ``items`` has one index, or one per criterion (or response) shown.

    ``reference``: the score of the reference answer that is shown, None without one.
    ``scores``: the scale that the criteria (or responses) of one call are rated on; empty elsewhere.
    ``reading``: how the reply to a user's own prompt is read; None for the lab's prompts.
    """

    key: str
    judge: int
    arm: int
    items: tuple[int, ...]
    read: int
    repeat: int
    ordering: Ordering
    messages: tuple[Mapping[str, str], ...]
    template: str
    sampling: Sampling
    want_probabilities: bool = False
    reference: int | None = None
    scores: tuple[int, ...] = ()
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from a judge, or why nothing did; not parsed yet.

    ``top_tokens``: (token text, log-probability) pairs at the first answer token.
    ``kind``: for errors, one of the kinds in ``judges.faults``; ``retryable`` says whether
    asking again can help, ``retry_after`` how many seconds the server asked to be left alone.
    ``note``: what had to be changed to keep the reply (see ``storable``), or the record of a log that it is from.
    """

    text: str = ""
    finish: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached_tokens: int | None = None
    latency: float = 0.0
    top_tokens: tuple[tuple[str, float], ...] = ()
    model: str | None = None
    error: str | None = None
    kind: str | None = None
    retryable: bool = False
    attempts: int = 1
    retry_after: float | None = None
    note: str | None = None


MOSTLY = 0.5
"""Probability on all labels together, below which what they share out is hardly the judge's answer: of one that says "1"
for A, B or a tie, with a third on the letters, the likeliest letter is not what it said."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one item got out of a reply. ``position`` is 1-based; 0 is a tie; None unread.

    ``probabilities[p]`` is the probability of the option shown at position p+1,
    renormalised over the labels; ``mass`` is what fell on the labels before that.
    """

    item: int
    status: Status
    score: int | None = None
    position: int | None = None
    probabilities: tuple[float, ...] | None = None
    mass: float | None = None
    expected: float | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Judgment:
    """One call and all that came of it: the unit the store keeps."""

    call: Call
    reply: Reply
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A judge that was taken out of a run: how many of its calls were judged by then, and why it went.

    What it judged stays in the run and in its findings: whoever drops a judge may have seen them.
    """

    judge: str
    done: int
    planned: int
    reason: str = ""

    def __str__(self) -> str:
        reason = tr(" Its reason: {reason}", reason=self.reason) if self.reason else ""
        kept = tr(" What it judged stays in the findings.") if self.done else ""
        return tr(
            "The judge {judge} was dropped from this run after {done:,} of its {calls} and is asked nothing "
            "more.{kept}{reason}",
            judge=self.judge,
            done=self.done,
            calls=many(self.planned, "call"),
            kept=kept,
            reason=reason,
        )


@dataclass(frozen=True)
class RunData:
    """A run's judgments as arrays: what every finding starts from.

    ``items``: one row per item, its index the item code: item_id, dataset, criterion,
    block, prompt, candidate, task (category or None), human (mean rating, NaN where none),
    raters (tuple of ratings), rater_names (tuple of str, one a rating; empty where they have none),
    n_chars, candidates (tuple, comparisons only), candidate_chars (what each of them wrote, in
    characters; where known).

    ``judgments``: one row per judgment and item: arm, item, ordering (codes into ``arms``,
    ``items``, ``orderings``), read, repeat, call (code shared by rows of one call), status
    (code into STATUSES), score (float, NaN unread), position (0 tie, -1 unread), expected,
    mass (NaN where the judge gave no probabilities).

    ``probabilities``: (rows, max n) or None; NaN where not given. ``smallest_effect`` (in steps of
    the scale) and ``unit``: how it is read, as the study's design says. ``epsilon``: what a judge's being
    cheaper than an annotator is worth, as a share of items; ``cut``: the lowest score that passes, None for
    the middle of the scale. ``dropped``: judges that were taken out of the run, of which ``planned`` counts
    no more than they were asked. ``usage``: totals over the replies of each arm (arm, calls, tokens_in,
    tokens_out, seconds); None where nobody kept or asked for them.
    """

    run: str
    name: str
    arms: tuple[Arm, ...]
    items: pd.DataFrame
    orderings: tuple[Ordering, ...]
    judgments: pd.DataFrame
    probabilities: np.ndarray | None = None
    planned: tuple[int, ...] = ()
    simulated: bool = False
    smallest_effect: float = SMALLEST_EFFECT
    unit: UnitChoice = "auto"
    epsilon: float = EPSILON
    cut: float | None = None
    dropped: tuple[Dropped, ...] = ()
    usage: pd.DataFrame | None = None

    @cached_property
    def unanswered(self) -> int:
        """Calls that were planned and have no final reply yet; 0 for a finished run.

        Every verdict asks for it, so the judgments are counted once.
        """
        if not self.planned:
            return 0
        return max(sum(self.planned) - self.calls_done, 0)

    @cached_property
    def calls_done(self) -> int:
        """Calls that have a final reply; the rows of one may lie apart."""
        call = self.judgments["call"].to_numpy()
        if bool((call[1:] >= call[:-1]).all()):  # as a store gives them: nothing is sorted or hashed
            return int((call[1:] > call[:-1]).sum()) + min(len(call), 1)
        return int(self.judgments["call"].nunique())

    @cached_property
    def readable_arms(self) -> frozenset[int]:
        """The codes of the arms that have a readable judgment."""
        readable = self.judgments["status"] == STATUSES.index("ok")
        return frozenset(self.judgments["arm"][readable].unique().tolist())

    def read_as(
        self,
        smallest_effect: float | None = None,
        unit: UnitChoice | None = None,
        epsilon: float | None = None,
        cut: float | None = None,
    ) -> RunData:
        """The same judgments under another smallest effect of interest, unit, epsilon or cut; None keeps it.

        Raises LabError for an effect outside (0, 10] steps of the scale, for no such unit, for an
        epsilon outside [0, 0.5], and for a cut that is no finite number.
        """
        size = self.smallest_effect if smallest_effect is None else smallest_effect
        kind = self.unit if unit is None else unit
        if not 0 < size <= 10:
            raise LabError(
                tr(
                    "The smallest effect of interest is {size!r}; expected a number above 0, at most 10: steps of "
                    "the scale, as 0.1.",
                    size=size,
                )
            )
        if kind not in get_args(UnitChoice):
            raise LabError(tr("Unit “{unit}” is not one of {known}.", unit=kind, known=", ".join(get_args(UnitChoice))))
        worth = self.epsilon if epsilon is None else epsilon
        if not 0 <= worth <= 0.5:
            raise LabError(
                tr(
                    "Epsilon is {worth!r}; expected 0 to 0.5: 0.2 for experts, 0.15, 0.1 for crowd workers.",
                    worth=worth,
                )
            )
        at = self.cut if cut is None else cut
        if at is not None and not math.isfinite(at):
            raise LabError(tr("The cut is {at!r}; expected the lowest score that passes, as 4.", at=at))
        return replace(self, smallest_effect=size, unit=kind, epsilon=worth, cut=at)

    def sets_named(self) -> RunData:
        """The same judgments; where a judge has several scales in one setting, each arm's data set says which."""
        arms = named_by_set(self.arms)
        return self if arms is self.arms else replace(self, arms=arms)

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the run's judges in its order, which gives each its colour on every page."""
        return tuple(dict.fromkeys(arm.judge for arm in self.arms))

    def by_arm(self) -> Iterator[tuple[int, Arm, pd.DataFrame]]:
        """(code, arm, its rows of ``judgments`` in their order) of every arm; not to be written."""
        of = self.judgments["arm"].to_numpy()
        rows = self.judgments
        if not bool((of[1:] >= of[:-1]).all()):
            order = of.argsort(kind="stable")
            of, rows = of[order], rows.iloc[order]
        # Arms lie one after the other now, so each is a slice, which copies nothing.
        cuts = of.searchsorted(range(len(self.arms) + 1))
        for code, arm in enumerate(self.arms):
            yield code, arm, rows.iloc[cuts[code] : cuts[code + 1]]
