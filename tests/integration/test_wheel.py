"""Check that a wheel holds the whole lab.

Built from this tree, it shows its example, and one line starts its lab in an empty folder.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from rubriclab.app.navigation import ENTRIES
from tests.integration.lab import ROOT, Browser, strays_of, visit

pytestmark = pytest.mark.integration
OPENER = """#!{python}
import sys
open({file!r}, "w").write(sys.argv[1])
"""
"""A browser that only notes which address it was given."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of what is tracked in this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in tracked.split("\0"):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        str(folder),
        str(source),
    ]
    subprocess.run(build, check=True, timeout=300)
    (made,) = folder.glob("rubriclab-*.whl")
    return made


def test_an_unpacked_wheel_has_its_data_and_shows_the_example(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    where = [
        sys.executable,
        "-c",
        "from rubriclab.data.lab_folder import lab_folder; print(lab_folder())",
    ]
    how = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}}
    folder = subprocess.run(where, **how, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(folder) == site / "rubriclab" / "lab"
    command = [sys.executable, "-m", "rubriclab"]
    results = [*command, "results", f"{folder}/data/example.zip", "--topic", "all"]
    said = subprocess.run(results, **how, capture_output=True, text=True, check=True).stdout
    assert "Position 1" in said
    for preset in ("hanna-options", "demo"):
        planned = [*command, "plan", preset]
        made = subprocess.run(planned, **how, capture_output=True, text=True)
        # The preset is there. Its data come from elsewhere, so a plan may still be refused.
        assert "did not come with this lab" not in made.stderr


def test_one_line_starts_the_lab_of_a_wheel_in_an_empty_folder(
    wheel: Path, browser: Browser, tmp_path: Path
) -> None:
    site, folder = tmp_path / "site", tmp_path / "empty"
    folder.mkdir()
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(site), str(wheel)], check=True, timeout=300)
    opened, opener = tmp_path / "opened", tmp_path / "opener"
    opener.write_text(OPENER.format(python=sys.executable, file=str(opened)))
    opener.chmod(0o755)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RUBRICLAB_", "STREAMLIT_"))
    }
    environment |= {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1", "BROWSER": f"{opener} %s"}
    with subprocess.Popen(
        [str(site / "bin" / "rubriclab")], cwd=folder, env=environment, start_new_session=True
    ) as lab:
        try:
            until = time.monotonic() + 120
            while not opened.exists() or not opened.read_text():
                assert time.monotonic() < until, "no browser was opened"
                assert lab.poll() is None
                time.sleep(0.1)
            address = opened.read_text()
            assert only_here(int(address.removeprefix("http://127.0.0.1:")))
            with browser() as page:
                strays = strays_of(page)
                for name in ENTRIES:
                    visit(page, f"{address}/{'' if name == 'home' else name}")
                    assert page.get_by_role("alert").count() == 0, name
                    assert "went wrong" not in page.inner_text("h1"), name
                assert strays == []
        finally:
            os.killpg(lab.pid, signal.SIGTERM)
            lab.wait(20)
    assert list(folder.iterdir()) == []  # looking leaves nothing behind


def only_here(port: int) -> bool:
    """Return whether nothing answers at the address that other machines would use."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; chooses the address of this machine
        outside = probe.getsockname()[0]
    with socket.socket() as client:
        client.settimeout(2)
        return client.connect_ex((outside, port)) != 0
