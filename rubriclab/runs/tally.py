"""Count what a run has done: calls, failures, money, pace, and the early picture of positions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rubriclab.model.ending import why_not_whole
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Condition, Judgment, JudgmentTable, Status
from rubriclab.runs.forecast import price_of_reply
from rubriclab.runs.pace import Pace
from rubriclab.study.plan import Plan

Cells = Mapping[tuple[float, int], int]
"""How often a score was given with a position, by (score, position)."""


class Unread(NamedTuple):
    """Replies of a judge without a score, in one session. text, why: of the last one of them."""

    judge: str
    lost: int
    asked: int
    text: str
    why: str


class Tally:
    """The counts of one run.

    Only the run's own thread changes them. Other threads read single numbers for a snapshot, which
    may be one call apart from each other.

    done, failed: calls with a final reply, and those of them without a score, over all sessions.
    asked, in_flight: calls of this session, by judge (each judge has its price).
    money: spent in this session, by judge, at the judges' prices.
    early: by condition and position, how often a parsed answer was about this position.
    cells: by condition, how often a parsed score was given with this position (from 1). Replaced as
        a whole, so that another thread can go through it.
    last_error: the latest error of a call.
    unread: by judge, what its unparsed replies were; errors of calls are not among them.
    pace: how fast this session's calls end.
    """

    def __init__(self, plan: Plan) -> None:
        self.done = 0
        self.failed = 0
        self.asked = Counter[str]()
        self.in_flight = Counter[str]()
        self.money = {judge.name: 0.0 for judge in plan.study.judges}
        self.early = [[0] * condition.positions for condition in plan.conditions]
        self.cells: list[Cells] = [{} for _ in plan.conditions]
        self.last_error = ""
        self.unread: dict[str, Unread] = {}
        self.pace = Pace()

    def start_from(self, done: int, failed: int) -> None:
        """Take over the counts of earlier sessions."""
        self.done, self.failed = done, failed

    def start_early_from(self, table: JudgmentTable, conditions: Sequence[Condition]) -> None:
        """Count the positions in the judgments of earlier sessions."""
        rows = table.rows
        rows = rows[(rows["status"] == Status.OK) & (rows["position"] > 0)]
        for code, condition in enumerate(conditions):
            positions = rows.loc[rows["condition"] == code, "position"].to_numpy(dtype=int) - 1
            self.early[code] = np.bincount(positions, minlength=condition.positions).tolist()
            own = rows[(rows["condition"] == code) & rows["score"].notna()]
            pairs = zip(own["score"].to_list(), own["position"].to_list(), strict=True)
            self.cells[code] = Counter((float(score), int(place)) for score, place in pairs)

    def add(self, settings: JudgeSettings, judgment: Judgment, together: int) -> None:
        """Count a final reply. ``together``: how many calls shared its request, and its price."""
        reply = judgment.reply
        self.asked[settings.name] += 1
        self.done += 1
        if judgment.status != Status.OK:
            self.failed += 1
        if reply.error:
            self.last_error = reply.error
        self._count_unread(settings.name, judgment)
        self.money[settings.name] += price_of_reply(settings, judgment.call, reply, together)
        self.pace.add(settings)
        self._count_positions(judgment, 1)

    def _count_unread(self, judge: str, judgment: Judgment) -> None:
        known = self.unread.get(judge, Unread(judge, 0, 0, "", ""))
        reply = judgment.reply
        asked = known.asked + (not reply.error)
        if reply.error or judgment.status == Status.OK:
            self.unread[judge] = known._replace(asked=asked)
            return
        why = next((outcome.why for outcome in judgment.outcomes if outcome.why), "")
        why = why or why_not_whole(reply.finish) or "no score in it"
        self.unread[judge] = Unread(judge, known.lost + 1, asked, reply.text, why)

    def take_over(self, judgment: Judgment) -> None:
        """Count a reply that another run has paid for."""
        self.done += 1
        if judgment.status != Status.OK:
            self.failed += 1
        self._count_positions(judgment, 1)

    def take_back(self, judgment: Judgment, error: str) -> None:
        """Count a reply that was kept as parsed as a failed one from now on."""
        self._count_positions(judgment, -1)
        if judgment.status == Status.OK:
            self.failed += 1
        self.last_error = error

    def _count_positions(self, judgment: Judgment, by: int) -> None:
        counts = self.early[judgment.call.condition]
        for outcome in judgment.outcomes:
            if outcome.status == Status.OK and outcome.position:
                counts[outcome.position - 1] += by
                if outcome.score is not None:
                    cells = self.cells[judgment.call.condition]
                    cell = (outcome.score, outcome.position)
                    self.cells[judgment.call.condition] = {
                        **cells,
                        cell: cells.get(cell, 0) + by,
                    }

    def spent(self) -> float:
        """Return the money that this session's replies have cost."""
        return sum(self.money.values())

    def committed(self) -> float:
        """Return the money spent, with calls in flight at their judge's average price so far."""
        in_flight = 0.0
        for name, paid in self.money.items():
            in_flight += paid / max(self.asked[name], 1) * self.in_flight[name]
        return self.spent() + in_flight
