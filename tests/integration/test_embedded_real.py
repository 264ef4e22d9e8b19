"""Check the embedded judge with its real weights, downloaded and asked for real."""

import asyncio
import math
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rubriclab.judges.kinds import open_judge
from rubriclab.judges.probe import test_judge as ask_once
from rubriclab.judges.weights import model_file
from rubriclab.model.constraint import constrained_label
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.orders import balanced
from rubriclab.model.text import LabError
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.judges.kit import option_call
from tests.study.kit import small_plan

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
NAME = "smollm2-135m-q8"
JUDGE = JudgeSettings(name="embedded", kind="embedded", model=NAME)
DESCRIPTIONS = (
    "Ignores the question.",
    "Touches on it, mostly wrong.",
    "Answers a part of it.",
    "Answers it with small gaps.",
    "Answers it fully and clearly.",
)


@pytest.fixture(scope="module", autouse=True)
def real_weights() -> Iterator[Path]:
    """The weights, fetched if need be; no network is a skip, but a failure with CI=true."""
    try:
        yield model_file(NAME)
    except LabError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def calls(items: int = 2) -> list[Call]:
    """All balanced orders of so many items, item by item, as a run sends them."""
    made = []
    for item in range(items):
        for shown in balanced((1, 2, 3, 4, 5)):
            listed = "\n".join(f"Score {score}: {DESCRIPTIONS[score - 1]}" for score in shown)
            prompt = (
                f"###Task Description:\nScore the response.\n\n###The instruction to "
                f"evaluate:\nHow do I boil {item + 3} "
                "eggs?\n\n###Response to evaluate:\nPut them into boiling water and wait for eight "
                "minutes.\n\n"
                f"###Score Rubrics:\n{listed}\n\nAnswer with the score only:"
            )
            messages = (
                {"role": "user", "content": prompt},
                {"role": "assistant", "content": "The score is "},
            )
            made.append(option_call(item, shown=shown, messages=messages, max_tokens=2))
    return made


def chances(call: Call, reply: Reply) -> list[float]:
    """The probability of every label, by position."""
    sums: Counter[str] = Counter()
    for token, logprob in reply.top:
        sums[token.strip()] += math.exp(logprob)
    return [sums[label] for label in call.ordering.labels]


async def ask_all(asked: list[Call], judge: JudgeSettings = JUDGE) -> list[Reply]:
    asker = await open_judge(judge)
    try:
        return await asyncio.gather(*(asker.ask(call) for call in asked))
    finally:
        await asker.close()


def test_twenty_calls_give_the_probability_of_every_label() -> None:
    asked = calls()
    replies = asyncio.run(ask_all(asked))
    first: Counter[bool] = Counter()
    for call, reply in zip(asked, replies, strict=True):
        assert reply.error == ""
        assert reply.model == f"{NAME}@0c1d3326cd97"
        shares = chances(call, reply)
        assert min(shares) > 0
        assert 0.8 < sum(shares) <= 1.001
        first[max(range(5), key=lambda p: shares[p]) == 0] += 1
    # By chance the first position would be the likeliest in four of twenty.
    assert first[True] >= 8
    # One prompt of an item is read whole; the others find its beginning there.
    read_whole = sum((reply.cached or 0) < 0.4 * (reply.tokens_in or 1) for reply in replies)
    assert read_whole <= 4


def test_two_judges_of_two_loops_share_one_server() -> None:
    results: dict[int, list[float]] = {}
    asked = calls(1)

    def run(number: int) -> None:
        replies = asyncio.run(ask_all(asked))
        results[number] = [
            chance
            for call, reply in zip(asked, replies, strict=True)
            for chance in chances(call, reply)
        ]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert len(results[0]) == 10 * 5
    # A prompt that the server has just read is not read again: then its last token alone is
    # computed, with other roundings. Chances differed by up to 0.03, with Q4_1 weights too.
    assert results[0] == pytest.approx(results[1], abs=0.05)


def test_too_long_a_prompt_is_a_fault_of_the_call() -> None:
    judge = JUDGE.model_copy(update={"options": {"context": 256}})
    call = calls(1)[0]
    long = ({"role": "user", "content": call.messages[0]["content"] + " and so on" * 200},)
    (reply,) = asyncio.run(ask_all([replace(call, messages=long)], judge))
    assert (reply.kind, reply.retryable) == ("context_overflow", False)


def test_a_file_of_one_s_own_and_its_hash(real_weights: Path, tmp_path: Path) -> None:
    own = JUDGE.model_copy(update={"model": "mine", "options": {"path": str(real_weights)}})
    (reply,) = asyncio.run(ask_all(calls(1)[:1], own))
    assert reply.model == f"{real_weights.stem}@0c1d3326cd97"
    other = own.model_copy(update={"options": {"path": str(real_weights), "sha256": "0" * 64}})
    with pytest.raises(LabError, match="has the sha256 0c1d"):
        asyncio.run(ask_all(calls(1)[:1], other))
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(real_weights.read_bytes()[:5_000_000])
    with pytest.raises(LabError, match="The file may be incomplete"):
        asyncio.run(ask_all(calls(1)[:1], own.model_copy(update={"options": {"path": str(cut)}})))


def test_the_weights_before_are_another_judge_that_is_still_here() -> None:
    before = JudgeSettings(name="before", model="smollm2-135m")
    assert before.identity() != JUDGE.identity()
    (reply,) = asyncio.run(ask_all(calls(1)[:1], before))
    assert reply.model == "smollm2-135m@b179c9523d0e"


def test_the_interpreter_ends_cleanly_while_it_answers(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from rubriclab.runs.loading import plan_of_file\n"
        "from rubriclab.runs.manager import RunManager\n"
        "from rubriclab.store.store import Store\n"
        "run = RunManager(Store.open(sys.argv[1])).start(plan_of_file('demo', items=3))\n"
        "while run.snapshot().asked < 3: time.sleep(0.01)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "lab.duckdb")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    with Store.open(tmp_path / "lab.duckdb") as store:
        (info,) = store.runs()
    assert info.state == "paused"
    assert "the lab was ended" in info.reason


def test_it_passes_its_own_test_and_a_model_that_is_no_decision_model_is_told_as_that(
    real_weights: Path,
) -> None:
    report = ask_once(JUDGE)
    assert (report.ok, report.probabilities, report.score is None) == (True, True, False)
    decides = JudgeSettings(
        name="d", kind="decisions", model=NAME, options={"path": str(real_weights)}
    )
    report = ask_once(decides)
    assert "decision model" in report.error
    assert report.reply.kind == "not_answered"


def test_a_grammar_holds_replies_and_changes_no_score_where_the_labels_have_the_probability() -> (
    None
):
    asked = calls(1)
    labels = ("1", "2", "3", "4", "5")
    free = asyncio.run(ask_all(asked))
    held = [replace(call, labels=labels, constrain="grammar") for call in asked]
    for before, call, reply in zip(free, held, asyncio.run(ask_all(held)), strict=True):
        label = constrained_label(reply.text, "grammar", labels, call.begun)
        assert (reply.error, reply.finish) == ("", "stop")
        assert before.text.startswith(f"{call.begun}{label}")
        assert sum(chances(call, reply)) == pytest.approx(sum(chances(call, before)), abs=1e-3)
        assert sum(chances(call, reply)) > 0.8


def test_its_server_holds_a_grammar_and_says_so() -> None:
    words = ask_once(JUDGE).document()["constraints"]
    # It does not know vLLM's field, and cannot go on with a begun answer in JSON.
    assert words == {"choice": words["choice"], "grammar": "held", "schema": "refused"}
    assert words["choice"] in ("ignored", "cut")
    unbegun = JUDGE.model_copy(update={"options": {"prefill": False}})
    assert ask_once(unbegun).document()["constraints"]["schema"] == "held"


@pytest.mark.parametrize("reorder", ["options", "pairs"])
def test_a_run_with_a_grammar_parses_every_reply(reorder: str, tmp_path: Path) -> None:
    rows = tuple(
        Item(f"{name}{k}", f"Wait {k + 3} minutes, {name}.", "How do I boil eggs?", prompt=f"q{k}")
        for k in range(2)
        for name in ("then cool them", "or so")
    )
    rows = tuple(replace(row, candidate=row.item_id[:-1]) for row in rows)
    held = JUDGE.model_copy(update={"constrain": "grammar"})
    plan = small_plan(judges=(held,), dataset=DataSet("d", rows), reorder=reorder, repeats=1)
    with Store.open(tmp_path / "lab.duckdb") as store:
        end = Run(store, plan).start().wait(300.0)
        assert (end.state, end.failed, end.reason) == ("finished", 0, "")
        table = store.table(end.run)
    assert {condition.constrain for condition in table.conditions} == {"grammar"}
    mass = table.rows["mass"]
    assert mass.between(0, 1).all()
    if reorder == "options":
        assert mass.median() > 0.5


def test_what_the_server_does_not_hold_stops_the_run(tmp_path: Path) -> None:
    held = JUDGE.model_copy(update={"constrain": "choice"})
    with Store.open(tmp_path / "lab.duckdb") as store:
        end = Run(store, small_plan(1, judges=(held,))).start().wait(300.0)
    assert (end.state, end.done) == ("paused", 0)
    assert 'constrain = "choice"' in end.reason
