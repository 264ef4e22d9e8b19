"""Prompts equal, to the byte, those of the earlier lab that wrote ``prompts.json``: stored replies answer these texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubriclab.model.data import Criterion, Item, Option
from rubriclab.model.judgment import Ordering
from rubriclab.study.prompts import criteria_prompt, score_prompt

CASES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_prompt_is_its_golden_text(name: str) -> None:
    case = CASES[name]
    item = Item("x", case["response"], case["instruction"], case["reference"])
    ordering = Ordering(tuple(case["shown"]), tuple(case["labels"]))
    criteria = [
        Criterion(about["name"], tuple(Option(score, text) for score, text in about["options"]), about["description"])
        for about in case["criteria"]
    ]
    if case["answer"] == "criteria":
        messages = criteria_prompt(item, criteria, ordering)
    else:
        messages = score_prompt(item, criteria[0], ordering, answer=case["answer"])
    assert messages == ({"role": "user", "content": case["prompt"]},)
