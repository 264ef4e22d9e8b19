"""Draw step 1 of Set up: upload a file, take the sample or a public data set, or import judgments.

The first three become data of the study. Finished judgments become a run at once, and the page goes
to its results.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NoReturn, cast

import pandas as pd
import streamlit as st

from rubriclab.app import state
from rubriclab.app.draft import Draft, changed, written
from rubriclab.app.forms import (
    SETUP,
    ask,
    column_select,
    forget,
    form,
    listed,
    open_row,
    open_step,
    segments,
    upload,
)
from rubriclab.app.frame import announce, faults, go, off_scale, safe
from rubriclab.app.setup_rubric import rubric_file
from rubriclab.app.waiting_paste import restart_rubric
from rubriclab.core.looks import with_planned_looks
from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import MOST_MARKS, guess_columns, marks_of_no_rating
from rubriclab.data.limits import MB
from rubriclab.data.published import PublicFile, fetched, published, sources
from rubriclab.data.sample import sample, sample_rubric
from rubriclab.data.scores import read_judgments
from rubriclab.data.tables import SEPARATORS, Table, as_list, read_table
from rubriclab.logs.log import KNOWN, read_log
from rubriclab.logs.unknown import unknown_log, unknown_table
from rubriclab.model.consent import judges_of, where_asked
from rubriclab.model.data import DataSet
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import DataPart, validated
from rubriclab.model.text import count, digest, shorten
from rubriclab.runs.imported import read_run
from rubriclab.words.answerable import answerable
from rubriclab.words.looks import grown_words
from rubriclab.words.pass_fail import ways_to_choose
from rubriclab.words.phrases import say

WORDS, JUDGED = SETUP["data"], SETUP["judgments"]
ENDINGS = ("csv", "tsv", "txt", "xlsx", "json", "jsonl", "parquet")
MOST_RATERS = 4
"""So many columns that may be people's scores are named."""
REPLACING = "data-replacing"
"""Whether the open data set is about to be replaced. Opening a row forgets it."""
ORDER = re.compile(r"-?\d+([ ,;>|]+-?\d+){2,}|[^|]+(\|[^|]+)+")
"""A cell with an order: three scores or more, or names with bars between them."""


def summary(held: Draft) -> str:
    """Return what the closed step says."""
    data = held.study.data
    if not data:
        return "no answers yet"
    if held.unconfirmed:
        return "columns not confirmed yet"
    items = [item for number in range(len(data)) for item in held.dataset(number).items]
    prompts = len({item.prompt or item.item_id for item in items})
    name = shorten(name_of(data[0]), 40) if len(data) == 1 else count(len(data), "data set")
    text = f"{name} · {count(len(items), 'answer')}"
    if prompts < len(items):
        text += f", {count(prompts, 'prompt')}"
    return text


def ready(held: Draft) -> bool:
    """Return whether there are data, all confirmed and all here."""
    data = held.study.data
    return bool(data) and not held.unconfirmed and all(map(held.here, range(len(data))))


def name_of(part: DataPart) -> str:
    """Return the name of a data set, or else where it comes from."""
    if part.name:
        return part.name
    if part.published:
        return sources()[part.published].title
    return part.file or "Sample"


def body(held: Draft) -> None:
    """Draw the open step: the data sets, and the form of the one that is open."""
    data = held.study.data
    rows = [
        f"**{safe(name_of(part), 60)}** :gray[{safe(_about(held, number), 120)}]"
        for number, part in enumerate(data)
    ]
    number = listed(rows, "data", lambda number: held.set_data(number, None))
    if number is not None:
        part = data[number] if number < len(data) else None
        origin = _origin(part)
        kind = segments("Where from?", WORDS["kinds"], key="data-kind", start=origin)
        form_of = {
            "file": _file,
            "sample": _sample,
            "published": _published,
            "judgments": _judgments,
        }
        form_of[kind](held, number, part if kind == origin else None)
        if part is not None and kind == origin and held.here(number):
            _more(held, number)
    adding = number is not None and number >= len(data)
    if data and not held.unconfirmed and not adding:
        st.button(
            "Add another data set",
            icon=":material/add:",
            type="tertiary",
            on_click=open_row,
            args=("data", len(data)),
        )


def _origin(part: DataPart | None) -> str:
    """Return where a data set comes from, as a key of the kinds in setup.toml."""
    if part is None or part.file:
        return "file"
    return "sample" if part.sample else "published"


def _about(held: Draft, number: int) -> str:
    """Say how many answers a data set has, and which rubric of its own."""
    if not held.here(number):
        return "cannot be loaded yet"
    text = count(len(held.dataset(number).items), "answer")
    rubric = held.study.data[number].rubric
    if rubric:
        text += f", judged by its own rubric: {rubric.name or rubric.file}"
    return text


def _use(held: Draft, number: int, part: DataPart) -> None:
    """Confirm a data set, and close the step."""
    _put(held, number, part)
    held.unconfirmed.discard(part.file)
    open_step(0)
    st.rerun()


def _put(held: Draft, number: int, part: DataPart) -> None:
    """Put a data set into the study, and make sure that each one has a rubric.

    A single public data set brings its rubric with it. If there are others, each public one keeps
    its own, and the study's rubric is for the rest.
    """
    held.set_data(number, part)
    data = held.study.data
    if len(data) == 1 and part.published:
        held.set_rubric(None)
    if len(data) > 1 and not held.study.design.vary.wording:
        for k, other in enumerate(data):
            needs_own = held.study.rubric is None or k == number
            if other.published and other.rubric is None and needs_own:
                rubric = written(held.uploads.published(other)[1])
                held.set_data(k, changed(other, rubric=rubric))
    every_has_one = all(other.published or other.sample or other.rubric for other in data)
    if held.study.rubric is None and not every_has_one:
        held.set_rubric(written(sample_rubric()))
    forget("data-")
    restart_rubric()


# ---------------------------------------------------------------- a file


def _file(held: Draft, number: int, part: DataPart | None) -> None:
    """Draw the form of an uploaded file: the upload, or the file with its columns."""
    if part is not None and st.session_state.get(REPLACING):
        _replacement(held, number, part)
        return
    if part is not None:
        dataset, table = held.uploads.kept(part), held.uploads.tables.get(part.file)
        if dataset is not None:
            if _head(part.file, ", from the earlier run"):
                _ask_replacement()
            _show_items(dataset)
            return
        if table is not None:
            if _table(part.file, table):
                _ask_replacement()
            _columns(held, number, part, table)
            return
        if part.file:
            st.markdown(f"The study names the file **{safe(part.file, 100)}**. Upload it here.")
    uploaded = _uploaded(held, "One answer per row")
    if uploaded is not None:
        name = _keep(held, number, uploaded, part.file if part else "")
        if part is None:
            _put(held, number, validated(DataPart, {"file": name}))
            held.unconfirmed.add(name)
        forget("data-")
        st.rerun()


def _ask_replacement() -> None:
    """Ask for a file in place of the open data set's, which stays until that file is here."""
    st.session_state[REPLACING] = True
    st.rerun()


def _replacement(held: Draft, number: int, part: DataPart) -> None:
    """Draw the upload of a file in place of the data set's, and the way back to that one.

    Columns that were chosen before are chosen again where the new file has them all.
    """
    st.markdown(f"In place of :material/draft: **{safe(part.file, 60)}**:")
    uploaded = _uploaded(held, "One answer per row")
    if st.button(
        f"Keep {safe(part.file, 60)}", icon=":material/undo:", type="tertiary", key="data-keep"
    ):
        open_row("data", number)
        st.rerun()
    if uploaded is None:
        return
    named = {name for names in part.columns.values() for name in as_list(names)}
    fits = named <= {*uploaded.columns}
    held.uploads.drop(part)
    name = _keep(held, number, uploaded)
    new = validated(DataPart, {"file": name, "columns": part.columns if fits else {}})
    held.uploads.drop(new)
    _put(held, number, new)
    held.unconfirmed.add(name)
    open_row("data", number)
    st.rerun()


def _keep(held: Draft, number: int, table: Table, name: str = "") -> str:
    """Keep the upload of a data set, and return the name under which the study knows it.

    ``name``: the name that the study already uses; otherwise it is one that no other data set has.
    """
    others = set(held.uploads.tables)
    for k, part in enumerate(held.study.data):
        if k != number:
            others |= {part.file, *part.files}
    if number < len(held.study.data):  # its own old files are replaced, not kept
        own = held.study.data[number]
        others -= {own.file, *own.files}
    title = name or shorten(PurePath(table.name).name, 200)
    while not name and title in others:
        title = f"{PurePath(title).stem} (2){PurePath(title).suffix}"
    held.uploads.tables[title] = table
    held.uploads.version += 1
    return title


def _uploaded(held: Draft, what: str, *, logs: bool = False) -> Table | None:
    """Draw an uploader, and return the table of an uploaded file, or None.

    With ``logs``, it also takes other tools' logs and a run's zip. The zip is kept at once as a
    run, and opened in Results.
    """
    kinds, endings = "CSV, TSV, Excel, JSON or Parquet", [*ENDINGS]
    if logs:
        kinds += ", a log of inspect-ai, promptfoo, lm-eval and others, or a run (ZIP)"
        endings += ["eval", "gz", "zip"]
    file = upload(f"{what}: {kinds}, up to 100 MB", endings, held, "table")
    if file is None:
        return None
    with st.spinner(f"Reading {safe(file.name, 60)}…"), faults():
        if file.name.lower().endswith(".zip"):
            _open_run(file.getvalue(), file.name)
        if logs:
            log = read_log(file.getvalue(), file.name)
            return log.table if log is not None else read_table(file.getvalue(), file.name)
        table = read_table(file.getvalue(), file.name)
        if tool := unknown_table(table):
            raise unknown_log(table.name, tool, KNOWN)
        return one_answer_a_row(table)
    return None


def _open_run(content: bytes, name: str) -> NoReturn:
    """Keep a run's zip as a run of its own, and go to its results."""
    with tempfile.TemporaryDirectory(prefix="rubriclab-") as folder:
        path = Path(folder, PurePath(name).name[-100:])
        path.write_bytes(content)
        judged, calls, study = read_run(path)
        run_id = state.store().add_table(judged, calls, study)
    announce("Imported as a new run.")
    for sentence in where_asked(judges_of(study)):
        announce(safe(sentence, 400))
    go("results", run=run_id)


def _head(name: str, about: str) -> bool:
    """Draw the file's name, and return whether the visitor wants to replace it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/draft: **{safe(name, 60)}**{about}", width="content")
        return st.button("Replace", icon=":material/upload:", type="tertiary", key="data-replace")


def _table(name: str, table: Table) -> bool:
    """Draw the file's name, size, and first rows; return whether to replace it."""
    about = f" · {count(table.size, 'row')}, {count(len(table.columns), 'column')}"
    separator = SEPARATORS.get(table.separator or "", "")
    if separator:
        about += f", separated by {separator}"
    replaced = _head(name, about)
    if table.note:
        st.caption(safe(table.note, 300))
    _show_rows(table.columns, table.first(2), "The first two rows of the file")
    return replaced


def _show_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], alt: str) -> None:
    """Draw rows by which to recognise a file.

    Long cells are cut, so that as many columns as possible fit side by side. Some 84 characters
    fit into a row; columns with short cells take 16 of them, and the others share the rest.
    """
    longest = [max((len(row[k]) for row in rows), default=0) for k in range(len(columns))]
    short = sum(length <= 16 for length in longest)
    most = max(14, (84 - 16 * short) // max(1, len(columns) - short))
    names = [
        f"{shorten(name, 30)} ({k})" if len(name) > 30 else name
        for k, name in enumerate(columns, 1)
    ]
    cut = [[shorten(cell, most) for cell in row] for row in rows]
    st.dataframe(pd.DataFrame(cut, columns=names), hide_index=True, alt=alt)


def _columns(held: Draft, number: int, part: DataPart, table: Table) -> None:
    """Draw which column is what: guessed, perhaps changed, and confirmed by one click."""
    guess = guess_columns(table, held.rubric(number))
    before = guess.columns | part.columns
    before["human"] = as_list(before.get("human"))
    if not guess.columns.get("response") and not part.columns:
        st.markdown(":orange[No column looks like text. Choose the one with the answers.]")
    elif not guess.matched and not part.columns:
        st.markdown(
            "We could not match your column names, so we guessed from the contents. **Is this "
            "right?**"
        )
    labels = WORDS["columns"], WORDS["more_columns"]
    chosen, below, button, more = _roles(table.columns, *labels, before, "data", guess.reasons)
    pressed = button.button(
        "Use these columns", icon=":material/check:", type="primary", key="data-confirm"
    )
    start = before["human"][1:]
    further = ask(
        more.multiselect, "Further human scores", table.columns, key="data-humans", start=start
    )
    people = [name for name in dict.fromkeys([chosen["human"], *further]) if name]
    with below:
        _offer_raters(table, guess.unclear, people)
    columns: dict[str, Any] = chosen | {"human": people}
    if pressed or any(name != before.get(role, "") for role, name in columns.items()):
        # A guessed column that was declined is stored as empty: else it would be guessed again.
        given = {role: name for role, name in columns.items() if name or role in guess.columns}
        part = changed(part, columns=given)
        held.set_data(number, part)
        held.unconfirmed.add(part.file)
    with below:
        if further:
            names = ", ".join(safe(name, 30) for name in further)
            st.caption(f"Further human scores (under More columns): {names}")
        marks = marks_of_no_rating(table, people)
        unrated = _no_rating(marks, part.unrated)
        if unrated != part.unrated:
            part = changed(part, unrated=unrated)
            held.set_data(number, part)
        unclear = [mark for mark in marks if mark not in unrated]
        # Of more texts there is no box: the fault below names one of them.
        if unclear and len(marks) <= MOST_MARKS and not pressed:
            listed = ", ".join(f"“{safe(mark, 20)}”" for mark in unclear)
            st.markdown(f":orange[Say what {listed} means: tick the box, or choose other columns.]")
            return
    with below, faults():
        _say_what_columns_give(held, number, people)
        if pressed:
            _use(held, number, part)


def _offer_raters(table: Table, unclear: Sequence[str], people: Sequence[str]) -> None:
    """Offer columns that may be people's scores, all by one click; the lab does not guess that.

    ``unclear``: those columns; ``people``: the columns with human scores now.
    """
    if set(unclear) <= set(people):
        return

    def take() -> None:
        every = list(dict.fromkeys([*people, *unclear]))
        st.session_state["data-human"] = table.columns.index(every[0])
        st.session_state["data-humans"] = every[1:]

    listed = " and ".join(f"“{safe(name, 30)}”" for name in unclear[:MOST_RATERS])
    if len(unclear) > MOST_RATERS:
        listed += f" and {len(unclear) - MOST_RATERS} more"
    if len(unclear) == 1:
        said, label = f"{listed} may be a human score of something else.", "Use it as human scores"
    else:
        said = f"{listed} may be scores by several people, or scores of several things."
        label = "They are scores by people"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":orange[{said}]", width="content")
        st.button(label, key="data-raters", on_click=take)


def _no_rating(marks: Mapping[str, int], before: Sequence[str]) -> tuple[str, ...]:
    """Ask whether texts among human scores mean “no rating”; return those that do.

    ``marks``: how many cells have each text. Many texts are no marks: the column is another one.
    ``before``: what was said until now, perhaps in a study file. What is not asked here stays.
    """
    if not 0 < len(marks) <= MOST_MARKS:
        return tuple(before)
    named = ", ".join(
        f"“{safe(mark, 20)}” ({count(cells, 'cell')})" for mark, cells in marks.items()
    )
    verb = "means" if len(marks) == 1 else "mean"
    # Other texts are another question, so its box has another key and starts again.
    key = f"data-unrated-{digest(sorted(marks))[:12]}"
    start = set(marks) <= set(before)
    meant = ask(st.checkbox, f"{named} {verb} “no rating”", key=key, start=start)
    unasked = [mark for mark in before if mark not in marks]
    return (*unasked, *(marks if meant else ()))


def _say_what_columns_give(held: Draft, number: int, people: Sequence[str]) -> None:
    """Say how many answers, units, and raters the columns give, and what does not fit.

    ``people``: the columns with human scores.
    """
    dataset, rubric = held.dataset(number), held.rubric(number)
    text = groups_sentence(dataset)
    # A column named after a criterion holds scores under it, not a person's name.
    named = [rubric.criterion_named(name) or ("", name) for name in people]
    raters = [safe(name, 30) for name in dict.fromkeys(rater for _, rater in named)]
    if len(raters) > 1:
        text += f" Human scores of {len(raters)} people: {', '.join(raters)}."
    left_out = dataset.origin.rpartition("; ")[2]
    if left_out.endswith("left out"):
        text += f" {left_out}."
    st.caption(text)
    rated = [score for item in dataset.items for score in item.ratings.values()]
    candidates = {item.candidate for item in dataset.items} - {None, ""}
    says_who_won = {*rated} <= {0.0, 0.5, 1.0} and len(candidates) > 1
    if says_who_won and not {"pairs", "lists"} & {*held.study.design.axes}:
        st.markdown(
            ":orange[Your file says which answer won. To ask the judge for that, choose Two "
            "answers in step 4.]"
        )
        return
    scores = [score for criterion in rubric.criteria for score in criterion.scores]
    advice = "Agreement in points needs one scale. Change the rubric's scores in step 2."
    off_scale(rated, scores, "the rubric", advice)
    two_scores = all(len(criterion.scores) == 2 for criterion in rubric.criteria)
    if rated and (two_scores or held.study.reading.cut is not None):
        _how_labels_were_chosen(held)


def _how_labels_were_chosen(held: Draft) -> None:
    """Ask how the labelled answers were chosen, where answers pass or fail."""
    reading = held.study.reading

    def words(key: str) -> str:
        return say(key, ("pass_fail",))

    ways = ways_to_choose(words)
    chosen = ask(
        st.selectbox,
        words("asked"),
        list(ways),
        key="data-labels",
        start=reading.labels,
        format_func=ways.__getitem__,
        help=words("choice_help"),
        width=420,
    )
    if chosen != reading.labels:
        held.change(reading=changed(reading, labels=chosen))


def _roles(
    columns: Sequence[str],
    roles: Mapping[str, str],
    more: Mapping[str, str],
    starts: Mapping[str, Any],
    key: str,
    reasons: Mapping[str, str],
) -> tuple[dict[str, str], Any, Any, Any]:
    """Ask which column is what; return the column of each role, and three containers.

    The containers are for what is said about the choice, for the main button, and the popover with
    the roles of ``more``. ``starts``: the guessed column or columns by role; ``reasons``: why.
    """
    places = st.columns(len(roles))
    below = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        button = st.container(width="content")
        popover = st.popover("More columns", icon=":material/view_column:", type="tertiary")
    chosen = {}
    for number, (role, label) in enumerate({**roles, **more}.items()):
        guesses = as_list(starts.get(role))
        with places[number] if number < len(places) else popover:
            chosen[role] = column_select(
                label,
                columns,
                guesses[0] if guesses else "",
                key=f"{key}-{role}",
                why=reasons.get(role, ""),
                optional=role != "response" or role in more,
            )
    return chosen, below, button, popover


def groups_sentence(dataset: DataSet) -> str:
    """Say how many answers there are to how many prompts, and what counts as one unit."""
    prompts = [item.prompt or "" for item in dataset.items]
    texts = {item.block or item.item_id for item in dataset.items}
    answers = count(len(prompts), "answer")
    if any(prompts):
        if len(set(prompts)) == len(prompts):
            return f"{answers}, each to its own prompt."
        number = count(len(set(prompts)), "prompt")
        grouped = f"{answers} to {number}. Answers to the same prompt count as one unit."
        return grouped + _doubled_sentence(dataset)
    if len(texts) < len(prompts):
        number = count(len(texts), "text")
        return f"{answers}: {number} under several criteria. Each text counts as one unit."
    alone = f"{answers}. No prompt repeats, so each answer counts on its own."
    return alone + _doubled_sentence(dataset)


def _doubled_sentence(dataset: DataSet) -> str:
    """Say how many answers are in the data twice, to the same prompt; empty for none."""
    given = Counter((item.prompt, item.response, item.criterion) for item in dataset.items)
    doubled = len(dataset.items) - len(given)
    if not doubled:
        return ""
    verb = "is" if doubled == 1 else "are"
    return f" {count(doubled, 'answer')} {verb} there more than once, word for word."


# ---------------------------------------------------------------- the sample, public data sets


def _sample(held: Draft, number: int, _part: DataPart | None) -> None:
    dataset = sample()
    answers = count(len(dataset.items), "short answer")
    st.markdown(f"{answers} to everyday tasks, of varied quality. They come with the lab.")
    _show_items(dataset)
    if st.button("Use the sample", icon=":material/check:", type="primary"):
        _use(held, number, DataPart(sample=True))


def _show_items(dataset: DataSet) -> None:
    rows = [(item.instruction, item.response) for item in dataset.items[:2]]
    _show_rows(("Prompt", "Answer"), rows, "The first two answers")
    st.caption(groups_sentence(dataset))


def _published(held: Draft, number: int, part: DataPart | None) -> None:
    """Draw a public data set: downloaded by a button, or uploaded as the user's own copies."""
    titles = {name: about.title for name, about in sources().items()}
    several = list(titles.values())
    shown = {
        name: f"{title}, {name}" if several.count(title) > 1 else title
        for name, title in titles.items()
    }
    name = ask(
        st.selectbox,
        "Data set",
        list(shown),
        key="data-set",
        start=part.published if part else next(iter(titles)),
        format_func=shown.__getitem__,
    )
    about = sources()[name]
    st.markdown(safe(about.about))
    origins = ", ".join(
        f"github.com/{'/'.join(file.path.split('/')[:2])} ({file.title})" for file in about.files
    )
    st.caption(f"Licence: {safe(about.licence)}. From {safe(origins)}.")
    absent = [file for file in about.files if not file.here()]
    unknown = [file.title for file in absent if not file.sha256]
    is_part = part is not None and part.published == name
    if is_part and part is not None and (part.files or not absent or held.uploads.kept(part)):
        _show_items(held.dataset(number))
    elif unknown:
        st.caption(
            f"The lab cannot download {safe(', '.join(unknown))}, because it has no checksum "
            "for it. Upload your own copy."
        )
    elif absent:
        with faults():
            _fetch(absent)
    elif st.button("Use this data set", icon=":material/check:", type="primary", key="data-use"):
        _use(held, number, validated(DataPart, {"published": name}))
    label = f"Or upload your own copy: {safe(', '.join(file.title for file in about.files))}"
    files = upload(label, [*ENDINGS, "gz"], held, name, accept_multiple_files=True)
    if files and st.button("Use these files", icon=":material/check:", key="data-own"):
        with st.spinner("Reading…"):
            tables = [read_table(file.getvalue(), file.name) for file in files]
            published(name, tables)  # raises LabError if the columns are not this data set's
        names = [_keep(held, number, table) for table in tables]
        _use(held, number, validated(DataPart, {"published": name, "files": names}))


def _fetch(files: Sequence[PublicFile]) -> None:
    """Draw the button that downloads files, and its progress."""
    size, before = sum(file.size for file in files) / MB, 0.0
    if not st.button(
        f"Download {size:.1f} MB", icon=":material/download:", type="primary", key="data-fetch"
    ):
        return
    bar = st.progress(0.0, text="Connecting to github.com…")

    def came(content: int) -> None:
        now = before + content / MB
        bar.progress(min(1.0, now / size), f"{now:.1f} of {size:.1f} MB")

    for file in files:
        fetched(file, came)
        before += file.size / MB
    st.rerun()


def _more(held: Draft, number: int) -> None:
    """Draw what else a data set may have: a name, a sample, some candidates, its own rubric."""
    part, own = held.study.data[number], held.study.rubric
    with st.popover("Name, sample and rubric", icon=":material/tune:", type="tertiary"):
        named = {"name": {"label": "Name of the data set", "placeholder": name_of(part)}}
        values = form(part, named | WORDS["fields"], columns=1, key="data")
        items = held.dataset(number).items
        known = {*part.candidates, *(item.candidate for item in items if item.candidate)}
        if known:
            values["candidates"] = ask(
                st.multiselect,
                "Only answers by",
                sorted(known),
                key="data-candidates",
                start=list(part.candidates),
            )
        if part.published:
            before = "".join(as_list(part.columns.get("human"))[:1])
            label = "Column to use instead of human scores"
            gold = ask(st.text_input, label, key="data-gold", start=before, max_chars=200)
            if gold != before:
                values["columns"] = {"human": gold} if gold else {}
        if part.rubric and st.button("Use the rubric of step 2"):
            values["rubric"] = None
        offered = part.published and own and not part.rubric
        if offered and st.button("Use its published rubric"):
            values["rubric"] = written(held.uploads.published(part)[1])
        if (file := rubric_file("A rubric for this data set", held, "own")) is not None:
            values["rubric"] = written(file[1])
        now = changed(part, **values)
        if now != part:
            held.set_data(number, now)
            st.rerun()


# ---------------------------------------------------------------- judgments made elsewhere


def _judgments(held: Draft, _number: int, _part: DataPart | None) -> None:
    """Draw the import of finished judgments: choose the columns, and open the results."""
    from rubriclab.data.scores import REQUIRED, column_names, guess_kind

    table = held.judged
    if table is None:
        held.judged = _uploaded(held, "One judgment per row", logs=True)
    elif _table(table.name, table):
        held.judged = None
    if held.judged is not table:
        forget("judged-")
        held.uploads.version += 1
        st.rerun()
    if table is None:
        return
    start = guess_kind(table, column_names(table, None, None))
    kind = segments(
        "What was reordered?", JUDGED["kinds"], key="judged-kind", start=start, hidden=False
    )
    st.caption(
        "Order shown: scores as the prompt listed them, for example 3 1 2 5 4. Separate "
        "criteria and candidates with |."
    )
    needed = {role: JUDGED["needed"][role] for role in REQUIRED[kind]}  # type: ignore[index]
    further = {role: label for role, label in JUDGED["further"].items() if role not in needed}
    starts = {"ordering": _order_columns(table)} | column_names(table, kind, None)
    key = f"judged-{kind}"
    chosen, below, button, _ = _roles(table.columns, needed, further, starts, key, {})
    missing = [label for role, label in needed.items() if not chosen[role]]
    judged = None
    if missing:
        below.caption(f"Choose a column for: {', '.join(missing)}.")
    else:
        columns: dict[str, Any] = {role: name for role, name in chosen.items() if name}
        if columns.get("human") in as_list(starts.get("human")):
            columns["human"] = starts["human"]  # the form shows only the first of several people
        judged = _read_once(table, kind, columns)
    if judged is not None:
        head, questions = answerable(judged)
        lines = [
            f":material/{'check' if asked.answered else 'remove'}: {asked.line()}"
            for asked in questions
        ]
        below.markdown("  \n".join([f"**{head}**", *lines]))
        with below:
            judged = _with_looks(judged)
    pressed = button.button(
        "Open results",
        icon=":material/grid_on:",
        type="primary",
        key="judged-open",
        disabled=judged is None,
    )
    if pressed and judged is not None:
        run_id = state.store().add_table(judged)
        announce("Imported as a new run.")
        go("results", run=run_id)


def _with_looks(judged: JudgmentTable) -> JudgmentTable | None:
    """Draw the plan of a file that grows, and return its judgments with the looks.

    None as long as the plan is missing or does not fit the file; the fault is then shown.
    """
    grows = ask(
        st.toggle, JUDGED["grows"], key="judged-grows", start=False, help=JUDGED["grows_help"]
    )
    if not grows:
        earlier = state.store().earlier_reading(judged)
        if earlier is not None:
            warning = grown_words(earlier.name, earlier.done)
            st.caption(safe(f"{warning}: turn on “{JUDGED['grows']}”.", 400))
        return judged
    planned = ask(
        st.number_input,
        JUDGED["planned"],
        2,
        key="judged-planned",
        start=None,
        value=None,
        width=260,
        help=JUDGED["planned_help"],
    )
    if planned is None:
        st.caption("Say how many answers the file will hold in the end.")
        return None
    with faults():
        return with_planned_looks(judged, planned)
    return None


def _order_columns(table: Table) -> list[str]:
    """Return the columns whose first cell looks like an order."""
    cells = zip(table.columns, table.first(1)[0], strict=True)
    return [name for name, cell in cells if ORDER.fullmatch(cell.strip())]


def _read_once(table: Table, kind: str, chosen: dict[str, Any]) -> JudgmentTable | None:
    """Return the judgments of a table, read once for each choice of columns.

    None means that they are invalid; the fault is then shown.
    """
    key = (id(table), kind, str(chosen))
    known, judged = st.session_state.get("judged-read", (None, None))
    if known == key:
        return cast("JudgmentTable", judged)
    with st.spinner("Reading the judgments…"), faults():
        judged = read_judgments(table, kind, chosen)
        st.session_state["judged-read"] = key, judged
        return judged
    return None
