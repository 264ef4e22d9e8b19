"""Candidates of every prompt laid out, with their mean scores under each strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.findings.frame import by_read, compress, dataset_items, ok_rows, read_slots, score_index
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.ranking import ratio
from rubriclab.stats.winners import ArmReads

NO_CANDIDATES = msg(
    "No prompt has two candidates' answers, so there is no ranking to compare. Give the items a prompt and a candidate."
)


@dataclass(frozen=True)
class Table:
    """One data set's prompts. ``arms``: with their means by item; ``codes``: theirs in the run;
    ``reads``: their single reads, a row an item of the run, by code;
    ``cell``: (prompts, candidates) item codes, -1 for none; ``unit``: (prompts,) what is
    resampled: one prompt, with all its criteria."""

    arms: tuple[tuple[Arm, Floats], ...]
    codes: tuple[int, ...]
    reads: Mapping[int, ArmReads]
    cell: Ints
    unit: Ints
    prompt: list[str]
    criterion: list[str | None]
    candidate: list[str]


def prompt_tables(data: RunData) -> Iterator[Table]:
    items = data.items
    if not items["prompt"].notna().any():
        return
    of_axes = [
        (code, arm, judgments)
        for code, arm, judgments in data.by_arm()
        if arm.axis in ("options", "criteria") and len(judgments)
    ]
    arms = [(code, (arm, _item_means(arm, rows, len(items)))) for code, arm, rows in of_axes]
    reads = {code: _reads(arm, rows, len(items)) for code, arm, rows in of_axes}
    of, nothing = dataset_items(data), np.empty(0, dtype=np.int64)
    prompted = items["prompt"].notna().to_numpy()
    for dataset in dict.fromkeys(arm.dataset for _, (arm, _) in arms):
        rows = of.get(dataset, nothing)
        rows = rows[prompted[rows]]
        mine = [(code, pair) for code, pair in arms if pair[0].dataset == dataset]
        table = _layout(items, rows, mine, reads)
        if table is not None:
            yield table


def _item_means(arm: Arm, judgments: pd.DataFrame, n_items: int) -> Floats:
    """Mean readable score of every item of the run, NaN where this arm has none."""
    value = judgments["score"].to_numpy().astype(np.float64)
    ok = ok_rows(judgments) & (score_index(value, arm.scores) >= 0)
    item = judgments["item"].to_numpy()[ok].astype(np.int64)
    count = np.bincount(item, minlength=n_items).astype(np.float64)
    total = np.bincount(item, weights=value[ok], minlength=n_items).astype(np.float64)
    return ratio(total, count)


def _reads(arm: Arm, judgments: pd.DataFrame, n_items: int) -> ArmReads:
    """Every read of every item of the run; only what could be read has a score."""
    item = judgments["item"].to_numpy().astype(np.int64)
    value = judgments["score"].to_numpy().astype(np.float64)
    ok = ok_rows(judgments) & (score_index(value, arm.scores) >= 0)
    present, own = compress(item, n_items)
    slot = read_slots(own, judgments)
    score = by_read(present[own], slot, np.where(ok, value, np.nan), n_items)
    ordering = np.zeros(score.shape, dtype=np.int64)
    ordering[present[own], slot] = judgments["ordering"].to_numpy()
    return ArmReads(score, ordering)


def _layout(
    items: pd.DataFrame, rows: Ints, arms: Sequence[tuple[int, tuple[Arm, Floats]]], reads: Mapping[int, ArmReads]
) -> Table | None:
    """Prompts with two candidates or more, criterion by criterion; None if there are none."""
    prompt, prompt_names = pd.factorize(items["prompt"].to_numpy()[rows])
    criterion, criterion_names = pd.factorize(items["criterion"].to_numpy()[rows])
    group = prompt * (len(criterion_names) + 1) + criterion + 1
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(rows)))
    if not (sizes >= 2).any():
        return None
    line = np.repeat(np.arange(len(starts)), sizes)
    cell = np.full((len(starts), int(sizes.max())), -1, dtype=np.int64)
    cell[line, np.arange(len(rows)) - starts[line]] = rows[order]
    head = order[starts]
    several = sizes >= 2
    names = items["candidate"].to_numpy()
    ids = items["item_id"].to_numpy()
    labels = [str(name) if isinstance(name, str) else str(ids[i]) for i, name in enumerate(names)]
    criteria = [None if c < 0 else str(criterion_names[c]) for c in criterion[head[several]]]
    return Table(
        tuple(pair for _, pair in arms),
        tuple(code for code, _ in arms),
        reads,
        cell[several],
        prompt[head[several]].astype(np.int64),
        [str(prompt_names[p]) for p in prompt[head[several]]],
        criteria,
        labels,
    )


def strategy_pairs(
    arms: Sequence[tuple[Arm, Floats]], strategies: tuple[str, str] | None
) -> Iterator[tuple[tuple[Arm, Floats], tuple[Arm, Floats]]]:
    """Arms that differ in strategy alone, balanced first; or the two strategies asked for."""

    def setting(arm: Arm) -> tuple[Any, ...]:
        return arm.judge, arm.axis, repr(arm.variant.levels), arm.scores, arm.n_positions

    for key in dict.fromkeys(setting(arm) for arm, _ in arms):
        group = [pair for pair in arms if setting(pair[0]) == key]
        if strategies is not None:
            by_name = {pair[0].strategy: pair for pair in group}
            if strategies[0] in by_name and strategies[1] in by_name:
                yield by_name[strategies[0]], by_name[strategies[1]]
            continue
        group.sort(key=lambda pair: pair[0].strategy != "balanced")
        yield from combinations(group, 2)
