"""What is asked of the list of runs: words, state, kind, tags, days and shelf, all of it in the address."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import streamlit as st

from rubriclab.app.ui.address import choose, choose_many, pick_day, search
from rubriclab.app.ui.runs import STATES
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.listed import TRIAL, RunFilter, Shelf, shelf_of
from rubriclab.store import RunInfo
from rubriclab.study.protocols import PROTOCOLS

PERIODS = {
    "": msg("Any time"),
    "1": msg("Today"),
    "7": msg("The last 7 days"),
    "30": msg("The last 30 days"),
    "365": msg("The last 365 days"),
}
SHELF_NAMES: dict[Shelf, str] = {"listed": msg("In the list"), "archived": msg("Archived"), "deleted": msg("Deleted")}
FILTERS = ("search", "state", "kind", "tag", "made", "since", "until")
"""Parts of the address that say which runs are shown."""


def wanted_runs(every: Sequence[RunInfo], key: str) -> RunFilter:
    """What the widgets on top of the list ask for; all of it is in the address."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        hint = tr("title, tag, judge, data set …")
        words = search(tr("Search"), key=f"{key}-search", address="search", hint=hint)
        with st.popover(tr("Filter"), icon=":material/tune:"):
            states = {"": tr("Any state"), **{state: tr(word).capitalize() for state, word in STATES.items()}}
            state = choose(tr("State"), list(states), key=f"{key}-state", address="state", name=states.__getitem__)
            axes: dict[str, str] = {axis: tr(protocol.title) for axis, protocol in PROTOCOLS.items()}
            kinds = {"": tr("Anything"), **axes, TRIAL: tr("One text, tried")}
            kind = choose(
                tr("What changes places"), list(kinds), key=f"{key}-kind", address="kind", name=kinds.__getitem__
            )
            since, until = _made(key)
            tags: list[str] = []
            if known := tags_of(every):
                tags = choose_many(tr("Tags"), known, key=f"{key}-tag", address="tag")
    shelves = {shelf: sum(shelf_of(info) == shelf for info in every) for shelf in SHELF_NAMES}
    shelf: Shelf = "listed"
    if shelves["archived"] or shelves["deleted"] or "shelf" in st.query_params:
        shelf = choose(
            tr("Which runs"),
            list(shelves),
            key=f"{key}-shelf",
            address="shelf",
            name=lambda one: f"{tr(SHELF_NAMES[one])} {figure(shelves[one], ',')}",
            code=lambda one: "" if one == "listed" else one,
            segments=True,
        )
    return RunFilter(words, tags, (state,) if state else (), (kind,) if kind else (), since, until, shelf)


def _made(key: str) -> tuple[date | None, date | None]:
    """The first and the last day on which a run was made; a period and days that are both chosen both hold."""
    made = choose(tr("Made"), list(PERIODS), key=f"{key}-made", address="made", name=lambda period: tr(PERIODS[period]))
    first, last = st.columns(2)
    with first:
        since = pick_day(tr("From"), key=f"{key}-since", address="since", about=tr("Made on that day or later."))
    with last:
        until = pick_day(tr("To"), key=f"{key}-until", address="until", about=tr("Made on that day or before."))
    if since and until and since > until:
        st.caption(tr("No day lies between: {since} comes after {until}.", since=since, until=until))
    if made:
        begun = date.today() - timedelta(days=int(made) - 1)
        since = begun if since is None else max(since, begun)
    return since, until


def tags_of(runs: Sequence[RunInfo]) -> list[str]:
    """All tags of these runs, in the order of the alphabet."""
    return sorted({tag for info in runs for tag in info.tags}, key=str.casefold)


def counted(found: int, wanted: RunFilter, key: str) -> None:
    """How many runs a search has found, and the way back to all of them."""
    if not any((wanted.words, wanted.tags, wanted.states, wanted.kinds, wanted.since, wanted.until)):
        if not found:
            st.caption(
                {"archived": tr("No run is archived."), "deleted": tr("No run is deleted.")}.get(
                    wanted.shelf, tr("No run.")
                )
            )
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tr("{runs} found.", runs=many(found, "run")) if found else tr("No run is found."))
        if st.button(tr("Show all"), key=f"{key}-all", type="tertiary", icon=":material/close:"):
            for part in FILTERS:
                st.query_params.pop(part, None)
                for name in (f"{key}-{part}", f"{key}-{part}@told"):
                    st.session_state.pop(name, None)
            st.rerun()
