"""The same candidates judged by pairs and by rubric: do the rankings agree, which costs less.

Beyond the papers: both protocols' order sensitivity is set against the calls they spend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.series import ArmCalls, ArmSeries, RunCodes, arm_series
from rubriclab.findings.topic import Question
from rubriclab.model import Arm, RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.stats import comparison as stats
from rubriclab.stats.correlation import rankdata
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, bootstrap_sums, percentile_interval
from rubriclab.stats.proportions import clustered_wilson


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate both ways: overall win rate and mean rubric score, with ranks (1 = best)."""

    candidate: str
    owr: float
    owr_rank: float
    score: float
    score_rank: float


@dataclass(frozen=True)
class Sensitivity:
    """How much a protocol's decisions between two candidates move with the order, and its price.

    ``flip_rate``: chance that two differently ordered looks at the same two answers disagree on
    which is better (tie is an answer of its own), the judge's own noise included. ``decisions_per_call``: such decisions that
    one call buys (1 in a pair, (c - 1) / 2 where c candidates get a score of their own).
    ``stable_per_call`` = decisions_per_call x (1 - flip_rate).
    """

    decisions: int
    flip_rate: float
    flip_ci: Interval
    decisions_per_call: float
    stable_per_call: float


@dataclass(frozen=True)
class ProtocolComparison:
    """One judge on the same candidates by pairs and by rubric.

    ``tau`` is Kendall's tau-b of the two rankings, interval over the prompts that both runs
    share; ``same_best``: the same candidate (or candidates) on top. Only shared prompts and
    candidates are used; ``left_out`` names the others.
    """

    judge: str
    pair_strategy: str
    rubric_strategy: str
    n_prompts: int
    left_out: tuple[str, ...]
    candidates: tuple[RankedCandidate, ...]
    tau: float
    tau_ci: Interval
    same_best: bool
    pairs: Sensitivity
    rubric: Sensitivity
    warnings: tuple[str, ...]


def compare_protocols(
    pairs: RunData, rubric: RunData, *, seed: int = 0, n_boot: int = 1000
) -> tuple[ProtocolComparison, ...]:
    """The same candidates judged pairwise and by rubric, for every judge in both runs.

    Runs are matched by judge, prompt and candidate names. Each judge's first pairwise arm meets
    its balanced rubric arm (else its first one on the options axis). Judges without both are
    left out; none at all gives an empty tuple.
    """
    run = RunCodes.of(pairs)
    compared = []
    for judge in dict.fromkeys(arm.judge for arm in pairs.arms):
        pair_arm = next(
            ((code, arm) for code, arm in enumerate(pairs.arms) if arm.judge == judge and arm.axis == "pairwise"), None
        )
        options = [(code, arm) for code, arm in enumerate(rubric.arms) if arm.judge == judge and arm.axis == "options"]
        options.sort(key=lambda pair: pair[1].strategy != "balanced")
        if pair_arm is not None and options:
            rows = ArmCalls.of(pairs, run, *pair_arm)
            scores = _Scores.of(rubric, *options[0])
            compared.append(_protocols(pairs, run, rows, scores, seed=seed, n_boot=n_boot))
    return tuple(compared)


@dataclass(frozen=True)
class _Scores:
    """A rubric arm as (texts, candidates, reads) scores; a text is a prompt x criterion."""

    arm: Arm
    values: Floats
    prompt: tuple[str, ...]
    candidates: tuple[str, ...]
    unread: int

    @classmethod
    def of(cls, data: RunData, code: int, arm: Arm) -> _Scores:
        items = data.items
        known = items["prompt"].notna().to_numpy() & items["candidate"].notna().to_numpy()
        candidate, names = pd.factorize(items["candidate"])
        criterion = pd.factorize(items["criterion"])[0] + 1
        prompt, prompts = pd.factorize(items["prompt"])
        width = int(criterion.max(initial=0)) + 1
        texts, text = np.unique(prompt * width + criterion, return_inverse=True)
        frame = data.judgments[data.judgments["arm"] == code]
        item = frame["item"].to_numpy().astype(np.int64)
        read = frame["repeat"].to_numpy().astype(np.int64)
        read = read * (int(frame["read"].max() if len(frame) else 0) + 1)
        read = read + frame["read"].to_numpy().astype(np.int64)
        score = frame["score"].to_numpy().astype(np.float64)
        keep = known[item]
        n_reads = int(read.max(initial=0)) + 1
        values = np.full((len(texts), max(len(names), 1), n_reads), np.nan)
        values[text[item[keep]], candidate[item[keep]], read[keep]] = score[keep]
        of_text = [str(prompts[t // width]) if t >= 0 and len(prompts) else "" for t in texts]
        return cls(arm, values, tuple(of_text), tuple(map(str, names)), int(np.isnan(score).sum()))


def _protocols(
    data: RunData, run: RunCodes, rows: ArmCalls, scores: _Scores, *, seed: int, n_boot: int
) -> ProtocolComparison:
    series = arm_series(run, rows)
    prompts = data.items["prompt"].astype(object).to_numpy()
    asked = [str(prompt) for prompt in prompts[series.item]]
    shared = sorted(set(asked) & set(scores.prompt))
    inside = {run.names[c] for c in np.unique(series.members).tolist()}
    names = [name for name in scores.candidates if name in inside]
    left_out = tuple(sorted(inside.symmetric_difference(scores.candidates)))
    index = {prompt: i for i, prompt in enumerate(shared)}
    unit = np.array([index.get(prompt, -1) for prompt in asked], dtype=np.int64)
    wins = _pair_sums(run, series, unit, names, len(shared))
    text_unit = np.array([index.get(prompt, -1) for prompt in scores.prompt], dtype=np.int64)
    columns = [scores.candidates.index(name) for name in names]
    values = scores.values[text_unit >= 0][:, columns]
    means = _score_sums(values, text_unit[text_unit >= 0], len(shared))
    sums = np.concatenate([wins, means], axis=1)
    owr, score = _two_scales(sums.sum(axis=0)[None, :])
    tau_ci = NO_INTERVAL
    if len(shared) > 1 and len(names) > 1:
        boot = bootstrap_sums(sums, n_boot=n_boot, seed=seed)
        tau_ci = percentile_interval(stats.kendall(*_two_scales(boot)))
    return ProtocolComparison(
        judge=rows.arm.judge,
        pair_strategy=rows.arm.strategy,
        rubric_strategy=scores.arm.strategy,
        n_prompts=len(shared),
        left_out=left_out,
        candidates=_ranked(names, owr[0], score[0]),
        tau=float(stats.kendall(owr, score)[0]),
        tau_ci=tau_ci,
        same_best=bool(_best(owr[0])) and _best(owr[0]) == _best(score[0]),
        pairs=_pair_sensitivity(series, unit, len(shared)),
        rubric=_score_sensitivity(values, text_unit[text_unit >= 0], len(shared)),
        warnings=_protocol_warnings(shared, names, left_out, scores),
    )


def _pair_sums(run: RunCodes, series: ArmSeries, unit: Ints, names: Sequence[str], n: int) -> Floats:
    """Per prompt: each candidate's wins (as in the overall win rate), then its readable pairs."""
    classes = series.classes
    usable = (unit >= 0) & (classes.kind != stats.UNREADABLE)
    shared = ((classes.winner < 0) | (classes.winner == 2)) / 2.0
    wins, seen = np.zeros((n, len(names))), np.zeros((n, len(names)))
    for column, name in enumerate(names):
        code = run.names.index(name)
        for place in (0, 1):
            mine = usable & (series.members[series.set, place] == code)
            won = (classes.winner == place) + shared
            wins[:, column] += np.bincount(unit[mine], weights=won[mine], minlength=n)
            seen[:, column] += np.bincount(unit[mine], minlength=n)
    return np.concatenate([wins, seen], axis=1)


def _score_sums(values: Floats, unit: Ints, n: int) -> Floats:
    """Per prompt: each candidate's summed mean scores, then how many texts gave one."""
    known = np.isfinite(values)
    count = known.sum(axis=2)
    total = np.where(known, values, 0.0).sum(axis=2)
    mean = np.divide(total, count, out=np.zeros(total.shape), where=count > 0)
    out = np.zeros((n, 2 * values.shape[1]))
    np.add.at(out, unit, np.concatenate([mean, (count > 0).astype(np.float64)], axis=1))
    return out


def _two_scales(totals: Floats) -> tuple[Floats, Floats]:
    """(win rates, mean scores), each (rows, candidates), of summed counts; NaN where none."""
    wins, seen, score, count = np.split(totals, 4, axis=1)
    pairs = [(wins, seen), (score, count)]
    owr, mean = (np.divide(top, below, out=np.full(top.shape, np.nan), where=below > 0) for top, below in pairs)
    return owr, mean


def _ranked(names: Sequence[str], owr: Floats, score: Floats) -> tuple[RankedCandidate, ...]:
    ranks = [rankdata(-values) for values in (owr, score)]
    rows = [
        RankedCandidate(name, float(owr[i]), float(ranks[0][i]), float(score[i]), float(ranks[1][i]))
        for i, name in enumerate(names)
    ]
    return tuple(sorted(rows, key=lambda row: (row.owr_rank, row.candidate)))


def _best(values: Floats) -> set[int]:
    """The candidates that share the top; empty where nothing is known."""
    if not np.isfinite(values).any():
        return set()
    return set(np.flatnonzero(values == np.nanmax(values)).tolist())


def _pair_sensitivity(series: ArmSeries, unit: Ints, n: int) -> Sensitivity:
    """A decision is one call; two looks are the two orders of a pair."""
    readable = (unit >= 0) & (series.classes.kind != stats.UNREADABLE)
    flips = readable & (series.classes.kind != stats.CONSISTENT)
    counts = [np.bincount(unit[which], minlength=n) for which in (flips, readable)]
    sums = np.stack(counts, axis=1).astype(np.float64)
    return _sensitivity(sums, int(readable.sum()), 1.0)


def _score_sensitivity(values: Floats, unit: Ints, n: int) -> Sensitivity:
    """A decision compares two candidates' scores in one read; two looks are two reads."""
    sums = np.zeros((n, 2))
    decisions = 0
    for i in range(values.shape[1]):
        for j in range(i + 1, values.shape[1]):
            sign = np.sign(values[:, i] - values[:, j])
            reads = np.isfinite(sign).sum(axis=1)
            same = sum(k * (k - 1) for k in ((sign == s).sum(axis=1) for s in (-1, 0, 1)))
            able = reads > 1
            flip = 1.0 - same[able] / (reads[able] * (reads[able] - 1))
            np.add.at(sums, unit[able], np.stack([flip, np.ones(len(flip))], axis=1))
            decisions += int(able.sum())
    per_text = np.isfinite(values).any(axis=2).sum(axis=1)
    per_text = per_text[per_text > 1]
    bought = float(((per_text - 1) / 2).mean()) if len(per_text) else float("nan")
    return _sensitivity(sums, decisions, bought)


def _sensitivity(sums: Floats, decisions: int, per_call: float) -> Sensitivity:
    """``sums``: (prompts, 2), flips and decisions; Wilson's interval by prompts."""
    flips, seen = sums.sum(axis=0) if len(sums) else (0.0, 0.0)
    rate = float(flips / seen) if seen else float("nan")
    ci = clustered_wilson(sums[:, 0], sums[:, 1])
    return Sensitivity(decisions, rate, ci, per_call, per_call * (1.0 - rate))


def _protocol_warnings(
    shared: Sequence[str], names: Sequence[str], left_out: Sequence[str], scores: _Scores
) -> tuple[str, ...]:
    warnings = []
    if not shared:
        warnings.append(tr("The two runs share no prompt: judge the same prompts both ways."))
    if len(names) < 3:
        warnings.append(
            tr("{candidates}: a ranking of so few says little.", candidates=many(len(names), "shared candidate"))
        )
    if left_out:
        warnings.append(tr("In one run only, left out: {names}.", names=", ".join(left_out)))
    if scores.unread:
        warnings.append(tr("{n} rubric replies could not be read.", n=scores.unread))
    if scores.arm.strategy != "balanced":
        warnings.append(
            tr(
                "The rubric run has no balanced arm; “{strategy}” is used, whose reads may share one order: its "
                "flips are then the judge's own noise.",
                strategy=scores.arm.strategy,
            )
        )
    return tuple(warnings)


PROTOCOLS = Question("pairs against rubric", compare_protocols)
