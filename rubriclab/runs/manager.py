"""The runs of one process over one store: started, gone on with, looked up."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from rubriclab.judges import check_running, check_settings
from rubriclab.judges.keys import require_consent
from rubriclab.model import Judge, LabError, Study
from rubriclab.model.language import SOURCE, language, speaking, tr
from rubriclab.runs.reuse import carry_over, known_answers
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import NO_LIMITS, Agenda, Limits
from rubriclab.store import RunInfo, Store
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import Plan, plan


def _fault(judge: Judge, secrets: Mapping[str, str] | None) -> LabError | None:
    """Why a judge cannot be used: by its settings, else by what its address answers."""
    try:
        check_settings(judge, secrets)
        check_running(judge, secrets)
    except LabError as fault:
        return fault
    return None


def settings_faults(judges: Iterable[Judge], secrets: Mapping[str, str] | None = None) -> dict[str, LabError]:
    """The judges, by name, that can be seen to be unusable, each with why."""
    faults = {}
    for judge in judges:
        try:
            check_settings(judge, secrets)
        except LabError as fault:
            faults[judge.name] = fault
    return faults


class RunManager:
    """The runs of this process over one store. Shared by all pages and sessions."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def start(
        self,
        study: Study,
        *,
        limits: Limits = NO_LIMITS,
        secrets: Mapping[str, str] | None = None,
        only_failed: bool = False,
        agenda: Agenda | None = None,
        about: Mapping[str, Any] | None = None,
        drop: Iterable[str] = (),
        restore: Iterable[str] = (),
        reuse: bool = False,
        not_from: Collection[str] = (),
    ) -> Run:
        """Start or go on with the run of a study; a run that is going is returned as it is.

        ``about``: what else a new run's provenance says, as JSON's values. ``drop`` and ``restore``: judges,
        by name, that are taken out of the run before it starts, and back into it. ``reuse``: what other runs have
        answered, but ``not_from``, is carried over and not asked again (see :mod:`rubriclab.runs.reuse`).

        Of several judges those that cannot be used wait with their reason while the others are asked.
        Raises LabError where all have wrong settings, ConsentNeeded where a key would go to an address that
        nobody here has said yes to, before anything is stored; a finished study needs no usable judge.
        """
        with speaking(SOURCE):  # its notes are stored
            prepared = plan(study)
        name = self.store.run_of(prepared.study)
        known = known_answers(self.store, prepared, name, not_from=not_from) if reuse else {}
        faulty = self._faulty(prepared, len(known), {*drop}, {*restore}, secrets)
        with self._lock:
            info = self.store.open_run(prepared, {**provenance(prepared), **(about or {})})
            going = self._runs.get(info.run)
            if going is not None and going.snapshot().active:
                return going
            self._take_out(info.run, drop, restore, faulty)
            carry_over(self.store, prepared, info.run, known)
            only = frozenset(self.store.failed_keys(info.run)) if only_failed else None
            run = Run(self.store, prepared, limits=limits, secrets=secrets, only=only, agenda=agenda, faulty=faulty)
            self._runs[info.run] = run
            return run.start()

    def _take_out(self, run: str, drop: Iterable[str], restore: Iterable[str], faulty: dict[str, str]) -> None:
        """Judges out of a run, with what is wrong with each (which then is no fault of the run's), and back into it."""
        for judge in restore:
            self.store.restore_judge(run, judge)
        for judge in drop:
            self.store.drop_judge(run, judge, faulty.pop(judge, ""))

    def _faulty(
        self, prepared: Plan, known: int, drop: set[str], restore: set[str], secrets: Mapping[str, str] | None
    ) -> dict[str, str]:
        """The judges of a run with calls left that cannot be used, each with its reason.

        ``known``: calls that need not be asked.
        """
        judges = prepared.study.judges
        if unknown := sorted((drop | restore) - {judge.name for judge in judges}):
            raise LabError(
                tr(
                    "The study has no judge “{name}”. Its judges: {judges}.",
                    name=unknown[0],
                    judges=", ".join(j.name for j in judges),
                )
            )
        info = self._kept(prepared)
        done, planned = (info.done, info.planned) if info is not None else (0, len(prepared))
        if done + known >= planned and not restore:
            return {}
        gone = drop | ({one.judge for one in info.dropped} - restore if info is not None else set())
        faults = settings_faults(judges, secrets)
        asked = [judge for judge in judges if judge.name not in gone]
        sound = [judge for judge in asked if judge.name not in faults]
        require_consent(sound, self.store)
        for judge in sound:
            try:
                check_running(judge, secrets)
            except LabError as fault:
                faults[judge.name] = fault
        if asked and all(judge.name in faults for judge in asked):
            raise faults[asked[0].name]
        if language() == SOURCE:
            return {name: str(fault) for name, fault in faults.items()}
        with speaking(SOURCE):  # reasons are kept with the run, whoever reads them
            again = {judge.name: _fault(judge, secrets) for judge in asked if judge.name in faults}
        return {name: str(fault) for name, fault in again.items() if fault is not None}

    def _kept(self, prepared: Plan) -> RunInfo | None:
        run = self.store.run_of(prepared.study)
        return next((info for info in self.store.runs(deleted=True) if info.run == run), None)

    def drop(self, name: str, judge: str) -> None:
        """Take a judge out of a run, be it going or not; what it judged stays."""
        going = self._runs.get(name)
        if going is not None:
            going.drop(judge)
        else:
            self.store.drop_judge(name, judge)

    def go_on(self, name: str, **options: object) -> Run:
        """Go on with a run of the store by its name (see :meth:`start` for options)."""
        return self.start(self.store.study(name), **options)  # type: ignore[arg-type]

    def restore(self, name: str, judge: str) -> None:
        """Take a dropped judge back into a run that is not going; going on asks what it was not asked."""
        going = self._runs.get(name)
        if going is not None and going.snapshot().active:
            raise LabError(
                tr(
                    "“{name}” is being asked just now. Take “{judge}” back once it has ended or is paused.",
                    name=name,
                    judge=judge,
                )
            )
        self.store.restore_judge(name, judge)

    def delete(self, name: str) -> None:
        """Delete a run so that it can be restored. Raises LabError for one that is going."""
        with self._lock:  # none starts meanwhile
            going = self._runs.get(name)
            if going is not None and going.snapshot().active:
                raise LabError(
                    tr("“{name}” is being asked just now. Pause or cancel it first, then delete it.", name=name)
                )
            self.store.discard_run(name)

    def rename(self, name: str, title: str) -> None:
        """Give a run a title, as ``Store.rename_run`` does; while it is asked, it shows it at once."""
        self.store.rename_run(name, title)
        if (known := self._runs.get(name)) is not None:
            known.info = replace(known.info, name=self.store.run(name).name)

    def get(self, name: str) -> Run | None:
        return self._runs.get(name)

    def active(self) -> tuple[Run, ...]:
        return tuple(run for run in self._runs.values() if run.snapshot().active)
