"""Agreement beyond chance: of each judge with people, and between judges, orders, repeats, prompts.

Coefficients of categories (exact share, kappas, AC1, AC2, alphas) are of a single read with a single
rating, averaged over all pairs of an item's reads and ratings, so that an item counts once. Those of
numbers (intraclass correlations, tau-b, mean difference and its limits) are of the item's mean score
with its mean rating. An item counts where a person rated it and any of its reads gave a score; all
other items are counted. What people reach among themselves stands beside it as the ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.agreement_panels import between
from rubriclab.findings.agreement_results import (
    MOST_CATEGORIES,
    AgreementResult,
    ArmAgreement,
    Coefficients,
    Confusion,
    OrderAgreement,
    Panel,
    arm_json,
    panel_json,
)
from rubriclab.findings.agreement_tables import (
    Grouped,
    categories,
    no_categories,
    of_means,
    own_ratings,
    panel,
    panel_table,
    rater_reads,
    score_counts,
    single_values,
    value_counts,
)
from rubriclab.findings.agreement_words import sentences
from rubriclab.findings.effects import step, unfinished
from rubriclab.findings.frame import Bools, OptionRows, Units, mean_by, option_rows, side_by_side, units
from rubriclab.findings.topic import DocumentPart, Topic
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import bare, many, number
from rubriclab.stats.agreement import COEFFICIENTS, PairTable, coefficients, coefficients_without, crossed, spread
from rubriclab.stats.agreement_intervals import FEWEST, of_mean
from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.verdict import Effect, effect

SMALLEST = 0.1
"""The smallest difference in kappa that is of interest between a judge and people among themselves."""
MEASURE = "kappa_quadratic"
"""What a judge is held against people's own agreement by; with two options all kappas are one."""
MOST_ORDERS, FEWEST_READ = 24, 5
"""So many orders of an arm at most are shown by themselves, those read most, of so many items."""
HIGH_SHARE, LOW_KAPPA, PARADOX = 0.7, 0.4, 0.2
"""Where so many pairs are alike, kappa is still so low and AC1 so much higher, one category is why
(Feinstein and Cicchetti 1990, High Agreement but Low Kappa)."""


def agreement(data: RunData, *, seed: int = 0) -> AgreementResult:
    """Every arm of the options axis with people, and every panel inside the run."""
    del seed  # nothing is drawn
    unit, ratings = units(data.items, data.unit), own_ratings(data.items)
    every = [(code, arm, rows) for code, arm, rows in data.by_arm() if arm.axis == "options" and len(rows)]
    rows = side_by_side(lambda one: option_rows(data, one[1], one[2]), every)
    read = [_Read(code, arm, mine) for (code, arm, _), mine in zip(every, rows, strict=True)]
    arms: list[ArmAgreement] = []
    if np.isfinite(ratings).any():
        found = side_by_side(lambda one: _arm(data, one, ratings, unit), read)
        arms = [one for one in found if one is not None]
    warnings = (
        () if arms else (tr("No item has both a human rating and a score, so agreement with people is not known."),)
    )
    panels = between(data, [(one.code, one.arm, one.rows) for one in read], unit)
    return AgreementResult(tuple(arms), tuple(panels), warnings)


@dataclass(frozen=True)
class _Read:
    code: int
    arm: Arm
    rows: OptionRows


@dataclass(frozen=True)
class _Sides:
    """Both sides of the items that count: ``known`` values, counts (items, k) of the judge's reads and
    of the ratings; ``at``: their places among the arm's items."""

    arm: Arm
    rows: OptionRows
    at: Ints
    ratings: Floats
    known: Floats
    units: Grouped
    unit: Ints

    @property
    def step(self) -> float:
        return step(self.arm.scores)

    def table(self, judged: Floats) -> PairTable:
        rated = value_counts(self.ratings, self.known)
        return crossed(judged, rated, self.known, step=self.step, unit=self.units.code, units=self.units.n)

    def judged(self, which: Bools) -> Floats:
        return score_counts(self.rows, which, self.arm.scores, self.known)[self.at]

    def only(self, keep: Bools) -> _Sides:
        """The same of some of the items."""
        unit = self.unit[keep]
        return _Sides(self.arm, self.rows, self.at[keep], self.ratings[keep], self.known, Grouped.of(unit), unit)


def _arm(data: RunData, read: _Read, every: Floats, all_units: Units) -> ArmAgreement | None:
    rows, arm = read.rows, read.arm
    rated, scored, sides = _sides(arm, rows, every, all_units)
    if sides is None:
        return None
    at, unit, known = sides.at, sides.unit, sides.known
    means = mean_by(rows.item[rows.ok], rows.value[rows.ok], rows.n_items)[at]
    table = _table(sides)
    lost = (int((rated & ~scored).sum()), int((~rated).sum()), int((~rows.ok & (rated & scored)[rows.item]).sum()))
    one = _single(table, known)
    return ArmAgreement(
        code=read.code,
        arm=arm,
        n_items=len(at),
        n_units=len(np.unique(unit)),
        unit=all_units.kind if len(np.unique(unit)) < len(at) else "item",
        reads=int(np.bincount(rows.item).max()),
        raters=int(np.isfinite(sides.ratings).sum(axis=1).max()),
        unread=lost[0],
        unrated=lost[1],
        gaps=lost[2],
        one_read=one,
        averaged=_averaged(sides, means, table),
        means=of_means(means, np.nanmean(sides.ratings, axis=1), sides.units, _spread(table)),
        raters_own=_raters(sides) if table is not None else None,
        measure=MEASURE,
        below=_below(data, sides) if table is not None else None,
        paradox=_paradox(one),
        confusion=_confusion(table),
        orderings=_orders(sides) if table is not None else (),
        warnings=tuple(_warnings(sides, lost, all_units.kind)),
    )


def _sides(arm: Arm, rows: OptionRows, every: Floats, all_units: Units) -> tuple[Bools, Bools, _Sides | None]:
    """(rated, scored, both sides of the items that are both: None without any); ``every``: all ratings."""
    ratings = every[rows.item_code]
    rated = np.asarray(np.isfinite(ratings).any(axis=1))
    scored = np.bincount(rows.item[rows.ok], minlength=rows.n_items) > 0
    at = np.flatnonzero(rated & scored)
    if not len(at):
        return rated, scored, None
    unit = all_units.code[rows.item_code[at]]
    known = categories(arm.scores, ratings[at])
    return rated, scored, _Sides(arm, rows, at, ratings[at], known, Grouped.of(unit), unit)


def _table(sides: _Sides) -> PairTable | None:
    """Single reads by single ratings; None of more than MOST_CATEGORIES values."""
    return None if len(sides.known) > MOST_CATEGORIES else sides.table(sides.judged(sides.rows.ok))


def with_people(data: RunData, arm: Arm, rows: OptionRows) -> tuple[PairTable | None, int]:
    """(single reads of an arm by single ratings, how many items count); None without them."""
    *_, sides = _sides(arm, rows, own_ratings(data.items), units(data.items, data.unit))
    return (None, 0) if sides is None else (_table(sides), sides.units.n)


def _spread(table: PairTable | None) -> float:
    """How many items lie outside the commonest pair of values."""
    if table is None:
        return float("inf")
    total = table.pairs.sum(axis=0)
    return float(total.sum() - total.max(initial=0.0))


def _single(table: PairTable | None, known: Floats) -> Coefficients:
    if table is not None:
        return single_values(table)
    return no_categories(
        tr("the two sides have {n} different values, {most} are the most", n=len(known), most=MOST_CATEGORIES)
    )


def _averaged(sides: _Sides, means: Floats, table: PairTable | None) -> Coefficients:
    """The mean score at its nearest option, with a single rating."""
    if table is None:
        return _single(None, sides.known)
    scores = np.asarray(sides.arm.scores, dtype=np.float64)
    judged = np.zeros((len(means), len(sides.known)))
    judged[:, np.searchsorted(sides.known, scores)] = spread(means, scores)
    return single_values(sides.table(judged))


def _raters(sides: _Sides) -> Panel | None:
    """People among themselves, on the items that count."""
    return panel(rater_reads(sides.ratings, sides.known, sides.arm.scores, sides.unit))


def _below(data: RunData, sides: _Sides) -> Effect | None:
    """MEASURE of the judge with people less that of people among themselves, on the same items."""
    several = np.isfinite(sides.ratings).sum(axis=1) > 1
    if not several.any():
        return None
    mine = sides.only(several)
    table = mine.table(mine.judged(mine.rows.ok))
    people, _ = panel_table(rater_reads(mine.ratings, mine.known, mine.arm.scores, mine.unit))
    place = COEFFICIENTS.index(MEASURE)
    value = coefficients(table)[place] - coefficients(people)[place]
    without = coefficients_without(table)[:, place] - coefficients_without(people)[:, place]
    found = of_mean(LeftOut(float(value), without))
    return effect(found.value, found.ci, SMALLEST, unit="kappa", why=unfinished(data) or found.why)


def _paradox(one: Coefficients) -> bool:
    share, kappa, gwet = one.exact.value, one.kappa.value, one.ac1.value
    return share >= HIGH_SHARE and kappa < LOW_KAPPA and gwet - kappa >= PARADOX


def _confusion(table: PairTable | None) -> Confusion | None:
    if table is None:
        return None
    counts = table.pairs.sum(axis=0).T
    return Confusion(tuple(map(float, table.values)), counts)


def _orders(sides: _Sides) -> tuple[OrderAgreement, ...]:
    """Each order by itself, those read most; nothing where there is but one."""
    rows, scores = sides.rows, sides.arm.scores
    shown, code = np.unique(rows.shown, axis=0, return_inverse=True)
    order = code.ravel()[rows.ordering]
    known = np.flatnonzero(shown[:, 0] >= 0)
    if len(known) < 2:
        return ()
    often = np.bincount(order[rows.ok], minlength=len(shown))[known]
    kept = np.sort(known[np.argsort(-often, kind="stable")[:MOST_ORDERS]])
    found = (_order(sides, rows.ok & (order == one), tuple(scores[i] for i in shown[one])) for one in kept)
    return tuple(one for one in found if one is not None)


def _order(sides: _Sides, which: Bools, ordering: tuple[int, ...]) -> OrderAgreement | None:
    rows = sides.rows
    judged = sides.judged(which)
    read = judged.sum(axis=1) > 0
    if read.sum() < FEWEST_READ:
        return None
    mine = sides if read.all() else sides.only(read)
    table = mine.table(judged[read])
    means = mean_by(rows.item[which], rows.value[which], rows.n_items)[mine.at]
    people = np.nanmean(mine.ratings, axis=1)
    numbers = of_means(means, people, mine.units, _spread(table))
    return OrderAgreement(ordering, int(read.sum()), single_values(table), numbers)


def _warnings(sides: _Sides, lost: tuple[int, int, int], kind: str) -> Iterator[str]:
    unread, unrated, gaps = lost
    total = sides.rows.n_items
    if unread or unrated:
        yield tr(
            "{left_out} of {total} items {left_out:is|are} left out of agreement with people: {unread} without a score, "
            "{unrated} without a rating.",
            left_out=bare(unread + unrated),
            total=total,
            unread=unread,
            unrated=unrated,
        )
    if gaps:
        yield tr("{gaps} reads gave no score; their items count by the reads that did.", gaps=gaps)
    strange = np.setdiff1d(sides.known, np.asarray(sides.arm.scores, dtype=np.float64))
    if len(strange):
        few = ", ".join(number(value, "g") for value in strange[:4]) + (", …" if len(strange) > 4 else "")
        yield tr("Some ratings are not on the judge's scale ({few}): no read can be equal to these.", few=few)
    if sides.units.n < FEWEST:
        yield tr(
            "{units} {units:is|are} too few for intervals of agreement; at least {fewest}.",
            units=many(sides.units.n, kind),
            fewest=FEWEST,
        )


# ---------------------------------------------------------------- the topic


def _document(result: AgreementResult, data: RunData) -> DocumentPart:
    aligned = {arm.code: arm for arm in result.arms}
    arms = {
        code: {"agreement": arm_json(aligned[code]) if code in aligned else None}
        for code, arm in enumerate(data.arms)
        if arm.axis == "options"
    }
    names = ("kind", "judge", "dataset", "strategy", "variant")
    panels = [{name: getattr(one, name) for name in names} | panel_json(one.panel) for one in result.between]
    return DocumentPart(arms, {"between": panels})


AGREEMENT = Topic(
    "agreement",
    agreement,
    title=msg("Chance-corrected agreement"),
    axes=frozenset({"options"}),
    document=_document,
    sentences=sentences,
)
