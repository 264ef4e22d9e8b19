"""``gate``: a study or a run held against limits, its exit codes, its JUnit and Markdown, and what is copied from docs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from rubriclab.__main__ import main
from rubriclab.cli.gate import EXIT_CANNOT_TELL, EXIT_FAILS
from rubriclab.findings.gate import GateResult, gate
from rubriclab.model import LabError
from rubriclab.model.gate_limits import GateLimits
from rubriclab.model.places import EXAMPLE
from rubriclab.report.gate import _md, gate_junit, gate_markdown, gate_text, workflow
from rubriclab.runs.foreign import foreign_run
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.study.reading import load_gate, load_study
from tests.gate_rates import OPTIONS

ROOT = Path(__file__).resolve().parents[1]
STUDY = """
name = "gated"
[data]
file = "answers.csv"
[rubric]
name = "Quality"
criteria = [{name = "Quality", options = [{score = 1}, {score = 2}, {score = 3}, {score = 4}, {score = 5}]}]
[design]
strategies = ["balanced", {kind = "fixed", reads = 10}]
[gate]
max_v = 0.2
max_shift = 1.0
[[judges]]
name = "judge"
kind = "simulated"
model = "simulated"
options = {position = {first = %s}, noise = 0.5}
"""


def folder(path: Path, *, first: float = 0.0, items: int = 40) -> Path:
    """A study of a simulated judge whose first place weighs ``first`` log-odds more."""
    path.mkdir(parents=True, exist_ok=True)
    rows = [f"What?,Answer number {n} which is {'good ' * (n % 7)},{1 + n % 5}" for n in range(items)]
    (path / "answers.csv").write_text("\n".join(["instruction,response,human", *rows]) + "\n", encoding="utf-8")
    (path / "study.toml").write_text(STUDY % first, encoding="utf-8")
    return path / "study.toml"


def test_a_study_with_its_limits_beside_it_passes_and_a_stricter_option_goes_before_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = folder(tmp_path), str(tmp_path / "lab.duckdb")
    assert main(["gate", str(study), "--store", store, "--json"]) == 0
    printed = capsys.readouterr()
    shown = json.loads(printed.out)
    assert (shown["outcome"], shown["limits"]) == ("passes", {"max_v": 0.2, "max_shift": 1.0})
    assert shown["judges"] == {"judge": "passes"}
    assert shown["decisions"][0].keys() >= {"condition", "estimate", "low", "high", "limit", "outcome", "simulated"}
    assert "A simulated judge was asked: this says nothing of a model." in shown["notes"]
    assert "800 calls asked" in printed.err
    # A limit that nobody can be shown to keep; and nothing is asked twice.
    code = main(["gate", str(study), "--store", store, "--max-v", "0.0001", "--json"])
    printed = capsys.readouterr()
    shown = json.loads(printed.out)
    assert shown["limits"] == {"max_v": 0.0001, "max_shift": 1.0}
    assert code in (EXIT_FAILS, EXIT_CANNOT_TELL)
    assert ", 0 calls asked" in printed.err


def test_a_biased_judge_fails_with_its_own_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = folder(tmp_path, first=4.0)
    assert main(["gate", str(study), "--store", str(tmp_path / "lab.duckdb")]) == EXIT_FAILS
    printed = capsys.readouterr().out
    assert printed.startswith("The gate fails:")
    assert "judge (simulated)" in printed


def test_a_run_that_stopped_early_cannot_tell_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, store = folder(tmp_path, first=4.0), str(tmp_path / "lab.duckdb")
    assert main(["gate", str(study), "--store", store, "--max-calls", "100"]) == EXIT_CANNOT_TELL
    assert "the run is not finished" in capsys.readouterr().out
    assert main(["gate", str(study), "--store", store]) == EXIT_FAILS
    assert "700 calls asked" in capsys.readouterr().err


def test_failed_calls_are_asked_again_where_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def start(*_: object, **options: object) -> None:
        asked.append(options["only_failed"])
        raise LabError("not asked here")

    monkeypatch.setattr(RunManager, "start", start)
    call = ["gate", str(folder(tmp_path)), "--store", str(tmp_path / "lab.duckdb")]
    assert [main(call), main([*call, "--retry-failed"])] == [1, 1]
    assert asked == [False, True]


def test_the_recorded_example_is_decided_by_prompts_or_by_items(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "lab.duckdb")
    with Store(store) as kept:
        read_archive(kept, EXAMPLE.read_bytes())
    asked = ["gate", "recorded", "--store", store, "--max-v", "0.1", "--min-kappa", "0.6"]
    # Nine prompts are too few; its 24 items, taken one by one, show both judges to pick by place.
    assert main(asked) == EXIT_CANNOT_TELL
    assert "9 prompts are too few" in capsys.readouterr().out
    assert main([*asked, "--unit", "item"]) == EXIT_FAILS
    assert "no item has both a rating by people and a score" in capsys.readouterr().out


def test_an_imported_log_is_held_against_limits_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders = ["1 2 3", "2 3 1", "3 1 2", "3 2 1", "2 1 3", "1 3 2"]
    # A judge that gives whatever stands first, and one that reads.
    rows = [
        f"{name},d,i{n},{order},{k},{order[0] if name == 'blind' else 1 + n % 3}"
        for name in ("blind", "reader")
        for n in range(30)
        for k, order in enumerate(orders)
    ]
    table = tmp_path / "scores.csv"
    table.write_text("\n".join(["judge,dataset,item_id,ordering,read,score", *rows]) + "\n", encoding="utf-8")
    store = str(tmp_path / "lab.duckdb")
    assert main(["import", str(table), "--store", store, "--kind", "scores", "--json"]) == 0
    name = json.loads(capsys.readouterr().out)["run"]
    assert main(["gate", name, "--store", store, "--max-v", "0.1", "--json"]) == EXIT_FAILS
    shown = json.loads(capsys.readouterr().out)
    assert shown["judges"] == {"blind": "fails", "reader": "passes"}


def test_faults_are_said_and_are_no_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, store = folder(tmp_path), str(tmp_path / "lab.duckdb")
    Path(study).write_text(study.read_text("utf-8").replace("max_v = 0.2", "max_vee = 0.2"), encoding="utf-8")
    assert main(["gate", str(study), "--store", store]) == 1
    assert "unknown key “max_vee”. Did you mean “max_v”?" in capsys.readouterr().err
    assert main(["run", str(study), "--store", store]) == 1  # a [gate] that cannot be is said wherever it is read
    capsys.readouterr()
    for limit in ("-0.1", "nan", "1.01"):
        assert main(["gate", str(study), "--store", store, "--max-flip", limit]) == 1
        assert "gate, max_flip: expected a" in capsys.readouterr().err
    assert main(["gate", "nowhere", "--store", store, "--max-v", "0.1"]) == 1
    assert "There is no store" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["gate", str(study), "--store", store, "--max-v", "much"])
    assert left.value.code == 2


def test_limits_decide_no_call(tmp_path: Path) -> None:
    study = folder(tmp_path)
    with_table = load_study(study)
    assert load_gate(study) == GateLimits(max_v=0.2, max_shift=1.0)
    study.write_text(study.read_text("utf-8").replace("[gate]\nmax_v = 0.2\nmax_shift = 1.0\n", ""), encoding="utf-8")
    assert load_study(study) == with_table
    assert load_gate(study) == GateLimits()


# ---------------------------------------------------------------- what is written


LIMITS = GateLimits(max_v=0.1, max_shift=0.2, min_kappa=0.6, min_repeat=0.1, max_place=0.1)
"""The last has no meaning for scores, so it is open."""


def result_of(name: str = "judge") -> GateResult:
    data = foreign_run("mixed logit", OPTIONS, items=60, strength=1.5, seed=1)
    arms = tuple(replace(arm, judge=name) for arm in data.arms)
    return gate(replace(data, arms=arms), LIMITS)


HOSTILE = '<b onclick="x">&amp;]]> | `x` [a](http://b.c) \x1b[31m\x00\ufffe\n# no heading — ☃ \U0001f600'


@pytest.mark.parametrize("undecided", ["skip", "fail", "pass"])
@pytest.mark.parametrize("name", ["judge", HOSTILE])
def test_junit_has_a_case_a_condition_and_counts_them(name: str, undecided: str) -> None:
    result = result_of(name)
    text = gate_junit(result, at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), undecided=undecided)  # type: ignore[arg-type]
    root = ET.fromstring(text.encode())
    (suite,) = root.findall("testsuite")
    cases = suite.findall("testcase")
    assert len(cases) == len(result.decisions) == int(suite.get("tests", ""))
    found = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
    open_ones = sum(one.outcome == "cannot tell" for one in result.decisions)
    assert open_ones
    assert found == {
        "failure": sum(one.outcome == "fails" for one in result.decisions),
        "error": open_ones if undecided == "fail" else 0,
        "skipped": open_ones if undecided == "skip" else 0,
    }
    assert [int(suite.get(key, "")) for key in ("failures", "errors", "skipped")] == list(found.values())
    # The order and the attributes that readers of JUnit ask for.
    assert [part.tag for part in suite] == ["properties", *["testcase"] * len(cases), "system-out", "system-err"]
    assert suite.get("timestamp") == "2026-01-02T03:04:05"
    assert (suite.get("id"), suite.get("package"), suite.get("hostname")) == ("0", "rubriclab.gate", "localhost")
    assert {case.get("name") is not None and case.get("classname", "")[:14] for case in cases} == {"rubriclab.gate"}
    if name == "judge":
        assert suite.get("name") == "rubriclab gate: judge"


def test_names_in_markdown_are_no_markup() -> None:
    text = gate_markdown(result_of(HOSTILE))
    rows = [line for line in text.splitlines() if line.startswith("| ") and "Condition" not in line]
    assert len(rows) == len(result_of().decisions)
    for row in rows:
        # Seven cells whatever the names hold, and nothing that is drawn as anything else.
        assert row.replace("\\|", "").count("|") == 8
        assert "<b" not in row
        assert "\x1b" not in row
        assert not re.search(r"(?<!\\)\]\(|://(?!\u2060)", row)
    assert _md("a|b\n# c") == "a\\|b \\# c"


def test_text_tells_every_decision() -> None:
    text = gate_text(result_of())
    assert [line.split()[0] for line in text.splitlines() if "at least" in line] == ["fails", "passes"]
    assert "the 99 % interval lies beyond it" in text  # 5 % over five conditions
    assert "not defined for score options; leave it out" in text


# ---------------------------------------------------------------- what docs offer to copy


def on_the_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``rubriclab`` is this very package."""
    place = tmp_path / "bin"
    place.mkdir()
    script = place / "rubriclab"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m rubriclab "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")
    return {"PATH": f"{place}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(summary)}


@pytest.mark.slow
def test_the_workflow_runs_as_it_stands(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "gate-workflow.yml").read_text("utf-8")
    assert text == workflow()
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    (step,) = [step for step in steps if step.get("name") == "Gate"]
    folder(tmp_path / "judge")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env=on_the_path(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ET.parse(tmp_path / "gate.xml").getroot().tag == "testsuites"
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.startswith("# Before\n## Judge gate: ✓ passes")


@pytest.mark.slow
def test_the_pre_commit_hook_runs_as_it_stands(tmp_path: Path) -> None:
    hooks = yaml.safe_load((ROOT / "docs" / "gate-pre-commit.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    (hook,) = hooks
    folder(tmp_path / "judge", first=4.0)
    env = on_the_path(tmp_path)
    done = subprocess.run(
        ["sh", "-c", hook["entry"]], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == EXIT_FAILS, done.stderr
    assert hook["files"] == r"^judge/(rubric\.yaml|judge\.toml|study\.toml)$"
