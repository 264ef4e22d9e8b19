"""Measure how long pages take in a browser, as a ratio to a bare Streamlit page with a chart.

``python -m benchmarks pages [--rounds 7]``. Both servers run at the same time and are visited in
turn, so that a noisy machine slows both. The output is medians and their ratios.

- Cold: a browser without a cache opens the page, until all is drawn and nothing runs. Goal: at
  most 1.3 times the bare page. A first visit after a start takes less than 3 s.
- Redraw: one click, until the page has changed and nothing runs. Goal: at most 2 times. Streamlit
  collects all garbage after each redraw. The lab switches that off, and the bare page does too. A
  second bare page keeps it on, as any app does by default.
- Home while a run is on. Goal: at most 1.5 times Home.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from tests.integration.lab import ARGUMENTS, CHROMIUM, ROOT, STILL, running_lab

BARE = """
import plotly.graph_objects as go, streamlit as st
st.title("Bare")
high = st.checkbox("High")
st.markdown("high" if high else "low")
heights = [5, 4, 3, 2, 1] if high else [1, 2, 3, 4, 5]
st.plotly_chart(go.Figure(go.Bar(x=[1, 2, 3, 4, 5], y=heights)))
"""
OWN = "bare, collecting"
REDRAWS = {
    "bare": "[data-testid=stCheckbox] label",
    OWN: "[data-testid=stCheckbox] label",
    "setup": ".st-key-step-3-change button",
    "results": "[data-testid=stButtonGroup] button:nth-child(2)",
}
"""What a click redraws; each opens or chooses another part of its page."""
CHANGED = (
    f"before => document.querySelector('[data-testid=stMain]').innerText !== before && ({STILL})()"
)


def cold(browser: Any, address: str, redraw: str = "") -> tuple[float, float]:
    """(seconds until the page is drawn, seconds of a redraw or NaN), in a context of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.set_default_timeout(300_000)  # a busy machine is slow on both servers
        page.goto(address)
        page.wait_for_function(STILL)
        drawn, again = page.evaluate("() => window.__still") / 1000, float("nan")
        if redraw:
            target = page.locator(redraw).first
            before = page.evaluate("() => document.querySelector('[data-testid=stMain]').innerText")
            start = page.evaluate("() => { window.__still = 0; return performance.now(); }")
            target.click()
            page.wait_for_function(CHANGED, arg=before)
            again = (page.evaluate("() => window.__still") - start) / 1000
        return drawn, again
    finally:
        context.close()


def example_store(folder: Path) -> Path:
    """A store that holds the recorded examples."""
    from rubriclab.store.bundle import import_bundle
    from rubriclab.store.store import Store

    path = folder / "lab.duckdb"
    with Store.open(path) as store:
        for bundle in sorted((ROOT / "data").glob("example*.zip")):
            import_bundle(store, bundle)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    from playwright.sync_api import sync_playwright

    names = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = Path(folder, "bare", "app.py")
        app.parent.mkdir()
        app.write_text(BARE)
        shutil.copytree(ROOT / ".streamlit", app.parent / ".streamlit")
        store = example_store(Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        collecting = {"STREAMLIT_RUNNER_POST_SCRIPT_GC": "true"}
        with (
            running_lab(Path(folder, "bare.duckdb"), app=app) as bare,
            running_lab(Path(folder, "own.duckdb"), app=app, environment=collecting) as own,
            running_lab(store) as lab,
        ):
            addresses = {"bare": bare, OWN: own}
            print(
                f"first visit after a start: {cold(browser, lab)[0]:.2f} s (bare "
                f"{cold(browser, bare)[0]:.2f} s)"
            )
            took: dict[str, list[tuple[float, float]]] = {name: [] for name in (*addresses, *names)}
            for k in range(rounds):
                for name, seen in took.items():
                    page = f"{lab}/{'' if name == 'home' else name}"
                    address = addresses.get(name, page)
                    seen.append(cold(browser, address, REDRAWS.get(name, "")))
                    print(
                        f"\rround {k + 1} of {rounds}: {name:<10}",
                        end="",
                        file=sys.stderr,
                        flush=True,
                    )
            start = (
                browser.new_page()
            )  # the sample, judged by the small model: both cores are busy from here on
            start.goto(lab)
            start.get_by_role("button", name="Run the sample").click()
            start.wait_for_url("**/runs*")
            start.close()
            busy = [(cold(browser, lab)[0], cold(browser, bare)[0]) for _ in range(rounds)]
        print(file=sys.stderr)
        base = [median(part) for part in zip(*took["bare"], strict=True)]
        print(f"bare page: cold {base[0]:.2f} s, redraw {base[1]:.2f} s")
        own_redraw = median(again for _, again in took[OWN])
        print(f"bare page that collects garbage: redraw {own_redraw:.2f} s")
        for name in names:
            ready, again = (median(part) for part in zip(*took[name], strict=True))
            redraw = ""
            if name in REDRAWS:
                redraw = f", redraw {again / base[1]:.2f} times"
                redraw += f" ({again / own_redraw:.2f} times the one that collects garbage)"
            print(f"{name:<8} cold {ready / base[0]:.2f} times{redraw}")
        home, beside = (median(part) for part in zip(*busy, strict=True))
        idle = median(ready for ready, _ in took["home"]) / base[0]
        print(
            f"home while a run is on: cold {home / beside:.2f} times the bare page then, "
            f"{home / beside / idle:.2f} times Home"
        )
        browser.close()


if __name__ == "__main__":
    main()
