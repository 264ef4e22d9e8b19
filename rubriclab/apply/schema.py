"""Values held against a JSON schema: the part of draft 2020-12 that the card's schema uses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = Any
_KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
KEYWORDS = frozenset(
    [
        "$schema",
        "$id",
        "$defs",
        "$ref",
        "title",
        "description",
        "type",
        "const",
        "enum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "pattern",
        "anyOf",
        "propertyNames",
    ]
)
"""What is understood; a test holds the schema to it."""


def fault_of(value: Json, schema: Mapping[str, Any], *, root: Mapping[str, Any] | None = None) -> str:
    """The first place where ``value`` is not what the schema asks for, in words; empty for none."""
    return next(_faults(value, schema, root or schema, "the card"), "")


def _faults(value: Json, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [next(_faults(value, one, root, where), "") for one in schema["anyOf"]]
        if all(tried):
            yield tried[0]
        return
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is {_short(value)}; expected {' or '.join(kinds)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {_short(value)}; expected {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {_short(value)}; expected one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, where)
    elif isinstance(value, list):
        yield from _length(len(value), schema, "Items", "entries", where)
        for index, part in enumerate(value if "items" in schema else ()):
            yield from _faults(part, schema["items"], root, f"{where}[{index}]")
    elif isinstance(value, str):
        yield from _length(len(value), schema, "Length", "characters", where)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            # What stands there may be a key, or have one in it: it is not repeated.
            yield f"{where} has {len(value):,} characters that are not of the form {schema['pattern']}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _range(value, schema, where)


def _is(value: Json, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _KINDS[kind])


def _of_object(value: dict[str, Json], schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where} has no “{name}”"
    for name, part in value.items():
        if "propertyNames" in schema:
            yield from _faults(name, schema["propertyNames"], root, f"the name {_short(name)} in {where}")
        inner = known.get(name, schema.get("additionalProperties", True))
        if inner is False:
            yield f"{where} has an unknown “{name[:60]}”"
        elif isinstance(inner, Mapping):
            yield from _faults(part, inner, root, f"{where}.{name[:60]}")


def _length(size: int, schema: Mapping[str, Any], what: str, unit: str, where: str) -> Iterator[str]:
    if size < schema.get(f"min{what}", 0):
        yield f"{where} has {size} {unit}; expected at least {schema[f'min{what}']}"
    if size > schema.get(f"max{what}", size):
        yield f"{where} has {size:,} {unit}; expected at most {schema[f'max{what}']:,}"


def _range(value: float, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    low, above, high = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if (low is not None and value < low) or (above is not None and value <= above):
        yield f"{where} is {value}; expected {'at least' if above is None else 'more than'} {low if above is None else above}"
    if high is not None and value > high:
        yield f"{where} is {value}; expected at most {high}"


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
