"""One browser for all tests of a module: each starts on a page without a past."""

from collections.abc import Iterator

import pytest

from tests.integration.lab import Browser, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as pages:
        yield pages
