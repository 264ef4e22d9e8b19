"""Check that joined conditions keep their numbers, and that only equal answers become one."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.joined import Side, joined
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings, Row
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.text import LabError
from tests.figures.several import chosen, criteria, scored
from tests.tables import findings
from tests.words import made

OWN = (
    "favours_positions",
    "moves_mean",
    "changes_single",
    "position_share",
    "cramers_v",
    "pc",
    "pf",
    "delta_pos",
)
"""Measures that rest on the calls of one setting alone."""


def of_judges(table: JudgmentTable, *judges: str) -> Findings:
    """The judgments of some judges, as a run of their own."""
    kept = [code for code, about in enumerate(table.conditions) if about.judge in judges]
    rows = table.rows[table.rows["condition"].isin(kept)]
    rows = rows.assign(condition=[kept.index(code) for code in rows["condition"]])
    conditions = tuple(table.conditions[code] for code in kept)
    own = replace(table, conditions=conditions, rows=rows.reset_index(drop=True), planned=())
    return findings(own)


def numbers(found: Findings, *measures: str) -> set[tuple[object, ...]]:
    """Every number of some measures, with its interval and what it is about."""
    return {
        said(row, found)
        for measure in measures
        for row in found.select(measure)
        if math.isfinite(row.value)
    }


def said(row: Row, found: Findings) -> tuple[object, ...]:
    asked = found.conditions[row.condition]
    of = {name: str(value) for name, value in row.of.items()}
    if "against" in of:
        of["against"] = found.conditions[row.of["against"]].judge
    ends = tuple(round(end, 9) if math.isfinite(end) else None for end in row.interval)
    about = (asked.judge, asked.dataset, asked.strategy, row.measure, *sorted(of.items()))
    return (*about, round(row.value, 9), *ends)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("whole", "of_pairs"),
    [(scored(3, items=10), "exact"), (chosen(3), "judges_agree"), (criteria(3), "exact")],
    ids=["options", "pairs", "criteria"],
)
def test_judges_of_two_runs_have_the_numbers_of_one_run(whole: Findings, of_pairs: str) -> None:
    table = whole.judgments.table
    a, b = of_judges(table, "gpt-4", "gpt-4o"), of_judges(table, "o1-mini")
    codes = [k for k, about in enumerate(a.conditions) if about.strategy != "fixed"]
    union = joined([Side("A", a, codes[0]), Side("B", b, 0), Side("A", a, codes[1])])
    assert {about.judge for about in union.findings.conditions} == {"gpt-4", "gpt-4o", "o1-mini"}
    assert len(numbers(whole, *OWN)) >= 6
    assert numbers(union.findings, *OWN) == numbers(whole, *OWN)
    # Answers that both runs judged are one item, so judges of two runs can be paired.
    assert numbers(whole, of_pairs)
    assert numbers(union.findings, of_pairs) == numbers(whole, of_pairs)
    for origin, about in zip(union.origins, union.findings.conditions, strict=True):
        assert (a, b)[origin.side].conditions[origin.code] == about


def test_a_setting_comes_whole_and_others_stay_out() -> None:
    found = scored(3, 2, items=4)
    asked = found.conditions[0]
    union = joined([Side("A", found, 0)])
    assert [about.strategy for about in union.findings.conditions] == ["balanced", "fixed"]
    assert {about.setting for about in union.findings.conditions} == {asked.setting}
    codes = [k for k, about in enumerate(found.conditions) if about.setting == asked.setting]
    calls = found.judgments.table.rows["condition"].isin(codes).sum()
    assert len(union.findings.judgments.table.rows) == calls


def test_one_judge_asked_twice_and_other_answers_of_one_name_are_told_apart() -> None:
    table = made.options_table({"j": made.always_first}, items=9)
    again = made.options_table({"j": made.by_quality}, items=9)
    others = made.options_table({"j": made.by_quality}, items=9)
    names = [f"other {k}" for k in range(len(others.items))]
    renamed = others.items.assign(item_id=names, unit_text=names)
    others = replace(others, items=renamed)
    runs = [findings(each) for each in (table, again, others)]
    union = joined([Side("Run", found, 0) for found in runs]).findings
    dataset = runs[0].conditions[0].dataset
    assert [(about.judge, about.dataset) for about in union.conditions] == [
        ("j (Run)", dataset),
        ("j (Run 2)", dataset),
        ("j (Run 3)", f"{dataset} (Run 3)"),
    ]
    assert len(union.judgments.items) == 18
    shares = [row.value for row in union.select("position_share", position=1)]
    assert shares[0] == 1.0
    assert shares[1] < 1.0


def test_answers_that_were_judged_by_other_criteria_are_known_by_their_ids() -> None:
    of_options = findings(made.options_table({"judge-7b": made.by_quality}, items=2))
    table = made.criteria_table(
        lambda text, slot, position: 2 + (text + slot + position) % 2, items=2
    )
    for ids, dataset in (
        (["answer-0"] * 3 + ["answer-1"] * 3, "answers"),
        (["reply-0"] * 3 + ["reply-1"] * 3, "answers (B)"),
    ):
        of_criteria = findings(replace(table, items=table.items.assign(item_id=ids)))
        union = joined([Side("A", of_options, 0), Side("B", of_criteria, 0)]).findings
        assert [about.dataset for about in union.conditions] == ["answers", dataset]
        assert {about.judge for about in union.conditions} == {"judge-7b"}
        assert len(union.judgments.items) == 8


def test_people_rated_an_answer_in_one_run_and_not_in_the_other() -> None:
    table = made.options_table({"j": made.by_quality}, items=3)
    ratings = [{"ann": 1.0}, {}, {"ann": 3.0}]
    rated = replace(table, items=table.items.assign(ratings=ratings))
    later = replace(table, items=table.items.assign(ratings=[{"bo": 2.0}, {"bo": 2.0}, {}]))
    for runs in ((table, rated, later), (rated, table, later)):
        union = joined([Side("Run", findings(each), 0) for each in runs]).findings
        assert list(union.judgments.items["ratings"]) == [{"ann": 1.0}, {"bo": 2.0}, {"ann": 3.0}]


def test_probabilities_and_notes_stay_with_their_calls() -> None:
    table = made.options_table({"a": made.by_quality, "b": made.by_quality}, items=3)
    given = np.random.default_rng(0).random((len(table.rows), 3))
    a = findings(replace(table, probabilities=given, notes={(0, "x"): 2, (1, "x"): 5}))
    b = findings(made.options_table({"c": made.by_quality}, items=3))
    union = joined([Side("B", b, 0), Side("A", a, 1)]).findings.judgments
    first, second = union.arms
    assert first.probabilities is not None
    assert np.isnan(first.probabilities).all()
    assert np.array_equal(second.probabilities, a.judgments.arms[1].probabilities)
    assert union.table.notes == {(1, "x"): 5}
    assert union.table.rows["call"].is_unique


def test_a_run_that_goes_on_keeps_its_state_and_nothing_cannot_be_joined() -> None:
    done = findings(made.options_table({"a": made.by_quality}, items=3))
    going = findings(made.options_table({"b": made.by_quality}, items=3, state="running"))
    union = joined([Side("A", done, 0), Side("B", going, 0)]).findings
    assert not union.judgments.finished
    assert not union.select("position_share")[0].verdict
    assert Judgments(union.judgments.table).arms[1].condition.judge == "b"
    with pytest.raises(LabError, match="nothing to join"):
        joined([])
