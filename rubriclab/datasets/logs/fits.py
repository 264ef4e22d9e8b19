"""Which logged judgments a run can hold: the others are counted with a reason, the log is not refused."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.datasets.logs.log import Logged
from rubriclab.model import MAX_OPTIONS, MIN_OPTIONS
from rubriclab.model.language import msg

_NO_JUDGE = msg("the judge has no name")
_NO_QUESTION = msg("what was judged has no name")
_NO_NAME = msg("a candidate or a criterion has no name")
_SAME = msg("both candidates have the same name or text")
_NOT_SCALE = msg("the options shown are not 2 to 10 different whole numbers")
_NOT_SHOWN = msg("the choice is none of what was shown")
_MAX_SCORE = 1_000_000


def unfit(record: Logged) -> str:
    """Why a run cannot hold this judgment, "" where it can."""
    if not record.judge.strip():
        return _NO_JUDGE
    if not record.question.strip():
        return _NO_QUESTION
    if record.chosen is not None and not 0 <= record.chosen <= len(record.shown):
        return _NOT_SHOWN
    names = [name.strip().replace("|", "/") for name in record.shown]
    if record.axis == "options":
        return "" if _scale(names) and record.chosen != 0 else _NOT_SCALE
    if not all(names):
        return _NO_NAME
    if len(set(names)) < max(len(names), 2):
        return _SAME
    return ""


def _scale(shown: Sequence[str]) -> bool:
    whole = all(name.removeprefix("-").isdecimal() and abs(int(name)) <= _MAX_SCORE for name in shown if len(name) < 9)
    short = all(len(name) < 9 for name in shown)
    return whole and short and MIN_OPTIONS <= len(set(map(int, shown))) == len(shown) <= MAX_OPTIONS
