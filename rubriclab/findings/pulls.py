"""What pulls: which parts of a rubric make the order of its scores matter.

A run that asks with several changes of one rubric (see ``model.rubric_changes``) is a designed experiment: its
response is by how much the order moves an item in an arm, its factors are the changes. Each item is its own
control: effects are regressed within items, and intervals come from units (prompts where items share one).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rubriclab.findings.effects import ALPHA, step, unfinished
from rubriclab.findings.effects import words as effect_words
from rubriclab.findings.frame import Units, ok_rows, units
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.pulls_reads import ArmReads, Unanswered, arm_reads, grouped
from rubriclab.findings.pulls_warnings import pulls_warnings
from rubriclab.findings.topic import DocumentPart, Json, Sentence, Topic
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.rubric_changes import change_words, changes_in
from rubriclab.model.wording import interval as interval_words
from rubriclab.model.wording import many
from rubriclab.stats.fractional import Alias, aliases, effects_variance
from rubriclab.stats.inference import NO_INTERVAL, Ints
from rubriclab.stats.screening import Screened, screened
from rubriclab.stats.shift import MIN_UNITS
from rubriclab.stats.verdict import Effect, decide, effect, unknown


@dataclass(frozen=True)
class Pull:
    """One change. ``effect``: on what the order does to the mean score (ascending less descending), in points
    of the rubric's own scale; ``spread``: on how far two readings of an item in different orders are apart beyond
    the judge's own noise, None where no order was repeated. ``p_holm``: of ``effect``, over the changes.

    Intervals hold at once for all changes. ``arms``: codes of those with the change; ``unread``: replies
    there that gave no score; ``mixed``: in words what else the estimate holds.
    """

    key: str
    title: str
    done: str
    effect: Effect
    p: float
    p_holm: float
    spread: Effect | None
    arms: tuple[int, ...]
    unread: int
    mixed: str


@dataclass(frozen=True)
class PullsGroup:
    """One judge on one data set and rubric; ``pulls``: the largest first.

    ``order``: what the order does under the rubric as it is, in points. ``unanswered``: keys of the changes under
    which most replies gave no score. ``outcome``: from scores or from
    expected scores. ``one_at_a_time``: calls that arms with one change each would take for effects as precise.
    """

    judge: str
    dataset: str
    rubric: str
    setting: str
    simulated: bool
    order: Effect
    pulls: tuple[Pull, ...]
    outcome: Literal["score", "expected"]
    n_arms: int
    n_items: int
    n_units: int
    unit: str
    n_calls: int
    one_at_a_time: int
    unanswered: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def about(self) -> str:
        return " · ".join(filter(None, (self.judge, self.dataset, self.rubric, self.setting)))


@dataclass(frozen=True)
class PullsResult:
    groups: tuple[PullsGroup, ...]


def pulls(data: RunData, *, seed: int = 0) -> PullsResult:
    """The changes of every judge, data set and rubric that was asked about with some."""
    del seed  # nothing is drawn
    every = units(data.items, data.unit)
    groups = (_group(data, members, every) for members in grouped(data))
    return PullsResult(tuple(group for group in groups if group is not None))


def varies_rubric(data: RunData) -> bool:
    """Was a judge asked about with changes of one rubric, beside the rubric itself?"""
    return any(changes_in(str(arm.variant.get("rubric")))[1] for arm in data.arms) and bool(grouped(data))


# ---------------------------------------------------------------- one group


def _group(data: RunData, members: Sequence[int], every: Units) -> PullsGroup | None:
    found = arm_reads(data, members)
    if found is None:
        return None
    arm = data.arms[found.base]
    made = _made(found)
    points = float(arm.scores[-1] - arm.scores[0])
    unit = np.unique(every.code[found.items], return_inverse=True)[1].astype(np.int64)
    level = 1.0 - ALPHA / (1 if found.spread is None else 2)
    order = screened(found.order * points, made, unit, confidence=level, step=step(arm.scores))
    spread = None if found.spread is None else screened(found.spread * points, made, unit, confidence=level)
    why = unfinished(data) or _too_few(order.units)
    sesoi = data.smallest_effect * step(arm.scores)
    n_units = int(unit.max()) + 1
    rows = data.judgments["arm"].isin(list(members)).to_numpy()
    calls = int(rows.sum())
    return PullsGroup(
        judge=arm.judge,
        dataset=arm.dataset,
        rubric=found.rubric,
        setting=", ".join(f"{name}={level}" for name, level in arm.variant.levels if name != "rubric"),
        simulated=arm.simulated,
        order=effect(order.base, order.base_interval if not why else NO_INTERVAL, sesoi, why=why),
        pulls=_ranked(found, made, order, spread, sesoi, why),
        outcome=found.outcome,
        n_arms=len(made) + sum(len(one.codes) for one in found.unanswered),
        n_items=len(found.items),
        n_units=n_units,
        unit="item" if n_units == len(found.items) else every.kind,
        n_calls=calls,
        one_at_a_time=_one_at_a_time(made, calls),
        unanswered=tuple(one.key for one in found.unanswered),
        warnings=tuple(pulls_warnings(found, order, int((rows & ~ok_rows(data.judgments)).sum()), calls)),
    )


def _ranked(
    found: ArmReads, made: Ints, order: Screened, spread: Screened | None, sesoi: float, why: str
) -> tuple[Pull, ...]:
    """Every change, the largest estimate first."""
    mixed = {one.of: _mixed(one, found.keys) for one in aliases(made)}
    ones = [
        _pull(found, k, order, spread, sesoi, why, mixed.get(k, tr("the change alone, as far as pairs go")))
        for k in range(len(found.keys))
    ]
    ones += [_not_answered(one, order.confidence, sesoi) for one in found.unanswered]
    return tuple(sorted(ones, key=lambda one: -np.nan_to_num(abs(one.effect.estimate))))


def _made(found: ArmReads) -> Ints:
    """(arms, changes) 1 where an arm has a change."""
    return np.array([[key in own for key in found.keys] for own in found.made], dtype=np.int64)


def _pull(
    found: ArmReads, k: int, order: Screened, spread: Screened | None, sesoi: float, why: str, mixed: str
) -> Pull:
    key = found.keys[k]
    words = change_words(key)
    title, done = (tr(words.title), tr(words.done)) if words else (key, key)
    mine = [place for place, own in enumerate(found.made) if key in own]
    return Pull(
        key=key,
        title=title,
        done=done,
        effect=_effect(order, k, sesoi, why),
        p=float(order.p[k]),
        p_holm=float(order.p_holm[k]),
        spread=None if spread is None else _effect(spread, k, sesoi, why),
        arms=tuple(code for place in mine for code in found.codes[place]),
        unread=int(found.unread[mine].sum()),
        mixed=mixed,
    )


def _not_answered(one: Unanswered, confidence: float, sesoi: float) -> Pull:
    """A change of which nothing is told but that the judge does not answer under it."""
    words = change_words(one.key)
    title, done = (tr(words.title), tr(words.done)) if words else (one.key, one.key)
    why = tr("{unread:,} of {replies} under it gave no score", unread=one.unread, replies=many(one.asked, "reply"))
    nan = float("nan")
    nothing = unknown(sesoi, why, confidence=confidence)
    return Pull(one.key, title, done, nothing, nan, nan, None, one.codes, one.unread, "")


def _effect(of: Screened, k: int, sesoi: float, why: str) -> Effect:
    """Equivalent by the simultaneous interval, an effect by Holm; ends where Holm's answer ends it."""
    interval = of.intervals[k]
    if not why and not np.isfinite(of.estimate[k]):
        why = tr("no arm tells it from the other changes")
    if why:
        return effect(float(of.estimate[k]), NO_INTERVAL, sesoi, why=why, confidence=of.confidence)
    shown = effect(float(of.estimate[k]), interval, sesoi, confidence=of.confidence)
    if decide(interval, sesoi) == "equivalent":
        return shown
    significant = bool(of.p_holm[k] < 1.0 - of.confidence)
    return replace(shown, verdict="effect" if significant else "undecided")


def _too_few(n: int) -> str:
    return (
        ""
        if n >= MIN_UNITS
        else tr(
            "{units} {units:is|are} too few for an interval; {needed} are needed",
            units=many(n, "unit"),
            needed=MIN_UNITS,
        )
    )


def _mixed(one: Alias, keys: Sequence[str]) -> str:
    return tr(
        "also {share:+.0%} of what {one} and {other} would do only together",
        share=one.share,
        one=keys[one.a],
        other=keys[one.b],
    )


def _one_at_a_time(made: Ints, calls: int) -> int:
    variance = effects_variance(made)
    known = variance[np.isfinite(variance)]
    if not len(known):
        return 0
    wanted: float = calls / len(made) * (made.shape[1] + 1) * 2.0 / float(known.mean())
    return round(wanted)


# ---------------------------------------------------------------- words


def order_sentence(group: PullsGroup) -> str:
    """What the order does under the rubric as it is."""
    one = group.order
    if one.verdict == "undecided":
        return tr(
            "Whether the order moves scores under “{rubric}” as it is is not settled ({effect}).",
            rubric=group.rubric,
            effect=effect_words(one),
        )
    ends = interval_words(one.interval, ".2f", brackets=True)
    said = {
        (False, True): msg(
            "Under “{rubric}” as it is the order moves scores: ascending is {size:.2f} points higher than "
            "descending {ends}."
        ),
        (False, False): msg(
            "Under “{rubric}” as it is the order moves scores: ascending is {size:.2f} points lower than "
            "descending {ends}."
        ),
        (True, True): msg(
            "Under “{rubric}” as it is the order moves scores at most a little: ascending is {size:.2f} points "
            "higher than descending {ends}."
        ),
        (True, False): msg(
            "Under “{rubric}” as it is the order moves scores at most a little: ascending is {size:.2f} points "
            "lower than descending {ends}."
        ),
    }[one.verdict == "equivalent", one.estimate > 0]
    return tr(said, rubric=group.rubric, size=abs(one.estimate), ends=ends)


def pull_sentence(group: PullsGroup, one: Pull) -> str:
    """One change in words: by how much less, or more, the order moves scores with it."""
    shown, ends = one.effect, _reach(one.effect)
    lead = tr("With {done}", done=one.done)
    if shown.verdict == "equivalent":
        return tr(
            "{lead} the order moves scores by as much as without, to within {sesoi:g} points.",
            lead=lead,
            sesoi=shown.sesoi,
        )
    if shown.verdict == "undecided" and shown.why and not np.isfinite(shown.estimate):
        return tr("{lead} nothing is told: {why}.", lead=lead, why=tr(shown.why))
    if shown.verdict == "undecided":
        return tr("{lead}: not settled ({effect}).", lead=lead, effect=effect_words(shown))
    base = group.order
    size = abs(shown.estimate)
    if base.low > 0 or base.high < 0:
        if (shown.estimate > 0) == (base.estimate > 0):
            said = msg("{lead} the order moves scores by {size:.2f} points more{ends}.")
        elif size > 2 * abs(base.estimate):
            said = msg("{lead} the order moves scores by {size:.2f} points less and the other way{ends}.")
        else:
            said = msg("{lead} the order moves scores by {size:.2f} points less{ends}.")
    elif shown.estimate > 0:
        said = msg("{lead} ascending order moves scores up by {size:.2f} points against descending{ends}.")
    else:
        said = msg("{lead} ascending order moves scores down by {size:.2f} points against descending{ends}.")
    return tr(said, lead=lead, size=size, ends=ends)


def _reach(shown: Effect) -> str:
    low, high = sorted((abs(shown.low), abs(shown.high)))
    return tr(" ({low:.2f} to {high:.2f})", low=low, high=high) if np.isfinite([low, high]).all() else ""


def summary_sentence(group: PullsGroup) -> str:
    """All changes of a judge in one or two sentences, the largest effects first."""
    shown = [one for one in group.pulls if one.effect.verdict == "effect"]
    still = [one for one in group.pulls if one.effect.verdict == "equivalent"]
    if shown:
        return " ".join(pull_sentence(group, one) for one in shown[:3])
    if len(still) == len(group.pulls):
        return tr(
            "No change of “{rubric}” alters what the order does by {sesoi:g} points or more.",
            rubric=group.rubric,
            sesoi=group.order.sesoi,
        )
    return tr(
        "No change of “{rubric}” was shown to alter what the order does: of {changes} {n} certainly do not, the "
        "others are open.",
        rubric=group.rubric,
        changes=many(len(group.pulls), "change"),
        n=len(still),
    )


def calls_sentence(group: PullsGroup) -> str:
    """What the design saved."""
    alone = tr("; one change at a time takes {n:,} calls for answers as sharp", n=group.one_at_a_time) * (
        group.one_at_a_time > 0
    )
    return tr(
        "{changes} in {arms} arms, {calls:,} calls on {items}{alone}.",
        changes=many(len(group.pulls), "change"),
        arms=group.n_arms,
        calls=group.n_calls,
        items=many(group.n_items, "item"),
        alone=alone,
    )


def _sentences(result: PullsResult) -> Iterator[Sentence]:
    for group in result.groups:
        yield Sentence(group.about, f"{order_sentence(group)} {summary_sentence(group)}", 1)


def _limits(result: PullsResult) -> Iterator[str]:
    for group in result.groups:
        yield from (f"{group.about}: {text}" for text in group.warnings)


def _document(result: PullsResult, data: RunData) -> DocumentPart:
    """Effects in points of the rubric's own scale."""
    del data
    tests = sum(len(group.pulls) for group in result.groups)
    return DocumentPart(beside={"pulls": [pulls_json(group) for group in result.groups]}, n_tests=tests)


def pulls_json(group: PullsGroup) -> Json:
    return {
        **picked(group, "judge", "dataset", "rubric", "setting", "simulated", "outcome", "n_arms", "n_items"),
        **picked(group, "n_units", "unit", "n_calls", "one_at_a_time", "unanswered"),
        "order": plain(group.order),
        "changes": [{**plain(one), "sentence": pull_sentence(group, one)} for one in group.pulls],
        "warnings": plain(group.warnings),
    }


PULLS = Topic(
    "pulls",
    pulls,
    title=msg("What in the rubric makes its order matter"),
    axes=frozenset({"options"}),
    applies=varies_rubric,
    document=_document,
    sentences=_sentences,
    limits=_limits,
    probabilities=True,
)
"""Changes of a rubric, and what each does to the effect of its order."""
