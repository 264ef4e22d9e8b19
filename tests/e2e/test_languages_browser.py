"""In a browser: German is chosen, stays, stands in the address, and writes numbers and charts its way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rubriclab.app import ui
from rubriclab.app.ui.language import CHOSEN
from rubriclab.model.language import catalogue
from tests.e2e.lab import CHROMIUM, OF_A_RUN, calm, page_beside, pick, running_lab, sees, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
CUT = """() => [...document.querySelectorAll('[data-testid=stMetricLabel], [data-testid=stMetricLabel] *, '
    + '[data-testid=stPageLink] *')]
  .filter(part => getComputedStyle(part).overflow != 'visible' && part.scrollWidth > part.clientWidth + 1)
  .map(part => part.innerText)"""
"""Labels over numbers, and links to pages, that are cut off."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A new store, which begins with the recorded runs."""
    folder = tmp_path_factory.mktemp("languages")
    with running_lab(folder / "lab.duckdb", folder / "log") as address:
        yield address


def german(title: str) -> str:
    return str(catalogue("de")[title])


def choose(page: Any, name: str, title: str) -> None:
    """Press a language at the foot of the sidebar; the page is then called ``title``."""
    page.get_by_role("radio", name=name).click()
    page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
    settled(page)


def test_a_language_is_chosen_and_stays(lab: str, page: Any) -> None:
    page.goto(f"{lab}/runs")
    page.get_by_role("heading", level=1, name="Runs", exact=True).wait_for()
    choose(page, "Deutsch", german("Runs"))
    page.wait_for_url(re.compile(rf"[?&]{CHOSEN}=de\b"))
    page.get_by_role("link", name=german("Judgments")).first.click()
    page.get_by_role("heading", level=1, name=german("Judgments"), exact=True).wait_for()
    page.reload()
    page.get_by_role("heading", level=1, name=german("Judgments"), exact=True).wait_for()
    settled(page)
    page.wait_for_function("document.documentElement.lang == 'de'")
    choose(page, "English", "Judgments")
    page.wait_for_function("document.documentElement.lang == 'en'")
    page.wait_for_url(lambda address: f"{CHOSEN}=" not in address)


def test_a_link_in_german_opens_in_german_with_its_numbers_and_charts(lab: str, page: Any) -> None:
    page.goto(f"{lab}/position?{CHOSEN}=de")
    page.get_by_role("heading", level=1, name=german("Results"), exact=True).wait_for()
    settled(page)
    calm(page)
    numbers = page.locator("[data-testid=stMetricValue]").all_inner_texts()
    assert any(re.search(r"\d,\d\d", number) for number in numbers), numbers
    assert not any(re.search(r"\d\.\d\d", number) for number in numbers), numbers
    ticks = page.locator(".xtick text, .ytick text").all_text_contents()
    assert any(re.fullmatch(r"[−-]?\d,\d+", tick) for tick in ticks), ticks
    assert not any(re.fullmatch(r"[−-]?\d\.\d+", tick) for tick in ticks), ticks


def test_a_browser_that_speaks_german_is_answered_in_german(lab: str, page: Any) -> None:
    with page_beside(page, locale="de-DE") as other:
        other.goto(f"{lab}/data")
        other.get_by_role("heading", level=1, name=german("Data"), exact=True).wait_for()
        assert f"{CHOSEN}=" not in other.url, "a link of theirs asks nobody for German"
    with page_beside(page, locale="fr-FR") as other:
        other.goto(f"{lab}/data")
        other.get_by_role("heading", level=1, name="Data", exact=True).wait_for()


def test_german_stays_where_a_button_leads_to_another_page(lab: str, page: Any) -> None:
    page.goto(f"{lab}/judges?{CHOSEN}=de")
    page.get_by_role("button", name=german("Use in a study")).first.click()
    page.get_by_role("heading", level=1, name=german("Study"), exact=True).wait_for()
    page.wait_for_url(re.compile(rf"[?&]{CHOSEN}=de\b"))


def test_choices_stay_when_the_language_is_switched(lab: str, page: Any) -> None:
    page.goto(f"{lab}/study?{CHOSEN}=de")
    settled(page)
    pick(page, page.get_by_role("combobox", name=german("Ways of ordering")), german("Descending"))
    page.keyboard.press("Escape")  # an open list hides the rest from roles
    settled(page)
    choose(page, "English", "Study")
    chosen = page.get_by_test_id("stMultiSelect").filter(has_text="Ways of ordering")
    sees(chosen, "Descending", exact=True)
    page.get_by_text("Feedback, then the score").click()  # sends every choice to the server again
    settled(page)
    calm(page)
    assert [chosen.get_by_text(name, exact=True).count() for name in ("Balanced", "Fixed", "Descending")] == [1, 1, 1]


def test_what_stands_for_all_is_said_in_the_language_that_was_switched_to(lab: str, page: Any) -> None:
    page.goto(f"{lab}/position?{CHOSEN}=de")
    settled(page)
    calm(page)
    assert page.get_by_role("combobox", name=german("Outcome")).input_value() == german("any")
    choose(page, "English", "Results")
    calm(page)
    assert page.get_by_role("combobox", name="Outcome").input_value() == "any"


@pytest.mark.parametrize("code", ["en", "de"])
def test_no_label_over_a_number_and_no_link_is_cut_off(lab: str, page: Any, code: str) -> None:
    cut = {}
    for name in ("home", *(entry.file for group in OF_A_RUN for entry in ui.NAVIGATION[group])):
        page.goto(f"{lab}/{name}?{CHOSEN}={code}")
        settled(page)
        calm(page)
        if found := page.evaluate(CUT):
            cut[name] = found
    assert cut == {}
