"""Set up: five steps in; a checked study and a launched run out."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import setup_data, setup_judge, setup_orders, setup_rubric, state
from rubriclab.app.draft import Before, Draft, draft, study_toml
from rubriclab.app.forms import ask, download, forget, open_row, open_step, step, upload
from rubriclab.app.frame import announce, conversation, faults, fold, go, safe
from rubriclab.app.runs import ORDERED
from rubriclab.data.sample import presets
from rubriclab.model.consent import where_asked
from rubriclab.model.study import MAX_STUDY, ReadingPart, Study, flat, read_study, study_from_toml
from rubriclab.model.text import LabError, count, duration, file_name, shorten
from rubriclab.runs.loading import study_of_import
from rubriclab.runs.manager import plan_of_run
from rubriclab.runs.reading_check import spends
from rubriclab.runs.write_references import items_csv
from rubriclab.words.phrases import order_title
from rubriclab.words.subject import AXES

if TYPE_CHECKING:
    from rubriclab.runs.forecast import Estimate
    from rubriclab.store.read import Reader
    from rubriclab.study.plan import Plan

STEPS = {
    1: ("Data", setup_data),
    2: ("Rubric", setup_rubric),
    3: ("Judge", setup_judge),
    4: ("Orders", setup_orders),
}


def page() -> None:
    """Draws the page; ``?again=RUN`` fills the steps in from that run."""
    st.title("Set up a run", anchor=False)
    st.markdown("Five steps. Every step has a default; change what you need.")
    if run_id := st.query_params.pop("again", ""):
        with faults():
            load_run(run_id)
    if "setup shelved" in st.session_state:
        st.button(
            "Back to what was being set up", icon=":material/undo:", type="tertiary", on_click=_back
        )
    held = draft()
    left, right = st.columns([2, 1], gap="large")
    with left:
        for number, (title, part) in STEPS.items():
            ready = number not in held.problems and (number > 1 or setup_data.ready(held))
            opened = st.session_state.get("setup step", 1) == number
            step(
                number,
                title,
                _summary(number, part),
                opened=opened,
                ready=ready,
                body=partial(_body, number, part),
            )
    with right, st.container(border=True, key="launch"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="step-5"):
            plan, blocked = _planned(held)
            state_class = "" if blocked else "step-open"
            st.html(
                f'<span class="step-number {state_class}" aria-hidden="true">5</span>',
                width="content",
            )
            st.header("Check and launch", anchor=False, width="content")
        _check(held, plan, blocked)


def _summary(number: int, part: ModuleType) -> str:
    """What a closed step says: what is chosen, or what is wrong with it."""
    try:
        return draft().problems.get(number) or str(part.summary(draft()))
    except LabError as fault:
        return str(fault)


def _body(number: int, part: ModuleType) -> None:
    """An open step, and what is wrong with it."""
    held = draft()
    held.problems.pop(number, None)
    try:
        part.body(held)
    except LabError as fault:
        held.problems[number] = str(fault)
        st.error(safe(str(fault)), icon=":material/error:")


def _planned(held: Draft) -> tuple[tuple[Plan, Estimate] | None, str]:
    """The plan of the draft as far as there is one, and why it cannot be launched yet (empty: it
    can).
    """
    _name(held)
    if held.study.data and held.problems:
        return None, held.problems[min(held.problems)]
    try:
        return held.plan(), "First confirm the columns in step 1." if held.unconfirmed else ""
    except LabError as fault:
        return None, str(fault)


def _check(held: Draft, planned: tuple[Plan, Estimate] | None, blocked: str) -> None:
    """Step 5: what it costs, what it can find, its name, and the launch."""
    asked, known = len(planned[0]) if planned else 0, None
    if planned is not None:
        _numbers(*planned)
    if planned is not None and held.before is not None:
        taken, known = _answered(held, held.before, planned[0])
        asked -= taken
        blocked = blocked or (
            "" if asked else "Nothing is changed yet that a judge would be asked about."
        )
        wordings = planned[0].study.design.vary.wording
        if wordings != held.study.design.vary.wording:
            named = safe("; ".join(wordings), 300)
            st.caption(f"Asked in these wordings: {named}. What the words change is one number.")
    ask(st.text_input, "Name of the run", key="launch-name", start="", max_chars=200)
    label = f"Launch: {count(asked, 'call')}" if planned else "Launch"
    pressed = st.button(
        label,
        icon=":material/rocket_launch:",
        type="primary",
        disabled=bool(blocked),
        width="stretch",
        key="launch-go",
    )
    if blocked:
        st.caption(safe(blocked, 400))
    elif pressed and planned is not None:
        with faults():
            run_id = state.manager().start(planned[0], known=known, check="hold").id
            announce(f"Launched: {safe(held.study.name, 60)}.")
            go("runs", run=run_id)
    if kept := _kept(held.study):
        st.caption(safe(kept, 400))
    prompt = partial(_prompt, planned[0] if planned else None)
    fold("The prompt, exactly as sent", prompt, icon="chat", key="launch-prompt")
    fold("study.toml · Load a study", partial(_study_file, held), icon="code", key="launch-toml")
    st.caption(
        "Nothing is sent before you launch. Your file stays here; the judge's server sees the "
        "prompts. "
        "The first eight replies are checked. The run waits for you if they cannot be parsed."
    )


def _answered(held: Draft, before: Before, plan: Plan) -> tuple[int, tuple[Reader, str] | None]:
    """How many calls need not be asked because the run before was, and where their answers are;
    they may be asked anew.
    """
    answered = held.answered(plan)
    if answered == 0:
        return 0, None
    some = f"{answered:,} of these calls" if answered else "Calls that do not change"
    took = ask(
        st.checkbox,
        f"{some} keep their answers from the run before",
        key="launch-known",
        start=True,
        help="They are the same, word for word. Off: they are asked anew.",
    )
    return (answered or 0, (before.store, before.id)) if took else (0, None)


def _name(held: Draft) -> None:
    """A name from the data and what is reordered, until the user types another one."""
    axis, data, before = held.study.design.axes[0], held.study.data, held.suggested
    what = ORDERED.get(axis, AXES[axis].lower())
    stem = PurePath(setup_data.name_of(data[0])).stem if data else ""
    held.suggested = f"{shorten(stem, 60)}, {what}" if data else ""
    typed = st.session_state.get("launch-name", held.study.name)
    name = held.suggested if typed in ("", before) else typed
    st.session_state["launch-name"] = name
    held.change(name=name)


def _numbers(plan: Plan, made: Estimate) -> None:
    """Calls, time, price, and the smallest change that the run can find."""
    local = not any(spends(judge) for judge in plan.study.judges)
    if made.price is not None:
        price = (f"{made.price:,.2f}", "at your prices")
    else:
        price = ("free", "on this machine") if local else ("–", "no prices given")
    figures = ((f"{made.calls:,}", "calls"), (duration(made.seconds), "about"), price)
    parts = "".join(
        f"<div><strong>{value}</strong><span>{label}</span></div>" for value, label in figures
    )
    st.html(f'<div class="figures">{parts}</div>')
    st.markdown(safe(made.sentence))
    for note in plan.notes:
        st.caption(safe(note, 400))


def _prompt(plan: Plan | None) -> None:
    if plan is None:
        st.caption("First add your answers in step 1.")
        return
    left, right = st.columns(2)
    item = ask(left.number_input, "Answer", 1, len(plan.items), key="prompt-item", start=1) - 1
    calls = plan.previews(int(item))
    titles = [shorten(order_title(call.ordering.shown), 80) for call in calls]
    order = right.selectbox(
        "Order", range(len(calls)), format_func=titles.__getitem__, key="prompt-order"
    )
    conversation(calls[order].messages, 400)


def _study_file(held: Draft) -> None:
    """study.toml: to read and to take along; a preset or a file to load."""
    if held.study.data and not held.problems:
        text = study_toml(held.checked())
        st.code(text, language="toml", height=240)
        download("Download study.toml", text, file_name(held.study.name, ".toml"))
        for part in held.study.data if held.before is None else ():
            if (
                items := held.uploads.kept(part)
            ) is not None:  # of a log: no file of the user's holds them
                download(f"Download {part.file}", partial(items_csv, items), part.file)
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    known = presets()
    name = left.selectbox("Load a preset", list(known), key="toml-preset")
    if right.button("Load", key="toml-load"):
        load(read_study(known[name]))
    file = upload("Load a study.toml", ["toml"], held, "toml", max_upload_size=1)
    if file is not None:
        if file.size > MAX_STUDY:
            raise LabError(
                f"A study file has at most {MAX_STUDY:,} bytes; this one has {file.size:,}."
            )
        load(study_from_toml(file.getvalue().decode("utf-8", "replace"), "study.toml"))


def load(study: Study) -> None:
    """Let a study fill the steps, whole: what no step shows is kept and launched all the same, and
    said.
    """
    held = Draft(study, draft().uploads)
    held.uploads.version += 1
    _begin(held)
    missing = next((number for number in range(len(study.data)) if not held.here(number)), None)
    open_row("data", missing)
    first = 2 if held.missing_rubrics() else 0 if missing is None else 1
    open_step(first)
    announce(
        f"Loaded. Its {'rubric is' if first == 2 else 'data are'} not here yet."
        if first
        else "Loaded."
    )
    for sentence in where_asked(study.judges):
        announce(safe(sentence, 400))
    st.rerun()


def load_run(run_id: str) -> None:
    """Let a run of the store fill the steps, its data with it: no file is needed.

    Of an import its prompts, to be asked in other orders; raises LabError where it has none or they
    cannot be.
    """
    store = state.store_of(run_id)
    info = store.run(run_id)
    if store.keeps_prompts(info.id):
        held = Draft()
        with st.spinner("Looking for the list in the prompts …"):
            held.study = study_of_import(store, info.id, held.uploads)
    else:
        plan = plan_of_run(store, info.id)
        # As the run keeps it: its rubrics written out.
        study = plan.study.model_copy(update={"name": f"{shorten(info.name, 180)}, changed"})
        held = Draft(study, before=Before(store, info.id, plan.study))
        for part, (dataset, _) in zip(study.data, plan.sources, strict=True):
            held.uploads.keep(part, dataset)
    if draft().study.data:
        st.session_state["setup shelved"] = draft()
    _begin(held)
    open_step(2)


def _begin(held: Draft) -> None:
    """Let a draft fill the steps, all forms closed; own code of its judges has to be looked at
    before.
    """
    st.session_state["setup draft"] = held
    if any(judge.about.runs_code for judge in held.study.judges):
        held.problems[3] = "First look at the file that the judge runs, in step 3."
    forget("rubric-", "orders-", "launch-name", "launch-known")
    for name in ("data", "judge"):
        open_row(name, None)


def _back() -> None:
    _begin(st.session_state.pop("setup shelved"))
    open_step(0)


def _kept(study: Study) -> str:
    """What the study holds that no step shows, in words; empty: nothing."""
    parts = [f"{count(len(study.paper), 'table')} of a paper's numbers"] * bool(study.paper)
    if study.references.scores:
        parts.append(
            f"reference answers of the scores {', '.join(map(str, study.references.scores))} alone"
        )
    if study.reading != ReadingPart():
        read = flat(study.reading.model_dump(exclude_defaults=True))
        parts.append(
            f"how results are read "
            f"({', '.join(f'{name} = {value}' for name, value in read.items())})"
        )
    return f"Kept from the study file: {', '.join(parts)}." if parts else ""
