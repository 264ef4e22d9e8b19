"""One order each and soft preferences: public files' numbers, both orders thinned to one, what is not known."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rubriclab.datasets.pairs import read_pairs
from rubriclab.findings.comparison import comparison, comparison_sentence
from rubriclab.findings.comparison_effects import place_sentence
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.findings.leaderboard import leaderboard_sentence, leaderboards
from rubriclab.findings.plain import plain
from rubriclab.findings.topics import Findings, document
from rubriclab.judges.families import Leanings
from rubriclab.model import RunData
from rubriclab.runs.foreign import foreign_run
from rubriclab.stats.advantage import chosen, in_every_order, in_one_order

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}: the public logs are not here")


def pairs(rows: list[dict[str, object]]) -> RunData:
    return read_pairs(pd.DataFrame(rows).fillna("").astype(str), name="d")


def one(data: RunData) -> JudgeComparison:
    (judge,) = comparison(data, n_boot=10).judges
    return judge


# ------------------------------------------------------------------ AlpacaEval, from its own files

ALPACA = [
    # Stem, the difference, its naive two-sample standard error, n first, n second, where the wins are from.
    ("Mistral-7B-Instruct-v0.2", 0.0686, 0.0254, 407, 398, "choices"),
    ("gemini-pro", 0.0767, 0.0263, 401, 399, "choices"),
    ("FuseChat-Llama-3.2-1B-Instruct.weighted", -0.1309, 0.0275, 406, 399, "probabilities"),
]


def alpaca(stem: str) -> Iterator[dict[str, object]]:
    """The rows of a file of annotations: ``preference`` is 1 (baseline) to 2 (model)."""
    file = DATA / "alpaca_eval" / f"{stem}.annotations.json.gz"
    for record in json.loads(gzip.decompress(file.read_bytes())):
        if "referenced_models" in record:
            if not record["referenced_models"]:
                continue
            turned = record["referenced_models"]["m"] == "output_2"
        else:
            seed = f"is_switched_outputs{record['instruction']}0"
            turned = random.Random(seed).choices([False, True])[0]
        names = [record["generator_1"], record["generator_2"]]
        chars = [len(record["output_1"]), len(record["output_2"])]
        first, second = (1, 0) if turned else (0, 1)
        wins = None if record["preference"] is None else abs(record["preference"] - 1.0 - (0 if turned else 1))
        soft = stem.endswith("weighted")
        yield {
            "judge": record["annotator"],
            "question_id": record["instruction"],
            "task": record["dataset"],
            "first": names[first],
            "second": names[second],
            "choice": "N" if wins is None else "" if soft else "ACB"[[1.0, 0.5, 0.0].index(wins)],
            **({"p_first": repr(wins)} if soft else {}),
            "first_chars": chars[first],
            "second_chars": chars[second],
        }


@needs_data
@pytest.mark.parametrize(("stem", "value", "se", "first", "second", "source"), ALPACA)
def test_alpaca_eval_gives_the_numbers_of_its_files(
    stem: str, value: float, se: float, first: int, second: int, source: str
) -> None:
    data = pairs(list(alpaca(stem)))
    shown = document(Findings(data))["judges"][0]["first_place"]
    assert round(shown["value"], 4) == value
    assert shown["se"] == pytest.approx(se, abs=1e-4)
    assert shown["low"] < value < shown["high"]
    assert shown["low"] * shown["high"] > 0
    assert 0 < shown["p"] < 0.01
    assert (shown["n"], shown["design"], shown["source"]) == (first + second, "one random order", source)
    names = data.judgments["ordering"].map(lambda code: data.orderings[code].shown[0])
    assert sorted(names[data.judgments["position"] >= 0].value_counts()) == sorted((first, second))
    # The seed drew each question's order: nothing speaks against it in five tests.
    assert len(shown["drawn"]["tests"]) == 5
    assert min(shown["drawn"]["p_holm"]) > 0.05
    (board,) = leaderboards(data)
    rates = {row.candidate: (row.logged, row.corrected) for row in board.candidates}
    wins = [p for pair in zip(*rates.values(), strict=True) for p in [sum(pair)]]
    assert wins == pytest.approx([1.0, 1.0])


@needs_data
def test_the_weighted_annotator_has_its_choices_beside_it() -> None:
    first = one(pairs(list(alpaca(ALPACA[2][0])))).first_place
    assert first.by_choices is not None
    assert first.by_choices.estimate == pytest.approx(-0.1417, abs=1e-4)
    # Rao-Blackwell: the probabilities say it more sharply than the choices drawn from them.
    assert "from probabilities (by the choices -0.14)" in place_sentence("it", first, pairs=True)
    soft, hard = (effect.high - effect.low for effect in (first.effect, first.by_choices))
    assert soft < 0.9 * hard


# ------------------------------------------------------------------ both orders, thinned to one


def judgebench() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(positions (pairs, 2 orders), unit, set); a decision is written in the order shown."""
    file = DATA / "judgebench" / "arena_hard.claude-3-haiku-20240307.jsonl.gz"
    place = {"A>B": 1, "B>A": 2, "A=B": 0, None: -1}
    records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    positions = np.array([[place[j["decision"]] for j in r["judgments"]] for r in records])
    return positions, np.arange(len(records)), np.zeros(len(records), dtype=int)


def shi() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    frame = pd.read_csv(DATA / "shi" / "mtbench_gpt-3.5-turbo-1106_pairs.csv.gz", dtype=str)
    frame["position"] = frame["choice"].map({"A": 1, "B": 2, "C": 0, "N": -1})
    frame["pair"] = ["|".join(sorted(names)) for names in zip(frame["first"], frame["second"], strict=True)]
    frame["turned"] = np.where(frame["first"] > frame["second"], "yes", "no")
    wide = frame.pivot(index=["question_id", "task", "pair"], columns="turned", values="position").reset_index()
    unit, sets = (pd.factorize(wide[name])[0] for name in ("question_id", "pair"))
    return wide[["no", "yes"]].to_numpy(), unit, sets


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("load", "comparisons", "advantage"), [(judgebench, 257, 0.1673), (shi, 2384, -0.0493)])
def test_a_file_thinned_to_one_random_order_agrees_with_the_whole(
    load: Any, comparisons: int, advantage: float
) -> None:
    """Of 1,000 thinnings 0.99 and 1.00 held the whole file's number: they share its comparisons.

    Of 1,000 whose questions were drawn anew from the file, as the interval takes them to be, 0.964 and
    0.956.
    """
    positions, unit, sets = load()
    whole = (positions >= 0).all(axis=1)
    positions, unit, sets = positions[whole], unit[whole], sets[whole]
    truth = in_every_order(chosen(positions, 2), unit).advantage()[0]
    assert (len(positions), truth) == (comparisons, pytest.approx(advantage, abs=1e-4))
    rng, held, held_anew = np.random.default_rng(0), 0, 0
    questions = [np.flatnonzero(unit == code) for code in range(int(unit.max()) + 1)]
    questions = [rows for rows in questions if len(rows)]
    for _ in range(200):
        held += _holds(truth, positions, unit, sets, rng)
        drawn = rng.integers(0, len(questions), len(questions))
        rows = np.concatenate([questions[k] for k in drawn])
        anew = np.repeat(np.arange(len(drawn)), [len(questions[k]) for k in drawn])
        held_anew += _holds(truth, positions[rows], anew, sets[rows], rng)
    assert held >= 190
    assert 182 <= held_anew <= 198


def _holds(truth: float, positions: np.ndarray, unit: np.ndarray, sets: np.ndarray, rng: np.random.Generator) -> bool:
    """Does the interval of one random order each hold the number of both?"""
    turned = rng.integers(0, 2, len(positions))
    shown = np.stack([turned, 1 - turned], axis=1)
    wins = chosen(positions[np.arange(len(positions)), turned], 2)
    low, high = in_one_order(wins, shown, sets, unit).advantage()[1]
    return bool(low <= truth <= high)


@needs_data
def test_judgebench_wins_of_the_first_place_among_decided() -> None:
    positions, _, _ = judgebench()
    decided = positions[positions > 0]
    assert ((decided == 1).mean(), len(decided)) == (pytest.approx(0.6328, abs=1e-4), 335)
    whole = positions[(positions >= 0).all(axis=1)]
    consistent = (whole.sum(axis=1) == 3) | (whole == 0).all(axis=1)
    assert (len(whole), consistent.sum()) == (257, 135)


# ------------------------------------------------------------------ what stands in the document


def random_order(
    n: int, place: float, *, seed: int = 0, soft: bool = False, noise: float = 1.0
) -> list[dict[str, object]]:
    rng, rows = np.random.default_rng(seed), []
    for q in range(n):
        better = rng.normal(0.7, 1.0)
        first, second, edge = ("x", "base", better) if rng.random() < 0.5 else ("base", "x", -better)
        chance = 1.0 / (1.0 + np.exp(-(edge + place) / noise))
        row: dict[str, object] = {"judge": "j", "question_id": q, "first": first, "second": second}
        row["choice"] = "A" if rng.random() < chance else "B"
        rows.append(row | ({"p_first": chance} if soft else {}))
    return rows


def first_place(data: RunData) -> dict[str, Any]:
    shown: dict[str, Any] = document(Findings(data))["judges"][0]["first_place"]
    return json.loads(json.dumps(shown))  # type: ignore[no-any-return]


def both(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Every row, and the same candidate chosen in the other order for two of three."""
    turned = []
    for q, row in enumerate(rows):
        choice = {"A": "B", "B": "A"}[str(row["choice"])] if q % 3 else row["choice"]
        turned.append(row | {"first": row["second"], "second": row["first"], "choice": choice})
    return rows + turned


def test_the_document_names_the_design_whatever_the_data_allow() -> None:
    one_random, every = random_order(200, 0.8), both(random_order(60, 0.8))
    always = [row | {"first": "x", "second": "base"} for row in one_random]
    for rows, design, n in (
        (one_random, "one random order", 200),
        (every, "both orders", 60),
        (always, "one order", 0),
    ):
        shown = first_place(pairs(rows))
        assert {"value", "low", "high", "p", "n", "design", "effect", "places"} <= shown.keys()
        assert (shown["design"], shown["n"]) == (design, n)
        known = [shown[name] is not None for name in ("value", "low", "high", "p")]
        assert known == [n > 0] * 4
        assert shown["value"] == shown["effect"]["estimate"]


@pytest.mark.slow
def test_p_and_interval_are_one_answer() -> None:
    seen = set()
    for seed in range(8):
        for rows in (random_order(60, 0.6, seed=seed), both(random_order(40, 0.6, seed=seed))):
            shown = one(pairs(rows)).first_place
            out = not shown.effect.low <= 0.0 <= shown.effect.high
            assert (shown.test.p < 1.0 - shown.effect.confidence) == out
            seen.add(out)
    assert seen == {True, False}


def test_what_saw_nothing_has_no_p() -> None:
    unread = [row | {"choice": "N"} for row in random_order(30, 0.0)]
    few = random_order(6, 0.0)
    for rows in (unread, few):
        judge = one(pairs(rows))
        assert np.isnan(judge.first_place.test.p)
        assert np.isnan(judge.pf_test.p)
        said = comparison_sentence(judge) + " ".join(judge.warnings) + judge.pf_test.note
        assert "no question leans" not in said
    assert "cannot be read" in one(pairs(unread)).first_place.effect.why


def sorted_by_name(prompts: int, seed: int, names: str = "abcd") -> list[dict[str, object]]:
    """All pairs of candidates, always in the order of their names; the earlier is better, and its judge, which does
    not look at the place, says so nine times of ten however far they are apart."""
    rng = np.random.default_rng(seed)
    shown = [(one, two) for one in names for two in names if one < two]
    return [
        {"judge": "j", "question_id": q, "first": one, "second": two, "choice": "AB"[int(rng.random() > 0.9)]}
        for q in range(prompts)
        for one, two in shown
    ]


@pytest.mark.slow
def test_candidates_that_always_stood_in_one_order_tell_nothing_of_the_place() -> None:
    """By the form of a Bradley-Terry model alone its place would be accused: 0.9 however far they are apart."""
    for prompts in (8, 12, 30):
        for seed in range(5):
            shown = one(pairs(sorted_by_name(prompts, seed))).first_place
            assert (shown.effect.verdict, shown.comparisons) == ("undecided", 0)
            assert "no candidates were shown in more than one order" in shown.effect.why or "dealt" in shown.effect.why


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "leanings", "most", "least"), [(0.0, "none", 4, 0), (1.6, "own", 60, 40)])
def test_a_choice_that_changes_is_held_against_the_order_that_was_asked_twice(
    strength: float, leanings: Leanings, most: int, least: int
) -> None:
    found = []
    for seed in range(60):
        data = foreign_run(
            "latent trait", "pairs, one order twice", items=60, strength=strength, leanings=leanings, seed=seed
        )
        (judge,) = [judge for judge in comparison(data, n_boot=10).judges if judge.strategy == "balanced"]
        excess = judge.order_excess
        assert (excess.source, excess.comparisons) == ("fixed", 60)
        assert excess.effect.verdict != "equivalent"
        assert "asked the same again (in the fixed arm)" in comparison_sentence(judge)
        found.append(excess.effect.verdict == "effect")
    assert least <= sum(found) <= most


def test_an_open_verdict_on_a_list_names_the_place_that_is_sure() -> None:
    """A judge that nearly always takes the second of four: first and last win alike, and that alone was said."""
    rng, rows = np.random.default_rng(0), []
    for q in range(20):
        for turn in range(4):
            shown = [f"c{(k + turn) % 4}" for k in range(4)]
            taken = 1 if rng.random() < 0.9 else int(rng.integers(4))
            rows.append({"judge": "j", "question_id": q, "order": "|".join(shown), "winner": shown[taken]})
    judge = one(pairs(rows))
    assert judge.first_place.effect.verdict == "undecided"
    assert "but place 2 wins +0." in comparison_sentence(judge)


# ------------------------------------------------------------------ soft preferences


@pytest.mark.slow
def test_probabilities_say_the_same_as_many_choices_and_more_sharply() -> None:
    soft = one(pairs(random_order(400, 0.6, soft=True))).first_place
    assert (soft.source, soft.design) == ("probabilities", "one random order")
    hard = [one(pairs(random_order(400, 0.6, seed=seed))).first_place.effect for seed in range(8)]
    assert soft.effect.estimate == pytest.approx(np.mean([one.estimate for one in hard]), abs=0.05)
    assert soft.effect.high - soft.effect.low < 0.7 * (hard[0].high - hard[0].low)
    assert soft.by_choices is not None
    assert soft.by_choices.estimate == pytest.approx(hard[0].estimate)


def test_by_hand_probabilities_in_both_orders() -> None:
    """First wins 0.9 and 0.4 of one, 0.6 and 0.6 of the other pair: 2.5 - 1.5 of four readings."""
    rows = [
        {"judge": "j", "question_id": q, "first": a, "second": b, "choice": "", "p_first": p}
        for q, (there, back) in enumerate([(0.9, 0.4), (0.6, 0.6)])
        for a, b, p in (("x", "y", there), ("y", "x", back))
    ]
    judge = one(pairs(rows))
    assert judge.first_place.effect.estimate == pytest.approx((2.5 - 1.5) / 4)
    assert judge.first_place.by_choices is not None
    assert judge.first_place.by_choices.estimate == pytest.approx((3 - 1) / 4)
    assert [place.share for place in judge.first_place.places] == pytest.approx([0.625, 0.375])


def test_a_call_without_a_probability_counts_by_its_choice_and_a_few_with_one_by_theirs() -> None:
    rows = random_order(100, 0.6, soft=True)
    some = [row | {"p_first": ""} if q % 10 == 0 else row for q, row in enumerate(rows)]
    assert one(pairs(some)).first_place.source == "probabilities"
    assert one(pairs(some)).first_place.comparisons == 100
    few = [row if q % 10 == 0 else row | {"p_first": ""} for q, row in enumerate(rows)]
    judge = one(pairs(few)).first_place
    assert (judge.source, judge.by_choices) == ("choices", None)


# ------------------------------------------------------------------ not drawn, or never turned round


def test_an_order_that_follows_the_length_gives_no_value_and_says_what_would() -> None:
    rng, rows = np.random.default_rng(0), random_order(120, 0.0)
    for row in rows:
        short, long = sorted(rng.integers(100, 900, 2).tolist())
        row |= {"first_chars": long, "second_chars": short}
    judge = one(pairs(rows))
    first = judge.first_place
    assert (first.design, first.comparisons, first.places) == ("one order", 0, ())
    assert np.isnan([first.effect.estimate, first.test.p]).all()
    assert "not dealt at random: the longer answer stands first too often" in first.effect.why
    assert "120 more calls, each comparison in its other order, would tell" in first.effect.why
    (board,) = leaderboards(pairs(rows))
    assert board.why == first.effect.why
    assert np.isnan([row.corrected for row in board.candidates]).all()
    assert "cannot be corrected" in leaderboard_sentence(board)


def test_the_calls_that_would_tell_are_those_that_are_missing() -> None:
    rows = [{"judge": "j", "question_id": q, "first": "x", "second": "y", "choice": "A"} for q in range(30)]
    turned = [{"judge": "j", "question_id": q, "first": "y", "second": "x", "choice": "A"} for q in range(5)]
    why = one(pairs(rows + turned)).first_place.effect.why
    assert "25 more calls" in why


# ------------------------------------------------------------------ the leaderboard


def board_rows(n: int, *, seed: int = 0) -> list[dict[str, object]]:
    """Three models against a baseline; the judge likes the first place, and ``lucky`` stood there
    in two of three calls (as where more of its calls in one order could be read)."""
    rng, rows = np.random.default_rng(seed), []
    for q in range(n):
        for name, worth, first in (("good", 0.5, 0.5), ("fair", 0.0, 0.5), ("lucky", -0.1, 0.5)):
            turned = rng.random() < first
            edge = (worth if turned else -worth) + 0.8 + rng.logistic()
            choice = "A" if edge > 0 else "B"
            if name == "lucky" and not turned and rng.random() < 0.5:
                choice = "N"
            names = {"first": name, "second": "base"} if turned else {"first": "base", "second": name}
            rows.append({"judge": "j", "question_id": q, "choice": choice, **names})
    return rows


@pytest.mark.slow
def test_a_candidate_lucky_with_its_place_loses_the_rank_that_it_had() -> None:
    data = pairs(board_rows(1500))
    (board,) = leaderboards(data)
    assert (board.baseline, board.design, board.pairs) == ("base", "one random order", 3)
    rates = {one.candidate: one for one in board.candidates}
    assert rates["lucky"].logged_rank < rates["fair"].logged_rank  # type: ignore[operator]
    assert [rates[name].rank for name in ("good", "fair", "lucky", "base")] == [1, 2, 3, None]
    assert rates["lucky"].first == pytest.approx(2 / 3, abs=0.03)
    assert rates["lucky"].corrected == pytest.approx(_truth(-0.1), abs=0.03)
    (swap,) = board.swaps
    assert (swap.better, swap.worse) == ("fair", "lucky")
    assert swap.logged < 0 < swap.corrected
    assert swap.corrected_ci.low < swap.corrected < swap.corrected_ci.high
    assert "1 of 3 pairs of candidates changes rank" in leaderboard_sentence(board)
    shown = document(Findings(data))["leaderboards"][0]
    assert plain(board) == shown


def _truth(worth: float) -> float:
    def wins(edge: float) -> float:
        return float(1.0 / (1.0 + np.exp(-edge)))

    return (wins(worth + 0.8) + 1.0 - wins(-worth + 0.8)) / 2.0


def test_read_in_both_orders_the_rates_are_the_plain_means() -> None:
    rows = [
        {"judge": "j", "question_id": q, "first": a, "second": b, "choice": c}
        for q, choices in enumerate(("AB", "AA", "CC", "BA"))
        for (a, b), c in zip((("x", "y"), ("y", "x")), choices, strict=True)
    ]
    (board,) = leaderboards(pairs(rows))
    rates = {one.candidate: (one.logged, one.corrected) for one in board.candidates}
    # x wins both, one, ties both, none.
    assert rates == {"x": (0.5, 0.5), "y": (0.5, 0.5)}
    assert board.design == "both orders"
    assert board.swaps == ()
    assert "both orders" in leaderboard_sentence(board)


def test_pairs_that_met_too_seldom_take_the_model_and_say_so() -> None:
    rng, rows = np.random.default_rng(0), []
    for q in range(300):
        a, b = rng.choice(20, 2, replace=False).tolist()
        choice = "A" if (b - a) / 8 + 0.7 + rng.logistic() > 0 else "B"
        rows.append({"judge": "j", "question_id": q, "first": f"m{a}", "second": f"m{b}", "choice": choice})
    judge = one(pairs(rows))
    assert judge.first_place.modelled > 200
    assert judge.first_place.left_out == 0
    assert judge.first_place.effect.estimate == pytest.approx(0.22, abs=0.12)
    assert any("Bradley-Terry" in text for text in judge.warnings)
    (board,) = leaderboards(pairs(rows))
    assert (board.modelled, board.model) == (
        judge.first_place.modelled,
        "Bradley-Terry with a term for the first place, ties as half",
    )


def test_nothing_judged_has_an_empty_leaderboard() -> None:
    data = pairs(random_order(5, 0.0))
    empty = RunData("r", "r", data.arms, data.items, data.orderings, data.judgments.iloc[:0])
    (board,) = leaderboards(empty)
    assert (board.candidates, board.swaps, board.design) == ((), (), "one order")
