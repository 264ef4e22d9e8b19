"""Define what is judged and by what: items, data sets of them, and rubrics."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from rubriclab.model.text import LabError, count, digest, look_alike, shorten

MIN_OPTIONS = 2
"""A single option leaves no choice."""
MAX_OPTIONS = 10
"""Options of a criterion: every order of a balanced design is asked, and labels stay short."""
MAX_ID = 1_000
"""Characters of an ID or name, so that messages, keys and tables stay small."""
INTENDED = "intended level"
"""The rater of recorded examples: the level that the sample's author aimed at. No person rated."""


@dataclass(frozen=True, slots=True)
class Option:
    """One score and its meaning. ``label``: its name in prompt and reply; empty for its number."""

    score: int
    description: str = ""
    label: str = ""

    @property
    def shown_label(self) -> str:
        return self.label or str(self.score)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named aspect with its own score options, kept in ascending order of score.

    Raises LabError for fewer than 2 or more than 10 options, and for scores or labels that appear
    twice.
    """

    name: str
    options: tuple[Option, ...]
    description: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise LabError("A criterion has no name. Give every criterion a name.")
        if not MIN_OPTIONS <= len(self.options) <= MAX_OPTIONS:
            raise LabError(
                f"Criterion “{shorten(self.name)}” has {count(len(self.options), 'score option')}. "
                f"Add or remove options so that it has {MIN_OPTIONS} to {MAX_OPTIONS}."
            )
        names = {
            "score": [str(option.score) for option in self.options],
            "label": [look_alike(option.shown_label) for option in self.options],
        }
        for what, values in names.items():
            twice = [value for value in values if values.count(value) > 1 or not value]
            if twice:
                raise LabError(
                    f"Criterion “{shorten(self.name)}” has the {what} “{twice[0]}” twice or empty. "
                    f"Give every option its own {what}."
                )
        object.__setattr__(
            self, "options", tuple(sorted(self.options, key=lambda option: option.score))
        )

    @property
    def scores(self) -> tuple[int, ...]:
        return tuple(option.score for option in self.options)


@dataclass(frozen=True)
class Rubric:
    """One or more criteria under a name. Raises LabError for none, and for look-alike names."""

    name: str
    criteria: tuple[Criterion, ...]

    def __post_init__(self) -> None:
        if not self.criteria:
            raise LabError(f"Rubric “{shorten(self.name)}” has no criterion. Add at least one.")
        names = [look_alike(criterion.name) for criterion in self.criteria]
        for name, criterion in zip(names, self.criteria, strict=True):
            if names.count(name) > 1:
                raise LabError(
                    f"Rubric “{shorten(self.name)}” has two criteria named "
                    f"“{shorten(criterion.name)}”. Rename one: names must differ in more than case "
                    "and blanks."
                )

    def criterion(self, name: str | None) -> Criterion:
        """Return the criterion of that name; for None the only one. Raises LabError for others."""
        if name is None and len(self.criteria) == 1:
            return self.criteria[0]
        for criterion in self.criteria:
            if name is not None and look_alike(criterion.name) == look_alike(name):
                return criterion
        known = ", ".join(shorten(criterion.name, 30) for criterion in self.criteria[:8])
        raise LabError(
            f"Rubric “{shorten(self.name)}” has no criterion “{shorten(str(name))}”. Its criteria "
            f"are {known}. Rename the criterion in the data, or add it to the rubric."
        )

    def criterion_named(self, column: str) -> tuple[str, str] | None:
        """Return (criterion, rater) that a column of ratings names, for example “human_1 clarity”.

        None if it names no criterion, or the rubric has only one.
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
        """Return the rubric as JSON values, as in ``[rubric]`` of a study file."""
        criteria = [
            asdict(part) | {"options": [asdict(option) for option in part.options]}
            for part in self.criteria
        ]
        return {"name": self.name[:200], "criteria": criteria}


def _words(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


@dataclass(frozen=True, slots=True)
class Item:
    """One answer to judge.

    criterion: what it is rated for; None for the rubric's only one, or for all in one call
    block: what items about one text have in common
    prompt: what answers to one instruction have in common
    candidate: who wrote the answer
    ratings: people's scores by rater name
    columns: further columns of the data as text, which a user's own judge prompt may ask for
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
    """Answers of several candidates to one prompt, from which the best is chosen.

    answers: sorted by their candidates' names
    candidate: these names with ``|`` between them
    ratings: whom each rater prefers (see ``preference``)
    """

    answers: tuple[Item, ...] = ()


@dataclass(frozen=True)
class DataSet:
    """Items under a name. Raises LabError for no items, and for IDs that look alike.

    origin: where they come from
    note: what to read before a launch
    taken: which column of the file has which role, in one line
    """

    name: str
    items: tuple[Item, ...]
    origin: str = ""
    note: str = ""
    taken: str = ""

    def __post_init__(self) -> None:
        if not self.items:
            raise LabError(
                f"Data set “{shorten(self.name)}” has no items. Add a row with an answer."
            )
        seen: dict[tuple[str, str], str] = {}
        for item in self.items:
            if len(item.item_id) > MAX_ID:
                raise LabError(
                    f"An ID has {len(item.item_id):,} characters "
                    f"(“{shorten(item.item_id, 40)}”); the limit is {MAX_ID:,}. Choose another ID "
                    "column."
                )
            key = (look_alike(item.item_id), look_alike(item.criterion or ""))
            if key in seen:
                raise LabError(
                    f"Data set “{shorten(self.name)}” has two IDs that are the same or look alike: "
                    f"“{shorten(seen[key])}” and “{shorten(item.item_id)}”. Choose another ID "
                    "column, or none to number the rows."
                )
            seen[key] = item.item_id

    @cached_property
    def id(self) -> str:
        """A hash of all that decides the calls, without raters and ratings."""
        return digest(self.name, [asdict(replace(item, ratings={})) for item in self.items])[:32]


def preference(ratings: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return whom each rater prefers of candidates that were rated one by one.

    ``ratings``: candidate -> {rater: score}. The result is the rank of the preferred candidate
    among the sorted names, from 1; 0 for a tie for the highest score. A rater who left a candidate
    out has no preference.
    """
    names = sorted(ratings)
    preferred = {}
    for rater in ratings[names[0]] if names else ():
        scores = [ratings[name][rater] for name in names if rater in ratings[name]]
        if len(scores) == len(names):
            best = [rank for rank, score in enumerate(scores, 1) if score == max(scores)]
            preferred[rater] = float(best[0]) if len(best) == 1 else 0.0
    return preferred
