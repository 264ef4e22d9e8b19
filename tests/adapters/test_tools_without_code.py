"""promptfoo's and lm-eval's adapters, which import nothing of their tools: what they hand over."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubriclab import apply
from rubriclab.apply.adapters import lm_eval, promptfoo
from rubriclab.model import Strategy
from tests.cards import API, asked, card_of_study
from tests.labkit import study
from tests.servers import SteadyServer, running
from tests.test_apply import answer, texts

MUTE = "nothing to say"


def _answer(body: dict[str, Any]) -> str:
    return "well" if MUTE in json.dumps(body) else "4"


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with running(SteadyServer(answer=_answer, with_logprobs=False)) as server:
        yield server.base_url


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("card") / "judge.card.json"
    made = card_of_study(study(3, judges=(API,), strategies=(Strategy("balanced"),)), asked)
    path.write_text(apply.dumped(made), encoding="utf-8")
    return str(path)


def context(path: str, url: str, values: dict[str, Any], **config: Any) -> dict[str, Any]:
    return {"vars": values, "prompt": "the prompt", "config": {"card": path, "base_url": url} | config}


def test_promptfoo_gets_pass_score_reason_and_a_named_score(card: str, served: str) -> None:
    values = {"instruction": "q", "topic": "t", "response": "another column"}
    made = promptfoo.get_assert("an answer", context(card, served, values, threshold=0.75, name="tone"))
    assert (made["pass"], made["score"], made["namedScores"]) == (True, 0.75, {"tone": 0.75})
    assert "score 4.00" in made["reason"]
    assert made["metadata"]["judge_card"]["score"] == 4.0
    assert made["tokensUsed"]["total"] == 1010
    below = promptfoo.get_assert("an answer", context(card, served, values, threshold=0.8))
    assert (below["pass"], below["score"]) == (False, 0.75)


def test_promptfoos_item_is_the_output_and_the_instruction_or_else_the_prompt(card: str, served: str) -> None:
    def sent(values: dict[str, Any], **config: Any) -> str:
        made = promptfoo.get_assert({"an": "object"}, context(card, served, values, **config))
        text: str = made["metadata"]["judge_card"]["reads"][0]["messages"][0]["content"]
        return text

    assert "the prompt" in sent({})
    assert '{"an": "object"}' in sent({})
    assert "asked so" in sent({"question": "asked so"}, columns={"instruction": "question"})


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"treshold": 0.9}, "The config has treshold"),
        ({"card": ""}, "names no card"),
        ({"card": "none.json"}, "cannot be read"),
        ({"columns": {"instruction": "question"}}, "no variable “question”"),
        ({"criterion": "tone"}, "no criterion “tone”"),
    ],
)
def test_what_promptfoo_cannot_be_told_is_no_score(card: str, served: str, config: dict[str, Any], why: str) -> None:
    asked = context(card, served, {"instruction": "q"}, **config)
    made = promptfoo.get_assert("x", asked)
    assert (made["pass"], made["metadata"]["graderError"]) == (False, True)
    assert why in made["reason"]
    assert "namedScores" not in made
    assert why in promptfoo.call_api("x", {"config": asked["config"]}, {"vars": {"instruction": "q"}})["error"]


def test_a_provider_grades_what_a_grader_is_shown_and_gives_an_error_for_no_judgment(card: str, served: str) -> None:
    options = {"config": {"card": card, "base_url": served, "workers": 1}}
    grading = {"vars": {"instruction": "q", "output": "an answer", "rubric": "be good"}}
    made = promptfoo.call_api("[]", options, grading)
    assert (made["output"]["score"], made["output"]["pass"]) == (0.75, True)
    assert "an answer" in made["metadata"]["judge_card"]["reads"][0]["messages"][0]["content"]
    made = promptfoo.call_api(MUTE, options, {"vars": {"instruction": "q"}})
    assert made["error"].startswith("No score: 10 of 10 replies gave no answer.")
    assert "output" not in made
    assert "no “response”" in promptfoo.call_api("", options, {"vars": {}})["error"]


def test_lm_eval_gets_a_number_for_each_metric_and_nan_for_no_judgment(card: str, served: str) -> None:
    process = lm_eval.of_card(card, base_url=served, columns={"instruction": "question"})
    doc = {"question": "q?", "id": "d1", "topic": "t"}
    made = process(doc, ["an answer"])
    assert (made["judge"], made["judge_unread"]) == (4.0, 0.0)
    assert "q?" in made["judge_card"]["reads"][0]["messages"][0]["content"]
    mute, empty = process(doc, [MUTE]), process(doc, [""])
    assert [math.isnan(one["judge"]) for one in (mute, empty)] == [True, True]
    assert [one["judge_unread"] for one in (mute, empty)] == [1.0, 1.0]
    assert lm_eval.calls([made["judge_card"], mute["judge_card"], empty["judge_card"]]) == 20


@pytest.mark.slow
def test_lm_eval_gets_the_same_metrics_of_every_document_of_criteria(tmp_path: Path, served: str) -> None:
    path = tmp_path / "criteria.json"
    path.write_text(apply.dumped(card_of_study(texts(), answer)), encoding="utf-8")
    process = lm_eval.of_card(str(path), base_url=served)
    names = {"judge", "judge_a", "judge_b", "judge_c", "judge_unread", "judge_card"}
    assert set(process({"instruction": "q"}, ["an answer"])) == names
    assert set(process({"instruction": "q"}, [""])) == names
