"""Say which scores of a condition to look at again, and if the list kept its promise."""

from dataclasses import dataclass

import numpy as np

from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.measures.fragile import AXES, Fragile, fragile_items, rounds
from rubriclab.model.text import count
from rubriclab.words.phrases import inside, say, value_text

TABLES = ("fragile",)
MOST_SHOWN = 12
"""Results of an item that are shown one by one. More are counted."""


@dataclass(frozen=True)
class FragileItem:
    """A listed item.

    criterion: None where the condition has only one. ``chance``: the probability that the item
    changes in another order. ``given``: what it was given in the first round, in ascending order,
    for example “4 4 4 5”.
    """

    item_id: str
    criterion: str | None
    chance: float
    given: str


@dataclass(frozen=True)
class FragileList:
    """The list of a condition in words.

    lines: what the probability means, whether it was checked, and what else to know.
    items: the most fragile one first; empty where ``lines`` say why there is no list.
    zones: how far the order moves the scores of items that never, sometimes or always pass.
    """

    title: str
    lines: tuple[str, ...]
    items: tuple[FragileItem, ...] = ()
    zones: tuple[str, ...] = ()


def fragile_list(findings: Findings, condition: int) -> FragileList | None:
    """Return the list of a condition; None where no score was given in two orders."""
    arm = findings.judgments.arms[condition]
    if arm.condition.reorder not in AXES or arm.single_order or not arm.ok.any():
        return None
    made = fragile_items(arm, findings.reading.cut)
    sort = "_verdicts" if len(made.outcomes) == 2 else ""
    title = say(f"title{sort}", TABLES, listed=len(made.listed))
    if made.why:
        return FragileList(title, (say("no_list", TABLES, why=REASONS[made.why]),))
    several = int(rounds(arm).max(initial=0)) > 1
    other = say("rounds" if several else "one_round", TABLES)
    lines = [say(f"means{sort}", TABLES), _check(findings, condition, len(made.listed), other)]
    if made.tied:
        noun = "verdict" if sort else "score"
        more = count(made.tied, f"more {noun} has", f"more {noun}s have")
        lines.append(say("tied", TABLES, more=more))
    every = arm.run.items.iloc[arm.item_code]
    several_criteria = every["criterion"].nunique() > 1
    known = every.iloc[made.listed]
    items = tuple(
        FragileItem(
            str(item_id),
            str(criterion) if several_criteria else None,
            float(made.chance[item]),
            _given(made, item),
        )
        for item, item_id, criterion in zip(
            made.listed, known["item_id"], known["criterion"], strict=True
        )
    )
    return FragileList(title, tuple(lines), items, _zones(findings, condition, other))


def _given(made: Fragile, item: int) -> str:
    """Return what an item was given in the first round: each call, or how often each result."""
    counts = [
        (name, int(times))
        for name, times in zip(made.outcomes, made.given[item], strict=True)
        if times
    ]
    if made.given[item].sum() <= MOST_SHOWN:
        return " ".join(name for name, times in counts for _ in range(times))
    return ", ".join(f"{times} times {name}" for name, times in counts)


def _only(findings: Findings, measure: str, condition: int) -> Row:
    (row,) = findings.select(measure, condition=condition)
    return row


def _check(findings: Findings, condition: int, listed: int, other: str) -> str:
    """Say how often listed and other items changed in the rounds that chose nothing."""
    row = _only(findings, "fragile_kept", condition)
    kept, rest = row.value, _only(findings, "fragile_rest", condition).value
    if not np.isfinite(kept):
        return say("copied" if row.why == "copied_round" else "not_checked", TABLES)
    fields = {"listed": listed, "kept": f"{100 * kept:.0f}", "rounds": other}
    if not np.isfinite(rest):
        return say("checked_all", TABLES, **fields)
    return say("checked", TABLES, rest=f"{100 * rest:.0f}", **fields)


def _zones(findings: Findings, condition: int, other: str) -> tuple[str, ...]:
    """Say the order effect of each zone that has an interval; nothing if none has one."""
    rows = [
        row
        for row in findings.select("order_effect_by_zone", condition=condition)
        if np.isfinite(row.interval).all()
    ]
    if not rows:
        return ()
    lines = [say("zones_verdicts" if rows[0].passes else "zones", TABLES, rounds=other)]
    for row in rows:
        size = value_text(row)
        lines.append(say("zone", TABLES, zone=row.label, size=size, inside=inside(row)))
    return tuple(lines)
