"""Decide what we can claim about a judge: a gate first, then three questions with a verdict each.

Does it favour positions, does the order move its mean score, does it change single scores beyond
noise? Each question has one interval and one word. It is an *effect* if its test rejects behind the
gate, *equivalent* if its 95% interval ends below the smallest effect that matters, else
*undecided*. An interval leaves out 0 exactly where the test rejects, so that word and interval
cannot contradict each other. An unbiased judge is accused of anything in at most 5% of runs: the
exact permutation test of ``core/permutation.py`` has to reject before anything is claimed, and
behind it the two means are a closed test by Holm's rule.

A question's record (``PositionVerdict``, ``MeanVerdict``, ``SingleVerdict``) is made here and
nowhere else. Sentences, pictures, tables and JSON receive it, and none of them computes a number of
it again. Measured: ``docs/method-check.md``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.core.cells import FLAT, Answers, Cells, cells, from_arms, not_told_apart
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
Noise = Literal["", "all", "some", "none"]
"""How many orders were asked twice, so that the judge's own noise is known; empty: not computed."""
Interval = tuple[float, float]
NAN = math.nan
ANY_PROMPT = 0.04
"""Part of alpha for the interval that says of a closed gate that scores change with the prompt.

Its level is 0.998: it adds 0.1% to the 5% in which the gate accuses an unbiased judge.
"""
MIN_UNITS = 8
"""Fewer independent units have no interval and no test of a mean. The gate is exact at any number.
"""
MOST_UNANIMOUS = 20
"""With fewer units a position may be named because all of them lean to its side."""
LEAST_GROWTH = 1.1
"""A new run has to be larger by a tenth at least: less would hardly ever decide what this one did
not.
"""


# ------------------------------------------------------------------------------------- the records
class Sized(NamedTuple):
    """A signed number with its own interval, at 95% or at the level of its look."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict about one question, with everything that is shown of it.

    ``value``: the size of the effect as measured, at least 0 where the measure allows it: a share
    as a fraction, or points. ``low``, ``high``: the ends of its interval; until the word is given
    ``low`` may be below 0. ``p``: of the question's test. ``word``: the verdict itself. ``why``: a
    key of the reasons (``measures.toml``) where something cannot be said. ``smallest``: the
    smallest effect that matters, in the unit of ``value``. ``above_zero``: whether the test
    rejects; the interval's own end may still touch 0. ``deciding``: the interval that the word was
    decided by. ``named_ends``: the interval of the one position or contrast that an effect is named
    by, which is then shown instead. ``units_needed``: the fewest units at which
    "equivalent" can be said. ``more_units``: about how many more units would decide, None where it
    is decided or not known.

    Three fields say how the interval is bounded. ``reach``: the most by which one unit can move.
    ``most``: the most that ``value`` can be. ``few_moved``: so few units moved that the interval is
    an exact bound.
    """

    value: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    word: Word = "undecided"
    why: str = ""
    smallest: float = NAN
    above_zero: bool = False
    deciding: Interval = (NAN, NAN)
    named_ends: Interval | None = None
    units_needed: int = 0
    more_units: int | None = None
    reach: float = 1.0
    most: float = math.inf
    few_moved: bool = False

    @property
    def interval(self) -> Interval:
        return self.low, self.high

    @property
    def furthest(self) -> float:
        """The size of the one part that moves most; with ``smallest`` or more it is no
        "equivalent", however little the others move.
        """
        return 0.0

    @property
    def named_by(self) -> tuple[int | str, bool]:
        """What an effect is named by (a position, a contrast), and whether it is above 0."""
        return "", True

    def details(self) -> dict[str, Any]:
        """Return what JSON keeps in ``counts``: names of JSON version 2 with their values."""
        known: dict[str, Any] = {} if self.named_ends is None else {"own": self.named_ends}
        return known | {"units_needed": self.units_needed, "more_units": self.more_units}


@dataclass(frozen=True)
class CriteriaSizes:
    """How far positions move each criterion of a call, where a call scores several.

    ``sizes``: of each criterion, in points (see ``_of_criteria``). ``criterion``: the one that
    moves most, from 0. ``p_pooled``, ``p_criteria``: of the test of their mean and of the test of
    each; the question's p is made of both.
    """

    sizes: tuple[float, ...]
    criterion: int
    p_pooled: float
    p_criteria: float

    @property
    def largest(self) -> float:
        return self.sizes[self.criterion]


@dataclass(frozen=True, kw_only=True)
class PositionVerdict(Verdict):
    """Does the judge favour positions?

    By position: ``shares``, ``expected`` shares without position bias, and ``leans``, the one minus
    the other (fractions; of criteria, of several answers in a call and of examples, points, of
    examples for the highest label instead of the lowest); ``intervals``: the
    single 95% interval of each lean; ``seen_intervals``: the same if no unit can move by more than
    the largest move seen at any position. ``position``: the one with the largest lean, from 0;
    ``lean``: its signed lean. ``outside``: the positions whose simultaneous band leaves out 0,
    where the test rejects; ``unanimous``: those to whose side every unit leans (see
    ``_unanimous``). ``v``: Cramer's V of the leans; ``v_without_noise``: the same from
    products of two different units. All are empty or NaN where nothing can be said.
    """

    position: int = 0
    lean: float = NAN
    leans: tuple[float, ...] = ()
    intervals: tuple[Interval, ...] = ()
    seen_intervals: tuple[Interval, ...] = ()
    shares: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()
    outside: tuple[int, ...] = ()
    unanimous: tuple[int, ...] = ()
    v: float = NAN
    v_without_noise: float = NAN
    criteria: CriteriaSizes | None = None

    @property
    def furthest(self) -> float:
        return 0.0 if self.criteria is None else self.criteria.largest

    @property
    def named_by(self) -> tuple[int | str, bool]:
        return ("criteria", True) if self.criteria is not None else (self.position, self.lean > 0)

    @property
    def drawn_intervals(self) -> tuple[Interval, ...]:
        """The intervals of ``leans`` as pictures draw them; empty where there is none.

        Without an effect the sentence says how large any lean could be, so the pictures draw the
        intervals that say so. With an effect the sentence speaks of one position, which has the
        very ends that the sentence says. The others' units may all tie, as those of a deterministic
        judge do. ``intervals`` would then reach as far as a unit can go at all, which is further
        than the effect itself; a unit is taken to move as far as the data show (as in ``Student``).
        Of criteria the sentence is about no single lean.
        """
        if not math.isfinite(self.high):
            return ()
        if self.word != "effect":
            return self.intervals
        ends = list(self.seen_intervals)
        if self.criteria is None:
            own = self.interval if self.lean >= 0 else (-self.high, -self.low)
            ends[self.position] = own
            if len(ends) == 2:  # the other lean is minus this one
                ends[1 - self.position] = (-own[1], -own[0])
        return tuple(ends)

    def details(self) -> dict[str, Any]:
        known: dict[str, Any] = {}
        if self.leans:
            known = {
                "position": self.position,
                "lean": self.lean,
                "leans": list(self.leans),
                "intervals": list(self.intervals),
                "shares": list(self.shares),
                "expected": list(self.expected),
            }
        known["outside"] = list(self.outside)
        if self.leans:
            known |= {"v": self.v, "v_without_noise": self.v_without_noise}
        if self.criteria is not None:
            known |= {
                "sizes": list(self.criteria.sizes),
                "criterion": self.criteria.criterion,
                "p_pooled": self.criteria.p_pooled,
                "p_criteria": self.criteria.p_criteria,
            }
        return known | super().details()


@dataclass(frozen=True, kw_only=True)
class MeanVerdict(Verdict):
    """Does the order move the mean score?

    ``contrasts``: of the mean score, in points, by name (``line``, ``turn``; of forms ``form``).
    ``named``: the contrast that ``value`` is the size of; ``signed``: its value with its sign.
    """

    named: str = ""
    signed: float = NAN
    contrasts: Mapping[str, Sized] = field(default_factory=dict)

    @property
    def named_by(self) -> tuple[int | str, bool]:
        return self.named, self.signed > 0

    def details(self) -> dict[str, Any]:
        known: dict[str, Any] = {}
        if self.named:
            contrasts = {name: tuple(sized) for name, sized in self.contrasts.items()}
            known = {"named": self.named, "signed": self.signed, "contrasts": contrasts}
        return known | super().details()


@dataclass(frozen=True, kw_only=True)
class SingleVerdict(Verdict):
    """Does the order change single scores, beyond noise?

    ``flips``: the share of scores that differ between two orders; ``own_noise``: the share that
    differ in the same order asked twice. ``noise``: how many orders were asked twice, where lost
    replies count. ``beyond_noise``: their difference with its own ends, which may lie below 0.
    ``any_prompt``: scores change with the prompt, whether or not its order does.
    """

    flips: float = NAN
    own_noise: float = NAN
    noise: Noise = ""
    beyond_noise: Sized | None = None
    any_prompt: bool = False

    @property
    def repeated(self) -> bool:
        """Return whether every order was asked at least twice, so that noise is taken off."""
        return self.noise == "all"

    def details(self) -> dict[str, Any]:
        known: dict[str, Any] = {}
        if self.beyond_noise is not None:
            known = {
                "flips": self.flips,
                "own_noise": self.own_noise,
                "noise": self.noise,
                "beyond_noise": tuple(self.beyond_noise),
            }
        return known | super().details()


AnyVerdict = TypeVar("AnyVerdict", bound=Verdict)


@dataclass(frozen=True)
class Verdicts:
    """The verdicts about one judge on one data set under one variant.

    ``questions``: by name (positions, mean, single), those that exist for what is listed.
    ``unparsed_p``: of the test whether unparsed replies go with the order. ``condition``: the one
    with the most orders. ``units``, ``items``: what the verdicts rest on. ``alpha``: what p values
    are compared with, and 1 less the level of the intervals.
    """

    gate: Gate
    questions: Mapping[str, Verdict]
    unparsed_p: float
    condition: int
    units: int
    items: int
    alpha: float = ALPHA

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return 1 - self.alpha

    @property
    def positions(self) -> PositionVerdict | None:
        verdict = self.questions.get("positions")
        return verdict if isinstance(verdict, PositionVerdict) else None

    @property
    def mean(self) -> MeanVerdict | None:
        verdict = self.questions.get("mean")
        return verdict if isinstance(verdict, MeanVerdict) else None

    @property
    def single(self) -> SingleVerdict | None:
        verdict = self.questions.get("single")
        return verdict if isinstance(verdict, SingleVerdict) else None


# ------------------------------------------------------------------------------------ the decision
def word_of(low: float, high: float, smallest: float, *, shown: bool) -> Word:
    """Return the word for the interval of an effect. Nothing else turns an interval into a word.

    ``smallest``: the smallest effect that matters. ``shown``: whether an effect is shown, by a test
    or because the interval leaves out 0. An effect that surely is smaller than matters is called
    equivalent. NaN ends say nothing.
    """
    if -smallest < low and high < smallest:
        return "equivalent"
    return "effect" if shown else "undecided"


def verdicts(arms: Sequence[Arm], smallest: Smallest) -> Verdicts:
    """Return the verdicts about one judge, data set and variant.

    Choices (pairs, lists) have two questions, positions and single: they have no score whose mean
    could move. If two orders were asked once each, the gate is the exact sign-flip test over the
    pairs that differ. On a scale of two scores positions and mean are one question, "does the order
    change the pass rate": what a position gains is half of what the pass rate moves by, so
    positions have the mean's test, ends and word.
    """
    return decide(from_arms(arms), smallest)


@dataclass(frozen=True)
class Terms:
    """On what terms one of several looks at a run decides (``core/looks.py``).

    alpha: what p values are compared with; intervals are drawn at 1 - alpha. earlier: what was last
    said of each question. unparsed_p: of the test whether lost replies go with the order, where its
    batches were added up.
    """

    alpha: float = ALPHA
    earlier: Mapping[str, Verdict] = field(default_factory=dict)
    unparsed_p: float | None = None


ONE_LOOK = Terms()
"""The terms of a run that is looked at once."""


def decide(
    answers: Answers,
    smallest: Smallest,
    *,
    passed: Gate | None = None,
    of_form: bool = False,
    tested: int = 1,
    terms: Terms = ONE_LOOK,
) -> Verdicts:
    """Return the verdicts about calls given as arrays.

    ``passed``: the gate, where it is not that of these calls alone: of several looks, or of a form
    of the prompt. ``of_form``: a form takes the part of the second of two orders
    (``core/variant_effects.py``), and has no positions. ``tested``: how many gates share their 5%,
    by Holm's rule; the p of ``passed`` is adjusted for that already.
    """
    table = cells(answers)
    if passed is None:
        passed = gate(table)
    unparsed_p = unparsed(answers) if terms.unparsed_p is None else terms.unparsed_p
    usable = np.ones(table.items, dtype=bool) if table.one_order_an_item else table.orders > 1
    units = len(distinct(table.unit[usable])[0])
    span = float(np.ptp(answers.points))

    means: list[str] = []
    if not of_form and table.has_leans:
        means.append("positions")
    if not answers.choices:
        means.append("mean")
    pass_rate = len(answers.points) == 2 and len(means) == 2 and not table.in_points
    sizing = _Sizing(table, usable, span, terms.alpha)
    sizes = _sizes(sizing, means, passed.p, pass_rate=pass_rate)
    limits = limits_by_question(
        smallest, answers.points, in_points=table.in_points, pass_rate=pass_rate
    )

    blocked = unparsed_p <= ALPHA
    rejected: set[str] = set()
    if passed.open and not blocked:
        tests = _rejected_means(sizes, means, tested, terms, pass_rate=pass_rate)
        rejected = {"single", *tests}
    few_deals = passed.deals > 1 and passed.least > passed.spent
    basis = _Basis(units, blocked=blocked, few_deals=few_deals, of_form=of_form, alpha=terms.alpha)
    unsure = unsure_reason(answers)
    decided: dict[str, Verdict] = {}
    for name, size in sizes.items():
        earlier = terms.earlier.get(name)
        verdict = _decided(size, limits[name], basis, earlier, rejected=name in rejected)
        decided[name] = withheld(verdict, unsure)
    items = int(usable.sum())
    return Verdicts(passed, decided, unparsed_p, answers.condition, units, items, terms.alpha)


def unsure_reason(answers: Answers) -> str:
    """Return why these calls could not have shown an order effect (``core/fairness.py``); empty
    where they could.
    """
    code = answers.code[answers.parsed]
    tie = answers.orders.shape[1]
    return one_answer(code, choices=answers.choices, tie=tie) or answers.unsure


def withheld(verdict: AnyVerdict, reason: str) -> AnyVerdict:
    """Return the verdict; undecided instead of "equivalent" where there is a ``reason`` against.

    What is undecided anyway gets the reason too, unless it has one that weighs more: these calls
    could not have decided it, however many there were.
    """
    if not reason or verdict.word == "effect":
        return verdict
    if verdict.word == "undecided" and verdict.why not in ("", *NOISE.values()):
        return verdict
    return replace(verdict, word="undecided", why=reason)


@dataclass(frozen=True, eq=False)
class _Sizing:
    """What the sizes of all questions are made from.

    ``usable``: (items,), those that were asked in several orders. ``span``: of the scale, in
    points. ``alpha``: 1 less the level of every interval.
    """

    table: Cells
    usable: NDArray[np.bool_]
    span: float
    alpha: float = ALPHA


def _sizes(
    sizing: _Sizing, means: Sequence[str], gate_p: float, *, pass_rate: bool
) -> dict[str, Verdict]:
    """Return each question's record with its size and interval, but without its word."""
    table = sizing.table
    lack = _lack(table, sizing.usable)
    sizes: dict[str, Verdict] = {}
    if "positions" in means:
        positions = PositionVerdict(why=lack) if lack else _positions(sizing)
        sizes["positions"] = positions
    if "mean" in means:
        mean = MeanVerdict(why=lack) if lack else _mean(sizing)
        sizes["mean"] = mean
    if pass_rate and not lack:
        sizes["positions"] = _half_the_pass_rate(positions, mean, sizing.span)
    if lack:
        sizes["single"] = SingleVerdict(why=lack)
    elif table.one_order_an_item:
        # An item that was asked in one order cannot change between two.
        sizes["single"] = SingleVerdict(p=gate_p, why="one_order_an_item")
    else:
        sizes["single"] = _single(sizing, gate_p)
    return sizes


def _lack(table: Cells, usable: NDArray[np.bool_]) -> str:
    """Return why no question can be answered, or an empty text."""
    if not table.items:
        return "nothing_parsed"
    if (table.shown == table.shown[0]).all():
        return "no_orders"
    return "" if usable.any() else "no_two_orders"


def limits_by_question(
    smallest: Smallest, points: Floats, *, in_points: bool, pass_rate: bool
) -> dict[str, float]:
    """Return the smallest effect that matters, by question, each in the unit of its value."""
    of_mean = smallest.points(points.tolist())
    of_position = smallest.share
    if in_points:
        of_position = of_mean
    elif pass_rate:
        # What a position gains is half of what the pass rate moves by.
        of_position = of_mean / float(np.ptp(points)) / 2
    return {"positions": of_position, "mean": of_mean, "single": smallest.single}


def _rejected_means(
    sizes: Mapping[str, Verdict],
    means: Sequence[str],
    tested: int,
    terms: Terms,
    *,
    pass_rate: bool,
) -> set[str]:
    """Return the means whose tests reject behind an open gate, by Holm's rule.

    A mean that was rejected at an earlier look stays so, and leaves the others its share.
    """
    # The two means of a pass rate are one hypothesis: there is nothing to correct for.
    hypotheses = ["mean"] if pass_rate else means
    before = {name for name in hypotheses if _said_above_zero(terms, name)}
    left = [name for name in hypotheses if name not in before]
    adjusted = holm(np.array([sizes[name].p for name in left])) * tested
    now = {name for name, p in zip(left, adjusted, strict=True) if p <= terms.alpha}
    rejected = before | now
    return set(means) if pass_rate and rejected else rejected


def _said_above_zero(terms: Terms, question: str) -> bool:
    """Return whether a question's test rejected at an earlier look."""
    return question in terms.earlier and terms.earlier[question].above_zero


@dataclass(frozen=True)
class _Basis:
    """What the questions about one judge have in common.

    ``units``: independent units. ``blocked``: unparsed replies go with the order, so nothing can be
    said. ``few_deals``: no data of this size could open the gate. ``of_form``: the verdicts are
    about a form of the prompt. ``alpha``: 1 less the level of the intervals.
    """

    units: int
    blocked: bool
    few_deals: bool
    of_form: bool
    alpha: float = ALPHA


def _decided(
    size: AnyVerdict,
    smallest: float,
    basis: _Basis,
    earlier: Verdict | None = None,
    *,
    rejected: bool,
) -> AnyVerdict:
    """Return the record with one interval and one word, which never contradict each other.

    The upper end is at least half of what units that were not met could carry: reach x (1 -
    alpha^(1/units)) / 2. Without it, rare units that move by all they can are called equivalent in
    up to 29% of studies. ``earlier``: what was said at the look before, which stays said.
    """
    low = high = NAN
    if math.isfinite(size.high):
        low = max(size.low, 0.0) if rejected else 0.0
        unmet = size.reach * (1 - basis.alpha ** (1 / basis.units)) / 2
        high = max(min(size.high, size.most), unmet)
    furthest = size.furthest
    if earlier is not None and not basis.blocked:
        size = _with_earlier(size, earlier)
        low, high = _common(earlier.deciding, (low, high), size.value)
        if earlier.word == "equivalent":
            furthest = 0.0
    deciding = low, high
    word: Word = "undecided"
    if not basis.blocked:
        shown = rejected and size.why != "one_order_an_item"
        # np.maximum, because a NaN end has to stay NaN.
        word = word_of(low, float(np.maximum(high, furthest)), smallest, shown=shown)
    if word == "effect" and size.named_ends is not None and math.isfinite(high):
        low, high = size.named_ends
    needed = units_needed(smallest, size.reach, basis.alpha)
    more_units = None
    if word == "undecided":
        more_units = _more_units(size, smallest, basis.units, needed)
    decided = replace(
        size,
        low=low,
        high=high,
        word=word,
        smallest=smallest,
        above_zero=rejected,
        deciding=deciding,
        units_needed=needed,
        more_units=more_units,
    )
    if isinstance(decided, PositionVerdict) and not rejected:
        decided = replace(decided, outside=(), unanimous=())
    return replace(decided, why=_reason(decided, basis))


def _with_earlier(size: AnyVerdict, earlier: Verdict) -> AnyVerdict:
    """Return the size with what an earlier look said of it.

    The p of a test that rejected stays what it was. The interval of a position or contrast is the
    common part of those of all looks, as long as the same one is named.
    """
    if earlier.above_zero:
        size = replace(size, p=earlier.p)
    ends, before = size.named_ends, earlier.named_ends
    if ends is None or before is None or size.named_by != earlier.named_by:
        return size
    return replace(size, named_ends=_common(before, ends, size.value))


def _common(before: Interval, now: Interval, value: float) -> Interval:
    """Return the common part of the intervals of two looks, which hold together.

    It is never without the estimate. An interval of NaN says nothing.
    """
    low = min(float(np.fmax(before[0], now[0])), max(value, 0.0))
    high = max(float(np.fmin(before[1], now[1])), value)
    return low, high


def _reason(verdict: Verdict, basis: _Basis) -> str:
    """Return what limits a verdict, a key of the reasons: the first that holds, or empty.

    First comes what makes every number worthless, then what is missing for an interval, then what
    the interval leaves open.
    """
    noise = NOISE[verdict.noise] if isinstance(verdict, SingleVerdict) else ""
    if verdict.word != "undecided" and math.isfinite(verdict.high):
        return noise
    if basis.blocked:
        return "unparsed_by_order"
    if verdict.why:
        return verdict.why
    if verdict.high < verdict.smallest <= verdict.furthest:
        return "one_criterion"
    if not math.isfinite(verdict.high):
        return "too_few_units"
    if basis.few_deals:
        return "few_deals"
    any_prompt = isinstance(verdict, SingleVerdict) and verdict.any_prompt
    if any_prompt and not verdict.above_zero and not basis.of_form:
        return "any_prompt"
    return noise


def units_needed(smallest: float, reach: float, alpha: float = ALPHA) -> int:
    """Return the fewest units at which "equivalent" can be said.

    At so many units a judge of twice the smallest effect, made by units that move by all they can,
    shows one such unit in 95% of studies (``alpha`` = 0.05).
    """
    share = 2 * smallest / reach if reach > 0 else 1.0
    if share >= 1:
        return 1
    return int(np.ceil(np.log(alpha) / np.log1p(-share)))


def _more_units(size: Verdict, smallest: float, units: int, needed: int) -> int | None:
    """Return about how many more units would decide if the size stays; None where it is not known.

    An effect or "equivalent", whichever is nearer. Intervals shrink with the root of the units;
    where hardly any moved they shrink with their number (Clopper and Pearson's bound).
    """
    if not math.isfinite(size.high):
        least = max(MIN_UNITS, needed)
        return least - units if units < least else None
    power = 1 if size.few_moved else 2
    times = []
    if size.value > 0 and math.isfinite(size.low):
        times.append(((size.value - size.low) / size.value) ** power)
    if size.value < smallest:
        room = smallest - max(size.value, 0.0)
        times.append(max(((size.high - size.value) / room) ** power, needed / units))
    if not times:
        return None
    growth = max(min(times), LEAST_GROWTH) - 1
    return max(1, int(np.ceil(units * growth)))


# ------------------------------------------------------------------------------ the three questions
NOISE: dict[Noise, str] = {
    "": "",
    "all": "",
    "some": "noise_partly_included",
    "none": "noise_included",
}
"""How many orders were asked twice, and the reason that says what is missing then."""


def _positions(sizing: _Sizing) -> PositionVerdict:
    """Estimate the lean of each position. The test is V squared over what noise makes of it."""
    table, usable, n = sizing.table, sizing.usable, sizing.table.n
    reach, most = 1.0, 1 - 1 / n
    if table.criteria:
        reach = most = sizing.span
    elif table.labels is not None and len(table.labels):
        reach = most = reach_of_labels(table.shown, table.labels, sizing.span)
    ones = np.ones((int(usable.sum()), 1))
    top, bottom = _unit_sums(table.unit[usable], table.lean[usable], ones)
    leans = [_estimate(column, bottom[:, 0], reach) for column in top.T]
    # Of two positions one lean is minus the other: a single comparison.
    bands, intervals, low, high = _magnitude(leans, n if n > 2 else 1, sizing.alpha)
    moves = top / bottom.mean()
    seen = min(float(np.abs(moves).max()), reach)
    of_seen = [_estimate(column, bottom[:, 0], seen) for column in top.T]
    position = _largest([e.value for e in leans])
    share = table.share[usable].mean(axis=0)
    value = np.array([e.value for e in leans])
    # A position that goes with another one is not named: the score may follow that one.
    unclear: set[int] = set()
    if table.labels is not None:
        for one, other, _ in not_told_apart(table.shown, table.labels):
            unclear |= {one, other}
    v, v_without_noise = (np.sqrt(n / (n - 1) * part) for part in _squared_length(moves))
    pooled = PositionVerdict(
        value=abs(leans[position].value),
        low=low,
        high=high,
        p=lean_test(top, bottom[:, 0]),
        # The most that one unit can move a position by is also the most that a lean can be.
        reach=most,
        most=most,
        few_moved=_few_moved(leans[position]),
        named_ends=_named_ends(bands[position], intervals[position], most),
        position=position,
        lean=leans[position].value,
        leans=tuple(value.tolist()),
        intervals=tuple(intervals),
        seen_intervals=tuple(e.interval(1 - sizing.alpha) for e in of_seen),
        shares=tuple(share.tolist()),
        expected=tuple((share - value).tolist()),
        outside=tuple(
            p
            for p, (below, above) in enumerate(bands)
            if (below > 0 or above < 0) and p not in unclear
        ),
        unanimous=_unanimous(moves) if table.labels is None else (),
        v=float(v),
        v_without_noise=float(v_without_noise),
    )
    return _of_criteria(sizing, pooled) if table.by_criterion else pooled


def reach_of_labels(shown: Ints, labels: Floats, span: float) -> float:
    """Return the most by which an item's score can follow the label at a position, in points.

    That is an item with the top score wherever the label there is above the position's mean, and
    the lowest elsewhere: span of scores / 2 x the mean distance of labels from their mean there. It
    is the span itself where the labels are two, and more than that where some lie in between.
    ``shown``: (cells, n) codes of examples.
    """
    at_position = labels[np.unique(shown, axis=0)]
    away = np.abs(at_position - at_position.mean(axis=0)).mean(axis=0).max()
    variance = np.square(labels - labels.mean()).mean()
    return float(span / 2 * np.ptp(labels) * away / variance)


def _unanimous(moves: Floats) -> tuple[int, ...]:
    """Return the positions to whose side every unit leans, by exact sign tests with Sidak's rule.

    ``moves``: (units, n). The bands of a nearly noiseless judge say nothing, since units that tie
    allow for any that was not met. From MOST_UNANIMOUS units on the bands name as much by
    themselves. This is about the units at hand, and says nothing of their mean.

    Simulated with 8, 10 and 15 units of five options (400 studies a cell, 72 cells, judges that
    are not the lab's): it names a side that the mean does not have in at most 1.0% of studies, the
    bands in up to 11.7% (most units lean a little one way, few far the other). Of a nearly
    noiseless judge that gives the first option 61 points more than even, the bands name it in 46%
    (8 units), 67% (10) and 99% (15); with this rule it is 100%.
    """
    units, n = moves.shape
    p = 1 - (1 - min(2.0 ** (1 - units), 1.0)) ** n
    if not MIN_UNITS <= units < MOST_UNANIMOUS or p > ALPHA:
        return ()
    same = (moves > FLAT).all(axis=0) | (moves < -FLAT).all(axis=0)
    return tuple(np.flatnonzero(same).tolist())


def _of_criteria(sizing: _Sizing, pooled: PositionVerdict) -> PositionVerdict:
    """Estimate how far a position moves a criterion, whichever way each criterion goes.

    Where a call scores several criteria the size is D, in points: D^2 = mean over criteria of (1 -
    1/n) x the sum over positions of a criterion's squared leans, noise taken off. D is the lean
    where one position stands out, and criteria that move against each other do not cancel.
    ``pooled``: the record about their mean. The upper end is never below that of ``pooled``, and
    the test is the better of the two, by Sidak's rule.
    """
    table, usable, n = sizing.table, sizing.usable, sizing.table.n
    moved = table.lean_of_criteria[usable].reshape(-1, n * n)
    top, bottom = _unit_sums(table.unit[usable], moved, np.ones((len(moved), 1)))
    every = squared_length_test(top, bottom[:, 0], n * (n - 1), sizing.alpha)
    squares = [
        squared_length_test(top[:, k * n : k * n + n], bottom[:, 0], n - 1).value for k in range(n)
    ]
    sizes = np.sqrt(np.maximum((1 - 1 / n) * np.array(squares), 0.0))
    value, low, high = (
        float(np.sqrt((1 - 1 / n) / n * part)) for part in (every.value, every.low, every.high)
    )
    return replace(
        pooled,
        value=value,
        low=low,
        high=max(high, pooled.high) if math.isfinite(high) else high,
        p=float(1 - (1 - np.fmin(every.p, pooled.p)) ** 2),
        named_ends=(low, min(high, pooled.most)),
        criteria=CriteriaSizes(
            sizes=tuple(sizes.tolist()),
            criterion=int(np.argmax(sizes)),
            p_pooled=pooled.p,
            p_criteria=every.p,
        ),
    )


def _half_the_pass_rate(
    positions: PositionVerdict, mean: MeanVerdict, span: float
) -> PositionVerdict:
    """Return the positions of a scale of two scores, made of the change of the pass rate.

    What the low score gains where it is listed first is half of what the pass rate moves by.
    """

    def half(ends: Interval) -> Interval:
        return ends[0] / span / 2, ends[1] / span / 2

    if not math.isfinite(mean.value) or mean.named_ends is None:
        return replace(positions, low=NAN, high=NAN, p=mean.p, why=mean.why)
    line, below, above = mean.contrasts[mean.named]
    lean = line / span / 2
    low, high = half(mean.interval)
    single = half((below, above))
    leans = np.array([-lean, lean])
    return replace(
        positions,
        value=abs(lean),
        low=low,
        high=high,
        p=mean.p,
        few_moved=mean.few_moved,
        named_ends=half(mean.named_ends),
        position=0,
        lean=-lean,
        leans=(-lean, lean),
        intervals=((-single[1], -single[0]), single),
        seen_intervals=((-single[1], -single[0]), single),
        expected=tuple((np.array(positions.shares) - leans).tolist()),
        outside=(0, 1) if mean.low > 0 else (),
    )


def _squared_length(parts: Floats) -> tuple[float, float]:
    """Return the squared length of the mean of ``parts`` (units, n), with and without noise.

    Without noise: from products of two different units only. NaN of a single unit.
    """
    units = len(parts)
    total = float(np.square(parts.sum(axis=0)).sum())
    own = float(np.square(parts).sum())
    without_noise = max(0.0, (total - own) / (units * (units - 1))) if units > 1 else NAN
    return total / units**2, without_noise


def _mean(sizing: _Sizing) -> MeanVerdict:
    """Estimate the named contrasts of the mean score, each by its t test; Sidak's rule over them.

    This is about reversing the list, not about any two orders: a third part for these (the vector
    of order means, F as for positions) cost more power than it gave. The largest gap of two orders
    is shown as a number without a verdict.
    """
    estimates, reach = _contrasts_of_mean(sizing.table, sizing.span)
    if not estimates:
        return MeanVerdict(why="no_contrast", reach=reach)
    estimates = {name: e for name, e in estimates.items() if e.units >= MIN_UNITS} or estimates
    bands, intervals, low, high = _magnitude(list(estimates.values()), len(estimates), sizing.alpha)
    p = np.array([t_test(e) for e in estimates.values()])
    smallest_p = float(1 - (1 - p.min()) ** len(p))
    # The larger contrast may be the noisier: where a test decides, the verdict is about the
    # contrast that it tested.
    if smallest_p <= sizing.alpha:
        chosen = int(np.argmin(p))
    else:
        chosen = _largest([e.value for e in estimates.values()])
    named = list(estimates)[chosen]
    contrasts = {
        name: Sized(e.value, *ends)
        for (name, e), ends in zip(estimates.items(), intervals, strict=True)
    }
    return MeanVerdict(
        value=abs(estimates[named].value),
        low=low,
        high=high,
        p=smallest_p,
        reach=reach,
        most=sizing.span,
        few_moved=_few_moved(estimates[named]),
        named_ends=_named_ends(bands[chosen], intervals[chosen], sizing.span),
        named=named,
        signed=estimates[named].value,
        contrasts=contrasts,
    )


def _contrasts_of_mean(table: Cells, span: float) -> tuple[dict[str, Estimate], float]:
    """Return (the estimate of each contrast that the orders allow, the most a unit can move)."""
    estimates: dict[str, Estimate] = {}
    reach = span
    scores = OrderCells(table.item, np.arange(len(table.item)), table.score)
    for name, contrast in table.contrasts.items():
        if table.one_order_an_item:
            estimates[name] = _slope_over_items(table, scores, contrast, span)
            continue
        parts = within_texts(scores, contrast, table.items, span)
        if parts is None:
            continue
        reach = max(reach, parts.reach)
        held = parts.bottom > 0
        sums, weights = _unit_sums(
            table.unit[held], parts.top[held, None], parts.bottom[held, None]
        )
        estimates[name] = _estimate(sums[:, 0], weights[:, 0], reach)
    return estimates, reach


def _slope_over_items(table: Cells, scores: OrderCells, contrast: Floats, span: float) -> Estimate:
    """Estimate a contrast across items that have one drawn order each, with HC3 errors."""
    fitted = over_texts(scores, contrast, span)
    if fitted is None:
        return missing("too_few_units")
    slope, influence, reach = fitted
    sums, _ = _unit_sums(table.unit, influence[:, None], np.ones((table.items, 1)))
    moves = sums[:, 0] * len(sums)
    return Estimate(slope, moves - moves.mean(), np.arange(len(sums)), Reach(reach, moves))


def _single(sizing: _Sizing, p: float) -> SingleVerdict:
    """Estimate how many scores change between two orders, less those that change in the same one.

    At least 0 in truth where every order was asked twice (the energy distance between orders;
    Szekely and Rizzo 2013). The noise of an order asked once is unknown and counts as none: then
    the number is an upper one only. An order that was asked twice and parsed once has the noise of
    its item's other orders; an item that has none of these is left out, as long as half of the
    items have one.
    """
    table = sizing.table
    several = table.orders > 1
    changed = table.by_item(np.where(table.count > 1, 1 - table.same, 0.0))
    repeated = table.by_item((table.count > 1) * np.ones(len(table.count)))
    flips = 1 - table.cross
    again = several & (repeated > 0)
    asked_twice = bool((table.asked[several[table.item]] > 1).all())
    every = asked_twice and bool(again.any()) and bool(2 * again.sum() >= several.sum())
    if every:
        several = again
        changed = np.where(again, changed * table.orders / np.maximum(repeated, 1), changed)
        repeated = np.where(again, table.orders, repeated)
    beyond = (flips - changed / table.orders)[several]
    top, bottom = _unit_sums(table.unit[several], beyond[:, None], np.ones((len(beyond), 1)))
    estimate = _estimate(top[:, 0], bottom[:, 0], 1.0)
    low, high = estimate.interval(1 - sizing.alpha)
    any_prompt = estimate.interval(1 - ANY_PROMPT * sizing.alpha)[0] > 0
    noise: Noise = "none"
    if every:
        noise = "all"
    elif again.any():
        noise = "some"
    return SingleVerdict(
        value=estimate.value,
        # Noise that is not known may be all of it: no lower end.
        low=low if every else -math.inf,
        high=high,
        p=p,
        reach=1.0,
        most=1.0,
        few_moved=_few_moved(estimate),
        flips=float(flips[several].mean()),
        own_noise=float((changed[again] / repeated[again]).mean()) if again.any() else NAN,
        noise=noise,
        beyond_noise=Sized(estimate.value, low, high),
        any_prompt=every and bool(any_prompt),
    )


# --------------------------------------------------------------------------------- means over units
def _unit_sums(unit: Ints, top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    """Return the sums of ``top`` (items, k) and ``bottom`` (items, 1) over units.

    Rows are sorted by their values alone, so that no result depends on the names of units.
    """
    _, code = np.unique(unit, return_inverse=True)
    units = int(code.max(initial=-1)) + 1
    sums = sum_by(code, np.concatenate([top, bottom], axis=1), units)
    sums = sums[np.lexsort(sums.T)]
    return sums[:, :-1], sums[:, -1:]


def _estimate(top: Floats, bottom: Floats, reach: float) -> Estimate:
    """Return the ratio of sums over units, with the interval that verdicts are made of."""
    return ratio(top, bottom, np.arange(len(top)), lambda moves: Reach(reach, moves, MIN_UNITS))


def _few_moved(e: Estimate) -> bool:
    """Return whether so few units moved that the interval is an exact bound."""
    moves = e.rule.moves if isinstance(e.rule, Reach) else e.influence
    if not len(moves):
        return True
    return int((np.abs(moves - np.median(moves)) > FLAT).sum()) < FEW_MOVED


def t_test(e: Estimate) -> float:
    """Return the two-sided p of "the mean over units is 0"; NaN below MIN_UNITS units.

    The degrees of freedom are those for the units' kurtosis.
    """
    if e.units < MIN_UNITS:
        return NAN
    if e.error < FLAT:
        # All units are equal: at 0, or as in a sign test in which all point the same way.
        return 1.0 if abs(e.value) < FLAT else float(2.0 ** (1 - e.units))
    return float(2 * special.stdtr(degrees_of_freedom(e.influence), -abs(e.value) / e.error))


def _magnitude(
    estimates: Sequence[Estimate], comparisons: int, alpha: float
) -> tuple[list[Interval], list[Interval], float, float]:
    """Return (simultaneous bands, single intervals, low and high end of the magnitude).

    Low: the furthest from 0 of the bands (Sidak). High: the furthest end of the single intervals,
    at 1 - ``alpha``. To be equivalent each has to be inside, and an intersection-union test needs
    no correction (Berger 1982).
    """
    bands = [e.interval((1 - alpha) ** (1 / comparisons)) for e in estimates]
    intervals = [e.interval(1 - alpha) for e in estimates]
    low = max(max(below, -above) for below, above in bands)
    high = max(max(-below, above) for below, above in intervals)
    return bands, intervals, low, high


def _named_ends(band: Interval, interval: Interval, most: float) -> Interval:
    """Return the ends of an effect that is named by one position or contrast.

    The others' ends say nothing of its size: a position whose units nearly all tie, as with few
    calls, may have an end far away (``Reach``) that belongs to no other.
    """
    below, above = band
    least, furthest = interval
    return max(below, -above, 0.0), min(max(-least, furthest), most)


def _largest(values: Sequence[float]) -> int:
    """Return the index of the value furthest from 0; of ties (1e-9) the first."""
    return int(np.argmax(np.round(np.abs(values), 9)))
