"""The pages of a study that reorders examples: Set up, a reload, Results."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.app.draft import study_toml
from rubriclab.app.kept_draft import Numbers, draft_of, read_text, text_of
from rubriclab.exports.presentation import one_page
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering
from rubriclab.model.orders import even_orders
from rubriclab.model.study import study_from_toml
from rubriclab.words.presented import presented
from rubriclab.words.subject import subject_of
from tests.app.conftest import HOSTILE, Lab, healthy, kept, texts
from tests.app.test_setup import confirmed, held, step, uploaded
from tests.tables import items_frame, rows_frame

SHOTS = "text,label\nThe sky is blue.,2\nNo idea.,1\nScattering.,4\nRayleigh scattering.,5\n"
LABELS = np.array([2.0, 1.0, 4.0, 5.0])


def examples_table(
    pull: float, name: str = "judge-7b", texts: tuple[str, ...] = ()
) -> JudgmentTable:
    """40 answers behind four examples in 12 orders, each twice; ``pull`` points a point of the last
    example's label. ``texts``: of the labels.
    """
    orders = np.array(even_orders(range(4)))
    rng = np.random.default_rng(1)
    shown = np.tile(orders, (2, 1))
    last = LABELS[shown[:, -1]] - LABELS.mean()
    true = rng.normal(3, 0.7, (40, 1)) + pull * last + rng.normal(0, 0.5, (40, 24))
    score = np.clip(np.rint(true), 1, 5)
    rows = rows_frame(
        0,
        np.repeat(np.arange(40), 24),
        np.tile(np.arange(24) % 12, 40),
        score.ravel(),
        np.arange(960),
        repeat=np.tile(np.repeat([0, 1], 12), 40),
    )
    named = texts or ("2", "1", "4", "5")
    orderings = tuple(
        Ordering(tuple(code + 1 for code in row), tuple(named[code] for code in row))
        for row in orders.tolist()
    )
    condition = Condition(
        name, "answers", "balanced", "examples", (1, 2, 3, 4, 5), (), 4, labels=tuple(LABELS)
    )
    return JudgmentTable("run", "Run", (condition,), items_frame(40), orderings, rows)


def with_examples(lab: Lab) -> AppTest:
    app = step(confirmed(lab("setup")), 4)
    app.radio(key="orders-axis").set_value("examples").run()
    assert app.button(key="launch-go").disabled
    assert "Upload the examples in step 4 first" in app.error[0].value
    return uploaded(app, SHOTS, name="shots.csv", to="upload-examples")


def test_examples_are_uploaded_and_asked_in_twelve_orders(lab: Lab) -> None:
    app = healthy(with_examples(lab))
    assert not app.button(key="launch-go").disabled
    study = held(app).study
    assert study.design.axes == ("examples",)
    assert study.design.stop is None
    assert study.examples is not None
    assert [example.label for example in study.examples.shown] == ["2", "1", "4", "5"]
    assert "12 orders, 24 calls per answer" in app.checkbox(key="orders-balanced").label
    plan = held(app).plan()[0]
    assert len(plan) == 9 * 24
    assert "launch-stop" not in [toggle.key for toggle in app.toggle]
    assert "orders-vary-temperature" not in [box.key for box in app.multiselect]
    assert "No idea." in str([frame.value for frame in app.dataframe])


def test_drawn_orders_and_a_bad_file_are_refused_where_they_are_chosen(lab: Lab) -> None:
    app = with_examples(lab)
    app.checkbox(key="orders-random").check().run()
    assert "Examples need the same orders for all answers" in app.error[0].value
    assert app.button(key="launch-go").disabled
    app.checkbox(key="orders-random").uncheck().run()
    app = uploaded(healthy(app), "text,label\na,1\na,2\n", name="x.csv", to="upload-examples")
    assert "examples 1 and 2 have the same text" in app.error[0].value
    assert app.session_state["setup draft"].study.examples.shown[0].text == "The sky is blue."


def test_another_axis_lets_go_of_the_examples(lab: Lab) -> None:
    app = with_examples(lab)
    app.radio(key="orders-axis").set_value("options").run()
    assert held(app).study.examples is None
    assert not healthy(app).button(key="launch-go").disabled


def test_a_reload_and_a_study_file_keep_the_examples(lab: Lab) -> None:
    draft = held(with_examples(lab))
    files = Numbers()
    text = text_of(draft, opened=4, typed={}, files=files)
    tables = {number: table.data for number, table in files.tables.items()}
    again = draft_of(read_text(text.model_dump_json()), tables, type(draft)())
    assert again.study.examples == draft.study.examples
    assert again.plan()[0].identity == draft.plan()[0].identity
    assert study_from_toml(study_toml(draft.checked())).examples == draft.study.examples


def test_a_column_of_lists_can_be_chosen(lab: Lab) -> None:
    passages = [{"text": "far"}, {"text": "the answer", "gold": True}]
    rows = [
        {
            "instruction": f"Why is the sky blue, asked for the time {k}?",
            "response": f"A fairly long answer, number {k}, about light.",
            "context": passages,
        }
        for k in range(4)
    ]
    app = uploaded(lab("setup"), json.dumps(rows), name="answers.json")
    app = step(app.button(key="data-confirm").click().run(), 4)
    app.radio(key="orders-axis").set_value("examples").run()
    app.selectbox(key="orders-examples-column").set_value("context").run()
    plan = held(healthy(app)).plan()[0]
    assert plan.conditions[0].passages
    assert len(plan) == 4 * 2 * 2


def test_results_name_the_place_and_show_heatmap_and_orders(lab: Lab) -> None:
    run = kept(examples_table(0.2))
    app = healthy(lab("results", run=run))
    said = texts(app)
    assert "judge-7b scores higher when the example with the highest label is listed last" in said
    assert "Does the score follow the label of the example at a position?" in said
    assert "How the score moves with the example at a position" in said
    assert "Click a cell" not in said  # a score is none of the examples
    assert "Orders" in [tab.label for tab in app.tabs]
    said = texts(healthy(lab("results", run=run, tab="Orders")))
    assert "Average score in each order" in said
    app = healthy(lab("results", run=run, tab="Judgments"))
    assert "order 1 to 4 · score " in texts(app)


def test_a_judge_that_ignores_examples_has_no_bias(lab: Lab) -> None:
    app = healthy(lab("results", run=kept(examples_table(0.0))))
    assert "Biased" not in texts(app)


def test_hostile_labels_are_text(lab: Lab) -> None:
    table = examples_table(0.2, name=HOSTILE, texts=(HOSTILE, "1", "4", "5"))
    app = healthy(lab("results", run=kept(table), tab="Judgments"))
    for part in (*app.markdown, *app.caption):
        if part.allow_html:
            assert "<img src=x" not in part.value


def test_two_judges_and_two_runs_are_compared(lab: Lab) -> None:
    follows, ignores = examples_table(0.2), examples_table(0.0, name="judge-8b")
    both = replace(
        follows,
        conditions=(*follows.conditions, *ignores.conditions),
        rows=pd.concat(
            [follows.rows, ignores.rows.assign(condition=1, call=ignores.rows["call"] + 960)],
            ignore_index=True,
        ),
    )
    one = kept(both)
    said = texts(healthy(lab("results", run=one, tab="Judges")))
    assert "judge-8b" in said
    app = healthy(lab("compare", **{"with": [f"{one}:0", f"{one}:1"]}))
    assert "judge-7b depends more on the order than judge-8b" in texts(app)


def test_a_judge_is_presented_and_exported(lab: Lab) -> None:
    run = kept(examples_table(0.2))
    healthy(lab("results", run=run, present="1"))
    healthy(lab("export", run=run))
    findings = state.findings(run)
    assert "listed last" in one_page(findings)
    told = presented(findings, subject_of(findings))
    assert told.question == "Does it score the answer, or the order of the examples?"
    assert "Before each answer it saw the same examples, in 12 orders, each twice" in told.asked
