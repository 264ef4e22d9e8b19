"""Check what is said of several judges, and that it is made once for the same findings."""

import gc
import weakref
from dataclasses import replace

import pytest

from rubriclab.core.topic import Findings
from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import Condition
from rubriclab.words.several import one_a_judge, over_one_of_many, whom
from rubriclab.words.subject import subject_of, subjects_of_orders
from rubriclab.words.with_people import intended_levels
from tests.figures.several import scored
from tests.tables import findings
from tests.words import made


@pytest.mark.thorough
def test_subjects_are_made_once_and_go_with_their_findings() -> None:
    found = scored(2, 1, items=6)
    again = Findings(found.judgments, found.reading)
    first, second = one_a_judge(again, "options"), one_a_judge(again, "options")
    assert all(a is b for a, b in zip(first, second, strict=True))
    assert first[0] is not one_a_judge(found, "options")[0]  # other findings have their own
    subjects_of_orders(again).clear()  # a list of its own each time
    assert len(subjects_of_orders(again)) == 2
    known = weakref.ref(again)
    del again
    gc.collect()
    assert known() is None


def test_the_yardstick_is_named_after_those_who_rated() -> None:
    table = made.options_table({"a": made.by_quality, "b": made.by_quality}, items=3)

    def rated(*ratings: dict[str, float]) -> Findings:
        return findings(replace(table, items=table.items.assign(ratings=list(ratings))))

    aimed = rated({INTENDED: 1.0}, {}, {INTENDED: 3.0})
    assert intended_levels(aimed, 0)
    assert whom(aimed) == "the intended levels"
    assert aimed.judgments.raters == ({INTENDED},) * 2
    both = rated({INTENDED: 1.0}, {"ann": 2.0}, {})
    assert both.judgments.raters == ({INTENDED, "ann"},) * 2
    assert whom(both) == whom(findings(table)) == "people"


def test_bare_scores_of_several_judges_say_nothing_of_an_order() -> None:
    """They list nothing, so their finished run must not wait for a verdict."""
    asked = [Condition(judge, "answers", "fixed", reorder="bare") for judge in ("one", "other")]
    found = made.several(*asked)
    assert over_one_of_many(found, subject_of(found)) == ""
    listed = made.several(*(replace(about, reorder="options") for about in asked))
    assert "2 judges" in over_one_of_many(listed, subject_of(listed))
