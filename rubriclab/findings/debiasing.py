"""Is one corrected call as good as many? The one-call debiaser on items it has not seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np

from rubriclab.findings.debiasing_methods import CONTROL, Key, Measured, Tally, learn, split_tallies, without_units
from rubriclab.findings.debiasing_reads import SOURCE_NAMES, Group, Source, grid_groups, reads_grid
from rubriclab.findings.debiasing_results import BreakEven, Debiased, Debiasing, Gain, Standing, debiasing_advice
from rubriclab.findings.effects import in_points
from rubriclab.findings.frame import Bools, side_by_side
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.topic import DocumentPart, Question, Topic
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import debiasing as stats
from rubriclab.stats.human_correlation import gain
from rubriclab.stats.inference import NO_INTERVAL, Interval

PROBE_ITEMS = 50
SPLITS = 10
MIN_ITEMS = 20
BOTH_ROLES = math.sqrt(2.0)
"""Units both teach the correction and try it, and are left out where they try it alone. Of a product of
the two, which is all that a needless correction does, this is half of the variance; of a correction that
matters it is nearly all. Without it the gain held in 0.86 of 120 studies of 60 items of a mixed logit."""
WITHIN_NOISE = msg("no call lies farther from the mean over all orders than that mean's own noise")
DEFINITION = msg(
    "Root mean square difference between an item's score under each method and its mean over the "
    "reference reads, less the noise of that reference: one half of the design's orderings, in which "
    "every option stands at every position equally often. Calls come from the other half or from "
    "other arms, so no read is compared with itself; the halves swap between splits. The position "
    "prior comes from probe items alone; everything is measured on the other items."
)


def debiasing(
    data: RunData, *, probe_items: int = PROBE_ITEMS, splits: int = SPLITS, seed: int = 0, target: RunData | None = None
) -> Debiasing:
    """Compare one corrected call with 1 to 10 plain ones, per judge, data set and variant.

    With token probabilities both sources are shown: probabilities (every method's outcome is
    the expected score) and counts (its outcome is the score named). ``probe_items`` is capped
    at half of the items. Methods whose reads the run does not hold are left out. ``target``: what
    was learnt here is measured on all items of that run, which was asked alike: with many items,
    the true values of what this run estimates.
    """
    entries: list[Debiased] = []
    gains: list[Gain] = []
    evens: list[BreakEven] = []
    priors: dict[str, tuple[float, ...]] = {}
    excluded: dict[str, int] = {}
    warnings: list[str] = []
    groups = grid_groups(data, seed)
    pairs = zip(groups, repeat(None) if target is None else _as_one(target, seed), strict=False)
    for part in side_by_side(lambda both: _compare(data, *both, probe_items, splits, seed), pairs):
        entries += part.entries
        gains += part.gains
        evens += part.evens
        priors |= part.priors
        for reason, count in part.excluded.items():
            excluded[reason] = excluded.get(reason, 0) + count
        warnings += [text for text in part.warnings if text not in warnings]
    if not entries and not warnings:
        warnings.append(tr("No arm reads items under several orders: there is nothing to compare."))
    return Debiasing(tuple(entries), tuple(gains), tuple(evens), priors, excluded, splits, DEFINITION, tuple(warnings))


def _as_one(data: RunData, seed: int) -> Iterator[Group]:
    """Groups of one unit: of true values no interval is wanted, which costs most."""
    return (replace(group, unit=np.zeros_like(group.unit)) for group in grid_groups(data, seed))


def place_prior(data: RunData, code: int) -> tuple[float, ...] | None:
    """The prior of the places of one arm, by position, from all of its reads.

    For correcting calls about other items (``stats.debiasing.divide_out``). None without token
    probabilities or where every item was read in one order.
    """
    judgments = next(rows for arm, _, rows in data.by_arm() if arm == code)
    if data.probabilities is None or judgments.empty:
        return None
    item = np.unique(judgments["item"].to_numpy().astype(np.int64))
    grid = reads_grid(data, code, data.arms[code], judgments, item)
    if grid.chances is None:
        return None
    learned = learn(grid, np.arange(len(item)), "probabilities")
    return None if learned is None else tuple(learned.prior.tolist())


@dataclass
class _Compared:
    entries: list[Debiased] = field(default_factory=list)
    gains: list[Gain] = field(default_factory=list)
    evens: list[BreakEven] = field(default_factory=list)
    priors: dict[str, tuple[float, ...]] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def _compare(data: RunData, group: Group, target: Group | None, probe_items: int, splits: int, seed: int) -> _Compared:
    """All methods of one group, from every source the run has; see :func:`debiasing` for ``target``."""
    compared = _Compared()
    name = f"{group.reference.arm.judge} · {group.reference.arm.dataset}"
    readable: Bools = np.asarray((group.reference.score >= 0).any(axis=1))
    n_readable = int(readable.sum())
    lacking = _why_nothing_to_compare(group, n_readable)
    if lacking:
        compared.warnings.append(f"{name}: {lacking}")
        return compared
    if not readable.all():
        compared.excluded[msg("items without a readable read")] = len(group.human) - n_readable
    if group.not_drawn:
        compared.excluded[msg("items not drawn from a large run")] = group.not_drawn
    probe_size = min(probe_items, n_readable // 2)
    compared.warnings += _design_warnings(group, name)
    sources: tuple[Source, ...] = ("counts",)
    if group.has_probabilities:
        sources = ("probabilities", "counts")
    for source in sources:
        tallies, prior = split_tallies(group, source, readable, probe_size, splits, seed, target)
        if prior is None:
            compared.warnings.append(
                tr(
                    "{name}: the probe gives no position prior from {source}; no debiaser is shown. It takes items "
                    "read in several orders, and answers that vary.",
                    name=name,
                    source=tr(SOURCE_NAMES[source]),
                )
            )
        else:
            compared.priors[f"{name} · {source}"] = tuple(prior.tolist())
        entries = _entries(target or group, source, tallies, probe_size)
        compared.entries += entries
        if (gain := _gain(data, group, entries)) is not None:
            compared.gains.append(gain)
        compared.evens += _break_even(entries, gain)
    return compared


def _why_nothing_to_compare(group: Group, readable: int) -> str:
    """What a group lacks to hold items or reads out; empty where it has enough."""
    if readable < MIN_ITEMS:
        return tr(
            "{readable} readable {items:item is|items are} too few to hold some out (at least {least}).",
            readable=readable,
            items=many(readable, "item"),
            least=MIN_ITEMS,
        )
    if group.reference.score.shape[1] < 2:
        return tr(
            "every item was read once, in one order (strategy “{strategy}”): there is no position prior, "
            "since none can be learnt from single reads, and no mean over other reads to compare with. Read "
            "items twice or more to see the debiaser.",
            strategy=group.reference.arm.strategy,
        )
    return ""


def _design_warnings(group: Group, name: str) -> list[str]:
    warnings = []
    columns = group.reference.column_ordering
    if columns is None or not stats.halves(group.reference.position[columns]).balanced:
        warnings.append(
            tr(
                "{name}: the reference reads cannot be cut into two halves that show every option at every "
                "position equally often; the reference itself leans with the order.",
                name=name,
            )
        )
    if group.random is None:
        warnings.append(
            tr(
                "{name}: no random arm in this run; “balanced” draws its calls at random from the design's "
                "orderings and stands in for it.",
                name=name,
            )
        )
    if group.fixed is None:
        warnings.append(
            tr(
                "{name}: no fixed arm in this run; the one fixed call is the design's own read in ascending "
                "order, where the design has one.",
                name=name,
            )
        )
    return warnings


# ---------------------------------------------------------------- results


def _entries(group: Group, source: Source, tallies: dict[Key, Tally], probe_size: int) -> list[Debiased]:
    """Means over items; the intervals leave out one unit after the other, the same for every method."""
    measured = without_units(tallies, group.human, group.unit)
    return [
        _entry(group, source, key, tallies[key], measured, probe_size)
        for key in sorted(tallies, key=lambda k: (k[1], k[0]))
    ]


def _entry(
    group: Group, source: Source, key: Key, tally: Tally, measured: Mapping[Key, Measured], probe_size: int
) -> Debiased:
    method, calls = key
    arm, mine = group.reference.arm, measured[key]
    gap, gap_ci = _against_debiased(key, measured)
    rated = tally.moments(group.human)[0]
    grid = {"fixed": group.fixed, "random": group.random}.get(method) or group.reference
    return Debiased(
        code=grid.code,
        judge=arm.judge,
        dataset=arm.dataset,
        variant=str(arm.variant),
        source=source,
        method=method,
        calls_per_item=calls,
        distance_to_all=mine.distance.value,
        ci=mine.interval(),
        split_sd=_sd(tally.split_means),
        r=mine.r.value,
        r_ci=mine.r.r_interval(),
        n_items=int((tally.count > 0).sum()),
        n_rated=int(rated.any(axis=0).sum()),
        total_calls=_total_calls(key, len(group.human), probe_size, group.reference.score.shape[1]),
        minus_debiased=gap,
        minus_debiased_ci=gap_ci,
        standing=Standing.ITSELF if method == "debiased" else _standing(gap_ci),
    )


def _total_calls(key: Key, items: int, probe: int, reads: int) -> int:
    """Calls for all items; a method that learns has its probe items read in full."""
    method, calls = key
    if method not in ("debiased", CONTROL, "best ordering"):
        return calls * items
    return calls * (items - probe) + probe * reads


def _against_debiased(key: Key, measured: Mapping[Key, Measured]) -> tuple[float, Interval]:
    """How much farther than the debiaser on the same units; of itself nothing is known."""
    debiased = measured.get(("debiased", 1))
    if debiased is None or key[0] == "debiased":
        return float("nan"), NO_INTERVAL
    farther = gain(measured[key].distance, debiased.distance)
    # Distances that the reference's noise makes 0 are alike for that, not because calls are alike.
    alike = farther.value == 0.0 and not farther.without.any()
    ends = NO_INTERVAL if alike else farther.interval()
    if key[0] == CONTROL:
        ends = Interval(*(float(farther.value + BOTH_ROLES * (end - farther.value)) for end in ends))
    return farther.value, ends


def _sd(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.std(finite, ddof=1)) if len(finite) > 1 else float("nan")


def _standing(gap: Interval) -> Standing:
    if gap.low > 0:
        return Standing.NEARER
    return Standing.FARTHER if gap.high < 0 else Standing.CANNOT_SAY


def _gain(data: RunData, group: Group, entries: Sequence[Debiased]) -> Gain | None:
    """The control's distance less the debiaser's, in points; None without either."""
    control = next((e for e in entries if e.method == CONTROL), None)
    if control is None or not np.isfinite(control.minus_debiased):
        return None
    why = "" if np.isfinite(control.minus_debiased_ci.low) else WITHIN_NOISE
    nearer = in_points(data, group.reference.arm, control.minus_debiased, control.minus_debiased_ci, why=why)
    return Gain(control.judge, control.dataset, control.variant, control.source, nearer)


def _break_even(entries: Sequence[Debiased], gain: Gain | None) -> list[BreakEven]:
    """Where the debiaser's one call is matched by more calls of random, balanced and fixed.

    Only of a debiaser that is nearer than the control: drawing any call towards the mean brings it
    nearer too, and is worth calls whether or not the order does anything.
    """
    debiased = next((e for e in entries if e.method == "debiased"), None)
    if debiased is None:
        return []
    points = []
    for against in ("random", "balanced", "fixed"):
        line = sorted((e for e in entries if e.method == against), key=lambda e: e.calls_per_item)
        if not line:
            continue
        calls = np.array([e.calls_per_item for e in line], dtype=np.float64)
        far = np.array([e.distance_to_all for e in line])
        even = float("nan")
        if gain is not None and gain.nearer.verdict == "effect" and gain.nearer.estimate > 0:
            even = stats.break_even(calls, far, debiased.distance_to_all)
        points.append(
            BreakEven(
                debiased.judge, debiased.dataset, debiased.variant, debiased.source, against, even, int(calls[-1])
            )
        )
    return points


# ---------------------------------------------------------------- the topic


def _document(result: Debiasing, data: RunData) -> DocumentPart:
    del data
    names = (
        "judge",
        "dataset",
        "variant",
        "source",
        "method",
        "calls_per_item",
        "distance_to_all",
        "ci",
        "r",
        "r_ci",
        "n_items",
        "total_calls",
        "standing",
    )
    entries = [picked(entry, *names) for entry in result.entries]
    return DocumentPart(
        beside={
            "debiasing": entries,
            "debiasing_gain": plain(result.gains),
            "break_even": [plain(one) | {"claimed": not math.isnan(one.calls)} for one in result.break_even],
        },
        warnings=result.warnings,
    )


def _of_arms(data: RunData, *, codes: tuple[int, ...]) -> Debiasing:
    """The debiaser on the judgments of some arms alone."""
    kept = np.isin(data.judgments["arm"].to_numpy(), codes)
    chances = None if data.probabilities is None else data.probabilities[kept]
    mine = data.judgments[kept].reset_index(drop=True)
    # What other arms were asked is not missing here; what the run still waits for is.
    planned = (mine["call"].nunique() + data.unanswered,) if data.unanswered else ()
    return debiasing(replace(data, judgments=mine, probabilities=chances, planned=planned))


DEBIASING = Topic(
    "debiasing",
    debiasing,
    probabilities=True,
    title=msg("Causes and cures"),
    axes=frozenset({"options"}),
    document=_document,
    advice=debiasing_advice,
)
DEBIASING_OF_ARMS = Question("debiasing of some arms", _of_arms, probabilities=True)
