"""Two conditions held against each other: on what both judged, with words that their intervals carry."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.differences import Pair, differences, paired
from rubriclab.core.topic import Findings
from rubriclab.model.judgment import JudgmentTable
from tests.sinks import made
from tests.tables import findings


def noisy(strength: float, seed: int) -> made.Rule:
    """The first option with that probability, else near the item's own score."""
    rng = np.random.default_rng(seed)

    def rule(item: int, shown: tuple[int, ...], repeat: int) -> int:  # noqa: ARG001
        own = round(1 + item % 3 + rng.normal(0, 0.3))
        return int(shown[0]) if rng.random() < strength else min(3, max(1, own))

    return rule


def held(a: made.Rule, b: made.Rule, items: int = 120, **more: str) -> Pair:
    both = findings(replace(made.options_table({"a": a, "b": b}, items=items), **more))
    return paired(both, 0, both, 1)


@pytest.mark.parametrize(("a", "b", "items", "words"), [
    (made.always_first, made.by_quality, 40, ["effect"] * 3),
    (noisy(0.5, 1), noisy(0.1, 2), 120, ["effect"] * 3),
    (noisy(0.3, 3), noisy(0.3, 4), 120, ["equivalent"] * 3),
    (noisy(0.3, 5), noisy(0.3, 6), 15, ["undecided"] * 3),
    (made.by_quality, made.by_quality, 15, ["undecided"] * 3),
    (made.by_quality, made.by_quality, 120, ["equivalent"] * 3),
])  # fmt: skip
def test_words_are_those_of_the_intervals(a: made.Rule, b: made.Rule, items: int, words: list[str]) -> None:
    pair = held(a, b, items)
    rows = differences(pair)
    for row in rows:  # the number told is the one that may differ most, or that does
        if row.verdict == "undecided":
            ends = max(map(abs, row.interval))
            assert row.counts["most"] == pytest.approx(ends) or row.counts["most"] > 2 * ends
    assert [row.verdict for row in rows] == words
    for row in rows:
        low, high = row.interval
        assert row.value == pytest.approx(row.counts["a"] - row.counts["b"])
        assert low < high  # also where no unit differs from another: those not met might
        assert (row.verdict == "effect") <= (low > 0 or high < 0)
        assert (row.counts["most"] < row.smallest) == (row.verdict == "equivalent")
    back = differences(paired(pair.findings[1], 1, pair.findings[0], 0))
    assert [row.value for row in back] == pytest.approx([-row.value for row in rows])


def part(items: slice, name: str = "a") -> JudgmentTable:
    """A run that judged a part of sixty answers, in an order of its own."""
    table = made.options_table({name: noisy(0.4, 5)}, items=60)
    kept = table.items.index[items]
    rows = table.rows[table.rows["item"].isin(kept)]
    code = dict(zip(kept, range(len(kept)), strict=True))
    return replace(
        table, items=table.items.loc[kept].reset_index(drop=True), planned=(len(rows),),
        rows=rows.assign(item=rows["item"].map(code)).reset_index(drop=True),
    )  # fmt: skip


def test_only_what_both_judged_counts_whatever_the_runs_call_it() -> None:
    pair = paired(findings(part(slice(0, 40))), 0, findings(part(slice(59, 19, -1), "b")), 0)
    assert pair.texts == 20
    alone = findings(part(slice(20, 40)))
    shares = [(row.value, row.interval) for row in alone.select("position_share")]
    assert [(row.value, row.interval) for row in pair.findings[0].select("position_share")] == shares
    assert [row.value for row in differences(pair)] == pytest.approx([0, 0, 0])  # the same judgments
    whole = findings(part(slice(0, 60)))
    assert paired(whole, 0, whole, 0).findings[0] is whole  # nothing is computed again


def criteria() -> Findings:
    return findings(
        made.criteria_table(lambda text, slot, position: 2 + (text + slot) % 2 if position else 4, items=30)
    )


@pytest.mark.parametrize(("pair", "why"), [
    (lambda: paired(findings(part(slice(0, 20))), 0, findings(part(slice(20, 40))), 0), "no_common"),
    (lambda: paired(findings(part(slice(0, 20))), 0, criteria(), 0), "not_alike"),
    (lambda: held(made.always_first, made.by_quality, state="paused"), "unfinished"),
    (lambda: held(made.always_first, made.by_quality, items=5), "too_few_units"),
])  # fmt: skip
def test_where_nothing_can_be_said_no_word_is(pair: Callable[[], Pair], why: str) -> None:
    made_pair = pair()
    rows = differences(made_pair)
    assert {row.verdict for row in rows} <= {"", "undecided"}
    assert {row.why for row in rows} <= {why}
    assert made_pair.why in ("", why)
    assert rows or made_pair.why == "not_alike"


def test_criteria_are_held_against_each_other_by_first_and_last() -> None:
    rows = differences(paired(criteria(), 0, criteria(), 0))
    assert [row.measure for row in rows] == ["first_minus_last", "turn", "order_excess"]
