"""Which of the offered labels the reply to somebody else's prompt gives.

The prompt's own form first (JSON, a tag), then the forms in which judges give their verdicts, from the
plainest to say to the one that needs a reply with a single label in it. What fits none is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rubriclab.model.answers import NoAnswer, answer_spot, label_index
from rubriclab.model.prompt import AnswerRule, Reading

NOUN = r"(?:assistant|response|answer|candidate|option|model|output|text|score|level|choice|summary|system)"
_VERDICT = (
    r"(?:final\s+|overall\s+|my\s+|the\s+){0,3}(?:grade|score|rating|verdict|answer|choice|decision|winner|"
    r"result|judg(?:e)?ment|preference|level|points?|best|better|note|bewertung|punkte)"
)
_OPEN, _CLOSE = r"[\s\"'“‘(\[{<|$*_`]{0,6}", r"(?!\w|[.,]\d|\s+or\b)"
_KEYS = ("score", "rating", "grade", "verdict", "winner", "choice", "label", "answer", "preference", "best", "value")
_BARE = re.compile(rf"^(?:{NOUN}[\s_]+)?[(\[\"']*(.*?)[)\]\"']*$", re.IGNORECASE)
LONGEST_LOOSE = 20_000
"""Signs of a reply in which a lone label is looked for."""
TIES = ("tie", "draw", "equal", "both", "neither")
_GREATER = re.compile(r"\[\[\s*(?P<one>\w{1,3})\s*(?P<sign>>{1,2}|<{1,2}|={1,2})\s*(?P<other>\w{1,3})\s*\]\]")


class Answered(NamedTuple):
    """The place from 1 of the label that a reply gives, 0 for a tie; where its words stand: from ``start`` up to
    ``end``, without a noun before them. ``compared``: these are both labels and a sign, as in “[[A>>B]]”;
    ``bare``: a value of JSON that is no text."""

    place: int
    start: int
    end: int
    compared: bool = False
    bare: bool = False


def place_of(reply: str, labels: Sequence[str], *, rule: AnswerRule, ties: Sequence[str] = ()) -> int | None:
    """The place from 1 of the label that ``reply`` gives, 0 for one of ``ties``; None where it is not told."""
    found = answered(reply, labels, rule=rule, ties=ties)
    return None if found is None else found.place


def answered(reply: str, labels: Sequence[str], *, rule: AnswerRule, ties: Sequence[str] = ()) -> Answered | None:
    """The label that ``reply`` gives and where it stands; None where it is not told."""
    labels = [label.upper() if len(label) == 1 else label for label in labels]
    offered = (*labels, *ties)
    if (preferred := _compared(reply, labels)) is not None:
        return preferred
    rules = (rule, *verdict_rules(tuple(sorted(offered)), bool(ties)))
    if "{" not in reply:  # most replies are no JSON, and a search for each key takes its time
        rules = tuple(one for one in rules if one.read != "json")
    found = next((spot for one in rules if (spot := _by(one, reply, offered)) is not None), None)
    if found is None:
        found = _only(reply, [one for one in offered if one not in TIES[2:]])
    return found if found is None or found.place <= len(labels) else found._replace(place=0)


def _by(rule: AnswerRule, reply: str, labels: Sequence[str]) -> Answered | None:
    if rule.read == "last_label":  # says that nothing is known
        return None
    spot = answer_spot(reply, Reading(rule, tuple(labels)))
    if isinstance(spot, NoAnswer):
        return None
    bare = rule.read == "json" and reply[spot.start - 1] not in "\"'“‘"
    index = label_index(spot.text, labels)
    if index is not None:
        return Answered(index + 1, spot.start, spot.end, bare=bare)
    inner = _BARE.match(spot.text)
    index = None if inner is None else label_index(inner[1], labels)
    if inner is None or index is None:
        return None
    return Answered(index + 1, spot.start + inner.start(1), spot.start + inner.end(1), bare=bare)


@lru_cache(maxsize=256)
def verdict_rules(labels: tuple[str, ...], compared: bool) -> tuple[AnswerRule, ...]:
    """The forms of verdicts in terms of ``labels``; of several in one reply the last one counts.

    A score in JSON is no candidate, so it is left aside where candidates are ``compared``.
    """
    keys = _KEYS[3:] if compared else _KEYS
    token = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    slot = rf"(?:{NOUN}[\s_]+)?[(\[\"']{{0,2}}({token})"
    return (
        AnswerRule("regex", pattern=rf"\[\[\s*{slot}\s*\]\]"),
        AnswerRule("regex", pattern=rf"\[\s*result\s*\]?\s*[:=]?{_OPEN}{slot}{_CLOSE}"),
        *(AnswerRule("json", path=key) for key in keys),
        AnswerRule("regex", pattern=rf"\\boxed\{{\s*{slot}\s*\}}"),
        AnswerRule("regex", pattern=rf"(?<!\w){_VERDICT}[\"'”’)\]*_]*\s*(?:is|:|=|->|→)+{_OPEN}{slot}{_CLOSE}"),
        AnswerRule(
            "regex", pattern=rf"(?<!\w){slot}[)\]\"'*_]*\s+is\s+(?:the\s+)?(?:clearly\s+)?(?:better|best|preferred)\b"
        ),
        AnswerRule("label"),
        AnswerRule("regex", pattern=rf"(?:\A|\n)[ \t*_#>-]*{slot}[\s\"'”’)\]}}>|$.,;:!*_]*\Z"),
        AnswerRule("regex", pattern=rf"\A[\s*_#>-]*{slot}[\s\"')\]*_]*[.:;\n–—-](?!\d)"),
    )


def _compared(reply: str, labels: Sequence[str]) -> Answered | None:
    """What “[[A>>B]]” and its like prefer, a tie for “[[A=B]]”; None where there is none."""
    found = list(_GREATER.finditer(reply)) if len(labels) == 2 else []
    if not found:
        return None
    match = found[-1]
    one, other = label_index(match["one"], labels), label_index(match["other"], labels)
    if one is None or other is None or one == other:
        return None
    place = 0 if match["sign"].startswith("=") else 1 + (one if match["sign"].startswith(">") else other)
    return Answered(place, match.start("one"), match.end("other"), compared=True)


def _only(reply: str, labels: Sequence[str]) -> Answered | None:
    """The label that the reply names, where it names one alone; “a” before a word is no label."""
    if len(reply) > LONGEST_LOOSE:
        return None
    named = {label_index(match[0], labels): match for match in _words(tuple(sorted(labels))).finditer(reply)}
    if len(named) != 1:
        return None
    ((index, last),) = named.items()
    return None if index is None else Answered(index + 1, last.start(), last.end())


@lru_cache(maxsize=256)
def _words(labels: tuple[str, ...]) -> re.Pattern[str]:
    token = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True) if label) or "(?!)"
    return re.compile(rf"(?<![\w.,/-])(?:{token})(?![\w'’]|[.,]\d|/|\s+out\b)(?!(?<=[AaIi])[ \t]+[a-z])")
