"""A judge at two times, planted: what changes is its level, its orders, its noise, or the data alone.

The judges are families of ``rubriclab.judges.families`` (latent traits, choices with tastes), none of them
the lab's own simulated judge. Exact chances of every score give what is true.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from rubriclab.judges.families import FAMILIES, Family, People, drawn, score_chances
from rubriclab.model import Arm, Ordering, RunData, designs
from rubriclab.model.study import Strategy
from rubriclab.stats.inference import Floats, Ints

JUDGES = {
    "latent trait": FAMILIES["latent trait"],
    "mixed logit": FAMILIES["mixed logit"],
    "clustered": FAMILIES["clustered"],
    "middling": Family("a latent trait in the middle of the scale", spread=0.3, leaning=0.5, quality=(8.0, 8.0)),
    "steady": Family("hardly any noise, most reads the same again", spread=0.05, leaning=0.15, quality=(3.0, 2.0)),
}


@dataclass(frozen=True)
class Plant:
    """What is another now: ``level`` and ``pull`` (of what stands first) in steps or log-odds, ``noise`` times as much.

    ``each``: sd of single items' own changes, in steps. ``data``: how much better newer texts are, in steps.
    """

    level: float = 0.0
    pull: float = 0.0
    noise: float = 1.0
    each: float = 0.0
    data: float = 0.0


@lru_cache(maxsize=8)
def layout(n: int, fixed: int) -> tuple[tuple[Arm, ...], tuple[Ordering, ...], Ints, Ints, Ints]:
    """Arms, orderings, and of each read of an item its arm, ordering and number: balanced, then ``fixed`` usual ones."""
    scores = tuple(range(1, n + 1))
    shown = designs.orderings(Strategy("balanced"), scores)
    labels = tuple(map(str, scores))
    arms = tuple(Arm("judge", "texts", name, "options", scores, n) for name in ("balanced", "fixed"))
    orderings = tuple(Ordering(line, tuple(str(s) for s in line)) for line in shown)
    assert orderings[0].labels == labels
    order = np.concatenate([np.arange(len(shown)), np.zeros(fixed, dtype=np.int64)])
    arm = np.repeat([0, 1], [len(shown), fixed])
    return arms, orderings, arm, order, np.concatenate([np.arange(len(shown)), np.arange(fixed)])


def now_family(family: Family, plant: Plant) -> Family:
    return replace(family, spread=family.spread * (plant.noise if family.latent else 1.0 / plant.noise))


def people_now(family: Family, people: People, plant: Plant, rng: np.random.Generator) -> People:
    own = plant.each * rng.normal(size=len(people.quality))
    return replace(people, quality=people.quality + (plant.level + own) / (family.options - 1))


def run(
    name: str,
    family: Family,
    people: People,
    *,
    strength: float,
    fixed: int,
    rng: np.random.Generator,
    data: str = "old",
) -> RunData:
    """One run of these items: every order once, the usual one ``fixed`` times more."""
    arms, orderings, arm, order, read = layout(family.options, fixed)
    n, items = family.options, len(people.quality)
    shown = np.array([line.shown for line in orderings]) - 1
    chances = score_chances(family, people, shown, strength)[:, order]
    edges = np.cumsum(chances, axis=-1)[..., :-1]
    score = (rng.random(chances.shape[:-1])[..., None] > edges).sum(axis=-1)
    place = np.argsort(shown, axis=1)[order[None, :], score] + 1
    reads = len(order)
    expected = (chances @ np.arange(1.0, n + 1)).ravel() if family.probabilities else np.nan
    frame = pd.DataFrame(
        {
            "arm": np.tile(arm, items),
            "item": np.repeat(np.arange(items), reads),
            "ordering": np.tile(order, items),
            "read": np.tile(read, items),
            "repeat": 0,
            "call": np.arange(items * reads),
            "status": 0,
            "score": score.ravel() + 1.0,
            "position": place.ravel(),
            "expected": expected,
            "mass": np.nan,
        }
    )
    grouped = family.per_prompt > 1
    number = [f"{data}{k}" for k in range(items)]
    table = pd.DataFrame(
        {
            "item_id": number,
            "dataset": "texts",
            "criterion": None,
            "block": None,
            "prompt": [f"{data}-p{k}" if grouped else None for k in people.prompt],
            "candidate": None,
            "task": None,
            "human": np.nan,
            "raters": [()] * items,
            "rater_names": [()] * items,
            "n_chars": 100,
            "candidates": [()] * items,
        }
    )
    return RunData(name, name, arms, table, orderings, frame, simulated=True)


def anchors_of(data: RunData, chosen: Ints) -> RunData:
    """The run's judgments about some of its items alone, these numbered anew."""
    rank = np.full(len(data.items), -1)
    rank[chosen] = np.arange(len(chosen))
    rows = data.judgments[rank[data.judgments["item"].to_numpy()] >= 0]
    frame = rows.assign(item=rank[rows["item"].to_numpy()]).reset_index(drop=True)
    return replace(data, items=data.items.iloc[chosen].reset_index(drop=True), judgments=frame)


def two_times(
    judge: str, plant: Plant, *, items: int, seed: int, fixed: int = 1, fixed_then: int = 10, pull: float = 0.0
) -> tuple[RunData, RunData]:
    """The same items then and now."""
    family, rng = JUDGES[judge], np.random.default_rng(seed)
    people = drawn(family, items, places=family.options, leanings="own", rng=rng)
    then = run("then", family, people, strength=pull, fixed=fixed_then, rng=rng)
    later = people_now(family, people, plant, rng)
    now = run("now", now_family(family, plant), later, strength=pull + plant.pull, fixed=fixed, rng=rng)
    return then, now


def with_newer(
    judge: str, plant: Plant, *, items: int, newer: int, anchors: int, seed: int
) -> tuple[RunData, RunData, RunData]:
    """(a run of all items then, anchors among them now, other data now)."""
    family, rng = JUDGES[judge], np.random.default_rng(seed)
    people = drawn(family, items, places=family.options, leanings="own", rng=rng)
    then = run("then", family, people, strength=0.0, fixed=1, rng=rng)
    later = people_now(family, people, plant, rng)
    chosen = np.sort(rng.permutation(items)[:anchors])
    kind = now_family(family, plant)
    now = anchors_of(run("now", kind, later, strength=plant.pull, fixed=1, rng=rng), chosen)
    fresh = drawn(family, newer, places=family.options, leanings="own", rng=rng)
    moved = people_now(family, fresh, replace(plant, level=plant.level + plant.data), rng)
    new = run("new", kind, moved, strength=plant.pull, fixed=1, rng=rng, data="new")
    return then, now, new


@dataclass(frozen=True)
class Truth:
    """In points: the level's change, the change of spread, of each contrast, of the noise; the data's part.

    ``shares``: of the squared change of one read: level, items, order, noise (of the usual order, which is read twice).
    """

    level: float
    spread: float
    contrasts: Floats
    noise: float
    data: float
    shares: tuple[float, ...]


@lru_cache(maxsize=128)
def truth(judge: str, plant: Plant, *, pull: float = 0.0, population: int = 20_000) -> Truth:
    """From exact chances of many items."""
    family, rng = JUDGES[judge], np.random.default_rng(7)
    people = drawn(family, population, places=family.options, leanings="own", rng=rng)
    later = people_now(family, people, plant, rng)
    kind = now_family(family, plant)
    newer = people_now(family, people, replace(plant, level=plant.level + plant.data), np.random.default_rng(8))
    shown = np.array([line.shown for line in layout(family.options, 1)[1]]) - 1
    points = np.arange(1.0, family.options + 1)
    before, after = score_chances(family, people, shown, pull), score_chances(kind, later, shown, pull + plant.pull)
    fresh = score_chances(kind, newer, shown, pull + plant.pull)
    one, two = before @ points, after @ points
    gap = np.abs(points[:, None] - points[None, :])
    apart = [float(np.einsum("is,st,it->i", part[:, 0], gap, part[:, 0]).mean()) for part in (before, after)]
    if family.probabilities:
        apart = [0.0, 0.0]
    change = (two - one).mean(axis=0)
    x = points[shown]
    x = x - x.mean(axis=0)
    slope = (x * (change - change.mean())[:, None]).sum(axis=0) / (x**2).sum(axis=0)
    return Truth(
        float(change.mean()),
        _spread(two) - _spread(one),
        np.append(slope * (family.options - 1.0), _line(shown, change)),
        apart[1] - apart[0],
        float((fresh @ points).mean() - two.mean()),
        _shares(before, after, points),
    )


def _line(shown: Ints, change: Floats) -> float:
    """Twice the slope of the change on how far an order ascends."""
    n = shown.shape[1]
    rank = np.arange(n) - (n - 1) / 2
    up = (shown - (n - 1) / 2) @ rank / (rank @ rank)
    up = up - up.mean()
    return float(2.0 * (up @ (change - change.mean())) / (up @ up))


def _spread(expected: Floats) -> float:
    """Sd over items of what they have in all orders, (items, orders) of exact means."""
    centred = expected - expected.mean(axis=0)
    k = expected.shape[1]
    within = centred.var(axis=1, ddof=1).mean()
    return float(np.sqrt(centred.mean(axis=1).var(ddof=1) - within / k))


def _shares(before: Floats, after: Floats, points: Floats) -> tuple[float, ...]:
    """Of the expected square of one read now less one then, by level, items, order and noise."""
    change = (after - before) @ points
    noise = sum(part @ points**2 - (part @ points) ** 2 for part in (before, after))
    inside = change.var(axis=1, ddof=1)
    k = change.shape[1]
    level = float(change.mean()) ** 2
    items = float((change.mean(axis=1) ** 2 - inside / k).mean()) - level
    usual = float(noise[:, 0].mean())
    parts = np.array([level, items, float(inside.mean() + noise.mean()) - usual, usual])
    return tuple((parts / parts.sum()).tolist())
