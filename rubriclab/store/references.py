"""Attempts at reference answers in and out of a store: each is kept, also one that did not pass."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from rubriclab.model.text import storable
from rubriclab.store.database import Database, now

# Not among the tables of every store: it is made by the first attempt.
TABLE = """
CREATE TABLE IF NOT EXISTS reference_attempts (job VARCHAR, task VARCHAR, score INTEGER, attempt SMALLINT,
    writer VARCHAR, reviewer VARCHAR, status VARCHAR, verdict INTEGER, text VARCHAR, review VARCHAR, reason VARCHAR,
    asked TIMESTAMP)
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer written to earn ``score`` and what became of it.

    ``task``: names instruction and criterion; ``attempt`` from 1; ``status``: accepted, rejected (another score, or cut
    off), unparsed (the review names none) or failed; ``verdict``: the reviewer's score; ``reason`` in words.
    """

    task: str
    score: int
    attempt: int
    writer: str
    reviewer: str
    status: str
    verdict: int | None
    text: str
    review: str
    reason: str


NAMES = ", ".join(part.name for part in fields(Attempt))


def attempts(database: Database, job: str) -> list[Attempt]:
    """A job's attempts in the order in which they were made; none where the store has never had any."""
    if not database.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reference_attempts'"):
        return []
    sql = f"SELECT {NAMES} FROM reference_attempts WHERE job = ? ORDER BY asked, attempt"
    return [Attempt(*row) for row in database.rows(sql, [job])]


def keep(database: Database, job: str, attempt: Attempt) -> None:
    """One attempt, committed. Raises LabError where the store cannot be written."""
    values = [storable(value) if isinstance(value, str) else value for value in astuple(attempt)]
    with database.transaction() as cursor:
        cursor.execute(TABLE)
        marks = ", ".join("?" * (len(values) + 2))
        cursor.execute(f"INSERT INTO reference_attempts (job, {NAMES}, asked) VALUES ({marks})", [job, *values, now()])
