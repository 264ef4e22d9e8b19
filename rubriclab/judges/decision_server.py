"""Ask a server typed questions, and get a probability for each of their options.

There are two wire forms: ``POST {base}/systemone`` (vLLM, SGLang, llama.cpp, Fireworks) and ``POST
{base}/decisions``, as ``client.decisions.create`` sends it. Several calls about one state go out as
the questions of one request.
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
"""What follows the base URL, by the form of the request."""
LEAST_MASS, LEAST_PROBABILITY = 1e-9, 1e-300
"""Stand in for 0, which has no logarithm."""
Question = Mapping[str, Any]
"""A question of a call's message: ``type`` (choice or score), ``instructions``, and the ``options``
in the order shown, each with ``value`` and ``description``."""


class Answer(NamedTuple):
    """What the server answered to one question.

    shares: the probability of each option, in the order shown; None for a refusal.
    mass: the probability of all options together, at the token where the model chose.
    """

    shares: tuple[float, ...] | None
    mass: float = 1.0


class Decisions(Chat):
    """Ask calls as typed questions, whoever carries the requests.

    Temperature, seed and limits of length are not sent, because these endpoints have none. Raises
    LabError for settings that can never work.
    """

    async def ask(self, call: Call) -> Reply:
        """Ask one call in a request of its own."""
        return (await self.ask_together([call]))[0]

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        """Ask several calls about one state as the questions of one request.

        Tokens and seconds are divided among the replies, so that their sums are right. A fault of
        the request is a fault of every call, a fault of a question only of its own call.
        """
        started = time.perf_counter()
        if calls[0].messages[0]["role"] != "state":
            fault = Fault("bad_request", "It answers typed questions and writes no text")
            return [fault.reply(0.0)] * len(calls)
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
        """Return the JSON body of a request.

        Questions are named by their number or not at all, because some servers show the name to the
        model.
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
        """Return a reply to each call. Raises a Fault of the whole request."""
        page = decoded(body, headers, self._secrets)
        model = storable(page["model"])[:300] if isinstance(page.get("model"), str) else ""
        if model and not is_meant(self.settings, model):
            raise Fault("wrong_model", f"The server answered as “{model}”", self._secrets)
        answers = self._answers(page, sum(map(len, asked)))
        tokens_in, tokens_out, cached = tokens_by_call(page, len(calls))
        replies = []
        start = 0
        for index, (call, questions) in enumerate(zip(calls, asked, strict=True)):
            own = answers[start : start + len(questions)]
            start += len(questions)
            try:
                read = [read_answer(*pair) for pair in zip(questions, own, strict=True)]
                reply = reply_to(call, questions, read)
            except Fault as fault:
                reply = fault.reply(0.0)
            notes = [reply.note] if reply.note else []
            if len(calls) > 1:
                notes.append(f"question {index + 1} of {len(calls)} of one request")
            replies.append(
                replace(
                    reply,
                    model=model or None,
                    note="; ".join(notes),
                    tokens_in=tokens_in[index],
                    tokens_out=tokens_out[index],
                    cached=cached[index],
                )
            )
        return replies

    def _answers(self, page: Mapping[str, Any], number: int) -> list[tuple[Any, Any]]:
        """Return the answer to each question, with its diagnostics. Raises Fault."""
        given = page.get("answers")
        if isinstance(given, dict):  # System One: by the question's name
            diagnostics = page.get("diagnostics")
            about = diagnostics if isinstance(diagnostics, dict) else {}
            names = [f"q{k}" for k in range(1, number + 1)]
            return [(given.get(name), about.get(name)) for name in names]
        if isinstance(given, list) and len(given) == number:
            return [(answer, None) for answer in given]
        held = f"{len(given)} answers" if isinstance(given, list) else "no answers"
        raise Fault("bad_answer", f"The server sent {held} to {number} questions", self._secrets)


class DecisionClient(Decisions, ChatClient):
    """Ask a judge of typed questions behind an address; used like a ``ChatClient``."""

    def __init__(self, settings: JudgeSettings, **more: Any) -> None:
        super().__init__(settings, path=path_of(settings), **more)


def path_of(settings: JudgeSettings) -> str:
    """Return what follows the base URL in a judge's address."""
    return PATHS[read_options(DecisionOptions, settings).form]


# ---------------------------------------------------------------- the questions
def systemone_question(question: Question) -> dict[str, Any]:
    """Return a question in System One's form.

    The options of a choice go by their name. The levels of a score are a list of descriptions,
    which the server numbers from 0.
    """
    options = question["options"]
    if question["type"] == "choice":
        criteria: Any = {option["value"]: option["description"] or None for option in options}
    else:
        criteria = [option["description"] for option in options]
        # Without descriptions, or with equal ones, only its name distinguishes a level.
        if "" in criteria or len(set(criteria)) < len(criteria):
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
    """Return a question in OpenAI's form."""
    list_name, option_name = "choices", "value"
    if question["type"] == "score":
        list_name, option_name = "levels", "label"
    listed = []
    for option in question["options"]:
        entry = {option_name: option["value"]}
        if option["description"]:
            entry["description"] = option["description"]
        listed.append(entry)
    return {"type": question["type"], "instructions": question["instructions"], list_name: listed}


# ---------------------------------------------------------------- the answers
def decoded(body: bytes, headers: Mapping[str, str], secrets: tuple[str, ...]) -> dict[str, Any]:
    """Return the object in a body. Raises Fault, also for a name that appears twice.

    NaN, which Python servers write, is kept here and refused as a probability later.
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
    """Return the answer to a question, from what the server gave and its diagnostics.

    Raises Fault where that is not an answer to this question.
    """
    answer, about = given
    if not isinstance(answer, dict):
        raise Fault("bad_answer", "The server left a question without an answer")
    if answer.get("type") == "refusal" or answer.get("refusal"):
        return Answer(None)
    if answer.get("error") is not None:
        raise Fault(
            "bad_answer",
            f"The server reports an error for this question: "
            f"{shorten(json.dumps(answer['error']), 200)}",
        )
    values = [option["value"] for option in question["options"]]
    try:
        shares = option_shares(answer, values, score=question["type"] == "score")
    except LabError as fault:
        raise Fault("bad_answer", str(fault)) from None
    mass = about.get("label_mass") if isinstance(about, dict) else None
    if not isinstance(mass, int | float) or not 0 <= mass <= 1 + SUM_MAY_MISS:
        return Answer(shares)
    return Answer(shares, min(float(mass), 1.0))


def reply_to(call: Call, questions: Sequence[Question], answers: Sequence[Answer]) -> Reply:
    """Return answers as a reply whose text names the most probable option.

    Several questions have a line each. A single one also has its options' probabilities as ``top``.
    """
    if all(answer.shares is None for answer in answers):
        return Reply(finish="refusal")
    chosen: list[Any] = []
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        if answer.shares is None:
            chosen.append(None)
        else:
            best = most_probable(answer.shares, f"{call.key}|{number}")
            chosen.append(question["options"][best]["value"])
    if len(questions) > 1:
        named = list(zip(call.ordering.labels, chosen, strict=True))
        lines = [f"[{name}] {value}" for name, value in named if value is not None]
        refused = [name for name, value in named if value is None]
        note = f"refused: {', '.join(refused)}" if refused else ""
        return Reply("\n".join(lines), note=note)
    shares, mass = answers[0]
    top = []
    for option, share in zip(questions[0]["options"], shares or (), strict=True):
        probability = max(share * max(mass, LEAST_MASS), LEAST_PROBABILITY)
        top.append((option["value"], math.log(probability)))
    return Reply(str(chosen[0]), top=tuple(top))


def tokens_by_call(page: Mapping[str, Any], calls: int) -> list[list[int | None]]:
    """Return the tokens of prompt, reply and cached prompt, each divided among the calls."""
    usage: dict[str, Any] = page["usage"] if isinstance(page.get("usage"), dict) else {}
    details = usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    counts = (usage.get("input_tokens"), usage.get("output_tokens"), cached)
    return [shared_out(count, calls) for count in counts]


def shared_out(count: Any, parts: int) -> list[int | None]:
    """Return a count in whole parts that sum to it; None for each part if it is not a count."""
    if type(count) is not int or not 0 <= count <= MAX_COUNT:
        return [None] * parts
    share, rest = divmod(count, parts)
    return [share + 1 if part < rest else share for part in range(parts)]
