"""Pages that are drawn inside the tests' own process."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """They load no model by themselves; a lab that a browser looks at has a process of its own."""
    monkeypatch.setattr("rubriclab.app.forms.trial.first_embedded", lambda _judges: None)
