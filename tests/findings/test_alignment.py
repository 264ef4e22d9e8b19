"""Agreement with humans from a run: denominators, JSON, planted differences, sweeps."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.alignment import ALIGNMENT, alignment, sweep
from rubriclab.findings.alignment_advice import budget_sentence
from rubriclab.findings.topic import Advice
from rubriclab.findings.topics import Findings, document
from rubriclab.model import STATUSES, Arm, Ordering, RunData, Variant
from rubriclab.report.text import as_text
from rubriclab.report.words import answers
from rubriclab.stats.inference import NO_INTERVAL, Interval

SCORES = (1, 2, 3, 4, 5)
ROTATIONS = [(*SCORES[k:], *SCORES[:k]) for k in range(5)]
CYCLES = tuple(ROTATIONS + [r[::-1] for r in ROTATIONS])


def make_run(
    arms: list[tuple[Arm, np.ndarray]],
    *,
    raters: np.ndarray | None = None,
    blocks: bool = False,
    expected: bool = False,
) -> RunData:
    """A run of 10 reads an item: ``arms`` pairs an arm with its scores (items, reads)."""
    n, reads = arms[0][1].shape
    raters = np.full((n, 0), np.nan) if raters is None else raters
    mean = raters.mean(axis=1) if raters.shape[1] else np.full(n, np.nan)
    items = pd.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n)],
            "dataset": "d",
            "criterion": "quality",
            "block": [f"b{i // 4}" for i in range(n)] if blocks else None,
            "prompt": None,
            "candidate": None,
            "task": None,
            "human": mean,
            "raters": [tuple(row) for row in raters],
        }
    )
    frames = []
    for code, (arm, scores) in enumerate(arms):
        ordering = np.tile(np.arange(reads) % 10 if arm.strategy == "balanced" else [0] * reads, n)
        flat = scores.ravel()
        shown = np.array(CYCLES)[ordering]
        position = np.where(np.isfinite(flat), (shown == flat[:, None]).argmax(axis=1) + 1, -1)
        frames.append(
            pd.DataFrame(
                {
                    "arm": code,
                    "item": np.repeat(np.arange(n), reads),
                    "ordering": ordering,
                    "read": np.tile(np.arange(reads), n),
                    "repeat": 0,
                    "call": np.arange(n * reads),
                    "status": np.where(np.isfinite(flat), 0, STATUSES.index("unparsed")),
                    "score": flat,
                    "position": position,
                    "expected": flat if expected else np.nan,
                    "mass": np.nan,
                }
            )
        )
    return RunData(
        run="r",
        name="r",
        arms=tuple(arm for arm, _ in arms),
        items=items,
        orderings=tuple(Ordering(o) for o in CYCLES),
        judgments=pd.concat(frames, ignore_index=True),
    )


def arm(strategy: str, **more) -> Arm:
    return Arm("j", "d", strategy, scores=SCORES, n_positions=5, **more)


def scores_of(truth: np.ndarray, noise: float, seed: int, reads: int = 10) -> np.ndarray:
    rng = np.random.default_rng(seed)
    raw = 3 + truth[:, None] + rng.normal(scale=noise, size=(len(truth), reads))
    return np.clip(np.round(raw), 1, 5)


@pytest.fixture
def truth() -> np.ndarray:
    return np.random.default_rng(0).normal(size=120)


@pytest.fixture
def raters(truth: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).normal(scale=0.8, size=(120, 3))
    return np.clip(np.round(3 + truth[:, None] + noise), 1, 5)


def test_an_item_with_an_unread_reply_stays_in(truth, raters) -> None:
    """One gap in ten reads used to drop the item: at 20 % unread 89 of 100."""
    scores = scores_of(truth, 1.0, 2)
    scores[3, 4] = np.nan
    raters = raters.copy()
    raters[7] = np.nan
    found = alignment(make_run([(arm("balanced"), scores)], raters=raters)).arms[0]
    keep = [i for i in range(120) if i != 7]
    r = np.corrcoef(np.nanmean(scores[keep], axis=1), raters[keep].mean(axis=1))[0, 1]
    assert found.pearson.r == pytest.approx(r, abs=1e-4)  # item 3 weighs a little less
    assert (found.n_items, found.excluded, found.no_human, found.unread) == (119, 1, 1, 0)
    assert (found.incomplete, found.missing, found.asked) == (1, 1, 1_190)
    assert found.pearson.ci.low < r < found.pearson.ci.high
    assert found.sensitivity is None
    scores[3] = np.nan
    found = alignment(make_run([(arm("balanced"), scores)], raters=raters)).arms[0]
    assert (found.n_items, found.excluded, found.unread) == (118, 2, 1)
    assert any("none of its reads" in w for w in found.warnings)
    assert found.expected is None


def test_blocks_are_resampled_where_they_exist(truth, raters) -> None:
    scores = scores_of(truth, 1.0, 2)
    found = alignment(make_run([(arm("balanced"), scores)], raters=raters, blocks=True)).arms[0]
    assert (found.resampled, found.n_units) == ("block", 30)


def test_expected_scores_have_their_own_r(truth, raters) -> None:
    run = make_run([(arm("balanced"), scores_of(truth, 1.0, 2))], raters=raters, expected=True)
    found = alignment(run).arms[0]
    assert found.expected is not None
    assert found.expected.r == pytest.approx(found.pearson.r)


def test_order_of_rows_does_not_matter(truth, raters) -> None:
    run = make_run([(arm("balanced"), scores_of(truth, 1.0, 2))], raters=raters)
    shuffled = RunData(
        **{
            **{f: getattr(run, f) for f in ("run", "name", "arms", "items", "orderings")},
            "judgments": run.judgments.sample(frac=1, random_state=1).reset_index(drop=True),
        }
    )
    one, two = alignment(run).arms[0], alignment(shuffled).arms[0]
    assert (one.pearson, one.spearman, one.budget) == (two.pearson, two.spearman, two.budget)
    ranks = [{o.ordering: o.rank for o in found.ordering_rank} for found in (one, two)]
    assert ranks[0] == ranks[1]


def test_a_better_strategy_is_found_and_equal_ones_are_not(truth, raters) -> None:
    run = make_run(
        [
            (arm("fixed"), scores_of(truth, 4.0, 3)),
            (arm("balanced"), scores_of(truth, 0.7, 4)),
            (arm("random"), scores_of(truth, 0.7, 5)),
        ],
        raters=raters,
    )
    result = alignment(run)
    by_pair = {(c.a, c.b): c for c in result.comparisons}
    assert set(by_pair) == {("balanced", "fixed"), ("balanced", "random"), ("fixed", "random")}
    better, same = by_pair["balanced", "fixed"], by_pair["balanced", "random"]
    assert better.ci.low > 0
    assert better.p_holm < 0.05
    assert same.ci.low < 0 < same.ci.high
    first, second = result.arms[1], result.arms[0]
    assert better.delta_r == pytest.approx(first.pearson.r - second.pearson.r)


def test_comparison_with_gaps_takes_the_shared_items(truth, raters) -> None:
    a, b = scores_of(truth, 1.0, 2), scores_of(truth, 1.0, 3)
    a[0] = b[1] = np.nan
    found = alignment(make_run([(arm("balanced"), a), (arm("fixed"), b)], raters=raters))
    only = found.comparisons[0]
    y = raters.mean(axis=1)
    delta = np.corrcoef(a[2:].mean(axis=1), y[2:])[0, 1] - np.corrcoef(b[2:].mean(axis=1), y[2:])[0, 1]
    assert only.delta_r == pytest.approx(delta)
    assert (only.n_items, only.excluded) == (118, 2)
    assert only.ci.low < delta < only.ci.high


def test_unequal_budgets_are_said(truth, raters) -> None:
    fixed = scores_of(truth, 1.0, 3)
    run = make_run([(arm("balanced"), scores_of(truth, 1.0, 2)), (arm("fixed"), fixed)], raters=raters)
    keep = ~((run.judgments["arm"] == 1) & (run.judgments["read"] >= 5))
    cut = RunData(run.run, run.name, run.arms, run.items, run.orderings, run.judgments[keep])
    only = alignment(cut).comparisons[0]
    assert (only.reads_a, only.reads_b) == (10, 5)
    assert only.reads == 5
    assert "compared at 5 each" in only.warnings[0]


def test_ordering_rank_and_canonical(truth, raters) -> None:
    scores = scores_of(truth, 1.0, 2)
    scores[:, 0] = scores_of(truth, 0.05, 9)[:, 0]  # the canonical order is read best
    found = alignment(make_run([(arm("balanced"), scores)], raters=raters)).arms[0]
    assert len(found.ordering_rank) == 10
    assert found.ordering_rank[0].ordering == SCORES
    assert found.canonical_rank == 1
    y = raters.mean(axis=1)
    for entry in found.ordering_rank:
        column = scores[:, CYCLES.index(entry.ordering)]
        assert entry.r == pytest.approx(np.corrcoef(column, y)[0, 1])


def test_json_has_the_agreed_keys(truth, raters) -> None:
    run = make_run(
        [(arm("balanced"), scores_of(truth, 1.0, 2)), (arm("fixed"), scores_of(truth, 1.0, 3))], raters=raters
    )
    out = ALIGNMENT.document(alignment(run), run)
    one = out.arms[0]
    assert set(one) == {"alignment", "ordering_rank", "budget"}
    assert set(one["alignment"]) == {
        "n_items",
        "excluded",
        "pearson",
        "spearman",
        "raters",
        "ceiling",
        "more_reads",
        "against_humans",
        "reliability",
        "missing",
        "sensitivity",
        "warnings",
    }
    assert one["alignment"]["reliability"]["target"] == 0.9
    assert set(one["alignment"]["ceiling"]) == {"r", "ci", "reliability", "why"}
    assert set(one["alignment"]["pearson"]) == {"r", "ci"}
    assert len(one["alignment"]["spearman"]["ci"]) == 2
    assert set(one["alignment"]["raters"]) == {"alpha", "leave_one_out_r"}
    assert one["ordering_rank"][0]["ordering"] in [list(o) for o in CYCLES]
    assert set(one["ordering_rank"][0]) == {"ordering", "r", "ci", "rank", "rank_low", "rank_high"}
    assert [set(b) for b in one["budget"]] == [{"k", "mean_r", "low", "high"}] * 10
    assert set(out.beside["comparisons"][0]) == {
        "judge",
        "dataset",
        "a",
        "b",
        "delta_r",
        "ci",
        "n_items",
        "reads",
        "p",
        "p_holm",
        "orders",
    }


def test_without_humans_it_says_so(truth) -> None:
    found = alignment(make_run([(arm("balanced"), scores_of(truth, 1.0, 2))]))
    assert found.arms == ()
    assert "human" in found.warnings[0]


def test_degenerate_judges(truth, raters) -> None:
    constant = make_run([(arm("balanced"), np.full((120, 10), 3.0))], raters=raters)
    found = alignment(constant).arms[0]
    assert np.isnan(found.pearson.r)
    assert "same for every item" in found.warnings[-1]
    shown = ALIGNMENT.document(alignment(constant), constant).arms[0]
    assert shown["alignment"]["pearson"]["r"] is None
    silent = make_run([(arm("balanced"), np.full((120, 10), np.nan))], raters=raters)
    assert alignment(silent).arms[0].n_items == 0
    single = make_run([(arm("balanced"), scores_of(truth[:1], 1.0, 2))], raters=raters[:1])
    assert "Fewer than two items" in alignment(single).arms[0].warnings[0]


def test_sweep_has_a_line_a_strategy_and_a_point_a_level(truth, raters) -> None:
    levels = (0.0, 0.5, 1.0)
    arms = [
        (arm(s, variant=Variant((("temperature", t), ("ids", "arabic")))), scores_of(truth, 0.5 + t, 7))
        for t, s in product(levels, ("balanced", "fixed"))
    ]
    table = sweep(make_run(arms, raters=raters), "temperature")
    assert table.levels == levels
    assert len(table.points) == 6
    balanced = [p for p in table.points if p.strategy == "balanced"]
    assert [p.level for p in balanced] == list(levels)
    assert balanced[0].others == "ids=arabic"
    assert balanced[0].pearson.r > balanced[2].pearson.r
    # Fixed order: the position picked is the score given, so V is that of the scores.
    fixed = next(p for p in table.points if p.strategy == "fixed")
    counts = np.bincount(arms[1][1].ravel().astype(int), minlength=6)[1:]
    chi2 = ((counts - 240) ** 2 / 240).sum()
    assert fixed.cramers_v == pytest.approx(np.sqrt(chi2 / (1_200 * 4)))
    assert sweep(make_run(arms, raters=raters), "scale").warnings


def advised(run: RunData) -> dict[str, Advice]:
    return {line.question: line for line in ALIGNMENT.advice(alignment(run))}


def test_one_fixed_read_against_ten_is_compared_at_one(truth, raters) -> None:
    """No effect of the order: “closer to humans” was said in 24 of 25 such runs."""
    said = []
    for seed in range(12):
        fixed = scores_of(truth, 1.5, 100 + seed)
        fixed[:, 1:] = np.nan
        run = make_run([(arm("balanced"), scores_of(truth, 1.5, seed)), (arm("fixed"), fixed)], raters=raters)
        keep = ~((run.judgments["arm"] == 1) & (run.judgments["read"] >= 1))
        cut = RunData(run.run, run.name, run.arms, run.items, run.orderings, run.judgments[keep])
        result = alignment(cut)
        assert result.comparisons[0].reads == 1
        assert result.arms[0].pearson.r > result.arms[1].pearson.r + 0.03
        lines = advised(cut)
        said.append(lines["mitigation"].effect.verdict)
        more = lines["budget"].effect
        assert (more.verdict, more.unit) == ("effect", "r")
        assert more.estimate == pytest.approx(result.arms[0].pearson.r - result.arms[0].one_read)
    assert said.count("effect") <= 2


def test_more_reads_and_other_orders_are_two_gains(truth, raters) -> None:
    run = make_run(
        [(arm("fixed"), scores_of(truth, 4.0, 3)), (arm("balanced"), scores_of(truth, 0.7, 4))], raters=raters
    )
    lines = advised(run)
    orders = lines["mitigation"].effect
    assert (orders.verdict, orders.sesoi) == ("effect", 0.02)
    assert orders.estimate > 0
    assert lines["mitigation"].answer.startswith("Yes")
    assert not any(line.primary for line in lines.values())
    assert "reach a dependability of 0.9" in lines["budget"].answer


def test_reads_are_not_counted_out_where_few_units_say_little(truth, raters) -> None:
    """Before: "417 reads in fixed order reach a dependability of 0.9" of two prompts, without an interval."""
    arms = [(arm("fixed"), scores_of(truth, 4.0, 3))]
    (found,) = alignment(make_run(arms, raters=raters)).arms
    assert found.reliability is not None
    for ends, words in (
        (NO_INTERVAL, "cannot be said: too few units for an interval. Of these items one read in fixed order"),
        (Interval(1.0, float("inf")), "(9 or more) in fixed order reach a dependability of 0.9"),
    ):
        few = replace(found, reliability=found.reliability._replace(noise_ci=ends))
        assert words in budget_sentence(few)


def test_it_is_said_why_more_reads_cannot_be_counted_out(truth, raters) -> None:
    """Before, of one item read ten times: "Every item was read once"."""
    scores = scores_of(truth, 1.0, 3)
    one = alignment(make_run([(arm("balanced"), scores[:1])], raters=raters[:1])).arms[0]
    assert (one.n_items, one.reads) == (1, 10)
    assert "1 item with a rating and a score is too few" in budget_sentence(one)
    once = alignment(make_run([(arm("fixed"), scores[:, :1])], raters=raters)).arms[0]
    assert budget_sentence(once).endswith("every item was read once.")
    same = alignment(make_run([(arm("fixed"), np.full_like(scores, 3.0))], raters=raters)).arms[0]
    assert "all items have the same mean score" in budget_sentence(same)


def test_an_unfinished_run_gives_no_verdict(truth, raters) -> None:
    run = make_run(
        [(arm("fixed"), scores_of(truth, 4.0, 3)), (arm("balanced"), scores_of(truth, 0.7, 4))], raters=raters
    )
    half = replace(run, planned=(2_400, 1_200))
    assert {line.effect.verdict for line in advised(half).values()} == {"undecided"}


def test_enough_reads_do_not_hang_on_how_many_there_are(truth, raters) -> None:
    """“8 orders are enough” was said of ten whatever the noise."""
    for noise, fewest, most in ((0.3, 1, 3), (2.0, 12, 80)):
        run = make_run([(arm("balanced"), scores_of(truth, noise, 3))], raters=raters)
        sure = alignment(run).arms[0].reliability
        assert sure is not None
        assert fewest <= sure.needed()[0] <= most


def test_a_judge_that_runs_against_people_is_said_first(truth, raters) -> None:
    """With its sign: r = -0.8 was “fine”."""
    run = make_run(
        [(arm("balanced"), scores_of(-truth, 0.7, 4)), (arm("fixed"), scores_of(-truth, 0.7, 5))], raters=raters
    )
    found = Findings(run)
    (text,) = found.alarms()
    assert text.startswith("j · d runs against people: r = -0.")
    shown = document(found)
    assert shown["warnings"][0] == shown["alarms"][0] == text
    assert answers(found)[0].sentences[0] == text
    lines = as_text(shown).splitlines()
    assert lines[1] == f"WARNING: {text}"
    noise = make_run([(arm("balanced"), scores_of(0 * truth, 1.0, 4))], raters=raters)
    assert Findings(noise).alarms() == ()


def test_a_judge_of_noise_is_seldom_said_to_run_against_people() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for seed in range(30):
        nothing = np.zeros(40)
        rated = np.clip(np.round(3 + rng.normal(size=(40, 3))), 1, 5)
        run = make_run(
            [(arm("balanced"), scores_of(nothing, 1.0, seed)), (arm("fixed"), scores_of(nothing, 1.0, 900 + seed))],
            raters=rated,
        )
        wrong += any(one.against for one in alignment(run).arms)
    assert wrong <= 4


def test_equal_orders_keep_their_ranks_open(truth, raters) -> None:
    """“Rank 1 of 10” was said of ten orders that are all the same."""
    found = alignment(make_run([(arm("balanced"), scores_of(truth, 1.0, 2))], raters=raters)).arms[0]
    assert {(one.rank_low, one.rank_high) for one in found.ordering_rank} == {(1, 10)}
    assert found.ordering_rank[0].ci.low < found.ordering_rank[-1].r


def test_the_ceiling_is_what_a_perfect_judge_reaches(truth, raters) -> None:
    """“One rater against the others” is .6 to .7 here; the truth itself reaches more."""
    run = make_run([(arm("balanced"), scores_of(truth, 1.0, 2))], raters=raters)
    found = alignment(run).arms[0]
    perfect = np.corrcoef(truth, raters.mean(axis=1))[0, 1]
    assert found.ceiling is not None
    assert found.raters is not None
    assert found.ceiling.r == pytest.approx(perfect, abs=0.04)
    assert found.ceiling.r > found.raters.leave_one_out_r + 0.1
    assert found.ceiling.ci.low < perfect < found.ceiling.ci.high


def test_raters_that_contradict_each_other_leave_the_ceiling_unknown(truth) -> None:
    """“Ceiling r 0.000 [no interval]” stood beside a judge that agreed with their mean."""
    lean = truth + 0.3 * np.sin(np.arange(len(truth)))
    run = make_run([(arm("balanced"), scores_of(truth, 1.0, 2))], raters=np.column_stack([lean, 5.9 - 0.9 * truth]))
    found = alignment(run).arms[0].ceiling
    assert found is not None
    assert np.isnan(found.r)
    assert np.isnan(found.ci).all()
    assert "agree beyond chance" in found.why
    text = as_text(document(Findings(run)))
    assert "ceiling        unknown: the raters were not found to agree beyond chance" in text
    assert "r 0.000" not in text


def test_what_is_missing_is_allowed_for(truth, raters) -> None:
    scores = scores_of(truth, 1.0, 2)
    lost = np.random.default_rng(3).random(scores.shape) < np.where(truth < 0, 0.3, 0.02)[:, None]
    found = alignment(make_run([(arm("balanced"), np.where(lost, np.nan, scores))], raters=raters)).arms[0]
    whole = np.corrcoef(scores.mean(axis=1), raters.mean(axis=1))[0, 1]
    assert found.n_items >= 118
    assert found.pearson.r == pytest.approx(whole, abs=0.03)
    assert found.sensitivity is not None
    assert found.sensitivity.worst < found.pearson.r - 0.1
    assert any("went against the humans" in text for text in found.warnings)


def test_a_neighbour_changes_nothing(truth, raters) -> None:
    """p was corrected over all judges of a run, failed ones among them."""
    mine = [(arm("balanced"), scores_of(truth, 0.7, 4)), (arm("fixed"), scores_of(truth, 4.0, 3))]
    other = [(replace(a, judge="k"), np.full_like(scores, 3.0)) for a, scores in mine]
    alone = alignment(make_run(mine, raters=raters)).comparisons
    together = alignment(make_run([*mine, *other], raters=raters)).comparisons
    assert together[0] == alone[0]
