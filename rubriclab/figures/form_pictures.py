"""Make the pictures of forms of a rubric: which agrees better, and which scores each brings out.

After Li et al. Like all pictures they show rows as they were made: nothing is estimated here.
"""

import math
from dataclasses import replace

from rubriclab.core.topic import Findings, Row
from rubriclab.figures.judge_pictures import difference_panel, extremes, panel_of_strips
from rubriclab.figures.marks import Picture, Point, Series
from rubriclab.figures.pictures import Shown, mark
from rubriclab.model.judgment import variant_text
from rubriclab.words.phrases import MINUS, ci, inside, number
from rubriclab.words.several import short, simulated_note, whom

DEFAULT, PEOPLE = "default", "people"
NONE = "none"
"""The column of replies in which no score could be parsed; -1 in the paper."""
FAILED = -1
"""How rows name it."""


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


def agreement_by_form(findings: Findings, dataset: str) -> Shown:
    """Draw rho and r with people for every form, and the difference of r from the default.

    Li et al., Table 3.
    """
    title = f"**Does the form of the rubric change agreement with {whom(findings)}?**"
    panels = []
    said = ""
    for measure, name in (("spearman", "Spearman's rho"), ("pearson", "Pearson's r")):
        rows = _by_form(findings, measure, dataset)
        panel = panel_of_strips(findings, rows, title=name, axis=f"with {whom(findings)}")
        if panel is not None:
            panels.append(panel)
            named = [(f"{judge}, {form}", row) for (form, judge), row in rows.items()]
            said += f" {name}: {extremes(named)}."
    if not panels:
        return Shown(title, None, "")
    apart = {
        (str(row.of["variant"]), findings.conditions[row.condition].judge): row
        for row in findings.select("variant_pearson_difference")
        if findings.conditions[row.condition].dataset == dataset
    }
    panel = difference_panel(findings, apart, f"r, form {MINUS} default")
    if panel is not None:
        panels.append(panel)
    levels = tuple(dict.fromkeys(level for each in panels for level in each.levels))
    note = f"Lines: {ci()}, each form on its own. Green: too small to matter."
    picture = Picture("strips", (), said.strip(), levels=levels, panels=tuple(panels))
    return Shown(title, picture, note + simulated_note(findings))


def _by_form(findings: Findings, measure: str, dataset: str) -> dict[tuple[str, str], Row]:
    """Return a measure with people by (form, judge), the default first."""
    rows: dict[tuple[str, str], Row] = {}
    for code, about in enumerate(findings.conditions):
        if about.dataset != dataset:
            continue
        for row in findings.select(measure, condition=code):
            if not row.of and math.isfinite(row.value):
                rows.setdefault((form_of(findings, code), about.judge), row)
    return rows


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
        points = []
        for level in levels:
            if level in own:
                points.append(_score_cell(own[level], level, judge, form, dataset, most))
        name = short(form) if judge else whom(findings)
        series.append(Series(name, tuple(points), group=short(judge) or "For comparison"))
    said = "; ".join(_shift_words(findings, dataset)) or "no form surely changes the mean score"
    note = (
        f"{said[:1].upper()}{said[1:]}. Darker: more calls. “{NONE}”: no score could be parsed "
        "(orange)."
    )
    alt = f"Matrix of form by score, the share of calls. {said[:1].upper()}{said[1:]}."
    picture = Picture("matrix", tuple(series), alt, levels=tuple(levels))
    return Shown(title, picture, note + simulated_note(findings))


def _score_cell(row: Row, level: str, judge: str, form: str, dataset: str, most: float) -> Point:
    """Return the share of one score as a cell: blue, and orange where no score was parsed."""
    who = short(judge) if judge else "People"
    hover = (
        f"{who} · {form}",
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
