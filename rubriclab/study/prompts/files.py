"""Files of own prompts: TOML with messages and an answer, or the text of a single user message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import Field, model_validator

from rubriclab.datasets.limits import MAX_PLAIN_MB, read_file, reading
from rubriclab.datasets.plain import toml_value
from rubriclab.model import StudyError
from rubriclab.model.answers import check_rule
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerAsking, AnswerReading, AnswerRule, PromptMessage, PromptTemplate, Role
from rubriclab.model.validation import Several, Table, validated

MAX_MESSAGES = 100


class _Message(Table):
    role: Role = "user"
    text: str


class _Answer(Table):
    """[answer]: how a reply is read."""

    read: AnswerReading = "label"
    path: str = ""
    pattern: str = ""
    tag: str = ""
    ask: AnswerAsking = ""

    @model_validator(mode="after")
    def _readable(self) -> _Answer:
        check_rule(self.rule())
        return self

    def rule(self) -> AnswerRule:
        return AnswerRule(self.read, self.path, self.pattern, self.tag, self.ask)


class _Prompt(Table):
    """A prompt as a whole: a file, or a table of a study."""

    name: str = Field("", max_length=200)
    messages: Annotated[tuple[_Message, ...], Several, Field(min_length=1, max_length=MAX_MESSAGES)]
    answer: _Answer = Field(default_factory=_Answer)


def template_from_value(value: Any, *, name: str = "prompt", where: str = "prompt") -> PromptTemplate:
    """A template from plain values; ``name`` where they give none. Raises StudyError naming the place."""
    table = validated(_Prompt, value, where)
    messages = tuple(PromptMessage(message.role, message.text) for message in table.messages)
    if not any(message.text.strip() for message in messages):
        raise StudyError(tr("{where}, messages: all of them are empty; write what the judge is asked.", where=where))
    return PromptTemplate(table.name.strip() or name, messages, table.answer.rule())


def template_to_value(template: PromptTemplate) -> dict[str, Any]:
    """The plain form that ``template_from_value`` reads back to an equal template."""
    rule = template.answer
    parts = {"path": rule.path, "pattern": rule.pattern, "tag": rule.tag, "ask": rule.ask}
    return {
        "name": template.name,
        "messages": [{"role": message.role, "text": message.text} for message in template.messages],
        "answer": {"read": rule.read, **{key: part for key, part in parts.items() if part}},
    }


def read_template(name: str, content: bytes) -> PromptTemplate:
    """The template in a file: TOML where its name ends so, else one user message as it stands.

    Raises StudyError naming the file and the place in it.
    """
    stem = PurePath(name).stem
    with reading(name, tr("cannot be read as a prompt"), StudyError):
        try:
            # Byte for byte, but for a mark of the encoding: a prompt is sent as it was written.
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise StudyError(
                tr("{name}: byte {place} is not UTF-8; save it as UTF-8.", name=name, place=error.start)
            ) from error
        if PurePath(name).suffix.lower() != ".toml":
            return template_from_value({"messages": [{"text": text}]}, name=stem, where=name)
        return template_from_value(toml_value(name, text, error=StudyError), name=stem, where=name)


def load_template(path: Path) -> PromptTemplate:
    """The template in the file at ``path``. Raises StudyError, DataError for no such file."""
    return read_template(path.name, read_file(path, limit_mb=MAX_PLAIN_MB, error=StudyError))


def dump_template(template: PromptTemplate) -> str:
    """The template as TOML that ``read_template`` reads back to an equal one."""
    value = template_to_value(template)
    parts = [f"name = {_quoted(value['name'])}"]
    parts += [f"[[messages]]\nrole = {_quoted(m['role'])}\ntext = {_block(m['text'])}" for m in value["messages"]]
    parts.append("[answer]\n" + "\n".join(f"{key} = {_quoted(part)}" for key, part in value["answer"].items()))
    return "\n\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    """A text in TOML. JSON's strings are TOML's, but for one sign that JSON leaves bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _block(text: str) -> str:
    """A text over several lines as a person would write it, where TOML can hold it so."""
    odd = any((ord(sign) < 32 and sign not in "\n\t") or sign == "\x7f" for sign in text)
    if "\n" not in text or odd:
        return _quoted(text)
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return f'"""\n{escaped}"""'


def prompts_from_value(values: Mapping[str, Any]) -> tuple[PromptTemplate, ...]:
    """The prompts of a stored study; none in one that was written before there were any."""
    stored = values.get("prompts") or ()
    return tuple(template_from_value(value, where=f"stored prompt {i}") for i, value in enumerate(stored, 1))
