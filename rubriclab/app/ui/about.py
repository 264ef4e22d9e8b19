"""The help behind a question mark: a term's sentence, and the way to its definition."""

from __future__ import annotations

from rubriclab.app.ui.frame import plain
from rubriclab.model.language import tr
from rubriclab.report.definitions import Term, term

DEFINITIONS = "definitions"
"""The page of all definitions, as its address ends; relative, so any base path before it will do."""


def about(key: str, more: str = "", *, also: tuple[str, ...] = ()) -> str:
    """The tooltip of a term as Markdown. ``more``: plain text that this place adds.

    ``also``: keys of terms that the same place speaks of; their definitions are linked too.
    Raises KeyError for a key that the glossary does not have.
    """
    told = term(key)
    added = f" {plain(more)}" if more else ""
    links = [_link(told, tr("Definition")), *(_link(term(other)) for other in also)]
    return f"{plain(tr(told.sentence))}{added}\n\n{' · '.join(links)}"


def _link(to: Term, text: str = "") -> str:
    return f"[{text or plain(tr(to.name))}]({DEFINITIONS}?term={to.key})"
