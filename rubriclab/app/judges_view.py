"""Say what the tab Judges shows: one view for each pill, all of the same findings.

A view is a module of its own. It decides whether the findings have what it draws, so that a pill
without data is never shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from rubriclab.app.answer_tabs import number_table
from rubriclab.app.call_browser import FILTERS, open_calls
from rubriclab.app.chart_view import chart
from rubriclab.app.frame import safe
from rubriclab.core.topic import Findings
from rubriclab.figures.pictures import Shown
from rubriclab.model.study import PaperPart


@dataclass(frozen=True)
class Several:
    """What several judges, or one judge on several data sets, were asked, and what came out.

    findings: of one run, or of conditions that Compare joined. dataset: the data set that the
    header chose. key: the beginning of the keys of widgets, so that two pages do not share them.
    papers: what papers printed of the run's design.
    """

    findings: Findings
    dataset: str
    key: str
    papers: tuple[PaperPart, ...] = ()

    @property
    def judges(self) -> list[str]:
        """The names of the judges, in the order of the run."""
        return list(dict.fromkeys(asked.judge for asked in self.findings.conditions))

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets, in the order of the run."""
        return list(dict.fromkeys(asked.dataset for asked in self.findings.conditions))


@dataclass(frozen=True)
class View:
    """One pill of the tab Judges.

    name: what the pill says. has: whether the findings have what the view draws; it is called on
    every drawing of the page, so it looks at rows and conditions and computes nothing. draw: draws
    the view.
    """

    name: str
    has: Callable[[Several], bool]
    draw: Callable[[Several], None]


def show(several: Several, shown: Shown, name: str) -> None:
    """Draw a picture with its title and its note. A click on a mark opens its judgments.

    ``name`` tells the pictures of a view apart.
    """
    if shown.picture is None:
        return
    key = f"{several.key}-{name}"
    st.markdown(shown.title)
    with st.container(key=f"wide-{key}"):
        chart(shown.picture, key=key, on_select=partial(open_calls, key))
    if shown.note:
        st.caption(safe(shown.note, 2_000))


def numbers(several: Several, title: str, measures: Sequence[str]) -> None:
    """Draw the rows of these measures on the chosen data set as a table; nothing if there is none.

    ``title``: markdown above the table.
    """
    rows = [
        row
        for measure in measures
        for row in several.findings.select(measure)
        if several.findings.conditions[row.condition].dataset == several.dataset
    ]
    if rows:
        st.markdown(title)
        number_table(several.findings, rows)


def open_judge(key: str, table: pd.DataFrame) -> None:
    """Open the tab Bias of the judge whose line of ``table`` was chosen.

    This is a callback: the header is not drawn yet, and reads the address when it is.
    """
    rows = st.session_state[key].selection.rows
    if not rows:
        return
    name = str(table["Judge"].iloc[rows[0]])
    st.query_params["judge"] = name.removesuffix(" (simulated)").removesuffix(" †")
    st.session_state["tab"] = "Bias"


def open_item(key: str, items: Sequence[str]) -> None:
    """Open the tab Judgments with the calls of the item whose line was chosen.

    This is a callback, as ``open_judge`` is.
    """
    rows = st.session_state[key].selection.rows
    if not rows:
        return
    for name in FILTERS:
        st.session_state.pop(name, None)
        st.query_params.pop(name, None)
    st.session_state["find"] = st.query_params["find"] = items[rows[0]]
    st.session_state["tab"] = "Judgments"
