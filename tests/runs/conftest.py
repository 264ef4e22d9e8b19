"""A store in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rubriclab.store.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        yield opened
