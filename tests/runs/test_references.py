"""Check how reference answers are written and reviewed, resumed, and used as data."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubriclab.cli.main import run_command
from rubriclab.data.items import guess_columns, items_of
from rubriclab.data.sample import data_path
from rubriclab.data.tables import delimited
from rubriclab.judges.simulated import SimulatedJudge
from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import Study
from rubriclab.model.text import LabError
from rubriclab.runs import write_references as references
from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.write_references import ReferenceJob, items_csv
from rubriclab.store.store import Store
from rubriclab.study.references import (
    Task,
    review_call,
    review_prompt,
    review_score,
    write_call,
    write_prompt,
)
from tests.runs.kit import WAIT, ScriptedJudge, failed, use

CRITERION = Criterion(
    "Helpful", tuple(Option(score, f"level {score}") for score in (1, 2, 3)), "does it help?"
)
DATA = DataSet("d", tuple(Item(f"i{k}", f"answer {k}", f"task {k}") for k in range(4)))
GOLDEN: dict[str, str] = json.loads(
    (Path(__file__).parents[1] / "golden" / "references.json").read_text("utf-8")
)


def meant(call: Call) -> int:
    return int(call.messages[0]["content"].split("## Score to earn: ")[1][0])


def written(call: Call, _: int = 0) -> Reply:
    """A writer that says which score it wrote for, and whether it was told what became of earlier
    attempts.
    """
    again = "Earlier answers" in call.messages[0]["content"]
    return Reply(text=f"an answer worth {meant(call)}{' again' if again else ''}")


def reviewed(verdict: Callable[[int, bool], object]) -> Callable[[Call, int], Reply]:
    """A reviewer that says ``verdict(score meant, is it a second attempt)``."""

    def reply(call: Call, _: int) -> Reply:
        text = call.messages[0]["content"].split("an answer worth ")[1]
        return Reply(text=str(verdict(int(text[0]), text[1:].startswith(" again"))))

    return reply


AGREES = reviewed(lambda score, _: score)


@pytest.fixture
def job(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ReferenceJob]:
    """A job of the judges ``w`` and ``r``, which answer by scripts."""

    def made(
        writer: Any = written,
        reviewer: Any = AGREES,
        *,
        data: DataSet = DATA,
        model: str = "m",
        names: Any = (),
        **how: Any,
    ) -> ReferenceJob:
        judges = {"w": writer, "r": reviewer}
        judges = {
            name: ask if isinstance(ask, ScriptedJudge) else ScriptedJudge(ask)
            for name, ask in judges.items()
        }
        use(monkeypatch, None, references, **judges)
        settings = [{"name": name, "kind": "openai", "model": f"{model}-{name}"} for name in judges]
        study = Study.model_validate(
            {"data": {"file": "d.csv"}, "references": how | dict(names), "judges": settings}
        )
        return ReferenceJob(store, study, data, Rubric("r", (CRITERION,)))

    return made


Job = Callable[..., ReferenceJob]


def counts(made: ReferenceJob) -> tuple[int, int, int, str]:
    now = made.start().wait(WAIT)
    return now.accepted, now.failed, now.attempts, now.state


@pytest.mark.papers(63)
def test_agreed_answers_fill_the_data_set(job: Job) -> None:
    made = job()
    assert counts(made) == (12, 0, 12, "finished")
    assert [dict(item.columns) for item in made.result().items] == [
        {f"reference_{score}": f"an answer worth {score}" for score in (1, 2, 3)}
    ] * 4
    assert made.document()["by_score"]["2"] == {"accepted": 4, "failed": 0, "open": 0}
    reviewer = ScriptedJudge(lambda *_: Reply(text="1"))
    counts(job(lambda *_: Reply(text="same words"), reviewer, tries=1, model="other"))
    assert len(reviewer.calls) == 12
    assert len({call.messages[0]["content"] for call in reviewer.calls}) == 4, (
        "it is not told the score"
    )


@pytest.mark.papers(63)
def test_a_second_attempt_says_which_way_the_first_missed_and_misses_are_counted(
    job: Job, store: Store
) -> None:
    writer = ScriptedJudge(written)
    made = job(
        writer, reviewed(lambda score, again: 3 if score == 2 or not again else score), tries=3
    )
    # Score 3 at once, score 1 at the second attempt, score 2 never: 4 + 8 + 12 attempts.
    assert counts(made) == (8, 4, 24, "finished")
    again = [call for call in writer.calls if "Earlier answers" in call.messages[0]["content"]]
    assert {"clearly weaker answer" in call.messages[0]["content"] for call in again} == {True}
    assert not any("reference_2" in item.columns for item in made.result().items)
    assert "4 of 12 answers did not pass in 3 attempts" in made.document()["notes"][0]
    tried = [attempt for attempt in store.reference_attempts(made.id) if attempt.score == 2]
    assert {(a.status, a.verdict, a.reason) for a in tried} == {("rejected", 3, "r gave it 3")}
    # A larger limit goes on with what failed; nothing is asked twice.
    assert counts(job(writer, AGREES, tries=4)) == (12, 0, 28, "finished")


@pytest.mark.papers(64)
def test_two_models_change_roles(job: Job, store: Store) -> None:
    def either(call: Call, _: int) -> Reply:
        return (
            written(call)
            if "Score to earn" in call.messages[0]["content"]
            else Reply(text="hard to say")
        )

    made = job(either, either, alternate=True, tries=2, scores=[1])
    assert counts(made) == (0, 4, 8, "finished")
    roles = [
        [(a.writer, a.reviewer) for a in store.reference_attempts(made.id) if a.attempt == k]
        for k in (1, 2)
    ]
    assert [sorted(part) for part in roles] == [[("r", "w")] * 2 + [("w", "r")] * 2] * 2
    assert {a.status for a in store.reference_attempts(made.id)} == {"unparsed"}


def test_answers_that_are_there_are_kept_and_shared_by_one_instruction(job: Job) -> None:
    items = (
        Item("a", "x", "task", reference="best", columns={"reference_1": "mine"}),
        Item("b", "y", "task"),
        Item("c", "z"),
    )
    made = job(data=DataSet("d", items))
    assert counts(made)[0] == 3  # one instruction; “b” lacks all three
    first, second, without = (dict(item.columns) for item in made.result().items)
    assert first == {
        "reference_1": "mine",
        "reference_2": "an answer worth 2",
    }  # “best” is the one of score 3
    assert second["reference_3"] == "an answer worth 3"
    assert without == {}
    assert made.document()["notes"] == [
        "No answer can be written for 1 item without an instruction.",
    ]


def test_cut_off_and_empty_answers_do_not_pass(job: Job, store: Store) -> None:
    def writer(call: Call, _: int) -> Reply:
        return (
            replace(written(call), finish="length")
            if meant(call) == 1
            else Reply(text="<think>hm</think> ")
        )

    reviewer = ScriptedJudge(AGREES)
    made = job(writer, reviewer, tries=1)
    assert counts(made) == (0, 12, 12, "finished")
    assert {a.reason for a in store.reference_attempts(made.id)} == {
        "the answer was cut off",
        "w: it wrote nothing",
    }
    assert len(reviewer.calls) == 4


def test_a_fault_of_the_server_pauses_and_uses_up_no_attempt(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubriclab.runs.asking.backoff", lambda *_: 0.0)
    made = job(written, lambda *_: failed("unavailable"))
    assert counts(made) == (0, 0, 0, "paused")
    assert made.snapshot().reason == "r: a planted unavailable"
    assert counts(job(lambda *_: failed("auth", retryable=False)))[3] == "paused"
    # What is wrong with one text fails alone.
    one = job(
        lambda call, _: (
            failed("too_large", retryable=False) if call.items == (0,) else written(call)
        ),
        tries=2,
    )
    assert counts(one) == (9, 3, 15, "finished")


def test_a_job_goes_on_where_it_stopped(job: Job, store: Store) -> None:
    first = job(ScriptedJudge(written, latency=0.005))
    first.start()
    while first.snapshot().attempts < 3:
        first.wait(0.005)
    first.pause()
    now = first.wait(WAIT)
    assert now.state == "paused"
    second = ScriptedJudge(written)
    made = job(second)
    assert counts(made) == (12, 0, 12, "finished")
    assert len(second.calls) == 12 - now.accepted
    assert len({(a.task, a.score, a.attempt) for a in store.reference_attempts(made.id)}) == 12
    assert job(model="other").snapshot().attempts == 0


def test_what_cannot_work_is_said_before_the_first_call(job: Job) -> None:
    with pytest.raises(LabError, match=r"judge “nobody”, and the study has w, r"):
        job(names={"writer": "nobody"})
    with pytest.raises(LabError, match="“d” needs no reference answers"):
        job(data=DataSet("d", (Item("i", "x", ""),)))


# ---------------------------------------------------------------- prompts and replies


def golden_task() -> Task:
    options = (Option(1, "bad {braces}"), Option(2, ""), Option(3, "good\n  answer"))
    return Task(
        0,
        "id",
        "Say {hello}.\n## Answer\n{{ 7*7 }}",
        Criterion("Helpful", options, "does it help?"),
    )


def test_prompts_are_their_golden_texts() -> None:
    task = golden_task()
    made = {
        "write": write_prompt(task, 2),
        "write-again": write_prompt(task, 2, (None, 3, 1)),
        "review": review_prompt(task, "an answer {x}"),
    }
    assert made == {name: ({"role": "user", "content": text},) for name, text in GOLDEN.items()}
    assert write_prompt(task, 2, (None,)) == made["write"]


def test_a_writer_varies_and_a_reviewer_is_short() -> None:
    task, api = golden_task(), JudgeSettings(name="a", kind="openai", model="m", seed=3)
    first, second = (write_call(api, task, 1, earlier) for earlier in ((), (None,)))
    assert (first.temperature, first.max_tokens, first.seed, second.seed) == (0.8, 800, 3, 4)
    assert first.key != second.key
    assert write_call(api.model_copy(update={"temperature": None}), task, 1, ()).temperature is None
    review = review_call(api, task, "x", 1)
    assert (review.temperature, review.max_tokens) == (0.0, 16)
    begun = review_call(JudgeSettings(name="e"), task, "x", 1)
    assert begun.messages[-1] == {"role": "assistant", "content": "The score is "}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("2", 2),
        ("Score: 3", 3),
        ("2 or 3", None),
        ("4", None),
        ("", None),
        ("<think>1</think>2", 2),
        (review_prompt(golden_task(), "Score: 3")[0]["content"] + " 1", 1),
        (review_prompt(golden_task(), "Score: 3")[0]["content"], None),
    ],
)
def test_a_review_gives_one_score_or_none(text: str, score: int | None) -> None:
    call = review_call(JudgeSettings(name="a", kind="openai", model="m"), golden_task(), "x", 1)
    assert review_score(call, Reply(text=text))[0] == score
    assert review_score(call, Reply(text=text, finish="length"))[0] is None


def test_a_careless_simulated_writer_misses_and_a_foreign_answer_gets_no_score() -> None:
    settings = JudgeSettings(name="s", kind="simulated")
    careless = SimulatedJudge(JudgeSettings(name="s", kind="simulated", options={"written": 1.0}))
    exact = SimulatedJudge(JudgeSettings(name="s", kind="simulated", options={"noise": 0}))
    calls = [write_call(settings, golden_task(), 2, (None,) * k) for k in range(20)]
    assert {exact.answer(call).text for call in calls} == {"A simulated answer worth 2.00 points."}
    assert len({careless.answer(call).text for call in calls}) > 10
    review = review_call(settings, golden_task(), "A simulated answer worth 2.61 points.", 1)
    assert exact.answer(review).text == "3"
    foreign = review_call(settings, golden_task(), "hello", 1)
    assert "not written" in exact.answer(foreign).text


# ---------------------------------------------------------------- the way back as data


def test_the_table_is_data_again() -> None:
    items = tuple(
        Item(
            f"i{k}",
            f"-{k} answers",
            "=task",
            candidate=c,
            ratings={"ann": 1.0 + k},
            columns={"reference_-1": "-1", "reference_2": "=two\n“x”"},
        )
        for k, c in enumerate("abc")
    )
    again = delimited(items_csv(DataSet("d", items)), "d.csv")
    columns = guess_columns(again).columns
    assert (columns["response"], columns["human"], "reference" in columns) == (
        "response",
        ["human_1"],
        False,
    )
    made = items_of(again, columns).items
    assert [(i.response, i.instruction, i.columns, [*i.ratings.values()]) for i in made] == [
        (i.response, i.instruction, i.columns, [*i.ratings.values()]) for i in items
    ]


STUDY = """
[[data]]
sample = true
[references]
writer = "w"
reviewer = "r"
[[judges]]
name = "w"
kind = "simulated"
[[judges]]
name = "r"
kind = "simulated"
options = {{ noise = {noise}, unparsed = {unparsed} }}
"""


@pytest.mark.thorough
@pytest.mark.papers(63)
def test_the_command_writes_a_file_that_a_study_can_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, out = tmp_path / "s.toml", tmp_path / "out.csv"
    study.write_text(STUDY.format(noise=0, unparsed=0), "utf-8")
    arguments = [
        "run",
        str(study),
        "--items",
        "4",
        "--references",
        str(out),
        "--store",
        str(tmp_path / "x.duckdb"),
    ]
    assert run_command([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["state"], said["accepted"], said["failed"]) == ("finished", said["wanted"], 0)
    table = delimited(out.read_bytes(), out.name)
    assert (
        items_of(table, guess_columns(table).columns).items[0].columns["reference_1"]
        == "A simulated answer worth 1.00 points."
    )
    varied = STUDY.format(noise=0, unparsed=0).replace("sample = true", 'file = "out.csv"')
    rubric = f'\n[rubric]\nfile = "{data_path("rubrics/helpfulness.yaml")}"'
    study.write_text(f"{varied}{rubric}\n[design.vary]\nreference = [0, 1]\n", "utf-8")
    planned = plan_of_file(study)
    prompts = [call.messages[0]["content"] for call in planned.calls("w")]
    shown = [
        prompt
        for prompt in prompts
        if "###Reference Answer (Score 1):\nA simulated answer worth 1.00" in prompt
    ]
    assert 2 * len(shown) == len(prompts) > 0
    study.write_text(STUDY.format(noise=0, unparsed=1), "utf-8")
    assert run_command(arguments) == 0
    assert "did not pass in 5 attempts" in capsys.readouterr().out
    study.write_text(f"{varied}{rubric}", "utf-8")
    assert run_command(arguments) == 1
    assert "is the study's own data" in capsys.readouterr().err
