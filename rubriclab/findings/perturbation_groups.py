"""All forms of the prompt of one judge on one data set and scale, beside the same baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.findings.effects import confidence, in_points, step, too_few_units, unfinished
from rubriclab.findings.perturbation_choices import best_agreement, most_stable
from rubriclab.findings.perturbation_results import (
    Agreement,
    Distribution,
    Fluctuation,
    Perturbation,
    PerturbationGroup,
    ReferenceCurve,
    ReferencePoint,
    Shift,
)
from rubriclab.findings.prompt_forms import Form, FormName, Gold, form_name, gold_counts
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import form_choice, shift
from rubriclab.stats import perturbation as stat
from rubriclab.stats.inference import Floats, Interval, Ints
from rubriclab.stats.unit_means import intervals, mean_of
from rubriclab.stats.verdict import Effect, effect, unknown

FAILED = -1
FEW_UNITS = 30
UNREAD = msg("no item was read under both forms")
READ_ONCE = msg("one read an item: the judge's own noise is in it, repeat the reads to take it off")


def group_result(
    data: RunData,
    forms: Sequence[Form],
    gold: Floats,
    about: Gold | None,
    kind: str,
    draws: stat.Draws,
    *,
    judge_is_gold: bool,
    seed: int,
) -> PerturbationGroup:
    """All forms of one judge on one data set and scale; ``gold`` and ``draws`` of its items."""
    base, unit = forms[0], draws.unit
    names = [form_name(base.arm, form.arm) for form in forms]
    fitted = _fit(forms, np.full(len(unit), np.nan) if judge_is_gold else gold, draws)
    agreed, fluctuations = _agreements(forms, names, fitted)
    shifts = _shifts(data, forms, draws, seed)
    rows = tuple(
        _perturbation(form, base, name, agreement, shift)
        for form, name, agreement, shift in zip(forms, names, agreed, shifts, strict=True)
    )
    labels = [row.name for row in rows]
    return PerturbationGroup(
        judge=base.arm.judge,
        dataset=base.arm.dataset,
        scores=base.arm.scores,
        simulated=base.arm.simulated,
        unit="item" if draws.n_units == len(unit) else kind,
        n_units=draws.n_units,
        gold=_own_gold(about, fitted.gold, base.arm.scores),
        perturbations=rows,
        pearson_fluctuation=fluctuations[0],
        spearman_fluctuation=fluctuations[1],
        reference=_reference_curve(data, rows, forms, draws),
        most_stable=most_stable(data, labels, forms, draws),
        best_agreement=best_agreement(data, labels, fitted.scores, fitted.gold, draws),
        warnings=tuple(_group_warnings(base, about, judge_is_gold, draws.n_units)),
    )


def _perturbation(form: Form, base: Form, name: FormName, agreement: Agreement, shift: Shift | None) -> Perturbation:
    counts, warnings = _distribution(form), tuple(_form_warnings(form, base, agreement, shift))
    return Perturbation(form.code, form.arm, *name, form.judgments, form.reads, counts, agreement, shift, warnings)


def _own_gold(about: Gold | None, gold: Floats, scores: tuple[int, ...]) -> Gold | None:
    n = int(np.isfinite(gold).sum())
    if about is None or n == 0:
        return None
    return replace(about, n_items=n, counts=gold_counts(gold, scores))


def _distribution(form: Form) -> Distribution:
    total = form.judgments["total"]
    by_score = form.counts.sum(axis=0).astype(np.int64)
    counts = (total - int(by_score.sum()), *by_score.tolist())
    return Distribution((FAILED, *form.arm.scores), counts, tuple(count / total for count in counts))


@dataclass(frozen=True)
class _Fit:
    """All forms beside gold. ``scores`` (forms, items): complete means where gold is known.

    ``pairs``: for every form but the first, the columns of ``fit`` that hold it and the
    baseline on the items both have (its own column and the baseline's where nothing is missing).
    """

    gold: Floats
    scores: Floats
    fit: stat.GoldFit
    pairs: tuple[tuple[int, int], ...]


def _fit(forms: Sequence[Form], gold: Floats, draws: stat.Draws) -> _Fit:
    known = np.isfinite(gold)
    own = np.stack([np.where(known, form.complete_means(), np.nan) for form in forms])
    rows, pairs = list(own), []
    for i in range(1, len(forms)):
        pair = []
        for one, other in ((i, 0), (0, i)):
            shared = np.where(np.isfinite(own[other]), own[one], np.nan)
            if np.isfinite(shared).sum() == np.isfinite(own[one]).sum():
                pair.append(one)
            else:
                pair.append(len(rows))
                rows.append(shared)
        pairs.append((pair[0], pair[1]))
    return _Fit(gold, own, stat.gold_fit(np.stack(rows), gold, draws), tuple(pairs))


def _agreements(
    forms: Sequence[Form], names: Sequence[FormName], fitted: _Fit
) -> tuple[list[Agreement], list[Fluctuation | None]]:
    """Every form beside gold, its paired change, and the largest change of r and of rho."""
    fit, known = fitted.fit, np.isfinite(fitted.gold)
    agreements = []
    for i, form in enumerate(forms):
        rated = int(((form.asked > 0) & known).sum())
        agreement = Agreement(
            n_items=int(fit.items[i]),
            no_gold=int((form.asked > 0).sum()) - rated,
            incomplete=rated - int(fit.items[i]),
            pearson=fit.pearson(i),
            spearman=fit.spearman(i),
        )
        if i:
            here, base = fitted.pairs[i - 1]
            r, rho = fit.less(here, base)
            agreement = replace(agreement, n_paired=int(fit.items[here]), delta_pearson=r, delta_spearman=rho)
        agreements.append(agreement)
    a, b = (np.array([pair[side] for pair in fitted.pairs], dtype=np.int64) for side in (0, 1))
    changes = [
        _fluctuation(fit.r[a] - fit.r[b], fit.r_draws[:, a] - fit.r_draws[:, b], names[1:]),
        _fluctuation(fit.rho[a] - fit.rho[b], fit.rho_draws[:, a] - fit.rho_draws[:, b], names[1:]),
    ]
    return agreements, changes


def _fluctuation(changes: Floats, draws: Floats, names: Sequence[FormName]) -> Fluctuation | None:
    largest = form_choice.largest_change(changes, draws)
    if largest is None:
        return None
    return Fluctuation(
        form=names[largest.form][0],
        change=largest.change,
        ci=Interval(largest.change - largest.reach, largest.change + largest.reach),
        from_noise=largest.from_noise,
        p=largest.p,
        n_forms=int(np.isfinite(changes).sum()),
    )


def _shifts(data: RunData, forms: Sequence[Form], draws: stat.Draws, seed: int) -> list[Shift | None]:
    """Every form's shift against the first; None for the first itself."""
    return [None, *(_shift(data, forms[0], form, draws, seed) for form in forms[1:])]


def _shift(data: RunData, base: Form, form: Form, draws: stat.Draws, seed: int) -> Shift:
    unit, values, level = draws.unit, base.values, confidence(data, base.arm.judge)
    rows = stat.shift_rows(form.counts, base.counts, values)
    excess = stat.excess_flips(form.counts, base.counts)
    beyond_noise = stat.excess_distance(form.counts, base.counts, values)
    flips, beyond, apart = (
        _over_units(points, unit, size=size)
        for points, size in ((rows[:, stat.FLIP], 1.0), (excess, 1.0), (rows[:, stat.ABSOLUTE], step(base.arm.scores)))
    )
    both = np.isfinite(rows[:, 0])
    return Shift(
        effect=_moved(data, base, rows[:, stat.SHIFT], unit, UNREAD, level),
        single=_moved(data, base, beyond_noise, unit, READ_ONCE, level, excess=True),
        n_items=int(both.sum()),
        n_excluded=int(((form.asked > 0) | (base.asked > 0)).sum() - both.sum()),
        n_units=len(np.unique(unit[both])),
        flips=flips.value,
        flips_ci=Interval(float(np.maximum(flips.interval.low, 0.0)), float(np.minimum(flips.interval.high, 1.0))),
        absolute=apart.value,
        absolute_ci=Interval(float(np.maximum(apart.interval.low, 0.0)), apart.interval.high),
        own_flips=float(stat.means(stat.own_flips(base.counts)[:, None])[0]),
        excess=beyond.value,
        excess_ci=beyond.interval,
        test=stat.distribution_test(form.counts, base.counts, unit, seed=seed),
        excess_test=stat.mean_test(excess, unit, one_sided=True),
    )


def _over_units(points: Floats, unit: Ints, *, size: float, level: float = 0.95) -> shift.Estimate:
    """The mean of ``points`` (items,), as an arm's own shift has it; ``size``: the least move there is."""
    return shift.excess(points, unit, int(unit.max(initial=-1)) + 1, confidence=level, step=size)


def _moved(
    data: RunData, base: Form, points: Floats, unit: Ints, why: str, level: float, *, excess: bool = False
) -> Effect:
    """The mean of ``points`` (items,) over units; ``why`` there is none where there is none."""
    mean = _over_units(points, unit, size=step(base.arm.scores), level=level)
    why = too_few_units(mean) if np.isfinite(mean.value) else tr(why)
    return in_points(data, base.arm, mean.value, mean.interval, confidence=level, why=why, excess=excess)


# ---------------------------------------------------------------- reference answers


def _reference_curve(
    data: RunData, rows: Sequence[Perturbation], forms: Sequence[Form], draws: stat.Draws
) -> ReferenceCurve | None:
    """The baseline and the forms that differ from it by the reference answer alone."""
    chosen = [i for i, row in enumerate(rows) if row.family in ("baseline", "reference")]
    if len(chosen) < 2:
        return None
    # Without the factor the level is unknown: an item's best reference may have been shown.
    level = [int(rows[i].arm.variant.get("reference") or 0) for i in chosen]
    points = [
        ReferencePoint(
            rows[i].code,
            score,
            rows[i].agreement.pearson,
            rows[i].agreement.spearman,
            float(stat.means((stat.shares(forms[i].counts) @ forms[i].values)[:, None])[0]),
            rows[i].agreement.n_items,
        )
        for i, score in zip(chosen, level, strict=True)
    ]
    shown = [(score, i) for i, score in zip(chosen, level, strict=True) if score]
    table = np.stack([stat.shares(forms[i].counts) @ forms[i].values for _, i in shown], axis=1)
    slopes = stat.pull_slopes(table, np.array([score for score, _ in shown], dtype=np.float64))
    return ReferenceCurve(
        points=tuple(sorted(points, key=lambda point: point.score)),
        pull=_pull(data, slopes, draws.unit),
        test=stat.mean_test(slopes, draws.unit),
        n_items=int(np.isfinite(slopes).sum()),
    )


def _pull(data: RunData, slopes: Floats, unit: Ints) -> Effect:
    mean = mean_of(slopes[:, None], unit)
    value, sesoi, name = float(mean.estimate[0]), data.smallest_effect, msg("points a point")
    if not np.isfinite(value):
        return unknown(sesoi, tr("references of fewer than two scores"), unit=name)
    # One item more copied a reference from one end of the scale to the other, one shunned it.
    (ends,) = intervals(mean, least=1.0)
    return effect(value, ends, sesoi, unit=name, why=unfinished(data))


# ---------------------------------------------------------------- in words


def _form_warnings(form: Form, base: Form, agreement: Agreement, shift: Shift | None) -> Iterator[str]:
    failed = form.judgments["total"] - int(form.counts.sum())
    if failed == form.judgments["total"]:
        yield tr("Not one judgment of this form could be read.")
    elif failed:
        yield tr(
            "{failed:,} of {judgments} failed and count as -1.",
            failed=failed,
            judgments=many(form.judgments["total"], "judgment"),
        )
    if agreement.incomplete:
        yield tr(
            "{items} {items:is|are} left out of the agreement: a read gave no score.",
            items=many(agreement.incomplete, "item"),
        )
    if agreement.n_items > 1 and not np.isfinite(agreement.pearson.r):
        yield tr("This form (or the yardstick) has the same score for every item: no correlation is defined.")
    if shift is None:
        return
    if shift.n_excluded:
        yield tr(
            "{items} {items:is|are} left out of the shift: one of the forms has no score.",
            items=many(shift.n_excluded, "item"),
        )
    if form.reads != base.reads:
        yield tr(
            "This form has {reads} reads an item, the baseline {usual}: more reads alone raise agreement.",
            reads=form.reads,
            usual=base.reads,
        )
    if not np.isfinite(shift.excess):
        yield tr("One read an item: flips cannot be told from the judge's own randomness. Repeat the reads to see it.")


def _group_warnings(base: Form, about: Gold | None, judge_is_gold: bool, n_units: int) -> Iterator[str]:
    if not base.standard:
        yield tr(
            "The baseline here is “{form}”, not the usual one (ascending, Arabic numerals, no "
            "reference): add that form to compare with the paper.",
            form=f"{base.arm.strategy}{', ' + str(base.arm.variant) if base.arm.variant.levels else ''}",
        )
    if judge_is_gold:
        yield tr("This judge is the yardstick itself: its agreement with itself is not shown.")
    elif about is None:
        yield tr("No item has a human rating, so agreement cannot be shown.")
    if about is not None and about.tied:
        yield tr(
            "{items} {items:has|have} no single commonest score of the yardstick; the mean of the tied counts.",
            items=many(about.tied, "item"),
        )
    if n_units < FEW_UNITS:
        yield tr("Only {n} items or texts carry the intervals; read them with care.", n=n_units)
