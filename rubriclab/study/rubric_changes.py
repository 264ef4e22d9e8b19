"""Changes of a rubric that leave what it asks for alone: what an ablation tries, one by one or several at once.

Each takes something away, or evens it out: a description, a difference of lengths, numerals as labels.
Nothing is drawn and nobody is asked: the same criterion always gives the same text, and whatever words a
change puts in are the lab's own plain ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rubriclab.datasets.rubrics import rescale
from rubriclab.model import Criterion, Rubric, RubricError, ScoreOption
from rubriclab.model.language import tr
from rubriclab.model.rubric_changes import CHANGE_WORDS, change_words, changed_name

Apply = Callable[[Criterion], Criterion | None]


@dataclass(frozen=True)
class Change:
    """One change of a criterion, in words as in ``ChangeWords``. ``apply``: None where it changes nothing."""

    key: str
    title: str
    done: str
    why: str
    apply: Apply


# ---------------------------------------------------------------- texts


NEUTRAL = (
    "A response at this level is given this score.",
    "It gets this score here.",
    "It fits here.",
    "This one.",
    "This.",
)
"""Sentences that say nothing of quality, of nine words, five, three, two and one."""
PADDING = ("so far as can be told from the response", "as it is put here", "all in all", "all told", "overall")
"""Phrases that add length and no meaning, of nine words, five, three, two and one."""
LABEL_WORDS: Mapping[int, tuple[str, ...]] = {
    2: ("poor", "good"),
    3: ("poor", "fair", "good"),
    4: ("bad", "poor", "good", "excellent"),
    5: ("bad", "poor", "fair", "good", "excellent"),
    6: ("awful", "bad", "poor", "good", "great", "excellent"),
    7: ("awful", "bad", "poor", "fair", "good", "great", "excellent"),
    8: ("terrible", "awful", "bad", "poor", "good", "great", "excellent", "perfect"),
    9: ("terrible", "awful", "bad", "poor", "fair", "good", "great", "excellent", "perfect"),
    10: ("terrible", "awful", "bad", "poor", "fair", "decent", "good", "great", "excellent", "perfect"),
}
"""Lowest score first; no two begin alike, so that the first token of an answer tells which it is."""
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_LEADING = re.compile(r"^\s*(?:score|rating|level|grade)?\s*\d+(?:[.,]\d+)?\s*[:.)\-–—]\s*", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?<![\w.,])(?:\d+(?:[.,]\d+)*(?:\s?[-–]\s?\d+)?\s?%?|two|three|four|five|six|seven|eight|nine|ten)(?!\w)",
    re.IGNORECASE,
)


def neutral_text(words: int) -> str:
    """``words`` words (at least 1) that say nothing of quality."""
    return " ".join(_filled(NEUTRAL, max(1, words)))


def padded(text: str, words: int) -> str:
    """``text`` with words that mean nothing behind it, until it has ``words``; a longer one as it is."""
    missing = words - len(text.split())
    if missing <= 0:
        return text
    body = text.rstrip()
    end = body[-1] if body[-1:] in ".!?" else ""
    return ", ".join([body[: len(body) - len(end)], *_filled(PADDING, missing)]) + end


def without_numbers(text: str) -> str:
    """``text`` with “some” in place of each number, in digits or words; a number that leads it is left out."""
    kept = _LEADING.sub("", text)
    kept = _COUNTED.sub("some", kept)
    return kept[:1].upper() + kept[1:] if text[:1].isupper() or kept != text else kept


def _filled(phrases: tuple[str, ...], words: int) -> list[str]:
    """Phrases of ``words`` words together, the longest that fit first."""
    chosen = []
    for phrase in phrases:
        size = len(phrase.split())
        while size <= words:
            chosen.append(phrase)
            words -= size
    return chosen


# ---------------------------------------------------------------- changes of a criterion


def _described(criterion: Criterion, change: Callable[[ScoreOption], str | None]) -> Criterion | None:
    """With other descriptions; None where all stay as they are."""
    options = tuple(replace(option, description=change(option)) for option in criterion.options)
    return None if options == criterion.options else replace(criterion, options=options)


def _labelled(labels: Callable[[int], tuple[str, ...]]) -> Apply:
    """With other labels, lowest score first, for any number of options."""

    def apply(criterion: Criterion) -> Criterion | None:
        new = labels(len(criterion.options))
        if tuple(map(str.casefold, criterion.labels)) == tuple(map(str.casefold, new)):
            return None
        options = tuple(replace(o, label=text) for o, text in zip(criterion.options, new, strict=True))
        return replace(criterion, options=options)

    return apply


def _numbered(criterion: Criterion) -> Criterion | None:
    options = tuple(replace(option, label=None) for option in criterion.options)
    return None if options == criterion.options else replace(criterion, options=options)


def _neutral(score: int) -> Apply:
    def text(option: ScoreOption) -> str | None:
        if option.score != score or option.description is None:
            return option.description
        return neutral_text(len(option.description.split()))

    return lambda criterion: _described(criterion, text)


def _even(criterion: Criterion) -> Criterion | None:
    longest = max((len(o.description.split()) for o in criterion.options if o.description), default=0)
    return _described(criterion, lambda o: padded(o.description, longest) if o.description else o.description)


def _no_numbers(criterion: Criterion) -> Criterion | None:
    return _described(criterion, lambda o: without_numbers(o.description) if o.description else o.description)


def _bare(criterion: Criterion) -> Criterion | None:
    return _described(criterion, lambda _: None)


def _rescaled(n: int, *, wider: bool) -> Apply:
    def apply(criterion: Criterion) -> Criterion | None:
        fits = len(criterion.options) < n if wider else len(criterion.options) > n
        return rescale(criterion, n)[0] if fits else None

    return apply


def _untold(criterion: Criterion) -> Criterion | None:
    return replace(criterion, description="") if criterion.description else None


def neutral_change(score: int) -> Change:
    """The description of one score in neutral words, as many as it has."""
    return _change(f"neutral-{score}", _neutral(score))


def _change(key: str, apply: Apply) -> Change:
    words = change_words(key)
    if words is None:
        raise RubricError(
            tr(
                "No change of a rubric is called “{key}”. There are: neutral-1, {known}.",
                key=key,
                known=", ".join(CHANGE_WORDS),
            )
        )
    return Change(key, *words, apply)


_APPLIED: Mapping[str, Apply] = {
    "no-numbers": _no_numbers,
    "scale-3": _rescaled(3, wider=False),
    "scale-7": _rescaled(7, wider=True),
    "even-lengths": _even,
    "no-descriptions": _bare,
    "no-criterion": _untold,
    "labels-numbers": _numbered,
    "labels-letters": _labelled(lambda n: tuple(chr(ord("A") + n - 1 - rank) for rank in range(n))),
    "labels-words": _labelled(LABEL_WORDS.__getitem__),
    "labels-roman": _labelled(lambda n: _ROMAN[:n]),
}
CHANGES: Mapping[str, Change] = {key: _change(key, _APPLIED[key]) for key in CHANGE_WORDS}
"""All but the neutral descriptions, of which there is one a score (see :func:`neutral_change`), in the order
in which several are made at once. Another change is a line here and one of words in ``model.rubric_changes``."""

EXCLUSIVE: tuple[frozenset[str], ...] = (
    frozenset({"scale-3", "scale-7"}),
    frozenset({"labels-numbers", "labels-letters", "labels-words", "labels-roman"}),
)
"""Of each of these at most one can be made."""


def change_of(key: str) -> Change:
    """The change of that key. Raises RubricError for none."""
    if key.startswith("neutral-") and change_words(key) is not None:
        return neutral_change(int(key.removeprefix("neutral-")))
    return CHANGES[key] if key in CHANGES else _change(key, _untold)


def changes_of(rubric: Rubric) -> tuple[Change, ...]:
    """Every change that alters something in the rubric: one a described score, then those of CHANGES."""
    scores = sorted({option.score for criterion in rubric.criteria for option in criterion.options})
    every = (*(neutral_change(score) for score in scores), *CHANGES.values())
    return tuple(change for change in every if any(change.apply(c) is not None for c in rubric.criteria))


def changed(rubric: Rubric, keys: Iterable[str]) -> Rubric:
    """The rubric with all of these changes, each made where it alters something; its name says which.

    They are made in one order whatever that of ``keys``: descriptions first, then the scale, labels last.
    Raises RubricError for an unknown key, and for two that exclude each other.
    """
    wanted = set(keys)
    for group in EXCLUSIVE:
        if len(both := sorted(wanted & group)) > 1:
            raise RubricError(tr("{both} cannot both be made.", both=tr(" and ").join(both)))
    made = list(in_order(wanted))
    criteria = tuple(_all(criterion, made) for criterion in rubric.criteria)
    return Rubric(changed_name(rubric.name, (change.key for change in made)), criteria)


def in_order(keys: Iterable[str]) -> Iterator[Change]:
    """The changes of these keys in the order in which they are made."""
    place = {key: number for number, key in enumerate(CHANGES)}
    return iter(sorted(map(change_of, keys), key=lambda change: (place.get(change.key, -1), change.key)))


def _all(criterion: Criterion, changes: list[Change]) -> Criterion:
    for change in changes:
        criterion = change.apply(criterion) or criterion
    return criterion


def told_apart(rubric: Rubric, first: str, second: str) -> bool:
    """Does each of two changes still alter something once the other is made?

    Where not (no descriptions, and one of them in neutral words), an arm with both shows one of them only.
    """
    if any(first in group and second in group for group in EXCLUSIVE):
        return False
    both = changed(rubric, (first, second)).criteria
    return both not in (changed(rubric, (first,)).criteria, changed(rubric, (second,)).criteria)
