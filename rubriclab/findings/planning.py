"""What a study costs and what it can see: calls, tokens, money, time, power, when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from rubriclab.findings.frame import count_table, mean_by, option_rows, units
from rubriclab.model import Arm, RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import plural
from rubriclab.stats import planning as stats
from rubriclab.stats.assurance import assurance, units_assured
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.planning import DesignCost, Noise, Shape, Stop
from rubriclab.stats.position import deviations

PER_MILLION = 1_000_000
READS_TO_TRY = (1, 2, 3, 5, 10, 20)
CURVE_POINTS = 25
NoiseSource = Literal["pilot", "stated"]


@dataclass(frozen=True)
class Plan:
    """What a study will take. None where the price or the rate is not known.

    ``seconds`` at the rate given; ``money`` in the unit of the prices.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    money: float | None
    seconds: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class PowerPoint:
    """Power of the average-effect test with ``items`` units."""

    items: int
    power: float


@dataclass(frozen=True)
class PowerPlan:
    """Items and reads that an effect of V = ``effect_v`` needs.

    ``items``/``reads``: the design asked about, ``power_now`` its power, ``assurance_now`` the
    power averaged over what the pilot leaves open (NaN without a pilot). ``items_needed`` at these
    reads, None if no number reaches ``target``; ``items_assured``: for an assurance of as much. ``designs``: those that reach it, cheapest
    first. ``unit``: what counts as an item in the test (a block where the data have blocks).
    """

    name: str
    noise: NoiseSource
    unit: str
    n_options: int
    effect_v: float
    shape: Shape
    alpha: float
    target: float
    items: int
    reads: int
    power_now: float
    assurance_now: float
    items_needed: int | None
    items_assured: int | None
    curve: tuple[PowerPoint, ...]
    designs: tuple[DesignCost, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Planning:
    """Power plans from a run's arms as pilots, and the state of the stop rule for each."""

    plans: tuple[PowerPlan, ...]
    stops: dict[str, Stop]
    excluded: dict[str, int]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Aim:
    """The effect to be seen, by which test, with what power, among how many items at most."""

    effect_v: float
    shape: Shape
    target: float
    alpha: float
    max_items: int | None

    @property
    def test(self) -> dict[str, float]:
        return {"target": self.target, "alpha": self.alpha}


def cost(
    *,
    calls: int,
    input_tokens_per_call: float,
    output_tokens_per_call: float,
    price_input: float | None = None,
    price_output: float | None = None,
    calls_per_second: float | None = None,
    failure_rate: float = 0.0,
) -> Plan:
    """Tokens, money and time of ``calls`` calls. Prices are per million tokens.

    ``calls_per_second``: a measured rate over all concurrent calls. ``failure_rate``: share of
    calls that will be asked a second time; they are counted in tokens, money and time.
    Raises ValueError for negative numbers.
    """
    given = (calls, input_tokens_per_call, output_tokens_per_call, failure_rate)
    if min(given) < 0 or failure_rate >= 1:
        raise ValueError("calls, tokens and failure rate must not be negative, the rate below 1")
    asked = calls / (1 - failure_rate)
    tokens_in = math.ceil(asked * input_tokens_per_call)
    tokens_out = math.ceil(asked * output_tokens_per_call)
    warnings = []
    money = None
    if price_input is None or price_output is None:
        warnings.append(tr("No price was given: the money is not worked out."))
    else:
        money = (tokens_in * price_input + tokens_out * price_output) / PER_MILLION
    seconds = None
    if calls_per_second is None or calls_per_second <= 0:
        warnings.append(tr("No rate was measured: the time is not worked out."))
    else:
        seconds = asked / calls_per_second
    return Plan(calls, tokens_in, tokens_out, money, seconds, tuple(warnings))


def stated_power(
    *,
    n_options: int,
    items: int,
    reads: int,
    effect_v: float,
    randomness: float = 1.0,
    item_sd: float = 0.0,
    shape: Shape = "first",
    target: float = 0.8,
    alpha: float = 0.05,
    max_items: int | None = None,
) -> PowerPlan:
    """Power from a stated noise level; see :func:`rubriclab.stats.planning.noise_from_level`.

    ``randomness`` is for orderings that are balanced over each item's reads (multiples of 2n);
    randomly drawn orderings always have 1.
    """
    loose = stats.noise_from_level(n_options, randomness=1.0, item_sd=item_sd)
    even = stats.noise_from_level(n_options, randomness=randomness, item_sd=item_sd)
    cycle = 2 * n_options
    options = {"random": (loose, READS_TO_TRY), "balanced": (even, (cycle, 2 * cycle))}
    noise = even if reads % cycle == 0 else loose
    warning = tr("The noise is stated, not measured: run a pilot to check it.")
    return _plan(
        tr("stated noise"),
        "stated",
        "item",
        noise,
        0,
        options,
        items,
        reads,
        _Aim(effect_v, shape, target, alpha, max_items),
        (warning,),
    )


def planning(
    data: RunData,
    *,
    effect_v: float = 0.1,
    shape: Shape = "first",
    target: float = 0.8,
    alpha: float = 0.05,
    max_items: int | None = None,
    half_width: float = 0.05,
    look: int = 1,
    items: int | None = None,
    reads: int | None = None,
) -> Planning:
    """Take every arm that reorders score options as a pilot; say what a study would need.

    ``items``, ``reads``: the design whose power is asked for; the pilot's own by default.
    ``max_items``: the items there are to judge. ``half_width`` and ``look``: the stop rule, how
    narrow the interval on V has to be and the how-many-eth time one looks.
    """
    aim = _Aim(effect_v, shape, target, alpha, max_items)
    plans: list[PowerPlan] = []
    stops: dict[str, Stop] = {}
    excluded: dict[str, int] = {}
    for _, arm, judgments in data.by_arm():
        if arm.axis != "options" or not len(judgments):
            continue
        pilot = _pilot(data, arm, judgments)
        name = str(arm)
        if pilot.unread:
            excluded[tr("{name}: unread", name=name)] = pilot.unread
        if len(pilot.shares) and pilot.several:
            stops[name] = stats.stop_rule(pilot.shares, target=half_width, look=look, alpha=alpha)
        if pilot.noise is None:
            excluded[tr("{name}: not a pilot ({reason})", name=name, reason=pilot.reason)] = len(judgments)
            continue
        plans.append(_pilot_plan(arm, pilot, pilot.noise, aim, items, reads))
    warnings = () if plans else (tr("No arm of this run can serve as a pilot."),)
    return Planning(tuple(plans), stops, excluded, warnings)


def _pilot_plan(arm: Arm, pilot: _Pilot, noise: Noise, aim: _Aim, items: int | None, reads: int | None) -> PowerPlan:
    return _plan(
        str(arm),
        "pilot",
        pilot.unit,
        noise,
        len(pilot.shares),
        {arm.strategy: (noise, pilot.tries)},
        len(pilot.shares) if items is None else items,
        pilot.reads if reads is None else reads,
        aim,
        pilot.warnings,
    )


# ---------------------------------------------------------------- a pilot


@dataclass(frozen=True)
class _Pilot:
    shares: Floats
    noise: Noise | None
    reads: int
    tries: tuple[int, ...]
    unit: str
    unread: int
    several: bool
    reason: str
    warnings: tuple[str, ...]


def _pilot(data: RunData, arm: Arm, judgments: pd.DataFrame) -> _Pilot:
    """Units' shares, and the noise in them split between items and reads."""
    rows = option_rows(data, arm, judgments)
    half = _half(judgments)
    counts = count_table(
        (rows.item[rows.ok], rows.n_items), (half[rows.ok], 2), (rows.position[rows.ok], rows.n)
    ).astype(np.float64)
    grouping = units(data.items, data.unit)
    unit = np.unique(grouping.code[rows.item_code], return_inverse=True)[1]
    shares = _shares(counts.sum(axis=1), unit)
    reads = max(1, round(len(judgments) / max(1, rows.n_items)))
    several = len(np.unique(rows.ordering[rows.ok])) > 1
    noise, reason = _noise(counts, unit, reads) if several else (None, tr("one order only"))
    random = "random" in arm.strategy
    tries = READS_TO_TRY if random else tuple(reads * m for m in (1, 2, 3))
    warnings = (
        ()
        if len(shares) >= 30
        else (
            tr(
                "The pilot has {n} {units}: its noise is itself uncertain.",
                n=len(shares),
                units=plural(grouping.kind, 2),
            ),
        )
    )
    unread = int((~rows.ok).sum())
    return _Pilot(shares, noise, reads, tries, grouping.kind, unread, several, reason, warnings)


def _shares(counts: Floats, unit: Ints) -> Floats:
    """Mean share of each position by unit, (units, n), from items' counts (items, n)."""
    n = counts.shape[1]
    read = counts.sum(axis=1) > 0
    if not read.any():
        return np.empty((0, n))
    return _unit_means(deviations(counts[read]) + 1.0 / n, unit[read])


def _noise(counts: Floats, unit: Ints, reads: int) -> tuple[Noise | None, str]:
    """The noise of the items read twice or more, or None and why there are too few.

    ``counts``: (items, 2, n). The two halves of every item's reads are the replicates: each is
    balanced in a balanced design, and a random half of a random one.
    """
    n = counts.shape[2]
    both = (counts.sum(axis=2) > 0).all(axis=1)
    if int(both.sum()) < 3 * n:
        return None, tr("{read} items read twice or more, {needed} needed", read=int(both.sum()), needed=3 * n)
    halves = counts[both] / counts[both].sum(axis=2, keepdims=True)
    by_unit = _unit_means(halves, unit[both])
    if len(by_unit) < 2:
        return None, tr("one block only")
    return stats.noise_from_replicates(by_unit, reads_each=max(1, reads // 2)), ""


def _unit_means(values: Floats, unit: Ints) -> Floats:
    kept = np.unique(unit, return_inverse=True)[1]
    return mean_by(kept, values, int(kept.max()) + 1)


def _half(judgments: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """0 for the first half of each item's reads, 1 for the second.

    Ranked within the item: ``repeat`` counts equal prompts over all arms of a study, so it
    says little about a read's place in its own arm.
    """
    item = judgments["item"].to_numpy().astype(np.int64)
    order = np.lexsort((judgments["repeat"].to_numpy(), judgments["read"].to_numpy(), item))
    size = np.bincount(item)
    start = np.cumsum(size) - size
    rank = np.empty(len(item), dtype=np.int64)
    rank[order] = np.arange(len(item)) - start[item[order]]
    return np.asarray(2 * rank >= size[item], dtype=np.int64)


def _plan(
    name: str,
    source: NoiseSource,
    unit: str,
    noise: Noise,
    pilot: int,
    options: dict[str, tuple[Noise, tuple[int, ...]]],
    items: int,
    reads: int,
    aim: _Aim,
    warnings: tuple[str, ...],
) -> PowerPlan:
    """Power now, its curve over items, and the designs that reach the target.

    ``pilot``: units of the pilot that the noise comes from; 0 for noise as stated.
    """
    covariance = noise.covariance(reads)
    n, alpha = len(covariance), aim.alpha
    effect = stats.effect_vector(aim.effect_v, n, aim.shape, covariance)
    needed = stats.units_needed(effect, covariance, **aim.test)
    designs = stats.designs(aim.effect_v, aim.shape, options, max_items=aim.max_items, **aim.test)
    return PowerPlan(
        name=name,
        noise=source,
        unit=unit,
        n_options=n,
        effect_v=aim.effect_v,
        shape=aim.shape,
        alpha=alpha,
        target=aim.target,
        items=items,
        reads=reads,
        power_now=stats.power(effect, covariance, items, alpha=alpha),
        assurance_now=assurance(effect, covariance, items, pilot=pilot, alpha=alpha),
        items_needed=needed,
        items_assured=units_assured(effect, covariance, pilot=pilot, **aim.test),
        curve=_curve(effect, covariance, max(items, 2 * (needed or items), 3 * n + 1), alpha),
        designs=designs,
        warnings=(*warnings, *_plan_warnings(unit, items, n, aim.target, bool(designs))),
    )


def _curve(effect: Floats, covariance: Floats, last: int, alpha: float) -> tuple[PowerPoint, ...]:
    grid = np.unique(np.geomspace(len(effect) + 1, last, CURVE_POINTS).round().astype(int))
    return tuple(PowerPoint(int(k), stats.power(effect, covariance, int(k), alpha=alpha)) for k in grid)


def _plan_warnings(unit: str, items: int, n: int, target: float, reached: bool) -> Iterator[str]:
    if not reached:
        yield tr("No design tried reaches {target:.0%} power with these items.", target=target)
    if items < 3 * n:
        yield tr(
            "Below {n} {units} the lab tests by sign flips, not by the test planned here.",
            n=3 * n,
            units=plural(unit, 2),
        )
