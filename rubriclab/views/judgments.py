"""Judgments word for word: what a judge was sent and what it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from rubriclab import ui
from rubriclab.plan import Plan
from rubriclab.plan import plan as make_plan
from rubriclab.store import RunInfo


def detail(info: RunInfo, row: Mapping[str, Any]) -> None:
    """One judgment: what the judge was sent, word for word, and what it wrote."""
    left, right = st.columns(2, gap="large")
    with left:
        ui.verbatim(prompt_of(info, str(row["key"]), row), label="Sent to the judge")
    with right:
        ui.verbatim(str(row["text"] or row["error"] or ""), label=f"Reply · {row['status']}")
        st.caption(
            f"{row['model'] or 'model unknown'} · {row['latency'] or 0:.2f} s · "
            f"call `{row['key'] or 'imported'}`"
        )


def prompt_of(info: RunInfo, key: str, row: Mapping[str, Any]) -> str:
    """The prompt of a call as it was sent: rendered again, and checked by the call's key."""
    if info.state == "imported":
        return "This judgment was imported; the lab did not send its prompt."
    prepared = _plan((ui.store().path, info.run))
    call = prepared.find(key, item=int(row["item"]), arm=int(row["arm"]))
    if call is None:
        return "The prompt cannot be made again: templates or settings have changed since this run."
    return "\n\n".join(f"[{m['role']}]\n{m['content']}" for m in call.messages)


@st.cache_resource(show_spinner=False, max_entries=4)
def _plan(key: tuple[str, str]) -> Plan:
    return make_plan(ui.store().study(key[1]))
