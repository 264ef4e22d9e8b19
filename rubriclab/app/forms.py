"""Draw the parts of forms that several pages share: steps, lists, fields, uploads, and downloads.

A form starts from what a pydantic model or a table holds. Widgets keep their values when the
visitor changes the step or the page, until ``forget`` lets them start again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import pandas as pd
import streamlit as st
from pydantic import BaseModel

from rubriclab.app import state
from rubriclab.app.frame import announce, faults, go, safe
from rubriclab.model.text import shorten

if TYPE_CHECKING:
    from rubriclab.app.draft import Draft

SETUP: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "setup.toml").read_text("utf-8"))
"""Labels, help texts, and placeholders of Set up, by step."""


def step(
    number: int, title: str, summary: str, *, opened: bool, ready: bool, body: Callable[[], None]
) -> None:
    """Draw one step of Set up: the whole form if it is ``opened``, else one line with a button.

    ``summary``: what is chosen, as plain text. ``body`` draws the form. Step 1 has no ``Done``,
    because confirming the data closes it.
    """
    with st.container(border=True, key=f"step-{number}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            shown_as, mark = "", str(number)
            if opened:
                shown_as = "step-open"
            elif ready:
                shown_as, mark = "step-ready", "✓"
            st.html(
                f'<span class="step-number {shown_as}" aria-hidden="true">{mark}</span>',
                width="content",
            )
            st.header(title, anchor=False, width="content")
            if not opened:
                st.markdown(f":gray[{safe(summary, 120)}]", width="stretch")
                word = "Change" if ready else "Open"
                st.button(
                    word,
                    key=f"step-{number}-change",
                    type="tertiary",
                    on_click=open_step,
                    args=(number,),
                )
        if opened:
            body()
            if number > 1:
                st.button(
                    "Done",
                    key=f"step-{number}-done",
                    icon=":material/check:",
                    on_click=open_step,
                    args=(0,),
                )


def setup_button(*, width: Literal["content", "stretch"] = "content", primary: bool = True) -> None:
    """Draw the button that opens Set up."""
    if st.button(
        "Set up a run",
        icon=":material/tune:",
        type="primary" if primary else "secondary",
        width=width,
    ):
        go("setup")


def sample_button(*, width: Literal["content", "stretch"] = "content") -> None:
    """Draw the button that judges the lab's sample with its small model."""
    pressed = st.button(
        "Run the sample",
        icon=":material/play_arrow:",
        width=width,
        key="run-sample",
        help="Judges 60 short answers with a small model on this machine, in a few minutes. The "
        "first use downloads 94 MB. It needs no key and no GPU.",
    )
    if pressed:
        from rubriclab.runs.loading import plan_of_file

        with faults():
            run_id = state.manager().start(plan_of_file("demo"), check="hold").id
            announce("Judging the sample.")
            go("runs", run=run_id)


def ways_in(missing: str) -> None:
    """Say what is missing, and offer the ways to a first run."""
    st.markdown(missing)
    with st.container(horizontal=True):
        setup_button()
        sample_button()


def open_step(number: int) -> None:
    """Open this step of Set up and close the others; 0 closes all."""
    st.session_state["setup step"] = number


def editor(start: pd.DataFrame, *, key: str, **options: Any) -> pd.DataFrame:
    """Draw an ``st.data_editor`` whose edits survive a change of step or page.

    Streamlit forgets the edits of a table that is not drawn, and starts again from the table that
    it is given. So that table stays the same while the editor is drawn; afterwards it is what was
    edited.
    """
    if key not in st.session_state:
        st.session_state[f"{key} base"] = st.session_state.get(f"{key} now", start)
    edited: pd.DataFrame = st.data_editor(st.session_state[f"{key} base"], key=key, **options)
    st.session_state[f"{key} now"] = edited
    return edited


def ask(
    widget: Callable[..., Any], label: str, *choices: Any, key: str, start: Any, **more: Any
) -> Any:
    """Draw a widget that survives a change of step or page; return its value.

    ``start``: its first value. ``more``: further arguments of the widget.
    """
    st.session_state.setdefault(key, start)
    return widget(label, *choices, key=key, persist_state="session", **more)


def forget(*beginnings: str) -> None:
    """Let the widgets whose keys begin like this start again from what the draft holds."""
    for key in [key for key in st.session_state if str(key).startswith(beginnings)]:
        del st.session_state[key]


def column_select(
    label: str,
    columns: Sequence[str],
    guessed: str = "",
    *,
    key: str,
    why: str = "",
    optional: bool = True,
) -> str:
    """Ask for a column of a table; return its name, or an empty text for none.

    The choice is made by number, because two columns may have names that look the same.
    ``guessed``: the column chosen at first; ``why``: the reason for the guess, shown as help.
    """
    short = [shorten(name, 60) or f"column {code}" for code, name in enumerate(columns, 1)]
    shown = [
        f"{name} ({code})" if short.count(name) > 1 else name for code, name in enumerate(short, 1)
    ]
    shown.append("None")  # under the number -1
    choices = range(-1 if optional else 0, len(columns))
    code = ask(
        st.selectbox,
        label,
        choices,
        key=key,
        start=columns.index(guessed) if guessed in columns else choices[0],
        format_func=shown.__getitem__,
        help=safe(why) or None,
    )
    if code is None or code < 0:
        return ""
    return columns[int(code)]


def segments(
    label: str, options: Mapping[str, str], *, key: str, start: str, hidden: bool = True
) -> str:
    """Ask for one of a few values in a segmented control, and return it.

    ``options``: value -> label. One value is always chosen.
    """
    shown: Any = "collapsed" if hidden else "visible"
    chosen = ask(
        st.segmented_control,
        label,
        list(options),
        key=key,
        start=start,
        format_func=options.__getitem__,
        required=True,
        label_visibility=shown,
    )
    return chosen or start


def upload(label: str, endings: Sequence[str], held: Draft, name: str, **more: Any) -> Any:
    """Draw an uploader that is empty again after every upload that was kept.

    ``name``: makes its key different from that of other uploaders.
    """
    return st.file_uploader(
        label, type=list(endings), key=f"upload-{name}-{held.uploads.version}", **more
    )


def download(label: str, content: Any, name: str, **more: Any) -> None:
    """Draw a download button. ``content``: the file, or a function that makes it on demand."""
    mime = guess_type(name)[0] or "application/octet-stream"
    st.download_button(
        label, content, name, mime, on_click="ignore", icon=":material/download:", **more
    )


def listed(rows: Sequence[str], name: str, remove: Callable[[int], None]) -> int | None:
    """Draw a list whose rows can be changed and removed; return the row whose form is open.

    ``rows``: markdown. ``len(rows)`` is the number of a new row, and None means that no form is
    open. A single row whose form is open is not listed. ``name``: the beginning of the keys of the
    form's widgets, which start again when another row is opened.
    """

    def removed(number: int) -> None:
        remove(number)
        open_row(name, None)

    opened: int | None = st.session_state.setdefault(f"setup {name} open", 0)
    if not rows:
        return 0
    if len(rows) == 1 and opened == 0:
        return opened
    for number, row in enumerate(rows):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(row, width="stretch")
            if number != opened:
                key = f"{name}-change-{number}"
                edit = (name, number)
                st.button("Change", key=key, type="tertiary", on_click=open_row, args=edit)
            key = f"{name}-remove-{number}"
            st.button("Remove", key=key, type="tertiary", on_click=removed, args=(number,))
    return opened


def open_row(name: str, number: int | None) -> None:
    """Open the form of this row of a list; None closes it."""
    forget(f"{name}-")
    st.session_state[f"setup {name} open"] = number


MOST_EXACT = 2**53 - 1
"""JavaScript stores whole numbers exactly up to here. Larger ones are shown, but not edited."""


@cache
def _schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the JSON schema of a model's fields, by name."""
    properties: Mapping[str, Any] = model.model_json_schema()["properties"]
    return properties


def field(part: BaseModel, name: str, label: str, where: Any = st, *, key: str, **more: Any) -> Any:
    """Draw a widget for one field of a model, and return its value.

    The field's schema gives the kind of widget, its bounds, and its choices; the part's own value
    is the start. ``key``: the beginning of the widget's key. ``more``: further arguments of the
    widget.
    """
    schema = _schema(type(part))[name]
    optional = "anyOf" in schema
    kind = _kind_of(schema)
    value = getattr(part, name)
    if isinstance(value, int) and abs(value) > MOST_EXACT:
        where.text_input(label, str(value), disabled=True)
        return value
    kept = {"key": f"{key}-{name}", "start": value}
    if kind["type"] == "boolean":
        return ask(where.checkbox, label, **kept, **more)
    if "enum" in kind or "options" in more:
        known = [*more.pop("options", kind.get("enum", ()))]
        if value is not None and value not in known:
            known.append(value)
        return ask(
            where.selectbox, label, known, **kept, **{"index": None if optional else 0, **more}
        )
    if kind["type"] == "string":
        return ask(
            where.text_input, label, **kept, **{"max_chars": kind.get("maxLength", 500), **more}
        )
    options: dict[str, Any] = _bounds(kind)
    if optional:
        options["value"] = None
    return ask(where.number_input, label, **kept, **options | more)


def _kind_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a field's value, without the None of an optional field."""
    for kind in schema.get("anyOf", [schema]):
        if kind.get("type") != "null":
            return cast("Mapping[str, Any]", kind)
    return schema


def _bounds(kind: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds of a number for its widget, within what a browser can store exactly."""
    number = int if kind["type"] == "integer" else float
    ends = {
        "min_value": kind.get("minimum", kind.get("exclusiveMinimum")),
        "max_value": kind.get("maximum"),
    }
    return {
        name: number(min(max(end, -MOST_EXACT), MOST_EXACT))
        for name, end in ends.items()
        if end is not None
    }


def form(part: BaseModel, fields: Mapping[str, Any], *, columns: int, key: str) -> dict[str, Any]:
    """Draw several fields in columns, and return their values by name. See ``field``."""
    where = st.columns(columns)
    return {
        name: field(part, name, where=where[number % columns], key=key, **about)
        for number, (name, about) in enumerate(fields.items())
    }
