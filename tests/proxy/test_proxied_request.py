"""From a pipeline's request to the requests in other orders, or to the reason why it is left alone."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rubriclab.datasets.logs import Source
from rubriclab.datasets.logs.prompted import NO_LIST, SEVERAL
from rubriclab.model import DataError
from rubriclab.study import proxied_request
from rubriclab.study.proxied_request import MAX_PROMPT, Orders, Untouched, in_orders, learnt_from, orders_of
from tests.proxies import body, comparing, rating, request

STRANGERS = Path(__file__).resolve().parents[1] / "prompts" / "strangers"


def found(sent: bytes, spec: Any = "balanced") -> Orders:
    made = in_orders(sent, spec)
    assert isinstance(made, Orders), made
    return made


def why(sent: bytes | dict[str, Any]) -> str:
    made = in_orders(sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    assert isinstance(made, Untouched)
    return made.why


def prompt_in(made: Orders, order: tuple[int, ...]) -> str:
    return str(json.loads(made.asked(order))["messages"][-1]["content"])


def test_every_order_is_the_pipelines_own_prompt_with_its_options_moved() -> None:
    sent = body(rating("a text", (3, 1, 2, 5, 4)), temperature=0.5, seed=7, metadata={"run": "x"})
    made = found(sent)
    assert made.values == (3, 1, 2, 5, 4)
    assert made.orders[0] == made.usual
    assert json.loads(made.asked(made.usual)) == json.loads(sent)
    for order in made.orders:
        assert prompt_in(made, order) == rating("a text", tuple(int(made.values[k]) for k in order))
        assert made.labels(order) == (tuple(f"{made.values[k]:g}" for k in order),)
    places = Counter((entry, place) for order in made.orders for place, entry in enumerate(order))
    assert set(places.values()) == {2}
    assert len(places) == 25


def test_a_pair_changes_places_under_labels_that_stay() -> None:
    made = found(body(comparing("first\n\n1. of two", "second")))
    assert made.pair
    assert made.orders == ((0, 1), (1, 0))
    assert prompt_in(made, (1, 0)) == comparing("second", "first\n\n1. of two")
    assert made.labels((1, 0)) == (("A", "B"),)
    assert made.tie == ""


@pytest.mark.parametrize(
    ("end", "tie"),
    [
        ('Output "[[A]]" or "[[B]]", "[[C]]" for a tie.', "C"),
        ('Answer as JSON: {"winner": "A", "B" or "tie"}', "tie"),
        ("End with [[A]] or [[B]].", ""),
    ],
)
def test_a_tie_is_known_by_what_the_prompt_offers(end: str, tie: str) -> None:
    assert found(body(comparing("one", "two", end))).tie == tie


@pytest.mark.parametrize("path", sorted(STRANGERS.glob("*.txt")), ids=lambda path: path.stem)
def test_prompts_of_strangers_are_put_together_again_sign_for_sign(path: Path) -> None:
    sent = body(path.read_text(encoding="utf-8"))
    if path.stem == "trap_two_lists":
        assert why(sent) == SEVERAL
        return
    made = found(sent)
    assert json.loads(made.asked(made.usual)) == json.loads(sent)
    for order in made.orders:
        moved = prompt_in(made, order)
        assert Counter(moved) == Counter(prompt_in(made, made.usual))
        starts = [moved.index(made.parts.entries[k].text, len(made.parts.fixed[0])) for k in order]
        assert starts == sorted(starts)


def test_letters_and_words_are_worth_what_they_mean_and_half_points_what_they_say() -> None:
    letters = found(body((STRANGERS / "letters.txt").read_text(encoding="utf-8")))
    assert letters.values == (4, 3, 2, 1)
    halves = (
        "Rate it.\n\nScores:\n0.5: bad\n1: fair\n1.5: good\n2: excellent\n\nText: hello\n\nReply with the score only."
    )
    assert found(body(halves)).values == (0.5, 1, 1.5, 2)


def test_a_system_message_and_a_text_in_one_part_stay_in_their_form() -> None:
    parts = [{"type": "text", "text": rating("x"), "cache_control": {"type": "ephemeral"}}]
    sent = {
        "messages": [{"role": "developer", "content": "Be strict."}, {"role": "user", "content": parts, "name": "n"}]
    }
    made = found(json.dumps(sent).encode())
    moved = json.loads(made.asked(made.orders[1]))
    assert moved["messages"][0] == sent["messages"][0]
    assert {**moved["messages"][1]["content"][0], "text": 0} == {**parts[0], "text": 0}
    assert moved["messages"][1]["name"] == "n"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"stream": True}, proxied_request.STREAMED),
        ({"n": 2}, proxied_request.SEVERAL_REPLIES),
        ({"n": "1"}, proxied_request.SEVERAL_REPLIES),
        ({"tools": [{"type": "function"}]}, proxied_request.TOOLS),
        ({"functions": [{}]}, proxied_request.TOOLS),
        ({"modalities": ["text", "audio"]}, proxied_request.SOUND),
        ({"messages": []}, proxied_request.NOT_JSON),
        ({"messages": "x"}, proxied_request.NOT_JSON),
        ({"messages": [5]}, proxied_request.NOT_TEXT),
        ({"messages": [{"role": "tool", "content": "x"}]}, proxied_request.ROLE),
        ({"messages": [{"role": [], "content": "x"}]}, proxied_request.ROLE),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            proxied_request.NOT_TEXT,
        ),
        ({"messages": [{"role": "assistant", "content": None, "tool_calls": [{}]}]}, proxied_request.NOT_TEXT),
        ({"messages": [{"role": "user", "content": "What is the capital of France?"}]}, NO_LIST),
        ({"messages": [{"role": "user", "content": "x" * (MAX_PROMPT + 1)}]}, proxied_request.LONG),
        ({"messages": [{"role": "user", "content": comparing("same", "same")}]}, "same text"),
    ],
)
def test_what_is_not_understood_is_left_alone_with_the_reason(more: dict[str, Any], reason: str) -> None:
    assert reason in why({**request(rating("x")), **more})


def test_a_response_whose_end_only_the_reader_knows_is_not_moved() -> None:
    open_end = (
        "Which is better?\n\n## Answer A:\none\n\n## Answer B:\ntwo\n\nmore of two\n\n## Verdict\n[[A]] or [[B]]?"
    )
    assert why(body(open_end)) == proxied_request.OPEN_END
    paragraphs = (
        "Scores:\n1: bad\n\nmeans bad.\n\n2: good\n\nmeans good.\n\n3: best\n\nmeans best.\n\nText: x\nScore only:"
    )
    assert why(body(paragraphs)) in (proxied_request.OPEN_END, NO_LIST)


def opened(one: str, other: str) -> str:
    return f"Which is better?\n\n## Answer A:\n{one}\n\n## Answer B:\n{other}\n\n## Verdict\nEnd with [[A]] or [[B]]."


def test_a_log_says_where_open_responses_end() -> None:
    texts = [(f"one {k}", f"two {k}\n\n- more of {k}\n\nand more, {k}") for k in range(8)]
    lines = [{"prompt": opened(*pair), "reply": "[[A]]"} for pair in texts]
    learnt = learnt_from(Source("\n".join(map(json.dumps, lines)).encode(), name="log.jsonl"))
    mine = ("mine", "yours\n\n1. with a list\n\nand an end")
    made = in_orders(body(opened(*mine)), "balanced", learnt)
    assert isinstance(made, Orders)
    assert prompt_in(made, (1, 0)) == opened(*mine[::-1])
    for other in (rating("x"), comparing("x", "y")):  # what the log does not know is found as without it
        assert in_orders(body(other), "balanced", learnt) == in_orders(body(other))
    with pytest.raises(DataError, match="no log with prompts"):
        learnt_from(Source(b"a,b\n1,2\n", name="no.csv"))


def test_three_candidates_are_not_two() -> None:
    three = "".join(
        f"[The Start of Assistant {x}'s Answer]\ntext {x}\n[The End of Assistant {x}'s Answer]\n\n" for x in "ABC"
    )
    assert why(body(f"Which is best?\n\n{three}[[A]], [[B]] or [[C]]?")) == proxied_request.THREE


# ---------------------------------------------------------------- orders


def test_so_many_orders_are_balanced_over_prompts_and_mirrored_within_one() -> None:
    for k in (1, 2, 3, 4, 6):
        places: Counter[tuple[int, int]] = Counter()
        for key in range(0, 40, 2):
            orders = orders_of(k, 5, key, pair=False)
            assert len(set(orders)) == len(orders) == k
            assert sum(order[::-1] in orders for order in orders) >= k - 1
            places.update((entry, place) for order in orders for place, entry in enumerate(order))
        assert len(places) == 25
        assert len(set(places.values())) == (1 if k % 2 == 0 else len(set(places.values())))
    assert Counter(orders_of(20, 5, 3, pair=False)) == Counter(2 * orders_of("balanced", 5, 3, pair=False))


def test_all_fixed_and_pairs() -> None:
    assert len(set(orders_of("all", 4, 0, pair=False))) == 24
    assert orders_of("all", 7, 0, pair=False) == orders_of("balanced", 7, 0, pair=False)
    assert orders_of("fixed", 5, 0, pair=False) == ((0, 1, 2, 3, 4),)
    assert orders_of("all", 2, 9, pair=True) == ((0, 1), (1, 0))
    assert orders_of("balanced", 2, 9, pair=False) == ((0, 1), (1, 0))
    assert {orders_of(1, 2, key, pair=True) for key in range(8)} == {((0, 1),), ((1, 0),)}
    assert orders_of(4, 2, 0, pair=True).count((0, 1)) == 2


def test_the_same_prompt_gets_the_same_orders_and_coin_whatever_came_before() -> None:
    sent = [body(rating(f"text {k}")) for k in range(40)]
    before = [found(one, 4) for one in sent]
    random.Random(1).shuffle(sent)
    after = {one.asked(one.usual): one for one in (found(one, 4) for one in sent)}
    for one in before:
        assert after[one.asked(one.usual)].orders == one.orders
    assert 10 <= sum(one.coin for one in before) <= 30
    swapped = [found(body(comparing(*pair))).coin for pair in (("x1", "y"), ("y", "x1"))]
    assert swapped[0] == swapped[1]


# ---------------------------------------------------------------- whatever comes

HOSTILE = {
    "thousands of options": "Scores:\n" + "\n".join(f"Score {k}: word {k}" for k in range(1_900)),
    "many lists": "\n\n".join("Scores:\n" + "\n".join(f"{s}: w{s} {k}" for s in range(1, 6)) for k in range(250)),
    "a table without end": "|a" * 49_000,
    "objects": '{"score": 1, "t": "' * 4_000,
    "brackets": "[" * 99_000,
    "tags": "<a>" * 33_000,
    "white space": " " * 99_000,
    "options within a line": "scale " + ", ".join(f"{k} = a{k}" for k in range(7_000)),
    "a megabyte": "x" * 1_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_prompt_is_left_alone_at_once(name: str) -> None:
    started = time.process_time()
    assert isinstance(in_orders(body(HOSTILE[name])), Untouched)
    assert time.process_time() - started < 4.0
