"""Names in; the answers, rubrics and studies that come with the lab out, and where their files
lie.
"""

import hashlib
import json
import zipfile
from functools import cache
from pathlib import Path

from rubriclab.data.items import items_of
from rubriclab.data.rubrics import own_rubric
from rubriclab.data.tables import delimited
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.text import LabError

COLUMNS = {
    name: name
    for name in ("item_id", "prompt", "task", "instruction", "response", "reference", "candidate")
}


def lab_folder() -> Path:
    """Where app.py, the pages and the folder ``data`` lie: within the package where a wheel was
    installed, else beside it.
    """
    package = Path(__file__).resolve().parents[1]
    return package / "lab" if (package / "lab").is_dir() else package.parent


def data_path(name: str) -> Path:
    """A file of the folder ``data``. Raises LabError where it did not come with the lab."""
    path = lab_folder() / "data" / name
    if not path.exists():
        raise LabError(
            f"{name} did not come with this lab. Install rubriclab again, or use a clone."
        )
    return path


@cache
def recorded_runs() -> dict[str, str]:
    """Return the ids of the recorded examples, each with the sha256 of its judgments: an import may
    bring the same id.
    """
    known = {}
    for path in sorted((lab_folder() / "data").glob("example*.zip")):
        with zipfile.ZipFile(path) as archive:
            name = json.loads(archive.read("study.json"))["id"]
            known[name] = hashlib.sha256(archive.read("judgments.parquet")).hexdigest()
    return known


def sample(*, drafts: bool = False) -> DataSet:
    """The answers of ``sample.csv``, written for this project; the level that their author intended
    is not among them.

    ``drafts``: those of ``sample-drafts.csv``, four to each prompt, to be compared.
    """
    path = data_path("sample-drafts.csv" if drafts else "sample.csv")
    made = items_of(
        delimited(path.read_bytes(), path.name), COLUMNS, "Sample drafts" if drafts else "Sample"
    )
    return DataSet(made.name, made.items, "sample")


def sample_rubric(name: str = "helpfulness") -> Rubric:
    """A rubric that comes with the lab: ``helpfulness`` of one criterion, ``writing`` of
    several.
    """
    return own_rubric(data_path(f"rubrics/{name}.yaml"))


def sample_rubrics() -> tuple[Rubric, ...]:
    return tuple(map(own_rubric, sorted(data_path("rubrics").glob("*.yaml"))))


def presets() -> dict[str, Path]:
    """The study files that come with the lab, one for a table of a paper, by their names."""
    return {path.stem: path for path in sorted((lab_folder() / "data" / "presets").glob("*.toml"))}
