"""Say what a pasted rubric was understood as, before it is used.

Nothing is used silently: the form, the scores, missing scores, scores without a description, and
texts with a comma that YAML would cut are all named.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rubriclab.data.pasted_rubric import word_before_scores
from rubriclab.data.rubrics import pasted_form, rubric_of_text
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.text import shorten

MOST_MISSING = 8
"""More missing scores are not offered to be added: the scale is meant to be sparse then."""
MOST_NAMED = 4
"""So many criteria are named."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
FLOW_MAP = re.compile(r"(?P<before>\s*(?:-\s*)?\{)(?P<inside>.*)(?P<after>\}\s*,?\s*)")
"""One line of YAML with a map in braces."""
KEY = re.compile(r"\s*(?:score|description|label|name|text|meaning)\s*:(?:\s|$)", re.I)


@dataclass(frozen=True)
class Understood:
    """A pasted rubric as it was read.

    form: what the text is, for example “YAML”.
    notes: what was kept although it could have been read in another way.
    missing: scores between the lowest and the highest of one criterion that it lacks.
    """

    form: str
    rubric: Rubric
    notes: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()

    def sentence(self) -> str:
        """Say which scores were read."""
        first, *more = self.rubric.criteria
        if more:
            return f"Read as {self.form}: {count_word(len(more) + 1)} criteria."
        plural = "score" if len(first.scores) == 1 else "scores"
        listed = listed_numbers(first.scores)
        return f"Read as {self.form}: {count_word(len(first.scores))} {plural}, {listed}."

    def judged(self) -> str:
        """Say what the rubric judges, since a line above the scores may be no name of a criterion:
        every prompt would hold the beginning of a letter.
        """
        named = [
            f"“{shorten(criterion.name, 60)}”"
            + (f" ({shorten(criterion.description, 120)})" if criterion.description else "")
            for criterion in self.rubric.criteria
        ]
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        return f"What is judged, as every prompt says it: {', '.join(named[:MOST_NAMED])}{more}."

    def bare(self) -> list[str]:
        """Return a sentence for each criterion that has scores without a description."""
        said = []
        for criterion in self.rubric.criteria:
            bare = [option.score for option in criterion.options if not option.description.strip()]
            if bare:
                what = "Score {} has" if len(bare) == 1 else "Scores {} have"
                said.append(
                    f"{what.format(listed_numbers(bare))} no description. The judge would see "
                    "only the number."
                )
        return said

    def with_missing(self) -> Rubric:
        """Return the rubric with its missing scores, which have no description yet."""
        (criterion,) = self.rubric.criteria
        options = [*criterion.options, *(Option(score) for score in self.missing)]
        options.sort(key=lambda option: option.score)
        whole = replace(criterion, options=tuple(options))
        return replace(self.rubric, criteria=(whole,))


def understood(text: str) -> Understood:
    """Return what a pasted text is. Raises LabError naming a line that is unclear."""
    form = pasted_form(text)
    notes: list[str] = []
    if form == "YAML":
        text, notes = commas_kept(text)
    rubric = rubric_of_text(text)
    if form not in ("JSON", "YAML") and (word := word_before_scores(text)):
        notes.append(f"“{shorten(word)}” before each score is left out: the judge sees the number.")
    criteria = rubric.criteria
    return Understood(
        form=form,
        rubric=rubric,
        notes=tuple(notes),
        missing=_missing(criteria[0]) if len(criteria) == 1 else (),
    )


def _missing(criterion: Criterion) -> tuple[int, ...]:
    scores = criterion.scores
    if scores[-1] - scores[0] + 1 - len(scores) > MOST_MISSING:
        return ()
    return tuple(score for score in range(scores[0], scores[-1] + 1) if score not in scores)


def commas_kept(text: str) -> tuple[str, list[str]]:
    """Return YAML with the texts of its one-line maps quoted where they hold a comma.

    YAML would take what follows the comma as another key. Also returns a note for each such text.
    """
    lines, notes = [], []
    for number, line in enumerate(text.split("\n"), 1):
        made, kept = _quoted(line)
        lines.append(made)
        for part in kept:
            notes.append(f"Line {number}: a comma in the text. We kept “{part}” as one text.")
    return "\n".join(lines), notes


def _quoted(line: str) -> tuple[str, list[str]]:
    found = FLOW_MAP.fullmatch(line)
    if found is None or '"' in found["inside"] or "'" in found["inside"]:
        return line, []
    parts: list[str] = []
    joined = set[int]()
    for part in found["inside"].split(","):
        if parts and not KEY.match(part):
            parts[-1] += f",{part}"
            joined.add(len(parts) - 1)
        else:
            parts.append(part)
    if not joined or not KEY.match(parts[0]):
        return line, []
    kept = []
    for k in joined:
        key, _, value = parts[k].partition(":")
        parts[k] = f"{key}: {json.dumps(value.strip(), ensure_ascii=False)}"
        kept.append(shorten(value.strip(), 120))
    return f"{found['before']}{','.join(parts)}{found['after']}", kept


def count_word(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def listed_numbers(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last
