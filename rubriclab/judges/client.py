"""A call in, one Reply out, through the openai client: the judge of every kind that speaks the chat protocol.

The client is asked by its raw ``post`` over a transport of ours (see ``transport``), with no retries of its own: the
runner decides about those.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec

from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import mask_reply, read_key
from rubriclab.judges.reply import read_completion
from rubriclab.judges.served import served
from rubriclab.judges.transport import SENT, Transport
from rubriclab.model.judge import ADDRESS, AN_ADDRESS, JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError, count

CALL_HEADER = "X-Rubriclab-Call"
"""Names the call to whoever keeps a log on the server's side; servers ignore it."""
TOP_LOGPROBS = 20
"""The most alternatives that OpenAI and vLLM give."""
FEW_LOGPROBS = 5
"""What is asked for where a server refuses more."""
SCORE_ALONE = (
    "score.",
    "bare.",
    "pairwise-brief.",
    "listwise-brief.",
    "own-label-options.",
    "own-label-bare.",
)
"""Templates whose first answer token is the whole judgment, without feedback before it."""
DOWN = frozenset({"connect", "bad_gateway", "unavailable", "timeout"})
REASONING_MODEL = re.compile(r"^(o[1-9]|gpt-[5-9])(\b|[-.])", re.I)
DATED = re.compile(r"[-@:]v?(\d{3,}[\d.-]*|\d\d-\d{4})")
"""A date or build after a model's name; a single digit would be another version of it."""
KEPT_FORM: Any = httpx2.Response


class Chat:
    """Calls in, Replies out, whoever carries the requests: what differs between servers is handled here and nowhere else.

    ``secrets``: of the judge, never in a Reply; ``top_logprobs``: alternatives asked for, 0 for none. A fault of a call is a
    Reply.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        secrets: tuple[str, ...] = (),
        *,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        self.settings = settings
        self._secrets = secrets
        self._top_logprobs = self._wanted_logprobs = top_logprobs
        self._limit_field = limit_field(settings.model)

    @property
    def adapted(self) -> tuple[str, ...]:
        """What the server refused, so that requests leave it out, in words."""
        left_out = self._top_logprobs == 0 < self._wanted_logprobs
        return ("log-probabilities",) if left_out else ()

    async def carry(self, call: Call, body: dict[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        """(content, headers) of the answer to a request. Raises Fault where there is none."""
        raise NotImplementedError

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply, fit to be kept. Only a cancellation comes out as an exception.

        The request is sent again by itself only where no server has worked on it: nobody could be connected to (the
        next server is tried), or a field was refused by name. ``max_tokens`` then becomes ``max_completion_tokens``,
        and log-probabilities are asked for with fewer alternatives or not at all, from there on.
        """
        started = time.perf_counter()
        while True:
            used = self._limit_field, self._top_logprobs
            try:
                body = request_body(self.settings, call, limit_field=used[0], top_logprobs=used[1])
                content, headers = await self.carry(call, body)
                reply = read_completion(
                    content,
                    headers,
                    seconds=time.perf_counter() - started,
                    secrets=self._secrets,
                    is_meant=lambda name: is_meant(self.settings, name),
                )
            except Fault as fault:
                if self._adapts(fault, used):
                    continue
                reply = fault.reply(time.perf_counter() - started)
            return mask_reply(reply, self._secrets)

    def _adapts(self, refusal: Fault, used: tuple[str, int]) -> bool:
        """Whether the server refused a field that can be sent otherwise; it is, from the next request on."""
        if refusal.kind not in ("bad_setting", "bad_request"):
            return False
        if used != (self._limit_field, self._top_logprobs):
            return True  # another call has learned it in the meantime
        limit, alternatives = used
        if (
            "max_tokens" in refusal.message
            and "max_completion_tokens" in refusal.message
            and limit == "max_tokens"
        ):
            self._limit_field = "max_completion_tokens"
            return True
        own = {"logprobs", "top_logprobs"} & set(self.settings.extra)
        if "logprob" in refusal.message and alternatives and not own:
            self._top_logprobs = FEW_LOGPROBS if alternatives > FEW_LOGPROBS else 0
            return True
        return False


class ChatClient(Chat):
    """A judge behind ``POST {base_url}/chat/completions``; make it inside the event loop that asks it.

    ``base_urls`` replaces the judge's own (a server started for the occasion), ``key`` the one that the judge names.
    ``top_logprobs``: alternatives asked for, 0 for none. ``options.served_model`` names the model that a server
    answers as where that differs ("*": any); ``options.constrain = true`` lets vLLM answer with labels only.

    All calls of an item go to one server, whose prefix cache holds it, and to the next while that one is down.
    Raises LabError for settings that can never work; a fault of a call is a Reply. ``path``: behind the base URL.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        path: str = "/chat/completions",
        secrets: Mapping[str, str] | None = None,
        base_urls: Sequence[str] = (),
        key: str | None = None,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        import openai

        inward, self._path = bool(base_urls) or not served(), path
        self._servers = [Server(base_url(url) + path) for url in base_urls or settings.base_urls]
        if not self._servers:
            raise LabError(
                f"Judge “{settings.name}” has no address: give a base URL, as http://127.0.0.1:8000/v1."
            )
        key = key or read_key(settings, secrets)
        super().__init__(settings, (key,) if key else (), top_logprobs=top_logprobs)
        self._broken = openai.OpenAIError
        transport = Transport(
            timeout=settings.timeout, ca_file=settings.ca_file, secrets=self._secrets, inward=inward
        )
        client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=self._servers[0].url,
            max_retries=0,
            timeout=None,
            http_client=httpx2.AsyncClient(
                transport=transport, trust_env=False, follow_redirects=False, timeout=None
            ),
        )
        # What the transport would not send anyway is not put together for every call: a sixth of what the client takes.
        unsent: Any = {
            name: openai.Omit()
            for name in client.default_headers
            if name.lower().encode() not in SENT
        }
        self._client = client.with_options(default_headers=unsent)
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {"Authorization": ""}

    @property
    def trouble(self) -> str:
        """Which of several servers do not answer, in words; empty where all do, or none."""
        down = [server.url.removesuffix(self._path) for server in self._servers if server.pause]
        fine = len(self._servers) - len(down)
        return (
            f"{', '.join(down)} did not answer: its calls went to {count(fine, 'other server')}."
            if down and fine
            else ""
        )

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        await self._client.close()

    async def carry(self, call: Call, body: dict[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        """The first answer from the item's own server or, while that is down, the next."""
        encoded = msgspec.json.encode(body)
        home = (call.items[0] if call.items else 0) % len(self._servers)
        now = time.monotonic()
        ordered = sorted(
            self._servers[home:] + self._servers[:home], key=lambda server: server.down_until > now
        )
        headers = {CALL_HEADER: call.key, "Content-Type": "application/json", **self._authorization}
        while True:
            server = ordered.pop(0)
            try:
                response: httpx2.Response = await self._client.post(
                    server.url, cast_to=KEPT_FORM, content=encoded, options={"headers": headers}
                )
            except self._broken as error:
                raise Fault("reset", f"The connection broke: {type(error).__name__}") from error
            except Fault as fault:
                if fault.kind in DOWN:
                    server.rest(fault.retry_after)
                if fault.kind != "connect" or not ordered:
                    raise
            else:
                server.down_until = server.pause = 0.0
                return response.content, response.headers


@dataclass(slots=True)
class Server:
    """One address and until when it is left alone; seconds of the monotonic clock."""

    url: str
    down_until: float = 0.0
    pause: float = 0.0

    def rest(self, asked: float | None) -> None:
        """Leave this server alone for 1 s, then 2, 4 ... 30, or longer where it asked for that."""
        now = time.monotonic()
        if self.down_until <= now:
            self.pause = min(30.0, max(1.0, self.pause * 2))
            self.down_until = now + max(self.pause, min(asked or 0.0, 30.0))


def request_body(
    settings: JudgeSettings,
    call: Call,
    *,
    limit_field: str = "max_tokens",
    top_logprobs: int = TOP_LOGPROBS,
) -> dict[str, Any]:
    """What is posted for a call. Holds no key. The judge's ``extra`` comes last, so it can overrule our own fields."""
    fields = {
        "model": settings.model,
        "messages": call.messages,
        limit_field: call.max_tokens,
        "temperature": call.temperature,
        "top_p": settings.top_p,
        "seed": call.seed,
        "reasoning_effort": call.reasoning_effort,
    }
    body: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if top_logprobs and call.template.startswith(SCORE_ALONE):
        body.update(logprobs=True, top_logprobs=top_logprobs)
    if settings.kind == "vllm":
        if call.messages and call.messages[-1].get("role") == "assistant":
            # The judge goes on with the words that are put into its mouth.
            body.update(continue_final_message=True, add_generation_prompt=False)
        if settings.options.get("constrain") and call.template.startswith("score."):
            body["structured_outputs"] = {"choice": list(call.ordering.labels)}
    return {**body, **(call.extra or settings.extra)}


def limit_field(model: str) -> str:
    """The field that bounds an answer's tokens; a server that names the other one gets that."""
    return "max_completion_tokens" if REASONING_MODEL.match(model) else "max_tokens"


def is_meant(settings: JudgeSettings, name: str) -> bool:
    """Whether a server that calls itself ``name`` is the model that was asked for."""
    own = settings.kind == "embedded"
    return (
        own
        or settings.options.get("served_model") in ("*", name)
        or same_model(settings.model, name)
    )


def base_url(url: str) -> str:
    """A base URL in one form: no trailing slash, no ``/chat/completions``."""
    text = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    if not ADDRESS.fullmatch(text):
        raise LabError(f"The address is no base URL; expected {AN_ADDRESS}.")
    return text


def same_model(asked: str, answered: str) -> bool:
    """Whether two model names mean one model: equal but for case, path, date or file ending.

    ``gpt-4.1-mini`` and ``gpt-4.1-mini-2025-04-14`` do; ``gpt-4.1`` and ``gpt-4.1-mini`` do not.
    """
    short, long = sorted((bare_name(asked), bare_name(answered)), key=len)
    rest = long.removeprefix(short)
    return short == long or (bool(short) and rest != long and DATED.fullmatch(rest) is not None)


def bare_name(model: str) -> str:
    name = model.strip().lower().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name.removesuffix(".gguf").removesuffix(":latest").removesuffix("-latest")
