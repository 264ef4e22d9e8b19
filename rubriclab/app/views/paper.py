"""For papers and slides, on the page Report: methods, tables, references, figures and data of the chosen runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.ui.reading import reading_of
from rubriclab.figures.printed import FORMATS, SIZES, NoPrinter
from rubriclab.model import LabError
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.report.paper import Paper, of_runs, paper, zipped
from rubriclab.store import RunInfo, Store

LEAD = msg(
    "The methods of this run in words, its results as tables, the works they cite, its charts in the "
    "size of a column or a slide, and every judgment as a row that R reads."
)
ReadAs = tuple[tuple[str, Any], ...]
SIZE_NAMES = {"column": msg("Column of a paper"), "page": msg("Width of a page"), "slide": msg("Slide, 16:9")}


def section(store: Store, runs: Sequence[RunInfo]) -> None:
    """What to draw, one file of everything, and the pieces to copy."""
    with st.expander(tr("For papers and slides"), icon=":material/school:"):
        st.markdown(tr(LEAD))
        formats, size = _choice()
        key = (tuple(info.run for info in runs), tuple(formats), size)
        if st.button(tr("Write them"), key="paper-make", icon=":material/edit_note:"):
            st.session_state["paper-made"] = key
        if st.session_state.get("paper-made") != key:
            return
        try:
            with st.spinner(tr("Writing …")):
                packed, shown = _made(
                    store, store.path, *key, tuple(store.revision(info.run) for info in runs), _read_as(runs)
                )
        except NoPrinter as fault:
            st.info(ui.plain(str(fault)), icon=":material/info:")
            return
        except LabError as fault:
            st.error(ui.plain(str(fault)))
            return
        _show(runs, packed, shown)


def _choice() -> tuple[list[str], str]:
    left, right = st.columns(2)
    with left:
        formats = st.pills(
            tr("Figures"), list(FORMATS), selection_mode="multi", format_func=str.upper, key="paper-formats"
        )
    with right:
        size = st.segmented_control(
            tr("Size"),
            list(SIZES),
            default="column",
            required=True,
            format_func=lambda one: tr(SIZE_NAMES[one]),
            key="paper-size",
        )
    st.caption(
        tr("Figures are drawn by a Chromium or Chrome of this machine, in about a second each; the rest needs none.")
    )
    return list(formats), str(size)


def _read_as(runs: Sequence[RunInfo]) -> tuple[ReadAs, ...]:
    """How this session reads each run."""
    return tuple(tuple(reading_of(info.run)._asdict().items()) for info in runs)


@st.cache_data(max_entries=4, show_spinner=False)
def _made(
    _store: Store,
    path: str,
    runs: tuple[str, ...],
    formats: tuple[str, ...],
    size: str,
    revisions: tuple[str, ...],
    read_as: tuple[ReadAs, ...],
) -> tuple[bytes, list[dict[str, str]]]:
    """All files as a zip, and of each run the texts that are shown: in English, as papers are."""
    del path, revisions  # part of what the answer is kept by
    with speaking(SOURCE):
        papers = [paper(_store, run, **dict(read)) for run, read in zip(runs, read_as, strict=True)]
        files = of_runs(papers, tuple(form for form in FORMATS if form in formats), size)
        return zipped(files), [_texts(one) for one in papers]


def _texts(one: Paper) -> dict[str, str]:
    return {
        msg("Methods (Markdown)"): one.methods_markdown(),
        msg("Methods (LaTeX)"): one.methods_latex(),
        msg("Tables (Markdown)"): one.tables_markdown(),
        msg("Tables (LaTeX)"): one.tables_latex(),
        "BibTeX": one.bibtex(),
    }


def _show(runs: Sequence[RunInfo], packed: bytes, shown: Sequence[dict[str, str]]) -> None:
    st.download_button(
        tr("All files (zip)"),
        packed,
        file_name=f"{runs[0].run if len(runs) == 1 else 'papers'}-paper.zip",
        mime="application/zip",
        key="paper-zip",
        type="primary",
        icon=":material/folder_zip:",
        on_click="ignore",
    )
    for info, texts in zip(runs, shown, strict=True):
        if len(runs) > 1:
            st.markdown(f"**{ui.plain(info.name)}**")
        for tab, text in zip(st.tabs([tr(name) for name in texts]), texts.values(), strict=True):
            with tab:
                st.code(text, language=None, wrap_lines=True, height=260)
    st.caption(tr("In a terminal: `python -m rubriclab paper RUN --out FOLDER --figures svg,png,pdf --size slide`"))
