"""Records in the Prometheus-Eval formats: the rubric travels with every record.

Two forms: the whole judge prompt in one string (MT-Bench, Vicuna Bench, FLASK), and fields
with a ``score_rubric`` object (BiGGen-Bench).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rubriclab.model import Criterion, DataError, Rubric, RubricError, ScoreOption
from rubriclab.model.language import tr

_HEADINGS = {
    "instruction": r"^###\s*The instruction to evaluate:[ \t]*\n",
    "response": r"^###\s*Response to evaluate:[ \t]*\n",
    "reference": r"^###\s*Reference Answer[^\n]*:[ \t]*\n",
    "rubric": r"^###\s*Score Rubrics?:[ \t]*\n",
}
_END = r"^###\s*Feedback:[ \t]*\s*\Z"
_SCORE = r"^[ \t]*Score (\d+):[ \t]*"
MAX_NAME = 90


@dataclass(frozen=True, slots=True)
class Record:
    """One record taken apart. ``options`` are (score, description); ``reference`` may be None."""

    instruction: str
    response: str
    reference: str | None
    reference_score: int | None
    aspect: str
    options: tuple[tuple[int, str], ...]


def is_prompt(value: Any) -> bool:
    """True for a string that is a whole Prometheus-Eval judge prompt."""
    return isinstance(value, str) and value.lstrip().startswith("###Task Description")


def is_score_rubric(value: Any) -> bool:
    """True for BiGGen-Bench's ``score_rubric`` object."""
    return isinstance(value, Mapping) and "criteria" in value and "score1_description" in value


def parse_prompt(text: str, *, where: str) -> Record:
    """A judge prompt taken apart at its ``###`` headings.

    The response and the reference answer may hold such headings themselves, so the first of
    "instruction" and "response" is taken and the last of "reference" and "rubric".
    Raises DataError, starting with ``where``, for a prompt without one of its parts.
    """
    spans = _spans(text, where)
    end = re.search(_END, text, re.M)
    stop = end.start() if end else len(text)
    instruction = text[spans["instruction"].end() : spans["response"].start()]
    reference_at = spans.get("reference")
    response_end = (reference_at or spans["rubric"]).start()
    response = text[spans["response"].end() : response_end]
    reference, score = None, None
    if reference_at is not None:
        reference = text[reference_at.end() : spans["rubric"].start()].strip()
        named = re.search(r"Score (\d+)", reference_at.group())
        score = int(named.group(1)) if named else None
    aspect, options = _rubric(text[spans["rubric"].end() : stop], where)
    return Record(instruction.strip(), response.strip(), reference, score, aspect, options)


def parse_score_rubric(value: Any, *, where: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """BiGGen-Bench's ``{criteria, score1_description, ...}`` as (aspect, options)."""
    if not is_score_rubric(value):
        raise DataError(
            tr(
                "{where}: expected an object with criteria and score1_description to score5_description; the "
                "format of the file has changed.",
                where=where,
            )
        )
    options = []
    for key, text in value.items():
        found = re.fullmatch(r"score(\d+)_description", key)
        if found:
            options.append((int(found.group(1)), str(text).strip()))
    return str(value["criteria"]).strip(), tuple(options)


class RubricBook:
    """Collects the rubrics of records; equal ones share a criterion, names stay different."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, tuple[tuple[int, str], ...]], str] = {}
        self._taken: set[str] = set()
        self._criteria: list[Criterion] = []

    def add(self, aspect: str, options: tuple[tuple[int, str], ...], *, where: str) -> str:
        """The name of the criterion with this aspect and these options, made when new."""
        key = (aspect, options)
        if key not in self._names:
            name = self._free_name(aspect)
            scale = tuple(ScoreOption(score, text or None) for score, text in options)
            try:
                self._criteria.append(Criterion(name, scale, aspect))
            except RubricError as error:
                raise DataError(f"{where}: {error}") from error
            self._names[key] = name
            self._taken.add(name)
        return self._names[key]

    def rubric(self, name: str) -> Rubric:
        return Rubric(name, tuple(self._criteria))

    def _free_name(self, aspect: str) -> str:
        short = aspect if len(aspect) <= MAX_NAME else aspect[: MAX_NAME - 1].rstrip() + "…"
        base = short or "criterion"
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base} ({number})", number + 1
        return name


def _spans(text: str, where: str) -> dict[str, re.Match[str]]:
    found: dict[str, re.Match[str]] = {}
    for part, pattern in _HEADINGS.items():
        matches = list(re.finditer(pattern, text, re.M))
        if matches:
            found[part] = matches[0] if part in ("instruction", "response") else matches[-1]
    missing = [p for p in ("instruction", "response", "rubric") if p not in found]
    if missing or not (found["instruction"].end() <= found["response"].start() < found["rubric"].start()):
        raise DataError(
            tr(
                "{where}: not a Prometheus-Eval prompt; its parts for {missing} are missing.",
                where=where,
                missing=", ".join(missing) or tr("instruction, response and rubric in that order"),
            )
        )
    reference = found.get("reference")
    if reference and not found["response"].end() <= reference.start() < found["rubric"].start():
        del found["reference"]
    return found


def _rubric(text: str, where: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """``[aspect]`` and its ``Score n: description`` lines (a description may span lines)."""
    marks = list(re.finditer(_SCORE, text, re.M))
    if not marks:
        raise DataError(tr("{where}: the score rubric of the prompt has no “Score n: ...” line.", where=where))
    aspect = text[: marks[0].start()].strip()
    if aspect.startswith("[") and aspect.endswith("]"):
        aspect = aspect[1:-1].strip()
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    options = tuple((int(mark.group(1)), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True))
    return aspect, options
