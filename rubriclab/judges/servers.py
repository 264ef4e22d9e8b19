"""Where a judge can be asked: programs that serve models on this machine, and large providers.

The addresses are data (``servers.toml``). Those of this machine are looked at, all at once and for
a moment; a provider is never called from here.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import aiohttp

from rubriclab.judges.base import in_own_thread
from rubriclab.judges.bounded import TooLarge, load_json
from rubriclab.judges.serving import local_only
from rubriclab.judges.vllm import models_of
from rubriclab.judges.wire import Damaged, fetch
from rubriclab.model import Judge, JudgeKind, LabError
from rubriclab.model.language import tr

LOOK_SECONDS = 0.3
"""For each address. A server of this machine that is up answers in a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A usual address. ``owners``: what such a program calls the owner of its models."""

    name: str
    base_url: str
    key_env: str = ""
    owners: tuple[str, ...] = ()
    kind: JudgeKind = "openai"

    def judge(self, model: str) -> Judge:
        """A judge of one of its models."""
        return Judge(model, self.kind, model, (self.base_url,), key_env=self.key_env or None)


@dataclass(frozen=True, slots=True)
class Found:
    """What was there at a usual address of this machine.

    ``state``: ``ready`` (it lists models), ``empty`` (it speaks the protocol and has none), ``key``
    (it asks for a key), ``other`` (something that does not speak the protocol), ``nothing``.
    ``program``: whose server it is by its own words; empty where it does not say. ``about`` says all
    of it in one sentence.
    """

    preset: Preset
    state: Literal["ready", "empty", "key", "other", "nothing"]
    about: str
    models: tuple[str, ...] = ()
    program: str = ""

    def judge(self, model: str) -> Judge:
        """A judge of one of its models; of the kind of the program that answers, not of the address."""
        kind: JudgeKind = "vllm" if self.program == "vLLM" else "openai"
        return Judge(model, kind, model, (self.preset.base_url,))


@cache
def _table() -> dict[str, tuple[Preset, ...]]:
    text = Path(__file__).with_name("servers.toml").read_text(encoding="utf-8")
    return {
        part: tuple(Preset(**{**entry, "owners": tuple(entry.get("owners", ()))}) for entry in entries)
        for part, entries in tomllib.loads(text).items()
    }


def local_servers() -> tuple[Preset, ...]:
    """The usual addresses of this machine."""
    return _table()["local"]


def providers() -> tuple[Preset, ...]:
    """The large providers that speak the OpenAI protocol, with the usual names of their keys."""
    return _table()["providers"]


def find_servers(presets: Sequence[Preset] | None = None) -> tuple[Found, ...]:
    """What is at each address (the usual ones of this machine), in their order; LOOK_SECONDS in all.

    Raises LabError in a served lab, whose visitors have no business on this machine.
    """
    local_only(tr("Looking for servers on this machine"))
    looked_at = local_servers() if presets is None else presets

    async def look() -> list[Found]:
        return await asyncio.gather(*map(_look, looked_at))

    return tuple(in_own_thread(look))


async def _look(preset: Preset) -> Found:
    where = f"{preset.name}, {preset.base_url}"
    try:
        status, body = await fetch(f"{preset.base_url}/models", timeout=LOOK_SECONDS, own=True)
    except TimeoutError:
        return Found(
            preset, "nothing", tr("{where}: no answer within {seconds:g} s.", where=where, seconds=LOOK_SECONDS)
        )
    except aiohttp.ClientConnectorError:
        return Found(preset, "nothing", tr("{where}: nothing listens there.", where=where))
    except (LabError, TooLarge, Damaged, aiohttp.ClientError, OSError) as fault:
        return _other(preset, tr("it does not answer as a web server does ({name})", name=type(fault).__name__))
    if status in (401, 403):
        return Found(
            preset,
            "key",
            tr("{where}: a server answers and asks for a key (HTTP {status}).", where=where, status=status),
        )
    if not 200 <= status < 300:
        return _other(preset, tr("it has no list of models (HTTP {status})", status=status))
    try:
        listed = load_json(body)
    except ValueError:
        return _other(preset, tr("its list of models is no JSON"))
    return _listed(preset, listed)


def _other(preset: Preset, why: str) -> Found:
    return Found(
        preset,
        "other",
        tr(
            "{base_url}, the usual address of {name}: something else answers there, {why}.",
            base_url=preset.base_url,
            name=preset.name,
            why=why,
        ),
    )


def _listed(preset: Preset, listed: Any) -> Found:
    known = isinstance(listed, dict) and "data" in listed and isinstance(listed["data"], list | None)
    if not known:  # Ollama without a model has null there
        return _other(preset, tr("its list of models has another form"))
    models = models_of(listed)
    names = tuple(model.name for model in models)
    owners = {model.owner.lower() for model in models}
    program = next((one.name for one in local_servers() if owners & set(one.owners)), "")
    # Some list whose a model is, not which program serves it: then only the address speaks.
    if program and program != preset.name:
        who = tr(
            "{base_url}, the usual address of {name}: {program} answers there",
            base_url=preset.base_url,
            name=preset.name,
            program=program,
        )
    else:
        who = f"{preset.name}, {preset.base_url}"
    if not names:
        return Found(preset, "empty", tr("{who}: a server answers and has no model loaded.", who=who), program=program)
    shown = ", ".join(names[:4]) + (tr(" and {n:,} more", n=len(names) - 4) if len(names) > 4 else "")
    return Found(preset, "ready", f"{who}: {shown}.", names, program)
