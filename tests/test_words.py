"""Check that texts which people see use none of the words that readers stumble over.

These words are right in some sentence, but each has a plainer one that says what it means here.
Add a file to ``FILES`` once its texts are reworded.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "rubriclab"
FILES = [
    *(PACKAGE / "app").glob("*.toml"),
    *(PACKAGE / "app").glob("*.py"),
]
# Pattern -> what to write instead.
DROPPED = {
    r"\b(stands?|stood)\b": "is, appears, or means",
    r"\btold\b": "shown, or distinguished",
    r"\bsaid\b": "shown, or claimed",
    r"\basked of\b": "asked about",
    r"\bbesides?\b": "next to, with, compared with, or also",
    r"\banew\b": "again",
    r"\balike\b": "the same, or similar",
    r"\bby now\b": "so far",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bcures?\b": "what to do",
    r"\bthe house\b": "the lab",
    r"\bways? (?!to\b|in\b)": "method, or manner",
    r"\bin words\b": "say which words",
    r"\bsuch\b": "name the thing",
    r"\bsome \d": "about",
    r"\bsigns?\b": "characters",
    r"(?<!\bthere )\b(is|are|was|were) no (?!longer\b)": "is not a",
    r"\bas (?=“|https?:|\d)": "for example",
    r"\be\.g\.|\betc\b": "for example, or and so on",
    r"\bheld against\b": "compared with",
    r"\b(please|simply|just|successfully)\b": "leave it out",
    r"\bnear it\b": "did you mean",
    r"[\w}] %(?![a-z(])": "95% without a space",
    r"\w …": "an ellipsis without a space",
}
ALLOWED = {
    "Asking …",
    "Asking the server for its models …",
    "Looking for servers on this machine …",
}
"""Whole texts in which a dropped word is right, or which are still to be reworded."""


def test_texts_use_plain_words() -> None:
    wrong = []
    for path in FILES:
        for text in texts_of(path):
            for pattern, instead in DROPPED.items():
                found = re.search(pattern, text, re.IGNORECASE)
                if found and text not in ALLOWED:
                    name = path.relative_to(PACKAGE)
                    wrong.append(f"{name}: “{found[0]}” (rather: {instead}) in: {text[:150]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "Your run will stand here, and stood there.",
        "They are asked anew, alike.",
        "What can be told by now is said beside it.",
        "Mend it in words such as “this”.",
        "At most 200 signs; 95 % of some 400.",
        "This is no rubric: please paste one, as “5: Good”.",
        "Loading …",
    ],
)
def test_dropped_words_are_found(text: str) -> None:
    assert any(re.search(pattern, text, re.IGNORECASE) for pattern in DROPPED)


@pytest.mark.parametrize(
    "text",
    [
        "There is no column “score”. Its columns are a and b.",
        "The design assigns the orders. This is no longer possible.",
        "Understand the results: 95% CI 16 to 27, for example “5: Good”.",
        "Two ways to start. Loading…",
        "{value:.0%} of calls, %d rows",
    ],
)
def test_plain_words_are_left_alone(text: str) -> None:
    assert not [pattern for pattern in DROPPED if re.search(pattern, text, re.IGNORECASE)]


def texts_of(path: Path) -> Iterator[str]:
    """Yield the texts of a file; of Python code, all string literals that are not docstrings."""
    content = path.read_text("utf-8")
    if path.suffix == ".toml":
        yield from _values(tomllib.loads(content))
    else:
        yield from _literals(ast.parse(content))


def _values(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from _values(value)
    elif isinstance(part, list):
        for value in part:
            yield from _values(value)


def _literals(tree: ast.AST) -> Iterator[str]:
    """Yield string literals; what an f-string inserts is shown as {}."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield "".join(map(str, parts))
            for part in node.values:
                yield from _literals(part)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        else:
            yield from _literals(node)
