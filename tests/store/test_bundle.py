"""Check that runs go into zip files and back, and that hostile zips are refused."""

import io
import itertools
import json
import os
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rubriclab as rl
from rubriclab.core.cells import cells, from_arms
from rubriclab.core.judgments import Judgments
from rubriclab.data.scores import read_judgments
from rubriclab.data.tables import delimited
from rubriclab.figures.pictures import winner_classes
from rubriclab.measures.position import shares
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.text import LabError
from rubriclab.store.bundle import bundle_bytes, import_bundle, read_bundle, read_parts
from rubriclab.store.store import Store
from tests.store import damage
from tests.store.test_store import answered, judgment, new_run

EVERY = int(os.environ.get("RUBRICLAB_FUZZ_EVERY", "97"))
"""Of some 3,000 ways to damage a bundle every so many-th is tried; 1 tries them all."""
CASES = sorted((Path(__file__).parents[1] / "oracle" / "cases").glob("*.zip"))


def bundle_of(store: Store, run: str, path: Path) -> Path:
    path.write_bytes(bundle_bytes(store.table(run), store, run, "topic,measure\r\n"))
    return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of three judgments, one of them an error."""
    folder = tmp_path_factory.mktemp("bundle")
    with Store.open(folder / "lab.duckdb") as store:
        failed = judgment(3, condition=1, kind="timeout", error="no answer")
        run = answered(store, new_run(store), judgment(1), judgment(2, item=1, order=1), failed)
        store.set_state(run, "finished")
        return bundle_of(store, run, folder / "run.zip")


def same(one: JudgmentTable, other: JudgmentTable) -> None:
    pd.testing.assert_frame_equal(one.rows, other.rows, check_dtype=False)
    pd.testing.assert_frame_equal(one.items, other.items, check_dtype=False)
    assert (one.conditions, one.orderings, one.state) == (
        other.conditions,
        other.orderings,
        other.state,
    )
    assert (one.probabilities is None) == (other.probabilities is None)
    if one.probabilities is not None:
        np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=1e-6)


@pytest.mark.thorough
def test_a_bundle_is_read_without_a_store_and_kept_by_one(recorded: Path, tmp_path: Path) -> None:
    table = read_bundle(recorded)
    assert (table.rows["score"].tolist()[:2], table.rows["status"].tolist()) == (
        [2.0, 2.0],
        [0, 0, 4],
    )
    assert table.probabilities[0].tolist() == [0.25, 0.5, 0.25]
    assert table.items["response"].tolist() == ["Hello there", "Go away"]
    assert table.items["ratings"].tolist() == [{"ann": 2.0, "bo": 3.0}, {}]
    assert (table.name, table.state, table.planned) == (
        "First",
        "interrupted",
        (4, 4),
    )  # 3 of 8 calls are no end
    assert table.reading == {"unit": "item"}
    with Store.open(tmp_path / "other.duckdb") as store:
        run = import_bundle(store, recorded)
        assert (import_bundle(store, recorded), store.call(run, 2)["error"]) == (run, "no answer")
        assert store.call(run, 0)["item"]["response"] == "Hello there"
        assert store.study(run)["name"] == "First"
        again = bundle_of(store, run, tmp_path / "again.zip")
        same(read_bundle(again), read_bundle(recorded))


@pytest.mark.thorough
@pytest.mark.parametrize("path", CASES[::12], ids=lambda path: path.stem)
def test_recorded_cases_pass_through_bytes_and_a_store(path: Path, tmp_path: Path) -> None:
    table, copy = read_bundle(path), tmp_path / "copy.zip"
    copy.write_bytes(bundle_bytes(table))
    assert len(table.rows)
    same(read_bundle(copy), table)
    assert bundle_bytes(table) == copy.read_bytes(), "the same run is the same file"
    with Store.open(tmp_path / "lab.duckdb") as store:
        kept = store.table(import_bundle(store, copy))
    pd.testing.assert_frame_equal(kept.rows, table.rows, check_dtype=False)
    assert (kept.conditions, [*kept.items["criterion"]]) == (
        table.conditions,
        [*table.items["criterion"]],
    )


# ---- hostile


def repacked(path: Path, target: Path, **changes: Callable[[Any], Any]) -> Path:
    """A copy whose parts went through ``changes``: study.json as a dict, the others as frames."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(target, "w") as out:
        for name in archive.namelist():
            content, change = archive.read(name), changes.get(name.partition(".")[0])
            if change is not None and name == "study.json":
                head = json.loads(content)
                change(head)
                content = json.dumps(head).encode()
            elif change is not None:
                frame = pd.read_parquet(io.BytesIO(content))
                content = change(frame).to_parquet()
            out.writestr(name, content)
    return target


def cell(column: str, value: Any, row: int = 0) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.astype({column: object})
        frame.loc[row, column] = value
        return frame.infer_objects() if not isinstance(value, str) else frame

    return change


def twice(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([rows, rows.assign(call=rows["call"] + 100)])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"judgments": cell("score", np.inf)},
            r"judgments.parquet, row 1, column score: inf is not a number",
        ),
        (
            {"judgments": cell("position", 99)},
            r"row 1, column position: 99 is not a position in the list shown",
        ),
        ({"judgments": cell("position", -1)}, r"column position: -1 is not a whole number from 0"),
        ({"judgments": cell("item", 7)}, r"column item: 7 is not"),
        ({"judgments": cell("status", 5)}, r"column status"),
        (
            {"judgments": lambda rows: pd.concat([rows, rows[:1].assign(item=1, condition=1)])},
            r"a call of one condition",
        ),
        (
            {"judgments": lambda frame: pd.concat([frame, frame[:1]])},
            r"row 4, column call: 0 is not a call that appears",
        ),
        ({"judgments": lambda frame: frame.drop(columns="mass")}, r"missing columns mass"),
        (
            {"calls": cell("call", 77)},
            r"calls.parquet, row 1, column call: 77 is not a call that the judgments have",
        ),
        ({"calls": cell("text", "1")}, r"its reply is “1”"),
        ({"items": cell("ratings", '{"ann": 1e300}')}, r"has no ratings of people"),
        ({"items": cell("ratings", "[" * 100_000)}, r"items.parquet.*nested deeper"),
        (
            {"study": lambda head: head.update(format=3)},
            r"has the format 3, and this rubriclab reads the format 2. Update",
        ),
        ({"study": lambda head: head.update(conditions=[1])}, r"another form"),
        (
            {"study": lambda head: head["conditions"][0].update(positions=10**9)},
            r"positions is 1000000000; expected",
        ),
        ({"study": lambda head: head["orderings"][0].update(shown=[[1]])}, r"is not an order"),
        ({"study": lambda head: head.update(orderings=[])}, r"column ordering"),
        (
            {"study": lambda head: head["conditions"][0].update(targets=[{}])},
            r"another form.*targets",
        ),
        (
            {"study": lambda head: head["conditions"][0].update(scores=[1, 1, 1])},
            r"“small” does not ascend",
        ),
        (
            {"study": lambda head: head.update(planned=[1])},
            r"planned has 1 numbers; expected one for each of 2",
        ),
        ({"study": lambda head: head.update(planned=[10**30, 1])}, r"another form"),
        ({"judgments": cell("status", 1)}, r"column score: 2.0 is not missing, as its status says"),
        (
            {"judgments": lambda rows: rows[:0], "calls": lambda rows: rows[:0]},
            r"has no judgments: nothing was asked",
        ),
        (
            {"judgments": cell("score", 77.0), "calls": cell("text", "none")},
            r"row 1, column score: 77.0 is not a score of its",
        ),
        ({"judgments": cell("score", 3.0)}, r"score: 3.0 is not the score at its position"),
        ({"judgments": cell("expected", 500.0)}, r"column expected: 500.0 is not within its scale"),
        (
            {"judgments": twice, "calls": twice},
            r"row 4, column repeat: 0 is not unique for its item and order",
        ),
        ({"calls": lambda rows: rows[:1]}, r"calls.parquet has 1 of 3 calls"),
        ({"calls": cell("status", 1)}, r"column status: 1 is not that of its judgments"),
        (
            {"items": lambda rows: rows.assign(item_id="a")},
            r"row 2, column item_id: a is not an ID that appears once",
        ),
    ],
)
def test_rows_that_cannot_be_are_refused(
    recorded: Path, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = repacked(recorded, tmp_path / "bad.zip", **changes)
    with pytest.raises(LabError, match=words):
        read_bundle(path)


def condition(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda head: head["conditions"][0].update(changes)


def pairs_csv() -> str:
    """Nine questions, each asked in both orders; the judge prefers answer a in both."""
    lines = ["judge,question_id,first,second,choice"]
    for question in range(9):
        lines += [f"j,{question},a,b,A", f"j,{question},b,a,B"]
    return "\n".join(lines) + "\n"


def responses_csv() -> str:
    """Nine batches of two answers, x and y, in both orders; a batch has one score."""
    lines = ["judge,dataset,item_id,ordering,score"]
    for batch, score in enumerate((1, 2, 3, 4, 5, 1, 2, 3, 4)):
        x, y = f"x{batch}", f"y{batch}"
        for ordering in (f"{x}|{y}", f"{y}|{x}"):
            lines += [f"j,d,{item},{ordering},{score}" for item in (x, y)]
    return "\n".join(lines) + "\n"


JUDGED = {"pairs": pairs_csv(), "responses": responses_csv()}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (
            "pairs",
            {"study": condition(positions=0)},
            "positions is 0; expected 2 to 2 for pairs",
        ),
        ("pairs", {"study": condition(positions=True)}, r"got `bool` - at `\$.positions`"),
        (
            "pairs",
            {"study": condition(reorder="lists", positions=-1)},
            "positions is -1; expected 2 to",
        ),
        ("pairs", {"study": condition(reorder="bare")}, "“j” has no scores to choose from"),
        (
            "responses",
            {"study": condition(positions=1)},
            "column slot: 1 is not one of the call's answers",
        ),
        (
            "responses",
            {"judgments": cell("slot", 5)},
            "row 1, column slot: 5 is not one of the call's",
        ),
        (
            "responses",
            {"study": condition(reorder="criteria")},
            "column item: 0 is not an item under a criterion",
        ),
        # What is whole but of no sense is read: it has no numbers, or says what is missing.
        ("pairs", {"study": lambda head: head["orderings"][0].update(shown=["zoe", "b"])}, ""),
        ("pairs", {"study": lambda head: head["orderings"][0].update(shown=["a", "a"])}, ""),
        ("pairs", {"items": lambda items: items.assign(candidate="b|a")}, ""),
        ("pairs", {"items": lambda items: items.assign(ratings='{"gold": 77}')}, ""),
        ("pairs", {"judgments": lambda rows: rows.assign(position=0)}, ""),
        ("responses", {}, ""),
        ("responses", {"judgments": lambda rows: rows.assign(score=np.nan)}, ""),
        (
            "responses",
            {"judgments": lambda rows: rows.assign(call=range(len(rows)))},
            "has 18 of 36 calls",
        ),
        ("responses", {"study": condition(reorder="lists")}, ""),
    ],
)
def test_a_bundle_of_choices_or_batches_is_refused_or_has_a_report(
    tmp_path: Path, kind: str, changes: dict[str, Any], words: str
) -> None:
    judged = read_judgments(delimited(JUDGED[kind].encode(), "x.csv"), kind=kind)
    (tmp_path / "whole.zip").write_bytes(bundle_bytes(judged))
    path = repacked(tmp_path / "whole.zip", tmp_path / "changed.zip", **changes)
    if words:
        with pytest.raises(LabError, match=words):
            read_bundle(path)
        return
    run = rl.read(path)
    assert run.text()
    assert "<h1" in run.export(tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["../x", "..\\x", "/x", "study.json", "C:x"])
def test_members_that_lead_out_or_stand_twice_are_refused(
    recorded: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "bad.zip"
    path.write_bytes(recorded.read_bytes())
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a duplicate name
        archive.writestr(name, "{}")
    with pytest.raises(LabError, match=r"appears twice|leads out"):
        read_bundle(path)


@pytest.mark.thorough
def test_names_that_cannot_be_kept_are_mended(recorded: Path, tmp_path: Path) -> None:
    def named(head: dict[str, Any]) -> None:
        head.update(id=" a/../\0 ", name="\0\ud83d", made_with={"a": "\ud800\0"})
        head["conditions"][0]["judge"] = "small\0\ud83d"

    ratings = cell("ratings", '{"a\\u0000\\ud800": 1}')
    path = repacked(recorded, tmp_path / "odd.zip", study=named, items=ratings)
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = import_bundle(store, path)
        assert store.run(run).judges == ("small�", "large")
        assert store.table(run).items["ratings"][0] == {"a�": 1.0}
        same(read_bundle(bundle_of(store, run, tmp_path / "again.zip")), read_bundle(path))


def test_a_refused_import_leaves_no_store(recorded: Path, tmp_path: Path) -> None:
    path = repacked(recorded, tmp_path / "bad.zip", judgments=cell("score", 3.0))
    with Store.open(tmp_path / "lab.duckdb") as store, pytest.raises(LabError):
        import_bundle(store, path)
    assert not (tmp_path / "lab.duckdb").exists()


def zipped(path: Path, content: bytes, member: str | zipfile.ZipInfo = "study.json") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)


def linked(path: Path) -> None:
    member = zipfile.ZipInfo("study.json")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    zipped(path, b"/etc/passwd", member)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (linked, "is a link"),
        (lambda path: zipped(path, b" " * 30_000_000), "unpacks to more than 20 MB"),
        (lambda path: zipped(path, b"[" * 200_000), "nested deeper"),
        (lambda path: path.write_bytes(CASES[0].read_bytes()[:-200]), "not a whole zip"),
        (lambda path: zipfile.ZipFile(path, "w").close(), "has no study.json"),
        (lambda path: path.write_bytes(b"PK\x03\x04 no zip"), "not a whole zip"),
        (lambda _: None, "No such file"),
        (os.mkfifo, "a pipe or a device"),
    ],
)
def test_links_bombs_and_cut_files_are_refused(
    tmp_path: Path, make: Callable[[Path], Any], words: str
) -> None:
    path = tmp_path / "bad.zip"
    make(path)
    with pytest.raises(LabError, match=words):
        read_bundle(path)


def used(store: Store, run: str) -> None:
    """What the pages Runs and Results do first with a run."""
    arm = Judgments(store.table(run)).arms[0]
    if arm.condition.reorder == "options" and arm.ok.any():
        assert shares(arm)
    elif arm.condition.chooses:
        winner_classes(arm)
    else:
        cells(from_arms([arm]))
    assert store.runs()
    assert len(store.judgments(run)) > 0
    store.calls(run)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> damage.Parts:
    """A run of 2 answers in 2 orders: 4 judgments with probabilities, replies and people's
    ratings.
    """
    folder = tmp_path_factory.mktemp("small")
    (folder / "answers.csv").write_text(
        "item_id,response,human_1\na,The first answer here,2\nb,The second answer here,3\n"
    )
    study = (
        'name = "S"\n[[data]]\nfile = "answers.csv"\n[design]\nstrategies = ["fixed", '
        '"descending"]\nrepeats = 1\n'
        '[[judges]]\nname = "j"\nkind = "simulated"\nmodel = "simulated"\n[rubric]\nname = "r"\n'
        '[[rubric.criteria]]\nname = "c"\noptions = [{ score = 1, description = "bad" }, '
        '{ score = 2, description = "fair" }, { score = 3, description = "good" }]\n'
    )
    (folder / "study.toml").write_text(study)
    run = rl.run(folder / "study.toml", folder / "lab.duckdb")
    content = run.content(".zip")
    run.close()
    return damage.unpacked(content)


@pytest.mark.thorough
@pytest.mark.parametrize("damaged", [damage.damaged_tables, damage.damaged_heads])
def test_any_one_fault_is_refused_in_words_or_harms_nothing(
    small: damage.Parts, tmp_path: Path, damaged: Any
) -> None:
    taken = refused = 0
    with Store.open(":memory:") as store:
        for what, made in itertools.islice(damaged(small), 0, None, EVERY):
            parts = made()
            if parts is None:
                continue
            path = damage.packed(parts, tmp_path / "damaged.zip")
            try:
                table, calls, study = read_parts(path)
            except LabError:
                refused += 1
                continue
            try:
                run = store.add_table(table, calls, study)
                used(store, run)
            except Exception as fault:
                raise AssertionError(f"{what}: {fault!r}") from fault
            taken += 1
            store.delete(run)
    assert refused > 300 / EVERY
    assert taken > 60 / EVERY


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("part", "column", "how", "words"),
    [
        ("items", "dataset", "all null", "column dataset: an empty cell is not a text"),
        ("items", "dataset", "text", "is not an item of the data set that its condition asks"),
        ("items", "item_id", "one null", "column item_id: an empty cell is not a text"),
        ("items", "prompt", "numbers", "column prompt: 7 is not a text"),
        ("calls", "key", "numbers", "column key: 7 is not a text"),
        ("calls", "key", "constant", "is not a key that appears once"),
        ("calls", "text", "numbers", "column text: 7 is not a text"),
        ("calls", "seconds", "negative", "column seconds: -5 is not a number from 0"),
        ("calls", "tokens_in", "infinite", "column tokens_in: inf is not a number from 0"),
        ("calls", "asked", "text", "column asked: text 0 is not a time"),
        ("judgments", "ordering", "huge", "column ordering"),
    ],
)
def test_each_column_says_what_is_wrong_in_it(
    small: damage.Parts, tmp_path: Path, part: str, column: str, how: str, words: str
) -> None:
    wanted = f"{part}.parquet: {column} {how}"
    parts = dict(damage.damaged_tables(small))[wanted]()
    assert parts is not None
    with pytest.raises(LabError, match=words):
        read_parts(damage.packed(parts, tmp_path / "damaged.zip"))
