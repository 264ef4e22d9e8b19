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
from rubriclab.runs.runner import keep_run
from rubriclab.runs.trial import plan_of_text
from rubriclab.words.phrases import number
from tests.app.conftest import HOSTILE, Lab, healthy, texts
from tests.words import made


def plain(app: AppTest) -> str:
    """All that a page says, cards in."""
    return texts(app) + "\n".join(
        re.sub(r"<[^>]+>", " ", card.proto.body) for card in app.get("html")
    )


def choose(app: AppTest, judge: str) -> AppTest:
    box = app.selectbox(key="try-judge")
    return box.set_value(next(k for k, title in enumerate(box.options) if judge in title)).run()


def asked(app: AppTest) -> AppTest:
    """Press the button, and wait until all calls are answered."""
    app.button(key="try-ask").click().run()
    for _ in range(200):
        if [button for button in app.button if button.key == "try-ask"]:
            return healthy(app)
        time.sleep(0.05)
        app.run()
    raise AssertionError("the judge did not answer")


def test_an_example_is_recorded_then_asked_live_and_leaves_no_trace(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    monkeypatch.setattr(
        trial, "plan_of_text", lambda *asked: drawn.append(asked) or plan_of_text(*asked)
    )
    app = healthy(lab("try"))
    assert len(drawn) == 1  # the form's label is known before the form is
    said = plain(app)
    assert "Recorded. Press Ask the judge" in said
    assert "Listed 1 to 5" in said
    assert "Listed 5 to 1" in said
    assert "0\u00a0points" in said
    assert "Scores from 1 to 5" in said  # the recorded kettle-refund in ten orders
    app = asked(choose(app, "simulated"))
    said = plain(app)
    assert "An example, asked here. It is not a run" in said
    assert re.search(r"Score [1-5]", said)
    assert "example: a run measures how often" in said
    assert "simulated" in app.expander[0].label
    assert not state.store_path().exists()
    # The next answer is asked about at once; the first one's answers are still there.
    app.button(key="try-next").click().run()
    assert "Recorded" not in plain(app)
    app.selectbox(key="try-texts").set_value(0).run()
    assert "asked here" in plain(app)


@pytest.mark.parametrize("axis", ["pairs", "criteria"])
def test_two_answers_and_criteria_are_recorded_and_asked(lab: Lab, axis: str) -> None:
    app = lab("try")
    app.segmented_control(key="try-axis").set_value(axis).run()
    said = plain(healthy(app))
    assert ("Shown draft-a first" if axis == "pairs" else "Listed Clarity | Completeness") in said
    assert "Recorded" in said
    said = plain(asked(choose(app, "simulated")))
    assert ("winner" if axis == "pairs" else "of 4 criteria") in said


def test_texts_of_strangers_stay_texts_and_an_empty_one_is_refused(lab: Lab) -> None:
    app = choose(lab("try"), "simulated")
    app.text_area(key="try-texts-Answer to score").set_value(HOSTILE).run()
    rubric = sample_rubric().id[:8]
    app.text_input(key=f"try-rubric-{rubric}-name").set_value(HOSTILE).run()
    healthy(asked(app))
    bodies = " ".join(card.proto.body for card in app.get("html"))
    assert "<img" not in bodies
    assert "\u202e" not in app.expander[0].label
    assert not re.search(r"(?<!\\)(<img|\]\(|:red\[)", app.expander[0].label)
    app.text_area(key="try-texts-Answer to score").set_value(" ").run()
    assert "is empty" in app.error[0].value
    assert not [button for button in app.button if button.key == "try-ask"]


def test_judges_of_own_runs_are_offered_and_none_that_came_with_a_file(lab: Lab) -> None:
    def judge(name: str) -> JudgeSettings:
        return JudgeSettings(
            name=name, kind="openai", model=name, base_urls=("http://127.0.0.1:9/v1",)
        )

    keep_run(
        state.store(), plan_of_text("options", sample().items[:1], sample_rubric(), judge("own"))
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
    app.selectbox(key="try-rubric-options").set_value(1).run()
    app.selectbox(key="try-criterion").set_value(2).run()
    app.button(key="try-measure").click().run()
    held = app.session_state["setup draft"]
    assert app.title[0].value == "Set up a run"
    assert [judge.name for judge in held.study.judges] == ["simulated"]
    rubric = sample_rubric("writing")
    assert [c["name"] for c in held.study.rubric.criteria] == [rubric.criteria[2].name]
    assert held.study.rubric.criteria == written(rubric).criteria[2:3]


def test_every_number_of_the_four_pictures_is_a_row_of_the_recorded_example(lab: Lab) -> None:
    app = healthy(lab("learn"))
    said, findings = plain(app), state.findings(state.recorded())
    assert len(app.get("plotly_chart")) == 3
    for measure in ("repeat_change", "order_change"):
        row = findings.select(measure, condition=0)[0]
        low, high = map(number, row.interval)
        assert f"{number(row.value)}\u00a0points (95% CI {low} to {high})" in said
    top = max(findings.select("position_share", condition=0), key=lambda row: row.value)
    assert f"It chose position 1 in {number(top.value, '.0%')} of 1,200 calls" in said
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
