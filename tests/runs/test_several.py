"""Check studies of several data sets and axes; find runs, resume them, and plan them again."""

import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rubriclab.cli.planning import plan as plan_command
from rubriclab.core.judgments import Judgments
from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.text import LabError
from rubriclab.runs.forecast import estimate
from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.manager import RunManager, plan_of_run
from rubriclab.runs.runner import Run
from rubriclab.store.bundle import bundle_bytes, read_bundle
from rubriclab.store.store import Store
from rubriclab.study.plan import plan
from tests.integration.test_kill import ROOT, write_study
from tests.runs.kit import WAIT, Scripted, ended
from tests.servers import FakeServer, running
from tests.study.kit import criterion, data, small_plan

RUBRIC = "name: {name}\ncriteria:\n  - name: {name}\n    options:\n{options}"
STUDY = Path(__file__).with_name("two_sets.toml").read_text("utf-8")


def study_file(folder: Path, more: str = "") -> Path:
    """Two data sets with the same ids, one with a rubric of its own; ``more``: further tables."""
    (folder / "a.csv").write_text(
        "id,instruction,response\n1,ask,the first text\n2,ask,the second text\n"
    )
    (folder / "b.csv").write_text(
        "id,instruction,response\n1,ask,the first text\n2,ask,quite another text\n"
    )
    for name, n in (("five", 5), ("three", 3)):
        options = "".join(
            f"      - {{score: {k}, description: {name} {k}}}\n" for k in range(1, n + 1)
        )
        (folder / f"{name}.yaml").write_text(RUBRIC.format(name=name, options=options))
    path = folder / "study.toml"
    path.write_text(STUDY.replace("# more", more))
    return path


@pytest.mark.thorough
@pytest.mark.papers(8)
def test_every_data_set_is_asked_with_its_own_rubric(tmp_path: Path) -> None:
    made = plan_of_file(study_file(tmp_path))
    assert [
        (c.judge, c.dataset, c.scores, n)
        for c, n in zip(made.conditions, made.planned, strict=True)
    ] == [
        ("judge", "first", (1, 2, 3, 4, 5), 40),
        ("judge", "second", (1, 2, 3), 24),
        ("other", "first", (1, 2, 3, 4, 5), 40),
        ("other", "second", (1, 2, 3), 24),
    ]
    assert len({call.key for call in made.calls()}) == len(made) == 128, (
        "the same text twice is asked twice"
    )
    frame = made.items_frame()
    assert frame[["dataset", "item_id", "source"]].values.tolist() == [
        ["first", "1", 0],
        ["first", "2", 1],
        ["second", "1", 0],
        ["second", "2", 1],
    ]
    prompts = {
        made.conditions[call.condition].dataset: call.messages[0]["content"]
        for call in made.calls()
    }
    assert "Score 5: five 5" in prompts["first"]
    assert "Score 3: three 3" in prompts["second"]
    assert "five" not in prompts["second"]
    about = estimate(made)
    assert about.shares == (("first", 80), ("second", 48))
    assert len(about.others) == 1
    said = plan_command(str(tmp_path / "study.toml"), show=2).output
    assert "first: 80 calls." in said
    assert "Order 2: 1 · 2 · 3, second" in said


def test_study_files_that_say_two_things_are_refused(tmp_path: Path) -> None:
    path = study_file(tmp_path)
    path.write_text(path.read_text().replace('"second"', '"First\u200b "'))
    with pytest.raises(
        LabError, match=r"Two data sets are called “first”. Give each \[\[data\]\] a different"
    ):
        plan_of_file(path)
    path.write_text("[[data]]\nsample = true\n" * 51)
    with pytest.raises(LabError, match="data: Tuple should have at most 50 items"):
        plan_of_file(path)
    vary = '[design.vary]\nwording = ["three.yaml", "five.yaml"]'
    with pytest.raises(LabError, match="remove the rubrics of single"):
        plan_of_file(study_file(tmp_path, vary))
    path = study_file(tmp_path, vary)
    path.write_text(path.read_text().replace('rubric = { file = "three.yaml" }\n', ""))
    with pytest.raises(
        LabError, match=r"begins with “three.yaml”, but \[rubric\] file is “five.yaml”"
    ):
        plan_of_file(path)


@pytest.mark.thorough
@pytest.mark.papers(8)
def test_resumed_after_an_end_with_texts_of_both(tmp_path: Path, scripted: Scripted) -> None:
    judge = scripted(latency=0.02)
    path = tmp_path / "lab.duckdb"
    more = (
        '[design]\nreorder = ["options", "bare"]\n[design.vary]\nwording = ["five.yaml", '
        '"other.yaml"]'
    )
    study = study_file(tmp_path, more)
    study.write_text(study.read_text().replace('rubric = { file = "three.yaml" }\n', ""))
    (tmp_path / "other.yaml").write_text(
        (tmp_path / "five.yaml").read_text().replace("five 1", "none at all")
    )
    with Store.open(path) as store:
        run = RunManager(store).start(plan_of_file(study))
        while run.snapshot().asked < 20:
            time.sleep(0.005)
        run.pause()
        assert run.wait(WAIT).state == "paused"
    for file in tmp_path.glob("*.[cy]*"):
        file.unlink()  # all that resuming needs is in the store
    judge.latency = 0.0
    with Store.open(path) as store:
        again = RunManager(store)
        assert (again.resume(run.id).wait(WAIT).state, set(judge.asked.values())) == (
            "finished",
            {1},
        )
        assert len(judge.asked) == len(plan_of_run(store, run.id)) == 2 * 2 * 2 * 2 * (20 + 2)
        texts = store.texts(run.id)["response"].tolist()
        assert texts == [
            "the first text",
            "the second text",
            "the first text",
            "quite another text",
        ]
        assert store.judgments(run.id, text="quite another")["item"].unique().tolist() == [3]
        shown = store.judgments(run.id, item=3, limit=1)
        call = store.call(run.id, int(shown["call"].iloc[0]))
        assert (call["item"]["dataset"], call["item"]["response"]) == (
            "second",
            "quite another text",
        )
        planned = plan_of_run(store, run.id)
        sent = {c.key: dict(c.messages[0]) for c in planned.calls()}
        assert all(sent[c.key] == dict(c.messages[0]) for c in judge.calls)
        arms = Judgments(store.table(run.id)).arms
        assert Counter((arm.condition.dataset, arm.condition.reorder) for arm in arms) == {
            (name, axis): 4 for name in ("first", "second") for axis in ("options", "bare")
        }
        assert [arm.condition.variant["wording"] for arm in arms[:2]] == ["five.yaml", "other.yaml"]
        (tmp_path / "run.zip").write_bytes(bundle_bytes(store.table(run.id), store, run.id))
        assert read_bundle(tmp_path / "run.zip").items["response"].tolist() == texts
        store.delete(run.id)
        assert not store._db.rows("SELECT 1 FROM datasets UNION ALL SELECT 1 FROM items")


def test_a_data_set_that_another_run_has_stays(store: Store, scripted: Scripted) -> None:
    scripted()
    first, second = data(1), DataSet("e", (Item("i", "other"),))
    rubric = Rubric("r", (criterion(),))
    two = small_plan(1).study
    two = two.model_copy(update={"data": two.data * 2})
    both = Run(store, plan(two, first, rubric, [(second, rubric)]))
    alone = Run(store, small_plan(1, name="alone"))
    assert [ended(run).state for run in (both, alone)] == ["finished", "finished"]
    store.delete(both.id)
    assert store.texts(alone.id)["response"].tolist() == ["response 0"]
    assert store._db.rows("SELECT name FROM datasets") == [("d",)]


@pytest.mark.papers(1, 35)
def test_axes_share_their_items(tmp_path: Path) -> None:
    names = ("clear", "deep", "short")
    axes = ["options", "criteria", "bare", "responses"]
    made = small_plan(2, criteria=tuple(map(criterion, names)), reorder=axes, k=2)
    assert len(made.items) == 6
    asked = [
        {code for part in made.parts if part.axis == axis for code in part.of_item} for axis in axes
    ]
    assert (asked, len({call.key for call in made.calls()})) == ([{*range(6)}] * 4, len(made))
    by_axis = Counter(made.conditions[call.condition].reorder for call in made.calls())
    # 6 items x 10 orders twice; 2 texts x 6 orders twice; 6 items twice; 3 batches of 2 orders
    # twice and 6 alone twice.
    assert by_axis == {"options": 120, "criteria": 24, "bare": 12, "responses": 12 + 12}
    call = next(
        call for call in made.calls() if made.conditions[call.condition].reorder == "criteria"
    )
    assert [made.items[code].criterion for code in call.items] == [*names]
    assert made.messages(call.condition, call.items[0], call.ordering) == call.messages
    for wrong, said in {
        "[]": "expected one of options",
        '["options", "options"]': "an axis appears twice",
        '["options", "upside"]': "expected one of options",
    }.items():
        with pytest.raises(LabError, match=said):
            plan_of_file(study_file(tmp_path, f"[design]\nreorder = {wrong}"))


# ------------------------------------------------------------------------------ runs of one process
def test_two_visitors_start_one_run(store: Store, scripted: Scripted) -> None:
    judge = scripted(latency=0.01)
    manager = RunManager(store)
    with ThreadPoolExecutor(4) as visitors:
        first, *others = visitors.map(lambda _: manager.start(small_plan(10)), range(4))
    assert all(other is first for other in others)
    assert (manager.running(), manager.get(first.id)) == ([first], first)
    assert first.wait(WAIT).state == "finished"
    assert set(judge.asked.values()) == {1}
    assert manager.running() == []


@pytest.mark.integration
def test_a_lab_that_ends_keeps_what_its_runs_are_being_answered(tmp_path: Path) -> None:
    script = """if True:
        import sys, time
        from rubriclab.runs.loading import plan_of_file
        from rubriclab.runs.manager import RunManager
        from rubriclab.store.store import Store
        run = RunManager(Store.open(sys.argv[2])).start(plan_of_file(sys.argv[1]))
        while run.snapshot().asked < 8:
            time.sleep(0.01)
    """
    path = tmp_path / "lab.duckdb"
    with running(FakeServer(latency=0.5)) as server:
        study = write_study(tmp_path, url=server.base_url, items=2)
        command = [sys.executable, "-c", script, str(study), str(path)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    with Store.open(path) as store:
        (info,) = store.runs()
        assert (info.state, info.reason) == ("paused", "the lab was ended")
        assert store.final_keys(info.id) == set(server.keys)
    assert server.answered == server.asked > 8


@pytest.mark.parametrize(
    "design",
    [
        {
            "strategies": [
                "balanced",
                {"kind": "random", "calls": 4},
                {"kind": "custom", "orders": [[3, 1, 2]]},
            ]
        },
        {"reorder": "criteria", "strategies": ["williams"]},
    ],
)
def test_a_run_is_planned_again_from_the_store(
    store: Store, scripted: Scripted, design: dict[str, object]
) -> None:
    scripted()
    grades = tuple(
        Criterion(name, (Option(1, "bad"), Option(2, "so so"), Option(3, "good")), "?")
        for name in "abc"
    )
    texts = DataSet(
        "texts",
        tuple(Item(f"i{k}", f"r {k}", "q", "ref", ratings={"ann": 2.0}) for k in range(3)),
        "f",
    )
    made = small_plan(
        dataset=texts, criteria=grades if "reorder" in design else grades[:1], **design
    )
    end = ended(Run(store, made))
    again = plan_of_run(store, end.run)
    assert (again.identity, again.conditions, again.planned) == (
        made.identity,
        made.conditions,
        made.planned,
    )
    assert [call.key for call in again.calls()] == [call.key for call in made.calls()]
