"""What the tests of pages share: no model loads by itself, and one browser a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.lab import browser_page


@pytest.fixture(autouse=True)
def _no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """They load no model by themselves; a lab that a browser looks at has a process of its own."""
    monkeypatch.setattr("rubriclab.app.forms.trial.first_embedded", lambda _judges: None)


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    """A browser's page that the tests of a module look through one after the other."""
    with browser_page() as shared:
        yield shared
