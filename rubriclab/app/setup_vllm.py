"""Draw the part of Set up that finds a running server on this machine, or starts vLLM."""

import re
from typing import Any

import streamlit as st

from rubriclab.app import setup_vllm_flags, state
from rubriclab.app.forms import ask
from rubriclab.app.frame import faults, fold, safe, verbatim
from rubriclab.judges.client import base_url
from rubriclab.judges.probe import LOCAL, FoundServer, find_servers, models_of
from rubriclab.judges.served import served
from rubriclab.judges.vllm import (
    USUAL_PORTS,
    ServeFlags,
    VllmServer,
    has_graphics_card,
    why_not,
)
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, count, shorten

LAST_LINES = 8
"""How many of a log's last lines are shown at once when the server has ended."""
THIS_MACHINE = re.compile(r"http://127\.0\.0\.1:(\d{1,5})/v1")
"""The address of a server that this lab started, now or before."""


def draw(judge: JudgeSettings) -> dict[str, Any]:
    """Draw the form that finds or starts vLLM, and return the settings.

    Raises LabError until there is a server, and where the lab is served to others.
    """
    if served():
        raise LabError(
            "Finding or starting vLLM is for who sits at the machine: this lab is served to "
            "others. Give the server's address under API or server."
        )
    others = dict(judge.options) if judge.about.vllm else {}
    noted = str(others.pop("serve", ""))
    if "vllm" in state.servers():
        return _started(state.servers()["vllm"], others)
    if stopped := st.session_state.get("setup vllm stopped"):
        st.caption(f"vLLM has stopped. It served {safe(stopped, 100)}.")
    found = _found()
    if found is not None:
        return {**found, "options": others} if found["kind"] == "vllm" else found
    if judge.about.vllm and judge.base_urls and not st.session_state.get("setup vllm form"):
        how = f", started with {safe(noted, 300)}" if noted else ""
        at = safe(", ".join(judge.base_urls), 200)
        st.caption(f"{safe(judge.model, 100)} at {at}{how}.")
        st.button(
            "Start it here again" if noted else "Start vLLM here instead",
            icon=":material/play_arrow:",
            key="judge-start-form",
            on_click=_show_form,
            args=(judge.model, ServeFlags.from_note(noted) if noted else None),
        )
        return {}
    _start(_port_of(judge))
    raise LabError("First find a running server, or start one.")


def _port_of(judge: JudgeSettings) -> int:
    """Return the port to start a server on: the judge's own, so that its runs can go on."""
    for address in judge.base_urls:
        own = THIS_MACHINE.fullmatch(address)
        if own and judge.about.vllm and int(own[1]) < 65_536:
            return int(own[1])
    return USUAL_PORTS[0]


def _show_form(model: str, flags: ServeFlags | None) -> None:
    """Show the form that starts vLLM in place of the servers that are known.

    It starts with this model and these flags, if there are any.
    """
    st.session_state["setup servers"] = None
    st.session_state["setup vllm form"] = True
    if flags is not None:
        setup_vllm_flags.fill(model, flags)
    elif not st.session_state.get("judge-vllm-model"):
        st.session_state["judge-vllm-model"] = model


def _found() -> dict[str, Any] | None:
    """Draw the search for running servers; return the settings of the chosen one, or None."""
    st.markdown("**Use a server that runs**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = st.button("Find running servers", icon=":material/search:", key="judge-find")
        address = ask(
            st.text_input,
            "Also look at this address",
            key="judge-find-address",
            start="",
            placeholder="http://127.0.0.1:8001/v1",
            max_chars=300,
            width=330,
        )
    if look:
        with st.spinner("Looking for servers on this machine …"), faults():
            st.session_state["setup servers"] = find_servers(LOCAL)
            if address:
                st.session_state["setup servers"].insert(0, _at(str(address)))
    servers: list[FoundServer] | None = st.session_state.get("setup servers")
    if servers is None:
        return None
    _say_where_looked(servers)
    if not servers:
        return None
    server = st.selectbox("Server", servers, format_func=_label, key="judge-server")
    model = st.selectbox("Model", list(server.models), key="judge-server-model")
    st.button(
        "Start vLLM instead",
        icon=":material/play_arrow:",
        type="tertiary",
        key="judge-start-form",
        on_click=_show_form,
        args=("", None),
    )
    return {"kind": server.kind, "model": model, "base_urls": (server.base_url,)}


def _label(server: FoundServer) -> str:
    """Return what the list of servers shows of one."""
    return f"{server.program} · {server.base_url}"


def _say_where_looked(servers: list[FoundServer]) -> None:
    """Say at which ports the lab has looked, and what to do if the server is not among them."""
    usual = [f"{url.rsplit(':', 1)[1].removesuffix('/v1')} ({name})" for name, url in LOCAL.items()]
    answers = "no server answers." if not servers else f"{count(len(servers), 'server')} found."
    st.caption(
        f"Looked on this machine at the usual ports, {', '.join(usual)}: {answers} "
        "If yours is elsewhere, give its address and press the button again."
    )


def _at(address: str) -> FoundServer:
    """Return the server at an address that the user gave. Raises LabError if none answers."""
    models = models_of(address)  # says what is wrong, and waits longer
    known = find_servers({"Server": base_url(address)})
    return known[0] if known else FoundServer(base_url(address), tuple(models), "Server")


def _start(port: int) -> None:
    """Draw the form that starts vLLM: the model, and what it is started with.

    port: where it is started, if that is free.
    """
    st.markdown("**Or start vLLM here**")
    on_card = has_graphics_card()
    reason = why_not()
    if reason:
        st.caption(safe(reason, 900))
        if not on_card:
            _small_model_button()
        return
    model = ask(
        st.text_input,
        "Model",
        key="judge-vllm-model",
        start="",
        placeholder="Qwen/Qwen3-8B",
        max_chars=300,
        help="A name from the hub, or a folder on this machine.",
    )
    flags = setup_vllm_flags.draw(str(model or ""))
    with st.container(horizontal=True):
        start = st.button(
            "Start vLLM",
            icon=":material/play_arrow:",
            key="judge-start",
        )
        if not on_card:
            _small_model_button()
    if start:
        with faults():
            _launch(str(model), flags, port)
    if not on_card:
        st.caption(
            "This machine has no graphics card, so vLLM will be slow. The lab's small model is "
            "faster here."
        )


def _small_model_button() -> None:
    """Draw the button that chooses the lab's own model instead."""
    st.button(
        "Use the small model",
        icon=":material/memory:",
        key="judge-small-instead",
        on_click=_use_small_model,
    )


def _use_small_model() -> None:
    st.session_state["judge-here"] = "embedded"


def _launch(model: str, flags: ServeFlags, port: int) -> None:
    """Start vLLM and draw the form again. Raises LabError."""
    state.servers()["vllm"] = VllmServer(model, flags, port=port)
    st.session_state["setup servers"] = None
    st.session_state["setup vllm form"] = True  # when it has ended: its address is of no use then
    st.session_state["setup vllm stopped"] = ""
    st.rerun()


def _started(server: VllmServer, options: dict[str, Any]) -> dict[str, Any]:
    """Draw the server that this lab started, with “Stop”, and return the settings.

    ``options``: of the judge, which are kept. Raises LabError unless the server is ready.
    """
    now = server.state
    st.session_state["setup vllm state"] = now
    if now == "stopped":
        state.servers().pop("vllm", None)
        _show_form(server.model, server.flags)
        st.session_state["setup vllm stopped"] = server.model
        st.rerun()
    if now == "ended":
        _ended(server)
        raise LabError("vLLM has ended. Start it again, or change the model.")
    _watched(server)
    if now == "stopping":
        raise LabError("vLLM is stopping.")
    if st.button("Stop", icon=":material/stop:", key="judge-stop"):
        server.stop_in_background()
        st.rerun()
    _log_fold(server)
    if now == "loading":
        raise LabError("vLLM is loading the model.")
    return {
        "kind": "vllm",
        "model": server.name,
        "base_urls": (server.base_url,),
        "options": {**options, "serve": server.note},
    }


def _ended(server: VllmServer) -> None:
    """Draw why a server has ended, its log's last lines, and what can be done."""
    st.error(safe(server.reason(), 700), icon=":material/error:")
    with st.container(horizontal=True):
        again = st.button("Start again", icon=":material/replay:", key="judge-start-again")
        change = st.button("Change", icon=":material/edit:", key="judge-start-change")
    st.caption("The last lines of its log:")
    verbatim("\n".join(server.log[-LAST_LINES:]) or "It printed nothing.")
    _log_fold(server)
    if again or change:
        state.servers().pop("vllm", None)
        _show_form(server.model, server.flags)
        if change:
            st.rerun()
        with faults():
            _launch(server.model, server.flags, server.port)


@st.fragment(run_every=1.0)
def _watched(server: VllmServer) -> None:
    """Show every second where the server is. The form is drawn again when that changes."""
    now = server.state
    if now != st.session_state.get("setup vllm state"):
        st.rerun()  # a fragment redraws only itself, but the form has to change too
    name = safe(shorten(server.model, 80))
    if now == "stopping":
        st.caption(f"Stopping {name}, up to {server.stop_seconds:.0f} s.")
    elif now == "ready":
        st.success(f"vLLM serves {name} at {safe(server.base_url)}.", icon=":material/check:")
    elif now == "loading":
        st.info(
            f"vLLM is loading {name}: {server.seconds:.0f} s so far. A large model takes minutes; "
            "the first time it is downloaded.",
            icon=":material/hourglass_top:",
        )


def _log_fold(server: VllmServer) -> None:
    """Draw what was started, to copy, and the last lines of its log, in a fold."""

    def shown() -> None:
        st.caption("Started with:")
        verbatim(server.command_line)
        _last_lines(server)

    fold("The command, and what it prints", shown, icon="terminal", key="judge-vllm-log")


@st.fragment(run_every=2.0)
def _last_lines(server: VllmServer) -> None:
    """Draw the last lines of the log, again and again, because the server goes on printing."""
    st.caption("Its last lines, the newest first:")
    verbatim("\n".join(reversed(server.log)) or "It has printed nothing yet.", height=260)
