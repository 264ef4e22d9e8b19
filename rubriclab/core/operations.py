"""Rows of two conditions, runs or readings in, their differences out; nothing else is computed here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rubriclab.core.topic import Row


def contrast(a: Iterable[Row], b: Iterable[Row], against: Any = None) -> list[Row]:
    """Row by row a - b, paired on units that both have by name, else independent; at 95 %, without a verdict.

    Rows match by topic, measure and ``of``; where ``b`` is about several conditions, by the condition's number too.
    Measures that have no difference (V, extremes, statistics of tests) are left out. ``against``: what stands in
    ``of.against``, by default the number of b's condition.
    """
    others = list(b)
    several = len({row.condition for row in others if row.topic != "verdict"}) > 1

    def key(row: Row) -> tuple[Any, ...]:
        return (*row.key, row.condition) if several else row.key

    other = {key(row): row for row in others}
    differences = []
    for row in a:
        partner = other.get(key(row))
        if partner is None or not row.about.contrast or row.topic == "verdict":
            continue
        of = {**row.of, "against": partner.condition if against is None else against}
        n = {"n": min(row.counts["n"], partner.counts["n"])} if "n" in row.counts and "n" in partner.counts else {}
        difference = row.estimate - partner.estimate
        differences.append(
            replace(row, estimate=difference, of=of, test=None, counts=n, level=0.95, verdict="", ends=None)
        )
    return differences
