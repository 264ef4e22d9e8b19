"""Render prompt templates (Jinja2) in a sandbox, and say which names they use.

The lab's own prompts are rendered here directly. A template of the user's is a program of somebody
else: ``study/template.py`` has it rendered by a child process, which loads this module and little
else.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rubriclab.model.text import LabError, shorten

MAX_PROMPT = 1_000_000
"""Characters of all messages of a prompt. A longer one fits no judge; its loop repeats too much."""


def one_line(text: str) -> str:
    """Return ``text`` with every run of white space as one blank."""
    return " ".join(text.split())


def heading(entry: Mapping[str, str]) -> str:
    """Return a criterion's name and description on one line, as prompts show them."""
    if entry["description"]:
        return one_line(f"{entry['name']}: {entry['description']}")
    return one_line(entry["name"])


def consecutive(labels: Sequence[Any]) -> bool:
    """Return whether labels are three or more whole numbers in steps of one, lowest first.

    A prompt can then say “between 1 and 5”. Two numbers are listed: there is nothing between them.
    """
    return _consecutive(tuple(map(str, labels)))


@lru_cache(maxsize=1_024)
def _consecutive(labels: tuple[str, ...]) -> bool:
    if len(labels) < 3 or not all(re.fullmatch(r"-?\d+", label) for label in labels):
        return False
    first = int(labels[0])
    return [int(label) for label in labels] == list(range(first, first + len(labels)))


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox that looks ``option.label`` up fast, as plans render a prompt for every call."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        # What the sandbox does too, but by way of an exception: a dict has no such attribute.
        if type(obj) is dict and attribute in obj and attribute not in _OF_DICTS:
            return obj[attribute]
        return super().getattr(obj, attribute)


_OF_DICTS = frozenset(dir(dict))


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    environment = _Environment(keep_trailing_newline=True, undefined=StrictUndefined)
    environment.filters["json_text"] = lambda text: json.dumps(str(text), ensure_ascii=False)[1:-1]
    environment.filters["one_line"] = one_line
    environment.filters["heading"] = heading
    environment.tests["consecutive"] = consecutive
    return environment


@lru_cache(maxsize=64)
def compiled(text: str) -> Template:
    """Return the template of ``text``, compiled once."""
    return _environment().from_string(text)


def render_task(
    texts: Sequence[str], contexts: Sequence[Mapping[str, Any]], **_: Any
) -> dict[str, Any]:
    """Render the texts in each of the contexts: the child process's task.

    Raises LabError for whatever goes wrong: a template is a program, which may fail in any way.
    """
    rendered = []
    for context in contexts:
        out: list[str] = []
        for number, text in enumerate(texts, 1):
            try:
                out.append(compiled(text).render(context))
            except Exception as fault:
                raise LabError(f"message {number}: {_words(fault)}") from None
        if sum(map(len, out)) > MAX_PROMPT:
            raise LabError(
                f"its text is longer than {MAX_PROMPT:,} characters. Does a loop repeat too much?"
            )
        rendered.append(out)
    return {"rendered": rendered}


def names_in(text: str) -> tuple[set[str], set[str]]:
    """Return (names that a template fills in, columns of the item among them). Parsed, never run.

    Raises LabError for a syntax error, and for a template nested too deep.
    """
    try:
        tree = _environment().parse(text)
    except (TemplateSyntaxError, RecursionError, MemoryError) as fault:
        raise LabError(_words(fault)) from None
    columns = set()
    parts: list[Any] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    for part in parts:
        column = part.attr if isinstance(part, nodes.Getattr) else getattr(part.arg, "value", None)
        of_item = isinstance(part.node, nodes.Name) and part.node.name == "item"
        if of_item and isinstance(column, str):
            columns.add(column)
    return find_undeclared_variables(tree) - {*_environment().globals}, columns


def names_set_in(text: str) -> set[str]:
    """Return the names that a template sets anywhere: by ``set``, a loop or a macro.

    The template must be one that ``names_in`` accepts.
    """
    tree = _environment().parse(text)
    macros = {macro.name for macro in tree.find_all(nodes.Macro)}
    return macros | {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}


def _words(fault: BaseException) -> str:
    """Say what is wrong with a template, and what to do."""
    if isinstance(fault, TemplateSyntaxError):
        return (
            f"line {fault.lineno}: {shorten(str(fault.message), 200)} Correct the template there."
        )
    if isinstance(fault, MemoryError):
        return "it takes more memory than a prompt may. Take out what grows so much."
    if isinstance(fault, RecursionError):
        return "it calls itself without end, or is nested too deep. Make it flatter."
    words = shorten(str(fault) or type(fault).__name__, 200)
    return f"{words.rstrip('.')}. Correct the template there."
