"""Find the answers, rubrics and studies that come with the lab."""

import hashlib
import json
import tomllib
import zipfile
from functools import cache
from pathlib import Path

from rubriclab.data.items import items_of
from rubriclab.data.lab_folder import lab_folder
from rubriclab.data.rubrics import own_rubric
from rubriclab.data.tables import delimited
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.text import LabError

COLUMNS = {
    name: name
    for name in ("item_id", "prompt", "task", "instruction", "response", "reference", "candidate")
}


def data_path(name: str) -> Path:
    """Return a file of the folder ``data``. Raises LabError if it did not come with the lab."""
    path = lab_folder() / "data" / name
    if not path.exists():
        raise LabError(
            f"{name} did not come with this lab. Install rubriclab again, or use a clone."
        )
    return path


@cache
def recorded_runs() -> dict[str, str]:
    """Return the IDs of the recorded examples, each with the sha256 of its judgments.

    The hash matters because an imported run may have the same ID.
    """
    known = {}
    for path in sorted((lab_folder() / "data").glob("example*.zip")):
        with zipfile.ZipFile(path) as archive:
            name = json.loads(archive.read("study.json"))["id"]
            known[name] = hashlib.sha256(archive.read("judgments.parquet")).hexdigest()
    return known


def sample(*, drafts: bool = False) -> DataSet:
    """Return the answers of ``sample.csv``, without the level that their author intended.

    ``drafts``: those of ``sample-drafts.csv`` instead, four per prompt, to be compared.
    """
    path = data_path("sample-drafts.csv" if drafts else "sample.csv")
    made = items_of(
        delimited(path.read_bytes(), path.name), COLUMNS, "Sample drafts" if drafts else "Sample"
    )
    return DataSet(made.name, made.items, "sample")


def sample_rubric(name: str = "helpfulness") -> Rubric:
    """Return a rubric of the lab: ``helpfulness`` has one criterion, ``writing`` several."""
    return own_rubric(data_path(f"rubrics/{name}.yaml"))


@cache
def sample_rubrics() -> tuple[Rubric, ...]:
    """Return the rubrics that come with the lab. They are read once: pages ask at each redraw."""
    return tuple(map(own_rubric, sorted(data_path("rubrics").glob("*.yaml"))))


def presets() -> dict[str, Path]:
    """Return the study files of the lab by their names. Each repeats a table of a paper."""
    return {path.stem: path for path in sorted((lab_folder() / "data" / "presets").glob("*.toml"))}


@cache
def preset_title(path: Path) -> str:
    """Return a preset's name with the tables and figures that it repeats."""
    body = tomllib.loads(path.read_text("utf-8"))
    papers: dict[str, list[str]] = {}
    for printed in body.get("paper", []):
        paper, _, place = str(printed["table"]).partition(", ")
        papers.setdefault(paper, []).append(place.partition(", ")[0])
    said = [f"{paper}, {', '.join(dict.fromkeys(places))}" for paper, places in papers.items()]
    return " · ".join([path.stem, *said])
