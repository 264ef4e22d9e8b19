"""The benchmark of the command line: what it says of given seconds. No test asserts a time."""

from __future__ import annotations

import sys

import pytest

from benchmarks import commands
from benchmarks.commands import HELP, NOTHING, PANDAS, RESULTS, Took, main, table, verdicts
from rubriclab.model import LabError


def found(help_seconds: float, results_seconds: float) -> list[Took]:
    return [
        Took(NOTHING, 0.02, 0.02),
        Took(PANDAS, 0.5, 0.4),
        Took(HELP, help_seconds, 0.1),
        Took(RESULTS, results_seconds, 1.0),
    ]


def test_table_tells_ratios_to_pandas() -> None:
    last = table(found(0.2, 1.0)).splitlines()[-1]
    assert last.split()[-4:] == ["1.00", "2.00", "1.00", "2.50"]


def test_a_busy_machine_can_meet_a_bar_but_miss_none() -> None:
    assert list(verdicts(found(0.2, 1.6), idle=True).values()) == [True, False]
    assert list(verdicts(found(0.2, 1.6), idle=False).values()) == [True, None]


def test_a_command_that_fails_is_said_with_its_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LabError, match="ended with 3: no such thing"):
        commands._timed([sys.executable, "-c", "import sys; sys.stderr.write('no such thing'); sys.exit(3)"])

    def failing(rounds: int) -> list[Took]:
        raise LabError(f"no {rounds} rounds")

    monkeypatch.setattr(commands, "measure", failing)
    assert main(["--rounds", "2"]) == 1
    assert "no 2 rounds" in capsys.readouterr().err
