"""Arrange stepwise regressions as Shi et al. print them (Tables 3 to 8), with their numbers beside.

A line is the kept model without one variable. AIC rises most without the variable that says most,
which comes last.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rubriclab.core.topic import Findings, Row
from rubriclab.model.study import PaperPart, RegressionPart
from rubriclab.words.paper_names import matched
from rubriclab.words.phrases import condition_name

WHOLE = "nothing left out"
"""What papers' tables, and ours, call the line of the kept model."""
TOGETHER = "all"
"""The data set of rows, and of papers' tables, that are about all data sets together."""
NONE = "none"
LENGTH_NAMES = {
    "input_length": "the question's length",
    "output_length": "the answers' length",
    "prompt_length": "the prompt's length",
}
HOW_TO_HAVE = {
    "input_length": "a column input_length, or instruction",
    "output_length": "a column output_length, or first_response and second_response",
}
"""What an imported file needs for a length. Prompts differ little, so that none is asked for."""


@dataclass(frozen=True)
class FactorLine:
    """One line of a table: the model without a variable.

    name: which variable is left out. paper: whether a paper printed the line. df, sum_sq: NaN of
    the line without any variable left out. rises: AIC minus that of the kept model.
    """

    name: str
    paper: bool
    df: float
    sum_sq: float
    rss: float
    aic: float
    rises: float


@dataclass(frozen=True)
class FactorTable:
    """A stepwise regression of one outcome.

    name: what tells it from the other tables of the same data; empty where there is one. lines:
    ours, each with the paper's below it, lowest AIC first; empty where there are too few cells.
    cells: that were fitted. tried: all variables, kept and dropped. dropped: variables that lower
    AIC when they leave. source: the table of
    the paper, empty where there is none.
    """

    name: str
    lines: tuple[FactorLine, ...]
    cells: int
    tried: tuple[str, ...]
    dropped: tuple[str, ...]
    source: str


def factor_tables(
    findings: Findings, outcome: str, dataset: str, papers: Sequence[PaperPart] = ()
) -> list[FactorTable]:
    """Return a table for each kind of list and strategy on a data set.

    ``outcome``: PC or PF. ``dataset``: a name, or TOGETHER for all data sets in one regression.
    ``papers``: what papers printed of the run's design.
    """
    by_condition: dict[int, list[Row]] = {}
    for row in findings.select("aic_removed", outcome=outcome):
        together = row.of.get("dataset", "") == TOGETHER
        on_it = findings.conditions[row.condition].dataset == dataset
        if together if dataset == TOGETHER else on_it and not together:
            by_condition.setdefault(row.condition, []).append(row)
    printed = _printed(outcome, dataset, papers)
    every = [findings.conditions[code] for code in by_condition]
    tables = []
    for code, rows in by_condition.items():
        fitted = [row for row in rows if "aic" in row.counts]
        tables.append(
            FactorTable(
                condition_name(findings.conditions[code], every) if len(every) > 1 else "",
                tuple(_lines(fitted, printed)),
                int(rows[0].counts["n"]),
                tuple(_variable(row) for row in rows if row.of["term"] != NONE),
                tuple(_variable(row) for row in rows if row.why == "dropped"),
                printed.table if printed and fitted else "",
            )
        )
    return tables


def _variable(row: Row) -> str:
    """Return the variable that a row leaves out: “the task”."""
    term = str(row.of["term"])
    return row.about.codes.get(term, term).removeprefix("without ")


def _printed(outcome: str, dataset: str, papers: Sequence[PaperPart]) -> PaperPart | None:
    """Return the paper's table of the same outcome and data set; a single one needs no match."""
    known = [
        paper
        for paper in papers
        if paper.measure == f"aic_removed:outcome={outcome}"
        and paper.regression
        and (paper.dataset == TOGETHER) == (dataset == TOGETHER)
    ]
    fitting = [paper for paper in known if matched(dataset, [paper.dataset])]
    if fitting:
        return fitting[0]
    return known[0] if len(known) == 1 else None


def _lines(rows: Sequence[Row], printed: PaperPart | None) -> list[FactorLine]:
    """Return our lines, each with the paper's below it; then what the paper alone printed."""
    theirs = dict(printed.regression) if printed else {}
    whole = next((row.aic for name, row in theirs.items() if name == WHOLE), math.nan)
    lines = []
    for row in sorted(rows, key=lambda row: float(row.counts["aic"])):
        counts = row.counts
        alone = row.of["term"] == NONE
        lines.append(
            FactorLine(
                _variable(row),
                paper=False,
                df=math.nan if alone else float(counts["df"]),
                sum_sq=math.nan if alone else float(counts["sum_sq"]),
                rss=float(counts["rss"]),
                aic=float(counts["aic"]),
                rises=math.nan if alone else row.value,
            )
        )
        name = row.about.codes.get(str(row.of["term"]), "")
        if name in theirs:
            lines.append(_line_of_paper(name, theirs.pop(name), whole))
    return lines + [_line_of_paper(name, line, whole) for name, line in theirs.items() if lines]


def _line_of_paper(name: str, line: RegressionPart, whole: float) -> FactorLine:
    """Return a printed line; ``whole``: the printed AIC of the kept model."""
    return FactorLine(
        name.removeprefix("without "),
        paper=True,
        df=math.nan if line.df is None else float(line.df),
        sum_sq=math.nan if line.sum_sq is None else line.sum_sq,
        rss=line.rss,
        aic=line.aic,
        rises=math.nan if name == WHOLE else line.aic - whole,
    )


def absent_lengths(findings: Findings, dataset: str) -> list[str]:
    """Say which lengths are no variable of a data set's regressions, and why."""
    rows = findings.select("aic_removed")
    tried = {str(row.of["term"]) for row in rows}
    items = findings.judgments.table.items
    if dataset != TOGETHER:
        items = items[items["dataset"] == dataset]
    said = []
    for name, how in HOW_TO_HAVE.items():
        what = LENGTH_NAMES[name]
        if name in tried:
            continue
        values = set(items[name].dropna()) if name in items else set()
        if not values:
            said.append(
                f"{what[:1].upper()}{what[1:]} is not known, so it is not among the variables. An "
                f"imported file needs {how}."
            )
        elif len(values) == 1:
            said.append(f"{what[:1].upper()}{what[1:]} is the same in all comparisons.")
    return said
