"""A pipeline cured by its address: what the proxy would make of a prompt of one's own, on the page Your pipeline."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.store import RunInfo, Store
from rubriclab.study.prompts.prompt_traps import orders_named
from rubriclab.study.proxied_request import Orders, Spec, Untouched, in_orders

LEAD = (
    "Start the proxy in front of your judge's server and give your pipeline its address. It finds the list of score "
    "options, or the two responses, in the prompt that you send anyway, asks in several orders at once, and returns "
    "one answer in the same format. What it does not understand it passes on untouched, and says why in a header."
)
SPECS: dict[str, Spec] = {
    "balanced: each at each place equally often": "balanced",
    "2 orders, each the other's mirror image": 2,
    "4 orders": 4,
    "all orders": "all",
    "the prompt's own order alone": "fixed",
}
MOST_SHOWN = 200
"""Signs of an option's or a response's text in a table."""


def section(store: Store, info: RunInfo) -> None:
    """The command to copy, then a prompt to try it on; no run is needed for either."""
    del store, info
    with st.expander(
        "Cure a pipeline by its address: a proxy that asks in several orders", icon=":material/swap_vert:"
    ):
        st.markdown(LEAD)
        chosen = st.selectbox("Orders", list(SPECS), key="proxy-orders")
        spec = SPECS[chosen]
        ui.verbatim(_command(spec))
        st.caption(
            "Then change the base URL of your pipeline to http://127.0.0.1:8600/v1, nothing else. Keys go on to the "
            "upstream and are never kept. docs/proxy.md says what an answer is made of."
        )
        prompt = st.text_area(
            "A prompt as your pipeline sends it",
            key="proxy-prompt",
            height=220,
            help="Its text, or the JSON of a whole request with its messages. It stays here: nothing is asked.",
        )
        if prompt.strip():
            _show(in_orders(_request(prompt), spec))


def _command(spec: Spec) -> str:
    orders = "" if spec == "balanced" else f" --orders {spec}"
    return f"python -m rubriclab proxy --upstream http://127.0.0.1:8000/v1{orders}"


def _request(pasted: str) -> bytes:
    """The body of a request with what was pasted: as it is where it has messages, else as one user message."""
    try:
        value = json.loads(pasted)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        value = {"messages": value}
    if isinstance(value, dict) and "messages" in value:
        return json.dumps(value).encode()
    return json.dumps({"messages": [{"role": "user", "content": pasted}]}).encode()


def _show(asked: Orders | Untouched) -> None:
    if isinstance(asked, Untouched):
        st.info(ui.plain(f"The proxy passes this on untouched: {asked.why}."), icon=":material/info:")
        return
    what = "two responses" if asked.pair else f"{len(asked.values)} score options"
    calls = len(asked.orders)
    st.markdown(f"**{what[0].upper()}{what[1:]} found: {calls} {'call' if calls == 1 else 'calls'} for this prompt.**")
    st.dataframe(_entries(asked), hide_index=True, width="stretch")
    if asked.pair:
        tie = f"a tie, “{asked.tie}”" if asked.tie else "the probabilities, else one more call"
        st.caption(ui.plain(f"Where both orders disagree, the answer is {tie}."))
    names = asked.parts.answers[0]
    kept = [names[k] if not asked.pair else f"response {k + 1}" for k in asked.usual]
    st.dataframe(
        pd.DataFrame([[str(row), *(kept[k] for k in order)] for row, order in enumerate(asked.orders, start=1)]).rename(
            columns=lambda place: "Call" if place == 0 else f"Place {place}"
        ),
        hide_index=True,
        width="stretch",
        height="auto" if calls <= 12 else 420,
    )
    for note in dict.fromkeys(note for part in asked.parts.fixed for note in orders_named(part)):
        st.caption(ui.plain(f"Of the text around the list: {note}"))


def _entries(asked: Orders) -> pd.DataFrame:
    rows = []
    for place, entry in enumerate(asked.parts.entries):
        row = {"Place": str(place + 1), "Label": entry.label}
        if not asked.pair:
            row["Worth"] = f"{asked.values[place]:g}"
        words = entry.words or entry.text
        rows.append({**row, "Text": words if len(words) <= MOST_SHOWN else f"{words[:MOST_SHOWN]}…"})
    return pd.DataFrame(rows)
