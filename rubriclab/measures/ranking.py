"""Say whether another order or variant changes a prompt's ranking and its winner.

Source: Xu et al. v2, Table 7.

Answers to one prompt (under one criterion) are ranked by their mean scores. Where people rated all
of them, we also say what a best of N by this judge is worth.

Two noisy sets of calls name different winners even where nothing changed. So changes between
conditions are counted at equal numbers of calls, and compared with changes between two sets of
calls of one condition in the same orders.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.core.estimate import Estimate, Reach, Student, mean_over, missing, ratio, share_of
from rubriclab.core.judgments import Arm, Names, grouped
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.core.variant_effects import forms
from rubriclab.measures.rated import SCORED, means, rated
from rubriclab.stats.debias import row_means
from rubriclab.stats.resample import Bools, Floats, Ints, spread_out, sum_by

# ----------------------------------------------------------------------------- rankings and winners
SAME = 9
"""Mean scores that agree in so many decimals are ties: the rest is rounding."""
DRAWS = 20
"""Random sets of calls that shares are averaged over."""
PERMUTATIONS = 199
"""Random exchanges of an item's calls in the test: p has steps of .005."""
FEW_CALLS = 20_000
"""Up to this many calls, the test averages over several sets of calls too. Above, it takes long."""
MOST_CALLS = 200_000
"""Above this many calls, a random sample of prompts represents all: bounds the time."""


def tau_b(a: Floats, b: Floats) -> Floats:
    """Return Kendall's tau-b of each row of two tables (prompts, candidates), (prompts,).

    (C - D) / root of (pairs untied in a) (pairs untied in b). Cells without a number on a side are
    left out; NaN where a side ties all, or below two cells.
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
    """Return the prompts compared, and the winners of a, and of b, (prompts, candidates).

    A prompt is compared where two candidates or more have a number on both sides.
    """
    known = np.isfinite(a) & np.isfinite(b)
    best = []
    for side in (a, b):
        filled = np.where(known, np.round(side, SAME), -np.inf)
        best.append(known & (filled == filled.max(axis=1, keepdims=True, initial=-np.inf)))
    return np.asarray(known.sum(axis=1) > 1), best[0], best[1]


class Changes(NamedTuple):
    """How often the winner of each prompt changes; (prompts,) each, means over draws.

    changed: between the conditions, where both have one winner (``decided``).
    again: between two sets of calls in the same orders, where both have one (``again_decided``).
    p: of exchanging an item's calls between the conditions; NaN where no order was asked twice.
    """

    changed: Floats
    decided: Floats
    again: Floats
    again_decided: Floats
    p: float


class Side(NamedTuple):
    """Calls of a condition.

    score: (prompts, candidates, calls), NaN where there is none. ``order``: the code of its order.
    """

    score: Floats
    order: Ints

    @property
    def scored(self) -> Bools:
        return np.isfinite(self.score)

    def halves(self, rng: np.random.Generator) -> list[Bools]:
        """Return two random sets of calls with the same orders in both.

        One set of all where no order was asked twice.
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
    """Return how often winners change between two conditions, and by chance alone.

    Prompts and candidates must be in an order that depends on their content alone. The test deals
    an item's calls again over the two conditions, within which nothing changes under
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
        counts[:, kept] += _changed_winners(pooled, sets) / len(draws)
    if not counts[3].any():
        return Changes(counts[0], counts[1], counts[2], counts[3], float("nan"))
    unknown = ~np.isfinite(pooled)
    front = np.argsort(unknown, axis=2, kind="stable")
    several = draws[: 4 if pooled.size <= FEW_CALLS else 1]
    seen, as_great = (
        _excess(np.sum([_changed_winners(pooled, sets) for sets in several], axis=0)),
        0,
    )
    dealt = np.full(pooled.shape, np.nan)
    for _ in range(PERMUTATIONS):
        ranked = np.argsort(np.where(unknown, 2.0, rng.random(pooled.shape)), axis=2)
        np.put_along_axis(dealt, front, np.take_along_axis(pooled, ranked, axis=2), axis=2)
        as_great += (
            _excess(np.sum([_changed_winners(dealt, sets) for sets in several], axis=0))
            >= seen - 1e-12
        )
    return Changes(counts[0], counts[1], counts[2], counts[3], (1 + as_great) / (1 + PERMUTATIONS))


Sets = list[list[Floats]]


def _equal_sets(a: Side, b: Side, rng: np.random.Generator) -> Sets:
    """Return one or two sets of calls per condition, each with equally many calls of an item.

    A set is given as weights of a mean (prompts, candidates, calls of both); NaN where it is empty.
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


def _changed_winners(scores: Floats, sets: Sets) -> Floats:
    """(4, prompts): changed, decided; and both for two sets of one condition.

    The latter is the mean over the conditions that have two.
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


# --------------------------------------------------------------------------------- the topic's rows
CHARTS = (
    Chart("forest", "kendall_tau", by="against"),
    Chart("forest", "top1_changed", by="against"),
)
MOST_PAIRS = 20
"""More pairs of conditions of a judge are not told one by one."""


@topic("ranking", axes=SCORED, charts=CHARTS, per="run")
def ranking(arms: Sequence[Arm]) -> Iterator[Row]:
    """Yield rows for pairs of strategies, for variants, and for what each condition picks."""
    settings = grouped(arms, lambda condition: condition.setting)
    pairs = [pair for group in settings for pair in list(combinations(group, 2))[:MOST_PAIRS]]
    others = [form for form in forms(arms) if not form.strategy]
    pairs += [
        (arm, base) for form in others for base, arm in zip(form.base, form.arms, strict=True)
    ]
    for a, b in pairs:
        made = Ranked(a, b)
        if len(made.cell):
            yield from changes(made)
            yield from beyond_noise(made)
    for arm in arms:
        yield from picks(Ranked(arm, arm))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Two arms on the prompts of which two answers or more were asked in both."""

    a: Arm
    b: Arm

    @cached_property
    def cell(self) -> Ints:
        """(prompts, candidates): items of the run, -1 for none.

        Prompts and candidates are in an order of their content alone.
        """
        run = self.a.run
        item = np.intersect1d(self.a.item_code, self.b.item_code, assume_unique=True)
        item = item[run.items["prompt"].notna().to_numpy()[item]]
        if not len(item):
            return np.zeros((0, 0), dtype=np.int64)
        names = run.items.loc[item, ["dataset", "prompt", "criterion"]].fillna("").astype(str)
        group = pd.factorize(names["dataset"] + "\0" + names["prompt"] + "\0" + names["criterion"])[
            0
        ]
        content = np.column_stack([part for arm in (self.a, self.b) for part in _calls(arm, item)])
        rank = np.unique(np.nan_to_num(content, nan=-1e9), axis=0, return_inverse=True)[1].ravel()
        size = np.bincount(group)
        table, ranks = (
            np.nan_to_num(spread_out(group, len(size), rank, part)[size > 1], nan=-1).astype(
                np.int64
            )
            for part in (item, rank)
        )
        return np.asarray(table[np.lexsort(ranks.T[::-1])])

    def by_prompt(self, values: Floats) -> Floats:
        """``values`` (items of the run,) by prompt and candidate; NaN for none."""
        return np.where(self.cell >= 0, values[self.cell], np.nan)

    def means(self, arm: Arm) -> Floats:
        return self.by_prompt(arm.of_run(means(arm)))

    @cached_property
    def people(self) -> Floats:
        """Mean rating of each candidate, where all candidates of a prompt have one; else NaN."""
        given = rated(self.a)
        if given is None:
            return np.full(self.cell.shape, np.nan)
        values = self.by_prompt(self.a.of_run(given.human))
        full = (np.isfinite(values) | (self.cell < 0)).all(axis=1, keepdims=True)
        return np.where(full, values, np.nan)

    @cached_property
    def unit(self) -> tuple[Ints, Names]:
        """((prompts,) unit of the run, the names of its units)."""
        return self.a.run.unit_of_item[self.cell[:, 0]], self.a.run.unit_names

    def row(self, measure: str, estimate: Estimate, n: float, **counts: float) -> Row:
        about = {"against": self.b.code} if self.a is not self.b else {}
        return Row(
            measure, estimate, about, condition=self.a.code, counts={"n": round(n), **counts}
        )

    def points(self, measure: str, values: Floats) -> Row:
        """A mean over the prompts with a number, in points."""
        estimate = mean_over(
            values, *self.unit, partial(Student, step=self.a.step), none="nothing_rated"
        )
        return self.row(measure, estimate, int(np.isfinite(values).sum()))


def _calls(arm: Arm, item: Ints) -> tuple[Floats, Floats]:
    """Return scores and orders (items, calls) of the items ``item`` of the run; NaN for none.

    In an order of their content.
    """
    kept = np.flatnonzero(arm.ok)
    kept = kept[np.lexsort((arm.score[kept], arm.order[kept]))]
    row_of_item = np.full(len(arm.run.items), -1, dtype=np.int64)
    row_of_item[item] = np.arange(len(item))
    row = row_of_item[arm.item_code[arm.item[kept]]]
    kept, row = kept[row >= 0], row[row >= 0]
    score, order = (
        spread_out(row, len(item), np.arange(len(row)), part[kept])
        for part in (arm.value, arm.order)
    )
    return score, order


def changes(made: Ranked) -> Iterator[Row]:
    """Yield tau-b, changed winners, and people's mean rating of what a picks - of what b picks.

    Tau-b over the prompts that have one; winners by two ways of counting ties; tied winners count
    with their mean.
    """
    a, b = made.means(made.a), made.means(made.b)
    compared, mine, theirs = winners(a, b)
    tau = tau_b(a, b)
    known = compared & np.isfinite(tau)
    bounded = partial(Reach, 2.0, least=-1.0, most=1.0)
    estimate = mean_over(np.where(known, tau, np.nan), *made.unit, bounded, none="all_tied")
    yield made.row(
        "kendall_tau", estimate, int(known.sum()), left_out=int((compared & ~known).sum())
    )
    ways = {
        "top1_changed": ~(mine & theirs).any(axis=1),
        "top1_changed_strict": (mine != theirs).any(axis=1),
    }
    for measure, changed in ways.items():
        yield made.row(measure, share_of(changed, compared, *made.unit), int(compared.sum()))
    if np.isfinite(made.people).any():
        picked, other = (
            row_means(np.where(which, made.people, np.nan)) for which in (mine, theirs)
        )
        yield made.points("pick_difference", picked - other)


def beyond_noise(made: Ranked) -> Iterator[Row]:
    """Yield how many winners change at equal calls, and when the same orders are repeated."""
    asked, sides = made.cell >= 0, []
    rank = np.where(asked, asked.cumsum().reshape(asked.shape) - 1, -1)
    for arm in (made.a, made.b):
        calls = _calls(arm, made.cell[asked])
        score, order = (
            np.pad(part, ((0, 1), (0, 0)), constant_values=np.nan)[rank] for part in calls
        )
        sides.append(Side(score, np.nan_to_num(order, nan=-1.0).astype(np.int64)))
    noisy = winner_changes(*sides)
    unit, names = made.unit

    def part(top: Floats, count: Floats) -> Estimate:
        # An estimate of several draws: a prompt's part is no coin (Wilson's interval held in 1.000,
        # or 0.85 as balanced).
        sums = [
            sum_by(unit, values, len(names)) for values in (np.where(count > 0, top, 0.0), count)
        ]
        return ratio(
            sums[0], sums[1], names, partial(Reach, 1.0, least=0.0, most=1.0), none="no_winner"
        )

    change, again = part(noisy.changed, noisy.decided), part(noisy.again, noisy.again_decided)
    yield made.row("top1_equal_calls", change, noisy.decided.sum())
    if not np.isfinite(again.value):
        for measure in ("top1_repeat_change", "top1_excess"):
            yield made.row(measure, missing("no_repeats"), 0)
        return
    yield made.row("top1_repeat_change", again, noisy.again_decided.sum())
    excess = change - again
    excess = replace(excess, rule=Reach(1.0, excess.influence + excess.value, least=-1.0, most=1.0))
    row = made.row("top1_excess", excess, noisy.decided.sum())
    yield replace(row, test=("calls dealt over the two conditions within an item", noisy.p))


def picks(made: Ranked) -> Iterator[Row]:
    """Yield the gain of best of N in people's mean rating, and the most that could be had.

    The pick's rating minus that of the mean candidate.
    """
    if len(made.cell) and np.isfinite(made.people).any():
        own = made.means(made.a)
        people = np.where(np.isfinite(own), made.people, np.nan)
        compared, mine, _ = winners(own, own)
        middle = np.where(compared, row_means(people), np.nan)
        yield made.points("pick_gain", row_means(np.where(mine, people, np.nan)) - middle)
        best = np.where(np.isfinite(people), people, -np.inf).max(axis=1)
        yield made.points("pick_most", np.where(np.isfinite(middle), best - middle, np.nan))
        yield better_of_two(made, own, people)


def better_of_two(made: Ranked, own: Floats, people: Floats) -> Row:
    """Return how often the judge scores the answer higher that people rate higher.

    Of all two answers to a prompt that people rate differently; equal mean scores count half. Each
    prompt counts by its pairs. Guessing gives a half. ``own``, ``people``: (prompts, candidates).
    """
    hits = np.zeros(len(own))
    pairs = np.zeros(len(own))
    rounded = np.round(own, SAME)
    for i, j in combinations(range(own.shape[1]), 2):
        better = np.sign(people[:, i] - people[:, j])
        judged = np.sign(rounded[:, i] - rounded[:, j])
        known = np.isfinite(better) & np.isfinite(judged) & (better != 0)
        agree = np.where(judged == better, 1.0, np.where(judged == 0, 0.5, 0.0))
        hits += np.where(known, agree, 0.0)
        pairs += known
    unit, names = made.unit
    sums = [sum_by(unit, part, len(names)) for part in (hits, pairs)]
    rule = partial(Reach, 1.0, least=0.0, most=1.0)
    estimate = ratio(sums[0], sums[1], names, rule, none="nothing_rated")
    return made.row("better_of_two", estimate, pairs.sum())
