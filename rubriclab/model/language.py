"""The language that readers are spoken to in: whatever they read goes through ``tr``.

English stands in the code. Every other language is one catalogue beside this module, in the form that translators'
tools know (gettext's PO); what it does not have is said in English. Names of things, numbers and what is sent to a
judge are no texts: only ``tr`` and what is made of it depends on the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from numbers import Real
from pathlib import Path
from string import Formatter
from typing import Any, TypeVar

LANGUAGES: Mapping[str, str] = {"en": "English", "de": "Deutsch"}
"""Each by its code, in its own words."""
SOURCE = "en"
CATALOGUES = Path(__file__).parent / "languages"
Text = TypeVar("Text", bound=str)
Forms = tuple[str, str]
"""A thing as one and as many: “item”, “items”."""

_SPOKEN: ContextVar[str] = ContextVar("language", default="")
_askers: list[Callable[[], str]] = []


def language() -> str:
    """The code of the language that is spoken here and now: one of LANGUAGES."""
    if code := _SPOKEN.get():
        return code
    code = next((code for ask in _askers if (code := ask())), "")
    if code:
        speak(code)  # asked once a thread: a page says a thousand things
    return code or SOURCE


def speak(code: str) -> None:
    """From here on this thread speaks this language, until it is told otherwise."""
    _SPOKEN.set(code)


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """All that is said inside is said in this language, whatever is chosen outside.

    Raises ValueError for a code that is not in LANGUAGES.
    """
    if code not in LANGUAGES:
        raise ValueError(f"“{code}” is no language of the lab; it speaks {', '.join(LANGUAGES)}.")
    before = _SPOKEN.set(code)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def ask_first(asker: Callable[[], str]) -> None:
    """Whom to ask which language is spoken, before English is: a code, or nothing where it is not known."""
    if asker not in _askers:
        _askers.append(asker)


def msg(message: Text) -> Text:
    """A text that is written down here and said elsewhere, by ``tr``: for constants, which know no reader yet."""
    return message


def noun(one: str, many: str) -> Forms:
    """A thing that is counted, for ``wording.many``: it has a form of its own for one in every language."""
    return one, many


def tr(message: str, /, **values: Any) -> str:
    """A text in the reader's language; ``{name}`` in it stands for a value, as for ``str.format``.

    Without values the text is taken as it is, braces too. Numbers are written as the language writes them. A text
    that knows what it was made of (a note of ``stats.inference``) is made of it again.
    """
    code = language()
    if code == SOURCE:
        return message.format(**values) if values else message
    if template := getattr(message, "template", ""):
        made_of: Mapping[str, Any] = getattr(message, "values", {})
        return tr(template, **{name: tr(one) if isinstance(one, str) else one for name, one in made_of.items()})
    found = catalogue(code).get(message, message)
    text = found if isinstance(found, str) else found[0]
    return _Written().vformat(text, (), values) if values else text


def forms(one: str, many: str) -> Forms:
    """A noun as one and as many, in the reader's language."""
    code = language()
    found = catalogue(code).get(one) if code != SOURCE else None
    return found if isinstance(found, tuple) else (one, many)


def figure(value: Any, form: str) -> str:
    """A number as ``format(value, form)`` writes it, with the separators of the reader's language."""
    return format(value, form).translate(_separators(language()))


def separators() -> str:
    """The decimal mark and that of thousands, one behind the other."""
    return ".,".translate(_separators(language()))


class Counted(str):
    """A count with its thing, as “3 items”, which a translated text can bend.

    ``{items}`` is “3 items”; ``{items:dat}`` the dative, which German needs after “von” and “mit”;
    ``{items:is|are}`` the one word for one and the other for many.
    """

    n: int

    def __new__(cls, n: int, text: str) -> Counted:
        made = super().__new__(cls, text)
        made.n = n
        return made

    def __format__(self, form: str) -> str:
        if form == "dat":
            return str(self) if self.n == 1 or self.endswith(("n", "s")) else f"{self}n"
        if "|" in form:
            one, many = form.split("|")
            return one if self.n == 1 else many
        return super().__format__(form)


class _Written(Formatter):
    """As ``str.format``, with numbers as the reader's language writes them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Real) and not isinstance(value, bool):
            return figure(value, format_spec)
        return format(value, format_spec)


@cache
def _separators(code: str) -> Mapping[int, str]:
    """What stands in this language for the marks of a number as Python writes it."""
    if code == SOURCE:
        return {}
    from babel import Locale  # read only where it is needed: most visits speak English

    symbols = Locale.parse(code).number_symbols["latn"]
    return str.maketrans({".": symbols["decimal"], ",": symbols["group"], "%": "\u00a0%"})


@cache
def catalogue(code: str) -> Mapping[str, str | Forms]:
    """All texts of a language by their English; of a noun both forms, by its English for one."""
    from babel.messages.pofile import read_po

    with (CATALOGUES / f"{code}.po").open("rb") as file:
        read = read_po(file, locale=code)
    known: dict[str, str | Forms] = {}
    for one in read:
        said = one.string
        if isinstance(one.id, tuple):
            if isinstance(said, tuple) and all(said):
                known[one.id[0]] = (said[0], said[1])
        elif one.id and isinstance(said, str) and said:
            known[str(one.id)] = said
    return known
