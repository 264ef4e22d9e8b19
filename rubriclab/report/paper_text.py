"""Words of a paper in two forms, Markdown and LaTeX: the lab's own text with formulas and citations,
and names of unknown origin in it that neither form obeys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rubriclab.report.latex import latex, markdown

_OPEN, _CLOSE = "\ue000", "\ue001"
_CITED = re.compile(r"\[@([a-z0-9]+(?:; @[a-z0-9]+)*)\]|@([a-z0-9]+)")


def name(text: object) -> str:
    """A name (of a judge, a file, a model) to be set into the lab's own text."""
    return f"{_OPEN}{str(text).replace(_OPEN, '').replace(_CLOSE, '')}{_CLOSE}"


def quoted(text: object) -> str:
    return f"“{name(text)}”"


def to_markdown(text: str) -> str:
    """Pandoc's Markdown: citations as ``[@key]``, formulas between dollars."""
    return "".join(markdown(part) if foreign else part for part, foreign in _parts(text))


def to_latex(text: str) -> str:
    return "".join(latex(part, ends=True) if foreign else _own(part) for part, foreign in _parts(text))


def cited(text: str) -> list[str]:
    """The keys of the works that the lab's own text cites, each once."""
    own = "".join(part for part, foreign in _parts(text) if not foreign)
    keys = (key for found in _CITED.finditer(own) for key in (found[1] or found[2]).split("; @"))
    return list(dict.fromkeys(keys))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a name."""
    for at, part in enumerate(re.split(f"[{_OPEN}{_CLOSE}]", text)):
        yield part, bool(at % 2)


def _own(text: str) -> str:
    """The lab's own text: formulas as they are, citations as commands, all other signs as text."""
    parts = re.split(r"(\$[^$]*\$)", text)
    return "".join(part if at % 2 else _with_citations(part) for at, part in enumerate(parts))


def _with_citations(text: str) -> str:
    out, end = [], 0
    for found in _CITED.finditer(text):
        before = text[end : found.start()]
        keys = (found[1] or found[2]).replace("; @", ",")
        spaced = before.endswith(" ")
        out += [latex(before.removesuffix(" "), ends=True), "~" if spaced else "", rf"\cite{{{keys}}}"]
        end = found.end()
    return "".join([*out, latex(text[end:], ends=True)])
