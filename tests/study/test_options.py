"""Factors: what each level changes in the calls, which settings are asked, and what is refused
before the first call.
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubriclab.judges.client import request_body
from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import Study, study_from_toml
from rubriclab.model.text import LabError
from rubriclab.study.options import rescaled
from rubriclab.study.plan import Plan, plan
from rubriclab.study.tokens import REASONING_TOKENS
from tests.study.kit import API, EMBEDDED, criterion, data, small_plan

GOLDEN: dict[str, dict[str, Any]] = json.loads(Path("tests/golden/factors.json").read_text("utf-8"))
CASES = json.loads(Path("tests/golden/refused.json").read_text("utf-8"))


def varied(count: int = 2, **vary: Any) -> Plan:
    return small_plan(count, vary=vary)


def by_variant(made: Plan) -> list[tuple[dict[str, Any], int]]:
    return [
        (dict(c.variant), calls) for c, calls in zip(made.conditions, made.planned, strict=True)
    ]


def calls_at(made: Plan, **levels: Any) -> list[Call]:
    return [
        call
        for call in made.calls()
        if levels.items() <= made.conditions[call.condition].variant.items()
    ]


@pytest.mark.papers(61, 62, 25, 26)
@pytest.mark.parametrize("name", GOLDEN)
def test_prompts_of_levels_equal_those_of_the_earlier_lab(name: str) -> None:
    case = GOLDEN[name]
    texts = [
        "It does not answer.",
        "It misses the point.",
        "It answers in part.",
        "It answers with gaps.",
        "It answers in full.",
    ]
    asked = Criterion(
        "Completeness", tuple(Option(k, t) for k, t in enumerate(texts, 1)), "Does it answer all?"
    )
    score = case["reference_score"] or 0
    columns = {f"reference_{score}": case["reference"]} if score else {}
    item = Item("x", case["response"], case["instruction"], columns=columns)
    vary = {"ids": ["arabic", "letters", "roman"], "crossed": True}
    vary |= {"reference": [0, score]} if score else {"scale": [5, 2, 3, 4, 9, 10]}
    made = small_plan(
        dataset=DataSet("d", (item,)),
        criteria=(asked,),
        answer=case["answer"],
        strategies=["random"],
        vary=vary,
    )
    levels = {"ids": case["ids"]} | ({"reference": score} if score else {"scale": case["scale"]})
    (code,) = (
        code for code, part in enumerate(made.parts) if levels.items() <= part.variant.items()
    )
    subject = made.parts[code].subjects[0]
    ordering = replace(
        calls_at(made, **levels)[0].ordering,
        shown=tuple(case["shown"]),
        labels=tuple(case["labels"]),
    )
    messages = made.parts[code].protocol.prompt(subject, ordering, made.parts[code].design).messages
    assert messages == ({"role": "user", "content": case["prompt"]},)
    assert {label for call in calls_at(made, **levels) for label in call.ordering.labels} == {
        *case["labels"]
    }


def test_each_level_is_held_against_the_baseline() -> None:
    made = varied(ids=["arabic", "letters"], temperature=[0.0, 0.5, 1.0])
    base = {"ids": "arabic", "temperature": 0.0}
    assert by_variant(made) == [
        (base, 40),
        ({**base, "ids": "letters"}, 40),
        ({**base, "temperature": 0.5}, 40),
        ({**base, "temperature": 1.0}, 40),
    ]
    crossed = varied(ids=["arabic", "letters"], temperature=[0.0, 0.5, 1.0], crossed=True)
    assert len(by_variant(crossed)) == 6
    assert len({call.key for call in crossed.calls()}) == len(crossed) == 6 * 40
    # Further strategies are asked under the baseline alone, unless all is crossed.
    two = small_plan(1, strategies=["balanced", "fixed"], vary={"ids": ["arabic", "roman"]})
    assert [(c.strategy, c.variant["ids"]) for c in two.conditions] == [
        ("balanced", "arabic"),
        ("fixed", "arabic"),
        ("balanced", "roman"),
    ]


def test_settings_of_an_item_are_mixed_and_share_its_code() -> None:
    made = varied(4, ids=["arabic", "letters"])
    conditions = [[c.condition for c in made.calls() if c.items == (k,)] for k in range(4)]
    assert all(sorted(codes) == [0] * 20 + [1] * 20 for codes in conditions)
    assert [codes == sorted(codes) for codes in conditions] == [False] * 4
    assert len({tuple(codes) for codes in conditions}) == 4
    assert len(made.items) == 4
    assert [c.ordering.labels for c in made.previews(1)[:2]] == [tuple("12345"), tuple("EDCBA")]


@pytest.mark.papers(61)
def test_shuffled_ids_stand_for_every_score_and_repeats_keep_them() -> None:
    made = varied(30, ids=["arabic", "shuffled"])
    calls = calls_at(made, ids="shuffled")
    stands = Counter(
        pair for c in calls for pair in zip(c.ordering.shown, c.ordering.labels, strict=True)
    )
    # 30 items x 10 orders, each twice: every score has every label about 600 / 5 = 120 times (sd of
    # 60 deals: 14).
    assert len(stands) == 25
    assert all(60 < times < 180 for times in stands.values())
    labels = {(c.items, c.ordering.shown): c.ordering.labels for c in calls}
    assert all(labels[c.items, c.ordering.shown] == c.ordering.labels for c in calls)
    first = [call for call in calls if call.ordering.labels[0] == "4"]
    assert {call.ordering.shown[0] for call in first} == {1, 2, 3, 4, 5}
    for call in first:
        assert made.parse(call, Reply("4"))[0].score == call.ordering.shown[0]


@pytest.mark.papers(62)
def test_answers_without_that_reference_are_left_out_and_said() -> None:
    items = [
        Item("a", "x", "q", columns={"reference_2": "poor"}),
        Item("b", "y", "q", reference="top"),
    ]
    made = small_plan(dataset=DataSet("d", tuple(items)), vary={"reference": [0, 2, 5]})
    assert [calls for _, calls in by_variant(made)] == [40, 20, 20]
    assert {c.items for c in calls_at(made, reference=2)} == {(0,)}
    assert {c.items for c in calls_at(made, reference=5)} == {(1,)}, (
        "a plain reference is of the highest score"
    )
    assert all(
        "Reference Answer" not in c.messages[0]["content"] for c in calls_at(made, reference=0)
    )
    assert (
        "###Reference Answer (Score 2):\npoor"
        in calls_at(made, reference=2)[0].messages[0]["content"]
    )
    assert "reference = 2: 1 answer left out" in " ".join(made.notes)
    with pytest.raises(
        LabError, match=r"no answer of “d” has a reference answer of score 3\..*column reference_3"
    ):
        small_plan(dataset=DataSet("d", tuple(items)), vary={"reference": [0, 3]})
    with pytest.raises(
        LabError,
        match=r"7 is not a score of “quality”\. Use one of 1, 2, 3, 4, 5, or 0 for no",
    ):
        small_plan(dataset=DataSet("d", tuple(items)), vary={"reference": [0, 7]})


@pytest.mark.papers(25, 26)
def test_scales_keep_the_ends_and_spread_the_descriptions() -> None:
    five = criterion()
    for n, kept in {
        2: "1 5",
        3: "1 3 5",
        4: "1 2 4 5",
    }.items():  # of four, 1 + 4/3 and 1 + 8/3: the nearest are 2, 4
        assert [option.description for option in rescaled(five, n).options] == [
            f"level {k}" for k in kept.split()
        ]
    nine = rescaled(five, 9)
    assert nine.scores == tuple(range(1, 10))
    assert [option.description for option in nine.options] == [
        "level 1",
        "",
        "level 2",
        "",
        "level 3",
        "",
        "level 4",
        "",
        "level 5",
    ]
    assert rescaled(five, 5) is five
    made = varied(1, scale=[5, 3])
    assert [(c.scores, c.positions) for c in made.conditions] == [
        ((1, 2, 3, 4, 5), 5),
        ((1, 2, 3), 3),
    ]
    assert made.planned == (20, 12)


def test_wordings_are_rubrics_of_the_same_criteria() -> None:
    base, other = (
        Rubric("r", (criterion(),)),
        Rubric("s", (replace(criterion(n=3), description="strict"),)),
    )
    study = Study.model_validate(
        {
            "data": {"file": "d"},
            "judges": [API.model_dump()],
            "design": {"vary": {"wording": ["r.yaml", "s.yaml"]}},
        }
    )
    made = plan(study, data(1), base, wordings={"r.yaml": base, "s.yaml": other})
    assert [(c.variant["wording"], c.positions) for c in made.conditions] == [
        ("r.yaml", 5),
        ("s.yaml", 3),
    ]
    assert "[quality: strict]" in calls_at(made, wording="s.yaml")[0].messages[0]["content"]
    assert (
        made.identity
        != plan(study, data(1), base, wordings={"r.yaml": base, "s.yaml": base}).identity
    )
    # Two names for one text are asked twice, as two conditions: other calls.
    same = plan(study, data(1), base, wordings={"r.yaml": base, "s.yaml": base})
    assert len({call.key for call in same.calls()}) == len(same) == 40
    with pytest.raises(LabError, match="other criteria than the study's rubric"):
        plan(
            study,
            data(1),
            base,
            wordings={"r.yaml": base, "s.yaml": Rubric("s", (criterion("other"),))},
        )


@pytest.mark.papers(10, 27, 28)
def test_sampling_and_request_fields_reach_the_judge() -> None:
    judge = API.model_copy(update={"extra": {"chat_template_kwargs": {"lang": "en"}, "min_p": 0.1}})
    made = small_plan(
        1,
        judges=(judge,),
        vary={
            "temperature": [0.0, 1.5],
            "reasoning_effort": ["low", "high"],
            "extra": {"chat_template_kwargs": {"enable_thinking": [False, True]}},
        },
    )
    field = "extra.chat_template_kwargs.enable_thinking"
    (on,) = {
        json.dumps(request_body(judge, call)["chat_template_kwargs"])
        for call in calls_at(made, **{field: True})
    }
    assert json.loads(on) == {"lang": "en", "enable_thinking": True}
    body = request_body(judge, calls_at(made, temperature=1.5)[0])
    assert (body["temperature"], body["reasoning_effort"], body["min_p"]) == (1.5, "low", 0.1)
    assert {call.max_tokens for call in made.calls()} == {REASONING_TOKENS}
    assert judge.extra == {"chat_template_kwargs": {"lang": "en"}, "min_p": 0.1}, (
        "the judge's own stay as they are"
    )
    assert len({call.key for call in made.calls()}) == len(made) == 4 * 20
    # A warm embedded judge repeats its orders on all items, a cold one on ten.
    assert small_plan(12, judges=(EMBEDDED,), vary={"temperature": [0.0, 1.0]}).planned == (
        10 * 20 + 2 * 10,
        12 * 20,
    )
    # Two judges that meet in a level are still two judges.
    warm = API.model_copy(update={"name": "warm", "temperature": 1.0})
    both = small_plan(1, judges=(API, warm), vary={"temperature": [0.0, 1.0]})
    assert len({call.key for call in both.calls()}) == len(both) == 80


def test_factors_that_are_nothing_to_an_axis() -> None:
    made = small_plan(
        1, reorder=["options", "bare"], vary={"ids": ["arabic", "letters"], "scale": [5, 3]}
    )
    assert [(c.reorder, c.variant["ids"], c.variant["scale"]) for c in made.conditions] == [
        ("options", "arabic", 5),
        ("options", "letters", 5),
        ("options", "arabic", 3),
        ("bare", "arabic", 5),
        ("bare", "arabic", 3),
    ]
    with pytest.raises(
        LabError,
        match=r"ids changes nothing when criteria are.*reorder = options",
    ):
        small_plan(
            1,
            criteria=(criterion("a"), criterion("b")),
            reorder="criteria",
            vary={"ids": ["arabic", "roman"]},
        )
    with pytest.raises(
        LabError, match="reasoning_effort has no effect on the embedded judge “small”"
    ):
        small_plan(1, judges=(EMBEDDED,), vary={"reasoning_effort": ["low", "high"]})


HEAD = "[[data]]\nsample = true\n[design.vary]\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *CASES["levels"],
        (f"temperature = [{', '.join(str(k / 1000) for k in range(1000))}]", "at most 20"),
        (
            "crossed = true\n" + "\n".join(f"extra.f{k} = [1, 2, 3]" for k in range(5)),
            "243 combinations; at most 200",
        ),
    ],
)
def test_wrong_levels_are_refused_in_words(line: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        study_from_toml(HEAD + line)


@pytest.mark.parametrize(
    "line",
    [
        '"extra.a.b" = [false, true]',
        "extra.a.b = [false, true]",
        "[design.vary.extra.a]\nb = [false, true]",
    ],
)
def test_a_field_may_be_written_in_three_ways(line: str) -> None:
    study = study_from_toml(HEAD + line)
    assert study.design.vary.factors() == {"extra.a.b": (False, True)}
    assert Study.model_validate(study.model_dump(mode="json")) == study


@pytest.mark.papers(43)
def test_repeats_on_a_sample_of_questions() -> None:
    items = tuple(
        Item(f"{t}{q}{c}", f"{t}{q}{c}", prompt=f"{t}{q}", task=t)
        for t in "xy"
        for q in range(5)
        for c in "ab"
    )
    made = small_plan(dataset=DataSet("d", items), repeats_on=3, repeats=3)
    # 2 tasks x 5 questions x 2 answers: 3 questions of each task, so 12 answers have each of 10
    # orders three times.
    assert made.planned == (12 * 30 + 8 * 10,)
    calls = Counter(call.items[0] for call in made.calls())
    again = {made.items[k].prompt for k, times in calls.items() if times == 30}
    assert Counter(str(prompt)[0] for prompt in again) == {"x": 3, "y": 3}
    assert "12 of 20" in made.notes[0]
    assert small_plan(dataset=DataSet("d", items), repeats_on=0.4).planned == (8 * 20 + 12 * 10,)
    for wrong in (0, 2.5, float("nan")):
        with pytest.raises(ValueError, match="repeats_on"):
            small_plan(1, repeats_on=wrong)


def test_a_study_without_factors_is_the_run_that_it_was() -> None:
    # From the version before: the key of the first call and the identity of this study.
    made = small_plan(
        2, judges=(JudgeSettings(name="api", kind="openai", model="m", base_urls=("http://h/v1",)),)
    )
    assert (made.identity, min(call.key for call in made.calls())) == (
        "81847c955ff6d8023cbc0534e1f8a363",
        "0b101c5274e0b5b64e3282f991e1ef4d",
    )
