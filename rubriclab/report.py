"""All findings of a run as one JSON document, as text, and as one self-contained HTML file."""

from __future__ import annotations

from typing import Any

from rubriclab.findings.position import arm_json, position
from rubriclab.model import RunData


def results(data: RunData, *, seed: int = 0) -> dict[str, Any]:
    """Every finding of a run as plain JSON values.

    ``arms`` has one object per judge, data set, strategy and variant; shares are fractions,
    Bias Costs percentage points. Findings that compare arms stand beside it.
    """
    found = position(data, seed=seed)
    return {
        "run": data.run,
        "name": data.name,
        "simulated": data.simulated,
        "n_tests": found.n_tests,
        "arms": [arm_json(arm) for arm in found.arms],
        "warnings": list(found.warnings),
    }


def as_text(document: dict[str, Any]) -> str:
    """The findings of :func:`results` for a terminal."""
    lines = [f"Run {document['run']}"]
    if document["simulated"]:
        lines.append("SIMULATED judge: shows how the method works, not how any model behaves.")
    for arm in document["arms"]:
        lines.extend(["", *_arm_lines(arm)])
    return "\n".join(lines)


def _arm_lines(arm: dict[str, Any]) -> list[str]:
    judged, where = arm["judgments"], arm["position"]
    variant = "".join(f" · {name}={level}" for name, level in arm["variant"].items())
    lines = [
        f"{arm['judge']} · {arm['dataset']} · {arm['strategy']}{variant}",
        f"  judgments      {judged['ok']:,} read of {judged['total']:,}, {arm['n_items']:,} items",
    ]
    scores = arm["score_distribution"]
    spread = "  ".join(
        f"{s}: {share:.0%}" for s, share in zip(scores["scores"], scores["share"], strict=True)
    )
    lines.append(f"  scores given   {spread}")
    if where["verdict"] == "position and score cannot be told apart":
        lines.append(f"  within item    sd {_number(arm['within_item_sd'], '.2f')} (the order never changed)")
        return lines
    shares = "  ".join(_percent(share) for share in where["share"])
    lines.append(f"  position 1..n  {shares}   (even: {1 / arm['n_options']:.0%})")
    test = where["test"]
    lines.append(
        f"  verdict        {where['verdict']}: V {_number(where['cramers_v'], '.3f')} "
        f"{_interval(where['cramers_v_ci'])}, {test['name']} p {_number(test['p'], '.2g')}"
    )
    cost = arm["bias_cost"]
    best = cost["best"]
    lines.append(
        f"  Bias Cost      default {_number(cost['default'], '.1f')}, best "
        f"{' '.join(map(str, best['ordering']))} {_number(best['cost'], '.1f')} points"
    )
    lines.append(f"  within item    sd {_number(arm['within_item_sd'], '.2f')}")
    lines.extend(f"  note           {warning}" for warning in arm["warnings"])
    return lines


def _number(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _interval(ci: list[float | None]) -> str:
    low, high = ci
    return "[no interval]" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"
