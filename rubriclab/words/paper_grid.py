"""Arrange a run's numbers as papers print them: a line for each judge, a column for each data set.

Columns may also be the levels of a factor, or a part of what rows are about. Several measures stand
side by side below each of them. A cell holds the row that its text was made of.
``exports/paper_table.py`` writes the grid in its formats.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import MEASURES, Findings, Measure, Row
from rubriclab.model.judgment import level_text, variant_text
from rubriclab.model.study import PaperPart
from rubriclab.model.text import LabError, count, shorten
from rubriclab.words.paper_names import matched
from rubriclab.words.phrases import (
    NBSP,
    against_name,
    ends,
    measure_of,
    number,
    p_value,
)
from rubriclab.words.subject import EQUIVALENT, MEASURE_OF, UNDECIDED

OPEN, SMALL, VOID, NOT_SIGNIFICANT = "°", "≈", "†", "ⁿˢ"
MARKS = {UNDECIDED: OPEN, EQUIVALENT: SMALL}
MOST_ERROR, LEAST_STABILITY = 0.2, 0.8
"""Numbers of pairs are void above this error rate, or where repetitions agree less often (Shi et
al., Table 2).
"""
LEGEND = {
    OPEN: "the judge's verdict leaves it open, or its gate is closed",
    SMALL: "surely smaller than matters",
    NOT_SIGNIFICANT: f"not significant by its own test (p ≥ {ALPHA:g})",
    VOID: f"void: the error rate of Shi et al. is above {MOST_ERROR:.0%}, or repetitions agree in "
    f"less than {LEAST_STABILITY:.0%}",
}
AVERAGED = ("dataset", "target", "task")
"""What a mean over columns may be taken over. Levels of a factor are compared, not averaged."""
LARGEST_OF = ("target", "task")
"""Columns over which papers also print the largest number."""
MEAN, PAPER, REJECTED = "Mean", "(paper)", f"p{NBSP}<{NBSP}{ALPHA:g}"
SHORT = {
    "chi2": "χ²",
    "cramers_v": "V",
    "v_without_noise": "V without noise",
    "position_share": "Pos",
    "within_item_sd": "SD within",
    "pearson": "r",
    "spearman": "rho",
    "delta_pos": "Delta Pos",
    "friedman": "Friedman",
    "pc": "PC",
    "pc_sd": "SD of PC",
    "pf": "PF",
    "rs": "RS",
    "rs_sd": "SD of RS",
    "error_rate": "Error",
    "kendall_tau": "tau-b",
    "top1_changed": "t1",
}
"""What papers call a measure in the head of a column. Where they are used, the legend says what
they mean.
"""
LARGEST = "Largest"
SUMMARIES = (MEAN, LARGEST, REJECTED)
"""Columns that sum up the others, in this order."""
EVEN = "Bold: the CI of this share alone leaves out an even share."
IN_BRACKETS = "In brackets: 95% CI, unless another level stands there."
IN_FILES = "Intervals are in the files for CSV and JSON."
MEANS = "Means are unweighted, and left out where a number is missing or void."
INDEPENDENT = "χ² takes calls as independent, and grows with their number."
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
    was made of, None of means. ``short``: the number with its marks alone, where ``text`` has more.
    ``even``: of a position's share, what it would be without bias; NaN of others.
    """

    text: str
    value: float = math.nan
    form: str = ""
    marks: str = ""
    row: Row | None = None
    short: str = ""
    even: float = math.nan

    @property
    def bold(self) -> bool:
        """Whether the interval of a share leaves out an even one."""
        low, high = self.row.interval if self.row is not None else (math.nan, math.nan)
        return low > self.even or high < self.even

    @property
    def brief(self) -> str:
        """The number with its marks, without interval and p."""
        return self.short or self.text


Cells = tuple[Cell | None, ...]
"""A cell for each column, None where nothing was measured."""
Line = tuple[Key, Cells]
"""A name for each of the grid's heads, and its cells."""
Summary = tuple[str, Callable[[Sequence[Cell | None]], Cell | None]]


@dataclass(frozen=True)
class Column:
    """A column of numbers. ``measure``: as it was asked for. ``over``: what several columns share,
    such as a data set; empty where they share nothing. ``under``: its own short head.
    """

    name: str
    measure: str
    over: str = ""
    under: str = ""


@dataclass(frozen=True)
class PaperGrid:
    """A table as papers print it.

    ``heads``: what the first columns name. ``about``: the others. ``marks``: what heads and marks
    mean. ``of_papers``: which papers' numbers are beside ours, and what was matched. ``kinds``: of
    the lines: printed (in a paper, of the judge above), apart (in a paper, of a judge that the run
    lacks), summed, or empty. ``emphasis``: what bold means, empty where nothing is bold.
    """

    title: str
    heads: Key
    about: tuple[Column, ...]
    lines: tuple[Line, ...]
    marks: Key
    of_papers: Key
    kinds: Key
    emphasis: str = ""

    @property
    def columns(self) -> Key:
        """The names of the columns."""
        return tuple(column.name for column in self.about)

    @property
    def legend(self) -> Key:
        """Everything that is said below the grid."""
        return self.marks + self.of_papers

    @property
    def side_by_side(self) -> bool:
        """Whether several measures share what is above them. Their cells are brief."""
        return any(column.over for column in self.about)


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
    (“position_given_score:score=5,position=1”), “pearson:against=GPT-4” those with that judge.
    Several stand side by side below each data set or level. ``across``: dataset, strategy, a factor
    that the run varies, or a part of what rows are about (target, task, position, variant and so
    on). ``by_strategy``: a line for each ordering strategy; else each judge's condition with the
    most orders. ``papers``: what papers printed of the run's design; those of the same measures and
    columns get lines of their own, below the judge that ``matched`` finds for the paper's, and the
    legend says which was matched. Means are unweighted and only where every number is there. Raises
    LabError where nothing can be shown, naming what can.
    """
    asked = [measures] if isinstance(measures, str) else list(dict.fromkeys(measures))
    sorter = _Sorter(findings, across, by_strategy)
    parts = []
    for text in asked:
        names, cells = sorter.arranged(_rows(findings, text, across))
        own = [paper for paper in papers if (paper.measure, paper.across) == (text, across)]
        parts.append(_Part(text, names, cells, own))
    columns = _side_by_side(parts)
    lines = {key: _joined(parts, columns, key) for part in parts for key in part.lines}
    lines = _with_means_over_data_sets(lines)
    printed = _printed_lines(parts, columns)
    body = _with_means(lines, printed)
    heads = [0, *(k for k in range(1, len(FIELDS)) if len({key[k] for key in lines}) > 1)]
    about = _named(parts, columns)
    shown = [cell for _, _, cells in body for cell in cells if cell is not None]
    return PaperGrid(
        title="; ".join(_title(text) for text in asked),
        heads=tuple(FIELDS[k] for k in heads),
        about=about,
        lines=tuple((tuple(key[k] for k in heads), cells) for _, key, cells in body),
        marks=tuple(_legend(body, about, asked)),
        of_papers=tuple(_of_papers(findings, parts, lines, printed)),
        kinds=tuple(kind for kind, _, _ in body),
        emphasis=EVEN if any(cell.bold for cell in shown) else "",
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
    rests = dict.fromkeys(_rest(findings, row, named) for row in rows)
    return [] if "" in rests else list(rests)


def yardsticks_of(findings: Findings, measure: str) -> list[str]:
    """Return the judges that a measure compares others with, each as “against=GPT-4”."""
    rows = [row for row in findings.select(measure) if set(row.of) == {"against"}]
    return list(dict.fromkeys(_rest(findings, row, ()) for row in rows))


def askable(findings: Findings, across: str) -> list[str]:
    """Return every measure that a grid with such columns can be about, with the parts that say
    which of its numbers: “pc”, “position_share:position=1”.
    """
    by_measure: dict[str, list[Row]] = {}
    for row in findings.rows:
        by_measure.setdefault(row.measure, []).append(row)
    of_condition = across in ("dataset", "strategy") or any(
        across in about.variant for about in findings.conditions
    )
    asked: list[str] = []
    for measure, rows in by_measure.items():
        kept = rows if of_condition else [row for row in rows if across in row.of]
        named = _by_columns(findings, kept, across)
        rests = dict.fromkeys(_rest(findings, row, named) for row in kept)
        asked += [f"{measure}:{rest}" if rest else measure for rest in rests]
    return asked


# ---------------------------------------------------------------- measures side by side
@dataclass(frozen=True)
class _Part:
    """One measure of a grid: its columns, its cells by line, and what papers printed of it.

    ``names``: of its columns, those that sum up the others at the end.
    """

    text: str
    names: list[str]
    lines: dict[Key, list[Cell | None]]
    papers: Sequence[PaperPart] = field(default_factory=tuple)

    @property
    def levels(self) -> list[str]:
        """The names of columns that sum up nothing."""
        return [name for name in self.names if name not in SUMMARIES]


Place = tuple[int, str]
"""A column: the number of its part, and its name there."""
Kept = tuple[str, Key, Cells]
"""A line: its kind (empty, printed, apart or summed), its names and its cells."""


def _side_by_side(parts: Sequence[_Part]) -> list[Place]:
    """Return the columns of all parts: by data set or level, then by measure; summaries last."""
    levels = dict.fromkeys(level for part in parts for level in part.levels)
    names = [*levels, *(name for name in SUMMARIES if any(name in part.names for part in parts))]
    return [(k, name) for name in names for k, part in enumerate(parts) if name in part.names]


def _joined(parts: Sequence[_Part], columns: Sequence[Place], key: Key) -> list[Cell | None]:
    """Return the cells of a line, in the order of the columns."""
    own = [dict(zip(part.names, part.lines.get(key, ()), strict=False)) for part in parts]
    return [own[k].get(name) for k, name in columns]


def _named(parts: Sequence[_Part], columns: Sequence[Place]) -> tuple[Column, ...]:
    """Return the columns with their heads: what they share goes above their measures."""
    several = len({name for _, name in columns}) > 1
    named = []
    for k, name in columns:
        text = parts[k].text
        if len(parts) == 1:
            named.append(Column(name, text, under=name))
        elif several:
            short = short_title(text)
            named.append(Column(f"{name} · {short}", text, over=name, under=short))
        else:
            named.append(Column(_title(text), text, under=short_title(text)))
    return tuple(named)


# ---------------------------------------------------------------- titles and legends
def _measure(text: str) -> Measure:
    return MEASURES[text.partition(":")[0]]


def _title(text: str) -> str:
    """Return the title of “measure:name=value”."""
    title, part = _measure(text).name, text.partition(":")[2]
    if part.startswith("against="):
        return f"{title} with {part.partition('=')[2]}"
    return f"{title} ({part.replace('=', ' ').replace(',', ', ')})" if part else title


def short_title(text: str) -> str:
    """Return how the head of a column calls “measure:name=value”: “χ²”, “Pos 1”, “r with GPT-4”."""
    measure, _, part = text.partition(":")
    if measure not in SHORT:
        return _title(text)
    name, _, value = part.rpartition("=")
    if name == "against":
        return f"{SHORT[measure]} with {value}"
    return f"{SHORT[measure]} {value}" if value else SHORT[measure]


def _legend(body: Sequence[Kept], columns: Sequence[Column], asked: Sequence[str]) -> list[str]:
    """Return what the heads and marks of a grid mean."""
    cells = [cell for _, _, line in body for cell in line if cell is not None]
    used = "".join(cell.marks for cell in cells)
    legend = []
    if len(asked) > 1 and any(column.over for column in columns):
        meant = [f"{short_title(text)}: {_title(text)}" for text in asked]
        legend.append(f"{'; '.join(meant)}.")
    legend += [f"{mark} {words}." for mark, words in LEGEND.items() if mark in used]
    if "chi2" in asked:
        legend.append(INDEPENDENT)
    if any(" to " in cell.text for cell in cells):
        if any(column.over for column in columns):
            legend.append(IN_FILES)
        else:
            legend.append(IN_BRACKETS)
    measures = dict.fromkeys(column.measure for column in columns)
    legend += dict.fromkeys(_measure(text).sign for text in measures if _measure(text).sign)
    names = [column.over or column.name for column in columns]
    if MEAN in [*names, *(key[0] for _, key, _ in body)]:
        legend.append(MEANS)
    return legend


# ---------------------------------------------------------------- what papers printed
def _printed_lines(parts: Sequence[_Part], columns: Sequence[Place]) -> dict[str, Cells]:
    """Return the cells of what papers printed, by the paper's name of a judge."""
    printed: dict[str, list[Cell | None]] = {}
    for at, (number_of_part, name) in enumerate(columns):
        part = parts[number_of_part]
        form = _form(_measure(part.text))
        for paper in part.papers:
            for judge, by_column in paper.numbers.items():
                cells = printed.setdefault(judge, [None] * len(columns))
                value = by_column.get(matched(name, by_column), math.nan)
                if math.isfinite(value) and cells[at] is None:
                    text = number(value, ".0f" if name == REJECTED else form)
                    cells[at] = Cell(text, value)
    return {judge: tuple(cells) for judge, cells in printed.items()}


def _of_papers(
    findings: Findings,
    parts: Sequence[_Part],
    lines: Iterable[Key],
    printed: Mapping[str, object],
) -> list[str]:
    """Say which tables numbers are from, which names were matched, and what differs from ours."""
    papers = [paper for part in parts for paper in part.papers]
    if not papers:
        return []
    by_note: dict[str, list[str]] = {}
    for paper in papers:
        tables = by_note.setdefault(paper.note, [])
        if paper.table not in tables:
            tables.append(paper.table)
    said = [f"{PAPER}: {'; '.join(tables)}. {note}".strip() for note, tables in by_note.items()]
    names = dict.fromkeys(key[0] for key in lines)
    found = {judge: matched(judge, printed) for judge in names}
    levels = dict.fromkeys(level for part in parts for level in part.levels)
    theirs = dict.fromkeys(
        column for paper in papers for numbers in paper.numbers.values() for column in numbers
    )
    columns = {level: matched(level, theirs) for level in levels}
    pairs = {**columns, **found}.items()
    renamed = [f"{own} = {paper} in the paper" for own, paper in pairs if paper not in ("", own)]
    if renamed:
        said.append(f"Matched: {'; '.join(renamed)}.")
    missed = [own for own, paper in found.items() if not paper]
    if missed:
        said.append(f"Not matched with a judge in the paper: {'; '.join(missed)}.")
    without = [level for level, paper in columns.items() if not paper]
    without += [short_title(part.text) for part in parts if not part.papers]
    if without:
        said.append(f"The study file has no number of the paper for: {'; '.join(without)}.")
    return said + _items(findings, papers)


def _items(findings: Findings, papers: Sequence[PaperPart]) -> list[str]:
    """Say where a run has another number of items or pairs than the paper, by data set."""
    said: dict[str, tuple[int, int, str]] = {}
    for paper in papers:
        for arm in findings.judgments.arms if paper.items else ():
            name = arm.condition.dataset
            theirs = paper.items.get(matched(name, paper.items), 0)
            ours = len(set(arm.item_code.tolist()))
            noun = "pair" if arm.condition.reorder == "pairs" else "item"
            if theirs and ours != theirs:
                said[name] = max(said.get(name, (0, theirs, noun)), (ours, theirs, noun))
    return [
        f"{name}: {count(ours, noun)} here, {theirs:,} in the paper."
        for name, (ours, theirs, noun) in said.items()
    ]


# ---------------------------------------------------------------- which rows are meant
def _rest(findings: Findings, row: Row, named: Iterable[str]) -> str:
    """Return what a row is about except for the parts that are named: “score=5,position=1”."""
    rest = [name for name in row.of if name not in named]
    return ",".join(f"{name}={_part_text(findings, row, name)}" for name in rest)


def _part_text(findings: Findings, row: Row, name: str) -> str:
    """Return a part of what a row is about; of another condition its judge, else what differs."""
    value = row.of.get(name, "")
    if name != "against" or not isinstance(value, int):
        return level_text(value)
    judge = findings.conditions[value].judge
    if judge != findings.conditions[row.condition].judge:
        return judge
    return against_name(row, findings.conditions)


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
        if all(_part_text(findings, row, name) == value for name, value in named.items())
    ]
    named_too = (*_by_columns(findings, rows, across), *named)
    rests = {_rest(findings, row, named_too) for row in rows}
    if "" not in rests and len(rests) != 1:
        named_by_columns = _by_columns(findings, findings.select(measure), across)
        every = dict.fromkeys(
            _rest(findings, row, named_by_columns) for row in findings.select(measure)
        )
        parts = "; ".join([part for part in every if part][:MOST_CHOICES]) or "no others"
        raise LabError(
            f"Say which number of {measure} is meant, as {measure}:NAME=VALUE; there are {parts}."
        )
    if "" in rests:
        rows = [row for row in rows if not _rest(findings, row, named_too)]
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
        """Return the columns after the levels: their mean, how many tests reject at 5%, and over
        criteria or tasks also the largest number.
        """
        summaries: list[Summary] = []
        means = any(_mean(line) is not None for line in cells.values())
        if self.across in AVERAGED and len(levels) > 1 and means:
            summaries.append((MEAN, _mean))
            if self.across in LARGEST_OF:
                summaries.append((LARGEST, _largest))
        tested = any(
            cell is not None and cell.row is not None and math.isfinite(cell.row.p)
            for line in cells.values()
            for cell in line
        )
        if tested and self.across in AVERAGED and (len(levels) > 1 or self.across in LARGEST_OF):
            summaries.append((REJECTED, _rejected))
        return summaries

    def _column(self, row: Row) -> str | None:
        """Return the column of a row, None where it belongs to none."""
        condition = self.conditions[row.condition]
        against = against_name(row, self.conditions, brief=True)
        if self.across == "against" and against:
            return against
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
        return "" if gate is not None and gate.rejects else UNDECIDED

    def _marks(self, row: Row) -> str:
        """Return the marks of a row. A test's statistic is marked by its own p, as papers do."""
        marks = MARKS.get(self._word(row), "")
        if row.why == "statistic" and math.isfinite(row.p):
            marks = NOT_SIGNIFICANT if row.p >= row.alpha else ""
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
        short = text
        level, _, inside = ends(*row.interval, form, level=row.level).partition(" CI ")
        if inside:
            usual = math.isclose(row.level, 0.95)
            text += f" ({inside})" if usual else f" ({inside}; {level} CI)"
        text = " ".join(part for part in (text, p_value(row.p)) if part)
        of_mean = "" if row.why == "statistic" else form
        even = math.nan
        if row.measure == "position_share":
            even = 1 / self.conditions[row.condition].positions
        return Cell(text, row.value, of_mean, marks, row, short, even)


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


def _rejected(cells: Sequence[Cell | None]) -> Cell | None:
    """Count the tests that reject at 5%, as papers do."""
    known = [cell.row.p for cell in cells if cell and cell.row and math.isfinite(cell.row.p)]
    return Cell(f"{sum(p < ALPHA for p in known)} of {len(known)}") if known else None


def _with_means_over_data_sets(
    lines: Mapping[Key, list[Cell | None]],
) -> dict[Key, list[Cell | None]]:
    """Return the lines with each judge's mean over its data sets below them, if it has several.

    Papers print it where columns are the levels of a factor (Xu et al. v2, Table 4).
    """
    same: dict[Key, list[Key]] = {}
    for key in lines:
        same.setdefault((key[0], *key[2:]), []).append(key)
    out: dict[Key, list[Cell | None]] = {}
    for (judge, *rest), keys in same.items():
        out |= {key: lines[key] for key in keys}
        means = [_mean(column) for column in zip(*(lines[key] for key in keys), strict=True)]
        if len(keys) > 1 and any(means):
            out[judge, MEAN, *rest] = means
    return out


def _with_means(
    lines: Mapping[Key, Sequence[Cell | None]], printed: Mapping[str, Cells]
) -> list[Kept]:
    """Return the lines with a paper's below each judge that it matches, others below all.

    A paper's numbers over other columns than data sets are means over them.

    Last come, for each kind of line, the means over judges, and how many tests reject.
    """
    body: list[Kept] = []
    shown: dict[str, str] = {}
    kinds: dict[Key, list[Sequence[Cell | None]]] = {}
    for key, cells in lines.items():
        body.append(("", key, tuple(cells)))
        kinds.setdefault(key[1:], []).append(cells)
        paper = matched(key[0], printed)
        mean_follows = key[1] != MEAN and (key[0], MEAN, *key[2:]) in lines
        if paper and key[0] not in shown and not mean_follows:
            body.append(("printed", (f"{paper} {PAPER}", *key[1:]), printed[paper]))
            shown[key[0]] = paper
    first_kind, *_ = kinds
    for judge, of_paper in printed.items():
        if judge not in shown.values():
            body.append(("apart", (f"{judge} {PAPER}", *first_kind), of_paper))
    for kind, several in kinds.items():
        for name, summed in ((MEAN, _mean), (REJECTED, _rejected)):
            sums = tuple(summed(column) for column in zip(*several, strict=True))
            if len(several) > 1 and any(cell is not None for cell in sums):
                body.append(("summed", (name, *kind), sums))
    return body
