"""Prompt sensitivity: the same items in the same orders under several wordings of the prompt.

What the scores vary with (the item, the wording, the order, two of them together, noise), and by
how many points each wording moves the mean. Only orders that an item was asked in under every
wording count, so that wordings differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rubriclab.findings.effects import confidence, in_points, step, still_possible, unfinished
from rubriclab.findings.frame import Units, ok_rows, units
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.prompt_forms import WORDING, wordings_of
from rubriclab.findings.topic import Advice, DocumentPart, Json, Sentence, Topic
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number
from rubriclab.stats.generalisability import share_intervals
from rubriclab.stats.inference import MIN_RESAMPLED, NO_INTERVAL, Floats, Interval, Ints, ratio, sum_by
from rubriclab.stats.unit_means import intervals, mean_of
from rubriclab.stats.variance_components import Cells, Components, cells_of, components, shares
from rubriclab.stats.verdict import Effect

FEW = 5
"""Below so many wordings their own variance says nothing of other wordings: a variance of W - 1
degrees of freedom has, at W = 4, a 95 % interval from a third to 14 times itself."""
NAMES: Mapping[str, str] = {
    "item": msg("item"),
    "wording": msg("wording"),
    "order": msg("order"),
    "wording_item": msg("wording × item"),
    "order_item": msg("order × item"),
    "wording_order": msg("wording × order"),
    "rest": msg("wording × order × item"),
    "noise": msg("noise"),
}
_ITEM, _WORDING, _ORDER = range(3)
_SETS: Mapping[frozenset[int], str] = {
    frozenset({_ITEM}): "item",
    frozenset({_WORDING}): "wording",
    frozenset({_ORDER}): "order",
    frozenset({_ITEM, _WORDING}): "wording_item",
    frozenset({_ITEM, _ORDER}): "order_item",
    frozenset({_WORDING, _ORDER}): "wording_order",
    frozenset({_ITEM, _WORDING, _ORDER}): "rest",
}


@dataclass(frozen=True)
class Component:
    """One source of variance. ``variance``: in squared points, below 0 where chance made it so.

    ``share``: of the total, at least 0; NaN where it cannot be told apart (``name`` of another
    component then says that it holds both). ``ci``: 95 %, for items like these, these wordings and
    these orders.
    """

    key: str
    name: str
    variance: float
    share: float
    ci: Interval


@dataclass(frozen=True)
class WordingShift:
    """One wording against the first: mean difference in points of the same items in the same orders."""

    wording: str
    effect: Effect
    mean: float
    n_items: int
    n_units: int


@dataclass(frozen=True)
class WordingGroup:
    """One judge on one data set and scale. ``wordings``: the first is the baseline, of ``mean``.

    ``components`` in the order of NAMES, those that are known; ``sd``: of a score, in points, over
    all of them. ``orders``: different ones; ``repeated``: cells read twice in one order;
    ``left_out``: reads in an order that some wording was not asked in, or that gave no score.
    """

    judge: str
    dataset: str
    axis: str
    setting: str
    simulated: bool
    wordings: tuple[str, ...]
    mean: float
    orders: int
    n_items: int
    n_units: int
    unit: str
    n_reads: int
    left_out: int
    repeated: int
    sd: float
    components: tuple[Component, ...]
    shifts: tuple[WordingShift, ...]
    warnings: tuple[str, ...]

    def share(self, key: str) -> float:
        return next((one.share for one in self.components if one.key == key), float("nan"))


@dataclass(frozen=True)
class WordingResult:
    """Every group of a run that has two wordings or more."""

    groups: tuple[WordingGroup, ...]


def varies_wording(data: RunData) -> bool:
    """Was a judge asked in several wordings?"""
    return bool(wordings_of(enumerate(data.arms)))


def wording(data: RunData, *, seed: int = 0) -> WordingResult:
    """The components and shifts of every judge, data set and scale with several wordings."""
    del seed  # nothing is drawn
    every = units(data.items, data.unit)
    found = (_group(data, members, every) for members in wordings_of(enumerate(data.arms)))
    return WordingResult(tuple(group for group in found if group is not None))


# ---------------------------------------------------------------- one group


@dataclass(frozen=True)
class _Reads:
    """Codes of the reads that count, all of one length; ``left_out`` did not."""

    item: Ints
    wording: Ints
    order: Ints
    score: Floats
    left_out: int


def _group(data: RunData, members: Mapping[str, Sequence[int]], every: Units) -> WordingGroup | None:
    arm = data.arms[next(iter(members.values()))[0]]
    reads = _reads(data, members)
    if not len(reads.score):
        return None
    varied = 2 if len(np.unique(reads.order)) == 1 else 3
    codes = np.stack([reads.item, reads.wording, reads.order], axis=1)
    cells = cells_of(codes, every.code[reads.item], reads.score)
    found = components(replace(cells, codes=cells.codes[:, :varied]))
    total = float(np.nansum(found.variances[0]))
    code = cells.codes[:, _WORDING]
    means = ratio(sum_by(code, cells.mean, len(members)), np.bincount(code, minlength=len(members)))
    kept = tuple(_components(found))
    n_items, n_units = len(np.unique(cells.codes[:, _ITEM])), len(np.unique(cells.unit))
    return WordingGroup(
        judge=arm.judge,
        dataset=arm.dataset,
        axis=arm.axis,
        setting=", ".join(f"{name}={level}" for name, level in arm.variant.levels if name != WORDING),
        simulated=arm.simulated,
        wordings=tuple(members),
        mean=float(means[0]),
        orders=len(np.unique(cells.codes[:, _ORDER])),
        n_items=n_items,
        n_units=n_units,
        unit="item" if n_units == n_items else every.kind,
        n_reads=len(reads.score),
        left_out=reads.left_out,
        repeated=found.repeated,
        sd=float(np.sqrt(total)) if total >= 0 and kept else float("nan"),
        components=kept,
        shifts=tuple(_shifts(data, arm, tuple(members), cells, means)),
        warnings=tuple(_warnings(len(members), n_units, kept)),
    )


def _reads(data: RunData, members: Mapping[str, Sequence[int]]) -> _Reads:
    """Readable reads in the orders that their item was asked in under every wording."""
    of = {code: w for w, codes in enumerate(members.values()) for code in codes}
    table = data.judgments[data.judgments["arm"].isin(list(of))]
    shown = pd.factorize(pd.Series([str(ordering) for ordering in data.orderings]))[0].astype(np.int64)
    code = table["arm"].map(of).to_numpy().astype(np.int64)
    item = table["item"].to_numpy().astype(np.int64)
    order = shown[table["ordering"].to_numpy().astype(np.int64)]
    score = table["score"].to_numpy().astype(np.float64)
    cell = np.unique(item * (int(shown.max(initial=0)) + 1) + order, return_inverse=True)[1]
    asked = np.zeros((int(cell.max(initial=-1)) + 1, len(members)), dtype=bool)
    asked[cell, code] = True
    used = np.asarray(asked.all(axis=1))[cell] & ok_rows(table) & np.isfinite(score)
    return _Reads(item[used], code[used], order[used], score[used], int((~used).sum()))


def _components(found: Components) -> Iterator[Component]:
    """In the order of NAMES. Where all reads share one order, a wording's own part of an item is the rest."""
    at = {_SETS[one]: place for place, one in enumerate(found.sets)} | {"noise": len(found.sets)}
    if not found.noisy and "rest" not in at:
        at["rest"] = at.pop("wording_item")
    names = dict(NAMES)
    if not found.noisy:
        names["rest"] = msg("rest, noise included")
    if "order_item" in at and "order" not in at:
        names["order_item"] = msg("order, by itself and × item")
    value_of, ends = shares(found), share_intervals(found)
    for key in NAMES:
        if key in at and np.isfinite(value := float(found.variances[0, at[key]])):
            place = at[key]
            ci = ends[place] if found.units >= MIN_RESAMPLED else NO_INTERVAL
            yield Component(key, tr(names[key]), value, float(value_of[place]), ci)


def _shifts(data: RunData, arm: Arm, names: Sequence[str], cells: Cells, means: Floats) -> Iterator[WordingShift]:
    """Each wording less the first, item by item over the orders that were read under both."""
    of_item, of_wording, of_order = cells.codes.T
    at = of_item * (int(of_order.max()) + 1) + of_order
    place = np.unique(at, return_inverse=True)[1]
    grid = np.full((int(place.max()) + 1, len(names)), np.nan)
    grid[place, of_wording] = cells.mean
    item, unit = np.zeros(len(grid), dtype=np.int64), np.zeros(len(grid), dtype=np.int64)
    item[place], unit[place] = of_item, cells.unit
    level = confidence(data, arm.judge)
    for code, name in enumerate(names[1:], start=1):
        apart = grid[:, code] - grid[:, 0]
        both = np.isfinite(apart)
        own = np.unique(item[both], return_index=True, return_inverse=True)
        by_item = ratio(sum_by(own[2], apart[both], len(own[0])), np.bincount(own[2], minlength=len(own[0])))
        of_unit = unit[both][own[1]]
        found = mean_of(by_item[:, None], of_unit)
        n = int(found.units.sum())
        value = float(found.estimate[0]) if n else float("nan")
        (ends,) = intervals(found, level=level, least=step(arm.scores)) if n else (NO_INTERVAL,)
        effect = in_points(data, arm, value, ends, confidence=level, why=_open(data, len(own[0])))
        yield WordingShift(name, effect, float(means[code]), len(own[0]), n)


def _open(data: RunData, items: int) -> str:
    return unfinished(data) or ("" if items else tr("no item was read under both wordings in one order"))


def _warnings(wordings: int, n: int, kept: Sequence[Component]) -> Iterator[str]:
    keys = {one.key for one in kept}
    if wordings < FEW:
        yield tr(
            "{n} wordings are too few to say how much any other wording would move the scores: the share of the "
            "wording is that of these {n}.",
            n=wordings,
        )
    if n < MIN_RESAMPLED:
        yield tr(
            "{units} are too few for intervals of the shares: {needed} would do.",
            units=many(n, "independent unit"),
            needed=MIN_RESAMPLED,
        )
    if "noise" not in keys:
        yield tr("Nothing was read twice in one order, so the judge's own noise is not told from the rest.")
    if "order_item" not in keys:
        yield tr("All reads share one order: what the order adds is not known.")


# ---------------------------------------------------------------- words


def wording_sentence(group: WordingGroup) -> str:
    """What the scores of one judge vary with, and which wordings move its mean."""
    if not np.isfinite(group.sd):
        return tr("Too little was read of {judge} to say what its scores vary with.", judge=group.judge)
    shares = [f"{one.name} {number(one.share, '.0%')}" for one in group.components]
    moved = [one for one in group.shifts if one.effect.verdict == "effect"]
    far = max(moved, key=lambda one: abs(one.effect.estimate), default=None)
    most = (
        tr(
            " “{wording}” moves its mean most, by {estimate:+.2f} points.",
            wording=far.wording,
            estimate=far.effect.estimate,
        )
        if far
        else ""
    )
    return tr(
        "With {n} wordings of the prompt in the same orders, {judge}'s scores vary with: {shares}.{most}",
        n=len(group.wordings),
        judge=group.judge,
        shares=", ".join(shares),
        most=most,
    )


def shift_answer(group: WordingGroup, shift: WordingShift) -> str:
    """One wording against the first, in points."""
    mean, base = shift.effect, group.wordings[0]
    if not np.isfinite(mean.estimate):
        return tr("No item was read both under “{wording}” and under “{base}”.", wording=shift.wording, base=base)
    if mean.verdict == "effect":
        said = (
            msg("Yes: {judge} scores {size:.2f} points higher than under “{base}”.")
            if mean.estimate > 0
            else msg("Yes: {judge} scores {size:.2f} points lower than under “{base}”.")
        )
        return tr(said, judge=group.judge, size=abs(mean.estimate), base=base)
    if mean.verdict == "equivalent":
        return tr("No: {judge}'s mean score moves by less than {sesoi:g} points.", judge=group.judge, sesoi=mean.sesoi)
    return tr("Not settled{reach}. More items would settle it.", reach=still_possible(mean))


def _sentences(result: WordingResult) -> Iterator[Sentence]:
    for group in result.groups:
        yield Sentence(_about(group), wording_sentence(group), 1)


def _about(group: WordingGroup) -> str:
    return " · ".join(filter(None, (group.judge, group.dataset, group.setting)))


def _advice(result: WordingResult) -> Iterator[Advice]:
    for group in result.groups:
        for shift in group.shifts:
            yield Advice(
                (group.judge, group.dataset, group.setting),
                f"wording: {shift.wording}",
                tr("Does the wording “{wording}” move the mean score?", wording=shift.wording),
                shift_answer(group, shift),
                shift.effect,
                primary=True,
            )


def _limits(result: WordingResult) -> Iterator[str]:
    for group in result.groups:
        for text in group.warnings:
            yield f"{_about(group)}: {text}"


def _document(result: WordingResult, data: RunData) -> DocumentPart:
    """Shares as fractions, shifts in points."""
    del data
    return DocumentPart(beside={"prompt_sensitivity": [_group_json(group) for group in result.groups]})


def _group_json(group: WordingGroup) -> Json:
    return {
        **picked(group, "judge", "dataset", "axis", "setting", "simulated", "wordings", "mean", "orders"),
        **picked(group, "n_items", "n_units", "unit", "n_reads", "left_out", "repeated", "sd"),
        "components": [plain(one) for one in group.components],
        "shifts": [plain(one) for one in group.shifts],
        "warnings": plain(group.warnings),
    }


WORDINGS = Topic(
    "wording",
    wording,
    title=msg("Prompt sensitivity: wording, order, item, noise"),
    axes=frozenset({"options", "criteria"}),
    applies=varies_wording,
    document=_document,
    sentences=_sentences,
    advice=_advice,
    limits=_limits,
)
"""What the wording of the prompt does beside the order of what it lists."""
