"""What counts as an effect and what is resampled: the reader's choice, which asks no new calls."""

from __future__ import annotations

from typing import NamedTuple, get_args

import streamlit as st

from rubriclab.app.ui.about import about
from rubriclab.model import SMALLEST_EFFECT, UnitChoice
from rubriclab.model.language import msg, tr

UNITS: dict[UnitChoice, str] = {
    "auto": msg("the prompt where items share one, else the block, else the item"),
    "item": msg("the item"),
    "block": msg("the block"),
    "prompt": msg("the prompt"),
}
EXAMPLE = msg("At 0.1 a mean of 3.0 that becomes 3.1 when the options are turned round is just of interest.")


class Reading(NamedTuple):
    """How a run's answers are read; None: as its study says."""

    smallest_effect: float | None = None
    unit: UnitChoice | None = None


def reading_of(run: str) -> Reading:
    """What this session chose for a run."""
    chosen: Reading = st.session_state.get(_key(run), Reading())
    return chosen


def choose_reading(run: str, stored: Reading) -> None:
    """A button that says how the run is read, with the two choices behind it and in the address."""
    asked = Reading(_number(st.query_params.get("effect")), _unit(st.query_params.get("unit")))
    if _key(run) not in st.session_state and asked != Reading():
        st.session_state[_key(run)] = asked
    now = reading_of(run)
    size = now.smallest_effect or stored.smallest_effect or SMALLEST_EFFECT
    unit = now.unit or stored.unit or "auto"
    with st.popover(tr("Of interest from {size:g} steps", size=size), icon=":material/straighten:"):
        for part, value in (("size", size), ("unit", unit)):
            # Written anew at each draw: what a widget of another page left under the key is there to be read, but
            # is not this page's widget's, which would begin at its least value and pass for a choice.
            key = f"reading-{run}-{part}"
            st.session_state[key] = st.session_state.get(key, value)
        chosen = reading_fields(f"reading-{run}-size", f"reading-{run}-unit")
    if chosen != Reading(size, unit):
        st.session_state[_key(run)] = chosen
        st.query_params["effect"] = f"{chosen.smallest_effect:g}"
        st.query_params["unit"] = str(chosen.unit)
        st.rerun()


def reading_fields(size_key: str, unit_key: str) -> Reading:
    """The two choices as widgets, whose values are in the session under these keys."""
    wanted = st.number_input(
        tr("Smallest effect of interest, in steps of the scale"),
        0.001,
        10.0,
        step=0.05,
        key=size_key,
        format="%.3g",
        help=about("sesoi"),
    )
    st.caption(tr(EXAMPLE))
    kinds: tuple[UnitChoice, ...] = get_args(UnitChoice)
    resampled = st.selectbox(
        tr("Unit that intervals resample"),
        kinds,
        key=unit_key,
        format_func=lambda kind: tr(UNITS[kind]),
        help=about("unit"),
    )
    return Reading(float(wanted), resampled)


def _key(run: str) -> str:
    return f"reading/{run}"


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 < number <= 10 else None


def _unit(text: str | None) -> UnitChoice | None:
    return next((unit for unit in UNITS if unit == text), None)
