"""Ask a judge that speaks the OpenAI chat protocol.

The client is asked by its raw ``post`` over a transport of ours (see ``transport``), with no
retries of its own: the runner decides about those.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import msgspec

from rubriclab.judges.adapt import Manner, adapted
from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import key_to_send, mask_reply
from rubriclab.judges.reply import read_completion
from rubriclab.judges.served import served
from rubriclab.judges.transport import SENT, Transport
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.constraint import constraint_fields
from rubriclab.model.judge import ADDRESS, AN_ADDRESS, JudgeSettings
from rubriclab.model.judgment import TIED, Call, Reply
from rubriclab.model.text import LabError, count

CALL_HEADER = "X-Rubriclab-Call"
"""Names the call to whoever keeps a log on the server's side; servers ignore it."""
TOP_LOGPROBS = 20
"""The most alternatives that OpenAI and vLLM give."""
SPACES = "▁Ġ \t\r\n"
"""What tokenizers put before a word: a blank, or the sign of SentencePiece or GPT-2 for one."""
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
    """Calls in, Replies out, whoever carries the requests: what differs between servers is handled
    here and nowhere else.

    ``secrets``: of the judge, never in a Reply; ``top_logprobs``: alternatives asked for, 0 for
    none. A fault of a call is a Reply. ``adaptations``: what is sent otherwise than the settings
    say since this server refused it, in words.
    """

    samples = False
    """Whether calls that are marked for it are asked for one free token too: it costs a request
    more.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        secrets: tuple[str, ...] = (),
        *,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        self.settings = settings
        self.adaptations: list[str] = []
        self._secrets = secrets
        self._manner = Manner(limit_field=limit_field(settings.model), top_logprobs=top_logprobs)

    async def carry(self, call: Call, body: dict[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        """(content, headers) of the answer to a request. Raises Fault where there is none."""
        raise NotImplementedError

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply, fit to be kept. Only a cancellation comes out as an exception.

        The request is sent again by itself only where no server has worked on it: nobody could be
        connected to (the next server is tried), or its words refuse something that can be sent
        otherwise (see ``judges/adapt.py``), which it is from there on; what that changes is a note
        on the reply.
        """
        started = time.perf_counter()
        while True:
            manner = self._manner
            body = request_body(self.settings, call, manner=manner)
            try:
                reply = await self._completed(call, body, started)
            except Fault as fault:
                if self._adapts(fault, body, manner):
                    continue
                reply = fault.reply(time.perf_counter() - started)
            else:
                reply = reply.noted(*manner.notes(call.messages, call.max_tokens))
                if ties(reply.top, call.labels):
                    reply = reply.noted(TIED)
                if call.sampled and self.samples:
                    reply = await self._asked_freely(call, reply)
            return mask_reply(reply, self._secrets)

    async def _completed(self, call: Call, body: dict[str, Any], started: float) -> Reply:
        """The reply to one request. Raises Fault."""
        content, headers = await self.carry(call, body)
        return read_completion(
            content,
            headers,
            seconds=time.perf_counter() - started,
            secrets=self._secrets,
            is_meant=lambda name: is_meant(self.settings, name),
        )

    async def _asked_freely(self, call: Call, reply: Reply) -> Reply:
        """The reply with the alternatives to the first token where nothing constrains it, as far as
        they can be had.

        vLLM masks before it reports, so a constrained reply does not say what the labels would get
        without it. Its tokens count as the call's, since they are paid for.
        """
        if not self._manner.top_logprobs:
            return reply
        body = request_body(
            self.settings, replace(call, constrain="free", max_tokens=1), manner=self._manner
        )
        listed = {"logprobs": True, "top_logprobs": self._manner.top_logprobs}
        free = Reply()
        try:
            if tokens := await self.label_tokens(call.labels):
                exact = {"logprobs": True, "logprob_token_ids": tokens}
                free = await self._completed(call, {**body, **exact}, time.perf_counter())
            if not free.top:  # an older vLLM does not know the field, and says nothing
                free = await self._completed(call, {**body, **listed}, time.perf_counter())
        except Fault:
            return reply
        return replace(
            reply,
            free_top=free.top,
            tokens_in=added(reply.tokens_in, free.tokens_in),
            tokens_out=added(reply.tokens_out, free.tokens_out),
        )

    async def label_tokens(self, labels: tuple[str, ...]) -> list[int]:
        """The tokens that are labels, by this server's own numbers; empty where it gives none."""
        return []

    def _adapts(self, refusal: Fault, sent: Mapping[str, Any], manner: Manner) -> bool:
        """Whether the server refused what can be sent otherwise; it is, from the next request
        on.
        """
        own = {"logprobs", "top_logprobs"} & set(self.settings.extra)
        made = adapted(refusal, sent, manner)
        if made is None or (own and made[0].top_logprobs != manner.top_logprobs):
            return False
        if manner == self._manner:  # else another call has learned it in the meantime
            self._manner, said = made
            if said:
                self.adaptations.append(said)
        return True


class ChatClient(Chat):
    """A judge behind ``POST {base_url}/chat/completions``; make it inside the event loop that asks
    it.

    ``base_urls`` replaces the judge's own (a server started for the occasion), ``key`` the one that
    the judge names. ``consents``: which key may go to which address; without one for each of them
    NoConsent is raised. ``top_logprobs``: alternatives asked for, 0 for none.
    ``options.served_model`` names the model that a server answers as where that differs ("*": any).

    All calls of an item go to one server, whose prefix cache holds it, and to the next while that
    one is down. Raises LabError for settings that can never work; a fault of a call is a Reply.
    ``path``: behind the base URL.
    """

    samples = True

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        path: str = "/chat/completions",
        secrets: Mapping[str, str] | None = None,
        consents: Consents = NO_CONSENTS,
        base_urls: Sequence[str] = (),
        key: str | None = None,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        import openai

        inward, self._path = bool(base_urls) or not served(), path
        self._label_tokens: dict[tuple[str, ...], list[int]] = {}
        self._servers = [Server(base_url(url) + path) for url in base_urls or settings.base_urls]
        if not self._servers:
            raise LabError(
                f"Judge “{settings.name}” has no address. Set a base URL, for example "
                f"http://127.0.0.1:8000/v1."
            )
        if key is None:
            key = key_to_send(settings, secrets, consents)
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
        # What the transport would not send anyway is not put together for every call: a sixth of
        # what the client takes.
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

    async def label_tokens(self, labels: tuple[str, ...]) -> list[int]:
        """vLLM's numbers of the tokens that are a label, with a blank before it or without; empty
        on other servers.

        With them it gives the probability of each, however unlikely: among the 20 likeliest tokens
        no label was seen in 33 of 200 calls. Empty too where a label is no single token, since its
        first piece would say too little.
        """
        if not self.settings.about.vllm:
            return []
        if labels not in self._label_tokens:
            found: list[int] = []
            for label in labels:
                pieces = [await self._tokens(label), await self._tokens(f" {label}")]
                single = [own[0] for own in pieces if len(own) == 1]
                if not single:
                    found = []
                    break
                found += single
            self._label_tokens[labels] = list(dict.fromkeys(found))
        return self._label_tokens[labels]

    async def _tokens(self, text: str) -> list[int]:
        """The tokens of a text by the server's own ``/tokenize``, which stands beside ``/v1``;
        empty where it has none.
        """
        url = self._servers[0].url.removesuffix(self._path).removesuffix("/v1") + "/tokenize"
        body = {"model": self.settings.model, "prompt": text, "add_special_tokens": False}
        headers = {"Content-Type": "application/json", **self._authorization}
        try:
            response: httpx2.Response = await self._client.post(
                url,
                cast_to=KEPT_FORM,
                content=msgspec.json.encode(body),
                options={"headers": headers},
            )
            tokens = msgspec.json.decode(response.content)["tokens"]
        except (Fault, self._broken, ValueError, KeyError, TypeError, RecursionError):
            return []
        return [token for token in tokens if isinstance(token, int)][:2] if tokens else []

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
    settings: JudgeSettings, call: Call, *, manner: Manner | None = None
) -> dict[str, Any]:
    """What is posted for a call. Holds no key. The judge's ``extra`` comes last, so it can overrule
    our own fields.

    ``manner``: how this server is asked, by default as one of which nothing is known.
    """
    if manner is None:
        manner = Manner(limit_field=limit_field(settings.model), top_logprobs=TOP_LOGPROBS)
    messages = manner.messages(call.messages)
    fields = {
        "model": settings.model,
        "messages": messages,
        manner.limit_field: manner.tokens(call.max_tokens),
        "temperature": call.temperature,
        "top_p": settings.top_p,
        "seed": call.seed,
        "reasoning_effort": call.reasoning_effort,
    }
    body: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if manner.top_logprobs and call.template.startswith(SCORE_ALONE):
        body.update(logprobs=True, top_logprobs=manner.top_logprobs)
    if settings.about.vllm and messages and messages[-1].get("role") == "assistant":
        # The judge goes on with the words that are put into its mouth.
        body.update(continue_final_message=True, add_generation_prompt=False)
    begun = "" if manner.unbegun else call.begun
    body.update(constraint_fields(call.constrain, call.labels, begun))
    return {**body, **(call.extra or settings.extra)}


def added(first: int | None, second: int | None) -> int | None:
    """Return the sum of two counts of tokens; None where the first is not known."""
    return None if first is None else first + (second or 0)


def ties(top: Sequence[tuple[str, float]], labels: Sequence[str]) -> bool:
    """Whether the likeliest label has exactly the log-probability of another one.

    In bfloat16 logits come in steps of 1/8, and of equal ones the server takes the first by its own
    numbers: a choice that says nothing of the judge.
    """
    best: dict[str, float] = {}
    for token, logprob in top:
        label = token.strip(SPACES)
        if label in labels:
            best[label] = max(logprob, best.get(label, -math.inf))
    likeliest = sorted(best.values(), reverse=True)[:2]
    return len(likeliest) == 2 and likeliest[0] == likeliest[1]


def limit_field(model: str) -> str:
    """The field that bounds an answer's tokens; a server that names the other one gets that."""
    return "max_completion_tokens" if REASONING_MODEL.match(model) else "max_tokens"


def is_meant(settings: JudgeSettings, name: str) -> bool:
    """Whether a server that calls itself ``name`` is the model that was asked for."""
    return (
        settings.about.small_model
        or settings.options.get("served_model") in ("*", name)
        or same_model(settings.model, name)
    )


def base_url(url: str) -> str:
    """A base URL in one form: no trailing slash, no ``/chat/completions``."""
    text = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    if not ADDRESS.fullmatch(text):
        raise LabError(f"This address is not a base URL. Use one like {AN_ADDRESS}.")
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
