"""The help behind a question mark: a term's sentence, and the way to its definition."""

from __future__ import annotations

from rubriclab.glossary import term
from rubriclab.ui.frame import plain

DEFINITIONS = "definitions"
"""The page of all definitions, as its address ends; relative, so any base path before it will do."""


def about(key: str, more: str = "") -> str:
    """The tooltip of a term as Markdown. ``more``: plain text that this place adds.

    Raises KeyError for a key that the glossary does not have.
    """
    told = term(key)
    added = f" {plain(more)}" if more else ""
    return f"{plain(told.sentence)}{added}\n\n[Definition]({DEFINITIONS}?term={told.key})"
