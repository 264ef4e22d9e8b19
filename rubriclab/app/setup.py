"""Set up: five steps in; a checked study and a launched run out."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from rubriclab.app import setup_data, setup_judge, setup_orders, setup_rubric, state
from rubriclab.app.draft import Draft, draft, study_toml
from rubriclab.app.forms import do_later, later, opened_step, preset, step
from rubriclab.app.frame import announce, faults, go, safe, verbatim
from rubriclab.model.study import MAX_STUDY, Study, study_from_toml
from rubriclab.model.text import LabError, count, duration, file_name, shorten
from rubriclab.sinks.facts import AXES
from rubriclab.sinks.text import order_title
from rubriclab.study.plan import Plan

STEPS = {1: ("Data", setup_data), 2: ("Rubric", setup_rubric), 3: ("Judge", setup_judge), 4: ("Orders", setup_orders)}


def page() -> None:
    """Draws the page."""
    do_later()
    st.title("Set up a run", anchor=False)
    st.markdown("Five steps. Every step has a default; change what you need.")
    held = draft()
    left, right = st.columns([2, 1], gap="large")
    with left:
        for number, (title, part) in STEPS.items():
            ready = held.confirmed if number == 1 else number not in held.problems
            step(
                number, title, part.summary(), opened=opened_step() == number, ready=ready, body=part.body
            )  # fmt: skip
    with right, st.container(border=True, key="launch"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="step-5"):
            plan, blocked = _planned(held)
            state_class = "" if blocked else "step-open"
            st.html(f'<span class="step-number {state_class}" aria-hidden="true">5</span>', width="content")
            st.header("Check and launch", anchor=False, width="content")
        _check(held, plan, blocked)


def _planned(held: Draft) -> tuple[Plan | None, str]:
    """The plan of the draft as far as there is one, and why it cannot be launched yet (empty: it can)."""
    _name(held)
    if held.dataset is None:
        return None, "First add your answers in step 1."
    for number in sorted(held.problems):
        return None, held.problems[number]
    try:
        plan = held.plan()
    except LabError as fault:
        return None, str(fault)
    return plan, "" if held.confirmed else "First confirm the columns in step 1."


def _check(held: Draft, plan: Plan | None, blocked: str) -> None:
    """Step 5: what it costs, what it can find, its name, and the launch."""
    if plan is not None:
        _numbers(plan)
    held.name = st.text_input("Name of the run", key="launch-name", max_chars=200, persist_state="session") or ""
    calls = sum(plan.planned) if plan else 0
    label = f"Launch: {count(calls, 'call')}" if plan else "Launch"
    pressed = st.button(
        label, icon=":material/rocket_launch:", type="primary", disabled=bool(blocked), width="stretch", key="launch-go"
    )
    if blocked:
        st.caption(safe(blocked, 400))
    elif pressed and plan is not None:
        with faults():
            run_id = state.manager().start(held.plan()).id
            announce(f"Launched: {safe(held.name, 60)}.")
            go("runs", run=run_id)
    _prompt(plan)
    _study_file(held)
    st.caption("Nothing is sent before you launch. Your file stays here; the judge's server sees the prompts.")


def _name(held: Draft) -> None:
    """A name from the data and what is reordered, until the user types another one."""
    what = {"options": "score order", "criteria": "criterion order", "bare": "bare scores"}.get(
        held.design.axes[0], AXES[held.design.axes[0]].lower()
    )
    automatic = f"{shorten(held.dataset.name, 60)}, {what}" if held.dataset else ""
    if st.session_state.get("launch-name", "") in ("", st.session_state.get("setup name", "")):
        st.session_state["launch-name"] = automatic
    st.session_state["setup name"] = automatic
    held.name = st.session_state["launch-name"]


def _numbers(plan: Plan) -> None:
    """Calls, time, price, and the smallest change that the run can find."""
    made = draft().estimate(plan)
    local = all(judge.kind != "openai" for judge in plan.study.judges)
    if made.price is not None:
        price = (f"{made.price:,.2f}", "at your prices")
    else:
        price = ("free", "on this machine") if local else ("–", "no prices given")
    figures = ((f"{made.calls:,}", "calls"), (duration(made.seconds), "about"), price)
    parts = "".join(f"<div><strong>{value}</strong><span>{label}</span></div>" for value, label in figures)
    st.html(f'<div class="figures">{parts}</div>')
    st.markdown(safe(made.sentence))
    for note in plan.notes:
        st.caption(safe(note, 400))


def _prompt(plan: Plan | None) -> None:
    """The messages of a call as they are sent."""
    fold = st.expander("The prompt, exactly as sent", icon=":material/chat:", key="launch-prompt", on_change="rerun")
    if not fold.open:
        return
    with fold:
        if plan is None:
            st.caption("First add your answers in step 1.")
            return
        left, right = st.columns(2)
        item = left.number_input("Answer", 1, len(plan.items), key=preset("prompt-item", 1)) - 1
        with faults():
            calls = plan.previews(int(item))
            order = right.selectbox(
                "Order",
                range(len(calls)),
                format_func=lambda k: shorten(order_title(calls[k].ordering.shown), 80),
                key="prompt-order",
            )
            for message in calls[order].messages:
                st.caption(safe(message["role"]))
                verbatim(message["content"], height=320 if len(message["content"]) > 400 else None)


def _study_file(held: Draft) -> None:
    """study.toml: to read, to take along, to load."""
    fold = st.expander("study.toml", icon=":material/code:", key="launch-toml", on_change="rerun")
    if not fold.open:
        return
    with fold:
        if held.dataset is not None and not held.problems:
            with faults():
                text = study_toml(held.study())
                st.code(text, language="toml", height=240)
                st.download_button(
                    "Download study.toml",
                    text,
                    file_name(held.name, ".toml"),
                    "application/toml",
                    on_click="ignore",
                    icon=":material/download:",
                )
        file = st.file_uploader(
            "Load a study.toml", type=["toml"], key=f"toml-upload-{st.session_state.get('setup toml count', 0)}",
            max_upload_size=1,
        )  # fmt: skip
        if file is not None:
            with faults():
                if file.size > MAX_STUDY:
                    raise LabError(f"A study file has at most {MAX_STUDY:,} bytes; this one has {file.size:,}.")
                study = study_from_toml(file.getvalue().decode("utf-8", "replace"), "study.toml")
                refuse_beyond_steps(study)
                st.session_state["setup toml count"] = st.session_state.get("setup toml count", 0) + 1
                announce("Loaded. Its data file has to be uploaded in step 1, unless it is the sample.")
                later(load, study)


def refuse_beyond_steps(study: Study) -> None:
    """Raises LabError for a study that the steps would cut down: what they cannot show they would leave out."""
    beyond = [f"{len(study.data)} data sets"] * (len(study.data) > 1)
    beyond += [f"reorder = {', '.join(study.design.axes)}"] * (len(study.design.axes) > 1)
    beyond += [f"{name} varied" for name in study.design.vary.factors()]
    if beyond:
        raise LabError(
            f"This study has {shorten('; '.join(beyond), 200)}, which the steps do not show. Start it as it is with "
            "“rubriclab run study.toml” on this store: its run then stands under Runs."
        )


def load(study: Study) -> None:
    """Let a study file fill the steps. Its data and rubric files are not read: they are on the user's machine."""
    from rubriclab.data.sample import sample
    from rubriclab.runs.loading import rubric_of_part

    held = draft()
    if study.rubric is not None and study.rubric.criteria:
        held.rubric = rubric_of_part(study, 0, Path())
        setup_rubric.fill(held.rubric)
    setup_judge.fill(study.judges)
    setup_orders.fill(study.design)
    held.problems.clear()
    st.session_state["launch-name"] = study.name
    held.sample = study.data[0].sample
    if held.sample:
        held.dataset, held.columns, held.confirmed = sample(), {}, True
        st.session_state["setup step"] = 0
    elif held.table is None:
        st.session_state["setup step"] = 1
