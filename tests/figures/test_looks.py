"""A judge looks the same in every figure of a run, and can be told from others without colour."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.figures import position as draw
from rubriclab.figures.choice import position_odds
from rubriclab.figures.style import JUDGE_COLORS, contrast, looks_of
from rubriclab.findings.position import position
from rubriclab.model import RunData
from tests.figures.test_choice import model
from tests.findings.test_position import run_data, simulated

BACKGROUNDS = ("#fbfaf7", "#14181d")
"""Of the pages, as .streamlit/config.toml has them, in light and dark."""
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""


def test_a_judge_keeps_its_colour_whatever_is_drawn_beside_it() -> None:
    run = ("a", "b", "c")
    every = looks_of(run, run)
    assert [look.color for look in every] == list(JUDGE_COLORS[:3])
    assert looks_of(["c"], run) == every[2:]
    assert looks_of(["c", "a"], run) == [every[2], every[0]]
    assert looks_of(["new"], run)[0].color == JUDGE_COLORS[3]


def test_two_series_never_differ_in_colour_alone() -> None:
    run = [f"j{k}" for k in range(10)]
    looks = looks_of(run, run)
    assert looks[0].color == looks[8].color  # there are eight colours
    assert looks[0].dash != looks[8].dash
    assert len({look.symbol for look in looks[:8]}) == 8
    own = looks_of(["a", "a", "a"], ["a"])
    assert len({look.color for look in own}) == 1
    assert len({look.dash for look in own}) == len({look.pattern for look in own}) == 3


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_colours_can_be_seen_on_both_grounds(background: str) -> None:
    assert min(contrast(color, background) for color in JUDGE_COLORS) >= 3.0  # WCAG 2.2, 1.4.11


def test_the_first_colours_differ_for_the_colour_blind() -> None:
    def seen(color: str) -> np.ndarray:
        rgb = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        return np.clip(DEUTERANOPIA @ rgb**2.2, 0, 1) ** (1 / 2.2)

    first = [seen(color) for color in JUDGE_COLORS[:3]]
    apart = [float(np.abs(a - b).max()) for i, a in enumerate(first) for b in first[:i]]
    assert min(apart) > 0.12


def test_figures_of_one_run_agree_and_strategies_are_hatched() -> None:
    data = run_data({"balanced": simulated("ordinary"), "fixed": simulated("ordinary")}, 5)
    arms = position(data, n_boot=50).arms
    judges = ("another", arms[0].arm.judge)
    bars = draw.selection_bars(arms, run_judges=judges).figure.data
    assert {bar.marker.color for bar in bars} == {JUDGE_COLORS[1]}
    assert [bar.marker.pattern.shape for bar in bars] == [None, "/"]
    assert draw.pull_bars(arms[0], run_judges=judges).figure.data[0].marker.color == JUDGE_COLORS[1]
    odds = position_odds([model(arms[0].arm.judge)], run_judges=judges).figure.data[0]
    assert odds.marker.color == JUDGE_COLORS[1]


def test_a_run_names_its_judges_in_its_order() -> None:
    data: RunData = run_data({"balanced": simulated("ordinary"), "fixed": simulated("ordinary")}, 5)
    assert data.judges == (data.arms[0].judge,)
