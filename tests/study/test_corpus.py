"""Hold the reader to two numbers that may only improve: nothing misread, and few readable replies
unread.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.replies import outcome, read_case
from rubriclab.study.reading import read_each, read_one

GOLDEN = Path(__file__).parents[1] / "golden"
CORPUS = [
    json.loads(line) for line in (GOLDEN / "reply_corpus.jsonl").read_text("utf-8").splitlines()
]
FIVE = ("1", "2", "3", "4", "5")


def seen(case: dict[str, Any]) -> str:
    return outcome(case["expect"], read_case(case)[0])


@pytest.mark.thorough
def test_no_reply_of_the_corpus_is_misread_and_few_are_unread() -> None:
    counted = Counter(seen(case) for case in CORPUS)
    readable = sum(case["expect"] not in ("unread", {}) for case in CORPUS)
    assert [case["id"] for case in CORPUS if seen(case) == "misread"] == []
    assert readable == 335
    assert counted["unread"] <= 5  # 1.5% of the readable


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "only reasoning, or the prompt again, and no answer"),
        ("<think>Score: 4", "its reasoning does not end: raise max_tokens"),
        ('{"score": 4, "reason": "It', "it begins JSON that does not end"),
        ("The text is fine.", "no verdict in a form that is known"),
        ("Score: 3\nScore: 4", "two verdicts that differ"),
        ("Score: 4 out of 10", "another scale"),
        ("Score: 4\n\n(on a scale of 1 to 10)", "another scale"),
        ("Score: 7", "a score that was not offered"),
        ("Score: 3-4", "no single value: a range, a fraction, or words behind it"),
        ("Score: 5 (provisional)", "no single value: a range, a fraction, or words behind it"),
        ("Score: 4. Wait, let me reconsider.", "it takes its verdict back"),
        ("Score: 4, no, rather a 3", "it takes its verdict back"),
        ("Score: 4\n" + "so it is. " * 1_000, "no verdict in its last 8,000 characters"),
    ],
)
def test_what_is_unread_says_why(reply: str, why: str) -> None:
    reading = read_one(reply, FIVE)
    assert (reading.label, reading.why) == (None, why)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Errors found:\n3", None),  # a lone last line belongs to the line above it
        ("My verdict:\n3", "3"),
        ("1. The reply is polite.", None),  # a list of one entry
        ("The reviewer wrote: Score: 4", None),
        ("Score: 2 (confidence: high)", "2"),
        ("On a scale of 1 to 5, my score is 4.", "4"),
        ("On a scale of 1 to 10, my final score is 4.", None),
        ("Score: 3\n\nRevised score: 4", "4"),
        ('{"score": 3, "score": 4}', None),  # a key that stands twice
        ('{"score": 4, "verdict": "a good text"}', "4"),
        ('{"score": 4}\nOn the whole, my final score: 3', None),
        ("[RESULT] 4\nActually, final score: 3", None),
        ("5️⃣", "5"),
        ("Score: 4 ✅", "4"),
        ("Score: 4?", None),
        ("4 \ud83d", None),
        ("评分：4分", "4"),
        ("综合以上分析，我的评分是：**3**", "3"),
        ("如果更短，评分：5", None),
        ("Die Bewertung lautet 4 von 5.", "4"),
        ("Cette réponse mérite un 4 sur une échelle de 1 à 5.", "4"),
        ("En una escala del 1 al 5, la calificación es 4.", "4"),
        ("評価は4です。", "4"),
        ("[THINK]3?[/THINK]\n4<|im_end|>\n<|im_start|>user\nScore: 1", "4"),
        ("<score>4</score><rationale>A 5 needs a source.</rationale>", "4"),
    ],
)
def test_kinds_of_replies(reply: str, label: str | None) -> None:
    assert read_one(reply, FIVE).label == label
    assert read_one(reply, FIVE[::-1]).label == label


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("If A had kept the limit, I would have chosen [[B]]. It did not.\n\n**[[A]]**", "A"),
        ("I prefer Response B over Response A.", "B"),
        ("Ranking:\n1. C\n2. A\n3. B", "C"),
        ('{"reason": "B is short, so [[A]]", "pass": true}', "A"),
        ("[[A]] or [[B]]", None),
        ("Not [[A]].", None),
        ("Response A is not better than Response B.", None),
    ],
)
def test_kinds_of_choices(reply: str, letter: str | None) -> None:
    assert read_one(reply, ("A", "B", "C"), "list").label == letter


def test_a_heading_that_is_not_asked_for_ends_a_section() -> None:
    reply = "### Tone\nKind.\nScore: 4\n### Remarks\nScore: 2\nClarity:\nOverall score: 3"
    readings = read_each(reply, FIVE, ("Clarity", "Tone"))
    assert {name: reading.label for name, reading in readings.items()} == {
        "Clarity": None,
        "Tone": "4",
    }
