"""Check that a zip with calls that its study would never ask is refused, and no other zip is."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rubriclab import api
from rubriclab.core.judgments import Judgments
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError
from rubriclab.runs.imported import read_run
from rubriclab.runs.runner import Run
from rubriclab.store.bundle import bundle_bytes, read_bundle
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from tests.runs.kit import ended
from tests.store.damage import packed, unpacked
from tests.study.kit import small_plan
from tests.study.test_plan_looks import PLANS

SIMULATED = JudgeSettings(name="sim", kind="simulated", options={"first": 0.0})


def zipped(made: Plan, to: Path, **limits: Any) -> Path:
    """The zip of a run of the plan."""
    with Store.open(":memory:") as store:
        end = ended(Run(store, made, **limits))
        to.write_bytes(bundle_bytes(store.table(end.run), store, end.run))
    return to


ASKED = (
    "options",
    "several strategies",
    "repeats on a sample",
    "two judges",
    "criteria",
    "pairs of three",
    "lists",
    "responses",
    "scales",
    "crossed",
    "axes",
)
"""Of PLANS: one of each kind of list and of design."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ASKED)
def test_what_was_asked_is_read(name: str, tmp_path: Path) -> None:
    """A run that was stopped in the middle of a batch."""
    design = dict(PLANS[name][0])
    other = SIMULATED.model_copy(update={"name": "other"})
    judges = (SIMULATED, other) if name == "two judges" else (SIMULATED,)
    made = small_plan(**({"stop": "known"} | design | {"judges": judges}))
    path = zipped(made, tmp_path / "run.zip", max_calls=130)
    assert read_run(path).table.rows.equals(read_bundle(path).rows)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 of 400 calls: the first batch, and half of the second."""
    made = small_plan(40, judges=(SIMULATED,), stop="known", repeats=1)
    return zipped(made, tmp_path_factory.mktemp("zip") / "run.zip", max_calls=150)


Parts = dict[str, pd.DataFrame]


def doctored(path: Path, change: Callable[[Parts], None], to: Path) -> Path:
    """A zip whose judgments and calls were changed."""
    parts = unpacked(path.read_bytes())
    names = ("judgments.parquet", "calls.parquet")
    frames = {name.partition(".")[0]: pd.read_parquet(_file(parts[name], to)) for name in names}
    change(frames)
    made = {name: _as_parquet(frames[name.partition(".")[0]]) for name in names}
    return packed(parts | made, to)


def _as_parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    return out.getvalue()


def _file(content: bytes, beside: Path) -> Path:
    path = beside.with_suffix(".parquet")
    path.write_bytes(content)
    return path


def second_batch_filled(parts: Parts, key: Callable[[int], str | None]) -> None:
    """Make up 50 judgments about answers of the second batch, all of them 5, as a run has them.

    Each is a copy of a true one about an answer that has judgments in all orders.
    """
    judgments, calls = parts["judgments"], parts["calls"]
    per_item = judgments.groupby("item")["call"].count()
    asked = set(per_item.index)
    whole = per_item.index[per_item == 10][0]
    free = BATCHED[1] - asked
    template = judgments[judgments["item"] == whole]
    rows, replies = [], []
    number = int(judgments["call"].max())
    for item in sorted(free)[:5]:
        for _, row in template.iterrows():
            number += 1
            rows.append({**row, "call": number, "item": item})
            of_call = calls[calls["call"] == row["call"]].iloc[0]
            replies.append({**of_call, "call": number, "key": key(number)})
    parts["judgments"] = pd.concat([judgments, pd.DataFrame(rows)], ignore_index=True)
    parts["calls"] = pd.concat([calls, pd.DataFrame(replies)], ignore_index=True)


def _batched() -> list[set[int]]:
    looks = small_plan(40, judges=(SIMULATED,), stop="known", repeats=1).looks
    assert looks is not None
    ((_, own),) = looks.scopes.items()
    return [{item for item, batch in own.batch.items() if batch == k} for k in range(3)]


BATCHED = _batched()


def with_other_keys(parts: Parts) -> None:
    second_batch_filled(parts, lambda number: f"{number:032x}")


def without_keys(parts: Parts) -> None:
    second_batch_filled(parts, lambda _: None)


def keys_exchanged(parts: Parts) -> None:
    """The judgments of two calls in two orders change places."""
    calls = parts["calls"]
    calls.loc[[0, 1], "key"] = calls.loc[[1, 0], "key"].to_numpy()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_other_keys, "50 calls in it would never be asked by its study"),
        (without_keys, "50 calls in it have no key"),
        (keys_exchanged, "has the key of another one"),
    ],
)
def test_made_up_judgments_are_refused(
    interrupted: Path, tmp_path: Path, change: Callable[[Parts], None], words: str
) -> None:
    bad = doctored(interrupted, change, tmp_path / "bad.zip")
    # Part by part nothing is wrong with it, and a look is made of what nobody asked.
    complete = [known.complete for known in Judgments(read_bundle(bad)).looked]
    assert complete == ([1] if change is keys_exchanged else [2])
    for read in (read_run, api.read):
        with pytest.raises(LabError, match=words) as refused:
            read(bad)
        assert "bad.zip does not fit its own study" in str(refused.value)
        assert "Export the run again" in str(refused.value)


@pytest.mark.thorough
def test_another_version_or_a_zip_without_texts_cannot_be_checked(
    interrupted: Path, tmp_path: Path
) -> None:
    """Its prompts, and so its keys, may differ. It is read as it is."""
    bad = doctored(interrupted, with_other_keys, tmp_path / "bad.zip")
    parts = unpacked(bad.read_bytes())
    head = json.loads(parts["study.json"])
    head["made_with"]["rubriclab"] = "0.0.1"
    older = packed(parts | {"study.json": json.dumps(head).encode()}, tmp_path / "older.zip")
    assert len(read_run(older).table.rows) == 200
    table = read_bundle(interrupted)
    bare = tmp_path / "bare.zip"
    bare.write_bytes(bundle_bytes(table))
    assert len(read_run(bare).table.rows) == 150


@pytest.mark.thorough
def test_a_run_of_a_file_that_grows_has_no_study_to_fit(tmp_path: Path) -> None:
    rows = "".join(f"x{k},{s},{s[0]}\n" for k in range(26) for s in ("1 2 3", "2 3 1", "3 1 2"))
    log = tmp_path / "log.csv"
    log.write_text("item_id,ordering,score\n" + rows, "utf-8")
    table = api.read(log, looks=40).table
    path = tmp_path / "log.zip"
    path.write_bytes(bundle_bytes(table))
    read = read_run(path).table
    assert read.looks == table.looks
    (look,) = api.read(path).findings.last_looks
    assert (look.units, look.stops) == (20, True)
