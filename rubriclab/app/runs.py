"""List the store's runs, show the progress of those that are going, and offer what can be done.

Recorded examples come below the user's runs. They open like any run, and cannot be changed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import streamlit as st

from rubriclab.app import doomed_runs, state
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import ask, download, ways_in
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
from rubriclab.app.run_rows import (
    EVEN_UNREAD,
    MOST_LOST,
    STOPPED_WORDS,
    Chip,
    JudgeWords,
    chip_of,
    has_words,
    judge_lines,
    keep_words,
    kept_words,
    key_refused,
)
from rubriclab.app.session_keys import keys_to_go_on, missing_keys, session_keys
from rubriclab.app.state import Lost
from rubriclab.figures.live_cells import cells_so_far
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.model.consent import NO_CONSENTS, Consents, judges_of, where_asked
from rubriclab.model.orders import STRATEGIES
from rubriclab.model.text import count, file_name, look_alike
from rubriclab.runs.read_again import read_again
from rubriclab.words.looks import progress_sentence
from rubriclab.words.phrases import number
from rubriclab.words.progress import progress_words, share_done
from rubriclab.words.subject import AXES

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from rubriclab.model.judgment import Condition
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.runner import Run, RunSnapshot
    from rubriclab.runs.tally import Unread
    from rubriclab.store.read import RunInfo

Checks = Mapping[str, Mapping[str, list[str]]]
"""What a run keeps of its reading checks, by judge."""
PAGE = 20
"""Runs on one page of the list."""
REFRESH_SECONDS = 2.0
"""How often the progress of a run is drawn again."""
STOP_SECONDS = 1.5
"""So long a click on Pause or Cancel waits for the run's end. A small model's call takes less."""
ORDERED = {
    "options": "score order",
    "criteria": "criterion order",
    "bare": "bare scores",
    "examples": "example order",
}
"""What a run reorders, as its row says; otherwise it is the order of answers."""
STOPPED = (*STOPPED_WORDS, "planned")
"""States of runs that can go on."""
STATES = ("failed", "paused", "interrupted", "cancelled", "planned", "finished")
"""The order of states when the list is sorted by them: what needs somebody comes first."""
EXAMPLES_SECONDS = 2.0
"""For so long a visit computes what the examples say of their judges."""
MOST_REPLY = 400
"""Characters of an unparsed reply that a running card shows."""
SORTED: Mapping[str, Callable[[list[RunInfo]], list[RunInfo]]] = {
    "Newest first": list,
    "Oldest first": lambda infos: infos[::-1],
    "By name": lambda infos: sorted(infos, key=lambda info: info.name.casefold()),
    "By state": lambda infos: sorted(infos, key=lambda info: STATES.index(info.state)),
    "Most calls first": lambda infos: sorted(infos, key=lambda info: -info.done),
}
"""How the list can be sorted."""


def page() -> None:
    """Draw running runs, then all others, then the recorded examples and the store.

    The list is drawn first, without what takes time. The words of the ladder are filled in
    afterwards, row by row, and then the examples, which a first visit has to unpack.
    """
    st.title("Runs", anchor=False)
    active = {run.id for run in state.active()}
    # One place, which is emptied at once: Streamlit would keep the cards of ended runs, with their
    # buttons, among the rows that are drawn in their place, until the whole list is drawn.
    running = st.empty()
    if active:
        with running.container():
            for run_id in active:
                with st.container(border=True, key=f"running-{run_id}"):
                    progress_card(run_id, key="runs")
    hidden = doomed_runs.of_this_visit(state.store_path())
    # Likewise each part has its own place, so that no part is drawn over the remains of another.
    with st.container():
        _say_deleted(hidden)
    words: list[Fill] = []
    with st.container(), faults():
        own = state.store().runs()
        shown = [info for info in own if info.id not in active and info.id not in hidden]
        _list(shown, bool(active), words)
    examples = st.container()
    fold("Store", _store, icon="database", key="runs-store")
    drawn = _fill(words)
    if drawn:
        with faults():
            keep_words(drawn)
    with examples, faults():
        recorded, more = state.shown_examples(), list[Fill]()
        if recorded:
            st.caption("Examples, recorded with small models")
        for info in recorded:
            _row(info, {}, more, own=False)
    _fill(more, EXAMPLES_SECONDS)


class Fill(NamedTuple):
    """A place in a row, and what is computed for it after the list is drawn."""

    info: RunInfo
    place: DeltaGenerator
    lost: Mapping[str, Lost]
    known: JudgeWords | None = None


def _fill(words: Iterable[Fill], seconds: float = math.inf) -> list[RunInfo]:
    """Draw what runs say of their judges, in the places that were kept for it.

    Returns the runs that were drawn. ``seconds``: what has not begun by then waits for the next
    visit, which finds the rest done. Until then its place names the judges.
    """
    end = time.monotonic() + seconds
    drawn = []
    for row in words:
        if time.monotonic() > end:
            break
        with row.place.container(), contained(row.info.name):
            st.markdown(_small(judge_lines(row.info, row.lost)))
            drawn.append(row.info)
    return drawn


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
    sentence, picture = "", None
    followed = _followed(run)
    if followed is not None:
        code, condition = followed
        verdict = "at the end" if now.next_look is None else "at the next look"
        sentence, picture = early(now.early[code], verdict=verdict, judge=condition.judge)
        if buttons:
            cells = cells_so_far(now.cells[code], condition.scores, condition.positions)
            picture = cells or picture
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(labelled(info.name, info.simulated, 80), anchor=False, width="content")
        st.markdown(":blue-badge[Running]", width="stretch")
        if buttons:
            _pause_and_cancel(run, key)
    st.progress(share_done(now), text=safe(progress_words(now), 300))
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
        for unread in now.unread:
            if unread.lost >= EVEN_UNREAD and unread.lost > MOST_LOST * unread.asked:
                _say_unread(run, unread, key if buttons else "")
        for sentence in _look_sentences(now):
            st.markdown(safe(sentence, 300))
        for check in now.checks:
            if check.urgent:
                remarks = " ".join(remark.text for remark in check.urgent)
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
            lambda: checks_shown(checks, going_on=True),
            icon="fact_check",
            key=f"{key}-check-{run_id}",
        )


def _pause_and_cancel(run: Run, key: str) -> None:
    """Draw both buttons. They act before the card is drawn again, which so shows what they did."""
    st.button(
        "Pause",
        icon=":material/pause:",
        key=f"{key}-pause-{run.id}",
        on_click=_stop,
        args=(run, run.pause),
        disabled=run.stopping != "",
    )
    st.button(
        "Cancel",
        icon=":material/stop:",
        type="tertiary",
        key=f"{key}-cancel-{run.id}",
        on_click=_stop,
        args=(run, run.cancel),
        disabled=run.stopping == "cancelled",
    )


def _stop(run: Run, how: Callable[[], None]) -> None:
    """Pause or cancel a run, and give it a moment to end: then the card need not be drawn again."""
    how()
    run.wait(STOP_SECONDS)


def _look_sentences(now: RunSnapshot) -> list[str]:
    """Say when each judge of a run that may stop early was looked at, and when it will be next."""
    several = len(now.looks) > 1
    sentences = []
    for progress in now.looks:
        sentence = progress_sentence(
            units=progress.units,
            next_units=progress.next_units,
            all_units=progress.all_units,
            calls=progress.calls,
            needless=progress.needless,
            noun=progress.noun,
            whole=progress.whole,
        )
        if sentence:
            dataset, axis = progress.scope
            about = f"{progress.judge}, {dataset}, {AXES[axis].lower()}: " if several else ""
            sentences.append(f"{about}{sentence}")
    return sentences


def _say_unread(run: Run, unread: Unread, key: str) -> None:
    """Say how many replies of a judge have no score, with the last one, and offer to mend it.

    ``key``: the beginning of the button's key; empty for no button.
    """
    judge = safe(unread.judge, 60)
    st.markdown(
        f":orange[**{judge}: {unread.lost:,} of {count(unread.asked, 'reply', 'replies')} could "
        f"not be parsed.** The last one, {safe(unread.why, 200)}:]"
    )
    verbatim(unread.text[:MOST_REPLY] or "(an empty reply)")
    if key and st.button(
        "Pause and fix", icon=":material/build:", key=f"{key}-fix-{run.id}-{judge}"
    ):
        run.pause()
        go("setup", again=run.id, fix="judge")


def _followed(run: Run) -> tuple[int, Condition] | None:
    """Return the first condition that shows all score orders equally often, with its number.

    None if there is none. Under one order alone, the share of a position is the share of the score
    that it shows, which would mislead.
    """
    kinds = {strategy.name: strategy.kind for strategy in run.plan.study.design.plans()}
    for code, condition in enumerate(run.plan.conditions):
        if condition.reorder == "options" and STRATEGIES[kinds[condition.strategy]].even:
            return code, condition
    return None


def early(
    counts: tuple[int, ...], *, verdict: str = "at the end", judge: str = ""
) -> tuple[str, Picture | None]:
    """Return what the positions chosen so far say, as a sentence and as bars.

    ``verdict``: when there will be one. ``judge``: whose choices they are.

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
    if judge:
        leads = f"{safe(judge, 60)}: {leads[0].lower()}{leads[1:]}"
    sentence = f"{leads}. An even share would be {even_share}. The verdict comes {verdict}."
    return sentence, picture


# ---------------------------------------------------------------- the list


def _list(infos: list[RunInfo], running: bool, words: list[Fill]) -> None:
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
            width=300,
        )
        order = ask(
            st.selectbox,
            "Sort by",
            list(SORTED),
            key="runs-sort",
            start="Newest first",
            label_visibility="collapsed",
            width=170,
        )
        with st.container(horizontal=True, horizontal_alignment="right"):
            _compare_button(infos)
            if st.button("New run", icon=":material/add:", type="primary"):
                go("setup")
    if wanted:
        infos = [info for info in infos if _matches(info, wanted)]
        if not infos:
            st.markdown(f"No run or judge matches “{safe(wanted, 60)}”.")
    infos = SORTED[order](infos)
    first = 0
    if len(infos) > PAGE:
        pages = math.ceil(len(infos) / PAGE)
        first = PAGE * (st.pagination(pages, key="runs-page") - 1)
    shown = infos[first : first + PAGE]
    lost, known = state.lost_by_judge(shown), kept_words(shown)
    for info in shown:
        with contained(info.name):
            _row(info, lost.get(info.id, {}), words, known.get(info.id))


def _compare_button(infos: list[RunInfo]) -> None:
    """Draw the button that compares the runs whose boxes are ticked."""
    known = [info.id for info in infos]
    ticks = [str(key) for key, on in st.session_state.items() if on is True]
    ticked = [key.removeprefix("tick-") for key in ticks if key.startswith("tick-")]
    # In the order of the list; the examples, which are drawn later, come last.
    ticked.sort(key=lambda run_id: known.index(run_id) if run_id in known else len(known))
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


def _row(
    info: RunInfo,
    lost: Mapping[str, Lost],
    words: list[Fill],
    known: JudgeWords | None = None,
    *,
    own: bool = True,
) -> None:
    """Draw one run: name and size, state, what it says of each judge, and what can be done.

    ``lost``: by judge, how many replies have no score. ``words``: takes the place for what is
    computed later. ``known``: that, if it is kept. ``own``: whether the run is in the user's
    store; recorded examples have no menu.
    """
    checks = state.check_facts(info.id) if own else {}
    held = _held(info, checks)
    chip = chip_of(info, lost)
    with st.container(border=True, key=f"run-{info.id}"):
        left, state_of, said, date, right = st.columns(
            [2.0, 1.35, 2.6, 0.75, 1.15], vertical_alignment="center"
        )
        tick, left = left.columns([0.1, 1], vertical_alignment="center")
        label, key = f"Select {safe(info.name, 70)}", f"tick-{info.id}"
        tick.checkbox(label, key=key, label_visibility="collapsed", persist_state="session")
        size = f"{count(len(info.judges), 'judge')} · {count(info.done, 'call')}"
        if info.reorder != "options":
            size += f" · {ORDERED.get(info.reorder, 'answer order')}"
        left.markdown(
            f"**{safe(info.name, 70)}**{labelled('', info.simulated)}  \n:small[:gray[{size}]]"
        )
        state_of.markdown(chip.markdown())
        _say_of_judges(Fill(info, said, lost, known), held, words)
        date.markdown(f":small[:gray[{info.created:%-d %b %Y}]]")
        buttons = right.container(
            horizontal=True, horizontal_alignment="right", vertical_alignment="center"
        )
        with buttons:
            pressed = _main_button(info, chip)
            if own:
                _menu(info)
        # Sentences have room only below the columns.
        say_where_asked(info)
        if pressed:
            go_on(info)
        _check_panel(info, checks)


def _say_of_judges(row: Fill, held: bool, words: list[Fill]) -> None:
    """Say what a run says of its judges, or keep the place for it, or say why the run stopped."""
    info, place = row.info, row.place
    names = f":gray[{safe(', '.join(info.judges), 80)}]"
    if info.state == "finished":
        waiting = place.empty()
        if row.known is None and has_words(info):
            waiting.markdown(f":small[{names}]")
            words.append(row._replace(place=waiting))
        else:
            waiting.markdown(_small(judge_lines(info, row.lost, row.known)))
        if info.done < info.planned:
            of_all = f"{info.done:,} of {count(info.planned, 'call')}"
            place.markdown(f":small[:gray[{of_all}: answer clear, stopped early]]")
        return
    # The panel below says in full why the reading check stopped a run.
    reason = "" if held else info.reason
    if reason.endswith("by you"):
        reason = f"{reason[0].upper()}{reason[1:]}. Nothing is asked twice when you continue."
    if key_refused(info):
        reason += " Paste a key and continue."
    place.markdown(f":small[{safe(reason, 300) or names}]")


def _small(lines: Iterable[str]) -> str:
    return "  \n".join(f":small[{line}]" for line in lines)


def _main_button(info: RunInfo, chip: Chip) -> bool:
    """Draw the one button of a row; return whether the run is to go on."""
    if info.state in STOPPED and info.planned > 0:
        if _asks_for_keys(info):
            return False
        return again_button(info, f"resume-{info.id}")
    open_button("See why" if chip.why else "Results", info, tab="Judgments" if chip.why else "")
    return False


def _asks_for_keys(info: RunInfo) -> bool:
    """Draw the field for a key that is not here any more, or was refused; return whether it is."""
    judges = judges_of(state.store_of(info.id).study(info.id))
    wanted = missing_keys(judges)
    if not wanted and key_refused(info):
        wanted = [judge for judge in judges if judge.key_env and judge.addresses]
    if not wanted:
        return False
    with st.popover("Continue", icon=":material/key:", key=f"key-{info.id}"):
        st.markdown("**Paste a key and continue**")
        pasted = keys_to_go_on(wanted, key=f"go-on-{info.id}")
        if pasted is not None:
            with faults():
                _resume(info, retry_failed=False, secrets=pasted.keys, consents=pasted.consents)
    return True


def again_button(
    info: RunInfo,
    key: str,
    kind: Literal["primary", "secondary"] = "secondary",
) -> bool:
    """Draw the button that goes on with a stopped run, and return whether it was pressed.

    If every call was made, it retries those that failed. Judgments made elsewhere have no button.
    """
    if info.state != "failed":
        return st.button("Continue", icon=":material/play_arrow:", key=key, type=kind)
    if state.kept(info.id).plan is None:
        return False
    return st.button("Retry failed calls", icon=":material/replay:", key=key, type=kind)


def go_on(info: RunInfo) -> None:
    """Go on with a stopped run, or say why not. Call this where an error has room."""
    with faults():
        _resume(info, retry_failed=info.state == "failed")


def _resume(
    info: RunInfo,
    *,
    retry_failed: bool,
    secrets: Mapping[str, str] | None = None,
    consents: Consents = NO_CONSENTS,
) -> None:
    """Resume a run and show its progress. Raises LabError.

    ``secrets``: keys that were pasted for this run, with the ``consents`` to them.
    """
    if "vllm" in state.servers():
        from rubriclab.judges.vllm import require_same_start

        require_same_start(state.servers()["vllm"], judges_of(state.store().study(info.id)))
    keys = session_keys()
    state.manager().resume(
        info.id,
        retry_failed=retry_failed,
        check="hold",
        secrets=keys.keys | dict(secrets or {}),
        consents=keys.consents | consents,
    )
    go("runs", run=info.id)


def say_where_asked(info: RunInfo) -> None:
    """Say which servers an imported run would ask, and with which keys."""
    store = state.store_of(info.id)
    if info.state in (*STOPPED, "failed") and store.imported(info.id):
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
            go("setup", again=info.id, fix="judge")
        label, key = "Allow only labels", f"check-grammar-{info.id}"
        if state.helped_by_grammar(info.id) and st.button(
            label, icon=":material/rule:", key=key, type="primary"
        ):
            go("setup", again=info.id, fix="grammar")
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


def checks_shown(checks: Iterable[ReadingCheck], *, going_on: bool = False) -> None:
    """Draw reading checks. Replies are a judge's words, so they are shown as plain text.

    While the run is ``going_on``, only what a user can act on stands out.
    """
    for check in checks:
        st.markdown(f"**{safe(check.title(), 200)}**")
        verbatim("\n".join(line.text() for line in check.lines))
        urgent = {remark.text for remark in check.urgent}
        for remark in check.remarks():
            stands_out = remark in urgent if going_on else bool(check.stop or check.warnings)
            colour = "orange" if stands_out else "gray"
            st.markdown(f":{colour}[{safe(remark, 600)}]")


def logged_button(info: RunInfo, key: str) -> None:
    """Draw the way to Set up with the prompts of an imported log, to reorder them."""
    if not state.kept(info.id).keeps_prompts:
        return
    key = f"{key}-{info.id}"
    if st.button("Reorder these prompts", icon=":material/shuffle:", key=key):
        go("setup", again=info.id)


def again_with_changes(info: RunInfo) -> None:
    """Draw the way to Set up, filled in from a run, or say why a run cannot be repeated."""
    if state.kept(info.id).plan is not None:
        if st.button("Run with changes", icon=":material/tune:", key=f"change-{info.id}"):
            go("setup", again=info.id)
    elif not state.kept(info.id).keeps_prompts:
        st.caption("This run came as a file without its prompts, so it cannot be repeated.")


def open_button(
    label: str,
    info: RunInfo,
    icon: str | None = None,
    kind: Literal["secondary", "tertiary"] = "secondary",
    tab: str = "",
) -> None:
    """Draw the way to the results of a run, or to one of their tabs."""
    if st.button(label, icon=icon, key=f"open-{info.id}", type=kind):
        go("results", run=info.id, **({"tab": tab} if tab else {}))


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


def _delete(info: RunInfo) -> None:
    """Hide a run, and delete it when the visitor leaves this page."""
    doomed_runs.doom(state.store_path(), info.id)
    st.session_state["runs deleted"] = info.name
    st.rerun()


def _say_deleted(hidden: frozenset[str]) -> None:
    """Say which run was deleted, with the button that takes it back."""
    if not hidden:
        return
    name = safe(str(st.session_state.get("runs deleted", "")), 60)
    more = f" and {count(len(hidden) - 1, 'other run')}" if len(hidden) > 1 else ""
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="undo"):
        st.markdown(
            f"Deleted: **{name}**{more}. You can undo this until you leave the page.",
            width="stretch",
        )
        st.button(
            "Undo",
            icon=":material/undo:",
            type="tertiary",
            on_click=doomed_runs.spare,
            args=(state.store_path(),),
        )


def _store() -> None:
    path = state.store_path()
    log_of_writes = path.with_name(f"{path.name}.wal")  # DuckDB's, until it is folded in
    size = sum(part.stat().st_size for part in (path, log_of_writes) if part.exists())
    st.markdown(f"**{safe(path.name)}** · {size / 1e6:,.1f} MB")
    st.caption("This file holds all runs of the lab. It never holds keys.")
    download("Back up", state.backup, f"{path.stem}-backup.duckdb", key="runs-backup")
