"""Check `judgments --fragile` and the column `fragile` of exported judgments."""

from pathlib import Path

import pandas as pd
import pytest

import rubriclab as rl
from tests.cli.test_commands import EXAMPLE, Captured, command, document


def judged(folder: Path, items: int = 40, rounds: int = 2) -> str:
    """Write pass or fail verdicts in two orders. Items 0 to 24 differ in round 1, and 0 to 9 in
    round 2.
    """
    lines = ["item_id,ordering,repeat,score"]
    for number in range(rounds):
        for item in range(items):
            differs = item < (25 if number == 0 else 10)
            lines += [
                f"text {item:02},{order},{number},1" for order in ("0 1", "1 0")[: 2 - differs]
            ]
            if differs:
                lines.append(f"text {item:02},1 0,{number},0")
    path = folder / "judged.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


@pytest.mark.thorough
def test_the_list_comes_with_its_check(tmp_path: Path, capsys: Captured) -> None:
    file = judged(tmp_path)
    code, out, _ = command(capsys, "judgments", file, "--fragile")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "The 20 verdicts most likely to change in another order"
    assert (
        "5 more verdicts have the same probability as the last one listed, and count in part."
        in lines
    )
    assert sum(line.endswith(" · 0 1") for line in lines) == 20
    made = document(capsys, "judgments", file, "--fragile")
    listed = [row["item_id"] for row in made["fragile"]]
    kept = next(row for row in made["rows"] if row["measure"] == "fragile_kept")
    # 25 are alike and 10 of them changed again: no name decides which 20 are counted.
    assert kept["value"] == pytest.approx(10 / 25)
    assert "Of the 20 listed, 40 in 100 changed in the other round" in out
    few = document(capsys, "judgments", file, "--fragile", "--limit", "3")
    assert [row["item_id"] for row in few["fragile"]] == listed[:3]


@pytest.mark.thorough
def test_what_cannot_be_listed_is_refused(tmp_path: Path, capsys: Captured) -> None:
    code, out, _ = command(capsys, "judgments", judged(tmp_path, items=29), "--fragile")
    assert code == 0
    assert "Fewer than 30 items were asked in two orders" in out
    _, out, _ = command(capsys, "judgments", judged(tmp_path, rounds=1), "--fragile")
    assert "Not checked: ask each order twice." in out
    for arguments, message in (
        (["--score", "1"], "--fragile lists items, not calls"),
        (["--condition", "7"], "There is no condition 7. This run has 1"),
        (["--differ", "a", "b"], "Use only one of --differ and --fragile"),
    ):
        code, _, err = command(capsys, "judgments", judged(tmp_path), "--fragile", *arguments)
        assert code != 0
        assert message in err


@pytest.mark.thorough
def test_several_conditions_are_named(capsys: Captured) -> None:
    code, out, _ = command(capsys, "judgments", EXAMPLE, "--fragile")
    assert code == 0
    assert "smollm2-135m · Sample · balanced\nThe 20 scores most likely" in out


@pytest.mark.thorough
def test_exports_say_how_fragile_each_item_is(tmp_path: Path) -> None:
    run = rl.read(judged(tmp_path))
    known = run.fragile().set_index("item_id")["probability"]
    table = pd.read_csv(run.export(tmp_path / "out.csv"))
    parquet = pd.read_parquet(run.export(tmp_path / "out.parquet"))
    for made in (table, parquet):
        assert len(made) == 160
        by_item = made.groupby("item_id")["fragile"].agg(["min", "max"])
        assert (by_item["min"] == by_item["max"]).all()
        assert by_item["max"][known.index].tolist() == pytest.approx(known.tolist())
        assert by_item["max"]["text 00"] > by_item["max"]["text 39"] > 0
    # What was exported can be read again, and gives the same list.
    again = rl.read(tmp_path / "out.csv")
    assert again.fragile()["item_id"].tolist() == known.index.tolist()


@pytest.mark.thorough
def test_pairs_have_no_such_column(tmp_path: Path) -> None:
    run = rl.read(Path(EXAMPLE).with_name("example-pairs.zip"))
    assert "fragile" not in pd.read_csv(run.export(tmp_path / "out.csv"))
    assert run.fragile().empty
