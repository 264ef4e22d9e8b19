"""Find servers on this machine, list the models of a server, and test a judge.

All functions here block; they may be called from a page, a command or a notebook.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rubriclab.judges.client import base_url, same_model
from rubriclab.judges.decision_server import PATHS
from rubriclab.judges.faults import Fault, advised
from rubriclab.judges.keys import key_to_send
from rubriclab.judges.kinds import in_thread, open_judge
from rubriclab.judges.rungs import Rung, ladder
from rubriclab.judges.served import served
from rubriclab.judges.transport import fetch, host_of
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Ordering, Reply
from rubriclab.model.text import LabError, shorten

LOCAL = {
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "Ollama": "http://127.0.0.1:11434/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
    "SGLang": "http://127.0.0.1:30000/v1",
}
"""The usual addresses of programs that serve models."""
OWNERS = {"vllm": "vLLM", "llamacpp": "llama.cpp", "library": "Ollama", "sglang": "SGLang"}
"""The name of each program, by what it calls the owner of its models."""
LOOK_SECONDS = 0.3
"""How long a usual address may take: a server on this machine answers in a few milliseconds."""
ANSWER_SECONDS = 5.0
"""How long an address may take that the user has given."""
MODELS_SHOWN = 8
"""How many of a server's models an error lists."""
TEST_TOKENS = 1_024
"""Room for the reply of a judge that reasons first. Another one stops after the number."""
SMALL_TOKENS = 4
"""Room for the reply of the small model, which would go on writing after the number."""
QUESTION = (
    "How good is this answer to “What is 2 + 2?”, on a scale from 1 (wrong) to 5 "
    "(right)?\n\nAnswer: 4\n\n"
    "Reply with one number only."
)


@dataclass(frozen=True)
class FoundServer:
    """A server that answers on this machine.

    program: its name as the server says it, else as the address suggests it.
    """

    base_url: str
    models: tuple[str, ...]
    program: str

    @property
    def kind(self) -> str:
        """The kind of judge that asks such a server."""
        return "vllm" if self.program == "vLLM" else "openai"


@dataclass(frozen=True)
class JudgeReport:
    """What a few calls of a judge showed.

    score: the number in the reply; None if there is none, or more than one.
    probabilities: whether the server gives token probabilities.
    error: what happened and what to do; empty if the judge replied.
    rungs: what the server did with each constraint.
    adaptations: sentences about what the server refused and what it is sent instead.
    """

    reply: Reply
    score: float | None
    probabilities: bool
    error: str
    rungs: tuple[Rung, ...] = ()
    adaptations: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the judge replied."""
        return not self.error

    def sentence(self) -> str:
        """Return the report as text."""
        if self.error:
            return self.error
        said = shorten(self.reply.text, 200) or "nothing"
        sentences = [f"It answered in {self.reply.seconds:.1f} s: “{said}”"]
        if self.score is None:
            sentences.append("No score could be read from it.")
        else:
            sentences.append(f"Score read: {self.score:g}.")
        given = "gives" if self.probabilities else "gives no"
        sentences.append(f"It {given} token probabilities.")
        sentences += [f"{words[0].upper()}{words[1:]}." for words in self.adaptations]
        return " ".join([*sentences, *self._constraints()])

    def _constraints(self) -> list[str]:
        """Say which constraints the server holds, and why it does not hold the others."""
        if not self.rungs:
            return []
        held = [f'"{rung.rung}"' for rung in self.rungs if rung.held]
        sentences = ["It holds no constraint."]
        if held:
            sentences = [f"It holds constrain = {' and '.join(held)}."]
        return sentences + [f"{rung.sentence()}." for rung in self.rungs if not rung.held]

    def document(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return {
            "ok": self.ok,
            "error": self.error or None,
            "text": self.reply.text,
            "score": self.score,
            "seconds": round(self.reply.seconds, 3),
            "probabilities": self.probabilities,
            "model": self.reply.model,
            "constraints": {rung.rung: rung.word for rung in self.rungs},
            "adaptations": list(self.adaptations),
        }


def find_servers(addresses: Mapping[str, str] = LOCAL) -> list[FoundServer]:
    """Return the servers that list models at the usual addresses of this machine.

    All addresses are asked at once, so this takes LOOK_SECONDS. Raises LabError in a lab that is
    served to others: its visitors may not look around on its machine.
    """
    if served():
        raise LabError(
            "This lab is served to others, so it does not look for servers on its own machine. "
            "Give the server's address under API or server."
        )

    async def look(program: str, address: str) -> FoundServer | None:
        try:
            models = await listed(address, timeout=LOOK_SECONDS)
        except Fault:
            return None
        owners = {OWNERS[owner] for _, owner in models if owner in OWNERS}
        names = tuple(name for name, _ in models)
        return FoundServer(address, names, min(owners, default=program)) if names else None

    async def look_everywhere() -> list[FoundServer | None]:
        return await asyncio.gather(
            *(look(program, address) for program, address in addresses.items())
        )

    return [server for server in in_thread(look_everywhere) if server is not None]


def key_for(
    url: str,
    key_env: str | None,
    consents: Consents,
    secrets: Mapping[str, str] | None = None,
) -> str | None:
    """Return the key that may go to this base URL.

    Raises LabError, and NoConsent if nobody has agreed that the key goes there.
    """
    name = (host_of(url) or "server")[:100]
    settings = JudgeSettings(name=name, kind="openai", base_urls=(url,), key_env=key_env)
    return key_to_send(settings, secrets, consents)


def models_of(
    address: str,
    *,
    key_env: str | None = None,
    consents: Consents = NO_CONSENTS,
    secrets: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the names of the models at a base URL. Raises LabError if it lists none."""
    url = base_url(address)
    key = key_for(url, key_env, consents, secrets)
    try:
        models = in_thread(
            lambda: listed(url, key=key, timeout=ANSWER_SECONDS, inward=not served())
        )
    except Fault as error:
        raise LabError(f"{host_of(url)}: {advised(error.message, error.kind)}") from error
    if not models:
        raise LabError(
            f"The server at {host_of(url)} offers no models. Load a model and try again."
        )
    return [name for name, _ in models]


async def listed(
    url: str, *, key: str | None = None, timeout: float, inward: bool = True
) -> list[tuple[str, str]]:
    """Return (name, owner) of every model of a ``/models`` page. Raises Fault.

    Empty if the page is not a list of models.
    """
    body = await fetch(f"{url}/models", key=key, timeout=timeout, inward=inward)
    try:
        page = msgspec.json.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return []
    entries = page.get("data") if isinstance(page, dict) else None
    if not isinstance(entries, list):
        return []
    models = []
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            models.append((entry["id"], str(entry.get("owned_by") or "").lower()))
    return models


def decision_forms(
    address: str,
    *,
    key_env: str | None = None,
    consents: Consents = NO_CONSENTS,
    secrets: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the forms in which a base URL takes typed questions, without asking any.

    A GET shows it: an address that exists refuses the method, another one is not found.
    """
    url = base_url(address)
    key = key_for(url, key_env, consents, secrets)

    async def there(form: str) -> bool:
        try:
            await fetch(url + PATHS[form], key=key, timeout=ANSWER_SECONDS, inward=not served())
        except Fault as fault:
            return fault.kind in ("bad_request", "not_answered")
        return False  # a page that answers a GET is no endpoint of ours

    async def every_form() -> list[bool]:
        return await asyncio.gather(*map(there, PATHS))

    return [form for form, known in zip(PATHS, in_thread(every_form), strict=True) if known]


def test_judge(
    settings: JudgeSettings,
    consents: Consents = NO_CONSENTS,  # noqa: PT028 - it is no test
    secrets: Mapping[str, str] | None = None,  # noqa: PT028
) -> JudgeReport:
    """Ask a judge one small question, then try each constraint, through the client of a run.

    Raises LabError for settings that can never work (no key, no address). A fault of the call is in
    the report.
    """
    call = _test_call(settings)

    async def ask() -> tuple[Reply, list[Rung], list[str]]:
        asker = await open_judge(settings, secrets=secrets, consents=consents)
        try:
            answer = await asker.ask(call)
            rungs = [] if answer.error else await ladder(settings, asker)
            return answer, rungs, list(getattr(asker, "adaptations", ()))
        finally:
            await asker.close()

    reply, rungs, adaptations = in_thread(ask)
    error = advised(reply.error, reply.kind) if reply.error else ""
    if reply.kind in ("not_found", "wrong_model") and settings.about.chat:
        error += models_hint(settings, consents, secrets)
    score = None if reply.error else _only_number(reply.text)
    return JudgeReport(reply, score, bool(reply.top), error, tuple(rungs), tuple(adaptations))


test_judge.__test__ = False  # type: ignore[attr-defined]  # keeps pytest from collecting it


def _only_number(text: str) -> float | None:
    """Return the number in a reply after its reasoning; None for no number or several."""
    numbers = set(re.findall(r"(?<![\d.])\d+(?![\d.]*\d)", text.rpartition("</think>")[2]))
    if len(numbers) != 1:
        return None
    return float(numbers.pop())


def _test_call(settings: JudgeSettings) -> Call:
    """Return the call that asks the small question in the form that this judge takes."""
    about = settings.about
    messages: tuple[dict[str, str], ...] = ({"role": "user", "content": QUESTION},)
    if about.typed_questions:
        options = [{"value": str(score), "description": ""} for score in range(1, 6)]
        asked = {"type": "choice", "instructions": QUESTION.partition("\n")[0], "options": options}
        messages = (
            {"role": "state", "content": "Answer: 4"},
            {"role": "question", "content": json.dumps(asked)},
        )
    if about.small_model:
        messages = (*messages, {"role": "assistant", "content": "The score is "})
    room = SMALL_TOKENS if about.small_model else TEST_TOKENS
    return Call(
        key="test",
        condition=0,
        items=(0,),
        ordering=Ordering((1, 2, 3, 4, 5), tuple("12345")),
        repeat=0,
        messages=messages,
        template="score.test",
        scores=(1, 2, 3, 4, 5),
        max_tokens=settings.max_tokens or room,
        temperature=settings.temperature,
        reasoning_effort=settings.reasoning_effort,
        seed=settings.seed,
    )


def models_hint(
    settings: JudgeSettings, consents: Consents, secrets: Mapping[str, str] | None = None
) -> str:
    """Say which models the server lists, for a judge whose model it does not know."""
    try:
        names = models_of(
            settings.addresses[0],
            key_env=settings.key_env,
            consents=consents,
            secrets=secrets,
        )
    except LabError:
        return ""
    if any(same_model(settings.model, name) for name in names):
        return ""
    listed_names = ", ".join(shorten(name) for name in names[:MODELS_SHOWN])
    if len(names) > MODELS_SHOWN:
        listed_names += f" and {len(names) - MODELS_SHOWN} more"
    return f" It lists: {listed_names}."
