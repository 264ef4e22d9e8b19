"""A word of fairness is withheld where calls could not have shown an order effect, and nowhere
else.
"""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.fairness import ONE_SCORE, ONE_TIE, FreeMass, one_answer
from rubriclab.core.judgments import Judgments
from rubriclab.core.operations import check, limit_of
from rubriclab.core.topic import REASONS, Findings
from rubriclab.core.variant_effects import form_verdicts
from rubriclab.core.verdict import verdicts
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from rubriclab.words.answer import answers
from tests.tables import ORDERS, criteria, in_forms, options

QUESTIONS = {"positions", "mean", "single"}
CONSTANT = options(np.full((300, 20), 4.0), ORDERS)
# Every item its own score, in all orders: no order effect, and a judge that could have shown one.
READS = options(np.repeat(np.resize([1.0, 2, 3, 4, 5], 300)[:, None], 20, axis=1), ORDERS)
FIRST = options(np.tile(np.asarray(ORDERS)[:, 0].astype(float), (300, 2)), ORDERS)


def constrained(table: JudgmentTable, mass: list[float]) -> JudgmentTable:
    """The same calls of a judge whose replies were constrained; ``mass`` of the first calls, the
    others not sampled.
    """
    column = np.full(len(table.rows), np.nan)
    column[: len(mass)] = mass
    conditions = tuple(replace(part, constrain="choice") for part in table.conditions)
    return replace(table, conditions=conditions, rows=table.rows.assign(mass=column))


def verdict_of(table: JudgmentTable) -> set[tuple[str, str]]:
    """(word, reason) of the three questions."""
    given = verdicts(Judgments(table).arms, Smallest())
    assert set(given.questions) == QUESTIONS
    return {(answer.word, answer.why) for answer in given.questions.values()}


def test_a_judge_that_reads_and_shows_nothing_is_fair_and_one_of_one_score_is_not() -> None:
    assert verdict_of(READS) == {("equivalent", "")}
    assert verdict_of(CONSTANT) == {("undecided", "one_score")}


def test_one_other_score_is_enough_to_be_asked_about() -> None:
    """One item of 300 scores 5: the judge can give two scores, so its evenness says something."""
    score = np.full((300, 20), 4.0)
    score[0] = 5
    assert verdict_of(options(score, ORDERS)) == {("equivalent", "")}


@pytest.mark.parametrize(
    ("mass", "answer"),
    [
        ([0.016] * 60, ("undecided", "free_mass_low")),
        ([0.1, 0.49, 0.99], ("undecided", "free_mass_low")),
        ([0.1, 0.5, 0.99], ("equivalent", "")),
        ([0.93] * 60, ("equivalent", "")),
        ([], ("undecided", "free_mass_unknown")),
    ],
)
def test_a_constrained_judge_is_fair_only_where_its_free_mass_is_known_and_high(
    mass: list[float], answer: tuple[str, str]
) -> None:
    assert verdict_of(constrained(READS, mass)) == {answer}


@pytest.mark.thorough
def test_an_effect_is_told_whatever_the_free_mass() -> None:
    told = verdict_of(constrained(FIRST, [0.016] * 60))
    assert ("effect", "") in told
    assert not any(word == "equivalent" for word, _ in told)


def test_a_free_judge_is_judged_by_its_replies_and_not_by_its_first_token() -> None:
    """“Score: 4” begins with a token that is no label, and is read."""
    low = constrained(READS, [0.01] * len(READS.rows))
    free = replace(low, conditions=READS.conditions)
    assert verdict_of(free) == {("equivalent", "")}


def test_criteria_that_all_get_one_score_show_nothing() -> None:
    forward = np.array([np.roll(np.arange(4), k) for k in range(4)])
    orders = np.vstack([forward, forward[:, ::-1]])
    one = criteria(np.full((300, 8, 4), 3.0), orders)
    given = verdicts(Judgments(one).arms, Smallest())
    assert {answer.why for answer in given.questions.values()} == {"one_score"}


def test_forms_of_a_prompt_that_all_give_one_score_are_not_called_alike() -> None:
    table = in_forms({"arabic": CONSTANT, "letters": CONSTANT})
    ((_, given),) = form_verdicts(Judgments(table).arms, Smallest())
    assert given is not None
    assert {(each.word, each.why) for each in given.questions.values() if each.why} == {
        ("undecided", "one_score")
    }


def test_of_choices_only_ties_throughout_show_nothing() -> None:
    """A candidate that always wins may be the better one."""
    code = np.zeros((6, 1), dtype=int)
    assert one_answer(code, choices=True, tie=2) == ""
    assert one_answer(code + 2, choices=True, tie=2) == ONE_TIE
    assert one_answer(code, choices=False, tie=2) == ONE_SCORE
    assert one_answer(code[:0], choices=False, tie=2) == ""
    assert FreeMass(float("nan"), 0).reason == "free_mass_unknown"


def test_limits_of_the_ci_gate_cannot_tell_of_a_judge_of_one_score() -> None:
    for table, words in ((READS, ["passes", "passes"]), (CONSTANT, ["unknown", "unknown"])):
        found = Findings(Judgments(table))
        limits = [limit_of("favours_positions=0.2"), limit_of("v_without_noise=0.5")]
        checked = check(found, limits)
        assert [part.word for part in checked] == words
    assert {part.why for part in checked} == {"one_score"}


def test_the_answer_says_it_in_words() -> None:
    (said,) = answers(Findings(Judgments(CONSTANT)))
    assert said.word == "Can't tell yet"
    assert said.headline.endswith("gave the same score in every call")
    assert {asked.badge for asked in said.questions} == {"Can't tell yet"}
    assert {asked.sentence for asked in said.questions} == {REASONS["one_score"]}
    assert said.advice.startswith("Use another judge")
    (held,) = answers(Findings(Judgments(constrained(READS, [0.016] * 60))))
    assert held.headline.startswith("Constrained replies of")
    assert "a probability of 0.02 (median of 60 calls)" in held.line
    assert {asked.sentence for asked in held.questions} == {REASONS["free_mass_low"]}
    assert "without the constraint" in held.advice
    (fine,) = answers(Findings(Judgments(READS)))
    assert fine.headline.endswith("shows no bias that matters")
    assert "constrained" not in fine.line
