"""The ways out of a page: charts as files and as data, tables for spreadsheets and papers, judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd
import streamlit as st

from rubriclab.app.ui.charts import CONFIG
from rubriclab.app.ui.frame import plain
from rubriclab.app.ui.runs import run_parquet, store
from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.figures.printed import FORMATS, Format, NoPrinter, Wanted, browser, printed
from rubriclab.figures.rows import figure_rows
from rubriclab.figures.style import Chart
from rubriclab.report.paper_tables import frame_table, table_latex, table_markdown
from rubriclab.store import RunInfo

PRINTED = "page"
"""The size that a page's charts are drawn in; ``paper`` has those of a column and a slide too."""


class Way(NamedTuple):
    """One form of a file: its name on the button, its ending, its type, and what makes its content."""

    name: str
    ending: str
    mime: str
    content: Callable[[], str | bytes]


def export_row(
    charts: Mapping[str, Chart],
    tables: Mapping[str, pd.DataFrame],
    *,
    info: RunInfo,
    key: str,
    also: Sequence[RunInfo] = (),
) -> None:
    """One thing of the page as a file: a chart, a table, or all judgments.

    ``also``: further runs that the page shows, each with its own judgments.
    """
    unable = _why_not_printed() if charts else ""
    things: dict[str, tuple[Way, ...]] = {
        name: _chart_ways(name, shown, printable=not unable) for name, shown in charts.items()
    }
    # A chart and its table may have one name.
    things |= {_apart(name, things): _table_ways(name, table) for name, table in tables.items()}
    for run in (info, *also):
        of = f" of {run.name}" if also else ""
        parquet = Way("Parquet", "parquet", "application/octet-stream", partial(run_parquet, store(), run.run))
        things[_apart(f"All judgments{of}", things)] = (parquet,)
    with st.popover("Export", icon=":material/download:"):
        _chosen(
            things, {f"All judgments of {run.name}" if also else "All judgments": run for run in (info, *also)}, key
        )


@st.fragment  # a choice redraws the export, not the page
def _chosen(things: Mapping[str, tuple[Way, ...]], runs: Mapping[str, RunInfo], key: str) -> None:
    name = st.selectbox("What", list(things), key=f"{key}-export")
    ways = {way.name: way for way in things[name]}
    form = st.segmented_control(
        "As", list(ways), key=f"{key}-export-as-{name}", required=True, default=next(iter(ways))
    )
    way = ways[form or next(iter(ways))]
    if way.ending in FORMATS:
        st.caption("In the width of a page; with letters that fit a column or a slide: `rubriclab paper`.")
    elif "HTML" in ways and "SVG" not in ways:
        st.caption(plain(_why_not_printed()))
    stem = runs[name].run if name in runs else file_name(name)
    st.download_button(
        f"Download {way.name}",
        data=way.content,
        file_name=f"{stem}.{way.ending}",
        mime=way.mime,
        key=f"{key}-export-go-{name}-{way.name}",  # one key for all would keep the first one's file
        icon=":material/download:",
        on_click="ignore",
        width="stretch",
    )


def _apart(name: str, things: Mapping[str, object]) -> str:
    return f"{name}, as a table" if name in things else name


def _chart_ways(name: str, shown: Chart, *, printable: bool) -> tuple[Way, ...]:
    drawn = tuple(Way(form.upper(), form, MIMES[form], partial(_drawn, name, shown, form)) for form in FORMATS)
    html = partial(shown.figure.to_html, include_plotlyjs=True, config=CONFIG)
    rows = partial(_rows, shown)
    return (
        *(drawn if printable else ()),
        Way("HTML", "html", "text/html", html),
        Way("Data (CSV)", "csv", "text/csv", rows),
    )


MIMES: Mapping[Format, str] = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


def _why_not_printed() -> str:
    """Why this machine draws no chart into a file; empty where it does."""
    try:
        browser()
    except NoPrinter as fault:
        return str(fault)
    return ""


def _drawn(name: str, shown: Chart, form: Format) -> bytes:
    return printed([Wanted(shown.figure, name)], PRINTED, (form,))[0][form]


def _rows(shown: Chart) -> bytes:
    return csv_bytes(figure_rows(shown.figure))


def _table_ways(name: str, table: pd.DataFrame) -> tuple[Way, ...]:
    made = partial(frame_table, file_name(name), name, table)
    return (
        Way("CSV", "csv", "text/csv", partial(csv_bytes, table)),
        Way("LaTeX", "tex", "text/x-tex", lambda: table_latex(made(), file_name(name))),
        Way("Markdown", "md", "text/markdown", lambda: table_markdown(made())),
    )


def file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")
