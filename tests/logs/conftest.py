"""One reading process for all tests of logs: each log of the lab has its own, which takes most of a second to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rubriclab.data.worker import Worker
from rubriclab.logs import log


@pytest.fixture(autouse=True, scope="module")
def shared_worker() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        made: list[Worker] = []

        def shared(*arguments: Any, **more: Any) -> Worker:
            made[:] = made or [Worker(*arguments, **more)]
            made[0].close = lambda: None  # type: ignore[method-assign]
            return made[0]

        patch.setattr(log, "Worker", shared)
        yield
        for worker in made:
            Worker.close(worker)
