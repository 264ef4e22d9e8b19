"""The Rubric page's forms: edit, keep; and how it will stand in the prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, rubric_sentence
from rubriclab.app.forms.study_design import MODES
from rubriclab.datasets.rubrics import dump_rubric
from rubriclab.model import (
    MAX_OPTIONS,
    MIN_OPTIONS,
    AnswerMode,
    Criterion,
    Item,
    Ordering,
    Rubric,
    RubricError,
    ScoreOption,
    Strategy,
    StrategyKind,
    designs,
)
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import free_name
from rubriclab.study.plan import ID_STYLES, score_labels
from rubriclab.study.prompts.rubric import render_rubric

EXAMPLE = Item(
    item_id="example",
    instruction="Explain in two sentences why the sky is blue.",
    response=(
        "Air scatters short waves of light more than long ones. So blue light reaches us from every "
        "direction of the sky."
    ),
)
ORDERS: dict[str, StrategyKind] = {
    msg("Ascending"): "fixed",
    msg("Descending"): "descending",
    msg("Balanced"): "balanced",
    msg("Random"): "random",
}
STYLES = {"arabic": msg("arabic"), "letters": msg("letters"), "roman": msg("roman")}
"""What stands beside the scores, each as it is called."""


# ---------------------------------------------------------------- editing


def edit(rubric: Rubric, tag: str, *, narrow: bool = False) -> Rubric:
    """Two tables: what the criteria are, and what each score stands for. Raises RubricError.

    ``narrow``: they stand in a column, where texts wrap instead of running out of sight.
    """
    name = ui.name_input(tr("Name"), rubric.name, key=f"{tag}-name", most=80, persist_state="session")
    if len(rubric.criteria) > 60:
        st.caption(tr("A rubric of so many criteria is edited in a file: download it, change it, upload it."))
        return Rubric(name or rubric.name, rubric.criteria)
    about = _criteria_table(rubric, tag)
    _follow_names(rubric, tag, about)
    options = _options_table(rubric, tag, several=len(about) > 1, narrow=narrow)
    if not _as_kept(rubric, name, about, options):
        _not_kept(tag)
    return from_tables(name, about, options)


def criteria_rows(rubric: Rubric) -> pd.DataFrame:
    """The criteria of a rubric as the rows of a table, by number."""
    rows = [(c.name, c.description) for c in rubric.criteria]
    return pd.DataFrame(rows, columns=["criterion", "description"], dtype=object)


def option_rows(rubric: Rubric) -> pd.DataFrame:
    """The score options of a rubric as the rows of a table."""
    rows = [(c.name, o.score, o.label or "", o.description or "") for c in rubric.criteria for o in c.options]
    made = pd.DataFrame(rows, columns=["criterion", "score", "label", "description"])
    return made.astype({"criterion": object, "score": "Int64", "label": object, "description": object})


def _criteria_table(rubric: Rubric, tag: str) -> pd.DataFrame:
    st.markdown(tr("**Criteria**"))
    return ui.table(
        criteria_rows(rubric),
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        key=f"{tag}-criteria",
        row_height=80,
        column_config={
            "criterion": st.column_config.TextColumn(tr("Criterion"), required=True),
            "description": st.column_config.TextColumn(tr("What it is about"), width="medium"),
        },
    )


def _follow_names(rubric: Rubric, tag: str, about: pd.DataFrame) -> None:
    """A criterion that was renamed, added or deleted is so in the table of score options too."""
    before: dict[int, str] = st.session_state.get(f"{tag}-names", dict(enumerate(c.name for c in rubric.criteria)))
    after = {int(str(row)): _text(name) for row, name in about["criterion"].items() if _text(name)}
    if set(before.values()) != set(after.values()):
        rows = ui.table_now(option_rows(rubric), key=f"{tag}-options")
        ui.fill_table(followed(rows, before, after), key=f"{tag}-options")
    st.session_state[f"{tag}-names"] = after


def followed(options: pd.DataFrame, before: dict[int, str], after: dict[int, str]) -> pd.DataFrame:
    """Rows of score options under other criteria: ``before`` and ``after`` are names by row of the criteria.

    A renamed criterion takes its rows along, those of a deleted one go, a new one starts with the
    scores of the first and no descriptions.
    """
    gone = set(before.values()) - set(after.values())
    come = [name for name in after.values() if name not in before.values()]
    renamed = {before[row]: name for row, name in after.items() if name in come and before.get(row) in gone}
    rows = options.assign(criterion=options["criterion"].map(lambda name: renamed.get(_text(name), name)))
    rows = rows[~rows["criterion"].map(_text).isin(gone - set(renamed))]
    scores = options.loc[options["criterion"] == next(iter(before.values()), ""), "score"].dropna().unique()
    new = [(name, score, "") for name in come if name not in renamed.values() for score in scores]
    added = pd.DataFrame(new, columns=["criterion", "score", "description"])
    if "label" in options:
        added["label"] = ""
    return pd.concat([rows, added.astype(options.dtypes.to_dict())], ignore_index=True)


def _options_table(rubric: Rubric, tag: str, *, several: bool, narrow: bool) -> pd.DataFrame:
    """``several``: criteria there are, so that each row must say its own."""
    st.markdown(tr("**Score options**"))
    st.caption(
        tr(
            "{fewest} to {most} for each criterion, in any order. Without a description only the "
            "number is shown. Add a row at the end; select rows to delete them.",
            fewest=MIN_OPTIONS,
            most=MAX_OPTIONS,
        )
    )
    start, row = option_rows(rubric), 112 if narrow else 80
    return ui.table(
        start,
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        key=f"{tag}-options",
        row_height=row,
        height=min(row * (len(ui.table_now(start, key=f"{tag}-options")) + 1) + 40, 760 if narrow else 640),
        column_order=["score", "label", "description"] + (["criterion"] if several else []),
        column_config={
            "criterion": st.column_config.TextColumn(tr("Criterion"), width="small"),
            "score": st.column_config.NumberColumn(tr("Score"), step=1, width=60 if narrow else 70, required=True),
            "label": st.column_config.TextColumn(
                tr("Label"),
                width=60 if narrow else 70,
                help=tr("What stands for the score in the prompt and the reply; empty: its number."),
            ),
            "description": st.column_config.TextColumn(tr("What it stands for"), width=190 if narrow else "large"),
        },
    )


def _as_kept(rubric: Rubric, name: str, about: pd.DataFrame, options: pd.DataFrame) -> bool:
    return (
        name.strip() == rubric.name
        and about.reset_index(drop=True).equals(criteria_rows(rubric))
        and options.reset_index(drop=True).equals(option_rows(rubric))
    )


def _not_kept(tag: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            tr(":material/edit: Changes that are not kept yet. They stay in this tab while you look at other pages."),
            width="stretch",
        )
        if st.button(tr("Discard the changes"), key=f"{tag}-discard", icon=":material/undo:"):
            ui.discard(tag)
            st.rerun()


def from_tables(name: str, about: pd.DataFrame, options: pd.DataFrame) -> Rubric:
    """The rubric in the two tables. Raises RubricError naming what does not fit together.

    With one criterion its name may be left out beside the scores.
    """
    if not name.strip():
        raise RubricError(tr("The rubric has no name: give it one."))
    described = {_text(row["criterion"]): _text(row["description"]) for row in _records(about)}
    described.pop("", None)
    only = next(iter(described)) if len(described) == 1 else ""
    listed: dict[str, list[ScoreOption]] = {criterion: [] for criterion in described}
    for number, row in enumerate(_records(options), start=1):
        criterion, text = _text(row["criterion"]) or only, _text(row["description"])
        if pd.isna(row["score"]):
            if criterion and text:
                raise RubricError(
                    tr("Score options, row {number}: “{text}” has no score.", number=number, text=text[:40])
                )
            continue
        if criterion not in listed:
            raise RubricError(
                tr(
                    "Score options, row {number}: there is no criterion “{criterion}” in the table of criteria. Add "
                    "it there, or correct the name.",
                    number=number,
                    criterion=criterion,
                )
            )
        label = _text(row.get("label"))
        listed[criterion].append(ScoreOption(int(row["score"]), text or None, label or None))
    criteria = (Criterion(c, tuple(found), described[c]) for c, found in listed.items())
    return Rubric(name.strip(), tuple(criteria))


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]


def _text(cell: Any) -> str:
    return "" if cell is None or cell is pd.NA or cell != cell else str(cell).strip()


def keep(rubric: Rubric, tag: str, kept_as: str) -> None:
    """Save, use, download, delete. ``kept_as``: the kept rubric that is open here; empty where none is."""
    kept = {found.name: found for found in ui.store().rubrics()}
    open_here = bool(kept_as) and rubric.name == kept_as
    other = rubric.name in kept and not open_here and kept[rubric.name].id != rubric.id
    free = free_name(rubric.name, all_rubrics())
    if other:
        st.warning(
            tr(
                "Another rubric is kept as “{name}”. Keep this one beside it as “{free}”, or change its name above.",
                name=ui.plain(rubric.name),
                free=ui.plain(free),
            ),
            icon=":material/content_copy:",
        )
    with st.container(horizontal=True):
        if st.button(
            tr("Keep the changes")
            if open_here
            else tr("Keep as “{name}”", name=ui.plain(free))
            if other
            else tr("Keep this rubric"),
            type="primary",
            key=f"{tag}-keep",
            disabled=rubric.name in kept and kept[rubric.name].id == rubric.id,
            icon=":material/save:",
            help=tr("Kept under its name. Runs that were made keep the rubric they had."),
        ):
            _kept(replace(rubric, name=free) if other else rubric, tag)
        if other and st.button(
            tr("Replace the other one"),
            key=f"{tag}-replace",
            icon=":material/swap_horiz:",
            help=tr("The rubric that is kept as “{name}” now is lost; runs keep theirs.", name=ui.plain(rubric.name)),
        ):
            _kept(rubric, tag)
        _further(rubric, tag, open_here=open_here)


def _kept(rubric: Rubric, tag: str) -> None:
    """Keep it and open it as kept: what was typed on the way there is not wanted a second time."""
    ui.store().save_rubric(rubric)
    ui.discard(tag)
    st.session_state["rubric-wanted"] = rubric.name
    ui.announce(tr("Kept “{name}”.", name=ui.plain(rubric.name)))
    st.rerun()


def _further(rubric: Rubric, tag: str, *, open_here: bool) -> None:
    """What else can be done with a rubric than keep it."""
    st.download_button(
        tr("Download (YAML)"),
        dump_rubric(rubric),
        f"{_file(rubric.name)}.yaml",
        key=f"{tag}-yaml",
        on_click="ignore",
        icon=":material/download:",
    )
    known = all_rubrics().get(rubric.name)
    usable = open_here or (known is not None and known[0].id == rubric.id)
    if usable and st.button(tr("Use in a study"), key=f"{tag}-use", icon=":material/science:"):
        st.session_state["study-rubric-wanted"] = rubric.name
        st.switch_page("pages/study.py")
    if open_here and st.button(
        tr("Delete"),
        key=f"{tag}-delete",
        icon=":material/delete:",
        help=tr("Takes it off this list; runs that were made with it stay as they are."),
    ):
        ui.store().delete_rubric(rubric.name)
        st.rerun()


def _file(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-") or "rubric"


# ---------------------------------------------------------------- as it will look


def show_prompt(rubric: Rubric, tag: str) -> None:
    """The prompt of an example answer under one criterion and one order."""
    first, second, third = st.columns(3, vertical_alignment="bottom")
    names = [criterion.name for criterion in rubric.criteria]
    name = first.selectbox(tr("Criterion"), names, key=f"{tag}-shown-criterion")
    order = second.selectbox(tr("Order"), list(ORDERS), key=f"{tag}-shown-order", format_func=tr)
    ids = third.selectbox(tr("Labels"), ID_STYLES, key=f"{tag}-shown-ids", format_func=lambda style: tr(STYLES[style]))
    criterion = rubric.criterion(name)
    lines = designs.orderings(Strategy(ORDERS[order]), criterion.scores, item_id="example")
    read = 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(set(lines)) > 1:
            read = int(st.number_input(tr("Read no."), 1, len(lines), 1, key=f"{tag}-shown-read-{order}"))
        answer: AnswerMode = (
            st.segmented_control(
                tr("Answer"),
                list(MODES),
                default="score",
                key=f"{tag}-shown-answer",
                format_func=lambda mode: tr(MODES[mode]),
            )
            or "score"
        )
    label_of = dict(zip(criterion.scores, score_labels(criterion.scores, ids), strict=True))
    line = tuple(int(score) for score in lines[read - 1])
    ordering = Ordering(line, tuple(label_of[score] for score in line))
    for message in render_rubric(EXAMPLE, criterion, ordering, answer=answer):
        ui.verbatim(
            message["content"], label=tr("Sent with an example answer, shown order {ordering}", ordering=ordering)
        )


def about(rubric: Rubric) -> str:
    """The rubric's size in words."""
    return rubric_sentence(rubric)
