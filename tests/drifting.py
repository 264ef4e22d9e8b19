"""A judge at two times, planted: what changes is its level, its orders, its noise, or the data alone.

The judges are families of ``rubriclab.judges.families`` (latent traits, choices with tastes), none of them
the lab's own simulated judge. Exact chances of every score give what is true.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from rubriclab.findings.drift import Held
from rubriclab.findings.drift_reads import Paired, Reads, contrasts_of
from rubriclab.judges.families import FAMILIES, Family, People, drawn, score_chances
from rubriclab.model import Arm, Ordering, RunData, designs
from rubriclab.model.study import Strategy
from rubriclab.stats.drift import Cells, Split, split
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
    score = draw(chances, rng).astype(np.int64) - 1
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


def draw(chances: Floats, rng: np.random.Generator) -> Floats:
    """A score (from 1 on) of each row of chances (..., n)."""
    edges = np.cumsum(chances, axis=-1)[..., :-1]
    return np.asarray((rng.random(chances.shape[:-1])[..., None] > edges).sum(axis=-1) + 1.0)


def cells_of(judge: str, plant: Plant, *, items: int, rng: np.random.Generator) -> Paired:
    """What ``paired`` makes of two runs of these items, drawn at once: ten more usual orders then, one more now."""
    family = JUDGES[judge]
    people = drawn(family, items, places=family.options, leanings="own", rng=rng)
    later = people_now(family, people, plant, rng)
    return _paired(family, people, (family, people, 0.0), (now_family(family, plant), later, plant.pull), rng)


Side = tuple[Family, People, float]


def _paired(family: Family, people: People, then: Side, now: Side, rng: np.random.Generator) -> Paired:
    n, shown = family.options, _shown(family.options)
    arm = layout(n, 1)[0][0]
    orders = tuple(line.shown for line in layout(n, 1)[1])
    names, by_order, factors = contrasts_of(arm, orders)
    grid: dict[str, Floats] = {}
    for when, (kind, who, pull), more in (("then", then, 10), ("now", now, 1)):
        chances = score_chances(kind, who, shown, pull)
        reads = draw(chances, rng)
        usual = np.column_stack([reads[:, :1], draw(np.repeat(chances[:, :1], more, axis=1), rng)])
        if family.probabilities:
            reads = chances @ np.arange(1.0, n + 1)
            usual = np.repeat(reads[:, :1], more + 1, axis=1)
        k = usual.shape[1]
        gap = np.abs(usual[:, :, None] - usual[:, None, :]).sum(axis=(1, 2)) / (k * (k - 1))
        grid[when] = np.column_stack([usual.mean(axis=1), reads[:, 1:]])
        grid[f"first_{when}"] = reads
        for name, values in (("gap", gap), ("noise", usual.var(axis=1, ddof=1))):
            grid[f"{name}_{when}"] = np.full(reads.shape, np.nan)
            grid[f"{name}_{when}"][:, 0] = values
    unit = np.unique(people.prompt, return_inverse=True)[1] if family.per_prompt > 1 else np.arange(len(people.prompt))
    cells = Cells(
        **grid, predictors=by_order[None, :, :], factors=factors, unit=unit, n_units=int(unit.max()) + 1, step=1.0
    )
    item, kind_of = np.arange(len(unit)), "prompt" if family.per_prompt > 1 else "item"
    return Paired(
        cells, names, item, kind_of, len(unit) * len(shown), len(shown), 0, 0, (0.0, 0.0), family.probabilities
    )


def _shown(n: int) -> Ints:
    return np.array([line.shown for line in layout(n, 1)[1]]) - 1


def held_of(judge: str, both: Paired, *, with_new: bool = False) -> Held:
    """What the answers are made of, without the frames of the two runs."""
    nothing = np.zeros(0)
    data = RunData("then", "then", (), pd.DataFrame(), (), pd.DataFrame({"call": []}))
    arm = layout(JUDGES[judge].options, 1)[0][0]
    reads = Reads(data, arm, nothing.astype(np.int64), nothing.astype(np.int64), (), nothing, nothing)
    return Held(data, replace(data, run="now"), reads, both, with_new)


def split_of(
    judge: str, plant: Plant, *, items: int, newer: int, anchors: int, rng: np.random.Generator
) -> tuple[Held, Split, Split]:
    """Old data then, anchors among them and newer data now: (for the answers, the split at 95 %, at all at once)."""
    family = JUDGES[judge]
    kind, each = now_family(family, plant), family.per_prompt
    people = drawn(family, items, places=family.options, leanings="own", rng=rng)
    start = each * rng.permutation(items // each)[: anchors // each]
    chosen = np.sort((start[:, None] + np.arange(each)).ravel())
    shown = _shown(family.options)
    few = People(*(getattr(people, name)[chosen] for name in ("quality", "leaning", "taste", "difference", "prompt")))
    later = people_now(family, few, plant, rng)
    both = _paired(family, few, (family, few, 0.0), (kind, later, plant.pull), rng)
    old = _means(family, score_chances(family, people, shown, 0.0), rng)
    # The anchors' own reads are among those of the old data.
    old[chosen] = both.cells.then.mean(axis=1)
    fresh = people_now(
        family,
        drawn(family, newer, places=family.options, leanings="own", rng=rng),
        replace(plant, level=plant.level + plant.data),
        rng,
    )
    new = _means(family, score_chances(kind, fresh, shown, plant.pull), rng)
    unit = people.prompt if each > 1 else np.arange(items)
    newer_unit = (fresh.prompt if each > 1 else np.arange(newer)) + int(unit.max()) + 1
    held = held_of(judge, both, with_new=True)
    cells = both.cells._replace(unit=unit[chosen], n_units=int(newer_unit.max()) + 1)
    one, two = (
        split(cells, (old, unit), (new, newer_unit), n_units=int(newer_unit.max()) + 1, confidence=level)
        for level in (0.95, held.confidence)
    )
    return held, one, two


def _means(family: Family, chances: Floats, rng: np.random.Generator) -> Floats:
    if family.probabilities:
        return np.asarray((chances @ np.arange(1.0, family.options + 1)).mean(axis=1))
    return np.asarray(draw(chances, rng).mean(axis=1))


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
        _shares(before, after, points, noisy=not family.probabilities),
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


def _shares(before: Floats, after: Floats, points: Floats, *, noisy: bool) -> tuple[float, ...]:
    """Of the expected square of one read now less one then, by level, items, order and noise (of expected scores: none)."""
    change = (after - before) @ points
    noise = noisy * sum(part @ points**2 - (part @ points) ** 2 for part in (before, after))
    inside = change.var(axis=1, ddof=1)
    k = change.shape[1]
    level = float(change.mean()) ** 2
    items = float((change.mean(axis=1) ** 2 - inside / k).mean()) - level
    usual = float(noise[:, 0].mean())
    parts = np.array([level, items, float(inside.mean() + noise.mean()) - usual, usual])
    return tuple((parts / parts.sum()).tolist())
