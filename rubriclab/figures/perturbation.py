"""Pictures of scoring bias: agreement by form, references, score distributions, shifts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale, verdict_said
from rubriclab.figures.style import ACCENT, EVEN_LINE, OVER, SEQUENTIAL, UNDER, Behind, Chart, looks_of, once
from rubriclab.findings.perturbation_groups import FAILED
from rubriclab.findings.perturbation_results import Perturbation, PerturbationGroup
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.alignment import Correlation
from rubriclab.stats.inference import Floats, Interval

Kind = Literal["pearson", "spearman"]
ROW = 30
"""Height of one form in pixels: a line of text and a touch target."""
SYMBOL = {"pearson": msg("Pearson r"), "spearman": msg("Spearman rho")}


@once
def agreement_forest(group: PerturbationGroup, kind: Kind = "pearson") -> Chart:
    """Every form's agreement with gold and its interval; a dotted line at the baseline (Table 3)."""
    forms = group.perturbations
    values = [_of(form, kind) for form in forms]
    drawing = Drawing(x=tr("{measure} with the yardstick", measure=tr(SYMBOL[kind])), height=110 + ROW * len(forms))
    if np.isfinite(values[0].r):
        drawing.level(x=values[0].r)
    known = [i for i, value in enumerate(values) if np.isfinite(value.r)]
    drawing.dots(
        [Mark(i, values[i].r, values[i].ci, _agreement_hover(forms[i], kind), _behind(group, forms[i])) for i in known],
        color=[EVEN_LINE if i == 0 else ACCENT for i in known],
        marker={"size": 10},
    )
    drawing.rows([form.said for form in forms])
    return drawing.chart(_forest_alt(forms, values, kind))


@once
def reference_lines(
    groups: Sequence[PerturbationGroup], kind: Kind = "spearman", *, run_judges: Sequence[str] = ()
) -> Chart:
    """Agreement with gold against the score of the reference answer shown (Figure 5)."""
    title = tr("{measure} with the yardstick", measure=tr(SYMBOL[kind]))
    drawing = Drawing(x=tr("Score of the reference answer shown"), y=title)
    sentences = []
    drawn = [group for group in groups if group.reference is not None]
    for group, look in zip(drawn, looks_of([group.judge for group in drawn], run_judges), strict=True):
        marks = []
        for point in group.reference.points if group.reference else ():
            value: Correlation = getattr(point, kind)
            shown = tr("none") if point.score == 0 else str(point.score)
            hover = tr(
                "reference {shown}: {r:.3f} ({ends})<br>{items}, mean score {mean:.2f}",
                shown=shown,
                r=value.r,
                ends=_range(value.ci),
                items=many(point.n_items, "item"),
                mean=point.mean,
            )
            behind = Behind(
                tr("{judge}, reference of score {score}", judge=group.judge, score=point.score), arm=point.code
            )
            marks.append(Mark(shown, value.r, value.ci, hover, behind))
        name = _group_name(group, drawn)
        line, marker = {"dash": look.dash}, {"symbol": look.symbol}
        drawing.dots(marks, name=name, color=look.color, upright=True, joined=True, marker=marker, line=line)
        told = ", ".join(f"{mark.at}: {number(mark.value, '.2f')}" for mark in marks)
        sentences.append(f"{name}: {told}.")
    drawing.figure.update_xaxes(type="category")
    drawing.figure.update_layout(showlegend=len(drawn) > 1)
    words = " ".join(sentences) or tr("This run shows no reference answers.")
    return drawing.chart(tr("{title} by the reference's score. {words}", title=title, words=words))


@once
def distribution_heatmap(group: PerturbationGroup) -> Chart:
    """Share of judgments by score for every form; failed ones are -1, gold is the top row."""
    forms = group.perturbations
    rows: list[tuple[str, Floats]] = []
    if group.gold is not None and group.gold.counts is not None:
        counts = np.array([0, *group.gold.counts], dtype=np.float64)
        rows.append((_gold_row(group), counts))
    gold = len(rows)
    rows += [(form.said, np.array(form.distribution.counts, dtype=np.float64)) for form in forms]
    table = np.stack([counts for _, counts in rows])
    share = table / table.sum(axis=1, keepdims=True)
    scores = [str(FAILED), *map(str, group.scores)]

    def hover(r: int, c: int) -> str:
        cell = tr("{name}, score {score}", name=escape(rows[r][0]), score=scores[c])
        return f"{cell}: {number(share[r, c], '.1%')} ({number(int(table[r, c]), ',')})"

    def behind(r: int, c: int) -> Behind | None:
        if r < gold:
            return None
        form, name = forms[r - gold], tr("failed") if c == 0 else tr("score {score}", score=scores[c])
        cell = f"{group.judge}, {form.said}, {name}"
        if c == 0:
            return Behind(cell, arm=form.code, status="unread")
        return Behind(cell, arm=form.code, score=int(scores[c]))

    drawing = Drawing(x=tr("Score given ({failed}: failed)", failed=FAILED), height=120 + 34 * len(rows))
    drawing.cells(
        share,
        Scale(SEQUENTIAL, 0.0, max(0.5, float(np.nanmax(share)))),
        x=scores,
        text=lambda r, c: number(100 * share[r, c], ".0f") if share[r, c] >= 0.005 else "",
        hover=hover,
        behind=behind,
        size=12,
    )
    drawing.rows([name for name, _ in rows])
    drawing.figure.update_xaxes(type="category", showgrid=False)
    return drawing.chart(_distribution_alt(rows, share, scores))


@once
def shift_bars(group: PerturbationGroup) -> Chart:
    """Mean score of each form less the baseline's, with its interval, in score points."""
    shifted = [(form, form.shift) for form in group.perturbations if form.shift is not None]
    drawing = Drawing(x=tr("Mean shift (score points)"), height=110 + ROW * max(1, len(shifted)))
    drawing.bars(
        [
            Mark(row, shift.effect.estimate, shift.effect.interval, _shift_hover(form), _behind(group, form))
            for row, (form, shift) in enumerate(shifted)
        ],
        color=[OVER if shift.effect.estimate > 0 else UNDER for _, shift in shifted],
    )
    if shifted:
        drawing.room(shifted[0][1].effect.sesoi)
    drawing.level(x=0)
    drawing.rows([form.said for form, _ in shifted])
    listed = _by_form([(form.said, shift.effect.estimate, "+.2f") for form, shift in shifted])
    return drawing.chart(
        tr("Mean shift of {judge}'s scores against the baseline: {listed}.", judge=group.judge, listed=listed)
    )


@once
def flip_bars(group: PerturbationGroup) -> Chart:
    """How often a read under each form differs from the baseline; dotted: the judge's own noise."""
    shifted = [(form, form.shift) for form in group.perturbations if form.shift is not None]
    drawing = Drawing(x=tr("Scores that differ"), height=110 + ROW * max(1, len(shifted)))
    drawing.bars(
        [
            Mark(row, shift.flips, shift.flips_ci, _shift_hover(form), _behind(group, form))
            for row, (form, shift) in enumerate(shifted)
        ],
        color=ACCENT,
    )
    own = shifted[0][1].own_flips if shifted else float("nan")
    if np.isfinite(own):
        drawing.level(x=own)
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawing.rows([form.said for form, _ in shifted])
    listed = _by_form([(form.said, shift.flips, ".0%") for form, shift in shifted])
    noise = tr(" Two reads of the baseline differ {own:.0%} of the time.", own=own) if np.isfinite(own) else ""
    return drawing.chart(
        tr("Share of scores that differ from the baseline: {listed}.{noise}", listed=listed, noise=noise)
    )


# ---------------------------------------------------------------- steps


def _behind(group: PerturbationGroup, form: Perturbation) -> Behind:
    return Behind(f"{group.judge}, {form.said}", arm=form.code)


def _of(form: Perturbation, kind: Kind) -> Correlation:
    return form.agreement.pearson if kind == "pearson" else form.agreement.spearman


def _by_form(forms: Sequence[tuple[str, float, str]], none: str = msg("unknown")) -> str:
    """Names and values, in words; each value with the form it is written in."""
    return "; ".join(f"{tr(name)} {number(v, form, unknown=tr(none))}" for name, v, form in forms)


def _gold_row(group: PerturbationGroup) -> str:
    if group.gold is None or group.gold.kind == "human":
        return tr("Human")
    return tr("Yardstick: {name}", name=group.gold.name)


def _group_name(group: PerturbationGroup, groups: Sequence[PerturbationGroup]) -> str:
    parts = [group.judge]
    if len({other.dataset for other in groups}) > 1:
        parts.append(group.dataset)
    if len({other.scores for other in groups}) > 1:
        parts.append(f"{many(len(group.scores), 'score')}")
    return " · ".join(parts) + (f" ({tr('simulated')})" if group.simulated else "")


def _range(ci: Interval) -> str:
    return interval(ci, ".3f")


def _agreement_hover(form: Perturbation, kind: Kind) -> str:
    value, agreement = _of(form, kind), form.agreement
    lines = [
        f"{escape(form.said)}: {number(value.r, '.3f')}",
        tr("95 % interval {ends}", ends=_range(value.ci)),
        f"{many(agreement.n_items, 'item')}",
    ]
    delta = agreement.delta_pearson if kind == "pearson" else agreement.delta_spearman
    if delta is not None and np.isfinite(delta.delta):
        lines.append(tr("against the baseline {delta:+.3f} ({ends})", delta=delta.delta, ends=_range(delta.ci)))
    return "<br>".join(lines)


def _shift_hover(form: Perturbation) -> str:
    shift = form.shift
    if shift is None or not np.isfinite(shift.effect.estimate):
        return tr("{name}: no item to compare", name=escape(form.said))
    return "<br>".join(
        [
            tr(
                "{name}: {estimate:+.2f} points ({ends}, all forms at once): {verdict}",
                name=escape(form.said),
                estimate=shift.effect.estimate,
                ends=_range(shift.effect.interval),
                verdict=verdict_said(shift.effect.verdict),
            ),
            tr("flips {flips:.1%} ({ends})", flips=shift.flips, ends=_range(shift.flips_ci)),
            tr(
                "absolute shift {absolute:.2f} points ({ends})", absolute=shift.absolute, ends=_range(shift.absolute_ci)
            ),
            f"{many(shift.n_items, 'item')}",
        ]
    )


def _forest_alt(forms: Sequence[Perturbation], values: Sequence[Correlation], kind: Kind) -> str:
    written = [(form.said, v.r, ".2f") for form, v in zip(forms, values, strict=True)]
    listed = _by_form(written, none=msg("not defined"))
    return tr("{measure} with the yardstick by form of the prompt: {listed}.", measure=tr(SYMBOL[kind]), listed=listed)


def _distribution_alt(rows: Sequence[tuple[str, Floats]], share: Floats, scores: Sequence[str]) -> str:
    words = "; ".join(
        tr(
            "{name}: most often {score} ({share:.0%}), failed {failed:.0%}",
            name=name,
            score=scores[int(np.argmax(line))],
            share=line.max(),
            failed=line[0],
        )
        for (name, _), line in zip(rows, share, strict=True)
    )
    return tr("Heatmap of the share of judgments by score. {words}.", words=words)
