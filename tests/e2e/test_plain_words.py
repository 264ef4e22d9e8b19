"""In a browser: no findings page uses a term of statistics on first view before it has said it in plain words.

A term is introduced in brackets after plain words, “uneven picking (Cramér's V)”, and may then stand by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.lab import CHROMIUM, calm, filled_store, running_lab, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]

VIEWS = (
    ("position", "options"),
    ("position", "recorded"),
    ("alignment", "options"),
    ("reliability", "options"),
    ("ranking", "options"),
    ("choice", "recorded"),
    ("criteria", "criteria"),
    ("batch", "batch"),
    ("perturbation", "forms"),
    ("comparison", "pairs"),
    ("compare", "options"),
)
TERMS = {
    "P(p | s)": r"P\(p ?\| ?s\)",
    "arm": r"\barms?\b",
    "Holm": r"\bHolm\b",
    "Bonferroni": r"\bBonferroni\b",
    "Cramér's V": r"\bV\b",
    "Hotelling": r"\bHotelling\b",
    "chi²": r"\bchi(²|2)",
    "kappa": r"\b[Kk]appa\b",
    "AC1": r"\bAC[12]\b",
    "ICC": r"\bICC\b",
    "alpha": r"\balpha [0-9\u2212-]",
    "Pearson": r"\bPearson\b",
    "Spearman": r"\bSpearman\b",
    "tau": r"\btau\b",
    "Friedman": r"\bFriedman\b",
    "Rasch": r"\bRasch\b",
    "logit": r"\blogits?\b",
    "infit": r"\binfit\b",
    "AIC": r"\bAIC\b",
    "R²": r"\bR²",
    "epsilon": r"\bepsilon\b",
    "PC": r"\bPC\b",
    "PF": r"\bPF\b",
    "Williams": r"\bWilliams\b",
}
ALLOWED: dict[tuple[str, str], str] = {
    ("choice", "arm"): "a note of the correction's control, whose words `results` and its readers share",
    ("perturbation", "Spearman"): "the name of a choice, whose help says it in words",
    ("alignment", "AC1"): "a row of the chart under AC2, which the box above names in brackets",
    ("position", "Cramér's V"): "the warning of few prompts lists what has no interval, before the table",
}
"""A page and a term that may stand bare there, and why."""


def bare(text: str, pattern: str) -> str:
    """The line in which a term is met first, where no bracket is open before it; empty where it is introduced."""
    for line in text.splitlines():
        met = re.search(pattern, line)
        if met:
            before = line[: met.start()]
            inside = before.count("(") > before.count(")")
            return "" if inside else line.strip()
    return ""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("plain")
    runs = filled_store(folder / "lab.duckdb")
    with running_lab(folder / "lab.duckdb", folder / "log") as address:
        yield address, runs


@pytest.mark.parametrize(("name", "kind"), VIEWS)
def test_terms_come_after_plain_words(lab: tuple[str, dict[str, str]], page: Any, name: str, kind: str) -> None:
    address, runs = lab
    page.goto(f"{address}/{name}?run={runs[kind]}")
    settled(page)
    calm(page)
    text = page.inner_text("[data-testid=stMain]")
    met = {term: line for term, pattern in TERMS.items() if (line := bare(text, pattern))}
    assert {term: line for term, line in met.items() if (name, term) not in ALLOWED} == {}


def test_a_bare_term_is_found() -> None:
    assert bare("Cramér's V", TERMS["Cramér's V"])
    assert not bare("uneven picking (Cramér's V)\nV 0.3", TERMS["Cramér's V"])
    assert bare("shares (of all) and V", TERMS["Cramér's V"])
