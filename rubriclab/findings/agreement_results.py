"""What is found about agreement beyond chance: of one arm with people, and inside a panel."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rubriclab.findings.plain import plain
from rubriclab.model import Arm
from rubriclab.stats.agreement_intervals import Estimated
from rubriclab.stats.inference import Floats
from rubriclab.stats.verdict import Effect

MOST_CATEGORIES = 20
"""Of more different values no table is made: they are measurements, not categories."""
UNKNOWN = Estimated(float("nan"))


def unknown(why: str) -> Estimated:
    """No number, for the reason ``why``."""
    return Estimated(float("nan"), why=why)


@dataclass(frozen=True)
class Coefficients:
    """Agreement of single values, in the order of ``stats.agreement.COEFFICIENTS``."""

    exact: Estimated = UNKNOWN
    within_one: Estimated = UNKNOWN
    kappa: Estimated = UNKNOWN
    kappa_linear: Estimated = UNKNOWN
    kappa_quadratic: Estimated = UNKNOWN
    ac1: Estimated = UNKNOWN
    ac2: Estimated = UNKNOWN
    alpha_nominal: Estimated = UNKNOWN
    alpha_ordinal: Estimated = UNKNOWN
    alpha_interval: Estimated = UNKNOWN


@dataclass(frozen=True)
class OfMeans:
    """Agreement of numbers. ``bias``: mean of judge less people, in points, with ``limits`` of 95 %.

    Inside a panel members have no first and second: only the intraclass correlations are known.
    """

    icc2_1: Estimated = UNKNOWN
    icc2_k: Estimated = UNKNOWN
    icc3_1: Estimated = UNKNOWN
    tau_b: Estimated = UNKNOWN
    bias: Estimated = UNKNOWN
    limit_low: Estimated = UNKNOWN
    limit_high: Estimated = UNKNOWN


@dataclass(frozen=True)
class Panel:
    """Members beside each other: raters, orders, repeats, prompts or judges.

    ``n_items``: with values of two members; ``complete`` of them with a value of every one, which
    the intraclass correlations are made of; ``members``: at most so many on an item.
    """

    n_items: int
    members: int
    complete: int
    one_read: Coefficients
    means: OfMeans


@dataclass(frozen=True)
class OrderAgreement:
    """One order of an arm beside the ratings; ``means`` are of the item's reads in this order."""

    ordering: tuple[int, ...]
    n_items: int
    one_read: Coefficients
    means: OfMeans


@dataclass(frozen=True)
class Confusion:
    """``values`` by ``values``: how many items (each shared out over its pairs) people rated by row
    and the judge scored by column."""

    values: tuple[float, ...]
    counts: Floats


@dataclass(frozen=True)
class ArmAgreement:
    """One arm beside people. ``one_read``: of a single read with a single rating, averaged over both.

    ``averaged``: of the mean score, taken to its nearest option, with a single rating; ``means``:
    of the mean score with the mean rating. ``raters``: the most ratings of an item; ``unread``,
    ``unrated``: items left out since none of their reads gave a score, or nobody rated them.
    ``gaps``: reads without a score among the items that count. ``below``: ``measure`` of the judge
    with people less that of people among themselves, on the same items.
    """

    code: int
    arm: Arm
    n_items: int
    n_units: int
    unit: str
    reads: int
    raters: int
    unread: int
    unrated: int
    gaps: int
    one_read: Coefficients
    averaged: Coefficients
    means: OfMeans
    raters_own: Panel | None
    measure: str
    below: Effect | None
    paradox: bool
    confusion: Confusion | None
    orderings: tuple[OrderAgreement, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """A panel of one judge (or two), by ``kind``: judges, orders, repeats or prompts."""

    kind: str
    judge: str
    dataset: str
    strategy: str
    variant: str
    panel: Panel


@dataclass(frozen=True)
class AgreementResult:
    """``arms``: those with people; ``between``: panels, which need no people."""

    arms: tuple[ArmAgreement, ...]
    between: tuple[Between, ...]
    warnings: tuple[str, ...] = ()


# ---------------------------------------------------------------- as JSON

AVERAGED = ("exact", "kappa_quadratic", "ac2")
"""Of the averaged score; the other coefficients of it say nothing more."""


def numbers(of: Coefficients | OfMeans) -> dict[str, Any]:
    """Every number by its name as ``{value, low, high}``, with ``why`` where one of them is None."""
    return {f.name: _number(getattr(of, f.name)) for f in fields(of) if not f.name.startswith("limit_")}


def _number(of: Estimated) -> dict[str, Any]:
    body = {"value": plain(of.value), "low": plain(of.ci.low), "high": plain(of.ci.high)}
    return body | ({"why": of.why} if of.why else {})


def limits(of: OfMeans) -> dict[str, Any]:
    return {"lower": _number(of.limit_low), "upper": _number(of.limit_high)}


def arm_json(arm: ArmAgreement) -> dict[str, Any]:
    """What the document says of one arm."""
    own = arm.raters_own
    body = numbers(arm.one_read) | numbers(arm.means) | {"limits": limits(arm.means)}
    counts = {
        "n": arm.n_items,
        "raters": arm.raters,
        "reads": arm.reads,
        "units": arm.n_units,
        "unit": arm.unit,
        "unread": arm.unread,
        "unrated": arm.unrated,
        "gaps": arm.gaps,
    }
    averaged = numbers(arm.averaged)
    beside = {
        "averaged": {name: averaged[name] for name in AVERAGED},
        "raters_own": own and panel_json(own),
        "against_raters": arm.below and {"measure": arm.measure, **plain(arm.below)},
        "kappa_paradox": arm.paradox,
        "confusion": plain(arm.confusion),
        "orderings": [_order_json(order) for order in arm.orderings],
        "warnings": list(arm.warnings),
    }
    return body | counts | beside


def panel_json(panel: Panel) -> dict[str, Any]:
    body = numbers(panel.one_read) | numbers(panel.means) | {"limits": limits(panel.means)}
    return body | {"n": panel.n_items, "raters": panel.members, "complete": panel.complete}


def _order_json(order: OrderAgreement) -> dict[str, Any]:
    body = numbers(order.one_read) | numbers(order.means) | {"limits": limits(order.means)}
    return {"ordering": list(order.ordering), "n": order.n_items, **body}
