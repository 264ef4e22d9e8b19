"""Two conditions or runs held against each other, and rows against limits: with words that their
intervals carry.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.core.differences import Pair, differences, paired
from rubriclab.core.drift import Drift, drift
from rubriclab.core.judgments import Judgments
from rubriclab.core.operations import Checked, check, derived, limit_of, same_rules, worst
from rubriclab.core.topic import REASONS, Findings
from rubriclab.exports.gate_lines import derived_line
from rubriclab.model.judgment import RULES, JudgmentTable
from rubriclab.model.study import Smallest
from rubriclab.model.text import LabError
from tests.tables import ORDERS, choose, comparisons, findings, only, options
from tests.words import made


def noisy(strength: float, seed: int) -> made.Rule:
    """The first option with that probability, else near the item's own score."""
    rng = np.random.default_rng(seed)

    def rule(item: int, shown: tuple[int, ...], repeat: int) -> int:  # noqa: ARG001
        own = round(1 + item % 3 + rng.normal(0, 0.3))
        return int(shown[0]) if rng.random() < strength else min(3, max(1, own))

    return rule


def held(a: made.Rule, b: made.Rule, items: int = 120, **more: str) -> Pair:
    both = findings(replace(made.options_table({"a": a, "b": b}, items=items), **more))
    return paired(both, 0, both, 1)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("a", "b", "items", "words"),
    [
        (made.always_first, made.by_quality, 40, ["effect"] * 3),
        (noisy(0.5, 1), noisy(0.1, 2), 120, ["effect"] * 3),
        (noisy(0.3, 3), noisy(0.3, 4), 480, ["equivalent"] * 3),
        (noisy(0.3, 5), noisy(0.3, 6), 15, ["undecided"] * 3),
        (made.by_quality, made.by_quality, 15, ["undecided"] * 3),
        (made.by_quality, made.by_quality, 120, ["equivalent"] * 3),
    ],
)
def test_words_are_those_of_the_intervals(
    a: made.Rule, b: made.Rule, items: int, words: list[str]
) -> None:
    pair = held(a, b, items)
    rows = differences(pair)
    for row in rows:  # the number told is the one that may differ most, or that does
        if row.verdict == "undecided":
            ends = max(map(abs, row.interval))
            assert row.counts["most"] == pytest.approx(ends) or row.counts["most"] > 2 * ends
    assert [row.verdict for row in rows] == words
    for row in rows:
        low, high = row.interval
        assert row.value == pytest.approx(row.counts["a"] - row.counts["b"])
        assert low < high  # also where no unit differs from another: those not met might
        assert (row.verdict == "effect") <= (low > 0 or high < 0)
        assert (row.counts["most"] < row.smallest) == (row.verdict == "equivalent")
    back = differences(paired(pair.findings[1], 1, pair.findings[0], 0))
    assert [row.value for row in back] == pytest.approx([-row.value for row in rows])


def part(items: slice, name: str = "a") -> JudgmentTable:
    """A run that judged a part of sixty answers, in an order of its own."""
    table = made.options_table({name: noisy(0.4, 5)}, items=60)
    kept = table.items.index[items]
    rows = table.rows[table.rows["item"].isin(kept)]
    code = dict(zip(kept, range(len(kept)), strict=True))
    return replace(
        table,
        items=table.items.loc[kept].reset_index(drop=True),
        planned=(len(rows),),
        rows=rows.assign(item=rows["item"].map(code)).reset_index(drop=True),
    )


def test_only_what_both_judged_counts_whatever_the_runs_call_it() -> None:
    pair = paired(findings(part(slice(0, 40))), 0, findings(part(slice(59, 19, -1), "b")), 0)
    assert pair.texts == 20
    alone = findings(part(slice(20, 40)))
    shares = [(row.value, row.interval) for row in alone.select("position_share")]
    assert [
        (row.value, row.interval) for row in pair.findings[0].select("position_share")
    ] == shares
    assert [row.value for row in differences(pair)] == pytest.approx(
        [0, 0, 0]
    )  # the same judgments
    whole = findings(part(slice(0, 60)))
    assert paired(whole, 0, whole, 0).findings[0] is whole  # nothing is computed again


def criteria() -> Findings:
    return findings(
        made.criteria_table(
            lambda text, slot, position: 2 + (text + slot) % 2 if position else 4, items=30
        )
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pair", "why"),
    [
        (
            lambda: paired(findings(part(slice(0, 20))), 0, findings(part(slice(20, 40))), 0),
            "no_common",
        ),
        (lambda: paired(findings(part(slice(0, 20))), 0, criteria(), 0), "other_axis"),
        (lambda: held(made.always_first, made.by_quality, state="paused"), "unfinished"),
        (lambda: held(made.always_first, made.by_quality, items=5), "too_few_units"),
    ],
)
def test_where_nothing_can_be_said_no_word_is(pair: Callable[[], Pair], why: str) -> None:
    made_pair = pair()
    rows = differences(made_pair)
    assert {row.verdict for row in rows} <= {"", "undecided"}
    assert {row.why for row in rows} <= {why}
    assert made_pair.why in ("", why)
    assert rows or made_pair.why == "other_axis"


@pytest.mark.thorough
def test_a_comparison_across_axes_says_how_to_ask_instead() -> None:
    pair = paired(findings(part(slice(0, 20))), 0, criteria(), 0)
    assert "ask with [design] alone = true" in REASONS[pair.why]


def test_criteria_are_held_against_each_other_by_first_and_last() -> None:
    rows = differences(paired(criteria(), 0, criteria(), 0))
    assert [row.measure for row in rows] == ["first_minus_last", "turn", "order_excess"]


# --------------------------------------------------------------------------- Drift between two runs
PAIR = np.array([[1, 2], [2, 1]])
TWICE = np.tile(np.arange(10), 2)


def between(before: JudgmentTable, after: JudgmentTable) -> Drift:
    return drift(Judgments(before, "auto").arms, Judgments(after, "auto").arms, Smallest())


def test_the_gate_exchanges_units_exactly() -> None:
    """Six items whose score rises by one in both orders: of 2^6 exchanges only none and all are as
    far.
    """
    made = between(options(np.ones((6, 2)), PAIR), options(np.full((6, 2), 2.0), PAIR))
    assert (made.gate.p, made.gate.deals, made.gate.exact) == (2 / 64, 64, True)
    level = made.questions["level"]
    assert (level.value, level.word, level.why) == (1.0, "undecided", "too_few_units"), (
        "six units have no interval"
    )


@pytest.mark.parametrize(("risen", "word"), [(5, "undecided"), (6, "effect")])
def test_no_change_is_claimed_behind_a_closed_gate(risen: int, word: str) -> None:
    """Of eight items some score one point higher in both orders; the t test alone would reject."""
    after = np.ones((8, 2))
    after[:risen] = 2.0
    made = between(options(np.ones((8, 2)), PAIR), options(after, PAIR))
    # Of the 2^5 exchanges of five items only none and all are as far: 2 / 32 is above 0.05.
    assert made.gate.p == 2 / 2**risen
    level = made.questions["level"]
    assert level.value == risen / 8
    # Holm's rule over level and order: even twice the p is below 0.05.
    assert 2 * level.p < 0.05
    assert level.word == word


@pytest.mark.parametrize("way", [1, -1])
def test_a_change_has_an_interval_on_its_own_side_of_0(way: int) -> None:
    """All twelve items move by a quarter of a point: with no spread, only a bound is known."""
    orders = np.tile(PAIR, (2, 1))
    low, high = options([[1, 1, 1, 1]] * 12, orders), options([[1, 1, 1, 2]] * 12, orders)
    level = between(*((low, high) if way > 0 else (high, low))).questions["level"]
    assert (level.word, level.value) == ("effect", way / 4)
    assert min(way * level.low, way * level.high) == 0


@pytest.mark.parametrize("question", ["level", "order", "noise"])
def test_what_changed_is_told_and_nothing_else(question: str) -> None:
    rng = np.random.default_rng(5)
    shown = np.tile(ORDERS, (2, 1))
    quality = rng.normal(3, 1, (40, 1, 1))

    def judged(level: float = 0.0, order: float = 0.0, noise: float = 0.4) -> JudgmentTable:
        utility = -0.5 * (shown - quality - level) ** 2 + order * (np.arange(5) == 0)
        chosen = (utility + noise * rng.gumbel(size=utility.shape)).argmax(axis=2)
        return options(shown[np.arange(20), chosen].astype(float), ORDERS, TWICE)

    made = between(
        judged(), judged(**{question: {"level": 1.0, "order": 1.5, "noise": 1.6}[question]})
    )
    assert made.word == "effect"
    told = made.questions[question]
    assert told.word == "effect"
    assert told.value > 0
    assert told.low <= told.value <= told.high
    if question == "level":
        assert told.value == pytest.approx(1.0, abs=0.3)
    if question == "order":
        assert told.position == 1
    assert between(judged(), judged()).word != "effect"


def test_the_same_answers_are_unchanged_and_what_one_run_alone_has_is_left_out() -> None:
    scores = np.random.default_rng(1).integers(1, 6, (12, 20)).astype(float)
    made = between(options(scores, ORDERS, TWICE), options(scores, ORDERS, TWICE))
    assert (made.identical, made.word, made.gate.p) == (True, "equivalent", 1.0)
    one_more = scores.copy()
    one_more[0, 0] = 1 + one_more[0, 0] % 5
    assert not between(options(scores, ORDERS, TWICE), options(one_more, ORDERS, TWICE)).identical
    scores = np.random.default_rng(2).integers(1, 6, (20, 10)).astype(float)
    fewer = between(options(scores, ORDERS), options(scores[:15, :5], ORDERS[:5]))
    assert fewer.units == 15
    assert fewer.questions["level"].value == pytest.approx(0.0, abs=1e-12), (
        "the five orders that both asked"
    )
    assert fewer.questions["noise"].why == "no_repeats"
    other = between(
        options(scores, ORDERS),
        options(scores + 0.0, ORDERS, unit_text=[f"other {k}" for k in range(20)]),
    )
    assert (other.word, other.questions["level"].why) == ("undecided", "nothing_shared")


def test_choices_have_no_level() -> None:
    first, second = np.ones((20, 2)), np.tile([1, 2], (20, 1))
    made = between(comparisons(first, PAIR - 1), comparisons(second, PAIR - 1))
    assert set(made.questions) == {"order", "noise"}
    assert (made.word, made.questions["order"].word) == ("effect", "effect")
    # All take the first, then all the better one: the first position's lean falls from 1/2 to 0.
    assert made.questions["order"].value == pytest.approx(-0.5)


# ---------------------------------------------------------------------- Limits checked against rows
FIRST = options(np.tile(ORDERS[:, 0], (30, 2)).astype(float), ORDERS, np.tile(np.arange(10), 2))
"""A judge that always takes the option listed first."""
FAIR = options(
    choose(np.random.default_rng(3), 60, ORDERS, repeats=2), ORDERS, np.tile(np.arange(10), 2)
)


def checked(found: Findings, *texts: str) -> list[Checked]:
    return check(found, [limit_of(text) for text in texts])


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("moves_mean=0.5", (-0.5, 0.5)),
        ("pearson=0.3..", (0.3, np.inf)),
        ("pearson = ..0.3", (-np.inf, 0.3)),
        ("position_share:1=0.1..0.3", (0.1, 0.3)),
        ("line=-1..-0.5", (-1.0, -0.5)),
    ],
)
def test_a_limit_is_read_and_written_the_same(text: str, ends: tuple[float, float]) -> None:
    limit = limit_of(text)
    assert (limit.low, limit.high) == ends
    assert limit_of(str(limit)) == limit


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("favours_position=0.1", "Near it: favours_positions"),
        ("moves_mean", "is no limit"),
        ("moves_mean=x", "no number"),
        ("moves_mean=-1", "leaves no room"),
        ("moves_mean=nan", "leaves no room"),
        ("moves_mean=..", "leaves no room"),
        ("moves_mean=2..1", "leaves no room"),
        ("\x1b[31m=1", "is no limit"),
    ],
)
def test_what_is_no_limit_is_said(text: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        limit_of(text)


@pytest.mark.thorough
def test_planted_truth_passes_fails_and_cannot_be_told() -> None:
    biased, fair = findings(FIRST), findings(FAIR)
    assert [c.word for c in checked(biased, "favours_positions=0.2")] == ["fails"]
    assert [c.word for c in checked(fair, "favours_positions=0.2", "moves_mean=1")] == [
        "passes",
        "passes",
    ]
    (unsure,) = checked(fair, "favours_positions=0.01")
    assert (unsure.word, worst([unsure.word, "passes"]), worst([unsure.word, "fails"])) == (
        "unknown",
        "unknown",
        "fails",
    )
    shares = checked(biased, "position_share=0.15..0.25")
    assert [c.row.of["position"] for c in shares if c.row and c.word == "fails"][:1] == [1]
    assert len(shares) == 5
    assert [c.row.of["position"] for c in checked(biased, "position_share:1=..0.9") if c.row] == [1]
    found = findings(FAIR)
    assert only(found, "gate").p > 0.05
    (line,) = [c for c in checked(found, "line=5..6") if c.row and not c.row.of]
    assert (line.word, line.why) == ("unknown", "gate_closed")
    assert [
        c.why for c in checked(findings(replace(FIRST, state="paused")), "favours_positions=0.9")
    ] == ["unfinished"]
    assert [(c.word, c.why) for c in checked(findings(FIRST), "pc=0.5..")] == [
        ("unknown", "no_row")
    ]
    unparsed = np.where(ORDERS[:, 0] > 3, np.nan, 3.0)
    blocked = checked(findings(options(np.tile(unparsed, (30, 1)), ORDERS)), "moves_mean=0.9")
    assert [(c.word, c.why) for c in blocked] == [("unknown", "unparsed_by_order")]


def test_a_limit_is_about_the_interval_not_about_the_number() -> None:
    found = findings(FAIR)
    row = only(found, "moves_mean")
    low, high = row.interval
    assert low <= row.value < high
    between = (row.value + high) / 2
    assert [c.word for c in checked(found, f"moves_mean={between}")] == ["unknown"]
    assert [c.word for c in checked(found, f"moves_mean={high + 0.01}")] == ["passes"]


def test_derived_limits_lie_above_what_was_measured() -> None:
    found = findings(FAIR)
    limits = {part.limit.measure: part for part in derived(found, "judge")}
    assert set(limits) == {"favours_positions", "moves_mean", "changes_single"}
    for limit, row, can_fail in limits.values():
        assert can_fail
        assert limit.high >= max(row.interval[1], row.smallest) - 1e-9
        assert str(limit) == f"{limit.measure}={limit.high:.2g}"
    # The interval's upper half 1.92 times: 1 + 1.2816 sqrt(2) / 1.96.
    limit, row, _ = limits["favours_positions"]
    exact = row.value + 1.9247 * (row.interval[1] - row.value)
    assert exact <= limit.high <= 1.1 * exact or limit.high == pytest.approx(row.smallest)


def drawn_once(seed: int, items: int, first: float, *, fixed: bool) -> JudgmentTable:
    """Every order twice, of a judge that favours the first option; ``fixed``: one draw a prompt,
    the repeats its copies.
    """
    rng = np.random.default_rng(seed)
    score = choose(rng, items, ORDERS, first=first, repeats=1 if fixed else 2)
    score = np.concatenate([score, score], axis=1) if fixed else score
    return options(score, ORDERS, judge="fixed" if fixed else "noisy")


def test_a_judge_without_preference_does_not_depend_more_on_the_order() -> None:
    """Each prompt is one fixed draw: its single scores change with every prompt, so also with the
    order, but its own gate is closed. The gate of the judge that favours the first option is open,
    and says nothing of the other one.
    """
    biased, fixed = (
        findings(drawn_once(1, 60, 1.0, fixed=False)),
        findings(drawn_once(3, 60, 0.0, fixed=True)),
    )
    assert biased.gate_open(0)
    assert not fixed.gate_open(0)
    for a, b in ((biased, fixed), (fixed, biased)):
        rows = {row.counts["question"]: row for row in differences(paired(a, 0, b, 0))}
        single = rows["single"]
        assert single.counts["above_zero"], "the difference of numbers is there"
        assert (single.verdict, single.estimate.why) == ("undecided", "gate_of_more")
        assert rows["positions"].verdict == "effect", "which is true of the biased one"


def test_the_side_whose_gate_is_open_may_depend_more() -> None:
    strong, none = (
        findings(drawn_once(seed, 60, first, fixed=False)) for seed, first in ((1, 3.0), (2, 0.0))
    )
    for a, b, sign in ((strong, none, 1), (none, strong, -1)):
        rows = {row.counts["question"]: row for row in differences(paired(a, 0, b, 0))}
        assert (rows["single"].verdict, np.sign(rows["single"].value)) == ("effect", sign)


def two_judges() -> JudgmentTable:
    """An unbiased judge, and one that always takes the option listed first."""
    fair, first = FAIR, FIRST
    rows = pd.concat(
        [
            fair.rows,
            first.rows.assign(condition=1, call=first.rows["call"] + len(fair.rows)),
        ],
        ignore_index=True,
    )
    conditions = (fair.conditions[0], replace(first.conditions[0], judge="first"))
    return replace(fair, rows=rows, conditions=conditions)


def test_limits_are_derived_from_the_judge_s_own_rows_alone() -> None:
    found = findings(two_judges())
    alone = {str(part.limit) for part in derived(findings(FAIR), "judge")}
    assert {str(part.limit) for part in derived(found, "judge")} == alone
    # The other judge takes the first in all 600 calls: its limits are others.
    assert {str(part.limit) for part in derived(found, "first")}.isdisjoint(alone)
    limits = [part.limit for part in derived(found, "judge")]
    assert {part.word for part in check(found, limits, "judge")} == {"passes"}
    assert "fails" in {part.word for part in check(found, limits)}
    with pytest.raises(LabError, match=r"no judge “other”\. It has judge, first"):
        check(found, limits, "other")


def test_a_limit_that_no_judge_could_fail_is_refused() -> None:
    # All calls take the option listed first: its lean is 0.8, which is the most there is.
    biased = findings(FIRST)
    (limit,) = [part for part in derived(biased, "judge") if "positions" in part.limit.measure]
    assert (limit.limit.high, limit.can_fail) == (pytest.approx(0.8, abs=0.05), False)
    assert derived_line(limit).startswith("# ")
    assert "no judge could fail" in derived_line(limit)
    # What cannot fail does not: the most biased judge is not outside of it.
    assert [part.word for part in check(biased, [limit.limit])] != ["fails"]


def test_gates_of_other_rules_are_refused() -> None:
    same_rules(RULES, "The gate", "Derive it again.")
    with pytest.raises(LabError, match=rf"under rules {RULES - 1}; .* by rules {RULES}.* again"):
        same_rules(RULES - 1, "The gate", "Derive it again.")
    with pytest.raises(LabError, match="Update rubriclab"):
        same_rules(RULES + 1, "The gate", "Derive it again.")
    with pytest.raises(LabError, match="names “one” as its rules"):
        same_rules("one", "The gate", "Derive it again.")
