"""The test of a judge: one real question, and what it answered."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from rubriclab.app import ui
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.embedded import start_embedded
from rubriclab.judges.probe import ProbeReport, check_judge_now
from rubriclab.model import Judge
from rubriclab.model.language import tr
from rubriclab.model.wording import number

EMBEDDED_KEY = "RUBRICLAB_EMBEDDED_API_KEY"


def ask_one_question(judge: Judge) -> None:
    """One real question; the reply, or what stands in its way and what to do."""
    with st.spinner(tr("Asking one question …")):
        report = _report(judge)
    for problem in report.problems:
        st.error(ui.plain(problem), icon=":material/error:")
    if report.ok:
        by = "" if report.server == "other" else f" · {report.server} {report.version or ''}".rstrip()
        context = tr(" · context {context:,} tokens", context=report.context) if report.context else ""
        quick = f"{number(report.latency, '.2f')} s" if report.latency is not None else ""
        told = (
            tr("It answers: {quick}, and says how likely each score was (log-probabilities)", quick=quick)
            if report.probabilities
            else tr("It answers: {quick}, and does not say how likely each score was (log-probabilities)", quick=quick)
        )
        st.success(ui.plain(f"{told}{by}{context}"), icon=":material/check:")
    for warning in report.warnings:
        st.warning(ui.plain(warning), icon=":material/warning:")
    if report.reply is not None and report.reply.error is None:
        ui.verbatim(
            report.reply.text or tr("(empty)"),
            label=tr("Asked how good “4” is as an answer to “What is 2 + 2?”, from 1 to 5, it wrote"),
        )


def _report(judge: Judge) -> ProbeReport:
    """An embedded judge is started for the test; weights are fetched with a bar."""
    if not JUDGE_KINDS[judge.kind].own:
        return check_judge_now(judge, secrets=ui.secrets())
    bar = st.empty()

    def heard(done: int, total: int, source: str) -> None:
        share = min(1.0, done / total) if total else 0.0
        amount = tr("{done:.0f} of {total:.0f} MB", done=done / 1e6, total=total / 1e6)
        bar.progress(share, text=tr("Fetching weights: {amount} from {source}", amount=amount, source=ui.plain(source)))

    server = start_embedded(judge, progress=heard)
    try:
        bar.empty()
        return check_judge_now(
            replace(judge, key_env=EMBEDDED_KEY), base_urls=[server.url], secrets={EMBEDDED_KEY: server.key}
        )
    finally:
        server.close()
