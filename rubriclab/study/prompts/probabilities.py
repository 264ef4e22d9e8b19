"""The probability of each score label, from a judge's first answer token."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_SPACE_MARKS = "▁Ġ \t\r\n"
"""What tokenizers put before a word: a space, or SentencePiece's and GPT-2's sign for one."""

_LONGEST_KEPT, _MOST_KEPT = 40, 2_000
"""Characters of a token whose reading is kept (a longer one is no token of a tokenizer), and how many are."""

_ENGLISH_WORDS = frozenset({"a", "A", "i", "I"})


def label_probabilities(
    top_tokens: Sequence[tuple[str, float]], labels: Sequence[str]
) -> tuple[tuple[float, ...] | None, float]:
    """Probabilities of ``labels`` (by shown position, summing to 1) and the mass behind them.

    ``top_tokens`` are (token text, natural log-probability) at the first answer token. Every
    token that is a label once outer space and space marks are off counts for it, so "3",
    " 3" and "▁3" add up. Case: the label as written always counts; another case ("b" for
    "B") counts unless it is an English word of its own, since "a" for "A" or "I" for "i"
    more often starts a sentence. ``mass`` is the sum before renormalising, at most 1.
    NaN and missing log-probabilities are ignored; labels not among the tokens get 0.

    Probabilities are None where the first token cannot tell: nothing fell on a label (mass
    0), or a label that starts with another label (10 after 1, ii after i) or with a token
    that is no label was not itself seen as one whole token. A tokenizer that writes such a
    label in pieces lets its first piece stand for several labels; one that shows it whole
    does not, since it would never write the pieces.
    """
    if not top_tokens:
        return None, 0.0
    reader = _reader(tuple(labels))
    names, known = reader.names, reader.known
    mass = [0.0] * len(names)
    pieces: set[str] = set()
    seen: set[int] = set()
    for text, logprob in top_tokens:
        if logprob is None or logprob != logprob:  # NaN
            continue
        index, piece = known.get(text) or reader.read(text)
        if index is not None:
            mass[index] += math.exp(min(logprob, 0.0))
            seen.add(index)
        elif piece:
            pieces.add(piece)
    total = sum(mass)
    if total <= 0.0:
        return None, 0.0
    if _ambiguous(names, seen, pieces):
        return None, min(total, 1.0)
    return tuple(part / total for part in mass), min(total, 1.0)


class _Reader:
    """Reads tokens by one set of labels: the label (by shown position) that each is, and the piece of a word.

    The same few hundred tokens come all day: what they are is kept, up to a number of them.
    """

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.names = tuple(_plain(label) for label in labels)
        self.known: dict[str, tuple[int | None, str]] = {}

    def read(self, text: str) -> tuple[int | None, str]:
        token = _plain(text)
        found = _label_index(token, self.names), token.casefold()
        if len(text) <= _LONGEST_KEPT and len(self.known) < _MOST_KEPT:
            self.known[text] = found
        return found


_reader = lru_cache(maxsize=256)(_Reader)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.strip(_SPACE_MARKS)).strip(_SPACE_MARKS)


def _label_index(token: str, names: Sequence[str]) -> int | None:
    """The label that ``token`` is, by the case rule of ``label_probabilities``."""
    if token in names:
        return names.index(token)
    if token in _ENGLISH_WORDS:
        return None
    folded = [name.casefold() for name in names]
    key = token.casefold()
    return folded.index(key) if folded.count(key) == 1 else None


def _ambiguous(names: Sequence[str], seen: set[int], pieces: set[str]) -> bool:
    """Whether an unseen label may hide behind a shorter label or behind a piece of itself."""
    if len(seen) == len(names):
        return False
    folded = [name.casefold() for name in names]
    for index, name in enumerate(folded):
        if index in seen:
            continue
        starts = {*pieces, *(other for other in folded if other != name)}
        if any(name.startswith(start) for start in starts if start != name):
            return True
    return False
