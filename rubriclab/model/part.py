"""Refuse typing errors in a table of settings: unknown keys, and ``true`` for a number."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


class Part(BaseModel):
    """One table of the study file.

    Unknown keys are refused, so that no misspelt setting is ignored. ``true`` is refused instead of
    a number, because Python counts it as 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_as_a_number(cls, value: Any, about: ValidationInfo) -> Any:
        given = value if isinstance(value, list | tuple) else [value]
        expected = cls.model_fields[str(about.field_name)].annotation
        if any(isinstance(part, bool) for part in given) and "bool" not in str(expected):
            raise ValueError("input should be no true or false")
        return value
