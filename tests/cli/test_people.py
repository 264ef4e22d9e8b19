"""A table of judgments with people's scores in it, from CSV to rows: shown by the command, equal to scipy's numbers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.cli.main import run_command

ORDERS = ("1 2 3 4 5", "5 4 3 2 1", "3 4 5 1 2")


@pytest.mark.papers(65)
def test_people_of_a_table_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three orders, and one of them three times."""
    rng, file = np.random.default_rng(0), tmp_path / "judged.csv"
    quality = rng.normal(3, 1.1, (30, 1))
    human = np.clip(np.rint(quality + rng.normal(0, 0.7, (30, 3))), 1, 5).astype(int)
    score = np.clip(np.rint(quality + rng.normal(0, 0.7, (30, 6))), 1, 5).astype(int)
    with file.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["judge", "item_id", "ordering", "score", "strategy", "human_1", "human_2", "human_3"])
        for i in range(30):
            for call, value in enumerate(score[i]):
                order, strategy = (ORDERS[call], "shown") if call < 3 else (ORDERS[0], "fixed")
                rows.writerow(["j", f"a{i}", order, value, strategy, *human[i]])

    def shown(*options: str) -> dict[str, Any]:
        assert run_command(["results", str(file), "--json", *options]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    assert run_command(["results", str(file), "--topic", "people"]) == 0
    assert "  r: +0." in capsys.readouterr().out
    rows = shown()["rows"]
    assert {"people", "agreement", "alt_test", "corrected_means"} <= {row["topic"] for row in rows}
    at = next(row["condition"] for row in rows if row["of"].get("calls") == 2)
    mine = {row["measure"]: row for row in rows if row["condition"] == at and not row["of"]}
    assert mine["pearson"]["value"] == pytest.approx(sp.pearsonr(score[:, :3].mean(axis=1), human.mean(axis=1))[0])
    assert mine["pearson"]["low"] < mine["pearson"]["value"] < mine["pearson"]["high"]
    assert {row["of"]["side"] for row in rows if row["measure"] == "kappa_quadratic"} == {"single", "people", "repeats"}
    said = shown("--epsilon", "0.3", "--cut", "4")
    assert (said["reading"]["epsilon"], said["reading"]["cut"]) == (0.3, 4.0)
    assert {row["of"]["cut"] for row in said["rows"] if row["measure"] == "judge_pass"} == {4.0}
