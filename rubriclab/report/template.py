"""The report's template: texts of unknown origin come out of it as text, and its scripts alone run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rubriclab.findings.effects import words
from rubriclab.model.language import language, tr
from rubriclab.model.wording import many

HERE = Path(__file__).parent

_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)}
_CONTROLS |= {127: "\u2421"} | dict.fromkeys(range(128, 160), "\ufffd")


def clean(value: object) -> str:
    """The text with what is not text made visible: control characters as their pictures.

    Marks that turn the direction of the text around them, and halves of characters, become
    the replacement sign. What is markup already stays as it is.
    """
    if isinstance(value, Markup):
        return value
    shown = str(value).replace("\r\n", "\n").translate(_CONTROLS)
    return _SURROGATES.sub("\ufffd", _OVERRIDES.sub("\ufffd", shown))


@cache
def environment() -> Environment:
    """Jinja with everything escaped, after it is cleaned; a name that is not there is an error. One for all pages,
    since a template is read and compiled once."""
    made = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=clean,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= {"effect_words": words, "language": language, "many": many, "tr": tr}
    return made


def render(scripts: Sequence[str], **values: Any) -> str:
    """The report as HTML. ``scripts``: all that the document allows to run, by their hashes."""
    return render_page("report.html.jinja", scripts, style=Markup(file("report.css")), **values)


def render_page(template: str, scripts: Sequence[str], **values: Any) -> str:
    """A template of this folder as an HTML document that runs ``scripts`` and no others."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
    made = environment().get_template(template)
    return made.render(scripts=[Markup(script) for script in scripts], allowed=Markup(allowed), **values)


def drawing_script() -> str:
    """The script that draws a report's figures from the data beside it."""
    return file("report.js")


def file(name: str) -> str:
    """A style sheet or script of this folder."""
    return (HERE / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
