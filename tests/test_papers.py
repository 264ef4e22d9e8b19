"""What four papers run and show (docs/papers.md): every row is there once, in names that the code has, and has its test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import rubriclab.topics  # noqa: F401 - registers the topics
from rubriclab.core.topic import MEASURES, TOPICS

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
