"""Export a run as a report, a judge card, tables and figures, or data, with a preview of each."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from rubriclab.app import judges_paper_table, results, state
from rubriclab.app.draft import study_toml
from rubriclab.app.forms import download
from rubriclab.app.frame import faults, fold, safe, verbatim
from rubriclab.apply.card import read_card
from rubriclab.core.operations import derived
from rubriclab.data.lab_folder import lab_folder
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.gate_lines import derived_line
from rubriclab.exports.presentation import MOST_SHEETS
from rubriclab.exports.report import INCLUDE, default_title, drawings_of, svg_of
from rubriclab.model.judgment import RULES
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count, file_name
from rubriclab.study.template import named
from rubriclab.words.card import expected_error_text, orders_text, points_text
from rubriclab.words.phrases import lowered, say
from rubriclab.words.subject import subjects, subjects_of_orders

if TYPE_CHECKING:
    from rubriclab.api import Run as Kept
    from rubriclab.exports.paper_table import PaperTable

T = TypeVar("T")
PARTS = dict(
    zip(
        ("Answer", "Charts", "Example of one answer", "Method", "All numbers"), INCLUDE, strict=True
    )
)
TEXTS_OFF = "Off: no answers and no raters, only numbers, names of judges, and your rubric."
PREVIEW = ("item_id", "ordering", "score", "position", "status", "reply")
METHODS = {"Recommended": "", "One order": "one order", "Average": "average of orders"}
"""Method on the page -> its name in a card and in the command."""
MOST_FIGURES = 12
"""Figures offered for download; a run with more judges than that needs a table."""
TOOLS = {
    "Python": "Plain Python",
    "inspect-ai": "inspect-ai",
    "DeepEval": "DeepEval",
    "promptfoo": "promptfoo",
}
"""What the card is for -> the heading of its example in docs/pipelines.md."""
DOCS = lab_folder() / "docs"


def page() -> None:
    """Draw the choice of run and kind, then the options on the left and a preview on the right."""
    info = state.run_choice()
    if info is None:
        results.nothing("Export")
        return
    st.title("Export", anchor=False)
    kinds = {
        "One-page report": _one_page,
        "Full report": _report,
        "Judge card": _card,
        "Paper and slides": _paper,
        "Data": _data,
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        results.choose_run(info, "export")
        draw = _choice("Format", kinds, "for")
    left, right = st.columns([1, 1.75], gap="large")
    preview = right.container(border=True, key="preview")
    draw(state.kept(info.id), info.name, left, preview)


def _choice(label: str, options: Mapping[str, T], key: str, help: str | None = None) -> T:
    """Ask for one of a few values by its name, at first the first one; return the value.

    ``key``: its name in the address, too.
    """
    chosen = st.segmented_control(
        label,
        list(options),
        default=next(iter(options)),
        key=key,
        bind="query-params",
        required=True,
        wrap=True,
        help=help,
    )
    return options[str(chosen)]


def _one_page(run: Kept, name: str, left: Any, right: Any) -> None:
    """Draw the report of one sheet for each judge: its options on the left, itself on the right."""
    every = subjects(run.findings)
    judges = list(dict.fromkeys(subject.judge for subject in every))
    with left:
        st.markdown("One A4 sheet for each judge and setting, ready to print.")
        judge = ""
        if len(judges) > 1:
            choices = judges if len(every) > MOST_SHEETS else ["", *judges]
            judge = st.selectbox(
                "Judge",
                choices,
                format_func=lambda judge: results.plain_name(judge) if judge else "All judges",
                key=f"page-judge-{run.id}",
            )
        texts = st.toggle("Include the example's text", key="page-texts", help=TEXTS_OFF)
        with faults(), st.spinner("Writing the report…"):
            content = run.content(".page.html", texts=texts, judge=judge)
            file = file_name(name, ".page.html")
            download("Download report (HTML)", content, file, type="primary", key="download-page")
            with right:
                st.caption("Preview")
                _framed(content, "Preview of the one-page report", 1150)
        _terminal(run, "report.page.html")


def _report(run: Kept, name: str, left: Any, right: Any) -> None:
    """Draw the report's title and parts on the left, and the report itself on the right."""
    with left:
        st.markdown("One HTML file that opens anywhere, even without a network.")
        title = st.text_input(
            "Title", default_title(run.findings), max_chars=200, key=f"title-{run.id}"
        )
        include = st.pills(
            "Include",
            list(PARTS),
            selection_mode="multi",
            default=[part for part in PARTS if part != "All numbers"],
            key="include",
            wrap=True,
        )
        texts = st.toggle(
            "Include texts and rater names",
            key="texts",
            help=TEXTS_OFF,
        )
        with faults(), st.spinner("Writing the report…"):
            content = run.content(
                ".html", title=title or None, include=[PARTS[part] for part in include], texts=texts
            )
            file = file_name(name, ".html")
            download("Download report (HTML)", content, file, type="primary", key="download-report")
            st.caption(f"About {max(1, round(len(content) / 1000)):,} kB.")
            with right:
                st.caption("Preview")
                _framed(content, "Preview of the report")
        _terminal(run, "report.html")


def _framed(content: bytes, alt: str, height: int = 900) -> None:
    """Draw a file in a frame without an origin of its own.

    A data address has none, so the file could not reach the page even if it contained a script.
    """
    st.iframe(
        f"data:text/html;charset=utf-8;base64,{b64encode(content).decode()}", height=height, alt=alt
    )


def _card(run: Kept, _name: str, left: Any, right: Any) -> None:
    """Draw the card's options on the left; the card, CI gate, and drift check on the right."""
    judges = [asked.judge for asked in run.table.conditions]
    with left:
        st.markdown(
            "The tested judge prompt, settings, rubric, and orders in one file, for your own "
            "pipeline."
        )
        judge = results.choice("Judge", judges, "judge")
        protocol = _choice(
            "Method",
            METHODS,
            "protocol",
            help="Recommended: as many orders as What helps suggests.",
        )
        condition = judges.index(judge)  # a card is about one setting, so any of them will do
        rate = run.findings.pass_rate(condition)
        margin = _margin(rate)
        button = st.container()
        with right, faults(), st.spinner("Writing the card…"):
            content = run.content(".card.json", protocol=protocol, margin=margin, judge=judge)
            with button:
                download(
                    "Download judge card",
                    content,
                    "judge.card.json",
                    type="primary",
                    key="download-card",
                )
            wanted = margin or run.findings.smallest_mean(condition)
            _card_preview(json.loads(content), content.decode(), wanted, rate)
        command = "judge.card.json"
        if protocol:
            command += f' --protocol "{protocol}"'
        if margin:
            command += f" --margin {margin:g}"
        if len(set(judges)) > 1:
            command += f' --judge "{judge}"'
        _terminal(run, command)
    with right:
        fold("CI gate", lambda: _gate(run, judge), icon="verified", key="gate")
        fold("Drift check", lambda: _drift(run), icon="monitoring", key="drift")


def _margin(rate: PassRate | None) -> float | None:
    """Ask for the largest expected error; return it in points.

    ``rate``: of two scores. Their field is in percentage points, under another name in the address.
    """
    percent = rate is not None
    margin = st.number_input(
        f"Max expected error, {'percentage points' if percent else 'points'} (optional)",
        1.0 if percent else 0.01,
        100.0,
        None,
        1.0 if percent else 0.05,
        key="margin-rate" if percent else "margin",
        bind="query-params",
        help="How far a score may lie from its mean over all orders. If the judge cannot "
        "keep to that, there is no card.",
    )
    return margin if margin is None or rate is None else margin / abs(rate.factor)


def _card_preview(card: dict[str, Any], text: str, wanted: float, rate: PassRate | None) -> None:
    """Draw the method, the expected error, the code around the card, and the file itself.

    ``wanted``: the expected error in points that the user allows, else the smallest that matters.
    ``rate``: of two scores, which one passes.
    """
    error, orders = card["promise"], card["protocol"]["orders"]
    several = len(orders) > 1
    st.header(f"Average {len(orders)} orders" if several else "Ask in one order", anchor=False)
    why = ""
    if error["high"] <= wanted:
        why = f", to stay within {points_text(wanted, rate)}"
    shown = safe(orders_text(orders, rate), 300)
    st.markdown(f"{count(len(orders), 'call')} per answer{why}. Listed {shown}")
    expected = expected_error_text(error, several=several, rate=rate)
    st.markdown(f"**Expected error**: {lowered(expected)}.")
    verbatim(_example(_choice("For", TOOLS, "tool")))
    study = read_card(card)[1]
    if study.prompt:
        used = named(study.prompt.templates[0])[1]
        further = used - {"instruction", "response", "reference"}
        if further:
            columns = safe(", ".join(sorted(further)))
            st.caption(
                "The judge prompt shows further columns, which judge.score needs as well: "
                f"{columns}."
            )
    if not study.judges[0].about.served:
        st.caption("This judge runs on your machine, so leave out the client.")
    fold(
        "The file, as it will be saved",
        lambda: verbatim(text, height=420),
        icon="description",
        key="card-file",
    )


def _example(heading: str) -> str:
    """Return the code below a heading of docs/pipelines.md, which the tests run."""
    text = (DOCS / "pipelines.md").read_text("utf-8")
    block = re.search(rf"^## {re.escape(heading)}\n.*?```python\n(.*?)```", text, re.M | re.S)
    assert block is not None, f"docs/pipelines.md has no example under {heading}"
    return block[1]


def _gate(run: Kept, judge: str) -> None:
    """Draw limits that this judge of the run supports, as a command and as a test."""
    limits = derived(run.findings, judge)
    for part in limits:
        st.caption(
            safe(
                derived_line(part, run.findings.conditions).removeprefix("# ").replace("  # ", ": ")
            )
        )
    useful = [str(part.limit) for part in limits if part.can_fail]
    if not useful:
        st.markdown(safe(say("not_derived", ("gate",))))
        return
    flags = "".join(f" --limit {limit}" for limit in useful) + f" --rules {RULES}"
    named = ", ".join(f'"{limit}"' for limit in useful)
    if len({asked.judge for asked in run.table.conditions}) > 1:
        flags = f" --judge {shlex.quote(judge)}{flags}"
        named += f", judge={judge!r}"
    # Judgments made elsewhere have no study to run: the gate reads the next file of them.
    source, function = "study.toml", "run"
    if run.plan is None:
        source, function = "judgments.csv", "read"
    verbatim(f"rubriclab gate {source}{flags} --junit gate.xml")
    verbatim(
        "import rubriclab as rl\n\n\n"
        "def test_the_judge_is_as_measured():\n"
        f'    run = rl.{function}("{source}")\n'
        f'    assert run.gate({named}, rules={RULES}) == "passes"'
    )
    caption = "Exit code: 0 if it passes, 4 if it fails, 5 if it cannot tell."
    if run.plan is not None:
        caption += " Export study.toml under Data."
    st.caption(caption)


def _drift(run: Kept) -> None:
    verbatim(f"rubriclab gate study.toml --against {run.id}")
    st.caption(
        "Runs the study again, and says whether the judge's mean score, order effect, or "
        "noise has changed since then."
    )


def _paper(run: Kept, name: str, left: Any, right: Any) -> None:
    """Draw a table, the figures, and the references on the left, and previews on the right."""
    every = subjects_of_orders(run.findings)
    drawn = [
        (safe(subject.judge, 30), title, picture)
        for subject in every
        for title, picture in drawings_of(run.findings, subject)
    ]
    with left:
        st.markdown("**Table**: judges as rows, any measures side by side.")
        table = None
        with faults():
            table = judges_paper_table.choose(run.findings, run.papers, "export-paper")
            if table is not None:
                with right:
                    st.caption("Preview")
                    judges_paper_table.show(table, run.findings, "export-paper")
                _files(table, name)
        st.markdown("**Figures**: the pictures of the report, as SVG.")
        for figure, (judge, title, picture) in enumerate(drawn[:MOST_FIGURES], 1):
            file = file_name(f"{name} figure {figure}", ".svg")
            label = f"{judge}: {title}" if len(every) > 1 else title
            download(label, svg_of(picture), file, key=f"download-figure-{figure}")
        if not drawn:
            st.caption(
                "This run has none of these pictures. On Results, the camera button over a chart "
                "saves it as PNG or SVG."
            )
        st.markdown("**References**: the papers that define these measures.")
        bibliography = (DOCS / "papers.bib").read_text("utf-8")
        download("BibTeX", bibliography, "rubriclab.bib", key="download-bib")
        _terminal(run, "table.tex")
    with right:
        if table is not None:
            fold("Table in LaTeX", partial(verbatim, table.latex()), icon="code", key="latex")
        if drawn:
            _framed(run.content(".html", include=["charts"]), "Preview of the figures", 640)


def _files(table: PaperTable, name: str) -> None:
    """Draw the downloads of a table."""
    with st.container(horizontal=True):
        for label, ending, text in (
            ("LaTeX", ".tex", table.latex()),
            ("Markdown", ".md", table.markdown()),
            ("CSV", ".csv", csv_text(table.numbers())),
        ):
            file = file_name(f"{name} table", ending)
            download(label, text, file, key=f"download-table{ending}")


def _data(run: Kept, name: str, left: Any, right: Any) -> None:
    """Draw the files with the run's data on the left, and the first judgments on the right."""
    plan = run.plan
    with left:
        st.markdown("**Judgments**: one row per judgment, with the order shown and the reply.")
        _made("judgments.csv", name, lambda: run.content(".csv"))
        st.markdown("**Numbers**: one row per number, with its interval, as on every page.")
        _made("numbers.csv", name, lambda: run.content(".numbers.csv"))
        if plan is not None:
            st.markdown("**Study**: data, rubric, judge, and orders, to run it again.")
            _made("study.toml", name, lambda: study_toml(plan.study))
        st.markdown("**Run**: everything in one file, which another lab can open.")
        _made("run.zip", name, lambda: run.content(".zip"))
        _terminal(run, "run.zip")
    with right:
        st.caption("Preview: the first judgments")
        first = run.judgments(limit=12)
        columns = [column for column in PREVIEW if column in first]
        wide = {"item_id": st.column_config.Column(width=200)}
        st.dataframe(first[columns], hide_index=True, width="stretch", column_config=wide)


def _made(kind: str, name: str, make: Callable[[], str | bytes]) -> None:
    """Draw a download whose file is made on demand.

    ``kind``: what is added to the run's name, with the file's ending.
    """
    stem, _, ending = kind.partition(".")
    label = f"{stem.capitalize()} ({ending.upper()})"
    download(label, make, file_name(f"{name} {stem}", f".{ending}"), key=f"download-{stem}")


def _terminal(run: Kept, options: str) -> None:
    """Draw a fold with the command that exports the same. ``options``: what follows ``--out``.

    Commands know the runs of the user's store, not the recorded examples.
    """
    if run.id is not None and state.store_of(run.id) is state.store():
        command = f"rubriclab export {run.id} --out {options}"
        fold("The same on the command line", lambda: verbatim(command), icon="terminal")
