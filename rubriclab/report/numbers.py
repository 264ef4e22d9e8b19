"""The key numbers of a report as tables: one line an arm, or a judge of pairs and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rubriclab.findings.ordering import cost_said
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import UNKNOWN, arm_name, interval, number
from rubriclab.report.text_words import spoken

Json = Mapping[str, Any]
UNRATED = msg("no ratings")


class Column(NamedTuple):
    """A column's title, how its cell is read from an arm's (a judge's) part of the document, and
    whether what stands in it is a number."""

    title: str
    cell: Callable[[Json], str]
    number: bool = True


class KeyTable(NamedTuple):
    """A table's title, its columns, the cells of each row as text, and the terms it needs."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[str, ...]]
    terms: tuple[str, ...]

    @property
    def head(self) -> tuple[str, ...]:
        return tuple(tr(column.title) for column in self.columns)

    @property
    def numbers(self) -> set[int]:
        """The columns that hold numbers, counted from 0."""
        return {i for i, column in enumerate(self.columns) if column.number}


def key_tables(body: Json) -> Iterator[KeyTable]:
    """The tables that a run's document has rows for."""
    rows_of = (
        (OPTIONS, [arm for arm in body["arms"] if "position" in arm]),
        (CRITERIA, [arm for arm in body["arms"] if "n_criteria" in arm]),
        (COMPARISONS, body.get("judges") or []),
    )
    for table, parts in rows_of:
        if parts:
            rows = [tuple(column.cell(part) for column in table.columns) for part in parts]
            yield table._replace(rows=rows)


def together(bodies: Sequence[Json], names: Sequence[str]) -> Iterator[KeyTable]:
    """The same tables over several runs, each arm with its run's name, without what was read."""
    tables: dict[str, KeyTable] = {}
    for body, name in zip(bodies, names, strict=True):
        run = _same_for_all(msg("Run"), name)
        for table in key_tables(body):
            end = len(table.columns) - (table.columns[-1] is READ)
            rows = [(row[0], name, *row[1:end]) for row in table.rows]
            columns = (table.columns[0], run, *table.columns[1:end])
            before = tables.get(table.title, table._replace(columns=columns, rows=[]))
            tables[table.title] = before._replace(rows=[*before.rows, *rows])
    yield from tables.values()


def telling(table: KeyTable) -> KeyTable:
    """The table without the columns that say nothing of any arm."""
    kept = [i for i in range(len(table.columns)) if {row[i] for row in table.rows} - {UNKNOWN, tr(UNRATED)}]
    return table._replace(
        columns=tuple(table.columns[i] for i in kept), rows=[tuple(row[i] for i in kept) for row in table.rows]
    )


# ---------------------------------------------------------------- how a cell is read


def _same_for_all(title: str, text: str) -> Column:
    return Column(title, lambda _: text, number=False)


def _first_position(arm: Json) -> str:
    position = arm["position"]
    if not arm["moves_order"]:
        return UNKNOWN
    return f"{number(position['share'][0], '.0%')} ({number(1 / arm['n_options'], '.0%')})"


def _cramers_v(arm: Json) -> str:
    """V with its interval; nothing for one fixed order, whose V is that of the scores given."""
    position = arm["position"]
    if not arm["moves_order"]:
        return UNKNOWN
    return _with_ci(position["v"], position["v_ci"])


def _shift(arm: Json) -> str:
    """Ascending less descending, in score points."""
    shift = arm["shift"]
    return _with_ci(shift["ascending"], shift["ascending_ci"], "+.2f")


def _pearson(arm: Json) -> str:
    alignment = arm["alignment"]
    if alignment is None:
        return tr(UNRATED)
    return _with_ci(alignment["pearson"]["r"], alignment["pearson"]["ci"])


def _bias_cost(arm: Json) -> str:
    cost = arm["bias_cost"]
    return cost_said(cost["default"], cost["why_unknown"])


def _with_ci(value: float | None, ci: Sequence[float | None], form: str = ".3f") -> str:
    """The number, and its interval below it where there is one."""
    ends = "" if None in ci else f"\n{interval(ci, form, brackets=True)}"
    return number(value, form) + ends


def _with_effect(shown: Json) -> str:
    """An effect with its interval and its verdict; nothing where there is no number."""
    if shown["estimate"] is None:
        return UNKNOWN
    cell = _with_ci(shown["estimate"], [shown["low"], shown["high"]], "+.3f")
    return f"{cell}\n{spoken(shown, 'verdict')}"


# ---------------------------------------------------------------- the tables


def _read(arm: Json) -> str:
    return tr("{read:,} of {all:,}", read=arm["judgments"]["ok"], all=arm["judgments"]["total"])


ARM = Column(msg("Arm"), arm_name, number=False)
PEARSON = Column(msg("r with humans"), _pearson)
READ = Column(msg("Read"), _read)

OPTIONS = KeyTable(
    msg("Order of the score options"),
    (
        ARM,
        Column(msg("Moves the mean score"), lambda arm: spoken(arm["shift"]["mean"], "verdict"), number=False),
        Column(msg("Ascending less descending, points"), _shift),
        Column(msg("Picks at position 1 (even)"), _first_position),
        Column(msg("V without noise"), _cramers_v),
        Column(msg("Bias Cost as in the paper"), _bias_cost),
        PEARSON,
        Column(msg("Items"), lambda arm: number(arm["n_items"], ",")),
        READ,
    ),
    (),
    terms=("order_shift", "sesoi", "share", "v", "v_interval", "bias_cost", "pearson"),
)
CRITERIA = KeyTable(
    msg("Order of the criteria"),
    (
        ARM,
        Column(msg("Shift less noise"), lambda arm: _with_ci(arm["rms"]["value"], arm["rms"]["ci"], ".2f")),
        Column(msg("Δ position, mean"), lambda arm: number(arm["delta_pos"]["mean"], ".2f")),
        Column(msg("Criteria moved (Friedman)"), lambda arm: tr("{corrected} of {tested}", **arm["significant"])),
        PEARSON,
        Column(msg("Texts"), lambda arm: number(arm["n_texts"], ",")),
        READ,
    ),
    (),
    terms=("rms_shift", "friedman", "delta", "macro"),
)
COMPARISONS = KeyTable(
    msg("Pairs and lists"),
    (
        Column(msg("Judge"), arm_name, number=False),
        Column(msg("Advantage of the first place"), lambda judge: _with_effect(judge["first_place"]["effect"])),
        Column(msg("Changed by the order alone"), lambda judge: _with_effect(judge["order_excess"]["effect"])),
        Column(msg("Consistency (PC)"), lambda judge: _with_ci(judge["pc"], judge["pc_ci"])),
        Column(msg("Fairness (PF)"), lambda judge: _with_ci(judge["pf"], judge["pf_ci"], "+.3f")),
        Column(msg("Stability (RS)"), lambda judge: _with_ci(judge["rs"], judge["rs_ci"])),
        Column(msg("Unreadable"), lambda judge: number(judge["error"], ".1%")),
        Column(msg("Comparisons"), lambda judge: number(judge["first_place"]["comparisons"], ",")),
    ),
    (),
    terms=("advantage", "order_excess", "pc", "pf", "rs", "error"),
)
