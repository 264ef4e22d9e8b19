"""Check the plan of the house: imports only go down, and each library stays in its rooms."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rubriclab"

MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "stats": {"model"},
    "core": {"stats", "model"},
    "measures": {"core", "stats", "model"},
    "data": {"model"},
    "study": {"data", "model"},
    "logs": {"study", "data", "model"},
    "judges": {"data", "model"},
    "store": {"core", "data", "model"},
    "words": {"figures", "measures", "core", "data", "model"},
    "figures": {"exports", "words", "measures", "core", "data", "model"},
    "exports": {"figures", "words", "measures", "core", "data", "model"},
    "runs": {"logs", "study", "judges", "store", "measures", "core", "data", "model"},
    "apply": {"runs", "study", "judges", "measures", "core", "stats", "data", "model"},
}
MAY_IMPORT["api"] = MAY_IMPORT.keys() - {"stats"}
MAY_IMPORT["cli"] = MAY_IMPORT.keys() - {"stats", "apply"}
MAY_IMPORT["app"] = MAY_IMPORT.keys() - {"stats", "cli"}
"""What each room stands on. A room that a later one needs is below it; nothing looks up or in a
circle.
"""
# Rooms, or the one file.
LIBRARY_ROOMS = {
    "streamlit": {"app"},
    "plotly": {"charts.py"},
    "duckdb": {"store", "data"},
    "openai": {"judges", "apply"},
    "xllamacpp": {"judges"},
    "huggingface_hub": {"judges"},
    "cyclopts": {"cli"},
    "jinja2": {"exports", "study"},
    "openpyxl": {"data"},
    "yaml": {"data"},
    "re2": {"study", "judges"},
    "msgspec": {"judges", "store", "logs", "batch.py"},
}
LATE = {"openai", "xllamacpp", "huggingface_hub", "openpyxl"}
"""Libraries that cost a second to import or bring a native library: never at the top of a module.
"""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


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


def test_imports_only_go_down() -> None:
    wrong = []
    for path in modules():
        room = room_of(path)
        used = {name.split(".")[1] for name in imports(path) if name.startswith("rubriclab.")} - {
            room
        }
        wrong += [
            f"{path.relative_to(ROOT)} imports {other}"
            for other in sorted(used - MAY_IMPORT.get(room, used))
        ]
    assert not wrong


def test_no_modules_name_each_other() -> None:
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules()}
    TopologicalSorter(
        {name: imports(path) & names.keys() for name, path in names.items()}
    ).prepare()


def test_libraries_stay_in_their_rooms() -> None:
    wrong = []
    for path in modules():
        for name in {name.split(".")[0] for name in imports(path)} & set(LIBRARY_ROOMS):
            if not {room_of(path), path.name} & LIBRARY_ROOMS[name]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
        late = {name.split(".")[0] for name in imports(path, top_only=True)} & LATE
        wrong += [f"{path.relative_to(ROOT)} imports {name} at its top" for name in late]
    assert not wrong


def test_every_room_is_on_the_map() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms == MAY_IMPORT.keys() - {"api"}


def test_every_module_says_what_it_is_for() -> None:
    assert not [path for path in modules() if not ast.get_docstring(tree_of(path))]


def test_pages_are_a_title_and_a_call() -> None:
    assert all(
        len(path.read_text("utf-8").splitlines()) <= 30 for path in (ROOT / "pages").glob("*.py")
    )


def test_nothing_writes_html_unescaped_into_a_page() -> None:
    assert not [path for path in modules() if "unsafe_allow_html" in path.read_text("utf-8")]
