"""Check that batch files ask every call once and keep one final row per reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from rubriclab.judges.client import request_body
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError
from rubriclab.runs import batch
from rubriclab.runs.batch import Answers, read_batch, write_batch
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from tests.runs.kit import Scripted, ended
from tests.servers import completion
from tests.study.kit import API, EMBEDDED, small_plan

Line = dict[str, Any]


def requests_of(store: Store, plan: Plan, folder: Path) -> list[Line]:
    files, calls, _ = write_batch(store, plan, folder)
    lines = [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]
    assert len(lines) == calls
    return lines


def answer(
    request: Line, text: str | None = "3", *, status: int = 200, error: Any = None, model: str = "m"
) -> Line:
    """A line of an output file (or, with a status or an error, of an error file)."""
    body = (
        completion(text, model=model)
        if status == 200
        else {"error": {"message": "no", "code": error}}
    )
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": request["custom_id"], "response": response, "error": None}


def answers_file(path: Path, lines: list[Line | str]) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", "utf-8")
    return path


def rows_of(store: Store, run: str) -> int:
    """Final calls, each with one judgment and a key of its own."""
    calls, rows = store.calls(run), store.table(run).rows
    assert calls["key"].is_unique
    assert sorted(calls["call"]) == sorted(rows["call"])
    return len(rows)


def test_requests_are_what_a_run_would_post_and_answers_in_any_order_finish_it(
    store: Store, tmp_path: Path
) -> None:
    plan = small_plan(2)
    requests = requests_of(store, plan, tmp_path / "out")
    assert {line["custom_id"]: line["body"] for line in requests} == {
        call.key: json.loads(json.dumps(request_body(API, call))) for call in plan.calls()
    }
    assert {(line["method"], line["url"]) for line in requests} == {
        ("POST", "/v1/chat/completions")
    }
    assert store.runs() == []  # writing files asks nothing and keeps nothing
    half = [answer(line) for line in requests[::-2]]
    run, made = read_batch(store, plan, [answers_file(tmp_path / "a.jsonl", half)])
    assert (made.kept, made.left, store.run(run).state) == (20, 20, "paused")
    assert "20 left to ask" in store.run(run).reason
    rest = requests_of(store, plan, tmp_path / "rest")
    assert {line["custom_id"] for line in rest} == {line["custom_id"] for line in requests[::2]}
    # The first half again, and the other: what is known stays, nothing is there twice.
    run, made = read_batch(
        store, plan, [answers_file(tmp_path / "b.jsonl", half + [answer(line) for line in rest])]
    )
    assert (made.kept, made.known, made.left, store.run(run).state) == (20, 20, 0, "finished")
    assert rows_of(store, run) == 40
    with pytest.raises(LabError, match="all is answered"):
        write_batch(store, plan, tmp_path / "none")


def test_a_run_goes_on_with_what_a_batch_left(
    store: Store, tmp_path: Path, scripted: Scripted
) -> None:
    plan, judge = small_plan(1), scripted()
    some = [answer(line) for line in requests_of(store, plan, tmp_path / "out")[:7]]
    run, _ = read_batch(store, plan, [answers_file(tmp_path / "a.jsonl", some)])
    end = ended(Run(store, plan))
    assert (end.run, end.state, sum(judge.asked.values())) == (run, "finished", 13)
    assert rows_of(store, run) == 20


FAULTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("a reply that cannot be parsed is a row", lambda r: [answer(r, "hm")], {"kept": 1}),
    (
        "an error that would come again is a row",
        lambda r: [answer(r, status=400, error="content_filter")],
        {"kept": 1, "failed": 1},
    ),
    (
        "a refused setting says nothing of the call",
        lambda r: [
            {
                **answer(r, status=400),
                "response": {
                    "status_code": 400,
                    "body": {"error": {"message": "x", "param": "seed"}},
                },
            }
        ],
        {"again": {"bad_setting": 1}},
    ),
    ("too many requests", lambda r: [answer(r, status=429)], {"again": {"rate_limit": 1}}),
    (
        "vLLM's own error",
        lambda r: [
            {
                "custom_id": r["custom_id"],
                "response": {"status_code": 400, "body": None},
                "error": {
                    "message": "This model's maximum context length is 8 tokens",
                    "code": 400,
                },
            }
        ],
        {"kept": 1, "failed": 1},
    ),
    ("another model", lambda r: [answer(r, model="other-model")], {"again": {"wrong_model": 1}}),
    (
        "no choices",
        lambda r: [{**answer(r), "response": {"status_code": 200, "body": {}}}],
        {"again": {"empty_choices": 1}},
    ),
    ("twice", lambda r: [answer(r), answer(r, "4")], {"kept": 1, "doubled": 1}),
    (
        "an error, then its answer",
        lambda r: [answer(r, status=500), answer(r, "4")],
        {"kept": 1, "doubled": 1},
    ),
    ("foreign", lambda r: [answer(r), answer({"custom_id": "f" * 32})], {"kept": 1, "foreign": 1}),
    (
        "half a line",
        lambda r: [answer(r), json.dumps(answer(r))[:90]],
        {"kept": 1, "unreadable": ["a.jsonl, line 2"]},
    ),
    (
        "no answers",
        lambda r: [answer(r), "[" * 100_000, "\0", "{}", "7", ""],
        {"kept": 1, "unreadable": [f"a.jsonl, line {k}" for k in (2, 3, 4, 5)]},
    ),
    ("half a character", lambda r: [json.dumps(answer(r, "3 \ud83d"))], {"kept": 1}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lines", "expected"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_what_becomes_of_a_line(
    store: Store, tmp_path: Path, lines: Any, expected: dict[str, Any]
) -> None:
    plan = small_plan(1)
    fine, request, *_ = requests_of(store, plan, tmp_path / "out")
    run, made = read_batch(
        store,
        plan,
        [
            answers_file(tmp_path / "a.jsonl", lines(request)),
            answers_file(tmp_path / "b.jsonl", [answer(fine)]),
        ],
    )
    kept = expected.get("kept", 0) + 1
    assert made == Answers(**{**expected, "kept": kept, "left": 20 - kept})
    assert rows_of(store, run) == kept
    for words in [f"{kept:,} repl", *(f"({kind})" for kind in made.again), *made.unreadable[:1]]:
        assert words in made.sentence()


def test_a_failed_call_takes_a_new_answer_only_where_it_is_wanted(
    store: Store, tmp_path: Path
) -> None:
    plan = small_plan(1)
    request, *_ = requests_of(store, plan, tmp_path / "out")
    read_batch(store, plan, [answers_file(tmp_path / "a.jsonl", [answer(request, "hm")])])
    better = answers_file(tmp_path / "b.jsonl", [answer(request)])
    assert read_batch(store, plan, [better])[1].known == 1
    assert len(requests_of(store, plan, tmp_path / "rest")) == 19
    assert write_batch(store, plan, tmp_path / "again", retry_failed=True)[1] == 20
    run, made = read_batch(store, plan, [better], retry_failed=True)
    assert (made.kept, rows_of(store, run), store.run(run).failed) == (1, 1, 0)


def test_files_keep_the_limits_and_one_model_each(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = JudgeSettings(
        name="o3", kind="openai", model="o3-mini", extra={"logprobs": False}, key_env="MY_API_KEY"
    )
    plan = small_plan(1, judges=(API, other, EMBEDDED))
    assert (batch.PIECE_CALLS, batch.PIECE_BYTES) == (50_000, 200_000_000)
    monkeypatch.setattr(batch, "PIECE_CALLS", 8)
    files, calls, left_out = write_batch(store, plan, tmp_path / "calls")
    assert [len(path.read_text().splitlines()) for path in files] == [8, 8, 4, 8, 8, 4]
    assert (calls, left_out) == (40, ["small"])
    bodies = [
        [json.loads(line)["body"] for line in path.read_text().splitlines()] for path in files
    ]
    assert [{body["model"] for body in piece} for piece in bodies] == [{"m"}] * 3 + [
        {"o3-mini"}
    ] * 3
    assert all("max_completion_tokens" in body and body["logprobs"] is False for body in bodies[3])
    largest = max(len(line) + 1 for path in files for line in path.read_text().splitlines())
    monkeypatch.setattr(batch, "PIECE_BYTES", 3 * largest)
    pieces = write_batch(store, plan, tmp_path / "bytes")[0]
    assert max(path.stat().st_size for path in pieces) <= 3 * largest
    assert sum(len(path.read_text().splitlines()) for path in pieces) == 40
    with pytest.raises(LabError, match="is not empty"):
        write_batch(store, plan, tmp_path / "bytes")
    with pytest.raises(LabError, match="only judges of the kinds openai and vllm"):
        write_batch(store, small_plan(1, judges=(EMBEDDED,)), tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        ("", "is empty"),
        ("PK\x03\x04 no answers\n", "No answer belongs"),
        (json.dumps({"custom_id": "x", "response": None}) + "\n", "1 of no call of this study"),
    ],
)
def test_a_file_that_is_not_of_the_study_leaves_nothing(
    store: Store, tmp_path: Path, content: Any, words: str
) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(LabError, match=words):
        read_batch(store, small_plan(1), [path])
    assert store.runs() == []
