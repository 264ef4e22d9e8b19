"""Plans and ids of runs in, the runs of this process out: started, resumed, found again by every
page and visitor.
"""

import atexit
import threading
import time
from dataclasses import replace
from typing import Any

from rubriclab.judges.python import code_folder, with_code
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, count, shorten
from rubriclab.runs.loading import Folder, rubric_of_part, wordings_of
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan, plan

GRACE_SECONDS = 10.0


class RunManager:
    """The runs that were started in this process, by their ids. Safe to share between threads.

    When the process ends they are paused, and calls in flight are waited for GRACE_SECONDS at most.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()
        _managers.append(self)

    def start(self, planned: Plan, **limits: Any) -> Run:
        """Start the run of a plan, or go on with it; one that is going is returned as it is.

        ``limits``: what ``Run`` takes. Raises LabError, before anything is kept, where no judge can
        be opened.
        """
        with self._lock:
            for going in self.running():
                if going.plan.identity == planned.identity:
                    return going
            run = Run(self.store, planned, **limits)
            self._runs[run.id] = run
            return run.start()

    def resume(self, id: str, **limits: Any) -> Run:
        """Go on with a run of the store; ``limits`` as for ``start``.

        Raises LabError for one that was imported, where it has no calls, would run own code, or
        holds what its own plan would not ask; and NoConsent where a key would go to an address that
        nobody has agreed to.
        """
        going = self.get(id)
        if going is not None and going.active:
            return going
        planned = plan_of_run(self.store, id)
        refuse_other_versions(self.store, id, planned)
        handed = self.store.imported(id)
        # What it was stopped in taking over; an import names no run of this store.
        before = None if handed else self.store.made_with(id).get("answers_of")
        known = {"known": (self.store, before)} if before else {}
        if handed:
            refuse_misfit(self.store, id, planned)
        judges = [
            with_code(judge, code_folder() or "", trust=not handed)
            if judge.about.runs_code
            else judge
            for judge in planned.study.judges
        ]
        study = planned.study.model_copy(update={"judges": tuple(judges)})
        return self.start(replace(planned, study=study), **known | limits)

    def get(self, id: str) -> Run | None:
        """The run of that id if it was started in this process, be it over or not."""
        return self._runs.get(id)

    def running(self) -> list[Run]:
        """The runs that are going now, in the order in which they were started."""
        return [run for run in tuple(self._runs.values()) if run.active]

    def stop_all(self, seconds: float = GRACE_SECONDS) -> None:
        """Pause all runs and wait for their calls in flight, ``seconds`` at most."""
        running = self.running()
        for run in running:
            run.pause("the lab was ended")
        until = time.monotonic() + seconds
        for run in running:
            run.wait(max(0.0, until - time.monotonic()))


_managers: list[RunManager] = []


@atexit.register
def stop_everything() -> None:
    """Pause what this process asks, as it ends: by itself, or by a signal that lets no exit handler
    run.
    """
    for manager in tuple(_managers):
        manager.stop_all()


def refuse_other_versions(store: Store, id: str, planned: Plan) -> None:
    """Raise LabError where a judge's kind has another version now than when the run was made.

    The version is part of a judge's identity, so going on would mix two judges under one name.
    """
    made = store.made_with(id)
    for judge in planned.study.judges:
        before = made.get(f"judge kind {judge.kind}")
        now = judge.about.version
        if before is not None and before != now:
            raise LabError(
                f"Judge “{shorten(judge.name)}” was asked with version {shorten(str(before), 60)} "
                f"of its kind “{judge.kind}”; version {shorten(now, 60)} is installed. Install the "
                f"other one to go on with this run, or start a new run."
            )


def refuse_misfit(store: Store, id: str, planned: Plan) -> None:
    """Raise LabError where an imported run holds anything that its own plan would not ask.

    Going on with it would mix judgments of two studies, and count more calls than are planned.
    """
    info, table = store.run(id), store.table(id)
    items = planned.items_frame()
    same_items = len(items) == len(table.items) and all(
        list(items[name]) == list(table.items[name]) for name in ("item_id", "criterion")
    )
    # A data set is named after the run that it was imported with.
    theirs, own = (
        [replace(condition, dataset="") for condition in conditions]
        for conditions in (table.conditions, planned.conditions)
    )
    foreign = store.final_keys(id) - {call.key for call in planned.calls()}
    reasons = {
        "its answers are others than those of its study": not same_items,
        "its conditions are others than those of its study": theirs != own
        or tuple(table.planned) != tuple(map(int, planned.planned)),
        f"{count(len(foreign), 'call')} in it would never be asked by its study": bool(foreign),
    }
    why = next((reason for reason, holds in reasons.items() if holds), "")
    if why:
        raise LabError(
            f"“{shorten(info.name)}” was imported and does not fit its own plan ({why}), so it "
            f"cannot go on. Its "
            "results can be read. To ask its study, set up a run of your own."
        )


def plan_of_run(store: Store, id: str) -> Plan:
    """The plan that a run of the store was made from, made again from what the store kept.

    Raises LabError for an import, which has no calls, and for a run whose data set is gone.
    """
    info = store.run(id)
    body = store.study(info.id)
    if not info.dataset or not body.get("judges"):
        raise LabError(
            f"“{shorten(info.name)}” was imported: there are no calls to ask. Set up a run instead."
        )
    study = validated(Study, body, f"The study of “{shorten(info.name)}” cannot be planned again: ")
    if len(info.dataset.split()) != len(study.data):
        raise LabError(
            f"“{shorten(info.name)}” was imported with its {len(study.data)} data sets in one, so "
            f"it cannot be planned "
            "again. Its results can be read."
        )
    rubrics = [rubric_of_part(study, number, Folder()) for number in range(len(study.data))]
    first, *more = zip(map(store.dataset, info.dataset.split()), rubrics, strict=True)
    planned = plan(study, *first, more, wordings_of(study, Folder()))
    # Texts were kept as a file can hold them: it is this run all the same.
    return replace(planned, identity=info.identity)
