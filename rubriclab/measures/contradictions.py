"""Count where a judge's scores and its pairs contradict each other about the same candidates.

These rows have no verdict. A judge that is consistent by construction contradicts itself too, from
noise alone, and ties hide contradictions. So the same count among its own scores comes along, and
the contradictions that each of two rounds of both repeats.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.estimate import share, share_of
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Row, topic
from rubriclab.measures.fragile import rounds
from rubriclab.stats.contradictions import cycles, opposite, stable
from rubriclab.stats.resample import Floats, crossed

SCORED = ("options", "criteria", "bare")
"""The axes that score an answer without another answer in view."""


@topic("contradictions", axes={"options", "criteria", "bare", "pairs"}, per="run")
def contradictions(arms: Sequence[Arm]) -> Iterator[Row]:
    for pairs in arms:
        if pairs.condition.reorder != "pairs" or not pairs.ok.any():
            continue
        others = [scored for scored in arms if _same_judge(pairs, scored)]
        compared = [both for scored in others if (both := both_of(pairs, scored)) is not None]
        for each in compared:
            yield from rows_of(each)
        if compared:
            yield cycles_of(pairs)


def _same_judge(pairs: Arm, scored: Arm) -> bool:
    """Return whether an arm scores the answers that ``pairs`` compares, by the same judge."""
    one, other = pairs.condition, scored.condition
    same = one.judge == other.judge and one.dataset == other.dataset
    return (
        same
        and one.variant_key == other.variant_key
        and other.reorder in SCORED
        and (other.strategy != "fixed" or other.reorder == "bare")  # a bare scale has one order
        and bool(scored.ok.any())
    )


@dataclass(frozen=True, eq=False)
class Both:
    """Preferences about the pairs of candidates that were compared and scored.

    by_choice, by_score: (pairs, rounds) above 0 where the first candidate by name is preferred,
    below 0 where the second is, 0 for a tie, NaN where a call was lost.
    """

    pairs: Arm
    scored: Arm
    by_choice: Floats
    by_score: Floats

    @property
    def common_rounds(self) -> int:
        return min(int(self.by_choice.shape[1]), int(self.by_score.shape[1]))


def both_of(pairs: Arm, scored: Arm) -> Both | None:
    """Return both kinds of preferences; None where no compared pair has both scores."""
    scores = scores_of(scored)
    items = pairs.run.items.iloc[pairs.item_code]
    by_score = np.full((pairs.items, int(rounds(scored).max(initial=0)) + 1), np.nan)
    for row, (prompt, names) in enumerate(zip(items["prompt"], items["candidate"], strict=True)):
        known = [scores.get((str(prompt), name)) for name in str(names).split("|")]
        if len(known) == 2 and known[0] is not None and known[1] is not None:
            by_score[row] = known[0] - known[1]
    by_score = np.where(np.abs(by_score) < 1e-9, 0.0, by_score)
    if not np.isfinite(by_score).any():
        return None
    return Both(pairs, scored, choices_of(pairs), by_score)


def scores_of(arm: Arm) -> dict[tuple[str, str], Floats]:
    """Return (rounds,) the mean score of each prompt and candidate.

    It is a mean over criteria, each of which counts once; NaN where one of them was not scored.
    """
    items = arm.run.items.iloc[arm.item_code]
    criteria: dict[tuple[str, str], list[Floats]] = {}
    names = zip(items["prompt"], items["candidate"], _by_round(arm, arm.value), strict=True)
    for prompt, candidate, scores in names:
        if prompt is not None and candidate is not None:
            key = (str(prompt), str(candidate).replace("|", "/"))
            criteria.setdefault(key, []).append(scores)
    return {key: np.mean(scores, axis=0) for key, scores in criteria.items()}


def choices_of(arm: Arm) -> Floats:
    """(pairs, rounds): mean over the orders of 1 for the first candidate by name, -1 the second.

    NaN where a call of the round was lost: what is left would lean to a position.
    """
    value = np.select([arm.score == 0, arm.score == 1], [1.0, -1.0], 0.0)
    return _by_round(arm, np.where(arm.ok, value, np.nan))


def _by_round(arm: Arm, value: Floats) -> Floats:
    """(items, rounds): the mean of ``value`` (calls,); NaN where a call is missing or lost."""
    number = rounds(arm)
    cells = arm.item, arm.items, number, int(number.max(initial=0)) + 1
    calls, total = crossed(*cells), crossed(*cells, weights=value)
    with np.errstate(invalid="ignore"):
        return np.where(calls == calls[:, :1], total / calls, np.nan)


def rows_of(both: Both) -> Iterator[Row]:
    """Yield contradictions of scores and pairs, those that are stable, and those among scores."""
    of = {"against": both.scored.code, "way": both.scored.condition.reorder}
    shared = both.common_rounds
    each_round = opposite(both.by_choice[:, :shared], both.by_score[:, :shared])
    known = np.isfinite(each_round)
    with np.errstate(invalid="ignore"):
        apart = np.where(known, each_round, 0).sum(axis=1) / known.sum(axis=1)
    yield _share(both, "contradictions", apart, of, "no_common")
    lasting = np.full(len(apart), np.nan)
    if shared > 1:
        lasting = opposite(stable(both.by_choice[:, :2]), stable(both.by_score[:, :2]))
    yield _share(both, "contradictions_stable", lasting, of, "one_round")
    among = np.full(len(apart), np.nan)
    if both.by_score.shape[1] > 1:
        among = opposite(both.by_score[:, 0], both.by_score[:, 1])
        among = np.where(np.isfinite(apart), among, np.nan)
    yield _share(both, "contradictions_of_scores", among, of, "one_round")


def _share(both: Both, measure: str, values: Floats, of: Mapping[str, Any], none: str) -> Row:
    """Return the mean over pairs of candidates, with its interval over questions."""
    arm = both.pairs
    known = np.isfinite(values)
    estimate = share_of(values, known, arm.unit, arm.unit_names, none=none)
    counts = {"n": int(known.sum())}
    return Row(measure, estimate, of, counts=counts, condition=arm.code)


def cycles_of(arm: Arm) -> Row:
    """Return the share of triples of candidates whose winners form a cycle, over all rounds."""
    items = arm.run.items.iloc[arm.item_code]
    choices = choices_of(arm)
    lost = np.isnan(choices).all(axis=1)
    preference = np.where(lost, np.nan, np.round(np.nansum(choices, axis=1), 9))
    found, complete = np.zeros(arm.units), np.zeros(arm.units)
    frame = pd.DataFrame({"prompt": items["prompt"].astype(str).to_numpy(), "unit": arm.unit})
    names = [str(name).split("|") for name in items["candidate"]]
    for _, rows in frame.groupby("prompt", sort=False):
        own = rows.index.to_numpy()
        known = {name: k for k, name in enumerate(sorted({n for i in own for n in names[i]}))}
        first = np.array([known[names[i][0]] for i in own])
        second = np.array([known[names[i][-1]] for i in own])
        made = cycles(first, second, preference[own])
        unit = int(rows["unit"].iloc[0])
        found[unit] += made[0]
        complete[unit] += made[1]
    estimate = share(found, complete, arm.unit_names, none="no_triples")
    return Row("cycles", estimate, counts={"n": int(complete.sum())}, condition=arm.code)
