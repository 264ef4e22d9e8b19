"""Check blind ratings: kept at once, resumed, given by several people, and shown in Results."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from rubriclab import api as notebook
from rubriclab.app import rate, state
from rubriclab.model.data import INTENDED
from rubriclab.store.store import Store
from rubriclab.words.phrases import inside
from tests.app.conftest import HOSTILE, Lab, healthy, kept, pressed, texts
from tests.words import made


def run_of(items: int = 45, **more: object) -> str:
    """A run with texts; the candidates' names and ids must not be seen by a rater."""
    table = made.options_table({"judge-7b": made.by_quality}, items=items)
    named = table.items.assign(
        response=[f"Text {k} {HOSTILE}" for k in range(items)],
        instruction="Say something.",
        candidate=["secret-model"] * items,
        **more,
    )
    return kept(replace(table, items=named))


def visit(lab: Lab, run: str, name: str = "Ann") -> AppTest:
    app = lab("results", run=run, rate="1")
    app.text_input[0].set_value(name)
    pressed(app, "Start")
    return app


def give(app: AppTest, score: int, times: int = 1) -> AppTest:
    for _ in range(times):
        app.button(key=f"rate-{score - 1}").click().run()
    return healthy(app)


def ratings(run: str) -> dict[int, dict[str, float]]:
    return state.store().ratings(run)


def test_one_answer_at_a_time_is_shown_blind_and_each_rating_is_kept_at_once(lab: Lab) -> None:
    run = run_of()
    app = healthy(visit(lab, run))
    everything = texts(app) + "".join(part.value for part in app.code)
    assert len([part for part in app.code if part.value.startswith("Text ")]) == 1
    assert not re.search("answer-|secret-model|judge-7b|position", everything)
    assert app.get("progress")[0].proto.text == "0 of 30"
    first = app.code[1].value
    give(app, 3)
    (item,) = ratings(run)
    assert ratings(run)[item] == {"Ann": 3.0}
    assert first == f"Text {item} {HOSTILE}"
    assert [
        button.proto.shortcut for button in app.button if str(button.key).startswith("rate-")
    ] == ["1", "2", "3"]
    pressed(app, "Undo")
    assert ratings(run) == {}
    assert app.code[1].value == first
    pressed(app, "Later")
    assert app.code[1].value != first


@pytest.mark.thorough
def test_a_rater_goes_on_another_starts_afresh_and_the_sample_is_the_same_for_both(
    lab: Lab,
) -> None:
    run = run_of()
    give(visit(lab, run), 2, times=3)
    assert healthy(visit(lab, run)).get("progress")[0].proto.text == "3 of 30"
    other = healthy(visit(lab, run, "<script>Ben</script>\u202e"))
    assert other.get("progress")[0].proto.text == "0 of 30"
    give(other, 1, times=30)
    assert not [
        part for part in other.markdown if "<script>" in part.value.replace("\\<script\\>", "")
    ]
    assert other.get("progress")[0].proto.text == "30 of 45"
    assert all(
        "<script>Ben</script>" in given for given in ratings(run).values()
    )  # Ann's are of the same thirty


def test_the_sample_is_half_of_middling_and_half_of_extreme_scores() -> None:
    scores = pd.Series(range(100), dtype=float)
    sample = sorted(rate.sampled(scores, 7)[0])
    assert len(sample) == 30
    assert sample[:7] == list(range(7))
    assert sample[-8:] == list(range(92, 100))
    assert set(sample[7:22]) < set(range(41, 59))
    assert sorted(item for part in rate.sampled(scores[:9], 7) for item in part) == list(range(9))


@pytest.mark.thorough
def test_after_fifteen_it_says_what_is_known_and_ratings_go_wherever_uploaded_ones_do(
    lab: Lab, tmp_path: Path
) -> None:
    run = run_of(ratings=[{INTENDED: 1.0} for _ in range(45)])
    app = visit(lab, run)
    for number in range(1, 16):
        item = int(app.code[1].value.split()[1])
        give(app, 1 + item % 3 if number % 3 else 2)
        assert ("What the ratings show so far" in texts(app)) == (number == 15)
    said = texts(app)
    assert "Quadratic kappa of one call with one rating" in said
    assert "15 more answers, for a narrower interval; 2 more raters" in said
    kappa = next(row for row in state.findings(run).select("kappa_quadratic", side="single"))
    assert f"{kappa.value:.2f} ({inside(kappa)})" in said
    people = healthy(lab("results", run=run, tab="With people"))
    assert f"{kappa.value:.2f} ({inside(kappa)})" in texts(people)
    assert "that the sample's author aimed at" not in texts(people)
    assert kappa.counts["n"] == 15  # what the author aimed at is no person beside one
    assert "Rate answers yourself" in {button.label for button in people.button}
    chosen = notebook.kept_run(state.store(), run)
    frame = pd.read_csv(io.BytesIO(chosen.content(".csv")))
    assert frame.groupby("item_id")["human_1"].first().notna().sum() == 15
    chosen.export(tmp_path / "run.zip")
    again = notebook.read(tmp_path / "run.zip")
    given = [ratings.get("Ann") for ratings in again.table.items["ratings"]]
    assert {item: score for item, score in enumerate(given) if score} == {
        item: given["Ann"] for item, given in ratings(run).items() if "Ann" in given
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    ["ann", " A nn ", "\u0410nn", "Ann\u200b", "\uff21nn", "Intended level", INTENDED, " \u200b "],
)
def test_a_name_that_looks_like_anothers_is_refused(lab: Lab, name: str) -> None:
    run = run_of()
    give(visit(lab, run), 1)
    app = visit(lab, run, name)
    if name == "Ann\u200b":  # the same name but for what nobody sees
        assert healthy(app).get("progress")[0].proto.text == "1 of 30"
    elif name == " \u200b ":  # none
        assert not healthy(app).get("progress")
    else:
        assert "a name that is taken" in app.error[0].value
        assert not app.get("progress")


def test_two_windows_rating_the_same_answer_keep_the_first_rating_and_say_so(lab: Lab) -> None:
    run = run_of()
    one, two = visit(lab, run), visit(lab, run)
    give(one, 1)
    two.button(key="rate-2").click().run()
    assert "You rated that answer 1 in another window" in two.error[0].value
    assert list(ratings(run).values()) == [{"Ann": 1.0}]
    assert give(two, 3).get("progress")[0].proto.text == "2 of 30"


def test_a_run_deleted_while_it_is_rated_is_named_and_no_other_run_gets_the_rating(
    lab: Lab,
) -> None:
    other, run = run_of(40), run_of()
    app = give(visit(lab, run), 1)
    state.store().delete(run)
    app.button(key="rate-1").click().run()
    assert not app.exception
    assert "was deleted" in app.error[0].value
    assert not ratings(other)


@pytest.mark.thorough
def test_a_store_that_is_gone_keeps_what_was_rated_and_says_where(lab: Lab, tmp_path: Path) -> None:
    run = run_of()
    app = give(visit(lab, run), 1)
    state.store().checkpoint()
    Path(state.store().path).unlink()
    app.button(key="rate-1").click().run()
    assert not app.exception
    assert "Nothing was kept. The store" in app.error[0].value.replace("\\", "")
    (rescued,) = tmp_path.glob("*.rescued-*.duckdb")
    assert list(ratings(run).values()) == [{"Ann": 1.0}]
    assert app.button(key="rate-1")
    give(app, 2)
    assert len(ratings(run)) == 2
    state.store().close()
    state._store.clear()
    with Store.open(rescued) as store:
        assert len(store.ratings(run)) == 2


@pytest.mark.thorough
def test_what_cannot_be_rated_has_no_button_and_says_why(lab: Lab) -> None:
    run = run_of()
    offered = {button.label for button in healthy(lab("results", run=run)).button}
    assert "Rate answers yourself" in offered
    example = state.recorded()
    assert "Rate answers yourself" not in {
        button.label for button in healthy(lab("results", run=example)).button
    }
    assert "You cannot rate this run" in lab("results", run=example, rate="1").error[0].value
    nothing = kept(made.options_table({"j": lambda *_: None}, items=4, state="failed", name="none"))
    assert (
        "No answer of this run has a score yet"
        in lab("results", run=nothing, rate="1").error[0].value
    )
