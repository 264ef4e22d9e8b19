"""Parse a run's stored replies again with today's reader, and say what changes before writing it.

Replies are stored word for word, so a better reader helps runs of years ago too. Nothing is lost by
it: a call whose judgments change gets a second, final row with the same reply, as if it had been
asked again, and the earlier row stays.
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
"""Calls whose replies are in memory at once: 20 MB with replies of 10 kB."""
MOST_REASONS = 5
NOTE = "read again"
"""The note on a reply that was parsed again."""


@dataclass
class ReadAgain:
    """What changes when a run's replies are parsed again.

    judgments: those that were parsed. left: calls that were not.
    gained: without a score before, with one now. lost: the other way round.
    changed: another score or choice.
    reasons: why judgments lose their score, counted.
    verdicts: verdicts of the run that would differ, each as a line.
    readers: the versions of the reader that parsed them before; None: not known.
    written: whether the changes are in the store.
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
            left = f" {calls} without a reply, or no longer in the study, stay as they were."
        if not self.differing:
            return f"Read again: none of {count(self.judgments, 'judgment')} changes.{left}"
        parts = []
        if self.gained:
            parts.append(f"{self.gained:,} without a score get one")
        if self.lost:
            parts.append(f"{self.lost:,} lose theirs")
        if self.changed:
            parts.append(f"{self.changed:,} get another score")
        words = f"Read again: {self.differing:,} of {count(self.judgments, 'judgment')} change: "
        words += f"{', '.join(parts)}. "
        if self.reasons:
            reasons = self.reasons.most_common(MOST_REASONS)
            why = "; ".join(f"{number:,} × {reason}" for reason, number in reasons)
            words += f"Why they lose it: {why}. "
        verdicts = "; ".join(self.verdicts) if self.verdicts else "none"
        words += f"Verdicts that change: {verdicts}.{left}"
        return words if self.written else f"{words} Nothing was written."


def read_again(store: Store, id: str, plan: Plan, *, write: bool) -> ReadAgain:
    """Parse the replies of a run's final calls again; with ``write`` keep what changes.

    Raises LabError for a run that is being asked.
    """
    info = store.run(id)
    if info.state == "running":
        raise LabError(f"“{info.name}” is running. Pause it before you read its replies again.")
    made = ReadAgain(readers=store.readers(info.id))
    before = store.table(info.id)
    changes: dict[tuple[str, int], Outcome] = {}  # by the call's key and the slot
    judgments: list[Judgment] = []
    keys: list[str] = []
    for call, reply, old in _stored(store, info.id, plan):
        parsed = plan.judgment(call, reply)  # with a note if the reply breaks its constraint
        new = [_kept(known, fresh) for known, fresh in zip(old, parsed.outcomes, strict=True)]
        made.judgments += len(new)
        keys.append(call.key)
        if all(map(_same, old, new)):
            continue
        noted = parsed.reply if NOTE in reply.note else parsed.reply.noted(NOTE)
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
    """Yield each call that the store has a reply to, with the reply and its outcomes."""
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
        # A decision server returns probabilities and no text, so there is nothing to parse.
        if call.key in answers and not call.template.startswith("decision-"):
            kept = answers[call.key]
            yield call, kept.reply, kept.outcomes


def _kept(old: Outcome, new: Outcome) -> Outcome:
    """Return the new outcome with the old one's probabilities.

    These came with the reply, but are stored with the judgment only.
    """
    if new.status == Status.OK and old.status == Status.OK:
        return replace(new, p=old.p, expected=old.expected, mass=old.mass)
    return replace(new, mass=old.mass)


def _same(old: Outcome, new: Outcome) -> bool:
    """Return whether two outcomes give an item the same status, score and position."""
    if old.status != new.status:
        return False
    return old.score == new.score and (old.position or 0) == (new.position or 0)


def _count(made: ReadAgain, old: Outcome, new: Outcome) -> None:
    """Count what changes from the old outcome to the new one."""
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
    """Return the table as it would be with these outcomes, by the call's key and the slot."""
    number_of = dict(store.keys(id))
    rows = table.rows.copy()
    calls_and_slots = zip(rows["call"], rows["slot"], strict=True)
    row_of = {pair: row for row, pair in enumerate(calls_and_slots)}
    status, score = rows["status"].to_numpy().copy(), rows["score"].to_numpy().copy()
    position = rows["position"].to_numpy().copy()
    for (key, slot), outcome in changes.items():
        row = row_of[number_of[key], slot]
        status[row] = int(outcome.status)
        score[row] = np.nan if outcome.score is None else outcome.score
        position[row] = outcome.position or 0
    rows = rows.assign(status=status, score=score, position=position)
    return replace(table, rows=rows)


def _verdicts_that_change(
    before: JudgmentTable, after: JudgmentTable, reading: ReadingPart
) -> list[str]:
    """Return “condition, measure: old word → new word” for each verdict that differs."""
    old_words, new_words = _verdicts(before, reading), _verdicts(after, reading)
    changed = []
    for (code, measure), old in old_words.items():
        new = new_words.get((code, measure), "none")
        if new != old:
            about = before.conditions[code]
            parts = [about.judge, about.dataset, about.strategy]
            parts += [f"{factor} = {level}" for factor, level in about.variant.items()]
            changed.append(f"{' · '.join(parts)}, {measure}: {old} → {new}")
    return changed


def _verdicts(table: JudgmentTable, reading: ReadingPart) -> dict[tuple[int, str], str]:
    """Return the verdict words of a table, by the code of a condition and the measure."""
    findings = Findings(Judgments(table, reading.unit), reading)
    return {
        (row.condition, row.measure): str(row.verdict)
        for row in findings.of_topic("verdict")
        if row.topic == "verdict" and row.measure != "gate"
    }
