"""The texts of the lab as its code writes them, and the catalogue of each other language brought up to them.

Run it after a change of words: ``python -m tests.languages.catalogue``. Translations that still fit are kept, texts
that are gone are let go, and new ones stand there without a translation, to be filled in (any editor of PO files will do).
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from babel.messages import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from rubriclab.model.language import CATALOGUES, LANGUAGES, SOURCE
from rubriclab.model.places import CALIBRATION
from rubriclab.report import definitions, estimands

ROOT = Path(__file__).parents[2]
QUESTION = ("name", "estimand", "unit", "randomised", "assumes", "cannot", "interval", "reference")
"""What is said of a question in the reader's language."""
TABLES = (
    ("rubriclab/app/adapters.toml", "tools", ("lead",)),
    ("rubriclab/datasets/gallery.toml", "", ("title", "about", "source", "licence")),
    ("rubriclab/datasets/recipes.toml", "", ("title", "about", "source", "licence")),
)
"""Files with texts, the table of them that has entries (none: the file is such a table), and its fields that are
said."""
HEADER = "# The words of rubriclab. Written anew by: python -m tests.languages.catalogue\n#"


def modules() -> list[Path]:
    """All that speaks: code, and the templates of reports."""
    package = ROOT / "rubriclab"
    return sorted(
        [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *package.rglob("*.py"), *package.rglob("*.html.jinja")]
    )


def of_statistics(path: Path) -> Iterator[str]:
    """Names and notes of tests, which a module of ``stats`` gives without knowing any language: texts of two words
    and more that are neither documentation nor an error's nor part of another."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.JoinedStr | ast.Expr | ast.Call)]
    inside = {id(part) for node in left if _is_no_text(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from re.findall(r".*\w+'?\w* \w.*", node.value)


def _is_no_text(node: ast.AST) -> bool:
    """An error, a documentation, a text with values put in, or what texts are joined by."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return not isinstance(node, ast.Call) or getattr(node.func, "attr", "") == "join"


def of_code(path: Path) -> Iterator[str | tuple[str, str]]:
    """What ``tr`` and ``msg`` are given as it stands there, one of two as well, and both forms of a ``noun``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        if node.func.id == "noun":
            one, many = (str(ast.literal_eval(given)) for given in node.args)
            yield one, many
        elif node.func.id in ("tr", "msg"):
            given = node.args[0]
            for text in (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,):
                if isinstance(text, ast.Constant):
                    yield str(text.value)


def messages_of(path: Path) -> Iterator[str | tuple[str, str]]:
    """The texts of one module or template; a noun with both its forms."""
    if path.parent.name == "stats":
        yield from of_statistics(path)
    elif path.suffix == ".jinja":
        options = {"trim_blocks": "true"}
        for _, message, _, _ in extract_from_file("jinja2", path, keywords={"tr": (1,)}, options=options):
            yield message if isinstance(message, str) else message[0]
    else:
        yield from of_code(path)


def glossary() -> Iterator[tuple[str, str]]:
    """The texts that stand in files of their own, each with its file."""
    for file, entries, words in (
        ("definitions.toml", definitions.TERMS, ("name", "topic", "sentence", "definition", "source", "plain")),
        ("estimands.toml", estimands.ESTIMANDS, QUESTION),
    ):
        said = ((f"rubriclab/report/{file}", getattr(one, word)) for one in entries for word in words)
        yield from ((file, text) for file, text in said if text)
    for term in definitions.TERMS:
        yield from (("rubriclab/report/definitions.toml", words) for words in definitions.words_of(term.formula))
    for file, table, words in TABLES:
        read = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
        entries = read[table] if table else read.values()
        yield from ((file, one[word]) for one in entries for word in words if one.get(word))
    yield CALIBRATION.relative_to(ROOT).as_posix(), json.loads(CALIBRATION.read_text(encoding="utf-8"))["note"]


@cache
def source() -> Catalog:
    """Every text with the modules that say it."""
    found = Catalog()
    for path in modules():
        for message in messages_of(path):
            found.add(message, locations=[(path.relative_to(ROOT).as_posix(), 0)])
    for file, text in glossary():
        found.add(text, locations=[(file, 0)])
    return found


def forms_of(message: Message) -> tuple[str, ...]:
    """A translation as it is, or in both its forms."""
    return tuple(message.string) if isinstance(message.string, tuple) else (str(message.string or ""),)


def path_of(code: str) -> Path:
    return CATALOGUES / f"{code}.po"


def read(code: str) -> Catalog:
    with path_of(code).open("rb") as file:
        return read_po(file, locale=code)


def renewed(code: str) -> bytes:
    """The catalogue of a language with the texts of today, as a file."""
    kept = read(code) if path_of(code).exists() else Catalog(locale=code)
    told = {one.id: one.string for one in kept if one.id and not one.fuzzy}
    new = Catalog(locale=code, header_comment=HEADER, fuzzy=False, project="rubriclab", version="")
    for one in source():
        if one.id:
            new.add(one.id, told.get(one.id, ""), locations=sorted(set(one.locations)))
    file = io.BytesIO()
    write_po(file, new, width=110, include_lineno=False, sort_by_file=True, omit_header=False)
    lines = file.getvalue().decode().splitlines(keepends=True)
    dated = ('"POT-Creation-Date', '"PO-Revision-Date', '"Last-Translator', '"Generated-By')
    return "".join(line for line in lines if not line.startswith(dated)).encode()


def main() -> int:
    for code in LANGUAGES:
        if code != SOURCE:
            path_of(code).write_bytes(renewed(code))
            open_ = [one.id for one in read(code) if one.id and not all(forms_of(one))]
            print(f"{path_of(code).relative_to(ROOT)}: {len(source())} texts, {len(open_)} of them to be translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
