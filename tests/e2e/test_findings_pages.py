"""The findings pages over simulated runs, through app.py: words, numbers, choices, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.views.comparison import _not_repeated
from tests.e2e.lab import healthy
from tests.simulated_runs import run_into

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ("alignment", "reliability", "ranking", "criteria", "batch", "choice", "comparison")
PAGES = {
    "options": ("alignment", "reliability", "ranking", "choice"),
    "sweep": ("alignment", "choice"),
    "plain": ("alignment", "ranking", "choice"),
    "criteria": ("criteria", "reliability", "ranking"),
    "batch": ("batch",),
    "pairs": ("comparison",),
    "lists": ("comparison",),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One store with a run of every kind, open for the whole module."""
    path = tmp_path_factory.mktemp("findings") / "lab.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(path))
        patch.setattr("rubriclab.app.ui.runs.EXAMPLE", path.parent / "none.zip")
        st.cache_resource.clear()
        yield run_into(ui.store(), *PAGES)
        ui.manager().store.close()
        st.cache_resource.clear()


def opened(page: str, run: str | None = None) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if run is not None:
        app.session_state["run"] = run
    app.switch_page(f"pages/{page}.py").run()
    return app


def headline(app: AppTest) -> str:
    return next(m.value for m in app.markdown if m.value.startswith("####"))


@pytest.mark.parametrize("page", FINDINGS)
def test_empty_store_says_what_to_set_up(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ui.STORE_VARIABLE, str(tmp_path / "empty.duckdb"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    app = healthy(opened(page))
    assert app.subheader, "an empty state has a title"
    ui.manager().store.close()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "page"), [(k, p) for k, pages in PAGES.items() for p in pages])
def test_page_shows_its_run(runs: dict[str, str], kind: str, page: str) -> None:
    app = healthy(opened(page, runs[kind]))
    assert app.session_state["run"] == runs[kind]
    assert any("simulated" in warning.value for warning in app.warning)


@pytest.mark.slow
def test_alignment_answers_first_and_switches_to_ranks(runs: dict[str, str]) -> None:
    app = opened("alignment", runs["options"])
    assert "agrees with the humans" in headline(app)
    assert "r = " in headline(app)
    assert [m.label for m in app.metric][:2] == ["Linear (Pearson r)", "By rank (Spearman rho)"]
    healthy(app.segmented_control(key="alignment-measure").set_value("Spearman").run())
    codes = app.selectbox(key=f"alignment-arm-{runs['options']}")
    healthy(codes.select_index(1).run())


@pytest.mark.slow
def test_reliability_answers_first_and_spends_the_calls_that_are_chosen(runs: dict[str, str]) -> None:
    app = opened("reliability", runs["options"])
    assert "puts texts in order with a reliability of" in headline(app)
    assert any("calls for the" in c.value for c in app.caption)
    healthy(app.select_slider(key="reliability-calls-0").set_value(20).run())
    assert "20 calls an item, best spent" in [s.value for s in app.subheader]
    healthy(app.selectbox(key="reliability-use-0").set_value("stand by themselves").run())
    assert app.query_params["calls"] in ("20", ["20"])


@pytest.mark.slow
def test_batches_answer_first_and_one_order_says_so(runs: dict[str, str]) -> None:
    app = opened("batch", runs["batch"])
    assert "in a batch of 4 moves contrasting's scores" in headline(app)
    assert [m.label for m in app.metric] == [
        "Scores read",
        "Equal to a single call",
        "r with a single call",
        "r with people",
    ]
    assert "What a batch saves" in [s.value for s in app.subheader]
    again = healthy(app.selectbox(key=f"batch-arm-{runs['batch']}").select_index(1).run())
    assert "one place of its batch" in headline(again)


def test_alignment_without_ratings_says_so(runs: dict[str, str]) -> None:
    app = opened("alignment", runs["plain"])
    assert app.subheader[0].value == "No human ratings in this run"


def test_sweeps_get_a_section_each(runs: dict[str, str]) -> None:
    titles = [s.value for s in opened("alignment", runs["sweep"]).subheader]
    assert "By temperature" in titles


@pytest.mark.slow
def test_reliability_shows_the_ruler_and_scores_as_ranks(runs: dict[str, str]) -> None:
    app = healthy(opened("reliability", runs["options"]))
    titles = [s.value for s in app.subheader]
    assert titles.index("One ruler for texts, judges and places") < titles.index(
        "Does it matter that scores are ranks?"
    )
    assert any("On one ruler for all" in m.value for m in app.markdown)
    facets = next(table.value for table in app.dataframe if "usual reading" in table.value)
    assert set(facets["facet"]) == {"judge", "person", "place"}
    healthy(app.selectbox(key="rasch-arm").select_index(1).run())
    line = next(c.value for c in opened("position", runs["options"]).caption if c.value.startswith("Scores as ranks"))
    assert "conclusion" in line
    beside = next(c.value for c in opened("alignment", runs["options"]).caption if "Scores as ranks" in c.value)
    assert "tau" in beside


def test_criteria_have_no_ruler(runs: dict[str, str]) -> None:
    titles = [s.value for s in healthy(opened("reliability", runs["criteria"])).subheader]
    assert "One ruler for texts, judges and places" not in titles


@pytest.mark.slow
def test_ranking_compares_any_two_strategies(runs: dict[str, str]) -> None:
    app = opened("ranking", runs["options"])
    assert any("Does the order move the mean score?" in m.value for m in app.markdown)
    tag = "ranking-leaning-answers-"
    healthy(app.selectbox(key=f"{tag}-a").set_value("fixed").run())
    healthy(app.selectbox(key=f"{tag}-b").set_value("random").run())
    said = headline(app)
    assert "fixed" in said
    assert "random" in said


@pytest.mark.slow
def test_choice_of_an_arm_does_not_outlive_its_run(runs: dict[str, str]) -> None:
    app = opened("choice", runs["options"])
    app.selectbox(key=f"choice-arm-{runs['options']}").select_index(2).run()
    healthy(app.selectbox(key="choice-run").set_value(runs["sweep"]).run())
    assert "leaning" in headline(app)
    healthy(app.segmented_control(key=f"choice-outcome-{runs['sweep']}").set_value("Token probabilities").run())


def test_causes_names_the_planted_position(runs: dict[str, str]) -> None:
    app = opened("choice", runs["options"])
    assert "position 1" in headline(app)
    assert app.metric[0].label == "Odds at position 1"
    assert float(app.metric[0].value) > 1.5


def test_criteria_lead_with_points_and_compare(runs: dict[str, str]) -> None:
    app = opened("criteria", runs["criteria"])
    assert "order of the criteria" in headline(app)
    assert "points" in headline(app)
    assert app.metric[0].label == "First less last place"
    beside = next(s for s in app.selectbox if s.label == "Compare with")
    healthy(beside.select_index(1).run())


@pytest.mark.slow
def test_comparison_names_the_planted_place(runs: dict[str, str]) -> None:
    app = opened("comparison", runs["pairs"])
    assert "prefers the answer shown first" in headline(app)
    healthy(app.selectbox(key=f"comparison-judge-{runs['pairs']}").select_index(1).run())
    assert "prefers the answer shown last" in headline(app)
    healthy(app.segmented_control(key="comparison-x").set_value("Quality gap").run())
    healthy(app.segmented_control(key="comparison-ties").set_value("Left out").run())
    assert any("chosen by the same data" in note.value for note in app.info)


@pytest.mark.slow
def test_pairs_meet_the_rubric_where_a_judge_did_both(runs: dict[str, str]) -> None:
    app = opened("comparison", runs["pairs"])
    app.selectbox(key=f"comparison-rubric-{runs['pairs']}").set_value(runs["options"]).run()
    healthy(app)
    assert any("decisions by pairs flip" in m.value for m in app.markdown)


def test_stability_says_of_which_arm_it_speaks() -> None:
    """The sentence above it tells of the noise by what another arm asked again."""
    told = [
        _not_repeated(cast(Any, SimpleNamespace(strategy="balanced", order_excess=SimpleNamespace(source=source))))
        for source in ("fixed", "")
    ]
    assert told == ["the balanced arm asked no query twice; the fixed arm did", "the balanced arm asked no query twice"]


def test_what_stands_below_a_number_is_not_cut_off() -> None:
    def page() -> None:
        from rubriclab.app.views.common import metrics

        metrics(*[(f"Number {n}", "0.1", "-0.35 to 0.06; noise taken out; nothing measured", "") for n in range(4)])

    app = healthy(AppTest.from_function(page).run())
    assert [metric.delta for metric in app.metric] == [""] * 4
    assert "noise taken out; nothing measured" in app.caption[3].value
