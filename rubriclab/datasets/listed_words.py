"""Lists whose labels are words, stand behind their text, or follow each other within a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rubriclab.datasets.listed import MOST_ENTRIES, Entry, FoundList, lines, part, values, without_commas
from rubriclab.datasets.listed_lines import WORD, Page, family
from rubriclab.datasets.scale_words import UNIT, rank_of
from rubriclab.model.language import msg

_INLINE = re.compile(
    rf"(?<![\w.,-])(?P<open>[(\[\"'“*]{{0,2}})(?P<label>[-−]?\d{{1,3}}(?![\w,.]?\d)|[A-Za-z](?!\w))"
    rf"(?P<delim>(?:[ \t]?(?:{UNIT})\b)?[)\]\"'”*]{{0,2}}[ \t]{{0,2}}(?:[=:：→]|[-–—](?=[ \t])|(?<=[)\]])[ \t]|\.(?=[ \t]))[ \t]{{0,2}})"
)
_TAIL = re.compile(
    rf"(?P<delim>[ \t]{{0,3}}[(\[=:–—-][ \t]{{0,2}})(?P<label>[-−]?\d{{1,3}}(?:[.,]\d)?)(?![\d.])"
    rf"(?P<unit>(?:[ \t-]?(?:{UNIT})\b)?[)\]]?)"
)
_WORDED = re.compile(
    rf"(?P<lead>[ \t>]{{0,40}}(?:(?:[-+*•–·▪◦●‣]|\d{{1,2}}[.)]|(?:[-*+] )?\[[ xX]?\])[ \t]{{1,4}})?[*_`\"'“„\[]{{0,3}})"
    rf"(?P<label>{WORD}(?:[ \t-]{WORD}){{0,3}})"
    rf"(?P<delim>[*_`\"'”“\]]{{0,3}}[ \t]{{0,2}}(?:[:：=]|[–—-](?=[ \t]))[*_`]{{0,3}})"
)
_JOIN = re.compile(r"(?:[ \t]*[,;/|·，；、])?[ \t]*(?:(?<=\s)(?:and|or|und|oder|et|ou|y|o|e)[ \t]+)?$")


def worded_lists(text: str) -> Iterator[FoundList]:
    """Lines that begin with a word and a sign: "- poor: …", "**Fluency** – …"."""
    page = Page(text)
    run: list[tuple[int, re.Match[str]]] = []
    for line, (start, end, _) in enumerate(page.lines):
        match = _WORDED.match(text, start, min(end, start + 200))
        if match is not None and run and _alike(run[0][1], match) and not _broken(page, run[-1][0], line):
            run.append((line, match))
        elif match is not None:
            yield from _worded(page, run)
            run = [(line, match)]
        elif run and not page.blank(line) and not text[start].isspace() and not _bulleted(run[0][1]):
            yield from _worded(page, run)
            run = []
    yield from _worded(page, run)


def _bulleted(match: re.Match[str]) -> bool:
    return bool(match["lead"].strip())


def _alike(one: re.Match[str], other: re.Match[str]) -> bool:
    return re.sub(r"\d+", "1", one["lead"]) == re.sub(r"\d+", "1", other["lead"]) and one["delim"] == other["delim"]


def _broken(page: Page, one: int, other: int) -> bool:
    """Whether anything but indented lines, or a blank one, stands between two lines."""
    between = range(one + 1, other)
    return any(page.blank(line) and not page.blank(line + 1) and line + 1 < other for line in between) or any(
        not page.blank(line) and not page.text[page.lines[line][0]].isspace() for line in between
    )


def _worded(page: Page, run: Sequence[tuple[int, re.Match[str]]]) -> Iterator[FoundList]:
    labels = [match["label"].casefold() for _, match in run]
    scale = sum(rank_of(label) is not None for label in labels)
    if not 2 <= len(run) <= MOST_ENTRIES or len(set(labels)) < len(labels):
        return
    if not _bulleted(run[0][1]) and scale < 2:
        return
    entries = []
    for (line, match), following in zip(run, [*run[1:], None], strict=True):
        end = page.lines[line][1]
        stop = len(page.lines) if following is None else following[0]
        while line + 1 < stop and not page.blank(line + 1) and page.text[page.lines[line + 1][0]].isspace():
            line, end = line + 1, page.lines[line + 1][1]
        about = part("text", page.text, match.end(), end)
        label = part("label", page.text, *match.span("label"))
        entries.append(Entry(match.start(), max(about.end if about.value else 0, match.end()), (label, about)))
    yield FoundList(msg("words as labels"), without_commas(page.text, entries))


def tailed_lists(text: str) -> Iterator[FoundList]:
    """Bullets whose label stands behind their text or in it: "- Fully correct (5)", "* Poor = 1"."""
    page = Page(text)
    run: list[tuple[int, Entry]] = []
    lead = ""
    for line, (start, end, _) in enumerate(page.lines):
        bullet = re.match(r"[ \t>]{0,40}(?:[-+*•–·▪◦●‣][ \t]{1,4})?[*_`]{0,3}", text[start : start + 60])
        entry = _tailed(text, start, end, start + (bullet.end() if bullet else 0))
        here = bullet.group() if bullet else ""
        if entry is not None and (not run or (here == lead and run[-1][0] == line - 1)):
            run, lead = [*run, (line, entry)], here
            continue
        yield from _tailed_list(text, run)
        run, lead = ([(line, entry)], here) if entry is not None else ([], "")
    yield from _tailed_list(text, run)


def _tailed(text: str, start: int, end: int, body: int) -> Entry | None:
    found = list(_TAIL.finditer(text, body, min(end, body + 400)))
    if not found or found[0].start() <= body:
        return None
    match = found[0]
    name = text[body : match.start()].strip("*_` ")
    rest = part("text", text, match.end(), end)
    behind = re.match(r"[*_`:：.\s–—-]*", text[match.end() : end])
    after = part("text", text, match.end() + (behind.end() if behind else 0), end)
    score = part("label", text, *match.span("label"))
    if not after.value:
        stop = max(match.end(), rest.end)
        return Entry(start, stop, (part("text", text, body, match.start()), score))
    if len(name.split()) > 4 or not name:
        return None
    at = text.index(name, body)
    word = part("label", text, at, at + len(name))
    return Entry(start, after.end, (word, part("score", text, *match.span("label")), after))


def _tailed_list(text: str, run: Sequence[tuple[int, Entry]]) -> Iterator[FoundList]:
    entries = [entry for _, entry in run]
    kinds = {tuple(p.kind for p in entry.parts) for entry in entries}
    shown = [entry.value("score") or entry.value("label") or "" for entry in entries]
    if len(kinds) == 1 and 2 <= len(entries) <= MOST_ENTRIES and values(shown):
        yield FoundList(msg("lines with the score behind"), without_commas(text, entries))


# ---------------------------------------------------------------- within a line


def inline_lists(text: str) -> Iterator[FoundList]:
    """Lists within a line: "1 = poor, 2 = fair, 3 = good", "(a) … (b) … (c) …"."""
    for start, end, _ in lines(text):
        by_form: dict[tuple[str, ...], list[re.Match[str]]] = {}
        for match in _INLINE.finditer(text, start, min(end, start + 20_000)):
            key = (match["open"], re.sub(r"\s|\w", "", match["delim"]), family(match["label"]))
            by_form.setdefault(key, []).append(match)
        for matches in by_form.values():
            for run in _distinct(matches):
                yield from _inline(text, run, end)


def _distinct(matches: Sequence[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """The matches cut where a label comes again."""
    run: list[re.Match[str]] = []
    for match in matches:
        if match["label"] in [other["label"] for other in run] or len(run) == MOST_ENTRIES:
            yield run
            run = []
        run.append(match)
    yield run


def _inline(text: str, run: Sequence[re.Match[str]], line_end: int) -> Iterator[FoundList]:
    if len(run) < 2 or not values([match["label"] for match in run]):
        return
    entries: list[Entry] = []
    for match, following in zip(run, [*run[1:], None], strict=True):
        stop = line_end if following is None else following.start()
        if following is None:
            comma = "" if any("," in entry.parts[-1].value for entry in entries) else ","
            sentence = re.search(rf"[.!?。;{comma}](?=\s|$)|[)\]](?=\W*$)", text[match.end() : stop])
            stop = match.end() + sentence.start() if sentence else stop
        else:
            joined = _JOIN.search(text, max(match.end(), stop - 40), stop)
            stop -= len(joined[0]) if joined else 0
        about = part("text", text, match.end(), stop)
        if not about.value:
            return
        entries.append(Entry(match.start(), about.end, (part("label", text, *match.span("label")), about)))
    yield FoundList(msg("a list within a line"), tuple(entries))
