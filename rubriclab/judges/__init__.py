"""Judges: one OpenAI-compatible client; embedded, vLLM and simulated judges behind one door."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rubriclab.judges.base import Asking
from rubriclab.model import Judge, Study

__all__ = ["Asking", "open_judge"]


def open_judge(
    judge: Judge,
    study: Study,
    secrets: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Asking:
    """The judge, ready to be asked; to be called inside the event loop that will ask it.

    May take as long as loading a model does. Raises LabError, saying what to do, where the
    judge cannot be had: no weights, no key, no address. ``secrets`` are looked up before the
    environment; ``progress`` hears (bytes so far, bytes in all) while weights are fetched.
    """
    if judge.kind == "simulated":
        from rubriclab.judges.simulated import SimulatedJudge

        return SimulatedJudge(judge, study)
    if judge.kind == "embedded":
        from rubriclab.judges.embedded import EmbeddedJudge

        return EmbeddedJudge(judge, progress=progress)
    from rubriclab.judges.client import ChatClient

    return ChatClient(judge, secrets=secrets)
