"""A count and its noun agree, from one on; no account of anything leaves the plural to the reader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rubriclab.findings import pulls
from rubriclab.findings.gate_compared import _few
from rubriclab.model.wording import many
from rubriclab.stats.agreement_intervals import of_share
from rubriclab.stats.human_correlation import LeftOut

ROOT = Path(__file__).resolve().parents[1]
SENT = ROOT / "rubriclab" / "study" / "prompts" / "references.py"
"""A template that judges are sent: its words are part of what a call is known by."""
OPEN = re.compile(r"\w\((s|es|ies)\)(?!\w)")


@pytest.mark.parametrize(
    ("n", "words", "said"),
    [
        (1, ("answer",), "1 answer"),
        (0, ("answer",), "0 answers"),
        (2, ("criterion",), "2 criteria"),
        (1, ("reply", "have"), "1 reply has"),
        (1_200, ("call", "are"), "1,200 calls are"),
        (1, ("call", "wait"), "1 call waits"),
    ],
)
def test_a_count_agrees_with_its_noun_and_verb(n: int, words: tuple[str, ...], said: str) -> None:
    assert many(n, *words) == said


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module that is no docstring."""
    tree = ast.parse(path.read_text())
    docs = {
        id(body[0].value)
        for node in ast.walk(tree)
        if (body := getattr(node, "body", None)) and isinstance(body, list) and isinstance(body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_no_text_leaves_the_plural_to_the_reader() -> None:
    modules = [*(ROOT / "rubriclab").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
    open_ended = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip()[:60]}"
        for path in modules
        if path != SENT
        for line, text in texts(path)
        if OPEN.search(text) and not re.search(r"\(\?|\\[bdsw]|\w\(s\) ?(for|/|==)", text)
    ]
    assert not open_ended


@pytest.mark.parametrize("said", [pulls._too_few(1), _few(1, "unit"), of_share(LeftOut(0.5, np.array([0.5]))).why])
def test_one_unit_is_too_few(said: str) -> None:
    assert said.startswith("1 unit is too few for an interval; ")


def test_two_units_are_too_few() -> None:
    assert pulls._too_few(2) == f"2 units are too few for an interval; {pulls.MIN_UNITS} are needed"
    assert of_share(LeftOut(0.5, np.array([0.5, 0.4]))).why.startswith("2 units are too few")
