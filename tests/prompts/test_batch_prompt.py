"""Several responses in one prompt: what is asked, and what is read of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rubriclab.model import Criterion, Item, Reply, Rubric, ScoreOption, Strategy, StudyError, designs
from rubriclab.model.prompt import AnswerRule, PromptMessage, PromptTemplate
from rubriclab.study.plan import plan
from rubriclab.study.prompts.batch import BATCH_BEGUN, render_batch
from rubriclab.study.prompts.parse_batch import parse_batch
from tests.labkit import criterion, items, study

FOUR = {1: 4, 2: 3, 3: 5, 4: 1}


@pytest.mark.parametrize(
    "text",
    [
        "[Response 1] 4\n[Response 2] 3\n[Response 3] 5\n[Response 4] 1",
        "[Response 1] 4 [Response 2] 3 [Response 3] 5 [Response 4] 1",
        "**Response 1:** 4\n**Response 2:** 3\n**Response 3:** 5\n**Response 4:** 1",
        "Response 1: 4/5, Response 2: 3/5, Response 3: 5/5, Response 4: 1/5",
        "Response #1 = 4; Response #2 = 3; Response #3 = 5; Response #4 = 1",
        "| Response 1 | 4 |\n| Response 2 | 3 |\n| Response 3 | 5 |\n| Response 4 | 1 |",
        "Response 1 (score): 4\nResponse 2 - 3\nResponse 3 gets 5\nResponse 4 is 1",
        '{"response_1": 4, "response_2": 3, "response_3": 5, "response_4": 1}',
        '```json\n{"1": 4, "2": 3, "3": 5, "4": 1}\n```',
        '{"scores": [4, 3, 5, 1]}',
        "1. 4\n2. 3\n3. 5\n4. 1",
        "1) 4\n2) 3\n3) 5\n4) 1",
        "[1] 4\n[2] 3\n[3] 5\n[4] 1",
        "[4] [3] [5] [1]",
        "4\n3\n5\n1",
        "The scores are: 4, 3, 5, 1.",
        "<think>Response 1: 1, Response 2: 1</think>[Response 1] 4\n[Response 2] 3\n[Response 3] 5\n[Response 4] 1",
        "Response 1: Sound, in 2 steps.\nScore: 4\n\nResponse 2: Less so.\nScore: 3\n\nResponse 3: Fine.\nScore: 5\n\n"
        "Response 4: Off.\nScore: 1",
    ],
)
def test_scores_are_read_however_they_are_laid_out(text: str) -> None:
    assert parse_batch(text, 4, (1, 2, 3, 4, 5)).scores == FOUR


@pytest.mark.parametrize(
    ("text", "scores", "why"),
    [
        ("[Response 1] 4\n[Response 3] 2", {1: 4, 3: 2}, {2: "missing", 4: "missing"}),
        ("[Response 1] 4\n[Response 1] 2\n[Response 2] 3", {2: 3}, {1: "repeated", 3: "missing", 4: "missing"}),
        (
            "Response 1: 4 or 5\nResponse 2: 7\nResponse 3: 3.5\nResponse 4: 8/10",
            {},
            dict.fromkeys(range(1, 5), "invalid"),
        ),
        ("4, 3, 5", {}, dict.fromkeys(range(1, 5), "missing")),
        ("I like response 2 best.", {}, dict.fromkeys(range(1, 5), "missing")),
        ("Response A: 4", {}, dict.fromkeys(range(1, 5), "missing")),
        ("", {}, dict.fromkeys(range(1, 5), "missing")),
    ],
)
def test_what_can_be_read_in_two_ways_is_not_read(text: str, scores: dict[int, int], why: dict[int, str]) -> None:
    found = parse_batch(text, 4, (1, 2, 3, 4, 5))
    assert (found.scores, found.why) == (scores, why)


def test_a_begun_answer_goes_on_after_its_first_name() -> None:
    rest = " 4\n[Response 2] 3\n[Response 3] 5\n[Response 4] 1"
    assert parse_batch(rest, 4, (1, 2, 3, 4, 5), begun=True).scores == FOUR
    assert parse_batch(rest, 4, (1, 2, 3, 4, 5)).scores == {2: 3, 3: 5, 4: 1}
    assert parse_batch("4, 3, 5, 1", 4, (1, 2, 3, 4, 5), begun=True).scores == FOUR
    assert parse_batch(BATCH_BEGUN + rest, 4, (1, 2, 3, 4, 5), begun=True).scores == FOUR


def test_a_repeated_prompt_is_no_answer() -> None:
    (message,) = render_batch([Item("a", "ask", "Response 1: 5"), Item("b", "ask", "no")], criterion())
    assert parse_batch(message["content"], 2, (1, 2, 3, 4, 5)).scores == {}
    assert parse_batch(message["content"] + "\n[Response 1] 2", 2, (1, 2, 3, 4, 5)).scores == {1: 2}


def test_a_shared_instruction_is_shown_once() -> None:
    (message,) = render_batch([Item("a", "Say hello.", "hi"), Item("b", "Say hello.", "yo")], criterion(2))
    assert message["content"].count("Say hello.") == 1
    assert "one of 1, 2" in message["content"]
    (message,) = render_batch([Item("a", "one", "hi"), Item("b", "two", "yo")], criterion())
    assert message["content"].index("one") < message["content"].index("hi") < message["content"].index("two")


def test_each_response_is_at_each_place_and_after_each_other_once() -> None:
    planned = plan(study(12, axis="batch", batch_size=4, strategies=(Strategy("williams"),)))
    batches = [arm for arm in planned.arms if arm.n_positions == 4]
    assert len(batches) == 1
    shown = [call.ordering.shown for call in planned.calls() if len(call.items) == 4]
    assert len(shown) == 12
    for start in range(0, 12, 4):
        four = shown[start : start + 4]
        found = designs.balance(sorted(map(str, four[0])), four)
        assert found.position_balanced
        assert found.neighbour_balanced
    assert Counter(i for line in shown for i in line) == dict.fromkeys((f"i{k}" for k in range(12)), 4)


def test_each_item_is_asked_alone_as_the_options_axis_asks_it() -> None:
    """Same words, same key: what one study asked need not be asked again."""
    alone = [
        c
        for c in plan(study(5, axis="batch", batch_size=2, strategies=(Strategy("williams"),))).calls()
        if len(c.items) == 1
    ]
    usual = list(plan(study(5, strategies=(Strategy("fixed", reads=2),))).calls())
    assert {call.key for call in alone} == {call.key for call in usual}
    assert len(alone) == 10


def test_a_last_batch_is_filled_and_no_read_is_counted_twice() -> None:
    planned = plan(study(10, axis="batch", batch_size=4, batch_draws=2, strategies=(Strategy("williams"),)))
    assert "2 items of “quality” stand in two batches of 4" in planned.notes[0]
    reads = Counter((c.arm, i, c.read) for c in planned.calls() for i in c.items)
    assert set(reads.values()) == {1}
    first, again = (
        {frozenset(u.items) for u in planned.units if len(u.items) == 4 and f"draw {d}" in u.id} for d in (1, 2)
    )
    assert first != again


def test_sizes_are_a_factor_with_the_single_call_beside_them() -> None:
    planned = plan(study(8, axis="batch", factors={"batch_size": (2, 4)}, strategies=(Strategy("williams"),)))
    assert [(arm.variant.get("batch_size"), arm.n_positions) for arm in planned.arms] == [(2, 2), (4, 4), (1, 1)]
    assert planned.planned == (8, 8, 16)


@pytest.mark.parametrize("size", [0, 51, "four", True])
def test_a_size_that_is_none_is_refused(size: object) -> None:
    with pytest.raises(StudyError, match="batch_size"):
        plan(study(8, axis="batch", factors={"batch_size": (size,)}))
    with pytest.raises(StudyError, match="needs 9 items"):
        plan(study(8, axis="batch", batch_size=9))


def test_every_response_of_a_reply_has_a_status() -> None:
    planned = plan(study(4, axis="batch", strategies=(Strategy("williams"),)))
    call = next(c for c in planned.calls() if len(c.items) == 4)
    outcomes = planned.read(call, Reply(text="[Response 1] 5\n[Response 2] 9\n[Response 7] 2")).outcomes
    assert [(o.status, o.score, o.position, o.kind) for o in outcomes] == [
        ("ok", 5, 1, "responses that were not shown are named"),
        ("unparsed", None, 2, "invalid"),
        ("unparsed", None, 3, "missing"),
        ("unparsed", None, 4, "missing"),
    ]
    assert [o.item for o in outcomes] == list(call.items)


OWN = PromptTemplate(
    "mine",
    (
        PromptMessage(
            "user",
            "Grade each under {{ criterion.name }} ({{ labels | join(', ') }}).\n"
            "{% for response in responses %}{{ response.label }}: {{ response.response }}\n{% endfor %}"
            'Reply with JSON: {"scores": {"Response 1": ...}}',
        ),
    ),
    AnswerRule("json", path="scores.{response}"),
)


def test_an_own_prompt_is_sent_and_its_labels_are_read() -> None:
    scale = Criterion(
        "tone", (ScoreOption(1, label="poor"), ScoreOption(2, label="fair"), ScoreOption(3, label="good"))
    )
    own = replace(
        study(4, axis="batch", batch_size=2, strategies=(Strategy("williams"),)),
        rubric=Rubric("r", (scale,)),
        prompts=(OWN,),
    )
    planned = plan(own)
    call = next(c for c in planned.calls() if len(c.items) == 2)
    shown = [items(4)[i].response for i in call.items]
    assert f"Response 1: {shown[0]}\nResponse 2: {shown[1]}\n" in call.messages[0]["content"]
    outcomes = planned.read(call, Reply(text='{"scores": {"Response 1": "good", "response_2": "poor"}}')).outcomes
    assert [(o.status, o.score) for o in outcomes] == [("ok", 3), ("ok", 1)]
    alone = next(c for c in planned.calls() if len(c.items) == 1)
    (one,) = planned.read(alone, Reply(text='{"scores": {"Response 1": "fair"}}')).outcomes
    assert (one.score, one.position) == (2, 1)
