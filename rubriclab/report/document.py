"""All findings of a run as one document of plain JSON values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rubriclab.findings.alignment import alignment_json
from rubriclab.findings.choice import ChoiceModel
from rubriclab.findings.comparison import JudgeComparison
from rubriclab.findings.criteria import ArmCriteria, criteria_json
from rubriclab.findings.debiasing import Debiased
from rubriclab.findings.frame import status_counts
from rubriclab.findings.perturbation import perturbation_json
from rubriclab.findings.plain import plain
from rubriclab.findings.position import arm_json
from rubriclab.findings.ranking import ranking_json
from rubriclab.model import Arm, RunData
from rubriclab.report.gather import Gathered

NO_ALIGNMENT: dict[str, Any] = {"alignment": None, "ordering_rank": [], "budget": []}


def results(data: RunData, *, seed: int = 0) -> dict[str, Any]:
    """Every finding of a run as plain JSON values.

    ``arms`` has one object per judge, data set, strategy and variant; shares are fractions,
    Bias Costs percentage points, intervals [low, high], what is not known None. Findings that
    compare arms stand beside it, those of pairs and lists under ``judges``.
    """
    return document(Gathered(data, seed))


def document(found: Gathered) -> dict[str, Any]:
    """The document of findings that were gathered already."""
    data = found.data
    body: dict[str, Any] = {
        "run": data.run,
        "name": data.name,
        "simulated": data.simulated,
        "n_tests": 0,
        "arms": [],
        "warnings": [],
    }
    if "options" in found.axes:
        _add_options(body, found)
    if "criteria" in found.axes:
        _add_criteria(body, found)
    if found.axes & {"options", "criteria"}:
        body["rank_reversal"] = ranking_json(found.ranking)
        body["recommendation"] = plain(found.recommendation)
        body["warnings"] += found.ranking.warnings
    if found.axes & {"pairwise", "listwise"}:
        _add_comparison(body, found)
    return body


# ---------------------------------------------------------------- score options


def _add_options(body: dict[str, Any], found: Gathered) -> None:
    aligned = alignment_json(found.alignment)
    models = {model.arm: model for model in found.choice.arms}
    for code, arm in zip(found.option_codes, found.position.arms, strict=True):
        model = models.get(code)
        body["arms"].append(
            {
                **arm_json(arm),
                **NO_ALIGNMENT,
                **aligned["arms"].get(code, {}),
                "criteria": [],
                "choice_model": None if model is None else _choice_json(model),
            }
        )
    body["n_tests"] = found.position.n_tests
    body["comparisons"] = aligned["comparisons"]
    spent = found.debiasing
    body["debiasing"] = [_debiased_json(entry) for entry in spent.entries]
    body["break_even"] = plain(spent.break_even)
    body["warnings"] += [*found.position.warnings, *found.alignment.warnings, *spent.warnings]
    if found.perturbation is not None:
        body["perturbations"] = perturbation_json(found.perturbation)


def _choice_json(model: ChoiceModel) -> dict[str, Any]:
    """Effects as log-odds against the average level, with their tests and denominators."""
    names = (
        "position", "label", "neighbour", "position_test", "label_test", "neighbour_test",
        "identified", "source", "unit", "n_items", "n_reads", "n_informative", "excluded",
        "converged", "warnings",
    )  # fmt: skip
    return {name: plain(getattr(model, name)) for name in names}


def _debiased_json(entry: Debiased) -> dict[str, Any]:
    names = (
        "judge", "dataset", "variant", "source", "method", "calls_per_item", "distance_to_all",
        "ci", "r", "r_ci", "n_items", "total_calls", "standing",
    )  # fmt: skip
    return {name: plain(getattr(entry, name)) for name in names}


# ---------------------------------------------------------------- criterion order


def _add_criteria(body: dict[str, Any], found: Gathered) -> None:
    as_json = criteria_json(found.criteria)
    rows = {code: judgments for code, _, judgments in found.data.by_arm()}
    for arm in found.criteria.arms:
        judgments = rows[arm.code]
        body["arms"].append(
            {
                **_who(arm.arm),
                "n_criteria": arm.arm.n_positions,
                "n_texts": arm.texts,
                "reads": arm.reads,
                "calls": int(judgments["call"].nunique()),
                "judgments": status_counts(judgments),
                **NO_ALIGNMENT,
                **as_json["arms"].get(arm.code, {}),
                **_criteria_summary(arm),
            }
        )
    body["comparisons"] = body.get("comparisons", []) + as_json["comparisons"]
    body["warnings"] += found.criteria.warnings


def _criteria_summary(arm: ArmCriteria) -> dict[str, Any]:
    return {
        "delta_pos": {"mean": plain(arm.delta_mean), "max": plain(arm.delta_max)},
        "significant": {
            "raw": arm.significant,
            "corrected": arm.significant_holm,
            "tested": arm.tested,
        },
        "carryover": plain(arm.carryover),
        "carryover_separable": arm.carryover_separable,
        "warnings": list(arm.warnings),
    }


# ---------------------------------------------------------------- pairs and lists


def _add_comparison(body: dict[str, Any], found: Gathered) -> None:
    result = found.comparison
    rows = found.data.by_arm()
    body["arms"] += [
        {**_who(arm), "n_positions": arm.n_positions, "judgments": status_counts(judgments)}
        for _, arm, judgments in rows
        if arm.axis in ("pairwise", "listwise")
    ]
    body["judges"] = [_judge_json(judge) for judge in result.judges]
    body["agreement"] = plain([replace(group, hardest=()) for group in result.together])
    body["predictors"] = plain(found.predictors)
    body["n_tests"] += result.n_tests
    body["warnings"] += result.warnings


def _judge_json(judge: JudgeComparison) -> dict[str, Any]:
    """All numbers of a judge; the points of its charts, one a cell, stay in the charts."""
    found: dict[str, Any] = plain(replace(judge, points=()))
    del found["points"]
    found["judgments"] = found.pop("status")
    return found


def _who(arm: Arm) -> dict[str, Any]:
    return {
        "judge": arm.judge,
        "dataset": arm.dataset,
        "strategy": arm.strategy,
        "variant": {name: plain(level) for name, level in arm.variant.levels},
        "simulated": arm.simulated,
    }
