"""Read runs from a store: lists, judgments as tables, and single calls word for word.

Nothing here writes; ``store.py`` adds what does. A call that was asked again has several rows in
``calls``, of which one is final. Every query about judgments must leave out the others (FINAL).
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet

from rubriclab.model.consent import NO_CONSENTS, Consent, Consents
from rubriclab.model.ending import not_read
from rubriclab.model.judgment import (
    ITEM_COLUMNS,
    JUDGMENT_COLUMNS,
    LENGTHS,
    NOTED,
    Condition,
    JudgmentTable,
    Ordering,
    Outcome,
    Reply,
    Status,
    TokensOfCalls,
    count_notes,
    order_text,
)
from rubriclab.model.looks import read_looks
from rubriclab.model.study import stored_reading
from rubriclab.model.text import LabError, shorten
from rubriclab.store.database import Database, in_words
from rubriclab.store.machine import is_sealed

CALL_COLUMNS = (
    "call",
    "key",
    "condition",
    "status",
    "attempt",
    "text",
    "finish",
    "error",
    "kind",
    "tokens_in",
    "tokens_out",
    "cached",
    "seconds",
    "model",
    "asked",
    "sent",
    "prompt",
    "note",
)
REPLY = (
    "text",
    "finish",
    "kind",
    "tokens_in",
    "tokens_out",
    "cached",
    "seconds",
    "model",
    "attempt",
    "note",
)
"""Fields of a Reply that the store keeps, without the error."""
READING = ("why", "form", "reader")
"""Columns of a judgment: why it has no score, the form of words that gave one, and the version of
the reader (NULL: not known)."""
FRACTIONS = ("score", "expected", "mass")
WHOLE = tuple(name for name in JUDGMENT_COLUMNS if name not in FRACTIONS)
TEXTS = ("response", "instruction", "reference")
"""Texts of an item that its data set keeps."""
STATUSES = [status.name.lower() for status in Status]
ROW_GROUP = 122_880
"""Rows of a piece of a Parquet file: DuckDB's own size, so that it reads one in one go."""
JUDGE_WORDS = "judge words"
"""The kind of object that holds what the list of runs says of a run's judges."""
NO_LIMIT = 2**62
MOST_MATCHES = 5
"""Runs that a message lists when a name fits several."""
SIMILAR = 0.5
"""Least similarity (difflib, 0 to 1) of a run that a message suggests."""

# A run's items with what its data sets keep of their texts. ``runs.dataset`` names one data set, or
# several with blanks between them, whose items are distinguished by their data set's name.
ITEMS = """(
    SELECT i.*, t.texts, t.dataset AS kept_in, t.candidate AS kept_as
    FROM run_items i
    JOIN runs r ON r.run = i.run
    LEFT JOIN datasets d
        ON list_contains(string_split(r.dataset, ' '), d.dataset)
        AND (d.dataset = r.dataset OR d.name = i.dataset)
    LEFT JOIN items t
        ON t.dataset = d.dataset
        AND t.item = i.source
    WHERE i.run = ?
)"""
QUESTION = "coalesce(nullif({0}.prompt, ''), {0}.texts->>'$.instruction')"
"""SQL of what the answers to one question share."""
# The answers that a run compared are items of its data set: each a candidate's, about the question
# of the comparison. An imported comparison is an item of its own, which may state its lengths.
WITH_LENGTHS = f"""
    WITH kept AS {ITEMS},
    answers AS (
        SELECT k.item, t.candidate, max(length(nullif(t.texts->>'$.response', ''))) AS signs
        FROM kept k
        JOIN items t
            ON t.dataset = k.kept_in
            AND {QUESTION.format("t")} = {QUESTION.format("k")}
            AND list_contains(string_split(k.candidate, '|'), replace(t.candidate, '|', '/'))
        GROUP BY ALL
    ),
    summed AS (SELECT item, sum(signs) AS signs FROM answers GROUP BY item)
    SELECT
        k.*,
        coalesce(
            try_cast(k.texts->'$.columns'->>'$.input_length' AS DOUBLE),
            length(nullif(k.texts->>'$.instruction', ''))
        ) AS input_length,
        coalesce(
            try_cast(k.texts->'$.columns'->>'$.output_length' AS DOUBLE),
            s.signs,
            CASE WHEN k.kept_as = k.candidate THEN length(nullif(k.texts->>'$.response', '')) END
        ) AS output_length,
        try_cast(k.texts->'$.columns'->>'$.prompt_length' AS DOUBLE) AS prompt_length
    FROM kept k
    LEFT JOIN summed s USING (item)
"""
RATED = "FROM run_items JOIN runs USING (run) WHERE id = ?"
# A call that was asked again has an earlier, no longer final reply, whose judgments do not count.
FINAL = """NOT EXISTS (
    SELECT 1
    FROM calls c
    WHERE c.run = j.run AND c.call = j.call AND NOT c.final
)"""
JUDGED = f"""
    SELECT
        k.body->>'judge' AS judge,
        k.body->>'dataset' AS dataset,
        k.body->>'strategy' AS strategy,
        k.body->>'variant' AS variant,
        i.item_id, i.criterion, i.block, i.prompt, i.candidate, i.task,
        if(
            json_type(o.shown, '$[0]') = 'VARCHAR',
            array_to_string(o.shown::VARCHAR[], '|'),
            array_to_string(o.shown::VARCHAR[], ' ')
        ) AS ordering,
        j.repeat,
        (?::VARCHAR[])[j.status + 1] AS status,
        j.score, j.position, j.expected, j.mass, j.p, j.call, j.slot{{column}}
    FROM judgments j
    JOIN conditions k USING (run, condition)
    JOIN run_items i USING (run, item)
    JOIN orderings o USING (run, ordering)
    {{join}}
    WHERE j.run = ? AND {FINAL}
"""
"""Judgments for a file. ``column`` and ``join`` add what is known of each item, or are empty."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What lists say about a run.

    number: its key in the tables, which a later run may get after this one is deleted.
    planned, done, failed: calls; ``done`` have a final reply, ``failed`` of them no score.
    revision: raised with each change. A zip brings its own along.
    dataset: ID of its data set, or of several with blanks between them; empty if an import had no
        texts.
    token: stays the same as long as this run is in this store, and no other run has it.
    """

    number: int
    id: str
    name: str
    state: str
    reason: str
    planned: int
    created: datetime
    changed: datetime
    revision: int
    identity: str
    dataset: str
    token: str
    done: int
    failed: int
    judges: tuple[str, ...]
    reorder: str
    simulated: bool

    @property
    def content(self) -> str:
        """Return a name for what the run holds now.

        It changes with each commit and each renaming, and no other run of any store ever has it,
        not even after this one was deleted. Caches use it, never ``id`` or ``revision``, which a
        zip brings along.
        """
        return f"{self.token} {self.revision} {self.state} {self.name}"


class KeptReply(NamedTuple):
    """A final reply in the store, with its outcomes by slot."""

    reply: Reply
    outcomes: list[Outcome]


@dataclass(frozen=True)
class Filter:
    """One condition of a query, with the value of its one mark."""

    test: str
    value: Any


class Reader:
    """The questions that can be asked of a store. Any thread may ask them."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._listing: tuple[Any, list[RunInfo]] | None = None

    @property
    def path(self) -> str:
        return self._db.path

    @property
    def read_only(self) -> bool:
        return self._db.read_only

    # ---- runs

    def runs(self) -> list[RunInfo]:
        """Return all runs, newest first.

        Their calls are counted again only after something was written: pages ask for this list
        several times a second.
        """
        known = self._db.writes, dict(self._db.unsaved_states)
        stale = self._listing is None or self._listing[0] != known
        if stale or self._db.changed_elsewhere():
            runs = self._read_runs()
            # Reading may have opened the file again and found that another process changed it.
            self._listing = (self._db.writes, known[1]), runs
        assert self._listing is not None
        return list(self._listing[1])

    def _read_runs(self) -> list[RunInfo]:
        token = "token" if self._db.has_column("runs", "token") else "''"
        rows = self._db.arrow(
            f"""
            SELECT
                r.run AS number, id, name, state, coalesce(reason, '') AS reason, planned,
                created, changed, revision, identity, dataset, {token} AS token,
                -- an import has judgments without calls
                coalesce(
                    done, CASE WHEN state IN ('finished', 'failed') THEN planned ELSE 0 END
                ) AS done,
                coalesce(failed, 0) AS failed
            FROM runs r
            LEFT JOIN (
                SELECT run, count(*) AS done, count(*) FILTER (status <> 0) AS failed
                FROM calls
                WHERE final
                GROUP BY run
            ) c USING (run)
            ORDER BY created DESC, r.run DESC
            """
        ).to_pylist()
        bodies: dict[int, list[dict[str, Any]]] = {}
        for run, body in self._db.rows("SELECT run, body FROM conditions ORDER BY run, condition"):
            bodies.setdefault(run, []).append(json.loads(body))
        return [self._run_info(row, bodies.get(row["number"], [])) for row in rows]

    def _run_info(self, row: dict[str, Any], conditions: Sequence[Mapping[str, Any]]) -> RunInfo:
        """Return what a row of the runs and the bodies of its conditions say."""
        # The opening's serial: a copy of this file in another place has the same tokens.
        token = f"{self._db.serial} {row['token'] or row['created']} {row['number']}"
        state, reason = self._db.unsaved_states.get(row["id"], (row["state"], row["reason"]))
        if state == "running" and self.read_only and not self._db.copied:
            # A file that is only read keeps the state of a dead process. Nobody runs it here.
            state = "interrupted"
        return RunInfo(
            **row
            | {
                "token": token,
                "state": state,
                "reason": reason,
                "judges": tuple(dict.fromkeys(body["judge"] for body in conditions)),
                "reorder": conditions[0]["reorder"] if conditions else "options",
                "simulated": any(body["simulated"] for body in conditions),
            }
        )

    def run(self, text: str) -> RunInfo:
        """Return a run by its ID, a beginning of it that no other run has, or its name.

        Raises LabError that names similar ones.
        """
        runs = self.runs()
        wanted = text.strip()
        for matches in (
            [run for run in runs if run.id == wanted],
            [run for run in runs if run.name == wanted],
            [run for run in runs if wanted and run.id.startswith(wanted)],
            [run for run in runs if run.name.casefold() == wanted.casefold()],
        ):
            if len(matches) == 1:
                return matches[0]
            if matches:
                listed = ", ".join(
                    f"{run.id} ({shorten(run.name, 40)})" for run in matches[:MOST_MATCHES]
                )
                raise LabError(
                    f"“{shorten(wanted)}” matches {len(matches)} runs: {listed}. Use the ID of the "
                    "one you want."
                )
        raise self._unknown(wanted, runs)

    def _unknown(self, wanted: str, runs: Sequence[RunInfo]) -> LabError:
        """Return the error for a run that does not exist."""
        if not runs:
            return LabError(
                f"{self.path} has no runs, so none is called “{shorten(wanted)}”. Start a run, or "
                "choose another file with --store."
            )
        # Newest last, so that of two runs with one name the newest is suggested.
        by_name = {name: run for run in reversed(runs) for name in (run.id, run.name)}
        near = difflib.get_close_matches(wanted, by_name, 3, SIMILAR)
        if not near:
            near = [run.name for run in runs[:3]]
        known = ", ".join(
            f"“{shorten(by_name[name].name, 40)}” ({by_name[name].id})"
            for name in dict.fromkeys(near)
        )
        return LabError(
            f"No run is called “{shorten(wanted)}”. Did you mean {known}? “rubriclab runs” lists "
            "all runs."
        )

    def study(self, id: str) -> dict[str, Any]:
        """Return the study of a run as it was kept."""
        return self._kept("study", id)

    def final_keys(self, id: str, retry_failed: bool = False) -> set[str]:
        """Return the keys of the calls that need not be asked again.

        With ``retry_failed`` only those that gave a score.
        """
        more = " AND status = 0" if retry_failed else ""
        sql = f"SELECT key FROM calls WHERE run = ? AND final{more}"
        return {key for (key,) in self._db.rows(sql, [self.run(id).number])}

    def earlier_reading(self, table: JudgmentTable) -> RunInfo | None:
        """Return the run of a file that was imported before and has grown since.

        It is known by its name.
        """
        calls = table.rows["call"].nunique()
        same_name = re.compile(rf"{re.escape(table.name)}( \d+)?")
        for info in self.runs():
            if same_name.fullmatch(info.name) and 0 < info.done < calls:
                return info
        return None

    def final_calls(self, id: str) -> dict[int, int]:
        """Return how many calls of each condition, by its code, are final."""
        sql = "SELECT condition, count(*) FROM calls WHERE run = ? AND final GROUP BY condition"
        return dict(self._db.rows(sql, [self.run(id).number]))

    def answers(
        self, id: str, keys: Sequence[str], *, errors: bool = False
    ) -> dict[str, KeptReply]:
        """Return the replies to the calls with these keys, by key.

        Those that ended in an error are left out, unless ``errors`` asks for them.
        """
        run = self.run(id).number
        names = (*REPLY, "error") if errors else REPLY
        calls = self._db.arrow(
            f"""
            SELECT call, key, {", ".join(names)}
            FROM calls
            WHERE run = ? AND final
                AND (? OR status <> ?)
                AND key IN (SELECT unnest(?))
            """,
            [run, errors, int(Status.ERROR), list(keys)],
        ).to_pylist()
        outcomes = self._outcomes(run, [call["call"] for call in calls])
        kept = {}
        for call in calls:
            reply = Reply(**{name: call[name] for name in names})
            kept[call["key"]] = KeptReply(reply, outcomes[call["call"]])
        return kept

    def _outcomes(self, run: int, calls: Sequence[int]) -> dict[int, list[Outcome]]:
        """Return the outcomes of these calls, by call, in the order of their slots."""
        rows = self._db.arrow(
            f"""
            SELECT
                call, item, slot, status, score, position, expected, mass, p, {self._reading}
            FROM judgments
            WHERE run = ? AND call IN (SELECT unnest(?))
            ORDER BY call, slot
            """,
            [run, list(calls)],
        ).to_pylist()
        outcomes: dict[int, list[Outcome]] = {}
        for row in rows:
            call = row.pop("call")
            row["status"] = Status(row["status"])
            if row["p"] is not None:
                row["p"] = tuple(row["p"])
            outcomes.setdefault(call, []).append(Outcome(**row))
        return outcomes

    def made_with(self, id: str) -> dict[str, Any]:
        """Return the versions that a run was made with, and what else is known of its making."""
        return self._kept("made_with", id)

    def _kept(self, column: str, id: str) -> dict[str, Any]:
        ((body,),) = self._db.rows(
            f"SELECT {column} FROM runs WHERE run = ?", [self.run(id).number]
        )
        kept: dict[str, Any] = json.loads(body)
        return kept

    def imported(self, id: str) -> bool:
        """Return whether a run came as a file: its data were imported, or it has none."""
        keys = self.run(id).dataset.split()
        origins = self._db.rows(
            "SELECT origin FROM datasets WHERE dataset IN (SELECT unnest(?))", [keys]
        )
        return not origins or any(origin.startswith("imported") for (origin,) in origins)

    # ---- what the user has agreed to

    def consents(self) -> Consents:
        """Return which key may be sent where: what was agreed to on this machine.

        A store that came from elsewhere may name any address. Its consents lack this machine's
        seal, and do not count.
        """
        if not self._db.has_column("objects", "body"):
            return NO_CONSENTS
        rows = self._db.rows(
            """
            SELECT body->>'variable', body->>'address', body->>'seal'
            FROM objects
            WHERE kind = 'consent'
            """
        )
        return frozenset(
            Consent(variable, address)
            for variable, address, seal in rows
            if variable and address and seal and is_sealed(seal, "consent", variable, address)
        )

    # ---- as columns

    def table(self, id: str) -> JudgmentTable:
        """Return all judgments of final calls, sorted by condition and call.

        It reads the whole run. Callers cache it by ``RunInfo.content``.
        """
        run = self.run(id)
        number = [run.number]
        column = "looks" if self._db.has_column("runs", "looks") else "NULL"
        ((study, made_with, kept_looks),) = self._db.rows(
            f"SELECT study, made_with, {column} FROM runs WHERE run = ?", number
        )
        asked = self._db.rows(
            "SELECT body, planned FROM conditions WHERE run = ? ORDER BY condition", number
        )
        conditions = tuple(condition_of(json.loads(body)) for body, _ in asked)
        rows, probabilities = self._judged(run.number)
        # After the judgments: a run that is being asked adds orderings, each in one transaction
        # with its judgments. In this order every judgment finds its ordering.
        orderings = self._db.rows(
            "SELECT shown, labels FROM orderings WHERE run = ? ORDER BY ordering", number
        )
        chooses = any(condition.chooses for condition in conditions)
        items = self._items(run.number, lengths=chooses)
        looks = None
        if kept_looks is not None:
            looks = read_looks(
                json.loads(kept_looks),
                items=len(items),
                conditions=conditions,
                planned=[planned for _, planned in asked],
            )
        return JudgmentTable(
            run=run.id,
            name=run.name,
            conditions=conditions,
            items=items,
            orderings=tuple(
                Ordering(tuple(json.loads(shown)), tuple(json.loads(labels)))
                for shown, labels in orderings
            ),
            rows=rows,
            planned=tuple(planned for _, planned in asked),
            probabilities=probabilities,
            state=run.state,
            notes=self._notes(run.number),
            made_with=json.loads(made_with),
            reading=stored_reading(json.loads(study).get("reading") or {}),
            looks=looks,
            tokens=self._tokens(run.number),
        )

    def _tokens(self, run: int) -> dict[int, TokensOfCalls]:
        """Return what servers counted of each condition's calls, where they counted anything."""
        sql = """
            SELECT condition, count(*), sum(tokens_in), sum(tokens_out)
            FROM calls
            WHERE run = ? AND final AND tokens_in > 0 AND tokens_out IS NOT NULL
            GROUP BY condition
        """
        return {
            int(condition): TokensOfCalls(int(calls), int(sent), int(given))
            for condition, calls, sent, given in self._db.rows(sql, [run])
        }

    def _notes(self, run: int) -> dict[tuple[int, str], int]:
        """Return how many final calls of each condition have each of NOTED."""
        wanted = " OR ".join("contains(note, ?)" for _ in NOTED)
        sql = f"""
            SELECT condition, note, count(*)
            FROM calls
            WHERE run = ? AND final AND ({wanted})
            GROUP BY ALL
        """
        return count_notes(self._db.rows(sql, [run, *NOTED]))

    def _judged(self, run: int) -> tuple[pd.DataFrame, np.ndarray | None]:
        """Return (JUDGMENT_COLUMNS, probabilities), one row a judgment of a final call.

        Probabilities have the shape (rows, longest list), with NaN for what is missing; None if
        no judgment has any.
        """
        # FINAL costs a join over all judgments, and most runs ask no call twice.
        again = self._db.rows("SELECT 1 FROM calls WHERE run = ? AND NOT final LIMIT 1", [run])
        only_final = f"AND {FINAL}" if again else ""
        ((longest,),) = self._db.rows(
            "SELECT coalesce(max(len(p)), 0) FROM judgments WHERE run = ?", [run]
        )
        p = f", list_resize(coalesce(p, []), {longest}, 'nan'::REAL) AS p" if longest else ""
        columns = self._db.arrow(
            f"""
            SELECT {", ".join(JUDGMENT_COLUMNS)}{p}
            FROM judgments j
            WHERE run = ? {only_final}
            ORDER BY condition, call, slot, rowid
            """,
            [run],
        )
        rows = columns.select(JUDGMENT_COLUMNS).to_pandas()
        rows = rows.astype(dict.fromkeys(FRACTIONS, np.float64))
        if not longest:
            return rows, None
        flat = columns.column("p").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return rows, flat.astype(np.float64).reshape(-1, longest)

    def _items(self, run: int, *, lengths: bool) -> pd.DataFrame:
        """Return a run's items.

        ``lengths``: also LENGTHS of comparisons, if they or the texts are kept.
        """
        columns, source = ", ".join((*ITEM_COLUMNS, "unit_text")), "run_items WHERE run = ?"
        if lengths:
            columns += f", {', '.join(LENGTHS)}"
            source = f"({WITH_LENGTHS})"
        frame = with_none(self._db.frame(f"SELECT {columns} FROM {source} ORDER BY item", [run]))
        ratings = [json.loads(text) for text in frame["ratings"]]
        return frame.assign(ratings=pd.Series(ratings, dtype=object))

    def texts(self, id: str) -> pd.DataFrame:
        """Return the TEXTS of a run's items, one row an item, empty if none is kept."""
        columns = ", ".join(f"coalesce(texts->>'$.{name}', '') AS {name}" for name in TEXTS)
        return self._db.frame(
            f"SELECT {columns} FROM {ITEMS} ORDER BY item", [self.run(id).number]
        ).astype(object)

    def calls(self, id: str) -> pd.DataFrame:
        """Return CALL_COLUMNS of the final calls in the order of their numbers."""
        sql = f"SELECT {', '.join(CALL_COLUMNS)} FROM calls WHERE run = ? AND final ORDER BY call"
        return self._db.frame(sql, [self.run(id).number])

    def last_calls(self, id: str, judge: str, most: int) -> pd.DataFrame:
        """Return the times and tokens of a judge's last calls that did not fail.

        Calls without a time, for example those of a log, are left out.
        """
        sql = """
            SELECT asked, seconds, tokens_in, coalesce(cached, 0) AS cached, tokens_out
            FROM calls
            JOIN conditions k USING (run, condition)
            WHERE run = ? AND final AND k.body->>'judge' = ? AND coalesce(error, '') = ''
                AND asked IS NOT NULL AND seconds > 0 AND tokens_in > 0
            ORDER BY asked DESC
            LIMIT ?
        """
        return self._db.frame(sql, [self.run(id).number, judge, most])

    @property
    def _reading(self) -> str:
        """Return READING as columns of a query.

        A file of an earlier lab that is open for reading only does not have them.
        """
        if self._db.has_column("judgments", "reader"):
            return "coalesce(why, '') AS why, coalesce(form, '') AS form, reader"
        return "'' AS why, '' AS form, NULL::SMALLINT AS reader"

    def keys(self, id: str) -> list[tuple[str, int]]:
        """Return (key, number) of each final call."""
        kept = "SELECT key, call FROM calls WHERE run = ? AND final"
        return self._db.rows(kept, [self.run(id).number])

    def readings(self, id: str) -> pd.DataFrame:
        """Return READING of each judgment of a final call, with its call and item."""
        sql = f"""
            SELECT call, item, {self._reading}
            FROM judgments j
            WHERE run = ? AND {FINAL}
            ORDER BY call, slot
        """
        return self._db.frame(sql, [self.run(id).number])

    def reasons(self, id: str) -> dict[str, int]:
        """Count why judgments of final calls have no score, the commonest reason first.

        If no reason was kept, their status gives it.
        """
        sql = f"""
            SELECT
                CASE
                    WHEN why <> '' THEN why
                    WHEN status = {int(Status.ERROR)} THEN 'failed calls'
                    WHEN status = {int(Status.TRUNCATED)} THEN 'cut at max_tokens'
                    WHEN status = {int(Status.REFUSED)} THEN 'refused'
                    ELSE ''
                END AS reason,
                count(*) AS n
            FROM (
                SELECT status, {self._reading}
                FROM judgments j
                WHERE run = ? AND {FINAL}
            )
            WHERE status <> 0
            GROUP BY reason
            ORDER BY n DESC, reason
        """
        return dict(self._db.rows(sql, [self.run(id).number]))

    def not_read(self, id: str) -> str:
        """Say how many judgments have no score and why; "" if all have one."""
        asked = f"SELECT count(*) FROM judgments j WHERE run = ? AND {FINAL}"
        ((judgments,),) = self._db.rows(asked, [self.run(id).number])
        return not_read(self.reasons(id), judgments)

    def lost_by_judge(self, ids: Sequence[str]) -> dict[str, dict[str, tuple[int, int]]]:
        """Return, by run's ID and judge, how many judgments have no score, and how many there are.

        One query for a whole page of the list of runs.
        """
        rows = self._db.rows(
            f"""
            SELECT r.id, k.body->>'judge', count(*) FILTER (j.status <> 0), count(*)
            FROM judgments j
            JOIN runs r USING (run)
            JOIN conditions k USING (run, condition)
            WHERE r.id IN (SELECT unnest(?::VARCHAR[])) AND {FINAL}
            GROUP BY ALL
            """,
            [list(ids)],
        )
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for run, judge, lost, asked in rows:
            found.setdefault(run, {})[judge] = (lost, asked)
        return found

    def free_masses(self, id: str) -> dict[str, tuple[int, float]]:
        """Return, by judge, how many judgments have no score, and the median probability that its
        replies gave to the labels before any constraint. A judge that reports none is left out.
        """
        rows = self._db.rows(
            f"""
            SELECT k.body->>'judge', count(*) FILTER (j.status <> 0), median(j.mass)
            FROM judgments j
            JOIN conditions k USING (run, condition)
            WHERE j.run = ? AND {FINAL}
            GROUP BY ALL
            """,
            [self.run(id).number],
        )
        return {judge: (lost, mass) for judge, lost, mass in rows if mass is not None}

    def judge_words(self, ids: Sequence[str]) -> dict[str, Any]:
        """Return what ``keep_judge_words`` kept of these runs, by ID. It may be out of date."""
        if not self._db.has_column("objects", "body"):
            return {}
        sql = "SELECT id, body FROM objects WHERE kind = ? AND id IN (SELECT unnest(?::VARCHAR[]))"
        return {id: json.loads(body) for id, body in self._db.rows(sql, [JUDGE_WORDS, list(ids)])}

    def readers(self, id: str) -> set[int | None]:
        """Return the versions of the reader that made the judgments of final calls.

        None among them: not known.
        """
        sql = f"""
            SELECT DISTINCT reader
            FROM (
                SELECT {self._reading}
                FROM judgments j
                WHERE run = ? AND {FINAL}
            )
        """
        return {version for (version,) in self._db.rows(sql, [self.run(id).number])}

    def keeps_prompts(self, id: str) -> bool:
        """Return whether an import brought prompts as they were sent."""
        kept = "SELECT 1 FROM calls WHERE run = ? AND prompt IS NOT NULL LIMIT 1"
        return bool(self._db.rows(kept, [self.run(id).number]))

    # ---- for people to read

    def judgments(
        self,
        id: str,
        *,
        condition: int | None = None,
        item: int | str | None = None,
        position: int | None = None,
        score: float | None = None,
        status: str | None = None,
        ordering: str | None = None,
        criterion: str | None = None,
        text: str | None = None,
        calls: Sequence[int] | None = None,
        limit: int | None = 200,
        offset: int = 0,
    ) -> pd.DataFrame:
        """Return judgments for people to read, in the order of their calls.

        Args:
            item: its number or its ID.
            position: from 1.
            status: ok, unparsed, refused, truncated, error, or “failed” for all but ok.
            ordering: as in the column, for example ``3 1 2``.
            text: part of an ID, a reply or an answer, whatever its case.
            calls: only these, by their numbers.

        Columns: call, condition, item, item_id, criterion, ordering, labels, slot, repeat, status,
        score, position, expected, mass, reply, error, kind, note, why, form, reader.

        Raises LabError for a status that does not exist.
        """
        run = self.run(id).number
        filters = [
            Filter("j.condition = ?", condition),
            Filter("j.position = ?", position),
            Filter("j.score = ?", score),
            Filter("j.item = ?" if isinstance(item, int) else "i.item_id = ?", item),
            Filter("i.criterion = ?", criterion),
        ]
        if ordering is not None:
            rows = self._db.rows("SELECT ordering, shown FROM orderings WHERE run = ?", [run])
            same = [code for code, shown in rows if order_text(json.loads(shown)) == ordering]
            filters.append(Filter("list_contains(?, j.ordering)", same))
        if calls is not None:
            filters.append(Filter("list_contains(?, j.call)", list(map(int, calls))))
        if status is not None:
            filters.append(_status_filter(status))
        if text:
            about = "concat_ws(chr(10), i.item_id, c.text, i.texts ->> 'response')"
            filters.append(Filter(f"contains(lower({about}), lower(?))", text))
        given = [each for each in filters if each.value is not None]
        tests = " AND ".join(("j.run = ?", FINAL, *(each.test for each in given)))
        frame = self._db.frame(
            f"""
            SELECT
                j.call, j.condition, j.item, i.item_id, i.criterion,
                o.shown AS ordering, o.labels, j.slot, j.repeat, j.status,
                j.score, j.position, j.expected, j.mass,
                c.text AS reply, c.error, c.kind, c.note, {self._reading}
            FROM judgments j
            JOIN {ITEMS} i ON i.item = j.item
            JOIN orderings o ON o.run = j.run AND o.ordering = j.ordering
            LEFT JOIN calls c ON c.run = j.run AND c.call = j.call
            WHERE {tests}
            ORDER BY j.call, j.slot
            LIMIT ? OFFSET ?
            """,
            [
                run,
                run,
                *(each.value for each in given),
                NO_LIMIT if limit is None else limit,
                offset,
            ],
        )
        frame["ordering"] = [order_text(json.loads(shown)) for shown in frame["ordering"]]
        frame["labels"] = [json.loads(labels) for labels in frame["labels"]]
        frame["status"] = [STATUSES[code] for code in frame["status"]]
        return frame

    def write_parquet(self, id: str, path: Path, of_items: pd.DataFrame | None = None) -> Path:
        """Write a run's judgments as one Parquet file.

        It is written in pieces, so memory does not grow with the run. A file of that name stays
        whole until the new one is. ``of_items``: condition, item, and one more column to write.
        """
        aside = path.with_name(f".{path.name}.part")
        with in_words(str(path)), self._db.cursor() as cursor:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                column, join = "", ""
                if of_items is not None and len(of_items):
                    cursor.register("of_items", of_items)
                    column = f", n.{of_items.columns[-1]}"
                    join = "LEFT JOIN of_items n ON n.condition = j.condition AND n.item = j.item"
                sql = JUDGED.format(column=column, join=join)
                judged = cursor.sql(sql, params=[STATUSES, self.run(id).number])
                rows = judged.to_arrow_reader(ROW_GROUP)
                with parquet.ParquetWriter(aside, rows.schema, compression="zstd") as file:
                    for batch in rows:
                        file.write_batch(batch)
                aside.replace(path)
            finally:
                aside.unlink(missing_ok=True)
        return path

    def call(self, id: str, call: int) -> dict[str, Any]:
        """Return a call: its reply, tokens, order shown, the text it judged, what its items got.

        Raises LabError for a number that the run has no judgment of.
        """
        run = self.run(id)
        outcomes = self._db.arrow(
            """
            SELECT j.* EXCLUDE (run, call), i.criterion AS target, o.shown, o.labels
            FROM judgments j
            JOIN run_items i USING (run, item)
            JOIN orderings o USING (run, ordering)
            WHERE run = ? AND call = ?
            ORDER BY slot
            """,
            [run.number, call],
        ).to_pylist()
        if not outcomes:
            raise LabError(
                f"“{run.name}” has no call {call}. “rubriclab judgments” lists its calls."
            )
        first = outcomes[0]
        shown, labels = json.loads(first["shown"]), json.loads(first["labels"])
        kept = self._db.arrow(
            "SELECT * EXCLUDE (run, text), text AS reply FROM calls WHERE run = ? AND call = ?",
            [run.number, call],
        ).to_pylist()
        facts = kept[0] if kept else {"reply": None}  # an import may have judgments without calls
        return facts | {
            "call": call,
            "condition": first["condition"],
            "repeat": first["repeat"],
            "status": STATUSES[facts.get("status", first["status"])],
            "shown": shown,
            "labels": labels,
            "ordering": order_text(shown),
            "item": self.item(run.id, first["item"]),
            "outcomes": [outcome | {"status": STATUSES[outcome["status"]]} for outcome in outcomes],
        }

    def conditions(self) -> dict[str, list[Condition]]:
        """Return the conditions of every run in their order, by the run's ID."""
        asked: dict[str, list[Condition]] = {}
        for id, body in self._db.rows(
            "SELECT id, body FROM conditions JOIN runs USING (run) ORDER BY run, condition"
        ):
            asked.setdefault(id, []).append(condition_of(json.loads(body)))
        return asked

    def ratings(self, id: str) -> dict[int, dict[str, float]]:
        """Return what people gave each item of a run that anybody rated: item, rater, score."""
        rows = self._db.rows(f"SELECT item, ratings {RATED} AND ratings <> '{{}}'", [id])
        return {item: json.loads(given) for item, given in rows}

    def item(self, id: str, item: int) -> dict[str, Any]:
        """Return an item of a run by its code: names, ratings, and texts, which may be empty."""
        sql = f"SELECT item, {', '.join(ITEM_COLUMNS)}, texts FROM {ITEMS} WHERE item = ?"
        (row,) = self._db.arrow(sql, [self.run(id).number, item]).to_pylist()
        texts = dict.fromkeys(TEXTS, "") | {"columns": {}} | json.loads(row.pop("texts") or "{}")
        return {**row, "ratings": json.loads(row["ratings"]), **texts}


def _status_filter(status: str) -> Filter:
    """Return the filter for a status by its name. Raises LabError for one that does not exist."""
    if status == "failed":
        return Filter("j.status <> ?", 0)
    if status.lower() not in STATUSES:
        raise LabError(
            f"Unknown status “{shorten(status)}”. Use one of {', '.join(STATUSES)}, failed."
        )
    return Filter("j.status = ?", STATUSES.index(status.lower()))


def with_none(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same cells as objects, with None for what is missing."""
    return frame.astype(object).where(frame.notna(), None)


def condition_of(body: Mapping[str, Any]) -> Condition:
    """Return a condition from the JSON it was kept as, whose lists become tuples."""
    lists = {name: tuple(body.get(name, ())) for name in ("scores", "targets", "labels")}
    return Condition(**{**body, **lists})
