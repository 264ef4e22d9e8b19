"""How many rated items a wanted interval on a judge's agreement with people takes.

The agreement is that of one read with one person's rating: kappa of the two, plain or quadratic, or
the intraclass correlation of single ratings among all who rate an item, the judge one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rubriclab.findings.frame import option_rows
from rubriclab.findings.ratings import Ratings, ratings_of
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number
from rubriclab.stats import agreement_planning as stats
from rubriclab.stats.inference import Floats

Coefficient = Literal["kappa", "kappa_quadratic", "icc"]
COEFFICIENTS: Mapping[Coefficient, str] = {
    "kappa": msg("Cohen's kappa"),
    "kappa_quadratic": msg("quadratic kappa"),
    "icc": msg("ICC of single ratings"),
}
HALF_WIDTH = 0.1
FEWEST_PILOT = 10
"""Rated items of a pilot below which its table says too little."""
LARGE_SAMPLE = 60
"""From here the formula's intervals covered 0.91 to 0.96 in simulation (600 studies each of 15 tables of
2 and 5 scores, kappa 0.3 to 0.8); of 30 items 0.86 to 0.94, of 15 items 0.56 to 0.93."""


@dataclass(frozen=True)
class AgreementAim:
    """Agreement that is guessed, and to plus or minus what it is to be known.

    ``ratings``: of each item, the judge's included, for the ICC; kappa is that of two.
    """

    guesses: Mapping[Coefficient, float] = field(default_factory=dict)
    half_width: float = HALF_WIDTH
    ratings: int = 2


NO_AIM = AgreementAim()


@dataclass(frozen=True)
class AgreementPlan:
    """Items for an interval of ``guess`` plus or minus ``half_width``.

    ``items``: those that the study has with a rating; ``half_width_now`` what they give (NaN for
    none), ``items_needed`` what the wanted one takes. ``ratings``: of each item, the judge's among
    them (kappa: two). ``source``: whose guess it is. ``assumes``: on what it rests, in words.
    """

    coefficient: Coefficient
    name: str
    source: Literal["pilot", "stated"]
    guess: float
    ratings: float
    half_width: float
    items: int
    half_width_now: float
    items_needed: int
    assumes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What it takes, in words."""
        now = tr("{items:,} rated items give ± {half_width:.2f}", items=self.items, half_width=self.half_width_now)
        have = now if np.isfinite(self.half_width_now) else tr("no rated items")
        return tr(
            "{coefficient} of about {guess:.2f} ({name}): ± {half_width:g} takes {items_needed:,} rated items; {have}",
            coefficient=tr(COEFFICIENTS[self.coefficient]),
            guess=self.guess,
            name=self.name,
            half_width=self.half_width,
            items_needed=self.items_needed,
            have=have,
        )


def stated_agreement(
    aim: AgreementAim, *, items: int, scores: Sequence[int], people: Floats
) -> tuple[AgreementPlan, ...]:
    """Plans for guessed agreement. Raises LabError for a guess that no table, or no number, can have.

    ``items``: those with a rating; ``people``: their ratings, whose shares over ``scores`` are taken
    for the judge's too (all alike where there are none).
    """
    _check(aim)
    shares = _marginal(people, scores)
    known = tr("the judge is taken to give each score as often as the people of this data do")
    known += _between(people)
    alike = known if np.isin(np.rint(people), scores).any() else tr("every score is taken to be given equally often")
    plans = []
    for coefficient, guess in aim.guesses.items():
        if coefficient == "icc":
            plans.append(_icc_plan("stated", tr("stated"), guess, aim.ratings, aim.half_width, items))
            continue
        kind: stats.Weights = "plain" if coefficient == "kappa" else "quadratic"
        table = stats.guessed_table(guess, shares, shares, kind)
        if table is None:
            raise LabError(
                tr(
                    "No two raters with these shares of scores ({shares}) reach {coefficient} {guess:g}. Guess "
                    "another agreement.",
                    shares=", ".join(number(p, ".0%") for p in shares),
                    coefficient=tr(COEFFICIENTS[coefficient]),
                    guess=guess,
                )
            )
        plans.append(_kappa_plan(coefficient, "stated", tr("stated"), table, aim.half_width, items, alike))
    return tuple(plans)


def pilot_agreement(
    data: RunData, arm: Arm, *, items: int, half_width: float = HALF_WIDTH
) -> tuple[tuple[AgreementPlan, ...], str | None]:
    """Plans from what a run's arm agreed with people, and why there are none.

    Each read beside each rating of its item, an item counting once however often it was read.
    """
    _check(AgreementAim(half_width=half_width))
    given = ratings_of(data.items)
    table, matrix = _pilot_tables(data, arm, given)
    if len(matrix) < FEWEST_PILOT:
        reason = tr(
            "{n} of its items have a read and a rating on the rubric's scores; {needed} needed",
            n=len(matrix),
            needed=FEWEST_PILOT,
        )
        return (), tr("The pilot says nothing of agreement with people: {reason}.", reason=reason)
    name = tr("pilot, {items}", items=many(len(matrix), "item"))
    plans = []
    kinds: tuple[tuple[Coefficient, stats.Weights], ...] = (("kappa", "plain"), ("kappa_quadratic", "quadratic"))
    for coefficient, kind in kinds:
        if np.isfinite(stats.kappa_variance(table, kind)):
            about = tr("the table of reads and ratings is the pilot's{ratings}", ratings=_between(given.values))
            plans.append(_kappa_plan(coefficient, "pilot", name, table, half_width, items, about))
    icc, ratings = stats.single_rating_icc(matrix)
    if np.isfinite(icc):
        plans.append(_icc_plan("pilot", name, icc, round(ratings), half_width, items))
    if not plans:
        return (), tr("The pilot says nothing of agreement with people: all its reads and ratings are one score.")
    return tuple(plans), None


def _check(aim: AgreementAim) -> None:
    if not 0 < aim.half_width < 1:
        raise LabError(
            tr(
                "An interval of plus or minus {half_width:g} cannot be planned for; a half-width lies in 0..1.",
                half_width=aim.half_width,
            )
        )
    if aim.ratings < 2:
        raise LabError(
            tr(
                "Agreement takes two ratings of an item, the judge's and a person's; {ratings} was given.",
                ratings=aim.ratings,
            )
        )
    for coefficient, guess in aim.guesses.items():
        if not 0 <= guess < 1:
            raise LabError(
                tr(
                    "{coefficient} {guess:g} cannot be planned for; guess from 0 up to below 1.",
                    coefficient=tr(COEFFICIENTS[coefficient]),
                    guess=guess,
                )
            )


def _between(ratings: Floats) -> str:
    """What is done with ratings that are no score, as means are; "" where there are none."""
    known = ratings[np.isfinite(ratings)]
    return "" if (known == np.rint(known)).all() else tr("; ratings between scores stand for the nearest score")


def _marginal(people: Floats, scores: Sequence[int]) -> Floats:
    """The share of each score among the ratings, none of them quite 0; all alike without ratings."""
    counts = np.array([(np.rint(people) == score).sum() for score in scores], dtype=np.float64)
    return np.asarray((counts + 0.5) / (counts + 0.5).sum())


def _kappa_plan(
    coefficient: Coefficient,
    source: Literal["pilot", "stated"],
    name: str,
    table: Floats,
    half_width: float,
    items: int,
    about: str,
) -> AgreementPlan:
    kind: stats.Weights = "plain" if coefficient == "kappa" else "quadratic"
    needed = stats.items_for_kappa(table, kind, half_width)
    assumes = [
        tr(
            "one read and one person's rating of each item, the items independent of each other (those that "
            "share a prompt or a text count for less)"
        ),
        about,
        tr("large-sample variance of Fleiss, Cohen and Everitt (1969)"),
    ]
    if min(needed, items or needed) < LARGE_SAMPLE:
        assumes.append(
            tr("below {fewest} items intervals by this formula are too narrow: plan for more", fewest=LARGE_SAMPLE)
        )
    now = stats.kappa_half_width(table, kind, items)
    guess = stats.kappa(table, kind)
    return AgreementPlan(coefficient, name, source, guess, 2, half_width, items, now, needed, tuple(assumes))


def _icc_plan(
    source: Literal["pilot", "stated"], name: str, guess: float, ratings: int, half_width: float, items: int
) -> AgreementPlan:
    guess, ratings = max(guess, 0.0), max(ratings, 2)
    assumes = (
        tr(
            "{ratings} ratings of each item, the judge's among them, none more lenient than another; few "
            "raters who differ in leniency make ICC(2,1) surer by no number of items",
            ratings=ratings,
        ),
        "Bonett (2002)",
    )
    needed = stats.items_for_icc(guess, ratings, half_width)
    now = stats.icc_half_width(guess, ratings, items)
    return AgreementPlan("icc", name, source, guess, ratings, half_width, items, now, needed, assumes)


def _pilot_tables(data: RunData, arm: Arm, given: Ratings) -> tuple[Floats, Floats]:
    """(shares of read x rating over the arm's scores, each item's first read beside its ratings)."""
    code = data.arms.index(arm)
    rows = option_rows(data, arm, next(judgments for number, _, judgments in data.by_arm() if number == code))
    item, score = rows.item_code[rows.item[rows.ok]], rows.score[rows.ok]
    reads = np.zeros((len(data.items), len(arm.scores)))
    np.add.at(reads, (item, score), 1.0)
    people = np.stack([(np.rint(given.values) == one).sum(axis=1) for one in arm.scores], axis=1).astype(np.float64)
    both = (reads.sum(axis=1) > 0) & (people.sum(axis=1) > 0)
    shares = [of[both] / of[both].sum(axis=1, keepdims=True) for of in (reads, people)]
    first = np.full(len(data.items), np.nan)
    first[item[::-1]] = np.asarray(arm.scores, dtype=np.float64)[score[::-1]]
    return shares[0].T @ shares[1] / max(int(both.sum()), 1), np.column_stack([first[both], given.values[both]])
