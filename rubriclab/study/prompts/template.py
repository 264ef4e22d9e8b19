"""A user's own prompt template becomes messages.

Rendered by Jinja2's own rules of white space (a trailing newline is kept) and sent as rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

from rubriclab.model import Axis, StudyError
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.model.wording import did_you_mean
from rubriclab.study.prompts.sandbox import MAX_CHARS, PromptLimit, Sandbox

NAMES: Mapping[Axis, frozenset[str]] = {
    "options": frozenset({"instruction", "response", "reference", "criterion", "options", "labels", "item"}),
    "criteria": frozenset({"instruction", "response", "reference", "criteria", "labels", "item"}),
    "batch": frozenset({"responses", "criterion", "options", "labels"}),
    "pairwise": frozenset({"instruction", "turns", "responses", "reference", "labels", "tie", "item"}),
    "listwise": frozenset({"instruction", "turns", "responses", "reference", "labels", "tie", "item"}),
}
"""What a template can name, by what changes places."""

_SANDBOX = Sandbox()


@lru_cache(maxsize=512)
def _compiled(text: str) -> Template:
    return _SANDBOX.from_string(text)


def render_template(template: PromptTemplate, names: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """The messages with ``names`` filled in.

    Raises StudyError naming the template, the message, and what is wrong there: its syntax, an
    unknown name, a text or a loop beyond what a prompt may take.
    """
    messages = []
    for number, message in enumerate(template.messages, 1):
        try:
            content = _rendered(_compiled(message.text), names)
        except Exception as fault:
            # A template is a program of the user's: whatever it computes may fail in any way.
            raise StudyError(
                tr(
                    "Prompt “{name}”, message {number} ({role}): {fault}",
                    name=template.name,
                    number=number,
                    role=message.role,
                    fault=_words(fault),
                )
            ) from fault
        messages.append({"role": message.role, "content": content})
    return tuple(messages)


def _rendered(template: Template, names: Mapping[str, Any]) -> str:
    _SANDBOX.start()
    parts, length = [], 0
    for part in template.generate(names):
        length += len(part)
        if length > MAX_CHARS:
            raise PromptLimit(
                tr("its text is longer than {most:,} characters. Does a loop repeat too much?", most=MAX_CHARS)
            )
        parts.append(part)
    return "".join(parts)


def _words(fault: Exception) -> str:
    if isinstance(fault, TemplateSyntaxError):
        return tr("line {line}: {message} Correct the template there.", line=fault.lineno, message=fault.message)
    if isinstance(fault, RecursionError):
        return tr("it calls itself without end. Give its recursion an end.")
    text = str(fault) or type(fault).__name__
    return text if text[-1] in ".?!" else f"{text}."


# ---------------------------------------------------------------- what a template names


def check_names(template: PromptTemplate, axis: Axis) -> None:
    """Raises StudyError for text that is no template and for a name that there is not on this axis."""
    known = NAMES[axis]
    for where, tree in _parsed(template):
        if unknown := sorted(_names(tree) - known):
            line = next((n.lineno for n in tree.find_all(nodes.Name) if n.name == unknown[0]), 1)
            raise StudyError(
                tr(
                    "{where}, line {line}: the name “{unknown}” is not known.{hint} Known on the axis "
                    "“{axis}”: {known}.",
                    where=where,
                    line=line,
                    unknown=unknown[0],
                    hint=did_you_mean(unknown[0], known),
                    axis=axis,
                    known=", ".join(sorted(known)),
                )
            )


@lru_cache(maxsize=512)
def asked_names(template: PromptTemplate) -> frozenset[str]:
    """The names that a template fills in, as “response”. Raises StudyError for text that is no template."""
    return frozenset().union(*(_names(tree) for _, tree in _parsed(template)))


def asked_columns(template: PromptTemplate) -> tuple[str, ...]:
    """The columns of the data that a template asks for, as ``item.topic`` or ``item["topic"]``.

    Raises StudyError for text that is no template.
    """
    return tuple(dict.fromkeys(column for _, tree in _parsed(template) for column in _item_parts(tree)))


def _parsed(template: PromptTemplate) -> Iterator[tuple[str, nodes.Template]]:
    """Every message: where it stands, and its syntax tree."""
    for number, message in enumerate(template.messages, 1):
        where = tr("Prompt “{name}”, message {number} ({role})", name=template.name, number=number, role=message.role)
        try:
            tree = _SANDBOX.parse(message.text)
            _compiled(message.text)
        except Exception as fault:  # as above: Python itself may refuse what a template says
            raise StudyError(f"{where}: {_words(fault)}") from fault
        yield where, tree


def _names(tree: nodes.Template) -> set[str]:
    return find_undeclared_variables(tree) - _SANDBOX.globals.keys()


def _item_parts(tree: nodes.Template) -> Iterator[str]:
    def of_item(node: nodes.Expr) -> bool:
        return isinstance(node, nodes.Name) and node.name == "item"

    yield from (part.attr for part in tree.find_all(nodes.Getattr) if of_item(part.node))
    for part in tree.find_all(nodes.Getitem):
        if of_item(part.node) and isinstance(part.arg, nodes.Const) and isinstance(part.arg.value, str):
            yield part.arg.value
