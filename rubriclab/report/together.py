"""Several runs beside each other: their arms on shared scales, and the difference of two at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rubriclab.figures import contrast as draw
from rubriclab.findings.contrast import contrast, contrast_sentence
from rubriclab.findings.contrast_results import Contrast
from rubriclab.findings.matching import why_not
from rubriclab.findings.summary import ComparisonLine, Line, arm_result, lines, moves, scales, short_names
from rubriclab.findings.topics import Findings
from rubriclab.model.language import tr
from rubriclab.model.wording import many, plural
from rubriclab.report.charts import Drawn, Section

MOST_ARMS, MOST_PAIRS = 12, 4
"""Panels of one picture, and differences against the first run: what a reader still takes in."""


def together(runs: Sequence[Findings]) -> Iterator[Section]:
    """What the runs show on one scale, then each later run less the first."""
    moved = [line for findings in runs for line in lines(findings).values() if moves(line)]
    shared = tuple(chart for group in _across_runs(moved) for chart in _shared(runs, group))
    yield Section(tr("On one scale"), shared)
    pairs = [pair for later in runs[1:] if (pair := _pair(moved, runs[0], later)) is not None]
    for a, b in pairs[:MOST_PAIRS]:
        yield _difference(runs, a, b)


def _across_runs(moved: Sequence[Line]) -> list[list[Line]]:
    """Arms on one scale, where they are of several runs; a run's own stand in its own part."""
    return [group[:MOST_ARMS] for group in scales(moved) if len({line.run for line in group}) > 1]


def _shared(runs: Sequence[Findings], group: Sequence[Line]) -> Iterator[Drawn]:
    names = short_names(group)
    axis = group[0].arm.axis
    if axis in ("pairwise", "listwise"):
        some = [line for line in group if isinstance(line, ComparisonLine)]
        yield Drawn(tr("Consistency and fairness"), draw.rates(some, names), ("pc", "pf"))
        return
    by_run = {findings.data.run: findings for findings in runs}
    facets = [
        draw.Facet(line.run, name, arm_result(by_run[line.run], line)) for line, name in zip(group, names, strict=True)
    ]
    if axis == "criteria":
        yield Drawn(tr("Shift by criterion and position, one colour scale"), draw.shift_heatmaps(facets), ("shift",))
        return
    scores = len(group[0].arm.scores)
    yield Drawn(
        tr("Position selected, {scores} options", scores=scores),
        draw.shares(facets, run_judges=[name for of in runs for name in of.data.judges]),
        ("share",),
    )
    yield Drawn(
        tr("Score × position, {scores} options, one colour scale", scores=scores), draw.heatmaps(facets), ("table",)
    )


# ---------------------------------------------------------------- one arm less another


def _pair(moved: Sequence[Line], first: Findings, later: Findings) -> tuple[Line, Line] | None:
    """The two arms of two runs that differ in least: judge, data, strategy, setting."""
    mine, theirs = ([line for line in moved if line.run == of.data.run] for of in (later, first))
    offered = [(a, b) for a, b in product(mine, theirs) if not why_not(a.arm, b.arm)]

    def apart(pair: tuple[Line, Line]) -> tuple[bool, ...]:
        a, b = pair[0].arm, pair[1].arm
        return (a.dataset != b.dataset, a.strategy != b.strategy, a.judge != b.judge, a.variant != b.variant)

    return min(offered, key=apart, default=None)


def _difference(runs: Sequence[Findings], a: Line, b: Line) -> Section:
    by_run = {findings.data.run: findings for findings in runs}
    difference = contrast(by_run[a.run].data, a.code, by_run[b.run].data, b.code, seed=by_run[a.run].seed)
    one, other = (" · ".join(name) for name in short_names([a, b]))
    drawn = []
    if difference.cells is not None:
        drawn.append(
            Drawn(
                tr("Cell by cell; outlined where an interval that holds with all others at once leaves out 0"),
                draw.difference_heatmap(difference),
                ("simultaneous",),
            )
        )
    drawn.append(
        Drawn(tr("Number by number, with 95 % intervals"), draw.difference_forest(difference), ("arm_difference",))
    )
    sentences = (contrast_sentence(difference, one, other), _basis(difference), *difference.warnings)
    return Section(tr("{one} less {other}", one=one, other=other), tuple(drawn), tuple(map(tr, sentences)))


def _basis(difference: Contrast) -> str:
    """What the difference rests on."""
    if difference.paired:
        return tr(
            "The same {items} on both sides; {units} are resampled in pairs.",
            items=many(difference.n_a, "item"),
            units=plural(difference.unit, 2),
        )
    return tr(
        "{items} against {n_b:,}, not the same ones: each side is resampled by itself, which makes the "
        "intervals wider.",
        items=many(difference.n_a, "item"),
        n_b=difference.n_b,
    )
