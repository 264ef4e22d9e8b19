"""Which store a visit looks at: the one the lab was started with, or another of its folders, by name.

The choice is the session's and stands in the address under ``store``. A name is looked up among the stores that
the lab offers; no address is ever made into a path. A lab that is served to others offers only what its owner
named in RUBRICLAB_STORES.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rubriclab.app.ui.frame import KEPT_ACROSS_STORES, announce, faults, plain
from rubriclab.app.ui.language import dated
from rubriclab.app.ui.naming import name_input
from rubriclab.judges.serving import served, why_missing
from rubriclab.model.language import msg, tr
from rubriclab.store import Store

STORE_VARIABLE = "RUBRICLAB_STORE"
STORES_VARIABLE = "RUBRICLAB_STORES"
"""Folders whose stores are offered besides those beside the first, or single stores; as PATH is written."""
DEFAULT_STORE = "lab.duckdb"
SUFFIX = ".duckdb"
MOST = 40
"""Stores that are listed: those changed last."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
_CHOSEN, _PATH, _UNKNOWN = "store", "store-path", "store-unknown"


def first_store() -> str:
    """The store that the lab was started with, as it was named."""
    return os.environ.get(STORE_VARIABLE) or DEFAULT_STORE


def store_now() -> str:
    """The path of the store that this session looks at; outside of a session that of the start."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return first_store()
    return str(st.session_state.get(_PATH) or first_store())


def offered() -> dict[str, Path]:
    """The stores that may be named, by name: the first one, then those changed last."""
    first = Path(first_store()).expanduser().absolute()
    found = {first.stem: first}
    others = {path.resolve(): path for path in _others(first)}
    others.pop(first.resolve(), None)
    for path in sorted(others.values(), key=lambda one: (-_changed(one), one.name))[:MOST]:
        name = path.stem if path.stem not in found else f"{path.parent.name}/{path.stem}"
        found.setdefault(name, path)
    return found


def _others(first: Path) -> Iterator[Path]:
    """What lies beside the first, if the lab is one person's, and what its owner named."""
    places = [] if served() else [first.parent]
    places += [
        Path(part).expanduser().absolute() for part in os.environ.get(STORES_VARIABLE, "").split(os.pathsep) if part
    ]
    for place in places:
        try:
            inside = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
        except OSError:
            continue
        yield from (path for path in inside if path.suffix == SUFFIX and path.is_file())


def _changed(path: Path) -> float:
    """When a store was last written to; what it has not taken in yet lies beside it."""
    times = [0.0]
    for one in (path, path.with_name(f"{path.name}.wal")):
        try:
            times.append(one.stat().st_mtime)
        except OSError:
            continue
    return max(times)


# ---------------------------------------------------------------- the session's choice


def follow_store() -> None:
    """Take the store that the address names, and write the session's into the address."""
    stores = offered()
    first = next(iter(stores))
    asked = st.query_params.get("store")
    if asked is not None and asked != st.session_state.get(_CHOSEN, first):
        if asked in stores:
            _look_at(asked)
        else:
            st.session_state[_UNKNOWN] = asked
    now = st.session_state.get(_CHOSEN, first)
    if now not in stores:  # taken away meanwhile
        st.session_state[_UNKNOWN] = now
        _look_at(first)
        now = first
    if now != first:
        st.query_params["store"] = now
    elif asked is not None:
        del st.query_params["store"]
    if unknown := st.session_state.pop(_UNKNOWN, None):
        st.warning(
            tr(
                "There is no store “{name}” among those of this lab. “{now}” is shown.",
                name=plain(str(unknown)[:80]),
                now=plain(now),
            ),
            icon=":material/link_off:",
        )


def _look_at(name: str) -> None:
    """Let this session look at another store: what it remembered was about the one before."""
    for key in list(st.session_state):
        if key not in KEPT_ACROSS_STORES:
            del st.session_state[key]
    stores = offered()
    st.session_state[_CHOSEN] = name
    if name != next(iter(stores)):
        st.session_state[_PATH] = str(stores[name])


def store_chooser() -> None:
    """In the sidebar: which store this is; behind it the others, and a new one. Opens none itself."""
    stores = offered()
    now = st.session_state.get(_CHOSEN, next(iter(stores)))
    if len(stores) == 1 and served():
        return
    with st.sidebar.popover(
        tr("Store: {name}", name=plain(now)), icon=":material/database:", width="stretch", key=f"stores-of-{now}"
    ):
        st.markdown(
            tr("**Stores**  \n:small[Each has its own data, runs and judges. What a page has not kept yet is let go.]")
        )
        for name, path in stores.items():
            if st.button(
                plain(name),
                key=f"store-open-{name}",
                icon=":material/check:" if name == now else ":material/database:",
                disabled=name == now,
                help=_when(path),
                width="stretch",
                type="tertiary",
            ):
                _go(name)
        if served():
            st.caption(plain(why_missing(tr("Making a store"))))
        else:
            _new(stores)


def _when(path: Path) -> str:
    changed = _changed(path)
    if not changed:
        return tr("Not written yet")
    moment = dated(datetime.fromtimestamp(changed), msg("%d %b %Y, %H:%M"))
    return tr("Last written {moment}", moment=moment)


def _go(name: str) -> None:
    """Home, since the page may be about what the other store does not have."""
    _look_at(name)
    announce(tr("Now in the store “{name}”.", name=plain(name)))
    st.switch_page("pages/home.py", query_params={"store": name})


def _new(stores: dict[str, Path]) -> None:
    with st.form("store-new", border=False, clear_on_submit=False):
        typed = name_input(tr("A new store"), key="store-name", placeholder=tr("Name"), most=60)
        if not st.form_submit_button(tr("Make it"), icon=":material/add:"):
            return
    name = typed.removesuffix(SUFFIX).rstrip(". ")
    if not _NAME.fullmatch(name):
        st.error(
            tr(
                "“{typed}” is no name for a store: letters, digits, blanks, dots and dashes, as my-study.",
                typed=plain(typed),
            )
        )
        return
    path = next(iter(stores.values())).with_name(f"{name}{SUFFIX}")
    if path.exists():
        st.error(tr("There is a store “{name}” already. Open it above, or choose another name.", name=plain(name)))
    else:
        with faults():
            Store(path).close()
            _go(name)
