"""The parts of the report page: what a report will hold, and how large and slow it will be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import language, msg, speaking, tr
from rubriclab.model.wording import many
from rubriclab.report import source
from rubriclab.report.page import html_report
from rubriclab.store import RunInfo, Store
from rubriclab.store.archive_writing import write_archive

MOST_RUNS = 12
LIBRARY_MB, RUN_MB = 4.85, 0.1
"""The drawing library, and what the figures and words of a run add to it."""
SECONDS, SECONDS_A_JUDGMENT = 0.5, 1.6e-5
"""Of a small run, and for every judgment: measured on runs of 960 to 400,000 judgments."""
PART_NAMES = {
    "charts": msg("Charts"),
    "shown": msg("Prompt and rubric"),
    "methods": msg("Methods"),
    "provenance": msg("Provenance"),
    "numbers": msg("Numbers as text"),
}
"""Parts that may be left out, as short as a row of them asks."""
TOPICS = {
    "options": msg("where the judge picks, agreement with people, causes and cures, who wins"),
    "criteria": msg("shifts by criterion and position, the criterion read before, who wins"),
    "pairwise": msg("consistency, fairness and stability, win rates, agreement of judges"),
    "batch": msg("place, neighbour and company of a response in its batch, agreement with single calls and people"),
    "listwise": msg("consistency, fairness and stability, win rates, agreement of judges"),
}


@dataclass(frozen=True)
class Outline:
    """What a report of some runs will be like, before it is written."""

    lines: tuple[str, ...]
    megabytes: float
    seconds: float

    def cost(self) -> str:
        wait = (
            tr("in about a second")
            if self.seconds < 2
            else tr("in about {duration}", duration=ui.duration(self.seconds))
        )
        size = tr("Less than 1 MB") if self.megabytes < 1 else tr("About {megabytes:.0f} MB", megabytes=self.megabytes)
        return tr("{size}, ready {wait}.", size=size, wait=wait)


def outline(runs: Sequence[RunInfo], parts: Collection[str]) -> Outline:
    """The parts of the report in their order, its rough size and the time it takes."""
    several = len(runs) > 1
    each = tr(" of each run") if several else ""
    lines = [tr("The answer in a sentence{each}, what to do, the key numbers with their intervals", each=each)]
    if several:
        lines.insert(
            0, tr("A comparison of {runs}: one line a run, one table over all arms", runs=many(len(runs), "run"))
        )
    if "charts" in parts:
        topics = dict.fromkeys(TOPICS[info.axis] for info in runs)
        lines.append(tr("Charts: {topics}", topics="; ".join(tr(topic) for topic in topics)))
    if "shown" in parts:
        lines.append(tr("The rubric in its own order, one prompt word for word, the judge's reply"))
    lines.append(tr("Read with care: what was left out and why, what the run could not have seen"))
    if "methods" in parts:
        lines.append(tr("Every statistic in it defined, with its formula and its source"))
    if "provenance" in parts:
        lines.append(tr("Versions, models, seeds, dates and counts"))
    if "numbers" in parts:
        lines.append(tr("All numbers as text"))
    judged = sum(info.done for info in runs)
    drawn = "charts" in parts
    return Outline(
        lines=tuple(lines),
        megabytes=(LIBRARY_MB if drawn else 0.0) + RUN_MB * len(runs),
        seconds=SECONDS * len(runs) + SECONDS_A_JUDGMENT * judged,
    )


def show_outline(found: Outline) -> None:
    with st.container(border=True):
        st.markdown(tr("**It will hold**"))
        st.markdown("\n".join(f"- {ui.plain(line)}" for line in found.lines))
        st.caption(found.cost())


def file_name(title: str, runs: Sequence[RunInfo], suffix: str) -> str:
    """A name for the file: of the run, or of the title where there are several."""
    base = runs[0].run if len(runs) == 1 else title or "comparison"
    kept = "".join(c if c.isalnum() else "-" for c in base.lower()).strip("-")[:60]
    return str(PurePath(kept or "report").with_suffix(suffix))


def html_maker(store: Store, runs: Sequence[str], *, title: str, parts: Collection[str]) -> Callable[[], bytes]:
    """What writes the HTML file when its button is pressed, in the language of now: it runs outside of the visit."""

    spoken = language()

    def made() -> bytes:
        with speaking(spoken):
            found = [source(store, run) for run in runs]
            return html_report(found, title=title, parts=tuple(parts)).encode()

    return made


def bundle_maker(store: Store, runs: Sequence[str]) -> Callable[[], bytes]:
    """What writes the bundle when its button is pressed."""

    def made() -> bytes:
        return write_archive(store, *runs)

    return made
