"""The conditions of a gate: what a judge may be held to before it stays in a pipeline.

The limits themselves are in ``gate_limits``: whoever only names conditions, as the command line's help,
needs none of what checks values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rubriclab.model.language import msg


@dataclass(frozen=True)
class Condition:
    """``about``: what is measured, as a sentence goes on; ``unit``: "" for a share or a coefficient."""

    key: str
    title: str
    about: str
    unit: str = ""

    @property
    def least(self) -> bool:
        """Must the number be at least the limit? Else at most."""
        return self.key.startswith("min_")

    @property
    def sized(self) -> bool:
        """Has the number a sign, and is its size held against the limit?"""
        return self.key in ("max_shift", "max_place")

    @property
    def beyond_noise(self) -> bool:
        """Is the number what is left beyond a judge's own noise, which truly is never below 0?"""
        return self.key == "max_flip"

    @property
    def option(self) -> str:
        """As on the command line."""
        return "--" + self.key.replace("_", "-")


CONDITIONS: Mapping[str, Condition] = {
    condition.key: condition
    for condition in (
        Condition("max_v", msg("Cramér's V of places"), msg("how unevenly places are picked, noise taken off")),
        Condition(
            "max_shift",
            msg("Shift of the mean score"),
            msg("mean score in ascending less that in descending order; of criteria first less last place, of each"),
            msg("points"),
        ),
        Condition(
            "max_place", msg("Advantage of the first place"), msg("wins of the place shown first less wins of the last")
        ),
        Condition(
            "max_flip", msg("Answers that flip"), msg("how many answers other orders change beyond asking again")
        ),
        Condition("max_unread", msg("Unread replies"), msg("share of replies that gave no answer")),
        Condition("min_kappa", msg("Kappa with people"), msg("Cohen's kappa of one read with one rating")),
        Condition(
            "min_weighted_kappa", msg("Weighted kappa with people"), msg("the same, weighted by squared distance")
        ),
        Condition(
            "min_r", msg("Pearson's r with people"), msg("of the mean over an item's reads with its mean rating")
        ),
        Condition(
            "min_repeat", msg("Repeats that agree"), msg("share of two reads in one and the same order that agree")
        ),
    )
}
"""Every condition by its key, in the order in which they are shown."""
