"""What can be done about a judge that waits: a key for this session alone, or the run goes on without it."""

from __future__ import annotations

import streamlit as st

from rubriclab.app.ui.consent import start_or_ask
from rubriclab.app.ui.frame import announce, faults, plain, remember_key, secrets
from rubriclab.judges.addresses import read_key
from rubriclab.model import Judge
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.runs.manager import RunManager
from rubriclab.store import RunInfo


def remedies(manager: RunManager, info: RunInfo, key: str) -> None:
    """For an unfinished run: each judge that waits with its remedies; the others folded away."""
    going = manager.get(info.run)
    waiting = going.snapshot().waiting if going is not None else {}
    asked = manager.store.by_judge(info.run_no)
    gone = {one.judge for one in info.dropped}
    left = [j for j in manager.store.judges_of(info.run) if asked[j.name][0] < asked[j.name][1] and j.name not in gone]
    droppable = len(set(asked) - gone) > 1
    for judge in left:
        if judge.name in waiting:
            with st.container(border=True):
                why = "" if waiting[judge.name] in info.reason else f": {tr(waiting[judge.name])}"
                st.markdown(
                    tr(":material/hourglass_pause: **{name}** waits{why}", name=plain(judge.name), why=plain(why))
                )
                _remedy(manager, info, judge, key, droppable=droppable)
    others = [judge for judge in left if judge.name not in waiting]
    if others and (droppable or any(judge.key_env for judge in others)):
        with st.expander(tr("Judges that still have calls: give a key, or leave one out"), icon=":material/key:"):
            for judge in others:
                done, planned = asked[judge.name]
                st.markdown(
                    tr(
                        "**{name}** · {done:,} of {calls} judged",
                        name=plain(judge.name),
                        done=done,
                        calls=many(planned, "call"),
                    )
                )
                _remedy(manager, info, judge, key, droppable=droppable)


def _remedy(manager: RunManager, info: RunInfo, judge: Judge, key: str, *, droppable: bool) -> None:
    """The fields for one judge."""
    tag = f"{key}-{info.run}-{judge.name}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if judge.key_env:
            with (
                st.form(f"{tag}-form", border=False, clear_on_submit=True, width="content"),
                st.container(horizontal=True, vertical_alignment="bottom"),
            ):
                given = st.text_input(
                    tr("Key for this session ({variable})", variable=plain(judge.key_env)),
                    type="password",
                    key=f"{tag}-key",
                    autocomplete="off",
                    width=260,
                    help=tr(
                        "Kept in the memory of your visit only, and gone when the tab is closed or the lab ends: never "
                        "in the store, a log or an export. It counts as {variable}.",
                        variable=plain(judge.key_env),
                    ),
                )
                sent = st.form_submit_button(tr("Use it and go on"), icon=":material/key:")
            if sent:
                with faults():
                    _use(manager, info, judge, given)
        if droppable and st.button(
            tr("Leave {name} out", name=plain(judge.name)),
            key=f"{tag}-drop",
            icon=":material/person_remove:",
            help=tr(
                "The run goes on without it and says so everywhere. What it has judged stays in the store and in "
                "the findings: nothing that was asked is put out of sight. It can be taken back."
            ),
        ):
            with faults():
                manager.drop(info.run, judge.name)
                announce(tr("{name} is left out of the run.", name=judge.name))
                _go_on(manager, info)


def _use(manager: RunManager, info: RunInfo, judge: Judge, given: str) -> None:
    """Take a key for this session and ask the judge with it. Raises LabError for what is none."""
    name = str(judge.key_env)
    read_key(judge, {name: given})
    remember_key(name, given.strip())
    going = manager.get(info.run)
    if going is not None and going.snapshot().active:
        going.ask_again(judge.name, secrets())
        announce(tr("{name} is asked again.", name=judge.name))
        st.rerun()
    _go_on(manager, info)


def _go_on(manager: RunManager, info: RunInfo) -> None:
    """Go on with a run that has stopped and has calls left; draw the page anew."""
    now = manager.store.run(info.run)
    going = manager.get(info.run)
    if now.done >= now.planned or (going is not None and going.snapshot().active):
        st.rerun()
    start_or_ask(manager, info.name, lambda: manager.go_on(info.run, secrets=secrets()))


def dropped_judges(manager: RunManager, info: RunInfo, key: str, *, controls: bool) -> None:
    """Who was left out of a run and why, and with ``controls`` a way back."""
    for one in info.dropped:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f":material/person_remove: {plain(str(one))}", width="stretch")
            if controls and st.button(
                tr("Take it back"), key=f"{key}-{info.run}-back-{one.judge}", icon=":material/undo:"
            ):
                with faults():
                    manager.restore(info.run, one.judge)
                    st.rerun()
