"""Check Try it in a browser: what it opens with, how the list is moved, and what is asked live."""

from collections.abc import Iterator
from typing import Any

import pytest

from rubriclab.data.sample import sample, sample_rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.runs.runner import keep_run
from rubriclab.runs.trial import plan_of_texts
from rubriclab.store.store import Store
from tests.integration.lab import Browser, running_lab, settled, sideways, violations, visit
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration
FOCUS = """() => {
  let held = document.activeElement;
  while (held && held.shadowRoot) held = held.shadowRoot.activeElement;
  return held && held.closest && held.closest('li') ? held.closest('li').innerText : '';
}"""
WORDS = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  const own = [...main.querySelectorAll('h1, h2, p, small, .try-score, .try-result')]
    .filter(part => !part.closest('button, label, [data-testid=stSelectbox]'))
    .filter(part => !part.closest('.try-card') || part.tagName === 'SMALL');
  const inside = [...main.querySelectorAll('*')].filter(part => part.shadowRoot)
    .flatMap(part => [...part.shadowRoot.querySelectorAll('.hint.wide, .tag')]);
  return [...own, ...inside].map(part => part.innerText).join(' ');
}"""
"""Every word of the page itself: not the answer, the rubric, and what is on buttons."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return a lab whose store has a run of a judge behind a server, so that it is on offer."""
    path = tmp_path_factory.mktemp("try") / "lab.duckdb"
    with running(FakeServer(lean=1.0)) as server:
        judge = JudgeSettings(
            name="served", kind="openai", model="test-model", base_urls=(f"{server.url}/v1",)
        )
        planned = plan_of_texts("options", sample().items[:1], sample_rubric(), judge)
        with Store.open(path) as store:
            keep_run(store, planned)
        with running_lab(path) as lab:
            yield lab


def listed(page: Any) -> str:
    """Return the labels of the list, from the first row to the last."""
    return " ".join(page.locator("ol li .label").all_inner_texts())


def moved(page: Any, order: str) -> None:
    """Wait until the server knows this order: it writes the address."""
    digits = order.replace(" ", "")
    page.wait_for_function(
        "order => new URLSearchParams(location.search).get('order') === order", arg=digits
    )
    settled(page)
    assert listed(page) == order


def test_it_opens_with_a_swing_above_the_fold_and_says_so_in_few_words(
    browser: Browser, address: str
) -> None:
    with browser(height=900) as page:
        visit(page, f"{address}/try")
        page.locator(".column").first.wait_for()
        apart = page.get_by_role("heading", name="Same answer, same words: 4 points apart")
        assert apart.is_visible()
        chosen = page.locator("li.first")
        assert "chosen, listed first" in chosen.inner_text()
        assert page.locator(".column").count() == 10
        assert page.get_by_text("31 move by 2").is_visible()
        for last in (".st-key-try-measure button", ".strip", ".st-key-try-axis"):
            box = page.locator(last).first.bounding_box()
            assert box["y"] + box["height"] < 900
        words = page.evaluate(WORDS)
        assert "Drag a row" in words
        assert "lighthouse" not in words
        assert 60 <= len(words.split()) <= 120, words


def test_keys_move_a_row_and_the_focus_goes_with_it(browser: Browser, address: str) -> None:
    with browser(height=900) as page:
        visit(page, f"{address}/try")
        page.locator("ol li").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")  # before the server has answered the first
        moved(page, "4 3 5 2 1")
        assert "Excellent" in page.evaluate(FOCUS)
        assert page.get_by_text("Nobody has asked this order yet").is_visible()
        assert page.locator("li.first, li.chosen").count() == 0
        page.keyboard.press("Home")
        moved(page, "5 4 3 2 1")
        assert "Excellent" in page.evaluate(FOCUS)
        page.go_back()
        moved(page, "4 3 5 2 1")


def test_a_pointer_drags_a_row_and_a_column_loads_its_order(browser: Browser, address: str) -> None:
    with browser(height=900) as page:
        visit(page, f"{address}/try")
        rows = page.locator("ol li")
        start, end = rows.nth(0).bounding_box(), rows.nth(4).bounding_box()
        page.mouse.move(start["x"] + 200, start["y"] + 20)
        page.mouse.down()
        page.mouse.move(end["x"] + 200, end["y"] + 40, steps=10)
        assert page.locator("li.dragging").count() == 1
        page.keyboard.press("Escape")  # takes it back
        page.mouse.up()
        assert listed(page) == "5 4 3 2 1"
        page.mouse.move(start["x"] + 200, start["y"] + 20)
        page.mouse.down()
        page.mouse.move(end["x"] + 200, end["y"] + 40, steps=10)
        page.mouse.up()
        moved(page, "4 3 2 1 5")
        page.locator(".column").first.click()
        moved(page, "2 3 4 5 1")
        assert "chosen, listed last" in page.locator("li.chosen").inner_text()
        assert page.locator(".try-score strong").inner_text() == "Score 1"
        page.get_by_role("button", name="Reverse").click()
        moved(page, "1 5 4 3 2")
        page.get_by_role("button", name="Shuffle").click()
        page.wait_for_function("() => !location.search.includes('order=15432')")
        settled(page)
        assert page.locator("li.first, li.chosen").count() == 1  # a recorded order


def test_a_finger_drags_the_grip_and_buttons_move_rows_on_a_narrow_screen(
    browser: Browser, address: str
) -> None:
    with browser(width=390, height=844) as page:
        visit(page, f"{address}/try")
        assert sideways(page) <= 0
        page.get_by_role("button", name="Move 5 down").click()
        moved(page, "4 5 3 2 1")
        page.get_by_role("button", name="Move 1 up").click()
        moved(page, "4 5 3 1 2")
        page.locator("ol").evaluate("list => list.scrollIntoView({ block: 'center' })")
        settled(page)
        grip, row = page.locator(".grip").first.bounding_box(), page.locator("ol li").nth(1)
        finger = page.context.new_cdp_session(page)
        finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        x, y, end = grip["x"] + 5, grip["y"] + 20, row.bounding_box()
        for kind, height in (
            ("touchStart", y),
            ("touchMove", y + 30),
            ("touchMove", end["y"] + end["height"] - 5),
            ("touchEnd", None),
        ):
            points = [] if height is None else [{"x": x, "y": height}]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(100)  # a finger takes a while; a browser joins quick moves
        moved(page, "5 4 3 1 2")


def test_a_judge_behind_a_server_is_asked_live(browser: Browser, address: str) -> None:
    with browser(height=900) as page:
        visit(page, f"{address}/try")
        page.get_by_role("combobox").click()
        page.get_by_role("option", name="served").click()
        page.get_by_text("Not asked yet").wait_for()
        settled(page)
        assert page.locator(".column").count() == 0
        page.get_by_role("button", name="Ask the judge").click()
        page.locator(".column .live").wait_for()
        settled(page)
        assert page.locator(".column").count() == 1
        assert "Live. Asked once" in page.inner_text(".try-score")
        page.get_by_role("button", name="Ask in 10 orders").click()
        page.wait_for_function("() => !document.querySelector('.st-key-try-stop')")
        page.locator(".column").nth(9).wait_for()
        settled(page)
        assert page.locator(".column").count() == 10
        assert violations(page) == []


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_in_any_state(browser: Browser, address: str, dark: bool) -> None:
    with browser(dark=dark, height=900) as page:
        for state in ("try?order=12354", "try?list=criteria", "try?list=pairs"):
            visit(page, f"{address}/{state}")
            page.locator(".column").first.wait_for()
            assert violations(page) == [], state
        page.get_by_role("button", name="Try my own text").click()
        page.get_by_role("textbox", name="Answer A").wait_for()
        settled(page)
        assert violations(page) == []
