"""What the findings pages share: named numbers, words for advice, warnings, tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.findings.effects import words
from rubriclab.findings.topic import Advice, Question
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import UNKNOWN, arm_name
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import Effect
from rubriclab.store import RunInfo

T = TypeVar("T", bound=Hashable)


class OfAnArm(Protocol):
    """A finding about one arm of a run."""

    @property
    def code(self) -> int: ...

    @property
    def arm(self) -> Arm: ...


A = TypeVar("A", bound=OfAnArm)

BADGES = {
    "effect": msg(":red-badge[effect]"),
    "equivalent": msg(":green-badge[equivalent]"),
    "undecided": msg(":gray-badge[undecided]"),
}
"""The three answers as they stand beside a question; said by ``badge``."""
VERDICTS = (msg("effect"), msg("equivalent"), msg("undecided"))
"""The three answers as they stand in a table."""


def badge(verdict: str) -> str:
    """One of the three answers, in its colour."""
    return tr(BADGES[verdict])


def answer(sentence: str) -> None:
    """The answer of a page in words, before any number."""
    st.markdown(f"#### {ui.plain(sentence)}")


ABREAST = 4
"""Numbers in one row, whose labels can be read on a screen 1,280 pixels wide."""


def metrics(*cells: tuple[str, str, str, str]) -> None:
    """Numbers side by side: (label, value, what stands below it, definition); of many in rows of a length.

    More than ABREAST would cut their labels off, which then look alike.
    """
    rows = -(-len(cells) // ABREAST)
    width = -(-len(cells) // rows)
    for start in range(0, len(cells), width):
        for place, (label, value, below, about) in zip(st.columns(width), cells[start : start + width], strict=False):
            with place.container(gap="xxsmall"):
                st.metric(label, value, help=about or None)
                if below:
                    st.caption(ui.plain(below))  # as the metric's own “delta” it would be cut off in a narrow column


def verdict(shown: Effect, title: str, about: str) -> None:
    """One of the three answers, with the number it rests on."""
    st.markdown(f"**{ui.plain(title)}** {badge(shown.verdict)} {ui.plain(words(shown))}", help=about or None)


def cautions(*groups: Iterable[str]) -> None:
    """Warnings in plain words, each once; many of them folded away under their number."""
    said = list(dict.fromkeys(text for group in groups for text in group))
    with steady():
        if len(said) < 3:
            for text in said:
                st.info(ui.plain(tr(text)), icon=":material/info:")
            return
        with st.expander(tr("Read with care: {count} notes", count=len(said)), icon=":material/info:"):
            st.markdown("\n".join(f"- {ui.plain(tr(text))}" for text in said))


def steady() -> Any:
    """A part of a page that may have more or fewer elements the next time: what follows keeps its place.

    A browser knows elements by their place. Where one more stands above, it takes every chart below for
    another one, and draws it again.
    """
    return st.container()


def with_ends(name: str, value: float, ends: Interval) -> dict[str, float]:
    """A number and its interval as three columns of a table."""
    return {name: value, f"{name} low": ends.low, f"{name} high": ends.high}


def advice(given: Sequence[Advice]) -> None:
    """Advice as one bordered line a question, two beside each other on a wide screen."""
    for start in range(0, len(given), 2):
        row = given[start : start + 2]
        for place, one in zip(st.columns(2), row, strict=False):
            with place.container(border=True, height="stretch"):
                st.markdown(f"**{ui.plain(one.title)}** {badge(one.effect.verdict)}")
                st.markdown(ui.plain(one.answer))
                st.caption(ui.plain(words(one.effect)))


def arms_of(info: RunInfo) -> tuple[Arm, ...]:
    """The arms of a run, without reading its judgments again."""
    return ui.finding(info, ARMS)


def judges_of(info: RunInfo) -> tuple[str, ...]:
    """The run's judges in its order, which gives each its colour on every page."""
    return tuple(dict.fromkeys(arm.judge for arm in arms_of(info)))


def used_arms(info: RunInfo) -> tuple[int, ...]:
    """Codes of the arms that have judgments."""
    return ui.finding(info, USED_ARMS)


def has_probabilities(info: RunInfo) -> bool:
    """Did any judge of the run give token probabilities?"""
    return ui.finding(info, HAS_PROBABILITIES)


def _arms(data: RunData) -> tuple[Arm, ...]:
    return data.arms


def _used_arms(data: RunData) -> tuple[int, ...]:
    counts = np.bincount(data.judgments["arm"].to_numpy(), minlength=len(data.arms))
    return tuple(np.flatnonzero(counts).tolist())


def _has_probabilities(data: RunData) -> bool:
    return data.probabilities is not None


ARMS = Question("arms", _arms)
USED_ARMS = Question("arms with judgments", _used_arms)
HAS_PROBABILITIES = Question("has probabilities", _has_probabilities, probabilities=True)


def pick(
    label: str, options: Sequence[T], *, key: str, name: Callable[[T], str] = str, address: str | None = None
) -> T:
    """A choice that is only offered where there is more than one; with ``address`` in the link."""
    asked = None if address is None else st.query_params.get(address)
    if len(options) == 1 and asked in (None, _code(options[0])):
        return options[0]
    if address is not None:
        return ui.choose(label, options, key=key, address=address, name=name, code=_code)
    chosen = st.selectbox(label, options, format_func=name, key=key)
    return options[0] if chosen is None else chosen


def pick_arm(label: str, arms: Iterable[A], *, key: str, address: str) -> A:
    """The finding about one arm, chosen by judge and strategy."""
    known = {one.code: one for one in arms}
    names = arm_names({code: one.arm for code, one in known.items()})
    return known[pick(label, list(known), key=key, address=address, name=names.__getitem__)]


def arm_names(arms: Mapping[int, Arm]) -> dict[int, str]:
    """By code what a choice calls an arm: without the data set where all share it, which would hide the strategy."""
    alike = len({arm.dataset for arm in arms.values()}) == 1
    return {code: arm_name(replace(arm, dataset="") if alike else arm) for code, arm in arms.items()}


def _code(option: Hashable) -> str:
    """An option as the address holds it; the parts of a setting one after the other."""
    return " · ".join(map(str, option)) if isinstance(option, tuple) else str(option)


def toggle(label: str, options: Sequence[str], *, key: str, about: str = "", address: str = "view") -> str:
    """A switch between a few views, by their names in English; the first one until something is chosen."""
    return ui.choose(label, options, key=key, address=address, about=about, segments=True, name=tr)


Setting = tuple[str, str, str]


def setting_label(parts: Setting) -> str:
    return " · ".join(part for part in parts if part)


COLUMN_TERMS: Mapping[str, str] = MappingProxyType(
    {
        "p (Holm)": "holm",
        "low": "interval",
        "high": "interval",
        "r": "pearson",
        "rho": "spearman",
        "p (Holm) of r": "holm",
        "change of r": "paired",
        "macro r": "macro",
        "first less last": "first_less_last",
        "Δ position": "delta",
        "Friedman": "friedman",
        "r with humans": "pearson",
        "PC": "pc",
        "PF": "pf",
        "RS": "rs",
        "error": "error",
        "PC interval": "interval",
        "PF interval": "interval",
        "PF p (Holm)": "holm",
        "win rate": "win_rate",
        "mean shift": "mean_shift",
        "flips": "flips",
        "distance": "debiased",
        "AIC": "predictors",
        "AIC rises by": "predictors",
        "differ": "disagreement",
    }
)
"""What a column of a table means, by its heading: the same name means the same everywhere."""


def heading(name: str) -> str:
    """What stands above a column: frames, and the files made of them, have its name in English."""
    if name.endswith(" low"):
        return tr("{name} low", name=tr(name.removesuffix(" low")))
    if name.endswith(" high"):
        return tr("{name} high", name=tr(name.removesuffix(" high")))
    return tr(name)


def headings(frame: pd.DataFrame) -> dict[str, str]:
    """By column what stands above it."""
    return {name: heading(name) for name in map(str, frame.columns)}


def in_words(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """A frame with the cells of these columns said; files keep them in English."""
    return frame.assign(
        **{
            name: [tr(cell) if isinstance(cell, str) else cell for cell in frame[name]]
            for name in columns
            if name in frame
        }
    )


def table(
    frame: pd.DataFrame,
    *,
    key: str,
    forms: Mapping[str, Sequence[str]] = MappingProxyType({}),
    said: Sequence[str] = (),
    select: bool = False,
) -> list[int]:
    """A table without its index; with ``select`` the number of the row the user chose.

    ``forms``: a number format (as ``%.3f``) with the columns that take it. ``said``: columns whose cells are words
    of the lab, as verdicts are.
    """
    told = {name: ui.about(COLUMN_TERMS[name]) for name in frame.columns if name in COLUMN_TERMS}
    above = headings(frame)
    config: dict[str, Any] = {name: st.column_config.Column(text, help=told.get(name)) for name, text in above.items()}
    form_of = {name: form for form, names in forms.items() for name in names}
    config |= {name: ui.number_column(above.get(name), form, help=told.get(name)) for name, form in form_of.items()}
    frame = in_words(frame, ("verdict", *said))
    shown = ui.written(frame, form_of)
    if not select:
        st.dataframe(shown, hide_index=True, width="stretch", key=key, column_config=config, placeholder=UNKNOWN)
        return []
    event = st.dataframe(
        shown,
        hide_index=True,
        width="stretch",
        key=key,
        column_config=config,
        on_select="rerun",
        selection_mode="single-row",
        height=min(36 * len(frame) + 40, 320),
        placeholder=UNKNOWN,
    )
    return list(event.selection.rows)
