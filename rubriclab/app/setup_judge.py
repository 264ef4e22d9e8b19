"""Step 3 of Set up: where the judge runs and how it is asked in; one or several judges' settings out."""

from __future__ import annotations

from typing import Any

import streamlit as st
from pydantic import ValidationError

from rubriclab.app import state
from rubriclab.app.draft import draft
from rubriclab.app.forms import preset, segments
from rubriclab.app.frame import faults, safe, verbatim
from rubriclab.judges.keys import read_key
from rubriclab.judges.probe import JudgeReport, find_servers, models_of, test_judge
from rubriclab.judges.served import served
from rubriclab.judges.simulated import read_effects
from rubriclab.judges.vllm import VllmServer, why_not
from rubriclab.judges.weights import CATALOGUE
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import problems
from rubriclab.model.text import LabError, shorten

WHERE = {"machine": "On this machine", "api": "API or server", "simulated": "Simulated"}
HERE = {"embedded": "The lab's small model", "vllm": "vLLM"}
PROVIDERS = {
    "OpenAI-compatible server": ("http://localhost:8000/v1", ""),
    "OpenAI": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "OpenRouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "Ollama": ("http://localhost:11434/v1", ""),
}
EFFORTS = ["", "none", "minimal", "low", "medium", "high"]


def summary() -> str:
    """What the closed step says."""
    held = draft()
    if 3 in held.problems:
        return held.problems[3]
    where = {"embedded": "on this machine", "vllm": "vLLM", "openai": "API or server", "simulated": "simulated"}
    if len(held.judges) == 1:
        return f"{shorten(held.judges[0].name, 50)} · {where[held.judges[0].kind]}"
    return ", ".join(shorten(judge.name, 30) for judge in held.judges)


def body() -> None:
    """The open step: the judges that were added, then the form of one more."""
    held = draft()
    held.problems.pop(3, None)
    kept: list[JudgeSettings] = st.session_state.setdefault("setup judges", [])
    for number, judge in enumerate(kept):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{safe(judge.name, 60)}** :gray[{safe(judge.model, 60)}]", width="stretch")
            st.button("Remove", key=f"judge-remove-{number}", type="tertiary", on_click=_remove, args=(number,))
    tested: JudgeReport | None = None
    form = not kept or st.session_state.get("setup another", False)
    judges = list(kept)
    if form:
        try:
            judge = _form({other.name for other in kept})
        except LabError as fault:
            held.problems[3] = str(fault)
            st.markdown(f":orange[{safe(str(fault))}]")
        else:
            judges.append(judge)
    if judges:
        held.judges = tuple(judges)
    fine = 3 not in held.problems
    with st.container(horizontal=True):
        if form and fine:
            tested = _tested(judges[-1])
        st.button(
            "Add another judge",
            icon=":material/add:",
            type="tertiary",
            disabled=not fine,
            on_click=_add,
            args=(judges,),
        )
        if form and kept:
            st.button("Leave this one out", type="tertiary", on_click=_leave_out)
    if tested is not None:
        _report(tested)


def fill(judges: tuple[JudgeSettings, ...]) -> None:
    """Put the judges of a study file in place of what was chosen."""
    st.session_state["setup judges"], st.session_state["setup another"] = list(judges), False
    draft().judges = judges


def _add(judges: list[JudgeSettings]) -> None:
    st.session_state["setup judges"], st.session_state["setup another"] = judges, True
    taken = {judge.model for judge in judges}
    st.session_state["judge-embedded"] = next((name for name in CATALOGUE if name not in taken), "smollm2-135m")
    st.session_state["judge-name"] = ""


def _remove(number: int) -> None:
    kept = st.session_state["setup judges"]
    st.session_state["setup judges"] = kept[:number] + kept[number + 1 :]
    st.session_state["setup another"] = st.session_state.get("setup another", False) and len(kept) > 1


def _leave_out() -> None:
    st.session_state["setup another"] = False


def _form(names: set[str]) -> JudgeSettings:
    """The fields of one judge. Raises LabError for settings that cannot be."""
    kind = segments("Where does the judge run?", WHERE, key="judge-where")
    if kind == "machine":
        kind = segments("Which model?", HERE, key="judge-here")
    draw = {"embedded": _embedded, "vllm": _vllm, "api": _server, "simulated": _simulated}[kind]
    try:
        values = draw()
        values = _fold(values["model"] or "judge", names) | values
        if not values["model"]:
            raise LabError("First choose the judge's model in step 3.")
        return JudgeSettings(**values)
    except ValidationError as fault:
        raise LabError(problems(fault)) from None


def _embedded() -> dict[str, Any]:
    model = st.selectbox(
        "Model", list(CATALOGUE), key="judge-embedded", persist_state="session",
        help="No key, no server, no graphics card.",
    )  # fmt: skip
    weights = CATALOGUE[model]
    ready = "It is on this machine already." if weights.present() else "It is downloaded once, on the first call."
    st.caption(f"{safe(weights.about)} {ready}")
    return {"kind": "embedded", "model": model, "concurrency": 1}


def _server() -> dict[str, Any]:
    left, right = st.columns(2)
    left.selectbox(
        "Provider", list(PROVIDERS), key="judge-provider", on_change=_provider_chosen, persist_state="session"
    )
    address = right.text_input(
        "Base URL", key=preset("judge-url", PROVIDERS["OpenAI-compatible server"][0]), max_chars=500,
        persist_state="session",
    )  # fmt: skip
    left, right = st.columns(2)
    variable = right.text_input(
        "Environment variable with the key (optional)", key=preset("judge-key", ""), max_chars=100,
        placeholder="OPENAI_API_KEY", persist_state="session",
        help="The variable's name, never the key itself. It is read where the lab runs.",
    )  # fmt: skip
    # Raises where the variable is not set, or is not meant for judges.
    read_key(JudgeSettings(name="this judge", key_env=variable or None))
    known, why = _models(address, variable) if address.startswith(("http://", "https://")) else ([], "")
    model = left.selectbox(
        "Model", known, index=0 if len(known) == 1 else None, key="judge-model", accept_new_options=True,
        placeholder="Choose or type a model", persist_state="session",
        help="Read from the server." if known else "The server named no models; type the name.",
    )  # fmt: skip
    if why:
        st.caption(safe(why, 300))
    return {"kind": "openai", "model": model or "", "base_urls": (address,), "key_env": variable or None}


def _provider_chosen() -> None:
    address, variable = PROVIDERS[st.session_state["judge-provider"]]
    st.session_state["judge-url"], st.session_state["judge-key"] = address, variable


@st.cache_data(ttl=60, max_entries=20, show_spinner="Asking the server for its models …")
def _models(address: str, variable: str) -> tuple[list[str], str]:
    """The models that a server names, and why there are none."""
    try:
        return models_of(address, key_env=variable or None), ""
    except LabError as fault:
        return [], str(fault)


def _vllm() -> dict[str, Any]:
    """vLLM: found where it runs, or started here."""
    if served():
        raise LabError(
            "Finding or starting vLLM is for whoever sits at the machine: this lab is served to others. Give the "
            "server's address under API or server."
        )
    if st.button("Find running servers", icon=":material/search:", key="judge-find"):
        with st.spinner("Looking for servers on this machine …"):
            st.session_state["setup servers"] = find_servers()
    servers = st.session_state.get("setup servers")
    if "vllm" in state.servers():
        return _started(state.servers()["vllm"])
    if servers:
        server = st.selectbox(
            "Server", servers, format_func=lambda server: f"{server.program} · {server.base_url}", key="judge-server"
        )
        model = st.selectbox("Model", list(server.models), key="judge-server-model")
        return {"kind": server.kind, "model": model, "base_urls": (server.base_url,)}
    if servers is not None:
        st.caption("No server answers on this machine.")
    model = st.text_input(
        "Model", key=preset("judge-vllm-model", ""), placeholder="Qwen/Qwen3-8B", max_chars=300, persist_state="session"
    )
    reason = why_not()
    if st.button("Start vLLM", icon=":material/play_arrow:", disabled=bool(reason) or not model, key="judge-start"):
        with faults():
            state.servers()["vllm"] = VllmServer.start(model)
            st.rerun()
    if reason:
        st.caption(safe(reason))
    raise LabError("First find a running server, or start one." if reason else "First start vLLM, or find a server.")


def _started(server: VllmServer) -> dict[str, Any]:
    """The server that this lab started: its last log lines while it loads, and ``Stop``."""
    _log(server)
    if st.button("Stop", icon=":material/stop:", key="judge-stop"):
        state.servers().pop("vllm").stop()
        st.rerun()
    if not server.ready:
        raise LabError("vLLM is loading the model.")
    return {"kind": "vllm", "model": server.model, "base_urls": (server.base_url,)}


@st.fragment(run_every=1.0)
def _log(server: VllmServer) -> None:
    before = st.session_state.get("setup vllm ready")
    now = (server.ready, server.failed)
    st.session_state["setup vllm ready"] = now
    if before is not None and before != now:
        st.rerun()  # the form behind it has to follow
    if server.ready:
        st.success(f"vLLM serves {safe(server.model, 80)}.", icon=":material/check:")
        return
    st.caption(
        "vLLM ended before it was ready. Its last lines:" if server.failed else "vLLM is loading. Its last lines:"
    )
    verbatim("\n".join(server.log[-12:]) or "…", height=220)


PLANTED = {
    "first": ("Lean to the first option", 1.0, "Log-odds that the option listed first gets on top."),
    "line": ("Ascending against descending", 0.0, "Points that a list from low to high adds to the score."),
    "criteria_first": ("First criterion", 0.0, "Points that the criterion listed first gets on top."),
    "quality": ("Spread of quality", 1.0, "How far the answers' right scores lie apart, in steps of the scale."),
    "noise": ("Noise", 1.0, "Divides all log-odds; 0 always picks the likeliest."),
    "latency": ("Seconds an answer takes", 0.0, "To watch a run go on."),
}


def _simulated() -> dict[str, Any]:
    st.caption("No model: answers are made up with the effects that you plant. Every result of it is labelled.")
    parts = st.columns(3)
    options = {
        name: parts[number % 3].number_input(
            label, value=start, step=0.1, key=f"judge-planted-{name}", help=caption, persist_state="session"
        )
        for number, (name, (label, start, caption)) in enumerate(PLANTED.items())
    }
    read_effects(JudgeSettings(name="simulated", kind="simulated", options=options))  # raises for what cannot be
    return {"kind": "simulated", "model": "simulated", "options": options}


FOLD: dict[str, tuple[str, dict[str, Any]]] = {
    "temperature": ("Temperature", {"min_value": 0.0, "max_value": 2.0, "step": 0.1, "value": 0.0}),
    "max_tokens": ("Longest answer, tokens", {"min_value": 1, "max_value": 100_000, "placeholder": "as needed"}),
    "concurrency": ("Calls at once, at most", {"min_value": 1, "max_value": 2_048, "value": 8}),
    "rpm": ("Calls a minute, at most", {"min_value": 1.0, "placeholder": "no limit"}),
    "timeout": ("Seconds a call, at most", {"min_value": 1.0, "max_value": 3_600.0, "value": 120.0}),
    "price_input": ("Price, million tokens sent", {"min_value": 0.0, "placeholder": "none"}),
    "price_output": ("Price, million tokens received", {"min_value": 0.0, "placeholder": "none"}),
}


def _fold(model: str, names: set[str]) -> dict[str, Any]:
    """Name, temperature, length, effort, pace and prices; empty: the server's own."""
    name = shorten(model.rsplit("/", 1)[-1], 80)
    while name in names:
        name = f"{name} (2)"
    with st.expander("Temperature, length, reasoning, pace and prices", icon=":material/tune:"):
        parts = st.columns(3)
        typed = parts[0].text_input(
            "Name in results", key="judge-name", placeholder=name, max_chars=100, persist_state="session"
        )
        effort = parts[1].selectbox(
            "Reasoning effort", EFFORTS, format_func=lambda word: word or "server's own", key="judge-effort",
            persist_state="session",
        )  # fmt: skip
        values: dict[str, Any] = {"name": (typed or "").strip() or name, "reasoning_effort": effort or None}
        for number, (field, (label, options)) in enumerate(FOLD.items()):
            values[field] = parts[(number + 2) % 3].number_input(
                label, key=f"judge-{field}", persist_state="session", **({"value": None} | options)
            )
    return {field: value for field, value in values.items() if value is not None or field == "temperature"}


def _tested(judge: JudgeSettings) -> JudgeReport | None:
    """The button, and what came back when this very judge was last tested."""
    if st.button("Test with one call", icon=":material/bolt:", key="judge-test"):
        with st.spinner("Asking once …"), faults():
            st.session_state["setup test"] = judge, test_judge(judge)
    tested, report = st.session_state.get("setup test", (None, None))
    return report if tested == judge else None


def _report(report: JudgeReport) -> None:
    """What the judge answered, whether a score could be read, and whether its server gives probabilities."""
    said = safe(report.sentence(), 700)
    if report.error:
        st.error(said, icon=":material/error:")
    elif report.score is None:
        st.warning(f"{said} Change the answer format, or choose another model.", icon=":material/warning:")
    else:
        st.success(said, icon=":material/check:")
