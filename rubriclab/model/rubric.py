"""What an item is rated by: score options, criteria, rubrics."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rubriclab.model.faults import RubricError
from rubriclab.model.hashing import fingerprint
from rubriclab.model.language import tr
from rubriclab.model.wording import many

MIN_OPTIONS, MAX_OPTIONS = 2, 10


@dataclass(frozen=True, slots=True)
class ScoreOption:
    """One score and what it stands for. No description: only the label is shown.

    ``label``: what stands for the score in a prompt and a reply ("poor", "3.5"); None: its number.
    """

    score: int
    description: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named aspect with its own score options, kept in ascending order of score.

    Raises RubricError for fewer than 2 or more than 10 options, or a repeated score or label.
    """

    name: str
    options: tuple[ScoreOption, ...]
    description: str = ""

    def __post_init__(self) -> None:
        scores = [option.score for option in self.options]
        if not self.name.strip():
            raise RubricError(tr("A criterion has no name: give every criterion a name."))
        if not MIN_OPTIONS <= len(scores) <= MAX_OPTIONS:
            raise RubricError(
                tr(
                    "Criterion “{name}” has {options}; a rubric needs {least} to {most}. Add or remove options.",
                    name=self.name,
                    options=many(len(scores), "score option"),
                    least=MIN_OPTIONS,
                    most=MAX_OPTIONS,
                )
            )
        for score in scores:
            if scores.count(score) > 1:
                raise RubricError(
                    tr(
                        "Criterion “{name}” lists score {score} more than once; each score may appear only once.",
                        name=self.name,
                        score=score,
                    )
                )
        folded = [label.casefold() for label in self._labels_of(self.options)]
        for option, label in zip(self.options, folded, strict=True):
            if option.label is not None and (not label.strip() or folded.count(label) > 1):
                raise RubricError(
                    tr(
                        "Criterion “{name}”: the label “{label}” of score {score} is empty or used twice (upper and "
                        "lower case count as one); give every score its own label.",
                        name=self.name,
                        label=option.label,
                        score=option.score,
                    )
                )
        ordered = tuple(sorted(self.options, key=lambda option: option.score))
        object.__setattr__(self, "options", ordered)

    @property
    def scores(self) -> tuple[int, ...]:
        return tuple(option.score for option in self.options)

    @property
    def labels(self) -> tuple[str, ...]:
        """What stands for each score, lowest score first."""
        return self._labels_of(self.options)

    @staticmethod
    def _labels_of(options: tuple[ScoreOption, ...]) -> tuple[str, ...]:
        return tuple(str(option.score) if option.label is None else option.label for option in options)

    def describe(self, score: int) -> str | None:
        return next(o.description for o in self.options if o.score == score)


@dataclass(frozen=True, slots=True)
class Rubric:
    """One or more criteria under a name. Raises RubricError for none or for repeated names."""

    name: str
    criteria: tuple[Criterion, ...]

    def __post_init__(self) -> None:
        names = [criterion.name for criterion in self.criteria]
        if not names:
            raise RubricError(tr("Rubric “{name}” has no criterion: add at least one.", name=self.name))
        for name in names:
            if names.count(name) > 1:
                raise RubricError(
                    tr(
                        "Rubric “{name}” has two criteria named “{criterion}”; names must differ.",
                        name=self.name,
                        criterion=name,
                    )
                )

    def criterion(self, name: str | None) -> Criterion:
        """The criterion of that name; the only one when ``name`` is None."""
        if name is None and len(self.criteria) == 1:
            return self.criteria[0]
        for criterion in self.criteria:
            if criterion.name == name:
                return criterion
        known = ", ".join(c.name for c in self.criteria[:8])
        raise RubricError(
            tr(
                "Rubric “{name}” has no criterion “{criterion}”. It has: {known}. Rename the criterion in the data "
                "or add it to the rubric.",
                name=self.name,
                criterion=name,
                known=known,
            )
        )

    @property
    def id(self) -> str:
        value = asdict(self)
        for criterion in value["criteria"]:
            # A rubric without labels keeps the id that it had before there were any.
            criterion["options"] = [{k: v for k, v in o.items() if k != "label" or v} for o in criterion["options"]]
        return fingerprint(value)
