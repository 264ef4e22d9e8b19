"""Write a grid of numbers as papers print it: for a terminal, as Markdown, LaTeX, JSON, and CSV."""

import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from rubriclab.core.topic import Findings
from rubriclab.exports.table import as_json, latex_table, on_a_line
from rubriclab.model.study import PaperPart
from rubriclab.model.text import printable, shorten
from rubriclab.words.paper_grid import (
    NOT_SIGNIFICANT,
    OPEN,
    SMALL,
    VOID,
    PaperGrid,
    paper_grid,
)
from rubriclab.words.phrases import reason

IN_LATEX = {
    OPEN: r"$^{\circ}$",
    SMALL: r"$^{\approx}$",
    VOID: r"$^{\dagger}$",
    NOT_SIGNIFICANT: r"$^{\mathrm{ns}}$",
}
MOST_COMMENT = 300
"""Characters of title and legend lines in the comments of a LaTeX file."""
NUMBERS = ("value", "low", "high", "level", "p", "marks", "why")


class PaperTable(PaperGrid):
    """A grid of numbers with its formats."""

    def frame(self) -> pd.DataFrame:
        """Return every cell as text."""
        body = [[*key, *(cell.text if cell else "" for cell in cells)] for key, cells in self.lines]
        return pd.DataFrame(body, columns=[*self.heads, *self.columns])

    def numbers(self) -> pd.DataFrame:
        """Return a row for each cell: the names of its line, its column, and NUMBERS."""
        body = []
        for key, cells in self.lines:
            for column, cell in zip(self.columns, cells, strict=True):
                if cell is None:
                    continue
                row = cell.row
                rest = (*row.interval, row.level, row.p) if row else (math.nan,) * 4
                body.append([*key, column, cell.value, *rest, cell.marks, reason(row)])
        return pd.DataFrame(body, columns=[*self.heads, "column", *NUMBERS])

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
        lines = [self.title, self.frame().to_string(index=False), *self.legend]
        return printable("\n".join(lines) + "\n")

    def latex(self) -> str:
        """Write a tabular (booktabs), with title and legend as comments."""
        table = latex_table(self.frame())
        for sign, written in IN_LATEX.items():
            table = table.replace(sign, written)
        comments = [
            f"% {shorten(printable(line), MOST_COMMENT)}\n" for line in (self.title, *self.legend)
        ]
        return "".join(comments) + table

    def markdown(self) -> str:
        """Write a table of Markdown between its title and legend."""
        rows = [
            [*self.heads, *self.columns],
            ["---"] * (len(self.heads) + len(self.columns)),
            *self.frame().to_numpy(),
        ]
        lines = []
        for row in rows:
            cells = [re.sub(r"([\\|<*_`])", r"\\\1", on_a_line(str(cell))) for cell in row]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([f"**{self.title}**", "", *lines, "", *self.legend]) + "\n"


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
    return PaperTable(grid.title, grid.heads, grid.columns, grid.lines, grid.legend)
