"""What each number of the lab estimates, on what assumptions; the text stands in ``estimands.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, NamedTuple

from rubriclab.model.language import tr


class Statement(NamedTuple):
    """What the methods of a paper say where a run has all that ``when`` names (see ``report.paper_methods``).

    ``text``: Markdown with formulas between dollars and works as ``[@key]``.
    """

    when: tuple[str, ...]
    text: str


WORDS = ("name", "estimand", "unit", "randomised", "assumes", "cannot", "interval")
"""Fields of a question that are said in the reader's language."""


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

    def spoken(self) -> Estimand:
        """The question in the reader's language; what a paper says of it stays English."""
        words: dict[str, Any] = {name: tr(getattr(self, name)) for name in WORDS}
        return replace(self, **words)


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
