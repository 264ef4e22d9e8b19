"""A system's mean score and pass rate from many judged and few rated items, with honest intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.corrected_means_results import (
    Buying,
    CorrectedArm,
    CorrectedResult,
    CurvePoint,
    OrderMean,
    Rate,
    SystemMean,
)
from rubriclab.findings.corrected_means_words import ALL, cautions, cut_caution, sentences
from rubriclab.findings.effects import step
from rubriclab.findings.frame import OptionRows, count_table, option_rows, side_by_side, units
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.ratings import other_scale
from rubriclab.findings.replacement_arms import orders_kept
from rubriclab.findings.topic import DocumentPart, Json, Topic, arm_json
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import plural
from rubriclab.stats import prediction_powered as stats
from rubriclab.stats.inference import NO_INTERVAL, Floats, Ints

MOST_SYSTEMS = 30
"""Of more candidates (or criteria) than this no single one has a mean of its own."""
CURVE = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500, 700, 1000, 1500, 2000, 3000)
NO_RATINGS = msg("No item has a human rating: the judge's means cannot be corrected.")


def corrected_means(data: RunData, *, cut: float | None = None, seed: int = 0) -> CorrectedResult:
    """Of every arm of score options; ``cut``: the lowest score that passes (None: as the run is read)."""
    del seed
    human = data.items["human"].to_numpy().astype(np.float64)
    if not np.isfinite(human).any():
        return CorrectedResult((), (tr(NO_RATINGS),))
    unit = units(data.items, data.unit)
    cases = [(code, arm, rows) for code, arm, rows in data.by_arm() if arm.axis == "options" and not rows.empty]
    cut = data.cut if cut is None else cut
    arms = side_by_side(lambda case: _arm(data, *case, human, unit.code, unit.kind, cut), cases)
    warnings = dict.fromkeys(text for arm in arms if not arm.systems for text in arm.warnings)
    return CorrectedResult(tuple(arm for arm in arms if arm.systems), tuple(warnings))


# ---------------------------------------------------------------- one arm


class _Judged(NamedTuple):
    """An arm's items that have a score: their means over reads and, (items, orders), in each order; the
    share of their reads that pass, and what people gave. ``sesoi``: in points."""

    item: Ints
    judge: Floats
    orders: Floats
    names: tuple[str, ...]
    passing: Floats
    human: Floats
    unit: Ints
    cut: float
    sesoi: float
    resampled: str

    def only(self, at: Ints) -> _Judged:
        return self._replace(
            item=self.item[at],
            judge=self.judge[at],
            orders=self.orders[at],
            passing=self.passing[at],
            human=self.human[at],
            unit=self.unit[at],
        )


def _arm(
    data: RunData, code: int, arm: Arm, judgments: pd.DataFrame, human: Floats, unit: Ints, kind: str, cut: float | None
) -> CorrectedArm:
    rows = option_rows(data, arm, judgments)
    middle = (min(arm.scores) + max(arm.scores)) / 2.0
    judged = _judged(rows, arm, human[rows.item_code], unit[rows.item_code], middle if cut is None else cut)
    judged = judged._replace(sesoi=data.smallest_effect * step(arm.scores), resampled=kind)
    if not np.isfinite(judged.human).any():
        return CorrectedArm(code, arm, (), ())
    if why := other_scale(judged.human, arm.scores):  # a difference of two scales is no error of the judge's
        return CorrectedArm(code, arm, (), (tr("The judge's means cannot be corrected: {why}.", why=why),))
    tells = min(arm.scores) < judged.cut <= max(arm.scores)
    systems = [_system(name, judged.only(at), tells) for name, at in _systems(data.items, judged.item)]
    warnings = [
        *cautions(systems[0], rows.n_items - len(judged.item)),
        *([] if tells else [cut_caution(arm, judged.cut)]),
    ]
    return CorrectedArm(code, arm, tuple(systems), tuple(warnings))


def _judged(rows: OptionRows, arm: Arm, human: Floats, unit: Ints, cut: float) -> _Judged:
    ok = rows.ok
    item, score, ordering = rows.item[ok], rows.score[ok], rows.ordering[ok]
    scores = np.asarray(arm.scores, dtype=np.float64)
    given = count_table((item, rows.n_items), (score, rows.n))
    count = given.sum(axis=1)
    at = np.flatnonzero(count > 0)
    shares = given[at] / count[at, None]
    kept = orders_kept(item, ordering, len(rows.shown))
    place = np.full(len(rows.shown), -1)
    place[kept] = np.arange(len(kept))
    mine = place[ordering] >= 0
    by_order = count_table(
        (item[mine], rows.n_items), (place[ordering[mine]], len(kept)), (score[mine], rows.n)
    ).reshape(rows.n_items, len(kept), rows.n)[at]
    with np.errstate(invalid="ignore", divide="ignore"):
        orders = by_order @ scores / by_order.sum(axis=2)
    names = tuple(" ".join(str(arm.scores[s]) for s in rows.shown[k]) for k in kept)
    passing = shares @ (scores >= cut)
    return _Judged(rows.item_code[at], shares @ scores, orders, names, passing, human[at], unit[at], cut, 0.0, "item")


def _systems(items: pd.DataFrame, item: Ints) -> Iterator[tuple[str, Ints]]:
    """All items, then each candidate and each criterion of several, with places among ``item``."""
    yield ALL, np.arange(len(item))
    for column in ("candidate", "criterion"):
        if column not in items:
            continue
        value = items[column].to_numpy()[item]
        code, names = pd.factorize(value)
        if 1 < len(names) <= MOST_SYSTEMS:
            for k, name in enumerate(names):
                yield f"{column} {name}", np.flatnonzero(code == k)


def _system(of: str, judged: _Judged, tells: bool) -> SystemMean:
    """``tells``: some scores pass and some do not."""
    human, judge, unit = judged.human, judged.judge, judged.unit
    found = stats.corrected_mean(human, judge, unit)
    rated = int(np.isfinite(human).sum())
    gap, p = stats.unlike(human, judge, unit)
    few = found.rated_units < stats.FEWEST_RATED
    why = (
        tr(
            "{n} rated {units} are too few, at least {fewest}",
            n=found.rated_units,
            units=plural(judged.resampled, 2),
            fewest=stats.FEWEST_RATED,
        )
        if few
        else ""
    )
    return SystemMean(
        of,
        len(judge),
        rated,
        found.units,
        judged.resampled,
        found.plain.value,
        found.plain.interval,
        found.rated.value,
        found.rated.interval,
        found.corrected.value,
        found.corrected.interval,
        found.bias.value,
        found.bias.interval,
        found.weight,
        gap,
        p,
        () if few else tuple(_orders(judged)),
        _rate(judged, found.units) if tells and not few else None,
        _buying(judged),
        why,
    )


def _orders(judged: _Judged) -> Iterator[OrderMean]:
    """Each order by itself, over the items that have a score in it."""
    for name, values in zip(judged.names, judged.orders.T, strict=True):
        at = np.flatnonzero(np.isfinite(values))
        found = stats.corrected_mean(judged.human[at], values[at], judged.unit[at])
        plain_, corrected = found.plain, found.corrected
        yield OrderMean(name, plain_.value, plain_.interval, corrected.value, corrected.interval)


def _rate(judged: _Judged, n_units: int) -> Rate:
    """A mean rating passes at the cut; of the judge the share of an item's reads that do."""
    human = np.where(np.isfinite(judged.human), judged.human >= judged.cut, np.nan)
    found = stats.corrected_mean(human, judged.passing, judged.unit, share=True)
    unit = plural(judged.resampled, 1)
    rogan, why = None, tr("items share a {unit}, and its interval counts them as independent", unit=unit)
    if n_units == len(human):
        rogan = stats.rogan_gladen(human, np.asarray(judged.judge >= judged.cut, dtype=np.float64))
        why = "" if rogan else tr("too few rated items pass, or fail, or the judge does not tell them apart")
    nan = float("nan")
    return Rate(
        judged.cut,
        found.plain.value,
        found.plain.interval,
        found.rated.value,
        found.rated.interval,
        found.corrected.value,
        found.corrected.interval,
        rogan.value if rogan else nan,
        rogan.interval if rogan else NO_INTERVAL,
        rogan.sensitivity if rogan else nan,
        rogan.specificity if rogan else nan,
        why,
    )


def _buying(judged: _Judged) -> Buying | None:
    found = stats.worth(judged.human, judged.judge, judged.unit)
    if found is None:
        return None
    ratings = np.array([k for k in CURVE if k <= len(judged.human)], dtype=np.float64)
    if not len(ratings):
        return None
    lines = [(found.half_width(ratings, judged=on), *found.band(ratings, judged=on)) for on in (True, False)]
    curve = tuple(
        CurvePoint(int(n), *map(float, judged_and_alone))
        for n, *judged_and_alone in zip(ratings, *lines[0], *lines[1], strict=True)
    )
    (one, one_ci), (two, two_ci) = (found.needed(judged.sesoi, judged=on) for on in (True, False))
    worth = found.human / found.left if found.left > 0 else float("inf")
    return Buying(judged.sesoi, one, *one_ci, two, two_ci, worth, curve)


# ---------------------------------------------------------------- the topic


def _document(result: CorrectedResult, data: RunData) -> DocumentPart:
    del data
    entries = [
        {**arm_json(arm.arm), **_system_json(system), "warnings": plain(arm.warnings)}
        for arm in result.arms
        for system in arm.systems
    ]
    return DocumentPart(beside={"corrected_means": entries}, warnings=result.warnings)


def _system_json(system: SystemMean) -> Json:
    entry = picked(system, "of", "n_items", "n_rated", "units", "resampled", "weight", "unlike", "unlike_p", "why")
    entry |= {name: _estimate(system, name) for name in ("plain", "rated", "corrected", "bias")}
    orders: list[Any] = [
        {"ordering": [int(s) for s in one.name.split()]} | {k: _estimate(one, k) for k in ("plain", "corrected")}
        for one in system.orders
    ]
    rate = system.rate and {
        **picked(system.rate, "cut", "sensitivity", "specificity", "rogan_why"),
        **{name: _estimate(system.rate, name) for name in ("plain", "rated", "corrected", "rogan")},
    }
    return entry | {"orders": orders, "pass_rate": rate, "buying": plain(system.buying)}


def _estimate(of: Any, name: str) -> Json:
    low, high = plain(getattr(of, f"{name}_ci"))
    return {"value": plain(getattr(of, name)), "low": low, "high": high}


CORRECTED_MEANS = Topic(
    "corrected_means",
    corrected_means,
    title=msg("Corrected means"),
    axes=frozenset({"options"}),
    document=_document,
    sentences=sentences,
)
