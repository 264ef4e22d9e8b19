"""Say what the tab Judges shows: one view for each pill, all of the same findings.

A view is a module of its own. It decides whether the findings have what it draws, so that a pill
without data is never shown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from rubriclab.app.answer_tabs import number_table
from rubriclab.app.call_browser import clicked_calls, open_here
from rubriclab.app.chart_view import chart
from rubriclab.app.frame import safe
from rubriclab.core.topic import Findings
from rubriclab.figures.pictures import Shown
from rubriclab.model.study import PaperPart

IN_RESULTS = "results"


def never_repeated() -> str:
    """Return no run: what was joined of several runs cannot be asked again as one."""
    return ""


@dataclass(frozen=True)
class Several:
    """What several judges, or one judge on several data sets, were asked, and what came out.

    findings: of one run, or of conditions that Compare joined. dataset: the data set that the
    header chose. key: the beginning of the keys of widgets, so that two pages do not share them.
    papers: what papers printed of the run's design. repeated: returns the ID of the run if more can
    be asked of the same answers, else an empty text; it may read the whole study. questions:
    returns the text that an item's answers respond to, by item; empty where the run does not know
    it. open: opens a place, given as parts of an address (judge, data set, tab, filters); callbacks
    call it.
    """

    findings: Findings
    dataset: str
    key: str = IN_RESULTS
    papers: tuple[PaperPart, ...] = ()
    repeated: Callable[[], str] = never_repeated
    questions: Callable[[], Mapping[str, str]] = dict
    open: Callable[[Mapping[str, str]], None] = open_here

    @property
    def judges(self) -> list[str]:
        """The names of the judges, in the order of the run."""
        return list(dict.fromkeys(asked.judge for asked in self.findings.conditions))

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets, in the order of the run."""
        return list(dict.fromkeys(asked.dataset for asked in self.findings.conditions))

    @property
    def in_results(self) -> bool:
        """Return whether the page has the options, and the addresses, of one run."""
        return self.key == IN_RESULTS


@dataclass(frozen=True)
class View:
    """One pill of the tab Judges.

    slug: what the address says, which stays the same when the pill is renamed. name: what the pill
    says. has: whether the findings have what the view draws; it is called on every drawing of the
    page, so it looks at rows and conditions and computes nothing. draw: draws the view.
    """

    slug: str
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

    def open_calls() -> None:
        if place := clicked_calls(key):
            several.open(place)

    st.markdown(shown.title)
    with st.container(key=f"wide-{key}"):
        chart(shown.picture, key=key, on_select=open_calls)
    if shown.note:
        st.caption(safe(shown.note, 2_000))


OUTCOMES = ("Consistency", "Preference for a position")


def asks_for_preference(several: Several, name: str) -> bool:
    """Ask which outcome of pairs a view shows; return whether it is the preference.

    ``name``: of the view.
    """
    chosen = st.segmented_control(
        "Show", OUTCOMES, default=OUTCOMES[0], required=True, key=f"{several.key}-{name}-show"
    )
    return bool(chosen == OUTCOMES[1])


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


def open_line(several: Several, key: str, places: Sequence[Mapping[str, str]]) -> None:
    """Open the place of the line that was chosen in the table of this key.

    ``places``: of each line. This is a callback: the header is not drawn yet, and reads the
    address when it is.
    """
    rows = st.session_state[key].selection.rows
    if rows:
        several.open(places[rows[0]])
