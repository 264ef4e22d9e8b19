"""The list of runs: searched and filtered by the address, and a small menu for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from rubriclab.app.ui.asked_runs import counted, tags_of, wanted_runs
from rubriclab.app.ui.consent import start_or_ask
from rubriclab.app.ui.frame import announce, empty_state, faults, plain, secrets
from rubriclab.app.ui.language import dated
from rubriclab.app.ui.remedies import dropped_judges, remedies
from rubriclab.app.ui.runs import STATE_COLORS, STATES, done_of, manager, open_findings, run_parquet, store
from rubriclab.model import TRIAL_ORIGIN, LabError
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.listed import local, shelf_of
from rubriclab.runs.runner import AGENDA_DONE
from rubriclab.store import RunInfo
from rubriclab.store.archive_writing import write_archive
from rubriclab.store.listing import MAX_TAG, MAX_TAGS, MAX_TITLE

AT_ONCE = 20
"""Runs that are drawn before more are asked for: each has a menu."""
FOLLOWED = 3.0
"""Seconds between two looks at the states of the runs that the list shows."""
_ASIDE = {"archived": msg("**{name}** is archived."), "deleted": msg("**{name}** is deleted.")}
_UNDO, _REFUSED = "runs-moved-last", "runs-refused"


def run_list(*, limit: int | None = None, key: str, trials: bool = False) -> None:
    """The latest runs of the list, one a line, each with the way to its results."""
    known = [_as_it_goes(info) for info in store().runs() if shelf_of(info) == "listed"]
    runs = [info for info in known if trials or info.origin != TRIAL_ORIGIN][:limit]
    if not runs:
        _nothing_yet()
    for info in runs:
        _card(info, key)
    _follow(key)


def run_shelves(*, key: str) -> None:
    """All runs with search and filters on top, and whatever can be done with each of them."""
    every = [_as_it_goes(info) for info in store().runs(deleted=True)]
    if not every:
        _nothing_yet()
        return
    wanted = wanted_runs(every, key)
    runs = wanted.found(every, store().judges_by_run())
    _undo(key)
    counted(len(runs), wanted, key)
    if wanted.shelf == "deleted" and runs:
        _empty_shelf(key)
    asked = st.query_params.get("shown", "")
    shown = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else AT_ONCE
    tags = tags_of(every)
    for info in runs[:shown]:
        _card(info, key, tags)
    left = len(runs) - shown
    if left > 0 and st.button(
        tr("Show {shown} more of {left:,}", shown=min(AT_ONCE, left), left=left), key=f"{key}-more", width="stretch"
    ):
        st.query_params["shown"] = str(shown + AT_ONCE)
        st.rerun()
    _follow(key)


def _follow(key: str) -> None:
    """Draw the page again once a run is in another state than it shows: another tab may pause it, or go on with it.

    Looked after only while a run is unfinished: the others do not change by themselves.
    """
    st.session_state[f"{key}-drawn"] = states = _states()
    if any(state not in ("finished", "imported") for state in states.values()):
        st.fragment(partial(_look, key), run_every=FOLLOWED)()


def _look(key: str) -> None:
    if st.session_state.get(f"{key}-drawn") != _states():
        st.rerun()


def _states() -> dict[str, str]:
    """The runs that no one deleted, by name, with their states."""
    return {info.run: _state(info) for info in store().runs()}


def _nothing_yet() -> None:
    empty_state(
        tr("No runs yet"),
        tr("Start the demo, or set up a study of your own."),
        target="study",
        action=tr("Set up a study"),
    )


def _as_it_goes(info: RunInfo) -> RunInfo:
    """A run with the state and the count of this moment, of which the store has been told less."""
    going = manager().get(info.run)
    shown = going.snapshot() if going is not None else None
    return replace(info, state=_state(info), done=max(shown.done, info.done) if shown else info.done)


def _state(info: RunInfo) -> str:
    """The state of this moment."""
    going = manager().get(info.run)
    shown = going.snapshot() if going is not None else None
    state = shown.state if shown and shown.active else info.state
    if info.origin == TRIAL_ORIGIN and state == "paused" and info.reason.startswith(AGENDA_DONE):
        state = "finished"  # a trial asks a part of its study, and that is all of it
    return state


# ---------------------------------------------------------------- one run


def _card(info: RunInfo, key: str, tags: Sequence[str] | None = None) -> None:
    """One run: its title and how far it is; with the ``tags`` of all runs also what can be done with it."""
    whole = info.state == "finished" and info.reason.startswith(AGENDA_DONE)
    with st.container(border=True):
        # Columns, since in one row a long name of data would push the last button below the others.
        three = _may_go_on(info) or info.deleted is not None  # as wide as three of the usual buttons
        widths = [5, 1] if tags is None else [4, 3] if three else [9, 4]
        left, right = st.columns(widths, vertical_alignment="center")
        with left:
            mark = tr(" :orange-badge[simulated]") if info.simulated else ""
            mark += tr(" :blue-badge[one text]") if info.origin == TRIAL_ORIGIN else ""
            mark += "".join(f" :gray-badge[:material/label: {plain(tag)}]" for tag in info.tags)
            badge = f":{STATE_COLORS.get(info.state, 'gray')}-badge[{tr(STATES.get(info.state, info.state))}]"
            st.markdown(f"**{plain(info.name)}** {badge}{mark}  \n{_about(info, whole=whole)}")
        with right, st.container(horizontal=True, horizontal_alignment="right"):
            _buttons(info, key, tags)
        if info.deleted is not None:
            return
        if info.reason and info.state not in ("running", "finished"):
            st.caption(plain(tr(info.reason)))
        dropped_judges(manager(), info, key, controls=tags is not None and info.state != "running")
        if tags is not None and _may_go_on(info):
            remedies(manager(), info, key)


def _buttons(info: RunInfo, key: str, tags: Sequence[str] | None) -> None:
    if info.deleted is not None:
        _deleted_controls(info, key)
        return
    if info.done and st.button(tr("Results"), key=f"{key}-open-{info.run}", icon=":material/grid_on:"):
        open_findings(info)
    if tags is not None:
        _go_on(info, key)
        _menu(info, key, tags)


def _about(info: RunInfo, *, whole: bool) -> str:
    """``whole``: nothing is left to ask. Of a run that goes on the count would be old at once; it stands above the list."""
    if whole or info.state == "running":
        calls: str = many(info.done if whole else info.planned, "call")
    else:
        calls = done_of(info.done, info.planned)
    when = dated(local(info.created), msg("%d %b %Y, %H:%M"))
    gone = ""
    if info.deleted is not None:
        moment = dated(local(info.deleted), msg("%d %b, %H:%M"))
        gone = tr(" · deleted {moment}", moment=moment)
    return f":small[{plain(info.dataset)} · {calls} · {when}{gone} · `{info.run}`]"


def _may_go_on(info: RunInfo) -> bool:
    return info.deleted is None and info.state not in ("running", "finished", "imported")


def _go_on(info: RunInfo, key: str) -> None:
    if _may_go_on(info) and st.button(tr("Go on"), key=f"{key}-on-{info.run}", icon=":material/play_arrow:"):
        start_or_ask(manager(), info.name, lambda: manager().go_on(info.run, secrets=secrets()))


def _menu(info: RunInfo, key: str, tags: Sequence[str]) -> None:
    """What a run is called, its study, where it is kept, and its exports."""
    with st.popover(tr("More"), icon=":material/more_horiz:"):
        _named(info, key, tags)
        if info.state not in ("running", "imported"):
            failed = len(store().failed_keys(info.run))
            if failed and st.button(
                tr("Ask {failed:,} failed calls again", failed=failed), key=f"{key}-again-{info.run}"
            ):
                start_or_ask(
                    manager(), info.name, lambda: manager().go_on(info.run, secrets=secrets(), only_failed=True)
                )
        _study_again(info, key)
        with st.container(horizontal=True):
            _archiving(info, key)
            if st.button(tr("Delete"), key=f"{key}-delete-{info.run}", icon=":material/delete:"):
                with faults():
                    manager().delete(info.run)
                    if st.session_state.get("run") == info.run:
                        del st.session_state["run"]  # no page opens it by itself any more
                    st.session_state[_UNDO] = "deleted", info.run
                    st.rerun()
        with st.expander(tr("Export, and how it was made"), icon=":material/download:"):
            _exports(info, key)


def _named(info: RunInfo, key: str, known_tags: Sequence[str]) -> None:
    """Title and tags, saved together; what somebody else has changed meanwhile stays."""
    tag = f"{key}-{info.run}-{hash((info.name, info.tags))}"  # anew once they are others
    with st.form(f"{tag}-named", border=False):
        about = tr("Up to {most} characters; left empty it is the name that the run was made with.", most=MAX_TITLE)
        st.text_input(tr("Title"), info.name, key=f"{tag}-title", placeholder=info.made_as, help=about)
        st.multiselect(
            tr("Tags"),
            list(known_tags),
            list(info.tags),
            key=f"{tag}-tags",
            accept_new_options=True,
            placeholder=tr("choose or write"),
            max_selections=MAX_TAGS,
            help=tr("Free words, up to {most} characters each. The list can be filtered by them.", most=MAX_TAG),
        )
        # Before the page is drawn again, since by then the run may have another title and this form another key.
        st.form_submit_button(tr("Save title and tags"), icon=":material/check:", on_click=_save, args=(info, tag))
        refused, why = st.session_state.pop(_REFUSED, ("", ""))
        if refused == info.run:
            st.error(why, icon=":material/error:")
        elif refused:
            st.session_state[_REFUSED] = refused, why


def _save(shown: RunInfo, tag: str) -> None:
    """Save what differs from what was ``shown``, and nothing else: the rest may be somebody else's."""
    title, tags = str(st.session_state[f"{tag}-title"]), set(st.session_state[f"{tag}-tags"])
    try:
        if title.strip() != shown.name:
            manager().rename(shown.run, title)
        store().tag_run(shown.run, add=sorted(tags - set(shown.tags)), remove=set(shown.tags) - tags)
    except LabError as fault:
        st.session_state[_REFUSED] = shown.run, plain(str(fault))
    else:
        announce(tr("Saved. Links to it are what they were: {run}", run=plain(shown.run)))


def _study_again(info: RunInfo, key: str) -> None:
    """Its study as a form: as it is, or as a new one."""
    if info.state == "imported" or info.origin == TRIAL_ORIGIN:
        return
    with st.container(horizontal=True):
        for word, label, icon in (
            ("from", tr("Open its study"), ":material/science:"),
            ("copy", tr("Duplicate"), ":material/content_copy:"),
        ):
            if st.button(label, key=f"{key}-{word}-{info.run}", icon=icon):
                st.session_state.pop("study-opened", None)  # asked for again, it is filled in again
                st.switch_page("pages/study.py", query_params={word: info.run})


def _archiving(info: RunInfo, key: str) -> None:
    if info.archived is not None:
        if st.button(tr("Back to the list"), key=f"{key}-listed-{info.run}", icon=":material/unarchive:"):
            with faults():
                store().restore_run(info.run)
                st.rerun()
    elif st.button(
        tr("Archive"),
        key=f"{key}-archive-{info.run}",
        icon=":material/archive:",
        help=tr("Out of the lists, but not gone: found under Archived, and links to it go on working."),
    ):
        with faults():
            store().archive_run(info.run)
            st.session_state[_UNDO] = "archived", info.run
            st.rerun()


def _exports(info: RunInfo, key: str) -> None:
    st.download_button(
        tr("Run as an archive (zip)"),
        key=f"{key}-zip-{info.run}",
        on_click="ignore",
        data=partial(write_archive, store(), info.run),
        file_name=f"{info.run}.zip",
        width="stretch",
    )
    st.download_button(
        tr("Judgments (Parquet)"),
        key=f"{key}-parquet-{info.run}",
        on_click="ignore",
        data=partial(run_parquet, store(), info.run),
        file_name=f"{info.run}.parquet",
        width="stretch",
    )
    if info.name != info.made_as:
        st.caption(tr("Made as “{made_as}”", made_as=plain(info.made_as)))
    st.caption(tr("Made with"))
    st.json(dict(info.provenance), expanded=False)


# ---------------------------------------------------------------- deleted runs


def _undo(key: str) -> None:
    """Of what was archived or deleted last: that it was, and the way back."""
    done, run = st.session_state.get(_UNDO, ("", ""))
    info = next((one for one in store().runs(deleted=True) if one.run == run), None) if done else None
    if info is None or shelf_of(info) != done:
        st.session_state.pop(_UNDO, None)
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(tr(_ASIDE[done], name=plain(info.name)), width="stretch")
        if st.button(tr("Undo"), key=f"{key}-undo", icon=":material/undo:"):
            with faults():
                if done == "deleted":
                    store().undelete_run(info.run)
                else:
                    store().restore_run(info.run)
                del st.session_state[_UNDO]
                st.rerun()


def _deleted_controls(info: RunInfo, key: str) -> None:
    if st.button(tr("Restore"), key=f"{key}-restore-{info.run}", icon=":material/restore_from_trash:"):
        with faults():
            store().undelete_run(info.run)
            announce(tr("“{name}” is back.", name=plain(info.name)))
            st.rerun()
    with st.popover(tr("Delete for good"), icon=":material/delete_forever:"):
        st.markdown(
            tr("{judgments} with their words go. Nothing brings them back.", judgments=many(info.done, "judgment"))
        )
        if st.button(tr("Yes, delete it for good"), key=f"{key}-gone-{info.run}", type="primary"):
            _delete_for_good([info.run])


def _empty_shelf(key: str) -> None:
    """The deleted runs are kept until somebody says that they may go."""
    gone = [info for info in store().runs(deleted=True) if info.deleted is not None]
    with st.popover(tr("Delete all of them for good"), icon=":material/delete_forever:"):
        judgments = many(sum(info.done for info in gone), "judgment")
        st.markdown(
            tr(
                "{runs} with {judgments} go. Nothing brings them back.",
                runs=many(len(gone), "run"),
                judgments=judgments,
            )
        )
        if st.button(tr("Yes, delete all for good"), key=f"{key}-empty", type="primary"):
            _delete_for_good([info.run for info in gone])


def _delete_for_good(runs: list[str]) -> None:
    with faults():
        store().organise(runs, move="for_good")
        announce(tr("Deleted for good: {runs}.", runs=many(len(runs), "run")))
        st.rerun()
