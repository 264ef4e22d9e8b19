"""Check pages in a browser: accessibility, links, keys, saved charts, and hostile names."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

import rubriclab as rl
from rubriclab.model.judgment import Condition
from rubriclab.store.store import Store
from tests.app.test_export import STUDY
from tests.app.test_results import BATCHES, LISTS, PAIRS
from tests.integration.lab import (
    Browser,
    running_lab,
    settled,
    sideways,
    strays_of,
    violations,
    visit,
)
from tests.words import made

pytestmark = pytest.mark.integration
HOSTILE = "<img src=x onerror=window.__ran=1> **b** $x^2$ [c](javascript:alert(1))"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("doors") / "lab.duckdb"
    rated = made.options_table({"judge-7b": made.mostly_first}, items=30, name="Rated")
    ratings = [{name: float(1 + (i + k) % 3) for k, name in enumerate("abc")} for i in range(30)]
    stopped = made.options_table(
        {"judge-7b": made.mostly_first}, items=20, name="Stopped", state="interrupted"
    )
    forms = [
        Condition("j", "answers", "balanced", variant={"ids": ids}) for ids in ("arabic", "letters")
    ]
    two = {"judge-7b": made.mostly_first, "other": made.by_quality}
    hostile_criteria = (f"{HOSTILE} {'n' * 10_000}", "B\u202e", "C")
    with Store.open(path) as store:
        for name, table in {
            "rated": replace(rated, items=rated.items.assign(ratings=ratings)),
            "stopped": replace(stopped, planned=(500,)),
            "nothing": made.options_table(
                {"broken": lambda *_: None}, items=4, name="Nothing", state="failed"
            ),
            "criteria": made.criteria_table(
                lambda text, slot, at: 2 + (text + slot) % 2 if at else 4, items=20
            ),
            "variants": made.several(
                *forms, rules={"j": made.mostly_first}, items=20
            ).judgments.table,
            "hostile-criteria": made.criteria_table(
                lambda *at: 4 - (at[2] > 0), items=9, names=hostile_criteria
            ),
            "hostile": replace(
                made.options_table({HOSTILE: made.always_first}, items=9), name=HOSTILE
            ),
            "options": made.options_table(two, items=40),
            **{"pairs": PAIRS, "lists": LISTS, "batches": BATCHES},
        }.items():
            items = table.items.assign(unit_text=table.items["item_id"])
            calls = table.rows.drop_duplicates("call")[["call", "condition", "status"]].reset_index(
                drop=True
            )
            calls = calls.assign(key=calls["call"].astype(str), attempt=1, text=f"{name} {HOSTILE}")
            shown = HOSTILE if name == "hostile" else name
            store.add_table(replace(table, run=name, name=shown, items=items), calls)
    (path.parent / "study.toml").write_text(STUDY)
    rl.run(path.parent / "study.toml", path).close()
    with Store.open(path) as store:
        asked = next(info.id for info in store.runs() if info.simulated)
        store.rename(asked, "asked")
        store.add_ratings(
            asked,
            {i: {name: float(1 + (i + k) % 5) for k, name in enumerate("abc")} for i in range(60)},
        )
    with running_lab(path) as address:
        yield address


STATES = [
    "",
    "try",
    "learn",
    "learn?tab=Definitions&find=noise",
    "learn?tab=Assumptions",
    "learn?tab=Method+check",
    "setup",
    "runs",
    "results?run=rated",
    "results?run=rated&tab=With+people",
    "results?run=rated&tab=What+helps",
    "results?run=rated&tab=Judgments",
    "results?run=stopped",
    "results?run=nothing",
    "results?run=rated&rate=1",
    "results?run=criteria",
    "results?run=pairs",
    "compare",
    "compare?with=rated:0&with=stopped:0",
    "compare?with=rated:0&with=criteria:0",
    "export?run=rated",
    "export?run=rated&for=Data",
    "export?run=rated&for=Paper+and+slides",
    "export?run=asked&for=Judge+card",
]


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(browser: Browser, address: str, dark: bool) -> None:
    with browser(dark=dark) as page:
        for state in STATES:
            visit(page, f"{address}/{state}")
            assert violations(page) == [], state
        for opened, menu in (("runs", "menu-rated"), ("results?run=rated", "results-menu")):
            visit(page, f"{address}/{opened}")
            page.locator(f".st-key-{menu} button").click()
            settled(page)
            assert violations(page) == [], menu


def test_nothing_moves_sideways_at_390(browser: Browser, address: str) -> None:
    with browser(width=390, height=844) as page:
        for state in [
            *STATES,
            *(f"{door}?run=hostile-criteria" for door in ("results", "runs", "export")),
        ]:
            visit(page, f"{address}/{state}")
            assert sideways(page) <= 0, state
            assert page.locator("h1").count() == 1, state


FIRST_SCREEN = """() => [...document.querySelectorAll('[data-testid=stMain] :is(h1, h2, p)')]
  .filter(part => part.getBoundingClientRect().top < 800)
  .filter(part => !part.closest(
    '[data-testid=stPlotlyChart], button, label, summary, [role=tab]'))
  .map(part => part.innerText.replaceAll('\\u00a0', '')).join('\\n')"""
# What would be without an effect, and of what level the lines in a picture are, is no estimate.
ESTIMATE = re.compile(
    r"(?!Lines|.*would be|.*each would get).*(?:CI|at most|\d(?:\.\d+)?\s(?:%|points|percentage "
    r"points|in 100))"
)


def test_the_first_screen_of_results_is_short(browser: Browser, address: str) -> None:
    against = "variants&setting=ids+%3D+letters+against+ids+%3D+arabic"
    with browser(height=900) as page:
        for run in ("rated", "criteria", "pairs", "lists", "batches", "variants", against):
            visit(page, f"{address}/results?run={run}")
            said = page.evaluate(FIRST_SCREEN)
            sentences = [
                part for part in re.split(r"(?<=[.?!])\s|\n", said) if ESTIMATE.match(part)
            ]
            assert len(sentences) <= 5, (run, sentences)
            assert 40 <= len(said.split()) <= 170, f"{run}: {len(said.split())}\n{said}"
            advice = page.get_by_text("What to do.").bounding_box()
            assert advice["y"] + advice["height"] < 900, run
            charts = page.locator("[data-testid=stPlotlyChart]").count()
            assert charts == page.locator("[data-testid=stPlotlyChart][aria-label]").count() > 0, (
                run
            )


def test_charts_are_saved_as_pictures_and_as_tables(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    def saved(button: Any, name: str) -> str:
        with page.expect_download() as download:
            button.click()
        download.value.save_as(tmp_path / name)
        return (tmp_path / name).read_bytes().decode("utf-8", "replace")

    with browser() as page:
        visit(page, f"{address}/results?run=rated")
        camera, chart = (
            page.locator(".modebar-btn").first,
            page.locator("[data-testid=stPlotlyChart]").first,
        )
        chart.hover()
        assert saved(camera, "chart.png")[1:4] == "PNG"
        page.get_by_text("Save", exact=True).first.click()
        settled(page)
        table = saved(page.get_by_text("CSV", exact=True), "chart.csv").split("\r\n")
        assert table[0].startswith("Panel,Position in the list,Value,Low,High,No effect,As written")
        assert table[1].startswith("All calls,")
        assert "0.666" in table[1]
        page.get_by_text("SVG", exact=True).click()
        settled(page)
        page.keyboard.press("Escape")
        chart.hover()
        assert saved(camera, "chart.svg").startswith("<svg")


def test_a_link_opens_the_same_view_and_keys_are_not_taken_from_a_field(
    browser: Browser, address: str
) -> None:
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
        assert "It chose the first option in 66.7" in said[0]
        assert re.search(
            r"Does it favour positions\? (Yes|Yes, size unclear|No|Not seen yet|Can't tell yet)\.",
            said[0],
        )
    with browser() as page:
        visit(page, said[1].strip())
        assert call() == chosen


TICKED = ["link:Runs", "tick:Select rated", "tick:Select criteria", "button:Compare selected"]
CARD = ["tab:What helps", "button:Export judge card", "download:Download judge card"]
JOURNEYS = {
    "is my judge biased": ("", ["link:Results"], "favours"),
    "does it agree with people": ("", ["link:Results", "tab:With people"], "another person"),
    "which of two is better": ("", ["link:Compare"], "Compare"),
    "demo in front of people": (
        "",
        ["button:Try it", "button:Ask the judge", "button:Next answer"],
        "Answer 2 of 60",
    ),
    "two side by side": ("", TICKED, "beside each other"),
    "a report as a file": ("", ["link:Export", "download:Download report (HTML)"], "Export"),
    "the protocol into a pipeline": ("results?run=asked", CARD, "Expected error"),
    "what does V mean": ("", ["link:Learn", "tab:Definitions"], "Cramér"),
    "resume a stopped run": ("", ["link:Runs", "button:Continue"], "Runs"),
}
"""A question of pages.md -> where it starts, the clicks that it gives, and what is then read."""


@pytest.mark.parametrize("journey", JOURNEYS)
def test_journeys_take_the_clicks_that_were_promised(
    browser: Browser, address: str, journey: str
) -> None:
    start, clicks, said = JOURNEYS[journey]
    with browser() as page:
        visit(page, f"{address}/{start}")
        for number, (kind, _, name) in enumerate(click.partition(":") for click in clicks):
            if kind == "download":
                with page.expect_download() as download:
                    page.get_by_role("button", name=name).click()
                assert Path(download.value.path()).stat().st_size > 1_000
                continue
            if kind == "tick":
                page.get_by_text(name, exact=True).locator("xpath=ancestor::label").click()
            else:
                page.get_by_role(kind, name=name).first.click()
            if number < len(clicks) - 1 or kind != "button":
                settled(page)
        page.get_by_text(said).first.wait_for()


@pytest.mark.parametrize("run", ["rated", "criteria", "pairs", "lists", "variants", "asked"])
def test_a_full_report_prints_on_few_sheets(browser: Browser, address: str, run: str) -> None:
    with browser() as page:
        visit(page, f"{address}/export?run={run}&for=Full+report")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download report (HTML)").click()
        page.goto(f"data:text/html,{quote(Path(download.value.path()).read_text('utf-8'))}")
        sheets = page.pdf(format="A4").count(b"/Type /Page\n")
        assert 1 <= sheets <= 3


def test_the_end_of_a_run_is_announced_on_every_page(browser: Browser, tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb") as address, browser() as page:
        visit(page, f"{address}/setup")
        page.get_by_text("Sample", exact=True).click()
        page.get_by_text("Use the sample").click()
        settled(page)
        page.locator(".st-key-step-3-change button").click()
        page.get_by_text("Simulated", exact=True).click()
        page.get_by_role("spinbutton", name="Seconds per reply").fill("0.5")
        page.keyboard.press("Tab")
        settled(page)
        page.get_by_role("button", name="Launch").click()
        page.get_by_role("heading", name="Runs", level=1).wait_for()
        page.get_by_role("link", name="Export").click()
        page.wait_for_function("() => /^[1-9]\\d?% · Export/.test(document.title)")
        page.get_by_text("Finished: Sample, score order").wait_for(timeout=120_000)
        assert page.title() == "Finished: Sample, score order · rubriclab"


# ---- from a cell to its judgments; nothing of a stranger's text runs


def cell(page: Any, chart: int, x: float, y: float) -> None:
    """Click into a chart, at a share of the width and height of what it draws."""
    drawn = page.locator("[data-testid=stPlotlyChart]").nth(chart).locator(".nsewdrag").first
    drawn.scroll_into_view_if_needed()
    box = drawn.bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.down()
    page.mouse.up()


def test_a_cell_leads_to_its_judgments_and_their_words(browser: Browser, address: str) -> None:
    with browser() as page:
        visit(page, f"{address}/results?run=options")
        assert "judge-7b favours the option listed first" in page.inner_text("h1")
        # Below the bars: score 3 is on top, position 1 at the left.
        cell(page, 0, 1 / 6, 1 / 6)
        page.wait_for_function("() => new URLSearchParams(location.search).get('score') === '3'")
        settled(page)
        asked = page.evaluate("() => Object.fromEntries(new URLSearchParams(location.search))")
        assert asked["tab"] == "Judgments"
        assert asked["position"] == "1"
        words = page.inner_text("[data-testid=stMain]")
        assert "chose 3, at position 1" in words
        top = "() => document.querySelector('.st-key-tab').getBoundingClientRect().y"
        page.wait_for_function(f"() => Math.abs(({top})() - 70) < 20")  # the calls are in sight
        page.get_by_text("Reply", exact=True).click()
        settled(page)
        assert page.inner_text("[data-testid=stCode]").strip() == f"options {HOSTILE}"
        # J goes on to the next call, K back.
        first = page.inner_text("[data-testid=stMain] p:has-text('at position 1') >> nth=0")
        page.keyboard.press("j")
        settled(page)
        assert page.inner_text("[data-testid=stMain] p:has-text('at position 1') >> nth=0") != first
        page.keyboard.press("k")
        settled(page)
        assert page.inner_text("[data-testid=stMain] p:has-text('at position 1') >> nth=0") == first


@pytest.mark.parametrize("run", ["hostile", "hostile-criteria"])
@pytest.mark.parametrize(
    "page_name", ["results?tab=Bias", "results?tab=Judgments", "export?for=Data", "export?"]
)
def test_hostile_names_run_nothing_and_call_nowhere(
    browser: Browser, address: str, page_name: str, run: str
) -> None:
    with browser() as page:
        strays = strays_of(page)
        visit(page, f"{address}/{page_name}&run={run}")
        if page_name.endswith("Bias"):
            page.get_by_text("More numbers").click()
            settled(page)
        assert page.evaluate("() => window.__ran") is None
        assert not page.query_selector_all(
            "[data-testid=stMain] img[src=x], [data-testid=stMain] a[href^=javascript]"
        )
        assert not strays
        if page.locator("[data-testid=stDataFrame]").count():
            # Cells that begin with = would be formulas in the table's own file; ours has an
            # apostrophe before them.
            page.locator("[data-testid=stDataFrame]").first.hover()
            assert page.get_by_role("button", name="Fullscreen").first.is_visible()
            assert not page.get_by_role(
                "button", name=re.compile("Download as CSV")
            ).first.is_visible()
        if page_name == "export?":  # the file itself, in a frame without an origin
            assert "<img src=x" in page.frame_locator("iframe").locator("body").inner_text()


@pytest.mark.parametrize(("kind", "pictures"), [("One-page report", 1), ("Full report", 2)])
def test_a_report_opens_without_a_network_and_runs_nothing(
    browser: Browser, address: str, tmp_path: Path, kind: str, pictures: int
) -> None:
    with browser() as page:
        visit(page, f"{address}/export?run=hostile&for={quote_plus(kind)}")
        with page.expect_download() as download:
            page.get_by_text("Download report (HTML)").click()
        path = tmp_path / "report.html"
        download.value.save_as(path)
    with browser() as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        assert requests == [path.as_uri()]
        assert page.evaluate("() => window.__ran") is None
        assert "favours the option listed first" in page.inner_text("body")
        assert page.locator("svg[role=img]").count() == pictures
