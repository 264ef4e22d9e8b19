"""The five steps: files, rubrics, judges, orders and study files in; the study that is launched out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from rubriclab.app import setup, setup_judge, setup_orders, state
from rubriclab.app.draft import Draft, study_toml
from rubriclab.data.sample import sample, sample_rubric
from rubriclab.data.tables import read_table
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import DataPart, DesignPart, RubricPart, StrategyPart, Study, study_from_toml
from rubriclab.model.text import LabError
from tests.app.conftest import healthy
from tests.app.test_pages import plain

Lab = Callable[..., AppTest]


def uploaded(app: AppTest, text: str, *, name: str = "answers.csv", kind: str = "data") -> AppTest:
    """The visit after a file was uploaded: the browser's part is a test of its own."""
    app.session_state[f"setup {kind} table"] = read_table(text.encode(), name)
    app.session_state[f"setup {kind} file"] = name
    return app.run()


ANSWERS = "Lo que escribió;Lo que se pidió;Nota\n" + "".join(
    f"Una respuesta bastante larga, la número {k}.;Cuenta el viaje número {k // 3}.;{1 + k % 5}\n" for k in range(9)
)


def confirmed(app: AppTest) -> AppTest:
    """The visit after the columns of ANSWERS were confirmed."""
    return uploaded(app, ANSWERS).button(key="data-confirm").click().run()


def test_strange_columns_are_guessed_from_contents_and_confirmed_by_one_click(lab: Lab) -> None:
    app = uploaded(lab("setup"), ANSWERS)
    said = plain(healthy(app))
    assert "We could not match your column names" in said
    assert "9 rows, 3 columns, separated by semicolons" in said
    assert "9 answers to 3 instructions. Answers to one instruction count as one group." in said
    assert app.button(key="launch-go").disabled
    assert "First confirm the columns in step 1." in said
    app.button(key="data-confirm").click().run()
    assert not healthy(app).button(key="launch-go").disabled
    dataset = app.session_state["setup draft"].dataset
    assert dataset.items[0].response == "Una respuesta bastante larga, la número 0."
    assert dataset.items[0].instruction == "Cuenta el viaje número 0."
    assert list(dataset.items[1].ratings.values()) == [2.0]


def test_another_column_has_to_be_confirmed_again(lab: Lab) -> None:
    app = confirmed(lab("setup"))
    app.button(key="step-1-change").click().run()
    human = next(box for box in app.selectbox if str(box.key).startswith("data-human-"))
    human.set_value(-1).run()
    assert healthy(app).button(key="launch-go").disabled
    app.button(key="data-confirm").click().run()
    assert not app.button(key="launch-go").disabled


def test_a_file_whose_answers_are_all_empty_is_refused_in_words(lab: Lab) -> None:
    app = uploaded(lab("setup"), "response,instruction\n ,a\n ,b\n")
    assert any("no row has an answer" in error.value for error in app.error)
    assert app.button(key="launch-go").disabled
    assert not app.exception


def test_judgments_made_elsewhere_lead_straight_to_results(lab: Lab) -> None:
    rows = [f"x{k},{shown},{shown[0]}" for k in range(12) for shown in ("1 2 3", "2 3 1", "3 1 2")]
    app = lab("setup")
    app.button_group(key="data-kind").set_value("judgments").run()
    uploaded(app, "item_id,ordering,score\n" + "\n".join(rows), kind="judged", name="judged.csv")
    app.button(key="judged-open").click().run()
    assert "favours the option listed first" in healthy(app).title[0].value
    assert state.store().runs()[0].done == 36


def test_a_rubric_is_written_with_two_criteria_whose_order_changes(lab: Lab) -> None:
    app = confirmed(lab("setup"))
    app.button(key="step-2-change").click().run()
    app.button_group(key="rubric-kind").set_value("own").run()
    assert app.text_input(key="rubric-name").value == "Helpfulness"
    next(button for button in app.button if button.label == "Add a criterion").click().run()
    app.text_input(key="rubric-criterion-1").set_value("Tone").run()
    rubric = healthy(app).session_state["setup draft"].rubric
    assert [criterion.name for criterion in rubric.criteria] == ["Helpfulness", "Tone"]
    assert rubric.criteria[1].scores == (1, 2, 3, 4, 5)
    app.button(key="step-4-change").click().run()
    app.radio(key="orders-reorder").set_value("criteria").run()
    # Two criteria have two balanced orders; each twice: 4 calls for each of 9 answers. The small model's answers
    # repeat, yet the first ten texts are asked twice.
    assert healthy(app).button(key="launch-go").label == "Launch: 36 calls"
    app.text_input(key="launch-name").set_value("Tone and help").run()
    assert app.session_state["setup draft"].study().name == "Tone and help"


def test_criteria_cannot_change_order_where_there_is_one(lab: Lab) -> None:
    app = lab("setup")
    app.button(key="step-4-change").click().run()
    app.radio(key="orders-reorder").set_value("criteria").run()
    assert healthy(app).radio(key="orders-reorder").value == "options"


CANDIDATES = "response,instruction,candidate\n" + "".join(
    f"An answer of {name} to number {k} with some words,Tell of journey number {k}?,{name}\n"
    for k in range(6)
    for name in "abc"
)


@pytest.mark.papers(39, 40, 41, 42)
def test_every_axis_is_offered_with_what_it_needs(lab: Lab) -> None:
    app = lab("setup")
    uploaded(app, CANDIDATES)
    app.button(key="data-confirm").click().run()
    app.button(key="step-4-change").click().run()
    reorder = app.radio(key="orders-reorder")
    assert reorder.options == [
        "Score options (1 to 5)", "Criteria", "Several answers in one call", "Two answers", "Lists of answers", "A bare score",
    ]  # fmt: skip
    reorder.set_value("pairs").run()
    # 3 pairs of candidates for each of 6 instructions.
    assert healthy(app).button(key="launch-go").label.startswith("Launch: ")
    assert (app.session_state["setup draft"].design.reorder, app.session_state["setup draft"].design.tie) == (
        "pairs",
        True,
    )
    pairs = len(app.session_state["setup draft"].plan().items)
    assert pairs == 18
    app.selectbox(key="orders-baseline").set_value("b").run()
    app.selectbox(key="orders-template").set_value("mtbench").run()
    app.checkbox(key="orders-tie").set_value(False).run()
    held = healthy(app).session_state["setup draft"]
    assert (held.design.baseline, held.design.template, held.design.tie) == ("b", "mtbench", False)
    assert len(held.plan().items) == 12  # a with b, b with c
    assert study_from_toml(study_toml(held.study())).design == held.design
    app.radio(key="orders-reorder").set_value("lists").run()
    assert healthy(app).number_input(key="orders-k").value == 3  # no instruction has more candidates
    app.radio(key="orders-reorder").set_value("responses").run()
    app.number_input(key="orders-k").set_value(6).run()
    assert healthy(app).session_state["setup draft"].design.k == 6
    app.radio(key="orders-reorder").set_value("bare").run()
    assert not healthy(app).button(key="launch-go").disabled
    assert "orders-balanced" not in [box.key for box in app.checkbox]  # nothing is listed, so there is no order


def test_pairs_need_two_candidates_and_the_page_says_which_column(lab: Lab) -> None:
    app = confirmed(lab("setup"))
    app.button(key="step-4-change").click().run()
    said = " ".join(app.radio(key="orders-reorder").proto.captions)
    assert "Needs answers of two candidates to one instruction: name their column in step 1." in said
    app.radio(key="orders-reorder").set_value("pairs").run()
    assert healthy(app).radio(key="orders-reorder").value == "options"


def test_a_rubric_that_cannot_be_blocks_the_launch_with_its_reason(lab: Lab) -> None:
    app = confirmed(lab("setup"))
    app.button(key="step-2-change").click().run().button_group(key="rubric-kind").set_value("own").run()
    app.session_state["rubric-options-0 base"] = pd.DataFrame({"Score": [1, 1], "Description": ["a", "b"]})
    app.run()
    assert app.button(key="launch-go").disabled
    assert any("twice" in error.value for error in app.error)
    assert not app.exception


@pytest.mark.papers(9)
def test_several_judges_and_a_key_that_is_not_set(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_judge, "models_of", lambda *_, **__: ["big-model"])
    app = confirmed(lab("setup"))
    app.button(key="step-3-change").click().run()
    next(button for button in app.button if button.label == "Add another judge").click().run()
    app.button_group(key="judge-where").set_value("api").run()
    assert healthy(app).selectbox(key="judge-model").value == "big-model"
    assert [judge.name for judge in app.session_state["setup draft"].judges] == ["smollm2-135m", "big-model"]
    for variable, why in (
        ("SURELY_NOT_SET_API_KEY", "is not set where rubriclab runs"),
        ("HOME", "RUBRICLAB_KEYS=HOME"),
    ):
        app.text_input(key="judge-key").set_value(variable).run()
        assert why in plain(app)
        assert app.button(key="launch-go").disabled
    app.button(key="judge-remove-0").click().run()
    app.text_input(key="judge-key").set_value("").run()
    assert [judge.name for judge in app.session_state["setup draft"].judges] == ["big-model"]
    assert app.session_state["setup draft"].judges[0].base_urls == ("http://localhost:8000/v1",)


def test_a_served_lab_neither_looks_for_servers_nor_starts_one(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    app = lab("setup")
    app.button(key="step-3-change").click().run()
    app.button_group(key="judge-here").set_value("vllm").run()
    assert "served to others" in plain(healthy(app))
    assert not [button for button in app.button if button.key in ("judge-find", "judge-start")]


def test_a_loaded_study_fills_the_steps(lab: Lab) -> None:
    app = healthy(lab("setup"))
    study = Study(
        name="Loaded",
        data=(DataPart(sample=True),),
        rubric=RubricPart(name="Writing", criteria=criteria_of("writing")),
        design=DesignPart(
            reorder="criteria", strategies=(StrategyPart(kind="williams"),), repeats=3, answer="feedback"
        ),
        judges=(JudgeSettings(name="s", kind="simulated", model="simulated", options={"criteria_first": 0.5}),),
    )
    from rubriclab.app.setup import load

    app.session_state["setup later"] = (load, (study,))
    app.run()
    held = healthy(app).session_state["setup draft"]
    assert held.study() == study
    for step in (2, 3, 4):  # opening a step changes nothing of it
        app.button(key=f"step-{step}-change").click().run()
        assert healthy(app).session_state["setup draft"].study() == study


@cache
def criteria_of(name: str) -> list[dict[str, object]]:
    held = Draft(dataset=sample(), sample=True, rubric=sample_rubric(name), name="x")
    part = held.study().rubric
    assert part is not None
    return part.criteria


def test_unknown_and_double_scores_in_an_own_order_are_refused() -> None:
    assert setup_orders._names("5 4,3 2 1", [1, 2, 3, 4, 5]) == [5, 4, 3, 2, 1]
    assert setup_orders._names("Tone | Clear style", ["Clear style", "Tone"]) == ["Tone", "Clear style"]
    with pytest.raises(LabError, match="no score"):
        setup_orders._names("5 x 3", [1, 2, 3])


@settings(max_examples=60, deadline=None)
@given(
    name=some.text(min_size=1, max_size=30).filter(str.strip),
    options=some.dictionaries(
        some.text(max_size=8), some.none() | some.integers(-9, 9) | some.text(max_size=9), max_size=3
    ),
    temperature=some.none() | some.floats(0, 2),
)
def test_a_written_study_file_is_read_as_the_same_study(
    name: str, options: dict[str, object], temperature: float | None
) -> None:
    if any("\ud800" <= sign <= "\udfff" for sign in name + str(options)):
        return
    judge = JudgeSettings(
        name=name, options={k: v for k, v in options.items() if v is not None}, temperature=temperature
    )
    study = Study(
        name=name,
        data=(DataPart(file="a.csv", columns={"response": name, "human": ["a", name]}),),
        rubric=RubricPart(name=name, criteria=criteria_of("helpfulness")),
        design=DesignPart(strategies=(StrategyPart(kind="custom", name=name, orders=((5, 4, 3, 2, 1),)),)),
        judges=(judge,),
    )
    assert study_from_toml(study_toml(study)) == study


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[[data]]\nsample = true\nname = 'b'\nrubric = { criteria = [{ name = 'c', options = [{ score = 1 }] }] }", "2 data sets"),
        ("[design]\nreorder = ['options', 'criteria']", "reorder = options, criteria"),
        ("[design.vary]\nids = ['arabic', 'roman']\nextra.think = [false, true]", "ids varied; extra.think varied"),
    ],
)  # fmt: skip
def test_a_study_that_the_steps_would_cut_down_is_refused_and_written_whole(more: str, said: str) -> None:
    study = study_from_toml(f"[[data]]\nsample = true\n{more}")
    with pytest.raises(LabError, match=said):
        setup.refuse_beyond_steps(study)
    assert study_from_toml(study_toml(study)) == study
    setup.refuse_beyond_steps(study_from_toml("[[data]]\nsample = true"))
