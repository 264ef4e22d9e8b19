"""Scores of candidates by prompt in; who comes first under two conditions, and what the same orders
asked again change, out.

Two noisy sets of calls name different winners even where nothing changed. So changes between
conditions are counted at equal numbers of calls and set against changes between two sets of calls
of one condition in the same orders.
"""

import zlib
from typing import NamedTuple

import numpy as np

from rubriclab.stats.resample import Bools, Floats, Ints

SAME = 9
"""Mean scores that agree in so many decimals are ties: the rest is rounding."""
DRAWS, PERMUTATIONS, FEW_CALLS, MOST_CALLS = 20, 199, 20_000, 200_000
"""Draws of calls for the shares; exchanges of labels for the test; up to so many calls the test is
of several draws, too; above so many, prompts drawn at random stand for all.
"""


def tau_b(a: Floats, b: Floats) -> Floats:
    """Kendall's tau-b of each row of two tables (prompts, candidates), (prompts,): (C - D) / root
    of (pairs untied in a) (pairs untied in b). Cells without a number on a side are left out; NaN
    where a side ties all, or below two cells.
    """
    known = np.isfinite(a) & np.isfinite(b)
    a, b = (np.where(known, np.round(side, SAME), np.nan) for side in (a, b))
    sums = np.zeros((3, len(a)))
    for i in range(a.shape[1] - 1):
        own, other = (
            np.nan_to_num(np.sign(side[:, i + 1 :] - side[:, i : i + 1])) for side in (a, b)
        )
        sums += np.stack(
            [(own * other).sum(axis=1), np.abs(own).sum(axis=1), np.abs(other).sum(axis=1)]
        )
    untied = sums[1] * sums[2]
    return np.asarray(np.where(untied > 0, sums[0] / np.sqrt(np.maximum(untied, 1.0)), np.nan))


def winners(a: Floats, b: Floats) -> tuple[Bools, Bools, Bools]:
    """(prompts compared: two candidates or more on both sides; winners of a, and of b: (prompts,
    candidates)).
    """
    known = np.isfinite(a) & np.isfinite(b)
    best = []
    for side in (a, b):
        filled = np.where(known, np.round(side, SAME), -np.inf)
        best.append(known & (filled == filled.max(axis=1, keepdims=True, initial=-np.inf)))
    return np.asarray(known.sum(axis=1) > 1), best[0], best[1]


class Changes(NamedTuple):
    """Of each prompt, (prompts,) each, means over draws: does its one winner change between the
    conditions (``changed``, where both have one: ``decided``), and between two sets of calls in the
    same orders (``again``, ``again_decided``)? ``p``: of exchanging an item's calls between the
    conditions; NaN where no order was asked twice.
    """

    changed: Floats
    decided: Floats
    again: Floats
    again_decided: Floats
    p: float


class Side(NamedTuple):
    """Calls of a condition: ``score`` (prompts, candidates, calls), NaN where there is none;
    ``order``: its code.
    """

    score: Floats
    order: Ints

    @property
    def scored(self) -> Bools:
        return np.isfinite(self.score)

    def halves(self, rng: np.random.Generator) -> list[Bools]:
        """Two sets of calls with the same orders in both, at random; one set of all where no order
        was asked twice.
        """
        calls = np.arange(self.score.shape[2])
        code = np.where(self.scored, self.order, -1 - calls)
        ranked = np.argsort(code + rng.random(code.shape), axis=2)
        code = np.take_along_axis(code, ranked, axis=2)
        fresh = np.diff(code, axis=2, prepend=code[:, :, :1] - 1) != 0
        odd = (calls - np.maximum.accumulate(np.where(fresh, calls, 0), axis=2)) % 2 == 1
        even = np.concatenate([odd[:, :, 1:], np.zeros_like(odd[:, :, :1])], axis=2)
        if not (odd.any(axis=2).sum(axis=1) > 1).any():
            return [self.scored]
        sets = np.zeros((2, *code.shape), dtype=bool)
        for chosen, half in zip(sets, (even, odd), strict=True):
            np.put_along_axis(chosen, ranked, half, axis=2)
        return list(sets)


def winner_changes(a: Side, b: Side) -> Changes:
    """As ``Changes`` says. Prompts and candidates are to be in an order that hangs on their content
    alone.

    The test deals an item's calls anew over the two conditions, within which nothing changes under
    the null hypothesis (Pesarin and Salmaso 2010, Permutation Tests for Complex Data, section 1.9);
    the excess seen is ranked among them.
    """
    prompts = len(a.score)
    # Of the scores, which lie sorted within an item: one seed for all would pick the same ranks of
    # them in every study.
    content = np.nan_to_num(np.concatenate([a.score, b.score], axis=2), nan=-1.0)
    rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(content).tobytes()))
    kept = np.arange(prompts)
    if (calls := a.score.size + b.score.size) > MOST_CALLS:
        kept = np.sort(rng.permutation(prompts)[: max(1, prompts * MOST_CALLS // calls)])
        a, b = (Side(side.score[kept], side.order[kept]) for side in (a, b))
    pooled = np.concatenate([a.score, b.score], axis=2)
    counts = np.zeros((4, prompts))
    draws = [
        _equal_sets(a, b, rng) for _ in range(DRAWS if pooled.size <= FEW_CALLS else DRAWS // 4)
    ]
    for sets in draws:
        counts[:, kept] += _changes(pooled, sets) / len(draws)
    if not counts[3].any():
        return Changes(counts[0], counts[1], counts[2], counts[3], float("nan"))
    unknown = ~np.isfinite(pooled)
    front = np.argsort(unknown, axis=2, kind="stable")
    several = draws[: 4 if pooled.size <= FEW_CALLS else 1]
    seen, as_great = _excess(np.sum([_changes(pooled, sets) for sets in several], axis=0)), 0
    dealt = np.full(pooled.shape, np.nan)
    for _ in range(PERMUTATIONS):
        ranked = np.argsort(np.where(unknown, 2.0, rng.random(pooled.shape)), axis=2)
        np.put_along_axis(dealt, front, np.take_along_axis(pooled, ranked, axis=2), axis=2)
        as_great += (
            _excess(np.sum([_changes(dealt, sets) for sets in several], axis=0)) >= seen - 1e-12
        )
    return Changes(counts[0], counts[1], counts[2], counts[3], (1 + as_great) / (1 + PERMUTATIONS))


Sets = list[list[Floats]]


def _equal_sets(a: Side, b: Side, rng: np.random.Generator) -> Sets:
    """Of either condition its one or two sets, all with as many calls of an item as the smallest;
    as weights of a mean (prompts, candidates, calls of both), NaN where a set is empty.
    """
    sides = [side.halves(rng) for side in (a, b)]
    number = np.min([chosen.sum(axis=2) for sets in sides for chosen in sets], axis=0)[:, :, None]
    empty = [np.zeros(side.score.shape) for side in (a, b)]
    made: Sets = [[], []]
    for k, sets in enumerate(sides):
        for chosen in sets:
            rank = np.argsort(
                np.argsort(np.where(chosen, rng.random(chosen.shape), 2.0), axis=2), axis=2
            )
            weight = np.where(number > 0, (rank < number) / np.maximum(number, 1), np.nan)
            made[k].append(
                np.concatenate([weight, empty[1]] if k == 0 else [empty[0], weight], axis=2)
            )
    return made


def _changes(scores: Floats, sets: Sets) -> Floats:
    """(4, prompts): changed, decided; both of two sets of one condition, the mean over those that
    have two.
    """
    filled = np.nan_to_num(scores)
    means = [[(weight * filled).sum(axis=2) for weight in of] for of in sets]
    again = [_one_winner(*of) for of in means if len(of) == 2]
    nothing = np.zeros((2, len(scores)))
    return np.concatenate(
        [_one_winner(means[0][0], means[1][0]), np.mean(again, axis=0) if again else nothing]
    )


def _one_winner(a: Floats, b: Floats) -> Floats:
    """(2, prompts): does the winner change; has either side one?"""
    compared, mine, theirs = winners(a, b)
    decided = compared & (mine.sum(axis=1) == 1) & (theirs.sum(axis=1) == 1)
    return np.stack([decided & ~(mine & theirs).any(axis=1), decided]).astype(np.float64)


def _excess(counts: Floats) -> float:
    changed, decided, again, by_chance = counts.sum(axis=1)
    return float(changed / max(decided, 1e-12) - again / max(by_chance, 1e-12))
