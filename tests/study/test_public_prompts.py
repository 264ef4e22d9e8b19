"""Twenty public judge prompts, each with a row of data in it: what is located, and every byte given back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import pytest

from rubriclab.study.from_text import lists_in, locate, template_text

PROMPTS = json.loads((Path(__file__).parent / "public_prompts" / "prompts.json").read_text("utf-8"))
ALONE = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
ROW = {
    "instruction": "Name a good thing about {{ rain }}.\n1. Be brief.\n2. Be kind.",
    "response": "It waters the fields,\nScore 5: and it is {free}.\r\n\r\n1: {% raw %} bad\n2: good",
    "other": "It sounds nice on a roof “at night”.",
    "reference": "Rain gives water to plants.",
    "context": "A note on rain: it falls on 100 days a year {#",
}
"""Its texts hold lists, breaks and signs of Jinja2 of their own."""


def filled(content: str) -> str:
    for name, text in ROW.items():
        content = content.replace(f"<<{name}>>", text)
    return content


@pytest.mark.parametrize("prompt", PROMPTS, ids=[prompt["name"] for prompt in PROMPTS])
def test_a_public_prompt_becomes_a_template_that_gives_it_back_and_its_own_list_alone_is_proposed(
    prompt: dict[str, Any],
) -> None:
    proposed = []
    for message in prompt["messages"]:
        text = filled(message["content"])
        slots = [(*span, name) for name, value in ROW.items() for span in locate(text, value)]
        assert {name for *_, name in slots} == {name for name in ROW if f"<<{name}>>" in message["content"]}
        template = template_text(text, slots)
        assert ALONE.from_string(template).render(ROW) == text
        other = {name: f"another {name}" for name in ROW}
        assert ROW["response"] not in ALONE.from_string(template).render(other)
        lists = [listed for listed in lists_in(text, [slot[:2] for slot in slots]) if listed.points > 0]
        proposed += ["".join(text[start:end] for start, end in listed.labels) for listed in lists]
    assert proposed == ([prompt["list"]] if prompt["list"] else [])


def test_there_are_twenty_of_several_makers() -> None:
    assert (len(PROMPTS), len({prompt["source"].split(",")[0] for prompt in PROMPTS})) == (20, 5)
