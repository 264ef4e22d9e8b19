"""Draw the part of Set up that finds a running server on this machine, or starts vLLM."""

from typing import Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.forms import ask
from rubriclab.app.frame import faults, fold, safe, verbatim
from rubriclab.judges.client import base_url
from rubriclab.judges.probe import LOCAL, FoundServer, find_servers, models_of
from rubriclab.judges.served import served
from rubriclab.judges.vllm import (
    USUAL_PORT,
    ServeFlags,
    VllmServer,
    has_graphics_card,
    why_not,
)
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, shorten

LENGTHS = {"8192": "8,192 tokens", "32768": "32,768 (thinking judges)", "auto": "all that fits"}
CPU_LENGTHS = {"2048": "2,048 tokens", "8192": "8,192 tokens", "auto": "all that fits"}
"""Without a graphics card memory is the machine's own, and prompts are read slowly."""
DTYPES = ("float32", "bfloat16", "float16")
USUAL_SHARE = 0.9
"""Share of a card's memory that vLLM takes by itself."""
PARSERS = {
    "qwen3": "qwen3",
    "deepseek-r1": "deepseek_r1",
    "deepseek_r1": "deepseek_r1",
    "gpt-oss": "openai_gptoss",
    "magistral": "mistral",
}
"""Part of a model's name -> the parser that takes its thoughts out of its answers."""


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
    noted = others.pop("serve", "")
    if "vllm" in state.servers():
        return _started(state.servers()["vllm"], others)
    found = _found()
    if found is not None:
        return {**found, "options": others} if found["kind"] == "vllm" else found
    if judge.about.vllm and judge.base_urls and not st.session_state.get("setup vllm form"):
        how = f", started with {safe(noted, 300)}" if noted else ""
        at = safe(", ".join(judge.base_urls), 200)
        st.caption(f"{safe(judge.model, 100)} at {at}{how}.")
        st.button(
            "Start vLLM here instead",
            icon=":material/play_arrow:",
            key="judge-start-form",
            on_click=_show_form,
            args=(judge.model,),
        )
        return {}
    _start()
    raise LabError("First find a running server, or start one.")


def _show_form(model: str) -> None:
    """Show the form that starts vLLM in place of the servers that are known, with this model."""
    st.session_state["setup servers"] = None
    st.session_state["setup vllm form"] = True
    if not st.session_state.get("judge-vllm-model"):
        st.session_state["judge-vllm-model"] = model


def _found() -> dict[str, Any] | None:
    """Draw the search for running servers; return the settings of the chosen one, or None."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = st.button("Find running servers", icon=":material/search:", key="judge-find")
        address = ask(
            st.text_input,
            "Or at this address",
            key="judge-find-address",
            start="",
            placeholder="http://127.0.0.1:8001/v1",
            max_chars=300,
            width=330,
        )
    if look:
        with st.spinner("Looking for servers on this machine …"), faults():
            st.session_state["setup servers"] = find_servers()
            if address:
                st.session_state["setup servers"].insert(0, _at(str(address)))
    servers = st.session_state.get("setup servers")
    if servers is None:
        return None
    if not servers:
        ports = ", ".join(url.rsplit(":", 1)[1].removesuffix("/v1") for url in LOCAL.values())
        st.caption(
            f"No server answers on this machine at the usual ports ({ports}). If yours has "
            "another one, give its address."
        )
        return None
    called = lambda server: f"{server.program} · {server.base_url}"  # noqa: E731
    server = st.selectbox("Server", servers, format_func=called, key="judge-server")
    model = st.selectbox("Model", list(server.models), key="judge-server-model")
    st.button(
        "Start vLLM instead",
        icon=":material/play_arrow:",
        type="tertiary",
        key="judge-start-form",
        on_click=_show_form,
        args=("",),
    )
    return {"kind": server.kind, "model": model, "base_urls": (server.base_url,)}


def _at(address: str) -> FoundServer:
    """Return the server at an address that the user gave. Raises LabError if none answers."""
    models = models_of(address)  # says what is wrong, and waits longer
    known = find_servers({"Server": base_url(address)})
    return known[0] if known else FoundServer(base_url(address), tuple(models), "Server")


def _start() -> None:
    """Draw the form that starts vLLM: the model, and what it is started with."""
    model = ask(
        st.text_input,
        "Model",
        key="judge-vllm-model",
        start="",
        placeholder="Qwen/Qwen3-8B",
        max_chars=300,
        help="A name from the hub, or a folder on this machine.",
    )
    flags = _flags(str(model or ""))
    reason = why_not()
    with st.container(horizontal=True):
        start = st.button(
            "Start vLLM",
            icon=":material/play_arrow:",
            disabled=bool(reason) or not model,
            key="judge-start",
        )
        if not has_graphics_card():
            st.button(
                "Use the small model",
                icon=":material/memory:",
                key="judge-small-instead",
                on_click=_use_small_model,
            )
    if start:
        with faults():
            _launch(str(model), flags)
    if reason:
        st.caption(safe(reason, 600))
    elif not has_graphics_card():
        st.caption(
            "This machine has no graphics card, so vLLM will be slow. The lab's small model is "
            "faster here."
        )


def _use_small_model() -> None:
    st.session_state["judge-here"] = "embedded"


def _launch(model: str, flags: ServeFlags) -> None:
    """Start vLLM and draw the form again. Raises LabError."""
    state.servers()["vllm"] = VllmServer(model, flags, port=USUAL_PORT)
    st.session_state["setup servers"] = None
    st.session_state["setup vllm form"] = True  # when it has ended: its address is of no use then
    st.rerun()


def _flags(model: str) -> ServeFlags:
    """Draw what vLLM is started with. Most models need nothing of it."""
    card = has_graphics_card()
    lengths = LENGTHS if card else CPU_LENGTHS
    parser = ""
    for part, name in PARSERS.items():
        if part in model.casefold():
            parser = name
    with st.expander("Context length, memory, cards, and further arguments"):
        left, right = st.columns(2)
        length = ask(
            left.selectbox,
            "Context length",
            list(lengths),
            key="judge-vllm-length",
            start=next(iter(lengths)),
            format_func=lengths.__getitem__,
            help="Tokens of prompt and reply together. A longer one takes more memory.",
        )
        cards = ask(
            right.selectbox,
            "Graphics cards",
            [1, 2, 4, 8],
            key="judge-vllm-cards",
            start=1,
            disabled=not card,
            help="On how many cards the model is spread (tensor parallel).",
        )
        memory = ask(
            left.number_input,
            "Share of the card's memory",
            0.1,
            1.0,
            key="judge-vllm-memory",
            start=USUAL_SHARE,
            step=0.05,
            disabled=not card,
        )
        parsers = ["", *dict.fromkeys(PARSERS.values())]
        thinking = ask(
            right.selectbox,
            "Reasoning parser",
            parsers,
            key=f"judge-vllm-parser-{parser}",
            start=parser,
            format_func=lambda name: name or "none",
            help="Takes a thinking judge's thoughts out of its answer.",
        )
        dtype = ask(
            left.selectbox,
            "Number type",
            ["", *DTYPES],
            key="judge-vllm-dtype",
            start="",
            format_func=lambda name: name or "automatic",
            help="Automatic is the model's own type, and float32 without a graphics card. bfloat16 "
            "gives some labels exactly the same probability. float32 takes twice the memory.",
        )
        quantization = ask(
            right.text_input,
            "Quantisation",
            key="judge-vllm-quantization",
            start="",
            placeholder="read from the model",
            max_chars=40,
        )
        more = ask(
            st.text_input,
            "Further arguments of vllm serve",
            key="judge-vllm-more",
            start="",
            placeholder="--seed 1",
            max_chars=500,
        )
    return ServeFlags(
        context_length=str(length),
        dtype=str(dtype or ""),
        memory=float(memory) if card and memory and memory != USUAL_SHARE else None,
        cards=int(cards or 1) if card else 1,
        quantization=str(quantization or ""),
        reasoning_parser=str(thinking or ""),
        more=str(more or ""),
    )


def _started(server: VllmServer, options: dict[str, Any]) -> dict[str, Any]:
    """Draw the server that this lab started, with “Stop”, and return the settings.

    ``options``: of the judge, which are kept. Raises LabError while the model loads, and if the
    server ended by itself, with the reason.
    """
    _watched(server)
    if server.failed and not server.stopping:
        st.error(safe(server.reason(), 500), icon=":material/error:")
        with st.container(horizontal=True):
            again = st.button("Start again", icon=":material/replay:", key="judge-start-again")
            change = st.button("Change", icon=":material/edit:", key="judge-start-change")
        _log_fold(server)
        if again or change:
            state.servers().pop("vllm", None)
            st.session_state["judge-vllm-model"] = server.model
            if again:
                with faults():
                    _launch(server.model, server.flags)
            st.rerun()
        raise LabError("vLLM has ended. Start it again, or change the model.")
    if server.stopping:
        if server.failed:
            state.servers().pop("vllm", None)
            st.rerun()
        raise LabError("vLLM is stopping.")
    if st.button("Stop", icon=":material/stop:", key="judge-stop"):
        server.stop_in_background()
        st.rerun()
    _log_fold(server)
    if not server.ready:
        raise LabError("vLLM is loading the model.")
    return {
        "kind": "vllm",
        "model": server.name,
        "base_urls": (server.base_url,),
        "options": {**options, "serve": server.note},
    }


@st.fragment(run_every=1.0)
def _watched(server: VllmServer) -> None:
    """Show every second where the server is. The form is drawn again when that changes."""
    before = st.session_state.get("setup vllm ready")
    now = (server.ready, server.failed, server.stopping)
    st.session_state["setup vllm ready"] = now
    if before not in (None, now):
        st.rerun()  # a fragment redraws only itself, but the form has to change too
    name = safe(shorten(server.model, 80))
    if server.stopping:
        st.caption(f"Stopping {name}, up to {server.stop_seconds:.0f} s.")
    elif server.ready:
        st.success(f"vLLM serves {name}.", icon=":material/check:")
    elif not server.failed:
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
        st.caption("Its last lines, the newest first:")
        verbatim("\n".join(reversed(server.log)) or "…", height=260)

    fold("The command, and what it prints", shown, icon="terminal", key="judge-vllm-log")
