"""One call to a judge as a tool logged it: its messages and its reply, and what a tool's fields hold of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.datasets.plain import json_value
from rubriclab.model import LabError
from rubriclab.model.language import msg

NO_PROMPT = msg("the record keeps no prompt")
NO_REPLY = msg("the record keeps no reply")
FAILED = msg("the call failed")

Messages = tuple[tuple[str, str], ...]
"""(role, text) of each message, as it was sent."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A judge's prompt and its reply.

    ``verdict``: what the tool itself read in the reply, "" where it does not say.
    """

    line: int
    messages: Messages
    reply: str
    judge: str = ""
    verdict: str = ""
    task: str = ""
    dataset: str = ""
    asked: str = ""

    @property
    def prompt(self) -> str:
        """As a file of a prompt holds it: one user message as its text, more as JSON."""
        if len(self.messages) == 1 and self.messages[0][0] == "user":
            return self.messages[0][1]
        return json.dumps([{"role": role, "content": text} for role, text in self.messages], ensure_ascii=False)


def messages_in(value: object) -> Messages:
    """The messages in a field: a text, JSON of messages, a list of them, or the body of a request.

    Parts of a message that are no text are left out; () where there is no text at all.
    """
    if isinstance(value, str):
        inner = _parsed(value)
        listed = inner.get("messages") if isinstance(inner, Mapping) else inner
        if isinstance(listed, list) and listed and all(isinstance(m, Mapping) for m in listed):
            found = messages_in(listed)
            if found:
                return found
        return (("user", value),) if value.strip() else ()
    if isinstance(value, Mapping):
        for key in ("messages", "prompt", "input", "args"):
            if value.get(key):
                return messages_in(value[key])
        return messages_in([value]) if "content" in value or "message.content" in value else ()
    if isinstance(value, Sequence):
        made = [_message(one) for one in value]
        return tuple(one for one in made if one is not None)
    return ()


def _message(value: object) -> tuple[str, str] | None:
    if isinstance(value, str):
        return ("user", value) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    inner = value.get("message")  # OpenInference nests or dots its names
    if isinstance(inner, Mapping):
        value = inner
    content = value.get("content", value.get("message.content", value.get("text")))
    if content is None and (parts := value.get("message.contents", value.get("contents"))):
        content = parts
    text = text_in(content)
    role = str(value.get("role", value.get("message.role", "user")))
    return (role, text) if text.strip() else None


def text_in(value: object) -> str:
    """The text of a message's content or of a reply: as it is, of its parts, or of its first choice."""
    if isinstance(value, str):
        inner = _parsed(value)
        if isinstance(inner, Mapping) and ("choices" in inner or {"role", "content"} <= inner.keys()):
            return text_in(inner)
        return value
    if isinstance(value, Mapping):
        for key in (
            "choices",
            "message",
            "message.content",
            "content",
            "message_content",
            "text",
            "message_content.text",
        ):
            if value.get(key):
                return text_in(value[key])
        inner = value.get("message_content.text")
        return inner if isinstance(inner, str) else ""
    if isinstance(value, Sequence):
        parts = [text_in(part) for part in value]
        return "\n".join(part for part in parts if part)
    return "" if value is None or isinstance(value, bool) else str(value)


def reply_in(value: object) -> str:
    """The judge's reply in a field; of several messages or choices the last."""
    if isinstance(value, list | tuple) and value:
        return reply_in(value[-1])
    if isinstance(value, Mapping):
        for key in ("choices", "output"):
            if isinstance(value.get(key), list) and value[key]:
                return text_in(value[key][0 if key == "choices" else -1])
    text = text_in(value)
    return text or (json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) and value else "")


def _parsed(text: str) -> Any:
    """The JSON value of a text that begins like one; None for any other."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json_value("a text", text)
    except (ValueError, LabError):  # no JSON, or nested as no message is
        return None
