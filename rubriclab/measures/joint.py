"""Say whether position changes a score when one call scores several criteria or answers.

Source: Xu et al. v2, setting 2 (Tables 5, 6; Figures 10, 11). A row of the data is the score of one
criterion in one call. Answers are one pooled target: a score is compared with the answer's own
mean.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rubriclab.core.estimate import (
    Estimate,
    Student,
    jackknife,
    missing,
    plain,
    simultaneous,
    t_p,
)
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.measures.rated import means
from rubriclab.measures.shift import contrasts, single_scores
from rubriclab.stats.resample import Floats, Ints, crossed, distinct, sum_by
from rubriclab.stats.tests import friedman, holm

# ------------------------------------------------------------------- sums by criterion and position
_TINY = 1e-9


def position_means(sums: Floats, counts: Floats) -> Floats:
    """Return the mean score at each position, (..., criteria, positions).

    NaN where a criterion was never shown.
    """
    return np.asarray(np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan))


def position_shifts(sums: Floats, counts: Floats) -> Floats:
    """Return the mean at a position minus the criterion's mean, (..., criteria, positions)."""
    n = counts.sum(axis=-1)
    overall = np.where(n > 0, sums.sum(axis=-1) / np.where(n > 0, n, 1.0), np.nan)
    return np.asarray(position_means(sums, counts) - overall[..., None])


def delta_pos(sums: Floats, counts: Floats) -> Floats:
    """Return the best minus the worst position mean, (criteria,): the paper's Delta Pos.

    NaN below two positions.
    """
    mean, several = position_means(sums, counts), (counts > 0).sum(axis=-1) >= 2
    apart = np.fmax.reduce(mean, axis=-1) - np.fmin.reduce(mean, axis=-1)  # these leave NaN out
    return np.asarray(np.where(several, apart, np.nan))


class Carryover(NamedTuple):
    """What scoring a criterion just before adds to the next score, in points.

    ``effect`` (criteria,) against the mean of all criteria as predecessors; ``parts`` (texts,
    criteria): what each text adds to its error, in sum 0; ``by_criterion``: was position taken out
    criterion by criterion, or alike for all?
    """

    effect: Floats
    parts: Floats
    by_criterion: bool


def carryover(
    text: Ints,
    criterion: Ints,
    position: Ints,
    before: Ints,
    score: Floats,
    *,
    texts: int,
    criteria: int,
) -> Carryover | None:
    """Return the effect of the criterion scored just before, all successors pooled.

    None where the orders cannot separate it.

    Rows are scores; ``before``: the criterion one position earlier, ``criteria`` at the first
    position. Least squares of the score on text x criterion, position and predecessor, the first
    two taken out exactly. Position enters criterion by criterion where the design lets it (random
    or all orders), else alike for all, as in Williams' (1949) analysis, whose n orders put each
    criterion once at each position. Every criterion has to follow every other one, and predecessors
    to keep their rank once positions are taken out: rotations fail for four criteria or more.
    """
    known = before < criteria
    follows = crossed(before[known], criteria, criterion[known], criteria)
    if criteria < 2 or texts < 2 or not bool((follows + np.eye(criteria) > 0).all()):
        return None
    positions = int(position.max()) + 1
    for by_criterion in (True, False):
        slot = criterion * positions + position if by_criterion else position
        fitted = _predecessors(
            text * criteria + criterion, slot, before, score, texts * criteria, criteria
        )
        if fitted is not None:
            effect, inverse, pull = fitted
            centre = np.eye(criteria) - 1.0 / criteria
            by_text = pull.reshape(texts, criteria, criteria).sum(axis=1)
            return Carryover(centre @ effect, by_text @ inverse @ centre, by_criterion)
    return None


def _predecessors(
    unit: Ints, slot: Ints, before: Ints, score: Floats, units: int, criteria: int
) -> tuple[Floats, Floats, Floats] | None:
    """Return effects, the inverse of their normal equations, and each unit's part of these.

    Parts: (units, criteria). None where the predecessors lose their rank.

    A row's regressors are two indicators, its slot and its predecessor if any. Taken out: the units
    (a text under a criterion), then the slots.
    """
    slots, known = int(slot.max()) + 1, before < criteria

    def sums(values: Floats) -> Floats:
        """By unit, in each slot and after each predecessor, (units, slots + criteria)."""
        after = crossed(unit[known], units, before[known], criteria, weights=values[known])
        return np.hstack([crossed(unit, units, slot, slots, weights=values), after])

    rows = np.maximum(np.bincount(unit, minlength=units), 1).astype(np.float64)
    centred = score - (np.bincount(unit, weights=score, minlength=units) / rows)[unit]
    counts = sums(np.ones_like(score))
    cross = np.diag(counts.sum(axis=0))
    both = crossed(slot[known], slots, before[known], criteria)
    cross[:slots, slots:], cross[slots:, :slots] = both, both.T
    a, b = cross - counts.T @ (counts / rows[:, None]), sums(centred).sum(axis=0)
    of_slots = np.linalg.pinv(a[:slots, :slots], rcond=_TINY, hermitian=True)
    onto = a[slots:, :slots] @ of_slots
    normal, right = a[slots:, slots:] - onto @ a[:slots, slots:], b[slots:] - onto @ b[:slots]
    largest = max(1.0, float(np.abs(normal).max()))
    if int(np.linalg.matrix_rank(normal, tol=_TINY * largest, hermitian=True)) != criteria - 1:
        return None
    inverse = np.linalg.pinv(normal, rcond=_TINY, hermitian=True)
    effect = inverse @ right
    fitted = (of_slots @ (b[:slots] - a[:slots, slots:] @ effect))[slot] + np.append(effect, 0.0)[
        before
    ]
    mean = np.bincount(unit, weights=fitted, minlength=units) / rows
    error = sums(centred - (fitted - mean[unit]))
    return np.asarray(effect), np.asarray(inverse), error[:, slots:] - error[:, :slots] @ onto.T


# --------------------------------------------------------------------------------- the topic's rows
CHARTS = (
    Chart("cells", "position_shift", by="position", across="target"),
    Chart("forest", "first_minus_last", by="target"),
)


@topic("joint", axes={"criteria", "responses"}, charts=CHARTS)
def joint(arm: Arm) -> Iterator[Row]:
    if arm.condition.joint:  # else one answer a call: the judge's own noise is all there is
        counts, sums = tables(arm)
        yield from shifts(arm, counts, sums)
        yield from extremes_of_positions(arm, counts, sums)
        if arm.condition.reorder == "criteria":
            yield from neighbours(arm)
        call = np.unique(arm.call, return_inverse=True)[1]
        complete = arm.ok & (
            np.bincount(call, arm.ok)[call] == len(arm.names)
        )  # calls that scored every criterion
        yield from contrasts(arm, complete, arm.value, ("turn",))
    yield from single_scores(arm)


def tables(arm: Arm) -> tuple[Floats, Floats]:
    """(texts, criteria, positions): how many scores, and their sum.

    Of answers (texts, 1, positions): of those that stood at several positions, less each answer's
    own mean.
    """
    kept = arm.rows
    item = arm.item[kept]
    if arm.condition.reorder == "responses":
        position, value = arm.position[kept], arm.value[kept]
        several = (crossed(item, arm.items, position, arm.positions) > 0).sum(axis=1) > 1
        away, rows = value - means(arm)[item], several[item]
        pooled = arm.text[item[rows]], arm.texts, position[rows], arm.positions
        return crossed(*pooled)[:, None], crossed(*pooled, weights=away[rows])[:, None]
    cells = (
        arm.text[item],
        arm.texts,
        arm.target[item],
        len(arm.names),
        arm.position[kept],
        arm.positions,
    )
    return crossed(*cells), crossed(*cells, weights=arm.value[kept])


def targets(arm: Arm) -> list[dict[str, Any]]:
    """Return what ``of`` says for each target of the tables: the criterion; nothing for answers."""
    return (
        [{}] if arm.condition.reorder == "responses" else [{"target": name} for name in arm.names]
    )


def shifts(arm: Arm, counts: Floats, sums: Floats) -> Iterator[Row]:
    """Yield each position's mean minus the criterion's, and first minus last position.

    The intervals of a table hold at once.
    """
    by_unit = [sum_by(arm.text_unit, part, arm.units) for part in (sums, counts)]
    scored = by_unit[1].sum(axis=2) > 0
    none = arm.lacking("missing_cells")
    # One answer of k that moves by a step moves its batch's mean by a step / k.
    rule = Student(least=arm.step / (arm.positions if arm.condition.reorder == "responses" else 1))
    made: dict[str, list[Row]] = {"position_shift": [], "first_minus_last": []}

    def first_minus_last(sums: Floats, counts: Floats) -> Floats:
        by_position = position_means(sums, counts)
        return np.asarray(by_position[..., :1] - by_position[..., -1:])

    for k, of in enumerate(targets(arm)):
        parts, n = [part[:, k] for part in by_unit], counts[:, k].sum(axis=0)
        how: dict[str, Any] = {"known": scored[:, k], "rule": rule, "none": none}
        every = jackknife(position_shifts, parts, arm.unit_names, light=True, **how)
        every += jackknife(first_minus_last, parts, arm.unit_names, **how)
        if np.count_nonzero(n) < 2:  # a shift from its own mean is 0 by definition
            every = [missing(none)] * len(every)
        for p, estimate in enumerate(every[:-1]):
            here = {**of, "position": p + 1}
            made["position_shift"].append(
                Row("position_shift", estimate, here, counts={"n": int(n[p])})
            )
        made["first_minus_last"].append(
            Row("first_minus_last", every[-1], of, counts={"n": int(n.sum())})
        )
    for rows in made.values():
        known = [row.estimate for row in rows if not row.estimate.why]
        level = simultaneous(known, level=arm.level)
        yield from (replace(row, level=level) for row in rows)


def extremes_of_positions(arm: Arm, counts: Floats, sums: Floats) -> Iterator[Row]:
    """Yield Delta Pos as in the paper, and Friedman's test, by criterion."""
    delta = delta_pos(sums.sum(axis=0), counts.sum(axis=0))
    shown = counts.sum(axis=0) > 0
    tests = [
        friedman(position_means(sums[:, k][:, seen], counts[:, k][:, seen]))
        for k, seen in enumerate(shown)
    ]
    adjusted = holm(np.array([test.p for test in tests]))
    none = arm.lacking("undefined")
    for k, (of, test) in enumerate(zip(targets(arm), tests, strict=True)):
        yield Row(
            "delta_pos",
            plain(float(delta[k]), "maximum", none),
            of,
            counts={"n": int(counts[:, k].sum())},
        )
        n = {"n": test.blocks, "left_out": test.excluded, "p_holm": float(adjusted[k])}
        p = ("Friedman", test.p) if np.isfinite(test.statistic) else None
        yield Row("friedman", plain(test.statistic, "statistic", none), of, p, n)


def neighbours(arm: Arm) -> Iterator[Row]:
    """Yield what the criterion scored just before adds to the next score.

    Compared with the mean over all predecessors.
    """
    kept = arm.rows
    item, position, order = arm.item[kept], arm.position[kept], arm.order[kept]
    n, fitted = len(arm.names), None
    if len(item):
        before = np.where(position > 0, arm.shown[order, np.maximum(position - 1, 0)], n)
        rows = arm.text[item], arm.target[item], position, before, arm.value[kept]
        fitted = carryover(*rows, texts=arm.texts, criteria=n)
    if fitted is None:
        yield Row("carryover", missing("not_separable" if len(item) else "nothing_parsed"))
        return
    scored = np.flatnonzero(np.bincount(arm.text[item], minlength=arm.texts))
    unit, code = distinct(arm.text_unit[scored], arm.units)
    influence = sum_by(code, fitted.parts[scored], len(unit)) * len(unit)
    for k, name in enumerate(arm.names):
        estimate = Estimate(
            float(fitted.effect[k]), influence[:, k], arm.unit_names[unit], Student()
        )
        p = t_p(estimate)
        test = ("t", p) if np.isfinite(p) else None
        counts = {"n": len(scored), "by_criterion": fitted.by_criterion}
        yield Row("carryover", estimate, {"before": name}, test=test, counts=counts)
