"""Make the pictures of several judges that choose between answers, after Shi et al.

Like all pictures they show rows as they were made: nothing is estimated here. Each function says
which figure of the paper it takes the place of.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rubriclab.core.topic import Findings, Row
from rubriclab.figures.judge_pictures import plane_of
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.figures.pictures import Shown, mark
from rubriclab.measures.judges import family_of
from rubriclab.measures.pairs import TERMS
from rubriclab.model.text import count
from rubriclab.words.phrases import ci_of, inside, number, p_value, value_text
from rubriclab.words.several import distinct_names, short, simulated_note, whole_row
from rubriclab.words.subject import CHOICES

FIRST, LAST = "◀", "▶"
"""Marks of a significant lean: to the answer shown first, and to the one shown last."""
ALL = "All tasks"
MOST_ERROR = 0.1
"""A judge with a higher error rate (Shi et al.) gets no mark of a lean: what is missing may hide
it."""
MOST_GAPS = 16
"""Panels of the quality gap: four lines of four, enough for the 15 judges of Shi et al."""
FEWEST_DOTS = 8
"""Cells that a drawn parabola needs."""
Sort = Literal["family", "number", "name"]


def codes_of_judges(findings: Findings, dataset: str) -> dict[str, int]:
    """Return the condition of each judge that chooses: its first one on the data set."""
    codes: dict[str, int] = {}
    for code, about in enumerate(findings.conditions):
        if about.reorder in CHOICES and about.dataset == dataset:
            codes.setdefault(about.judge, code)
    return codes


# ---------------------------------------------------------------- by task
def by_task(
    findings: Findings, dataset: str, *, fairness: bool = False, sort: Sort = "family"
) -> Shown:
    """Draw the consistency of each judge on each task, or its preference for a position.

    Shi et al., Figures 2a and 2b, which are radars.
    """
    codes = codes_of_judges(findings, dataset)
    what = "preference for a position" if fairness else "consistency"
    title = f"**How does the {what} of each judge differ between tasks?**"
    if not fairness:
        title = "**How consistent is each judge, task by task?**"
    cells = {judge: _cells_of_judge(findings, code, fairness) for judge, code in codes.items()}
    cells = {judge: own for judge, own in cells.items() if own}
    if not cells:
        return Shown(title, None, "")
    order = _sorted_judges(cells, sort, fairness)
    every = [point for own in cells.values() for point in own.values()]
    worst = max(_badness(point, fairness) for point in every) or 1.0
    series = []
    for judge in order:
        points = tuple(
            replace(point, tone=_badness(point, fairness) / worst)
            for point in cells[judge].values()
        )
        group = _family_heading(findings, judge, fairness) if sort == "family" else ""
        series.append(Series(short(judge), points, group=group))
    levels = list(dict.fromkeys(point.label for line in series for point in line.points))
    named = [(f"{line.name}, {point.label}", point) for line in series for point in line.points]
    low = min(named, key=lambda pair: pair[1].value)
    high = max(named, key=lambda pair: pair[1].value)
    alt = (
        f"Matrix of judge by task, {what}: from {low[1].text} ({low[0]}) to {high[1].text} "
        f"({high[0]})."
    )
    note = (
        f"PC: share of comparisons where the judge names the same winner in every order. Darker: "
        f"less consistent. {FIRST} leans to the answer shown first, {LAST} to the one shown last "
        "(exact sign test, p < 0.05, for tasks by Holm over the judge's tasks). Point at a cell "
        "for its interval and number of comparisons."
    )
    if fairness:
        note = (
            "PF: plus, the later answer is preferred; minus, the earlier one. Darker: further from "
            f"0. {FIRST} and {LAST}: p < 0.05 (exact sign test, for tasks by Holm over the judge's "
            "tasks). Point at a cell for its interval and number of comparisons."
        )
    if sort == "family":
        note += " Families are guessed from the names."
    picture = Picture("matrix", tuple(series), alt, levels=tuple(levels))
    return Shown(title, picture, note + simulated_note(findings))


def _family_heading(findings: Findings, judge: str, fairness: bool) -> str:
    """Return the heading of a judge's family, with the mean PC of its judges."""
    family = family_of(judge)
    heading = _family_name(family)
    rows = findings.select("family_pc", family=family)
    if rows and not fairness:
        heading += f" · {number(rows[0].value, '.0%')}"
    return heading


def _family_name(family: str) -> str:
    return family.upper() if family == "gpt" else family.capitalize()


def _badness(point: Point, fairness: bool) -> float:
    """Return how far a cell is from what is best: consistency 1, or preference 0."""
    if not math.isfinite(point.value):
        return 0.0
    return abs(point.value) if fairness else 1.0 - point.value


def _cells_of_judge(findings: Findings, code: int, fairness: bool) -> dict[str, Point]:
    """Return the cells of one judge by task; the first is over all tasks."""
    measures = ("pc", "pf", "pc_cell", "pf_cell")
    rows: dict[str, dict[str, Row]] = {measure: {} for measure in measures}
    for measure in measures:
        for row in findings.select(measure, condition=code):
            if "candidate" not in row.of:
                rows[measure][row.of.get("task", ALL)] = row
    error = whole_row(findings, "error_rate", code)
    marked = error is None or not error.value > MOST_ERROR
    about = findings.conditions[code]
    cells = {}
    for task in [*rows["pc"], *rows["pc_cell"]]:
        consistency = rows["pc"].get(task) or rows["pc_cell"].get(task)
        preference = rows["pf"].get(task) or rows["pf_cell"].get(task)
        if consistency is None or preference is None or not math.isfinite(consistency.value):
            continue
        shown = preference if fairness else consistency
        text = number(shown.value, "+.2f" if fairness else ".0%")
        p = preference.counts.get("p_holm", preference.p)
        lean = ""
        if marked and p < preference.alpha:
            lean = LAST if preference.value > 0 else FIRST
        if lean == FIRST:
            text = f"{FIRST} {text}"
        elif lean:
            text = f"{text} {LAST}"
        hover = (
            f"{short(about.judge)} · {task}",
            f"PC {number(consistency.value, '.0%')}, {inside(consistency)}",
            f"PF {number(preference.value, '+.3f')}, {p_value(p)}",
            count(consistency.counts["n"], "comparison"),
            "" if marked else "no mark of a lean: many replies name no winner",
        )
        point = mark(shown, task, *hover)
        of = {"judge": about.judge, "dataset": about.dataset}
        if task != ALL:
            of["task"] = task
        cells[task] = replace(point, text=text, of=of, decided=task == ALL)
    return cells


def _sorted_judges(cells: dict[str, dict[str, Point]], sort: Sort, fairness: bool) -> list[str]:
    """Return the judges in the order of their lines: the best first, or by name."""

    def own(judge: str) -> float:
        return _badness(next(iter(cells[judge].values())), fairness)

    if sort == "name":
        return sorted(cells, key=str.casefold)
    if sort == "number":
        return sorted(cells, key=own)
    of_family: dict[str, list[str]] = defaultdict(list)
    for judge in sorted(cells, key=own):
        of_family[family_of(judge)].append(judge)
    every = sorted(of_family.values(), key=lambda members: own(members[0]))
    return [judge for members in every for judge in members]


# ---------------------------------------------------------------- fairness and disagreement
def fairness_plane(findings: Findings, dataset: str) -> Shown:
    """Draw |PF| against PC, one mark per judge, with the line if it surely falls.

    Shi et al., Figure 2c.
    """
    codes = codes_of_judges(findings, dataset)
    points = []
    for judge, code in codes.items():
        consistency, preference = (whole_row(findings, name, code) for name in ("pc", "pf"))
        if consistency is None or preference is None or not math.isfinite(preference.value):
            continue
        low, high = preference.interval
        ends = sorted((abs(low), abs(high)))
        if low < 0 < high:
            ends = [0.0, max(abs(low), abs(high))]
        hover = (
            short(judge),
            f"PC {number(consistency.value, '.0%')}, {inside(consistency)}",
            f"PF {number(preference.value, '+.3f')}, {inside(preference)}",
        )
        points.append(
            Point(
                short(judge),
                abs(preference.value),
                number(abs(preference.value)),
                low=ends[0],
                high=ends[1],
                x=consistency.value,
                x_low=consistency.interval[0],
                x_high=consistency.interval[1],
                hover=hover,
                of={"judge": judge, "dataset": dataset},
                tone=_direction(preference),
            )
        )
    title = "**Are consistent judges fair?** · |PF| against PC, one mark per judge"
    if len(points) < 2:
        return Shown(title, None, "")
    rows = {
        row.of["term"]: row for row in findings.select("pf_on_pc", condition=min(codes.values()))
    }
    line, falls = (math.nan, math.nan), "unknown"
    if "slope" in rows:
        low, high = rows["slope"].interval
        falls = "not"
        if high < 0:
            line, falls = (rows["level"].value, rows["slope"].value), "yes"
            title = "**Consistent judges are mostly fair** · |PF| against PC, one mark per judge"
    level = ci_of(findings, *codes.values())
    note = (
        f"{FIRST}: surely prefers the answer shown first; {LAST}: the one shown last; a circle: "
        f"neither ({level} of PF). Lines: {level}. "
    )
    if falls == "yes":
        note += f"The line falls by {number(-rows['slope'].value)} over 100 points of PC "
        note += f"({inside(rows['slope'])}, judges as units)."
    elif falls == "not":
        note += "No line is drawn: over these judges it does not surely fall "
        note += f"(slope {number(rows['slope'].value, '+.2f')}, {inside(rows['slope'])})."
    picture = plane_of(
        points,
        f"|PF| against PC of {count(len(points), 'judge')}",
        axes=("Position consistency (PC)", "|Preference fairness|"),
        mean=line,
    )
    return Shown(title, picture, note + simulated_note(findings))


def _direction(preference: Row) -> int:
    """Return -1 where a judge surely prefers the earlier answer, 1 the later, else 0."""
    low, high = preference.interval
    return int(low > 0) - int(high < 0)


def disagreement_steps(findings: Findings, dataset: str) -> Shown:
    """Draw on how many comparisons at most so many judges differ from the commonest choice.

    Shi et al., Figures 3 and 4d.
    """
    judges = len(codes_of_judges(findings, dataset))
    rows = [
        row
        for row in findings.select("disagreement_at_most")
        if findings.conditions[row.condition].dataset == dataset and math.isfinite(row.value)
    ]
    title = f"**How far do {judges} judges disagree?**"
    if not rows:
        return Shown(title, None, "")
    points = []
    for row in rows:
        most = row.of["judges"]
        share = number(row.value, ".0%")
        hover = (f"at most {count(most, 'judge')} differ", share, inside(row))
        points.append(mark(row, str(most), *hover))
    half = next((row.of["judges"] for row in rows if row.value >= 0.5), rows[-1].of["judges"])
    title += f" · at most {half} differ on half of the comparisons"
    alt = (
        "Share of comparisons on which at most so many judges differ from the commonest choice: "
        + ", ".join(f"{point.label}: {point.text}" for point in points)
        + "."
    )
    picture = Picture(
        "curves",
        (Series(dataset, tuple(points)),),
        alt,
        axes=("Judges that differ from the commonest choice, at most", "Share of comparisons"),
        levels=tuple(point.label for point in points),
        target=0.5,
    )
    return Shown(title, picture, f"Lines: {ci_of(findings)}. Dotted: half of the comparisons.")


# ---------------------------------------------------------------- agreement
def agreement_matrix(
    findings: Findings, dataset: str, measures: tuple[str, str], names: tuple[str, str]
) -> Shown:
    """Draw how often two judges answer alike: one measure above the diagonal, one below.

    Shi et al., Figures 4a to 4c. ``names``: what the two measures count.
    """
    upper, lower = (_pairs(findings, dataset, measure) for measure in measures)
    title = "**Which judges give the same answers?**"
    judges = sorted({judge for pair in upper for judge in pair}, key=_by_family)
    if len(judges) < 2:
        return Shown(title, None, "")
    labels = distinct_names(judges, 24)
    values = [row.value for rows in (upper, lower) for row in rows.values()]
    least, most = min(values), max(values)
    series = []
    for k, judge in enumerate(judges):
        points = []
        for m, other in enumerate(judges):
            rows, name = (upper, names[0]) if m > k else (lower, names[1])
            row = rows.get((judge, other)) or rows.get((other, judge))
            if m == k or row is None:
                continue
            text = number(row.value, row.about.form).removesuffix("%")
            hover = (
                f"{short(judge)} and {short(other)}",
                f"{name}: {number(row.value, row.about.form)}, {inside(row)}",
                count(row.counts["n"], "call"),
            )
            point = mark(row, labels[other], *hover)
            tone = -(row.value - least) / ((most - least) or 1.0)
            of = {"judge": judge, "dataset": dataset, "differ": other}
            points.append(replace(point, text=text, tone=tone, of=of))
        series.append(Series(short(judge), tuple(points)))
    (alike, highest), (apart, lowest) = (
        max(upper.items(), key=lambda pair: pair[1].value),
        min(upper.items(), key=lambda pair: pair[1].value),
    )
    said = (
        f"Most similar: {short(alike[0])} and {short(alike[1])} "
        f"({number(highest.value, highest.about.form)}). Least: {short(apart[0])} and "
        f"{short(apart[1])} ({number(lowest.value, lowest.about.form)})."
    )
    note = f"Above the diagonal: {names[0]}. Below: {names[1]}. {said} Bluer: more similar. "
    note += "A click opens the calls on which the two differ."
    levels = tuple(labels.values())
    frames = _family_blocks(judges)
    if frames:
        note += " Frames: families, guessed from the names."
    picture = Picture(
        "matrix", tuple(series), f"Matrix of judge by judge. {said}", levels=levels, frames=frames
    )
    return Shown(title, picture, note + simulated_note(findings))


def _family_blocks(judges: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    """Return name, first and last line of each family of two or more judges next to each other."""
    lines: dict[str, list[int]] = defaultdict(list)
    for line, judge in enumerate(judges):
        lines[family_of(judge)].append(line)
    return tuple(
        (_family_name(family), own[0], own[-1]) for family, own in lines.items() if len(own) > 1
    )


def _by_family(judge: str) -> tuple[str, str]:
    """Return a key that puts judges of one family next to each other."""
    return family_of(judge), judge.casefold()


def _pairs(findings: Findings, dataset: str, measure: str) -> dict[tuple[str, str], Row]:
    """Return a measure of two judges by their names; of equal pairs the first."""
    made: dict[tuple[str, str], Row] = {}
    for row in findings.select(measure):
        other = row.of.get("against")
        own = findings.conditions[row.condition]
        if not isinstance(other, int) or own.dataset != dataset or not math.isfinite(row.value):
            continue
        if "target" in row.of or row.of.get("side", "judges") != "judges":
            continue
        against = findings.conditions[other]
        if against.judge != own.judge:
            made.setdefault((own.judge, against.judge), row)
    return made


# ---------------------------------------------------------------- quality gap
GAP_TITLE = "**Is a judge less consistent where answers are close?** · a mark: one model, one task"
GAP_NOTE = (
    "A comparison that flips counts as half a win for each, so some bend comes by itself: the test "
    "shuffles the consistency of cells. Solid: the parabola of least squares. Dashed: the mean "
    "parabola of shuffled cells. The larger a mark, the more comparisons it rests on."
)


def quality_gap(findings: Findings, dataset: str, outcome: Literal["PC", "PF"] = "PC") -> Shown:
    """Draw the consistency of cells against the win rate of their candidate, a panel a judge.

    Shi et al., Figures 2f and 5. The parabola is drawn from FEWEST_DOTS cells on.
    """
    panels = []
    bends = 0
    for judge, code in codes_of_judges(findings, dataset).items():
        points = _gap_points(findings, judge, code, outcome)
        if not points:
            continue
        fits = _fits(findings, "parabola", code, outcome)
        panel, bent = _gap_panel(findings, code, points, fits, outcome)
        panels.append(replace(panel, title=short(judge)))
        bends += bent
    if not panels:
        return Shown(GAP_TITLE, None, "")
    of = count(len(panels), "judge")
    verb = "bends" if bends == 1 else "bend"
    said = f"{bends} of {of} {verb} more than chance makes (p < 0.05, each on its own)."
    note = f"{said} {GAP_NOTE} {GAP_AXES[outcome]}"
    if len(panels) > MOST_GAPS:
        note += f" {len(panels) - MOST_GAPS} more judges are in the table of all numbers."
    picture = Picture(
        "multiples",
        (),
        f"{outcome} of cells against the win rate of their candidate. {said}",
        panels=tuple(panels[:MOST_GAPS]),
    )
    return Shown(GAP_TITLE, picture, note + simulated_note(findings))


def quality_gap_together(
    findings: Findings, dataset: str, outcome: Literal["PC", "PF"] = "PC"
) -> Shown:
    """Draw the cells of all judges in one panel, with the parabola through all of them.

    Shi et al., Figures 2d and 2e.
    """
    codes = codes_of_judges(findings, dataset)
    rows = [
        row
        for row in findings.select("parabola_of_all")
        if row.condition in codes.values() and row.of["outcome"] == outcome
    ]
    points = [
        point
        for judge, code in codes.items()
        for point in _gap_points(findings, judge, code, outcome)
    ]
    if not rows or not points:
        return Shown(GAP_TITLE, None, "")
    code = rows[0].condition
    fits = _fits(findings, "parabola_of_all", code, outcome)
    panel, bent = _gap_panel(findings, code, points, fits, outcome)
    judges = count(rows[0].counts["judges"], "judge")
    curvature = fits["curvature"]
    said = (
        f"{judges} together: {'more' if bent else 'no more'} bend than chance makes "
        f"(curvature {number(curvature.value)}, {p_value(curvature.p)})."
    )
    chance = [curvature.counts[name] for name in ("low_by_chance", "high_by_chance")]
    if all(map(math.isfinite, chance)):
        low, high = (number(end) for end in chance)
        said += f" Chance alone makes a curvature of {low} to {high} in 95% of deals."
    picture = Picture(
        "multiples",
        (),
        f"{outcome} of the cells of {judges} against the win rate of their candidate. {said}",
        panels=(replace(panel, title=f"All {judges}"),),
    )
    note = f"{said} {GAP_NOTE} {GAP_AXES[outcome]}"
    return Shown(GAP_TITLE, picture, note + simulated_note(findings))


def _gap_points(findings: Findings, judge: str, code: int, outcome: str) -> list[Point]:
    """Return a judge's cells as marks: PC or PF against the win rate of the cell's candidate."""
    cell = "pc_cell" if outcome == "PC" else "pf_cell"
    values = {
        (row.of["task"], row.of["candidate"]): row
        for row in findings.select(cell, condition=code)
        if "task" in row.of and "candidate" in row.of
    }
    if not values:  # one task: cells are candidates
        values = {
            ("", row.of["candidate"]): row
            for row in findings.select(cell, condition=code)
            if "candidate" in row.of
        }
    points = []
    for row in findings.select("cell_win_rate", condition=code):
        task = row.of.get("task", "")
        own = values.get((task, row.of.get("set", row.of["candidate"])))
        if own is None or not math.isfinite(own.value) or not math.isfinite(row.value):
            continue
        form = GAP_FORMS[outcome]
        what = " · ".join(filter(None, (short(str(row.of["candidate"])), task)))
        hover = (
            f"{short(judge)} · {what}",
            f"wins {number(row.value, '.0%')}",
            f"{outcome} {number(own.value, form)}",
            count(own.counts["n"], "comparison"),
        )
        of = {"judge": judge, "dataset": findings.conditions[code].dataset}
        points.append(
            Point(
                what,
                own.value,
                number(own.value, form),
                x=row.value,
                hover=hover,
                of=of,
                weight=float(own.counts["n"]),
            )
        )
    return points


GAP_AXES = {
    "PC": "Up: position consistency.",
    "PF": "Up: preference fairness, plus where the later answer is preferred.",
}
GAP_FORMS = {"PC": ".0%", "PF": "+.2f"}
"""How numbers of either outcome are written."""


def _fits(findings: Findings, measure: str, code: int, outcome: str) -> dict[str, Row]:
    """Return the rows of a parabola by term."""
    rows = findings.select(measure, condition=code)
    return {row.of["term"]: row for row in rows if row.of["outcome"] == outcome}


def _gap_panel(
    findings: Findings, code: int, points: Sequence[Point], fits: dict[str, Row], outcome: str
) -> tuple[Picture, bool]:
    """Return a panel of cells with its curves, and whether they bend more than chance."""
    series = [Series("cells", tuple(points))]
    bent = False
    subtitle = count(len(points), "cell")
    ours = [fits[term].value for term in TERMS if term in fits]
    # Where candidates win equally often there is no parabola.
    fitted = len(ours) == len(TERMS) and all(map(math.isfinite, ours))
    if len(points) >= FEWEST_DOTS and fitted:
        even = 1 / max(2, findings.conditions[code].positions)
        form = GAP_FORMS[outcome]
        by_chance = [float(fits[term].counts["by_chance"]) for term in TERMS]
        series.append(Series("parabola", tuple(_curve(ours, points, even, form)), dash="solid"))
        if all(map(math.isfinite, by_chance)):
            curve = _curve(by_chance, points, even, form)
            series.append(Series("by chance alone", tuple(curve), dash="dash"))
        p = fits["curvature"].p
        bent = p < fits["curvature"].alpha
        subtitle = f"{'bends more than chance' if bent else 'no bend beyond chance'}, {p_value(p)}"
    target = 0.0 if outcome == "PF" else math.nan
    panel = Picture(
        "curves",
        tuple(series),
        "",
        axes=("Win rate of the model", outcome),
        target=target,
        subtitle=subtitle,
    )
    return panel, bent


def _curve(terms: Sequence[float], points: Sequence[Point], even: float, form: str) -> list[Point]:
    """Return a parabola as a line between the lowest and the highest win rate.

    ``terms``: level, slope and curvature. ``even``: the win rate of equal candidates, from which
    they count. ``form``: how its heights are written.
    """
    low, high = min(point.x for point in points), max(point.x for point in points)
    made = []
    for k in range(25):
        x = low + (high - low) * k / 24
        value = sum(term * (x - even) ** power for power, term in enumerate(terms))
        made.append(Point(f"{x:.2f}", value, number(value, form), x=x))
    return made


# ---------------------------------------------------------------- baseline
def against_baseline(findings: Findings, dataset: str, *, fairness: bool = False) -> Shown:
    """Draw each judge's difference from the baseline judge, task by task.

    Shi et al., Figure 6. Bold: p < 0.05, of tasks by Holm.
    """
    measure = "pf_difference" if fairness else "pc_difference"
    rows = [
        row
        for row in findings.select(measure)
        if findings.conditions[row.condition].dataset == dataset and math.isfinite(row.value)
    ]
    if not rows:
        return Shown("**Every judge against the baseline**", None, "")
    base = findings.conditions[rows[0].of["against"]].judge
    title = f"**Every judge against {short(base)}, task by task**"
    most = max(abs(row.value) for row in rows) or 1.0
    lines: dict[str, list[Point]] = defaultdict(list)
    # The sentence counts differences of tasks; where there are none, those of judges.
    by_task = any("task" in row.of for row in rows)
    tested = better = worse = 0
    for row in rows:
        judge = findings.conditions[row.condition].judge
        p = row.counts.get("p_holm", row.p)
        task = str(row.of.get("task", ALL))
        sure = p < row.alpha
        if ("task" in row.of) == by_task:
            tested += 1
            better += sure and row.value > 0
            worse += sure and row.value < 0
        hover = (
            f"{short(judge)} − {short(base)} · {task}",
            f"{value_text(row)}, {inside(row)}",
            f"{p_value(p)}{' by Holm' if 'p_holm' in row.counts else ''}",
            count(row.counts["n"], "unit"),
        )
        tone = -row.value / most if sure and not fairness else 0.0
        if sure and fairness:
            tone = row.value / most
        point = mark(row, task, *hover)
        of = {"judge": judge, "dataset": dataset, "against": base} | dict(row.of)
        of["against"] = base
        text = number(row.value, row.about.form).removesuffix("%")
        lines[judge].append(replace(point, text=text, decided=sure, tone=tone, of=of))
    series = tuple(Series(short(judge), tuple(points)) for judge, points in lines.items())
    levels = tuple(dict.fromkeys(point.label for line in series for point in line.points))
    what = "preference for a position" if fairness else "consistency"
    said = f"{better + worse} of {tested} differences in {what} are significant"
    if not fairness:
        said += f": {worse} lower than the baseline, {better} higher"
    note = (
        f"{said} (paired t test over independent units, p < 0.05, by Holm over judges and tasks). "
        "Bold and coloured: significant. Orange: less consistent than the baseline."
    )
    if not fairness:
        note = f"Percentage points of PC. {note}"
    if fairness:
        note = note.replace("less consistent than the baseline", "leans later than the baseline")
    picture = Picture("matrix", series, f"Matrix of judge by task. {said}.", levels=levels)
    return Shown(title, picture, note + simulated_note(findings))
