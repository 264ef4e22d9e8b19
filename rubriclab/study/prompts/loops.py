"""Text as a Jinja2 template: what is fixed stays to the byte, a list becomes a loop."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from markupsafe import escape

from rubriclab.datasets.listed import Entry, PartKind
from rubriclab.model.language import tr

MAX_ESCAPES = 100
"""Signs to escape in one stretch of fixed text; beyond them the stretch is one quoted text."""

_ESCAPED = re.compile(r"\{+(?=[%#\r]|\Z)|\{{2,}|\r\n(?:\r\n)*|\r")


def literal(text: str) -> str:
    """A template that renders to ``text``, whatever Jinja2 signs it holds.

    Jinja2 makes every line break in a template a line feed, so a carriage return is quoted too.
    """
    if sum(1 for _ in _ESCAPED.finditer(text)) > MAX_ESCAPES:
        return f"{{{{ {quoted(text)} }}}}"
    return _ESCAPED.sub(lambda match: f"{{{{ {quoted(match[0])} }}}}", text)


def quoted(text: str) -> str:
    """``text`` as a string within a Jinja2 tag."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{text}"'


@dataclass(frozen=True, slots=True)
class Names:
    """What a loop's parts are called: ``each`` in ``all``, and ``key``, which tells entries apart."""

    all: str
    each: str
    key: str
    parts: dict[PartKind, str]


OPTIONS = Names(
    "options",
    "option",
    "option.score",
    {"label": "option.label", "score": "option.score", "text": "option.description"},
)
CRITERIA = Names(
    "criteria", "criterion", "criterion.name", {"label": "criterion.name", "text": "criterion.description"}
)
CANDIDATES = Names("responses", "candidate", "candidate.label", {"label": "candidate.label", "text": "candidate.text"})


@dataclass(slots=True)
class Loop:
    """A list as a loop. ``end``: where in the text it ends; ``texts``: what each entry's text is called
    with, in the order of the text; ``notes``: what a reader should know."""

    template: str = ""
    end: int = 0
    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def loop_of(text: str, entries: Sequence[Entry], keys: Sequence[object], names: Names, *, limit: int) -> Loop:
    """The loop that writes text[first.start:last.end] again, entry by entry.

    ``keys``: what ``names.key`` is for each entry. ``limit``: where the next marked span begins.
    """
    loop = Loop(end=entries[-1].end)
    count = len(entries[0].parts)
    fixed = [[_between(text, entry, place) for entry in entries] for place in range(count + 1)]
    raws = [[text[e.parts[place].start : e.parts[place].end] for e in entries] for place in range(count)]
    body = []
    written = [_part(loop, entries, raws[place], place, names) for place in range(count)]
    for place in range(count):
        if "|" not in written[place] and entries[0].parts[place].kind not in ("score", "item"):
            written[place] = written[place].replace(" }}", f"{_padding(fixed, raws, place)} }}}}")
    for place in range(count + 1):
        body.append(_fixed(loop, fixed[place], [e.value("label") or "" for e in entries], keys, names))
        body.append(written[place] if place < count else "")
    separator = _separator(loop, text, entries, limit)
    loop.template = f"{{% for {names.each} in {names.all} %}}{''.join(body)}{separator}{{% endfor %}}"
    return loop


def _between(text: str, entry: Entry, place: int) -> str:
    """The fixed text before an entry's part; behind its last one for ``place`` = number of parts."""
    start = entry.parts[place - 1].end if place else entry.start
    return text[start : entry.parts[place].start if place < len(entry.parts) else entry.end]


def _fixed(loop: Loop, pieces: Sequence[str], labels: Sequence[str], keys: Sequence[object], names: Names) -> str:
    """Fixed text that is the same for all entries; else with the label in it; else each entry's own."""
    if len(set(pieces)) == 1:
        return literal(pieces[0])
    split = [re.split(rf"(?<!\w){re.escape(label)}(?!\w)", piece) for piece, label in zip(pieces, labels, strict=True)]
    if "label" in names.parts and all(labels) and len({tuple(parts) for parts in split}) == 1 and len(split[0]) > 1:
        return f"{{{{ {names.parts['label']} }}}}".join(map(literal, split[0]))
    ordinals = [re.split(rf"(?<!\w){place}(?!\w)", piece) for place, piece in enumerate(pieces, 1)]
    if names is not OPTIONS and len({tuple(parts) for parts in ordinals}) == 1 and len(ordinals[0]) == 2:
        return "{{ loop.index }}".join(map(literal, ordinals[0]))
    loop.notes.append(
        tr(
            "The signs around the parts differ from entry to entry; each entry keeps its own: {signs}.",
            signs=", ".join(f"“{piece[:20]}”" for piece in dict.fromkeys(pieces)),
        )
    )
    table = ", ".join(f"{_key(key)}: {quoted(piece)}" for key, piece in zip(keys, pieces, strict=True))
    return f"{{{{ {{{table}}}[{names.key}] }}}}"


def _key(key: object) -> str:
    return quoted(key) if isinstance(key, str) else str(key)


def _separator(loop: Loop, text: str, entries: Sequence[Entry], limit: int) -> str:
    """What stands between entries. The same text behind the last one becomes part of each entry."""
    between = [text[a.end : b.start] for a, b in pairwise(entries)]
    if len(set(between)) > 1:
        listed = ", ".join(quoted(one) for one in [*between, ""])
        if any(one.strip() for one in between):
            loop.notes.append(tr("What stands between entries differs; it stays at its place when they move."))
        return f"{{{{ [{listed}][loop.index0] }}}}"
    separator = between[0]
    if not separator:
        return ""
    if text.startswith(separator, loop.end) and loop.end + len(separator) <= limit:
        loop.end += len(separator)
        return literal(separator)
    return f"{{% if not loop.last %}}{literal(separator)}{{% endif %}}"


# ---------------------------------------------------------------- parts


def json_inside(text: str) -> str:
    """A text as it stands between the quotes of a JSON string, its letters as they are."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _json_ascii(text: str) -> str:
    """What Jinja2's filter ``tojson`` writes between the quotes."""
    inside = json.dumps(text)[1:-1]
    for sign in "<>&'":
        inside = inside.replace(sign, f"\\u{ord(sign):04x}")
    return inside


_JSON_CHAIN = (
    r"""|replace("\\", "\\\\")|replace("\"", "\\\"")|replace("\n", "\\n")|replace("\t", "\\t")|replace("\r", "\\r")"""
)
_HTML_CHAIN = "".join(f'|replace("\\\\u{ord(sign):04x}", "{sign}")' for sign in "<>&'")
WAYS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("{{{{ {0} }}}}", str),
    (f"{{{{{{{{ {{0}}{_JSON_CHAIN} }}}}}}}}", json_inside),
    ("{{{{ ({0}|tojson)[1:-1] }}}}", _json_ascii),
    (f"{{{{{{{{ ({{0}}|tojson)[1:-1]{_HTML_CHAIN} }}}}}}}}", lambda text: json.dumps(text)[1:-1]),
    (
        '{{{{ {0}|replace("&", "&amp;")|replace("<", "&lt;")|replace(">", "&gt;") }}}}',
        partial(html.escape, quote=False),
    ),
    ("{{{{ {0}|e }}}}", lambda text: str(escape(text))),
)
"""How a value can be written, and what that gives."""


def _part(loop: Loop, entries: Sequence[Entry], raws: Sequence[str], place: int, names: Names) -> str:
    """The tag of a part: as it is, escaped where that is exact, else the text as it stands."""
    kind = entries[0].parts[place].kind
    shown = [entry.parts[place].value for entry in entries]
    if kind == "item":
        return f"{{{{ {shown[0]} }}}}"
    name = names.parts[kind]
    if kind == "text" and not all(shown):
        name = f'({name} or "")'
    way = next((form for form, written in WAYS if list(map(written, shown)) == list(raws)), None)
    if way is None:
        loop.notes.append(
            tr("Descriptions hold signs that are escaped in the prompt; they are kept as they stand there.")
        )
        way, shown = WAYS[0][0], list(raws)
    if kind == "text":
        loop.texts = shown
    return way.format(name)


def _padding(fixed: list[list[str]], raws: list[list[str]], place: int) -> str:
    """The call that pads a part to its column's width, its spaces taken from the fixed text; "" for none."""
    before, after = fixed[place], fixed[place + 1]
    ends = [len(piece) - len(piece.lstrip(" ")) for piece in after]
    starts = [len(piece) - len(piece.rstrip(" ")) for piece in before]
    sizes = [len(raw) for raw in raws[place]]
    least, first = min(*ends, 1), min(*starts, 1)
    widths = {size + end - least for size, end in zip(sizes, ends, strict=True)}
    if len(set(ends)) > 1 and len(widths) == 1 and len({p.lstrip(" ") for p in after}) == 1:
        fixed[place + 1] = [piece[end - least :] for piece, end in zip(after, ends, strict=True)]
        return f".ljust({widths.pop()})"
    widths = {size + start - first for size, start in zip(sizes, starts, strict=True)}
    if len(set(starts)) > 1 and len(widths) == 1 and len({p.rstrip(" ") for p in before}) == 1:
        fixed[place] = [piece[: len(piece) - (start - first)] for piece, start in zip(before, starts, strict=True)]
        return f".rjust({widths.pop()})"
    return ""
