"""Read what judges were asked and answered in the logs of evaluation tools.

These logs have the order only in the prompt; ``exchanges`` finds it there. The forms are those of
inspect-ai 0.3.285 (``scorer/_model.py``), promptfoo 0.123, lm-eval 0.4.13, DeepEval 2.9 and 4.3,
and OpenAI's documented batch files.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rubriclab.logs.source import MAX_RECORD, Json, Reader, Record, Source, decoded, name_of, under
from rubriclab.logs.typed_questions import decisions_in, promptfoo_decisions

Messages = tuple[Mapping[str, str], ...]
Records = Iterator[Record | str]
STEPS = re.compile(
    r"\A\s*prompt:[ \t]*\n(.*?)\s*(?:\n\s*(?:reply|response|output):[ \t]*\n(.*))?\Z", re.I | re.S
)
"""The prompt and the reply in DeepEval's verbose logs.

DeepEval itself keeps no prompt of a judge, but a user's own metric may write these steps.
"""
LOOKED_AT = 20_000
"""Characters of a text in which we look for messages, so that a long text costs no parsing."""
PROMPTS = ("prompt", "messages", "judge_prompt", "user_prompt", "input")
REPLIES = (
    "reply",
    "judge_reply",
    "completion",
    "generated_output",
    "judgment",
    "judgement",
    "output",
    "response",
)
FINISHES = ("finish_reason", "stop_reason", "finish")
JUDGES = ("judge", "judge_model", "evaluator", "model")
"""PROMPTS, REPLIES, FINISHES, JUDGES: names of a table's columns, the most telling first."""
SPOKEN = ("text", "output_text", "input_text", "message")
"""Types of a message's parts that are text of the message; reasoning has other types."""
HELD = ("message", "content", "text", "output_text", "output")
"""Where an object keeps its text, in the order in which we look."""
JUDGED = {"ordering", "order", "order_shown", "shown", "first", "second", "winner"}
"""Columns that only a table of judgments has, which ``data/scores.py`` reads."""


def messages_in(value: Any) -> Messages:
    """Return the messages in a field, without those that have no text.

    The field may be a text, JSON of messages, a list of them, or the body of a request.
    """
    if isinstance(value, str):
        inner = messages_in(_parsed(value)) if '"content"' in value[:LOOKED_AT] else ()
        return inner or _message("user", value)
    if isinstance(value, list):
        return tuple(message for part in value for message in messages_in(part))
    if not isinstance(value, Mapping):
        return ()
    for key in ("messages", "prompt", "input"):
        if value.get(key):
            return messages_in(value[key])
    return _message(name_of(value.get("role")) or "user", text_in(value.get("content")))


def _message(role: str, text: str) -> Messages:
    """Return one message; none for a text of blanks."""
    return ({"role": role, "content": text},) if text.strip() else ()


def text_in(value: Any) -> str:
    """Return the text of a message's content or of a reply.

    It may be a text, a list of parts, an object that holds it, or choices, whose first one counts.
    """
    if isinstance(value, str):
        inner = _parsed(value)
        return text_in(inner) if under(inner, "choices") or under(inner, "content") else value
    if isinstance(value, list):
        texts = [text_in(part) for part in value]
        return "\n".join(text for text in texts if text)
    if not isinstance(value, Mapping):
        return name_of(value)
    if value.get("type", "text") not in SPOKEN and "choices" not in value:
        return ""  # reasoning, a tool, an image
    choices = value.get("choices")
    if isinstance(choices, list) and choices:
        return text_in(choices[0])
    held = [value[key] for key in HELD if value.get(key)]
    return text_in(held[0]) if held else ""


def finish_in(value: Any) -> str:
    """Return why a completion in a log ended, in its server's word; "" where the log has none."""
    if isinstance(value, str):
        value = _parsed(value)
    first = under(value, "choices", 0) or value
    if under(first, "error") or under(value, "error"):
        return "error"
    for name in ("finish_reason", "stop_reason", "finishReason"):
        if reason := name_of(under(first, name)):
            return reason
    status = name_of(under(value, "status"))
    if status in ("incomplete", "failed", "cancelled"):
        return name_of(under(value, "incomplete_details", "reason")) or status
    return ""


def _parsed(text: str) -> Any:
    """Return the value of a text that is a JSON object or list; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    return decoded(text.encode("utf-8", "replace"))


def _inspect(sample: Json, _: Source) -> Records:
    """Yield the judgments of an inspect-ai sample: one per scorer, or one per typed question."""
    scores = sample.get("scores")
    if not isinstance(scores, Mapping) or not scores:
        yield "the sample has no score: it failed, or was not scored"
        return
    for score in scores.values():
        kept = under(score, "metadata")
        typed = _typed_questions(kept)
        if typed is not None:
            yield from decisions_in(typed, typed)
            continue
        match under(kept, "grading"):
            case [first, *more, answer]:
                yield Record(
                    cells={"judge": name_of(under(answer, "model"))},
                    prompt=messages_in([first, *more]),
                    reply=text_in(answer),
                    verdict=name_of(under(score, "value")),
                    finish=finish_in(kept) or finish_in(answer),
                )
            case _:
                yield "its scorer kept no prompt of a grader (metadata.grading)"


def _typed_questions(kept: Any) -> Any:
    """Return what holds typed questions and their answers: a score's metadata or a part of it."""
    holders = [kept]
    if isinstance(kept, Mapping):
        holders += kept.values()
    for holder in holders:
        if under(holder, "questions") and under(holder, "answers"):
            return holder
    return None


def _promptfoo(result: Json, log: Source) -> Records:
    """Yield the judgments of a promptfoo result: one per assertion that a model grades."""
    provider = under(result, "provider", "id") or under(result, "provider")
    if ":decisions:" in name_of(provider):
        yield from promptfoo_decisions(result, log)
        return
    found = False
    parts: list[Any] = [result.get("gradingResult")]
    while parts:  # a set of assertions has parts of its own
        part = parts.pop(0)
        parts += under(part, "componentResults") or []
        prompt = under(part, "metadata", "renderedGradingPrompt")
        if not prompt:
            continue
        found = True
        judge = under(part, "assertion", "provider", "id") or under(part, "assertion", "provider")
        # promptfoo keeps no reply, only what it parsed from one.
        parsed = {key: part[key] for key in ("reason", "pass", "score") if key in part}
        yield Record(
            cells={"judge": name_of(judge)},
            prompt=messages_in(prompt),
            reply=json.dumps(parsed, ensure_ascii=False),
            verdict=name_of(part.get("score")),
        )
    if not found:
        yield "its assertions keep no prompt of a judge"


def _lm_eval(sample: Json, _: Source) -> Records:
    """Yield the judgments of an lm-eval sample: one per generated reply."""
    calls = sample["arguments"]
    calls = [*calls.values()] if isinstance(calls, Mapping) else calls
    prompt = under(calls, 0, "arg_0") or under(calls, 0, 0)
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    given = under(sample, "resps", 0)
    given = given if isinstance(given, list) else [given]
    replies = [text for text in given if isinstance(text, str)]
    if not prompt or not replies or len(calls) != 1:
        yield "a sample of likelihoods, in which no reply was written"
        return
    # lm-eval filters all replies to one verdict, which belongs to none of several.
    verdict = text_in(under(sample, "filtered_resps", 0)) if len(replies) == 1 else ""
    for reply in replies:
        yield Record(prompt=messages_in(prompt), reply=reply, verdict=verdict)


def _deepeval(case: Json, _: Source) -> Records:
    """Yield the judgments of a DeepEval test case: one per metric that logs its steps."""
    for metric in case.get("metricsData") or [{}]:
        logs = under(metric, "verboseLogs")
        steps = STEPS.match(logs) if isinstance(logs, str) else None
        if steps is None:
            yield "DeepEval keeps no prompt of this metric's judge"
            continue
        cells = {
            "judge": name_of(metric.get("evaluationModel")),
            "task": name_of(metric.get("name")),
        }
        reply = (steps[2] or text_in(metric.get("reason"))).strip()
        yield Record("", cells, messages_in(steps[1]), reply, name_of(metric.get("score")))


@dataclass(frozen=True)
class _Request:
    """Where a request of a batch is. start: the first byte of its line."""

    file: Path
    start: int


@lru_cache(maxsize=1)
def _requests(files: tuple[Path, ...]) -> dict[str, _Request]:
    """Return where each request of a batch's inputs begins, by its custom_id.

    Only places are kept: an input may be as large as the memory.
    """
    asked = {}
    for path in files:
        if not path.is_file():
            continue
        with path.open("rb") as file:
            start = 0
            request = decoded(file.readline(MAX_RECORD))
            # Stop at a line that is not a request: the file is not an input, or has ended.
            while isinstance(under(request, "body"), Mapping):
                asked[name_of(request.get("custom_id"))] = _Request(path, start)
                start = file.tell()
                request = decoded(file.readline(MAX_RECORD))
    return asked


def _batch(answer: Json, source: Source) -> Records:
    """Yield the judgment of a line of an OpenAI batch's output; its prompt is in the input."""
    if "response" not in answer:
        yield "it is a request: import the batch's output, with this input in its folder"
        return
    body = under(answer, "response", "body")
    if not isinstance(body, Mapping) or under(answer, "response", "status_code") != 200:
        yield "the call failed"
        return
    place = _requests(source.siblings).get(name_of(answer.get("custom_id")))
    if place is None:
        yield "the batch's input, which has its prompt, is not in the same folder"
        return
    with place.file.open("rb") as file:
        file.seek(place.start)
        request = under(decoded(file.readline()), "body")
    cells = {"judge": name_of(body.get("model"))}
    yield Record("", cells, messages_in(request), text_in(body), finish=finish_in(body))


def _column(record: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the record's column that has the first of these names; None if it has none."""
    known = {str(name).strip().lower(): name for name in record}
    for name in names:
        if name in known:
            return known[name]
    return None


def _field(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the content of the column that has the first of these names; "" if there is none."""
    column = _column(record, names)
    return "" if column is None else record[column] or ""


def _is_exchange(source: Source) -> bool:
    """Return whether records have a prompt and a reply, and are not judgments already."""
    if source.form not in ("lines", "json", "table"):
        return False
    first = source.first
    if any(_column(first, (name,)) for name in JUDGED):
        return False
    return _column(first, PROMPTS) is not None and _column(first, REPLIES) is not None


def _exchange(record: Json, _: Source) -> Records:
    """Yield the judgment of a record with a prompt and a reply, whichever tool wrote it."""
    reply = _field(record, REPLIES)
    yield Record(
        cells={"judge": name_of(_field(record, JUDGES))},
        prompt=messages_in(_field(record, PROMPTS)),
        reply=text_in(reply),
        finish=name_of(_field(record, FINISHES)) or finish_in(reply),
    )


def _is_wire(log: Source) -> bool:
    """Return whether records are requests with typed questions and their responses."""
    asked = under(log.first, "request", "questions")
    return bool(asked and under(log.first, "response", "answers"))


TOOLS = (
    Reader(
        "inspect-ai",
        lambda log: log.has("eval", "samples") or log.has("_journal/start.json"),
        _inspect,
        ("samples",),
    ),
    Reader(
        "promptfoo", lambda log: log.has("results", "config"), _promptfoo, ("results", "results")
    ),
    Reader("lm-eval", lambda log: log.has("doc_id", "arguments", "resps"), _lm_eval),
    Reader("DeepEval", lambda log: log.has("testCases"), _deepeval, ("testCases",)),
    Reader(
        "OpenAI batch",
        lambda log: log.has("custom_id", "response") or log.has("custom_id", "body"),
        _batch,
    ),
)
DECISIONS = Reader(
    "typed questions",
    _is_wire,
    lambda record, _: decisions_in(record.get("request"), record.get("response")),
)
"""Lines of ``{"request": …, "response": …}`` as they went over the wire."""
EXCHANGES = Reader("prompts and replies", _is_exchange, _exchange)
