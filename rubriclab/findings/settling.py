"""Is it settled, so far, what the order does to the mean? Valid however often one asks.

For each judge in each setting, by what is reordered: mean score under the ascending order less that
under the descending one; wins of the first place less wins of the last; each criterion's score
when it is read first less when it is read last. Each has a confidence sequence (see
:mod:`rubriclab.stats.sequential`). A fixed-size interval may be looked at once; these may be looked
at after every item, by a run that stops when it knows enough and by a reader of a run that goes on.

Units count in a mixed order of the items (``frame.mixed``), up to the first that is not yet asked
in full: whatever order the file has, and whichever call comes back first, what counts is a random
sample of the items. A run that may stop asks in that order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rubriclab.findings import effects
from rubriclab.findings.settling_values import Values, unit_values
from rubriclab.findings.topic import setting
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats.sequential import mean_interval
from rubriclab.stats.verdict import Effect, effect, unknown

OTHER_PLACES = msg("the places between may still move scores")


@dataclass(frozen=True)
class Settling:
    """One judge in one setting. ``of``: judge, data set, setting; ``arms``: what it rests on;
    ``question``: what is less what; ``effect``: the answer, of several criteria the one that
    decides, all being in ``parts`` by name; ``units``: counted so far; ``probabilities``: expected
    scores from token probabilities, not drawn scores."""

    of: tuple[str, str, str]
    arms: tuple[Arm, ...]
    question: str
    effect: Effect
    units: int
    probabilities: bool = False
    parts: dict[str, Effect] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        return self.effect.verdict != "undecided"


def settling(data: RunData) -> tuple[Settling, ...]:
    """The state of every judge in every setting, in the order of the run's arms.

    Raises LabError for a run whose orders cannot tell.
    """
    return tuple(_settling(data, group) for group in _groups(data))


def settled(data: RunData, arm: Arm) -> Settling | None:
    """The verdict of an unfinished run about ``arm`` that may be read at any time, if there is one."""
    if not effects.unfinished(data):
        return None
    group = next(group for group in _groups(data) if any(one == arm for _, one in group))
    try:
        state = _settling(data, group)
    except LabError:  # not read in the orders that it takes: there is nothing to settle
        return None
    return state if state.settled else None


def _groups(data: RunData) -> list[list[tuple[int, Arm]]]:
    """Arms that ask the same question, their strategies together."""
    groups: dict[object, list[tuple[int, Arm]]] = {}
    for code, arm in enumerate(data.arms):
        groups.setdefault((setting(arm), arm.axis, arm.scores, arm.n_positions), []).append((code, arm))
    return list(groups.values())


def _settling(data: RunData, group: Sequence[tuple[int, Arm]]) -> Settling:
    arm = group[0][1]
    found = unit_values(data, group)
    sure = effects.confidence(data, arm.judge)
    each = 1.0 - (1.0 - sure) / max(1, len(found.names))  # of one criterion, so that all hold at once
    sesoi = data.smallest_effect * effects.step(arm.scores)
    parts = {name: _part(found, k, sesoi=sesoi, confidence=each, shown=sure) for k, name in enumerate(found.names)}
    name, shown = deciding(parts)
    question = f"{found.question}, {name}" if len(parts) > 1 else found.question
    arms = tuple(one for _, one in group)
    return Settling(setting(arm), arms, question, shown, found.units, found.probabilities, parts)


def _part(found: Values, k: int, *, sesoi: float, confidence: float, shown: float) -> Effect:
    values = found.of(k)
    if not len(values):
        return unknown(sesoi, found.none_yet, unit=found.unit, confidence=shown)
    ends = mean_interval(values, reach=found.reach, sesoi=sesoi, alpha=1.0 - confidence)
    part = effect(float(values.mean()), ends, sesoi, unit=found.unit, confidence=shown, why=found.why)
    if part.verdict == "equivalent" and not _between_too(found, k, sesoi, 1.0 - shown):
        return effect(part.estimate, ends, sesoi, unit=found.unit, confidence=shown, why=tr(OTHER_PLACES))
    return part


def _between_too(found: Values, k: int, sesoi: float, alpha: float) -> bool:
    """Does no place move the score by as much? All have to be shown, so none pays for the others."""
    for values in found.places_of(k):
        if not len(values):
            return False
        low, high = mean_interval(values, reach=found.places_reach, sesoi=sesoi, alpha=alpha)
        if not (-sesoi < low and high < sesoi):
            return False
    return True


def deciding(parts: dict[str, Effect]) -> tuple[str, Effect]:
    """The criterion that shows an effect most surely, else the one that is least settled."""
    moved = [pair for pair in parts.items() if pair[1].verdict == "effect"]
    if moved:
        return max(moved, key=lambda pair: max(pair[1].low, -pair[1].high))
    open_ones = [pair for pair in parts.items() if pair[1].verdict == "undecided"]
    known = open_ones or list(parts.items())
    unseen = [pair for pair in known if math.isnan(pair[1].low)]
    return unseen[0] if unseen else max(known, key=lambda pair: max(-pair[1].low, pair[1].high))
