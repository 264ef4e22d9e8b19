"""A user's own prompt: its messages as templates, and how the judge's answer is to be read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Literal

from rubriclab.model.hashing import fingerprint

Role = Literal["system", "user", "assistant"]
AnswerReading = Literal["label", "last_label", "regex", "json", "tag"]
"""Where the answer stands: the whole reply, the last label in it, what a pattern matches, a value
in JSON, the inside of an XML-like tag."""

AnswerAsking = Literal["", "schema", "tool"]


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message; ``text`` is a Jinja2 template."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """How a reply is read.

    ``path``: of ``json``, as "verdict.score"; ``pattern``: of ``regex``, its group 1 (or the whole match); ``tag``: of ``tag``, its name. Where one call asks for several
    criteria, ``{criterion}`` in any of the three stands for a criterion's name. ``ask``: of ``json``,
    what the server is asked to keep to it by: ``schema`` (``response_format``) or a ``tool`` call.
    """

    read: AnswerReading = "label"
    path: str = ""
    pattern: str = ""
    tag: str = ""
    ask: AnswerAsking = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reply to one call is read. ``labels``: what may be answered, in an order that does not
    depend on what is shown. ``names``: of the responses of a batch, what each is called by its place."""

    rule: AnswerRule
    labels: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt as its user sends it, with names where the item and the options stand.

    ``id`` is of everything in it but the name: it is part of every call's key.
    """

    name: str
    messages: tuple[PromptMessage, ...]
    answer: AnswerRule = AnswerRule()

    @property
    def id(self) -> str:
        return _id(self.messages, self.answer)


@lru_cache(maxsize=256)
def _id(messages: tuple[PromptMessage, ...], answer: AnswerRule) -> str:
    """Kept, since every call of a study asks for it."""
    return fingerprint({"messages": [asdict(m) for m in messages], "answer": asdict(answer)})
