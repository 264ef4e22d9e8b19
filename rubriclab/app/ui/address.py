"""Choices that are in the page's address, so that a link opens the same view.

A widget's state lives in the session; the address follows it, and a link that is opened sets
it. What the address held last is remembered beside the widget: only an address that somebody
else changed (a link, the back button) overrules what the user chose.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from datetime import date
from typing import TypeVar

import streamlit as st

from rubriclab.app.ui.frame import plain
from rubriclab.app.ui.language import CHOSEN, inside
from rubriclab.model.language import tr

T = TypeVar("T", bound=Hashable)
Code = Callable[[T], str]
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)
"""Days that can be picked: no run is older than the lab, whatever the clock said that it was made by."""


def choose(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    address: str,
    default: T | None = None,
    name: Callable[[T], str] = str,
    code: Code[T] = str,
    about: str = "",
    segments: bool = False,
) -> T:
    """One of ``options``, kept under ``address`` in the page's address as ``code(option)``.

    ``default``: chosen where the address says nothing (None: the first). An option whose code
    is empty is what an address without this part means. ``segments`` lays few options out side
    by side instead of in a list. None cannot be an option: Streamlit shows it as no choice. A link
    that asks for what is not among the options is said.
    """
    first = options[0] if default is None or default not in options else default
    nothing = "" if any(code(option) == "" for option in options) else None
    wanted = st.query_params.get(address, nothing)
    fits = _follow(key, options, first, wanted, code)
    if not fits and wanted != st.session_state.get(_told_by(key, address)):
        _not_on_offer(label, str(wanted), name(first))
    if segments:
        chosen = st.segmented_control(label, options, key=key, format_func=name, required=True, help=about or None)
    else:
        chosen = st.selectbox(label, options, key=key, format_func=name, help=about or None)
    value = first if chosen is None else chosen
    _tell(key, address, code(value))
    return value


def choose_many(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    address: str,
    default: Sequence[T] = (),
    name: Callable[[T], str] = str,
    code: Code[T] = str,
    most: int | None = None,
    about: str = "",
) -> list[T]:
    """Some of ``options``, each kept under ``address`` in the page's address."""
    wanted = st.query_params.get_all(address)
    told = st.session_state.get(f"{key}@told")
    by_code = {code(option): option for option in options}
    if key not in st.session_state or (wanted and wanted != told):
        asked = [by_code[text] for text in wanted if text in by_code][:most]
        st.session_state[key] = asked or [option for option in default if option in options]
    else:
        st.session_state[key] = [o for o in st.session_state[key] if o in options]
    chosen = st.multiselect(
        label,
        options,
        key=key,
        format_func=name,
        max_selections=most,
        help=about or None,
        placeholder=tr("Choose options"),
    )
    _tell(key, address, [code(option) for option in chosen])
    return chosen


def slide(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    address: str,
    default: T | None = None,
    name: Callable[[T], str] = str,
    code: Code[T] = str,
    about: str = "",
) -> T:
    """One of ``options`` in their order, on a slider, kept in the page's address."""
    first = options[0] if default is None or default not in options else default
    _follow(key, options, first, st.query_params.get(address), code)
    value = st.select_slider(label, options, key=key, format_func=name, help=about or None)
    _tell(key, address, code(value))
    return value


def search(label: str, *, key: str, address: str, hint: str = "") -> str:
    """Words to look for, kept in the page's address; empty where nothing is looked for."""
    wanted = st.query_params.get(address, "")
    if key not in st.session_state or wanted != st.session_state.get(f"{key}@told", ""):
        st.session_state[key] = wanted
    typed = st.text_input(label, key=key, placeholder=hint, icon=":material/search:").strip()
    _tell(key, address, typed)
    return typed


def pick_day(label: str, *, key: str, address: str, about: str = "") -> date | None:
    """A day, kept in the page's address as 2026-01-31; None where none is chosen. A link with what is no day is said."""
    wanted = st.query_params.get(address, "")
    if key not in st.session_state or wanted != st.session_state.get(f"{key}@told", ""):
        st.session_state[key] = _day(wanted)
        if wanted and st.session_state[key] is None:
            st.warning(
                tr(
                    "The link asks for “{wanted}”, which is no day; it is written as 2026-01-31. Shown: any day.",
                    wanted=plain(wanted),
                ),
                icon=":material/link_off:",
            )
    picked = st.date_input(
        label, None, key=key, min_value=FIRST_DAY, max_value=LAST_DAY, format="YYYY-MM-DD", help=about or None
    )
    day = picked if isinstance(picked, date) else None
    _tell(key, address, "" if day is None else day.isoformat())
    return day


def _day(text: str) -> date | None:
    """The day that ``text`` names, within those that can be picked; None: it names none."""
    with suppress(ValueError):
        return min(max(date.fromisoformat(text), FIRST_DAY), LAST_DAY)
    return None


def forget_address(*, but: str) -> None:
    """Drop from the address all but one part, the store and the language: what the rest was about is no longer shown."""
    for part in [part for part in st.query_params if part not in (but, "store", CHOSEN)]:
        del st.query_params[part]


def _follow(key: str, options: Sequence[T], first: T, wanted: str | None, code: Code[T]) -> bool:
    """Set the widget to what the address asks for, where that is news; False: not on offer."""
    known = st.session_state.get(key)
    lost = key not in st.session_state or known not in options
    if lost or (wanted is not None and wanted != st.session_state.get(f"{key}@told")):
        asked = [option for option in options if code(option) == wanted]
        if asked:
            st.session_state[key] = asked[0]
        elif lost:
            st.session_state[key] = first
        return bool(asked) or wanted is None
    return True


def _not_on_offer(label: str, wanted: str, shown: str) -> None:
    st.warning(
        tr(
            "The link asks for {label} “{wanted}”, which is not among what can be chosen here. Shown instead: {name}.",
            label=plain(inside(label)),
            wanted=plain(wanted),
            name=plain(shown),
        ),
        icon=":material/link_off:",
    )


def _told_by(key: str, address: str) -> str:
    """Where it is remembered what a page itself wrote under ``address``, whatever the widget."""
    return f"{key.split('-')[0]}@{address}"


def _tell(key: str, address: str, value: str | list[str]) -> None:
    """Write the choice into the address."""
    st.session_state[f"{key}@told"] = value
    st.session_state[_told_by(key, address)] = value
    held = st.query_params.get_all(address)
    if value == "":
        if held:
            del st.query_params[address]
    elif held != ([value] if isinstance(value, str) else value):
        st.query_params[address] = value
