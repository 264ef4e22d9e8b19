"""The gallery's parts: a judge chosen, its logs fetched, what they say, and the way to every log line."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.datasets.gallery import GALLERY, PublicLogs, fetch
from rubriclab.figures import gallery as draw
from rubriclab.figures.position import selection_bars
from rubriclab.findings.gallery import (
    POINTS,
    GalleryResult,
    LoggedAdvantage,
    gallery,
    gap_sentence,
    pooled_sentence,
    row_sentence,
    spread_sentence,
)
from rubriclab.findings.position import POSITION
from rubriclab.model import DataError
from rubriclab.model.language import figure, language, msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.gallery import open_public, read_public
from rubriclab.store import RunInfo

RECORDED = "recorded"
_MB = 1e6


def choose_judge(recorded: bool) -> PublicLogs | None:
    """The judge to look at; None for the recorded example, where there is one.

    First stands what needs no network: a judge whose logs are here, else the recorded example.
    """
    keys = [*([RECORDED] if recorded else []), *GALLERY]
    here = next((key for key, public in GALLERY.items() if public.here()), None)
    key = ui.choose(
        tr("Pick a judge you know"),
        keys,
        key="gallery-judge",
        address="judge",
        default=here,
        name=lambda key: tr("Two small models, recorded with this lab") if key == RECORDED else tr(GALLERY[key].title),
    )
    return GALLERY.get(key)


def recorded_example(info: RunInfo) -> None:
    """The run that comes with the lab: sentence, picture, the way to its judgments."""
    found = ui.finding(info, POSITION)
    arms = tuple(arm for arm in found.arms if arm.arm.strategy == "balanced")
    said: dict[str, list[str]] = {}
    for sentence in POSITION.sentences(found):
        said.setdefault(sentence.about, []).append(sentence.text)
    for about, texts in said.items():
        st.markdown(f"**{ui.plain(about.partition(' · ')[0])}**: {ui.plain(' '.join(texts))}")
    st.caption(tr("These two score one answer by a rubric; what changes places is the list of score options."))
    ui.chart(selection_bars(arms, run_judges=uf.judges_of(info)), key="gallery-recorded", info=info)
    _way_to(info.run)


def logs(public: PublicLogs) -> None:
    """What the logs that are here say; what is not here can be fetched."""
    st.markdown(ui.plain(tr(public.about)))
    st.caption(
        tr(
            "From {source}, commit {commit} · licence: {licence}",
            source=ui.plain(tr(public.source)),
            commit=public.commit[:7],
            licence=ui.plain(tr(public.licence)),
        )
    )
    here = public.here()
    _to_fetch(public, here)
    if not here:
        return
    rows, faults = _read(public, here)
    for name, fault in faults.items():
        st.warning(f"{ui.plain(public.short(name))}: {ui.plain(fault)}", icon=":material/error:")
    if rows:
        _told(public, gallery(rows, one_judge=public.rows == "model"))


# ---------------------------------------------------------------- fetching


def _to_fetch(public: PublicLogs, here: Sequence[str]) -> None:
    """What is missing, how much it is and where it comes from, with the button that gets it."""
    names = [file.name for file in public.files]
    missing = [name for name in names if name not in here]
    if not missing:
        st.caption(f":material/check: {_counted(public, here)}. {_all_words(public)}")
        return
    size = public.bytes_of(missing) / _MB
    with st.container(border=not here, key="gallery-fetch"):
        if not here:
            st.markdown(
                tr(
                    "**Nothing of it is here yet.** {logs}, about {size:,.0f} MB, would come from `{host}`. {checked}",
                    logs=many(len(missing), "log"),
                    size=size,
                    host=public.host,
                    checked=_checked_words(public, missing),
                )
            )
        else:
            st.caption(f"{_counted(public, here)}. {_checked_words(public, missing)}")
        label = tr("Fetch {logs} (about {size:,.0f} MB)", logs=many(len(missing), "log"), size=size)
        if st.button(label, key="gallery-get", icon=":material/download:", type="secondary" if here else "primary"):
            _fetch(public, missing)
        if public.listing is not None:
            st.caption(_all_words(public))


def _all_words(public: PublicLogs) -> str:
    """How to have every log that the source lists."""
    if public.listing is None:
        return ""
    return tr("All that the source lists: `rubriclab gallery {key} --fetch --all`.", key=public.key)


def _counted(public: PublicLogs, here: Sequence[str]) -> str:
    known = [file.name for file in public.files]
    more = len([name for name in here if name not in known])
    first, logs = len(here) - more, many(len(known), "log")
    if more:
        return tr("{first} of {logs} and {more} more here", first=first, logs=logs, more=more)
    return tr("{first} of {logs} here", first=first, logs=logs)


def _checked_words(public: PublicLogs, names: Sequence[str]) -> str:
    """By what a file is known to be the right one."""
    known = sum(public.file(name).sha256 is not None for name in names)
    unknown = len(names) - known
    if not unknown:
        return tr("Checked by known hashes.")
    trusted = tr("its hash is written down at the first fetch, and only that file is used from then on")
    if known:
        return tr(
            "{known} checked by known hashes; of the others none is known beforehand: {trusted}.",
            known=known,
            trusted=trusted,
        )
    if unknown == 1:
        return tr("No hash of it is known beforehand: {trusted}.", trusted=trusted)
    return tr("No hash of these is known beforehand: {trusted}.", trusted=trusted)


def _fetch(public: PublicLogs, names: Sequence[str]) -> None:
    bar = st.progress(0.0, text=tr("Asking for the logs …"))

    def heard(done: int, of: int, name: str, got: int, total: int | None) -> None:
        part = min(1.0, got / total) if total else 0.0
        bar.progress(
            (done + part) / of,
            text=tr(
                "{done} of {files}: {file}, {size:.1f} MB",
                done=done + 1,
                files=of,
                file=ui.plain(public.short(name)),
                size=got / _MB,
            ),
        )

    with ui.faults():
        try:
            fetched = fetch(public, names, progress=heard)
        finally:
            bar.empty()
        if fetched.missing:
            st.session_state["gallery-missing"] = [public.short(name) for name in fetched.missing]
        st.rerun()


# ---------------------------------------------------------------- what the logs say


def _read(public: PublicLogs, names: Sequence[str]) -> tuple[list[LoggedAdvantage], dict[str, str]]:
    """(rows of all logs, why some cannot be read), each read once while it stays the same file."""
    rows: list[LoggedAdvantage] = []
    faults: dict[str, str] = {}
    with st.spinner(tr("Reading {logs} …", logs=many(len(names), "log"))):
        for name in names:
            known = public.path(name).stat()
            try:
                rows += _rows(public.key, name, known.st_mtime_ns, known.st_size, language())
            except DataError as fault:
                faults[name] = str(fault)
    return rows, faults


@st.cache_resource(show_spinner=False, max_entries=400)
def _rows(key: str, name: str, _changed: int, _size: int, spoken: str) -> tuple[LoggedAdvantage, ...]:
    del spoken  # part of what the answer is kept by
    return read_public(GALLERY[key], name)


def _told(public: PublicLogs, result: GalleryResult) -> None:
    missing = st.session_state.pop("gallery-missing", None)
    if missing:
        st.info(tr("Not at that commit: {logs}.", logs=ui.plain(", ".join(missing))), icon=":material/info:")
    uf.answer(pooled_sentence(result, tr(public.title)))
    if result.pooled is not None:
        st.caption(ui.plain(spread_sentence(result)))
    silent = [row for row in result.rows if row.value != row.value]
    if silent:
        why = "; ".join(f"{public.short(row.name)} ({tr(row.first.effect.why)})" for row in silent)
        st.info(tr("Nothing can be said from {logs}.", logs=ui.plain(why)), icon=":material/info:")
    st.markdown(
        tr("**Points more wins for the answer shown first** (left of 0: shown second), with intervals"),
        help=ui.about("advantage", also=("pooled",)),
    )
    ui.chart(draw.forest(result), key="gallery-forest")
    if result.by_gap is not None:
        st.markdown(tr("**By quality gap**: does the place count more between equals?"))
        ui.chart(draw.by_gap(result), key="gallery-gap")
        st.caption(ui.plain(gap_sentence(result)))
    _one(public, result)
    with st.expander(tr("All numbers"), icon=":material/table:"):
        uf.table(_frame(result), key="gallery-table", said=("Verdict", "Design"))


def _one(public: PublicLogs, result: GalleryResult) -> None:
    """One log: its sentence, and the way to its lines."""
    st.subheader(tr("The log lines behind a number"), anchor=False)
    rows = list(result.rows)
    alone = len({row.name for row in rows}) == len(rows)
    labels = [row.name if alone else f"{row.name} · {public.short(row.file)}" for row in rows]
    number = ui.choose(
        tr("Log"), list(range(len(rows))), key=f"gallery-log-{public.key}", address="log", name=lambda k: labels[k]
    )
    row = rows[number]
    if len(rows) > 1:
        st.markdown(ui.plain(row_sentence(row)))
    if st.button(tr("Open its log lines"), key="gallery-open", icon=":material/manage_search:"):
        with ui.faults(), st.spinner(tr("Making a run of the log …")):
            run = open_public(ui.store(), public, row.file)
        st.session_state["run"] = run
        st.switch_page("pages/judgments.py", query_params={"run": run})
    st.caption(tr("Makes a run of the log in your store: every prompt and reply that it has, with all findings."))


def _frame(result: GalleryResult) -> pd.DataFrame:
    """A row a log, in points."""
    rows = [
        {
            msg("Log"): row.name,
            msg("Judge"): row.judge,
            msg("Points"): POINTS * row.value,
            msg("low"): POINTS * row.first.effect.low,
            msg("high"): POINTS * row.first.effect.high,
            "p": row.first.test.p,
            msg("Verdict"): row.first.effect.verdict,
            msg("Comparisons"): row.first.comparisons,
            msg("Design"): row.first.design,
            msg("Win rate"): row.win_rate,
        }
        for row in result.rows
    ]
    return pd.DataFrame(rows)


def stock() -> None:
    """All public logs: how many of each are here, and what the rest would be."""
    rows = []
    for public in GALLERY.values():
        missing = [file.name for file in public.files if file.name not in public.here()]
        rows.append(
            {
                msg("Judge"): tr(public.title),
                msg("Here"): tr("{here} of {files}", here=len(public.files) - len(missing), files=len(public.files)),
                msg("To fetch"): f"{figure(public.bytes_of(missing) / _MB, ',.0f')} MB" if missing else tr("nothing"),
                msg("From"): public.host,
                msg("Licence"): tr(public.licence),
            }
        )
    table = pd.DataFrame(rows)
    st.dataframe(table, hide_index=True, width="stretch", key="gallery-stock", column_config=uf.headings(table))


def _way_to(run: str) -> None:
    st.page_link(
        "pages/judgments.py",
        label=tr("The judgments behind it"),
        icon=":material/manage_search:",
        query_params={"run": run},
    )
