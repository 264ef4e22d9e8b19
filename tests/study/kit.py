"""Small studies that tests of plans and runs share."""

from typing import Any

from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import Study
from rubriclab.study.plan import Plan, plan

API = JudgeSettings(name="api", kind="openai", model="m", base_urls=("http://127.0.0.1:9/v1",))
EMBEDDED = JudgeSettings(name="small", kind="embedded")


def criterion(name: str = "quality", n: int = 5) -> Criterion:
    return Criterion(name, tuple(Option(score, f"level {score}") for score in range(1, n + 1)))


ABC = tuple(map(criterion, "abc"))


def data(count: int, **more: Any) -> DataSet:
    return DataSet(
        "d", tuple(Item(f"i{k}", f"response {k}", f"instruction {k}", **more) for k in range(count))
    )


def small_plan(
    count: int = 3,
    *,
    judges: tuple[JudgeSettings, ...] = (API,),
    criteria: tuple[Criterion, ...] = (criterion(),),
    dataset: DataSet | None = None,
    name: str = "small",
    **design: Any,
) -> Plan:
    """``count`` items, one criterion of five scores, every balanced order twice: 20 calls an
    item.
    """
    study = Study.model_validate(
        {
            "name": name,
            "data": {"file": "d.csv"},
            "design": design,
            "judges": [judge.model_dump() for judge in judges],
        }
    )
    return plan(study, dataset or data(count), Rubric("r", criteria))
