"""A judge's settings in, an open judge out: one entry a kind, and what forms say of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rubriclab.model.data import Rubric
from rubriclab.model.judge import JudgeKind, JudgeSettings
from rubriclab.model.judgment import Call, Reply

Progress = Callable[[int, int, str], None]
"""Called with bytes so far, bytes in all, and from where in words; several times a second."""


class Asker(Protocol):
    """An open judge; made, asked and closed in one event loop."""

    async def ask(self, call: Call) -> Reply:
        """One attempt. Never raises for a fault of a call: that is a Reply with ``error`` and ``kind``."""

    async def close(self) -> None:
        """Let go of connections and servers; safe to call twice."""


@dataclass(frozen=True)
class Opening:
    """What a kind may need to open a judge."""

    settings: JudgeSettings
    secrets: Mapping[str, str] | None
    progress: Progress | None
    rubric: Rubric | None


async def open_embedded(opening: Opening) -> Asker:
    from rubriclab.judges.embedded import EmbeddedJudge

    return await EmbeddedJudge.open(opening.settings, progress=opening.progress)


async def open_server(opening: Opening) -> Asker:
    from rubriclab.judges.client import ChatClient

    return ChatClient(opening.settings, secrets=opening.secrets)


async def open_simulated(opening: Opening) -> Asker:
    from rubriclab.judges.simulated import SimulatedJudge

    return SimulatedJudge(opening.settings, opening.rubric)


@dataclass(frozen=True)
class KindAbout:
    """A kind of judge. ``address``: the usual one, empty where a kind needs none; ``local``: no text leaves the machine."""

    title: str
    caption: str
    open: Callable[[Opening], Awaitable[Asker]]
    address: str = ""
    local: bool = False


KINDS: dict[JudgeKind, KindAbout] = {
    "embedded": KindAbout(
        "The lab's small model", "Runs inside the lab: no key, no GPU, no server.", open_embedded, local=True
    ),
    "vllm": KindAbout(
        "vLLM", "A vLLM server, found or started here.", open_server, "http://127.0.0.1:8000/v1", local=True
    ),
    "openai": KindAbout(
        "API or server", "Any server that speaks the OpenAI protocol.", open_server, "https://api.openai.com/v1"
    ),
    "simulated": KindAbout("Simulated", "No model: planted effects, to try the lab out.", open_simulated, local=True),
}


async def open_judge(
    settings: JudgeSettings,
    *,
    secrets: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    rubric: Rubric | None = None,
) -> Asker:
    """An open judge; call it inside the event loop that will ask it, and ``close`` it there.

    ``secrets``: keys by variable name, looked up before the environment; ``progress``: while weights are fetched;
    ``rubric``: what a simulated judge may look at. Raises LabError for settings that can never work (no address, a key
    that is not set, an unknown model or option) and for weights that cannot be had.
    """
    about = KINDS[settings.kind]
    if about.address and not settings.base_urls:
        settings = settings.model_copy(update={"base_urls": (about.address,)})
    return await about.open(Opening(settings, secrets, progress, rubric))
