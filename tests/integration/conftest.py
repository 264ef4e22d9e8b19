"""Share one browser among the tests of a module; each test starts with a fresh page."""

from collections.abc import Iterator

import pytest

from tests.integration.lab import Browser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as pages:
        yield pages
