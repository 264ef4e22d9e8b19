"""Follow docs/adding.md in a copy of the lab, as a newcomer would, and use what was added.

The quick tests use the new things from the command line. The integration test also runs ruff,
mypy and the house test in the copy, and opens its pages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPES = (ROOT / "docs" / "adding.md").read_text("utf-8")
FILE = re.compile(r"```\w+\n# (?:new file|at the end of|file) (rubriclab/\S+)\n(.*?)```", re.DOTALL)
INSERT = re.compile(r"```\w+\n# (in|before) (\w+) of (\S+)\n(.*?)```", re.DOTALL)
DIFF = re.compile(r"```diff\n# (\S+)\n(.*?)```", re.DOTALL)


def follow_recipes(copy: Path) -> None:
    """Apply every block of docs/adding.md to a copy of the lab."""
    for name, text in FILE.findall(RECIPES):
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write(text)
    for where, constant, name, block in INSERT.findall(RECIPES):
        text = (copy / name).read_text("utf-8")
        (start,) = re.finditer(rf"^{constant}\b[^\n]*[{{(\[]\n", text, re.MULTILINE)
        at = start.end() if where == "in" else start.start()
        if where == "before":  # a function: two empty lines follow it
            block = block.rstrip() + "\n\n\n"
        (copy / name).write_text(text[:at] + block + text[at:], "utf-8")
    for name, diff in DIFF.findall(RECIPES):
        lines = diff.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        text = (copy / name).read_text("utf-8")
        assert text.count(before) == 1, f"{name} has {text.count(before)} times:\n{before}"
        (copy / name).write_text(text.replace(before, after), "utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the lab in which every recipe was followed."""
    copy = tmp_path_factory.mktemp("lab")
    for name in ("rubriclab", "pages", "data", "tests", ".streamlit"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.gguf")
        )
    for name in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy)
    follow_recipes(copy)
    if (ROOT / ".mypy_cache").is_dir():  # so that mypy reads only what the recipes changed
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    return copy


def done(copy: Path, *command: str, seconds: int = 120) -> str:
    """Return what a Python program prints in the copy. It must exit with 0."""
    environment = os.environ | {"PYTHONPATH": str(copy)}
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


SESSION = """
import contextlib, io, json, sys
from rubriclab.cli.main import run_command
from rubriclab.figures.charts import KINDS, LIGHT
from rubriclab.figures.marks import Point, picture

said = []
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run_command(command)
    assert code == 0, (command, code)
    said.append(out.getvalue())
points = {("", k): Point(str(k), k / 2, "") for k in range(3)}
drawn = KINDS["ticks"](picture("ticks", points, "Shares", axes=("", "")), LIGHT).data[0]
said.append(json.dumps([drawn.mode, *drawn.y]))
print(json.dumps(said))
"""
"""Run commands, draw a chart of the new kind, and print everything: one process, because each
takes seconds to start."""
STUDY = """
name = "New things"
[[data]]
sample = true
take = 2
[design]
strategies = ["swaps"]
[design.vary]
capitals = [false, true]
[[judges]]
name = "j"
kind = "simulated"
model = "simulated"
"""


def judgments_with_the_highest_score_in_half(path: Path) -> str:
    """Write 12 answers, each scored 5 in order 1 2 3 4 5 and 4 in the reverse."""
    rows = [f"j,a{k},{scored}" for k in range(12) for scored in ("1 2 3 4 5,5", "5 4 3 2 1,4")]
    path.write_text("\n".join(["judge,item_id,ordering,score", *rows]), "utf-8")
    return str(path)


def gradebook(path: Path) -> str:
    """Write a log: two answers, each in both orders, always scored with what is listed first."""
    lines = [{"grader": "gpt", "asked": "Rate.", "answered": ""}]
    for answer in ("Boil it.", "Fry it."):
        for order in ("123", "321"):
            scores = "".join(f"Score {score}: level {score}\n" for score in order)
            asked = f"Rate the answer.\n{scores}Answer: {answer}\nReply with the score alone."
            lines.append({"grader": "gpt", "asked": asked, "answered": order[0]})
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    return str(path)


@pytest.mark.thorough
def test_new_things_work_from_the_command_line(extended: Path, tmp_path: Path) -> None:
    judged = judgments_with_the_highest_score_in_half(tmp_path / "judged.csv")
    log = gradebook(tmp_path / "log.jsonl")
    study = tmp_path / "study.toml"
    study.write_text(STUDY, "utf-8")
    store = ["--store", str(tmp_path / "lab.duckdb"), "--json"]
    commands = [
        ["results", judged, "--topic", "top"],
        ["results", judged, "--topic", "top", "--json"],
        ["plan", str(study), "--show", "3", "--json"],
        ["import", log, *store],
        ["judgments", "log", *store],
    ]
    output = done(extended, "-W", "error", "-c", SESSION, json.dumps(commands))
    text, results, planned, imported, judgments, drawn = json.loads(output)

    # The topic is in the terminal's text and in the JSON, with an interval.
    assert re.search(r"Share of the highest score: 50\.0%", text)
    (row,) = json.loads(results)["rows"]
    assert (row["topic"], row["measure"], row["value"]) == ("top", "top_share", 0.5)
    assert row["low"] < 0.5 < row["high"]

    # 2 answers in 5 orders of five options (the default and four swaps), twice, in 2 variants.
    plan = json.loads(planned)
    assert plan["calls"] == 2 * 5 * 2 * 2
    plain, capitals, swapped = plan["shown"]
    assert plain["order"] == ["1", "2", "3", "4", "5"]
    assert swapped["order"] == ["2", "1", "3", "4", "5"]
    assert capitals["variant"] == {"capitals": True}
    description = re.search(r"Score 1: (.+)", plain["messages"][-1]["content"])
    assert description
    assert description[1].upper() in capitals["messages"][-1]["content"]

    # Four records are judgments, the fifth is counted with its reason.
    note = json.loads(imported)["note"]
    assert note.startswith("gradebook log: 4 judgments.")
    assert "the grader did not answer" in note
    assert {row["position"] for row in json.loads(judgments)["judgments"]} == {1}

    assert json.loads(drawn) == ["markers", 0.0, 0.5, 1.0]


VISIT = """
import json, os, sys
from streamlit.testing.v1 import AppTest

os.environ["RUBRICLAB_STORE"] = sys.argv[1]

def open_page(app, name):
    app = app.switch_page(f"pages/{name}.py").run()
    assert not app.exception and not app.error, (app.exception, app.error)
    return app

app = open_page(AppTest.from_file("app.py", default_timeout=120).run(), "setup")
app = app.button(key="step-4-change").click().run()
assert not app.exception, app.exception
setup = [box.label for box in app.checkbox]
app = open_page(app, "results")
settings = [option for box in app.selectbox for option in box.options]
text = " ".join(part.value for part in (*app.markdown, *app.caption))
print(json.dumps([setup, {"settings": settings, "text": text}]))
"""
"""Open step 4 of Set up and the Results of the run, and print what they show."""


@pytest.mark.integration
def test_the_copy_is_clean_and_its_pages_show_the_new_things(
    extended: Path, tmp_path: Path
) -> None:
    code = ("rubriclab", "app.py", "pages")
    done(extended, "-m", "ruff", "check", *code)
    done(extended, "-m", "ruff", "format", "--check", *code)
    done(extended, "-m", "mypy", seconds=1_200)
    done(extended, "-m", "pytest", "-n0", "-q", "tests/test_house.py", seconds=300)
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace("take = 2", "take = 12"), "utf-8")
    store = tmp_path / "lab.duckdb"
    done(extended, "-m", "rubriclab", "run", str(study), "--store", str(store))
    setup, results = json.loads(done(extended, "-c", VISIT, str(store), seconds=300))
    assert any("Swaps" in label for label in setup)
    assert "capitals = True" in results["settings"]
    assert "12 answers in 5 orders (swaps)" in results["text"]
