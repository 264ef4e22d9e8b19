"""How lines for a terminal write rows, names and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rubriclab.model.language import SOURCE, language, msg, tr
from rubriclab.model.wording import arm_name, interval, number

Json = Mapping[str, Any]
QUESTIONS = (
    msg("mean score"),
    msg("single scores"),
    msg("single order"),
    msg("mitigation"),
    msg("budget"),
    msg("one call"),
    msg("ranking"),
    msg("stable form"),
    msg("best form"),
    msg("criterion order"),
    msg("criterion order, single texts"),
    msg("first place"),
    msg("consistency"),
    msg("place in the batch"),
    msg("contrast in the batch"),
    msg("order in the batch, single scores"),
    msg("batch or single"),
    msg("agreement with single"),
    msg("people, batch or single"),
)
"""The keys of advice, as its lines name them; those of forms and wordings have a name in them."""


def spoken(of: Json, key: str) -> str:
    """What a part of the document says under ``key``, in the reader's language."""
    return tr(of[key])


def asked(key: str) -> str:
    """The key of a piece of advice as its line names it."""
    kind, colon, name = key.partition(": ")
    if not colon:
        return tr(key)
    if kind == "wording":
        return tr("wording: {name}", name=name)
    form = name.removesuffix(", single items")
    if form != name:
        return tr("form: {name}, single items", name=tr(form))
    return tr("form: {name}", name=tr(name))


def row(label: str, text: str) -> str:
    """A line of an arm: what it is about, then what is said."""
    return f"  {label:<{14 if language() == SOURCE else 15}} {text}"


def notes(texts: Iterable[str]) -> Iterator[str]:
    """What an arm warns of, a line each."""
    return (row(tr("note"), tr(text)) for text in texts)


def named(of: Json, *, strategy: bool = True) -> str:
    """An arm's name without the mark of a simulated judge, which the head of the text has."""
    return arm_name(of, strategy=strategy, simulated=False)


def stated(value: float | None, form: str = ".1%") -> str:
    """A number as text; it says so where there is none."""
    return number(value, form, unknown=tr("unknown"))


def effect_line(shown: Json) -> str:
    """An effect with its interval and its verdict, or why it is unknown."""
    if shown["estimate"] is None:
        return tr("unknown ({why})", why=spoken(shown, "why"))
    ends = span([shown["low"], shown["high"]])
    return f"{stated(shown['estimate'], '+.3f')} {ends}, {spoken(shown, 'verdict')}"


def span(ci: Sequence[float | None]) -> str:
    """An interval in brackets."""
    return interval(ci, ".3f", brackets=True)
