"""Tables of judgments of millions of rows: read as codes, the same as when they are spelled out, and bounded."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.generated import generated_criteria, generated_scores
from rubriclab.datasets import limits, parquet
from rubriclab.datasets.coded import CodedTable, first_rows, joint, rank_within
from rubriclab.datasets.imports import READERS, read_judgments
from rubriclab.datasets.parquet import parquet_codes, parquet_frame
from rubriclab.datasets.row_hash import rows_hash
from rubriclab.datasets.tables import read_table
from rubriclab.model import DataError, RunData
from rubriclab.store import Store


def written(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


COLUMNS = {
    "truth": pa.array([True, False, None]),
    "half": pa.array(np.array([1, 2, np.nan], np.float16)),
    "decimal": pa.array([Decimal("1.5"), None, Decimal("2.5")]),
    "day": pa.array([date(2024, 1, 1), None, date(2024, 1, 1)]),
    "moment": pa.array([datetime(2024, 1, 1), None, datetime(2024, 1, 2)], pa.timestamp("ns")),
    "zoned": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 3, pa.timestamp("us", tz="UTC")),
    "hour": pa.array([time(1), None, time(1)]),
    "large": pa.array(["a", None, "b"], pa.large_string()),
    "view": pa.array(["a", None, "b"], pa.string_view()),
    "coded": pa.array(["b", None, "a"]).dictionary_encode(),
    "nothing": pa.nulls(3),
    "unsigned": pa.array([2**64 - 1, 1, None], pa.uint64()),
    "whole": pa.array([1, None, 1]),
    "number": pa.array([1.0, np.nan, None]),
    "bytes": pa.array([b"x", None, b"x"]),
    "lists": pa.array(["[1, 2]", None, "[1, 2]"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_gives_the_same_texts_and_codes(name: str) -> None:
    content = written(pa.table({name: COLUMNS[name]}))
    plain, coded = (
        CodedTable(read("a.parquet", content), required=[name], optional=[]).coded(name)
        for read in (parquet_frame, parquet_codes)
    )
    assert coded.texts == plain.texts
    assert coded.code.tolist() == plain.code.tolist()


@pytest.mark.parametrize("kind", ["scores", "criteria"])
@pytest.mark.parametrize("options", [{}, {"row_group_size": 1_000}, {"use_dictionary": False}])
def test_the_same_run_comes_of_codes_in_parts_as_of_texts(
    kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "CODED_ROWS", 700)  # parts that no row group ends with
    made = {"scores": generated_scores, "criteria": generated_criteria}[kind](6_000)
    texts = made.astype({name: "str" for name in made if isinstance(made[name].dtype, pd.CategoricalDtype)})
    content = written(pa.Table.from_pandas(texts, preserve_index=False), **options)
    coded = read_judgments(kind, "a.parquet", content, name="n")
    plain = READERS[kind].read(read_table("a.parquet", content), name="n")
    assert coded.run == plain.run
    pd.testing.assert_frame_equal(coded.judgments, plain.judgments)
    pd.testing.assert_frame_equal(coded.items, plain.items)
    assert (coded.arms, coded.orderings, coded.planned) == (plain.arms, plain.orderings, plain.planned)


def test_long_texts_that_repeat_are_no_matter() -> None:
    """Spelled out they would be two gigabytes, which is refused."""
    rows, long = 200_000, "a" * 10_000
    table = pa.table({"judge": pa.array([long], pa.string()).take(pa.array(np.zeros(rows, np.int64)))})
    content = written(table)
    with pytest.raises(DataError, match="unpacks to more than 500 MB"):
        parquet_frame("a.parquet", content)
    frame = parquet_codes("a.parquet", content)
    assert len(frame) == rows
    assert list(frame["judge"].cat.categories) == [long]


def test_what_is_beyond_the_limits_is_refused_before_it_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    content = written(pa.table({"a": [f"text {row}" for row in range(5_000)], "b": [1] * 5_000}))
    monkeypatch.setattr(parquet, "MAX_CODED_ROWS", 4_999)
    with pytest.raises(DataError, match="5,000 rows; 4,999 are read"):
        parquet_codes("a.parquet", content)
    monkeypatch.setattr(parquet, "MAX_CODED_ROWS", 5_000)
    monkeypatch.setattr(parquet, "MAX_CODED_CELLS", 9_999)
    with pytest.raises(DataError, match="9,999 cells are read"):
        parquet_codes("a.parquet", content)
    monkeypatch.setattr(parquet, "MAX_CODED_CELLS", 10_000)
    monkeypatch.setattr(parquet, "MAX_UNPACKED_MB", 0.01)
    with pytest.raises(DataError, match="different texts"):
        parquet_codes("a.parquet", content)
    assert limits.MAX_CODED_ROWS < 2**31, "codes and calls have 32 bits"


def test_a_broken_file_a_list_and_a_name_twice_are_told_as_before() -> None:
    whole = written(pa.table({"a": ["x"] * 100}))
    for content in (whole[: len(whole) // 2], b"PAR1junkPAR1"):
        with pytest.raises(DataError, match=r"a\.parquet.*Parquet"):
            parquet_codes("a.parquet", content)
    lists = parquet_codes("a.parquet", written(pa.table({"a": [[1, 2], [3]]})))
    assert [list(cell) for cell in lists["a"]] == [[1, 2], [3]]
    twice = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["judge", "judge"])
    with pytest.raises(DataError, match="judge"):
        read_judgments("scores", "a.parquet", written(twice), name="n")


def test_codes_of_rows() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-1, 4, 2_000).astype(np.int32) for _ in range(3))
    code, first = joint(a, b, np.zeros(2_000, np.int16), c)
    rows = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    seen = list(dict.fromkeys(rows))
    assert code.tolist() == [seen.index(row) for row in rows]
    assert first.tolist() == [rows.index(row) for row in seen] == first_rows(code).tolist()
    by = rng.integers(0, 5, 2_000)
    own = pd.DataFrame({"group": code, "by": by})
    expected = own.sort_values("by", kind="stable").groupby("group").cumcount().sort_index()
    assert rank_within(code, by).tolist() == expected.tolist()


def test_narrower_columns_have_the_same_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = pd.DataFrame({"position": [-1, 2, 0], "score": [np.nan, 2.0, 5.0], "mass": [np.nan] * 3})
    expected = int(pd.util.hash_pandas_object(wide, index=True).to_numpy().sum(dtype=np.uint64))
    narrow = wide.astype({"position": "int16", "mass": "float32"})
    assert rows_hash(wide) == rows_hash(narrow) == expected
    monkeypatch.setattr("rubriclab.datasets.row_hash.AT_ONCE", 2)
    assert rows_hash(narrow) == expected


def test_more_arms_and_reads_than_a_store_counts_are_refused() -> None:
    line = {"dataset": "d", "item_id": "1", "ordering": "1 2", "score": 1}
    judges = pd.DataFrame([{"judge": f"j{k}", **line} for k in range(32_768)])
    with pytest.raises(DataError, match="32,768 arms"):
        READERS["scores"].read(judges, name="n")
    reads = pd.DataFrame([{"judge": "j", **line}] * 32_769)
    with pytest.raises(DataError, match="32,769 reads"):
        READERS["scores"].read(reads, name="n")


@pytest.mark.parametrize("at_once", [1_000_000, 700])
def test_a_store_has_every_row_in_its_order_whatever_parts_it_came_in(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubriclab.store.objects.AT_ONCE", at_once)
    given: RunData = READERS["scores"].read(generated_scores(6_000), name="n")
    with Store(":memory:") as store:
        kept = store.frame(store.import_run(given, provenance={})).judgments
    for name in ("arm", "item", "ordering", "read", "repeat", "call", "status", "position", "score"):
        assert kept[name].tolist() == given.judgments[name].tolist(), name
    assert kept["mass"].isna().all()
