"""The report: one file, no script, no network; strangers' texts are text; texts and raters only when asked for."""

import re
from dataclasses import replace

import pytest

from rubriclab.model.text import LabError
from rubriclab.sinks.cards import card_of, example_of
from rubriclab.sinks.report import INCLUDE, report_html
from tests.sinks import made

HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x>"


@pytest.mark.papers(38)
def test_the_report_holds_the_answer_and_its_picture() -> None:
    page = report_html(made.findings(made.options_table({"judge-7b": made.mostly_first}, items=40)))
    assert "Does judge-7b depend on the order of the rubric?" in page
    assert "judge-7b favours the option listed first" in page
    assert page.count("<svg") == 2
    assert len(re.findall(r'class="badge (effect|equivalent|undecided)"', page)) == 3
    assert "What to do:" in page
    assert "That reaches a dependability of 0.9" in page, "what else helps stands beside it"
    assert "Method and limits" in page
    assert "<details>" in page
    assert len(page) < 100_000


def test_the_report_needs_no_network_and_runs_nothing() -> None:
    table = made.options_table({HOSTILE: made.mostly_first}, items=12, name=HOSTILE)
    table.items["ratings"] = [{HOSTILE: 3.0}] * 12
    told = {"title": HOSTILE, "descriptions": {1: HOSTILE, 2: "", 3: ""}}
    page = report_html(made.findings(table), texts=True, text_of=lambda _: HOSTILE, **told)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "<img" not in page
    assert not re.search(r"<(link|script|img|iframe|object|a)\b", page)
    assert page.count("&lt;script&gt;") >= 4


def test_texts_and_raters_stand_in_it_only_when_asked_for() -> None:
    table = made.options_table({"j": made.mostly_first, "k": made.always_first}, items=12)
    table.items["ratings"] = [{"Rater Jane": 3.0}] * 12
    findings = made.findings(table)
    secrets = [f"secret text of call {example_of(arm)[0].call}" for arm in findings.judgments.arms]
    for texts in (False, True):
        page = report_html(findings, texts=texts, text_of="secret text of call {}".format)
        assert [secret in page for secret in ("Rater Jane", *secrets)] == [texts, texts, False]  # one example


def test_parts_are_left_out_by_name() -> None:
    table = made.options_table({"j": made.mostly_first}, items=12)
    findings = made.findings(replace(table, made_with={"note": "Two <rows> left out."}))
    assert "Two &lt;rows&gt; left out." in report_html(findings, include=("method",))
    assert "<svg" not in report_html(findings, include=("answer",))
    assert "What to do" not in report_html(findings, include=("charts", "numbers"))
    assert "Method and limits" not in report_html(findings, include=[part for part in INCLUDE if part != "method"])
    with pytest.raises(LabError, match="no part “pictures”"):
        report_html(findings, include=("pictures",))


@pytest.mark.parametrize("state", ["running", "failed"])
def test_a_run_without_an_answer_has_a_report_that_says_so(state: str) -> None:
    rule = made.always_first if state == "running" else lambda *_: None
    page = report_html(made.findings(made.options_table({"j": rule}, items=3, state=state)))
    assert "No answer before the end." in page or "could be read" in page
    assert "badge" not in page.split("<body>")[1]


def test_cards_show_the_list_as_it_was_and_what_was_chosen() -> None:
    (arm,) = made.findings(made.options_table({"j": made.always_first}, items=3)).judgments.arms
    upwards, downwards = example_of(arm, {1: "Bad.", 3: "Good."})
    assert (upwards.title, upwards.score, upwards.foot) == ("Listed 1 to 3", "Score 1", "position 1")
    assert (downwards.title, downwards.score) == ("Listed 3 to 1", "Score 3")
    assert [(line.position, line.label, line.text, line.chosen) for line in upwards.lines] == [
        (1, "1", "Bad.", True), (2, "2", "", False), (3, "3", "Good.", False),
    ]  # fmt: skip
    assert card_of(arm, 99_999) is None


def test_cards_of_criteria_hold_every_score() -> None:
    (arm,) = made.findings(made.criteria_table(lambda *where: 1 + where[2], items=2)).judgments.arms
    card = card_of(arm, 0)
    assert card.title == "Listed Tone | Length | Facts"
    assert [line.text for line in card.lines] == ["1", "2", "3"]
    assert card.score == "Mean 2.00"
