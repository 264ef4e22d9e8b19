"""A pipeline cured by its address: what the proxy would make of a prompt of one's own, on the page Your pipeline."""

from __future__ import annotations

import json

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number
from rubriclab.store import RunInfo, Store
from rubriclab.study.prompts.prompt_traps import orders_named
from rubriclab.study.proxied_request import Orders, Spec, Untouched, in_orders

LEAD = msg(
    "Start the proxy in front of your judge's server and give your pipeline its address. It finds "
    "the list of score options, or the two responses, in the prompt that you send anyway, asks in "
    "several orders at once, and returns one answer in the same format. What it does not understand "
    "it passes on untouched, and says why in a header."
)
SPECS: dict[str, Spec] = {
    msg("balanced: each at each place equally often"): "balanced",
    msg("2 orders, each the other's mirror image"): 2,
    msg("4 orders"): 4,
    msg("all orders"): "all",
    msg("the prompt's own order alone"): "fixed",
}
MOST_SHOWN = 200
"""Signs of an option's or a response's text in a table."""


def section(store: Store, info: RunInfo) -> None:
    """The command to copy, then a prompt to try it on; no run is needed for either."""
    del store, info
    with st.expander(
        tr("Cure a pipeline by its address: a proxy that asks in several orders"), icon=":material/swap_vert:"
    ):
        st.markdown(tr(LEAD))
        chosen = st.selectbox(tr("Orders"), list(SPECS), key="proxy-orders", format_func=tr)
        spec = SPECS[chosen]
        ui.verbatim(_command(spec))
        st.caption(
            tr(
                "Then change the base URL of your pipeline to http://127.0.0.1:8600/v1, nothing else. Keys go on "
                "to the upstream and are never kept. docs/proxy.md says what an answer is made of."
            )
        )
        prompt = st.text_area(
            tr("A prompt as your pipeline sends it"),
            key="proxy-prompt",
            height=220,
            help=tr("Its text, or the JSON of a whole request with its messages. It stays here: nothing is asked."),
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
        st.info(ui.plain(tr("The proxy passes this on untouched: {why}.", why=tr(asked.why))), icon=":material/info:")
        return
    calls = len(asked.orders)
    st.markdown(f"**{_found(asked)}**")
    st.dataframe(_entries(asked), hide_index=True, width="stretch")
    if asked.pair:
        tied = (
            tr("Where both orders disagree, the answer is a tie, “{tie}”.", tie=asked.tie)
            if asked.tie
            else tr("Where both orders disagree, the answer is the probabilities, else one more call.")
        )
        st.caption(ui.plain(tied))
    names = asked.parts.answers[0]
    kept = [names[k] if not asked.pair else tr("response {number}", number=k + 1) for k in asked.usual]
    st.dataframe(
        pd.DataFrame([[str(row), *(kept[k] for k in order)] for row, order in enumerate(asked.orders, start=1)]).rename(
            columns=lambda place: tr("Call") if place == 0 else tr("Place {place}", place=place)
        ),
        hide_index=True,
        width="stretch",
        height="auto" if calls <= 12 else 420,
    )
    for note in dict.fromkeys(note for part in asked.parts.fixed for note in orders_named(part)):
        st.caption(ui.plain(tr("Of the text around the list: {note}", note=note)))


def _found(asked: Orders) -> str:
    """What the proxy would ask about, and how often."""
    calls = many(len(asked.orders), "call")
    if asked.pair:
        return tr("Two responses found: {calls} for this prompt.", calls=calls)
    options = many(len(asked.values), "score option")
    return tr("{options} found: {calls} for this prompt.", options=options, calls=calls)


def _entries(asked: Orders) -> pd.DataFrame:
    rows = []
    for place, entry in enumerate(asked.parts.entries):
        row = {tr("Place"): str(place + 1), tr("Label"): entry.label}
        if not asked.pair:
            row[tr("Worth")] = number(asked.values[place], "g")
        words = entry.words or entry.text
        rows.append({**row, tr("Text"): words if len(words) <= MOST_SHOWN else f"{words[:MOST_SHOWN]}…"})
    return pd.DataFrame(rows)
