"""The limits that a gate holds a judge to."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from rubriclab.model.faults import StudyError
from rubriclab.model.validation import Table, validated

Most = Annotated[float, Field(strict=True, gt=0, le=1)]
Points = Annotated[float, Field(strict=True, gt=0, le=1_000)]
Least = Annotated[float, Field(strict=True, ge=0, le=1)]


class GateLimits(Table):
    """[gate] of a study file, or the options of the command; what is not named is not asked."""

    max_v: Most | None = None
    max_shift: Points | None = None
    max_place: Most | None = None
    max_flip: Most | None = None
    max_unread: Most | None = None
    min_kappa: Least | None = None
    min_weighted_kappa: Least | None = None
    min_r: Least | None = None
    min_repeat: Least | None = None

    def over(self, other: GateLimits) -> GateLimits:
        """These limits, and those of ``other`` where these name none."""
        return GateLimits(**{**other.given(), **self.given()})


def gate_limits(value: Any, where: str) -> GateLimits:
    """The limits in a table of plain values. Raises StudyError for an unknown key and for a limit out of range."""
    return validated(GateLimits, value, where, StudyError)
