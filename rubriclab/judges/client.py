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
"""Alternatives to ask for: the most that OpenAI and vLLM give."""
SPACES = "▁Ġ \t\r\n"
"""What tokenizers put before a word: white space, or what SentencePiece or GPT-2 write for it."""
SCORE_ALONE = (
    "score.",
    "bare.",
    "pairwise-brief.",
    "listwise-brief.",
    "own-label-options.",
    "own-label-bare.",
)
"""Templates whose replies begin with the judgment, without feedback before it."""
DOWN = frozenset({"connect", "bad_gateway", "unavailable", "timeout"})
"""Faults after which a server is left alone for a while."""
REASONING_MODEL = re.compile(r"^(o[1-9]|gpt-[5-9])(\b|[-.])", re.I)
"""Models of OpenAI that take ``max_completion_tokens`` and refuse ``max_tokens``."""
DATED = re.compile(r"[-@:]v?(\d{3,}[\d.-]*|\d\d-\d{4})")
"""A date or build after a model's name. A single digit would be another version of the model."""
KEPT_FORM: Any = httpx2.Response
"""Makes the openai client return the response as it came, which ``reply`` then reads."""


class Chat:
    """Ask calls as chat completions, whoever carries the requests.

    What differs between servers is handled here and nowhere else. A fault of a call is a Reply.

    secrets: keys of the judge. They never appear in a Reply.
    top_logprobs: alternatives to ask for; 0 asks for none.
    adaptations: sentences about what this server refused and what it is sent instead.
    """

    samples = False
    """Whether calls marked ``sampled`` also ask for one free token, which costs another request."""

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
        """Return the content and headers of the response to a request. Raises Fault without one."""
        raise NotImplementedError

    async def ask(self, call: Call) -> Reply:
        """Ask one call and return a Reply that is fit to be kept. Only cancellation is raised.

        A request is sent again only if no server has worked on it. That is so in two cases: no
        connection was made (the next server is tried), or the server refused something that can be
        sent in another form (``judges/adapt.py``). That form is kept from then on, and what it
        changes becomes a note on the reply.
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
        """Return the reply to one request. Raises Fault."""
        content, headers = await self.carry(call, body)
        return read_completion(
            content,
            headers,
            seconds=time.perf_counter() - started,
            secrets=self._secrets,
            is_meant=lambda name: is_meant(self.settings, name),
        )

    async def _asked_freely(self, call: Call, reply: Reply) -> Reply:
        """Return the reply with the alternatives that an unconstrained first token would have.

        vLLM masks tokens before it reports probabilities, so a constrained reply does not show what
        the labels would get without the constraint. A second request asks for one free token. Its
        tokens count as the call's, because they are paid for. Where the server gives no
        alternatives, the reply is returned as it is.
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
            if not free.top:  # an older vLLM ignores the field that it does not know
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
        """Return this server's numbers of the tokens that are labels; empty if it gives none."""
        return []

    def _adapts(self, refusal: Fault, sent: Mapping[str, Any], manner: Manner) -> bool:
        """Return whether the refused request can be sent in another form, and switch to that form.

        All later requests of this judge use the new form too.
        """
        made = adapted(refusal, sent, manner)
        if made is None:
            return False
        new_manner, said = made
        # Fields of ``extra`` overrule ours, so asking for fewer alternatives would change nothing.
        set_by_user = {"logprobs", "top_logprobs"} & set(self.settings.extra)
        if set_by_user and new_manner.top_logprobs != manner.top_logprobs:
            return False
        # Calls run concurrently. If another call has changed the form in the meantime, this one is
        # sent again in that form.
        if manner == self._manner:
            self._manner = new_manner
            if said:
                self.adaptations.append(said)
        return True


class ChatClient(Chat):
    """Ask a judge behind ``POST {base_url}/chat/completions``.

    Make it inside the event loop that asks it. All calls about an item go to the same server, whose
    prefix cache then holds that item. While that server is down they go to the next one. Raises
    LabError for settings that can never work.

    path: what follows the base URL.
    secrets: keys by variable name, looked up before the environment.
    consents: which key may go to which address. Raises NoConsent if one is missing.
    base_urls: replaces the judge's addresses, for a server that the lab has started.
    key: replaces the key that the judge names.
    top_logprobs: alternatives to ask for; 0 asks for none.

    ``options.served_model`` names the model that a server answers as if that differs from the
    judge's model (“*”: any).
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

        # Given addresses are those of a server that the lab itself started on this machine.
        inward = bool(base_urls) or not served()
        self._path = path
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
            max_retries=0,  # the runner decides about retries
            timeout=None,  # the transport keeps the time
            http_client=httpx2.AsyncClient(
                transport=transport, trust_env=False, follow_redirects=False, timeout=None
            ),
        )
        # The transport drops these headers. Building them for each call would take a sixth of the
        # client's time.
        unsent: Any = {
            name: openai.Omit()
            for name in client.default_headers
            if name.lower().encode() not in SENT
        }
        self._client = client.with_options(default_headers=unsent)
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {"Authorization": ""}

    @property
    def trouble(self) -> str:
        """Say which of several servers do not answer; empty if all do, or none does."""
        down = [server.url.removesuffix(self._path) for server in self._servers if server.pause]
        fine = len(self._servers) - len(down)
        if not down or not fine:
            return ""
        return f"{', '.join(down)} did not answer: its calls went to {count(fine, 'other server')}."

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        await self._client.close()

    async def label_tokens(self, labels: tuple[str, ...]) -> list[int]:
        """Return vLLM's numbers of the label tokens, with and without a space before the label.

        Asked for by number, vLLM reports each label's probability, however small. (In 33 of 200
        calls no label was among the 20 likeliest tokens.) Empty on other servers, and if a label is
        more than one token, because its first piece alone is not the label.
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
        """Return the first two tokens of a text; empty if the server has no ``/tokenize``.

        That address is next to ``/v1``, not below it.
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
        if not tokens:
            return []
        return [token for token in tokens if isinstance(token, int)][:2]

    async def carry(self, call: Call, body: dict[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        """Return the response of the item's own server or, while that one is down, of the next."""
        encoded = msgspec.json.encode(body)
        ordered = self._servers_for(call)
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
                # Without a connection no server has worked on the call. After any other fault one
                # may have, and sending it again is the runner's decision.
                if fault.kind != "connect" or not ordered:
                    raise
            else:
                server.down_until = 0.0
                server.pause = 0.0
                return response.content, response.headers

    def _servers_for(self, call: Call) -> "list[Server]":
        """Return the servers in the order in which this call tries them; those that rest, last."""
        first_item = call.items[0] if call.items else 0
        home = first_item % len(self._servers)
        from_home = self._servers[home:] + self._servers[:home]
        now = time.monotonic()
        return sorted(from_home, key=lambda server: server.down_until > now)


@dataclass(slots=True)
class Server:
    """One address, and until when it is left alone.

    down_until: on the monotonic clock, in seconds.
    pause: how long it was left alone last, in seconds; 0 while it answers.
    """

    url: str
    down_until: float = 0.0
    pause: float = 0.0

    def rest(self, asked: float | None) -> None:
        """Leave this server alone for 1 s, then 2, 4, up to 30, or longer if it asked for that."""
        now = time.monotonic()
        # Calls in flight fail together; only the first of them lengthens the pause.
        if self.down_until <= now:
            self.pause = min(30.0, max(1.0, self.pause * 2))
            self.down_until = now + max(self.pause, min(asked or 0.0, 30.0))


def request_body(
    settings: JudgeSettings, call: Call, *, manner: Manner | None = None
) -> dict[str, Any]:
    """Return the JSON body of the request for a call. It holds no key.

    The judge's ``extra`` comes last, so it can overrule our own fields. ``manner`` says how this
    server is asked; without it, as one that has refused nothing yet.
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
        # Without these fields vLLM closes the begun answer and starts another one after it.
        body.update(continue_final_message=True, add_generation_prompt=False)
    begun = "" if manner.unbegun else call.begun
    body.update(constraint_fields(call.constrain, call.labels, begun))
    return {**body, **(call.extra or settings.extra)}


def added(first: int | None, second: int | None) -> int | None:
    """Return the sum of two counts of tokens; None if the first is not known."""
    if first is None:
        return None
    return first + (second or 0)


def ties(top: Sequence[tuple[str, float]], labels: Sequence[str]) -> bool:
    """Return whether the likeliest label has exactly the log-probability of another one.

    In bfloat16, logits come in steps of 1/8, so exact ties happen. The server then takes the token
    with the lower number, which says nothing about the judge.
    """
    best: dict[str, float] = {}
    for token, logprob in top:
        label = token.strip(SPACES)
        if label in labels:
            best[label] = max(logprob, best.get(label, -math.inf))
    likeliest = sorted(best.values(), reverse=True)[:2]
    return len(likeliest) == 2 and likeliest[0] == likeliest[1]


def limit_field(model: str) -> str:
    """Return the field that limits a reply's tokens. A server that names the other one gets it."""
    return "max_completion_tokens" if REASONING_MODEL.match(model) else "max_tokens"


def is_meant(settings: JudgeSettings, name: str) -> bool:
    """Return whether a server that answers as ``name`` is the model that was asked for."""
    return (
        settings.about.small_model
        or settings.options.get("served_model") in ("*", name)
        or same_model(settings.model, name)
    )


def base_url(url: str) -> str:
    """Return a base URL in one form: no trailing slash, no ``/chat/completions``."""
    text = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    if not ADDRESS.fullmatch(text):
        raise LabError(f"This address is not a base URL. Use one like {AN_ADDRESS}.")
    return text


def same_model(asked: str, answered: str) -> bool:
    """Return whether two names mean one model: equal except for case, path, date and file ending.

    ``gpt-4.1-mini`` and ``gpt-4.1-mini-2025-04-14`` do; ``gpt-4.1`` and ``gpt-4.1-mini`` do not.
    """
    short, long = sorted((bare_name(asked), bare_name(answered)), key=len)
    if short == long:
        return True
    if not short or not long.startswith(short):
        return False
    return DATED.fullmatch(long.removeprefix(short)) is not None


def bare_name(model: str) -> str:
    """Return a model's name without folders, endings and “latest”, in lower case."""
    name = model.strip().lower().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name.removesuffix(".gguf").removesuffix(":latest").removesuffix("-latest")
