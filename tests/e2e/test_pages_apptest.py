"""Every page through app.py: cold, with an empty store, with data; and what the forms refuse."""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.forms.judge_fields import json_object, refuse_key
from rubriclab.app.forms.rubric import followed, from_tables
from rubriclab.app.forms.study_prompt import KEPT
from rubriclab.datasets.logs import Source
from rubriclab.datasets.sample import embedded_judge, sample_dataset, sample_rubrics
from rubriclab.judges import servers
from rubriclab.judges.servers import Preset
from rubriclab.model import Dataset, Design, Item, Judge, LabError, Rubric, RubricError, Sampling, Strategy, Study
from rubriclab.runs.cost import calls_per_second, subset, text_groups
from rubriclab.runs.importing import import_file
from rubriclab.study.prompts.files import read_template
from rubriclab.study.reading import load_study
from rubriclab.study.writing import study_files
from tests.e2e.lab import healthy
from tests.judges.test_servers import serving

ROOT = Path(__file__).resolve().parents[2]
PAGES = [entry.file for entries in ui.NAVIGATION.values() for entry in entries]
SET_UP = ["data", "rubric", "judges", "study"]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store of the test's own; the servers' caches start empty."""
    path = tmp_path / "lab.duckdb"
    monkeypatch.setenv(ui.STORE_VARIABLE, str(path))
    monkeypatch.setenv("RUBRICLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    yield path
    ui.manager().store.close()
    st.cache_resource.clear()


def opened(page: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.switch_page(f"pages/{page}.py").run()
    return app


@pytest.mark.parametrize("page", PAGES)
def test_page_opens_on_an_empty_store(page: str) -> None:
    app = opened(page)
    healthy(app)
    assert app.title, f"{page} shows no title"


@pytest.mark.parametrize("page", SET_UP)
def test_page_opens_with_data(page: str) -> None:
    ui.store().save_dataset(sample_dataset())
    ui.store().save_rubric(Rubric("Mine", sample_rubrics()[0].criteria))
    ui.store().save_judge(Judge("planted", "simulated", "simulated", options={"position": {"first": 1.0}}))
    healthy(opened(page))


def test_sample_is_one_click_away() -> None:
    app = opened("data")
    app.button(key="data-empty-sample").click().run()
    healthy(app)
    assert list(ui.store().datasets()["name"]) == ["Sample"]


def test_own_csv_is_mapped_kept_and_looked_into() -> None:
    content = b"id,question,answer,rater 1,rater 2\na,Why?,Because.,1,2\nb,How?,So.,3,3\n"
    app = opened("data")
    app.file_uploader(key="data-file-0").upload("own.csv", content, "text/csv").run()
    healthy(app)
    assert any("2 items" in note.value and "2 raters" in note.value for note in app.success)
    app.button(key="data-keep").click().run()
    healthy(app)
    code = str(ui.store().datasets()["dataset"][0])
    assert [item.human for item in ui.store().dataset(code).items] == [(1.0, 2.0), (3.0, 3.0)]  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_row_a_rating_is_one_item_of_several_raters() -> None:
    content = b"id,answer,annotator_id,score\na,Because.,ann,1\na,Because.,bob,2\nb,So.,ann,3\n"
    app = opened("data")
    app.file_uploader(key="data-file-0").upload("own.csv", content, "text/csv").run()
    healthy(app)
    assert any("2 items" in note.value and "2 raters an item, 2 by name" in note.value for note in app.success)
    app.button(key="data-keep").click().run()
    healthy(app)
    code = str(ui.store().datasets()["dataset"][0])
    assert [item.raters for item in ui.store().dataset(code).items] == [("ann", "bob"), ("ann",)]  # type: ignore[union-attr]
    assert any("ann 1, bob 2" in frame.value.to_string() for frame in app.dataframe)


@pytest.mark.slow
def test_the_study_page_plans_an_interval_on_agreement() -> None:
    items = tuple(Item(f"i{k}", "q", f"r{k}", human=(float(k % 5 + 1),)) for k in range(20))
    ui.store().save_dataset(Dataset("rated", items))
    ui.store().save_judge(Judge("planted", "simulated", "simulated"))
    app = opened("study")
    app.multiselect(key="study/judges").set_value(["planted"]).run()
    healthy(app)
    app.selectbox(key="study/agreement-of").set_value("icc").run()
    app.number_input(key="study/agreement-ratings").set_value(4).run()
    healthy(app)
    told = next(text.value for text in app.markdown if "ICC of single ratings" in text.value)
    assert "takes 102 rated items" in told
    assert "20 rated items give" in told


def test_broken_csv_names_its_line_and_the_page_lives() -> None:
    app = opened("data")
    broken = b"id,answer\na,one\nb,two,three\n"
    app.file_uploader(key="data-file-0").upload("own.csv", broken, "text/csv").run()
    assert not app.exception
    assert len(app.error) == 1
    assert "line 3" in app.error[0].value
    assert app.button(key="data-sample-add")


@pytest.mark.slow
def test_study_is_counted_and_launched() -> None:
    ui.store().save_judge(Judge("planted", "simulated", "simulated", options={"position": {"first": 1.0}}))
    app = opened("study")
    app.multiselect(key="study/judges").set_value(["planted"]).run()
    healthy(app)
    assert app.metric[0].value == "800", "40 answers x (10 balanced + 10 fixed)"
    app.button(key="study-launch").click().run()
    assert not app.exception
    (info,) = ui.store().runs()
    until = time.monotonic() + 120
    while ui.store().run(info.run).state == "running" and time.monotonic() < until:
        time.sleep(0.1)
    assert ui.store().run(info.run).done == 800


@pytest.mark.slow
def test_study_stops_when_it_is_settled_and_is_read_as_chosen() -> None:
    """A judge that only looks at the first place: a few items settle it."""
    planted = {"position": {"first": 6.0}, "noise": 0.0, "latency_ms": 40}
    ui.store().save_judge(Judge("first", "simulated", "simulated", options=planted, concurrency=2))
    app = opened("study")
    app.multiselect(key="study/judges").set_value(["first"]).run()
    app.toggle(key="study/stop-settled").set_value(True).run()
    app.number_input(key="study/smallest-effect").set_value(0.3).run()
    app.selectbox(key="study/unit").set_value("item").run()
    healthy(app)
    assert any("once it is settled" in caption.value for caption in app.caption)
    app.button(key="study-launch").click().run()
    assert not app.exception
    (info,) = ui.store().runs()
    assert ui.store().read_as(info.run) == (0.3, "item")
    until = time.monotonic() + 120
    while ui.store().run(info.run).state == "running" and time.monotonic() < until:
        time.sleep(0.1)
    stopped = ui.store().run(info.run)
    assert (stopped.state, stopped.done < 800) == ("paused", True)
    assert "settled" in stopped.reason


@pytest.mark.slow
def test_study_keeps_its_choices_while_another_page_is_open() -> None:
    app = opened("study")
    app.number_input(key="study/reads-options-fixed").set_value(3).run()
    app.switch_page("pages/rubric.py").run()
    app.switch_page("pages/study.py").run()
    assert app.number_input(key="study/reads-options-fixed").value == 3
    assert app.metric[0].value == "520", "40 answers x (10 balanced + 3 fixed)"


def test_study_says_what_does_not_fit() -> None:
    app = opened("study")
    app.number_input(key="study/reads-options-balanced").set_value(7).run()
    assert not app.exception
    assert "multiple of 5" in app.error[0].value


@pytest.mark.slow
def shown_arm(app: AppTest) -> Any:
    return next(one for one in app.selectbox if str(one.key).startswith("study-arm-shown"))


def test_the_arm_whose_prompt_is_shown_is_one_of_the_judges_that_are_left() -> None:
    for name in ("first", "second"):
        ui.store().save_judge(Judge(name, "simulated", "simulated"))
    app = opened("study")
    app.multiselect(key="study/judges").set_value(["first", "second"]).run()
    before = shown_arm(app)
    assert before.options[0].startswith("first")
    app.multiselect(key="study/judges").set_value(["second"]).run()
    after = shown_arm(healthy(app))
    assert {option.split(" ")[0] for option in after.options} == {"second"}
    assert after.key != before.key, "the browser would go on showing “first” in the field of the same key"


def test_an_own_prompt_is_planned_shown_as_sent_and_refused_where_more_than_the_order_changes() -> None:
    lines = "{% for option in options %}{{ option.label }}) {{ option.description }}\n{% endfor %}"
    app = opened("study")
    app.session_state[KEPT] = {"mine": read_template("mine.txt", f"Mine: {{{{ response }}}}\n{lines}".encode())}
    app.run()
    healthy(app)
    assert any("your prompt “mine”" in caption.value for caption in app.caption)
    app.session_state[KEPT] = {
        name: read_template(f"{name}.txt", f"{name}: {{{{ response }}}}\n{lines}".encode()) for name in ("one", "two")
    }
    app.run()
    healthy(app)
    assert "prompt=two" in str(shown_arm(app).options)
    app.session_state[KEPT] = {"twice": read_template("twice.txt", (lines + lines).encode())}
    app.run()
    assert not app.exception
    assert "printed twice" in app.error[0].value
    assert "study-launch" not in [button.key for button in app.button]


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["criteria", "pairwise", "listwise"])
def test_every_axis_can_be_planned(axis: str) -> None:
    app = opened("study")
    app.radio(key="study/axis").set_value(axis).run()
    if axis == "criteria":
        wide = next(r.name for r in sample_rubrics() if len(r.criteria) > 1)
        app.selectbox(key="study/rubric-Sample").set_value(wide).run()
    healthy(app)
    assert app.button(key="study-launch")
    app.toggle(key="study/stop-settled").set_value(True).run()
    healthy(app)
    waits = {"criteria": "the order of the criteria shifts their scores"}.get(
        axis, "the first place wins more than the last"
    )
    assert any(f"Pauses once it is settled whether {waits}" in caption.value for caption in app.caption)


def test_key_typed_for_its_name_is_refused_unrepeated() -> None:
    app = opened("judges")
    secret = "sk-proj-abcdefghijklmnop1234567890"
    app.text_input(key="judges-openai-new0-key").set_value(secret).run()
    assert not app.exception
    assert "looks like a key" in app.error[0].value
    assert secret not in app.error[0].value


@pytest.mark.parametrize("name", ["", "OPENAI_API_KEY", "HF_TOKEN", "my_key"])
def test_names_of_variables_pass(name: str) -> None:
    refuse_key(name)


@pytest.mark.parametrize("key", ["sk-abc123", "hf_AbCdEfGhIjKlMnOp", "a1b2c3d4e5f6a7b8c9d0e1f2", "two words"])
def test_keys_are_refused(key: str) -> None:
    with pytest.raises(LabError, match="keeps no keys") as caught:
        refuse_key(key)
    assert key not in str(caught.value)


@pytest.mark.slow
def test_own_code_is_chosen_from_the_folder_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUBRICLAB_CODE", raising=False)
    app = opened("judges")
    assert any("rubriclab lab --code FOLDER" in info.value for info in app.info)
    (tmp_path / "my_judge.py").write_text("def judge(messages, item):\n    return 1\n\ndef _helper():\n    pass\n")
    (tmp_path / "broken.py").write_text("def judge(:\n")
    monkeypatch.setenv("RUBRICLAB_CODE", str(tmp_path))
    app = opened("judges")
    choice = app.selectbox(key="judges-python-new0-entry")
    assert choice.options == ["my_judge:judge"]
    app.button(key="judges-python-new0-save").click().run()
    healthy(app)
    judge = next(one for one in ui.store().judges() if one.kind == "python")
    assert (judge.model, judge.name) == ("my_judge:judge", "my_judge")
    assert len(judge.options["sha256"]) == 64
    app.button(key="judges-test-my_judge").click().run()
    healthy(app)
    assert any("It answers" in done.value for done in app.success)


def test_a_provider_fills_in_address_and_variable() -> None:
    app = opened("judges")
    assert app.text_input(key="judges-openai-new0-key").value == "", "no key without a choice"
    app.selectbox(key="judges-openai-new0-provider").set_value("Mistral").run()
    assert app.text_area(key="judges-openai-new0-Mistral-urls").value == "https://api.mistral.ai/v1"
    assert app.text_input(key="judges-openai-new0-Mistral-key").value == "MISTRAL_API_KEY"
    healthy(app)


def test_a_server_of_this_machine_is_added_with_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"data": [{"id": "qwen3:8b", "owned_by": "library"}]}
    with serving(listed) as address, serving(b"<html>") as other:
        presets = (Preset("Ollama", address, owners=("library",)), Preset("vLLM", other, owners=("vllm",)))
        monkeypatch.setattr(servers, "local_servers", lambda: presets)
        app = opened("judges")
        app.button(key="judges-find").click().run()
        healthy(app)
        shown = " ".join(text.value for text in app.markdown)
        assert "qwen3" in shown
        assert "something else answers there" in shown
        app.button(key="judges-found-Ollama-add").click().run()
    healthy(app)
    judge = next(one for one in ui.store().judges() if one.name == "qwen3:8b")
    assert (judge.kind, judge.base_urls, judge.key_env) == ("openai", (address,), None)


def test_simulated_judge_is_saved_with_its_effects() -> None:
    app = opened("judges")
    app.number_input(key="judges-simulated-new0-first").set_value(1.5).run()
    app.button(key="judges-simulated-new0-save").click().run()
    healthy(app)
    (judge,) = ui.store().judges()
    assert judge.simulated
    assert judge.options == {"position": {"first": 1.5}}


def test_unreachable_judge_says_what_to_do() -> None:
    ui.store().save_judge(Judge("gone", "openai", "m", base_urls=("http://127.0.0.1:9/v1",)))
    app = opened("judges")
    app.button(key="judges-test-gone").click().run()
    assert not app.exception
    assert "running" in app.error[0].value


def test_paths_that_would_hang_or_hold_nothing_are_refused_on_saving(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    app = opened("judges")
    app.text_input(key="judges-embedded-new0-path").set_value(str(tmp_path / "pipe.gguf")).run()
    app.button(key="judges-embedded-new0-save").click().run()
    assert "is no regular file" in app.error[0].value
    assert not ui.store().judges()
    none = str(tmp_path / "none.pem")
    ui.store().save_judge(Judge("tls", "openai", "m", ("https://127.0.0.1:9/v1",), ca_file=none))
    app = opened("judges")
    app.button(key="judges-test-tls").click().run()
    assert not app.exception
    assert "PEM file" in app.error[0].value


def test_json_fields_name_the_place() -> None:
    assert json_object("", "Extra") == {}
    assert json_object('{"a": 1}', "Extra") == {"a": 1}
    with pytest.raises(LabError, match="line 1, column 7"):
        json_object('{"a": }', "Extra")
    with pytest.raises(LabError, match="object"):
        json_object("[1]", "Extra")


def test_rubric_is_kept_under_a_new_name() -> None:
    app = opened("rubric")
    shipped = sample_rubrics()[0]
    app.text_input(key=f"rubric-{shipped.id}-name").set_value("Mine").run()
    app.button(key=f"rubric-{shipped.id}-keep").click().run()
    healthy(app)
    assert [rubric.name for rubric in ui.store().rubrics()] == ["Mine"]


def options(*rows: tuple[object, object, object]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["criterion", "score", "description"], dtype=object)


def test_tables_become_a_rubric_of_any_size() -> None:
    about = pd.DataFrame([("Tone", "How kind")], columns=["criterion", "description"])
    made = from_tables("R", about, options((None, 2, "kind"), (None, 1, None)))
    assert made.criteria[0].scores == (1, 2)
    assert made.criteria[0].describe(1) is None


def test_score_options_follow_their_criteria() -> None:
    rows = options(("A", 1, "bad"), ("A", 2, "good"), ("B", 1, "x"), ("B", 3, "y"))
    told = {
        name: followed(rows, {0: "A", 1: "B"}, after)
        for name, after in {
            "renamed": {0: "A", 1: "New"},
            "deleted": {1: "B"},
            "added": {0: "A", 1: "B", 2: "C"},
            "swapped": {0: "B", 1: "A"},
            "another row's number": {0: "B"},
        }.items()
    }
    assert told["renamed"]["criterion"].tolist() == ["A", "A", "New", "New"]
    assert told["renamed"]["description"].tolist() == ["bad", "good", "x", "y"]
    assert told["deleted"]["criterion"].tolist() == ["B", "B"]
    assert told["added"].tail(2).to_numpy().tolist() == [["C", 1, ""], ["C", 2, ""]]
    assert told["swapped"].equals(rows.reset_index(drop=True))
    assert told["another row's number"]["criterion"].tolist() == ["B", "B"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("Tone", 1, "a")], "1 score option"),
        ([("Tone", 1, "a"), ("Tone", 1, "b")], "more than once"),
        ([("Tone", 1, "a"), ("Other", 2, "b")], "no criterion “Other”"),
        ([("Tone", 1, "a"), ("Tone", None, "b")], "has no score"),
    ],
)
def test_tables_that_do_not_fit_are_named(rows: list[tuple[object, object, object]], said: str) -> None:
    about = pd.DataFrame([("Tone", "")], columns=["criterion", "description"])
    with pytest.raises(RubricError, match=said):
        from_tables("R", about, options(*rows))


def test_subset_keeps_texts_whole_and_is_seeded() -> None:
    items = tuple(Item(f"{t}:{c}", response=f"text {t}", criterion=c, block=str(t)) for t in range(6) for c in "ab")
    data = Dataset("d", items)
    assert len(text_groups(data)) == 6
    first = subset(data, 2, seed=None)
    assert [i.item_id for i in first.items] == ["0:a", "0:b", "1:a", "1:b"]
    drawn = subset(data, 3, seed=4)
    assert drawn.items == subset(data, 3, seed=4).items
    assert len(drawn) == 6
    assert subset(data, None, seed=None) is data
    smaller = {i.item_id for i in subset(data, 2, seed=4).items}
    assert smaller <= {i.item_id for i in drawn.items}, "a larger draw holds the smaller one"


def test_a_minute_limit_bounds_the_assumed_rate() -> None:
    judge = Judge("j", "openai", "m", base_urls=("http://x/v1",), rpm=30)
    assert calls_per_second(judge, "score", None) == 0.5


def test_study_files_give_the_same_study(tmp_path: Path) -> None:
    odd = Item(
        "x",
        instruction='He said "no"\n\ttab \\ end',
        response="ü\x7f{}",
        human=(1.0, 2.5),
        references={5: "best"},
        task="t",
    )
    plain = Item("y", response="b", references={1: "worst", 5: "best"})
    design = Design(
        strategies=(Strategy("balanced"), Strategy("custom", orderings=((5, 4, 3, 2, 1),))),
        factors={"temperature": (0.0, 0.7), "ids": ("arabic", ("a", "b", "c", "d", "e"))},
    )
    served = Judge(
        "s",
        "openai",
        "m",
        base_urls=("http://x/v1",),
        key_env="A_KEY",
        sampling=Sampling(temperature=None, extra={"a": {"b": [1, True]}}),
    )
    study = Study("S", Dataset("D", (odd, plain)), (embedded_judge(), served), design, sample_rubrics()[0])
    with zipfile.ZipFile(io.BytesIO(study_files(study))) as archive:
        archive.extractall(tmp_path)
    again = load_study(tmp_path / "study.toml")
    assert again.dataset.items == study.dataset.items
    assert again.id == study.id


@pytest.mark.parametrize(
    ("log", "axis", "calls"), [("inspect_rate.eval", "options", "800"), ("inspect_compare.eval", "pairwise", "160")]
)
def test_an_imported_log_is_asked_again_from_the_data_page(log: str, axis: str, calls: str) -> None:
    """Balanced and fixed orders of all 40 things."""
    source = Source(ROOT / "tests" / "logs_of_tools" / log)
    imported = import_file(ui.store, source)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.session_state["data-imported"] = imported
    app.session_state["data-imported-from"] = source
    app.switch_page("pages/data.py").run()
    app.button(key="data-replay").click().run()
    healthy(app)
    assert app.title[0].value == "Study"
    assert app.session_state["study/axis"] == axis
    assert list(app.session_state[KEPT]) == [f"{log.split('.')[0]}, as logged"]
    assert not app.error
    assert next(metric.value for metric in app.metric if metric.label == "Calls") == calls
