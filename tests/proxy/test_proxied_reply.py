"""From the replies in several orders to the one that the pipeline gets: by hand."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from rubriclab.study import proxied_reply
from rubriclab.study.proxied_reply import Result, combined, read, undecided
from rubriclab.study.proxied_request import Orders, Spec, in_orders
from tests.proxies import body, comparing, rating
from tests.servers import completion, token_entry


def asked(prompt: str, spec: Spec = "balanced") -> Orders:
    made = in_orders(body(prompt), spec)
    assert isinstance(made, Orders)
    return made


def of(made: Orders, texts: list[Any], **more: Any) -> Result:
    payloads = [text if isinstance(text, dict) else completion(text) for text in texts]
    return combined(made, [read(made, *pair) for pair in zip(made.orders, payloads, strict=True)], **more)


def said(result: Result) -> str:
    assert result.payload is not None, result.why
    return str(result.payload["choices"][0]["message"]["content"])


# ---------------------------------------------------------------- scores


def test_the_reply_nearest_to_the_mean_comes_back_word_for_word() -> None:
    made = asked(rating("x"))
    texts = [f"Because {k}. Score: {score}" for k, score in enumerate([5, 5, 4, 3, 3, 3, 2, 4, 4, 4])]
    result = of(made, texts)
    assert result.about["score"] == 3.7
    assert said(result) == "Because 2. Score: 4"
    assert result.payload is not None
    assert result.payload["rubriclab"]["reads"][3] == {"shown": ["4", "5", "1", "2", "3"], "score": 3}
    assert result.payload["usage"]["prompt_tokens"] == 1000
    assert result.payload["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


def test_where_no_reply_has_the_rounded_mean_the_nearest_real_one_is_returned() -> None:
    result = of(asked(rating("x")), [f"Score: {score}" for score in [1, 1, 1, 1, 5, 5, 5, 5, 5, 5]])
    assert result.about["score"] == 3.4
    assert said(result) == "Score: 5"


def test_half_way_neither_side_always_wins() -> None:
    chosen = {said(of(asked(rating(f"text {k}"), 2), ["Score: 3", "Score: 4"])) for k in range(20)}
    assert chosen == {"Score: 3", "Score: 4"}


@pytest.mark.parametrize(
    ("unread", "enough"), [(["no idea"], True), (["no idea"] * 2, True), (["3 or 4", "", "I cannot"], False)]
)
def test_up_to_a_fifth_may_be_unread(unread: list[str], enough: bool) -> None:
    made = asked(rating("x"))
    result = of(made, unread + ["Score: 3"] * (10 - len(unread)))
    assert (result.payload is not None) == enough
    assert result.about["read"] == 10 - len(unread)
    if not enough:
        assert result.why == "7 of 10 replies could be read"


def test_calls_without_a_reply_count_as_unread() -> None:
    made = asked(rating("x"))
    reads = [read(made, order, completion("Score: 2")) for order in made.orders[:7]]
    assert combined(made, reads, faults=3).payload is None
    assert combined(made, reads, faults=1).about == {"orders": 8, "read": 7, "faults": 1} | {
        key: combined(made, reads, faults=1).about[key] for key in ("score", "returned", "shown", "reads")
    }


REPLIES: list[Any] = [
    {},
    {"choices": []},
    {"choices": [{}, {}]},
    {"choices": [{"message": {"content": None}}]},
    {"choices": [{"message": {"content": "Score: 3", "tool_calls": [1]}}]},
    {"choices": [{"message": {"content": ["Score: 3"]}}]},
    {"choices": [{"message": {"content": "Score: 3", "refusal": "no"}}]},
    {"choices": [{"message": {"content": "Score: 3"}, "finish_reason": "content_filter"}]},
    {"choices": [{"message": {"content": "\0" * 1000}}]},
    {"choices": [{"message": {"content": "Score: 6"}}]},
]


@pytest.mark.parametrize("payload", REPLIES, ids=range(len(REPLIES)))
def test_what_is_no_reply_is_unread(payload: Any) -> None:
    made = asked(rating("x"))
    assert read(made, made.usual, payload).value is None


@pytest.mark.parametrize(
    "logprobs",
    [
        5,
        {},
        {"content": 5},
        {"content": [5]},
        {"content": [{"token": 5}]},
        {"content": [{"token": "Score: 3", "top_logprobs": 7}]},
    ],
)
def test_strange_probabilities_are_none(logprobs: Any) -> None:
    made = asked(rating("x"))
    payload = completion("Score: 3")
    payload["choices"][0]["logprobs"] = logprobs
    one = read(made, made.usual, payload)
    assert (one.value, one.chances) == (3, None)
    assert of(made, [payload] * 10).about["score"] == 3


# ---------------------------------------------------------------- probabilities


def with_chances(label: str, chances: dict[str, float], before: str = "Score:") -> dict[str, Any]:
    top = {f" {name}": log(chance) for name, chance in chances.items()}
    return completion(
        f"{before} {label}", logprobs=[token_entry(before, {before: -0.1}), token_entry(f" {label}", top)]
    )


def test_the_mean_of_expected_scores_and_the_averaged_chances_come_back() -> None:
    made = asked(rating("x"), 2)
    one = with_chances("2", {"1": 0.2, "2": 0.6, "so": 0.2})  # expected 1.75, mass 0.8
    other = with_chances("5", {"5": 0.5, "4": 0.5})  # expected 4.5
    result = of(made, [one, other])
    assert result.about["score"] == pytest.approx(3.125)
    assert result.about["probabilities"] == 2
    assert said(result) == "Score: 2"
    assert result.payload is not None
    entry = result.payload["choices"][0]["logprobs"]["content"][1]
    came = {top["token"]: exp(top["logprob"]) for top in entry["top_logprobs"]}
    assert came == pytest.approx({" 1": 0.9 * 0.125, " 2": 0.9 * 0.375, " 4": 0.9 * 0.25, " 5": 0.9 * 0.25})
    assert exp(entry["logprob"]) == pytest.approx(0.9 * 0.375)
    # What a pipeline computes of it is the mean of both expected scores.
    total = sum(came.values())
    assert sum(int(token) * chance / total for token, chance in came.items()) == pytest.approx(3.125)
    assert result.payload["choices"][0]["logprobs"]["content"][0] == one["choices"][0]["logprobs"]["content"][0]


def test_a_reply_without_chances_counts_as_what_it_names() -> None:
    result = of(asked(rating("x"), 2), [with_chances("2", {"2": 0.5, "1": 0.5}), "Score: 4"])
    assert result.about["score"] == pytest.approx(2.75)
    assert result.about["probabilities"] == 1
    assert result.payload is not None
    entry = result.payload["choices"][0]["logprobs"]["content"][1]
    assert sum(int(t["token"]) * exp(t["logprob"]) for t in entry["top_logprobs"]) == pytest.approx(2.75)


# ---------------------------------------------------------------- pairs

TIE = 'End with "[[A]]", "[[B]]" or "[[C]]" for a tie.'


def test_both_orders_agree_and_the_usual_reply_comes_back() -> None:
    result = of(asked(comparing("x", "y")), ["Fine. [[B]]", "Good. [[A]]"])
    assert said(result) == "Fine. [[B]]"
    assert result.about == {**result.about, "share": 0.0, "prefers": 2, "returned": "B"}
    assert "disagree" not in result.about
    assert "edited" not in result.about


def test_a_disagreement_is_a_tie_where_the_prompt_offers_one_and_that_is_said() -> None:
    result = of(asked(comparing("x", "y", TIE)), ["A is good. [[A]]", "A again. [[A]]"])
    assert said(result) == "A is good. [[C]]"
    assert (result.about["disagree"], result.about["edited"]) == ("tie", True)


def test_a_tie_against_a_preference_is_no_tie() -> None:
    result = of(asked(comparing("x", "y", TIE)), ["Equal. [[C]]", "B it is. [[B]]"])
    assert result.about["share"] == 0.75
    assert said(result) == "B it is. [[A]]", "the swapped reply, its verdict turned back"


def test_without_a_tie_the_chances_tell() -> None:
    def reply(label: str, chances: dict[str, float]) -> dict[str, Any]:
        top = {name: log(chance) for name, chance in chances.items()}
        return completion(
            f"[[{label}]]", logprobs=[token_entry("[[", {}), token_entry(label, top), token_entry("]]", {})]
        )

    made = asked(comparing("x", "y"))
    # Shown first: 0.6 for x; swapped: 0.9 for y, so x has 0.35 in the mean.
    result = of(made, [reply("A", {"A": 0.6, "B": 0.4}), reply("A", {"A": 0.9, "B": 0.1})])
    assert result.about["disagree"] == "probabilities"
    assert said(result) == "[[B]]"
    assert result.payload is not None
    entry = result.payload["choices"][0]["logprobs"]["content"][1]
    assert entry["token"] == "B"
    assert {t["token"]: round(exp(t["logprob"]), 6) for t in entry["top_logprobs"]} == {"A": 0.35, "B": 0.65}
    assert undecided(made, [read(made, made.usual, reply("A", {"A": 0.6, "B": 0.4}))]) is None


def test_else_one_more_call_decides_in_an_order_that_over_pairs_is_even() -> None:
    more = []
    for k in range(60):
        made = asked(comparing(f"x {k}", "y"))
        reads = [read(made, order, completion("[[A]]")) for order in made.orders]
        again = undecided(made, reads)
        assert again is not None
        more.append(again)
        result = combined(made, [*reads, read(made, again, completion("[[A]]"))])
        assert result.about["disagree"] == "most of 3 replies"
        assert said(result) == ("[[A]]" if again == (0, 1) else "[[B]]")
        assert combined(made, reads).payload is None
    assert 15 <= more.count((0, 1)) <= 45


@pytest.mark.parametrize(
    ("end", "usual", "swapped", "back"),
    [
        (
            'As JSON: {"reason": …, "winner": "A", "B" or "tie"}',
            '{"reason": "A", "winner": "A"}',
            None,
            '{"reason": "A", "winner": "tie"}',
        ),
        (
            "Reply in <winner>A</winner> or <winner>B</winner>, “tie” for a tie.",
            "<winner>B</winner>",
            None,
            "<winner>tie</winner>",
        ),
        ('Reply "[[A>B]]", "[[B>A]]" or "[[A=B]]".', "So: [[A>>B]]", "So: [[B>>A]]", "So: [[A>>B]]"),
        ("[[A]], [[B]] or “tie”", "My verdict: **Assistant A**", None, "My verdict: **tie**"),
    ],
)
def test_a_verdict_is_written_in_the_pipelines_own_format(end: str, usual: str, swapped: str | None, back: str) -> None:
    assert said(of(asked(comparing("x", "y", end)), [usual, swapped or usual])) == back


def test_a_letter_is_written_as_the_reply_writes_it() -> None:
    prompt = 'Which?\n<response_a>\none\n</response_a>\n<response_b>\ntwo\n</response_b>\nJSON: {"winner": "A" or "B"}'
    made = asked(prompt)
    reads = [read(made, order, completion('{"winner": "A"}')) for order in made.orders]
    result = combined(made, [*reads, read(made, (1, 0), completion('{"winner": "A"}'))])
    assert said(result) == '{"winner": "B"}'


def test_a_verdict_that_would_not_be_read_back_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    made = asked(comparing("x", "y", TIE))
    monkeypatch.setattr(proxied_reply, "_written", lambda *_: ["perhaps"])
    result = of(made, ["[[A]]", "[[A]]"])
    assert result.payload is None
    assert result.why == "the verdict of both orders could not be written into a reply"
