"""Limits held against rows: inside, outside, neither; what is about the order fails behind the open gate alone."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.operations import Checked, check, derived, limit_of, worst
from rubriclab.core.topic import Findings
from rubriclab.model.text import LabError
from tests.tables import ORDERS, choose, findings, only, options

FIRST = options(np.tile(ORDERS[:, 0], (30, 2)).astype(float), ORDERS, np.tile(np.arange(10), 2))
"""A judge that always takes the option listed first."""
FAIR = options(choose(np.random.default_rng(3), 60, ORDERS, repeats=2), ORDERS, np.tile(np.arange(10), 2))


def held(found: Findings, *texts: str) -> list[Checked]:
    return check(found, [limit_of(text) for text in texts])


@pytest.mark.parametrize(
    ("text", "ends"),
    [("moves_mean=0.5", (-0.5, 0.5)), ("pearson=0.3..", (0.3, np.inf)), ("pearson = ..0.3", (-np.inf, 0.3)),
     ("position_share:1=0.1..0.3", (0.1, 0.3)), ("line=-1..-0.5", (-1.0, -0.5))],
)  # fmt: skip
def test_a_limit_is_read_and_written_the_same(text: str, ends: tuple[float, float]) -> None:
    limit = limit_of(text)
    assert (limit.low, limit.high) == ends
    assert limit_of(str(limit)) == limit


@pytest.mark.parametrize(
    ("text", "said"),
    [("favours_position=0.1", "Near it: favours_positions"), ("moves_mean", "is no limit"), ("moves_mean=x", "no number"),
     ("moves_mean=-1", "leaves no room"), ("moves_mean=nan", "leaves no room"), ("moves_mean=..", "leaves no room"),
     ("moves_mean=2..1", "leaves no room"), ("\x1b[31m=1", "is no limit")],
)  # fmt: skip
def test_what_is_no_limit_is_said(text: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        limit_of(text)


def test_planted_truth_passes_fails_and_cannot_be_told() -> None:
    biased, fair = findings(FIRST), findings(FAIR)
    assert [c.word for c in held(biased, "favours_positions=0.2")] == ["fails"]
    assert [c.word for c in held(fair, "favours_positions=0.2", "moves_mean=1")] == ["passes", "passes"]
    (unsure,) = held(fair, "favours_positions=0.01")
    assert (unsure.word, worst([unsure.word, "passes"]), worst([unsure.word, "fails"])) == (
        "unknown",
        "unknown",
        "fails",
    )
    shares = held(biased, "position_share=0.15..0.25")
    assert [c.row.of["position"] for c in shares if c.row and c.word == "fails"][:1] == [1]
    assert len(shares) == 5
    assert [c.row.of["position"] for c in held(biased, "position_share:1=..0.9") if c.row] == [1]
    found = findings(FAIR)
    assert only(found, "gate").p > 0.05
    (line,) = [c for c in held(found, "line=5..6") if c.row and not c.row.of]
    assert (line.word, line.why) == ("unknown", "gate_closed")


def test_unfinished_runs_and_missing_numbers_cannot_tell() -> None:
    assert [c.why for c in held(findings(replace(FIRST, state="paused")), "favours_positions=0.9")] == ["unfinished"]
    assert [(c.word, c.why) for c in held(findings(FIRST), "pc=0.5..")] == [("unknown", "no_row")]
    unparsed = np.where(ORDERS[:, 0] > 3, np.nan, 3.0)
    blocked = held(findings(options(np.tile(unparsed, (30, 1)), ORDERS)), "moves_mean=0.9")
    assert [(c.word, c.why) for c in blocked] == [("unknown", "unparsed_by_order")]


def test_derived_limits_lie_above_what_was_measured() -> None:
    found = findings(FAIR)
    limits = {limit.measure: (limit, row) for limit, row in derived(found)}
    assert set(limits) == {"favours_positions", "moves_mean", "changes_single"}
    for limit, row in limits.values():
        assert limit.high >= max(row.interval[1], row.smallest) - 1e-9
        assert str(limit) == f"{limit.measure}={limit.high:.2g}"
    # The interval's upper half 1.92 times: 1 + 1.2816 sqrt(2) / 1.96.
    limit, row = limits["favours_positions"]
    exact = row.value + 1.9247 * (row.interval[1] - row.value)
    assert exact <= limit.high <= 1.1 * exact or limit.high == pytest.approx(row.smallest)
