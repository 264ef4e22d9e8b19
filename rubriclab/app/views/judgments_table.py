"""Judgments as a table, one openable down to the prompt and the reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_filters import COMPARISONS, MOST, OUTCOMES, offered
from rubriclab.findings.reads import Read, reads_of
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import UNKNOWN, number
from rubriclab.store import RunInfo
from rubriclab.study.plan import Plan
from rubriclab.study.plan import plan as make_plan

FORMS = {"expected": "%.2f", "probability": "%.0f %%"}
"""How numbers in a table of judgments are written, by column."""


def winner_of(read: Read) -> str | None:
    """What stood at the place that was chosen; None where nothing was."""
    if read.position is None or read.position > len(read.shown):
        return None
    return read.shown[read.position - 1] if read.position else tr("a tie")


def formats(shown: pd.DataFrame) -> dict[str, Any]:
    """What stands above each column of such a table, and how its numbers are written."""
    above = uf.headings(shown)
    return {
        **above,
        "expected": ui.number_column(above.get("expected"), FORMS["expected"], help=ui.about("expected")),
        "probability": ui.number_column(above.get("probability"), FORMS["probability"]),
    }


def reads_frame(frame: pd.DataFrame, arms: Sequence[Arm]) -> pd.DataFrame:
    """Judgments as a table for people: what was shown, what came of it, what was written."""
    reads = reads_of(frame)
    compared = bool(reads) and arms[reads[0].arm].axis in COMPARISONS
    shown = pd.DataFrame(
        {
            msg("item"): frame["item_id"].to_numpy(),
            msg("criterion"): frame["criterion"].to_numpy(),
            msg("judge"): [arms[read.arm].judge for read in reads],
            msg("strategy"): [arms[read.arm].strategy for read in reads],
            msg("setting"): [str(arms[read.arm].variant) for read in reads],
            msg("order shown"): [" ".join(read.shown) for read in reads],
            msg("answer"): [winner_of(read) if compared else None for read in reads],
            msg("score"): [read.score for read in reads],
            msg("position"): [read.position for read in reads],
            msg("probability"): [
                100 * read.probabilities[read.position - 1] if read.probabilities and read.position else None
                for read in reads
            ],
            msg("expected"): [read.expected for read in reads],
            msg("outcome"): [tr(OUTCOMES[read.status]) for read in reads],
            msg("reply"): frame["text"].to_numpy(),
        }
    )
    same = ("item", "criterion", "judge", "strategy", "setting", "outcome")
    drop = [n for n in shown if shown[n].isna().all() or (n in same and shown[n].nunique() < 2)]
    return shown.drop(columns=drop)


# ---------------------------------------------------------------- in the place of a finding


def judgments_of(info: RunInfo, items: Sequence[int], arms: Sequence[int], *, key: str) -> None:
    """The judgments about some items under some arms, one openable at a time."""
    frames = [ui.store().judgments_behind(info.run, item=item, limit=MOST) for item in items]
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["arm"])
    browse(info, frame[frame["arm"].isin(arms)].reset_index(drop=True), key=key)


def browse(info: RunInfo, frame: pd.DataFrame, *, key: str) -> None:
    """Judgments as a table where a finding is shown; the chosen one word for word."""
    if frame.empty:
        st.caption(tr("No judgment here."))
        return
    st.caption(tr("Choose a row to read what was sent and what came back."))
    shown = reads_frame(frame, offered(info, None).arms)
    event = st.dataframe(
        ui.written(shown, FORMS),
        hide_index=True,
        width="stretch",
        key=f"{key}-table",
        on_select="rerun",
        selection_mode="single-row",
        height=min(36 * len(shown) + 40, 320),
        placeholder=UNKNOWN,
        column_config=formats(shown),
    )
    rows = event.selection.rows
    if rows and rows[0] < len(frame):
        row = {str(name): value for name, value in frame.iloc[rows[0]].items()}
        detail(info, row)
        st.page_link(
            "pages/judgments.py",
            label=tr("This item across all orders"),
            icon=":material/arrow_forward:",
            query_params={"run": info.run, "arm": str(row["arm"]), "item": str(row["item"]), "call": str(row["call"])},
        )


def detail(info: RunInfo, row: Mapping[str, Any]) -> None:
    """One judgment: what the judge was sent, word for word, and what it wrote."""
    left, right = st.columns(2, gap="large")
    with left:
        ui.verbatim(prompt_of(info, _text(row["key"]), row), label=tr("Sent to the judge"))
    with right:
        outcome = OUTCOMES[row["status"]]
        words = _text(row["text"]) or _text(row["error"])
        ui.verbatim(
            words or tr("No words were kept with this judgment."), label=tr("Reply · {outcome}", outcome=tr(outcome))
        )
        took = row["latency"]
        told = [
            ui.plain(_text(row["model"]) or tr("model unknown")),
            f"{number(took, '.2f')} s" if took is not None and math.isfinite(took) else "",
            _origin(row),
            ui.plain(_text(row.get("note"))),
        ]
        st.caption(" · ".join(part for part in told if part))


def _origin(row: Mapping[str, Any]) -> str:
    """Which call it was: by its key, or by its record in the log that it was read from."""
    line = row.get("line")
    if line is not None and pd.notna(line):
        return tr("record {line:,} of the log", line=int(line))
    return tr("call `{key}`", key=_text(row["key"]) or tr("imported"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def prompt_of(info: RunInfo, key: str, row: Mapping[str, Any]) -> str:
    """The prompt of a call as it was sent: rendered again, and checked by the call's key."""
    if _text(row.get("prompt_sent")):
        return _text(row["prompt_sent"])
    if info.state == "imported":
        return tr("This judgment was imported; the lab did not send its prompt.")
    prepared = _plan((ui.store().path, info.run))
    call = prepared.find(key, item=int(row["item"]), arm=int(row["arm"]))
    if call is None:
        return tr("The prompt cannot be made again: templates or settings have changed since this run.")
    return "\n\n".join(f"[{m['role']}]\n{m['content']}" for m in call.messages)


@st.cache_resource(show_spinner=False, max_entries=4)
def _plan(key: tuple[str, str]) -> Plan:
    return make_plan(ui.store().study(key[1]))
