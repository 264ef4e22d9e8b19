"""Check what a plan takes and can detect; the arithmetic is in comments."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import Study
from rubriclab.runs.forecast import SAMPLED_CALLS, Pilot, calls_per_second, estimate, measured
from rubriclab.study.plan import Plan
from rubriclab.study.plan import plan as plan_of
from tests.study.kit import ABC, API, EMBEDDED, small_plan
from tests.tables import ORDERS, findings, only, options


@pytest.mark.papers(13)
def test_time_is_the_slowest_judges_and_price_of_signs_and_answers() -> None:
    fast = API.model_copy(update={"concurrency": 100})
    made = estimate(small_plan(12, judges=(fast, EMBEDDED)))
    # 240 calls of the API; 10 items x 20 and 2 x 10 of the embedded model, which has 3.2 calls a
    # second.
    assert (made.calls, made.seconds) == (460, pytest.approx(220 / 3.2))
    paid = API.model_copy(update={"price_input": 4.0, "price_output": 1_000.0})
    plan = small_plan(1, judges=(paid,))
    made = estimate(plan)
    signs = len(plan.previews()[0].messages[0]["content"])
    assert (made.tokens_in, made.tokens_out) == (round(20 * signs / 4), 60)
    assert made.price == pytest.approx(20 * (signs / 4 * 4.0 + 3 * 1_000.0) / 1e6)
    assert estimate(small_plan(1)).price is None


@pytest.mark.parametrize(
    ("judge", "long_answer", "rate"),
    [
        (API.model_copy(update={"concurrency": 16}), False, 16.0),
        (API.model_copy(update={"concurrency": 16}), True, 2.0),
        (API.model_copy(update={"rpm": 30.0}), False, 0.5),
        (EMBEDDED, True, 0.32),
        (JudgeSettings(name="s", kind="simulated"), False, 1_000.0),
    ],
)
def test_calls_per_second(judge: JudgeSettings, long_answer: bool, rate: float) -> None:
    assert calls_per_second(judge, None, long_answer=long_answer) == pytest.approx(rate)


def test_a_small_model_takes_longer_for_pairs_with_longer_prompts() -> None:
    """It reads what a prompt does not share with the one before. 3.2 calls a second were measured
    with 604 such characters, so twice as many take twice as long. A server takes no longer.
    """

    def pairs(words: int, judge: JudgeSettings) -> Plan:
        items = tuple(
            Item(f"{p}{c}", f"{c}{p}" + " word" * words, f"ask {p}", prompt=f"p{p}", candidate=c)
            for p in range(6)
            for c in "ab"
        )
        return small_plan(judges=(judge,), dataset=DataSet("d", items), reorder="pairs")

    def read(plan: Plan) -> float:
        """Return the mean number of new characters of a call."""
        texts = ["\n".join(part["content"] for part in call.messages) for call in plan.calls()]
        shared = [
            next((k for k in range(len(b)) if not a.startswith(b[: k + 1])), len(b))
            for a, b in pairwise(["", *texts])
        ]
        return sum(map(len, texts)) / len(texts) - sum(shared) / len(texts)

    seconds = []
    for words in (200, 2_000):
        plan = pairs(words, EMBEDDED)
        assert len(plan) <= SAMPLED_CALLS  # so that the forecast looks at all of them
        made = estimate(plan)
        # The forecast counts all texts and the frames of some calls, so the last digits differ.
        assert made.seconds == pytest.approx(len(plan) / 3.2 * read(plan) / 604, rel=0.01)
        seconds.append(made.seconds)
    assert seconds[1] > 5 * seconds[0] > 5 * len(plan) / 3.2
    assert estimate(pairs(200, API)).seconds == estimate(pairs(2_000, API)).seconds


def test_a_long_reply_adds_to_what_a_long_prompt_takes() -> None:
    """A prompt of twice the characters takes 2 times, a long reply 9 times more: 11 times."""
    guess = EMBEDDED.about.speed.guess
    plain = guess(EMBEDDED.model, 1, long_answer=False, signs_read=300)
    assert plain == pytest.approx(3.2)  # a short prompt is not taken to be faster
    assert guess(EMBEDDED.model, 1, long_answer=False, signs_read=1_208) == pytest.approx(1.6)
    assert guess(EMBEDDED.model, 1, long_answer=True, signs_read=1_208) == pytest.approx(3.2 / 11)


def test_the_smallest_change_of_a_balanced_study() -> None:
    """n = 5: of the five rotations and their reverses the correlations of score with position have
    squares that sum to 3 (1, 0, -.5, -.5, 0 and their negatives: 2 x 1.5); every order twice 6. So
    an item's noise is 4 x .64 / 6 = .42667, the effect's own spread .25, and 60 items have the
    standard error sqrt(.67667 / 60).
    """
    made = estimate(small_plan(60))
    reach = student.ppf(0.975, 59) + student.ppf(0.8, 59)
    assert made.smallest == pytest.approx(reach * math.sqrt((4 * 0.64 / 6 + 0.25) / 60))
    assert made.sentence == (
        "With 60 answers, this run can detect a change of the mean of 0.3 points or more. "
        "Ruling out a bias takes at least 31 answers."
    )
    # The default and the reversed order, twice: correlations 1, 1, -1, -1, whose squares sum to 4.
    both, one_order = (
        estimate(small_plan(60, strategies=names)) for names in (["fixed", "descending"], ["fixed"])
    )
    assert both.smallest == pytest.approx(reach * math.sqrt((4 * 0.64 / 4 + 0.25) / 60))
    assert one_order.smallest is None
    assert "one order only" in one_order.sentence


def test_what_is_counted_of_shared_instructions_and_of_criteria() -> None:
    items = tuple(
        Item(f"i{k}", f"response {k}", f"instruction {k % 5}", prompt=f"p{k % 5}")
        for k in range(20)
    )
    made = estimate(small_plan(dataset=DataSet("d", items)))
    assert (made.answers, made.groups) == (20, 5)
    assert made.sentence == (
        "5 prompts are too few for error bars. Add answers to at least 3 more prompts."
    )
    made = estimate(small_plan(10, criteria=ABC, reorder="criteria"))
    assert (made.calls, made.answers, made.groups) == (120, 10, 10)
    assert made.tokens_out == 120 * 21
    assert made.smallest is not None


def test_what_a_run_of_pairs_can_find() -> None:
    items = tuple(
        Item(f"{p}{c}", f"{c}{p}", f"ask {p}", prompt=f"p{p}", candidate=c)
        for p in range(20)
        for c in "abc"
    )
    made = estimate(small_plan(dataset=DataSet("d", items), reorder="pairs"))
    # t(.975; 19) + t(.8; 19) = 2.0930 + 0.8610; times sqrt(.3 / 4 / 60) = .035355: 10.44 percentage
    # points.
    assert made.smallest == pytest.approx(10.44, abs=0.01)
    assert (made.answers, made.groups, made.groups_for_no) == (60, 20, 29)
    assert (
        "60 comparisons about 20 prompts, this run can detect a position that wins 10 percentage "
        "points" in made.sentence
    )


def test_no_of_a_pass_rate_takes_hundreds_of_answers() -> None:
    """Two orders, each twice: of an item 4 x .43^2 / 4 of noise and .25^2 of effect make a standard
    deviation of .5, whose interval lies within 5 percentage points from (1.96 x .4974 / .05)^2 =
    380.2 answers on. The exact bound alone was 29.
    """
    passes = Criterion("Right", (Option(0, "wrong"), Option(1, "right")))
    made = estimate(small_plan(60, criteria=(passes,), strategies=["fixed", "descending"]))
    assert made.groups_for_no == 381
    assert made.sentence.endswith(
        "It is too small to rule out a bias, which takes at least 381 answers."
    )
    reach = student.ppf(0.975, 59) + student.ppf(0.8, 59)
    assert made.smallest == pytest.approx(reach * math.sqrt((0.43**2 + 0.25**2) / 60))
    # A pilot's spread takes the place of what is assumed: (1.96 x .3 / .05)^2 = 138.3.
    plan = small_plan(60, criteria=(passes,), strategies=["fixed", "descending"])
    assert estimate(plan, Pilot("pilot", 0.3, {}, {})).groups_for_no == 139
    # Three scores: a limit of an eighth of a step, and the noise of a step: (1.96 x .9434 / .125)^2
    # = 218.8.
    three = Criterion("Right", (Option(0, "no"), Option(1, "half"), Option(2, "yes")))
    plan = small_plan(60, criteria=(three,), strategies=["fixed", "descending"])
    assert estimate(plan).groups_for_no == 219


def test_labels_are_counted_once_and_as_in_results() -> None:
    """An item's label is the side of its mean; exactly at a cut between scores it has none."""
    right = Criterion("Right", (Option(0, "no"), Option(1, "yes")))
    ratings = ({"a": 1.0}, {"a": 0.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": float("nan")}, {})
    items = tuple(Item(f"i{k}", f"r{k}", ratings=given) for k, given in enumerate(ratings))
    designs: list[tuple[Any, dict[str, float]]] = [
        ("options", {}),
        (["options", "bare"], {}),
        ("options", {"cut": 0.5}),
    ]
    for reorder, reading in designs:
        study = small_plan(2).study.model_dump() | {"reading": reading}
        study["design"] = {"reorder": reorder}
        made = plan_of(Study.model_validate(study), DataSet("d", items), Rubric("r", (right,)))
        assert estimate(made).labels.endswith("Labelled: 2 passes and 1 fail.")


def test_a_pilot_run_replaces_what_is_assumed() -> None:
    """Spread, seconds and tokens of the run; the groups for an effect are the fewest that find
    it.
    """
    scores = np.random.default_rng(1).integers(1, 6, (30, 10)).astype(float)
    found = findings(options(scores, ORDERS))
    # The first call goes on from 0 to 1 s, the second from 0.5 to 3.5 s: 3.5 s at work for two.
    asked = pd.to_datetime(["2026-01-01 00:00:01.0", "2026-01-01 00:00:03.5", None])
    calls = pd.DataFrame(
        {
            "condition": [0, 0, 0],
            "asked": asked,
            "seconds": [1.0, 3.0, np.nan],
            "tokens_out": [10, 20, None],
        }
    )
    seen = measured(found, calls)
    assert seen.at_work == {"judge": pytest.approx(1.75)}
    line = only(found, "line").estimate
    assert seen.spread == pytest.approx(float(line.influence.std(ddof=1)))
    assert (seen.seconds, seen.tokens_out) == ({"judge": 2.0}, {"judge": 15.0})
    plan = small_plan(20)
    judge = plan.study.judges[0].name
    made = estimate(plan, seen._replace(seconds={judge: 2.0}, tokens_out={judge: 15.0}), 0.1)

    def smallest(groups: int) -> float:
        quantiles = student.ppf(0.975, groups - 1) + student.ppf(0.8, groups - 1)
        return float(quantiles * seen.spread / math.sqrt(groups))

    assert made.smallest == pytest.approx(smallest(20))
    assert smallest(made.groups_for_effect) <= 0.1 < smallest(made.groups_for_effect - 1)
    assert made.tokens_out == 15 * made.calls
    assert made.seconds == pytest.approx(2.0 * made.calls / plan.study.judges[0].concurrency)
    assert "Detecting" not in estimate(small_plan(20, strategies=["fixed"]), None, 0.1).sentence, (
        "one order finds nothing"
    )


# ------------------------------------------------------------------------------- stopping early
def test_a_study_that_may_stop_has_a_range_and_the_power_of_its_last_look() -> None:
    """Looks after 15, 30 and 60 of 60 answers: a quarter of the calls at least. The last level is
    .039018 (alpha spending over three looks), so the same study detects a little less.
    """
    made = estimate(small_plan(60, stop="known"))
    whole = estimate(small_plan(60))
    assert made.looks == (15, 30, 60)
    assert made.at_least is not None
    assert (made.at_least.calls, made.calls) == (whole.calls // 4, whole.calls)
    assert made.at_least.seconds == pytest.approx(made.seconds / 4)
    calls, ending, *_ = made.sentences()
    assert calls == (
        f"At least {whole.calls // 4:,}, at most {whole.calls:,} calls: each judge stops as soon "
        "as its answer is clear (looked at after 15, 30 and 60 of 60 answers)."
    )
    assert ending.startswith("A judge that clearly favours a position ends near the lower number")
    reach = student.ppf(1 - 0.039018 / 2, 59) + student.ppf(0.8, 59)
    assert made.smallest == pytest.approx(reach * math.sqrt((4 * 0.64 / 6 + 0.25) / 60))
    assert made.groups_for_no > whole.groups_for_no


def test_a_study_of_few_answers_is_looked_at_once() -> None:
    made = estimate(small_plan(18, stop="known"))
    assert (made.looks, made.at_least) == ((), None)
    assert made.sentences()[0].startswith(f"{made.calls:,} calls, about ")
