"""Logs of evaluation tools in, what their judges were asked and answered out; the order stands in the prompt.

Forms as of inspect-ai 0.3.285 (``scorer/_model.py``), promptfoo 0.123, lm-eval 0.4.13, DeepEval 2.9 and 4.3, and OpenAI's
documented batch files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubriclab.logs.source import Reader, Record, Source, decoded

Records = Iterator[Record | str]
FAILED = "the call failed"
MOST_BESIDE = 50
"""Files of a folder that are looked at for a batch's input."""


def messages_in(value: Any) -> tuple[Mapping[str, str], ...]:
    """The messages in a field: a text, JSON of messages, a list of them, or the body of a request; parts that are no text
    are left out."""
    if isinstance(value, str):
        inner = decoded(value.encode("utf-8", "replace")) if value.lstrip()[:1] in ("{", "[") else None
        if isinstance(inner, list | dict) and (made := messages_in(inner)) and "role" in str(inner)[:20_000]:
            return made
        return ({"role": "user", "content": value},) if value.strip() else ()
    if isinstance(value, Mapping):
        inner = next((value[key] for key in ("messages", "prompt", "input") if value.get(key)), None)
        if inner is not None:
            return messages_in(inner)
        text = text_in(value.get("content"))
        return ({"role": str(value.get("role") or "user"), "content": text},) if text.strip() else ()
    parts = value if isinstance(value, list) else []
    return tuple(message for part in parts for message in messages_in(part))


def text_in(value: Any) -> str:
    """The text of a message's content or of a reply: as it is, of its parts, of its first choice, of the last message."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Mapping):
        keys = ("choices", "message", "content", "text", "output_text")
        inner = next((value[key] for key in keys if value.get(key)), None)
        if isinstance(inner, list) and "choices" in value:
            inner = inner[0]
        return text_in(inner)
    return "\n".join(filter(None, map(text_in, value))) if isinstance(value, list) else ""


def name_of(value: Any) -> str:
    """A field that may be missing as a short text in one line."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())[:300]


def figure(value: Any) -> str:
    """A number as it is written in lists of scores, 4 for 4.0; empty for anything else."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else ""


def inner_of(value: Any, *keys: str) -> Any:
    """What stands under keys, one in the other; None where one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


# ---- inspect-ai


def _is_inspect(source: Source) -> bool:
    if source.form == "zip":
        return source.has("header.json") or source.has("_journal/start.json")
    return source.form == "object" and source.has("eval", "samples")


def _inspect(source: Source) -> Records:
    header = next((name for name in ("header.json", "_journal/start.json") if source.has(name)), "")
    task = source.text(*[header] * bool(header), "eval", "task")
    for sample in source.records("samples/" if header else "samples"):
        scores = sample if isinstance(sample, str) else inner_of(sample, "scores")
        if not isinstance(scores, Mapping) or not scores:
            yield scores if isinstance(scores, str) else "the sample has no score: it failed, or was not scored"
            continue
        for score in scores.values():
            grading = inner_of(score, "metadata", "grading")
            if not isinstance(grading, list) or len(grading) < 2:
                yield "its scorer kept no prompt of a grader (metadata.grading)"
                continue
            cells = {"judge": name_of(inner_of(grading[-1], "model")), "dataset": task}
            verdict = name_of(inner_of(score, "value"))
            yield Record("", cells, messages_in(grading[:-1]), text_in(grading[-1]), verdict)


# ---- promptfoo


def _promptfoo(source: Source) -> Records:
    for result in source.records("results", "results"):
        if isinstance(result, str):
            yield result
            continue
        parts = [part for part in _components(result.get("gradingResult")) if _rendered(part)]
        if not parts:
            yield "its assertions keep no prompt of a judge" if result.get("gradingResult") else "it was not graded"
        for part in parts:
            provider = inner_of(part, "assertion", "provider")
            judge = provider if isinstance(provider, str) else inner_of(provider, "id")
            # promptfoo keeps no reply, but what it read in one.
            reply = json.dumps(
                {key: part[key] for key in ("reason", "pass", "score") if key in part}, ensure_ascii=False
            )
            yield Record("", {"judge": name_of(judge)}, messages_in(_rendered(part)), reply, figure(part.get("score")))


def _components(grading: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The parts of a grading, those of sets of assertions among them; the grading itself without any."""
    inner = inner_of(grading, "componentResults")
    if isinstance(inner, list) and inner and depth < 20:
        for part in inner:
            yield from _components(part, depth + 1)
    elif isinstance(grading, Mapping):
        yield grading


def _rendered(part: Any) -> Any:
    return inner_of(part, "metadata", "renderedGradingPrompt")


# ---- lm-eval


def _lm_eval(source: Source) -> Records:
    for sample in source.records():
        if isinstance(sample, str):
            yield sample
            continue
        asked, replies = sample.get("arguments"), sample.get("resps")
        calls = list(asked.values()) if isinstance(asked, Mapping) else asked
        call = calls[0] if isinstance(calls, list) and len(calls) == 1 else None
        prompt = (
            inner_of(call, "arg_0")
            if isinstance(call, Mapping)
            else call[0]
            if isinstance(call, list) and call
            else None
        )
        said = replies[0] if isinstance(replies, list) and replies else None
        texts = [text for text in (said if isinstance(said, list) else [said]) if isinstance(text, str)]
        if prompt is None or not texts:
            yield "a sample of likelihoods, in which no reply was written"
        filtered = sample.get("filtered_resps")
        verdict = text_in(filtered[0]) if isinstance(filtered, list) and filtered and len(texts) == 1 else ""
        for text in texts if prompt is not None else ():
            inner = prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else prompt
            yield Record("", {}, messages_in(inner), text, verdict)


# ---- DeepEval

STEPS = re.compile(r"\A\s*prompt:[ \t]*\n(.*?)[ \t]*\n[ \t]*\n?(?:reply|response|output):[ \t]*\n(.*)\Z", re.I | re.S)
"""What a metric of one's own may write into its verbose logs; DeepEval itself keeps no prompt of a judge."""


def _deepeval(source: Source) -> Records:
    for case in source.records("testCases"):
        metrics = case if isinstance(case, str) else case.get("metricsData") or case.get("metrics_data")
        if not isinstance(metrics, list) or not metrics:
            yield metrics if isinstance(metrics, str) else "the test case has no metric"
            continue
        for metric in metrics:
            logs = inner_of(metric, "verboseLogs") or inner_of(metric, "verbose_logs")
            steps = STEPS.match(logs) if isinstance(logs, str) else None
            if steps is None:
                yield "DeepEval keeps no prompt of this metric's judge"
                continue
            # What a metric asked may stand in the case as messages, roles and all.
            asked = messages_in(inner_of(case, "metadata", "messages"))
            whole = asked if asked and asked[-1]["content"].strip() == steps[1].strip() else messages_in(steps[1])
            cells = {"judge": name_of(metric.get("evaluationModel")), "task": name_of(metric.get("name"))}
            yield Record("", cells, whole, steps[2], figure(metric.get("score")))


# ---- OpenAI batch


def _batch(source: Source) -> Records:
    """The output's lines; the input that has their ids is one of the files beside it, or of its folder."""
    asked: dict[str, tuple[Path, int]] = {}
    for path in source.beside:
        with path.open("rb") as file:
            while line := file.readline():
                request = decoded(line)
                if isinstance(request, Mapping) and isinstance(request.get("body"), Mapping):
                    asked[str(request.get("custom_id"))] = path, file.tell() - len(line)
    files = {path: path.open("rb") for path in source.beside}
    try:
        for answer in source.records():
            body = answer if isinstance(answer, str) else inner_of(answer, "response", "body")
            if not isinstance(body, Mapping) or inner_of(answer, "response", "status_code") != 200:
                yield body if isinstance(body, str) else FAILED
            elif (stored := asked.get(str(answer["custom_id"]))) is None:
                yield "the batch's input with this custom_id is not beside it: name both files"
            else:
                files[stored[0]].seek(stored[1])
                request = decoded(files[stored[0]].readline())
                judge = name_of(body.get("model") or inner_of(request, "body", "model"))
                yield Record(
                    "", {"judge": judge}, messages_in(inner_of(request, "body")), text_in(body.get("output") or body)
                )
    finally:
        for file in files.values():
            file.close()


# ---- records or tables with a prompt and a reply

PROMPTS = ("prompt", "messages", "judge_prompt", "user_prompt", "input")
REPLIES = ("reply", "judge_reply", "completion", "generated_output", "judgment", "judgement", "output", "response")
JUDGES = ("judge", "judge_model", "evaluator", "model")
JUDGED = {"ordering", "order", "order_shown", "shown", "first", "second", "winner"}


def _columns(source: Source) -> Sequence[str | None]:
    """The names that prompt, reply and judge have in the records, None for none."""
    names = {str(name).strip().lower(): name for name in source.first}
    return [next((names[key] for key in keys if key in names), None) for keys in (PROMPTS, REPLIES, JUDGES)]


def _is_exchange(source: Source) -> bool:
    return None not in _columns(source)[:2] and not JUDGED & {str(name).strip().lower() for name in source.first}


def _exchanges(source: Source) -> Records:
    prompt, reply, judge = _columns(source)
    for record in source.records():
        if isinstance(record, str):
            yield record
        else:
            cells = {"judge": name_of(record.get(judge))} if judge else {}
            yield Record("", cells, messages_in(record.get(prompt)), text_in(record.get(reply)))


TOOLS = (
    Reader("inspect-ai", _is_inspect, _inspect),
    Reader(
        "promptfoo", lambda s: s.form == "object" and s.has("results") and s.has("evalId") | s.has("config"), _promptfoo
    ),
    Reader("lm-eval", lambda source: source.has("doc_id", "arguments", "resps"), _lm_eval),
    Reader("DeepEval", lambda source: source.form == "object" and source.has("testCases"), _deepeval),
    Reader("OpenAI batch", lambda source: source.form == "lines" and source.has("custom_id", "response"), _batch),
    Reader("prompts and replies", _is_exchange, _exchanges),
)
