"""Step 2 of Set up: a ready-made rubric, a file or a typed table in; the study's rubric out."""

from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import setup_prompt
from rubriclab.app.draft import Draft, draft, written
from rubriclab.app.forms import SETUP, ask, editor, forget, segments, upload
from rubriclab.app.frame import faults, safe
from rubriclab.data.rubrics import read_rubric, rubric_notes, rubric_of_text
from rubriclab.data.sample import sample_rubrics
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.text import LabError, count, shorten
from rubriclab.words.phrases import NBSP

MOST_CRITERIA = 12
PASTED = "Argument: how well is the case made?\n3: Clear reasons\n2: Some reasons\n1: None"
COLUMNS = {
    "Score": st.column_config.NumberColumn(width="small", step=1, required=True, format="%d"),
    "Description": st.column_config.TextColumn(width="large"),
    "Label": st.column_config.TextColumn(width="small"),
}


def summary(held: Draft) -> str:
    rubric = held.rubric()
    options = count(len(rubric.criteria[0].options), "score option")
    criteria = f"{len(rubric.criteria)} criteria, " if len(rubric.criteria) > 1 else ""
    own = sum(part.rubric is not None for part in held.study.data)
    others = f"; {count(own, 'data set')} with a rubric of its own" if own else ""
    prompt = "; your own prompt" * (held.study.prompt is not None)
    return f"{shorten(rubric.name, 50)} · {criteria}{options}{others}{prompt}"


def body(held: Draft) -> None:
    for name in held.missing_rubrics():
        st.markdown(
            f"The study names **{safe(name, 100)}**, which is on your machine. Upload it here."
        )
        if (file := rubric_file("This rubric", held, "named")) is not None:
            held.uploads.rubrics[name] = file[1]
            forget("rubric-")
            st.rerun()
        return
    ready = {_title(rubric): rubric for rubric in sample_rubrics()}
    now = next(
        (title for title, rubric in ready.items() if held.study.rubric == written(rubric)), None
    )
    start = (
        "prompt"
        if held.study.prompt
        else "data"
        if held.study.rubric is None
        else "ready"
        if now
        else "own"
    )
    kind = segments("Which rubric?", SETUP["rubric"]["kinds"], key="rubric-kind", start=start)
    if held.before is not None:
        held.beside = ask(
            st.checkbox,
            "Compare changed words with the run's own",
            key="rubric-beside",
            start=held.beside,
            help="Both wordings are asked of the same answers in the same orders, and the "
            "difference is one number. "
            "Criteria and scores have to stay.",
        )
    if kind in ("own", "prompt"):
        (_own if kind == "own" else setup_prompt.body)(held)
        return
    if kind == "data":
        st.caption(
            "The rubric that the sample or a public data set brings; a preference needs none."
        )
        held.set_rubric(None)
    else:
        title = ask(
            st.selectbox, "Rubric", list(ready), key="rubric-ready", start=now or next(iter(ready))
        )
        held.set_rubric(written(ready[title]))
    rubric = held.rubric(None if kind == "ready" else 0)
    for criterion in rubric.criteria:
        _shown(criterion)
    _notes(rubric)
    st.button(
        "Change its words",
        icon=":material/edit:",
        type="tertiary",
        on_click=_into_table,
        args=(rubric,),
    )


def _title(rubric: Rubric) -> str:
    criteria = len(rubric.criteria)
    return (
        rubric.name
        if criteria == 1
        else f"{rubric.name}, {count(criteria, 'criterion', 'criteria')}"
    )


def _into_table(rubric: Rubric) -> None:
    forget("rubric-")
    draft().set_rubric(written(rubric))
    st.session_state["rubric-kind"] = "own"


def _shown(criterion: Criterion) -> None:
    options = [
        f"**{option.score}**{NBSP} {safe(option.description)}" for option in criterion.options
    ]
    st.markdown(
        "  \n".join(
            [f"**{safe(criterion.name, 80)}**: {safe(criterion.description, 400)}", *options]
        )
    )


def rubric_file(label: str, held: Draft, name: str) -> tuple[str, Rubric] | None:
    """An uploader of rubrics: the file's name and what was read of it, once. Raises LabError for
    what is no rubric.
    """
    kinds = ("yaml", "yml", "json", "csv", "txt", "md")
    file = upload(
        f"{label}: YAML, JSON, CSV or text", kinds, held, f"{name}-rubric", max_upload_size=2
    )
    if file is None:
        return None
    with faults():  # said where the file is
        rubric = read_rubric(file.getvalue(), file.name)
        held.uploads.version += 1
        return shorten(file.name, 100), rubric
    return None


def _own(held: Draft) -> None:
    """The table to edit, or a file that fills it. The study's rubric stays as it is until something
    is changed.
    """
    given = None
    # Another key after what was kept: closed, it shows the table that it filled.
    again: Any = {"key": f"rubric-from-{held.uploads.version}", "on_change": "rerun"}
    with st.popover("Paste or upload", icon=":material/content_paste:", type="tertiary", **again):
        text = st.text_area(
            "One line per score, for example “5: Convincing”; above them what is judged; a blank "
            "line before another criterion. YAML and JSON are read, too.",
            key="rubric-pasted",
            max_chars=20_000,
            height=180,
            placeholder=PASTED,
        )
        if st.button("Use this text", icon=":material/check:"):
            with faults():
                given = rubric_of_text(text)
                held.uploads.version += 1
        if (
            file := rubric_file("With the columns criterion, score and description", held, "study")
        ) is not None:
            given = file[1]
    if given is not None:
        forget("rubric-")
        held.set_rubric(written(given))
        st.rerun()
    start = held.rubric(None)
    typed = typed_rubric(start)
    _notes(typed)
    if typed != start:
        held.set_rubric(written(typed))


def _notes(rubric: Rubric) -> None:
    """Say which levels are missing or not described."""
    for note in rubric_notes(rubric):
        st.caption(safe(note))


def typed_rubric(start: Rubric, key: str = "rubric") -> Rubric:
    """The rubric in the fields, which start from ``start``, their keys from ``key``. Raises
    LabError for one that is none.
    """
    number_of = int(st.session_state.setdefault(f"{key}-criteria", len(start.criteria)))
    left, right = st.columns([1, 2])
    name = ask(left.text_input, "Name", key=f"{key}-name", start=start.name, max_chars=200) or ""
    criteria, scores = [], tuple(Option(option.score) for option in start.criteria[0].options)
    for number in range(number_of):
        blank = Criterion(f"Criterion {number + 1}", scores)
        known = start.criteria[number] if number < len(start.criteria) else blank
        title = name if known.name == start.name else known.name
        if number_of > 1:
            left, right = st.columns([1, 2])
            title = ask(
                left.text_input,
                blank.name,
                key=f"{key}-name-{number}",
                start=known.name,
                max_chars=200,
            )
        about = ask(
            right.text_input,
            "What is judged?",
            key=f"{key}-about-{number}",
            start=known.description,
            max_chars=2_000,
        )
        rows = [(option.score, option.description, option.label) for option in known.options]
        shown = [*COLUMNS][: 3 if any(option.label for option in known.options) else 2]
        edited = editor(
            pd.DataFrame(rows, columns=[*COLUMNS])[shown],
            key=f"{key}-options-{number}",
            num_rows="dynamic",
            hide_index=True,
            column_config=COLUMNS,
            alt=f"Scores of {title} and what they stand for",
        )
        criteria.append(
            Criterion((title or "").strip() or blank.name, _options(edited), about or "")
        )
    with st.container(horizontal=True):
        full = number_of >= MOST_CRITERIA
        add: Any = {"on_click": _number, "args": (key, 1), "disabled": full}
        st.button("Add a criterion", icon=":material/add:", type="tertiary", **add)
        if number_of > 1:
            st.button(
                "Remove the last",
                icon=":material/remove:",
                type="tertiary",
                on_click=_number,
                args=(key, -1),
            )
    return Rubric(name.strip() or "My rubric", tuple(criteria))


def _options(rows: pd.DataFrame) -> tuple[Option, ...]:
    """The rows of the table that have a score. Raises LabError for scores that are no whole
    numbers.
    """
    options = []
    for row in rows.to_dict("records"):
        score = row["Score"]
        if pd.isna(score):
            continue
        if float(score) != int(score):
            raise LabError(f"The score {score} is no whole number: use 1, 2, 3 and so on.")
        texts = [row.get(name, "") for name in ("Description", "Label")]
        options.append(Option(int(score), *("" if pd.isna(text) else str(text) for text in texts)))
    return tuple(options)


def _number(key: str, change: int) -> None:
    st.session_state[f"{key}-criteria"] += change
