"""Which rubric the Rubric page is about: a kept one, one of a file, or a new one of any size."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, kept_dataset
from rubriclab.app.forms.rubric import criteria_rows, option_rows
from rubriclab.datasets.rubrics import read_rubric
from rubriclab.model import MAX_OPTIONS, MIN_OPTIONS, Criterion, Rubric, ScoreOption
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import free_name

BLANK = msg("A new rubric")
UPLOADED = msg("From a file")
DATA_PREFIX = "data:"
NEW = "rubric-blank"


class Chosen(NamedTuple):
    """``tag``: the key of its widgets. ``kept_as``: its name on the list of kept rubrics; empty: it is not on it."""

    rubric: Rubric
    tag: str
    kept_as: str = ""


def choose() -> Chosen:
    """The rubric to look at and edit."""
    known = all_rubrics()
    names = {name: f"{name} · {tr(where)}" for name, (_, where) in known.items()}
    for row in ui.store().datasets().to_dict("records"):
        if row["own_rubric"]:
            names[f"{DATA_PREFIX}{row['dataset']}"] = tr("{name} · a data set's own", name=row["name"])
    options = [BLANK, UPLOADED, *names]
    wanted = st.session_state.pop("rubric-wanted", None)
    if wanted in options:
        st.session_state["rubric-chosen"] = wanted
    if st.session_state.get("rubric-chosen") not in options:
        st.session_state["rubric-chosen"] = next(iter(names), BLANK)
    chosen = st.selectbox(
        tr("Rubric"),
        options,
        key="rubric-chosen",
        persist_state="session",
        format_func=lambda name: names.get(name) or tr(name),
    )
    if chosen == UPLOADED:
        return _uploaded()
    if chosen == BLANK:
        return _blank(set(known))
    if chosen.startswith(DATA_PREFIX):
        dataset = kept_dataset(chosen.removeprefix(DATA_PREFIX))
        if dataset.rubric is not None:
            return Chosen(dataset.rubric, f"rubric-{chosen}")
    rubric = known[chosen][0]
    kept = any(one.name == chosen for one in ui.store().rubrics())
    return Chosen(rubric, f"rubric-{rubric.id}", chosen if kept else "")


def _uploaded() -> Chosen:
    file = ui.upload(tr("A rubric"), type=["yaml", "yml", "json", "csv", "tsv", "xlsx"], key="rubric-file")
    if file is None:
        st.caption(
            tr(
                "YAML or JSON as the download below gives it, or a table with the columns criterion, score, "
                "description."
            )
        )
        st.stop()
    return Chosen(read_rubric(file.name, file.getvalue()), f"rubric-{file.file_id}")


# ---------------------------------------------------------------- a new one


def _blank(taken: set[str]) -> Chosen:
    """A rubric of the size that is chosen, under a name that no other has; a change of size keeps what was typed."""
    left, right = st.columns(2)
    n = int(
        left.number_input(tr("Score options"), MIN_OPTIONS, MAX_OPTIONS, 5, key="rubric-new-n", persist_state="session")
    )
    m = int(right.number_input(tr("Criteria"), 1, 20, 1, key="rubric-new-m", persist_state="session"))
    name: str = st.session_state.setdefault(f"{NEW}-called", free_name("My rubric", taken))
    options = tuple(ScoreOption(score) for score in range(1, n + 1))
    rubric = Rubric(name, tuple(Criterion(f"Criterion {i}", options) for i in range(1, m + 1)))
    drawn = st.session_state.get(f"{NEW}-size", (n, m))
    st.session_state[f"{NEW}-size"] = (n, m)
    if drawn != (n, m):
        _resize(rubric, n=n, m=m)
    return Chosen(rubric, NEW)


def _resize(rubric: Rubric, *, n: int, m: int) -> None:
    """Give the tables on the page the size that was chosen."""
    about = resized_criteria(ui.table_now(criteria_rows(rubric), key=f"{NEW}-criteria"), m)
    options = resized_options(ui.table_now(option_rows(rubric), key=f"{NEW}-options"), list(about["criterion"]), n)
    ui.fill_table(about, key=f"{NEW}-criteria")
    ui.fill_table(options, key=f"{NEW}-options")
    st.session_state[f"{NEW}-names"] = {row: str(name).strip() for row, name in enumerate(about["criterion"])}


def resized_criteria(about: pd.DataFrame, m: int) -> pd.DataFrame:
    """The first ``m`` criteria of the table, and new ones where it has fewer; a row without a name is none."""
    named = [row for row in about.to_dict("records") if isinstance(row["criterion"], str) and row["criterion"].strip()]
    rows = [(row["criterion"], row["description"]) for row in named[:m]]
    while len(rows) < m:
        number = len(rows) + 1
        rows.append((free_name(f"Criterion {number}", [name.strip() for name, _ in rows]), ""))
    return pd.DataFrame(rows, columns=["criterion", "description"], dtype=object)


def resized_options(options: pd.DataFrame, criteria: list[str], n: int) -> pd.DataFrame:
    """The ``n`` lowest scores of each criterion as they stand in the table, and higher ones where it has fewer."""
    parts = []
    for number, criterion in enumerate(criteria):
        named = options["criterion"].fillna("").astype(str).str.strip()
        rows = options[(named == criterion.strip()) | ((named == "") & (number == 0))].assign(criterion=criterion)
        scores = sorted(rows["score"].dropna().unique())
        start = int(scores[-1]) + 1 if scores else 1
        added = pd.DataFrame({"score": range(start, start + n - len(scores))})
        added = added.assign(criterion=criterion, label="", description="")[list(options.columns)]
        kept = rows[rows["score"].isna() | rows["score"].isin(scores[:n])]
        parts += [kept, added.astype(options.dtypes.to_dict())]
    return pd.concat(parts, ignore_index=True)
