"""Check the five steps of Set up, and that the study they make is launched and repeated."""

import gzip
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from rubriclab.api import read
from rubriclab.app import setup_data, setup_judge, setup_orders, setup_references, state
from rubriclab.app.draft import Draft, study_toml, written
from rubriclab.app.frame import safe
from rubriclab.data import published
from rubriclab.data.sample import presets, sample_rubric
from rubriclab.data.tables import read_table
from rubriclab.judges import simulated
from rubriclab.judges.kinds import judge_named
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call
from rubriclab.model.orders import Strategy
from rubriclab.model.study import (
    DataPart,
    DesignPart,
    ReadingPart,
    StrategyPart,
    Study,
    read_study,
    study_from_toml,
)
from rubriclab.model.text import LabError, look_alike
from rubriclab.runs.machine_pace import BUSY_WORDS
from tests.app.conftest import HOSTILE, Lab, healthy, pressed, texts
from tests.app.test_pages import ended, go
from tests.data.test_published import FILES, shared
from tests.judges.test_constraint import Holding
from tests.servers import DecisionServer, running


def held(app: AppTest) -> Draft:
    draft = healthy(app).session_state["setup draft"]
    assert isinstance(draft, Draft)
    return draft


def uploaded(
    app: AppTest, *files: str | bytes, name: str = "answers.csv", to: str = "upload-"
) -> AppTest:
    """The visit after files were put into the uploader whose key begins so."""
    sent = [
        (name if k == 0 else f"{k}-{name}", part.encode() if isinstance(part, str) else part, "")
        for k, part in enumerate(files)
    ]
    uploader = next(box for box in app.file_uploader if str(box.key).startswith(to))
    return uploader.set_value(sent if len(sent) > 1 else sent[0]).run()


def step(app: AppTest, number: int) -> AppTest:
    return app.button(key=f"step-{number}-change").click().run()


ANSWERS = "Lo que escribió;Lo que se pidió;Nota\n" + "".join(
    f"Una respuesta bastante larga, la número {k}.;Cuenta el viaje número {k // 3}.;{1 + k % 5}\n"
    for k in range(9)
)


def confirmed(app: AppTest, text: str = ANSWERS) -> AppTest:
    """The visit after the columns of a file were confirmed."""
    return uploaded(app, text).button(key="data-confirm").click().run()


@pytest.mark.thorough
@pytest.mark.parametrize("load", [0.5, 7.0])
def test_the_time_of_a_launch_says_whose_it_is(
    load: float, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    app = lab("setup")
    app.button_group(key="data-kind").set_value("sample").run()
    app = healthy(pressed(app, "Use the sample"))
    assert "Time: as on a quiet machine with 2 cores." in texts(app)
    assert (BUSY_WORDS in texts(app)) == (load > 3)


@pytest.mark.thorough
def test_strange_columns_are_guessed_from_contents_and_confirmed_by_one_click(lab: Lab) -> None:
    app = uploaded(lab("setup"), ANSWERS)
    said = texts(healthy(app))
    assert "We could not match your column names" in said
    assert "9 rows, 3 columns, separated by semicolons" in said
    assert "9 answers to 3 prompts. Answers to the same prompt count as one unit." in said
    assert app.button(key="launch-go").disabled
    assert "Confirm the columns in step 1 first." in said
    app.button(key="data-confirm").click().run()
    assert not healthy(app).button(key="launch-go").disabled
    dataset = held(app).dataset()
    assert dataset.items[0].response == "Una respuesta bastante larga, la número 0."
    assert dataset.items[0].instruction == "Cuenta el viaje número 0."
    assert list(dataset.items[1].ratings.values()) == [2.0]
    # Another column has to be confirmed again; a column that is declined is not guessed again by
    # the command line.
    step(app, 1).selectbox(key="data-human").set_value(-1).run()
    assert healthy(app).button(key="launch-go").disabled
    app.button(key="data-confirm").click().run()
    assert not app.button(key="launch-go").disabled
    assert held(app).study.data[0].columns["human"] == []
    assert not held(app).dataset().items[0].ratings


UNRATED = "answer,human_1\n" + "".join(
    f"An answer of some length with the number {k},{'n/a' if k % 12 == 5 else 1 + k % 5}\n"
    for k in range(24)
)
"""Two of 24 people's scores are no scores."""


def test_a_mark_of_no_rating_is_refused_until_its_box_is_ticked(lab: Lab) -> None:
    app = uploaded(lab("setup"), UNRATED)
    unsaid = "Say what “n/a” means: tick the box, or choose other columns."
    assert unsaid in texts(healthy(app))
    app.button(key="data-confirm").click().run()
    assert any("“n/a” is not a score" in str(error.value) for error in app.error)
    assert app.button(key="launch-go").disabled
    box = next(box for box in app.checkbox if str(box.key).startswith("data-unrated-"))
    assert box.label.startswith("“n/a” (2 cells) means")
    box.check().run()
    healthy(app)
    ratings = [len(item.ratings) for item in held(app).dataset().items]
    assert [k for k, scores in enumerate(ratings) if not scores] == [5, 17]
    assert sum(ratings) == 22
    assert held(app).study.data[0].unrated == ("n/a",)
    assert 'unrated = ["n/a"]' in study_toml(held(app).checked())
    next(box for box in app.checkbox if str(box.key).startswith("data-unrated-")).uncheck().run()
    assert unsaid in texts(healthy(app))
    assert app.button(key="launch-go").disabled
    assert app.session_state["setup draft"].study.data[0].unrated == ()


def test_no_box_is_named_where_too_many_texts_have_none(lab: Lab) -> None:
    """A study says of two of seven texts that they mean “no rating”; five are left."""
    texts_of = dict(
        zip(range(1, 29, 4), ["n/a", "-", "?", "tbd", "none", "ill", "later"], strict=True)
    )
    rows = (f"An answer of some length with the number {k}" for k in range(80))
    lines = [f"{row},{texts_of.get(k, 1 + k % 5)}" for k, row in enumerate(rows)]
    app = uploaded(lab("setup"), "\n".join(["answer,human_1", *lines]))
    draft = app.session_state["setup draft"]
    draft.set_data(0, draft.study.data[0].model_copy(update={"unrated": ("n/a", "-")}))
    app.run()
    assert "tick the box" not in texts(app)
    assert any("“?” is not a score" in str(error.value) for error in app.error)


TWO_RATERS = "answer,Note Anna,Note Bernd\n" + "".join(
    f"An answer of some length with the number {k},{1 + k % 5},"
    f"{'n/a' if k % 4 == 1 else 5 - k % 5}\n"
    for k in range(24)
)
"""The second rater gave no score to a quarter of the answers."""


def test_two_raters_are_taken_by_one_click_and_none_is_dropped_in_silence(lab: Lab) -> None:
    app = uploaded(lab("setup"), TWO_RATERS)
    assert "“Note Anna” and “Note Bernd” may be scores by several people" in texts(healthy(app))
    assert not any(item.ratings for item in held(app).dataset().items)
    app.button(key="data-raters").click().run()
    assert "Say what “n/a” means" in texts(healthy(app))
    next(box for box in app.checkbox if str(box.key).startswith("data-unrated-")).check().run()
    assert "Human scores of 2 people: Note Anna, Note Bernd." in texts(healthy(app))
    app.button(key="data-confirm").click().run()
    assert sum(len(item.ratings) for item in held(app).dataset().items) == 24 + 18


def test_answers_that_are_in_the_file_twice_are_named(lab: Lab) -> None:
    again = "".join(f"{line}\n" for line in TWO_RATERS.splitlines()[1:3])
    app = uploaded(lab("setup"), TWO_RATERS + again)
    assert "2 answers are there more than once, word for word." in texts(healthy(app))


OTHER = ANSWERS.replace("Una respuesta", "Otra respuesta")


def test_a_file_stays_until_another_one_takes_its_place(lab: Lab) -> None:
    app = confirmed(lab("setup"), ANSWERS)
    step(app, 1).selectbox(key="data-human").set_value(-1).run()
    app.button(key="data-confirm").click().run()
    before = held(app).study.data
    app = step(app, 1).button(key="data-replace").click().run()
    uploaded(app, b"\x89PNG\r\n", name="picture.csv")
    assert app.error
    assert app.session_state["setup draft"].study.data == before
    app.button(key="data-keep").click().run()
    assert held(app).study.data == before
    assert not app.button(key="launch-go").disabled
    # A file with the same columns keeps what was chosen, and is confirmed again.
    app = uploaded(app.button(key="data-replace").click().run(), OTHER)
    assert app.button(key="launch-go").disabled
    assert held(app).study.data[0].columns == before[0].columns
    assert held(app).dataset().items[0].response.startswith("Otra")
    # One with other columns is looked at anew.
    app = uploaded(app.button(key="data-replace").click().run(), UNRATED)
    assert app.session_state["setup draft"].study.data[0].columns == {}


@pytest.mark.parametrize("marks", [{}, dict.fromkeys("abcdef", 1)])
def test_what_a_study_says_of_no_rating_stays_where_the_page_does_not_ask(
    marks: dict[str, int],
) -> None:
    """Else a 99 that means “no rating” would silently count as a score."""
    assert setup_data._no_rating(marks, ("99",)) == ("99",)


def test_an_upload_gets_a_name_that_no_other_data_set_has() -> None:
    draft = Draft(
        Study(
            data=(DataPart(file="a.csv"), DataPart(file="b.csv")), rubric=written(sample_rubric())
        )
    )
    table = read_table(ANSWERS.encode(), "a.csv")
    assert [setup_data._keep(draft, number, table) for number in (2, 0)] == ["a (2).csv", "a.csv"]
    draft.set_data(0, None)
    assert not draft.uploads.tables  # what no data set names is not kept


@pytest.mark.thorough
def test_a_file_whose_answers_are_all_empty_is_refused_with_a_reason(lab: Lab) -> None:
    app = uploaded(lab("setup"), "response,instruction\n ,a\n ,b\n")
    assert any("no row has an answer" in error.value for error in app.error)
    assert app.button(key="launch-go").disabled
    assert not app.exception


@pytest.mark.thorough
@pytest.mark.papers(44)
@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "row,item_id,ordering,score,human_1,human_2\n"
            + "".join(
                f"{k}{s},x{k},{s},{s[0]},1,2\n"
                for k in range(12)
                for s in ("1 2 3", "2 3 1", "3 1 2")
            ),
            "favours the option listed first",
        ),
        (
            "judge,question_id,task,first,second,choice\n"
            + "".join(f"j,q{k},t,{s},A\n" for k in range(18) for s in ("a,b", "b,a")),
            "picks the answer shown first",
        ),
    ],
)
def test_judgments_made_elsewhere_lead_straight_to_results(text: str, title: str, lab: Lab) -> None:
    app = lab("setup")
    app.button_group(key="data-kind").set_value("judgments").run()
    uploaded(app, text, name="judged.csv").button(key="judged-open").click().run()
    assert title in healthy(app).title[0].value
    info = state.store().runs()[0]
    kept = state.kept(info.id)
    assert info.done == 36
    raters = {rater for given in kept.table.items["ratings"] for rater in given or {}}
    assert len(raters) == 2 * ("human_1" in text)
    # What Export calls a run that another lab reads.
    zipped = kept.content(".zip")
    app = lab("setup")
    app.button_group(key="data-kind").set_value("judgments").run()
    assert title in healthy(uploaded(app, zipped, name="run.zip")).title[0].value


LOG = "row,item_id,ordering,score\n" + "".join(
    f"{k}{s},x{k},{s},{s[0]}\n" for k in range(26) for s in ("1 2 3", "2 3 1", "3 1 2")
)
"""26 answers in three orders each, by a judge that takes the option listed first."""


@pytest.mark.thorough
def test_a_file_that_grows_is_read_with_planned_looks_or_warned_of(
    lab: Lab, tmp_path: Path
) -> None:
    first = "".join(LOG.splitlines(keepends=True)[: 1 + 3 * 12])

    def upload(text: str) -> AppTest:
        app = lab("setup")
        app.button_group(key="data-kind").set_value("judgments").run()
        return healthy(uploaded(app, text, name="log.csv"))

    app = upload(first)
    app.toggle(key="judged-grows").set_value(True).run()
    assert "Say how many answers the file will hold in the end." in texts(app)
    assert app.button(key="judged-open").disabled
    app.number_input(key="judged-planned").set_value(11).run()
    assert any("12 independent answers; 11 were planned" in error.value for error in app.error)
    assert app.button(key="judged-open").disabled
    app.number_input(key="judged-planned").set_value(40).run()
    healthy(app).button(key="judged-open").click().run()
    assert "imported before" not in texts(app)
    (info,) = state.store().runs()
    looks = state.store().table(info.id).looks
    assert looks is not None
    assert [scope.units for scope in looks.scopes.values()] == [(10, 20, 40)]
    (tmp_path / "log.csv").write_text(first, "utf-8")
    assert looks == read(tmp_path / "log.csv", looks=40).table.looks
    (look,) = state.kept(info.id).findings.last_looks
    assert (look.units, look.stops) == (10, True)

    # Read again without a plan: nothing guards the readings.
    app = upload(LOG)
    assert app.toggle(key="judged-grows").value is False, "the plan is of the file before"
    warnings = [part.value for part in app.caption if "“log” was imported before" in part.value]
    assert len(warnings) == 1
    assert "turn on “The file will grow”" in warnings[0]
    app.button(key="judged-open").click().run()
    newest = max(state.store().runs(), key=lambda info: info.created)
    assert state.store().table(newest.id).looks is None


# ---- public data sets, several data sets


@pytest.mark.thorough
@pytest.mark.papers(7, 8)
def test_public_data_sets_are_used_together_with_an_own_file(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RUBRICLAB_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(published, "HOST", "http://127.0.0.1:9")
    app = lab("setup")
    app.button_group(key="data-kind").set_value("published").run()
    assert "96 stories written by people" in texts(healthy(app))
    app.button(key="data-fetch").click().run()
    assert any("could not be fetched" in error.value for error in app.error)  # no network here
    pressed(uploaded(app, ANSWERS, to="upload-hanna"), "Use these files")
    assert any(
        "The stories need the columns Prompt, Human, Model" in error.value for error in app.error
    )
    files = [gzip.decompress(shared(path).read_bytes()) for path in FILES["hanna"]]
    pressed(uploaded(app, *files, name="hanna.csv", to="upload-hanna"), "Use these files")
    assert len(held(app).dataset().items) == 576
    assert [criterion.name for criterion in held(app).rubric().criteria][:2] == [
        "Relevance",
        "Coherence",
    ]
    step(app, 1)
    app.number_input(key="data-take").set_value(12).run()
    pressed(app, "Add another data set")
    confirmed(app)
    assert not healthy(app).button(key="launch-go").disabled
    assert [len(held(app).dataset(number).items) for number in (0, 1)] == [12, 9]
    assert (held(app).rubric(0).name, held(app).rubric(1).name) == ("Stories", "Helpfulness")
    assert {condition.dataset for condition in held(app).plan()[0].conditions} == {
        "HANNA",
        "answers",
    }
    pressed(step(app, 1), "Add another data set")
    app.button_group(key="data-kind").set_value("sample").run()
    pressed(app, "Use the sample")
    step(app, 1).button(key="data-remove-0").click().run()
    assert [part.file or part.sample for part in held(app).study.data] == ["answers.csv", True]


# ---- rubrics and judges


def test_a_rubric_is_written_with_two_criteria_whose_order_changes(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 2)
    app.button_group(key="rubric-kind").set_value("own").run()
    assert app.text_input(key="rubric-name").value == "Helpfulness"
    pressed(app, "Add a criterion").text_input(key="rubric-name-1").set_value("Tone").run()
    rubric = held(app).rubric()
    assert [criterion.name for criterion in rubric.criteria] == ["Helpfulness", "Tone"]
    assert rubric.criteria[1].scores == (1, 2, 3, 4, 5)
    step(app, 4).radio(key="orders-axis").set_value("criteria").run()
    # Two criteria have two balanced orders; each twice: 4 calls for each of 9 answers. The small
    # model's answers repeat, yet the first ten texts are asked twice.
    assert healthy(app).button(key="launch-go").label == "Launch 36 calls"
    app.multiselect(key="orders-also").set_value(["options"]).run()  # both axes on the same answers
    assert held(app).study.design.axes == ("criteria", "options")
    app.text_input(key="launch-name").set_value("Tone and help").run()
    assert held(app).checked().name == "Tone and help"


def test_a_rubric_that_cannot_be_blocks_the_launch_with_its_reason(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 2).button_group(key="rubric-kind").set_value("own").run()
    app.session_state["rubric-options-0 base"] = pd.DataFrame(
        {"Score": [1, 1], "Description": ["a", "b"]}
    )
    app.run()
    assert app.button(key="launch-go").disabled
    assert any("twice" in error.value for error in app.error)
    assert not app.exception


def test_labels_of_two_scores_are_asked_about_literally(lab: Lab) -> None:
    """A segmented control draws its options as markdown."""
    app = confirmed(lab("setup"))
    options = (Option(score=1, label="$x$ **Good**"), Option(score=2, label="Bad"))
    held(app).set_rubric(written(Rubric("Tone", (Criterion("Tone", options),))))
    app = healthy(step(app, 2).button_group(key="rubric-kind").set_value("own").run())
    (asked,) = [part for part in app.get("button_group") if part.label == "Which score passes?"]
    assert [option.content for option in asked.proto.options] == [
        "Bad (score 2)",
        r"\$x\$ \*\*Good\*\* (score 1)",
    ]


def test_a_cut_is_asked_for_kept_and_refused_in_words(lab: Lab) -> None:
    """The ready rubric has the scores 1 to 5. From 4 on: the study and its file say so."""
    app = step(confirmed(lab("setup")), 2)
    asked = app.number_input(key="rubric-cut")
    assert (asked.label, asked.value) == ("Pass from which score on?", None)
    healthy(asked.set_value(4).run())
    assert held(app).checked().reading.cut == 4
    assert "cut = 4.0" in study_toml(held(app).checked())
    assert study_from_toml(study_toml(held(app).checked())).reading.cut == 4
    # A cut from which on nothing passes blocks the launch, and says what can be.
    app.number_input(key="rubric-cut").set_value(7).run()
    said = (
        "[reading] cut is 7, but scores run from 1 to 5, so none would pass. Use a number above 1, "
        "up to 5."
    )
    assert safe(said) in [error.value for error in app.error]
    assert app.button(key="launch-go").disabled
    # Without one there is no pass or fail, and the study says nothing of it.
    app.number_input(key="rubric-cut").set_value(None).run()
    assert held(app).checked().reading == ReadingPart()


def test_two_scores_need_no_cut(lab: Lab) -> None:
    """A rubric with two scores asks which passes. A cut of the rubric before it goes."""
    app = step(confirmed(lab("setup")), 2)
    app.number_input(key="rubric-cut").set_value(4).run()
    options = (Option(score=0, label="Fail"), Option(score=1, label="Pass"))
    held(app).set_rubric(written(Rubric("Right", (Criterion("Right", options),))))
    healthy(app.button_group(key="rubric-kind").set_value("own").run())
    assert "Pass from which score on?" not in [field.label for field in app.number_input]
    assert held(app).study.reading.cut is None


@pytest.mark.thorough
@pytest.mark.papers(9)
def test_own_code_runs_where_somebody_has_looked_at_it(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = step(confirmed(lab("setup")), 3)
    assert "My own function" not in app.button_group(key="judge-where").options
    (tmp_path / "mine.py").write_text(
        f"# {HOSTILE}\ndef judge(messages, item):\n    return item['shown'][0]\n", "utf-8"
    )
    monkeypatch.setenv("RUBRICLAB_CODE", str(tmp_path))
    app.run().button_group(key="judge-where").set_value("python").run()
    assert any("def judge" in code.value for code in app.code)
    assert "say yes" in texts(app)
    assert app.button(key="launch-go").disabled
    (yes,) = [box for box in app.checkbox if str(box.key).startswith("judge-yes-")]
    yes.check().run()
    (judge,) = held(app).study.judges
    assert (judge.model, judge.options["path"], judge.folder) == (
        "mine.py:judge",
        "mine.py",
        str(tmp_path),
    )
    text = study_toml(held(app).checked())
    app.button(key="launch-go").click().run()
    (run,) = state.manager()._runs.values()
    assert run.wait(60).state == "finished"
    # The same study, handed on: it is not launched before somebody has looked at the file here.
    handed = study_from_toml(text).model_copy(update={"design": DesignPart(repeats=3)})
    draft = Draft(handed, held(step(confirmed(lab("setup")), 3)).uploads)
    with pytest.raises(LabError, match="say yes"):
        state.manager().start(draft.plan()[0])
    # A run of one's own goes on from Runs; where the file has changed it does not.
    assert state.manager().resume(run.id, retry_failed=True).wait(60).state == "finished"
    (tmp_path / "mine.py").write_text("def judge(messages, item):\n    return 1\n", "utf-8")
    with pytest.raises(LabError, match="measured with another"):
        state.manager().resume(run.id, retry_failed=True)


def test_several_judges_and_a_key_that_is_not_set(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(setup_judge, "models_of", lambda *_, **__: ["big-model"])
    app = pressed(step(confirmed(lab("setup")), 3), "Add another judge")
    app.button_group(key="judge-where").set_value("api").run()
    assert app.selectbox(key="judge-model").value is None  # nothing is asked by itself
    assert healthy(pressed(app, "Ask for its models")).selectbox(key="judge-model").value == (
        "big-model"
    )
    assert [judge.name for judge in held(app).study.judges] == ["smollm2-135m-q8", "big-model"]
    for variable, why in (
        ("NOT_SET_API_KEY", "is not set, and judge"),
        ("HOME", "RUBRICLAB_KEYS=HOME"),
        ("sk-12345abcdef", "as MY_API_KEY, never the key itself"),
    ):
        app.text_input(key="judge-key").set_value(variable).run()
        assert why in texts(app)
        assert "sk-12345abcdef" not in texts(app) + caplog.text
        assert app.button(key="launch-go").disabled
    app.button(key="judge-remove-0").click().run()
    assert [judge.name for judge in held(app).study.judges] == ["big-model"]
    app.button(key="judge-change-0").click().run()
    app.session_state["judge-more"] = True  # the fold is open
    app.run().number_input(key="judge-price_input").set_value(1.0).run()
    assert held(app).study.judges[0].base_urls == ("http://localhost:8000/v1",)
    assert held(app).plan()[1].price is not None
    app.session_state["judge-more"] = False  # what a closed fold holds still counts
    app.run()
    assert held(app).study.judges[0].price_input == 1.0
    assert not [box for box in app.number_input if box.key == "judge-price_input"]


def test_a_served_lab_neither_looks_for_servers_nor_starts_one(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    app = step(lab("setup"), 3)
    app.button_group(key="judge-here").set_value("vllm").run()
    assert "this lab is served" in texts(healthy(app))
    assert not [button for button in app.button if button.key in ("judge-find", "judge-start")]


def test_a_server_that_takes_typed_questions_is_asked_them(lab: Lab) -> None:
    with running(DecisionServer()) as server:
        app = step(confirmed(lab("setup")), 3)
        app.button_group(key="judge-where").set_value("api").run()
        app.text_input(key="judge-url").set_value(f"{server.url}/v1").run()
        pressed(app, "Ask for its models").selectbox(key="judge-model").set_value("decider").run()
        assert held(app).study.judges[0].kind == "openai"
        app.button_group(key="judge-asked").set_value("decisions").run()
        app.button_group(key="judge-question").set_value("score").run()
        (judge,) = held(healthy(app)).study.judges
        assert (judge.kind, judge.options) == (
            "decisions",
            {"form": "systemone", "question": "score"},
        )
        pressed(app, "Test the judge")
        assert "It gives token probabilities" in app.success[0].value
        assert healthy(step(app, 4)).multiselect(key="orders-vary-packing").options == [
            "packed",
            "alone",
            "reversed",
        ]


@pytest.mark.thorough
def test_replies_are_constrained_where_the_kind_of_judge_can_be(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 3)
    box = app.selectbox(key="judge-constrain")
    assert (box.value, len(box.options)) == ("free", 4)
    assert "even where the judge would have written something else" in box.help
    box.set_value("grammar").run()
    assert held(app).study.judges[0].constrain == "grammar"
    text = study_toml(held(app).checked())
    assert 'constrain = "grammar"' in text
    assert study_from_toml(text, "s").judges[0].constrain == "grammar"
    app.button_group(key="judge-where").set_value("simulated").run()
    assert "judge-constrain" not in {part.key for part in healthy(app).selectbox}
    assert held(app).study.judges[0].constrain == "free"


def test_a_judge_that_is_tested_says_which_constraints_its_server_holds(lab: Lab) -> None:
    with running(Holding(("response_format",))) as server:
        app = step(confirmed(lab("setup")), 3)
        app.button_group(key="judge-where").set_value("api").run()
        app.text_input(key="judge-url").set_value(server.base_url).run()
        pressed(app, "Ask for its models").selectbox(key="judge-model").set_value(
            "test-model"
        ).run()
        pressed(app, "Test the judge")
        (box,) = app.warning  # “banana” is no score
        said = box.value.replace("\\", "")  # as Markdown shows it
    assert 'It holds constrain = "schema".' in said
    assert "the server ignores it (it answered “banana”)" in said


# ---- orders and factors

CANDIDATES = "response,instruction,candidate\n" + "".join(
    f"An answer of {name} to number {k} with some words,Tell of journey number {k}?,{name}\n"
    for k in range(6)
    for name in "abc"
)


@pytest.mark.papers(39, 40, 41, 42, 43)
def test_every_axis_is_offered_with_what_it_needs(lab: Lab) -> None:
    app = step(confirmed(lab("setup"), CANDIDATES), 4)
    axis = app.radio(key="orders-axis")
    assert axis.options == [
        "Score options (1 to 5)",
        "Criteria",
        "Several answers in one call",
        "Two answers",
        "Lists of answers",
        "Examples",
        "A bare score",
    ]
    axis.set_value("pairs").run()
    assert healthy(app).button(key="launch-go").label.startswith("Launch ")
    assert (held(app).study.design.reorder, held(app).study.design.tie) == ("pairs", True)
    assert len(held(app).plan()[0].items) == 18  # 3 pairs of candidates for each of 6 instructions
    app.selectbox(key="orders-baseline").set_value("b").run()
    app.selectbox(key="orders-template").set_value("mtbench").run()
    app.checkbox(key="orders-tie").set_value(False).run()
    app.number_input(key="orders-repeats_on").set_value(0.5).run()
    design = held(app).study.design
    assert (design.baseline, design.template, design.tie, design.repeats_on) == (
        "b",
        "mtbench",
        False,
        0.5,
    )
    assert len(held(app).plan()[0].items) == 12  # a with b, b with c
    assert study_from_toml(study_toml(held(app).checked())).design == design
    app.radio(key="orders-axis").set_value("lists").run()
    assert (
        healthy(app).number_input(key="orders-k").value == 3
    )  # no instruction has more candidates
    app.radio(key="orders-axis").set_value("responses").run()
    app.number_input(key="orders-k").set_value(6).run()
    assert held(app).study.design.k == 6
    app.radio(key="orders-axis").set_value("bare").run()
    assert not healthy(app).button(key="launch-go").disabled
    assert "orders-balanced" not in [
        box.key for box in app.checkbox
    ]  # nothing is listed, so there is no order


@pytest.mark.parametrize(
    ("axis", "why"),
    [("criteria", "Needs two or more criteria"), ("pairs", "Needs answers of two candidates")],
)
def test_what_cannot_change_order_says_why(axis: str, why: str, lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 4)
    assert why in " ".join(app.radio(key="orders-axis").proto.captions)
    app.radio(key="orders-axis").set_value(axis).run()
    assert app.button(key="launch-go").disabled
    assert why in app.error[0].value


@pytest.mark.thorough
@pytest.mark.papers(5, 10, 25, 26, 27, 28, 61, 62)
def test_strategies_have_their_calls_and_every_factor_its_levels(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    step(app, 4).checkbox(key="orders-random").check().run().number_input(
        key="orders-random-calls"
    ).set_value(7).run()
    app.checkbox(key="orders-min-bias").check().run().text_area(
        key="orders-min-bias-text"
    ).set_value("3 1 5 2 4").run()
    assert [(part.kind, part.calls) for part in held(app).study.design.strategies] == [
        ("balanced", None),
        ("random", 7),
        ("min-bias", None),
    ]
    levels = {
        "ids": ["arabic", "roman"],
        "reference": [0, 5],
        "scale": [5, 9],
        "temperature": [0.0, "0.25"],
        "reasoning_effort": ["low", "extreme"],
    }
    for name, chosen in levels.items():
        app.multiselect(key=f"orders-vary-{name}").set_value(chosen).run()
    app.multiselect(key="orders-extra").set_value(["chat.think"]).run()
    app.multiselect(key="orders-vary-extra.chat.think").set_value([True, False]).run()
    said = held(app).study.design.vary.factors()
    assert said == {name: tuple(chosen) for name, chosen in levels.items()} | {
        "temperature": (0.0, 0.25),
        "extra.chat.think": (True, False),
    }
    assert "has a reference answer of score 5" in texts(
        app
    )  # the data have none, and the page says so
    app.multiselect(key="orders-vary-reference").set_value([]).run()
    nine = "criterion,score,description\n" + "".join(
        f"Helpfulness,{k},level {k}\n" for k in range(1, 8)
    )
    uploaded(app, nine, name="seven.csv", to="upload-wording").multiselect(
        key="orders-vary-wording"
    ).set_value(["Helpfulness", "seven.csv"]).run()
    assert not healthy(app).button(key="launch-go").disabled
    assert {dict(part.variant)["wording"] for part in held(app).plan()[0].parts} == {
        "Helpfulness",
        "seven.csv",
    }
    app.multiselect(key="orders-vary-ids").set_value(["arabic"]).run()
    assert "choose at least two levels" in app.error[0].value


@pytest.mark.thorough
@pytest.mark.papers(63, 64)
def test_reference_answers_are_written_from_the_page_and_become_the_data(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    pressed(app, "Add another judge").button_group(key="judge-where").set_value("simulated").run()
    app.session_state["orders-references"] = True
    step(app, 4).checkbox(key="orders-alternate").check().run()
    pressed(app, "Write 15 answers")  # 3 instructions, 5 scores
    for job in setup_references._jobs().values():
        ended = job.wait(30)
        assert ended.state == "finished", ended.reason
    pressed(app.run(), "Use these answers")
    assert held(app).study.references.alternate
    assert any(item.columns for item in held(app).dataset().items)
    assert held(app).study.data[0].file.endswith(".csv")


# ---- study files


@pytest.mark.papers(75)
def test_the_chosen_preset_says_which_tables_it_repeats(lab: Lab) -> None:
    app = lab("setup")
    app.session_state["launch-toml"] = True
    app.run()
    app.selectbox(key="toml-preset").set_value("li-forms").run()
    assert "Repeats Li et al., Table 3, Figure 5, Figure 6." in texts(app)
    app.selectbox(key="toml-preset").set_value("decisions").run()
    assert "Repeats" not in texts(app)  # the study of no paper


@pytest.mark.thorough
@pytest.mark.papers(75)
@pytest.mark.parametrize("name", [*presets(), "all of it"])
def test_nothing_of_a_loaded_study_is_lost(
    name: str, lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RUBRICLAB_DATA", str(tmp_path))
    study = read_study(presets()[name]) if name in presets() else study_from_toml(WHOLE)
    for data in [part for part in study.data if part.published]:
        for file, path in zip(
            published.sources()[str(data.published)].files, FILES[str(data.published)], strict=True
        ):
            file.cached.write_bytes(gzip.decompress(shared(path).read_bytes()))
    app = lab("setup")
    app.session_state["launch-toml"] = True
    app.run()
    if name in presets():
        app.selectbox(key="toml-preset").set_value(name).run().button(key="toml-load").click().run()
    else:
        uploaded(app, study_toml(study), name="study.toml", to="upload-toml")
    assert held(app).checked() == study
    if name not in presets():
        assert "Upload it in step 2" in texts(app)
        uploaded(
            app,
            "criterion,score,description\nd,1,no\nd,2,perhaps\nd,3,yes\n",
            name="r.csv",
            to="upload-named",
        )
        assert "Upload it in step 1" in texts(app)
        uploaded(
            step(app, 1), "the_answer\nan answer\nanother one\n", name="x.csv", to="upload-table"
        )
        assert held(app).checked() == study
        assert "Kept from the study file: 1 table of a paper's numbers" in texts(app)
    for number in (2, 3, 4, 1):  # opening a step changes nothing of it
        step(app, number)
        for key in [f"{kind}-change-{row}" for kind in ("data", "judge") for row in (0, 1)]:
            if key in [button.key for button in app.button]:
                app.button(key=key).click().run()
            assert held(app).checked() == study, (number, key)
    assert study_from_toml(study_toml(held(app).checked())) == study


WHOLE = Path(__file__).with_name("whole.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[data]\nsample = true\n[desing]\nk = 1", "desing is not a known setting"),
        ("no = [toml", "is not valid TOML"),
    ],
)
def test_an_invalid_study_file_is_refused_with_a_reason(text: str, said: str, lab: Lab) -> None:
    app = lab("setup")
    app.session_state["launch-toml"] = True
    uploaded(app.run(), text, name="study.toml", to="upload-toml")
    assert said in app.error[0].value.replace("\\", "")
    assert not app.exception


def test_unknown_and_double_scores_in_an_own_order_are_refused() -> None:
    typed = setup_orders.typed_order
    assert typed("5 4,3 2 1", [1, 2, 3, 4, 5]) == (5, 4, 3, 2, 1)
    assert typed("Tone | Clear style", ["Clear style", "Tone"]) == ("Tone", "Clear style")
    for line in ("5 x 3", "1 2 2"):
        with pytest.raises(LabError, match="expected each of"):
            Strategy("custom", "mine", orders=(typed(line, [1, 2, 3]),)).asked([1, 2, 3])


@pytest.mark.thorough
@settings(max_examples=30)
@given(
    name=some.text(min_size=1, max_size=30).filter(
        look_alike
    ),  # a name that shows nothing is refused
    options=some.dictionaries(
        some.text(max_size=8), some.integers(-9, 9) | some.text(max_size=9), max_size=3
    ),
    temperature=some.none() | some.floats(0, 2),
)
def test_a_study_file_is_read_as_it_was_written(
    name: str, options: dict[str, Any], temperature: float | None
) -> None:
    if any("\ud800" <= sign <= "\udfff" for sign in name + str(options)):
        return
    judge = JudgeSettings(name=name, options=options, temperature=temperature)
    study = Study(
        name=name,
        data=(DataPart(file="a.csv", columns={"response": name, "human": ["a", name]}),),
        rubric=written(sample_rubric()),
        design=DesignPart(
            strategies=(StrategyPart(kind="custom", name="mine", orders=((5, 4, 3, 2, 1),)),)
        ),
        judges=(judge,),
    )
    assert study_from_toml(study_toml(study)) == study


ROWS = {"item_id": ["a", "a"], "ordering": ["1 2", "2 1"], "score": ["1", "2"]}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the calls that reached the simulated judge."""
    keys: list[str] = []
    ask = simulated.SimulatedJudge.ask

    async def counted(self: Any, call: Call) -> Any:
        keys.append(call.key)
        return await ask(self, call)

    monkeypatch.setattr(simulated.SimulatedJudge, "ask", counted)
    return keys


def launched(app: AppTest) -> str:
    app.button(key="launch-go").click().run()
    ended()
    healthy(app)
    return state.store().runs()[0].id


@pytest.mark.thorough
def test_changed_words_become_a_wording_of_the_same_study_and_only_they_are_asked(
    lab: Lab, asked: list[str]
) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    first = launched(app)
    assert len(asked) == 180  # 9 answers, 10 orders, twice

    app = lab("setup", again=first)  # a visit that never saw the file
    assert "Nothing to run yet" in texts(healthy(app))
    assert app.button(key="launch-go").disabled
    assert held(app).dataset() == state.store().dataset(state.store().run(first).dataset)
    for number in (1, 3, 4):  # opening a step changes nothing
        step(app, number)
    assert app.button(key="launch-go").disabled

    step(app, 2).button_group(key="rubric-kind").set_value("own").run()
    app.text_input(key="rubric-about-0").set_value("Is the story told well?").run()
    assert app.button(key="launch-go").label == "Launch 180 calls"
    assert "Compares these wordings: Helpfulness; Helpfulness, changed." in texts(app)
    assert "180 of these calls" in app.checkbox(key="launch-known").label
    second = launched(app)
    assert len(asked) == len({*asked}) == 360  # the other wording alone

    run = state.store().run(second)
    assert (run.state, run.done, run.failed) == ("finished", 360, 0)
    old, new = (state.kept(run_id).table.rows for run_id in (first, second))
    taken = new[new["condition"] == 0].sort_values(["item", "ordering", "repeat"])
    assert (
        taken["score"].tolist() == old.sort_values(["item", "ordering", "repeat"])["score"].tolist()
    )
    assert set(state.store().calls(second)["note"]) == {"", f"answered in run {first}"}
    (shift,) = state.findings(second).select("variant_shift")
    assert shift.counts["n"] == 9
    assert "changed" in shift.of["variant"]
    assert "Condition" in {box.label for box in healthy(lab("results", run=second)).selectbox}

    app = lab("setup", again=second)  # a third wording stands beside both
    app.button_group(key="rubric-kind").set_value("own").run()
    app.text_input(key="rubric-about-0").set_value("Is it short?").run()
    assert app.button(key="launch-go").label == "Launch 180 calls"
    app.checkbox(key="launch-known").uncheck().run()
    assert app.button(key="launch-go").label == "Launch 540 calls"
    app.checkbox(key="rubric-keep-wording").uncheck().run()
    assert (
        app.button(key="launch-go").label == "Launch 360 calls"
    )  # in place of the first, all anew


@pytest.mark.thorough
def test_a_run_is_repeated_with_its_cut(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 3)
    app = step(app.button_group(key="judge-where").set_value("simulated").run(), 2)
    app.number_input(key="rubric-cut").set_value(4).run()
    first = launched(app)
    assert state.store().study(first)["reading"]["cut"] == 4
    assert lab("setup", again=first).number_input(key="rubric-cut").value == 4
    assert lab("setup", again=first, fix="judge").session_state["setup step"] == 3


@pytest.mark.thorough
@pytest.mark.parametrize("change", ["scores", "judge", "orders"])
def test_other_changes_make_a_study_of_their_own(lab: Lab, change: str) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    app = lab("setup", again=launched(app))
    if change == "scores":
        app.button_group(key="rubric-kind").set_value("own").run()
        app.session_state["rubric-options-0 base"] = app.session_state[
            "rubric-options-0 base"
        ].iloc[:4]
        app.run()
        assert app.button(key="launch-go").label == "Launch 144 calls"  # 8 orders of four
        assert not held(app).checked().design.vary.wording
    elif change == "judge":
        step(app, 3).button(key="judge-change-0").click().run()
        app.number_input(key="judge-planted-noise").set_value(0.5).run()
        assert app.button(key="launch-go").label == "Launch 180 calls"
    else:
        step(app, 4).checkbox(key="orders-random").check().run()
        app.number_input(key="orders-random-calls").set_value(5).run()
        assert (
            int(app.button(key="launch-go").label.split()[1]) <= 9 * 5
        )  # some drawn orders are known, too
    healthy(app)


@pytest.mark.thorough
def test_a_run_that_cannot_be_asked_again_says_why(lab: Lab) -> None:
    app = lab("setup", again="nothing")
    assert "No run is called “nothing”" in app.error[0].value.replace("\\", "")
    app = confirmed(lab("setup"))
    app.query_params["again"] = state.recorded()  # of the store that came with the lab
    assert "Nothing to run yet" in texts(healthy(go(app, "setup")))
    assert held(pressed(app, "Back to my set-up")).study.data[0].file == "answers.csv"


@pytest.mark.thorough
def test_an_imported_logs_prompts_are_asked_in_other_orders(lab: Lab, asked: list[str]) -> None:
    log = Path(__file__).parents[1] / "logs" / "samples" / "inspect.eval"
    lab()
    id = state.store().add_table(read(log).table)
    page = healthy(lab("results", run=id, tab="Judgments", view="Prompt as sent"))
    assert any(
        "The answer says no useful thing." in block.value for block in page.code
    )  # as the log has it
    page.button(key=f"results-logged-{id}").click().run()
    app = healthy(lab("setup", again=id))
    assert "We found this list; its order will change" in texts(app)
    assert "4 prompts" in texts(app)
    held(app).change(judges=(judge_named("simulated:planted"),))
    run = state.store().run(launched(app.run()))
    assert (run.state, run.done, run.failed) == ("finished", len(asked), 0)
    without = lab("results", run=state.store().add_table(read(pd.DataFrame(ROWS)).table))
    assert not [button for button in without.button if button.label == "Reorder these prompts"]


def test_the_exposure_of_each_option_is_counted_over_the_orders() -> None:
    orders = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
    assert setup_orders.exposure_of(orders, [1, 2, 3]) == [[1, 1, 1]] * 3
    # The default order again and again: each option stays where it is.
    assert setup_orders.exposure_of([(1, 2, 3)] * 2, [1, 2, 3]) == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]


def test_a_number_of_repeats_per_task_is_written_as_it_is_typed() -> None:
    study = read_study(presets()["shi-pairs"])
    for value, said in ((3, "repeats_on = 3\n"), (0.5, "repeats_on = 0.5\n")):
        design = study.design.model_copy(update={"repeats_on": value})
        text = study_toml(study.model_copy(update={"design": design}))
        assert said in text


def test_exposure_and_tokens_are_on_the_page(lab: Lab) -> None:
    app = healthy(step(confirmed(lab("setup")), 4))
    assert "every option equally often at every position" in texts(app)
    exposed = next(table.value for table in app.dataframe if "Position 2" in table.value)
    assert exposed.to_numpy().min() == exposed.to_numpy().max() > 0
    assert "tokens in and" in texts(app)


def test_a_sample_takes_one_answer_of_each_prompt_first(lab: Lab) -> None:
    app = confirmed(lab("setup"))  # 9 answers to 3 prompts
    choice = next(box for box in app.radio if box.label == "Answers to use")
    assert choice.options == ["All 9", "3: one per prompt, drawn at random", "A random sample of…"]
    assert app.button(key="launch-go").label == "Launch 180 calls"
    app = choice.set_value("prompts").run()
    assert app.button(key="launch-go").label == "Launch 60 calls"
    items = held(app).dataset().items
    assert len({item.prompt for item in items}) == len(items) == 3
    choice = next(box for box in app.radio if box.label == "Answers to use")
    app = choice.set_value("some").run()
    number = next(box for box in app.number_input if box.label == "Number of answers")
    app = number.set_value(5).run()
    prompts = [item.prompt for item in held(app).dataset().items]
    assert sorted(prompts.count(name) for name in {*prompts}) == [1, 2, 2]
    choice = next(box for box in app.radio if box.label == "Answers to use")
    app = choice.set_value("all").run()
    assert held(healthy(app)).study.data[0].take is None
    assert app.button(key="launch-go").label == "Launch 180 calls"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (8, "Too few to see a strong bias. To rule one out you need at least"),
        (10, "Enough to see a strong bias. To rule one out you need at least"),
    ],
)
def test_the_card_says_whether_a_strong_bias_would_be_seen(
    lab: Lab, answers: int, said: str
) -> None:
    rows = [f"Una respuesta bastante larga, la número {k}.;Viaje {k}.;3" for k in range(answers)]
    text = "\n".join(["Lo que escribió;Lo que se pidió;Nota", *rows])
    assert said in texts(healthy(confirmed(lab("setup"), text)))


def test_a_pasted_rubric_is_said_before_it_is_used(lab: Lab) -> None:
    from tests.data.test_understood import YAML

    app = step(lab("setup"), 2).segmented_control(key="rubric-kind").set_value("own").run()
    before = held(app).study.rubric
    app = app.text_area(key="rubric-pasted").set_value(YAML).run()
    said = texts(healthy(app))
    assert "Read as YAML: three scores, 1, 3 and 5. 2 and 4 are missing." in said
    assert "We kept “Partly helpful, something is missing” as one text." in said
    assert held(app).study.rubric == before
    app = pressed(app, "Add 2 and 4")
    rubric = held(app).rubric(None)
    assert (rubric.name, rubric.criteria[0].scores) == ("Helpfulness", (1, 2, 3, 4, 5))
    assert app.text_area(key="rubric-pasted").value == ""
    app = app.text_area(key="rubric-pasted").set_value(YAML).run()
    app = pressed(app, "Keep three scores")
    assert held(app).rubric(None).criteria[0].scores == (1, 3, 5)
    app = app.text_area(key="rubric-pasted").set_value("Give 5 points").run()
    assert "came nearest" in app.error[0].value


def test_a_study_with_a_waiting_paste_cannot_be_launched(lab: Lab) -> None:
    """Its run would use the rubric before it, which nobody would notice."""
    app = step(confirmed(lab("setup")), 2)
    app = app.segmented_control(key="rubric-kind").set_value("own").run()
    assert not app.button(key="launch-go").disabled
    app = app.text_area(key="rubric-pasted").set_value("5: Good\n3: Fair\n1: Bad").run()
    assert app.button(key="launch-go").disabled
    app = step(healthy(app), 3)
    assert app.button(key="launch-go").disabled, "also while the step is closed"
    assert "You pasted a rubric that is not used yet." in texts(app)
    app = pressed(step(app, 2), "Keep three scores")
    assert not app.button(key="launch-go").disabled
    assert "is not used yet" not in texts(app)


def waiting_rubric(app: AppTest, text: str = "3: Good\n2: Fair\n1: Bad") -> AppTest:
    """The visit after a rubric was pasted in step 2 and not used."""
    app = step(app, 2).segmented_control(key="rubric-kind").set_value("own").run()
    return app.text_area(key="rubric-pasted").set_value(text).run()


def test_a_waiting_paste_is_kept_and_holds_the_launch_when_data_come_later(lab: Lab) -> None:
    app = confirmed(step(waiting_rubric(lab("setup")), 1))
    assert healthy(app).button(key="launch-go").disabled
    assert "Press “Use this rubric” in step 2, or clear the box." in texts(app)
    app = step(app, 2)
    assert app.text_area(key="rubric-pasted").value == "3: Good\n2: Fair\n1: Bad"
    app = pressed(app, "Use this rubric")
    assert not healthy(app).button(key="launch-go").disabled
    assert held(app).rubric().criteria[0].scores == (1, 2, 3)


def test_a_waiting_paste_holds_the_launch_under_another_rubric_too(lab: Lab) -> None:
    app = waiting_rubric(confirmed(lab("setup")))
    app = app.segmented_control(key="rubric-kind").set_value("ready").run()
    assert healthy(app).button(key="launch-go").disabled
    assert "Choose “Write or paste” in step 2 to use it, or clear it there." in texts(app)
    assert step(app, 3).button(key="launch-go").disabled
    app = pressed(step(app, 2), "Clear the rubric")
    assert not healthy(app).button(key="launch-go").disabled
    assert "is not used yet" not in texts(app)


def test_a_waiting_paste_that_cannot_be_read_says_what_to_do(lab: Lab) -> None:
    app = waiting_rubric(confirmed(lab("setup")), "Step 1: read it\nStep 2: give a score")
    assert "“Step” before a number does not name a score" in app.error[0].value
    assert app.button(key="launch-go").disabled
    assert "The lab cannot read it. Correct it in step 2, or clear the box." in texts(app)
    app = app.text_area(key="rubric-pasted").set_value("").run()
    assert not healthy(app).button(key="launch-go").disabled


def test_a_waiting_judge_prompt_holds_the_launch(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 2)
    app = app.segmented_control(key="rubric-kind").set_value("prompt").run()
    text = "Rate this answer: Una respuesta bastante larga, la número 0.\n1: bad\n2: fair\n3: good"
    app = app.text_area(key="own-text").set_value(text).run()
    assert healthy(app).button(key="launch-go").disabled
    assert "You pasted a judge prompt that is not used yet." in texts(app)
    assert step(app, 3).button(key="launch-go").disabled
    app = pressed(step(app, 2), "Use this list")
    assert not healthy(app).button(key="launch-go").disabled


@pytest.mark.thorough
def test_a_waiting_paste_is_back_with_the_set_up_that_was_put_aside(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    run_id = launched(app)
    app = waiting_rubric(confirmed(lab("setup")))
    app.query_params["again"] = run_id
    app = app.run()
    assert "is not used yet" not in texts(app)
    app = pressed(app, "Back to my set-up")
    assert app.button(key="launch-go").disabled
    assert "You pasted a rubric that is not used yet." in texts(app)


@pytest.mark.thorough
def test_the_same_launch_under_another_name_says_which_run_it_opens(lab: Lab) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    first = launched(app)
    app = healthy(go(app, "setup"))
    app.text_input(key="launch-name").set_value("Another name").run()
    app.button(key="launch-go").click().run()
    ended()
    assert [info.id for info in state.store().runs()] == [first]
    said = [toast.value.replace("\\", "") for toast in app.toast]
    assert any("You launched exactly this before: “" in text for text in said), said
