"""The report's charts of reliability: what scores vary with, what more calls buy, juries."""

from __future__ import annotations

from collections.abc import Iterator

from rubriclab.figures.generalisability import component_bars, design_curves
from rubriclab.figures.jury import budget_curves, order_forest
from rubriclab.findings.decision_study import curves
from rubriclab.findings.generalisability_results import Generalisability
from rubriclab.findings.jury_results import Jury
from rubriclab.findings.topics import Findings
from rubriclab.model.language import tr
from rubriclab.report.drawn import Drawn

MOST_STUDIES = 6
"""Of reliability; the others are in the document."""


def generalisability_charts(result: Generalisability, findings: Findings) -> Iterator[Drawn]:
    del findings
    for study in result.studies[:MOST_STUDIES]:
        if study.sources:
            yield Drawn(
                tr("What scores vary with: {name}", name=study.name), component_bars(study), ("variance_component",)
            )
        if study.plans:
            lines = design_curves(curves(study, most=30), calls=10)
            yield Drawn(tr("What more calls buy: {name}", name=study.name), lines, ("decision_study", "dependability"))


def jury_charts(result: Jury, findings: Findings) -> Iterator[Drawn]:
    del findings
    for of in result.juries:
        for found in of.targets[:1]:
            if found.mixes:
                people, mean = (
                    tr("Juries against people: {name}", name=of.name),
                    tr("Juries against the mean of all judges: {name}", name=of.name),
                )
                yield Drawn(people if found.target == "people" else mean, budget_curves(of, found), ("jury",))
        if of.pairs:
            yield Drawn(tr("Order errors of two judges: {name}", name=of.name), order_forest(of), ("effective_votes",))
