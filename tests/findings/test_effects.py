"""The rules that all verdicts share: whose questions are counted, what is gated, what waits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.findings.effects import CLOSED, confidence, gated, in_points, step, unfinished, words
from rubriclab.findings.topics import Findings
from rubriclab.model import STATUSES, RunData
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import effect, unknown
from tests.simulated_runs import data_of

SHOWN = effect(0.4, Interval(0.3, 0.5), 0.1)
OPEN = effect(0.1, Interval(-0.2, 0.4), 0.1)


def without(data: RunData, judge: str) -> RunData:
    """The run as it would be had that judge never been asked."""
    kept = [code for code, arm in enumerate(data.arms) if arm.judge != judge]
    mine = np.isin(data.judgments["arm"].to_numpy(), kept)
    rows = data.judgments[mine].reset_index(drop=True)
    given = None if data.probabilities is None else data.probabilities[mine]
    return replace(data, judgments=rows, probabilities=given, planned=())


def test_a_secondary_effect_needs_a_primary_one() -> None:
    assert gated(SHOWN, [OPEN, SHOWN]).verdict == "effect"
    closed = gated(SHOWN, [OPEN])
    assert (closed.verdict, closed.why) == ("undecided", CLOSED)
    same = effect(0.0, Interval(-0.01, 0.01), 0.1)
    assert gated(same, [OPEN]) == same, "equivalence accuses nobody and needs no leave"


def test_the_smallest_effect_is_in_steps_of_the_scale() -> None:
    data = replace(data_of("options"), smallest_effect=0.2)
    arm = replace(data.arms[0], scores=(0, 25, 50, 75, 100))
    assert step(arm.scores) == 25
    assert in_points(data, arm, 1.0, Interval(-4, 4)).sesoi == pytest.approx(5.0)
    assert in_points(data, arm, 1.0, Interval(-4, 4)).verdict == "equivalent"


@pytest.mark.slow
def test_an_unfinished_run_gives_no_verdict() -> None:
    data = data_of("options")
    calls = data.judgments["call"].nunique()
    planned = (calls + 7, *[0] * (len(data.arms) - 1))
    waiting = replace(data, planned=planned)
    assert unfinished(waiting) == f"the run is not finished: 7 of {calls + 7:,} calls wait"
    assert in_points(waiting, data.arms[0], 1.0, Interval(0.9, 1.1)).verdict == "undecided"
    assert all(line.effect.verdict == "undecided" for line in Findings(waiting).advice())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["options", "pairs"])
def test_what_is_said_of_a_judge_does_not_hang_on_the_others(kind: str) -> None:
    data = data_of(kind)
    first, *others = dict.fromkeys(arm.judge for arm in data.arms)
    assert others
    for other in others:
        alone = without(data, other)
        assert confidence(alone, first) == confidence(data, first)
        together, apart = (
            [repr(line) for line in Findings(run).advice() if line.of[0] == first] for run in (data, alone)
        )
        assert together
        assert together == apart


def test_a_judge_that_fails_is_asked_no_question() -> None:
    data = data_of("options")
    judge = data.arms[0].judge
    status = data.judgments["status"].to_numpy().copy()
    status[data.judgments["arm"].to_numpy() != 0] = STATUSES.index("error")
    failed = replace(data, judgments=data.judgments.assign(status=status))
    assert confidence(failed, judge) == pytest.approx(1 - 0.05 / 2)


def test_words_name_the_unit_where_there_is_no_number() -> None:
    assert words(SHOWN) == "+0.40 points [0.30, 0.50], smallest effect of interest 0.1"
    at_once = replace(SHOWN, confidence=0.975)
    assert words(at_once) == "+0.40 points [0.30, 0.50] (97.5 %), smallest effect of interest 0.1"
    nothing = unknown(5.0, "9 prompts are too few", unit="percentage points of prompts")
    assert words(nothing) == "smallest effect of interest 5 percentage points of prompts, 9 prompts are too few"
