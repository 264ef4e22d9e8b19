"""Give runs judges that answer by a script."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rubriclab.model.judgment import Call, Reply
from rubriclab.runs import runner
from rubriclab.runs.runner import Run, RunSnapshot

Script = Callable[[Call, int], Reply]
Scripted = Callable[..., "ScriptedJudge"]
"""Makes the judge that runs open from here on."""
WAIT = 60.0
"""For runs that end within a second or two, on a machine that has other things to do too."""


def failed(kind: str, *, retryable: bool = True, **more: Any) -> Reply:
    return Reply(finish="error", error=f"a planted {kind}", kind=kind, retryable=retryable, **more)


class ScriptedJudge:
    """``script(call, nth)`` gives the nth reply (from 0) to a call.

    ``asked`` counts calls by key, ``calls`` lists them as they came, ``most`` is the highest number
    at once.
    """

    def __init__(
        self, script: Script = lambda *_: Reply(text="3"), *, latency: float = 0.0
    ) -> None:
        self.script, self.latency = script, latency
        self.asked: Counter[str] = Counter()
        self.calls: list[Call] = []
        self.closed = self.now = self.most = 0

    async def ask(self, call: Call) -> Reply:
        nth = self.asked[call.key]
        self.asked[call.key] += 1
        self.calls.append(call)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.latency)
        finally:
            self.now -= 1
        return self.script(call, nth)

    async def close(self) -> None:
        self.closed += 1


def use(monkeypatch: pytest.MonkeyPatch, judge: Any, module: Any = runner, **others: Any) -> None:
    """Runs open ``judge`` from here on; ``others`` by the judges' names. A LabError is raised
    instead.
    """

    async def opened(settings: Any, **_: Any) -> Any:
        answer = others.get(settings.name, judge)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(module, "open_judge", opened)


def ended(run: Run) -> RunSnapshot:
    snapshot = run.start().wait(WAIT)
    assert not snapshot.active, snapshot
    return snapshot
