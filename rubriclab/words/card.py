"""Say what a judge card promises: the expected error, and the orders that it asks."""

from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.model.judgment import order_text
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count
from rubriclab.words.phrases import NBSP, ends, number, order_name, order_title, say

MOST_ORDERS = 3
"""Orders of a card that are named."""


def orders_text(orders: Sequence[Sequence[Any]], rate: PassRate | None) -> str:
    """Name the first orders of a card. ``rate``: of two scores, which one passes."""
    named = [
        order_title(order) if rate is None else order_name(order_text(order), rate)
        for order in orders[:MOST_ORDERS]
    ]
    return "; ".join(named) + ("…" if len(orders) > MOST_ORDERS else "")


def points_text(points: float, rate: PassRate | None) -> str:
    """Write a difference in points; of two scores, in percentage points of the pass rate."""
    if rate is None:
        return f"{number(points, '.2f')}{NBSP}points"
    return f"{number(points * abs(rate.factor), '.1f')}{NBSP}percentage points"


def expected_error_text(promise: Mapping[str, Any], *, several: bool, rate: PassRate | None) -> str:
    """Say how far scores lie from their mean over all orders.

    ``promise``: the card's figures, in points; see ``ExpectedError``. ``several``: whether the card
    asks in several orders, so that one order alone is worth a comparison.
    """
    form, factor = (".2f", 1.0) if rate is None else (".1f", abs(rate.factor))
    low, high = factor * promise["low"], factor * promise["high"]
    tables = ("card",) if rate is None else ("card", "card_pass_rate")
    text = say(
        "error",
        tables,
        distance=points_text(promise["distance"], rate),
        inside=ends(low, high, form, level=promise["level"]),
        items=count(promise["items"], "item"),
        margin=points_text(promise["margin"], rate),
    )
    if not several:
        return text
    return f"{text} {say('one_order', tables, distance=points_text(promise['one_order'], rate))}"
