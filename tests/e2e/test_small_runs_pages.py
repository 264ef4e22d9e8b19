"""Pages of findings on a run of one item: what cannot be known is left out of sentences, or said."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from rubriclab.app import ui
from rubriclab.datasets.imports import READERS
from rubriclab.model import designs
from rubriclab.model.study import Strategy
from tests.e2e.lab import healthy
from tests.e2e.test_findings_pages import opened

SHOWN = ("title", "header", "subheader", "markdown", "caption", "info", "warning")
HOLE = re.compile(r"(?<![\w\d\]]) ?–(?=[ ,.;:)]| and| of)")
"""A dash where a number should be. A metric may have one: there it is told apart from a number."""


@pytest.fixture(scope="module")
def one_item(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rng = np.random.default_rng(1)
    rows = [
        {"judge": "j", "dataset": "one", "item_id": "1", "ordering": " ".join(map(str, line)), "human": 4}
        | {"score": int(rng.integers(3, 6))}
        for line in designs.orderings(Strategy("balanced"), (1, 2, 3, 4, 5))
    ]
    path = tmp_path_factory.mktemp("one") / "lab.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(path))
        patch.setattr("rubriclab.app.ui.runs.EXAMPLE", path.parent / "none.zip")
        st.cache_resource.clear()
        yield ui.store().import_run(READERS["scores"].read(pd.DataFrame(rows), name="one"), provenance={})
        ui.manager().store.close()
        st.cache_resource.clear()


@pytest.mark.parametrize("page", ["position", "alignment", "reliability", "ranking", "choice"])
def test_no_sentence_has_a_hole(page: str, one_item: str) -> None:
    assert HOLE.search("a departure of – points (V about –)")
    app = healthy(opened(page, one_item))
    said = [str(part.value) for kind in SHOWN for part in getattr(app, kind)]
    assert len(said) > 5
    assert [text for text in said if HOLE.search(text)] == []
    assert not [text for text in said if re.search(r"\b0 tests\b", text)]


def test_no_ruler_and_no_chart_out_of_one_item(one_item: str) -> None:
    app = healthy(opened("reliability", one_item))
    assert any("one item cannot be told from any other" in part.value for part in app.info)
    assert not app.get("plotly_chart")
