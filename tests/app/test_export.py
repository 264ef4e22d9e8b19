"""Check Export: reports, cards, tables, and data are previewed, saved, or refused with a reason."""

import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.exports.report import drawings_of, svg_of
from rubriclab.runs.loading import plan_of_file
from rubriclab.words.phrases import NBSP
from rubriclab.words.subject import subjects_of_orders
from tests.app.conftest import HOSTILE, Lab, healthy, kept, pressed, texts
from tests.app.test_setup import uploaded
from tests.words import made

STUDY = Path(__file__).with_name("leaning.toml").read_text("utf-8")


@pytest.fixture
def asked(lab: Lab, tmp_path: Path) -> str:  # noqa: ARG001 - the lab's store has to be there
    """A run of the lab's own in the visitor's store: 60 answers, ten orders twice, a judge that
    leans to the first option.
    """
    (tmp_path / "study.toml").write_text(STUDY)
    run = state.manager().start(plan_of_file(tmp_path / "study.toml"))
    run.wait(60)
    return run.id


def preview(app: AppTest) -> str:
    """The report that the page shows: the file itself."""
    (frame,) = app.get("iframe")
    return b64decode(frame.proto.src.partition("base64,")[2]).decode()


def downloads(app: AppTest) -> list[str]:
    return [button.label for button in app.get("download_button")]


def test_the_report_is_previewed_and_data_are_downloaded(lab: Lab) -> None:
    run = kept(made.options_table({"judge-7b": made.always_first}, items=12))
    page = healthy(lab("export", run=run))
    assert downloads(page) == ["Download report (HTML)"]
    assert preview(page).count('<main class="sheet">') == 1
    assert "judge-7b favours the option listed first" in preview(page)
    app = healthy(lab("export", run=run, **{"for": "Full report"}))
    assert app.text_input[0].value == "Does judge-7b depend on the order of the rubric?"
    assert downloads(app) == ["Download report (HTML)"]
    assert "judge-7b favours the option listed first" in preview(app)
    assert "Method and limits" in preview(app)
    data = healthy(lab("export", run=run, **{"for": "Data"}))
    assert downloads(data) == ["Judgments (CSV)", "Numbers (CSV)", "Run (ZIP)"]
    assert len(data.dataframe[0].value) == 12


@pytest.mark.thorough
def test_a_card_says_its_protocol_and_its_promise_as_the_file_has_them(
    lab: Lab, asked: str
) -> None:
    helps = healthy(lab("results", run=asked, tab="What helps"))
    assert "Export judge card" in [button.label for button in helps.button]
    app = healthy(lab("export", run=asked, **{"for": "Judge card"}))
    card = state.kept(asked).card()
    said, promise = texts(app), card["promise"]
    assert downloads(app) == ["Download judge card"]
    assert app.header[0].value == f"Average {card['protocol']['calls']} orders"
    assert (
        f"typically {promise['distance']:.2f}{NBSP}points away from its mean over all orders"
        in said
    )
    assert f"{promise['low']:.2f} to {promise['high']:.2f}" in said
    assert f"95 of 100 scores are within {promise['margin']:.2f}{NBSP}points" in said
    assert 'rl.Judge("judge.card.json"' in app.code[0].value
    one = healthy(
        lab("export", run=asked, protocol="One order", tool="DeepEval", **{"for": "Judge card"})
    )
    assert one.header[0].value == "Ask in one order"
    assert "BaseMetric" in one.code[0].value
    example = healthy(
        lab("export", **{"for": "Judge card", "run": state.recorded()})
    )  # the lab's default judge
    assert "leave out the client" in texts(example)
    app.session_state["gate"] = True
    gate = healthy(app.run())
    limits = re.findall(
        r"--limit (\S+)", next(code.value for code in gate.code if "--junit" in code.value)
    )
    assert limits
    assert state.kept(asked).gate(*limits) == "passes"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"margin": "0.01"}, "Give a wider margin"),
        ({"run": "elsewhere"}, "A card needs a run of the lab"),
    ],
)
def test_a_card_that_cannot_be_promised_is_refused(
    lab: Lab, asked: str, query: dict[str, Any], why: str
) -> None:
    if "run" in query:
        query = {"run": kept(made.options_table({"judge-7b": made.always_first}, items=12))}
    app = lab("export", **{"run": asked, "for": "Judge card"} | query)
    assert why in app.error[0].value.replace("\\", "")
    assert downloads(app) == []
    assert not app.exception


@pytest.mark.thorough
def test_tables_and_figures_for_a_paper(lab: Lab) -> None:
    run = kept(made.options_table({HOSTILE: made.mostly_first, "b|c": made.by_quality}, items=40))
    app = healthy(lab("export", run=run, **{"for": "Paper and slides"}))
    assert downloads(app)[:2] == ["LaTeX", "Markdown"]
    assert downloads(app)[-1] == "BibTeX"
    assert sum("How often each position" in label for label in downloads(app)) == 2
    table = state.kept(run).paper_table("favours_positions")
    lines = table.markdown().splitlines()
    widths = {len(re.split(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")}
    assert widths == {2 + len(table.heads) + len(table.columns)}
    findings = state.findings(run)
    svg = svg_of(drawings_of(findings, subjects_of_orders(findings)[0])[0][1])
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "<img" not in svg


PEOPLE = "answer,Ann,Ben\n" + "".join(
    f"answer-{k},{1 + k % 3},{'' if k % 2 else 2}\n" for k in range(20)
)


@pytest.mark.thorough
def test_human_scores_are_added_to_a_run_and_earlier_ones_are_kept(lab: Lab) -> None:
    table = made.options_table({"judge-7b": made.by_quality}, items=20)
    run = kept(
        replace(table, items=table.items.assign(ratings=[{"Ann": 3.0}] + [{} for _ in range(19)]))
    )
    assert state.store().rate(run, 0, "Ann", None) == 3.0
    app = lab("results", run=run)
    assert app.button(key="add-scores").click().run().file_uploader
    script = f"from rubriclab.app import rate, state\nrate.add_scores(state.run_info('{run}'))"
    visit = AppTest.from_string(script, default_timeout=60).run()
    app = uploaded(visit, f"{PEOPLE}stranger,1,1\n", name="people.csv", to="people-file")
    said = texts(app)
    assert "Scores by 2 people for 20 of 20 answers. 1 ID in the file is not in this run." in said
    pressed(app, "Add these scores")
    assert state.store().ratings(run)[0] == {"Ann": 1.0, "Ben": 2.0}
    assert state.store().ratings(run)[1] == {"Ann": 2.0}
    assert state.store().add_ratings(run, {0: {"Ann": 5.0, "Cleo": 4.0}, 1: {}}) == 1
    assert state.store().ratings(run)[0] == {"Ann": 1.0, "Ben": 2.0, "Cleo": 4.0}
    assert "With people" in [tab.label for tab in healthy(lab("results", run=run)).tabs]
