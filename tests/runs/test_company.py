"""Each criterion asked by itself too: the plan, runs with planted judges, and what is said."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import rubriclab.measures  # noqa: F401 - registers what rows are made of
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import REASONS, Findings
from rubriclab.exports.report import report_html
from rubriclab.exports.table import document
from rubriclab.exports.terminal import findings_text
from rubriclab.figures.company_pictures import company_of, together_against_alone
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.study import DesignPart, PromptPart, study_from_toml
from rubriclab.model.text import LabError
from rubriclab.runs.forecast import estimate
from rubriclab.runs.runner import Run
from rubriclab.store.bundle import bundle_bytes, import_bundle, read_bundle
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan, plan
from rubriclab.study.prompts import lab_prompt
from rubriclab.words.company import company_answer, company_answers
from rubriclab.words.phrases import lowered
from tests.runs.kit import ScriptedJudge, ended, use
from tests.study.kit import ABC, criterion, data, small_plan

ALONE = {"reorder": "criteria", "alone": True}


def company_plan(count: int = 3, dataset: DataSet | None = None, **design: object) -> Plan:
    return small_plan(count, criteria=ABC, dataset=dataset, **{**ALONE, **design})


# ------------------------------------------------------------------------------------ the plan
def test_each_criterion_is_asked_as_often_as_an_order() -> None:
    """3 criteria in 6 balanced orders, each twice: 12 calls a text, and 3 x 2 by themselves."""
    made = company_plan(4)
    assert [(about.strategy, about.positions) for about in made.conditions] == [
        ("balanced", 3),
        ("alone", 1),
    ]
    assert made.planned == (4 * 12, 4 * 6)
    calls = list(made.calls())
    assert len(calls) == len({call.key for call in calls}) == sum(made.planned)
    alone = [call for call in calls if call.condition == 1]
    assert {call.template for call in alone} == {"criterion.v1"}
    assert all(len(call.items) == len(call.ordering.shown) == 1 for call in alone)


def test_one_repeat_still_asks_each_criterion_twice() -> None:
    assert company_plan(4, repeats=1).planned == (4 * 6, 4 * 6)


def test_calls_of_both_ways_are_mixed_within_a_text() -> None:
    """A drift over the session then cannot look like company."""
    calls = list(company_plan(1).calls())
    ways = [call.condition for call in calls]
    assert ways != sorted(ways)
    assert ways != sorted(ways, reverse=True)


def test_a_study_without_alone_keeps_its_keys() -> None:
    with_alone, without = company_plan(2), small_plan(2, criteria=ABC, reorder="criteria")
    together = {call.key for call in with_alone.calls() if call.condition == 0}
    assert together == {call.key for call in without.calls()}
    assert with_alone.identity != without.identity


def test_the_words_differ_in_the_number_of_criteria_only() -> None:
    calls = {call.condition: call for call in company_plan(1).calls()}
    together, alone = (calls[way].messages[0]["content"] for way in (0, 1))
    left = set(alone.splitlines()) - set(together.splitlines())
    assert {line.split(",")[0] for line in left} == {
        "You are evaluating a response on one criterion. For the criterion below",
        "###Criterion:",
        "For the criterion",
        "Output exactly 1 line. Do not include any feedback",
    }


def test_both_ways_have_the_sections_in_the_order_of_the_study() -> None:
    made = company_plan(1, sections="rubric answer task reference")
    calls = {call.condition: call for call in made.calls()}
    begun = [calls[way].messages[0]["content"].split("\n", 1)[0] for way in (0, 1)]
    assert begun == ["###Criteria (evaluate in this order):", "###Criterion:"]
    assert calls[1].template == "criterion.v1-rubric-answer-task"


def test_the_forecast_counts_both_ways() -> None:
    known = estimate(company_plan(10))
    assert [(way.calls, way.texts) for way in known.ways] == [(120, 120), (60, 20)]
    assert sum(way.tokens_in for way in known.ways) == pytest.approx(known.tokens_in, abs=2)
    said = [line for line in known.sentences() if "to score a text once" in line]
    assert len(said) == 2
    assert not estimate(small_plan(10, criteria=ABC, reorder="criteria")).ways


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ({"reorder": "options"}, "alone asks each criterion by itself, so it needs reorder ="),
        ({"reorder": ["criteria", "options"]}, "leave it out, or leave out options"),
        ({"vary": {"temperature": [0.0, 1.0]}}, r"leave out \[design.vary\] temperature"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(design: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DesignPart.model_validate({**ALONE, **design})


def test_own_prompts_are_refused() -> None:
    study = company_plan(2).study
    prompt = PromptPart.model_validate({"templates": [lab_prompt("criteria").model_dump()]})
    changed = study.model_copy(update={"prompt": prompt})
    with pytest.raises(LabError, match=r"in the lab's own wording.*Leave out alone, or \[prompt\]"):
        plan(changed, data(2), Rubric("r", ABC))


def test_criteria_whose_scales_differ_are_refused() -> None:
    with pytest.raises(LabError, match="have different scores"):
        small_plan(2, criteria=(criterion("a"), criterion("b", n=3)), **ALONE)


def test_the_key_is_read_from_a_study_file() -> None:
    study = study_from_toml('[[data]]\nsample = true\n[design]\nreorder = "criteria"\nalone = true')
    assert study.design.alone


# ------------------------------------------------------------------------------------ a run
def planted(call: Call, _: int) -> Reply:
    """Company lowers “b” and raises “c” by one point in seven of ten calls; all else is noise."""
    rng = random.Random(call.key)
    lines = []
    for name in call.ordering.shown:
        score = 3 + (rng.random() < 0.3) - (rng.random() < 0.3)
        if len(call.ordering.shown) > 1 and rng.random() < 0.7:
            score += {"a": 0, "b": -1, "c": 1}[str(name)]
        lines.append(f"[{name}] {score}")
    tokens = 100 + 20 * len(lines)
    return Reply(text="\n".join(lines), tokens_in=tokens, tokens_out=5 * len(lines))


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Findings:
    return asked_both_ways(tmp_path, monkeypatch)


def asked_both_ways(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Findings:
    """Findings of 12 texts by the planted judge; two people rated each."""
    rated = DataSet(
        "d",
        tuple(
            replace(item, ratings={"one": 2.0 + k % 3, "two": 1.0 + k % 4})
            for k, item in enumerate(data(12).items)
        ),
    )
    return asked(folder, monkeypatch, planted, company_plan(12, dataset=rated))


def asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reply: Callable[[Call, int], Reply], made: Plan
) -> Findings:
    """Return what a plan's calls give with these replies."""
    use(monkeypatch, ScriptedJudge(reply))
    with Store.open(folder / "lab.duckdb") as store:
        run = Run(store, made)
        assert ended(run).state == "finished"
        return Findings(Judgments(store.table(run.id)))


def test_a_zip_of_the_run_has_the_same_answer_in_another_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ScriptedJudge(planted))
    zipped = tmp_path / "run.zip"
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = Run(store, company_plan(12))
        assert ended(run).state == "finished"
        table = store.table(run.id)
        zipped.write_bytes(bundle_bytes(table, store, run.id, "topic,measure\r\n"))
    with Store.open(tmp_path / "other.duckdb") as other:
        copy = other.table(import_bundle(other, zipped))
    said = [findings_text(Findings(Judgments(one))) for one in (table, copy)]
    assert "The 3 criteria of 12 texts" in said[0]
    assert said[0] == said[1]


def test_a_call_about_one_criterion_that_lists_another_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ScriptedJudge(planted))
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = Run(store, company_plan(3))
        assert ended(run).state == "finished"
        table = store.table(run.id)
        alone = [len(ordering.shown) == 1 for ordering in table.orderings]
        turned = [
            replace(ordering, shown=("a",), labels=("a",)) if one else ordering
            for one, ordering in zip(alone, table.orderings, strict=True)
        ]
        zipped = tmp_path / "run.zip"
        body = bundle_bytes(replace(table, orderings=tuple(turned)), store, run.id, "")
        zipped.write_bytes(body)
    with pytest.raises(LabError, match="is not an order of what its condition lists"):
        read_bundle(zipped)


def test_a_planted_judge_is_found_and_both_criteria_are_named(findings: Findings) -> None:
    (found,) = findings.company
    assert found.verdicts.gate.open
    assert not found.mean.above_zero
    assert [found.names[k] for k in found.named] == ["b", "c"]
    by_target = {row.of["target"]: row for row in findings.select("company_criterion")}
    assert by_target["b"].value == pytest.approx(-0.7, abs=0.35)
    assert by_target["c"].value == pytest.approx(0.7, abs=0.35)
    assert by_target["b"].interval[1] < 0 < by_target["c"].interval[0]


def test_the_lines_come_in_the_order_of_the_questions(findings: Findings) -> None:
    (answer,) = company_answers(findings)
    assert answer.headline == "api scores some criteria differently when all share a call"
    titles = [question.title for question in answer.questions]
    assert titles == [
        "Does one call for all criteria change the mean score?",
        "Which criteria change?",
        "Does it change single scores beyond noise?",
        "Noise",
        "Agreement with people",
        "Order effect",
        "Cost",
    ]
    criteria = answer.questions[1]
    assert criteria.badge == "Yes"
    assert "b scores 0." in criteria.sentence
    assert "lower (95% CI" in criteria.sentence
    # One call: 160 + 15 tokens. Three calls: 3 x (120 + 5) = 375, so 175 / 375 = 47%.
    assert answer.questions[-1].sentence == (
        "Scoring a text once takes 1 call and 175 tokens, or 3 calls and 375 tokens with one "
        "call for each criterion. One call takes 47% of the tokens."
    )


@pytest.mark.thorough
def test_a_reason_in_brackets_is_no_sentence_of_its_own(findings: Findings) -> None:
    (found,) = findings.company
    unknown = replace(found.mean, low=math.nan, high=math.nan, named="", why="too_few_units")
    verdicts = replace(found.verdicts, questions={**found.verdicts.questions, "mean": unknown})
    said = company_answer(findings, replace(found, verdicts=verdicts)).questions[0].sentence
    assert f"points ({lowered(REASONS['too_few_units'])})." in said


@pytest.mark.thorough
def test_changes_are_points_on_a_scale_of_two_scores_too(findings: Findings) -> None:
    """So the sentences say the number of the rows, the picture, and the order effect."""
    (found,) = findings.company
    two = replace(found.alone.condition, scores=(1.0, 3.0))
    alone = replace(found.alone, condition=two)
    said = company_answer(findings, replace(found, alone=alone)).questions
    assert said == company_answer(findings, found).questions


def test_agreement_with_people_is_that_of_single_calls_in_both_ways(findings: Findings) -> None:
    """On the items that both ways scored, kappa differs by the difference of the two kappas."""
    kappas = {
        (row.of["way"], row.of.get("target", "")): row.value
        for row in findings.select("company_kappa")
    }
    assert {way for way, _ in kappas} == {"together", "alone"}
    for row in findings.select("company_kappa_difference"):
        target = row.of.get("target", "")
        gap = kappas["together", target] - kappas["alone", target]
        assert row.value == pytest.approx(gap)
    (answer,) = company_answers(findings)
    (asked,) = (each for each in answer.questions if each.title == "Agreement with people")
    assert asked.sentence.startswith(
        f"Weighted kappa of single calls is {kappas['together', '']:.2f} in one call and "
        f"{kappas['alone', '']:.2f} in calls of their own"
    ), asked.sentence


@pytest.mark.thorough
def test_terminal_report_and_json_say_it(findings: Findings) -> None:
    (answer,) = company_answers(findings)
    assert answer.headline in findings_text(findings)
    assert answer.headline in report_html(findings)
    measures = {row["measure"] for row in document(findings)["rows"]}
    assert {"company", "company_criterion", "company_single", "company_tokens"} <= measures


def test_the_picture_has_a_mark_for_each_criterion_and_way(findings: Findings) -> None:
    (found,) = company_of(findings, "d")
    shown = together_against_alone(findings, found)
    assert shown.picture is not None
    panels = {panel.title: panel for panel in shown.picture.panels}
    assert list(panels) == ["Change of the mean", "Own noise", "Agreement", "Order effect"]
    assert [point.label for point in panels["Change of the mean"].points] == [
        "All criteria",
        "a",
        "b",
        "c",
    ]
    assert [line.name for line in panels["Own noise"].series] == ["in one call", "each by itself"]


def test_what_is_asked_by_itself_is_no_setting_of_its_own(findings: Findings) -> None:
    """It lists nothing, so no answer and no caution speaks of its order."""
    assert "in a list" not in findings_text(findings)
    assert not [caution for caution in findings.cautions if caution.kind == "single_order"]


@pytest.mark.thorough
def test_a_run_that_stops_early_compares_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at by its order effect, and both ways have the same complete batches."""
    use(monkeypatch, ScriptedJudge(planted))
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = Run(store, company_plan(40, stop="decided"))
        ended(run)
        findings = Findings(Judgments(store.table(run.id)))
    (found,) = findings.company
    assert {"b", "c"} == {found.names[k] for k in found.named}
    (row,) = findings.select("company")
    assert row.alpha == found.verdicts.alpha <= 0.05


def steadier(call: Call, _: int) -> Reply:
    """The same means; scores of one call hardly vary, those of single calls do."""
    rng = random.Random(call.key)
    spread = 0.05 if len(call.ordering.shown) > 1 else 0.5
    lines = []
    for name in call.ordering.shown:
        score = 3
        if rng.random() < spread:
            score += rng.choice((-1, 1))
        lines.append(f"[{name}] {score}")
    return Reply(text="\n".join(lines))


@pytest.mark.thorough
def test_steadier_scores_of_one_call_do_not_read_as_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = asked(tmp_path, monkeypatch, steadier, company_plan(60))
    (answer,) = company_answers(findings)
    mean, _, single, *_ = answer.questions
    assert mean.badge == "No"
    assert single.verdict == "effect"
    assert "Single scores differ because those of one call are steadier" in single.sentence


def half_lost(call: Call, _: int) -> Reply:
    """One of three lines is missing in a third of the calls about all criteria."""
    rng = random.Random(call.key)
    names = list(call.ordering.shown)
    if len(names) > 1 and rng.random() < 1 / 3:
        names.pop()
    return Reply(text="\n".join(f"[{name}] {rng.choice((2, 3, 4))}" for name in names))


def test_calls_without_all_scores_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = asked(tmp_path, monkeypatch, half_lost, company_plan(10))
    (found,) = findings.company
    assert found.left_out[0] == 0
    assert found.left_out[1] == pytest.approx(1 / 3, abs=0.12)
    (answer,) = company_answers(findings)
    assert any("were left out of the comparison" in caution for caution in answer.cautions)


def test_a_decision_judge_is_refused() -> None:
    judge = JudgeSettings(
        name="d", kind="decisions", model="m", base_urls=("http://127.0.0.1:9/v1",)
    )
    with pytest.raises(LabError, match="cannot use alone"):
        small_plan(2, judges=(judge,), criteria=ABC, **ALONE)
