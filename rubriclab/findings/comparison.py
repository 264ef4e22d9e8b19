"""Pairwise and list-wise runs: consistency, fairness, stability and agreement of judges.

Definitions: method, section 5 (Shi et al., Judging the Judges). Everything that cannot be used
is counted in ``Usable`` and said in ``warnings``.

Cells: a cell is candidate x task. With a fixed baseline (one candidate that is in every
comparison, found in the data) the candidate of a pair is the other one. Otherwise a cell's
candidate is the whole set compared ("a | b"), and tables per candidate pool the cells it is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.findings.comparison_effects import consistency_words, place_sentence
from rubriclab.findings.comparison_judge import JudgeComparison, judge_result
from rubriclab.findings.comparison_together import JudgesTogether, judges_together
from rubriclab.findings.frame import status_counts
from rubriclab.findings.plain import plain
from rubriclab.findings.series import ArmCalls, RunCodes
from rubriclab.findings.topic import VARIED, Advice, DocumentPart, Json, Sentence, Topic, about, arm_json, setting
from rubriclab.model import Axis, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats.inference import Floats, Ints, holm
from rubriclab.stats.stepwise import Stepwise, stepwise


@dataclass(frozen=True)
class ComparisonResult:
    """``judges``: one entry an arm; ``together``: one a data set that several judges share."""

    judges: tuple[JudgeComparison, ...]
    together: tuple[JudgesTogether, ...]
    n_tests: int
    warnings: tuple[str, ...] = ()


def comparison(data: RunData, *, seed: int = 0, n_boot: int = 1000) -> ComparisonResult:
    """Every pairwise and list-wise finding of a run; intervals are by question (``RunCodes``)."""
    run = RunCodes.of(data)
    picked = [(code, arm) for code, arm in enumerate(data.arms) if arm.axis in ("pairwise", "listwise")]
    if not picked:
        note = tr("This run has no pairwise or list-wise arm: there is nothing to compare.")
        return ComparisonResult((), (), 0, (note,))
    arms = [ArmCalls.of(data, run, code, arm) for code, arm in picked]
    results = [judge_result(data, run, rows, _beside(rows, arms), seed=seed) for rows in arms]
    adjusted = _holm_by_judge(results)
    judges = tuple(
        JudgeComparison(code=code, **result, pf_p_holm=p)
        for (code, _), result, p in zip(picked, results, adjusted, strict=True)
    )
    groups: dict[tuple[Any, ...], list[ArmCalls]] = {}
    for rows in arms:
        arm = rows.arm
        groups.setdefault((arm.dataset, arm.axis, rows.p, arm.strategy, arm.variant), []).append(rows)
    together = tuple(
        judges_together(data, run, members, seed=seed, n_boot=n_boot) for members in groups.values() if len(members) > 1
    )
    tested = sum(bool(np.isfinite(judge.pf_test.p)) for judge in judges)
    return ComparisonResult(judges, together, tested)


def _beside(rows: ArmCalls, arms: Sequence[ArmCalls]) -> list[ArmCalls]:
    """The other strategies of an arm's setting, with lists of the same length."""
    same = [other for other in arms if setting(other.arm) == setting(rows.arm) and other.p == rows.p]
    return [other for other in same if other is not rows]


def _holm_by_judge(results: Sequence[Mapping[str, Any]]) -> list[float]:
    """Each arm's p of PF, corrected over the arms of the same judge that have one.

    Another judge in the run is another reader's question: it changes nothing here.
    """
    names = np.array([result["judge"] for result in results])
    p = np.array([result["pf_test"].p for result in results])
    adjusted = np.full(len(p), np.nan)
    for name in dict.fromkeys(names.tolist()):
        adjusted[names == name] = holm(p[names == name])
    return [float(value) for value in adjusted]


# ------------------------------------------------------------------ what predicts PC and PF


@dataclass(frozen=True)
class Predictors:
    """Stepwise regressions over the cells of all judges with one protocol and list length."""

    axis: Axis
    n_positions: int
    judges: tuple[str, ...]
    pc: Stepwise
    pf: Stepwise
    warnings: tuple[str, ...]


def predictors(comparison: ComparisonResult) -> tuple[Predictors, ...]:
    """Which of judge, task, candidate, lengths and quality gap predict PC and PF (Appendix E)."""
    groups: dict[tuple[Axis, int], list[JudgeComparison]] = {}
    for judge in comparison.judges:
        groups.setdefault((judge.axis, judge.n_positions), []).append(judge)
    return tuple(_predict(axis, p, judges) for (axis, p), judges in groups.items())


def _predict(axis: Axis, p: int, judges: Sequence[JudgeComparison]) -> Predictors:
    rows = [(f"{j.judge} {j.variant}".strip(), cell) for j in judges for cell in j.cells]
    cells = [cell for _, cell in rows]
    variables: dict[str, Floats | Ints] = {
        "Judge": _codes([judge for judge, _ in rows]),
        "Task": _codes([cell.task for cell in cells]),
        "Candidate": _codes([cell.candidate for cell in cells]),
        "Quality gap": np.array([cell.gap for cell in cells], dtype=np.float64),
    }
    for name in sorted({name for cell in cells for name in cell.lengths}):
        label = name.replace("_", " ").capitalize()
        values = [cell.lengths.get(name, float("nan")) for cell in cells]
        variables[label] = np.array(values, dtype=np.float64)
    return Predictors(
        axis=axis,
        n_positions=p,
        judges=tuple(dict.fromkeys(judge for judge, _ in rows)),
        pc=stepwise(np.array([cell.pc for cell in cells], dtype=np.float64), variables),
        pf=stepwise(np.array([cell.pf for cell in cells], dtype=np.float64), variables),
        warnings=(
            tr(
                "Cells share questions and candidates and hold different numbers of comparisons, while least "
                "squares takes them as independent and alike."
            ),
            tr(
                "The quality gap is computed from the same judgments as PC and cannot exceed PC x (1 - 1/p): its "
                "weight for PC is partly arithmetic."
            ),
        ),
    )


def _codes(names: Sequence[str]) -> Ints:
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


# ---------------------------------------------------------------- the topics


def comparison_sentence(judge: JudgeComparison) -> str:
    """Whether the place decides, then how often a choice stays."""
    pairs = judge.axis == "pairwise"
    sentence = place_sentence(judge.judge, judge.first_place, pairs=pairs)
    clause = consistency_words(judge.pc, judge.first_place.design, judge.order_excess, pairs=pairs)
    return f"{sentence} {clause[0].upper()}{clause[1:]}." if clause else sentence


def headlines(result: ComparisonResult) -> tuple[JudgeComparison, ...]:
    """One arm for each judge and setting: that which shows the place best, then the largest.

    Only these give verdicts, so that a judge's questions stay as many as are corrected for.
    """
    best: dict[tuple[str, str, str], JudgeComparison] = {}
    for judge in sorted(result.judges, key=_rank):
        best.setdefault(setting(judge), judge)
    return tuple(judge for judge in result.judges if best[setting(judge)] is judge)


def _rank(judge: JudgeComparison) -> tuple[bool, int, int]:
    varied = VARIED.index(judge.strategy) if judge.strategy in VARIED else len(VARIED)
    first = judge.first_place
    return not np.isfinite(first.effect.estimate), varied, -first.comparisons


def _sentences(result: ComparisonResult) -> Iterator[Sentence]:
    return (Sentence(about(judge), comparison_sentence(judge), 0) for judge in headlines(result))


def _summary(result: ComparisonResult) -> str:
    verdicts = [judge.first_place.effect.verdict for judge in headlines(result)]
    shown, none = verdicts.count("effect"), verdicts.count("equivalent")
    return tr(
        "the place decides for {shown} of {judges}, hardly for {none}, and is open for {open}",
        shown=shown,
        judges=many(len(verdicts), "judge"),
        none=none,
        open=len(verdicts) - shown - none,
    )


def _advice(result: ComparisonResult) -> Iterator[Advice]:
    for judge in headlines(result):
        pairs, excess = judge.axis == "pairwise", judge.order_excess
        sentence = place_sentence(judge.judge, judge.first_place, pairs=pairs)
        yield Advice(
            setting(judge),
            "first place",
            tr("Does the place decide?"),
            sentence,
            judge.first_place.effect,
            primary=True,
        )
        clause = consistency_words(judge.pc, judge.first_place.design, excess, pairs=pairs)
        if clause:
            answer = f"{clause[0].upper()}{clause[1:]}."
            yield Advice(
                setting(judge),
                "consistency",
                tr("Does the order change single choices?"),
                answer,
                excess.effect,
                primary=excess.comparisons > 0,
            )


def _document(result: ComparisonResult, data: RunData) -> DocumentPart:
    arms: dict[int, Json] = {
        code: {**arm_json(arm), "n_positions": arm.n_positions, "judgments": status_counts(judgments)}
        for code, arm, judgments in data.by_arm()
        if arm.axis in COMPARED
    }
    shown = {
        "judges": [_judge_json(judge) for judge in result.judges],
        "agreement": plain([replace(group, hardest=()) for group in result.together]),
    }
    return DocumentPart(arms, shown, result.n_tests, result.warnings)


def _judge_json(judge: JudgeComparison) -> Json:
    """All numbers of a judge; the points of its charts, one a cell, stay in the charts."""
    shown: Json = plain(replace(judge, points=()))
    del shown["points"]
    shown["judgments"] = shown.pop("status")
    first, numbers = shown["first_place"], judge.first_place.effect
    ends = plain({"value": numbers.estimate, "low": numbers.low, "high": numbers.high})
    shown["first_place"] = {**ends, "p": first["test"]["p"], "n": first["comparisons"], **first}
    return shown


def _predictors_document(result: tuple[Predictors, ...], data: RunData) -> DocumentPart:
    del data
    return DocumentPart(beside={"predictors": plain(result)})


COMPARED = frozenset({"pairwise", "listwise"})
COMPARISON = Topic(
    "comparison",
    comparison,
    probabilities=True,
    title=msg("Pairs and lists"),
    axes=COMPARED,
    document=_document,
    sentences=_sentences,
    summary=_summary,
    advice=_advice,
)
PREDICTORS = Topic(
    "predictors",
    predictors,
    title=msg("What goes with consistency and fairness"),
    axes=COMPARED,
    needs=(COMPARISON,),
    document=_predictors_document,
)
