"""Arrange a run's numbers as papers print them: a line for each judge, a column for each data set.

Columns may also be the levels of a factor, or a part of what rows are about. A cell holds the row
that its text was made of. ``exports/paper_table.py`` writes the grid in its formats.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import MEASURES, Findings, Measure, Row
from rubriclab.model.judgment import level_text, variant_text
from rubriclab.model.study import PaperPart
from rubriclab.model.text import LabError, shorten
from rubriclab.words.paper_names import matched
from rubriclab.words.phrases import NBSP, ends, measure_of, number, p_value
from rubriclab.words.subject import EQUIVALENT, MEASURE_OF, UNDECIDED

OPEN, SMALL, VOID, NOT_SIGNIFICANT = "°", "≈", "†", "ⁿˢ"
MARKS = {UNDECIDED: OPEN, EQUIVALENT: SMALL}
MOST_ERROR, LEAST_STABILITY = 0.2, 0.8
"""Numbers of pairs are void where more replies name no winner, or repetitions agree less often (Shi
et al., Table 2).
"""
LEGEND = {
    OPEN: "the judge's verdict leaves it open, or its gate is closed",
    SMALL: "surely smaller than matters",
    NOT_SIGNIFICANT: f"not significant by its own test (p ≥ {ALPHA:g})",
    VOID: f"void: more than {MOST_ERROR:.0%} of replies name no winner, or repetitions agree in "
    f"less than {LEAST_STABILITY:.0%}",
}
AVERAGED = ("dataset", "target", "task")
"""What a mean over columns may be taken over. Levels of a factor are compared, not averaged."""
COUNTED = ("target", "task")
"""Columns over which papers also print the largest number and count the tests that reject."""
MEAN, PAPER = "Mean", "(paper)"
DEFAULT = "default"
FIELDS = ("Judge", "Data set", "Ordering strategy", "Reordered", "Positions", "Variant")
"""What can tell two lines apart; the last is the variant."""
LIMITS = ("error_rate", "rs")
MOST_CHOICES = 12
"""Numbers that an error names: more are no help."""
Key = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One number as it is printed.

    ``form``: how a mean of such numbers is written, empty where there can be none. ``row``: what it
    was made of, None of means.
    """

    text: str
    value: float = math.nan
    form: str = ""
    marks: str = ""
    row: Row | None = None


Cells = tuple[Cell | None, ...]
"""A cell for each column, None where nothing was measured."""
Line = tuple[Key, Cells]
"""A name for each of the grid's heads, and its cells."""
Summary = tuple[str, Callable[[Sequence[Cell | None]], Cell | None]]


@dataclass(frozen=True)
class PaperGrid:
    """``heads``: what the first columns name. ``columns``: the others. ``legend``: what its marks
    mean.
    """

    title: str
    heads: Key
    columns: Key
    lines: tuple[Line, ...]
    legend: Key


def paper_grid(
    findings: Findings,
    measures: str | Sequence[str],
    *,
    across: str = "dataset",
    by_strategy: bool = False,
    papers: Sequence[PaperPart] = (),
) -> PaperGrid:
    """Return measures of every judge (lines) by what ``across`` names (columns).

    ``measures``: names; “position_share:1” takes the rows about position 1
    (“position_given_score:score=5,position=1”). ``across``: dataset, strategy, a factor that the
    run varies, or a part of what rows are about (target, task, position, variant and so on).
    ``by_strategy``: a line for each ordering strategy; else each judge's condition with the most
    orders. ``papers``: what papers printed of the run's design; those of the same measure and
    columns get lines of their own, below the judge that ``matched`` finds for the paper's, and the
    legend says which was matched. Means are unweighted and
    only where every number is there. Raises LabError where nothing can be shown, naming what can.
    """
    asked = [measures] if isinstance(measures, str) else list(measures)
    sorter = _Sorter(findings, across, by_strategy)
    columns: list[str] = []
    titles: list[str] = []
    lines: dict[Key, list[Cell | None]] = {}
    printed: dict[str, list[Cell | None]] = {}
    same: list[PaperPart] = []
    for text in asked:
        rows = _rows(findings, text, across)
        titles.append(_title(text))
        mine, cells = sorter.arranged(rows)
        for key in dict.fromkeys([*lines, *cells]):
            before = lines.get(key, [None] * len(columns))
            lines[key] = before + cells.get(key, [None] * len(mine))
        own = [paper for paper in papers if (paper.measure, paper.across) == (text, across)]
        same += own
        of_papers = _printed(own, _form(_measure(text)), mine)
        for judge in dict.fromkeys([*printed, *of_papers]):
            before = printed.get(judge, [None] * len(columns))
            printed[judge] = before + list(of_papers.get(judge, [None] * len(mine)))
        if len(asked) == 1:
            columns += mine
        elif len(mine) == 1:
            columns.append(titles[-1])
        else:
            columns += [f"{column} · {titles[-1]}" for column in mine]
    body = _with_means(lines, {judge: tuple(cells) for judge, cells in printed.items()})
    heads = [0, *(k for k in range(1, len(FIELDS)) if len({key[k] for key in lines}) > 1)]
    return PaperGrid(
        title="; ".join(titles),
        heads=tuple(FIELDS[k] for k in heads),
        columns=tuple(columns),
        lines=tuple((tuple(key[k] for k in heads), cells) for key, cells in body),
        legend=tuple(_legend(body, columns, same, asked, _matches(lines, printed))),
    )


def axes_of(findings: Findings) -> list[str]:
    """Return what columns can be made of in this run: dataset, strategy, factors, and parts of what
    rows are about.
    """
    factors = dict.fromkeys(key for condition in findings.conditions for key in condition.variant)
    parts = dict.fromkeys(
        key for row in findings.rows for key in row.of if key not in ("order", "against")
    )
    return list(dict.fromkeys(["dataset", "strategy", *factors, *parts]))


def numbers_of(findings: Findings, measure: str, across: str) -> list[str]:
    """Return the numbers of a measure that a grid with columns ``across`` can be about.

    Each as “position=1”; empty where there is one number.
    """
    rows = findings.select(measure)
    named = _by_columns(findings, rows, across)
    rests = dict.fromkeys(_rest(row, named) for row in rows)
    return [] if "" in rests else list(rests)


# ---------------------------------------------------------------- titles and legends
def _measure(text: str) -> Measure:
    return MEASURES[text.partition(":")[0]]


def _title(text: str) -> str:
    """Return the title of “measure:name=value”."""
    title, part = _measure(text).name, text.partition(":")[2]
    return f"{title} ({part.replace('=', ' ').replace(',', ', ')})" if part else title


def _printed(papers: Sequence[PaperPart], form: str, columns: Sequence[str]) -> dict[str, Cells]:
    """Return the cells of what papers printed, by the paper's name of a judge."""
    printed: dict[str, Cells] = {}
    for paper in papers:
        for judge, by_column in paper.numbers.items():
            cells: list[Cell | None] = []
            for column in columns:
                value = by_column.get(matched(column, by_column), math.nan)
                known = math.isfinite(value)
                cells.append(Cell(number(value, form), value) if known else None)
            printed[judge] = tuple(cells)
    return printed


def _matches(lines: Iterable[Key], printed: Mapping[str, object]) -> list[str]:
    """Say which judges were found in the paper by another name, and which were not found."""
    if not printed:
        return []
    judges = dict.fromkeys(key[0] for key in lines)
    found = {judge: matched(judge, printed) for judge in judges}
    renamed = [f"{own} = {paper}" for own, paper in found.items() if paper and paper != own]
    missed = [own for own, paper in found.items() if not paper]
    said = []
    if renamed:
        said.append(f"Matched with the paper's names: {'; '.join(renamed)}.")
    if missed:
        said.append(f"Not matched with a name in the paper: {'; '.join(missed)}.")
    return said


def _legend(
    body: Sequence[Line],
    columns: Sequence[str],
    papers: Sequence[PaperPart],
    asked: Sequence[str],
    matches: Sequence[str],
) -> list[str]:
    """Return what the marks of a grid mean, and where its numbers are from."""
    cells = [cell for _, line in body for cell in line if cell is not None]
    used = "".join(cell.marks for cell in cells)
    legend = [f"{mark} {words}." for mark, words in LEGEND.items() if mark in used]
    legend += dict.fromkeys(f"{PAPER}: {paper.table}. {paper.note}".strip() for paper in papers)
    legend += matches
    if any(" to " in cell.text for cell in cells):
        legend.append("In brackets: 95% CI, unless another level stands there.")
    legend += dict.fromkeys(_measure(text).sign for text in asked if _measure(text).sign)
    if MEAN in [*columns, *(key[0] for key, _ in body)]:
        legend.append("Means are unweighted.")
    return legend


# ---------------------------------------------------------------- which rows are meant
def _rest(row: Row, named: Iterable[str]) -> str:
    """Return what a row is about except for the parts that are named: “score=5,position=1”."""
    rest = {name: value for name, value in row.of.items() if name not in named}
    return ",".join(f"{name}={level_text(value)}" for name, value in rest.items())


def _by_columns(findings: Findings, rows: Sequence[Row], across: str) -> tuple[str, ...]:
    """Return the parts of the rows that their columns say.

    ``across``; and the variant, where columns are a factor and all rows are about a variant.
    """
    of_factor = any(across in findings.conditions[row.condition].variant for row in rows)
    if of_factor and all("variant" in row.of for row in rows):
        return across, "variant"
    return (across,)


def _rows(findings: Findings, text: str, across: str) -> list[Row]:
    """Return the rows that “measure:name=value” means.

    A value alone is that of the first part of what rows are about. Raises LabError where there is
    no row, or where it is not settled which is meant.
    """
    measure, _, part = text.partition(":")
    rows = findings.select(measure)
    if not rows:
        known = ", ".join(dict.fromkeys(row.measure for row in findings.rows))
        raise LabError(f"This run has no measure “{shorten(measure)}”; expected one of {known}.")
    named = _named_parts(part, rows[0])
    rows = [
        row
        for row in rows
        if all(level_text(row.of.get(name, "")) == value for name, value in named.items())
    ]
    named_too = (*_by_columns(findings, rows, across), *named)
    rests = {_rest(row, named_too) for row in rows}
    if "" not in rests and len(rests) != 1:
        parts = "; ".join(numbers_of(findings, measure, across)[:MOST_CHOICES]) or "no others"
        raise LabError(
            f"Say which number of {measure} is meant, as {measure}:NAME=VALUE; there are {parts}."
        )
    if "" in rests:
        rows = [row for row in rows if not _rest(row, named_too)]
    if "variant" in named_too and across != "variant":
        rows = [row for row in rows if _of_a_level(findings, row)]
    return [row for row in rows if across in row.of] or rows


def _named_parts(part: str, row: Row) -> dict[str, str]:
    """Return the names and values of “score=5,position=1”, or of “1”."""
    first, *_ = [*row.of] or [""]
    named = {}
    for value in part.split(","):
        if "=" in value:
            name, _, own = value.partition("=")
            named[name.strip()] = own.strip()
        elif value:
            named[str(first).strip()] = value.strip()
    return named


def _of_a_level(findings: Findings, row: Row) -> bool:
    """Return whether a row about a variant is about levels of factors.

    Another order is a variant too (“descending”), and its row is stored on a condition at the
    baseline of every factor: under that level it would be read as an effect of the level.
    """
    factors = findings.conditions[row.condition].variant
    return any(str(row.of["variant"]).startswith(f"{factor} = ") for factor in factors)


# ---------------------------------------------------------------- lines and columns
class _Sorter:
    """Sort rows into lines and columns, and print each as a cell."""

    def __init__(self, findings: Findings, across: str, by_strategy: bool) -> None:
        self.findings, self.across, self.by_strategy = findings, across, by_strategy
        self.conditions, gates = findings.conditions, findings.select("gate")
        self.chosen = {row.condition for row in gates if not row.of}
        self.baseline = {(about.judge, about.dataset): about for about in reversed(self.conditions)}
        self.verdicts = {
            (self._setting(row), row.measure): row
            for row in findings.rows
            if row.topic == "verdict"
        }
        limits = [row for row in findings.rows if row.measure in LIMITS and not row.of]
        self.limits = {(row.condition, row.measure): row.value for row in limits}

    def arranged(self, rows: Iterable[Row]) -> tuple[list[str], dict[Key, list[Cell | None]]]:
        """Return (columns, line -> cells) of one measure, with its summaries as last columns."""
        grid = self._grid(rows)
        levels = list(dict.fromkeys(column for line in grid.values() for column in line))
        if all(level.replace(".", "", 1).isdigit() for level in levels):
            levels.sort(key=float)
        cells = {key: [line.get(level) for level in levels] for key, line in grid.items()}
        summaries = self._summaries(levels, cells)
        columns = [*levels, *(name for name, _ in summaries)]
        return columns, {
            key: [*line, *(summary(line) for _, summary in summaries)]
            for key, line in cells.items()
        }

    def _grid(self, rows: Iterable[Row]) -> dict[Key, dict[str, Cell]]:
        """Return line -> column -> cell. Raises LabError where ``across`` makes no columns.

        Of two rows for one cell, that of the condition which the verdicts are about is taken.
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
            # Where factors are varied one at a time, the lines of another factor have a single
            # cell: left out.
            return {key: line for key, line in grid.items() if len(line) > 1 or key[-1] == DEFAULT}
        return grid

    def _summaries(
        self, levels: Sequence[str], cells: Mapping[Key, Sequence[Cell | None]]
    ) -> list[Summary]:
        """Return the columns after the levels: their mean, over criteria or tasks also the largest
        number and how many tests reject at 5%.
        """
        summaries: list[Summary] = []
        counted = self.across in COUNTED
        means = any(_mean(line) is not None for line in cells.values())
        if self.across in AVERAGED and len(levels) > 1 and means:
            summaries.append((MEAN, _mean))
            if counted:
                summaries.append(("Largest", _largest))
        tested = any(
            cell is not None and cell.row is not None and math.isfinite(cell.row.p)
            for line in cells.values()
            for cell in line
        )
        if counted and tested:
            summaries.append((f"p{NBSP}<{NBSP}0.05", _rejected))
        return summaries

    def _column(self, row: Row) -> str | None:
        """Return the column of a row, None where it belongs to none."""
        condition = self.conditions[row.condition]
        if self.across in row.of:
            level = level_text(row.of[self.across])
            return row.about.codes.get(level, level)
        if self.across in ("dataset", "strategy"):
            return str(getattr(condition, self.across))
        if self.across in condition.variant:
            return level_text(condition.variant[self.across])
        return None

    def _line(self, row: Row) -> Key:
        """Return a name for each of FIELDS, empty where it makes no line."""
        condition, across = self.conditions[row.condition], self.across
        own = self.baseline[condition.judge, condition.dataset].variant
        others = {key: value for key, value in condition.variant.items() if key != across}
        return (
            condition.judge,
            "" if across == "dataset" else condition.dataset,
            condition.strategy if self.by_strategy and across != "strategy" else "",
            condition.reorder,
            "" if across in condition.variant else str(condition.positions),
            variant_text(others, own) or DEFAULT,
        )

    def _setting(self, row: Row) -> tuple[Any, ...]:
        """Return what a row's verdict is about: a setting's orders, or a variant."""
        return *self.conditions[row.condition].setting, row.of.get("variant")

    def _word(self, row: Row) -> str:
        """Return the verdict that speaks of a row; "undecided" where only a closed gate does."""
        if not row.about.question:
            return row.verdict
        setting = self._setting(row)
        verdict = self.verdicts.get((setting, MEASURE_OF.get(row.about.question, "")))
        if verdict is not None and verdict.verdict:
            return verdict.verdict
        gate = self.verdicts.get((setting, "gate"))
        return "" if gate is not None and gate.p <= ALPHA else UNDECIDED

    def _marks(self, row: Row) -> str:
        """Return the marks of a row. A test's statistic is marked by its own p, as papers do."""
        marks = MARKS.get(self._word(row), "")
        if row.why == "statistic" and math.isfinite(row.p):
            marks = NOT_SIGNIFICANT if row.p >= ALPHA else ""
        error, stability = (self.limits.get((row.condition, name), math.nan) for name in LIMITS)
        if row.measure not in LIMITS and (error > MOST_ERROR or stability < LEAST_STABILITY):
            marks += VOID
        return marks

    def _cell(self, row: Row) -> Cell:
        """Print a row: number, marks, interval, p; a dash where there is no number."""
        form, marks = _form(measure_of(row, self.conditions)), self._marks(row)
        text = "" if row.test else "–"
        if math.isfinite(row.value):
            text = number(row.value, form)
        text += marks
        level, _, inside = ends(*row.interval, form, row.level).partition(" CI ")
        if inside:
            usual = math.isclose(row.level, 0.95)
            text += f" ({inside})" if usual else f" ({inside}; {level} CI)"
        text = " ".join(part for part in (text, p_value(row.p)) if part)
        return Cell(text, row.value, "" if row.why == "statistic" else form, marks, row)


def _form(about: Measure) -> str:
    """Return how a grid writes a measure: as papers do, shares with a decimal."""
    return about.form.replace(".0%", ".1%")


# ---------------------------------------------------------------- means over cells
def _mean(cells: Sequence[Cell | None]) -> Cell | None:
    """Return the unweighted mean of a line.

    None unless every number is there, none is void, and none is the statistic of a test.
    """
    kept = [
        cell
        for cell in cells
        if cell and math.isfinite(cell.value) and cell.form and VOID not in cell.marks
    ]
    if not kept or len(kept) < len(cells):
        return None
    value = sum(cell.value for cell in kept) / len(kept)
    return Cell(number(value, kept[0].form), value, kept[0].form)


def _largest(cells: Sequence[Cell | None]) -> Cell | None:
    """Return the number furthest from 0, where there is a mean of the line."""
    if _mean(cells) is None:
        return None
    kept = [cell for cell in cells if cell]
    form = kept[0].form
    value = max((cell.value for cell in kept), key=abs)
    return Cell(number(value, form), value, form)


def _rejected(cells: Sequence[Cell | None]) -> Cell:
    """Count the tests that reject at 5%, as papers do."""
    known = [cell.row.p for cell in cells if cell and cell.row and math.isfinite(cell.row.p)]
    return Cell(f"{sum(p < ALPHA for p in known)} of {len(known)}")


def _with_means(lines: Mapping[Key, list[Cell | None]], printed: Mapping[str, Cells]) -> list[Line]:
    """Return the lines with a paper's below that of the same judge (else below all).

    Last comes the mean over judges of each kind of line.
    """
    body: list[Line] = []
    left = dict(printed)
    kinds: dict[Key, list[list[Cell | None]]] = {}
    for key, cells in lines.items():
        body.append((key, tuple(cells)))
        kinds.setdefault(key[1:], []).append(cells)
        paper = matched(key[0], left)
        if paper:
            body.append(((f"{paper} {PAPER}", *key[1:]), left.pop(paper)))
    first_kind, *_ = kinds
    body += [((f"{judge} {PAPER}", *first_kind), cells) for judge, cells in left.items()]
    for kind, several in kinds.items():
        means = tuple(_mean(column) for column in zip(*several, strict=True))
        if len(several) > 1 and any(mean is not None for mean in means):
            body.append(((MEAN, *kind), means))
    return body
