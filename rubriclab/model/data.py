"""Texts, ratings and scores in; items, data sets of them, and the rubrics that they are judged by,
out.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from rubriclab.model.text import LabError, count, digest, look_alike, shorten

MIN_OPTIONS, MAX_OPTIONS = 2, 10
MAX_ID = 1_000
INTENDED = "intended level"
"""The rater of recorded examples: what the sample's author aimed at. It is called that, and nothing
is said of people.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One score and what it stands for. ``label``: what stands for it in prompt and reply; empty:
    its number.
    """

    score: int
    description: str = ""
    label: str = ""

    @property
    def shown_label(self) -> str:
        return self.label or str(self.score)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named aspect with its own score options, kept in ascending order of score.

    Raises LabError for fewer than 2 or more than 10 options, and for scores or labels that stand
    twice.
    """

    name: str
    options: tuple[Option, ...]
    description: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise LabError("A criterion has no name: give every criterion one.")
        if not MIN_OPTIONS <= len(self.options) <= MAX_OPTIONS:
            raise LabError(
                f"Criterion “{shorten(self.name)}” has {count(len(self.options), 'score option')}; "
                f"expected "
                f"{MIN_OPTIONS} to {MAX_OPTIONS}. Add or remove options."
            )
        names = {
            "score": [str(option.score) for option in self.options],
            "label": [look_alike(option.shown_label) for option in self.options],
        }
        for what, values in names.items():
            twice = [value for value in values if values.count(value) > 1 or not value]
            if twice:
                raise LabError(
                    f"Criterion “{shorten(self.name)}” has the {what} “{twice[0]}” twice or empty; "
                    f"every option needs "
                    f"its own {what}."
                )
        object.__setattr__(
            self, "options", tuple(sorted(self.options, key=lambda option: option.score))
        )

    @property
    def scores(self) -> tuple[int, ...]:
        return tuple(option.score for option in self.options)


@dataclass(frozen=True)
class Rubric:
    """One or more criteria under a name. Raises LabError for none, and for names that look
    alike.
    """

    name: str
    criteria: tuple[Criterion, ...]

    def __post_init__(self) -> None:
        if not self.criteria:
            raise LabError(f"Rubric “{shorten(self.name)}” has no criterion: add at least one.")
        names = [look_alike(criterion.name) for criterion in self.criteria]
        for name, criterion in zip(names, self.criteria, strict=True):
            if names.count(name) > 1:
                raise LabError(
                    f"Rubric “{shorten(self.name)}” has two criteria named "
                    f"“{shorten(criterion.name)}”; names must "
                    "differ in more than case and blanks."
                )

    def criterion(self, name: str | None) -> Criterion:
        """The criterion of that name, the only one where ``name`` is None. Raises LabError where
        there is none.
        """
        if name is None and len(self.criteria) == 1:
            return self.criteria[0]
        for criterion in self.criteria:
            if name is not None and look_alike(criterion.name) == look_alike(name):
                return criterion
        known = ", ".join(shorten(criterion.name, 30) for criterion in self.criteria[:8])
        raise LabError(
            f"Rubric “{shorten(self.name)}” has no criterion “{shorten(str(name))}”; it has "
            f"{known}. Rename the "
            "criterion in the data, or add it to the rubric."
        )

    def criterion_named(self, column: str) -> tuple[str, str] | None:
        """(criterion, rater) that a column of ratings names, as “human_1 clarity” does; None where
        it names no criterion, or the rubric has one alone.
        """
        if len(self.criteria) < 2:
            return None
        words = f" {_words(column)} "
        named = [
            criterion.name for criterion in self.criteria if f" {_words(criterion.name)} " in words
        ]
        if not named:
            return None
        longest = max(named, key=len)
        return longest, words.replace(f" {_words(longest)} ", " ", 1).strip() or "human"

    @cached_property
    def id(self) -> str:
        return digest(asdict(self))[:32]

    def document(self) -> dict[str, Any]:
        """As JSON values: what ``[rubric]`` of a study file holds."""
        criteria = [
            asdict(part) | {"options": [asdict(option) for option in part.options]}
            for part in self.criteria
        ]
        return {"name": self.name[:200], "criteria": criteria}


def _words(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


@dataclass(frozen=True, slots=True)
class Item:
    """One answer to judge. ``ratings``: people's scores by rater name.

    ``criterion``: the one it is rated under, None for the rubric's only one (or for all of them in
    one call); ``prompt`` groups answers to one instruction, ``block`` groups items about one text,
    ``candidate`` names who wrote the answer. ``columns``: further columns of the data as text,
    which an own prompt may ask for.
    """

    item_id: str
    response: str
    instruction: str = ""
    reference: str = ""
    criterion: str | None = None
    block: str | None = None
    prompt: str | None = None
    candidate: str | None = None
    task: str | None = None
    ratings: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Comparison(Item):
    """Answers of several candidates to one prompt, to choose the best of: ``answers`` sorted by
    their candidates' names.

    ``candidate``: these names with ``|`` between them; ``ratings``: whom each rater prefers (see
    ``preference``).
    """

    answers: tuple[Item, ...] = ()


@dataclass(frozen=True)
class DataSet:
    """Items under a name; ``origin`` says where from, ``note`` what to read before a launch.

    ``taken``: which columns of its file were taken for what, in one line.

    Raises LabError for no items and for ids that look alike.
    """

    name: str
    items: tuple[Item, ...]
    origin: str = ""
    note: str = ""
    taken: str = ""

    def __post_init__(self) -> None:
        if not self.items:
            raise LabError(
                f"Data set “{shorten(self.name)}” has no items: it needs at least one row with an "
                f"answer."
            )
        seen: dict[tuple[str, str], str] = {}
        for item in self.items:
            if len(item.item_id) > MAX_ID:
                raise LabError(
                    f"An id of {len(item.item_id):,} signs begins “{shorten(item.item_id, 40)}”; "
                    f"expected at most "
                    f"{MAX_ID:,}. Choose another column as the id."
                )
            key = (look_alike(item.item_id), look_alike(item.criterion or ""))
            if key in seen:
                raise LabError(
                    f"Data set “{shorten(self.name)}” has the ids “{shorten(seen[key])}” and "
                    f"“{shorten(item.item_id)}”, "
                    "which are the same or look alike. Choose another column as the id, or leave "
                    "it out to number "
                    "the rows."
                )
            seen[key] = item.item_id

    @cached_property
    def id(self) -> str:
        """A hash of what decides the calls: names of raters and ratings are left out."""
        return digest(self.name, [asdict(replace(item, ratings={})) for item in self.items])[:32]


def preference(ratings: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Whom each rater prefers of candidates that were rated one by one: {rater: rank of the name
    from 1, 0 a tie}.

    ``ratings``: candidate -> {rater: score}. A rater who left a candidate out has no preference;
    the highest score wins, and where several share it nobody does. Ranks are of the sorted names,
    as a comparison's ``ratings`` have them.
    """
    names = sorted(ratings)
    preferred = {}
    for rater in ratings[names[0]] if names else ():
        scores = [ratings[name][rater] for name in names if rater in ratings[name]]
        if len(scores) == len(names):
            best = [rank for rank, score in enumerate(scores, 1) if score == max(scores)]
            preferred[rater] = float(best[0]) if len(best) == 1 else 0.0
    return preferred
