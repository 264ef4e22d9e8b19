"""Studies, judges and rubrics as the store writes and reads them: as the tables of a study file.

What knows these tables is imported by the function that needs it: that takes a sixth of a second, and whoever only
reads judgments needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubriclab.model import Dataset, Judge, Rubric, Study


def study_to_dict(study: Study) -> dict[str, Any]:
    from rubriclab.study import writing

    return writing.study_to_dict(study)


def study_from_dict(value: Mapping[str, Any], dataset: Dataset) -> Study:
    from rubriclab.study import reading

    return reading.study_from_dict(value, dataset=dataset)


def judge_to_value(judge: Judge) -> dict[str, Any]:
    from rubriclab.study import writing

    return writing.judge_to_value(judge)


def judge_from_value(value: Mapping[str, Any]) -> Judge:
    from rubriclab.study import tables

    return tables.judge_from_value(value)


def kept_judge_from_value(value: Mapping[str, Any]) -> Judge:
    from rubriclab.study import tables

    return tables.kept_judge_from_value(value)


def rubric_to_value(rubric: Rubric) -> dict[str, Any]:
    from rubriclab.datasets import rubrics

    return rubrics.rubric_to_value(rubric)


def rubric_from_value(value: Any) -> Rubric:
    from rubriclab.datasets import rubrics

    return rubrics.rubric_from_value(value)
