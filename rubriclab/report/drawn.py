"""A chart as the report shows it."""

from __future__ import annotations

from typing import NamedTuple

from rubriclab.figures.style import Chart


class Drawn(NamedTuple):
    """A chart under its caption. ``terms``: what has to be known to read it, by glossary key."""

    caption: str
    chart: Chart
    terms: tuple[str, ...] = ()
