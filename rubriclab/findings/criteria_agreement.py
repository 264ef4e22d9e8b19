"""Criterion by criterion beside the humans, and two strategies on the same texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.alignment import StrategyDifference
from rubriclab.findings.criteria_rows import Rows
from rubriclab.findings.ratings import ratings_of
from rubriclab.model.language import tr
from rubriclab.stats import alignment as agree
from rubriclab.stats.alignment import Agreement, Correlation
from rubriclab.stats.human_correlation import ItemReads, LeftOut, difference, r_with_humans, rho_with_humans
from rubriclab.stats.inference import Floats, Ints, holm


@dataclass(frozen=True)
class MacroAlignment:
    """Unweighted mean over criteria of r (rho) with humans; intervals leave out one text after the other."""

    pearson: Correlation
    spearman: Correlation
    n_items: int
    excluded: int
    criteria: int


class Raters:
    """The raters' own agreement on an arm's items, computed once per set of items."""

    def __init__(self, items: pd.DataFrame) -> None:
        self._ratings = ratings_of(items).values
        self._known: dict[bytes, Agreement | None] = {}

    def on(self, rows: Rows) -> Agreement | None:
        """Means over criteria; ``raters`` and ``items`` are the most and the sum of theirs."""
        key = rows.item_code.tobytes()
        if key not in self._known:
            each = [
                agree.rater_agreement(self._ratings[rows.item_code[rows.item_criterion == c]])
                for c in range(len(rows.names))
            ]
            self._known[key] = _mean_agreement([one for one in each if one.items])
        return self._known[key]


def _mean_agreement(each: Sequence[Agreement]) -> Agreement | None:
    if not each:
        return None
    alphas, others = (
        [value for value in values if np.isfinite(value)]
        for values in ([a.alpha for a in each], [a.leave_one_out_r for a in each])
    )
    return Agreement(
        float(np.mean(alphas)) if alphas else float("nan"),
        float(np.mean(others)) if others else float("nan"),
        max(a.raters for a in each),
        sum(a.items for a in each),
    )


@dataclass(frozen=True)
class Aligned:
    """Complete items of one arm: score, human, text and criterion; r of each criterion."""

    mean: Floats
    human: Floats
    item: Ints
    text: Ints
    text_code: Ints
    criterion: Ints
    excluded: int
    each: Floats

    @classmethod
    def of(cls, rows: Rows, human: Floats) -> Aligned | None:
        rating = human[rows.item_code]
        if not np.isfinite(rating).any():
            return None
        keep = np.isfinite(rating) & np.isfinite(rows.matrix).all(axis=1)
        text = rows.item_text[keep]
        return cls._with_r(
            (
                rows.matrix[keep].mean(axis=1),
                rating[keep],
                rows.item_code[keep],
                text,
                rows.text_code[text],
                rows.item_criterion[keep],
            ),
            int((~keep).sum()),
            len(rows.names),
        )

    @classmethod
    def _with_r(cls, columns: tuple[Floats, Floats, Ints, Ints, Ints, Ints], excluded: int, criteria: int) -> Aligned:
        mean, human, *_, criterion = columns
        groups = [np.flatnonzero(criterion == c) for c in range(criteria)]
        each = np.array([agree.pearson(mean[g], human[g]) for g in groups])
        return cls(*columns, excluded, each)

    def only(self, at: Ints) -> Aligned:
        """The same for the items at the places ``at``."""
        columns = (self.mean[at], self.human[at], self.item[at], self.text[at], self.text_code[at], self.criterion[at])
        return self._with_r(columns, self.excluded + len(self.item) - len(at), len(self.each))

    def count(self, criterion: int) -> int:
        return int((self.criterion == criterion).sum())

    def group(self, criterion: int) -> Ints:
        """The places of this criterion's items among the complete ones."""
        return np.flatnonzero(self.criterion == criterion)


class WithoutTexts(NamedTuple):
    """r (or rho) of each criterion, (criteria,), and without each text, (texts, criteria)."""

    each: Floats
    without: Floats

    def mean(self, known: np.ndarray[Any, np.dtype[np.bool_]]) -> LeftOut:
        """Over the criteria ``known``."""
        if not known.any():
            return LeftOut(float("nan"), np.empty(0))
        return LeftOut(float(self.each[known].mean()), np.asarray(self.without[:, known].mean(axis=1)))


def without_texts(one: Aligned, statistic: Callable[[ItemReads], LeftOut]) -> WithoutTexts:
    """``statistic`` of each criterion's items, and the same without each text that they speak of."""
    texts, place = np.unique(one.text_code, return_inverse=True)
    each = np.full(len(one.each), np.nan)
    without = np.full((len(texts), len(each)), np.nan)
    for c in range(len(each)):
        g = one.group(c)
        same = np.ones(len(g))
        of_all = statistic(ItemReads(one.mean[g], same, 0.0 * same, one.human[g], place[g]))
        each[c] = without[:, c] = of_all.value
        if len(of_all.without):
            without[np.unique(place[g]), c] = of_all.without
    return WithoutTexts(each, without)


def macro_of(one: Aligned, statistic: Callable[[ItemReads], LeftOut]) -> LeftOut:
    """The unweighted mean of ``statistic`` over the criteria that have it."""
    of = without_texts(one, statistic)
    return of.mean(np.isfinite(of.each))


def macro(one: Aligned) -> MacroAlignment:
    """The mean over criteria of r and of rho, with the interval of Fisher's z without each text."""
    r, rho = (macro_of(one, statistic) for statistic in (r_with_humans, rho_with_humans))
    return MacroAlignment(
        pearson=Correlation(r.value, r.r_interval()),
        spearman=Correlation(rho.value, rho.r_interval()),
        n_items=len(one.item),
        excluded=one.excluded,
        criteria=int(np.isfinite(one.each).sum()),
    )


class _Pair(NamedTuple):
    """Two arms that differ in strategy alone, with their complete items."""

    a: Rows
    b: Rows
    one: Aligned
    two: Aligned
    at_a: Ints
    at_b: Ints


def arm_pairs(arms: Sequence[Rows], aligned: dict[int, Aligned | None]) -> list[_Pair]:
    """Every two strategies of a judge under one variant, balanced first."""

    def setting(rows: Rows) -> tuple[Any, ...]:
        arm = rows.arm
        return arm.judge, repr(arm.variant.levels), arm.scores, arm.n_positions

    pairs = []
    for key in dict.fromkeys(setting(rows) for rows in arms):
        group = [rows for rows in arms if setting(rows) == key]
        group.sort(key=lambda rows: rows.arm.strategy != "balanced")
        for a, b in combinations(group, 2):
            one, two = aligned[a.code], aligned[b.code]
            if one is not None and two is not None:
                _, at_a, at_b = np.intersect1d(one.item, two.item, assume_unique=True, return_indices=True)
                pairs.append(_Pair(a, b, one, two, at_a, at_b))
    return pairs


def compared(pair: _Pair) -> StrategyDifference:
    """The difference of macro r on the items that are complete in both."""
    sides = [
        without_texts(aligned.only(at), r_with_humans) for aligned, at in ((pair.one, pair.at_a), (pair.two, pair.at_b))
    ]
    known = np.isfinite(sides[0].each + sides[1].each)
    result = difference(*(side.mean(known) for side in sides))
    reads = pair.a.matrix.shape[1], pair.b.matrix.shape[1]
    warnings: tuple[str, ...] = ()
    if reads[0] != reads[1]:
        warnings = (tr("The budgets differ: {first} against {second} reads a text.", first=reads[0], second=reads[1]),)
    both = len(pair.at_a)
    return StrategyDifference(
        judge=pair.a.arm.judge,
        dataset=pair.a.arm.dataset,
        variant=pair.a.arm.variant,
        a=pair.a.arm.strategy,
        b=pair.b.arm.strategy,
        delta_r=result.delta,
        ci=result.ci,
        p=result.p,
        p_holm=result.p,
        n_items=both,
        excluded=len(np.union1d(pair.a.item_code, pair.b.item_code)) - both,
        reads_a=reads[0],
        reads_b=reads[1],
        warnings=warnings,
        test=tr("Fisher's z without each text, macro mean over criteria"),
    )


def corrected(found: Sequence[StrategyDifference]) -> tuple[StrategyDifference, ...]:
    adjusted = holm(np.array([one.p for one in found]))
    return tuple(replace(one, p_holm=float(p)) for one, p in zip(found, adjusted, strict=True))
