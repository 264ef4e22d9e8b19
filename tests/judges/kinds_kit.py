"""Put packages that bring kinds of judges into temporary folders, as docs/adding.md shows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ADDING = Path(__file__).resolve().parents[2] / "docs" / "adding.md"
STEP = re.compile(r"```\w+\n# (file|in|before) ([^\n]+)\n(.*?)```", re.DOTALL)


def documented(where: str) -> dict[str, str]:
    """Return the blocks of docs/adding.md whose first line begins with ``# where``, by place."""
    steps = STEP.findall(ADDING.read_text("utf-8"))
    return {place: text for word, place, text in steps if word == where}


def install(
    folder: Path, package: str, kinds: dict[str, str], modules: dict[str, str], version: str = "1.0"
) -> Path:
    """Put a package into a folder as pip would. ``kinds``: its entry points, name -> object."""
    about = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", "utf-8"
    )
    lines = ["[rubriclab.judges]", *(f"{name} = {target}" for name, target in kinds.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


def install_documented(folder: Path) -> Path:
    """Install the package that docs/adding.md shows, by its own pyproject.toml."""
    files = documented("file")
    project: dict[str, Any] = tomllib.loads(files["pyproject.toml"])["project"]
    kinds = project["entry-points"]["rubriclab.judges"]
    modules = {"http_judge": files["http_judge.py"]}
    return install(folder, project["name"], kinds, modules, project["version"])


@pytest.fixture
def http_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The documented package, installed for one test."""
    folder = install_documented(tmp_path / "site")
    monkeypatch.syspath_prepend(str(folder))
    return folder
