"""The two cards outside a presentation: as a part of a page of the lab, and as a picture to paste."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from rubriclab.report.showing import Card, Showing
from rubriclab.report.template import clean, environment, file

WIDTH, PAD, GAP = 1200, 48, 32
_ROW, _LINE = 14, 27
_NO_XML = re.compile("[\ufffe\uffff]")
COLORS = ("#d55e00", "#0072b2")
LIT = ("#fbe7da", "#dcecf6")


@dataclass(frozen=True)
class _Line:
    """One line of text of the picture: where it begins, and how it is set."""

    x: float
    y: float
    text: str
    size: int = 19
    bold: bool = False
    color: str = "#1d232b"


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str = "none"
    radius: int = 6


def cards_html(shown: Showing) -> str:
    """The cards with their style sheet; every name and text in them is escaped."""
    template = environment().get_template("cards_alone.html.jinja")
    return template.render(showing=shown, style=Markup(file("cards.css")))


def picture(shown: Showing, sentence: str) -> str:
    """The cards as an SVG of 1,200 pixels across: letters and boxes, nothing that runs or is fetched.

    Names and texts are cut to a few lines, and what is not text in them is made visible.
    """
    parts: list[_Line | _Box] = [_Line(PAD, 74, _xml(shown.title), 34, bold=True)]
    y = 108.0
    for text in _wrapped(sentence, 96, 3):
        parts.append(_Line(PAD, y, text, 20, color="#4a535e"))
        y += 28
    width = (WIDTH - 2 * PAD - GAP) / 2
    top, bottom = y + 6, y
    for k, card in enumerate(shown.cards):
        drawn = list(_card(card, PAD + k * (width + GAP), top, width, k))
        end = max(part.y + (part.height if isinstance(part, _Box) else 14) for part in drawn) + 18
        bottom = max(bottom, end)
        parts += drawn
    frames = [
        frame
        for k in range(len(shown.cards))
        for frame in (
            _Box(PAD + k * (width + GAP), top, width, bottom - top, "#ffffff", "#d9d4c8", 10),
            _Box(PAD + k * (width + GAP), top, width, 8, COLORS[k], radius=4),
        )
    ]
    made = f"{shown.judge}{' (simulated: planted effects, not a model)' if shown.simulated else ''}"
    parts.append(_Line(PAD, bottom + 36, _cut(f"Judge: {made}. Measured with rubriclab.", 120), 16, color="#57606c"))
    template = environment().get_template("cards.svg.jinja")
    label = "; ".join(f"{card.order}: {card.answer}" for card in shown.cards)
    return template.render(
        width=WIDTH,
        height=round(bottom + 64),
        label=_xml(f"{shown.title}. {label}"),
        boxes=[*frames, *(part for part in parts if isinstance(part, _Box))],
        lines=[part for part in parts if isinstance(part, _Line)],
    )


def _card(card: Card, x: float, top: float, width: float, k: int) -> Iterator[_Line | _Box]:
    """The parts of one card, from the top."""
    short = len(card.answer) <= 3
    left, y = x + 26, top + 52
    if short:
        yield _Line(left, top + 88, _xml(card.answer), 76, bold=True)
        left, y = left + 46 * len(card.answer) + 28, top + 56
    else:
        yield _Line(left, y, _cut(card.answer, 30), 32, bold=True)
        y += 34
    yield _Line(left, y, _cut(card.order, 34), 22, bold=True)
    yield _Line(left, y + 27, card.place, 17, color="#57606c")
    y = max(y + 27, top + 96) + 22
    for place, row in enumerate(card.rows):
        texts = _wrapped(row.text, 37 if place == card.lit else 42, 3) or [""]
        if place == card.lit:
            yield _Box(x + 18, y, width - 36, _LINE * len(texts) + _ROW - 2, LIT[k])
        label = _cut(card.labels[place], 4 if row.text else 46)
        for n, text in enumerate(texts):
            base = y + 25 + n * _LINE
            if n == 0:
                yield _Line(x + 32, base, label, bold=True)
            yield _Line(x + (86 if len(label) > 2 else 62), base, text, bold=place == card.lit)
        y += _LINE * len(texts) + _ROW


def _wrapped(text: str, columns: int, lines: int) -> list[str]:
    """At most so many lines of so many columns; East Asian signs take two columns each."""
    plain = _xml(" ".join(text.split()))[: 2 * columns * lines]
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in plain)
    room = columns // 2 if wide > len(plain) / 4 else columns
    return textwrap.wrap(plain, room, max_lines=lines, placeholder=" …")


def _cut(text: str, columns: int) -> str:
    text = _xml(" ".join(text.split()))
    return text if len(text) <= columns else f"{text[: columns - 1]}…"


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", clean(text))
