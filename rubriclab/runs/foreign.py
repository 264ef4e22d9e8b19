"""Studies of the families of judges, as a run's judgments at once: no call, no prompt, no store.

The arms and the orders of every item are those that the lab's own plan makes for a study of the
same design; only the asking is left out. See :mod:`rubriclab.judges.families` for the judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.judges.families import (
    FAMILIES,
    Family,
    Floats,
    Ints,
    Leanings,
    People,
    Question,
    drawn,
    pair_chances,
    placed_chances,
    score_chances,
    unread_chances,
)
from rubriclab.model import (
    STATUSES,
    Arm,
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    Ordering,
    Rubric,
    RunData,
    ScoreOption,
    Strategy,
    Study,
)
from rubriclab.study.plan import plan

CRITERIA = ("Clarity", "Depth", "Tone", "Wit")
Bools = NDArray[np.bool_]
MASS = 0.98
_OK, _UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")

DESIGNS: Mapping[str, Design] = {
    "1 fixed against 10 balanced": Design(strategies=(Strategy("balanced", reads=10), Strategy("fixed", reads=1))),
    "10 fixed against 10 balanced": Design(strategies=(Strategy("balanced", reads=10), Strategy("fixed", reads=10))),
    "pairs, both orders": Design(axis="pairwise", strategies=(Strategy("balanced"),)),
    "criteria": Design(axis="criteria", strategies=(Strategy("balanced"), Strategy("fixed"))),
    "prompt forms": Design(
        strategies=(Strategy("fixed", reads=3), Strategy("descending", reads=3)), factors={"ids": ("arabic", "letters")}
    ),
    "pairs, one order twice": Design(axis="pairwise", strategies=(Strategy("balanced"), Strategy("fixed"))),
}
"""The designs that what the lab says is calibrated under."""


@dataclass(frozen=True)
class Layout:
    """Every item's reads, the same for all: by arm the codes of its orders, reads and repeats."""

    arms: tuple[Arm, ...]
    orderings: tuple[Ordering, ...]
    order: tuple[Ints, ...]
    read: tuple[Ints, ...]
    repeat: tuple[Ints, ...]


def foreign_run(
    family: str, design: str, *, items: int, strength: float = 0.0, leanings: Leanings = "own", seed: int = 0
) -> RunData:
    """One study of ``items`` items (pairs; texts for criteria) judged by one of FAMILIES.

    ``strength``: the planted pull of what stands first (``families.strength_for`` finds the one
    of a given true shift). Another ``seed`` draws other items and other replies.
    """
    kind, asked = FAMILIES[family], DESIGNS[design]
    rng = np.random.default_rng(seed)
    layout = _layout(design, kind.options)
    places = {"pairwise": 2, "criteria": len(CRITERIA)}.get(asked.axis, kind.options)
    texts = items * (len(CRITERIA) if asked.axis == "criteria" else 1)
    people = drawn(kind, texts, places=places, leanings=leanings, rng=rng)
    rows = _ROWS[asked.axis](kind, people, layout, strength, rng)
    frame, probabilities = rows
    return RunData(
        run=f"{family}-{seed}",
        name=f"{family}, {design}",
        arms=layout.arms,
        items=_items(asked.axis, kind, people, rng),
        orderings=layout.orderings,
        judgments=frame,
        probabilities=probabilities,
        planned=tuple(len(order) * items for order in layout.order),
        simulated=True,
    )


def axis_of(design: str) -> Question:
    """What the planted shift of a design is about."""
    axis = DESIGNS[design].axis
    return axis if axis in ("criteria", "pairwise") else "options"


@lru_cache(maxsize=64)
def _layout(design: str, n: int) -> Layout:
    """The reads of one item as the lab plans them, from a study of one prompt."""
    asked = DESIGNS[design]
    names = CRITERIA if asked.axis == "criteria" else ("quality",)
    scale = tuple(ScoreOption(s) for s in range(1, n + 1))
    if asked.axis == "criteria":
        given = tuple(Item(name, "Task", "Text", criterion=name, block="one") for name in names)
    else:
        given = tuple(Item(c, "Task", c, prompt="one", candidate=c) for c in ("a", "b"))
    study = Study(
        design,
        Dataset("families", given, Rubric("families", tuple(Criterion(c, scale) for c in names))),
        (Judge("simulated", "simulated", "simulated"),),
        replace(asked, tie=True),
    )
    planned = plan(study)
    calls = [call for call in planned.calls() if call.items[0] == 0 or asked.axis == "criteria"]
    orderings = tuple(dict.fromkeys(call.ordering for call in calls))
    by_arm = [[call for call in calls if call.arm == arm] for arm in range(len(planned.arms))]
    return Layout(
        planned.arms,
        orderings,
        tuple(np.array([orderings.index(c.ordering) for c in of]) for of in by_arm),
        tuple(np.array([c.read for c in of]) for of in by_arm),
        tuple(np.array([c.repeat for c in of]) for of in by_arm),
    )


# ---------------------------------------------------------------- judgments, axis by axis

Rows = tuple[pd.DataFrame, Floats | None]


def _option_rows(family: Family, people: People, layout: Layout, strength: float, rng: np.random.Generator) -> Rows:
    n, m = family.options, len(people.quality)
    shown = np.array([ordering.shown for ordering in layout.orderings]) - 1
    chances = score_chances(family, people, shown, strength)
    lost = unread_chances(family, people, (shown[:, 0] > shown[:, -1]).astype(float))
    place = np.argsort(shown, axis=1) + 1
    frames, probable = [], []
    for arm, order in enumerate(layout.order):
        mine = chances[:, order]
        score = _draw(mine, rng)
        frame = _frame(layout, arm, m, rng.random(score.shape) < lost[:, order])
        frame["score"] = (score + 1.0).ravel()
        frame["position"] = place[order[None, :], score].ravel()
        if family.probabilities:
            frame["expected"] = (mine @ np.arange(1.0, n + 1)).ravel()
            frame["mass"] = MASS
            by_place = np.take_along_axis(mine, np.broadcast_to(shown[order], mine.shape), axis=2)
            probable.append(by_place.reshape(-1, n))
        frames.append(frame)
    return _together(frames, probable)


def _pair_rows(family: Family, people: People, layout: Layout, strength: float, rng: np.random.Generator) -> Rows:
    m = len(people.quality)
    chances = pair_chances(family, people, strength)
    turned = np.array([ordering.shown[0] == "b" for ordering in layout.orderings])
    lost = unread_chances(family, people, turned.astype(float))
    frames = []
    for arm, order in enumerate(layout.order):
        position = _draw(chances[:, turned[order].astype(int)], rng)
        frame = _frame(layout, arm, m, rng.random(position.shape) < lost[:, order])
        frame["position"] = position.ravel()
        frames.append(frame)
    return _together(frames, [])


def _criteria_rows(family: Family, people: People, layout: Layout, strength: float, rng: np.random.Generator) -> Rows:
    c = len(CRITERIA)
    m = len(people.quality) // c
    chances = placed_chances(family, people, strength).reshape(m, c, c, family.options)
    shown = np.array([[CRITERIA.index(str(x)) for x in o.shown] for o in layout.orderings])
    place = np.argsort(shown, axis=1)
    lost = unread_chances(family, people, np.zeros(1)).reshape(m, c, 1)
    frames = []
    for arm, order in enumerate(layout.order):
        # (texts, reads, criteria): the place at which each criterion is read, and its score.
        at = place[order]
        mine = chances[:, np.arange(c), at]
        score = _draw(mine, rng)
        unread = rng.random(score.shape) < lost[:, None, :, 0]
        frame = _frame(layout, arm, m, unread, per_call=c)
        frame["score"] = (score + 1.0).ravel()
        frame["position"] = np.broadcast_to(at + 1, score.shape).ravel()
        frames.append(frame)
    return _together(frames, [])


_ROWS = {"options": _option_rows, "pairwise": _pair_rows, "criteria": _criteria_rows}


def _draw(chances: Floats, rng: np.random.Generator) -> Ints:
    """One outcome of each row of chances (..., n)."""
    edges = np.cumsum(chances, axis=-1)[..., :-1]
    return np.asarray((rng.random(chances.shape[:-1])[..., None] > edges).sum(axis=-1))


def _frame(layout: Layout, arm: int, units: int, lost: Bools, *, per_call: int = 1) -> pd.DataFrame:
    """An arm's rows, unit by unit, but for what was answered; ``lost`` (units, reads[, items])."""
    reads = len(layout.order[arm])
    each = np.arange(units * reads)

    def spread(values: Ints) -> Ints:
        return np.repeat(values, per_call)

    item = np.repeat(np.arange(units), reads)
    own = spread(item) * per_call + np.tile(np.arange(per_call), len(each))
    return pd.DataFrame(
        {
            "arm": arm,
            "item": own,
            "ordering": spread(np.tile(layout.order[arm], units)),
            "read": spread(np.tile(layout.read[arm], units)),
            "repeat": spread(np.tile(layout.repeat[arm], units)),
            "call": spread(each),
            "status": np.where(lost.ravel(), _UNPARSED, _OK),
            "score": np.nan,
            "position": -1,
            "expected": np.nan,
            "mass": np.nan,
        }
    )


def _together(frames: list[pd.DataFrame], probable: list[Floats]) -> Rows:
    """The arms' rows as one table; nothing is known of what could not be read."""
    calls = 0
    for frame in frames:
        frame["call"] += calls
        calls = int(frame["call"].iloc[-1]) + 1
    whole = pd.concat(frames, ignore_index=True)
    unread = (whole["status"] != _OK).to_numpy()
    whole.loc[unread, ["score", "expected", "mass"]] = np.nan
    whole.loc[unread, "position"] = -1
    if not probable:
        return whole, None
    probabilities = np.concatenate(probable)
    probabilities[unread] = np.nan
    return whole, probabilities


# ---------------------------------------------------------------- items


def _items(axis: str, family: Family, people: People, rng: np.random.Generator) -> pd.DataFrame:
    """The items with three raters each, who see the quality with an error of half a step."""
    m, n = len(people.quality), family.options
    number = np.arange(m)
    text = number // len(CRITERIA)
    seen = 1.0 + (n - 1) * people.quality[:, None] + rng.normal(0.0, 0.5, (m, 3))
    ratings = np.clip(np.rint(seen), 1, n)
    if axis == "pairwise":
        ratings = ratings[:, :0]
    grouped = axis == "options" and family.per_prompt > 1
    # Pairs that lean together answer one prompt, and the run says so.
    asked = people.prompt if family.shared else number
    return pd.DataFrame(
        {
            "item_id": [f"i{k}" for k in number],
            "dataset": "families",
            "criterion": [CRITERIA[k % len(CRITERIA)] if axis == "criteria" else None for k in number],
            "block": [f"t{k}" if axis == "criteria" else None for k in text],
            "prompt": [f"p{k}" if grouped else None for k in people.prompt]
            if axis != "pairwise"
            else [f"p{k}" for k in asked],
            "candidate": [f"c{k % family.per_prompt}" if grouped else None for k in number],
            "task": None,
            "human": ratings.mean(axis=1) if axis != "pairwise" else np.nan,
            "raters": [tuple(row) for row in ratings.tolist()],
            "rater_names": [("r1", "r2", "r3")[: ratings.shape[1]]] * m,
            "n_chars": 0,
            "candidates": [("a", "b") if axis == "pairwise" else () for _ in number],
        }
    )
