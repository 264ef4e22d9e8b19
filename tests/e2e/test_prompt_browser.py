"""From a pasted prompt to that judge's heatmap, in a real browser with the real embedded judge."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from tests.e2e.lab import CHROMIUM, browser_page, running_lab, sees, settled, width_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
SECONDS = float(os.environ.get("RUBRICLAB_PROMPT_SECONDS", "inf"))
"""From paste to heatmap: 120 on a machine that does nothing else; none where others share it."""
PROMPT = """Rate an answer of our help desk.

Question: {question}

Answer: {answer}

Scale:
Score 1: Useless or rude.
Score 2: Mostly unhelpful.
Score 3: Partly helpful.
Score 4: Helpful, with a small gap.
Score 5: Complete and well put.

Score:"""


def pasted() -> str:
    from rubriclab.datasets.sample import sample_dataset
    from rubriclab.model import Item

    item = next(one for one in sample_dataset().items if isinstance(one, Item))
    return PROMPT.format(question=item.instruction, answer=item.response)


def test_from_paste_to_heatmap(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/prompt")
        settled(page)
        start = time.monotonic()
        page.get_by_role("textbox").first.fill(pasted())
        page.get_by_role("button", name="Take it apart").click()
        sees(page, "byte for byte")
        sees(page, "changes with the order")
        page.get_by_role("button", name="real replies").click()
        sees(page, "How the answer is read", timeout=300_000)
        print(f"replies after {time.monotonic() - start:.1f} s")
        if not math.isfinite(SECONDS):  # nothing is timed, so few texts will do
            settled(page)
            texts = page.get_by_role("slider")
            texts.press("Home")
            sees(page, "12 calls")
            texts.press("ArrowRight")
            sees(page, "24 calls")
        page.get_by_role("button", name="Measure smollm2-135m").click()
        sees(page, "Where it picks", timeout=900_000)
        taken = time.monotonic() - start
        print(f"heatmap after {taken:.1f} s")
        assert "/position?run=" in page.url
        page.get_by_test_id("stPlotlyChart").nth(2).wait_for()
        assert taken < SECONDS


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(tmp_path: Path, dark: bool) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page(width=390, dark=dark) as page:
        page.goto(f"{address}/prompt")
        settled(page)
        page.get_by_role("button", name="Fill in an example").click()
        page.get_by_role("button", name="real replies").wait_for()
        settled(page)
        assert width_of(page) <= 390
