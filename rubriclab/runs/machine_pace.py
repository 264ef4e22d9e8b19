"""Find how fast small models answer on this machine, and whether the machine is busy."""

import os
import platform
from collections.abc import Iterable, Sequence

from rubriclab.model.consent import judges_of
from rubriclab.model.judge import JudgeSettings
from rubriclab.runs.forecast import LONG_REPLY, SIGNS_PER_TOKEN, MachinePace
from rubriclab.runs.pace import ENOUGH_CALLS, seconds_at_work
from rubriclab.store.read import Reader, RunInfo

RUNS_LOOKED_AT = 20
"""So many of the newest runs are searched for a judge's pace, so that a page need not wait."""
CALLS_LOOKED_AT = 2_000
"""An earlier run's pace is that of its last so many calls, so that a large one is read quickly."""
BUSY = 1.5
"""Processes that want a core, for each core, from which we call a machine busy. A run of a small
model counts about 1 by itself on two cores, and still does for a minute after its end."""
BUSY_WORDS = "This machine is busy now, so it may take several times as long."


def machine_paces(store: Reader, judges: Sequence[JudgeSettings]) -> dict[str, MachinePace]:
    """Return how fast the small models among these judges answered in their newest run, by name.

    A judge is left out if no run of this machine has asked its model often enough. A run that is
    going on does not count yet.
    """
    wanted = [judge for judge in judges if judge.about.small_model]
    found: dict[str, MachinePace] = {}
    for info in store.runs()[:RUNS_LOOKED_AT] if wanted else ():
        missing = [judge for judge in wanted if judge.name not in found]
        if not missing:
            break
        if info.state == "running" or info.done <= ENOUGH_CALLS or not _made_here(store, info):
            continue
        for asked in judges_of(store.study(info.id)):
            same = [judge for judge in missing if _same_model(judge, asked)]
            pace = _pace_of(store, info, asked) if same else None
            if pace is not None:
                found |= {judge.name: pace for judge in same}
    return found


def busy_words(judges: Iterable[JudgeSettings]) -> str:
    """Say that this machine is busy, if it is and any of these judges runs on it; else nothing.

    How much longer a run takes is left open: nobody knows when the other work will end.
    """
    if not any(judge.about.small_model for judge in judges):
        return ""
    try:
        load, _, _ = os.getloadavg()
    except (AttributeError, OSError):  # Windows does not count it
        return ""
    return BUSY_WORDS if load > BUSY * (os.cpu_count() or 1) else ""


def _made_here(store: Reader, info: RunInfo) -> bool:
    """Return whether a run was made on this machine, as far as its store tells."""
    made_on = store.made_with(info.id).get("platform")
    return made_on == platform.platform() and not store.imported(info.id)


def _same_model(one: JudgeSettings, other: JudgeSettings) -> bool:
    return (one.kind, one.model, one.options) == (other.kind, other.model, other.options)


def _pace_of(store: Reader, info: RunInfo, judge: JudgeSettings) -> MachinePace | None:
    """Return the pace of a judge in a run; None if too few of its calls ended well."""
    calls = store.last_calls(info.id, judge.name, CALLS_LOOKED_AT)
    seconds = seconds_at_work(calls)
    if len(calls) <= ENOUGH_CALLS or seconds <= 0:
        return None
    read = (calls["tokens_in"] - calls["cached"]).clip(lower=0).mean()
    slowdown = judge.about.speed.slowdown(
        long_answer=bool(calls["tokens_out"].mean() > LONG_REPLY),
        signs_read=float(read * SIGNS_PER_TOKEN),
    )
    return MachinePace(info.name, len(calls) / seconds * slowdown)
