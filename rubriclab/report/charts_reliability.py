"""The report's charts of reliability: what scores vary with, what more calls buy, juries."""

from __future__ import annotations

from collections.abc import Iterator

from rubriclab.figures.generalisability import component_bars, design_curves
from rubriclab.figures.jury import budget_curves, order_forest
from rubriclab.findings.decision_study import curves
from rubriclab.findings.generalisability_results import Generalisability
from rubriclab.findings.jury_results import Jury
from rubriclab.findings.topics import Findings
from rubriclab.report.drawn import Drawn

MOST_STUDIES = 6
"""Of reliability; the others are in the document."""


def generalisability_charts(result: Generalisability, findings: Findings) -> Iterator[Drawn]:
    del findings
    for study in result.studies[:MOST_STUDIES]:
        if study.sources:
            yield Drawn(f"What scores vary with: {study.name}", component_bars(study), ("variance_component",))
        if study.plans:
            lines = design_curves(curves(study, most=30), calls=10)
            yield Drawn(f"What more calls buy: {study.name}", lines, ("decision_study", "dependability"))


def jury_charts(result: Jury, findings: Findings) -> Iterator[Drawn]:
    del findings
    for of in result.juries:
        for found in of.targets[:1]:
            if found.mixes:
                held = "people" if found.target == "people" else "the mean of all judges"
                yield Drawn(f"Juries against {held}: {of.name}", budget_curves(of, found), ("jury",))
        if of.pairs:
            yield Drawn(f"Order errors of two judges: {of.name}", order_forest(of), ("effective_votes",))
