"""Several judges on the same pairs or lists: agreement, disagreement, the majority's vote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.comparison_cells import CellRates, cells_of, rates_of
from rubriclab.findings.series import ArmCalls, RunCodes, arm_series, dense
from rubriclab.model import Arm, Axis, RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.stats import comparison as stats
from rubriclab.stats.inference import Floats, Interval, Ints

HARDEST = 50


@dataclass(frozen=True)
class Hard:
    """One call that judges disagree on. ``choices``: judge -> the candidate, tie or unread."""

    item: int
    item_id: str
    prompt: str
    task: str
    shown: tuple[str, ...]
    repeat: int
    disagreement: int
    judges: int
    choices: Mapping[str, str]


@dataclass(frozen=True)
class JudgesTogether:
    """Judges on the same calls of one data set: agreement, disagreement, majority vote.

    ``distribution[d]`` is the share of instances with a disagreement of at most d, over the
    ``n_instances`` that at least two judges could be read on; ``excluded`` are the others.
    ``majority_*``: the judges' modal choice scored like a judge; instances whose lead is
    shared (``no_majority``) count as unreadable.
    """

    dataset: str
    axis: Axis
    strategy: str
    variant: str
    judges: tuple[str, ...]
    with_ties: stats.Agreement
    without_ties: stats.Agreement
    n_instances: int
    excluded: int
    distribution: Floats
    hardest: tuple[Hard, ...]
    no_majority: int
    majority_pc: float
    majority_pc_ci: Interval
    majority_pf: float
    majority_pf_ci: Interval
    warnings: tuple[str, ...]


def judges_together(
    data: RunData, run: RunCodes, members: Sequence[ArmCalls], *, seed: int, n_boot: int
) -> JudgesTogether:
    """Judges side by side on the calls (item, order, repeat) that any of them was asked."""
    instances, choices = _side_by_side(run, members)
    p, arm = members[0].p, members[0].arm
    unit = dense(run.question[instances.item])[1]
    boots = {"n_boot": n_boot, "seed": seed}
    vote = stats.votes(choices, p=p)
    shared = np.flatnonzero(vote.judges > 1)
    rates = _majority_rates(run, instances, vote, arm, p)
    judges = tuple(rows.arm.judge for rows in members)
    excluded = len(choices) - len(shared)
    return JudgesTogether(
        dataset=arm.dataset,
        axis=arm.axis,
        strategy=arm.strategy,
        variant=str(arm.variant),
        judges=judges,
        with_ties=stats.agreement(choices, unit, ties=True, **boots),
        without_ties=stats.agreement(choices, unit, ties=False, **boots),
        n_instances=len(shared),
        excluded=excluded,
        distribution=stats.cumulative(vote.disagreement[shared], n_judges=len(judges)),
        hardest=_hardest(data, run, instances, choices, vote, judges),
        no_majority=int(((vote.choice == stats.UNREAD) & (vote.judges > 0)).sum()),
        majority_pc=rates.pc,
        majority_pc_ci=rates.pc_ci,
        majority_pf=rates.pf,
        majority_pf_ci=rates.pf_ci,
        warnings=tuple(_warnings(len(judges), excluded)),
    )


def _majority_rates(run: RunCodes, instances: _Instances, vote: stats.Votes, arm: Arm, p: int) -> CellRates:
    """The modal choice of the judges, scored like a judge of its own."""
    majority = ArmCalls(
        arm=arm,
        p=p,
        item=instances.item,
        ordering=instances.ordering,
        repeat=instances.repeat,
        rank=instances.rank,
        position=vote.choice,
        status={},
        single_candidate=0,
        other_size=0,
        mass=np.full(len(vote.choice), np.nan),
    )
    cells = cells_of(run, arm_series(run, majority), p)
    return rates_of(cells, np.arange(len(cells.total)), p)


def _warnings(judges: int, excluded: int) -> Iterator[str]:
    if judges == 2:
        yield tr("With two judges a majority is their agreement; three or more vote.")
    if excluded:
        yield tr("{calls} {calls:was|were} read by fewer than two judges: left out.", calls=many(excluded, "call"))


@dataclass(frozen=True)
class _Instances:
    item: Ints
    ordering: Ints
    repeat: Ints
    rank: Ints


def _side_by_side(run: RunCodes, members: Sequence[ArmCalls]) -> tuple[_Instances, Ints]:
    """The distinct calls and each judge's position, (instances, judges); ABSENT if not asked."""
    repeats = 1 + max(int(rows.repeat.max(initial=0)) for rows in members)
    ranks = 1 + max(int(rows.rank.max(initial=0)) for rows in members)
    keys = [
        ((rows.item * len(run.size) + rows.ordering) * repeats + rows.repeat) * ranks + rows.rank for rows in members
    ]
    known, code = dense(np.concatenate(keys))
    choices = np.full((len(known), len(members)), stats.ABSENT, dtype=np.int64)
    start = 0
    for j, rows in enumerate(members):
        choices[code[start : start + len(rows.item)], j] = rows.position
        start += len(rows.item)
    rest, rank = np.divmod(known, ranks)
    rest, repeat = np.divmod(rest, repeats)
    item, ordering = np.divmod(rest, len(run.size))
    return _Instances(item, ordering, repeat, rank), choices


def _hardest(
    data: RunData, run: RunCodes, instances: _Instances, choices: Ints, vote: stats.Votes, judges: Sequence[str]
) -> tuple[Hard, ...]:
    """The HARDEST calls with most disagreement, those with none left out."""
    order = np.lexsort((np.arange(len(choices)), vote.judges, -vote.disagreement))[:HARDEST]
    hardest = []
    for row in order[vote.disagreement[order] > 0].tolist():
        item = int(instances.item[row])
        shown = tuple(map(str, data.orderings[int(instances.ordering[row])].shown))
        unchosen = {stats.TIE: tr("tie"), stats.UNREAD: tr("unread"), stats.ABSENT: tr("not asked")}
        hardest.append(
            Hard(
                item=item,
                item_id=str(data.items["item_id"].iat[item]),
                prompt=str(data.items["prompt"].iat[item]),
                task=run.tasks[run.task[item]],
                shown=shown,
                repeat=int(instances.repeat[row]),
                disagreement=int(vote.disagreement[row]),
                judges=int(vote.judges[row]),
                choices={
                    judge: unchosen.get(choice) or shown[choice - 1]
                    for judge, choice in zip(judges, choices[row].tolist(), strict=True)
                },
            )
        )
    return tuple(hardest)
