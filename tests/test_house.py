"""The house: rooms with budgets, imports that only go down, libraries in their rooms, names of the field."""

import ast
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rubriclab"

BUDGETS = {
    "model": 1_255,
    "stats": 2_300,
    "core": 2_800,
    "topics": 2_680,
    "sinks": 2_960,
    "study": 3_460,
    "judges": 2_665,
    "runs": 2_320,
    "store": 1_570,
    "data": 2_418,
    "logs": 765,
    "app": 4_450,
    "cli": 770,
    "apply": 490,
}
"""Lines of Python a room may have. One that passes its budget by a tenth is discussed before it grows."""
PRODUCT, TESTS, README = 33_477, 17_614, 150

MAY_IMPORT = {
    "model": set(),
    "stats": {"model"},
    "core": {"stats", "model"},
    "topics": {"core", "stats", "model"},
    "data": {"model"},
    "logs": {"data", "model"},
    "study": {"data", "model"},
    "judges": {"data", "model"},
    "store": {"core", "data", "model"},
    "sinks": {"topics", "core", "data", "model"},
    "runs": {"logs", "study", "judges", "store", "topics", "core", "data", "model"},
    "apply": {"runs", "study", "judges", "topics", "core", "stats", "data", "model"},
    "app": {*BUDGETS, "notebook"} - {"app", "cli", "stats"},
    "cli": {"sinks", "runs", "logs", "study", "judges", "store", "topics", "core", "data", "model", "notebook"},
    "notebook": {"apply", "sinks", "logs", "runs", "study", "judges", "store", "topics", "core", "data", "model"},
}
"""What each room stands on. A room that a later one needs is below it; nothing looks up or in a circle."""
# Rooms, or the one file.
LIBRARY_ROOMS = {
    "streamlit": {"app"},
    "plotly": {"charts.py"},
    "duckdb": {"store", "data"},
    "openai": {"judges", "apply"},
    "xllamacpp": {"judges"},
    "huggingface_hub": {"judges"},
    "cyclopts": {"cli"},
    "jinja2": {"sinks", "study"},
    "openpyxl": {"data"},
    "yaml": {"data"},
    "re2": {"study", "judges"},
    "msgspec": {"judges", "store", "logs", "batch.py"},
}
LATE = {"openai", "xllamacpp", "huggingface_hub", "openpyxl"}
"""Libraries that cost a second to import or bring a native library: never at the top of a module."""
REFUSED_NAMES = {"place", "unread", "turned", "way_of_asking", "usual", "less", "told", "found", "at", "one"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path, *, top_only: bool = False) -> set[str]:
    nodes = tree_of(path).body if top_only else ast.walk(tree_of(path))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_keeps_its_budget(room: str) -> None:
    used = lines((PACKAGE / room).rglob("*.py"))
    assert used <= 1.1 * BUDGETS[room], f"{room} has {used} lines, its budget is {BUDGETS[room]}"


def test_the_whole_keeps_its_budget() -> None:
    assert lines([*modules(), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]) <= PRODUCT
    assert lines((ROOT / "tests").rglob("*.py")) <= TESTS
    assert lines([ROOT / "README.md"]) <= README
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms == set(BUDGETS)


def test_imports_only_go_down() -> None:
    wrong = []
    for path in modules():
        room = room_of(path)
        used = {name.split(".")[1] for name in imports(path) if name.startswith("rubriclab.")} - {room}
        wrong += [f"{path.relative_to(ROOT)} imports {other}" for other in sorted(used - MAY_IMPORT.get(room, used))]
    assert not wrong


def test_no_modules_name_each_other() -> None:
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules()}
    TopologicalSorter({name: imports(path) & names.keys() for name, path in names.items()}).prepare()


def test_libraries_stay_in_their_rooms() -> None:
    wrong = []
    for path in modules():
        for name in {name.split(".")[0] for name in imports(path)} & set(LIBRARY_ROOMS):
            if not {room_of(path), path.name} & LIBRARY_ROOMS[name]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
        late = {name.split(".")[0] for name in imports(path, top_only=True)} & LATE
        wrong += [f"{path.relative_to(ROOT)} imports {name} at its top" for name in late]
    assert not wrong


def test_names_are_the_fields_own() -> None:
    wrong = []
    for path in modules():
        for node in ast.walk(tree_of(path)):
            name = getattr(node, "name", None) or getattr(node, "id", None) or getattr(node, "arg", None)
            if isinstance(name, str) and name in REFUSED_NAMES:
                wrong.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} {name}")
    assert not wrong


def test_every_module_says_what_goes_in_and_what_comes_out() -> None:
    heads = {path: (ast.get_docstring(tree_of(path)) or "").partition("\n\n")[0].split() for path in modules()}
    told = {path: {word.strip(".,;:") for word in head} for path, head in heads.items()}
    assert not [
        path for path, words in told.items() if not words or (path.stem != "__init__" and not {"in", "out"} <= words)
    ]


def test_pages_are_a_title_and_a_call() -> None:
    assert all(lines([path]) <= 30 for path in (ROOT / "pages").glob("*.py"))


def test_nothing_writes_html_unescaped_into_a_page() -> None:
    assert not [path for path in modules() if "unsafe_allow_html" in path.read_text("utf-8")]
