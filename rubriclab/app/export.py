"""A run in; a one-page report, a judge card, tables and figures, or its data out: shown before they
are taken.
"""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from rubriclab.app import results, state
from rubriclab.app.draft import study_toml
from rubriclab.app.forms import download
from rubriclab.app.frame import faults, fold, safe, verbatim
from rubriclab.apply.card import read_card
from rubriclab.core.operations import derived
from rubriclab.data.sample import lab_folder
from rubriclab.exports.gate_lines import derived_line
from rubriclab.exports.report import INCLUDE, default_title, drawings_of, svg_of
from rubriclab.model.judgment import RULES
from rubriclab.model.text import count, file_name
from rubriclab.study.template import named
from rubriclab.words.phrases import ci, number, order_title, say
from rubriclab.words.subject import subjects_of_orders

if TYPE_CHECKING:
    from rubriclab.api import Run as Kept

PARTS = dict(
    zip(
        ("Answer", "Charts", "Example of one answer", "Method", "All numbers"), INCLUDE, strict=True
    )
)
PREVIEW = ("item_id", "ordering", "score", "position", "status", "reply")
PROTOCOLS = {"Recommended": "", "One order": "one order", "Average": "average of orders"}
TOOLS = {
    "Python": "Plain Python",
    "inspect-ai": "inspect-ai",
    "DeepEval": "DeepEval",
    "promptfoo": "promptfoo",
}
"""What a card is for -> the heading of its example in docs/pipelines.md."""
DOCS = lab_folder() / "docs"


def page() -> None:
    info = state.run_choice()
    if info is None:
        results.nothing("Export")
        return
    st.title("Export", anchor=False)
    kinds = {
        "One-page report": _report,
        "Judge card": _card,
        "Paper and slides": _paper,
        "Data": _data,
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        results.choose_run(info, "export")
        kind = st.segmented_control(
            "What for",
            list(kinds),
            default="One-page report",
            key="for",
            bind="query-params",
            required=True,
            wrap=True,
        )
    left, right = st.columns([1, 1.75], gap="large")
    kinds[str(kind)](
        state.kept(info.id), info.name, left, right.container(border=True, key="preview")
    )


def _report(run: Kept, name: str, left: Any, right: Any) -> None:
    with left:
        st.markdown("One HTML file that opens anywhere, also without a network.")
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
            help="Off: the file holds numbers, names of judges and your rubric, but no answer and "
            "no rater.",
        )
        with faults(), st.spinner("Report is being written …"):
            content = run.content(
                ".html", title=title or None, include=[PARTS[part] for part in include], texts=texts
            )
            file = file_name(name, ".html")
            download("Download report (HTML)", content, file, type="primary", key="download-report")
            st.caption(f"About {max(1, round(len(content) / 1000)):,} kB.")
            with right:
                st.caption("Preview")
                _framed(content, "The report as it will look")
        _terminal(f"rubriclab export {run.id} --out report.html")


def _framed(content: bytes, alt: str, height: int = 900) -> None:
    """As an address of its own the file has no origin: it could not reach the page even if it had a
    script.
    """
    st.iframe(
        f"data:text/html;charset=utf-8;base64,{b64encode(content).decode()}", height=height, alt=alt
    )


def _card(run: Kept, name: str, left: Any, right: Any) -> None:  # noqa: ARG001 - the examples name the file
    with left:
        st.markdown(
            "The prompt, settings, rubric and orders that were measured, in one file for your own "
            "pipeline."
        )
        judge = results.choice("Judge", [asked.judge for asked in run.table.conditions], "judge")
        protocol = PROTOCOLS[
            str(
                st.segmented_control(
                    "Protocol",
                    list(PROTOCOLS),
                    default="Recommended",
                    key="protocol",
                    bind="query-params",
                    required=True,
                    wrap=True,
                    help="Recommended: as many orders as What helps says.",
                )
            )
        ]
        margin = st.number_input(
            "Largest distance allowed, points (optional)",
            0.01,
            100.0,
            None,
            0.05,
            key="margin",
            bind="query-params",
            help="Of a score from the mean over all orders. The card is refused where that cannot "
            "be promised.",
        )
        button = st.container()
        with right, faults(), st.spinner("Card is being written …"):
            content = run.content(".card.json", protocol=protocol, margin=margin, judge=judge)
            with button:
                download(
                    "Download judge card",
                    content,
                    "judge.card.json",
                    type="primary",
                    key="download-card",
                )
            _card_preview(
                json.loads(content), content.decode(), margin or run.findings.smallest_mean(0)
            )
        flags = f' --protocol "{protocol}"' * bool(protocol) + (
            f" --margin {margin:g}" if margin else ""
        )
        several = len({asked.judge for asked in run.table.conditions}) > 1
        _terminal(
            f"rubriclab export {run.id} --out judge.card.json{flags}"
            + f' --judge "{judge}"' * several
        )
    with right:
        fold("Gate for CI", lambda: _gate(run, judge), icon="verified", key="gate")
        fold("Check for drift", lambda: _drift(run), icon="monitoring", key="drift")


def _card_preview(card: dict[str, Any], text: str, wanted: float) -> None:
    """The protocol, what the card promises, the code around it, and the file. ``wanted``: distance,
    points.
    """
    promise, orders = card["promise"], card["protocol"]["orders"]
    several = len(orders) > 1
    st.header(f"Average {len(orders)} orders" if several else "One order is asked", anchor=False)
    shown = "; ".join(order_title(order) for order in orders[:3]) + (
        " …" if len(orders) > 3 else ""
    )
    why = (
        f", which comes within {number(wanted, '.2f')} points" if promise["high"] <= wanted else ""
    )
    st.markdown(f"{count(len(orders), 'call')} an answer{why}. Listed {safe(shown, 300)}")
    ends = (
        f"{ci(promise['level'])} {number(promise['low'], '.2f')} to "
        f"{number(promise['high'], '.2f')}"
    )
    st.markdown(
        f"**Promise**: scores lie **{number(promise['distance'], '.2f')} points** from the mean "
        f"over all orders ({ends}), "
        f"measured on {count(promise['items'], 'item')}. None of them lies further than "
        f"{number(promise['margin'], '.2f')}, "
        "95 times in 100."
        + f" One order alone: {number(promise['one_order'], '.2f')} points."
        * several
    )
    tool = st.segmented_control(
        "For", list(TOOLS), default="Python", key="tool", bind="query-params", required=True
    )
    verbatim(_example(TOOLS[str(tool)]))
    study = read_card(card)[1]
    if study.prompt and (
        further := named(study.prompt.templates[0])[1] - {"instruction", "response", "reference"}
    ):
        columns = safe(", ".join(sorted(further)))
        st.caption(f"The prompt shows further columns, which judge.score needs too: {columns}.")
    if not study.judges[0].about.served:
        st.caption("This judge runs on your machine: leave the client out.")
    fold(
        "The file, as it will be written",
        lambda: verbatim(text, height=420),
        icon="description",
        key="card-file",
    )


def _example(heading: str) -> str:
    """The code below a heading of docs/pipelines.md, which tests run."""
    text = (DOCS / "pipelines.md").read_text("utf-8")
    block = re.search(rf"^## {re.escape(heading)}\n.*?```python\n(.*?)```", text, re.M | re.S)
    assert block is not None, f"docs/pipelines.md has no example under {heading}"
    return block[1]


def _gate(run: Kept, judge: str) -> None:
    """Limits that this judge of the run supports, as a command and as a test."""
    limits = derived(run.findings, judge)
    for part in limits:
        st.caption(safe(derived_line(part).removeprefix("# ").replace("  # ", ": ")))
    useful = [str(part.limit) for part in limits if part.can_fail]
    if not useful:
        st.markdown(safe(say("not_derived", ("gate",))))
        return
    several = len({asked.judge for asked in run.table.conditions}) > 1
    flags = "".join(f" --limit {limit}" for limit in useful)
    named = ", ".join(f'"{limit}"' for limit in useful)
    if several:
        flags = f" --judge {shlex.quote(judge)}{flags}"
        named += f", judge={judge!r}"
    flags += f" --rules {RULES}"
    # Judgments made elsewhere have no study to ask again: the gate reads the next file of them.
    source, asked = ("judgments.csv", "read") if run.plan is None else ("study.toml", "run")
    verbatim(f"rubriclab gate {source}{flags} --junit gate.xml")
    call = f'rl.{asked}("{source}")'
    test = (
        f"def test_the_judge_is_as_measured():\n    run = {call}\n"
        f'    assert run.gate({named}, rules={RULES}) == "passes"'
    )
    verbatim(f"import rubriclab as rl\n\n\n{test}")
    st.caption(
        "Ends with 0 where it passes, 4 where it fails, 5 where it cannot tell."
        + " study.toml: What for, Data." * (run.plan is not None)
    )


def _drift(run: Kept) -> None:
    verbatim(f"rubriclab gate study.toml --against {run.id}")
    st.caption(
        "Asks the study again and says whether the judge has changed since in level, order effect "
        "or noise."
    )


def _paper(run: Kept, name: str, left: Any, right: Any) -> None:
    with left:
        st.markdown("**Table**: judges as lines; any measure, with its interval.")
        with faults():
            table = results.choose_table(str(run.id), run.findings)
            with right:
                st.caption("Preview")
                results.show_table(table)
            with st.container(horizontal=True):
                for label, ending, text in (
                    ("LaTeX", ".tex", table.latex()),
                    ("Markdown", ".md", table.markdown()),
                ):
                    download(
                        label,
                        text,
                        file_name(f"{name} table", ending),
                        key=f"download-table{ending}",
                    )
        st.markdown("**Figures**: the pictures of the report, as SVG.")
        every = subjects_of_orders(run.findings)
        drawn = [
            (safe(subject.judge, 30), *part)
            for subject in every
            for part in drawings_of(run.findings, subject)
        ]
        for figure, (judge, title, picture) in enumerate(drawn[:12], 1):
            file = file_name(f"{name} figure {figure}", ".svg")
            label = f"{judge}: {title}" if len(every) > 1 else title
            download(label, svg_of(picture), file, key=f"download-figure-{figure}")
        if not drawn:
            st.caption(
                "This run has no such picture; the camera over every chart of Results saves it as "
                "PNG or SVG."
            )
        st.markdown("**References**: the papers whose measures these are.")
        download(
            "BibTeX", (DOCS / "papers.bib").read_text("utf-8"), "rubriclab.bib", key="download-bib"
        )
        _terminal(f"rubriclab export {run.id} --out table.tex")
    with right:
        fold("The table in LaTeX", lambda: verbatim(table.latex()), icon="code", key="latex")
        if drawn:
            _framed(run.content(".html", include=["charts"]), "The figures as they will look", 640)


def _data(run: Kept, name: str, left: Any, right: Any) -> None:
    plan = run.plan
    with left:
        st.markdown("**Judgments**: one row a judgment, with the order shown and the reply.")
        _made("judgments.csv", name, lambda: run.content(".csv"))
        st.markdown("**Numbers**: one row a number, with its interval, as every page shows it.")
        _made("numbers.csv", name, lambda: run.content(".numbers.csv"))
        if plan is not None:
            st.markdown("**Study**: what was asked of whom, to be run again.")
            _made("study.toml", name, lambda: study_toml(plan.study))
        st.markdown("**Run**: all of it in one file, which another lab reads.")
        _made("run.zip", name, lambda: run.content(".zip"))
        _terminal(f"rubriclab export {run.id} --out run.zip")
    with right:
        st.caption("Preview: the first judgments")
        first = run.judgments(limit=12)
        columns = [column for column in PREVIEW if column in first]
        wide = {"item_id": st.column_config.Column(width=200)}
        st.dataframe(first[columns], hide_index=True, width="stretch", column_config=wide)


def _made(kind: str, name: str, make: Callable[[], str | bytes]) -> None:
    """A download whose file is made when it is asked for. ``kind``: its ending is that of the
    file.
    """
    stem, _, ending = kind.partition(".")
    label = f"{stem.capitalize()} ({ending.upper()})"
    download(label, make, file_name(f"{name} {stem}", f".{ending}"), key=f"download-{stem}")


def _terminal(command: str) -> None:
    fold("The same from a terminal", lambda: verbatim(command), icon="terminal")
