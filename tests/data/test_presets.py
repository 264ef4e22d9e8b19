"""Every preset is a study file that can be planned, and names measures that the lab has."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

import rubriclab.topics  # noqa: F401  every measure
from rubriclab.core.topic import MEASURES
from rubriclab.data.published import cache_folder, sources
from rubriclab.data.sample import presets
from rubriclab.model.study import read_study
from rubriclab.runs.loading import plan_of_file
from tests.data.test_published import FILES, shared

# Items times orders, by hand: HANNA 576 items x (10 + 10 + 10); 96 stories x 3 x 12; MT-Bench 80 prompts x 3 pairs with the
# baseline x 2 orders, and 2 repeats of them on three questions of each of eight tasks; LLMBar 280 x 2.
PLANNED = {
    "hanna-options": 576 * 30,
    "hanna-criteria": 96 * 36,
    "hanna-scales": 576 * (10 + 2 + 6 + 18),  # balanced orders of 5, 2, 3 and 9 options
    "hanna-temperature": 576 * 10 * 4,
    "li-forms": 320 * 6,  # ascending, descending, random; letters, Roman numerals, a reference of full marks
    "shi-pairs": 80 * 3 * 2 + 8 * 3 * 3 * 2 * 2,
    "llmbar": 280 * 2,
}


@pytest.mark.papers(74, 75)
@pytest.mark.parametrize("name", PLANNED)
def test_a_preset_is_planned(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published files lie in the cache, as if they had been fetched."""
    monkeypatch.setenv("RUBRICLAB_DATA", str(tmp_path))
    study = read_study(presets()[name])
    published = str(study.data[0].published)
    for file, path in zip(sources()[published].files, FILES[published], strict=True):
        (cache_folder() / f"{file.sha256[:12]}-{file.title}").write_bytes(gzip.decompress(shared(path).read_bytes()))
    made = plan_of_file(name)
    assert sum(made.planned) == PLANNED[name]
    assert made.study.identity("d", "r") == study.model_copy(update={"paper": ()}).identity("d", "r")


@pytest.mark.papers(75)
def test_presets_name_measures_and_say_where_their_numbers_are_from() -> None:
    assert set(presets()) == set(PLANNED)
    for path in presets().values():
        study = read_study(path)
        assert study.paper
        for part in study.paper:
            assert part.measure.split(":")[0] in MEASURES
            assert part.numbers or "prints no numbers" in part.note
            assert "in this project's words" in part.note or study.data[0].published != "hanna"


@pytest.mark.papers(74)
@pytest.mark.parametrize(
    ("paper", "name", "table", "column"),
    [
        ("xu-rubric-position-bias-v2", "hanna-options", 0, 0),
        ("xu-rubric-position-bias-v2", "hanna-options", 2, 2),
        ("xu-rubric-position-bias-v2", "hanna-criteria", 1, 0),
        ("shi-judging-the-judges", "shi-pairs", 0, 1),
    ],
)
def test_numbers_are_those_that_the_paper_prints(paper: str, name: str, table: int, column: int) -> None:
    """Each judge's line of the paper's own table holds our number, in its place."""
    text = shared(f"../papers/{paper}.txt").read_text("utf-8")
    part = read_study(presets()[name]).paper[table]
    number = re.findall(r"Table \d", part.table)[0]
    where = text.index("MTBench List-wise" if paper.startswith("shi") else f"{number}: ")
    for judge, numbers in part.numbers.items():
        line = next(row for row in text[where:].splitlines() if row.startswith(f"{judge.replace('4o', '40')}\t"))
        cells = [float(re.findall(r"-?\d*\.\d+", cell)[0]) for cell in line.split("\t")[1:] if cell.strip()]
        scale = 100 if part.measure.startswith("position_share") else 1
        assert next(iter(numbers.values())) == pytest.approx(cells[column] / scale)
