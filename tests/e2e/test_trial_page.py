"""The Try it page: the form, a trial judged by a simulated judge, its search, its link."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.views import trial as views
from rubriclab.datasets.sample import sample_rubrics
from rubriclab.model import TRIAL_ORIGIN, Criterion, Judge, Rubric, ScoreOption
from rubriclab.store import Store
from tests.e2e.lab import healthy

ROOT = Path(__file__).resolve().parents[2]
FIRST = Judge("place lover", "simulated", "simulated", options={"position": [50.0], "primacy": 50.0})
STEADY = Judge("steady", "simulated", "simulated", options={"score": {"3": 50.0}, "quality_weight": 0.0})


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(ui.STORE_VARIABLE, str(tmp_path / "lab.duckdb"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    for judge in (FIRST, STEADY):
        ui.store().save_judge(judge)
    yield
    ui.manager().store.close()
    st.cache_resource.clear()


def opened(**address: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/trial.py")
    for name, value in address.items():
        app.query_params[name] = value
    return healthy(app.run())


def judged(app: AppTest) -> AppTest:
    """Press the button and wait until nothing is asked any more."""
    return ended(healthy(app.button(key="trial-go").click().run()))


def ended(app: AppTest) -> AppTest:
    until = time.monotonic() + 120
    while ui.manager().active() and time.monotonic() < until:
        time.sleep(0.1)
    return healthy(app.run())


def headline(app: AppTest) -> str:
    return next(m.value for m in app.markdown if m.value.startswith("####"))


def test_an_example_waits_to_be_judged() -> None:
    app = opened()
    assert app.text_area(key="trial-instruction").value.startswith("A customer writes")
    app.selectbox(key="trial-example").select_index(4).run()
    assert app.text_area(key="trial-instruction").value.startswith("A passenger writes")
    app.selectbox(key="trial-example").set_value("Your own text").run()
    assert app.text_area(key="trial-response").value == ""
    app.button(key="trial-go").click().run()
    assert any("no response to judge" in error.value for error in app.error)


@pytest.mark.slow
def test_the_score_moves_with_the_order() -> None:
    app = judged(opened(judge="place lover"))
    said = headline(app)
    assert "place lover gives 1 in the usual order" in said
    assert "1, 2, 3, 4 and 5" in said
    assert any("no noise seen in one repeat" in m.value for m in app.markdown)
    assert any(caption.value.startswith("11 calls: 10 orders, and 1 call") for caption in app.caption)
    values = {metric.label: metric.value for metric in app.metric}
    assert values["Usual order"] == "1"
    assert values["Mean over 10 orders"] == "3.00"
    assert values["Lowest and highest"] == "1 to 5"
    assert any("simulated" in caption.value for caption in app.caption)
    assert any("both ends of the scale" in caption.value for caption in app.caption)
    (info,) = ui.store().runs()
    assert info.origin == TRIAL_ORIGIN
    assert app.query_params["run"] in (info.run, [info.run])


@pytest.mark.slow
def test_a_link_shows_the_trial_again_and_asks_nothing() -> None:
    judged(opened(judge="place lover"))
    (info,) = ui.store().runs()
    again = opened(run=info.run)
    assert "place lover gives 1" in headline(again)
    assert again.text_area(key="trial-response").value == ui.store().study(info.run).dataset.items[0].response  # type: ignore[union-attr]
    assert ui.store().run(info.run).done == 11
    lost = opened(run="gone")
    assert any("does not have" in warning.value for warning in lost.warning)


@pytest.mark.slow
def test_agreement_is_no_proof_and_the_search_goes_on() -> None:
    app = judged(opened(judge="steady"))
    assert "in every one of the 10 orders" in headline(app)
    assert any("up to 26%" in caption.value for caption in app.caption)
    app.number_input(key="trial-calls").set_value(4).run()
    app = ended(healthy(app.button(key="trial-flip").click().run()))
    (info,) = ui.store().runs()
    assert ui.store().run(info.run).done == 15
    assert any("after 4 further calls the highest is 3" in m.value for m in app.markdown)
    assert any("(#what-next)" in m.value for m in app.markdown)
    assert "What next" in [s.value for s in app.subheader]


def test_two_responses_are_swapped() -> None:
    app = opened(kind="pairwise", judge="place lover")
    assert app.text_area(key="trial-second").value
    assert "whichever response is shown first" in headline(judged(app))
    assert any(caption.value.startswith("4 calls: both orders, each twice") for caption in app.caption)
    assert sum("The same order again: Response" in caption.value for caption in app.caption) == 2


def test_criteria_change_places() -> None:
    app = judged(opened(kind="criteria", judge="place lover"))
    assert "criteri" in headline(app)
    (info,) = ui.store().runs()
    assert info.axis == "criteria"
    assert ui.store().run(info.run).done == 9


@pytest.mark.slow
def test_judges_side_by_side() -> None:
    app = opened(judge="place lover")
    app.multiselect(key="trial-judges").set_value(["place lover", "steady"]).run()
    app = judged(app)
    said = [m.value for m in app.markdown if m.value.startswith("####")]
    assert len(said) == 2
    assert len(app.metric) == 8


@pytest.mark.slow
def test_trials_are_kept_apart_from_runs_over_data() -> None:
    judged(opened(judge="place lover"))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/position.py").run()
    assert app.subheader[0].value == "Nothing judged yet"
    app.switch_page("pages/runs.py").run()
    assert any("one text" in m.value for m in app.markdown)


@pytest.mark.slow
def test_a_trial_that_was_asked_out_is_finished_among_the_runs() -> None:
    app = judged(opened(judge="place lover"))
    app.query_params.clear()  # as a browser does on a change of page
    app.switch_page("pages/runs.py").run()
    healthy(app)
    (line,) = [m.value for m in app.markdown if "one text" in m.value]
    assert "-badge[finished]" in line
    assert "11 calls" in line
    assert "of the study are left" not in " ".join(caption.value for caption in app.caption)
    assert "Go on" not in [button.label for button in app.button]


def test_the_labs_example_is_offered_with_the_labs_rubric() -> None:
    options = tuple(ScoreOption(score) for score in range(1, 8))
    ui.store().save_rubric(Rubric("Bürgeramt", (Criterion("Ton", options),)))
    app = opened()
    assert app.selectbox(key="trial-rubric-options").value == sample_rubrics()[0].name
    assert "Bürgeramt" in app.selectbox(key="trial-rubric-options").options


@pytest.mark.slow
def test_there_is_a_way_on_after_a_trial() -> None:
    app = judged(opened(judge="place lover"))
    said = headline(app).removeprefix("#### ")
    copied = [block.value for block in app.code]
    assert any("place lover gives 1 in the usual order" in text for text in copied), said
    assert any(text.endswith(f"?run={ui.store().runs()[0].run}") for text in copied)
    first = app.text_area(key="trial-instruction").value
    healthy(app.button(key="trial-next").click().run())
    assert app.text_area(key="trial-instruction").value != first
    assert not app.metric


def test_words_about_a_part_of_the_answers_are_not_kept_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is going counts an answer when it comes; the store has it some time later."""
    judged(opened(kind="pairwise", judge="place lover"))
    store = ui.store()
    (info,) = store.runs()
    behind = store.judgments_behind(info.run)
    st.cache_resource.clear()
    with monkeypatch.context() as early:  # four came, one is kept
        early.setattr(Store, "judgments_behind", lambda *_, **__: behind.iloc[:1])
        early.setattr(Store, "revision", lambda *_: "one is kept")
        assert "has not said in both orders" in views.told(info)[0].sentence
    assert "whichever response is shown first" in views.told(info)[0].sentence
