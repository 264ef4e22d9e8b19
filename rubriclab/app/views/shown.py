"""What cards and presentations on the pages are made of, worked out once for each state of a run."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from rubriclab.app import ui
from rubriclab.model import TRIAL_ORIGIN
from rubriclab.model.language import language
from rubriclab.report.presentation import Story, story
from rubriclab.report.showing import Showing, judges_shown, showing, trial_judges
from rubriclab.store import RunInfo


class _Key(NamedTuple):
    """What a showing depends on: the store, the run's judgments, whose they are, the language."""

    path: str
    run: str
    revision: str
    judge: str | None
    arm: int | None
    spoken: str

    @classmethod
    def of(cls, info: RunInfo, judge: str | None, arm: int | None) -> _Key:
        return cls(ui.store().path, info.run, ui.store().revision(info.run), judge, arm, language())


@st.cache_resource(show_spinner=False, max_entries=32)
def _showing(key: _Key, _info: RunInfo) -> Showing:
    data = None if _info.origin == TRIAL_ORIGIN else ui.run_data(_info)
    return showing(ui.store(), key.run, data, judge=key.judge, arm=key.arm)


def showing_of(info: RunInfo, *, judge: str | None = None, arm: int | None = None) -> Showing:
    """The text of a trial, or the most telling one of a run (see ``report.showing``)."""
    return _showing(_Key.of(info, judge, arm), info)


def story_of(info: RunInfo, judge: str | None) -> Story:
    """What there is to present of a run, read as this session chose."""
    findings = None if info.origin == TRIAL_ORIGIN else ui.findings(info)
    return story(ui.store(), info.run, findings, judge=judge)


@st.cache_resource(show_spinner=False, max_entries=32)
def _judges(key: _Key, _info: RunInfo) -> tuple[str, ...]:
    return trial_judges(ui.store(), key.run) if _info.origin == TRIAL_ORIGIN else judges_shown(ui.run_data(_info))


def judges_of(info: RunInfo) -> list[str]:
    """Whose answers can be shown."""
    return list(_judges(_Key.of(info, None, None), info))
