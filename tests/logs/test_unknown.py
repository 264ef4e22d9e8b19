"""Check that logs whose form is not read are said to be unknown, with the forms that are read."""

import json
from pathlib import Path
from typing import Any

import pytest

import rubriclab as rl
from rubriclab.data.tables import read_table
from rubriclab.logs.log import read_log
from rubriclab.logs.unknown import unknown_table
from rubriclab.model.text import LabError
from rubriclab.runs.loading import plan_of_file

MESSAGES = [{"role": "user", "content": "Rate from 1 to 5."}]
LOGS: list[tuple[str, dict[str, Any]]] = [
    ("LangSmith", {"id": "1", "run_type": "llm", "inputs": {"messages": MESSAGES}, "outputs": {}}),
    (
        "LangSmith, MLflow, Weave",
        {"inputs": {"question": "Why?"}, "outputs": {"answer": "So it is."}},
    ),
    ("Weave", {"op_name": "judge", "trace_id": "t", "inputs": {"a": 1}, "output": {"score": 3}}),
    ("Phoenix", {"name": "x", "span_kind": "LLM", "attributes": {"input": {}}, "context": {}}),
    ("OpenAI evals", {"spec": {"eval_name": "x"}}),
    ("OpenAI evals", {"eval_id": "e", "run_id": "r", "results": [{"score": 1}], "sample": {}}),
    (
        "Anthropic message batches",
        {"custom_id": "1", "result": {"type": "succeeded", "message": {}}},
    ),
    ("Amazon Bedrock", {"recordId": "1", "modelInput": {}, "modelOutput": {}}),
    ("Vertex AI", {"request": {"contents": []}, "response": {"candidates": []}, "status": ""}),
    ("Langfuse", {"id": "1", "traceId": "t", "input": MESSAGES, "output": {"role": "assistant"}}),
    ("Braintrust", {"input": "x", "output": {"a": 1}, "expected": "y", "scores": {"f": 1}}),
    ("TruLens", {"app_id": "a", "record_id": "r", "input": "q", "output": {"a": 1}}),
    ("Helicone", {"request_id": "1", "request_body": {}, "response_body": {}}),
    ("Ragas", {"user_input": "q", "retrieved_contexts": ["a"], "faithfulness": 0.5}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("tool", "record"), LOGS)
def test_a_log_of_another_tool_is_unknown(
    tool: str, record: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")
    words = f"a log of .*{tool}.*, which the lab cannot read. It can read logs of inspect-ai, "
    with pytest.raises(LabError, match=words):
        rl.read(path)
    (tmp_path / "study.toml").write_text(
        '[[data]]\nfile = "log.jsonl"\n[rubric]\nname = "r"\n[[rubric.criteria]]\nname = "c"\n'
        'options = [{score = 1}, {score = 2}]\n[[judges]]\nname = "s"\nkind = "simulated"\n'
    )
    with pytest.raises(LabError, match=words):
        plan_of_file(tmp_path / "study.toml")
    with pytest.raises(LabError, match=words):
        plan_of_file(path)


def test_flat_exports_are_unknown_as_data() -> None:
    for header, tool in (
        ("context.span_id,attributes.output.value", "Phoenix"),
        ("inputs/question,outputs/answer", "MLflow"),
        ("inputs.query,outputs.score", "Azure AI evaluation"),
    ):
        table = read_table(f"{header}\nsome text,another text\n".encode(), "x.csv")
        assert tool in unknown_table(table)


def test_a_form_that_nobody_knows_is_said_to_be_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"trace": {"x": 1}, "ts": 3}\n')
    with pytest.raises(LabError, match=r"its form is not known. These are: inspect-ai, promptfoo"):
        rl.read(path)
    with pytest.raises(
        LabError, match=r"is not a study, and not a log of judgments.*reads these logs: inspect"
    ):
        plan_of_file(path)


@pytest.mark.parametrize(
    "record",
    [
        {"question": "Why?", "answer": "So it is."},
        {"input": "Why?", "output": "So it is.", "model": "m"},
        {"spec": "a text", "answer": "another text"},
        {"inputs": "Why?", "outputs": "So it is."},
        {"item_id": "a", "ordering": "1 2", "score": 1, "inputs": {"a": 1}, "outputs": {}},
    ],
)
def test_plain_tables_are_no_unknown_logs(record: dict[str, Any]) -> None:
    content = f"{json.dumps(record)}\n".encode()
    assert unknown_table(read_table(content, "x.jsonl")) == ""
    if "input" not in record:
        assert read_log(content, "x.jsonl") is None
