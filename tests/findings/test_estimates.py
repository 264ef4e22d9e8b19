"""The tidy table of a run's estimates holds every interval and test that its document shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.comparison import COMPARISON
from rubriclab.findings.criteria import CRITERIA
from rubriclab.findings.estimates import COLUMNS
from rubriclab.findings.position import POSITION
from rubriclab.findings.topics import TOPICS, Findings, document
from rubriclab.model.places import TOUR
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.simulated_runs import data_of

KINDS = ("options", "sweep", "forms", "plain", "criteria", "pairs", "lists")


@cache
def findings(kind: str) -> Findings:
    return Findings(data_of(kind))


@cache
def table(kind: str) -> pd.DataFrame:
    return findings(kind).estimates()


def intervals(value: Any, key: str = "") -> Iterator[tuple[float, float]]:
    """Each [low, high] under a key that is ``ci`` or ends so, and each low and high."""
    if isinstance(value, dict):
        if {"low", "high"} <= value.keys() and isinstance(value["low"], float):
            yield value["low"], value["high"]
        for name, part in value.items():
            yield from intervals(part, name)
    elif isinstance(value, list) and (key == "ci" or key.endswith("_ci")):
        if value and isinstance(value[0], list):
            for part in value:
                yield from intervals(part, key)
        elif None not in value:
            yield value[0], value[1]
    elif isinstance(value, list):
        for part in value:
            yield from intervals(part)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_interval_of_the_document_is_in_the_table(kind: str) -> None:
    shown = set(intervals(document(findings(kind))))
    rows = table(kind)
    known = set(zip(rows["low"].tolist(), rows["high"].tolist(), strict=True))
    assert shown
    assert shown - known == set()


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_tidy(kind: str) -> None:
    rows = table(kind)
    assert tuple(rows.columns) == COLUMNS
    assert set(rows["topic"]) <= set(TOPICS)
    assert (rows["measure"] != "").all()
    assert rows["judge"].notna().all()
    said = rows.drop(columns=["value", "low", "high", "n", "p", "p_holm", "note"])
    assert not said.duplicated().any(), said[said.duplicated(keep=False)]
    known = rows[rows["low"].notna() & rows["value"].notna()]
    assert (known["low"] <= known["high"]).all()


def one(kind: str, **where: Any) -> pd.Series:
    rows = table(kind)
    for name, value in where.items():
        rows = rows[rows[name] == value]
    assert len(rows) == 1, rows
    return rows.iloc[0]


def test_option_arms_keep_their_numbers() -> None:
    arm = findings("options").of(POSITION).arms[0]
    where = {"topic": "position", "arm": 0}
    strength = one("options", **where, measure="position.v")
    assert (strength["value"], strength["high"]) == (arm.position.v, arm.position.v_ci.high)
    assert (strength["judge"], strength["strategy"], strength["n"]) == ("leaning", "balanced", 60)
    test = one("options", **where, measure="position.test")
    assert (test["p"], test["p_holm"]) == (arm.position.test.p, arm.position.p_holm)
    assert test["note"].startswith(arm.position.test.name)
    cell = one("options", **where, measure="table", level="score 2, position 3")
    assert cell["value"] == arm.table.share[1, 2]
    assert np.isnan(cell["p"])


def test_criteria_and_pairs_keep_theirs() -> None:
    effect = findings("criteria").of(CRITERIA).arms[0].criteria[1]
    row = one("criteria", topic="criteria", arm=0, measure="criteria.friedman", level="Depth")
    assert (row["p"], row["p_holm"]) == (effect.friedman.p, effect.p_holm)
    shift = one("criteria", topic="criteria", arm=0, measure="criteria.shift", level="Depth · 4")
    assert shift["value"] == effect.shift[3]
    judge = findings("pairs").of(COMPARISON).judges[2]
    pf = one("pairs", topic="comparison", arm=2, measure="pf_test")
    assert (pf["p"], pf["p_holm"]) == (judge.pf_test.p, judge.pf_p_holm)
    shares = table("pairs")
    alike = shares[shares["measure"] == "with_ties.share"]
    assert set(alike["level"]) == {"first · last", "first · even", "last · even"}


def test_tests_that_stand_in_a_list_have_each_its_own_corrected_p(tmp_path: Path) -> None:
    """Pairs of real judges that were also shown in one random order each, which is itself tested."""
    with Store(tmp_path / "lab.duckdb") as kept:
        run = read_archive(kept, next(path for path in TOUR if path.stem == "example_pairs").read_bytes())[0]
        found = Findings(kept.frame(run, probabilities=True))
    drawn = next(one.first_place.drawn for one in found.of(COMPARISON).judges if one.first_place.drawn is not None)
    rows = found.estimates()
    shown = rows[rows["measure"].str.contains("drawn.tests")]
    first = shown[shown["arm"] == shown["arm"].iloc[0]]
    np.testing.assert_array_equal(first["p"], [test.p for test in drawn.tests])
    np.testing.assert_array_equal(first["p_holm"], drawn.p_holm)
