"""What the forms of judges share: a name, a key's variable, an object as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from rubriclab.app import ui
from rubriclab.judges.keys import check_key_name
from rubriclab.model import Judge, LabError
from rubriclab.model.language import msg, tr

_KEY_START = re.compile(r"(sk|pk|gsk|hf|xai|ghp|nvapi|AIza)[-_]?[A-Za-z0-9]", re.I)


def name_field(judge: Judge | None, tag: str, first: str) -> str:
    typed = ui.name_input(
        tr("Name"),
        judge.name if judge else "",
        key=f"{tag}-name",
        most=60,
        placeholder=first or tr("a name of your own"),
        help=tr("How it is called in studies and results."),
    )
    return typed or (judge.name if judge else first)


def key_field(judge: Judge | None, tag: str, *, first: str = "", placeholder: str = msg("none needed")) -> str:
    """The variable that holds the key. Raises LabError for a key, and for a variable of another kind."""
    key_env = st.text_input(
        tr("Environment variable that holds the key"),
        (judge.key_env or "") if judge else first,
        key=f"{tag}-key",
        placeholder=tr(placeholder),
        help=tr(
            "The variable's name, never the key: one that ends in _API_KEY, or that RUBRICLAB_KEYS names. It "
            "may also stand in .streamlit/secrets.toml."
        ),
    ).strip()
    refuse_key(key_env)
    if key_env:
        check_key_name(key_env, (judge.name if judge else "") or tr("this judge"))
    return key_env


def refuse_key(text: str) -> None:
    """Raises LabError where what was typed looks like a key; the text is not repeated."""
    random_looking = len(text) >= 20 and re.search(r"\d", text) and re.search(r"[a-z]", text)
    if not text or re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", text):
        return
    if random_looking or _KEY_START.match(text) or not re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII):
        raise LabError(
            tr(
                "That looks like a key, not like the name of a variable. The lab keeps no keys: put it into an "
                "environment variable (export MY_API_KEY=…) before the lab starts, and give that name here. "
                "Clear the field now."
            )
        )


def json_object(text: str, what: str) -> Mapping[str, Any]:
    """An object from JSON text; empty for none. Raises LabError naming the place of a fault."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise LabError(
            tr(
                "{what}: not JSON at line {line}, column {column} ({fault}).",
                what=what,
                line=error.lineno,
                column=error.colno,
                fault=error.msg,
            )
        ) from error
    if not isinstance(value, dict):
        raise LabError(tr('{what}: expected an object, as {{"name": value}}.', what=what))
    return value
