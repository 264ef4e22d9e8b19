"""A file of judgments that grows and is read again and again, with a planned end."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import growing, looks_at
from rubriclab.core.topic import Findings
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from rubriclab.model.text import LabError
from tests.tables import ORDERS, choose, options

SLOTS = np.arange(20) % 10


def log(items: int, first: float = 1.5) -> JudgmentTable:
    """A log of 40 answers by a judge that favours the first option; its first ``items`` so far."""
    score = choose(np.random.default_rng(1), 40, ORDERS, first=first, repeats=2)
    whole = options(score, ORDERS, SLOTS)
    return replace(whole, rows=whole.rows[whole.rows["item"] < items].reset_index(drop=True))


def read(items: int, planned: int = 40) -> Findings:
    table = log(items)
    return Findings(Judgments(replace(table, looks=growing(Judgments(table), planned))))


@pytest.mark.thorough
def test_looks_come_where_they_were_planned_however_often_the_file_is_read() -> None:
    """Looks at 10, 20, 40. The tenth answer may still get calls until the eleventh has begun."""
    seen = [read(items).last_looks[0].number for items in (5, 10, 11, 20, 21, 39, 40)]
    assert seen == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.thorough
def test_an_earlier_look_is_the_same_after_the_file_has_grown() -> None:
    early, later = read(15), read(40)
    first = looks_at(early.judgments, early.judgments.looked[0], Smallest())
    again = looks_at(later.judgments, later.judgments.looked[0], Smallest())
    assert len(first) == 1
    assert len(again) == 3
    assert first[0].verdicts == again[0].verdicts
    assert early.rows[0].alpha == first[0].alpha == pytest.approx(0.00625)


def test_a_file_that_outgrew_its_plan_is_refused() -> None:
    with pytest.raises(LabError, match="holds 40 independent answers; 30 were planned"):
        growing(Judgments(log(40)), 30)
