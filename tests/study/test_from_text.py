"""Texts and lists are located in prompts as strangers write them, and templates give those back byte for byte."""

from __future__ import annotations

import jinja2
import pytest

from rubriclab.model.text import LabError
from rubriclab.study.from_text import lists_in, locate, template_text

ALONE = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
"""Jinja2 by itself: what a template gives back must not rest on the lab's own rendering."""


@pytest.mark.parametrize(
    ("prompt", "text", "spans"),
    [
        ("Rate: An answer. Again: An answer.", "An answer.", ["An answer.", "An answer."]),
        ("Rate\n- One  line.\n- two\twords\n3) and more!", "One line. two words\nand more", ["One  line.\n- two\twords\n3) and more"]),
        ('<answer>"Yes,\r\nit is"</answer>', "  Yes, it is\n", ["Yes,\r\nit is"]),
        ("14 of 4, 40", "4", ["4"]),
        ("One line, two", "One line. two", []),
        ("anything", " ", []),
    ],
)  # fmt: skip
def test_a_text_is_located_across_line_breaks_and_list_marks_or_not_at_all(
    prompt: str, text: str, spans: list[str]
) -> None:
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


LISTS = {
    "Rate it.\n\nScore 1: bad\nScore 2: good.\nScore 3: best\n\nAnswer:": (["1", "2", "3"], ["bad", "good.", "best"]),
    'Rubric\n<score value="1">bad</score>\n<score value="2">good one.</score>\n': (["1", "2"], ["bad", "good one."]),
    '{\n "1": "bad",\n "0": "best"\n}\nScore:': (["1", "0"], ["bad", "best"]),
    '[{"x": 1},\n  {"score": 1, "description": "bad"},\n  {"score": 2, "description": "best"}\n]': (["1", "2"], ["bad", "best"]),
    '[\n {\n  "score": 1,\n  "about": "bad"\n },\n {\n  "score": 2,\n  "about": "fine"\n }\n]\n\nx': (["1", "2"], ["bad", "fine"]),
    "| Score | Meaning |\n|---|---|\n| 5 | good |\n| 4 | bad |\n\nfoo": (["5", "4"], ["good", "bad"]),
    "Rating scale:\nA. blue\nB. green\nC. red\nOne letter:": (["A", "B", "C"], ["blue", "green", "red"]),
    "Use the scale 1 = bad, 2 = fair, 3 = good. Write one.": (["1", "2", "3"], ["bad", "fair", "good"]),
    "Pick a label:\n- **excellent**: the best\n- **poor**: the worst\n\nGo": (["excellent", "poor"], ["the best", "the worst"]),
    "Score 1:\n it is\n bad\nScore 2:\n it is\n good\n\nEnd": (["1", "2"], ["it is\n bad", "it is\n good"]),
    "Scores:\n-1: bad\n0: neutral\n1: good\n": (["-1", "0", "1"], ["bad", "neutral", "good"]),
    "Steps:\n1. Read it.\n2. Write a score.\n\nScale:\n1 (bad)\n2 (ok)\n": (["1", "2"], ["bad", "ok"]),
    "Scores\n1\n2\n3\n": (["1", "2", "3"], ["", "", ""]),
}  # fmt: skip


@pytest.mark.parametrize("prompt", LISTS)
def test_the_list_of_scores_comes_first_and_its_entries_change_places_whole(prompt: str) -> None:
    listed = lists_in(prompt)[0]
    labels, texts = LISTS[prompt]
    assert [prompt[slice(*span)] for span in listed.labels] == labels
    assert [prompt[slice(*span)] for span in listed.texts] == texts
    slots = [(*span, f"labels[{k}]") for k, span in enumerate(listed.labels)]
    slots += [(*span, f"texts[{k}]") for k, span in enumerate(listed.texts) if span[0] < span[1]]
    template = ALONE.from_string(template_text(prompt, slots))
    assert template.render(labels=labels, texts=texts) == prompt
    swapped = template.render(labels=labels[::-1], texts=texts[::-1])
    again = lists_in(swapped)[0]
    assert [swapped[slice(*span)] for span in again.labels + again.texts] == labels[::-1] + texts[::-1]
