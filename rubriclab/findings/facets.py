"""The facets that scores of a run were made under: who judged what, in which words, order, labels.

A facet with one level in the run is left out: what another level would add is then not known. An
order is crossed with items where items share orders, and nested in them where they have orders of
their own. What is said of this stands in ``notes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.frame import Units, ok_rows
from rubriclab.findings.prompt_forms import WORDING
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import listed, many
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.variance_components import Cells, cells_of, distinct, joined, nested

LABELS = "ids"
"""The factor whose levels are sets of labels of the scores."""
SHARED = 5.0
"""An order is crossed with items where it was shown with so many of them on average: of fewer, its
own part could not be told from what it does to single items."""
PLURAL: Mapping[str, str] = {
    "item": msg("items"),
    "judge": msg("judges"),
    "wording": msg("wordings"),
    "labels": msg("label sets"),
    "order": msg("orders"),
    "rater": msg("raters"),
}
"""The facets by their keys."""
_ONE_AN_ITEM = {
    "order": msg("Each item has one order: what the order adds is counted with the item."),
    "rater": msg("Each item has one rater: what the rater adds is counted with the item."),
}


@dataclass(frozen=True)
class Facet:
    """``key``: one of PLURAL, or two with “ and ” between that never varied apart. ``levels``: how many
    there are (of a nested one: for each item); ``within_item``: every item has levels of its own."""

    key: str
    levels: int
    within_item: bool = False

    @property
    def plural(self) -> str:
        return tr(" and ").join(tr(PLURAL[part]) for part in self.key.split(" and "))


@dataclass(frozen=True)
class Faceted:
    """Scores by facets. ``facets``: as the columns of ``cells.codes``, the item first; ``alone``: those
    of one level in the run; ``left_out``: reads without a score, or of no use to the facets."""

    facets: tuple[Facet, ...]
    alone: tuple[str, ...]
    cells: Cells
    n_reads: int
    left_out: int
    notes: tuple[str, ...]


class Members(NamedTuple):
    """The arms (by code) whose scores are looked at together: one data set, scale and setting."""

    arms: tuple[int, ...]
    judges: tuple[str, ...]
    first: Arm
    setting: str


def members_of(arms: Sequence[Arm]) -> Iterator[Members]:
    """All judges of a data set, scale and setting together, then each judge alone.

    The setting: every factor but the prompt's wording and the label set.
    """
    groups: dict[tuple[str, str, tuple[int, ...], str], list[int]] = {}
    for code, arm in enumerate(arms):
        if arm.scores and arm.axis in ("options", "criteria"):
            groups.setdefault((arm.dataset, arm.axis, arm.scores, _setting(arm)), []).append(code)
    for (*_, setting), codes in groups.items():
        judges = tuple(dict.fromkeys(arms[code].judge for code in codes))
        if len(judges) > 1:
            yield Members(tuple(codes), judges, arms[codes[0]], setting)
        for judge in judges:
            own = tuple(code for code in codes if arms[code].judge == judge)
            yield Members(own, (judge,), arms[own[0]], setting)


def _setting(arm: Arm) -> str:
    return ", ".join(f"{name}={level}" for name, level in arm.variant.levels if name not in (WORDING, LABELS))


def faceted(data: RunData, members: Members, every: Units) -> Faceted | None:
    """The readable scores of ``members`` by their facets; None where there is none."""
    table = data.judgments[data.judgments["arm"].isin(members.arms)]
    used = ok_rows(table) & np.isfinite(table["score"].to_numpy().astype(np.float64))
    left_out = int((~used).sum())
    table = table[used]
    if not len(table):
        return None
    item = table["item"].to_numpy().astype(np.int64)
    arm = table["arm"].to_numpy().astype(np.int64)
    shown = pd.factorize(pd.Series([str(ordering) for ordering in data.orderings]))[0].astype(np.int64)
    arms = [data.arms[code] for code in range(len(data.arms))]
    columns = {
        "item": item,
        "judge": _levels([one.judge for one in arms])[arm],
        "wording": _levels([one.variant.get(WORDING) for one in arms])[arm],
        "labels": _levels([one.variant.get(LABELS) or "arabic" for one in arms])[arm],
        "order": shown[table["ordering"].to_numpy().astype(np.int64)],
    }
    criterion = criteria_of(data.items)[item]
    return by_facets(columns, table["score"].to_numpy().astype(np.float64), every.code[item], criterion, left_out)


def pooled(data: RunData, members: Members) -> str:
    """Why what is found of all reads together is not what an arm says of its own beside people's ratings.

    Empty where it is the same (one arm, every item rated and read as often), and where no arm says any such
    thing: of several judges together, and of criteria scored in one call.
    """
    if len(members.judges) > 1 or members.first.axis != "options":
        return ""
    rated = np.isfinite(data.items["human"].to_numpy().astype(np.float64))
    table = data.judgments[data.judgments["arm"].isin(members.arms)]
    table = table[ok_rows(table) & np.isfinite(table["score"].to_numpy().astype(np.float64))]
    item, arms = table["item"].to_numpy().astype(np.int64), table["arm"].nunique()
    reads = np.bincount(item, minlength=len(rated))
    same = arms < 2 and rated[item].all() and distinct(reads[reads > 0]) < 2
    if same or not rated[item].any():
        return ""
    return tr(
        "Every read of {arms} counts alike here; the dependability beside an arm's r with humans is that arm's own, "
        "every rated item counting alike, so it may differ.",
        arms=many(arms, "arm"),
    )


def criteria_of(items: pd.DataFrame) -> Ints:
    """A code for the criterion of each item: scores are compared within it alone."""
    return pd.factorize(items["criterion"])[0].astype(np.int64) + 1


def _levels(values: Sequence[object]) -> Ints:
    return pd.factorize(pd.Series([str(value) for value in values]))[0].astype(np.int64)


def by_facets(columns: Mapping[str, Ints], score: Floats, unit: Ints, stratum: Ints, left_out: int = 0) -> Faceted:
    """One row a read; ``columns``: the level of each facet, the item first. ``stratum``: as its criterion."""
    varied, alone = {}, []
    for key, code in columns.items():
        if key == "item" or distinct(code) > 1:
            varied[key] = code
        else:
            alone.append(key)
    kept = np.ones(len(score), dtype=bool)
    notes: list[str] = []
    for key in [key for key in varied if key != "item"]:
        kept, gone = _crossed(varied, key, kept, notes)
        if gone:
            del varied[key]
    names, codes = _together({key: code[kept] for key, code in varied.items()}, notes)
    n = int(kept.sum())
    cells = cells_of(codes, unit[kept], score[kept], stratum[kept])
    facets = tuple(_facet(name, cells.codes, place) for place, name in enumerate(names))
    return Faceted(facets, tuple(alone), cells, n, left_out + len(score) - n, tuple(notes))


def _crossed(
    varied: dict[str, Ints], key: str, kept: np.ndarray[tuple[int], np.dtype[np.bool_]], notes: list[str]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], bool]:
    """The reads that can tell the facet from the item, and whether it has to be left out after all."""
    item, code = varied["item"][kept], varied[key][kept]
    if key in ("order", "rater") and _items_a_level(item, code) < SHARED:
        code = joined(np.stack([item, code], axis=1), (0, 1))
        varied[key] = varied[key].copy()
        varied[key][kept] = code
    if (1, 0) in nested(np.stack([code, item], axis=1)):
        if key in ("order", "rater"):
            notes.append(tr(_ONE_AN_ITEM[key]))
            return kept, True
        most = np.bincount(varied[key][kept]).argmax()
        kept = kept & (varied[key] == most)
        notes.append(
            tr("No item was read under two {facets}: only the one with most reads counts.", facets=tr(PLURAL[key]))
        )
        return kept, True
    return kept, distinct(code) < 2


def _items_a_level(item: Ints, code: Ints) -> float:
    """How many other items share the level that a score was made under, on average over scores."""
    # Of each pair of a level and an item one row: the first of those that the cells are numbered by.
    cells = cells_of(np.stack([code, item], axis=1), item, np.zeros(len(item)))
    count = np.bincount(cells.codes[:, 0])
    pairs = cells.codes
    return float((count * (count - 1.0)).sum() / max(1, len(pairs)))


def _together(varied: Mapping[str, Ints], notes: list[str]) -> tuple[list[str], Ints]:
    """Names and codes of the facets; what never varied apart is one facet."""
    names, codes = list(varied), list(varied.values())
    place = 1
    while place < len(names):
        pairs = nested(np.stack(codes, axis=1))
        twin = next((k for k in range(place + 1, len(names)) if (place, k) in pairs and (k, place) in pairs), None)
        if twin is None:
            place += 1
            continue
        first = tr(PLURAL[names[twin]])
        notes.append(
            tr(
                "{first} and {others} never varied apart: what they do is counted together.",
                first=first[0].upper() + first[1:],
                others=listed([tr(PLURAL[p]) for p in names[place].split(" and ")]),
            )
        )
        names[place] = f"{names[place]} and {names.pop(twin)}"
        codes.pop(twin)
    return names, np.stack(codes, axis=1)


def _facet(name: str, codes: Ints, place: int) -> Facet:
    levels, items = distinct(codes[:, place]), distinct(codes[:, 0])
    within = place > 0 and (place, 0) in nested(codes)
    return Facet(name, round(levels / items) if within else levels, within)
