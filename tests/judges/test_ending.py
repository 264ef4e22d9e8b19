"""Obey how a server says that a reply ended: only a few words mean that it is whole."""

import json

import pytest

from rubriclab.judges.faults import Fault
from rubriclab.judges.reply import read_completion
from rubriclab.logs.tools import finish_in, text_in
from rubriclab.model.ending import ending_of, not_read, why_not_whole
from rubriclab.model.judgment import Reply, Status
from tests.study.kit import small_plan


@pytest.mark.parametrize(
    ("finish", "ending"),
    [
        (None, "whole"),
        ("", "whole"),
        ("STOP", "whole"),
        ("eos_token", "whole"),
        ("end_turn", "whole"),
        ("FinishReason.STOP", "whole"),
        ("tool_calls", "whole"),
        ("length", "cut"),
        ("MAX_TOKENS", "cut"),
        ("model_length", "cut"),
        ("FinishReason.MAX_TOKENS", "cut"),
        ("content-filter", "held back"),
        ("SAFETY", "held back"),
        ("RECITATION", "held back"),
        ("insufficient_system_resource", "failed"),
        ("a word of tomorrow", "failed"),
    ],
)
def test_a_finish_reason_is_whole_or_not(finish: str | None, ending: str) -> None:
    assert ending_of(finish) == ending
    assert (why_not_whole(finish) == "") == (ending == "whole")


@pytest.mark.parametrize(
    ("finish", "status"),
    [
        ("stop", Status.OK),
        ("MAX_TOKENS", Status.TRUNCATED),
        ("model_length", Status.TRUNCATED),
        ("SAFETY", Status.REFUSED),
        ("content-filter", Status.REFUSED),
        ("OTHER", Status.ERROR),
    ],
)
def test_a_reply_that_is_not_whole_has_no_score(finish: str, status: Status) -> None:
    plan = small_plan(count=1)
    call = next(iter(plan.calls()))
    (outcome,) = plan.parse(call, Reply("Score: 1", finish=finish))
    assert outcome.status is status
    assert (outcome.score is None) == (status is not Status.OK)
    assert outcome.why == why_not_whole(finish)


def body(message: dict[str, object], **choice: object) -> bytes:
    return json.dumps({"choices": [{"message": message, **choice}]}).encode()


def test_parts_that_are_no_answer_are_left_out() -> None:
    parts = [
        {"type": "reasoning", "text": "One may give it a 2."},
        {"type": "thinking", "thinking": "or a 3"},
        {"type": "text", "text": "4"},
    ]
    assert read_completion(body({"content": parts}), {}).text == "4"
    assert text_in({"content": parts}) == "4"
    used = [{"type": "tool_use", "name": "answer", "input": {"score": 2}}]
    assert read_completion(body({"content": used}), {}).text == '{"score": 2}'


@pytest.mark.parametrize("finish", ["abort", "network_error", "insufficient_system_resource"])
def test_an_answer_that_the_server_gave_up_is_asked_again(finish: str) -> None:
    with pytest.raises(Fault, match="gave up"):
        read_completion(body({"content": "Score: 1"}, finish_reason=finish), {})


def test_an_error_on_the_choice_is_no_answer() -> None:
    with pytest.raises(Fault):
        read_completion(body({"content": "Score: 1"}, error={"message": "it broke"}), {})


def test_logs_say_how_a_reply_ended() -> None:
    assert finish_in({"choices": [{"finish_reason": "length"}]}) == "length"
    assert finish_in('{"stop_reason": "max_tokens", "content": []}') == "max_tokens"
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert finish_in(cut) == "max_output_tokens"
    assert finish_in("Score: 4") == ""


def test_reasons_are_counted_in_one_line() -> None:
    reasons = {"two verdicts that differ": 9, "cut at max_tokens": 70, "another scale": 3}
    assert not_read(reasons, 240) == (
        "82 of 240 not read: 70 cut at max_tokens, 9 two verdicts that differ, 3 another scale"
    )
    assert not_read({}, 240) == ""
