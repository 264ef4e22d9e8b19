"""Check that a trial asks what a run would ask, as the page shows it, and leaves nothing behind."""

import pytest

from rubriclab.app import state
from rubriclab.core.judgments import Judgments
from rubriclab.data.sample import sample, sample_rubric
from rubriclab.figures.cards import card_of, change_of
from rubriclab.figures.pictures import text_orders
from rubriclab.model.data import Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.model.study import DataPart, DesignPart, Study
from rubriclab.model.text import LabError
from rubriclab.runs import trial
from rubriclab.runs.trial import Trial, plan_of_text, recorded, trial_calls, trial_table
from rubriclab.study.plan import Plan, plan
from tests.runs.kit import WAIT, ScriptedJudge, failed, use

SMALL = JudgeSettings(name="smollm2-135m")
UP, DOWN = (1, 2, 3, 4, 5), (5, 4, 3, 2, 1)


def planned(axis: str = "options", judge: JudgeSettings = SMALL, **changes: str) -> Plan:
    items = sample(drafts=axis == "pairs").items
    item = next(item for item in items if item.item_id.startswith("kettle-refund"))
    answers = list(items[:2]) if axis == "pairs" else [item]
    if changes:
        answers = [
            Item(
                **{
                    "item_id": item.item_id,
                    "response": item.response,
                    "instruction": item.instruction,
                }
                | changes
            )
        ]
    return plan_of_text(
        axis, answers, sample_rubric("writing" if axis == "criteria" else "helpfulness"), judge
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(("axis", "calls"), [("options", 11), ("pairs", 3), ("criteria", 9)])
def test_the_calls_are_those_of_a_run_the_default_order_first_reversed_and_again(
    axis: str, calls: int
) -> None:
    made = planned(axis)
    asked = trial_calls(made)
    default = made.parts[0].subjects[0].options
    assert [call.ordering.shown for call in asked[:3]] == [default, default[::-1], default]
    assert [call.repeat for call in asked] == [0, 0, 1, *[0] * (calls - 3)]
    assert len({call.ordering.shown for call in asked}) == calls - 1
    # A run about the whole sample asks the very same calls, by their keys.
    study = Study(
        name="run", data=(DataPart(sample=True),), design=DesignPart(reorder=axis), judges=(SMALL,)
    )  # type: ignore[arg-type]
    whole = plan(study, sample(drafts=axis == "pairs"), made.rubric)
    assert {call.key for call in asked} <= {call.key for call in whole.calls()}


def test_recorded_answers_are_shown_of_the_same_words_alone() -> None:
    made = planned()
    known = recorded(made, state.examples())
    assert {judgment.call.key for judgment in known} == {call.key for call in trial_calls(made)}
    assert len(recorded(planned("pairs"), state.examples())) == 3
    other = planned(response=sample().items[0].response + " ")
    assert recorded(other, state.examples()) == []
    assert (
        recorded(planned(judge=JudgeSettings(name="x", kind="simulated")), state.examples()) == []
    )


def score_of(call: Call, _: int) -> Reply:
    """5 where 5 stands first, else 4; asked again 3."""
    return Reply(text=f"Score: {3 if call.repeat else 5 if call.ordering.shown[0] == 5 else 4}")


def finished(made: Plan, judge: object, monkeypatch: pytest.MonkeyPatch) -> Trial:
    use(monkeypatch, judge, trial)
    started = Trial(made).start()
    assert not started.wait(WAIT).active
    return started


def test_what_comes_back_is_told_as_a_run_would_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = ScriptedJudge(score_of)
    asked = finished(planned(), judge, monkeypatch)
    assert [call.key for call in judge.calls] == [call.key for call in asked.calls]
    assert judge.closed == 1
    snapshot = asked.snapshot()
    assert (snapshot.state, snapshot.done, snapshot.failed) == ("finished", 11, 0)
    arm = Judgments(trial_table(asked.plan, asked.judgments.values())).arms[0]
    up, down = card_of(arm, 0), card_of(arm, 1)
    assert (up.title, up.score, up.foot) == ("Listed 1 to 5", "Score 4", "position 4")
    assert (down.title, down.score, down.foot) == ("Listed 5 to 1", "Score 5", "position 1")
    assert change_of(arm, 0, 1) == ("+1\u00a0point", True)
    assert change_of(arm, 0, 2) == ("\u22121\u00a0point", True)
    assert change_of(arm, 0, 0) == ("0\u00a0points", False)
    drawn = text_orders(arm)
    assert [point.label for point in drawn.points[:2]] == ["1 2 3 4 5", "5 4 3 2 1"]
    assert [point.text for point in drawn.points].count(
        "5"
    ) == 2  # 5 stands first in two of ten orders
    assert sum(point.decided for point in drawn.points) == 4  # those, and the two that begin with 4


def test_criteria_and_winners_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def scores(call: Call, _: int) -> Reply:
        lines = [
            f"[{name}] {4 if place == 0 else 3}" for place, name in enumerate(call.ordering.shown)
        ]
        return Reply(text="Scores:\n" + "\n".join(lines))

    asked = finished(planned("criteria"), ScriptedJudge(scores), monkeypatch)
    arm = Judgments(trial_table(asked.plan, asked.judgments.values())).arms[0]
    assert change_of(arm, 0, 1) == ("2 of 4 criteria", True)
    assert change_of(arm, 0, 2) == ("0 of 4 criteria", False)
    asked = finished(
        planned("pairs"), ScriptedJudge(lambda *_: Reply(text="Verdict: Assistant A")), monkeypatch
    )
    arm = Judgments(trial_table(asked.plan, asked.judgments.values())).arms[0]
    assert change_of(arm, 0, 1) == ("Another winner", True)
    assert change_of(arm, 0, 2) == ("The same winner", False)
    assert text_orders(arm) is None


def test_faults_are_told_and_what_came_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(call: Call, _: int) -> Reply:
        if call.ordering.shown == UP:
            return Reply(text="I would rather not say")
        return (
            failed("server_error", retryable=False)
            if call.ordering.shown == DOWN
            else Reply(text="2")
        )

    asked = finished(planned(), ScriptedJudge(faulty), monkeypatch)
    first, second, *_ = (asked.judgments[call.key] for call in asked.calls)
    assert (first.status, second.status) == (Status.UNPARSED, Status.ERROR)
    arm = Judgments(trial_table(asked.plan, asked.judgments.values())).arms[0]
    assert change_of(arm, 0, 1) is None
    assert (card_of(arm, 0).score, asked.snapshot().failed) == ("No score", 3)
    nothing = Judgments(trial_table(asked.plan, [])).arms[0]
    assert (card_of(nothing, 0), change_of(nothing, 0, 1), text_orders(nothing)) == (
        None,
        None,
        None,
    )
    dead = finished(planned(), LabError("the weights are not here"), monkeypatch)
    assert (dead.snapshot().state, dead.snapshot().reason) == ("paused", "the weights are not here")
    refused = finished(
        planned(), ScriptedJudge(lambda *_: failed("auth", retryable=False)), monkeypatch
    )
    assert refused.snapshot().state == "paused"
    assert "smollm2-135m" in refused.snapshot().reason


def test_a_trial_that_is_stopped_keeps_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = ScriptedJudge(latency=0.05)
    use(monkeypatch, judge, trial)
    started = Trial(planned(judge=SMALL.model_copy(update={"concurrency": 1}))).start()
    while not started.judgments:
        assert started.active
    started.pause()
    assert started.wait(WAIT).state == "paused"
    assert 1 <= len(started.judgments) == len(judge.calls) < 11
