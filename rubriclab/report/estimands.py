"""What each number of the lab estimates, on what assumptions; the text stands in ``estimands.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple


class Statement(NamedTuple):
    """What the methods of a paper say where a run has all that ``when`` names (see ``report.paper_methods``).

    ``text``: Markdown with formulas between dollars and works as ``[@key]``.
    """

    when: tuple[str, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class Estimand:
    """One question. ``estimand``: what is averaged over what; ``page``: where its numbers stand;
    ``paper``: what a paper says of its method."""

    name: str
    page: str
    estimand: str
    unit: str
    randomised: str
    assumes: str
    cannot: str
    interval: str
    reference: str
    paper: tuple[Statement, ...] = ()


def _flat(text: str) -> str:
    return " ".join(text.split())


def _read() -> tuple[Estimand, ...]:
    text = (files(__package__) / "estimands.toml").read_text(encoding="utf-8")
    return tuple(
        Estimand(
            **{name: _flat(value) for name, value in fields.items() if name != "paper"},
            paper=tuple(Statement(tuple(one["when"]), _flat(one["text"])) for one in fields.get("paper", ())),
        )
        for fields in tomllib.loads(text)["estimands"]
    )


ESTIMANDS = _read()
"""In the order in which pages ask the questions."""
