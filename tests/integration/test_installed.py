"""The lab as a wheel brings it, in an environment of its own and an empty folder: no clone in sight."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.lab import CHROMIUM, browser_page, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and paths as Linux has them"),
]
ROOT = Path(__file__).resolve().parents[2]
NOT_BUILT = (
    ".git",
    ".venv",
    ".cache",
    ".*_cache",
    ".hypothesis",
    "__pycache__",
    "build",
    "node_modules",
    "*.egg-info",
    "*.duckdb*",
    "*.journal",
)
EVERY_MODULE = """
import importlib, pkgutil
import rubriclab
names = [found.name for found in pkgutil.walk_packages(rubriclab.__path__, "rubriclab.")]
names = [name for name in names if not name.endswith("__main__") and ".lab." not in name]
for name in names:
    # Two stand on tools that come with no environment of the lab.
    if not name.endswith((".adapters.inspect_ai", ".adapters.deepeval")):
        importlib.import_module(name)
print(1 + len(names), rubriclab.__file__)
"""


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the clone without what is made in it."""
    folder = tmp_path_factory.mktemp("clone") / "source"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_BUILT))
    return folder


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, by the build backend that pyproject.toml names."""
    folder = tmp_path_factory.mktemp("sdist")
    backend, out, copied = folder / "backend", folder / "out", folder / "source"
    shutil.copytree(source, copied)  # the backend writes into what it packs
    build = tomllib.loads((source / "pyproject.toml").read_text())["build-system"]
    assert build["build-backend"] == "setuptools.build_meta"
    _run([*PIP, "install", "--target", str(backend), *build["requires"]])
    _run([sys.executable, "-c", SDIST, str(out)], copied, PYTHONPATH=str(backend))
    (made,) = out.iterdir()
    return made


def _wheel(of: Path, folder: Path) -> Path:
    _run([*PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(of)])
    (wheel,) = folder.glob("rubriclab-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(source, folder / "source")
    made = _wheel(folder / "source", folder / "wheels")
    shutil.rmtree(folder / "source")
    return made


@pytest.fixture(scope="module")
def script(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The console script in a new environment that has the wheel and borrows the libraries."""
    return _installed(wheel, tmp_path_factory.mktemp("installed") / "venv")


def _installed(wheel: Path, venv: Path) -> Path:
    _run([sys.executable, "-m", "venv", "--without-pip", str(venv)])
    python = venv / "bin" / "python"
    _run([*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)])
    # A path in a .pth file: the libraries can be imported, an editable lab among them cannot.
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin" / "rubriclab"


def _run(command: list[str], cwd: Path | None = None, **more: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=_environment() | more, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _environment() -> dict[str, str]:
    """Nothing of the caller's that names a store or a place to import from."""
    foreign = ("PYTHONPATH", "RUBRICLAB_STORE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in foreign}


@contextmanager
def _lab(script: Path, folder: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """``rubriclab lab`` from ``folder``, healthy; its address and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(script), "lab", "--headless", "--port", str(port), *more],
            cwd=folder,
            env=_environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, f"the lab ended with {process.returncode}"
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                    break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("the lab was not healthy within a minute")
        yield address, process
    finally:
        process.kill()
        process.wait(10)


def test_the_script_tells_its_version_and_its_own_name(script: Path, tmp_path: Path) -> None:
    from rubriclab import __version__

    assert _run([str(script), "--version"], tmp_path).strip() == f"rubriclab {__version__}"
    assert _run([str(script), "--help"], tmp_path).startswith("usage: rubriclab ")


def test_the_wheel_holds_what_the_clone_does(script: Path, tmp_path: Path) -> None:
    python = str(script.with_name("python"))
    told = _run([python, "-c", "from rubriclab.model import places; print(places.HOME)"], tmp_path)
    home = Path(told.strip())
    assert home.parts[-2:] == ("rubriclab", "lab")
    for pattern in ("app.py", "pages/*.py", "data/**/*.*", ".streamlit/config.toml", "tests/calibration/results.json"):
        here = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))
        assert here
        assert sorted(str(path.relative_to(home)) for path in home.glob(pattern)) == here
    for file in ("app/mark.svg", "app/logo.svg", "py.typed"):
        assert (home.parent / file).is_file()
    assert not (home / "pages" / "__init__.py").exists()


def test_a_source_distribution_holds_the_clone(source: Path, sdist: Path) -> None:
    """All of it: its tests, what they read and what they import too."""
    with tarfile.open(sdist) as packed:
        names = [Path(one.name) for one in packed.getmembers() if one.isfile()]
    held = {str(Path(*name.parts[1:])) for name in names}
    cloned = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert sorted(cloned - held) == []
    assert {name for name in held - cloned if ".egg-info/" not in name} == {"PKG-INFO", "setup.cfg"}


def test_the_wheel_of_a_source_distribution_is_the_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    again = _wheel(sdist, tmp_path / "wheels")
    assert _contents(again) == _contents(wheel)
    python = str(_installed(again, tmp_path / "venv").with_name("python"))
    empty = tmp_path / "empty"
    empty.mkdir()
    told = _run([python, "-W", "error", "-c", EVERY_MODULE], empty).split()
    assert int(told[0]) >= len(list((ROOT / "rubriclab").rglob("*.py"))) - 1  # but __main__
    assert Path(told[1]).is_relative_to(tmp_path)
    assert list(empty.iterdir()) == []


def _contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel; of its record only which they are."""
    with zipfile.ZipFile(wheel) as packed:
        return {name: b"" if name.endswith(".dist-info/RECORD") else packed.read(name) for name in packed.namelist()}


def test_the_lab_listens_on_this_machine_alone_and_ctrl_c_ends_it(script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    with _lab(script, folder) as (address, process):
        # On Linux 127.0.0.2 is this machine too: answered by what listens on every address.
        with pytest.raises(OSError, match=r"refused|unreachable|assign|timed out"):
            socket.create_connection(("127.0.0.2", int(address.rsplit(":", 1)[1])), timeout=2)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    log = (tmp_path / "empty.log").read_text()
    assert "Traceback" not in log, log
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
def test_the_pages_open_from_an_empty_folder(script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    with _lab(script, folder, "--store", "mine.duckdb") as (address, _), browser_page() as page:
        page.goto(address)
        settled(page)
        page.get_by_role("heading", name="Where two small models pick").wait_for()
        for file, title in (("results", "Results"), ("method", "Method check")):
            page.goto(f"{address}/{file}")
            settled(page)
            page.wait_for_selector(f"h1:has-text('{title}')")
            assert page.locator('[data-testid="stException"], [data-testid="stAlertContentError"]').count() == 0
    assert [path.name for path in folder.glob("*.duckdb")] == ["mine.duckdb"]
