"""How often a gate is wrong: judges of families that the lab does not fit, held against their own truth."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from rubriclab.findings.gate import GateResult, gate
from rubriclab.judges.families import Leanings, strength_for
from rubriclab.model import Design, Strategy
from rubriclab.model.gate import CONDITIONS
from rubriclab.model.gate_limits import GateLimits
from rubriclab.runs import foreign

LONG_RUN = 6_000
OPTIONS, PAIRS, CRITERIA = "10 fixed against 10 balanced", "pairs, twice in both orders", "criteria"
TWICE = Design(axis="pairwise", strategies=(Strategy("balanced", reads=4),))
"""Pairs whose every order is asked twice, so that what the order changes is told from noise."""
SHIFT = {OPTIONS: 0.3, PAIRS: 0.15, CRITERIA: 0.3}
"""What is planted, in points (of pairs in wins)."""
LIMITS = {
    OPTIONS: GateLimits(max_v=0.1, max_shift=0.2, max_flip=0.05),
    PAIRS: GateLimits(max_place=0.1, max_flip=0.05),
    CRITERIA: GateLimits(max_shift=0.2, max_flip=0.05),
}
"""The limits of bias that an unbiased judge is to keep."""


def designs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(foreign, "DESIGNS", {**foreign.DESIGNS, PAIRS: TWICE})


def strength(family: str, design: str, shift: float) -> float:
    places = len(foreign.CRITERIA) if design == CRITERIA else 0
    return strength_for(family, foreign.axis_of(design), shift, places=places) if shift else 0.0


def judged(
    family: str, design: str, limits: GateLimits, items: int, *, shift: float, leanings: Leanings, seed: int
) -> GateResult:
    pull = strength(family, design, shift)
    return gate(foreign.foreign_run(family, design, items=items, strength=pull, leanings=leanings, seed=seed), limits)


@cache
def truth(family: str, design: str, shift: float, leanings: Leanings = "own") -> Mapping[str, float]:
    """What the numbers of every condition are in the long run; of several criteria the mean."""
    every = GateLimits(**dict.fromkeys(CONDITIONS, 0.5))
    result = judged(family, design, every, LONG_RUN, shift=shift, leanings=leanings, seed=2**31)
    known: dict[str, list[float]] = {}
    for one in result.decisions:
        size = one.condition.key in ("max_shift", "max_place")
        known.setdefault(one.condition.key, []).append(abs(one.estimate) if size else one.estimate)
    return {key: float(np.mean(values)) for key, values in known.items() if np.isfinite(values).all()}


def at_the_limit(family: str, design: str) -> GateLimits:
    """Limits that are the judge's own true values: the least favourable ones for both errors."""
    true = truth(family, design, SHIFT[design])
    return GateLimits(**{key: value for key, value in true.items() if 0.0 < value < 1.0})


def counted(
    family: str, design: str, limits: GateLimits, items: int, runs: int, *, shift: float, leanings: Leanings = "own"
) -> Counter[str]:
    """How many of ``runs`` gates end how: the whole under its outcome, conditions under ``key outcome``."""
    found: Counter[str] = Counter(runs=runs)
    for seed in range(runs):
        result = judged(family, design, limits, items, shift=shift, leanings=leanings, seed=seed)
        found[result.outcome] += 1
        for key in limits.given():
            outcomes = {one.outcome for one in result.decisions if one.condition.key == key}
            # Of several criteria: all of them must pass, one that fails is a fail.
            name = "fails" if "fails" in outcomes else "passes" if outcomes == {"passes"} else "cannot tell"
            found[f"{key} {name}"] += 1
    return found


# ---------------------------------------------------------------- the table of docs/gate.md

FAMILIES = ("mixed logit", "latent trait", "skewed", "boundary", "missing", "clustered")
CELLS: Mapping[str, Callable[[str, str], tuple[GateLimits, float, Leanings]]] = {
    "unbiased": lambda _, design: (LIMITS[design], 0.0, "none"),
    "at its limits": lambda family, design: (at_the_limit(family, design), SHIFT[design], "own"),
    "far beyond": lambda _, design: (LIMITS[design], 2 * SHIFT[design], "own"),
}
"""What is held against which limits: those, the shift planted, and whether items lean by themselves."""


def main(arguments: Sequence[str] | None = None) -> None:
    """One line of JSON a cell: ``python -m tests.gate_rates --runs 500 --cell "at its limits"``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--cell", choices=tuple(CELLS), action="append")
    parser.add_argument("--design", choices=(OPTIONS, PAIRS, CRITERIA), action="append")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--items", type=int, action="append")
    asked = parser.parse_args(arguments)
    with pytest.MonkeyPatch.context() as patch:
        designs(patch)
        for design, cell, items, family in product(
            asked.design or (OPTIONS, PAIRS, CRITERIA),
            asked.cell or CELLS,
            asked.items or (30, 60, 100),
            asked.family or FAMILIES,
        ):
            limits, shift, leanings = CELLS[cell](family, design)
            found = counted(family, design, limits, items, asked.runs, shift=shift, leanings=leanings)
            about = {"design": design, "cell": cell, "items": items, "family": family, "limits": limits.given()}
            print(json.dumps({**about, **found}), flush=True)


if __name__ == "__main__":
    main()
