"""Write rows and judgments for other programs: data frames, JSON version 2, and LaTeX."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.topic import Findings, Row
from rubriclab.figures.marks import Picture
from rubriclab.measures.advice import advice_of
from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import RULES, Condition, JudgmentTable, Status, step_of
from rubriclab.model.text import printable
from rubriclab.words.answer import judged
from rubriclab.words.phrases import MINUS, NBSP, against_name, condition_name, name, row_text
from rubriclab.words.subject import subjects_of_orders

FACETS = (
    "position",
    "score",
    "target",
    "candidate",
    "task",
    "order",
    "calls",
    "protocol",
    "against",
)
"""Parts of ``Row.of`` that are columns of a frame, in this order; other parts follow them."""
CONDITION_KEYS = ("judge", "dataset", "strategy", "variant", "reorder", "positions", "scores")
FORMAT = 2
"""The version of the JSON document: a name that changes its meaning raises it."""
NO_WINNER, TIE = -1, 0
"""Positions of a judgment that named no winner, and of a tie. Candidates count from 1."""
CHOICES = {NO_WINNER: "N", TIE: "C", 1: "A", 2: "B"}
"""The letter of a pair's outcome, as its import reads it."""


def plain(value: float | None) -> float | None:
    """Return a JSON number, or None where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)


def row_document(row: Row, conditions: Sequence[Condition] = ()) -> dict[str, Any]:
    """Return one row of JSON version 2.

    Shares are fractions and points are points. What there is no number for is null, with ``why``.
    Where ``conditions`` are given, ``of.against_name`` names the one that ``of.against`` numbers.
    """
    low, high = row.interval
    counts = as_json(dict(row.counts))
    of = as_json(dict(row.of))
    if against := against_name(row, conditions):
        of["against_name"] = against
    document: dict[str, Any] = {
        "topic": row.topic,
        "measure": row.measure,
        "condition": row.condition,
        "of": of,
        "value": plain(row.value),
        "low": plain(low),
        "high": plain(high),
        "level": row.level,
        "units": row.estimate.units or counts.pop("units", None) or 0,
        "unit": row.unit or None,
        "n": counts.pop("n", None),
        "test": row.test[0] if row.test else None,
        "p": plain(row.p),
        "verdict": row.verdict or None,
        "smallest": plain(row.smallest) if row.verdict else None,
        "why": row.why or None,
        "from": counts.pop("from", None),
    }
    return document | {"counts": counts} if counts else document


def as_json(value: Any) -> Any:
    """Return a value, of numpy or in tuples, as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    return plain(value) if isinstance(value, float) else value


def frame(findings: Findings) -> pd.DataFrame:
    """Return one row for each number, with ``of`` and the condition spread into columns.

    This is what notebooks and exports read.
    """
    return frame_of_rows(findings.rows, findings.conditions)


def frame_of_rows(rows: Sequence[Row], conditions: Sequence[Condition] = ()) -> pd.DataFrame:
    """Return any rows as ``frame`` does; judge, data set and strategy only where ``conditions`` are
    given.
    """
    if not rows:
        return pd.DataFrame(
            columns=["topic", "measure", "condition", "value", "low", "high", "level"]
        )
    table = pd.DataFrame([_record(row, conditions) for row in rows])
    return table.drop(columns=[key for key in FACETS if table[key].isna().all()])


def _record(row: Row, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Return a row as the columns of a frame."""
    entry = row_document(row, conditions)
    of, counts = entry.pop("of"), entry.pop("counts", {})
    head = {key: entry.pop(key) for key in ("topic", "measure", "condition")}
    if conditions:
        about = conditions[row.condition]
        head |= {"judge": about.judge, "dataset": about.dataset, "strategy": about.strategy}
        head |= {f"variant_{key}": value for key, value in about.variant.items()}
    kept = {f"count_{key}": _cell(value) for key, value in counts.items()}
    record: dict[str, Any] = head | dict.fromkeys(FACETS) | of | entry | kept
    return record


def _cell(value: Any) -> Any:
    """Return a count as a cell of a table. A list, or a dictionary, is one cell of JSON text."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def judgments_frame(
    table: JudgmentTable, judged: pd.DataFrame, chances: pd.DataFrame
) -> pd.DataFrame:
    """Return judgments with the columns that their import reads, sorted by condition.

    ``judged``: one row for each judgment. Added are the condition, groups, factors as JSON, and
    people's ratings (``human_1`` and so on, one rater each; of pairs and lists whom each prefers).
    ``chances``: condition, item, and ``fragile``, which is added where anything is known.
    """
    known = [
        key for key in ("block", "prompt", "candidate", "task") if table.items[key].notna().any()
    ]
    made = judged.join(_conditions_frame(table), on="condition").join(table.items[known], on="item")
    if len(chances):
        made = made.merge(chances, on=["condition", "item"], how="left")
    made = made.sort_values("condition", kind="stable", ignore_index=True)
    if any(about.chooses for about in table.conditions):
        made = _with_winners(made, pairs=table.conditions[0].reorder == "pairs")
    return _with_ratings(made, table)


def _conditions_frame(table: JudgmentTable) -> pd.DataFrame:
    """Return what a judgment's condition says of it, one row for each condition."""
    about = pd.DataFrame(
        [
            {"judge": each.judge, "dataset": each.dataset, "strategy": each.strategy}
            for each in table.conditions
        ]
    )
    if any(each.variant for each in table.conditions):
        about["variant"] = [json.dumps(dict(each.variant)) for each in table.conditions]
    return about


def _with_winners(made: pd.DataFrame, *, pairs: bool) -> pd.DataFrame:
    """Return judgments of comparisons with their winners by name; of pairs also both candidates."""
    shown = [order.split("|") for order in made["ordering"]]
    won = [
        position if status == "ok" else NO_WINNER
        for status, position in zip(made["status"], made["position"], strict=True)
    ]
    winner = [
        "" if position == NO_WINNER else ["tie", *line][position]
        for line, position in zip(shown, won, strict=True)
    ]
    question = made["prompt"] if "prompt" in made else made["item_id"]
    made = made.assign(question_id=question, winner=winner)
    if not pairs:
        return made
    return made.assign(
        first=[line[0] for line in shown],
        second=[line[1] for line in shown],
        choice=[CHOICES[position] for position in won],
    )


def _with_ratings(made: pd.DataFrame, table: JudgmentTable) -> pd.DataFrame:
    """Return judgments with a column for each rater of their items."""
    made = made.copy()
    ratings = [given or {} for given in table.items["ratings"]]
    chooses = any(about.chooses for about in table.conditions)
    for number, rater in enumerate(sorted({key for given in ratings for key in given}), 1):
        rated = [given.get(rater) for given in ratings]
        if chooses:
            rated = [
                None if rank is None else ["tie", *(candidate or "").split("|")][int(rank)]
                for rank, candidate in zip(rated, table.items["candidate"], strict=True)
            ]
        column = rater if rater in ("gold", INTENDED) else f"human_{number}"
        made[column] = [rated[item] for item in made["item"]]
    return made


def conditions_document(findings: Findings) -> list[dict[str, Any]]:
    """Return what was asked: judge, data set, strategy, and how the calls ended, by condition."""
    out = []
    for arm in findings.judgments.arms:
        call = np.unique(arm.call)
        # A call that scored several items ended as well as its best one: statuses start with OK.
        ended = np.full(len(call), int(Status.ERROR))
        np.minimum.at(ended, np.searchsorted(call, arm.call), arm.status.astype(int))
        status = {status.name.lower(): int((ended == status).sum()) for status in Status}
        about = {key: as_json(getattr(arm.condition, key)) for key in CONDITION_KEYS}
        if arm.condition.reorder == "examples":
            about["labels"] = as_json(arm.condition.labels)
        out.append({"condition": arm.code, **about, "calls": len(call), "status": status})
    return out


def advice_document(findings: Findings) -> list[dict[str, Any]]:
    """Return what to do about each judge, data set and setting; nothing before the run is finished.

    Each is the decision, its sentence, and how many calls it takes.
    """
    if not findings.judgments.finished:
        return []
    out = []
    for subject in subjects_of_orders(findings):
        advice = advice_of(findings, subject.condition)
        needed = plain(advice.needed.value) if advice.needed is not None else None
        out.append(
            {
                "condition": subject.condition,
                "action": advice.action or None,
                "sentence": judged(findings, subject).advice or None,
                "orders": advice.orders,
                "orders_asked": advice.asked or None,
                "calls_needed": needed,
            }
        )
    return out


def ladder_document(findings: Findings) -> list[dict[str, Any]]:
    """Return the word of each judge, data set and setting, and of each of its questions.

    Nothing for what has no verdict. ``units_of_new_run``: about how many units a new run needs to
    decide what is open; null where nothing is, or where it is not known.
    """
    return [
        {
            "condition": subject.condition,
            "word": subject.word,
            "questions": dict(subject.words),
            "unit": subject.unit,
            "units": subject.units,
            "units_of_new_run": subject.units_of_new_run,
        }
        for subject in subjects_of_orders(findings)
        if subject.word is not None
    ]


def looks_document(findings: Findings) -> list[dict[str, Any]]:
    """Return where each judge is in a run that may stop early; empty for other runs."""
    return [
        {
            "judge": look.judge,
            "dataset": look.scope[0],
            "reorder": look.scope[1],
            "units_at": list(look.units_at),
            "look": look.number,
            "units": look.units,
            "level": 1 - look.alpha,
            "stops": look.stops,
            "calls_not_needed": look.needless if look.early else 0,
        }
        for look in findings.last_looks
    ]


def document(findings: Findings, extra: Sequence[Row] = ()) -> dict[str, Any]:
    """Return JSON version 2 of a run, which ``results --json`` prints.

    ``extra``: further rows, for example contrasts with another run.
    """
    table = findings.judgments.table
    conditions = conditions_document(findings)
    return {
        "format": FORMAT,
        "rules": RULES,
        "run": {
            "id": table.run,
            "name": table.name,
            "state": table.state,
            "planned": int(sum(table.planned)),
            "done": int(sum(condition["calls"] for condition in conditions)),
            "simulated": table.simulated,
            "made_with": as_json(dict(table.made_with)),
        },
        "reading": _reading_document(findings),
        "conditions": conditions,
        "ladder": ladder_document(findings),
        "advice": advice_document(findings),
        "looks": looks_document(findings),
        "rows": [row_document(row, findings.conditions) for row in (*findings.rows, *extra)],
        "cautions": [
            {"condition": caution.condition, "kind": caution.kind} | as_json(dict(caution.of))
            for caution in findings.cautions
        ],
    }


def _reading_document(findings: Findings) -> dict[str, Any]:
    """Return the reading, with the smallest change of the mean that was used.

    In steps of the scale; None where it differs between scales.
    """
    smallest = findings.reading.smallest
    scales = {about.scores for about in findings.conditions if about.scores} or {()}
    used = {round(smallest.points(scores) / step_of(scores), 9) for scores in scales}
    made: dict[str, Any] = findings.reading.model_dump(mode="json")
    made["smallest"]["mean"] = used.pop() if len(used) == 1 else None
    return made


def spoken(findings: Findings, rows: list[Row] | None = None) -> pd.DataFrame:
    """Return rows as people read them: condition, measure, number with its interval as text."""
    conditions = findings.conditions
    said = [
        (
            condition_name(conditions[row.condition], conditions),
            name(row, conditions),
            row_text(row, conditions),
        )
        for row in (findings.rows if rows is None else rows)
    ]
    return pd.DataFrame(said, columns=["Condition", "Measure", "Estimate"])


def picture_frame(picture: Picture) -> pd.DataFrame:
    """Return what a picture shows, one row for each mark.

    Line, level, number with its interval (shares as fractions), where it would be without an
    effect, and the number as it is written there. Of slopes the mean difference is the last row.
    Of panels, the first column is the panel's title.
    """
    if picture.panels:
        frames = [picture_frame(panel).assign(Panel=panel.title) for panel in picture.panels]
        together = pd.concat(frames, ignore_index=True)
        return together[["Panel", *(name for name in together if name != "Panel")]]
    marks = [(series.name, point) for series in picture.series for point in series.points]
    if math.isfinite(picture.difference.value):
        marks.append(("mean", picture.difference))
    horizontal, vertical = picture.axes
    rows = [(name, p.label, p.value, p.low, p.high, p.expected, p.text) for name, p in marks]
    level = horizontal if horizontal and picture.kind != "forest" else "Level"
    columns = [vertical or "Line", level, "Value", "Low", "High", "No effect", "As written"]
    frame = pd.DataFrame(rows, columns=columns)
    empty = [
        name for name in frame if frame[name].isna().all() or not frame[name].astype(bool).any()
    ]
    return frame.drop(columns=empty)


def on_a_line(text: str) -> str:
    """Return ``text`` without line breaks, with every other control character escaped."""
    return printable(" ".join(text.splitlines()))


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    MINUS: "$-$",
    NBSP: "~",
    "<": "$<$",
    ">": "$>$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
"""How LaTeX writes what it would read as a command."""


def in_latex(text: str) -> str:
    """Return a text as LaTeX shows it literally."""
    return "".join(LATEX.get(sign, sign) for sign in text)


def latex_table(table: pd.DataFrame) -> str:
    """Return any frame as a tabular (booktabs), with its names and cells escaped."""
    table = table.map(lambda cell: on_a_line(cell) if isinstance(cell, str) else cell)
    table = table.rename(columns=on_a_line)
    return table.to_latex(index=False, escape=True).replace(MINUS, "$-$").replace(NBSP, "~")
