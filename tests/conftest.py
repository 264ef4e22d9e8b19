"""What all tests share: generated examples have no deadline, for no test asserts a time; logs are
read by one process.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from rubriclab.data.worker import Worker
from rubriclab.logs import log

settings.register_profile("lab", deadline=None, derandomize=True)
settings.load_profile("lab")


class Kept(Worker):
    """A process that outlives those who close it."""

    def close(self) -> None:
        """Not before the tests are over."""


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The secret that seals consents lies in a folder of the tests, not in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def shared_worker() -> Iterator[None]:
    """Each log of the lab is read by a process of its own, which takes most of a second to
    start.
    """
    with pytest.MonkeyPatch.context() as patch:
        made: list[Kept] = []

        def shared(*arguments: Any, **more: Any) -> Worker:
            made[:] = made or [Kept(*arguments, **more)]
            return made[0]

        patch.setattr(log, "Worker", shared)
        yield
        for worker in made:
            Worker.close(worker)
