"""Judges beside each other and beside people: mean scores in points, and leniency in logits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rubriclab.findings.effects import step
from rubriclab.findings.rasch_design import PEOPLE, Facets
from rubriclab.findings.rasch_results import Gap
from rubriclab.stats.inference import NO_INTERVAL, Floats, ratio
from rubriclab.stats.ordinal import Side, conclusion, of_ratio
from rubriclab.stats.rasch import MIN_UNITS, RaschFit
from rubriclab.stats.shift import mean_over_units

MOST = 8
"""Judges that are compared two by two; of more only each with people."""


def gaps(of: Facets, fit: RaschFit, scores: Sequence[int]) -> tuple[Gap, ...]:
    """Every two judges, and each with people, over the items that both gave a score; of fewer than MIN_UNITS units no interval."""
    judges = tuple(dict.fromkeys(kind.judge for kind in of.kinds if not kind.rater))
    people = any(kind.rater for kind in of.kinds)
    pairs = list(combinations(judges, 2)) if len(judges) <= MOST else []
    pairs += [(judge, PEOPLE) for judge in judges] if people else []
    if not pairs or not of.severity:
        return ()
    means = {name: _means(of, name, scores) for name in {name for pair in pairs for name in pair}}
    found = (_gap(of, fit, scores, pair, means) for pair in pairs)
    return tuple(gap for gap in found if gap is not None)


def _means(of: Facets, name: str, scores: Sequence[int]) -> Floats:
    """Each item's mean score by a judge, or by people; NaN where there is none."""
    mine = np.array([kind.judge == name for kind in of.kinds])[of.reads.kind]
    item, size = of.reads.item[mine], len(of.items)
    value = np.asarray(scores, dtype=np.float64)[of.reads.score[mine]]
    count = np.bincount(item, minlength=size)
    total = np.bincount(item, weights=value, minlength=size)
    return ratio(total, count)


def _severity(of: Facets, name: str) -> Floats:
    if name != PEOPLE:
        return of.severity[name]
    return np.asarray(
        np.mean([of.severity[name] for name in dict.fromkeys(kind.rater for kind in of.kinds if kind.rater)], axis=0)
    )


def _gap(
    of: Facets, fit: RaschFit, scores: Sequence[int], pair: tuple[str, str], means: dict[str, Floats]
) -> Gap | None:
    apart = means[pair[0]] - means[pair[1]]
    both = np.isfinite(apart)
    if not both.any():
        return None
    unit, n = of.reads.unit[both], of.reads.n_units
    top = np.bincount(unit, weights=apart[both], minlength=n).astype(np.float64)
    bottom = np.bincount(unit, minlength=n).astype(np.float64)
    points = mean_over_units(top, bottom, step=step(scores))
    weights = _severity(of, pair[1]) - _severity(of, pair[0])
    leniency, ci = fit.linear(weights)
    apart_ci = points.interval
    if int((bottom > 0).sum()) < MIN_UNITS:  # the interval is of the whole ruler: no other units know of this gap
        ci = apart_ci = NO_INTERVAL
    answer = conclusion(of_ratio(top, bottom, apart_ci), Side(leniency, ci, fit.parts @ weights))
    return Gap(pair, int(both.sum()), points.value, apart_ci, leniency, ci, answer)
