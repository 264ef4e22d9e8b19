"""Make the pictures of forms of a rubric: which agrees better, and which scores each brings out.

After Li et al. Like all pictures they show rows as they were made: nothing is estimated here.
"""

import math
from dataclasses import replace

from rubriclab.core.topic import Findings, Row
from rubriclab.figures.judge_pictures import extremes, panel_of_strips
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.figures.pictures import Shown, mark
from rubriclab.model.judgment import level_text, variant_text
from rubriclab.model.text import count
from rubriclab.words.phrases import MINUS, capital, ci_of, ends, inside, number, reason
from rubriclab.words.several import short, simulated_note, whom

DEFAULT, PEOPLE = "default", "people"
REFERENCE = "reference"
"""The factor of reference answers, whose levels are their scores; 0 for none."""
NONE = "none"
"""The column of replies in which no score could be parsed; -1 in the paper."""
MOST_PULLED = 4
"""Sentences about references below a picture; the matrix shows the others."""
FAILED = -1
"""How rows name it."""
NAN = math.nan


def has_forms(findings: Findings) -> bool:
    """Return whether a judge was asked in several forms."""
    return bool(findings.select("variant_pearson")) or bool(findings.select("variant_shift"))


def form_of(findings: Findings, code: int) -> str:
    """Return the form of a condition: its levels, or its order, that differ from the default."""
    own = findings.conditions[code]
    first = default_of(findings, code)
    text = variant_text(own.variant, findings.conditions[first].variant)
    if text:
        return text
    if own.strategy != findings.conditions[first].strategy:
        return own.strategy
    return DEFAULT


def default_of(findings: Findings, code: int) -> int:
    """Return the first condition of a judge, data set, and kind of list: the default form."""
    own = findings.conditions[code]
    for first, about in enumerate(findings.conditions):
        same = (about.judge, about.dataset, about.reorder)
        if same == (own.judge, own.dataset, own.reorder):
            return first
    return code


def yardsticks_of_forms(findings: Findings, dataset: str) -> list[str]:
    """Return whom the judges of a data set can be compared with: PEOPLE first, then judges."""
    names: dict[str, None] = {}
    for row in findings.select("spearman"):
        if findings.conditions[row.condition].dataset == dataset and "target" not in row.of:
            names[_yardstick(findings, row)] = None
    return sorted(names, key=lambda name: name != PEOPLE)


def _yardstick(findings: Findings, row: Row) -> str:
    """Return whose scores a row compares with: PEOPLE, or the name of a judge."""
    against = row.of.get("against")
    return findings.conditions[against].judge if isinstance(against, int) else PEOPLE


def agreement_by_form(findings: Findings, dataset: str, yardstick: str = PEOPLE) -> Shown:
    """Draw rho and r with a yardstick for every form, and their differences from the default.

    Li et al., Table 3. ``yardstick``: PEOPLE, or the name of a judge.
    """
    who = whom(findings) if yardstick == PEOPLE else short(yardstick)
    title = f"**Does the form of the rubric change agreement with {who}?**"
    panels = []
    said = ""
    for measure, name in COEFFICIENTS.items():
        rows = _by_form(findings, measure, dataset, yardstick)
        panel = panel_of_strips(findings, rows, title=name, axis=f"with {who}")
        if panel is not None:
            panels.append(panel)
            named = [(f"{judge}, {form}", row) for (form, judge), row in rows.items()]
            said += f" {name}: {extremes(named)}."
    if not panels:
        return Shown(title, None, "")
    for measure, name in (("spearman", "rho"), ("pearson", "r")):
        panel = panel_of_strips(
            findings,
            _differences(findings, measure, dataset, yardstick),
            title=f"{name}, form {MINUS} default",
            subtitle="on the same answers",
            axis=f"difference of {name}",
            smallest=findings.reading.smallest.r,
            target=0.0,
        )
        if panel is not None:
            panels.append(panel)
    levels = tuple(dict.fromkeys(level for each in panels for level in each.levels))
    note = f"Lines: {ci_of(findings)}, each form on its own. Green: too small to matter."
    picture = Picture("strips", (), said.strip(), levels=levels, panels=tuple(panels))
    return Shown(title, picture, note + simulated_note(findings))


COEFFICIENTS = {"spearman": "Spearman's rho", "pearson": "Pearson's r"}
"""The coefficients of Li et al., in their order."""
FULL_COLOUR = 0.08
"""The difference of a coefficient that has full colour: few forms differ more (Li et al.)."""


def table_of_forms(findings: Findings, dataset: str, yardstick: str = PEOPLE) -> Shown:
    """Draw rho and r of every judge and form as the table of Li et al. (Table 3).

    Bold: the interval of the difference from the default form leaves out 0.
    """
    who = whom(findings) if yardstick == PEOPLE else short(yardstick)
    title = f"**Rho and r with {who}, form by form**"
    cells: dict[tuple[str, str], list[Point]] = {}
    surely: list[str] = []
    compared = 0
    for measure, name in COEFFICIENTS.items():
        apart = _differences(findings, measure, dataset, yardstick)
        compared += len(apart)
        for (form, judge), row in _by_form(findings, measure, dataset, yardstick).items():
            own = apart.get((form, judge))
            hover = [f"{short(judge)} · {short(form)}", f"{name} {number(row.value)}", inside(row)]
            bold, tone = False, 0.0
            if own is not None:
                low, high = own.interval
                bold = low > 0 or high < 0
                tone = -max(-1.0, min(1.0, own.value / FULL_COLOUR))
                change = f"{number(own.value, '+.3f')}, {inside(own)}"
                hover.append(f"{MINUS} default: {change}")
                if bold:
                    surely.append(f"{short(judge)}, {short(form)}: {name} {change}")
            of = {"judge": judge, "dataset": dataset}
            point = replace(mark(row, name, *hover), text=number(row.value), of=of)
            cells.setdefault((judge, form), []).append(replace(point, decided=bold, tone=tone))
    if not cells:
        return Shown(title, None, "")
    judges = dict.fromkeys(judge for judge, _ in cells)
    series = tuple(
        Series(short(form), tuple(points), group=short(judge))
        for judge in judges
        for (own_judge, form), points in cells.items()
        if own_judge == judge
    )
    said = f"{len(surely)} of {compared} differences from the default form leave out 0"
    alt = f"Table of rho and r with {who} by form. {said}{_listed_after_colon(surely)}."
    note = (
        f"Bold: the {ci_of(findings)} of the difference from the default form leaves out "
        f"0, each on its own ({said}). Blue: closer than in the default form; orange: further; "
        f"full colour at {number(FULL_COLOUR)}."
    )
    picture = Picture("matrix", series, alt, levels=tuple(COEFFICIENTS.values()))
    return Shown(title, picture, note + simulated_note(findings))


def _listed_after_colon(parts: list[str], most: int = 3) -> str:
    return f": {'; '.join(parts[:most])}" if parts else ""


def _by_form(
    findings: Findings, measure: str, dataset: str, yardstick: str = PEOPLE
) -> dict[tuple[str, str], Row]:
    """Return a measure with a yardstick by (form, judge), the default first."""
    rows: dict[tuple[str, str], Row] = {}
    for code, about in enumerate(findings.conditions):
        if about.dataset != dataset:
            continue
        for row in findings.select(measure, condition=code):
            whole = set(row.of) <= {"against"} and math.isfinite(row.value)
            if whole and _yardstick(findings, row) == yardstick:
                rows.setdefault((form_of(findings, code), about.judge), row)
    return rows


def _differences(
    findings: Findings, measure: str, dataset: str, yardstick: str
) -> dict[tuple[str, str], Row]:
    """Return the difference of a coefficient from the default form's, by (form, judge)."""
    rows: dict[tuple[str, str], Row] = {}
    for row in findings.select(f"variant_{measure}_difference"):
        about = findings.conditions[row.condition]
        if about.dataset == dataset and _yardstick(findings, row) == yardstick:
            rows.setdefault((str(row.of["variant"]), about.judge), row)
    return rows


CHANGES = {
    "variant_shift": ("Mean score", f"form {MINUS} default", "points"),
    "variant_distance": ("Size of an answer's change", "in either direction", "points"),
    "variant_flips": ("Scores that change", "the judge's noise included", "share of answers"),
    "variant_excess": ("Scores that change", "beyond the judge's noise", "share of answers"),
}
"""What a form changes: title, subtitle and axis of a panel, in the order of Li et al."""


def changes_by_form(findings: Findings, dataset: str) -> Shown:
    """Draw what every form changes against the default: the mean, and single scores.

    Li et al., Figures 4 and 5, and their flips. An order of the rubric is a form too.
    """
    title = "**What does each form change, compared with the default?**"
    panels = []
    said = []
    unknown: dict[str, None] = {}
    for measure, (name, subtitle, axis) in CHANGES.items():
        rows: dict[tuple[str, str], Row] = {}
        for row in findings.select(measure):
            about = findings.conditions[row.condition]
            if about.dataset == dataset and not about.chooses:
                rows.setdefault((str(row.of["variant"]), about.judge), row)
        smallest = {findings.smallest_mean(row.condition) for row in rows.values()}
        panel = panel_of_strips(
            findings,
            rows,
            title=name,
            subtitle=subtitle,
            axis=axis,
            smallest=smallest.pop() if measure == "variant_shift" and len(smallest) == 1 else NAN,
            target=0.0 if measure in ("variant_shift", "variant_excess") else NAN,
        )
        if panel is None:
            if measure == "variant_excess":
                unknown = dict.fromkeys(reason(row) for row in rows.values())
            continue
        panels.append(panel)
        named = [(f"{judge}, {form}", row) for (form, judge), row in rows.items()]
        said.append(f"{name}, {subtitle}: {extremes(named)}.")
    if not panels:
        return Shown(title, None, "")
    words = "; ".join(_shift_words(findings, dataset)) or "no form surely changes the mean score"
    note = f"{capital(words)}. Lines: {ci_of(findings)}, each form on its own."
    if math.isfinite(panels[0].smallest):
        note += " Green: too small to matter."
    if unknown:
        note += f" How many change beyond the judge's noise is not known. {' '.join(unknown)}"
    levels = tuple(dict.fromkeys(level for each in panels for level in each.levels))
    picture = Picture("strips", (), " ".join(said), levels=levels, panels=tuple(panels))
    return Shown(title, picture, note + simulated_note(findings))


def best_form(findings: Findings, dataset: str, yardstick: str = PEOPLE) -> str:
    """Say which form to use, by its r with a yardstick: the best one that is surely closer than the
    default, for each judge; else that the default will do.

    Each difference has its own 95% interval, which is not corrected for the number of forms.
    """
    who = whom(findings) if yardstick == PEOPLE else short(yardstick)
    apart = _differences(findings, "pearson", dataset, yardstick)
    if not apart:
        return ""
    smallest = findings.reading.smallest.r
    sentences = []
    others: list[str] = []
    for judge in dict.fromkeys(judge for _, judge in apart):
        own = {form: row for (form, name), row in apart.items() if name == judge}
        closer = {form: row for form, row in own.items() if row.interval[0] > 0}
        if not closer:
            others.append(short(judge))
            continue
        form = max(closer, key=lambda name: closer[name].value)
        row = closer[form]
        small = "" if row.value >= smallest else ", less than matters"
        interval = ends(*row.interval, ".2f", level=row.level)
        sentences.append(
            f"Ask {short(judge)} in the form “{short(form)}”: r with {who} is "
            f"{number(row.value)} higher than in the default form ({interval}){small}."
        )
    if others:
        judges = count(len(others), "judge")
        name = f"the other {judges}" if sentences else f"all {judges}"
        sentences.append(
            f"For {others[0] if len(others) == 1 else name}, no form surely agrees better with "
            f"{who} than the default form. Keep the default."
        )
    return " ".join(sentences) + EACH_ALONE


EACH_ALONE = " Each interval is for its form alone, and not corrected for the number of forms."


def scores_of_forms(findings: Findings, dataset: str) -> Shown:
    """Draw which scores each form brings out, and how often it brings out none.

    Li et al., Figure 6. People's scores are the first line.
    """
    title = "**Which scores does each form bring out?** · % of calls"
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in findings.select("form_score_share"):
        about = findings.conditions[row.condition]
        if about.dataset != dataset or not math.isfinite(row.value):
            continue
        form = str(row.of["variant"])
        key = ("", PEOPLE) if form == PEOPLE else (about.judge, form)
        column = NONE if row.of["score"] == FAILED else str(row.of["score"])
        lines.setdefault(key, {}).setdefault(column, row)
    if not lines:
        return Shown(title, None, "")
    columns = dict.fromkeys(column for own in lines.values() for column in own)
    columns.pop(NONE, None)
    levels = [*sorted(columns, key=float), NONE]
    series = []
    ordered = sorted(lines, key=lambda key: (bool(key[0]), key[0]))
    most = max(row.value for own in lines.values() for row in own.values()) or 1.0
    for judge, form in ordered:
        own = lines[judge, form]
        name = short(form) if judge else whom(findings)
        points = []
        for level in levels:
            if level in own:
                points.append(_score_cell(own[level], level, judge, name, dataset, most))
        series.append(Series(name, tuple(points), group=short(judge) or "For comparison"))
    said = "; ".join(_shift_words(findings, dataset)) or "no form surely changes the mean score"
    pulled = "".join(f" {text}." for text in reference_words(findings, dataset)[:MOST_PULLED])
    note = (
        f"{capital(said)}.{pulled} Darker: more calls. “{NONE}”: no score could be parsed (orange)."
    )
    alt = f"Matrix of form by score, the share of calls. {capital(said)}."
    picture = Picture("matrix", tuple(series), alt, levels=tuple(levels))
    return Shown(title, picture, note + simulated_note(findings))


def _score_cell(row: Row, level: str, judge: str, form: str, dataset: str, most: float) -> Point:
    """Return the share of one score as a cell: blue, and orange where no score was parsed."""
    who = short(judge) if judge else form
    hover = (
        f"{who} · {form}" if judge else capital(who),
        f"{level}: {number(row.value, '.1%')}",
        inside(row),
    )
    tone = -row.value / most
    if level == NONE:
        tone = min(1.0, 3 * row.value)
    of = {"score": row.of["score"], "judge": judge, "dataset": dataset}
    if level == NONE or not judge:
        of.pop("score")
    text = number(100 * row.value, ".0f")
    return replace(mark(row, level, *hover), text=text, tone=tone, of=of)


def reference_words(findings: Findings, dataset: str) -> list[str]:
    """Say which reference answers surely pull a judge's scores to one score, the furthest first.

    Of a reference's scores that one is named whose share grew most against the default form. It is
    said where the two intervals do not overlap, which is stricter than a test of the difference.
    """
    shares: dict[tuple[int, str], dict[str, Row]] = {}
    for row in findings.select("form_score_share"):
        key = (row.condition, str(row.of["variant"]))
        if findings.conditions[row.condition].dataset == dataset and row.of["score"] != FAILED:
            shares.setdefault(key, {})[str(row.of["score"])] = row
    known = []
    for (code, form), own in shares.items():
        first = default_of(findings, code)
        about, default = findings.conditions[code], shares.get((first, DEFAULT))
        varied = [
            name
            for name, level in about.variant.items()
            if findings.conditions[first].variant.get(name) != level
        ]
        if varied != [REFERENCE] or default is None or form == DEFAULT:
            continue
        if about.strategy != findings.conditions[first].strategy:
            continue
        score = max(own, key=lambda name: own[name].value - default[name].value)
        if own[score].interval[0] > default[score].interval[1]:
            grown = own[score].value - default[score].value
            text = (
                f"A reference of score {level_text(about.variant[REFERENCE])} pulls "
                f"{short(about.judge)}'s scores to {score}: {number(own[score].value, '.0%')} of "
                f"calls instead of {number(default[score].value, '.0%')}"
            )
            known.append((grown, text))
    known.sort(key=lambda pair: -pair[0])
    return [text for _, text in known]


def _shift_words(findings: Findings, dataset: str) -> list[str]:
    """Say which forms surely raise or lower the mean score, the furthest first."""
    known = []
    for row in findings.select("variant_shift"):
        about = findings.conditions[row.condition]
        low, high = row.interval
        if about.dataset == dataset and (low > 0 or high < 0):
            verb = "raises" if low > 0 else "lowers"
            text = (
                f"{row.of['variant']} {verb} {short(about.judge)}'s mean by "
                f"{number(abs(row.value))} points"
            )
            known.append((abs(row.value), text))
    known.sort(key=lambda pair: -pair[0])
    return [text for _, text in known[:3]]
