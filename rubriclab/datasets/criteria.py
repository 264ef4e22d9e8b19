"""Judgments of several criteria in one call, made elsewhere: a long table becomes a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rubriclab.datasets.coded import Coded, CodedTable, Floats, Ints, joint, rank_within
from rubriclab.datasets.scores import IMPORTED, arm_heads, item_table, run_of, set_codes
from rubriclab.model import Arm, DataError, Ordering, RunData, Strategy, designs
from rubriclab.model.language import tr

REQUIRED = ("judge", "dataset", "text_id", "ordering", "criterion", "score")
OPTIONAL = ("block", "prompt", "candidate", "task", "human", "repeat", "strategy")
MAX_SPAN = 100
_Names = tuple[str, ...]


def read_criteria(frame: pd.DataFrame, *, name: str) -> RunData:
    """A table with one criterion's score of one call a row as a run called ``name``.

    Columns ``judge, dataset, text_id, ordering, criterion, score`` and optional ``prompt,
    candidate, task, human`` (or ``human_1``, ...), ``repeat, strategy``. ``ordering`` is the
    shown order of criterion names between bars, as ``Style|Depth|Relevance``. A call is one
    judge, text, ordering, repeat and strategy; without ``repeat`` the same criterion given
    again under the same ordering starts another call. Blank scores are status unparsed.

    Raises DataError naming row and column: a criterion that the ordering does not show, a
    score that is not a number, rows of an item that disagree.
    """
    table = CodedTable(frame, required=REQUIRED, optional=OPTIONAL)
    judge, dataset = table.coded("judge", required=True), table.coded("dataset", required=True)
    ordering = table.coded("ordering", required=True)
    shown = table.parsed(ordering, _parse_names, tr("two or more different criterion names between bars (A|B|C)"))
    criterion = table.coded("criterion", required=True)
    position = _positions(table, ordering, shown, criterion)
    items, item = item_table(table, dataset, "text_id")
    items["block"] = _text_of(table, items, item)
    score = table.numbers("score")
    group, _ = joint(judge.code, dataset.code, set_codes(shown)[ordering.code])
    strategy = _strategies(table, ordering, shown, group)
    arm, first = joint(group, strategy.code)
    scales = scales_of(table, score, dataset)
    arms = tuple(
        Arm(*texts, axis="criteria", scores=scales[texts[1]], n_positions=len(line))
        for texts, line in arm_heads(first, (judge, dataset, strategy), ordering, shown)
    )
    columns = _calls(table, arm, item, ordering.code, items)
    orders = tuple(Ordering(line) for line in shown)
    return run_of(name, arms, items, orders, columns, score, position)


def _parse_names(text: str) -> _Names | None:
    names = tuple(part.strip() for part in text.split("|"))
    return names if len(names) > 1 and len(set(names)) == len(names) and all(names) else None


def _positions(table: CodedTable, ordering: Coded, shown: list[_Names], criterion: Coded) -> Ints:
    """The place 1.. at which each row's criterion was shown."""
    place = np.zeros((len(shown), len(criterion.texts)), dtype=np.int16)
    for row, line in enumerate(shown):
        for column, asked in enumerate(criterion.texts):
            if asked in line:
                place[row, column] = line.index(asked) + 1
    position = place[ordering.code, criterion.code]
    strange = np.flatnonzero(position == 0)
    if strange.size:
        row = int(strange[0])
        raise DataError(
            tr(
                "{at}: “{text}” is not in the ordering “{ordering}”.",
                at=table.at(row, "criterion"),
                text=criterion.texts[criterion.code[row]],
                ordering=ordering.texts[ordering.code[row]][:80],
            )
        )
    return position


def _text_of(table: CodedTable, items: pd.DataFrame, item: Ints) -> pd.Series[str]:
    """The text of each item: the block that criteria share."""
    if "block" in table:
        return items["block"]
    texts = table.of_items("text_id", item, len(items))
    return pd.Series(np.array(texts.texts, dtype=object)[texts.code], dtype=object)


def scales_of(table: CodedTable, score: Floats, dataset: Coded) -> dict[str, tuple[int, ...]]:
    """Each data set's scale: the whole numbers from 1 (or a lower score) to its greatest score.

    The table does not list the options, so a top score that nobody got is not known.
    """
    broken = np.flatnonzero(np.isfinite(score) & (score != np.round(score)))
    if broken.size:
        row = int(broken[0])
        raise DataError(tr("{at}: {score:g} is not a whole number.", at=table.at(row, "score"), score=score[row]))
    scales: dict[str, tuple[int, ...]] = {}
    for code, text in enumerate(dataset.texts):
        own = score[(dataset.code == code) & np.isfinite(score)]
        if not own.size:
            raise DataError(tr("Data set “{text}”: no score could be read in any row.", text=text))
        low, high = min(int(own.min()), 1), int(own.max())
        if high - low > MAX_SPAN:
            raise DataError(
                tr(
                    "Data set “{text}”: scores from {low} to {high} are no rubric's scale.",
                    text=text,
                    low=low,
                    high=high,
                )
            )
        scales[text] = tuple(range(low, max(high, low + 1) + 1))
    return scales


def _strategies(table: CodedTable, ordering: Coded, shown: list[_Names], group: Ints) -> Coded:
    """As named, or recognised: fixed for one ordering, balanced or Williams by its orderings."""
    named = table.coded("strategy") if "strategy" in table else None
    if named is not None and bool((named.code >= 0).all()):
        return named
    found = []
    for code in range(int(group.max()) + 1):
        used = np.unique(ordering.code[group == code]).tolist()
        found.append(_recognised([shown[i] for i in used]))
    texts = list(dict.fromkeys([*(named.texts if named else ()), *found]))
    by_group = np.array([texts.index(text) for text in found], dtype=np.int32)[group]
    if named is not None:
        by_group = np.where(named.code >= 0, named.code, by_group)
    return Coded("strategy", by_group, tuple(texts))


def _recognised(lines: list[_Names]) -> str:
    """The design of these orderings. The canonical order is not in the table, so balanced is
    tried from each of them, and Williams is known by its balance of places and neighbours."""
    if len(lines) == 1:
        return "fixed"
    whole, n = set(lines), len(lines[0])
    if any(set(designs.orderings(Strategy("balanced"), line)) == whole for line in lines):
        return "balanced"
    check = designs.balance(lines[0], lines)
    small = len(whole) == (n if n % 2 == 0 else 2 * n)
    return "williams" if small and check.position_balanced and check.neighbour_balanced else IMPORTED


def _calls(table: CodedTable, arm: Ints, item: Ints, ordering: Ints, items: pd.DataFrame) -> dict[str, Ints]:
    """The columns with read, repeat and call: rows of one call share it.

    Without ``repeat`` the k-th row of an item under an ordering belongs to its k-th call.
    """
    text = pd.factorize(items["dataset"] + "\0" + items["block"])[0].astype(np.int32)[item]
    again = rank_within(joint(arm, item, ordering)[0], np.zeros(table.rows, dtype=np.int16))
    given = table.whole_numbers("repeat") if "repeat" in table else np.zeros_like(again)
    if "repeat" in table:
        again = rank_within(joint(arm, item, ordering, given)[0], np.zeros_like(again))
    call, first = joint(arm, text, ordering, given, again)
    # Reads are numbered over the calls of a text, by ordering, the same for each of its items.
    owner, _ = joint(arm[first], text[first], given[first])
    read = rank_within(owner, ordering[first])[call]
    return {"arm": arm, "item": item, "ordering": ordering, "read": read, "repeat": given, "call": call}
