"""Step 1 of Set up: files, the sample, public data sets or finished judgments in; the study's data
(or a run) out.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

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
from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import guess_columns
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
from rubriclab.model.text import count, shorten
from rubriclab.store.bundle import read_parts
from rubriclab.words.answerable import answerable

WORDS, JUDGED = SETUP["data"], SETUP["judgments"]
ENDINGS = ("csv", "tsv", "txt", "xlsx", "json", "jsonl", "parquet")
ORDER = re.compile(r"-?\d+([ ,;>|]+-?\d+){2,}|[^|]+(\|[^|]+)+")


def summary(held: Draft) -> str:
    data = held.study.data
    if held.unconfirmed or not data:
        return "columns not confirmed yet" if data else "no answers yet"
    items = [item for number in range(len(data)) for item in held.dataset(number).items]
    groups = len({item.prompt or item.item_id for item in items})
    name = shorten(name_of(data[0]), 40) if len(data) == 1 else count(len(data), "data set")
    return f"{name} · {count(len(items), 'answer')}" + (
        f", {count(groups, 'group')}" if groups < len(items) else ""
    )


def ready(held: Draft) -> bool:
    """Whether there are data, confirmed, and all of them here."""
    data = held.study.data
    return bool(data) and not held.unconfirmed and all(map(held.here, range(len(data))))


def name_of(part: DataPart) -> str:
    """How a data set is called: by its name, else by where it comes from."""
    return (
        part.name or (sources()[part.published].title if part.published else part.file) or "Sample"
    )


def body(held: Draft) -> None:
    """The open step: the data sets that there are, and the form of the one that is open."""
    data = held.study.data
    rows = [
        f"**{safe(name_of(part), 60)}** :gray[{safe(_about(held, k), 120)}]"
        for k, part in enumerate(data)
    ]
    number = listed(rows, "data", lambda number: held.set_data(number, None))
    if number is not None:
        part = data[number] if number < len(data) else None
        origin = "file" if part is None or part.file else "sample" if part.sample else "published"
        kind = segments("Where from?", WORDS["kinds"], key="data-kind", start=origin)
        form_of = {
            "file": _file,
            "sample": _sample,
            "published": _published,
            "judgments": _judgments,
        }[kind]
        form_of(held, number, part if kind == origin else None)
        if part is not None and kind == origin and held.here(number):
            _more(held, number)
    if data and not held.unconfirmed and (number is None or number < len(data)):
        more = ("data", len(data))
        st.button(
            "Add another data set",
            icon=":material/add:",
            type="tertiary",
            on_click=open_row,
            args=more,
        )


def _about(held: Draft, number: int) -> str:
    rubric = held.study.data[number].rubric
    own = f", judged by a rubric of its own: {rubric.name or rubric.file}" if rubric else ""
    return (
        count(len(held.dataset(number).items), "answer") + own
        if held.here(number)
        else "cannot be read yet"
    )


def _use(held: Draft, number: int, part: DataPart) -> None:
    """Confirms a data set; then the steps close."""
    _put(held, number, part)
    held.unconfirmed.discard(part.file)
    open_step(0)
    st.rerun()


def _put(held: Draft, number: int, part: DataPart) -> None:
    """Puts a data set into the study, and sees to it that each has a rubric.

    A published one alone brings its rubric with it. Beside others each has its own, and the study's
    is for the rest.
    """
    held.set_data(number, part)
    data = held.study.data
    if len(data) == 1 and part.published:
        held.set_rubric(None)
    if len(data) > 1 and not held.study.design.vary.wording:
        for k, other in enumerate(data):
            if (
                other.published
                and other.rubric is None
                and (held.study.rubric is None or k == number)
            ):
                held.set_data(k, changed(other, rubric=written(held.uploads.published(other)[1])))
    if held.study.rubric is None and not all(
        other.published or other.sample or other.rubric for other in data
    ):
        held.set_rubric(written(sample_rubric()))
    forget("rubric-", "data-")


# ---------------------------------------------------------------- a file


def _file(held: Draft, number: int, part: DataPart | None) -> None:
    name = part.file if part else ""
    dataset, table = held.uploads.kept(part) if part else None, held.uploads.tables.get(name)
    if part is not None and (dataset is not None or table is not None):
        kept = ", as the run before has it"
        replaced = (
            _head(name, kept) if dataset is not None else _table(name, held.uploads.table(name))
        )
        if replaced:
            held.set_data(number, None)
            open_row("data", len(held.study.data))
            st.rerun()
        if dataset is not None:
            _show_items(dataset)
        elif table is not None:
            _columns(held, number, part, table)
        return
    if name:
        st.markdown(
            f"The study names **{safe(name, 100)}**, which is on your machine. Upload it here."
        )
    uploaded = _uploaded(held, "One answer per row")
    if uploaded is not None:
        name = _keep(held, number, uploaded, name)
        if part is None:
            _put(held, number, validated(DataPart, {"file": name}))
            held.unconfirmed.add(name)
        forget("data-")
        st.rerun()


def _keep(held: Draft, number: int, table: Table, name: str = "") -> str:
    """Keep an upload of a data set under ``name``, as the study calls it, else under one that no
    other data set has.
    """
    named = [{part.file, *part.files} for part in held.study.data]
    others = {*held.uploads.tables}.union(*named).difference(*named[number : number + 1])
    title = name or shorten(PurePath(table.name).name, 200)
    while not name and title in others:
        title = f"{PurePath(title).stem} (2){PurePath(title).suffix}"
    held.uploads.tables[title] = table
    held.uploads.version += 1
    return title


def _uploaded(held: Draft, what: str, *, logs: bool = False) -> Table | None:
    """What was read of an uploaded file, with ``logs`` also of another tool's log; None where there
    is none, or none that can be read. With ``logs`` a run's zip is kept at once, and its results
    are opened.
    """
    more = ", a log of inspect-ai, promptfoo, lm-eval and others, or a run (ZIP)" * logs
    kinds = f"CSV, TSV, Excel, JSON or Parquet{more}"
    file = upload(
        f"{what}: {kinds}, up to 100 MB", (*ENDINGS, *["eval", "gz", "zip"] * logs), held, "table"
    )
    if file is not None:
        with st.spinner(f"Reading {safe(file.name, 60)} …"), faults():
            if file.name.lower().endswith(".zip"):
                with tempfile.TemporaryDirectory(prefix="rubriclab-") as folder:
                    path = Path(folder, PurePath(file.name).name[-100:])
                    path.write_bytes(file.getvalue())
                    judged, calls, study = read_parts(path)
                    run_id = state.store().add_table(judged, calls, study)
                announce("Kept as a run of its own.")
                for sentence in where_asked(judges_of(study)):
                    announce(safe(sentence, 400))
                go("results", run=run_id)
            log = read_log(file.getvalue(), file.name) if logs else None
            if log is not None:
                return log.table
            table = read_table(file.getvalue(), file.name)
            if logs:
                return table
            if tool := unknown_table(table):
                raise unknown_log(table.name, tool, KNOWN)
            return one_answer_a_row(table)
    return None


def _head(name: str, about: str) -> bool:
    """The file; True where it is to be replaced."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/draft: **{safe(name, 60)}**{about}", width="content")
        return st.button("Replace", icon=":material/upload:", type="tertiary")


def _table(name: str, table: Table) -> bool:
    """As ``_head``, with the size and the first rows."""
    separator = SEPARATORS.get(table.separator or "", "")
    separated = f", separated by {separator}" if separator else ""
    replaced = _head(
        name, f" · {count(table.size, 'row')}, {count(len(table.columns), 'column')}{separated}"
    )
    if table.note:
        st.caption(safe(table.note, 300))
    _show_rows(table.columns, table.first(2), "The first two rows of the file")
    return replaced


def _show_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], alt: str) -> None:
    """Rows to recognise a file by: long cells are cut, so that as many columns as can be stand side
    by side.
    """
    short = [max((len(row[k]) for row in rows), default=0) <= 16 for k in range(len(columns))]
    most = max(14, (84 - 16 * sum(short)) // max(1, len(short) - sum(short)))
    names = [
        f"{shorten(name, 30)} ({k + 1})" if len(name) > 30 else name
        for k, name in enumerate(columns)
    ]
    cut = [[shorten(cell, most) for cell in row] for row in rows]
    st.dataframe(pd.DataFrame(cut, columns=names), hide_index=True, alt=alt)


def _columns(held: Draft, number: int, part: DataPart, table: Table) -> None:
    """Which column is what: guessed, changed, and confirmed by one click."""
    guess = guess_columns(table, held.rubric(number))
    before = guess.columns | part.columns
    before["human"] = as_list(before.get("human"))
    if not guess.columns.get("response") and not part.columns:
        st.markdown(":orange[No column looks like a text. Choose the one with the answers.]")
    elif not guess.matched and not part.columns:
        st.markdown(
            "We could not match your column names, so we guessed from the contents. **Is this "
            "right?**"
        )
    labels = WORDS["columns"], WORDS["more_columns"]
    chosen, said, button, more = _roles(table.columns, *labels, before, "data", guess.reasons)
    pressed = button.button(
        "Yes, use these columns", icon=":material/check:", type="primary", key="data-confirm"
    )
    start = before["human"][1:]
    further = ask(
        more.multiselect, "Further human scores", table.columns, key="data-humans", start=start
    )
    columns = chosen | {
        "human": [name for name in dict.fromkeys([chosen["human"], *further]) if name]
    }
    if pressed or any(name != before.get(role, "") for role, name in columns.items()):
        given = {role: name for role, name in columns.items() if name or role in guess.columns}
        part = changed(part, columns=given)
        held.set_data(number, part)
        held.unconfirmed.add(part.file)
    with said, faults():
        dataset = held.dataset(number)
        left_out = dataset.origin.rpartition("; ")[2]
        rubric = held.rubric(number)
        named = [rubric.criterion_named(name) or ("", name) for name in columns["human"]]
        people = [safe(name, 30) for name in dict.fromkeys(rater for _, rater in named)]
        raters = (
            f" Human scores of {len(people)} people: {', '.join(people)}."
            if len(people) > 1
            else ""
        )
        left = f" {left_out}." if left_out.endswith("left out") else ""
        st.caption(groups_sentence(dataset) + raters + left)
        scores = [score for criterion in rubric.criteria for score in criterion.scores]
        rated = [score for item in dataset.items for score in item.ratings.values()]
        pairs = {*rated} <= {0.0, 0.5, 1.0} and len(
            {item.candidate for item in dataset.items} - {None, ""}
        ) > 1
        if pairs and not {"pairs", "lists"} & {*held.study.design.axes}:
            st.markdown(
                ":orange[Your file says which answer won: to ask the judge that too, choose Two "
                "answers in step 4.]"
            )
            rated = []
        one_scale = "agreement in points needs one scale. Change the rubric's scores in step 2."
        off_scale(rated, scores, "the rubric", one_scale)
        if pressed:
            _use(held, number, part)


def _roles(
    columns: Sequence[str],
    roles: Mapping[str, str],
    more: Mapping[str, str],
    starts: Mapping[str, Any],
    key: str,
    reasons: Mapping[str, str],
) -> tuple[dict[str, str], Any, Any, Any]:
    """Which column is what, ``more`` behind a button: (column by role, what is said of it, the main
    button, the popover).
    """
    wheres = st.columns(len(roles))
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        button = st.container(width="content")
        popover = st.popover("More columns", icon=":material/view_column:", type="tertiary")
    chosen = {}
    for role, label in {**roles, **more}.items():
        with wheres.pop(0) if wheres else popover:
            chosen[role] = column_select(
                label,
                columns,
                *as_list(starts.get(role))[:1],
                key=f"{key}-{role}",
                why=reasons.get(role, ""),
                optional=role != "response" or role in more,
            )
    return chosen, said, button, popover


def groups_sentence(dataset: DataSet) -> str:
    """How many answers there are to how many instructions, and what that means."""
    prompts = [item.prompt or "" for item in dataset.items]
    groups, answers = len(set(prompts)), count(len(prompts), "answer")
    texts = {item.block or item.item_id for item in dataset.items}
    if not any(prompts) and len(texts) < len(prompts):
        return (
            f"{answers}: {count(len(texts), 'text')} under several criteria. Each text counts "
            f"as one group."
        )
    if not any(prompts):
        return f"{answers}. No instruction repeats, so each answer counts by itself."
    if groups < len(prompts):
        return (
            f"{answers} to {count(groups, 'instruction')}. Answers to one instruction count as "
            f"one group."
        )
    return f"{answers}, each to an instruction of its own."


# ---------------------------------------------------------------- the sample, public data sets


def _sample(held: Draft, number: int, _part: DataPart | None) -> None:
    dataset = sample()
    answers = count(len(dataset.items), "short answer")
    st.markdown(f"{answers} to everyday tasks, of varied quality, that come with the lab.")
    _show_items(dataset)
    if st.button("Use the sample", icon=":material/check:", type="primary"):
        _use(held, number, DataPart(sample=True))


def _show_items(dataset: DataSet) -> None:
    rows = [(item.instruction, item.response) for item in dataset.items[:2]]
    _show_rows(("Instruction", "Answer"), rows, "The first two answers")
    st.caption(groups_sentence(dataset))


def _published(held: Draft, number: int, part: DataPart | None) -> None:
    """A data set as its authors published it: fetched by a button, or the user's own copies, whose
    columns are checked.
    """
    titles = {name: about.title for name, about in sources().items()}
    several = {
        name: f"{title}, {name}"
        for name, title in titles.items()
        if [*titles.values()].count(title) > 1
    }
    start, shown = part.published if part else next(iter(titles)), titles | several
    name = ask(
        st.selectbox,
        "Data set",
        list(shown),
        key="data-set",
        start=start,
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
    if (
        part is not None
        and part.published == name
        and (part.files or not absent or held.uploads.kept(part))
    ):
        _show_items(held.dataset(number))
    elif unknown:
        st.caption(
            f"{safe(', '.join(unknown))} cannot be fetched: no hash of it is known. Upload your "
            f"own copy."
        )
    elif absent:
        with faults():
            _fetch(absent)
    elif st.button("Use this data set", icon=":material/check:", type="primary", key="data-use"):
        _use(held, number, validated(DataPart, {"published": name}))
    label = f"Or upload your own copy: {safe(', '.join(file.title for file in about.files))}"
    files = upload(label, [*ENDINGS, "gz"], held, name, accept_multiple_files=True)
    if files and st.button("Use these files", icon=":material/check:", key="data-own"):
        with st.spinner("Reading …"):
            tables = [read_table(file.getvalue(), file.name) for file in files]
            published(name, tables)  # raises for columns that are not those of this data set
        names = [_keep(held, number, table) for table in tables]
        _use(held, number, validated(DataPart, {"published": name, "files": names}))


def _fetch(files: Sequence[PublicFile]) -> None:
    """Fetches files, with their progress; a fault of the network is said in words."""
    size, before = sum(file.size for file in files) / MB, 0.0
    if not st.button(
        f"Fetch {size:.1f} MB", icon=":material/download:", type="primary", key="data-fetch"
    ):
        return
    bar = st.progress(0.0, text="Asking github.com …")

    def came(content: int) -> None:
        now = before + content / MB
        bar.progress(min(1.0, now / size), f"{now:.1f} of {size:.1f} MB")

    for file in files:
        fetched(file, came)
        before += file.size / MB
    st.rerun()


def _more(held: Draft, number: int) -> None:
    """What a data set may have besides: a name, a sample, some candidates, a rubric of its own."""
    part, others = held.study.data[number], held.study.rubric
    with st.popover("Name, sample and rubric", icon=":material/tune:", type="tertiary"):
        named = {"name": {"label": "Name of the data set", "placeholder": name_of(part)}}
        values = form(part, named | WORDS["fields"], columns=1, key="data")
        known = sorted(
            {
                *part.candidates,
                *(item.candidate for item in held.dataset(number).items if item.candidate),
            }
        )
        if known:
            start = list(part.candidates)
            values["candidates"] = ask(
                st.multiselect, "Only the answers of", known, key="data-candidates", start=start
            )
        if part.published:
            label, before = (
                "Scores in place of people's: their column",
                as_list(part.columns.get("human"))[:1],
            )
            gold = ask(st.text_input, label, key="data-gold", start="".join(before), max_chars=200)
            if [gold] != before and (gold or before):
                values["columns"] = {"human": gold} if gold else {}
        if part.rubric and st.button("Judge it by the rubric of step 2"):
            values["rubric"] = None
        offered = part.published and others and not part.rubric
        if offered and st.button("Judge it by its rubric as published"):
            values["rubric"] = written(held.uploads.published(part)[1])
        if (file := rubric_file("A rubric of its own", held, "own")) is not None:
            values["rubric"] = written(file[1])
        now = changed(part, **values)
        if now != part:
            held.set_data(number, now)
            st.rerun()


# ---------------------------------------------------------------- judgments made elsewhere


def _judgments(held: Draft, _number: int, _part: DataPart | None) -> None:
    """Finished judgments: the columns, then straight to Results."""
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
        "Order shown: the scores as the prompt listed them, 3 1 2 5 4; criteria and candidates "
        "with | between."
    )
    needed = {role: JUDGED["needed"][role] for role in REQUIRED[kind]}  # type: ignore[index]
    further = {role: label for role, label in JUDGED["further"].items() if role not in needed}
    cells = zip(table.columns, table.first(1)[0], strict=True)
    orders = [name for name, cell in cells if ORDER.fullmatch(cell.strip())]
    starts = {"ordering": orders} | column_names(table, kind, None)
    chosen, said, button, _ = _roles(table.columns, needed, further, starts, f"judged-{kind}", {})
    missing = [label for role, label in needed.items() if not chosen[role]]
    if missing:
        said.caption(f"First choose: {', '.join(missing)}.")
    look = {"icon": ":material/grid_on:", "type": "primary", "key": "judged-open"}
    columns: dict[str, Any] = {role: name for role, name in chosen.items() if name}
    if columns.get("human") in as_list(
        starts.get("human")
    ):  # the form shows the first of several people's
        columns["human"] = starts["human"]
    judged = None if missing else _read_once(table, kind, columns)
    if judged is not None:
        head, questions = answerable(judged)
        marks = [
            f":material/{'check' if asked.answered else 'remove'}: {asked.line()}"
            for asked in questions
        ]
        said.markdown("  \n".join([f"**{head}**", *marks]))
    if button.button("Open results", disabled=judged is None, **look) and judged is not None:
        run_id = state.store().add_table(judged)
        announce("Kept as a run of its own.")
        go("results", run=run_id)


def _read_once(table: Table, kind: str, chosen: dict[str, Any]) -> JudgmentTable | None:
    """The judgments of a table by the columns that were chosen, kept until another is; None where
    they cannot be read.
    """
    key = (id(table), kind, str(chosen))
    if st.session_state.get("judged-read", [None])[0] != key:
        with st.spinner("Reading the judgments …"), faults():
            st.session_state["judged-read"] = key, read_judgments(table, kind, chosen)
    known, judged = st.session_state.get("judged-read", (None, None))
    return judged if known == key else None
