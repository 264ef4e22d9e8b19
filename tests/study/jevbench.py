"""JevBench's published cases (package ``jevbench``, Apache-2.0) as data sets, each question with a
rubric of its own.
"""

import json
from importlib.resources import files

from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import Study
from rubriclab.study.plan import Plan, plan


def published(most: int) -> dict[tuple[str, str], tuple[DataSet, Rubric]]:
    """(domain, question) -> the first ``most`` of its cases, and the options of its choice or score
    as published.
    """
    lines = (
        files("jevbench")
        .joinpath("suites/jevbench-240/cases.jsonl")
        .read_text("utf-8")
        .splitlines()
    )
    made: dict[tuple[str, str], tuple[DataSet, Rubric]] = {}
    for case in map(json.loads, lines):
        for name, question in case["questions"].items():
            if question["type"] == "noul":
                continue
            key, given = (case["domain"], name), question["criteria"]
            named = given.items() if isinstance(given, dict) else (("", text) for text in given)
            options = tuple(
                Option(k, text or "", label) for k, (label, text) in enumerate(named, 1)
            )
            rubric = Rubric(" ".join(key), (Criterion(name, options, question["instructions"]),))
            items = made[key][0].items if key in made else ()
            if len(items) < most:
                made[key] = DataSet(rubric.name, (*items, Item(case["id"], case["state"]))), rubric
    return made


def jevbench_plan(judge: JudgeSettings, questions: int = 48, most: int = 1) -> Plan:
    """Every balanced order of ``most`` cases of each question once."""
    first, *more = list(published(most).values())[:questions]
    study = Study.model_validate(
        {
            "name": "JevBench",
            "judges": [judge.model_dump()],
            "design": {"repeats": 1},
            "data": [
                {"file": f"{dataset.name}.csv", "name": dataset.name}
                for dataset, _ in (first, *more)
            ],
        }
    )
    return plan(study, *first, more)
