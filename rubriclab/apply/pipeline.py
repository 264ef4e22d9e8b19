"""A judge card and one's own client in, scores out: each item is asked as the measured run asked,
in the card's orders.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
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
CONCURRENT = 8


@dataclass(frozen=True)
class Answered:
    """One call: the ``order`` shown, the score of each criterion (None unparsed), what was sent and
    what came back.
    """

    order: tuple[Any, ...]
    scores: Mapping[str, float | None]
    status: str
    reply: str
    messages: tuple[Mapping[str, str], ...]
    error: str = ""


@dataclass(frozen=True)
class Scored:
    """``value``: the mean over the card's orders, by criterion in ``values`` (None where nothing
    could be read).

    ``low``, ``high``: where the mean over all orders lies, as far as it did for every measured
    item. ``unparsed``: calls without a score, which are missing in the mean: the promise is of
    items without any.
    """

    value: float | None
    low: float | None
    high: float | None
    values: Mapping[str, float | None]
    calls: tuple[Answered, ...]
    unparsed: int


class _Loop:
    """An event loop in a thread of its own: the caller may stand in one already (a notebook)."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Judge:
    """``card``: a file or its JSON values. ``client``: an ``openai.OpenAI`` or ``AsyncOpenAI`` of
    your own (its address, key and retries are its), or a function of the request (a dict) that
    gives the completion (a dict, or its text); left out for a judge of this machine (embedded,
    simulated). ``promise``: of the card. Raises LabError for a card that cannot be used.
    """

    def __init__(self, card: str | Path | Mapping[str, Any], client: Any = None) -> None:
        self.card, self.study = read_card(card)
        self.promise: Mapping[str, Any] = self.card["promise"]
        self.settings: JudgeSettings = self.study.judges[0]
        if client is None and self.settings.about.served:
            raise LabError(
                f"The card's judge is {self.settings.model} behind a server: give "
                f"client=openai.OpenAI(…)."
            )
        self.client = client
        self._chat = (CarriedDecisions if self.settings.about.typed_questions else Carried)(
            self.settings, client
        )
        self._asker: Asker | None = None

    def score(self, item: Mapping[str, Any] | str) -> Scored:
        """``item``: “response” and, as far as the prompt shows them, “instruction”, “reference” and
        further columns; or the response alone. With an AsyncOpenAI use ``ascore``.
        """
        if _is_async(self.client):
            raise LabError("The client is asynchronous: await judge.ascore(item) instead.")
        made = self._plan(item)
        if self.client is None:
            return self._loop.run(self._own(made))
        asked = [
            [*zip(calls, _now(self._replies(calls)), strict=True)] for calls in packs(made.calls())
        ]
        return self._scored(made, [pair for pairs in asked for pair in pairs])

    async def ascore(self, item: Mapping[str, Any] | str) -> Scored:
        """As ``score``; calls of an asynchronous client go out together, others are asked in a
        thread.
        """
        if not _is_async(self.client):
            return await asyncio.to_thread(self.score, item)
        made = self._plan(item)
        requests, gate = list(packs(made.calls())), asyncio.Semaphore(CONCURRENT)

        async def ask(calls: list[Call]) -> list[tuple[Call, Reply]]:
            async with gate:
                return [*zip(calls, await self._replies(calls), strict=True)]

        asked = await asyncio.gather(*map(ask, requests))
        return self._scored(made, [pair for pairs in asked for pair in pairs])

    async def _replies(self, calls: list[Call]) -> list[Reply]:
        """To the calls of one request, as a run sends them."""
        if isinstance(self._chat, CarriedDecisions):
            return await self._chat.ask_together(calls)
        return [await self._chat.ask(call) for call in calls]

    def scores(self, items: Iterable[Mapping[str, Any] | str]) -> list[Scored]:
        """``score`` of each."""
        return [self.score(item) for item in items]

    def _plan(self, item: Mapping[str, Any] | str) -> Plan:
        """The calls about one item, made by the lab's own planner."""
        given = {"response": item} if isinstance(item, str) else dict(item)
        texts: dict[str, Any] = {
            name: str(given[name]) for name in FIELDS if given.get(name) is not None
        }
        if not texts.setdefault("response", "").strip() and self._shows_response:
            raise LabError(
                f"The item has no response to score; it has "
                f"{', '.join(map(str, given)) or 'nothing'}."
            )
        columns = {str(name): str(value) for name, value in given.items() if name not in FIELDS}
        about = Item(**{"item_id": "item", **texts}, columns=columns)
        return plan(self.study, DataSet("item", (about,), "pipeline"), self._rubric)

    @cached_property
    def _shows_response(self) -> bool:
        """Not where the prompt is one of a log, whose texts stand in further columns."""
        return self.study.prompt is None or "response" in frozenset().union(
            *named(self.study.prompt.templates[0])
        )

    @cached_property
    def _rubric(self) -> Rubric:
        return rubric_of_part(self.study, 0, Folder())

    # ------------------------------------------------------------ a judge of this machine

    @cached_property
    def _loop(self) -> _Loop:
        return _Loop()

    async def _own(self, made: Plan) -> Scored:
        """The model is loaded once and kept."""
        if self._asker is None:
            self._asker = await open_judge(self.settings, rubric=self._rubric)
        return self._scored(made, [(call, await self._asker.ask(call)) for call in made.calls()])

    # ------------------------------------------------------------ the score

    def _scored(self, made: Plan, asked: list[tuple[Call, Reply]]) -> Scored:
        """The mean over calls by criterion, as the run read them."""
        calls, given = [], dict[str, list[float]]()
        for call, reply in asked:
            outcomes = made.parse(call, reply)
            names = [made.items[outcome.item].criterion or "" for outcome in outcomes]
            scores = {name: outcome.score for name, outcome in zip(names, outcomes, strict=True)}
            for name, score in scores.items():
                given.setdefault(name, []).extend([] if score is None else [score])
            worst = max((outcome.status for outcome in outcomes), default=Status.ERROR)
            order = tuple(call.ordering.shown)
            calls.append(
                Answered(order, scores, worst.name.lower(), reply.text, call.messages, reply.error)
            )
        values = {name: sum(part) / len(part) if part else None for name, part in given.items()}
        failed = [reply for _, reply in asked if reply.error]
        if len(failed) == len(asked):
            raise LabError(f"No call was answered. {advised(failed[0].error, failed[0].kind)}")
        known = [value for value in values.values() if value is not None]
        value = sum(known) / len(known) if known and len(known) == len(values) else None
        scale = asked[0][0].scores
        low, high = (
            None
            if value is None
            else min(max(value + side * self.promise["margin"], scale[0]), scale[-1])
            for side in (-1, 1)
        )
        unparsed = sum(any(score is None for score in call.scores.values()) for call in calls)
        return Scored(value, low, high, values, tuple(calls), unparsed)

    def __repr__(self) -> str:
        about = self.card["protocol"]
        return (
            f"Judge({shorten(self.settings.model)}, {about['name']}, {about['calls']} calls an "
            f"item)"
        )


class Carried(Chat):
    """The judge behind ``client``: an openai client, whose retries come first, or a function of the
    request.
    """

    path = "/chat/completions"

    def __init__(self, settings: JudgeSettings, client: Any) -> None:
        key = getattr(client, "api_key", None)
        super().__init__(settings, (key,) if key and isinstance(key, str) else ())
        self.client = client

    async def carry(self, call: Call, body: dict[str, Any]) -> tuple[bytes, Mapping[str, str]]:
        request = (
            {**body, "messages": [dict(message) for message in body["messages"]]}
            if "messages" in body
            else body
        )
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
    """The same of a judge that answers typed questions."""

    def __init__(self, settings: JudgeSettings, client: Any) -> None:
        super().__init__(settings, client)
        self.path = path_of(settings)


def _content(answer: Any) -> bytes:
    """The completion that a function gave: a dict, an object of the openai client, or its text."""
    if isinstance(answer, str):
        answer = {"choices": [{"message": {"content": answer}}]}
    answer = answer.model_dump() if hasattr(answer, "model_dump") else answer
    if not isinstance(answer, Mapping):
        raise LabError(
            f"The function gave a {type(answer).__name__}; expected the completion as a dict, or "
            f"its text."
        )
    return json.dumps(answer).encode()


def _now(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, in the caller's own thread."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise LabError("The client is asynchronous: await judge.ascore(item) instead.")


def _is_async(client: Any) -> bool:
    """Is it an ``AsyncOpenAI``, or made like one?"""
    post: Callable[..., Any] | None = (
        getattr(client, "post", None) if hasattr(client, "chat") else None
    )
    return asyncio.iscoroutinefunction(post)
