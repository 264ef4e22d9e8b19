"""A presentation and its cards: what they show is what was recorded, hostile text stays text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rubriclab.__main__ import main
from rubriclab.datasets.scores import read_scores
from rubriclab.findings.telling import telling_item, turning_arms
from rubriclab.model import Judge, LabError, Rubric
from rubriclab.report.cards import cards_html, picture
from rubriclab.report.presentation import Story, presentation, story
from rubriclab.report.showing import showing
from rubriclab.runs.manager import RunManager
from rubriclab.runs.trial import Text, start_trial, trial_study
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.labkit import criterion
from tests.simulated_runs import run_into

EXAMPLE = Path(__file__).resolve().parents[2] / "data" / "example_run.zip"
BAD = "</script><script>window.__pwned=1</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def recorded() -> Iterator[Store]:
    with Store(":memory:") as store:
        read_archive(store, EXAMPLE.read_bytes())
        yield store


@pytest.fixture(scope="module")
def told(recorded: Store) -> Story:
    return story(recorded, recorded.runs()[0].run, judge="qwen2.5-coder-0.5b")


def orders_in(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="orders">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_the_cards_are_two_recorded_judgments_of_one_item(recorded: Store, told: Story) -> None:
    run, shown = recorded.runs()[0].run, told.showing
    rows = recorded.export_frame(run)
    mine = rows[(rows["judge"] == shown.judge) & (rows["strategy"] == "balanced")]
    spans = mine.groupby("item_id")["score"].agg(["min", "max"])
    assert [card.answer for card in shown.cards] == ["1", "5"]
    assert (spans["max"] - spans["min"]).max() == 4
    for card, read in zip(shown.cards, (shown.low, shown.high), strict=True):
        same = mine[mine["shown"] == json.dumps([int(name) for name in read.shown])]
        (score,) = same[same["item_id"] == recorded.item_text(run, read.item).item_id]["score"]  # type: ignore[union-attr]
        assert f"{score:g}" == card.answer
        assert card.lit is not None
        assert card.rows[card.lit].name == card.answer
    assert shown.low.item == shown.high.item
    assert "Chosen from 24 texts" in told.notes[0]


def test_the_last_step_says_what_the_findings_say(told: Story) -> None:
    assert told.headline.startswith("The order moves qwen2.5-coder-0.5b's mean score: -0.44 points [-0.52, -0.36]")
    assert [one.verdict for one in told.verdicts] == ["effect", "effect"]
    assert all("smallest effect of interest 0.1" in one.number for one in told.verdicts)
    page = unescape(presentation(told))
    for words in (told.headline, told.helps, *told.notes, *(one.answer for one in told.verdicts)):
        assert words
        assert words in page


def test_the_orders_are_those_that_were_asked(told: Story) -> None:
    page = presentation(told)
    orders = orders_in(page)
    assert len(orders) == 10
    names = [row.name for row in told.showing.rows]
    for order, read in zip(orders, told.showing.reads, strict=True):
        assert [names[k] for k in order["order"]] == list(read.shown)  # type: ignore[attr-defined]
        assert order["answer"] == f"{read.score:g}"
    assert len(re.findall(r"<script>", page)) == 1
    assert "http" not in re.sub(r"http-equiv", "", page).replace("http://www.w3.org/2000/svg", "")


def test_of_a_run_without_a_second_order_there_is_nothing_to_present() -> None:
    with Store(":memory:") as store:
        runs = run_into(store, "forms")
        with pytest.raises(LabError, match="read in two orders"):
            story(store, runs["forms"])


@pytest.mark.slow
def test_pairs_and_criteria_are_presented_too() -> None:
    with Store(":memory:") as store:
        for run in run_into(store, "pairs", "criteria").values():
            found = story(store, run)
            low, high = found.showing.cards
            assert low.order != high.order
            assert low.answer != high.answer
            assert found.showing.simulated
            assert "simulated: planted effects, not a model" in presentation(found)
            with pytest.raises(LabError, match="There are:"):
                story(store, run, judge="nobody")


def test_the_telling_item_is_told_by_orders_and_not_by_noise(recorded: Store) -> None:
    data = recorded.frame(recorded.runs()[0].run)
    for arm in turning_arms(data):
        mine = data.judgments[data.judgments["arm"] == arm]
        means = mine.groupby(["item", "ordering"])["score"].mean().groupby("item")
        spans = (means.max() - means.min()).to_numpy()
        assert spans[telling_item(data, arm=arm)] == np.max(spans)


def tried(store: Store, judge: Judge, text: Text, rubric: Rubric) -> str:
    run = start_trial(RunManager(store), trial_study(text, [judge], rubric=rubric))
    run.wait(60)
    return run.info.run


def test_a_trial_is_presented_with_its_control_and_hostile_text_stays_text() -> None:
    judge = Judge(f"j{BAD}", "simulated", "simulated", options={"position": [50.0], "primacy": 50.0})
    options = tuple(type(option)(option.score, f"{option.score} {BAD}") for option in criterion(5).options)
    rubric = Rubric("r", (type(criterion(5))(f"c{BAD}", options),))
    with Store(":memory:") as store:
        run = tried(store, judge, Text(BAD, (f"Paris. {BAD}",)), rubric)
        found = story(store, run)
    assert [card.answer for card in found.showing.cards] == ["1", "5"]
    assert "no noise seen in one repeat" in found.notes[0]
    assert "One text and one judge" in found.notes[-1]
    for document in (presentation(found), cards_html(found.showing), picture(found.showing, found.headline)):
        assert "<img" not in document
        assert "<script>window" not in document
        assert "&lt;script&gt;" in document
    drawn = ET.fromstring(picture(found.showing, found.headline + "\x00\ufffe\ud800"))
    assert {part.tag.rpartition("}")[2] for part in drawn.iter()} == {"svg", "rect", "text"}


def test_where_nothing_moves_both_orders_are_shown_and_it_is_said() -> None:
    steady = Judge("steady", "simulated", "simulated", options={"score": {"3": 50.0}, "quality_weight": 0.0})
    with Store(":memory:") as store:
        shown = showing(store, tried(store, steady, Text("Q", ("A",)), Rubric("r", (criterion(5),))))
        found = story(store, shown.run)
    assert not shown.moved
    assert [card.answer for card in shown.cards] == ["3", "3"]
    assert shown.cards[0].order != shown.cards[1].order
    assert "Every order gave the same answer" in presentation(found)


@pytest.mark.slow
def test_the_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab, page = str(tmp_path / "lab.duckdb"), tmp_path / "talk.html"
    with Store(lab) as store:
        read_archive(store, EXAMPLE.read_bytes())
    asked = ["present", "recorded", "--store", lab, "--judge", "smollm2-135m", "--out", str(page), "--json"]
    assert main(asked) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["judge"] == "smollm2-135m"
    assert [card["answer"] for card in document["cards"]] == ["1", "5"]
    assert document["bytes"] == len(page.read_bytes())
    assert "1.08 points" in page.read_text()
    assert main(["present", "recorded", "--store", lab, "--judge", "nobody", "--out", str(page)]) == 1


def test_of_several_scales_one_is_told_and_the_others_are_named() -> None:
    """40 items of two scales, of which the order moves only those of three scores."""
    rng, rows = np.random.default_rng(4), []
    for n, pull in ((5, 0.0), (3, 1.0)):
        up = list(range(1, n + 1))
        for item in range(20):
            for order in (up, up[::-1]):
                odds = 0.5 * rng.normal(size=n) + pull * np.array(up) * (1 if order == up else -1)
                score = int(rng.choice(up, p=np.exp(odds) / np.exp(odds).sum()))
                rows.append(("J", "d", f"{n}-{item}", " ".join(map(str, order)), str(score)))
    table = pd.DataFrame(rows, columns=["judge", "dataset", "item_id", "ordering", "score"])
    with Store(":memory:") as store:
        told = story(store, store.import_run(read_scores(table, name="scales"), provenance={}))
    assert told.showing.scale == (1, 2, 3, 4, 5)
    assert "effect" not in {one.verdict for one in told.verdicts}
    (note,) = (note for note in told.notes if "J · d · 1–3" in note)
    assert "The order moves J's mean score: +" in note
    assert not any("J · d · 1–5" in note for note in told.notes)
