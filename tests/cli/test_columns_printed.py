"""Check that plan, run and import print which column was used for what."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import command, document, folder_with_study

COLUMNS = (
    "Columns of “answers.csv”: answer = “response”; instruction = “instruction”; id = “item_id”. "
    "No human scores."
)


@pytest.mark.thorough
def test_plan_and_run_print_the_columns_they_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with_study(tmp_path, items=3)
    study, store = str(folder / "study.toml"), str(folder / "lab.duckdb")
    _, out, _ = command(capsys, "plan", study)
    assert out.splitlines()[0] == COLUMNS
    assert document(capsys, "plan", study)["columns"] == [COLUMNS]
    _, out, err = command(capsys, "run", study, "--store", store, "--max-calls", "1", "--json")
    assert COLUMNS in err.splitlines()
    assert "run" in json.loads(out)


@pytest.mark.thorough
def test_import_prints_the_columns_it_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, store = tmp_path / "j.csv", str(tmp_path / "lab.duckdb")
    path.write_text("judge_model,id,shown,rating,extra\nm,1,1 2,1,x\nm,1,2 1,2,x\n")
    wanted = (
        "Columns of “j.csv”: id = “id”; judge = “judge_model”; ordering = “shown”; score = "
        "“rating”. "
        "Not used: “extra”."
    )
    _, out, _ = command(capsys, "import", str(path), "--store", store)
    assert out.splitlines()[0] == wanted
    assert document(capsys, "import", str(path), "--store", store)["columns"] == wanted


def test_plan_names_scores_that_a_rubric_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with_study(tmp_path, items=3)
    (folder / "rubric.txt").write_text("Help\n5: yes\n3: in part\n1: no\n")
    study = folder / "study.toml"
    study.write_text(study.read_text().replace("rubric.yaml", "rubric.txt"))
    _, out, _ = command(capsys, "plan", str(study))
    assert "“Help” has the scores 1, 3 and 5, so no answer can get 2 and 4." in out
    (folder / "rubric.txt").write_text("Help\n4-5: yes\n1: no\n")
    code, _, err = command(capsys, "plan", str(study))
    assert code == 1
    assert "Line 2, “4-5: yes”: several scores in one line" in err
