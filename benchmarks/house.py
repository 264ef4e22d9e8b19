"""Print how densely the package is written, room by room, beside packages that read well.

``python -m benchmarks house`` counts; it sets no limit. Read it after a larger change: a room
whose nodes per line rise has put more thought into each line, and its longest functions are the
first place to look. Formatting alone gives about 4.8 nodes per line. The number falls further
only when expressions become statements.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rubriclab"
LONGEST_LINE = 100
"""Columns. Longer lines are counted; the same limit as ruff's in pyproject.toml."""
LONGEST_FUNCTIONS = 20
"""How many functions the list shows. Twenty fit on a screen below the two tables."""


class Peer(NamedTuple):
    """A package that reads well, as it was counted in November 2026 with the same definitions."""

    name: str
    files: int
    lines: int
    nodes_per_line: float
    long_lines: int
    """Per 1,000 lines, like ``ternaries``."""
    ternaries: int
    comments: float
    """Percent of all lines."""


COUNTED_ON = "28 Nov 2026"
"""The day on which the peers were counted. They change little from release to release."""
PEERS = [
    Peer("llm", 19, 16_089, 2.5, 1, 7, 4.9),
    Peer("httpx", 23, 8_827, 2.3, 0, 9, 4.0),
    Peer("datasette", 75, 29_181, 2.5, 5, 6, 3.1),
    Peer("sqlite-utils", 10, 11_248, 2.6, 7, 8, 3.3),
    Peer("arviz-stats", 44, 20_633, 2.2, 1, 6, 1.1),
]


@dataclass
class Tally:
    """What was counted in one or several files."""

    files: int = 0
    lines: int = 0
    statements: int = 0
    expressions: int = 0
    long_lines: int = 0
    ternaries: int = 0
    comment_lines: int = 0

    @property
    def nodes(self) -> int:
        """Statements and expressions. Operators, contexts and arguments were not counted in
        the peers, so they are not counted here.
        """
        return self.statements + self.expressions

    def add(self, other: Tally) -> None:
        self.files += other.files
        self.lines += other.lines
        self.statements += other.statements
        self.expressions += other.expressions
        self.long_lines += other.long_lines
        self.ternaries += other.ternaries
        self.comment_lines += other.comment_lines


class Function(NamedTuple):
    """A function and its length in lines, decorators and docstring included."""

    lines: int
    where: str


def tally_of(source: str) -> Tally:
    """Count one file. A comment line holds nothing but a comment."""
    lines = source.splitlines()
    made = Tally(files=1, lines=len(lines))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            made.statements += 1
        elif isinstance(node, ast.expr):
            made.expressions += 1
        if isinstance(node, ast.IfExp):
            made.ternaries += 1
    made.long_lines = sum(len(line) > LONGEST_LINE for line in lines)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            made.comment_lines += 1
    return made


def functions_of(source: str, name: str) -> list[Function]:
    """Return every function and method of one file, nested ones too."""
    made = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            last = node.end_lineno or first
            made.append(Function(last - first + 1, f"{name}:{node.name}"))
    return made


def room_of(path: Path) -> str:
    """Return the folder of the package that holds a file, or the file's own name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def same_stems(paths: list[Path]) -> dict[str, list[str]]:
    """Return the names that several files share, with the files. ``__init__`` is left out."""
    by_stem: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if not path.stem.startswith("__"):
            by_stem[path.stem].append(path.relative_to(PACKAGE).as_posix())
    return {stem: files for stem, files in sorted(by_stem.items()) if len(files) > 1}


HEADING = (
    f"{'':<14}{'files':>6}{'lines':>8}{'statements':>12}{'nodes':>7}{'over 100':>10}"
    f"{'ternaries':>11}{'comments':>10}\n"
    f"{'':<14}{'':>6}{'':>8}{'':>12}{'a line':>7}{'per 1,000':>10}{'per 1,000':>11}{'%':>10}"
)


def tally_line(name: str, made: Tally) -> str:
    """Return one line of the first table."""
    long_lines = 1000 * made.long_lines / made.lines
    ternaries = 1000 * made.ternaries / made.lines
    comments = 100 * made.comment_lines / made.lines
    return (
        f"{name:<14}{made.files:>6}{made.lines:>8,}{made.statements:>12,}"
        f"{made.nodes / made.lines:>7.1f}{long_lines:>10.0f}{ternaries:>11.0f}{comments:>10.1f}"
    )


def peer_line(peer: Peer) -> str:
    """Return one line of the peers' table. Their statements were not counted."""
    return (
        f"{peer.name:<14}{peer.files:>6}{peer.lines:>8,}{'':>12}{peer.nodes_per_line:>7.1f}"
        f"{peer.long_lines:>10}{peer.ternaries:>11}{peer.comments:>10.1f}"
    )


def report(paths: list[Path]) -> str:
    """Return the tables of rooms and peers, the longest functions, and names used twice."""
    rooms: dict[str, Tally] = defaultdict(Tally)
    total = Tally()
    functions: list[Function] = []
    for path in paths:
        source = path.read_text("utf-8")
        made = tally_of(source)
        rooms[room_of(path)].add(made)
        total.add(made)
        functions += functions_of(source, path.relative_to(PACKAGE).as_posix())
    lines = [HEADING]
    lines += [tally_line(name, rooms[name]) for name in sorted(rooms)]
    lines += [tally_line("rubriclab", total), "", f"Counted on {COUNTED_ON}, for comparison:"]
    lines += [peer_line(peer) for peer in PEERS]

    over = Counter(limit for limit in (50, 60, 80) for made in functions if made.lines > limit)
    lines += ["", f"The {LONGEST_FUNCTIONS} longest of {len(functions):,} functions, in lines"]
    lines += [f"  more than {limit} lines: {number}" for limit, number in sorted(over.items())]
    functions.sort(key=lambda function: (-function.lines, function.where))
    lines += [f"{made.lines:>5}  {made.where}" for made in functions[:LONGEST_FUNCTIONS]]

    lines += ["", "Files of the same name"]
    lines += [f"  {stem}: {', '.join(files)}" for stem, files in same_stems(paths).items()]
    return "\n".join(lines)


def main() -> None:
    """Print the report. There is nothing to choose."""
    argparse.ArgumentParser(
        prog="python -m benchmarks house",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    print(report(sorted(PACKAGE.rglob("*.py"))))
