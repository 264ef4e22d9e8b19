"""Where an own prompt's answer stands in a reply, which label it is, and how likely each was there."""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.datasets.rubrics import dump_rubric, read_rubric, rescale
from rubriclab.judges.reading import read_completion
from rubriclab.judges.request import request_body
from rubriclab.model import Criterion, Judge, Ordering, Reply, Rubric, RubricError, ScoreOption, Study
from rubriclab.model.answers import asked_format, check_rule, compose
from rubriclab.model.prompt import AnswerReading, AnswerRule, PromptMessage, PromptTemplate, Reading
from rubriclab.study.plan import plan
from rubriclab.study.prompts.own_answer import read_answer, read_criterion
from tests.labkit import study
from tests.servers import completion, token_entry

NUMBERS = ("1", "2", "3", "4", "5")
WORDS = ("poor", "fair", "good")
HALVES = ("1", "1.5", "2", "2.5", "3")
JSON = AnswerRule("json", path="verdict.score")


def read(rule: AnswerRule, text: str, labels: tuple[str, ...] = NUMBERS) -> str:
    """The label that was read, else why none was."""
    own = read_answer(text, Reading(rule, labels))
    return own.why if own.index is None else labels[own.index]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"verdict": {"score": 4}}', "4"),
        ('{"verdict": {"score": "4"}}', "4"),
        ('{"verdict": {"score": 4.0}}', "4"),
        ('Well.\n```json\n{"why": "a {brace}", "verdict": {"why": "x", "score": 4}}\n```\nDone.', "4"),
        ('{"verdict": {"score": 2}} no, rather {"verdict": {"score": 4}}', "4"),
        ('{"verdict": {"score": 4}} and {"other": 1}', "4"),
        ('{"verdict": {"score": 1, "detail": {"verdict": {"score": 5}}}}', "1"),
        ('{"Verdict": {"SCORE": 4}}', "4"),
        ('{"verdict": {"score": 2, "score": 4}}', "4"),
        ('{broken {"verdict": {"score": 4}}', "4"),
        ('[{"verdict": {"score": 4}}]', "4"),
        ('<think>{"verdict": {"score": 2}}</think>{"verdict": {"score": 4}}', "4"),
        ('<think>{"verdict": {"score": 2}}', "empty"),
        ('{"why": "two\nlines", "verdict": {"score": 4}}', "4"),
        ('{"verdict": {"score": 3.5}}', "not a label"),
        ('{"verdict": {"score": 9}}', "not a label"),
        ('{"verdict": {"score": null}}', "not a label"),
        ('{"verdict": 4}', "no verdict.score in the JSON"),
        ("4", "no JSON"),
        ("", "empty"),
    ],
)
def test_json_is_found_inside_other_text(text: str, label: str) -> None:
    assert read(JSON, text) == label


def test_a_place_in_a_list_is_a_whole_number() -> None:
    assert read(AnswerRule("json", path="scores.1.value"), '{"scores": [{"value": 1}, {"value": 3}]}') == "3"


@pytest.mark.parametrize("text", ["{" * 90_000, '{"a":' * 30_000, '{"a": "' * 12_000, "[" * 90_000 + '{"verdict":'])
def test_text_that_only_looks_like_json_takes_no_time(text: str) -> None:
    began = time.perf_counter()
    assert read(JSON, text) == "no JSON"
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    ("rule", "text", "label"),
    [
        (AnswerRule("label"), " **4**.\n", "4"),
        (AnswerRule("label"), "4 because", "not a label"),
        (AnswerRule("regex", pattern=r"Score:\s*(\S+)"), "Score: 2\nscore: 4", "4"),
        (AnswerRule("regex", pattern=r"Score:\s*(\S+)"), "Rating: 4", "no match"),
        (AnswerRule("regex", pattern=r"(?<=\[\[)\d(?=\]\])"), "so [[4]]", "4"),
        (AnswerRule("tag", tag="score"), "<score>1</score> <Score kind='x'> 4 </Score>", "4"),
        (AnswerRule("tag", tag="score"), "<score>4", "no tag score"),
        (AnswerRule("last_label"), "Not 2. It earns 4/5.", "4"),
        (AnswerRule("last_label"), "It earns 4 out of 5", "4"),
        (AnswerRule("last_label"), "A 14 or 4.5", "no label"),
        (AnswerRule("last_label"), "I give it a 4.", "4"),
    ],
)
def test_each_rule_finds_its_answer(rule: AnswerRule, text: str, label: str) -> None:
    assert read(rule, text) == label


@pytest.mark.parametrize(
    ("text", "label"), [("2,5", "2.5"), ("2.50", "2.5"), ("2", "2"), ("2.0", "2"), ("2.25", "not a label")]
)
def test_half_points_are_labels_like_others(text: str, label: str) -> None:
    assert read(AnswerRule("label"), text, HALVES) == label
    assert read(JSON, f'{{"verdict": {{"score": "{text}"}}}}', HALVES) == label


def test_words_are_labels_whatever_their_case() -> None:
    assert read(AnswerRule("last_label"), "Not poor: Good.", WORDS) == "good"
    assert read(AnswerRule("last_label"), "goods are unfairly rated", WORDS) == "no label"
    assert read(AnswerRule("label"), "GOOD", WORDS) == "good"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (AnswerRule("json", path="scores"), '{"scores": {"clarity": 1, "factual_accuracy": "3"}}'),
        (
            AnswerRule("json", path="all.{criterion}.score"),
            '{"all": {"Clarity": {"score": 1}, "Factual accuracy": {"score": 3}}}',
        ),
        (AnswerRule("tag", tag="{criterion}"), "<clarity>1</clarity><factual_accuracy>3</factual_accuracy>"),
        (AnswerRule("regex", pattern=r"{criterion}\s*=\s*(\d)"), "Clarity = 1, Factual accuracy = 3"),
        (AnswerRule("label"), "1. [Clarity] 1\n**Factual accuracy**: 3"),
    ],
)
def test_several_criteria_are_read_from_one_reply(rule: AnswerRule, text: str) -> None:
    reading = Reading(rule, NUMBERS)
    assert [read_criterion(text, reading, name).index for name in ("Clarity", "Factual accuracy", "Style")] == [
        0,
        2,
        None,
    ]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (AnswerRule("json"), "path '' is no way into JSON"),
        (AnswerRule("json", path="a..b"), "path 'a..b' is no way into JSON"),
        (AnswerRule("regex"), "needs a pattern, as pattern = "),
        (AnswerRule("regex", pattern="("), "is no regular expression"),
        (AnswerRule("regex", pattern="(a)(b)"), "has 2 groups; keep one"),
        (AnswerRule("regex", pattern="(?:a+)+(b)"), "repeats a repetition"),
        (AnswerRule("regex", pattern="x*"), "matches nothing at all"),
        (AnswerRule("tag", tag="<score>"), "write it without its brackets"),
        (AnswerRule("label", path="a"), 'path belongs to read = "json"'),
        (AnswerRule("label", ask="schema"), 'ask = "schema" belongs to read = "json"'),
    ],
)
def test_a_rule_that_can_never_find_an_answer_is_refused(rule: AnswerRule, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        check_rule(rule)


@pytest.mark.parametrize(
    "rule",
    [
        JSON,
        AnswerRule("label"),
        AnswerRule("last_label"),
        AnswerRule("tag", tag="score"),
        AnswerRule("regex", pattern=r"^Score:\s*\[\[(\w[\w.]*)\]\]$"),
    ],
)
@pytest.mark.parametrize("labels", [NUMBERS, WORDS, HALVES])
def test_an_answer_that_is_composed_is_read_back(rule: AnswerRule, labels: tuple[str, ...]) -> None:
    for label in labels:
        text = compose(rule, {"": label})
        assert text is not None
        assert read(rule, text, labels) == label


# ---------------------------------------------------------------- probabilities at the label


TOP = {"4": -0.3, "3": -2.0, "5": -3.0}


@pytest.mark.parametrize(
    ("rule", "text", "tokens", "form"),
    [
        (JSON, '{"verdict": {"score": 4}}', ["{", '"verdict', '": {"score": ', "4", "}}"], "{}"),
        (JSON, '{"verdict": {"score": "4"}}', ['{"verdict": {"score":', ' "4', '"}}'], ' "{}'),
        (JSON, '{"verdict": {"score": 4}}', ['{"verdict": {"score":', " 4}", "}"], " {}}}"),
        (JSON, 'Is 3 {"verdict": {"score": 4}}', ["Is ", "3", ' {"verdict": {"score": ', "4", "}}"], "{}"),
        (AnswerRule("tag", tag="s"), "no 3\n<s>4</s>", ["no ", "3", "\n<s>", "4", "</s>"], "{}"),
        (AnswerRule("last_label"), "Not 3 but 4.", ["Not", " 3", " but", " 4", "."], " {}"),
    ],
)
def test_token_probabilities_are_those_at_the_place_of_the_label(
    rule: AnswerRule, text: str, tokens: list[str], form: str
) -> None:
    assert "".join(tokens) == text
    here = form.format("4")
    entries = [
        token_entry(t, {form.format(k): v for k, v in TOP.items()} if t == here else {t: -0.01, "1": -5.0})
        for t in tokens
    ]
    reply = read_completion(completion(text, logprobs=entries), want_probabilities=True, reading=Reading(rule, NUMBERS))
    assert {token.strip(): value for token, value in reply.top_tokens} == TOP
    template = PromptTemplate(
        "p", (PromptMessage("user", "{% for o in options %}{{ o.label }} {{ o.description }}\n{% endfor %}"),), rule
    )
    planned = plan(replace(study(1), prompts=(template,)))
    call = next(planned.calls())
    assert call.want_probabilities
    (outcome,) = planned.read(call, reply).outcomes
    total = sum(map(math.exp, TOP.values()))
    assert outcome.score == 4
    assert outcome.expected == pytest.approx(sum(int(k) * math.exp(v) for k, v in TOP.items()) / total)
    assert outcome.mass == pytest.approx(total)


def test_where_there_is_no_answer_there_are_no_probabilities() -> None:
    entries = [token_entry("3", TOP)]
    reply = read_completion(completion("3", logprobs=entries), want_probabilities=True, reading=Reading(JSON, NUMBERS))
    assert reply.top_tokens == ()


# ---------------------------------------------------------------- asked of the server


def body(rule: AnswerRule) -> dict[str, Any]:
    text = "{% for o in options %}{{ o.label }} {{ o.description }}\n{% endfor %}"
    template = PromptTemplate("p", (PromptMessage("user", text),), rule)
    judge = Judge("j", "openai", "m", ("http://127.0.0.1:1/v1",))
    planned = plan(replace(study(1), judges=(judge,), prompts=(template,)))
    return request_body(judge, next(planned.calls()))


def test_a_schema_or_a_tool_is_asked_for_only_where_the_prompt_says_so() -> None:
    assert not {"response_format", "tools"} & body(JSON).keys()
    shape = {
        "type": "object",
        "properties": {
            "verdict": {
                "type": "object",
                "properties": {"score": {"enum": [1, 2, 3, 4, 5]}},
                "required": ["score"],
                "additionalProperties": False,
            }
        },
        "required": ["verdict"],
        "additionalProperties": False,
    }
    asked = body(replace(JSON, ask="schema"))
    assert asked["response_format"]["json_schema"] == {"name": "answer", "strict": True, "schema": shape}
    tool = body(replace(JSON, ask="tool"))
    assert tool["tools"][0]["function"]["parameters"] == shape
    assert tool["tool_choice"]["function"]["name"] == "answer"
    words = asked_format(Reading(replace(JSON, ask="schema"), WORDS))["response_format"]["json_schema"]["schema"]
    assert words["properties"]["verdict"]["properties"]["score"] == {"enum": list(WORDS)}


def test_the_arguments_of_a_tool_call_are_the_reply() -> None:
    payload = completion("")
    payload["choices"][0]["message"] = {
        "content": None,
        "tool_calls": [{"type": "function", "function": {"name": "answer", "arguments": '{"verdict": {"score": 4}}'}}],
    }
    reply = read_completion(payload, reading=Reading(JSON, NUMBERS))
    assert read(JSON, reply.text) == "4"


# ---------------------------------------------------------------- labels of a rubric

LABELLED = b"""
name: quality
options:
- {score: 2, label: "1.5", description: fair}
- {score: 1, label: "1", description: poor}
- {score: 3, label: "2", description: good}
"""


def labelled() -> Study:
    return replace(study(2), rubric=read_rubric("r.yaml", LABELLED))


def test_a_rubric_gives_each_option_a_label_and_keeps_it() -> None:
    rubric = read_rubric("r.yaml", LABELLED)
    assert rubric.criteria[0].labels == ("1", "1.5", "2")
    assert read_rubric("r.yaml", dump_rubric(rubric).encode()) == rubric
    table = b"criterion,score,label,description\nq,1,no,bad\nq,2,yes,good\n"
    assert read_rubric("r.csv", table).criteria[0].labels == ("no", "yes")
    assert rescale(rubric.criteria[0], 2)[0].labels == ("1", "2")
    assert rescale(rubric.criteria[0], 5)[0].labels == NUMBERS
    plain = Rubric("r", (Criterion("q", (ScoreOption(1, "a"), ScoreOption(2, "b"))),))
    assert plain.id == "68347b01d148a3943a11dd7eb606706b"
    assert replace(plain, criteria=(Criterion("q", (ScoreOption(1, "a", "x"), ScoreOption(2, "b"))),)).id != plain.id


def test_labels_go_with_their_scores_and_a_factor_of_ids_overrules_them() -> None:
    planned = plan(labelled())
    by_score = {"1": 1, "1.5": 2, "2": 3}
    for call in planned.calls():
        assert tuple(by_score[label] for label in call.ordering.labels) == call.ordering.shown
    call = next(planned.calls())
    (outcome,) = planned.read(call, Reply(text="1.5")).outcomes
    assert (outcome.score, call.ordering.labels[(outcome.position or 0) - 1]) == (2, "1.5")
    ids = plan(replace(labelled(), design=replace(labelled().design, factors={"ids": ("letters", "arabic")})))
    assert {frozenset(c.ordering.labels) for c in ids.calls()} == {frozenset("ABC"), frozenset("123")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LABELLED.replace(b'"1.5"', b'"1"'), "the label “1” of score"),
        (LABELLED.replace(b'label: "1.5"', b'label: "3"').replace(b'label: "2", ', b""), "used twice"),
        (
            LABELLED.replace(b"score: 2", b"score: 1.5"),
            "give each step a whole score and what is shown as its label, as score: 3",
        ),
    ],
)
def test_labels_that_cannot_be_told_apart_and_half_scores_are_refused(text: bytes, words: str) -> None:
    with pytest.raises(RubricError) as refused:
        read_rubric("r.yaml", text)
    assert words in str(refused.value)


def test_an_order_that_is_shown_does_not_change_which_label_is_read() -> None:
    readings: list[AnswerReading] = ["label", "last_label"]
    for rule in map(AnswerRule, readings):
        text = "{% for o in options %}{{ o.label }} {{ o.description }}\n{% endfor %}"
        template = PromptTemplate("p", (PromptMessage("user", text),), rule)
        planned = plan(replace(labelled(), prompts=(template,)))
        for call in planned.calls():
            assert isinstance(call.ordering, Ordering)
            (outcome,) = planned.read(call, Reply(text="2")).outcomes
            assert (outcome.score, call.ordering.shown[(outcome.position or 0) - 1]) == (3, 3)
    assert json.loads(compose(JSON, {"": "1.5"}) or "") == {"verdict": {"score": "1.5"}}
