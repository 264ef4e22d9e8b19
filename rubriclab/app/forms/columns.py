"""The Data page's form for the columns of a file: which is the response, which the ratings, which the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.datasets.mapping import ColumnMapping
from rubriclab.model.language import msg, tr

MAIN: tuple[tuple[str, str, str], ...] = (
    ("response", msg("Response"), msg("The text to judge. The only column that must be there.")),
    ("instruction", msg("Instruction"), msg("What the response answers: shown to the judge above it.")),
    ("item_id", msg("Id"), msg("Left out, the rows are numbered.")),
    (
        "criterion",
        msg("Criterion"),
        msg("Names the rubric's criterion a row is judged under. Left out, every row is judged under each criterion."),
    ),
)
MORE: tuple[tuple[str, str, str], ...] = (
    (
        "rater",
        msg("Rater"),
        msg("Who gave the rating of a row: rows of one item become one item with several ratings."),
    ),
    ("reference", msg("Reference answer"), msg("A model answer that gets the score beside.")),
    ("block", msg("Block"), msg("Rows that share a text; they are resampled together.")),
    (
        "prompt",
        msg("Prompt group"),
        msg(
            "Candidates that answer one instruction share it: needed to compare and to rank, and one unit of intervals."
        ),
    ),
    ("candidate", msg("Candidate"), msg("Who wrote the response, as a model's name.")),
    ("task", msg("Task"), msg("A category, to look at apart.")),
    ("system", msg("System prompt"), msg("Put above the instruction.")),
    (
        "judge_prompt",
        msg("Whole judge prompt"),
        msg("A Prometheus-Eval prompt: instruction, response, reference and rubric are taken out of it."),
    ),
    ("score_rubric", msg("Rubric of the row"), msg("A Prometheus rubric object: each row brings its own.")),
)


def mapping_form(frame: pd.DataFrame, guess: ColumnMapping, tag: str) -> ColumnMapping:
    """Selectboxes that start at the guess."""
    columns = frame.columns.tolist()
    parts = _selects(MAIN, columns, guess, tag)
    raters = tr("One column a rater, or one column with their mean; or one column of ratings beside one of raters.")
    parts["human"] = _several(tr("Human ratings"), columns, guess.human, f"data-human-{tag}", raters)
    more = [name for name, _, _ in MORE if getattr(guess, name)]
    with st.expander(
        tr("More columns ({found} found)", found=len(more))
        if more
        else tr("More columns: reference answers, blocks, candidates …"),
        icon=":material/tune:",
    ):
        parts |= _selects(MORE, columns, guess, tag)
        parts["reference_score"] = int(
            st.number_input(
                tr("Score of the reference answer"),
                0,
                100,
                guess.reference_score,
                key=f"data-refscore-{tag}",
                persist_state="session",
            )
        )
        parts["references"] = _references(columns, guess, tag)
        parts["human_by_criterion"] = _by_criterion(columns, guess, tag)
        about = tr("Kept with the items under their own names, for a prompt of yours that says {{ item.NAME }}.")
        parts["kept"] = _several(tr("Columns for your own prompts"), columns, guess.kept, f"data-kept-{tag}", about)
    return ColumnMapping(**parts)


def _several(label: str, columns: list[str], guess: tuple[str, ...], key: str, about: str) -> tuple[str, ...]:
    return tuple(
        st.multiselect(
            label, columns, default=list(guess), key=key, persist_state="session", placeholder=tr("None"), help=about
        )
    )


def _selects(
    fields: Sequence[tuple[str, str, str]], columns: list[str], guess: ColumnMapping, tag: str
) -> dict[str, Any]:
    """Two selectboxes a row; "–" stands for no column."""
    chosen: dict[str, Any] = {}
    for start in range(0, len(fields), 2):
        for place, (name, label, about) in zip(st.columns(2), fields[start : start + 2], strict=False):
            guessed = getattr(guess, name)
            chosen[name] = place.selectbox(
                tr(label),
                columns,
                index=columns.index(guessed) if guessed in columns else None,
                placeholder=tr("No column"),
                help=tr(about),
                key=f"data-{name}-{tag}",
                persist_state="session",
            )
    return chosen


def _references(columns: list[str], guess: ColumnMapping, tag: str) -> tuple[tuple[int, str], ...]:
    st.markdown(tr("Reference answers of several scores, one column each"))
    start = pd.DataFrame(list(guess.references), columns=["score", "column"])
    start = start.astype({"score": "Int64", "column": "object"})
    whole = _by_column(
        start, st.column_config.NumberColumn(tr("Score"), min_value=0, step=1), columns, f"data-refs-{tag}"
    )
    return tuple((int(score), str(column)) for score, column in zip(whole["score"], whole["column"], strict=True))


def _by_criterion(columns: list[str], guess: ColumnMapping, tag: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    st.markdown(tr("A wide table: human ratings in a column (or several) for each criterion"))
    rows = [(name, column) for name, rated in guess.human_by_criterion for column in rated]
    start = pd.DataFrame(rows, columns=["criterion", "column"], dtype=object)
    whole = _by_column(start, st.column_config.TextColumn(tr("Criterion")), columns, f"data-wide-{tag}")
    rated: dict[str, list[str]] = {}
    for record in whole.to_dict("records"):
        rated.setdefault(str(record["criterion"]).strip(), []).append(str(record["column"]))
    return tuple((name, tuple(listed)) for name, listed in rated.items() if name)


def _by_column(start: pd.DataFrame, first: Any, columns: list[str], key: str) -> pd.DataFrame:
    """Rows to add and to take away, of something (``first``) and the file's column for it; the whole ones."""
    made = ui.table(
        start,
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        key=key,
        column_config={
            start.columns[0]: first,
            "column": st.column_config.SelectboxColumn(tr("Column"), options=columns),
        },
    )
    return made.dropna()
