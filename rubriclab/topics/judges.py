"""Judges of pairs and lists on the same calls: do they agree, what do they say together, and who is more consistent?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy import special

from rubriclab.core.arm import UNPARSED, Arm
from rubriclab.core.estimate import Estimate, plain, share
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.model.judge import family_of
from rubriclab.stats import comparison as stats
from rubriclab.stats.resample import Bools, Floats, Ints, sum_by
from rubriclab.stats.tests import holm
from rubriclab.topics.pairs import Compared, gold

HARDEST = 10
MIN_JUDGES = 3
"""Of a line through judges."""


@topic("judges", axes={"pairs", "lists"}, charts=(Chart("bars", "disagreement", by="judges"),), per="run")
def judges(arms: Sequence[Arm]) -> Iterator[Row]:
    """Of each group of arms that differ in their judge alone; the first judge is the baseline."""
    groups: dict[tuple[object, ...], list[Arm]] = {}
    for arm in arms:
        about = arm.condition
        key = about.dataset, about.reorder, about.positions, about.strategy, about.variant_key
        groups.setdefault(key, []).append(arm)
    for group in groups.values():
        if len({arm.condition.judge for arm in group}) > 1:
            yield from agreement(group)
            yield from families(group)
            yield from together(group)
            yield from against_baseline(group)
            yield from fairness_on_consistency(group)


def side_by_side(group: Sequence[Arm]) -> tuple[Arm, Ints]:
    """(the arm of most calls, its calls as every judge answered them (calls, judges): 1..p, 0 a tie, -1, -2 not asked).

    Calls are the same where they show the same comparison in the same order; repeats in turn.
    """
    base = max(group, key=lambda arm: (len(arm.item), -arm.code))
    orders = {tuple(shown): k for k, shown in enumerate(dict.fromkeys(
        tuple(row) for arm in group for row in arm.shown.tolist()
    ))}  # fmt: skip

    def keys(arm: Arm) -> Ints:
        order = np.array([orders[tuple(row)] for row in arm.shown.tolist()], dtype=np.int64)[arm.order]
        call = arm.item_code[arm.item] * len(orders) + order
        row = np.lexsort((arm.call, arm.repeat, call))
        again = np.empty(len(call), dtype=np.int64)
        again[row] = np.arange(len(call)) - np.searchsorted(call[row], call[row])
        return again * (len(base.run.items) * len(orders)) + call

    mine = keys(base)
    row = np.argsort(mine)
    choices = np.full((len(mine), len(group)), stats.UNASKED, dtype=np.int64)
    for j, arm in enumerate(group):
        other = keys(arm)
        at = row[np.minimum(np.searchsorted(mine[row], other), len(mine) - 1)] if len(mine) else other
        same = mine[at] == other
        choices[at[same], j] = arm.position[same] + 1
    return base, choices


def _over(base: Arm, top: Floats | Bools, bottom: Floats | Bools) -> Estimate:
    unit = base.unit[base.item]
    return share(sum_by(unit, top, base.units), sum_by(unit, bottom, base.units), base.unit_names)


def agreement(group: Sequence[Arm]) -> Iterator[Row]:
    """Share of calls that two judges answered alike, and of those in which neither said tie (Shi et al., C.1)."""
    base, choices = side_by_side(group)
    for i, a in enumerate(group):
        for j, b in list(enumerate(group))[i + 1 :]:
            for measure, least in (("judges_agree", stats.NO_WINNER), ("judges_agree_no_ties", 1)):
                both = np.asarray((choices[:, [i, j]] >= least).all(axis=1))
                alike = both & (choices[:, i] == choices[:, j])
                n = {"n": int(both.sum())}
                yield Row(measure, _over(base, alike, both), {"against": b.code}, condition=a.code, counts=n)


def families(group: Sequence[Arm]) -> Iterator[Row]:
    """Agreement of judges of one family, of two, and the difference, where their names tell families (Shi et al., C.1)."""
    base, choices = side_by_side(group)
    family = [family_of(arm.condition.judge) for arm in group]
    pairs = list(combinations(range(len(group)), 2))
    shares = {}
    for kind in ("within", "between"):
        asked, alike = np.zeros((2, len(choices)))
        for i, j in pairs:
            if (family[i] == family[j]) is (kind == "within"):
                both = (choices[:, i] >= stats.NO_WINNER) & (choices[:, j] >= stats.NO_WINNER)
                asked += both
                alike += both & (choices[:, i] == choices[:, j])
        shares[kind] = _over(base, alike, asked)
    if all(estimate.units for estimate in shares.values()):
        for kind, estimate in shares.items():
            yield Row("family_agreement", estimate, {"families": kind}, condition=base.code)
        yield Row("family_difference", shares["within"] - shares["between"], condition=base.code)


def together(group: Sequence[Arm]) -> Iterator[Row]:
    """Disagreement with the commonest choice, the hardest calls, and the majority vote as a judge of its own."""
    base, choices = side_by_side(group)
    vote = stats.votes(choices, base.positions)
    shared = vote.judges > 1
    n = {"n": int(shared.sum())}
    for off in range(int(vote.off[shared].max(initial=0)) + 1):
        estimate = _over(base, shared & (vote.off == off), shared)
        yield Row("disagreement", estimate, {"judges": off}, condition=base.code, counts=n)
    yield from hardest(base, vote)
    ok = vote.choice >= stats.NO_WINNER
    won = base.shown[base.order, np.clip(vote.choice - 1, 0, base.positions - 1)]
    score = np.where(vote.choice > 0, won, np.where(ok, base.positions, -1))
    position = np.where(ok, vote.choice - 1, UNPARSED)
    made = Compared(replace(base, position=position, score=score, ok=ok))
    counts = {"n": int(made.parsed.sum()), "judges": len(group)}
    if counts["n"]:
        every = np.ones(len(made.item), dtype=bool)
        yield Row("majority_pc", made.pc(every), condition=base.code, counts=counts)
        yield Row("majority_pf", made.pf(every), condition=base.code, counts=counts)
    for row_of_gold in gold(made):
        if row_of_gold.measure == "accuracy" and not row_of_gold.of:
            yield replace(row_of_gold, measure="majority_accuracy", condition=base.code)


def hardest(base: Arm, vote: stats.Votes) -> Iterator[Row]:
    """The comparisons, each in an order, on which most judges differ from the commonest choice; mean over repeats."""
    query, code = np.unique(base.item * len(base.shown) + base.order, return_inverse=True)
    off, judges = (sum_by(code, part, len(query)) / np.bincount(code) for part in (vote.off, vote.judges))
    for k in np.lexsort((judges, -off))[:HARDEST]:
        if off[k] > 0:
            item, order = divmod(int(query[k]), len(base.shown))
            of = {"item": str(base.run.items["item_id"].iloc[base.item_code[item]]), "order": base.order_label(order)}
            yield Row("hardest", plain(off[k], "counted"), of, condition=base.code, counts={"judges": float(judges[k])})


def fairness_on_consistency(group: Sequence[Arm]) -> Iterator[Row]:
    """The straight line of |PF| on PC through three judges or more (Shi et al., Figure 2c); PC = 1 leaves PF = 0."""
    made = [Compared(arm) for arm in group]
    points = np.array([
        (each.pc(every).value, abs(each.pf(every).value))
        for each in made if len(every := np.ones(len(each.item), dtype=bool))
    ])  # fmt: skip
    if len(points) < MIN_JUDGES or not np.isfinite(points).all() or np.ptp(points[:, 0]) < 1e-9:
        return
    slope, level = np.polyfit(points[:, 0], points[:, 1], 1)
    for term, value in (("level", level), ("slope", slope)):
        estimate = plain(float(value), "least_squares")
        yield Row("pf_on_pc", estimate, {"term": term}, condition=group[0].code, counts={"judges": len(points)})


def against_baseline(group: Sequence[Arm]) -> Iterator[Row]:
    """PC of each judge less that of the first, task by task: paired t tests over units, by Holm (Shi et al., Figure 6)."""
    first, *others = [Compared(arm) for arm in group]
    rows = []
    for made in others:
        for task in sorted(set(first.tasks) & set(made.tasks)):
            parts = [one.pc(one.task == one.tasks.index(task)) for one in (made, first) if task in one.tasks]
            if not all(part.units for part in parts):
                continue
            difference = parts[0] - parts[1]
            t = difference.value / difference.error if difference.error > 1e-12 else float("nan")
            p = float(2 * special.stdtr(difference.units - 1, -abs(t)))
            of = {"task": task, "against": first.arm.code} if task else {"against": first.arm.code}
            rows.append((Row("pc_difference", difference, of, condition=made.arm.code), p))
    adjusted: Floats = holm(np.array([p for _, p in rows]))
    for (row, p), by_holm in zip(rows, adjusted.tolist(), strict=True):
        yield replace(row, test=("paired t", p), counts={"n": row.estimate.units, "p_holm": by_holm})
