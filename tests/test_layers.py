"""The house: rooms on floors, imports that only go down, libraries in their rooms, small modules."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rubriclab"
FLOORS = (
    ("model",),
    ("stats", "datasets", "judges"),
    ("findings", "study"),
    ("figures", "store", "apply"),
    ("report", "runs"),
    ("app", "cli", "notebook"),
)
"""From the ground up. A room imports from floors below its own, never from beside or above."""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"__init__", "__main__"}
"""What stands at the top of the package, over all rooms: the notebook's door and the command's."""
MOST_ARROWS = 55
ONLY_IN = {
    "streamlit": {"app"},
    "duckdb": {"store"},
    "plotly": {"figures"},
    "kaleido": {"figures"},
    "openai": {"judges"},
    "aiohttp": {"judges", "runs"},
    "babel": {"model"},
}
MODULE, PAGE, FUNCTION = 400, 120, 40
"""At most so many lines."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def rooms_used(path: Path) -> set[str]:
    inside = (name.split(".") for name in imported(path) if name.startswith("rubriclab."))
    return {parts[1] for parts in inside if parts[1] in FLOOR}


def arrows() -> set[tuple[str, str]]:
    return {
        (room(path), other)
        for path in modules()
        if room(path) not in DOORS
        for other in rooms_used(path) - {room(path)}
    }


def test_nothing_lies_loose_at_the_top_of_the_package() -> None:
    rooms = {part.name for part in PACKAGE.iterdir() if part.is_dir()} - {"__pycache__"}
    assert rooms == set(FLOOR), "a room without a floor, or a floor without its room"
    assert {part.stem for part in PACKAGE.glob("*.py")} == DOORS


def test_imports_go_down() -> None:
    up = sorted((a, b) for a, b in arrows() if FLOOR[b] >= FLOOR[a])
    assert not up, f"imports from beside or above: {up}"


def test_the_house_can_be_drawn_from_memory() -> None:
    found = arrows()
    assert len(found) <= MOST_ARROWS, f"{len(found)} arrows between {len(FLOOR)} rooms"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_libraries_stay_in_their_rooms(path: Path) -> None:
    for name in imported(path):
        allowed = ONLY_IN.get(name.split(".")[0])
        assert allowed is None or room(path) in allowed, f"{name} in {room(path)}"


def test_stats_knows_no_tables() -> None:
    for path in modules():
        if room(path) == "stats":
            used = {name.split(".")[0] for name in imported(path)}
            assert "pandas" not in used, path.name
            assert not rooms_used(path) - {"stats"}, path.name


# ---------------------------------------------------------------- sizes


def length(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def long_functions() -> set[str]:
    found = set()
    for path in [*modules(), *sorted((ROOT / "pages").glob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION:
                    found.add(f"{path.relative_to(ROOT)}:{node.name}")
    return found


def test_the_formatter_lays_out_every_line() -> None:
    """Where layout is kept from it, a function is as short as somebody cared to make it."""
    folders = ("rubriclab", "pages", "benchmarks", "tests")
    paths = [ROOT / "app.py", *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    kept = [path for path in paths if re.search(r"#\s*fmt:\s*(skip|off)", path.read_text(encoding="utf-8"))]
    assert not kept, f"kept from the formatter: {sorted(str(path.relative_to(ROOT)) for path in kept)}"


def test_pages_are_thin() -> None:
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]:
        assert length(path) <= PAGE, f"{path.name} has {length(path)} lines"


def test_modules_are_short() -> None:
    long = {str(path.relative_to(ROOT)) for path in modules() if length(path) > MODULE}
    assert not long, f"split along what they mean: {sorted(long)}"


def test_functions_are_short() -> None:
    assert not long_functions(), f"split along what they mean: {sorted(long_functions())}"
