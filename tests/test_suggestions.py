"""Suggestions: what the rules make of a rubric, what helps on held-out items, and that nothing is asked twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rubriclab.__main__ import main
from rubriclab.findings.suggested import helped, moved
from rubriclab.model import Call, Criterion, Dataset, Item, Judge, LabError, Reply, Rubric, ScoreOption
from rubriclab.runs import runner
from rubriclab.runs.manager import RunManager
from rubriclab.runs.suggestions import (
    Leaderboard,
    calls_needed,
    leaderboard,
    own_wordings,
    proposals,
    suggest,
    with_held_out,
)
from rubriclab.runs.workshop import Bench, new_bench
from rubriclab.store import Store
from rubriclab.study.rubric_suggestions import parallel, suggestions, without_extremes
from tests.labkit import ScriptedJudge
from tests.suggestion_rates import Wording, asked, rates, texts

JUDGE = Judge("sim", "simulated", "simulated")
TEXTS = ("Terrible, an awful answer.", "It has 3 errors.", "Fair.", "The answer is very good.", "Excellent.")


def rubric(*texts: str) -> Rubric:
    return Rubric("r", (Criterion("quality", tuple(ScoreOption(k + 1, text) for k, text in enumerate(texts))),))


def made(of: Rubric, key: str) -> list[str | None]:
    one = next(one for one in suggestions(of) if one.key == key)
    return [option.description for option in one.rubric.criteria[0].options]


# ---------------------------------------------------------------- rules


def test_rules_reword_as_written() -> None:
    assert made(rubric(*TEXTS), "no-extremes") == [
        "Poor, a poor answer.",
        "It has 3 errors.",
        "Fair.",
        "The answer is good.",
        "Good.",
    ]
    assert made(rubric(*TEXTS), "no-numbers")[1] == "It has some errors."
    assert made(rubric("1: Poor", "2 - Fair"), "labels-apart") == ["Poor", "Fair"]
    assert made(rubric("poor", "It is fair."), "closed") == ["Poor.", "It is fair."]
    assert without_extremes("An excellent reply, extremely clear") == "A good reply, clear"
    assert parallel("The answer solves it") == "A response at this level: solves it"
    assert parallel(parallel("SQL is right")) == parallel("SQL is right") == "A response at this level: SQL is right"


def test_a_rubric_that_keeps_a_rule_gets_no_suggestion_of_it() -> None:
    keys = {one.key for one in suggestions(rubric("Poor.", "Fair.", "Good."))}
    assert keys == {"parallel", "letters"}
    every = proposals(
        rubric(*TEXTS), {"mine": rubric("Bad.", "So so.", "Fair.", "Fine.", "Good."), "same": rubric(*TEXTS)}
    )
    assert every[0].key == "mine"
    assert "same" not in [one.key for one in every]
    assert len({one.rubric.id for one in every}) == len(every)


# ---------------------------------------------------------------- the measure


def test_what_the_order_moves_is_its_variance_less_the_noise() -> None:
    data = asked(Wording(), *texts(3, np.random.default_rng(0)), np.random.default_rng(1))
    scores = data.judgments
    scores.loc[scores["item"] == 0, "score"] = [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 3.0]
    found = moved(data)
    # Twice 1 to 5: 20 / 9; two reads of one order a point apart: 1 / 2.
    assert found.spread[0] == pytest.approx(20 / 9 - 1 / 2)
    assert found.mean[0] == 3.0
    # An item with an unread reply is left out, and counted.
    scores.loc[(scores["item"] == 1) & (scores["read"] == 4), "score"] = np.nan
    scores.loc[(scores["item"] == 1) & (scores["read"] == 4), "status"] = 1
    assert [key[0] for key in moved(data).key] == ["i0", "i2"]
    assert moved(data).items == 3


def test_less_order_helps_unless_people_are_agreed_with_less() -> None:
    rng = np.random.default_rng(5)
    some = texts(80, rng)
    before = asked(Wording(own=0.8), *some, rng)
    calm = helped(asked(Wording(own=0.1, common=0.0), *some, rng), before, tested=3)
    assert calm.helps
    assert calm.verdict == "effect"
    assert calm.spread < 0.4 < calm.before
    off = helped(asked(Wording(own=0.1, common=0.0, misjudged=1.2), *some, rng), before, tested=3)
    assert not off.helps
    assert "agrees as well with people is not known" in off.why
    assert helped(before, asked(Wording(own=0.1, common=0.0), *some, rng)).verdict == "effect"  # harm
    same = asked(Wording(own=0.0, common=0.0, noise=0.0), *some, rng)
    assert helped(same, same).verdict == "equivalent"
    few = helped(asked(Wording(own=0.1), *texts(12, rng), rng), asked(Wording(own=0.8), *texts(12, rng), rng))
    assert (few.helps, few.why) == (False, "12 units are too few to say so; 20 are needed")


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["nothing helps", "less order, less agreement"])
def test_false_help_is_rare(setting: str) -> None:
    assert rates(setting, 60, 20)["false"] <= 4


@pytest.mark.slow
def test_what_helps_much_is_found() -> None:
    assert rates("one helps much", 60, 12)["found"] >= 7


# ---------------------------------------------------------------- on a bench


class Leaning(ScriptedJudge):
    """Takes what stands first for half of the items, unless no description is called excellent."""

    def __init__(self) -> None:
        super().__init__(script=self._answer)

    def _answer(self, call: Call, nth: int) -> Reply:
        del nth
        prompt = "".join(message["content"] for message in call.messages)
        number = int(prompt.split("response ")[-1].split()[0].strip(".\n")) if "response " in prompt else 0
        if "xcellent" in prompt and number % 2:
            return Reply(text=call.ordering.labels[0], model="m")
        return Reply(text=call.ordering.labels[call.ordering.shown.index(3)], model="m")


@pytest.fixture
def leaning(monkeypatch: pytest.MonkeyPatch) -> Leaning:
    judge = Leaning()
    monkeypatch.setitem(runner.Run.__init__.__kwdefaults__, "opener", judge.opener)
    return judge


def bench_of(store: Store, items: int) -> Bench:
    every = tuple(Item(f"i{k}", f"instruction {k}", f"response {k} ") for k in range(items))
    return new_bench(store, Dataset("d", every), rubric(*TEXTS), JUDGE, items=12)


def tried_on(store: Store, bench: Bench) -> Leaderboard:
    some = [one for one in proposals(rubric(*TEXTS)) if one.key in ("no-extremes", "letters", "no-numbers")]
    return suggest(RunManager(store), bench, some, items=24, finalists=2)


@pytest.mark.slow
def test_what_helps_is_found_on_a_bench_and_nothing_is_asked_twice(tmp_path: Path, leaning: Leaning) -> None:
    with Store(tmp_path / "s.duckdb") as store:
        bench = bench_of(store, 40)
        some = proposals(rubric(*TEXTS))
        assert (
            calls_needed(store, with_held_out(bench, 24), bench.versions[0], some[:3], finalists=2)
            == 12 * 12 * 4 + 24 * 12 * 3
        )
        found = tried_on(store, bench)
        assert [one.name for one in found.helping] == ["No extremes"]
        assert "No extremes helps: on 24 held-out items" in found.sentence
        assert found.tested == 1  # letters and numbers leave the leaning as it is
        assert max(leaning.asked.values()) == 1
        asked_once = len(leaning.asked)
        assert tried_on(store, bench).sentence == found.sentence
        assert len(leaning.asked) == asked_once
        again = bench_again(store, bench)
        known = {one.key: one for one in proposals(rubric(*TEXTS), own_wordings(store, again, again.versions[0]))}
        assert known["no-extremes"].title == "No extremes", "a rule's version is no wording of the user's"
        assert not [one for one in known.values() if one.why == "proposed by you"]
        assert leaderboard(store, bench_again(store, bench)).helping[0].name == "No extremes"


def bench_again(store: Store, bench: Bench) -> Bench:
    from rubriclab.runs.workshop import open_bench

    return open_bench(store, bench.id)


@pytest.mark.slow
def test_the_command_says_plainly_that_nothing_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.duckdb"
    with Store(path) as store:
        bench = bench_of(store, 36)
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "name: r\ncriteria:\n  - name: quality\n    options:\n"
        + "".join(f"      - {{score: {k}, description: level {k}}}\n" for k in range(1, 6))
    )
    wanted = ["suggest", bench.id, "--store", str(path), "--rubric", str(mine)]
    assert main([*wanted, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["suggestions"][0]["key"] == "mine"
    assert main([*wanted, "--max-calls", "5"]) == 1
    assert "Nothing was asked" in capsys.readouterr().err
    assert main([*wanted, "--items", "24", "--finalists", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["helps"], found["simulated"]) == ([], True)
    assert found["sentence"].startswith(
        ("Nothing tried here is shown to help", "Nothing has been asked on held-out items")
    )
    assert main([*wanted, "--results"]) == 0
    assert "so it is no evidence" in capsys.readouterr().out


def test_a_bench_of_all_items_has_none_to_test_on(tmp_path: Path) -> None:
    with Store(tmp_path / "s.duckdb") as store:
        bench = replace(bench_of(store, 12), held_out=None)
        with pytest.raises(LabError, match="none is left to test a suggestion on"):
            with_held_out(bench, 10)
