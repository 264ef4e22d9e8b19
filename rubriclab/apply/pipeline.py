"""Score items in a pipeline of your own, as the judge card says.

Each item is planned and parsed by the lab's own planner and reader, so it is asked as the run
asked, in the card's orders. Only the transport is yours: your client has the address, the key and
the retries.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeVar, cast

from rubriclab.apply.card import read_card
from rubriclab.judges.client import Chat
from rubriclab.judges.decision_server import Decisions, path_of
from rubriclab.judges.faults import Fault, advised, from_response
from rubriclab.judges.kinds import Asker, open_judge
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.model.text import LabError, shorten
from rubriclab.runs.loading import Folder, rubric_of_part
from rubriclab.study.decisions import packs
from rubriclab.study.plan import Plan, plan
from rubriclab.study.template import named

T = TypeVar("T")
FIELDS = ("item_id", "response", "instruction", "reference", "criterion")
"""Names of an item that the lab knows. Others are further columns, which a prompt may show."""
CONCURRENT = 8
"""Calls of one item in flight with an asynchronous client: what the lab sends to a server of which
it knows nothing yet."""
ASYNCHRONOUS = "The client is asynchronous. Use await judge.ascore(item) instead."


@dataclass(frozen=True)
class Answered:
    """One call with its reply.

    order: as shown. scores: by criterion; None if unparsed. messages: what was sent.
    """

    order: tuple[Any, ...]
    scores: Mapping[str, float | None]
    status: str
    reply: str
    messages: tuple[Mapping[str, str], ...]
    error: str = ""


@dataclass(frozen=True)
class Scored:
    """The score of one item.

    value: the mean over the card's orders; None if no reply could be parsed.
    low, high: where the mean over all orders is, as far from the value as it was for any item of
        the run.
    values: the means by criterion.
    unparsed: calls without a score. They are missing in the mean, and the card's promise is about
        items without any.
    """

    value: float | None
    low: float | None
    high: float | None
    values: Mapping[str, float | None]
    calls: tuple[Answered, ...]
    unparsed: int


class _Loop:
    """An event loop in a thread of its own: the caller may be in one already (a notebook)."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _require_carried(settings: JudgeSettings, client: Any) -> None:
    """Raise LabError where a client of the user's would ask another judge than the measured one.

    A client sends chat completions or typed questions. Only the package that brings a judge's kind
    knows how to ask a judge that takes neither.
    """
    about = settings.about
    if about.chat or about.typed_questions or not about.package:
        return
    brought = (
        f"The card's judge is of the kind “{about.name}”, which the package {about.package} asks "
        f"in its own way."
    )
    if about.served:
        raise LabError(
            f"{brought} It cannot be asked in a pipeline yet. Score the items in a run of the lab "
            f"(rubriclab run)."
        )
    if client is not None:
        raise LabError(f"{brought} Leave out client=….")


class Judge:
    """A judge that asks as its card says.

    Args:
        card: a file, or its JSON values.
        client: an ``openai.OpenAI`` or ``AsyncOpenAI`` of your own, whose address, key and retries
            are used; or a function that takes the request (a dict) and returns the completion (a
            dict, or its text). Leave it out for a judge of this machine (embedded, simulated).

    ``promise`` is the card's. Raises LabError for a card that cannot be used.
    """

    def __init__(self, card: str | Path | Mapping[str, Any], client: Any = None) -> None:
        self.card, self.study = read_card(card)
        self.promise: Mapping[str, Any] = self.card["promise"]
        self.settings: JudgeSettings = self.study.judges[0]
        _require_carried(self.settings, client)
        if client is None and self.settings.about.served:
            raise LabError(
                f"The card's judge is {self.settings.model} behind a server. Give "
                "client=openai.OpenAI(…)."
            )
        self.client = client
        self._chat = (CarriedDecisions if self.settings.about.typed_questions else Carried)(
            self.settings, client
        )
        self._asker: Asker | None = None

    def score(self, item: Mapping[str, Any] | str) -> Scored:
        """Return the score of one item.

        ``item``: “response” and, if the prompt shows them, “instruction”, “reference” and further
        columns; or the response alone. With an AsyncOpenAI use ``ascore``.
        """
        if _is_async(self.client):
            raise LabError(ASYNCHRONOUS)
        made = self._plan(item)
        if self.client is None:
            return self._loop.run(self._own(made))
        asked: list[tuple[Call, Reply]] = []
        for calls in packs(made.calls()):
            asked += zip(calls, _now(self._replies(calls)), strict=True)
        return self._scored(made, asked)

    async def ascore(self, item: Mapping[str, Any] | str) -> Scored:
        """Return the score of one item, as ``score`` does.

        Calls of an asynchronous client go out together; other clients are asked in a thread.
        """
        if not _is_async(self.client):
            return await asyncio.to_thread(self.score, item)
        made = self._plan(item)
        requests = list(packs(made.calls()))
        gate = asyncio.Semaphore(CONCURRENT)

        async def ask(calls: list[Call]) -> list[Reply]:
            async with gate:
                return await self._replies(calls)

        replies = await asyncio.gather(*map(ask, requests))
        asked: list[tuple[Call, Reply]] = []
        for calls, given in zip(requests, replies, strict=True):
            asked += zip(calls, given, strict=True)
        return self._scored(made, asked)

    async def _replies(self, calls: list[Call]) -> list[Reply]:
        """Return the replies to the calls of one request, which is sent as a run sends it."""
        if isinstance(self._chat, CarriedDecisions):
            return await self._chat.ask_together(calls)
        return [await self._chat.ask(call) for call in calls]

    def scores(self, items: Iterable[Mapping[str, Any] | str]) -> list[Scored]:
        """Return the score of each item, one after the other."""
        return [self.score(item) for item in items]

    def _plan(self, item: Mapping[str, Any] | str) -> Plan:
        """Return the calls about one item, made by the lab's own planner."""
        given = {"response": item} if isinstance(item, str) else dict(item)
        texts: dict[str, Any] = {
            name: str(given[name]) for name in FIELDS if given.get(name) is not None
        }
        if not texts.setdefault("response", "").strip() and self._shows_response:
            has = ", ".join(map(str, given)) or "nothing"
            raise LabError(f"The item has no response to score. It has {has}. Add “response”.")
        columns = {str(name): str(value) for name, value in given.items() if name not in FIELDS}
        about = Item(**{"item_id": "item", **texts}, columns=columns)
        return plan(self.study, DataSet("item", (about,), "pipeline"), self._rubric)

    @cached_property
    def _shows_response(self) -> bool:
        """Whether the prompt shows the response. One of a log has its texts in further columns."""
        if self.study.prompt is None:
            return True
        return any("response" in names for names in named(self.study.prompt.templates[0]))

    @cached_property
    def _rubric(self) -> Rubric:
        return rubric_of_part(self.study, 0, Folder())

    # ------------------------------------------------------------ a judge of this machine

    @cached_property
    def _loop(self) -> _Loop:
        return _Loop()

    async def _own(self, made: Plan) -> Scored:
        """Ask a judge of this machine. Its model is loaded once and kept."""
        if self._asker is None:
            self._asker = await open_judge(self.settings, rubric=self._rubric)
        return self._scored(made, [(call, await self._asker.ask(call)) for call in made.calls()])

    # ------------------------------------------------------------ the score

    def _scored(self, made: Plan, asked: Sequence[tuple[Call, Reply]]) -> Scored:
        """Return the mean over calls, by criterion, of what the run's reader makes of them."""
        failed = [reply for _, reply in asked if reply.error]
        if len(failed) == len(asked):
            raise LabError(f"No call was answered. {advised(failed[0].error, failed[0].kind)}")
        calls = [_answered(made, call, reply) for call, reply in asked]
        given: dict[str, list[float]] = {}
        for call in calls:
            for name, score in call.scores.items():
                parsed = given.setdefault(name, [])
                if score is not None:
                    parsed.append(score)
        values = {
            name: sum(parsed) / len(parsed) if parsed else None for name, parsed in given.items()
        }
        value = _mean_of_all(values)
        low, high = self._reach(value, asked[0][0].scores)
        return Scored(
            value=value,
            low=low,
            high=high,
            values=values,
            calls=tuple(calls),
            unparsed=sum(None in call.scores.values() for call in calls),
        )

    def _reach(
        self, value: float | None, scale: Sequence[float]
    ) -> tuple[float | None, float | None]:
        """Return how low and how high the mean over all orders may be, within the scale."""
        if value is None:
            return None, None
        margin = self.promise["margin"]
        low = min(max(value - margin, scale[0]), scale[-1])
        high = min(max(value + margin, scale[0]), scale[-1])
        return low, high

    def __repr__(self) -> str:
        about = self.card["protocol"]
        return (
            f"Judge({shorten(self.settings.model)}, {about['name']}, {about['calls']} calls per "
            "item)"
        )


def _answered(made: Plan, call: Call, reply: Reply) -> Answered:
    """Return a call with its reply, parsed as the run parses it."""
    outcomes = made.parse(call, reply)
    scores = {made.items[outcome.item].criterion or "": outcome.score for outcome in outcomes}
    worst = max((outcome.status for outcome in outcomes), default=Status.ERROR)
    return Answered(
        order=tuple(call.ordering.shown),
        scores=scores,
        status=worst.name.lower(),
        reply=reply.text,
        messages=call.messages,
        error=reply.error,
    )


def _mean_of_all(values: Mapping[str, float | None]) -> float | None:
    """Return the mean over all criteria; None if one of them has no score."""
    known = [value for value in values.values() if value is not None]
    if not known or len(known) < len(values):
        return None
    return sum(known) / len(known)


class Carried(Chat):
    """The judge behind your client: an openai client, whose retries come first, or a function."""

    path = "/chat/completions"

    def __init__(self, settings: JudgeSettings, client: Any) -> None:
        key = getattr(client, "api_key", None)
        # The client's key is taken out of every error text.
        super().__init__(settings, (key,) if key and isinstance(key, str) else ())
        self.client = client

    async def carry(self, call: Call, body: dict[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        request = dict(body)
        if "messages" in body:
            # Copies, since a function may change what it gets, and the plan's messages are shared.
            request["messages"] = [dict(message) for message in body["messages"]]
        if not hasattr(self.client, "chat"):
            return _content(self.client(request)), {}
        import httpx2
        import openai

        kept: Any = httpx2.Response
        try:
            response = self.client.post(self.path, cast_to=kept, body=request)
            response = await response if isawaitable(response) else response
        except openai.APIStatusError as error:
            answer = error.response
            raise from_response(
                answer.status_code, answer.headers, answer.content, self._secrets
            ) from error
        except openai.APIConnectionError as error:
            raise Fault("connect", f"{error}", self._secrets) from error
        return response.content, response.headers


class CarriedDecisions(Decisions, Carried):
    """The same for a judge that answers typed questions."""

    def __init__(self, settings: JudgeSettings, client: Any) -> None:
        super().__init__(settings, client)
        self.path = path_of(settings)


def _content(answer: Any) -> bytes:
    """Return the completion that a function gave: a dict, an openai object, or its text."""
    if isinstance(answer, str):
        answer = {"choices": [{"message": {"content": answer}}]}
    if hasattr(answer, "model_dump"):
        answer = answer.model_dump()
    if not isinstance(answer, Mapping):
        raise LabError(
            f"The function returned a {type(answer).__name__}. Return the completion as a dict, or "
            "its text."
        )
    return json.dumps(answer).encode()


def _now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing in the caller's own thread, and return its result.

    With a synchronous client no ``await`` ever suspends, so no event loop is needed.
    """
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise LabError(ASYNCHRONOUS)


def _is_async(client: Any) -> bool:
    """Return whether a client is an ``AsyncOpenAI``, or made like one."""
    if not hasattr(client, "chat"):
        return False
    post: Callable[..., Any] | None = getattr(client, "post", None)
    return asyncio.iscoroutinefunction(post)
