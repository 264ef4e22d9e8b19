"""Runs looked for in the list of a store: by words, tag, state, kind, date, and on which shelf they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, get_args

from rubriclab.model import TRIAL_ORIGIN
from rubriclab.store import RunInfo

Shelf = Literal["listed", "archived", "deleted", "all"]
SHELVES: tuple[Shelf, ...] = get_args(Shelf)
TRIAL = "trial"
"""The kind of a run that tried one text; of every other it is the axis of its design."""


@dataclass(frozen=True)
class RunFilter:
    """What a run must meet to be found; what is empty leaves all in.

    ``words``: each must stand somewhere in its title, names, tags, judges or data set, upper or lower case.
    ``tags``: it has them all. ``since`` and ``until``: days on which it was made, both counted, by the clock of
    this machine.
    """

    words: str = ""
    tags: Collection[str] = ()
    states: Collection[str] = ()
    kinds: Collection[str] = ()
    since: date | None = None
    until: date | None = None
    shelf: Shelf = "listed"

    def found(self, runs: Iterable[RunInfo], judges: Mapping[int, Collection[str]]) -> tuple[RunInfo, ...]:
        """Those of ``runs`` that meet it, in their order; ``judges``: names by the run's number."""
        return tuple(info for info in runs if self._meets(info, judges.get(info.run_no, ())))

    def _meets(self, info: RunInfo, judges: Collection[str]) -> bool:
        if self.shelf not in ("all", shelf_of(info)):
            return False
        if self.states and info.state not in self.states:
            return False
        if self.kinds and kind_of(info) not in self.kinds:
            return False
        if not {tag.casefold() for tag in self.tags} <= {tag.casefold() for tag in info.tags}:
            return False
        made = local(info.created).date()
        if (self.since and made < self.since) or (self.until and made > self.until):
            return False
        named = "\n".join((info.name, info.made_as, info.run, info.dataset, *info.tags, *judges)).casefold()
        return all(word in named for word in self.words.casefold().split())


def shelf_of(info: RunInfo) -> Shelf:
    """Where a run is: deleted before archived."""
    if info.deleted is not None:
        return "deleted"
    return "archived" if info.archived is not None else "listed"


def kind_of(info: RunInfo) -> str:
    """What a run is about: the axis of its design, or one text that was tried."""
    return TRIAL if info.origin == TRIAL_ORIGIN else info.axis


def local(moment: datetime) -> datetime:
    """A time of the store, which keeps UTC, as the clock on the machine's wall shows it."""
    return moment.replace(tzinfo=UTC).astimezone()
