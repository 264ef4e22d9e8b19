"""JSON, YAML and TOML as plain values: their nesting, aliases and numbers bounded while read."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import yaml

from rubriclab.datasets.limits import MAX_CELLS, MAX_DEPTH, MAX_DIGITS, MAX_NODES, reading
from rubriclab.model import DataError, LabError
from rubriclab.model.language import tr
from rubriclab.model.storable import storable_text

_SURROGATES = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


# ---------------------------------------------------------------- JSON


def json_value(name: str, text: str, *, notes: list[str] | None = None, error: type[LabError] = DataError) -> Any:
    """The value of a JSON text, its nesting and its numbers bounded.

    An escape of half a character is read as U+FFFD, which ``notes`` tells. Raises ``error``
    for what is beyond the limits; json.JSONDecodeError goes through, since it knows the place.
    """
    # Every value stands behind one of these signs, so there are no more values than signs.
    brackets = text.count("[") + text.count("{")
    if brackets + text.count(",") > MAX_CELLS:
        raise error(
            tr("“{name}” holds more than {most:,} values; that many are read. Split it.", name=name, most=MAX_CELLS)
        )
    text = whole_characters(text, notes)
    with reading(name, tr("is not read as JSON"), error, but=json.JSONDecodeError):
        value = json.loads(text, parse_int=partial(_int, name, error))
    # A text with few brackets cannot be deep; only the others are walked through.
    if brackets > MAX_DEPTH:
        refuse_depth(name, value, error)
    return value


def whole_characters(text: str, notes: list[str] | None = None) -> str:
    """JSON text with each escape of half a character as that of U+FFFD; as long as before."""
    if _SURROGATES.search(text) is None:
        return text
    count = 0

    def replaced(escape: re.Match[str]) -> str:
        nonlocal count
        if escape["lone"] is None:
            return escape.group()
        count += 1
        return "\\ufffd"

    text = _ESCAPES.sub(replaced, text)
    if count and notes is not None:
        notes.append(tr("{count:,} halves of a character (\\ud800 to \\udfff) read as “\ufffd”.", count=count))
    return text


def _int(name: str, error: type[LabError], digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise error(
            tr(
                "“{name}” has a whole number of {count:,} digits ({digits}…); {most} are read. Put it in "
                "quotes if it is an id.",
                name=name,
                count=len(digits),
                digits=digits[:12],
                most=MAX_DIGITS,
            )
        )
    return int(digits)


def refuse_depth(name: str, value: Any, error: type[LabError] = DataError) -> None:
    """Raises ``error`` where lists and objects stand in each other beyond MAX_DEPTH."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part
            for one in level
            if isinstance(one, Mapping | list)
            for part in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(part, Mapping | list)
        ]
        if not level:
            return
    raise error(
        tr(
            "“{name}” has values nested deeper than {most} levels; that many are read. Flatten it.",
            name=name,
            most=MAX_DEPTH,
        )
    )


# ---------------------------------------------------------------- TOML


_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}){{{MAX_DEPTH}}}")


def toml_value(name: str, text: str, *, error: type[LabError] = DataError) -> dict[str, Any]:
    """The tables of a TOML text, their nesting bounded. Raises ``error``."""
    # tomllib keeps every beginning of a dotted key: 100 kB of “a.a.a” took it 9.6 GB.
    if (found := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise error(
            tr(
                "“{name}”, line {line:,}: a key of more than {most} parts. Flatten it.",
                name=name,
                line=line,
                most=MAX_DEPTH,
            )
        )
    with reading(name, tr("is not TOML"), error):
        value = tomllib.loads(text)
    refuse_depth(name, value, error)
    return value


# ---------------------------------------------------------------- YAML


def yaml_value(name: str, text: str, *, error: type[LabError] = DataError) -> Any:
    """The value of a YAML text; nesting, values (aliases counted as what they stand for) and
    numbers are checked before any of it is built. Raises ``error`` naming line and column."""
    try:
        with reading(name, tr("is not read as YAML"), error, but=yaml.YAMLError):
            return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        spot = tr(", line {line}, column {column}", line=mark.line + 1, column=mark.column + 1) if mark else ""
        raise error(tr("“{name}”{spot}: not YAML ({problem}).", name=name, spot=spot, problem=fault.problem)) from fault
    except yaml.YAMLError as fault:
        raise error(tr("“{name}”: not YAML ({fault}).", name=name, fault=fault)) from fault


class _Loader(yaml.SafeLoader):
    """The safe loader, counting what a text stands for while its nodes are composed."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._nodes = 0
        self._sizes: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        before, self._depth = self._nodes, self._depth + 1
        if self._depth > MAX_DEPTH:
            raise self._beyond(tr("nested deeper than {most} levels", most=MAX_DEPTH), event)
        if isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            if event.anchor in self.anchors and event.anchor not in self._sizes:
                raise self._beyond(tr("“*{anchor}” stands within what it stands for", anchor=event.anchor), event)
            self._nodes += self._sizes.get(event.anchor, 0)
        else:
            self._nodes += 1
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            self._refuse_digits(event)
        node = super().compose_node(parent, index)
        if self._nodes > MAX_NODES:
            raise self._beyond(
                tr("more than {most:,} values, each alias counted as all it stands for", most=MAX_NODES), event
            )
        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            self._sizes[event.anchor] = self._nodes - before
        self._depth -= 1
        return node

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        return storable_text(value) if isinstance(value, str) else value

    def _refuse_digits(self, event: yaml.ScalarEvent) -> None:
        """Before a text without quotes becomes a number of as many digits."""
        tag = self.resolve(yaml.ScalarNode, event.value, (True, False))  # type: ignore[no-untyped-call]
        if len(event.value) > MAX_DIGITS and tag != "tag:yaml.org,2002:str":
            raise self._beyond(
                tr("a number of {count:,} signs; {most} are read", count=len(event.value), most=MAX_DIGITS), event
            )

    def _beyond(self, what: str, event: yaml.Event) -> yaml.YAMLError:
        return yaml.MarkedYAMLError(problem=what, problem_mark=cast(yaml.Mark, event.start_mark))
