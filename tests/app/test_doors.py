"""Check Try it and Learn: an example leaves no trace, and every number is one of the lab's."""

import re
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import learn, state
from rubriclab.app import try_it as trial
from rubriclab.app.draft import written
from rubriclab.core.topic import DEFINITIONS
from rubriclab.data.sample import sample, sample_rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Reply
from rubriclab.runs import trial as runs_trial
from rubriclab.runs.runner import keep_run
from rubriclab.runs.trial import plan_of_texts
from rubriclab.words.phrases import number
from tests.app.conftest import HOSTILE, Lab, healthy, texts
from tests.runs.kit import ScriptedJudge, use
from tests.words import made


def plain(app: AppTest) -> str:
    """All that a page says, cards in."""
    return texts(app) + "\n".join(
        re.sub(r"<[^>]+>", " ", card.proto.body) for card in app.get("html")
    )


def choose(app: AppTest, judge: str) -> AppTest:
    box = app.selectbox(key="try-judge")
    return box.set_value(next(k for k, title in enumerate(box.options) if judge in title)).run()


def has(app: AppTest, key: str) -> bool:
    return any(button.key == key for button in app.button)


def asked(app: AppTest, key: str = "try-ask") -> AppTest:
    """Press the button, and wait until all calls are answered."""
    app.button(key=key).click().run()
    for _ in range(200):
        if not has(app, "try-stop"):
            return healthy(app)
        time.sleep(0.05)
        app.run()
    raise AssertionError("the judge did not answer")


def place(app: AppTest, name: str) -> str:
    """Return what the page's address says."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def put(app: AppTest, *order: int) -> AppTest:
    """Give the list this order, as a drag or a key does: numbers of the default order, from 0."""
    app.session_state["try order"] = order
    return app.run()


@pytest.mark.thorough
def test_try_it_opens_on_a_recorded_swing_and_leaves_no_trace(lab: Lab) -> None:
    app = healthy(lab("try"))
    said = plain(app)
    assert "Same answer, same words: 4\u00a0points apart" in said
    assert "We start with an answer that swings, on purpose." in said
    assert "31 move by 2\u00a0points or more, 9 by 1, and 20 not at all" in said
    assert "10 recorded orders. The option listed first was chosen in 6 of 10" in said
    assert "would do so in 2." in said
    assert "found a green bottle" in said
    assert "Score 5" in said
    assert "Recorded. Asked twice: 5 both times." in said
    assert place(app, "answer") == "lighthouse-letter"
    assert place(app, "order") == "54321"
    app = put(app, 1, 2, 3, 4, 0)
    assert "Score 1" in plain(app)
    assert place(app, "order") == "23451"
    app = put(app, 1, 2, 3, 0, 4)
    said = plain(app)
    assert "Nobody has asked this order yet: 10 of the 120 are recorded." in said
    assert "Nearest recorded order 2 3 4 5 1: score 1. Yours may differ." in said
    assert "Score 1" not in said
    assert not state.store_path().exists()


def test_next_goes_down_the_list_to_answers_that_do_not_move(lab: Lab) -> None:
    app = lab("try")
    app.button(key="try-next").click().run()
    said = plain(healthy(app))
    assert "Answer 2 of 60, from the widest swing to none." in said
    assert place(app, "answer") == "decline-invite"
    app = healthy(lab("try", answer="wifi-router", order="12345"))
    assert "Answer " in plain(app)
    # The last of the list does not move; after it the list begins again.
    last = app.session_state["try answer"] = trial._samples(
        "options", JudgeSettings(name="smollm2-135m"), sample_rubric()
    ).names[-1]
    app.session_state["try order"] = None
    said = plain(healthy(app.run()))
    assert "Same answer, 10 orders: always 5" in said
    assert place(app, "answer") == last
    app.button(key="try-next").click().run()
    assert place(app, "answer") == "lighthouse-letter"


@pytest.mark.thorough
def test_another_judge_has_its_own_list_and_keeps_a_chosen_answer(lab: Lab) -> None:
    app = choose(lab("try"), "qwen2.5-coder-0.5b")
    assert place(app, "answer") == "wifi-router"
    assert "26 move by 2" in plain(healthy(app))
    assert place(app, "judge") == "qwen2.5-coder-0.5b"
    app = choose(lab("try", answer="lighthouse-letter"), "qwen2.5-coder-0.5b")
    assert place(app, "answer") == "lighthouse-letter"
    app = choose(app, "smollm2-135m-q8")
    said = plain(healthy(app))
    assert "no recorded replies of this judge" in said
    assert "Not asked yet" in said
    assert "recorded orders" not in said


@pytest.mark.thorough
def test_an_address_opens_the_same_answer_and_order(lab: Lab) -> None:
    app = healthy(lab("try", answer="lighthouse-letter", order="12345", judge="qwen2.5-coder-0.5b"))
    assert place(app, "order") == "12345"
    assert "qwen" in app.selectbox(key="try-judge").options[app.selectbox(key="try-judge").value]
    app = healthy(lab("try", list="criteria", answer="bike-chain", order="2143"))
    assert place(app, "order") == "2143"
    assert "Only the order of the criteria" in plain(app).replace("only", "Only")


@pytest.mark.parametrize(
    "query",
    [
        {"answer": "nobody"},
        {"answer": "bike-chain", "order": "5432"},
        {"order": "<img src=x>"},
        {"list": "bare"},
        {"judge": "gpt"},
    ],
)
def test_an_address_that_names_nothing_is_reported(lab: Lab, query: dict[str, str]) -> None:
    app = lab("try", **query)
    assert not app.exception
    assert len(app.error) == 1
    assert "Score 5" in plain(app)


def test_live_replies_join_the_recorded_ones_of_the_same_judge(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ScriptedJudge(lambda *_: Reply(text="The score is 3.")), runs_trial)
    app = put(lab("try"), 1, 2, 3, 0, 4)
    app = asked(app)
    said = plain(app)
    assert "Score 3" in said
    assert "Live. Asked once: 3." in said
    assert "10 recorded orders. The option listed first was chosen in 6 of 10" in said
    assert "orders that differ most, recorded or live" in said
    # A recorded order that is answered differently now shows both, and is not compared.
    app = asked(put(app, 4, 3, 2, 1, 0))
    said = plain(app)
    assert "Scores 3 and 5" in said
    assert "Recorded. Asked twice: 5 both times. Live. Asked once" in said
    assert "9 recorded orders" in said
    assert "1 order left out" in said
    assert not state.store_path().exists()


def test_a_reply_without_a_score_is_shown_as_it_is(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ScriptedJudge(lambda *_: Reply(text=f"I refuse {HOSTILE}")), runs_trial)
    app = asked(put(lab("try"), 1, 2, 3, 0, 4))
    assert "No score" in plain(app)
    assert "No score could be parsed from this reply:" in plain(app)
    assert app.code[0].value == f"I refuse {HOSTILE}"


def test_own_text_has_no_orders_until_all_are_asked(lab: Lab) -> None:
    app = choose(lab("try"), "simulated")
    app.button(key="try-own").click().run()
    app.text_area(key="try-texts-Answer to score").set_value("A short answer.").run()
    said = plain(healthy(app))
    assert "Not asked yet" in said
    assert "20 calls: every order twice." in said
    assert "recorded orders" not in said
    assert "sample answers" not in said
    assert "answer" not in app.query_params
    said = plain(asked(app, "try-all"))
    # The simulated judge is noisy: what it answers differently is left out.
    compared, left_out = re.findall(r"(\d+) live orders|(\d+) orders? left out", said)
    assert int(compared[0]) + int(left_out[1]) == 10
    assert "The judge is simulated." in said
    assert not has(app, "try-all")
    app.button(key="try-own").click().run()
    assert "found a green bottle" in plain(healthy(app))


@pytest.mark.thorough
@pytest.mark.parametrize("axis", ["pairs", "criteria"])
def test_two_answers_and_criteria_are_recorded_and_asked(lab: Lab, axis: str) -> None:
    app = lab("try")
    app.segmented_control(key="try-axis").set_value(axis).run()
    said = plain(healthy(app))
    if axis == "pairs":
        # The first judge's replies about pairs name no winner, so the next one is shown.
        assert "Same answers, swapped: another winner" in said
        assert "139 change the winner when swapped, and 5 do not" in said
        box = app.selectbox(key="try-judge")
        assert "qwen2.5-coder-0.5b" in box.options[box.value]
    else:
        assert "Same answer, same words: Clarity 1 and 5" in said
        assert "Recorded. Asked once: mean" in said
    said = plain(asked(choose(app, "simulated")))
    assert ("wins" if axis == "pairs" else "Mean") in said


def test_texts_of_strangers_stay_texts_and_an_empty_one_is_refused(lab: Lab) -> None:
    app = choose(lab("try"), "simulated")
    app.button(key="try-own").click().run()
    app.text_area(key="try-texts-Answer to score").set_value(HOSTILE).run()
    rubric = sample_rubric().id[:8]
    app.text_input(key=f"try-rubric-{rubric}-name").set_value(HOSTILE).run()
    healthy(asked(app))
    bodies = " ".join(card.proto.body for card in app.get("html"))
    assert "<img" not in bodies
    app.text_area(key="try-texts-Answer to score").set_value(" ").run()
    assert "is empty" in app.error[0].value
    assert not has(app, "try-ask")


@pytest.mark.thorough
def test_a_hostile_pair_is_drawn_as_text(lab: Lab) -> None:
    app = choose(lab("try", list="pairs"), "simulated")
    app.button(key="try-own").click().run()
    app.text_area(key="try-pairs-Answer A").set_value(HOSTILE).run()
    app = asked(healthy(app))
    assert "<img" not in " ".join(card.proto.body for card in app.get("html"))


def test_judges_of_own_runs_are_offered_and_none_that_came_with_a_file(lab: Lab) -> None:
    def judge(name: str) -> JudgeSettings:
        return JudgeSettings(
            name=name, kind="openai", model=name, base_urls=("http://127.0.0.1:9/v1",)
        )

    keep_run(
        state.store(), plan_of_texts("options", sample().items[:1], sample_rubric(), judge("own"))
    )
    for name in ("texts", "scores"):
        table = made.options_table({name: made.always_first}, items=9, name=name)
        table = replace(table, items=table.items.assign(response="x")) if name == "texts" else table
        state.store().add_table(table, None, {"judges": [judge(name).model_dump(mode="json")]})
    offered = " ".join(lab("try").selectbox(key="try-judge").options)
    assert "own · http://127.0.0.1:9/v1" in offered
    assert "texts" not in offered
    assert "scores" not in offered


def test_measure_this_opens_set_up_with_rubric_and_judge(lab: Lab) -> None:
    app = choose(lab("try"), "simulated")
    app.button(key="try-own").click().run()
    app.selectbox(key="try-rubric-options").set_value(1).run()
    app.selectbox(key="try-criterion").set_value(2).run()
    app.button(key="try-measure").click().run()
    held = app.session_state["setup draft"]
    assert app.title[0].value == "Set up a run"
    assert [judge.name for judge in held.study.judges] == ["simulated"]
    rubric = sample_rubric("writing")
    assert [c["name"] for c in held.study.rubric.criteria] == [rubric.criteria[2].name]
    assert held.study.rubric.criteria == written(rubric).criteria[2:3]


@pytest.mark.thorough
def test_every_number_of_the_four_pictures_is_a_row_of_the_recorded_example(lab: Lab) -> None:
    app = healthy(lab("learn"))
    said, findings = plain(app), state.findings(state.recorded())
    assert len(app.get("plotly_chart")) == 3
    for measure in ("repeat_change", "order_change"):
        row = findings.select(measure, condition=0)[0]
        low, high = map(number, row.interval)
        assert f"{number(row.value)}\u00a0points (95% CI {low} to {high})" in said
    top = max(findings.select("position_share", condition=0), key=lambda row: row.value)
    assert f"It chose the first option in {number(top.value, '.1%')} of 1,200 calls" in said
    assert said.count("Score ") == 2
    assert len(set(re.findall(r"Score ([1-5])", said))) == 2


@pytest.mark.parametrize(
    ("find", "first", "count"), [("", "Position", len(DEFINITIONS)), ("cramers_v", "Cramér", 1)]
)
def test_definitions_are_found_by_words_and_by_links(
    lab: Lab, find: str, first: str, count: int
) -> None:
    app = healthy(lab("learn", tab="Definitions", **({"find": find} if find else {})))
    assert len(app.expander) == count
    assert first in app.expander[0].label
    app.text_input(key="find").set_value("krippendorff").run()
    assert 1 <= len(app.expander) < 5


def test_assumptions_and_the_method_check_are_shown(lab: Lab) -> None:
    assert "Calls have no memory" in texts(healthy(lab("learn", tab="Assumptions")))
    shown = healthy(lab("learn", tab="Method check")).dataframe[0].value
    assert shown["Cells"].tolist() == [check[2] for check in learn.CHECKS]
