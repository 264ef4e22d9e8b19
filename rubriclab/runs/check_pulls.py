"""How often “What pulls?” finds what was planted and accuses a judge without: studies of judges not the lab's own.

The response of every item in every arm comes from the families of :mod:`rubriclab.judges.families`, whose pull
of what stands first differs from arm to arm by what was planted; the arms are those of the sample rubric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from rubriclab.findings.pulls import PullsGroup, pulls
from rubriclab.judges.families import (
    FAMILIES,
    Family,
    Floats,
    People,
    drawn,
    score_chances,
    strength_for,
    unread_chances,
)
from rubriclab.model import STATUSES, Arm, Dataset, Item, Judge, Ordering, Rubric, RunData
from rubriclab.model.rubric_changes import changes_in
from rubriclab.runs.pulls import pulls_plan

MASS = 0.98
_OK, _UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")


@dataclass(frozen=True)
class PullsRates:
    """Over ``runs`` studies: how often any change that does nothing was called an effect, and each planted one
    was; ``covered``: how often all simultaneous intervals held at once."""

    runs: int
    accused: float
    found: Mapping[str, float]
    covered: float


def foreign_pulls(
    family: str,
    rubric: Rubric,
    *,
    items: int,
    shift: float,
    planted: Mapping[str, float] | None = None,
    repeats: int = 1,
    seed: int = 0,
) -> RunData:
    """One study. ``shift``: points by which the order truly moves this family's scores under the rubric as it is;
    ``planted``: by change, the share of that pull which it takes away (1: all of it)."""
    kind = FAMILIES[family]
    rng = np.random.default_rng(seed)
    arms, study_repeats = _arms(rubric, repeats)
    strength = strength_for(family, "options", shift) if shift and not kind.constant else 0.0
    people = drawn(kind, items, places=kind.options, leanings="own", rng=rng)
    frames, orderings = [], dict[Ordering, int]()
    for code, arm in enumerate(arms):
        keys = changes_in(str(arm.variant.get("rubric")))[1]
        left = 1.0 - sum((planted or {}).get(key, 0.0) for key in keys)
        own, n = _under(kind, people, len(arm.scores), rng), len(arm.scores)
        shown = np.stack([np.arange(n), np.arange(n)[::-1]])
        chances = score_chances(replace(kind, options=n), own, shown, strength * left)
        lost = unread_chances(kind, own, np.array([0.0, 1.0]))
        codes = [orderings.setdefault(_ordering(arm, line), len(orderings)) for line in shown.tolist()]
        frames += [_rows(kind, code, arm, codes, chances, lost, rng) for _ in range(study_repeats)]
    table = pd.DataFrame({name: np.concatenate([one[name] for one in frames]) for name in frames[0]})
    table["call"] = np.arange(len(table))
    frame = _items(kind, people)
    planned = tuple(np.bincount(table["arm"], minlength=len(arms)).tolist())
    return RunData("pulls", family, arms, frame, tuple(orderings), table, planned=planned, simulated=True)


def _under(kind: Family, people: People, n: int, rng: np.random.Generator) -> People:
    """The items on a scale of ``n``: each leans its own way whatever the rubric, and a little otherwise under each."""
    at = np.round(np.linspace(0, kind.options - 1, n)).astype(int)
    lean = people.leaning[:, at]
    return replace(people, leaning=lean + 0.3 * kind.leaning * rng.normal(size=lean.shape), taste=people.taste[:, at])


def _items(kind: Family, people: People) -> pd.DataFrame:
    prompt = [f"p{k}" if kind.per_prompt > 1 else None for k in people.prompt]
    items = [f"i{k}" for k in range(len(prompt))]
    return pd.DataFrame({"item_id": items, "dataset": "families", "block": None, "prompt": prompt})


Rows = dict[str, np.ndarray]


def _rows(
    kind: Family, code: int, arm: Arm, orders: list[int], chances: Floats, lost: Floats, rng: np.random.Generator
) -> Rows:
    """One read of every item in both orders."""
    m, n = len(chances), len(arm.scores)
    edges = np.cumsum(chances, axis=-1)[..., :-1]
    score = (rng.random((m, 2))[..., None] > edges).sum(axis=-1)
    unread = (rng.random((m, 2)) < lost).ravel()
    low = arm.scores[0]
    expected = (chances @ (np.arange(n) + low)).ravel() if kind.probabilities else np.full(2 * m, np.nan)
    return {
        "arm": np.full(2 * m, code),
        "item": np.repeat(np.arange(m), 2),
        "ordering": np.tile(orders, m),
        "status": np.where(unread, _UNPARSED, _OK),
        "score": np.where(unread, np.nan, score.ravel() + low),
        "expected": np.where(unread, np.nan, expected),
        "mass": np.where(unread | np.isnan(expected), np.nan, MASS),
    }


def _ordering(arm: Arm, places: list[int]) -> Ordering:
    return Ordering(tuple(arm.scores[place] for place in places))


@lru_cache(maxsize=8)
def _arms(rubric: Rubric, repeats: int) -> tuple[tuple[Arm, ...], int]:
    texts = Dataset("families", tuple(Item(f"i{k}", "Task", "Text") for k in range(8)))
    planned = pulls_plan(texts, rubric, Judge("simulated", "simulated", "simulated"), repeats=repeats)
    return planned.prepared.arms, repeats


def pulls_rates(
    family: str,
    rubric: Rubric,
    *,
    runs: int,
    items: int,
    shift: float = 0.0,
    planted: Mapping[str, float] | None = None,
    repeats: int = 1,
    seed: int = 0,
) -> PullsRates:
    """Rates over ``runs`` studies; coverage is of the changes that truly do nothing.

    A pull of the first place is another share of another scale, so that where there is one, changes of the
    scale do something.
    """
    true = {*(planted or {}), *(("scale-3", "scale-7") if shift else ())}
    accused, covered, found = 0, 0, dict.fromkeys(planted or {}, 0)
    for number in range(runs):
        data = foreign_pulls(
            family, rubric, items=items, shift=shift, planted=planted, repeats=repeats, seed=1000 * seed + number
        )
        groups = pulls(data).groups
        accused += any(_accuses(group, true) for group in groups)
        for group in groups:
            still = [one.effect for one in group.pulls if one.key not in true]
            covered += all(not (one.low > 0 or one.high < 0) for one in still)
            for one in group.pulls:
                if one.key in found:
                    found[one.key] += one.effect.verdict == "effect"
    return PullsRates(runs, accused / runs, {key: n / runs for key, n in found.items()}, covered / runs)


def _accuses(group: PullsGroup, true: set[str]) -> bool:
    return any(
        shown.verdict == "effect"
        for one in group.pulls
        if one.key not in true
        for shown in (one.effect, one.spread)
        if shown is not None
    )
