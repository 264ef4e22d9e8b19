"""The registry, its words, and what becomes of a run: every measure has its sentences, every reason
its words.
"""

import re
import string
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rubriclab.core.estimate import Estimate, missing, plain, ratio
from rubriclab.core.topic import (
    CAUTIONS,
    DEFINITIONS,
    MEASURES,
    QUESTIONS,
    REASONS,
    Caution,
    Measure,
    Row,
)
from rubriclab.core.verdict import verdicts
from rubriclab.model.study import ReadingPart, Smallest
from tests.figures.several import scored
from tests.tables import ORDERS, choose, criteria, findings, only, options

ROOT = Path(__file__).resolve().parents[2]
OF = {"position": 1, "score": 3, "target": "tone", "order": "1 2", "before": "wit"} | dict.fromkeys(
    (
        "side",
        "zone",
        "calls",
        "rating",
        "rater",
        "candidate",
        "protocol",
        "cut",
        "task",
        "class",
        "outcome",
        "term",
        "judges",
        "item",
        "families",
        "family",
        "against",
        "variant",
        "label",
        "dataset",
        "stated",
        "way",
        "example",
    ),
    "x",
)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda measure: measure.key)
def test_every_measure_is_named_written_and_defined(measure: Measure) -> None:
    assert measure.name
    assert format(-0.1234, measure.form)
    assert {name for _, name, _, _ in string.Formatter().parse(measure.label) if name} <= OF.keys()
    assert measure.unit in ("", "points", "share", "percentage points")
    assert measure.term in DEFINITIONS
    assert DEFINITIONS[measure.term]["sentence"]


def test_definitions_reasons_and_cautions_are_closed_lists_that_are_all_used() -> None:
    assert set(DEFINITIONS) == {measure.term for measure in MEASURES.values()} | {
        "position",
        "unit",
    }
    assert {part for parts in DEFINITIONS.values() for part in parts} <= {
        "sentence",
        "formula",
        "assumption",
        "source",
    }
    code = "\n".join(
        path.read_text("utf-8")
        for room in ("core", "measures", "stats")
        for path in (ROOT / "rubriclab" / room).glob("*.py")
    )
    words = set(re.findall(r'"([a-z_]+)"', code))
    assert not {key for key in REASONS if key not in words}
    assert not {kind for kind in CAUTIONS if kind not in words}
    assert set(re.findall(r'(?:missing\(|why=)"(\w+)"', code)) <= set(REASONS)
    assert set(re.findall(r'Caution\("(\w+)"', code)) <= set(CAUTIONS)
    assert all(sentence.endswith(".") for sentence in (*REASONS.values(), *CAUTIONS.values()))
    assert Caution("few_moved", of={"items": 3}).sentence.startswith("Only 3 items")


def test_rows_know_their_topic_condition_unit_and_label() -> None:
    found = findings(options(choose(np.random.default_rng(0), 12, ORDERS), ORDERS))
    row = only(found, "position_share", position=2)
    assert (row.topic, row.condition, row.unit, row.label) == ("position", 0, "item", "Position 2")
    assert row.key == ("position", "position_share", (("position", "2"),))
    assert {r.topic for r in found.rows} >= {"verdict", "position", "shift", "failures"}
    others = {r.topic for r in findings(criteria(np.full((9, 2, 2), 4.0), [[0, 1], [1, 0]])).rows}
    assert others >= {"verdict", "joint", "failures"}
    assert not others & {"position", "shift"}


def test_verdict_rows_are_those_of_the_verdict_and_no_other_row_has_one() -> None:
    smallest = Smallest(mean=0.5, share=0.1, single=0.2)
    table = options(choose(np.random.default_rng(1), 30, ORDERS, first=2.0, repeats=2), ORDERS)
    found = findings(table, reading=ReadingPart(smallest=smallest))
    expected = verdicts(found.judgments.arms, smallest)
    rows = {row.measure: row for row in found.rows if row.topic == "verdict"}
    assert set(rows) == {*QUESTIONS, "gate"}
    for measure, question in QUESTIONS.items():
        answer, row = expected.questions[question], rows[measure]
        assert (row.value, row.interval, row.p) == (
            answer.value,
            (answer.low, answer.high),
            answer.p,
        )
        assert (row.verdict, row.smallest, row.level) == (answer.word, answer.smallest, 0.95)
        assert row.why == answer.why
    assert [rows[measure].smallest for measure in QUESTIONS] == [0.1, 0.5, 0.2]
    assert (rows["gate"].p, rows["gate"].why, rows["gate"].verdict) == (expected.gate.p, "", "")
    assert np.isnan(rows["gate"].value)
    assert rows["favours_positions"].verdict == "effect"
    assert not [row for row in found.rows if row.verdict and row.topic != "verdict"]


def test_an_unfinished_run_has_numbers_and_no_verdict() -> None:
    table = options(choose(np.random.default_rng(1), 30, ORDERS, first=2.0), ORDERS, state="paused")
    found = findings(table)
    rows = [row for row in found.rows if row.topic == "verdict"]
    assert {row.why for row in rows} == {"unfinished"}
    assert not any(row.verdict or row.test for row in rows)
    assert all(np.isnan(row.value) for row in rows)
    assert only(found, "position_share", position=1).value > 0.2


def test_two_settings_have_a_verdict_each() -> None:
    table = options(choose(np.random.default_rng(1), 10, ORDERS), ORDERS, fixed=np.ones((10, 2)))
    assert len(findings(table).select(topic="verdict")) == 4  # two conditions of one setting
    other = replace(table.conditions[1], variant={"ids": "letters"})
    found = findings(replace(table, conditions=(table.conditions[0], other)))
    orders = [row.condition for row in found.select(topic="verdict") if not row.of]
    assert orders == [0] * 4 + [1] * 4
    form = {"variant": "ids = letters"}
    assert [(row.condition, row.of) for row in found.select(topic="verdict") if row.of] == [
        (1, form)
    ] * 3


def test_why_says_what_is_missing() -> None:
    unit = np.arange(20)
    assert Row("line", missing("no_two_orders")).why == "no_two_orders"
    assert Row("line", ratio(np.arange(5.0), np.ones(5), unit[:5])).why == "too_few_units"
    assert Row("line", ratio(np.arange(20.0), np.ones(20), unit)).why == ""
    assert Row("chi2", plain(3.0, "statistic"), test=("chi-square", 0.1)).why == "statistic"
    assert Row("line", Estimate(float("nan"), np.zeros(0), unit[:0])).why == "undefined"
    assert Row("moves_mean", plain(0.3, "noise_included"), ends=(0.1, 0.4)).interval == (0.1, 0.4)


def test_rows_of_a_measure_are_those_of_all_rows_in_their_order() -> None:
    found = scored(2, 2, items=6)
    for measure in {row.measure for row in found.rows} | {"no such measure"}:
        for condition in (None, 0, 3):
            slow = [
                row
                for row in found.rows
                if row.measure == measure and condition in (None, row.condition)
            ]
            assert found.select(measure, condition=condition) == slow
    assert found.select(condition=1) == [row for row in found.rows if row.condition == 1]
    assert found.select("position_share", position=2) == [
        row for row in found.rows if row.measure == "position_share" and row.of["position"] == 2
    ]
    found.select("position_share").clear()  # a list of its own each time
    assert found.select("position_share")
