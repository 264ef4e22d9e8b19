"""Coefficients and designs: Brennan's tables, designs worked by hand, intervals, the best mix."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.stats.generalisability import Coefficient, best_of, coefficients, mixes, variances
from rubriclab.stats.inference import Floats
from rubriclab.stats.variance_components import Components, cells_of, components
from tests.stats.test_variance_components import BRENNAN_1, BRENNAN_3, cells, table

PERSON, ITEM, OCCASION = range(3)


def one(of: Components, *numbers: int, **options: object) -> Coefficient:
    (found,) = coefficients(of, np.array([[1, *numbers]]), **options)  # type: ignore[arg-type]
    return found


def parts(values: dict[tuple[int, ...], float], noise: float = np.nan, levels: tuple[int, ...] = ()) -> Components:
    """Components as given, the same without either of two units."""
    row = [*values.values(), noise]
    return Components(tuple(frozenset(key) for key in values), np.array([row] * 3), levels, 0, 0)


def test_brennans_persons_by_items() -> None:
    found = components(cells(table(BRENNAN_1)[..., None]))
    assert one(found, 12).value == pytest.approx(0.844, abs=5e-4)
    assert one(found, 12, absolute=True).value == pytest.approx(0.773, abs=5e-4)


def test_brennans_items_and_occasions_random_and_with_items_fixed() -> None:
    y = table(BRENNAN_3).reshape(10, 2, 4).swapaxes(1, 2)
    found = components(cells(y[..., None]))
    assert one(found, 4, 2).value == pytest.approx(0.64, abs=5e-3)
    assert one(found, 4, 2, absolute=True).value == pytest.approx(0.55, abs=5e-3)
    # Brennan 2001, section 4.4: the four items are all there are.
    fixed = frozenset({ITEM})
    assert one(found, 4, 2, fixed=fixed).value == pytest.approx(0.81, abs=5e-3)
    assert one(found, 4, 2, fixed=fixed, absolute=True).value == pytest.approx(0.79, abs=5e-3)


KNOWN = parts(
    {(0,): 0.5, (1,): 0.1, (2,): 0.06, (0, 1): 0.2, (0, 2): 0.3, (1, 2): 0.12, (0, 1, 2): 0.6}, 0.4, (9, 2, 3)
)


def test_two_judges_three_orders_and_a_repeat_worked_by_hand() -> None:
    found = variances(KNOWN, np.array([[2, 2, 3]]))  # two repeats, two judges, three orders
    assert found.universe[0, 0] == pytest.approx(0.5)
    # 0.2 / 2 + 0.3 / 3 + 0.6 / 6 + 0.4 / 12
    assert found.relative[0, 0] == pytest.approx(0.1 + 0.1 + 0.1 + 0.4 / 12)
    # and 0.1 / 2 + 0.06 / 3 + 0.12 / 6
    assert found.absolute[0, 0] == pytest.approx(found.relative[0, 0] + 0.05 + 0.02 + 0.02)


def test_judges_that_are_all_there_are_bring_their_part_to_the_texts() -> None:
    found = variances(KNOWN, np.array([[1, 1, 3]]), fixed=frozenset({1}))  # both judges of the run are used
    assert found.universe[0, 0] == pytest.approx(0.5 + 0.2 / 2)
    assert found.relative[0, 0] == pytest.approx(0.3 / 3 + 0.6 / 6 + 0.4 / 6)
    assert found.absolute[0, 0] == pytest.approx(found.relative[0, 0] + 0.06 / 3 + 0.12 / 6)


def test_orders_of_their_own_are_more_orders() -> None:
    same = variances(KNOWN, np.array([[1, 2, 3]]))
    own = variances(KNOWN, np.array([[1, 2, 3]]), own=2)
    assert same.relative[0, 0] - own.relative[0, 0] == pytest.approx(0.3 / 3 - 0.3 / 6)
    assert same.absolute[0, 0] - own.absolute[0, 0] == pytest.approx(0.3 / 3 - 0.3 / 6 + 0.06 / 3 - 0.06 / 6)


def test_an_estimate_below_nothing_counts_as_nothing() -> None:
    below = parts({(0,): 0.5, (1,): -0.1, (0, 1): 0.5})
    assert one(below, 1, absolute=True).value == pytest.approx(0.5)
    assert np.isnan(one(parts({(0,): 0.0, (1,): 0.0, (0, 1): 0.0}), 1).value)


def test_every_mix_of_a_budget_once() -> None:
    found = mixes(4, [2, 9])
    assert sorted(map(tuple, found.tolist())) == [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2)]


def test_the_best_mix_is_where_most_error_is_averaged_away() -> None:
    designs = np.array([[1, 1, 10], [1, 2, 5], [1, 5, 2], [1, 10, 1]])
    judged = parts({(0,): 0.5, (0, 1): 0.9, (0, 2): 0.01, (0, 1, 2): 0.1}, levels=(9, 2, 2))
    ordered = parts({(0,): 0.5, (0, 1): 0.01, (0, 2): 0.9, (0, 1, 2): 0.1}, levels=(9, 2, 2))
    many, few = best_of(judged, designs), best_of(ordered, designs)
    assert many is not None
    assert few is not None
    assert (many.best, few.best) == (3, 0)


def test_mixes_that_noise_alone_sets_apart_are_not_told_apart() -> None:
    rng = np.random.default_rng(3)
    # Judges and orders move texts alike: two judges in five orders and five in two are as good.
    y = rng.normal(size=(25, 1, 1)) + rng.normal(size=(25, 6, 1)) + rng.normal(size=(25, 1, 6))
    found = components(cells((y + 0.5 * rng.normal(size=(25, 6, 6)))[..., None]))
    alike = best_of(found, np.array([[1, 2, 5], [1, 5, 2]]))
    assert alike is not None
    assert alike.open == (True,)
    # Where only judges do, five of them are better.
    y = rng.normal(size=(60, 1, 1)) + rng.normal(size=(60, 6, 1)) + 0.5 * rng.normal(size=(60, 6, 6))
    apart = best_of(components(cells(y[..., None])), np.array([[1, 2, 5], [1, 5, 2]]))
    assert apart is not None
    assert (apart.best, apart.open) == (1, (False,))


def judge_by_order(rng: np.random.Generator, n: int, *, drawn: str) -> Floats:
    """Scores 1 to 5 of items by three judges in five orders: bounded, with tails or skew before that."""
    shapes = {
        "normal": lambda *size: rng.normal(size=size),
        "tails": lambda *size: rng.standard_t(5, size=size) / np.sqrt(5 / 3),
        "skew": lambda *size: rng.exponential(size=size) - 1.0,
    }
    z = shapes[drawn]
    y = 0.9 * z(n, 1, 1) + 0.4 * z(n, 3, 1) + 0.4 * z(n, 1, 5) + 0.6 * z(n, 3, 5)
    y = y + np.array([-0.3, 0.0, 0.3])[:, None] + np.array([0.2, 0.1, 0.0, -0.1, -0.2])
    return np.clip(np.rint(3.0 + y), 1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("drawn", ["normal", "tails", "skew"])
def test_intervals_hold_the_long_run_value(drawn: str) -> None:
    """On a scale of five, 15 and 30 items; nominally 0.95, 120 studies each."""
    rng = np.random.default_rng(11)
    designs = np.array([[1, 1, 1], [1, 3, 5], [1, 1, 10]])
    long_run = components(cells(judge_by_order(rng, 20_000, drawn=drawn)[..., None]))
    for n in (15, 30):
        held = []
        for _ in range(120):
            found = components(cells(judge_by_order(rng, n, drawn=drawn)[..., None]))
            held.append(
                [
                    mine.ci.low <= true.value <= mine.ci.high
                    for absolute in (False, True)
                    for mine, true in zip(
                        coefficients(found, designs, absolute=absolute),
                        coefficients(long_run, designs, absolute=absolute),
                        strict=True,
                    )
                ]
            )
        assert (np.mean(held, axis=0) > 0.87).all()


def test_an_interval_holds_its_estimate_and_there_is_none_of_one_unit() -> None:
    y = np.random.default_rng(4).normal(size=(12, 3, 2))  # nothing belongs to the items
    found = one(components(cells(y)), 5)
    assert found.ci.low <= found.value <= found.ci.high
    item, judge, _ = (code.ravel().astype(np.int64) for code in np.indices(y.shape))
    alone = components(cells_of(np.stack([item, judge], axis=1), np.zeros_like(item), y.ravel()))
    assert np.isnan(one(alone, 5).ci).all()
