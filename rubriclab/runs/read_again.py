"""Read a run's stored replies again with today's reader, and say what would change before anything
is written.

Replies are stored word for word, so a better reader can be used on runs of years ago. Nothing is
lost by it: a call whose judgments change gets a second, final row with the same reply, as if it
had been asked again, and the earlier row stays.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import rubriclab.measures  # noqa: F401  registers what findings are made of
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.model.judgment import Call, Judgment, JudgmentTable, Outcome, Reply, Status
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError, count
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from rubriclab.study.reading import READER

PIECE = 2_000
"""Calls whose replies are in memory at once."""
NOTE = "read again"


@dataclass
class ReadAgain:
    """What another reading of a run's replies changes.

    ``judgments``: those that were read; ``left``: calls that were not; ``gained``: without a score
    so far, with one now; ``lost``: the other way round; ``changed``: another score or choice;
    ``reasons``: why judgments lose their score; ``verdicts``: verdicts of the run that would
    differ; ``readers``: the versions of the reader that read them last.
    """

    judgments: int = 0
    left: int = 0
    gained: int = 0
    lost: int = 0
    changed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    verdicts: list[str] = field(default_factory=list)
    readers: set[int | None] = field(default_factory=set)
    written: bool = False

    @property
    def differing(self) -> int:
        return self.gained + self.lost + self.changed

    def sentence(self) -> str:
        """Say in one line how many scores and verdicts change, or changed."""
        left = ""
        if self.left:
            calls = count(self.left, "call")
            left = f" {calls} without a reply, or not in the study any more, stay as they were."
        if not self.differing:
            return f"Read again: none of {count(self.judgments, 'judgment')} changes.{left}"
        parts = [
            f"{self.gained:,} without a score get one",
            f"{self.lost:,} lose theirs",
            f"{self.changed:,} get another score",
        ]
        words = f"Read again: {self.differing:,} of {count(self.judgments, 'judgment')} change: "
        words += ", ".join(part for part in parts if not part.startswith("0 ")) + ". "
        if self.reasons:
            why = "; ".join(
                f"{number:,} × {reason}" for reason, number in self.reasons.most_common(5)
            )
            words += f"Why they lose it: {why}. "
        verdicts = "; ".join(self.verdicts) if self.verdicts else "none"
        words += f"Verdicts that change: {verdicts}.{left}"
        return words if self.written else f"{words} Nothing was written."


def read_again(store: Store, id: str, plan: Plan, *, write: bool) -> ReadAgain:
    """Read the replies of a run's final calls again; with ``write`` keep what changes.

    Raises LabError for a run that is being asked.
    """
    info = store.run(id)
    if info.state == "running":
        raise LabError(f"“{info.name}” is being asked. Pause it before its replies are read again.")
    made = ReadAgain(readers=store.readers(info.id))
    before = store.table(info.id)
    changes: dict[tuple[str, int], Outcome] = {}
    judgments: list[Judgment] = []
    keys: list[str] = []
    for call, reply, old in _stored(store, info.id, plan):
        new = [
            _kept(known, fresh) for known, fresh in zip(old, plan.parse(call, reply), strict=True)
        ]
        made.judgments += len(new)
        keys.append(call.key)
        if all(map(_same, old, new)):
            continue
        noted = reply if NOTE in reply.note else reply.noted(NOTE)
        judgments.append(Judgment(call, noted, tuple(new)))
        for known, fresh in zip(old, new, strict=True):
            _count(made, known, fresh)
            changes[call.key, fresh.slot] = fresh
    made.left = info.done - len(keys)
    if changes:
        after = _with(store, info.id, before, changes)
        made.verdicts = _verdicts_that_change(before, after, plan.study.reading)
    if write and judgments:
        with store.writer(info.id) as writer:
            for judgment in judgments:
                writer.add(judgment)
            writer.flush()
    if write:
        store.set_reader(info.id, READER, keys)
        made.written = True
    return made


def _stored(store: Store, id: str, plan: Plan) -> Iterator[tuple[Call, Reply, Sequence[Outcome]]]:
    """Yield each call that the store has a reply to, with the reply and what was read of it."""
    piece: list[Call] = []
    for call in plan.calls():
        piece.append(call)
        if len(piece) == PIECE:
            yield from _answered(store, id, piece)
            piece = []
    yield from _answered(store, id, piece)


def _answered(
    store: Store, id: str, piece: Sequence[Call]
) -> Iterator[tuple[Call, Reply, Sequence[Outcome]]]:
    answers = store.answers(id, [call.key for call in piece])
    for call in piece:
        if call.key in answers and not call.template.startswith("decision-"):
            yield call, *answers[call.key]


def _kept(old: Outcome, new: Outcome) -> Outcome:
    """Return the new outcome with what the old one knows of probabilities, which are not stored
    with the reply.
    """
    if new.status == Status.OK and old.status == Status.OK:
        return replace(new, p=old.p, expected=old.expected, mass=old.mass)
    return replace(new, mass=old.mass)


def _same(old: Outcome, new: Outcome) -> bool:
    """Whether two outcomes give an item the same; which failure it was does not count as a
    score.
    """
    if old.status != new.status:
        return False
    return old.score == new.score and (old.position or 0) == (new.position or 0)


def _count(made: ReadAgain, old: Outcome, new: Outcome) -> None:
    had, has = old.status == Status.OK, new.status == Status.OK
    if has and not had:
        made.gained += 1
    elif had and not has:
        made.lost += 1
        made.reasons[new.why] += 1
    elif had and not _same(old, new):
        made.changed += 1


def _with(
    store: Store, id: str, table: JudgmentTable, changes: dict[tuple[str, int], Outcome]
) -> JudgmentTable:
    """Return the table as it would be with other outcomes of some (key of a call, slot)."""
    keys = dict(store.keys(id))
    rows = table.rows.copy()
    places = {
        pair: place for place, pair in enumerate(zip(rows["call"], rows["slot"], strict=True))
    }
    status, score = rows["status"].to_numpy().copy(), rows["score"].to_numpy().copy()
    position = rows["position"].to_numpy().copy()
    for (key, slot), outcome in changes.items():
        place = places[keys[key], slot]
        status[place] = int(outcome.status)
        score[place] = np.nan if outcome.score is None else outcome.score
        position[place] = outcome.position or 0
    rows = rows.assign(status=status, score=score, position=position)
    return replace(table, rows=rows)


def _verdicts_that_change(
    before: JudgmentTable, after: JudgmentTable, reading: ReadingPart
) -> list[str]:
    """Return "judge, question: word now -> word then" of each verdict that differs."""
    words = [_verdicts(table, reading) for table in (before, after)]
    out = []
    for name, old in words[0].items():
        new = words[1].get(name, "none")
        if new != old:
            out.append(f"{name}: {old} → {new}")
    return out


def _verdicts(table: JudgmentTable, reading: ReadingPart) -> dict[str, str]:
    given = {}
    for row in Findings(Judgments(table, reading.unit), reading).of_topic("verdict"):
        if row.topic == "verdict" and row.measure != "gate":
            judge = table.conditions[row.condition].judge
            given[f"{judge}, condition {row.condition}, {row.measure}"] = str(row.verdict)
    return given
