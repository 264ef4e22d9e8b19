"""A label that passes holds in results too, also where no call shows it."""

from typing import Any

import pytest

import rubriclab.measures  # noqa: F401 - registers what rows are made of
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import ReadingPart, Study
from rubriclab.runs.forecast import estimate
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.plan import plan
from tests.runs.kit import Scripted, ended
from tests.study.kit import API

OPTIONS = (Option(0, "right", "Pass"), Option(1, "wrong", "Fail"))
CRITERIA = (Criterion("Right", OPTIONS), Criterion("Clear", OPTIONS))
ANSWERS = DataSet(
    "d", tuple(Item(f"i{k}", f"r{k}", f"q{k}", ratings={"ann": float(k % 2)}) for k in range(6))
)


def lowest(call: Call, _: int) -> Reply:
    """Give each criterion or response the lower score."""
    if len(call.ordering.shown) > 1 and call.template.startswith(("criteria", "batch")):
        names = call.ordering.labels if call.template.startswith("batch") else call.ordering.shown
        return Reply("\n".join(f"[{name}] 0" for name in names))
    shown = dict(zip(call.ordering.shown, call.ordering.labels, strict=False))
    return Reply(str(shown.get(0, 0)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "design",
    [
        {"reorder": "options"},
        {"reorder": "bare"},
        {"reorder": "criteria"},
        {"reorder": "responses", "k": 3},
        {"reorder": ["criteria", "options"]},
        {"vary": {"ids": ["letters", "arabic"]}},
    ],
)
def test_the_lower_score_passes_in_every_design(
    store: Store, scripted: Scripted, design: dict[str, Any]
) -> None:
    scripted(lowest)
    study = Study.model_validate(
        {
            "name": "s",
            "data": {"file": "d.csv"},
            "design": design,
            "reading": {"passes": "Pass"},
            "judges": [API.model_dump()],
        }
    )
    made = plan(study, ANSWERS, Rubric("r", CRITERIA))
    assert "Labelled: " in estimate(made).labels
    end = ended(Run(store, made))
    assert end.state == "finished"
    table = store.table(end.run)
    findings = Findings(Judgments(table), ReadingPart.model_validate(table.reading))
    assert findings.rows
    rates = [findings.pass_rate(code) for code in range(len(table.conditions))]
    assert {rate.score for rate in rates if rate is not None} <= {0.0}
