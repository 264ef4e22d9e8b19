"""Files that are whole, files that are not, and what is said about them."""

import gzip
import io
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.datasets.tables import MAX_UPLOAD_MB, place, read_table, table_notes
from rubriclab.model import DataError

ROWS = [["1", "a, b"], ["2", 'say "x"'], ["3", "two\nlines"]]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", ["a.csv", "empty"]),
        ("a.csv", b" \n\n", ["a.csv", "empty"]),
        ("a.csv", b"id,text\n", ["a.csv", "no rows"]),
        ("a.csv", b"id,text\n1,x\n2\n", ["a.csv", "line 3", "1 cells", "2"]),
        ("a.csv", b"id,text\n1,x,y\n", ["a.csv", "line 2", "3 cells", "2"]),
        ("a.csv", b'id,text\n1,"a\nb"\n2,x,y\n', ["line 4", "3 cells"]),
        ("a.csv", b'id,text\n1,x\n2,"y\n3,z\n', ["a.csv", "line 3", "quote"]),
        ("a.csv", b"id,id\n1,2\n", ["several columns", "“id”"]),
        ("a.csv", b"id^text\n1^x\n2^y\n", ["a.csv", "'^'", "comma"]),
        ("a.tsv", b"id,text\n1,x\n", ["a.tsv", "tab", "comma"]),
        ("a.csv", b"id,text\n1,\x81\n", ["a.csv", "byte 10", "0x81", "line 2", "UTF-8"]),
        ("a.csv", b"id,text\n1,\0\n", ["a.csv", "NUL", "byte 10"]),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ["a.csv", "is no text but a picture (PNG)", ".xlsx"]),
        ("a.tsv", b"\xff\xd8\xff\xe0\0\x10JFIF", ["a.tsv", "JPEG"]),
        ("a.csv", b"%PDF-1.7\n\0\x01", ["a.csv", "PDF"]),
        ("a.csv", b"PK\x03\x04\x14\0", ["a.csv", "ZIP", "Excel"]),
        ("a.jsonl", b"\x1f\x8b\x08\0", ["a.jsonl", "gzip"]),
        ("a.json", b"PAR1\x15\x04", ["a.json", "Parquet"]),
        ("a.csv", b"\xff\xfei\x00d\x00,", ["a.csv", "UTF-16", "byte"]),
        ("a.jsonl", b'{"id": 1}\n{"id": \n', ["a.jsonl", "line 2", "column 8"]),
        ("a.jsonl", b'{"id": 1}\n[2]\n', ["a.jsonl", "line 2", "list"]),
        ("a.json", b'[{"id": 1},\n {"id" 2}]', ["a.json", "line 2", "column 8"]),
        ("a.json", b'[{"id": 1}, 3]', ["a.json", "record 2", "number"]),
        ("a.json", b'"x"', ["a.json", "text", "list of records"]),
        ("a.json", b"[]", ["a.json", "no rows"]),
        ("a.parquet", b"PAR1junk", ["a.parquet", "Parquet"]),
        ("a.xlsx", b"PK\x03\x04junk", ["a.xlsx", "Excel"]),
        ("a.csv.gz", b"\x1f\x8bjunk", ["a.csv.gz", "gzip"]),
        ("a.csv.gz", gzip.compress(b"", mtime=0), ["a.csv.gz", "empty"]),
        ("a.docx", b"x", ["a.docx", ".docx", ".csv"]),
    ],
)
def test_a_bad_file_is_named_with_the_place(name: str, content: bytes, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        read_table(name, content)
    for word in words:
        assert word in str(caught.value)


def test_a_text_may_begin_as_another_kind_of_file_does() -> None:
    assert list(read_table("a.csv", b"PAR1,BZh\n1,2\n").columns) == ["PAR1", "BZh"]


def test_a_file_over_the_limit_is_refused_and_the_limit_can_be_lifted() -> None:
    content = b"id,text\n" + b"1,x\n" * 10
    with pytest.raises(DataError, match=r"limit is 1e-05 MB"):
        read_table("a.csv", content, limit_mb=0.00001)
    assert len(read_table("a.csv", content, limit_mb=None)) == 10
    assert MAX_UPLOAD_MB == 100
    with pytest.raises(DataError, match=r"100\.0 MB; the limit is 100 MB"):
        read_table("a.csv", b"a" * 100_000_001)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding: str) -> None:
    frame = read_table("a.csv", "id,text\n1,café “x”\n".encode(encoding))
    assert frame["text"].tolist() == ["café “x”"]
    noted = any("Windows-1252" in note for note in table_notes(frame))
    assert noted == (encoding == "cp1252")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_sniffed(delimiter: str) -> None:
    text = "".join(delimiter.join(row) + "\n" for row in [["id", "text"], ["1", "x"], ["2", "y"]])
    assert read_table("a.csv", text.encode()).values.tolist() == [["1", "x"], ["2", "y"]]


def test_cells_of_text_files_stay_as_they_are() -> None:
    frame = read_table("a.csv", b"id,score,text\n007,3.0,NA\n008,,null\n")
    assert frame.values.tolist() == [["007", "3.0", "NA"], ["008", "", "null"]]
    assert place(frame, 1, "score") == "a.csv, line 3, column “score”"
    assert table_notes(frame)[-1] == "2 rows, 3 columns."


def test_json_keeps_whole_numbers_beside_missing_ones() -> None:
    frame = read_table("a.jsonl", b'{"id": 1, "x": [1, 2]}\n\n{"y": 2}\n')
    assert frame["id"].tolist()[0] == 1
    assert frame["x"].tolist()[0] == [1, 2]
    assert len(frame) == 2


@pytest.mark.parametrize("text", ['{"data": [{"id": "k"}]}', '{"k": {"v": 1}}', '[{"id": "k"}]'])
def test_the_forms_of_json(text: str) -> None:
    assert read_table("a.json", text.encode())["id"].tolist() == ["k"]


def test_binary_tables_and_gzip() -> None:
    frame = pd.DataFrame(ROWS, columns=["id", "text"])
    parquet, excel = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    frame.to_excel(excel, index=False)
    csv = frame.to_csv(index=False).encode()
    for name, content in (
        ("a.parquet", parquet.getvalue()),
        ("a.xlsx", excel.getvalue()),
        ("a.csv.gz", gzip.compress(csv, mtime=0)),
    ):
        assert read_table(name, content).values.tolist() == ROWS


def test_excel_names_the_sheets_that_are_not_read() -> None:
    book = io.BytesIO()
    with pd.ExcelWriter(book) as writer:
        pd.DataFrame({"a": [1]}).to_excel(writer, sheet_name="one", index=False)
        pd.DataFrame({"b": [1]}).to_excel(writer, sheet_name="two", index=False)
    assert "not read: two" in " ".join(table_notes(read_table("a.xlsx", book.getvalue())))


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(cells.map(lambda t: "x" + t), cells), min_size=1, max_size=8))
def test_any_text_survives_csv_and_json_lines(rows: list[tuple[str, str]]) -> None:
    quoted = "".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in [("first", "second"), *rows]
    )
    lines = "".join(json.dumps({"first": a, "second": b}) + "\n" for a, b in rows)
    expected = [list(row) for row in rows]
    assert read_table("a.csv", quoted.encode()).values.tolist() == expected
    assert read_table("a.jsonl", lines.encode()).values.tolist() == expected
