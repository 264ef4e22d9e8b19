"""docs/adding.md is followed to the letter in a copy of the package: a number is one new file and its entries."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEP = re.compile(r"```\w+\n# (new file|at the end of) (\S+)\n(.*?)```", re.DOTALL)


def test_the_worked_example_adds_a_number_to_every_sink(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "rubriclab", tmp_path / "rubriclab", ignore=shutil.ignore_patterns("__pycache__"))
    steps = STEP.findall((ROOT / "docs" / "adding.md").read_text("utf-8"))
    assert [kind for kind, _, _ in steps] == ["new file", "at the end of", "at the end of"]
    for _, name, text in steps:
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(text)
    # 12 answers, each scored 5 in order 1 2 3 4 5 and 4 in the reverse: the highest score in half of the calls.
    judged = tmp_path / "judged.csv"
    rows = [f"j,a{k},{scored}" for k in range(12) for scored in ("1 2 3 4 5,5", "5 4 3 2 1,4")]
    judged.write_text("\n".join(["judge,item_id,ordering,score", *rows]), "utf-8")

    def results(*options: str) -> str:
        command = [sys.executable, "-W", "error", "-m", "rubriclab", "results", str(judged), "--topic", "top", *options]
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert re.search(r"Share of the highest score: 50\.0.%", results())
    (row,) = json.loads(results("--json"))["rows"]
    assert (row["topic"], row["measure"], row["value"]) == ("top", "top_share", 0.5)
    assert row["low"] < 0.5 < row["high"]
