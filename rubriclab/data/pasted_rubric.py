"""Read a rubric from pasted text: one line per score, below the name of what is judged.

A word of the user's own may come before the scores, if it is the same before all of them.

A line counts only if its form says what it is. A band of scores, a step, a letter grade or any
other form is refused with its line: a wrong level would be in every judge prompt.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import Any

from rubriclab.data.level_words import look_of, may_name_scores, split_word
from rubriclab.model.text import LabError, shorten, without_invisible

EXAMPLE = "for example “5: Convincing, weighs the other side”"
BULLET = re.compile(r"(?:[\s*•‣◦☐☑✓]|-(?![\d−])|[–—](?=\s))*")
"""Bullets before a line. A hyphen directly before a digit is a minus instead."""
BOLD = re.compile(r"(\*\*|__)(\S(?:.*?\S)?)\1")
QUOTED = re.compile(r"^\s*> ?", re.M)
SCALE = re.compile(r"(?:score\s+)?(?:range|scale)\s*[:：]", re.I)
WORD = r"(?:(?:score|level|rating|grade|option)\s+)?"
UNIT = (
    r"(?:\s*(?:points?|pts?|stars?|punkte?|puntos?|sterne?|étoiles?|estrellas?|punt[io]|pontos?"
    r"|балл(?:а|ов)?|分|点|星|점)(?!\w))?"
)
SEPARATOR = r"(?:\s*(?:=>|->|→|[=:：|)\t–—])+|\s*[.-](?=\s|$))"
MARKS = r"[*_]{0,6}"
"""What is left of bold and italics. Bounded: endless signs would be tried in endless ways."""
ENTRY = re.compile(
    rf"{WORD}(?P<score>-?\d{{1,3}}){MARKS}{UNIT}{MARKS}\s*(?:\((?P<label>[^)]*)\))?{MARKS}"
    rf"(?P<separator>{SEPARATOR}){MARKS}(?P<text>.*)",
    re.I | re.S,
)
LABEL_ALONE = re.compile(rf"{WORD}(?P<score>-?\d{{1,3}}){MARKS}{UNIT}\s*\((?P<label>[^)]+)\)", re.I)
"""“5 (Excellent)”."""
HEADING_NUMBER = re.compile(r"\d{1,2}[.)]\s+(?=\S)")
NUMBER = r"[-+−]?\d+(?:[.,]\d+)?\s*%?"
JOINED = r"\s*(?:[-–—~/,&]|\.{2,}|…|to|through|until|or|and|bis|oder|und|à|a|y|o)\s*"
BAND = re.compile(
    rf"{WORD}{NUMBER}{UNIT}{JOINED}{NUMBER}{UNIT}\s*(?:\([^)]*\))?[*_]*{SEPARATOR}", re.I
)
UNCLEAR_BAND = re.compile(r"-?\d+\s+[-–—]\s+\d", re.I)
"""“2 - 3 errors”: the scores 2 to 3, or the score 2 for three errors."""
BOUND = re.compile(
    rf"{WORD}(?:[<>≤≥≈~]=?\s*\d|(?:up to|at least|at most|below|above|under|over|less than"
    rf"|more than|from)"
    rf"\s+{NUMBER}|\d+\s*\+|\d+{UNIT}\s*(?:or|and)\s+(?:more|less|above|below|higher|lower|fewer"
    rf"|up)\b)",
    re.I,
)
FRACTION = re.compile(rf"{WORD}(-?(?:\d+[.,]\d+|\d*[½¼¾]|\d+/\d+)|-?\d{{4,}})", re.I)
PERCENT = re.compile(rf"{WORD}{NUMBER}(?<=%)", re.I)
NOT_APPLICABLE = re.compile(
    r"(?:n\s*[/.]?\s*a\.?|not applicable|none|null|unknown|[?✗x-])\s*[=:：|]", re.I
)
LETTER = re.compile(r"(?:grade\s+[A-Fa-f][+-]?(?!\w)|[A-F][+-]?\s*[=:：|).](?:\s|$))", re.I)
ROMAN = re.compile(r"(?:level\s+)?(?=[IVX])(?:X{0,2}(?:IX|IV|V?I{0,3}))\s*[=:：|).–—-](?:\s|$)")
STARS = re.compile(r"[★☆⭐🌟]+")
STEP = re.compile(
    r"(?:first,?\s+|then\s+|finally,?\s+)?(?:read|check|compare|assess|evaluate|identify|assign"
    r"|give|rate|score"
    r"|determine|consider|look|write|decide|think|review|analy[sz]e|count|add|award|deduct"
    r"|subtract|start|begin"
    r"|provide|output|list|verify|examine|judge|answer|return|use|make|ask|take|lies|lesen|prüfe"
    r"|prüfen|vergib"
    r"|lee|compara|asigna|lis|lisez)\b",
    re.I,
)
"""How steps of an instruction begin. Levels describe an answer; steps say what to do."""
CRITERION = re.compile(
    r"(?P<before>[^\W\d_]+\s+)?(?:accuracy|adequacy|clarity|coherence|completeness|conciseness|consistency"
    r"|content|correctness|creativity|depth|empathy|engagement|factuality|faithfulness|fluency"
    r"|grammar|groundedness|harmlessness|helpfulness|honesty|informativeness|naturalness"
    r"|organi[sz]ation|originality|readability|relevance|safety|structure|style|tone|toxicity"
    r"|truthfulness|usefulness|verbosity)\s*(?:[:：–—-]|\(|$)",
    re.I,
)
"""A usual name of what is judged, alone or before its explanation."""
NOUN = re.compile(r"(?:answer|score|use|lies|list|review|return|count|look|judge)\b", re.I)
"""Verbs of steps that are nouns too: “Answer is wrong” describes an answer."""
REMARK = re.compile(
    r"(?:see|be|please|remember|ignore|keep in mind|do not|don['’]t|siehe|vgl|bitte|beachten?"
    r"|voir|véase|ver)\b",
    re.I,
)
"""How remarks to the judge or to the reader begin."""
NOTE = re.compile(r"(?:note|remark|hint|important|hinweis|anmerkung|wichtig)\s*[:：]\s*", re.I)
SECOND = re.compile(
    rf"(?:(?:[,;|/…→]|\.{{2,}}|\s[-–—])\s*|(?<=\s))[-+−]?\d{{1,3}}{UNIT}\s*[=:：]\s*[^\d\s]",
    re.I,
)
"""A second score behind the first in one line."""
NAMED = re.compile(
    r"(?:name|criterion|rubric|title|dimension|aspect)(?:\s+\d+)?\s*[:：]\s*(?=\S)", re.I
)
ABOUT = re.compile(r"(?:description|definition|question)\s*[:：]\s*(?=\S)", re.I)
SHORT_NAME = re.compile(r"\W*(?:[^\s:：=|]+\s?){1,3}[=:：|](?:\s|$)")
"""A few words and a colon: what no continuation of a description begins with."""
WEIGHT = re.compile(r"weight\w*\b", re.I)
RULE = re.compile(r"[-*_=─\s]{3,}")
TABLE_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
SCORES = {"score", "scores", "points", "level", "rating", "grade", "value"}
TEXTS = {"description", "meaning", "text", "criteria", "definition", "explanation", "anchor"}
LABELS = {"label", "name"}
MOST_NAMED = 5
"""Missing scores that a refusal lists: a reader sees the kind from a few."""


@dataclass
class _Line:
    """One line of the text.

    plain: the line without the bullet before it
    heading: its ``#`` signs
    """

    number: int
    raw: str
    plain: str
    heading: str = ""

    def refused(self, words: str) -> LabError:
        return LabError(f"Line {self.number:,}, “{shorten(self.raw)}”: {words}")


@dataclass
class _Criterion:
    head: list[_Line] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)
    numbered: _Line | None = None
    """The first line with a score written as in a numbered list, “1.”."""
    marked: _Line | None = None
    """The first line with a score before another sign, “1:”."""

    def mark(self, line: _Line, entry: dict[str, Any]) -> None:
        """Raise LabError for a step, and for a numbered line among scores: it may be a heading."""
        if entry.pop("separator") not in (".", ")"):
            self.marked = self.marked or line
        else:
            _refuse_step(line, entry["description"])
            self.numbered = self.numbered or line
        if self.numbered is not None and self.marked is not None:
            other = f"line {self.marked.number:,} has a score as “{shorten(self.marked.plain, 30)}”"
            raise self.numbered.refused(
                f"this is numbered, but {other}. Write headings without a number, and one score "
                f"per line, {EXAMPLE}."
            )


def criteria_of_text(text: str) -> list[dict[str, Any]]:
    """Return the criteria of a pasted text as plain values: name, description, options.

    Raises LabError naming the line and its text for each form that is not understood.
    """
    lines = [*_lines(text)]
    whole = [line for line in lines if line.plain]
    table = _table(whole)
    if table is not None:
        return [table]
    word = _word_before_scores(whole)
    if word:
        lines = [_without_word(line, word) for line in lines]
        whole = [line for line in lines if line.plain]
    _refuse_headings_that_may_be_scores(whole)
    _refuse_fractions(whole)
    criteria = _criteria(lines, whole)
    _refuse_numbered_criteria(whole)
    if not any(criterion.options for criterion in criteria):
        raise LabError(f"No scores found. Write one score per line, {EXAMPLE}.{_nearest(whole)}")
    for criterion in criteria:
        if not criterion.options:
            raise criterion.head[0].refused(
                "no score follows. Put the name of what is judged above its scores, or leave this "
                "line out."
            )
        _refuse_score_as_name(criterion)
        if word:
            _require_whole_scale(criterion, word)
    return [_values(criterion, k) for k, criterion in enumerate(criteria, 1)]


def word_before_scores(text: str) -> str:
    """Return the word of the user's own before all scores of a pasted text; empty for none.

    Raises LabError like ``criteria_of_text``.
    """
    whole = [line for line in _lines(text) if line.plain]
    return "" if _table(whole) is not None else _word_before_scores(whole)


def _criteria(lines: list[_Line], whole: list[_Line]) -> list[_Criterion]:
    """Return the criteria of the lines, of which ``whole`` are those with a text."""
    criteria: list[_Criterion] = []
    current, blank = _Criterion(), False
    for line in lines:
        if not line.plain:
            blank = True
            continue
        entry = None if line.heading and _plain_entries(whole) else _entry(line)
        if entry is not None:
            current.mark(line, entry)
            current.options.append(entry)
        elif current.options and (line.heading or (blank and line.raw[:1] not in " \t")):
            criteria.append(current)
            current = _Criterion(head=[_head(line, first=True)])
        elif current.options:
            _add(current.options[-1], line)
        else:
            current.head.append(_head(line, first=not current.head))
        blank = False
    criteria.append(current)
    return criteria


def _nearest(lines: list[_Line]) -> str:
    """Name the line of a text without scores that is most like one: with a number, or a colon."""
    for sign in (r"\d", r"[:：]"):
        for line in lines:
            if re.search(sign, line.plain):
                return f" Line {line.number:,}, “{shorten(line.plain, 80)}”, came nearest."
    return ""


def _lines(text: str) -> Iterator[_Line]:
    text = dedent(without_invisible("\n".join(text.splitlines())))
    if all(line.lstrip().startswith(">") for line in text.split("\n") if line.strip()):
        text = QUOTED.sub("", text)
    for number, raw in enumerate(text.split("\n"), 1):
        bare = raw.strip()
        if RULE.fullmatch(bare) or bare.startswith("```"):
            bare = ""
        hashes = bare[: len(bare) - len(bare.lstrip("#"))]
        plain = BULLET.sub("", BOLD.sub(r"\2", bare[len(hashes) :]), count=1)
        plain = plain.replace("−", "-")
        yield _Line(number, raw, plain.strip() if bare else "", hashes)


def _score_of(plain: str) -> int | None:
    """Return the score that a line begins with; None for a line of another form."""
    if re.match(r"\d{1,3}:\d", plain):  # a time or a ratio
        return None
    found = ENTRY.fullmatch(plain) or LABEL_ALONE.fullmatch(plain)
    return int(found["score"]) if found is not None else None


def _worded(line: _Line) -> tuple[str, int] | None:
    """Return the word and the score that a line begins with, as “Note 1: …”; None without."""
    parts = split_word(line.plain)
    score = _score_of(parts[1]) if parts is not None and _score_of(line.plain) is None else None
    return None if parts is None or score is None else (parts[0], score)


def _may_name_scores(word: str) -> bool:
    is_step = STEP.match(word) is not None and not word.casefold().startswith("score")
    return may_name_scores(word) and not is_step


def _word_before_scores(lines: list[_Line]) -> str:
    """Return the word that is before every score; empty if scores have no word of their own.

    Raises LabError if the words before numbers name no scores, or if there are several.
    """
    for line in lines:
        is_numbered_heading = line.heading and HEADING_NUMBER.match(line.plain)
        if _score_of(line.plain) is not None and not is_numbered_heading:
            return ""
    words = [(line, *worded) for line in lines if (worded := _worded(line)) is not None]
    scores: dict[str, set[int]] = {}
    for _, word, score in words:
        scores.setdefault(look_of(word), set()).add(score)
    if all(len(several) == 1 for several in scores.values()):
        return ""
    first: tuple[_Line, str] | None = None
    for line, word, _ in words:
        if NAMED.match(line.plain):  # “Criterion 2: Depth” may be above the scores
            continue
        if not _may_name_scores(word):
            raise line.refused(_no_score(word))
        first = first or (line, word)
        if bool(line.heading) != bool(first[0].heading):
            raise line.refused(
                f"“{shorten(word)}” is in a heading in some lines, and not in others. Write one "
                f"score per line, {EXAMPLE}."
            )
        if look_of(word) != look_of(first[1]):
            raise line.refused(
                f"“{shorten(word)}” is before a number here, but “{shorten(first[1])}” in line "
                f"{first[0].number:,}. Use the same word for all scores. Other lines begin "
                "without a number."
            )
    return first[1] if first is not None else ""


def _no_score(word: str) -> str:
    return (
        f"“{shorten(word)}” before a number does not name a score. Leave such lines out. Write "
        f"one score per line, {EXAMPLE}."
    )


def _without_word(line: _Line, word: str) -> _Line:
    """Return a line without the word that is before every score.

    Raises LabError for what may be a remark or a step, or has a second score.
    """
    parts = split_word(line.plain)
    own = parts is not None and look_of(parts[0]) == look_of(word)
    plain = parts[1] if parts is not None and own else line.plain
    name = r"(?<!\w)" + r"\s+".join(map(re.escape, word.split())) + r"\s*"
    if re.match(rf"{name}[:：–—-]", plain, re.I):
        raise line.refused(f"a remark or a score? Leave it out, or write it {EXAMPLE}.")
    second = rf"{name}#?[(\[]?-?\d{{1,3}}{UNIT}\s*[)\]]?\s*(?:[=:：|→]|[-–—][\s>])"
    if re.search(second, plain, re.I):
        raise line.refused("several scores in one line. Write each on its own line.")
    if not own:
        return line
    found = ENTRY.fullmatch(plain)
    if found is None:
        return replace(line, plain=plain)
    text = found["text"].strip()
    if REMARK.match(text) or not NOUN.match(text):
        _refuse_step(line, text)
    if REMARK.match(text):
        raise line.refused(
            f"a remark or a score? Leave remarks out. If it is a score, write it {EXAMPLE}."
        )
    criterion = CRITERION.match(text)
    if criterion is not None and not criterion["before"]:
        raise line.refused(
            "the name of a criterion or a score? Write names of criteria without a number, each "
            f"with its scores below. Write a score {EXAMPLE}."
        )
    if found["separator"].strip() in (".", ")"):  # behind a word it is no numbered list
        start, end = found.span("separator")
        plain = f"{plain[:start]}: {plain[end:]}"
    return replace(line, plain=plain)


def _require_whole_scale(criterion: _Criterion, word: str) -> None:
    """Raise LabError if numbers are missing behind a word: they may number something else."""
    scores = sorted({option["score"] for option in criterion.options})
    missing = [k for k in range(scores[0], scores[-1]) if k not in scores]
    if missing and criterion.marked is not None:
        few = ", ".join(map(str, missing[:MOST_NAMED])) + (", …" if missing[MOST_NAMED:] else "")
        listed = ", ".join(map(str, scores))
        raise criterion.marked.refused(
            f"“{shorten(word)}” is before {listed}, but not before {few}. If these are the scores, "
            f"write them without the word, {EXAMPLE}."
        )


def _refuse_score_as_name(criterion: _Criterion) -> None:
    """Raise LabError for a line like “Note 3 – good” above 2 and 1: it may be a score."""
    scores = {option["score"] for option in criterion.options}
    for line in criterion.head:
        worded = _worded(line)
        if worded is None or not _may_name_scores(worded[0]) or worded[1] in scores:
            continue
        if min(scores) - 1 <= worded[1] <= max(scores) + 1:
            raise line.refused(
                "a score, or the name of what is judged? Write all scores in the same way, and a "
                f"name without a number, {EXAMPLE}."
            )


def _plain_entries(lines: list[_Line]) -> bool:
    """Return whether lines without ``#`` have scores. Then headings have none."""
    return any(not line.heading and ENTRY.fullmatch(line.plain) for line in lines)


def _refuse_headings_that_may_be_scores(lines: list[_Line]) -> None:
    if _plain_entries(lines):
        return
    for line in lines:
        if line.heading and HEADING_NUMBER.match(line.plain):
            raise line.refused(
                f"is this a score or a numbered heading? Write one score per line, {EXAMPLE}."
            )


def _refuse_fractions(lines: list[_Line]) -> None:
    """Raise LabError for scores like 0.5 or 9999. For half points it says how to double them."""
    values: list[float] = []
    wrong: _Line | None = None
    text = ""
    for line in lines:
        if line.heading:
            continue
        found = FRACTION.match(line.plain)
        rest = line.plain[found.end() :] if found else ""
        if found and re.match(rf"[*_]*{UNIT}\s*(?:\([^)]*\))?[*_]*{SEPARATOR}", rest, re.I):
            wrong, text = wrong or line, text or found[1]
            if re.fullmatch(r"-?[0-9]+[.,][0-9]+", found[1]):
                values.append(float(found[1].replace(",", ".")))
        elif entry := ENTRY.fullmatch(line.plain):
            values.append(float(entry["score"]))
    if wrong is None:
        return
    words = f"“{text}” is not a score. Use whole numbers from -999 to 999."
    halves = sorted(dict.fromkeys(values))
    halved = any(value % 1 for value in halves)
    if halved and all((2 * value).is_integer() for value in halves):
        doubled = ", ".join(f"{2 * value:g}" for value in halves)
        labels = ", ".join(f"{value:g}" for value in halves)
        words += (
            f" Double the scores ({doubled}) and put {labels} as labels, in the table or as YAML."
        )
    raise wrong.refused(words)


def _entry(line: _Line) -> dict[str, Any] | None:
    """Return score, description and separator of a line; None for a line without a score.

    Raises LabError for a line that looks like a score but may be something else.
    """
    plain = line.plain
    _refuse_other_scores(line)
    alone = LABEL_ALONE.fullmatch(plain)
    found = ENTRY.fullmatch(plain)
    if alone is not None and found is None:
        label = alone["label"].strip()
        return {"score": int(alone["score"]), "description": label, "separator": ":"}
    if found is None or re.match(r"\d{1,3}:\d", plain):
        if re.match(rf"(?:{WORD}|[(\[]*)[-−]?\d|(?:score|level)\b.{{0,3}}\d", plain, re.I):
            raise line.refused(
                f"a number, but not a score with its description. Write one score per line, "
                f"{EXAMPLE}."
            )
        return None
    if SECOND.search(found["text"]):
        raise line.refused("several scores in one line. Write each on its own line.")
    description = ": ".join(filter(None, (found["label"], found["text"].strip())))
    return {
        "score": int(unicodedata.normalize("NFKC", found["score"])),
        "description": description,
        "separator": found["separator"].strip(),
    }


ONE_EACH = "Write one line per score, each with its own description."
REFUSED: tuple[tuple[re.Pattern[str], str], ...] = (
    (NOT_APPLICABLE, "a level without a score. Leave it out, or give it a whole number."),
    (re.compile(r"[=:：|]"), "a level without a score. Leave it out, or give it a whole number."),
    (BAND, f"several scores in one line. {ONE_EACH}"),
    (re.compile(r"\+"), ""),
    (BOUND, f"more than one score. {ONE_EACH}"),
    (PERCENT, "a percentage is not a score. Give each level a whole number."),
    (STARS, ""),
    (
        LETTER,
        "a letter is not a score. Write a whole number, higher for better, and put the letter as "
        "its label in the table.",
    ),
    (ROMAN, "a Roman numeral is not a score. Write 1, 2, 3 and so on."),
    (
        UNCLEAR_BAND,
        "one score or a band of scores? Write a colon after each score, and one score per line.",
    ),
)
"""How lines begin that are not a score with its description, and what to say; "" has its own words.

The first that fits is said.
"""


def _refuse_other_scores(line: _Line) -> None:
    """Raise LabError for bands, percentages, stars, letters and other forms of scores."""
    plain = line.plain
    for pattern, words in REFUSED:
        match = pattern.match(plain)
        if match is None:
            continue
        if pattern is STARS:
            stars = sum(sign in "★⭐🌟" for sign in match[0])
            words = (
                f"stars are not a score. Write “{stars}: …”, and put the stars as its label in "
                "the table."
            )
        elif not words:
            words = (
                "a score with a plus sign. If it is the score, write it without the sign, as "
                f"“{plain[1:9].strip()}…”. Points that are added up cannot be used."
            )
        raise line.refused(words)


def _refuse_numbered_criteria(lines: list[_Line]) -> None:
    """Raise LabError for “1. Clarity: how clear it is” without ``#``: it may be a criterion."""
    for line in lines:
        found = ENTRY.fullmatch(line.plain)
        if (
            found is not None
            and not line.heading
            and found["separator"].strip() in (".", ")")
            and CRITERION.match(found["text"].strip())
        ):
            raise line.refused(
                "a numbered criterion or a level? Write names of criteria without a number, each "
                f"with its scores below. Write a level with a colon, {EXAMPLE}."
            )


def _refuse_step(line: _Line, description: str) -> None:
    """Raise LabError for a numbered line that is a step or a question."""
    if description.endswith(("?", "？")):
        raise line.refused(
            "a question to answer or a level? Leave questions out. If it is a level, write it "
            f"{EXAMPLE}."
        )
    if STEP.match(description):
        raise line.refused(
            "this looks like a step to follow, not like a level. Leave steps out. If it is a "
            f"level, write it {EXAMPLE}."
        )


def _why(word: str) -> str:
    """Say why a line with a word before its number is no score, among scores without that word."""
    if not _may_name_scores(word):
        return _no_score(word)
    return (
        f"“{shorten(word)}” before a number names a score only if all scores have it, at least "
        f"two. Write all scores in the same way, {EXAMPLE}."
    )


def _goes_on(line: _Line) -> bool:
    """Return whether a line continues the one above: indented, a bullet, or in lower case."""
    return (
        line.raw[:1] in " \t"
        or not line.raw.strip().startswith(line.plain[:1])
        or line.plain[0].islower()
    )


def _add(option: dict[str, Any], line: _Line) -> None:
    """Append a line to the description above. Raises LabError if it may be something else."""
    worded, is_name = _worded(line), SHORT_NAME.match(line.plain)
    if worded is not None and (is_name or _may_name_scores(worded[0])):
        raise line.refused(f"neither a score nor the rest of the line above: {_why(worded[0])}")
    if is_name or (option["description"] and not _goes_on(line)):
        raise line.refused(
            "neither a score nor the rest of the line above. Indent it if it belongs to that "
            "line. Put the name of what is judged above the scores, after a blank line. Leave "
            "instructions out."
        )
    option["description"] = f"{option['description']} {line.plain}".strip()


def _head(line: _Line, *, first: bool) -> _Line:
    """Return the line as part of a heading. Raises LabError for a second name in it."""
    if WEIGHT.match(line.plain):
        raise line.refused(
            "weights are not used: each criterion has its own results. Leave this line out."
        )
    if SCALE.match(line.plain):
        raise line.refused("the scores themselves give the scale. Leave this line out.")
    note = NOTE.match(line.plain)
    said = line.plain[note.end() :] if note else ""
    if REMARK.match(said) or STEP.match(said):
        raise line.refused("unclear above the scores: this looks like a remark. Leave remarks out.")
    named = NAMED.match(line.plain) if first else ABOUT.match(line.plain)
    if not first and named is None and SHORT_NAME.match(line.plain):
        worded = _worded(line)
        if worded is not None:
            raise line.refused(f"unclear above the scores: {_why(worded[0])}")
        raise line.refused(
            "unclear above the scores. Write “name: what is judged” in one line, and each score "
            f"on its own line, {EXAMPLE}."
        )
    return line


def _values(criterion: _Criterion, number: int) -> dict[str, Any]:
    name, about = "", list[str]()
    for k, line in enumerate(criterion.head):
        plain = HEADING_NUMBER.sub("", line.plain, count=1) if line.heading else line.plain
        if k:
            about.append(ABOUT.sub("", plain))
        elif NAMED.match(plain):
            name = NAMED.sub("", plain, count=1)
        else:
            name, _, rest = plain.replace("：", ":").partition(":")
            about += filter(None, [rest.strip()])
    return {
        "name": name.strip() or f"Criterion {number}",
        "description": " ".join(about),
        "options": criterion.options,
    }


def _table(lines: list[_Line]) -> dict[str, Any] | None:
    """Return the criterion of a table with the columns score and description; None for no table.

    Raises LabError for a table whose columns are others, and for a row whose score is none.
    """
    for sign in ("|", "\t"):
        rows = [
            line
            for line in lines
            if sign in line.raw.strip().strip(sign) or line.raw.startswith("|")
        ]
        heads = [_cells(line, sign) for line in rows]
        if not rows:
            continue
        names = [cell.casefold() for cell in heads[0]]
        if sign == "\t" and not {*names} & SCORES:
            continue
        if sign == "|" and not (rows[0].raw.strip().startswith("|") or {*names} & SCORES):
            continue
        return _table_of(lines, rows, sign, names)
    return None


def _table_of(lines: list[_Line], rows: list[_Line], sign: str, names: list[str]) -> dict[str, Any]:
    roles: list[str | None] = []
    for name in names:
        role = None
        for known, words in (("score", SCORES), ("description", TEXTS), ("label", LABELS)):
            role = known if name in words else role
        roles.append(role)
    if (
        roles.count("score") != 1
        or roles.count("description") != 1
        or None in roles
        or len({*roles}) < len(roles)
    ):
        raise rows[0].refused(
            "the columns of this table are unknown. Name them score and description (and label), "
            "with one row per score."
        )
    options = []
    for line in rows[1:]:
        if TABLE_RULE.fullmatch(line.raw.strip()):
            continue
        cells = _cells(line, sign)
        if len(cells) != len(roles):
            raise line.refused(f"{len(cells)} cells, but the table has {len(roles)} columns.")
        values = dict(zip(roles, cells, strict=True))
        if not re.fullmatch(r"-?\d{1,3}", values["score"]):
            raise line.refused(
                f"“{shorten(values['score'])}” is not a score. Use a whole number from -999 to 999."
            )
        options.append(
            {str(role): cell for role, cell in values.items()} | {"score": int(values["score"])}
        )
    head = [line for line in lines if line not in rows and line.number < rows[0].number]
    odd = [line for line in lines if line not in rows and line not in head]
    if odd:
        raise odd[0].refused(
            "text below the table. Put the name of what is judged above it, and leave the rest out."
        )
    made = _values(_Criterion([_head(line, first=not k) for k, line in enumerate(head)]), 1)
    return made | {"options": options}


def _cells(line: _Line, sign: str) -> list[str]:
    return [BOLD.sub(r"\2", cell).strip() for cell in line.raw.strip().strip("|").split(sign)]
