"""What is judged: items, comparisons, data sets."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, fields

from rubriclab.model.faults import DataError
from rubriclab.model.language import tr
from rubriclab.model.rubric import Rubric
from rubriclab.model.wording import many

MAX_RATING = 1e9
"""A rating further from 0 is no rating: its square, and sums of squares, would be rounded away."""
MAX_RATER_NAME = 200
"""Letters; what is longer is a text, in a column that was taken for one of names."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge under one criterion (method: section 1).

    ``human`` holds one rating per rater who gave one, ``raters`` the name of the rater of each;
    empty where they have no names (a mean, or slots: “the first rating”). ``block`` groups items that
    share a text, ``prompt`` groups candidates that answer one instruction, ``candidate`` names who
    wrote the response. ``references`` are reference answers by the score they stand for.
    ``columns``: other columns of the data, those that a prompt asks for by name, as text.
    """

    item_id: str
    instruction: str = ""
    response: str = ""
    criterion: str | None = None
    block: str | None = None
    prompt: str | None = None
    candidate: str | None = None
    task: str | None = None
    human: tuple[float, ...] = ()
    references: Mapping[int, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    raters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several candidates' answers to one prompt, to be compared with each other.

    ``turns`` are the user's messages (one for a single-turn task); ``responses[i][t]`` is
    candidate i's answer to turn t. ``columns``: those that all its candidates' items share.
    """

    item_id: str
    turns: tuple[str, ...]
    candidates: tuple[str, ...]
    responses: tuple[tuple[str, ...], ...]
    prompt: str | None = None
    task: str | None = None
    references: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """Items under a name, with the rubric the data brings along where it brings one.

    ``origin`` says where it came from (a file name, a recipe, "sample"). Raises DataError
    for no items, mixed kinds, repeated ids, and raters that are not one for each rating.
    """

    name: str
    items: tuple[Item, ...] | tuple[Comparison, ...]
    rubric: Rubric | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        if not self.items:
            raise DataError(tr("Data set “{name}” has no items.", name=self.name))
        seen: set[str] = set()
        for item in self.items:
            if item.item_id in seen:
                raise DataError(
                    tr(
                        "Data set “{name}” has two items with the id “{item_id}”; ids must differ. Map another column as "
                        "the id, or leave it out to number the rows.",
                        name=self.name,
                        item_id=item.item_id,
                    )
                )
            seen.add(item.item_id)
            if isinstance(item, Item) and item.raters:
                try:
                    rater_names(item.raters, item.human)
                except ValueError as fault:
                    raise DataError(
                        tr(
                            "Data set “{name}”, item “{item_id}”, has {fault}.",
                            name=self.name,
                            item_id=item.item_id[:60],
                            fault=fault,
                        )
                    ) from None

    @property
    def id(self) -> str:
        """A hash of the name and of every field of every item; of columns where there are any.

        Who the raters are decides no call, so their names are left out: a study whose raters are
        named later is the same study, with the same answers.
        """
        digest = hashlib.sha256(self.name.encode())
        names = [f.name for f in fields(self.items[0]) if f.name not in ("columns", "raters")]
        for item in self.items:
            row = [getattr(item, name) for name in names] + ([item.columns] if item.columns else [])
            digest.update(json.dumps(row, ensure_ascii=False).encode())
        return digest.hexdigest()[:32]

    def __len__(self) -> int:
        return len(self.items)


def rater_names(names: object, ratings: Sized) -> tuple[str, ...]:
    """``names`` as those of the raters of ``ratings``; none for None.

    Raises ValueError, with what is there in words, unless there is a name for each rating, or none
    at all, and no name stands twice.
    """
    if names is None:
        return ()
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(tr("raters {names!r} that are no list of names", names=str(names)[:60]))
    if len(names) not in (0, len(ratings)):
        raise ValueError(
            tr(
                "{raters} of {ratings}; name one for each rating, or none",
                raters=many(len(names), "rater"),
                ratings=many(len(ratings), "rating"),
            )
        )
    if not all(name.strip() for name in names):
        raise ValueError(tr("a rater without a name"))
    if long := [name for name in names if len(name) > MAX_RATER_NAME]:
        raise ValueError(
            tr(
                "a rater “{name}…” of {n:,} letters; {most} are kept of a name",
                name=long[0][:40],
                n=len(long[0]),
                most=MAX_RATER_NAME,
            )
        )
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(tr("two ratings of the rater “{name}”; keep the one that counts", name=twice[:60]))
    return tuple(names)
