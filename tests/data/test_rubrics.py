"""Rubrics as YAML, JSON and CSV; what would read as another one is refused."""

from __future__ import annotations

import json

import pytest
import yaml

from rubriclab.data.rubrics import read_rubric, rubric_of, yaml_value
from rubriclab.data.sample import data_path, sample, sample_rubrics
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.text import LabError

TWO = Rubric(
    "Essays",
    (
        Criterion("Clarity", (Option(1, "no: muddled"), Option(2, "yes", "B")), "Can it be followed?"),
        Criterion("Depth", (Option(0, "#flat"), Option(10, "deep"))),
    ),
)


def test_a_document_is_a_rubric() -> None:
    body = {"name": "Essays", "criteria": TWO.criteria_document()}
    assert rubric_of(yaml_value(yaml.safe_dump(body), "x.yaml")) == TWO
    assert read_rubric(json.dumps(body).encode(), "x.json") == TWO


def test_a_table_is_a_rubric() -> None:
    rows = (
        "criterion,score,description,label,criterion_description\n"
        "Clarity,2,yes,B,Can it be followed?\nClarity,1,no: muddled,,\nDepth,0,#flat,,\nDepth,10,deep,,\n"
    )
    assert read_rubric(rows.encode(), "Essays.csv") == TWO
    single = read_rubric(b"score;description\n1;rude\n2;kind\n", "Tone.csv").criteria
    assert single == (Criterion("Tone", (Option(1, "rude"), Option(2, "kind"))),)
    assert rubric_of(yaml_value("name: Tone\noptions: {1: rude, 2: kind}\n", "x.yaml")).criteria == single


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a [x]\nb: *a\n", "line 2.*alias"),
        ("name: x\noptions:\n  1: a\n  1: b\n", "“1” stands twice"),
        ("name: x\noptions: {1: a, 2: b, 0x1: c}\n", "column 23.*“1” stands twice"),
        ("name: x\noptions: {1: a, 2: b, 1.0: c}\n", "“1.0” stands twice"),
        ("".join(f"<<: {{a{k}: 1}}\n" for k in range(2_000)), "'a0' is not known"),
        ("- " * 60_000, "nested deeper than 64"),
        ("? [a]\n: b\n", "not YAML"),
        ("[" * 5_000, "nested deeper than 64"),
        ("x: !!python/object/apply:os.system [ls]\n", "not YAML that is read"),
        ("x: " + "1" * 5_000, "5,000 digits"),
        ("x: 2020-13-45\n", "not YAML"),
        ("- 1\n", "“x.yaml” is .1.; expected a table"),
        ("criteria: []\n", "no list of 1 to 100"),
        ("nome: x\ncriteria: []\n", "'nome' is not known"),
        ("criteria: [{name: x, options: [{score: .nan}, {score: 2}]}]\n", "score is nan; expected a whole number"),
        ("criteria: [{name: x, options: [{score: .inf}, {score: 2}]}]\n", "score is inf"),
        ("criteria: [{name: x, options: [{score: 1" + "0" * 30 + "}, {score: 2}]}]\n", "expected a whole number"),
        ("criteria: [{name: x, options: [{score: 1}, {score: 1}]}]\n", "twice"),
        ("criteria: [{name: x, options: [{score: 1}]}]\n", "1 score option"),
        ("criteria: [{name: x, description: [1], options: [{score: 1}, {score: 2}]}]\n", "expected a text"),
        ("name: \udcff\n", "UTF-8"),
        ("x" * 2_000_001, "at most 2 MB"),
        ('{"name": "a", "name": "b"}', "stands twice"),
        ("score,description\n1,a\none,b\n", "line 3, column “score”: “one” is no score"),
    ],
)
def test_what_is_no_rubric_is_refused(text: str, words: str) -> None:
    name = "x.json" if text.startswith("{") else "x.csv" if text.startswith("score,") else "x.yaml"
    with pytest.raises(LabError, match=words):
        read_rubric(text.encode("utf-8", "surrogateescape"), name)


def test_what_comes_with_the_lab() -> None:
    with pytest.raises(LabError, match="a rubric is one of"):
        read_rubric(b"x", "x.exe")
    assert not any(item.ratings for item in sample().items)  # the author's intention is no person's rating
    assert {rubric.name for rubric in sample_rubrics()} >= {"Helpfulness", "Writing"}
    with pytest.raises(LabError, match="did not come with"):
        data_path("nothing.csv")
