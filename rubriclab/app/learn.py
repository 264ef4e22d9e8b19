"""The recorded example in; Learn out: four pictures of it, every definition, what is assumed, how
the method was checked.
"""

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import state
from rubriclab.app.answer_tabs import show_definition
from rubriclab.app.call_browser import show_cards
from rubriclab.app.chart_view import chart
from rubriclab.app.frame import safe, tabs
from rubriclab.core.topic import DEFINITIONS, MEASURES
from rubriclab.figures.cards import example_of
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
            "Definitions": _definitions,
            "Assumptions": _assumptions,
            "Method check": _checks,
        }
    )


def _pictures() -> None:
    """The recorded example: one answer, the noise, the positions, what helps. Every number is a row
    of that run.
    """
    run_id = state.recorded()
    findings = state.findings(run_id)
    subject = subject_of(findings)
    said, helps = judged(findings, subject), helps_answer(findings, subject)
    same, other = (
        findings.select(name, condition=subject.condition)[0]
        for name in ("repeat_change", "order_change")
    )
    same_said, other_said = (
        f"{number(row.value)}{NBSP}points ({inside(row)})" for row in (same, other)
    )
    fields = {
        "same": same_said,
        "other": other_said,
        "line": said.line,
        "helps": f"{helps.headline}. {helps.line}",
    }
    # The beginnings of the descriptions, so that two cards fit beside each other.
    texts = state.kept(run_id).descriptions(None, subject.condition)
    short = {score: f"{text.split('. ')[0].rstrip('.')}." for score, text in texts.items()}
    noise = forest_of(
        [mark(same, "same order, asked again"), mark(other, "another order")], "points"
    )
    pictures = None, noise, main_picture(findings, subject).picture, calls_curve(findings, subject)
    columns = [*st.columns(2, gap="large"), *st.columns(2, gap="large")]
    for (title, words), picture, column in zip(WORDS["pictures"], pictures, columns, strict=True):
        with column, st.container(key=f"learn-{title[0]}"):
            st.header(title, anchor=False)
            if picture is not None:
                chart(picture, key=f"learn-chart-{title[0]}")
            elif title.startswith("1"):
                show_cards(example_of(findings.judgments.arms[subject.condition], short))
            st.markdown(safe(words.format(**fields)))
    st.caption(
        f"{safe(findings.judgments.table.name)}: {safe(subject.judge)}, a small model, on the "
        f"lab's own sample."
    )


def _definitions() -> None:
    """Every term in one line, formula and source on opening. ``?find=`` takes keys of definitions,
    or words.
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
        if not wanted or any(
            key == word if word in DEFINITIONS else word in text for word in wanted
        ):
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


def _assumptions() -> None:
    """What is causal and what is not; what each measure rests on stands with its definition."""
    for title, lines in WORDS["assumptions"].items():
        st.header(title, anchor=False)
        st.markdown("\n".join(f"- {safe(line)}" for line in lines))


def _checks() -> None:
    """What simulated judges showed, with what is promised and how many cells miss it."""
    st.markdown(WORDS["checked"])
    rows = []
    for kind, part, cells, enough, studies, low, high, missed in CHECKS:
        ends = " to ".join(number(end, ".1%") for end in dict.fromkeys((low, high)))
        held = "–" if kind == "power" or not enough else f"{missed} of {enough}"
        rows.append(
            (safe(part).capitalize(), *WORDS["questions"][kind], ends, cells, f"{studies:,}", held)
        )
    columns = [
        "Simulated",
        "What",
        "Promise",
        "Measured",
        "Cells",
        "Studies each, at least",
        "Miss",
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        width="stretch",
        height=35 * len(rows) + 38,
    )
