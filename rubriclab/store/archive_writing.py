"""A run, or several, written as one file: see :mod:`rubriclab.store.archive` for what is in it."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from textwrap import fill
from typing import Any

import pandas as pd

from rubriclab.datasets.rubrics import dump_rubric, rubric_to_value
from rubriclab.model import Comparison, Dataset, Item, Study
from rubriclab.store import RunInfo, Store
from rubriclab.study.writing import DATA_FILE, STUDY_FILE, study_parts, study_to_dict

STUDY, RUN, MADE_WITH, CALLED = "study.json", "run.json", "provenance.json", "title.json"
JUDGMENTS, ITEMS, TIDY, RATINGS = "judgments.parquet", "items.parquet", "tidy.parquet", "ratings.parquet"

README = """\
What is in this bundle of {name}
{line}
Made by rubriclab {version}. Read it back with
    python -m rubriclab import THIS.zip --kind run --store lab.duckdb
or on the Data page, under judgments made elsewhere.

{files}

Keys of servers are not in here: a judge names the environment variable that holds its key.
"""
_ABOUT = {
    STUDY_FILE: "the study as a file: unpack, then python -m rubriclab run study.toml",
    DATA_FILE: "the items that were judged, one a line",
    "rubric.yaml": "the rubric, its scores in ascending order",
    TIDY: "one row a judgment, for any tool: judge, dataset, strategy, variant, item_id, "
    "candidate, criterion, shown (the order as JSON, first position first), labels, read, repeat, "
    "status, score (canonical, whatever the order), position (1 is first; 0 a tie, -1 unread), "
    "expected, mass, human (mean rating), and the judge's words",
    RATINGS: "who rated what, one row a rating: item_id, criterion, candidate, rater, rating",
    "versions.json": "versions of the lab, of Python and of the packages",
    ITEMS: "the items with their texts, as this lab keeps them",
    JUDGMENTS: "the judgments in codes, with all that is known of each reply: what the lab reads",
    STUDY: "data, rubric, judges and design in one: what the lab reads",
    RUN: "arms and orders of an imported run: what the lab reads",
    MADE_WITH: "all that is known of how the run was made",
    CALLED: "the run's title and its tags",
}


def write_archive(store: Store, *runs: str) -> bytes:
    """The archive of a run; of several, with a folder for each.

    Raises StoreError where there is no run of that name.
    """
    infos = [store.run(run) for run in dict.fromkeys(runs)]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for info in infos:
            folder = f"{info.run}/" if len(infos) > 1 else ""
            for name, part in _parts(store, info).items():
                packed = name.endswith(".parquet")  # Parquet packs by itself
                kind = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
                archive.writestr(folder + name, part, kind)
    return buffer.getvalue()


def _parts(store: Store, info: RunInfo) -> dict[str, str | bytes]:
    """Every file of a run: those for people first, then those that the lab reads."""
    made_with = dict(info.provenance)
    known = ("rubriclab", "revision", "python", "platform", "packages")
    versions = {name: made_with[name] for name in known if name in made_with}
    tidy = store.export_frame(info.run).drop(columns=["instruction", "response", "arm", "item"])
    parts: dict[str, str | bytes] = {}
    if info.state == "imported":
        parts |= {RUN: _run_json(store, info), ITEMS: _packed(store.item_table(info.run))}
    else:
        parts |= _study_files(store.study(info.run))
    ratings = store.ratings(info.run)
    if ratings["rater"].notna().any():
        parts[RATINGS] = _packed(ratings)
    parts |= {
        TIDY: _packed(tidy),
        "versions.json": json.dumps(versions, indent=1),
        JUDGMENTS: _packed(store.archive_frame(info.run)),
        MADE_WITH: json.dumps(made_with, ensure_ascii=False),
    }
    if info.tags or info.name != info.made_as:
        title = None if info.name == info.made_as else info.name
        parts[CALLED] = json.dumps({"title": title, "tags": info.tags}, ensure_ascii=False)
    files = "\n".join(
        f"{name}\n{fill(about, 88, initial_indent='    ', subsequent_indent='    ')}"
        for name, about in _ABOUT.items()
        if name in parts
    )
    line = "=" * (len(info.name) + len("What is in this bundle of "))
    readme = README.format(name=info.name, line=line, version=made_with.get("rubriclab", "?"), files=files)
    return {"README.txt": readme, **parts}


def _study_files(study: Study) -> dict[str, str | bytes]:
    """The study for the lab, and as files that a person edits and runs again."""
    parts: dict[str, str | bytes] = {}
    if isinstance(study.dataset.items[0], Item):
        parts |= study_parts(study)
    else:
        lines = (json.dumps(asdict(item), ensure_ascii=False) for item in study.dataset.items)
        parts[DATA_FILE] = "\n".join(lines) + "\n"
    if study.rubric is not None:
        parts["rubric.yaml"] = dump_rubric(study.rubric)
    value = {**study_to_dict(study), "data": _dataset_value(study.dataset)}
    parts[STUDY] = json.dumps(value, ensure_ascii=False)
    return parts


def _run_json(store: Store, info: RunInfo) -> str:
    data = store.kept_frame(info.run)
    value = {
        "run": info.run,
        "name": info.made_as,
        "arms": [asdict(arm) for arm in data.arms],
        "orderings": [{"shown": o.shown, "labels": o.labels} for o in data.orderings],
    }
    return json.dumps(value, ensure_ascii=False)


def _packed(frame: pd.DataFrame) -> bytes:
    table = io.BytesIO()
    frame.to_parquet(table, index=False, compression="zstd")
    return table.getvalue()


def _dataset_value(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "origin": dataset.origin,
        "kind": "comparisons" if isinstance(dataset.items[0], Comparison) else "items",
        "rubric": rubric_to_value(dataset.rubric) if dataset.rubric else None,
        "items": [_item_value(item) for item in dataset.items],
    }


def _item_value(item: Item | Comparison) -> dict[str, Any]:
    """An item's fields; its raters only where they have names, so that a lab that knows none reads it."""
    value = asdict(item)
    return value if value.get("raters") else {name: part for name, part in value.items() if name != "raters"}
