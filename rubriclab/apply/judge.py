"""A judge made of a card: items in, scores out, asked in the orders that the card's cure names."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rubriclab.apply.card import Card, CardError, Cure, ItemError, read_card
from rubriclab.apply.combine import Judged, Read, judged, read_of, share
from rubriclab.apply.rendering import Subject, needs_jinja, prompt_of, subject_of
from rubriclab.apply.transport import Answer, Send, apause, pause, sender, waiting
from rubriclab.judges.faults import Fault
from rubriclab.judges.reading import read_completion
from rubriclab.judges.request import request_body, same_model
from rubriclab.model import Call, Reply
from rubriclab.study.prompts.outcomes import criteria_outcomes, no_answer, option_outcome, verdict_outcome

Steps = Generator[list[Call], list[Reply], Judged]
ATTEMPTS, LONGEST_WAIT, CONCURRENCY = 3, 30.0, 8


def load(
    source: str | Path | bytes | Mapping[str, Any],
    *,
    client: Any = None,
    base_url: str | None = None,
    key_env: str | None = None,
    model: str | None = None,
    cure: str | None = None,
    trust: bool = False,
    attempts: int = ATTEMPTS,
) -> CardJudge:
    """The judge of a card.

    ``source``: a path, the file's bytes, or its JSON. ``client``: an ``openai`` client (sync or
    async) or a function of a request's body; without one urllib asks ``base_url`` (the card's own
    where none is named) with the key in the variable ``key_env``. ``model``: its name at this server
    (a served embedded model has another). ``cure``: another than the card chose. ``trust``: send the key that the card names to the address
    that the card names. ``attempts``: how often a call is sent at most.

    Raises CardError: the card, its address or its key cannot be used.
    """
    card = read_card(source)
    if model is not None:
        card = replace(card, judge=replace(card.judge, model=model, options={"served_model": "*"}))
    needs_jinja(card)
    if attempts < 1:
        raise CardError(f"attempts is {attempts}; a call is sent at least once.")
    send = sender(card, client=client, base_url=base_url, key_env=key_env, trust=trust)
    return CardJudge(card, card.cure(cure), send, attempts)


class CardJudge:
    """Asks what a card says. One judge may be used by several threads at once.

    An item is a mapping: ``instruction`` and ``response``; ``criterion`` where the rubric has
    several; ``references`` (text by score) and other columns where the prompt names them. Of a pair:
    ``instruction`` (or ``turns``) and ``responses``, two of them.
    """

    def __init__(self, card: Card, cure: Cure, send: Send, attempts: int) -> None:
        self.card, self.cure = card, cure
        self._send, self._attempts = send, attempts

    def score(self, item: Mapping[str, Any]) -> Judged:
        """The item judged; calls one after the other. Raises ItemError for an item that cannot be asked about."""
        steps = self._steps(item)
        try:
            calls = next(steps)
            while True:
                calls = steps.send([self._ask(call) for call in calls])
        except StopIteration as done:
            result: Judged = done.value
            return result

    async def ascore(self, item: Mapping[str, Any], *, room: asyncio.Semaphore | None = None) -> Judged:
        """The same, the calls about an item side by side; ``room`` bounds how many at once."""
        room = room or asyncio.Semaphore(CONCURRENCY)
        steps = self._steps(item)
        try:
            calls = next(steps)
            while True:
                replies = await asyncio.gather(*(self._aask(call, room) for call in calls))
                calls = steps.send(list(replies))
        except StopIteration as done:
            result: Judged = done.value
            return result

    def scores(self, items: Iterable[Mapping[str, Any]], *, concurrency: int = CONCURRENCY) -> list[Judged]:
        """Many items in their order, so many at once, the calls of each one after the other."""
        with ThreadPoolExecutor(max_workers=concurrency) as pool:
            return list(pool.map(self.score, items))

    async def ascores(self, items: Iterable[Mapping[str, Any]], *, concurrency: int = CONCURRENCY) -> list[Judged]:
        """Many items in their order; at most ``concurrency`` calls at once."""
        room = asyncio.Semaphore(concurrency)
        return list(await asyncio.gather(*(self.ascore(item, room=room) for item in items)))

    def orders(self, item: Mapping[str, Any]) -> tuple[tuple[int | str, ...], ...]:
        """The orders that the item is asked in (of two swapped calls without the one that settles)."""
        return self._orders(subject_of(self.card, item))

    # ------------------------------------------------------------ what is asked

    def _orders(self, subject: Subject) -> tuple[tuple[int | str, ...], ...]:
        cure = self.cure
        if cure.draw is None:
            return cure.orders
        return tuple(_drawn(subject).sample(cure.orders, cure.draw))

    def _steps(self, item: Mapping[str, Any]) -> Steps:
        """Calls out, their replies in; at the end what they amount to."""
        subject = subject_of(self.card, item)
        calls = [self._call(subject, order, nth) for nth, order in enumerate(self._orders(subject))]
        reads = list(map(self._read_of, calls, (yield calls)))
        if self.cure.disagree == "third" and len({share(read) for read in reads if read.status == "ok"}) > 1:
            third = _drawn(subject).choice(self.cure.orders)
            last = self._call(subject, third, len(calls))
            reads += map(self._read_of, [last], (yield [last]))
        return judged(self.card, self.cure, reads)

    def _call(self, subject: Subject, order: tuple[int | str, ...], nth: int) -> Call:
        card = self.card
        prompt = prompt_of(card, subject, order)
        return Call(
            key="",
            judge=0,
            arm=0,
            items=tuple(range(len(order))) if card.axis == "criteria" else (0,),
            read=nth,
            repeat=0,
            ordering=prompt.ordering,
            messages=prompt.messages,
            template=prompt.template,
            sampling=card.judge.sampling,
            want_probabilities=card.probabilities,
            scores=card.scores if card.axis == "criteria" else (),
            reading=prompt.reading,
        )

    # ------------------------------------------------------------ asking

    def _body(self, call: Call) -> dict[str, Any]:
        body = request_body(self.card.judge, call, top_logprobs=self.card.top_logprobs)
        return {**body, "messages": list(body["messages"])}

    def _ask(self, call: Call) -> Reply:
        body = self._body(call)
        for attempt in range(self._attempts):
            answer = self._send(body)
            if inspect.isawaitable(answer):
                if inspect.iscoroutine(answer):
                    answer.close()
                raise CardError("The client is asynchronous: use “await judge.ascore(item)”.")
            if not self._again(answer, attempt):
                break
            pause(waiting(answer, attempt, LONGEST_WAIT))
        return self._reply(call, answer, attempt + 1)

    async def _aask(self, call: Call, room: asyncio.Semaphore) -> Reply:
        body = self._body(call)
        for attempt in range(self._attempts):
            async with room:
                if inspect.iscoroutinefunction(self._send):
                    answer = await self._send(body)
                else:
                    answer = await asyncio.to_thread(self._send, body)
            if not self._again(answer, attempt):
                break
            await apause(waiting(answer, attempt, LONGEST_WAIT))
        return self._reply(call, answer, attempt + 1)

    def _again(self, answer: Answer, attempt: int) -> bool:
        return isinstance(answer, Fault) and answer.retryable and attempt + 1 < self._attempts

    def _reply(self, call: Call, answer: Answer, attempts: int) -> Reply:
        if isinstance(answer, Fault):
            return replace(answer.reply(), attempts=attempts)
        expected: Callable[[str], bool] = partial(_answers, self.card)
        reply = read_completion(
            answer, want_probabilities=call.want_probabilities, expected=expected, reading=call.reading
        )
        return replace(reply, attempts=attempts)

    # ------------------------------------------------------------ reading

    def _read_of(self, call: Call, reply: Reply) -> Read:
        return replace(self._read(call, reply), messages=tuple(call.messages))

    def _read(self, call: Call, reply: Reply) -> Read:
        card, order = self.card, call.ordering.shown
        if card.axis == "criteria":
            outcomes = no_answer(call, reply) or criteria_outcomes(call, reply)
            given = {
                str(name): None if one.score is None else float(one.score)
                for name, one in zip(order, outcomes, strict=True)
            }
            bad = next((one for one in outcomes if one.status != "ok"), outcomes[0])
            return replace(read_of(order, reply, bad, pair=False), score=None, criteria=given)
        none = no_answer(call, reply)
        if card.axis == "pairwise":
            shown = tuple(map(int, order))
            return read_of(shown, reply, none[0] if none else verdict_outcome(call, reply, tie=card.tie), pair=True)
        return read_of(order, reply, none[0] if none else option_outcome(call, reply), pair=False)


def _answers(card: Card, served: str) -> bool:
    """Whether the server answers as the card's model; an embedded one has a name of its making."""
    wanted = card.judge.options.get("served_model")
    return wanted in ("*", served) or card.judge.kind == "embedded" or same_model(card.judge.model, served)


def _drawn(subject: Subject) -> random.Random:
    """The same draws for the same text, wherever and whenever."""
    digest = hashlib.sha256(json.dumps(subject.text, ensure_ascii=False).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def order_names(orders: Sequence[Sequence[int | str]]) -> list[str]:
    """Orders as a reader writes them."""
    return [" ".join(map(str, order)) for order in orders]


__all__ = ["CardJudge", "ItemError", "load", "order_names"]
