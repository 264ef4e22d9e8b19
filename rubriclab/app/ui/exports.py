"""The ways out of a page: charts as files and as data, tables for spreadsheets and papers, judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
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
from rubriclab.model.language import msg, tr
from rubriclab.report.paper_tables import frame_table, table_latex, table_markdown
from rubriclab.store import RunInfo

PRINTED = "page"
"""The size that a page's charts are drawn in; ``paper`` has those of a column and a slide too."""


class Way(NamedTuple):
    """One form of a file: its name on the button, in English; its ending, its type, and what makes its content."""

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
    said: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """One thing of the page as a file: a chart, a table, or all judgments.

    ``charts`` and ``tables`` by their names in English, marked with ``msg``: they are said here, and name the files.
    ``said``: what to say for a name that is put together. ``also``: further runs that the page shows, each with its
    own judgments.
    """
    unable = _why_not_printed() if charts else ""
    names = {name: said.get(name, tr(name)) for name in (*charts, *tables)}
    things: dict[str, tuple[Way, ...]] = {
        name: _chart_ways(name, shown, printable=not unable) for name, shown in charts.items()
    }
    for name, table in tables.items():  # a chart and its table may have one name
        if apart := name in things:
            names[f"{name}, as a table"] = tr("{name}, as a table", name=names[name])
        things[f"{name}, as a table" if apart else name] = _table_ways(name, table)
    runs: dict[str, RunInfo] = {}
    for run in (info, *also):
        name = f"All judgments of {run.name}" if also else "All judgments"
        names[name] = tr("All judgments of {name}", name=run.name) if also else tr("All judgments")
        parquet = Way("Parquet", "parquet", "application/octet-stream", partial(run_parquet, store(), run.run))
        things[name], runs[name] = (parquet,), run
    with st.popover(tr("Export"), icon=":material/download:"):
        _chosen(things, names, runs, key)


@st.fragment  # a choice redraws the export, not the page
def _chosen(
    things: Mapping[str, tuple[Way, ...]], names: Mapping[str, str], runs: Mapping[str, RunInfo], key: str
) -> None:
    """``names``: what each thing is called in the reader's language."""
    name = st.selectbox(tr("What"), list(things), key=f"{key}-export", format_func=names.__getitem__)
    ways = {way.name: way for way in things[name]}
    form = st.segmented_control(
        tr("As"), list(ways), key=f"{key}-export-as-{name}", required=True, default=next(iter(ways)), format_func=tr
    )
    way = ways[form or next(iter(ways))]
    if way.ending in FORMATS:
        st.caption(tr("In the width of a page; with letters that fit a column or a slide: `rubriclab paper`."))
    elif "HTML" in ways and "SVG" not in ways:
        st.caption(plain(_why_not_printed()))
    stem = runs[name].run if name in runs else file_name(name)
    st.download_button(
        tr("Download {form}", form=tr(way.name)),
        data=way.content,
        file_name=f"{stem}.{way.ending}",
        mime=way.mime,
        key=f"{key}-export-go-{name}-{way.name}",  # one key for all would keep the first one's file
        icon=":material/download:",
        on_click="ignore",
        width="stretch",
    )


def _chart_ways(name: str, shown: Chart, *, printable: bool) -> tuple[Way, ...]:
    drawn = tuple(Way(form.upper(), form, MIMES[form], partial(_drawn, name, shown, form)) for form in FORMATS)
    html = partial(shown.figure.to_html, include_plotlyjs=True, config=CONFIG)
    rows = partial(_rows, shown)
    return (
        *(drawn if printable else ()),
        Way("HTML", "html", "text/html", html),
        Way(msg("Data (CSV)"), "csv", "text/csv", rows),
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
