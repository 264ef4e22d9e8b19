"""The form of a judge behind a server: where it is, which model, which key, how it is asked."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.judge_fields import json_object, key_field, name_field
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.addresses import base_url, read_key, with_scheme
from rubriclab.judges.servers import Preset, providers
from rubriclab.judges.serving import served
from rubriclab.judges.vllm import get_json, models_of
from rubriclab.model import Judge, Sampling
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many

EFFORTS = ["", "minimal", "low", "medium", "high"]


def served_form(kind: str, judge: Judge | None, tag: str) -> dict[str, Any]:
    """Any server of the OpenAI protocol: where it is, which model, which key."""
    local = "" if served() else "http://127.0.0.1:8000/v1"
    preset = _provider(tag) if kind == "openai" and judge is None else None
    if preset:
        tag = f"{tag}-{preset.name}"  # fields of its own, filled in
    urls = st.text_area(
        tr("Base URL") if kind == "openai" else tr("Base URL of the running server"),
        "\n".join(judge.base_urls) if judge else preset.base_url if preset else JUDGE_KINDS[kind].address or local,
        key=f"{tag}-urls",
        height=68,
        placeholder="https://gpu.example.org/v1",
        help=tr("Most end in /v1. Several servers of one model: one a line; calls are spread over them."),
    )
    addresses = [with_scheme(line) for line in urls.splitlines() if line.strip()]
    key_env = key_field(
        judge,
        tag,
        first=preset.key_env if preset else "",
        placeholder="OPENAI_API_KEY" if kind == "openai" else msg("none needed"),
    )
    ca_file = "" if served() else _ca_file(judge, tag)
    model = _model(judge, tag, addresses, key_env, ca_file)
    value: dict[str, Any] = {"kind": kind, "model": model, "base_urls": addresses}
    value |= {"key_env": key_env, "ca_file": ca_file}
    value["name"] = name_field(judge, tag, model)
    with st.expander(tr("How it is asked: temperature, length, reasoning, extra fields")):
        value |= _sampling(judge.sampling if judge else Sampling(), tag)
    with st.expander(tr("Pace and prices")):
        value |= _pace(kind, judge, tag)
    return value


def _ca_file(judge: Judge | None, tag: str) -> str:
    return st.text_input(
        tr("Certificates to trust"),
        (judge.ca_file or "") if judge else "",
        key=f"{tag}-ca",
        placeholder=tr("none beside the system's"),
        help=tr(
            "Path of a PEM file, for an https:// server whose certificate is self-signed or from an "
            "authority of your own."
        ),
    ).strip()


def _provider(tag: str) -> Preset | None:
    """One of the large providers, whose address and key's variable are filled in; no call is made."""
    known = {preset.name: preset for preset in providers()}
    name = st.selectbox(
        tr("Provider"),
        list(known),
        index=None,
        key=f"{tag}-provider",
        placeholder=tr("fill in a provider's address and key variable, or give your own below"),
    )
    return known[name] if name else None


def _model(judge: Judge | None, tag: str, addresses: list[str], key_env: str, ca_file: str) -> str:
    """A name typed, or one of those the server lists when asked."""
    held = judge.model if judge else None
    listed: tuple[str, ...] = ()
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with right:
        asked = st.button(
            tr("List models"),
            key=f"{tag}-list",
            width="stretch",
            disabled=not addresses,
            help=tr("Asks the server which models it has."),
        )
    if asked:
        st.session_state[f"{tag}-listed"] = [addresses[0], key_env]
    if addresses and st.session_state.get(f"{tag}-listed") == [addresses[0], key_env]:
        with ui.faults():
            listed = _models(addresses[0], key_env, ca_file)
            st.caption(
                tr("{models} listed.", models=many(len(listed), "model")) if listed else tr("It lists no models.")
            )
    names = list(dict.fromkeys([*([held] if held else []), *listed]))
    with left:
        chosen = st.selectbox(
            tr("Model"),
            names,
            index=0 if names else None,
            accept_new_options=True,
            key=f"{tag}-model-{len(names)}",
            placeholder=tr("Type a name, or list the server's models"),
        )
    return (chosen or "").strip()


@st.cache_data(ttl=60, show_spinner=ui.Awaited(msg("Asking for the models …")), max_entries=8)
def _models(url: str, key_env: str, ca_file: str) -> tuple[str, ...]:
    probe = Judge(name="", kind="openai", model="", base_urls=(url,), key_env=key_env or None)
    listed = get_json(f"{base_url(url)}/models", key=read_key(probe, ui.secrets()), ca_file=ca_file or None)
    return tuple(model.name for model in models_of(listed))


_Number = int | float
_NUMBERS: tuple[tuple[str, str, _Number, _Number, _Number, str, str | None], ...] = (
    (
        "temperature",
        msg("Temperature"),
        0.0,
        2.0,
        0.1,
        msg("the server's"),
        msg("Empty: not sent; some reasoning models refuse it."),
    ),
    ("max_tokens", msg("Max tokens"), 1, 1_000_000, 1, msg("16 for a score, 1,024 with feedback"), None),
    ("top_p", msg("Top p"), 0.0, 1.0, 0.05, msg("the server's"), None),
)
"""Field of Sampling, label, least, most, step, what an empty field says, help."""


def _sampling(sampling: Sampling, tag: str) -> dict[str, Any]:
    left, right = st.columns(2)
    made: dict[str, Any] = {}
    for place, (name, label, least, most, step, none, about) in zip((left, right, left), _NUMBERS, strict=True):
        key, start = f"{tag}-{name.removeprefix('max_').replace('_', '-')}", getattr(sampling, name)
        made[name] = place.number_input(
            tr(label), least, most, start, step=step, key=key, placeholder=tr(none), help=tr(about) if about else None
        )
    held = sampling.reasoning_effort or ""
    efforts = EFFORTS if held in EFFORTS else [*EFFORTS, held]
    effort = right.selectbox(
        tr("Reasoning effort"),
        efforts,
        efforts.index(held),
        key=f"{tag}-effort",
        accept_new_options=True,
        format_func=lambda effort: effort or tr("not sent"),
    )
    extra = st.text_area(
        tr("Extra fields of the request, as JSON"),
        json.dumps(dict(sampling.extra)) if sampling.extra else "",
        key=f"{tag}-extra",
        height=68,
        placeholder='{"chat_template_kwargs": {"enable_thinking": false}}',
    )
    made["temperature"] = "default" if made["temperature"] is None else made["temperature"]
    return made | {"reasoning_effort": effort or None, "extra": json_object(extra, tr("Extra fields"))}


def _pace(kind: str, judge: Judge | None, tag: str) -> dict[str, Any]:
    fields: tuple[tuple[str, str, str], ...] = (
        ("concurrency", tr("Calls at once, at most"), f"{JUDGE_KINDS[kind].concurrency}"),
        ("timeout", tr("Seconds to wait for an answer"), "120"),
        ("rpm", tr("Calls a minute"), tr("no limit")),
        ("tpm", tr("Tokens a minute"), tr("no limit")),
        ("price_input", tr("Price of a million input tokens"), tr("unknown")),
        ("price_output", tr("Price of a million output tokens"), tr("unknown")),
    )
    value: dict[str, Any] = {}
    places = st.columns(2)
    for i, (name, label, none) in enumerate(fields):
        held = getattr(judge, name) if judge else None
        whole = name in ("concurrency", "rpm", "tpm")
        value[name] = places[i % 2].number_input(
            label, 1 if whole else 0.0, None, held, step=1 if whole else None, key=f"{tag}-{name}", placeholder=none
        )
    return value
