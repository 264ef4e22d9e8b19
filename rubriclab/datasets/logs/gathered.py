"""Logged judgments gathered into the tables that runs are read from, one run an axis.

Names and codes stay in memory, words do not: those go to whoever keeps them, by the record's number.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.datasets.criteria import read_criteria
from rubriclab.datasets.logs.fits import unfit
from rubriclab.datasets.logs.log import Logged, Reasons, Unread
from rubriclab.datasets.pairs import read_pairs
from rubriclab.datasets.scores import read_scores
from rubriclab.model import Axis, DataError, RunData
from rubriclab.model.language import tr

_RATINGS = 10


@dataclass
class Part:
    """The judgments of one axis: a row of ``rows`` becomes a row of the run, ``records`` says of which
    record."""

    rows: dict[str, list[object]] = field(default_factory=dict)
    records: list[int] = field(default_factory=list)
    probabilities: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def add(self, record: int, cells: dict[str, object], probabilities: tuple[float, ...] | None = None) -> None:
        if probabilities is not None:
            self.probabilities[len(self.records)] = probabilities
        for name in cells.keys() - self.rows.keys():
            self.rows[name] = [""] * len(self.records)
        for name, column in self.rows.items():
            column.append(cells.get(name, ""))
        self.records.append(record)


@dataclass
class Gathered:
    """What a log gave. ``unread``: why records were left out; ``order_from``:
    how many judgments have their order from where; ``records``: how many were kept, each with its number;
    ``prompts``: how many of them have their prompt."""

    parts: dict[Axis, Part] = field(default_factory=dict)
    unread: Reasons = field(default_factory=Reasons)
    order_from: Counter[str] = field(default_factory=Counter)
    records: int = 0
    prompts: int = 0
    _seen: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def add(self, record: Logged | Unread) -> int | None:
        """Take a record up; the number under which its words are kept, None where it has no judgment."""
        if isinstance(record, Logged) and (why := unfit(record)):
            record = Unread(record.line, why)
        if isinstance(record, Unread):
            self.unread.add(record.line, record.why)
            return None
        number = self.records
        self.records += 1
        self.prompts += bool(record.prompt)
        self.order_from[record.order_from] += 1
        key = (record.judge, record.dataset, record.task, record.question, record.criterion, record.shown)
        again = self._seen[key]
        self._seen[key] += 1
        part = self.parts.setdefault(record.axis, Part())
        if record.axis == "criteria":
            for criterion, score in zip(record.shown, record.scores, strict=True):
                part.add(number, _criterion_cells(record, again, criterion, score))
        else:
            cells = _score_cells if record.axis == "options" else _comparison_cells
            part.add(number, cells(record, again), record.probabilities)
        return number

    def runs(self, name: str) -> list[tuple[RunData, NDArray[np.int64]]]:
        """Each axis's run, and the call that each record became in it (records,), -1 for none."""
        made = []
        for axis, part in self.parts.items():
            data = _read(axis, part, name if len(self.parts) == 1 else f"{name} ({axis})")
            calls = np.full(self.records, -1, dtype=np.int64)
            calls[part.records] = data.judgments["call"].to_numpy()
            made.append((_with_probabilities(data, axis, part), calls))
        return made


def _comparison_cells(record: Logged, again: int) -> dict[str, object]:
    cells: dict[str, object] = {
        "judge": record.judge,
        "question_id": record.question,
        "task": record.task,
        "dataset": record.dataset,
        "rep": str(again),
    }
    if record.axis == "pairwise":
        first, second = record.shown
        choice = "N" if record.chosen is None else "CAB"[record.chosen]
        if len(record.responses) == 2:
            cells |= {"first_chars": str(len(record.responses[0])), "second_chars": str(len(record.responses[1]))}
        return cells | {"first": first, "second": second, "choice": choice}
    winner = "N" if record.chosen is None else record.shown[record.chosen - 1] if record.chosen else "tie"
    return cells | {"order": "|".join(name.replace("|", "/") for name in record.shown), "winner": winner}


def _score_cells(record: Logged, again: int) -> dict[str, object]:
    return _item_cells(record, again) | {
        "item_id": record.question,
        "ordering": " ".join(record.shown),
        "score": "" if record.chosen is None else record.shown[record.chosen - 1],
        "criterion": record.criterion,
    }


def _criterion_cells(record: Logged, again: int, criterion: str, score: float | None) -> dict[str, object]:
    return _item_cells(record, again) | {
        "text_id": record.question,
        "ordering": "|".join(name.replace("|", "/") for name in record.shown),
        "criterion": criterion.replace("|", "/"),
        "score": "" if score is None else f"{score:g}",
    }


def _item_cells(record: Logged, again: int) -> dict[str, object]:
    cells: dict[str, object] = {"judge": record.judge, "dataset": record.dataset, "repeat": str(again)}
    cells |= {f"rating_{k}": f"{rating:g}" for k, rating in enumerate(record.human[:_RATINGS], start=1)}
    for name in ("block", "candidate", "task"):
        if getattr(record, name):
            cells[name] = getattr(record, name)
    return cells


def _read(axis: Axis, part: Part, name: str) -> RunData:
    frame = pd.DataFrame(part.rows)
    frame["dataset"] = frame["dataset"].where(frame["dataset"] != "", name)
    if axis in ("pairwise", "listwise"):
        return read_pairs(frame, name=name)
    if axis == "criteria":
        return read_criteria(frame, name=name)
    if "criterion" in frame and (frame["criterion"] == "").all():
        frame = frame.drop(columns="criterion")
    return read_scores(frame, name=name)


def _with_probabilities(data: RunData, axis: Axis, part: Part) -> RunData:
    """The run with the probabilities that the log has; of options the expected score with them."""
    if not part.probabilities:
        return data
    width = max(arm.n_positions for arm in data.arms)
    given = np.full((len(data.judgments), width), np.nan)
    for row, values in part.probabilities.items():
        if len(values) > width or not np.isfinite(values).all() or min(values) < -1e-6 or sum(values) > 1.001:
            raise DataError(
                tr(
                    "Record {record:,} has probabilities {values} that are none.",
                    record=part.records[row] + 1,
                    values=values,
                )
            )
        given[row, : len(values)] = values
    judgments = data.judgments.copy()
    if axis == "options":
        shown = np.array([[*o.shown, *[np.nan] * (width - len(o.shown))] for o in data.orderings], dtype=np.float64)
        mass = np.nansum(given, axis=1)
        known = np.isfinite(given).any(axis=1) & (mass > 0)
        scores = shown[judgments["ordering"].to_numpy()]
        expected = np.nansum(given * scores, axis=1) / np.where(known, mass, 1.0)
        judgments["expected"] = np.where(known, expected, np.nan)
        judgments["mass"] = np.where(known, mass, np.nan)
        given = given / np.where(known, mass, 1.0)[:, None]
    return replace(data, judgments=judgments, probabilities=given)
