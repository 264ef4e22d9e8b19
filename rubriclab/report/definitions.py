"""What every number of the lab means: one sentence, the exact definition, a formula, a source.

One text for the tooltips, the Definitions page and the report; it stands in ``definitions.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from rubriclab.model.language import tr

OWN = "rubriclab, not in the papers"
"""The source of what no paper has."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """One number or word. ``sentence``: for a tooltip. ``formula``: LaTeX, ``plain`` the same as
    text (both empty where words are enough). ``source``: paper and section, or the lab itself."""

    key: str
    name: str
    topic: str
    sentence: str
    definition: str
    source: str
    formula: str = ""
    plain: str = ""


def _document() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "definitions.toml").read_text(encoding="utf-8"))


def _unwrapped(text: str) -> str:
    """The text without the line ends that the file has for its reader."""
    return " ".join(text.split())


def _term(topic: str, fields: Mapping[str, str]) -> Term:
    """A term of the file. Raises TypeError for a field that is missing or that a term has not."""
    return Term(topic=topic, **{name: _unwrapped(text) for name, text in fields.items()})


_DOCUMENT = _document()
TOPICS: tuple[str, ...] = tuple(topic["name"] for topic in _DOCUMENT["topics"])
TERMS: tuple[Term, ...] = tuple(
    _term(topic["name"], fields) for topic in _DOCUMENT["topics"] for fields in topic["terms"]
)
_BY_KEY: Mapping[str, Term] = MappingProxyType({term.key: term for term in TERMS})


def term(key: str) -> Term:
    """The term of this key. Raises KeyError for one that is not in the glossary."""
    return _BY_KEY[key]


_WORDS = re.compile(r"(?<=\\text\{)[^}]*")


def words_of(formula: str) -> list[str]:
    """The words that stand in a formula of LaTeX."""
    return _WORDS.findall(formula)


def formula_said(formula: str) -> str:
    """A formula of LaTeX with its words in the reader's language."""
    return _WORDS.sub(lambda words: tr(words.group()), formula)


WHERE = term("share").topic
"""The topic that the Definitions page opens with."""
