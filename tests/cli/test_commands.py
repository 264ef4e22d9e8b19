"""The command line from a study file to a report, by its own process where pipes and exit codes matter."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from rubriclab.cli.main import run_command
from rubriclab.data.sample import sample
from rubriclab.runs.loading import plan_of_file

STUDY = """
name = "Small study"
[[data]]
file = "answers.csv"
[rubric]
file = "rubric.yaml"
[[judges]]
name = "planted"
kind = "simulated"
model = "simulated"
options = {{ first = {first}, noise = 1.0, seed = 3 }}
"""
RUBRIC = """
name: Help
criteria:
  - name: Help
    options:
      - {score: 1, description: no help}
      - {score: 2, description: some help}
      - {score: 3, description: full help}
"""


def folder_with_study(tmp_path: Path, first: float = 2.0, items: int = 24) -> Path:
    rows = "\n".join(f'a{k},"The answer number {k} with some words",Ask question {k}?' for k in range(items))
    (tmp_path / "answers.csv").write_text(f"item_id,response,instruction\n{rows}\n", "utf-8")
    (tmp_path / "rubric.yaml").write_text(RUBRIC, "utf-8")
    (tmp_path / "study.toml").write_text(STUDY.format(first=first), "utf-8")
    return tmp_path


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_command(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_from_a_study_to_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with_study(tmp_path)
    study, store = str(folder / "study.toml"), str(folder / "lab.duckdb")
    code, out, err = command(capsys, "plan", study, "--show", "2", "--json")
    assert code == 0, err
    shown = json.loads(out)["shown"]
    assert shown[0]["order"] == ["1", "2", "3"], "the default order is shown first"
    assert "Score 1: no help\nScore 2: some help" in shown[0]["messages"][-1]["content"]

    # A stopped run goes on by the same command: 24 answers in 3 rotations and 3 reversed, each order twice.
    code, out, _ = command(capsys, "run", study, "--store", store, "--max-calls", "50", "--json")
    stopped = json.loads(out)
    assert code == 3
    assert 50 <= stopped["done"] < 24 * 12
    code, out, err = command(capsys, "run", study, "--store", store, "--json")
    assert code == 0, err
    run = json.loads(out)
    assert (run["run"], run["state"], run["planned"], run["done"]) == (stopped["run"], "finished", 24 * 12, 24 * 12)

    code, out, err = command(capsys, "results", run["run"][:6], "--store", store, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["format"] == 2
    assert document["run"]["simulated"] is True
    rows = {row["measure"]: row for row in document["rows"] if row["topic"] == "verdict"}
    assert rows["favours_positions"]["verdict"] == "effect", "two log-odds for the first position are planted"
    shares = [row["value"] for row in document["rows"] if row["measure"] == "position_share"]
    assert sum(shares) == pytest.approx(1)

    code, out, _ = command(
        capsys, "judgments", run["name"], "--store", store, "--position", "1", "--limit", "5", "--json"
    )
    listed = json.loads(out)["judgments"]
    assert code == 0
    assert len(listed) == 5
    assert {row["position"] for row in listed} == {1}

    # An archive says the same as the store, and so does a copy of the store.
    archive, copy = str(folder / "out.zip"), str(folder / "copy.duckdb")
    assert command(capsys, "export", run["run"], "--out", archive, "--store", store)[0] == 0
    code, out, err = command(capsys, "results", archive, "--json")
    assert code == 0, err
    assert [row["value"] for row in json.loads(out)["rows"] if row["measure"] == "position_share"] == shares
    code, out, _ = command(capsys, "runs", "--backup", copy, "--store", store)
    assert (code, out) == (0, f"The store was copied to {copy}.\n")
    code, out, _ = command(capsys, "runs", "--store", copy, "--json")
    assert [(entry["name"], entry["done"]) for entry in json.loads(out)["runs"]] == [("Small study", 24 * 12)]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["results", "nothing"], 1, "no store"),
        (["run", "missing.toml"], 1, "missing.toml"),
        (["run", "demo", "--items", "0"], 1, "--items is 0"),
        (["run", "demo", "--items", "many"], 2, "many"),
        (["import"], 1, "file"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_what_can_be_mended_is_said(
    arguments: list[str], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chdir(tmp_path):
        given, out, err = command(capsys, *arguments)
    assert (given, words in err + out) == (code, True), err
    assert not list(tmp_path.iterdir()), "a refused command leaves nothing behind"


def test_the_demo_takes_the_first_answers_of_the_sample() -> None:
    planned = plan_of_file("demo", items=5)
    assert [item.item_id for item in planned.items] == [item.item_id for item in sample().items[:5]]


def test_a_reader_that_has_gone_does_not_change_the_exit_code(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "rubriclab", "results", "nothing"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert process.stderr is not None
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 1
