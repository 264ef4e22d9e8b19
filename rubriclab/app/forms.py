"""Models and tables in, parts of forms that several pages share out: a step, a list, fields,
choices, downloads.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import streamlit as st
from pydantic import BaseModel

from rubriclab.app import state
from rubriclab.app.frame import announce, faults, go, safe
from rubriclab.model.text import shorten

if TYPE_CHECKING:
    from rubriclab.app.draft import Draft

SETUP: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "setup.toml").read_text("utf-8"))
"""What the steps of Set up say, by step."""


def step(
    number: int, title: str, summary: str, *, opened: bool, ready: bool, body: Callable[[], None]
) -> None:
    """One step of Set up: its whole form where it is ``opened``, else one line with ``Change``.

    ``summary``: what is chosen, as plain text. ``body`` draws the form. Steps but the first end
    with ``Done``.
    """
    with st.container(border=True, key=f"step-{number}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            state = "step-open" if opened else "step-ready" if ready else ""
            mark = "✓" if ready and not opened else str(number)
            st.html(
                f'<span class="step-number {state}" aria-hidden="true">{mark}</span>',
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
    if st.button(
        "Set up a run",
        icon=":material/tune:",
        type="primary" if primary else "secondary",
        width=width,
    ):
        go("setup")


def sample_button(*, width: Literal["content", "stretch"] = "content") -> None:
    """Judges the lab's own sample with its small model."""
    pressed = st.button(
        "Run the sample",
        icon=":material/play_arrow:",
        width=width,
        key="run-sample",
        help="Downloads a model of 93 MB on its first use, then runs on this machine: no key, no "
        "graphics card. A few "
        "minutes on two cores; you can watch it on Runs.",
    )
    if pressed:
        from rubriclab.runs.loading import plan_of_file

        with faults():
            run_id = state.manager().start(plan_of_file("demo"), check="hold").id
            announce("The sample is being judged.")
            go("runs", run=run_id)


def ways_in(said: str) -> None:
    """What a page shows where there is nothing yet: the ways to a first run."""
    st.markdown(said)
    with st.container(horizontal=True):
        setup_button()
        sample_button()


def open_step(number: int) -> None:
    """Open this step of Set up and close the others; 0 closes all."""
    st.session_state["setup step"] = number


def editor(start: pd.DataFrame, *, key: str, **options: Any) -> pd.DataFrame:
    """``st.data_editor`` on ``start``, whose edits outlive a change of step or page (by itself it
    would forget them).
    """
    if key not in st.session_state:
        st.session_state[f"{key} base"] = st.session_state.get(f"{key} now", start)
    edited: pd.DataFrame = st.data_editor(st.session_state[f"{key} base"], key=key, **options)
    st.session_state[f"{key} now"] = edited
    return edited


def ask(
    widget: Callable[..., Any], label: str, *choices: Any, key: str, start: Any, **more: Any
) -> Any:
    """A widget that starts from a value and outlives a change of step or page. ``more``: what it
    takes besides.
    """
    st.session_state.setdefault(key, start)
    return widget(label, *choices, key=key, persist_state="session", **more)


def forget(*beginnings: str) -> None:
    """Let the widgets whose keys begin so start again from what the draft holds."""
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
    """A select over the columns of a table, by number: two columns may have names that look the
    same. Empty: none.

    ``guessed``: the column chosen at first; ``why``: the reason of the guess, as help.
    """
    names = [shorten(name, 60) or f"column {code}" for code, name in enumerate(columns, 1)]
    names = [
        f"{name} ({code})" if names.count(name) > 1 else name for code, name in enumerate(names, 1)
    ]
    choices = range(-optional, len(columns))
    start = columns.index(guessed) if guessed in columns else choices[0]
    shown = [*names, "None"]  # -1 is the last
    code = ask(
        st.selectbox,
        label,
        choices,
        key=key,
        start=start,
        format_func=shown.__getitem__,
        help=safe(why) or None,
    )
    return "" if code is None or code < 0 else columns[code]


def segments(
    label: str, options: Mapping[str, str], *, key: str, start: str, hidden: bool = True
) -> str:
    """A segmented control with one choice, always made; ``options``: value -> what it says. Returns
    the value.
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
    """An uploader that is empty again after every upload that was kept. ``name``: tells it from
    others.
    """
    return st.file_uploader(
        label, type=list(endings), key=f"upload-{name}-{held.uploads.version}", **more
    )


def download(label: str, content: Any, name: str, **more: Any) -> None:
    """A button that hands over a file; ``content``: what it holds, or what makes it when it is
    asked for.
    """
    mime = guess_type(name)[0] or "application/octet-stream"
    st.download_button(
        label, content, name, mime, on_click="ignore", icon=":material/download:", **more
    )


def listed(rows: Sequence[str], name: str, remove: Callable[[int], None]) -> int | None:
    """The rows of a list, each with ``Change`` and ``Remove``; the number of the one whose form is
    open, None for none.

    ``rows``: markdown; ``len(rows)`` is the number of a new one. Where a form is open and it is the
    only one, there is no list. ``name``: beginning of the keys of the form's widgets, which start
    anew for another row.
    """

    def removed(number: int) -> None:
        remove(number)
        open_row(name, None)

    opened: int | None = st.session_state.setdefault(f"setup {name} open", 0)
    if opened is None or opened >= len(rows) or len(rows) > 1:
        for number, row in enumerate(rows):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(row, width="stretch")
                for word, work, values in (
                    ("Change", open_row, (name, number)),
                    ("Remove", removed, (number,)),
                ):
                    if word == "Remove" or number != opened:
                        key = f"{name}-{word.lower()}-{number}"
                        st.button(word, key=key, type="tertiary", on_click=work, args=values)
    return opened if rows else 0


def open_row(name: str, number: int | None) -> None:
    """Open the form of this row of a list; None closes it."""
    forget(f"{name}-")
    st.session_state[f"setup {name} open"] = number


MOST_EXACT = 2**53 - 1
"""A browser's numbers are exact up to here."""


@cache
def _schema(model: type[BaseModel]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = model.model_json_schema()["properties"]
    return properties


def field(part: BaseModel, name: str, label: str, where: Any = st, *, key: str, **more: Any) -> Any:
    """A widget for one field of a model, by its schema: bounds, choices, on or off; it starts from
    the part's own value.

    ``key``: beginning of the widget's key; ``more``: what the widget takes besides.
    """
    schema = _schema(type(part))[name]
    about = next(
        (kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"), schema
    )
    value = getattr(part, name)
    if isinstance(value, int) and abs(value) > MOST_EXACT:
        where.text_input(label, str(value), disabled=True)
        return value
    kept = {"key": f"{key}-{name}", "start": value}
    if about["type"] == "boolean":
        return ask(where.checkbox, label, **kept, **more)
    if "enum" in about or "options" in more:
        known = more.pop("options", about.get("enum", ()))
        choices = list(dict.fromkeys([*known, *([] if value is None else [value])]))
        return ask(
            where.selectbox,
            label,
            choices,
            **kept,
            **{"index": None if "anyOf" in schema else 0} | more,
        )
    if about["type"] == "string":
        return ask(
            where.text_input, label, **kept, **{"max_chars": about.get("maxLength", 500)} | more
        )
    number = int if about["type"] == "integer" else float
    bounds = {
        "min_value": about.get("minimum", about.get("exclusiveMinimum")),
        "max_value": about.get("maximum"),
    }
    bounds = {
        bound: number(min(max(end, -MOST_EXACT), MOST_EXACT))
        for bound, end in bounds.items()
        if end is not None
    }
    optional = {"value": None} if "anyOf" in schema else {}
    return ask(where.number_input, label, **kept, **optional | bounds | more)


def form(part: BaseModel, fields: Mapping[str, Any], *, columns: int, key: str) -> dict[str, Any]:
    """Several fields side by side, by name: what ``field`` takes, its label among it. Returns what
    is chosen.
    """
    where = st.columns(columns)
    return {
        name: field(part, name, where=where[number % columns], key=key, **about)
        for number, (name, about) in enumerate(fields.items())
    }
