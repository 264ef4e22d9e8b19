"""Read the verdict out of a judge's reply, only where a form says which words are the verdict.

Looking for numbers and leaving out the bad ones never ends: there is always another number that is
no score. So it is the other way round. ``forms.toml`` lists what may stand before, inside and
behind a verdict; "the maximum score is 5" is not read because *maximum* is no word that may stand
before *score*. All forms in a reply are collected. Two verdicts that differ are none, and a form
that holds no single label (3 or 4, 4 out of 10) is an objection to the whole reply. What has no
reading is unread, with the reason in words.

Scores, the scores of several criteria or responses, the choice between candidates and the labels
of a user's own prompt are values of the same forms.
"""

import ast
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import re2

from rubriclab.study.labels import fold
from rubriclab.study.own_words import CUT_MARK, FORMS, FRACTION, READ, Unread, own_words, plain

READER = 3
"""The version of this reader, kept with each judgment: raise it with every change of what is
read.
"""

Rule = Literal["score", "bare", "feedback", "pair", "list"]
"""What a reply was asked for: a score alone (of a list, or bare), feedback with [RESULT], the
best of two or of several.
"""
Kind = Literal["score", "choice"]

WORDS, KEYS, MARKS, PATTERNS = FORMS["words"], FORMS["json"], FORMS["marks"], FORMS["patterns"]
SHORT = 40
"""Characters of a reply whose reading is remembered: most replies of a study are the same few."""
SPAN = 240
"""Characters from the beginning of a form to its value, at most."""
MOST_PLACES = 400
"""Places at which a form may begin, and sentences with a value: a reply with more has no
reading.
"""
MOST_MARKS = 60
"""Brackets that are looked at: a reply with more has no reading."""
MOST_OBJECTS, MOST_REPAIRED = 50, 20_000
"""JSON objects that are looked at, and characters of those that are no strict JSON."""
DRESS = " \t\"'“”‘’«»()[]{}|*_~#"
"""What may surround a value that stands alone."""

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
class Reading:
    """What one reply says. ``label``: None where it is unread, ``why`` says then; ``words``:
    those that give the label, in plain letters; ``form``: which form they have.
    """

    label: str | None
    words: str = ""
    form: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One form in a reply. ``index``: of a label, None for what is no single one, ``why`` says
    then; ``final``: it calls itself final; ``revised``: it replaces an earlier one; ``end``:
    where its value ends in the text.
    """

    index: int | None
    words: str
    form: str
    why: str = ""
    final: bool = False
    revised: bool = False
    end: int = 0


# ---------------------------------------------------------------- the grammar


def any_of(words: Sequence[str]) -> str:
    """Return a pattern for one of ``words``, the longest first; as whole words, but in scripts
    without blanks.
    """

    def whole(word: str) -> str:
        before = r"(?<![^\W\d])" if _has_blanks(word[0]) else ""
        after = r"(?!\w)" if _has_blanks(word[-1]) else ""
        return before + re.escape(word) + after

    if not words:
        return "(?!)"
    return f"(?:{'|'.join(whole(word) for word in sorted(words, key=len, reverse=True))})"


def _has_blanks(letter: str) -> bool:
    """Whether a letter is of a script that puts blanks between words."""
    return letter.isalpha() and ord(letter) < 0x2E80


def spelled(words: str) -> str:
    """Return a pattern for a label or a name, however it is spaced; a sign must not run on into
    itself.
    """
    body = r"[\s_-]*".join(map(re.escape, words.split()))
    if words[-1].isalnum():
        return body
    return rf"(?<!{re.escape(words[0])}){body}(?!{re.escape(words[-1])})"


NUMERAL = r"(?<![一二三四五六七八九十百])[一二三四五六七八九十](?=\s*[分星点](?!钟))"
"""A number in Chinese signs, only before a unit: 一般 is no 1."""
NO_BLANKS = r"\u2e80-\u9fff\uac00-\ud7af"
"""Letters of scripts without blanks between words, where a value may stand beside any other
letter.
"""
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
"""What stands in an example for the judge's words."""
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
    """Return a scan by RE2, linear in any text, for words anywhere in it, and for values that
    look like those.
    """
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
    """Return the number that digits or a word are."""
    word = words.casefold()
    if word in WORDS["numerals"]:
        return int(WORDS["numerals"].index(word)) + 1
    return WORDS["numbers"].index(word) if word in WORDS["numbers"] else int(word)


# "Response A is better." says who is; "Response A is better written, but ..." does not.
_DECIDED = re.compile(
    r"(?i)\s*(?:overall|here|in\s+(?:my\s+(?:view|opinion)|general|total)|one|response|answer|choice)?\s*"
    r"(?:$|[.!;:)\]。，、]|,(?!\s*(?:but|yet|however|while)\b)|[–—-]\s|(?:because|since|as|than|als|que|over|due|for|of)\b)"
)


class Grammar:
    """The forms, filled with one set of labels. ``nouns``: what a verdict is called besides the
    usual words.

    ``tie``: the last label stands for a tie. Compiling one takes some 30 ms: ``grammar`` keeps
    them.
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
        """What stands for each ‹word› of a pattern."""
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
            named = any(_A_CANDIDATE.match(label) for label in self.folded)
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
        """Return the label that ``words`` are: whole numbers also as 3.0, 03 or three; None for
        none.
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
        if self.folded.count(key) > 1:  # labels that only their case tells apart
            written = words.strip()
            return self.labels.index(written) if written in self.labels else None
        return self.folded.index(key) if key in self.folded else None

    def objection(self, match: re.Match[str], *, strict: bool = False) -> str:
        """Say why what follows a value leaves it no single label of this scale; "" where it does.

        The scale's own top, a unit and brackets that repeat the value may follow, then an end or,
        not ``strict``, reasons.
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
        """Say why the words in a bracket behind a value leave it no single label: (maybe 4),
        but not (2 slips).
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
    """Return the grammar of these labels, made once."""
    return Grammar(labels, kind, nouns, tie)


# ---------------------------------------------------------------- the forms in a text


def in_words(text: str, form: Grammar, *, opens: bool) -> Iterator[Verdict]:
    """Yield every verdict that a form gives in a plain text; ``opens``: a reply may begin with
    the label and its reasons.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return
    yield from _ticked(text, form)
    yield from _alone(lines, form, len(text))
    yield from _one_row(lines, form, len(text))
    for tag in form.tags.finditer(text):
        if _echoed(text[max(0, tag.start() - SPAN) : tag.start()]):
            continue
        verdict = form.verdict(form.alone.match(tag[2].strip(DRESS)), "tag", tag[0])
        yield replace(verdict, end=tag.end())
    for tag in _TAG_VALUE.finditer(text):
        verdict = form.verdict(form.alone.match(tag[1]), "tag", tag[0], strict=True)
        yield replace(verdict, end=tag.end())
    if not form.numeric and len(lines) == 1 and (match := form.reply.search(lines[0][-SPAN:])):
        yield replace(form.verdict(match, "answer"), end=len(text))
    yield from _entries(text, form)
    if opens and (opening := _opening(lines, form)):
        yield opening
    yield from _sentences(text, form)
    if match := form.lead_in.search(lines[-1][-SPAN:]):
        yield replace(form.verdict(match, "conclusion"), end=len(text))


_TAG_VALUE = re.compile(
    r"(?i)<(?:score|rating|grade)\s+(?:value|score)=[\"']?([^\"'<>/]{1,20})[\"']?\s*/?>"
)


_UNTICKED = re.compile(r"\[ ?\]|\( ?\)|☐")
# A score of one aspect is the verdict only where the reply says nothing else.
_ASPECT = re.compile(any_of(WORDS["aspect"]), re.I)


def _ticked(text: str, form: Grammar) -> Iterator[Verdict]:
    """Yield the one option that is ticked beside others that are not, and stars of which so
    many are filled.
    """
    if _UNTICKED.search(text):
        for tick in re.finditer(r"(?:\[\s?[xX✓✔]\s?\]|\(\s?[xX]\s?\)|[☑☒✅])\s*(\S{1,40})", text):
            verdict = form.verdict(form.alone.match(tick[1].strip(DRESS)), "tick", tick[0])
            yield replace(verdict, end=len(text))
    for stars in re.finditer(
        r"^\W{0,12}?(?:(?:rating|score)\s*:\s*)?([★⭐]{1,12})(☆{0,12})\W*$", text, re.M | re.I
    ):
        if form.numeric and len(stars[1]) + len(stars[2]) == form.top:
            index = form.index(str(len(stars[1])))
            why = "" if index is not None else NOT_OFFERED
            yield Verdict(index, stars[0], "stars", why, end=stars.end())


def _alone(lines: Sequence[str], form: Grammar, end: int) -> Iterator[Verdict]:
    """Yield a value that is the whole first or last line; lines of different values object."""
    bare = {form.index(line.strip(DRESS + "-•.!。,;:")) for line in lines if len(line) <= SHORT}
    if any(_UNTICKED.search(line) for line in lines):
        return  # options to tick
    if len(bare - {None}) > 1:
        yield Verdict(None, "", "alone", TWO)
    for number in {0, len(lines) - 1}:
        if len(lines[number]) > SPAN or (number and _belongs_above(lines[number - 1], form)):
            continue
        line = re.sub(r"^(?:#+\s+|[\s>•|(\[=—–]+|-\s+)", "", lines[number])
        match = form.alone.match(line)
        if match and not form.objection(match, strict=True):
            yield replace(form.verdict(match, "alone"), end=end if number else len(lines[0]))


def _one_row(lines: Sequence[str], form: Grammar, end: int) -> Iterator[Verdict]:
    """Yield the cell of a table of one row under its one head that is a word for a score."""
    ruled = [line for line in lines if "|" in line and re.search(r"[^\s|]", line)]
    if len(ruled) != 3 or re.search(r"[^\s|:-]", ruled[1]):
        return  # a head, the rule below it and one row: else the first row is no head
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in ruled[::2]]
    if len(rows[0]) == len(rows[1]):
        columns = [k for k, cell in enumerate(rows[0]) if _column(cell) in WORDS["score"]]
        if len(columns) == 1:
            cell = form.alone.match(rows[1][columns[0]])
            yield replace(form.verdict(cell, "table", " | ".join(rows[1]), strict=True), end=end)


def _belongs_above(line: str, form: Grammar) -> bool:
    """Whether a line says what the value below it is, and that it is no verdict: "Errors
    found:", "## Weight".
    """
    heading = line.startswith("#") or line.rstrip(" *").endswith((":", "："))
    if not heading:
        return False
    if re.fullmatch(r"\W*(?:response|output|assistant)\W*", line, re.I):
        return False  # the name of a turn
    if QUOTED.search(line):
        return True
    return re.search(any_of([*form.nouns, *WORDS["final"]]), line, re.I) is None


def _entries(text: str, form: Grammar) -> Iterator[Verdict]:
    """Yield "Score: 4" and its like, at the beginning of a line or a sentence, or behind a
    colon.
    """
    nouns = [match.start() for match in form.noun.finditer(text)]
    values = [match.start() for match in form.mention.finditer(text)]
    if not nouns or not values:
        return
    seen: set[int] = set()
    tried = 0
    for place in PLACE.finditer(text):
        start = place.end()
        noun = bisect_left(nouns, start)
        if noun == len(nouns) or nouns[noun] > start + SPAN:
            continue
        value = bisect_left(values, nouns[noun])
        if value == len(values) or values[value] > start + SPAN:
            continue
        tried += 1
        if tried > MOST_PLACES:
            yield Verdict(None, "", "entry", TOO_MANY)
            return
        for pattern in form.entries:
            match = pattern.match(text, start, start + 2 * SPAN)
            if match is None or match.start("value") in seen:
                continue
            verdict = form.verdict(_whole(match, pattern, text), "entry")
            if _is_quoted(text, start, verdict):
                continue
            of_aspect = _ASPECT.search(verdict.words) and not form.names.search(verdict.words)
            if of_aspect and len(SENTENCE_END.split(text)) > 1:
                continue
            seen.add(match.start("value"))
            yield verdict


def _whole(match: re.Match[str], pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """Return the match again without the bound behind it, which could have cut a number."""
    return pattern.match(text, match.start()) or match


def _is_quoted(text: str, start: int, verdict: Verdict) -> bool:
    """Whether what stands before a form says that its verdict is somebody else's, an example,
    or none.
    """
    before = text[max(0, start - SPAN) : start]
    if before.endswith(", ") or before.endswith("> "):
        clause = re.split(r"[.;!?\n。！？]", before)[-1]
        if re.match(r"(?:so|therefore|thus|hence)\b", verdict.words, re.I):
            return CONDITION.search(clause) is not None
        return not verdict.final or CONDITION.search(clause) is not None
    if _echoed(before):
        return True
    if before.endswith("\n"):
        above = before.rstrip().rpartition("\n")[2]
        return above.endswith((":", "：")) and QUOTED.search(above) is not None
    if before.rstrip().endswith((":", ")", ",", "、", ";")):
        clause = re.split(r"[.;!?\n。！？]", before)[-1]
        return QUOTED.search(clause) is not None or HEDGE.search(clause) is not None
    return False


def _echoed(before: str) -> bool:
    """Whether the words before a form ask for it or call it an example: the prompt's own words."""
    near = before[-SPAN:]
    body = re.sub(r"\s*(?:`{3,}\s*\w*\s*)?[`\"'“‘]?\Z", "", near)
    line = body.rpartition("\n")[2]
    if "\n" in near[len(body) :] and not line.endswith((":", "：")):
        return False  # the line above says nothing of the form below it
    if EXAMPLE.search(line[-60:]):
        return True
    return INSTRUCTED.search(line) is not None and OWN.search(line) is None


def _opening(lines: Sequence[str], form: Grammar) -> Verdict | None:
    """Return the verdict of a reply that begins with it: "4. Because ...", and not the first
    entry of a list.
    """
    line = lines[0]
    match = form.opening.match(line)
    if match is None:
        return None
    after = line[match.end("value") : match.end("value") + SPAN]
    written = not form.letters or (match["value"].isupper() and not re.match(r"\s+[a-z]", after))
    listed = sum(LIST_NUMBER.match(line) is not None for line in lines) > 1
    if form.letters:
        places = re.findall(
            r"(?m)(?:^\W{0,4}|[.;]\s+\(?)([A-Z])(?:[.):]|\s+[-–—])\s", "\n".join(lines)
        )
        listed = listed or len(set(places)) > 1
    if re.match(r"[.)]\s", after) and match["value"] == "1":
        listed = True  # a list may have one entry
    if re.match(r"[.)]\s", after) and len(lines) > 1 and not re.search(r"[.!?。…]\W*$", line):
        listed = True  # "2. Evaluation" is a heading
    because = any_of(WORDS["opening_because"])
    top = rf"{SHUT}(?:{UNIT}\s*{any_of(WORDS['out_of'])}\s*\d+)?{SHUT}\s*"
    reasons = re.match(rf"(?i){top}(?:[.:)–—]\s|-\s|[。：，]|{because})", after)
    if reasons is None or not written or listed or form.objection(match):
        return None
    return replace(form.verdict(match, "opening"), end=match.end("value"))


def _sentences(text: str, form: Grammar) -> Iterator[Verdict]:
    """Yield what somebody gives in a sentence without a word of doubt, condition or another
    person around the form.
    """
    tried, end = 0, 0
    for sentence in SENTENCE_END.split(text):
        end = text.find(sentence, end) + len(sentence)
        sentence = DENIED.sub("", sentence)
        if len(sentence) > 2 * SPAN or not form.stem.search(sentence):
            continue
        if not form.within.search(sentence):
            continue
        tried += 1
        if tried > MOST_PLACES:
            yield Verdict(None, "", "sentence", TOO_MANY)
            return
        for pattern in form.sentences:
            for match in pattern.finditer(sentence):
                behind = sentence[match.end() :]
                top = OUT_OF.match(re.sub(rf"(?i)^{UNIT}", "", behind))
                if top and form.numeric and number_of(top[1]) == form.top:
                    behind = behind[behind.find(top[0]) + len(top[0]) :]
                around = f"{sentence[: match.start()]} {behind}"
                if form.kind == "choice":  # the other candidate of a comparison
                    around = form.beside.sub(" ", around)
                value = match["value"]
                written = not form.letters or len(value) > 1 or value.isupper()
                if not written or HEDGE.search(around):
                    continue
                verdict = form.verdict(match, "sentence")
                after = sentence[match.end("value") :]
                if verdict.index is None and _COUNTED.match(after):
                    continue  # "I give 2 reasons": a number of something
                yield replace(verdict, end=end - len(after))


_COUNTED = re.compile(r"\s+(?!(?:or|to|and|out|bis|oder|ou|bis)\b)[^\W\d]{3,}")


def in_brackets(text: str, form: Grammar) -> Iterator[Verdict]:
    """Yield [[A]] and [[A>B]] with nothing but an end behind, and a last line A > B: the first
    of a chain is the best.
    """
    yield from _ranking(text, form)
    start = 0
    for line in text.split("\n"):
        announcing = ANNOUNCED.search(line)
        for match in _BRACKETED.finditer(line):
            index = best_of(match[1], form)
            announced = announcing is not None and announcing.end() <= match.start()
            why = "" if index is not None else NOT_OFFERED
            end = start + match.end()
            clause = re.split(r"[.;!?]\s", line[max(0, match.start() - SPAN) : match.start()])[-1]
            if CONDITION.search(clause) or _DENIES.search(clause) or _echoed(clause):
                continue  # "I would have chosen [[B]]"
            yield Verdict(index, match[0], "brackets", why, final=announced, end=end)
        start += len(line) + 1
    before, _, last = text.rpartition("\n")[2].rpartition(":")
    if before and not re.search(r"(?i)\b(?:rank|order|best|worst)", before):
        last = ""
    last = last.strip(DRESS + ".")
    if len(last) <= SPAN and _CHAIN.fullmatch(last):
        index = best_of(last, form)
        why = "" if index is not None else NOT_SINGLE
        yield Verdict(index, last, "chain", why, end=len(text))


def _ranking(text: str, form: Grammar) -> Iterator[Verdict]:
    """Yield the first of a numbered list of nothing but different candidates."""
    listed = [_RANKED.fullmatch(line) for line in text.split("\n")]
    ranks = [(int(match[1]), form.index(match[2])) for match in listed if match]
    numbers, indices = [rank for rank, _ in ranks], [index for _, index in ranks]
    if len(ranks) < 2 or numbers != list(range(1, len(ranks) + 1)):
        return
    if None not in indices and len(set(indices)) == len(indices):
        yield Verdict(indices[0], f"1. {form.labels[indices[0] or 0]}", "ranking", end=len(text))


_DENIES = re.compile(r"\b(?:not|neither|nor|never|instead\s+of|rather\s+than)\W*\Z", re.I)
_RANKED = re.compile(rf"\W{{0,3}}([0-9])[.)]\s*{CANDIDATE}([A-Za-z])\W{{0,3}}")
CONDITION = re.compile(r"\b(?:if|had|would\s+have|unless|were)\b", re.I)
_BRACKETED = re.compile(
    r"(?<![\"“‘«])\[\[([^\[\]\n]{1,40})\]\]"
    r"(?=\s*(?:$|[.,;:!)\[(。，]|(?:or|and|because|since|as|is\s+better)\b))"
)
_A_CANDIDATE = re.compile(any_of(WORDS["candidate"]), re.I)
_CHAIN = re.compile(rf"{CANDIDATE}[A-Za-z](?:\s*[<>=]+\s*{CANDIDATE}[A-Za-z])+")


def best_of(words: str, form: Grammar) -> int | None:
    """Return the label that a chain such as "A > C > B" puts first, a tie for "A = B"; None for
    what is no such chain.
    """
    two = form.folded[:-1] == ["a", "b"] and form.folded[-1] != "c"
    if form.tie and two and words.strip() == "C":
        return 2  # the usual prompt's mark of a tie between A and B
    names = re.split(r"\s*([<>=]+)\s*", _A_CANDIDATE.sub("", words))
    signs = {sign[0] for sign in names[1::2]}
    if any(form.index(name) is None for name in names[::2]) or len(signs) > 1:
        return None
    if signs == {"="}:
        return len(form.labels) - 1 if form.tie else None
    return form.index(names[-1] if signs == {"<"} else names[0])


# ---------------------------------------------------------------- JSON by its keys


ASPECT_KEYS = [
    f"{aspect.replace(' ', '_')}_{noun}"
    for aspect in WORDS["aspect"]
    for noun in ("score", "rating")
]


class _Twice(list[Any]):
    """The different values of a key that stands twice in one object: no value at all."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out and out[key] != value:
            value = _Twice([out[key], value])
        out[key] = value
    return out


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_pairs)


def objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """Return the outermost JSON objects of an answer and the rest of it. Raises Unread for one
    that does not end.
    """
    objects: list[dict[str, Any]] = []
    rest, position, budget = [], 0, MOST_REPAIRED
    last = text.rfind("}") + 1
    for _ in range(MOST_OBJECTS):
        start = text.find("{", position)
        if start < 0:
            break
        value, end = None, last
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            body = text[start:last]
            if 0 < len(body) <= budget:
                budget -= len(body)
                value = _repaired(body)
        if isinstance(value, dict):
            example = _echoed(text[position:start]) or any(
                PLACEHOLDER.fullmatch(part) for part in _strings(value)
            )
            if not example:
                objects.append(value)
            rest.append(text[position:start])
            position = end
            continue
        begun = re.match(r"\{\s*(?:[\"']|$)", text[start : start + 80])
        if begun and text.count("{", start) > text.count("}", start):
            raise Unread(OPEN_JSON)
        rest.append(text[position : start + 1])
        position = start + 1
    return objects, "".join(rest) + text[position:]


def _repaired(body: str) -> Any:
    """Return the value of JSON as judges write it, with single quotes, a last comma, remarks;
    None for what is none.
    """
    body = re.sub(r"(?m)\s//[^\n\"]*$", "", body)
    body = re.sub(r",\s*([}\]])", r"\1", body)
    with suppress(ValueError, RecursionError):
        return _DECODER.decode(body)
    if body.count("{") > 20:
        return None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        tree = ast.parse(body, mode="eval").body
        keys = [getattr(key, "value", None) for key in getattr(tree, "keys", [])]
        return ast.literal_eval(tree) if len(keys) == len(set(keys)) else None
    return None


def by_key(value: Any, keys: Sequence[str]) -> Iterator[Any]:
    """Yield what stands under one of ``keys``, at any depth."""
    if isinstance(value, list):
        for part in value:
            yield from by_key(part, keys)
    elif isinstance(value, dict):
        for key, part in value.items():
            named = re.sub(r"[\s-]", "_", fold(str(key))) in keys
            if named and isinstance(part, list) and len(part) == 1:
                part = part[0]
            if named and not isinstance(part, dict):
                yield part
            elif fold(str(key)) not in KEYS["limit"]:
                yield from by_key(part, keys)


def in_json(value: Any, form: Grammar, nouns: Sequence[str] = ()) -> list[Verdict]:
    """Return the verdicts under the keys that say so; under vague keys only where no other one
    has a value.
    """
    strong = [
        *KEYS["final"],
        *KEYS[form.kind],
        *ASPECT_KEYS,
        *(re.sub(r"[\s-]", "_", noun) for noun in nouns),
    ]
    given = [_keyed(part, form) for part in by_key(value, strong)]
    if given:
        return given
    vague = [_keyed(part, form) for part in by_key(value, KEYS["weak"])]
    if any(verdict.index is not None for verdict in vague):  # "verdict": "a good text" is none
        return [v for v in vague if v.index is not None or form.within.search(v.words)]
    return vague


def _keyed(value: Any, form: Grammar) -> Verdict:
    words = "" if isinstance(value, bool | list | dict | None) else plain(str(value), form.kept)
    match = form.alone.match(words.strip(DRESS))
    return form.verdict(match, "json", words or str(value)[:SHORT])


# ---------------------------------------------------------------- one verdict


def read_one(
    text: str,
    labels: Sequence[str],
    rule: Rule = "score",
    *,
    names: Sequence[str] = (),
    tie: bool = False,
    brief: bool = True,
) -> Reading:
    """Read one label out of a reply. It never raises for what a judge wrote.

    ``labels``: as they were shown, a tie's last where ``tie``; ``names``: what a verdict may be
    called besides the usual words, as its criterion; ``brief``: a comparison asked for the letter
    alone, so a reply may open with it.
    """
    kind: Kind = "choice" if rule in ("pair", "list") else "score"
    known = tuple(labels) if kind == "choice" else tuple(sorted(labels))
    nouns = tuple(fold(name) for name in names if name.strip())
    if len(text) <= SHORT:
        return _read_short(text, known, rule, kind, nouns, tie, brief)
    return _read(text, known, rule, kind, nouns, tie, brief)


def _read(
    text: str,
    labels: tuple[str, ...],
    rule: Rule,
    kind: Kind,
    nouns: tuple[str, ...],
    tie: bool,
    brief: bool,
) -> Reading:
    form = grammar(labels, kind, nouns, tie)
    if len(text) <= SHORT and (match := form.short.match(text)):  # most replies: the value alone
        index = form.index(match["value"])
        if index is not None:
            return Reading(labels[index], text.strip(), "alone")
    try:
        said = own_words(text)
        verdict = _verdict(said, form, nouns, rule, brief)
    except Unread as reason:
        return Reading(None, why=str(reason))
    assert verdict.index is not None
    return Reading(labels[verdict.index], verdict.words, verdict.form)


_read_short = lru_cache(maxsize=8_192)(_read)


def _verdict(said: str, form: Grammar, nouns: Sequence[str], rule: Rule, brief: bool) -> Verdict:
    """Return the one verdict of a judge's own words. Raises Unread."""
    values, rest = objects(said) if "{" in said else ([], said)
    body = plain(rest, form.kept)
    keyed = in_json(values, form, nouns)
    if keyed:
        verdict = agreed(keyed, form)
        if form.numeric and any(_other_top(top, form) for top in by_key(values, KEYS["top"])):
            raise Unread(OTHER_SCALE)
        if body.strip(DRESS + "\n.,:"):
            _refuse_others(verdict, in_words(body, form, opens=False))
            behind = plain(said.rpartition("}")[2], form.kept)
            _refuse_retraction(replace(verdict, end=0), behind, form)
        return verdict
    if values and (asked := _marked(plain("\n".join(_strings(values)), form.kept), form)):
        return agreed(asked, form)  # {"reason": "... so [[A]]"}
    if not body or body == CUT_MARK.strip():
        raise Unread(NO_FORM if values else EMPTY)
    if not form.mention.search(body) and not form.marks.search(body):
        raise Unread(LONG if body.startswith(CUT_MARK) else NO_FORM)
    asked = _marked(body, form)
    if asked and (rule == "feedback" or form.kind == "choice"):
        verdict = agreed(asked, form)  # the form that the prompt asked for decides alone
        if rule == "feedback":
            _refuse_others(verdict, in_words(body[verdict.end :] or " ", form, opens=False))
    else:
        opens = rule in ("score", "bare") or (form.kind == "choice" and brief)
        named = [replace(line, end=0) for _, line in _in_lines(body, nouns, form)] if nouns else []
        verdict = agreed([*asked, *named, *in_words(body, form, opens=opens)], form, body)
    if form.numeric and _names_other_scale(body, form):
        raise Unread(OTHER_SCALE)
    _refuse_retraction(verdict, body, form)
    return verdict


def agreed(given: Sequence[Verdict], form: Grammar, body: str = "") -> Verdict:
    """Return the one verdict that all give. Raises Unread.

    In comparisons those that are announced decide, if the last one is. A verdict that calls itself
    revised stands in place of those before it.
    """
    if not given:
        raise Unread(LONG if body.startswith(CUT_MARK) else NO_FORM)
    chosen = list(given)
    if form.kind == "choice" and given[-1].final:
        chosen = [verdict for verdict in given if verdict.final]
    last = max(given, key=lambda verdict: verdict.end)
    if form.kind == "score" and last.revised:
        chosen = [verdict for verdict in given if verdict.revised]
    if len({verdict.index for verdict in chosen}) > 1:
        objections = {verdict.why for verdict in chosen} - {""}
        raise Unread(objections.pop() if len(objections) == 1 else TWO)
    if chosen[0].index is None:
        raise Unread(chosen[0].why)
    return chosen[-1]


def _marked(body: str, form: Grammar) -> list[Verdict]:
    """Return the verdicts in the brackets that a prompt asks for: [RESULT], and [[A]] of
    comparisons.
    """
    if not body:
        return []
    if body.count("[") > 2 * MOST_MARKS:
        raise Unread(TOO_MANY)
    asked = [
        form.verdict(match, "mark")
        for match in form.marks.finditer(body)
        if not _echoed(body[max(0, match.start() - SPAN) : match.start()])
    ]
    return [*asked, *in_brackets(body, form)] if form.kind == "choice" else asked


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in JSON, at any depth."""
    if isinstance(value, str):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _strings(part)


_SCALE_NAMED = re.compile(
    r"(?:scale|skala|échelle|escala)\s*:?\s*(?:of|from|von|de|del)?\s*"
    r"(?:[01]\s*(?:\([^)\n]{0,20}\)\s*)?(?:to|-|–|bis|à|al?)\s*)?([0-9]{1,3})\b(?!-|\s*\()"
    r"|\b[01]\s*(?:to|-|–)\s*([0-9]{1,3})(?:\s+|-)(?:point\s+)?scale|\b([0-9]{1,3})-point\s+scale",
    re.I,
)


def _other_top(value: Any, form: Grammar) -> bool:
    """Whether what JSON says of its scale's top is another top than that of the labels:
    "max_score": 10.
    """
    numbers = re.findall(r"[0-9]{1,9}", str(value))
    return bool(numbers) and int(numbers[-1]) != form.top


def _names_other_scale(body: str, form: Grammar) -> bool:
    """Whether a reply says that it uses a scale with another top: "Score: 4 (on a 1-10 scale)"."""
    tops = (next(filter(None, match.groups())) for match in _SCALE_NAMED.finditer(body))
    return any(int(top) != form.top for top in tops)


def _refuse_others(verdict: Verdict, others: Iterator[Verdict]) -> None:
    """Raises Unread where words beside the form that decides give another label."""
    if any(other.index not in (None, verdict.index) for other in others):
        raise Unread(TWO)


def _refuse_retraction(verdict: Verdict, body: str, form: Grammar) -> None:
    """Raises Unread where a judge goes back on its verdict behind it."""
    after = body[verdict.end :]
    if RETRACT.search(after) or DOUBTED.search(after):
        raise Unread(TAKEN_BACK)
    for match in CORRECT.finditer(after):
        near = after[match.end() : match.end() + 60].split("\n")[0]
        named = {form.index(value["value"]) for value in form.within.finditer(near)}
        if form.letters:
            named = {form.index(word) for word in re.findall(r"\b[A-Z]\b", near)}
        if named - {None, verdict.index}:
            raise Unread(TAKEN_BACK)


# ---------------------------------------------------------------- a verdict for each name


def read_each(text: str, labels: Sequence[str], names: Sequence[str]) -> dict[str, Reading]:
    """Read the label that a reply gives to each of ``names``: criteria, or responses that one call
    showed.

    A name's label stands under its key in JSON, in the one column of a table that says so, on a
    line or in a tag that begins with the name, or on a labelled line below it. Two that differ
    cost that name alone.
    """
    form = grammar(tuple(sorted(labels)))
    try:
        values, rest = objects(own_words(text))
    except Unread as reason:
        return {name: Reading(None, why=str(reason)) for name in names}
    body = plain(rest, form.kept)
    given = {name: _recorded(values, name, form) for name in names}
    for name, verdict in (*_in_lines(body, names, form), *_in_table(body, names, form)):
        given[name].append(verdict)
    ends = [
        body.rfind(verdict.words) + len(verdict.words)
        for verdicts in given.values()
        for verdict in verdicts
        if verdict.words in body
    ]
    behind = body[max([body.rfind("|") + 1, *ends]) :]
    taken_back = RETRACT.search(behind) is not None
    out = {}
    for name in names:
        try:
            verdict = agreed(given[name], form, body)
            if taken_back:
                raise Unread(TAKEN_BACK)
        except Unread as reason:
            out[name] = Reading(None, why=str(reason))
            continue
        assert verdict.index is not None
        out[name] = Reading(form.labels[verdict.index], verdict.words, verdict.form)
    return out


def _letters(words: Any) -> str:
    """How names are compared: letters and digits only, no case."""
    return "".join(filter(str.isalnum, fold(str(words))))


def _recorded(values: Sequence[Any], name: str, form: Grammar) -> list[Verdict]:
    """Return what JSON says about a name: under its key, or in the record that names it."""
    given: list[Verdict] = []
    for value in values:
        for record in _records(value, _letters(name)):
            given += in_json(record if isinstance(record, dict) else {"score": record}, form)
    return given


def _records(value: Any, key: str) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _records(part, key)
    elif isinstance(value, dict):
        if any(fold(str(k)) in KEYS["name"] and _letters(v) == key for k, v in value.items()):
            yield value
            return
        for k, part in value.items():
            if _letters(k) in (key, f"{key}score", f"{key}rating"):
                yield part
            elif fold(str(k)) not in KEYS["limit"]:
                yield from _records(part, key)


@lru_cache(maxsize=256)
def _name_patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return what finds a name that begins a line, where a further entry begins within one, and
    "NAME gets a".
    """

    def letters(name: str) -> str:
        runs = re.findall(r"[^\W_]+|[\u2e80-\u9fff\uac00-\ud7af]", fold(name))
        return r"[\s_/&,.'()-]{0,3}".join(map(re.escape, runs)) or re.escape(name)

    ordered = sorted(names, key=len, reverse=True)
    listed = "|".join(f"(?P<n{names.index(name)}>{letters(name)})" for name in ordered)
    bare = "|".join(map(letters, ordered))
    lead = (
        r"[\s>#•|*-]{0,6}(?:\(?\d+[.):]\s*)?(?:\[?criterion\]?\s*\d*\s*:?\s*)?[\[(\"'“‘«*]{0,3}"
        r"(?:(?:my|the|final|your)\s+){0,2}(?:(?:score|rating|grade)\s+(?:for|of|on)\s+)?(?:the\s+)?"
    )
    described = r"(?:\s*[:(][^\])\d\n]{0,80}(?=[\])]))?"
    begins = rf"(?i){lead}(?:{listed})(?![^\W_]){described}[\])\"'”’»*]{{0,3}}"
    further = (
        r"(?i)(?<=[\d)\]/])\s*(?:[,;|/]|,?\s+and\b)?\s*"
        rf"(?=[\[(\"'“]?(?:the\s+)?(?:{bare})(?![^\W_]))"
    )
    gets = rf"(?i)(?<!\w)(?:{listed})\s+(?:gets|earns|deserves|receives)\s+(?:an?\s+)?(?=[-+\w])"
    return re.compile(begins), re.compile(further), re.compile(gets)


def _in_lines(body: str, names: Sequence[str], form: Grammar) -> Iterator[tuple[str, Verdict]]:
    """Yield (name, verdict) of lines and tags that begin with a name, and of labelled lines
    below it.
    """
    begins, further, gets = _name_patterns(tuple(names))
    section = ""
    heading = limits = False
    for line in further.sub("\n", body).split("\n"):
        if line.count("|") > 1:
            continue  # a row of a table
        match = begins.match(line)
        if match is None and (line.startswith("#") or ":" in line or "：" in line):
            limits = LIMITS.match(line) is not None
        if limits:
            continue  # "Maximum points:" and what stands below it
        if match is None:
            alone = form.alone.match(line.strip(DRESS + "-•.。,;:"))
            if section and heading and alone and not form.objection(alone, strict=True):
                yield section, form.verdict(alone, "line")
            elif section and (entry := _entry(line, form)):
                if not entry.final:
                    yield section, entry
            elif line.startswith("#"):
                section = ""
            heading = False
            continue
        name = next(names[int(group[1:])] for group, found in match.groupdict().items() if found)
        rest = line[match.end() :]
        section, heading = name, not rest.strip(" :：-–—=")
        if heading:
            continue
        if verdict := _named(rest, form):
            yield name, verdict
    for match in gets.finditer(body):
        start = max(body.rfind(sign, 0, match.start()) for sign in (*".;!?\n", ", so ")) + 1
        if not HEDGE.search(body[start : match.start()]):
            name = next(names[int(key[1:])] for key, part in match.groupdict().items() if part)
            value = form.opening.match(body[match.end() :])
            yield name, form.verdict(value, "sentence", match[0])
    for tag in _NAMED_TAG.finditer(body):
        for name in names:
            if _letters(tag[1]) == _letters(name):
                yield name, form.verdict(form.alone.match(tag[3].strip(DRESS)), "tag", tag[0])
    for tag in _TAG.finditer(body):
        for name in names:
            if _letters(tag[1]) == _letters(name):
                yield name, form.verdict(form.alone.match(tag[2].strip(DRESS)), "tag", tag[0])


LIMITS = re.compile(rf"[\W\d]*(?:the\s+)?{any_of(WORDS['limit'])}[^:：\n]{{0,30}}(?:[:：]|$)", re.I)
_NAMED_TAG = re.compile(
    r"(?i)<\w+\s+(?:name|id)=[\"']([^\"'<>]{1,80})[\"'][^<>]{0,80}>\s*"
    r"<(score|rating|grade)>\s*([^<>]{1,60}?)\s*</\2>"
)
_TAG = re.compile(r"<([^<>/\n]{1,80})>\s*([^<>]{1,60}?)\s*</\1\s*>")


def _named(rest: str, form: Grammar) -> Verdict | None:
    """Return the verdict of a line behind its name: it reads as if it began with "Score"."""
    share = re.match(r"\s*[(\[]\s*(\d+\s*/\s*\d+)\s*[)\]]\s*[.:]?\s*$", rest)
    if share:
        rest = f": {share[1]}"
    rest = re.sub(rf"(?i)^\s*(?:[:–—-]\s*)?(?:{any_of(WORDS['score'])})", "", rest)
    if re.match(r"[\s\])]*[-+]?\d", rest) or (rest.startswith((" ", "]")) and _bare(rest, form)):
        rest = f": {rest.lstrip(' ])')}"
    return _entry(f"Score{rest}", form)


def _bare(rest: str, form: Grammar) -> bool:
    match = form.alone.match(rest.strip(DRESS + ".:"))
    return match is not None and not form.objection(match, strict=True)


def _entry(line: str, form: Grammar) -> Verdict | None:
    match = form.entries[0].match(line)
    return None if match is None else form.verdict(match, "line", line[: match.end("value")])


def _in_table(body: str, names: Sequence[str], form: Grammar) -> Iterator[tuple[str, Verdict]]:
    """Yield the cell in a name's row under the one head that is a word for a score; without a
    head, the only cell.
    """
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in body.split("\n")
        if line.count("|") > 1
    ]
    if not rows:
        return
    head = rows[0]
    if any(form.opening.match(cell) for cell in head[1:]):
        head = []
    scores = [*WORDS["score"], *WORDS["final"], "points"]
    columns = [k for k, cell in enumerate(head) if _column(cell) in scores]
    for name in names:
        key = _letters(name)
        across = [k for k, cell in enumerate(head) if _letters(cell) == key]
        for row in rows:
            if across and _column(row[0]) in WORDS["score"]:
                place = across[0]
            elif _letters(row[0]) != key:
                continue
            elif len(columns) == 1:
                place = columns[0]
            elif len(row) == 2 and not head:
                place = 1
            else:
                continue
            cell = row[place] if place < len(row) else ""
            yield name, form.verdict(form.alone.match(cell), "table", " | ".join(row), strict=True)


def _column(cell: str) -> str:
    """What a head of a table says, without its scale: "Score (1-5)" is "score"."""
    return re.sub(r"\s*[(\[][\d\s/–-]*(?:out of \d+)?[)\]]$", "", fold(cell))
