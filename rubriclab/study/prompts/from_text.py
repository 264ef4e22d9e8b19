"""From a prompt as it is sent today to a template and a rubric, proved byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rubriclab.datasets.asked_answer import asked_answer
from rubriclab.datasets.list_meaning import Kind, heading, in_order, scores_of
from rubriclab.datasets.listed import Entry, FoundList, Part, values
from rubriclab.datasets.option_lists import blanked
from rubriclab.model import MAX_OPTIONS, Criterion, Rubric, RubricError, ScoreOption, StudyError
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptMessage, PromptTemplate
from rubriclab.model.wording import many
from rubriclab.study.prompts.found_prompt import FoundPrompt, Mark, MarkKind, Proof, difference, messages_of
from rubriclab.study.prompts.loops import CANDIDATES, CRITERIA, OPTIONS, Loop, Names, literal, loop_of
from rubriclab.study.prompts.prompt_parts import KINDS, Work, chosen_list, items_by_heading, items_of_data, read_lists
from rubriclab.study.prompts.prompt_traps import traps
from rubriclab.study.prompts.template import render_template

_NAMES: dict[Kind, Names] = {"options": OPTIONS, "criteria": CRITERIA, "candidates": CANDIDATES}


def from_text(
    text: str,
    *,
    rows: Sequence[Mapping[str, object]] | None = None,
    rubric: Rubric | None = None,
    row: int | None = None,
    accept: Mapping[str, str] | None = None,
    name: str = "prompt",
) -> FoundPrompt:
    """Take a prompt apart: its list of options (criteria, candidates), its item, what is fixed.

    ``text``: the prompt as it is sent, plain or as JSON messages. ``rows``: the data, one mapping of
    column to cell a row; ``row`` (from 1) says which of them the prompt shows. ``rubric``: where it is
    known. ``accept``: doubts that are settled, name to choice. Nothing is guessed silently: what
    cannot be told is in ``doubts``, and ``proof`` says whether the template gives the prompt again.
    Raises StudyError for what is no prompt, or a row that there is not.
    """
    messages, notes = messages_of(text)
    work = Work(messages, dict(accept or {}), rubric, notes=list(notes))
    if rows is not None:
        items_of_data(work, rows, row)
    read_lists(work)
    if rows is None:
        items_by_heading(work)
    chosen = chosen_list(work)
    _unknown_choices(work)
    if chosen is None:
        return _found(work, None)
    return _taken_apart(work, chosen, name)


def _found(work: Work, chosen: int | None, **more: Any) -> FoundPrompt:
    parts: Sequence[Mark] = more.pop("marks", ())
    covered = {(mark.message, mark.start, mark.end) for mark in parts}
    spans = [s for s in work.spans if (s.message, s.start, s.end) not in covered]
    marks = [*parts, *(Mark(s.message, s.start, s.end, "item", s.name) for s in spans)]
    return FoundPrompt(
        work.messages,
        marks=tuple(sorted(marks, key=lambda m: (m.message, m.start, -m.end))),
        lists=tuple(work.lists),
        chosen=chosen,
        notes=tuple(dict.fromkeys(work.notes)),
        doubts=tuple(work.doubts),
        row=work.row,
        **more,
    )


def _unknown_choices(work: Work) -> None:
    """Raises StudyError for an accepted choice of a doubt that has others."""
    for doubt in work.doubts:
        given = work.accept.get(doubt.name)
        if given is not None:
            raise StudyError(
                tr(
                    "“{name}={given}” is none of its choices: {choices}.",
                    name=doubt.name,
                    given=given,
                    choices=", ".join(doubt.choices),
                )
            )


# ---------------------------------------------------------------- template and rubric


def _taken_apart(work: Work, chosen: int, name: str) -> FoundPrompt:
    message, found = work.lists[chosen]
    kind = work.meanings[chosen].kind
    if kind != "options" and any(part.kind == "score" for part in found.entries[0].parts):
        raise StudyError(
            tr("List {n} has scores: it is one of options, not of {kind}.", n=chosen + 1, kind=tr(KINDS[kind]))
        )
    if found.open_end:
        at = work.place(message, found.entries[-1].start, found.end)
        work.doubt("end", tr("It cannot be told where the last entry ends; it is taken to be {at}.", at=at), ("here",))
    scores = _scores(work, message, found) if kind == "options" else tuple(range(1, len(found.entries) + 1))
    entries = _entries(kind, found)
    text = work.texts[message]
    limit = min([s.start for s in work.spans if s.message == message and s.start >= found.end], default=len(text))
    keys: list[object] = list(scores) if kind == "options" else [e.value("label") for e in entries]
    if kind == "candidates" and work.row is not None:
        _about_candidates(work, message, found)
    loop = loop_of(text, entries, keys, _NAMES[kind], limit=limit)
    work.notes.extend(loop.notes)
    messages = tuple(_message(work, number, message, found, loop) for number in range(len(work.messages)))
    rule, how = asked_answer(_fixed(work, message, found), kind)
    work.notes.append(how)
    template = PromptTemplate(name, messages, rule)
    names = _names(work, kind, entries, scores, loop)
    rubric = _rubric(work, message, found, kind, entries, names)
    work.notes.extend(traps(work.messages, message, found, loop.end, work.spans, kind))
    if work.rubric is not None and rubric is None:
        rubric = work.rubric
    marks = _marks(message, found, loop.end, kind)
    labels = {score: one["label"] for score, one in zip(scores, names.get("options", ()), strict=False)}
    proof = _proof(work, template, names)
    return _found(work, chosen, template=template, rubric=rubric, names=names, marks=marks, labels=labels, proof=proof)


def _fixed(work: Work, message: int, found: FoundList) -> list[str]:
    """The messages without the item's words and without the list."""
    plain = [work.plain(number) for number in range(len(work.messages))]
    plain[message] = blanked(plain[message], [(found.start, found.end)])
    return plain


def _about_candidates(work: Work, message: int, found: FoundList) -> None:
    """With data each candidate's text has to be a cell of it, else the next item's is not filled in."""
    cells = {(s.start, s.end) for s in work.spans if s.message == message}
    for entry in found.entries:
        for part in entry.parts:
            if part.kind == "text" and (part.start, part.end) not in cells:
                at = work.place(message, part.start, part.end)
                sentence = tr(
                    "The text of candidate {label} ({at}) is not one cell of the data's row.",
                    label=entry.value("label"),
                    at=at,
                )
                work.doubt("candidates", sentence, ("text",))
                return


def _scores(work: Work, message: int, found: FoundList) -> tuple[int, ...]:
    scores, how = scores_of(found, work.rubric)
    if scores is not None:
        work.notes.extend([how] if how else [])
        return scores
    sentence = tr(
        "It cannot be told which of the labels {labels} is best ({place}): whether scores rise or fall along them.",
        labels=", ".join(found.labels),
        place=work.place(message, found.start, found.end),
    )
    return in_order(found, work.doubt("scores", sentence, ("rising", "falling")) != "falling")


def _entries(kind: Kind, found: FoundList) -> tuple[Entry, ...]:
    """The entries; a numbered criterion's name is the beginning of its text."""
    if kind != "criteria" or values(found.labels) is None:
        return found.entries
    made = []
    for entry in found.entries:
        about = next((part for part in entry.parts if part.kind == "text"), None)
        split = (
            re.match(r"([*_\"“]{0,2})([^:–—\n]{1,60}?)([*_\"”]{0,2}\s?(?:[:–—]|-(?=\s))[*_]{0,2}\s*)", about.value)
            if about
            else None
        )
        if about is None or split is None:
            return found.entries
        at, behind = about.start + split.start(2), about.start + split.end()
        parts = (
            Part("label", at, about.start + split.end(2), split[2]),
            Part("text", behind, about.end, about.value[split.end() :]),
        )
        made.append(replace(entry, parts=parts))
    return tuple(made)


def _message(work: Work, number: int, message: int, found: FoundList, loop: Loop) -> PromptMessage:
    """A message as a template: its item's spans and its list replaced, the rest as it is."""
    role, text = work.messages[number]
    tags = [(s.start, s.end, s.tag) for s in work.spans if s.message == number]
    if number == message:
        tags = [tag for tag in tags if not found.overlaps(tag[0], tag[1])]
        tags.append((found.start, loop.end, loop.template))
    parts, at = [], 0
    for start, end, tag in sorted(tags):
        parts += [literal(text[at:start]), tag]
        at = end
    return PromptMessage(role, "".join([*parts, literal(text[at:])]))


def _names(work: Work, kind: Kind, entries: Sequence[Entry], scores: Sequence[int], loop: Loop) -> dict[str, Any]:
    """What the template is given to write the original prompt."""
    texts = loop.texts or [""] * len(entries)
    labels = [entry.value("label") or "" for entry in entries]
    names: dict[str, Any] = {"item": {}}
    for span in work.spans:
        own = re.fullmatch(r"item(?:\.(\w+)|\[(\".*\")\])", span.name)
        if own:
            names["item"][own[1] or span.name[6:-2].replace('\\"', '"').replace("\\\\", "\\")] = span.value
        else:
            names[span.name] = span.value
    if kind == "options":
        names["options"] = [
            {"label": label, "score": score, "description": text}
            for label, score, text in zip(labels, scores, texts, strict=True)
        ]
    elif kind == "criteria":
        names["criteria"] = [{"name": one, "description": text} for one, text in zip(labels, texts, strict=True)]
    else:
        names["responses"] = [{"label": one, "text": text} for one, text in zip(labels, texts, strict=True)]
    return names


def _rubric(
    work: Work, message: int, found: FoundList, kind: Kind, entries: Sequence[Entry], names: Mapping[str, Any]
) -> Rubric | None:
    """The rubric in the prompt; None where there is none in it."""
    if kind == "candidates":
        return None
    if kind == "criteria":
        work.notes.append(
            tr("The prompt lists criteria, and no score options of their own: give a rubric for their scale.")
        )
        return None
    if len(entries) > MAX_OPTIONS:
        work.doubt(
            "rubric",
            tr(
                "The list has {options}; a rubric has at most {most}.",
                options=many(len(entries), "option"),
                most=MAX_OPTIONS,
            ),
            ("none",),
        )
        return None
    plain = work.plain(message)
    named = _CRITERION.search(plain, max(0, found.start - 600), found.start)
    title = _title(named[1] if named else heading(plain, found.start))
    options = tuple(
        ScoreOption(
            one["score"], one["description"] or None, None if one["label"] == str(one["score"]) else one["label"]
        )
        for one in names["options"]
    )
    try:
        return Rubric(title, (Criterion(title, options),))
    except RubricError as fault:
        work.doubt("rubric", tr("The options make no rubric: {fault}", fault=fault), ("none",))
        return None


_CRITERION = re.compile(
    r"(?:criterion|aspect|metric|dimension|Kriterium)[\"*_]{0,3}\s?[:=]\s?[\"*_]{0,3}([^\"*\r\n,:;.]{1,60})",
    re.IGNORECASE,
)


def _title(above: str) -> str:
    """The criterion's name: the line above the list, without its signs; "Score" where that says nothing."""
    plain = re.sub(r"^[\W_]+|[\W_]+$", "", re.sub(r"\s*\([^()]*\)?", "", above))
    return plain if 0 < len(plain) <= 60 else "Score"


def _marks(message: int, found: FoundList, end: int, kind: MarkKind) -> list[Mark]:
    marks = [Mark(message, found.start, end, kind, kind)]
    for entry in found.entries:
        marks += [
            Mark(message, part.start, part.end, part.kind, part.kind) for part in entry.parts if part.kind != "item"
        ]
    return marks


def _proof(work: Work, template: PromptTemplate, names: Mapping[str, Any]) -> Proof:
    try:
        rendered = render_template(template, names)
    except StudyError as fault:
        return Proof(False, str(fault))
    unlike = difference(work.messages, rendered)
    return Proof(not unlike, unlike)
