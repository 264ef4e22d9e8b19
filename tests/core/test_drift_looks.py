"""Drift between runs that stopped early: everything is held against the level of the last look."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.stopping import asked_in_batches, two_stopped_runs
from rubriclab.core.batches import planned_looks
from rubriclab.core.drift import Drift, drift
from rubriclab.core.judgments import Judgments
from rubriclab.exports.gate_lines import drift_document, drift_lines
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from tests.tables import options

PAIR = np.array([[1, 2], [2, 1]])
LIMIT = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
"""Of the share of false alarms in 400 studies."""


def at_look(table: JudgmentTable, looks: int) -> Judgments:
    """A run that has asked the batches of its first looks."""
    whole = asked_in_batches(table)
    (looked,) = Judgments(whole).looked
    early = looked.looks.batch[whole.rows["item"].to_numpy()] < looks
    rows = whole.rows[early].reset_index(drop=True)
    return Judgments(replace(whole, rows=rows, state="interrupted"))


def scored(table: JudgmentTable, looks: int, risen: int, units: int) -> JudgmentTable:
    """Items that score 1 in both orders; of those at an early look some score 2."""
    batch = Judgments(asked_in_batches(table)).looked[0].looks.batch
    scores = np.ones((units, 2))
    scores[np.flatnonzero(batch < looks)[:risen]] = 2.0
    return options(scores, PAIR)


def between(risen: int, looks: int, units: int = 40, *, both: bool = True) -> Drift:
    low = options(np.ones((units, 2)), PAIR)
    before = at_look(low, looks)
    later = scored(low, looks, risen, units)
    after = at_look(later, looks) if both else Judgments(later)
    return drift(before.arms, after.arms, Smallest())


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(
    ("risen", "word"),
    [
        (6, "undecided"),  # 2 / 64 = .031 would do for a whole run
        (8, "undecided"),  # 2 / 256 = .0078 is above .00625, the level after 10 of 40
        (9, "effect"),  # 2 / 512 = .0039
    ],
)
def test_a_change_is_compared_with_the_level_of_the_look(risen: int, word: str, both: bool) -> None:
    """Of ten items some rose by one point: of 2^risen exchanges only none and all are as far."""
    made = between(risen, 1, both=both)
    assert (made.units, made.gate.p, made.gate.spent) == (10, 2 / 2**risen, 0.00625)
    assert made.alpha == planned_looks(40).levels[0] == 0.00625
    assert made.questions["level"].word == word
    assert made.questions["level"].why == ("" if word == "effect" else "few_swaps")
    assert made.gate.open == (word == "effect")


def test_too_few_items_for_so_early_a_look_are_named() -> None:
    """After 10 of 160 items, p has to be .000781; ten items have 2 / 1,024 at best."""
    made = between(10, 1, units=160)
    assert made.gate.least == 2 / 1_024
    assert made.alpha == 0.000781
    level = made.questions["level"]
    assert (level.word, level.why) == ("undecided", "few_swaps")
    condition = Judgments(options(np.ones((4, 2)), PAIR)).conditions[0]
    said = "\n".join(drift_lines(condition, made))
    assert "Too few items are in both runs for any change to show at so early a look." in said


def test_the_stricter_level_of_two_looks_counts() -> None:
    low = options(np.ones((40, 2)), PAIR)
    for one, other in ((1, 2), (2, 1), (2, 3), (3, 3)):
        made = drift(at_look(low, one).arms, at_look(low, other).arms, Smallest())
        assert made.alpha == planned_looks(40).levels[min(one, other) - 1]
        assert made.units == (10, 20, 40)[min(one, other) - 1]
    made = drift(Judgments(low).arms, Judgments(low).arms, Smallest())
    assert (made.alpha, made.gate.spent) == (0.05, 0.05)


def test_intervals_are_drawn_at_the_level_of_the_look_and_named_by_it() -> None:
    rng = np.random.default_rng(3)
    tables = [options(rng.integers(1, 3, (40, 2)).astype(float), PAIR) for _ in range(2)]
    early = drift(at_look(tables[0], 2).arms, at_look(tables[1], 2).arms, Smallest())
    level = early.questions["level"]
    # The same twenty items as runs of their own, so at 95%.
    kept = np.unique(at_look(tables[0], 2).table.rows["item"])
    scores = [table.rows["score"].to_numpy().reshape(40, 2)[kept] for table in tables]
    whole = drift(
        *(Judgments(options(score, PAIR)).arms for score in scores), Smallest()
    ).questions["level"]
    assert level.value == pytest.approx(whole.value)
    assert level.high - level.low > 1.15 * (whole.high - whole.low)
    condition = Judgments(tables[0]).conditions[0]
    assert "98.65% CI" in drift_lines(condition, early)[1]
    assert drift_document(condition, early)["level"] == pytest.approx(0.9865, abs=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("how", ["one run stops early", "both runs stop early"])
def test_false_alarms_of_runs_that_stop_early_keep_to_5_percent(how: str) -> None:
    """400 studies of a biased judge that does not change; most stop after 10 or 20 of 40 items."""
    made = [
        two_stopped_runs(np.random.default_rng([7, k]), None, units=40, first=0.8, how=how)
        for k in range(400)
    ]
    early = [events for events in made if events["asked until known"] < 1]
    assert len(early) > 350
    for name in ("anything", "level", "order", "noise"):
        assert np.mean([events[f"false {name} changed"] for events in made]) <= LIMIT
