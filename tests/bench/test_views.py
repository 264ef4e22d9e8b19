"""The benchmark of views: what it makes, what it measures, which bar is whose."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from benchmarks.generated import generated_criteria, generated_scores
from benchmarks.views import MEMORY, ROWS, SECONDS, bar, main
from rubriclab.datasets.criteria import read_criteria
from rubriclab.datasets.scores import read_scores


def test_generated_judgments_are_an_import() -> None:
    """Categories are a saving, nothing else: as plain texts the same table is the same run."""
    for made, read in ((generated_scores(2_400), read_scores), (generated_criteria(1_728), read_criteria)):
        texts = made.astype({name: "str" for name in made if isinstance(made[name].dtype, pd.CategoricalDtype)})
        data = read(made, name="made")
        assert data.run == read(texts, name="made").run
        assert len(data.judgments) == len(made)
        assert len(data.arms) == 12


def test_bars() -> None:
    assert bar("perturbation", ROWS) == 1.5
    assert bar("item", ROWS) == 1.0
    assert bar("position", ROWS) == bar("perturbation", 20_000_000) == SECONDS


@pytest.mark.slow
def test_every_line_has_its_seconds_memory_and_bar(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--rows", "24000", "--no-plain", "--json", "--views", "item", "perturbation"])
    told = json.loads(capsys.readouterr().out)
    (imported,) = told["imports"].values()
    assert (imported["rows"], imported["arms"]) == (24_000, 12)
    assert imported["peak"] >= imported["before"] > 50
    views = {one["view"]: one for one in told["views"]}
    assert list(views) == ["item", "perturbation"]
    for one in views.values():
        assert one["wall"] >= one["finding"] > 0
        assert 50 < one["peak"] < MEMORY
        assert one["met"] == (one["wall"] <= one["bar"])
    assert code == (not all(one["met"] for one in views.values()))
