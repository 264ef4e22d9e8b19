"""Draw step 2 of Set up: a rubric that is ready-made, written, uploaded, or in a prompt."""

from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import setup_prompt, waiting_paste
from rubriclab.app.draft import Draft, draft, written
from rubriclab.app.forms import SETUP, ask, editor, field, forget, segments, upload
from rubriclab.app.frame import faults, safe
from rubriclab.data.rubrics import read_rubric, rubric_notes
from rubriclab.data.sample import sample_rubrics
from rubriclab.data.understood import Understood, listed_numbers, understood
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.passing import MOST_LABEL, check_cut, passing_score
from rubriclab.model.text import LabError, count, shorten
from rubriclab.study.plan_notes import passing_notes
from rubriclab.words.phrases import NBSP

MOST_CRITERIA = 12
"""Criteria on the page. A file may have more; tables of so many are hard to edit here."""
WIDTH_OF_CUT = 260
"""Pixels of the field for the score that passes: its question fits in one line."""
PASTED = "Argument: how well is the case made?\n3: Clear reasons\n2: Some reasons\n1: None"
COLUMNS = {
    "Score": st.column_config.NumberColumn(width="small", step=1, required=True, format="%d"),
    "Description": st.column_config.TextColumn(width="large"),
    "Label": st.column_config.TextColumn(width="small"),
}


def summary(held: Draft) -> str:
    """Return what the closed step says."""
    rubric = held.rubric()
    # Nobody may have looked at it: a study begins with a ready-made rubric.
    text = f"{shorten(rubric.name, 50)}{', ready-made' if _ready_made(held) else ''} · "
    if len(rubric.criteria) > 1:
        text += f"{len(rubric.criteria)} criteria, "
    text += count(len(rubric.criteria[0].options), "score option")
    own = sum(part.rubric is not None for part in held.study.data)
    if own:
        text += f"; {count(own, 'data set')} with another rubric"
    if held.study.prompt:
        text += "; your own judge prompt"
    return text


def _ready_made(held: Draft) -> list[str]:
    """Return the title of the ready-made rubric that the study has; none if it has another."""
    return [_title(ready) for ready in sample_rubrics() if held.study.rubric == written(ready)]


def body(held: Draft) -> None:
    """Draw the open step: where the rubric comes from, and the form or the rubric itself."""
    for name in held.missing_rubrics():
        _ask_for_file(held, name)
        return
    ready = {_title(rubric): rubric for rubric in sample_rubrics()}
    same = _ready_made(held)
    box = waiting_paste.waiting()
    kind = segments(
        "Which rubric?",
        SETUP["rubric"]["kinds"],
        key="rubric-kind",
        start=box.kind if box is not None else _origin(held, is_ready=bool(same)),
    )
    waiting_paste.say_waiting(kind)
    if held.before is not None:
        held.keep_wording = ask(
            st.checkbox,
            "Compare changed words with those of the earlier run",
            key="rubric-keep-wording",
            start=held.keep_wording,
            help="Asks about the same answers in the same orders with both wordings. Criteria "
            "and scores must stay the same.",
        )
    if kind == "own":
        _own(held)
        return
    if kind == "prompt":
        setup_prompt.body(held)
        return
    if kind == "data":
        st.caption(
            "The rubric that comes with the sample or the public data set. Preferences need none."
        )
        held.set_rubric(None)
        rubric = held.rubric(0)
    else:
        start = same[0] if same else next(iter(ready))
        title = ask(st.selectbox, "Rubric", list(ready), key="rubric-ready", start=start)
        held.set_rubric(written(ready[title]))
        rubric = held.rubric(None)
    for criterion in rubric.criteria:
        _shown(criterion)
    _notes(rubric)
    _passes(held, rubric)
    _cut(held, rubric)
    st.button(
        "Edit rubric",
        icon=":material/edit:",
        type="tertiary",
        on_click=_into_table,
        args=(rubric,),
    )


def _ask_for_file(held: Draft, name: str) -> None:
    """Ask for a rubric file that the study names."""
    st.markdown(f"The study names the file **{safe(name, 100)}**. Upload it here.")
    file = rubric_file("This rubric", held, "named")
    if file is not None:
        held.uploads.rubrics[name] = file[1]
        waiting_paste.restart_rubric()
        st.rerun()


def _origin(held: Draft, *, is_ready: bool) -> str:
    """Return where the study's rubric comes from, as a key of the kinds in setup.toml."""
    if held.study.prompt:
        return "prompt"
    if held.study.rubric is None:
        return "data"
    return "ready" if is_ready else "own"


def _title(rubric: Rubric) -> str:
    """Return a rubric's name, with the number of its criteria if there are several."""
    criteria = len(rubric.criteria)
    if criteria == 1:
        return rubric.name
    return f"{rubric.name}, {count(criteria, 'criterion', 'criteria')}"


def _into_table(rubric: Rubric) -> None:
    """Fill the table of own words from a rubric, so that it can be edited. This is a callback."""
    waiting_paste.restart_rubric()
    draft().set_rubric(written(rubric))
    st.session_state["rubric-kind"] = "own"


def _shown(criterion: Criterion) -> None:
    """Draw a criterion and its options as text."""
    options = [
        f"**{option.score}**{NBSP} {safe(option.description)}" for option in criterion.options
    ]
    st.markdown(
        "  \n".join(
            [f"**{safe(criterion.name, 80)}**: {safe(criterion.description, 400)}", *options]
        )
    )


def rubric_file(label: str, held: Draft, name: str) -> tuple[str, Rubric] | None:
    """Draw an uploader of rubrics; return file name and rubric once, right after the upload.

    Raises LabError if the file is not a rubric.
    """
    kinds = ("yaml", "yml", "json", "csv", "txt", "md")
    file = upload(
        f"{label}: YAML, JSON, CSV or text", kinds, held, f"{name}-rubric", max_upload_size=2
    )
    if file is None:
        return None
    with faults():  # an error is shown next to the uploader
        rubric = read_rubric(file.getvalue(), file.name)
        held.uploads.version += 1
        return shorten(file.name, 100), rubric
    return None


def _own(held: Draft) -> None:
    """Draw the table to edit, and the ways to fill it from a text or a file.

    The study's rubric stays as it is until something is changed.
    """
    given = _pasted_or_uploaded(held)
    if given is not None:
        forget("rubric-")
        held.set_rubric(written(given))
        st.rerun()
    start = held.rubric(None)
    typed = typed_rubric(start)
    _notes(typed)
    if typed != start:
        held.set_rubric(written(typed))
    _passes(held, typed)
    _cut(held, typed)


def _pasted_or_uploaded(held: Draft) -> Rubric | None:
    """Draw the box for a text and the uploader; return their rubric once, or None.

    What a text was understood as is said before it is used.
    """
    text = ask(
        st.text_area,
        "Paste it as it is: one score per line, YAML, JSON or a table",
        key="rubric-pasted",
        start="",
        max_chars=20_000,
        height=150,
        placeholder=PASTED,
    )
    if (text or "").strip():
        with faults():
            _say_understood(understood(text))
    given = st.session_state.pop("setup pasted", None)
    if isinstance(given, Rubric):
        held.uploads.version += 1
        return given
    with st.popover("Upload a file", icon=":material/upload:", type="tertiary"):
        label = "A file with the columns criterion, score and description"
        file = rubric_file(label, held, "study")
    return file[1] if file is not None else None


def _say_understood(read: Understood) -> None:
    """Say what a pasted text was read as, with the buttons that use it."""
    said = f"**{safe(read.sentence())}**"
    missing = listed_numbers(read.missing)
    if read.missing:
        verb = "is" if len(read.missing) == 1 else "are"
        said += f" {missing} {verb} missing. Keep it so, or add them."
    with st.container(border=True, key="rubric-understood"):
        st.markdown(said)
        for note in (read.judged(), *read.bare(), *read.notes):
            st.caption(safe(note, 800))
        with st.container(horizontal=True):
            st.button(
                waiting_paste.use_label(read),
                type="primary",
                icon=":material/check:",
                on_click=_use_pasted,
                args=(read.rubric,),
            )
            if read.missing:
                st.button(f"Add {missing}", on_click=_use_pasted, args=(read.with_missing(),))


def _use_pasted(rubric: Rubric) -> None:
    """Use what was pasted, and empty the box. This is a callback."""
    st.session_state["setup pasted"] = rubric
    st.session_state["rubric-pasted"] = ""


def _notes(rubric: Rubric) -> None:
    """Say which scores are missing or not described."""
    for note in rubric_notes(rubric):
        st.caption(safe(note))


def _passes(held: Draft, rubric: Rubric) -> None:
    """Ask which of two scores passes, and put it into the study.

    Without a scale of two scores there is no such question. The higher score passes if nobody says
    otherwise, so that is not written into the study.
    """
    reading = held.study.reading
    two = [criterion for criterion in rubric.criteria if len(criterion.options) == 2]
    if not two:
        if reading.passes:
            held.change(reading=reading.model_copy(update={"passes": ""}))
        return
    low, high = two[0].options
    labels = {
        option.shown_label: f"{safe(option.shown_label, MOST_LABEL)} (score {option.score})"
        if option.label
        else f"Score {option.score}"
        for option in (high, low)
    }
    scores = {option.shown_label: float(option.score) for option in (low, high)}
    known = high.shown_label
    try:
        if passing_score(two[0].scores, scores, reading) == low.score:
            known = low.shown_label
    except LabError:  # the rubric was changed, and has no such label any more
        pass
    chosen = segments(
        SETUP["rubric"]["passes"],
        labels,
        key=f"rubric-passes-{low.shown_label}-{high.shown_label}",
        start=known,
        hidden=False,
    )
    for note in passing_notes(two) if chosen == high.shown_label else ():
        st.caption(safe(note))
    passes = "" if chosen == high.shown_label else chosen
    if passes != reading.passes:
        update = {"passes": passes} | ({"cut": None} if passes else {})
        held.change(reading=reading.model_copy(update=update))


def _cut(held: Draft, rubric: Rubric) -> None:
    """Ask from which score on an answer passes, and put it into the study.

    A criterion with two scores needs no such question. A cut that splits none of the scales is
    refused in words; where it cannot be changed here, it goes.
    """
    reading, scales = held.study.reading, [criterion.scores for criterion in rubric.criteria]
    if any(len(scores) == 2 for scores in scales):
        try:
            check_cut(scales, reading)
        except LabError:
            held.change(reading=reading.model_copy(update={"cut": None}))
        return
    about = SETUP["rubric"]["cut"]
    cut = field(reading, "cut", **about, key="rubric", step=1.0, format="%g", width=WIDTH_OF_CUT)
    if cut != reading.cut:
        held.change(reading=reading.model_copy(update={"cut": cut}))
    with faults():
        check_cut(scales, held.study.reading)


def typed_rubric(start: Rubric, key: str = "rubric") -> Rubric:
    """Draw the fields of a rubric; return what they hold. Raises LabError if that is not one.

    ``start``: what the fields start from. ``key``: the beginning of their keys.
    """
    number_of = int(st.session_state.setdefault(f"{key}-criteria", len(start.criteria)))
    left, right = st.columns([1, 2])
    name = ask(left.text_input, "Name", key=f"{key}-name", start=start.name, max_chars=200) or ""
    scores = tuple(Option(option.score) for option in start.criteria[0].options)
    criteria = []
    for number in range(number_of):
        blank = Criterion(f"Criterion {number + 1}", scores)
        known = start.criteria[number] if number < len(start.criteria) else blank
        # A rubric with one criterion gives it its own name.
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
        edited = _option_table(known, title, key=f"{key}-options-{number}")
        title = (title or "").strip() or blank.name
        criteria.append(Criterion(title, _options(edited), about or ""))
    with st.container(horizontal=True):
        full = number_of >= MOST_CRITERIA
        add: Any = {"on_click": _number, "args": (key, 1), "disabled": full}
        st.button("Add a criterion", icon=":material/add:", type="tertiary", **add)
        if number_of > 1:
            st.button(
                "Remove last criterion",
                icon=":material/remove:",
                type="tertiary",
                on_click=_number,
                args=(key, -1),
            )
    return Rubric(name.strip() or "My rubric", tuple(criteria))


def _option_table(known: Criterion, title: str, *, key: str) -> pd.DataFrame:
    """Draw the table of a criterion's scores, with labels only if it has some."""
    rows = [(option.score, option.description, option.label) for option in known.options]
    shown = [*COLUMNS] if any(option.label for option in known.options) else [*COLUMNS][:2]
    return editor(
        pd.DataFrame(rows, columns=[*COLUMNS])[shown],
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_config=COLUMNS,
        alt=f"Scores of {title} and their descriptions",
    )


def _options(rows: pd.DataFrame) -> tuple[Option, ...]:
    """Return the rows of the table that have a score.

    Raises LabError for a score that is not a whole number.
    """
    options = []
    for row in rows.to_dict("records"):
        score = row["Score"]
        if pd.isna(score):
            continue
        if float(score) != int(score):
            raise LabError(f"The score {score} is not a whole number. Use 1, 2, 3, and so on.")
        texts = [row.get(name, "") for name in ("Description", "Label")]
        options.append(Option(int(score), *("" if pd.isna(text) else str(text) for text in texts)))
    return tuple(options)


def _number(key: str, change: int) -> None:
    """Add a criterion or remove the last one. This is a callback."""
    st.session_state[f"{key}-criteria"] += change
