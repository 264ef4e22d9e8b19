"""Check the slides and the one-page report: their words, their limits, and strangers' texts."""

import re
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from rubriclab.exports.presentation import MOST_SHEETS, MOST_TEXT, one_page, slides
from rubriclab.model.text import LabError
from rubriclab.words.presented import presented
from rubriclab.words.subject import subject_of
from tests.tables import comparisons, findings
from tests.words import made

HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x>"


def biased(items: int = 40) -> made.Findings:
    return made.findings(made.options_table({"judge-7b": made.mostly_first}, items=items))


def test_four_slides_ask_show_and_advise() -> None:
    found = made.findings(made.options_table({"judge-7b": made.always_first}, items=40))
    question, example, picture, advice = slides(
        found, subject_of(found), text_of="text of call {}".format
    )
    assert "Does it score the answer, or the order of the list?" in question
    assert "We asked judge-7b to score 40 answers from 1 to 3." in question
    assert "in 6 orders of the same options, each twice." in question
    assert "text of call " in example
    assert example.count('<div class="stack">') == 2
    assert "The same answer in two orders: 2\u00a0points apart" in example
    assert '<li class="first">' in example
    assert "judge-7b favours the option listed first" in picture
    assert '<span class="badge effect">Biased</span>' in picture
    assert "<svg" in picture
    assert "Average" in advice
    assert "to this judge, about these 40 answers, with this rubric." in advice


def test_words_of_both_are_those_of_results() -> None:
    found = biased()
    said = presented(found, subject_of(found))
    page = one_page(found, printed=datetime(2026, 11, 28))
    assert said.answer.headline in page
    assert said.answer.advice.replace("'", "&#39;") in page
    for asked in said.answer.questions:
        assert asked.sentence in page
    assert "printed 28\u00a0November\u00a02026" in page
    assert dict(said.facts)["Calls"] == "480, all parsed"


def test_orders_that_were_asked_differently_often_are_not_counted() -> None:
    table = made.options_table({"j": made.mostly_first}, items=20)
    found = made.findings(replace(table, rows=table.rows.drop(table.rows.index[:1])))
    assert "options. Nothing" in presented(found, subject_of(found)).asked


@pytest.mark.thorough
def test_every_judge_has_a_sheet_of_its_own_and_many_are_refused() -> None:
    two = made.findings(
        made.options_table({"one": made.mostly_first, "other": made.always_first}, items=12)
    )
    assert one_page(two).count('<main class="sheet">') == 2
    judges = {f"judge-{k}": made.always_first for k in range(MOST_SHEETS + 1)}
    many = made.findings(made.options_table(judges, items=2))
    with pytest.raises(LabError, match=rf"{MOST_SHEETS} at most. This run has {MOST_SHEETS + 1}"):
        one_page(many)
    assert one_page(many, judge="judge-3").count('<main class="sheet">') == 1
    with pytest.raises(LabError, match="has no judge “judge-x”"):
        one_page(many, judge="judge-x")


def test_strangers_texts_run_nothing_and_have_a_limit() -> None:
    table = made.options_table({HOSTILE: made.mostly_first}, items=12, name=HOSTILE)
    found = made.findings(table)
    long = HOSTILE + "x" * 5_000
    pages = [
        one_page(found, text_of=lambda _: long),
        *slides(found, subject_of(found), text_of=lambda _: long),
    ]
    for page in pages:
        assert not re.search(r"<(link|script|img|iframe|object|a)\b", page)
        assert "x" * MOST_TEXT not in page
    assert "default-src 'none'" in pages[0]
    assert "&lt;script&gt;" in pages[0]


def test_no_judged_text_is_shown_unless_it_is_handed_over() -> None:
    assert "<blockquote" not in one_page(biased())
    assert "<blockquote" not in "".join(slides(biased(), subject_of(biased())))


def test_a_simulated_judge_is_called_so_on_every_slide() -> None:
    table = made.options_table({"judge-7b": made.mostly_first}, items=40, simulated=True)
    found = made.findings(table)
    for slide in slides(found, subject_of(found)):
        assert ">simulated</span>" in slide
    assert ">simulated</span>" in one_page(found)


def test_pairs_speak_of_sides() -> None:
    found = findings(comparisons(np.ones((30, 2)), [[0, 1], [1, 0]]))
    question, *_ = slides(found, subject_of(found))
    assert "Does it compare the answers, or their sides?" in question
    assert "30 pairs" in question


def test_a_noisy_judge_is_not_accused_by_a_large_number() -> None:
    """It changes every score when it is asked again, and none with the order."""
    table = made.options_table({"j": lambda item, _, repeat: 1 + (item + repeat) % 3}, items=60)
    found = made.findings(table)
    said = presented(found, subject_of(found))
    assert said.single is not None
    assert said.single.badge in ("No", "Not seen yet")
    assert said.changed == ""
    advice = slides(found, subject_of(found))[-1]
    assert f"<strong>{said.single.badge}</strong>" in advice
    assert "in 100</strong>" not in advice


def test_an_example_of_a_noisy_judge_says_so() -> None:
    """It has the first option in two of three items, and noise in the others."""

    def rule(item: int, shown: tuple[int, ...], repeat: int) -> int:
        return int(shown[0]) if item % 3 else 1 + (item // 3 + repeat) % 3

    found = made.findings(made.options_table({"j": rule}, items=60))
    assert subject_of(found).word == "Biased"
    example = slides(found, subject_of(found))[1]
    assert "Asked again in the same order, 33 in 100 change too" in example
