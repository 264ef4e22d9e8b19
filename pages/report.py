"""Report: a run, or several beside each other, as a document to send and as data to hand over."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import paper, share
from rubriclab.app.views import report as views
from rubriclab.app.views.cards import present_link
from rubriclab.model.language import msg, tr

LEAD = msg("A document that opens anywhere without a network, and the data behind it for another lab.")


with ui.page("report", msg("Report"), LEAD):
    store = ui.store()
    offered = ui.judged_runs(tuple(ui.FINDINGS_PAGE))
    if not offered:
        ui.empty_state(
            tr("Nothing to report yet"),
            tr("Run the demo or a study of your own first."),
            target="home",
            action=tr("To the demo"),
        )
        st.stop()
    last = st.session_state.get("run")
    chosen = ui.choose_many(
        tr("Runs"),
        list(offered),
        key="report-runs",
        address="run",
        most=views.MOST_RUNS,
        default=[last if last in offered else next(iter(offered))],
        name=lambda run: ui.run_label(offered[run]),
        about=tr("With several runs the report begins with a comparison."),
    )
    if not chosen:
        st.info(tr("Choose at least one run."), icon=":material/info:")
        st.stop()
    runs = [offered[run] for run in chosen]
    if any(info.simulated for info in runs):
        st.warning(
            tr("A **simulated** judge is among these runs; the report says so at its top."), icon=":material/science:"
        )

    parts = ui.choose_many(
        tr("What goes in"),
        list(views.PART_NAMES),
        key="report-parts",
        address="with",
        default=list(views.PART_NAMES),
        name=lambda part: tr(views.PART_NAMES[part]),
        about=tr("The answer, the advice, the key numbers and what limits them are always in."),
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        title = st.text_input(
            tr("Title"), key="report-title", max_chars=120, placeholder=" · ".join(info.name for info in runs)[:120]
        )
        st.download_button(
            tr("Report (HTML)"),
            views.html_maker(store, chosen, title=title.strip(), parts=parts),
            file_name=views.file_name(title, runs, ".html"),
            mime="text/html",
            key="report-html",
            type="primary",
            icon=":material/description:",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            tr("Data bundle (zip)"),
            views.bundle_maker(store, chosen),
            file_name=views.file_name(title, runs, ".zip"),
            mime="application/zip",
            key="report-zip",
            icon=":material/folder_zip:",
            on_click="ignore",
            width="stretch",
            help=tr(
                "Judgments as Parquet, study file, rubric, items and versions. Another lab reads it on its Data "
                "page under “Judgments made elsewhere”. No key of a server is in it."
            ),
        )
        st.caption(tr("In a terminal: `python -m rubriclab report RUN --out report.html`"))
        if len(runs) == 1:
            present_link(runs[0].run)
    with right:
        views.show_outline(views.outline(runs, parts))
    share.section(store, runs, title.strip())
    paper.section(store, runs)
