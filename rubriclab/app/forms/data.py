"""The Data page's forms: files, the sample and public data sets to data sets of the store."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rubriclab.app import ui
from rubriclab.app.forms.columns import MAIN, mapping_form
from rubriclab.app.forms.common import facts, keep_dataset, kept_dataset, listing, rubric_sentence, show_preview
from rubriclab.datasets.delimited import DELIMITERS
from rubriclab.datasets.items import build_dataset, origin_said
from rubriclab.datasets.mapping import ColumnMapping, guess_mapping
from rubriclab.datasets.recipes import RECIPES, Recipe, load_recipe, read_files
from rubriclab.datasets.remarks import remarks
from rubriclab.datasets.sample import sample_dataset
from rubriclab.datasets.tables import MAX_UPLOAD_MB, read_table, table_notes
from rubriclab.model import Dataset
from rubriclab.model.language import language, msg, tr
from rubriclab.model.wording import many

UPLOADS = ["csv", "tsv", "txt", "jsonl", "ndjson", "json", "parquet", "xlsx", "xlsm", "gz"]


# ---------------------------------------------------------------- kept data sets


def kept_list() -> None:
    """The data sets of the store, each with what it has; one can be looked into."""
    table = ui.store().datasets()
    if table.empty:
        with st.container(border=True):
            st.subheader(tr("No data yet"), anchor=False)
            st.markdown(
                tr(
                    "Start with the sample that comes with the lab, or bring your own below. Whatever you add stays "
                    "in the store on this machine."
                )
            )
            _sample_button("data-empty-sample", primary=True)
        return
    for row in table.to_dict("records"):
        _kept_row({str(name): cell for name, cell in row.items()})


def _kept_row(row: dict[str, Any]) -> None:
    code = str(row["dataset"])
    shown = st.session_state.get("data-open") == code
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            counted = many(int(row["n_items"]), "comparison" if row["kind"] == "comparisons" else "item")
            own = tr(" :blue-badge[own rubric]") if row["own_rubric"] else ""
            origin = f"{ui.plain(str(row['origin']))} · " if row["origin"] else ""
            day = ui.dated(row["created"], msg("%d %b %Y"))
            st.markdown(f"**{ui.plain(str(row['name']))}**{own}  \n:small[{counted} · {origin}{day}]", width="stretch")
            with st.container(horizontal=True, width="content"):
                if st.button(
                    tr("Close") if shown else tr("Look"), key=f"data-look-{code}", icon=":material/visibility:"
                ):
                    st.session_state["data-open"] = None if shown else code
                    st.rerun()
                if st.button(tr("Use in a study"), key=f"data-use-{code}", icon=":material/science:"):
                    st.session_state["study-data-wanted"] = code
                    st.switch_page("pages/study.py")
        if shown:
            _looked_into(code)


def _looked_into(code: str) -> None:
    dataset = kept_dataset(code)
    found = facts(dataset)
    st.markdown(found.sentence())
    if found.criteria:
        st.caption(tr("Criteria: {names}", names=listing(found.criteria, most=12)))
    if dataset.rubric is not None:
        st.caption(tr("Brings a rubric: {rubric}.", rubric=rubric_sentence(dataset.rubric)))
    show_preview(dataset, key=f"data-kept-{code}")
    with st.popover(tr("Delete"), icon=":material/delete:"):
        st.markdown(tr("Removed from the store for good. Data that a run was made on has to stay."))
        if st.button(tr("Delete this data set"), key=f"data-delete-{code}"):
            ui.store().delete_dataset(code)
            st.session_state["data-open"] = None
            st.rerun()


def _keep(dataset: Dataset) -> None:
    """Save, open it on the list, and empty the upload fields."""
    code = keep_dataset(dataset)
    ui.discard(round_key("file"))
    st.session_state["data-open"] = code
    st.session_state["data-round"] = st.session_state.get("data-round", 0) + 1
    ui.announce(tr("Kept “{name}”: {items}.", name=ui.plain(dataset.name), items=many(len(dataset), "item")))
    st.rerun()


def round_key(name: str) -> str:
    """A widget key that changes after each save, so that uploads are let go of."""
    return f"data-{name}-{st.session_state.get('data-round', 0)}"


def _sample_button(key: str, *, primary: bool = False) -> None:
    if st.button(tr("Add the sample"), key=key, icon=":material/add:", type="primary" if primary else "secondary"):
        _keep(sample_dataset())


# ---------------------------------------------------------------- a file of one's own


@st.cache_resource(show_spinner=ui.Awaited(msg("Reading the file …")), max_entries=2)
def _table(
    file_id: str,  # noqa: ARG001  (a key of the cache)
    name: str,
    delimiter: str | None,
    spoken: str,  # noqa: ARG001  (what was noticed is said in this language)
    _content: UploadedFile,
) -> pd.DataFrame:
    return read_table(name, _content.getvalue(), delimiter=delimiter)


@st.cache_resource(show_spinner=ui.Awaited(msg("Making items of the rows …")), max_entries=2)
def _built(
    table_key: tuple[str, str | None],  # noqa: ARG001  (a key of the cache)
    mapping: ColumnMapping,
    name: str,
    skip_empty: bool,
    _frame: pd.DataFrame,
) -> Dataset:
    return build_dataset(_frame, mapping, name=name, skip_empty=skip_empty)


def upload_form() -> None:
    """Upload, map the columns, look at what comes of it, keep it."""
    uploaded = ui.upload(
        tr("A file with one response a row"),
        type=UPLOADS,
        key=round_key("file"),
        help=tr(
            "CSV, TSV, JSON Lines, JSON, Parquet or Excel, each also as .gz, up to {most} MB. "
            "Nothing leaves this machine until a judge is asked.",
            most=MAX_UPLOAD_MB,
        ),
    )
    if uploaded is None:
        st.caption(
            tr(
                "A column with the responses is enough. Instructions, human ratings, criteria and reference "
                "answers are used where they are there; the next step asks which column is which."
            )
        )
        return
    delimiter = _delimiter(uploaded)
    frame = _table(uploaded.file_id, uploaded.name, delimiter, language(), uploaded)
    for note in table_notes(frame):
        st.caption(ui.plain(note))
    st.dataframe(frame.head(5).astype(str), hide_index=True, width="stretch", key=round_key("head"))
    guess = guess_mapping(frame)
    known = any(getattr(guess, name) is not None for name, _, _ in MAIN) or guess.human or guess.judge_prompt
    said = (
        tr("This is a guess by the columns' names: change what is wrong.")
        if known
        else tr("Their names say nothing to the lab.")
    )
    st.markdown(tr("**Which column is which?** {said}", said=said))
    mapping = mapping_form(frame, guess, uploaded.file_id)
    if mapping.response is None and mapping.judge_prompt is None:
        st.info(tr("Choose the column of the responses: the texts to judge."), icon=":material/info:")
    else:
        _result(uploaded, delimiter, frame, mapping)


def _delimiter(uploaded: UploadedFile) -> str | None:
    """What separates the cells of a file of text; None where the lab finds it out."""
    plain_name = uploaded.name.lower().removesuffix(".gz")
    if not plain_name.endswith((".csv", ".tsv", ".txt")):
        return None
    chosen: str = st.selectbox(
        tr("Separated by"),
        ["", *DELIMITERS],
        key=f"data-delimiter-{uploaded.file_id}",
        persist_state="session",
        format_func=lambda sign: tr(DELIMITERS[sign]) if sign else tr("found out by the lab"),
    )
    return chosen or None


def _result(uploaded: UploadedFile, delimiter: str | None, frame: pd.DataFrame, mapping: ColumnMapping) -> None:
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        name = ui.name_input(
            tr("Name of the data set"),
            uploaded.name.split(".")[0],
            most=80,
            key=f"data-name-{uploaded.file_id}",
            persist_state="session",
        )
    skip = right.checkbox(
        tr("Leave out rows without a response"),
        key=f"data-skip-{uploaded.file_id}",
        persist_state="session",
        help=tr("They are counted in the data set's origin."),
    )
    if not name:
        st.info(tr("Give the data set a name."), icon=":material/info:")
        return
    dataset = _built((uploaded.file_id, delimiter), mapping, name, skip, frame)
    st.success(tr("This gives {facts}.", facts=facts(dataset).sentence()), icon=":material/check:")
    if dataset.origin != uploaded.name:  # what was left out, and how ratings were read
        st.caption(ui.plain(origin_said(dataset.origin)))
    for remark in remarks(dataset, dataset.rubric):
        st.warning(ui.plain(remark), icon=":material/warning:")
    show_preview(dataset, key=f"data-new-{uploaded.file_id}")
    if st.button(tr("Keep this data set"), type="primary", key="data-keep", icon=":material/save:"):
        _keep(dataset)


# ---------------------------------------------------------------- sample and recipes


def sample_form() -> None:
    """The sample that comes with the lab, one click away."""
    dataset = _sample()
    st.markdown(
        tr(
            "{facts}. Written for this project in several domains, with quality levels as their author "
            "meant them: `data/README.md` says who graded them.",
            facts=facts(dataset).sentence(),
        )
    )
    show_preview(dataset, key="data-sample")
    _sample_button("data-sample-add")


@st.cache_resource(show_spinner=False)
def _sample() -> Dataset:
    return sample_dataset()


def recipe_form() -> None:
    """A public data set, from its published files or from the user's copies of them."""
    key = st.selectbox(tr("Data set"), list(RECIPES), format_func=lambda k: tr(RECIPES[k].title), key="data-recipe")
    chosen = RECIPES[key]
    st.markdown(ui.plain(tr(chosen.about)))
    st.caption(
        tr(
            "From {source} · licence {licence} · {files}",
            source=ui.plain(tr(chosen.source)),
            licence=ui.plain(tr(chosen.licence)),
            files=listing([file.name for file in chosen.files]),
        )
    )
    gold = None
    if chosen.gold:
        named = st.selectbox(
            tr("Stand-in for human ratings"),
            ["", *chosen.gold],
            key=f"data-gold-{key}",
            format_func=lambda name: name or tr("none"),
            help=tr("These are another model's scores, not a human's."),
        )
        gold = named or None
    if chosen.downloadable and st.button(
        tr("Download and keep"), key=f"data-fetch-{key}", type="primary", icon=":material/download:"
    ):
        _keep(_fetched(chosen, gold))
    files = st.file_uploader(
        tr("Or your own copy of the files"), accept_multiple_files=True, key=round_key(f"recipe-{key}")
    )
    if files:
        dataset = read_files(chosen, [(file.name, file.getvalue()) for file in files], gold=gold)
        st.success(tr("This gives {facts}.", facts=facts(dataset).sentence()), icon=":material/check:")
        if st.button(tr("Keep this data set"), type="primary", key=f"data-keep-{key}"):
            _keep(dataset)


def _fetched(chosen: Recipe, gold: str | None) -> Dataset:
    bar = st.progress(0.0, text=tr("Asking for the files …"))

    def heard(name: str, done: int, total: int | None) -> None:
        share = min(1.0, done / total) if total else 0.0
        size = (
            tr("{done:.1f} MB of {total:.1f}", done=done / 1e6, total=total / 1e6)
            if total
            else tr("{done:.1f} MB", done=done / 1e6)
        )
        bar.progress(share, text=f"{ui.plain(name)}: {size}")

    try:
        return load_recipe(chosen.key, gold=gold, progress=heard)
    finally:
        bar.empty()
