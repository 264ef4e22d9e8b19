"""Step 1 of Set up: a file, the sample or finished judgments in; a data set (or a run of judgments) out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from rubriclab.app import state
from rubriclab.app.draft import draft
from rubriclab.app.forms import column_select, open_step, preset, segments
from rubriclab.app.frame import announce, faults, go, safe
from rubriclab.data.tables import SEPARATORS
from rubriclab.model.data import DataSet
from rubriclab.model.text import count, digest, shorten

if TYPE_CHECKING:
    from rubriclab.data.tables import Table

KINDS = {"file": "Upload a file", "sample": "Sample", "judgments": "Judgments made elsewhere"}
ENDINGS = ["csv", "tsv", "txt", "xlsx", "json", "jsonl", "parquet"]
COLUMNS = {"response": "Answer to score", "instruction": "Instruction (optional)", "human": "Human score (optional)"}
MORE = {
    "reference": "Reference answer",
    "criterion": "Criterion",
    "candidate": "Candidate (who wrote the answer)",
    "rater": "Rater",
    "prompt": "Group",
    "item_id": "Id",
}
JUDGMENT_KINDS = {"scores": "Scores, options reordered", "criteria": "Scores, criteria reordered"}
ORDER = re.compile(r"-?\d+([ ,;>|]+-?\d+){2,}|[^|]+(\|[^|]+)+")
JUDGMENT_LABELS = {
    "item_id": "Id of the answer",
    "text_id": "Id of the answer",
    "ordering": "Order shown",
    "score": "Score given",
    "criterion": "Criterion",
    "judge": "Judge",
    "dataset": "Data set",
    "prompt": "Group",
    "repeat": "Repeat",
    "human": "Human score",
    "response": "Answer",
    "instruction": "Instruction",
}


def summary() -> str:
    """What the closed step says."""
    held = draft()
    if held.dataset is None or not held.confirmed:
        return "no answers yet" if held.dataset is None else "columns not confirmed yet"
    groups = len({item.prompt or item.item_id for item in held.dataset.items})
    answers = count(len(held.dataset.items), "answer")
    name = "Sample" if held.sample else shorten(held.file, 40)
    return f"{name} · {answers}" + (f", {count(groups, 'group')}" if groups < len(held.dataset.items) else "")


def body() -> None:
    """The open step."""
    kind = segments("Where from?", KINDS, key="data-kind")
    if kind == "sample":
        _sample()
    elif kind == "file":
        table = _upload("data", "One answer per row: CSV, TSV, Excel, JSON or Parquet, up to 100 MB")
        draft().table = table
        if table is not None:
            _columns(table)
    else:
        table = _upload("judged", "One judgment per row: CSV, TSV, Excel, JSON or Parquet, up to 100 MB")
        if table is not None:
            _judgments(table)


def _upload(name: str, label: str) -> Table | None:
    """An uploader, or the file that was uploaded with its size and ``Replace``; None: no file that can be read."""
    kept = st.session_state.get(f"setup {name} table")
    if kept is None:
        file = st.file_uploader(
            label, type=ENDINGS, key=f"{name}-upload-{st.session_state.get(f'setup {name} count', 0)}"
        )
        if file is None:
            return None
        with st.spinner(f"Reading {safe(file.name, 60)} …"), faults():
            from rubriclab.data.tables import read_table

            st.session_state[f"setup {name} table"] = read_table(file.getvalue(), file.name)
            st.session_state[f"setup {name} file"] = file.name
            st.rerun()
        return None
    table: Table = kept
    with st.container(horizontal=True, vertical_alignment="center"):
        separated = SEPARATORS.get(table.separator or "", "")
        about = f"{count(table.size, 'row')}, {count(len(table.columns), 'column')}"
        about += f", separated by {separated}" if separated else ""
        file_name = safe(st.session_state[f"setup {name} file"], 60)
        st.markdown(f":material/draft: **{file_name}** · {about}", width="content")
        st.button("Replace", icon=":material/upload:", type="tertiary", on_click=_replace, args=(name,))
    if table.note:
        st.caption(safe(table.note, 300))
    _show_rows(table.columns, table.first(2), "The first two rows of the file")
    return table


def _show_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], alt: str) -> None:
    """Rows to recognise a file by: long cells are cut, so that as many columns as can be stand side by side."""
    short = [max((len(row[k]) for row in rows), default=0) <= 16 for k in range(len(columns))]
    most = max(14, (84 - 16 * sum(short)) // max(1, len(short) - sum(short)))
    names = [f"{shorten(name, 30)} ({k + 1})" if len(name) > 30 else name for k, name in enumerate(columns)]
    cut = [[shorten(cell, most) for cell in row] for row in rows]
    st.dataframe(pd.DataFrame(cut, columns=names), hide_index=True, alt=alt)


def _replace(name: str) -> None:
    st.session_state[f"setup {name} table"] = None
    st.session_state[f"setup {name} count"] = st.session_state.get(f"setup {name} count", 0) + 1
    if name == "data":
        held = draft()
        held.table = None
        if not held.sample:
            held.dataset, held.confirmed = None, False


def _columns(table: Table) -> None:
    from rubriclab.data.items import guess_columns

    held = draft()
    guess = guess_columns(table, held.rubric)
    mark = digest(list(table.columns), table.size)[:8]
    columns = list(table.columns)
    if not guess.matched:
        st.markdown("We could not match your column names, so we guessed from the contents. **Is this right?**")
    chosen: dict[str, Any] = {}

    def choose(role: str, label: str) -> None:
        chosen[role] = column_select(
            label, columns, _first(guess.columns.get(role)), key=f"data-{role}-{mark}",
            why=guess.reasons.get(role, ""), optional=role != "response",
        )  # fmt: skip

    for (role, label), part in zip(COLUMNS.items(), st.columns(3), strict=True):
        with part:
            choose(role, label)
    groups = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Yes, use these columns", icon=":material/check:", type="primary", key="data-confirm")
        with st.popover("More columns", icon=":material/view_column:", type="tertiary"):
            for role, label in MORE.items():
                choose(role, label)
            human = guess.columns.get("human")
            further = st.multiselect(
                "Further human scores", columns, format_func=lambda name: shorten(name, 60), persist_state="session",
                key=preset(f"data-humans-{mark}", human[1:] if isinstance(human, list) else []),
            )  # fmt: skip
    chosen["human"] = [name for name in dict.fromkeys([chosen["human"], *further]) if name]
    mapped = {role: value for role, value in chosen.items() if value}
    file = st.session_state["setup data file"]
    with groups, faults():
        held.confirmed = held.confirmed and not held.sample and mapped == held.columns
        held.dataset = None
        held.dataset = _dataset(table, mapped, file.rsplit(".", 1)[0])
        held.columns, held.sample, held.file = mapped, False, file
        left_out = held.dataset.origin.rpartition("; ")[2]
        st.caption(groups_sentence(held.dataset) + (f" {left_out}." if left_out.endswith("left out") else ""))
        if pressed:
            held.confirmed = True
            open_step(0)
            st.rerun()


def _dataset(table: Table, columns: dict[str, Any], name: str) -> DataSet:
    """The items of a table by these columns; made once for each choice of columns."""
    from rubriclab.data.items import items_of

    kept, by, made = st.session_state.get("setup data made", (None, None, None))
    if kept is not table or by != columns:
        made = items_of(table, columns, name=name)
        st.session_state["setup data made"] = table, columns, made
    assert isinstance(made, DataSet)
    return made


def groups_sentence(dataset: DataSet) -> str:
    """How many answers there are to how many instructions, and what that means."""
    prompts = [item.prompt or "" for item in dataset.items]
    groups = len(set(prompts))
    if not any(prompts):
        return f"{count(len(prompts), 'answer')}. No instruction repeats, so each answer counts by itself."
    if groups < len(prompts):
        return (
            f"{count(len(prompts), 'answer')} to {count(groups, 'instruction')}. Answers to one instruction count as "
            "one group."
        )
    return f"{count(len(prompts), 'answer')}, each to an instruction of its own."


def _sample() -> None:
    from rubriclab.data.sample import sample

    dataset = sample()
    st.markdown(
        f"{count(len(dataset.items), 'short answer')} to everyday tasks, of varied quality, that come with the lab."
    )
    rows = [(item.instruction, item.response) for item in dataset.items[:2]]
    _show_rows(("Instruction", "Answer"), rows, "The first two answers of the sample")
    st.caption(groups_sentence(dataset))
    if st.button("Use the sample", icon=":material/check:", type="primary"):
        held = draft()
        held.dataset, held.sample, held.columns, held.file, held.confirmed = dataset, True, {}, "", True
        open_step(0)
        st.rerun()


def _judgments(table: Table) -> None:
    """Finished judgments: the columns, then straight to Results."""
    from rubriclab.data.scores import REQUIRED, column_names, guess_kind, read_judgments

    columns = list(table.columns)
    mark = digest(columns, table.size)[:8]
    guess = column_names(table, None, None)
    guessed = guess_kind(table, guess)
    kind_key = preset(f"judged-kind-{mark}", guessed if guessed in JUDGMENT_KINDS else "scores")
    kind = segments("What was reordered?", JUDGMENT_KINDS, key=kind_key, hidden=False)
    guess = column_names(table, kind, None)
    st.caption("Order shown: the scores as the prompt listed them, 3 1 2 5 4; criteria with | between.")
    needed = REQUIRED[kind]  # type: ignore[index]
    further = [role for role in JUDGMENT_LABELS if role not in needed and not role.endswith("_id")]
    chosen: dict[str, str | None] = {}

    def choose(role: str) -> None:
        start = _first(guess.get(role)) or (_order_column(table) if role == "ordering" else None)
        chosen[role] = column_select(JUDGMENT_LABELS[role], columns, start, key=f"judged-{kind}-{role}-{mark}")

    for role, part in zip(needed, st.columns(len(needed)), strict=True):
        with part:
            choose(role)
    with st.container(horizontal=True, vertical_alignment="center"):
        button = st.empty()
        with st.popover("More columns", icon=":material/view_column:", type="tertiary"):
            for role in further:
                choose(role)
    missing = [JUDGMENT_LABELS[role] for role in needed if not chosen[role]]
    if button.button(
        "Open results", icon=":material/grid_on:", type="primary", disabled=bool(missing), key="judged-open"
    ):
        with faults(), st.spinner("Reading the judgments …"):
            made = read_judgments(table, kind, {role: name for role, name in chosen.items() if name})
            run_id = state.store().add_table(made)
            announce("Kept as a run of its own.")
            go("results", run=run_id)
    if missing:
        st.caption(f"First choose: {', '.join(missing)}.")


def _order_column(table: Table) -> str | None:
    """The first column whose first cell lists three things or more."""
    listed = (
        name for name, cell in zip(table.columns, table.first(1)[0], strict=True) if ORDER.fullmatch(cell.strip())
    )
    return next(listed, None)


def _first(value: str | list[str] | None) -> str | None:
    return value if isinstance(value, str) else (value[0] if value else None)
