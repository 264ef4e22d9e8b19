"""Does the order of the criteria in one prompt move their scores?

Per arm of the criteria axis: criterion x position shifts, Delta Pos, Friedman per criterion
with Holm's correction, agreement with humans (macro mean over criteria), and the effect of
the criterion read just before. Intervals resample texts (method: section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.findings.alignment import StrategyDifference, comparison_json, read_slots
from rubriclab.findings.frame import compress, ok_rows, score_index, units
from rubriclab.findings.plain import plain
from rubriclab.model import Arm, RunData
from rubriclab.stats import alignment as agree
from rubriclab.stats import criteria as stats
from rubriclab.stats.alignment import Correlation, Part
from rubriclab.stats.criteria import Carryover, Friedman
from rubriclab.stats.inference import Floats, Interval, Ints, holm, percentile_interval

ALPHA = 0.05
FEW_TEXTS = 20


@dataclass(frozen=True)
class CriterionEffect:
    """One criterion by position (1-based ``positions``; NaN where it never stood).

    ``exposure``: readable scores at each position. ``p_holm``: over the arm's criteria.
    ``r``: with humans over ``n_items`` complete items; None without human ratings.
    """

    criterion: str
    positions: tuple[int, ...]
    exposure: tuple[int, ...]
    mean: float
    shift: tuple[float, ...]
    shift_ci: tuple[Interval, ...]
    delta_pos: float
    delta_ci: Interval
    friedman: Friedman
    p_holm: float
    r: float | None
    n_items: int


@dataclass(frozen=True)
class MacroAlignment:
    """Unweighted mean over criteria of r (rho) with humans; intervals resample texts."""

    pearson: Correlation
    spearman: Correlation
    n_items: int
    excluded: int
    criteria: int


@dataclass(frozen=True)
class CarryoverRow:
    """Points that reading ``before`` just before adds, against the average neighbour."""

    before: str
    effect: float
    ci: Interval
    p: float
    p_holm: float


@dataclass(frozen=True)
class ArmCriteria:
    """One arm. ``significant`` and ``significant_holm`` count criteria out of ``tested``.

    ``unread``: criterion scores asked for but not readable, of ``scores`` in all.
    """

    code: int
    arm: Arm
    texts: int
    reads: int
    scores: int
    unread: int
    criteria: tuple[CriterionEffect, ...]
    delta_mean: float
    delta_max: float
    significant: int
    significant_holm: int
    tested: int
    alignment: MacroAlignment | None
    carryover: tuple[CarryoverRow, ...]
    carryover_separable: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CriteriaResult:
    """All arms of the criteria axis, and their strategies beside each other."""

    arms: tuple[ArmCriteria, ...]
    comparisons: tuple[StrategyDifference, ...]
    n_boot: int
    seed: int
    warnings: tuple[str, ...]


def criteria(
    data: RunData, *, seed: int = 0, n_boot: int = 1_000, n_paired: int = 2_000
) -> CriteriaResult:
    """Criterion-order effects of every arm, and paired differences in macro r."""
    chosen = [
        (code, arm, rows)
        for code, arm, rows in data.by_arm()
        if arm.axis == "criteria" and len(rows)
    ]
    if not chosen:
        said = "This run scores one criterion a call, so there is no order of criteria to study."
        return CriteriaResult((), (), n_boot, seed, (said,))
    layout = _Layout.of(data)
    arms = [_rows(data, layout, code, arm, judgments) for code, arm, judgments in chosen]
    human = data.items["human"].to_numpy().astype(np.float64)
    aligned = {rows.code: _Aligned.of(rows, human) for rows in arms}
    found = [_arm(rows, aligned[rows.code], n_boot=n_boot, seed=seed) for rows in arms]
    differences = _comparisons(arms, aligned, n_boot=n_paired, seed=seed)
    return CriteriaResult(tuple(found), differences, n_boot, seed, ())


def criteria_json(result: CriteriaResult) -> dict[str, Any]:
    """``{"arms": {arm code: its keys}, "comparisons": [...]}`` for ``results --json``."""
    arms: dict[int, dict[str, Any]] = {}
    for arm in result.arms:
        arms[arm.code] = {"criteria": [_effect_json(effect) for effect in arm.criteria]}
        if arm.alignment is not None:
            found = arm.alignment
            arms[arm.code]["alignment"] = plain(
                {
                    "n_items": found.n_items,
                    "excluded": found.excluded,
                    "pearson": {"r": found.pearson.r, "ci": list(found.pearson.ci)},
                    "spearman": {"r": found.spearman.r, "ci": list(found.spearman.ci)},
                }
            )
    return {"arms": arms, "comparisons": [comparison_json(c) for c in result.comparisons]}


def _effect_json(effect: CriterionEffect) -> dict[str, Any]:
    test = effect.friedman
    return dict(
        plain(
            {
                "criterion": effect.criterion,
                "positions": effect.positions,
                "shift": effect.shift,
                "delta_pos": effect.delta_pos,
                "friedman": {
                    "statistic": test.statistic,
                    "df": test.df,
                    "p": test.p,
                    "p_holm": effect.p_holm,
                    "blocks": test.blocks,
                    "excluded": test.excluded,
                },
            }
        )
    )


# ---------------------------------------------------------------- an arm's rows as codes


@dataclass(frozen=True)
class _Layout:
    """Of the whole run: each item's text and criterion code; each ordering's places.

    ``place[o, c]``: 0-based position of criterion c in ordering o, -1 where it is not shown;
    ``before[o, c]``: the criterion shown just before, ``len(names)`` for none.
    """

    names: tuple[str, ...]
    text: Ints
    criterion: Ints
    place: Ints
    before: Ints

    @classmethod
    def of(cls, data: RunData) -> _Layout:
        codes, names = pd.factorize(data.items["criterion"])
        rank = {str(name): i for i, name in enumerate(names)}
        place = np.full((len(data.orderings), len(names)), -1, dtype=np.int64)
        before = np.full_like(place, len(names))
        for o, ordering in enumerate(data.orderings):
            previous = len(names)
            for p, name in enumerate(ordering.shown):
                c = rank.get(str(name))
                if c is not None:
                    place[o, c], before[o, c] = p, previous
                previous = len(names) if c is None else c
        return cls(tuple(map(str, names)), _texts(data), codes.astype(np.int64), place, before)


def _texts(data: RunData) -> Ints:
    """The text of each item: its block; without blocks, the items that one call scored."""
    if data.items["block"].notna().all():
        return units(data.items).code
    item = data.judgments["item"].to_numpy().astype(np.int64)
    call = np.unique(data.judgments["call"].to_numpy(), return_inverse=True)[1]
    first = np.full(int(call.max()) + 1, len(data.items), dtype=np.int64)
    np.minimum.at(first, call, item)
    text = np.arange(len(data.items), dtype=np.int64)
    text[item] = first[call]
    return text


@dataclass(frozen=True)
class _Rows:
    """One arm's readable rows, and its reads as an (items, K) matrix with NaN for unread."""

    code: int
    arm: Arm
    names: tuple[str, ...]
    texts: int
    text: Ints
    criterion: Ints
    position: Ints
    before: Ints
    value: Floats
    asked: int
    matrix: Floats
    item_code: Ints
    item_text: Ints
    item_criterion: Ints


def _rows(data: RunData, layout: _Layout, code: int, arm: Arm, judgments: pd.DataFrame) -> _Rows:
    item_all = judgments["item"].to_numpy().astype(np.int64)
    ordering = judgments["ordering"].to_numpy().astype(np.int64)
    value = judgments["score"].to_numpy().astype(np.float64)
    item_code, item = compress(item_all, len(data.items))
    present, criterion_of = compress(layout.criterion[item_code], len(layout.names))
    text_codes, text_of = compress(layout.text[item_code], len(data.items))
    renumber = np.full(len(layout.names) + 1, len(present), dtype=np.int64)
    renumber[present] = np.arange(len(present))
    position = layout.place[ordering, layout.criterion[item_all]]
    ok = ok_rows(judgments) & (score_index(value, arm.scores) >= 0) & (position >= 0)
    slot = read_slots(item, judgments)
    matrix = np.full((len(item_code), int(slot.max()) + 1), np.nan)
    matrix[item[ok], slot[ok]] = value[ok]
    return _Rows(
        code=code,
        arm=arm,
        names=tuple(layout.names[c] for c in present),
        texts=len(text_codes),
        text=text_of[item[ok]],
        criterion=criterion_of[item[ok]],
        position=position[ok],
        before=renumber[layout.before[ordering, layout.criterion[item_all]][ok]],
        value=value[ok],
        asked=len(judgments),
        matrix=matrix,
        item_code=item_code,
        item_text=text_of,
        item_criterion=criterion_of,
    )


# ---------------------------------------------------------------- position effects


def _arm(rows: _Rows, aligned: _Aligned | None, *, n_boot: int, seed: int) -> ArmCriteria:
    n, places = len(rows.names), rows.arm.n_positions
    cell = (rows.text * n + rows.criterion) * places + rows.position
    shape = (rows.texts, n, places)
    size = int(np.prod(shape))
    sums = np.bincount(cell, weights=rows.value, minlength=size).reshape(shape).astype(np.float64)
    counts = np.bincount(cell, minlength=size).reshape(shape).astype(np.float64)
    shifts = stats.position_shifts(sums.sum(axis=0), counts.sum(axis=0))
    parts = [Part.whole(table.reshape(rows.texts, -1)) for table in (sums, counts)]
    unit = np.arange(rows.texts, dtype=np.int64)
    drawn = agree.resample_together(parts, unit, n_boot=n_boot, seed=seed)
    resampled = stats.position_shifts(*(d.reshape(-1, n, places) for d in drawn))
    tests = [_friedman(sums[:, c], counts[:, c]) for c in range(n)]
    p_holm = holm(np.array([test.p for test in tests]))
    effects = tuple(
        CriterionEffect(
            criterion=name,
            positions=tuple(range(1, places + 1)),
            exposure=tuple(int(x) for x in counts[:, c].sum(axis=0)),
            mean=float(sums[:, c].sum() / max(counts[:, c].sum(), 1.0)),
            shift=tuple(float(x) for x in shifts.shift[c]),
            shift_ci=tuple(percentile_interval(resampled.shift[:, c, p]) for p in range(places)),
            delta_pos=float(shifts.delta[c]),
            delta_ci=percentile_interval(resampled.delta[:, c]),
            friedman=tests[c],
            p_holm=float(p_holm[c]),
            r=None if aligned is None else float(aligned.each[c]),
            n_items=0 if aligned is None else aligned.count(c),
        )
        for c, name in enumerate(rows.names)
    )
    p = np.array([test.p for test in tests])
    carried = stats.carryover(
        rows.text, rows.criterion, rows.position, rows.before, rows.value, n_criteria=n
    )
    known = shifts.delta[np.isfinite(shifts.delta)]
    return ArmCriteria(
        code=rows.code,
        arm=rows.arm,
        texts=rows.texts,
        reads=rows.matrix.shape[1],
        scores=rows.asked,
        unread=rows.asked - len(rows.value),
        criteria=effects,
        delta_mean=float(known.mean()) if known.size else float("nan"),
        delta_max=float(known.max()) if known.size else float("nan"),
        significant=int((p < ALPHA).sum()),
        significant_holm=int((p_holm < ALPHA).sum()),
        tested=int(np.isfinite(p).sum()),
        alignment=None if aligned is None else aligned.macro(n_boot=n_boot, seed=seed),
        carryover=_carryover_rows(rows.names, carried),
        carryover_separable=carried.separable,
        warnings=tuple(_warnings(rows, tests, known.size, carried)),
    )


def _friedman(sums: Floats, counts: Floats) -> Friedman:
    """Friedman over the positions the criterion stood at; reads at one position averaged."""
    shown = counts.sum(axis=0) > 0
    with np.errstate(invalid="ignore"):
        return stats.friedman((sums / counts)[:, shown])


def _carryover_rows(names: Sequence[str], found: Carryover) -> tuple[CarryoverRow, ...]:
    if not found.separable:
        return ()
    return tuple(
        CarryoverRow(name, float(found.effect[c]), found.ci[c], float(found.p[c]), float(p_holm))
        for c, (name, p_holm) in enumerate(zip(names, holm(found.p), strict=True))
    )


def _warnings(
    rows: _Rows, tests: Sequence[Friedman], moved: int, carried: Carryover
) -> Iterator[str]:
    unread = rows.asked - len(rows.value)
    if unread:
        yield f"{unread} of {rows.asked} criterion scores could not be read and are left out."
    if moved == 0:
        yield (
            "Under this strategy every criterion stands at one position only: "
            "a position effect cannot be seen. Use balanced, Williams or random orders."
        )
    else:
        excluded = max(test.excluded for test in tests)
        if excluded:
            yield (
                f"Up to {excluded} of {rows.texts} texts are left out of the Friedman tests "
                "because a position is missing for them."
            )
        if carried.adjusted == "position":
            yield (
                "The neighbour effect takes position as acting alike on all criteria: this "
                "design has too few orders to let it differ between them."
            )
        if not carried.separable:
            yield (
                "This design cannot tell the criterion read just before from the position: some "
                "criteria never follow each other, or always at one place. Use a Williams design."
            )
    if rows.texts < FEW_TEXTS:
        yield f"Only {rows.texts} texts carry the intervals; read them with care."


# ---------------------------------------------------------------- agreement with humans


@dataclass(frozen=True)
class _Aligned:
    """Complete items of one arm: score, human, text and criterion; r of each criterion."""

    mean: Floats
    human: Floats
    item: Ints
    text: Ints
    criterion: Ints
    texts: int
    excluded: int
    each: Floats

    @classmethod
    def of(cls, rows: _Rows, human: Floats) -> _Aligned | None:
        rating = human[rows.item_code]
        if not np.isfinite(rating).any():
            return None
        keep = np.isfinite(rating) & np.isfinite(rows.matrix).all(axis=1)
        mean, rating = rows.matrix[keep].mean(axis=1), rating[keep]
        criterion = rows.item_criterion[keep]
        each = [
            agree.pearson(mean[criterion == c], rating[criterion == c])
            for c in range(len(rows.names))
        ]
        return cls(
            mean,
            rating,
            rows.item_code[keep],
            rows.item_text[keep],
            criterion,
            rows.texts,
            int((~keep).sum()),
            np.array(each),
        )

    def count(self, criterion: int) -> int:
        return int((self.criterion == criterion).sum())

    def parts(self) -> list[Part]:
        """One table of moments a criterion, rows tagged with their text."""
        parts = []
        for c in range(len(self.each)):
            at = np.flatnonzero(self.criterion == c)
            parts.append(Part(agree.moments(self.mean[at], self.human[at]), self.text[at]))
        return parts

    def macro(self, *, n_boot: int, seed: int) -> MacroAlignment:
        unit = np.arange(self.texts, dtype=np.int64)
        drawn = agree.resample_together(self.parts(), unit, n_boot=n_boot, seed=seed)
        r = _mean_known(np.stack([agree.r_of_moments(total) for total in drawn], axis=-1))
        groups = [np.flatnonzero(self.criterion == c) for c in range(len(self.each))]
        each = np.array([agree.spearman(self.mean[g], self.human[g]) for g in groups])
        rho = [
            agree.spearman_draws(
                self.mean[g], self.human[g], self.text[g], self.texts, n_boot=n_boot, seed=seed
            )
            for g in groups
            if len(g) > 1
        ]
        rho_ci = percentile_interval(_mean_known(np.stack(rho, axis=-1)) if rho else np.empty(0))
        return MacroAlignment(
            pearson=Correlation(float(_mean_known(self.each)), percentile_interval(r)),
            spearman=Correlation(float(_mean_known(each)), rho_ci),
            n_items=len(self.item),
            excluded=self.excluded,
            criteria=int(np.isfinite(self.each).sum()),
        )


def _mean_known(values: Floats) -> Floats:
    """Mean over the last axis without NaN; NaN where nothing is known."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))


def _comparisons(
    arms: Sequence[_Rows], aligned: dict[int, _Aligned | None], *, n_boot: int, seed: int
) -> tuple[StrategyDifference, ...]:
    """Macro r of every two strategies of a judge, on the items complete in both."""

    def setting(rows: _Rows) -> tuple[Any, ...]:
        arm = rows.arm
        return arm.judge, arm.dataset, repr(arm.variant.levels), arm.scores, arm.n_positions

    pairs: list[tuple[_Rows, _Rows]] = []
    for key in dict.fromkeys(setting(rows) for rows in arms):
        group = [rows for rows in arms if setting(rows) == key]
        group.sort(key=lambda rows: rows.arm.strategy != "balanced")
        pairs.extend(combinations(group, 2))
    found = [
        _compare(a, b, one, two, n_boot=n_boot, seed=seed)
        for a, b in pairs
        if (one := aligned[a.code]) is not None and (two := aligned[b.code]) is not None
    ]
    corrected = holm(np.array([difference.p for difference in found]))
    return tuple(
        StrategyDifference(**{**vars(difference), "p_holm": float(p)})
        for difference, p in zip(found, corrected, strict=True)
    )


def _compare(
    a: _Rows, b: _Rows, one: _Aligned, two: _Aligned, *, n_boot: int, seed: int
) -> StrategyDifference:
    both, at_a, at_b = np.intersect1d(one.item, two.item, assume_unique=True, return_indices=True)
    # The second arm's rows take the first arm's text and criterion codes: same items.
    text, criterion = one.text[at_a], one.criterion[at_a]
    parts, deltas = [], []
    for c in range(len(a.names)):
        g = np.flatnonzero(criterion == c)
        y = one.human[at_a][g]
        for side in (one.mean[at_a][g], two.mean[at_b][g]):
            parts.append(Part(agree.moments(side, y), text[g]))
        deltas.append(agree.pearson(one.mean[at_a][g], y) - agree.pearson(two.mean[at_b][g], y))
    unit = np.arange(one.texts, dtype=np.int64)
    drawn = [
        agree.r_of_moments(total)
        for total in agree.resample_together(parts, unit, n_boot=n_boot, seed=seed)
    ]
    draws = _mean_known(np.stack([x - y for x, y in zip(drawn[::2], drawn[1::2], strict=True)], -1))
    result = agree.difference(float(_mean_known(np.array(deltas))), draws)
    reads = a.matrix.shape[1], b.matrix.shape[1]
    warnings: tuple[str, ...] = ()
    if reads[0] != reads[1]:
        warnings = (f"The budgets differ: {reads[0]} against {reads[1]} reads a text.",)
    return StrategyDifference(
        judge=a.arm.judge,
        dataset=a.arm.dataset,
        variant=a.arm.variant,
        a=a.arm.strategy,
        b=b.arm.strategy,
        delta_r=result.delta,
        ci=result.ci,
        p=result.p,
        p_holm=result.p,
        n_items=len(both),
        excluded=len(np.union1d(a.item_code, b.item_code)) - len(both),
        reads_a=reads[0],
        reads_b=reads[1],
        warnings=warnings,
        test="paired bootstrap over texts, macro mean over criteria",
    )
