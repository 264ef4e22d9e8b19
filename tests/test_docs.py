"""What docs/papers.md and docs/adding.md say: every row is there once and has its test; the worked
example is followed.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import counted, method, published  # registers the topics
from rubriclab import api as notebook
from rubriclab.core.topic import MEASURES, TOPICS
from rubriclab.runs.loading import plan_of_file

ROOT = Path(__file__).resolve().parents[1]
LINES = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in (ROOT / "docs" / "papers.md").read_text("utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]


def test_all_rows_stand_there_once() -> None:
    assert [int(line[0]) for line in LINES] == list(range(1, 76))


def test_measures_and_topics_are_the_codes_own() -> None:
    text = "\n".join(" | ".join(line) for line in LINES)
    measures = {name for line in LINES if len(line) > 5 for name in re.findall(r"`(\w+)`", line[5])}
    measures |= set(re.findall(r"--table (\w+)", text)) - {"MEASURE"}
    assert measures <= set(MEASURES), sorted(measures - set(MEASURES))
    assert set(re.findall(r"--topic (\w+)", text)) <= set(TOPICS)


def test_every_row_has_a_test_that_names_it() -> None:
    named: set[int] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.papers":
                named |= {int(ast.literal_eval(number)) for number in node.args}
    assert named == set(range(1, 76)), f"no test names {sorted(set(range(1, 76)) - named)}"


STEP = re.compile(r"```\w+\n# (new file|at the end of) (\S+)\n(.*?)```", re.DOTALL)


def test_the_worked_example_adds_a_number_to_every_sink(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "rubriclab", tmp_path / "rubriclab")
    steps = STEP.findall((ROOT / "docs" / "adding.md").read_text("utf-8"))
    assert [kind for kind, _, _ in steps] == ["new file", "at the end of", "at the end of"]
    for _, name, text in steps:
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(text)
    # 12 answers, each scored 5 in order 1 2 3 4 5 and 4 in the reverse: the highest score in half
    # of the calls.
    judged = tmp_path / "judged.csv"
    rows = [f"j,a{k},{scored}" for k in range(12) for scored in ("1 2 3 4 5,5", "5 4 3 2 1,4")]
    judged.write_text("\n".join(["judge,item_id,ordering,score", *rows]), "utf-8")

    def results(*options: str) -> str:
        command = [
            sys.executable,
            "-W",
            "error",
            "-m",
            "rubriclab",
            "results",
            str(judged),
            "--topic",
            "top",
            *options,
        ]
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert re.search(r"Share of the highest score: 50\.0%", results())
    (row,) = json.loads(results("--json"))["rows"]
    assert (row["topic"], row["measure"], row["value"]) == ("top", "top_share", 0.5)
    assert row["low"] < 0.5 < row["high"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").glob("[!_]*.py")), ids=lambda path: path.stem
)
def test_a_benchmark_imports_what_there_is(path: Path) -> None:
    assert import_module(f"benchmarks.{path.stem}").__doc__


def test_what_is_published_of_the_method_is_what_was_counted() -> None:
    text, summary = published.document(counted.load()), published.summary(counted.load())
    assert (published.DOCUMENT.read_text("utf-8"), published.SUMMARY.read_text("utf-8")) == (
        text,
        summary,
    )
    assert len(text.splitlines()) <= 250


def test_a_stopped_check_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    path, name, other = tmp_path / "counts.jsonl", *[*method._cells()][:2]
    first, third = (
        counted.record_of(name, counted.Counted([k], 1.0, {"false": [3, 20]})) for k in (0, 2)
    )
    path.write_text(first + third + first + third.replace(name, other)[:-30], "utf-8")
    results = counted.load(path)
    assert {k: (v.sums, counted.alarms(v)) for k, v in results.items()} == {
        (name, 0): ({"false": [6, 40]}, ["false"])
    }
    order = method.wanted(results, [name, other])
    assert [next(order) for _ in range(5)] == [
        (other, 0),
        (name, 1),
        (name, 3),
        (name, 4),
        (other, 1),
    ]


def test_the_notebook_was_executed_and_its_cells_still_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (ROOT / "docs" / "notebook.ipynb").read_text("utf-8")
    cells = [cell for cell in json.loads(content)["cells"] if cell["cell_type"] == "code"]
    assert len(content) < 60_000
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert not [out for cell in cells for out in cell["outputs"] if out["output_type"] == "error"]
    ask = notebook.run  # the same calls, answered by a simulated judge

    def simulated(study: str, store: str, items: int) -> notebook.Run:
        return ask(plan_of_file(study, items=items, judged_by=("simulated:planted",)), store)

    monkeypatch.setattr(notebook, "run", simulated)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(SVG=str))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert names["scored"].value is not None
    assert {path.name for path in tmp_path.iterdir()} >= {
        "report.html",
        "judgments.csv",
        "judge.card.json",
    }
