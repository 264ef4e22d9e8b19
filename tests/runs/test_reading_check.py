"""Check what the reading check says about the first replies, and when it stops a run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rubriclab.cli.main import run_command
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Judgment, Ordering, Outcome, Reply, Status
from rubriclab.runs.manager import RunManager
from rubriclab.runs.prompt_size import PromptSize, tokens_of
from rubriclab.runs.reading_check import (
    ReadingCheck,
    check_requests,
    cut_context,
    helped_by_grammar,
    kept_checks,
    reading_check,
    spends,
    stored_checks,
    too_many_lost,
)
from rubriclab.runs.reply_line import shown_reply
from rubriclab.runs.runner import Run, RunSnapshot
from rubriclab.store.store import Store
from rubriclab.study.outcomes import option_outcomes
from tests.runs.kit import Scripted, ended, use
from tests.runs.kit import ScriptedJudge as Judge
from tests.servers import FakeServer, completion, running
from tests.study.kit import API, EMBEDDED, criterion, small_plan

Captured = pytest.CaptureFixture[str]
CALLS = 80
"""Of four answers in ten orders, each twice."""
ALOUD = "The response names both causes, and the dates in its second paragraph are"
OTHER = API.model_copy(update={"name": "other"})


def messages_of(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def said(
    text: str, *, finish: str = "stop", tokens: int = 250, out: int = 1, model: str = "m"
) -> web.Response:
    """A completion with these counts of tokens."""
    body = completion(text, model=model, finish=finish)
    body["usage"] = {"prompt_tokens": tokens, "completion_tokens": out}
    return web.json_response(body)


def always(response: Callable[[], web.Response]) -> Callable[[dict[str, Any], int], web.Response]:
    return lambda *_: response()


def settings_of(server: FakeServer, **more: Any) -> JudgeSettings:
    return API.model_copy(update={"base_urls": (server.base_url,), **more})


def checked(store: Store, plan: Any, **more: Any) -> RunSnapshot:
    return ended(Run(store, plan, check="stop", **more))


def only(snapshot: RunSnapshot) -> ReadingCheck:
    (check,) = snapshot.checks
    return check


def kinds(check: ReadingCheck) -> list[str]:
    return [remark.kind for remark in check.warnings]


# ---------------------------------------------------------------- against a server


def test_a_clean_check_goes_on_by_itself(store: Store) -> None:
    with running(FakeServer(model="m")) as server:
        end = checked(store, small_plan(4, judges=(settings_of(server),)))
    check = only(end)
    assert (end.state, end.done, server.asked) == ("finished", CALLS, CALLS)
    assert (check.asked, check.parsed, check.stop) == (8, 8, None)
    assert check.title() == "Reading check of api: 8 of 8 replies parsed"
    assert all(line.shown == f"»{line.read}«" for line in check.lines)
    assert "unparsed" not in kinds(check)


def test_two_of_eight_unparsed_warn_and_go_on(store: Store) -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response:
        return said("Hard to tell." if "response 1" in messages_of(body) else "Score: 4")

    with running(FakeServer(rule=rule)) as server:
        plan = small_plan(8, judges=(settings_of(server),))
        end = checked(store, plan)
    check = only(end)
    assert (check.asked, check.parsed, check.stop) == (8, 6, None)
    assert check.warnings[0].text == (
        "2 of 8 replies could not be parsed. At this rate about 40 of 160 calls would give no "
        "score."
    )
    assert "The first reply without a score: “Hard to tell.”" in check.remarks()
    assert [line.text() for line in check.lines][:3] == [
        "   4  Score: »4«",
        "   4  Score: »4«",
        "   –  Hard to tell.  (no verdict in a form that is known)",
    ]
    assert (end.state, end.done) == ("finished", 160)  # 20 of its 160 replies are lost


def test_none_parsed_pauses_after_eight_requests(store: Store) -> None:
    with running(FakeServer(model="m", rule=always(lambda: said("No idea.")))) as server:
        plan = small_plan(4, judges=(settings_of(server),))
        end = checked(store, plan)
        assert (end.state, end.done, server.asked) == ("paused", 8, 8)
        assert end.reason.startswith("api: None of 8 replies could be parsed. ")
        assert "“No idea.”" in end.reason
        # Whoever goes on may have mended the server, so the next eight are looked at; they are as
        # bad.
        again = checked(store, plan)
        assert (again.state, again.done, server.asked) == ("paused", 16, 16)
        server.rule = None
        mended = checked(store, plan)
        assert (mended.state, mended.done, server.asked) == ("finished", CALLS, CALLS)
        assert len(set(server.keys)) == CALLS, "no call was asked twice"
        assert only(mended).parsed == 8


def test_failed_calls_that_are_asked_again_are_the_check(store: Store) -> None:
    with running(FakeServer(model="m", rule=always(lambda: said("No idea.")))) as server:
        plan = small_plan(4, judges=(settings_of(server),))
        assert checked(store, plan).state == "paused"
        server.rule = None
        end = checked(store, plan, retry_failed=True)
    assert (end.state, end.done, end.failed, server.asked) == ("finished", CALLS, 0, CALLS + 8)


def test_thinking_aloud_until_the_limit_says_which_limit(store: Store) -> None:
    with running(FakeServer(rule=always(lambda: said(ALOUD, finish="length", out=16)))) as server:
        end = checked(store, small_plan(4, judges=(settings_of(server),)))
    assert (end.state, server.asked) == ("paused", 8)
    cut = "8 of 8 replies were cut at the limit of 16 tokens. Set the judge's max_tokens = 512."
    assert cut in end.reason
    assert only(end).lines[0].text() == f"   –  {ALOUD}  (cut at 16 tokens)"


def test_a_limit_of_the_servers_own_is_told_apart(store: Store) -> None:
    with running(FakeServer(rule=always(lambda: said("The", finish="length", out=5)))) as server:
        judge = settings_of(server, max_tokens=512)
        end = checked(store, small_plan(4, judges=(judge,)))
    assert "cut after 5 tokens, although max_tokens allows 512" in end.reason


def test_replies_that_the_server_broke_off_are_lost_and_say_so(
    store: Store, scripted: Scripted
) -> None:
    """A judge may hand on an end that is no error of the call and no end of a reply."""
    judge = scripted(lambda *_: Reply(text="Score: 1", finish="abort"))
    end = checked(store, small_plan(4))
    assert (end.state, judge.asked.total()) == ("paused", 8)
    assert "8 of 8 calls failed. The last error: ended by the server: abort." in end.reason
    assert only(end).lines[0].text() == "   –  Score: 1  (failed: ended by the server: abort)"


def test_hidden_reasoning_that_fills_the_limit_is_named(store: Store) -> None:
    """Servers with a reasoning parser send no content, and count the tokens that nobody sees."""
    with running(FakeServer(rule=always(lambda: said("", finish="length", out=100)))) as server:
        judge = settings_of(server, max_tokens=100)
        end = checked(store, small_plan(4, judges=(judge,)))
    assert (end.state, server.asked) == ("paused", 8)
    assert "8 of 8 replies came with reasoning, up to 100 tokens in a reply." in end.reason
    assert "Set the judge's max_tokens = 2048." in end.reason


def test_reasoning_that_ends_in_a_score_warns(store: Store) -> None:
    with running(FakeServer(rule=always(lambda: said("<think>a 2?</think>4", out=9)))) as server:
        end = checked(store, small_plan(4, judges=(settings_of(server),)))
    assert (end.state, kinds(only(end))) == ("finished", ["reasoning", "same_score"])
    assert only(end).lines[0].shown == "<think>a 2?</think>»4«"


@pytest.mark.parametrize(
    "text", ["<think>a 2?</think>4", "[THINK]a 2?[/THINK]4", "<scratchpad>a 2?</scratchpad>4"]
)
def test_the_marks_of_reasoning_are_those_of_the_reader(text: str) -> None:
    asked = judgment_of(text)
    assert asked.outcomes[0].score == 4.0
    assert kinds(check_of(asked)) == ["reasoning"]


def test_another_model_stops(store: Store) -> None:
    with running(FakeServer(model="somebody-else")) as server:
        end = checked(store, small_plan(4, judges=(settings_of(server),)))
        asked = server.asked
    assert (end.state, end.done) == ("paused", 0)
    assert asked <= 8
    assert "The server answered as “somebody-else”" in end.reason


def test_a_dated_name_of_the_model_is_shown(store: Store) -> None:
    with running(FakeServer(model="m-2025-08-07")) as server:
        end = checked(store, small_plan(4, judges=(settings_of(server),)))
    assert end.state == "finished"
    assert "The server answered as “m-2025-08-07”; you asked for “m”." in " ".join(
        only(end).remarks()
    )


def long_plan(server: FakeServer, items: int = 6, signs: int = 12_000) -> Any:
    """Answers of unlike length, of which the shortest has ``signs`` characters."""
    answers = tuple(
        Item(f"i{k}", "An honest word. " * ((signs + 1_600 * k) // 16), f"instruction {k}")
        for k in range(items)
    )
    return small_plan(dataset=DataSet("d", answers), judges=(settings_of(server),))


@pytest.mark.thorough
def test_a_cut_context_stops_and_its_replies_do_not_count(store: Store) -> None:
    """Ollama cuts prompts to num_ctx without a word, and answers all the same."""
    with running(FakeServer(rule=always(lambda: said("4", tokens=2_050)))) as server:
        plan = long_plan(server)
        end = checked(store, plan)
        assert (end.state, end.done, end.failed, server.asked) == ("paused", 8, 8, 8)
        assert "it counted 2,050 prompt tokens for all of them, and about 4," in end.reason
        assert "The server cuts long prompts" in end.reason
        assert len(store.table(end.run).rows.query("status == 0")) == 0
        again = checked(store, plan)  # the server still cuts
        assert (again.state, again.done, again.failed) == ("paused", 16, 16)
        server.rule = lambda body, _: said("4", tokens=len(messages_of(body)) // 5)
        mended = checked(store, plan, retry_failed=True)
    assert (mended.state, mended.failed, server.asked) == ("finished", 0, 120 + 16)
    assert set(store.calls(end.run)["kind"]) == {""}


@pytest.mark.thorough
def test_prompts_that_get_long_later_are_cut_then(store: Store) -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response:
        return said("4", tokens=min(2_048, len(messages_of(body)) // 4))

    with running(FakeServer(rule=rule)) as server:
        answers = [Item(f"i{k}", f"short {k}", f"instruction {k}") for k in range(4)]
        answers += [
            Item(f"l{k}", "A long and honest word. " * (600 + 60 * k), "long") for k in range(6)
        ]
        plan = small_plan(dataset=DataSet("d", tuple(answers)), judges=(settings_of(server),))
        end = checked(store, plan)
    assert end.state == "paused"
    assert end.done < len(plan)
    assert "The server cuts long prompts" in end.reason
    rows = store.table(end.run).rows
    assert set(rows.loc[rows["item"] >= 4, "status"]) == {int(Status.ERROR)}


def test_log_probabilities_that_were_refused_are_said(store: Store) -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        if body.get("logprobs"):
            refusal = {"message": "logprobs is not supported", "param": "logprobs"}
            return web.json_response({"error": refusal}, status=400)
        return None

    with running(FakeServer(model="m", rule=rule)) as server:
        end = checked(store, small_plan(4, judges=(settings_of(server),)))
    assert end.state == "finished"
    left_out = (
        "The server refused part of the request: token probabilities are not asked for: the server "
        "refuses them."
    )
    assert left_out in only(end).remarks()


def test_without_a_check_everything_is_asked(store: Store) -> None:
    with running(FakeServer(rule=always(lambda: said("No idea.")))) as server:
        end = ended(Run(store, small_plan(4, judges=(settings_of(server),))))
    assert (end.state, server.asked, end.checks) == ("failed", CALLS, ())


# ---------------------------------------------------------------- sessions


def test_one_judge_that_stops_leaves_the_other_going(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = Judge(), Judge(lambda *_: Reply(text="no"))
    use(monkeypatch, None, api=good, other=bad)
    end = checked(store, small_plan(4, judges=(API, OTHER)))
    assert (end.state, good.asked.total(), bad.asked.total()) == ("paused", CALLS, 8)
    assert end.reason.startswith("other: None of 8 replies")
    assert end.reason.endswith("The other judges went on.")
    assert {check.judge: check.parsed for check in end.checks} == {"api": 8, "other": 0}


def test_tries_are_calls_of_the_run(store: Store, scripted: Scripted) -> None:
    judge = scripted(lambda call, _: Reply(text=str(call.ordering.shown[0])))
    plan = small_plan(4)
    tried = ended(Run(store, plan, tries=4))
    assert (tried.state, tried.done, judge.asked.total()) == ("paused", 4, 4)
    assert (only(tried).asked, only(tried).parsed) == (4, 4)
    assert tried.reason.startswith("The trial calls are done.")
    end = checked(store, plan)
    assert (end.state, judge.asked.total(), set(judge.asked.values())) == ("finished", CALLS, {1})
    assert only(end).asked == 8, "the four that were tried and four more"


def test_a_resumed_run_is_not_checked_again(store: Store, scripted: Scripted) -> None:
    judge = scripted()
    plan = small_plan(4)
    assert checked(store, plan, max_calls=30).state == "paused"
    end = checked(store, plan)
    assert (end.state, end.checks, judge.asked.total()) == ("finished", (), CALLS)


def test_a_limit_of_calls_in_the_middle_of_the_check(store: Store, scripted: Scripted) -> None:
    judge = scripted(lambda *_: Reply(text="no"))
    end = checked(store, small_plan(4), max_calls=3)
    assert (end.state, judge.asked.total(), end.checks) == ("paused", 3, ())
    assert "the limit of 3 calls" in end.reason


def test_a_plan_that_the_check_asks_whole_ends_as_without_it(
    store: Store, scripted: Scripted
) -> None:
    scripted(lambda *_: Reply(text="no"))
    plan = small_plan(2, strategies=["fixed"])  # four calls
    end = checked(store, plan)
    assert (end.state, end.done) == ("failed", 4)
    assert only(end).stop is not None


def test_losses_that_begin_later_pause_once(store: Store, scripted: Scripted) -> None:
    """From the 60th call on no reply has a score: the 21st of them passes 20 of the last 100."""
    plan = small_plan(10)
    late = {call.key for call in list(plan.calls())[60:]}
    first = {call.key for request in check_requests(plan, "api") for call in request}
    judge = scripted(
        lambda call, _: Reply(text="no" if call.key in late - first else "3"), latency=0.001
    )
    end = checked(store, plan)
    assert end.state == "paused"
    assert end.failed >= 21
    assert judge.asked.total() <= 60 + 8 + 21 + 2 * API.concurrency
    assert "of its last" in end.reason
    # Whoever goes on all the same has seen it.
    again = checked(store, plan)
    assert (again.state, again.done, set(judge.asked.values())) == ("finished", 200, {1})


def test_replies_that_the_server_breaks_off_later_pause_too(
    store: Store, scripted: Scripted
) -> None:
    plan = small_plan(10)
    late = {call.key for call in list(plan.calls())[60:]}
    first = {call.key for request in check_requests(plan, "api") for call in request}
    judge = scripted(
        lambda call, _: Reply(text="3", finish="abort" if call.key in late - first else "stop"),
        latency=0.001,
    )
    end = checked(store, plan)
    assert (end.state, "of its last" in end.reason) == ("paused", True)
    assert judge.asked.total() <= 60 + 8 + 21 + 2 * API.concurrency


@pytest.mark.parametrize(("lost", "pauses"), [(20, False), (21, True)])
def test_more_than_twenty_of_the_last_hundred(lost: int, pauses: bool) -> None:
    made = [judgment_of("4") for _ in range(100 - lost)] + [judgment_of("no") for _ in range(lost)]
    assert (too_many_lost(API, made) is not None) == pauses


def test_planted_losses_do_not_pause_a_simulated_judge(store: Store) -> None:
    planted = JudgeSettings(
        name="planted", kind="simulated", model="simulated", options={"unparsed": 0.5}
    )
    end = checked(store, small_plan(6, judges=(planted,)))
    assert (end.state, end.done) == ("finished", 120)
    assert end.failed > 40
    assert "unparsed" in kinds(only(end))


@pytest.mark.parametrize(
    ("price", "state"), [(None, "finished"), (1.0, "paused")], ids=["free", "paid"]
)
def test_a_page_waits_at_a_warning_where_calls_cost_money(
    store: Store, scripted: Scripted, price: float | None, state: str
) -> None:
    plan = small_plan(4, judges=(API.model_copy(update={"price_input": price}),))
    lost = check_requests(plan, "api")[0][0].key
    judge = scripted(lambda call, _: Reply(text="no" if call.key == lost else "3"))
    end = ended(Run(store, plan, check="hold"))
    assert end.state == state
    if price:
        assert (end.done, "1 of 8 replies could not be parsed" in end.reason) == (8, True)
        again = RunManager(store).resume(end.run, check="hold").wait(60)
        assert (again.state, judge.asked.total(), again.checks) == ("finished", CALLS, ())


def test_a_stopped_check_of_a_page_goes_on_at_a_click(store: Store, scripted: Scripted) -> None:
    judge = scripted(lambda *_: Reply(text="no"))
    plan = small_plan(4)
    end = ended(Run(store, plan, check="hold"))
    assert (end.state, end.done) == ("paused", 8)
    again = ended(Run(store, plan, check="hold"))
    assert (again.state, again.done) == ("failed", CALLS)
    assert set(judge.asked.values()) == {1}


def test_checks_are_made_again_from_the_store(store: Store, scripted: Scripted) -> None:
    scripted(lambda *_: Reply(text="Score: 4"))
    end = checked(store, small_plan(4))
    assert stored_checks(store, small_plan(4), end.run) == [only(end)]
    store.keep_made_with(end.run, {"reading_checks": {"api": {"calls": "x"}, "b": 3}})
    assert kept_checks(store.made_with(end.run)) == {"api": {}}
    assert stored_checks(store, small_plan(4), end.run) == []


# ---------------------------------------------------------------- which calls


def test_the_check_asks_four_answers_and_one_order_twice() -> None:
    calls = [call for request in check_requests(small_plan(6), "api") for call in request]
    assert [call.items for call in calls] == [(0,), (0,), (1,), (1,), (2,), (2,), (3,), (3,)]
    orders = [call.ordering for call in calls]
    assert orders[0] == orders[1]
    assert all(orders[k] != orders[k + 1] for k in (2, 4, 6))
    assert len({call.key for call in calls}) == 8
    four = [call for request in check_requests(small_plan(6), "api", 4) for call in request]
    assert four == calls[:4]


def test_the_check_of_one_answer_asks_it_eight_times() -> None:
    calls = [call for request in check_requests(small_plan(1), "api") for call in request]
    assert (len(calls), {call.items for call in calls}) == (8, {(0,)})


def test_every_data_set_and_axis_has_its_turn() -> None:
    plan = small_plan(4, reorder=["options", "bare"])
    calls = [call for request in check_requests(plan, "api") for call in request]
    assert {plan.conditions[call.condition].reorder for call in calls} == {"options", "bare"}


# ---------------------------------------------------------------- what it says of calls


ORDER = Ordering((1, 2, 3, 4, 5), ("1", "2", "3", "4", "5"))


def call_of(item: int = 0, signs: int = 400, **more: Any) -> Call:
    message = {
        "role": "user",
        "content": "Some words "[: signs % 11] + "Some words " * (signs // 11),
    }
    values: dict[str, Any] = {"messages": (message,), "template": "score.v1", "max_tokens": 16}
    values |= {"scores": (1, 2, 3, 4, 5), "ordering": ORDER, "repeat": 0} | more
    return Call(f"{item}", 0, (item,), **values)


def judgment_of(text: str, item: int = 0, signs: int = 400, **reply: Any) -> Judgment:
    call, got = call_of(item, signs), Reply(text=text, **reply)
    return Judgment(call, got, option_outcomes(call, got))


def check_of(*judgments: Judgment) -> ReadingCheck:
    return reading_check(API, judgments, option_outcomes, planned=800)


def test_two_scores_in_one_order_and_one_score_in_all() -> None:
    noisy = check_of(judgment_of("2"), judgment_of("4"))
    assert noisy.remarks() == [
        "Asked twice in the same order, the judge gave one answer 2 and 4. "
        "Ask every order at least twice (repeats = 2)."
    ]
    assert not noisy.holds
    assert noisy.urgent == ()  # nobody can repeat orders while the run goes on
    assert noisy.text()[-1].startswith("· Asked twice in the same order")
    flat = check_of(*(judgment_of("3", item) for item in range(8)))
    assert kinds(flat) == ["same_score"]
    assert flat.urgent == flat.warnings
    assert "All 8 replies give the score 3." in flat.remarks()[0]
    assert check_of(*(judgment_of("3", item) for item in range(7))).warnings == ()


def test_equal_counts_of_unlike_prompts_warn() -> None:
    """A count of 100 tokens is no context, so it is a wrong count and no reason to stop."""
    check = check_of(*(judgment_of("3", k, 400 + 400 * k, tokens_in=100) for k in range(4)))
    assert (check.stop, kinds(check)) == (None, ["tokens"])
    assert (
        "100 prompt tokens for each of 4 prompts of different length. About 100 to 400"
        in (check.remarks()[0])
    )
    alike = check_of(*(judgment_of("3", k, 400, tokens_in=100) for k in range(4)))
    assert alike.warnings == ()
    few = check_of(*(judgment_of("3", k, 4_000, tokens_in=700) for k in range(4)))
    assert (few.stop, kinds(few), few.holds) == (None, ["few_tokens"], False)


def sizes(*counted_and_signs: tuple[int, int]) -> list[PromptSize]:
    made = [
        PromptSize.of(judgment_of("3", item, signs, tokens_in=counted))
        for item, (counted, signs) in enumerate(counted_and_signs)
    ]
    return [size for size in made if size is not None]


@pytest.mark.parametrize(
    ("counted", "cut"),
    [
        (((1_000, 4_000), (1_500, 6_000), (2_000, 8_000), (2_500, 10_000)), ""),
        # English prose of five characters a token.
        (((800, 4_000), (1_200, 6_000), (1_600, 8_000), (2_000, 10_000)), ""),
        # Two prompts end at one number, 2,048, where 2,600 and 3,000 are usual.
        (((1_000, 4_000), (2_048, 10_400), (2_048, 12_000)), "12"),
        # One long prompt with 2,048 tokens for 16,000 characters: no text has so few.
        (((1_000, 4_000), (2_048, 16_000)), "1"),
        # The same count of two prompts that are about as long.
        (((2_048, 10_000), (2_048, 10_200)), ""),
        # No context is as small as 100 tokens.
        (((100, 4_000), (100, 8_000)), ""),
        ((), ""),
    ],
)
def test_a_cut_context_is_known_by_its_counts(
    counted: tuple[tuple[int, int], ...], cut: str
) -> None:
    reason, keys = cut_context(sizes(*counted))
    assert ("".join(sorted(keys)), reason is not None) == (cut, bool(cut))


def test_a_server_that_counts_only_what_it_had_not_cached_is_no_cut() -> None:
    asked = [judgment_of("3", 0, 12_000, tokens_in=3_000)]
    asked += [judgment_of("3", 0, 12_000, tokens_in=12)]  # the same answer again, all but cached
    asked += [judgment_of("3", 1, 12_000, tokens_in=60, cached=2_900)]
    assert cut_context([size for each in asked if (size := PromptSize.of(each))])[0] is None


@pytest.mark.parametrize(
    ("text", "usual", "fewest"),
    [
        ("word " * 800, 1_000, 615),
        ("评分标准" * 300, 800, 400),
        ("оценка ответа " * 100, 452, 252),  # 13 of 14 are Cyrillic letters or blanks
        (" " * 4_000, 1, 0),
    ],
)
def test_tokens_are_guessed_by_script(text: str, usual: float, fewest: float) -> None:
    assert tokens_of(text) == (pytest.approx(usual, abs=5), pytest.approx(fewest, abs=5))


@pytest.mark.parametrize(
    ("text", "label", "marked"),
    [
        ("4", "4", "»4«"),
        ("The maximum is 5.\nScore: 4", "4", "The maximum is 5. ⏎ Score: »4«"),
        (
            "4 criteria are met. I would give it a 4.",
            "4",
            "4 criteria are met. I would give it a »4«.",
        ),
        ("Score: 4. »Well done«", "4", "Score: »4«. ›Well done‹"),
        ("Score:\n\n4\u202e\x07", "4", "Score: ⏎ »4«"),
    ],
)
def test_the_part_that_was_read_is_marked(text: str, label: str, marked: str) -> None:
    (line,) = check_of(judgment_of(text)).lines
    assert (line.read, line.shown) == (label, marked)


def test_a_long_reply_is_shown_around_what_was_read() -> None:
    text = "The answer says much. " * 60 + "[RESULT] 2"
    (line,) = check_of(judgment_of(text)).lines
    assert line.shown.startswith("… ")
    assert line.shown.endswith("[RESULT] »2«")
    assert len(line.shown) < 120
    (line,) = check_of(judgment_of("word " * 5_000 + "\nScore: 2")).lines
    assert (line.read, "»" in line.shown) == ("2", False)
    assert shown_reply("x" * 500).endswith(" …")
    assert shown_reply("") == "(empty)"


def test_criteria_have_a_mark_each(store: Store, scripted: Scripted) -> None:
    scripted(lambda *_: Reply(text="[a] 4\n[b] 4\n[c] 2"))
    plan = small_plan(4, criteria=tuple(map(criterion, "abc")), reorder="criteria")
    line = only(checked(store, plan)).lines[0]
    assert (line.read, line.shown) == ("4 4 2", "[a] »4« ⏎ [b] »4« ⏎ [c] »2«")


@pytest.mark.parametrize(
    ("changes", "costs"),
    [
        ({}, False),
        ({"price_input": 1.0}, True),
        ({"base_urls": ("https://api.example.com/v1",)}, True),
        ({"base_urls": ("http://192.168.1.9:8000/v1",)}, False),
        ({"base_urls": ("http://localhost:11434/v1", "http://8.8.8.8/v1")}, True),
        ({"base_urls": ()}, True),
        ({"kind": "vllm", "base_urls": ()}, False),
        ({"kind": "python"}, False),
    ],
)
def test_what_costs_money_or_leaves_the_house(changes: dict[str, Any], costs: bool) -> None:
    assert spends(API.model_copy(update=changes)) is costs
    assert spends(EMBEDDED) is False


# ---------------------------------------------------------------- the command line

STUDY = """
name = "checked"
[[data]]
file = "answers.csv"
[[rubric.criteria]]
name = "quality"
options = {{ 1 = "bad", 2 = "fair", 3 = "good" }}
[[judges]]
name = "server"
kind = "openai"
model = "m"
base_urls = ["{url}"]
{more}
"""


def command(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    code = run_command(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def study_file(folder: Path, server: FakeServer, more: str = "") -> tuple[str, ...]:
    """Arguments of the commands: a study of 6 answers in 6 orders, each twice."""
    rows = "\n".join(f"a{k},This is answer {k},Question {k}?" for k in range(6))
    (folder / "answers.csv").write_text(f"item_id,response,instruction\n{rows}\n", "utf-8")
    (folder / "study.toml").write_text(STUDY.format(url=server.base_url, more=more), "utf-8")
    return str(folder / "study.toml"), "--store", str(folder / "lab.duckdb")


def test_run_prints_the_check_and_goes_on(tmp_path: Path, capsys: Captured) -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response:
        return said("Hard to tell." if "answer 1" in messages_of(body) else "Score: 2")

    with running(FakeServer(rule=rule)) as server:
        code, out, err = command(capsys, "run", *study_file(tmp_path, server))
    assert code == 0
    assert "Reading check of server: 6 of 8 replies parsed\n   2  Score: »2«\n" in err
    assert "! 2 of 8 replies could not be parsed." in out
    assert "At this rate about 18 of 72 calls would give no score." in out


@pytest.mark.thorough
def test_run_stops_at_the_check_and_goes_on_without_it(tmp_path: Path, capsys: Captured) -> None:
    with running(FakeServer(rule=always(lambda: said("\x1b[2JNo idea.")))) as server:
        arguments = study_file(tmp_path, server)
        code, out, err = command(capsys, "run", *arguments)
        assert (code, server.asked) == (3, 8)
        assert "checked: paused: server: None of 8 replies could be parsed." in out
        assert "--no-check" in out
        assert "\x1b" not in out + err
        code, out, _ = command(capsys, "run", *arguments, "--no-check", "--json")
    made = json.loads(out)
    assert (code, made["state"], made["done"], made["checks"]) == (1, "failed", 72, [])
    assert (server.asked, len(set(server.keys))) == (72, 72)


def test_the_check_as_json(tmp_path: Path, capsys: Captured) -> None:
    with running(FakeServer(rule=always(lambda: said(ALOUD, finish="length", out=16)))) as server:
        code, out, _ = command(capsys, "run", *study_file(tmp_path, server), "--json")
    made = json.loads(out)
    (check,) = made["checks"]
    assert (code, made["state"], made["done"]) == (3, "paused", 8)
    assert (check["judge"], check["asked"], check["parsed"]) == ("server", 8, 0)
    assert check["stop"]["kind"] == "unparsed"
    assert [warning["kind"] for warning in check["warnings"]] == ["cut"]
    assert check["replies"][0] == {"read": "–", "reply": ALOUD, "why": "cut at 16 tokens"}


@pytest.mark.thorough
def test_a_mended_limit_goes_on_under_the_same_command(tmp_path: Path, capsys: Captured) -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response:
        if body["max_tokens"] < 512:
            return said(ALOUD, finish="length", out=16)
        return said(f"{ALOUD} right.\nScore: 3", out=40)

    with running(FakeServer(rule=rule)) as server:
        arguments = study_file(tmp_path, server)
        code, out, _ = command(capsys, "run", *arguments)
        assert (code, "max_tokens = 512" in out) == (3, True)
        mended = study_file(tmp_path, server, more="max_tokens = 512")
        assert command(capsys, "run", *mended)[0] == 0
    assert server.asked == 8 + 72


@pytest.mark.thorough
def test_plan_tries_some_calls_and_run_goes_on(tmp_path: Path, capsys: Captured) -> None:
    with running(FakeServer(model="m")) as server:
        arguments = study_file(tmp_path, server)
        code, out, _ = command(capsys, "plan", *arguments, "--try", "4")
        assert (code, server.asked) == (0, 4)
        assert out.startswith("checked: 4 of 72 calls asked\n\nReading check of server: 4 of 4")
        code, out, _ = command(capsys, "plan", *arguments, "--try", "4", "--json")
        assert (code, server.asked) == (0, 4), "nothing is tried twice"
        tried = json.loads(out)
        assert (tried["state"], tried["done"], len(tried["checks"][0]["replies"])) == (
            "paused",
            4,
            4,
        )
        code, out, _ = command(capsys, "run", *arguments, "--json")
    assert (code, json.loads(out)["run"]) == (0, tried["run"])
    assert (server.asked, len(set(server.keys))) == (72, 72)


def test_plan_that_tries_a_judge_in_vain_exits_3(tmp_path: Path, capsys: Captured) -> None:
    with running(FakeServer(rule=always(lambda: said("No idea.")))) as server:
        code, out, _ = command(capsys, "plan", *study_file(tmp_path, server), "--try", "4")
    assert (code, server.asked) == (3, 4)
    assert "! None of 4 replies could be parsed." in out
    code, _, err = command(capsys, "plan", "demo", "--try", "0")
    assert (code, "--try is 0. Use 1 or more" in err) == (1, True)


def test_a_small_model_that_writes_on_is_told_to_say_only_labels() -> None:
    """It says “The score is 296…”: more tokens would only be more of that."""
    begun = {"role": "assistant", "content": "The score is "}

    def cut(item: int, max_tokens: int) -> Judgment:
        call = call_of(item, 400)
        call = replace(call, messages=(*call.messages, begun), max_tokens=max_tokens)
        reply = Reply(text="The score is 296", finish="length", tokens_out=max_tokens)
        return Judgment(call, reply, (Outcome(item, 0, Status.TRUNCATED, mass=0.9),))

    said = too_many_lost(EMBEDDED, [cut(item, 3) for item in range(30)])
    assert said is not None
    assert said.text.endswith(
        "30 of 30 replies were cut at the limit of 3 tokens, because the small model wrote on "
        "after the number or before it. A longer reply would not help. Set “Constrain replies” to "
        "Grammar (constrain = “grammar”). Then every reply is a label. Without that, the labels "
        "get a probability of 0.90 (median)."
    )
    long = too_many_lost(EMBEDDED, [cut(item, 300) for item in range(30)])
    assert long is not None
    assert "Set the judge's max_tokens = " in long.text  # it was asked for more than a label
    served = too_many_lost(API, [cut(item, 3) for item in range(30)])
    assert served is not None
    assert "max_tokens = 512" in served.text


@pytest.mark.parametrize(
    ("settings", "lost", "mass", "helped"),
    [
        (EMBEDDED, 24, 0.9, True),
        (EMBEDDED, 0, 0.9, False),
        (EMBEDDED, 24, 0.4, False),
        (EMBEDDED.model_copy(update={"constrain": "grammar"}), 24, 0.9, False),
        (API, 24, 0.9, False),
    ],
)
def test_a_grammar_helps_a_small_model_that_means_the_labels(
    settings: JudgeSettings, lost: int, mass: float, helped: bool
) -> None:
    assert helped_by_grammar(settings, lost, mass) is helped
