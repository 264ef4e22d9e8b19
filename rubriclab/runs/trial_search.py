"""The search of a trial for the orders that give the highest and the lowest score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.findings.reads import Read, reads_of
from rubriclab.model import Call, Judgment
from rubriclab.stats.inference import Ints
from rubriclab.stats.search import next_choice, next_mean
from rubriclab.store import Store
from rubriclab.study.plan import Plan

MOST_READS = 100_000  # more judgments than any trial has


class ExtremeSearch:
    """An agenda: for the highest and the lowest score in turn, the order that promises most.

    ``known``: (judge, order) -> what the reads that there are said.
    """

    def __init__(self, prepared: Plan, calls: int, *, known: Mapping[Asked, Observed]) -> None:
        self._plan, self._calls = prepared, calls
        self._known = dict(known)

    def heard(self, judgment: Judgment) -> None:
        call = judgment.call
        scores = [outcome.score for outcome in judgment.outcomes]
        chances = judgment.outcomes[0].probabilities
        self._known[call.judge, call.ordering.shown] = Observed.of(scores, chances)

    def calls(self, judge: int) -> Iterator[Call]:
        listed = {call.ordering.shown: call for call in reversed(list(self._plan.calls(judge)))}
        every = list(reversed(listed.values()))  # the control stands in the list a second time
        options = list(every[0].ordering.shown)  # a trial's list begins with the usual order
        codes = {option: i for i, option in enumerate(options)}
        rows = np.array([[codes[option] for option in call.ordering.shown] for call in every])
        asked = {i for i, call in enumerate(every) if (judge, call.ordering.shown) in self._known}
        pick = self._next_score if self._plan.protocol.one_label else self._next_mean
        for turn in range(self._calls):
            left = [i for i in range(len(every)) if i not in asked]
            observed = [
                (i, read)
                for i, call in enumerate(every)
                if (read := self._known.get((judge, call.ordering.shown))) is not None and read.scores
            ]
            row = pick(rows, left, observed, options, highest=turn % 2 == 0) if left else None
            if row is None:
                return
            asked.add(row)
            yield every[row]

    @staticmethod
    def _next_score(
        rows: Ints, left: list[int], observed: list[tuple[int, Observed]], options: list[Any], *, highest: bool
    ) -> int | None:
        """The order to ask next; None once both ends of the scale have been given."""
        if not observed:
            return left[0]
        chosen = [options.index(read.scores[0]) for _, read in observed]
        low, high = min(chosen), max(chosen)
        if low == 0 and high == len(options) - 1:
            return None
        highest = low == 0 or (highest and high < len(options) - 1)
        target = np.eye(len(options))[chosen]
        for k, (row, read) in enumerate(observed):
            if read.chances is not None:
                target[k, rows[row]] = read.chances
        places = np.argsort(rows, axis=1)
        seen = places[[row for row, _ in observed]]
        best = high if highest else low
        return left[next_choice(seen, target, places[left], best=best, highest=highest)]

    @staticmethod
    def _next_mean(
        rows: Ints, left: list[int], observed: list[tuple[int, Observed]], options: list[Any], *, highest: bool
    ) -> int | None:
        """The order of criteria to ask next, by the mean score over as many criteria as any read."""
        most = max((len(read.scores) for _, read in observed), default=0)
        whole = [(row, read) for row, read in observed if len(read.scores) == most]
        if not whole or len(options) < 2:
            return left[0]
        values = np.array([sum(read.scores) / most for _, read in whole])
        return left[next_mean(rows[[row for row, _ in whole]], values, rows[left], highest=highest)]


Asked = tuple[int, tuple[Any, ...]]
"""A judge's index and an order as it was shown."""


@dataclass(frozen=True)
class Observed:
    """What one call said: its scores (none where it was unread) and chances by position, if any."""

    scores: tuple[int, ...]
    chances: tuple[float, ...] | None

    @classmethod
    def of(cls, scores: Sequence[float | None], chances: Sequence[float] | None) -> Observed:
        named = tuple(int(score) for score in scores if score is not None)
        return cls(named, None if chances is None else tuple(chances))


def known_reads(store: Store, prepared: Plan) -> dict[Asked, Observed]:
    """What the reads that a trial has already say, by judge and order."""
    run = store.run_of(prepared.study)
    if not store.holds(run):
        return {}
    codes = {judge.name: i for i, judge in enumerate(prepared.study.judges)}
    as_shown = {tuple(map(str, order)): order for order in prepared.study.design.strategies[0].orderings}
    by_call: dict[int, list[Read]] = {}
    for read in reads_of(store.judgments_behind(run, limit=MOST_READS)):
        by_call.setdefault(read.call, []).append(read)
    return {
        (codes[prepared.arms[mine[0].arm].judge], as_shown[mine[0].shown]): Observed.of(
            [read.score for read in mine], mine[0].probabilities
        )
        for mine in by_call.values()
    }
