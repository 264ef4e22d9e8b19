"""Findings in, a table as papers print it out: lines judges, columns data sets or levels of a
factor, any measure.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import MEASURES, Findings, Measure, Row
from rubriclab.exports.table import as_json, latex_table, on_a_line
from rubriclab.model.judgment import level_text, variant_text
from rubriclab.model.study import PaperPart
from rubriclab.model.text import LabError, printable, shorten
from rubriclab.words.facts import MEASURE_OF
from rubriclab.words.phrases import NBSP, ends, measure_of, number, p_value, reason

OPEN, SMALL, VOID = "°", "≈", "†"
MOST_ERROR, LEAST_STABILITY = 0.2, 0.8
"""Numbers of pairs are void where more replies name no winner, or repetitions agree less often (Shi
et al., Table 2).
"""
LEGEND = {
    OPEN: "the judge's verdict leaves it open, or its gate is closed",
    SMALL: "surely smaller than matters",
    VOID: f"void: more than {MOST_ERROR:.0%} of replies name no winner, or repetitions agree in "
    f"less than {LEAST_STABILITY:.0%}",
}
AVERAGED = ("dataset", "target", "task")
"""What a mean over columns may be taken over; levels of a factor are compared, not averaged."""
MEAN, PAPER = "Mean", "(paper)"
DEFAULT = "default"
FIELDS = ("Judge", "Data set", "Ordering strategy", "Reordered", "Positions", "Variant")
LIMITS = ("error_rate", "rs")
Key = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One number as it is printed; ``form``: how a mean of such numbers is written, empty where
    there is none.
    """

    text: str
    value: float = math.nan
    form: str = ""
    marks: str = ""
    row: Row | None = None


Line = tuple[Key, tuple[Cell | None, ...]]
"""A name for each of the table's heads; a cell for each of its columns, None where nothing was
measured.
"""


@dataclass(frozen=True)
class PaperTable:
    """``heads``: what the first columns name; ``columns``: the others; ``legend``: what its marks
    mean.
    """

    title: str
    heads: Key
    columns: Key
    lines: tuple[Line, ...]
    legend: Key

    def frame(self) -> pd.DataFrame:
        """Every cell as text."""
        body = [[*key, *(cell.text if cell else "" for cell in cells)] for key, cells in self.lines]
        return pd.DataFrame(body, columns=[*self.heads, *self.columns])

    def numbers(self) -> pd.DataFrame:
        """One row a cell: the names of its line, its column, value, low, high, level, p, marks,
        why.
        """
        body = []
        for key, cells in self.lines:
            for column, cell in zip(self.columns, cells, strict=True):
                row = cell.row if cell else None
                rest = (*row.interval, row.level, row.p) if row else (math.nan,) * 4
                if cell:
                    body.append([*key, column, cell.value, *rest, cell.marks, reason(row)])
        return pd.DataFrame(
            body,
            columns=[*self.heads, "column", "value", "low", "high", "level", "p", "marks", "why"],
        )

    def document(self) -> dict[str, Any]:
        """As JSON: title, heads, legend and every cell; what is not known is null."""
        cells = [as_json(record) for record in self.numbers().to_dict("records")]
        return {
            "title": self.title,
            "heads": list(self.heads),
            "cells": cells,
            "legend": list(self.legend),
        }

    def text(self) -> str:
        """For a terminal: title, aligned columns, legend."""
        return printable(
            "\n".join([self.title, self.frame().to_string(index=False), *self.legend]) + "\n"
        )

    def latex(self) -> str:
        """A tabular (booktabs) with its title and legend as comments."""
        table = latex_table(self.frame())
        for sign, written in {
            OPEN: r"$^{\circ}$",
            SMALL: r"$^{\approx}$",
            VOID: r"$^{\dagger}$",
        }.items():
            table = table.replace(sign, written)
        return (
            "".join(f"% {shorten(printable(line), 300)}\n" for line in (self.title, *self.legend))
            + table
        )

    def markdown(self) -> str:
        """A table of Markdown between its title and legend."""
        rows = [
            [*self.heads, *self.columns],
            ["---"] * (len(self.heads) + len(self.columns)),
            *self.frame().to_numpy(),
        ]
        cells = [
            [re.sub(r"([\\|<*_`])", r"\\\1", on_a_line(str(cell))) for cell in row] for row in rows
        ]
        lines = [f"| {' | '.join(row)} |" for row in cells]
        return "\n".join([f"**{self.title}**", "", *lines, "", *self.legend]) + "\n"


def paper_table(
    findings: Findings,
    measures: str | Sequence[str],
    *,
    across: str = "dataset",
    by_strategy: bool = False,
    papers: Sequence[PaperPart] = (),
) -> PaperTable:
    """Measures of every judge (lines) on every data set, or level of what ``across`` names
    (columns).

    ``measures``: names; “position_share:1” takes the rows about position 1
    (“position_given_score:score=5,position=1”). ``across``: dataset, strategy, a factor that the
    run varies, or a part of what rows are about (target, task, position, variant ...).
    ``by_strategy``: a line an ordering strategy; else each judge's condition with the most orders.
    ``papers``: what papers printed of the run's design; those of the first measure and the same
    columns stand in lines of their own, that of a judge of the same name below it. Means are
    unweighted and only where every number is there. Raises LabError where nothing can be shown,
    naming what can.
    """
    grid, columns = _Grid(findings, across, by_strategy), list[str]()
    lines: dict[Key, list[Cell | None]] = {}
    asked = [measures] if isinstance(measures, str) else list(measures)
    titles = []
    for text in asked:
        rows = _rows(findings, text, across)
        name, _, part = text.partition(":")
        titles.append(
            MEASURES[name].name
            + (f" ({part.replace('=', ' ').replace(',', ', ')})" if part else "")
        )
        mine, cells = grid.part(rows)
        for key in dict.fromkeys([*lines, *cells]):
            lines[key] = lines.get(key, [None] * len(columns)) + cells.get(key, [None] * len(mine))
        several = [f"{column} · {titles[-1]}" for column in mine] if len(mine) > 1 else titles[-1:]
        columns += several if len(asked) > 1 else mine
    about = MEASURES[asked[0].partition(":")[0]]
    form = _form(about)
    same = [paper for paper in papers if (paper.measure, paper.across) == (asked[0], across)]
    printed = {
        judge: tuple(Cell(number(by[x], form), by[x]) if x in by else None for x in columns)
        for paper in same
        for judge, by in paper.numbers.items()
    }
    body = _with_means(lines, printed)
    used = {mark for _, cells in body for cell in cells if cell for mark in cell.marks}
    legend = [f"{mark} {words}." for mark, words in LEGEND.items() if mark in used]
    legend += [f"{PAPER}: {paper.table}. {paper.note}".strip() for paper in same]
    if any(cell and " to " in cell.text for _, cells in body for cell in cells):
        legend.append("In brackets: 95% CI, unless another level stands there.")
    legend += dict.fromkeys(
        sign for text in asked if (sign := MEASURES[text.partition(":")[0]].sign)
    )
    if MEAN in [*columns, *(key[0] for key, _ in body)]:
        legend.append("Means are unweighted.")
    heads = [0, *(k for k in range(1, len(FIELDS)) if len({key[k] for key in lines}) > 1)]
    kept = tuple((tuple(key[k] for k in heads), cells) for key, cells in body)
    return PaperTable(
        "; ".join(titles), tuple(FIELDS[k] for k in heads), tuple(columns), kept, tuple(legend)
    )


def axes_of(findings: Findings) -> list[str]:
    """What columns can be made of in this run: dataset, strategy, factors, and parts of what rows
    are about.
    """
    factors = dict.fromkeys(key for condition in findings.conditions for key in condition.variant)
    parts = dict.fromkeys(
        key for row in findings.rows for key in row.of if key not in ("order", "against")
    )
    return list(dict.fromkeys(["dataset", "strategy", *factors, *parts]))


def _rest(row: Row, *named: str) -> str:
    """What a row is about beside the parts that are named: “score=5,position=1”."""
    return ",".join(
        f"{name}={level_text(value)}" for name, value in row.of.items() if name not in named
    )


def _by_columns(findings: Findings, rows: Sequence[Row], across: str) -> tuple[str, ...]:
    """What of the rows their columns say: ``across``; the variant, where columns are a factor and
    all rows have one.
    """
    of_factor = any(across in findings.conditions[row.condition].variant for row in rows)
    return (
        (across, "variant") if of_factor and all("variant" in row.of for row in rows) else (across,)
    )


def numbers_of(findings: Findings, measure: str, across: str) -> list[str]:
    """The numbers of a measure that a table with columns ``across`` can be about: “position=1”;
    empty where there is one.
    """
    rows = findings.select(measure)
    rests = dict.fromkeys(_rest(row, *_by_columns(findings, rows, across)) for row in rows)
    return [] if "" in rests else list(rests)


def _rows(findings: Findings, text: str, across: str) -> list[Row]:
    """The rows that “measure:name=value” means; a value alone is that of the first part of what
    rows are about. Raises LabError where there is none, or where it is not settled which.
    """
    measure, _, part = text.partition(":")
    rows = findings.select(measure)
    if not rows:
        known = ", ".join(dict.fromkeys(row.measure for row in findings.rows))
        raise LabError(f"This run has no measure “{shorten(measure)}”; expected one of {known}.")
    pairs = (
        value.split("=", 1) if "=" in value else (next(iter(rows[0].of), ""), value)
        for value in part.split(",")
        if value
    )
    named = {str(name).strip(): value.strip() for name, value in pairs}
    rows = [
        row
        for row in rows
        if all(level_text(row.of.get(name, "")) == value for name, value in named.items())
    ]
    named_too = (*_by_columns(findings, rows, across), *named)
    rests = {_rest(row, *named_too) for row in rows}
    if "" not in rests and len(rests) != 1:
        parts = "; ".join(numbers_of(findings, measure, across)[:12]) or "no others"
        raise LabError(
            f"Say which number of {measure} is meant, as {measure}:NAME=VALUE; there are {parts}."
        )
    rows = [row for row in rows if "" not in rests or not _rest(row, *named_too)]
    if "variant" in named_too and across != "variant":
        rows = [row for row in rows if _of_a_level(findings, row)]
    return [row for row in rows if across in row.of] or rows


def _of_a_level(findings: Findings, row: Row) -> bool:
    """Return whether a row about a variant is about levels of factors.

    Another order is a variant too (“descending”), and its row is stored on a condition at the
    baseline of every factor: under that level it would be read as an effect of the level.
    """
    factors = findings.conditions[row.condition].variant
    return any(str(row.of["variant"]).startswith(f"{factor} = ") for factor in factors)


class _Grid:
    """Which line and column a row belongs to, and how it is printed there."""

    def __init__(self, findings: Findings, across: str, by_strategy: bool) -> None:
        self.findings, self.across, self.by_strategy = findings, across, by_strategy
        self.conditions, gates = findings.conditions, findings.select("gate")
        self.chosen = {row.condition for row in gates if not row.of}
        self.baseline = {(asked.judge, asked.dataset): asked for asked in reversed(self.conditions)}
        self.verdicts = {
            (self._about(row), row.measure): row for row in findings.rows if row.topic == "verdict"
        }
        limits = [row for row in findings.rows if row.measure in LIMITS and not row.of]
        self.limits = {(row.condition, row.measure): row.value for row in limits}

    def part(self, rows: Iterable[Row]) -> tuple[list[str], dict[Key, list[Cell | None]]]:
        """(columns, line -> cells) of one measure: the levels, their mean, over criteria or tasks
        also the largest and how many tests reject at 5%. Of two rows for one cell that of the
        condition which the verdicts are about.
        """
        grid: dict[Key, dict[str, Cell]] = {}
        for row in rows:
            column, line = self._column(row), grid.setdefault(self._line(row), {})
            if column is not None and (column not in line or row.condition in self.chosen):
                line[column] = self._cell(row)
        grid = {key: line for key, line in grid.items() if line}
        if not grid:
            expected = ", ".join(axes_of(self.findings))
            raise LabError(
                f"No columns can be made of “{shorten(self.across)}”; expected one of {expected}."
            )
        of_factor = any(self.across in condition.variant for condition in self.conditions)
        if of_factor and any(key[-1] == DEFAULT for key in grid):
            # Where factors are varied one at a time, the lines of another factor stand in a single
            # column: left out.
            grid = {key: line for key, line in grid.items() if len(line) > 1 or key[-1] == DEFAULT}
        levels = list(dict.fromkeys(column for line in grid.values() for column in line))
        if all(level.replace(".", "", 1).isdigit() for level in levels):
            levels.sort(key=float)
        cells = {key: [line.get(level) for level in levels] for key, line in grid.items()}
        more: list[Summary] = []
        if self.across in AVERAGED and len(levels) > 1 and any(map(_mean, cells.values())):
            more += [(MEAN, _mean), ("Largest", _largest)][: 1 + (self.across != "dataset")]
        tested = any(
            cell.row and math.isfinite(cell.row.p)
            for line in grid.values()
            for cell in line.values()
        )
        more += [(f"p{NBSP}<{NBSP}0.05", _rejected)] * (
            self.across in ("target", "task") and tested
        )
        columns = [*levels, *(name for name, _ in more)]
        return columns, {
            key: [*line, *(summary(line) for _, summary in more)] for key, line in cells.items()
        }

    def _column(self, row: Row) -> str | None:
        condition = self.conditions[row.condition]
        if self.across in row.of:
            level = level_text(row.of[self.across])
            return row.about.codes.get(level, level)
        if self.across in ("dataset", "strategy"):
            return str(getattr(condition, self.across))
        return (
            level_text(condition.variant[self.across]) if self.across in condition.variant else None
        )

    def _line(self, row: Row) -> Key:
        """A name for each of FIELDS, empty where it makes no line."""
        condition, across = self.conditions[row.condition], self.across
        own = self.baseline[condition.judge, condition.dataset].variant
        return (
            condition.judge,
            "" if across == "dataset" else condition.dataset,
            condition.strategy if self.by_strategy and across != "strategy" else "",
            condition.reorder,
            "" if across in condition.variant else str(condition.positions),
            variant_text(
                {key: value for key, value in condition.variant.items() if key != across}, own
            )
            or DEFAULT,
        )

    def _about(self, row: Row) -> tuple[Any, ...]:
        """Whose verdict it is: of a setting's orders, or of a variant."""
        return *self.conditions[row.condition].setting, row.of.get("variant")

    def _marks(self, row: Row) -> str:
        word = row.verdict
        if row.about.question:
            gate = self.verdicts.get((self._about(row), "gate"))
            about = self.verdicts.get((self._about(row), MEASURE_OF.get(row.about.question, "")))
            word = (
                about.verdict
                if about and about.verdict
                else ""
                if gate and gate.p <= ALPHA
                else "undecided"
            )
        error, stability = (self.limits.get((row.condition, name), math.nan) for name in LIMITS)
        void = row.measure not in LIMITS and (error > MOST_ERROR or stability < LEAST_STABILITY)
        return {"undecided": OPEN, "equivalent": SMALL}.get(word, "") + VOID * void

    def _cell(self, row: Row) -> Cell:
        """A row as it is printed: number, marks, interval, p; a dash where there is no number."""
        form, marks = _form(measure_of(row, self.conditions)), self._marks(row)
        text = (
            number(row.value, form) if math.isfinite(row.value) else "" if row.test else "–"
        ) + marks
        level, _, inside = ends(*row.interval, form, row.level).partition(" CI ")
        if inside:
            text += f" ({inside})" if math.isclose(row.level, 0.95) else f" ({inside}; {level} CI)"
        text = " ".join(part for part in (text, p_value(row.p)) if part)
        return Cell(text, row.value, "" if row.why == "statistic" else form, marks, row)


def _form(about: Measure) -> str:
    """How a table writes a measure: as papers do, shares with a decimal."""
    return about.form.replace(".0%", ".1%")


Summary = tuple[str, Callable[[Sequence[Cell | None]], Cell | None]]


def _mean(cells: Sequence[Cell | None]) -> Cell | None:
    """The unweighted mean of numbers that all are there, not void, and no statistics of tests; else
    None.
    """
    kept = [
        cell
        for cell in cells
        if cell and math.isfinite(cell.value) and cell.form and VOID not in cell.marks
    ]
    value = sum(cell.value for cell in kept) / max(1, len(kept))
    return (
        Cell(number(value, kept[0].form), value, kept[0].form)
        if kept and len(kept) == len(cells)
        else None
    )


def _largest(cells: Sequence[Cell | None]) -> Cell | None:
    """The number furthest from 0, where there is a mean of them."""
    values = [cell.value for cell in cells if cell]
    return _mean(
        [replace(cell, value=max(values, key=abs), row=None) if cell else None for cell in cells]
    )


def _rejected(cells: Sequence[Cell | None]) -> Cell:
    """How many of the tests reject at 5%, as papers count them."""
    known = [cell.row.p for cell in cells if cell and cell.row and math.isfinite(cell.row.p)]
    return Cell(f"{sum(p < ALPHA for p in known)} of {len(known)}")


def _with_means(
    lines: Mapping[Key, list[Cell | None]], printed: Mapping[str, tuple[Cell | None, ...]]
) -> list[Line]:
    """Lines with a paper's below that of the same judge (else below all), then the mean over judges
    of each kind of line.
    """
    body, left, kinds = list[Line](), dict(printed), dict[Key, list[list[Cell | None]]]()
    for key, cells in lines.items():
        body.append((key, tuple(cells)))
        kinds.setdefault(key[1:], []).append(cells)
        if key[0] in left:
            body.append(((f"{key[0]} {PAPER}", *key[1:]), left.pop(key[0])))
    rest = next(iter(lines))[1:]
    body += [((f"{judge} {PAPER}", *rest), cells) for judge, cells in left.items()]
    for kind, several in kinds.items():
        means = tuple(_mean(column) for column in zip(*several, strict=True))
        if len(several) > 1 and any(means):
            body.append(((MEAN, *kind), means))
    return body
