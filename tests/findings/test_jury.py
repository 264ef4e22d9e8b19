"""Juries of a run: the true best mix is found, nothing is said that is not so, and it has a place in every account."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rubriclab.__main__ import main
from rubriclab.figures.jury import budget_curves, curve, order_forest
from rubriclab.findings.estimates import estimates
from rubriclab.findings.jury import JURY, jury
from rubriclab.findings.jury_results import JuryOf, Measured
from rubriclab.findings.jury_words import choice_sentence, verdict_sentence
from rubriclab.findings.topics import Findings, document
from rubriclab.model import LabError, Ordering, RunData
from rubriclab.report.text import as_text
from rubriclab.store import Store
from tests.juries import Planted, jury_run
from tests.jury_rates import r_of, rates

APART = Planted(judges=3, text_sd=0.9, text=0.0)
SAME = Planted(judges=3, text=1.0)


@pytest.fixture(scope="module")
def apart() -> RunData:
    return jury_run(APART, items=300, seed=1, orders=5)


def people(data: RunData, **options: object) -> tuple[JuryOf, Measured]:
    of = jury(data, **options).juries[0]  # type: ignore[arg-type]
    assert of.people is not None
    return of, of.people


def test_judges_that_misjudge_apart_make_the_better_jury(apart: RunData) -> None:
    of, found = people(apart, budget=9)
    assert found.several is not None
    mix = found.mixes[found.several]
    assert (mix.judges, mix.orders) == (("j0", "j1", "j2"), 3)
    assert found.gain.verdict == "effect"
    assert found.gain.estimate > 0.1
    assert "agrees better with people than" in verdict_sentence(of)
    low, high = mix.agreement_ci
    assert low < r_of(APART, (0, 1, 2), 3, shared=False) < high


def test_judges_that_misjudge_alike_make_no_better_one() -> None:
    of, found = people(jury_run(SAME, items=200, seed=3, orders=5))
    assert found.gain.verdict != "effect"
    assert of.errors is not None
    assert of.errors.within == pytest.approx(of.errors.other, abs=0.06)


def test_the_order_pulls_two_judges_the_same_way_as_planted() -> None:
    of, _ = people(jury_run(replace(SAME, order=0.8), items=200, seed=3, orders=5))
    true = 0.8 * 0.16 / (0.16 + 0.09)  # the rest of an order error is noise
    assert of.order_errors_ci.low < true < of.order_errors_ci.high
    assert of.order_votes == pytest.approx(3 / (1 + 2 * of.order_errors))
    assert len(of.pairs) == 3


def test_what_measures_a_mix_did_not_choose_it(apart: RunData) -> None:
    _, found = people(apart)
    assert (found.n_choosing, found.n_items) == (120, 180)
    # With ratings that are noise no judge agrees with people; the best of 21 mixes must not look as if it did.
    items = apart.items.assign(human=np.random.default_rng(0).normal(3, 1, size=len(apart.items)))
    _, blind = people(replace(apart, items=items))
    assert blind.best is not None
    assert abs(blind.mixes[blind.best].agreement) < 0.25 or np.isnan(blind.mixes[blind.best].agreement)
    assert blind.gain.verdict == "undecided"


def test_the_margin_decides_how_cheap_a_mix_may_be(apart: RunData) -> None:
    chosen = {}
    for margin in (0.01, 0.3, 3.0):
        of, found = people(apart, budget=15, margin=margin)
        assert found.chosen is not None
        chosen[margin] = found.mixes[found.chosen].calls
        assert ("no cheaper mix was shown" in choice_sentence(of, found)) == (found.chosen == found.best)
    assert chosen[3.0] == 1
    assert chosen[0.01] > chosen[0.3] >= 3


def test_money_buys_the_cheap_judge_where_it_does_as_well() -> None:
    data = jury_run(replace(SAME, order_sd=0.2), items=200, seed=5, orders=5)
    prices = (("j0", 0.01), ("j1", 0.01), ("j2", 0.001))
    of, found = people(data, budget=20.0, prices=prices, margin=0.4)
    assert of.money
    assert found.chosen is not None
    mix = found.mixes[found.chosen]
    assert mix.judges == ("j2",)
    assert mix.cost == pytest.approx(1000 * 0.001 * mix.orders)
    assert all(one.cost <= 20.0 + 1e-6 for one in found.mixes)
    with pytest.raises(LabError, match="there is none for j1, j2"):
        jury(data, budget=5.0, prices=prices[:1])


def test_without_people_nothing_is_said_of_truth() -> None:
    of = jury(jury_run(APART, items=100, seed=1, orders=5, rated=False)).juries[0]
    assert [one.target for one in of.targets] == ["panel"]
    assert of.targets[0].gain.verdict == "undecided"
    assert "Nobody rated" in verdict_sentence(of)
    whole = next(mix for mix in of.targets[0].mixes if mix.calls == 15)
    assert whole.error == pytest.approx(0.0, abs=1e-9)


def test_few_items_unfinished_runs_and_odd_numbers(apart: RunData) -> None:
    _, few = people(jury_run(APART, items=25, seed=1, orders=5))
    assert few.chosen is None
    assert few.why == "15 units to measure on, where 20 are needed"
    assert few.gain.verdict == "undecided"
    of, open_ = people(replace(apart, planned=(10_000, 1, 1)))
    assert open_.chosen is None
    assert "not finished" in choice_sentence(of, open_)
    for budget in (0.0, -1.0, float("nan")):
        with pytest.raises(LabError, match="above 0"):
            jury(apart, budget=budget)
    assert people(apart, budget=1)[1].gain.why == "the budget pays for no jury"


def test_judges_in_orders_of_their_own_share_none(apart: RunData) -> None:
    # Judge 1 saw every order a turn earlier: no order of the two is the same in the same place, but all are shared.
    turned = apart.judgments.copy()
    mine = turned["arm"] == 1
    turned.loc[mine, "ordering"] = (turned.loc[mine, "ordering"] + 1) % 5
    assert jury(replace(apart, judgments=turned)).juries[0].aligned
    # Judge 2 saw orders that nobody else did.
    others = tuple(Ordering(one.shown[::2] + one.shown[1::2], one.labels) for one in apart.orderings)
    turned.loc[turned["arm"] == 2, "ordering"] += 10
    of = jury(replace(apart, judgments=turned, orderings=(*apart.orderings, *others))).juries[0]
    assert not of.aligned
    assert not of.pairs
    assert all(not mix.shared for one in of.targets for mix in one.mixes)


def test_a_run_of_one_judge_has_no_jury() -> None:
    assert not JURY.is_in(jury_run(Planted(judges=1), items=10, seed=0))


def test_juries_are_in_every_account(apart: RunData) -> None:
    found = Findings(apart)
    body = document(found)
    json.dumps(body, allow_nan=False)
    assert body["juries"][0]["targets"][0]["gain"]["verdict"] == "effect"
    text = as_text(body)
    assert "Several judges or several orders" in text
    assert "agrees better with people than" in text
    table = estimates("jury", found.of(JURY))
    assert {"targets.agreement", "order_errors", "pairs.correlation"} <= set(table["measure"])
    of, of_people = people(apart)
    drawn = budget_curves(of, of_people, shared=True)
    assert len(drawn.figure.data) == 3
    assert "2 judges: r 0." in drawn.alt
    assert len(order_forest(of).figure.data[0].x) == 3
    own = curve(of_people, 3, shared=False, every=of.orders)
    assert [mix.orders for mix in own] == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_the_command_says_the_same(apart: RunData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(tmp_path / "s.duckdb") as store:
        run = store.import_run(apart, provenance={})
    asked = ["jury", run, "--store", str(tmp_path / "s.duckdb")]
    assert main([*asked, "--budget", "9", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["juries"][0]
    assert made["budget"] == 9
    assert made["sentence"] == verdict_sentence(people(apart, budget=9)[0])
    assert main(asked) == 0
    assert "* to take, + the best for the budget" in capsys.readouterr().out
    assert main([*asked, "--money", "3"]) == 1
    assert "there is none for j0, j1, j2" in capsys.readouterr().err


@pytest.mark.slow
def test_false_advice_is_rare() -> None:
    counted = rates("no jury helps", 100, 40)
    assert counted["false effect"] + counted["false equivalent"] + counted["falsely enough"] <= 5
