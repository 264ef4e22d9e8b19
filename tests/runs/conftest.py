"""Make a store in memory, and judges that answer by a script."""

from collections.abc import Iterator
from typing import Any

import pytest

from rubriclab.store.store import Store
from tests.runs.kit import Scripted, ScriptedJudge, use


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        yield opened


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    def made(*script: Any, **options: Any) -> ScriptedJudge:
        judge = ScriptedJudge(*script, **options)
        use(monkeypatch, judge)
        return judge

    return made
