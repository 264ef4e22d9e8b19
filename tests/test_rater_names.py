"""Who rated what goes through the store and through archives, and decides no call."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from rubriclab.datasets.scores import read_scores
from rubriclab.model import DataError, Dataset, Item, Study
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_checks import ArchiveError
from rubriclab.store.archive_writing import write_archive
from rubriclab.store.faults import DamagedStore
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan
from tests.labkit import study

RATED = (
    Item("a", "ask", "text a", "quality", human=(1.0, 4.0), raters=("Zoë", "bob"), columns={"tone": "dry"}),
    Item("b", "ask", "text b", "quality", human=(5.0,), raters=("bob",)),
    Item("c", "ask", "text c", "quality"),
)


def rated_study(items: tuple[Item, ...] = RATED) -> Study:
    return replace(study(), dataset=Dataset("rated", items))


def nameless(items: tuple[Item, ...] = RATED) -> tuple[Item, ...]:
    return tuple(replace(item, raters=()) for item in items)


def opened(about: Study) -> tuple[Store, str]:
    store, prepared = Store(":memory:"), plan(about)
    return store, store.open_run(prepared, provenance(prepared)).run


def test_a_store_and_an_archive_keep_who_rated_what() -> None:
    store, run = opened(rated_study())
    with store, Store(":memory:") as other:
        assert store.study(run).dataset.items == RATED
        read_archive(other, write_archive(store, run))
        for one in (store, other):
            items = one.frame(run).items
            assert items["rater_names"].tolist() == [("Zoë", "bob"), ("bob",), ()]
            assert [tuple(ratings) for ratings in items["raters"][:2]] == [(1.0, 4.0), (5.0,)]
        assert other.study(run).dataset == store.study(run).dataset


def test_a_bundle_has_a_table_of_who_rated_what() -> None:
    store, run = opened(rated_study())
    with store, zipfile.ZipFile(io.BytesIO(write_archive(store, run))) as archive:
        table = pd.read_parquet(io.BytesIO(archive.read("ratings.parquet")))
        assert "ratings.parquet" in archive.read("README.txt").decode()
    assert table[["item_id", "rater", "rating"]].to_numpy().tolist() == [
        ["a", "Zoë", 1.0],
        ["a", "bob", 4.0],
        ["b", "bob", 5.0],
    ]


def test_names_decide_no_call() -> None:
    """The study that is half asked when its raters get names goes on as the same run."""
    named, without = rated_study(), rated_study(nameless())
    assert (named.id, named.dataset.id) == (without.id, without.dataset.id)
    assert [call.key for call in plan(named).calls()] == [call.key for call in plan(without).calls()]


def test_names_that_come_later_are_kept_and_none_take_none_away() -> None:
    store, run = opened(rated_study(nameless()))
    with store:
        assert store.frame(run).items["rater_names"].tolist() == [(), (), ()]
        before = store.revision(run)
        for about in (rated_study(), rated_study(nameless())):
            prepared = plan(about)
            assert store.open_run(prepared, provenance(prepared)).run == run
            assert store.frame(run).items["rater_names"].tolist() == [("Zoë", "bob"), ("bob",), ()]
        assert store.dataset(rated_study().dataset.id).items == RATED
        assert store.revision(run) != before  # or a cache would go on showing nameless raters


def test_the_archive_of_nameless_ratings_is_as_it_was_before_there_were_names() -> None:
    store, run = opened(rated_study(nameless()))
    with store, zipfile.ZipFile(io.BytesIO(write_archive(store, run))) as archive:
        items = json.loads(archive.read("study.json"))["data"]["items"]
        assert all("raters" not in item for item in items)
        assert "ratings.parquet" not in archive.namelist()
        assert store.ratings(run)["rater"].isna().all()
        assert store.dataset(rated_study().dataset.id).items == nameless()


def scores() -> pd.DataFrame:
    rows = [("j", "d", "x", "1 2", 1, 4, 5), ("j", "d", "y", "2 1", 2, 2, None)]
    return pd.DataFrame(rows, columns=["judge", "dataset", "item_id", "ordering", "score", "human_1", "human_2"])


@pytest.fixture(scope="module")
def imported() -> tuple[bytes, str]:
    data = read_scores(scores(), name="elsewhere")
    with Store(":memory:") as store:
        run = store.import_run(data, provenance={})
        return write_archive(store, run), run


def test_an_imported_run_keeps_its_raters(imported: tuple[bytes, str]) -> None:
    content, run = imported
    with Store(":memory:") as other:
        read_archive(other, content)
        assert other.frame(run).items["rater_names"].tolist() == [("human_1", "human_2"), ("human_1",)]


def with_raters(content: bytes, raters: Any) -> bytes:
    """The archive with other raters for its first item."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "items.parquet":
                frame = pd.read_parquet(io.BytesIO(part))
                frame.loc[0, "more"] = json.dumps({"raters": raters})
                table = io.BytesIO()
                frame.to_parquet(table)
                part = table.getvalue()
            elif name == "study.json":
                value = json.loads(part)
                value["data"]["items"][0]["raters"] = raters
                part = json.dumps(value).encode()
            new.writestr(name, part)
    return out.getvalue()


HOSTILE: Mapping[str, tuple[Any, str]] = {
    "numbers": ([1, 2], "no list of names"),
    "a text": ("ab", "no list of names"),
    "a mapping": ({"a": 1, "b": 2}, "no list of names"),
    "too few": (["ann"], "1 rater of 2 ratings"),
    "a crowd": ([f"worker {k}" for k in range(100_000)], "100,000 raters of 2 ratings"),
    "deep": ([[["ann"]], "bob"], "no list of names"),
    "twice": (["ann", "ann"], "two ratings of the rater “ann”"),
    "blank": (["ann", " "], "a rater without a name"),
}


@pytest.fixture(scope="module")
def archives(imported: tuple[bytes, str]) -> Mapping[str, bytes]:
    store, run = opened(rated_study())
    with store:
        return {"imported": imported[0], "study": write_archive(store, run)}


@pytest.mark.parametrize("of", ["study", "imported"])
def test_hostile_raters_are_refused_and_leave_nothing_behind(of: str, archives: Mapping[str, bytes]) -> None:
    with Store(":memory:") as other:
        for raters, said in HOSTILE.values():
            with pytest.raises((ArchiveError, DataError), match=said):
                read_archive(other, with_raters(archives[of], raters))
        assert other.runs() == ()


def test_a_damaged_row_of_a_store_is_said_to_be_one() -> None:
    store, run = opened(rated_study())
    with store:
        with store._transaction() as db:
            db.execute('UPDATE items SET more = \'{"raters": ["ann"]}\' WHERE item = 0')
        with pytest.raises(DamagedStore, match="1 rater of 2 ratings"):
            store.frame(run)
        with pytest.raises(DamagedStore, match="1 rater of 2 ratings"):
            store.study(run)


@pytest.mark.parametrize(
    ("raters", "said"),
    [
        (("ann",), "1 rater of 2 ratings"),
        (("ann", "ann"), "two ratings of the rater “ann”"),
        (("ann", ""), "without a name"),
    ],
)
def test_a_data_set_has_one_rater_for_each_rating(raters: tuple[str, ...], said: str) -> None:
    with pytest.raises(DataError, match=said):
        Dataset("d", (Item("a", human=(1.0, 2.0), raters=raters),))
