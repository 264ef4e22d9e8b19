"""Pairs and lists: the paper's numbers from its raw replies, a benchmark's own accuracy, by hand;
what goes along with PC.
"""

import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress
from scipy.stats import t as student

from rubriclab.api import read, run
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.data.sample import presets
from rubriclab.data.scores import read_judgments
from rubriclab.data.tables import read_table
from rubriclab.figures.choice_pictures import against_baseline
from rubriclab.measures.gold import DEFAULT, MAJORITY, STANDS
from rubriclab.measures.judges import counterpart, rows_apart
from rubriclab.measures.what_goes_along import cells_of, what_goes_along
from rubriclab.model.judgment import LENGTHS, JudgmentTable
from rubriclab.model.study import ReadingPart, read_study
from rubriclab.model.text import LabError
from rubriclab.stats import pairwise as stats
from rubriclab.store.bundle import bundle_bytes, import_bundle
from rubriclab.store.store import Store
from tests.tables import comparisons, findings, on_two_sets, only

RAW = Path(__file__).resolve().parents[1] / "data" / "raw_replies"
"""Replies that other people's judges gave; its README says whose."""
BOTH = [[0, 1], [1, 0]]
NAN = float("nan")


@cache
def shis(name: str) -> Findings:
    return findings(read_judgments(read_table(RAW / f"mtbench_gpt-3.5-turbo-1106_{name}.csv.gz")))


@pytest.mark.thorough
@pytest.mark.papers(45, 46, 47, 48, 49, 52)
def test_the_papers_table_2_for_one_judge_from_its_raw_replies() -> None:
    """Of 192 queries asked three times, 170 got one choice; in 21 two of three agree, and in one a
    choice came once beside two replies without one. RS: (170 + 21 * 2/3 + 1/3) / 192. Its ±: 22
    queries have the deviation sqrt(2/3 * 1/3 * 3/2), and the others 0. The paper does not say which
    deviation it prints; over queries it would be .11, and over cells of task and candidate .04.
    """
    found = shis("pairs")
    numbers = {name: only(found, name).value for name in ("pc", "pc_sd", "pf", "error_rate")}
    assert numbers == pytest.approx(
        {"pc": 0.6951, "pc_sd": 0.1837, "pf": 0.0604, "error_rate": 0.0040}, abs=5e-5
    )
    again = shis("repetition")
    rs, deviation = only(again, "rs").value, only(again, "rs_sd").value
    assert rs == pytest.approx((170 + 21 * 2 / 3 + 1 / 3) / 192)
    assert deviation == pytest.approx(22 * np.sqrt(1 / 3) / 192)
    # As the preset of the paper has it, to two decimals: PC .70, PF .06, RS .96, and their ±.
    printed = {
        part.measure: part.numbers["GPT-3.5-Turbo"]["MT-Bench"]
        for part in read_study(presets()["shi-pairs"]).paper
        if part.across == "dataset"
    }
    ours = {**numbers, "rs": rs, "rs_sd": deviation}
    assert {name: round(value, 2) for name, value in ours.items()} == printed
    # 80 questions: intervals hold the pairs of a question together.
    assert (only(found, "pc").unit, only(found, "pc").estimate.units) == ("prompt", 80)
    assert (
        len(found.select("pc_cell", task="coding")) == 31
    )  # the task, and 30 candidates beside the baseline
    assert len({row.of["candidate"] for row in found.select("win_rate")}) == 31
    (curvature,) = found.select("parabola", outcome="PC", term="curvature")
    assert (curvature.value > 0, curvature.counts["n"]) == (True, 240)
    tasks = [row for row in found.select("pf_cell") if "candidate" not in row.of]
    assert {row.of["task"] for row in tasks} >= {"coding", "math"}
    assert all(0 <= row.counts["p_holm"] <= 1 for row in tasks)


@pytest.mark.parametrize("judge", ["ChatGPT", "Falcon"])
def test_accuracy_against_gold_is_the_benchmarks_own(judge: str) -> None:
    """Replies and statistics that LLMBar's authors publish: right in each order, right in both, the
    same in both.
    """
    made = read(RAW / f"Natural.{judge}.Vanilla.result.json.gz").table
    (condition,) = made.conditions
    assert (condition.reorder, condition.judge, condition.strategy) == (
        "pairs",
        f"Natural.{judge}.Vanilla",
        "balanced",
    )
    theirs = json.loads((RAW / f"Natural.{judge}.Vanilla.statistics.json").read_text("utf-8"))
    share = {
        key: float(text.split()[0]) / float(text.split()[2])
        for key, text in theirs.items()
        if "/" in str(text)
    }
    found = findings(made)
    assert only(found, "accuracy", order="1 2").value == share["correct_False"]
    assert only(found, "accuracy", order="2 1").value == share["correct_True"]
    assert only(found, "accuracy_all_orders").value == share["correct_both"]
    assert only(found, "pc").value == share["equal"]
    (both,) = [row for row in found.select("accuracy") if not row.of]
    assert both.value == pytest.approx((share["correct_False"] + share["correct_True"]) / 2)
    # The preset has the same numbers beside the lab's.
    for part in read_study(presets()["llmbar"]).paper:
        (printed,) = part.numbers[judge].values()
        ours = both if part.measure == "accuracy" else only(found, part.measure)
        assert ours.value == pytest.approx(printed)


def test_measures_of_ten_pairs_by_hand() -> None:
    # AB, AB, CC consistent; AA, AA, AC primacy; BB recency; AN, NN unparsed, and CB recency.
    a, b, c, n = 1, 2, 0, NAN
    position = [[a, b], [a, b], [c, c], [a, a], [a, a], [a, c], [b, b], [a, n], [n, n], [c, b]]
    ratings: list[dict[str, Any]] = [{"gold": 1}] * 4 + [{"x": 1, "y": 2}] + [{}] * 5
    found = findings(comparisons(position, BOTH, names=[("x", "y")] * 10, ratings=ratings))
    assert only(found, "pc").value == 3 / 8
    assert only(found, "pf").value == pytest.approx((2 - 3) / 10)  # one cell of ten
    # 2 recency against 3 primacy: P(|sum of five signs| >= 1) = 1.
    assert only(found, "pf").p == pytest.approx(1.0)
    # Three of 20 replies are lost. Shi et al. do not count the parsed reply of AN.
    rate = only(found, "error_rate")
    (parsed,) = (row for row in found.select("parsed_share") if not row.of)
    assert rate.value == 3 / (3 + 2 * 8) > 3 / 20
    assert parsed.value == 17 / 20
    assert "Shi et al." in rate.about.name
    assert "parsed in every order" in rate.about.sign
    assert [row.value for row in found.select("class_share")] == [0.3, 0.3, 0.2, 0.2]
    # 17 calls parsed: first 2 (AB) + 4 (AA) + 1 (AC) + 1 (AN) = 8, ties 2 (CC) + 1 + 1 = 4.
    assert only(found, "position_share", position=1).value == pytest.approx((8 + 4 / 2) / 17)
    # 16 calls of series parsed in both orders: AA +2 twice, AC +1, BB -2, CB -1, the others 0.
    assert only(found, "first_advantage").value == pytest.approx(2 / 16)
    # x wins both orders twice, y never; the other six series are halves.
    assert only(found, "win_rate", candidate="x").value == pytest.approx((2 + 6 / 2) / 8)
    # Gold x: four comparisons, eight calls; right in AB, AB, and first of AA.
    (accuracy,) = [row for row in found.select("accuracy") if not row.of]
    assert (accuracy.value, only(found, "gold_accuracy", position=1).value) == (5 / 8, 3 / 4)
    assert only(found, "gold_accuracy", position=2).value == 2 / 4
    assert only(found, "accuracy_all_orders").value == 2 / 4
    # In (x, y) right in AB, AB, AA, and half of the tie; over both orders AA is half right too; AB,
    # AB stand.
    protocols = {
        row.of["protocol"]: (row.value, row.counts["n"])
        for row in found.select("protocol_accuracy")
    }
    assert protocols == {DEFAULT: (3.5 / 4, 4), MAJORITY: (3 / 4, 4), STANDS: (1.0, 2)}
    assert only(found, "gain_accuracy").value == pytest.approx(100 * (3 - 3.5) / 4)
    assert only(found, "rs").why == "no_repeats"


def test_a_judge_that_always_picks_the_first_has_a_fairness_that_is_not_certain() -> None:
    """30 pairs of three candidates, in cells of 24 and 6: none moved, so up to Clopper and
    Pearson's 1 - 0.025^(1/30).
    """
    made = comparisons([[1, 1]] * 30, BOTH, names=[("x", "y")] * 24 + [("x", "z")] * 6)
    found = findings(made)
    assert only(found, "pf").interval == pytest.approx((-1.0, -(0.025 ** (1 / 30))))
    # Two units of more comparisons weigh more, and have not moved by that.
    uneven = findings(
        comparisons([[1, 1]] * 30, BOTH, prompt=[f"p{max(k - 4, 0)}" for k in range(30)])
    )
    assert only(uneven, "first_advantage").interval == pytest.approx((0.025 ** (1 / 26), 1.0))


def test_classes_and_winners_of_lists() -> None:
    """Columns: candidate j first, the others after it in turn. Three orders, m decided, F won by
    the first.
    """
    positions = np.array(
        [
            [1, 3, 2],  # candidate 0 in all three: consistent
            [1, 1, 1],  # the first in all: F = 3 > 1
            [1, 1, 3],  # F = 2 > 1
            [2, 3, 3],  # F = 0 < 1
            [1, 2, 2],  # F = 1 = m / 3: neutral
            [0, 0, 0],  # a tie in all
            [1, 0, 0],  # F = 1 > 1/3
            [1, -1, 1],
        ]
    )
    made = stats.classify(positions)
    names = [stats.CLASSES[kind] for kind in made.kind]
    assert names == [
        "consistent",
        "primacy",
        "primacy",
        "recency",
        "neutral",
        "consistent",
        "primacy",
        "unparsed",
    ]
    assert made.winner.tolist() == [0, -1, -1, -1, -1, 3, -1, -1]
    assert stats.nets(made, 3).tolist()[:5] == [0, -6, -3, 3, 0]
    # Candidate c of three wins all six orders of both circles: two series a comparison, both won by
    # c.
    orders = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]])
    position = np.tile((orders == 2).argmax(axis=1) + 1, (9, 1))
    found = findings(comparisons(position, orders))
    assert (only(found, "pc").value, only(found, "pc").counts["n"]) == (1.0, 18)
    assert only(found, "win_rate", candidate="c").value == 1.0


@pytest.mark.parametrize(
    ("nets", "p"),
    [
        ([1, 1, 1, 1, 1], 2 / 32),
        ([], 1.0),
        ([2, 1, 1, 0], 0.25),  # |sum| = 4 in two of eight patterns
        ([150, -150, 150] * 200, 2 * 1.6e-16),  # sum 30,000, spread 150 sqrt(600) = 3,674: z = 8.16
    ],
)
def test_signs_of_units_flipped(nets: list[int], p: float) -> None:
    assert stats.sign_flip_p(np.array(nets, dtype=np.int64)) == pytest.approx(
        p, rel=0.2 if p < 1e-9 else 1e-6
    )


def test_repetition_stability_by_hand() -> None:
    # Three calls of one query: A A B 2/3; A N N: 1/3; each sd is sqrt(s (1 - s) 3 / 2).
    share, sd = stats.stability(
        np.array([0, 0, 0, 1, 1, 1, 2]), np.array([1, 1, 2, 1, -1, -1, 1]), 3, 2
    )
    assert share[:2] == pytest.approx([2 / 3, 1 / 3])
    assert sd[0] == pytest.approx(np.sqrt(2 / 9 * 1.5))
    assert np.isnan(share[2])


def test_one_order_each_needs_to_be_drawn() -> None:
    position, order = [[1], [1], [2], [1]] * 5, [[0], [1]] * 10
    drawn = findings(comparisons(position, BOTH, order, drawn=True))
    assert only(drawn, "first_advantage").value == 0.5
    fixed = findings(comparisons(position, BOTH, order))
    assert only(fixed, "first_advantage").why == "no_two_orders"
    assert only(fixed, "pc").why == "no_two_orders"


@pytest.mark.papers(51)
def test_a_parabola_that_only_arithmetic_makes_is_not_told() -> None:
    """200 sets of candidates of unequal worth, PC without regard to it; then PC that rises with
    it.
    """
    rng = np.random.default_rng(3)
    worth, cells = rng.uniform(0, 1, 200), np.arange(200)
    at = stats.Points(cells, np.zeros(200, dtype=np.int64), cells, np.zeros(200, dtype=np.int64))
    parsed = np.full(200, 40.0)
    for pc, expected in (
        (rng.uniform(0.4, 0.9, 200), False),
        (0.5 + 1.6 * (worth - 0.5) ** 2, True),
    ):
        consistent = rng.binomial(40, pc).astype(float)
        first = rng.binomial(consistent.astype(int), worth).astype(float)
        tied = (parsed - consistent) / 2
        won = np.stack([first + tied, consistent - first + tied], axis=1)
        fit, _ = stats.parabolas([stats.Cells(consistent, parsed, won, np.zeros(200), at)])
        assert (fit.p < 0.01) == expected
        assert fit.high > 0  # arithmetic alone opens it upwards


@pytest.mark.papers(51)
def test_judges_that_find_the_same_cells_hard_do_not_count_as_more_cells() -> None:
    """Two judges with the same 60 cells. Dealt in one way, chance varies as for one judge; dealt
    for each on its own it would vary by about root 2 less.
    """
    rng = np.random.default_rng(4)
    zero, each = np.zeros(60, dtype=np.int64), np.arange(60)
    parsed = np.full(60, 2_000.0)
    consistent = np.rint(rng.uniform(0.3, 1.0, 60) * parsed)
    first = np.rint(rng.uniform(0.0, 1.0, 60) * consistent)
    tied = (parsed - consistent) / 2
    won = np.stack([first + tied, consistent - first + tied], axis=1)
    cells = stats.Cells(consistent, parsed, won, np.zeros(60), stats.Points(each, zero, each, zero))
    alone, _ = stats.parabolas([cells])
    together, _ = stats.parabolas([cells, cells], same_cells=True)
    apart, _ = stats.parabolas([cells, cells])
    assert (together.n, together.curvature) == (120, pytest.approx(alone.curvature))
    width, same, own = (fit.high - fit.low for fit in (alone, together, apart))
    assert same / width == pytest.approx(1.0, abs=0.1)
    assert own / width == pytest.approx(0.71, abs=0.12)


def beside(*tables: JudgmentTable) -> JudgmentTable:
    """Conditions of one run about the same comparisons."""
    rows = [
        table.rows.assign(condition=k, call=table.rows["call"] + k * len(table.rows))
        for k, table in enumerate(tables)
    ]
    conditions = tuple(table.conditions[0] for table in tables)
    return replace(tables[0], conditions=conditions, rows=pd.concat(rows, ignore_index=True))


def several(*judges: Any, names: Any = ("j0", "j1", "j2"), **items: Any) -> JudgmentTable:
    """``judges``: (comparisons, 2) each: who won in both orders."""
    return beside(
        *(
            comparisons(won, BOTH, judge=name, **items)
            for won, name in zip(judges, names, strict=False)
        )
    )


@pytest.mark.papers(53, 54, 55, 56)
def test_judges_beside_each_other_by_hand() -> None:
    a = [[1, 2], [1, 1], [0, 2], [1, NAN]]
    b = [[1, 2], [1, 2], [0, 1], [1, 1]]
    c = [[1, 2], [2, 2], [1, 1], [2, 1]]
    named = ("openai/gpt-4o", "o1-mini", "claude-3-opus")
    found = findings(several(a, b, c, names=named, ratings=[{"gold": 1}] * 4))
    # a and b: AB AB 2 alike, AA AB 1, CB CA 1 (a tie), A- AA 1; seven calls of which both were
    # parsed.
    assert only(found, "judges_agree", 0, against=1).value == 5 / 7
    assert only(found, "judges_agree_no_ties", 0, against=1).value == 4 / 6
    # Shares of a and of b: A 4/7, B 2/7, C 1/7. By chance 16/49 + 4/49 + 1/49 = 3/7.
    assert only(found, "judges_kappa", 0, against=1).value == pytest.approx(
        (5 / 7 - 3 / 7) / (4 / 7)
    )
    arms = found.judgments.arms
    assert counterpart(arms[0], "o1-mini") is arms[1]
    assert counterpart(arms[0], "nobody") is None
    mine, theirs = rows_apart(arms[0], arms[1])
    assert arms[0].call[mine].tolist() == [3, 5]
    assert (arms[0].position[mine] + 1).tolist() == [1, 2]
    assert (arms[1].position[theirs] + 1).tolist() == [2, 1]
    # Of one family: a with b. With c: 2 of 7 and 5 of 8.
    assert only(found, "family_agreement", families="within").value == pytest.approx(5 / 7)
    assert only(found, "family_agreement", families="between").value == pytest.approx(7 / 15)
    assert only(found, "family_difference").value == pytest.approx(5 / 7 - 7 / 15)
    # Off the mode, call by call: 0 0 | AAB 1, ABB 1 | CCA 1, BAA 1 | AAB 1, AA 0.
    assert only(found, "disagreement", judges=0).value == pytest.approx(3 / 8)
    assert only(found, "disagreement", judges=1).value == pytest.approx(5 / 8)
    assert only(found, "disagreement_at_most", judges=0).value == pytest.approx(3 / 8)
    assert only(found, "disagreement_at_most", judges=1).value == 1.0
    # The family gpt: a is consistent in 1 of the 3 that it answered twice, b in 2 of 4.
    assert only(found, "family_pc", family="gpt").value == pytest.approx((1 / 3 + 2 / 4) / 2)
    assert not found.select("family_pc", family="claude")  # one judge is no family
    # Majority: AB | A, B | C, A | A, A: consistent 2 of 4.
    assert only(found, "majority_pc").value == 2 / 4
    # The gold winner is first in the first order: right in AB (2), AB (2), CA (0), AA (1).
    assert only(found, "majority_accuracy").value == 5 / 8
    hardest = found.select("hardest")
    assert [row.value for row in hardest] == [1] * 5
    # AAB, ABB, CCA, BAA, AAB: how often the first and the second answer won, and ties.
    assert [row.counts["wins"] for row in hardest] == [[2, 1], [1, 2], [1, 0], [2, 1], [2, 1]]
    assert [row.counts["ties"] for row in hardest] == [0, 0, 2, 0, 0]
    # With c in the family too, no two judges are of two families.
    reading = ReadingPart(families={"claude-3-opus": "gpt"})
    together = Findings(found.judgments, reading)
    assert only(together, "family_pc", family="gpt").counts["judges"] == 3
    assert not together.select("family_agreement")


@pytest.mark.papers(50)
def test_fairness_against_consistency_over_judges_by_hand() -> None:
    # 4 comparisons each. Always consistent: PC 1, PF 0. Two of four to the first: PC 1/2, PF -1/2.
    # All: PC 0, PF -1.
    judges = [[[1, 2]] * 4, [[1, 2]] * 2 + [[1, 1]] * 2, [[1, 1]] * 4]
    found = findings(several(*judges))
    assert only(found, "pf_on_pc", term="slope").value == pytest.approx(-1.0)
    assert only(found, "pf_on_pc", term="level").value == pytest.approx(1.0)
    assert not findings(several(*judges[:2])).select("pf_on_pc")


def test_without_tasks_the_baseline_sentence_counts_every_judge() -> None:
    # Each of two judges chooses the first place in 10 of 20: t = -4.359 on 19, p = 3.4e-4; by Holm
    # over the two, p = 6.8e-4.
    half = [[1, 2], [1, 1]] * 10
    found = findings(several([[1, 2]] * 20, half, half))
    shown = against_baseline(found, found.conditions[0].dataset)
    counted = "2 of 2 differences in consistency are significant: 2 lower than the baseline"
    assert counted in shown.note


@pytest.mark.papers(57)
def test_a_judge_is_held_against_the_first_one_task_by_task() -> None:
    still, biased = [[1, 2]] * 20, [[1, 2]] * 10 + [[1, 1]] * 10
    found = findings(several(still, biased, task=["law"] * 10 + ["maths"] * 10))
    assert only(found, "pc_difference", 1, task="law").value == 0
    worse = only(found, "pc_difference", 1, task="maths")
    assert (worse.value, worse.of["against"]) == (-1.0, 0)
    # Half of 20 units moved by -1: sd = sqrt(20 / 19 / 4) = .513, t = -.5 / (.513 / sqrt(20)) =
    # -4.359 on 19: p = 3.4e-4.
    half = findings(several(still, [[1, 2], [1, 1]] * 10))
    row = only(half, "pc_difference", 1)
    assert (row.value, row.p) == (-0.5, pytest.approx(3.38e-4, rel=0.01))


# ----------------------------------------------------------------- what goes along with consistency
TASKS, OTHERS = ("law", "maths", "code"), ("b", "c", "d", "e", "f")


def judged(rng: np.random.Generator, consistent: float, judge: str) -> JudgmentTable:
    """Each of ten questions a task: “a” against five others; a pair is consistent with this chance,
    else always first.
    """
    cells = list(product(TASKS, OTHERS, range(10)))
    right = rng.integers(1, 3, len(cells))
    keeps = rng.random(len(cells)) < consistent
    position = np.stack([np.where(keeps, right, 1), np.where(keeps, 3 - right, 1)], axis=1)
    return comparisons(
        position,
        BOTH,
        names=[("a", other) for _, other, _ in cells],
        judge=judge,
        task=[task for task, *_ in cells],
        input_length=[10 + k for *_, k in cells],
        output_length=[5] * len(cells),
    )


@pytest.mark.papers(58)
def test_the_judge_goes_along_where_judges_differ() -> None:
    made = (
        judged(np.random.default_rng(k), share, f"judge {k}")
        for k, share in enumerate((0.95, 0.6, 0.2))
    )
    rows = {
        (row.of["outcome"], row.of["term"]): row
        for row in what_goes_along(Judgments(beside(*made)).arms)
    }
    whole, without = rows["PC", "none"], rows["PC", "judge"]
    assert whole.counts["n"] == 3 * 3 * 5
    assert (whole.value, without.counts["df"], without.why) == (0.0, 2, "chosen_by_aic")
    assert without.value == pytest.approx(without.counts["aic"] - whole.counts["aic"])
    assert without.value == np.nanmax(
        [row.value for (outcome, _), row in rows.items() if outcome == "PC"]
    )
    # PF: each inconsistent pair is one of primacy, so that judge explains it as well; tasks explain
    # nothing.
    assert rows["PF", "judge"].value > 20
    assert rows["PF", "task"].why == "dropped"
    # Every answer has as many signs, so its length is no variable; that of the question is the same
    # in every cell.
    assert not {term for _, term in rows} & {"output_length", "input_length"}
    # Data sets are told by themselves and together; there the data set is a variable.
    table = on_two_sets(
        judged(np.random.default_rng(0), 0.9, "j"), judged(np.random.default_rng(1), 0.3, "j")
    )
    conditions = {
        (row.condition, row.of.get("dataset")) for row in what_goes_along(Judgments(table).arms)
    }
    assert conditions == {(0, None), (1, None), (0, "all")}


def test_a_cell_by_hand() -> None:
    """Four pairs of one cell: consistent for a, consistent for b, always first, a tie in both
    (consistent): PC 3/4, PF -1/4; a wins (1 + 2 x 1/2) / 4 = 1/2: no gap.
    """
    table = comparisons([[1, 2], [2, 1], [1, 1], [0, 0]], BOTH, input_length=[2, 4, 0, 2])
    (cell,) = cells_of(Judgments(table).arms[0]).to_dict("records")
    assert (cell["PC"], cell["PF"], cell["quality_gap"], cell["input_length"]) == (
        0.75,
        -0.25,
        0.0,
        2.0,
    )


@pytest.mark.papers(59)
def test_lengths_come_from_the_texts_that_the_store_keeps(tmp_path: Path) -> None:
    texts = {"instruction": ["12", "1234"], "response": ["x" * 9, "y" * 4]}
    kept = comparisons([[1, 2], [2, 1]], BOTH, task=["law", "maths"], unit_text=["u", "v"], **texts)
    without = comparisons([[1, 2], [1, 2]], BOTH, task=["law", "maths"], unit_text=["u", "v"])
    with Store.open(tmp_path / "lab.duckdb") as store:
        runs = [
            store.add_table(replace(table, run=name))
            for name, table in (("a", kept), ("b", without))
        ]
        read = [Judgments(store.table(run)) for run in runs]
    cells = cells_of(read[0].arms[0])
    assert cells[["input_length", "output_length"]].to_numpy().tolist() == [[2.0, 9.0], [4.0, 4.0]]
    assert cells_of(read[1].arms[0])["input_length"].isna().all()
    assert {row.why for row in what_goes_along(read[1].arms)} == {"few_cells"}


CSV_OF_LENGTHS = """judge,question_id,task,first,second,choice,{columns}
j,q1,law,a,b,A,{one}
j,q1,law,b,a,B,{two}
j,q2,maths,a,b,B,{three}
j,q2,maths,b,a,A,{three}
"""


@pytest.mark.thorough
@pytest.mark.papers(59)
@pytest.mark.parametrize(
    ("columns", "one", "two", "three", "expected"),
    [
        # Numbers stand for both orders of a comparison; an empty cell is no length.
        ("input_length,output_length", "7,30", "7,", "9,50", [(7.0, 30.0, NAN), (9.0, 50.0, NAN)]),
        ("prompt_length", "400", "400", "500", [(NAN, NAN, 400.0), (NAN, NAN, 500.0)]),
        # Questions of 4 and 6 characters; answers of a and b: 2 + 3, then 1 + 1 whatever is first.
        (
            "instruction,first_response,second_response",
            "why?,aa,bbb",
            "why?,bbb,aa",
            "whence,x,x",
            [(4.0, 5.0, NAN), (6.0, 2.0, NAN)],
        ),
        # A number counts before a text.
        (
            "instruction,input_length",
            "why?,7",
            "why?,7",
            "whence,9",
            [(7, NAN, NAN), (9, NAN, NAN)],
        ),
    ],
)
def test_an_imported_file_gives_its_lengths_to_the_factors(
    tmp_path: Path, columns: str, one: str, two: str, three: str, expected: list[Any]
) -> None:
    """As it is read, after it was kept in a store, and after a bundle went to another store."""
    path = tmp_path / "pairs.csv"
    path.write_text(CSV_OF_LENGTHS.format(columns=columns, one=one, two=two, three=three), "utf-8")
    made = read_judgments(read_table(path))
    with Store.open(tmp_path / "lab.duckdb") as store, Store.open(tmp_path / "b.duckdb") as other:
        kept = store.table(store.add_table(made))
        (tmp_path / "run.zip").write_bytes(bundle_bytes(kept, store, kept.run))
        again = other.table(import_bundle(other, tmp_path / "run.zip"))
    for table in (made, kept, again):
        cells = cells_of(Judgments(table).arms[0]).reindex(columns=LENGTHS).astype(float)
        np.testing.assert_array_equal(cells.to_numpy(), np.array(expected, dtype=float))


def test_a_length_that_is_none_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    text = CSV_OF_LENGTHS.format(columns="input_length", one="7", two="7", three="long")
    path.write_text(text, "utf-8")
    with pytest.raises(LabError, match="“long” is not a length: a number from 0"):
        read_judgments(read_table(path))
    path.write_text(text.replace("long", "-1"), "utf-8")
    with pytest.raises(LabError, match="is not a length"):
        read_judgments(read_table(path))


STUDY_OF_PAIRS = """
[[data]]
file = "answers.csv"
[design]
reorder = "pairs"
[[judges]]
name = "j"
kind = "simulated"
"""
ANSWERS = """item_id,prompt,candidate,instruction,response
1,q1,a,why?,aa
2,q1,b,why?,bbb
3,q1,c,why?,ccccc
4,q2,b,whence,b
5,q2,c,whence,cc
"""


@pytest.mark.papers(59)
def test_a_run_of_the_lab_counts_all_answers_of_a_comparison(tmp_path: Path) -> None:
    """a, b, c have 2, 3, 5 characters on the first question, b and c 1 and 2 on the second."""
    (tmp_path / "answers.csv").write_text(ANSWERS, "utf-8")
    (tmp_path / "study.toml").write_text(STUDY_OF_PAIRS, "utf-8")
    items = run(tmp_path / "study.toml", tmp_path / "lab.duckdb").table.items
    lengths = {
        (row.prompt, row.candidate): (row.input_length, row.output_length)
        for row in items.itertuples()
    }
    assert lengths == {
        ("q1", "a|b"): (4, 2 + 3),
        ("q1", "a|c"): (4, 2 + 5),
        ("q1", "b|c"): (4, 3 + 5),
        ("q2", "b|c"): (6, 1 + 2),
    }


@pytest.mark.papers(57)
def test_the_baseline_can_be_chosen_and_all_tasks_have_a_difference() -> None:
    """Two tasks of two pairs. j0 is consistent in all, j1 in the first task alone, j2 in none."""
    steady, moved = [1, 2], [1, 1]
    tasks = {"task": ["code", "code", "mail", "mail"]}
    judged = several([steady] * 4, [steady, steady, moved, moved], [moved] * 4, **tasks)
    for baseline, expected in (
        ("", {"j1": -0.5, "j2": -1.0}),
        ("j1", {"j0": 0.5, "j2": -0.5}),
        ("nobody", {"j1": -0.5, "j2": -1.0}),
    ):
        found = Findings(Judgments(judged), ReadingPart(baseline=baseline))
        whole = {
            found.conditions[row.condition].judge: row.value
            for row in found.select("pc_difference")
            if "task" not in row.of
        }
        assert whole == expected
        against = {
            found.conditions[row.of["against"]].judge for row in found.select("pf_difference")
        }
        assert against == {baseline if baseline == "j1" else "j0"}
    # Of j2, the first position wins both calls of each pair: PF -1, of j0 0.
    found = findings(judged)
    (apart,) = [row for row in found.select("pf_difference", condition=2) if "task" not in row.of]
    assert apart.value == -1.0


@pytest.mark.papers(51)
def test_the_parabola_of_all_judges_by_hand() -> None:
    """Two judges, a against b, c and d, two comparisons each. Both: a wins over b and loses to d,
    in every order. On c the first judge says tie twice in one comparison, and always the first in
    the other (PC 1/2); the second judge says the first in both (PC 0). Win rates 0, 1/2 and 1:
    y = 1/2 + 2 z^2 and y = 4 z^2. Together y = 1/4 + 3 z^2 goes through the means.
    """
    a_wins, a_loses, tie, first = [1, 2], [2, 1], [0, 0], [1, 1]
    names = [("a", other) for other in "bbccdd"]
    judges = [[a_wins] * 2 + on_c + [a_loses] * 2 for on_c in ([tie, first], [first, first])]
    tables = [comparisons(won, BOTH, judge=f"j{k}", names=names) for k, won in enumerate(judges)]
    found = findings(beside(*tables))
    for code, expected in ((0, (0.5, 0.0, 2.0)), (1, (0.0, 0.0, 4.0))):
        own = [row.value for row in found.select("parabola", condition=code, outcome="PC")]
        assert own == pytest.approx(expected, abs=1e-9)
    rows = found.select("parabola_of_all", outcome="PC")
    assert [row.value for row in rows] == pytest.approx((0.25, 0.0, 3.0), abs=1e-9)
    assert {(row.condition, row.counts["n"], row.counts["judges"]) for row in rows} == {(0, 6, 2)}
    # One judge has no parabola of all.
    assert not findings(tables[0]).select("parabola_of_all")


@pytest.mark.papers(51)
def test_chance_alone_is_flat_where_every_cell_is_as_consistent() -> None:
    """Whatever is dealt, PC is 1/2 everywhere: level 1/2, no slope, no bend."""
    rng = np.random.default_rng(5)
    each, zero = np.arange(40), np.zeros(40, dtype=np.int64)
    parsed, consistent = np.full(40, 40.0), np.full(40, 20.0)
    first = rng.integers(0, 21, 40).astype(float)
    won = np.stack([first + 10, 20 - first + 10], axis=1)
    cells = stats.Cells(consistent, parsed, won, np.zeros(40), stats.Points(each, zero, each, zero))
    fit, _ = stats.parabolas([cells])
    assert fit.by_chance == pytest.approx((0.5, 0.0, 0.0), abs=1e-9)


@pytest.mark.papers(50)
def test_the_slope_over_judges_has_the_interval_of_least_squares() -> None:
    """Beside scipy's linregress: slope, its standard error, t with judges - 2 degrees."""
    steady, first, second = [1, 2], [1, 1], [2, 2]
    judges = [
        [steady] * 4,
        [steady, steady, steady, first],
        [steady, steady, first, first],
        [first, first, second, steady],
    ]
    found = findings(several(*judges, names=("j0", "j1", "j2", "j3")))
    consistency = [only(found, "pc", code).value for code in range(4)]
    unfairness = [abs(only(found, "pf", code).value) for code in range(4)]
    expected = linregress(consistency, unfairness)
    reach = student.ppf(0.975, 2) * expected.stderr
    row = only(found, "pf_on_pc", term="slope")
    assert row.value == pytest.approx(expected.slope)
    assert row.interval == pytest.approx((expected.slope - reach, expected.slope + reach))
    assert not row.why


@pytest.mark.papers(51)
def test_candidates_of_lists_have_win_rates_by_cell() -> None:
    """Three candidates, three orders: where a wins every order its rate is 1; where each position
    wins once, no winner is the same, and each has a third.
    """
    orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    always_a, always_first = [1, 3, 2], [1, 1, 1]
    found = findings(comparisons([always_a, always_first], orders, task=["code", "mail"]))
    rates = {
        (row.of["task"], row.of["candidate"]): row.value for row in found.select("cell_win_rate")
    }
    assert rates["code", "a"] == 1.0
    assert rates["code", "b"] == rates["code", "c"] == 0.0
    assert [rates["mail", name] for name in "abc"] == pytest.approx([1 / 3] * 3)
    assert {row.of["set"] for row in found.select("cell_win_rate")} == {"a|b|c"}
