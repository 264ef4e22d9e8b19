"""The run that a findings page is about, with what must be read of it before anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from rubriclab.app.ui.address import choose, forget_address
from rubriclab.app.ui.cache import findings
from rubriclab.app.ui.frame import plain
from rubriclab.app.ui.reading import Reading, choose_reading
from rubriclab.app.ui.runs import EXAMPLE_NAME, FORMS_NAME, judged_runs, recorded_for, run_label, said_aside, store
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.store import RunInfo


def choose_run(*, axes: Sequence[str], key: str, trials: bool = False) -> RunInfo | None:
    """The run a findings page is about: the address names it, else the one looked at last.

    Only runs as :func:`judged_runs` gives are offered. None where there is none.
    """
    runs = judged_runs(axes, trials=trials)
    if not runs:
        return None
    names = list(runs)
    wanted = st.query_params.get("run")
    if wanted is not None and wanted not in runs:
        st.warning(_not_shown(wanted), icon=":material/link_off:")
        del st.query_params["run"]  # said once: the choice below would say it again
    remembered = st.session_state.get("run")
    before = st.session_state.get(f"{key}-run")
    chosen = choose(
        tr("Run"),
        names,
        key=f"{key}-run",
        address="run",
        default=_first(runs, key, remembered),
        name=lambda run: run_label(runs[run]),
    )
    if before is not None and before != chosen:
        forget_address(but="run")  # what else it says was about the run before
    st.session_state["run"] = chosen
    _said_first(runs[chosen])
    return runs[chosen]


def _not_shown(wanted: str) -> str:
    """Why the run that a link names is not among those of the page."""
    known = next((info for info in store().runs(deleted=True) if wanted in (info.run, info.name)), None)
    if known is None:
        return tr(
            "The link names the run “{wanted}”, which this store does not have. Another one is shown.",
            wanted=plain(wanted),
        )
    if not known.done:
        return tr(
            "The link names the run “{name}”, of which nothing is judged yet. Another one is shown.",
            name=plain(known.name),
        )
    return tr(
        "The link names the run “{name}”, which is of another kind than this page shows. Another one is shown.",
        name=plain(known.name),
    )


def _first(runs: Mapping[str, RunInfo], page: str, remembered: object) -> str:
    """The run that was looked at last, else the newest: of the recorded runs the one that is made for this page."""
    first = str(remembered) if remembered in runs else next(iter(runs))
    own = next((run for run, info in runs.items() if info.made_as == recorded_for(page)), first)
    leaves = (EXAMPLE_NAME,) if remembered in runs else (EXAMPLE_NAME, FORMS_NAME)
    return own if runs[first].made_as in leaves else first


def _said_first(info: RunInfo) -> None:
    """What must be known of a run before its numbers, the gravest above all."""
    first = st.container()
    said_aside(info)
    if info.simulated:
        st.warning(
            tr("This run has a **simulated** judge: its numbers show how the method works, not how any model behaves."),
            icon=":material/science:",
        )
    if info.done < info.planned and info.state != "imported":
        st.warning(
            tr(
                "This run is **not finished**: {done:,} of {calls} {calls:has|have} an answer. The numbers are about these, and "
                "no verdict is given yet.",
                done=info.done,
                calls=many(info.planned, "call"),
            ),
            icon=":material/hourglass_top:",
        )
    choose_reading(info.run, Reading(*store().read_as(info.run)))
    dropped = set(map(str, info.dropped))
    for text in findings(info).alarms():
        if text in dropped:
            first.warning(plain(text), icon=":material/person_remove:")
        else:
            first.error(plain(text), icon=":material/warning:")
