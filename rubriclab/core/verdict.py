"""Arms of one judge in; what may be said of it out: a gate, three questions, one interval and one
word each.

Does it favour positions, does the order move its mean score, does it change single scores beyond
noise? A question is an *effect* if its test rejects behind the gate, *equivalent* if its 95%
interval ends below the smallest effect that matters, else *undecided*. An interval leaves out 0
exactly where the test rejects, so word and interval cannot contradict each other. An unbiased judge
is accused of anything in at most 5% of runs: whatever is said stands behind the exact test of
``core/permutation.py``, and behind it the two means are a closed test by Holm's rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.core.cells import FLAT, Answers, Cells, cells, from_arms
from rubriclab.core.estimate import FEW_MOVED, Estimate, Reach, missing, ratio
from rubriclab.core.fairness import one_answer
from rubriclab.core.judgments import Arm
from rubriclab.core.lengths import lean_test, squared_length_test
from rubriclab.core.permutation import ALPHA, Gate, gate, unparsed
from rubriclab.model.study import Smallest
from rubriclab.stats.mean_contrasts import OrderCells, over_texts, within_texts
from rubriclab.stats.resample import Floats, Ints, degrees_of_freedom, distinct, sum_by
from rubriclab.stats.tests import holm

Word = Literal["effect", "equivalent", "undecided"]
ANY_PROMPT = 0.998
"""Level of the interval that says of a closed gate that scores change with the prompt: it adds 0.1
% to the gate's 5%.
"""
MIN_UNITS = 8
"""Fewer independent units have no interval and no test of a mean; the gate is exact at any number.
"""


@dataclass(frozen=True)
class Answer:
    """One question: ``value``, the size seen (>= 0; a share, or points), with the ends ``low``,
    ``high`` of its interval.

    Before the question is decided ``low`` may be below 0. ``p``: of its test. ``reach``: the most a
    unit can be, ``most``: the most the value can be. ``few_moved``: is the interval an exact bound,
    for want of units that moved? ``above_zero``: the test rejects, though the interval's own end
    may touch 0. ``smallest``: the smallest effect that matters, in the unit of value. ``why``: a
    key of the reasons, where something cannot be said. ``more``: what sentences need beside it (see
    ``verdicts``). ``furthest``: of criteria the size of the one that moves most; from the smallest
    effect on there is no "equivalent", however little the others move. ``any_prompt``: does the
    prompt matter, whether or not its order does?
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    reach: float = 1.0
    most: float = float("inf")
    few_moved: bool = False
    why: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    above_zero: bool = False
    verdict: Word = "undecided"
    smallest: float = float("nan")
    furthest: float = 0.0
    any_prompt: bool = False


@dataclass(frozen=True)
class Verdicts:
    """What may be said of one judge on one data set under one variant. ``condition``: the one with
    the most orders.
    """

    gate: Gate
    questions: dict[str, Answer]
    unparsed_p: float
    condition: int
    units: int
    items: int


def verdicts(arms: Sequence[Arm], smallest: Smallest) -> Verdicts:
    """The verdicts of one judge, data set and variant.

    Of choices (pairs, lists) there are two questions, positions and single: they have no score
    whose mean could move. Two orders asked once each: the gate is then the exact sign-flip test
    over the pairs that differ. Of a scale of two scores positions and mean are one question, "does
    the order change the pass rate": what a position gains is half of what the pass rate moves by,
    so it has the mean's test, ends and word.

    Of criteria of one call the size of positions is D, in points: D^2 = mean over criteria of (1 -
    1/n) x the sum over positions of a criterion's squared leans, noise taken off. It is the lean
    where one position stands out, and criteria that move against each other do not cancel.
    Measured: ``docs/method-check.md``.

    Reasons in ``why``: keys of ``measures.toml``. ``any_prompt``: scores change with the prompt,
    but no position or direction explains it, so that any small change of it may do the same.

    In ``more``: ``units_needed`` for "equivalent" at least, ``more_units``: about how many would
    decide (None where decided or not known). positions: ``position`` (0-based, of the largest
    lean), ``lean`` (signed), ``leans``, ``intervals`` (single, 95%), ``shares``, ``expected``,
    ``outside`` (positions whose simultaneous band leaves out 0; only where the question's test
    rejects), ``v``, ``v_without_noise``; of criteria ``sizes`` (of each, as D), ``criterion``
    (0-based, of the largest), ``p_pooled`` and ``p_criteria`` (of the tests of their mean, and of
    each). mean: ``named`` (the contrast that the value is of), ``signed``, ``contrasts``: name ->
    (value, low, high). Of both ``own``: the ends of an effect. single: ``flips``, ``own_noise``,
    ``noise``: ``all``, ``some`` or ``none`` of the orders were asked twice (lost replies count);
    ``beyond_noise``: value and its own ends.
    """
    return decide(from_arms(arms), smallest)


def decide(
    answers: Answers, smallest: Smallest, *, passed: Gate | None = None, tested: int = 1
) -> Verdicts:
    """As ``verdicts``, of calls as arrays.

    ``passed``: the gate of a form of the prompt, which stands as the second of two orders
    (``core/variant_effects.py``): it has no positions. ``tested``: how many gates it shares its 5%
    with, by Holm's rule (the p of ``passed`` says so already).
    """
    table = cells(answers)
    of_form = passed is not None
    passed = gate(table) if passed is None else passed
    unparsed_p = unparsed(answers)
    usable = np.ones(table.items, dtype=bool) if table.one_order_an_item else table.orders > 1
    units = len(distinct(table.unit[usable])[0])
    span = float(np.ptp(answers.points))

    lack = _lack(table, usable)
    means: list[str] = []
    if not of_form:
        means.append("positions")
    if not answers.choices:
        means.append("mean")
    pass_rate = len(answers.points) == 2 and len(means) == 2 and not table.criteria
    sizes = {name: Answer(why=lack) for name in (*means, "single")}
    if not lack:
        if "positions" in means:
            sizes["positions"] = _positions(table, usable, span)
        if "mean" in means:
            sizes["mean"] = _mean(table, span)
        if pass_rate:
            sizes["positions"] = _half_the_pass_rate(sizes["positions"], sizes["mean"], span)
        one_each = Answer(p=passed.p, why="one_order_an_item")
        sizes["single"] = one_each if table.one_order_an_item else _single(table, passed.p)
    points = smallest.points(answers.points.tolist())
    limits = {"positions": smallest.share, "mean": points, "single": smallest.single}
    if table.criteria:
        limits["positions"] = points
    elif pass_rate:
        limits["positions"] = points / span / 2
    blocked = "unparsed_by_order" if unparsed_p <= ALPHA else ""
    rejected: set[str] = set()
    if passed.p <= ALPHA and not blocked:
        # One hypothesis of a pass rate: there is nothing to correct for.
        p = [sizes[name].p for name in (means[1:] if pass_rate else means)]
        adjusted = np.broadcast_to(holm(np.array(p)) * tested, len(means))
        rejected = {name for name, own in zip(means, adjusted, strict=True) if own <= ALPHA}
        rejected.add("single")
    few_deals = passed.deals > 1 and passed.least > ALPHA
    how: dict[str, Any] = {"blocked": blocked, "few_deals": few_deals, "of_form": of_form}
    answered = {
        name: _answer(name, size, name in rejected, limits[name], units, **how)
        for name, size in sizes.items()
    }
    unsure = unsure_reason(answers)
    answered = {name: withheld(answer, unsure) for name, answer in answered.items()}
    return Verdicts(passed, answered, unparsed_p, answers.condition, units, int(usable.sum()))


def unsure_reason(answers: Answers) -> str:
    """Return why these calls could not have shown an order effect (``core/fairness.py``); empty
    where they could.
    """
    code = answers.code[answers.parsed]
    tie = answers.orders.shape[1]
    return one_answer(code, choices=answers.choices, tie=tie) or answers.unsure


def withheld(answer: Answer, reason: str) -> Answer:
    """Return the answer without its word where it is "equivalent" and a reason speaks against
    saying so.
    """
    if not reason or answer.verdict != "equivalent":
        return answer
    return replace(answer, verdict="undecided", why=reason)


def _lack(table: Cells, usable: NDArray[np.bool_]) -> str:
    """Why nothing can be said of any question, or nothing."""
    if not table.items:
        return "nothing_parsed"
    if (table.shown == table.shown[0]).all():
        return "no_orders"
    return "" if usable.any() else "no_two_orders"


def _answer(
    question: str,
    size: Answer,
    rejected: bool,
    smallest: float,
    units: int,
    *,
    blocked: str,
    few_deals: bool,
    of_form: bool = False,
) -> Answer:
    """One interval and one word, never against each other.

    The upper end is at least half of what units that were not met could carry: reach x (1 -
    0.05^(1/units)) / 2. Without it rare units that move by all they can are called equivalent in up
    to 29% of studies.
    """
    word: Word = "undecided"
    low = high = float("nan")
    if np.isfinite(size.high):
        low = max(size.low, 0.0) if rejected else 0.0
        high = max(min(size.high, size.most), size.reach * (1 - ALPHA ** (1 / units)) / 2)
        if high < smallest and size.furthest < smallest and not blocked:
            word = "equivalent"
    if rejected and word == "undecided" and size.why != "one_order_an_item":
        word = "effect"
        if "own" in size.more and np.isfinite(high):
            low, high = size.more["own"]
    needed = units_needed(smallest, size.reach)
    more_units = _more_units(size, smallest, units, needed) if word == "undecided" else None
    more = {**size.more, "units_needed": needed, "more_units": more_units}
    if question == "positions" and not rejected:
        more["outside"] = []
    noise = more.get("noise", "all")
    any_prompt = size.any_prompt and not rejected and not of_form
    one_criterion = high < smallest <= size.furthest
    lacking = (
        size.why,
        "one_criterion" * one_criterion,
        "" if np.isfinite(high) else "too_few_units",
        "few_deals" * few_deals,
        "any_prompt" * any_prompt,
    )
    decided = word != "undecided" and np.isfinite(high)
    reasons = (*(() if decided else (blocked, *lacking)), NOISE[noise])
    why = next((reason for reason in reasons if reason), "")
    return replace(
        size,
        low=low,
        high=high,
        why=why,
        more=more,
        above_zero=rejected,
        verdict=word,
        smallest=smallest,
    )


def units_needed(smallest: float, reach: float) -> int:
    """Fewest units at which "equivalent" can be said.

    So many that a judge of twice the smallest effect, made by units that move by all they can,
    shows one in 95%.
    """
    share = 2 * smallest / reach if reach > 0 else 1.0
    return 1 if share >= 1 else int(np.ceil(np.log(ALPHA) / np.log1p(-share)))


def _more_units(size: Answer, smallest: float, units: int, needed: int) -> int | None:
    """About how many more units would decide, if the size stays: an effect, or equivalent,
    whichever is nearer.

    Intervals shrink with the root of the units; with their number where hardly any moved (Clopper
    and Pearson's bound).
    """
    if not np.isfinite(size.high):
        return max(MIN_UNITS, needed) - units if units < max(MIN_UNITS, needed) else None
    power = 1 if size.few_moved else 2
    times = []
    if size.value > 0 and np.isfinite(size.low):
        times.append(((size.value - size.low) / size.value) ** power)
    if size.value < smallest:
        times.append(
            max(
                ((size.high - size.value) / (smallest - max(size.value, 0.0))) ** power,
                needed / units,
            )
        )
    return max(1, int(np.ceil(units * (max(min(times), 1.1) - 1)))) if times else None


# ------------------------------------------------------------------------------ the three questions
NOISE = {"all": "", "some": "noise_partly_included", "none": "noise_included"}


def _positions(table: Cells, usable: NDArray[np.bool_], span: float) -> Answer:
    """Question 1: the lean of each position; its test is V squared over what noise makes of it."""
    n = table.n
    reach, most = (span, span) if table.criteria else (1.0, 1 - 1 / n)
    top, bottom = _unit_sums(
        table.unit[usable], table.lean[usable], np.ones((int(usable.sum()), 1))
    )
    leans = [_estimate(column, bottom[:, 0], reach) for column in top.T]
    bands, intervals, low, high = _magnitude(leans, n if n > 2 else 1)
    largest = _largest([e.value for e in leans])
    share = table.share[usable].mean(axis=0)
    value = np.array([e.value for e in leans])
    v, v_without_noise = (
        np.sqrt(n / (n - 1) * part) for part in _squared_length(top / bottom.mean())
    )
    more = {
        "position": largest,
        "lean": leans[largest].value,
        "leans": value.tolist(),
        "intervals": intervals,
        "shares": share.tolist(),
        "expected": (share - value).tolist(),
        "outside": [p for p, (below, above) in enumerate(bands) if below > 0 or above < 0],
        "v": v,
        "v_without_noise": v_without_noise,
    }
    more["own"] = _own_ends(bands[largest], intervals[largest], most)
    p, few = lean_test(top, bottom[:, 0]), _few_moved(leans[largest])
    pooled = Answer(abs(leans[largest].value), low, high, p, most, most, few, more=more)
    return _of_criteria(table, usable, pooled) if table.by_criterion else pooled


def _of_criteria(table: Cells, usable: NDArray[np.bool_], pooled: Answer) -> Answer:
    """Question 1 of several criteria of a call: how far a position moves a criterion, whichever way
    each goes.

    ``pooled``: the answer about their mean. The upper end is never below its upper end, and the
    test is the better of the two, by Sidak's rule. See ``verdicts`` for the size.
    """
    n = table.n
    moved = table.lean_of_criteria[usable].reshape(-1, n * n)
    top, bottom = _unit_sums(table.unit[usable], moved, np.ones((len(moved), 1)))
    every = squared_length_test(top, bottom[:, 0], n * (n - 1))
    of_each = (1 - 1 / n) * np.array(
        [
            squared_length_test(top[:, k * n : k * n + n], bottom[:, 0], n - 1).value
            for k in range(n)
        ]
    )
    sizes = np.sqrt(np.maximum(of_each, 0.0))
    value, low, high = (
        float(np.sqrt((1 - 1 / n) / n * part)) for part in (every.value, every.low, every.high)
    )
    more = {
        **pooled.more,
        "own": (low, min(high, pooled.most)),
        "sizes": sizes.tolist(),
        "criterion": int(np.argmax(sizes)),
        "p_pooled": pooled.p,
        "p_criteria": every.p,
    }
    return replace(
        pooled,
        value=value,
        low=low,
        high=max(high, pooled.high) if np.isfinite(high) else high,
        p=float(1 - (1 - np.fmin(every.p, pooled.p)) ** 2),
        more=more,
        furthest=float(sizes.max()),
    )


def _half_the_pass_rate(positions: Answer, mean: Answer, span: float) -> Answer:
    """Question 1 of a scale of two scores: what the low score gains where it is listed first is
    half of the pass rate's move.
    """

    def half(ends: tuple[float, float]) -> tuple[float, float]:
        return ends[0] / span / 2, ends[1] / span / 2

    if not np.isfinite(mean.value):
        missing_ends = float("nan")
        return replace(positions, low=missing_ends, high=missing_ends, p=mean.p, why=mean.why)
    line, below, above = mean.more["contrasts"][mean.more["named"]]
    lean = line / span / 2
    low, high = half((mean.low, mean.high))
    single = half((below, above))
    shares = np.array(positions.more["shares"])
    more = {
        **positions.more,
        "lean": -lean,
        "leans": [-lean, lean],
        "position": 0,
        "intervals": [(-single[1], -single[0]), single],
        "expected": (shares - [-lean, lean]).tolist(),
        "outside": [0, 1] if mean.low > 0 else [],
        "own": half(mean.more["own"]),
    }
    return replace(
        positions,
        value=abs(lean),
        low=low,
        high=high,
        p=mean.p,
        few_moved=mean.few_moved,
        more=more,
    )


def _squared_length(parts: Floats) -> tuple[float, float]:
    """Squared length of the mean of ``parts`` (units, n), and without noise: products of two
    different units only.
    """
    units = len(parts)
    total, own = float(np.square(parts.sum(axis=0)).sum()), float(np.square(parts).sum())
    return total / units**2, max(
        0.0, (total - own) / (units * (units - 1))
    ) if units > 1 else float("nan")


def _mean(table: Cells, span: float) -> Answer:
    """Question 2: the named contrasts of the mean score, each by its t test, the smallest p by
    Sidak's rule.

    It is about reversing the list, not about any two orders: a third part for these (the vector of
    order means, F as in question 1) cost more power than it gave. The largest gap of two orders is
    told beside it without a verdict.
    """
    estimates: dict[str, Estimate] = {}
    reach = span
    scores = OrderCells(table.item, np.arange(len(table.item)), table.score)
    for name, contrast in table.contrasts.items():
        if table.one_order_an_item:
            estimates[name] = _slope_over_items(table, scores, contrast, span)
        elif (parts := within_texts(scores, contrast, table.items, span)) is not None:
            reach = max(reach, parts.reach)
            held = parts.bottom > 0
            sums, weights = _unit_sums(
                table.unit[held], parts.top[held, None], parts.bottom[held, None]
            )
            estimates[name] = _estimate(sums[:, 0], weights[:, 0], reach)
    if not estimates:
        return Answer(why="no_contrast", reach=reach)
    estimates = {name: e for name, e in estimates.items() if e.units >= MIN_UNITS} or estimates
    bands, intervals, low, high = _magnitude(list(estimates.values()), len(estimates))
    values = [e.value for e in estimates.values()]
    p = np.array([t_test(e) for e in estimates.values()])
    smallest_p = float(1 - (1 - p.min()) ** len(p))
    # The larger contrast may be the noisier: where a test decides, the answer is about the contrast
    # that it is of.
    chosen = int(np.argmin(p)) if smallest_p <= ALPHA else _largest(values)
    named = list(estimates)[chosen]
    more = {
        "named": named,
        "own": _own_ends(bands[chosen], intervals[chosen], span),
        "signed": estimates[named].value,
        "contrasts": {
            name: (e.value, *ends)
            for (name, e), ends in zip(estimates.items(), intervals, strict=True)
        },
    }
    few = _few_moved(estimates[named])
    return Answer(abs(estimates[named].value), low, high, smallest_p, reach, span, few, more=more)


def _slope_over_items(table: Cells, scores: OrderCells, contrast: Floats, span: float) -> Estimate:
    """One drawn order an item: items are held against each other, by HC3."""
    fitted = over_texts(scores, contrast, span)
    if fitted is None:
        return missing("too_few_units")
    slope, influence, reach = fitted
    sums, _ = _unit_sums(table.unit, influence[:, None], np.ones((table.items, 1)))
    moves = sums[:, 0] * len(sums)
    return Estimate(slope, moves - moves.mean(), np.arange(len(sums)), Reach(reach, moves))


def _single(table: Cells, p: float) -> Answer:
    """Question 3: scores that change between two orders, less those that change in the same order
    asked again.

    At least 0 in truth where every order was asked twice (the energy distance between orders;
    Szekely and Rizzo 2013). The noise of an order asked once is unknown and counts as none: then
    the number is an upper one only. An order that was asked twice and read once has the noise of
    its item's other orders; an item that has none of these is left out, as long as half of the
    items have one.
    """
    several = table.orders > 1
    changed = table.by_item(np.where(table.count > 1, 1 - table.same, 0.0))
    repeated = table.by_item((table.count > 1) * np.ones(len(table.count)))
    flips = 1 - table.cross
    again = several & (repeated > 0)
    asked_twice = bool((table.asked[several[table.item]] > 1).all())
    every = asked_twice and again.any() and bool(2 * again.sum() >= several.sum())
    if every:
        several = again
        changed = np.where(again, changed * table.orders / np.maximum(repeated, 1), changed)
        repeated = np.where(again, table.orders, repeated)
    beyond = (flips - changed / table.orders)[several]
    top, bottom = _unit_sums(table.unit[several], beyond[:, None], np.ones((len(beyond), 1)))
    estimate = _estimate(top[:, 0], bottom[:, 0], 1.0)
    low, high = estimate.interval()
    noise = float((changed[again] / repeated[again]).mean()) if again.any() else float("nan")
    more = {
        "flips": float(flips[several].mean()),
        "own_noise": noise,
        "noise": "all" if every else "some" if again.any() else "none",
        "beyond_noise": (estimate.value, low, high),
    }
    return Answer(
        value=estimate.value,
        low=low if every else -np.inf,
        high=high,
        p=p,
        reach=1.0,
        most=1.0,
        few_moved=_few_moved(estimate),
        more=more,
        any_prompt=bool(every and estimate.interval(ANY_PROMPT)[0] > 0),
    )


# --------------------------------------------------------------------------------- means over units
def _unit_sums(unit: Ints, top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    """Sums of ``top`` (items, k) and ``bottom`` (items, 1) over units, sorted by their values
    alone.
    """
    _, code = np.unique(unit, return_inverse=True)
    units = int(code.max(initial=-1)) + 1
    sums = sum_by(code, np.concatenate([top, bottom], axis=1), units)
    sums = sums[np.lexsort(sums.T)]
    return sums[:, :-1], sums[:, -1:]


def _estimate(top: Floats, bottom: Floats, reach: float) -> Estimate:
    return ratio(top, bottom, np.arange(len(top)), lambda moves: Reach(reach, moves, MIN_UNITS))


def _few_moved(e: Estimate) -> bool:
    """Do so few units differ from the median one that the interval is an exact bound?"""
    moves = e.rule.moves if isinstance(e.rule, Reach) else e.influence
    return int((np.abs(moves - np.median(moves)) > FLAT).sum()) < FEW_MOVED if len(moves) else True


def t_test(e: Estimate) -> float:
    """Two-sided p of "the mean over units is 0", on degrees of freedom for the units' kurtosis; NaN
    below 8 units.
    """
    if e.units < MIN_UNITS:
        return float("nan")
    if e.error < FLAT:
        return 1.0 if abs(e.value) < FLAT else float(2.0 ** (1 - e.units))
    return float(2 * special.stdtr(degrees_of_freedom(e.influence), -abs(e.value) / e.error))


Ends = list[tuple[float, float]]


def _magnitude(estimates: list[Estimate], comparisons: int) -> tuple[Ends, Ends, float, float]:
    """(simultaneous bands, single intervals, low, high of the magnitude).

    Low: the furthest from 0 of the bands (Sidak). High: the furthest end of the single 95%
    intervals: to be equivalent each must be inside, and an intersection-union test needs no
    correction (Berger 1982).
    """
    bands = [e.interval((1 - ALPHA) ** (1 / comparisons)) for e in estimates]
    intervals = [e.interval(1 - ALPHA) for e in estimates]
    low = max(max(below, -above) for below, above in bands)
    return bands, intervals, low, max(max(-below, above) for below, above in intervals)


def _own_ends(
    band: tuple[float, float], interval: tuple[float, float], most: float
) -> tuple[float, float]:
    """Of an effect: (low, high) of the one position or contrast that is named; the others' ends say
    nothing of its size.

    A position whose units nearly all tie, as at few calls, may have an end far away (``Reach``)
    that is no other's.
    """
    (below, above), (least, furthest) = band, interval
    return max(below, -above, 0.0), min(max(-least, furthest), most)


def _largest(values: Sequence[float]) -> int:
    """The index of the value furthest from 0; of ties (1e-9) the first."""
    return int(np.argmax(np.round(np.abs(values), 9)))
