"""The parts of a prompt: which texts are the item's, and which list is the one that changes places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast, get_args

from rubriclab.datasets.list_meaning import Kind, Meaning, meaning
from rubriclab.datasets.listed import Entry, FoundList, Part
from rubriclab.datasets.option_lists import MAX_LISTS, blanked, find_lists
from rubriclab.model import Rubric, StudyError
from rubriclab.model.language import msg, tr
from rubriclab.model.prompt import Role
from rubriclab.model.wording import many
from rubriclab.study.prompts.found_prompt import Doubt
from rubriclab.study.prompts.item_spans import ItemSpan, column_names, headed_spans, item_spans, rows_in, where

KINDS: Mapping[Kind, str] = {"options": msg("options"), "criteria": msg("criteria"), "candidates": msg("candidates")}
SURE = 3
"""What speaks for a list that says itself what it is; and by how much it has to outweigh the next."""


@dataclass(slots=True)
class Work:
    """A prompt while it is taken apart."""

    messages: tuple[tuple[Role, str], ...]
    accept: Mapping[str, str]
    rubric: Rubric | None
    spans: list[ItemSpan] = field(default_factory=list)
    lists: list[tuple[int, FoundList]] = field(default_factory=list)
    meanings: list[Meaning] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    row: int | None = None

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.messages]

    def plain(self, message: int) -> str:
        """The message without the item's own words."""
        return blanked(self.texts[message], [(s.start, s.end) for s in self.spans if s.message == message])

    def doubt(self, name: str, sentence: str, choices: Sequence[str]) -> str | None:
        """The choice that was accepted, else None and the doubt is kept."""
        accepted = self.accept.get(name)
        if accepted in choices:
            return accepted
        self.doubts.append(Doubt(name, sentence, tuple(choices)))
        return None

    def place(self, message: int, start: int, end: int) -> str:
        at = where(self.texts[message], start, end)
        if len(self.messages) == 1:
            return at
        return tr("message {n} ({role}), {at}", n=message + 1, role=self.messages[message][0], at=at)


# ---------------------------------------------------------------- the item


def items_of_data(work: Work, rows: Sequence[Mapping[str, object]], row: int | None) -> None:
    if row is not None and not 1 <= row <= len(rows):
        raise StudyError(tr("There is no row {row:,}; the data has {rows}.", row=row, rows=many(len(rows), "row")))
    fits = [row - 1] if row is not None else rows_in(work.texts, rows)
    if not fits:
        sentence = tr(
            "No row of the data has its text in the prompt. Name the row, or give the prompt of an item of this data."
        )
        work.doubt("item", sentence, ("none",))
        return
    chosen = fits[0]
    if len(fits) > 1:
        shown = ", ".join(str(one + 1) for one in fits[:8])
        told = tr("{rows} of the data stand in the prompt alike: {shown}.", rows=many(len(fits), "row"), shown=shown)
        accepted = work.doubt("row", told, tuple(str(one + 1) for one in fits[:100]))
        chosen = int(accepted) - 1 if accepted else chosen
    work.row = chosen + 1
    names = column_names(rows)
    before = [
        [(one.start, one.end) for one in find_lists(text) if meaning(text, one).kind == "options"]
        for text in work.texts
    ]

    def in_list(message: int, start: int, end: int) -> bool:
        return any(a <= start and end <= b for a, b in before[message])

    work.spans = item_spans(work.texts, rows[chosen], names, avoid=in_list)
    _about_spans(work, names)


def _about_spans(work: Work, names: Mapping[str, str]) -> None:
    found = {span.name for span in work.spans}
    for span in work.spans:
        at = work.place(span.message, span.start, span.end)
        if not span.exact:
            work.notes.append(
                tr("“{name}” stands in {at} with other white space than in the data.", name=span.name, at=at)
            )
        elif "|" in span.tag or ".replace" in span.tag:
            work.notes.append(
                tr("“{name}” stands in {at} changed: {tag} gives it.", name=span.name, at=at, tag=span.tag)
            )
    for name in found:
        count = sum(span.name == name for span in work.spans)
        if count > 1:
            work.notes.append(
                tr("“{name}” stands in the prompt {count} times; each is filled in.", name=name, count=count)
            )
    if "response" in names.values() and "response" not in found:
        work.doubt("item", tr("The response of row {row} does not stand in the prompt.", row=work.row), ("none",))


def items_by_heading(work: Work) -> None:
    stops = [
        sorted({at for message, one in work.lists if message == number for at in (one.start, one.end)})
        for number in range(len(work.messages))
    ]
    work.spans = headed_spans(work.texts, stops=stops)
    if not work.spans:
        sentence = tr(
            "Without data, and without headings, it cannot be told where the item's texts stand. Give the data."
        )
        work.doubt("item", sentence, ("none",))
        return
    shown = "; ".join(f"{span.name}: {work.place(span.message, span.start, span.end)}" for span in work.spans)
    sentence = tr(
        "Without data the item's texts are known by headings alone ({shown}). Give the data, or accept this.",
        shown=shown,
    )
    if work.doubt("item", sentence, ("headings", "none")) == "none":
        work.spans = []


# ---------------------------------------------------------------- the list


def read_lists(work: Work) -> None:
    for number, text in enumerate(work.texts):
        spans = [s for s in work.spans if s.message == number]
        plain = work.plain(number)
        for one in find_lists(text, taken=[(s.start, s.end) for s in spans]):
            within = [s for s in spans if one.overlaps(s.start, s.end)]
            what = meaning(plain, one, rubric=work.rubric)
            if what.kind != "candidates" and within:
                continue
            work.lists.append((number, _with_spans(text, one, within)))
            work.meanings.append(what)
    if len(work.lists) >= MAX_LISTS:
        raise StudyError(
            tr("The prompt holds {n} lists or more. Give the data, so that the item's own are known.", n=MAX_LISTS)
        )


def _with_spans(text: str, one: FoundList, spans: Sequence[ItemSpan]) -> FoundList:
    """Candidates whose texts are cells of the data: each text is its cell, and the last one's end is known.

    A cell that stands in every entry, as the question may, is the item's. The list as it is, where a
    candidate's text is not one cell.
    """
    inside = [[s for s in spans if entry.start <= s.start and s.end <= entry.end] for entry in one.entries]
    shared = set.intersection(*({s.name for s in own} for own in inside))
    entries: list[Entry] = []
    for number, (entry, own) in enumerate(zip(one.entries, inside, strict=True)):
        answer = [s for s in own if s.name not in shared]
        if len(answer) != 1 or any(s.tag != f"{{{{ {s.name} }}}}" or not s.exact for s in own):
            return one
        parts = [p for p in entry.parts if p.kind != "text"]
        parts += [Part("item", s.start, s.end, s.name) for s in own if s.name in shared]
        parts.append(Part("text", answer[0].start, answer[0].end, answer[0].value))
        parts.sort(key=lambda p: p.start)
        last = number == len(one.entries) - 1 and parts[-1].kind == "text"
        end = _last_end(text, entries, entry, answer[0].end) if last else entry.end
        entries.append(replace(entry, parts=tuple(parts), end=end))
    return replace(one, entries=tuple(entries), open_end=False)


def _last_end(text: str, entries: Sequence[Entry], last: Entry, end: int) -> int:
    """Where the last candidate ends: at its text, or behind what each of the others has behind its own."""
    behind = set()
    for entry in entries:
        label = re.escape(entry.value("label") or "")
        part = next(part for part in entry.parts if part.kind == "text")
        behind.add(re.sub(rf"(?<!\w){label}(?!\w)", lambda _: last.value("label") or "", text[part.end : entry.end]))
    same = behind.pop() if len(behind) == 1 else ""
    return end + len(same) if text.startswith(same, end) else end


def chosen_list(work: Work) -> int | None:
    """The list whose order moves: options first, then candidates, then criteria."""
    by_kind: dict[Kind, list[int]] = {"candidates": [], "options": [], "criteria": []}
    for i, one in enumerate(work.meanings):
        if one.weight > -2:
            by_kind[one.kind].append(i)
    ranked = next((numbers for numbers in by_kind.values() if numbers), [])
    everything = tuple(str(i + 1) for i in range(len(work.lists)))
    accepted, _, kind = work.accept.get("list", "").partition(":")
    if accepted in everything and kind in ("", *get_args(Kind)):
        if kind:
            work.meanings[int(accepted) - 1] = Meaning(cast(Kind, kind), SURE)
        return int(accepted) - 1
    if not work.lists:
        work.notes.append(tr("No list of options, criteria or candidates was found: nothing can change places here."))
        return None
    if not ranked:
        sentence = tr(
            "No list is one of options, criteria or candidates: {listed}.", listed=_listed(work, range(len(work.lists)))
        )
        work.doubt("list", sentence, everything)
        return None
    if by_kind["candidates"]:
        ranked += [i for i in by_kind["options"] if work.meanings[i].weight >= SURE]
    ranked.sort(key=lambda i: -work.meanings[i].weight)
    return _best(work, ranked, everything)


def _best(work: Work, ranked: Sequence[int], everything: tuple[str, ...]) -> int:
    """The list for which most speaks; a doubt where that is little, or others come near."""
    best, *others = ranked
    rivals = [i for i in others if work.meanings[best].weight - work.meanings[i].weight < 2]
    if rivals:
        what = tr(" or ").join(dict.fromkeys(tr(KINDS[work.meanings[i].kind]) for i in [best, *rivals]))
        sentence = tr(
            "{n} lists could be the {what}: {listed}.",
            n=len(rivals) + 1,
            what=what,
            listed=_listed(work, [best, *rivals]),
        )
        work.doubt("list", sentence, everything)
    elif work.meanings[best].weight < SURE:
        kind = work.meanings[best].kind
        others_of_it = [f"{best + 1}:{one}" for one in get_args(Kind) if one != kind]
        sentence = tr(
            "Little says that this list is the {kind}: {listed}.", kind=tr(KINDS[kind]), listed=_listed(work, [best])
        )
        work.doubt("list", sentence, (*everything, *others_of_it))
    return best


def _listed(work: Work, numbers: Sequence[int]) -> str:
    shown = []
    for i in sorted(numbers)[:8]:
        message, one = work.lists[i]
        shown.append(f"{i + 1} ({one.layout}, {work.place(message, one.start, one.end)}: {', '.join(one.labels[:6])})")
    return "; ".join(shown)
