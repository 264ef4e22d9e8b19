"""Names that are put together of pieces, and formulas: said in German, but for what is the same in every language."""

from __future__ import annotations

import json
import re

import pytest

from rubriclab.findings.check import called
from rubriclab.model.language import catalogue, speaking
from rubriclab.model.places import CALIBRATION
from rubriclab.report.definitions import TERMS, Term, formula_said, words_of

FIELD = re.compile(r"[a-z_]+: [\w.]+")
"""A field of a run's findings."""
ENGLISH = re.compile(r"\b(?:of|the|over|mean|sum|with|read|share|in every|first|last)\b")


def test_a_name_of_a_check_is_said_piece_by_piece() -> None:
    name = "clustered, description length pulls 0.2 points"
    assert called(name) == name
    with speaking("de"):
        assert called(name) == "gruppiert, Länge der Beschreibung zieht 0,2 Punkte"
        assert called("first +0.5, label 1 +0.5") == "zuerst +0,5, Bezeichner 1 +0,5"
        assert called("advice: budget · ids=arabic") == "Rat: Budget · ids=arabic"
        assert called("position: shift.mean") == "position: shift.mean", "a field of the findings"


def test_every_name_of_the_recorded_check_is_said() -> None:
    checks = json.loads(CALIBRATION.read_text(encoding="utf-8"))["checks"]
    names = {row[part] for row in checks for part in ("method", "judge", "design")} - {""}
    with speaking("de"):
        left = {name for name in names if called(name) == name and not FIELD.fullmatch(name)}
    assert left == set()


@pytest.mark.parametrize("one", [one for one in TERMS if one.formula], ids=lambda one: one.key)
def test_a_formula_has_its_words_in_german(one: Term) -> None:
    formula = one.formula
    assert formula_said(formula) == formula
    with speaking("de"):
        said = words_of(formula_said(formula))
    assert len(said) == len(words_of(formula))
    assert not [word for word in said if word in words_of(formula)]
    assert not ENGLISH.search(str(catalogue("de")[one.plain]))
