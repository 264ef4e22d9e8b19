"""The study that is being set up in this visit: what the steps chose in, a plan or the reason why there is none out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st
from pydantic import ValidationError

from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import DataPart, DesignPart, RubricPart, Study, problems
from rubriclab.model.text import LabError, shorten

if TYPE_CHECKING:
    from rubriclab.data.tables import Table
    from rubriclab.runs.estimate import Estimate
    from rubriclab.study.plan import Plan


@dataclass
class Draft:
    """What the steps hold. ``problems``: by step, why it cannot be launched as it stands; empty steps are fine.

    ``table``: an upload; ``columns``: which of its columns are what, by role; ``dataset``: its items by these
    columns, ``confirmed`` once the user said that they are right.
    """

    table: Table | None = None
    file: str = ""
    columns: dict[str, str | list[str]] = field(default_factory=dict)
    dataset: DataSet | None = None
    confirmed: bool = False
    sample: bool = False
    rubric: Rubric | None = None
    judges: tuple[JudgeSettings, ...] = (JudgeSettings(name="smollm2-135m"),)
    design: DesignPart = field(default_factory=DesignPart)
    name: str = ""
    problems: dict[int, str] = field(default_factory=dict)
    planned: tuple[str, Plan] | None = None
    """The last plan, beside what it was made of."""
    estimated: tuple[Plan, Estimate] | None = None

    def study(self) -> Study:
        """The study file of this draft. Raises LabError in words for what its models refuse."""
        if self.dataset is None or self.rubric is None:
            raise LabError("First add your answers in step 1.")
        try:
            if self.sample:
                part = DataPart(sample=True)
            else:
                part = DataPart(
                    file=shorten(self.file, 200), name=shorten(self.dataset.name, 200), columns=self.columns
                )
            return Study(
                name=shorten(self.name, 200) or "Study",
                data=(part,),
                rubric=RubricPart(name=shorten(self.rubric.name, 200), criteria=self.rubric.criteria_document()),
                design=self.design,
                judges=self.judges,
            )
        except ValidationError as fault:
            raise LabError(problems(fault)) from None

    def plan(self) -> Plan:
        """The calls that a launch would make; computed once for each state of the draft. Raises LabError."""
        from rubriclab.study.plan import plan

        study = self.study()
        assert self.dataset is not None
        assert self.rubric is not None
        key = study.identity(self.dataset.id, self.rubric.id) + study.name
        if self.planned is None or self.planned[0] != key:
            self.planned = key, plan(study, self.dataset, self.rubric)
        return self.planned[1]

    def estimate(self, plan: Plan) -> Estimate:
        """What the plan takes and can find; computed once for each plan."""
        from rubriclab.runs.estimate import estimate

        if self.estimated is None or self.estimated[0] is not plan:
            self.estimated = plan, estimate(plan)
        return self.estimated[1]


def draft() -> Draft:
    """The draft of this visit."""
    if "setup draft" not in st.session_state:
        from rubriclab.data.sample import sample_rubric

        st.session_state["setup draft"] = Draft(rubric=sample_rubric())
    made: Draft = st.session_state["setup draft"]
    return made


def study_toml(study: Study) -> str:
    """The study as the file that ``read_study`` reads: what differs from the defaults, with rubric and judges."""
    body = study.model_dump(mode="json", exclude_defaults=True)
    body["judges"] = [judge.model_dump(mode="json", exclude_defaults=True) for judge in study.judges]
    for judge in body["judges"]:
        if judge.get("temperature", 0.0) is None:
            judge["temperature"] = "server"
    head, tables = [], []
    for key, value in body.items():
        if isinstance(value, dict):
            tables.append(f"[{key}]\n" + _lines(value))
        elif isinstance(value, list):
            tables += [f"[[{key}]]\n" + _lines(part) for part in value]
        else:
            head.append(f"{key} = {_value(value)}\n")
    return "\n".join(["".join(head), *tables])


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in table.items() if value is not None)


def _value(value: Any) -> str:
    """One TOML value: tables inline, arrays of tables one a line."""
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in value.items() if part is not None)
            + " }"
        )
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return "[\n" + "".join(f"  {_value(part)},\n" for part in value) + "]"
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):  # JSON's escapes are TOML's, but for the delete sign
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)
