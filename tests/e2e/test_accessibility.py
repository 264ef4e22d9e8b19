"""Every page through axe-core, on full findings, light, dark and narrow; alt texts, keys, touch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.lab import (
    CHROMIUM,
    ROOT,
    View,
    calm,
    filled_store,
    open_all,
    page_beside,
    place_of,
    running_lab,
    views,
    width_of,
)
from tests.simulated_runs import studies

AXE_VARIABLE = "RUBRICLAB_AXE"
IN_MODULES = ROOT / "node_modules" / "axe-core" / "axe.min.js"
AXE = Path(os.environ.get(AXE_VARIABLE, IN_MODULES))
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
    pytest.mark.skipif(not AXE.is_file(), reason=f"no {AXE}: npm install axe-core, or name the file in {AXE_VARIABLE}"),
]


@dataclass(frozen=True)
class Own:
    """A violation of Streamlit's own: the rule, which elements, and why it is not the lab's."""

    rule: str
    selector: str
    reason: str


STREAMLITS = (
    Own(
        "list",
        '[data-testid="stSidebarNavItems"]',
        "st.navigation with sections puts div and li of the wrong kind into its ul",
    ),
    Own("listitem", '[data-testid="stSidebarNavItems"] li', "the same: the li of a section stand in a div"),
    Own(
        "color-contrast",
        '[data-variant="segmented_control"][data-selected="true"] p',
        "in the dark the chosen segment is primaryColor on a tint of itself, while a button is "
        "white on primaryColor: no colour gives both 4.5",
    ),
)
RUN_AXE = """async own => {
  const found = await axe.run(document, {resultTypes: ['violations'], elementRef: true});
  const told = [];
  for (const v of found.violations) {
    if (!['serious', 'critical'].includes(v.impact)) continue;
    for (const node of v.nodes) {
      const theirs = own.filter(o => o.rule === v.id && node.element.matches(o.selector));
      told.push({rule: v.id, impact: v.impact, theirs: theirs.length > 0,
                 html: node.element.outerHTML.slice(0, 300), why: node.failureSummary});
    }
  }
  return told;
}"""


def audited(page: Any) -> list[dict[str, Any]]:
    """Serious and critical violations on the page as it stands, Streamlit's own marked."""
    found: list[dict[str, Any]] = page.evaluate(RUN_AXE, [asdict(own) for own in STREAMLITS])
    return found


def ours(page: Any, about: str) -> list[str]:
    return [f"{about}: {v['rule']}: {v['html']} {v['why']}" for v in audited(page) if not v["theirs"]]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A lab whose store holds the recorded example and simulated runs of every kind."""
    folder = tmp_path_factory.mktemp("look")
    runs = filled_store(folder / "lab.duckdb")
    with running_lab(folder / "lab.duckdb", folder / "log") as address:
        yield address, runs


VIEWS = views(dict.fromkeys(("recorded", *studies()), "{}"))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_no_serious_violation(view: View, lab: tuple[str, dict[str, str]], page: Any) -> None:
    """axe-core in light, dark and at 390 pixels; every chart has a description; nothing is wider."""
    address, runs = lab
    _, _, kind = view.name.partition(" ")
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}/{view.address.format(runs.get(kind))}")
    calm(page)
    open_all(page)
    assert page.locator('[data-testid="stException"]').count() == 0
    page.evaluate(AXE.read_text())
    found = []
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(500)
        calm(page)
        found += ours(page, f"{scheme}, {width} px")
        assert width_of(page) <= width, f"wider than {width} px"
    assert not found, "\n".join(found)
    assert silent_charts(page) == []


def silent_charts(page: Any) -> list[str]:
    """Charts without a description, as the HTML they begin with."""
    charts: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
          .filter(c => !(c.getAttribute('aria-label') || '').trim())
          .map(c => c.outerHTML.slice(0, 300))"""
    )
    return charts


def test_keys_reach_the_main_controls(lab: tuple[str, dict[str, str]], page: Any) -> None:
    """Tab alone gets from the top of Results to its choices and its export, and never sticks."""
    address, runs = lab
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(f"{address}/position?run={runs['options']}")
    calm(page)
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        told = page.evaluate(
            """() => { const at = document.activeElement;
              return at.getAttribute('aria-label') || at.innerText || at.tagName; }"""
        )
        reached.append(told.strip())
        if told.strip().endswith("Export"):
            break
    for control in ("Runs", "Run", "Judge and strategy", "Export"):
        assert any(control in told for told in reached), (control, reached)


@pytest.mark.parametrize("source", ["finger", "wheel"])
def test_a_chart_is_no_scroll_trap(source: str, lab: tuple[str, dict[str, str]], page: Any) -> None:
    """A finger drawn, or a wheel turned, over a chart moves the page and leaves the chart alone."""
    address, runs = lab
    with page_beside(page, width=390, has_touch=True) as phone:
        phone.goto(f"{address}/position?run={runs['options']}")
        calm(phone)
        charts = phone.locator('[data-testid="stPlotlyChart"]')
        client = phone.context.new_cdp_session(phone)
        for index in range(charts.count()):
            box = place_of(phone, charts.nth(index))
            before = phone.evaluate(WHERE, index)
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            if source == "wheel":
                phone.mouse.move(x, y)
                phone.mouse.wheel(0, -200)
            else:
                draw_finger(phone, client, x, y)
            phone.wait_for_timeout(500)
            after = phone.evaluate(WHERE, index)
            assert before["top"] - after["top"] > 100, f"chart {index} held the page"
            assert after["ranges"] == before["ranges"], f"chart {index} was zoomed"


def draw_finger(page: Any, client: Any, x: float, y: float) -> None:
    """A finger that goes down 200 pixels from a place and lets go."""
    touch = "Input.dispatchTouchEvent"
    client.send(touch, {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 21):
        client.send(touch, {"type": "touchMove", "touchPoints": [{"x": x, "y": y + 10 * step}]})
        page.wait_for_timeout(16)
    client.send(touch, {"type": "touchEnd", "touchPoints": []})


WHERE = """index => {
  const chart = document.querySelectorAll('[data-testid=stPlotlyChart] .js-plotly-plot')[index];
  const axes = chart._fullLayout;
  return {top: document.querySelector('[data-testid=stMain]').scrollTop,
          ranges: [axes.xaxis?.range, axes.yaxis?.range]};
}"""

BARE = """import streamlit as st


def one() -> None:
    st.title("One")
    st.segmented_control("Pick", ["apples", "pears"], default="apples")
    st.button("Go", type="primary")


def two() -> None:
    st.title("Two")


st.navigation({"": [st.Page(one)], "More": [st.Page(two)]}).run()
"""


def test_what_is_left_out_is_streamlits_own(page: Any, tmp_path: Path) -> None:
    """Each exclusion is met by a bare script of three widgets under the same theme."""
    script = tmp_path / "bare.py"
    script.write_text(BARE)
    with (
        running_lab(tmp_path / "lab.duckdb", tmp_path / "log", script=script) as address,
        page_beside(page, dark=True) as bare,
    ):
        bare.goto(address)
        calm(bare)
        bare.evaluate(AXE.read_text())
        violations = audited(bare)
    assert {violation["rule"] for violation in violations} == {own.rule for own in STREAMLITS}
    assert all(violation["theirs"] for violation in violations), violations
