"""Find every verdict in a judge's own words, in all forms.

Each function looks for one kind of form, and yields labels and objections. ``study/reading.py``
decides which of them count.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rubriclab.study.grammar import (
    A_CANDIDATE,
    ANNOUNCED,
    CANDIDATE,
    DENIED,
    DRESS,
    EXAMPLE,
    HEDGE,
    INSTRUCTED,
    LIST_NUMBER,
    MOST_PLACES,
    NOT_OFFERED,
    NOT_SINGLE,
    OUT_OF,
    OWN,
    PLACE,
    QUOTED,
    SENTENCE_END,
    SHORT,
    SHUT,
    SPAN,
    TOO_MANY,
    TWO,
    UNIT,
    WORDS,
    Grammar,
    Verdict,
    any_of,
    number_of,
)
from rubriclab.study.labels import fold


def in_words(text: str, form: Grammar, *, opens: bool) -> Iterator[Verdict]:
    """Yield every verdict in a plain text.

    ``opens``: whether the reply may begin with the label, followed by reasons.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return
    yield from _ticked(text, form)
    yield from _alone(lines, form, len(text))
    yield from _one_row(lines, form, len(text))
    for tag in form.tags.finditer(text):
        if echoed(text[max(0, tag.start() - SPAN) : tag.start()]):
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
    """Yield the one option with a tick among others without, and the number of filled stars."""
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
    """Yield a value that is the whole first or last line, or an objection if lines differ."""
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
    """Yield the score in a table of one row, if one of its heads is a word for a score."""
    ruled = [line for line in lines if "|" in line and re.search(r"[^\s|]", line)]
    if len(ruled) != 3 or re.search(r"[^\s|:-]", ruled[1]):
        return  # a head, the rule below it and one row: else the first row is no head
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in ruled[::2]]
    if len(rows[0]) == len(rows[1]):
        columns = [k for k, cell in enumerate(rows[0]) if column_head(cell) in WORDS["score"]]
        if len(columns) == 1:
            cell = form.alone.match(rows[1][columns[0]])
            yield replace(form.verdict(cell, "table", " | ".join(rows[1]), strict=True), end=end)


def column_head(cell: str) -> str:
    """Return the head of a table column without its scale: "Score (1-5)" becomes "score"."""
    return re.sub(r"\s*[(\[][\d\s/–-]*(?:out of \d+)?[)\]]$", "", fold(cell))


def _belongs_above(line: str, form: Grammar) -> bool:
    """Return whether a line says that the value below is not a verdict: "Errors found:"."""
    heading = line.startswith("#") or line.rstrip(" *").endswith((":", "："))
    if not heading:
        return False
    if re.fullmatch(r"\W*(?:response|output|assistant)\W*", line, re.I):
        return False  # the name of a turn
    if QUOTED.search(line):
        return True
    return re.search(any_of([*form.nouns, *WORDS["final"]]), line, re.I) is None


def _entries(text: str, form: Grammar) -> Iterator[Verdict]:
    """Yield "Score: 4" and similar, at the beginning of a line or sentence, or after a colon."""
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
    """Return the match without its upper bound, which could have cut a number."""
    return pattern.match(text, match.start()) or match


def _is_quoted(text: str, start: int, verdict: Verdict) -> bool:
    """Return whether the words before a form make it an example, or not the judge's own verdict."""
    before = text[max(0, start - SPAN) : start]
    if before.endswith(", ") or before.endswith("> "):
        clause = re.split(r"[.;!?\n。！？]", before)[-1]
        if re.match(r"(?:so|therefore|thus|hence)\b", verdict.words, re.I):
            return CONDITION.search(clause) is not None
        return not verdict.final or CONDITION.search(clause) is not None
    if echoed(before):
        return True
    if before.endswith("\n"):
        above = before.rstrip().rpartition("\n")[2]
        return above.endswith((":", "：")) and QUOTED.search(above) is not None
    if before.rstrip().endswith((":", ")", ",", "、", ";")):
        clause = re.split(r"[.;!?\n。！？]", before)[-1]
        return QUOTED.search(clause) is not None or HEDGE.search(clause) is not None
    return False


def echoed(before: str) -> bool:
    """Return whether the words before a form ask for it or call it an example, like a prompt."""
    near = before[-SPAN:]
    body = re.sub(r"\s*(?:`{3,}\s*\w*\s*)?[`\"'“‘]?\Z", "", near)
    line = body.rpartition("\n")[2]
    if "\n" in near[len(body) :] and not line.endswith((":", "：")):
        return False  # the line above says nothing of the form below it
    if EXAMPLE.search(line[-60:]):
        return True
    return INSTRUCTED.search(line) is not None and OWN.search(line) is None


def _opening(lines: Sequence[str], form: Grammar) -> Verdict | None:
    """Return the verdict with which a reply begins ("4. Because ..."), but no entry of a list."""
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
    """Yield verdicts in sentences without a word of doubt, a condition or another person."""
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
    """Yield [[A]] and [[A>B]] at the end of a phrase, and a last line A > B (its best is A)."""
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
            if CONDITION.search(clause) or _DENIES.search(clause) or echoed(clause):
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
    """Yield the first entry of a numbered list that contains only different candidates."""
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
_CHAIN = re.compile(rf"{CANDIDATE}[A-Za-z](?:\s*[<>=]+\s*{CANDIDATE}[A-Za-z])+")


def best_of(words: str, form: Grammar) -> int | None:
    """Return the index of the best in a chain like "A > C > B", a tie for "A = B", or None."""
    two = form.folded[:-1] == ["a", "b"] and form.folded[-1] != "c"
    if form.tie and two and words.strip() == "C":
        return 2  # the usual prompt's mark of a tie between A and B
    names = re.split(r"\s*([<>=]+)\s*", A_CANDIDATE.sub("", words))
    signs = {sign[0] for sign in names[1::2]}
    if any(form.index(name) is None for name in names[::2]) or len(signs) > 1:
        return None
    if signs == {"="}:
        return len(form.labels) - 1 if form.tie else None
    return form.index(names[-1] if signs == {"<"} else names[0])
