"""Which judgments are looked at: filters that are kept in the address."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import arm_name
from rubriclab.store import Condition, Offered, RunInfo
from rubriclab.store.behind import UNREAD

T = TypeVar("T", bound=Hashable)

AXES = ("options", "criteria", "pairwise", "listwise", "batch")
COMPARISONS = ("pairwise", "listwise")
MOST = 3_000
"""Judgments of one item that are read at once."""
ORDERS = 1_000
"""From so many orders on a list of them helps nobody."""
POSITION = {
    "options": msg("Position chosen"),
    "criteria": msg("Position of the criterion"),
    "pairwise": msg("Place that won"),
    "listwise": msg("Place that won"),
    "batch": msg("Place in the batch"),
}
OUTCOMES: Mapping[str, str] = {
    "ok": msg("ok"),
    "unparsed": msg("unparsed"),
    "refused": msg("refused"),
    "truncated": msg("truncated"),
    "error": msg("error"),
}
"""What came of a call, by its status."""


# ---------------------------------------------------------------- what is looked for


def filters(info: RunInfo) -> Condition:
    """What the judgments have to meet, every part of it in the address."""
    every = offered(info, None)
    left, right = st.columns([3, 2])
    with left:
        arm = _any(tr("Judge and strategy"), every.used, "arm", name=lambda code: arm_name(every.arms[code]))
    here = offered(info, arm)
    with right:
        find = ui.search(tr("Item"), key="judgments-find", address="find", hint=tr("part of its name")) or None
    with st.container(horizontal=True):
        score = _any(tr("Score"), here.scores, "score")
        position = _any(
            tr(POSITION[info.axis]), here.positions, "position", name=lambda p: tr("a tie") if p == 0 else str(p)
        )
        outcomes = [*here.statuses, *([UNREAD] if here.statuses != ("ok",) else [])]
        status = _any(
            tr("Outcome"),
            outcomes,
            "status",
            name=lambda s: tr("not read, for whatever reason") if s == UNREAD else tr(OUTCOMES[s]),
        )
        criterion = _any(tr("Criterion"), here.criteria, "criterion")
        ordering = _any(tr("Order shown"), _few(here.orderings), "ordering")
    return Condition(
        arm=arm, score=score, position=position, status=status, criterion=criterion, ordering=ordering, find=find
    )


def _any(label: str, options: Sequence[T], address: str, *, name: Callable[[T], str] = str) -> T | None:
    """One of ``options`` or all of them; not asked where there is nothing to choose."""
    if len(options) < 2 and address not in st.query_params:
        return None
    by_code = {"": None, **{str(option): option for option in options}}

    def named(code: str) -> str:
        option = by_code[code]
        return tr("all") if option is None else name(option)

    chosen = ui.choose(label, list(by_code), key=f"judgments-{address}", address=address, name=named)
    return by_code[chosen]


def go(**parts: Any) -> None:
    """Write parts of the address; None takes a part away."""
    for name, value in parts.items():
        if value is not None:
            st.query_params[name] = str(value)
        elif name in st.query_params:
            del st.query_params[name]


def _few(orderings: Sequence[str]) -> Sequence[str]:
    """All orders, or of very many only the one that the address names."""
    if len(orderings) <= ORDERS:
        return orderings
    return [name for name in orderings if name == st.query_params.get("ordering")]


def offered(info: RunInfo, arm: int | None) -> Offered:
    store = ui.store()
    return _offered_once((store.path, info.run, store.revision(info.run)), arm)


@st.cache_resource(show_spinner=False, max_entries=64)
def _offered_once(key: tuple[str, str, str], arm: int | None) -> Offered:
    return ui.store().offered(key[1], arm=arm)
