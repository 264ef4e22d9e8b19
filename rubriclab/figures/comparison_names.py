"""Short names of judges of pairs and lists, which tell two arms of one judge apart."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.model.language import tr


def judge_names(judges: Sequence[JudgeComparison]) -> list[str]:
    """Escaped short names that differ: what tells two arms of one judge apart is added."""
    return [escape(name) for name in names(judges)]


def names(judges: Sequence[JudgeComparison]) -> list[str]:
    """The same as plain text."""
    plain = [judge.judge for judge in judges]
    parts = [_name_parts(judge) for judge in judges]
    differing = [k for k in range(4) if len({row[k] for row in parts}) > 1]
    named = []
    for judge, mine in zip(judges, parts, strict=True):
        name = judge.judge
        if plain.count(judge.judge) > 1:
            more = [mine[k] for k in differing]
            name = " · ".join([name, *(part for part in more if part)])
        named.append(name)
    return [name if named.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(named)]


def _name_parts(judge: JudgeComparison) -> tuple[str, str, str, str]:
    """What can tell two arms of one judge apart."""
    protocol = tr("{n} shown", n=judge.n_positions) if judge.axis == "listwise" else tr("pairs")
    return judge.dataset, judge.strategy, protocol, judge.variant or ""
