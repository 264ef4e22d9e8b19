"""A judge's settings in, an open judge out: one entry a kind."""

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from rubriclab.judges.weights import Progress
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.data import Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import validated
from rubriclab.model.text import shorten

T = TypeVar("T")
Functions = Mapping[str, Callable[..., Any]]
"""By judges' names: the own code that a notebook hands over."""


class Asker(Protocol):
    """An open judge; made, asked and closed in one event loop. One that answers several calls about
    one answer in one request has ``ask_together(calls) -> list[Reply]`` besides. One behind servers
    may say which of them do not answer (``trouble``), and what they refuse and are sent otherwise
    (``adaptations``, a list of words).
    """

    async def ask(self, call: Call) -> Reply:
        """One attempt. Never raises for a fault of a call: that is a Reply with ``error`` and
        ``kind``.
        """

    async def close(self) -> None:
        """Let go of connections and servers; safe to call twice."""


_NAMED = re.compile(
    r"(?:(embedded|vllm|openai|decisions|simulated):)?((?:(?!https?://).)*?)@?(https?://\S+)?"
)


def judge_named(text: str, key_env: str | None = None) -> JudgeSettings:
    """A judge by what a command line calls it: a model of the lab, KIND:MODEL, MODEL@URL or a URL.
    Raises LabError.
    """
    match = _NAMED.fullmatch(text)
    kind, model, address = match.groups() if match else (None, text, None)
    kind = kind or ("openai" if address else "embedded")
    values: dict[str, Any] = {
        "name": (model or text)[:100],
        "kind": kind,
        "model": model or text,
        "key_env": key_env,
    }
    values["base_urls"] = [address] if address else []
    return validated(JudgeSettings, values, f"--judge {shorten(text)}: ")


async def open_judge(
    settings: JudgeSettings,
    *,
    secrets: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    rubric: Rubric | None = None,
    items: Sequence[Item] = (),
    function: Callable[..., Any] | None = None,
    consents: Consents = NO_CONSENTS,
) -> Asker:
    """An open judge; call it inside the event loop that will ask it, and ``close`` it there.

    ``secrets``: keys by variable name, looked up before the environment; ``progress``: while
    weights are fetched; ``rubric``: what a simulated judge may look at; ``items``: the run's, for a
    judge that is own code, and ``function``: that code where a notebook hands it over;
    ``consents``: which key may go to which address. Raises LabError for settings that can never
    work (no address, a key that is not set, an unknown model or option) and for weights that cannot
    be had.
    """
    if settings.kind == "embedded" or (
        settings.kind == "decisions" and settings.options.get("path")
    ):
        from rubriclab.judges.embedded import EmbeddedJudge

        return await EmbeddedJudge.open(settings, progress=progress)
    if settings.kind == "python":
        from rubriclab.judges.python import PythonJudge

        return PythonJudge(settings, items, secrets, function, consents)
    if settings.kind == "simulated":
        from rubriclab.judges.simulated import SimulatedJudge

        return SimulatedJudge(settings, rubric)
    settings = settings.model_copy(update={"base_urls": settings.addresses})
    if settings.kind == "decisions":
        from rubriclab.judges.decision_server import DecisionClient

        return DecisionClient(settings, secrets=secrets, consents=consents)
    from rubriclab.judges.client import ChatClient

    return ChatClient(settings, secrets=secrets, consents=consents)


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, run in a thread of its own: the caller may stand in an event loop
    (a notebook).
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(work()))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(
        target=run, daemon=True
    ).start()  # not waited for where Ctrl-C ends the program
    return done.result()
