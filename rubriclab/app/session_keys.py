"""Hold the keys that were pasted in this visit, in memory alone.

A pasted key has a name of its own instead of a variable's, made from the address that it is for, so
it can never be sent to another one. Runs take the keys along and let go of them when they end. No
key is in a draft, a store, a log, or a widget: the field is emptied when its text has arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from rubriclab.judges.keys import valid_key
from rubriclab.model.consent import (
    Consent,
    Consents,
    destination,
    is_pasted,
    pasted_name,
    sent_by,
)
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError

HELP = (
    "For this visit only. The key is kept in memory, goes only to the address that you agree to, "
    "and is never written down."
)
STAYS = (
    "The key stays in memory until you close this tab; it is never stored. After a reload, paste "
    "it again."
)

NO_KEY = (
    "This is not a key: it is empty, or contains spaces, line breaks or non-ASCII characters. "
    "Copy it again."
)


@dataclass
class SessionKeys:
    """The keys of one visit, by name, and where the visitor agreed to send them."""

    keys: dict[str, str] = field(default_factory=dict, repr=False)
    agreed: set[Consent] = field(default_factory=set)
    refused: str = ""

    @property
    def consents(self) -> Consents:
        return frozenset(self.agreed)


def session_keys() -> SessionKeys:
    """Return the keys of this visit."""
    if "frame keys" not in st.session_state:
        st.session_state["frame keys"] = SessionKeys()
    held: SessionKeys = st.session_state["frame keys"]
    return held


def paste_field(address: str, ca_file: str | None, *, key: str) -> str | None:
    """Draw the field for a key of this address; return the key's name if there is one.

    ``key``: the beginning of the widget's key.
    """
    held = session_keys()
    try:
        name = pasted_name(destination(address, ca_file))
    except LabError:  # the address is refused where it is used, with its reason
        st.text_input("Paste a key for this session", disabled=True, key=f"{key}-none", help=HELP)
        return None
    widget = f"{key}-{name}"
    known = name in held.keys
    st.text_input(
        "Paste a key for this session",
        type="password",
        key=widget,
        max_chars=4_000,
        placeholder="•" * 16 if known else None,
        autocomplete="off",
        help=HELP,
        on_change=_take,
        args=(name, widget),
    )
    if held.refused:
        st.caption(f":orange[{held.refused}]")
    if known:
        st.button(
            "Forget",
            icon=":material/key_off:",
            type="tertiary",
            key=f"{key}-forget",
            on_click=_forget,
            args=(name,),
        )
    return name if known else None


def _emptied(field_key: str) -> str:
    """Return what was typed into a field, and empty the field. For callbacks."""
    typed = str(st.session_state[field_key]).strip()
    st.session_state[field_key] = ""
    return typed


def _take(name: str, widget: str) -> None:
    """Take a pasted key out of its field. This is a callback."""
    held, typed = session_keys(), _emptied(widget)
    held.refused = "" if not typed or valid_key(typed) else NO_KEY
    if not typed or held.refused:
        return
    held.keys[name] = typed
    st.session_state.pop("setup offers", None)  # the server is asked for its models with this key


def _forget(name: str) -> None:
    """Let go of a key. This is a callback."""
    held = session_keys()
    held.keys.pop(name, None)
    held.agreed = {consent for consent in held.agreed if consent.variable != name}
    held.refused = ""


def missing_keys(judges: Iterable[JudgeSettings]) -> list[JudgeSettings]:
    """Return the judges whose key was pasted in a visit that is over."""
    held = session_keys()
    return [
        judge for judge in judges if is_pasted(judge.key_env) and judge.key_env not in held.keys
    ]


def keys_to_go_on(judges: Iterable[JudgeSettings], *, key: str) -> SessionKeys | None:
    """Draw a field for each key that these judges need; return the keys once they are confirmed.

    The addresses are next to the button, so pressing it agrees to them, for this run alone.
    ``key``: the beginning of the widgets' keys.
    """
    wanted: dict[str, list[Consent]] = {}
    for judge in judges:
        for consent in sent_by(judge):
            wanted.setdefault(consent.variable, []).append(consent)
    fields = {name: f"{key}-{name}" for name in wanted}
    for name, consents in wanted.items():
        addresses = ", ".join(dict.fromkeys(consent.address for consent in consents))
        label = "Key" if is_pasted(name) else f"Key instead of the one in {name}"
        st.text_input(
            label, type="password", key=fields[name], max_chars=4_000, autocomplete="off", help=HELP
        )
        st.code(f"Sent only to {addresses}", language=None, wrap_lines=True)
    st.button(
        "Continue with this key" if len(wanted) == 1 else "Continue with these keys",
        icon=":material/play_arrow:",
        type="primary",
        key=f"{key}-go",
        on_click=_take_for_run,
        args=(wanted, fields, key),
    )
    confirmed: SessionKeys | None = st.session_state.pop(f"{key}-confirmed", None)
    if confirmed is not None and confirmed.refused:
        st.caption(f":orange[{confirmed.refused}]")
        return None
    return confirmed


def _take_for_run(
    wanted: Mapping[str, Sequence[Consent]], fields: Mapping[str, str], key: str
) -> None:
    """Take pasted keys out of their fields, for one run. This is a callback."""
    pasted = SessionKeys()
    for name, field_key in fields.items():
        typed = _emptied(field_key)
        if not valid_key(typed):
            pasted.refused = NO_KEY
            continue
        pasted.keys[name] = typed
        pasted.agreed |= set(wanted[name])
    st.session_state[f"{key}-confirmed"] = pasted
