"""Texts and lists are located in prompts as strangers write them, and templates give those back byte for byte."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import pytest

from rubriclab.model.data import Comparison, Item
from rubriclab.model.study import PromptPart
from rubriclab.model.text import LabError
from rubriclab.study.from_text import Pasted, from_text, lists_in, locate, template_text
from rubriclab.study.own_answers import read_answer

ALONE = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
"""Jinja2 by itself: what a template gives back must not rest on the lab's own rendering."""


@pytest.mark.parametrize(("prompt", "text", "spans"), [
    ("Rate: An answer. Again: An answer.", "An answer.", ["An answer.", "An answer."]),
    ("Rate\n- One  line.\n- two\twords\n3) and more!", "One line. two words\nand more", ["One  line.\n- two\twords\n3) and more"]),
    ('<answer>"Yes,\r\nit is"</answer>', "  Yes, it is\n", ["Yes,\r\nit is"]),
    ("14 of 4, 40", "4", ["4"]),
    ("One line, two", "One line. two", []),
    ("anything", " ", []),
])  # fmt: skip
def test_a_text_is_located_across_line_breaks_and_list_marks_or_not(prompt: str, text: str, spans: list[str]) -> None:
    assert [prompt[start:end] for start, end in locate(prompt, text)] == spans


@pytest.mark.parametrize(
    "prompt",
    ["a{{ x }}{% if %}{# c #}{{{", "{\r\nANSWER\r\n", "ANSWER{", "{ANSWER}\n", "\rANSWER", '"{-%}ANSWER{%- \\n'],
)
def test_a_template_gives_any_sign_back(prompt: str) -> None:
    slots = [(*span, "response") for span in locate(prompt, "ANSWER")]
    assert ALONE.from_string(template_text(prompt, slots)).render(response="ANSWER") == prompt


def test_texts_inside_each_other_are_refused() -> None:
    with pytest.raises(LabError, match="overlap at line 2"):
        template_text("a\nbcd", [(2, 5, "response"), (3, 4, "instruction")])


LISTS = json.loads((Path(__file__).parents[1] / "golden" / "replies.json").read_text("utf-8"))["lists in prompts"]
"""Prompts, the labels of the list of scores in each, and their texts."""


@pytest.mark.parametrize(("prompt", "labels", "texts"), LISTS)
def test_the_list_of_scores_comes_first_and_its_entries_move_whole(
    prompt: str, labels: list[str], texts: list[str]
) -> None:
    listed = lists_in(prompt)[0]
    assert [prompt[slice(*span)] for span in listed.labels] == labels
    assert [prompt[slice(*span)] for span in listed.texts] == texts
    slots = [(*span, f"labels[{k}]") for k, span in enumerate(listed.labels)]
    slots += [(*span, f"texts[{k}]") for k, span in enumerate(listed.texts) if span[0] < span[1]]
    template = ALONE.from_string(template_text(prompt, slots))
    assert template.render(labels=labels, texts=texts) == prompt
    swapped = template.render(labels=labels[::-1], texts=texts[::-1])
    again = lists_in(swapped)[0]
    assert [swapped[slice(*span)] for span in again.labels + again.texts] == labels[::-1] + texts[::-1]


# ---------------------------------------------------------------- twenty public prompts

PUBLIC = tomllib.loads((Path(__file__).parent / "public_prompts" / "prompts.toml").read_text("utf-8"))
TEXTS = {
    "instruction": 'My parcel says "delivered" {but} nothing is here.\nWhat now?',
    "response": "I am sorry to hear that!\n\n1. Ask your neighbours.\n2. Score 5: write to us.",
    "reference": "Ask the neighbours first; after a day, write to us.",
    "first": "Ask your neighbours, then write to us.",
    "second": "{{ I do not know }} & neither does <anybody>.",
}
ROW = Item("2", TEXTS["response"], TEXTS["instruction"], TEXTS["reference"], columns={"stars": "4", "channel": "mail"})
PAIR = Comparison(
    "p", "", TEXTS["instruction"],
    answers=(Item("b", TEXTS["second"], candidate="a"), Item("a", TEXTS["first"], candidate="b")),
)  # fmt: skip


def sent(name: str) -> tuple[str, list[str]]:
    """(a public prompt with the row's texts in it, as it is pasted; its messages)."""
    entry = PUBLIC[name]
    parts = [entry[role] for role in ("system", "user") if role in entry]
    contents = [re.sub("«(\\w+)»", lambda mark: TEXTS[mark[1]], part) for part in parts]
    messages = [{"role": role, "content": text} for role, text in zip(("system", "user"), contents, strict=False)]
    return (json.dumps(messages) if len(contents) > 1 else contents[0]), contents


def taken(name: str) -> Pasted:
    entry = PUBLIC[name]
    part = PromptPart(pasted="p", lines=entry.get("lines"), best=entry.get("best", ""))
    return from_text(sent(name)[0], PAIR if entry["axis"] == "pairs" else ROW, entry["axis"], None, part)


@pytest.mark.parametrize("name", [name for name in PUBLIC if "refused" not in PUBLIC[name]])
def test_a_public_prompt_becomes_a_template_that_gives_it_back_and_reads_its_replies(name: str) -> None:
    entry, pasted = PUBLIC[name], taken(name)
    axis, answer = entry["axis"], pasted.prompt.answer
    names: dict[str, Any] = {key: TEXTS[key] for key in ("instruction", "response", "reference")}
    names["item"] = ROW.columns
    names["responses"] = [{"text": TEXTS["first"]}, {"text": TEXTS["second"]}]
    labels: tuple[str, ...] = answer.labels or ("A", "B", "C")
    if axis != "pairs":
        assert pasted.rubric is not None
        options = {option.score: option for option in pasted.rubric.criteria[0].options}
        labels = tuple(option.shown_label for option in options.values())
        names["options"] = [
            {"label": options[int(k)].shown_label, "description": options[int(k)].description}
            for k in pasted.prompt.order
        ]
        assert [option["label"] for option in names["options"]] == entry.get("labels", [])
        assert list(options) == entry.get("scores", sorted(map(int, pasted.prompt.order)))
    rendered = [ALONE.from_string(message.text).render(names) for message in pasted.prompt.messages]
    assert rendered == sent(name)[1]
    for reply, *expected in entry["replies"]:
        index = read_answer(reply, answer, labels, chooses=axis == "pairs", tie=True)
        score = None if index is None else (index + 1) % 3 if axis == "pairs" else list(options)[index]
        assert score == (expected[0] if expected else None), reply


@pytest.mark.parametrize("name", [name for name in PUBLIC if "refused" in PUBLIC[name]])
def test_two_of_the_twenty_are_refused_with_the_reason(name: str) -> None:
    assert len(PUBLIC) == 20
    with pytest.raises(LabError, match=PUBLIC[name]["refused"]):
        taken(name)
