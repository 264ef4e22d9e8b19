"""What is found about one corrected call, and what to say of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rubriclab.findings.debiasing_reads import SOURCE_NAMES, Source
from rubriclab.findings.topic import Advice, setting
from rubriclab.model.language import msg, tr
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import Effect


class Standing(StrEnum):
    """The debiaser against another way to spend calls."""

    NEARER = msg("debiaser nearer")
    FARTHER = msg("debiaser farther")
    CANNOT_SAY = msg("cannot say")
    ITSELF = msg("itself")


@dataclass(frozen=True)
class Debiased:
    """One method at one number of calls an item, on items outside the probe.

    ``distance_to_all`` in score points with ``ci`` (without each unit) and ``split_sd`` (over
    random probes). ``r``: Pearson with the mean human rating, mean over splits. ``total_calls``:
    for all items of the run, the probe included. ``minus_debiased``: how much farther than the
    debiaser, without each unit in both; ``standing`` reads its interval. ``code``: the arm whose
    judgments it is made of.
    """

    code: int
    judge: str
    dataset: str
    variant: str
    source: Source
    method: str
    calls_per_item: int
    distance_to_all: float
    ci: Interval
    split_sd: float
    r: float
    r_ci: Interval
    n_items: int
    n_rated: int
    total_calls: int
    minus_debiased: float
    minus_debiased_ci: Interval
    standing: Standing


@dataclass(frozen=True)
class BreakEven:
    """Calls an item at which ``against`` comes as near as one corrected call.

    ``calls`` is infinite where no number of calls tried (up to ``most_calls``) comes as near, NaN
    where the corrected call was not shown to be nearer than the control by as much as is of interest.
    """

    judge: str
    dataset: str
    variant: str
    source: Source
    against: str
    calls: float
    most_calls: int


@dataclass(frozen=True)
class Gain:
    """How much nearer the corrected call is than the control: a call drawn towards the mean just
    as far, but without regard to the order."""

    judge: str
    dataset: str
    variant: str
    source: Source
    nearer: Effect


@dataclass(frozen=True)
class Debiasing:
    """All methods side by side; ``prior`` maps "judge · data set · source" to the place prior."""

    entries: tuple[Debiased, ...]
    gains: tuple[Gain, ...]
    break_even: tuple[BreakEven, ...]
    prior: dict[str, tuple[float, ...]]
    excluded: dict[str, int]
    splits: int
    definition: str
    warnings: tuple[str, ...]


_GAINS = {
    "effect": msg(
        "Yes: correcting one call of {judge} for its position ({source}) brings it nearer to the mean over all orders than "
        "drawing it towards the mean alone does."
    ),
    "farther": msg(
        "No: correcting one call of {judge} for its position ({source}) takes it farther from the mean over all orders "
        "than drawing it towards the mean alone."
    ),
    "equivalent": msg(
        "Correcting one call of {judge} for its position ({source}) does no more of interest than drawing it towards "
        "the mean."
    ),
    "undecided": msg(
        "Correcting one call of {judge} for its position ({source}) was not shown to do more than drawing it towards "
        "the mean."
    ),
}


def gain_sentence(gain: Gain) -> str:
    """What correcting one call adds to drawing it towards the mean."""
    farther = gain.nearer.verdict == "effect" and not gain.nearer.estimate > 0
    message = _GAINS["farther" if farther else gain.nearer.verdict]
    return tr(message, judge=gain.judge, source=tr(SOURCE_NAMES[gain.source]))


def debiasing_advice(result: Debiasing) -> Iterator[Advice]:
    """Of each judge in each setting, from its probabilities where it gave any."""
    first: dict[tuple[str, str, str], Gain] = {}
    for gain in result.gains:
        first.setdefault(setting(gain), gain)
    for key, gain in first.items():
        yield Advice(key, "one call", tr("Does correcting one call help?"), gain_sentence(gain), gain.nearer)
