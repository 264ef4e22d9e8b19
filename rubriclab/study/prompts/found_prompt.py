"""What ``from_text`` finds in a prompt, and the prompt's messages as its file holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rubriclab.datasets.listed import FoundList, line_of
from rubriclab.datasets.plain import json_value
from rubriclab.model import Rubric, StudyError
from rubriclab.model.language import msg, tr
from rubriclab.model.prompt import PromptTemplate, Role

MAX_PROMPT = 300_000
"""Characters of a prompt that is taken apart: some 75,000 tokens."""
MAX_LINES = 3_000
MAX_MESSAGES = 100

MarkKind = Literal["item", "options", "criteria", "candidates", "label", "score", "text"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A span of a message that is more than fixed text: texts[message][start:end].

    ``kind``: part of the item, a whole list, or an entry's label, score or text; ``name``: what the
    template calls it.
    """

    message: int
    start: int
    end: int
    kind: MarkKind
    name: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """What could not be told. ``name`` and one of ``choices`` settle it: accept={name: choice}."""

    name: str
    sentence: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the template gives the prompt again, byte for byte; else where it first differs."""

    exact: bool
    difference: str = ""


@dataclass(frozen=True)
class FoundPrompt:
    """A prompt taken apart. ``messages``: (role, text) as they are sent.

    ``template`` and ``rubric`` are None where the prompt has nothing to make them of, ``names`` is
    what the original item and order are for the template (what it was proved with). ``lists``: every
    list in it, (message, list); ``chosen``: the one whose order moves, counted from 0. ``labels``: the
    options' labels by score. ``notes``: what a reader should know; ``doubts``: what has to be
    settled first. ``row``: the data's row, from 1.
    """

    messages: tuple[tuple[Role, str], ...]
    template: PromptTemplate | None = None
    rubric: Rubric | None = None
    names: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    lists: tuple[tuple[int, FoundList], ...] = ()
    chosen: int | None = None
    labels: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    proof: Proof = Proof(False, msg("There is no template."))
    row: int | None = None

    @property
    def sure(self) -> bool:
        """Whether template and rubric can be used as they are: proved, and nothing left to settle."""
        return self.proof.exact and not self.doubts and self.template is not None


# ---------------------------------------------------------------- messages


def messages_of(text: str) -> tuple[tuple[tuple[Role, str], ...], tuple[str, ...]]:
    """The messages that a file holds, and notes: one user message of plain text, or JSON as an OpenAI
    request has it (the list of messages, or the whole body).

    Raises StudyError for what cannot be a prompt.
    """
    _refuse(text)
    if text.lstrip()[:1] not in ("[", "{"):
        return (("user", text),), ()
    try:
        value = json_value(tr("the prompt"), text, error=StudyError)
    except json.JSONDecodeError:
        return (("user", text),), ()
    body = value if isinstance(value, dict) else {"messages": value}
    listed = body.get("messages")
    if not isinstance(listed, list) or not all(isinstance(m, dict) and "role" in m for m in listed) or not listed:
        return (("user", text),), ()
    if len(listed) > MAX_MESSAGES:
        raise StudyError(tr("The prompt has {n:,} messages; {most} are read.", n=len(listed), most=MAX_MESSAGES))
    notes = []
    others = [key for key in body if key != "messages"]
    if others:
        notes.append(
            tr("Left out: {keys}. Settings belong to the judge, not to its prompt.", keys=", ".join(others[:12]))
        )
    return tuple(_message(number, m) for number, m in enumerate(listed, 1)), tuple(notes)


def _message(number: int, message: Mapping[str, Any]) -> tuple[Role, str]:
    role, content = message["role"], message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text")
    if role not in get_args(Role):
        raise StudyError(
            tr(
                "Message {number} has the role “{role}”; a prompt's messages are system, user or assistant. "
                "Change the role, if the model takes the other one for the same.",
                number=number,
                role=str(role)[:40],
            )
        )
    if not isinstance(content, str):
        raise StudyError(
            tr(
                "Message {number} ({role}) has no text, or has more than text; a prompt is text alone.",
                number=number,
                role=role,
            )
        )
    if "�" in content:
        raise StudyError(
            tr(
                "Message {number} ({role}) holds half a character (\\ud800 to \\udfff). Correct it.",
                number=number,
                role=role,
            )
        )
    return role, content


def _refuse(text: str) -> None:
    """Raises StudyError for a text that is no prompt, or larger than any."""
    if not text.strip():
        raise StudyError(tr("The prompt is empty. Give it as it is sent to the judge."))
    if "\0" in text:
        raise StudyError(tr("The prompt holds a NUL character: it is no text. Give it as it is sent to the judge."))
    if len(text) > MAX_PROMPT:
        raise StudyError(
            tr("The prompt has {n:,} characters; {most:,} are read. Is it the data?", n=len(text), most=MAX_PROMPT)
        )
    count = text.count("\n") + text.count("\r")
    if count > MAX_LINES:
        raise StudyError(
            tr("The prompt has {n:,} line breaks; {most:,} are read. Is it the data?", n=count, most=MAX_LINES)
        )
    half = next((at for at, sign in enumerate(text) if "\ud800" <= sign <= "\udfff"), None)
    if half is not None:
        raise StudyError(tr("The prompt holds half a character in line {line}. Correct it.", line=line_of(text, half)))


def difference(sent: tuple[tuple[Role, str], ...], rendered: tuple[dict[str, str], ...]) -> str:
    """Where two prompts first differ, in words; "" where they are the same byte for byte."""
    for number, ((role, text), message) in enumerate(zip(sent, rendered, strict=True), 1):
        other = message["content"]
        if text == other and role == message["role"]:
            continue
        at = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
        line = line_of(text, at)
        column = at - max(text.rfind("\n", 0, at), text.rfind("\r", 0, at))
        return tr(
            "{place}, sign {column}: the prompt has {sent}, the template gives {given}.",
            place=line_place(number if len(sent) > 1 else 0, role, line),
            column=column,
            sent=_near(text, at),
            given=_near(other, at),
        )
    return ""


def line_place(message: int, role: str, line: int) -> str:
    """A line by its number, with its message where there are several (0: there is one alone)."""
    if not message:
        return tr("Line {line}", line=line)
    return tr("Message {number} ({role}), line {line}", number=message, role=role, line=line)


def _near(text: str, at: int) -> str:
    return json.dumps(text[at : at + 30], ensure_ascii=False) if at < len(text) else tr("its end")
