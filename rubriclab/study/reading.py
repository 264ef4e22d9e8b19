"""Decide which label a judge's reply gives, or why it gives none.

First we find the judge's own words in plain letters (``own_words.py``). Then we collect all
verdicts in JSON (``replied_json.py``) and in words (``claims.py``). ``grammar.py`` defines the
forms of a verdict. Two different verdicts count as none. Every unparsed reply has a reason.

Single scores, scores of several criteria or answers, choices between candidates and the labels of
a user's own prompt are all parsed in this way.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from rubriclab.study.claims import column_head, echoed, in_brackets, in_words
from rubriclab.study.grammar import (
    CORRECT,
    DOUBTED,
    DRESS,
    EMPTY,
    HEDGE,
    KEYS,
    LONG,
    MOST_MARKS,
    NO_FORM,
    OTHER_SCALE,
    RETRACT,
    SHORT,
    SPAN,
    TAKEN_BACK,
    TOO_MANY,
    TWO,
    WORDS,
    Grammar,
    Kind,
    Verdict,
    any_of,
    grammar,
)
from rubriclab.study.labels import fold
from rubriclab.study.own_words import CUT_MARK, Unread, own_words, plain
from rubriclab.study.replied_json import by_key, in_json, objects, strings

READER = 3
"""The version of this reader, stored with each judgment. Raise it if any reading changes."""

Rule = Literal["score", "bare", "feedback", "pair", "list"]
"""What a reply was asked for: only a score (from a list, or bare), feedback with [RESULT], or the
best of two or of several.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reply gives.

    label: None if the reply is unparsed; ``why`` gives the reason.
    words, form: the words that give the label, in plain letters, and the name of their form.
    """

    label: str | None
    words: str = ""
    form: str = ""
    why: str = ""


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

    ``labels``: as they were shown; with ``tie`` the last one means a tie. ``names``: further words
    for a verdict, for example its criterion. ``brief``: whether a comparison asked only for the
    letter, so that a reply may begin with it.
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

_REASON = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(WORDS['reason'])})[*_\s]*[:：][*_\s]*", re.IGNORECASE
)
"""The word that begins the reasons, with its colon: “**Reason:** ”."""


def read_before_reason(
    text: str, labels: Sequence[str], kind: Kind = "score", *, tie: bool = False
) -> Reading:
    """Read the label that stands before the reasons: “Score: 4”, then “Reason: …”.

    The words before “Reason:” decide, so that “I would give it a 5 if …” in the reasons is no
    second verdict. A reply is unparsed if its reasons take the verdict back or give another one. A
    reply without a verdict before “Reason:” is read as one that was asked for a label alone.
    ``kind``, ``tie``: as for ``read_one``.
    """
    rule: Rule = "pair" if kind == "choice" else "score"
    try:
        said = own_words(text)
    except Unread as reason:
        return Reading(None, why=str(reason))
    begun = _REASON.search(said)
    before = said[: begun.start()].strip(" \t\n/|;,*_-–—") if begun else ""
    if begun is None or not before or "{" in before:
        return read_one(text, labels, rule, tie=tie)
    first = read_one(before, labels, rule, tie=tie)
    if first.label is None:
        return read_one(text, labels, rule, tie=tie)
    known = tuple(labels) if kind == "choice" else tuple(sorted(labels))
    form = grammar(known, kind, (), tie)
    reasons = plain(said[begun.end() :], form.kept)
    verdict = Verdict(known.index(first.label), first.words, first.form)
    try:
        if reasons:
            _refuse_others(verdict, in_words(reasons, form, opens=False))
            _refuse_retraction(verdict, reasons, form)
    except Unread as reason:
        return Reading(None, why=str(reason))
    return first


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
    if values and (asked := _marked(plain("\n".join(strings(values)), form.kept), form)):
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
    """Return the verdict on which all agree. Raises Unread.

    In comparisons, only final verdicts count if the last one is final. A revised verdict replaces
    those before it.
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
    """Return the verdicts in brackets that prompts ask for: [RESULT], and [[A]] in comparisons."""
    if not body:
        return []
    if body.count("[") > 2 * MOST_MARKS:
        raise Unread(TOO_MANY)
    asked = [
        form.verdict(match, "mark")
        for match in form.marks.finditer(body)
        if not echoed(body[max(0, match.start() - SPAN) : match.start()])
    ]
    return [*asked, *in_brackets(body, form)] if form.kind == "choice" else asked


_SCALE_NAMED = re.compile(
    r"(?:scale|skala|échelle|escala)\s*:?\s*(?:of|from|von|de|del)?\s*"
    r"(?:[01]\s*(?:\([^)\n]{0,20}\)\s*)?(?:to|-|–|bis|à|al?)\s*)?([0-9]{1,3})\b(?!-|\s*\()"
    r"|\b[01]\s*(?:to|-|–)\s*([0-9]{1,3})(?:\s+|-)(?:point\s+)?scale|\b([0-9]{1,3})-point\s+scale",
    re.I,
)


def _other_top(value: Any, form: Grammar) -> bool:
    """Return whether JSON names another top of the scale, for example "max_score": 10."""
    numbers = re.findall(r"[0-9]{1,9}", str(value))
    return bool(numbers) and int(numbers[-1]) != form.top


def _names_other_scale(body: str, form: Grammar) -> bool:
    """Return whether a reply names a scale with another top: "Score: 4 (on a 1-10 scale)"."""
    tops = (next(filter(None, match.groups())) for match in _SCALE_NAMED.finditer(body))
    return any(int(top) != form.top for top in tops)


def _refuse_others(verdict: Verdict, others: Iterator[Verdict]) -> None:
    """Raise Unread if other words give another label than the form that decides."""
    if any(other.index not in (None, verdict.index) for other in others):
        raise Unread(TWO)


def _refuse_retraction(verdict: Verdict, body: str, form: Grammar) -> None:
    """Raise Unread if a judge takes its verdict back after it."""
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
    """Read the label that a reply gives to each of ``names``: criteria, or answers of one call.

    The label of a name is under its key in JSON, in the score column of a table, in a line or tag
    that begins with the name, or in a labelled line below the name. If a name has two different
    labels, only that name is unparsed.
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
    """Return only the letters and digits of a name, without case, to compare names."""
    return "".join(filter(str.isalnum, fold(str(words))))


def _recorded(values: Sequence[Any], name: str, form: Grammar) -> list[Verdict]:
    """Return what JSON says about a name: under its key, or in the record that names it."""
    given: list[Verdict] = []
    for value in values:
        for record in _records(value, _letters(name)):
            given += in_json(record if isinstance(record, dict) else {"score": record}, form)
    return given


def _records(value: Any, key: str) -> Iterator[Any]:
    """Yield what nested JSON says about a name. ``key``: its letters."""
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
    """Return patterns for a name at the start of a line, a further entry in it, and "NAME gets"."""

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
    """Yield the name and verdict of lines and tags with a name, and of labelled lines below it."""
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
            continue  # "Maximum points:" and the lines below it
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
    """Return the verdict after a name in a line, parsed as if the line began with "Score"."""
    share = re.match(r"\s*[(\[]\s*(\d+\s*/\s*\d+)\s*[)\]]\s*[.:]?\s*$", rest)
    if share:
        rest = f": {share[1]}"
    rest = re.sub(rf"(?i)^\s*(?:[:–—-]\s*)?(?:{any_of(WORDS['score'])})", "", rest)
    if re.match(r"[\s\])]*[-+]?\d", rest) or (rest.startswith((" ", "]")) and _bare(rest, form)):
        rest = f": {rest.lstrip(' ])')}"
    return _entry(f"Score{rest}", form)


def _bare(rest: str, form: Grammar) -> bool:
    """Return whether the rest of a line is nothing but a value."""
    match = form.alone.match(rest.strip(DRESS + ".:"))
    return match is not None and not form.objection(match, strict=True)


def _entry(line: str, form: Grammar) -> Verdict | None:
    """Return the verdict of a line like "Score: 4", None for any other line."""
    match = form.entries[0].match(line)
    return None if match is None else form.verdict(match, "line", line[: match.end("value")])


def _in_table(body: str, names: Sequence[str], form: Grammar) -> Iterator[tuple[str, Verdict]]:
    """Yield the verdict in each name's row of a table, in the column whose head means a score.

    Without a head, a row must have one cell besides its name.
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
    columns = [k for k, cell in enumerate(head) if column_head(cell) in scores]
    for name in names:
        key = _letters(name)
        across = [k for k, cell in enumerate(head) if _letters(cell) == key]
        for row in rows:
            if across and column_head(row[0]) in WORDS["score"]:
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
