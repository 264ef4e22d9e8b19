"""The Method check page's parts: the recorded calibration, and a check of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.figures.check import coverage, rejection
from rubriclab.findings.check import (
    ALL_JUDGES,
    ANY_ADVICE,
    DEFINITION,
    Check,
    Planted,
    called,
    check_of,
    in_words,
    pulls_words,
    verdict_words,
)
from rubriclab.model import LabError
from rubriclab.model.language import msg, tr
from rubriclab.model.places import CALIBRATION
from rubriclab.model.wording import UNKNOWN, many, number
from rubriclab.runs.check import Checking, warnings_of

JUDGES = {
    "ordinary": msg("each item has its own score probabilities; the order plays no part"),
    "clustered": msg("each item leans to positions of its own, which cancel out over items"),
    "skewed": msg("scores pile up at the top"),
    "sharp": msg("nearly always the same score for an item"),
    "constant": msg("one score for everything"),
}


class Recorded(NamedTuple):
    checks: tuple[Check, ...]
    studies: int
    seed: int
    note: str


@st.cache_resource(show_spinner=False, max_entries=2)
def _read(path: str, changed: float) -> Recorded:  # noqa: ARG001 (a key of the cache)
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    checks = tuple(check_of(row) for row in document["checks"])
    return Recorded(checks, document["studies"], document["seed"], document.get("note", ""))


def recorded() -> Recorded:
    """The large run that comes with the lab. Raises LabError where the file is not there."""
    if not CALIBRATION.exists():
        raise LabError(
            tr(
                "The recorded calibration ({file}) is missing. Run a check of your own below, or "
                "tests/calibration/run_calibration.py.",
                file=CALIBRATION,
            )
        )
    return _read(str(CALIBRATION), CALIBRATION.stat().st_mtime)


@st.cache_resource(show_spinner=False)
def _checkings() -> dict[str, Checking]:
    """The checks of this server by the session that asked for them."""
    return {}


def mine() -> Checking | None:
    """This session's check, going or done."""
    return _checkings().get(str(st.session_state.get("check-check", "")))


# ---------------------------------------------------------------- the recorded runs


def show_verdicts() -> None:
    """How often whole runs say what is not true, then every miss."""
    checks = [c for c in recorded().checks if c.way == "runs"]
    if not checks:
        st.info(tr("No check of whole runs is recorded with this lab: `check-methods --all` makes one."))
        return
    for sentence in verdict_words(checks):
        st.markdown(f"- {ui.plain(sentence)}")
    if recorded().note:
        st.markdown(f"- {ui.plain(tr(recorded().note))}")
    st.caption(
        tr(
            "Judges of nine families that the lab's statistics do not assume (a latent trait, tastes that "
            "differ by item, replies missing on poor items, prompts in clusters and more), under the designs "
            "that people use. “Items lean”: the order moves single items, not the average."
        )
    )
    missed = [c for c in checks if c.standing == "misses"]
    st.markdown(tr("**Every miss** ({n:,})", n=len(missed)))
    if missed:  # the browser calls a table without rows “empty”, in every language
        show_table(_of_runs(missed))
    st.markdown(tr("**How often a whole run said what is not true**, in how many runs"))
    rates = [c for c in checks if c.method == ANY_ADVICE]
    st.dataframe(wide(rates), hide_index=True, width="stretch")
    with st.expander(tr("Power, and every interval over all judges"), icon=":material/query_stats:"):
        rest = [c for c in checks if c.quantity == "power" or c.judge == ALL_JUDGES]
        show_table(_of_runs(rest))


def show_pulls() -> None:
    """What “What pulls?” said of judges that nothing pulls, and what it found of what was planted."""
    checks = [c for c in recorded().checks if c.way == "what pulls"]
    for sentence in pulls_words(checks):
        st.markdown(f"- {ui.plain(sentence)}")
    st.caption(
        tr(
            "The same families of judges, asked about the changes of the lab's sample rubric as “What "
            "pulls?” asks. “Label pulls 0.4 points”: the order moves scores by 0.4 points, and not at all "
            "once the labels are others."
        )
    )
    with st.expander(tr("Every family, size and plant"), icon=":material/query_stats:"):
        show_table(_of_runs(checks))


def wide(checks: Sequence[Check]) -> pd.DataFrame:
    """False rates of whole runs: one row a judge and design, a column a size, in per cent of runs."""
    rows = [
        (
            c.quantity,
            c.judge,
            c.design,
            many(c.n_items, "item"),
            tr("{share:.1%} of {studies:,}", share=c.value, studies=c.studies),
        )
        for c in checks
    ]
    long = pd.DataFrame(rows, columns=["what", "judge", "design", "items", "value"])
    table = long.pivot(index=["what", "judge", "design"], columns="items", values="value")
    sizes = [many(n, "item") for n in sorted({c.n_items for c in checks})]
    return named(table[sizes].map(lambda v: "" if pd.isna(v) else v).reset_index())


def _of_runs(checks: Sequence[Check]) -> pd.DataFrame:
    return table(checks).assign(design=[c.design for c in checks]).drop(columns=["way", "unread"])


_SETTINGS: tuple[tuple[str, str, str, float, Callable[[float], str]], ...] = (
    ("n_items", "items", msg("Items"), 60, str),
    ("n_options", "options", msg("Score options"), 5, str),
    ("unread", "unread", msg("Unreadable replies"), 0.1, lambda share: number(share, ".0%")),
)
"""Field of a check, its name in the address, label, default, how its values are written."""


def show_recorded() -> None:
    calibration = recorded()
    st.caption(
        tr(
            "Recorded with the lab: {studies:,} simulated studies a setting, seed {seed}. The settings below "
            "choose which part of it is shown.",
            studies=calibration.studies,
            seed=calibration.seed,
        )
    )
    arrays = chosen = [c for c in calibration.checks if c.way == "arrays"]
    for place, (field, address, label, default, written) in zip(st.columns(3), _SETTINGS, strict=True):
        values = sorted({getattr(c, field) for c in arrays})
        with place:
            value = ui.choose(
                tr(label), values, default=default, segments=True, key=f"check-{address}", address=address, name=written
            )
        chosen = [c for c in chosen if getattr(c, field) == value]
    order = list(JUDGES)
    chosen.sort(key=lambda c: (order.index(c.judge.split(",")[0]), c.judge))
    show(chosen, key="recorded")
    with st.expander(tr("The judges"), icon=":material/gavel:"):
        for name, about in JUDGES.items():
            st.markdown(f"**{called(name)}**: {tr(about)}.")
    rest = [c for c in calibration.checks if c.way == "pipeline"]
    with st.expander(
        tr("Through the whole pipeline: order of criteria, odds, paired differences"), icon=":material/account_tree:"
    ):
        show_table(table(rest))


def show(checks: Sequence[Check], *, key: str) -> None:
    """Words, the rejection chart, and coverage, power and the table on tabs."""
    for sentence in in_words([c for c in checks if c.quantity != "power"]):
        st.markdown(f"- {ui.plain(sentence)}")
    tabs = st.tabs([tr("False alarms"), tr("Coverage"), tr("Power"), tr("Table")])
    with tabs[0]:
        ui.chart(rejection(checks), key=f"check-{key}-level")
        st.caption(
            tr(
                "The dotted line is the nominal 5 %, the shaded range what the lab promises. The chi² makes no "
                "promise here: it is shown beside it on the same data."
            )
        )
    with tabs[1]:
        ui.chart(coverage(checks), key=f"check-{key}-coverage")
    with tabs[2]:
        ui.chart(rejection(checks, quantity="power"), key=f"check-{key}-power")
        st.caption(
            tr("A test that is too eager without an effect has no power to speak of: what it finds cannot be believed.")
        )
    with tabs[3]:
        show_table(table(checks))
        st.caption(tr(DEFINITION))


COLUMNS = (
    msg("what"),
    msg("method"),
    msg("judge"),
    msg("value"),
    msg("± (MC error)"),
    msg("from"),
    msg("to"),
    msg("promise"),
    msg("studies"),
    msg("items"),
    msg("options"),
    msg("unread"),
    msg("way"),
)
_NUMBERS = ("value", "± (MC error)", "from", "to")
_SAID = ("what", "promise", "way")
_CALLED = ("method", "judge", "design")
_WORDS: Mapping[str, str] = {
    "false effect": msg("false effect"),
    "false equivalent": msg("false equivalent"),
    "type-I error": msg("type-I error"),
    "power": msg("power"),
    "coverage": msg("coverage"),
    "recovery": msg("recovery"),
    "holds": msg("holds"),
    "cannot say": msg("cannot say"),
    "misses": msg("misses"),
    "not promised": msg("not promised"),
    "pipeline": msg("pipeline"),
    "arrays": msg("arrays"),
    "runs": msg("runs"),
    "what pulls": msg("what pulls"),
    "design": msg("design"),
}
"""What a check is of, where it stands, how it was made; and the one more column of whole runs."""


def show_table(checks: pd.DataFrame) -> None:
    """A table of checks in the reader's language."""
    shown = named(checks)
    forms = {name: "%.3f" for name in map(tr, _NUMBERS) if name in shown}
    columns = {name: ui.number_column(name, form) for name, form in forms.items()}
    table = ui.written(shown, forms)
    st.dataframe(table, hide_index=True, width="stretch", column_config=columns, placeholder=UNKNOWN)


def named(checks: pd.DataFrame) -> pd.DataFrame:
    """The words and headings of a table of checks said."""
    said = {column: checks[column].map(lambda word: tr(_WORDS.get(word, word))) for column in _SAID if column in checks}
    names = {column: checks[column].map(called) for column in _CALLED if column in checks}
    return checks.assign(**said, **names).rename(columns=tr)


def table(checks: Sequence[Check]) -> pd.DataFrame:
    """One row a check; ``from`` and ``to``: where the value should lie."""
    rows = [
        (
            c.quantity,
            c.method,
            c.judge,
            c.value,
            c.se,
            *(c.accepted or (None, None)),
            c.standing,
            c.studies,
            c.n_items,
            c.n_options,
            c.unread,
            c.way,
        )
        for c in checks
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


# ---------------------------------------------------------------- one's own


def own_check() -> None:
    """Choose effects and sizes, run, watch, read."""
    with st.form("check-form", border=True):
        options = _choices()
        started = st.form_submit_button(tr("Run the check"), type="primary", icon=":material/play_arrow:")
    going = mine()
    if started and going is not None and going.active:
        st.warning(tr("A check of yours is still going: stop it first."))
    elif started:
        others = sum(c.active for c in _checkings().values())
        if others >= 2:
            st.warning(tr("Two checks are going on this server already; try again when one is done."))
        else:
            _start(options)
    if mine() is not None:
        _watch()


def _start(options: dict[str, Any]) -> None:
    known = _checkings()
    for name in [name for name, check in known.items() if not check.active][:-20]:
        del known[name]  # sessions come and go; the last results are enough
    check = Checking(**options)
    name = f"{id(check)}"
    known[name] = check.start()
    st.session_state["check-check"] = name


def _choices() -> dict[str, Any]:
    st.markdown(tr("**What is planted** (log-odds; 0.5 multiplies the odds of a choice by 1.6)"))
    row = st.columns(3)
    first = row[0].number_input(tr("What stands first"), -3.0, 3.0, 0.5, 0.1, key="check-first")
    last = row[1].number_input(tr("What stands last"), -3.0, 3.0, 0.0, 0.1, key="check-last")
    label = row[2].number_input(tr("The label 1"), -3.0, 3.0, 0.0, 0.1, key="check-label")
    row = st.columns(3)
    after = row[0].number_input(tr("What follows the highest score"), -3.0, 3.0, 0.0, 0.1, key="check-neighbour")
    lean = row[1].number_input(tr("Items' own leanings (sd)"), 0.0, 3.0, 0.0, 0.1, key="check-lean")
    unread = row[2].number_input(tr("Unreadable replies (share)"), 0.0, 0.9, 0.1, 0.05, key="check-own-unread")
    st.markdown(tr("**How large a study, and how many**"))
    row = st.columns(3)
    items = row[0].number_input(tr("Items"), 10, 1_000, 60, 10, key="check-own-items")
    options = row[1].number_input(tr("Score options"), 2, 10, 5, key="check-own-options")
    studies = row[2].number_input(
        tr("Studies"),
        10,
        1_000,
        100,
        10,
        key="check-own-studies",
        help=tr(
            "Each is planned, asked, parsed and worked out as a real one: about 0.15 s at 60 items and 5 "
            "options, once without and once with the effects."
        ),
    )
    return {
        "studies": int(studies),
        "items": int(items),
        "options": int(options),
        "array_studies": 300,
        "planted": Planted(first, last, label, after, lean, unread),
    }


@st.fragment(run_every=1.0)
def _progress() -> None:
    check = mine()
    if check is None:
        return
    done, total = check.progress
    if not check.active:
        st.rerun()
    st.progress(done / total, text=tr("{done:,} of {studies}", done=done, studies=many(total, "study")))
    if st.button(tr("Stop"), icon=":material/stop:", key="check-stop"):
        check.stop()


def _watch() -> None:
    check = mine()
    if check is None:
        return
    if check.active:
        _progress()
        return
    if check.error is not None:
        st.error(ui.plain(check.error), icon=":material/error:")
    if check.result is not None:
        found = check.result
        for warning in warnings_of(found.studies, found.n_items, found.n_options, found.planted):
            st.caption(f":material/info: {ui.plain(warning)}")
        show(found.checks, key="own")
