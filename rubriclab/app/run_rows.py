"""Say in a row of Runs where a run is, and what it says of each judge.

The state of a run is a chip, which is never green: green belongs to the words of the ladder, so a
green “Done” would read as a verdict. A judge that lost more than 5% of its replies is never under
“Done”.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import streamlit as st

from rubriclab.app import state
from rubriclab.app.frame import safe
from rubriclab.app.state import Lost
from rubriclab.judges.faults import FAULTS
from rubriclab.model.judgment import RULES
from rubriclab.model.text import LabError, count
from rubriclab.store.machine import is_sealed, sealed
from rubriclab.store.read import JUDGE_WORDS
from rubriclab.words.phrases import lowered, number

if TYPE_CHECKING:
    from rubriclab.store.read import RunInfo

PACKAGE = Path(__file__).parent.parent
MOST_LOST = 0.05
"""Largest share of unparsed replies of a judge under “Done”."""
MOST_JUDGES = 6
"""A row names no more judges than this."""
EVEN_UNREAD = 20
"""A running card warns from this many unparsed replies on."""
STOPPED_WORDS = {
    "paused": "Paused",
    "cancelled": "Cancelled",
    "interrupted": "Stopped",
}
"""States of runs that stopped before their end, as their chips say it."""


class Chip(NamedTuple):
    """The state of a run in a few words. ``why``: there is a reason to look at."""

    words: str
    colour: Literal["blue", "gray", "orange"]
    why: bool = False

    def markdown(self) -> str:
        return f":{self.colour}-badge[{safe(self.words)}]"


def chip_of(info: RunInfo, lost: Mapping[str, Lost]) -> Chip:
    """Return the chip of a run that is not running here.

    ``lost``: by judge, how many replies could not be parsed.
    """
    if info.state == "failed":
        return Chip("No reply parsed: see why", "orange", why=True)
    if info.state == "planned":
        return Chip("Not started", "gray")
    if info.state in STOPPED_WORDS:
        if key_refused(info):
            return Chip("Stopped: key refused", "orange", why=True)
        return Chip(f"{STOPPED_WORDS[info.state]} at {info.done:,} of {info.planned:,}", "gray")
    asked = sum(part.asked for part in lost.values())
    if asked and any(part.share > MOST_LOST for part in lost.values()):
        share = sum(part.lost for part in lost.values()) / asked
        words = number(share, ".0%") if share >= MOST_LOST else "Some replies"
        return Chip(f"{words} unparsed: see why", "orange", why=True)
    return Chip("✓ Done", "gray")


def key_refused(info: RunInfo) -> bool:
    """Return whether a judge's server refused the key of this run."""
    return info.state in STOPPED_WORDS and FAULTS["auth"].rstrip(".") in info.reason


JudgeWords = Mapping[str, tuple[str, str]]
"""By judge: its word of the ladder (empty for none), and its number as a phrase."""


def kept_words(infos: Sequence[RunInfo]) -> dict[str, JudgeWords]:
    """Return the words that the user's store keeps of these runs, by ID, if they are up to date.

    Computing them takes up to a second for each run. A store that came from elsewhere could claim
    any word, so only those count that have this machine's seal.
    """
    found = dict[str, JudgeWords]()
    kept = state.store().judge_words([info.id for info in infos])
    for info in infos:
        body = kept.get(info.id, {})
        words, seal = body.get("words"), body.get("seal")
        if words is None or not isinstance(seal, str):
            continue
        if is_sealed(seal, JUDGE_WORDS, _made_of(info), json.dumps(words)):
            found[info.id] = {judge: (word, phrase) for judge, (word, phrase) in words.items()}
    return found


def keep_words(infos: Sequence[RunInfo]) -> None:
    """Keep the words of these runs in the user's store, as far as it can be written."""
    bodies = {}
    for info in infos:
        words = _words(info.content, info.id)
        seal = sealed(JUDGE_WORDS, _made_of(info), json.dumps(words))
        bodies[info.id] = {"words": words, "seal": seal}
    with suppress(LabError):  # a full disk or a file that is only read: computed again next time
        state.store().keep_judge_words(bodies)


@cache
def _code_of_words() -> str:
    """Return a digest of the code and the sentences that the words come from.

    A lab in development says other words under the same version, and a row must not contradict the
    results that it opens.
    """
    made = sha256()
    for folder in ("core", "measures", "stats", "words"):
        for path in sorted((PACKAGE / folder).glob("*.*")):
            if path.suffix in (".py", ".toml"):
                made.update(path.read_bytes())
    return made.hexdigest()


def _made_of(info: RunInfo) -> str:
    """Return what a run's words are made of: its content, the rules, and the lab's code.

    Unlike ``RunInfo.content``, it outlives this opening of the store.
    """
    _, _, token = info.token.partition(" ")
    return f"{token} {info.revision} {info.state} {info.name} {RULES} {_code_of_words()}"


def has_words(info: RunInfo) -> bool:
    """Return whether a row says something of each judge of this run."""
    return info.done <= state.MOST_CALLS and len(info.judges) <= MOST_JUDGES


def judge_lines(
    info: RunInfo, lost: Mapping[str, Lost], known: JudgeWords | None = None
) -> list[str]:
    """Return a line of markdown for each judge: its word of the ladder, and its number.

    ``known``: the words, if they are kept; otherwise they are computed.
    """
    if not has_words(info):
        return [f"{count(len(info.judges), 'judge')}: open the results to see"]
    lines = []
    for judge in info.judges:
        part = lost.get(judge, Lost(0, 0))
        name = safe(judge, 40)
        if part.asked and part.lost == part.asked:
            lines.append(f"{name}: **no score in any of {part.asked:,} replies.**")
            continue
        words = known if known is not None else _words(info.content, info.id)
        word, phrase = words.get(judge, ("", state.NO_ESTIMATE))
        said = f"{name} **{safe(word)}**" if word else name
        said += f": {safe(lowered(phrase))}."
        if part.share > MOST_LOST:
            said += f" **{number(part.share, '.0%')} of its replies have no score.**"
        lines.append(said)
    return lines


@st.cache_data(show_spinner=False, max_entries=2_000)
def _words(content: str, run_id: str) -> dict[str, tuple[str, str]]:
    """Return (word of the ladder, its headline) of each judge's first condition.

    Without a word, the phrase is the number that was seen.
    """
    from rubriclab.core.judgments import Judgments
    from rubriclab.words.answer import answers

    assert content  # only what it is cached by
    worded: dict[str, tuple[str, str]] = {}
    for answer in answers(state.findings(run_id)):
        if answer.word and answer.judge not in worded:
            # The number of one position may not be the reason for the word, so the headline goes
            # with it.
            # The row names the judge already.
            phrase = answer.headline.removeprefix(f"{answer.judge} ")
            worded[answer.judge] = answer.word, phrase.replace(f" {answer.judge}'s ", " its ")
    arms = Judgments(state.kept(run_id).table).arms
    # Bare scores have no order, so the number is about the first list.
    listed = next((arm for arm in arms if arm.condition.reorder != "bare"), arms[0])
    said: dict[str, tuple[str, str]] = {}
    for arm in arms:
        judge = arm.condition.judge
        if arm.condition.reorder == listed.condition.reorder and judge not in said:
            said[judge] = worded.get(judge) or ("", state.phrase_of_judge(arm))
    return said
