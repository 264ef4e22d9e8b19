"""What a reader of one judge's comparisons must know: what was left out, and what could be mistaken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rubriclab.findings.comparison_effects import FirstPlace
from rubriclab.model import MOSTLY
from rubriclab.model.language import tr
from rubriclab.model.wording import many, p_value
from rubriclab.stats.advantage import FEW_UNITS
from rubriclab.stats.randomisation import ALARM


@dataclass(frozen=True)
class Usable:
    """What became of an arm's calls and series (a series: one comparison in its p orders).

    ``series``: complete ones that PC and PF use, in five classes; ``consistent_ties`` are
    among ``consistent``. ``incomplete``: series with ``missing_calls`` orders never made.
    ``extra``: further repeats left to RS because repeats are unequal. ``single_candidate``:
    calls that show fewer than two candidates; ``other_size``: calls of another list length.
    ``queries`` repeat the same order; ``asked_once`` do not; ``unequal_repeats`` have fewer
    repeats than the most repeated one.
    """

    calls: int
    series: int
    consistent: int
    primacy: int
    recency: int
    neutral: int
    unreadable: int
    consistent_ties: int
    tie_calls: int
    unread_calls: int
    incomplete: int
    missing_calls: int
    extra: int
    single_candidate: int
    other_size: int
    queries: int
    asked_once: int
    unequal_repeats: int


def cautions_of(result: Mapping[str, Any]) -> tuple[str, ...]:
    """In plain words: what was left out and what a reader could mistake."""
    usable: Usable = result["usable"]
    return (*_left_out(usable), *_repeats(usable, result["order_excess"].source), *_cautions(result, usable))


def _left_out(usable: Usable) -> Iterator[str]:
    if usable.single_candidate:
        yield tr("{calls} calls show one candidate only: nothing to compare.", calls=usable.single_candidate)
    if usable.other_size:
        yield tr("{calls} calls compare another number of candidates: left out.", calls=usable.other_size)
    if usable.incomplete:
        yield tr(
            "{comparisons} in no class: {calls} missing.",
            comparisons=many(usable.incomplete, "comparison"),
            calls=many(usable.missing_calls, "swapped call"),
        )
    if usable.unreadable:
        yield tr(
            "{unreadable:,} of {comparisons} in no class for a reply that cannot be read, but in the denominator of "
            "PF.",
            unreadable=usable.unreadable,
            comparisons=many(usable.series, "comparison"),
        )


def _repeats(usable: Usable, repeated_in: str) -> Iterator[str]:
    if usable.extra:
        yield tr(
            "Repeats are unequal: PC and PF use each comparison's first repeat, {extra} further ones count for RS "
            "only.",
            extra=usable.extra,
        )
    if usable.unequal_repeats or (usable.queries and usable.asked_once):
        yield tr(
            "RS rests on {queries} repeated queries; {unequal} have fewer repeats than the others and {once} were "
            "asked once and are left out.",
            queries=usable.queries,
            unequal=usable.unequal_repeats,
            once=usable.asked_once,
        )
    if usable.queries == 0:
        yield (
            tr("No query of this arm was repeated, so it has no RS; the {source} arm has one.", source=repeated_in)
            if repeated_in
            else tr("No query was repeated, so there is no RS.")
        )
    if usable.series == usable.unreadable:
        yield tr(
            "No comparison was read in every order: there is no PC, no PF and no test of it, and which questions lean "
            "to a side is not known."
        )


def _cautions(result: Mapping[str, Any], usable: Usable) -> list[str]:
    cautions = []
    if result["empty_cells"]:
        cautions.append(
            tr(
                "{empty} of {cells} cells have nothing readable; the paper's spread of PC counts them as 0 "
                "(without them {spread:.3f}).",
                empty=result["empty_cells"],
                cells=result["n_cells"],
                spread=result["pc_sd_readable"],
            )
        )
    cautions += _place_cautions(result["first_place"])
    if 0 < result["n_questions"] < FEW_UNITS:
        cautions.append(
            tr("Only {units}: intervals are rough and tests weak.", units=many(result["n_questions"], result["unit"]))
        )
    if usable.calls and usable.tie_calls > 0.9 * usable.calls:
        cautions.append(tr("This judge nearly always says tie. Two ties count as consistent, so its PC says little."))
    if result["error"] > 0.2:
        cautions.append(tr("More than a fifth of the replies cannot be read: PC describes the rest only."))
    if result["n_positions"] > 2 and usable.series:
        cautions.append(
            tr(
                "List-wise PF counts series, the first place against all others. Without any effect of the order "
                "these winners would give {expected:+.3f}: read PF against that, and trust its test and the shares "
                "of the first and last place.",
                expected=result["pf_expected"],
            )
        )
    if result["points"]:
        cautions.append(
            tr(
                "Inconsistent comparisons count as ties in the win rate, so a gap above PC x (1 - 1/p) cannot "
                "occur: part of the parabola is arithmetic."
            )
        )
    return cautions


def _place_cautions(first: FirstPlace) -> list[str]:
    cautions = []
    if first.label_mass < MOSTLY:
        cautions.append(
            tr(
                "Only {label_mass:.0%} of the probability was on the labels, so what places won is told by the "
                "choices.",
                label_mass=first.label_mass,
            )
        )
    if first.design != "one random order" or first.drawn is None:
        return cautions
    smallest = min(first.drawn.p_holm, default=float("nan"))
    cautions.append(
        tr(
            "Each comparison was shown in one order. The advantage of the first place is that of an average "
            "over candidates, and right if the order was dealt at random, which the data cannot show; of "
            "{tests} the strongest against it has {smallest} (corrected; below {alarm:g} the order is not "
            "taken to be dealt). {calls} left out: unread, or of candidates that were not seen both ways "
            "round.",
            tests=many(len(first.drawn.tests), "test"),
            smallest=p_value(smallest),
            alarm=ALARM,
            calls=many(first.left_out, "call"),
        )
    )
    if first.modelled:
        cautions.append(
            tr(
                "{calls} of candidates that met too seldom to be set against each other in both orders: a "
                "Bradley-Terry model takes out what they are worth.",
                calls=many(first.modelled, "call"),
            )
        )
    return cautions
