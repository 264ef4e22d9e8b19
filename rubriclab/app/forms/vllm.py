"""The Judges page's vLLM part: look at a running server, or start one here and watch it."""

from __future__ import annotations

import shlex

import streamlit as st

from rubriclab.app import ui
from rubriclab.judges.serving import served, why_missing
from rubriclab.judges.vllm import (
    DEFAULT_ARGUMENTS,
    VllmMetrics,
    VllmServer,
    attach,
    read_metrics,
    serve_command,
    vllm_path,
)
from rubriclab.model import LabError
from rubriclab.model.language import figure, tr
from rubriclab.model.wording import number

SHOWN_PORT = 8000
"""In the command that is shown before the start; the real port is a free one."""


def look() -> None:
    """A running server by its address: models, version, live figures."""
    local = "" if served() else "http://127.0.0.1:8000/v1"
    url = st.text_input(
        tr("Look at a running server"), local, key="vllm-look-url", placeholder="https://gpu.example.org/v1"
    )
    watched = st.session_state.get("vllm-watched") == url
    if st.button(tr("Stop watching") if watched else tr("Watch"), key="vllm-watch", icon=":material/monitoring:"):
        st.session_state["vllm-watched"] = None if watched else url
        st.rerun()
    if not watched:
        return
    with ui.faults():
        found = attach(url)
        models = ", ".join(
            tr("{name} ({most:,} tokens)", name=model.name, most=model.max_length) if model.max_length else model.name
            for model in found.models[:6]
        )
        st.markdown(ui.plain(f"vLLM {found.version or tr('(version unknown)')} · {models}"))
        for warning in found.warnings:
            st.warning(ui.plain(warning), icon=":material/warning:")
        st.fragment(_live, run_every=2.0)(url)


def _live(url: str) -> None:
    try:
        show_metrics(read_metrics(url))
    except LabError as fault:
        st.warning(ui.plain(str(fault)), icon=":material/warning:")


def show_metrics(now: VllmMetrics) -> None:
    """A server's queue and caches at this moment."""
    first, second, third, fourth = st.columns(4)
    first.metric(tr("Running"), figure(now.running, ","))
    second.metric(tr("Waiting"), figure(now.waiting, ","))
    third.metric(tr("Prefix cache hits"), number(now.hit_rate, ".0%"), help=tr("Of the prompt tokens since its start."))
    fourth.metric(tr("Cache in use"), number(now.cache_use, ".0%"), help=tr("Of the key-value cache."))


@st.cache_resource
def _servers() -> dict[str, VllmServer]:
    """The servers this process has started, by address; they end with it."""
    return {}


def start_here() -> None:
    """``vllm serve`` as a child of the lab: the command, the state, the log."""
    if served():
        st.info(why_missing(tr("Starting vLLM here")), icon=":material/lock:")
        return
    for url, server in list(_servers().items()):
        _started(url, server)
    if vllm_path() is None:
        st.info(
            tr(
                "There is no `vllm` command on this machine's PATH. Start it on a machine with a GPU and give "
                "its address above, or install it here: `pip install 'rubriclab[vllm]'`."
            ),
            icon=":material/info:",
        )
        return
    model = st.text_input(
        tr("Model to serve"),
        key="vllm-model",
        placeholder="Qwen/Qwen3-8B",
        help=tr("A name from the hub, or a folder."),
    ).strip()
    text = st.text_input(tr("Arguments"), shlex.join(DEFAULT_ARGUMENTS), key="vllm-arguments")
    if not model:
        return
    with ui.faults():
        try:
            arguments = shlex.split(text)
        except ValueError as error:
            raise LabError(tr("Arguments: {error}. Close the quote.", error=error)) from error
        ui.verbatim(
            shlex.join(serve_command(model, port=SHOWN_PORT, arguments=arguments)),
            label=tr("What will be run (on a free port)"),
        )
        if st.button(tr("Start"), type="primary", key="vllm-start", icon=":material/play_arrow:"):
            server = VllmServer.start(model, arguments=arguments)
            _servers()[server.base_url] = server
            st.rerun()


def _started(url: str, server: VllmServer) -> None:
    with st.container(border=True):
        st.markdown(tr("**{model}** at {url}", model=ui.plain(server.model), url=ui.plain(url)))
        st.fragment(_state, run_every=2.0 if server.exit_code is None else None)(server)
        ended = server.exit_code is not None
        label = tr("Remove from this list") if ended else tr("Stop this server")
        if st.button(label, key=f"vllm-stop-{url}", icon=":material/stop:"):
            with st.spinner(tr("Waiting for its end …")):
                server.stop()
            _servers().pop(url, None)
            st.rerun()


def _state(server: VllmServer) -> None:
    state = server.state
    color = {"starting": "orange", "ready": "green", "ended": "gray"}[state]
    said = {"starting": tr("starting"), "ready": tr("ready"), "ended": tr("ended")}[state]
    code = tr(" with code {code}", code=server.exit_code) if state == "ended" else ""
    st.markdown(f":{color}-badge[{said}{code}]")
    if state == "ready":
        _live(server.base_url)
    with st.expander(tr("Command and log")):
        ui.verbatim(server.shown)
        ui.verbatim(server.log_tail(30) or tr("(nothing yet)"), label=tr("The log's end"))
