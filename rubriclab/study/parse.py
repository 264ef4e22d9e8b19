"""A judge's reply in, the label (or a score for each criterion) that it gives out, or none.

Strict on purpose: a reply that can be read in two ways gives no score, since a guess would be a score that nobody
gave. Only the last ``READ`` signs are looked at, and long runs of one sign are shortened, so that no pattern here
takes long on any text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rubriclab.model.text import without_invisible
from rubriclab.study import prompts
from rubriclab.study.prompts import Answer

READ = 4_000
"""Signs of a reply that are looked at, from its end: an answer stands there."""

# ---------------------------------------------------------------- from a reply to what is looked at


def answer_part(text: str) -> str:
    """What the judge says itself: behind its reasoning and around a repeated prompt; "" where nothing is.

    A prompt ends in a known line; verdicts between its headings and that line belong to the texts that are judged.
    Linear in the text.
    """
    closed = text.lower().rfind("</think>")
    if closed >= 0:
        text = text[closed + len("</think>") :]
    opened = re.search("<think>", text, re.IGNORECASE)
    if opened is not None:
        text = text[: opened.start()]
    headings = [
        text.find(heading)
        for heading in (prompts.TASK_HEADING, prompts.RESPONSE_HEADING)
        if heading in text
    ]
    if headings:
        endings = (prompts.FEEDBACK_ENDING, prompts.SCORE_ENDING, prompts.CRITERIA_ENDING)
        ends = [text.rfind(ending) + len(ending) for ending in endings if ending in text]
        behind = text[max(ends, default=len(text)) :]
        text = behind if behind.strip() else text[: min(headings)]
    return text


def readable(text: str, labels: Sequence[str] = ()) -> str:
    """The last READ signs of ``text`` in plain forms (NFKC), without invisible signs, Markdown and long runs.

    Signs that a label itself uses are kept. Where something was cut off, "…" and a line break stand before the rest,
    so that its first line is not taken for how the reply opens.
    """
    cut = len(text) > READ
    text = without_invisible(unicodedata.normalize("NFKC", text[-READ:]))
    if len(text) > READ:  # one sign can become eighteen
        text, cut = text[-READ:], True
    if cut:
        edge = re.search(r"\s", text)
        text = "…\n" + (text[edge.end() :] if edge else "")
    text = re.sub(r"\\boxed\s*\{([^{}]*)\}", r"\1", text)
    kept = set("".join(labels))
    text = text.translate({ord(mark): None for mark in "*`" if mark not in kept})
    if "_" not in kept:
        text = re.sub(r"(?<!\w)_++|(?<!_)_++(?!\w)", "", text)
    text = text.replace("−", "-").replace("’", "'")
    text = re.sub(r" ?\n ?", "\n", re.sub(r"[^\S\n]+", " ", text))
    return re.sub(r"([^\w])\1{10,}", r"\1" * 10, text)


# ---------------------------------------------------------------- one label


def parse_label(text: str, labels: Sequence[str], answer: Answer = "score") -> int | None:
    """The index of that of ``labels``, as they come, which the reply ``text`` gives as its score; None for none.

    Case, full-width forms and Markdown do not count. Verdicts are looked for where judges write them: after
    ``[RESULT]``; after "score:", "rating is" and their like; as the whole reply or a line of its own. With "feedback"
    a ``[RESULT]`` decides alone where there is one. With "score" a reply may also open with the label ("4. Because
    ...") or name it in a sentence ("I would give it a 4."). All verdicts in it must agree: with two that differ, a
    range, another scale, or one out of range or of another alphabet there is none.
    """
    # In one order of the labels whatever is shown: a grammar takes milliseconds to make, and is made once then.
    known = tuple(sorted(labels))
    said = answer_part(text)
    given = _short_label(said, known, answer) if len(said) <= 40 else _label(said, known, answer)
    return None if given is None else list(labels).index(known[given])


def _label(said: str, labels: tuple[str, ...], answer: Answer) -> int | None:
    body = readable(said, labels)
    grammar = _grammar(labels)
    names = ["marked", "phrase", "verb", "article", "line"]
    if answer == "feedback":
        names = ["marked"] if grammar.patterns["marked"].search(body) else ["phrase", "last_line"]
    elif grammar.patterns["opening"].match(body):
        names.append("listed")  # a numbered list opens with a label, too
    return _verdict(
        grammar, [match for name in names for match in grammar.patterns[name].finditer(body)]
    )


_short_label = lru_cache(maxsize=4_096)(_label)


class _Grammar(NamedTuple):
    """What finds verdicts in terms of one set of labels: each of ``patterns`` has a group ``slot``."""

    folded: tuple[str, ...]
    same_kind: re.Pattern[str]
    patterns: dict[str, re.Pattern[str]]


_NOUN = r"(?:scor(?:e|ing)|rating|grade|verdict|result|mark|answer|overall)"
_NAMED = (
    r"(?:(?:final|overall|my|the|total)\s+){0,3}(?:score|option|level|grade|rating|answer|verdict)"
)
_VERB = (
    r"(?:giv(?:e|es|ing)|gave|given|assign(?:s|ed)?|award(?:s|ed)?|deserv(?:e|es|ed)"
    r"|merit(?:s|ed)?|earn(?:s|ed)?|rat(?:e|es|ed)|scor(?:e|es|ed)|choos(?:e|es)|chose"
    r"|pick(?:s|ed)?|select(?:s|ed)?|go\s+with|say)"
)
_IS = r"(?:(?:would|should|will|must)\s+be|is|was|as|of|to|at|:|=|→|->|-(?=\s))"
_OPEN = r"[\s\"'“‘(\[{<|$]{0,6}"
_CLOSE = r"[\s\"'”’)\]}>|$.,;:!]{0,6}"


@lru_cache(maxsize=256)
def _grammar(labels: tuple[str, ...]) -> _Grammar:
    """The patterns that find verdicts in terms of ``labels``."""
    slot = f"(?P<slot>{_token(labels)})"
    scale = r"(?P<tail>\s*(?:/|out\s+of)\s*\d+(?![\d.]*\d))?"
    # In a sentence a lone letter is a label only as written: "it gets a B", never "a".
    prose = f"(?P<slot>{_token(labels, prose=True)})"
    named = rf"(?:{_NAMED}[ \t]*(?:[:=]|-(?=\s))?[ \t]*)?"
    end = (
        r"(?=\s*(?:$|\n|[.,;:!)\]\"'/-]"
        r"|(?:out\s+of|because|since|for|as|on|overall|points?|stars?|or|and)\b))"
    )
    opening = (
        rf"^\s*(?:[#>-]+\s+)?(?:{_NAMED}\s*)?{_OPEN}{slot}{scale}[\"')\]]*\s*"
        r"(?:[.:;)\]](?=\s)|-(?=\s)|[–—\n]|\Z)"
    )
    patterns = {
        "marked": rf"(?i)\[\s*result\s*(?:\]\s*[:=]?|[:=]|(?=\s[^\]]*\])){_OPEN}(?:-\s+)?"
        rf"(?:{_NAMED}\s*[:=]?\s*)?{_OPEN}{slot}",
        "phrase": rf"(?i)\b{_NOUN}[\"'”’)\]]*(?:\s+(?:for|on|under)\s+(?:[\w-]+\s+){{0,4}}?[\w-]+)?\s*"
        rf"(?:>|{_IS}){_OPEN}(?:(?:{_NAMED}|an?)\s+)?{_OPEN}{slot}",
        "verb": rf"(?i:\b{_VERB}\s+(?:[\w'-]+\s+){{0,4}}?){_OPEN}{prose}(?i:{end})",
        "article": rf"(?i:\b(?:an?|is|as|say|at)\s+){prose}(?:\s*[.!]*\s*)\Z",
        "opening": f"(?i){opening}",
        "listed": f"(?im){opening}",
        "line": rf"(?im)^[ \t]*(?:[#>-]+[ \t]+)?{named}{_OPEN}{slot}{scale}(?:\s*(?:points?|stars?))?{_CLOSE}$",
        "last_line": rf"(?i)(?:\A|\n)[ \t]*{named}{_OPEN}{slot}{scale}{_CLOSE}\Z",
    }
    return _Grammar(
        tuple(prompts.fold(label) for label in labels),
        re.compile(_same_kind(labels), re.IGNORECASE),
        {name: re.compile(pattern) for name, pattern in patterns.items()},
    )


def _token(labels: Sequence[str], *, prose: bool = False) -> str:
    """A pattern for anything that looks like a score: a label, a number, a letter or a numeral.

    An English "a" or "I" with a word after it is no score.
    """
    english = r"(?!(?-i:[ai])[ \t]+\w)(?!(?-i:[AI])[ \t]+[a-z])(?!(?i:[ai])'\w)"
    known = "|".join(_spelled(label, prose) for label in sorted(labels, key=len, reverse=True))
    letter = r"(?-i:[B-HJ-Z])" if prose else r"[a-z]"
    foreign = rf"[-+]?\d+(?:[.,]\d+)?(?:\s*%)?(?!\w)|(?:[ivx]{{2,}}|{letter})(?!\w)"
    number = r"[-+]?\d+(?:[.,]\d+)?(?:\s*%|\+(?!\w))?(?![\w])"
    return rf"(?<!\w){english}(?:{number}|(?:{known})(?:[+](?!\w))?|{foreign})"


def _spelled(label: str, prose: bool) -> str:
    """A pattern for ``label`` as a whole word; symbols must not run on into the same symbol."""
    text = without_invisible(unicodedata.normalize("NFKC", label)).strip()
    body = r"\s+".join(re.escape(part) for part in text.split())
    after = r"(?!\w)" if text[-1].isalnum() else f"(?!{re.escape(text[-1])})"
    lone = len(text) == 1 and text.isalpha()
    return f"{'(?-i:' if lone and prose else '(?i:'}{body}){after}"


def _same_kind(labels: Sequence[str]) -> str:
    """A pattern for scores written like ``labels``: what is out of range, not just other text."""
    if all(re.fullmatch(r"[-+]?\d+", prompts.fold(label)) for label in labels):
        return r"[-+]?\d.*"
    if prompts.is_roman(labels):
        return r"[ivxlcdm]+"
    if all(len(prompts.fold(label)) == 1 and label.isalpha() for label in labels):
        return r"[a-z]\+?"
    return r"(?!)"


_NEGATED = re.compile(r"\b(?:not|never|cannot|than|instead of)\b|n't\b", re.IGNORECASE)
_RANGE = re.compile(
    r"\s*(?:/|-|–|—|~|&|,|\bor\b|\bto\b|\band\b)\s*(?P<second>[\w.+-]+)", re.IGNORECASE
)
_OUT_OF = re.compile(r"\s*(?:/|\bout\s+of\b)\s*(?P<top>[0-9]{1,9})", re.IGNORECASE)


def _verdict(grammar: _Grammar, matches: Iterable[re.Match[str]]) -> int | None:
    """The one label that all ``matches`` give; None where one is out of range or runs on, or two differ."""
    given: set[int] = set()
    for match in matches:
        start, end = match.span("slot")
        before = re.split(r"[.,;:\n]", match.string[max(0, start - 60) : start])[-1]
        if _NEGATED.search(before):
            continue
        index = _index(grammar.folded, match["slot"])
        if index is None:
            wrong = grammar.same_kind.fullmatch(match["slot"]) is not None
        else:
            wrong = _runs_on(grammar, match.string[end : end + 40])
            given.add(index)
        if wrong:
            return None
    return given.pop() if len(given) == 1 else None


def _index(folded: Sequence[str], text: str) -> int | None:
    """The label that ``text`` is; whole numbers also as 3.0, +3 or 03."""
    key = " ".join(prompts.fold(text).split())
    if key not in folded:
        key = str(_whole(key))
    return folded.index(key) if key in folded else None


def _whole(text: str) -> int | None:
    number = re.fullmatch(r"([-+]?[0-9]{1,9})(?:[.,]0+)?", text)
    return int(number[1]) if number else None


def _runs_on(grammar: _Grammar, after: str) -> bool:
    """Whether a second score follows ("3 or 4", "3-4"), or a scale that is not this one ("3/10").

    "5/5" and "4 out of 5" name the top of the scale, which is no second score.
    """
    numbers = [int(key) for key in grammar.folded if re.fullmatch(r"[-+]?[0-9]+", key)]
    scale = _OUT_OF.match(after)
    if scale is not None and numbers:
        return int(scale["top"]) != max(numbers)
    following = _RANGE.match(after)
    if following is None:
        return False
    second = following["second"].rstrip(".")
    rest = after[following.end() :]
    if second.casefold() in {"a", "i"} and re.match(r"[ \t]+[a-z]|'", rest):
        return False
    return _index(grammar.folded, second) is not None


# ---------------------------------------------------------------- one line a criterion

_ENTRY = re.compile(
    r"""^\s*(?:[-•#>|]+\s*)?                       # bullet, heading or table edge
    (?P<name>\[[^\]\n]{1,200}(?=\])|[^\W_].{0,200}?|[\[("'{].{0,200}?)   # with any brackets
    (?:[\s\]\[:=|>"')}→–—]|-(?=\s)){1,40}          # what stands between
    (?P<score>[-+]?\d+(?:[.,]\d+)?)(?![\w%])
    (?!\s*[\]:=]+\s*[-+]?\d)                      # a number inside the name ("Part 2: 4")
    (?P<rest>.*)$""",
    re.VERBOSE,
)


def parse_criteria(text: str, names: Sequence[str], scores: Sequence[int]) -> dict[str, int]:
    """The score that the reply gives to each of ``names``; those without one are left out.

    Parses "[Clarity] 4", "1. Clarity: 4/5", "| clarity | 4 |", '"Clarity": 4' and several on one line, in any order;
    names match on letters and digits. A criterion that is given two scores, or one that is not of ``scores``, has none.
    """
    by_key = {prompts.name_key(name): name for name in names}
    given: dict[str, set[int | None]] = {}
    for written, score in _entries(readable(answer_part(text)), set(scores)):
        name = _known(written, by_key)
        if name is not None:
            given.setdefault(name, set()).add(score)
    single = {name: values.pop() for name, values in given.items() if len(values) == 1}
    return {name: score for name, score in single.items() if score is not None}


def _entries(text: str, allowed: set[int]) -> Iterator[tuple[str, int | None]]:
    """(name as written, its score or None where that is not allowed) for every entry."""
    text = re.sub(r"\s*[;,]?\s*(?=\[[^\]\n]{1,200}\]\s*[:=-]?\s*\d)", "\n", text)
    text = re.sub(r"(?<=\d)\s*[,;]\s*(?=[^\W\d]|[\"'{])", "\n", text)
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry is None or len(entry["name"]) > 120:
            continue
        score = _whole(entry["score"])
        if score not in allowed or _second_score(entry["rest"], max(allowed)):
            score = None
        yield entry["name"].strip(" []()\"'{}|:"), score


def _second_score(rest: str, top: int) -> bool:
    """Whether what follows a score makes it a range or a share of another scale."""
    scale = _OUT_OF.match(rest)
    if scale is not None:
        return int(scale["top"]) != top
    return re.match(r"\s*(?:-|–|\bor\b|\bto\b)\s*\d", rest) is not None


def _known(written: str, by_key: dict[str, str]) -> str | None:
    """The asked-for name that ``written`` stands for.

    Numbering, "Criterion" and a description after a colon or bracket do not count.
    """
    for candidate in (written, re.split(r"[:(\]|]", written)[0]):
        bare = re.sub(r"^\s*(?:\(?\d+\s*[.):-]?\s*)", "", candidate)
        for form in (candidate, bare, re.sub(r"(?i)^\W*criterion\W*(?:\d+\W*)?", "", bare)):
            if prompts.name_key(form) in by_key:
                return by_key[prompts.name_key(form)]
    return None


# ---------------------------------------------------------------- refusals

_REFUSAL = re.compile(
    r"\b(?:i\s+(?:can\s?not|can't|won't|will\s+not|am\s+(?:not\s+able|unable)|must\s+decline"
    r"|refuse|do\s+not\s+feel\s+comfortable|don't\s+feel\s+comfortable)"
    r"|i'm\s+(?:not\s+able|unable|not\s+comfortable)"
    r"|(?:as|being)\s+an?\s+(?:ai|language\s+model|artificial)"
    r"|(?:i'm|i\s+am)\s+(?:very\s+|really\s+|so\s+)?sorry|my\s+apologies|i\s+apologi[sz]e"
    r"|unable\s+to\s+(?:comply|evaluate|assess|score|rate|provide|assist|help))\b",
    re.IGNORECASE,
)


def looks_refused(text: str) -> bool:
    """Whether a reply in which no score was found opens by declining ("I'm sorry, but I cannot ...").

    Looks at its first 160 signs, since feedback may quote a refusal.
    """
    return _REFUSAL.search(readable(answer_part(text)[:400]).strip()[:160]) is not None
