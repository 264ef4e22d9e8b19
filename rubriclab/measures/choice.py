"""Estimate how positions, labels and the option listed just before change the odds of a choice.

Option s of an item, at position p with label l and right after option t, is chosen with probability
proportional to exp(u(item, s) + beta[p] + gamma[l] + delta[t]). The contents u are as many as items
times scores and are conditioned away: for two calls a, b of an item with different answers s, t,
given that these two came out, the chance that s came out of a is logistic((x[a,s] - x[a,t] - x[b,s]
+ x[b,t]) . theta). The sum over pairs of calls is a composite likelihood (Chamberlain 1980,
Analysis of Covariance with Qualitative Data; Varin, Reid and Firth 2011: its sandwich variance).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from rubriclab.core.estimate import Estimate, Opaque, missing
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.resample import DIRECT_LIMIT, Floats, Ints, by_content, distinct, sum_by

# ---------------------------------------------------------------------------- the model of a choice
MOST_PAIRS = 200_000
"""Pairs of calls beyond which only some of each item's are used, drawn at random."""
ROUNDS = 60
"""Newton steps: many more than a likelihood with a maximum needs."""
_FLAT = 1e-6
"""A curvature below this share of that at 0 is none: the answers follow the order strictly."""
_RANK = 1e-8
"""An eigenvalue below this share of the largest is 0."""
Levels = dict[str, Ints]
"""Effect -> (orders, options): the level that each option has in each order; -1 where it has none.
"""


def layout(shown: Ints, labels: Ints | None = None) -> Levels:
    """Return the levels of each effect, by option.

    ``shown``, ``labels``: (orders, options), what is at each position, and the code of its label.
    """
    position = np.argsort(shown, axis=1)
    before = np.concatenate([np.full((len(shown), 1), -1), shown[:, :-1]], axis=1)
    made = {"position": position, "neighbour": np.take_along_axis(before, position, axis=1)}
    return (
        made if labels is None else made | {"label": np.take_along_axis(labels, position, axis=1)}
    )


class Effect(NamedTuple):
    """``log_odds``: (levels,) against the average level; ``influence``: (units, levels)."""

    log_odds: Floats
    influence: Floats


@dataclass(frozen=True)
class Fit:
    """The effects that the orders can separate.

    units: codes of the units that say anything.

    ``why``: a key of the reasons where there is none.
    """

    effects: dict[str, Effect]
    units: Ints
    why: str = ""


def _coded(level: Ints) -> Floats:
    """(orders, options, width): orthonormal contrasts of an effect's levels that sum to 0.

    None where there is no level.
    """
    width = int(level.max())
    return np.concatenate([linalg.helmert(width + 1).T, np.zeros((1, width))])[level]


def fit_choice(levels: Levels, item: Ints, order: Ints, choice: Ints, unit: Ints) -> Fit:
    """Fit the model of a choice. ``item``, ``order``, ``choice``: (calls,); ``unit``: (items,)."""
    n = levels["position"].shape[1]
    answer = order * n + choice
    a, b, weight = _pairs(item, answer)
    kept = (order[a] != order[b]) & (choice[a] != choice[b])
    nothing = np.zeros(0, np.int64)
    if not (order != order[:1]).any():
        return Fit({}, nothing, "single_order" if len(order) else "nothing_parsed")
    effects = _separable(levels, order, a, b)
    if "position" not in effects:
        return Fit({}, nothing, "no_two_orders")
    if not kept.any():
        return Fit({}, nothing, "no_changes")
    a, b, weight = a[kept], b[kept], weight[kept]
    # Pairs of the same two orders and answers are one kind: there are few, however many the calls.
    answers = int(answer.max()) + 1
    kinds, kind = distinct(answer[a] * answers + answer[b])
    (order_a, s), (order_b, t) = (np.divmod(code, n) for code in np.divmod(kinds, answers))
    x = np.concatenate([_coded(levels[effect]) for effect in effects], axis=2)
    z = x[order_a, s] + x[order_b, t] - x[order_a, t] - x[order_b, s]
    units, of_pair = distinct(unit[item[a]])
    solved = _maximised(z, sum_by(kind, weight, len(kinds)))
    if solved is None:
        return Fit({}, nothing, "separated")
    theta, curve = solved
    miss = special.expit(-(z @ theta))
    gain = (weight * column[kind] for column in (miss[:, None] * z).T)
    score = np.stack([sum_by(of_pair, part, len(units)) for part in gain], axis=1)
    pull = _pulled(score, curve, z, kind, weight * (miss * (1 - miss))[kind], of_pair)
    pull -= pull.mean(axis=0)
    made, start = {}, 0
    for effect in effects:
        reach = _coded(np.arange(int(levels[effect].max()) + 1))
        part = slice(start, start + reach.shape[1])
        start = part.stop
        made[effect] = Effect(reach @ theta[part], pull[:, part] @ reach.T)
    return Fit(made, units)


def _pairs(item: Ints, answer: Ints) -> tuple[Ints, Ints, Floats]:
    """Two calls of an item each, and their weight: (calls - 1) / pairs, as in the full likelihood.

    ``answer``: (calls,) order and choice as one code, by which an item's calls are sorted; a round
    takes those of a distance that is drawn for each item. Where not all distances are used, so is
    each pair as often as any other (of the same two orders for all items odds are others, wherever
    the model is not the truth). Names do not reach the draws.
    """
    rng, calls = np.random.default_rng(0), np.bincount(item)
    content = by_content(
        sum_by(item, rng.random(int(answer.max(initial=-1)) + 1)[answer], len(calls))
    )
    drawn = np.empty(len(calls), dtype=np.int64)
    drawn[content] = rng.integers(0, 1 << 31, len(calls))
    row = np.argsort(item * (answer.max(initial=0) + 1) + answer, kind="stable")
    size = calls[item[row]]
    left = np.repeat(np.cumsum(calls), calls) - np.arange(len(row))
    pairs: list[Ints] = [np.zeros((2, 0), np.int64)]
    most = int(calls.max(initial=1)) - 1
    rounds = 0
    while rounds < most and (rounds == 0 or sum(part.shape[1] for part in pairs) < MOST_PAIRS):
        lag = 1 + (drawn + rounds) % np.maximum(calls - 1, 1)
        apart = np.where(rounds < size - 1, lag[item[row]], size)
        kept = np.flatnonzero(apart < left)
        pairs.append(np.stack([row[kept], row[kept + apart[kept]]]))
        rounds += 1
    a, b = np.concatenate(pairs, axis=1)
    share = np.minimum(rounds, calls - 1) / np.maximum(calls - 1, 1)
    return a, b, (2.0 / np.maximum(calls * share, 1e-9))[item[a]]


def _separable(levels: Levels, order: Ints, a: Ints, b: Ints) -> list[str]:
    """Return the effects that these orders alone can separate, whatever is answered.

    Taking the columns of an effect away costs the design all of its degrees of freedom. A neighbour
    must show among options that have one. An effect that is tied to the score, or only partly
    visible, is left out.
    """
    orders = int(order.max()) + 1
    pair = distinct(np.minimum(order[a], order[b]) * orders + np.maximum(order[a], order[b]))[0]
    pair = pair[pair // orders != pair % orders]
    pair = pair[
        :: max(1, len(pair) // 4_000)
    ]  # thinned evenly: thousands of pairs span what all of them do
    own = np.eye(levels["position"].shape[1]) * (levels["position"] == 0)[:, :, None]

    def rank(columns: list[Floats]) -> int:
        if not columns or not len(pair):
            return 0
        x = np.concatenate(columns, axis=2)
        z = x[pair // orders] - x[pair % orders]
        total = z.sum(axis=1)
        gram = z.shape[1] * np.einsum("rsk,rsl->kl", z, z) - total.T @ total
        values = np.linalg.eigvalsh(gram)
        return int((values > _RANK * max(1.0, float(values.max(initial=0.0)))).sum())

    kept = [effect for effect in levels if levels[effect].max(initial=0) > 0]
    for effect in [effect for effect in ("neighbour", "label") if effect in kept]:
        others = [_coded(levels[other]) for other in kept if other != effect]
        if effect == "neighbour":
            others.append(own)  # the option listed first has no neighbour
        if rank([*others, _coded(levels[effect])]) - rank(others) < int(levels[effect].max()):
            kept.remove(effect)
    position = [_coded(levels["position"])]
    return kept if rank(position) == own.shape[1] - 1 else []


def _pulled(
    score: Floats, curve: Floats, z: Floats, kind: Ints, worth: Floats, unit: Ints
) -> Floats:
    """(units, width): influence of each unit on theta, about theta without it.

    NaN where that would not be finite.

    By the inverse of ``curve`` less the unit's own part (Mancl and DeRouen 2001, A Covariance
    Estimator for GEE with Improved Small-Sample Properties; CR3 of Bell and McCaffrey 2002). With
    the whole curve, as is usual, odds of neighbours held in 0.83 to 0.89 of studies of 30 items of
    which 7 to 21 said anything, so in 0.92 to 0.97. No matter for very many.
    """
    if len(score) > DIRECT_LIMIT:
        return np.asarray(len(score) * np.linalg.solve(curve, score.T).T)
    z = z[kind]
    own = [sum_by(unit, (worth * column)[:, None] * z, len(score)) for column in z.T]
    without = curve - np.stack(own, axis=2)
    if np.linalg.eigvalsh(without).min() <= _RANK * np.linalg.eigvalsh(curve).max():
        return np.full(score.shape, np.nan)
    return np.asarray((len(score) - 1) * np.linalg.solve(without, score[:, :, None])[:, :, 0])


def _maximised(z: Floats, weight: Floats) -> tuple[Floats, Floats] | None:
    """(theta, curvature) of sum w log logistic(z theta), by Newton's method with halved steps.

    None where the likelihood has no maximum: answers then follow the order so strictly that no odds
    are large enough.
    """
    start = z.T @ ((weight / 4)[:, None] * z)
    if np.linalg.eigvalsh(start).min() <= _RANK * np.linalg.eigvalsh(start).max():
        return None
    theta = np.zeros(z.shape[1])
    value = -np.log(2.0) * weight.sum()
    for _ in range(ROUNDS):
        miss = special.expit(-(z @ theta))
        curve = z.T @ ((weight * miss * (1 - miss))[:, None] * z)
        if linalg.eigh(curve, start, eigvals_only=True, subset_by_index=[0, 0])[0] < _FLAT:
            return None
        gradient = z.T @ (weight * miss)
        if np.abs(gradient).max() < 1e-9 * weight.sum():
            return theta, curve
        step, size = np.linalg.solve(curve, gradient), 1.0
        while (
            new := float(-np.logaddexp(0.0, -(z @ (theta + size * step))) @ weight)
        ) < value and size > 1e-6:
            size /= 2
        theta, value = theta + size * step, new
    return None


# --------------------------------------------------------------------------------- the topic's rows


@topic("choice", axes={"options"}, charts=(Chart("forest", "position_odds"),))
def choice(arm: Arm) -> Iterator[Row]:
    """Yield odds against the average level, an option's own worth held constant.

    Odds of labels where these do not depend on the score.

    exp of log-odds, with the ends of Student's interval of them. Measured:
    ``docs/method-check.md``.
    """
    shown = [arm.run.orderings[k].labels for k in arm.order_code]
    names, labels = sorted({label for row in shown for label in row}), None
    if names and {len(row) for row in shown} == {arm.positions}:
        labels = np.array([[names.index(label) for label in row] for row in shown], dtype=np.int64)
    whole = arm.shown[:, 0] >= 0
    kept = np.flatnonzero(arm.ok & whole[arm.order])
    fit = fit_choice(
        layout(np.where(whole[:, None], arm.shown, np.arange(arm.positions)), labels),
        arm.item[kept],
        arm.order[kept],
        arm.score[kept],
        arm.unit,
    )
    counts = {"n": len(kept)}
    if not fit.effects:
        yield Row("position_odds", missing(fit.why), {"position": 1}, counts=counts)
        return
    levels: dict[str, tuple[str, str, Sequence[Any]]] = {
        "position": ("position_odds", "position", range(1, arm.positions + 1)),
        "neighbour": ("neighbour", "before", arm.names),
        "label": ("label_odds", "label", names),
    }
    for effect, made in fit.effects.items():
        measure, field, every = levels[effect]
        for k, level in enumerate(every):
            influence, why = made.influence[:, k], ""
            if not np.isfinite(influence).all():
                influence, why = np.zeros(len(influence)), "too_few_units"
            logs = Estimate(float(made.log_odds[k]), influence, arm.unit_names[fit.units], why=why)
            value = float(np.exp(logs.value))
            estimate = replace(
                logs,
                value=value,
                influence=logs.influence * value,
                rule=Opaque(partial(_ends, logs)),
            )
            yield Row(measure, estimate, {field: level}, counts=counts)


def _ends(logs: Estimate, level: float) -> tuple[float, float]:
    low, high = np.exp(logs.interval(level))
    return float(low), float(high)
