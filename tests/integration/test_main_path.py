"""Check in a browser that a stranger's file becomes a heatmap in six clicks."""

import csv
import re
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.apply.kit import Planted, serving
from tests.integration.lab import Browser, running_lab, settled, strays_of, visit

pytestmark = pytest.mark.integration
TASKS = ["Cuenta un viaje.", "Describe tu casa ideal."]
ANSWERS = [
    "Fui al mar con mi abuela. El agua estaba fría, pero nadamos igual y aprendí a no tener miedo.",
    "Bien. Me gustó mucho. Fin.",
]


def spanish_file(path: Path) -> Path:
    """Four answers to two instructions under column names that no list has, separated by
    semicolons.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Lo que escribió", "Lo que se pidió", "Nota del profe"])
        for number, task in enumerate(TASKS, 1):
            for answer, grade in zip(ANSWERS, (4, 2), strict=True):
                writer.writerow([f"{answer} ({number})", task, grade])
    return path


class Clicks:
    """Clicks that are counted; what is typed or scrolled is none."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def __call__(self, target: Any) -> None:
        target.click()
        self.count += 1


def uploaded(page: Any, url: str, file: Path) -> Clicks:
    """The clicks from Home until a file is in step 1 of Set up."""
    click = Clicks(page)
    visit(page, url)
    click(page.get_by_role("button", name="Set up a run"))
    page.get_by_role("heading", name="Set up a run", level=1).wait_for()
    settled(page)
    with page.expect_file_chooser() as chooser:
        click(page.locator("[data-testid=stFileUploader] button").first)
    chooser.value.set_files(str(file))
    click.count += 1  # the file itself
    return click


def test_own_file_to_heatmap_in_six_clicks(browser: Browser, tmp_path: Path) -> None:
    answers = spanish_file(tmp_path / "redacciones.csv")
    with running_lab(tmp_path / "lab.duckdb") as url, browser() as page:
        strays = strays_of(page)
        click = uploaded(page, url, answers)
        page.get_by_text("Is this right?").wait_for()
        page.get_by_text("4 answers to 2 prompts").wait_for()
        settled(page)
        click(page.get_by_role("button", name="Use these columns"))
        settled(page)
        page.screenshot(path=tmp_path / "set-up.png")
        click(page.get_by_role("button", name="Launch 80 calls"))  # 4 answers, 10 orders, twice
        page.get_by_role("heading", name="Runs", level=1).wait_for()
        row = page.locator('[class*="st-key-run-"]').filter(has_text="redacciones")
        row.get_by_role("button", name="Results").wait_for(
            timeout=600_000
        )  # the run has ended by itself
        click(row.get_by_role("button", name="Results"))
        page.locator('[aria-label*="Heatmap"], [alt*="Heatmap"]').first.wait_for(timeout=60_000)
        settled(page)
        assert page.get_by_role("combobox", name="Run").input_value() == "redacciones, score order"
        heatmap = page.locator('[aria-label*="Heatmap"], [alt*="Heatmap"]').first
        heatmap.scroll_into_view_if_needed()
        page.screenshot(path=tmp_path / "results.png", full_page=True)
        assert heatmap.is_visible()
        assert click.count == 6
        assert strays == []


def test_own_file_rubric_and_server_to_heatmap_in_sixteen_clicks(
    browser: Browser, tmp_path: Path
) -> None:
    answers = tmp_path / "drafts.csv"
    rows = [f"This is answer number {k} in a few words,Question {k // 2}?" for k in range(8)]
    answers.write_text("\n".join(["What they wrote,What was asked", *rows]), "utf-8")
    judge = Planted()
    with serving(judge) as server, running_lab(tmp_path / "lab.duckdb") as url, browser() as page:
        click = uploaded(page, url, answers)
        click(page.get_by_role("button", name="Use these columns"))
        settled(page)
        click(page.locator(".st-key-step-2-change button"))
        click(page.get_by_text("Write or paste", exact=True))
        settled(page)
        table = page.locator("[data-testid=stDataFrame]").first.bounding_box()
        page.mouse.click(
            table["x"] + 0.6 * table["width"], table["y"] + 52
        )  # the description of the first score
        click.count += 1
        # A cell that is only chosen may lose the first letter while its field opens.
        page.keyboard.press("Enter")
        page.locator("#portal textarea").fill("Of no use")
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)  # the table tells the server a little later
        settled(page)
        click(page.locator(".st-key-step-2-done button"))
        settled(page)
        click(page.locator(".st-key-step-3-change button"))
        click(page.get_by_text("API or server", exact=True))
        settled(page)
        click(field := page.get_by_role("textbox", name="Base URL"))
        field.fill(server)
        page.keyboard.press("Tab")
        settled(page)
        click(page.get_by_role("combobox", name="Model"))
        page.keyboard.type("planted")
        page.keyboard.press("Enter")
        settled(page)
        click(page.get_by_role("button", name="Test the judge"))
        page.locator("[data-testid=stAlert]").wait_for()
        settled(page)
        click(page.locator(".st-key-step-3-done button"))
        settled(page)
        click(page.get_by_role("button", name="Launch 160 calls"))
        row = page.locator('[class*="st-key-run-"]').filter(has_text="drafts")
        click(row.get_by_role("button", name="Results"))
        page.locator('[aria-label*="Heatmap"], [alt*="Heatmap"]').first.wait_for()
        assert click.count == 16
    assert len(judge.bodies) == 161  # the test was one
    assert "Of no use" in str(judge.bodies[-1])


@pytest.mark.parametrize("address", ["setup", "results"])
def test_a_deep_link_opens_its_page_on_a_cold_server(
    browser: Browser, tmp_path: Path, address: str
) -> None:
    with running_lab(tmp_path / "lab.duckdb") as url, browser() as page:
        visit(page, f"{url}/{address}?run=nothing")
        assert page.url.startswith(f"{url}/{address}")
        assert page.get_by_role("alert").count() == 0
        assert page.locator("[data-testid=stTopNavLink]").count() == 8


def test_a_real_server_refuses_foreign_names_before_anything_is_read(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb") as url:
        for headers in (
            {"Host": "evil.example"},
            {"Origin": "null"},
            {"Origin": "https://evil.example"},
        ):
            for path in ("/", "/setup", "/_stcore/host-config", "/_stcore/upload_file/x/y"):
                with pytest.raises(HTTPError) as refused:
                    urlopen(Request(url + path, headers=headers), timeout=10)
                assert refused.value.code == 403
                refused.value.close()


def test_a_hostile_file_is_shown_as_text_and_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    hostile = [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "[c](javascript:alert(1))",
        "![](http://evil.example/x.png)",
        "**b** $x^2$ :red[r]",
        "\u202eabc",
        "=cmd()",
        "https://evil.example",
    ]
    path = tmp_path / "<img src=x onerror=alert(1)>.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["response", "instruction", hostile[0]])
        writer.writerows([f"{text} {number}", text, 3] for number, text in enumerate(hostile))
    with running_lab(tmp_path / "lab.duckdb") as url, browser() as page:
        strays = strays_of(page)
        visit(page, f"{url}/setup")
        page.locator("input[type=file]").first.set_input_files(str(path))
        page.get_by_role("button", name="Use these columns").click()
        settled(page)
        page.locator(".st-key-step-3-change button").first.click()
        page.get_by_text("Simulated", exact=True).click()
        settled(page)
        page.get_by_text("Judge prompt, exactly as sent").click()
        settled(page)
        page.get_by_role("button", name=re.compile("Launch ")).click()
        row = page.locator('[class*="st-key-run-"]').filter(has_text="onerror")
        row.get_by_role("button", name="Results").click(timeout=120_000)
        settled(page)
        assert strays == []
        assert page.locator("img[src=x]").count() == 0
