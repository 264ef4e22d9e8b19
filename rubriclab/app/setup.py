"""Draw Set up: four steps that fill a draft, and a card that checks and launches it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import PurePath
from time import time
from types import ModuleType
from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import setup_data, setup_judge, setup_orders, setup_rubric, state, waiting_paste
from rubriclab.app.browser_tab import draw_tab, this_tab
from rubriclab.app.draft import Before, Draft, changed, draft, study_toml
from rubriclab.app.forms import ask, download, forget, open_row, open_step, step, upload
from rubriclab.app.frame import announce, conversation, faults, fold, go, safe
from rubriclab.app.kept_draft import (
    TYPED,
    Kept,
    Numbers,
    copy_draft,
    draft_of,
    forget_draft,
    keep,
    kept_of,
    read_text,
    text_of,
)
from rubriclab.app.runs import ORDERED
from rubriclab.app.session_keys import session_keys
from rubriclab.data.sample import preset_title, presets
from rubriclab.model.consent import where_asked
from rubriclab.model.looks import Stop
from rubriclab.model.study import MAX_STUDY, ReadingPart, Study, flat, read_study, study_from_toml
from rubriclab.model.text import LabError, between, count, duration, file_name, shorten
from rubriclab.runs.loading import SEVERAL, study_of_import
from rubriclab.runs.manager import plan_of_run
from rubriclab.runs.reading_check import spends
from rubriclab.runs.write_references import items_csv
from rubriclab.study.plan_looks import can_stop_early
from rubriclab.words.phrases import order_title
from rubriclab.words.subject import AXES

if TYPE_CHECKING:
    from rubriclab.runs.forecast import Estimate
    from rubriclab.store.read import Reader
    from rubriclab.study.plan import Plan

STOP_WORDS: dict[Stop, str] = {
    "known": "The order is shown to matter",
    "decided": "All three questions have an answer",
}
"""When a run stops early, as the page says it."""
CONFIRM = "Confirm the columns in step 1 first."
STEPS = {
    1: ("Data", setup_data),
    2: ("Rubric", setup_rubric),
    3: ("Judge", setup_judge),
    4: ("Orders", setup_orders),
}


def page() -> None:
    """Draw the page.

    ``?again=RUN`` fills the steps from that run; ``&also=criteria`` reorders the criteria too, and
    ``&fix=judge`` opens the step of the judge. ``&fix=grammar`` also constrains small models that
    the reading check advises to constrain.
    """
    st.title("Set up a run", anchor=False)
    draw_tab()
    with faults():
        _restore()
    _say_returned()
    if run_id := st.query_params.pop("again", ""):
        also, fix = st.query_params.pop("also", ""), st.query_params.pop("fix", "")
        st.session_state["setup wanted"] = run_id, also, fix
    if wanted := st.session_state.get("setup wanted"):
        with faults():
            load_run(*wanted)
        # Streamlit may start this page again while the run loads. The request stays until the run
        # is there, so that the next start loads it.
        del st.session_state["setup wanted"]
    if "setup shelved" in st.session_state:
        st.button("Back to my set-up", icon=":material/undo:", type="tertiary", on_click=_back)
    held = draft()
    if waiting_paste.is_reason(held.problems.get(2, "")):
        del held.problems[2]
    if why := waiting_paste.reason():
        held.problems.setdefault(2, why)
    left, right = st.columns([2, 1], gap="large")
    with left:
        for number, (title, part) in STEPS.items():
            step(
                number,
                title,
                _summary(number, part),
                opened=st.session_state.get("setup step", 1) == number,
                ready=number not in held.problems and (number > 1 or setup_data.ready(held)),
                body=partial(_body, number, part),
            )
    with right, st.container(border=True, key="launch"):
        # The steps on the left are drawn first, because they change the draft.
        planned, blocked = _planned(held)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="step-5"):
            shown_as = "" if blocked else "step-open"
            st.html(
                f'<span class="step-number {shown_as}" aria-hidden="true">5</span>',
                width="content",
            )
            st.header("Check and launch", anchor=False, width="content")
        _check(held, planned, blocked)
    _keep(held)


def _restore() -> None:
    """Fill the steps from what was kept for this browser tab, once and only if they are empty.

    If they are not, because the page was opened from a run, it is kept for “Back to my set-up”.
    Raises LabError for a draft that is broken or whose run is gone.
    """
    tab = this_tab()
    if tab is None or st.session_state.get("setup restored") == tab.id:
        return
    if tab.copied_from:
        copy_draft(tab.copied_from, tab.id)
    try:
        kept = kept_of(tab.id)
        if kept is not None:
            text = read_text(kept.text)
            held = draft_of(text, kept.tables, _draft_of_run(text.run) if text.run else Draft())
    except LabError:
        st.session_state["setup restored"] = tab.id
        forget_draft(tab.id)
        raise
    # Streamlit may start this page again while the draft is read. It counts as restored only now,
    # so that the next start reads it.
    st.session_state["setup restored"] = tab.id
    if kept is None:
        return
    if draft().study.data:
        st.session_state["setup shelved"] = held
        st.session_state["setup shelved texts"] = text.typed
        return
    _begin(held)
    _open_single_rows(held)
    open_step(text.opened)
    for name in TYPED:
        if name in text.typed:
            st.session_state[name] = text.typed[name]
    st.session_state["setup returned"] = text.saved
    st.rerun()


def _open_single_rows(held: Draft) -> None:
    """Open the form of the only data set and of the only judge, as on a first visit."""
    for name, rows in (("data", held.study.data), ("judge", held.study.judges)):
        if len(rows) < 2:
            open_row(name, 0)


def _say_returned() -> None:
    """Say that a set-up is back after a reload, and offer to start over."""
    saved = st.session_state.get("setup returned")
    if saved is None:
        return
    behind = st.context.timezone_offset  # minutes
    # Without an offset of the browser, None: the server's own time.
    zone = None if behind is None else timezone(-timedelta(minutes=behind))
    names = [safe(name, 60) for name in draft().uploads.tables]
    what = ", ".join([*names, "the rubric and the judge"]) if names else "The rubric and the judge"
    with st.container(border=True, key="returned", horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**Your set-up from {datetime.fromtimestamp(saved, zone):%H:%M} is back.** "
            f":gray[{what} are as you left them. Kept for this tab for a day; keys never are.]",
            width="stretch",
        )
        st.button(
            "Start over", icon=":material/restart_alt:", type="tertiary", on_click=_start_over
        )


def _start_over() -> None:
    """Begin an empty set-up. This is a callback."""
    _forget_kept()
    _begin(Draft())
    _open_single_rows(draft())
    forget("setup test", "setup offers", "setup shelved", *TYPED)
    open_step(1)


def _forget_kept() -> None:
    """Remove what is kept for this tab: it was launched, or is no longer wanted."""
    forget("setup returned", "setup kept")
    if (tab := this_tab()) is not None:
        forget_draft(tab.id)


def _keep(held: Draft) -> None:
    """Keep the set-up for this tab if it has changed, so that a reload loses nothing but keys."""
    tab = this_tab()
    if tab is None:
        return
    numbers: Numbers = st.session_state.setdefault("setup numbers", Numbers())
    typed = {name: str(st.session_state[name]) for name in TYPED if st.session_state.get(name)}
    text = text_of(held, opened=st.session_state.get("setup step", 1), typed=typed, files=numbers)
    known = st.session_state.get("setup kept")
    if text == known or (known is None and not typed and _is_empty(held)):
        return
    numbers.keep_only({table.file for table in text.tables})
    now = text.model_copy(update={"saved": time()})
    tables = {table.file: numbers.tables[table.file].data for table in text.tables}
    st.session_state["setup kept"] = text
    try:
        keep(tab.id, Kept(now.model_dump_json(), tables))
    except LabError as fault:
        st.caption(safe(str(fault)))


def _is_empty(held: Draft) -> bool:
    """Return whether nobody has filled in anything yet."""
    study, empty = held.study, Draft().study
    return not study.data and study.judges == empty.judges and study.rubric == empty.rubric


def _summary(number: int, part: ModuleType) -> str:
    """Return what a closed step says: what is chosen, or what is wrong with it."""
    try:
        return draft().problems.get(number) or str(part.summary(draft()))
    except LabError as fault:
        return str(fault)


def _body(number: int, part: ModuleType) -> None:
    """Draw an open step, and what is wrong with it."""
    held = draft()
    held.problems.pop(number, None)
    try:
        part.body(held)
    except LabError as fault:
        held.problems[number] = str(fault)
        st.error(safe(str(fault)), icon=":material/error:")


def _planned(held: Draft) -> tuple[tuple[Plan, Estimate] | None, str]:
    """Return the plan of the draft, if there is one, and why it cannot be launched.

    An empty reason means that it can.
    """
    _name(held)
    if held.study.data and held.problems:
        return None, held.problems[min(held.problems)]
    try:
        plan = held.plan()
        unconfirmed = CONFIRM if held.unconfirmed else ""
        return plan, unconfirmed or waiting_paste.reason()
    except LabError as fault:
        # What is wrong with columns that nobody has confirmed yet is said beside them.
        return None, CONFIRM if held.unconfirmed else str(fault)


def _check(held: Draft, planned: tuple[Plan, Estimate] | None, blocked: str) -> None:
    """Draw step 5: what the run costs, the launch, what it can detect, and further choices.

    ``blocked``: why the draft cannot be launched; empty if it can.
    """
    label, known = "Launch", None
    if planned is not None:
        plan, estimate = planned
        _sample(held)
        _numbers(plan, estimate)
        asked = len(plan)
        if held.before is not None:
            taken, known = _answered(held, held.before, plan)
            asked -= taken
            if not asked and not blocked:
                blocked = "Nothing to run yet. Change the data, rubric, judge, or orders first."
            _say_wordings(held, plan)
        label = f"Launch {count(asked, 'call')}"
        if estimate.at_least is not None:
            label = f"Launch at most {count(asked, 'call')}"
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
            _launch(held, planned[0], known)
    if planned is not None:
        _stop_early(held, planned[0])
        _details(*planned)
    ask(st.text_input, "Name of the run", key="launch-name", start="", max_chars=200)
    if kept := _kept(held.study):
        st.caption(safe(kept, 400))
    prompt = partial(_prompt, planned[0] if planned else None)
    fold("Judge prompt, exactly as sent", prompt, icon="chat", key="launch-prompt")
    fold("study.toml · Load a study", partial(_study_file, held), icon="code", key="launch-toml")
    st.caption(
        "Nothing is sent before you launch. Your file stays here, and the judge's server sees "
        "only the prompts. The lab checks the first eight replies and waits for you if it "
        "cannot parse them."
    )


def _launch(held: Draft, plan: Plan, known: tuple[Reader, str] | None) -> None:
    """Start the run and show its progress. Raises LabError.

    ``known``: the store and the run whose replies are used again.
    """
    keys = session_keys()
    before = {info.id: info.name for info in state.store().runs()}
    started = state.manager().start(
        plan, known=known, check="hold", secrets=keys.keys, consents=keys.consents
    )
    run_id = started.id
    _forget_kept()
    if run_id in before:
        name = safe(before[run_id], 60)
        announce(f"You launched exactly this before: “{name}”. No call is made twice.")
    else:
        announce(f"Launched: {safe(held.study.name, 60)}.")
    go("runs", run=run_id)


def _say_wordings(held: Draft, plan: Plan) -> None:
    """Say that changed words are compared with those of the earlier run."""
    wordings = plan.study.design.vary.wording
    if wordings != held.study.design.vary.wording:
        named = safe("; ".join(wordings), 300)
        st.caption(f"Compares these wordings: {named}. The results show what the words change.")


def _answered(held: Draft, before: Before, plan: Plan) -> tuple[int, tuple[Reader, str] | None]:
    """Return how many calls the earlier run has answered, and where their replies are.

    The visitor may prefer to make these calls again; then there are none.
    """
    answered = held.answered(plan)
    if answered == 0:
        return 0, None
    some = "unchanged calls" if answered is None else f"{answered:,} of these calls"
    reuse = ask(
        st.checkbox,
        f"Reuse replies for {some}",
        key="launch-known",
        start=True,
        help="The earlier run made these calls, word for word the same. Off: they are made again.",
    )
    if not reuse:
        return 0, None
    return answered or 0, (before.store, before.id)


def _name(held: Draft) -> None:
    """Suggest a name from the data and what is reordered, until the user types another one."""
    axis, data, before = held.study.design.axes[0], held.study.data, held.suggested
    held.suggested = ""
    if data:
        stem = PurePath(setup_data.name_of(data[0])).stem
        held.suggested = f"{shorten(stem, 60)}, {ORDERED.get(axis, AXES[axis].lower())}"
    typed = st.session_state.get("launch-name", held.study.name)
    name = held.suggested if typed in ("", before) else typed
    st.session_state["launch-name"] = name
    held.change(name=name)


def _numbers(plan: Plan, estimate: Estimate) -> None:
    """Draw calls, time, and price, and whether the answers are enough to see a bias."""
    from rubriclab.runs.machine_pace import busy_words

    if estimate.price is not None:
        price = (f"{estimate.price:,.2f}", "at your prices")
    elif not any(spends(judge) for judge in plan.study.judges):
        price = ("free", "on this machine")
    else:
        price = ("–", "no prices given")
    calls, seconds = f"{estimate.calls:,}", duration(estimate.seconds)
    if estimate.at_least is not None:
        least = estimate.at_least
        calls = f"{least.calls:,} to {calls}"
        seconds = between(duration(least.seconds), seconds)
        if estimate.price is not None and least.price is not None:
            price = (between(f"{least.price:,.2f}", price[0]), price[1])
    figures = ((calls, "calls"), (seconds, "about"), price)
    parts = "".join(
        f"<div><strong>{value}</strong><span>{label}</span></div>" for value, label in figures
    )
    st.html(f'<div class="figures">{parts}</div>')
    busy = busy_words(plan.study.judges)
    st.caption(f"Time: {safe(estimate.rests_on)}. {busy}")
    if estimate.enough:
        st.markdown(safe(estimate.enough))


def _details(plan: Plan, estimate: Estimate) -> None:
    """Say what the run can detect, what its price is made of, and what the plan has to say."""
    st.caption(safe(estimate.sentence))
    st.caption(
        f"About {estimate.tokens_in:,} tokens in and {estimate.tokens_out:,} out, guessed from the "
        "number of characters."
    )
    for way in estimate.ways:
        st.caption(safe(way.sentence))
    for note in plan.notes:
        st.caption(safe(note, 400))


def _sample(held: Draft) -> None:
    """Ask which answers of the data set are used: all, one for each prompt, or a random sample.

    A sample takes one answer of each prompt before it takes a second one (``drawn_items``). Not
    asked where a call shows several answers, or with several data sets: step 1 draws those.
    """
    if len(held.study.data) != 1 or SEVERAL & {*held.study.design.axes}:
        return
    whole, part = held.whole(), held.study.data[0]
    answers = len({item.block or item.item_id for item in whole.items})
    prompts = len({item.prompt or item.block or item.item_id for item in whole.items})
    if answers < 2:
        return
    words = {"all": f"All {answers:,}", "some": "A random sample of…"}
    if 1 < prompts < answers:
        one_each = f"{prompts:,}: one per prompt, drawn at random"
        words = {"all": words["all"], "prompts": one_each, "some": words["some"]}
    start = "some"
    if part.take is None or part.take >= answers:
        start = "all"
    elif part.take == prompts and "prompts" in words:
        start = "prompts"
    # Step 1 may have drawn another sample: then these fields start again from the study.
    drawn = f"{held.uploads.version}-{part.take}"
    if st.session_state.get("launch-sample") != drawn:
        forget("launch-answers", "launch-take")
        st.session_state["launch-sample"] = drawn
    chosen = ask(
        st.radio,
        "Answers to use",
        list(words),
        key="launch-answers",
        start=start,
        format_func=words.__getitem__,
    )
    take: int | None = None
    if chosen == "prompts":
        take = prompts
    elif chosen == "some":
        take = ask(
            st.number_input,
            "Number of answers",
            1,
            answers,
            key="launch-take",
            start=min(part.take or max(1, answers // 2), answers),
        )
    if take != part.take and not (take is None and start == "all"):
        held.set_data(0, changed(part, take=take))
        st.session_state.pop("data-take", None)  # step 1 starts again from the study
        st.rerun()  # the numbers below are those of the other sample


def _stop_early(held: Draft, plan: Plan) -> None:
    """Ask whether the run stops as soon as its answer is clear, and when that is.

    With few answers there is only one look, at the end, so there is nothing to ask.
    """
    design = held.study.design
    if "examples" in design.axes:  # not known to work with them
        return
    if not any(can_stop_early(part, plan.items) for part in plan.parts):
        return
    stops = ask(
        st.toggle,
        "Stop as soon as the answer is clear",
        key="launch-stop",
        start=design.stop is not None,
    )
    stop: Stop | None = None
    if stops:
        st.caption(
            "Usually saves most calls with a biased judge. Sizes are then known less exactly."
        )
        stop = ask(
            st.radio,
            "Clear means",
            list(STOP_WORDS),
            key="launch-stop-rule",
            start=design.stop or "known",
            format_func=STOP_WORDS.__getitem__,
        )
    if stop != design.stop:
        held.change(design=changed(design, stop=stop))
        st.rerun()  # the numbers above are those of the other choice


def _prompt(plan: Plan | None) -> None:
    """Draw the judge prompt of one answer in one order."""
    if plan is None:
        st.caption("Add your answers in step 1 first.")
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
    """Draw study.toml, to read and to save, and the ways to load a preset or a file."""
    if held.study.data and not held.problems:
        text = study_toml(held.checked())
        st.code(text, language="toml", height=240)
        download("Download study.toml", text, file_name(held.study.name, ".toml"))
        if held.before is None:
            for part in held.study.data:
                items = held.uploads.kept(part)
                if items is not None:  # from an imported log, so no file of the user's has them
                    download(f"Download {part.file}", partial(items_csv, items), part.file)
    known = presets()
    # The list is narrow and cuts its lines, so the chosen line is repeated in full.
    name = st.selectbox(
        "Load a preset",
        list(known),
        key="toml-preset",
        format_func=lambda stem: shorten(preset_title(known[stem]), 120),
    )
    tables = preset_title(known[name]).partition(" · ")[2]
    if tables:
        st.caption(safe(f"Repeats {tables}.", 600))
    if st.button("Load preset", key="toml-load"):
        load(read_study(known[name]))
    file = upload("Load a study.toml", ["toml"], held, "toml", max_upload_size=1)
    if file is not None:
        if file.size > MAX_STUDY:
            raise LabError(
                f"“{shorten(file.name)}” has {file.size:,} bytes. The limit for a study file "
                f"is {MAX_STUDY:,} bytes."
            )
        load(study_from_toml(file.getvalue().decode("utf-8", "replace"), "study.toml"))


def load(study: Study) -> None:
    """Fill the steps from a study. What no step shows is kept, launched, and mentioned."""
    held = Draft(study, draft().uploads)
    held.uploads.version += 1
    _begin(held)
    absent = [number for number in range(len(study.data)) if not held.here(number)]
    open_row("data", absent[0] if absent else None)
    if held.missing_rubrics():
        open_step(2)
        announce("Loaded. Its rubric is not here yet.")
    elif absent:
        open_step(1)
        announce("Loaded. Its data are not here yet.")
    elif study.examples is not None and study.examples.file:
        open_step(4)
        announce("Loaded. Its examples are not here yet.")
    else:
        open_step(0)
        announce("Loaded.")
    for sentence in where_asked(study.judges):
        announce(safe(sentence, 400))
    st.rerun()


def load_run(run_id: str, also: str = "", fix: str = "") -> None:
    """Fill the steps from a run of the store. Its data come with it, so no file is needed.

    ``also``: a further axis to reorder for the same answers. ``fix``: “judge” opens its step, and
    “grammar” also lets small models reply only with labels, where their replies show that it helps.

    From an import come its prompts, to be asked in other orders. Raises LabError if it has none, or
    if they cannot be reordered, or if there is no such axis.
    """
    held = _draft_of_run(run_id)
    if also:
        axes = dict.fromkeys([*held.study.design.axes, also])
        held.change(design=changed(held.study.design, reorder=list(axes)))
    if fix == "grammar":
        helped = state.helped_by_grammar(run_id)
        judges = held.study.judges
        held.change(
            judges=tuple(
                changed(judge, constrain="grammar") if judge.name in helped else judge
                for judge in judges
            )
        )
    if draft().study.data or waiting_paste.texts():
        st.session_state["setup shelved"] = draft()
        st.session_state["setup shelved texts"] = waiting_paste.texts()
    _begin(held)
    step = 3 if fix else 2
    open_step(4 if also else step)


def _draft_of_run(run_id: str) -> Draft:
    """Return a draft with the study of a run and its data. Raises LabError."""
    store = state.store_of(run_id)
    info = store.run(run_id)
    if store.keeps_prompts(info.id):
        held = Draft(run=info.id)
        with st.spinner("Looking for the list in the prompts…"):
            held.study = study_of_import(store, info.id, held.uploads)
        return held
    plan = plan_of_run(store, info.id)
    # As the run keeps it: its rubrics written out.
    study = plan.study.model_copy(update={"name": f"{shorten(info.name, 180)}, changed"})
    held = Draft(study, before=Before(store, info.id, plan.study), run=info.id)
    for part, (dataset, _) in zip(study.data, plan.sources, strict=True):
        held.uploads.keep(part, dataset)
    return held


def _begin(held: Draft) -> None:
    """Let a draft fill the steps, with all forms closed.

    Own code of its judges must be looked at before it can be launched.
    """
    st.session_state["setup draft"] = held
    if any(judge.about.runs_code for judge in held.study.judges):
        held.problems[3] = "Look at the file that the judge runs in step 3 first."
    forget("rubric-", "own-", "orders-", "launch-name", "launch-known", "launch-stop")
    for name in ("data", "judge"):
        open_row(name, None)


def _back() -> None:
    _begin(st.session_state.pop("setup shelved"))
    waiting_paste.put_back(st.session_state.pop("setup shelved texts", {}))
    open_step(0)


def _kept(study: Study) -> str:
    """Say what the study contains that no step shows; an empty text means nothing."""
    parts = []
    if study.paper:
        parts.append(f"{count(len(study.paper), 'table')} of a paper's numbers")
    if study.references.scores:
        scores = ", ".join(map(str, study.references.scores))
        parts.append(f"reference answers only for the scores {scores}")
    if study.reading != ReadingPart():
        settings = flat(study.reading.model_dump(exclude_defaults=True))
        named = ", ".join(f"{name} = {value}" for name, value in settings.items())
        parts.append(f"how results are computed ({named})")
    if not parts:
        return ""
    return f"Kept from the study file: {', '.join(parts)}."
