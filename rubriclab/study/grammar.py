"""Compile the forms of ``forms.toml``, in which judges give a verdict, for one set of labels.

Finding numbers and excluding the wrong ones would never end, because there is always another number
that is not a score. So the forms list the words that may come before, inside and after a verdict:
"the maximum score is 5" is unparsed because *maximum* may not come before *score*. A form whose
value is not a single label (3 or 4, 4 out of 10) is an objection to the whole reply.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import re2

from rubriclab.study.labels import fold
from rubriclab.study.own_words import FORMS, FRACTION, READ

Kind = Literal["score", "choice"]

WORDS, KEYS, MARKS, PATTERNS = FORMS["words"], FORMS["json"], FORMS["marks"], FORMS["patterns"]
SHORT = 40
"""Characters of a reply whose reading is cached: most replies of a study are the same few."""
SPAN = 240
"""The most characters from the beginning of a form to its value."""
MOST_PLACES = 400
"""Places where a form may begin, and sentences with a value. A reply with more is unparsed."""
MOST_MARKS = 60
"""Brackets that are parsed. A reply with more is unparsed."""
MOST_OBJECTS = 50
"""JSON objects that are parsed."""
MOST_REPAIRED = 20_000
"""Characters of an object that is not strict JSON, which is slower to parse."""
DRESS = " \t\"'“”‘’«»()[]{}|*_~#"
"""Characters that may surround a value on a line of its own."""

NO_FORM = "no verdict in a form that is known"
TWO = "two verdicts that differ"
OTHER_SCALE = "another scale"
NOT_OFFERED = "a score that was not offered"
NOT_SINGLE = "no single value: a range, a fraction, or words behind it"
TAKEN_BACK = "it takes its verdict back"
OPEN_JSON = "it begins JSON that does not end"
EMPTY = "empty"
TOO_MANY = "more numbers than a verdict can be told from"
LONG = f"no verdict in its last {READ:,} characters"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one form in a reply gives: a label, or an objection.

    index: of the label; None for an objection, which ``why`` explains.
    words, form: the words that give it, and the name of their form.
    final, revised: whether the judge calls it final, or a replacement of an earlier verdict.
    end: where its value ends in the text.
    """

    index: int | None
    words: str
    form: str
    why: str = ""
    final: bool = False
    revised: bool = False
    end: int = 0


def any_of(words: Sequence[str]) -> str:
    """Return a pattern for one of ``words``, the longest first.

    It matches whole words, except in scripts that put no blanks between words.
    """

    def whole(word: str) -> str:
        before = r"(?<![^\W\d])" if _has_blanks(word[0]) else ""
        after = r"(?!\w)" if _has_blanks(word[-1]) else ""
        return before + re.escape(word) + after

    if not words:
        return "(?!)"
    return f"(?:{'|'.join(whole(word) for word in sorted(words, key=len, reverse=True))})"


def _has_blanks(letter: str) -> bool:
    """Return whether the script of a letter puts blanks between words."""
    return letter.isalpha() and ord(letter) < 0x2E80


def spelled(words: str) -> str:
    """Return a pattern for a label or a name with any spacing.

    A symbol may not be followed by itself: the label + is not in ++.
    """
    body = r"[\s_-]*".join(map(re.escape, words.split()))
    if words[-1].isalnum():
        return body
    return rf"(?<!{re.escape(words[0])}){body}(?!{re.escape(words[-1])})"


NUMERAL = r"(?<![一二三四五六七八九十百])[一二三四五六七八九十](?=\s*[分星点](?!钟))"
"""A number in Chinese characters, only before a unit: 一般 does not mean 1."""
NO_BLANKS = r"\u2e80-\u9fff\uac00-\ud7af"
"""Letters of scripts without blanks between words, where any letter may be next to a value."""
OPEN = r"[\s\"'“‘«(\[{|【「]{0,6}"
SHUT = r"[\s\"'”’»)\]}|]{0,6}"
UNIT = rf"(?:\s*-?{any_of(WORDS['unit'])})?"
CANDIDATE = rf"(?:{any_of(WORDS['candidate'])}\s*)?"
# "On a scale from 1 (worst) to 5 (best):": only of the scale's own top.
OF_SCALE = (
    r"(?:(?:on|of|auf|sur|en)\s+(?:an?|the|our|einer|une|una)\s+(?:\w+\s+)?(?:scale|skala|échelle|escala|grades)"
    r"[^.:\n]{{0,30}}?(?:\bto|\bal?|\bbis|\bà|-|–)\s*{top}(?!\d)(?:\s*\([^)\n]{{0,20}}\))?)"
)
SCALE_WORDS = ("scale", "skala", "échelle", "escala", "grades")
LEAD = rf"[\s>#•|-]{{0,6}}{OPEN}(?:\d+[.)]\s+)?(?:\[?criterion\]?\s*\d*\s*:?\s*)?"
COLON = r"\s*[\"'”’)\]]*\s*(?:[:=→⇒|】]|->|=>|[–—-](?=\s))\s*"
# "Score (1-5):", "Clarity (out of 5):", "Tone (weight: 2):": what a bracket behind a name may hold.
BRACKET = (
    r"(?:out\s+of|max\.?(?:\s+\d+\s+points)?|of|scale:?|von|sur|de|weight:?)?\s*[\d "
    r"./–-]+(?:points?)?"
    r"|scale[^)\]]{0,20}|score|final|overall|rounded(?:\s+(?:up|down))?"
)
SCALE = rf"\s*(?:[(\[](?:{BRACKET})[)\]]|(?:out\s+of|sur|von|sobre)\s+\d+)?"
DOUBT = re.compile(any_of(WORDS["doubt"]), re.I)
HEDGE = re.compile(any_of(WORDS["hedge"]) + r"|n't\b", re.I)
QUOTED = re.compile(any_of(WORDS["quoted"]), re.I)
FINAL = re.compile(any_of(WORDS["final"]), re.I)
REVISED = re.compile(any_of(WORDS["revised"]), re.I)
ANNOUNCED = re.compile(
    any_of([*WORDS["final"], "verdict", "choice", "decision", "therefore", "urteil", "判断"]), re.I
)
CLAUSE = r"(?:^|[.;!?…\n,–—(-]\s*|[。！？，])"
RETRACT = re.compile(
    rf"{CLAUSE}(?:no,?\s+|but\s+|however,?\s+)?{any_of(WORDS['retract'])}"
    rf"|{any_of(WORDS['void'])}[^.!?\n。！？]{{0,30}}{any_of(WORDS['ruling'])}"
    rf"|{any_of(WORDS['ruling'])}[^.!?\n。！？]{{0,30}}{any_of(WORDS['void'])}",
    re.I,
)
# The judge speaks of its verdict once more, and not to uphold it.
DOUBTED = re.compile(
    rf"{any_of(WORDS['ruling'])}\s+(?:\w+\s+){{0,2}}?(?:is|was|seems|feels|looks|should)\s+"
    rf"(?!{any_of(WORDS['upheld'])}|\W*\d|not\s+(?:higher|lower|perfect|a\s|the\s))",
    re.I,
)
CORRECT = re.compile(
    rf"{CLAUSE}(?:but\s+|well,?\s+)?{any_of(WORDS['correct'])}"
    r"|(?<!\w)(?:it|this|that|score|rating|grade|mark|verdict|choice|above)"
    r"\s+should\s+(?:have\s+been|be|read)(?!\w)",
    re.I,
)
EXAMPLE = re.compile(any_of(WORDS["example"]), re.I)
INSTRUCTED = re.compile(
    r"(?:^|[\"“(:,;.]\s*)(?:please\s+|only\s+|always\s+)*"
    r"(?:respond|reply|answer|return|write|print|use|output|provide|produce|end|finish|conclude)\s+"
    r"(?:only|with|in|your|as|an?|the|like|strictly|using|valid|json|exactly|by|this)(?!\w)"
    r"|(?<!\w)your\s+(?:reply|answer|response|output|verdict)"
    r"\s+(?:should|must|has\s+to|needs\s+to)(?!\w)"
    r"|(?<!\w)(?:expected|required|output|response|answer)\s+format(?!\w)|^\W*format\s*:",
    re.I,
)
PLACEHOLDER = re.compile(
    r"\s*(?:<[^<>]*>|\[[^\[\]]*\]|\.{3}|…|(?:your|the)\s+(?:\w+\s+){1,3}here"
    r"|(?:insert|write)\s.*)\s*",
    re.I,
)
"""Placeholders of the judge's words in an example."""
OWN = re.compile(any_of(["here is", "here's", "here are", "below is", "hier ist", "voici"]), re.I)
DECIDES = (*WORDS["best"], "wins", "とします")
"""Words that a choice ends in: "Assistant A is better" needs no end of a line behind it."""
# Where a form in words may begin: a line, a sentence, or behind a colon; behind a comma only what
# calls itself final.
PLACE = re.compile(rf"^|(?<=[.;:!?)] )|(?<=[。、！？])|(?<=[{NO_BLANKS}][,:;!?])|(?<=[,>] )", re.M)
SENTENCE_END = re.compile(r"(?<=[.;!?])\s+|(?<=[。；！？])|\n|,?\s+but\s+(?=[iI]\b)")
DENIED = re.compile(
    r"(?i)^(?:this|it|the\s+\w+)\s+(?:does\s+not|doesn't|is\s+not|isn't)\b[^,]*,\s+(?=I\b)"
)
LIST_NUMBER = re.compile(r"\W{0,4}(?:score\s+)?(\d+)\s*[.):]", re.I)
REASONS = re.compile(rf"(?i)\s*(?:[.。!！](?=[^\d.]|$)|{any_of(WORDS['because'])})")
OUT_OF = re.compile(
    rf"(?i)\s*[(\[]?\s*{any_of(WORDS['out_of'])}\s*(?:[01]\s*(?:-|–|to|bis|à|al?|y)\s*)?"
    rf"(\d+|{any_of(WORDS['numbers'])}|{NUMERAL})(?![.,]?\d){UNIT}"
    rf"\s*(?:point\s+)?(?:scale)?\s*[)\]]?{UNIT}"
)


def _scan(words: Sequence[str], more: str = "", *, numeric: bool = False) -> Any:
    """Return an RE2 pattern, linear in any text, for words and for values that look like labels."""
    parts = [re2.escape(word) for word in words]
    if numeric:
        parts = [
            r"\pN",
            "★",
            "⭐",
            *WORDS["numerals"],
            *(rf"\b{word}\b" for word in WORDS["numbers"]),
        ]
    elif more:
        parts.append(more)
    options = re2.Options()
    options.case_sensitive = False
    return re2.compile("|".join(parts), options)


def number_of(words: str) -> int:
    """Return the number that digits or a word mean."""
    word = words.casefold()
    if word in WORDS["numerals"]:
        return int(WORDS["numerals"].index(word)) + 1
    return WORDS["numbers"].index(word) if word in WORDS["numbers"] else int(word)


# "Response A is better." says who is; "Response A is better written, but ..." does not.
_DECIDED = re.compile(
    r"(?i)\s*(?:overall|here|in\s+(?:my\s+(?:view|opinion)|general|total)|one|response|answer|choice)?\s*"
    r"(?:$|[.!;:)\]。，、]|,(?!\s*(?:but|yet|however|while)\b)|[–—-]\s|(?:because|since|as|than|als|que|over|due|for|of)\b)"
)


A_CANDIDATE = re.compile(any_of(WORDS["candidate"]), re.I)


class Grammar:
    """The forms, compiled for one set of labels.

    nouns: further words for a verdict. tie: the last label means a tie.
    Compiling takes about 30 ms, so ``grammar`` caches them.
    """

    def __init__(
        self, labels: tuple[str, ...], kind: Kind, nouns: tuple[str, ...], tie: bool
    ) -> None:
        self.labels, self.kind, self.tie = labels, kind, tie
        self.folded = [fold(label) for label in labels]
        self.kept = "".join(labels)
        self.numeric = all(re.fullmatch(r"[-+]?\d+", label) for label in self.folded)
        decisions = self.folded[:-1] if tie else self.folded
        self.letters = all(len(label) == 1 and label.isalpha() for label in decisions)
        self.top = max(map(int, self.folded)) if self.numeric else None
        self.nouns = [*WORDS["score"], *WORDS["weak"]]
        if kind == "choice":  # labels in words are chosen and rated alike
            self.nouns = [*WORDS["choice"], *([] if self.letters else self.nouns)]
        parts = self._parts(nouns)
        flags = re.IGNORECASE

        def filled(pattern: str) -> re.Pattern[str]:
            return re.compile(re.sub("‹(.+?)›", lambda part: parts[part[1]], pattern), flags)

        self.entries = [filled(pattern) for pattern in PATTERNS["entry"]]
        self.opening = filled(PATTERNS["opening"])
        self.alone = filled(PATTERNS["alone"])
        self.lead_in = filled(PATTERNS["lead_in"])
        self.marks = filled(PATTERNS["marks"])
        self.sentences = [filled(pattern) for pattern in PATTERNS[kind]]
        self.second = filled(
            r"\s*(?:[,;:–—-]|→|->)\s*(?:(?:or|maybe|perhaps|then|also|no|now)\s+)?‹open›‹value›(?=\W|\Z)"
        )
        # Linear scans for what any form must hold: where there is none, no form is tried.
        self.mention = _scan(
            [*self.folded, *(WORDS["tie"] if tie else ())],
            r"\pN|\b[a-z]\b|\b[ivx]+\b",
            numeric=self.numeric,
        )
        self.noun = _scan([*self.nouns, *WORDS["final"], *nouns, *SCALE_WORDS])
        self.stem = _scan([*FORMS["stems"][kind], *nouns])
        self.names = re.compile(any_of(nouns), re.I)
        self.within = filled(rf"(?<![^\W\d_{NO_BLANKS}])(?<!\d)‹value›")
        scale = rf"(?:\s*/\s*{self.top})?" if self.numeric else ""
        self.short = filled(rf"\s*(?:\**score\**\s*[:=]\s*)?\**‹value›\**{scale}\.?\s*\Z")
        self.reply = filled(r"\?\s+‹open›‹value›\W{0,3}\Z")  # "Is it polite? No."
        self.beside = filled(
            r"\s*(?<!\w)(?:over|to|than|not|rather\s+than|instead\s+of)\s+‹candidate›‹value›"
        )
        self.instead = filled(
            r"\s*(?:not|rather than|instead of|over)\s+(?:an?\s+)?‹open›‹value›\s*"
        )
        self.is_best = filled(r"\s*(?:is|ist|est|es)\s+‹best›")
        tags = "|".join([*MARKS["tags"], *map(re.escape, nouns)])
        self.tags = re.compile(rf"(?i)<({tags})(?:\s[^<>]{{0,80}})?>\s*([^<>]{{1,60}}?)\s*</\1\s*>")

    def _parts(self, nouns: tuple[str, ...]) -> dict[str, str]:
        """Return the pattern of each ‹name› in a form."""
        known = [spelled(label) for label in sorted(self.folded, key=len, reverse=True)]
        if self.tie:
            known.append(any_of(WORDS["tie"]))
        number = r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?![\d%]|[.,]\d)"
        if self.numeric:
            values = [number, *known, any_of(WORDS["numbers"]), NUMERAL]
            ends = rf"(?![^\W\d_{NO_BLANKS}])"
        else:
            values = [*known, number, "[a-z]" if self.letters else "[ivx]+"]
            ends = r"(?!\w)"
        if self.kind == "choice":
            strong, weak = self.nouns, []
            named = any(A_CANDIDATE.match(label) for label in self.folded)
            before_value = "" if named else CANDIDATE  # "Response 2" may be a label itself
        else:
            strong, weak = WORDS["score"], WORDS["weak"]
            before_value = rf"(?:{any_of(WORDS['score'])}\s*)?"
        own = "(?!)"
        if nouns:
            own = rf"(?<!\w)(?:{'|'.join(map(spelled, nouns))})(?!\w)"
        of_scale = OF_SCALE.format(top=self.top) if self.numeric else "(?!)"
        final, hedge = any_of(WORDS["final"]), any_of(WORDS["hedge"])
        about = rf"(?:\s+(?:for|on|under)\s+(?!{hedge})(?:(?:this|the)\s+)?[\w-]+)?"
        article = (
            r"(?:(?-i:an?)[ ]+|一个|eine[nr]?[ ]+|une?[ ]+(?:note[ ]+de[ ]+)?|un[ ]+|solid[ ]+)?"
        )
        parts = {name: any_of(words) for name, words in WORDS.items()}
        parts |= {
            "value": rf"(?P<value>(?:{'|'.join(values)}){ends})",
            "own": own,
            "open": OPEN,
            "lead": rf"{LEAD}(?:{of_scale}\s*,\s*)?",
            "of_scale": of_scale,
            "scale": SCALE,
            "colon": COLON,
            "candidate": before_value,
            "a_candidate": any_of(WORDS["candidate"]),
            "weak": any_of(weak),
            "stars": "",
            "of_top": "(?!)",
            "plain_nouns": any_of(["score", "option", "level"]),
            "result": any_of(MARKS["result"]),
            "letter": "(?-i:[A-Z])" if self.letters else "(?!)",
            "fill": rf"(?:\s+{any_of(WORDS['fill'])}){{0,7}}\s+",
            "join": rf"(?:\s*{any_of(WORDS['is'])}\s*:?\s*|{COLON})",
            "top": str(self.top) if self.numeric else "(?!)",
            "head": rf"(?:(?:{any_of([*WORDS['mine'], *WORDS['aspect']])}|{final}|{own})"
            r"[\s,]*){0,4}?",
            "named": rf"(?:{final}[\s,]*)*(?:{own}(?:\s*{any_of(WORDS['score'])})?"
            rf"|{any_of(strong)}(?:\s+{final})?{about})",
        }
        if self.numeric:
            parts["of_top"] = rf"{self.top}\s*(?:点満点\s*[中で]|점\s*만점\s*(?:에서?|중)?)\s*"
            parts["stars"] = rf"(?:[★☆⭐✅️]+\s*|{parts['of_top']})?"
        parts["slot"] = (
            OPEN + parts["stars"] + article + OPEN + before_value + OPEN + parts["value"]
        )
        return parts

    def index(self, words: str) -> int | None:
        """Return the index of the label that ``words`` mean, None if they are not a label.

        A whole number may also be written 3.0, 03 or three.
        """
        key = " ".join(fold(words).split())
        if self.numeric:
            if key in WORDS["numbers"]:
                key = str(WORDS["numbers"].index(key))
            elif key in WORDS["numerals"]:
                key = str(WORDS["numerals"].index(key) + 1)
            number = re.fullmatch(r"([-+]?[0-9]{1,9})(?:[.,]0+)?", key)
            if number is None:
                return None
            return next(
                (k for k, label in enumerate(self.folded) if int(label) == int(number[1])), None
            )
        if self.tie and key in WORDS["tie"]:
            return len(self.labels) - 1
        if self.folded.count(key) > 1:  # labels that differ only in their case
            written = words.strip()
            return self.labels.index(written) if written in self.labels else None
        return self.folded.index(key) if key in self.folded else None

    def objection(self, match: re.Match[str], *, strict: bool = False) -> str:
        """Say why a value is not a single label of this scale after all, or return "".

        The top of the scale, a unit and brackets that repeat the value may follow it. Then the line
        must end, or reasons may follow if it is not ``strict``.
        """
        if match[0].endswith(DECIDES):
            return "" if _DECIDED.match(match.string, match.end()) else NOT_SINGLE
        line = match.string[match.end("value") : match.end("value") + SPAN].split("\n")[0]
        opened = re.search(r"[\"“‘«]", match[0])
        if opened and re.match(r"[\s.)\]]*[\"”’»][\s,.]*[^\W\d]", line):
            return NO_FORM  # “Score: 5”, it says
        rest = re.sub(rf"(?i)^{SHUT}{UNIT}", "", line)
        if top := OUT_OF.match(rest):
            if not self.numeric or number_of(top[1]) != self.top:
                return OTHER_SCALE
            rest = rest[top.end() :]
        rest = re.sub(f"^{SHUT}", "", rest)
        if not re.search(rf"[\w%~+<>=/?^&{FRACTION}\ufffd–-]", rest):
            return ""
        if note := re.match(r"\s*[(\[]([^()\[\]]*)[)\]]?", rest):
            return self._objection_of_note(note[1], self.index(match["value"]))
        if not strict and re.match(r"\s*(?:[,;:–—→]|-\s|->)", rest):
            second = self.second.match(rest)
            if second is None or self.index(second["value"]) == self.index(match["value"]):
                return ""
            return NOT_SINGLE
        if self.kind == "choice" and (best := self.is_best.match(rest)):
            return "" if _DECIDED.match(rest, best.end()) else NOT_SINGLE
        if self.kind == "choice" and (other := self.beside.match(rest)):
            return "" if self.index(other["value"]) != self.index(match["value"]) else NOT_SINGLE
        if not strict and REASONS.match(rest):
            return ""
        return OTHER_SCALE if re.match(r"\s*(?:/|%|percent)", rest) else NOT_SINGLE

    def _objection_of_note(self, note: str, index: int | None) -> str:
        """Say why the words in brackets after a value object to it, or return "".

        "(maybe 4)" objects to 5, but "(2 slips)" does not.
        """
        if self.instead.fullmatch(note) or re.match(r"\s*(?:confidence|weight)\b", note, re.I):
            return ""  # (not B)
        if DOUBT.search(note):
            return NOT_SINGLE
        for value in self.within.finditer(note):
            counted = re.match(r"\s+[^\W\d]{3,}|\s+of\s+\d", note[value.end() :])
            part = re.search(r"\d\s+of\s+\Z", note[: value.start()])
            if self.index(value["value"]) != index and not counted and not part:
                return OTHER_SCALE if re.search(r"out\s+of|/\s*\Z", note) else NOT_SINGLE
        return ""

    def verdict(
        self, match: re.Match[str] | None, form: str, words: str = "", *, strict: bool = False
    ) -> Verdict:
        """Return what a form gives: one label, or an objection to the whole reply."""
        said = (words or (match[0] if match else "")).strip()
        if match is None or not match["value"]:
            return Verdict(None, said, form, NOT_SINGLE)
        index = self.index(match["value"])
        why = self.objection(match, strict=strict)
        if index is None:
            why = why or NOT_OFFERED
        around = match[0].replace(match["value"], "")
        return Verdict(
            None if why else index,
            said,
            form,
            why,
            final=FINAL.search(around) is not None,
            revised=REVISED.search(around) is not None,
            end=match.end("value"),
        )


@lru_cache(maxsize=512)
def grammar(
    labels: tuple[str, ...], kind: Kind = "score", nouns: tuple[str, ...] = (), tie: bool = False
) -> Grammar:
    """Return the grammar of these labels from the cache."""
    return Grammar(labels, kind, nouns, tie)
