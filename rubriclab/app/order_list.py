"""Draw the two parts of Try it that need a browser: the list to reorder, and the strip of orders.

Both send triggers and keep no state, because the server owns the order: a state of one part would
overrule what the other part changed. Nothing is loaded from a network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from rubriclab.app.frame import source
from rubriclab.figures.order_columns import Column, Mark

Order = tuple[int, ...]
"""Numbers of the entries in the default order, from the first position to the last."""


@dataclass(frozen=True)
class Row:
    """One entry of the list: its score or name, and its description."""

    label: str
    text: str


@dataclass(frozen=True)
class Known:
    """What the list shows for an order that was asked.

    marks: by number of the entry. result: what is read aloud, for example “Score 5”.
    """

    marks: Mapping[int, Mark]
    result: str


@dataclass(frozen=True)
class Move:
    """An order that the visitor made. stamp: counts the moves of this visit."""

    order: Order
    stamp: int


def order_list(
    rows: Sequence[Row],
    order: Order,
    known: Mapping[Order, Known],
    *,
    name: str,
    names: bool,
    stamp: int,
    locked: bool,
    on_move: Callable[[Move], None],
    key: str,
) -> None:
    """Draw the list. ``on_move`` is called with each move of the visitor, before the next draw.

    ``name``: of the list, for people who do not see it. ``names``: the labels are names, not
    scores. ``stamp``: of the last move. ``locked``: nothing can be moved.
    """
    draw = st.components.v2.component(
        "rubriclab_order_list",
        html=source("order_list.html"),
        css=source("order_list.css"),
        js=source("order_list.js"),
    )
    data = {
        "entries": [asdict(row) for row in rows],
        "order": list(order),
        "marks": {
            _joined(asked): {str(entry): asdict(mark) for entry, mark in about.marks.items()}
            for asked, about in known.items()
        },
        "results": {_joined(asked): about.result for asked, about in known.items()},
        "unknown": "This order was not asked.",
        "name": name,
        "names": names,
        "stamp": stamp,
        "locked": locked,
    }

    def tell() -> None:
        sent = st.session_state[key].get("moved") or {}
        moved = _order(sent, len(rows))
        counted = sent.get("stamp")
        if moved is not None and isinstance(counted, int):
            on_move(Move(moved, counted))

    draw(key=key, data=data, on_moved_change=tell)


def order_strip(
    columns: Sequence[Column],
    order: Order,
    *,
    locked: bool,
    on_pick: Callable[[Order], None],
    key: str,
) -> None:
    """Draw a column for each order. ``on_pick`` is called with the order of a clicked one."""
    draw = st.components.v2.component(
        "rubriclab_order_strip",
        html='<div class="strip"></div>',
        css=source("order_list.css"),
        js=source("order_strip.js"),
    )
    data = {
        "columns": [asdict(column) for column in columns],
        "order": list(order),
        "locked": locked,
    }

    def tell() -> None:
        picked = _order(st.session_state[key].get("picked"), len(order))
        if picked is not None:
            on_pick(picked)

    draw(key=key, data=data, on_picked_change=tell)


def _joined(order: Order) -> str:
    return " ".join(map(str, order))


def _order(sent: object, size: int) -> Order | None:
    """Return the order that a browser sent, or None if it is not one of this list."""
    order = sent.get("order") if isinstance(sent, Mapping) else None
    if not isinstance(order, list) or not all(isinstance(number, int) for number in order):
        return None
    return tuple(order) if sorted(order) == list(range(size)) else None
