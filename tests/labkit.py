"""Small studies and judges that tests of plan, store, runner and archive share."""

# ruff: noqa: ARG005  # scripts of judges share one signature
from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from rubriclab.judges import Asking
from rubriclab.model import (
    Call,
    Comparison,
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    Judgment,
    Reply,
    Rubric,
    ScoreOption,
    Strategy,
    Study,
)
from rubriclab.runs.runner import Opener
from rubriclab.study.plan import Plan


def criterion(n: int = 5, name: str = "quality") -> Criterion:
    return Criterion(name, tuple(ScoreOption(s, f"level {s}") for s in range(1, n + 1)))


def items(count: int, **more: Any) -> tuple[Item, ...]:
    return tuple(
        Item(f"i{k}", f"instruction {k}", f"response {k}", human=(float(k % 5 + 1),), **more) for k in range(count)
    )


def study(
    count: int = 3,
    *,
    judges: tuple[Judge, ...] = (Judge("sim", "simulated", "simulated"),),
    name: str = "small",
    n: int = 5,
    **design: Any,
) -> Study:
    return Study(
        name=name,
        dataset=Dataset("d", items(count)),
        judges=judges,
        rubric=Rubric("r", (criterion(n),)),
        design=Design(**design),
    )


def criteria_study(texts: int = 2, names: tuple[str, ...] = ("a", "b", "c")) -> Study:
    return Study(
        name="criteria",
        dataset=Dataset("d", items(texts)),
        judges=(Judge("sim", "simulated", "simulated"),),
        rubric=Rubric("r", tuple(criterion(5, name) for name in names)),
        design=Design(axis="criteria", strategies=(Strategy("balanced"),)),
    )


def pairs_study(count: int = 3) -> Study:
    pairs = tuple(
        Comparison(f"q{k}", (f"question {k}",), ("x", "y"), ((f"x says {k}",), (f"y says {k}",))) for k in range(count)
    )
    return Study(
        name="pairs",
        dataset=Dataset("p", pairs),
        judges=(Judge("sim", "simulated", "simulated"),),
        design=Design(axis="pairwise", strategies=(Strategy("balanced"),)),
    )


def answered(prepared: Plan, text: Callable[[Call], str] = lambda call: "3") -> list[Judgment]:
    """A judgment for each call of a plan, all replies made by ``text``."""
    return [
        prepared.read(call, Reply(text=text(call), tokens_in=9, tokens_out=1, model="m")) for call in prepared.calls()
    ]


class ScriptedJudge:
    """Answers by a script: ``script(call, nth)`` gives the nth reply to that call.

    ``asked`` counts calls by key, ``order`` lists keys as they came and ``calls`` the calls themselves, ``most``
    is the highest number of calls at once, ``closed`` how often it was closed.
    """

    def __init__(
        self, script: Callable[[Call, int], Reply] = lambda call, nth: Reply(text="3"), *, latency: float = 0.0
    ) -> None:
        self.script, self.latency = script, latency
        self.asked: Counter[str] = Counter()
        self.order: list[str] = []
        self.calls: list[Call] = []
        self.closed = 0
        self.now = self.most = 0

    async def ask(self, call: Call) -> Reply:
        nth = self.asked[call.key]
        self.asked[call.key] += 1
        self.order.append(call.key)
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

    @property
    def opener(self) -> Opener:
        def open_it(
            judge: Judge,
            about: Study,
            secrets: Mapping[str, str] | None,
            progress: Callable[[int, int, str], None] | None,
        ) -> Asking:
            del judge, about, secrets, progress
            return self

        return open_it


def failed(kind: str, *, retryable: bool = True, retry_after: float | None = None) -> Reply:
    return Reply(error=f"a planted {kind}", kind=kind, retryable=retryable, retry_after=retry_after, finish="error")
