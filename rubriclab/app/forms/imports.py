"""The Data page's form for judgments made elsewhere: tables, logs and archives to runs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rubriclab.app import ui
from rubriclab.app.forms.common import listing
from rubriclab.app.forms.data import UPLOADS, round_key
from rubriclab.app.forms.replay import replay_offer
from rubriclab.datasets.imports import READERS
from rubriclab.datasets.logs import LOGS, Source, detect
from rubriclab.datasets.logs.prompts_table import columns_of
from rubriclab.datasets.logs.rows import first_row
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.importing import ANY_TABLE, ARCHIVE, Imported, import_file, kind_of
from rubriclab.runs.logs import Progress

KINDS = (
    {"": msg("Find out from the file")}
    | {kind: reader.title for kind, reader in READERS.items()}
    | {kind: log.title for kind, log in LOGS.items()}
    | {ARCHIVE: msg("A run's archive (.zip) from another lab")}
)


def kind_help(kind: str) -> str:
    """What a file of a kind is known by."""
    if kind == ARCHIVE:
        return tr(
            "Made with “Run as an archive” or on the Report page of any lab, of one run or several. It brings its data, "
            "rubric and judgments, and can be gone on with."
        )
    if kind in LOGS:
        return tr("Known by its fields: {fields}.", fields=tr(LOGS[kind].fields))
    if kind in READERS:
        reader = READERS[kind]
        columns = tr("Columns `{columns}`", columns=reader.columns)
        return f"{columns}; {tr(reader.more)}" if reader.more else f"{columns}."
    logs = dict.fromkeys(tr(log.title).split(":")[0] for key, log in LOGS.items() if key != ANY_TABLE)
    return tr(
        "A table of judgments, a run's archive, or a log: {logs}, or any table with a judge's prompts and replies.",
        logs=", ".join(logs),
    )


def import_form() -> None:
    """Judgments made elsewhere become a run, with all findings of one's own runs."""
    kind = st.selectbox(
        tr("What is in the file?"), list(KINDS), format_func=lambda k: tr(KINDS[k]), key="data-import-kind"
    )
    st.caption(kind_help(kind))
    files = st.file_uploader(
        tr("File"),
        type=["zip"] if kind == ARCHIVE else [*UPLOADS, "eval", "zip"],
        key=round_key(f"import-{kind}"),
        accept_multiple_files=True,
        help=tr("One file; with it those that belong to it, as a batch's input to its output."),
    )
    if not files:
        _what_became()
        return
    source = _source(files)
    found = kind or kind_of(source)
    if not kind:
        st.caption(tr("This is: {kind}.", kind=tr(KINDS[found])))
    if found == ANY_TABLE:
        source.columns.update(_columns(source))
    name = source.name.split(".")[0]
    if found != ARCHIVE:
        name = ui.name_input(tr("Name of the run"), name, most=80, key=f"data-import-{files[0].file_id}")
    if st.button(tr("Import"), type="primary", key="data-import", disabled=not name, icon=":material/input:"):
        imported = _imported(source, found, name)
        st.session_state["run"] = imported.runs[0]
        if imported.log is None:
            st.switch_page(f"pages/{_findings_page(imported.runs[0])}.py")
        st.session_state["data-imported"] = imported
        st.session_state["data-imported-from"] = source
        st.session_state["data-round"] = st.session_state.get("data-round", 0) + 1
        st.rerun()


def _source(files: Sequence[UploadedFile]) -> Source:
    """The file that is known by what it holds, else the first, with the others beside it."""
    sources = [Source(file.getvalue(), name=file.name) for file in files]
    main = next((s for s in sources if len(sources) > 1 and detect(s) not in (None, ANY_TABLE)), sources[0])
    main.beside = tuple(s for s in sources if s is not main)
    return main


def _columns(source: Source) -> dict[str, str]:
    """Which columns of a table are the prompt, the reply and the judge, as the user says."""
    names = list(map(str, first_row(source)))
    guessed = columns_of(source)
    chosen = {}
    with st.container(horizontal=True):
        for part, label in (("prompt", tr("Prompt")), ("reply", tr("Reply")), ("judge", tr("Judge (if there is one)"))):
            guess = names.index(guessed[part]) if guessed.get(part) in names else None
            chosen[part] = st.selectbox(label, names, index=guess, key=f"data-import-{part}-{source.name}")
    return {part: column for part, column in chosen.items() if column}


def _imported(source: Source, kind: str, name: str) -> Imported:
    bar = st.progress(0.0, text=tr("Reading the judgments …"))

    def heard(at: Progress) -> bool:
        read = tr("{records} read", records=many(at.records, "record"))
        left = tr(", about {left:.0f} s to go", left=at.left) if at.left >= 1 else ""
        bar.progress(min(1.0, at.done / max(at.size, 1)), text=f"{read}{left}")
        return True

    try:
        return import_file(ui.store, source, kind=kind, name=name, progress=heard)
    finally:
        bar.empty()


def _findings_page(run: str) -> str:
    return ui.FINDINGS_PAGE.get(ui.store().run(run).axis, "position")


def _what_became() -> None:
    """What the log that was imported last gave: every record of it in one of the counts."""
    imported: Imported | None = st.session_state.get("data-imported")
    if imported is None or imported.log is None:
        return
    log = imported.log
    with st.container(border=True):
        st.markdown(
            tr(
                "**{title}**: {judgments:,} of {records} {records:is|are} judgments. The order is known from {sources}.",
                title=ui.plain(tr(LOGS[log.kind].title)),
                judgments=log.judgments,
                records=many(log.records, "record"),
                sources=listing([f"{tr(o)} ({figure(n, ',')})" for o, n in log.order_from.items()]),
            )
        )
        for why, (count, first) in log.unread.items():
            st.markdown(
                tr(
                    ":small[{unread:,} not read: {why}; first record {first:,}]",
                    unread=count,
                    why=ui.plain(tr(why)),
                    first=first[0],
                )
            )
        for note in log.notes:
            st.caption(ui.plain(note))
        for run in imported.runs:
            if ui.store().holds(run):
                st.page_link(
                    f"pages/{_findings_page(run)}.py",
                    label=tr("Findings of {run}", run=ui.plain(run)),
                    icon=":material/arrow_forward:",
                    query_params={"run": run},
                )
        if (source := st.session_state.get("data-imported-from")) is not None:
            replay_offer(source, log.kind, log.prompts)
