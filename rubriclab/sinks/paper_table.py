"""Findings in, a table as papers print it out: lines judges, columns data sets or levels of a factor, any measure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pandas as pd

from rubriclab.core.gate import ALPHA
from rubriclab.core.topic import MEASURES, QUESTIONS, Findings, Row
from rubriclab.model.text import LabError, printable, shorten
from rubriclab.sinks.table import json_value
from rubriclab.sinks.text import MINUS, NBSP, ends, level_text, measure_of, number, p_value, reason

OPEN, SMALL, VOID = "°", "≈", "†"
MOST_ERROR, LEAST_STABILITY = 0.2, 0.8
"""Numbers of pairs are void where more replies name no winner, or repetitions agree less often (Shi et al., Table 2)."""
LEGEND = {
    OPEN: "the judge's verdict leaves it open, or its gate is closed",
    SMALL: "surely smaller than matters",
    VOID: f"void: more than {MOST_ERROR:.0%} of replies name no winner, or repetitions agree in less than "
    f"{LEAST_STABILITY:.0%}".replace("%", NBSP + "%"),
}
AVERAGED = ("dataset", "target", "task")
"""What a mean over columns may be taken over; levels of a factor are compared, not averaged."""
MEAN, PAPER = "Mean", "(paper)"
DEFAULT = "default"
FIELDS = ("Judge", "Data set", "Ordering strategy", "Reordered", "Positions", "Variant")
LIMITS = ("error_rate", "rs")
VERDICTS = {question: measure for measure, question in QUESTIONS.items()}
Key = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One number as it is printed, and the number itself; ``marks``: of LEGEND."""

    text: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    p: float = math.nan
    marks: str = ""
    why: str = ""
    form: str = field(default="", repr=False)
    """How a mean of such numbers is written; empty where there is none."""


class Line(NamedTuple):
    """``key``: a name for each of the table's heads; ``cells``: one a column, None where nothing was measured."""

    key: tuple[str, ...]
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class PaperTable:
    """``heads``: what the first columns name; ``columns``: the others; ``legend``: what its marks mean."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    legend: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Every cell as text."""
        body = [[*line.key, *(cell.text if cell else "" for cell in line.cells)] for line in self.lines]
        return pd.DataFrame(body, columns=[*self.heads, *self.columns])

    def numbers(self) -> pd.DataFrame:
        """One row a cell: the names of its line, its column, value, low, high, level, p, marks, why."""
        fields = ("value", "low", "high", "level", "p", "marks", "why")
        body = [
            [*line.key, column, *(getattr(cell, name) for name in fields)]
            for line in self.lines
            for column, cell in zip(self.columns, line.cells, strict=True)
            if cell is not None
        ]
        return pd.DataFrame(body, columns=[*self.heads, "column", *fields])

    def document(self) -> dict[str, Any]:
        """As JSON: title, heads, legend and every cell; what is not known is null."""
        cells = [
            {str(key): json_value(value) for key, value in record.items()}
            for record in self.numbers().to_dict("records")
        ]
        return {"title": self.title, "heads": list(self.heads), "cells": cells, "legend": list(self.legend)}

    def text(self) -> str:
        """For a terminal: title, aligned columns, legend."""
        return printable("\n".join([self.title, self.frame().to_string(index=False), *self.legend]) + "\n")

    def latex(self) -> str:
        """A tabular (booktabs) with its title and legend as comments."""
        table = self.frame().to_latex(index=False, escape=True)
        signs = {MINUS: "$-$", NBSP: "~", OPEN: r"$^{\circ}$", SMALL: r"$^{\approx}$", VOID: r"$^{\dagger}$"}
        for sign, written in signs.items():
            table = table.replace(sign, written)
        return "".join(f"% {shorten(printable(line), 300)}\n" for line in (self.title, *self.legend)) + table


@dataclass(frozen=True)
class _Asked:
    """One measure with the part of ``of`` that is meant, from “position_share:1” or “NAME:field=value,field=value”."""

    measure: str
    values: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        parts = [*self.values, *(f"{name} {value}" for name, value in self.named.items())]
        return MEASURES[self.measure].name + (f" ({', '.join(parts)})" if parts else "")

    def fits(self, row: Row) -> bool:
        """Is the row about what is meant? Values without a name are those of its first parts."""
        of = {name: level_text(value) for name, value in row.of.items()}
        first = list(of.values())[: len(self.values)]
        return first == list(self.values) and all(of.get(name) == value for name, value in self.named.items())

    def rest(self, row: Row, across: str) -> tuple[tuple[str, str], ...]:
        """What else the row is about, beside the columns and what was asked for."""
        of = list(row.of.items())[len(self.values) :]
        return tuple((name, level_text(value)) for name, value in of if name not in (across, *self.named))


def _asked(text: str) -> _Asked:
    measure, _, rest = text.partition(":")
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    named = dict(part.split("=", 1) for part in parts if "=" in part)
    return _Asked(measure.strip(), tuple(part for part in parts if "=" not in part), named)


def paper_table(
    findings: Findings,
    measures: str | Sequence[str],
    *,
    across: str = "dataset",
    by_strategy: bool = False,
    intervals: bool = True,
    paper: Mapping[str, Mapping[str, float]] | None = None,
) -> PaperTable:
    """Measures of every judge (lines) on every data set, or level of what ``across`` names (columns).

    ``measures``: names; “position_share:1” takes the rows about position 1 (“position_given_score:score=5,position=1”).
    ``across``: dataset, strategy, a factor that the run varies, or a part of what rows are about (target, task, position,
    variant ...). ``by_strategy``: a line an ordering strategy; else each judge's condition with the most orders.
    ``paper``: what a paper printed, judge -> column -> number; it stands in lines of its own, that of a judge of the same
    name below it. Means are unweighted and only where every number is there. Raises LabError where nothing can be shown,
    naming what can.
    """
    names = _Names(findings, across, by_strategy)
    columns: list[str] = []
    lines: dict[Key, list[Cell | None]] = {}
    asked = [_asked(text) for text in ([measures] if isinstance(measures, str) else measures)]
    for each in asked:
        grid = names.grid(_rows(findings, each, across))
        mine, cells = _part(grid, _Marks(findings), across, intervals)
        for key in dict.fromkeys([*lines, *cells]):
            before = lines.get(key, [None] * len(columns))
            lines[key] = before + cells.get(key, [None] * len(mine))
        alone = [each.title] if len(mine) == 1 else [f"{column} · {each.title}" for column in mine]
        columns += alone if len(asked) > 1 else mine
    printed = {} if len(asked) > 1 else _printed(paper or {}, columns, MEASURES[asked[0].measure].form)
    heads = [0, *(k for k in range(1, len(FIELDS)) if len({key[k] for key in lines}) > 1)]
    body = _with_means(lines, printed)
    used = {mark for line in body for cell in line.cells if cell for mark in cell.marks}
    legend = [f"{mark} {words}." for mark, words in LEGEND.items() if mark in used]
    if any(cell and " to " in cell.text for line in body for cell in line.cells):
        legend.append(f"In brackets: 95{NBSP}% CI, unless another level stands there.")
    if MEAN in [*columns, *(line.key[0] for line in body)]:
        legend.append("Means are unweighted.")
    title = "; ".join(each.title for each in asked)
    kept = tuple(Line(tuple(line.key[k] for k in heads), line.cells) for line in body)
    return PaperTable(title, tuple(FIELDS[k] for k in heads), tuple(columns), kept, tuple(legend))


def axes_of(findings: Findings) -> list[str]:
    """What columns can be made of in this run: dataset, strategy, factors, and parts of what rows are about."""
    factors = dict.fromkeys(key for condition in findings.conditions for key in condition.variant)
    parts = dict.fromkeys(key for row in findings.rows for key in row.of if key not in ("order", "against"))
    return list(dict.fromkeys(["dataset", "strategy", *factors, *parts]))


def axis_name(axis: str) -> str:
    """What columns are made of, as it is read: “Data set”, “Ordering strategy”, “Temperature”."""
    named = {"dataset": "Data set", "strategy": "Ordering strategy", "target": "Criterion", "ids": "Score labels"}
    return named.get(axis) or axis.replace("_", " ").capitalize()


def numbers_of(findings: Findings, measure: str, across: str) -> list[str]:
    """The numbers of a measure that a table with columns ``across`` can be about: “position=1”; empty where there is one."""
    rests = dict.fromkeys(_asked(measure).rest(row, across) for row in findings.select(measure))
    return [] if () in rests else [",".join(f"{name}={value}" for name, value in rest) for rest in rests]


def _rows(findings: Findings, asked: _Asked, across: str) -> list[Row]:
    """The rows of a measure that are meant. Raises LabError where none is, or where it is not settled which."""
    every = findings.select(asked.measure)
    if not every:
        known = ", ".join(dict.fromkeys(row.measure for row in findings.rows))
        raise LabError(f"This run has no measure “{shorten(asked.measure)}”; expected one of {known}.")
    rows = [row for row in every if asked.fits(row)]
    rests = {asked.rest(row, across) for row in rows}
    if () in rests:
        rows = [row for row in rows if asked.rest(row, across) == ()]
    elif len(rests) != 1:
        parts = "; ".join(numbers_of(findings, asked.measure, across)[:12]) or "no others"
        raise LabError(
            f"Say which number of {asked.measure} is meant, as {asked.measure}:NAME=VALUE; there are {parts}."
        )
    if across in {name for row in rows for name in row.of}:
        rows = [row for row in rows if across in row.of]
    return rows


class _Names:
    """Which line and which column a row belongs to."""

    def __init__(self, findings: Findings, across: str, by_strategy: bool) -> None:
        self.findings, self.across, self.by_strategy = findings, across, by_strategy
        conditions = findings.conditions
        self.chosen = {row.condition for row in findings.select("gate") if not row.of}
        self.baseline = {(asked.judge, asked.dataset): asked for asked in reversed(conditions)}

    def grid(self, rows: Iterable[Row]) -> dict[Key, dict[str, Row]]:
        """Line -> column -> row; of two for one cell that of the condition which the verdicts are about."""
        grid: dict[Key, dict[str, Row]] = {}
        for row in rows:
            column, line = self.column(row), grid.setdefault(self.line(row), {})
            if column is not None and (column not in line or row.condition in self.chosen):
                line[column] = row
        grid = {key: line for key, line in grid.items() if line}
        if not grid:
            expected = ", ".join(axes_of(self.findings))
            raise LabError(f"No columns can be made of “{shorten(self.across)}”; expected one of {expected}.")
        # Where factors are varied one at a time, the lines of another factor stand in a single column: left out.
        several = {key: line for key, line in grid.items() if len(line) > 1 or key[-1] == DEFAULT}
        return several if any(len(line) > 1 for line in grid.values()) else grid

    def column(self, row: Row) -> str | None:
        condition = self.findings.conditions[row.condition]
        if self.across in row.of:
            return level_text(row.of[self.across])
        if self.across in ("dataset", "strategy"):
            return str(getattr(condition, self.across))
        return level_text(condition.variant[self.across]) if self.across in condition.variant else None

    def line(self, row: Row) -> Key:
        """A name for each of FIELDS, empty where it makes no line."""
        condition, across = self.findings.conditions[row.condition], self.across
        own = self.baseline[condition.judge, condition.dataset].variant
        other = {key: value for key, value in condition.variant.items() if key != across and value != own.get(key)}
        return (
            condition.judge,
            "" if across == "dataset" else condition.dataset,
            condition.strategy if self.by_strategy and across != "strategy" else "",
            condition.reorder,
            "" if across in condition.variant else str(condition.positions),
            ", ".join(f"{key} = {level_text(value)}" for key, value in other.items()) or DEFAULT,
        )


def _part(
    grid: Mapping[Key, Mapping[str, Row]], marks: _Marks, across: str, intervals: bool
) -> tuple[list[str], dict[Key, list[Cell | None]]]:
    """(columns, line -> cells) of one measure: the levels, their mean, over criteria or tasks also the largest and how
    many tests reject at 5 %."""
    levels = list(dict.fromkeys(column for line in grid.values() for column in line))
    if all(level.replace(".", "", 1).isdigit() for level in levels):
        levels.sort(key=float)
    cells = {
        key: [_cell(line[x], marks, intervals) if x in line else None for x in levels] for key, line in grid.items()
    }
    tested = across in ("target", "task") and any(
        cell and math.isfinite(cell.p) for line in cells.values() for cell in line
    )
    means = {key: _mean(line) if across in AVERAGED and len(levels) > 1 else None for key, line in cells.items()}
    columns, more = list(levels), dict[Key, list[Cell | None]]((key, []) for key in cells)
    if any(means.values()):
        columns += [MEAN, "Largest"] if across != "dataset" else [MEAN]
        for key, mean in means.items():
            values = [cell.value for cell in cells[key] if cell]
            largest = replace(mean, text=number(max(values, key=abs), mean.form)) if mean else None
            more[key] += [mean, largest] if across != "dataset" else [mean]
    if tested:
        columns.append(f"p{NBSP}<{NBSP}0.05")
        for key, line in cells.items():
            known = [cell.p for cell in line if cell and math.isfinite(cell.p)]
            more[key].append(Cell(f"{sum(p < ALPHA for p in known)} of {len(known)}"))
    return columns, {key: [*line, *more[key]] for key, line in cells.items()}


def _mean(cells: Sequence[Cell | None]) -> Cell | None:
    """The unweighted mean of numbers that all are there, not void, and no statistics of tests; else None."""
    kept = [cell for cell in cells if cell and math.isfinite(cell.value) and cell.form and VOID not in cell.marks]
    if not kept or len(kept) < len(cells):
        return None
    value = sum(cell.value for cell in kept) / len(kept)
    return Cell(number(value, kept[0].form), value, form=kept[0].form)


def _printed(
    paper: Mapping[str, Mapping[str, float]], columns: Sequence[str], form: str
) -> dict[str, list[Cell | None]]:
    """Judge -> what a paper printed, by our columns. Numbers are in the measure's own unit: shares as fractions."""
    return {
        judge: [Cell(number(by[x], form), float(by[x])) if x in by else None for x in columns]
        for judge, by in paper.items()
    }


def _with_means(lines: Mapping[Key, list[Cell | None]], printed: Mapping[str, list[Cell | None]]) -> list[Line]:
    """Lines with a paper's below that of the same judge (else below all), then the mean over judges of each kind of line."""
    body, left, kinds = [], dict(printed), dict[tuple[str, ...], list[list[Cell | None]]]()
    for key, cells in lines.items():
        body.append(Line(key, tuple(cells)))
        kinds.setdefault(key[1:], []).append(cells)
        if key[0] in left:
            body.append(Line((f"{key[0]} {PAPER}", *key[1:]), tuple(left.pop(key[0]))))
    rest = next(iter(lines))[1:]
    body += [Line((f"{judge} {PAPER}", *rest), tuple(cells)) for judge, cells in left.items()]
    for kind, several in kinds.items():
        means = tuple(_mean(column) for column in zip(*several, strict=True))
        if len(several) > 1 and any(means):
            body.append(Line((MEAN, *kind), means))
    return body


class _Marks:
    """What is said of a number beside it: the verdict that it belongs to, and whether it is void."""

    def __init__(self, findings: Findings) -> None:
        self.conditions = findings.conditions
        self.verdicts = {(self._about(row), row.measure): row for row in findings.rows if row.topic == "verdict"}
        self.limits = {
            (row.condition, row.measure): row.value for row in findings.rows if row.measure in LIMITS and not row.of
        }

    def _about(self, row: Row) -> tuple[Any, ...]:
        """Whose verdict it is: of a setting's orders, or of a variant."""
        return *self.conditions[row.condition].setting, row.of.get("variant")

    def of(self, row: Row) -> str:
        word = row.verdict
        if row.about.question:
            gate = self.verdicts.get((self._about(row), "gate"))
            about = self.verdicts.get((self._about(row), VERDICTS.get(row.about.question, "")))
            word = about.verdict if about and about.verdict else "" if gate and gate.p <= ALPHA else "undecided"
        error, stability = (self.limits.get((row.condition, name), math.nan) for name in LIMITS)
        void = row.measure not in LIMITS and (error > MOST_ERROR or stability < LEAST_STABILITY)
        return {"undecided": OPEN, "equivalent": SMALL}.get(word, "") + VOID * void


def _cell(row: Row, marks: _Marks, intervals: bool) -> Cell:
    """A row as it is printed: number, marks, interval, p; a dash where there is no number."""
    about, (low, high), marked = measure_of(row, marks.conditions), row.interval, marks.of(row)
    text = (number(row.value, about.form) if math.isfinite(row.value) else "" if row.test else "–") + marked
    if intervals and math.isfinite(low) and math.isfinite(high):
        level, _, inside = ends(low, high, about.form, row.level).partition(" CI ")
        text += f" ({inside})" if math.isclose(row.level, 0.95) else f" ({inside}; {level} CI)"
    text = " ".join(part for part in (text, p_value(row.p)) if part)
    form = "" if row.why == "statistic" else about.form
    return Cell(text, row.value, low, high, row.level, row.p, marked, reason(row), form)
