"""Home, Set up, Runs and Results as people expect pages to be: said aloud, saved as pictures, linked to, by keys, told of an end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubriclab.model.judgment import Condition
from rubriclab.store.store import Store
from tests.app.test_results import BATCHES, LISTS, PAIRS
from tests.integration.lab import browser, running_lab, settled, sideways, violations, visit
from tests.sinks import made

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("doors") / "lab.duckdb"
    rated = made.options_table({"judge-7b": made.mostly_first}, items=30, name="Rated")
    ratings = [{name: float(1 + (i + k) % 3) for k, name in enumerate("abc")} for i in range(30)]
    stopped = made.options_table({"judge-7b": made.mostly_first}, items=20, name="Stopped", state="interrupted")
    forms = [Condition("j", "answers", "balanced", variant={"ids": ids}) for ids in ("arabic", "letters")]
    with Store.open(path) as store:
        for name, table in {
            "rated": replace(rated, items=rated.items.assign(ratings=ratings)),
            "stopped": replace(stopped, planned=(500,)),
            "nothing": made.options_table({"broken": lambda *_: None}, items=4, name="Nothing", state="failed"),
            "criteria": made.criteria_table(lambda text, slot, at: 2 + (text + slot) % 2 if at else 4, items=20),
            "variants": made.several(*forms, rules={"j": made.mostly_first}, items=20).judgments.table,
            **{"pairs": PAIRS, "lists": LISTS, "batches": BATCHES},
        }.items():
            items = table.items.assign(unit_text=table.items["item_id"])
            store.add_table(replace(table, run=name, name=name, items=items))
    with running_lab(path) as address:
        yield address


STATES = [
    "", "try", "learn", "learn?tab=Definitions&find=noise", "learn?tab=Assumptions", "learn?tab=Method+check", "setup", "runs", "results?run=rated", "results?run=rated&tab=With+people", "results?run=rated&tab=What+helps",
    "results?run=rated&tab=Judgments", "results?run=stopped", "results?run=nothing",
    "results?run=rated&rate=1", "compare", "compare?with=rated:0&with=stopped:0",
]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_and_nothing_moves_sideways(address: str, dark: bool) -> None:
    with browser(dark=dark) as page:
        for state in STATES:
            visit(page, f"{address}/{state}")
            assert violations(page) == [], state
        for opened, button in (
            ("runs", ".st-key-menu-rated button"),
            ("results?run=rated", ".st-key-results-menu button"),
        ):
            visit(page, f"{address}/{opened}")
            page.locator(button).click()
            settled(page)
            assert violations(page) == [], button
        page.set_viewport_size({"width": 390, "height": 844})
        for state in STATES:
            visit(page, f"{address}/{state}")
            assert sideways(page) <= 0, state


FIRST_SCREEN = """() => [...document.querySelectorAll('[data-testid=stMain] :is(h1, h2, p)')]
  .filter(part => part.getBoundingClientRect().top < 800 && !part.closest('[data-testid=stPlotlyChart], button, label, summary, [role=tab]'))
  .map(part => part.innerText.replaceAll('\\u00a0', '')).join('\\n')"""
# What would be without an effect, and of what level the lines in a picture are, is no estimate.
ESTIMATE = re.compile(
    r"(?!Lines|.*would be|.*each would get).*(?:CI|at most|\d(?:\.\d+)?\s(?:%|points|percentage points|in 100))"
)


def test_the_first_screen_of_results_is_short(address: str) -> None:
    against = "variants&setting=ids+%3D+letters+against+ids+%3D+arabic"
    with browser() as page:
        for run in ("rated", "criteria", "pairs", "lists", "batches", "variants", against):
            visit(page, f"{address}/results?run={run}")
            said = page.evaluate(FIRST_SCREEN)
            sentences = [part for part in re.split(r"(?<=[.?!])\s|\n", said) if ESTIMATE.match(part)]
            assert len(sentences) <= 5, (run, sentences)
            assert 40 <= len(said.split()) <= 150, (run, len(said.split()), said)


def test_charts_are_saved_as_pictures_and_as_tables(address: str, tmp_path: Path) -> None:
    def saved(button: Any, name: str) -> str:
        with page.expect_download() as download:
            button.click()
        download.value.save_as(tmp_path / name)
        return (tmp_path / name).read_bytes().decode("utf-8", "replace")

    with browser() as page:
        visit(page, f"{address}/results?run=rated")
        camera, chart = page.locator(".modebar-btn").first, page.locator("[data-testid=stPlotlyChart]").first
        chart.hover()
        assert saved(camera, "chart.png")[1:4] == "PNG"
        page.get_by_text("Show as table").first.click()
        settled(page)
        table = saved(page.get_by_text("CSV", exact=True), "chart.csv").split("\r\n")
        assert table[0] == "Position in the list,Value,Low,High,No effect,As written"
        assert table[1].startswith("1,0.666")
        page.get_by_text("SVG", exact=True).click()
        settled(page)
        page.keyboard.press("Escape")
        chart.hover()
        assert saved(camera, "chart.svg").startswith("<svg")


def test_a_link_opens_the_same_view_and_keys_are_not_taken_from_a_field(address: str) -> None:
    def call() -> str:
        return str(page.inner_text("[data-testid=stMain] p:has-text('· order') >> nth=0"))

    with browser() as page:
        visit(page, f"{address}/results?run=rated&tab=Judgments&score=2")
        page.keyboard.press("j")
        settled(page)
        chosen = call()
        field = page.get_by_role("textbox", name="Find in texts")
        field.fill("answer")
        field.press_sequentially("jk-j")
        assert field.input_value() == "answerjk-j"
        assert call() == chosen
        field.fill("")
        settled(page)
        page.locator(".st-key-results-menu button").click()
        settled(page)
        said = page.locator("[data-testid=stCode]").all_inner_texts()
        assert "It chose position 1 in 67" in said[0]
        assert re.search(r"Does it favour positions\? (Yes|No|Undecided)\.", said[0])
    with browser() as page:
        visit(page, said[1].strip())
        assert call() == chosen


def test_the_end_of_a_run_is_told_on_every_page(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb") as address, browser() as page:
        visit(page, f"{address}/setup")
        page.get_by_text("Sample", exact=True).click()
        page.get_by_text("Use the sample").click()
        settled(page)
        page.locator(".st-key-step-3-change button").click()
        page.get_by_text("Simulated", exact=True).click()
        page.get_by_role("spinbutton", name="Seconds an answer takes").fill("0.1")
        page.keyboard.press("Tab")
        settled(page)
        page.get_by_role("button", name="Launch: ").click()
        page.get_by_role("heading", name="Runs", level=1).wait_for()
        page.get_by_role("link", name="Export").click()
        page.wait_for_function("() => /^[1-9]\\d?% · Export/.test(document.title)")
        page.get_by_text("Finished: Sample, score order").wait_for(timeout=120_000)
        assert page.title() == "Finished: Sample, score order · rubriclab"
