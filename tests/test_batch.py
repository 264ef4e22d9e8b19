"""Batch files out, answers in: what is written, and what becomes of every kind of answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rubriclab.__main__ import main
from rubriclab.judges.client import ChatClient
from rubriclab.judges.reading import MAX_TEXT
from rubriclab.model import Judge, LabError, Reply, Sampling, Strategy
from rubriclab.runs.answer_files import BatchError, answer_row, answer_table, read_answer, write_answers
from rubriclab.runs.answers import import_answers
from rubriclab.runs.batch import write_batch
from rubriclab.store import RunWriter, Store
from rubriclab.study.plan import Plan, plan
from tests.labkit import study
from tests.servers import SteadyServer, completion, running, token_entry

SERVER = Judge(
    "server",
    "vllm",
    "test-model",
    base_urls=("http://127.0.0.1:9/v1",),
    key_env="BATCH_TEST_API_KEY",
    sampling=Sampling(temperature=0.5, seed=3, extra={"structured_outputs": {"choice": ["1"]}}),
)
OTHER = Judge("other/judge é", "openai", "gpt-5-nano", base_urls=("https://api.invalid/v1",))
LOCAL = Judge("sim", "simulated", "simulated")


def prepared(*judges: Judge, items: int = 2) -> Plan:
    return plan(study(items, judges=judges or (SERVER,), strategies=(Strategy("balanced"),)))


def requests(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.rglob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def answered(key: str, text: str = "4", **more: Any) -> dict[str, Any]:
    """A line of the OpenAI Batch API's output."""
    body = completion(text, logprobs=[token_entry(text, {text: -0.1, "1": -3.0})])
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": key, "response": response, "error": None, **more}


def openai_error(key: str, status: int, message: str, **more: Any) -> dict[str, Any]:
    body = {"error": {"message": message, **more}}
    return {"custom_id": key, "response": {"status_code": status, "body": body}, "error": None}


def vllm_error(key: str, status: int, message: str, **more: Any) -> dict[str, Any]:
    """The form of ``vllm run-batch``: no body, the error beside the response."""
    error = {"error": {"message": message, "type": "BadRequestError", "code": status, **more}}
    return {"custom_id": key, "response": {"status_code": status, "body": None}, "error": error}


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def keys(ready: Plan) -> list[str]:
    return [call.key for call in ready.calls()]


# ---------------------------------------------------------------- out


def test_every_call_in_parts_with_the_client_s_own_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH_TEST_API_KEY", "very-secret-value")
    ready = prepared()
    with Store(":memory:") as store:
        exported = write_batch(store, ready, tmp_path / "out", part_size=8)
        assert store.runs() == ()  # nothing was asked, so there is no run
    lines = requests(tmp_path / "out")
    assert [line["custom_id"] for line in lines] == keys(ready)
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    assert [part.calls for part in exported.judges[0].parts] == [8, 8, 4]
    # The same bytes' meaning as over the wire.
    with running(SteadyServer()) as server:
        judge = Judge(**{**_fields(SERVER), "base_urls": (server.base_url,)})

        async def ask() -> None:
            async with ChatClient(judge) as client:
                for call in ready.calls():
                    await client.ask(call)

        asyncio.run(ask())
    assert [line["body"] for line in lines] == server.bodies
    written = "".join(p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert "very-secret-value" not in written
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert (manifest["calls"], manifest["judged"], manifest["planned"]) == (20, 0, 20)


def _fields(judge: Judge) -> dict[str, Any]:
    return {name: getattr(judge, name) for name in Judge.__dataclass_fields__}


def test_one_folder_a_judge_and_none_for_those_inside_the_lab(tmp_path: Path) -> None:
    with Store(":memory:") as store:
        exported = write_batch(store, prepared(SERVER, LOCAL, OTHER), tmp_path / "out")
    assert [judge.folder for judge in exported.judges] == ["01-server", "03-other-judge"]
    assert list(exported.left_out) == ["sim"]
    models = {line["body"]["model"] for line in requests(tmp_path / "out/03-other-judge")}
    assert models == {"gpt-5-nano"}
    assert "max_completion_tokens" in requests(tmp_path / "out/03-other-judge")[0]["body"]


def test_only_what_is_not_judged_yet(tmp_path: Path) -> None:
    ready = prepared()
    first, second, *rest = keys(ready)
    lines = [answered(first), vllm_error(second, 400, "maximum context length is 8 tokens")]
    with Store(":memory:") as store:
        import_answers(store, ready, [write_lines(tmp_path / "a.jsonl", lines)])
        exported = write_batch(store, ready, tmp_path / "out")
        assert exported.judged == 2
        assert [line["custom_id"] for line in requests(tmp_path / "out")] == rest
        write_batch(store, ready, tmp_path / "again", again=True)
        assert [line["custom_id"] for line in requests(tmp_path / "again")] == [second]


def test_parts_keep_below_the_size_the_api_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.runs.batch.MAX_PART_BYTES", 4_000)
    with Store(":memory:") as store:
        exported = write_batch(store, prepared(), tmp_path / "out")
    parts = exported.judges[0].parts
    assert len(parts) > 1
    assert all(part.bytes <= 4_000 for part in parts)
    assert sum(part.calls for part in parts) == 20
    for part in parts:
        assert (tmp_path / "out" / part.file).stat().st_size == part.bytes


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("x")
    with Store(":memory:") as store:
        with pytest.raises(BatchError, match="is not empty"):
            write_batch(store, prepared(), tmp_path / "full")
        with pytest.raises(BatchError, match="only judges of kind simulated"):
            write_batch(store, prepared(LOCAL), tmp_path / "out")
        with pytest.raises(BatchError, match="50,000"):
            write_batch(store, prepared(), tmp_path / "out", part_size=50_001)
        (tmp_path / "file").write_text("x")
        with pytest.raises(BatchError, match="cannot be written"):
            write_batch(store, prepared(), tmp_path / "file")


# ---------------------------------------------------------------- in


def test_answers_become_the_judgments_of_a_run(tmp_path: Path) -> None:
    ready = prepared()
    file = write_lines(tmp_path / "a.jsonl", [answered(key) for key in reversed(keys(ready))])
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [file])
        assert (taken.kept, taken.left, taken.finished) == (20, 0, True)
        assert store.run(taken.run).state == "finished"
        frame = store.frame(taken.run, probabilities=True)
        assert set(frame.judgments["score"]) == {4.0}
        # exp(-0.1) on label 4 and exp(-3) on label 1, renormalised: 0.9479 and 0.0521.
        assert frame.probabilities is not None
        assert np.nanmax(frame.probabilities, axis=1) == pytest.approx([0.9479] * 20, abs=1e-3)
        again = import_answers(store, ready, [file])
        assert (again.kept, again.known, again.left) == (0, 20, 0)


def test_every_answer_is_counted_once(tmp_path: Path) -> None:
    ready = prepared()
    k = keys(ready)
    lines = [answered(k[0], "5"), answered(k[0], "1"), answered("0" * 32), answered(k[1])]
    file = write_lines(tmp_path / "a.jsonl", lines)
    cut = json.dumps(answered(k[2]))
    file.write_text(file.read_text() + '[1]\n{"custom_id": 7}\n\n' + cut[: len(cut) // 2])
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [file])
        assert (taken.answers, taken.kept, taken.duplicates, taken.unknown, taken.unreadable) == ((7, 2, 1, 1, 3))
        assert taken.places == ("a.jsonl, line 5", "a.jsonl, line 6", "a.jsonl, line 7")
        info = store.run(taken.run)
        assert info.state == "paused"
        assert "18 calls are left to ask" in info.reason
        assert "1 answer belongs to no call" in info.reason
        assert store.archive_frame(taken.run)["score"].max() == 5  # the first answer counted
        left = write_batch(store, ready, tmp_path / "out")
        assert left.calls == 18


CALL_FAULTS = {
    "context_overflow": lambda k: vllm_error(k, 400, "too long", param="input_tokens"),
    "content_filter": lambda k: openai_error(k, 400, "no", code="content_filter"),
    "bad_request": lambda k: openai_error(k, 400, "top_p must be below 1"),
}
ROUTE_FAULTS = {
    "rate_limit": lambda k: openai_error(k, 429, "slow down"),
    "quota": lambda k: openai_error(k, 429, "no credit", code="insufficient_quota"),
    "auth": lambda k: openai_error(k, 401, "wrong key"),
    "not_found": lambda k: vllm_error(k, 404, "The model `x` does not exist."),
    "server_error": lambda k: openai_error(k, 500, "oops"),
    "unavailable": lambda k: {
        "custom_id": k,
        "response": None,
        "error": {"code": "batch_expired", "message": "This request could not be executed."},
    },
    "bad_json": lambda k: {"custom_id": k, "response": {"status_code": 200}, "error": None},
    "empty_choices": lambda k: {
        "custom_id": k,
        "response": {"status_code": 200, "body": {"choices": []}},
        "error": None,
    },
    "wrong_model": lambda k: {
        "custom_id": k,
        "response": {"status_code": 200, "body": completion("4", model="quite-another")},
        "error": None,
    },
}


@pytest.mark.parametrize("kind", [*CALL_FAULTS, *ROUTE_FAULTS])
def test_faults_of_the_call_are_recorded_and_faults_of_the_route_are_not(kind: str, tmp_path: Path) -> None:
    ready = prepared()
    first, second, *_ = keys(ready)
    make: Callable[[str], dict[str, Any]] = {**CALL_FAULTS, **ROUTE_FAULTS}[kind]
    file = write_lines(tmp_path / "a.jsonl", [make(first), answered(second)])
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [file])
        rows = store.archive_frame(taken.run).set_index("key")
        if kind in CALL_FAULTS:
            assert (taken.failed, taken.unasked, taken.kept) == ({kind: 1}, {}, 2)
            assert rows.loc[first, "kind"] == kind
        else:
            assert (taken.failed, taken.unasked, taken.kept) == ({}, {kind: 1}, 1)
            assert first not in rows.index
            assert kind in store.run(taken.run).reason


def test_a_later_answer_takes_the_place_of_a_fault(tmp_path: Path) -> None:
    ready = prepared()
    first, second, third, *_ = keys(ready)
    failing = [ROUTE_FAULTS["server_error"](first), CALL_FAULTS["bad_request"](second)]
    bad = write_lines(tmp_path / "bad.jsonl", [*failing, answered(third)])
    good = write_lines(tmp_path / "good.jsonl", [answered(first), answered(second)])
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [bad, good])  # within one import: no passing fault wins
        assert (taken.kept, taken.duplicates, taken.failed) == (3, 2, {"bad_request": 1})
        taken = import_answers(store, ready, [good])  # later: an error row gives way to an answer
        assert (taken.kept, taken.replaced, taken.known) == (1, 1, 1)
        counts = store.outcome_counts(taken.run)
        assert (counts["ok"], counts["error"]) == (3, 0)
        again = import_answers(store, ready, [bad])  # and an answer never to an error
        assert (again.kept, again.known, again.unasked) == (0, 3, {})


def test_files_that_are_no_answers(tmp_path: Path) -> None:
    ready = prepared()
    with Store(":memory:") as store:
        with pytest.raises(BatchError, match="cannot be read: No such file"):
            import_answers(store, ready, [tmp_path / "none.jsonl"])
        (tmp_path / "empty").mkdir()
        with pytest.raises(BatchError, match="No answer files in"):
            import_answers(store, ready, [tmp_path / "empty"])
        write_batch(store, ready, tmp_path / "out")
        with pytest.raises(BatchError, match="holds requests, not answers"):
            import_answers(store, ready, sorted((tmp_path / "out").rglob("*.jsonl")))
        other = write_lines(tmp_path / "other.jsonl", [answered("f" * 32)])
        with pytest.raises(BatchError, match="None of the answers \\(1\\) belongs to study"):
            import_answers(store, ready, [other])
        assert store.runs() == ()  # none of this made a run
        (tmp_path / "x.parquet").write_text("no")
        with pytest.raises(BatchError, match="is not a readable Parquet file"):
            import_answers(store, ready, [tmp_path / "x.parquet"])
        pq.write_table(pa.table({"id": ["a"]}), tmp_path / "y.parquet")
        with pytest.raises(BatchError, match="needs key and text"):
            import_answers(store, ready, [tmp_path / "y.parquet"])


def test_answer_tables_bring_everything_a_reply_holds(tmp_path: Path) -> None:
    ready = prepared()
    calls = list(ready.calls())
    replies = {
        calls[0].key: Reply(
            text="2",
            tokens_in=9,
            tokens_out=1,
            cached_tokens=4,
            latency=0.25,
            attempts=2,
            top_tokens=(("2", -0.5), ("3", -1.0)),
            model="test-model",
        ),
        calls[1].key: Reply(finish="error", error="cut", kind="bad_json", retryable=True),
        calls[2].key: Reply(finish="error", error="long", kind="context_overflow"),
        calls[3].key: Reply(text="3", model="quite-another"),
    }
    table = answer_table([answer_row(key, reply) for key, reply in replies.items()])
    write_answers(tmp_path / "a.parquet", table)
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [tmp_path])
        assert taken.unasked == {"bad_json": 1, "wrong_model": 1}
        assert taken.failed == {"context_overflow": 1}
        rows = store.archive_frame(taken.run).set_index("key")
        same = Store(":memory:")
        with same, _writer(same, ready) as writer:
            for call in (calls[0], calls[2]):
                writer.put(ready.read(call, replies[call.key]))
            writer.flush()
            straight = same.archive_frame(writer.run).set_index("key")
    columns = [name for name in straight.columns if name not in ("asked", "call")]
    assert rows[columns].astype(str).equals(straight[columns].astype(str))


def _writer(store: Store, ready: Plan) -> Any:
    from contextlib import closing

    return closing(RunWriter(store, store.open_run(ready, {}).run))


def test_key_and_text_are_a_table_enough(tmp_path: Path) -> None:
    ready = prepared()
    table = pa.table({"key": keys(ready), "text": ["5"] * 20})
    pq.write_table(table, tmp_path / "plain.parquet")
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [tmp_path / "plain.parquet"])
        assert (taken.kept, taken.left) == (20, 0)
        assert store.outcome_counts(taken.run)["ok"] == 20


@pytest.mark.slow
def test_odd_answers_are_made_storable_by_every_route(tmp_path: Path) -> None:
    ready = prepared()
    one, two, three, four, *rest = keys(ready)
    half = answered(one)
    half["response"]["body"]["choices"][0]["message"]["content"] = "4 \ud83d"
    counts = answered(two)
    usage = {"prompt_tokens": 2**40, "completion_tokens": True}
    counts["response"]["body"]["usage"] = usage
    leak = openai_error(three, 400, "Bearer sk-0123456789abcdef \udc00")
    long = answered(four, "x" * (MAX_TEXT + 1))
    lines = write_lines(tmp_path / "a.jsonl", [half, counts, leak, long])
    schema = pa.schema(
        [("key", pa.string()), ("text", pa.string()), ("tokens_in", pa.int64()), ("latency", pa.float64())]
    )
    odd = {"key": rest[0], "text": "4", "tokens_in": 2**40, "latency": float("nan")}
    pq.write_table(pa.Table.from_pylist([odd], schema=schema), tmp_path / "b.parquet")
    with Store(tmp_path / "s.duckdb") as store:
        taken = import_answers(store, ready, [lines, tmp_path / "b.parquet"])
        assert (taken.kept, dict(taken.failed)) == (5, {"bad_request": 1, "too_large": 1})
        rows = store.archive_frame(taken.run).set_index("key")
    assert rows.at[one, "text"] == "4 \ufffd"
    assert rows.loc[[two, rest[0]], ["tokens_in"]].isna().all(axis=None)
    assert "sk-0123456789abcdef" not in rows.to_csv()


def test_lines_without_an_end_are_counted_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.runs.answer_files.MAX_LINE", 4_000)
    ready = prepared()
    one, two, *_ = keys(ready)
    path = tmp_path / "a.jsonl"
    deep = b'{"custom_id": "x", "response": ' + b"[" * 1_000 + b"]" * 1_000 + b"}\n"
    write_lines(path, [answered(one), answered("x", "y" * 20_000), answered(two)])
    path.write_bytes(path.read_bytes() + deep + b"z" * 9_000)
    with Store(tmp_path / "s.duckdb") as store:
        taken = import_answers(store, ready, [path])
        assert (taken.kept, taken.unreadable, taken.answers) == (2, 3, 5)
        assert taken.places == ("a.jsonl, line 2", "a.jsonl, line 4", "a.jsonl, line 5")


def test_tables_of_other_types_are_refused_with_the_column(tmp_path: Path) -> None:
    ready = prepared()
    tables = {
        "lists": pa.table({"key": ["a"], "text": [["4"]]}),
        "late": pa.table({"key": ["a"], "text": ["4"], "latency": ["soon"]}),
        "top": pa.table({"key": ["a"], "text": ["4"], "top_tokens": ["4"]}),
    }
    os.mkfifo(tmp_path / "pipe.jsonl")
    with Store(tmp_path / "s.duckdb") as store:
        for name, table in tables.items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
            with pytest.raises(BatchError, match=rf"{name}\.parquet” has a column “\w+” that is not of the type"):
                import_answers(store, ready, [tmp_path / f"{name}.parquet"])
        with pytest.raises(BatchError, match="is no regular file"):
            import_answers(store, ready, [tmp_path / "pipe.jsonl"])


def test_unusual_lines() -> None:
    assert read_answer({"response": {"status_code": "x", "body": {}}}).kind == "server_error"
    reply = read_answer({"response": {"status_code": 400, "body": None}, "error": "no such url"})
    assert (reply.kind, reply.error) == ("bad_request", "HTTP 400: no such url")
    assert "no reason given" in str(read_answer({}).error)
    secret = read_answer(openai_error("k", 401, "Incorrect API key: sk-abcdefghijkl"))
    assert "abcdefghijkl" not in str(secret.error)


# ---------------------------------------------------------------- the commands


def test_export_and_import_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("id,response\na,r\nb,s\n")
    text = (
        'name = "c"\n[data]\nfile = "d.csv"\n[rubric]\nname = "R"\n'
        'criteria = [{name = "q", options = [{score = 1}, {score = 2}]}]\n'
        '[design]\nstrategies = ["balanced"]\n'
        '[[judges]]\nname = "j"\nkind = "vllm"\nmodel = "test-model"\n'
        'base_url = "http://127.0.0.1:9/v1"\n'
    )
    (tmp_path / "s.toml").write_text(text)
    common = [str(tmp_path / "s.toml"), "--store", str(tmp_path / "s.duckdb")]
    assert main(["batch", "export", *common, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 8
    sent = requests(tmp_path / "out")
    half = write_lines(tmp_path / "half.jsonl", [answered(r["custom_id"], "2") for r in sent[:3]])
    assert main(["batch", "import", *common, str(half)]) == 3
    assert "5 calls are left to ask" in capsys.readouterr().err
    rest = write_lines(tmp_path / "rest.jsonl", [answered(r["custom_id"], "2") for r in sent[2:]])
    assert main(["batch", "import", *common, str(half), str(rest), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kept"], told["known"], told["duplicates"], told["left"]) == (5, 3, 1, 0)
    assert main(["batch", "import", *common, str(tmp_path / "nothing.jsonl")]) == 1


def test_a_bad_file_is_one_line_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "s.duckdb")
    code = main(["batch", "import", str(tmp_path / "no.toml"), "--store", store, "x"])
    assert code == 1
    assert capsys.readouterr().err.startswith("rubriclab: ")
    assert issubclass(BatchError, LabError)
