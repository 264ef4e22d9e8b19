"""In a real browser: from a number of the workshop, and of several responses a call, to the judgments behind it.

Each address is opened beside it in a browser that has seen nothing else, and shows the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.model import Judge
from rubriclab.model.rubric_changes import changes_in
from rubriclab.runs.manager import RunManager
from rubriclab.runs.pulls import pulls_plan
from rubriclab.runs.suggestions import Round, proposals
from rubriclab.runs.workshop import new_bench, open_bench, try_version
from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page, calm, page_beside, place_of, running_lab, sees, settled
from tests.e2e.test_drilldown import address_of, click_point
from tests.simulated_runs import run_into

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
LEANING = Judge(
    "leaning", "simulated", "simulated", options={"quality_weight": 0.3, "wording_by_place": {"Excellent": 2.0}}
)
CHANGES = frozenset({"neutral-1", "neutral-5", "no-criterion"})
RUBRIC = sample_rubrics()[0]


class Lab(NamedTuple):
    """A served lab with what was asked in it before: names of runs. ``changed``: arms with the planted wording
    made neutral."""

    address: str
    bench: str
    pulls: str
    changed: tuple[int, ...]
    batch: str
    tested: tuple[str, ...]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    with Store(folder / "lab.duckdb") as store:
        manager = RunManager(store)
        bench = new_bench(store, sample_dataset(), RUBRIC, LEANING, items=12)
        first = try_version(manager, bench, RUBRIC, name="x", parent=None)
        assert first.wait(60).state == "finished"
        bench = open_bench(store, bench.id)
        planned = pulls_plan(bench.study.dataset, RUBRIC, LEANING, items=12, only=CHANGES)
        asked = manager.start(planned.study, about={"pulls": {"bench": bench.id, "rubric": RUBRIC.id}})
        assert asked.wait(60).state == "finished"
        base = bench.versions[0]
        tried = Round(manager, bench, proposals(base.rubric)[:2], base=base.name, items=12, finalists=1).start()
        tried.wait(60)
        assert tried.fault == ""
        arms = enumerate(store.frame(asked.info.run).arms)
        changed = tuple(code for code, arm in arms if "neutral-5" in changes_in(str(arm.variant.get("rubric")))[1])
        batch = run_into(store, "batch")["batch"]
        own = {first.info.run, asked.info.run, batch}
        tested = tuple(info.run for info in store.runs() if info.run not in own)
    with running_lab(folder / "lab.duckdb", folder / "log") as address:
        yield Lab(address, bench.id, asked.info.run, changed, batch, tested)


def opened(page: Any, address: str, title: str) -> None:
    page.goto(address)
    page.wait_for_selector(f"h1:has-text('{title}')")
    calm(page)


def words(page: Any) -> str:
    return str(page.locator('[data-testid="stMain"]').inner_text())


def same_beside(page: Any, title: str) -> None:
    """The page's address in another browser shows the same words, and no fault."""
    calm(page)
    with page_beside(page) as other:
        opened(other, page.url, title)
        assert words(other) == words(page)
        assert other.locator('[data-testid="stException"]').count() == 0


def test_from_a_change_that_pulls_to_the_judgments_of_its_arm(lab: Lab) -> None:
    with browser_page() as page:
        opened(page, f"{lab.address}/workshop?bench={lab.bench}&section=pulls&pulls-version=as%20it%20was", "Workshop")
        assert "is simulated" in words(page)
        assert "“5” described in neutral words" in words(page)
        same_beside(page, "Workshop")
        click_point(page, 0, ".barlayer .trace .point path")  # the largest stands first
        page.get_by_role("link", name="Judgments behind").first.click()
        page.wait_for_selector("h1:has-text('Judgments')")
        settled(page)
        asked = address_of(page)
        assert asked["run"] == lab.pulls
        arm = asked["arm"]
        assert int(arm) in lab.changed, "the largest bar's change was made in it"
        same_beside(page, "Judgments")
        page.go_back()
        page.wait_for_selector("h1:has-text('Workshop')")
        calm(page)
        assert address_of(page)["section"] == "pulls"
        page.get_by_text("Every change in words").click()
        page.get_by_role("link", name="Judgments of an arm").first.click()
        page.wait_for_selector("h1:has-text('Judgments')")
        settled(page)
        assert address_of(page)["arm"] == arm


def test_from_a_wording_on_the_leaderboard_to_its_judgments(lab: Lab) -> None:
    with browser_page() as page:
        opened(page, f"{lab.address}/workshop?bench={lab.bench}&section=suggestions", "Workshop")
        same_beside(page, "Workshop")
        link = page.get_by_role("link", name="Descriptions begun alike")
        link.click()
        page.wait_for_selector("h1:has-text('Judgments')")
        settled(page)
        assert address_of(page)["run"] in lab.tested
        same_beside(page, "Judgments")


def test_from_a_place_in_a_batch_to_the_judgments_there(lab: Lab) -> None:
    with browser_page() as page:
        opened(page, f"{lab.address}/batch?run={lab.batch}", "Several a call")
        same_beside(page, "Several a call")
        click_point(page, 0, ".scatterlayer .trace .point")
        page.get_by_role("link", name="Judgments behind").first.click()
        page.wait_for_selector("h1:has-text('Judgments')")
        settled(page)
        asked = address_of(page)
        assert (asked["run"], asked["position"]) == (lab.batch, "1")
        assert "arm" in asked
        same_beside(page, "Judgments")


def test_from_a_cell_behind_a_neighbour_to_one_response_in_all_orders(lab: Lab) -> None:
    """What is read at the cell's place is listed below the heatmap, and each of it opens across all orders."""
    with browser_page() as page:
        opened(page, f"{lab.address}/batch?run={lab.batch}", "Several a call")
        click_point(page, 2, ".scatterlayer .trace .point")
        sees(page, "Read at place 1")
        calm(page)
        listed = place_of(page, page.locator('[data-testid="stDataFrame"]').first)
        page.mouse.click(listed["x"] + 14, listed["y"] + 54)
        page.get_by_role("link", name="This item across all orders").click()
        page.wait_for_selector("h1:has-text('Judgments')")
        settled(page)
        assert {"run", "arm", "item", "call"} <= set(address_of(page))
        same_beside(page, "Judgments")


def test_what_is_of_interest_stays_when_pages_are_gone_through(lab: Lab) -> None:
    """A choice that nobody made must not come from the way through the pages: every verdict is held against it."""
    with browser_page() as page:
        opened(page, f"{lab.address}/batch?run={lab.batch}", "Several a call")
        for _ in range(2):
            click_point(page, 0, ".scatterlayer .trace .point")
            page.get_by_role("link", name="Judgments behind").first.click()
            page.wait_for_selector("h1:has-text('Judgments')")
            calm(page)
            assert "Of interest from 0.1 steps" in words(page)
            page.go_back()
            page.wait_for_selector("h1:has-text('Several a call')")
            calm(page)
            assert "Of interest from 0.1 steps" in words(page)
            assert "effect" not in address_of(page)
