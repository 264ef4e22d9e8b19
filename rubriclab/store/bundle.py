"""A run in, one zip file out, and the other way: written whole from a store or a table, read with
nothing trusted.

Parts: ``study.json`` (format 2, id, name, state, study, conditions, orderings, planned, reading,
made_with), ``items.parquet``, ``judgments.parquet`` (p1 ... pn where known), ``calls.parquet``,
``rows.csv``, ``made_with.json``.
"""

import hashlib
import io
import json
import lzma
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

from rubriclab.data.limits import MAX_RATING, MAX_UNPACKED, MB, checked_file
from rubriclab.data.sample import recorded_runs
from rubriclab.data.tables import json_value, parquet_table
from rubriclab.model.judgment import (
    ITEM_COLUMNS,
    JUDGMENT_COLUMNS,
    Condition,
    JudgmentTable,
    Ordering,
    Status,
    count_notes,
)
from rubriclab.model.study import ReadingPart, stored_reading, validated
from rubriclab.model.text import LabError, digest, shorten, storable
from rubriclab.store.read import CALL_COLUMNS, TEXTS, WHOLE, condition_of, with_none
from rubriclab.store.store import STATES, Store

FORMAT = 2
MAX_JSON = 20 * MB
MAX_POSITIONS = 1_000
MAX_SCORE = 1e6
MOST_WHY = 120
"""Characters of the reason why a judgment has no score."""
PlannedCalls = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
CALL_TEXTS = ("key", "text", "finish", "error", "kind", "model", "sent", "prompt", "note")
# What each column may hold; anything else would falsify a result or not fit into the store.
RANGES: dict[str, tuple[float, float]] = {
    "call": (0, 2**31 - 1),
    "slot": (0, 32_767),
    "repeat": (0, 32_767),
    "status": (0, len(Status) - 1),
    "position": (0, MAX_POSITIONS),
    "score": (-MAX_SCORE, MAX_SCORE),
    "expected": (-MAX_SCORE, MAX_SCORE),
    "mass": (-1e-6, 1.001),
}


def bundle_bytes(
    table: JudgmentTable, store: Store | None = None, run: str | None = None, rows_csv: str = ""
) -> bytes:
    """The zip of a table of judgments; with its store also texts, replies and the study."""
    items, study = table.items, {"name": table.name}
    calls = table.rows.drop_duplicates("call")[["call", "condition", "status"]]
    if store is not None and run is not None:
        items = items.drop(columns=[name for name in TEXTS if name in items]).join(store.texts(run))
        study = store.study(run)
        kept = store.calls(run)
        calls = kept if len(kept) else calls
    head = {
        "format": FORMAT,
        "id": table.run,
        "name": table.name,
        "state": table.state,
        "study": study,
        "conditions": [condition.document() for condition in table.conditions],
        "orderings": [asdict(ordering) for ordering in table.orderings],
        "planned": list(table.planned),
        "reading": dict(table.reading),
        "made_with": dict(table.made_with),
    }
    rows = table.rows[list(JUDGMENT_COLUMNS)]
    if store is not None and run is not None and store.readers(run) - {None}:
        rows = rows.merge(store.readings(run), on=["call", "item"], how="left", validate="1:1")
    if table.probabilities is not None:
        width = table.probabilities.shape[1]
        names = [f"p{k + 1}" for k in range(width)]
        rows = pd.concat(
            [rows, pd.DataFrame(table.probabilities, columns=names, dtype=np.float32)], axis=1
        )
    ratings = [json.dumps(given, ensure_ascii=False) for given in items["ratings"]]
    parts: dict[str, bytes] = {
        "study.json": json.dumps(head, ensure_ascii=False, indent=1, default=str).encode(),
        "items.parquet": _parquet(items.assign(ratings=ratings)),
        "judgments.parquet": _parquet(rows),
        "calls.parquet": _parquet(calls),
        "rows.csv": rows_csv.encode(),
        "made_with.json": json.dumps(
            dict(table.made_with), ensure_ascii=False, default=str
        ).encode(),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            # Without a time: the same run is the same file.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def import_bundle(store: Store, path: str | Path) -> str:
    """Keep a bundle's run in a store; the same one again is there already. Returns the run's id."""
    table, calls, study = read_parts(path)
    return store.add_table(table, calls, study, origin=f"imported from {Path(path).name}")


def read_bundle(path: str | Path) -> JudgmentTable:
    """A bundle's judgments, without a store. Raises LabError naming part, row and column of what
    cannot be.
    """
    return read_parts(path)[0]


def read_parts(path: str | Path) -> tuple[JudgmentTable, pd.DataFrame, dict[str, Any]]:
    """(judgments, calls with their replies, study) of a bundle; every part bounded and checked,
    nothing run or sent.
    """
    path = checked_file(path)
    name = shorten(path.name)
    try:
        with (
            zipfile.ZipFile(path) as archive,
            tempfile.TemporaryDirectory(prefix="rubriclab-") as folder,
        ):
            _refuse_members(name, archive)
            study = f"{name}, study.json"
            head = json_value(
                _content(name, archive, "study.json", MAX_JSON).decode("utf-8-sig"), study
            )
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                made = shorten(str(head.get("format"))) if isinstance(head, dict) else "none"
                raise LabError(
                    f"{name} has the format {made}, and this rubriclab reads the format {FORMAT}: "
                    f"update it, or export "
                    "the run again."
                )
            parts = []
            for part in ("items", "judgments", "calls"):
                file = Path(folder, f"{part}.parquet")
                content = _content(name, archive, file.name, MAX_UNPACKED)
                file.write_bytes(content)
                if part == "judgments":
                    own = hashlib.sha256(content).hexdigest()
                    # The id of a recorded example is taken, unless it is that example.
                    if recorded_runs().get(str(head.get("id")), own) != own:
                        head["id"] = digest(head["id"], own)[:12]
                parts.append(
                    Part(
                        f"{name}, {file.name}",
                        parquet_table(file, f"{name}, {file.name}").to_pandas(),
                    )
                )
                file.unlink()
        items, judgments, calls = parts
        table = _table(_storable(head), items, judgments, study)
        kept = {name: head.get(name) or {} for name in ("study", "made_with")}
        for part_of_head, value in kept.items():
            if not isinstance(value, dict):
                raise LabError(f"{study}: {part_of_head} is no table. Export the run again.")
        known = _calls(calls, table)
        if "note" in known:
            noted = known[["condition", "note"]].assign(calls=1)
            table = replace(table, notes=count_notes(noted.itertuples(index=False, name=None)))
        return table, known, dict(kept["study"])
    except LabError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        OSError,
        EOFError,
        RuntimeError,
        UnicodeError,
    ) as fault:
        raise LabError(
            f"{name} is not a whole bundle of a run: {shorten(str(fault), 200)}. Export it again."
        ) from None
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError) as fault:
        why = shorten(f"{type(fault).__name__}: {fault}", 160)
        raise LabError(
            f"{name}: a part of another form than a run's ({why}). Export the run again."
        ) from None


def _refuse_members(name: str, archive: zipfile.ZipFile) -> None:
    seen: set[str] = set()
    for member in archive.infolist():
        part = member.filename
        if part in seen or "/" in part or "\\" in part or part.startswith(".") or ":" in part:
            why = "stands twice" if part in seen else "leads out of the file"
            raise LabError(
                f"{name} is refused: “{shorten(part)}” in it {why}. Export the run again."
            )
        if stat.S_ISLNK(member.external_attr >> 16):
            raise LabError(
                f"{name} is refused: “{shorten(part)}” in it is a link. Export the run again."
            )
        seen.add(part)


def _content(name: str, archive: zipfile.ZipFile, part: str, most: int) -> bytes:
    """A member's bytes, read no further than it may be long whatever the directory says of it."""
    if part not in archive.namelist():
        raise LabError(f"{name} is no bundle of a run: it has no {part}. Export the run again.")
    with archive.open(part) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise LabError(f"{name}: {part} unpacks to more than {most // MB} MB; that much is read.")
    return content


def _storable(value: Any) -> Any:
    """A value of JSON whose texts, also the names of its fields, can be kept."""
    if isinstance(value, dict):
        return {storable(name): _storable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_storable(part) for part in value]
    return storable(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Part:
    """A table of a bundle, and how messages name it."""

    name: str
    frame: pd.DataFrame

    def refuse(self, column: str, bad: Any, expected: str) -> None:
        """Raises LabError naming the first row in which ``bad`` holds, its value and how many more
        there are.
        """
        where = np.flatnonzero(bad)
        if where.size:
            cell = self.frame[column].iloc[int(where[0])]
            missing = cell is None or (isinstance(cell, float) and np.isnan(cell))
            value = "an empty cell" if missing else shorten(str(cell))
            more = f", and {where.size - 1:,} more rows" if where.size > 1 else ""
            raise LabError(
                f"{self.name}, row {where[0] + 1:,}, column {column}: {value} is not "
                f"{expected}{more}."
            )

    def numbers(self, column: str, low: float, high: float) -> np.ndarray:
        """A column as numbers within its limits: whole ones, or fractions with NaN for what is
        missing.
        """
        given = self.frame[column]
        values = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        whole, missing = column in WHOLE, np.isnan(values)
        bad = np.where(missing, given.notna().to_numpy() | whole, (values < low) | (values > high))
        bad |= whole & ~missing & (values != np.floor(values))
        self.refuse(
            column,
            bad,
            f"{'a whole number' if whole else 'a number'} from {low:,.10g} to {high:,.10g}",
        )
        return values.astype(np.int64) if whole else values

    def require(self, columns: Sequence[str]) -> None:
        missing = [column for column in columns if column not in self.frame]
        if missing:
            raise LabError(
                f"{self.name} lacks the columns {', '.join(missing[:6])}. Export the run again."
            )


def _table(head: Mapping[str, Any], items: Part, judgments: Part, name: str) -> JudgmentTable:
    conditions = tuple(_condition(body, name) for body in head["conditions"])
    orderings = tuple(
        Ordering(tuple(part["shown"]), tuple(map(str, part["labels"])))
        for part in head["orderings"]
    )
    for ordering in orderings:
        known = all(
            isinstance(part, str | int | float) and not isinstance(part, bool)
            for part in ordering.shown
        )
        labelled = len(ordering.labels) in (0, len(ordering.shown))
        if not known or not labelled or len(ordering.shown) > MAX_POSITIONS:
            raise LabError(f"{name}: “{shorten(str(ordering.shown), 80)}” is no ordering.")
    planned = msgspec.convert(head.get("planned") or [], tuple[PlannedCalls, ...])
    if planned and len(planned) != len(conditions):
        raise LabError(
            f"{name}: planned has {len(planned)} numbers; expected one for each of "
            f"{len(conditions)} conditions."
        )
    kept_items = _items(items)
    rows, probabilities = _judgments(judgments, conditions, orderings, Part(items.name, kept_items))
    state, key, title = str(head.get("state")), str(head["id"]), str(head["name"])[:200]
    if (
        state in ("running", "planned")
        or state not in STATES
        or (state == "finished" and sum(planned) > len(rows))
    ):
        state = "interrupted"
    return JudgmentTable(
        run=key if re.fullmatch(r"[\w.-]{1,64}", key) else digest(key)[:12],
        name=title if title.strip() else "Run",
        conditions=conditions,
        items=kept_items,
        orderings=orderings,
        rows=rows,
        planned=planned,
        probabilities=probabilities,
        state=state,
        made_with=dict(head.get("made_with") or {}),
        reading=stored_reading(
            validated(ReadingPart, head.get("reading") or {}, f"{name}: ").model_dump(
                mode="json", exclude_unset=True
            )
        ),
    )


def _condition(body: Any, name: str) -> Condition:
    """A condition whose numbers some result can be made of."""
    msgspec.convert(body, Condition)
    condition = condition_of(body)
    judge = shorten(condition.judge)
    if len(condition.scores) > MAX_POSITIONS or any(
        abs(score) > MAX_SCORE for score in condition.scores
    ):
        raise LabError(f"{name}: the scale of “{judge}” is not of numbers from -1e6 to 1e6.")
    if any(b <= a for a, b in pairwise(condition.scores)):
        raise LabError(
            f"{name}: the scale of “{judge}” does not ascend: {shorten(str(condition.scores))}."
        )
    if not (condition.chooses or condition.scores):
        raise LabError(f"{name}: “{judge}” has no scores to choose from.")
    least = 2 if condition.chooses else int(condition.reorder == "responses")
    most = 2 if condition.reorder == "pairs" else MAX_POSITIONS
    if not least <= condition.positions <= most:
        given = f"positions is {condition.positions}; expected {least} to {most}"
        raise LabError(f"{name}: {given} where {condition.reorder} are reordered.")
    return condition


def _judgments(
    part: Part, conditions: Sequence[Condition], orderings: Sequence[Ordering], items: Part
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """(JUDGMENT_COLUMNS sorted by condition and call, probabilities or None), each row one that a
    run can have.
    """
    part.require(JUDGMENT_COLUMNS)
    if part.frame.empty:
        raise LabError(
            f"{part.name} has no judgments: nothing was asked yet. Export the run once it has "
            f"answers."
        )
    known = {"condition": len(conditions), "item": len(items.frame), "ordering": len(orderings)}
    limits = RANGES | {column: (0, entries - 1) for column, entries in known.items()}
    frame = pd.DataFrame(
        {column: part.numbers(column, *limits[column]) for column in JUDGMENT_COLUMNS}
    )
    if "reader" in part.frame:
        frame["reader"] = pd.array(part.numbers("reader", 0, 32_767), dtype="Float64")
        for name in ("why", "form"):
            given = part.frame[name] if name in part.frame else [None] * len(frame)
            frame[name] = [
                storable(text)[:MOST_WHY] if isinstance(text, str) and text else None
                for text in given
            ]
    lengths = np.array([len(ordering.shown) for ordering in orderings])
    part.refuse(
        "position", frame["position"] > lengths[frame["ordering"]], "a position in the list shown"
    )
    part.refuse(
        "score", (frame["status"] > 0) & frame["score"].notna(), "missing, as its status says"
    )
    reorder = np.array([condition.reorder for condition in conditions])[frame["condition"]]
    positions = np.array([condition.positions for condition in conditions])[frame["condition"]]
    part.refuse(
        "slot", (reorder == "responses") & (frame["slot"] >= positions), "one of the call's answers"
    )
    asked_of = np.array([condition.dataset for condition in conditions], dtype=object)
    named = items.frame["dataset"].to_numpy(dtype=object)
    part.refuse(
        "item",
        named[frame["item"]] != asked_of[frame["condition"]],
        "an item of the data set that its condition asks",
    )
    unnamed = items.frame["criterion"].isna().to_numpy()[frame["item"]]
    part.refuse("item", (reorder == "criteria") & unnamed, "an item under a criterion")
    part.refuse("call", frame.duplicated(["call", "item"]), "a call that stands once for each item")
    first = frame.groupby("call", sort=False)["condition"].transform("min")
    part.refuse("call", first != frame["condition"], "a call of one condition")
    once = ["condition", "item", "ordering", "slot", "repeat"]
    part.refuse(
        "repeat",
        (reorder != "responses") & frame.duplicated(once),
        "one that item and order have once",
    )
    ends = np.array(
        [
            (condition.scores[:1] + condition.scores[-1:]) or (-np.inf, np.inf)
            for condition in conditions
        ]
    )
    least, most = ends[frame["condition"]].T
    part.refuse(
        "expected",
        (frame["expected"] < least - 1e-3) | (frame["expected"] > most + 1e-3),
        "within its scale",
    )
    scales = {
        (code, score) for code, condition in enumerate(conditions) for score in condition.scores
    }
    scored = frame.loc[np.isfinite(least) & frame["score"].notna(), ["condition", "score"]]
    foreign = scored.index[~pd.MultiIndex.from_frame(scored).isin(scales or [(0, 0)])]
    part.refuse("score", frame.index.isin(foreign), "a score of its condition")
    shown = pd.Series(
        [entry for ordering in orderings for entry in ordering.shown] + [None], dtype=object
    )
    entries = (np.cumsum(lengths) - lengths)[frame["ordering"]] + np.maximum(
        frame["position"] - 1, 0
    )
    other = (pd.to_numeric(shown, errors="coerce").to_numpy()[entries] != frame["score"]) | (
        frame["position"] < 1
    )
    part.refuse(
        "score",
        (reorder == "options") & (frame["status"] == 0) & other,
        "what stood at its position",
    )
    _refuse_foreign_orders(part, frame, conditions, orderings)
    names = [
        name for name in map(str, part.frame.columns) if name[:1] == "p" and name[1:].isdigit()
    ][:MAX_POSITIONS]
    shares = [
        part.numbers(name, *RANGES["mass"])
        for name in sorted(names, key=lambda name: int(name[1:]))
    ]
    order = np.lexsort((frame["slot"], frame["call"], frame["condition"]))
    return frame.iloc[order].reset_index(drop=True), np.column_stack(shares)[
        order
    ] if shares else None


def _refuse_foreign_orders(
    part: Part,
    frame: pd.DataFrame,
    conditions: Sequence[Condition],
    orderings: Sequence[Ordering],
) -> None:
    """Raise LabError for a row whose list does not show its condition's options or criteria, each
    of them once.
    """
    pairs = frame[["condition", "ordering"]].drop_duplicates()
    bad = set()
    for code, ordering in pairs.itertuples(index=False):
        condition, shown = conditions[code], orderings[ordering].shown
        listed = {"options": condition.scores, "criteria": condition.targets}
        known: set[Any] = {*listed.get(condition.reorder, shown)}
        if condition.reorder in listed and len({*shown} & known) != len(shown):
            bad.add((code, ordering))
    rows = zip(frame["condition"], frame["ordering"], strict=True)
    part.refuse("ordering", [row in bad for row in rows], "an order of what its condition lists")


def _items(part: Part) -> pd.DataFrame:
    """The known columns of the items, their texts as they can be kept, the ratings as dicts."""
    part.require(ITEM_COLUMNS)
    frame, people = with_none(part.frame), []
    for number, text in enumerate(frame["ratings"]):
        given = _storable(json_value(text, part.name)) if isinstance(text, str) else {}
        if (
            not isinstance(given, dict)
            or len(given) > MAX_POSITIONS
            or not all(
                isinstance(score, int | float) and abs(score) <= MAX_RATING
                for score in given.values()
            )
        ):
            raise LabError(
                f"{part.name}, row {number + 1:,}: “{shorten(str(text))}” are no ratings of people."
            )
        people.append({rater: float(score) for rater, score in given.items()})
    for column in ("item_id", "dataset"):
        part.refuse(column, frame[column].isna() | (frame[column] == ""), "a text")
    columns = [column for column in (*ITEM_COLUMNS, "unit_text", *TEXTS) if column in frame]
    for column in set(columns) - {"ratings"}:
        part.refuse(column, [not isinstance(cell, str | None) for cell in frame[column]], "a text")
    part.refuse(
        "item_id", frame.duplicated(["dataset", "criterion", "item_id"]), "an id that stands once"
    )
    frame = frame[columns].assign(ratings=pd.Series(people, dtype=object))
    return frame if "unit_text" in frame else frame.assign(unit_text=frame["item_id"])


def _calls(part: Part, table: JudgmentTable) -> pd.DataFrame:
    """The known columns of the calls; a reply that is a plain label has to be the score beside
    it.
    """
    part.require(("call", "condition", "status"))
    known = part.frame[[column for column in CALL_COLUMNS if column in part.frame]].copy()
    for column in ("call", "condition", "status"):
        known[column] = part.numbers(column, *RANGES.get(column, (0, len(table.conditions) - 1)))
    part.refuse("call", known["call"].duplicated(), "a call that stands once")
    about = table.rows.groupby("call")[["condition", "status"]].min()
    part.refuse("call", ~known["call"].isin(about.index), "a call that the judgments know")
    if len(known) < len(about):
        raise LabError(
            f"{part.name} has {len(known):,} of {len(about):,} calls. Export the run again."
        )
    for column in ("condition", "status"):
        part.refuse(
            column,
            known[column].to_numpy() != about[column].loc[known["call"]].to_numpy(),
            "its judgments'",
        )
    for column in sorted(set(map(str, known.columns)) - {"call", "condition", "status", "asked"}):
        cells = with_none(part.frame[[column]])[column]
        if column in CALL_TEXTS:
            wrong = [not isinstance(cell, str | None) for cell in cells]
            part.refuse(column, wrong, "a text")
            known[column] = [storable(cell) if cell is not None else None for cell in cells]
        else:
            most = 32_767 if column == "attempt" else 2**31 - 1
            numbers = pd.to_numeric(cells, errors="coerce")
            beyond = cells.notna() & ~numbers.between(0, most)
            part.refuse(column, beyond, f"a number from 0 to {most:,}, or missing")
            known[column] = numbers
    if "key" in known:
        once = known["key"].notna() & known["key"].duplicated()
        part.refuse("key", once, "a key that stands once")
    if "asked" in known:
        cells = part.frame["asked"]
        times = pd.to_datetime(cells, errors="coerce", utc=True, format="ISO8601")
        part.refuse("asked", cells.notna() & times.isna(), "a time")
        known["asked"] = times.dt.tz_localize(None).astype("datetime64[us]")
    if "text" in known:
        _refuse_other_replies(known, table, part.name)
    return known


def _refuse_other_replies(calls: pd.DataFrame, table: JudgmentTable, name: str) -> None:
    options = [
        code for code, condition in enumerate(table.conditions) if condition.reorder == "options"
    ]
    rows = table.rows[table.rows["condition"].isin(options) & (table.rows["status"] == 0)]
    replies = rows.merge(calls[["call", "text"]], on="call")[
        ["call", "ordering", "position", "score", "text"]
    ]
    replies = replies[replies["text"].notna()].drop_duplicates(
        ["ordering", "position", "score", "text"]
    )
    for call, code, position, score, text in replies.itertuples(index=False):
        ordering = table.orderings[code]
        labels = list(ordering.labels or map(str, ordering.shown))
        if text.strip() in labels and labels.index(text.strip()) + 1 != position:
            raise LabError(
                f"{name}: call {call} has the score {score:g} at position {position}, but its "
                f"reply is "
                f"“{shorten(text, 20)}”. The file was changed; export the run again."
            )
