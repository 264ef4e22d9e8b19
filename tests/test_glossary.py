"""The glossary: complete, in use, and its examples are what the lab computes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rubriclab.app.views.common import COLUMN_TERMS
from rubriclab.report.definitions import OWN, TERMS, TOPICS, Term, term
from rubriclab.report.estimands import ESTIMANDS
from rubriclab.report.references import REFERENCES
from rubriclab.stats import comparison
from rubriclab.stats.advantage import chosen
from rubriclab.stats.inference import holm
from rubriclab.stats.leaderboard import as_logged, in_one_order
from rubriclab.stats.ordering import bias_cost
from rubriclab.stats.position import selection
from rubriclab.stats.ranking import kendall_tau_b
from rubriclab.stats.reads import mean_interval

ROOT = Path(__file__).resolve().parents[1]
KEYS = {one.key for one in TERMS}
NAMES_OF_TERMS = re.compile(r"TERM|_ALWAYS|_BY_AXIS")


@cache
def calls_and_names() -> tuple[ast.AST, ...]:
    """Calls and assignments of all code but the glossary's own."""
    paths = [*(ROOT / "pages").glob("*.py"), *(ROOT / "rubriclab").rglob("*.py")]
    return tuple(
        node
        for path in paths
        if path != ROOT / "rubriclab" / "report" / "definitions.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call | ast.Assign | ast.AnnAssign)
    )


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def texts(*nodes: ast.AST) -> set[str]:
    return {
        inner.value
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }


def asked_by_name() -> set[str]:
    """Every key that the code asks for outright: about("key", also=("other",))."""
    found: set[str] = set()
    for node in calls_and_names():
        if isinstance(node, ast.Call) and called(node) == "about":
            if node.args and isinstance(node.args[0], ast.Constant):
                found |= texts(node.args[0])
            found |= texts(*(k.value for k in node.keywords if k.arg == "also"))
    return found


def listed() -> set[str]:
    """Strings in what the code calls its terms: TERM = {…}, terms=(…), the report's lists."""
    found: set[str] = set()
    for node in calls_and_names():
        if isinstance(node, ast.Call):
            found |= texts(*(k.value for k in node.keywords if k.arg == "terms"))
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = any(isinstance(t, ast.Name) and NAMES_OF_TERMS.search(t.id) for t in targets)
        if node.value is not None and named:
            found |= texts(node.value)
    return found


def test_terms_are_complete_and_unique() -> None:
    assert len(TERMS) > 70
    assert len(KEYS) == len(TERMS)
    assert len({one.name for one in TERMS}) == len(TERMS)
    assert {one.topic for one in TERMS} == set(TOPICS)
    order = [TOPICS.index(one.topic) for one in TERMS]
    assert order == sorted(order), "a topic's terms stand together"
    for one in TERMS:
        assert all((one.key, one.name, one.sentence, one.definition, one.source)), one.key
        assert bool(one.formula) == bool(one.plain), one.key
        assert re.fullmatch(r"[a-z0-9_]+", one.key), "a key stands in an address as it is"


@pytest.mark.parametrize("one", TERMS, ids=lambda one: one.key)
def test_a_sentence_is_one_sentence(one: Term) -> None:
    assert one.sentence.endswith(".")
    inside = one.sentence.replace("n! orders", "")[:-1]
    assert not re.search(r"[.!?](\s|$)", inside), "two sentences"
    assert len(one.sentence.split()) <= 40
    assert one.definition.endswith((".", "”."))
    assert one.definition != one.sentence


@pytest.mark.parametrize("one", TERMS, ids=lambda one: one.key)
def test_a_source_names_a_work_or_the_lab(one: Term) -> None:
    assert OWN in one.source or re.search(r"\b(19|20)\d\d\b", one.source)
    if any(paper in one.source for paper in ("Xu 2026", "Shi 2024", "Li 2025", "Zheng 2024")):
        assert re.search(r"section|appendix|Table|Figure", one.source), "the place in the paper"


def test_every_work_that_a_source_names_is_in_the_list_of_references() -> None:
    names = sorted((name for one in REFERENCES.values() for name in one.cited), key=len, reverse=True)
    for source in [*(one.source for one in TERMS), *(one.reference for one in ESTIMANDS)]:
        left = source
        for name in names:
            left = left.replace(name, "")
        assert not re.search(r"\b(1[89]|20)\d\d\b", left), f"{left!r} of {source!r}"


@pytest.mark.slow
def test_every_key_that_is_asked_for_exists() -> None:
    asked = asked_by_name()
    assert len(asked) > 40
    assert asked <= KEYS
    with pytest.raises(KeyError):
        term("no such term")


def test_columns_of_tables_mean_terms() -> None:
    assert set(COLUMN_TERMS.values()) <= KEYS


def test_no_term_is_dead() -> None:
    assert KEYS - asked_by_name() - listed() == set()


# ---------------------------------------------------------------- examples


def test_example_of_v() -> None:
    found = selection(np.array([40, 20, 20, 10, 10]))
    assert f"chi-square {found.chi2:.1f} and V {found.v:.3f}" in term("v").definition


def test_example_of_bias_cost() -> None:
    table = np.full((3, 3), np.nan)
    np.fill_diagonal(table, [0.5, 0.3, 0.3])
    cost = float(bias_cost(table, (0, 1, 2)))
    assert f"cost {cost:.1f} points" in term("bias_cost").definition


def test_example_of_holm() -> None:
    adjusted = holm(np.array([0.01, 0.02, 0.04]))
    assert adjusted.tolist() == pytest.approx([0.03, 0.04, 0.04])
    assert "0.01, 0.02 and 0.04 become 0.03, 0.04 and 0.04" in term("holm").definition


def test_example_of_the_running_mean() -> None:
    reads = [3.0, 5.0, 4.0]
    ci = mean_interval(reads, population=10)
    said = f"give {np.mean(reads):.2f} with an interval from {ci.low:.2f} to {ci.high:.2f}"
    assert said in term("running_mean").definition


def test_example_of_tau() -> None:
    tau = kendall_tau_b(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]]))[0]
    assert f"give {tau:.2f}" in term("tau").definition


def test_examples_of_pairs() -> None:
    same, first, second = [1, 2], [1, 1], [2, 2]
    rows = np.array([same] * 6 + [first] * 3 + [second])
    series, zero = comparison.classify(rows), np.zeros(10, dtype=np.int64)
    found = comparison.rates(comparison.cell_sums(series, zero, zero, shape=(1, 1, 2)).sum(axis=0), p=2)
    assert f"PC is {float(found.pc):.2f}" in term("pc").definition
    assert f"PF is {float(found.pf):.2f}" in term("pf").definition


def test_example_of_the_win_rate_under_both_orders() -> None:
    names = np.array([[0, 1]] * 4 + [[1, 0]] * 16)
    wins = chosen(np.array([1, 1, 1, 2] + [2] * 8 + [1] * 8), 2)
    within, sets = names.argsort(axis=1).argsort(axis=1), np.zeros(20, dtype=int)
    logged = as_logged(wins, names, np.arange(20))[0].rate
    both = in_one_order(wins, within, sets, np.arange(20), names).shares[0].rate
    assert f"as logged {logged:.2f}, under both orders {both:.3f}" in term("both_orders").definition


def test_example_of_stability() -> None:
    position = np.array([1, 1, 1, 2, -1])
    found = comparison.stability(np.zeros(5, dtype=np.int64), position, n_queries=1, p=2)
    assert f"give {found.share[0]:.2f}" in term("rs").definition
