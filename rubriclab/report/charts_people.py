"""The report's charts that hold a judge against people's ratings: agreement, replacement, corrected means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rubriclab.figures import corrected_means as means
from rubriclab.figures import replacement as annotators
from rubriclab.figures.agreement import coefficient_dots, confusion_cells, order_dots
from rubriclab.findings.agreement_results import AgreementResult
from rubriclab.findings.agreement_words import averaging_sentence
from rubriclab.findings.corrected_means_results import CorrectedResult
from rubriclab.findings.replacement import ReplacementResult
from rubriclab.findings.topic import clarity, setting
from rubriclab.findings.topics import Findings
from rubriclab.model.language import tr
from rubriclab.report.drawn import Drawn


def agreement_charts(result: AgreementResult, findings: Findings) -> Iterator[Drawn]:
    for group in {setting(arm.arm): arm for arm in result.arms}:
        arms = [arm for arm in result.arms if setting(arm.arm) == group]
        name = " · ".join(filter(None, group))
        terms = ("single_read", "exact", "within_one", "kappa", "ac", "alpha_levels", "raters_own")
        yield Drawn(tr("Agreement of single reads with people: {name}", name=name), coefficient_dots(arms), terms)
        clearest = min(arms, key=lambda arm: clarity(arm.arm))
        yield Drawn(tr("Who gave what: {arm}", arm=clearest.arm), confusion_cells(clearest), ("confusion",))
        if len(clearest.orderings) > 1:
            yield Drawn(
                tr("Weighted kappa of each order: {arm}", arm=clearest.arm),
                order_dots(clearest, run_judges=findings.data.judges),
                ("kappa",),
            )


def agreement_said(result: AgreementResult) -> Iterable[str]:
    return [text for arm in result.arms[:6] if (text := averaging_sentence(arm))]


def replacement_charts(result: ReplacementResult, findings: Findings) -> Iterator[Drawn]:
    del findings
    for arm in result.arms:
        if arm.single.tested:
            yield Drawn(
                f"Annotators: {arm.arm}", annotators.annotator_dots(arm), ("alt_test", "epsilon", "winning_rate")
            )
            yield Drawn(f"Advantage: {arm.arm}", annotators.advantage_dots(arm), ("advantage_probability",))


def corrected_charts(result: CorrectedResult, findings: Findings) -> Iterator[Drawn]:
    del findings
    for arm in result.arms:
        whole = arm.systems[0]
        yield Drawn(tr("Plain, rated and corrected: {arm}", arm=arm.arm), means.mean_forest(arm), ("ppi", "ppi_weight"))
        if len(whole.orders) > 1:
            yield Drawn(tr("Means in each order: {arm}", arm=arm.arm), means.order_dots(arm, whole), ("ppi",))
        if whole.rate is not None:
            yield Drawn(
                tr("Pass rates from {cut:g}: {arm}", cut=whole.rate.cut, arm=arm.arm),
                means.rate_forest(arm),
                ("rogan_gladen",),
            )
        if whole.buying is not None:
            yield Drawn(
                tr("What ratings buy: {arm}", arm=arm.arm), means.buying_curves(whole.buying), ("ratings_worth",)
            )
