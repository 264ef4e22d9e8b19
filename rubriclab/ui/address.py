"""Choices that are in the page's address, so that a link opens the same view.

A widget's state lives in the session; the address follows it, and a link that is opened sets
it. What the address held last is remembered beside the widget: only an address that somebody
else changed (a link, the back button) overrules what the user chose.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import streamlit as st

T = TypeVar("T", bound=Hashable)
Code = Callable[[T], str]


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

    ``default``: chosen where the address says nothing (None: the first). ``segments`` lays few
    options out side by side instead of in a list.
    """
    first = options[0] if default is None or default not in options else default
    _follow(key, options, first, st.query_params.get(address), code)
    if segments:
        chosen = st.segmented_control(label, options, key=key, format_func=name, required=True,
                                      help=about or None)  # fmt: skip
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
        asked = [by_code[text] for text in wanted if text in by_code]
        st.session_state[key] = asked or [option for option in default if option in options]
    else:
        st.session_state[key] = [o for o in st.session_state[key] if o in options]
    chosen = st.multiselect(label, options, key=key, format_func=name, max_selections=most,
                            help=about or None)  # fmt: skip
    _tell(key, address, [code(option) for option in chosen])
    return chosen


def forget_address(*, but: str) -> None:
    """Drop from the address all but one part: what the rest was about is no longer shown."""
    for part in [part for part in st.query_params if part != but]:
        del st.query_params[part]


def _follow(key: str, options: Sequence[T], first: T, wanted: str | None, code: Code[T]) -> None:
    """Set the widget to what the address asks for, where that is news and is on offer."""
    known = st.session_state.get(key)
    lost = key not in st.session_state or known not in options
    if lost or (wanted is not None and wanted != st.session_state.get(f"{key}@told")):
        asked = next((o for o in options if code(o) == wanted), None)
        if asked is not None:
            st.session_state[key] = asked
        elif lost:
            st.session_state[key] = first


def _tell(key: str, address: str, value: str | list[str]) -> None:
    """Write the choice into the address."""
    st.session_state[f"{key}@told"] = value
    held = st.query_params.get_all(address)
    if held != ([value] if isinstance(value, str) else value):
        st.query_params[address] = value
