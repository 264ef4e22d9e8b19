"""The store's runs in; Runs out: how far they are, and the ways to pause, resume, rename, download
and delete them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import streamlit as st

from rubriclab.app import state
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import download, ways_in
from rubriclab.app.frame import announce, contained, faults, fold, go, labelled, safe, verbatim
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.model.consent import judges_of, where_asked
from rubriclab.model.text import count, duration, file_name, look_alike
from rubriclab.runs.read_again import read_again
from rubriclab.words.phrases import number

if TYPE_CHECKING:
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.runner import Run
    from rubriclab.store.read import RunInfo

Checks = Mapping[str, Mapping[str, list[str]]]
"""What a run keeps of its reading checks, by judge."""
PAGE = 20
ORDERED = {"options": "score order", "criteria": "criterion order", "bare": "bare scores"}
STOPPED = {
    "paused": "paused",
    "cancelled": "cancelled",
    "interrupted": "stopped",
    "failed": "nothing could be read",
    "planned": "not started",
}


def page() -> None:
    st.title("Runs", anchor=False)
    active = {run.id for run in state.active()}
    for run_id in active:
        with st.container(border=True, key=f"running-{run_id}"):
            progress_card(run_id, key="runs")
    with faults():
        _list([info for info in state.store().runs() if info.id not in active], bool(active))
        examples = state.shown_examples()
        if examples:
            st.caption("Recorded with small models, to look at")
        for info in examples:  # they open like any run, and cannot be changed
            _row(info, own=False)
    fold("Store", _store, icon="database", key="runs-store")


# ---------------------------------------------------------------- running


@st.fragment(run_every=1.0)
def progress_card(run_id: str, *, key: str, buttons: bool = True) -> None:
    """A running run: refreshed each second by itself; the page is drawn anew once it has ended."""
    run = next((run for run in state.active() if run.id == run_id), None)
    if run is None:
        st.rerun()  # it has ended: the whole page says how
        return
    info, now = state.run_info(run_id), run.snapshot()
    sentence, picture = early(early_counts(run))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(labelled(info.name, info.simulated, 80), anchor=False, width="stretch")
        if buttons and st.button("Pause", icon=":material/pause:", key=f"{key}-pause-{run_id}"):
            run.pause()
        if buttons and st.button(
            "Cancel", icon=":material/stop:", type="tertiary", key=f"{key}-cancel-{run_id}"
        ):
            run.cancel()
    left = f" · about {duration(now.seconds_left)} left" if now.seconds_left is not None else ""
    stage = (
        f"{now.done:,} of "
        f"{count(now.planned, 'call')}{f' · {safe(now.stage, 120)}' if now.stage else left}"
    )
    st.progress(min(1.0, now.done / now.planned) if now.planned else 0.0, text=stage)
    words, drawing = (
        st.columns([1, 1], gap="large") if buttons else (st.container(), st.container())
    )
    with words:
        if sentence:
            st.markdown("**Early estimate**")
            st.markdown(sentence)
        rate = f" · {now.rate:.1f} calls/s" if now.rate else ""
        price = f" · {now.money:,.2f} so far" if now.money else ""
        st.caption(f"{safe(', '.join(info.judges), 120)}{rate} · {now.failed:,} failed{price}")
        if now.reason:
            st.markdown(f":orange[{safe(now.reason, 300)}]")
        for check in now.checks:
            if check.warnings:
                said = " ".join(check.remarks())
                st.markdown(f":orange[{safe(check.judge, 40)}: {safe(said, 600)}]")
        if buttons:
            st.caption("You can close this tab. The run goes on, and no call is asked twice.")
    if picture is not None:
        with drawing:
            chart(picture, key=f"{key}-early-{run_id}", height=240, data=False)
    if buttons and now.checks:
        checks, label = now.checks, "Reading check: the first replies"
        key = f"{key}-check-{run_id}"
        fold(label, lambda: checks_shown(checks), icon="fact_check", key=key)


def early_counts(run: Run) -> tuple[int, ...]:
    """How often each position was chosen so far, under the first condition whose orders are shown
    equally often.

    Empty where there is none: under one order alone a position's share is that of its score.
    """
    kinds = {strategy.name: strategy.kind for strategy in run.plan.study.design.plans()}
    for condition, counts in zip(run.plan.conditions, run.snapshot().early, strict=True):
        if condition.reorder == "options" and kinds[condition.strategy] in (
            "balanced",
            "williams",
            "all",
            "random",
        ):
            return counts
    return ()


def early(counts: tuple[int, ...]) -> tuple[str, Picture | None]:
    """What the positions chosen so far say, as a sentence and as bars; nothing before the first
    score.

    Without a verdict, without intervals and without the colour of an effect: nothing is decided
    yet.
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
    least, *_, top = sorted(points, key=lambda point: point.value)
    would_be = number(even, ".0%")
    said = ", ".join(point.text for point in points)
    alt = f"Bar chart of the positions chosen so far: {said} of {scores}. Nothing is decided yet."
    # Three standard errors of an even share: what a fair draw of so many scores hardly ever passes.
    if top.value - even < 3 * math.sqrt(even * (1 - even) / total):
        leads = f"No position leads so far: **{least.text} to {top.text}** of {scores}"
    else:
        leads = f"Position {top.label} leads so far with **{top.text}** of {scores}"
    axes = ("Position in the list", "")
    drawn = Picture("bars", (Series("", points),), alt, axes, reference=f"no bias: {would_be}")
    return f"{leads}; {would_be} would be even. The answer comes at the end.", drawn


# ---------------------------------------------------------------- the list


def _list(infos: list[RunInfo], running: bool) -> None:
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
        ticked = [
            info.id
            for info in [*infos, *state.shown_examples()]
            if st.session_state.get(f"tick-{info.id}")
        ]
        few, look = len(ticked) < 2, ":material/compare:"
        with st.container(horizontal=True, horizontal_alignment="right"):
            if st.button(
                "Compare selected", icon=look, disabled=few, help="Tick two runs or more."
            ):
                go("compare", **{"with": [f"{run_id}:0" for run_id in ticked]})
            if st.button("New run", icon=":material/add:", type="primary"):
                go("setup")
    if wanted:
        infos = [
            info
            for info in infos
            if look_alike(wanted) in look_alike(" ".join((info.name, *info.judges)))
        ]
        if not infos:
            st.markdown(f"No run is called “{safe(wanted, 60)}”.")
    first = (
        PAGE * (st.pagination(-(-len(infos) // PAGE), key="runs-page") - 1)
        if len(infos) > PAGE
        else 0
    )
    for info in infos[first : first + PAGE]:
        with contained(info.name):
            _row(info)


def _row(info: RunInfo, *, own: bool = True) -> None:
    with st.container(border=True, key=f"run-{info.id}"):
        left, middle, right = st.columns([1.5, 1.4, 1.1], vertical_alignment="center")
        tick, left = left.columns([0.1, 1], vertical_alignment="center")
        label, key = f"Select {safe(info.name, 70)}", f"tick-{info.id}"
        tick.checkbox(label, key=key, label_visibility="collapsed", persist_state="session")
        about = f"{safe(', '.join(info.judges), 70)} · {ORDERED.get(info.reorder, 'answer order')}"
        left.markdown(
            f"**{safe(info.name, 70)}**{labelled('', info.simulated)}  \n:small[:gray[{about}]]"
        )
        word = STOPPED.get(info.state, "")
        checks = state.check_facts(info.id) if own else {}
        held = _held(info, checks)
        reason = safe(info.reason, 200) if word and not held else ""  # said in full below
        if reason.endswith("by you"):  # “paused by you” says both
            word, reason = reason, ""
        facts = f"{info.done:,} of {count(info.planned, 'call')} · {info.created:%-d %b %Y}" + (
            word and f" · {word}"
        )
        why = reason and f"  \n:small[:orange[{reason}]]"
        # The headline's number is the first judge's.
        whose = f"{safe(info.judges[0], 40)}: " if len(info.judges) > 1 and info.done else ""
        headline = "Cannot be shown"
        with middle:
            with contained(info.name):
                headline = state.headline(info)
            st.markdown(f"**{whose}{headline}**  \n:small[:gray[{facts}]]{why}")
        with (
            right,
            st.container(
                horizontal=True, horizontal_alignment="right", vertical_alignment="center"
            ),
        ):
            pressed = False
            if info.state in STOPPED and info.state != "failed" and info.planned > 0:
                pressed = again_button(
                    info, f"resume-{info.id}", label="Go on" if held else "Resume"
                )
            else:
                open_button("Open results", info, ":material/grid_on:")
            if own:
                _menu(info)
        say_where_asked(info)
        if pressed:
            go_on(info)
        _check_panel(info, checks)


def again_button(
    info: RunInfo,
    key: str,
    kind: Literal["primary", "secondary"] = "secondary",
    label: str = "Resume",
) -> bool:
    """Draw the button that goes on with a stopped run, and return whether it was pressed.

    Where all was asked, it asks again what failed. Judgments made elsewhere have no such button.
    """
    failed = info.state == "failed"
    if failed and state.kept(info.id).plan is None:
        return False
    icon = "play_arrow"
    if failed:
        label, icon = "Ask again what failed", "replay"
    return st.button(label, icon=f":material/{icon}:", key=key, type=kind)


def go_on(info: RunInfo) -> None:
    """Go on with a stopped run, or say why not. Call it where a sentence has room."""
    with faults():
        state.manager().resume(info.id, retry_failed=info.state == "failed", check="hold")
        go("runs", run=info.id)


def say_where_asked(info: RunInfo) -> None:
    """Say of an imported run which servers it would ask, and with which keys."""
    store = state.store_of(info.id)
    if info.state in STOPPED and store.imported(info.id):
        for sentence in where_asked(judges_of(store.study(info.id))):
            st.caption(safe(f"Imported. {sentence}", 400))


# ---------------------------------------------------------------- the reading check


def _check_panel(info: RunInfo, checks: Checks) -> None:
    """Show why the reading check stopped a run, what to do, and the replies; of warnings the
    replies.

    Nothing where the check found nothing.
    """
    if _held(info, checks):
        st.markdown(f":orange[{safe(info.reason, 900)}]")
        with st.container(horizontal=True), faults():
            if st.button("Check again", icon=":material/replay:", key=f"check-{info.id}"):
                # Failed replies are asked again: their server may have been mended.
                state.manager().resume(info.id, retry_failed=True, check="hold")
                go("runs", run=info.id)
            if st.button("Change", icon=":material/tune:", key=f"check-change-{info.id}"):
                go("setup", again=info.id)
        _check_fold(info.id)
    elif _warned(checks):
        _check_fold(info.id)


def _warned(checks: Checks) -> bool:
    return any(known.get("warned") for known in checks.values())


def _held(info: RunInfo, checks: Checks) -> bool:
    """Whether a run is paused because of its reading check, and not for another reason since."""
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
    """Show reading checks. Their replies are a judge's words, so they are shown as plain text."""
    for check in checks:
        st.markdown(f"**{safe(check.title(), 200)}**")
        verbatim("\n".join(line.text() for line in check.lines))
        for remark in check.remarks():
            colour = "orange" if check.stop or check.warnings else "gray"
            st.markdown(f":{colour}[{safe(remark, 600)}]")


def logged_button(info: RunInfo, key: str) -> None:
    """The way to Set up with the prompts that an import brought, to ask them in other orders."""
    label, logged = (
        "Run these prompts in other orders",
        state.store_of(info.id).keeps_prompts(info.id),
    )
    if logged and st.button(label, icon=":material/shuffle:", key=f"{key}-{info.id}"):
        go("setup", again=info.id)


def again_with_changes(info: RunInfo) -> None:
    """The way to Set up with everything filled in from a run; of judgments made elsewhere why there
    is none.
    """
    if state.kept(info.id).plan is None:
        if not state.store_of(info.id).keeps_prompts(info.id):
            st.caption(
                "This run came as a file without its prompts, so they cannot be asked again."
            )
        return
    if st.button("Run again with changes", icon=":material/tune:", key=f"change-{info.id}"):
        go("setup", again=info.id)


def open_button(
    label: str,
    info: RunInfo,
    icon: str | None = None,
    kind: Literal["secondary", "tertiary"] = "secondary",
) -> None:
    if st.button(label, icon=icon, key=f"open-{info.id}", type=kind):
        go("results", run=info.id)


def _menu(info: RunInfo) -> None:
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
            _check_fold(info.id)  # those that found something stand in the run's row
        if (
            info.done
            and state.kept(info.id).plan is not None
            and st.button("Read again", icon=":material/menu_book:", key=f"reread-{info.id}")
        ):
            _read_again(info)
        typed = str(
            st.text_input("Name", value=info.name[:200], max_chars=200, key=f"menu-name-{info.id}")
        ).strip()
        if st.button(
            "Rename", icon=":material/edit:", key=f"menu-rename-{info.id}", disabled=not typed
        ):
            state.store().rename(info.id, typed)
            st.rerun()
        name = file_name(info.name, ".zip")
        download(
            "Download the run",
            lambda: state.kept(info.id).content(".zip"),
            name,
            key=f"take-{info.id}",
        )
        if st.button("Delete", icon=":material/delete:", key=f"menu-delete-{info.id}"):
            _delete(info)


@st.dialog("Read the replies again")
def _read_again(info: RunInfo) -> None:
    """Say what today's reader would change in a run, and keep it where the user wants that."""
    plan = state.kept(info.id).plan
    if plan is None:
        return
    with faults():
        made = read_again(state.store(), info.id, plan, write=False)
        st.markdown(safe(made.sentence(), 900))
        with st.container(horizontal=True):
            keep = "Keep the new readings"
            if made.differing and st.button(keep, type="primary", key="reread-yes"):
                written = read_again(state.store(), info.id, plan, write=True)
                announce(safe(written.sentence(), 400))
                st.rerun()
            if st.button("Leave it", key="reread-no"):
                st.rerun()


@st.dialog("Delete this run?")
def _delete(info: RunInfo) -> None:
    st.markdown(
        f"Delete **{safe(info.name, 80)}** and its {count(info.done, 'judgment')}? This cannot be "
        f"undone."
    )
    with st.container(horizontal=True), faults():
        if st.button("Delete", type="primary", icon=":material/delete:", key="delete-yes"):
            state.store().delete(info.id)
            announce(f"Deleted: {safe(info.name, 60)}.")
            st.rerun()
        if st.button("Keep", key="delete-no"):
            st.rerun()


def _store() -> None:
    path = state.store_path()
    size = sum(
        part.stat().st_size for part in (path, path.with_name(path.name + ".wal")) if part.exists()
    )
    st.markdown(f"**{safe(path.name)}** · {size / 1e6:,.1f} MB")
    st.caption("One file holds all runs of this lab. Keys are never in it.")
    download("Back up", state.backup, f"{path.stem}-backup.duckdb", key="runs-backup")
