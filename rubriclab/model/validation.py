"""Tables of plain values (of TOML, JSON, a form) checked by pydantic; faults in the lab's words.

What a table may hold is a class: a field is a key, with its type and its range. Whole numbers,
numbers and truth values are strict: ``"1"`` is no number and ``1`` is not true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import ErrorDetails

from rubriclab.model.faults import LabError, StudyError
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import did_you_mean

MAX_SEED = 2**63 - 1

Text = Annotated[str | None, AfterValidator(lambda text: text or None)]
"""A text; an empty one is as good as none."""
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Seed = Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)]
NotNegative = Annotated[
    float, Field(strict=True, ge=0, le=10**9), WrapValidator(lambda value, check: (check(value), value)[1])
]
"""A number as it was written: 1 stays a whole number, which decides the key of a call."""
Several = BeforeValidator(lambda value: value if isinstance(value, list | tuple) else [value])
"""A list of which a file may give the only part alone."""

T = TypeVar("T", bound="Table")


class Table(BaseModel):
    """A table of named values: an unknown key is a fault, null is as good as not given."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(tr("expected a table of keys, got {shown}.", shown=shown(value)))
        for key in value:
            if key not in cls.model_fields:
                raise ValueError(
                    tr(
                        "unknown key “{key}”.{meant} Allowed: {known}.",
                        key=key,
                        meant=did_you_mean(key, cls.model_fields),
                        known=", ".join(sorted(cls.model_fields)),
                    )
                )
        return {key: part for key, part in value.items() if part is not None}

    def given(self) -> dict[str, Any]:
        """The values of the keys that are there."""
        return {key: getattr(self, key) for key in self.model_fields_set}


def validated(shape: type[T], value: Any, where: str, error: type[LabError] = StudyError) -> T:
    """``value`` as ``shape``. Raises ``error`` for the first fault: its place, value and cure."""
    try:
        return shape.model_validate(value)
    except ValidationError as found:
        fault = found.errors(include_url=False)[0]
    # A part in brackets is no key of the file but a form that its value may have.
    keys = (part for part in fault["loc"] if not str(part).startswith("["))
    parts = (f" {key + 1}" if isinstance(key, int) else f", {key}" for key in keys)
    # Not from pydantic's own error: that repeats the table, in which a key may stand.
    field = shape.model_fields.get(str(fault["loc"][0])) if len(fault["loc"]) == 1 else None
    about = tr(" It is {description}.", description=tr(field.description)) if field and field.description else ""
    raise error(f"{where}{''.join(parts)}: {_words(fault)}{about}")


_EXPECTED = {
    "bool_type": msg("true or false"),
    "dict_type": msg("a table of keys"),
    "float_type": msg("a number"),
    "finite_number": msg("a finite number"),
    "greater_than": msg("a number above {gt}"),
    "greater_than_equal": msg("a number of at least {ge}"),
    "int_type": msg("a whole number"),
    "less_than_equal": msg("a number of at most {le}"),
    "string_type": msg("text in quotes"),
    "tuple_type": msg("a list"),
}
"""What stood to be expected, by pydantic's name of the fault."""


def _words(fault: ErrorDetails) -> str:
    context, value = fault.get("ctx", {}), shown(fault["input"])
    if "error" in context:  # a validator's own words
        return str(context["error"])
    if fault["type"] == "literal_error":
        known = re.findall(r"'([^']+)'", context["expected"])
        return tr(
            "{value} is not one of {known}.{meant}",
            value=value,
            known=", ".join(known),
            meant=did_you_mean(fault["input"], known),
        )
    expected = _EXPECTED.get(fault["type"])
    if not expected:
        return tr("{fault}, not {value}.", fault=fault["msg"], value=value)
    bounds = {name: _bound(context[name]) for name in context.keys() & {"gt", "ge", "le"}}
    return tr("expected {expected}, not {value}.", expected=tr(expected, **bounds), value=value)


def _bound(value: float) -> str:
    return figure(int(value) if float(value).is_integer() else value, ",")


def shown(value: Any) -> str:
    """A value in a message, however long; Python writes no whole number beyond 4,300 digits."""
    if isinstance(value, int) and value.bit_length() > 200:
        return tr("a whole number of some {n:,.0f} digits", n=value.bit_length() * 0.30103)
    return f"{value!r:.60}"
