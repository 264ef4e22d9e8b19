"""Public logs beside each other: the first place's advantage of each, pooled, and by quality gap.

The advantage is that of ``comparison_effects``: what a run of the same log shows. In points: of a
hundred comparisons, how many more the answer wins for being shown first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.comparison_effects import FirstPlace, first_place, place_wins
from rubriclab.findings.series import ArmCalls, RunCodes, arm_series
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number, p_value
from rubriclab.stats.inference import Floats
from rubriclab.stats.pooling import Pooled, Slope, meta_regression, random_effects, shared_covariance

POINTS = 100.0
"""The advantage as points of the win rate."""
POOLED_FROM = 3
"""Logs from which on they are pooled: from two nothing can be said of how logs differ."""


@dataclass(frozen=True)
class LoggedAdvantage:
    """One judge in one public log. ``name``: its row: a model that was compared with a baseline, or the judge.

    ``first``: as in a run of this log; ``win_rate``: of that model, each place counting alike and a tie as
    half (NaN where more than two candidates met); ``questions``: what was asked, ``moved``: by how much each
    of these moves the advantage from its mean (its influence over their number).
    """

    file: str
    name: str
    judge: str
    first: FirstPlace
    win_rate: float
    questions: tuple[str, ...]
    moved: Floats

    @property
    def value(self) -> float:
        return self.first.effect.estimate

    @property
    def se(self) -> float:
        return self.first.se

    @property
    def gap(self) -> float:
        """How far the two answers' win rates lie apart: 0 for equals, 0.5 where one always wins."""
        return abs(self.win_rate - 0.5)


@dataclass(frozen=True)
class GalleryResult:
    """Rows from the largest advantage to the smallest, those that say nothing at the end.

    ``pooled`` over rows of one judge; ``by_gap``: advantage over quality gap; None where it cannot be.
    """

    rows: tuple[LoggedAdvantage, ...]
    pooled: Pooled | None
    by_gap: Slope | None


def logged_advantages(data: RunData, *, file: str, by_model: bool) -> tuple[LoggedAdvantage, ...]:
    """A row for each arm of pairs in the judgments of one log."""
    run = RunCodes.of(data)
    names = _question_names(data, run)
    rows = []
    for code, arm in enumerate(data.arms):
        if arm.axis != "pairwise":
            continue
        calls = ArmCalls.of(data, run, code, arm)
        series = arm_series(run, calls)
        given = calls.soft_wins()
        given = calls.wins() if given is None else given
        wins = place_wins(run, calls, series, given)
        questions, moved = _moved(wins.values[:, 0] - wins.values[:, -1], wins.unit)
        rows.append(
            LoggedAdvantage(
                file=file,
                name=file if by_model else arm.judge,
                judge=arm.judge,
                first=first_place(data, run, calls, series),
                win_rate=_win_rate(run, calls, given, file),
                questions=tuple(names[code] for code in questions),
                moved=moved,
            )
        )
    return tuple(rows)


def gallery(rows: Sequence[LoggedAdvantage], *, one_judge: bool) -> GalleryResult:
    """Rows beside each other; pooled where they are of ``one_judge``."""
    known = [row for row in rows if np.isfinite(row.value) and row.se > 0]
    ordered = (*sorted(known, key=lambda row: -row.value), *(row for row in rows if row not in known))
    pooled = by_gap = None
    if one_judge and len(known) >= POOLED_FROM:
        values, covariance = np.array([row.value for row in known]), _covariance(known)
        pooled = random_effects(values, covariance)
        gaps = np.array([row.gap for row in known])
        if np.isfinite(gaps).all():
            by_gap = meta_regression(values, covariance, gaps)
    return GalleryResult(ordered, pooled, by_gap)


def _covariance(rows: Sequence[LoggedAdvantage]) -> Floats:
    """The same question was asked of every model, in the same order: its errors go together."""
    place = {question: k for k, question in enumerate(sorted({q for row in rows for q in row.questions}))}
    moved = np.zeros((len(place), len(rows)))
    for column, row in enumerate(rows):
        moved[[place[question] for question in row.questions], column] = row.moved
    return shared_covariance(moved)


def _moved(values: Floats, unit: np.ndarray) -> tuple[np.ndarray, Floats]:
    """(units, by how much each moves the mean of ``values`` (comparisons,))."""
    if not len(values):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    known, code = np.unique(unit, return_inverse=True)
    return known, np.bincount(code, weights=values - values.mean(), minlength=len(known)) / len(values)


def _question_names(data: RunData, run: RunCodes) -> dict[int, str]:
    prompts = data.items["prompt"].fillna(data.items["item_id"]).astype(str)
    return dict(zip(run.question.tolist(), prompts.tolist(), strict=True))


def _win_rate(run: RunCodes, calls: ArmCalls, wins: Floats, model: str) -> float:
    """Of the candidate named ``model``, else of the one that is not in every pair; each place alike."""
    names = run.shown[calls.ordering, :2]
    met = np.unique(names)
    if len(met) != 2:
        return float("nan")
    candidate = next((code for code in met if run.names[code] == model), met[0])
    read = np.isfinite(wins).all(axis=1)
    half = wins + (1.0 - wins.sum(axis=1, keepdims=True)) / 2.0
    at = [half[read & (names[:, place] == candidate), place] for place in (0, 1)]
    return float(np.mean([part.mean() if len(part) else np.nan for part in at]))


# ------------------------------------------------------------------ in words


def points(value: float, form: str = "+.1f") -> str:
    return number(POINTS * value, form)


def between(ends: Sequence[float], *, turned: bool = False) -> str:
    """An interval in points; ``turned``: of the second place's advantage."""
    low, high = ends
    return interval([POINTS * end for end in ((-high, -low) if turned else (low, high))], "+.1f")


# Of the answer shown first, and of the one shown second.
_GIVES = (
    msg("{who} gives the answer shown first {points} points more wins ({known})."),
    msg("{who} gives the answer shown second {points} points more wins ({known})."),
)
_HARDLY = (
    msg("The place hardly decides for {who}{why}: {points} points more wins for the answer shown first ({known})."),
    msg("The place hardly decides for {who}{why}: {points} points more wins for the answer shown second ({known})."),
)
_OPEN = (
    msg(
        "Whether the place decides is open for {who}{why}: {points} points more wins for the answer shown first "
        "({known})."
    ),
    msg(
        "Whether the place decides is open for {who}{why}: {points} points more wins for the answer shown second "
        "({known})."
    ),
)
_POOLED = (
    msg("{title} gives the answer shown first {points} points more wins, {over}."),
    msg("{title} gives the answer shown second {points} points more wins, {over}."),
)
_POOLED_OPEN = (
    msg("Whether {title} prefers a place is open: {points} points more wins for the answer shown first, {over}."),
    msg("Whether {title} prefers a place is open: {points} points more wins for the answer shown second, {over}."),
)


def row_sentence(row: LoggedAdvantage) -> str:
    """What one log says of its judge, in one sentence."""
    shown = row.first.effect
    on_model, turned = row.name == row.file, shown.estimate < 0
    who = tr("{judge}, on {name}", judge=row.judge, name=row.name) if on_model else row.judge
    if not np.isfinite(shown.estimate):
        return tr("What the place does for {who} cannot be said: {why}.", who=who, why=tr(shown.why))
    known = tr(
        "{confidence:.0f} % interval {ends}; {comparisons}, {design}",
        confidence=100 * shown.confidence,
        ends=between(shown.interval, turned=turned),
        comparisons=many(row.first.comparisons, "comparison"),
        design=tr(row.first.design),
    )
    size = points(abs(shown.estimate), ".1f")
    if shown.verdict == "effect":
        who = tr("{judge}, on {name},", judge=row.judge, name=row.name) if on_model else row.judge
        return tr(_GIVES[turned], who=who, points=size, known=known)
    why = f" ({tr(shown.why)})" if shown.why else ""
    message = (_HARDLY if shown.verdict == "equivalent" else _OPEN)[turned]
    return tr(message, who=who, why=why, points=size, known=known)


def pooled_sentence(result: GalleryResult, title: str) -> str:
    """The judge over all its logs; of a few logs that are not pooled, each in its sentence."""
    pooled = result.pooled
    if pooled is None:
        return " ".join(row_sentence(row) for row in result.rows[:POOLED_FROM])
    turned = pooled.value < 0
    size, ends = points(abs(pooled.value), ".1f"), between(pooled.interval, turned=turned)
    over = tr("over {models} (95 % interval {ends})", models=many(pooled.k, "model"), ends=ends)
    clear = pooled.interval.low > 0 or pooled.interval.high < 0
    return tr((_POOLED if clear else _POOLED_OPEN)[turned], title=title, points=size, over=over)


def spread_sentence(result: GalleryResult) -> str:
    """How far models differ beyond chance, and what one more would show."""
    pooled = result.pooled
    if pooled is None:
        return ""
    spread = (
        tr("Models differ beyond chance by a standard deviation of {points} points", points=points(pooled.tau, ".1f"))
        if pooled.tau > 0
        else tr("Models do not differ beyond chance")
    )
    test = tr("Q = {q:.1f} on {df}, {p}, I² = {i2:.0%}", q=pooled.q, df=pooled.df, p=p_value(pooled.p), i2=pooled.i2)
    more = tr(
        " One more model like these would show {ends} points for the first place.", ends=between(pooled.prediction)
    )
    return f"{spread} ({test}).{more}"


def gap_sentence(result: GalleryResult) -> str:
    """Whether the place decides more between equals."""
    line = result.by_gap
    if line is None:
        return ""
    ends = between([end / 10 for end in line.interval])
    step = tr(
        "{points} points ({ends}) for every 10 points of quality gap, {p}",
        points=points(line.slope / 10),
        ends=ends,
        p=p_value(line.p),
    )
    if line.interval.low <= 0 <= line.interval.high:
        return tr("That the place counts more between equals is not shown: {step}.", step=step)
    toward = line.intercept * line.slope < 0
    if toward:
        return tr("The place counts more between equals: {step}.", step=step)
    return tr("The place counts less between equals: {step}.", step=step)
