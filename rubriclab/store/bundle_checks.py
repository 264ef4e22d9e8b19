"""Refuse what no run can hold, part by part, in the zip of a run.

A value that passes here is shown, stored and computed with like one of our own. So every check
stands for a number that would be wrong, or for a column that the store could not keep. Messages
name the part, row and column.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import msgspec
import numpy as np
import pandas as pd

from rubriclab.core.batches import complete_batches
from rubriclab.data.limits import MAX_RATING
from rubriclab.data.tables import json_value
from rubriclab.model.judgment import (
    ITEM_COLUMNS,
    JUDGMENT_COLUMNS,
    LENGTHS,
    Condition,
    JudgmentTable,
    Ordering,
    Status,
)
from rubriclab.model.looks import JudgeLooks, read_looks
from rubriclab.model.study import ReadingPart, stored_reading, validated
from rubriclab.model.text import LabError, digest, shorten, storable
from rubriclab.store.read import CALL_COLUMNS, TEXTS, WHOLE, condition_of, with_none
from rubriclab.store.store import MOST_NAME, STATES

MAX_LENGTH = 1e12
"""Characters or tokens of a text."""
MAX_POSITIONS = 1_000
"""Options or criteria of a list. Columns of probabilities are bounded by it too."""
MAX_SCORE = 1e6
"""Size of a score. Squares of larger ones would leave the precision of a float."""
MAX_SMALLINT, MAX_INT = 32_767, 2**31 - 1
"""What the store's columns SMALLINT and INTEGER hold."""
MOST_WHY = 120
"""Characters of the reason why a judgment has no score."""
TOLERANCE = 1e-3
"""By how many points an expected score may leave its scale: REAL columns round."""
PlannedCalls = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
CALL_TEXTS = ("key", "text", "finish", "error", "kind", "model", "sent", "prompt", "note")
# What each column may hold. Anything else would falsify a result or not fit into the store.
RANGES: dict[str, tuple[float, float]] = {
    "call": (0, MAX_INT),
    "slot": (0, MAX_SMALLINT),
    "repeat": (0, MAX_SMALLINT),
    "status": (0, len(Status) - 1),
    "position": (0, MAX_POSITIONS),
    "score": (-MAX_SCORE, MAX_SCORE),
    "expected": (-MAX_SCORE, MAX_SCORE),
    "mass": (-1e-6, 1.001),  # sums of probabilities, rounded
}


@dataclass(frozen=True)
class Part:
    """A table of a zip, and how messages name it."""

    name: str
    frame: pd.DataFrame

    def refuse(self, column: str, bad: Any, expected: str) -> None:
        """Raise LabError if ``bad`` holds for any row.

        The message names the first such row, its value, and how many more there are.
        """
        where = np.flatnonzero(bad)
        if not where.size:
            return
        cell = self.frame[column].iloc[int(where[0])]
        missing = cell is None or (isinstance(cell, float) and np.isnan(cell))
        value = "an empty cell" if missing else shorten(str(cell))
        more = f", and {where.size - 1:,} more rows" if where.size > 1 else ""
        raise LabError(
            f"{self.name}, row {where[0] + 1:,}, column {column}: {value} is not {expected}{more}. "
            "Export the run again."
        )

    def numbers(self, column: str, low: float, high: float) -> np.ndarray:
        """Return a column as numbers within its limits.

        Whole numbers may not be missing; fractions have NaN for what is missing.
        """
        given = self.frame[column]
        values = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        whole = column in WHOLE
        missing = np.isnan(values)
        # A cell that is there and not a number became NaN too.
        bad_missing = given.notna().to_numpy() | whole
        bad = np.where(missing, bad_missing, (values < low) | (values > high))
        if whole:
            bad |= ~missing & (values != np.floor(values))
        kind = "a whole number" if whole else "a number"
        self.refuse(column, bad, f"{kind} from {low:,.10g} to {high:,.10g}")
        return values.astype(np.int64) if whole else values

    def require(self, columns: Sequence[str]) -> None:
        """Raise LabError if columns are missing."""
        missing = [column for column in columns if column not in self.frame]
        if missing:
            raise LabError(
                f"{self.name}: missing columns {', '.join(missing[:6])}. Export the run again."
            )


# ---- the whole table


def checked_table(
    head: Mapping[str, Any], items: Part, judgments: Part, name: str
) -> JudgmentTable:
    """Return a zip's judgments. ``head``: its ``study.json``, which messages call ``name``."""
    conditions = tuple(_condition(body, name) for body in head["conditions"])
    orderings = tuple(_ordering(body, name) for body in head["orderings"])
    planned = msgspec.convert(head.get("planned") or [], tuple[PlannedCalls, ...])
    if planned and len(planned) != len(conditions):
        raise LabError(
            f"{name}: planned has {len(planned)} numbers; expected one for each of "
            f"{len(conditions)} conditions. Export the run again."
        )
    kept_items = _items(items)
    judged = _Judgments.of(judgments, conditions, orderings, Part(items.name, kept_items))
    reading = validated(ReadingPart, head.get("reading") or {}, f"{name}: ")
    key, title = str(head["id"]), str(head["name"])[:MOST_NAME]
    rows = judged.checked()
    looks = None
    if head.get("looks") is not None:
        looks = read_looks(
            head["looks"],
            items=len(kept_items),
            conditions=conditions,
            planned=planned or (0,) * len(conditions),
        )
    looked = () if looks is None else looks.by_judge(conditions, len(kept_items))
    study = head.get("study")
    asked_here = isinstance(study, dict) and bool(study.get("judges"))
    for own in looked:
        _check_batches(rows, own, grows=not asked_here)
    # The columns of probabilities come in the order of the file, like the rows before sorting.
    probabilities = judged.probabilities()
    by_call = np.lexsort((rows["slot"], rows["call"], rows["condition"]))
    return JudgmentTable(
        # An ID becomes part of file names and of commands.
        run=key if re.fullmatch(r"[\w.-]{1,64}", key) else digest(key)[:12],
        name=title if title.strip() else "Run",
        conditions=conditions,
        items=kept_items,
        orderings=orderings,
        rows=rows.iloc[by_call].reset_index(drop=True),
        planned=planned,
        probabilities=None if probabilities is None else probabilities[by_call],
        state=_state(head.get("state"), planned, rows, looked),
        made_with=dict(head.get("made_with") or {}),
        reading=stored_reading(reading.model_dump(mode="json", exclude_unset=True)),
        looks=looks,
    )


def _check_batches(rows: pd.DataFrame, looks: JudgeLooks, *, grows: bool) -> None:
    """Raise LabError for calls that no batch has, or more of them than are planned in a batch.

    Else a batch could be complete without the calls that it is made of.

    grows: the judgments came in a file that grows (``core/looks.py:growing``). Its last, open
    answer is in no batch, and its calls count in no number.
    """
    mine = rows[np.isin(rows["condition"], looks.conditions)]
    if grows:
        mine = mine[looks.batch[mine["item"].to_numpy(dtype=np.int64)] >= 0]
    batch = looks.batch[mine["item"].to_numpy(dtype=np.int64)]
    calls = mine.assign(batch=batch).drop_duplicates(["condition", "call", "batch"])
    place = np.searchsorted(looks.conditions, calls["condition"].to_numpy(dtype=np.int64))
    made = np.zeros_like(looks.planned)
    outside = bool((batch < 0).any())
    if not outside:
        np.add.at(made, (place, calls["batch"].to_numpy()), 1)
    parted = bool(calls.duplicated(["condition", "call"]).any())
    if outside or parted or bool((made > looks.planned).any()):
        raise LabError(
            f"The looks at “{shorten(looks.scope[0])}” do not fit the calls of "
            f"“{shorten(looks.judge)}”. Export the run again."
        )


def _state(
    given: Any, planned: Sequence[int], rows: pd.DataFrame, looked: Sequence[JudgeLooks]
) -> str:
    """Return the state of a run that nobody asks here.

    A run that calls itself finished with fewer judgments than planned calls is not. One that may
    stop early is not before each of its judges has been looked at: its complete batches alone
    decide what is said of it.
    """
    state = str(given)
    if state not in STATES or state in ("running", "planned"):
        return "interrupted"
    if looked:
        unfinished = any(complete_batches(rows, own) == 0 for own in looked)
    else:
        unfinished = sum(planned) > len(rows)
    return "interrupted" if state == "finished" and unfinished else state


def _ordering(body: Mapping[str, Any], name: str) -> Ordering:
    """Return an order of numbers or names, with labels for all of them or none."""
    ordering = Ordering(tuple(body["shown"]), tuple(map(str, body["labels"])))
    known = all(
        isinstance(entry, str | int | float) and not isinstance(entry, bool)
        for entry in ordering.shown
    )
    labelled = len(ordering.labels) in (0, len(ordering.shown))
    if not known or not labelled or len(ordering.shown) > MAX_POSITIONS:
        raise LabError(
            f"{name}: “{shorten(str(ordering.shown), 80)}” is not an order. Export the run again."
        )
    return ordering


def _condition(body: Any, name: str) -> Condition:
    """Return a condition whose numbers some result can be made of."""
    msgspec.convert(body, Condition)  # the types of its fields
    condition = condition_of(body)
    judge = shorten(condition.judge)
    scores = condition.scores
    again = "Export the run again."
    if len(scores) > MAX_POSITIONS or any(abs(score) > MAX_SCORE for score in scores):
        raise LabError(
            f"{name}: the scale of “{judge}” is not of numbers from -1e6 to 1e6. {again}"
        )
    if any(above <= below for below, above in pairwise(scores)):
        raise LabError(
            f"{name}: the scale of “{judge}” does not ascend: {shorten(str(scores))}. {again}"
        )
    if not condition.chooses and not scores:
        raise LabError(f"{name}: “{judge}” has no scores to choose from. {again}")
    if condition.reorder == "examples":
        _check_examples(condition, name)
    least, most = _position_limits(condition)
    if not least <= condition.positions <= most:
        raise LabError(
            f"{name}: positions is {condition.positions}; expected {least} to {most} for "
            f"{condition.reorder}. {again}"
        )
    return condition


def _check_examples(condition: Condition, name: str) -> None:
    """Refuse examples of which no lab could have shown this many, with these labels, so drawn."""
    labels = condition.labels
    fits = len(labels) in (0, condition.positions) and all(map(math.isfinite, labels))
    alike = bool(labels) and len(set(labels)) == 1
    passages = set(labels) == {0.0, 1.0} or not condition.passages
    large = any(abs(label) > MAX_SCORE for label in labels)
    if condition.drawn or not fits or alike or large or not passages:
        raise LabError(
            f"{name}: the examples of “{shorten(condition.judge)}” have the labels "
            f"{shorten(str(labels))} in {condition.positions} positions"
            f"{', in drawn orders' if condition.drawn else ''}, which no study asks. Export the "
            f"run again."
        )


def _position_limits(condition: Condition) -> tuple[int, int]:
    """Return how few and how many positions a list of this kind has."""
    if condition.reorder == "pairs":
        return 2, 2
    if condition.chooses:
        return 2, MAX_POSITIONS
    if condition.reorder == "examples":
        return 2, MAX_POSITIONS
    if condition.reorder == "responses":
        return 1, MAX_POSITIONS
    return 0, MAX_POSITIONS


# ---- judgments


@dataclass(frozen=True)
class _Judgments:
    """The judgments of a zip while they are checked.

    part: as they came. frame: JUDGMENT_COLUMNS as numbers, row by row the same.
    lengths: of each ordering. reorder, positions: of each row's condition.
    """

    part: Part
    frame: pd.DataFrame
    conditions: Sequence[Condition]
    orderings: Sequence[Ordering]
    items: Part
    lengths: np.ndarray
    reorder: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(
        cls,
        part: Part,
        conditions: Sequence[Condition],
        orderings: Sequence[Ordering],
        items: Part,
    ) -> "_Judgments":
        """Return the judgments with all codes and numbers within their limits."""
        part.require(JUDGMENT_COLUMNS)
        if part.frame.empty:
            raise LabError(
                f"{part.name} has no judgments: nothing was asked yet. Export the run when it has "
                "replies."
            )
        codes = {
            "condition": (0, len(conditions) - 1),
            "item": (0, len(items.frame) - 1),
            "ordering": (0, len(orderings) - 1),
        }
        limits = RANGES | codes
        frame = pd.DataFrame(
            {column: part.numbers(column, *limits[column]) for column in JUDGMENT_COLUMNS}
        )
        if "reader" in part.frame:
            _add_reading(part, frame)
        code = frame["condition"]
        return cls(
            part=part,
            frame=frame,
            conditions=conditions,
            orderings=orderings,
            items=items,
            lengths=np.array([len(ordering.shown) for ordering in orderings]),
            reorder=np.array([condition.reorder for condition in conditions])[code],
            positions=np.array([condition.positions for condition in conditions])[code],
        )

    def checked(self) -> pd.DataFrame:
        """Return the rows, in the order of the file. Raises LabError for one that cannot be."""
        self._refuse_fields()
        self._refuse_items()
        self._refuse_repeats()
        self._refuse_expected()
        self._refuse_scores()
        self._refuse_orders()
        return self.frame

    def _refuse_fields(self) -> None:
        """Refuse fields of a row that do not fit each other."""
        frame = self.frame
        longer = frame["position"] > self.lengths[frame["ordering"]]
        self.part.refuse("position", longer, "a position in the list shown")
        scored = (frame["status"] > 0) & frame["score"].notna()
        self.part.refuse("score", scored, "missing, as its status says")
        beyond = (self.reorder == "responses") & (frame["slot"] >= self.positions)
        self.part.refuse("slot", beyond, "one of the call's answers")

    def _refuse_items(self) -> None:
        """Refuse items that a condition does not ask."""
        frame, items = self.frame, self.items.frame
        asked = np.array([condition.dataset for condition in self.conditions], dtype=object)
        named = items["dataset"].to_numpy(dtype=object)
        foreign = named[frame["item"]] != asked[frame["condition"]]
        self.part.refuse("item", foreign, "an item of the data set that its condition asks")
        unnamed = items["criterion"].isna().to_numpy()[frame["item"]]
        without = (self.reorder == "criteria") & unnamed
        self.part.refuse("item", without, "an item under a criterion")

    def _refuse_repeats(self) -> None:
        """Refuse judgments that would count twice."""
        frame = self.frame
        doubled = frame.duplicated(["call", "item"])
        self.part.refuse("call", doubled, "a call that appears once for each item")
        first = frame.groupby("call", sort=False)["condition"].transform("min")
        self.part.refuse("call", first != frame["condition"], "a call of one condition")
        # An answer may be shown beside others in one order several times.
        again = frame.duplicated(["condition", "item", "ordering", "slot", "repeat"])
        repeated = (self.reorder != "responses") & again
        self.part.refuse("repeat", repeated, "unique for its item and order")

    def _refuse_expected(self) -> None:
        """Refuse expected scores outside their scale."""
        least, most = self._ends()
        expected = self.frame["expected"]
        outside = (expected < least - TOLERANCE) | (expected > most + TOLERANCE)
        self.part.refuse("expected", outside, "within its scale")

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest score of each row's scale; infinite without one."""
        ends = [
            (condition.scores[0], condition.scores[-1]) if condition.scores else (-np.inf, np.inf)
            for condition in self.conditions
        ]
        least, most = np.array(ends)[self.frame["condition"]].T
        return least, most

    def _refuse_scores(self) -> None:
        """Refuse scores that are not on the scale, or not what was shown at the position."""
        frame = self.frame
        scales = {
            (code, score)
            for code, condition in enumerate(self.conditions)
            for score in condition.scores
        }
        least, _ = self._ends()
        scored = frame.loc[np.isfinite(least) & frame["score"].notna(), ["condition", "score"]]
        on_scale = pd.MultiIndex.from_frame(scored).isin(scales or [(0, 0)])
        foreign = frame.index.isin(scored.index[~on_scale])
        self.part.refuse("score", foreign, "a score of its condition")
        # All lists one behind the other: the entry of a row is where its list begins, plus its
        # position. The None at the end is for a list without entries.
        listed = [entry for ordering in self.orderings for entry in ordering.shown]
        shown = pd.to_numeric(pd.Series([*listed, None], dtype=object), errors="coerce").to_numpy()
        begins = (np.cumsum(self.lengths) - self.lengths)[frame["ordering"]]
        at_position = shown[begins + np.maximum(frame["position"] - 1, 0)]
        other = (at_position != frame["score"]) | (frame["position"] < 1)
        wrong = (self.reorder == "options") & (frame["status"] == 0) & other
        self.part.refuse("score", wrong, "the score at its position")

    def _refuse_orders(self) -> None:
        """Refuse lists that do not show each of their condition's options or criteria once."""
        codes = zip(self.frame["condition"], self.frame["ordering"], self._criteria(), strict=True)
        found = list(codes)
        bad = {
            (code, number, criterion)
            for code, number, criterion in set(found)
            if not _is_order_of(self.conditions[code], self.orderings[number].shown, criterion)
        }
        wrong = [row in bad for row in found]
        self.part.refuse("ordering", wrong, "an order of what its condition lists")

    def _criteria(self) -> list[Any]:
        """Return the criterion of each row's item."""
        return self.items.frame["criterion"].iloc[self.frame["item"]].tolist()

    def probabilities(self) -> np.ndarray | None:
        """Return the columns p1, p2, ... of the file, side by side; None if there are none."""
        columns = map(str, self.part.frame.columns)
        names = [name for name in columns if name[:1] == "p" and name[1:].isdigit()]
        names = sorted(names[:MAX_POSITIONS], key=lambda name: int(name[1:]))
        if not names:
            return None
        return np.column_stack([self.part.numbers(name, *RANGES["mass"]) for name in names])


def _is_order_of(condition: Condition, shown: Sequence[Any], criterion: Any) -> bool:
    """Return whether a list shows entries of its condition only, each once.

    ``criterion``: of the row's item. A call about a criterion by itself shows that one alone.
    """
    if condition.criterion_alone:
        return list(shown) == [criterion]
    listed: Mapping[str, Sequence[Any]] = {
        "options": condition.scores,
        "criteria": condition.targets,
        "examples": range(1, condition.positions + 1),
    }
    if condition.reorder not in listed:
        return True
    return len(set(shown) & set(listed[condition.reorder])) == len(shown)


def _add_reading(part: Part, frame: pd.DataFrame) -> None:
    """Add to the rows what is known of their reading: reader, why and form."""
    frame["reader"] = pd.array(part.numbers("reader", 0, MAX_SMALLINT), dtype="Float64")
    for name in ("why", "form"):
        given = part.frame[name] if name in part.frame else [None] * len(frame)
        frame[name] = [
            storable(text)[:MOST_WHY] if isinstance(text, str) and text else None for text in given
        ]


# ---- items


def _items(part: Part) -> pd.DataFrame:
    """Return the known columns of the items, with ratings as dicts."""
    part.require(ITEM_COLUMNS)
    frame = with_none(part.frame)
    ratings = [_ratings(text, number, part) for number, text in enumerate(frame["ratings"], 1)]
    for column in ("item_id", "dataset"):
        part.refuse(column, frame[column].isna() | (frame[column] == ""), "a text")
    columns = [column for column in (*ITEM_COLUMNS, "unit_text", *TEXTS) if column in frame]
    for column in set(columns) - {"ratings"}:
        part.refuse(column, [not isinstance(cell, str | None) for cell in frame[column]], "a text")
    doubled = frame.duplicated(["dataset", "criterion", "item_id"])
    part.refuse("item_id", doubled, "an ID that appears once")
    counted = {name: part.numbers(name, 0.0, MAX_LENGTH) for name in LENGTHS if name in part.frame}
    known = {name: values for name, values in counted.items() if np.isfinite(values).any()}
    frame = frame[columns].assign(ratings=pd.Series(ratings, dtype=object), **known)
    return frame if "unit_text" in frame else frame.assign(unit_text=frame["item_id"])


def _ratings(text: Any, row: int, part: Part) -> dict[str, float]:
    """Return what people gave an item. Raises LabError for anything but scores by names."""
    given = json_value(text, part.name) if isinstance(text, str) else {}
    known = (
        isinstance(given, dict)
        and len(given) <= MAX_POSITIONS
        and all(
            isinstance(score, int | float) and abs(score) <= MAX_RATING for score in given.values()
        )
    )
    if not known:
        raise LabError(
            f"{part.name}, row {row:,}: “{shorten(str(text))}” has no ratings of people. Export "
            "the run again."
        )
    return {storable(rater): float(score) for rater, score in given.items()}


# ---- calls


def checked_calls(part: Part, table: JudgmentTable) -> pd.DataFrame:
    """Return the known columns of the calls.

    Each call belongs to judgments of the same condition and status. A reply that is a plain label
    has to be the score beside it.
    """
    part.require(("call", "condition", "status"))
    known = part.frame[[column for column in CALL_COLUMNS if column in part.frame]].copy()
    known["call"] = part.numbers("call", *RANGES["call"])
    known["condition"] = part.numbers("condition", 0, len(table.conditions) - 1)
    known["status"] = part.numbers("status", *RANGES["status"])
    _refuse_other_calls(part, known, table)
    checked = {"call", "condition", "status", "asked"}
    for column in sorted(set(map(str, known.columns)) - checked):
        known[column] = _call_column(part, column)
    if "key" in known:
        doubled = known["key"].notna() & known["key"].duplicated()
        part.refuse("key", doubled, "a key that appears once")
    if "asked" in known:
        cells = part.frame["asked"]
        times = pd.to_datetime(cells, errors="coerce", utc=True, format="ISO8601")
        part.refuse("asked", cells.notna() & times.isna(), "a time")
        known["asked"] = times.dt.tz_localize(None).astype("datetime64[us]")
    if "text" in known:
        _refuse_other_replies(known, table, part.name)
    return known


def _refuse_other_calls(part: Part, calls: pd.DataFrame, table: JudgmentTable) -> None:
    """Refuse calls that are not those of the judgments, one by one."""
    part.refuse("call", calls["call"].duplicated(), "a call that appears once")
    about = table.rows.groupby("call")[["condition", "status"]].min()
    part.refuse("call", ~calls["call"].isin(about.index), "a call that the judgments have")
    if len(calls) < len(about):
        raise LabError(
            f"{part.name} has {len(calls):,} of {len(about):,} calls. Export the run again."
        )
    for column in ("condition", "status"):
        own = about[column].loc[calls["call"]].to_numpy()
        part.refuse(column, calls[column].to_numpy() != own, "that of its judgments")


def _call_column(part: Part, column: str) -> Any:
    """Return a column of the calls: texts as they can be kept, or numbers from 0."""
    cells = with_none(part.frame[[column]])[column]
    if column in CALL_TEXTS:
        part.refuse(column, [not isinstance(cell, str | None) for cell in cells], "a text")
        return [storable(cell) if cell is not None else None for cell in cells]
    most = MAX_SMALLINT if column == "attempt" else MAX_INT
    numbers = pd.to_numeric(cells, errors="coerce")
    beyond = cells.notna() & ~numbers.between(0, most)
    part.refuse(column, beyond, f"a number from 0 to {most:,}, or missing")
    return numbers


def _refuse_other_replies(calls: pd.DataFrame, table: JudgmentTable, name: str) -> None:
    """Refuse a reply that is the label of another position than the one beside it.

    So nobody can change scores in a file and leave the replies that disprove them.
    """
    options = [
        code for code, condition in enumerate(table.conditions) if condition.reorder == "options"
    ]
    rows = table.rows[table.rows["condition"].isin(options) & (table.rows["status"] == 0)]
    columns = ["ordering", "position", "score", "text"]
    replies = rows.merge(calls[["call", "text"]], on="call")[["call", *columns]]
    # Most replies are one of a few labels: each combination is looked at once.
    replies = replies[replies["text"].notna()].drop_duplicates(columns)
    for call, code, position, score, text in replies.itertuples(index=False):
        ordering = table.orderings[code]
        labels = list(ordering.labels or map(str, ordering.shown))
        if text.strip() in labels and labels.index(text.strip()) + 1 != position:
            raise LabError(
                f"{name}: call {call} has the score {score:g} at position {position}, but its "
                f"reply is “{shorten(text, 20)}”. The file was changed. Export the run again."
            )
