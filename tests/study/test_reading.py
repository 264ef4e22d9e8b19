"""Read replies: well-formed ones, hostile ones, refusals and lists of criteria; label probabilities
from first tokens.
"""

import json
import signal
from collections.abc import Sequence
from math import inf, log, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.model.data import Item
from rubriclab.model.judgment import Ordering
from rubriclab.model.study import AnswerFormat
from rubriclab.study.outcomes import label_probabilities
from rubriclab.study.own_words import READ, looks_refused
from rubriclab.study.prompts import criteria_prompt, score_prompt
from rubriclab.study.reading import read_each, read_one
from tests.study.kit import criterion

FIVE = ("1", "2", "3", "4", "5")
TEN = tuple(str(score) for score in range(1, 11))
LETTERS = ("E", "D", "C", "B", "A")
ROMAN = ("i", "ii", "iii", "iv", "v")
WORDS = ("poor", "fair", "good", "very good", "excellent")
LABELS = {"five": FIVE, "ten": TEN, "letters": LETTERS, "roman": ROMAN, "words": WORDS}
BOTH: tuple[AnswerFormat, ...] = ("feedback", "score")
CASES = json.loads((Path(__file__).parents[1] / "golden" / "replies.json").read_text("utf-8"))
"""Replies, the labels that were shown (by their name above), and the one that is read."""


def label(text: str, labels: str | Sequence[str], answer: AnswerFormat) -> str | None:
    shown = LABELS[labels] if isinstance(labels, str) else tuple(labels)
    return read_one(text, shown, answer).label


def scores_of(text: str, names: Sequence[str], scores: Sequence[int]) -> dict[str, int]:
    readings = read_each(text, tuple(map(str, scores)), tuple(names))
    return {name: int(each.label) for name, each in readings.items() if each.label is not None}


@pytest.mark.thorough
@pytest.mark.parametrize("answer", BOTH)
@pytest.mark.parametrize(("text", "labels", "expected"), CASES["scores in both modes"])
def test_a_verdict_is_parsed(text: str, labels: Any, expected: str, answer: AnswerFormat) -> None:
    assert label(text, labels, answer) == expected


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        *CASES["scores in score mode"],
        ("5" + " " * 99_000 + "x", FIVE, None),
        ("Score: 4\n" + "so it is. " * 1_000, FIVE, None),
    ],
)
def test_score_mode_parses_a_label_or_a_sentence_and_stays_strict(
    text: str, labels: Any, expected: str | None
) -> None:
    assert label(text, labels, "score") == expected


@pytest.mark.parametrize("answer", BOTH)
@pytest.mark.parametrize(("text", "labels"), CASES["no score"])
def test_what_can_be_read_in_two_ways_or_in_none_is_not_parsed(
    text: str, labels: Any, answer: AnswerFormat
) -> None:
    assert label(text, labels, answer) is None


@pytest.mark.papers(11)
def test_feedback_mode_lets_the_marker_decide_over_prose() -> None:
    text = "Feedback: my score: 4 at first, but then I saw the error.\n[RESULT] 2"
    assert label(text, FIVE, "feedback") == "2"
    assert label(text, FIVE, "score") is None


@pytest.mark.parametrize("answer", BOTH)
def test_a_repeated_prompt_is_no_verdict(answer: AnswerFormat) -> None:
    item = Item("x", "Hello! [RESULT] 5\nScore: 5", "Say hello.", "Hello.")
    ordering = Ordering((2, 1, 5, 3, 4), ("2", "1", "5", "3", "4"))
    echo = score_prompt(item, criterion(), ordering, answer=answer)[0]["content"]
    assert label(echo, ordering.labels, answer) is None
    assert label(f"{echo} Kind enough. [RESULT] 3", ordering.labels, answer) == "3"
    assert label(f"Score: 2\n\n{echo}", ordering.labels, answer) == "2"
    assert label(echo[: echo.index("###Score Rubrics:")], ordering.labels, answer) is None


MARKED = (
    "Feedback: it has 3 parts.\n[RESULT] {}\n",
    "**Feedback:** fine.\n\n**[RESULT]** **{}**",
    "[RESULT] {}\n\nFeedback: A, I think.",
)
BARE = (
    "{}",
    " {}\n",
    "**{}**",
    "{}.",
    "Score: {}",
    "Score {}",
    "[RESULT] {}",
    "({})",
    "Rating: [[{}]]",
)


@pytest.mark.thorough
@settings(deadline=None, max_examples=80)  # a first sight of labels compiles their patterns
@given(
    data=st.data(), answer=st.sampled_from(BOTH), case=st.sampled_from((str, str.upper, str.lower))
)
def test_a_well_formed_reply_comes_back_to_its_position(
    data: st.DataObject, answer: AnswerFormat, case: Any
) -> None:
    """For every style of labels, ordering, form of answer and case: position p in, position p
    out.
    """
    labels = data.draw(
        st.permutations(data.draw(st.sampled_from([*LABELS.values(), ("-1", "0", "+1")])))
    )
    position = data.draw(st.integers(0, len(labels) - 1))
    form = data.draw(st.sampled_from(MARKED if answer == "feedback" else BARE))
    assert label(form.format(case(labels[position])), labels, answer) == labels[position]


def test_a_cut_beginning_is_not_how_a_reply_opens() -> None:
    """The 4,000 signs begin in the middle of "14": what is left of it is no label."""
    rest = ". " + "x" * (READ - 3)
    assert label("4" + rest, FIVE, "score") == "4"
    assert label("14" + rest, FIVE, "score") is None


def test_refusals_are_seen_at_the_start() -> None:
    said = [
        "I'm sorry, but I can't help with that.",
        "I cannot evaluate this response.",
        "I’m unable to score this.",
    ]
    assert [text for text in said if not looks_refused(text)] == []
    assert not looks_refused("3")
    assert not looks_refused(
        "Feedback: " + "the reply is long and kind. " * 10 + "It says: I'm sorry."
    )


NAMES = ("Clarity", "Tone", "Factual accuracy")


@pytest.mark.parametrize("text", CASES["criteria"])
def test_criteria_are_parsed_by_name(text: str) -> None:
    assert scores_of(text, NAMES, (1, 2, 3, 4, 5)) == {
        "Clarity": 4,
        "Tone": 2,
        "Factual accuracy": 5,
    }


@pytest.mark.parametrize(
    "score", ["3-4", "3 or 4", "3.5", "4/10", "0", "-2", "4\n[Tone] 5", "7", "", "N"]
)
def test_two_scores_or_none_and_another_scale_are_no_criterion_score(score: str) -> None:
    text = f"[Tone] {score}\n[Humour] 3\nAll in all a good text.\nClarity: 2"
    assert scores_of(text, NAMES, (1, 2, 3, 4, 5)) == {"Clarity": 2}


def test_a_repeated_criteria_prompt_is_cut_off() -> None:
    item = Item("x", "[tone] 5\n[Humour] 5", "Rate.")
    order = ("tone", "Humour")
    echo = criteria_prompt(item, (criterion("tone"), criterion("Humour")), Ordering(order, order))[
        0
    ]["content"]
    assert scores_of(echo, order, (1, 2, 3, 4, 5)) == {}
    assert scores_of(f"{echo}\n[tone] 2\n[Humour] 3", order, (1, 2, 3, 4, 5)) == {
        "tone": 2,
        "Humour": 3,
    }


@pytest.mark.thorough
@given(data=st.data())
def test_criteria_lines_in_any_order_are_parsed(data: st.DataObject) -> None:
    names = tuple(data.draw(st.permutations([*NAMES, "Tone of voice", "Clarity 2"])))
    scores = data.draw(st.lists(st.integers(0, 10), min_size=5, max_size=5))
    text = "\n".join(f"[{name}] {score}" for name, score in zip(names, scores, strict=True))
    assert scores_of(text, names, tuple(range(11))) == dict(zip(names, scores, strict=True))


FRAGMENTS = (
    " ",
    "\n",
    "[",
    '"',
    '{"',
    "1",
    "_",
    "a_",
    "#",
    "<think>",
    "\\boxed{",
    "[a",
    "[a]",
    "[RESULT] ",
    "score for ",
    "my ",
    "score: ",
    "score for a ",
    "give a a a a ",
    "3 ",
    "3-",
    "3,4 ",
    "x:3;",
    "a: ",
    " \n",
    "\n\t",
    "\n>",
    "> ",
    "| ",
    "#- ",
    "(",
    "'",
    "—",
    "[[ ",
    "answer is ",
    "\ufdfa",
    "\u2028",
    "é",
    "final my total ",
    "[result x ",
    "1,",
    "a 3 ",
    "is a ",
)


def _too_long(*_: object) -> None:
    raise TimeoutError("a reply took minutes to parse")


@pytest.mark.thorough
def test_no_reply_hangs() -> None:
    """100,000 signs of anything, with something around them: a pattern that looks again from each
    takes minutes.
    """
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(
        signal.ITIMER_VIRTUAL, 30
    )  # seconds of this process's own; half of one is needed
    try:
        for fragment in FRAGMENTS:
            for opening, ending in (("5", "x"), ("[", "\n]")):
                text = opening + fragment * (99_000 // len(fragment)) + ending
                for answer in BOTH:
                    read_one(text, FIVE, answer)
                assert scores_of(text, ["b", "c"], [1, 2, 3]) == {}
                assert read_one(text, ("Q", "Z"), "pair", tie=True).label is None
                assert not looks_refused(text)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# ------------------------------------------------------------------------------------ probabilities
SHOWN = ("3", "1", "2", "5", "4")
THREE = ("poor", "good", "excellent")


@pytest.mark.parametrize(
    ("tokens", "labels", "probabilities", "mass"),
    [
        # Forms of one label add up in the order of the labels: 0.4, 0.2 and 0.1 on labels of 0.7 in
        # all.
        (
            {"3": 0.3, " 3": 0.1, "▁1": 0.2, "The": 0.3, "5\n": 0.1},
            SHOWN,
            (4 / 7, 2 / 7, 0, 1 / 7, 0),
            0.7,
        ),
        ({"３": 0.5}, SHOWN, (1, 0, 0, 0, 0), 0.5),
        ({"The": 0.9, "6": 0.1}, SHOWN, None, 0),
        ({}, SHOWN, None, 0),
        ({"3": 1.000001, " 3": 0.01}, SHOWN, (1, 0, 0, 0, 0), 1),
        # "b" is "B"; "a" starts a sentence more often than it is "A", as "I" is no "i".
        ({"A": 0.2, "a": 0.3, "b": 0.1, " B": 0.1}, ("B", "A"), (0.5, 0.5), 0.4),
        ({"I": 0.6, "v": 0.2}, ("i", "v"), (0, 1), 0.2),
        # A label that begins with another one, or with a piece that was seen, has to be seen whole
        # itself.
        (dict.fromkeys(ROMAN, 0.1), ROMAN, (0.2,) * 5, 0.5),
        (dict.fromkeys(("i", "iii", "iv", "v"), 0.1), ROMAN, None, 0.4),
        (dict.fromkeys(("i", "ii", "iii", "v"), 0.1), ROMAN, None, 0.4),
        (dict.fromkeys(("i", "ii", "iii", "iv"), 0.1), ROMAN, (0.25, 0.25, 0.25, 0.25, 0), 0.4),
        ({"1": 0.5, "2": 0.25}, TEN, None, 0.75),
        ({"1": 0.5, "2": 0.25, "10": 0.25}, TEN, (0.5, 0.25, *(0,) * 7, 0.25), 1),
        ({"good": 0.5, "poor": 0.2, "ex": 0.2}, THREE, None, 0.7),
        ({"good": 0.5, "poor": 0.2, "ex": 0.2, "excellent": 0.1}, THREE, (0.25, 0.625, 0.125), 0.8),
    ],
)
def test_probabilities_of_labels(
    tokens: dict[str, float],
    labels: tuple[str, ...],
    probabilities: tuple[float, ...] | None,
    mass: float,
) -> None:
    shares, fell = label_probabilities(
        [(token, log(share)) for token, share in tokens.items()], labels
    )
    assert shares == (None if probabilities is None else pytest.approx(probabilities))
    assert fell == pytest.approx(mass)


def test_log_probabilities_that_are_none_are_left_out() -> None:
    tokens = [("3", nan), ("1", None), ("4", -inf), ("2", log(0.25)), ("5" * 41, 0.0)]
    assert label_probabilities(tokens, SHOWN) == ((0, 0, 1, 0, 0), 0.25)  # type: ignore[arg-type]
