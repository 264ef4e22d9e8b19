"""The benchmark of calls to a verdict: its arithmetic, its judges, what it prints."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import calls
from benchmarks.__main__ import main
from rubriclab.stats.sequential import NEAR


@pytest.mark.slow
def test_recorded_judges_have_the_recorded_shift() -> None:
    judges = {judge.name: judge for judge in calls.recorded()}
    assert len(judges) == 4
    rng = np.random.default_rng(0)
    for name, judge in judges.items():
        chances = judge.chances(6_000, rng)
        assert chances.sum(axis=-1) == pytest.approx(1.0, abs=1e-6)
        mean = (chances[:, calls.ASCENDING] - chances[:, calls.DESCENDING]).mean(axis=0)
        assert mean @ calls.POINTS == pytest.approx(judge.shift, abs=0.02), name


def certain(shift: float) -> calls.Judge:
    """A judge whose every item scores 2 in the descending order and 2 + shift in expectation."""

    def chances(items: int, rng: np.random.Generator) -> np.ndarray:
        del rng
        out = np.zeros((items, 10, 5))
        out[..., 2] = 1.0
        out[:, calls.ASCENDING, 2] -= shift
        out[:, calls.ASCENDING, 3] += shift
        return out

    return calls.Judge("certain", shift, chances)


def test_what_costs_what_by_hand() -> None:
    found = {way.way: way for way in calls.compare(certain(0.3), studies=40, seed=1)}
    # A coin of 0.3: (2.80 x sqrt(0.21) / 0.3)^2 = 18.3 items.
    assert found["papers"].calls == pytest.approx(10 * (19 + 2), rel=0.1)
    assert found["equal"].calls == pytest.approx(found["papers"].calls / 5, rel=0.1)
    assert found["equal"].of_papers == pytest.approx(0.2, rel=0.1)
    # Expected scores say 0.3 for every item: what remains is how far other items could lie.
    assert found["lab"].effect == 1.0
    assert found["lab"].wrong == 0.0
    still = {way.way: way for way in calls.compare(certain(0.0), studies=10, seed=1)}
    assert still["lab"].equivalent == 1.0
    assert not any(way.wrong for way in still.values())
    # Nothing but zeros: 0.95 of the stake, of 3.9 points that can be lost, gains on 0.1; most of the
    # stake, dealt to equivalence, must gain log 40.
    gain = np.log1p(0.1 * 0.95 / 3.9)
    assert still["lab"].calls == pytest.approx(2 * np.log(40 / NEAR[0]) / gain, rel=0.1)
    assert not next(iter(calls.bars(list(still.values())).values())), "missed, and said to be"


def test_it_prints_what_is_met_and_what_is_missed(monkeypatch, capsys) -> None:
    monkeypatch.setattr(calls, "simulated", lambda: iter([certain(0.3)]))
    monkeypatch.setattr(calls, "recorded", lambda: iter([certain(0.0)]))
    assert main(["calls", "--studies", "10"]) == 1
    said = capsys.readouterr().out
    assert "met     certain, true shift +0.30" in said or "MISSED  certain, true shift +0.30" in said
    assert "MISSED  certain, true shift +0.00" in said
    main(["calls", "--studies", "5", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert len(document["ways"]) == 10


def test_no_way_is_below_the_bound_and_a_test_of_known_size_reaches_it() -> None:
    """Of 100 items of sd 1 a shift of 0.2 is 2 standard errors: by hand 2.80^2 / 4 x 100 = 196.2 items."""
    most, average = calls.fewest(-0.2, 1.0, 2)
    assert most == pytest.approx(2 * (1.959964 + 0.841621) ** 2 / 0.04)
    # Wald: 0.8 log 32 + 0.2 log (0.2 / 0.975), over half the squared distance in sd.
    assert average == pytest.approx(2 * (0.8 * np.log(32) + 0.2 * np.log(0.2 / 0.975)) / 0.02)
    # None: both edges of equivalence, each missed by half of the 20 %.
    assert calls.fewest(0.0, 1.0, 2)[0] == pytest.approx(2 * (1.959964 + 1.281552) ** 2 / 0.01)
    found = calls.compare(certain(0.3), studies=40, seed=1)
    assert all(way.bound <= way.calls for way in found if way.calls)
    equal = next(way for way in found if way.way == "equal")
    assert equal.calls == pytest.approx(equal.bound + 2 * 2, abs=2), "two items more, for Student's t"
