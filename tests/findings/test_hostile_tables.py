"""Score tables that nobody meant: each ends in an answer or in words, never in a fault or a number from nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from rubriclab.cli.common import harmless
from rubriclab.datasets.scores import read_scores
from rubriclab.figures.alignment import budget_curves, forest
from rubriclab.figures.generalisability import component_bars
from rubriclab.findings.corrected_means import corrected_means
from rubriclab.findings.rasch import rulers
from rubriclab.findings.replacement import replacement
from rubriclab.findings.topics import Findings, document
from rubriclab.model import DataError, LabError, RunData
from rubriclab.stats import replacement as test

ORDERS = ("1 2 3 4 5", "5 4 3 2 1", "2 3 4 5 1")
Rating = Callable[[int, int], float | None]


def table(
    items: int, raters: int, rating: Rating = lambda i, k: (i + k) % 5 + 1, score: int | None = None, **more: str
) -> pd.DataFrame:
    """``items`` read in three orders, with the ratings ``rating(item, rater)``."""
    drawn = np.random.default_rng(0).integers(1, 6, (items, len(ORDERS)))
    return pd.DataFrame(
        {"judge": "j", "dataset": "d", "item_id": f"i{i}", "ordering": order, "score": score or drawn[i, read], **more}
        | {f"human_{k + 1}": rating(i, k) for k in range(raters)}
        for i in range(items)
        for read, order in enumerate(ORDERS)
    )


def run(*of: object, **more: object) -> RunData:
    return read_scores(table(*of, **more), name="hostile")  # type: ignore[arg-type]


@pytest.mark.parametrize("rating", [1e10, -1e308, 1e308])
def test_a_rating_whose_square_is_beyond_numbers_is_refused_with_its_place(rating: float) -> None:
    with pytest.raises(DataError, match=r"row 1, column “human_1”.*not a number from -1e9 to 1e9"):
        run(3, 1, lambda *_: rating)


def test_nobody_is_tested_by_the_papers_test_who_is_not_tested_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wilcoxon's test goes through all signs of 13 items with ties: seconds, for a p that is not shown."""
    monkeypatch.setattr(test, "_paper", lambda *_: pytest.fail("the paper's test was made"))
    (arm,) = replacement(run(12, 2)).arms
    assert arm.single.tested == 0
    assert np.isnan([one.p_paper for one in arm.single.annotators]).all()


@pytest.mark.parametrize(("cut", "why"), [(99.0, "No score"), (5.5, "No score"), (1.0, "Every score"), (-3.0, "Every")])
def test_a_cut_outside_the_scale_has_no_pass_rate(cut: float, why: str) -> None:
    data = run(40, 1)
    (arm,) = corrected_means(data.read_as(cut=cut)).arms
    assert [one.rate for one in arm.systems] == [None]
    assert any(text.startswith(why) for text in arm.warnings)
    (inside,) = corrected_means(data.read_as(cut=5.0)).arms
    assert inside.systems[0].rate is not None


@pytest.mark.parametrize("cut", [float("nan"), float("inf")])
def test_a_cut_that_is_no_number_is_refused(cut: float) -> None:
    with pytest.raises(LabError, match="The cut is"):
        run(3, 1).read_as(cut=cut)


def test_of_hundreds_of_ratings_of_an_item_the_ruler_takes_some_and_says_so() -> None:
    (scale,) = rulers(run(4, 300))
    assert scale.n_reads <= 4 * (len(ORDERS) + 30)
    assert any("the first 30 at most" in text for text in scale.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(lambda: run(1, 2), id="one item"),
        pytest.param(lambda: run(12, 2, score=3), id="one option always"),
        pytest.param(lambda: run(12, 2, lambda *_: 4), id="one rating always"),
        pytest.param(lambda: run(12, 2, lambda i, _: 3 if i == 0 else None), id="one rated item"),
        pytest.param(lambda: run(12, 2, prompt="p"), id="one unit"),
        pytest.param(lambda: run(12, 2, lambda i, _: 7.5 if i == 0 else -4), id="off the scale"),
    ],
)
def test_the_whole_document_is_strict_json_and_no_chart_reads_nan_aloud(data: Callable[[], RunData]) -> None:
    findings = Findings(data())
    assert json.loads(json.dumps(document(findings), allow_nan=False))
    told = [draw(findings["alignment"].arms).alt for draw in (forest, budget_curves)]
    told += [component_bars(study).alt for study in findings["generalisability"].studies]
    assert not any("nan" in text.replace(":", " ").replace("%", " ").split() for text in told)


def test_names_that_a_terminal_would_obey_are_written_out() -> None:
    assert harmless("a\x1b[31mb\r\x9b\n – é\t") == "a\\x1b[31mb\\r\\x9b\n – é\\t"
