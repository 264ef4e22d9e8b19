"""Check that a trial asks what a run would ask, as the page shows it, and leaves nothing behind."""

from collections.abc import Sequence

import pytest

from rubriclab.app import state
from rubriclab.core.swings import Swing, SwingCounts, Tally, Tried, count_swings, ranked, tried
from rubriclab.data.sample import sample, sample_rubric
from rubriclab.model.data import Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reorder, Reply, Status
from rubriclab.model.study import DataPart, DesignPart, Study
from rubriclab.model.text import LabError
from rubriclab.runs import trial
from rubriclab.runs.trial import Trial, entries_of, plan_of_texts, recorded
from rubriclab.study.plan import Plan, plan
from tests.runs.kit import WAIT, ScriptedJudge, failed, use

SMALL = JudgeSettings(name="smollm2-135m")
UP, DOWN = (1, 2, 3, 4, 5), (5, 4, 3, 2, 1)
RUBRICS: dict[Reorder, str] = {
    "options": "helpfulness",
    "pairs": "helpfulness",
    "criteria": "writing",
}


def planned(
    axis: Reorder = "options",
    judge: JudgeSettings = SMALL,
    response: str = "",
    orders: Sequence[Sequence[int]] = (),
) -> Plan:
    """Return the plan of one answer, or of two drafts to compare."""
    items = sample(drafts=axis == "pairs").items
    item = next(item for item in items if item.item_id.startswith("kettle-refund"))
    answers = list(items[:2]) if axis == "pairs" else [item]
    if response:
        answers = [Item(item.item_id, response, item.instruction)]
    return plan_of_texts(axis, answers, sample_rubric(RUBRICS[axis]), judge, orders)


def whole(axis: Reorder, judge: str) -> dict[str, Tried]:
    """Return the whole sample as the recorded examples have it."""
    made = plan_of_texts(
        axis,
        sample(drafts=axis == "pairs").items,
        sample_rubric(RUBRICS[axis]),
        JudgeSettings(name=judge, model=judge),
    )
    store = state.examples()
    known = recorded(made, store, [state.recorded(), *(info.id for info in store.runs())])
    entries = entries_of(made)
    return {name: tried(axis, entries[name], judgments) for name, judgments in known.items()}


def test_the_widest_recorded_swing_is_the_lighthouse_letter() -> None:
    """Counted in the recorded example: 31 of 60 answers move by 2 points or more, 9 by 1."""
    answers = whole("options", "smollm2-135m")
    swings = ranked(answers)
    assert count_swings(swings) == SwingCounts(two_or_more=31, less=9, none=20)
    assert swings[:2] == [Swing("lighthouse-letter", 4, 6), Swing("decline-invite", 4, 5)]
    first = answers["lighthouse-letter"]
    assert first.tally == Tally(first=6, orders=10, expected=(2, 2))
    assert first.widest is not None
    assert (first.widest.low.shown, first.widest.low.values) == ((2, 3, 4, 5, 1), ((1,), (1,)))
    assert (first.widest.high.shown, first.widest.high.values) == (DOWN, ((5,), (5,)))
    near = first.nearest((2, 3, 4, 1, 5))
    assert near is not None
    assert near.shown == (2, 3, 4, 5, 1)


def test_another_judge_has_another_list_of_swings() -> None:
    answers = whole("options", "qwen2.5-coder-0.5b")
    swings = ranked(answers)
    assert count_swings(swings) == SwingCounts(two_or_more=26, less=14, none=20)
    assert [swing.name for swing in swings[:2]] == ["wifi-router", "lighthouse-letter"]
    # Four orders were answered differently when they were repeated: they are not compared.
    assert sum(len(answer.orders) - len(answer.settled) for answer in answers.values()) == 4


@pytest.mark.thorough
def test_recorded_pairs_and_criteria_are_compared_too() -> None:
    pairs = ranked(whole("pairs", "qwen2.5-coder-0.5b"))
    assert count_swings(pairs) == SwingCounts(two_or_more=0, less=139, none=5)
    # This judge's replies about pairs were cut off before they named a winner.
    assert ranked(whole("pairs", "smollm2-135m")) == []
    criteria = ranked(whole("criteria", "qwen2.5-coder-0.5b"))
    assert count_swings(criteria) == SwingCounts(two_or_more=6, less=17, none=37)


@pytest.mark.parametrize(("axis", "calls"), [("options", 20), ("pairs", 4), ("criteria", 16)])
def test_the_calls_are_those_of_a_run_each_order_twice(axis: Reorder, calls: int) -> None:
    made = planned(axis)
    asked = [(call.ordering.shown, call.repeat) for call in made.calls()]
    assert len(asked) == len(set(asked)) == calls
    assert sum(repeat == 0 for _, repeat in asked) == calls // 2
    # A run about the whole sample asks the very same calls, by their keys.
    study = Study(
        name="run",
        data=(DataPart(sample=True),),
        design=DesignPart(reorder=axis, strategies=("balanced",)),
        judges=(SMALL.model_copy(update={"temperature": 1.0}),),
    )
    run = plan(study, sample(drafts=axis == "pairs"), made.rubric)
    warm = planned(axis, SMALL.model_copy(update={"temperature": 1.0}))
    assert {call.key for call in warm.calls()} <= {call.key for call in run.calls()}


def test_a_single_order_is_asked_once_with_the_key_of_its_first_call() -> None:
    order = (4, 5, 3, 2, 1)
    (call,) = planned(orders=[order]).calls()
    assert (call.ordering.shown, call.repeat) == (order, 0)
    (known,) = planned(orders=[UP]).calls()
    first = next(
        call for call in planned().calls() if (call.ordering.shown, call.repeat) == (UP, 0)
    )
    assert known.key == first.key
    with pytest.raises(LabError, match="exactly once"):
        planned(orders=[(1, 2, 3, 4, 4)])


def test_recorded_replies_are_shown_of_the_same_words_alone() -> None:
    store = state.examples()
    runs = [info.id for info in store.runs()]
    (known,) = recorded(planned(), store, runs).values()
    assert {made.call.key for made in known} == {call.key for call in planned().calls()}
    other = planned(response=sample().items[0].response + " ")
    assert recorded(other, store, runs) == {}
    assert recorded(planned(judge=JudgeSettings(name="x", kind="simulated")), store, runs) == {}
    assert recorded(planned(), store, []) == {}


def score_of(call: Call, _: int) -> Reply:
    """5 where 5 comes first, else 4; asked again 3."""
    return Reply(text=f"Score: {3 if call.repeat else 5 if call.ordering.shown[0] == 5 else 4}")


def finished(made: Plan, judge: object, monkeypatch: pytest.MonkeyPatch) -> Trial:
    use(monkeypatch, judge, trial)
    started = Trial(made).start()
    assert not started.wait(WAIT).active
    return started


def results(asked: Trial, axis: Reorder = "options") -> Tried:
    (entries,) = entries_of(asked.plan).values()
    return tried(axis, entries, (), asked.judgments.values())


def test_a_judge_that_changes_its_mind_has_no_settled_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = ScriptedJudge(score_of)
    asked = finished(planned(), judge, monkeypatch)
    assert [call.key for call in judge.calls] == [call.key for call in asked.calls]
    assert judge.closed == 1
    snapshot = asked.snapshot()
    assert (snapshot.state, snapshot.done, snapshot.failed) == ("finished", 20, 0)
    answer = results(asked)
    assert len(answer.orders) == 10
    assert answer.settled == ()
    (down,) = answer.of(DOWN)
    assert (down.values, down.live) == (((5,), (3,)), True)


def test_criteria_and_winners_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def scores(call: Call, _: int) -> Reply:
        lines = [
            f"[{name}] {4 if place == 0 else 3}" for place, name in enumerate(call.ordering.shown)
        ]
        return Reply(text="Scores:\n" + "\n".join(lines))

    criteria = results(
        finished(planned("criteria"), ScriptedJudge(scores), monkeypatch), "criteria"
    )
    default = ("Clarity", "Completeness", "Accuracy", "Tone")
    assert criteria.of(default)[0].settled == (4, 3, 3, 3)
    assert criteria.of(("Tone", "Clarity", "Completeness", "Accuracy"))[0].settled == (3, 3, 3, 4)
    first = ScriptedJudge(lambda *_: Reply(text="Verdict: Assistant A"))
    pairs = results(finished(planned("pairs"), first, monkeypatch), "pairs")
    assert pairs.tally == Tally(first=2, orders=2, expected=(1, 1))
    assert pairs.widest is not None
    assert pairs.widest.apart == 1


def test_faults_are_shown_and_what_came_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(call: Call, _: int) -> Reply:
        if call.ordering.shown == UP:
            return Reply(text="I would rather not say")
        if call.ordering.shown == DOWN:
            return failed("server_error", retryable=False)
        return Reply(text="2")

    asked = finished(planned(), ScriptedJudge(faulty), monkeypatch)
    kinds = {made.call.ordering.shown: made.status for made in asked.judgments.values()}
    assert (kinds[UP], kinds[DOWN]) == (Status.UNPARSED, Status.ERROR)
    assert asked.snapshot().failed == 4
    answer = results(asked)
    assert len(answer.settled) == 8
    assert answer.of(UP)[0].values == ((None,), (None,))
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
    assert 1 <= len(started.judgments) == len(judge.calls) < 20
