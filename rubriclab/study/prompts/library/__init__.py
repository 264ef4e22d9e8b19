"""Prompts to start from, after the formats that people use, in words of our own: files of this folder."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from rubriclab.model import Axis
from rubriclab.model.language import msg
from rubriclab.model.prompt import PromptTemplate
from rubriclab.study.prompts.files import read_template


class Ready(NamedTuple):
    """A prompt to start from. ``key``: its file's name; ``axes``: the protocols that it is for."""

    key: str
    about: str
    axes: tuple[Axis, ...]
    template: PromptTemplate


_ABOUT: dict[str, tuple[str, tuple[Axis, ...]]] = {
    "score-only": (msg("The label and nothing else: quick, and with probabilities where there are any."), ("options",)),
    "feedback-then-score": (msg("A few sentences, then a line “RATING: …”, as Prometheus does it."), ("options",)),
    "json-verdict": (msg("A JSON object with a reason and a score: what programs read."), ("options",)),
    "reason-then-score": (msg("Step by step, then the level between <score> marks."), ("options",)),
    "evaluation-steps": (msg("A criterion, steps to follow and a form to fill in, as G-Eval does it."), ("options",)),
    "criteria-checklist": (msg("All criteria in one call, answered in one JSON object."), ("criteria",)),
    "better-or-tie": (msg("Which answer is better, or a tie, between <verdict> marks."), ("pairwise", "listwise")),
}


@cache
def templates() -> tuple[Ready, ...]:
    """Every prompt to start from, the quickest first."""
    return tuple(
        Ready(key, about, axes, read_template(f"{key}.toml", source(key).encode()))
        for key, (about, axes) in _ABOUT.items()
    )


def source(key: str) -> str:
    """The file of a prompt to start from, as it stands. Raises KeyError for no such prompt."""
    if key not in _ABOUT:
        raise KeyError(f"There is no prompt “{key}” to start from; there are {', '.join(_ABOUT)}.")
    return (files(__package__) / f"{key}.toml").read_text(encoding="utf-8")
