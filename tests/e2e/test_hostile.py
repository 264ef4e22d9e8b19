"""Hostile names, texts and replies through every page, the report and the exports: shown as
text, run by nothing, asking nobody."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive
from rubriclab.study.plan import plan
from tests.e2e.lab import CHROMIUM, ROOT, RUNS_OF, View, calm, open_all, page_beside, pick, running_lab, views, width_of
from tests.hostile import HOST, MARK, hostile_store, studies

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
KINDS = {
    **{file: tuple(k for k in kinds if k in studies()) for file, kinds in RUNS_OF.items()},
    "position": ("options", "imported"),
    "alignment": ("options",),
}
VIEWS = views(dict.fromkeys((*studies(), "imported"), "{}"), kinds=KINDS)
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
ESCAPED = rf"""() => {{
  const found = [];
  if (window.{MARK}) found.push('a script has run');
  for (const part of document.querySelectorAll('body *')) {{
    for (const {{name, value}} of part.attributes) {{
      if (/^on/i.test(name) && value.includes('{MARK}')) found.push(part.outerHTML.slice(0, 200));
      if (['href', 'src', 'xlink:href', 'action', 'data'].includes(name)
          && (/^\s*javascript:/i.test(value) || value.includes('{HOST}')))
        found.push(part.outerHTML.slice(0, 200));
    }}
    // The lab's own formulas are maths; a name that became a formula is not.
    if (part.tagName === 'annotation' && /href|frac\{{1\}}\{{0\}}/.test(part.textContent))
      found.push('maths: ' + part.textContent.slice(0, 80));
  }}
  return [...new Set(found)];
}}"""


class Watch:
    """What a page asked for beyond this machine, and the dialogs it opened."""

    def __init__(self, page: Any, *own: str) -> None:
        self.asked: list[str] = []
        self.dialogs: list[str] = []
        self._own = ("data:", "blob:", "about:", *own)
        page.on("request", self._request)
        page.on("dialog", self._dialog)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self._own):
            self.asked.append(request.url)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("hostile") / "lab.duckdb"
    return path, hostile_store(path)


@pytest.fixture(scope="module")
def lab(made: tuple[Path, dict[str, str]]) -> Iterator[str]:
    with running_lab(made[0], made[0].parent / "log") as address:
        yield address


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_page_shows_text(view: View, made: tuple[Path, dict[str, str]], lab: str, page: Any) -> None:
    """No script, no dialog, no request elsewhere, no exception, nothing wider than the screen."""
    _, _, kind = view.name.partition(" ")
    with page_beside(page) as walked:
        watch = Watch(walked, lab, lab.replace("http", "ws"))
        walked.goto(f"{lab}/{view.address.format(made[1].get(kind))}")
        calm(walked)
        open_all(walked)
        look_into_tables(walked)
        popovers = walked.locator('[data-testid="stPopover"] button')
        for index in range(min(popovers.count(), 3)):
            popovers.nth(index).click()
            walked.wait_for_timeout(300)
            assert walked.evaluate(ESCAPED) == []
            walked.keyboard.press("Escape")
        assert walked.locator('[data-testid="stException"]').count() == 0
        assert "Something in the lab itself failed" not in walked.inner_text("body")
        for width in (1280, 390):
            walked.set_viewport_size({"width": width, "height": 1000})
            walked.wait_for_timeout(600)
            calm(walked)
            assert width_of(walked) <= width, f"wider than {width} px"
        assert walked.evaluate(ESCAPED) == []
        assert watch.asked == []
        assert watch.dialogs == []


def look_into_tables(page: Any) -> None:
    """Choose the first row of every table whose rows open something."""
    tables = page.locator('[data-testid="stDataFrame"]:visible')
    for index in range(min(tables.count(), 6)):
        tables.nth(index).scroll_into_view_if_needed()
        box = tables.nth(index).bounding_box()
        if box is not None:
            page.mouse.click(box["x"] + 14, box["y"] + 54)
            calm(page)


def test_names_are_read_word_for_word(made: tuple[Path, dict[str, str]], lab: str, page: Any) -> None:
    """The list of runs and a headline hold the tags and signs as they were given."""
    page.goto(f"{lab}/runs")
    calm(page)
    told = page.inner_text('[data-testid="stMain"]').replace("\u2060", "")
    assert "<iframe src='http://203.0.113.9/frame'></iframe><b>bold</b>" in told
    page.goto(f"{lab}/position?run={made[1]['options']}")
    calm(page)
    told = page.inner_text('[data-testid="stMain"]').replace("\u2060", "")
    assert '<img src=x onerror="window.__pwned=1">' in told


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs in a store of their own: the lab holds the first."""
    path = tmp_path_factory.mktemp("copied") / "lab.duckdb"
    hostile_store(path)
    return path


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (kind, command)
        for kind in [*studies(), "imported"]
        for command in ("results", "report", "present")
        if (kind, command) != ("forms", "present")  # one order an arm: nothing moves
    ],
)
def test_page_as_a_file(
    kind: str, command: str, made: tuple[Path, dict[str, str]], copied: Path, page: Any, tmp_path: Path
) -> None:
    """Opened from the file system with no network: no script of a text runs, nothing is asked."""
    file = tmp_path / "page.html"
    run = made[1][kind]
    out = ["--html", str(file)] if command == "results" else ["--out", str(file)]
    subprocess.run(
        [sys.executable, "-m", "rubriclab", command, run, "--store", str(copied), *out],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    with page_beside(page, offline=True) as opened:
        watch = Watch(opened, file.as_uri())
        opened.goto(file.as_uri())
        opened.wait_for_timeout(1_500)
        assert opened.evaluate(ESCAPED) == []
        assert watch.asked + watch.dialogs == []
        assert opened.locator('[data-title*="Share"]').count() == 0
        for width in (1280, 390):
            opened.set_viewport_size({"width": width, "height": 1000})
            # Charts follow a new width when they get to it.
            narrow = "width => document.documentElement.scrollWidth <= width"
            opened.wait_for_function(narrow, arg=width, timeout=15_000)


def test_downloads_of_a_page(made: tuple[Path, dict[str, str]], lab: str, page: Any, tmp_path: Path) -> None:
    """Everything that Results offers, in every form, saved and opened."""
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(f"{lab}/position?run={made[1]['options']}")
    calm(page)
    page.get_by_role("button", name="Export").last.click()
    saved = list(exported(page, tmp_path))
    assert {file.suffix for file in saved} == {".csv", ".html", ".md", ".parquet", ".pdf", ".png", ".svg", ".tex"}
    for file in saved:
        if file.suffix == ".csv":
            assert formulas(file.read_bytes().decode()) == []
        elif file.suffix == ".html":
            with page_beside(page, offline=True) as opened:
                watch = Watch(opened, file.as_uri())
                opened.goto(file.as_uri())
                opened.wait_for_selector(".main-svg")
                assert opened.locator('[data-title*="Share"]').count() == 0
                assert opened.evaluate(ESCAPED) == []
                assert watch.asked + watch.dialogs == []
        elif file.suffix == ".svg":
            with page_beside(page, offline=True) as opened:
                watch = Watch(opened, file.as_uri())
                opened.goto(file.as_uri())
                assert opened.locator("script, foreignObject").count() == 0
                assert watch.asked + watch.dialogs == []
        elif file.suffix in BEGINNINGS:
            assert file.read_bytes().startswith(BEGINNINGS[file.suffix])
        elif file.suffix == ".parquet":
            assert "=HYPERLINK" in " ".join(pd.read_parquet(file)["item_id"].astype(str))


BEGINNINGS = {".pdf": b"%PDF-", ".png": b"\x89PNG", ".tex": b"\\begin{table*}", ".md": b"**"}


def exported(page: Any, folder: Path) -> Iterator[Path]:
    """Each thing of the open export in each of its forms; drawn by another browser only the first chart."""
    what = page.get_by_role("combobox", name="What")
    what.click()
    names = page.get_by_role("option").all_inner_texts()
    page.keyboard.press("Escape")
    for number, name in enumerate(names):
        pick(page, what, name)
        calm(page)
        forms = page.get_by_role("radiogroup", name="As").get_by_role("radio")
        for index in range(forms.count()):
            form = forms.nth(index).inner_text()
            if number and form in ("SVG", "PNG", "PDF"):
                continue
            forms.nth(index).click()
            calm(page)
            with page.expect_download(timeout=90_000) as coming:
                page.get_by_role("button", name=f"Download {form}", exact=True).click()
            file = folder / f"{number}-{coming.value.suggested_filename}"
            coming.value.save_as(file)
            yield file


def formulas(text: str) -> list[str]:
    """Cells of a CSV file in which a spreadsheet would see a formula."""
    return [
        cell
        for row in csv.reader(io.StringIO(text, newline=""))
        for cell in row
        if cell.startswith(FORMULAS) and not is_number(cell)
    ]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "\t" not in cell and "\r" not in cell


@pytest.mark.parametrize("kind", studies())
def test_archive_keeps_every_text(kind: str, made: tuple[Path, dict[str, str]], copied: Path) -> None:
    """What was written is what is read: data, rubric, names and replies, sign by sign."""
    run = made[1][kind]
    with Store(copied) as store, Store(":memory:") as other:
        (read,) = read_archive(other, write_archive(store, run))
        same = other.study(read) == store.study(run) == plan(studies()[kind]).study
        assert same  # compared before the assertion: nobody wants to see these two side by side
        before, after = (
            sorted(map(str, frame["text"])) for frame in (store.export_frame(run), other.export_frame(read))
        )
        kept = before == after
        assert kept
