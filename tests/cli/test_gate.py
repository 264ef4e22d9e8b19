"""The gate by its own process: three runs of planted truth, into readers that leave; JUnit; drift; derived limits."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rubriclab.cli.main import run_command
from tests.cli.test_commands import Captured, command, folder_with_study

EXAMPLE = "data/example.zip"


# Inside both judges' intervals of the recorded example, outside, and within that of one.
CODES = {0: "moves_mean=0.6", 4: "favours_positions=0.1", 5: "moves_mean=0.5"}
QUICK = {(0, "true"), (5, "head -1")}


@pytest.mark.parametrize(("code", "reader"), [
    pytest.param(code, reader, marks=() if (code, reader) in QUICK else pytest.mark.integration)
    for code in CODES
    for reader in ("true", "cat", "head -1", "grep -q a")
])  # fmt: skip
def test_the_exit_code_is_the_same_whoever_reads(code: int, reader: str) -> None:
    gate = shlex.join([sys.executable, "-m", "rubriclab", "gate", EXAMPLE, "--limit", CODES[code]])
    piped = subprocess.run(
        ["bash", "-c", f"{gate} | {reader}; exit ${{PIPESTATUS[0]}}"], capture_output=True, timeout=120
    )
    assert (piped.returncode, piped.stderr) == (code, b"")


def test_a_study_is_asked_and_held_against_its_limits(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_with_study(tmp_path)
    monkeypatch.chdir(folder)
    made = folder / "gate.xml"
    limits = ("--limit", "favours_positions=0.1", "--limit", "parsed_share=0.8..")
    code, out, error = command(capsys, "gate", "study.toml", *limits, "--junit", str(made))
    assert code == 4, error
    assert "Fails: planted: Largest share that a position gains or loses:" in out
    suite = ElementTree.fromstring(made.read_bytes())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert "at most 10" in str(suite.findall("testcase/failure")[0].get("message"))
    # Asked once; the same answers again have not changed, another judge has.
    code, out, _ = command(capsys, "gate", "study.toml", "--against", "Small study")
    assert (code, "All answers are the same" in out) == (0, True)
    study = Path("study.toml").read_text("utf-8").replace("first = 2.0", "first = -2.0").replace("Small study", "Later")
    Path("later.toml").write_text(study, "utf-8")
    code, out, _ = command(capsys, "gate", "later.toml", "--against", "Small study", "--json")
    said = json.loads(out)
    assert (code, said["word"], said["drift"][0]["questions"]["order"]["verdict"]) == (4, "fails", "effect")
    code, out, _ = command(capsys, "gate", "--derive", "Later")
    limits = [line.split("  # ")[0].removeprefix("--limit ") for line in out.splitlines()]
    assert (code, len(limits)) == (0, 3)
    assert run_command(["gate", "Later", *(part for limit in limits for part in ("--limit", limit))]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "Give limits"), (("--limit", "x=1"), "There is no measure"), (("--limit", "line=1", "--derive"), "Give limits"),
     (("--against", "nothing"), "has to be a file too")],
)  # fmt: skip
def test_what_the_gate_is_not_told_is_asked_for(arguments: tuple[str, ...], said: str, capsys: Captured) -> None:
    code, _, error = command(capsys, "gate", EXAMPLE, *arguments)
    assert (code, said in error) == (1, True)
