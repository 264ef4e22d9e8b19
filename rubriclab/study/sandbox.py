"""Templates that others wrote and what they may name in, texts out: what the child process runs,
and little else is loaded.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rubriclab.model.text import LabError, shorten

MAX_PROMPT = 1_000_000
"""Signs of all messages of a prompt."""


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        keep_trailing_newline=True, undefined=StrictUndefined
    )
    environment.filters["json_text"] = lambda text: json.dumps(str(text), ensure_ascii=False)[1:-1]
    return environment


_compiled = lru_cache(maxsize=64)(lambda text: _environment().from_string(text))


def render_task(
    texts: Sequence[str], contexts: Sequence[Mapping[str, Any]], **_: Any
) -> dict[str, Any]:
    """The texts in each of the contexts. Raises LabError: a template is a program, which may fail
    in any way.
    """
    rendered = []
    for context in contexts:
        out: list[str] = []
        for number, text in enumerate(texts, 1):
            try:
                out.append(_compiled(text).render(context))
            except Exception as fault:
                raise LabError(f"message {number}: {_words(fault)}") from None
        if sum(map(len, out)) > MAX_PROMPT:
            raise LabError(
                f"its text is longer than {MAX_PROMPT:,} signs. Does a loop repeat too much?"
            )
        rendered.append(out)
    return {"rendered": rendered}


def names_in(text: str) -> tuple[set[str], set[str]]:
    """(names that a template fills in, columns of the item among them); only parsed. Raises
    LabError.
    """
    try:
        tree = _environment().parse(text)
    except (TemplateSyntaxError, RecursionError, MemoryError) as fault:
        raise LabError(_words(fault)) from None
    columns = set()
    parts: list[Any] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    for part in parts:
        column = part.attr if isinstance(part, nodes.Getattr) else getattr(part.arg, "value", None)
        if (
            isinstance(part.node, nodes.Name)
            and part.node.name == "item"
            and isinstance(column, str)
        ):
            columns.add(column)
    return find_undeclared_variables(tree) - {*_environment().globals}, columns


def _words(fault: BaseException) -> str:
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
