"""Check the plan of the house: imports only go down, and each library stays in its rooms."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

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
    "words": {"measures", "core", "data", "model"},
    "figures": {"words", "measures", "core", "data", "model"},
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


@cache
def module_files() -> dict[str, Path]:
    """Return the file of each module by its full name; a package has the name of its folder."""
    files = {}
    for path in modules():
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = path
    return files


def used_modules(tree: ast.Module) -> set[str]:
    """Return the modules of this package that the code names, wherever in the file it does so.

    ``from package import name`` uses the module ``package.name`` where there is one. A name that
    is handed to ``import_module`` as a literal counts like an import.
    """
    files = module_files()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                names.add(submodule if submodule in files else str(node.module))
        elif isinstance(node, ast.Call) and _called(node) == "import_module":
            name = node.args[0]
            if isinstance(name, ast.Constant):
                names.add(str(name.value))
    return names & files.keys()


def _called(call: ast.Call) -> str:
    """Return the last name of what is called: ``import_module`` for ``importlib.import_module``."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_modules_import_each_other_in_no_circle() -> None:
    graph = {name: used_modules(tree_of(path)) for name, path in module_files().items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize(
    "code",
    [
        "import rubriclab.app.state",
        "from rubriclab.app.state import store",
        "from rubriclab.app import state",
        "from rubriclab.app import state as kept",
        "def later():\n    from rubriclab.app import state",
        "if TYPE_CHECKING:\n    from rubriclab.app import state",
        "import_module('rubriclab.app.state')",
        "importlib.import_module('rubriclab.app.state').store()",
    ],
)
def test_every_form_of_an_import_is_seen(code: str) -> None:
    assert used_modules(ast.parse(code)) == {"rubriclab.app.state"}


@pytest.mark.thorough
def test_only_the_worker_imports_what_it_computes_the_name_of() -> None:
    """The circle test cannot see such an import; the worker's child looks names up in a table."""
    computed = [
        path.name
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and _called(node) == "import_module"
        and not isinstance(node.args[0], ast.Constant)
    ]
    assert computed == ["worker.py"]


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_every_module_says_what_it_is_for() -> None:
    assert not [path for path in modules() if not ast.get_docstring(tree_of(path))]


def test_pages_are_a_title_and_a_call() -> None:
    assert all(
        len(path.read_text("utf-8").splitlines()) <= 30 for path in (ROOT / "pages").glob("*.py")
    )


def test_nothing_writes_html_unescaped_into_a_page() -> None:
    assert not [path for path in modules() if "unsafe_allow_html" in path.read_text("utf-8")]
