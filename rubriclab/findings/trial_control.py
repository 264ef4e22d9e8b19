"""The control of a trial: the same thing asked twice, whose answers differ by the judge's noise alone.

An order that is asked once gives an answer that the order and chance made together; only against
answers under the very same order can a reader see which it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.model.language import msg, tr

ControlVerdict = Literal["agrees", "differs", "unknown"]

ASKED_ONCE = msg(
    "Noise included: no order was asked twice, so what the order changes and what chance changes cannot be told apart."
)
UNREAD_AGAIN = msg("Noise included: the same order was asked twice, but not read twice.")


@dataclass(frozen=True)
class Control:
    """What came back when the same order was asked again.

    ``calls``: further calls that it cost; ``answers``: as asked, None unread; ``verdict``:
    whether all readable ones are the same, ``unknown`` for fewer than two of them.
    """

    calls: int
    answers: tuple[str | None, ...]
    verdict: ControlVerdict
    sentence: str


def agreement(answers: Sequence[object]) -> ControlVerdict:
    """Of answers to one question, None being unread."""
    known = [answer for answer in answers if answer is not None]
    if len(known) < 2:
        return "unknown"
    return "agrees" if len(set(known)) == 1 else "differs"


def of_scores(scores: Sequence[float | None]) -> Control:
    """The control of one score. ``scores``: of the usual order, as asked, None unread."""
    answers = tuple(None if score is None else f"{score:g}" for score in scores)
    verdict, known = agreement(answers), [answer for answer in answers if answer is not None]
    if verdict == "agrees":
        sentence = tr(
            "The same order again gives {score}: no noise seen in {repeats}.",
            score=known[0],
            repeats=_repeats(len(known)),
        )
    elif verdict == "differs":
        sentence = tr(
            "Noise included: the same order gave {scores}. A score that differs between orders need not be "
            "the order's doing.",
            scores=tr(", then ").join(known),
        )
    else:
        sentence = tr(UNREAD_AGAIN if len(answers) > 1 else ASKED_ONCE)
    return Control(max(0, len(answers) - 1), answers, verdict, sentence)


def of_criteria(scores: Mapping[str, Sequence[float | None]], calls: int) -> Control:
    """The control of several scores. ``scores``: by criterion, of the usual order, as asked.

    ``calls``: how often that order was asked.
    """
    each = {name: of_scores(given) for name, given in scores.items()}
    twice = {name: one for name, one in each.items() if one.verdict != "unknown"}
    moved = {name: one for name, one in twice.items() if one.verdict == "differs"}
    answers = tuple(
        " ".join("–" if one.answers[k] is None else str(one.answers[k]) for one in each.values())
        for k in range(min((len(one.answers) for one in each.values()), default=0))
    )
    verdict: ControlVerdict = "unknown" if not twice else "differs" if moved else "agrees"
    if not twice:
        sentence = tr(UNREAD_AGAIN if calls > 1 else ASKED_ONCE)
    elif moved:
        name, one = next(iter(moved.items()))
        listed = tr(", then ").join(answer for answer in one.answers if answer is not None)
        sentence = tr(
            "Noise included: asked again in the same order it changes {moved} of {twice} scores ({name}: {listed}).",
            moved=len(moved),
            twice=len(twice),
            name=name,
            listed=listed,
        )
    else:
        sentence = tr(
            "The same order again gives every criterion the same score: no noise seen in {repeats}.",
            repeats=_repeats(calls),
        )
    return Control(max(0, calls - 1), answers, verdict, sentence)


def _repeats(reads: int) -> str:
    return tr("one repeat") if reads == 2 else tr("{n} repeats", n=reads - 1)
