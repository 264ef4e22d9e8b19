"""Charts of agreement: their data, their words and the way to the judgments."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.figures.agreement import SINGLE, coefficient_dots, confusion_cells, order_dots
from rubriclab.findings.agreement import agreement
from rubriclab.findings.agreement_results import AgreementResult
from rubriclab.runs.foreign import foreign_run


@pytest.fixture(scope="module")
def result() -> AgreementResult:
    return agreement(foreign_run("latent trait", "10 fixed against 10 balanced", items=30))


def test_a_row_a_coefficient_and_a_colour_a_strategy(result: AgreementResult) -> None:
    chart = coefficient_dots(result.arms)
    assert [trace.name for trace in chart.figure.data] == [arm.arm.strategy for arm in result.arms]
    for trace, arm in zip(chart.figure.data, result.arms, strict=True):
        shown = [getattr(arm.one_read, name).value for name in SINGLE]
        np.testing.assert_allclose(trace.x, shown)
    assert len([s for s in chart.figure.layout.shapes if s.type == "rect"]) == len(SINGLE)
    assert "People among themselves" in chart.alt


def test_cells_hold_items_and_lead_to_the_judgments_of_a_score(result: AgreementResult) -> None:
    arm = result.arms[0]
    assert arm.confusion is not None
    chart = confusion_cells(arm)
    assert arm.confusion.counts.sum() == pytest.approx(arm.n_items)
    shares = np.asarray(chart.figure.data[0].z, dtype=np.float64)
    np.testing.assert_allclose(np.nansum(shares, axis=1)[arm.confusion.counts.sum(axis=1) > 0], 1.0)
    (behind,) = chart.behind.values()
    assert {one.score for one in behind if one is not None} == {int(value) for value in arm.confusion.values}


def test_each_order_is_a_row(result: AgreementResult) -> None:
    arm = next(arm for arm in result.arms if arm.orderings)
    chart = order_dots(arm)
    assert len(chart.figure.data[0].x) == len(arm.orderings) == 10
