"""The charts of responses scored together, with their captions and what has to be known to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.figures.batch import before_heatmap, effect_forest, place_dots
from rubriclab.findings.batch_results import BatchResult
from rubriclab.model.language import tr
from rubriclab.report.drawn import Drawn


def batch_charts(result: BatchResult, judges: Sequence[str]) -> Iterator[Drawn]:
    """Of every arm whose responses changed places. ``judges``: the run's, for their colours."""
    for arm in result.arms:
        if arm.varied:
            yield Drawn(
                tr("What a batch does: {arm}", arm=arm.arm),
                effect_forest(arm, run_judges=judges),
                ("batch_contrast", "batch_level"),
            )
            yield Drawn(
                tr("By place in the batch: {arm}", arm=arm.arm), place_dots(arm, run_judges=judges), ("batch_place",)
            )
            yield Drawn(tr("After which response: {arm}", arm=arm.arm), before_heatmap(arm), ("batch_before",))
