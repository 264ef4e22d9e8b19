"""Check the commands, from a study file to a report and a gate.

Most run in this process. Those whose exit code depends on pipes run in a process of their own.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from contextlib import chdir
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import rubriclab as rl
from rubriclab.cli.common import progress_line
from rubriclab.cli.main import run_command
from rubriclab.data.sample import sample
from rubriclab.model.looks import NextLook
from rubriclab.runs import machine_pace
from rubriclab.runs.forecast import MachinePace
from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.machine_pace import BUSY_WORDS
from rubriclab.runs.runner import keep_run
from rubriclab.runs.session import Snapshot
from rubriclab.store.store import Store

Captured = pytest.CaptureFixture[str]
SMALL = Path(__file__).with_name("small")
EXAMPLE = str(Path(__file__).parents[2] / "data/example.zip")


def folder_with_study(tmp_path: Path, items: int = 24) -> Path:
    rows = "\n".join(
        f'a{k},"The answer number {k} with some words",Ask question {k}?' for k in range(items)
    )
    (tmp_path / "answers.csv").write_text(f"item_id,response,instruction\n{rows}\n", "utf-8")
    return Path(shutil.copytree(SMALL, tmp_path, dirs_exist_ok=True))


def command(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    code = run_command(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def document(capsys: Captured, *arguments: str) -> dict[str, Any]:
    code, out, err = command(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_plan_says_where_its_time_comes_from(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (500.0, 0.0, 0.0))
    kept = ("--store", str(tmp_path / "lab.duckdb"))
    shown = document(capsys, "plan", "demo", *kept)
    assert shown["rests_on"] == "as on a quiet machine with 2 cores"
    assert BUSY_WORDS in shown["notes"]
    paces = {"smollm2-135m-q8": MachinePace("Monday", 0.1)}
    monkeypatch.setattr(machine_pace, "machine_paces", lambda *_: paces)
    with Store.open(tmp_path / "lab.duckdb") as opened:
        keep_run(opened, plan_of_file("demo"))
    _, out, _ = command(capsys, "plan", "demo", *kept)
    assert "(taken from the pace of “Monday”)" in out
    assert BUSY_WORDS in out.splitlines()


def test_progress_on_a_terminal_fits_in_its_line(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    look = NextLook(first=True, several=False, calls=110, seconds=17.0)
    now = Snapshot(320, 83, 0, "running", "", "a stage of many words", 143.0, next_look=look)
    progress_line()(now)
    line = capsys.readouterr().err.removeprefix("\r\x1b[K")
    assert line.startswith("83 of 110 calls until the first look · at most 320 calls in all")
    assert len(line) < 80


@pytest.mark.thorough
def test_commands_lead_from_a_study_to_a_report(tmp_path: Path, capsys: Captured) -> None:
    folder = folder_with_study(tmp_path)
    study, store = str(folder / "study.toml"), str(folder / "lab.duckdb")
    shown = document(capsys, "plan", study, "--show", "2")["shown"]
    assert shown[0]["order"] == ["1", "2", "3"], "the default order is shown first"
    assert "Score 1: no help\nScore 2: some help" in shown[0]["messages"][-1]["content"]

    # A stopped run goes on by the same command: 24 answers in 3 rotations and 3 reversed, each
    # order twice.
    code, out, _ = command(capsys, "run", study, "--store", store, "--max-calls", "50", "--json")
    stopped = json.loads(out)
    assert code == 3
    assert 50 <= stopped["done"] < 24 * 12
    run = document(capsys, "run", study, "--store", store)
    assert (run["run"], run["state"], run["planned"], run["done"]) == (
        stopped["run"],
        "finished",
        24 * 12,
        24 * 12,
    )

    results = document(capsys, "results", run["run"][:6], "--store", store)
    assert (results["format"], results["run"]["simulated"]) == (2, True)
    rows = {row["measure"]: row for row in results["rows"] if row["topic"] == "verdict"}
    assert rows["favours_positions"]["verdict"] == "effect", (
        "two log-odds for the first position are planted"
    )
    shares = [row["value"] for row in results["rows"] if row["measure"] == "position_share"]
    assert sum(shares) == pytest.approx(1)

    listed = document(
        capsys, "judgments", run["name"], "--store", store, "--position", "1", "--limit", "5"
    )
    assert [row["position"] for row in listed["judgments"]] == [1] * 5

    # A table as papers print it, on the terminal and as files.
    tabled = document(
        capsys, "results", run["run"], "--store", store, "--table", "position_share:1"
    )
    assert [cell["value"] for cell in tabled["cells"]] == [shares[0]]
    for ending in ("tex", "csv"):
        path = folder / f"table.{ending}"
        exported = command(
            capsys,
            "export",
            run["run"],
            "--out",
            str(path),
            "--table",
            "cramers_v",
            "--store",
            store,
        )
        assert exported[0] == 0
        assert "planted" in path.read_text("utf-8")

    # An archive says the same as the store, and so does a copy of the store.
    archive, copy = str(folder / "out.zip"), str(folder / "copy.duckdb")
    assert command(capsys, "export", run["run"], "--out", archive, "--store", store)[0] == 0
    again = document(capsys, "results", archive)["rows"]
    assert [row["value"] for row in again if row["measure"] == "position_share"] == shares
    code, out, _ = command(capsys, "runs", "--backup", copy, "--store", store)
    assert (code, out) == (0, f"Copied the store to {copy}.\n")
    runs = document(capsys, "runs", "--store", copy)["runs"]
    assert [(entry["name"], entry["done"]) for entry in runs] == [("Small study", 24 * 12)]


def growing_log(path: Path, answers: int) -> str:
    """A log of a judge that always gives the score listed first: two orders of each answer."""
    lines = [f"j,a{k},{order},{order[0]}" for k in range(answers) for order in ("1 2 3", "3 2 1")]
    path.write_text("\n".join(["judge,item_id,ordering,score", *lines]), "utf-8")
    return str(path)


@pytest.mark.thorough
def test_a_log_that_grows_is_looked_at_as_planned_or_comes_with_a_warning(
    tmp_path: Path, capsys: Captured
) -> None:
    file, store = tmp_path / "log.csv", str(tmp_path / "lab.duckdb")
    growing_log(file, 25)
    planned = document(capsys, "import", str(file), "--looks", "80", "--store", store)
    assert "warning" not in planned
    found = document(capsys, "results", planned["run"], "--store", store)
    (look,) = found["looks"]
    assert look["units_at"] == [10, 20, 40, 80]
    assert (look["look"], look["units"], look["stops"]) == (2, 20, True)
    said = command(capsys, "results", planned["run"], "--store", store)[1]
    assert "Stopped after 20 of 80 answers:" in said
    level = f"{100 * found['rows'][0]['level']:.4g}%"
    assert f"Intervals are at {level}, so" in said
    assert f"({level} CI " in said  # of every interval, since all rest on the same look
    assert "95% CI" not in said
    growing_log(file, 30)
    again = document(capsys, "import", str(file), "--store", store)
    assert "looking again and again is not guarded" in again["warning"]
    code, _, err = command(capsys, "import", str(file), "--looks", "29", "--store", store)
    assert code == 1
    assert "holds 30 independent answers; 29 were planned" in err


@pytest.mark.thorough
def test_import_reads_choices_and_refuses_unclear_ones(tmp_path: Path, capsys: Captured) -> None:
    file, store = tmp_path / "pairs.csv", str(tmp_path / "lab.duckdb")
    file.write_text("judge,question_id,first,second,choice\nj,1,b,a,A\nj,1,a,b,X\n")
    for kind in ("lists", "pairs"):
        code, _, err = command(capsys, "import", str(file), "--kind", kind, "--store", store)
        assert (code, Path(store).exists()) == (1, False), "a refused file leaves no store behind"
    assert "line 3, column “choice”: “X” is not A" in err
    file.write_text(
        "judge,question_id,first,second,choice\né,1,b,a,A\né,1,a,b,C\n", encoding="cp1252"
    )
    said = document(capsys, "import", str(file), "--store", store)
    run = said["run"]
    assert "Windows-1252" in said["note"]
    listed = document(capsys, "judgments", run, "--store", store)["judgments"]
    assert [(row["item_id"], row["ordering"], row["position"]) for row in listed] == [
        ("1: a|b", "b|a", 1),
        ("1: a|b", "a|b", 0),
    ]
    file.write_text("judge,item_id,ordering,score\nj,1,1 2 3,\nj,1,3 2 1,\n")
    run = document(capsys, "import", str(file), "--kind", "scores", "--store", store)["run"]
    (kept,) = document(capsys, "runs", run, "--store", store)["runs"]
    assert (kept["state"], kept["done"]) == ("failed", 2), "nothing was read"
    assert command(capsys, "results", run, "--store", store)[0] == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["results", "nothing"], 1, "No results found at lab.duckdb"),
        (["run", "missing.toml"], 1, "missing.toml"),
        (["run", "demo", "--items", "0"], 1, "--items is 0"),
        (["run", "demo", "--items", "many"], 2, "many"),
        (["import"], 1, "file"),
        (
            ["import", "x.csv", "--columns", "human=a", "--columns", "human=b"],
            1,
            "human is given twice",
        ),
        (["nonsense"], 2, "nonsense"),
        (["runs", "x", "--delete", "--backup", "y.duckdb"], 1, "only one of"),
        (["results", EXAMPLE, "--across", "strategy"], 1, "Name a measure"),
        (["results", EXAMPLE, "--topic", "shfit", "--json"], 1, "no topic “shfit”"),
    ],
)
def test_an_error_of_the_user_is_explained_and_leaves_nothing(
    arguments: list[str], code: int, words: str, tmp_path: Path, capsys: Captured
) -> None:
    with chdir(tmp_path):
        given, out, err = command(capsys, *arguments)
    assert (given, words in err + out) == (code, True), err
    assert not list(tmp_path.iterdir()), "a refused command leaves nothing behind"


def test_demo_judges_the_first_answers_of_the_sample() -> None:
    planned = plan_of_file("demo", items=5)
    assert [item.item_id for item in planned.items] == [item.item_id for item in sample().items[:5]]


def test_human_scores_that_are_not_numbers_are_reported(
    tmp_path: Path,
) -> None:
    folder = folder_with_study(tmp_path)
    (folder / "answers.csv").write_text(
        "item_id,response,human\na,The first of the answers,4/5\nb,The second of them,5/5\n"
    )
    assert (
        "“human” is not used: not all its cells are numbers."
        in plan_of_file(folder / "study.toml").notes
    )


@pytest.mark.thorough
def test_exit_code_stays_when_the_reader_is_gone(tmp_path: Path) -> None:
    command = f"{sys.executable} -m rubriclab results nothing 2>&1 | true; exit ${{PIPESTATUS[0]}}"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    assert (
        subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, timeout=60
        ).returncode
        == 1
    )


@pytest.mark.thorough
@pytest.mark.papers(65)
def test_results_show_the_human_scores_of_a_table(tmp_path: Path, capsys: Captured) -> None:
    case, file = (
        Path(__file__).parents[1] / "oracle" / "cases" / "import_people.zip",
        tmp_path / "judged.csv",
    )
    file.write_bytes(zipfile.Path(case, "source.csv").read_bytes())
    assert "  r: +0." in command(capsys, "results", str(file), "--topic", "people")[1]
    reading = ("--epsilon", "0.3", "--cut", "4", "--labels", "random")
    said = document(capsys, "results", str(file), *reading)
    rows = said["rows"]
    assert {"people", "agreement", "alt_test", "corrected_means"} <= {row["topic"] for row in rows}
    (mine,) = (
        row
        for row in rows
        if row["measure"] == "pearson" and row["condition"] == 0 and not row["of"]
    )
    (theirs,) = rl.read(case).findings.select("pearson", condition=0, against=None)
    assert (mine["value"], mine["low"]) == pytest.approx((theirs.value, theirs.interval[0]))
    assert {row["of"]["side"] for row in rows if row["measure"] == "kappa_quadratic"} >= {
        "single",
        "people",
    }
    assert (said["reading"]["epsilon"], said["reading"]["cut"]) == (0.3, 4.0)
    assert said["reading"]["labels"] == "random"
    assert {row["of"]["cut"] for row in rows if row["measure"] == "judge_pass"} == {4.0}
    limit = ("--limit", "sensitivity=..0.01", "--cut", "4", "--every-order")
    assert command(capsys, "gate", str(file), *limit)[0] in (4, 5)


@pytest.mark.thorough
def test_judgments_on_which_two_judges_differ_are_listed_with_both_answers(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = folder_with_study(tmp_path, items=4)
    study, store = folder / "study.toml", ("--store", str(tmp_path / "lab.duckdb"))
    second = '[[judges]]\nname = "fair"\nkind = "simulated"\nmodel = "simulated"\n'
    study.write_text(study.read_text("utf-8") + second, "utf-8")
    run = document(capsys, "run", str(study), *store)["run"]
    made = document(capsys, "judgments", run, "--limit", "1000", *store)["judgments"]
    scores = {
        (row["condition"], row["item_id"], row["ordering"], row["repeat"]): row["score"]
        for row in made
    }
    # Condition 0 is “planted”, 1 is “fair”: the same answers, orders and repeats.
    expected = {
        (*key[1:], score, scores[1, *key[1:]])
        for key, score in scores.items()
        if key[0] == 0 and score != scores[1, *key[1:]]
    }
    apart = ("judgments", run, "--differ", "planted", "fair")
    given = document(capsys, *apart, "--limit", "1000", *store)
    names = ("item_id", "ordering", "repeat", "answer", "other_answer")
    assert {tuple(row[name] for name in names) for row in given["judgments"]} == expected
    assert given["differing"] == len(expected) > 3
    code, out, _ = command(capsys, *apart, "--limit", "2", *store)
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 3)
    assert lines[0] == f"planted and fair differ on {len(expected)} judgments."
    assert re.fullmatch(r".+ · listed [\d ]+ · planted: \d · fair: \d", lines[1])
    for wrong, said in (
        (("planted", "nobody"), "has no judge “nobody”. It has planted, fair."),
        (("fair", "fair"), "were never asked the same"),
    ):
        code, _, err = command(capsys, "judgments", run, "--differ", *wrong, *store)
        assert (code, said in err) == (1, True)
    code, _, err = command(capsys, *apart, "--score", "2", *store)
    assert (code, "Use it without --position, --score" in err) == (1, True)


@pytest.mark.thorough
def test_a_python_judge_runs_from_the_command_line_and_a_notebook(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = folder_with_study(tmp_path, items=4)
    study, store = folder / "study.toml", ("--store", str(tmp_path / "lab.duckdb"))
    text = study.read_text("utf-8").partition("[[judges]]")[0]
    own = '[[judges]]\nname = "mine"\nkind = "python"\noptions = {{ path = "my_judge.py"{} }}\n'
    study.write_text(text + own.format(""), "utf-8")
    code, _, err = command(capsys, "run", str(study), *store)
    assert (code, "cannot be read: No such file" in err) == (1, True)
    assert not (tmp_path / "lab.duckdb").exists()
    (folder / "my_judge.py").write_text(
        "def judge(messages, item):\n    return item['shown'][0]\n", "utf-8"
    )
    made = document(capsys, "run", str(study), *store)
    assert (made["state"], made["done"]) == ("finished", 48)
    shown = document(capsys, "judgments", made["run"], "--position", "1", *store)["judgments"]
    assert len(shown) == 48
    # Given to somebody else: the study names the file's hash, and asks before it runs anything.
    with Store.open(tmp_path / "lab.duckdb") as opened:
        sha256 = opened.study(made["run"])["judges"][0]["options"]["sha256"]
    study.write_text(text + own.format(f', sha256 = "{sha256}"'), "utf-8")
    code, _, err = command(capsys, "run", str(study), *store)
    assert (code, "--trust" in err) == (1, True)
    assert document(capsys, "run", str(study), "--trust", *store)["run"] == made["run"]
    assert document(capsys, "plan", str(study))["calls"] == 48
    # A notebook's function takes the place of the judge of its name.
    run = rl.run(
        study, tmp_path / "other.duckdb", judges={"mine": lambda _, item: item["shown"][-1]}
    )
    assert set(run.judgments(limit=None)["position"]) == {3}
    assert [condition.judge for condition in run.table.conditions] == ["mine"]
    run.close()
    study.write_text(text, "utf-8")  # a study that names no judge has only the notebook's
    run = rl.run(study, tmp_path / "other.duckdb", judges={"new": lambda *_: 2})
    assert (
        [condition.judge for condition in run.table.conditions],
        set(run.table.rows["score"]),
    ) == (["new"], {2.0})
    run.close()


EXAMPLE = "data/example.zip"


# Inside both judges' intervals of the recorded example, outside, and within that of one.
CODES = {0: "moves_mean=0.6", 4: "favours_positions=0.1", 5: "moves_mean=0.5"}
QUICK = {(0, "true"), (5, "head -1")}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("code", "reader"),
    [
        pytest.param(code, reader, marks=() if (code, reader) in QUICK else pytest.mark.integration)
        for code in CODES
        for reader in ("true", "cat", "head -1", "grep -q a")
    ],
)
def test_exit_code_of_gate_is_the_same_for_every_reader(code: int, reader: str) -> None:
    gate = shlex.join([sys.executable, "-m", "rubriclab", "gate", EXAMPLE, "--limit", CODES[code]])
    piped = subprocess.run(
        ["bash", "-c", f"{gate} | {reader}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        timeout=120,
    )
    assert (piped.returncode, piped.stderr) == (code, b"")


@pytest.mark.thorough
def test_gate_runs_a_study_and_checks_its_limits(
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
    study = (
        Path("study.toml")
        .read_text("utf-8")
        .replace("first = 2.0", "first = -2.0")
        .replace("Small study", "Later")
    )
    Path("later.toml").write_text(study, "utf-8")
    code, out, _ = command(capsys, "gate", "later.toml", "--against", "Small study", "--json")
    said = json.loads(out)
    assert (code, said["word"], said["drift"][0]["questions"]["order"]["verdict"]) == (
        4,
        "fails",
        "effect",
    )
    code, out, _ = command(capsys, "gate", "--derive", "Later")
    limits = [line.split("  # ")[0].removeprefix("--limit ") for line in out.splitlines()]
    assert (code, len(limits)) == (0, 3)
    assert (
        run_command(["gate", "Later", *(part for limit in limits for part in ("--limit", limit))])
        == 0
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Give limits"),
        (("--limit", "x=1"), "There is no measure"),
        (("--limit", "line=1", "--derive"), "Give limits"),
        (("--against", "nothing"), "can only be compared with another file"),
        (("--limit", "line=1", "--rules", "1"), "made under rules 1"),
        (("--limit", "line=1", "--judge", "nobody"), "has no judge “nobody”"),
        (("--derive", "--judge", "nobody"), "has no judge “nobody”"),
    ],
)
def test_gate_refuses_what_it_cannot_check(
    arguments: tuple[str, ...], said: str, capsys: Captured
) -> None:
    code, _, error = command(capsys, "gate", EXAMPLE, *arguments)
    assert (code, said in error) == (1, True)
