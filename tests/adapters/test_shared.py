"""What a tool's texts become, and what a tool is given: no tool needed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from rubriclab import apply
from rubriclab.apply.adapters.shared import checked, item_of, refused, share, verdict
from rubriclab.apply.card import card_of
from rubriclab.model import Strategy
from tests.cards import API, asked, card_of_study
from tests.labkit import study
from tests.servers import completion, token_entry
from tests.test_apply import answer, options_study, pairs, texts


@cache
def pair() -> dict[str, Any]:
    return card_of_study(pairs(), answer)


@cache
def options() -> dict[str, Any]:
    return card_of_study(study(3, judges=(API,), strategies=(Strategy("balanced"),)), asked)


def told(card: dict[str, Any], replies: Any, item: dict[str, Any], *, cure: str | None = None, **how: Any) -> Any:
    judge = apply.load(card, client=lambda _: completion(next(replies)), cure=cure)
    checked(judge, **how)
    return verdict(judge, item, judge.score(item), **how)


@pytest.mark.slow
def test_the_target_is_the_reference_of_the_best_score_where_the_card_shows_it() -> None:
    shown = card_of(card_of_study(options_study(), answer))
    hidden = card_of(card_of_study(options_study(show_reference=False), answer))
    assert shown.reference == "best"
    assert item_of(shown, instruction="q", response="a", target="ideal")["references"] == {5: "ideal"}
    assert "references" not in item_of(hidden, instruction="q", response="a", target="ideal")
    assert "references" not in item_of(shown, instruction="q", response="a")


def test_columns_that_name_a_part_of_the_item_are_it_and_what_is_no_text_or_number_is_left_out() -> None:
    card = card_of(options())
    columns = {"criterion": "c", "block": "b", "topic": "t", "n": 3, "list": [1], "flag": True, "response": "other"}
    item = item_of(card, instruction="q", response="a", columns=columns)
    assert (item["criterion"], item["block"], item["response"]) == ("c", "b", "a")
    assert item["columns"] == {"criterion": "c", "block": "b", "topic": "t", "n": 3, "response": "other"}
    assert item_of(card, instruction="q", response="a", columns=columns, criterion="d")["criterion"] == "d"


@pytest.mark.slow
def test_a_pair_is_the_output_and_the_baseline_or_else_the_target() -> None:
    card = card_of(pair())
    both = item_of(card, instruction="q", response="a", target="t", columns={"baseline": "b"})
    assert both["responses"] == ["a", "b"]
    assert item_of(card, instruction="q", response="a", target="t")["responses"] == ["a", "t"]
    judge = apply.load(card.raw, client=lambda _: completion("[[A]]"))
    with pytest.raises(apply.ItemError, match="a list of two"):
        judge.score(item_of(card, instruction="q", response="a"))


@pytest.mark.slow
def test_a_share_goes_from_the_lowest_score_to_the_highest() -> None:
    card = card_of(options())
    assert [share(card, score) for score in (1, 3, 4.5, 5, 5.2)] == [0, 0.5, 0.875, 1, 1]
    assert share(card_of(pair()), 0.5) == 0.5


def test_what_was_read_has_a_score_its_interval_and_a_record_of_every_call() -> None:
    replies = iter(["4", "no idea", "2", *["3"] * 7])
    made = told(options(), replies, {"instruction": "q", "response": "x"})
    assert (made.score, made.share, made.why) == (3.0, 0.5, "")
    assert made.words.startswith("Judge card, way “all-10”: score 3.00 (95 % interval over orders ")
    assert made.words.endswith("9 of 10 replies read.")
    reads = made.record["reads"]
    assert [read["status"] for read in reads] == ["ok", "unparsed", *["ok"] * 8]
    assert reads[1]["text"] == "no idea"
    assert "score" not in reads[1]
    assert {tuple(read["order"]) for read in reads} == set(apply.load(options(), client=print).cure.orders)
    assert all("###The instruction to evaluate:\nq" in read["messages"][0]["content"] for read in reads)
    assert json.loads(json.dumps(made.record)) == made.record


def test_the_interval_stands_behind_the_mean_that_it_is_of() -> None:
    reply = completion("3", logprobs=[token_entry("3", {"3": -0.1, "1": -3.0, "5": -4.0})])
    judge = apply.load(options(), client=lambda _: reply, cure="orders-2")
    item = {"response": "x"}
    made = verdict(judge, item, judge.score(item), value="expected")
    assert made.score == judge.score(item).expected
    assert f"score 3.00; expected score {made.score:.2f} (95 % interval over orders " in made.words


@pytest.mark.parametrize(
    ("replies", "value", "why"),
    [
        (["no"] * 10, "score", "No score: 10 of 10 replies gave no answer. The first of them: unparsed"),
        (["3"] * 10, "expected", "No score: not every reply came with token probabilities."),
    ],
)
def test_what_was_not_judged_has_no_number_and_says_why(replies: list[str], value: str, why: str) -> None:
    made = told(options(), iter(replies), {"response": "x"}, value=value)
    assert (made.score, made.share, made.why, made.words) == (None, None, why, why)


@pytest.mark.slow
def test_criteria_of_one_call_have_a_mean_only_where_each_was_read() -> None:
    card = card_of_study(texts(), answer)
    whole, part = ['{"scores": {"a": 1, "b": 5, "c": 3}}', "[a] 1\n[b] 5\n[c] 3"], ["[a] 1\n[b] 5"]
    item = {"instruction": "q", "response": "x"}
    made = told(card, iter(whole[1:] * 20), item)
    assert (made.score, dict(made.criteria)) == (3.0, {"a": 1.0, "b": 5.0, "c": 3.0})
    assert made.shares == {"a": 0.0, "b": 1.0, "c": 0.5}
    made = told(card, iter(part * 20), item)
    assert made.score is None
    assert made.shares == {} or set(made.shares) <= {"a", "b"}
    assert made.why.startswith("No score: ")
    assert told(card, iter(whole[1:] * 20), item, criterion="b").score == 5.0


@pytest.mark.slow
def test_what_the_card_cannot_give_is_refused_at_once() -> None:
    judge = apply.load(options(), client=print)
    with pytest.raises(apply.CardError, match="expected “score” or “expected”"):
        checked(judge, value="mean")
    with pytest.raises(apply.CardError, match="no criterion “tone”"):
        checked(judge, criterion="tone")
    with pytest.raises(apply.CardError, match="no expected score"):
        checked(apply.load(card_of_study(texts(), answer), client=print), value="expected")


def test_an_item_that_cannot_be_asked_about_has_no_score_and_no_calls() -> None:
    judge = apply.load(options(), client=print)
    made = refused(judge, {"response": ""}, apply.ItemError("The item has no “response”."))
    assert (made.score, made.share, made.why) == (None, None, "No score: The item has no “response”.")
    assert (made.record["reads"], made.record["unread"]) == ([], 0)


@pytest.mark.slow
def test_a_card_is_loaded_without_any_adapter() -> None:
    code = "import sys; import rubriclab.apply; print([m for m in sys.modules if '.apply.adapters' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
