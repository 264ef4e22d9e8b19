"""Make the pictures of several ways to ask, and of both axes of one judge.

Like all pictures they show rows as they were made: nothing is estimated here.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from rubriclab.core.topic import Findings, Row
from rubriclab.figures.judge_pictures import extremes, panel_of_strips, plane_of
from rubriclab.figures.marks import Picture, Point
from rubriclab.figures.pictures import Shown
from rubriclab.model.judgment import Reorder
from rubriclab.model.text import count
from rubriclab.words.phrases import ci_of, number
from rubriclab.words.several import (
    badge,
    listed,
    one_a_judge,
    positions_text,
    short,
    simulated_note,
    whom,
)
from rubriclab.words.subject import EFFECT, EQUIVALENT, Subject

WAYS: dict[Reorder, str] = {
    "bare": "One answer, a bare scale",
    "options": "One answer, score options",
    "criteria": "One answer, all criteria",
    "examples": "One answer, behind examples",
    "responses": "Several answers in one call",
    "pairs": "Two answers",
    "lists": "Several answers, the best",
}
"""What each way to ask is called, in the papers' order."""


def ways_asked(findings: Findings, dataset: str) -> list[Reorder]:
    """Return the ways in which the judges of a data set were asked."""
    asked = {about.reorder for about in findings.conditions if about.dataset == dataset}
    return [way for way in WAYS if way in asked]


def ways_beside(findings: Findings, dataset: str) -> Shown:
    """Draw for each way to ask how often another order gives another result, and how well it
    agrees with people.

    Xu et al. v2, Figure 1.
    """
    people = whom(findings)
    ways = ways_asked(findings, dataset)
    changes: dict[tuple[str, str], Row] = {}
    close: dict[tuple[str, str], Row] = {}
    better: dict[tuple[str, str], Row] = {}
    for way in ways:
        for subject in one_a_judge(findings, way, dataset):
            key = (WAYS[way], subject.judge)
            for measures, into in (
                (("result_change", "choice_change"), changes),
                (("pearson",), close),
                (("better_of_two",), better),
            ):
                row = _first_whole(findings, measures, subject.condition)
                if row is not None:
                    into[key] = row
    title = f"**Which of {count(len(ways), 'way')} to ask suffers least from order"
    title += f", and agrees most with {people}?**" if close else "?**"
    panels = []
    said = []
    for rows, name, below, target in (
        (changes, "Another order, another result", "two calls that differ in their order", 0.0),
        (close, f"Agreement with {people}", "Pearson's r", math.nan),
        (better, "Picks the better of two", f"as {people} do; guessing gives 50%", 0.5),
    ):
        panel = panel_of_strips(findings, rows, title=name, subtitle=below, target=target)
        if panel is not None:
            panels.append(panel)
            named = [(f"{way}, {judge}", row) for (way, judge), row in rows.items()]
            said.append(f"{name}: {extremes(named)}.")
    if not panels:
        return Shown(title, None, "")
    note = (
        f"Lines: {ci_of(findings)} over independent units. Left: the judge's own noise is part of "
        "it."
    )
    if "bare" in ways:
        note += " A bare scale lists nothing, so no order can change."
    chosen = {"pairs", "lists"} & set(ways)
    if chosen and close:
        note += " A judge that chooses between answers gives no scores, so it has no r."
    if chosen and better:
        note += (
            " For pairs and lists, right: how often the winner that the data name is chosen more "
            "often than another answer."
        )
    levels = tuple(WAYS[way] for way in ways)
    picture = Picture("strips", (), " ".join(said), levels=levels, panels=tuple(panels))
    return Shown(title, picture, note + simulated_note(findings))


def _first_whole(findings: Findings, measures: tuple[str, ...], condition: int) -> Row | None:
    """Return the first of these measures that has a number about the whole condition."""
    for measure in measures:
        for row in findings.select(measure, condition=condition):
            if not row.of and math.isfinite(row.value):
                return row
    return None


# ---------------------------------------------------------------- both axes
def both_axes(findings: Findings, dataset: str) -> Shown:
    """Draw how far criteria move against how far options lean: one mark per judge.

    Xu et al. v2, section 5.5: a judge that is cured on one axis may be biased on the other.
    """
    title = "**Cured on one axis, biased on the other?** · one mark per judge"
    options = {subject.judge: subject for subject in one_a_judge(findings, "options", dataset)}
    criteria = {subject.judge: subject for subject in one_a_judge(findings, "criteria", dataset)}
    points = []
    for judge in options:
        if judge in criteria:
            point = _axes_point(options[judge], criteria[judge], dataset)
            if point is not None:
                points.append(point)
    if not points:
        return Shown(title, None, "")
    pairs = [(options[point.of["judge"]], criteria[point.of["judge"]]) for point in points]
    sentences = axes_sentences(pairs)
    picture = plane_of(
        points,
        f"Gap of criteria against lean of options for {count(len(points), 'judge')}",
        axes=(
            "Options: lean of a position, percentage points",
            "Criteria: mean gap of positions, points",
        ),
        smallest=findings.smallest_mean(criteria[points[0].of["judge"]].condition),
        smallest_x=100 * findings.reading.smallest.share,
    )
    known = sentences or "No judge is biased on one axis alone."
    picture = replace(picture, alt=f"{picture.alt} {known}")
    note = f"{sentences} Both are the verdicts' own numbers, without noise. "
    note += f"Lines: {ci_of(findings)}. "
    note += "Dotted: the smallest effect that matters on each axis. Green: too small on both."
    return Shown(title, picture, note.strip() + simulated_note(findings))


def _axes_point(options: Subject, criteria: Subject, dataset: str) -> Point | None:
    """Return the mark of a judge; None where a verdict has no number."""
    across, up = options.positions, criteria.positions
    if across is None or up is None:
        return None
    if not (math.isfinite(across.value) and math.isfinite(up.value)):
        return None
    hover = (
        short(options.judge),
        f"options: {badge(options, 'positions')}, {positions_text(options)}",
        f"criteria: {badge(criteria, 'positions')}, {positions_text(criteria)}",
    )
    point = Point(
        short(options.judge),
        up.value,
        number(up.value),
        *up.interval,
        hover=hover,
        of={"judge": options.judge, "dataset": dataset},
    )
    low, high = across.interval
    return replace(point, x=100 * across.value, x_low=100 * low, x_high=100 * high)


def axes_sentences(pairs: Sequence[tuple[Subject, Subject]]) -> str:
    """Say whose scores depend on one axis alone; empty where nobody's do.

    ``pairs``: of each judge, what was found for its options and for its criteria. One judge has its
    number in the sentence, and several share a sentence.
    """
    said = []
    criteria_only = [
        (options, criteria)
        for options, criteria in pairs
        if options.is_(EQUIVALENT, "positions") and criteria.is_(EFFECT, "positions")
    ]
    options_only = [
        (options, criteria)
        for options, criteria in pairs
        if criteria.is_(EQUIVALENT, "positions") and options.is_(EFFECT, "positions")
    ]
    if len(criteria_only) == 1:
        ((options, criteria),) = criteria_only
        moved = positions_text(criteria).replace("moves criteria", "moves its score")
        said.append(
            f"{short(options.judge)} favours no option by its position, but the position of a "
            f"criterion {moved}."
        )
    elif criteria_only:
        names = listed([short(options.judge) for options, _ in criteria_only])
        said.append(
            f"{names} favour no option by its position, but the position of a criterion moves "
            "their scores."
        )
    if len(options_only) == 1:
        ((options, _),) = options_only
        said.append(
            f"The position of a criterion does not matter to {short(options.judge)}, but it "
            f"{positions_text(options)}."
        )
    elif options_only:
        names = listed([short(options.judge) for options, _ in options_only])
        said.append(
            f"The position of a criterion does not matter to {names}, but each of them leans to a "
            "position of the options."
        )
    return " ".join(said)
