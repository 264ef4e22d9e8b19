"""What a run's judgments say, read and worked out once per revision of the run."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from rubriclab.app.ui.language import Awaited
from rubriclab.app.ui.reading import Reading, reading_of
from rubriclab.app.ui.runs import store
from rubriclab.findings.topic import Question, Topic
from rubriclab.findings.topics import Findings
from rubriclab.model import RunData
from rubriclab.model.language import SOURCE, language, msg
from rubriclab.store import RunInfo

R = TypeVar("R")
Options = tuple[tuple[str, Hashable], ...]


class _Revision(NamedTuple):
    """What is said of a run's judgments depends on the store, the run, how far it has come, and the language."""

    path: str
    run: str
    revision: str
    probabilities: bool
    reading: Reading = Reading()
    language: str = SOURCE

    @classmethod
    def of(cls, info: RunInfo, *, probabilities: bool = False) -> _Revision:
        kept, read = store(), reading_of(info.run)
        return cls(kept.path, info.run, kept.revision(info.run), probabilities, read, language())


# Frames and findings are read-only, so the caches hand out the object itself: pickling 80 MB
# for every page would cost more than most findings do.
@st.cache_resource(show_spinner=Awaited(msg("Reading judgments …")), max_entries=6)
def _stored(revision: _Revision) -> RunData:
    return store().frame(revision.run, probabilities=revision.probabilities)


def _frame(revision: _Revision) -> RunData:
    """The judgments of a revision, read as this session chose; the arrays are shared."""
    return _stored(revision._replace(reading=Reading(), language=SOURCE)).read_as(*revision.reading)


def run_data(info: RunInfo, *, probabilities: bool = False) -> RunData:
    """The judgments of a run, read once per revision."""
    return _frame(_Revision.of(info, probabilities=probabilities))


@st.cache_resource(show_spinner=Awaited(msg("Working it out …")), max_entries=48)
def _answer(revision: _Revision, key: str, options: Options, _question: Question[Any]) -> Any:
    """``key`` stands for the question in the cache: no two questions share one."""
    del key
    given = {name: _frame(value) if isinstance(value, _Revision) else value for name, value in options}
    return _question.compute(_frame(revision), **given)


class _CachedFindings(Findings):
    """The findings of a stored run, which all pages and sessions of this server share."""

    def __init__(self, info: RunInfo) -> None:
        self._info, self._known, self.seed = info, {}, 0  # no judgments yet: see ``data``

    @property
    def data(self) -> RunData:
        """Read only when a question needs it: most answers are at hand."""
        return run_data(self._info)

    def _computed(self, question: Question[R], options: Mapping[str, Hashable]) -> R:
        derived = isinstance(question, Topic) and question.needs
        if derived:
            return super()._computed(question, options)
        revision = _Revision.of(self._info, probabilities=question.probabilities)
        keyed = tuple(sorted(options.items()))
        answer: R = _answer(revision, question.key, keyed, question)
        return answer


def findings(info: RunInfo) -> Findings:
    """What a run says, each topic worked out once per revision of the run."""
    return _CachedFindings(info)


def finding(info: RunInfo, question: Question[R], **options: Hashable | RunInfo) -> R:
    """The answer of a run's judgments to a question, worked out once per revision and options.

    An option that is a run (a ``RunInfo``) reaches the question as that run's judgments.
    """
    keyed = {name: _Revision.of(value) if isinstance(value, RunInfo) else value for name, value in options.items()}
    return findings(info).of(question, **keyed)
