"""A judge card and one's own client in, scores out: each item is asked as the measured run asked, in the card's orders."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from rubriclab.apply.card import read_card
from rubriclab.judges.client import is_meant, limit_field, request_body
from rubriclab.judges.faults import Fault
from rubriclab.judges.kinds import Asker, open_judge
from rubriclab.judges.reply import read_completion
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.model.study import Study
from rubriclab.model.text import LabError, shorten
from rubriclab.runs.loading import Folder, rubric_of_part
from rubriclab.study.plan import Plan, plan

T = TypeVar("T")
FIELDS = ("item_id", "response", "instruction", "reference", "criterion")
CONCURRENT = 8


@dataclass(frozen=True)
class Answered:
    """One call: the ``order`` shown, the score of each criterion (None unparsed), what was sent and what came back."""

    order: tuple[Any, ...]
    scores: Mapping[str, float | None]
    status: str
    reply: str
    messages: tuple[Mapping[str, str], ...]
    error: str = ""


@dataclass(frozen=True)
class Scored:
    """``value``: the mean over the card's orders, by criterion in ``values`` (None where nothing could be read).

    ``low``, ``high``: where the mean over all orders lies, as far as it did for every measured item. ``unparsed``: calls without
    a score, which are missing in the mean: the promise is of items without any.
    """

    value: float | None
    low: float | None
    high: float | None
    values: Mapping[str, float | None]
    calls: tuple[Answered, ...]
    unparsed: int


class Judge:
    """``card``: a file or its JSON values. ``client``: an ``openai.OpenAI`` or ``AsyncOpenAI`` of your own (its address, key
    and retries are its), or a function of the request (a dict) that gives the completion (a dict, or its text); left out for a
    judge of this machine (embedded, simulated). ``promise``: of the card. Raises LabError for a card that cannot be used.
    """

    def __init__(self, card: str | Path | Mapping[str, Any], client: Any = None) -> None:
        self.card = read_card(card)
        self.study = Study.model_validate(self.card["study"])
        self.promise: Mapping[str, Any] = self.card["promise"]
        self.settings: JudgeSettings = self.study.judges[0]
        if client is None and self.settings.kind not in ("embedded", "simulated"):
            raise LabError(f"The card's judge is {self.settings.model} behind a server: give client=openai.OpenAI(…).")
        self.client = client
        self._asker: Asker | None = None

    def score(self, item: Mapping[str, Any] | str) -> Scored:
        """``item``: “response” and, as far as the prompt shows them, “instruction”, “reference” and further columns; or the
        response alone. With an AsyncOpenAI use ``ascore``."""
        if _is_async(self.client):
            raise LabError("The client is asynchronous: await judge.ascore(item) instead.")
        made = self._plan(item)
        if self.client is None:
            return self._loop.run(self._own(made))
        return self._scored(made, [(call, self._asked(call)) for call in made.calls()])

    async def ascore(self, item: Mapping[str, Any] | str) -> Scored:
        """As ``score``; calls of an asynchronous client go out together, others are asked in a thread."""
        if not _is_async(self.client):
            return await asyncio.to_thread(self.score, item)
        made = self._plan(item)
        calls, gate = list(made.calls()), asyncio.Semaphore(CONCURRENT)

        async def ask(call: Call) -> Reply:
            async with gate:
                return self._read(await self._send(call))

        replies = await asyncio.gather(*map(ask, calls))
        return self._scored(made, list(zip(calls, replies, strict=True)))

    def scores(self, items: Iterable[Mapping[str, Any] | str]) -> list[Scored]:
        """``score`` of each."""
        return [self.score(item) for item in items]

    # ------------------------------------------------------------ the call

    def _plan(self, item: Mapping[str, Any] | str) -> Plan:
        """The calls about one item, made by the lab's own planner."""
        given = {"response": item} if isinstance(item, str) else dict(item)
        if not str(given.get("response") or "").strip():
            raise LabError(f"The item has no response to score; it has {', '.join(map(str, given)) or 'nothing'}.")
        texts: dict[str, Any] = {name: str(given[name]) for name in FIELDS if given.get(name) is not None}
        columns = {str(name): str(value) for name, value in given.items() if name not in FIELDS}
        about = Item(**{"item_id": "item", **texts}, columns=columns)
        return plan(self.study, DataSet("item", (about,), "pipeline"), self._rubric)

    @cached_property
    def _rubric(self) -> Rubric:
        return rubric_of_part(self.study, 0, Folder())

    def _request(self, call: Call) -> dict[str, Any]:
        body = request_body(self.settings, call, limit_field=limit_field(self.settings.model), top_logprobs=0)
        return {**body, "messages": [dict(message) for message in body["messages"]]}

    def _send(self, call: Call) -> Any:
        import httpx2

        kept: Any = httpx2.Response
        return self.client.post("/chat/completions", cast_to=kept, body=self._request(call))

    def _asked(self, call: Call) -> Reply:
        if hasattr(self.client, "chat"):
            return self._read(self._send(call))
        answer = self.client(self._request(call))
        if isinstance(answer, str):
            return Reply(text=answer)
        if not isinstance(answer, Mapping):
            words = "expected the completion as a dict, or its text"
            raise LabError(f"The function gave a {type(answer).__name__}; {words}.")
        return self._completion(json.dumps(answer).encode(), {})

    def _read(self, response: Any) -> Reply:
        return self._completion(response.content, response.headers)

    def _completion(self, content: bytes, headers: Mapping[str, str]) -> Reply:
        try:
            return read_completion(content, headers, is_meant=lambda name: is_meant(self.settings, name))
        except Fault as fault:
            return fault.reply(0.0)

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
            calls.append(Answered(order, scores, worst.name.lower(), reply.text, call.messages, reply.error))
        values = {name: sum(part) / len(part) if part else None for name, part in given.items()}
        known = [value for value in values.values() if value is not None]
        value = sum(known) / len(known) if known and len(known) == len(values) else None
        scale = asked[0][0].scores
        low, high = (
            None if value is None else min(max(value + side * self.promise["margin"], scale[0]), scale[-1])
            for side in (-1, 1)
        )
        unparsed = sum(any(score is None for score in call.scores.values()) for call in calls)
        return Scored(value, low, high, values, tuple(calls), unparsed)

    def __repr__(self) -> str:
        about = self.card["protocol"]
        return f"Judge({shorten(self.settings.model)}, {about['name']}, {about['calls']} calls an item)"


class _Loop:
    """An event loop in a thread of its own: the caller may stand in one already (a notebook)."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _is_async(client: Any) -> bool:
    """Is it an ``AsyncOpenAI``, or made like one?"""
    post: Callable[..., Any] | None = getattr(client, "post", None) if hasattr(client, "chat") else None
    return asyncio.iscoroutinefunction(post)
