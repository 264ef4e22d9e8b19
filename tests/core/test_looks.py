"""Looks at a run that may stop early: plan, levels, gate, words that stay, unfinished batches."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import foreign
from rubriclab.core.batches import Looks, levels, planned_looks
from rubriclab.core.cells import Answers, of_items
from rubriclab.core.differences import differences, paired
from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import (
    Look,
    dealt_sums,
    directions_of,
    gates,
    look_by_look,
    looks_at,
)
from rubriclab.core.permutation import ALPHA, Directions, unparsed
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import Terms, decide
from rubriclab.model.judgment import JudgmentTable, Status
from rubriclab.model.looks import RunLooks, Scope, ScopeLooks, Stop, asking_rank, batch_of_rank
from rubriclab.model.looks import looks_at as units_at_looks
from rubriclab.model.study import Smallest
from tests.tables import (
    ORDERS,
    choices,
    choose,
    comparisons,
    criteria,
    in_forms,
    on_two_sets,
    options,
    responses,
)

SMALLEST = Smallest()
FORWARD = np.array([np.roll(np.arange(5), -shift) for shift in range(5)])
TEN_ORDERS = np.concatenate([FORWARD, FORWARD[:, ::-1]])
SLOTS = np.arange(20) % 10
"""Ten orders, each twice."""
SKEWED = foreign.option_answers(np.random.default_rng(5), 40, "skewed")
RANDOM_BATCH = np.searchsorted(
    planned_looks(40).units, np.random.default_rng(6).permutation(40), side="right"
)


def so_far(answers: Answers, batch: np.ndarray, looks: int) -> Iterator[tuple[Answers, np.ndarray]]:
    for number in range(looks):
        yield of_items(answers, batch <= number), batch[batch <= number]


def looks(
    answers: Answers,
    planned: int,
    batch: np.ndarray | None = None,
    *,
    batches: int | None = None,
    stop: Stop = "known",
) -> list[Look]:
    """The looks at items that are asked in their order, or in these batches."""
    plan = planned_looks(planned)
    if batch is None:
        batch = np.searchsorted(plan.units, np.arange(len(answers.unit)), side="right")
    steps = so_far(answers, batch, len(plan.units) if batches is None else batches)
    return [*look_by_look(steps, plan, SMALLEST, stop)]


def bits(look: Look) -> tuple[Any, ...]:
    """Everything a look says, to be compared to the last bit."""
    verdicts = look.verdicts
    return look.units, look.alpha, look.stops, repr(verdicts.gate), repr(verdicts.questions)


def ends(look: Look, question: str) -> Any:
    return pytest.approx(look.verdicts.questions[question].interval, abs=1e-6)


# ---------------------------------------------------------------------------------------- the plan
@pytest.mark.parametrize(
    ("units", "at"),
    [
        (8, (8,)),
        (18, (18,)),
        (19, (10, 19)),
        (20, (10, 20)),
        (39, (10, 20, 39)),
        (40, (10, 20, 40)),
        (100, (13, 25, 50, 100)),
        (300, (19, 38, 75, 150, 300)),
        (100_000, (6_250, 12_500, 25_000, 50_000, 100_000)),
    ],
)
def test_looks_are_at_all_units_and_at_halves(units: int, at: tuple[int, ...]) -> None:
    assert planned_looks(units).units == at


def test_levels_spend_what_is_planned() -> None:
    five = planned_looks(1_000)
    assert five.spent == pytest.approx(
        [0.00078125, 0.00220971, 0.00625, 0.01767767, 0.05], abs=1e-8
    )
    assert five.levels == pytest.approx([0.000781, 0.001588, 0.004532, 0.013195, 0.038867])
    assert planned_looks(40).levels == pytest.approx([0.00625, 0.013479, 0.039018])
    assert planned_looks(20).levels == pytest.approx([0.017678, 0.039768])
    assert planned_looks(18) == Looks((18,), (ALPHA,), (ALPHA,))


def test_two_equal_levels_are_those_of_pocock() -> None:
    """Pocock 1977, table 1: two looks that share 5% evenly are both at 0.0294."""
    assert levels((0.5, 1.0), (0.0294, 0.05)) == pytest.approx([0.0294, 0.0294], abs=1e-4)


# ---------------------------------------------------------------------------------------- the gate
@pytest.mark.parametrize(("seen", "p"), [(19, 0.05), (18, 0.1), (17, 0.15)])
def test_p_of_a_gate_over_two_looks_by_hand(seen: int, p: float) -> None:
    """Of 20 deals, one each has the sums 0 to 19 at the first look, and the second adds nothing.

    The largest opens at the first look (1 of 20 is 0.05), the second largest at the next (0.1).
    """
    first = np.zeros((20, 2))
    first[:, 0] = [seen, *(k for k in range(20) if k != seen)]
    by_look = gates([first, np.zeros((20, 2))], (0.05, 0.1), Directions(1, False, False))
    assert [gate.p for gate in by_look] == [p, p]
    assert [gate.open for gate in by_look] == [seen == 19, seen >= 18]


@pytest.mark.thorough
def test_no_more_deals_open_the_gate_than_may_be_spent() -> None:
    """Each of 400 deals in turn is taken for the observed one: 2.5, 7.07 and 20 may open by then.

    Deals that tie open together or not at all, so fewer may. Which ones do depends on the random
    numbers of each batch.
    """
    sums = [dealt_sums(of_items(SKEWED, k == RANDOM_BATCH), k, deals=399) for k in range(3)]
    plan, directions = planned_looks(40), directions_of(SKEWED)
    opened = np.array(
        [
            [
                gate.open
                for gate in gates(
                    [np.roll(part, -k, axis=0) for part in sums], plan.spent, directions
                )
            ]
            for k in range(400)
        ]
    )
    assert opened.sum(axis=0).tolist() == [1, 6, 20]
    assert (opened.sum(axis=0) <= 400 * np.array(plan.spent)).all()
    assert (np.diff(opened.astype(int), axis=1) >= 0).all(), "an open gate stays open"


# ------------------------------------------------------------------------------------ what is said
def case_e() -> Answers:
    """Forty items: the first option in every seventh call or so, else a score of the item's own."""
    item, call = np.arange(40)[:, None], np.arange(20)[None]
    first = TEN_ORDERS[np.broadcast_to(SLOTS, (40, 20)), 0]
    own = item % 3 + 1 + ((7 * item + 3 * call**2 + call) % 5 == 0)
    return choices(np.where((item**2 + 3 * call) % 7 == 0, first, own), SLOTS, TEN_ORDERS)


def test_a_run_stops_at_the_look_that_says_how_the_order_matters() -> None:
    first, second, last = looks(case_e(), 40)
    assert [look.stops for look in (first, second, last)] == [False, True, True]
    assert [look.verdicts.gate.p for look in (first, second, last)] == [0.0005] * 3
    assert {name: v.word for name, v in first.verdicts.questions.items()} == {
        "positions": "undecided",
        "mean": "undecided",
        "single": "effect",
    }
    assert ends(first, "positions") == (0, 0.704608)
    assert ends(second, "positions") == (0.087801, 0.166575)
    assert ends(second, "mean") == (0.034881, 0.636029)
    assert ends(second, "single") == (0.076657, 0.293091)
    assert ends(last, "positions") == (0.106131, 0.142083)
    assert ends(last, "mean") == (0.150166, 0.500538)


def test_the_same_calls_say_less_early_in_a_longer_run() -> None:
    second = looks(case_e(), 160, batches=2)[1]
    assert second.alpha == 0.001588
    words = {name: verdict.word for name, verdict in second.verdicts.questions.items()}
    assert words == {"positions": "effect", "mean": "undecided", "single": "effect"}
    assert ends(second, "positions") == (0.076285, 0.181125)


def test_a_judge_that_takes_the_first_option_is_known_at_the_first_look() -> None:
    first = np.broadcast_to(TEN_ORDERS[SLOTS, 0], (40, 20))
    look = looks(choices(first, SLOTS, TEN_ORDERS), 40)[0]
    assert (look.units, look.stops) == (10, True)
    assert ends(look, "positions") == (0.278296, 0.8)
    assert ends(look, "mean") == (0.795431, 4.0)


def test_a_constant_judge_is_never_known() -> None:
    """Its intervals end below what matters, but the verdict is withheld: see core/fairness.py."""
    constant = looks(choices(np.full((100, 20), 2), SLOTS, TEN_ORDERS), 100)
    assert [look.stops for look in constant] == [False] * 4
    assert ends(constant[-1], "positions") == (0, 0.038635)
    assert ends(constant[-1], "mean") == (0, 0.206052)
    assert {verdict.why for verdict in constant[-1].verdicts.questions.values()} == {"one_score"}


def unbiased(items: int) -> Answers:
    """One item in ten gets another score once, every second time in another direction."""
    code = np.full((items, 20), 2)
    code[::20, 3], code[10::20, 12] = 3, 1
    return choices(code, SLOTS, TEN_ORDERS)


def test_a_run_stops_when_all_questions_have_their_no() -> None:
    by_look = looks(unbiased(300), 300)
    words = [[v.word for v in look.verdicts.questions.values()] for look in by_look]
    assert words[-2:] == [["equivalent"] * 3] * 2
    assert [look.stops for look in by_look] == [False, False, False, True, True]


def test_decided_waits_for_every_question() -> None:
    by_look = looks(case_e(), 40, stop="decided")
    words = [[v.word for v in look.verdicts.questions.values()] for look in by_look]
    assert [look.stops for look in by_look] == ["undecided" not in said for said in words]
    assert [look.stops for look in by_look] == [False, True, True]


def test_a_run_of_few_units_is_decided_as_ever() -> None:
    small = of_items(case_e(), np.arange(40) < 18)
    (look,) = looks(small, 18)
    assert repr(look.verdicts) == repr(decide(small, SMALLEST))


def test_what_was_said_stays_also_over_a_look_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the second look lost replies seem to go with the order, at the third they do not."""
    plain = looks(case_e(), 160, batches=3)
    p = iter([1.0, 0.01, 1.0])
    monkeypatch.setattr("rubriclab.core.looks.unparsed", lambda *_: next(p))
    first, second, third = looks(case_e(), 160, batches=3)
    assert {verdict.why for verdict in second.verdicts.questions.values()} == {"unparsed_by_order"}
    assert not second.stops
    assert third.verdicts.gate == plain[2].verdicts.gate
    assert third.verdicts.questions["single"].above_zero
    assert first.verdicts.questions["single"].p == third.verdicts.questions["single"].p


@pytest.mark.thorough
def test_intervals_only_shrink_and_hold_the_estimate() -> None:
    """The common part of all looks; behind a Yes it is that of the position that is named."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        by_look = looks(foreign.option_answers(rng, 100, kind="first", size=0.5), 100)
        for question in ("positions", "mean", "single"):
            verdicts = [look.verdicts.questions[question] for look in by_look]
            lows, highs = zip(*(verdict.deciding for verdict in verdicts), strict=True)
            for verdict, low, high in zip(verdicts, lows, highs, strict=True):
                assert low <= max(verdict.value, 0) <= max(high, 0)
            assert all(np.diff(highs) <= 1e-12) or max(v.value for v in verdicts) in highs
            assert all(np.diff([verdict.above_zero for verdict in verdicts]) >= 0)


def test_the_interval_of_a_named_position_is_cut_only_by_its_own() -> None:
    """Case E names position 1. Ends of position 5 at an earlier look say nothing of it."""
    alone = decide(case_e(), SMALLEST).positions
    assert alone is not None
    assert (alone.position, alone.named_by) == (0, (0, True))
    assert alone.named_ends == pytest.approx((0.106848, 0.141219), abs=1e-6)
    earlier = replace(alone, named_ends=(0.11, 0.13), deciding=(0.0, 0.8))
    for position, low, high in ((0, 0.11, 0.13), (4, *alone.named_ends)):
        terms = Terms(earlier={"positions": replace(earlier, position=position)})
        now = decide(case_e(), SMALLEST, terms=terms).positions
        assert now is not None
        assert now.interval == (low, high)


# ------------------------------------------------------------ what a look depends on, and what not
MAKERS: dict[str, Callable[[np.random.Generator], Answers]] = {
    "options": lambda rng: foreign.option_answers(rng, 40, "skewed"),
    "options, 10% lost": lambda rng: foreign.option_answers(rng, 40, loss="at random"),
    "options, lost by order": lambda rng: foreign.option_answers(rng, 40, loss="by order"),
    "options, one drawn order": lambda rng: foreign.option_answers(
        rng, 40, design="1 drawn orders an item"
    ),
    "options, drawn orders lost": lambda rng: foreign.option_answers(
        rng, 40, design="3 drawn orders an item", loss="at random"
    ),
    "criteria": lambda rng: foreign.joint_answers(rng, 40, kind="opposite", size=0.2),
    "criteria, 10% lost": lambda rng: foreign.joint_answers(rng, 40, lost=0.1),
    "answers in one call": lambda rng: foreign.joint_answers(rng, 40, interchangeable=True),
    "pairs": lambda rng: foreign.choice_answers(rng, 40, size=0.6, repeats=2),
    "lists, 10% lost": lambda rng: foreign.choice_answers(rng, 40, k=4, repeats=2, lost=0.1),
    "pass or fail": lambda rng: foreign.pass_answers(rng, 40, 0.1),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MAKERS)
def test_a_look_depends_on_its_own_batches_alone(kind: str) -> None:
    """The same to the last bit with rows, items and orders permuted, and later batches left out."""
    rng = np.random.default_rng(7)
    answers = MAKERS[kind](rng)
    whole = [bits(look) for look in looks(answers, 40, RANDOM_BATCH)]
    assert len(whole) == 3
    row, item, order = (
        rng.permutation(size) for size in (len(answers.item), 40, len(answers.orders))
    )
    mixed = replace(
        answers,
        item=np.argsort(item)[answers.item][row],
        order=np.argsort(order)[answers.order][row],
        orders=answers.orders[order],
        code=answers.code[row],
        unit=answers.unit[item],
    )
    assert [bits(look) for look in looks(mixed, 40, RANDOM_BATCH[item])] == whole
    for batches in (1, 2):
        early = of_items(answers, batches > RANDOM_BATCH)
        kept = RANDOM_BATCH[batches > RANDOM_BATCH]
        assert [bits(look) for look in looks(early, 40, kept, batches=batches)] == whole[:batches]


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if "lost" not in kind])
def test_the_sums_of_batches_are_those_of_all_items(kind: str) -> None:
    """But for one drawn order an item, whose batches are each centred on their own mean."""
    answers = MAKERS[kind](np.random.default_rng(7))
    sums = sum(dealt_sums(of_items(answers, k == RANDOM_BATCH), k, 19) for k in range(3))
    whole = dealt_sums(answers, 0, 19)
    assert sums.shape == whole.shape
    if kind != "options, one drawn order":
        assert sums[0] == pytest.approx(whole[0], abs=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [kind for kind in MAKERS if "lost" in kind])
def test_lost_replies_of_batches_add_up(kind: str) -> None:
    """Other deals give another p: its standard deviation is about 0.04 around 0.5."""
    answers = MAKERS[kind](np.random.default_rng(7))
    assert unparsed(answers, RANDOM_BATCH) == pytest.approx(unparsed(answers), abs=0.15)
    by_order = kind == "options, lost by order"
    assert (unparsed(answers, RANDOM_BATCH) <= ALPHA) == by_order
    assert unparsed(answers, np.zeros(40, dtype=int)) == pytest.approx(unparsed(answers), abs=0.15)


def test_lost_replies_that_follow_the_order_block_a_look() -> None:
    rng = np.random.default_rng(1)
    by_look = looks(foreign.option_answers(rng, 100, kind="first", size=1, loss="by order"), 100)
    assert [look.verdicts.unparsed_p <= ALPHA for look in by_look] == [True] * 4
    assert not any(look.stops for look in by_look)


# ------------------------------------------------------------------------------ a run and its rows
def asked(table: JudgmentTable, size: int = 1) -> JudgmentTable:
    """The run with batches for each data set; its calls are the plan. ``size``: items of a call."""
    condition, items = table.rows["condition"].to_numpy(), table.rows["item"].to_numpy()
    scopes: dict[Scope, ScopeLooks] = {}
    for code, about in enumerate(table.conditions):
        subjects = np.unique(items[condition == code]) // size
        if (about.dataset, about.reorder) not in scopes:
            texts = [str(text) for text in np.unique(subjects)]
            place = dict(zip(texts, asking_rank(texts, seed=3), strict=True))
            units = units_at_looks(len(texts))
            batch = {
                item: batch_of_rank(place[str(item // size)], units)
                for item in np.unique(items[condition == code]).tolist()
            }
            scopes[about.dataset, about.reorder] = ScopeLooks(units, batch)
    planned = []
    for code, about in enumerate(table.conditions):
        looks = scopes[about.dataset, about.reorder]
        calls = table.rows[condition == code].drop_duplicates("call")["item"].tolist()
        made = np.bincount([looks.batch[item] for item in calls], minlength=len(looks.units))
        planned.append(tuple(made.tolist()))
    return replace(table, looks=RunLooks("known", scopes, tuple(planned)), state="interrupted")


def looked_at(table: JudgmentTable, code: int = 0) -> list[Look]:
    """The looks of the judge that has this condition."""
    judgments = Judgments(table)
    looked = judgments.looked_of(code)
    assert looked is not None
    return looks_at(judgments, looked, SMALLEST)


def biased(
    seed: int = 1, items: int = 40, first: float = 1.5, judge: str = "judge"
) -> JudgmentTable:
    rng = np.random.default_rng(seed)
    score = choose(rng, items, ORDERS, first=first, repeats=2)
    return options(score, ORDERS, SLOTS, judge=judge)


def without(table: JudgmentTable, kept: Any) -> JudgmentTable:
    return replace(table, rows=table.rows[kept].reset_index(drop=True))


def batch_of_rows(table: JudgmentTable) -> np.ndarray:
    """(rows,): the batch of each."""
    assert table.looks is not None
    every: dict[int, int] = {}
    for looks in table.looks.scopes.values():
        every |= looks.batch
    return np.array([every[item] for item in table.rows["item"].tolist()])


def test_rows_of_an_unfinished_batch_count_in_no_number() -> None:
    table = asked(biased())
    whole = [bits(look) for look in looked_at(table)]
    assert [look[0] for look in whole] == [10, 20, 40]
    batch, row = batch_of_rows(table), np.arange(len(table.rows))
    killed = (batch < 2) | (row % 7 > 0)
    assert [bits(look) for look in looked_at(without(table, killed))] == whole[:2]
    killed[np.flatnonzero(batch == 1)[3]] = False
    assert [bits(look) for look in looked_at(without(table, killed))] == whole[:1]
    killed[np.flatnonzero(batch == 0)[-1]] = False
    assert looked_at(without(table, killed)) == []


def test_a_call_that_failed_for_good_is_final() -> None:
    table = asked(biased())
    status = table.rows["status"].to_numpy().copy()
    status[3] = int(Status.ERROR)
    score = table.rows["score"].where(status == int(Status.OK))
    failed = replace(table, rows=table.rows.assign(status=status, score=score))
    assert len(looked_at(failed)) == 3


def test_rows_of_a_run_may_come_in_any_order() -> None:
    table = asked(biased())
    mixed = table.rows.sample(frac=1, random_state=1).reset_index(drop=True)
    looks_of_mixed = looked_at(replace(table, rows=mixed))
    assert [bits(look) for look in looks_of_mixed] == [bits(look) for look in looked_at(table)]


def test_every_row_has_the_level_of_the_last_look() -> None:
    table = asked(biased())
    kept = (batch_of_rows(table) < 2) | (np.arange(len(table.rows)) % 7 > 0)
    found = Findings(Judgments(without(table, kept)))
    level = planned_looks(40).levels[1]
    assert found.looks_of(0)[-1].units == 20
    assert found.verdicts_of(0) is found.looks_of(0)[-1].verdicts
    assert found.judgments.finished
    assert {row.alpha for row in found.rows if row.measure != "gate"} == {level}
    assert {row.alpha for row in found.select("gate")} == {planned_looks(40).spent[1]}
    assert min(row.level for row in found.rows) == 1 - level
    (share,) = found.select("position_share", position=1)
    assert share.counts["n"] == 20 * 20
    assert share.interval == share.estimate.interval(1 - level)
    assert found.gate_open(0)


def test_a_run_without_a_full_batch_has_no_verdict() -> None:
    table = asked(biased())
    found = Findings(Judgments(without(table, np.arange(len(table.rows)) % 7 > 0)))
    assert not found.judgments.finished
    assert found.verdicts_of(0) is None
    assert found.judgments.arms[0].items == 0


def two_judges(batches: int) -> JudgmentTable:
    """Both judges of the same items; the second has so many complete batches."""
    first, second = biased(1), biased(2, first=0.0, judge="other")
    rows = second.rows.assign(condition=1, call=second.rows["call"] + len(first.rows))
    both = replace(
        first,
        conditions=(*first.conditions, *second.conditions),
        rows=pd.concat([first.rows, rows], ignore_index=True),
    )
    table = asked(both)
    late = (table.rows["condition"] == 1) & (batch_of_rows(table) >= batches)
    return without(table, ~late)


def test_judges_are_asked_the_same_units_first_and_stop_by_themselves() -> None:
    found = Findings(Judgments(two_judges(batches=1)))
    assert [len(found.looks_of(code)) for code in (0, 1)] == [3, 1]
    first, second = found.judgments.arms
    assert set(second.item_code.tolist()) < set(first.item_code.tolist())
    assert (first.alpha, second.alpha) == (0.039018, 0.00625)


def test_a_comparison_has_the_wider_level_of_its_sides() -> None:
    found = Findings(Judgments(two_judges(batches=1)))
    pair = paired(found, 0, found, 1)
    assert pair.alpha == 0.00625
    assert pair.texts == 10
    rows = differences(pair)
    assert {row.alpha for row in rows} == {0.00625}
    single = next(row for row in rows if row.counts["question"] == "single")
    usual = differences(paired(*(side for code in (0, 1) for side in (at_one_look(found), code))))
    narrow = next(row for row in usual if row.counts["question"] == "single")
    assert narrow.value == single.value
    assert single.interval[0] < narrow.interval[0] < narrow.interval[1] < single.interval[1]


def at_one_look(found: Findings) -> Findings:
    return Findings(Judgments(replace(found.judgments.table, looks=None, state="finished")))


def test_runs_that_share_some_items_are_compared_on_those_although_batches_shrink() -> None:
    """Each first batch has ten units; only some of them are in both runs."""
    sides = []
    for seed, name in ((1, "one"), (2, "other")):
        run = asked(biased(seed, judge=name))
        texts = [f"shared {k}" if k < 12 else f"{name} {k}" for k in range(len(run.items))]
        sides.append(Findings(Judgments(replace(run, items=run.items.assign(unit_text=texts)))))
    pair = paired(sides[0], 0, sides[1], 0)
    assert (pair.texts, pair.why) == (12, "")
    assert [findings.judgments.looked[0].complete for findings in pair.findings] == [3, 3]
    assert all(math.isfinite(row.value) for row in differences(pair))


def test_data_sets_have_looks_of_their_own() -> None:
    found = Findings(Judgments(asked(on_two_sets(biased(1), biased(2, items=24)))))
    assert [[look.units for look in found.looks_of(code)] for code in (0, 1)] == [
        [10, 20, 40],
        [12, 24],
    ]
    assert found.verdicts_of(1) is not None


def test_variants_share_the_level_of_the_look() -> None:
    """Both settings are in each batch; the default one decides when to stop."""
    table = asked(in_forms({"numbers": biased(1), "letters": biased(1, first=0.0)}))
    found = Findings(Judgments(without(table, batch_of_rows(table) < 2)))
    ((_, of_form),) = found.forms
    assert of_form is not None
    level = planned_looks(40).levels[1]
    assert (of_form.alpha, of_form.gate.spent) == (level, level)
    by_look = [bits(look) for look in looked_at(table)]
    assert by_look == [bits(look) for look in looked_at(asked(biased(1)))]
    default = table.rows["condition"].to_numpy() == 0
    assert looked_at(without(table, default)) == [], "the other setting is planned too"


def test_criteria_pairs_and_batches_of_answers_are_looked_at() -> None:
    rng = np.random.default_rng(3)
    eight = foreign.rotations(4, both=True)
    of_criteria = criteria(foreign.joint_scores(rng, 40, "first", 0.5, "latent"), eight)
    won = foreign.winners(rng, 40, size=2.0, repeats=2)
    of_pairs = comparisons(won, foreign.rotations(2))
    of_batches = responses(foreign.joint_scores(rng, 20, "first", 0.5, "latent"), eight)
    for table, size, units in (
        (of_criteria, 4, [10, 20, 40]),
        (of_pairs, 1, [10, 20, 40]),
        (of_batches, 4, [10, 20]),
    ):
        run = asked(table, size)
        by_look = looked_at(run)
        assert [look.units for look in by_look] == units
        assert [look.verdicts.units for look in by_look] == units
        assert by_look[-1].verdicts.gate.open
        early = without(run, batch_of_rows(run) < 1)
        assert [bits(look) for look in looked_at(early)] == [bits(by_look[0])]
