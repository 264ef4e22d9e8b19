"""Intervals of what helps: how often they hold the number of very many items, and how wide they are.

    python -m benchmarks helps [--studies 300] [--items 30 60 100] [--first 0 1.0]

A latent-quality judge (``tests/tables.py``) asks every order twice; the truth is the mean over TRUTH large studies. Calls
needed are whole numbers: they are held against that of all large studies together. What was seen stands in ``MEASURED``.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Row
from tests.tables import balanced_orders, choose, options

MEASURED = """
Of very many items neighbouring pairs of orders alone used to be compared, which gives other odds than all pairs do wherever
the model is not the truth: the truth of .87 to .90 of neighbours and of what stands below was that other number. Pairs are drawn by
item now: odds of 10,000 items are within .02 of those of 1,000 (.07 before), and 600 studies a cell of 30 and 100 items (300 in one of
the eight; seed 77; mixed logit, and ordinal with a skewed trait and one call in ten for the first position) held positions in .922 to .967,
neighbours in .928 to .967. Dependability in one order: 300 studies a cell (seed 6), five judges with and without an effect of
the order, 30 / 100 items, 1 to 20 calls .920 to .987 / .940 to .980, in several orders .937 to .970 / .940 to .973; below, the
rule before it, which had no interval in 0 to 40 % of the studies and .876 of the others (one order, 20 calls, 30 items).
Row, truth, coverage, mean width, share of studies in which it is above 0.
30 items, first 0 (120 studies, 5 s)
  variance_share {'term': 'item'}                         +0.441  0.975  width 0.29
  variance_share {'term': 'order'}                        +0.000  1.000  width 0.01
  variance_share {'term': 'item x order'}                 +0.001  0.967  width 0.07
  variance_share {'term': 'noise'}                        +0.557  0.958  width 0.31
  dependability {'calls': 1}                              +0.441  0.975  width 0.28
  dependability {'calls': 5}                              +0.798  0.975  width 0.20
  dependability {'calls': 10}                             +0.888  0.975  width 0.13
  calls_needed {}                                         +12.000  0.983  width 15.30
  dependability {'calls': 1, 'protocol': 'one order'}     +0.441  0.975  width 0.28
  dependability {'calls': 10, 'protocol': 'one order'}    +0.885  0.965  width 0.40
  dependability {'calls': 20, 'protocol': 'one order'}    +0.938  0.930  width 0.55
  calls_needed {'protocol': 'one order'}                  +12.500  1.000  width 193.95
  gain {'protocol': 'average of orders'}                  +0.008  0.958  width 0.67  above 0 0.042
  budget_gain {'calls': 2}                                +0.002  0.950  width 0.33  above 0 0.000
  budget_gain {'calls': 3}                                +0.004  0.933  width 0.39  above 0 0.025
  budget_gain {'calls': 5}                                +0.005  0.917  width 0.48  above 0 0.033
  budget_gain {'calls': 10}                               +0.008  0.958  width 0.67  above 0 0.042
  gain {'protocol': 'best order'}                         -0.003  0.967  width 0.46  above 0 0.008
  position_odds {'position': 1}                           +0.997  0.942  width 0.37
  position_odds {'position': 2}                           +0.999  0.925  width 0.37
  position_odds {'position': 3}                           +1.007  0.967  width 0.36
  position_odds {'position': 4}                           +1.007  0.925  width 0.37
  position_odds {'position': 5}                           +0.997  0.958  width 0.37
  neighbour {'before': 1}                                 +0.996  0.958  width 0.58
  neighbour {'before': 2}                                 +1.014  0.967  width 0.59
  neighbour {'before': 3}                                 +0.995  0.925  width 0.51
  neighbour {'before': 4}                                 +0.990  0.958  width 0.56
  neighbour {'before': 5}                                 +1.003  0.967  width 0.60
60 items, first 0 (120 studies, 6 s)
  variance_share {'term': 'item'}                         +0.441  0.958  width 0.19
  variance_share {'term': 'order'}                        +0.000  0.983  width 0.01
  variance_share {'term': 'item x order'}                 +0.001  0.933  width 0.05
  variance_share {'term': 'noise'}                        +0.557  0.967  width 0.21
  dependability {'calls': 1}                              +0.441  0.975  width 0.19
  dependability {'calls': 5}                              +0.798  0.967  width 0.13
  dependability {'calls': 10}                             +0.888  0.967  width 0.08
  calls_needed {}                                         +12.000  0.983  width 9.44
  dependability {'calls': 1, 'protocol': 'one order'}     +0.441  0.975  width 0.19
  dependability {'calls': 10, 'protocol': 'one order'}    +0.885  0.949  width 0.22
  dependability {'calls': 20, 'protocol': 'one order'}    +0.938  0.905  width 0.41
  calls_needed {'protocol': 'one order'}                  +12.500  0.983  width 192.93
  gain {'protocol': 'average of orders'}                  +0.008  0.975  width 0.51  above 0 0.025
  budget_gain {'calls': 2}                                +0.002  0.975  width 0.21  above 0 0.017
  budget_gain {'calls': 3}                                +0.004  0.975  width 0.26  above 0 0.025
  budget_gain {'calls': 5}                                +0.005  0.958  width 0.34  above 0 0.025
  budget_gain {'calls': 10}                               +0.008  0.975  width 0.51  above 0 0.025
  gain {'protocol': 'best order'}                         -0.003  0.933  width 0.32  above 0 0.017
  position_odds {'position': 1}                           +0.997  0.958  width 0.25
  position_odds {'position': 2}                           +0.999  0.933  width 0.25
  position_odds {'position': 3}                           +1.007  0.950  width 0.26
  position_odds {'position': 4}                           +1.007  0.942  width 0.26
  position_odds {'position': 5}                           +0.997  0.942  width 0.26
  neighbour {'before': 1}                                 +0.996  0.975  width 0.41
  neighbour {'before': 2}                                 +1.014  0.892  width 0.39
  neighbour {'before': 3}                                 +0.995  0.908  width 0.34
  neighbour {'before': 4}                                 +0.990  0.900  width 0.40
  neighbour {'before': 5}                                 +1.003  0.900  width 0.41
30 items, first 1 (120 studies, 6 s)
  variance_share {'term': 'item'}                         +0.423  0.967  width 0.29
  variance_share {'term': 'order'}                        +0.018  0.942  width 0.04
  variance_share {'term': 'item x order'}                 +0.015  0.950  width 0.09
  variance_share {'term': 'noise'}                        +0.545  0.950  width 0.30
  dependability {'calls': 1}                              +0.423  0.975  width 0.28
  dependability {'calls': 5}                              +0.786  0.967  width 0.21
  dependability {'calls': 10}                             +0.880  0.967  width 0.14
  calls_needed {}                                         +13.000  0.975  width 16.77
  dependability {'calls': 1, 'protocol': 'one order'}     +0.423  0.975  width 0.28
  dependability {'calls': 10, 'protocol': 'one order'}    +0.829  0.983  width 0.33
  dependability {'calls': 20, 'protocol': 'one order'}    +0.875  0.981  width 0.40
  gain {'protocol': 'average of orders'}                  +0.086  0.950  width 0.69  above 0 0.117
  budget_gain {'calls': 2}                                +0.064  0.950  width 0.34  above 0 0.167
  budget_gain {'calls': 3}                                +0.066  0.942  width 0.41  above 0 0.125
  budget_gain {'calls': 5}                                +0.072  0.967  width 0.51  above 0 0.108
  budget_gain {'calls': 10}                               +0.086  0.950  width 0.69  above 0 0.117
  gain {'protocol': 'best order'}                         +0.160  0.908  width 0.52  above 0 0.075
  position_odds {'position': 1}                           +2.217  0.983  width 0.76
  position_odds {'position': 2}                           +0.815  0.925  width 0.34
  position_odds {'position': 3}                           +0.822  0.950  width 0.32
  position_odds {'position': 4}                           +0.819  0.942  width 0.33
  position_odds {'position': 5}                           +0.820  0.950  width 0.35
  neighbour {'before': 1}                                 +1.000  0.958  width 0.64
  neighbour {'before': 2}                                 +1.019  0.958  width 0.65
  neighbour {'before': 3}                                 +0.998  0.917  width 0.55
  neighbour {'before': 4}                                 +0.983  0.958  width 0.61
  neighbour {'before': 5}                                 +1.000  0.975  width 0.66
  calls_needed {'protocol': 'one order'}                  +39.500  1.000  width 193.12
60 items, first 1 (120 studies, 6 s)
  variance_share {'term': 'item'}                         +0.423  0.958  width 0.19
  variance_share {'term': 'order'}                        +0.018  0.933  width 0.03
  variance_share {'term': 'item x order'}                 +0.015  0.933  width 0.06
  variance_share {'term': 'noise'}                        +0.545  0.958  width 0.20
  dependability {'calls': 1}                              +0.423  0.950  width 0.19
  dependability {'calls': 5}                              +0.786  0.958  width 0.13
  dependability {'calls': 10}                             +0.880  0.958  width 0.09
  calls_needed {}                                         +13.000  0.975  width 10.16
  dependability {'calls': 1, 'protocol': 'one order'}     +0.423  0.950  width 0.19
  dependability {'calls': 10, 'protocol': 'one order'}    +0.829  0.958  width 0.21
  dependability {'calls': 20, 'protocol': 'one order'}    +0.875  0.958  width 0.28
  calls_needed {'protocol': 'one order'}                  +39.500  1.000  width 191.11
  gain {'protocol': 'average of orders'}                  +0.086  0.975  width 0.51  above 0 0.083
  budget_gain {'calls': 2}                                +0.064  0.950  width 0.22  above 0 0.267
  budget_gain {'calls': 3}                                +0.066  0.958  width 0.28  above 0 0.192
  budget_gain {'calls': 5}                                +0.072  0.967  width 0.36  above 0 0.092
  budget_gain {'calls': 10}                               +0.086  0.975  width 0.51  above 0 0.083
  gain {'protocol': 'best order'}                         +0.160  0.950  width 0.39  above 0 0.192
  position_odds {'position': 1}                           +2.217  0.942  width 0.52
  position_odds {'position': 2}                           +0.815  0.958  width 0.23
  position_odds {'position': 3}                           +0.822  0.958  width 0.23
  position_odds {'position': 4}                           +0.819  0.925  width 0.23
  position_odds {'position': 5}                           +0.820  0.933  width 0.24
  neighbour {'before': 1}                                 +1.000  0.950  width 0.45
  neighbour {'before': 2}                                 +1.019  0.883  width 0.43
  neighbour {'before': 3}                                 +0.998  0.900  width 0.38
  neighbour {'before': 4}                                 +0.983  0.867  width 0.43
  neighbour {'before': 5}                                 +1.000  0.925  width 0.44
"""
ORDERS = balanced_orders(5)
TRUTH, LARGE = 4, 4_000


def numbers(seed: list[int], items: int, first: float) -> dict[str, tuple[float, float, float]]:
    """(value, low, high) of every row with a value."""
    table = options(choose(np.random.default_rng(seed), items, ORDERS, first=first, repeats=2), ORDERS)
    arms = list(Judgments(table).arms)
    rows = [*TOPICS["reliability"].rows(arms), *TOPICS["protocols"].rows(arms), *TOPICS["choice"].rows(arms[0])]
    return {
        f"{row.measure} {dict(row.of)}": (row.value, *row.interval)
        for row in rows
        if isinstance(row, Row) and np.isfinite(row.value)
    }


def run_cell(items: int, first: float, studies: int, seed: int) -> None:
    start = time.time()
    large = [numbers([seed, 10**6 + k], LARGE, first) for k in range(TRUTH)]
    truth = {key: float(np.median([one[key][0] for one in large if key in one])) for key in large[0]}
    held: dict[str, list[bool]] = defaultdict(list)
    width: dict[str, list[float]] = defaultdict(list)
    helps: dict[str, list[bool]] = defaultdict(list)
    for k in range(studies):
        for key, (_, low, high) in numbers([seed, items, k], items, first).items():
            if np.isfinite(low) and key in truth:
                held[key].append(bool(low - 1e-9 <= truth[key] <= high + 1e-9))
                width[key].append(high - low)
                helps[key].append(low > 0)
    print(f"{items} items, first {first:g} ({studies} studies, {time.time() - start:.0f} s)")
    for key, one in held.items():
        said = f"  above 0 {np.mean(helps[key]):.3f}" if "gain" in key else ""
        print(f"  {key:<55} {truth[key]:+.3f}  {np.mean(one):.3f}  width {np.mean(width[key]):.2f}{said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--items", type=int, nargs="+", default=[30, 60, 100])
    parser.add_argument("--first", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--seed", type=int, default=2026)
    chosen = parser.parse_args()
    for first in chosen.first:
        for items in chosen.items:
            run_cell(items, first, chosen.studies, chosen.seed)


if __name__ == "__main__":
    main()
