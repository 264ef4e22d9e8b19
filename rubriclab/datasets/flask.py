"""FLASK (Ye et al. 2024) as its authors publish it: three kinds of JSONL files, joined by a question's number.

- the evaluation set, ``evaluation_set/flask_evaluation.jsonl``: ``question_id``, ``text`` (the
  instruction), ``answer`` (the reference), ``task`` (the set it is from), ``metrics`` (the skills to
  judge, three each; those of FLASK-Hard are the same fields), ``domain_labeled`` (a list),
  ``difficulty_labeled``. Later copies say ``idx``, ``instruction`` and ``skill``;
- one file a model, ``model_output/outputs/MODEL.jsonl``: ``question_id``, ``text`` (the response),
  ``model_id``;
- one file a model, ``gpt_review/outputs/MODEL_review.jsonl``: the evaluation set's fields with
  ``target_txt`` (the response), ``review`` (GPT-4's words) and ``score``: an object by skill in lower
  case, 1 to 5 or ``"N/A"``; some keys end in a space, some numbers are beyond the scale. Which model
  it is, only the file's name says; the response tells.

There are no human ratings in these files. With the authors' ``skillset_description.json`` (``Skill``,
``Criteria``, ``Scoring``) their score descriptions are the rubric, else this project's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pandas as pd

from rubriclab.datasets.published import drift, own_rubric, table_with, tables_with
from rubriclab.datasets.tables import place, table_name
from rubriclab.model import Criterion, DataError, Dataset, Item, Rubric, ScoreOption
from rubriclab.model.language import tr
from rubriclab.model.wording import many

GOLD = "gpt4_score"
_NUMBER, _TEXT, _SKILLS = ("question_id", "idx"), ("text", "instruction"), ("metrics", "skill")
_REVIEW = ("target_txt", "review", "score")
_SKILLSET = ("Skill", "Criteria", "Scoring")


@dataclass(frozen=True, slots=True)
class _Answer:
    """A model's response to one question, and where it stands in its file."""

    number: str
    model: str
    text: str
    where: str


def read_flask(_title: str, frames: Sequence[pd.DataFrame], gold: str | None) -> Dataset:
    """An item a question, model and skill; ``gold`` makes GPT-4's score of the review its rating.

    Reviews alone will do: they hold question and response, and their files name the models.
    Raises DataError for another format, or for files that do not belong together.
    """
    reviews = tables_with(frames, _REVIEW)
    sets = [frame for frame in tables_with(frames, ("answer",)) if not set(_REVIEW) <= set(frame.columns)]
    outputs = [frame for frame in tables_with(frames, ("question_id", "text")) if "answer" not in set(frame.columns)]
    if gold is not None and not reviews:
        raise DataError(tr("“{gold}” stands in the files of gpt_review/outputs: add those of the models.", gold=GOLD))
    questions = _questions(
        sets or reviews or [table_with(frames, ("question_id", "text", "answer"), tr("FLASK's files"))]
    )
    answers = list(_answers(outputs) if outputs else _reviewed(reviews))
    if not answers:
        raise DataError(tr("FLASK's evaluation set has no responses: add a file of model_output/outputs."))
    scores = _scores(reviews) if gold is not None else {}
    items: list[Item] = []
    left_out = 0
    for answer in answers:
        question = questions.get(answer.number)
        if question is None or not answer.text.strip():
            left_out += 1
            continue
        items.extend(_items(answer, question, scores))
    if not items:
        raise DataError(
            tr("FLASK: no response belongs to a question of the evaluation set; the files are of two versions.")
        )
    rubric = _rubric(tables_with(frames, _SKILLSET), {str(item.criterion) for item in items})
    origin = f"({left_out:,} of {len(answers):,} responses left out: empty, or to no question here)" if left_out else ""
    return Dataset("FLASK", tuple(items), rubric, origin)


def _items(
    answer: _Answer, question: Mapping[Any, Any], scores: Mapping[tuple[str, str], Mapping[str, float]]
) -> Iterator[Item]:
    reference = str(question.get("answer") or "").strip()
    more = {"difficulty": question.get("difficulty_labeled"), "domain": _listed(question.get("domain_labeled"))}
    given = scores.get((answer.number, answer.text), {})
    for skill in _skills(question, answer.where):
        score = given.get(_folded(skill))
        yield Item(
            item_id=f"{answer.number}:{answer.model}:{skill}",
            instruction=str(_first(question, _TEXT)),
            response=answer.text,
            criterion=skill,
            block=f"{answer.number}:{answer.model}",
            prompt=answer.number,
            candidate=answer.model,
            task=str(question["task"]) if question.get("task") else None,
            human=() if score is None else (score,),
            references={5: reference} if reference else {},
            columns={name: str(value) for name, value in more.items() if value},
        )


def _questions(frames: Sequence[pd.DataFrame]) -> dict[str, Mapping[Any, Any]]:
    """The questions by their number. Raises DataError for a table without a number, text or skills."""
    questions: dict[str, Mapping[Any, Any]] = {}
    for frame in frames:
        for names in (_NUMBER, _TEXT, _SKILLS):
            if not set(names) & set(frame.columns):
                raise drift(frame, tr("FLASK's evaluation set needs the column {names}", names=tr(" or ").join(names)))
        for record in frame.to_dict("records"):
            questions.setdefault(str(_first(record, _NUMBER)), record)
    return questions


def _answers(frames: Sequence[pd.DataFrame]) -> Iterator[_Answer]:
    for frame in frames:
        for row, record in enumerate(frame.to_dict("records")):
            model = str(record.get("model_id") or _stem(frame))
            yield _Answer(str(record["question_id"]), model, str(record["text"] or ""), place(frame, row))


def _reviewed(frames: Sequence[pd.DataFrame]) -> Iterator[_Answer]:
    for frame in frames:
        for row, record in enumerate(frame.to_dict("records")):
            text = str(record["target_txt"] or "")
            yield _Answer(str(_first(record, _NUMBER)), _stem(frame), text, place(frame, row))


def _scores(frames: Sequence[pd.DataFrame]) -> dict[tuple[str, str], dict[str, float]]:
    """By question and response: GPT-4's score of each skill. ``"N/A"`` and what is not of 1 to 5 is no score."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for frame in frames:
        for row, record in enumerate(frame.to_dict("records")):
            given = record["score"]
            if not isinstance(given, Mapping):
                raise DataError(
                    tr(
                        "{place}: expected an object by skill; the format has changed.",
                        place=place(frame, row, "score"),
                    )
                )
            numbers = {
                _folded(str(skill)): _number(value, place(frame, row, "score")) for skill, value in given.items()
            }
            key = (str(_first(record, _NUMBER)), str(record["target_txt"] or ""))
            scores.setdefault(key, {}).update({skill: value for skill, value in numbers.items() if value is not None})
    return scores


def _number(value: Any, where: str) -> float | None:
    if value is None or str(value).strip().lower() in ("n/a", "na", "not applicable", ""):
        return None
    try:
        score = float(value)
    except (TypeError, ValueError) as error:
        raise DataError(tr("{where}: the score {value!r} is not a number.", where=where, value=value)) from error
    return score if 1 <= score <= 5 else None


def _skills(question: Mapping[Any, Any], where: str) -> list[str]:
    skills = _first(question, _SKILLS)
    if not isinstance(skills, list) or not skills:
        raise DataError(tr("{where}: its question names no skills; the format has changed.", where=where))
    return list(dict.fromkeys(str(skill) for skill in skills))


def _rubric(skillsets: Sequence[pd.DataFrame], skills: set[str]) -> Rubric:
    rubric = _authors_rubric(skillsets[0]) if skillsets else own_rubric("skills")
    unknown = sorted(skills - {criterion.name for criterion in rubric.criteria})
    if unknown:
        raise DataError(
            tr(
                "FLASK: no score descriptions for the {skills:skill|skills} {unknown}; add its skillset_description.json.",
                skills=many(len(unknown), "skill"),
                unknown=", ".join(unknown),
            )
        )
    return Rubric(rubric.name, tuple(one for one in rubric.criteria if one.name in skills))


def _authors_rubric(frame: pd.DataFrame) -> Rubric:
    criteria = [
        Criterion(
            str(record["Skill"]),
            tuple(ScoreOption(int(score), str(words)) for score, words in dict(record["Scoring"]).items()),
            str(record["Criteria"]),
        )
        for record in frame.to_dict("records")
    ]
    return Rubric("FLASK's skill set", tuple(criteria))


def _first(record: Mapping[Any, Any], names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _folded(skill: str) -> str:
    """A skill as the reviews write it: in lower case, with spaces."""
    return " ".join(skill.replace("_", " ").lower().split())


def _stem(frame: pd.DataFrame) -> str:
    """The model that a file's name says: ``chatgpt_review.jsonl.gz`` is of chatgpt."""
    return re.sub(r"_review$", "", PurePath(table_name(frame)).name.split(".jsonl")[0]) or "model"
