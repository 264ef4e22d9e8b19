"""The first screen of Results in each of its states: word, headline, evidence and advice."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.model.judgment import JudgmentTable
from rubriclab.words.answer import answers
from tests.app.conftest import Lab, healthy, kept, texts
from tests.tables import ORDERS, choose, comparisons, criteria, options
from tests.words import made

MOST_WORDS = 120
"""Of headline, line, questions and advice; quotes, captions and numbers in pictures are not read
to understand the verdict.
"""


def simulated(table: JudgmentTable) -> JudgmentTable:
    """The table, its judges marked as what they are."""
    conditions = tuple(replace(about, simulated=True) for about in table.conditions)
    return replace(table, conditions=conditions)


def steady(answers: int, prompts: int) -> JudgmentTable:
    """Each answer its own score in ten orders, twice."""
    own = np.repeat(1.0 + np.arange(answers)[:, None] % 5, 2 * len(ORDERS), axis=1)
    return options(own, ORDERS, prompt=[f"prompt {k * prompts // answers}" for k in range(answers)])


def noisy(seed: int) -> JudgmentTable:
    """24 answers to 12 prompts, chosen without any lean, with much noise."""
    score = choose(np.random.default_rng(seed), 24, ORDERS, first=0.0, repeats=2)
    return options(score * 1.0, ORDERS, prompt=[f"prompt {k // 2}" for k in range(24)])


def joint() -> JudgmentTable:
    """Ten texts under four criteria; the one listed first gains a point. Rotations and reverses,
    twice."""
    forward = [[(start + step) % 4 for step in range(4)] for start in range(4)]
    orders = [*forward, *(order[::-1] for order in forward)]
    score = [[1.0 + k + (order[0] == k) for k in range(4)] for order in orders * 2]
    return criteria(np.array([score] * 10), np.array(orders))


def passed(low_first: float, high_first: float) -> JudgmentTable:
    """80 answers in both orders of a pass or fail scale, twice; the shares that pass."""
    rng = np.random.default_rng(2)
    score = (rng.random((80, 4)) < np.array([low_first, high_first])[[0, 1, 0, 1]]) * 1.0
    return options(score, np.array([[0, 1], [1, 0]]), [0, 1, 0, 1])


SWAPPED = comparisons([[2, 2, 2, 2]] * 30 + [[1, 2, 1, 2]] * 3, [[0, 1], [1, 0]])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "word", "headline", "evidence", "advice"),
    [
        (
            made.options_table({"judge": made.always_first}, items=40),
            "Biased",
            "judge favours the option listed first",
            "The same answer in two orders: 2",
            "Average the scores of several orders.",
        ),
        (
            steady(30, 10),
            "No bias seen yet",
            "judge gave the same score in every order",
            "What 10 prompts can rule out",
            "To be sure, run it again with about 66 prompts, 56 more than here.",
        ),
        (
            steady(100, 100),
            "No bias that matters",
            "judge shows no bias that matters",
            "What 100 answers can rule out",
            "One order is enough.",
        ),
        (
            joint(),
            "Biased",
            "judge scores a criterion higher when it is listed first",
            "The same text in two orders",
            "Ask for one criterion per call",
        ),
        (
            SWAPPED,
            "Biased",
            "judge picks the answer shown second",
            "One pair, both ways round",
            "Ask both ways round. Count a win only where both agree.",
        ),
        (
            passed(0.3, 0.8),
            "Biased",
            "judge passes more answers when score 1 is listed first",
            "The same 80 answers in both orders",
            "Ask in both orders and average.",
        ),
    ],
)
def test_a_state_has_its_word_evidence_and_one_advice(
    lab: Lab, table: JudgmentTable, word: str, headline: str, evidence: str, advice: str
) -> None:
    app = healthy(lab("results", run=kept(simulated(table))))
    title = texts(app).splitlines()[0]
    assert title == f"{headline} simulated {word}"
    assert evidence in whole(app)
    assert texts(app).count("What to do.") == 1
    assert advice in texts(app)
    assert words_to_read(table) <= MOST_WORDS
    assert len(app.get("plotly_chart")) == 1


def whole(app: AppTest) -> str:
    """All that a page says, its HTML too."""
    return texts(app) + "\n".join(part.proto.body for part in app.get("html"))


def words_to_read(table: JudgmentTable) -> int:
    """The words of headline, badges, line, questions and advice."""
    (said,) = answers(made.findings(table))
    questions = [part for one in said.questions for part in (one.badge, one.title, one.sentence)]
    parts = [str(said.word), said.headline, said.line, *questions, said.advice]
    return len(" ".join(parts).split())


@pytest.mark.thorough
def test_noise_stands_beside_order_where_nothing_can_be_told(lab: Lab) -> None:
    for seed in range(40):
        app = healthy(lab("results", run=kept(simulated(noisy(seed)))))
        if "Can't tell yet" in texts(app).splitlines()[0]:
            break
    assert "Too few prompts to say whether judge is biased" in texts(app)
    assert "chance alone could do that" in texts(app)
    assert "Is it the order, or just noise?" in whole(app)
    assert "Until then, treat this judge as untested." in texts(app)
    assert "The same answer in two orders" not in whole(app)


def test_a_run_that_goes_on_has_no_word(lab: Lab) -> None:
    table = made.options_table({"judge": made.always_first}, items=12, state="running")
    app = healthy(lab("results", run=kept(simulated(replace(table, planned=(400,))))))
    said = texts(app)
    assert not re.search("Biased|No bias|Can't tell", said)
    assert "so far" in said.splitlines()[0]
    assert "144 of 400 calls" in said


def test_a_judge_of_whom_nothing_could_be_parsed_shows_its_last_reply(lab: Lab) -> None:
    lost = made.options_table({"judge-mini": lambda *_: None}, items=12)
    app = healthy(lab("results", run=kept(simulated(lost))))
    assert texts(app).splitlines()[0].startswith("No score of judge-mini could be read")
    assert "The last reply" in texts(app)
    assert any("My score" in part.value for part in app.code)
    assert not app.get("plotly_chart")


def test_all_judges_have_a_line_each_and_a_click_opens_one(lab: Lab) -> None:
    rules: dict[str, Any] = {"first": made.always_first, "reader": made.by_quality}
    run = kept(simulated(made.options_table(rules, items=40)))
    app = healthy(lab("results", run=run, judge="Both judges"))
    said = texts(app)
    assert "The order of the options matters for 1 of 2 judges" in said.splitlines()[0]
    assert "first favours the option listed first" in said
    assert "reader gave the same score in every order" in said
    app = healthy(app.button(key="verdict-open-1").click().run())
    assert "reader" in app.query_params["judge"]
    assert texts(app).splitlines()[0].startswith("reader gave the same score in every order")
