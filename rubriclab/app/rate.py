"""Let people score answers without seeing the judge's scores, and keep each rating at once.

What a rater sees must not hint at the judge: no name of the answer, no candidate, no score. The
sample is the same for all raters, so that they can be compared; each sees it in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from rubriclab.app import state
from rubriclab.app.forms import column_select
from rubriclab.app.frame import announce, faults, fold, off_scale, safe, verbatim
from rubriclab.data.items import guess_columns, holds_numbers, ratings_of
from rubriclab.data.tables import ENDINGS, Table, as_list, read_table
from rubriclab.model.data import INTENDED
from rubriclab.model.text import LabError, count, digest, look_alike, storable, without_invisible
from rubriclab.words.subject import subjects_of_orders
from rubriclab.words.with_people import has_people, people_answer

if TYPE_CHECKING:
    import pandas as pd

    from rubriclab.store.read import RunInfo

SAMPLE = 30
"""Answers to rate before any other: enough for a first interval, and done in half an hour."""
LOOK = 15
"""The page says what the ratings show after this many, and again after as many more."""
MOST_NAME = 60
"""Characters of a rater's name."""
Ratings = Mapping[tuple[str, str], dict[str, float]]
"""(id of the answer, criterion or an empty text) -> rater -> score."""
KEYS = "123456789"
"""Keys that give a score: its own number if it is one of these, else its rank."""
LONG_ANSWER = 1_500
"""Characters from which on an answer gets a box that scrolls, so that the buttons stay in view."""


class Material(NamedTuple):
    """What there is to rate in a run.

    sample, rest: codes of the items to rate first, and after them. scores: the scale, ascending.
    words: criterion -> score -> its description.
    """

    sample: list[int]
    rest: list[int]
    scores: tuple[float, ...]
    words: dict[str | None, dict[Any, str]]


def can_be_rated(info: RunInfo) -> bool:
    """Return whether people can rate this run's answers.

    Its calls must score answers, and the user's store must hold it: examples end with the process.
    """
    return info.reorder not in ("pairs", "lists") and any(
        own.id == info.id for own in state.store().runs()
    )


def rate_button(info: RunInfo, key: str) -> None:
    """Draw the way here from Results, unless the run cannot be rated."""
    if can_be_rated(info):
        rate = partial(st.query_params.from_dict, {"run": info.id, "rate": "1"})
        st.button("Rate answers yourself", icon=":material/rate_review:", key=key, on_click=rate)


@st.dialog("Add human scores", width="large")
def add_scores(info: RunInfo) -> None:
    """Add people's scores from a table: choose its columns and see how many rows match."""
    file = st.file_uploader(
        "One answer per row, with its ID and a column for each person (or a column of "
        "raters): CSV, TSV, Excel, JSON or Parquet",
        ENDINGS,
        key="people-file",
    )
    if file is None:
        return
    with faults():
        table, items = read_table(file.getvalue(), file.name), state.kept(info.id).table.items
        ids = set(items["item_id"].astype(str))
        given = ratings_of(table, _score_columns(table, ids))
        matched = _matched(items, given)
        rated = [score for ratings in matched.values() for score in ratings.values()]
        _say_what_matches(items, given, matched)
        off_scale(
            rated,
            [score for asked in state.kept(info.id).table.conditions for score in asked.scores],
            "the judge's",
            "Differences in points then mean nothing, but correlations do.",
        )
        opens: Any = {"on_click": st.session_state.update, "args": ({"tab": "With people"},)}
        if st.button("Add these scores", type="primary", disabled=not rated, **opens):
            added = state.store().add_ratings(info.id, matched)
            known = len(rated) - added
            announce(
                f"{count(added, 'score')} added. {count(known, 'score')} of the file were "
                "there before."
            )
            st.rerun()


def _score_columns(table: Table, ids: set[str]) -> dict[str, Any]:
    """Ask which column is what; return the columns by role, without those that are not there."""
    # The column with most of the run's ids names the answers.
    best = max(table.columns, key=lambda name: len(ids.intersection(table.column(name))))
    guess = guess_columns(table).columns
    with st.container(horizontal=True):
        columns: dict[str, Any] = {
            "item_id": column_select("Answer ID", table.columns, best, key="people-id")
        }
        for role, label in {"rater": "Rater", "criterion": "Criterion"}.items():
            guessed = str(guess.get(role, ""))
            columns[role] = column_select(label, table.columns, guessed, key=f"people-{role}")
    people = as_list(guess.get("human"))
    if not columns["rater"]:  # then every column of numbers may be a person
        people = [
            name for name in table.columns if name != best and holds_numbers(table.column(name))
        ]
    columns["human"] = st.multiselect("Human scores", table.columns, people, key="people-human")
    return {role: name for role, name in columns.items() if name}


def _matched(items: pd.DataFrame, given: Ratings) -> dict[int, dict[str, float]]:
    """Return the scores of each item by rater. A row without a criterion holds for all criteria."""
    matched: dict[int, dict[str, float]] = {}
    keys = zip(items["item_id"].astype(str), items["criterion"].fillna(""), strict=True)
    for item, (item_id, criterion) in enumerate(keys):
        ratings = given.get((item_id, criterion)) or given.get((item_id, ""))
        if ratings:
            matched[item] = ratings
    return matched


def _say_what_matches(
    items: pd.DataFrame, given: Ratings, matched: Mapping[int, Mapping[str, float]]
) -> None:
    """Say how many answers of the run have scores in the file, and how many IDs match none."""
    ids = set(items["item_id"].astype(str))
    named = {str(items["item_id"].iloc[item]) for item in matched}
    raters = {rater for ratings in matched.values() for rater in ratings}
    text = (
        f"Scores by {count(len(raters), 'person', 'people')} for {len(named)} of "
        f"{count(len(ids), 'answer')}."
    )
    unknown = len({item_id for item_id, _ in given} - ids)
    if unknown:
        verb = "is" if unknown == 1 else "are"
        text += f" :orange[{count(unknown, 'ID')} in the file {verb} not in this run.]"
    st.markdown(text)


def sampled(means: pd.Series, seed: int) -> tuple[list[int], list[int]]:
    """Return the items to rate first, and all others.

    Half of the first are from the middle of the judges' scores and half from both ends: even a few
    ratings then show whether the judge tells good answers from bad ones. ``means``: the mean score
    of each item, by its code.
    """
    ranked = means.sample(frac=1.0, random_state=seed).sort_values(kind="stable").index.tolist()
    wanted = min(SAMPLE, len(ranked))
    ends = wanted // 2
    lowest = ranked[: ends // 2]
    highest = ranked[len(ranked) - (ends - ends // 2) :]
    between = ranked[len(lowest) : len(ranked) - len(highest)]
    start = (len(between) - (wanted - ends)) // 2
    middle = between[start : start + wanted - ends]
    sample = [*lowest, *middle, *highest]
    return sample, sorted(set(ranked) - set(sample))


@st.cache_resource(show_spinner=False, max_entries=16)
def _material(token: str, run_id: str) -> Material:  # noqa: ARG001 - the token is the cache's key
    """Return what is rated, on the scale of the first condition.

    The run's id is the seed of the sample, so every rater gets the same one.
    """
    run = state.kept(run_id)
    rows, scores = run.table.rows, run.table.conditions[0].scores
    same_scale = [
        code
        for code, asked in enumerate(run.table.conditions)
        if asked.scores == scores and not asked.chooses
    ]
    means = rows[rows["condition"].isin(same_scale)].groupby("item")["score"].mean().dropna()
    criteria = set(run.table.items["criterion"].iloc[means.index])
    words = {name or None: run.descriptions(name or None) for name in criteria}
    sample, rest = sampled(means, seed=int(digest(run_id)[:8], 16))
    return Material(sample, rest, scores, words)


def page(info: RunInfo) -> None:
    """Draw the view of Results that the address names with ``?rate=1``."""
    st.title("Rate answers yourself", anchor=False)
    if st.button("Back to results", icon=":material/arrow_back:", type="tertiary"):
        st.query_params.pop("rate", None)
        st.rerun()
    if st.query_params.get("run", info.id) != info.id or not can_be_rated(info):
        raise LabError(
            "You cannot rate this run: it was deleted, is a recorded example, or scores no answers."
        )
    if fault := st.session_state.pop("rate-fault", ""):
        st.error(safe(fault), icon=":material/error:")
    given, material = state.store().ratings(info.id), _material(info.token, info.id)
    if not material.sample:
        raise LabError(
            "No answer of this run has a score yet. Rate answers once the judge has scored some."
        )
    rater = _rater({name for ratings in given.values() for name in ratings})
    if not rater:
        return
    later = st.session_state.setdefault(f"rate-later {info.id} {rater}", [])
    queue = _queue(info.id, material, rater)
    left = [item for item in queue if rater not in given.get(item, {})]
    left.sort(key=lambda item: item in later)  # postponed items come last
    done = len(queue) - len(left)
    goal = len(material.sample) if done < len(material.sample) else len(queue)
    st.progress(done / goal, text=f"{done} of {goal}")
    if done >= LOOK and (done % LOOK == 0 or not left):
        _so_far(info, done)
    elif done >= LOOK:
        label = "What the ratings show so far"
        fold(label, lambda: _so_far(info, done), icon="insights", key="rate-now")
    if left:
        _item(info, material, left[0], rater, later)


def _queue(run_id: str, material: Material, rater: str) -> list[int]:
    """Return all items in this rater's own order, the sample first."""
    shuffled = np.random.default_rng(int(digest(run_id, rater)[:8], 16)).permutation
    return [*shuffled(material.sample).tolist(), *shuffled(material.rest).tolist()]


def _rater(known: set[str]) -> str:
    """Ask for the rater's name; return it, or an empty text as long as there is none.

    Once there is a name, the field goes away: keys are then ratings, and not letters of a name. A
    name that looks like another rater's is refused.
    """
    rater = str(st.session_state.get("rate-rater", ""))
    if rater:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Rated by **{safe(rater)}**", width="content")
            st.button(
                "Change rater",
                type="tertiary",
                on_click=st.session_state.pop,
                args=("rate-rater",),
            )
        return rater
    with st.form("rate-form", border=False):
        typed = st.text_input("Your name", max_chars=MOST_NAME, width=330)
        started = st.form_submit_button("Start", type="primary")
    st.caption(
        "You see one answer at a time, without the judge's score. Each rating is kept at once, so "
        "you can stop at any time and continue later."
    )
    rater = " ".join(storable(without_invisible(typed)).split())
    for other in sorted(known | {INTENDED}):
        if look_alike(other) == look_alike(rater) and (other != rater or other == INTENDED):
            raise LabError(
                f"“{rater}” looks like “{other}”, a name that is taken. Use that name if it is "
                "yours, or add to this one."
            )
    if started and rater:
        st.session_state["rate-rater"] = rater
        st.rerun()
    return ""


def _item(info: RunInfo, material: Material, item: int, rater: str, later: list[int]) -> None:
    """Draw one answer, without its name or the judge's score, and a button for each score."""
    shown = state.store().item(info.id, item)
    text, scale = st.columns([1.6, 1], gap="large")
    with text:
        for label, part in (
            ("Prompt", "instruction"),
            ("Reference answer", "reference"),
            ("Answer", "response"),
        ):
            if shown[part]:
                st.caption(label)
                verbatim(shown[part], height=420 if len(shown[part]) > LONG_ANSWER else None)
        if not shown["response"]:
            st.info("The store does not have this answer's text: its judgments came from a file.")
    mine = st.session_state.setdefault(f"rate-given {info.id} {rater}", [])
    with scale, st.container(key="rate-scale"):
        st.header(safe(shown["criterion"] or "Your score", 80), anchor=False)
        words = material.words.get(shown["criterion"], {})
        for rank, score in enumerate(material.scores):
            st.button(
                f"**{score:g}**  {safe(words.get(score, ''), 160)}",
                key=f"rate-{rank}",
                shortcut=_key_of(material.scores, rank),
                width="stretch",
                on_click=_keep,
                args=(info.id, item, rater, score, mine),
            )
        with st.container(horizontal=True):
            last = (info.id, mine[-1] if mine else -1, rater, None, mine)
            st.button(
                "Undo", shortcut="U", type="tertiary", disabled=not mine, on_click=_keep, args=last
            )
            st.button("Later", shortcut="L", type="tertiary", on_click=later.append, args=(item,))


def _key_of(scores: Sequence[float], rank: int) -> str | None:
    """Return the key that gives a score: its number if all scores have one, else its rank."""
    if all(f"{score:g}" in KEYS for score in scores):
        return f"{scores[rank]:g}"
    return KEYS[rank] if rank < len(KEYS) else None


def _keep(run_id: str, item: int, rater: str, score: float | None, mine: list[int]) -> None:
    """Keep a rating, or take it back if ``score`` is None.

    ``mine``: the items that this visit has rated, the latest last.
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
            f"You rated that answer {before:g} in another window. That rating was kept."
        )


def _so_far(info: RunInfo, done: int) -> None:
    """Say how well each judge agrees with all ratings so far, and what is still missing."""
    st.header("What the ratings show so far", anchor=False)
    findings = state.findings(info.id)
    for subject in subjects_of_orders(findings):
        if not has_people(findings, subject.condition):
            continue
        answer = people_answer(findings, subject)
        sentence = f"{answer.headline}. {answer.line}"
        if answer.questions:  # the first is about agreement beyond chance
            sentence = answer.questions[0].sentence
        st.markdown(f"**{safe(answer.judge, 60)}**: {safe(sentence)}")
    missing = []
    if done < SAMPLE:
        missing.append(f"{count(SAMPLE - done, 'more answer')}, for a narrower interval")
    raters = {rater for given in state.store().ratings(info.id).values() for rater in given}
    people = len(raters - {INTENDED})
    if people < 3:
        more = count(3 - people, "more rater")
        missing.append(
            f"{more}, to know how well people agree and whether the judge may replace one"
        )
    if missing:
        st.markdown(f"Still missing: {'; '.join(missing)}.")
    st.caption(
        "Half of the first answers got middling scores and half extreme ones. Over all "
        "answers, agreement may be lower."
    )
