"""Say whether judges of the same pairs or lists agree, what they vote, and who is consistent."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy import special

from rubriclab.core.estimate import (
    Estimate,
    Fisher,
    Student,
    average,
    jackknife,
    plain,
    share,
    t_p,
)
from rubriclab.core.judgments import UNPARSED, Arm, grouped
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.measures.agreement import explained
from rubriclab.measures.gold import accuracy
from rubriclab.measures.pairs import (
    Compared,
    but_judge,
    compared,
    names_of_cells,
    points_of,
    rows_of_parabolas,
)
from rubriclab.model.study import ReadingPart
from rubriclab.stats import pairwise as stats
from rubriclab.stats.resample import Bools, Floats, Ints, crossed, rank_within, sum_by
from rubriclab.stats.tests import holm

HARDEST = 5_000
"""The hardest calls that have a row. More would fill memory and no one would read them."""
MIN_JUDGES = 3
"""With fewer judges there is no line through them."""


@topic(
    "judges",
    axes={"pairs", "lists"},
    charts=(Chart("bars", "disagreement", by="judges"),),
    per="run",
    joins_judges=True,
)
def judges(arms: Sequence[Arm], reading: ReadingPart | None = None) -> Iterator[Row]:
    """Yield rows for each group of arms that differ only in their judge; the first is the base."""
    reading = reading or ReadingPart()
    for group in grouped(arms, lambda about: (about.dataset, *but_judge(about))):
        if len({arm.condition.judge for arm in group}) > 1:
            base, choices = side_by_side(group)
            yield from agreement(group, base, choices, reading.families)
            yield from together(group, base, choices)
            yield from families(group, reading.families)
            yield from against_baseline(group, reading.baseline)
            yield from fairness_on_consistency(group)
            yield from parabola_of_all(group)


def side_by_side(group: Sequence[Arm], base: Arm | None = None) -> tuple[Arm, Ints]:
    """Return the arm with the most calls, and (calls, judges) how every judge answered them.

    1..p the winner's position, 0 a tie, -1 not parsed, -2 not asked. Calls are the same where they
    show the same comparison in the same order; repeats in turn. ``base``: the arm whose calls they
    are, in place of that with the most.
    """
    if base is None:
        base = max(group, key=lambda arm: (len(arm.item), -arm.code))
    orders = {
        tuple(shown): k
        for k, shown in enumerate(
            dict.fromkeys(tuple(row) for arm in group for row in arm.shown.tolist())
        )
    }

    def keys(arm: Arm) -> Ints:
        order = np.array([orders[tuple(row)] for row in arm.shown.tolist()], dtype=np.int64)[
            arm.order
        ]
        call = arm.item_code[arm.item] * len(orders) + order
        return rank_within(call, arm.call, arm.repeat) * (len(base.run.items) * len(orders)) + call

    mine = keys(base)
    row = np.argsort(mine)
    choices = np.full((len(mine), len(group)), stats.UNASKED, dtype=np.int64)
    for j, arm in enumerate(group):
        other = keys(arm)
        slot = (
            row[np.minimum(np.searchsorted(mine[row], other), len(mine) - 1)]
            if len(mine)
            else other
        )
        same = mine[slot] == other
        choices[slot[same], j] = arm.position[same] + 1
    return base, choices


def _over(base: Arm, hits: Floats | Bools, trials: Floats | Bools) -> Estimate:
    """Return the share of hits among trials; (calls,) each, or counts of several."""
    unit = base.unit[base.item]
    return share(sum_by(unit, hits, base.units), sum_by(unit, trials, base.units), base.unit_names)


def counterpart(arm: Arm, judge: str) -> Arm | None:
    """Return the arm in which another judge was asked the same as in this one, or None."""
    about = arm.condition
    for other in arm.run.arms:
        asked = other.condition
        same = (asked.setting[1:], asked.strategy) == (about.setting[1:], about.strategy)
        if same and asked.judge == judge:
            return other
    return None


def rows_apart(arm: Arm, other: Arm) -> tuple[Ints, Ints]:
    """Return the judgments on which two arms differ, (pairs,) rows of each, by calls of ``arm``.

    A pair is about the same item in the same order, repeats in turn. Both were parsed, and their
    choices or scores are not the same.
    """
    orders: dict[tuple[int, ...], int] = {}

    def keys(each: Arm) -> list[tuple[int, int, int]]:
        shown = [orders.setdefault(tuple(row), len(orders)) for row in each.shown.tolist()]
        order = np.array(shown, dtype=np.int64)[each.order]
        item = each.item_code[each.item]
        asked = np.unique(np.stack([item, order]), axis=1, return_inverse=True)[1].ravel()
        repeat = rank_within(asked.astype(np.int64), each.call, each.repeat)
        return list(zip(item.tolist(), order.tolist(), repeat.tolist(), strict=True))

    row_of = {key: row for row, key in enumerate(keys(other))}
    pairs = [(row, row_of[key]) for row, key in enumerate(keys(arm)) if key in row_of]
    mine, theirs = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    answer, others = (
        (arm.position, other.position) if arm.condition.chooses else (arm.value, other.value)
    )
    apart = arm.ok[mine] & other.ok[theirs] & (answer[mine] != others[theirs])
    return mine[apart], theirs[apart]


def family_of(model: str, families: Mapping[str, str] | None = None) -> str:
    """Return the family of a model: of ``families`` by its name, else a guess.

    The guess is the leading letters after any path. gpt-4o: gpt. o1-mini: gpt too. It knows nothing
    of fine-tunes: their names begin with letters of their own.
    """
    if families and model in families:
        return families[model]
    name = model.casefold().rsplit("/", 1)[-1].removeprefix("chat")
    letters = re.match(r"[a-z]*", name)
    family = letters[0] if letters else ""
    return "gpt" if family == "o" else family or name


def agreement(
    group: Sequence[Arm], base: Arm, choices: Ints, families: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """Yield the share of calls that two judges answered equally, in all and without ties, and
    beyond chance.

    Where there are families: also within a family, between two, and the difference (Shi et al.,
    C.1).
    """
    family = [family_of(arm.condition.judge, families) for arm in group]
    hits, trials = (dict.fromkeys(("within", "between"), np.zeros(len(choices))) for _ in range(2))
    for i, j in combinations(range(len(group)), 2):
        same = choices[:, i] == choices[:, j]
        lower = choices[:, [i, j]].min(axis=1)
        both, decided = lower >= stats.NO_WINNER, lower > stats.NO_WINNER
        for measure, which in (("judges_agree", both), ("judges_agree_no_ties", decided)):
            of, n = {"against": group[j].code}, {"n": int(which.sum())}
            yield Row(
                measure, _over(base, same & which, which), of, condition=group[i].code, counts=n
            )
        estimate = _kappa(base, choices[:, i], choices[:, j])
        of, n = {"against": group[j].code}, {"n": int(both.sum())}
        yield Row("judges_kappa", estimate, of, condition=group[i].code, counts=n)
        kind = "within" if family[i] == family[j] else "between"
        hits[kind], trials[kind] = hits[kind] + (same & both), trials[kind] + both
    shares = {kind: _over(base, hits[kind], trials[kind]) for kind in hits}
    if all(estimate.units for estimate in shares.values()):
        for kind, estimate in shares.items():
            yield Row("family_agreement", estimate, {"families": kind}, condition=base.code)
        yield Row("family_difference", shares["within"] - shares["between"], condition=base.code)


def _kappa(base: Arm, mine: Ints, theirs: Ints) -> Estimate:
    """Return Cohen's kappa (1960) of two judges' choices (calls,); a tie is a choice too.

    Choices are positions, so two judges that both favour the first place agree by chance the more
    often.
    """
    both = np.minimum(mine, theirs) >= stats.NO_WINNER
    k = base.positions + 1
    unit = base.unit[base.item][both]
    cell = (mine * k + theirs)[both]
    tables = crossed(unit, base.units, cell, k * k).reshape(base.units, k, k)

    def kappa(table: Floats) -> Floats:
        n = table.sum(axis=(-1, -2))
        same = np.trace(table, axis1=-2, axis2=-1) / n
        by_chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / n**2
        return np.asarray((same - by_chance) / (1.0 - by_chance))[..., None]

    (estimate,) = jackknife(
        kappa, [tables], base.unit_names, known=tables.sum(axis=(1, 2)) > 0, rule=Fisher(fewest=10)
    )
    total = tables.sum(axis=0)
    return explained(estimate, outside=float(total.sum() - total.max()))


def together(group: Sequence[Arm], base: Arm, choices: Ints) -> Iterator[Row]:
    """Yield disagreement with the commonest choice, the hardest calls, and the majority's PC."""
    vote = stats.votes(choices, base.positions)
    shared = vote.judges > 1
    n = {"n": int(shared.sum())}
    for off in range(int(vote.off[shared].max(initial=0)) + 1):
        estimate = _over(base, shared & (vote.off == off), shared)
        yield Row("disagreement", estimate, {"judges": off}, condition=base.code, counts=n)
        at_most = _over(base, shared & (vote.off <= off), shared)
        yield Row("disagreement_at_most", at_most, {"judges": off}, condition=base.code, counts=n)
    # The comparisons, each in an order, on which most judges differ from the commonest choice; mean
    # over repeats.
    query, code, asked = np.unique(
        base.item * len(base.shown) + base.order, return_inverse=True, return_counts=True
    )
    off, judges = (sum_by(code, part, len(query)) / asked for part in (vote.off, vote.judges))
    picks = range(stats.NOT_PARSED, base.positions + 1)
    tally = np.stack(
        [sum_by(code, (choices == pick).sum(axis=1), len(query)) for pick in picks], axis=1
    )
    for k in [k for k in np.lexsort((judges, -off))[:HARDEST] if off[k] > 0]:
        item, order = divmod(int(query[k]), len(base.shown))
        of = {
            "item": str(base.run.items["item_id"].iloc[base.item_code[item]]),
            "order": base.order_label(order),
        }
        yield Row(
            "hardest",
            plain(off[k], "counted"),
            of,
            condition=base.code,
            counts={
                "judges": float(judges[k]),
                "unparsed": int(tally[k, 0]),
                "ties": int(tally[k, 1]),
                "wins": tally[k, 2:].astype(int).tolist(),
            },
        )
    ok = vote.choice >= stats.NO_WINNER
    won = base.shown[base.order, np.clip(vote.choice - 1, 0, base.positions - 1)]
    score = np.where(vote.choice > 0, won, np.where(ok, base.positions, -1))
    position = np.where(ok, vote.choice - 1, UNPARSED)
    voted = replace(base.calls, position=position, score=score, ok=ok)
    made = compared(replace(base, calls=voted))
    counts = {"n": int(made.parsed.sum()), "judges": len(group)}
    if counts["n"]:
        yield Row("majority_pc", made.pc(made.every), condition=base.code, counts=counts)
        yield Row("majority_pf", made.pf(made.every), condition=base.code, counts=counts)
    for row_of_gold in accuracy(made):
        if row_of_gold.measure == "accuracy" and not row_of_gold.of:
            yield replace(row_of_gold, measure="majority_accuracy", condition=base.code)


def families(group: Sequence[Arm], named: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yield the mean PC of the judges of each family that has two or more (Shi et al., Figure 2a).

    The interval is over units, for these judges: other judges of the family may differ.
    """
    members: dict[str, list[Compared]] = {}
    for made in map(compared, group):
        if made.parsed.any():
            family = family_of(made.arm.condition.judge, named)
            members.setdefault(family, []).append(made)
    for family, own in members.items():
        if len(own) > 1:
            mean = average([made.pc(made.every) for made in own], Student())
            counts = {"judges": len(own)}
            yield Row(
                "family_pc", mean, {"family": family}, condition=own[0].arm.code, counts=counts
            )


def fairness_on_consistency(group: Sequence[Arm]) -> Iterator[Row]:
    """Yield the straight line of |PF| on PC through three judges or more (Shi et al., Figure 2c).

    PC = 1 implies PF = 0. The slope's interval is that of least squares with judges as the units: t
    with two fewer degrees of freedom than judges, if they were drawn from some larger set.
    """
    made = [each for each in map(compared, group) if len(each.item)]
    points = np.array(
        [(each.pc(each.every).value, abs(each.pf(each.every).value)) for each in made]
    )
    if len(points) < MIN_JUDGES or not np.isfinite(points).all() or np.ptp(points[:, 0]) < 1e-9:
        return
    consistency, unfairness = points.T
    slope, level = (float(part) for part in np.polyfit(consistency, unfairness, 1))
    counts = {"judges": len(points)}
    of_level = plain(level, "least_squares")
    yield Row("pf_on_pc", of_level, {"term": "level"}, condition=group[0].code, counts=counts)
    freedom = len(points) - 2
    rest = unfairness - level - slope * consistency
    spread = consistency - consistency.mean()
    error = math.sqrt(float((rest**2).sum()) / freedom / float((spread**2).sum()))
    level_of_all = max(arm.level for arm in group)
    reach = float(special.stdtrit(freedom, 0.5 + level_of_all / 2)) * error
    yield Row(
        "pf_on_pc",
        replace(of_level, value=slope, why=""),
        {"term": "slope"},
        condition=group[0].code,
        counts=counts,
        ends=(slope - reach, slope + reach),
    )


def parabola_of_all(group: Sequence[Arm]) -> Iterator[Row]:
    """Yield the parabola through the cells of all judges together (Shi et al., Figures 2d to 2f).

    Judges find the same cells hard. The comparison with chance deals the cells of all judges in one
    way wherever they have the same cells, so that more judges do not count as more cells.
    """
    made = [each for each in map(compared, group) if each.parsed.any()]
    if len(made) < 2:
        return
    first, *others = (names_of_cells(each) for each in made)
    fits = stats.parabolas(
        [points_of(each) for each in made], same_cells=all(names == first for names in others)
    )
    yield from rows_of_parabolas("parabola_of_all", fits, condition=group[0].code, judges=len(made))


def against_baseline(group: Sequence[Arm], baseline: str = "") -> Iterator[Row]:
    """Yield PC and PF of each judge minus those of the baseline, in all and task by task.

    The baseline is the judge of that name, else the first (Shi et al., Figure 6). Paired t tests
    over units, corrected by Holm over the differences of tasks; the one over all tasks is a test of
    its own for each judge.
    """
    every = [compared(arm) for arm in group]
    first = every[0]
    for made in every:
        if made.arm.condition.judge == baseline:
            first = made
            break
    others = [made for made in every if made is not first]
    for measure in ("pc_difference", "pf_difference"):
        yield from _whole_differences(measure, first, others)
        yield from _task_differences(measure, first, others)


def _rate(measure: str, made: Compared, which: Bools) -> Estimate:
    return made.pc(which) if measure == "pc_difference" else made.pf(which)


def _whole_differences(measure: str, first: Compared, others: Sequence[Compared]) -> Iterator[Row]:
    """Yield a difference over all tasks for each judge; with one task the next function does."""
    for made in others:
        if len(set(first.tasks) & set(made.tasks)) < 2:
            continue
        mine, theirs = (_rate(measure, side, side.every) for side in (made, first))
        if mine.units and theirs.units:
            estimate = mine - theirs
            yield Row(
                measure,
                estimate,
                {"against": first.arm.code},
                test=("paired t", t_p(estimate)),
                counts={"n": estimate.units},
                condition=made.arm.code,
            )


def _task_differences(measure: str, first: Compared, others: Sequence[Compared]) -> Iterator[Row]:
    """Yield a difference for each judge and task, with p also by Holm over all of them."""
    rows = []
    for made in others:
        for task in sorted(set(first.tasks) & set(made.tasks)):
            mine, theirs = (
                _rate(measure, side, side.task == side.tasks.index(task)) for side in (made, first)
            )
            if mine.units and theirs.units:
                of = ({"task": task} if task else {}) | {"against": first.arm.code}
                rows.append(Row(measure, mine - theirs, of, condition=made.arm.code))
    p = [t_p(row.estimate) for row in rows]
    adjusted: Floats = holm(np.array(p))
    for row, own, by_holm in zip(rows, p, adjusted.tolist(), strict=True):
        yield replace(
            row, test=("paired t", own), counts={"n": row.estimate.units, "p_holm": by_holm}
        )
