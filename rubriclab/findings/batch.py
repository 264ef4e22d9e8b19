"""What asking for several responses in one call does to their scores.

Per arm of batches: the place in the batch (drift from first to last), the response just before
(contrast or assimilation), what company as such does against the single call on the same items, and
what that costs in agreement with the single call and with people. Each of the first three is a primary
question of the judge (see ``findings.effects``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rubriclab.findings.alignment_advice import FIRST
from rubriclab.findings.batch_results import ArmBatch, BatchResult, BeforeCell, PlaceShift, ScoreCost
from rubriclab.findings.batch_rows import BatchRows, alone_of, batch_arms, batch_rows, item_means
from rubriclab.findings.batch_single import groups, with_single
from rubriclab.findings.batch_words import arm_document, batch_advice, batch_sentence, place_effect, savings_sentence
from rubriclab.findings.criteria_order import NO_REPEATS, NOT_TURNED, SameOrder
from rubriclab.findings.effects import confidence, in_points, step, unfinished
from rubriclab.findings.frame import mean_by, side_by_side
from rubriclab.findings.topic import Advice, DocumentPart, Sentence, Topic, about, setting
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats import batch as stats
from rubriclab.stats.contrast import mean_known
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.noise import differences
from rubriclab.stats.verdict import Effect, effect, unknown

FEW_BATCHES = 10
ONE_PLACE = msg("every response stood at one place only")
ONE_BEFORE = msg("every response always followed the same one")
ALIKE_BEFORE = msg("those that each response followed are alike by themselves, or cannot be told from the place")
TINY = 1e-9
ITS_ALONE, ITS_HERE = msg("its mean score alone"), msg("its mean score in this arm")
BY_PEOPLE = msg("the rating by people")
WHAT: Mapping[str, str] = {ITS_ALONE: msg("the mean score alone"), ITS_HERE: msg("the mean score in this arm")}
"""What a response just before is told by, as the start of a sentence."""


def batch(data: RunData, *, seed: int = 0) -> BatchResult:
    """What batches do in every arm that has some; nothing in it is drawn (``seed``)."""
    del seed
    every = list(batch_arms(data))
    if not any(arm.n_positions > 1 for _, arm, _ in every):
        return BatchResult((), (tr("This run asks about every response alone, so there is no batch to study."),))
    rows = {one.code: one for one in side_by_side(lambda part: batch_rows(data, *part), every)}
    heads = {code: one.arm for code, one in rows.items()}
    apart = {code: _reads_apart(data, one) for code, one in rows.items()}

    def of(one: BatchRows) -> ArmBatch:
        single = alone_of(heads, one.code)
        return _arm(data, one, None if single is None else rows[single], list(rows.values()), apart)

    arms = side_by_side(of, [one for one in rows.values() if one.arm.n_positions > 1])
    return BatchResult(tuple(sorted(arms, key=lambda arm: arm.code)), ())


def _arm(
    data: RunData, rows: BatchRows, alone: BatchRows | None, others: Sequence[BatchRows], apart: Mapping[int, Floats]
) -> ArmBatch:
    drift, places = _places(data, rows)
    usual = item_means(alone if alone is not None and len(alone.item) else rows, len(data.items))
    human = data.items["human"].to_numpy().astype(np.float64)
    level = confidence(data, rows.arm.judge)
    single = None if alone is None or not len(alone.item) else with_single(data, rows, alone)
    by = ITS_ALONE if single is not None else ITS_HERE
    return ArmBatch(
        code=rows.code,
        arm=rows.arm,
        size=rows.arm.n_positions,
        items=rows.items,
        batches=rows.batches,
        calls=rows.calls,
        scores=rows.asked,
        unread=rows.asked - len(rows.value),
        drift=drift,
        places=places,
        contrast=_contrast(data, rows, usual, level, WHAT[by]),
        contrast_people=_contrast(data, rows, human, 0.95, BY_PEOPLE),
        by=by,
        before=_before(rows, usual),
        repeats=_repeats(data, rows, others, apart),
        single=single,
        single_code=None if single is None or alone is None else alone.code,
        cost=_cost(data, rows),
        cost_alone=None if single is None or alone is None else _cost(data, alone),
        warnings=tuple(_warnings(rows, alone)),
    )


def _cost(data: RunData, rows: BatchRows) -> ScoreCost | None:
    """What a score took; judges that tell no tokens have none, which is not the same as 0."""
    used = None if data.usage is None else data.usage[data.usage["arm"] == rows.code]
    if used is None or not len(used):
        return None
    scores = float(used["calls"].iloc[0]) * rows.arm.n_positions
    tokens_in, tokens_out, seconds = (
        float(used[name].iloc[0]) / scores if used[name].iloc[0] > 0 else float("nan")
        for name in ("tokens_in", "tokens_out", "seconds")
    )
    return ScoreCost(1.0 / rows.arm.n_positions, tokens_in, tokens_out, seconds)


def _places(data: RunData, rows: BatchRows) -> tuple[Effect, tuple[PlaceShift, ...]]:
    """Drift and the shift at every place; all these intervals hold at once at the primary confidence."""
    n, level = rows.arm.n_positions, confidence(data, rows.arm.judge)
    parts = stats.place_parts(rows.cell, rows.place, rows.value, n)
    # One response of a batch that moves by a step moves the batch's mean by a step / n.
    means = stats.two_way(parts.top, parts.bottom, rows.batch, rows.unit, least=step(rows.arm.scores) / n)
    ends = means.intervals(level=level, comparisons=n + 1)
    effects = [
        in_points(data, rows.arm, float(value), end, confidence=level, why=_why(float(value), int(groups), ONE_PLACE))
        for value, end, groups in zip(means.estimate, ends, means.groups, strict=True)
    ]
    shown = np.bincount(rows.place, minlength=n)
    shifts = tuple(PlaceShift(p + 1, effects[p], int(shown[p])) for p in range(n))
    return effects[n], shifts


def _why(value: float, groups: int, nothing: str) -> str:
    if not np.isfinite(value):
        return tr(nothing)
    return "" if groups >= stats.FEWEST else tr("{n} batches are too few for an interval", n=groups)


def _contrast(data: RunData, rows: BatchRows, known: Floats, level: float, what: str) -> Effect:
    """Points that a point more of the response just before adds; ``known``: (items,) ``what`` it has by itself."""
    sesoi, unit = data.smallest_effect, "points a point"
    before = np.where(rows.before >= 0, known[rows.before], np.nan)
    which = np.isfinite(before)
    if not which.any():
        return unknown(sesoi, tr("nothing is known of the response just before"), unit=unit, confidence=level)
    cell, batches, units, value = rows.only(which)
    parts = stats.slope_parts(cell, rows.place[which], value, before[which])
    size = len(value) / max(len(np.unique(batches)), 1)
    # As if one score in a batch had moved by a step at an ordinary distance from the mean neighbour.
    least = step(rows.arm.scores) / max(size * parts.spread, 1e-9) if parts.spread > 1e-6 else 0.0
    means = stats.two_way(parts.top, parts.bottom, batches, units, least=least)
    (ends,) = means.intervals(level=level)
    value_at = float(means.estimate[0])
    nothing = _no_slope(cell, rows.before[which], before[which], what)
    why = unfinished(data) or _why(value_at, int(means.groups[0]), nothing)
    return effect(value_at, ends, sesoi, unit=unit, confidence=level, why=why)


def _no_slope(cell: Ints, item: Ints, before: Floats, what: str) -> str:
    """Why a slope on what stood just before has nothing to go by; (rows,) each, ``item`` the one before, ``what`` ``before`` is."""
    pairs = len(np.unique(np.stack([cell, item]), axis=1)[0])
    if pairs == len(np.unique(cell)):
        return tr(ONE_BEFORE)
    if float(np.ptp(before)) <= TINY:
        return tr(
            "{what} is {before:g} for every response just before, so that none follows a better one",
            what=tr(what),
            before=before[0],
        )
    return tr(ALIKE_BEFORE)


def _before(rows: BatchRows, usual: Floats) -> tuple[BeforeCell, ...]:
    """Mean shift by what the response just before gets alone, to the nearest score, and by place."""
    n = int(rows.cell.max(initial=-1)) + 1
    away = rows.value - mean_by(rows.cell, rows.value, n)[rows.cell] if n else rows.value
    scores = np.asarray(rows.arm.scores, dtype=np.float64)
    before = np.where(rows.before >= 0, usual[rows.before], np.nan)
    nearest = np.abs(np.nan_to_num(before, nan=scores[0])[:, None] - scores[None, :]).argmin(axis=1)
    cells = []
    for place in range(rows.arm.n_positions):
        at = rows.place == place
        for k, score in [(-1, None)] if place == 0 else list(enumerate(rows.arm.scores)):
            mine = at if k < 0 else at & (nearest == k) & np.isfinite(before)
            shift = float(away[mine].mean()) if mine.any() else float("nan")
            cells.append(BeforeCell(score, place + 1, shift, int(mine.sum())))
    return tuple(cells)


# ---------------------------------------------------------------- the same order twice


def _reads_apart(data: RunData, rows: BatchRows) -> Floats:
    """(items of the run, 2): points between two reads of a response in different orders, and in the same one."""
    values = np.asarray(rows.arm.scores, dtype=np.float64)
    if not len(rows.item):
        return np.full((len(data.items), 2), np.nan)
    return np.stack(differences(rows.item, rows.order, rows.score, values, len(data.items)), axis=1)


def _repeats(data: RunData, rows: BatchRows, others: Sequence[BatchRows], apart: Mapping[int, Floats]) -> SameOrder:
    """Reads under different orders beside reads of the same order, here or under another strategy."""
    mine = apart[rows.code][:, 0]
    sesoi = data.smallest_effect * step(rows.arm.scores)
    pool = [rows, *(o for o in others if setting(o.arm) == setting(rows.arm) and o is not rows)]
    control, same = next(
        ((o.arm.strategy, apart[o.code][:, 1]) for o in pool if np.isfinite(apart[o.code][:, 1]).any()),
        ("", np.full(len(mine), np.nan)),
    )
    both = np.flatnonzero(np.isfinite(mine) & np.isfinite(same))
    if not len(both):
        each = [float(mean_known(part, axis=0)) for part in (mine, same)]
        why = NO_REPEATS if np.isfinite(mine).any() or not np.isfinite(same).any() else NOT_TURNED
        return SameOrder(each[0], each[1], unknown(sesoi, tr(why)), 0, control)
    group, unit = groups(rows, len(data.items))
    added = (mine - same)[both][:, None]
    means = stats.two_way(
        added, np.ones_like(added), group[both], unit[both], least=step(rows.arm.scores) / rows.arm.n_positions
    )
    (ends,) = means.intervals()
    excess = in_points(data, rows.arm, float(means.estimate[0]), ends, excess=True)
    return SameOrder(float(mine[both].mean()), float(same[both].mean()), excess, len(both), control)


def _warnings(rows: BatchRows, alone: BatchRows | None) -> list[str]:
    said = []
    if unread := rows.asked - len(rows.value):
        said.append(
            tr("{unread} of {asked} scores could not be read and are left out.", unread=unread, asked=rows.asked)
        )
    if alone is None or not len(alone.item):
        said.append(tr("No item was asked about alone here, so a batch cannot be held against the single call."))
    if 0 < rows.batches < FEW_BATCHES:
        said.append(tr("Only {batches} batches carry the intervals; read them with care.", batches=rows.batches))
    return said


# ---------------------------------------------------------------- the topic


def _sentences(result: BatchResult) -> list[Sentence]:
    said = []
    for arm in result.arms:
        if arm.single is not None and arm.single.people.ci.high < 0:
            said.append(
                Sentence(
                    about(arm.arm), tr("{judge}'s scores in batches run against people's.", judge=arm.arm.judge), FIRST
                )
            )
    for name in dict.fromkeys(about(arm.arm) for arm in result.arms):
        arm = min((a for a in result.arms if about(a.arm) == name), key=lambda a: (not a.varied, -a.calls))
        said.append(Sentence(name, batch_sentence(arm), 0))
        if words := savings_sentence(arm):
            said.append(Sentence(name, words, 2))
    return said


def _summary(result: BatchResult) -> str:
    tested = [arm for arm in result.arms if arm.varied]
    if not tested:
        return ""
    moved = sum("effect" in (place_effect(arm)[1].verdict, arm.contrast.verdict) for arm in tested)
    return tr(
        "standing in a batch is shown to move scores in {moved} of {tested} arms", moved=moved, tested=len(tested)
    )


def _advice(result: BatchResult) -> list[Advice]:
    return list(batch_advice(result.arms))


def _document(result: BatchResult, data: RunData) -> DocumentPart:
    rows = {code: judgments for code, _, judgments in data.by_arm()}
    return DocumentPart({arm.code: arm_document(arm, rows[arm.code]) for arm in result.arms}, warnings=result.warnings)


BATCH = Topic(
    "batch",
    batch,
    title=msg("Several responses a call"),
    axes=frozenset({"batch"}),
    document=_document,
    sentences=_sentences,
    summary=_summary,
    advice=_advice,
)
