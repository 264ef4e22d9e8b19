"""Content, position, label and neighbour in one fit: how much each moves a judge's choice.

Positions are said of the typical item where items' own leanings are large enough to matter (see
``choice_typical``); else, and for labels and neighbours, one effect is taken for all items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rubriclab.findings.choice_typical import SMALL_LEANINGS, Typical, about_leanings, typical
from rubriclab.findings.frame import Bools, OptionRows, compress, option_rows, side_by_side, status_counts, units
from rubriclab.findings.plain import picked
from rubriclab.findings.topic import DocumentPart, Question, Topic
from rubriclab.model import Arm, Ordering, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats.choice import ChoiceFit, EffectFit, Separability, fit_choice, layout
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, Test

Source = Literal["choices", "probabilities"]

FEW_ITEMS = 20
UNLIMITED = msg("the judge follows the order so strictly that its odds have no limit")
"""Why odds are bounds without an interval or a test."""
DEFINITION = msg(
    "Log-odds against the average level: how much likelier a judge is to choose an option for where "
    "it stands (or the label beside it, or the score read just before), the option itself held "
    "constant. Positions: on the typical item, items having leanings of their own. Labels and "
    "neighbours: one effect for all items, each item's own preference for each score conditioned "
    "away by comparing two reads of the same item; where items differ, it is nearer to 0 than the "
    "typical item's."
)


@dataclass(frozen=True)
class Level:
    """One level of an effect; ``odds`` is exp(log_odds), the interval is on log-odds."""

    name: str
    log_odds: float
    ci: Interval
    odds: float


@dataclass(frozen=True)
class PositionLevel:
    """The effect of standing at ``position`` (1-based)."""

    position: int
    log_odds: float
    ci: Interval
    odds: float


@dataclass(frozen=True)
class ChoiceModel:
    """One arm's fit. ``label`` and ``neighbour`` are empty where they cannot be told apart.

    ``neighbour`` names the score read just before an option. ``identified`` says for each
    effect whether the design lets it be seen. ``n_informative``: items or blocks (``unit``)
    with two reads under different orders and different scores; ``excluded`` counts what was
    left out and why. ``position`` is of the typical item where ``leaning`` (the sd of items' own
    log-odds) is fitted and not small; ``pooled``: one effect for all items, which is always fitted.
    ``held_back``: the odds have no upper limit, so they are bounds: “at least” where above 1.
    """

    arm: int
    judge: str
    dataset: str
    strategy: str
    variant: str
    simulated: bool
    source: Source
    unit: str
    n_items: int
    n_reads: int
    n_informative: int
    n_pairs: int
    excluded: dict[str, int]
    position: tuple[PositionLevel, ...]
    pooled: tuple[PositionLevel, ...]
    leaning: float
    label: tuple[Level, ...]
    neighbour: tuple[Level, ...]
    position_test: Test | None
    label_test: Test | None
    neighbour_test: Test | None
    identified: dict[str, Separability]
    converged: bool
    held_back: bool
    warnings: tuple[str, ...]

    @property
    def of_typical_item(self) -> bool:
        """Is ``position`` the typical item's, so that it differs from ``pooled``?"""
        return self.position != self.pooled


@dataclass(frozen=True)
class ChoiceResult:
    """The choice model of every arm on the options axis."""

    arms: tuple[ChoiceModel, ...]
    n_arms_left_out: int
    definition: str
    warnings: tuple[str, ...]


def choice(data: RunData, *, source: Source = "choices", seed: int = 0) -> ChoiceResult:
    """Fit the choice model to each arm whose score options were reordered.

    ``source="probabilities"`` lets every answer count with its token probability where the
    judge gave them (reads without are left out and counted). Intervals are cluster-robust by
    item, or by block where the data have blocks; no bootstrap is involved. ``seed`` matters
    only beyond some millions of pairs of reads, of which a random part is then used.
    """

    def fitted(arm: tuple[int, Arm, pd.DataFrame]) -> ChoiceModel:
        return choice_of(data, *arm, source=source, seed=seed)

    mine = [arm for arm in data.by_arm() if arm[1].axis == "options" and len(arm[2])]
    models = tuple(side_by_side(fitted, mine))
    left_out = len(data.arms) - len(models)
    warnings = () if models else (tr("No arm of this run reorders score options."),)
    return ChoiceResult(models, left_out, DEFINITION, warnings)


def choice_of(
    data: RunData,
    code: int,
    arm: Arm,
    judgments: pd.DataFrame,
    *,
    source: Source = "choices",
    leanings: bool = True,
    seed: int = 0,
) -> ChoiceModel:
    """The choice model of one arm; ``judgments`` are its rows of ``data.judgments``.

    Without ``leanings`` one effect is taken for all items, which is all that a test needs.
    """
    rows = option_rows(data, arm, judgments)
    chances = _by_score(data, judgments, rows) if source == "probabilities" else None
    usable = rows.ok if chances is None else rows.ok & np.isfinite(chances).all(axis=1)
    names, labels = _label_codes(data.orderings, judgments, rows)
    grouping, item = units(data.items, data.unit), rows.item[usable]
    cluster, places = grouping.code[rows.item_code[item]], layout(_whole(rows.shown), labels)
    reads = item, rows.ordering[usable], rows.score[usable]
    known = None if chances is None else chances[usable]
    fit = fit_choice(places, *reads, cluster=cluster, seed=seed, probabilities=known)
    own = typical(places, fit, *reads, cluster, seed) if leanings and chances is None else None
    whom = arm.judge, arm.dataset, arm.strategy, str(arm.variant), arm.simulated
    return ChoiceModel(
        code,
        *whom,
        source,
        grouping.kind,
        n_items=len(np.unique(item)),
        n_reads=fit.n_reads,
        n_informative=fit.n_clusters,
        n_pairs=fit.n_pairs,
        excluded=_excluded(judgments, rows, usable),
        leaning=own.leaning if own else float("nan"),
        **_effects(fit, own, names, [str(score) for score in arm.scores]),
        warnings=(*_warnings(fit, grouping.kind), *about_leanings(fit, own, leanings)),
    )


def _effects(fit: ChoiceFit, own: Typical | None, labels: list[str], scores: list[str]) -> dict[str, Any]:
    """The levels and tests of each effect and what they are, as ``ChoiceModel`` names them."""
    pooled = _positions(fit)
    leans = own is not None and own.leaning >= SMALL_LEANINGS
    return {
        "position": _of_typical(own) if own is not None and leans else pooled,
        "pooled": pooled,
        "label": _levels(fit.label, labels),
        "neighbour": _levels(fit.neighbour, scores),
        "position_test": fit.position.test if fit.position else None,
        "label_test": fit.label.test if fit.label else None,
        "neighbour_test": fit.neighbour.test if fit.neighbour else None,
        "converged": fit.converged,
        "held_back": fit.separated,
        "identified": {str(effect): answer for effect, answer in fit.separable.items()},
    }


def _excluded(judgments: pd.DataFrame, rows: OptionRows, usable: Bools) -> dict[str, int]:
    """Judgments that the fit leaves out, by the reason."""
    counts = status_counts(judgments)
    excluded = {name: n for name, n in counts.items() if name not in ("total", "ok")}
    excluded["off scale"] = rows.off_scale
    excluded["without probabilities"] = int(rows.ok.sum() - usable.sum())
    return {reason: n for reason, n in excluded.items() if n}


def _whole(shown: Ints) -> Ints:
    """Orderings of other scores (rows of -1) as canonical ones: no usable read refers to them."""
    return np.where(shown[:, :1] < 0, np.arange(shown.shape[1])[None, :], shown)


def _label_codes(
    orderings: Sequence[Ordering], judgments: pd.DataFrame, rows: OptionRows
) -> tuple[list[str], Ints | None]:
    """Label names and their code at each position of each ordering; None where none are shown."""
    codes, _ = compress(judgments["ordering"].to_numpy().astype(np.int64), len(orderings))
    texts = [orderings[code].labels for code in codes.tolist()]
    whole = rows.shown[:, 0] >= 0
    if any(len(t) != rows.n for t, known in zip(texts, whole, strict=True) if known):
        return [], None
    names = sorted({label for t, known in zip(texts, whole, strict=True) if known for label in t})
    rank = {name: index for index, name in enumerate(names)}
    table = np.zeros((len(texts), rows.n), dtype=np.int64)
    for row, (text, known) in enumerate(zip(texts, whole, strict=True)):
        if known:
            table[row] = [rank[label] for label in text]
    return names, table


def _by_score(data: RunData, judgments: pd.DataFrame, rows: OptionRows) -> Floats:
    """Token probabilities by canonical score, (rows, n); NaN where the judge gave none."""
    chances = np.full((len(judgments), rows.n), np.nan)
    if data.probabilities is None:
        return chances
    chosen = data.judgments.index.get_indexer(judgments.index)
    by_position = data.probabilities[chosen, : rows.n]
    np.put_along_axis(chances, _whole(rows.shown)[rows.ordering], by_position, axis=1)
    return chances


def _positions(fit: ChoiceFit) -> tuple[PositionLevel, ...]:
    return tuple(
        PositionLevel(place + 1, level.log_odds, level.ci, level.odds)
        for place, level in enumerate(_levels(fit.position, None))
    )


def _of_typical(own: Typical) -> tuple[PositionLevel, ...]:
    ends = zip(own.log_odds.tolist(), own.low.tolist(), own.high.tolist(), strict=True)
    return tuple(
        PositionLevel(place + 1, value, Interval(low, high), math.exp(value))
        for place, (value, low, high) in enumerate(ends)
    )


def _levels(effect: EffectFit | None, names: list[str] | None) -> tuple[Level, ...]:
    if effect is None:
        return ()
    names = names if names is not None else [str(i + 1) for i in range(len(effect.log_odds))]
    return tuple(
        Level(
            name,
            float(value),
            Interval(float(low), float(high)) if math.isfinite(low) else NO_INTERVAL,
            math.exp(value),
        )
        for name, value, low, high in zip(names, effect.log_odds, effect.low, effect.high, strict=True)
    )


_DESIGN_WARNINGS: dict[tuple[str, Separability], str] = {
    ("position", "no"): (
        msg(
            "Every item was read in one order only: position, label and content cannot be told apart. Use a "
            "balanced, random or Williams design."
        )
    ),
    ("position", "partly"): (
        msg(
            "These orders show only some differences between positions (two mirrored orders, say); positions "
            "without an estimate cannot be told from content."
        )
    ),
    ("label", "tied to score"): (
        msg(
            "Each label always stood beside the same score: what a label does is part of the score's own "
            "content. Shuffle the labels to see it."
        )
    ),
    ("label", "tied to position"): (
        msg("Each label always stood at the same position: position effects are those of position and label together.")
    ),
    ("label", "partly"): (
        msg("Labels moved too little to be told from position and content; no label effect is shown.")
    ),
    ("neighbour", "partly"): (
        msg(
            "This design cannot fully separate the neighbour's effect from position; none is shown and "
            "position may contain some of it. A Williams or random design separates them."
        )
    ),
    ("neighbour", "tied to position"): (
        msg(
            "The score read just before is settled by the position here; position effects contain the "
            "neighbour's. A Williams or random design separates them."
        )
    ),
    ("neighbour", "tied to score"): (
        msg(
            "The score read just before an option is settled by the option here; a Williams or random design "
            "would show the neighbour's effect."
        )
    ),
}


def _warnings(fit: ChoiceFit, unit: str) -> tuple[str, ...]:
    """What a reader must know before believing the numbers, in plain words."""
    if fit.n_reads == 0:
        return (tr("No judgment of this arm could be read."),)
    if fit.separable.get("position") == "no":
        one_order = _DESIGN_WARNINGS["position", "no"]
        return (tr(one_order),)
    warnings = [
        tr(_DESIGN_WARNINGS[effect, answer])
        for effect, answer in fit.separable.items()
        if (effect, answer) in _DESIGN_WARNINGS
    ]
    if fit.n_pairs == 0:
        return (*warnings, tr("No item ever got another score under another order: nothing to estimate."))
    if fit.separated:
        warnings.append(
            tr(
                "The judge follows the order so strictly that its odds have no limit: they are held back by a "
                "penalty, said as “at least”, and have no interval and no test."
            )
        )
    elif not fit.converged:
        warnings.append(tr("The fit did not converge; do not use these numbers."))
    if fit.n_clusters < FEW_ITEMS:
        warnings.append(
            tr(
                "Only {units} changed their score with the order: intervals from so few are too narrow.",
                units=many(fit.n_clusters, unit),
            )
        )
    if fit.subsampled:
        warnings.append(tr("There are so many pairs of reads that a random part of them was used."))
    return tuple(warnings)


# ---------------------------------------------------------------- the topic


def _document(result: ChoiceResult, data: RunData) -> DocumentPart:
    """Effects as log-odds against the average level, with their tests and denominators."""
    names = (
        "position",
        "pooled",
        "leaning",
        "label",
        "neighbour",
        "position_test",
        "label_test",
        "neighbour_test",
        "identified",
        "source",
        "unit",
        "n_items",
        "n_reads",
        "n_informative",
        "excluded",
        "converged",
        "held_back",
        "warnings",
    )
    models = {model.arm: picked(model, *names) for model in result.arms}
    options = (code for code, arm in enumerate(data.arms) if arm.axis == "options")
    return DocumentPart({code: {"choice_model": models.get(code)} for code in options})


def _of_one_arm(data: RunData, *, code: int, source: Source) -> ChoiceModel:
    """The choice model of one arm, without fitting the others."""
    judgments = data.judgments[data.judgments["arm"].to_numpy() == code]
    return choice_of(data, code, data.arms[code], judgments, source=source)


CHOICE = Topic(
    "choice", choice, probabilities=True, title=msg("Causes and cures"), axes=frozenset({"options"}), document=_document
)
CHOICE_OF_ARM = Question("choice of one arm", _of_one_arm, probabilities=True)
