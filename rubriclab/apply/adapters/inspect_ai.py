"""inspect-ai: a judge card as a scorer, for ``inspect eval`` and, on old logs, ``inspect score``.

    from rubriclab.apply.adapters.inspect_ai import card_scorer
    task = Task(dataset=…, solver=…, scorer=card_scorer("judge.card.json", base_url="http://127.0.0.1:8000/v1"))

``Score.metadata["judge_card"]`` holds every order asked, what each reply said and what was read of it;
``rubriclab import`` reads it. An item without a judgment is ``Score.unscored``: in the log, and in no mean.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import LimitExceededError, concurrency

from rubriclab.apply import CardError, CardJudge, ItemError, Judged, load
from rubriclab.apply.adapters.shared import RECORD, Verdict, checked, item_of, refused, verdict
from rubriclab.apply.judge import CONCURRENCY
from rubriclab.apply.transport import of_client

MakeItem = Callable[[TaskState, Target], Mapping[str, Any]]
_MESSAGE = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_CONFIG = ("temperature", "max_tokens", "top_p", "seed", "reasoning_effort", "logprobs", "top_logprobs")
_STOPS = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


@scorer(metrics=[mean(), stderr()])
def card_scorer(
    card: str,
    *,
    base_url: str | None = None,
    model: str | Model | None = None,
    served: str | None = None,
    key_env: str | None = None,
    cure: str | None = None,
    criterion: str | None = None,
    value: str = "score",
    item: MakeItem | None = None,
) -> Scorer:
    """One number a sample, on the card's own scale (of a pair the share for the output).

    ``card``: its path. The judge is asked at ``base_url`` with the key in the variable ``key_env``; with ``model``
    (“openai/…”, or a Model) through inspect's own model API, with its keys, limits, cache and log. ``served``: the
    judge's name at that server, where it is another than in the card. ``criterion``: which one, where the card
    has several. ``value``: “score” or “expected”. ``item``: what of the item differs from ``item_from``.

    Raises CardError: the card, the address or the key cannot be used.
    """
    ask = Ask(card, base_url=base_url, model=model, served=served, key_env=key_env, cure=cure)
    checked(ask.judge, value=value, criterion=criterion)

    async def score(state: TaskState, target: Target) -> Score:
        told = await _verdict(ask, state, target, item, value, criterion)
        if told.score is None:
            return _unscored(state, told)
        return Score(value=told.score, answer=_answer(state), explanation=told.words, metadata=_metadata(told))

    return score


@scorer(metrics={"*": [mean(), stderr()]})
def card_criteria_scorer(
    card: str,
    *,
    base_url: str | None = None,
    model: str | Model | None = None,
    served: str | None = None,
    key_env: str | None = None,
    cure: str | None = None,
    item: MakeItem | None = None,
) -> Scorer:
    """Of a card that scores all criteria in one call: one number a criterion, each with its mean and error.

    A criterion that no reply named is not scored; the others are. Arguments as of ``card_scorer``.
    Raises CardError, also for a card that scores one criterion a call.
    """
    ask = Ask(card, base_url=base_url, model=model, served=served, key_env=key_env, cure=cure)
    if ask.judge.card.axis != "criteria":
        raise CardError(
            "The card's judge gives one number a call: use card_scorer, with criterion=… where it has several."
        )

    async def score(state: TaskState, target: Target) -> Score:
        told = await _verdict(ask, state, target, item, "score", None)
        if all(part is None for part in told.criteria.values()):
            return _unscored(state, told)
        values = {name: float("nan") if part is None else part for name, part in told.criteria.items()}
        return Score(value=values, answer=_answer(state), explanation=told.words, metadata=_metadata(told))

    return score


def item_from(judge: CardJudge, state: TaskState, target: Target, criterion: str | None = None) -> dict[str, Any]:
    """The item of a sample: its input, the output, the target (see ``shared.item_of``), and its metadata."""
    columns = {"item_id": str(state.sample_id), **(state.metadata or {})}
    return item_of(
        judge.card,
        instruction=state.input_text,
        response=_answer(state),
        target=target.text,
        columns=columns,
        criterion=criterion,
    )


def _answer(state: TaskState) -> str:
    return str(state.output.completion)


def _metadata(told: Verdict) -> dict[str, Any]:
    return {RECORD: dict(told.record)}


def _unscored(state: TaskState, told: Verdict) -> Score:
    reason = "grader_failed" if told.record["reads"] else "scoring_failed" if _answer(state) else "no_response"
    return Score.unscored(reason=reason, answer=_answer(state), explanation=told.why, metadata=_metadata(told))


async def _verdict(
    ask: Ask, state: TaskState, target: Target, item: MakeItem | None, value: str, criterion: str | None
) -> Verdict:
    about = item_from(ask.judge, state, target, criterion)
    if item is not None:
        about |= item(state, target)
    try:
        return verdict(ask.judge, about, await ask(about), value=value, criterion=criterion)
    except ItemError as fault:
        return refused(ask.judge, about, fault)


# ---------------------------------------------------------------- who is asked, and by what


class Ask:
    """A card's judge, asked at an address, or through inspect's own model API."""

    def __init__(
        self,
        card: str,
        *,
        base_url: str | None,
        model: str | Model | None,
        served: str | None,
        key_env: str | None,
        cure: str | None,
    ) -> None:
        self._model = model
        if model is None:
            self.judge = load(card, base_url=base_url, key_env=key_env, model=served, cure=cure)
        elif base_url is not None or key_env is not None:
            raise CardError("Name the judge by model=…, which has its address and key in inspect, or by base_url=….")
        else:
            self.judge = load(card, client=self._unasked, model=served, cure=cure, attempts=1)

    async def __call__(self, item: Mapping[str, Any]) -> Judged:
        if self._model is not None:
            return await self._through_inspect(item, self._model)
        # One call at a time for each item, so that all of them together are bounded.
        async with concurrency("judge card", CONCURRENCY):
            return await self.judge.ascore(item, room=asyncio.Semaphore(1))

    async def _through_inspect(self, item: Mapping[str, Any], named: str | Model) -> Judged:
        """Asked by inspect's model API, which bounds and repeats calls by itself.

        A limit of the sample (tokens, time, cost) ends the sample and not one call: it is raised again here,
        since the judge takes whatever a client raises as the fault of a call.
        """
        model = get_model(named) if isinstance(named, str) else named
        limits: list[LimitExceededError] = []

        async def send(body: dict[str, Any]) -> dict[str, Any]:
            try:
                return _completion(await model.generate(_messages(body["messages"]), config=_config(body)))
            except LimitExceededError as limit:
                limits.append(limit)
                raise

        judged = await CardJudge(self.judge.card, self.judge.cure, of_client(send), 1).ascore(item)
        if limits:
            raise limits[0]
        return judged

    @staticmethod
    async def _unasked(_: dict[str, Any]) -> dict[str, Any]:
        raise CardError("A judge of inspect's model API is asked a sample at a time.")


def _messages(messages: list[Mapping[str, str]]) -> list[ChatMessage]:
    return [_MESSAGE[message["role"]](content=message["content"]) for message in messages]


def _config(body: Mapping[str, Any]) -> GenerateConfig:
    """A request's body as inspect's settings; what has no setting there goes into its extra body."""
    rest = {name: part for name, part in body.items() if name not in ("model", "messages", *_CONFIG)}
    known = {name: body[name] for name in _CONFIG if name in body}
    if "max_completion_tokens" in rest:  # inspect chooses between the two names by itself
        known["max_tokens"] = rest.pop("max_completion_tokens")
    return GenerateConfig(**known, extra_body=rest or None)


def _completion(output: ModelOutput) -> dict[str, Any]:
    """The chat completion that inspect's output was made from, as far as a reader of scores needs it."""
    if not output.choices:
        return {"model": output.model, "choices": []}
    choice, usage = output.choices[0], output.usage
    message: dict[str, Any] = {"role": "assistant", "content": choice.message.text}
    calls = [{"function": {"arguments": json.dumps(call.arguments)}} for call in choice.message.tool_calls or ()]
    return {
        "model": output.model,
        "choices": [
            {
                "message": message | ({"tool_calls": calls} if calls else {}),
                "finish_reason": _STOPS.get(choice.stop_reason, "stop"),
                "logprobs": None if choice.logprobs is None else choice.logprobs.model_dump(),
            }
        ],
        "usage": None
        if usage is None
        else {"prompt_tokens": usage.total_tokens - usage.output_tokens, "completion_tokens": usage.output_tokens},
    }
