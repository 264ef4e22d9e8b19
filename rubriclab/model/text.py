"""Keep and show texts: hashes, storable text, file names, and errors with what to do."""

import hashlib
import json
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from typing import Any

FILLERS = {
    *"\u034f\u115f\u1160\u2800\u3164",
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
}
"""Letters and marks that show nothing: fillers, joiners, variation selectors."""

LATIN = str.maketrans("авекмнорстухіјѕαβεζηικμνορτυχ", "abekmhopctyxijsabezhikmnoptyx")
"""Cyrillic and Greek letters that look like Latin ones, in capitals or not."""


class LabError(ValueError):
    """Something that the user can fix.

    The message says what is wrong with which value, what was expected, and what to do.
    """


def digest(*parts: Any) -> str:
    """Return sha256 in hex of the canonical JSON of ``parts``: sorted keys, no blanks, UTF-8."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class NamedTwice(ValueError):
    """A JSON object has a name twice."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the name “{shorten(name)}” appears twice in one object")
        self.name = name


def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object of these pairs, as ``object_pairs_hook``. Raises NamedTwice.

    Python would keep the last of two values, other readers the first. Whoever wrote the text could
    so show a person one value and the lab another.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        commonest, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise NamedTwice(commonest)
    return made


def storable(text: str) -> str:
    """Return ``text`` so that UTF-8 can write it.

    Lone surrogates become U+FFFD. NUL is removed, because DuckDB and terminals stop at it.
    """
    text = text.replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Two surrogates that belong together are one character; a single one is half of one.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def without_invisible(text: str) -> str:
    """Return ``text`` without characters that nobody sees.

    These are zero-width, direction-changing and control characters except line feed and tab, and
    fillers.
    """
    if text.isascii() and text.isprintable():
        return text
    unseen = ("Cf", "Cc")
    return "".join(
        c
        for c in text
        if c in "\n\t" or (unicodedata.category(c) not in unseen and c not in FILLERS)
    )


def look_alike(text: str) -> str:
    """Return what names that look the same have in common.

    Case, alphabet, blanks and invisible characters are ignored, and forms are those of NFKC.
    """
    if text.isascii() and text.isprintable():
        return "".join(text.lower().split())
    return "".join(
        without_invisible(unicodedata.normalize("NFKC", text).casefold()).translate(LATIN).split()
    )


def printable(text: str) -> str:
    """Return ``text`` for a terminal, with control and direction-changing characters escaped.

    They could recolour the screen or show another text. Line breaks and tabs are kept.
    """
    return "".join(
        c
        if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else f"\\u{ord(c):04x}"
        for c in text
    )


def file_name(title: str, ending: str) -> str:
    """Return a file name for any title: its letters and digits, a hash, and the ending.

    It has at most 60 characters. ``ending`` has its dot.
    """
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", ascii_title.lower())
    return f"{words.strip('-')[:40].strip('-') or 'run'}-{digest(title)[:8]}{ending}"


def shorten(text: str, most: int = 60) -> str:
    """Return ``text`` for a message: one line of at most ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def abridge(text: str, most: int = 60) -> str:
    """Return ``text`` as ``shorten`` does, but with its end: names of two runs differ there."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    end = most // 3
    return f"{line[: most - end - 1]}…{line[-end:]}"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return “1 item” or “2,000 items”."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shared_beginning(a: str, b: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    # Texts share the first k characters for every k up to that number, so it can be bisected.
    lengths = range(1, min(len(a), len(b)) + 1)
    return bisect_left(lengths, True, key=lambda k: not b.startswith(a[:k]))


def between(least: str, most: str) -> str:
    """Return “1 min to 4 min”, or one of them if both are shown as the same."""
    return least if least == most else f"{least} to {most}"


def counted(sentence: str) -> str:
    """Return a sentence with “1 call” for “1 calls”."""
    nouns = "item|group|judgment|instruction|unit|call|order"
    return re.sub(rf"\b1 ((?:independent )?(?:{nouns}))s\b", r"1 \1", sentence)


def duration(seconds: float) -> str:
    """Return seconds in the unit that people use: “40 s”, “4 min”, “2.5 h”."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"
