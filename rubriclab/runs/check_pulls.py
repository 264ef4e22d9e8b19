"""How often “What pulls?” finds what was planted and accuses a judge without: studies of judges not the lab's own.

The response of every item in every arm comes from the families of :mod:`rubriclab.judges.families`, whose pull
of what stands first differs from arm to arm by what was planted; the arms are those of the sample rubric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.datasets.sample import sample_rubrics
from rubriclab.findings.check import ANY_CHANGE, ANY_OF, Check, Quantity, rate_error
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
from rubriclab.model.wording import many
from rubriclab.runs.check_rates import About
from rubriclab.runs.pulls import pulls_plan
from rubriclab.stats.shift import MIN_UNITS

MASS = 0.98
SCALE = 5
"""Score options of the rubric that is changed: a family of another scale is asked, but nothing is planted in it."""
SCALES = ("scale-3", "scale-7")
SHIFTS = (0.2, 0.4, 0.8)
"""Points between ascending and descending order that a plant makes: small, middle and large."""
PULLS_PLANTED: Mapping[str, tuple[str, ...]] = {
    "description length": ("even-lengths",),
    "label": ("labels-letters", "labels-words", "labels-roman"),
    "one wording": ("neutral-5",),
}
"""What is planted, and the changes that take it away and should be called an effect."""
ALSO_TAKES: Mapping[str, tuple[str, ...]] = {
    "description length": ("no-descriptions",),
    "one wording": ("no-descriptions",),
}
"""Other changes that take it away as well; none can be made together with those above."""
_OK, _UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")


@dataclass(frozen=True)
class PullsRates:
    """Over ``runs`` studies: how often any change that does nothing was called an effect, and each planted one
    was; ``any_found``: any of these; ``covered``: how often all simultaneous intervals held at once."""

    runs: int
    accused: float
    found: Mapping[str, float]
    any_found: float
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
    scale do something; so do they, with or without one, to what the order does to single items.
    """
    true = {*(planted or {}), *(SCALES if shift else ())}
    accused, covered, found, any_found = 0, 0, dict.fromkeys(planted or {}, 0), 0
    for number in range(runs):
        drawn_by = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        data = foreign_pulls(family, rubric, items=items, shift=shift, planted=planted, repeats=repeats, seed=drawn_by)
        (group,) = pulls(data).groups
        accused += _accuses(group, true)
        still = [one.effect for one in group.pulls if one.key not in true]
        covered += all(not (one.low > 0 or one.high < 0) for one in still)
        shown = {one.key for one in group.pulls if one.key in found and one.effect.verdict == "effect"}
        any_found += bool(shown)
        for key in shown:
            found[key] += 1
    shares = {key: n / runs for key, n in found.items()}
    return PullsRates(runs, accused / runs, shares, any_found / runs, covered / runs)


def _accuses(group: PullsGroup, true: set[str]) -> bool:
    moved = any(one.effect.verdict == "effect" for one in group.pulls if one.key not in true)
    spread = (one.spread for one in group.pulls if one.key not in true | set(SCALES))
    return moved or any(one is not None and one.verdict == "effect" for one in spread)


# ---------------------------------------------------------------- as checks


def pulls_checks(
    family: str, *, studies: int, items: int, plant: str = "", shift: float = 0.0, repeats: int = 1, seed: int = 0
) -> tuple[Check, ...]:
    """What ``studies`` runs say of one family: false accusations, simultaneous coverage, and the power for a
    ``plant`` of PULLS_PLANTED that makes all of an order effect of ``shift`` points ("": nothing is planted).

    The seed of a setting is its own, so that no two share a study.
    """
    keys = dict.fromkeys((*PULLS_PLANTED[plant], *ALSO_TAKES.get(plant, ())), 1.0) if plant else {}
    place = [list(FAMILIES).index(family), items, round(100 * shift), repeats, [*PULLS_PLANTED, ""].index(plant)]
    own = int(np.random.SeedSequence([seed, *place]).generate_state(1)[0])
    rates = pulls_rates(
        family,
        sample_rubrics()[0],
        runs=studies,
        items=items,
        shift=shift if plant else 0.0,
        planted=keys,
        repeats=repeats,
        seed=own,
    )
    what = f"{plant} pulls {shift:g} points" if plant else "nothing pulls"
    about = About(f"{family}, {what}", "what pulls", items, FAMILIES[family].options, 0.0)
    design = f"{many(repeats, 'read')} of an order"

    def rate(quantity: Quantity, method: str, value: float, accepted: tuple[float, float] | None) -> Check:
        return about.check(quantity, method, value, rate_error(value, studies), studies, accepted, design=design)

    made = [
        rate("false effect", ANY_CHANGE, rates.accused, (0.0, 0.05)),
        rate("coverage", "all changes that do nothing, at once", rates.covered, (0.93, 1.0)),
    ]
    if plant:
        shown = PULLS_PLANTED[plant]
        made += [rate("power", f"“effect”: {key}", rates.found[key], None) for key in shown]
    if plant and len(PULLS_PLANTED[plant]) > 1:
        made.append(rate("power", f"“effect”: {ANY_OF}{plant}", rates.any_found, None))
    return tuple(made)


def pulls_settings(*, whole: bool) -> list[dict[str, Any]]:
    """Arguments of :func:`pulls_checks`, setting by setting: every family without a pull; each thing planted,
    of a middle size for two families, with ``whole`` in every size for every family that can be moved.

    A family whose items share prompts is left out where too few of them make an interval: nothing is said of it
    then, which would pass for being right.
    """
    sizes: tuple[int, ...] = (16, 40) if whole else (16,)
    told = {n: [name for name, kind in FAMILIES.items() if -(-n // kind.per_prompt) >= MIN_UNITS] for n in sizes}
    made: list[dict[str, Any]] = [{"family": name, "items": n} for n in sizes for name in told[n]]
    moved = {n: [name for name in told[n] if _can_be_planted_in(FAMILIES[name])] for n in sizes}
    shifts = SHIFTS if whole else SHIFTS[1:2]
    made += [
        {"family": name, "items": n, "plant": plant, "shift": shift}
        for n in sizes
        for shift in shifts
        for plant in PULLS_PLANTED
        for name in (moved[n] if whole else moved[n][:2])
    ]
    if whole:
        made += [{"family": name, "items": 16, "repeats": 2} for name in told[16]]
        made += [
            {"family": name, "items": 16, "repeats": 2, "plant": plant, "shift": SHIFTS[1]}
            for plant in PULLS_PLANTED
            for name in moved[16]
            if not FAMILIES[name].probabilities
        ]
    return made


def _can_be_planted_in(kind: Family) -> bool:
    return kind.options == SCALE and not kind.constant
