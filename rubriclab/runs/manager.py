"""The runs of one process over one store: started, gone on with, looked up."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from rubriclab.judges import check_running, check_settings
from rubriclab.judges.keys import require_consent
from rubriclab.model import Study
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import NO_LIMITS, Agenda, Limits
from rubriclab.store import Store, run_name
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import Plan, plan


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
    ) -> Run:
        """Start or go on with the run of a study; a run that is going is returned as it is.

        ``about``: what else a new run's provenance says, as JSON's values.

        Raises LabError for wrong settings, ConsentNeeded where a key would go to an address
        that nobody here has said yes to, before anything is stored; a finished study needs
        no usable judge, since it asks nothing.
        """
        prepared = plan(study)
        if not self._complete(prepared):
            for judge in study.judges:
                check_settings(judge, secrets)
            require_consent(study.judges, self.store)
            for judge in study.judges:
                check_running(judge, secrets)
        with self._lock:
            info = self.store.open_run(prepared, {**provenance(prepared), **(about or {})})
            going = self._runs.get(info.run)
            if going is not None and going.snapshot().active:
                return going
            only = frozenset(self.store.failed_keys(info.run)) if only_failed else None
            run = Run(self.store, prepared, limits=limits, secrets=secrets, only=only, agenda=agenda)
            self._runs[info.run] = run
            return run.start()

    def _complete(self, prepared: Plan) -> bool:
        run = run_name(prepared.study)
        return any(info.run == run and info.done >= len(prepared) for info in self.store.runs())

    def go_on(self, name: str, **options: object) -> Run:
        """Go on with a run of the store by its name (see :meth:`start` for options)."""
        return self.start(self.store.study(name), **options)  # type: ignore[arg-type]

    def get(self, name: str) -> Run | None:
        return self._runs.get(name)

    def active(self) -> tuple[Run, ...]:
        return tuple(run for run in self._runs.values() if run.snapshot().active)
