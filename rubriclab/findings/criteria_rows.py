"""The scores of criteria asked for in one call, as codes: texts, criteria and positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.frame import by_read, compress, ok_rows, read_slots, score_index, units
from rubriclab.model import Arm, RunData
from rubriclab.stats.inference import Floats, Ints, distinct


@dataclass(frozen=True)
class Layout:
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
    def of(cls, data: RunData) -> Layout:
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
        return units(data.items, "block").code
    item = data.judgments["item"].to_numpy().astype(np.int64)
    calls, call = distinct(data.judgments["call"].to_numpy())
    first = np.full(len(calls), len(data.items), dtype=np.int64)
    np.minimum.at(first, call, item)
    text = np.arange(len(data.items), dtype=np.int64)
    text[item] = first[call]
    return text


@dataclass(frozen=True)
class Rows:
    """One arm's readable rows, and its reads as an (items, K) matrix with NaN for unread.

    ``text``: 0..texts-1 within the arm, ``text_code`` maps them to the run's; ``unit``: (texts,)
    what is resampled. ``item``, ``order``, ``call``: of each readable row, the item
    within the arm and the codes of its ordering and its call. ``sums`` and ``counts`` of scores: (texts, criteria, positions).
    """

    code: int
    arm: Arm
    names: tuple[str, ...]
    text_code: Ints
    unit: Ints
    text: Ints
    item: Ints
    order: Ints
    call: Ints
    criterion: Ints
    position: Ints
    before: Ints
    value: Floats
    asked: int
    sums: Floats
    counts: Floats
    matrix: Floats
    item_code: Ints
    item_text: Ints
    item_criterion: Ints

    @property
    def texts(self) -> int:
        return len(self.text_code)


def arm_rows(data: RunData, layout: Layout, code: int, arm: Arm, judgments: pd.DataFrame) -> Rows:
    item_all = judgments["item"].to_numpy().astype(np.int64)
    ordering = judgments["ordering"].to_numpy().astype(np.int64)
    value = judgments["score"].to_numpy().astype(np.float64)
    item_code, item = compress(item_all, len(data.items))
    present, criterion_of = compress(layout.criterion[item_code], len(layout.names))
    text_codes, text_of = compress(layout.text[item_code], len(data.items))
    renumber = np.full(len(layout.names) + 1, len(present), dtype=np.int64)
    renumber[present] = np.arange(len(present))
    # What an ordering says of a criterion, by one code of both.
    asked_of = ordering * layout.place.shape[1] + layout.criterion[item_code][item]
    position = layout.place.ravel()[asked_of]
    readable = ok_rows(judgments) & (score_index(value, arm.scores) >= 0) & (position >= 0)
    ok = slice(None) if bool(readable.all()) else readable  # all are, mostly: then nothing is copied
    shape = (len(text_codes), len(present), arm.n_positions)
    text, criterion = text_of[item[ok]], criterion_of[item[ok]]
    cell = (text * shape[1] + criterion) * shape[2] + position[ok]
    size = int(np.prod(shape))
    return Rows(
        code=code,
        arm=arm,
        names=tuple(layout.names[c] for c in present),
        text_code=text_codes,
        unit=_units(data, item_code, text_of, len(text_codes)),
        text=text,
        item=item[ok],
        order=ordering[ok],
        call=judgments["call"].to_numpy().astype(np.int64)[ok],
        criterion=criterion,
        position=position[ok],
        before=renumber[layout.before.ravel()[asked_of[ok]]],
        value=value[ok],
        asked=len(judgments),
        sums=np.bincount(cell, weights=value[ok], minlength=size).reshape(shape).astype(np.float64),
        counts=np.bincount(cell, minlength=size).reshape(shape).astype(np.float64),
        matrix=by_read(item, read_slots(item, judgments), np.where(readable, value, np.nan), len(item_code)),
        item_code=item_code,
        item_text=text_of,
        item_criterion=criterion_of,
    )


def _units(data: RunData, item_code: Ints, text: Ints, texts: int) -> Ints:
    """What is resampled for each text: its unit where that holds whole texts, else the text."""
    everyone = units(data.items, data.unit)
    code = np.arange(texts, dtype=np.int64)
    if everyone.kind != "item":
        code[text] = everyone.code[item_code]
    return code


@dataclass(frozen=True)
class ItemSums:
    """One arm's readable scores by item and place, for what sets arms side by side.

    ``item_code``, ``text``, ``criterion`` (index into ``names``): (items,), a text being a code
    of the run. ``sums`` and ``counts`` of scores: (items, positions); ``squares``: sums of squared
    scores, (items,). ``reads``: the most an item was asked for.
    """

    names: tuple[str, ...]
    item_code: Ints
    text: Ints
    criterion: Ints
    sums: Floats
    counts: Floats
    squares: Floats
    reads: int


def item_sums(data: RunData, arm: Arm, judgments: pd.DataFrame) -> ItemSums:
    """The scores of one criteria-axis ``arm``, whose rows ``judgments`` are, by item and place."""
    layout = Layout.of(data)
    item_all = judgments["item"].to_numpy().astype(np.int64)
    ordering = judgments["ordering"].to_numpy().astype(np.int64)
    value = judgments["score"].to_numpy().astype(np.float64)
    item_code, item = compress(item_all, len(data.items))
    position = layout.place[ordering, layout.criterion[item_all]]
    ok = ok_rows(judgments) & (score_index(value, arm.scores) >= 0) & (position >= 0)
    shape = (len(item_code), arm.n_positions)
    cell, size = item[ok] * shape[1] + position[ok], int(np.prod(shape))
    sums = np.bincount(cell, weights=value[ok], minlength=size).astype(np.float64)
    counts = np.bincount(cell, minlength=size).astype(np.float64)
    return ItemSums(
        names=layout.names,
        item_code=item_code,
        text=layout.text[item_code],
        criterion=layout.criterion[item_code],
        sums=sums.reshape(shape),
        counts=counts.reshape(shape),
        squares=np.bincount(item[ok], value[ok] ** 2, shape[0]).astype(np.float64),
        reads=int(np.bincount(item).max(initial=0)),
    )
