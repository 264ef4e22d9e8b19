"""The four pictures of the first visit against the judgments of the recorded run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from rubriclab.findings.guide import means_of_reads, order_beside_noise, picked_positions, varied_arms
from rubriclab.findings.telling import telling_item
from rubriclab.model import RunData
from rubriclab.store import Store
from rubriclab.store.archive import read_archive

EXAMPLE = Path(__file__).resolve().parents[2] / "data" / "example_run.zip"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    with Store(tmp_path_factory.mktemp("guide") / "lab.duckdb") as store:
        read_archive(store, EXAMPLE.read_bytes())
        yield store.frame(store.runs()[0].run)


def scores(data: RunData, arm: int) -> np.ndarray:
    """(items, reads) by hand, straight from the judgments."""
    mine = data.judgments[data.judgments["arm"] == arm]
    return mine.pivot_table(index="item", columns="read", values="score").to_numpy()


def test_arms_that_vary_the_order(recorded: RunData) -> None:
    arms = varied_arms(recorded)
    assert [recorded.arms[code].strategy for code in arms] == ["balanced", "balanced"]
    assert len({recorded.arms[code].judge for code in arms}) == 2


def test_the_telling_item_moves_most(recorded: RunData) -> None:
    for arm in varied_arms(recorded):
        grid = scores(recorded, arm)
        spans = grid.max(axis=1) - grid.min(axis=1)
        item = telling_item(recorded, arm=arm)
        assert spans[item] == spans.max()
        kinds = [len(set(row)) for row in grid]
        assert kinds[item] == max(k for k, s in zip(kinds, spans, strict=True) if s == spans.max())


@pytest.mark.parametrize("items", [1, 5, 10**9])
def test_positions_add_up_item_by_item(recorded: RunData, items: int) -> None:
    judged = recorded.judgments
    for code, found in zip(varied_arms(recorded), picked_positions(recorded, items=items), strict=True):
        mine = judged[(judged["arm"] == code) & (judged["item"] < items)]
        counts = np.bincount(mine["position"], minlength=6)[1:]
        assert found.counts.tolist() == counts.tolist()
        assert found.share == pytest.approx(counts / counts.sum())
        assert (found.read, found.items) == (counts.sum(), min(items, 24))
        assert found.of_items == 24


def test_means_of_reads_over_every_choice(recorded: RunData) -> None:
    arm = varied_arms(recorded)[0]
    grid = scores(recorded, arm)
    found = means_of_reads(recorded, arm=arm, k=3)
    by_hand = np.array([grid[:, list(c)].mean(axis=1) for c in combinations(range(10), 3)])
    overall = grid.mean(axis=1)
    order = np.argsort(overall, kind="stable")
    assert found.overall == pytest.approx(overall[order])
    assert found.low == pytest.approx(np.quantile(by_hand, 0.025, axis=0)[order])
    assert found.high == pytest.approx(np.quantile(by_hand, 0.975, axis=0)[order])
    assert found.distance == pytest.approx(np.abs(by_hand - overall).mean())
    assert (found.reads, found.excluded, len(found.names)) == (10, 0, 24)


def test_more_orders_come_nearer_and_all_of_them_meet(recorded: RunData) -> None:
    arm = varied_arms(recorded)[1]
    distances = [means_of_reads(recorded, arm=arm, k=k).distance for k in range(1, 11)]
    assert all(later < earlier for earlier, later in pairwise(distances))
    assert distances[-1] == pytest.approx(0.0, abs=1e-12)


def test_an_unread_judgment_leaves_its_item_out(recorded: RunData) -> None:
    arm = varied_arms(recorded)[0]
    judgments = recorded.judgments.copy()
    hit = judgments.index[(judgments["arm"] == arm) & (judgments["item"] == 3)][0]
    judgments.loc[hit, ["status", "score", "position"]] = [1, np.nan, -1]
    data = replace(recorded, judgments=judgments)
    assert means_of_reads(data, arm=arm, k=2).excluded == 1
    assert picked_positions(data, items=24)[0].read == 239


def test_more_reads_than_there_are_cannot_be_asked_for(recorded: RunData) -> None:
    with pytest.raises(ValueError, match="11 of 10"):
        means_of_reads(recorded, arm=varied_arms(recorded)[0], k=11)


def test_readings_in_one_order_beside_those_in_others(recorded: RunData) -> None:
    """By hand: of all pairs of two reads of an answer the share that gives different scores."""
    for code, found in zip(varied_arms(recorded), order_beside_noise(recorded), strict=True):
        assert found.control is not None
        shares = []
        for arm in (recorded.arms.index(found.control), code):
            grid = scores(recorded, arm)
            pairs = [[row[i] != row[j] for i, j in combinations(range(10), 2)] for row in grid]
            shares.append(np.mean(pairs, axis=1))
        same, other = shares
        assert (found.same, found.other) == pytest.approx((same.mean(), other.mean()))
        gained = other - same
        assert found.excess == pytest.approx(gained.mean())
        half = 2.0687 * gained.std(ddof=1) / np.sqrt(24)
        assert tuple(found.ci) == pytest.approx((gained.mean() - half, gained.mean() + half), abs=1e-3)
        assert found.ci.low > 0.3
    assert [one.same for one in order_beside_noise(recorded)] == pytest.approx([0.0, 1 / 60])


def test_without_reads_in_one_order_nothing_is_known_of_the_noise(recorded: RunData) -> None:
    arms = tuple(replace(arm, strategy="x") if arm.strategy == "fixed" else arm for arm in recorded.arms)
    for found in order_beside_noise(replace(recorded, arms=arms)):
        assert found.control is None
        assert np.isnan([found.same, found.excess, found.ci.low]).all()
    few = recorded.judgments[recorded.judgments["item"] < 5]
    found = order_beside_noise(replace(recorded, judgments=few))[0]
    assert (found.items, np.isnan(found.ci.low)) == (5, True)
