"""What other designs would be worth, and which mix of judges, orders and repeats is the best buy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rubriclab.findings.generalisability_results import FEW, FEWEST_UNITS, Best, GStudy, Plan
from rubriclab.findings.generalisability_words import beyond, counted, design_words, plural
from rubriclab.model.language import tr
from rubriclab.stats.generalisability import best_of, coefficients, mixes
from rubriclab.stats.inference import NO_INTERVAL, Ints
from rubriclab.stats.variance_components import OBJECT, Components, FacetSet

MOST = {"judge": 10, "wording": 5, "labels": 5, "rater": 20, "repeat": 10}
"""The most of each facet that a mix goes up to; orders: as many as there are."""


def plan_of(study: GStudy, key: str, numbers: Ints, *, fixed: tuple[str, ...] = (), own: bool = False) -> Plan:
    """What a mean over ``numbers`` of each of ``study.numbered`` is worth; raises ValueError without parts."""
    return plans_of(study, key, numbers[None], fixed=fixed, own=own)[0]


def plans_of(
    study: GStudy, key: str, numbers: Ints, *, fixed: tuple[str, ...] = (), own: bool = False
) -> tuple[Plan, ...]:
    """The same of several designs: (designs, numbered). ``own``: every judge gets orders of its own.

    Unknown where all facets are ``fixed`` and nothing was read twice: what then is left as error is
    the judge's own noise, which was not measured. Counted as none it would make a reliability of 1.
    """
    parts = _known(study)
    held = study.fixed(fixed)
    whole = np.array(numbers, dtype=np.int64)
    for place in held:
        whole[:, place - 1] = parts.levels[place]
    designs, own_facet = _designs(study, whole), _own(study) if own else None
    both = (coefficients(parts, designs, absolute=absolute, fixed=held, own=own_facet) for absolute in (False, True))
    few = study.n_units < FEWEST_UNITS
    thin = few or _thin(study, held)
    unmeasured = not parts.noisy and len(held) == len(study.facets) - 1
    read = {one.key: one.levels for one in study.facets[1:]}
    plans = []
    for place, (relative, absolute) in enumerate(zip(*both, strict=True)):
        counted = tuple(zip(study.numbered, whole[place].tolist(), strict=True))
        plans.append(
            Plan(
                key,
                design_words(counted, read),
                counted,
                fixed,
                int(whole[place].prod()),
                math.nan if unmeasured else relative.value,
                NO_INTERVAL if few or unmeasured else relative.ci,
                math.nan if unmeasured else absolute.value,
                NO_INTERVAL if thin or unmeasured else absolute.ci,
                tuple(name for name, n in counted if beyond(name, n, read)),
            )
        )
    return tuple(plans)


def best_mix(
    study: GStudy, calls: int, *, absolute: bool = False, fixed: tuple[str, ...] = (), own: bool = False
) -> Best:
    """The most reliable mix of at most ``calls`` an item, and those not told apart from it."""
    first, *others = ranked_mixes(study, calls, absolute=absolute, fixed=fixed, own=own)
    return Best(calls, first.plan, tuple(one.plan.name for one in others if one.open))


class Ranked(NamedTuple):
    """A mix, and whether it is not told apart from the best one."""

    plan: Plan
    open: bool


def ranked_mixes(
    study: GStudy, calls: int, *, absolute: bool = False, fixed: tuple[str, ...] = (), own: bool = False
) -> tuple[Ranked, ...]:
    """The best mix of at most ``calls`` an item, then those nearest to it in reliability.

    A budget below the levels of the fixed facets is taken as these: all of them are always used.
    """
    parts = _known(study)
    held = study.fixed(fixed)
    budget = max(1, calls // math.prod(parts.levels[place] for place in held))
    most = [1 if k + 1 in held else _most(study, key) for k, key in enumerate(study.numbered)]
    # A mix that has room for one more of anything is not the most one can buy.
    full = [row for row in mixes(budget, most).tolist() if not _room(row, most, budget)]
    numbers = np.array(full, dtype=np.int64).reshape(len(full), len(most))
    for place in held:
        numbers[:, place - 1] = parts.levels[place]
    found = best_of(parts, _designs(study, numbers), absolute=absolute, fixed=held, own=_own(study) if own else None)
    order = [0] if found is None else [found.best, *found.near]
    plans = plans_of(study, f"{calls} calls", numbers[order], fixed=fixed, own=own)
    still = (True, *(found.open if found else ()))
    return tuple(Ranked(plan, open) for plan, open in zip(plans, still, strict=True))


def _room(row: list[int], most: list[int], budget: int) -> bool:
    calls = math.prod(row)
    return any(n < limit and calls // n * (n + 1) <= budget for n, limit in zip(row, most, strict=True))


def _known(study: GStudy) -> Components:
    if study.parts is None:
        raise ValueError(f"Nothing follows from the study of {study.name}: its components are not all known.")
    return study.parts


def _designs(study: GStudy, numbers: Ints) -> Ints:
    """(designs, facets) as the statistics have it: the repeats in the column of the item."""
    facets = len(study.facets) - 1
    repeats = numbers[:, facets:].prod(axis=1, dtype=np.int64)
    return np.concatenate([repeats[:, None], numbers[:, :facets]], axis=1)


def _own(study: GStudy) -> int | None:
    return next((place for place, one in enumerate(study.facets) if one.key == "order"), None)


def _most(study: GStudy, key: str) -> int:
    if "order" in key:
        return study.orders
    levels = next((one.levels for one in study.facets if one.key == key), 0)
    return max(levels, MOST.get(key, levels))


def _thin(study: GStudy, fixed: FacetSet) -> bool:
    """Does the absolute error hang on a component of facets with too few levels to speak for others?"""
    parts = _known(study)
    random = (one for one in parts.sets if OBJECT not in one and one - fixed)
    return any(study.facets[k].levels < FEW for one in random for k in one - fixed)


# ---------------------------------------------------------------- what more calls buy

STEPS = (1, 2, 3, 5, 10)
"""Numbers of judges (or wordings, or label sets) that have a line of their own."""


class Line(NamedTuple):
    """Designs of one kind, by how many calls an item they take."""

    name: str
    plans: Sequence[Plan]


def curves(study: GStudy, *, most: int, fixed: Sequence[str] = (), own: bool = False) -> list[Line]:
    """One line for each number of judges (or wordings, or label sets): every further call is another order.

    With them the line of one order asked again and again, where the judge's noise is known.
    """
    keys = study.numbered
    free = [k for k, key in enumerate(keys) if key not in fixed and key != "repeat"]
    if not free:
        return []
    last = next((k for k in reversed(free) if "order" in keys[k] or "rater" in keys[k]), free[-1])
    several = next((k for k in free if k != last), None)
    steps = STEPS if several is not None else (1,)
    lines = []
    for n in steps:
        start = np.ones(len(keys), dtype=np.int64)
        if several is not None:
            start[several] = n
        lines.append(
            _line(study, start, last, most, tuple(fixed), own, "" if several is None else counted(keys[several], n))
        )
    if "repeat" in keys:
        lines.append(
            _line(
                study, np.ones(len(keys), dtype=np.int64), len(keys) - 1, most, tuple(fixed), own, tr("same call again")
            )
        )
    return [line for line in lines if line.plans]


def _line(
    study: GStudy, start: np.ndarray, along: int, most: int, fixed: tuple[str, ...], own: bool, name: str
) -> Line:
    first = plans_of(study, name, start[None], fixed=fixed)[0].calls
    length = min(most // first, 120)
    if not length:
        return Line(name, ())
    numbers = np.repeat(start[None], length, axis=0)
    numbers[:, along] = np.arange(1, length + 1)
    name = name or tr("more {facets}", facets=plural(study.numbered[along]))
    return Line(name, plans_of(study, name, numbers, fixed=fixed, own=own))
