"""From any number to its items, from an item to its judgments, from a judgment to its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_filters import COMPARISONS, MOST, OUTCOMES, go, offered
from rubriclab.app.views.judgments_strips import strips
from rubriclab.app.views.judgments_table import FORMS, detail, formats, reads_frame, winner_of
from rubriclab.findings.reads import Read, reads_of
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import UNKNOWN, arm_name, many
from rubriclab.store import Condition, ItemText, RunInfo
from rubriclab.store.behind import UNREAD, Sort, order_name

PAGE = 50
"""Items on a page."""
ON, BACK = "N", "P"
"""Keys for the next and the previous, where a page has one list to go through."""
SORTS: dict[Sort, str] = {
    "data": msg("as in the data"),
    "spread": msg("most moved first"),
    "judgments": msg("most judged first"),
}


# ---------------------------------------------------------------- the items behind a filter


def items(info: RunInfo, asked: Condition) -> None:
    """The items that have such judgments, a page at a time; a chosen row opens the item."""
    sorts = _sorts(info)
    sort = ui.choose(
        tr("Items in order"),
        sorts,
        key="judgments-sort",
        address="sort",
        name=lambda s: tr(SORTS[s]),
        code=lambda s: "" if s == "data" else s,
        segments=True,
    )
    first = _first_of_page((info.run, asked, sort))
    found = ui.store().items_behind(info.run, asked, sort=sort, limit=PAGE, offset=first)
    if not found.items:
        st.info(tr("No judgment meets all of this. Take a filter back."), icon=":material/filter_alt:")
        return
    if first >= found.items or not st.query_params.get("page", "1").isdecimal():
        page, pages = ui.plain(st.query_params.get("page", "")), math.ceil(found.items / PAGE)
        _not_there(
            tr("The link asks for page “{page}” of {pages:,}. Shown instead: the first one.", page=page, pages=pages)
        )
        go(page=None)
        first = 0
    st.markdown(
        tr(
            "**{items}** with {judgments}. Choose a row to read the item.",
            items=many(found.items, "item"),
            judgments=many(found.judgments, "judgment"),
        )
    )
    shown = _items_frame(found.page, info)
    key = f"judgments-items-{first}-{sort}"
    forms = {name: "%.2f" for name in ("mean score", "humans") if name in shown}
    columns = uf.headings(shown) | {name: ui.number_column(uf.heading(name), form) for name, form in forms.items()}
    opened = partial(_open_item, found.page["item"].tolist(), key)
    _openable(ui.written(shown, forms), len(shown), opened, key, height=640, columns=columns)
    _pager(first, found.items)
    ui.export_row({}, {msg("Items of this page"): shown}, info=info, key="judgments")


def _openable(
    shown: Any, rows: int, opened: Callable[[], None], key: str, *, height: int, columns: Mapping[str, Any]
) -> None:
    """A table of at most so many pixels; ``opened`` is called once one of its ``rows`` is chosen."""
    st.dataframe(
        shown,
        hide_index=True,
        width="stretch",
        key=key,
        selection_mode="single-row",
        on_select=opened,
        height=min(36 * rows + 40, height),
        column_config=columns,
        placeholder=UNKNOWN,
    )


def _sorts(info: RunInfo) -> list[Sort]:
    return [s for s in SORTS if s != "spread" or info.axis not in COMPARISONS]


def _items_frame(page: pd.DataFrame, info: RunInfo) -> pd.DataFrame:
    names = {
        "item_id": msg("item"),
        "criterion": msg("criterion"),
        "candidate": msg("candidate"),
        "judgments": msg("judgments"),
        "mean": msg("mean score"),
        "low": msg("lowest"),
        "high": msg("highest"),
        "human": msg("humans"),
        "chosen": msg("answers"),
    }
    shown = page[list(names)].rename(columns=names)
    empty = [name for name in shown if name != "item" and shown[name].isna().all()]
    if info.axis != "criteria" and shown["criterion"].nunique() < 2:
        empty.append("criterion")
    return shown.drop(columns=empty)


def _first_of_page(view: Hashable) -> int:
    """Offset of the page the address names; another filter starts at the first page again."""
    before = st.session_state.get("judgments-view")
    st.session_state["judgments-view"] = view
    if before is not None and before != view and "page" in st.query_params:
        del st.query_params["page"]
    wanted = st.query_params.get("page", "1")
    return PAGE * (max(int(wanted), 1) - 1) if wanted.isdecimal() else 0


def _pager(first: int, items: int) -> None:
    if items <= PAGE:
        return
    page, pages = first // PAGE + 1, math.ceil(items / PAGE)
    with st.container(horizontal=True, vertical_alignment="center"):
        _step(tr("Previous"), "judgments-page-back", None if page == 1 else {"page": page - 1}, shortcut=BACK)
        st.markdown(
            tr("{first:,} to {last:,} of {items:,}", first=first + 1, last=min(first + PAGE, items), items=items),
            width="content",
        )
        _step(tr("Next"), "judgments-page-on", None if page == pages else {"page": page + 1}, on=True, shortcut=ON)


def _step(label: str, key: str, to: Mapping[str, Any] | None, *, on: bool = False, shortcut: str | None = None) -> None:
    """A button back or ``on`` to what these parts of the address name; None: there is nothing."""
    side: Literal["left", "right"] = "right" if on else "left"
    st.button(
        label,
        key=key,
        icon=f":material/chevron_{side}:",
        icon_position=side,
        disabled=to is None,
        on_click=go,
        kwargs=dict(to or {}),
        shortcut=shortcut,
    )


def _not_there(said: str) -> None:
    """A part of the link cannot be followed: what, and what is shown."""
    st.warning(said, icon=":material/link_off:")


def _open_item(codes: Sequence[int], key: str) -> None:
    rows = st.session_state[key].selection.rows
    if rows and rows[0] < len(codes):
        go(item=codes[rows[0]], call=None)


# ---------------------------------------------------------------- one item


def chosen_item(info: RunInfo) -> ItemText | None:
    """The item that the address names; None for the list of items."""
    wanted = st.query_params.get("item")
    if wanted is None:
        return None
    found = ui.store().item_text(info.run, int(wanted)) if wanted.isdecimal() else None
    if found is None:
        _not_there(
            tr(
                "The link asks for item “{item}”, which this run does not have. Shown instead: all items.",
                item=ui.plain(wanted),
            )
        )
        go(item=None, call=None)
    return found


def item(info: RunInfo, asked: Condition, about: ItemText) -> None:
    """An item's text, its strips across orders, one read word for word, all its judgments."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            tr("All items"),
            icon=":material/arrow_back:",
            on_click=go,
            key="judgments-all",
            kwargs={"item": None, "call": None},
        )
        _neighbours(info, asked, about.item)
    st.subheader(ui.plain(about.item_id), anchor=False)
    _about(about)
    every = ui.store().judgments_behind(info.run, item=about.item, limit=MOST)
    frame = every if asked.arm is None else every[every["arm"] == asked.arm]
    if frame.empty:
        st.info(tr("No judgment of this item under this judge and strategy."))
        return
    frame = frame.reset_index(drop=True)
    arms = offered(info, None).arms
    fits = _fits(frame, asked)
    at = _read_at(frame, every, fits)
    strips(info, frame, arms, at)
    _one_read(info, frame, arms, at)
    _all_reads(frame, arms, fits, asked)


def _neighbours(info: RunInfo, asked: Condition, item: int) -> None:
    """The way to the items before and after this one, in the order of the list it came from."""
    sort: Sort = next((s for s in _sorts(info) if s == st.query_params.get("sort")), "data")
    beside = ui.store().items_beside(info.run, item, asked, sort=sort)
    if beside is None or beside.items == 1:
        return
    before, after = (None if code is None else {"item": code, "call": None} for code in (beside.before, beside.after))
    _step(tr("Previous item"), "judgments-item-back", before, shortcut=BACK)
    _step(tr("Next item"), "judgments-item-on", after, on=True, shortcut=ON)
    st.caption(tr("{place:,} of {items:,}", place=beside.place, items=beside.items), width="content")


def _about(about: ItemText) -> None:
    told = [
        (tr("criterion"), about.criterion),
        (tr("candidate"), about.candidate),
        (tr("humans"), None if about.human is None else tr("{rating:.2f} on average", rating=about.human)),
    ]
    st.caption(" · ".join(f"{name}: {ui.plain(value)}" for name, value in told if value))
    texts = [(tr("Instruction"), about.instruction), (tr("Response"), about.response), *about.answers]
    texts = [(name, text) for name, text in texts if text]
    if not texts:
        st.caption(tr("The texts of this item were not imported."))
        return
    with st.expander(tr("What was judged"), icon=":material/article:"):
        for name, text in texts:
            ui.verbatim(text, label=ui.plain(name))


def _fits(frame: pd.DataFrame, asked: Condition) -> pd.Series[bool]:
    """Which judgments meet the filters that are about judgments, not about items."""
    fits = pd.Series(data=True, index=frame.index)
    for name in ("score", "position"):
        if (value := getattr(asked, name)) is not None:
            fits &= frame[name] == value
    if asked.status is not None:
        fits &= (frame["status"] != "ok") if asked.status == UNREAD else (frame["status"] == asked.status)
    if asked.ordering is not None:
        fits &= frame["shown"].map(order_name) == asked.ordering
    return fits


def _read_at(frame: pd.DataFrame, every: pd.DataFrame, fits: pd.Series[bool]) -> int:
    """The row the address names, else the first that meets the filters, else the first."""
    wanted = st.query_params.get("call")
    if wanted is not None:
        here = frame.index[frame["call"].astype(str) == wanted]
        if len(here):
            return int(here[0])
        if wanted not in set(every["call"].astype(str)):
            _not_there(
                tr(
                    "The link asks for judgment “{judgment}”, which this item does not have. Shown instead: its first one.",
                    judgment=ui.plain(wanted),
                )
            )
        go(call=None)
    return int(fits.to_numpy().argmax())


# ---------------------------------------------------------------- one judgment, all judgments


def _one_read(info: RunInfo, frame: pd.DataFrame, arms: Sequence[Arm], at: int) -> None:
    """One judgment word for word, with the way to the one before and the one after."""
    row = {str(name): value for name, value in frame.iloc[at].items()}
    calls = frame["call"].tolist()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            tr("**Judgment {number:,} of {judgments:,}**", number=at + 1, judgments=len(frame)), width="content"
        )
        _step(tr("Previous"), "judgments-back", None if at == 0 else {"call": calls[at - 1]})
        _step(tr("Next"), "judgments-on", None if at + 1 == len(frame) else {"call": calls[at + 1]}, on=True)
    st.markdown(_in_words(reads_of(frame.iloc[[at]])[0], arms[int(row["arm"])], row))
    detail(info, row)


def _in_words(read: Read, arm: Arm, row: Mapping[str, Any]) -> str:
    """What one judgment came to, in a line."""
    told = [arm_name(arm), tr("shown: {order}", order=" ".join(read.shown))]
    told.append(_answer(read, arm.axis))
    if read.probabilities and read.position:
        told.append(tr("with probability {probability:.0%}", probability=read.probabilities[read.position - 1]))
    if read.expected is not None:
        told.append(tr("expected score {score:.2f}", score=read.expected))
    if row["repeat"]:
        told.append(tr("repeat {number}", number=int(row["repeat"]) + 1))
    return " · ".join(ui.plain(part) for part in told)


def _answer(read: Read, axis: str) -> str:
    if read.position is None:
        return tr("no answer could be read ({status})", status=tr(OUTCOMES[read.status]))
    if axis in ("criteria", "batch"):
        if read.score is None:
            return ""
        return tr("score {score:g} at position {position}", score=read.score, position=read.position)
    if read.position == 0:
        return tr("a tie")
    if axis == "options":
        return tr("score {score} at position {position}", score=winner_of(read), position=read.position)
    return tr("chose {answer} at position {position}", answer=winner_of(read), position=read.position)


def _all_reads(frame: pd.DataFrame, arms: Sequence[Arm], fits: pd.Series[bool], asked: Condition) -> None:
    """All judgments of the item as a table; a chosen row is read above."""
    st.markdown(tr("**All judgments of this item**"))
    shown = reads_frame(frame, arms)
    narrowed = any(
        (asked.score is not None, asked.position is not None, asked.status is not None, asked.ordering is not None)
    )
    if narrowed:
        shown.insert(0, msg("meets the filters"), fits.to_numpy())
    none = tr(" No judgment of this item meets all the filters.") if not fits.any() else ""
    st.caption(tr("Choose a row to read it above.") + none)
    key = f"judgments-reads-{frame['item'].iat[0]}"
    opened = partial(_open_row, frame["call"].tolist(), key)
    _openable(ui.written(shown, FORMS), len(shown), opened, key, height=420, columns=formats(shown))


def _open_row(calls: Sequence[int], key: str) -> None:
    rows = st.session_state[key].selection.rows
    if rows and rows[0] < len(calls):
        go(call=calls[rows[0]])
