"""Split off the word before a score, as in “Note 1: …”, and tell which words name no score.

Rubrics come in many languages, so any word may name a score. Words that number something else are
listed here: a step or a question that became a score would be in every judge prompt.
"""

import re
import tomllib
from pathlib import Path

SIGNS = r"\s\d_*.,:;!?=|/\\()\[\]{}<>+~&%#'’\"“”„«»…：；，。、（）【】–—−→-"
PART = rf"[^{SIGNS}]+(?:[-'’][^{SIGNS}]+)*\.?"
WORDED = re.compile(
    rf"(?:(?P<open>[(\[（【])\s*)?(?P<word>(?:{PART}\s+){{0,2}}{PART})(?P<gap>\s*(?:#\s*)?)"
    r"(?:(?P<inner>[(\[（【])\s*)?(?P<rest>-?\d.*)",
    re.S,
)
"""One to three words before a number, perhaps in brackets: “Note 1”, “[Stufe 2]”, “Level (3)”."""
CLOSED = re.compile(r"(?P<score>-?\d{1,3})\s*[)\]）】][*_]*(?P<more>.*)", re.S)
SIGN_NEXT = re.compile(r"\s*(?:[=:：|→]|[-–—](?=[\s>]))")

WORDS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
OTHERS = frozenset(" ".join(WORDS.values()).split())
"""Words that number something other than scores, or that make a bound of a number."""


def split_word(line: str) -> tuple[str, str] | None:
    """Return the words before the number that a line begins with, and the rest; None without.

    Brackets around the number, or around words and number, become a colon.
    """
    found = WORDED.fullmatch(line)
    if found is None:
        return None
    word, rest = found["word"], found["rest"]
    if not any(sign.isalpha() for sign in word):
        return None
    attached = not found["gap"] and not found["inner"]
    if attached and word[-1].lower() != word[-1].upper():
        return None  # “Q1” is a name of its own; Chinese needs no space before a number
    if found["open"] or found["inner"]:
        closed = CLOSED.fullmatch(rest)
        if closed is None:
            return None
        sign = "" if SIGN_NEXT.match(closed["more"]) else ": "
        rest = f"{closed['score']}{sign}{closed['more']}"
    return word, rest


def look_of(word: str) -> str:
    """Return the form in which two spellings of a word are equal."""
    return " ".join(word.casefold().split()).removesuffix(".")


def may_name_scores(word: str) -> bool:
    """Return whether a word before a number may name a score. “Step” and “at least” may not."""
    parts = re.split(r"[\s.'’-]+", look_of(word))
    one_letter = len(parts) == 1 and len(parts[0]) == 1 and parts[0] != parts[0].upper()
    return not one_letter and not OTHERS & {*parts, look_of(word)}
