"""Write a grid of numbers as papers print it: for a terminal, as Markdown, LaTeX, JSON, and CSV."""

import math
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from rubriclab.core.topic import Findings
from rubriclab.exports.table import as_json, in_latex, on_a_line
from rubriclab.model.study import PaperPart
from rubriclab.model.text import printable, shorten
from rubriclab.words.paper_grid import (
    NOT_SIGNIFICANT,
    OPEN,
    SMALL,
    VOID,
    Cell,
    Key,
    PaperGrid,
    paper_grid,
)
from rubriclab.words.phrases import reason

IN_LATEX = {
    OPEN: r"$^{\circ}$",
    SMALL: r"$^{\approx}$",
    VOID: r"$^{\dagger}$",
    NOT_SIGNIFICANT: r"$^{\mathrm{ns}}$",
    "χ²": r"$\chi^2$",
}
MOST_COMMENT = 300
"""Characters of title and legend lines in the comments of a LaTeX file."""
GREY = ("printed", "apart")
"""Kinds of lines that a paper printed."""
NUMBERS = ("value", "low", "high", "level", "p", "marks", "why")


class PaperTable(PaperGrid):
    """A grid of numbers with its formats."""

    def frame(self) -> pd.DataFrame:
        """Return every cell as text; without intervals where measures stand side by side."""
        body = [[*key, *map(self.shown, cells)] for key, cells in self.lines]
        return pd.DataFrame(body, columns=[*self.heads, *self.columns])

    def shown(self, cell: Cell | None) -> str:
        """Return the text of a cell; empty where nothing was measured."""
        if cell is None:
            return ""
        return cell.brief if self.side_by_side else cell.text

    def numbers(self) -> pd.DataFrame:
        """Return a row for each cell: the names of its line, its column, and NUMBERS.

        Where measures stand side by side, ``column`` is what they share, such as a data set, and
        ``measure`` tells them apart.
        """
        body = []
        for key, cells in self.lines:
            for column, cell in zip(self.about, cells, strict=True):
                if cell is None:
                    continue
                row = cell.row
                rest = (*row.interval, row.level, row.p) if row else (math.nan,) * 4
                names = (column.over, column.measure) if self.side_by_side else (column.name,)
                body.append([*key, *names, cell.value, *rest, cell.marks, reason(row)])
        columns = ("column", "measure") if self.side_by_side else ("column",)
        return pd.DataFrame(body, columns=[*self.heads, *columns, *NUMBERS])

    def document(self) -> dict[str, Any]:
        """Return title, heads, legend and every cell as JSON values; what is not known is null."""
        return {
            "title": self.title,
            "heads": list(self.heads),
            "cells": [as_json(record) for record in self.numbers().to_dict("records")],
            "legend": list(self.legend),
        }

    def text(self) -> str:
        """Write title, aligned columns and legend for a terminal."""
        frame = self.frame()
        if self.side_by_side:
            above = [("", head) for head in self.heads]
            frame.columns = pd.MultiIndex.from_tuples(
                [*above, *((column.over, column.under) for column in self.about)]
            )
        lines = [self.title, frame.to_string(index=False), *self.legend]
        return printable("\n".join(lines) + "\n")

    def latex(self) -> str:
        """Write a tabular (booktabs), with title and legend as comments.

        What a paper printed is a second line, small and grey, below the judge's own.
        """
        width = len(self.heads)
        under = [column.under if self.side_by_side else column.name for column in self.about]
        head = [*map(_latex, self.heads), *map(_latex, under)]
        lines = [rf"\begin{{tabular}}{{{'l' * width}{'r' * len(self.about)}}}", r"\toprule"]
        if self.side_by_side:
            lines += self._groups_in_latex()
        lines += [_row_of(head), r"\midrule"]
        for number, (key, cells) in enumerate(self.lines):
            kind = self.kinds[number]
            if kind in ("apart", "summed") and kind != self.kinds[number - 1]:
                lines.append(r"\midrule")
            lines.append(_row_of(self._in_latex(number, key, cells)))
        lines += [r"\bottomrule", r"\end{tabular}"]
        return "".join(f"{line}\n" for line in [*self._comments(), *lines])

    def _comments(self) -> list[str]:
        needed = r"Needs \usepackage{booktabs}" + (
            r" and \usepackage{xcolor}." if {*self.kinds} & {*GREY} else "."
        )
        said = (self.title, *self.legend, *filter(None, [self.emphasis]), needed)
        return [f"% {shorten(printable(line), MOST_COMMENT)}" for line in said]

    def _groups_in_latex(self) -> list[str]:
        """Return the line of what columns share, and the rules below it."""
        cells, rules, at = [""] * len(self.heads), [], len(self.heads) + 1
        for over, group in groupby(self.about, key=lambda column: column.over):
            wide = len(list(group))
            cells.append(rf"\multicolumn{{{wide}}}{{c}}{{{_latex(over)}}}")
            rules.append(rf"\cmidrule(lr){{{at}-{at + wide - 1}}}")
            at += wide
        return [_row_of(cells), " ".join(rules)]

    def _in_latex(self, number: int, key: Key, cells: Sequence[Cell | None]) -> list[str]:
        """Return the cells of a line, as LaTeX."""
        texts = [_latex(self.shown(cell)) for cell in cells]
        if self.kinds[number] in GREY:
            grey = [
                rf"\textcolor{{gray}}{{\footnotesize {text}}}" if text else ""
                for text in (*map(_latex, key), *texts)
            ]
            indent = r"\quad " if self.kinds[number] == "printed" else ""
            return [indent + grey[0], *grey[1:]]
        bold = [
            rf"\textbf{{{text}}}" if cell is not None and cell.bold else text
            for text, cell in zip(texts, cells, strict=True)
        ]
        return [*map(_latex, key), *bold]

    def markdown(self) -> str:
        """Write a table of Markdown between its title and legend."""
        rows = [
            [*map(_markdown, [*self.heads, *self.columns])],
            ["---"] * (len(self.heads) + len(self.columns)),
        ]
        for key, cells in self.lines:
            texts = [
                f"**{_markdown(self.shown(cell))}**"
                if cell is not None and cell.bold
                else _markdown(self.shown(cell))
                for cell in cells
            ]
            rows.append([*map(_markdown, key), *texts])
        lines = [f"| {' | '.join(row)} |" for row in rows]
        legend = [*self.legend, *filter(None, [self.emphasis])]
        return "\n".join([f"**{self.title}**", "", *lines, "", *legend]) + "\n"


def _markdown(text: str) -> str:
    return re.sub(r"([\\|<*_`])", r"\\\1", on_a_line(text))


def _latex(text: str) -> str:
    """Return a text, on one line, as LaTeX shows it."""
    text = in_latex(on_a_line(text))
    for sign, written in IN_LATEX.items():
        text = text.replace(sign, written)
    return text


def _row_of(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def paper_table(
    findings: Findings,
    measures: str | Sequence[str],
    *,
    across: str = "dataset",
    by_strategy: bool = False,
    papers: Sequence[PaperPart] = (),
) -> PaperTable:
    """Return measures of every judge by what ``across`` names, as ``paper_grid`` arranges them.

    Raises LabError where nothing can be shown, naming what can.
    """
    grid = paper_grid(findings, measures, across=across, by_strategy=by_strategy, papers=papers)
    return PaperTable(**vars(grid))
