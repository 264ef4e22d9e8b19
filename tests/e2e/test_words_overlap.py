"""In a browser: no words of a figure lie on each other or leave it, with long names and many orders, at 1280 and 390 px."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.lab import CHROMIUM, calm, running_lab, settled
from tests.long_names import long_store

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]

VIEWS = (
    ("position", "options"),
    ("alignment", "options"),
    ("ranking", "options"),
    ("choice", "options"),
    ("compare", "options"),
    ("criteria", "criteria"),
    ("perturbation", "forms"),
    ("comparison", "pairs"),
)
OVERLAPS = """() => {
  const bad = [];
  document.querySelectorAll('[data-testid=stPlotlyChart]').forEach((chart, n) => {
    const frame = chart.getBoundingClientRect();
    const boxes = ['xtick', 'ytick', 'angularaxistick', 'legendtext', 'xtitle', 'ytitle'].flatMap(kind =>
      [...chart.querySelectorAll(`.${kind} text, text.${kind}`)]
        .map(text => [kind, text.textContent, text.getBoundingClientRect()])
        .filter(([, words, box]) => box.width > 0 && words.trim()));
    boxes.forEach(([kind, words, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) bad.push(`chart ${n}: ${kind} “${words}” leaves it`);
      boxes.slice(i + 1).forEach(([other, more, beside]) => {
        const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
        const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
        if (across > 1 && down > 3) bad.push(`chart ${n}: ${kind} “${words}” on ${other} “${more}”`);
      });
    });
  });
  return bad;
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("long")
    runs = long_store(folder / "lab.duckdb")
    with running_lab(folder / "lab.duckdb", folder / "log") as address:
        yield address, runs


@pytest.mark.parametrize(("name", "kind"), VIEWS)
def test_words_of_figures_keep_apart(lab: tuple[str, dict[str, str]], page: Any, name: str, kind: str) -> None:
    address, runs = lab
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(f"{address}/{name}?run={runs[kind]}")
    settled(page)
    calm(page)
    assert page.locator("[data-testid=stPlotlyChart]").count()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(500)
        calm(page)
        assert page.evaluate(OVERLAPS) == [], f"at {width} px"
