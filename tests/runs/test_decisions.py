"""Check runs of a decision server: one request for all orders, and planted effects are found."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

import rubriclab.measures  # noqa: F401  every measure
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.model.data import Criterion, Option
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.runs import asking
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.decisions import packs
from rubriclab.study.plan import Plan
from tests.judges.kit import settings
from tests.judges.test_decisions import deciding
from tests.runs.kit import Scripted, ScriptedJudge, ended, use
from tests.servers import DecisionServer, failure, running
from tests.study.jevbench import jevbench_plan, published
from tests.study.kit import ABC, criterion, small_plan


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "backoff", lambda attempt: 0.001 * attempt)


def decided(store: Store, server: Any, count: int = 20, **design: Any) -> tuple[Plan, Findings]:
    options = design.pop("options", {})
    plan = small_plan(count, judges=(deciding(server.url, **options),), **design)
    end = ended(Run(store, plan))
    assert (end.state, end.done) == ("finished", len(plan))
    return plan, Findings(Judgments(store.table(end.run)))


def verdicts(findings: Findings, **of: Any) -> dict[str, str]:
    return {
        row.measure: row.verdict
        for row in findings.select(topic="verdict")
        if dict(row.of) == of and row.verdict
    }


class PackedJudge(ScriptedJudge):
    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        return [await self.ask(call) for call in calls]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("chats_at", "in_turn"),
    [("http://127.0.0.1:9/v1", True), ("http://127.0.0.1:10/v1", False)],
)
def test_typed_questions_and_chats_do_not_meet_at_one_server(
    store: Store, monkeypatch: pytest.MonkeyPatch, chats_at: str, in_turn: bool
) -> None:
    """A chat that shares vLLM's batch with a typed question gets no probabilities."""
    chatting = [
        settings(chats_at, name="chat"),
        settings("http://127.0.0.1:11/v1", name="elsewhere"),
    ]
    judges = {"chat": ScriptedJudge(latency=0.01), "elsewhere": ScriptedJudge(latency=0.05)}
    met = set()

    def script(*_: object) -> Reply:
        met.update(name for name, judge in judges.items() if judge.now)
        return Reply(text="3")

    use(monkeypatch, None, d=PackedJudge(script, latency=0.002), **judges)
    end = ended(Run(store, small_plan(4, judges=(*chatting, deciding()))))
    assert (end.state, end.done, end.failed) == ("finished", 240, 0)
    assert met == ({"elsewhere"} if in_turn else {"chat", "elsewhere"})


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["systemone", "openai"])
def test_a_lean_of_1_2_is_told_from_one_request_for_all_orders(store: Store, form: str) -> None:
    with running(DecisionServer(lean=1.2)) as server:
        plan, findings = decided(store, server, options={"form": form})
        assert verdicts(findings)["favours_positions"] == "effect"
        # 20 items, 10 orders, twice: a request an item and repeat, the repeat the same one again.
        sent = Counter(str(body) for body in server.bodies)
        assert (len(server.bodies), len(sent), set(sent.values())) == (40, 20, {2})
        assert {len(body["questions"]) for body in server.bodies} == {10}
        calls = store.calls(store.runs()[0].id)
        assert (calls["tokens_in"].sum(), len({call.key for call in plan.calls()})) == (
            40 * 101,
            400,
        )


@pytest.mark.thorough
@pytest.mark.parametrize(("leak", "words"), [(3.0, "effect"), (0.0, "")])
def test_packing_that_leaks_between_questions_is_told(
    store: Store, leak: float, words: str
) -> None:
    """Each question also likes what the one before it listed first: alone no question has one
    before it.
    """
    with running(DecisionServer(leak=leak, noise=0.3)) as server:
        plan, findings = decided(store, server, vary={"packing": ["packed", "alone", "reversed"]})
        asked = Counter(len(body["questions"]) for body in server.bodies)
        assert asked == {10: 80, 1: 400}
        first = [body for body in server.bodies if body["state"] == server.bodies[0]["state"]]
        packed = {
            str([*body["questions"].values()]) for body in first if len(body["questions"]) == 10
        }
        assert len(packed) == 2, "there and back"
    told = {
        name: verdicts(findings, variant=f"packing = {name}").values()
        for name in ("alone", "reversed")
    }
    assert {name: "effect" in said for name, said in told.items()} == dict.fromkeys(
        told, words == "effect"
    )
    assert sum(plan.planned) == 1_200


@pytest.mark.thorough
@pytest.mark.parametrize(("lean", "words"), [(0.6, "effect"), (0.0, "undecided")])
def test_noise_that_a_request_shares_is_no_agreement_of_its_orders(
    store: Store, lean: float, words: str
) -> None:
    """Orders are held against each other between requests: within them they agree, and single
    scores would seem to stay.
    """
    with running(DecisionServer(lean=lean, noise=1.0, shared=True)) as server:
        _, findings = decided(store, server, 30, criteria=(criterion(n=3),))
    assert verdicts(findings)["changes_single"] == words
    excess, value = (
        findings.select(measure)[0].value for measure in ("order_excess", "changes_single")
    )
    assert (excess > 0.03, value > 0.03) == (lean > 0, lean > 0)


def test_after_a_stop_only_what_is_missing_is_asked(store: Store) -> None:
    """The limit cuts a request in two; the other half is asked when the run goes on, and nothing
    again.
    """
    with running(DecisionServer()) as server:
        plan = small_plan(2, judges=(deciding(server.url),))
        paused = ended(Run(store, plan, max_calls=13))
        assert (paused.state, paused.done) == ("paused", 13)
        end = ended(Run(store, plan))
        assert (end.state, end.done, end.asked) == ("finished", 40, 27)
        sizes = [len(body["questions"]) for body in server.bodies]
    assert (sum(sizes), sorted(sizes)) == (40, [3, 7, 10, 10, 10])


def test_a_request_that_fails_is_asked_again_whole_and_a_refused_question_is_a_row(
    store: Store,
) -> None:
    def busy(_: Any, nth: int) -> Any:
        return failure(429, "slow down") if nth == 0 else None

    def declined(answers: dict[str, Any]) -> dict[str, Any]:
        return answers | {"q1": {"type": "refusal"}}

    with running(DecisionServer(rule=busy, edit=declined)) as server:
        plan = small_plan(1, judges=(deciding(server.url),))
        end = ended(Run(store, plan))
        assert (end.state, end.done, end.failed, len(server.bodies)) == ("finished", 20, 2, 3)
    rows = store.table(end.run).rows
    assert rows["status"].value_counts().to_dict() == {Status.OK: 18, Status.REFUSED: 2}


def test_a_score_question_goes_up_and_down_whatever_the_strategies(store: Store) -> None:
    with running(DecisionServer(lean=3.0)) as server:
        plan, findings = decided(
            store, server, options={"question": "score"}, strategies=["balanced", "fixed"]
        )
        assert [(c.strategy, n) for c, n in zip(plan.conditions, plan.planned, strict=True)] == [
            ("up and down", 80)
        ]
        assert {
            str(question["criteria"])
            for body in server.bodies
            for question in body["questions"].values()
        } == {
            str([f"level {score}" for score in scores])
            for scores in ((1, 2, 3, 4, 5), (5, 4, 3, 2, 1))
        }
        assert len(server.bodies) == 40
    assert verdicts(findings)["moves_mean"] == "effect"
    assert [call.ordering.shown[0] for call in plan.previews(0)] == [1, 5]


def test_only_orders_of_options_are_packed_and_a_judge_that_cannot_says_so(
    store: Store, scripted: Scripted
) -> None:
    criteria = small_plan(2, criteria=ABC, reorder="criteria", judges=(deciding(),))
    assert {len(pack) for pack in packs(criteria.calls())} == {1}
    alone = small_plan(2, judges=(deciding(packing="alone"),))
    assert {len(pack) for pack in packs(alone.calls())} == {1}
    assert not [note for note in alone.notes if "one request" in note]
    many = small_plan(
        1,
        criteria=(criterion(n=10),),
        strategies=[{"kind": "random", "calls": 100}],
        judges=(deciding(),),
    )
    assert max(len(pack) for pack in packs(many.calls())) <= 64
    scripted(lambda *_: Reply("3"))  # answers one call at a time
    end = ended(Run(store, small_plan(judges=(deciding(),))))
    assert 'Set its option packing = "alone"' in end.reason
    plan = small_plan(200, judges=(deciding(),), repeats=1, vary={"packing": ["packed", "alone"]})
    assert plan.planned == (200 * 10, 150 * 10)


def test_labels_that_words_could_be_mistaken_for_are_themselves(store: Store) -> None:
    """One that is part of another, one that sounds like a refusal, one that is longer than any
    token.
    """
    names = ("Score 30", "Score 3", "I cannot help", "x" * 60)
    labelled = Criterion("quality", tuple(Option(k, "", name) for k, name in enumerate(names)))
    with running(DecisionServer(noise=2.0)) as server:
        _, findings = decided(store, server, criteria=(labelled,))
    table = findings.judgments.table
    assert set(table.rows["score"]) == {0.0, 1.0, 2.0, 3.0}
    assert table.probabilities.sum(axis=1) == pytest.approx(1)
    assert (table.probabilities.argmax(axis=1) + 1 == table.rows["position"]).all()


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["systemone", "openai"])
def test_jevbench_s_published_cases_run_as_data(store: Store, form: str) -> None:
    """A case of each of its 48 choices and scores: every option is shown as published, every answer
    is read.
    """
    with running(DecisionServer(noise=2.0)) as server:
        plan = jevbench_plan(deciding(server.url, form=form))
        end = ended(Run(store, plan))
    assert (end.state, end.failed, len(server.bodies)) == ("finished", 0, 48)
    asked = [
        {option.shown_label: option.description for option in rubric.criteria[0].options}
        for _, rubric in published(1).values()
    ]
    for body in server.bodies:
        for question in body["questions"].values() if form == "systemone" else body["questions"]:
            listed = question.get("criteria") or {
                part["value"]: part["description"] for part in question["choices"]
            }
            assert listed in asked
    rows = store.table(end.run).rows
    assert ({*rows["status"]}, len(rows), rows["score"].isna().sum()) == ({Status.OK}, len(plan), 0)
