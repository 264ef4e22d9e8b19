"""Small pieces of HTML. Every text of unknown origin goes through here and comes out as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)}
_CONTROLS |= {127: "\u2421"} | dict.fromkeys(range(128, 160), "\ufffd")


def clean(value: object) -> str:
    """The text with what is not text made visible: control characters as their pictures.

    Marks that turn the direction of the text around them, and halves of characters, become
    the replacement sign.
    """
    shown = str(value).replace("\r\n", "\n").translate(_CONTROLS)
    return _SURROGATES.sub("\ufffd", _OVERRIDES.sub("\ufffd", shown))


def text(value: object) -> str:
    """Any text, for between tags and inside a quoted attribute."""
    return escape(clean(value))


def name(value: object) -> str:
    """A name somebody gave: its direction of writing does not reach the words around it."""
    return f"<bdi>{text(value)}</bdi>"


def heading(level: int, title: str, *, anchor: str = "") -> str:
    mark = f' id="{escape(anchor)}"' if anchor else ""
    return f"<h{level}{mark}>{name(title)}</h{level}>"


def paragraph(said: str, *, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<p dir="auto"{mark}>{text(said)}</p>'


def listing(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f'<li dir="auto">{text(line)}</li>' for line in lines) + "</ul>"


def table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()
) -> str:
    """A table that scrolls inside its own box; ``numbers`` are the columns set to the right.

    The first cell of a row names it.
    """
    right = set(numbers)

    def side(column: int) -> str:
        return ' class="number"' if column in right else ""

    top = "".join(f'<th scope="col"{side(i)}>{text(column)}</th>' for i, column in enumerate(head))
    lines = "".join(
        f'<tr><th scope="row">{name(row[0])}</th>'
        + "".join(f"<td{side(i)}>{name(cell)}</td>" for i, cell in enumerate(row[1:], 1))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{text(title)}"><table>'
        f"<caption>{text(title)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def folded(title: str, inside: str) -> str:
    return f"<details><summary>{text(title)}</summary>{inside}</details>"


def verbatim(title: str, said: str) -> str:
    """A text exactly as it was sent or received."""
    return (
        f'<figure class="words"><figcaption>{text(title)}</figcaption>'
        f'<pre dir="auto" tabindex="0" role="group" aria-label="{text(title)}">{text(said)}</pre></figure>'
    )
