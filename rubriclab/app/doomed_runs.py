"""Delete runs when their visitor leaves the page, so that a deletion can be undone until then.

Until then the run is in the store as it was. It is deleted when the visit opens another page, or
has ended, or the lab is stopped: a run that somebody deleted does not come back by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rubriclab.model.text import LabError

_lock = threading.Lock()
_doomed: dict[tuple[Path, str], str] = {}
"""The visit that deleted a run, by the store's file and the run's id."""


def doom(store: Path, run_id: str) -> None:
    """Mark a run to be deleted when this visit leaves the page."""
    with _lock:
        _doomed[store, run_id] = _visit()


def spare(store: Path) -> None:
    """Take back all that this visit has deleted and is not gone yet."""
    with _lock:
        for key in [key for key, visit in _doomed.items() if key[0] == store]:
            if _doomed[key] == _visit():
                del _doomed[key]


def of_this_visit(store: Path) -> frozenset[str]:
    """Return the runs that this visit has deleted and may still take back."""
    return frozenset(
        run_id for (path, run_id), visit in _doomed.items() if path == store and visit == _visit()
    )


def waiting() -> bool:
    """Return whether any run is to be deleted."""
    return bool(_doomed)


def sweep(store: Path, delete: Callable[[str], None], *, leaves: bool, ends: bool = False) -> None:
    """Delete the marked runs of a store whose visit has ended.

    ``leaves``: this visit opens another page, so its own go too. ``ends``: the lab stops, so all
    go.
    """
    with _lock:
        due = [
            key
            for key, visit in _doomed.items()
            if key[0] == store
            and (ends or (leaves and visit == _visit()) or (visit != _visit() and not _open(visit)))
        ]
        for key in due:
            del _doomed[key]
    for _, run_id in due:
        with suppress(LabError):  # it runs again, or is gone already
            delete(run_id)


def _visit() -> str:
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def _open(visit: str) -> bool:
    return runtime.exists() and runtime.get_instance().is_active_session(visit)
