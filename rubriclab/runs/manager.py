"""Start, resume and find the runs of this process, for every page and visitor."""

import atexit
import threading
import time
from dataclasses import replace
from typing import Any

from rubriclab.judges.python import code_folder, with_code
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.looks import RunLooks
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, count, shorten
from rubriclab.runs.loading import Folder, rubric_of_part, wordings_of
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan, plan

GRACE_SECONDS = 10.0
"""Longest wait (s) for replies in flight when the process ends. Most replies come sooner, and what
comes later is asked again."""


class RunManager:
    """The runs that were started in this process, by their IDs. Threads may share it.

    When the process ends they are paused, and replies in flight get GRACE_SECONDS to come.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._runs: dict[str, Run] = {}
        # Held while a run is made: two clicks on Launch must not make two sessions of one run.
        self._lock = threading.Lock()
        _managers.append(self)

    def start(self, planned: Plan, **limits: Any) -> Run:
        """Start the run of a plan, or resume it. One that is going is returned as it is.

        ``limits``: what ``Run`` takes. Raises LabError, before anything is kept, if no judge can be
        opened.
        """
        with self._lock:
            for going in self.running():
                if going.plan.identity == planned.identity:
                    return going
            run = Run(self.store, planned, **limits)
            self._runs[run.id] = run
            return run.start()

    def resume(self, id: str, **limits: Any) -> Run:
        """Resume a run of the store; ``limits`` as for ``start``.

        Raises LabError for an import that has no calls, would run its own code, or holds what its
        own plan would not ask; and NoConsent if a key would go to an address that nobody has agreed
        to.
        """
        going = self.get(id)
        if going is not None and going.active:
            return going
        planned = plan_of_run(self.store, id)
        refuse_other_versions(self.store, id, planned)
        imported = self.store.imported(id)
        if imported:
            refuse_misfit(self.store, id, planned)
        else:
            # It may have been stopped while it took over another run's replies. An import names no
            # run of this store.
            other = self.store.made_with(id).get("answers_of")
            if other:
                limits = {"known": (self.store, other)} | limits
        judges = [_with_own_code(judge, trust=not imported) for judge in planned.study.judges]
        study = planned.study.model_copy(update={"judges": tuple(judges)})
        return self.start(replace(planned, study=study), **limits)

    def get(self, id: str) -> Run | None:
        """Return the run with that ID, going or over, if it was started in this process."""
        return self._runs.get(id)

    def running(self) -> list[Run]:
        """Return the runs that are going now, in the order in which they were started."""
        return [run for run in tuple(self._runs.values()) if run.active]

    def stop_all(self, seconds: float = GRACE_SECONDS) -> None:
        """Pause all runs and wait for their replies in flight, ``seconds`` at most."""
        running = self.running()
        for run in running:
            run.pause("the lab was ended")
        until = time.monotonic() + seconds
        for run in running:
            run.wait(max(0.0, until - time.monotonic()))


def _with_own_code(judge: JudgeSettings, *, trust: bool) -> JudgeSettings:
    """Return the judge, with its code read and checked if it is own code.

    An import's code is never trusted: it came with a stranger's file.
    """
    if judge.about.runs_code:
        return with_code(judge, code_folder() or "", trust=trust)
    return judge


_managers: list[RunManager] = []


@atexit.register
def stop_everything() -> None:
    """Pause what this process asks, as it ends.

    It ends by itself, or by a signal that lets no exit handler run; the page's frame calls this
    then.
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
                f"other one to continue this run, or start a new run."
            )


def misfit(store: Store, id: str, planned: Plan) -> str:
    """Return why an imported run does not fit its own plan; empty if it does.

    To resume such a run would mix judgments of two studies, and count more calls than are planned.
    """
    table = store.table(id)
    if not same_items(table, planned):
        return "its answers differ from those of its study"
    # Without the data set: it is named after the run that it was imported with.
    given = [replace(condition, dataset="") for condition in table.conditions]
    own = [replace(condition, dataset="") for condition in planned.conditions]
    if given != own or tuple(table.planned) != tuple(map(int, planned.planned)):
        return "its conditions differ from those of its study"
    if _looks_by_axis(table.looks) != _looks_by_axis(planned.looks):
        return "its looks differ from those of its study"
    foreign = store.final_keys(id) - {call.key for call in planned.calls()}
    if foreign:
        return f"{count(len(foreign), 'call')} in it would never be asked by its study"
    return ""


def same_items(table: JudgmentTable, planned: Plan) -> bool:
    """Return whether a plan that was made again from an import asks about the same items.

    Of pairs and lists it does not: their answers are kept as they were compared.
    """
    items = planned.items_frame()
    return len(items) == len(table.items) and all(
        list(items[name]) == list(table.items[name]) for name in ("item_id", "criterion")
    )


def _looks_by_axis(looks: RunLooks | None) -> object:
    """Return what makes up a run's looks, without the name of its data set."""
    if looks is None:
        return None
    scopes = [(reorder, own.units, dict(own.batch)) for (_, reorder), own in looks.scopes.items()]
    return looks.stop, scopes, looks.planned


def refuse_misfit(store: Store, id: str, planned: Plan) -> None:
    """Raise LabError if an imported run does not fit its own plan."""
    why = misfit(store, id, planned)
    if why:
        raise LabError(
            f"“{shorten(store.run(id).name)}” was imported and does not fit its own plan ({why}), "
            "so it cannot go on. You can read its results. To ask its study, set up a run of your "
            "own."
        )


def plan_of_run(store: Store, id: str) -> Plan:
    """Return the plan that a run was made from, made again from what the store kept.

    Raises LabError for an import, which has no calls, and for a run whose data set is gone.
    """
    info = store.run(id)
    name = shorten(info.name)
    body = store.study(info.id)
    if not info.dataset or not body.get("judges"):
        raise LabError(f"“{name}” was imported: there are no calls to ask. Set up a run instead.")
    study = validated(Study, body, f"The study of “{name}” cannot be planned again: ")
    datasets = info.dataset.split()
    if len(datasets) != len(study.data):
        raise LabError(
            f"“{name}” was imported with its {len(study.data)} data sets in one, so it cannot be "
            "planned again. You can read its results."
        )
    rubrics = [rubric_of_part(study, number, Folder()) for number in range(len(study.data))]
    first, *more = zip(map(store.dataset, datasets), rubrics, strict=True)
    planned = plan(study, *first, more, wordings_of(study, Folder()))
    # Texts are kept as a file can hold them (no lone surrogates), which may change the hash. It is
    # this run all the same.
    return replace(planned, identity=info.identity)
