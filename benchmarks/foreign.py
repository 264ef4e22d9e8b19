"""Simulate judges whose truth is known, and which are not the lab's own simulated ones.

Options are chosen by tables of probabilities: a latent trait (t with 3 degrees of freedom) cut into
a scale by noise (t with 4), skewed, of uneven noise, constant or shared by four items to a prompt,
or a mixed logit; pairs, lists, criteria and answers in one call are judged by traits with noise of
their own. Every maker is ``maker(rng, units, ...)``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from scipy import special

from rubriclab.core.cells import Answers
from rubriclab.core.company_effects import with_vectors
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.orders import orders_of_examples
from tests.tables import (
    CUTS,
    balanced_orders,
    choices,
    choose,
    comparisons,
    criteria,
    in_forms,
    options,
    responses,
    study,
)

Generator = np.random.Generator

# Which orders are asked, as indexes into the balanced set of m: half of it forwards, then half
# backwards.
DESIGNS = {
    "each order once": lambda m: np.arange(m),
    "each order twice": lambda m: np.tile(np.arange(m), 2),
    "default order ten times more": lambda m: np.r_[np.arange(m), [0] * 10],
    "two orders once": lambda m: np.array([0, m // 2]),
    "two orders twice": lambda m: np.array([0, m // 2] * 2),
    "default ten times, descending once": lambda m: np.array([0] * 10 + [m // 2]),
}


def utilities(rng: Generator, family: str, items: int, moved: np.ndarray, n: int) -> np.ndarray:
    """(items, slots, scores): log-probabilities up to a constant; ``moved`` (items, slots) shifts
    the item's trait.
    """
    if family == "mixed logit":
        worth = np.linspace(-1, 1, n)
        return (rng.normal(0, 1.5, (items, n)) + worth)[:, None] + moved[..., None] * worth
    trait, noise = rng.standard_t(3, items) * 0.8 + 0.3, np.full(items, 0.6)
    if family == "skewed":
        trait = 1.6 - rng.exponential(1, items)
    if family == "uneven noise":
        noise = np.exp(rng.normal(-1.5, 1.2, items)).clip(0.02, 3)
    if family == "constant":
        trait, noise = 1 + rng.normal(0, 0.1, items), np.full(items, 0.16)
    if family == "sharp":
        noise = np.full(items, 0.1)
    if family == "clustered":
        trait = (
            0.3
            + 0.8 * np.repeat(rng.standard_t(3, -(-items // 4)), 4)[:items]
            + rng.normal(0, 0.5, items)
        )
    cut = (np.linspace(-1.5, 1.5, n - 1) - (trait[:, None] + moved)[..., None]) / noise[
        :, None, None
    ]
    below = special.stdtr(4, cut)
    edge = np.ones((*below.shape[:2], 1))
    return np.log(np.diff(np.concatenate([0 * edge, below, edge], axis=2), axis=2) + 1e-9)


def option_calls(
    rng: Generator,
    family: str,
    kind: str,
    size: float,
    items: int,
    order: np.ndarray,
    orders: np.ndarray,
    drift: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return the options chosen, as codes (items, slots).

    order: (items, slots), indexes into ``orders``. drift: (items, slots), added to the trait.
    kind is what is planted, and size how much of it:
    first, middle, slope: log-odds of a position (slope: of the first minus the last).
    line, turn: ascending or forward lists move the trait by ``size``.
    cancel, cancelling line: the same with a direction for each item, so that the mean is zero.
    rare first, rare turn: a share ``size`` of the items always takes the first option, or turns
    the scale around in descending lists.
    never lowest: as first, but the lowest score gains nothing.
    """
    n = orders.shape[1]
    middle = (n - 1) / 2
    ascending = (
        (orders - middle) @ (np.arange(n) - middle) / np.square(np.arange(n) - middle).sum()
    )[order]
    steps = np.diff(orders, axis=1) % n
    forward = np.where((steps == 1).all(axis=1), 1.0, -1.0)[order]
    moved = np.zeros(order.shape) + drift
    if kind in ("line", "turn"):
        moved = moved + size / 2 * (ascending if kind == "line" else forward)
    if kind == "cancelling line":
        moved = moved + rng.choice([-1, 1], (items, 1)) * size / 2 * ascending
    log_p = utilities(rng, family, items, moved, n)
    lean = np.zeros((items, n))
    if kind in ("first", "never lowest"):
        lean[:, 0] = size
    if kind == "middle":
        lean[:, n // 2] = size
    if kind == "slope":
        lean += size * np.linspace(0.5, -0.5, n)
    if kind == "cancel":
        groups = -(-items // 4) if family == "clustered" else items
        lean = (rng.standard_t(5, (groups, n)) * size)[
            np.arange(items) // (4 if family == "clustered" else 1)
        ]
    position = np.argsort(orders, axis=1)[order]
    gain = np.take_along_axis(np.broadcast_to(lean[:, None], position.shape), position, axis=2)
    if kind == "never lowest":
        gain = gain * (np.arange(n) > 0)
    p = special.softmax(log_p + gain, axis=2)
    draw = rng.random((items, len(orders)))
    draw = (
        np.take_along_axis(draw, order, axis=1)
        if family == "one fixed draw a prompt"
        else rng.random(order.shape)
    )
    code = (draw[..., None] > p.cumsum(axis=2)).sum(axis=2).clip(0, n - 1)
    mover = np.zeros((items, 1), dtype=bool)
    mover[: round(size * items)] = True
    if kind == "rare first":
        code = np.where(mover, orders[order, 0], code)
    if kind == "rare turn":
        code = np.where(mover, np.where(ascending < 0, 0, n - 1), code)
    return code


@cache
def first_gain(family: str, lean: float, n: int = 5) -> float:
    """Return the log-odds of the first position that make its share ``lean`` larger than even.

    ``lean``: a fraction, over the balanced orders and very many items; found by halving.
    """
    if not lean:
        return 0.0
    orders = balanced_orders(n) - 1
    rng = np.random.default_rng(10**6)
    log_p = utilities(rng, family, 20_000, np.zeros((20_000, 1)), n)[:, 0]
    first = orders[:, 0]
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        p = special.softmax(log_p, axis=1)[:, first]
        # The first option's odds grow by exp(middle); the others keep theirs.
        chosen = p * np.exp(middle) / (1 + p * np.expm1(middle))
        low, high = (middle, high) if chosen.mean() - 1 / n < lean else (low, middle)
    return (low + high) / 2


def option_answers(
    rng: Generator,
    units: int,
    family: str = "latent",
    kind: str = "nothing",
    size: float = 0.0,
    n: int = 5,
    design: str = "each order twice",
    loss: str = "",
    session: str = "",
    declared: bool = True,
) -> Answers:
    """``loss``: as ``chance_of_loss``. ``session``: the judge's level rises by 1 while it runs,
    each item's calls "at random" times or "order by order". Orders drawn: "3 drawn orders an item".
    """
    items = 4 * units if family == "clustered" else units
    orders, drawn = balanced_orders(n) - 1, design.split()[0] if "drawn" in design else ""
    if drawn:
        orders = np.array(list(permutations(range(n))))
        order = np.argsort(rng.random((items, len(orders))), axis=1)[:, : int(drawn)]
    else:
        slots = DESIGNS[design](len(orders))
        order = np.broadcast_to(slots, (items, len(slots)))
    drift = np.zeros(order.shape)
    if session:
        time = (
            rng.random(order.shape)
            if session == "at random"
            else order / len(orders) + rng.random(order.shape) / 20
        )
        drift = time - time.mean()
    code = option_calls(rng, family, kind, size, items, order, orders, drift)
    chance = chance_of_loss(rng, loss, code, order, orders)
    code = np.where(rng.random(code.shape) < chance, -1, code)
    unit = np.arange(items) // (4 if family == "clustered" and declared else 1)
    return choices(np.where(code < 0, np.nan, code), order, orders, unit=unit, drawn=bool(drawn))


def chance_of_loss(
    rng: Generator, loss: str, code: np.ndarray, order: np.ndarray, orders: np.ndarray
) -> np.ndarray:
    """(items, slots): the chance that a reply cannot be parsed.

    "at random 1%" (10% where no number is given); "by score 40%" of the two highest (15%); "by
    order" (15% of descending lists), "by both" (30% by score, in lists that do not begin with the
    lowest); "where the answer stood first 30%", or last; "by prompt 5%": of an item's orders,
    each with all its repeats.
    """
    number = re.search(r"([\d.]+) %", loss)
    rate, high = float(number[1]) / 100 if number else 0.0, code >= orders.shape[1] - 2
    if loss.startswith("at random"):
        return np.full(code.shape, rate or 0.1)
    if loss.startswith("by score"):
        return (rate or 0.15) * high
    if loss == "by order":
        return 0.15 * (order >= len(orders) // 2)
    if loss == "by both":
        return 0.3 * high * (orders[order, 0] > 0)
    if loss.startswith("where"):
        place = orders.shape[1] - 1 if "last" in loss else 0
        return rate * (orders[order, place] == code)
    if loss.startswith("by prompt"):
        gone = rng.random((len(code), len(orders))) < rate
        return np.take_along_axis(gone, order, axis=1) * 1.0
    return np.zeros(code.shape)


# Of a judge that passes or fails: the mean and standard deviation of its items in log-odds.
PASSES = (0.6, 1.5)
# Of answers to one prompt: how much of an item's standard deviation they share, and the standard
# deviations of what they share in one call, and of what the order does to the prompt.
PROMPT_SHARES, PROMPT_MOOD, PROMPT_EFFECT = 0.8, 0.5, 0.5


def _normal(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights that integrate over a standard normal variable."""
    points_at, weights = np.polynomial.hermite_e.hermegauss(points)
    return points_at, weights / weights.sum()


def pass_rates(shift: float, a_prompt: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (weights, change of the pass rate) of an item, over items and effects of the order.

    ``shift``: between the two orders, in log-odds; with several answers to a prompt its mean.
    """
    fixed = np.zeros(1), np.ones(1)
    items, mood_of, effect_of = (
        (500, _normal(9), _normal(15)) if a_prompt > 1 else (20_000, fixed, fixed)
    )
    item = special.ndtri((np.arange(items) + 0.5) / items)[:, None, None] * PASSES[1] + PASSES[0]
    mood, by_mood = mood_of
    effect, by_effect = effect_of if shift else fixed
    moved = (shift + PROMPT_EFFECT * effect)[None, :, None] / 2
    level = item + PROMPT_MOOD * mood[None, None, :]
    change = (special.expit(level + moved) - special.expit(level - moved)) @ by_mood
    return np.broadcast_to(by_effect / len(change), change.shape), change


@cache
def pass_shift(change: float, a_prompt: int = 1) -> float:
    """How many log-odds between two orders change the pass rate by ``change``, by halving."""
    if not change:
        return 0.0
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        weights, moved = pass_rates(middle, a_prompt)
        low, high = (middle, high) if (weights * moved).sum() < change else (low, middle)
    return (low + high) / 2


def pass_answers(rng: Generator, units: int, change: float = 0.0, a_prompt: int = 1) -> Answers:
    """Items pass or fail in two orders, each twice; listed first, the low score is given more often
    by ``change`` (a share).

    ``a_prompt``: answers to a prompt. If there are several, they share most of their quality, a
    mood in each call, and what the order does to them.
    """
    orders, order = rotations(2), np.array([0, 1, 0, 1])
    middle, spread = PASSES
    shift = np.full((units, 1, 1), pass_shift(change, a_prompt))
    item = rng.normal(middle, spread, (units, a_prompt, 1))
    if a_prompt > 1:
        own = np.sqrt(1 - PROMPT_SHARES**2)
        shared = PROMPT_SHARES * rng.normal(0, spread, (units, 1, 1))
        item = middle + shared + own * rng.normal(0, spread, (units, a_prompt, 1))
        item = item + PROMPT_MOOD * rng.normal(size=(units, 1, len(order)))
        if change:
            shift = shift + PROMPT_EFFECT * rng.normal(size=shift.shape)
    moved = shift / 2 * np.where(order == 0, -1.0, 1.0)
    code = (rng.random((units, a_prompt, len(order))) < special.expit(item + moved)).astype(float)
    unit = np.repeat(np.arange(units), a_prompt)
    return choices(code.reshape(-1, len(order)), order, orders, unit=unit, points=[0.0, 1.0])


def option_table(
    rng: Generator,
    units: int,
    family: str = "latent",
    kind: str = "nothing",
    size: float = 0.0,
    fixed: int = 4,
    calls: int = 0,
) -> JudgmentTable:
    """Every balanced order twice, and the default one ``fixed`` times more; ``calls``: of random
    orders instead, an arm beside.
    """
    orders = balanced_orders(5)
    slots = np.r_[np.tile(np.arange(10), 2), np.zeros(fixed, dtype=np.int64)]
    every = np.array(list(permutations(range(5))))
    index = {tuple(row): k for k, row in enumerate(every.tolist())}
    known = np.array([index[tuple(row)] for row in (orders - 1).tolist()])
    order = np.broadcast_to(known[slots], (units, len(slots)))
    random = np.argsort(rng.random((units, len(every))), axis=1)[:, :calls]
    code = option_calls(rng, family, kind, size, units, np.hstack([order, random]), every) + 1.0
    table = options(
        code[:, :20], orders, slots[:20], fixed=code[:, 20 : 20 + fixed] if fixed else None
    )
    if not calls:
        return table
    drawn = options(code[:, 20 + fixed :], every + 1, random, drawn=True, strategy="random")
    both = in_forms({0: table, 1: drawn})
    return dataclasses.replace(
        both,
        conditions=tuple(
            dataclasses.replace(condition, variant={}) for condition in both.conditions
        ),
    )


def repeated_rounds(
    rng: Generator, units: int, scores: int, orders: int, moved: float
) -> tuple[JudgmentTable, np.ndarray]:
    """Return ``orders`` orders, each asked twice, and (units, orders, scores) the true shares.

    A logistic trait of spread 2 decides, and lists that ascend move it by ``moved``, falling
    linearly over the orders; each answer has order effects of its own too, of spread ``moved`` / 2.
    """
    shown = balanced_orders(scores)
    shown = shown[[0, len(shown) // 2]] if orders == 2 else shown[:orders]
    middle = (scores + 1) / 2
    ascending = (shown - middle) @ (np.arange(scores) - (scores - 1) / 2)
    direction = ascending / np.abs(ascending).max()
    own = rng.normal(0, moved / 2, (units, len(shown)))
    trait = rng.normal(0.6, 2.0, (units, 1)) + moved / 2 * direction + own
    cuts = np.linspace(-1.5, 1.5, scores - 1) if scores > 2 else np.zeros(1)
    above = special.expit(trait[..., None] - cuts)
    edge = np.ones((*trait.shape, 1))
    share = -np.diff(np.concatenate([edge, above, 0 * edge], axis=2), axis=2)
    drawn = rng.random((2, *trait.shape, 1))
    score = 1.0 + (drawn < above).sum(axis=3)
    return options(np.hstack(list(score)), shown, list(range(len(shown))) * 2), share


# ------------------------------------------------------------------------ several answers to a call
def rotations(k: int, both: bool = False) -> np.ndarray:
    forward = np.array([np.roll(np.arange(k), -shift) for shift in range(k)])
    return np.vstack([forward, forward[:, ::-1]]) if both else forward


GAINS_FIRST = {
    "first": np.ones(4),
    "opposite": np.array([1.0, -1.0, 1.0, -1.0]),
    "one": np.array([1.0, 0.0, 0.0, 0.0]),
}
"""Of each of four criteria, what it gains where it is listed first, in sizes."""


def joint_scores(
    rng: Generator,
    units: int,
    kind: str,
    size: float,
    family: str,
    halo: float = 0.7,
    repeats: int = 2,
) -> np.ndarray:
    """(units, calls, 4): scores 1 to 5 of four criteria (or answers) of one call, in the order
    shown by ``rotations(4, True)``.

    first: the position adds ``size`` points; opposite: to every other criterion it adds, from the
    others it takes them; one: to one criterion alone; cancel: each unit's own positions; backward:
    lists read backwards lower all.
    """
    orders = np.tile(rotations(4, both=True), (repeats, 1))
    position = np.broadcast_to(np.argsort(orders, axis=1), (units, len(orders), 4))
    trait = rng.normal(0, halo, (units, 1)) + rng.standard_t(4, (units, 4)) * 0.5 + 0.3
    noise = np.full((units, 1, 1), 0.5)
    if family == "skewed":
        trait = 1.8 - rng.exponential(0.8, (units, 1)) + rng.normal(0, 0.3, (units, 4))
    if family == "uneven noise":
        noise = np.exp(rng.normal(-1, 0.8, (units, 1, 1))).clip(0.05, 2)
    if family == "constant":
        trait, noise = np.full((units, 4), 2.0), 0.05 * noise
    lean = np.zeros((units, 4, 4))
    if kind == "cancel":
        lean = lean + rng.normal(0, size, (units, 1, 4))
    lean[:, :, 0] += size * GAINS_FIRST.get(kind, np.zeros(4))
    gain = lean[np.arange(units)[:, None, None], np.arange(4), position]
    backward = -size * (kind == "backward") * (np.arange(len(orders)) % 8 >= 4)
    call = rng.normal(0, 0.25, (units, len(orders), 1)) * (family != "constant")
    score = (
        3
        + trait[:, None]
        + gain
        + backward[:, None]
        + call
        + noise * rng.normal(size=position.shape)
    )
    return np.rint(score).clip(1, 5)


def joint_answers(
    rng: Generator,
    units: int,
    family: str = "latent",
    kind: str = "nothing",
    size: float = 0.0,
    lost: float = 0.0,
    halo: float = 0.7,
    repeats: int = 2,
    interchangeable: bool = False,
) -> Answers:
    score = joint_scores(rng, units, kind, size, family, halo, repeats)
    score[rng.random(score.shape[:2]) < lost] = np.nan
    orders = rotations(4, both=True)
    made = choices(score - 1, np.tile(np.arange(8), repeats), orders, points=np.arange(1.0, 6.0))
    return dataclasses.replace(made, interchangeable=interchangeable)


EXAMPLE_LABELS = {2: (1.0, 5.0), 3: (1.0, 3.0, 5.0), 4: (1.0, 2.0, 4.0, 5.0)}
"""Labels of so many examples, in the order of their file."""


def example_answers(
    rng: Generator,
    units: int,
    labels: Sequence[float] = EXAMPLE_LABELS[4],
    kind: str = "nothing",
    size: float = 0.0,
    lost: float = 0.0,
    clusters: int = 1,
    known: bool = True,
) -> Answers:
    """Scores 1 to 5 of answers behind examples in balanced orders, each asked twice.

    An answer's quality has a standard deviation of 0.8 points, and a call noise of 0.7. ``last``:
    ``size`` points are added for each point by which the last example's label is above their mean.
    ``cancel``: each answer has a pull of its own to that label, with a standard deviation of
    ``size``. ``clusters``: so many answers share half of their quality. ``known``: whether the
    labels are known to the lab.
    """
    values = np.asarray(labels)
    orders = np.array(orders_of_examples(range(len(values))))
    shown = np.tile(orders, (2, 1))
    above = values[shown[:, -1]] - values.mean()
    pull = np.zeros((units, 1))
    if kind == "last":
        pull += size
    elif kind == "cancel":
        pull += rng.normal(0, size, (units, 1))
    shared = np.repeat(rng.normal(0, 1, -(-units // clusters)), clusters)[:units, None]
    own = rng.normal(0, 1, (units, 1))
    quality = own if clusters == 1 else np.sqrt(0.5) * (shared + own)
    noise = rng.normal(0, 0.7, (units, len(shown)))
    score = np.clip(np.rint(3 + 0.8 * quality + pull * above + noise), 1, 5)
    score[rng.random(score.shape) < lost] = np.nan
    made = choices(
        score - 1,
        np.tile(np.arange(len(orders)), 2),
        orders,
        unit=np.arange(units) // clusters,
        points=np.arange(1.0, 6.0),
    )
    return dataclasses.replace(made, labels=values if known else np.zeros(0))


def winners(
    rng: Generator,
    units: int,
    k: int = 2,
    size: float = 0.0,
    cancel: float = 0.0,
    repeats: int = 1,
    ties: float = 0.1,
    a_question: int = 1,
) -> np.ndarray:
    """(comparisons, repeats x k): the position that won, 0 a tie, in k rotations: quality and
    Gumbel noise; the first position gains ``size`` log-odds, and in each question each position a
    lean of its own with a standard deviation of ``cancel``.
    """
    shown, count = np.tile(rotations(k), (repeats, 1)), units * a_question
    quality = rng.standard_t(4, (count, k)) * 0.7
    own = rng.normal(0, cancel / np.sqrt(2), (units, k))[np.arange(count) // a_question]
    utility = (
        quality[:, shown]
        + (size * (np.arange(k) == 0) + own)[:, None]
        + rng.gumbel(size=(count, len(shown), k))
    )
    best = np.sort(utility, axis=2)
    return np.where(best[..., -1] - best[..., -2] < ties, 0, utility.argmax(axis=2) + 1)


def choice_answers(
    rng: Generator, units: int, k: int = 2, a_question: int = 1, lost: float = 0.0, **how: Any
) -> Answers:
    position = winners(rng, units, k, a_question=a_question, **how)
    orders = np.tile(rotations(k), (position.shape[1] // k, 1))
    won = np.where(position > 0, orders[np.arange(len(orders)), position - 1], k)
    won[rng.random(won.shape) < lost] = -1
    item = np.repeat(np.arange(len(position)), len(orders))
    order = np.tile(np.arange(len(orders)) % k, len(position))
    unit = np.arange(len(position)) // a_question
    return Answers(
        item, order, won.reshape(-1, 1), rotations(k), unit, np.arange(k + 1.0), choices=True
    )


def form_calls(
    rng: Generator, units: int, kind: str, size: float, forms: int, calls: int
) -> np.ndarray:
    """(items, forms + 1, calls): codes in the default form of a prompt, then in others; "shift":
    every form but the last of several moves the trait by ``size``; "cancel": each item's own way.
    """
    moved = np.zeros((units, forms + 1))
    if kind == "shift":
        moved[:, 1 : max(forms, 2)] = size
    if kind == "cancel":
        moved[:, 1:] = rng.normal(0, size, (units, forms))
    p = special.softmax(utilities(rng, "latent", units, moved, 5), axis=2)
    return (
        (rng.random((units, forms + 1, calls, 1)) > p.cumsum(axis=2)[:, :, None])
        .sum(axis=3)
        .clip(0, 4)
    )


COMPANY_CUTS = np.array([-1.5, -0.5, 0.5, 1.5])
"""Where the trait of a text under a criterion, with the noise of a call, becomes the next score."""


def company_shift(kind: str, size: float, criteria: int) -> np.ndarray:
    """(criteria,): by how much company moves the trait of each criterion.

    "shift": all by ``size``; "apart": every other one up, the rest down; "two": the second down and
    the third up.
    """
    shift = np.zeros(criteria)
    if kind == "shift":
        shift += size
    elif kind == "apart":
        shift += np.where(np.arange(criteria) % 2, size, -size)
    elif kind == "two":
        shift[1:3] = -size, size
    return shift


def company_answers(
    rng: Generator,
    units: int,
    *,
    criteria: int,
    calls: tuple[int, int],
    shift: np.ndarray,
    mood: float = 0.0,
    lost: float = 0.0,
) -> Answers:
    """Each criterion by itself, and all in one call, whose scores share a mood.

    calls: alone and together. mood: the share of a joint call's noise that its criteria have in
    common. lost: the share of scores that could not be parsed.
    """
    trait = rng.normal(0, 0.9, (units, 1)) + rng.normal(0, 0.7, (units, criteria))
    codes = []
    for way, number in enumerate(calls):
        common = np.sqrt(mood * way) * rng.normal(size=(units, number, 1))
        own = np.sqrt(1 - mood * way) * rng.normal(size=(units, number, criteria))
        moved = trait[:, None] + common + own + shift * way
        code = np.searchsorted(COMPANY_CUTS, moved)
        code[rng.random(code.shape) < lost] = -1
        codes.append(code.reshape(-1, criteria))
    item = [np.repeat(np.arange(units), number) for number in calls]
    joint = Answers(
        item=item[1],
        order=np.zeros(len(item[1]), dtype=np.int64),
        code=codes[1],
        orders=np.arange(criteria)[None],
        unit=np.arange(units),
        points=np.arange(1.0, 6.0),
        criteria=True,
    )
    return with_vectors(joint, item[0], codes[0])


def company_means(shift: np.ndarray) -> np.ndarray:
    """(criteria,): the mean differences, in points, that ``company_answers`` plants.

    The trait and the noise are normal, so each is a sum of normal tails.
    """
    spread = np.sqrt(0.9**2 + 0.7**2 + 1)
    above = special.ndtr((shift[:, None] - COMPANY_CUTS) / spread)
    return np.asarray((above - special.ndtr(-COMPANY_CUTS / spread)).sum(axis=1))


# ----------------------------------------------------------------------------- tables of whole runs
def choice_table(
    rng: Generator, units: int, k: int, size: float, a_question: int = 1
) -> JudgmentTable:
    position = winners(rng, units, k, size, 0.8, 2, 0.1, a_question)
    return comparisons(
        position, rotations(k), prompt=[f"q{i // a_question}" for i in range(len(position))]
    )


def criteria_table(
    rng: Generator, units: int, kind: str = "nothing", size: float = 0.0, family: str = "latent"
) -> JudgmentTable:
    return criteria(joint_scores(rng, units, kind, size, family), rotations(4, both=True))


def responses_table(
    rng: Generator, units: int, kind: str = "nothing", size: float = 0.0
) -> JudgmentTable:
    score = joint_scores(rng, units, kind, size, "latent", 0.0, 1)
    alone = np.rint(score.mean(axis=1) + 0.2 + rng.normal(0, 0.4, (units, 4))).clip(1, 5)
    return responses(score, rotations(4, both=True), alone=alone)


def helped_table(rng: Generator, units: int, first: float) -> JudgmentTable:
    orders = balanced_orders(5)
    return options(choose(rng, units, orders, first=first, repeats=2), orders)


def people_table(rng: Generator, units: int, kind: str, size: int) -> JudgmentTable:
    return study(rng, units * size, size=size, kind=kind, fixed=4, lost=0.03, unrated=0.1)


def run_of(
    rng: Generator, quality: np.ndarray, level: float = 0.0, first: float = 0.5, noise: float = 1.0
) -> JudgmentTable:
    """One run of a latent judge of options about the texts of ``quality`` (items,), each balanced
    order twice.
    """
    orders = balanced_orders(5)
    shown = np.tile(orders, (2, 1))
    utility = -0.5 * (shown - quality[:, None, None] - level) ** 2 + first * (np.arange(5) == 0)
    chosen = (utility + noise * rng.gumbel(size=utility.shape)).argmax(axis=2)
    return options(
        shown[np.arange(len(shown)), chosen].astype(float), orders, np.tile(np.arange(10), 2)
    )


def forms_table(rng: Generator, units: int, size: float = 0.0) -> JudgmentTable:
    score = form_calls(rng, units, "shift", size, 1, 6) + 1.0
    return in_forms(
        {
            level: options(score[:, k], [[1, 2, 3, 4, 5]], [0] * 6)
            for k, level in enumerate(("a", "b"))
        }
    )


def ranked_table(rng: Generator, units: int, moved: float = 0.0, calls: int = 8) -> JudgmentTable:
    """Four candidates a prompt, eight calls in each of two orders; each trait moves by ``moved``
    (sd) in the second.
    """
    trait = 0.6 * rng.normal(size=(units, 1)) + 0.8 * rng.normal(size=(units, 4))
    sides = []
    for shift in (0.0, moved * rng.normal(size=trait.shape)):
        seen = (trait + shift).reshape(-1, 1) + 0.5 * rng.logistic(size=(trait.size, calls))
        sides.append(1.0 + np.searchsorted(np.array(CUTS["even"]), seen))
    order = [0] * calls + [1] * calls
    prompt = [f"p{i // 4}" for i in range(trait.size)]
    table = options(np.hstack(sides), [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]], order, prompt=prompt)
    conditions = tuple(
        dataclasses.replace(table.conditions[0], strategy=name) for name in ("fixed", "descending")
    )
    return dataclasses.replace(
        table, conditions=conditions, rows=table.rows.assign(condition=np.tile(order, trait.size))
    )


def stated_table(
    rng: Generator,
    units: int,
    sharper: float = 1.0,
    first: float = 0.0,
    sure: float = 1.5,
    reworded: float = 0.0,
) -> JudgmentTable:
    """A judge that returns a probability for each score, once in each balanced order, and people
    who draw from the truth; it states the truth to a power, favours the first option, and moves its
    log-odds by ``reworded`` with every prompt.
    """
    shown = balanced_orders(5) - 1
    odds = rng.normal(0, sure, (units, 5))
    true = special.softmax(odds, axis=1)
    log_p = (
        sharper * odds[:, shown]
        + first * (np.arange(5) == 0)
        + reworded * rng.normal(size=(units, 10, 5))
    )
    given = special.softmax(log_p, axis=-1)
    pick = (
        np.take_along_axis(
            np.broadcast_to(shown, given.shape), given.argmax(axis=-1)[..., None], -1
        )[..., 0]
        + 1
    )
    people = (rng.random((units, 3, 1)) > true.cumsum(axis=1)[:, None]).sum(axis=2).clip(0, 4) + 1.0
    ratings = [{f"rater {k}": x for k, x in enumerate(row)} for row in people.tolist()]
    made = options(pick, shown + 1, ratings=ratings)
    return dataclasses.replace(made, probabilities=given.reshape(-1, 5).astype(np.float32))
