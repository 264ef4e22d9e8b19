"""Does it matter that scores are ordinal? Each headline that takes them as numbers or names, and as ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from rubriclab.findings.alignment_arms import available_cases
from rubriclab.findings.effects import unfinished
from rubriclab.findings.frame import (
    OptionRows,
    Units,
    arm_units,
    item_tables,
    mean_by,
    option_rows,
    side_by_side,
    units,
)
from rubriclab.findings.plain import plain
from rubriclab.findings.rasch import rulers
from rubriclab.findings.rasch_results import Concluded, Gap
from rubriclab.findings.topic import DocumentPart, Json, Question, Sentence, Topic, about
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, listed, number
from rubriclab.stats.human_correlation import r_with_humans, rho_with_humans
from rubriclab.stats.inference import Floats, Interval, sum_by
from rubriclab.stats.ordinal import (
    Answer,
    Side,
    beyond_mean_place,
    conclusion,
    concordance,
    dominance,
    mean_place,
    of_correlation,
    of_ratio,
)
from rubriclab.stats.position import (
    average_effect_test,
    deviations,
    is_balanced,
    selection,
    v_from_noise,
    v_without_noise,
)
from rubriclab.stats.shift import OrderReads, ascending, direction, mean_over_units, turning_sums

Reading = tuple[int, Arm, pd.DataFrame]
Asked = Literal["order", "place", "people"]
LEVEL = 0.05


@dataclass(frozen=True)
class Twice:
    """One question answered twice: with scores as numbers (or names), and as ranks.

    ``order``: mean score ascending less descending in points; P(higher ascending) less P(higher
    descending). ``place``: Cramér's V without noise (``p``: its test, it has no interval here); places
    from the middle of the list. ``people``: Pearson's r; Kendall's tau-b.
    """

    asked: Asked
    numbers: float
    numbers_ci: Interval
    ranks: float
    ranks_ci: Interval
    answer: Concluded
    n_units: int
    p: float = float("nan")


@dataclass(frozen=True)
class Beside:
    """Spearman's rho and Somers' D of the judge's mean score on the mean rating, over ``n_items``.

    ``ranked``: items that D and tau-b were computed of, where a random part.
    """

    rho: float
    rho_ci: Interval
    somers: float
    somers_ci: Interval
    n_items: int
    ranked: int


@dataclass(frozen=True)
class OrdinalArm:
    """One arm's questions that it has an answer to."""

    code: int
    arm: Arm
    unit: str
    order: Twice | None
    place: Twice | None
    people: Twice | None
    beside: Beside | None

    @property
    def asked(self) -> tuple[Twice, ...]:
        return tuple(one for one in (self.order, self.place, self.people) if one is not None)


@dataclass(frozen=True)
class OrdinalResult:
    """``gaps``: by data set, judges beside each other and people (see the Rasch model)."""

    arms: tuple[OrdinalArm, ...]
    gaps: tuple[tuple[str, Gap], ...]


def ordinal(data: RunData, *, seed: int = 0) -> OrdinalResult:
    """Every arm of the options axis, and judges beside each other."""
    everyone = units(data.items, data.unit)
    mine = [one for one in data.by_arm() if one[1].axis == "options" and len(one[2])]
    arms = side_by_side(lambda one: ordinal_arm(data, one, everyone, seed=seed), mine)
    scales = rulers(data, seed=seed)
    return OrdinalResult(tuple(arms), tuple((scale.dataset, gap) for scale in scales for gap in scale.gaps))


def ordinal_arm(data: RunData, one: Reading, everyone: Units, *, seed: int = 0) -> OrdinalArm:
    code, arm, judgments = one
    rows = option_rows(data, arm, judgments)
    own = arm_units(rows, everyone)
    people, beside = _people(data, one, everyone, seed)
    order, place = _order(arm, rows, own), _place(rows, own, seed)
    if unfinished(data):
        order, place, people = _open(order), _open(place), _open(people)
    return OrdinalArm(code, arm, own.kind, order, place, people, beside)


def _open(one: Twice | None) -> Twice | None:
    return replace(one, answer="open") if one is not None and one.answer != "unknown" else one


# ---------------------------------------------------------------- the questions


def _order(arm: Arm, rows: OptionRows, own: Units) -> Twice | None:
    """Both from the scores chosen; None where the options were shown in one order."""
    ok = rows.ok
    turned = np.unique(np.round(direction(rows.shown)[np.unique(rows.ordering[ok])], 9))
    if len(turned) < 2:
        return None
    scores = np.asarray(arm.scores, dtype=np.float64)
    reads = OrderReads(rows.item[ok], rows.ordering[ok], rows.value[ok], own.code, own.n, rows.shown, scores)
    points = ascending(reads)
    top, bottom = turning_sums(reads)
    ahead, pairs = dominance(reads)
    ranks = mean_over_units(ahead, pairs)
    first = of_ratio(2.0 * top, bottom, points.interval)
    second = of_ratio(ahead, pairs, ranks.interval)
    answer = conclusion(first, second)
    return Twice("order", points.value, points.interval, ranks.value, ranks.interval, answer, points.units)


def _place(rows: OptionRows, own: Units, seed: int) -> Twice | None:
    """None where scores were not at all places alike: places then hold scores."""
    tables = item_tables(rows)
    if rows.n < 3 or not rows.ok.any() or not is_balanced(tables.seen):
        return None
    vectors = _of_units(deviations(tables.by_position), own)
    side = mean_place(vectors)
    test = average_effect_test(vectors, seed=seed)
    counts = sum_by(own.code, tables.by_position, own.n)
    v = v_without_noise(selection(counts.sum(axis=0).astype(np.int64)).v, v_from_noise(counts))
    answer = _place_answer(test.p, side, vectors)
    nothing = Interval(float("nan"), float("nan"))
    return Twice("place", v, nothing, side.value, side.interval, answer, len(vectors), test.p)


def _of_units(vectors: Floats, own: Units) -> Floats:
    """The mean of each unit's items that have one, (units, n)."""
    read = np.isfinite(vectors).all(axis=1)
    means = mean_by(own.code[read], vectors[read], own.n)
    return means[np.isfinite(means).all(axis=1)]


def _place_answer(p: float, side: Side, vectors: Floats) -> Answer:
    """A pull that the mean place misses changes the conclusion where it shows beyond the mean place."""
    if side.sign is None or not np.isfinite(p):
        return "unknown"
    if (p < LEVEL) == (side.sign != 0):
        return "same"
    return "changes" if side.sign == 0 and beyond_mean_place(vectors) < LEVEL else "not clear"


def _people(data: RunData, one: Reading, everyone: Units, seed: int) -> tuple[Twice | None, Beside | None]:
    human = data.items["human"].to_numpy().astype(np.float64)
    if not len(one[2]) or not np.isfinite(human).any():  # of a judge that waits there is nothing to compare
        return None, None
    reads = available_cases(data, *one, human, everyone.code).reads
    if len(reads.mean) < 3 or np.ptp(reads.mean) == 0 or np.ptp(reads.human) == 0:
        return None, None
    r, rho = r_with_humans(reads), rho_with_humans(reads)
    both = concordance(reads.human, reads.mean, reads.unit, seed=seed)
    tau, somers = both.tau, both.somers
    answer = conclusion(of_correlation(r), of_correlation(tau))
    n = len(np.unique(reads.unit))
    ranked = both.items if both.items < len(reads.mean) else 0
    beside = Beside(rho.value, rho.r_interval(), somers.value, somers.r_interval(), len(reads.mean), ranked)
    return Twice("people", r.value, r.r_interval(), tau.value, tau.r_interval(), answer, n), beside


# ---------------------------------------------------------------- in words

NAMES: dict[Asked, tuple[str, str, str]] = {
    "order": (
        msg("Does the order move scores?"),
        msg("points of the scores chosen, ascending less descending"),
        msg("P(higher ascending) − P(higher descending)"),
    ),
    "place": (
        msg("Are places picked unevenly?"),
        msg("Cramér's V, places as names"),
        msg("mean place from the middle"),
    ),
    "people": (msg("Do scores go with people's?"), msg("Pearson's r"), msg("Kendall's tau-b")),
}
"""The question, what numbers (or names) say, what ranks say."""
CONCLUSIONS: dict[Concluded, str] = {
    "same": msg("the same conclusion"),
    "changes": msg("the conclusion changes"),
    "not clear": msg("one just leaves out 0, the other just holds it: not clear that they differ"),
    "unknown": msg("too few to say"),
    "open": msg("no verdict, as the run is not finished"),
}


_AS_RANKS: dict[Asked, str] = {
    "order": msg(
        "Scores as ranks: a score is higher in ascending than in descending order by P(higher) − P(lower) = {value}; "
        "{conclusion}."
    ),
    "place": msg("Scores as ranks: the place chosen lies from the middle of the list by {value}; {conclusion}."),
    "people": msg("Scores as ranks: rank correlation (tau-b) is {value}; {conclusion}."),
}


def twice_sentence(one: Twice) -> str:
    """``As ranks: … [..]: the same conclusion.``"""
    value = f"{number(one.ranks, '+.2f')} {interval(one.ranks_ci, '+.2f', brackets=True)}"
    return tr(_AS_RANKS[one.asked], value=value, conclusion=tr(CONCLUSIONS[one.answer]))


def _sentences(result: OrdinalResult) -> Iterator[Sentence]:
    """One a judge and setting: which conclusions change when scores are taken as ranks."""
    groups: dict[str, list[Twice]] = {}
    for arm in result.arms:
        groups.setdefault(about(arm.arm), []).extend(arm.asked)
    for name, lines in groups.items():
        known = [one for one in lines if one.answer != "unknown"]
        if not known:
            continue
        changed = list(dict.fromkeys(NAMES[one.asked][0] for one in known if one.answer == "changes"))
        if any(one.answer == "open" for one in known):
            text = tr("Whether taking scores as ranks changes a conclusion is open: the run is not finished.")
        elif changed:
            questions = listed([tr(question) for question in changed])
            text = tr("Taking scores as ranks changes the answer to: {questions}", questions=questions)
        elif len(known) == 1:
            text = tr("Taking scores as ranks, the one conclusion does not change.")
        else:
            text = tr("Taking scores as ranks, none of {n} conclusions changes.", n=len(known))
        yield Sentence(name, text)


def lines(result: OrdinalResult) -> list[Json]:
    """All comparisons as plain rows: who, what was asked, both numbers with their ends, the answer."""
    rows: list[Json] = []
    for arm in result.arms:
        whom = {"judge": arm.arm.judge, "dataset": arm.arm.dataset}
        whom |= {"strategy": arm.arm.strategy, "variant": str(arm.arm.variant)}
        for one in arm.asked:
            beside = arm.beside if one.asked == "people" else None
            rows.append({**whom, **plain(one), "unit": arm.unit, "beside": plain(beside)})
    for dataset, gap in result.gaps:
        whom = {"judge": f"{gap.first}, {gap.second}", "dataset": dataset, "strategy": "", "variant": ""}
        rows.append({**whom, "asked": "judges", **plain(gap)})
    return rows


def _document(result: OrdinalResult, data: RunData) -> DocumentPart:
    del data
    return DocumentPart(beside={"ordinal": lines(result)})


ORDINAL = Topic(
    "ordinal",
    ordinal,
    title=msg("Scores as ranks"),
    axes=frozenset({"options"}),
    document=_document,
    sentences=_sentences,
)


def _of_arm(data: RunData, *, code: int) -> OrdinalArm:
    """One arm, without fitting the Rasch model."""
    mine = data.judgments[data.judgments["arm"].to_numpy() == code]
    return ordinal_arm(data, (code, data.arms[code], mine), units(data.items, data.unit))


ORDINAL_OF_ARM = Question("ordinal of one arm", _of_arm)
