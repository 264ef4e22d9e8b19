"""Answers that the runs of a store have to given calls, as another run can take them over."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from rubriclab.model import STATUSES, Outcome, Reply
from rubriclab.store.schema import P_COLUMNS

REUSED = "reused from run "
"""How the note of a reply begins that was carried over; the run that asked it follows."""
REPLY = ("text", "finish", "model", "kind", "note")
OUTCOME = ("status", "position", "mass", "kind")
ANSWERED = f"""
    SELECT p.key, r.run, {", ".join(f"p.{name}" for name in REPLY)},
           {", ".join(f"j.{name} AS j_{name}" for name in OUTCOME)}, {", ".join(f"j.{name}" for name in P_COLUMNS)}
    FROM replies p JOIN runs r USING (run_no) JOIN judgments j USING (run_no, call)
    WHERE p.key IN (SELECT unnest(?)) AND p.error IS NULL AND r.state <> 'imported' AND r.deleted IS NULL
    ORDER BY p.asked, r.run_no
"""
"""One row a judgment: a call that has several is about several items."""


@dataclass(frozen=True)
class Answered:
    """What ``run`` was answered: its words, and what they said of the one item of their call.

    Nothing was sent for ``reply``, so it has no tokens, no seconds and no attempts; its note names the run.
    """

    run: str
    reply: Reply
    outcome: Outcome


def answers(rows: Iterable[tuple[Any, ...]], but: Collection[str]) -> dict[str, Answered]:
    """The first answer to each key, of the rows of ANSWERED; of calls about several items none.

    ``but``: runs whose answers do not count, also where another run has carried them over.
    """
    found: dict[str, Answered] = {}
    several: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    for key, run, text, finish, model, kind, note, *rest in rows:
        origin = origin_of(note) or run
        if (key, run) in seen:
            several.add((key, run))
            continue
        seen.add((key, run))
        status = STATUSES[rest[0]]
        if key in found or status == "error" or {run, origin} & set(but):
            continue
        reply = Reply(text or "", finish or "stop", model=model, kind=kind, attempts=0, note=f"{REUSED}{origin}")
        found[key] = Answered(run, reply, _outcome(rest))
    return {key: one for key, one in found.items() if (key, one.run) not in several}


def origin_of(note: str | None) -> str | None:
    """The run that a reply was carried over from; None for one that was asked."""
    return note.removeprefix(REUSED) if note and note.startswith(REUSED) else None


def _outcome(row: list[Any]) -> Outcome:
    status, position, mass, kind, *given = row
    chances = tuple(float(p) for p in given if p is not None and math.isfinite(p))
    return Outcome(
        item=0,
        status=STATUSES[status],
        position=None if position is None or position < 0 else int(position),
        probabilities=chances or None,
        mass=float(mass) if mass is not None and math.isfinite(mass) else None,
        kind=kind,
    )
