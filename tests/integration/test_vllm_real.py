"""Check the lab's client with a real vLLM, whose base URL is in RUBRICLAB_VLLM_BASE_URL.

``.ci/vllm-cpu DIR`` makes one for the CPU. Without the variable these tests are skipped; with
CI=true, that is a failure.
"""

import asyncio
import fcntl
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubriclab.judges.kinds import open_judge
from rubriclab.judges.probe import find_servers, models_of
from rubriclab.judges.probe import test_judge as ask_once
from rubriclab.judges.reply import NO_LOGPROBS
from rubriclab.model.data import DataSet
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import LOWERED, Call, Reply, Status
from rubriclab.model.text import digest
from rubriclab.runs.batch import read_batch, write_batch
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.decisions import packs
from rubriclab.study.outcomes import label_probabilities
from tests.integration.test_embedded_real import ask_all, calls, chances
from tests.judges.kit import settings
from tests.study.jevbench import jevbench_plan
from tests.study.kit import data, small_plan

pytestmark = pytest.mark.integration

URL = os.environ.get("RUBRICLAB_VLLM_BASE_URL", "")


@pytest.fixture(scope="module", autouse=True)
def model() -> str:
    """The name of the model that the server offers."""
    if not URL:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "RUBRICLAB_VLLM_BASE_URL is not set"
        )
    return models_of(URL)[0]


@pytest.fixture(autouse=True)
def one_at_a_time() -> Iterator[None]:
    """Let no other test of this file ask the server meanwhile.

    A typed question makes vLLM 0.32 lose the alternatives of all other calls in its batch.
    """
    with Path(tempfile.gettempdir(), f"rubriclab-vllm-{digest(URL)}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_alternatives_that_vllm_loses_to_a_typed_question_are_left_out(model: str) -> None:
    """Its sampler returns either the most probable tokens of a batch or the asked ones."""
    typed = judge(model, kind="decisions")
    plain = calls()

    async def together() -> list[Reply]:
        async def questions() -> None:
            asker = await open_judge(typed)
            try:
                for pack in packs(small_plan(2, judges=(typed,), repeats=1).calls()):
                    await asker.ask_together(pack)
            finally:
                await asker.close()

        replies, _ = await asyncio.gather(ask_all(plain, judge(model)), questions())
        return replies

    for call, reply in zip(plain, asyncio.run(together()), strict=True):
        assert reply.error == ""
        if reply.top:
            assert sum(chances(call, reply)) > 0.6
        else:
            assert reply.note == NO_LOGPROBS


def judge(model: str, **fields: Any) -> JudgeSettings:
    return settings(URL, **{"kind": "vllm", "model": model, "timeout": 300.0, **fields})


def ask(server: JudgeSettings, asked: list[Call]) -> list[Reply]:
    return asyncio.run(ask_all(asked, server))


def test_twenty_calls_give_probabilities_and_go_on_with_a_begun_answer(model: str) -> None:
    asked = calls()
    replies = ask(judge(model), asked)
    for call, reply in zip(asked, replies, strict=True):
        assert reply.error == ""
        assert len(reply.top) == 20
        shares = chances(call, reply)
        assert min(shares) > 0
        assert 0.6 < sum(shares) <= 1.001
        assert reply.text.strip()[0] in call.ordering.labels
    if replies[0].cached is not None:  # only with --enable-prompt-tokens-details
        assert sum((reply.cached or 0) > 0 for reply in replies) >= 15


def test_held_to_the_labels_all_probability_falls_on_them_and_the_free_mass_is_asked_for(
    model: str,
) -> None:
    """It masks before it reports, so what the labels get without that needs a free token: little
    where none is begun.
    """
    labels = ("1", "2", "3", "4", "5")
    for begun, least, most in ((True, 0.5, 1.0), (False, 0.0, 0.5)):
        asked = [
            replace(
                call,
                labels=labels,
                constrain="choice",
                sampled=True,
                messages=call.messages if begun else call.messages[:1],
            )
            for call in calls(1)
        ]
        for call, reply in zip(asked, ask(judge(model), asked), strict=True):
            assert reply.text in labels
            assert sum(chances(call, reply)) == pytest.approx(1.0, abs=0.02)
            assert {token.strip() for token, _ in reply.free_top} >= set(labels)
            assert least < label_probabilities(reply.free_top, labels)[1] < most


def test_each_constraint_is_held_or_said_not_to_be(model: str) -> None:
    assert ask_once(judge(model)).document()["constraints"] == {
        "choice": "held",
        "grammar": "ignored",
        "schema": "held",
    }


def test_a_longer_answer_than_the_context_is_brought_down(model: str) -> None:
    (reply,) = ask(judge(model), [replace(calls(1)[0], max_tokens=16_384)])
    assert (reply.error, reply.note.partition(" to ")[0]) == ("", LOWERED)


def test_too_long_a_prompt_is_a_context_overflow(model: str) -> None:
    long = ({"role": "user", "content": "word " * 20_000},)
    (reply,) = ask(judge(model), [replace(calls(1)[0], messages=long)])
    assert (reply.kind, reply.retryable) == ("context_overflow", False)


def test_it_is_known_as_vllm_and_passes_the_lab_s_test(model: str) -> None:
    (server,) = find_servers({"somebody": URL})
    assert (server.program, server.kind, model in server.models) == ("vLLM", "vllm", True)
    report = ask_once(judge(model))
    assert (report.ok, report.probabilities) == (True, True)


def test_an_unknown_model_and_a_setting_that_cannot_be(model: str) -> None:
    assert "It lists:" in ask_once(judge("no-such-model")).error
    (reply,) = ask(judge(model, extra={"logprobs": True, "top_logprobs": 10_000}), calls(1)[:1])
    assert reply.kind == "bad_setting"
    assert "logprobs" in reply.error


def test_typed_questions_have_one_answer_alone_and_in_company(model: str) -> None:
    server = judge(model, kind="decisions")
    plan = small_plan(2, judges=(server,), repeats=1)

    async def both() -> list[list[Reply]]:
        asker = await open_judge(server)
        try:
            return [
                reply for calls in packs(plan.calls()) for reply in await compared(asker, calls)
            ]
        finally:
            await asker.close()

    for alone, packed in asyncio.run(both()):
        assert not alone.error, alone.error
        assert (len(alone.top), packed.tokens_in) == (5, alone.tokens_in)
        assert dict(packed.top) == pytest.approx(
            dict(alone.top), abs=0.2
        )  # in other company the sums are other sums


async def compared(asker: Any, calls: list[Call]) -> list[list[Reply]]:
    """Each call's reply alone and with the others."""
    return [
        [await asker.ask(call), reply]
        for call, reply in zip(calls, await asker.ask_together(calls), strict=True)
    ]


def test_run_batch_answers_the_lab_s_files(tmp_path: Path) -> None:
    """``vllm run-batch`` itself, beside the server's own start script; one prompt is longer than
    the model's context.
    """
    serve = Path(os.environ.get("RUBRICLAB_VLLM_SERVE", ""))
    if not serve.is_file():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "RUBRICLAB_VLLM_SERVE is not set"
        )
    short = data(2)
    long = replace(short.items[0], item_id="long", response="word " * 4_000)
    smol = JudgeSettings(name="smol", kind="vllm", model="smollm2", constrain="choice")
    plan = small_plan(judges=(smol,), dataset=DataSet("d", (*short.items, long)))
    own = [
        line
        for line in serve.read_text("utf-8").splitlines()
        if line.startswith(("export ", "unset "))
    ]
    with Store.open(tmp_path / "lab.duckdb") as store:
        (file,), calls, _ = write_batch(store, plan, tmp_path / "out")
        command = [
            serve.parent / "venv/bin/vllm",
            "run-batch",
            "-i",
            file,
            "-o",
            tmp_path / "answers.jsonl",
            "--model",
        ]
        command += [
            serve.parent / "model",
            "--served-model-name",
            "smollm2",
            "--max-model-len",
            "2048",
        ]
        command += ["--dtype", "float32", "--enforce-eager", "--block-size", "32"]
        script = "\n".join([*own, f"exec {shlex.join(map(str, command))}"])
        done = subprocess.run(
            ["bash", "-euc", script], capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr[-3_000:]
        run, made = read_batch(store, plan, [tmp_path / "answers.jsonl"])
        statuses, kinds = (
            store.table(run).rows["status"].value_counts(),
            set(store.calls(run)["kind"]),
        )
    assert (calls, made.kept, made.failed, made.left) == (60, 60, 20, 0)
    assert (statuses[Status.OK], statuses[Status.ERROR], kinds) == (
        40,
        20,
        {"", "context_overflow"},
    )


def test_jevbench_s_published_cases_are_judged_in_every_order(model: str, tmp_path: Path) -> None:
    """A case of each of twelve questions, each balanced order once, all of a case in one
    request.
    """
    plan = jevbench_plan(judge(model, kind="decisions"), questions=12)
    with Store.open(tmp_path / "lab.duckdb") as store:
        end = Run(store, plan).start().wait(300.0)
        assert (end.state, end.failed) == ("finished", 0), end.reason
        table = store.table(end.run)
        assert set(store.calls(end.run)["note"].str.extract(r"of (\d+) of")[0]) == {"8"}
    assert {*table.rows["status"]} == {Status.OK}
    assert table.probabilities.sum(axis=1) == pytest.approx(1)
