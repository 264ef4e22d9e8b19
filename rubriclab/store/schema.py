"""The tables and their migrations."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb

SCHEMA = 7
MAX_POSITIONS = 10
P_COLUMNS = tuple(f"p{i}" for i in range(1, MAX_POSITIONS + 1))
COMMIT_SECONDS = 0.3
"""How long a batch gathers: a commit takes 8 ms of processor time, however small it is; longer, and a stop rule
would look too late at a fast run."""


# ---------------------------------------------------------------- schema


def _schema_1(db: duckdb.DuckDBPyConnection) -> None:
    probabilities = ", ".join(f"{name} REAL" for name in P_COLUMNS)
    db.execute(
        f"""
        CREATE TABLE lab (schema_version INTEGER, created TIMESTAMP);
        CREATE TABLE datasets (
            dataset VARCHAR, name VARCHAR, origin VARCHAR, created TIMESTAMP, rubric VARCHAR,
            n_items INTEGER, kind VARCHAR);
        CREATE TABLE items (
            dataset VARCHAR, item INTEGER, name VARCHAR, item_id VARCHAR, instruction VARCHAR,
            response VARCHAR, criterion VARCHAR, block VARCHAR, prompt VARCHAR,
            candidate VARCHAR, task VARCHAR, human DOUBLE[], n_chars INTEGER, more VARCHAR);
        CREATE TABLE rubrics (rubric VARCHAR, name VARCHAR, created TIMESTAMP, body VARCHAR);
        CREATE TABLE judges (name VARCHAR, created TIMESTAMP, body VARCHAR);
        CREATE TABLE runs (
            run_no INTEGER, run VARCHAR, name VARCHAR, axis VARCHAR, dataset VARCHAR,
            study VARCHAR, provenance VARCHAR, created TIMESTAMP, changed TIMESTAMP,
            state VARCHAR, reason VARCHAR, planned BIGINT, simulated BOOLEAN);
        CREATE TABLE arms (run_no INTEGER, arm SMALLINT, body VARCHAR, planned BIGINT);
        CREATE TABLE orderings (run_no INTEGER, ordering INTEGER, shown VARCHAR, labels VARCHAR);
        CREATE TABLE judgments (
            run_no INTEGER, call BIGINT, arm SMALLINT, item INTEGER, ordering INTEGER,
            read SMALLINT, repeat SMALLINT, status TINYINT, score REAL, position SMALLINT,
            expected REAL, mass REAL, kind VARCHAR, {probabilities});
        CREATE TABLE replies (
            run_no INTEGER, call BIGINT, key VARCHAR, arm SMALLINT, status TINYINT, text VARCHAR,
            finish VARCHAR, tokens_in INTEGER, tokens_out INTEGER, cached_tokens INTEGER,
            latency REAL, model VARCHAR, error VARCHAR, kind VARCHAR, retryable BOOLEAN,
            attempts SMALLINT, template VARCHAR, asked TIMESTAMP);
        CREATE TABLE superseded AS SELECT * FROM replies LIMIT 0;
        """
    )
    db.execute("INSERT INTO lab VALUES (?, ?)", [1, now()])


def _schema_2(db: duckdb.DuckDBPyConnection) -> None:
    """Attempts at writing reference answers, one a row; ``job`` names who wrote and reviewed how."""
    db.execute(
        """
        CREATE TABLE reference_attempts (
            job VARCHAR, dataset VARCHAR, item_id VARCHAR, score INTEGER, attempt INTEGER,
            writer VARCHAR, reviewer VARCHAR, status VARCHAR, verdict INTEGER, text VARCHAR,
            review VARCHAR, reason VARCHAR, asked TIMESTAMP);
        UPDATE lab SET schema_version = 2;
        """
    )


def _schema_3(db: duckdb.DuckDBPyConnection) -> None:
    """A run keeps its data as judged (spread, paired, drawn); only what a user saved is listed."""
    db.execute(
        """
        ALTER TABLE datasets ADD COLUMN listed BOOLEAN DEFAULT true;
        UPDATE datasets SET listed = false WHERE origin = 'imported';
        UPDATE lab SET schema_version = 3;
        """
    )


def _schema_4(db: duckdb.DuckDBPyConnection) -> None:
    """What had to be changed in a reply to keep it is said beside it."""
    db.execute(
        """
        ALTER TABLE replies ADD COLUMN note VARCHAR;
        ALTER TABLE superseded ADD COLUMN note VARCHAR;
        UPDATE lab SET schema_version = 4;
        """
    )


def _schema_5(db: duckdb.DuckDBPyConnection) -> None:
    """Where keys may be sent: pairs of address and variable that a user of this lab said yes to."""
    db.execute(
        """
        CREATE TABLE consents (address VARCHAR, variable VARCHAR, created TIMESTAMP);
        UPDATE lab SET schema_version = 5;
        """
    )


def _schema_6(db: duckdb.DuckDBPyConnection) -> None:
    """Of judgments read from a log: the prompt as it was sent, and its record in the file, from 1."""
    db.execute(
        """
        CREATE TABLE logged (run_no INTEGER, call BIGINT, line BIGINT, prompt VARCHAR);
        UPDATE lab SET schema_version = 6;
        """
    )


def _schema_7(db: duckdb.DuckDBPyConnection) -> None:
    """What users call a run and how they keep the list in order; a tag a row, so that none overwrites another."""
    db.execute(
        """
        ALTER TABLE runs ADD COLUMN title VARCHAR;
        ALTER TABLE runs ADD COLUMN archived TIMESTAMP;
        ALTER TABLE runs ADD COLUMN deleted TIMESTAMP;
        CREATE TABLE run_tags (run_no INTEGER, tag VARCHAR);
        UPDATE lab SET schema_version = 7;
        """
    )


MIGRATIONS = (_schema_1, _schema_2, _schema_3, _schema_4, _schema_5, _schema_6, _schema_7)
"""``MIGRATIONS[v]`` takes a store from version v to v + 1."""


def now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
