"""The modules that a card needs, copied beside a pipeline that must not depend on the lab.

They are the lab's own, word for word but for the package's name: what renders a prompt and reads a
reply there is what did so in the run.
"""

from __future__ import annotations

import ast
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rubriclab import __version__
from rubriclab.apply.card import SCHEMA
from rubriclab.model import LabError

PACKAGE = Path(__file__).resolve().parents[1]
ENTRIES = ("rubriclab.apply", "rubriclab.apply.adapters")
"""What a pipeline imports, and the adapters to its tools; all that they import of the lab goes with them."""
_HEAD = '"""Copied from rubriclab {version} by “rubriclab card --code”: use ``{name}.apply``. Do not edit."""\n'


def copied(name: str) -> dict[str, str]:
    """Every file of the copy by its path below the folder ``name``, which is the package's name there.

    Raises LabError for a name that no package can have.
    """
    if not name.isidentifier():
        raise LabError(f"“{name}” is no name of a Python package: use letters, digits and “_”, as judge_card.")
    modules = _closure()
    files = {"__init__.py": _HEAD.format(version=__version__, name=name), f"apply/{SCHEMA}": _schema()}
    for module in sorted(modules):
        path = _file(module)
        inside = path.relative_to(PACKAGE).as_posix()
        files[inside] = _renamed(path.read_text(encoding="utf-8"), name)
    for module in modules:
        for package in _packages(module):
            inside = f"{'/'.join(package.split('.')[1:])}/__init__.py"
            files.setdefault(inside, f'"""{package.replace("rubriclab", name, 1)}: see {name}.apply."""\n')
    return files


def zipped(name: str) -> bytes:
    """The copy as one file that Python imports from: put its path on ``sys.path``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, text in sorted(copied(name).items()):
            archive.writestr(zipfile.ZipInfo(f"{name}/{inside}", (2020, 1, 1, 0, 0, 0)), text)
    return buffer.getvalue()


def _schema() -> str:
    return PACKAGE.joinpath("apply", SCHEMA).read_text(encoding="utf-8")


def _closure() -> set[str]:
    """The entries, the modules beside an adapter, and every module of the lab that these import, by whatever way."""
    adapters = PACKAGE / "apply" / "adapters"
    beside = (f"{ENTRIES[1]}.{path.stem}" for path in adapters.glob("*.py") if path.stem != "__init__")
    found, left = set(), [*ENTRIES, *beside]
    while left:
        module = left.pop()
        if module not in found:
            found.add(module)
            left += _imported(module)
    return found


def _imported(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_file(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rubriclab."):
            yield str(node.module)
            yield from (f"{node.module}.{a.name}" for a in node.names if _is_module(f"{node.module}.{a.name}"))


def _is_module(name: str) -> bool:
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _file(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _packages(module: str) -> Iterator[str]:
    parts = module.split(".")
    yield from (".".join(parts[:k]) for k in range(2, len(parts)))


def _renamed(text: str, name: str) -> str:
    """Imports of the package under its new name; the rest as it is."""
    return re.sub(r"(?m)^(\s*from )rubriclab(?=\.| import)", rf"\g<1>{name}", text)
