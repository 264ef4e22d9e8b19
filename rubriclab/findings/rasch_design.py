"""Which facets a run's reads have, as the columns of a Rasch model: severities, settings, places, thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.frame import Bools, option_rows, score_index
from rubriclab.findings.ratings import Ratings, other_scale, ratings_of
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats.choice_design import contrasts
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.rasch import Responses, within_budget

PEOPLE = msg("people")
MOST_PERSONS = 30
"""Of more persons none has a severity of its own: each rated little. Of an item with more ratings so many
are used: its pairs grow with their square."""
_RANK = 1e-8


class Kind(NamedTuple):
    """What reads have in common: ``judge`` (or PEOPLE), ``rater`` (a person, or PEOPLE where persons are not
    known), ``setting``, scores by place; of ratings that are no person's the ``slot`` that they fill."""

    judge: str
    rater: str
    setting: str
    shown: tuple[int, ...]
    slot: int = 0


@dataclass(frozen=True)
class Facets:
    """The reads of one data set and scale with the columns of their model.

    ``kinds`` (rows of ``x``, (kinds, n, p)); ``allowed`` (kinds, n): what was ever given. ``raters`` names the judges, then
    people; ``settings``; ``shared``: have several judges (or people) one set of thresholds in common? Weights
    (p,) on phi: ``severity`` and ``setting`` by name, ``threshold`` (n - 1, p), ``place`` (n) and ``turn``
    (ascending less descending) by judge. ``off_scale``: ratings that are no score; ``other_scale``: why none is;
    ``sampled``: these are a random part of the units.
    """

    reads: Responses
    items: Ints
    kinds: tuple[Kind, ...]
    x: Floats
    allowed: Bools
    raters: tuple[str, ...]
    settings: tuple[str, ...]
    shared: bool
    severity: dict[str, Floats]
    setting: dict[str, Floats]
    threshold: Floats
    place: dict[str, Floats]
    turn: dict[str, Floats]
    off_scale: int
    sampled: bool
    other_scale: str = ""


Reading = tuple[Arm, pd.DataFrame]


def facets(data: RunData, arms: Sequence[Reading], unit: Ints, *, people: bool = True, seed: int = 0) -> Facets | None:
    """Of the readable judgments of ``arms`` of one data set and scale; None where there are none.

    ``unit``: the unit of each of the run's items. ``people``: with the ratings of the same items. Of more pairs
    of reads than a fit is quick with, a random part of the units is taken by ``seed``.
    """
    n = len(arms[0][0].scores)
    known: dict[Kind, int] = {}
    parts = [_of_arm(data, one, known) for one in arms]
    item, kind, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not len(item) or n < 2:
        return None
    off_scale, other = 0, ""
    if people:
        given, judged = ratings_of(data.items), np.unique(item)
        other = other_scale(given.values[judged], arms[0][0].scores)
    if people and not other:
        *rated, off_scale = _ratings(given, judged, arms[0][0].scores, known)
        item, kind, score = (np.concatenate(two) for two in zip((item, kind, score), rated, strict=True))
    part = within_budget(item, unit, seed=seed)
    if part is not None:
        item, kind, score = item[part], kind[part], score[part]
    items, item = np.unique(item, return_inverse=True)
    units, own = np.unique(unit[items], return_inverse=True)
    reads = Responses(item.astype(np.int64), kind, score, own.astype(np.int64), len(units))
    return replace(_columns(reads, items, tuple(known), n, off_scale, part is not None), other_scale=other)


def _of_arm(data: RunData, one: Reading, known: dict[Kind, int]) -> tuple[Ints, Ints, Ints]:
    """Items (codes of the run), kinds and categories of an arm's readable judgments."""
    arm, judgments = one
    rows = option_rows(data, arm, judgments)
    ok = rows.ok
    whom = arm.judge, "", str(arm.variant)
    used = np.unique(rows.ordering[ok])
    code = np.full(len(rows.shown), -1, dtype=np.int64)
    for order in used.tolist():
        code[order] = known.setdefault(Kind(*whom, tuple(rows.shown[order].tolist())), len(known))
    return rows.item_code[rows.item[ok]], code[rows.ordering[ok]], rows.score[ok]


def _ratings(
    people: Ratings, items: Ints, scores: Sequence[int], known: dict[Kind, int]
) -> tuple[Ints, Ints, Ints, int]:
    """Ratings of ``items`` that are scores of the scale, and how many others there are."""
    persons = people.named and len(people.names) <= MOST_PERSONS
    values = people.values[items]
    row, column = np.nonzero(np.isfinite(values))
    score = score_index(values[row, column], scores)
    if not persons:
        size = np.bincount(row, minlength=len(items))
        column = np.arange(len(row)) - np.repeat(size.cumsum() - size, size)
        few = column < MOST_PERSONS
        row, column, score = row[few], column[few], score[few]
    whole = score >= 0
    row, column, score = row[whole], column[whole], score[whole]
    judges = names_of(tuple(known))
    code = np.full(int(column.max(initial=-1)) + 1, -1, dtype=np.int64)
    for slot in np.unique(column).tolist():
        name = people.names[slot] if persons else PEOPLE
        name = tr("{name} (person)", name=name) if name in judges else name
        code[slot] = known.setdefault(Kind(PEOPLE, name, "", (), slot), len(known))
    return items[row], code[column], score, int((~whole).sum())


# ---------------------------------------------------------------- columns


def _columns(reads: Responses, items: Ints, kinds: tuple[Kind, ...], n: int, off_scale: int, sampled: bool) -> Facets:
    """Every facet's columns beside each other, and the weights that read its levels off phi.

    Of several judges all have one set of thresholds (rating scale), which severities are shifts of. If each had
    its own as soon as it had reads enough, a run of more items would be another ruler, on which the same judge
    has another severity.
    """
    used = np.bincount(reads.score, minlength=n) > 0
    names = tuple(dict.fromkeys(kind.rater or kind.judge for kind in kinds))
    settings = tuple(dict.fromkeys(kind.setting for kind in kinds if not kind.rater))
    steps = -np.arange(n, dtype=np.float64)
    blocks: list[tuple[str, str, Floats, Floats]] = [
        *_levels("severity", names, [kind.rater or kind.judge for kind in kinds], steps),
        *_levels("setting", settings, [kind.setting if not kind.rater else None for kind in kinds], steps),
        _thresholds(used, len(kinds)),
        *_places(kinds, n),
    ]
    x, of = _laid_out(blocks, len(kinds), n)
    (threshold,) = of["threshold"].values()
    return Facets(
        reads,
        items,
        kinds,
        x,
        np.tile(used, (len(kinds), 1)),
        names,
        settings,
        shared=len({kind.judge for kind in kinds}) > 1,
        severity=of["severity"],
        setting=of["setting"],
        threshold=threshold,
        place=of["place"],
        turn=of["turn"],
        off_scale=off_scale,
        sampled=sampled,
    )


def _laid_out(
    blocks: Sequence[tuple[str, str, Floats, Floats]], kinds: int, n: int
) -> tuple[Floats, dict[str, dict[str, Floats]]]:
    """All columns side by side, (kinds, n, p), and by facet and name the weights (p,) on phi."""
    width = sum(weights.shape[1] for *_, weights in blocks)
    x, start = np.zeros((kinds, n, width)), 0
    of: dict[str, dict[str, Floats]] = {"severity": {}, "setting": {}, "threshold": {}, "place": {}, "turn": {}}
    for facet, name, columns, weights in blocks:
        end = start + weights.shape[1]
        x[:, :, start:end] = columns
        wide = np.zeros((len(weights), width))
        wide[:, start:end] = weights
        if facet in ("severity", "setting"):
            of[facet].update(zip(name.split("\n"), wide, strict=True))
        else:
            of[facet][name] = wide
        if facet == "place":
            away = np.arange(n) - (n - 1) / 2
            of["turn"][name] = 2.0 * (away @ wide) / (away @ away)
        start = end
    return x, of


def _levels(
    facet: str, names: Sequence[str], of: Sequence[str | None], steps: Floats
) -> list[tuple[str, str, Floats, Floats]]:
    """A shift of the whole scale for each name, summing to zero; nothing for a single one."""
    if len(names) < 2:
        return []
    basis = contrasts(len(names))
    own = np.array([basis[names.index(name)] if name is not None else np.zeros(len(names) - 1) for name in of])
    return [(facet, "\n".join(names), steps[None, :, None] * own[:, None, :], basis)]


def _thresholds(used: Bools, kinds: int) -> tuple[str, str, Floats, Floats]:
    """The categories between the lowest and highest ``used`` (n,), and the thresholds that follow from them.

    The threshold of a category is the level of the item at which it is as likely as the one below.
    They sum to zero; next to a category that was never given there is none.
    """
    inner = np.flatnonzero(used)[1:-1]
    level = np.zeros((len(used), len(inner)))
    level[inner, np.arange(len(inner))] = 1.0
    weights = -np.diff(level, axis=0)
    weights[~(used[1:] & used[:-1])] = 0.0
    return "threshold", "", np.broadcast_to(level, (kinds, *level.shape)), weights


def _places(kinds: Sequence[Kind], n: int) -> list[tuple[str, str, Floats, Floats]]:
    """Where a category stood, for each judge that was shown several orders.

    Of orders that show only some differences between places (two mirrored ones, say) the rest is
    taken to be zero; single places are then not told.
    """
    blocks = []
    for judge in dict.fromkeys(kind.judge for kind in kinds if kind.shown):
        mine = [row for row, kind in enumerate(kinds) if kind.judge == judge and kind.shown]
        place = np.argsort(np.array([kinds[row].shown for row in mine]), axis=1)
        stood = contrasts(n)[place]
        own = stood - stood.mean(axis=0)
        _, size, across = np.linalg.svd(own.reshape(-1, n - 1), full_matrices=False)
        seen = across[size > _RANK * max(1.0, float(size.max(initial=0.0)))].T
        if seen.shape[1]:
            columns = np.zeros((len(kinds), n, seen.shape[1]))
            columns[mine] = stood @ seen
            blocks.append(("place", judge, columns, contrasts(n) @ seen))
    return blocks


def whole_places(one: Facets, judge: str) -> bool:
    """Can every place of this judge be told, not only differences between some?"""
    weights = one.place.get(judge)
    return weights is not None and int(np.linalg.matrix_rank(weights)) == len(weights) - 1


def names_of(kinds: Sequence[Kind]) -> tuple[str, ...]:
    """The judges among the kinds, in the order in which they come."""
    return tuple(dict.fromkeys(chain.from_iterable((kind.judge,) for kind in kinds if not kind.rater)))
