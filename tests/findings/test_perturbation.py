"""Scoring bias from a run: planted label, reference and position effects, each by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.perturbation import PERTURBATION, perturbation
from rubriclab.findings.perturbation_results import Perturbation, PerturbationGroup
from rubriclab.judges.choice_model import true_probabilities, utilities
from rubriclab.judges.effects import Effects
from rubriclab.model import STATUSES, Arm, LabError, Ordering, RunData, Variant
from rubriclab.runs.foreign import foreign_run

SCORES = (1, 2, 3, 4, 5)
LETTERS = ("E", "D", "C", "B", "A")
ARABIC = ("1", "2", "3", "4", "5")
ROMAN = ("i", "ii", "iii", "iv", "v")
LABELS = {"arabic": ARABIC, "letters": LETTERS, "roman": ROMAN}
EVERY = tuple(permutations(SCORES))
UNBIASED = Effects()
UNPARSED = STATUSES.index("unparsed")

Form = tuple[str, str, int]
ORDERS: tuple[Form, ...] = (("fixed", "arabic", 0), ("descending", "arabic", 0), ("random", "arabic", 0))
IDS: tuple[Form, ...] = (("fixed", "letters", 0), ("fixed", "roman", 0))
REFERENCES: tuple[Form, ...] = tuple(("fixed", "arabic", k) for k in SCORES)
ALL = (*ORDERS, *IDS, *REFERENCES)


def arm_of(form: Form, judge: str = "j", *, only_strategy: bool = False) -> Arm:
    strategy, ids, reference = form
    levels = () if only_strategy else (("ids", ids), ("reference", reference))
    return Arm(judge, "d", strategy, scores=SCORES, n_positions=5, variant=Variant(levels))


def simulate(
    effects: Effects = UNBIASED,
    forms: tuple[Form, ...] = ALL,
    *,
    items: int = 150,
    reads: int = 2,
    seed: int = 0,
    noise: float = 1.0,
    shuffled: bool = False,
    human_noise: float = 0.3,
    judge: str = "j",
) -> RunData:
    """Each item read ``reads`` times under each form by a judge with these planted effects."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.05, 0.95, items)
    frames, known, orderings = [], {}, []
    for code, (strategy, ids, reference) in enumerate(forms):
        item = np.repeat(np.arange(items), reads)
        if strategy == "random":
            lines = [EVERY[i] for i in rng.integers(0, len(EVERY), len(item))]
        else:
            lines = [SCORES if strategy == "fixed" else SCORES[::-1]] * len(item)
        by_score = [rng.permutation(LABELS[ids]).tolist() if shuffled else list(LABELS[ids]) for _ in item]
        labels = [tuple(names[s - 1] for s in line) for names, line in zip(by_score, lines, strict=True)]
        chances = true_probabilities(
            utilities(
                effects,
                shown=lines,
                scores=SCORES,
                quality=quality[item],
                labels=labels,
                reference=np.full(len(item), reference or np.nan),
            ),
            noise=noise,
        )
        place = (chances.cumsum(axis=1) < rng.random(len(item))[:, None]).sum(axis=1).clip(max=4)
        codes = []
        for line, names in zip(lines, labels, strict=True):
            shown = Ordering(line, names)
            if shown not in known:
                known[shown] = len(orderings)
                orderings.append(shown)
            codes.append(known[shown])
        frames.append(
            pd.DataFrame(
                {
                    "arm": code,
                    "item": item,
                    "ordering": codes,
                    "read": np.tile(np.arange(reads), items),
                    "repeat": 0,
                    "call": np.arange(len(item)),
                    "status": 0,
                    "score": np.array(lines)[np.arange(len(item)), place].astype(float),
                    "position": place + 1,
                    "expected": np.nan,
                    "mass": np.nan,
                }
            )
        )
    human = np.clip(1 + 4 * quality + rng.normal(0, human_noise, items), 1, 5)
    frame = pd.DataFrame({"item_id": [f"i{i}" for i in range(items)], "dataset": "d", "block": None, "human": human})
    return RunData(
        "r", "r", tuple(arm_of(f, judge) for f in forms), frame, tuple(orderings), pd.concat(frames, ignore_index=True)
    )


def only(data: RunData, **options) -> PerturbationGroup:
    (group,) = perturbation(data, n_boot=200, **options).groups
    return group


def row(group: PerturbationGroup, name: str) -> Perturbation:
    return next(p for p in group.perturbations if p.name == name)


def moved(group: PerturbationGroup) -> set[str]:
    return {
        p.family
        for p in group.perturbations
        if p.shift and "effect" in (p.shift.effect.verdict, p.shift.single.verdict)
    }


# ---------------------------------------------------------------- what is planted is found


def test_a_position_effect_is_found_in_the_order_and_nowhere_else() -> None:
    group = only(simulate(Effects(position={"first": 1.5}), items=300))
    assert moved(group) == {"order"}
    down = row(group, "descending order")
    assert down.shift is not None
    assert down.shift.effect.estimate > 0.3  # the first option is now the best score
    assert down.shift.effect.low < down.shift.effect.estimate < down.shift.effect.high


def test_a_label_preference_is_found_in_the_ids_and_nowhere_else() -> None:
    group = only(simulate(Effects(label={"A": 1.5}), items=300))
    assert moved(group) == {"ids"}
    letters, roman = row(group, "letters"), row(group, "Roman numerals")
    assert letters.shift is not None
    assert letters.shift.effect.verdict == "effect"
    assert letters.shift.effect.low > 0.05
    assert roman.shift is not None
    # 300 items do not rule out a shift of 0.1 at this judge's noise: that is no “no effect seen”.
    assert roman.shift.effect.verdict in ("undecided", "equivalent")


def test_a_reference_pull_is_found_in_the_references_and_nowhere_else() -> None:
    group = only(simulate(Effects(reference_pull=0.5, quality_weight=2.0), items=300))
    assert moved(group) == {"reference"}
    assert group.reference is not None
    assert [point.score for point in group.reference.points] == [0, 1, 2, 3, 4, 5]
    pull = group.reference.pull
    assert pull.estimate == pytest.approx(0.5, abs=0.06)
    assert pull.low < pull.estimate < pull.high
    assert pull.verdict == "effect"
    assert group.reference.test.p < 1e-6


def test_a_pull_to_the_middle_is_seen_without_a_mean_shift() -> None:
    forms = (("fixed", "arabic", 0), ("fixed", "arabic", 3))
    group = only(simulate(Effects(reference_pull=0.7, quality_weight=2.0), forms, items=300))
    pulled = row(group, "reference of score 3")
    assert pulled.shift is not None
    assert abs(pulled.shift.effect.estimate) < 0.25
    assert pulled.shift.single.verdict == "effect"
    assert pulled.shift.excess_p_holm < 0.01


@pytest.mark.slow
def test_a_judge_without_bias_is_not_accused() -> None:
    runs = [perturbation(simulate(seed=s, items=100), n_boot=20) for s in range(25)]
    accused = sum(bool(moved(result.groups[0])) for result in runs)
    # All forms' mean shifts together 5 %; single items are gated behind them in the advice.
    assert accused <= 6
    said = [PERTURBATION.advice(result) for result in runs]
    primary = [any(a.effect.verdict == "effect" for a in lines if a.primary) for lines in said]
    assert sum(primary) <= 4


@pytest.mark.slow
def test_pull_of_a_judge_without_bias_is_rarely_significant() -> None:
    forms = (("fixed", "arabic", 0), *REFERENCES)
    runs = [perturbation(simulate(forms=forms, seed=s, items=60), n_boot=20) for s in range(30)]
    p = np.array([result.groups[0].reference.test.p for result in runs])
    assert np.mean(p < 0.05) <= 0.17


def test_another_judge_changes_nothing_of_this_one() -> None:
    """Holm and the simultaneous intervals run over a judge's own questions only."""
    mine = simulate(Effects(label={"A": 0.4}), (*ORDERS, IDS[0]), items=80)
    codes = len(mine.arms)
    shift = mine.judgments.assign(arm=mine.judgments["arm"] + codes)
    beside = replace(
        mine,
        arms=(*mine.arms, *(replace(arm, judge="other") for arm in mine.arms)),
        judgments=pd.concat([mine.judgments, shift], ignore_index=True),
    )
    alone, both = only(mine), perturbation(beside, n_boot=300).groups[0]
    for one, other in zip(alone.perturbations[1:], both.perturbations[1:], strict=True):
        assert one.shift is not None
        assert other.shift is not None
        assert one.shift.p_holm == other.shift.p_holm
        assert one.shift.effect == other.shift.effect


def test_fifteen_items_are_never_a_clean_bill() -> None:
    """A true shift of 0.15 points and none at all were both “no effect seen”."""
    for effects in (UNBIASED, Effects(label={"A": 0.3})):
        group = only(simulate(effects, (*ORDERS[:1], IDS[0]), items=15))
        shift = row(group, "letters").shift
        assert shift is not None
        assert shift.effect.verdict != "equivalent"


def test_flips_of_single_reads_say_that_noise_is_in_them() -> None:
    result = perturbation(simulate(forms=ORDERS[:2], items=60, reads=1), n_boot=50)
    lines = {line.question: line for line in PERTURBATION.advice(result)}
    single = lines["form: descending order, single items"]
    assert "noise included" in single.answer
    assert single.effect.verdict == "undecided"
    assert not single.primary
    assert lines["form: descending order"].primary


def test_own_randomness_alone_makes_flips_but_no_excess() -> None:
    forms = (("fixed", "arabic", 0), ("fixed", "roman", 0))
    shift = row(only(simulate(forms=forms, items=400, reads=4)), "Roman numerals").shift
    assert shift is not None
    assert shift.flips > 0.4
    assert shift.own_flips == pytest.approx(shift.flips, abs=0.05)
    assert shift.excess_ci.low < 0 < shift.excess_ci.high


# ---------------------------------------------------------------- position against label


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (Effects(position={"first": 1.2}), ("effect", "undecided")),
        (Effects(label={"A": 1.2}), ("undecided", "effect")),
        (Effects(label={"A": 1.2}, position={"first": 1.2}), ("effect", "effect")),
        (Effects(), ("undecided", "undecided")),
    ],
)
def test_shuffled_labels_tell_position_from_label(effects: Effects, expected: tuple[str, str]) -> None:
    data = simulate(effects, (("random", "letters", 0),), items=150, reads=6, shuffled=True, seed=3)
    (found,) = perturbation(data, n_boot=100).followed
    assert (found.position, found.label) == expected
    assert found.sentence
    if expected == ("undecided", "undecided"):
        assert "neither is ruled out" in found.sentence
    if expected[1] == "effect":
        top = max(found.model.label, key=lambda level: level.log_odds)
        assert top.name == "A"


def test_labels_that_never_move_are_not_modelled() -> None:
    assert perturbation(simulate(forms=ORDERS, items=20), n_boot=50).followed == ()


# ---------------------------------------------------------------- numbers by hand


def by_hand(scores: dict[Form, list[list[float]]], human: list[float]) -> RunData:
    """A run from its scores: {form: items x reads}, NaN for a reply that could not be read."""
    frames = []
    for code, (form, table) in enumerate(scores.items()):
        values = np.array(table, dtype=float)
        items, reads = values.shape
        flat = values.ravel()
        lost = ~np.isfinite(flat)
        order = 1 if form[0] == "descending" else 0
        position = np.where(lost, 0, flat if order == 0 else 6 - flat)
        frames.append(
            pd.DataFrame(
                {
                    "arm": code,
                    "item": np.repeat(np.arange(items), reads),
                    "ordering": order,
                    "read": np.tile(np.arange(reads), items),
                    "repeat": 0,
                    "call": np.arange(len(flat)),
                    "status": np.where(lost, UNPARSED, 0),
                    "score": flat,
                    "position": np.where(lost, -1, position).astype(int),
                    "expected": np.nan,
                    "mass": np.nan,
                }
            )
        )
    items_frame = pd.DataFrame({"item_id": [f"i{i}" for i in range(len(human))], "dataset": "d", "human": human})
    shown = (Ordering(SCORES, ARABIC), Ordering(SCORES[::-1], ARABIC[::-1]))
    return RunData("r", "r", tuple(map(arm_of, scores)), items_frame, shown, pd.concat(frames, ignore_index=True))


BASE, DOWN, ROMANS = ORDERS[0], ORDERS[1], IDS[1]


def test_shifts_flips_and_distributions_by_hand() -> None:
    nan = float("nan")
    data = by_hand({BASE: [[1], [2], [3], [4]], DOWN: [[1], [4], [3], [nan]]}, human=[1.4, 2.5, 3.0, 5.0])
    group = only(data)
    down = row(group, "descending order")
    assert down.shift is not None
    # Items 1-3 are paired: shifts 0, +2, 0.
    assert (down.shift.n_items, down.shift.n_excluded) == (3, 1)
    assert down.shift.effect.estimate == pytest.approx(2 / 3)
    assert down.shift.flips == pytest.approx(1 / 3)
    assert down.shift.absolute == pytest.approx(2 / 3)
    assert np.isnan(down.shift.excess)
    assert any("own randomness" in warning for warning in down.warnings)
    assert down.distribution.scores == (-1, 1, 2, 3, 4, 5)
    assert down.distribution.counts == (1, 1, 0, 1, 1, 0)
    assert down.distribution.share == (0.25, 0.25, 0.0, 0.25, 0.25, 0.0)
    assert group.gold is not None
    # 1.4 -> 1; 2.5 rounds half up to 3; 3; 5.
    assert group.gold.counts == (1, 0, 2, 0, 1)
    assert down.agreement.n_items == 3
    assert down.agreement.incomplete == 1


def test_several_reads_pair_every_read_with_every_read() -> None:
    data = by_hand({BASE: [[1, 3]], DOWN: [[3, 3]]}, human=[2.0])
    shift = row(only(data), "descending order").shift
    assert shift is not None
    # Pairs (1,3), (3,3): mean shift 1, flips 1/2, absolute 1; own flips 1 and 0.
    assert (shift.effect.estimate, shift.flips, shift.absolute) == (1.0, 0.5, 1.0)
    assert shift.own_flips == 1.0
    assert shift.excess == pytest.approx(0.5 - (1.0 + 0.0) / 2)


def test_agreement_matches_numpy_and_its_change_is_paired() -> None:
    data = simulate(forms=ORDERS[:2], items=80)
    group = only(data)
    base, down = group.perturbations
    human = data.items["human"].to_numpy()
    expected = []
    for code in (0, 1):
        own = data.judgments[data.judgments["arm"] == code]
        expected.append(np.corrcoef(own.groupby("item")["score"].mean(), human)[0, 1])
    assert base.agreement.pearson.r == pytest.approx(expected[0])
    assert down.agreement.pearson.r == pytest.approx(expected[1])
    delta = down.agreement.delta_pearson
    assert delta is not None
    assert delta.delta == pytest.approx(expected[1] - expected[0])
    assert delta.ci.low < delta.delta < delta.ci.high
    assert base.agreement.delta_pearson is None
    assert group.pearson_fluctuation is not None
    assert group.pearson_fluctuation.form == "descending order"
    assert group.pearson_fluctuation.change == pytest.approx(delta.delta)
    # Paired: much narrower than two independent intervals would make it.
    wide = sum(ci.high - ci.low for ci in (base.agreement.pearson.ci, down.agreement.pearson.ci))
    assert delta.ci.high - delta.ci.low < 0.9 * wide


def test_items_move_in_different_directions_without_a_shift() -> None:
    reads = [[2, 2], [4, 4]] * 30
    swapped = [[4, 4], [2, 2]] * 30
    data = by_hand({BASE: reads, ROMANS: swapped}, human=[2.0, 4.0] * 30)
    roman = row(only(data), "Roman numerals")
    assert roman.shift is not None
    assert roman.shift.effect.verdict != "effect"
    # 2 points apart always, and no noise: all of it is the form's doing.
    assert roman.shift.single.estimate == pytest.approx(2.0)
    assert roman.shift.single.verdict == "effect"
    assert roman.shift.effect.estimate == 0.0
    assert roman.shift.excess == 1.0


# ---------------------------------------------------------------- gold, recommendations


def test_another_judges_majority_is_gold() -> None:
    own = by_hand({BASE: [[1], [3], [5]]}, human=[float("nan")] * 3)
    other = by_hand({BASE: [[1, 1, 2], [3, 4, 5], [5, 5, 5]]}, human=[1.0] * 3)
    judged = pd.concat([own.judgments, other.judgments.assign(arm=1)], ignore_index=True)
    data = replace(own, judgments=judged, arms=(arm_of(BASE), arm_of(BASE, "gold")), items=own.items)
    mine, theirs = perturbation(data, n_boot=50, gold_judge="gold").groups
    assert mine.gold is not None
    # Majorities 1 and 5; 3, 4, 5 tie, so their mean 4 counts.
    assert mine.gold.tied == 1
    assert mine.gold.counts == (1, 0, 0, 1, 1)
    assert mine.baseline.agreement.pearson.r == pytest.approx(np.corrcoef([1, 3, 5], [1, 4, 5])[0, 1])
    assert np.isnan(theirs.baseline.agreement.pearson.r)
    assert any("the yardstick itself" in warning for warning in theirs.warnings)
    with pytest.raises(LabError, match=r"no judge “nobody”.*j, gold"):
        perturbation(data, gold_judge="nobody")


def test_recommendations_name_the_form_and_what_cannot_be_told_from_it() -> None:
    effects = Effects(label={"C": 6.0}, quality_weight=2.0)
    group = only(simulate(effects, (*ORDERS, IDS[0]), items=300))
    assert "letters" in group.most_stable.ruled_out
    assert "letters" in group.best_agreement.ruled_out
    assert not group.most_stable.clear
    assert group.most_stable.sentence.startswith("No form is shown to be more stable")


def test_a_clear_recommendation_says_so() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 200)
    noisy = np.clip(truth + rng.integers(-2, 3, (200,)), 1, 5)
    data = by_hand({BASE: noisy[:, None], DOWN: truth[:, None]}, human=truth.tolist())
    best = only(data).best_agreement
    assert best.clear
    assert best.form == "descending order"
    assert best.ruled_out == ("Baseline",)
    assert best.value == pytest.approx(1.0)
    assert best.gain.verdict == "effect"
    assert "is shown to be better" in best.sentence
    assert best.n_items == 200


def test_two_like_forms_are_not_ranked() -> None:
    group = only(simulate(forms=ORDERS[:2], items=60))
    for found in (group.most_stable, group.best_agreement):
        assert not found.clear
        assert found.sentence.startswith("No form is shown to be")
        assert found.gain.verdict != "effect"


@pytest.mark.parametrize("seed", range(4))
def test_no_form_is_said_to_lose_what_choosing_by_luck_loses(seed: int) -> None:
    """Chosen on other items the gain was that of lucky choices: below 0 where the usual form is as good."""
    group = only(simulate(forms=ORDERS, items=40, seed=seed))
    for found in (group.most_stable.gain, group.best_agreement.gain):
        assert 0.0 <= found.low <= found.estimate <= found.high
        assert found.verdict != "effect"


# ---------------------------------------------------------------- degenerate


def test_an_arm_that_failed_throughout_does_not_take_the_others_along() -> None:
    data = simulate(forms=ORDERS, items=60)
    judgments = data.judgments.copy()
    lost = judgments["arm"] == 1
    judgments.loc[lost, ["status", "score", "position"]] = [UNPARSED, np.nan, -1]
    group = only(replace(data, judgments=judgments))
    failed = row(group, "descending order")
    assert failed.distribution.counts == (120, 0, 0, 0, 0, 0)
    assert failed.shift is not None
    assert failed.shift.effect.verdict == "undecided"
    assert failed.shift.effect.why == "no item was read under both forms"
    assert failed.shift.n_items == 0
    assert np.isnan(failed.shift.effect.estimate)
    assert any("Not one judgment" in warning for warning in failed.warnings)
    assert "descending order" in group.most_stable.not_compared
    assert group.most_stable.form in ("Baseline", "random order")
    assert row(group, "random order").shift.n_items == 60


def test_a_baseline_that_failed_throughout_is_survived() -> None:
    data = simulate(forms=ORDERS, items=30)
    judgments = data.judgments.copy()
    judgments.loc[judgments["arm"] == 0, ["status", "score", "position"]] = [4, np.nan, -1]
    group = only(replace(data, judgments=judgments))
    assert {p.shift.effect.verdict for p in group.perturbations if p.shift} == {"undecided"}
    silent = replace(data, judgments=judgments)
    json.dumps(PERTURBATION.document(perturbation(silent, n_boot=50), silent).beside)


def test_no_gold_leaves_shifts_standing() -> None:
    data = simulate(Effects(position={"first": 2.0}), ORDERS[:2], items=60)
    bare = replace(data, items=data.items.assign(human=np.nan))
    group = only(bare)
    assert group.gold is None
    shift = row(group, "descending order").shift
    assert shift is not None
    assert shift.effect.verdict == "effect"
    assert np.isnan(group.baseline.agreement.pearson.r)
    assert group.pearson_fluctuation is None
    assert group.best_agreement.form is None
    assert any("No item has a human rating" in warning for warning in group.warnings)


def test_one_item_is_not_enough_to_say() -> None:
    group = only(simulate(items=1))
    assert {p.shift.effect.verdict for p in group.perturbations if p.shift} == {"undecided"}
    assert group.best_agreement.form is None


def test_scores_that_never_differ() -> None:
    data = by_hand({BASE: [[3, 3]] * 40, DOWN: [[3, 3]] * 40}, human=[3.0] * 40)
    down = row(only(data), "descending order")
    assert down.shift is not None
    # 40 items that never moved leave room for one in nine that does, at this confidence.
    assert down.shift.effect.high == pytest.approx(1 - (0.05 / 3 / 2) ** (1 / 40))
    assert down.shift.effect.verdict == "undecided"
    assert down.shift.test.p == 1.0
    assert np.isnan(down.agreement.pearson.r)
    assert any("same score for every item" in warning for warning in down.warnings)


def test_an_unusual_baseline_is_said() -> None:
    group = only(simulate(forms=(("random", "letters", 0), ("descending", "letters", 0)), items=30))
    assert group.baseline.arm.strategy == "random"
    assert any("not the usual one" in warning for warning in group.warnings)


def test_a_run_of_one_form_says_there_is_nothing_to_compare() -> None:
    result = perturbation(simulate(forms=ORDERS[:1], items=20), n_boot=50)
    assert result.n_tests == 0
    assert "one form" in result.warnings[0]


def test_json_is_plain_and_has_every_form() -> None:
    data = simulate(items=30)
    part = PERTURBATION.document(perturbation(data, n_boot=50), data)
    document = json.loads(json.dumps(part.beside["perturbations"], allow_nan=False))
    (group,) = document["groups"]
    assert [form["name"] for form in group["perturbations"]] == [
        "Baseline",
        "descending order",
        "random order",
        "letters",
        "Roman numerals",
        *(f"reference of score {k}" for k in SCORES),
    ]
    assert group["perturbations"][3]["variant"] == {"ids": "letters", "reference": 0}
    assert group["perturbations"][1]["shift"]["test"]["name"] == "Hotelling's T²"
    assert document["n_tests"] == 9


def test_few_units_have_no_interval_of_a_forms_shift() -> None:
    """Of five units the interval was 1.8 steps wide and held in all of 200 studies."""
    found = row(only(simulate(items=7)), "descending order").shift
    assert found is not None
    assert np.isfinite(found.flips)
    assert np.isnan(found.effect.low)
    assert np.isnan(found.flips_ci.low)
    assert np.isnan(found.excess_ci.low)
    assert "7 units are too few" in found.effect.why


@pytest.mark.slow
def test_flips_of_forms_are_no_surer_and_no_vaguer_than_they_are() -> None:
    """Foreign judges: the floor under the interval held in 50 of 50 studies and was twice as wide."""
    inside, width = [], []
    truth = _flips(foreign_run("skewed", "prompt forms", items=4_000, seed=1_000)).flips
    for seed in range(100):
        found = _flips(foreign_run("skewed", "prompt forms", items=15, seed=seed))
        inside.append(found.flips_ci.low <= truth <= found.flips_ci.high)
        width.append(found.flips_ci.high - found.flips_ci.low)
    assert 0.88 < np.mean(inside) < 0.99
    assert np.mean(width) < 0.36


def _flips(data):
    return next(p.shift for p in only(data).perturbations if p.shift is not None)
