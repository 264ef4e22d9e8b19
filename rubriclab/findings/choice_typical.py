"""The effect of a position on the typical item, where items lean to places by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.stats import distributions
from rubriclab.stats.choice import ChoiceFit
from rubriclab.stats.choice_design import Layout, contrasts
from rubriclab.stats.choice_mixed import MOST_ITEMS, MOST_READS, Mixed, Reads, fit_mixed
from rubriclab.stats.inference import Floats, Ints, distinct, shuffled

FEW_ITEMS = 15
SMALL_LEANINGS = 0.3
"""Leanings of a smaller sd (log-odds) change beta by some per cent: one effect then serves all."""


@dataclass(frozen=True)
class Typical:
    """Log-odds by position (n,) with ends that hold one by one, and the sd of items' leanings.

    ``items``: how many were fitted; ``part``: they are a random part of all.
    """

    log_odds: Floats
    low: Floats
    high: Floats
    leaning: float
    items: int
    part: bool


def typical(
    places: Layout, fit: ChoiceFit, item: Ints, ordering: Ints, choice: Ints, cluster: Ints, seed: int
) -> Typical | None:
    """From the reads (reads,) of an arm; None where these cannot carry it.

    Labels and neighbours keep the effects that ``fit`` has for them.
    """
    sure = fit.position is not None and fit.separable.get("position") == "yes"
    if not sure or fit.separated or not fit.converged or fit.n_clusters < FEW_ITEMS:
        return None
    kept, table_order, table_choice, part = _table(item, ordering, choice, seed)
    if len(kept) < FEW_ITEMS:
        return None
    wide = contrasts(places.n)
    content = np.broadcast_to(wide, (*places.position.shape, places.n - 1))
    x = np.concatenate([content, wide[places.position]], axis=2)
    reads = Reads(x, _known(places, fit), table_order, table_choice)
    _, first = np.unique(item, return_index=True)
    owner = np.unique(cluster[first][kept], return_inverse=True)[1].astype(np.int64)
    mixed = fit_mixed(reads, slice(places.n - 1, 2 * places.n - 2), owner)
    return None if mixed is None else _levels(mixed, wide, part)


def _known(places: Layout, fit: ChoiceFit) -> Floats:
    offset = np.zeros(places.position.shape)
    if fit.label is not None:
        offset += np.nan_to_num(fit.label.log_odds)[places.label]
    if fit.neighbour is not None:
        offset += np.append(np.nan_to_num(fit.neighbour.log_odds), 0.0)[places.before]
    return offset


def _table(item: Ints, ordering: Ints, choice: Ints, seed: int) -> tuple[Ints, Ints, Ints, bool]:
    """(items kept, as ranks; their orderings and choices (items, reads); are they a part?)."""
    rng = np.random.default_rng(seed)
    present, rank = distinct(item)
    n = len(present)
    kept = np.sort(rng.permutation(n)[:MOST_ITEMS])
    order = shuffled(rank, rng.random(len(item)))
    starts = np.searchsorted(rank[order], np.arange(n))
    slot = np.arange(len(item)) - starts[rank[order]]
    new = np.full(n, -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    row = new[rank[order]]
    used = (row >= 0) & (slot < MOST_READS)
    width = int(slot[used].max(initial=-1)) + 1
    orders = np.full((len(kept), width), -1, dtype=np.int64)
    choices = orders.copy()
    orders[row[used], slot[used]] = ordering[order][used]
    choices[row[used], slot[used]] = choice[order][used]
    return kept, orders, choices, n > len(kept)


def _levels(fit: Mixed, wide: Floats, part: bool) -> Typical:
    value = wide @ fit.beta
    error = np.sqrt(np.clip(np.diag(wide @ fit.covariance @ wide.T), 0.0, None))
    reach = error * float(distributions.t.ppf(0.975, max(1, fit.items - 1)))
    return Typical(value, value - reach, value + reach, fit.sigma, fit.items, part)


def about_leanings(fit: ChoiceFit, own: Typical | None, wanted: bool) -> tuple[str, ...]:
    """For whom the odds of positions hold, where that is not the typical item of all."""
    if fit.position is None or not wanted or fit.separated:
        return ()
    if own is None:
        return (
            tr(
                "The odds take one effect of position for all items. Where items lean to places by themselves, "
                "the typical item is pulled more than they say."
            ),
        )
    if own.part and own.leaning >= SMALL_LEANINGS:
        return (tr("The odds of positions rest on a random part of {items}.", items=many(own.items, "item")),)
    return ()
