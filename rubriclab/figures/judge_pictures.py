"""Make the pictures of several judges, or several data sets, that score answers.

Like all pictures they show rows as they were made: nothing is estimated here. Each function says
which figure of the papers it takes the place of.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from rubriclab.core.topic import MEASURES, Findings, Row
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.figures.pictures import CLICK, Shown, mark, target_cells
from rubriclab.model.text import count
from rubriclab.words.phrases import ci_of, inside, number, value_text
from rubriclab.words.several import (
    badge,
    left_out,
    named,
    one_a_judge,
    positions_text,
    short,
    simulated_note,
    whom,
)
from rubriclab.words.subject import EFFECT, Subject

MOST_PANELS = 12
"""Small panels in one picture. More would be too small to read; those that lean most are kept."""
MOST_LINES = 6
"""Lines that colour, dash and mark tell apart in one panel."""


# ---------------------------------------------------------------- positions
def positions_by_dataset(findings: Findings, *, panel: str = "judge") -> Shown:
    """Draw the share of each position: a panel a judge, a line a data set, or the other way round.

    Xu et al. v1, Figure 5, and v2, Figure 4.
    """
    asked = one_a_judge(findings, "options")
    subjects = [subject for subject in asked if subject.calls]
    by_panel: dict[str, list[Subject]] = {}
    for subject in subjects:
        about = findings.conditions[subject.condition]
        by_panel.setdefault(getattr(about, panel), []).append(subject)
    kept = sorted(by_panel, key=lambda name: -max(_lean_of_first(s) for s in by_panel[name]))
    if panel == "dataset":
        kept = list(by_panel)
    line = "dataset" if panel == "judge" else "judge"
    panels = []
    for name in kept[:MOST_PANELS]:
        own = by_panel[name][:MOST_LINES]
        lines = []
        for subject in own:
            about = findings.conditions[subject.condition]
            points = _position_points(findings, subject)
            if points:
                lines.append(Series(short(getattr(about, line)), tuple(points)))
        if not lines:
            continue
        subtitle = ""
        if panel == "judge":
            subtitle = _verdicts_in_brief(own)
        smallest = own[0].positions.smallest if own[0].positions is not None else math.nan
        panels.append(
            Picture(
                "curves",
                tuple(lines),
                "",
                axes=("Position in the list", ""),
                levels=tuple(point.label for point in lines[0].points),
                smallest=smallest,
                target=1 / len(lines[0].points),
                title=short(name),
                subtitle=subtitle,
            )
        )
    title = "**Which position does each judge pick?** · one line for each "
    title += "data set" if line == "dataset" else "judge"
    if not panels:
        return Shown(title, None, "")
    extremes = sorted(subjects, key=_largest_share)
    least, most = extremes[0], extremes[-1]
    even = number(panels[0].target, ".0%")
    alt = (
        f"Share of each position, {count(len(panels), 'panel')}. Even is {even}. Furthest from "
        f"even: {named(most)}, {positions_text(most)}. Closest: {named(least)}."
    )
    note = (
        f"Shares of calls, {ci_of(findings)}. Without bias every position has {even} (dotted). "
        "Green: closer to even than the smallest share that matters. Filled: the interval leaves "
        "out even."
    )
    too_many = f"only {MOST_PANELS} panels fit"
    if panel == "judge":
        too_many += ", and these lean least to position 1"
    beyond = [own[MOST_LINES:] for own in (by_panel[name] for name in kept[:MOST_PANELS])]
    lines_of = (findings.conditions[subject.condition] for own in beyond for subject in own)
    names = {
        "no call lists score options": _not_among(findings, asked),
        "no reply could be parsed": _lost(asked, subjects),
        too_many: kept[MOST_PANELS:],
        f"only {MOST_LINES} lines fit in a panel": list(
            dict.fromkeys(getattr(about, line) for about in lines_of)
        ),
    }
    note += left_out(names)
    picture = Picture("multiples", (), alt, panels=tuple(panels))
    return Shown(title, picture, note + simulated_note(findings))


def _verdicts_in_brief(subjects: Sequence[Subject]) -> str:
    """Say what the verdict on positions is; of several data sets, on how many it is Yes."""
    known = [subject for subject in subjects if badge(subject, "positions")]
    if len(subjects) == 1:
        # The dotted line shows where even is.
        said = positions_text(subjects[0]).partition(", even is")[0]
        return f"{badge(subjects[0], 'positions')} · {said}".removeprefix(" · ")
    if not known:
        return "no verdict"
    favours = sum(subject.is_(EFFECT, "positions") for subject in known)
    return f"favours positions on {favours} of {count(len(known), 'data set')}"


def _not_among(findings: Findings, subjects: Sequence[Subject]) -> list[str]:
    """Return the judges of a run that none of these subjects is about."""
    known = {subject.judge for subject in subjects}
    judges = dict.fromkeys(about.judge for about in findings.conditions)
    return [judge for judge in judges if judge not in known]


def _lost(asked: Sequence[Subject], drawn: Sequence[Subject]) -> list[str]:
    """Return the judges that were asked and of which nothing is drawn."""
    known = {subject.judge for subject in drawn}
    return list(dict.fromkeys(subject.judge for subject in asked if subject.judge not in known))


def _lean_of_first(subject: Subject) -> float:
    return subject.leans[0] if subject.leans else -math.inf


def _largest_share(subject: Subject) -> float:
    return max((abs(lean) for lean in subject.leans), default=0.0)


def _position_points(findings: Findings, subject: Subject) -> list[Point]:
    """Return a mark for each position: the share of the calls of the subject's condition."""
    about = findings.conditions[subject.condition]
    even = 1 / max(1, about.positions)
    points = []
    for row in findings.select("position_share", condition=subject.condition):
        low, high = row.interval
        position = row.of["position"]
        title = f"{short(about.judge)} · {short(about.dataset)} · position {position}"
        point = mark(row, str(position), title, value_text(row), inside(row), CLICK)
        apart = math.isfinite(low) and not low <= even <= high
        of = {**row.of, "judge": about.judge, "dataset": about.dataset}
        points.append(replace(point, decided=apart, expected=even, of=of))
    return points


def criteria_of_judges(findings: Findings, dataset: str) -> Shown:
    """Draw criterion x position for every judge on one scale of colours.

    Xu et al. v2, Figures 10 and 11.
    """
    title = "**What does listing a criterion first do to its score?** · points from its own mean"
    subjects = one_a_judge(findings, "criteria", dataset)
    drawn = []
    for subject in subjects:
        cells = target_cells(findings, subject.condition)
        if cells is not None:
            drawn.append((subject, cells))
    if not drawn:
        return Shown(title, None, "")
    span = max(cells.span or 0.0 for _, cells in drawn)
    drawn.sort(key=lambda pair: -(pair[0].positions.value if pair[0].positions else 0.0))
    panels = [
        replace(
            _judged_cells(cells, subject.judge, dataset),
            span=span,
            title=short(subject.judge),
            subtitle=_criteria_subtitle(findings, subject),
        )
        for subject, cells in drawn[:MOST_PANELS]
    ]
    points = [(panel.title, point) for panel in panels for point in panel.points]
    judge, top = max(points, key=lambda pair: abs(pair[1].value))
    alt = (
        f"Heatmaps of criterion by position for {count(len(panels), 'judge')} on one scale; the "
        f"largest cell is {top.of['target']} at position {top.of['position']} with {top.text} "
        f"({judge})."
    )
    note = (
        "Points from the criterion's own mean. All judges on one scale of colours: orange higher, "
        "blue lower. Bold: the simultaneous interval of all cells of a judge leaves out 0. "
        f"Mean gap: the mean of Delta Pos. {MEASURES['delta_pos'].sign}"
    )
    names = {
        "no call about these answers lists criteria": _not_among(findings, subjects),
        "no score could be parsed at every position": _lost(
            subjects, [subject for subject, _ in drawn]
        ),
        f"only {MOST_PANELS} panels fit, and these are moved least": [
            subject.judge for subject, _ in drawn[MOST_PANELS:]
        ],
    }
    note += left_out(names)
    return Shown(title, Picture("multiples", (), alt, panels=tuple(panels)), note)


def _judged_cells(cells: Picture, judge: str, dataset: str) -> Picture:
    """Return cells that a click opens for this judge; bold where the interval leaves out 0.

    Lines run downwards, so the first criterion is on top.
    """
    series = tuple(
        Series(
            line.name,
            tuple(
                replace(
                    point,
                    decided=point.has_interval and not point.low <= 0 <= point.high,
                    of={**point.of, "judge": judge, "dataset": dataset},
                    hover=(f"{short(judge)} · {point.hover[0]}", *point.hover[1:]),
                )
                for point in line.points
            ),
        )
        for line in reversed(cells.series)
    )
    return replace(cells, series=series)


def _criteria_subtitle(findings: Findings, subject: Subject) -> str:
    """Say the mean gap, and in how many criteria the order moves scores (Friedman, Holm)."""
    parts = []
    gaps = findings.select("delta_pos", condition=subject.condition)
    known = [row.value for row in gaps if "target" in row.of and math.isfinite(row.value)]
    if known:
        parts.append(f"mean gap {number(sum(known) / len(known))}")
    tests = findings.select("friedman", condition=subject.condition)
    tests = [row for row in tests if "target" in row.of]
    if tests:
        moved = sum(row.counts.get("p_holm", row.p) < 0.05 for row in tests)
        parts.append(f"moves {moved} of {len(tests)} criteria")
    return " · ".join(parts)


# ---------------------------------------------------------------- the overview
def strength_by_dataset(findings: Findings, measure: str = "v_without_noise") -> Shown:
    """Draw how strong the bias of every judge is: a line a judge, a mark a data set."""
    title = "**How strong is the bias?** · one mark for each data set"
    reorder = "options"
    axis = "Cramér's V, without noise"
    subjects = one_a_judge(findings, reorder)
    rows: dict[tuple[str, str], Row] = {}
    for subject in subjects:
        about = findings.conditions[subject.condition]
        for row in findings.select(measure, condition=subject.condition):
            if not row.of and math.isfinite(row.value):
                rows[about.judge, about.dataset] = row
    judges = list(dict.fromkeys(judge for judge, _ in rows))
    judges.sort(key=lambda judge: -max(row.value for (own, _), row in rows.items() if own == judge))
    panel = panel_of_strips(findings, rows, axis=axis)
    if panel is None:
        return Shown(title, None, "")
    known = [(f"{judge}, {dataset}", row) for (judge, dataset), row in rows.items()]
    alt = f"{axis}: {extremes(known)}."
    levels = tuple(short(judge) for judge in judges)
    picture = Picture("strips", (), alt, levels=levels, panels=(panel,))
    return Shown(title, picture, f"Lines: {ci_of(findings)}.{simulated_note(findings)}")


def panel_of_strips(
    findings: Findings,
    rows: dict[tuple[str, str], Row],
    *,
    title: str = "",
    subtitle: str = "",
    axis: str = "",
    smallest: float = math.nan,
    target: float = math.nan,
) -> Picture | None:
    """Return a panel of strips: rows by (level, series), a mark for each that has a number."""
    points: dict[str, list[Point]] = {}
    for (level, series), row in rows.items():
        if not math.isfinite(row.value):
            continue
        about = findings.conditions[row.condition]
        head = " · ".join(dict.fromkeys((short(level), short(series))))
        point = mark(row, short(level), head, value_text(row), inside(row))
        of = {**row.of, "judge": about.judge, "dataset": about.dataset}
        points.setdefault(series, []).append(replace(point, of=of))
    if not points:
        return None
    lines = tuple(Series(short(name), tuple(own)) for name, own in points.items())
    levels = tuple(dict.fromkeys(point.label for line in lines for point in line.points))
    return Picture(
        "strips",
        lines,
        "",
        axes=(axis, ""),
        levels=levels,
        smallest=smallest,
        target=target,
        title=title,
        subtitle=subtitle,
    )


def difference_panel(
    findings: Findings, rows: dict[tuple[str, str], Row], title: str
) -> Picture | None:
    """Return a panel of paired differences of r: 0 is dotted, what is too small to matter green."""
    return panel_of_strips(
        findings,
        rows,
        title=title,
        subtitle="on the same answers",
        axis="difference of r",
        smallest=findings.reading.smallest.r,
        target=0.0,
    )


def plane_of(
    points: Sequence[Point],
    said: str,
    *,
    axes: tuple[str, str],
    smallest: float = math.nan,
    smallest_x: float = math.nan,
    target: float = math.nan,
    mean: tuple[float, float] = (math.nan, math.nan),
) -> Picture:
    """Return a plane with one mark per judge. ``said``: what it shows, for its alternative text,
    which goes on with the lowest and the highest mark.
    """
    low, high = (end(points, key=lambda point: point.value) for end in (min, max))
    return Picture(
        "plane",
        (Series("", tuple(points)),),
        f"{said}: from {low.text} ({low.label}) to {high.text} ({high.label}).",
        axes=axes,
        levels=tuple(point.label for point in points),
        smallest=smallest,
        smallest_x=smallest_x,
        target=target,
        mean=mean,
    )


def extremes(rows: Sequence[tuple[str, Row]]) -> str:
    """Say the lowest and the highest of named rows, for alternative texts."""
    known = [(name, row) for name, row in rows if math.isfinite(row.value)]
    if not known:
        return "nothing known"
    (least, low), (most, high) = (
        min(known, key=lambda pair: pair[1].value),
        max(known, key=lambda pair: pair[1].value),
    )
    low_text, high_text = value_text(low), value_text(high)
    if len(known) == 1:
        return f"{least} {low_text}"
    return f"from {low_text} ({least}) to {high_text} ({most})"


def balancing_helps(findings: Findings, dataset: str) -> Shown:
    """Draw what balanced orders gain in r against how strong the bias is: one mark per judge."""
    title = "**Does balancing help those who lean most?**"
    points = []
    smallest = findings.reading.smallest.r
    for subject in one_a_judge(findings, "options", dataset):
        strength = findings.select("v_without_noise", condition=subject.condition)
        gain = difference_from_fixed(findings, subject.condition)
        if not strength or gain is None or not math.isfinite(strength[0].value):
            continue
        low, high = strength[0].interval
        hover = (
            short(subject.judge),
            f"r, balanced compared with fixed: {number(gain.value, '+.2f')}, {inside(gain)}",
            f"V {number(strength[0].value, '.3f')}",
        )
        points.append(
            replace(
                mark(gain, short(subject.judge), *hover),
                x=strength[0].value,
                x_low=low,
                x_high=high,
                decided=gain.interval[0] > 0,
                of={"judge": subject.judge, "dataset": dataset},
            )
        )
    if len(points) < 2:
        return Shown(title, None, "")
    picture = plane_of(
        points,
        "What balancing gains in r, by strength of the bias",
        axes=("Cramér's V, without noise", f"r with {whom(findings)}, balanced − fixed"),
        smallest=smallest,
        target=0.0,
    )
    note = (
        f"Lines: {ci_of(findings)}, each judge on its own. Green: too small to matter. Blue: "
        "surely better."
    )
    return Shown(title, picture, note + simulated_note(findings))


def difference_from_fixed(findings: Findings, condition: int) -> Row | None:
    """Return the row of r with people of a condition minus that of the fixed order, or None."""
    own = findings.conditions[condition]
    for row in findings.select("pearson_difference", condition=condition):
        other = findings.conditions[row.of["against"]]
        if other.strategy == "fixed" and other.setting == own.setting and "target" not in row.of:
            return row
    return None


# ---------------------------------------------------------------- with people


def balanced_against_fixed(
    findings: Findings, reorder: str, dataset: str, judge: str = ""
) -> Shown:
    """Draw r with people by ordering strategy, and the paired differences from the fixed order.

    Xu et al. v2, Figure 8, Tables 3 and 6. ``judge``: only this one.
    """
    title = f"**Does balancing the orders bring judges closer to {whom(findings)}?**"
    first: dict[tuple[str, str], Row] = {}
    apart: dict[tuple[str, str], Row] = {}
    for code, about in enumerate(findings.conditions):
        if about.reorder != reorder or about.dataset != dataset or _is_variant(findings, code):
            continue
        if judge not in ("", about.judge):
            continue
        for row in findings.select("pearson", condition=code):
            if not row.of and math.isfinite(row.value):
                first[about.judge, about.strategy] = row
        for row in findings.select("pearson_difference", condition=code):
            other = findings.conditions[row.of["against"]]
            named_pair = f"{about.strategy} − {other.strategy}"
            if "target" not in row.of and math.isfinite(row.value):
                apart.setdefault((about.judge, named_pair), row)
    left = panel_of_strips(findings, first, title=f"r with {whom(findings)}", axis="Pearson's r")
    if left is None:
        return Shown(title, None, "")
    panels = [left]
    right = difference_panel(findings, apart, "Paired difference")
    if right is not None:
        panels.append(right)
    judges = list(dict.fromkeys(judge for judge, _ in first))
    every = [(f"{judge}, {what}", row) for (judge, what), row in first.items()]
    alt = f"Pearson's r with {whom(findings)}: {extremes(every)}."
    if apart:
        every = [(f"{judge}, {what}", row) for (judge, what), row in apart.items()]
        alt += f" Differences: {extremes(every)}."
    note = f"Lines: {ci_of(findings)}, each judge on its own."
    if right is None:
        title = f"**How close do judges come to {whom(findings)}?**"
        one = len({strategy for _, strategy in first}) == 1
        why = "One ordering strategy was asked" if one else "Too few answers have ratings"
        note += f" {why}, so strategies are not compared."
    else:
        note += f" {counted_differences(apart, whom(findings))} Green: too small to matter."
    picture = Picture(
        "strips", (), alt, levels=tuple(short(judge) for judge in judges), panels=tuple(panels)
    )
    return Shown(title, picture, note + simulated_note(findings))


def counted_differences(apart: dict[tuple[str, str], Row], people: str = "people") -> str:
    """Say for how many judges each paired difference surely is above or below 0; of one judge
    whether it is.
    """
    sentences = []
    for what in dict.fromkeys(what for _, what in apart):
        rows = [row for (_, own), row in apart.items() if own == what]
        up = sum(row.interval[0] > 0 for row in rows)
        down = sum(row.interval[1] < 0 for row in rows)
        first, _, second = what.partition(" − ")
        name = first.capitalize()
        if len(rows) > 1:
            sentences.append(
                f"{name} is surely closer to {people} than {second} for {up} of {len(rows)} "
                f"judges, and surely further from {people} for {down}."
            )
        elif up:
            sentences.append(f"{name} is surely closer to {people} than {second}.")
        elif down:
            sentences.append(f"{name} is surely further from {people} than {second}.")
        else:
            sentences.append(
                f"{name} is neither surely closer to {people} than {second} nor surely further."
            )
    return " ".join(sentences)


def _is_variant(findings: Findings, code: int) -> bool:
    """Return whether a condition has another form than its judge's first one of the kind."""
    own = findings.conditions[code]
    for other in findings.conditions:
        if (other.judge, other.dataset, other.reorder) == (own.judge, own.dataset, own.reorder):
            return other.setting != own.setting
    return False


def orders_enough(findings: Findings, reorder: str, dataset: str, judge: str = "") -> Shown:
    """Draw r with people against the number of orders averaged, with the band over subsets.

    Xu et al. v2, Figure 9. ``judge``: only this one; else a panel a judge.
    """
    title = (
        f"**How many orders are enough?** · r with {whom(findings)} of the mean of several orders"
    )
    panels = []
    for name in dict.fromkeys(about.judge for about in findings.conditions):
        if judge in ("", name):
            panel = _budget_panel(findings, name, reorder, dataset)
            if panel is not None:
                panels.append(panel)
    panels = panels[:MOST_PANELS]
    if not panels:
        return Shown(title, None, "")
    ends_of = [(panel.title, panel.series[0].points[-1]) for panel in panels]
    least = min(ends_of, key=lambda pair: pair[1].value)
    most = max(ends_of, key=lambda pair: pair[1].value)
    alt = (
        f"r with {whom(findings)} against the number of orders: with all of them from "
        f"{least[1].text} ({least[0]}) to {most[1].text} ({most[0]})."
    )
    note = (
        "Band: the 2.5 and 97.5 percentiles over subsets of the orders, which is not a confidence "
        "interval."
    )
    if any(math.isfinite(panel.target) for panel in panels):
        note += " Dotted: the fixed order asked as often."
    note = _enough_words(findings, reorder, dataset, judge) + note
    picture = Picture("multiples", (), alt, panels=tuple(panels))
    return Shown(title, picture, note + simulated_note(findings))


def _enough_words(findings: Findings, reorder: str, dataset: str, judge: str) -> str:
    """Say for the first judge that has it how many orders make 85% of the gain; else nothing."""
    for row in findings.select("orders_enough"):
        about = findings.conditions[row.condition]
        own = (about.reorder, about.dataset) == (reorder, dataset) and judge in ("", about.judge)
        if own and math.isfinite(row.value):
            return (
                f"{short(about.judge)}, {about.strategy}: {number(row.value, '.1f')} orders make "
                f"85% of the gain ({inside(row)}). "
            )
    return ""


def _budget_panel(findings: Findings, judge: str, reorder: str, dataset: str) -> Picture | None:
    """Return the curves of one judge: a line for each strategy that has several orders."""
    lines = []
    fixed = math.nan
    for code, about in enumerate(findings.conditions):
        own = (about.judge, about.reorder, about.dataset) == (judge, reorder, dataset)
        if not own or _is_variant(findings, code):
            continue
        if about.strategy == "fixed":
            rows = [row for row in findings.select("pearson", condition=code) if not row.of]
            fixed = rows[0].value if rows else math.nan
            continue
        points = []
        for row in findings.select("budget_pearson", condition=code):
            if not math.isfinite(row.value) or "target" in row.of:
                continue
            low, high = row.counts.get("band", (math.nan, math.nan))
            calls = row.of["calls"]
            hover = (
                f"{short(judge)}, {about.strategy}: {count(calls, 'order')}",
                f"r {number(row.value)}",
                f"over subsets: {number(low)} to {number(high)}" if math.isfinite(low) else "",
            )
            point = Point(
                str(calls),
                row.value,
                number(row.value),
                low,
                high,
                hover=tuple(filter(None, hover)),
            )
            points.append(replace(point, of={"judge": judge, "dataset": dataset}))
        if len(points) > 1:
            lines.append(Series(about.strategy, tuple(points)))
    if not lines:
        return None
    levels = tuple(dict.fromkeys(point.label for line in lines for point in line.points))
    return Picture(
        "bands",
        tuple(lines),
        "",
        axes=("Orders averaged", ""),
        levels=levels,
        target=fixed,
        title=short(judge),
    )
