"""Plans and ids of runs in, the runs of this process out: started, resumed, found again by every page and visitor."""

import atexit
import threading
import time
from dataclasses import replace
from typing import Any

from rubriclab.judges.python import code_folder, with_code
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, shorten
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
        atexit.register(self.stop_all)

    def start(self, planned: Plan, **limits: Any) -> Run:
        """Start the run of a plan, or go on with it; one that is going is returned as it is.

        ``limits``: what ``Run`` takes. Raises LabError, before anything is kept, where no judge can be opened.
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

        Raises LabError for one that was imported, where it has no calls or would run own code.
        """
        going = self.get(id)
        if going is not None and going.active:
            return going
        before = self.store.made_with(id).get("answers_of")  # what it was stopped in taking over
        known = {"known": (self.store, before)} if before else {}
        planned = plan_of_run(self.store, id)
        handed = any(dataset.origin.startswith("imported") for dataset, _ in planned.sources)
        judges = [
            with_code(judge, code_folder() or "", trust=not handed)
            if judge.kind == "python"
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
    rubrics = [rubric_of_part(study, number, Folder()) for number in range(len(study.data))]
    first, *more = zip(map(store.dataset, info.dataset.split()), rubrics, strict=True)
    planned = plan(study, *first, more, wordings_of(study, Folder()))
    # Texts were kept as a file can hold them: it is this run all the same.
    return replace(planned, identity=info.identity)
