"""A copy of one of the lab's own prompts, given as the user's, sends the same words."""

from pathlib import Path
from typing import Any

import pytest

from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judgment import Reply
from rubriclab.model.study import Study, read_prompt
from rubriclab.study.own_words import PROMPT_ENDINGS, PROMPT_HEADINGS
from rubriclab.study.plan import Plan, plan
from rubriclab.study.prompts import FILES, answer_rule, lab_prompt
from tests.study.kit import ABC, API, criterion

ON_AXES = [
    ("score", "options", {}),
    ("feedback", "options", {"answer": "feedback"}),
    ("bare", "bare", {}),
    ("criteria", "criteria", {}),
    ("brief", "pairs", {}),
    ("brief", "lists", {"k": 3}),
    ("mtbench", "pairs", {"template": "mtbench"}),
    ("devbench", "lists", {"template": "devbench", "k": 3}),
]
SENT_TO_JUDGES = sorted({stem for stem, _, _ in ON_AXES} | {"batch"})


def answers() -> DataSet:
    """Three candidates' answers to one prompt in two turns, with a reference answer."""
    columns = {"instruction_2": "And in July?", "reference_2": "Warm."}
    items = tuple(
        Item(
            f"i-{name}",
            f"{name} says cold.",
            "How is January?",
            "Cold.",
            prompt="weather",
            candidate=name,
            task="talk",
            columns={**columns, "response_2": f"{name} says warm."},
        )
        for name in ("ann", "bob", "cyd")
    )
    return DataSet("d", items)


def made(axis: str, design: dict[str, Any], own: str = "") -> Plan:
    values: dict[str, Any] = {
        "name": "s",
        "data": {"file": "d.csv"},
        "design": {"reorder": axis, **design},
        "judges": [API.model_dump()],
    }
    if own:
        values["prompt"] = {"templates": [lab_prompt(own).model_dump(mode="json")]}
    rubric = Rubric("r", ABC if axis == "criteria" else (criterion(),))
    return plan(Study.model_validate(values), answers(), rubric)


@pytest.mark.parametrize(("stem", "axis", "design"), ON_AXES)
def test_a_copy_of_a_lab_prompt_sends_the_same_words(
    stem: str, axis: str, design: dict[str, Any]
) -> None:
    ours, copied = made(axis, design), made(axis, design, own=stem)
    assert [call.messages for call in copied.calls()] == [call.messages for call in ours.calls()]


@pytest.mark.parametrize("stem", ["score", "feedback", "mtbench"])
def test_a_copy_of_a_lab_prompt_reads_the_same_answers(stem: str) -> None:
    axis, design = next((axis, design) for name, axis, design in ON_AXES if name == stem)
    ours, copied = made(axis, design), made(axis, design, own=stem)
    for text in ("4", "I think it is fine.\n[RESULT] 4", "A. It is colder.", "So [[B]]"):
        outcomes = [part.parse(next(part.calls()), Reply(text)) for part in (ours, copied)]
        assert outcomes[0] == outcomes[1], text


@pytest.mark.parametrize("stem", SENT_TO_JUDGES)
def test_a_repeated_prompt_is_known_by_how_it_begins_and_ends(stem: str) -> None:
    """Replies repeat prompts: the reader cuts them at these words."""
    text = lab_prompt(stem).messages[-1].text
    assert text.endswith(PROMPT_ENDINGS)
    assert any(part in text for part in (*PROMPT_HEADINGS, "<<<START OF"))


def test_each_prompt_file_has_a_name_of_its_own_and_its_rule() -> None:
    prompts = [read_prompt(path.read_text("utf-8"), path.name) for path in FILES.glob("*.toml")]
    assert len({prompt.name for prompt in prompts}) == len(prompts) == len([*FILES.iterdir()])
    assert answer_rule("prometheus.v1").read == "result"
    assert answer_rule("listwise-mtbench.v1").read == "result"
    assert answer_rule("pairwise-brief.v1").read == "label"


def test_prompt_files_come_with_the_wheel() -> None:
    declared = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert '"study/judge_prompts/*.toml"' in declared
