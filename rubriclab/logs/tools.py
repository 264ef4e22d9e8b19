"""Read what judges were asked and answered in the logs of evaluation tools.

In these logs the order is in the prompt alone; ``exchanges`` finds it there. The forms are those
of inspect-ai 0.3.285 (``scorer/_model.py``), promptfoo 0.123, lm-eval 0.4.13, DeepEval 2.9 and 4.3,
and OpenAI's documented batch files.
"""

import json
import re
from collections.abc import Iterator, Mapping
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
"""What a metric of one's own may write into DeepEval's verbose logs, which itself keeps no prompt
of a judge.
"""
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
SPOKEN = ("text", "output_text", "input_text", "message")
"""Types of parts of a message whose words count; reasoning is of other types."""
JUDGES = ("judge", "judge_model", "evaluator", "model")
JUDGED = {"ordering", "order", "order_shown", "shown", "first", "second", "winner"}


def messages_in(value: Any) -> Messages:
    """The messages in a field: a text, JSON of messages, a list of them, or the body of a request,
    without what is no text.
    """
    if isinstance(value, str):
        inner = messages_in(_parsed(value)) if '"content"' in value[:20_000] else ()
        return inner or (({"role": "user", "content": value},) if value.strip() else ())
    if isinstance(value, Mapping):
        if body := next(
            (value[key] for key in ("messages", "prompt", "input") if value.get(key)), None
        ):
            return messages_in(body)
        text = text_in(value.get("content"))
        return (
            ({"role": name_of(value.get("role")) or "user", "content": text},)
            if text.strip()
            else ()
        )
    return (
        tuple(message for part in value for message in messages_in(part))
        if isinstance(value, list)
        else ()
    )


def text_in(value: Any) -> str:
    """The text of a message's content or of a reply: as it is, of its parts, of its first
    choice.
    """
    if isinstance(value, str):
        inner = _parsed(value)
        return text_in(inner) if under(inner, "choices") or under(inner, "content") else value
    if isinstance(value, Mapping):
        if value.get("type", "text") not in SPOKEN and "choices" not in value:
            return ""  # reasoning, a tool, an image
        inner = value.get("choices")
        keys = ("message", "content", "text", "output_text", "output")
        part = (
            inner[0]
            if isinstance(inner, list) and inner
            else next(filter(None, map(value.get, keys)), None)
        )
        return text_in(part)
    return (
        "\n".join(filter(None, map(text_in, value))) if isinstance(value, list) else name_of(value)
    )


def finish_in(value: Any) -> str:
    """Return why a completion or an answer in a log ended, as its server said it; "" where the log
    does not say.
    """
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
    return decoded(text.encode("utf-8", "replace")) if text.lstrip()[:1] in ("{", "[") else None


def _inspect(sample: Json, _: Source) -> Records:
    scores = sample.get("scores")
    if not isinstance(scores, Mapping) or not scores:
        yield "the sample has no score: it failed, or was not scored"
        return
    for score in scores.values():
        kept = under(score, "metadata")
        holders = [kept, *(kept.values() if isinstance(kept, Mapping) else ())]
        # A scorer of typed questions keeps both, there or in a part of its own.
        if decided := next(
            (part for part in holders if under(part, "questions") and under(part, "answers")), None
        ):
            yield from decisions_in(decided, decided)
            continue
        match under(kept, "grading"):
            case [first, *more, answer]:
                cells = {"judge": name_of(under(answer, "model"))}
                yield Record(
                    "",
                    cells,
                    messages_in([first, *more]),
                    text_in(answer),
                    name_of(under(score, "value")),
                    finish=finish_in(kept) or finish_in(answer),
                )
            case _:
                yield "its scorer kept no prompt of a grader (metadata.grading)"


def _promptfoo(result: Json, log: Source) -> Records:
    if ":decisions:" in name_of(under(result, "provider", "id") or under(result, "provider")):
        yield from promptfoo_decisions(result, log)
        return
    parts: list[Any] = [result.get("gradingResult")]
    asked = 0
    while parts:  # sets of assertions hold parts of their own
        part = parts.pop(0)
        parts += under(part, "componentResults") or []
        if prompt := under(part, "metadata", "renderedGradingPrompt"):
            asked += 1
            judge = under(part, "assertion", "provider", "id") or under(
                part, "assertion", "provider"
            )
            # No reply is kept, but what promptfoo read in one.
            read = {key: part[key] for key in ("reason", "pass", "score") if key in part}
            reply = json.dumps(read, ensure_ascii=False)
            yield Record(
                "",
                {"judge": name_of(judge)},
                messages_in(prompt),
                reply,
                name_of(part.get("score")),
            )
    if not asked:
        yield "its assertions keep no prompt of a judge"


def _lm_eval(sample: Json, _: Source) -> Records:
    calls, said = sample["arguments"], under(sample, "resps", 0)
    calls = [*calls.values()] if isinstance(calls, Mapping) else calls
    prompt = under(calls, 0, "arg_0") or under(calls, 0, 0)
    prompt = prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else prompt
    replies = [
        text for text in (said if isinstance(said, list) else [said]) if isinstance(text, str)
    ]
    if not prompt or not replies or len(calls) != 1:
        yield "a sample of likelihoods, in which no reply was written"
        return
    verdict = text_in(under(sample, "filtered_resps", 0)) if len(replies) == 1 else ""
    for reply in replies:
        yield Record("", {}, messages_in(prompt), reply, verdict)


def _deepeval(case: Json, _: Source) -> Records:
    for metric in case.get("metricsData") or [{}]:
        logs = under(metric, "verboseLogs")
        if (steps := STEPS.match(logs) if isinstance(logs, str) else None) is None:
            yield "DeepEval keeps no prompt of this metric's judge"
            continue
        cells = {
            "judge": name_of(metric.get("evaluationModel")),
            "task": name_of(metric.get("name")),
        }
        reply = (steps[2] or text_in(metric.get("reason"))).strip()
        yield Record("", cells, messages_in(steps[1]), reply, name_of(metric.get("score")))


@lru_cache(maxsize=1)
def _requests(files: tuple[Path, ...]) -> dict[str, tuple[Path, int]]:
    """Where each request of a batch's inputs begins, by its custom_id."""
    asked = {}
    for path in filter(Path.is_file, files):
        with path.open("rb") as file:
            start = 0
            # A file whose first line is no request is none of a batch's inputs.
            while isinstance(under(request := decoded(file.readline(MAX_RECORD)), "body"), Mapping):
                asked[name_of(request.get("custom_id"))] = path, start
                start = file.tell()
    return asked


def _batch(answer: Json, source: Source) -> Records:
    if "response" not in answer:
        yield "it is a request: import the batch's output, with this input in its folder"
        return
    body = under(answer, "response", "body")
    path, start = _requests(source.siblings).get(name_of(answer.get("custom_id")), (None, 0))
    if not isinstance(body, Mapping) or under(answer, "response", "status_code") != 200:
        yield "the call failed"
    elif path is None:
        yield "the batch's input, which has its prompt, does not lie beside it, in the same folder"
    else:
        with path.open("rb") as file:
            file.seek(start)
            request = under(decoded(file.readline()), "body")
        cells = {"judge": name_of(body.get("model"))}
        yield Record("", cells, messages_in(request), text_in(body), finish=finish_in(body))


def _column(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    known = {str(name).strip().lower(): name for name in record}
    return next((known[name] for name in names if name in known), None)


def _is_exchange(source: Source) -> bool:
    first = source.first if source.form in ("lines", "json", "table") else {}
    judged = any(_column(first, (name,)) for name in JUDGED)
    return (
        _column(first, PROMPTS) is not None and _column(first, REPLIES) is not None and not judged
    )


def _exchange(record: Json, _: Source) -> Records:
    prompt, reply, judge = (
        record.get(_column(record, names) or "") for names in (PROMPTS, REPLIES, JUDGES)
    )
    finish = name_of(record.get(_column(record, FINISHES) or "")) or finish_in(reply)
    cells = {"judge": name_of(judge)}
    yield Record("", cells, messages_in(prompt), text_in(reply), finish=finish)


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
    lambda log: bool(
        under(log.first, "request", "questions") and under(log.first, "response", "answers")
    ),
    lambda record, _: decisions_in(record.get("request"), record.get("response")),
)
"""Lines of ``{"request": …, "response": …}`` as they went over the wire."""
EXCHANGES = Reader("prompts and replies", _is_exchange, _exchange)
