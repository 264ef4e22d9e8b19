"""Pairs, lists and answers in one call: how often a judge is accused, how often a bias is found, what intervals hold.

    python -m benchmarks choices pairs lists responses coverage [--studies 300] [--deals 499]

Judges choose by a latent quality with Gumbel noise; verdicts are those of ``core/verdict.py``. What was seen stands in
``MEASURED``.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.verdicts import run_cell
from rubriclab.core import gate as gates
from rubriclab.core.answers import Answers
from rubriclab.core.judgments import Judgments
from rubriclab.topics import joint
from rubriclab.topics import pairs as topic
from tests.tables import choices, comparisons, responses

MEASURED = """
300 studies a cell, 499 deals, seed 1, N = 20 / 60. "told": the gate opens. Pairs, each order once: nothing planted .040 / .017,
first +0.3 log-odds .103 / .207, +0.6 .293 / .807; leans that cancel .013 / .013. Twice: .027 / .020, +0.3 .223 / .477, +0.6 .580 /
.980; leans that cancel .020 / .030, "any small change of the prompt may do it" instead in .150 / .580: with two orders, whole
orders dealt cannot tell them from one fixed draw a prompt. Four pairs a question whose leans cancel over questions, 1,000
studies (seed 77): first position falsely .056 / .057. Lists of 4, once: nothing .030 / .060, first +0.6 .360 / .917, leans that
cancel (sd 1.4 of differences) .593 / .973, first position falsely .040 / .043; twice: .053 / .030, .640 / 1.000, .943 / 1.000,
.030 / .033. Four answers a call, every balanced order twice: nothing .053 / .053; at 20 batches first +0.3 points 1.000, leans
that cancel 1.000 with a position falsely .023.
Coverage, 200 studies, 30 / 100 units, pairs (one and three a question) and lists of 4: pc .940 to .975, pf .940 to .980,
first_advantage .950 to .975, position_share .925 to .975, choice_change .930 to .970, choice_excess .945 to .985, win_rate of
pairs .932 to .960, of lists see below, rs (400 studies, 15 to 100 units) .940 to .968. Mean
width of first_advantage .37 / .20, of choice_excess .38 / .19, of pc .27 / .15. Four answers a call: shifts .920 to .960,
first_minus_last .950 to .955, company .925 to .940.
Win rates, 300 studies a cell, 30 / 100 units, Plackett-Luce judges with an exponential lean to the first position, questions of
unequal difficulty, single ones and three to a prompt: ends of the shares of series won and lost .940 to .970 / .940 to .947
(pairs), .937 to .970 / .950 to .957 (3), .940 to .997 / .940 to .983 (4), .987 to 1.0 / .957 to .990 (5). Wilson's ends of the
mean, which these replace: lists .873 to 1.0 / .810 to .997. Mean width of 4, lean .5: .168 for .149 / .083 for .079.
"""


def rotations(p: int) -> np.ndarray:
    return np.array([np.roll(np.arange(p), -shift) for shift in range(p)])


def winners(
    rng: np.random.Generator, items: int, p: int, size: float, cancel: float, repeats: int, ties: float, of: int = 1
) -> np.ndarray:
    """(items, repeats x p): the position that won, 0 a tie, in p rotations; the first position gains ``size`` log-odds, and
    in each question (``of`` comparisons) each position a lean of its own with a standard deviation of ``cancel``."""
    shown = np.tile(rotations(p), (repeats, 1))
    quality = rng.standard_t(4, (items, p)) * 0.7
    lean = size * (np.arange(p) == 0) + rng.normal(0, cancel / np.sqrt(2), (-(-items // of), p))[np.arange(items) // of]
    utility = quality[:, shown] + lean[:, None] + rng.gumbel(size=(items, len(shown), p))
    best = np.sort(utility, axis=2)
    return np.where(best[..., -1] - best[..., -2] < ties, 0, utility.argmax(axis=2) + 1)


def answers_of(position: np.ndarray, p: int, of: int) -> Answers:
    orders = np.tile(rotations(p), (position.shape[1] // p, 1))
    won = np.where(position > 0, orders[np.arange(len(orders)), position - 1], p)
    item = np.repeat(np.arange(len(position)), len(orders))
    order = np.tile(np.arange(len(orders)) % p, len(position))
    unit = np.arange(len(position)) // of
    return Answers(item, order, won.reshape(-1, 1), rotations(p), unit, np.arange(p + 1.0), choices=True)


def study(
    rng: np.random.Generator, *, items: int, p: int = 2, size: float = 0.0, cancel: float = 0.0, repeats: int = 1,
    ties: float = 0.1, of: int = 1,
) -> Answers:  # fmt: skip
    return answers_of(winners(rng, items, p, size, cancel, repeats, ties, of), p, of)


def batch_scores(rng: np.random.Generator, batches: int, size: float, cancel: float, repeats: int) -> np.ndarray:
    """(batches, repeats x 8, 4): four answers in one call in every balanced order; the first gains ``size`` points."""
    orders = np.vstack([rotations(4), rotations(4)[:, ::-1]])
    position = np.argsort(np.tile(orders, (repeats, 1)), axis=1)
    worth = 3 + rng.standard_t(4, (batches, 1, 4)) * 0.7 + rng.normal(0, 0.25, (batches, len(position), 1))
    lean = rng.normal(0, cancel, (batches, 1, 4))
    lean = np.take_along_axis(np.broadcast_to(lean, (batches, len(position), 4)), np.broadcast_to(position, worth.shape), 2) \
        if cancel else 0 * worth  # fmt: skip
    score = worth + size * (position == 0) + lean + rng.normal(0, 0.5, worth.shape)
    return np.rint(score).clip(1, 5)


def batch_study(
    rng: np.random.Generator, *, batches: int, size: float = 0.0, cancel: float = 0.0, repeats: int = 2
) -> Answers:
    orders = np.vstack([rotations(4), rotations(4)[:, ::-1]])
    score = batch_scores(rng, batches, size, cancel, repeats)
    return choices(score - 1, np.tile(np.arange(8), repeats), orders, points=np.arange(1.0, 6.0))


def cells_of(kind: str) -> list[tuple[str, Callable[..., Answers]]]:
    made: list[tuple[str, Callable[..., Answers]]] = []
    for n in (20, 60):
        if kind == "responses":
            made += [
                (f"4 answers a call, {n} batches, {what}", partial(batch_study, batches=n, **how))
                for what, how in (("nothing planted", {}), ("first +0.3 points", {"size": 0.3}), ("leans that cancel 0.4", {"cancel": 0.4}))
            ]  # fmt: skip
            continue
        p, sizes = (2, (0.3, 0.6)) if kind == "pairs" else (4, (0.6,))
        for repeats, asked in ((1, "once"), (2, "twice")):
            how = {"items": n, "p": p, "repeats": repeats}
            made.append((f"{kind} of {p}, {n}, {asked}, nothing planted", partial(study, **how)))
            made.append((f"{kind} of {p}, {n}, {asked}, leans that cancel 1.0", partial(study, **how, cancel=1.0)))
            made += [
                (f"{kind} of {p}, {n}, {asked}, first +{size}", partial(study, **how, size=size)) for size in sizes
            ]
        if kind == "pairs":
            name = f"pairs of 2, {n} questions of 4, twice, leans that cancel 1.0"
            made.append((name, partial(study, items=4 * n, repeats=2, cancel=1.0, of=4)))
    return made


def numbers(
    rng: np.random.Generator, units: int, p: int, size: float, of: int
) -> dict[str, tuple[float, float, float]]:
    """(value, low, high) of the primary rows of pairs or lists, each order asked twice."""
    position = winners(rng, units * of, p, size, 0.8, 2, 0.1, of)
    prompts = [f"q{k // of}" for k in range(units * of)]
    orders = rotations(p)
    (arm,) = Judgments(comparisons(position, orders, prompt=prompts)).arms
    made = topic.compared(arm)
    rows = [*topic.rates(made), *topic.shares(arm), topic.first_advantage(made), *topic.stability(arm)]
    rows += [
        *topic.win_rates(made),
        *topic.single_scores(arm, ("choice_change", "choice_repeat_change", "choice_excess")),
    ]
    return {f"{row.measure} {dict(row.of)}": (row.value, *row.interval) for row in rows if np.isfinite(row.value)}


def batch_numbers(rng: np.random.Generator, units: int, size: float) -> dict[str, tuple[float, float, float]]:
    score = batch_scores(rng, units, size, 0.3, 1)
    alone = np.rint(score.mean(axis=1) + 0.2 + rng.normal(0, 0.4, (units, 4))).clip(1, 5)
    arms = Judgments(responses(score, np.vstack([rotations(4), rotations(4)[:, ::-1]]), alone=alone)).arms
    rows = [*joint.shifts(arms[0], *joint.tables(arms[0])), *joint.company(arms)]
    return {f"{row.measure} {dict(row.of)}": (row.value, *row.estimate.interval(0.95)) for row in rows}


def coverage(studies: int, seed: int) -> None:
    designs: list[tuple[str, Callable[..., dict[str, tuple[float, float, float]]]]] = [
        (
            f"{'pairs' if p == 2 else 'lists of 4'}, first +{size}, {of} a question",
            partial(numbers, p=p, size=size, of=of),
        )
        for p, size, of in ((2, 0.0, 1), (2, 0.8, 1), (2, 0.8, 3), (4, 0.5, 1))
    ]
    designs.append(("4 answers a call, first +0.3 points", partial(batch_numbers, size=0.3)))
    for name, make in designs:
        truth = make(np.random.default_rng([seed, 10**6]), 20_000)
        for units in (30, 100):
            start, held, width = time.time(), defaultdict(list), defaultdict(list)
            for k in range(studies):
                for key, (_, low, high) in make(np.random.default_rng([seed, units, k]), units).items():
                    held[key].append(bool(low - 1e-9 <= truth[key][0] <= high + 1e-9) if np.isfinite(low) else False)
                    width[key].append(high - low)
            print(f"{name}, {units} units ({studies} studies, {time.time() - start:.0f} s)")
            for key, one in held.items():
                if np.isfinite(truth[key][1]):
                    print(f"  {key:<40} {np.mean(one):.3f}  width {np.mean(width[key]):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=["pairs", "lists", "responses", "coverage"])
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--deals", type=int, default=499, help="random deals a study; the lab uses 1,999")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    gates.DEALS = chosen.deals
    for part in chosen.parts:
        if part == "coverage":
            coverage(chosen.studies, chosen.seed)
            continue
        for name, make in cells_of(part):
            run_cell(name, make, chosen.studies, chosen.seed)


if __name__ == "__main__":
    main()
