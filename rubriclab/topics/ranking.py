"""Does another order, or form, change the ranking of a prompt's answers and who comes first (Xu et al. v2, Table 7)?

Answers to one prompt (under one criterion) are ranked by their mean scores. What a best of N by this judge is worth is
told where people rated all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
import pandas as pd

from rubriclab.core.arm import Arm, Names, grouped
from rubriclab.core.estimate import Estimate, mean_over, missing, ratio, share_of
from rubriclab.core.intervals import Reach, Student
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.core.variants import forms
from rubriclab.stats.resample import Bools, Floats, Ints, spread_out, sum_by
from rubriclab.stats.winners import Side, tau_b, winner_changes, winners
from rubriclab.topics.rated import SCORED, means, rated

CHARTS = (Chart("forest", "kendall_tau", by="against"), Chart("forest", "top1_changed", by="against"))
MOST_PAIRS = 20
"""More pairs of conditions of a judge are not told one by one."""


@topic("ranking", axes=SCORED, charts=CHARTS, per="run")
def ranking(arms: Sequence[Arm]) -> Iterator[Row]:
    """All pairs of strategies of one setting, and each form beside the default; then what each condition's picks are worth."""
    settings = grouped(arms, lambda condition: condition.setting)
    pairs = [pair for group in settings for pair in list(combinations(group, 2))[:MOST_PAIRS]]
    others = [form for form in forms(arms) if not form.strategy]
    pairs += [(arm, base) for form in others for base, arm in zip(form.base, form.arms, strict=True)]
    for a, b in pairs:
        made = Ranked(a, b)
        if len(made.cell):
            yield from changes(made)
            yield from beyond_noise(made)
            yield from worth(made)
    for arm in arms:
        yield from picks(Ranked(arm, arm))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Two arms on the prompts of which two answers or more were asked in both."""

    a: Arm
    b: Arm

    @cached_property
    def cell(self) -> Ints:
        """(prompts, candidates): items of the run, -1 for none; prompts and candidates in an order of their content alone."""
        run = self.a.run
        item = np.intersect1d(self.a.item_code, self.b.item_code)
        item = item[run.items["prompt"].notna().to_numpy()[item]]
        if not len(item):
            return np.zeros((0, 0), dtype=np.int64)
        names = run.items.loc[item, ["dataset", "prompt", "criterion"]].fillna("").astype(str)
        group = pd.factorize(names["dataset"] + "\0" + names["prompt"] + "\0" + names["criterion"])[0]
        content = np.column_stack([part for arm in (self.a, self.b) for part in _calls(arm, item)])
        rank = np.unique(np.nan_to_num(content, nan=-1e9), axis=0, return_inverse=True)[1].ravel()
        size = np.bincount(group)
        table, ranks = (
            np.nan_to_num(spread_out(group, len(size), rank, part)[size > 1], nan=-1).astype(np.int64)
            for part in (item, rank)
        )
        return np.asarray(table[np.lexsort(ranks.T[::-1])])

    def of(self, values: Floats) -> Floats:
        """``values`` (items of the run,) by prompt and candidate; NaN for none."""
        return np.where(self.cell >= 0, values[self.cell], np.nan)

    def means(self, arm: Arm) -> Floats:
        return self.of(arm.of_run(means(arm)))

    @cached_property
    def people(self) -> Floats:
        """Mean rating of each candidate, on the prompts all of whose candidates have one; else NaN."""
        given = rated(self.a)
        if given is None:
            return np.full(self.cell.shape, np.nan)
        values = self.of(self.a.of_run(given.human))
        full = (np.isfinite(values) | (self.cell < 0)).all(axis=1, keepdims=True)
        return np.where(full, values, np.nan)

    @cached_property
    def unit(self) -> tuple[Ints, Names]:
        """((prompts,) unit of the run, the names of its units)."""
        return self.a.run.unit_of_item[self.cell[:, 0]], self.a.run.unit_names

    def row(self, measure: str, estimate: Estimate, n: float, **counts: float) -> Row:
        about = {"against": self.b.code} if self.a is not self.b else {}
        return Row(measure, estimate, about, condition=self.a.code, counts={"n": round(n), **counts})

    def points(self, measure: str, values: Floats) -> Row:
        """A mean over the prompts with a number, in points."""

        def rule(moves: Floats) -> Student:
            return Student(step=self.a.step, moves=moves)

        estimate = mean_over(values, *self.unit, rule, none="nothing_rated")
        return self.row(measure, estimate, int(np.isfinite(values).sum()))


def _calls(arm: Arm, item: Ints) -> tuple[Floats, Floats]:
    """Scores and orders (items, calls) of the items ``item`` of the run, in an order of their content; NaN for none."""
    kept = np.flatnonzero(arm.ok)
    kept = kept[np.lexsort((arm.score[kept], arm.order[kept]))]
    at = np.full(len(arm.run.items), -1, dtype=np.int64)
    at[item] = np.arange(len(item))
    row = at[arm.item_code[arm.item[kept]]]
    kept, row = kept[row >= 0], row[row >= 0]
    score, order = (spread_out(row, len(item), np.arange(len(row)), part[kept]) for part in (arm.value, arm.order))
    return score, order


def changes(made: Ranked) -> Iterator[Row]:
    """tau-b over the prompts that have one, and the shares of prompts whose winners change, two ways of counting ties."""
    a, b = made.means(made.a), made.means(made.b)
    compared, mine, theirs = winners(a, b)
    tau = tau_b(a, b)
    known = compared & np.isfinite(tau)
    estimate = mean_over(np.where(known, tau, np.nan), *made.unit, partial(Reach, 2.0), none="all_tied")
    yield made.row("kendall_tau", estimate, int(known.sum()), left_out=int((compared & ~known).sum()))
    for measure, changed in (
        ("top1_changed", np.asarray(~(mine & theirs).any(axis=1))),
        ("top1_changed_strict", np.asarray((mine != theirs).any(axis=1))),
    ):
        yield made.row(measure, share_of(changed, compared, *made.unit), int(compared.sum()))


def beyond_noise(made: Ranked) -> Iterator[Row]:
    """At equal numbers of calls: winners that change between the arms, and in the same orders asked again."""
    item = made.cell[made.cell >= 0]
    sides = []
    for arm in (made.a, made.b):
        score, order = _calls(arm, item)
        table = np.full((2, *made.cell.shape, score.shape[1]), np.nan)
        table[:, made.cell >= 0] = np.stack([score, order])
        sides.append(Side(table[0], np.nan_to_num(table[1], nan=-1.0).astype(np.int64)))
    noisy = winner_changes(sides[0], sides[1])
    estimates = []
    for top, count in ((noisy.changed, noisy.decided), (noisy.again, noisy.again_decided)):
        unit, names = made.unit
        tops, bottom = (sum_by(unit, part, len(names)) for part in (np.where(count > 0, top, 0.0), count))
        # An estimate of several draws: a prompt's part is no coin (Wilson's interval held in 1.000, or 0.85 as balanced).
        estimates.append(ratio(tops, bottom, names, partial(Reach, 1.0), none="no_winner"))
    change, again = estimates
    yield made.row("top1_equal_calls", change, noisy.decided.sum())
    if not np.isfinite(again.value):
        for measure in ("top1_repeat_change", "top1_excess"):
            yield made.row(measure, missing("no_repeats"), 0)
        return
    yield made.row("top1_repeat_change", again, noisy.again_decided.sum())
    excess = change - again
    excess = replace(excess, rule=Reach(1.0, excess.influence + excess.value))
    row = made.row("top1_excess", excess, noisy.decided.sum())
    yield replace(row, test=("calls dealt over the two conditions within an item", noisy.p))


def worth(made: Ranked) -> Iterator[Row]:
    """People's mean rating of what a picks - of what b picks; tied winners count with their mean."""
    if np.isfinite(made.people).any():
        _, mine, theirs = winners(made.means(made.a), made.means(made.b))
        yield made.points("pick_difference", _picked(made.people, mine) - _picked(made.people, theirs))


def picks(made: Ranked) -> Iterator[Row]:
    """Best of N: people's mean rating of the pick - of the mean candidate; and the most that could be had."""
    if len(made.cell) and np.isfinite(made.people).any():
        own = made.means(made.a)
        people = np.where(np.isfinite(own), made.people, np.nan)
        compared, mine, _ = winners(own, own)
        middle = _picked(people, np.isfinite(people) & compared[:, None])
        yield made.points("pick_gain", _picked(people, mine & compared[:, None]) - middle)
        best = np.where(np.isfinite(people), people, -np.inf).max(axis=1)
        yield made.points("pick_most", np.where(np.isfinite(middle), best - middle, np.nan))


def _picked(people: Floats, which: Bools) -> Floats:
    """(prompts,): mean rating of the candidates ``which``; NaN for none."""
    number = which.sum(axis=1)
    total = np.where(which, people, 0.0).sum(axis=1)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))
