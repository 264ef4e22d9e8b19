"""Explain position bias in four pictures, and define and check every number."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import state
from rubriclab.app.answer_tabs import show_definition
from rubriclab.app.call_browser import show_cards
from rubriclab.app.chart_view import chart
from rubriclab.app.frame import safe, tabs
from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import rehearsed
from rubriclab.core.topic import DEFINITIONS, MEASURES, Findings, Row
from rubriclab.figures.cards import example_of
from rubriclab.figures.marks import Picture, Series
from rubriclab.figures.pictures import forest_of, main_picture, mark
from rubriclab.figures.tab_pictures import calls_curve
from rubriclab.words.answer import judged
from rubriclab.words.phrases import NBSP, inside, number
from rubriclab.words.subject import subject_of
from rubriclab.words.what_helps import helps_answer

WORDS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "learn.toml").read_text("utf-8"))
CHECKS: list[Any] = tomllib.loads((Path(__file__).parent / "method_check.toml").read_text("utf-8"))[
    "checks"
]
"""Made by ``python -m benchmarks method --write``."""


def page() -> None:
    st.title("What position bias is, in four pictures", anchor=False)
    tabs(
        {
            "Four pictures": _pictures,
            "Stopping early": _stopping,
            "Definitions": _definitions,
            "Assumptions": _assumptions,
            "Method check": _checks,
        }
    )


def _pictures() -> None:
    """Draw one answer, the noise, the positions, and what helps, from the recorded example.

    Every number on the page is a row of that run, so the pictures cannot contradict its results.
    """
    run_id = state.recorded()
    findings = state.findings(run_id)
    subject = subject_of(findings)
    answer, helps = judged(findings, subject), helps_answer(findings, subject)
    same = findings.select("repeat_change", condition=subject.condition)[0]
    other = findings.select("order_change", condition=subject.condition)[0]
    fields = {
        "same": _points(same),
        "other": _points(other),
        "line": answer.line,
        "helps": f"{helps.headline}. {helps.line}",
    }
    # Only the first sentence of each description, so that two cards fit side by side.
    texts = state.kept(run_id).descriptions(None, subject.condition)
    short = {score: f"{text.split('. ')[0].rstrip('.')}." for score, text in texts.items()}
    noise = forest_of([mark(same, "same order, repeated"), mark(other, "another order")], "points")
    # The first picture is a pair of cards, and no chart.
    pictures = None, noise, main_picture(findings, subject).picture, calls_curve(findings, subject)
    columns = [*st.columns(2, gap="large"), *st.columns(2, gap="large")]
    for (title, words), picture, column in zip(WORDS["pictures"], pictures, columns, strict=True):
        with column, st.container(key=f"learn-{title[0]}"):
            st.header(title, anchor=False)
            if picture is not None:
                chart(picture, key=f"learn-chart-{title[0]}")
            elif title.startswith("1"):
                arm = findings.judgments.arms[subject.condition]
                show_cards(example_of(arm, short, findings.pass_rate(arm.code)))
            st.markdown(safe(words.format(**fields)))
    st.caption(
        f"{safe(findings.judgments.table.name)}: {safe(subject.judge)}, a small model, on the "
        "lab's own sample."
    )


@st.cache_data(show_spinner=False)
def _looked_at(run_id: str) -> list[tuple[int, Row, bool]]:
    """Return what each look at the recorded example would have shown of position 1.

    Each is (answers that are in, the row of the share, whether the run would stop).
    """
    whole = state.findings(run_id)
    plan = rehearsed(whole.judgments)
    table = replace(whole.judgments.table, looks=plan)
    judge = whole.conditions[0].judge
    batch = plan.scopes[whole.conditions[0].scope].batch
    batch_of_row = table.rows["item"].map(batch)
    looks = []
    for last in range(int(batch_of_row.max()) + 1):
        rows = table.rows[batch_of_row <= last].reset_index(drop=True)
        part = Findings(Judgments(replace(table, rows=rows, probabilities=None)), whole.reading)
        look = next(look for look in part.last_looks if look.judge == judge)
        row = part.select("position_share", condition=0, position=1)[0]
        looks.append((look.units, row, look.stops))
    return looks


def _stopping() -> None:
    """Explain how a run may stop early, with the recorded example as it would have been asked."""
    words = WORDS["stopping"]
    run_id = state.recorded()
    subject = subject_of(state.findings(run_id))
    looks = _looked_at(run_id)
    answers = looks[-1][0]
    first = next((units for units, _, stops in looks if stops), answers)
    fields = {
        "judge": subject.judge,
        "first": f"{first:,}",
        "all": f"{answers:,}",
        "saved": number(1 - first / answers, ".0%"),
    }
    left, right = st.columns([1.1, 1], gap="large")
    with left:
        st.header(words["title"], anchor=False)
        st.markdown("\n".join(f"- {safe(line)}" for line in words["lines"]))
    with right, st.container(key="learn-stopping"):
        st.header(safe(words["picture"].format(**fields)), anchor=False)
        even = 1 / state.findings(run_id).conditions[0].positions  # its orders are balanced
        bars = tuple(mark(row, f"{units:,}", expected=even) for units, row, _ in looks)
        said = ", ".join(f"{point.text} after {point.label} answers" for point in bars)
        picture = Picture(
            "bars",
            (Series("", bars),),
            f"Bar chart of the share of position 1 at each look: {said}.",
            axes=("Answers that are in", ""),
            reference=f"no bias: {number(even, '.0%')}",
        )
        chart(picture, key="learn-stopping-chart")
        st.caption(safe(words["caption"].format(**fields)))


def _points(row: Row) -> str:
    return f"{number(row.value)}{NBSP}points ({inside(row)})"


def _definitions() -> None:
    """List every term in one line each, with formula and source when it is opened.

    The address takes ``?find=`` with keys of definitions, as links to this page use them, or words.
    """
    find = st.text_input(
        "Find", key="find", bind="query-params", placeholder="kappa, noise, Cramér", max_chars=2_000
    )
    wanted = [word.strip().casefold() for word in (find or "").split(",") if word.strip()]
    names: dict[str, list[str]] = {key: [] for key in DEFINITIONS}
    for measure in MEASURES.values():
        names.get(measure.term or measure.key, []).append(measure.name)
    kept = {}
    for key, entry in DEFINITIONS.items():
        text = " ".join([key.replace("_", " "), *names[key], *entry.values()]).casefold()
        if not wanted or any(_matches(word, key, text) for word in wanted):
            kept[key] = entry
    st.caption(f"{len(kept)} of {len(DEFINITIONS)} definitions")
    for key, entry in kept.items():
        name = [*names[key], key.replace("_", " ").capitalize()][0]
        with st.expander(
            f"**{safe(name)}** {NBSP}{safe(entry['sentence'])}", expanded=len(kept) == 1
        ):
            show_definition(entry)
            if len(names[key]) > 1:
                st.caption(f"Numbers: {safe(', '.join(names[key]))}")


def _matches(word: str, key: str, text: str) -> bool:
    """Return whether a definition is looked for. A word that is itself a key means only that."""
    if word in DEFINITIONS:
        return word == key
    return word in text


def _assumptions() -> None:
    """Say what is causal and what is not. Each definition names what its measure assumes."""
    for title, lines in WORDS["assumptions"].items():
        st.header(title, anchor=False)
        st.markdown("\n".join(f"- {safe(line)}" for line in lines))


def _checks() -> None:
    """Show what simulated judges revealed about the method, with what the lab promises."""
    st.markdown(WORDS["checked"])
    rows = []
    for kind, part, cells, enough, studies, low, high, missed in CHECKS:
        ends = " to ".join(number(end, ".1%") for end in dict.fromkeys((low, high)))
        misses = f"{missed} of {enough}"
        if kind == "power" or not enough:  # nothing is promised, or too few studies to judge it
            misses = "–"
        question = WORDS["questions"][kind]
        rows.append((safe(part).capitalize(), *question, ends, cells, f"{studies:,}", misses))
    columns = [
        "Simulated studies",
        "What",
        "Promise",
        "Measured",
        "Cells",
        "Min studies per cell",
        "Misses",
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        width="stretch",
        height=35 * len(rows) + 38,
    )
