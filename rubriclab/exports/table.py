"""Findings in; the same rows as a frame, as JSON version 2, as CSV and as LaTeX out."""

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
from rubriclab.words.phrases import MINUS, NBSP, condition_name, name, row_text
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
ASKED = ("judge", "dataset", "strategy", "variant", "reorder", "positions", "scores")
FORMAT = 2


def plain(value: float | None) -> float | None:
    """A JSON number, or None where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)


def row_document(row: Row) -> dict[str, Any]:
    """One row of JSON version 2: shares as fractions, points as points, null with ``why`` where
    there is no number.
    """
    low, high = row.interval
    counts = as_json(dict(row.counts))
    return {
        "topic": row.topic,
        "measure": row.measure,
        "condition": row.condition,
        "of": as_json(dict(row.of)),
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
        **({"counts": counts} if counts else {}),
    }


def as_json(value: Any) -> Any:
    """A value of numpy or of a tuple as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    return plain(value) if isinstance(value, float) else value


def frame(findings: Findings) -> pd.DataFrame:
    """One row a number, ``of`` and the condition spread into columns: what notebooks, exports and
    the oracle read.
    """
    return frame_of_rows(findings.rows, findings.conditions)


def frame_of_rows(rows: Sequence[Row], conditions: Sequence[Condition] = ()) -> pd.DataFrame:
    """As ``frame``, of any rows; judge, data set and strategy stand beside them where
    ``conditions`` are given.
    """
    if not rows:
        return pd.DataFrame(
            columns=["topic", "measure", "condition", "value", "low", "high", "level"]
        )
    records = []
    for row in rows:
        entry = row_document(row)
        of, counts = entry.pop("of"), entry.pop("counts", {})
        head = {key: entry.pop(key) for key in ("topic", "measure", "condition")}
        if conditions:
            asked = conditions[row.condition]
            head |= {"judge": asked.judge, "dataset": asked.dataset, "strategy": asked.strategy}
            head |= {f"variant_{key}": value for key, value in asked.variant.items()}
        kept = {
            f"count_{key}": value
            for key, value in counts.items()
            if not isinstance(value, list | dict)
        }
        records.append(head | dict.fromkeys(FACETS) | of | entry | kept)
    table = pd.DataFrame(records)
    return table.drop(columns=[key for key in FACETS if table[key].isna().all()])


def judgments_frame(table: JudgmentTable, judged: pd.DataFrame) -> pd.DataFrame:
    """Judgments in words with what their import wants beside them: condition, groups, factors as
    JSON, and people's ratings (``human_1``, ..., a rater each by name; of pairs and lists whom each
    prefers), sorted by condition.
    """
    asked = [
        {name: getattr(about, name) for name in ("judge", "dataset", "strategy")}
        for about in table.conditions
    ]
    varied = any(about.variant for about in table.conditions)
    factors = [
        {"variant": json.dumps(dict(about.variant))} if varied else {} for about in table.conditions
    ]
    names = [
        name for name in ("block", "prompt", "candidate", "task") if table.items[name].notna().any()
    ]
    about = pd.DataFrame([who | own for who, own in zip(asked, factors, strict=True)])
    made = judged.join(about, on="condition").join(table.items[names], on="item")
    made = made.sort_values("condition", kind="stable", ignore_index=True)
    chooses = any(about.chooses for about in table.conditions)
    if chooses:
        shown = [order.split("|") for order in made["ordering"]]
        said = [
            -1 if status != "ok" else stood
            for status, stood in zip(made["status"], made["position"], strict=True)
        ]
        winner = [
            "" if won < 0 else (["tie", *line])[won] for line, won in zip(shown, said, strict=True)
        ]
        question = made["prompt"] if "prompt" in made else made["item_id"]
        made = made.assign(question_id=question, winner=winner)
        if table.conditions[0].reorder == "pairs":
            choice = ["NCAB"[won + 1] for won in said]
            made = made.assign(
                first=[line[0] for line in shown], second=[line[1] for line in shown], choice=choice
            )
    raters = sorted({rater for ratings in table.items["ratings"] for rater in ratings or {}})
    for number, rater in enumerate(raters, 1):
        given = [(ratings or {}).get(rater) for ratings in table.items["ratings"]]
        if chooses:
            sets = [
                ["tie", *(candidate or "").split("|")] for candidate in table.items["candidate"]
            ]
            given = [
                None if rank is None else own[int(rank)]
                for rank, own in zip(given, sets, strict=True)
            ]
        made[rater if rater in ("gold", INTENDED) else f"human_{number}"] = [
            given[item] for item in made["item"]
        ]
    return made


def conditions_document(findings: Findings) -> list[dict[str, Any]]:
    """What was asked: judge, data set, strategy, and how the calls ended, by condition."""
    out = []
    for arm in findings.judgments.arms:
        call = np.unique(arm.call)
        ended = np.full(len(call), int(Status.ERROR))
        np.minimum.at(ended, np.searchsorted(call, arm.call), arm.status.astype(int))
        status = {status.name.lower(): int((ended == status).sum()) for status in Status}
        asked = {key: as_json(getattr(arm.condition, key)) for key in ASKED}
        out.append({"condition": arm.code, **asked, "calls": len(call), "status": status})
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


def document(findings: Findings, extra: Sequence[Row] = ()) -> dict[str, Any]:
    """JSON version 2 of a run: what ``results --json`` prints. ``extra``: further rows,
    contrasts.
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
        "advice": advice_document(findings),
        "rows": [row_document(row) for row in (*findings.rows, *extra)],
        "cautions": [
            {"condition": caution.condition, "kind": caution.kind} | as_json(dict(caution.of))
            for caution in findings.cautions
        ],
    }


def _reading_document(findings: Findings) -> dict[str, Any]:
    """The reading, with the smallest change of the mean that was used, in steps; None where it
    differs between scales.
    """
    smallest = findings.reading.smallest
    scales = {about.scores for about in findings.conditions if about.scores} or {()}
    used = {round(smallest.points(scores) / step_of(scores), 9) for scores in scales}
    made: dict[str, Any] = findings.reading.model_dump(mode="json")
    made["smallest"]["mean"] = used.pop() if len(used) == 1 else None
    return made


def spoken(findings: Findings, rows: list[Row] | None = None) -> pd.DataFrame:
    """Rows as they are read: condition, measure, number with its interval as text."""
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
    """What a picture shows: line, level, number with its interval (shares as fractions), where it
    would be without an effect, and the number as it is written there; of slopes the mean difference
    is the last row.
    """
    marks = [(series.name, point) for series in picture.series for point in series.points]
    marks += [("mean", picture.difference)] if math.isfinite(picture.difference.value) else []
    below, beside = picture.axes
    rows = [(name, p.label, p.value, p.low, p.high, p.expected, p.text) for name, p in marks]
    columns = [beside or "Line", below if below and picture.kind != "forest" else "Level"]
    frame = pd.DataFrame(
        rows, columns=[*columns, "Value", "Low", "High", "No effect", "As written"]
    )
    return frame.drop(
        columns=[
            name for name in frame if frame[name].isna().all() or not frame[name].astype(bool).any()
        ]
    )


def on_a_line(text: str) -> str:
    """``text`` without line breaks, every other sign of control escaped."""
    return printable(" ".join(text.splitlines()))


def latex_table(table: pd.DataFrame) -> str:
    """Any frame as a tabular (booktabs), every sign of its names and cells escaped."""
    table = table.map(lambda cell: on_a_line(cell) if isinstance(cell, str) else cell).rename(
        columns=on_a_line
    )
    return table.to_latex(index=False, escape=True).replace(MINUS, "$-$").replace(NBSP, "~")
