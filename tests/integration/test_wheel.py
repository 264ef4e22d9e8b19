"""Check that a wheel holds the whole lab.

Built from this tree and unpacked elsewhere, it shows its example and serves its pages.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.integration.lab import ROOT, free_port

pytestmark = pytest.mark.integration


def test_an_installed_wheel_shows_the_example_and_serves_the_pages(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
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
        str(tmp_path),
        str(source),
    ]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = tmp_path.glob("rubriclab-*.whl")
    zipfile.ZipFile(wheel).extractall(site)

    where = [
        sys.executable,
        "-c",
        "from rubriclab.data.sample import lab_folder; print(lab_folder())",
    ]
    how = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}}
    folder = subprocess.run(where, **how, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(folder) == site / "rubriclab" / "lab"
    command = [sys.executable, "-m", "rubriclab"]
    results = [*command, "results", f"{folder}/data/example.zip", "--topic", "all"]
    assert (
        "Position 1"
        in subprocess.run(results, **how, capture_output=True, text=True, check=True).stdout
    )

    port = free_port()
    lab = subprocess.Popen([*command, "lab", "--port", str(port)], **how, start_new_session=True)
    try:
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/home", timeout=2) as page:
                    assert b"<html" in page.read().lower()
                break
            except OSError:
                assert lab.poll() is None
                time.sleep(0.2)
        else:
            pytest.fail("the lab of the wheel did not answer")
    finally:
        os.killpg(lab.pid, signal.SIGTERM)
        lab.wait(20)
