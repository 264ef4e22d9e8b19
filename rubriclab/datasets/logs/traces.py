"""Exports of tracing tools: Phoenix's spans and Langfuse's observations, one call a record.

Phoenix (OpenInference): ``llm.input_messages`` and ``llm.output_messages`` among a span's attributes, as its
client's data frame writes them to JSON lines or Parquet. Langfuse: ``input`` and ``output`` of observations of
the type GENERATION, of the API (camelCase, JSON) and of the exports (snake_case, text).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubriclab.datasets.logs.exchange import FAILED, Exchange, messages_in, reply_in
from rubriclab.datasets.logs.log import LogFormat, Records, Unread, text_of
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.rows import first_row, rows
from rubriclab.datasets.logs.source import Source
from rubriclab.model.language import msg

NO_LLM = msg("the span is no call of a model")
NO_GENERATION = msg("the observation is no generation")
_TRACE = ("traceId", "trace_id")


def _is_phoenix(source: Source) -> bool:
    first = first_row(source)
    kind = _attribute(first, "openinference.span.kind") or first.get("span_kind")
    return kind is not None and ("context.span_id" in first or "context" in first or "span_id" in first)


def _phoenix(source: Source) -> Records:
    return judgments(_span(line, record) for line, record in rows(source))


def _span(line: int, record: Mapping[str, Any]) -> Exchange | Unread:
    kind = _attribute(record, "openinference.span.kind") or record.get("span_kind")
    if str(kind).upper() != "LLM":
        return Unread(line, NO_LLM)
    if record.get("status_code") == "ERROR":
        return Unread(line, FAILED)
    asked, answered = _attribute(record, "llm.input_messages"), _attribute(record, "llm.output_messages")
    return Exchange(
        line=line,
        messages=messages_in(asked) or messages_in(_attribute(record, "input.value")),
        reply=reply_in(answered) or reply_in(_attribute(record, "output.value")),
        judge=text_of(_attribute(record, "llm.model_name")),
        asked=text_of(record.get("start_time")) if isinstance(record.get("start_time"), str) else "",
    )


def _attribute(record: Mapping[str, Any], name: str) -> Any:
    """An attribute under its dotted name, or nested as OpenTelemetry's JSON has it."""
    for key in (f"attributes.{name}", name):
        if record.get(key) is not None:
            return record[key]
    value: Any = record.get("attributes")
    if isinstance(value, Mapping) and value.get(name) is not None:
        return value[name]
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _is_langfuse(source: Source) -> bool:
    first = _observation(source)
    return "type" in first and "input" in first and "output" in first and any(name in first for name in _TRACE)


def _observation(source: Source) -> Mapping[str, Any]:
    first = first_row(source)
    inner = first.get("data", first.get("observations"))
    return inner[0] if isinstance(inner, list) and inner and isinstance(inner[0], Mapping) else first


def _langfuse(source: Source) -> Records:
    first = first_row(source)
    under = next((name for name in ("data", "observations") if isinstance(first.get(name), list)), None)
    records = source.records(under) if under is not None else rows(source)
    return judgments(_generation(line, record) for line, record in records)


def _generation(line: int, record: Mapping[str, Any]) -> Exchange | Unread:
    if str(record.get("type")).upper() != "GENERATION":
        return Unread(line, NO_GENERATION)
    if record.get("level") == "ERROR":
        return Unread(line, FAILED)
    model = next((record[key] for key in _MODEL if record.get(key)), "")
    return Exchange(
        line=line,
        messages=messages_in(record.get("input")),
        reply=reply_in(record.get("output")),
        judge=text_of(model),
        asked=text_of(record.get("startTime", record.get("start_time"))),
    )


_MODEL = ("model", "providedModelName", "provided_model_name", "modelId", "model_id")

PHOENIX = LogFormat(
    msg("Phoenix: spans of calls (OpenInference), JSON lines or Parquet"),
    "context.span_id, attributes.llm.input_messages",
    _is_phoenix,
    _phoenix,
)
LANGFUSE = LogFormat(
    msg("Langfuse: exported observations"), msg("traceId or trace_id, type, input, output"), _is_langfuse, _langfuse
)
