"""A gate decides by bounds: its numbers are the findings' own, its rules are the stated ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rubriclab.findings import gate_values
from rubriclab.findings.gate import FEWEST, Decision, GateResult, _decided, gate, together
from rubriclab.findings.gate_compared import ComparedValues, CriteriaValues
from rubriclab.findings.gate_values import Measured, OptionsValues, ends_of_size, settings, two_ends, unread
from rubriclab.findings.topics import Findings
from rubriclab.model import STATUSES, LabError, RunData, StudyError
from rubriclab.model.gate import CONDITIONS
from rubriclab.model.gate_limits import GateLimits, gate_limits
from rubriclab.model.wording import beyond_noise
from rubriclab.report.gate import bounds_words, number_words
from rubriclab.runs.foreign import foreign_run
from rubriclab.stats import position as position_stat
from rubriclab.stats.inference import Interval
from tests import gate_rates
from tests.gate_rates import CRITERIA, OPTIONS, PAIRS
from tests.simulated_runs import data_of


@pytest.fixture(autouse=True)
def _designs(monkeypatch: pytest.MonkeyPatch) -> None:
    gate_rates.designs(monkeypatch)


def run(family: str = "mixed logit", design: str = OPTIONS, items: int = 40, **how: float) -> RunData:
    return foreign_run(family, design, items=items, strength=how.get("strength", 0.5), seed=3)


def both(value: Measured) -> tuple[float, float, float]:
    """The number and the ends of its two-sided 95 % interval."""
    assert value.ends is not None
    return (value.estimate, *value.ends(0.025, 0.025))


# ---------------------------------------------------------------- the findings' own numbers


@pytest.mark.parametrize("family", ["mixed logit", "missing"])
def test_numbers_of_scores_are_those_of_the_findings(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_values, "DRAWS", 1_000)
    data = run(family)
    found, value = Findings(data), OptionsValues(settings(data)[0]).values()
    arm = next(arm for arm in found["position"].arms if arm.moves_order)
    v = value["max_v"]()[0]
    assert v.estimate == arm.position.v
    # Two one-sided bounds of 2.5 % are the interval of V where V is far from 0.
    assert v.ends is not None
    np.testing.assert_allclose(v.ends(0.025, 0.025), arm.position.v_ci, atol=0.004)
    (shift,) = value["max_shift"]()
    assert shift.estimate == arm.shift.ascending
    floor, (flips,) = arm.noise_floor, value["max_flip"]()
    np.testing.assert_allclose(flips.estimate, floor.excess)
    rated = next(one for one in found["agreement"].arms if one.code == arm.code)
    for key, name in (("min_kappa", "kappa"), ("min_weighted_kappa", "kappa_quadratic")):
        shown = getattr(rated.one_read, name)
        np.testing.assert_allclose(both(value[key]()[0]), (shown.value, *shown.ci))
    r = next(one for one in found["alignment"].arms if one.code == arm.code).pearson
    np.testing.assert_allclose(both(value["min_r"]()[0]), (r.r, *r.ci))
    panel = next(one.panel for one in found["agreement"].between if one.kind == "repeats" and one.strategy == "fixed")
    exact = panel.one_read.exact
    np.testing.assert_allclose(both(value["min_repeat"]()[0]), (exact.value, *exact.ci))


def test_the_size_of_a_shift_lies_between_what_its_interval_leaves() -> None:
    data = run()
    arm = next(arm for arm in Findings(data)["position"].arms if arm.moves_order)
    (shift,) = OptionsValues(settings(data)[0]).values()["max_shift"]()
    low, high = arm.shift.ascending_ci
    assert shift.ends is not None
    # Below: the nearer end of the two-sided 95 % interval. Above: the farther one, each side at 2.5 %.
    assert shift.ends(0.05, 0.025) == Interval(max(0.0, low, -high), max(-low, high))


def test_numbers_of_pairs_are_those_of_the_findings() -> None:
    data = run("latent trait", PAIRS)
    judge, value = Findings(data)["comparison"].judges[0], ComparedValues(settings(data)[0]).values()
    (place,), (v,), (flips,), (alike,) = (value[key]() for key in ("max_place", "max_v", "max_flip", "min_repeat"))
    shown = judge.first_place.effect
    assert place.estimate == shown.estimate
    assert v.estimate == abs(shown.estimate)
    np.testing.assert_allclose(flips.estimate, judge.order_excess.effect.estimate)
    np.testing.assert_allclose(both(alike), (judge.repeat_agreement, *judge.repeat_agreement_ci))
    # V of two places, with a tie as half a win of each: shares (1 + a) / 2 and (1 - a) / 2.
    share = np.array([(1 + place.estimate) / 2, (1 - place.estimate) / 2])
    np.testing.assert_allclose(position_stat.cramers_v(share), v.estimate)


def test_numbers_of_criteria_are_those_of_the_findings() -> None:
    data = run("latent trait", CRITERIA)
    arm, value = Findings(data)["criteria"].arms[0], CriteriaValues(settings(data)[0]).values()
    shifts = value["max_shift"]()
    assert [one.of for one in shifts] == [criterion.criterion for criterion in arm.criteria]
    np.testing.assert_allclose(
        [one.estimate for one in shifts], [criterion.first_less_last.estimate for criterion in arm.criteria]
    )
    np.testing.assert_allclose(
        both(value["min_r"]()[0]), (arm.alignment.pearson.r, *arm.alignment.pearson.ci), atol=1e-9
    )


# ---------------------------------------------------------------- the rules


def normal(estimate: float, error: float, units: int = 50) -> Measured:
    def interval(level: float) -> Interval:
        reach = stats.norm.ppf(0.5 + level / 2) * error
        return Interval(estimate - reach, estimate + reach)

    return Measured(estimate, two_ends(interval), units)


def decided(value: Measured, limit: float, key: str = "max_flip", beyond: float = 0.05, open_for: str = "") -> Decision:
    arm = data_of("plain").arms[0]
    return _decided(arm, CONDITIONS[key], value, limit, beyond, open_for)


@pytest.mark.parametrize(
    ("estimate", "outcome"), [(0.08, "passes"), (0.081, "cannot tell"), (0.1, "cannot tell"), (0.12, "fails")]
)
def test_intervals_decide_not_the_estimate(estimate: float, outcome: str) -> None:
    # An error of 0.01: the ends of a 95 % interval are 0.0196 to either side.
    assert decided(normal(estimate, 0.01), 0.1).outcome == outcome


def test_what_is_at_least_is_decided_the_other_way_round() -> None:
    outcomes = [decided(normal(kappa, 0.01), 0.6, "min_kappa").outcome for kappa in (0.62, 0.6, 0.58)]
    assert outcomes == ["passes", "cannot tell", "fails"]


def test_less_than_nothing_beyond_noise_is_shown_as_nothing() -> None:
    """The share of answers that other orders change beyond noise was shown as -0.029."""
    one = decided(normal(-0.029, 0.01), 0.05)
    assert (one.estimate, one.high, one.outcome) == (-0.029, 0.0, "passes")
    assert number_words(one) == "0.000 (measured −0.029: noise)"
    assert number_words(decided(normal(0.029, 0.01), 0.05)) == "0.029"
    assert number_words(decided(normal(-0.029, 0.01), 0.05, "min_r")) == "-0.029"
    assert beyond_noise(-3.2, "+.0f", "points") == "0 points (measured −3: noise)"
    assert beyond_noise(-0.001, "+.0%") == "0%"
    assert beyond_noise(float("nan"), ".2f", "points") == "–"


def test_several_conditions_make_failing_harder_and_passing_no_easier() -> None:
    # Shared out over ten conditions, the interval beyond is a 99.5 % one: 2.81 errors, not 1.96.
    assert decided(normal(0.128, 0.01), 0.1, beyond=0.005).outcome == "cannot tell"
    assert decided(normal(0.1282, 0.01), 0.1, beyond=0.005).outcome == "fails"
    assert decided(normal(0.12, 0.01), 0.1, beyond=0.05).outcome == "fails"
    assert decided(normal(0.08, 0.01), 0.1, beyond=0.005).outcome == "passes"


def test_no_bias_is_shown_by_two_one_sided_tests() -> None:
    def interval(level: float) -> Interval:
        reach = float(stats.norm.ppf(0.5 + level / 2))
        return Interval(-1.0 - reach, -1.0 + reach)

    low, high = ends_of_size(interval)(0.05, 0.05)
    # Of -1 with an error of 1, 5 % to each side: -1 + 1.645 is above 0; inside reaches 1 + 1.645.
    assert low == 0.0
    assert high == pytest.approx(2.6449, abs=1e-4)


def test_bounds_of_a_size_hold_the_size_that_is_shown() -> None:
    """“-0.400 points size [0.000, 0.740]” had an estimate outside its own bounds."""

    def interval(level: float) -> Interval:
        reach = 0.2 * float(stats.norm.ppf(0.5 + level / 2))
        return Interval(-0.4 - reach, -0.4 + reach)

    one = decided(Measured(-0.4, ends_of_size(interval), 50, "item"), 0.2, "max_shift")
    assert (number_words(one), bounds_words(one)) == ("-0.400 points", "size 0.400 [0.008, 0.792]")
    assert one.low < 0.4 < one.high
    assert bounds_words(replace(one, estimate=0.4)) == "size [0.008, 0.792]"


def test_the_whole_passes_only_if_all_pass() -> None:
    assert together(["passes", "passes"]) == "passes"
    assert together(["passes", "cannot tell"]) == "cannot tell"
    assert together(["cannot tell", "fails"]) == "fails"
    assert together([]) == "cannot tell"


def test_too_few_units_decide_nothing_and_say_how_many_are_needed() -> None:
    few = decided(normal(0.5, 0.01, units=FEWEST - 1), 0.1)
    assert (few.outcome, few.why) == ("cannot tell", "19 items are too few to decide; 20 are needed")
    assert decided(normal(0.5, 0.01, units=FEWEST), 0.1).outcome == "fails"


def test_what_would_tell_is_how_many_items_the_interval_needs() -> None:
    # 0.02 from the limit with an end 0.0392 away: (0.0392 / 0.02)^2 = 3.84 times 50 items.
    told = decided(normal(0.08, 0.02), 0.1).tell
    assert told == "about 193 items in all would let it pass, if the estimate stays"
    assert "no number of items" in decided(normal(0.1, 0.02), 0.1).tell


def test_unread_replies_are_bounded_exactly() -> None:
    # No unread reply of 59 items: 1 - 0.05^(1/59) = 0.0495; of 58 it is 0.0503.
    limits = GateLimits(max_unread=0.05)
    outcomes = [gate(run("boundary", items=items), limits).outcome for items in (59, 58)]
    assert outcomes == ["passes", "cannot tell"]
    of = unread(settings(run("boundary", items=59))[0])
    assert of.ends is not None
    assert of.ends(0.05, 0.05).high == pytest.approx(1 - 0.05 ** (1 / 59))


def test_one_sided_bounds_of_v_are_nested_and_reach_zero() -> None:
    rng = np.random.default_rng(0)
    share = np.array([0.24, 0.19, 0.19, 0.19, 0.19])
    draws = share + rng.normal(0.0, 0.02, (4_000, 5)) @ (np.eye(5) - 0.2)
    wide, narrow = (position_stat.v_interval(share, draws, tails=(tail, tail)) for tail in (0.005, 0.05))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert position_stat.v_interval(np.full(5, 0.2), draws - share + 0.2, tails=(0.05, 0.05)).low == 0.0


# ---------------------------------------------------------------- runs


LIMITS = GateLimits(max_v=0.1, max_shift=0.2, max_flip=0.05)


def test_an_unbiased_judge_passes_and_a_biased_one_fails() -> None:
    fair = foreign_run("mixed logit", OPTIONS, items=100, leanings="none", seed=1)
    assert gate(fair, LIMITS).outcome == "passes"
    biased = gate(run(strength=1.5, items=60), LIMITS)
    assert biased.outcome == "fails"
    few = gate(foreign_run("mixed logit", OPTIONS, items=15, leanings="none", seed=1), LIMITS)
    assert {one.outcome for one in few.decisions} == {"cannot tell"}


def test_an_unfinished_run_decides_nothing() -> None:
    data = run(strength=1.5, items=60)
    result = gate(replace(data, planned=tuple(n + 1 for n in data.planned)), LIMITS)
    assert result.outcome == "cannot tell"
    assert {one.why for one in result.decisions} == {"the run is not finished: 2 of 1,202 calls wait"}


def test_a_judge_that_does_not_answer_never_passes() -> None:
    data = foreign_run("mixed logit", OPTIONS, items=100, leanings="none", seed=1)
    rows = data.judgments.copy()
    lost = np.random.default_rng(0).random(len(rows)) < 0.3
    rows.loc[lost, "status"] = STATUSES.index("error")
    rows.loc[lost, ["score", "expected", "mass"]] = np.nan
    rows.loc[lost, "position"] = -1
    result = gate(replace(data, judgments=rows), LIMITS.over(GateLimits(max_unread=0.05)))
    by_key = {one.condition.key: one for one in result.decisions}
    assert by_key.pop("max_unread").outcome == "fails"
    assert {one.outcome for one in by_key.values()} == {"cannot tell"}
    assert "of the replies cannot be read" in by_key["max_v"].why


def test_a_run_without_a_single_judgment_cannot_tell() -> None:
    data = run()
    result = gate(replace(data, judgments=data.judgments[:0]), GateLimits(**dict.fromkeys(CONDITIONS, 0.5)))
    assert {one.outcome for one in result.decisions} == {"cannot tell"}


@pytest.mark.parametrize("kind", ["options", "plain", "criteria", "pairs", "lists", "forms"])
def test_every_condition_has_an_answer_or_a_reason(kind: str) -> None:
    every = GateLimits(**dict.fromkeys(CONDITIONS, 0.5))
    for one in gate(data_of(kind), every).decisions:
        assert one.outcome != "cannot tell" or one.why or one.tell, one
        assert "(simulated)" in one.about


def test_another_judge_in_the_run_changes_nothing() -> None:
    data = data_of("options")
    names = [arm.judge for arm in data.arms]
    alone = data.judgments[[names[code] == "leaning" for code in data.judgments["arm"]]]
    arms = {code for code, name in enumerate(names) if name == "leaning"}
    planned = tuple(n if code in arms else 0 for code, n in enumerate(data.planned))
    both_judges, one = gate(data, LIMITS), gate(replace(data, judgments=alone, planned=planned), LIMITS)

    def of(result: GateResult) -> list[tuple[float, float]]:
        return [(d.low, d.high) for d in result.decisions if d.judge == "leaning"]

    np.testing.assert_array_equal(of(both_judges), of(one))
    assert len(both_judges.judges) == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"max_v": -0.1}, "above 0"),
        ({"max_v": float("nan")}, "finite"),
        ({"max_flip": 1.5}, "at most 1"),
        ({"min_kappa": "0.6"}, "a number"),
        ({"max_w": 0.1}, "Did you mean “max_v”"),
        ({"min_r": -0.2}, "at least 0"),
    ],
)
def test_limits_that_make_no_sense_are_refused_in_words(value: dict[str, object], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        gate_limits(value, "study.toml, [gate]")


def test_a_gate_without_a_limit_is_refused() -> None:
    with pytest.raises(LabError, match="needs a limit"):
        gate(data_of("plain"), GateLimits())
