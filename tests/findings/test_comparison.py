"""Findings of comparisons: the paper's numbers, hand counts, planted effects, what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rubriclab.datasets.pairs import read_pairs
from rubriclab.findings.comparison import COMPARISON, comparison, comparison_sentence, predictors
from rubriclab.findings.comparison_cells import share_interval
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.findings.plain import plain
from rubriclab.findings.topics import Findings, document
from rubriclab.model import STATUSES, Arm, Ordering, RunData
from rubriclab.report.text import as_text

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "data" / "shi"


def pairs(rows: list[tuple[object, ...]], *extra: str) -> RunData:
    """Rows of (judge, question, task, first, second, choice, ...)."""
    columns = ["judge", "question_id", "task", "first", "second", "choice", *extra]
    return read_pairs(pd.DataFrame(rows, columns=columns).astype(str), name="d")


def swapped(
    choices: str, question: object, *, judge: str = "j", task: str = "t", names: tuple[str, str] = ("x", "base")
) -> list[tuple[object, ...]]:
    a, b = names
    return [(judge, question, task, a, b, choices[0]), (judge, question, task, b, a, choices[1])]


def one(data: RunData) -> JudgeComparison:
    (judge,) = comparison(data, n_boot=200).judges
    return judge


# ------------------------------------------------------------------ the paper


@pytest.mark.skipif(not REFERENCE.is_dir(), reason=f"no {REFERENCE}: the authors' replies are not here")
def test_reproduces_the_papers_table() -> None:
    stem = "mtbench_gpt-3.5-turbo-1106"
    frames = [pd.read_csv(Path(REFERENCE) / f"{stem}_{kind}.csv.gz", dtype=str) for kind in ("pairs", "repetition")]
    judge, repeated = (one(read_pairs(frame, name="mtbench")) for frame in frames)
    assert judge.baseline == "vicuna-13b-v1.3"
    assert (judge.pc, judge.pc_sd) == pytest.approx((0.6951, 0.1837), abs=1e-3)
    assert (judge.pf, judge.error) == pytest.approx((0.0604, 0.0040), abs=1e-3)
    assert (repeated.rs, repeated.rs_sd) == pytest.approx((0.9601, 0.0662), abs=1e-3)


# ------------------------------------------------------------------ hand counts


def test_classes_do_not_depend_on_row_order_or_on_which_order_came_first() -> None:
    rows = [*swapped("AB", 1), *swapped("AA", 2), *swapped("BC", 3), *swapped("CC", 4)]
    forward, backward = one(pairs(rows)), one(pairs(rows[::-1]))
    for judge in (forward, backward):
        used = judge.usable
        assert (used.consistent, used.primacy, used.recency, used.consistent_ties) == (2, 1, 1, 1)
        assert (judge.pc, judge.pf) == (0.5, 0.0)
    assert forward.win_rates == backward.win_rates


def test_win_rates_follow_the_candidate_through_the_swap() -> None:
    # x wins question 1 in both orders, base wins question 2, question 3 is inconsistent.
    judge = one(pairs([*swapped("AB", 1), *swapped("AB", 4), *swapped("BA", 2), *swapped("AA", 3)]))
    rates = {row.candidate: row.owr for row in judge.win_rates}
    assert rates == {"x": 2.5 / 4, "base": 1.5 / 4}


def test_baseline_is_inferred_and_cells_are_the_others() -> None:
    rows = [
        *swapped("AB", 1),
        *swapped("AA", 1, names=("y", "base")),
        *swapped("BB", 2, task="u"),
        *swapped("AB", 2, task="u", names=("base", "y")),
    ]
    judge = one(pairs(rows))
    assert judge.baseline == "base"
    assert {(cell.candidate, cell.task) for cell in judge.cells} == {("x", "t"), ("y", "t"), ("x", "u"), ("y", "u")}
    assert judge.pc_sd == pytest.approx(0.5)
    assert [group.name for group in judge.by_candidate] == ["x", "y"]
    assert {group.name: group.pc for group in judge.by_task} == {"t": 0.5, "u": 0.5}
    owr = {(point.candidate, point.task): point.owr for point in judge.points}
    assert owr == {("x", "t"): 1.0, ("y", "t"): 0.5, ("x", "u"): 0.5, ("y", "u"): 0.0}


def test_all_pairs_have_no_baseline_and_cells_per_pair() -> None:
    rows = [
        *swapped("AB", 1, names=("x", "y")),
        *swapped("AA", 1, names=("y", "z")),
        *swapped("AB", 1, names=("z", "x")),
    ]
    judge = one(pairs(rows))
    assert judge.baseline is None
    assert sorted(cell.candidate for cell in judge.cells) == ["x | y", "x | z", "y | z"]
    assert {group.name: group.series for group in judge.by_candidate} == {"x": 2, "y": 2, "z": 2}


def test_everything_left_out_is_counted_and_said() -> None:
    rows = [*swapped("AB", 1), *swapped("NA", 2), *swapped("AA", 3)[:1], *swapped("CC", 4)]
    judge = one(pairs(rows))
    used = judge.usable
    assert (used.calls, used.series, used.unreadable) == (7, 3, 1)
    assert (used.incomplete, used.missing_calls) == (1, 1)
    assert (used.tie_calls, used.unread_calls) == (2, 1)
    assert judge.pc == 1.0
    assert judge.error == pytest.approx(1 / (1 + 4))
    text = " ".join(judge.warnings)
    assert "1 comparison in no class: 1 swapped call missing" in text
    assert "1 of 3 comparisons in no class for a reply that cannot be read" in text
    shown = as_text(document(Findings(pairs(rows))))
    assert "3 comparisons (pairs) asked in every order, 2 of them read, 3 questions" in shown
    assert "of 2, noise included" in shown
    assert "Only 3 questions" in text


def test_one_order_only_gives_no_pc_but_rs() -> None:
    rows = [("j", q, "t", "x", "y", c, r) for q in (1, 2) for r, c in enumerate("AAB")]
    judge = one(pairs(rows, "rep"))
    assert np.isnan(judge.pc)
    assert judge.rs == pytest.approx(2 / 3)
    assert judge.usable.incomplete == 6
    assert any("there is no PC" in warning for warning in judge.warnings)


def test_unequal_repeats_use_the_first_pair_for_pc_and_all_for_rs() -> None:
    rows = [(*row, 0) for row in [*swapped("AB", 1), *swapped("AB", 2)]]
    rows += [(*row, repeat) for repeat in (1, 2) for row in swapped("AA", 1)]
    judge = one(pairs(rows, "rep"))
    assert judge.pc == 1.0
    assert (judge.usable.extra, judge.usable.queries, judge.usable.asked_once) == (2, 2, 2)
    # Order x|base of question 1: A A A; base|x: B A A.
    assert judge.rs == pytest.approx((1 + 2 / 3) / 2)
    assert any("Repeats are unequal" in warning for warning in judge.warnings)


def test_equal_repeats_are_all_pairs() -> None:
    rows = [(*row, r) for r, text in enumerate(("AB", "AA")) for row in swapped(text, 1)]
    assert one(pairs(rows, "rep")).pc == 0.5


def test_all_ties_look_consistent_and_it_is_said() -> None:
    judge = one(pairs([row for q in range(12) for row in swapped("CC", q)]))
    assert judge.pc == 1.0
    assert any("nearly always says tie" in warning for warning in judge.warnings)
    assert judge.pf_test.p == 1.0


def test_all_unreadable_is_nan_not_a_number() -> None:
    judge = one(pairs([*swapped("NN", 1), *swapped("NN", 2)]))
    assert np.isnan(judge.pc)
    assert judge.error == 1.0
    assert judge.empty_cells == 1
    assert json.loads(json.dumps(plain(judge)))["pc"] is None


def test_single_candidate_and_other_sizes_are_counted() -> None:
    data = pairs([*swapped("AB", 1), *swapped("AB", 2)])
    orderings = (*data.orderings, Ordering(("x",), ("A",)), Ordering(("x", "y", "z"), ("A", "B", "C")))
    extra = data.judgments.iloc[:2].assign(ordering=[2, 3])
    changed = RunData("r", "r", data.arms, data.items, orderings, pd.concat([data.judgments, extra], ignore_index=True))
    judge = one(changed)
    assert (judge.usable.single_candidate, judge.usable.other_size) == (1, 1)
    assert judge.usable.series == 2


def test_a_run_of_another_axis_says_so() -> None:
    data = pairs(swapped("AB", 1))
    other = RunData("r", "r", (Arm("j", "d", "s"),), data.items, data.orderings, data.judgments)
    result = comparison(other)
    assert result.judges == ()
    assert "nothing to compare" in result.warnings[0]


def test_no_judgments_at_all() -> None:
    data = pairs(swapped("AB", 1))
    empty = RunData("r", "r", data.arms, data.items, data.orderings, data.judgments.iloc[:0])
    judge = one(empty)
    assert np.isnan([judge.pc, judge.pf, judge.error, judge.rs]).all()
    assert judge.cells == ()


# ------------------------------------------------------------------ simulated judges


def simulated(
    p: int, place: list[float], *, n: int = 240, seed: int = 0, judges: int = 1, noise: float = 1.0
) -> RunData:
    """Lists of p candidates in p rotations, two comparisons a question."""
    rng = np.random.default_rng(seed)
    names = [f"m{i}" for i in range(p)]
    utility = rng.normal(0, 1, size=(n, p))
    rows = []
    for judge in range(judges):
        for i in range(n):
            for start in range(p):
                shown = [(start + k) % p for k in range(p)]
                score = utility[i, shown] + np.asarray(place) + noise * rng.gumbel(size=p)
                rows.append(
                    (
                        f"j{judge}",
                        i // 2,
                        f"t{i % 2}",
                        "|".join(names[k] for k in shown),
                        names[shown[int(score.argmax())]],
                    )
                )
    columns = ["judge", "question_id", "task", "order", "winner"]
    frame = pd.DataFrame(rows, columns=columns).astype(str)
    if p == 2:
        frame[["first", "second"]] = frame["order"].str.split("|", expand=True)
        frame["choice"] = np.where(frame["winner"] == frame["first"], "A", "B")
        frame = frame.drop(columns=["order", "winner"])
    return read_pairs(frame, name="sim")


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize(("effect", "sign"), [(1.0, -1), (-1.0, 1)])
def test_planted_primacy_and_recency_in_both_protocols(p: int, effect: float, sign: int) -> None:
    judge = one(simulated(p, [effect] + [0.0] * (p - 1)))
    assert np.sign(judge.pf) == sign
    assert judge.pf_ci.low * judge.pf_ci.high > 0
    assert judge.pf_test.p < 0.001
    first = judge.first_place
    assert first.effect.verdict == "effect"
    assert np.sign(first.effect.estimate) == -sign
    assert [place.place for place in first.places] == list(range(1, p + 1))
    assert (first.places[0].share > 1 / p) == (sign < 0)
    assert first.places[0].effect.verdict == "effect"
    assert sum(place.share for place in first.places) == pytest.approx(1.0)


@pytest.mark.parametrize("p", [2, 3])
def test_an_unbiased_judge_is_not_accused(p: int) -> None:
    rejected = 0
    for seed in range(20):
        (judge,) = comparison(simulated(p, [0.0] * p, n=60, seed=seed), n_boot=10).judges
        rejected += judge.pf_test.p < 0.05
    assert rejected <= 4
    assert abs(judge.pf - judge.pf_expected) < 0.2
    assert p > 2 or judge.pf_expected == 0.0


def test_reversed_circles_of_a_list_are_series_of_their_own() -> None:
    orders = ["a|b|c", "b|c|a", "c|a|b", "c|b|a", "b|a|c", "a|c|b"]
    frame = pd.DataFrame(
        [("j", 1, order, "b") for order in orders], columns=["judge", "question_id", "order", "winner"]
    ).astype(str)
    judge = one(read_pairs(frame, name="d"))
    assert (judge.usable.series, judge.pc) == (2, 1.0)
    assert {row.candidate: row.owr for row in judge.win_rates} == {"a": 0.0, "b": 1.0, "c": 0.0}


def test_results_are_the_same_for_the_same_seed_and_plain_json() -> None:
    data = simulated(2, [0.3, 0.0], n=40)
    first, second = (plain(comparison(data, n_boot=100, seed=3)) for _ in range(2))
    assert json.dumps(first) == json.dumps(second)
    judge = first["judges"][0]
    for name in ("pc", "pc_sd", "pf", "error", "rs", "rs_sd"):
        assert name in judge
    for name in ("pc_ci", "pf_ci", "error_ci", "rs_ci"):
        assert len(judge[name]) == 2
    assert judge["pc_ci"][0] <= judge["pc"] <= judge["pc_ci"][1]


# ------------------------------------------------------------------ several judges


def test_agreement_votes_and_hardest_instances() -> None:
    rows = []
    for judge, first, second in (("a", "AB", "AB"), ("b", "AB", "CC"), ("c", "BA", "NB")):
        rows += [*swapped(first, 1, judge=judge), *swapped(second, 2, judge=judge)]
    result = comparison(pairs(rows), n_boot=100)
    (both,) = result.together
    assert both.judges == ("a", "b", "c")
    assert both.with_ties.share[0, 1] == 0.5
    assert both.without_ties.share[0, 1] == 1.0
    assert both.without_ties.n[0, 1] == 2
    # Disagreement: 1, 1 on question 1; A C N -> 1; B C B -> 1 on question 2.
    assert both.distribution.tolist() == [0.0, 1.0, 1.0]
    assert both.no_majority == 1
    # The majority says AB on question 1 and is undecided on half of question 2.
    assert both.majority_pc == 1.0
    assert len(both.hardest) == 4
    hard = next(h for h in both.hardest if h.judges == 2)
    assert hard.choices == {"a": "x", "b": "tie", "c": "unread"}
    assert hard.item_id == "2: x | base"


def side_by_side(seed: int, judges: int) -> RunData:
    """A mildly biased judge, then others: one of them cannot be read at all."""
    data = simulated(2, [0.45, 0.0], n=120, seed=seed, judges=judges)
    rows = data.judgments
    lost = rows["arm"] == 3
    rows.loc[lost, ["status", "position"]] = [STATUSES.index("unparsed"), -1]
    return data


def test_one_judges_verdict_does_not_change_because_others_were_in_the_run() -> None:
    alone = Findings(side_by_side(5, 1))
    beside = Findings(side_by_side(5, 4))
    (one,) = alone.of(COMPARISON).judges
    same = beside.of(COMPARISON).judges[0]
    for name in ("first_place", "order_excess", "pc_ci", "pf_ci", "pf_test", "pf_p_holm", "rs_ci"):
        assert plain(getattr(one, name)) == plain(getattr(same, name)), name
    told = [line for line in beside.advice() if line.of[0] == "j0"]
    assert plain(told) == plain(list(alone.advice()))
    assert comparison_sentence(one) == comparison_sentence(same)
    failed = beside.of(COMPARISON).judges[3]
    assert np.isnan([failed.pf_test.p, failed.pf_p_holm]).all()
    assert beside.of(COMPARISON).n_tests == 3
    assert failed.first_place.effect.why.startswith("100% of the replies cannot be read")


def test_holm_counts_what_one_reader_asks_of_one_judge() -> None:
    rows = [
        (judge, q, "t", a, b, choice, dataset)
        for judge in ("j", "other")
        for dataset in ("one", "two")
        for q in range(20)
        for a, b, choice in (("x", "y", "A"), ("y", "x", "AB"[q % 5 == 0]))
    ]
    judges = comparison(pairs(rows, "dataset")).judges
    assert len(judges) == 4
    for judge in judges:
        assert judge.pf_p_holm == pytest.approx(2 * judge.pf_test.p)


# ------------------------------------------------------------------ what the place decides


def test_one_random_order_each_gives_the_advantage_and_no_p_value() -> None:
    """AlpacaEval's design. Before: "p = 1.0, no question leans to either side"."""
    rng = np.random.default_rng(0)
    rows = []
    for q in range(400):
        better = rng.normal(1.5, 1.0)
        a, b, edge = ("x", "base", better) if rng.random() < 0.5 else ("base", "x", -better)
        rows.append(("j", q, "t", a, b, "A" if edge + 1.5 + rng.logistic() > 0 else "B"))
    judge = one(pairs(rows))
    first = judge.first_place
    assert (first.design, first.comparisons, first.units) == ("one random order", 400, 400)
    assert first.effect.verdict == "effect"
    assert first.effect.estimate == pytest.approx(0.43, abs=0.1)
    assert np.isnan([judge.pf_test.p, judge.pf_p_holm, judge.pc]).all()
    assert "nothing to test" in judge.pf_test.note
    said = " ".join(judge.warnings)
    assert "which questions lean to a side is not known" in said
    assert "dealt at random, which the data cannot show" in said
    said = comparison_sentence(judge)
    assert "prefers the answer shown first" in said
    assert "would change with the order is not known" in said


def test_one_order_for_all_says_that_nothing_can_be_said() -> None:
    judge = one(pairs([("j", q, "t", "x", "base", "AAB"[q % 3]) for q in range(60)]))
    assert judge.first_place.effect.verdict == "undecided"
    assert "cannot be told from a liking for a candidate" in judge.first_place.effect.why
    assert "cannot be said" in comparison_sentence(judge)


def test_orders_that_chance_did_not_deal_give_no_verdict() -> None:
    rows = [("j", q, "t", *(("x", "base") if q % 8 else ("base", "x")), "A") for q in range(200)]
    first = one(pairs(rows)).first_place
    assert "not dealt at random" in first.effect.why
    assert first.effect.verdict == "undecided"


def test_consistency_is_never_said_without_the_judges_own_noise() -> None:
    data = simulated(2, [0.0, 0.0], n=60)
    judge = one(data)
    said = comparison_sentence(judge)
    assert "its own noise included" in said
    assert "120 more calls would tell the two apart" in said
    assert judge.order_excess.effect.verdict == "undecided"
    again = pd.concat([data.judgments, data.judgments.assign(repeat=1)], ignore_index=True)
    twice = one(RunData("r", "r", data.arms, data.items, data.orderings, again))
    # A judge that says the same again has no noise: what changes is the order's doing.
    assert twice.order_excess.again == 0.0
    assert twice.order_excess.order == pytest.approx(1.0 - judge.pc)
    assert "when it is asked the same again" in comparison_sentence(twice)
    primary = {line.question: line.primary for line in Findings(data).advice()}
    assert primary == {"first place": True, "consistency": False}


def test_choices_that_change_more_in_one_order_than_in_two_are_no_effect_of_the_order() -> None:
    first, again = (
        pairs([row for question in range(40) for row in swapped(choices, question)]) for choices in ("AB", "BA")
    )
    rows = pd.concat([first.judgments, again.judgments.assign(repeat=1)], ignore_index=True)
    excess = one(RunData("r", "r", first.arms, first.items, first.orderings, rows)).order_excess
    assert (excess.order, excess.again) == (0.5, 1.0)
    assert excess.effect.verdict == "undecided"


def test_shares_near_one_have_intervals_with_a_width() -> None:
    """PC 0.98 was covered in 0.29 / 0.46 / 0.89 of studies of 15 / 30 / 100 questions."""
    rng = np.random.default_rng(0)
    for n in (15, 30, 100):
        covered = 0
        for consistent in rng.random((400, n)) < 0.98:
            low, high = share_interval(consistent, np.ones(n), np.arange(n))
            covered += low <= 0.98 <= high
        assert covered >= 0.93 * 400, n
    judge = one(pairs([row for q in range(15) for row in swapped("AB", q)]))
    assert (judge.pc, judge.pc_ci.high) == (1.0, 1.0)
    assert judge.pc_ci.low < 0.9
    for ci in (judge.pc_ci, judge.pf_ci, judge.error_ci, judge.first_place.effect.interval):
        assert ci.high - ci.low > 0.1
    assert judge.first_place.effect.verdict == "undecided"


def test_an_unfinished_run_and_a_smaller_unit() -> None:
    data = simulated(2, [1.0, 0.0], n=60)
    waiting = replace(data, planned=(len(data.judgments) + 7,))
    shown = one(waiting).first_place.effect
    assert (shown.verdict, "7 of" in shown.why) == ("undecided", True)
    by_item, by_question = one(replace(data, unit="item")), one(data)
    assert (by_item.first_place.units, by_question.first_place.units) == (60, 30)
    assert (by_item.first_place.unit, by_question.first_place.unit) == ("item", "question")


def test_each_place_of_a_list_stands_against_even_with_bands_for_all() -> None:
    judge = one(simulated(4, [0.0, 0.0, 0.0, 1.2], n=200))
    verdicts = [place.effect.verdict for place in judge.first_place.places]
    assert verdicts[3] == "effect"
    assert judge.first_place.effect.estimate < 0
    assert "shown last" in comparison_sentence(judge)
    middle = one(simulated(3, [0.0, 1.2, 0.0], n=1500))
    assert middle.first_place.effect.verdict == "equivalent"
    assert "but place 2 wins +0." in comparison_sentence(middle)
    apart = sum(place.effect.estimate for place in judge.first_place.places)
    assert apart == pytest.approx(0.0, abs=1e-12)


# ------------------------------------------------------------------ predictors


def test_predictors_find_the_judge_that_is_biased() -> None:
    frames = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        for name, bias in (("even", 0.0), ("first", 2.5)):
            for q in range(24):
                better = rng.normal(0.3 * seed, 1.5)
                for a, b, gain in (("x", f"m{seed}", better), (f"m{seed}", "x", -better)):
                    choice = "A" if gain + bias + rng.logistic() > 0 else "B"
                    frames.append((name, f"{seed}-{q}", f"t{q % 6}", a, b, choice))
    (found,) = predictors(comparison(pairs(frames), n_boot=50))
    assert "Judge" in found.pf.selected
    assert found.pf.n == 48
    assert found.judges == ("even", "first")
    assert any("arithmetic" in warning for warning in found.warnings)


def test_lengths_reach_the_cells_and_unknown_ones_are_missing_not_zero() -> None:
    rows = [(*row, length) for q, length in ((1, 100), (2, 300)) for row in swapped("AB", q)]
    rows += [(*row, "") for row in swapped("AB", 3, task="u")]
    judge = one(pairs(rows, "prompt_length"))
    lengths = {cell.task: cell.lengths["n_chars"] for cell in judge.cells}
    assert lengths["t"] == 200
    assert np.isnan(lengths["u"])
