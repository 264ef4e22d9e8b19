"""Draw a table of judges by data sets as papers print it, with several measures side by side."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import groupby
from urllib.parse import urlencode

import streamlit as st

from rubriclab.app.chart_view import palette
from rubriclab.app.forms import download
from rubriclab.app.frame import faults, safe
from rubriclab.app.judges_view import Several, View
from rubriclab.core.topic import Findings, Row
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.paper_table import GREY, PaperTable, paper_table
from rubriclab.figures.marks import Palette, ink, shade
from rubriclab.model.study import PaperPart
from rubriclab.model.text import file_name, printable, shorten
from rubriclab.words.paper_grid import (
    IN_BRACKETS,
    IN_FILES,
    PAPER,
    SUMMARIES,
    Cell,
    Key,
    askable,
    axes_of,
    short_title,
    yardsticks_of,
)
from rubriclab.words.phrases import ci, inside, p_value, readable
from rubriclab.words.several import simulated_note
from rubriclab.words.yardstick import whom

SCORED = ("chi2", "position_share:1", "cramers_v", "v_without_noise")
QUALITY = ("pearson", "spearman", "within_item_sd")
CRITERIA = ("friedman", "delta_pos")
CHOSEN = ("pc", "pc_sd", "pf", "rs", "rs_sd", "error_rate", "kendall_tau")
AT_FIRST = {
    "chi2",
    "position_share",
    "cramers_v",
    "pearson",
    *CRITERIA,
    "pc",
    "pc_sd",
    "pf",
    "rs",
    "error_rate",
}
"""Measures that are shown until others are chosen, as in the papers' first tables."""
CORRELATIONS = ("pearson", "spearman")
MOST_NAME = 60
MOST_LEGEND = 4_000
FEW = 8
"""Columns that have room for their intervals at first."""
MOST_SHADE = 0.75
"""How dark the darkest cell is, so that numbers stay legible."""
STRONG_V, STRONG_POINTS = 0.3, 1.0
"""Cramér's V, and a gap of positions in points, of the darkest cells."""
SHADING = (
    "Shaded: χ² and V by V, because χ² grows with the number of calls; shares by their distance "
    "from even, orange above and blue below; PC by its distance from 100%."
)
IN_ORDER = "Order of the run"
TITLE = "judges by data sets"


def has(several: Several) -> bool:
    """Return whether there is a measure of the papers' tables."""
    return any(_offered(several.findings, axis) for axis in ("dataset", "target"))


def draw(several: Several) -> None:
    """Draw the choice of measures and columns, the table, its legend, and its files."""
    st.markdown("**Judges by data sets**")
    with faults():
        table = choose(several.findings, several.papers, f"{several.key}-paper")
        if table is None:
            return
        link = _address if several.in_results else None
        show(table, several.findings, f"{several.key}-paper", link)
        with st.container(horizontal=True):
            key = f"{several.key}-paper"
            csv, tex = csv_text(table.numbers()), table.latex()
            download("CSV", csv, file_name(TITLE, ".csv"), key=f"{key}-csv")
            download("LaTeX", tex, file_name(TITLE, ".tex"), key=f"{key}-tex")


# ---------------------------------------------------------------- what is chosen
def choose(findings: Findings, papers: Sequence[PaperPart], key: str) -> PaperTable | None:
    """Ask for measures and columns, and return their table; None where no measure is chosen.

    Raises LabError if the papers' layout cannot show such measures.
    """
    axes = _axes(findings, papers)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        across = str(
            st.selectbox("Columns", axes, format_func=readable, key=f"{key}-columns", width=200)
        )
        by_strategy = False
        if len({asked.strategy for asked in findings.conditions}) > 1 and across != "strategy":
            by_strategy = st.checkbox("One line per ordering strategy", key=f"{key}-by-strategy")
    offered = _offered(findings, across)
    printed = {paper.measure for paper in papers if paper.across == across}
    at_first = [text for text in offered if text in printed or text.partition(":")[0] in AT_FIRST]
    chosen = list(
        st.pills(
            "Measures",
            offered,
            selection_mode="multi",
            default=at_first or offered[:4],
            format_func=lambda text: _called(text, whom(findings)),
            key=f"{key}-measures-{across}",
        )
        if offered
        else ()
    )
    others = [text for text in askable(findings, across) if text not in offered]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        further = st.multiselect(
            "More measures", others, format_func=short_title, key=f"{key}-more-{across}"
        )
        chosen = _with_yardsticks(findings, chosen, key) + further
    if not chosen:
        st.caption("Choose a measure.")
        return None
    return paper_table(findings, chosen, across=across, by_strategy=by_strategy, papers=papers)


def _called(text: str, yardstick: str) -> str:
    """Return how a pill calls a measure."""
    return f"{short_title(text)} with {yardstick}" if text in CORRELATIONS else short_title(text)


def _axes(findings: Findings, papers: Sequence[PaperPart]) -> list[str]:
    """Return what columns can be made of: first what a paper's numbers of this design are by, else
    criteria where every call scores several, else what the run varies.
    """
    axes = [axis for axis in axes_of(findings) if axis != "strategy"] + ["strategy"]
    first = [paper.across for paper in papers if paper.across in axes]
    if all(about.joint for about in findings.conditions):
        first += [axis for axis in axes if axis == "target"]
    if len({about.dataset for about in findings.conditions}) == 1:
        first += [axis for about in findings.conditions for axis in about.variant]
    return list(dict.fromkeys([*first[:1], *axes]))


def _offered(findings: Findings, across: str) -> list[str]:
    """Return the measures of the papers' tables that have a number for such columns."""
    scored = [*SCORED]
    last = max((about.positions for about in findings.conditions), default=0)
    if last > 2:
        scored.insert(2, f"position_share:{last}")
    return [
        text
        for text in (*scored, *QUALITY, *CRITERIA, *CHOSEN)
        if _is_known(findings, across, text)
    ]


def _is_known(findings: Findings, across: str, text: str) -> bool:
    """Return whether there is a number of a measure for such columns."""
    measure, _, position = text.partition(":")
    rows = findings.select(measure)
    if position:
        return bool(rows) and across not in ("position", "target")
    if text in CORRELATIONS and yardsticks_of(findings, text):
        return True
    return any(not set(row.of) - {across} for row in rows)


def _with_yardsticks(findings: Findings, chosen: Sequence[str], key: str) -> list[str]:
    """Return the measures with each correlation once for each yardstick that is chosen: people,
    if they rated, and other judges.
    """
    asked = [text for text in chosen if text in CORRELATIONS]
    judges = yardsticks_of(findings, asked[0]) if asked else []
    if not judges:
        return list(chosen)
    rated = any("against" not in row.of for row in findings.select(asked[0]))
    people = ["people"] if rated else []
    wanted = st.multiselect(
        "r and rho with",
        [*people, *judges],
        default=people or judges[:1],
        format_func=lambda text: (
            whom(findings) if text == "people" else text.removeprefix("against=")
        ),
        key=f"{key}-yardsticks",
    )
    out = [text for text in chosen if text not in CORRELATIONS]
    for yardstick in wanted:
        out += [text if yardstick == "people" else f"{text}:{yardstick}" for text in asked]
    return out


# ---------------------------------------------------------------- how it is drawn
def show(
    table: PaperTable,
    findings: Findings,
    key: str,
    link: Callable[[Mapping[str, str]], str] | None = None,
) -> None:
    """Draw a table with shaded cells, and its legend.

    ``link``: the address of a view with these parts, such as a judge; None for no links.
    """
    names = [column.name for column in table.about]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.selectbox("Sort by", [IN_ORDER, *names], key=f"{key}-sort", width=260)
        few = len(table.about) <= FEW
        intervals = st.toggle("Show 95% CI", value=few, key=f"{key}-intervals-{few}")
    order = _sorted(table, names.index(by) if by in names else None)
    drawn = _Drawn(table, order, palette(), _strength(findings), intervals, link)
    st.html(drawn.html())
    # On the page an interval is below its number, not in brackets, or not shown.
    marks = [text for text in table.marks if text not in (IN_BRACKETS, *[IN_FILES] * intervals)]
    said = [*marks, *filter(None, [table.emphasis]), SHADING]
    st.caption(safe(" ".join(said) + simulated_note(findings), MOST_LEGEND))
    if table.of_papers:
        small = [f"Small and grey, {PAPER}: the number printed in the paper."]
        st.caption(safe(" ".join([*small, *table.of_papers]), MOST_LEGEND))


def _address(parts: Mapping[str, str]) -> str:
    """Return the address of this page with other parts, such as the judge and the tab."""
    kept = {name: st.query_params[name] for name in ("run",) if name in st.query_params}
    return f"?{urlencode({**kept, **parts})}"


def _sorted(table: PaperTable, column: int | None) -> list[list[int]]:
    """Return the lines' numbers, each with the paper's below it, the largest number first.

    Means and a paper's further judges stay last.
    """
    blocks: list[list[int]] = []
    for number, kind in enumerate(table.kinds):
        if kind == "printed":
            blocks[-1].append(number)
        else:
            blocks.append([number])
    if column is None:
        return blocks

    def rank(block: list[int]) -> tuple[bool, float]:
        cell = table.lines[block[0]][1][column]
        value = cell.value if cell is not None and math.isfinite(cell.value) else -math.inf
        return bool(table.kinds[block[0]]), -value

    own = [block for block in blocks if not table.kinds[block[0]]]
    return sorted(own, key=rank) + [block for block in blocks if table.kinds[block[0]]]


def _strength(findings: Findings) -> dict[int, float]:
    """Return Cramér's V of each condition, by which its chi-square is shaded."""
    return {row.condition: row.value for row in findings.select("cramers_v") if not row.of}


class _Drawn:
    """A table as HTML: once with all columns, and once, for phones, a data set at a time."""

    def __init__(
        self,
        table: PaperTable,
        order: Sequence[Sequence[int]],
        colours: Palette,
        strength: Mapping[int, float],
        intervals: bool,
        link: Callable[[Mapping[str, str]], str] | None,
    ) -> None:
        self.table, self.order, self.colours = table, order, colours
        self.strength, self.intervals, self.link = strength, intervals, link

    def html(self) -> str:
        """Return the table as HTML. Only the parts for a phone or the others are visible."""
        # Summaries first: on a narrow screen the columns to the right are out of sight.
        columns = self.table.about
        every = sorted(
            range(len(columns)),
            key=lambda k: not {columns[k].over, columns[k].under} & set(SUMMARIES),
        )
        colours = self.colours
        style = f"--ground: {colours.ground}; --muted: {colours.muted}; --line: {colours.border}"
        wide = f'<div class="paper-all">{self._columns(every)}</div>'
        groups = groupby(every, key=lambda k: self.table.about[k].over)
        parts = [(over, list(columns)) for over, columns in groups]
        if len(parts) < 2:
            return f'<div class="paper" style="{style}">{self._columns(every)}</div>'
        phone = "".join(
            f"<details{'' if number else ' open'}><summary>{_plain(over)}</summary>"
            f"{self._columns(columns)}</details>"
            for number, (over, columns) in enumerate(parts)
        )
        return (
            f'<div class="paper" style="{style}">{wide}<div class="paper-one">{phone}</div></div>'
        )

    def _columns(self, columns: Sequence[int]) -> str:
        """Return a table of these columns."""
        about = [self.table.about[k] for k in columns]
        heads = "".join(f'<th scope="col">{_plain(head)}</th>' for head in self.table.heads)
        under = "".join(
            f'<th scope="col"{_first(about, k)}>{_plain(column.under)}</th>'
            for k, column in enumerate(about)
        )
        over = ""
        if len({column.over for column in about}) > 1:
            groups = [(name, len(list(g))) for name, g in groupby(column.over for column in about)]
            named = "".join(
                f'<th colspan="{wide}" scope="colgroup" class="first">{_plain(name)}</th>'
                for name, wide in groups
            )
            over = f'<tr><td colspan="{len(self.table.heads)}"></td>{named}</tr>'
        body = "".join(self._line(block, columns) for block in self.order)
        title = _plain(self.table.title, 300)
        return (
            f'<table aria-label="{title}"><thead>{over}<tr>{heads}{under}</tr></thead>'
            f"<tbody>{body}</tbody></table>"
        )

    def _line(self, block: Sequence[int], columns: Sequence[int]) -> str:
        """Return a line: our numbers, below them the paper's, and below these our intervals.

        Each of the three is named at the left. A cell without one of them keeps its place free, so
        that every number is beside its name.
        """
        key, cells = self.table.lines[block[0]]
        paper = self.table.lines[block[1]] if len(block) > 1 else None
        kind = self.table.kinds[block[0]]
        name = _plain(key[0])
        if self.link is not None and not kind:
            address = escape(self.link({"judge": key[0], "tab": "Bias"}))
            name = f'<a href="{address}" title="Open this judge">{name}</a>'
        about = [self.table.about[k] for k in columns]
        texts = [self._interval(cells[k]) for k in columns]
        if paper is not None:
            name += f"<small>{_plain(paper[0][0])}</small>"
        if any(texts):
            name += f"<small>{ci(0.95)}</small>"
        heads = [f'<th scope="row">{name}</th>', *(f"<td>{_plain(text)}</td>" for text in key[1:])]
        shown = []
        for at, k in enumerate(columns):
            below = []
            if paper is not None:
                printed = paper[1][k]
                below.append(printed.brief if printed is not None else "")
            if any(texts):
                below.append(texts[at])
            while below and not below[-1]:
                below.pop()
            shown.append(self._cell(key, cells[k], below, about[at].over, _first(about, at)))
        of_kind = "grey" if kind in GREY else kind
        return f'<tr class="{of_kind}">{"".join(heads)}{"".join(shown)}</tr>'

    def _interval(self, cell: Cell | None) -> str:
        """Return what a cell shows as its interval, with p; empty where it shows none."""
        if not self.intervals or cell is None or cell.row is None:
            return ""
        said = _inside(cell.row)
        return said.removeprefix(f"{ci(0.95)} ") if " to " in said else ""

    def _cell(
        self, key: Key, cell: Cell | None, below: Sequence[str], dataset: str, first: str
    ) -> str:
        """Return a cell: our number, and the lines ``below`` it. An empty one keeps its place."""
        text, style, title = "", "", ""
        if cell is not None:
            text = _plain(cell.brief)
            text = f"<b>{text}</b>" if cell.bold else text
            if cell.row is not None:
                title = f' title="{_plain(_inside(cell.row), 200)}"'
                style = self._style(cell)
            if self.link is not None and cell.row is not None:
                named = {"judge": key[0], "tab": "Judgments"}
                if dataset:
                    named["dataset"] = dataset
                text = f'<a href="{escape(self.link(named))}">{text}</a>'
        for line in below:
            text += f"<small>{_plain(line) or '&nbsp;'}</small>"
        return f"<td{first}{title}{style}>{text}</td>"

    def _style(self, cell: Cell) -> str:
        """Return the shade of a cell as an attribute; empty where it has none."""
        heat = self._heat(cell)
        if not heat:
            return ""
        heat = MOST_SHADE * max(-1.0, min(1.0, heat))
        colours = self.colours
        ground, text = shade(colours, heat), ink(colours, heat)
        return f' style="background: {ground}; color: {text}; --muted: {text}"'

    def _heat(self, cell: Cell) -> float:
        """Return how far a number is from no bias, from -1 to 1; 0 where that is not known."""
        row = cell.row
        if row is None or not math.isfinite(cell.value):
            return 0.0
        measure = row.measure
        if measure == "chi2":
            return self.strength.get(row.condition, 0.0) / STRONG_V
        if measure in ("cramers_v", "v_without_noise"):
            return max(0.0, cell.value) / STRONG_V
        if measure == "position_share" and cell.even:
            return (cell.value - cell.even) / cell.even
        if measure == "pc":
            return 2 * (1 - cell.value)
        return cell.value / STRONG_POINTS if measure == "delta_pos" else 0.0


def _inside(row: Row) -> str:
    """Return the interval of a row and its p, as far as it has them."""
    return "; ".join(filter(None, (inside(row), p_value(row.p))))


def _first(about: Sequence[object], at: int) -> str:
    """Return the class of a column that begins a group."""
    over = [getattr(column, "over", "") for column in about]
    return ' class="first"' if at == 0 or over[at] != over[at - 1] else ""


def _plain(text: str, most: int = MOST_NAME) -> str:
    """Return text of unknown origin as HTML that shows it literally, on one line."""
    return escape(printable(shorten(text, most)))


VIEW = View("table", "Judges × data sets", has, draw)
