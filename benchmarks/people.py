"""Intervals of the rows about people: how often they hold the number of very many items, and how wide they are.

    python -m benchmarks people [--studies 500] [--items 30 60 100] [--kinds even skewed] [--size 1 4]
    python -m benchmarks people --cost --items 2000

Judges and raters share a latent trait (``tests/tables.py``); the truth is the mean over TRUTH large studies.
Prints a line a cell: the lowest and highest coverage of each measure over its rows. What was seen stands in ``MEASURED``.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS as TOPIC
from tests.tables import in_forms, rows_of, study

MEASURED = """
500 studies a cell, seed 4711: 30, 60 and 100 single items, 30 and 100 prompts of four; even and skewed; lowest to highest of
all cells, in brackets the mean width at 30 even and 30 skewed items. r .944 to .976 (.22, .40), rho and tau .93 to .98, r of
one person .938 to .970 (.36, .62), budgets .932 to .976, shares .926 to .976, AC and ICC .93 to .975, limits of agreement .920
to .966 (1.26, 1.29), corrected means .926 to .962 (.85, .70), shares that pass .926 to .998 (near 1 at 30 skewed items: two
or three units are on the other side). Cells of the table of ratings by scores .910 to .994.
Weighted kappas and interval alpha before they were lengthened: .908 at 30 skewed items, .918 in 30 skewed prompts; since then
(seed 815) .934 to .964 at 30 skewed items (width .58 for .48); on other seeds .928 to .933 in 30 skewed prompts, .984 at most
at 30 even items. Difference of kappas with n - 1 degrees of freedom .908 at 100 skewed items, with fewer .948 to .967. The
advantage of the mean of all ratings, learnt from them: .892 at 30 even items, so it has no interval.
What topics share (ratings, mean scores, rounds) is computed once an arm: anew for each topic takes 1.20 times as long (--cost, 3,000
items, three forms, two strategies).
Kappas on fresh seeds and other judges (300 studies a cell, seed 52; a normal trait, a gamma one that piles up at the top, a t on 3;
items of unequal difficulty, three raters of unequal severity; 30 / 100 units of one and of three items): kappas .927 to .987, their
difference .933 to .963, all coefficients .917 (icc2_1 of people) to .987, limits .917 up, shares .910 (within_one of people) up;
the lowest three are of one cell, 100 single items of the normal trait, whose rows share their studies. With 1,000 new studies of
30 and of 100 such items (seed 77): all coefficients, shares and limits .924 to .985; a cell of ratings by scores .904 at 30.
"""

TOPICS = ("people", "agreement", "alt_test", "corrected_means")
TRUTH, LARGE = 6, 4_000


def cost(items: int, rounds: int = 5) -> None:
    """Seconds of all topics that read ratings, of three forms of the prompt in two strategies: what they share computed
    once an arm, and anew for each topic, one beside the other."""
    forms = {level: study(np.random.default_rng(k), items, fixed=4) for k, level in enumerate((0.0, 0.5, 1.0))}
    names = [*TOPICS, "variants", "ranking", "protocols"]
    spent: dict[bool, list[float]] = {True: [], False: []}
    for once in [True, False] * rounds:
        arms, start = Judgments(in_forms(forms, "temperature")).arms, time.perf_counter()
        for subject in [(TOPIC[name], part) for name in names for part in TOPIC[name].subjects(arms)]:
            list(subject[0].rows(subject[1]))
            for arm in arms if not once else []:
                arm.made.clear()
        spent[once].append(time.perf_counter() - start)
    kept, anew = min(spent[True]), min(spent[False])
    print(f"{items} items: {kept:.2f} s once an arm, {anew:.2f} s for each topic: {anew / kept:.2f} times")


def numbers(seed: list[int], items: int, size: int, kind: str, rated: float) -> dict[str, tuple[float, float, float]]:
    """(value, low, high) of every row with a value; those of single orders hold all at once and are not counted."""
    table = study(np.random.default_rng(seed), items, size=size, kind=kind, fixed=4, lost=0.03, unrated=1 - rated)
    rows = [row for topic in TOPICS for row in rows_of(table, topic)[0]]
    return {
        f"{row.measure} {dict(row.of)}": (row.value, *row.interval)
        for row in rows
        if np.isfinite(row.value) and row.level == 0.95
    }


def run_cell(items: int, size: int, kind: str, rated: float, studies: int, seed: int) -> None:
    start = time.time()
    large = [numbers([seed, 10**6 + k], LARGE, size, kind, rated) for k in range(TRUTH)]
    truth = {key: np.mean([one[key][0] for one in large if key in one]) for key in large[0]}
    held: dict[str, list[bool]] = defaultdict(list)
    width: dict[str, list[float]] = defaultdict(list)
    for k in range(studies):
        for key, (_, low, high) in numbers([seed, items, size, k], items, size, kind, rated).items():
            if np.isfinite(low) and key in truth:
                held[key].append(bool(low - 1e-9 <= truth[key] <= high + 1e-9))
                width[key].append(high - low)
    print(f"{items} items, {size} a prompt, {kind}, rated {rated:g} ({studies} studies, {time.time() - start:.0f} s)")
    by_measure: dict[str, list[tuple[float, str, float]]] = defaultdict(list)
    for key, one in held.items():
        if len(one) >= studies / 2:
            by_measure[key.split()[0]].append((float(np.mean(one)), key, float(np.mean(width[key]))))
    for measure, every in by_measure.items():
        low, high = min(every), max(every)
        print(f"  {measure:<20} {low[0]:.3f} to {high[0]:.3f}  width {low[2]:.2f}  lowest {low[1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--items", type=int, nargs="+", default=[30, 60, 100])
    parser.add_argument("--kinds", nargs="+", default=["even", "skewed"])
    parser.add_argument("--size", type=int, nargs="+", default=[1])
    parser.add_argument("--rated", type=float, default=0.9, help="share of ratings that are there")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--cost", action="store_true", help="seconds instead: what topics share, once or anew")
    chosen = parser.parse_args()
    for items in chosen.items if chosen.cost else []:
        cost(items)
    if chosen.cost:
        return
    for size in chosen.size:
        for kind in chosen.kinds:
            for items in chosen.items:
                run_cell(items, size, kind, chosen.rated, chosen.studies, chosen.seed)


if __name__ == "__main__":
    main()
