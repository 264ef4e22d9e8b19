"""Rate answers yourself: a run in, a person's blind ratings kept one by one, and what they say of
the judge by now out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from rubriclab.app import state
from rubriclab.app.forms import column_select
from rubriclab.app.frame import announce, faults, fold, off_scale, safe, verbatim
from rubriclab.data.items import guess_columns, holds_numbers, ratings_of
from rubriclab.data.tables import ENDINGS, as_list, read_table
from rubriclab.model.data import INTENDED
from rubriclab.model.text import LabError, count, digest, look_alike, storable, without_invisible
from rubriclab.words.subject import subjects_of_orders
from rubriclab.words.with_people import has_people, people_answer

if TYPE_CHECKING:
    import pandas as pd

    from rubriclab.store.read import RunInfo

SAMPLE, LOOK, MOST_NAME = 30, 15, 60
"""Answers rated before any other; ratings after which it is said what they show; signs of a name.
"""
KEYS = "123456789"


class Material(NamedTuple):
    """``sample``, ``rest``: codes of the items to be rated first, and after them; ``scores``: the
    scale, ascending; ``words``: criterion -> score -> what it stands for.
    """

    sample: list[int]
    rest: list[int]
    scores: tuple[float, ...]
    words: dict[str | None, dict[Any, str]]


def can_be_rated(info: RunInfo) -> bool:
    """Runs of the user's store whose calls score answers; recorded examples end with the
    process.
    """
    return info.reorder not in ("pairs", "lists") and any(
        own.id == info.id for own in state.store().runs()
    )


def rate_button(info: RunInfo, key: str) -> None:
    """The way here from Results; nothing for a run that cannot be rated."""
    if can_be_rated(info):
        rate = partial(st.query_params.from_dict, {"run": info.id, "rate": "1"})
        st.button("Rate answers yourself", icon=":material/rate_review:", key=key, on_click=rate)


@st.dialog("Add human scores", width="large")
def add_scores(info: RunInfo) -> None:
    """A table of people's scores of a run's answers in: which columns they are, how many rows name
    an answer, and kept.
    """
    file = st.file_uploader(
        "One answer per row, its id and a column for each person (or a column of raters): CSV, "
        "TSV, Excel, JSON or Parquet",
        ENDINGS,
        key="people-file",
    )
    if file is None:
        return
    with faults():
        table, items = read_table(file.getvalue(), file.name), state.kept(info.id).table.items
        ids = set(items["item_id"].astype(str))
        match = max(table.columns, key=lambda name: len(ids.intersection(table.column(name))))
        guess = guess_columns(table).columns
        with st.container(horizontal=True):
            named_by = column_select("Id of the answer", table.columns, match, key="people-id")
            columns: dict[str, Any] = {"item_id": named_by}
            for role, label in {"rater": "Rater", "criterion": "Criterion"}.items():
                columns[role] = column_select(
                    label, table.columns, str(guess.get(role, "")), key=f"people-{role}"
                )
        people = as_list(guess.get("human"))
        if not columns["rater"]:
            people = [
                name
                for name in table.columns
                if name != match and holds_numbers(table.column(name))
            ]
        columns["human"] = st.multiselect("Human scores", table.columns, people, key="people-human")
        given = ratings_of(table, {role: name for role, name in columns.items() if name})
        matched: dict[int, dict[str, float]] = {}
        for item, key in enumerate(
            zip(items["item_id"].astype(str), items["criterion"].fillna(""), strict=True)
        ):
            if ratings := given.get(key) or given.get((key[0], "")):
                matched[item] = ratings
        named = {str(items["item_id"].iloc[item]) for item in matched}
        raters = {rater for ratings in matched.values() for rater in ratings}
        strange = len({name for name, _ in given} - ids)
        st.markdown(
            f"Scores of {count(len(raters), 'person', 'people')} for {len(named)} of "
            f"{count(len(ids), 'answer')}."
            + f" :orange[{count(strange, 'id')} of the file {'is' if strange == 1 else 'are'} no "
            f"answer of this run.]" * bool(strange)
        )
        rated = [score for ratings in matched.values() for score in ratings.values()]
        scores = [score for asked in state.kept(info.id).table.conditions for score in asked.scores]
        off_scale(
            rated,
            scores,
            "the judge's",
            "differences in points mean nothing then, correlations do.",
        )
        opens: Any = {"on_click": st.session_state.update, "args": ({"tab": "With people"},)}
        if st.button("Add these scores", type="primary", disabled=not rated, **opens):
            added = state.store().add_ratings(info.id, matched)
            announce(f"{count(added, 'score')} added; {len(rated) - added} stood there before.")
            st.rerun()


def sampled(means: pd.Series, seed: int) -> tuple[list[int], list[int]]:
    """(items to be rated first, the others): of SAMPLE half from the middle of the judges' scores
    and half from their ends.

    ``means``: an item's mean score by its code.
    """
    ranked = means.sample(frac=1.0, random_state=seed).sort_values(kind="stable").index.tolist()
    most = min(SAMPLE, len(ranked))
    low, high = most // 4, len(ranked) - (most // 2 - most // 4)
    start = (low + high - (most - most // 2)) // 2
    sample = [*ranked[:low], *ranked[start : start + most - most // 2], *ranked[high:]]
    return sample, sorted(set(ranked) - set(sample))


@st.cache_resource(show_spinner=False, max_entries=16)
def _material(token: str, run_id: str) -> Material:  # noqa: ARG001 - the run that it is cached by
    """What is rated on the first condition's scale; the same sample for every rater, so that raters
    can be compared.
    """
    run = state.kept(run_id)
    rows, scores = run.table.rows, run.table.conditions[0].scores
    alike = [
        code
        for code, asked in enumerate(run.table.conditions)
        if asked.scores == scores and not asked.chooses
    ]
    means = rows[rows["condition"].isin(alike)].groupby("item")["score"].mean().dropna()
    criteria = set(run.table.items["criterion"].iloc[means.index])
    words = {name or None: run.descriptions(name or None) for name in criteria}
    return Material(*sampled(means, int(digest(run_id)[:8], 16)), scores, words)


def page(info: RunInfo) -> None:
    """Draws the view of Results that ``?rate=1`` names."""
    st.title("Rate answers yourself", anchor=False)
    if st.button("Back to results", icon=":material/arrow_back:", type="tertiary"):
        st.query_params.pop("rate", None)
        st.rerun()
    if st.query_params.get("run", info.id) != info.id or not can_be_rated(info):
        raise LabError(
            "This run cannot be rated: it was deleted, is a recorded example, or scores no answers."
        )
    if fault := st.session_state.pop("rate-fault", ""):
        st.error(safe(fault), icon=":material/error:")
    given, material = state.store().ratings(info.id), _material(info.token, info.id)
    if not material.sample:
        raise LabError(
            "No answer of this run has a score yet, so none can be chosen. Come back when some are "
            "in."
        )
    rater = _rater({name for ratings in given.values() for name in ratings})
    if not rater:
        return
    order = np.random.default_rng(int(digest(info.id, rater)[:8], 16)).permutation
    queue = [
        int(item) for part in (material.sample, material.rest) for item in order(part).tolist()
    ]
    later = st.session_state.setdefault(f"rate-later {info.id} {rater}", [])
    left = sorted(
        (item for item in queue if rater not in given.get(item, {})), key=lambda item: item in later
    )
    done = len(queue) - len(left)
    goal = len(material.sample) if done < len(material.sample) else len(queue)
    st.progress(done / goal, text=f"{done} of {goal}")
    if done >= LOOK and (done % LOOK == 0 or not left):
        _by_now(info, done)
    elif done >= LOOK:
        fold(
            "What can be said by now", lambda: _by_now(info, done), icon="insights", key="rate-now"
        )
    if left:
        _item(info, material, left[0], rater, later)


def _rater(known: set[str]) -> str:
    """The rater's name as it is kept, empty until there is one that looks like no other's; then the
    field is gone, so that keys are ratings and not signs of a name.
    """
    rater = str(st.session_state.get("rate-rater", ""))
    if rater:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Rated by **{safe(rater)}**", width="content")
            st.button(
                "Another person",
                type="tertiary",
                on_click=st.session_state.pop,
                args=("rate-rater",),
            )
        return rater
    with st.form("rate-form", border=False):
        typed = st.text_input("Your name", max_chars=MOST_NAME, width=330)
        started = st.form_submit_button("Start", type="primary")
    st.caption(
        "One answer at a time, without the judge's score. Each is kept at once; stop, go on when "
        "you like."
    )
    rater = " ".join(storable(without_invisible(typed)).split())
    for other in sorted(known | {INTENDED}):
        if look_alike(other) == look_alike(rater) and (other != rater or other == INTENDED):
            words = f"“{rater}” looks like “{other}”, a name that is taken."
            raise LabError(f"{words} Go on as that person, or add to your name.")
    if started and rater:
        st.session_state["rate-rater"] = rater
        st.rerun()
    return ""


def _item(info: RunInfo, material: Material, item: int, rater: str, later: list[int]) -> None:
    """One answer, without its name or the judge's score, and a button for each score."""
    shown = state.store().item(info.id, item)
    text, scale = st.columns([1.6, 1], gap="large")
    with text:
        for label, part in (
            ("Instruction", "instruction"),
            ("Reference answer", "reference"),
            ("Answer", "response"),
        ):
            if shown[part]:
                st.caption(label)
                verbatim(shown[part], height=420 if len(shown[part]) > 1_500 else None)
        if not shown["response"]:
            st.info("The text of this answer is not in the store: its judgments came from a file.")
    mine = st.session_state.setdefault(f"rate-given {info.id} {rater}", [])
    with scale, st.container(key="rate-scale"):
        st.header(safe(shown["criterion"] or "Your score", 80), anchor=False)
        words = material.words.get(shown["criterion"], {})
        named = all(f"{score:g}" in KEYS for score in material.scores)
        for rank, score in enumerate(material.scores):
            key = f"{score:g}" if named else KEYS[rank] if rank < len(KEYS) else None
            label, values = (
                f"**{score:g}**  {safe(words.get(score, ''), 160)}",
                (info.id, item, rater, score, mine),
            )
            st.button(
                label,
                key=f"rate-{rank}",
                shortcut=key,
                width="stretch",
                on_click=_keep,
                args=values,
            )
        with st.container(horizontal=True):
            last = (info.id, mine[-1] if mine else -1, rater, None, mine)
            st.button(
                "Undo", shortcut="U", type="tertiary", disabled=not mine, on_click=_keep, args=last
            )
            st.button("Later", shortcut="L", type="tertiary", on_click=later.append, args=(item,))


def _keep(run_id: str, item: int, rater: str, score: float | None, mine: list[int]) -> None:
    """A rating given, or taken back; ``mine``: the items that this visit has rated, the last one
    last.
    """
    try:
        before = state.store().rate(run_id, item, rater, score)
    except LabError as fault:
        st.session_state["rate-fault"] = f"Nothing was kept. {fault}"
        return
    if score is None:
        mine.remove(item)
    elif before is None:
        mine.append(item)
    else:
        st.session_state["rate-fault"] = (
            f"You rated that answer {before:g} in another window, and that is kept."
        )


def _by_now(info: RunInfo, done: int) -> None:
    """How far each judge agrees with all ratings by now, in the words of With people, and what is
    missing.
    """
    st.header("What can be said by now", anchor=False)
    findings = state.findings(info.id)
    for subject in subjects_of_orders(findings):
        if has_people(findings, subject.condition):
            said = people_answer(findings, subject)
            chance = (
                said.questions[0].sentence if said.questions else f"{said.headline}. {said.line}"
            )
            st.markdown(f"**{safe(said.judge, 60)}**: {safe(chance)}")
    raters = {rater for ratings in state.store().ratings(info.id).values() for rater in ratings} - {
        INTENDED
    }
    missing = (
        [f"{count(SAMPLE - done, 'more answer')}, for a narrower interval"] if done < SAMPLE else []
    )
    if len(raters) < 3:
        more = count(3 - len(raters), "more rater")
        missing.append(f"{more}, to know what people reach and whether it may replace one")
    if missing:
        st.markdown(f"Still missing: {'; '.join(missing)}.")
    st.caption(
        "Half of the first answers got middling scores, half extreme ones; over all, agreement may "
        "be lower."
    )
