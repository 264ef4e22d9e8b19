"""The bench: items drawn, versions with where they came from, pairs of orders first, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rubriclab.__main__ import main
from rubriclab.cli.common import EXIT_FAULT, EXIT_OK, EXIT_UNFINISHED
from rubriclab.datasets.rubric_diff import rubric_diff, word_diff
from rubriclab.datasets.rubrics import dump_rubric
from rubriclab.model import Criterion, Dataset, Item, Judge, LabError, Rubric, ScoreOption
from rubriclab.runs.manager import RunManager
from rubriclab.runs.terms import Limits
from rubriclab.runs.workshop import (
    Bench,
    PairsFirst,
    benches,
    difference,
    new_bench,
    open_bench,
    poke,
    same_version,
    try_version,
    version_study,
)
from rubriclab.runs.workshop_sample import PEOPLE, Known, drawn
from rubriclab.store import Store
from rubriclab.study.plan import plan

JUDGE = Judge("leaning", "simulated", "simulated", options={"position": {"first": 1.0}})
WAIT = 60.0


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


def rubric(lowest: str = "level 1", *, n: int = 5, name: str = "Clarity", scores: int = 1) -> Rubric:
    first = (ScoreOption(scores, lowest),)
    return Rubric(
        "r", (Criterion(name, first + tuple(ScoreOption(s, f"level {s}") for s in range(scores + 1, n + 1))),)
    )


def texts(count: int = 20) -> Dataset:
    return Dataset(
        "d", tuple(Item(f"i{k}", f"question {k}", f"answer {k}", human=(float(k % 5 + 1),)) for k in range(count))
    )


def bench_of(store: Store, items: int = 6) -> Bench:
    return new_bench(store, texts(), rubric(), JUDGE, items=items)


def tried(store: Store, bench: Bench, changed: Rubric, name: str, parent: str | None = None, **more: object) -> str:
    run = try_version(RunManager(store), bench, changed, name=name, parent=parent, **more)  # type: ignore[arg-type]
    run.wait(WAIT)
    return run.info.run


# ---------------------------------------------------------------- how items are drawn


def test_half_is_spread_over_the_scores_and_half_moved_most() -> None:
    items = [Item(f"i{k}", response="x") for k in range(20)]
    known = Known({f"i{k}": float(k) for k in range(20)}, PEOPLE, {"i3": 2.0, "i9": 1.5, "i15": 1.0, "i1": 0.2}, "old")
    found = drawn(items, 8, known, seed=0)
    assert len(found.items) == 8
    movers = {3, 9, 15, 1}
    assert movers <= set(found.items) or len(movers & set(found.items)) >= 3
    # One of the spread half from each quarter of the scores.
    quarters = {k // 5 for k in found.items}
    assert quarters == {0, 1, 2, 3}
    assert "spread over the scores that people gave" in found.words
    assert "moved most with the order in run old" in found.words
    assert "about these items and not about all" in found.words
    assert "moves less when it is read again" in found.words


def test_the_seed_decides_and_the_data_s_order_does_not_matter_for_nothing_known() -> None:
    items = [Item(f"i{k}", response="x", prompt=f"p{k // 2}") for k in range(20)]
    first, again, other = (drawn(items, 10, Known(), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.items != other.items
    assert "Nothing was known of their scores" in first.words
    # Ten prompts with two items each: every prompt once, so that as many units as can be carry intervals.
    assert {items[k].prompt for k in first.items} == {f"p{k}" for k in range(10)}


def test_all_items_are_all_items() -> None:
    assert drawn([Item("a", response="x")], 5, Known()).words == "All 1 item of the data: nothing was left out."


def test_what_chose_the_items_does_not_count_on_the_bench(store: Store) -> None:
    """An earlier run of the same judge and rubric: its moves choose items, its answers are not taken over."""
    first = new_bench(store, texts(), rubric(), JUDGE, items=20)
    study = replace(version_study(first, rubric(), name="x"), name="An earlier study")
    earlier = RunManager(store).start(study)
    earlier.wait(WAIT)
    bench = new_bench(store, texts(), rubric(), JUDGE, items=6)
    assert bench.not_from == (earlier.info.run,)
    assert f"no answer of run {earlier.info.run} counts" in bench.sample
    assert poke(store, bench, rubric()).known == 0
    # A bench that nothing chose takes them.
    assert poke(store, first, rubric()).known == 20 * 12


# ---------------------------------------------------------------- a bench and its versions


def test_a_bench_is_kept_and_found_again(store: Store) -> None:
    bench = bench_of(store)
    assert benches(store) == (bench.id,)
    assert [version.name for version in bench.versions] == ["as it was"]
    assert bench.held_out is not None
    held = {item.item_id for item in bench.held_out.items}
    assert len(held) == 14
    assert not held & {item.item_id for item in bench.study.dataset.items}
    assert open_bench(store, bench.id[:4]) == bench
    assert bench_of(store) == bench, "the same bench twice is one bench"
    with pytest.raises(LabError, match="no bench “nope”"):
        open_bench(store, "nope")


def test_versions_are_a_tree_and_only_what_changed_is_asked(store: Store) -> None:
    bench = bench_of(store)
    root = tried(store, bench, rubric(), "whatever")
    assert root == bench.versions[0].run
    one = tried(store, bench, rubric("bad"), "bad", root)
    bench = open_bench(store, bench.id)
    tried(store, bench, rubric("bad!"), "louder", one)
    tried(store, bench, rubric("worst"), "worst", root)
    bench = open_bench(store, bench.id)
    assert [(depth, version.name) for depth, version in bench.tree()] == [
        (0, "as it was"),
        (1, "bad"),
        (2, "louder"),
        (1, "worst"),
    ]
    # A rubric that the bench has is that version, under its name, and nothing is asked.
    known = same_version(bench, rubric("bad"))
    assert known is not None
    assert known.name == "bad"
    run = try_version(RunManager(store), bench, rubric("bad"), name="again", parent=root)
    assert (run.info.run, run.wait(WAIT).asked) == (one, 0)
    with pytest.raises(LabError, match="has a version “worst” already"):
        try_version(RunManager(store), bench, rubric("new words"), name="worst", parent=root)


def test_held_out_items_are_asked_apart_and_are_no_version(store: Store) -> None:
    bench = bench_of(store)
    root = tried(store, bench, rubric(), "x")
    run = tried(store, bench, rubric("bad"), "bad", root, held_out=True)
    assert len(store.frame(run).items) == 14
    assert len(open_bench(store, bench.id).versions) == 1
    everything = new_bench(store, texts(), rubric(), JUDGE, items=20)
    with pytest.raises(LabError, match="none is held out"):
        try_version(RunManager(store), everything, rubric(), name="x", parent=None, held_out=True)


def test_a_budget_stops_a_poke_and_the_rest_is_asked_later(store: Store) -> None:
    bench = bench_of(store)
    before = poke(store, bench, rubric())
    assert (before.calls, before.known, before.asked) == (72, 0, 72)
    run = try_version(RunManager(store), bench, rubric(), name="x", parent=None, limits=Limits(max_calls=12))
    ended = run.wait(WAIT)
    assert ended.state == "paused"
    assert "budget of 12 calls" in ended.reason
    left = poke(store, bench, rubric())
    assert left.known == ended.done
    assert "answered before" in left.sentence()
    tried(store, bench, rubric(), "x")
    assert "nothing is asked" in poke(store, bench, rubric()).sentence()


def test_renaming_the_criterion_is_a_version_like_any_other(store: Store) -> None:
    bench = bench_of(store, items=12)
    root = tried(store, bench, rubric(), "x")
    renamed = tried(store, bench, rubric(name="Plainness"), "renamed", root)
    found = difference(store, renamed, root)
    assert (found.items, found.reads) == (12, 120)


def test_the_first_pair_of_orders_of_every_item_comes_first(store: Store) -> None:
    prepared = plan(version_study(bench_of(store), rubric(), name="x"))
    calls = list(PairsFirst(prepared).calls(0))
    assert sorted(call.key for call in calls) == sorted(call.key for call in prepared.calls())
    usual = (1, 2, 3, 4, 5)
    first = calls[:12]
    assert {call.items for call in first} == {(k,) for k in range(6)}
    assert [call.ordering.shown for call in first] == [usual, usual[::-1]] * 6
    assert [call.repeat for call in calls[-12:]] == [1, 2] * 6, "the same order again comes last"


# ---------------------------------------------------------------- what changed, word by word


def test_words_are_removed_and_added() -> None:
    assert [(piece.kind, piece.text) for piece in word_diff("a clear and short text", "a clear, short text")] == [
        ("same", "a"),
        ("removed", "clear and"),
        ("added", "clear,"),
        ("same", "short text"),
    ]
    assert [piece.kind for piece in word_diff("all of this went", "nothing stayed here")] == ["removed", "added"]
    assert {piece.kind for piece in word_diff("white  space\n", "white space")} == {"same"}


def test_a_diff_names_every_text_that_changed() -> None:
    before = Rubric("r", (Criterion("A", (ScoreOption(1, "bad"), ScoreOption(2, "good")), "about"),))
    after = Rubric(
        "r", (Criterion("B", (ScoreOption(1, "bad", "x"), ScoreOption(2, "very good"), ScoreOption(3)), "about"),)
    )
    assert [change.marked() for change in rubric_diff(before, after)] == [
        "Name of the criterion: [-A-] {+B+}",
        "Label of score 1: [-1-] {+x+}",
        "Score 2: {+very+} good",
        "Score 3: {+3+}",
    ]
    assert rubric_diff(before, before) == ()


def test_criteria_that_come_and_go_are_said() -> None:
    options = (ScoreOption(1, "bad"), ScoreOption(2, "good"))
    one, two = Criterion("A", options), Criterion("B", options)
    marked = [change.marked() for change in rubric_diff(Rubric("r", (one,)), Rubric("r", (one, two)))]
    assert marked == ["Criterion: {+B+}", "B, score 1: {+bad+}", "B, score 2: {+good+}"]
    marked = [change.marked() for change in rubric_diff(Rubric("r", (one, two)), Rubric("r", (one,)))]
    assert marked[0] == "Criterion: [-B-]"


# ---------------------------------------------------------------- the command


def written(folder: Path, name: str, made: Rubric) -> str:
    path = folder / name
    path.write_text(dump_rubric(made))
    return str(path)


@pytest.mark.slow
def test_new_try_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "lab.duckdb")
    with Store(file) as made:
        made.save_judge(JUDGE)
    base, bad = written(tmp_path, "base.yaml", rubric()), written(tmp_path, "bad.yaml", rubric("bad"))
    new = ["workshop", "new", "sample", "--store", file, "--rubric", base, "--judge", "leaning", "--items", "8"]
    assert main([*new, "--json"]) == EXIT_OK
    told = json.loads(capsys.readouterr().out)
    assert (told["items"], told["held_out"], told["simulated"]) == (8, 32, True)
    assert told["took"]["asked"] == 96
    bench = told["bench"]
    assert main(["workshop", "try", bench, bad, "--store", file, "--budget", "20"]) == EXIT_UNFINISHED
    assert "hold at every look at once" in capsys.readouterr().out
    assert main(["workshop", "try", bench, bad, "--store", file, "--json"]) == EXIT_OK
    told = json.loads(capsys.readouterr().out)
    (version,) = told["versions"]
    assert (version["version"], version["from"]) == ("bad", "as it was")
    assert version["changes"] == ["Score 1: [-level 1-] {+bad+}"]
    assert version["difference"]["reads"] == 80
    assert version["difference"]["anytime"] is False
    assert main(["workshop", "show", "--store", file]) == EXIT_OK
    out = capsys.readouterr().out
    assert "SIMULATED judge leaning" in out
    assert "less as it was: " in out
    assert main(["workshop", "show", "zzz", "--store", file]) == EXIT_FAULT
