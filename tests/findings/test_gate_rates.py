"""A gate's error rates over many runs of judges that the lab does not fit; RUBRICLAB_GATE_RUNS sets how many."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from scipy import stats

from tests import gate_rates
from tests.gate_rates import CRITERIA, LIMITS, OPTIONS, PAIRS, SHIFT, at_the_limit, counted

RUNS = int(os.environ.get("RUBRICLAB_GATE_RUNS", "40"))
FAMILIES = ("mixed logit", "skewed", "boundary")
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _designs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gate_rates.designs(monkeypatch)
    yield
    gate_rates.truth.cache_clear()


def pooled(design: str, items: int, *, limited: bool = False) -> Counter[str]:
    """Over all FAMILIES; printed, so that ``-rP`` shows the rates."""
    found: Counter[str] = Counter()
    for family in FAMILIES:
        limits = at_the_limit(family, design) if limited else LIMITS[design]
        how = {"shift": SHIFT[design]} if limited else {"shift": 0.0, "leanings": "none"}
        one = counted(family, design, limits, items, RUNS, **how)  # type: ignore[arg-type]
        print(design, family, items, "at its limits" if limited else "unbiased", dict(one))
        found += one
    return found


def bearable(runs: int) -> int:
    """So many of ``runs`` are wrong with a chance of 1 in 1,000 where 5 % are."""
    return int(stats.binom.isf(0.001, runs, 0.05))


@pytest.mark.parametrize("design", [OPTIONS, PAIRS, CRITERIA])
def test_at_its_limits_a_judge_seldom_passes_and_seldom_fails(design: str) -> None:
    """The least favourable truth: every number stands exactly at its limit."""
    found = pooled(design, 60, limited=True)
    keys = {name.removesuffix(" passes") for name in found if name.endswith(" passes")}
    for key in keys:
        assert found[f"{key} passes"] <= bearable(found["runs"]), (key, found)
    assert found["fails"] <= bearable(found["runs"]), found
    assert found["passes"] <= bearable(found["runs"]), found


@pytest.mark.parametrize("design", [OPTIONS, PAIRS, CRITERIA])
def test_an_unbiased_judge_is_seldom_failed(design: str) -> None:
    found = pooled(design, 60)
    assert found["fails"] <= bearable(found["runs"]), found


def test_an_unbiased_judge_passes_with_items_enough_and_cannot_tell_with_few() -> None:
    many = counted("mixed logit", OPTIONS, LIMITS[OPTIONS], 100, RUNS, shift=0.0, leanings="none")
    print("unbiased, 100 items", dict(many))
    assert many["passes"] >= 0.5 * RUNS, many
    few = counted("mixed logit", OPTIONS, LIMITS[OPTIONS], 15, RUNS, shift=0.0, leanings="none")
    assert few["cannot tell"] == RUNS, few


@pytest.mark.parametrize("design", [OPTIONS, PAIRS, CRITERIA])
def test_a_biased_judge_fails(design: str) -> None:
    found = counted("mixed logit", design, LIMITS[design], 100, RUNS, shift=4 * SHIFT[design])
    print(design, "far beyond", dict(found))
    assert found["fails"] >= 0.9 * RUNS, found
