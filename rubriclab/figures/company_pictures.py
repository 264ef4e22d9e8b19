"""Make the picture of all criteria in one call next to each by itself, for one judge.

Like all pictures it shows rows as they were made: nothing is estimated here.
"""

import math
from collections.abc import Iterator

from rubriclab.core.company_effects import Company
from rubriclab.core.judgments import widest
from rubriclab.core.topic import Findings, Row
from rubriclab.figures.judge_pictures import panel_of_strips
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.figures.pictures import Shown
from rubriclab.words.company import WORDS
from rubriclab.words.phrases import ci_of, number, say
from rubriclab.words.several import short, simulated_note, whom
from rubriclab.words.subject import Subject, subject_of

ALL = "All criteria"
"""The level of what is about all criteria together."""
WAYS = {"together": "in one call", "alone": "each by itself"}
"""The series of the two ways to ask."""


def company_of(findings: Findings, dataset: str) -> list[Company]:
    """Return what company changes, for each judge on a data set that was asked in both ways."""
    return [found for found in findings.company if found.alone.condition.dataset == dataset]


def together_against_alone(findings: Findings, found: Company) -> Shown:
    """Draw level, noise, agreement with people, and order effect of both ways, by criterion."""
    code = widest(found.together).code
    judge = short(findings.conditions[code].judge)
    title = say("picture", WORDS)
    panels = [
        panel_of_strips(
            findings,
            dict(_differences(findings, code)),
            title="Change of the mean",
            subtitle="in one call, minus each by itself",
            axis="points",
            smallest=findings.smallest_mean(code),
            target=0.0,
        ),
        panel_of_strips(
            findings,
            dict(_by_way(findings, "company_noise", code)),
            title="Own noise",
            subtitle="the same asked again",
            axis="scores that differ",
        ),
        panel_of_strips(
            findings,
            dict(_by_way(findings, "company_kappa", code)),
            title="Agreement",
            subtitle=f"with {whom(findings)}",
            axis="weighted kappa",
        ),
        _order_panel(found, subject_of(findings, code)),
    ]
    drawn = tuple(panel for panel in panels if panel is not None)
    if not drawn:
        return Shown(title, None, "")
    said = f"{judge}: " + " ".join(
        f"{line.name}, {point.label}: {point.text}."
        for line in drawn[0].series
        for point in line.points
    )
    picture = Picture("strips", (), said, levels=(ALL, *map(short, found.names)), panels=drawn)
    return Shown(title, picture, say("note", WORDS, ci=ci_of(findings)) + simulated_note(findings))


def _differences(findings: Findings, code: int) -> Iterator[tuple[tuple[str, str], Row]]:
    """Yield the mean differences by level and series."""
    series = "in one call − by itself"
    for row in findings.select("company", condition=code):
        yield (ALL, series), row
    for row in findings.select("company_criterion", condition=code):
        yield (str(row.of["target"]), series), row


def _by_way(findings: Findings, measure: str, code: int) -> Iterator[tuple[tuple[str, str], Row]]:
    """Yield the rows of a measure by level and way."""
    for row in findings.select(measure, condition=code):
        yield (str(row.of.get("target", ALL)), WAYS[row.of["way"]]), row


def _order_panel(found: Company, subject: Subject) -> Picture | None:
    """Return how far the position moves a criterion in one call, from the verdict about orders."""
    positions = subject.positions
    if positions is None or not math.isfinite(positions.value):
        return None
    series = WAYS["together"]
    about = {"judge": subject.judge, "dataset": found.alone.condition.dataset}
    low, high = positions.interval
    points = [
        Point(ALL, positions.value, _points(positions.value), low, high, hover=(ALL,), of=about)
    ]
    if positions.criteria is not None:
        points += [
            Point(short(name), size, _points(size), hover=(name,), of=about)
            for name, size in zip(found.names, positions.criteria.sizes, strict=True)
        ]
    return Picture(
        "strips",
        (Series(series, tuple(points)),),
        "",
        axes=("points", ""),
        levels=tuple(point.label for point in points),
        smallest=positions.smallest,
        title="Order effect",
        subtitle="of the criterion's position",
    )


def _points(value: float) -> str:
    return f"{number(value)} points"
