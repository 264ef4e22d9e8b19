"""Several wordings of one rubric in a study: each arm is asked with its own, and files keep them."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from rubriclab.datasets.rubrics import dump_rubric
from rubriclab.model import Criterion, Dataset, Design, Item, Judge, Rubric, ScoreOption, Strategy, Study, StudyError
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from rubriclab.study.plan import plan
from rubriclab.study.reading import load_study, study_from_dict
from rubriclab.study.writing import study_files, study_to_dict


def rubric(name: str, *words: str, criterion: str = "Clarity") -> Rubric:
    options = tuple(ScoreOption(score, text) for score, text in enumerate(words, start=1))
    return Rubric(name, (Criterion(criterion, options),))


USUAL = rubric("usual", "hard to follow", "in between", "easy to follow")
PLAIN = rubric("plain", "bad", "middling", "good")
LONGER = rubric("longer", "bad", "poor", "middling", "good")


def study(*, levels: tuple[str, ...] = ("usual", "plain"), others: tuple[Rubric, ...] = (PLAIN,)) -> Study:
    items = tuple(Item(f"i{n}", instruction="Say hello.", response=f"Hello number {n}.") for n in range(2))
    design = Design(strategies=(Strategy("fixed", reads=1),), factors={"rubric": levels})
    judge = Judge("oracle", "simulated", "simulated")
    return Study("two wordings", Dataset("greetings", items), (judge,), design, USUAL, rubrics=others)


def test_each_arm_is_asked_with_its_own_wording() -> None:
    prepared = plan(study())
    assert [arm.variant.get("rubric") for arm in prepared.arms] == ["usual", "plain"]
    texts = {call.arm: call.messages[-1]["content"] for call in prepared.calls()}
    assert "easy to follow" in texts[0]
    assert "good" not in texts[0]
    assert "good" in texts[1]
    assert "easy to follow" not in texts[1]


def test_a_wording_may_have_another_scale() -> None:
    prepared = plan(study(levels=("usual", "longer"), others=(LONGER,)))
    assert [arm.scores for arm in prepared.arms] == [(1, 2, 3), (1, 2, 3, 4)]


def test_what_the_wordings_say_is_part_of_the_study() -> None:
    other = study(others=(rubric("plain", "bad", "so-so", "good"),))
    assert study().id != other.id
    assert replace(study(), rubrics=(), design=Design()).id == replace(study(), rubrics=(), design=Design()).id


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"levels": ("usual", "plane")}, r"level 'plane'; the study's rubrics: “usual”, “plain”"),
        ({"others": (rubric("plain", "bad", "good", criterion="Tone"),)}, r"“plain” has the criteria Tone"),
        ({"others": (rubric("usual", "bad", "good"),)}, r"Two rubrics are named “usual”"),
    ],
)
def test_wordings_that_do_not_fit_are_named(changed: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        plan(study(**changed))  # type: ignore[arg-type]


def test_a_run_keeps_its_wordings() -> None:
    wanted = study()
    assert study_from_dict(study_to_dict(wanted), dataset=wanted.dataset) == wanted
    with Store(":memory:") as store:
        run = RunManager(store).start(wanted)
        assert run.wait(30).state == "finished"
        assert store.study(run.info.run).rubrics == (PLAIN,)
        made = store.run(run.info.run).provenance["rubrics"]
        assert [one["name"] for one in made] == ["plain"]


def test_a_study_file_names_the_files_of_its_wordings(tmp_path: Path) -> None:
    wanted = study()
    with zipfile.ZipFile(io.BytesIO(study_files(wanted))) as archive:
        archive.extractall(tmp_path)
    assert load_study(tmp_path / "study.toml").id == wanted.id
    (tmp_path / "rubric_2.yaml").write_text(dump_rubric(rubric("plain", "bad", "so-so", "good")))
    assert load_study(tmp_path / "study.toml").id != wanted.id


def test_a_rubric_named_twice_over_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(study_files(study()))) as archive:
        archive.extractall(tmp_path)
    path = tmp_path / "study.toml"
    text = path.read_text()
    path.write_text(text.replace("[design]", '[rubric]\nfile = "rubric_1.yaml"\n\n[design]', 1))
    with pytest.raises(StudyError, match=r"factors, rubric: the rubrics are named here and under \[rubric\]"):
        load_study(path)
