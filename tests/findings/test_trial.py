"""What a trial says, from reads written by hand and from simulated judges."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.findings.reads import Read, running_mean
from rubriclab.findings.trial import CriteriaTrial, OptionsTrial, Prior, trial
from rubriclab.findings.trial_pairs import PairTrial
from rubriclab.model import Arm

USUAL = ("1", "2", "3")
ORDERS = (USUAL, ("3", "2", "1"), ("2", "3", "1"), ("1", "3", "2"), ("2", "1", "3"), ("3", "1", "2"))
ARM = Arm("j", "d", "orders tried", scores=(1, 2, 3), n_positions=3)


def read(shown: tuple[str, ...], position: int | None, call: int = 0, **more: Any) -> Read:
    score = None if not position else float(shown[position - 1])
    made = Read(
        call=call,
        key=f"k{call}",
        arm=0,
        item=0,
        shown=shown,
        labels=shown,
        status="unparsed" if position is None else "ok",
        position=position,
        score=score,
        expected=None,
        probabilities=None,
    )
    return replace(made, **more)


def options(*reads: Read, first: int = 3, **more: Any) -> OptionsTrial:
    (found,) = trial(reads, [ARM], orders=ORDERS, first=first, **more)
    assert isinstance(found, OptionsTrial)
    return found


def test_a_place_lover() -> None:
    found = options(*(read(order, 1, call) for call, order in enumerate(ORDERS[:3])))
    assert found.usual is not None
    assert found.usual.score == 1.0
    assert found.mean == pytest.approx((1 + 3 + 2) / 3)
    assert tuple(found.ci) == (1.0, 3.0), "cut at the ends of the scale"
    assert found.differ == 1.0
    assert found.highest is not None
    assert found.highest.shown == ORDERS[1]
    assert found.could_differ is None
    assert (
        found.sentence == "j gives 1 in the usual order; over 3 orders of the same descriptions it gives 1, 2 and 3 "
        "(noise included: no order was asked twice)."
    )


def test_search_reads_do_not_pull_the_mean() -> None:
    drawn = [read(order, 1, call) for call, order in enumerate(ORDERS[:3])]
    searched = read(ORDERS[5], 1, 3)
    found = options(*drawn, searched)
    assert found.mean == pytest.approx(2.0), "1, 3 and 2; the searched order's 3 is left out"
    assert len(found.reads) == 4
    assert len(found.drawn) == 3


def test_all_orders_read_close_the_interval() -> None:
    """Six orders, all there are: the mean is known, unless an order can get two answers."""
    reads = [read(order, 1, call) for call, order in enumerate(ORDERS)]
    found = options(*reads, read(USUAL, 1, 6))
    assert len(found.drawn) == 6
    assert (found.mean, *found.ci) == pytest.approx((2.0, 2.0, 2.0))
    for open_still in (options(*reads), options(*reads, read(USUAL, 3, 6))):
        assert open_still.mean == pytest.approx(2.0)
        assert open_still.ci.low < 1.2
        assert open_still.ci.high > 2.8


def test_agreement_says_what_it_cannot_rule_out() -> None:
    found = options(*(read(o, o.index("2") + 1, c) for c, o in enumerate(ORDERS[:3])))
    assert found.could_differ == pytest.approx(1 - 0.05 ** (1 / 3))
    assert found.sentence.startswith("j gives 2 in every one of the 3 orders (noise included")
    assert math.isnan(found.ci.low)


def test_unread_are_counted_and_passed_over() -> None:
    found = options(read(ORDERS[0], None, 0), read(ORDERS[1], 1, 1), read(ORDERS[2], 2, 2))
    assert found.sentence.startswith("j gives 3 in every one of the 2 orders that could be read (")
    found = options(read(ORDERS[0], None, 0), read(ORDERS[1], 1, 1), read(ORDERS[2], 1, 2))
    assert found.unread == 1
    assert found.running.read == (1, 2)
    assert found.mean == pytest.approx(2.5)
    assert found.sentence.startswith("j gives no readable score in the usual order")


def test_nothing_yet() -> None:
    found = options()
    assert math.isnan(found.mean)
    assert found.usual is None
    assert found.highest is None
    assert "no score" in found.sentence


def test_one_corrected_call_by_hand() -> None:
    """Shown 1 2 3 with 0.6 0.3 0.1; prior 0.5 0.3 0.2: weights 1.2, 1.0, 0.5 of 2.7."""
    usual = read(USUAL, 1, probabilities=(0.6, 0.3, 0.1), expected=1.5)
    prior = Prior((0.5, 0.3, 0.2), "run", "Run")
    found = options(usual, priors={"j": prior})
    assert found.corrected == pytest.approx((1 * 1.2 + 2 * 1.0 + 3 * 0.5) / 2.7)
    assert options(usual).corrected is None
    other = Prior((0.5, 0.5), "run", "Run")
    assert options(usual, priors={"j": other}).corrected is None, "a prior of another scale"


# ---------------------------------------------------------------- the same order again


@pytest.mark.parametrize(
    ("again", "verdict", "control", "headline"),
    [
        (
            [1],
            "agrees",
            "The same order again gives 1: no noise seen in one repeat.",
            "j gives 1 in the usual order, twice; over 3 orders",
        ),
        (
            [1, 1],
            "agrees",
            "The same order again gives 1: no noise seen in 2 repeats.",
            "j gives 1 in the usual order, 3 times; over 3 orders",
        ),
        (
            [3],
            "differs",
            "Noise included: the same order gave 1, then 3. A score that differs between orders need not "
            "be the order's doing.",
            "j gives 1, then 3 in the very same order; over 3 orders",
        ),
        (
            [None],
            "unknown",
            "Noise included: the same order was asked twice, but not read twice.",
            "j gives 1 in the usual order; over 3 orders",
        ),
    ],
)
def test_the_usual_order_again_is_the_control(
    again: list[int | None], verdict: str, control: str, headline: str
) -> None:
    """It is told beside the orders, whenever it came, and pulls no mean."""
    first, *others = (read(order, 1, call) for call, order in enumerate(ORDERS[:3]))
    repeats = [read(USUAL, place, 10 + k) for k, place in enumerate(again)]
    for asked in ([first, *repeats, *others], [first, *others, *repeats]):
        found = options(*asked)
        assert (found.control.verdict, found.control.sentence) == (verdict, control)
        assert found.control.calls == len(again)
        assert found.sentence.startswith(headline)
        assert ("noise included" in found.sentence) == (verdict != "agrees")
        assert found.mean == pytest.approx(2.0), "1, 3 and 2: the repeats are in no mean"
        assert [r.shown for r in found.drawn] == list(ORDERS[:3])


def test_where_orders_agree_and_repeats_do_not_nothing_is_promised() -> None:
    reads = [read(o, o.index("2") + 1, c) for c, o in enumerate(ORDERS[:3])]
    found = options(*reads, read(USUAL, 3, 7))
    assert found.sentence == (
        "j gives 2, then 3 in the very same order; over 3 orders of the same descriptions it gives "
        "2, its own noise included."
    )
    assert found.could_differ is None, "a limit on orders takes an order to have one answer"


def test_the_usual_order_leads_in_whichever_order_the_answers_came() -> None:
    found = options(read(ORDERS[1], 1, 0), read(USUAL, 2, 1), read(USUAL, 1, 2))
    assert [r.shown for r in found.reads] == [USUAL, ORDERS[1]]
    assert found.control.answers == ("2", "1")


def test_running_mean_passes_over_what_was_not_read() -> None:
    found = running_mean([2.0, None, 4.0, float("nan")])
    assert found.read == (0, 2)
    assert found.mean == (2.0, 3.0)


# ---------------------------------------------------------------- pairs and criteria

PAIR = Arm("j", "d", "balanced", axis="pairwise", n_positions=2)
TWO = (("a", "b"), ("b", "a"))


@pytest.mark.parametrize(
    ("places", "verdict", "words"),
    [
        ((1, 2, 1, 2), "same", "prefers a whichever"),
        ((1, 1, 1, 1), "first", "whichever response is shown first"),
        ((2, 2, 2, 2), "last", "shown last"),
        ((0, 0, 0, 0), "tie", "a tie in both"),
        ((1, 0, 1, 0), "tie", "prefers a in one order"),
        ((1, None), "unread", "gave no verdict"),
        ((1, None, 1, None), "unread", "gave no verdict"),
        ((1,), "unread", "not said in both orders"),
        ((1, 1, 1, 2), "noisy", "changes its answer even in the same order"),
        ((1, 2, 2, 2), "noisy", "changes its answer even in the same order"),
        ((1, 1, 0, 1), "noisy", "changes its answer even in the same order"),
    ],
)
def test_pairs(places: tuple[int | None, ...], verdict: str, words: str) -> None:
    found = pair(places)
    assert found.verdict == verdict
    assert words in found.sentence
    assert "noise included" not in found.sentence


@pytest.mark.parametrize("places", [(1, 2), (1, 1), (0, 0), (1, 0), (1, 1, 1, None)])
def test_two_answers_are_no_preference(places: tuple[int | None, ...]) -> None:
    """An order that was asked, or read, once may have been answered by chance."""
    found = pair(places)
    assert found.control.verdict == "unknown"
    assert "noise included" in found.sentence
    assert "whichever response" not in found.sentence


def pair(places: tuple[int | None, ...]) -> PairTrial:
    """The two orders in turn, as they are asked."""
    reads = [replace(read(("1", "2"), p, c), shown=TWO[c % 2], score=None) for c, p in enumerate(places)]
    (found,) = trial(reads, [PAIR], orders=TWO, first=2)
    assert isinstance(found, PairTrial)
    return found


CRITERIA = Arm("j", "d", "orders tried", axis="criteria", scores=(1, 2, 3), n_positions=2)
XY = (("x", "y"), ("y", "x"))


def criteria(*calls: tuple[int, dict[str, float | None]]) -> CriteriaTrial:
    """Calls in turn: which of the two orders, and the score of each criterion."""
    reads = [
        replace(
            read(("1", "2"), None, call),
            shown=XY[order],
            status="ok" if s else "unparsed",
            place=XY[order].index(name) + 1,
            score=s,
        )
        for call, (order, scores) in enumerate(calls)
        for name, s in scores.items()
    ]
    (found,) = trial(reads, [CRITERIA], orders=XY, first=2)
    assert isinstance(found, CriteriaTrial)
    return found


def test_criteria_by_hand() -> None:
    found = criteria((0, {"x": 3.0, "y": 1.0}), (1, {"x": 2.0, "y": None}))
    x, y = found.criteria
    assert (x.usual, x.again, x.mean, x.lowest, x.highest, x.reads) == (3.0, None, 2.5, 2.0, 3.0, 2)
    assert (y.usual, y.reads) == (1.0, 1)
    assert found.unread == 1
    assert found.highest is None, "one call scored both criteria, the other one: no comparison"
    assert (
        found.sentence
        == "With the criteria in another order j changes the score of 1 of 1 criterion; x goes from 2 to 3."
        " Noise is included: no order was asked twice."
    )


def test_criteria_asked_again_in_the_same_order() -> None:
    first, other = (0, {"x": 3.0, "y": 1.0}), (1, {"x": 2.0, "y": 1.0})
    still = criteria(first, first, other)
    assert still.control.verdict == "agrees"
    assert still.sentence.endswith("x goes from 2 to 3.")
    noisy = criteria(first, (0, {"x": 1.0, "y": 1.0}), other)
    assert noisy.control.verdict == "differs"
    assert noisy.control.sentence == (
        "Noise included: asked again in the same order it changes 1 of 2 scores (x: 3, then 1)."
    )
    assert noisy.sentence == (
        "j changes scores even in the very same order; over all orders those of 1 of 2 criteria differ, "
        "x from 2 to 3, its own noise included."
    )
    x = noisy.criteria[0]
    assert (x.usual, x.again, x.mean, x.lowest) == (3.0, 1.0, 2.5, 2.0)
    assert noisy.calls == 2
    alike = criteria(first, (0, {"x": 1.0, "y": 1.0}), (1, {"x": 3.0, "y": 1.0}))
    assert "but not when asked again" in alike.sentence
