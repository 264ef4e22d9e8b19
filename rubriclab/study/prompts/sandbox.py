"""Jinja2 for texts that a user wrote: a sandbox, nothing undefined, and bounds on what it takes.

Steps (turns of loops, calls) and characters are counted, not timed, so that a template always ends
the same way, on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from rubriclab.model.language import tr
from rubriclab.model.wording import did_you_mean

MAX_CHARS = 2_000_000
"""Characters of one message: some 500,000 tokens, more than any judge reads."""
MAX_STEPS = 500_000
"""Turns of loops and calls in one message; the longest honest template takes some hundreds."""
MAX_NUMBER = 100_000
"""The largest whole number that a call or a filter takes, since it may be a width or a count."""

_steps: ContextVar[int] = ContextVar("steps", default=0)
_TURNS, _JOINED = "turns of a loop", "joined parts"
"""Names of filters that no template can write."""


class PromptLimit(ValueError):
    """A template that would take more than a prompt may."""


class Columns:
    """An item's columns by name. No mapping: a column may be called “items” or “values”."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._values)


class _Missing(StrictUndefined):
    """An undefined name, with those that there are, and not with the type of what lacks it."""

    @property
    def _undefined_message(self) -> str:
        name, owner = str(self._undefined_name), self._undefined_obj
        if self._undefined_hint:
            return self._undefined_hint
        if isinstance(owner, Columns):
            return tr(
                "the item has no “{name}”.{hint} It has: {names}. Other columns of the data are kept "
                "with the items where [data.columns] names them as “kept”.",
                name=name,
                hint=did_you_mean(name, owner.names),
                names=", ".join(owner.names),
            )
        if isinstance(owner, Mapping):
            names = [str(key) for key in owner]
            return tr(
                "there is no “{name}” there.{hint} There are: {names}.",
                name=name,
                hint=did_you_mean(name, names),
                names=", ".join(names),
            )
        return tr("the name “{name}” is not known there.", name=name)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox; a trailing newline is kept, and every loop and call is counted."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=_Missing, keep_trailing_newline=True)
        for name in ("center", "indent", "wordwrap", "batch", "slice", "round", "format"):
            self.filters[name] = _modest(self.filters[name])
        self.filters |= {_TURNS: _turns, _JOINED: _joined, "replace": _replaced(self.filters["replace"])}
        self.filters["join"] = _summed(self.filters["join"])
        del self.globals["lipsum"]

    def start(self) -> None:
        """Count from nothing: a message begins."""
        _steps.set(0)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Columns):  # before whatever Python knows it by
            return obj[attribute] if attribute in obj.names else self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def wrap_str_format(self, value: Any) -> Any:
        made = super().wrap_str_format(value)
        if made is not None:
            _small_widths(value.__self__)
        return made

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        _step()
        of, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(of, str) and name == "translate":
            raise PromptLimit(tr("“translate” is not for prompts; use the filter “replace”."))
        if isinstance(of, str) and name == "join" and args:
            args = (_listed(args[0], of), *args[1:])
        elif isinstance(of, str) and name == "replace":
            _refuse_growth(of, *args[:2])
        _small((*args, *kwargs.values()))
        return _bounded(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(times, int) and len(text) * times > MAX_CHARS:
                    raise PromptLimit(
                        tr("something repeated {times:,} times is longer than a prompt may be.", times=times)
                    )
        if operator == "**":
            _small((left,))
            if not isinstance(right, int | float) or abs(right) > 64:
                raise PromptLimit(tr("a power beyond 64 is no number that a prompt needs."))
        if operator == "%" and isinstance(left, str):
            _small_widths(left)
            _small(right if isinstance(right, tuple) else (right,))
        return _bounded(super().call_binop(context, operator, left, right))


class _Counting(NodeTransformer):
    """Loops count their turns, and what “~” joins is measured first."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, _TURNS, [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, _JOINED, [], [], None, None, lineno=node.lineno)


def _step() -> None:
    taken = _steps.get() + 1
    _steps.set(taken)
    if taken > MAX_STEPS:
        raise PromptLimit(tr("its loops take more than {most:,} steps. Does each of them end?", most=MAX_STEPS))


def _turns(value: Iterable[Any]) -> Iterator[Any]:
    for part in value:
        _step()
        yield part


def _bounded(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > MAX_CHARS:
        raise PromptLimit(tr("a text of it is longer than {most:,} characters.", most=MAX_CHARS))
    return value


def _small(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, int) and abs(value) > MAX_NUMBER:
            raise PromptLimit(
                tr(
                    "the number {value} is beyond {most:,}.",
                    value=value if abs(value) < 10**20 else tr("there"),
                    most=MAX_NUMBER,
                )
            )


def _small_widths(form: str) -> None:
    if re.search(r"\d{6,}", form):
        raise PromptLimit(tr("a format asks for a width beyond {most:,}.", most=MAX_NUMBER))


def _modest(filter_: Any) -> Any:
    """The filter, refusing large numbers: each is a width or a count."""

    @wraps(filter_)
    def made(*args: Any, **kwargs: Any) -> Any:
        _small((*args, *kwargs.values()))
        for part in args:
            if isinstance(part, str) and "%" in part:
                _small_widths(part)
        return _bounded(filter_(*args, **kwargs))

    return made


def _listed(parts: Iterable[Any], between: str) -> list[Any]:
    """``parts`` as a list, once it is known that they are no longer than a prompt together."""
    listed = list(parts)
    if sum(len(str(part)) + len(between) for part in listed) > MAX_CHARS:
        raise PromptLimit(tr("a text of it is longer than {most:,} characters.", most=MAX_CHARS))
    return listed


def _joined(parts: Iterable[Any]) -> str:
    return "".join(map(str, _listed(parts, "")))


def _summed(join: Any) -> Any:
    @wraps(join)
    def made(eval_ctx: Any, value: Any, d: str = "", attribute: str | int | None = None) -> Any:
        return join(eval_ctx, _listed(value, d), d, attribute)

    return made


def _replaced(replace: Any) -> Any:
    @wraps(replace)
    def made(eval_ctx: Any, s: str, old: str, new: str, count: int | None = None) -> Any:
        _refuse_growth(str(s), str(old), str(new))
        return replace(eval_ctx, s, old, new, count)

    return made


def _refuse_growth(text: str, old: str = "", new: str = "") -> None:
    if len(text) + text.count(old) * len(new) > MAX_CHARS:
        raise PromptLimit(tr("a text of it is longer than {most:,} characters.", most=MAX_CHARS))
