"""List the store's runs, show the progress of those that are going, and offer what can be done.

Recorded examples come below the user's runs. They open like any run, and cannot be changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import streamlit as st

from rubriclab.app import state
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import download, ways_in
from rubriclab.app.frame import (
    announce,
    contained,
    faults,
    fold,
    go,
    labelled,
    refreshed,
    safe,
    verbatim,
)
from rubriclab.figures.live_cells import cells_so_far
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.model.consent import judges_of, where_asked
from rubriclab.model.orders import STRATEGIES
from rubriclab.model.text import count, duration, file_name, look_alike
from rubriclab.runs.read_again import read_again
from rubriclab.words.looks import progress_sentence
from rubriclab.words.phrases import number
from rubriclab.words.subject import AXES

if TYPE_CHECKING:
    from rubriclab.model.judgment import Condition
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.runner import Run, RunSnapshot
    from rubriclab.store.read import RunInfo

Checks = Mapping[str, Mapping[str, list[str]]]
"""What a run keeps of its reading checks, by judge."""
PAGE = 20
"""Runs on one page of the list."""
REFRESH_SECONDS = 1.0
"""How often the progress of a run is drawn again."""
ORDERED = {"options": "score order", "criteria": "criterion order", "bare": "bare scores"}
"""What a run reorders, as its row says; otherwise it is the order of answers."""
STOPPED = {
    "paused": "paused",
    "cancelled": "cancelled",
    "interrupted": "stopped",
    "failed": "no reply could be parsed",
    "planned": "not started",
}
"""States of runs that have stopped, and what the list says of them."""


def page() -> None:
    """Draw running runs, then all others, then the recorded examples and the store."""
    st.title("Runs", anchor=False)
    active = {run.id for run in state.active()}
    for run_id in active:
        with st.container(border=True, key=f"running-{run_id}"):
            progress_card(run_id, key="runs")
    with faults():
        _list([info for info in state.store().runs() if info.id not in active], bool(active))
        examples = state.shown_examples()
        if examples:
            st.caption("Examples, recorded with small models")
        for info in examples:
            _row(info, own=False)
    fold("Store", _store, icon="database", key="runs-store")


# ---------------------------------------------------------------- running


def progress_card(run_id: str, *, key: str, buttons: bool = True) -> None:
    """Draw the progress of a run. The card refreshes itself, and ends with the run.

    Without ``buttons`` the card is narrow and shows only how far the run is.
    """
    refreshed(_progress, every=REFRESH_SECONDS)(run_id, key=key, buttons=buttons)


def _progress(run_id: str, *, key: str, buttons: bool) -> None:
    running = [run for run in state.active() if run.id == run_id]
    if not running:
        st.rerun()  # the run has ended, and the whole page says how
        return
    run = running[0]
    info, now = state.run_info(run_id), run.snapshot()
    sentence, picture = early(
        early_counts(run), verdict="at the next look" if now.looks else "at the end"
    )
    if buttons:
        picture = _live_cells(run) or picture
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(labelled(info.name, info.simulated, 80), anchor=False, width="stretch")
        if buttons:
            _pause_and_cancel(run, key)
    until = sum(progress.calls for progress in now.looks) or now.planned
    st.progress(min(1.0, now.done / until) if until else 0.0, text=_stage(now))
    if buttons:
        words, drawing = st.columns([1, 1], gap="large")
    else:
        words, drawing = st.container(), st.container()
    with words:
        if sentence:
            st.markdown("**Early estimate**")
            st.markdown(sentence)
        rate = f" · {now.rate:.1f} calls/s" if now.rate else ""
        price = f" · {now.money:,.2f} so far" if now.money else ""
        st.caption(f"{safe(', '.join(info.judges), 120)}{rate} · {now.failed:,} failed{price}")
        if now.reason:
            st.markdown(f":orange[{safe(now.reason, 300)}]")
        for sentence in _look_sentences(now):
            st.markdown(safe(sentence, 300))
        for check in now.checks:
            if check.warnings:
                remarks = " ".join(check.remarks())
                st.markdown(f":orange[{safe(check.judge, 40)}: {safe(remarks, 600)}]")
        if buttons:
            st.caption("You can close this tab. The run goes on, and no call is made twice.")
    if picture is not None:
        with drawing:
            chart(picture, key=f"{key}-early-{run_id}", height=240, data=False)
    if buttons and now.checks:
        checks = now.checks
        fold(
            "Reading check: the first replies",
            lambda: checks_shown(checks),
            icon="fact_check",
            key=f"{key}-check-{run_id}",
        )


def _pause_and_cancel(run: Run, key: str) -> None:
    if st.button("Pause", icon=":material/pause:", key=f"{key}-pause-{run.id}"):
        run.pause()
    cancel = f"{key}-cancel-{run.id}"
    if st.button("Cancel", icon=":material/stop:", type="tertiary", key=cancel):
        run.cancel()


def _look_sentences(now: RunSnapshot) -> list[str]:
    """Say when each judge of a run that may stop early was looked at, and when it will be next."""
    several = len(now.looks) > 1
    sentences = []
    for progress in now.looks:
        sentence = progress_sentence(
            units=progress.units,
            next_units=progress.next_units,
            all_units=progress.all_units,
            needless=progress.needless,
            noun=progress.noun,
        )
        if sentence:
            dataset, axis = progress.scope
            about = f"{progress.judge}, {dataset}, {AXES[axis].lower()}: " if several else ""
            sentences.append(f"{about}{sentence}")
    return sentences


def _stage(now: RunSnapshot) -> str:
    """Say how far a run is, and what it does now or how long it will take."""
    at_most = "at most " if len(now.looks) and now.active else ""
    stage = f"{now.done:,} of {at_most}{count(now.planned, 'call')}"
    if now.stage:
        return f"{stage} · {safe(now.stage, 120)}"
    if now.seconds_left is not None:
        return f"{stage} · about {duration(now.seconds_left)} left"
    return stage


def early_counts(run: Run) -> tuple[int, ...]:
    """Return how often each position was chosen so far, or nothing if that would mislead.

    The counts are those of the first condition that shows all orders equally often. Under one order
    alone, the share of a position is the share of the score that it shows.
    """
    for condition, counts in zip(run.plan.conditions, run.snapshot().early, strict=True):
        if _evenly_listed(run, condition):
            return counts
    return ()


def _live_cells(run: Run) -> Picture | None:
    """Return the heatmap so far, of the condition that ``early_counts`` is about."""
    cells = run.snapshot().cells
    for number_of, condition in enumerate(run.plan.conditions):
        if _evenly_listed(run, condition):
            return cells_so_far(cells[number_of], condition.scores, condition.positions)
    return None


def _evenly_listed(run: Run, condition: Condition) -> bool:
    """Return whether a condition reorders scores, and shows each position equally often."""
    kinds = {strategy.name: strategy.kind for strategy in run.plan.study.design.plans()}
    return condition.reorder == "options" and STRATEGIES[kinds[condition.strategy]].even


def early(counts: tuple[int, ...], *, verdict: str = "at the end") -> tuple[str, Picture | None]:
    """Return what the positions chosen so far say, as a sentence and as bars.

    ``verdict``: when there will be one.

    There is no verdict, no interval, and no colour of an effect, because nothing is decided yet.
    Before the first score there is nothing to say.
    """
    total = sum(counts)
    if not total or len(counts) < 2:
        return "", None
    even, scores = 1 / len(counts), count(total, "score")
    points = tuple(
        Point(
            str(position),
            given / total,
            number(given / total, ".0%"),
            expected=even,
            hover=(f"Position {position}: {number(given / total, '.0%')} of {scores} so far",),
        )
        for position, given in enumerate(counts, 1)
    )
    even_share = number(even, ".0%")
    shares = ", ".join(point.text for point in points)
    alt = f"Bar chart of the positions chosen so far: {shares} of {scores}. Nothing is decided yet."
    axes = ("Position in the list", "")
    reference = f"no bias: {even_share}"
    picture = Picture("bars", (Series("", points),), alt, axes, reference=reference)
    lowest, *_, highest = sorted(points, key=lambda point: point.value)
    # Three standard errors of an even share: chance alone hardly ever goes beyond that.
    if highest.value - even < 3 * math.sqrt(even * (1 - even) / total):
        leads = f"No position leads so far: **{lowest.text} to {highest.text}** of {scores}"
    else:
        leads = f"Position {highest.label} leads so far with **{highest.text}** of {scores}"
    sentence = f"{leads}. An even share would be {even_share}. The verdict comes {verdict}."
    return sentence, picture


# ---------------------------------------------------------------- the list


def _list(infos: list[RunInfo], running: bool) -> None:
    """Draw the search, the buttons, and the rows of one page of the list."""
    if not infos:
        if not running:
            ways_in("No runs yet.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = st.text_input(
            "Search runs",
            placeholder="Search runs",
            icon=":material/search:",
            label_visibility="collapsed",
            key="runs-search",
            max_chars=200,
            persist_state="session",
            width=340,
        )
        with st.container(horizontal=True, horizontal_alignment="right"):
            _compare_button([*infos, *state.shown_examples()])
            if st.button("New run", icon=":material/add:", type="primary"):
                go("setup")
    if wanted:
        infos = [info for info in infos if _matches(info, wanted)]
        if not infos:
            st.markdown(f"No run or judge matches “{safe(wanted, 60)}”.")
    first = 0
    if len(infos) > PAGE:
        pages = math.ceil(len(infos) / PAGE)
        first = PAGE * (st.pagination(pages, key="runs-page") - 1)
    for info in infos[first : first + PAGE]:
        with contained(info.name):
            _row(info)


def _compare_button(infos: list[RunInfo]) -> None:
    """Draw the button that compares the runs whose boxes are ticked."""
    ticked = [info.id for info in infos if st.session_state.get(f"tick-{info.id}")]
    pressed = st.button(
        "Compare selected",
        icon=":material/compare:",
        disabled=len(ticked) < 2,
        help="Select two or more runs.",
    )
    if pressed:
        # Two are compared condition with condition, more as a whole.
        part = "0" if len(ticked) == 2 else "all"
        go("compare", **{"with": [f"{run_id}:{part}" for run_id in ticked]})


def _matches(info: RunInfo, wanted: str) -> bool:
    """Return whether a run's name or one of its judges contains the text."""
    return look_alike(wanted) in look_alike(" ".join((info.name, *info.judges)))


def _row(info: RunInfo, *, own: bool = True) -> None:
    """Draw one run: name and judges, its one number and its state, and what can be done.

    ``own``: whether the run is in the user's store; recorded examples have no menu.
    """
    checks = state.check_facts(info.id) if own else {}
    held = _held(info, checks)
    with st.container(border=True, key=f"run-{info.id}"):
        left, middle, right = st.columns([1.5, 1.4, 1.1], vertical_alignment="center")
        tick, left = left.columns([0.1, 1], vertical_alignment="center")
        label, key = f"Select {safe(info.name, 70)}", f"tick-{info.id}"
        tick.checkbox(label, key=key, label_visibility="collapsed", persist_state="session")
        about = f"{safe(', '.join(info.judges), 70)} · {ORDERED.get(info.reorder, 'answer order')}"
        left.markdown(
            f"**{safe(info.name, 70)}**{labelled('', info.simulated)}  \n:small[:gray[{about}]]"
        )
        with middle:
            _number_and_state(info, held)
        buttons = right.container(
            horizontal=True, horizontal_alignment="right", vertical_alignment="center"
        )
        with buttons:
            can_go_on = info.state in STOPPED and info.state != "failed" and info.planned > 0
            if can_go_on:
                label = "Go on" if held else "Resume"
                pressed = again_button(info, f"resume-{info.id}", label=label)
            else:
                pressed = False
                open_button("Open results", info, ":material/grid_on:")
            if own:
                _menu(info)
        # Sentences have room only below the columns.
        say_where_asked(info)
        if pressed:
            go_on(info)
        _check_panel(info, checks)


def _number_and_state(info: RunInfo, held: bool) -> None:
    """Draw a run's one number, how many calls it has made, and why it stopped."""
    headline = "Cannot be shown"
    with contained(info.name):
        headline = state.headline(info)
    stopped = STOPPED.get(info.state, "")
    # The panel below says in full why the reading check stopped a run.
    reason = safe(info.reason, 200) if stopped and not held else ""
    if reason.endswith("by you"):  # “paused by you” also says that it is paused
        stopped, reason = reason, ""
    facts = f"{info.done:,} of {count(info.planned, 'call')} · {info.created:%-d %b %Y}"
    if info.state == "finished" and info.done < info.planned:
        stopped = "answer clear, stopped early"
    if stopped:
        facts += f" · {stopped}"
    lines = [f"**{headline}**", f":small[:gray[{facts}]]"]
    if reason:
        lines.append(f":small[:orange[{reason}]]")
    st.markdown("  \n".join(lines))


def again_button(
    info: RunInfo,
    key: str,
    kind: Literal["primary", "secondary"] = "secondary",
    label: str = "Resume",
) -> bool:
    """Draw the button that goes on with a stopped run, and return whether it was pressed.

    If every call was made, it retries those that failed. Judgments made elsewhere have no button.
    """
    if info.state != "failed":
        return st.button(label, icon=":material/play_arrow:", key=key, type=kind)
    if state.kept(info.id).plan is None:
        return False
    return st.button("Retry failed calls", icon=":material/replay:", key=key, type=kind)


def go_on(info: RunInfo) -> None:
    """Go on with a stopped run, or say why not. Call this where an error has room."""
    with faults():
        _resume(info, retry_failed=info.state == "failed")


def _resume(info: RunInfo, *, retry_failed: bool) -> None:
    """Resume a run and show its progress. Raises LabError."""
    if "vllm" in state.servers():
        from rubriclab.judges.vllm import require_same_start

        require_same_start(state.servers()["vllm"], judges_of(state.store().study(info.id)))
    state.manager().resume(info.id, retry_failed=retry_failed, check="hold")
    go("runs", run=info.id)


def say_where_asked(info: RunInfo) -> None:
    """Say which servers an imported run would ask, and with which keys."""
    store = state.store_of(info.id)
    if info.state in STOPPED and store.imported(info.id):
        for sentence in where_asked(judges_of(store.study(info.id))):
            st.caption(safe(f"Imported. {sentence}", 400))


# ---------------------------------------------------------------- the reading check


def _check_panel(info: RunInfo, checks: Checks) -> None:
    """Say why the reading check stopped a run and what to do, and show the replies.

    A run with warnings shows only the replies, and a run without findings shows nothing.
    """
    if not _held(info, checks):
        if _warned(checks):
            _check_fold(info.id)
        return
    st.markdown(f":orange[{safe(info.reason, 900)}]")
    with st.container(horizontal=True), faults():
        if st.button("Check again", icon=":material/replay:", key=f"check-{info.id}"):
            # Failed calls are made again, because somebody may have fixed their server.
            _resume(info, retry_failed=True)
        if st.button("Change", icon=":material/tune:", key=f"check-change-{info.id}"):
            go("setup", again=info.id)
    _check_fold(info.id)


def _warned(checks: Checks) -> bool:
    return any(known.get("warned") for known in checks.values())


def _held(info: RunInfo, checks: Checks) -> bool:
    """Return whether the reading check paused this run, and nothing else did since."""
    reasons = [reason for known in checks.values() for reason in known.get("reason", ())]
    return info.state == "paused" and any(reason in info.reason for reason in reasons)


def _check_fold(run_id: str) -> None:
    fold(
        "Reading check: the first replies",
        lambda: checks_shown(state.reading_checks(run_id)),
        icon="fact_check",
        key=f"check-replies-{run_id}",
    )


def checks_shown(checks: Iterable[ReadingCheck]) -> None:
    """Draw reading checks. Replies are a judge's words, so they are shown as plain text."""
    for check in checks:
        st.markdown(f"**{safe(check.title(), 200)}**")
        verbatim("\n".join(line.text() for line in check.lines))
        for remark in check.remarks():
            colour = "orange" if check.stop or check.warnings else "gray"
            st.markdown(f":{colour}[{safe(remark, 600)}]")


def logged_button(info: RunInfo, key: str) -> None:
    """Draw the way to Set up with the prompts of an imported log, to reorder them."""
    if not state.store_of(info.id).keeps_prompts(info.id):
        return
    key = f"{key}-{info.id}"
    if st.button("Reorder these prompts", icon=":material/shuffle:", key=key):
        go("setup", again=info.id)


def again_with_changes(info: RunInfo) -> None:
    """Draw the way to Set up, filled in from a run, or say why a run cannot be repeated."""
    if state.kept(info.id).plan is not None:
        if st.button("Run with changes", icon=":material/tune:", key=f"change-{info.id}"):
            go("setup", again=info.id)
    elif not state.store_of(info.id).keeps_prompts(info.id):
        st.caption("This run came as a file without its prompts, so it cannot be repeated.")


def open_button(
    label: str,
    info: RunInfo,
    icon: str | None = None,
    kind: Literal["secondary", "tertiary"] = "secondary",
) -> None:
    if st.button(label, icon=icon, key=f"open-{info.id}", type=kind):
        go("results", run=info.id)


def _menu(info: RunInfo) -> None:
    """Draw the menu of a run of the user's store."""
    menu = st.popover(
        ":material/more_horiz:", type="tertiary", key=f"menu-{info.id}", on_change="rerun"
    )
    if not menu.open:
        return
    with menu, faults():
        if info.state == "failed":
            if again_button(info, f"menu-again-{info.id}"):
                go_on(info)
        elif info.done and info.state in STOPPED:
            open_button("Open results so far", info)
        if lost := state.store_of(info.id).not_read(info.id):
            st.caption(f"{safe(lost, 400)}.")
        logged_button(info, "logged")
        again_with_changes(info)
        checks = state.check_facts(info.id)
        if checks and not _held(info, checks) and not _warned(checks):
            _check_fold(info.id)  # a check with findings is in the run's row
        can_parse = info.done and state.kept(info.id).plan is not None
        reread = f"reread-{info.id}"
        if can_parse and st.button("Parse replies again", icon=":material/menu_book:", key=reread):
            _read_again(info)
        _rename(info)
        download(
            "Download run",
            lambda: state.kept(info.id).content(".zip"),
            file_name(info.name, ".zip"),
            key=f"take-{info.id}",
        )
        if st.button("Delete", icon=":material/delete:", key=f"menu-delete-{info.id}"):
            _delete(info)


def _rename(info: RunInfo) -> None:
    name = st.text_input("Name", info.name[:200], max_chars=200, key=f"menu-name-{info.id}")
    typed = str(name).strip()
    key = f"menu-rename-{info.id}"
    if st.button("Rename", icon=":material/edit:", key=key, disabled=not typed):
        state.store().rename(info.id, typed)
        st.rerun()


@st.dialog("Parse the replies again")
def _read_again(info: RunInfo) -> None:
    """Say what today's parser would change in a run, and keep that if the user wants it."""
    plan = state.kept(info.id).plan
    if plan is None:
        return
    with faults():
        made = read_again(state.store(), info.id, plan, write=False)
        st.markdown(safe(made.sentence(), 900))
        with st.container(horizontal=True):
            if made.differing and st.button("Keep new scores", type="primary", key="reread-yes"):
                written = read_again(state.store(), info.id, plan, write=True)
                announce(safe(written.sentence(), 400))
                st.rerun()
            if st.button("Close", key="reread-no"):
                st.rerun()


@st.dialog("Delete this run?")
def _delete(info: RunInfo) -> None:
    judgments = count(info.done, "judgment")
    st.markdown(f"Delete **{safe(info.name, 80)}** and its {judgments}? You cannot undo this.")
    with st.container(horizontal=True), faults():
        if st.button("Delete", type="primary", icon=":material/delete:", key="delete-yes"):
            state.store().delete(info.id)
            announce(f"Deleted: {safe(info.name, 60)}.")
            st.rerun()
        if st.button("Keep run", key="delete-no"):
            st.rerun()


def _store() -> None:
    path = state.store_path()
    log_of_writes = path.with_name(f"{path.name}.wal")  # DuckDB's, until it is folded in
    size = sum(part.stat().st_size for part in (path, log_of_writes) if part.exists())
    st.markdown(f"**{safe(path.name)}** · {size / 1e6:,.1f} MB")
    st.caption("This file holds all runs of the lab. It never holds keys.")
    download("Back up", state.backup, f"{path.stem}-backup.duckdb", key="runs-backup")
