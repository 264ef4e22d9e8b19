"""A store's database in; its runs out: lists, judgments as a table or in words, one call word for
word.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet

from rubriclab.model.consent import NO_CONSENTS, Consent, Consents
from rubriclab.model.ending import not_read
from rubriclab.model.judgment import (
    ITEM_COLUMNS,
    JUDGMENT_COLUMNS,
    NOTED,
    Condition,
    JudgmentTable,
    Ordering,
    Outcome,
    Reply,
    Status,
    count_notes,
    order_text,
)
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
READING = ("why", "form", "reader")
"""Of a judgment: why it has no score, the form of words that gave one, the version of the reader
(NULL: not known).
"""
FRACTIONS = ("score", "expected", "mass")
WHOLE = tuple(name for name in JUDGMENT_COLUMNS if name not in FRACTIONS)
TEXTS = ("response", "instruction", "reference")
# A run's items with what its data sets keep of their texts. ``runs.dataset`` names one data set, or
# several with blanks between them, whose items are told apart by their names.
ITEMS = """(SELECT i.*, t.texts FROM run_items i JOIN runs r ON r.run = i.run
    LEFT JOIN datasets d ON list_contains(string_split(r.dataset, ' '), d.dataset)
        AND (d.dataset = r.dataset OR d.name = i.dataset)
    LEFT JOIN items t ON t.dataset = d.dataset AND t.item = i.source WHERE i.run = ?)"""
RATED = "FROM run_items JOIN runs USING (run) WHERE id = ?"
LENGTHS = {"instruction": "input_length", "response": "output_length"}
# A call that was asked again has an earlier, no longer final answer, whose judgments do not count.
FINAL = "NOT EXISTS (SELECT 1 FROM calls c WHERE c.run = j.run AND c.call = j.call AND NOT c.final)"
STATUSES = [status.name.lower() for status in Status]
ROW_GROUP = 122_880
JUDGED = f"""SELECT k.body->>'judge' AS judge, k.body->>'dataset' AS dataset,
        k.body->>'strategy' AS strategy,
    k.body->>'variant' AS variant, i.item_id, i.criterion, i.block, i.prompt, i.candidate, i.task,
    if(json_type(o.shown, '$[0]') = 'VARCHAR', array_to_string(o.shown::VARCHAR[], '|'),
       array_to_string(o.shown::VARCHAR[], ' ')) AS ordering,
    j.repeat, (?::VARCHAR[])[j.status + 1] AS status, j.score, j.position, j.expected, j.mass, j.p,
        j.call, j.slot
    FROM judgments j JOIN conditions k USING (run, condition) JOIN run_items i USING (run, item)
    JOIN orderings o USING (run, ordering) WHERE j.run = ? AND {FINAL}"""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What lists say of a run. ``done``: calls that have a final answer, ``failed`` of them without
    a score.

    ``content`` names what the run holds now: it changes with each commit and each renaming, and no
    other run of any store ever has it, also after this one was deleted. Caches over a run are kept
    by it, never by ``id`` or ``revision``, which a zip brings along. ``token``: the same for as
    long as this run is in this store. ``dataset``: id of its data set, of several with blanks
    between them; empty where an import had no texts.
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
        return f"{self.token} {self.revision} {self.state} {self.name}"


class Reader:
    """The questions that can be asked of a database; ``Store`` adds what changes it."""

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
        """All runs, newest first; their calls are counted again only after something was
        written.
        """
        known = self._db.writes, dict(self._db.unsaved_states)
        if self._listing is None or self._listing[0] != known:
            self._listing = known, self._read_runs()
        return list(self._listing[1])

    def _read_runs(self) -> list[RunInfo]:
        own_token = "token" if self._db.has_column("runs", "token") else "''"
        rows = self._db.rows(
            f"""
            SELECT r.run, id, name, state, coalesce(reason, ''), planned, created, changed,
                revision, identity, dataset,
                   {own_token},
                   -- an import has judgments without calls
                   coalesce(done, CASE WHEN state IN ('finished', 'failed') THEN planned
                       ELSE 0 END), coalesce(failed, 0)
            FROM runs r LEFT JOIN (SELECT run, count(*) AS done,
                count(*) FILTER (status <> 0) AS failed
                                   FROM calls WHERE final GROUP BY run) c USING (run)
            ORDER BY created DESC, r.run DESC
            """
        )
        bodies: dict[int, list[dict[str, Any]]] = {}
        for run, body in self._db.rows("SELECT run, body FROM conditions ORDER BY run, condition"):
            bodies.setdefault(run, []).append(json.loads(body))
        made = []
        for number, id, name, state, reason, *rest in rows:
            planned, created, changed, revision, identity, dataset, token, done, failed = rest
            token = f"{self._db.serial} {token or created} {number}"
            state, reason = self._db.unsaved_states.get(id, (state, reason))
            if state == "running" and self.read_only:
                state = "interrupted"
            asked = bodies.get(number, [])
            judges = tuple(dict.fromkeys(body["judge"] for body in asked))
            reorder = asked[0]["reorder"] if asked else "options"
            simulated = any(body["simulated"] for body in asked)
            info = RunInfo(
                number=number,
                id=id,
                name=name,
                state=state,
                reason=reason,
                planned=planned,
                created=created,
                changed=changed,
                revision=revision,
                identity=identity,
                dataset=dataset,
                token=token,
                done=done,
                failed=failed,
                judges=judges,
                reorder=reorder,
                simulated=simulated,
            )
            made.append(info)
        return made

    def run(self, text: str) -> RunInfo:
        """A run by its id, a beginning of it that no other has, or its name. Raises LabError naming
        near ones.
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
                raise LabError(
                    f"“{shorten(wanted)}” fits {len(matches)} runs: "
                    f"{', '.join(f'{run.id} ({shorten(run.name, 40)})' for run in matches[:5])}. "
                    f"Give the id of one."
                )
        if not runs:
            raise LabError(f"{self.path} has no runs, so none is called “{shorten(wanted)}”.")
        names = {name: run for run in reversed(runs) for name in (run.id, run.name)}
        near = difflib.get_close_matches(wanted, names, 3, 0.5) or [run.name for run in runs[:3]]
        known = ", ".join(
            f"“{shorten(names[name].name, 40)}” ({names[name].id})" for name in dict.fromkeys(near)
        )
        raise LabError(
            f"The store has no run “{shorten(wanted)}”. Near it: {known}. “rubriclab runs” lists "
            f"all."
        )

    def study(self, id: str) -> dict[str, Any]:
        """The study of a run as it was kept."""
        return self._kept("study", id)

    def final_keys(self, id: str, retry_failed: bool = False) -> set[str]:
        """Keys of the calls that need not be asked again; with ``retry_failed`` only those that
        gave a score.
        """
        more = " AND status = 0" if retry_failed else ""
        sql = f"SELECT key FROM calls WHERE run = ? AND final{more}"
        return {key for (key,) in self._db.rows(sql, [self.run(id).number])}

    def answers(
        self, id: str, keys: Sequence[str], *, errors: bool = False
    ) -> dict[str, tuple[Reply, list[Outcome]]]:
        """Reply and outcomes (by slot) of the calls with these keys.

        Those that ended in an error come with ``errors`` alone.
        """
        run, names = self.run(id).number, (*REPLY, "error") if errors else REPLY
        calls = self._db.arrow(
            f"SELECT call, key, {', '.join(names)} FROM calls WHERE run = ? AND final "
            "AND (? OR status <> ?) AND key IN (SELECT unnest(?))",
            [run, errors, int(Status.ERROR), list(keys)],
        ).to_pylist()
        rows = self._db.arrow(
            "SELECT call, item, slot, status, score, position, expected, mass, p, "
            f"{self._reading} FROM judgments "
            "WHERE run = ? AND call IN (SELECT unnest(?)) ORDER BY call, slot",
            [run, [call["call"] for call in calls]],
        ).to_pylist()
        outcomes: dict[int, list[Outcome]] = {}
        for row in rows:
            row |= {
                "status": Status(row["status"]),
                "p": None if row["p"] is None else tuple(row["p"]),
            }
            outcomes.setdefault(row.pop("call"), []).append(Outcome(**row))
        return {
            call["key"]: (Reply(**{name: call[name] for name in names}), outcomes[call["call"]])
            for call in calls
        }

    def made_with(self, id: str) -> dict[str, Any]:
        """The versions that a run was made with, and what else is known of its making."""
        return self._kept("made_with", id)

    def _kept(self, column: str, id: str) -> dict[str, Any]:
        ((body,),) = self._db.rows(
            f"SELECT {column} FROM runs WHERE run = ?", [self.run(id).number]
        )
        kept: dict[str, Any] = json.loads(body)
        return kept

    def imported(self, id: str) -> bool:
        """Whether a run came as a file: its data, or no data but judgments."""
        keys = self.run(id).dataset.split()
        origins = self._db.rows(
            "SELECT origin FROM datasets WHERE dataset IN (SELECT unnest(?))", [keys]
        )
        return not origins or any(origin.startswith("imported") for (origin,) in origins)

    # ---- what the user has agreed to

    def consents(self) -> Consents:
        """Return which key may be sent where: what was agreed to on this machine, whoever made the
        store.
        """
        if not self._db.has_column("objects", "body"):
            return NO_CONSENTS
        rows = self._db.rows(
            "SELECT body->>'variable', body->>'address', body->>'seal' FROM objects WHERE kind = "
            "'consent'"
        )
        return frozenset(
            Consent(variable, address)
            for variable, address, seal in rows
            if variable and address and seal and is_sealed(seal, "consent", variable, address)
        )

    # ---- as columns

    def table(self, id: str) -> JudgmentTable:
        """All judgments of final calls, sorted by condition and call. Callers cache it by
        ``revision``.
        """
        run = self.run(id)
        number = [run.number]
        study, made_with = self._db.rows("SELECT study, made_with FROM runs WHERE run = ?", number)[
            0
        ]
        conditions = self._db.rows(
            "SELECT body, planned FROM conditions WHERE run = ? ORDER BY condition", number
        )
        asked = tuple(condition_of(json.loads(body)) for body, _ in conditions)
        rows, probabilities = self._judged(run.number)
        # After the judgments: a run that is being asked adds orderings, each with its judgments.
        orderings = self._db.rows(
            "SELECT shown, labels FROM orderings WHERE run = ? ORDER BY ordering", number
        )
        return JudgmentTable(
            run=run.id,
            name=run.name,
            conditions=asked,
            items=self._items(run.number, lengths=any(condition.chooses for condition in asked)),
            orderings=tuple(
                Ordering(tuple(json.loads(order)), tuple(json.loads(names)))
                for order, names in orderings
            ),
            rows=rows,
            planned=tuple(planned for _, planned in conditions),
            probabilities=probabilities,
            state=run.state,
            notes=self._notes(run.number),
            made_with=json.loads(made_with),
            reading=stored_reading(json.loads(study).get("reading") or {}),
        )

    def _notes(self, run: int) -> dict[tuple[int, str], int]:
        """How many final calls of each condition have each of NOTED."""
        wanted = " OR ".join("contains(note, ?)" for _ in NOTED)
        sql = (
            f"SELECT condition, note, count(*) FROM calls WHERE run = ? AND final AND "
            f"({wanted}) "
            f"GROUP BY ALL"
        )
        return count_notes(self._db.rows(sql, [run, *NOTED]))

    def _judged(self, run: int) -> tuple[pd.DataFrame, np.ndarray | None]:
        """(JUDGMENT_COLUMNS, probabilities (rows, longest list) with NaN where one is missing or
        shorter, or None).
        """
        again = self._db.rows("SELECT 1 FROM calls WHERE run = ? AND NOT final LIMIT 1", [run])
        source = f"judgments j WHERE run = ?{f' AND {FINAL}' if again else ''}"
        longest = self._db.rows(
            "SELECT coalesce(max(len(p)), 0) FROM judgments WHERE run = ?", [run]
        )[0][0]
        p = f", list_resize(coalesce(p, []), {longest}, 'nan'::REAL) AS p" if longest else ""
        columns = self._db.arrow(
            f"SELECT {', '.join(JUDGMENT_COLUMNS)}{p} FROM {source} ORDER BY condition, call, "
            f"slot, rowid",
            [run],
        )
        rows = (
            columns.select(JUDGMENT_COLUMNS)
            .to_pandas()
            .astype(dict.fromkeys(FRACTIONS, np.float64))
        )
        if not longest:
            return rows, None
        flat = columns.column("p").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return rows, flat.astype(np.float64).reshape(-1, longest)

    def _items(self, run: int, *, lengths: bool) -> pd.DataFrame:
        """``lengths``: with those of a comparison's question and answers, where their texts are
        kept.
        """
        columns, source = ", ".join((*ITEM_COLUMNS, "unit_text")), "run_items WHERE run = ?"
        if lengths:
            columns += "".join(
                f", length(texts->>'$.{text}') AS {name}" for text, name in LENGTHS.items()
            )
            source = ITEMS
        frame = with_none(self._db.frame(f"SELECT {columns} FROM {source} ORDER BY item", [run]))
        ratings = [json.loads(text) for text in frame["ratings"]]
        return frame.assign(ratings=pd.Series(ratings, dtype=object))

    def texts(self, id: str) -> pd.DataFrame:
        """TEXTS of a run's items, one row an item, empty where none is kept."""
        columns = ", ".join(f"coalesce(texts->>'$.{name}', '') AS {name}" for name in TEXTS)
        return self._db.frame(
            f"SELECT {columns} FROM {ITEMS} ORDER BY item", [self.run(id).number]
        ).astype(object)

    def calls(self, id: str) -> pd.DataFrame:
        """CALL_COLUMNS of the final calls in the order of their numbers."""
        sql = f"SELECT {', '.join(CALL_COLUMNS)} FROM calls WHERE run = ? AND final ORDER BY call"
        return self._db.frame(sql, [self.run(id).number])

    @property
    def _reading(self) -> str:
        """READING as columns; an older file that is open for reading only does not have them."""
        kept = (
            "SELECT 1 FROM duckdb_columns() WHERE table_name = 'judgments' AND column_name = "
            "'reader'"
        )
        if self._db.rows(kept):
            return "coalesce(why, '') AS why, coalesce(form, '') AS form, reader"
        return "'' AS why, '' AS form, NULL::SMALLINT AS reader"

    def keys(self, id: str) -> list[tuple[str, int]]:
        """Return (key, number) of each final call."""
        kept = "SELECT key, call FROM calls WHERE run = ? AND final"
        return self._db.rows(kept, [self.run(id).number])

    def readings(self, id: str) -> pd.DataFrame:
        """READING of each judgment of final calls, with its call and item."""
        kept = f"SELECT call, item, {self._reading} FROM judgments j WHERE run = ? AND {FINAL}"
        return self._db.frame(f"{kept} ORDER BY call, slot", [self.run(id).number])

    def reasons(self, id: str) -> dict[str, int]:
        """Why judgments of final calls have no score, counted, the commonest first; by their status
        where no reason was kept.
        """
        kept = f"""
            SELECT CASE
                WHEN why <> '' THEN why
                WHEN status = {int(Status.ERROR)} THEN 'failed calls'
                WHEN status = {int(Status.TRUNCATED)} THEN 'cut at max_tokens'
                WHEN status = {int(Status.REFUSED)} THEN 'refused'
                ELSE ''
            END AS reason, count(*) AS n
            FROM (SELECT status, {self._reading} FROM judgments j WHERE run = ? AND {FINAL})
            WHERE status <> 0 GROUP BY reason ORDER BY n DESC, reason
        """
        return dict(self._db.rows(kept, [self.run(id).number]))

    def not_read(self, id: str) -> str:
        """Say how many judgments have no score and why: “82 of 240 not read: 70 cut at max_tokens,
        ...”; "" for none.
        """
        asked = f"SELECT count(*) FROM judgments j WHERE run = ? AND {FINAL}"
        ((judgments,),) = self._db.rows(asked, [self.run(id).number])
        return not_read(self.reasons(id), judgments)

    def readers(self, id: str) -> set[int | None]:
        """The versions of the reader that judgments of final calls were read by; None: not
        known.
        """
        kept = (
            f"SELECT DISTINCT reader FROM (SELECT {self._reading} FROM judgments j WHERE run = "
            f"? AND {FINAL})"
        )
        return {version for (version,) in self._db.rows(kept, [self.run(id).number])}

    def keeps_prompts(self, id: str) -> bool:
        """Whether an import brought prompts as they were sent."""
        kept = "SELECT 1 FROM calls WHERE run = ? AND prompt IS NOT NULL LIMIT 1"
        return bool(self._db.rows(kept, [self.run(id).number]))

    # ---- in words

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
        limit: int | None = 200,
        offset: int = 0,
    ) -> pd.DataFrame:
        """Judgments in words, in the order of their calls.

        ``item``: its number or its id; ``position`` from 1; ``status``: ok, unparsed, refused,
        truncated, error, or “failed” for all but ok; ``ordering`` as in the column, ``3 1 2``;
        ``text``: part of an id, a reply or an answer, whatever its case. Columns: call, condition,
        item, item_id, criterion, ordering, labels, slot, repeat, status, score, position, expected,
        mass, reply, error, kind, note, why, form, reader.
        """
        run = self.run(id).number
        filters: dict[str, Any] = {
            "j.condition = ?": condition,
            "j.position = ?": position,
            "j.score = ?": score,
            "j.item = ?" if isinstance(item, int) else "i.item_id = ?": item,
            "i.criterion = ?": criterion,
        }
        if ordering is not None:
            rows = self._db.rows("SELECT ordering, shown FROM orderings WHERE run = ?", [run])
            same = [code for code, shown in rows if order_text(json.loads(shown)) == ordering]
            filters["list_contains(?, j.ordering)"] = same
        if status == "failed":
            filters["j.status <> ?"] = 0
        elif status is not None:
            if status.lower() not in STATUSES:
                raise LabError(
                    f"“{shorten(status)}” is no status; expected one of {', '.join(STATUSES)}, "
                    f"failed."
                )
            filters["j.status = ?"] = STATUSES.index(status.lower())
        if text:
            filters[
                "contains(lower(concat_ws(chr(10), i.item_id, c.text, i.texts ->> 'response')), "
                "lower(?))"
            ] = text
        asked = {test: value for test, value in filters.items() if value is not None}
        frame = self._db.frame(
            f"""
            SELECT j.call, j.condition, j.item, i.item_id, i.criterion, o.shown AS ordering,
                o.labels, j.slot, j.repeat,
                   j.status, j.score, j.position, j.expected, j.mass, c.text AS reply, c.error,
                       c.kind, c.note,
                   {self._reading}
            FROM judgments j
            JOIN {ITEMS} i ON i.item = j.item
            JOIN orderings o ON o.run = j.run AND o.ordering = j.ordering
            LEFT JOIN calls c ON c.run = j.run AND c.call = j.call
            WHERE {" AND ".join(("j.run = ?", FINAL, *asked))} ORDER BY j.call,
                j.slot LIMIT ? OFFSET ?
            """,
            [run, run, *asked.values(), 2**62 if limit is None else limit, offset],
        )
        frame["ordering"] = [order_text(json.loads(shown)) for shown in frame["ordering"]]
        frame["labels"] = [json.loads(labels) for labels in frame["labels"]]
        frame["status"] = [STATUSES[code] for code in frame["status"]]
        return frame

    def write_parquet(self, id: str, path: Path) -> Path:
        """A run's judgments as one Parquet file, for DuckDB, Polars or pandas to read where it
        lies, however large.

        Written in pieces, so memory does not grow with the run; a file that was there stays whole
        until the new one is.
        """
        aside = path.with_name(f".{path.name}.part")
        with in_words(str(path)), self._db.cursor() as cursor:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                rows = cursor.sql(JUDGED, params=[STATUSES, self.run(id).number]).to_arrow_reader(
                    ROW_GROUP
                )
                with parquet.ParquetWriter(aside, rows.schema, compression="zstd") as file:
                    for batch in rows:
                        file.write_batch(batch)
                aside.replace(path)
            finally:
                aside.unlink(missing_ok=True)
        return path

    def call(self, id: str, call: int) -> dict[str, Any]:
        """A call with its reply, tokens, order shown, the text it judged and what each of its items
        got.

        Raises LabError for a number that the run has no judgment of.
        """
        run = self.run(id)
        outcomes = self._db.arrow(
            "SELECT j.* EXCLUDE (run, call), i.criterion AS target, o.shown, o.labels FROM "
            "judgments j "
            "JOIN run_items i USING (run, item) JOIN orderings o USING (run, ordering) "
            "WHERE run = ? AND call = ? ORDER BY slot",
            [run.number, call],
        ).to_pylist()
        if not outcomes:
            raise LabError(f"“{run.name}” has no call {call}.")
        first = outcomes[0]
        shown, labels = json.loads(first["shown"]), json.loads(first["labels"])
        kept = "SELECT * EXCLUDE (run, text), text AS reply FROM calls WHERE run = ? AND call = ?"
        facts = next(iter(self._db.arrow(kept, [run.number, call]).to_pylist()), {"reply": None})
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
        """The conditions of every run, by its id, in their order."""
        asked: dict[str, list[Condition]] = {}
        for id, body in self._db.rows(
            "SELECT id, body FROM conditions JOIN runs USING (run) ORDER BY run, condition"
        ):
            asked.setdefault(id, []).append(condition_of(json.loads(body)))
        return asked

    def ratings(self, id: str) -> dict[int, dict[str, float]]:
        """What people gave each item of a run that anybody rated: item -> rater -> score."""
        rows = self._db.rows(f"SELECT item, ratings {RATED} AND ratings <> '{{}}'", [id])
        return {item: json.loads(given) for item, given in rows}

    def item(self, id: str, item: int) -> dict[str, Any]:
        """Names, ratings and texts (response, instruction, reference, columns) of an item of a run,
        by its code; texts are empty if not kept.
        """
        sql = f"SELECT item, {', '.join(ITEM_COLUMNS)}, texts FROM {ITEMS} WHERE item = ?"
        (row,) = self._db.arrow(sql, [self.run(id).number, item]).to_pylist()
        texts = dict.fromkeys(TEXTS, "") | {"columns": {}} | json.loads(row.pop("texts") or "{}")
        return {**row, "ratings": json.loads(row["ratings"]), **texts}


def with_none(frame: pd.DataFrame) -> pd.DataFrame:
    """The same cells as objects, None where one is missing."""
    return frame.astype(object).where(frame.notna(), None)


def condition_of(body: Mapping[str, Any]) -> Condition:
    """A condition from the JSON it was kept as."""
    lists = {name: tuple(body.get(name, ())) for name in ("scores", "targets")}
    return Condition(**{**body, **lists})
