"""Ask a server typed questions, and get a probability for each of their options.

Both wire forms: ``POST {base}/systemone`` (TypeSafe's: vLLM, SGLang, llama.cpp, Fireworks) and
``POST {base}/decisions``, as ``client.decisions.create`` sends it. Several calls about one state go
out as the questions of one request.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rubriclab.judges.client import Chat, ChatClient, is_meant
from rubriclab.judges.faults import Fault, from_response
from rubriclab.judges.keys import mask_reply
from rubriclab.judges.reply import MAX_COUNT, UNREADABLE, refuse_many, unreadable
from rubriclab.model.decision import SUM_MAY_MISS, most_probable, option_shares
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_options import DecisionOptions
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError, named_once, shorten, storable

PATHS = {"systemone": "/systemone", "openai": "/decisions"}
Question = Mapping[str, Any]
"""Of a call's message: ``type`` (choice or score), ``instructions``, ``options`` as shown, each
with value and description.
"""


class Answer(NamedTuple):
    """``shares``: the probability of each option as shown, None for a refusal; ``mass``: what fell
    on options at all.
    """

    shares: tuple[float, ...] | None
    mass: float = 1.0


class Decisions(Chat):
    """Calls in, Replies out, whoever carries the requests. Temperature, seed and lengths are not
    sent: these endpoints have none. Raises LabError for settings that can never work.
    """

    async def ask(self, call: Call) -> Reply:
        return (await self.ask_together([call]))[0]

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        """One request whose questions are the calls', in their order. Tokens and seconds are shared
        out among the replies, so that sums are right; a fault of the request is everyone's, of a
        question that call's alone.
        """
        started = time.perf_counter()
        if calls[0].messages[0]["role"] != "state":
            return [
                Fault("bad_request", "It answers typed questions and writes no text").reply(0.0)
            ] * len(calls)
        asked = [
            [json.loads(message["content"]) for message in call.messages[1:]] for call in calls
        ]
        questions = [question for part in asked for question in part]
        try:
            content, headers = await self.carry(calls[0], self.request(calls[0], questions))
            replies = self._read(content, headers, calls, asked)
        except Fault as fault:
            replies = [fault.reply(0.0)] * len(calls)
        seconds = (time.perf_counter() - started) / len(calls)
        return [mask_reply(replace(reply, seconds=seconds), self._secrets) for reply in replies]

    def request(self, call: Call, questions: Sequence[Question]) -> dict[str, Any]:
        """What is posted. Questions are called by their number or by nothing: some servers show the
        name to the model.
        """
        state, more = call.messages[0]["content"], call.extra or self.settings.extra
        if read_options(DecisionOptions, self.settings).form == "openai":
            listed = [openai_question(question) for question in questions]
            return {"model": self.settings.model, "input": state, "questions": listed, **more}
        named = {
            f"q{number}": systemone_question(question)
            for number, question in enumerate(questions, start=1)
        }
        return {"model": self.settings.model, "state": state, "questions": named, **more}

    def _read(
        self,
        body: bytes,
        headers: Mapping[str, str],
        calls: Sequence[Call],
        asked: Sequence[Sequence[Question]],
    ) -> list[Reply]:
        """A reply to each call. Raises the Fault that stands in place of all."""
        page = decoded(body, headers, self._secrets)
        model = storable(page["model"])[:300] if isinstance(page.get("model"), str) else ""
        if model and not is_meant(self.settings, model):
            raise Fault("wrong_model", f"The server answered as “{model}”", self._secrets)
        given, number = page.get("answers"), sum(map(len, asked))
        if isinstance(given, dict):
            names = [f"q{k}" for k in range(1, number + 1)]
            diagnostics = page.get("diagnostics")
            about = diagnostics if isinstance(diagnostics, dict) else {}
            answers = [(given.get(name), about.get(name)) for name in names]
        elif isinstance(given, list) and len(given) == number:
            answers = [(answer, None) for answer in given]
        else:
            held = f"{len(given)} answers" if isinstance(given, list) else "no answers"
            raise Fault(
                "bad_answer", f"The server sent {held} to {number} questions", self._secrets
            )
        usage: dict[str, Any] = page["usage"] if isinstance(page.get("usage"), dict) else {}
        details = usage.get("input_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        counts = usage.get("input_tokens"), usage.get("output_tokens"), cached
        tokens = [shared_out(count, len(calls)) for count in counts]
        left, replies = iter(answers), []
        for index, (call, questions) in enumerate(zip(calls, asked, strict=True)):
            own = [next(left) for _ in questions]
            try:
                reply = reply_to(
                    call,
                    questions,
                    [read_answer(*pair) for pair in zip(questions, own, strict=True)],
                )
            except Fault as fault:
                reply = fault.reply(0.0)
            note = f"question {index + 1} of {len(calls)} of one request" if len(calls) > 1 else ""
            note = "; ".join(filter(None, [reply.note, note]))
            known: dict[str, Any] = {
                "tokens_in": tokens[0][index],
                "tokens_out": tokens[1][index],
                "cached": tokens[2][index],
            }
            replies.append(replace(reply, model=model or None, note=note, **known))
        return replies


class DecisionClient(Decisions, ChatClient):
    """A judge behind an address; made, asked and closed as a ``ChatClient``."""

    def __init__(self, settings: JudgeSettings, **more: Any) -> None:
        super().__init__(settings, path=path_of(settings), **more)


def path_of(settings: JudgeSettings) -> str:
    """Behind the base URL."""
    return PATHS[read_options(DecisionOptions, settings).form]


# ---------------------------------------------------------------- the questions
def systemone_question(question: Question) -> dict[str, Any]:
    """A choice's options by their name; a score's levels as a list, which the server numbers from 0
    as they stand.
    """
    options = question["options"]
    if question["type"] == "choice":
        criteria: Any = {option["value"]: option["description"] or None for option in options}
    else:
        criteria = [option["description"] for option in options]
        if "" in criteria or len(set(criteria)) < len(
            criteria
        ):  # what a level is called then tells it apart
            criteria = [
                f"{option['value']}: {option['description']}".removesuffix(": ")
                for option in options
            ]
    return {
        "type": question["type"],
        "instructions": question["instructions"],
        "criteria": criteria,
    }


def openai_question(question: Question) -> dict[str, Any]:
    name, options = ("choices", "value") if question["type"] == "choice" else ("levels", "label")
    listed = [
        {options: option["value"]}
        | ({"description": option["description"]} if option["description"] else {})
        for option in question["options"]
    ]
    return {"type": question["type"], "instructions": question["instructions"], name: listed}


# ---------------------------------------------------------------- the answers
def decoded(body: bytes, headers: Mapping[str, str], secrets: tuple[str, ...]) -> dict[str, Any]:
    """The body's object; NaN, which Python's servers write, stays one. Raises Fault, also for a
    name that stands twice.
    """
    refuse_many(body)
    try:
        page = json.loads(body, object_pairs_hook=named_once)
    except UNREADABLE as error:
        raise unreadable(body, headers, error, secrets) from error
    if not isinstance(page, dict):
        raise Fault(
            "bad_answer", f"The answer is a {type(page).__name__}; expected an object", secrets
        )
    if page.get("error") is not None and "answers" not in page:
        raise from_response(200, headers, body, secrets)
    return page


def read_answer(question: Question, given: tuple[Any, Any]) -> Answer:
    """The answer to a question, and what its diagnostics say of the mass. Raises Fault where it is
    none.
    """
    answer, about = given
    if not isinstance(answer, dict):
        raise Fault("bad_answer", "The server left a question without an answer")
    if answer.get("type") == "refusal" or answer.get("refusal"):
        return Answer(None)
    if answer.get("error") is not None:
        raise Fault(
            "bad_answer",
            f"Of this question the server says: {shorten(json.dumps(answer['error']), 200)}",
        )
    values = [option["value"] for option in question["options"]]
    try:
        shares = option_shares(answer, values, score=question["type"] == "score")
    except LabError as fault:
        raise Fault("bad_answer", str(fault)) from None
    mass = about.get("label_mass") if isinstance(about, dict) else None
    known = float(mass) if isinstance(mass, int | float) and 0 <= mass <= 1 + SUM_MAY_MISS else 1.0
    return Answer(shares, min(known, 1.0))


def reply_to(call: Call, questions: Sequence[Question], answers: Sequence[Answer]) -> Reply:
    """The most probable option as the text, of several questions a line each, and of one its
    probabilities as ``top``.
    """
    if all(answer.shares is None for answer in answers):
        return Reply(finish="refusal")
    chosen = [
        None
        if answer.shares is None
        else question["options"][most_probable(answer.shares, f"{call.key}|{number}")]["value"]
        for number, (question, answer) in enumerate(zip(questions, answers, strict=True))
    ]
    if len(questions) > 1:
        named = list(zip(call.ordering.labels, chosen, strict=True))
        refused = [name for name, value in named if value is None]
        note = f"refused: {', '.join(refused)}" if refused else ""
        return Reply(
            "\n".join(f"[{name}] {value}" for name, value in named if value is not None), note=note
        )
    shares, mass = answers[0]
    options = zip(questions[0]["options"], shares or (), strict=True)  # of 0 there is no logarithm
    top = tuple(
        (option["value"], math.log(max(share * max(mass, 1e-9), 1e-300)))
        for option, share in options
    )
    return Reply(str(chosen[0]), top=top)


def shared_out(count: Any, parts: int) -> list[int | None]:
    """A count in whole parts that sum to it; None where it is none."""
    if type(count) is not int or not 0 <= count <= MAX_COUNT:
        return [None] * parts
    return [count // parts + (part < count % parts) for part in range(parts)]
