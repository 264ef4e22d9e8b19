"""A log becomes a study: the same prompts, sign for sign, in other orders; what cannot be told for
sure is counted.
"""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import rubriclab as rl
from rubriclab.api import read
from rubriclab.app.draft import study_toml
from rubriclab.cli.main import run_command
from rubriclab.judges.kinds import judge_named
from rubriclab.logs.ask_again import Logged, from_log
from rubriclab.logs.log import read_log
from rubriclab.model.data import DataSet
from rubriclab.model.text import LabError
from rubriclab.runs.loading import Folder, plan_of_file, rubric_of_part, study_of_import
from rubriclab.runs.write_references import items_csv
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan, plan
from tests.servers import FakeServer, running

SAMPLES = Path(__file__).parents[1] / "logs" / "samples"
SCALE = ("It helps nobody.", "It helps some.", "It helps all.")
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def prompt(
    answer: str,
    scale: tuple[str, ...] = SCALE,
    order: tuple[int, ...] = (1, 2, 3),
    head: str = "Rate",
) -> str:
    lines = "\n".join(f"Score {score}: {scale[score - 1]}" for score in order)
    return (
        f"{head} the answer.\n\nAnswer: {answer}\n\nRubric:\n{lines}\n\nEnd with "
        f"[[N]].\r\n{{{{ "
        f"x }}}} "
    )


def logged(*texts: str, reply: str = "Fine. [[2]]") -> list[Logged]:
    calls = [
        ({"role": "system", "content": "You are {% strict %}."}, {"role": "user", "content": text})
        for text in texts
    ]
    return [Logged(call, reply, {"item_id": f"a{k}"}) for k, call in enumerate(calls, 1)]


def made(calls: list[Logged], *, pairs: bool = False) -> tuple[Any, list[DataSet]]:
    kept: list[DataSet] = []
    return from_log("a log", calls, lambda _, dataset: kept.append(dataset), pairs=pairs), kept


def every_order(planned: Plan) -> dict[str, str]:
    """Each prompt of a plan in all orders, as JSON: its signs, sorted."""
    out = {}
    for part in planned.parts:
        assert part.own is not None
        for subject in part.subjects:
            for order in permutations(subject.options):
                messages = part.own.prompt(
                    subject, part.own.labelled(subject, part.protocol.ordering(subject, order))
                ).messages
                out[json.dumps(messages)] = "".join(sorted(json.dumps(messages)))
    return out


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [path.name for path in sorted(SAMPLES.iterdir()) if path.name != "batch_input.jsonl"]
)
def test_a_tools_log_gives_its_prompts_back_sign_for_sign_and_in_every_other_order(
    name: str,
) -> None:
    log = read_log(SAMPLES / name)
    assert log is not None
    sent = {json.dumps(json.loads(messages)) for messages in log.frame["messages"]}
    orders = every_order(plan_of_file(SAMPLES / name, judged_by=("simulated:x",)))
    assert sent <= set(orders)
    assert set(orders.values()) == {"".join(sorted(text)) for text in sent}


def test_a_prompt_in_several_orders_is_one_item_and_each_list_a_data_set() -> None:
    texts = [prompt("a"), prompt("b"), prompt("a", order=(3, 1, 2))]
    study, (dataset,) = made(logged(*texts) + logged(prompt("b"), reply="no idea"))
    assert [item.item_id for item in dataset.items] == ["a1", "a2"]
    assert "3 of 4 replies" in dataset.note
    assert study.prompt.templates[0].order == (1, 2, 3)
    orders = every_order(plan(study, dataset, rubric_of_part(study, 0, Folder())))
    assert len(orders) == 12
    assert {json.dumps([*call.prompt]) for call in logged(*texts)} <= set(orders)
    other = ("It is rude.", "It is neutral.", "It is kind.")
    texts = [prompt(f"text {k}", scale) for scale in (SCALE, other) for k in range(3)]
    study, datasets = made(logged(*texts, prompt("one more")))
    assert [len(dataset.items) for dataset in datasets] == [4, 3]
    shown = [part.rubric.criteria[0]["options"][0]["description"] for part in study.data]
    assert shown == [SCALE[0], other[0]]
    assert "and 1 other list" in datasets[0].note


FOREIGN = "Steps:\n1. Choose a score board.\n2. Rate it."
PAIR = (
    "Which is better?\n\n[The Start of Assistant A's Answer]\n{}\n[The End of Assistant A's "
    "Answer]\n\n"
    + (
        "[The Start of Assistant B's Answer]\n{}\n[The End of Assistant B's Answer]\nEnd with "
        "[[A]], [[B]] or [[C]]."
    )
)
LEFT: dict[str, tuple[bool, list[Logged], str]] = {
    "no prompt": (False, [Logged((), "[[2]]", {})], "1 × no prompt is kept"),
    "no list": (False, logged("Rate it from 1 to 5."), "1 × no list of numbered scores"),
    "a tool's message": (
        False,
        [Logged(({"role": "tool", "content": prompt("a")},), "", {})],
        "of another role than",
    ),
    "two lists": (
        False,
        logged(prompt("a") + prompt("a").replace("helps", "hurts")),
        "several lists that may be",
    ),
    "an answer that names its label": (
        True,
        logged(PAIR.format("Assistant B is wrong.", "yes")),
        "no two answers",
    ),
    "twice the same answer": (True, logged(PAIR.format("yes", "yes")), "no two answers"),
    "an answer without end": (True, logged(PAIR.format("yes", "no")[:-90]), "no two answers"),
    "replies that say nothing": (
        False,
        logged(prompt("a"), reply="well"),
        "0 of 1 reply in the log can be parsed",
    ),
}


@pytest.mark.parametrize("case", LEFT)
def test_what_cannot_be_told_for_sure_is_refused_with_its_reason(case: str) -> None:
    pairs, calls, reason = LEFT[case]
    with pytest.raises(LabError, match=reason):
        made(calls, pairs=pairs)


def test_a_list_in_an_answer_never_moves_and_pairs_change_their_answers_alone() -> None:
    # It stands where other answers have theirs; the rubric has the same words in all of them.
    calls = logged(
        *(prompt(f"{FOREIGN}\n3. Take {k}.") for k in range(4)),
        "Odd.\n\nScore 1: no\nScore 2: yes\n\nGo.",
    )
    study, (dataset,) = made(calls)
    assert dataset.note.endswith("Left out: 1 × a list that no other prompt has at that spot.")
    assert [item.columns["before"].count(FOREIGN) for item in dataset.items] == [1] * 4
    assert "Steps" not in study.prompt.templates[0].messages[1].text
    texts = [PAIR.format(f"yes {k}", f"no {k}") for k in range(3)]
    study, (dataset,) = made(
        logged(*texts, PAIR.format("no 1", "yes 1"), reply="[[C]]"), pairs=True
    )
    assert (study.design.reorder, study.design.tie, len(dataset.items)) == ("pairs", True, 6)
    assert study.prompt.templates[0].answer.labels == ("A", "B", "C")


def test_per_record_rubrics_of_a_published_log() -> None:
    path = DATA / "prometheus" / "mt_bench_eval.original.json.gz"
    if not path.is_file():
        pytest.skip("the published logs are beside the project, not in it")
    import gzip

    records = json.loads(gzip.decompress(path.read_bytes()))
    calls = [
        Logged(({"role": "user", "content": row["instruction"]},), "[RESULT] 3", {})
        for row in records
    ]
    _, datasets = made(calls)
    assert (len(datasets), sum(len(dataset.items) for dataset in datasets)) == (50, 236)
    assert "236 prompts" in datasets[0].note
    assert "Left out: 84 × a list beyond the 50 commonest" in datasets[0].note


@pytest.mark.parametrize("log", ["promptfoo_rate.json", "lm_eval_compare.jsonl"])
def test_its_study_file_loads_again_with_the_items_as_a_file(log: str, tmp_path: Path) -> None:
    planned = plan_of_file(SAMPLES / log, judged_by=("simulated:lean",))
    for part, (dataset, _) in zip(planned.study.data, planned.sources, strict=True):
        (tmp_path / part.file).write_bytes(items_csv(dataset))
    (tmp_path / "study.toml").write_text(study_toml(planned.study), "utf-8")
    again = plan_of_file(tmp_path / "study.toml")
    assert [call.messages for call in again.calls()] == [call.messages for call in planned.calls()]


def test_a_card_of_its_run_asks_for_the_columns_that_the_prompt_shows(tmp_path: Path) -> None:
    study, (dataset,) = made(logged(*(prompt(f"answer number {k}\n") for k in range(12))))
    study = study.model_copy(update={"judges": (judge_named("simulated:lean"),)})
    planned = plan(study, dataset, rubric_of_part(study, 0, Folder()))
    run = rl.run(planned, tmp_path / "lab.duckdb")
    judge = rl.Judge(run.card(protocol="one order"))
    run.close()
    columns = dataset.items[0].columns
    scored = judge.score(columns)
    assert scored.calls[0].messages in [call.messages for call in planned.calls()]
    with pytest.raises(LabError, match="no column after"):
        judge.score({name: text for name, text in columns.items() if name != "after"})


def test_an_import_keeps_prompts_and_replies_and_becomes_the_same_study(tmp_path: Path) -> None:
    path = SAMPLES / "inspect.eval"
    log = read_log(path)
    assert log is not None
    with Store.open(tmp_path / "lab.duckdb") as store:
        id = store.add_table(read(path).table)
        files = Folder()
        study = study_of_import(store, id, files)
        rows = store.calls(id)
        assert {*rows["prompt"]} == {*log.frame["messages"]}
        assert sorted(filter(None, rows["text"])) == sorted(filter(None, log.frame["reply"]))
        kept = files.kept(study.data[0])
    assert kept is not None
    direct = plan_of_file(path).sources[0][0]
    assert {(i.columns["before"], i.columns["after"]) for i in kept.items} == {
        (i.columns["before"], i.columns["after"]) for i in direct.items
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smollm2-135m", ("embedded", "smollm2-135m", ())),
        ("simulated:lean", ("simulated", "lean", ())),
        (
            "Qwen/Qwen3-8B@http://127.0.0.1:8000/v1",
            ("openai", "Qwen/Qwen3-8B", ("http://127.0.0.1:8000/v1",)),
        ),
        ("vllm:org/m:tag@http://[::1]:8000/v1", ("vllm", "org/m:tag", ("http://[::1]:8000/v1",))),
        ("http://127.0.0.1:1/v1", ("openai", "http://127.0.0.1:1/v1", ("http://127.0.0.1:1/v1",))),
    ],
)
def test_a_judge_is_named_in_one_grammar(text: str, expected: tuple[Any, ...]) -> None:
    judge = judge_named(text)
    assert (judge.kind, judge.model, judge.base_urls) == expected


def test_run_a_log_asks_a_server_its_prompts_and_says_what_it_asks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = read_log(SAMPLES / "promptfoo_rate.json")
    assert log is not None
    with running(FakeServer(text=log.frame["reply"][0])) as server:
        command = [
            "run",
            str(SAMPLES / "promptfoo_rate.json"),
            "--judge",
            f"test-model@{server.base_url}",
            "--json",
        ]
        code = run_command([*command, "--store", str(tmp_path / "s.duckdb")])
    said = capfd.readouterr()
    info = json.loads(said.out)
    assert (code, info["state"], info["done"]) == (0, "finished", server.answered)
    assert "We found this list; its order will change" in said.err
    signs = {
        "".join(sorted(json.dumps(json.loads(messages)))) for messages in log.frame["messages"]
    }
    assert {"".join(sorted(json.dumps(body["messages"]))) for body in server.bodies} == signs
