"""Plans: which calls there are, in which order, under which keys; what is refused before the first
one.
"""

import itertools
import json
import os
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rubriclab.model.data import Criterion, DataSet, Item, Option
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.model.study import read_study
from rubriclab.model.text import LabError, shared_beginning
from rubriclab.study.parts import REPEATED_SUBJECTS
from tests.study.kit import ABC, API, EMBEDDED, criterion, data, small_plan

CASES = json.loads((Path(__file__).parents[1] / "golden" / "refused.json").read_text("utf-8"))


@pytest.mark.papers(2)
def test_every_balanced_order_is_asked_twice_item_by_item_and_shuffled_within() -> None:
    made = small_plan(3)
    assert made.planned == (60,)
    assert len({(call.items, call.ordering, call.repeat) for call in made.calls()}) == 3 * 10 * 2
    calls = list(small_plan(6, strategies=["balanced", "fixed"]).calls())
    assert [items for items, _ in itertools.groupby(call.items for call in calls)] == [
        (k,) for k in range(6)
    ]
    orders = [
        [(c.condition, c.ordering.shown, c.repeat) for c in calls if c.items == (k,)]
        for k in range(6)
    ]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert len({tuple(order) for order in orders}) == 6  # another order for each item
    # Strategies are mixed: not all of the first condition's 20 calls come first (2 in C(22, 2) =
    # 231 items would).
    assert any(
        [condition for condition, _, _ in order] != sorted(c for c, _, _ in order)
        for order in orders
    )
    again = list(small_plan(6, strategies=["balanced", "fixed"]).calls())
    assert [call.key for call in again] == [call.key for call in calls]
    other = list(small_plan(6, strategies=["balanced", "fixed"], seed=1).calls())
    assert [call.key for call in other] != [call.key for call in calls]


def test_the_small_model_is_asked_so_that_prompts_share_their_beginnings() -> None:
    """It reads only what the call before did not have. Other judges are asked in random order."""

    def read(calls: list[Call]) -> int:
        pairs = itertools.pairwise(["", *(call.prompt for call in calls)])
        return sum(len(text) - shared_beginning(before, text) for before, text in pairs)

    made = small_plan(4, judges=(API, EMBEDDED), strategies=["balanced", "fixed"])
    small, api = list(made.calls(EMBEDDED.name)), list(made.calls(API.name))
    for k in range(4):
        asked = [call for call in small if call.items == (k,)]
        other = [call for call in api if call.items == (k,)]
        of_both = [
            sorted((call.ordering.shown, call.repeat, call.condition % 2) for call in calls)
            for calls in (asked, other)
        ]
        assert of_both[0] == of_both[1]  # the same calls: only their order differs
        firsts = [first for first, _ in itertools.groupby(call.ordering.shown[0] for call in asked)]
        assert len(firsts) == len(set(firsts)) == 5  # all orders that begin with one score, then
        orders = [order for order, _ in itertools.groupby(call.ordering.shown for call in asked)]
        assert len(orders) == len(set(orders)) == 10  # all calls of one order, one by one
        assert read(asked) < 0.7 * read(other)
        by_text = sorted(asked, key=lambda call: str(call.messages[0]["content"]))
        assert read(asked) == read(by_text)  # sorted texts share all that can be shared
    first = [tuple(call.ordering.shown for call in small if call.items == (k,)) for k in range(4)]
    assert len(set(first)) == 4  # which beginning comes first is drawn for each answer


def test_keys_of_calls_are_those_of_stored_runs() -> None:
    """A run goes on, and takes earlier replies, by these keys: a byte of prompt or identity that
    changes makes all of them new calls.
    """
    made = small_plan(1, judges=(API, EMBEDDED), strategies=["fixed"], reorder=["options", "bare"])
    keys = {(call.condition, call.repeat): call.key for call in made.calls()}
    assert keys == {
        (0, 0): "2c446b2c4b5a5cd6d8af9f44dbc1b6f4",  # api, options
        (0, 1): "5b80d71f252296b7876592bed422adea",
        (1, 0): "50d21a9406deae8fbcc131db91ab0c14",  # api, bare
        (1, 1): "0b19b740b9bc3a544d4e753e9dc6bfda",
        (2, 0): "aea8e10b294a5b59f05f010ff1e6766e",  # the embedded model, options
        (2, 1): "d388903d332b5b5794e42a903aa9cb05",
        (3, 0): "ff3412d3ff9391258e1ac0286d091637",  # the embedded model, bare
        (3, 1): "e3710488a14e0f2c5f5d6b739fb743ca",
    }


def test_keys_tell_calls_apart_and_nothing_else() -> None:
    keys = [call.key for call in small_plan(2).calls()]
    assert keys == [call.key for call in small_plan(2, name="another name").calls()]
    slower = API.model_copy(update={"concurrency": 1, "timeout": 9.0, "price_input": 3.0})
    assert keys == [call.key for call in small_plan(2, judges=(slower,)).calls()]
    warmer = API.model_copy(update={"temperature": 0.5})
    assert not set(keys) & {call.key for call in small_plan(2, judges=(warmer,)).calls()}
    # The same words about another item, or from a judge that differs in its name alone, are other
    # calls.
    twins = DataSet("d", (Item("x", "same"), Item("y", "same")))
    both = small_plan(dataset=twins, judges=(API, API.model_copy(update={"name": "again"})))
    assert len({call.key for call in both.calls()}) == len(both) == 80
    one_order_in_two = small_plan(1, strategies=["balanced", {"kind": "fixed", "calls": 3}])
    assert (
        len({call.key for call in one_order_in_two.calls()}) == sum(one_order_in_two.planned) == 23
    )


@pytest.mark.papers(3)
def test_random_orders_are_drawn_for_each_item() -> None:
    made = small_plan(4, strategies=["random"])
    assert made.planned == (40,)
    assert made.conditions[0].drawn
    drawn = [
        sorted(call.ordering.shown for call in made.calls() if call.items == (k,)) for k in range(4)
    ]
    assert len({tuple(orders) for orders in drawn}) == 4
    two = small_plan(1, criteria=(criterion(n=2),), strategies=["random"])
    repeats = Counter((call.ordering.shown, call.repeat) for call in two.calls())
    assert max(repeats.values()) == 1  # an order that is drawn again is a repeat


def test_the_embedded_judge_repeats_its_orders_on_ten_items() -> None:
    made = small_plan(14, judges=(EMBEDDED,))
    assert made.planned == (10 * 20 + 4 * 10,)
    calls = Counter(call.items[0] for call in made.calls())
    assert [calls[k] for k in range(14)] == [20] * REPEATED_SUBJECTS + [10] * 4
    assert "once" in made.notes[0]
    explicit = small_plan(14, judges=(EMBEDDED,), strategies=[{"kind": "balanced", "calls": 20}])
    warm = small_plan(14, judges=(EMBEDDED.model_copy(update={"temperature": 0.7}),))
    few = small_plan(5, judges=(EMBEDDED,))
    assert [whole.planned for whole in (explicit, warm, few)] == [(280,), (280,), (100,)]
    assert not any(whole.notes for whole in (explicit, warm, few))


def test_the_embedded_judges_answer_is_begun() -> None:
    small, api = small_plan(1, judges=(EMBEDDED,)).previews()[0], small_plan(1).previews()[0]
    assert small.messages == (*api.messages, {"role": "assistant", "content": "The score is "})
    not_begun = EMBEDDED.model_copy(update={"options": {"prefill": False}})
    assert len(small_plan(1, judges=(not_begun,)).previews()[0].messages) == 1
    both = small_plan(1, judges=(EMBEDDED,), criteria=ABC, reorder="criteria").previews()[0]
    assert both.messages[-1]["content"] == "Scores:\n[a]"
    assert (
        small_plan(1, judges=(EMBEDDED,), answer="feedback").previews()[0].messages[-1]["role"]
        == "user"
    )


def test_several_criteria_are_items_of_their_own() -> None:
    made = small_plan(2, criteria=(criterion("a"), criterion("b", 3)))
    assert [(item.item_id, item.criterion, item.block) for item in made.items] == [
        ("i0", "a", "i0"),
        ("i0", "b", "i0"),
        ("i1", "a", "i1"),
        ("i1", "b", "i1"),
    ]
    # 5 scores have 10 balanced orders, 3 have 6; each twice, for two texts.
    assert [(c.scores, c.positions) for c in made.conditions] == [
        ((1, 2, 3, 4, 5), 5),
        ((1, 2, 3), 3),
    ]
    assert made.planned == (40, 24)
    frame = made.items_frame()
    assert list(frame["source"]) == [0, 0, 1, 1]
    assert frame["unit_text"].is_unique


@pytest.mark.papers(6, 12)
def test_criteria_in_one_call() -> None:
    made = small_plan(2, criteria=ABC, reorder="criteria")
    assert made.planned == (2 * 6 * 2,)
    (condition,) = made.conditions
    assert (condition.targets, condition.positions, condition.scores) == (
        ("a", "b", "c"),
        3,
        (1, 2, 3, 4, 5),
    )
    calls = list(made.calls())
    assert {call.items for call in calls} == {(0, 1, 2), (3, 4, 5)}
    call = next(call for call in calls if call.ordering.shown == ("b", "c", "a"))
    outcomes = made.parse(call, Reply("[b] 4\n[a] 9\n[c] 2"))
    assert [(o.item, o.slot, o.position, o.status, o.score) for o in outcomes] == [
        (call.items[0], 0, 3, Status.UNPARSED, None),
        (call.items[1], 1, 1, Status.OK, 4.0),
        (call.items[2], 2, 2, Status.OK, 2.0),
    ]
    assert {o.status for o in made.parse(call, Reply("[b] 4", finish="length"))} == {
        Status.TRUNCATED
    }
    assert {o.status for o in made.parse(call, Reply("I'm sorry, I can't."))} == {Status.REFUSED}


def test_rows_of_a_text_come_together_by_block() -> None:
    rows = [("t2", "b"), ("t1", "b"), ("t2", "a"), ("t1", "a"), ("t3", "a")]
    items = tuple(
        Item(f"{text}{name}", f"text of {text}", criterion=name, block=text) for text, name in rows
    )
    made = small_plan(dataset=DataSet("d", items), criteria=ABC, reorder="criteria")
    assert [(item.block, item.criterion) for item in made.items] == [
        ("t2", "a"),
        ("t2", "b"),
        ("t1", "a"),
        ("t1", "b"),
        ("t3", "a"),
    ]
    assert list(made.items_frame()["source"]) == [2, 0, 3, 1, 4]
    assert made.conditions[0].targets == ("a", "b")
    assert made.planned == (2 * 2 * 2,)  # two criteria have two orders
    assert "t3" in made.notes[0]


def test_labels_stand_for_scores() -> None:
    grades = Criterion(
        "grade", (Option(1, "bad", "C"), Option(2, "fair", "B"), Option(3, "good", "A"))
    )
    made = small_plan(1, criteria=(grades,))
    call = next(call for call in made.calls() if call.ordering.shown == (3, 1, 2))
    assert call.ordering.labels == ("A", "C", "B")
    assert "Score A: good\nScore C: bad\nScore B: fair" in call.messages[0]["content"]
    (outcome,) = made.parse(call, Reply("B", top=(("B", -0.1), ("A", -3.0))))
    assert (outcome.score, outcome.position, outcome.status) == (2.0, 3, Status.OK)
    assert outcome.expected == pytest.approx(3 * outcome.p[0] + 2 * outcome.p[2])


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply("4", finish="length"), Status.TRUNCATED),
        (Reply("<think>maybe 2", finish="length"), Status.TRUNCATED),
        (Reply("<think>it is a 3</think>"), Status.UNPARSED),
        (Reply("", finish="length"), Status.TRUNCATED),
        (Reply("4", finish="content_filter"), Status.REFUSED),
        (Reply("No.", finish="refusal"), Status.REFUSED),
        (Reply("I'm sorry, I cannot judge this."), Status.REFUSED),
        (Reply(""), Status.UNPARSED),
        (Reply("4 or 5", top=(("4", -0.1),)), Status.UNPARSED),
        (Reply("", error="HTTP 500", kind="server_error"), Status.ERROR),
    ],
)
def test_how_a_reply_ends_is_a_status(reply: Reply, status: Status) -> None:
    made = small_plan(1)
    (outcome,) = made.parse(made.previews()[0], reply)
    assert (outcome.status, outcome.score, outcome.position) == (status, None, None)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("The score is 5, and", 5.0),
        ("The score is 3.\n\nThis", 3.0),
        ("The score is 5", None),
        ("The score is 4.", None),
        ("The score is 3 or", None),
        ("The score is 555", None),
    ],
)
def test_an_answer_that_was_begun_and_cut_counts_up_to_its_label(
    text: str, score: float | None
) -> None:
    """An embedded model never ends by itself; what anybody else's server cuts is truncated,
    whatever it says.
    """
    small, api = small_plan(1, judges=(EMBEDDED,)), small_plan(1)
    (outcome,) = small.parse(small.previews()[0], Reply(text, finish="length"))
    assert (outcome.score, outcome.status) == (
        score,
        Status.TRUNCATED if score is None else Status.OK,
    )
    assert api.parse(api.previews()[0], Reply(text, finish="length"))[0].status == Status.TRUNCATED


def test_criteria_lines_that_were_begun_and_cut_count_but_the_last() -> None:
    made = small_plan(1, judges=(EMBEDDED,), criteria=ABC, reorder="criteria")
    call = made.previews()[0]
    assert call.max_tokens == 3 * 8  # names of one letter
    outcomes = made.parse(call, Reply("Scores:\n[a] 4\n[b] 2\n[c] 1", finish="length"))
    assert [(o.status, o.score) for o in outcomes] == [
        (Status.OK, 4),
        (Status.OK, 2),
        (Status.TRUNCATED, None),
    ]


def test_previews_show_the_default_order_first() -> None:
    own = small_plan(
        1, strategies=[{"kind": "custom", "orders": [["5", "4", "3", "2", "1"], [1, 2, 3, 4, 5]]}]
    )
    assert [call.ordering.shown for call in own.previews()] == [(1, 2, 3, 4, 5), (5, 4, 3, 2, 1)]
    made = small_plan(2, strategies=["descending", "balanced"])
    assert made.previews()[0].ordering.shown == (1, 2, 3, 4, 5)
    assert made.previews(1)[1].ordering.shown == (5, 4, 3, 2, 1)
    assert made.previews(1)[0] in [*made.calls()]
    with pytest.raises(LabError, match="Item 2 is not part of this study"):
        made.previews(2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"strategies": [{"kind": "balanced", "calls": 7}]}, "cannot ask each equally often"),
        ({"strategies": ["all"]}, "120"),
        ({"strategies": ["min-bias"]}, "lists no orders"),
        ({"strategies": [{"kind": "custom", "orders": [[1, 2, 3]]}]}, "exactly once"),
        ({"reorder": "criteria"}, "two or more criteria"),
        (
            {"reorder": "criteria", "criteria": (criterion("a"), criterion("b", 3))},
            "different scores",
        ),
        (
            {"reorder": "criteria", "criteria": (criterion("a b"), criterion("a-b"))},
            "cannot be told",
        ),
        ({"dataset": DataSet("d", (Item("x", "r", criterion="wit"),))}, "no criterion “wit”"),
        (
            {"dataset": DataSet("d", (Item("x", "r", criterion="quality"), Item("y", "r")))},
            "names no criterion",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_the_first_call(
    change: dict[str, Any], says: str
) -> None:
    with pytest.raises(LabError, match=says):
        small_plan(2, **change)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "says"),
    [
        *CASES["study files"],
        ("x = " + "[" * 5_000, "not valid TOML"),
        ("x = " + "1" * 5_000, "not valid TOML: Exceeds the limit"),
        ("[design]\nseed = 0x" + "f" * 5_000, r"\[design\] seed"),
        ("[design]\nrepeats = true", r"repeats is True; input should be no true or false"),
        (
            "[design.vary]\nreference = [true, 5]",
            r"vary.reference: input should be no true or false",
        ),
        ("[[judges]]\nname = 'j'\nconcurrency = true", r"concurrency is True"),
        ("name = '" + "n" * 30_000 + "'", "at most 200"),
        (
            "[design]\nstrategies = [{kind = 'custom', orders = [" + "[1, 2]," * 1_001 + "]}]",
            "at most 1000 items",
        ),
        (
            "[design.vary]\n" + "".join(f"extra.f{k} = [1, 2]\n" for k in range(10_000)),
            "10,001 combinations; at most",
        ),
        (".".join("a" * 100_000) + " = 1", "more than 1,000 dots"),
        ("[design.vary.extra]\n" + ".".join("a" * 900) + " = [1, 2]", "more than 64 tables deep"),
        (
            "[[judges]]\nname = 'j'\nextra = {a = [0x" + "f" * 500 + "]}",
            r"extra.a.0 is a number of 2,000 bits",
        ),
    ],
)
def test_a_hostile_study_file_is_refused_in_words(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(LabError, match=says):
        read_study(path)


def test_what_is_no_study_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero", tmp_path / "none", "a\0b", "x" * 10_000):
        with pytest.raises(LabError, match="study file"):
            read_study(path)


def test_answers_may_be_as_long_as_their_form() -> None:
    assert small_plan(1).previews()[0].max_tokens == 16
    assert small_plan(1, answer="feedback").previews()[0].max_tokens == 1_024
    assert (
        small_plan(1, judges=(API.model_copy(update={"max_tokens": 77}),)).previews()[0].max_tokens
        == 77
    )
    assert small_plan(1, judges=(EMBEDDED,)).previews()[0].max_tokens == 3


@pytest.mark.thorough
def test_a_large_plan_holds_one_item_at_a_time() -> None:
    """20,000 items x 100 calls: 2,000,000, of which 3,000 are taken; all of them would take some
    1.5 GB.
    """
    made = small_plan(dataset=data(20_000), strategies=[{"kind": "balanced", "calls": 100}])
    assert made.planned == (2_000_000,)
    tracemalloc.start()
    assert sum(1 for _ in itertools.islice(made.calls(), 3_000)) == 3_000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5_000_000
