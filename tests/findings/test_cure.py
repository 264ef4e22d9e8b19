"""Which way of asking is taken: measured on items that did not choose it, by judges of other families."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.findings import cure_methods
from rubriclab.findings.cure import Choice, cure
from rubriclab.findings.cure_methods import folds, held_out, nearest
from rubriclab.findings.cure_pairs import side
from rubriclab.findings.cure_reads import balanced, reads_of
from rubriclab.model import LabError, RunData
from rubriclab.runs.foreign import foreign_run

OPTIONS, PAIRS, CRITERIA = "1 fixed against 10 balanced", "pairs, both orders", "criteria"


@pytest.fixture(scope="module")
def leaning() -> RunData:
    return foreign_run("mixed logit", OPTIONS, items=60, strength=0.8, seed=1)


def way(choice: Choice, key: str):  # type: ignore[no-untyped-def]
    return next(one for one in choice.ways if one.key == key)


def test_the_orders_nearest_to_the_mean_are_added_one_by_one() -> None:
    # Three calls that err by +1, -1 and +4: the mean lies 4/3 above; nearest alone is the first, then the third.
    value = np.array([[3.0, 1.0, 6.0], [4.0, 2.0, 7.0]])
    assert nearest(value, np.arange(3), 1).tolist() == [0]
    # with the first: (3 + 1) / 2 = 2 or (3 + 6) / 2 = 4.5 against 10/3
    assert nearest(value, np.arange(3), 2).tolist() == [0, 2]
    assert sorted(nearest(value, np.arange(3), 3).tolist()) == [0, 1, 2]


def test_no_item_is_estimated_by_what_it_taught() -> None:
    unit = np.repeat(np.arange(10), 3)
    rounds = folds(unit, seed=0)
    assert all(len(set(fold[unit == u])) == 1 for fold in rounds for u in range(10))

    def fitted(rest: np.ndarray, out: np.ndarray) -> np.ndarray:
        assert not set(unit[rest]) & set(unit[out])
        return np.ones(len(out))

    made = held_out(replace_unit(unit), rounds, fitted)
    assert (made == 1.0).all()


def replace_unit(unit: np.ndarray):  # type: ignore[no-untyped-def]
    reads = reads_of(foreign_run("ties", OPTIONS, items=60, seed=1), 0)
    return replace(reads, unit=unit, named=np.ones((len(unit), 10)))


def test_the_distance_of_a_fixed_way_is_its_distance_from_the_mean(leaning: RunData) -> None:
    reads, choice = reads_of(leaning, 0), cure(leaning, 0)
    usual = reads.orders.index((1, 2, 3, 4, 5))
    far = np.sqrt(((reads.value[:, usual] - reads.value.mean(axis=1)) ** 2).mean())
    assert way(choice, "usual").distance == pytest.approx(float(far))
    assert way(choice, "all-10").distance == 0.0
    assert way(choice, "balanced-5").orders == reads.orders[:5]
    assert balanced(reads.orders[:5])
    assert not balanced(reads.orders[:4])


def test_the_margin_decides_and_the_cheapest_within_it_is_taken(leaning: RunData) -> None:
    strict, usual, loose = (cure(leaning, 0, margin=margin) for margin in (0.01, 0.25, 5.0))
    assert strict.chosen == strict.best == "all-10"
    assert usual.chosen == "balanced-5"
    assert all(one.bound >= 0.25 for one in usual.ways if one.calls < 5)
    assert way(loose, loose.chosen).calls == 1
    assert "no cheaper way was shown" in strict.sentence
    assert "within the margin of 0.25" in usual.sentence


def test_a_judge_that_nothing_moves_is_asked_once() -> None:
    for design in (OPTIONS, PAIRS, CRITERIA):
        assert cure(foreign_run("constant", design, items=60, seed=1), 0).chosen == "usual"


def test_a_criterion_order_is_cured_too() -> None:
    choice = cure(foreign_run("mixed logit", CRITERIA, items=60, strength=0.8, seed=1), 0)
    assert choice.chosen == choice.best == "all-8"
    assert all(sorted(order) == ["Clarity", "Depth", "Tone", "Wit"] for one in choice.ways for order in one.orders)


def test_nothing_is_shown_by_few_or_by_half_of_the_items() -> None:
    few = cure(foreign_run("constant", OPTIONS, items=12, seed=1), 0)
    assert (few.chosen, few.why) == (few.best, "12 units are too few to say so; 20 are needed")
    missing = cure(foreign_run("missing", OPTIONS, items=100, strength=0.8, seed=1), 0)
    assert missing.chosen == missing.best
    assert missing.left_out > 20


@pytest.mark.slow
def test_a_correction_that_does_no_more_than_shrinking_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    data = foreign_run("latent trait", OPTIONS, items=60, strength=2.0, seed=1)
    assert way(cure(data, 0), "corrected").allowed
    monkeypatch.setattr(cure_methods, "control_call", cure_methods.corrected_call)
    blind = way(cure(data, 0), "corrected")
    assert not blind.allowed
    assert "drawing a call towards the mean" in blind.note


def test_unfinished_runs_and_odd_margins_are_refused(leaning: RunData) -> None:
    with pytest.raises(LabError, match="not finished"):
        cure(replace(leaning, planned=(10_000,)), 0)
    for margin in (0.0, -1.0, float("nan")):
        with pytest.raises(LabError, match="above 0"):
            cure(leaning, 0, margin=margin)


# ---------------------------------------------------------------- pairs


def repeated(data: RunData, more: RunData) -> RunData:
    """Two runs of the same pairs as repeats of one."""
    again = more.judgments.assign(
        repeat=1, read=more.judgments["read"] + 2, call=more.judgments["call"] + len(data.judgments)
    )
    import pandas as pd

    return replace(
        data, judgments=pd.concat([data.judgments, again], ignore_index=True), planned=(), probabilities=None
    )


def test_a_verdict_is_a_side_and_level_is_a_tie() -> None:
    assert side(np.array([0.0, 0.25, 0.5, 2 / 3, 1.0])).tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]


def test_two_swapped_calls_are_measured_against_others_where_there_are_any() -> None:
    once = foreign_run("mixed logit", PAIRS, items=200, strength=1.5, seed=1)
    alone = cure(replace(once, probabilities=None), 0)
    assert alone.target == "the verdict of the two calls themselves"
    assert way(alone, "swapped-tie").distance == 0.0
    both = reads_of(replace(once, probabilities=None), 0).named
    tie = np.where(np.abs(both.mean(axis=1) - 0.5) < 1e-9, 0.5, (both.mean(axis=1) > 0.5) * 1.0)
    assert way(alone, "usual").distance == pytest.approx(float(np.abs(both[:, 0] - tie).mean()))
