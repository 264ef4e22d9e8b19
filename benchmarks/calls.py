"""How many calls it takes to settle what the order does to the mean score, three ways.

The question: expected score under the ascending order less that under the descending one, against
a smallest effect of interest of 0.1 points. It is settled when the 95 % interval leaves out 0
(“effect”) or lies within ± 0.1 (“equivalent”).

* papers: every item under all ten balanced orders, one draw a call (eight of which do not answer
  this question), with Student's interval; the fewest items that settle 80 % of runs.
* equal: the same with equally many calls for the two orders and none for others: more items
  before more orders.
* lab: these two calls, the expected score from token probabilities instead of the draw, and a
  confidence sequence by betting that is looked at after every item. Also without probabilities.
* planned: the lab's two calls with probabilities, and Student's interval once, at a size that is known.

“bound” is what no procedure can go below with these measurements, whatever it does: one that settles
80 % of runs by n items, and is wrong in at most 2.5 %, is a test of n items, whose power is bounded by
Neyman and Pearson's (1933) most powerful one, for means of many items ((z + z') sd / distance)^2; on
average by Wald's (1947, Sequential Analysis, A:72) inequality for the same two errors. Without
probabilities the bound stands at 0.20 of the papers' calls for every judge, and “equal”, which knows its
size, reaches it: what may be looked at all the time cannot, by 80 % of runs. Where probabilities save
little (“ties”, whose noise is its items') the bound is about 0.16, which “planned” reaches and “lab” does
not: looking at any time costs it more than the difference. It pays less on average, since most runs stop
sooner: “mean” is what a user spends. Nothing else is left that costs no calls. A repeat of an order is
no control: of m items read r times each way the variance is (items' own + noise / r) / m at 2 r m calls,
least at r = 1, where every call buys a new item. A property of the items that goes with the shift could
be one only where its mean over all items is known, and the shift of most is far from any known property.

Judges: three simulated families with leanings of their own, and two real embedded models whose
recorded judgments of the shipped example (24 items under all ten orders, with probabilities) are
the population that items are drawn from. Real judges have the shift they have; beside it stands
the same with ascending and descending exchanged at random for each item, whose shift is 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from scipy import stats

from rubriclab.judges.families import FAMILIES, Floats, drawn, score_chances, strength_for
from rubriclab.model import SMALLEST_EFFECT
from rubriclab.model.places import EXAMPLE
from rubriclab.stats.ordering import rotations
from rubriclab.stats.sequential import rejected
from rubriclab.store import Store
from rubriclab.store.archive import read_archive

KINDS = ("latent trait", "mixed logit", "ties")
SHIFTS = (0.0, 2.0, 4.0)
"""True shifts, in smallest effects of interest."""
GOAL = 0.2
POWER = 0.8
ERROR = 0.025
"""On the side of a verdict: a 95 % interval has as much on each."""
FEWEST = 10
"""Units below which the lab gives no interval of fixed size."""
MOST = 4_000
"""Items after which a sequence that has not settled is given up."""
POINTS = np.arange(5.0)
ORDERS = np.array([rotations(5)[k % len(rotations(5))] for k in range(10)])
PLACE = {tuple(order): k for k, order in enumerate(ORDERS.tolist())}
"""Which of the ten orders it is."""
ASCENDING, DESCENDING = PLACE[0, 1, 2, 3, 4], PLACE[4, 3, 2, 1, 0]
Chances = Callable[[int, np.random.Generator], Floats]
"""The chances of every score, (items, 10 orders, 5), of so many items drawn anew."""


@dataclass(frozen=True)
class Judge:
    name: str
    shift: float
    chances: Chances


@dataclass(frozen=True)
class Way:
    """One way of settling it for one judge. ``calls``: by which 80 % of runs are settled, None
    where fewer are within MOST items; ``mean``: of all runs; ``bound``, ``mean_bound``: below which
    no way with the same measurements gets, for normal means. ``effect``, ``equivalent``: how often
    each is said."""

    judge: str
    shift: float
    way: str
    calls: float | None
    mean: float
    effect: float
    equivalent: float
    wrong: float
    bound: float
    mean_bound: float
    of_papers: float | None = None
    mean_of_papers: float | None = None
    bound_of_papers: float | None = None
    mean_bound_of_papers: float | None = None


# ---------------------------------------------------------------- judges


def simulated() -> Iterator[Judge]:
    for name in KINDS:
        for times in SHIFTS:
            shift = times * SMALLEST_EFFECT
            strength = strength_for(name, "options", shift) if shift else 0.0

            def chances(items: int, rng: np.random.Generator, name: str = name, strength: float = strength) -> Floats:
                family = FAMILIES[name]
                people = drawn(family, items, places=5, leanings="own", rng=rng)
                return score_chances(family, people, ORDERS, strength)

            # What stands first pulls: the ascending order has the lower scores.
            yield Judge(name, -shift if shift else 0.0, chances)


def recorded() -> Iterator[Judge]:
    """The real judges of the recorded example, as their shift is and with it taken away."""
    with Store(":memory:") as store:
        read_archive(store, EXAMPLE.read_bytes())
        data = store.frame(store.runs()[0].run, probabilities=True)
    assert data.probabilities is not None
    for code, arm in enumerate(data.arms):
        if arm.strategy != "balanced":
            continue
        table = np.full((len(data.items), 10, 5), np.nan)
        rows = data.judgments[mine := (data.judgments["arm"] == code).to_numpy()]
        for item, order, by_place in zip(
            rows["item"].tolist(), rows["ordering"].tolist(), data.probabilities[mine], strict=True
        ):
            shown = [int(score) - 1 for score in data.orderings[order].shown]
            table[item, PLACE[tuple(shown)], shown] = by_place[:5]
        shift = float((table[:, ASCENDING] - table[:, DESCENDING]).mean(axis=0) @ POINTS)
        yield Judge(f"{arm.judge} (recorded)", shift, _resampled(table))
        yield Judge(f"{arm.judge} (recorded, exchanged)", 0.0, _exchanged(table))


def _resampled(table: Floats) -> Chances:
    return lambda items, rng: table[rng.integers(0, len(table), items)]


def _exchanged(table: Floats) -> Chances:
    """Every order of an item exchanged with its reverse, or not, by the toss of a coin."""
    reverse = [PLACE[tuple(order[::-1])] for order in ORDERS.tolist()]

    def chances(items: int, rng: np.random.Generator) -> Floats:
        found = table[rng.integers(0, len(table), items)]
        turned = rng.random(items) < 0.5
        found[turned] = found[turned][:, reverse]
        return found

    return chances


# ---------------------------------------------------------------- ways


def draws(chances: Floats, rng: np.random.Generator) -> Floats:
    """One drawn score for each row of chances."""
    edges = np.cumsum(chances, axis=-1)[..., :-1]
    return np.asarray((rng.random(chances.shape[:-1])[..., None] > edges).sum(axis=-1) * 1.0)


def compare(judge: Judge, *, studies: int, seed: int) -> list[Way]:
    """All ways of settling it for one judge."""
    rng = np.random.default_rng(seed)
    pair = [ASCENDING, DESCENDING]

    def expected_shift(chances: Floats) -> Floats:
        return np.asarray(-np.diff(chances[:, pair] @ POINTS)[:, 0])

    def drawn_shift(chances: Floats) -> Floats:
        return np.asarray(-np.diff(draws(chances[:, pair], rng))[:, 0])

    ways = [
        _fixed(judge, "papers", 10, drawn_shift, studies, rng),
        _fixed(judge, "equal", 2, drawn_shift, studies, rng),
        _sequential(judge, "lab, without probabilities", drawn_shift, studies, rng),
        _fixed(judge, "planned", 2, expected_shift, studies, rng),
        _sequential(judge, "lab", expected_shift, studies, rng),
    ]
    full = ways[0].calls
    return [
        replace(
            way,
            of_papers=way.calls / full if full and way.calls else None,
            mean_of_papers=way.mean / full if full else None,
            bound_of_papers=way.bound / full if full else None,
            mean_bound_of_papers=way.mean_bound / full if full else None,
        )
        for way in ways
    ]


def _fixed(
    judge: Judge, way: str, calls: int, measured: Callable[[Floats], Floats], studies: int, rng: np.random.Generator
) -> Way:
    """The fewest items by which 80 % of runs are settled, and what runs of that size say."""
    mean, sd = judge.shift, float(measured(judge.chances(20_000, rng)).std())
    items = max(FEWEST, int(np.ceil(fewest(mean, sd, 1)[0])) + 2)
    values = np.stack([measured(judge.chances(items, rng)) for _ in range(studies)])
    error = values.std(axis=1, ddof=1) / np.sqrt(items)
    reach = stats.t.ppf(0.975, items - 1) * error
    low, high = values.mean(axis=1) - reach, values.mean(axis=1) + reach
    equivalent = (low > -SMALLEST_EFFECT) & (high < SMALLEST_EFFECT)
    up, down = (low > 0) & ~equivalent, (high < 0) & ~equivalent
    least = fewest(mean, sd, calls)
    return _way(judge, way, float(items * calls), float(items * calls), up, down, equivalent, least)


def fewest(shift: float, sd: float, calls: int) -> tuple[float, float]:
    """(calls by which 80 % of runs are settled, calls on average) below which no procedure gets.

    ``sd``: of an item's measurement, made with so many ``calls``. A shift is told from 0, or, being
    smaller than half of what is of interest, from both edges of equivalence.
    """
    away, missed = max(abs(shift), SMALLEST_EFFECT - abs(shift)), 1.0 - POWER
    none = abs(shift) <= SMALLEST_EFFECT / 2
    z = stats.norm.ppf(1.0 - ERROR) + stats.norm.ppf(1.0 - (missed / 2 if none else missed))
    told = POWER * np.log(POWER / ERROR) + missed * np.log(missed / (1.0 - ERROR))
    return float(calls * (z * sd / away) ** 2), float(calls * 2.0 * told * (sd / away) ** 2)


def _sequential(
    judge: Judge, way: str, measured: Callable[[Floats], Floats], studies: int, rng: np.random.Generator
) -> Way:
    """Two calls an item until the sequence settles it."""
    s, stops, said = SMALLEST_EFFECT, [], []
    sd = float(measured(judge.chances(20_000, rng)).std())
    for _ in range(studies):
        values = measured(judge.chances(MOST, rng))
        low, high = rejected(values, reach=POINTS[-1], sesoi=s, means=(-s, 0.0, s))
        at = np.array([low[1], high[1], max(low[0], high[2])])
        first = int(at.argmin())
        stops.append(at[first])
        said.append(first if np.isfinite(at[first]) else -1)
    calls = np.quantile(stops, POWER, method="higher") * 2
    verdict = np.array(said)
    mean = 2.0 * float(np.minimum(stops, MOST).mean())
    return _way(
        judge,
        way,
        float(calls) if np.isfinite(calls) else None,
        mean,
        verdict == 0,
        verdict == 1,
        verdict == 2,
        fewest(judge.shift, sd, 2),
    )


def _way(
    judge: Judge,
    way: str,
    calls: float | None,
    mean: float,
    up: np.ndarray,
    down: np.ndarray,
    equivalent: np.ndarray,
    least: tuple[float, float],
) -> Way:
    """``wrong``: “effect” of none or the wrong way round, “equivalent” of an effect of interest."""
    sides = [down, up] if judge.shift < 0 else [up, down]
    wrong = (up | down) if judge.shift == 0 else sides[1]
    if abs(judge.shift) >= SMALLEST_EFFECT:
        wrong = wrong | equivalent
    return Way(
        judge.name,
        judge.shift,
        way,
        calls,
        mean,
        float((up | down).mean()),
        float(equivalent.mean()),
        float(wrong.mean()),
        *least,
    )


# ---------------------------------------------------------------- what is printed


def bars(found: Sequence[Way]) -> dict[str, bool]:
    """The goal for every judge and shift, and the error rates over all."""
    lab = [way for way in found if way.way == "lab"]
    return {
        **{
            f"{way.judge}, true shift {way.shift:+.2f}: "
            + (f"{way.of_papers:.2f} of the papers' calls" if way.of_papers else "not settled")
            + f", {way.mean_of_papers or 0.0:.2f} on average (goal {GOAL:g}; no way with these measurements is below "
            f"{way.bound_of_papers or 0.0:.2f}, {way.mean_bound_of_papers or 0.0:.2f} on average)": way.of_papers
            is not None
            and way.of_papers <= GOAL
            for way in lab
        },
        f"wrong verdicts of the lab at most 5 % on average (mean {np.mean([w.wrong for w in lab]):.1%}, worst "
        f"{max(w.wrong for w in lab):.1%})": float(np.mean([w.wrong for w in lab])) <= 0.05,
    }


def table(found: Sequence[Way]) -> str:
    head = f"{'judge':32}{'shift':>7}  {'way':28}{'calls':>8}{'mean':>8}{'of papers':>11}{'mean of':>9}{'bound':>7}"
    lines = [f"{head}{'effect':>9}{'equiv.':>8}{'wrong':>8}"]
    for way in found:
        calls = f"{way.calls:,.0f}" if way.calls is not None else f"> {2 * MOST:,}"
        kept = (way.of_papers, way.mean_of_papers, way.bound_of_papers)
        part, average, bound = (f"{one:.2f}" if one is not None else "-" for one in kept)
        lines.append(
            f"{way.judge:32}{way.shift:>+7.2f}  {way.way:28}{calls:>8}{way.mean:>8,.0f}{part:>11}{average:>9}{bound:>7}"
            f"{way.effect:>9.1%}{way.equivalent:>8.1%}{way.wrong:>8.1%}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Compare, print, and say which goals are met; 0 where all are."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks calls", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=400, help="simulated runs of each way")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    judges = [*simulated(), *recorded()]
    found: list[Way] = []
    started = time.monotonic()
    for done, judge in enumerate(judges, 1):
        found += compare(judge, studies=options.studies, seed=options.seed + done)
        if sys.stderr.isatty():
            seconds = time.monotonic() - started
            print(f"{done}/{len(judges)} judges, {seconds:.0f} s", file=sys.stderr, flush=True)
    goals = bars(found)
    if options.json:
        print(json.dumps({"ways": [asdict(way) for way in found], "bars": goals}))
    else:
        print(
            f"calls: by which {POWER:.0%} of {options.studies:,} runs are settled; mean: over all "
            f"runs (lab: given up at {2 * MOST:,}); wrong: “effect” of none or the wrong way "
            "round, “equivalent” of an effect of interest\n"
        )
        print(table(found))
        print("\n".join(f"{'met   ' if met else 'MISSED'}  {bar}" for bar, met in goals.items()))
    return 0 if all(goals.values()) else 1
