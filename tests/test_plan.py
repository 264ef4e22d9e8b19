"""A study's calls: which, in what order, with which key; and the way back to scores."""

from __future__ import annotations

import math
import os
import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.model import (
    Call,
    Dataset,
    Design,
    Item,
    Judge,
    Reply,
    Rubric,
    Sampling,
    ScoreOption,
    Strategy,
    StudyError,
)
from rubriclab.model import Criterion as ModelCriterion
from rubriclab.runs.sequential import Mixed
from rubriclab.study.plan import plan, score_labels, variants
from tests.labkit import criteria_study, criterion, items, pairs_study, study

FIXED = (Strategy("fixed", reads=1),)


def keys(prepared: object) -> list[str]:
    return [call.key for call in prepared.calls()]  # type: ignore[attr-defined]


# ---------------------------------------------------------------- keys


def test_keys_are_stable_and_unique() -> None:
    first, second = keys(plan(study())), keys(plan(study()))
    assert first == second
    assert len(set(first)) == len(first) == 3 * 20


def test_a_key_does_not_depend_on_limits() -> None:
    judge = Judge("api", "openai", "m", ("http://127.0.0.1:1/v1",))
    hurried = replace(judge, concurrency=99, rpm=5, tpm=7, timeout=1.0, price_input=3.0, key_env="K")
    assert keys(plan(study(judges=(judge,)))) == keys(plan(study(judges=(hurried,))))


@pytest.mark.parametrize(
    "other",
    [
        Judge("api", "openai", "other", ("http://127.0.0.1:1/v1",)),
        Judge("api", "openai", "m", ("http://127.0.0.1:2/v1",)),
        Judge("api", "openai", "m", ("http://127.0.0.1:1/v1",), sampling=Sampling(temperature=1.0)),
        Judge("api", "openai", "m", ("http://127.0.0.1:1/v1",), sampling=Sampling(seed=1)),
    ],
    ids=["model", "endpoint", "temperature", "seed"],
)
def test_a_key_depends_on_what_decides_the_answer(other: Judge) -> None:
    judge = Judge("api", "openai", "m", ("http://127.0.0.1:1/v1",))
    assert not set(keys(plan(study(judges=(judge,))))) & set(keys(plan(study(judges=(other,)))))


def test_a_key_does_not_depend_on_the_other_items() -> None:
    """Adding data to a study leaves the calls that were made as they are."""
    small, large = plan(study(2)), plan(study(5))
    assert set(keys(small)) < set(keys(large))


def test_the_same_words_asked_again_are_another_call() -> None:
    calls = list(plan(study(1, strategies=(Strategy("fixed", reads=10),))).calls())
    assert len({call.messages[0]["content"] for call in calls}) == 1
    assert [call.repeat for call in calls] == list(range(10))
    assert len({call.key for call in calls}) == 10


def test_repeats_read_every_ordering_again() -> None:
    prepared = plan(study(2, repeats=3, strategies=(Strategy("balanced"),)))
    calls = list(prepared.calls())
    assert len(calls) == len(prepared) == 2 * 10 * 3
    by_order = Counter((call.items, call.ordering) for call in calls)
    assert set(by_order.values()) == {3}
    assert {call.repeat for call in calls} == {0, 1, 2}


def test_judges_that_differ_in_name_alone_are_both_asked() -> None:
    one = Judge("a", "openai", "m", ("http://127.0.0.1:1/v1",))
    both = plan(study(2, judges=(one, replace(one, name="b"))))
    assert len(set(keys(both))) == len(both) == 80
    assert set(keys(plan(study(2, judges=(one,))))) < set(keys(both))


# ---------------------------------------------------------------- order


def test_calls_come_item_by_item() -> None:
    calls = list(plan(study(4)).calls())
    assert [item for item, _ in groupby(call.items[0] for call in calls)] == [0, 1, 2, 3]


@pytest.mark.parametrize("made", [study, pairs_study, criteria_study])
def test_a_run_that_may_stop_asks_the_same_calls_in_a_mixed_order_of_items(made: Any) -> None:
    """In the order of the file it would stop having seen one end of it."""
    prepared = plan(made(8))
    data = [item for call in prepared.calls(0) for item in call.items]
    mixed = list(Mixed(prepared).calls(0))
    assert sorted(call.key for call in mixed) == sorted(keys(prepared))
    asked = [item for item, _ in groupby(call.items for call in mixed)]
    assert len(asked) == len(set(asked)) == len({call.items for call in prepared.calls(0)})
    assert [item for items in asked for item in items] != list(dict.fromkeys(data))


def test_items_of_one_prompt_are_asked_together() -> None:
    given = tuple(replace(item, prompt=f"p{k // 2}") for k, item in enumerate(items(12)))
    prepared = plan(replace(study(), dataset=Dataset("d", given)))
    asked = [call.items[0] // 2 for call in Mixed(prepared).calls(0)]
    groups = [prompt for prompt, _ in groupby(asked)]
    assert sorted(groups) == list(range(6)) != groups


def test_the_calls_of_an_item_share_all_but_the_rubric() -> None:
    calls = list(plan(study(2, strategies=(Strategy("balanced"),))).calls())
    for item in (0, 1):
        prompts = [call.messages[0]["content"] for call in calls if call.items == (item,)]
        shared = os.path.commonprefix(prompts)  # noqa: RUF071  # prompts, not paths
        assert f"response {item}" in shared
        assert "###Score Rubrics:" in shared
        assert "level" not in shared


def test_two_judges_are_planned_one_after_the_other() -> None:
    judges = (Judge("a", "simulated", "s"), Judge("b", "simulated", "s", options={"seed": 1}))
    prepared = plan(study(2, judges=judges))
    assert [call.judge for call in prepared.calls()] == [0] * 40 + [1] * 40
    assert keys(prepared)[40:] == [call.key for call in prepared.calls(1)]


# ---------------------------------------------------------------- factors


def test_one_factor_at_a_time_moves_from_the_baseline() -> None:
    factors = {"ids": ("arabic", "letters", "roman"), "temperature": (0.0, 1.0)}
    found = variants(study(factors=factors))
    assert [dict(v.levels) for v in found] == [
        {"ids": "arabic", "temperature": 0.0},
        {"ids": "letters", "temperature": 0.0},
        {"ids": "roman", "temperature": 0.0},
        {"ids": "arabic", "temperature": 1.0},
    ]
    prepared = plan(study(factors=factors))
    # The baseline under both strategies, every other setting under the first alone.
    assert len(prepared.arms) == 2 + 3
    assert {arm.strategy for arm in prepared.arms[2:]} == {"balanced"}


def test_crossed_factors_are_a_full_grid() -> None:
    factors = {"ids": ("arabic", "letters"), "temperature": (0.0, 1.0)}
    prepared = plan(study(factors=factors, crossed=True))
    assert len(prepared.arms) == 4 * 2
    assert len(prepared) == len(list(prepared.calls())) == 3 * 10 * 8


def test_a_sampling_factor_reaches_the_call() -> None:
    prepared = plan(study(1, factors={"temperature": (0.0, 0.7)}, strategies=FIXED))
    assert [call.sampling.temperature for call in prepared.calls()] == [0.0, 0.7]


def test_an_unknown_factor_goes_into_the_request() -> None:
    prepared = plan(study(1, factors={"top_k": (1, 5)}, strategies=FIXED))
    assert [call.sampling.extra for call in prepared.calls()] == [{"top_k": 1}, {"top_k": 5}]


def test_scales_have_arms_of_their_own() -> None:
    prepared = plan(study(2, factors={"scale": (5, 3, 2)}, strategies=(Strategy("balanced"),)))
    assert [arm.n_positions for arm in prepared.arms] == [5, 3, 2]
    assert prepared.planned == (20, 12, 8)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({"scale": (1,)}, "whole numbers 2 to 10"),
        ({"answer": ("essay",)}, "use feedback or score"),
        ({"reference": ("best",)}, "0 for none or a score"),
        ({"ids": ("greek",)}, "greek"),
        ({"ids": (("a", "b"),)}, "do not fit 5 scores"),
        ({"temperature": (0.0, 0.0)}, "lists a level twice"),
    ],
)
def test_wrong_levels_are_named_before_the_first_call(factors: dict[str, object], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        plan(study(factors=factors))


def test_wrong_custom_orders_are_named_before_the_first_call() -> None:
    with pytest.raises(StudyError, match="each of"):
        plan(study(strategies=(Strategy("custom", orderings=((1, 2, 3),)),)))


def test_items_without_the_reference_are_left_out_and_counted() -> None:
    some = (*items(2), Item("with", "q", "r", references={5: "the best answer", 1: "a bad one"}))
    about = replace(study(strategies=FIXED, factors={"reference": (0, 5, 1)}), dataset=Dataset("d", some))
    prepared = plan(about)
    assert prepared.planned == (3, 1, 1)
    assert [call.reference for call in prepared.calls()] == [None, None, None, 5, 1]
    assert "2 items have no reference answer of score 5 and are left out there." in prepared.notes
    assert len(prepared) == len(list(prepared.calls()))


def test_a_reference_that_no_item_has_is_an_error() -> None:
    with pytest.raises(StudyError, match="No item has a reference answer of score 5"):
        plan(study(factors={"reference": (0, 5)}))


# ---------------------------------------------------------------- labels


def test_labels_of_the_scores() -> None:
    assert score_labels((1, 2, 3), "arabic") == ("1", "2", "3")
    assert score_labels((1, 2, 3, 4, 5), "letters") == ("E", "D", "C", "B", "A")
    assert score_labels((1, 2, 3, 4, 5), "roman") == ("i", "ii", "iii", "iv", "v")
    assert score_labels((0, 5), ("bad", "good")) == ("bad", "good")
    with pytest.raises(StudyError, match="different labels"):
        score_labels((1, 2), ("x", "X"))


def test_shuffled_labels_part_from_scores_and_stay_permutations() -> None:
    about = study(30, shuffle_ids=True, strategies=(Strategy("balanced"),), factors={"ids": ("letters",)})
    calls = list(plan(about).calls())
    assert calls == list(plan(about).calls())
    label_of: dict[int, Counter[str]] = {score: Counter() for score in range(1, 6)}
    for call in calls:
        assert sorted(call.ordering.labels) == ["A", "B", "C", "D", "E"]
        for score, label in zip(call.ordering.shown, call.ordering.labels, strict=True):
            label_of[int(score)][label] += 1
    assert all(len(counts) == 5 for counts in label_of.values())
    assert all(30 < count < 90 for counts in label_of.values() for count in counts.values())


@given(
    n=st.integers(2, 10),
    ids=st.sampled_from(["arabic", "letters", "roman", "own"]),
    shuffled=st.booleans(),
    data=st.data(),
)
def test_position_and_score_round_trip(n: int, ids: str, shuffled: bool, data: st.DataObject) -> None:
    """Answering with the label at a position gives that position and the score shown there."""
    style: object = tuple(f"L{k}" for k in range(n)) if ids == "own" else ids
    about = study(
        1,
        n=n,
        strategies=(Strategy("random", reads=2),),
        factors={"ids": (style,)},
        shuffle_ids=shuffled,
        seed=data.draw(st.integers(0, 50)),
    )
    prepared = plan(about)
    for call in prepared.calls():
        position = data.draw(st.integers(1, n))
        label = call.ordering.labels[position - 1]
        (out,) = prepared.read(call, Reply(text=label)).outcomes
        assert (out.status, out.position) == ("ok", position)
        assert out.score == call.ordering.shown[position - 1]
        line = call.messages[0]["content"].splitlines()
        shown = [text for text in line if text.startswith("Score ") and ": level" in text]
        assert shown[position - 1] == f"Score {label}: level {out.score}"


def test_the_same_label_reads_by_the_order_shown() -> None:
    """One text under many orders: what is remembered of reading it must not stick to one."""
    prepared = plan(study(1, strategies=(Strategy("all"),)))
    for call in prepared.calls():
        (out,) = prepared.read(call, Reply(text="4")).outcomes
        assert out.score == 4
        assert out.position == call.ordering.shown.index(4) + 1  # type: ignore[arg-type]


def test_expected_score_from_probabilities() -> None:
    prepared = plan(study(1, strategies=(Strategy("descending", reads=1),)))
    (call,) = prepared.calls()
    tokens = (("5", -0.6931471805599453), ("4", -1.3862943611198906), ("x", -3.0))
    (out,) = prepared.read(call, Reply(text="5", top_tokens=tokens)).outcomes
    # 1/2 on 5 and 1/4 on 4: shares 2/3 and 1/3, expectation (2 * 5 + 4) / 3, mass 3/4.
    assert out.probabilities == pytest.approx((2 / 3, 1 / 3, 0, 0, 0))
    assert out.expected == pytest.approx(14 / 3)
    assert out.mass == pytest.approx(0.75)
    assert (out.position, out.score) == (1, 5)


@pytest.mark.parametrize(("mass", "score"), [(0.6, 4), (0.33, None), (0.0006, None)])
def test_a_reply_that_names_no_label_is_read_by_its_first_word_where_that_may_be_one(
    mass: float, score: int | None
) -> None:
    prepared = plan(study(1, strategies=(Strategy("descending", reads=1),)))
    (call,) = prepared.calls()
    tokens = (("100", math.log(1 - mass)), ("4", math.log(0.75 * mass)), ("5", math.log(0.25 * mass)))
    (out,) = prepared.read(call, Reply(text="100", top_tokens=tokens)).outcomes
    assert out.score == score
    # What fell on the labels is kept of an unread reply too: it says why.
    assert out.mass == pytest.approx(mass)
    assert (out.status, out.kind) == (
        ("ok", "read from probabilities") if score else ("unparsed", "most of the probability on no label")
    )
    assert (out.probabilities is None) == (score is None)


def test_a_pair_is_not_decided_by_what_is_left_on_its_labels() -> None:
    prepared = plan(pairs_study(1))
    call = next(iter(prepared.calls()))
    tokens = (("1", math.log(0.68)), ("A", math.log(0.08)), ("B", math.log(0.24)))
    (out,) = prepared.read(call, Reply(text="1", top_tokens=tokens)).outcomes
    assert (out.status, out.position, out.kind) == ("unparsed", None, "most of the probability on no label")
    assert out.mass == pytest.approx(0.32)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(text=""), "unparsed"),
        (Reply(text="7"), "unparsed"),
        (Reply(text="The resp", finish="length"), "truncated"),
        (Reply(text="", finish="content_filter"), "refused"),
        (Reply(text="I'm sorry, but I can't help with that."), "refused"),
        (Reply(error="HTTP 500", kind="server_error", finish="error"), "error"),
    ],
)
def test_what_cannot_be_read_is_a_row_with_a_status(reply: Reply, status: str) -> None:
    prepared = plan(study(1, strategies=FIXED))
    (call,) = prepared.calls()
    (out,) = prepared.read(call, reply).outcomes
    assert (out.status, out.score, out.position) == (status, None, None)


# ---------------------------------------------------------------- the other axes


def test_criteria_items_stand_in_the_order_shown() -> None:
    prepared = plan(criteria_study())
    data = prepared.study.dataset.items
    calls = list(prepared.calls())
    assert len(calls) == len(prepared) == 2 * 6
    for call in calls:
        assert [data[i].criterion for i in call.items] == list(call.ordering.shown)  # type: ignore[union-attr]
        text = "\n".join(f"[{name}] {score}" for name, score in zip("abc", (1, 3, 5), strict=True))
        outcomes = prepared.read(call, Reply(text=text)).outcomes
        for position, out in enumerate(outcomes, start=1):
            name = call.ordering.shown[position - 1]
            assert (out.status, out.position) == ("ok", position)
            assert out.score == {"a": 1, "b": 3, "c": 5}[str(name)]
            assert data[out.item].criterion == name  # type: ignore[union-attr]


def test_a_missing_criterion_is_unread_and_the_others_stay() -> None:
    prepared = plan(criteria_study())
    call = next(prepared.calls())
    outcomes = prepared.read(call, Reply(text="[a] 2\n[c] 4")).outcomes
    by_name = dict(zip(call.ordering.shown, outcomes, strict=True))
    assert [by_name[n].score for n in ("a", "c")] == [2, 4]
    assert (by_name["b"].status, by_name["b"].kind) == ("unparsed", "missing")


def test_one_criterion_has_no_order_to_vary() -> None:
    with pytest.raises(StudyError, match="two or more criteria"):
        plan(criteria_study(names=("only",)))


def test_a_pair_is_asked_both_ways_round() -> None:
    prepared = plan(pairs_study())
    calls = list(prepared.calls())
    assert len(calls) == 3 * 2
    assert {call.ordering.shown for call in calls} == {("x", "y"), ("y", "x")}
    for call in calls:
        first, tie, none = (prepared.read(call, Reply(text=text)).outcomes[0] for text in ("[[A]]", "[[C]]", "?"))
        assert (first.position, tie.position, none.position) == (1, 0, None)
        assert none.status == "unparsed"


def test_the_axis_must_fit_the_data() -> None:
    about = pairs_study()
    with pytest.raises(StudyError, match="needs single"):
        plan(replace(about, design=Design()))


def test_a_study_needs_a_rubric() -> None:
    with pytest.raises(StudyError, match="no rubric"):
        plan(replace(study(), rubric=None))


def test_strategies_need_names_of_their_own() -> None:
    with pytest.raises(StudyError, match="share a name"):
        plan(study(strategies=(Strategy("fixed"), Strategy("fixed", reads=3))))


def test_criteria_of_different_size_have_arms_of_their_own() -> None:
    short = ModelCriterion("short", tuple(ScoreOption(s) for s in (1, 2)))
    mixed = tuple(Item(f"i{k}", response="r", criterion=("quality", "short")[k % 2]) for k in range(4))
    about = replace(study(strategies=FIXED), dataset=Dataset("d", mixed), rubric=Rubric("r", (criterion(), short)))
    prepared = plan(about)
    assert [arm.n_positions for arm in prepared.arms] == [5, 2]
    assert prepared.planned == (2, 2)
    assert [len(call.ordering.shown) for call in prepared.calls()] == [5, 2, 5, 2]


def test_calls_are_found_again() -> None:
    prepared = plan(study(3))
    for call in list(prepared.calls())[::7]:
        assert prepared.find(call.key, item=call.items[0], arm=call.arm) == call
        assert call in prepared.calls_about(call.items[0], arm=call.arm)
    assert prepared.find("no such key", item=0, arm=0) is None
    first: Call = prepared.first_call(1)
    assert (first.arm, first.items) == (1, (0,))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        (lambda: study(strategies=(Strategy("fixed", reads=10**9),)), "reads = 1,000,000,000"),
        (lambda: study(strategies=(Strategy("random", reads=10**9),)), "reads = 1,000,000,000"),
        (lambda: study(strategies=(Strategy("balanced", reads=10**9),)), "reads = 1,000,000,000"),
        (lambda: study(repeats=10**9), "repeats = 1,000,000,000"),
        (lambda: study(repeats=0), "repeats = 0"),
        (lambda: study(repeats=5_000), "asks an item 50,000 times"),
        (lambda: study(factors={f"f{n}": tuple(range(10)) for n in range(9)}, crossed=True), "2,000,000,000 arms"),
    ],
)
def test_numbers_no_machine_has_room_for_are_refused_at_once(about: Any, said: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(StudyError, match=said):
            plan(about())
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
