"""Draw the part of step 4 that takes the examples whose order changes.

They come from an uploaded table, or from a column of the data that holds a list for each answer.
What was uploaded is written into the study, so that a reload, and a run that is repeated, keep it.
"""

import pandas as pd
import streamlit as st

from rubriclab.app.draft import Draft
from rubriclab.app.forms import ask, forget, upload
from rubriclab.app.frame import faults, safe
from rubriclab.data.tables import read_table
from rubriclab.model.study import ExamplesPart, validated
from rubriclab.model.text import shorten
from rubriclab.study.examples import examples_of_table

ENDINGS = ("csv", "tsv", "json", "jsonl", "xlsx", "parquet")
NOT_HERE = "Upload the examples in step 4 first: a table with the columns text and label."
"""Why a study whose examples are not here yet cannot be launched."""


def body(held: Draft) -> None:
    """Draw the examples of the study, and the ways to choose others."""
    part = held.study.examples
    if part is not None and part.file:
        st.markdown(f"The study names the file **{safe(part.file, 100)}**. Upload it here.")
    file = upload(
        "Examples before each answer: a table with the columns text and label, 2 to 10 rows",
        ENDINGS,
        held,
        "examples",
        max_upload_size=2,
    )
    if file is not None:
        with faults():  # an error is shown next to the uploader
            _use(held, examples_of_table(read_table(file.getvalue(), file.name)))
    _column(held)
    if part is not None and part.shown:
        table = pd.DataFrame(
            [(example.text, example.label) for example in part.shown], columns=["Text", "Label"]
        )
        table.index = pd.RangeIndex(1, len(table) + 1, name="Example")
        st.dataframe(table, width="stretch")


def _column(held: Draft) -> None:
    """Ask for a column with a list for each answer, if the data have columns of lists."""
    part = held.study.examples
    own = part.column if part is not None else ""
    listed = [own] if own else []
    if held.study.data:
        table = held.uploads.tables.get(held.study.data[0].file)
        if table is not None:
            listed += [name for name in table.structured if name != own]
    if not listed:
        return
    chosen = ask(
        st.selectbox,
        "Or a column with a list for each answer",
        ["", *listed],
        key="orders-examples-column",
        start=own,
        format_func=lambda name: shorten(name, 60) or "none",
        help="Texts with label or gold, for example the passages that an answer rests on.",
    )
    if chosen and chosen != own:
        _use(held, validated(ExamplesPart, {"column": chosen}))
    elif own and not chosen:
        _use(held, None)


def _use(held: Draft, part: ExamplesPart | None) -> None:
    """Put examples into the study, and draw the page again."""
    held.change(examples=part)
    held.uploads.version += 1
    forget("orders-examples")
    st.rerun()
