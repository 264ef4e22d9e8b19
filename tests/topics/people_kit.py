"""Judges and people that share a latent trait: tables of judgments with ratings, to test topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Caution, Row
from rubriclab.model.judgment import JudgmentTable
from tests.tables import balanced_orders, options

ORDERS = balanced_orders(5)
CUTS = {"even": (-1.2, -0.4, 0.4, 1.2), "skewed": (-2.2, -1.6, -1.0, -0.3)}


def study(
    rng: np.random.Generator, items: int, *, calls: int = 10, raters: int = 3, kind: str = "even", size: int = 1,
    link: float = 1.0, noise: float = 0.5, fixed: int = 0, lost: float = 0.0, unrated: float = 0.0,
) -> JudgmentTable:  # fmt: skip
    """Scores and ratings 1 to 5; ``size`` items to a prompt, half of whose trait they share; ``link`` 0: the judge
    reads something else than people. ``fixed``: calls in one order, a second condition of the same judge."""
    units = items // size
    shared = rng.normal(size=(units, 1)) * np.ones(size)
    own = rng.normal(size=(units, size))
    trait = (own if size == 1 else np.sqrt(0.5) * (shared + own)).reshape(items, 1)
    seen = link * trait + np.sqrt(1 - link**2) * rng.normal(size=(items, 1))
    cuts = np.array(CUTS[kind])
    score = 1.0 + np.searchsorted(cuts, seen + noise * rng.logistic(size=(items, calls)))
    again = 1.0 + np.searchsorted(cuts, seen + noise * rng.logistic(size=(items, fixed))) if fixed else None
    rating = 1.0 + np.searchsorted(cuts, trait + 0.6 * rng.normal(size=(items, raters)))
    rating[rng.random(rating.shape) < unrated] = np.nan
    score = np.where(rng.random(score.shape) < lost, np.nan, score)
    people = [{f"rater {k}": value for k, value in enumerate(row) if np.isfinite(value)} for row in rating.tolist()]
    prompt = [f"p{i // size}" for i in range(items)] if size > 1 else [None] * items
    return options(score, ORDERS, fixed=again, ratings=people, prompt=prompt)


def rows_of(table: JudgmentTable, topic: str, condition: int = 0) -> tuple[list[Row], list[Caution]]:
    """One topic's rows and cautions of one condition; no verdict is computed."""
    made = list(TOPICS[topic].rows(Judgments(table).arms[condition]))
    return [one for one in made if isinstance(one, Row)], [one for one in made if isinstance(one, Caution)]


def row_of(table: JudgmentTable, topic: str, measure: str, condition: int = 0, **of: Any) -> Row:
    (row,) = [row for row in rows_of(table, topic, condition)[0] if row.measure == measure and dict(row.of) == of]
    return row
