"""Files of every kind become tables of texts, whole or not at all, hostile ones are refused in
words; and files out.
"""

import csv
import gzip
import io
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.data import limits
from rubriclab.data.safe_files import FORMULA, csv_text, read_shielded, shield, write_atomically
from rubriclab.data.tables import delimited, read_table, table_of_frame
from rubriclab.data.worker import Worker
from rubriclab.model.text import LabError, file_name, printable, storable


def packed(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


def book(*rows: list[Any], sheets: int = 1) -> bytes:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for _ in range(sheets - 1):
        made.create_sheet()
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def changed_book(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A workbook whose first sheet went through ``change``."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, change(part) if name.endswith("sheet1.xml") else part)
    return out.getvalue()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "name", "rows"),
    [
        (b"a;b\r\n1;2,5\r\n3;4\r\n", "x.csv", [["1", "2,5"], ["3", "4"]]),
        (b"a\tb\n1\t2\n", "x.tsv", [["1", "2"]]),
        (b"a|b\n1|2\n", "x.txt", [["1", "2"]]),
        (b"a,b\r1,2\r", "x.csv", [["1", "2"]]),
        # A row of blank cells is a row, an empty line is none.
        (b"a,b\n1,2\n,\n\n3,4\n", "x.csv", [["1", "2"], ["", ""], ["3", "4"]]),
        (b"\xef\xbb\xbfa,b\n\n1,2\n\n", "x.csv", [["1", "2"]]),
        ("a\tb\nö\t2\n".encode("utf-16"), "x.txt", [["ö", "2"]]),
        (b'a,b\n"x\ny, ""z""",2\n', "x.csv", [['x\ny, "z"', "2"]]),
        (b"a,b\nNA,null\nNone,01\n1.0,\n", "x.csv", [["NA", "null"], ["None", "01"], ["1.0", ""]]),
        (b"a,b\n'=1+1,-2\n'x,''=1\n", "x.csv", [["=1+1", "-2"], ["'x", "'=1"]]),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "x.csv.gz", [["1", "2"]]),
        (
            b'[{"a": 1, "b": null}, {"a": 1.5, "c": ["x", {"y": true}]}]',
            "x.json",
            [["1", "", ""], ["1.5", "", '["x", {"y": true}]']],
        ),
        (b'{"data": [{"a": "\\ud83d x"}]}', "x.json", [["\ufffd x"]]),
        (b'{"a": false}\n\n{"a": "2"}\n', "x.jsonl", [["false"], ["2"]]),
        (
            packed(pa.table({"a": [1, 2], "b": [1.5, None], "c": ["x", "y"]})),
            "x.parquet",
            [["1", "1.5", "x"], ["2", "", "y"]],
        ),
        (
            book(["a", "b", None], [1, 2.5, "x"], [], [None, "=1+1", True]),
            "x.xlsx",
            [["1", "2.5", "x"], ["", "", ""], ["", "", "true"]],
        ),
    ],
)
def test_files_are_read_as_they_are(content: bytes, name: str, rows: list[list[str]]) -> None:
    table = read_table(content, name)
    assert (table.first(9), table.size) == (rows, len(rows))


@pytest.mark.parametrize(
    ("content", "name", "columns", "said"),
    [
        (
            book(["Term 1", None], [], ["id", "text"], ["a", "b"]),
            "x.xlsx",
            ("id", "text"),
            "Left out above the header: “Term 1”",
        ),
        (
            b"Essays graded;;\nid;text;score\na;b;4\n",
            "x.csv",
            ("id", "text", "score"),
            "“Essays graded”",
        ),
        (b",,\nid,text,score\na,b,4\n", "x.csv", ("id", "text", "score"), ""),
        (b"id,,\na,b,c\nd,e,f\n", "x.csv", ("id", "column 2", "column 3"), ""),
        (b"my notes,\na,b\nd,e\n", "x.csv", ("my notes", "column 2"), ""),
        (b"my notes,,\n1,2,3\n4,5,6\n", "x.csv", ("my notes", "column 2", "column 3"), ""),
    ],
)
def test_a_title_above_the_header_is_no_header(
    content: bytes, name: str, columns: tuple[str, ...], said: str
) -> None:
    table = read_table(content, name)
    assert (table.columns, said in table.note, bool(table.note)) == (columns, True, bool(said))


def test_what_was_noticed_is_said() -> None:
    for text in ("é", "“€”"):
        latin = read_table(f"a,b\n{text},2\n".encode("cp1252"), "x.csv")
        assert ("Windows-1252" in latin.note, latin.first(1)) == (True, [[text, "2"]])
    assert "first sheet" in read_table(book(["a"], [1], sheets=2), "x.xlsx").note
    assert "value for them: 1 formula." in read_table(book(["a", "b"], [1, "=1+1"]), "x.xlsx").note
    assert "taken off 1 cell." in read_table(b"a,b\n'=1,2\n", "x.csv").note
    table = read_table(b"a;b\n1;2\n3;2\n", "x.csv")
    assert (table.separator, table.note) == (";", "")
    assert str(table.fault(0, "b", "x")) == "“x.csv”, line 2, column “b”: x"
    assert (table.coded("b")[0].tolist(), table.coded("b")[1]) == ([0, 0], ["2"])


@pytest.mark.thorough
def test_texts_that_many_rows_of_parquet_share_are_kept_once() -> None:
    texts = pa.DictionaryArray.from_arrays([*range(3)] * 220_000, [sign * 900 for sign in "abc"])
    table = read_table(
        packed(pa.table({"a": texts, "b": [*range(660_000)]})), "x.parquet"
    )  # 594 MB spelled out
    codes, distinct = table.coded("a")
    assert (codes.tolist(), distinct) == ([0, 1, 2] * 220_000, ["a" * 900, "b" * 900, "c" * 900])
    assert table.column("b") == [str(k) for k in range(660_000)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "x.csv", "is empty"),
        (b"a,b\n", "x.csv", "no rows"),
        (b"a,b\n1,2\n", "x.doc", r"cannot read “\.doc” files.*\.csv"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "x.csv", "line 3: unexpected end of data"),
        (b'a,b\n"1"x,2\n', "x.csv", "line 2"),
        (b"a,b\n1,2\n1,2,3\n", "x.csv", "line 3: 3 cells, but the header has 2"),
        (b"a,b\n1,2\n1\n", "x.csv", "line 3: 1 cells"),
        (b"a,b\n1,2\0\n", "x.csv", "line 2: a NUL byte"),
        (b"a,b\n\xe9\x81,2\n", "x.csv", "line 2: neither UTF-8 nor Windows-1252"),
        ("a,b\n1,2\n".encode("utf-16")[:-1], "x.csv", "not complete UTF-16"),
        (b"\x89PNG\r\n\x1a\n123", "x.csv", r"picture \(PNG\)"),
        (b"PK\x03\x04 123", "x.csv", "zip archive"),
        (b"a,a\n1,2\n", "x.csv", "columns 1 and 2 are named “a” and “a”"),
        ("response, Re\u200bsponse\n1,2\n".encode(), "x.csv", "columns 1 and 2"),
        (b"x" * 1_001 + b",b\n1,2\n", "x.csv", "has 1,001 characters"),
        (b"[" * 100_000, "x.json", "nested deeper than 64"),
        (b"[" * 70 + b"]" * 70, "x.json", "nested deeper than 64"),
        (b'[{"a":' + b"1" * 5_000 + b"}]", "x.json", "5,000 digits"),
        (b'[{"a": 1e400}]', "x.json", "1e400 .* is too large"),
        (b"[" + b"," * 20_000_000, "x.json", "more than 20,000,000 values"),
        (b'a,b\n1,"' + b"x" * 20_000_001 + b'"\n', "x.csv", "line 2: field larger than"),
        (b'[{"a": "' + b"x" * 20_000_001 + b'"}]', "x.json", "column “a”: a cell has 20 MB"),
        (b",".join(b"c%d" % k for k in range(4_001)), "x.csv", "4,001 columns"),
        (b"[{}, {}]", "x.json", "its 2 records are empty"),
        (b'{"a": 1}\n{"a":\n', "x.jsonl", "“x.jsonl”, line 2, column 6: not JSON"),
        (b'[{"a": 1, "a": 2}]', "x.json", "“a” appears twice"),
        (b'[{"a": NaN}]', "x.json", "NaN is not a number"),
        (b'{"a": 1}\n{"a": -Infinity}\n', "x.jsonl", "“x.jsonl”, line 2: -Infinity"),
        (b'[{"a": 1}, 5]', "x.json", "record 2: a JSON number"),
        (packed(pa.table({"a": pa.array([b"\xff\xfe"], pa.binary())})), "x.parquet", "UTF-8"),
        (
            packed(pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"])),
            "x.parquet",
            "columns 1 and 2",
        ),
        (
            packed(pa.table({"a": ["zzzz"]}), compression="none").replace(b"zzzz", b"\xff\xfezz"),
            "x.parquet",
            "UTF8",
        ),
        (b"PAR1 and nothing", "x.parquet", "could not open this Parquet file"),
        (b"PK\x03\x04", "x.xlsx", "could not open this Excel workbook"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "x.csv.gz", "not a complete gzip"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(content: bytes, name: str, words: str) -> None:
    with pytest.raises(LabError, match=words):
        read_table(content, name)


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (
            lambda: packed(pa.table({"a": ["a" * 400_000_000]}), compression="zstd"),
            "x.parquet",
            "more than 500 MB",
        ),
        (
            lambda: packed(
                pa.table({"a": pa.DictionaryArray.from_arrays([0] * 20_000, ["x" * 1_000_000])})
            ),
            "x.parquet",
            "more than 500 MB",
        ),
        (
            lambda: packed(
                pa.table(
                    {
                        "a": pa.DictionaryArray.from_arrays(
                            pa.array([0] * 25_000_000, pa.int8()), ["x"]
                        )
                    }
                )
            ),
            "x.parquet",
            "25,000,000 rows",
        ),
        (
            lambda: gzip.compress(b"a,b\n" + b"0" * 510_000_000, 1, mtime=0),
            "x.csv.gz",
            "more than 500 MB",
        ),
        (
            lambda: changed_book(
                book(["a"], [1]),
                lambda part: part.replace(b"<v>1</v>", b"<v>" + b"1" * 101_000_000 + b"</v>"),
            ),
            "x.xlsx",
            "more than 100 MB",
        ),
    ],
)
@pytest.mark.integration
def test_bombs_are_refused_while_they_unpack(
    make: Callable[[], bytes], name: str, words: str
) -> None:
    content = make()
    assert len(content) < 4_000_000
    with pytest.raises(LabError, match=words):
        read_table(content, name)


ENTITIES = (
    b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + k, (b"&%c;" % (97 + k)) * 10) for k in range(8))
    + b"]>"
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (rb'r="A2"', b'r="XFD2"', "16,384 columns"),
        (rb'r="A2"', b'r="ZZZZZ2"', "could not open this Excel workbook"),
        (rb'<row r="2"', b'<row r="999999999"', "1,048,577 rows; the limit"),
        (rb"^(.*)<v>1</v>", ENTITIES + rb"\1<v>&i;</v>", "could not open this Excel workbook"),
        (rb'<dimension ref="[^"]*"', b'<dimension ref="A1:XFD1048576"', ""),
    ],
)
def test_what_a_sheet_claims_is_not_believed(old: bytes, new: bytes, words: str) -> None:
    claimed = changed_book(book(["a"], [1]), lambda part: re.sub(old, new, part, flags=re.DOTALL))
    with pytest.raises(LabError, match=words) if words else nullcontext():
        assert read_table(claimed, "x.xlsx").first(9) == [["1"]]


def test_devices_pipes_folders_and_large_files_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(limits.MAX_FILE + 1)
    for path, words in (
        ("/dev/zero", "a pipe or a device"),
        (tmp_path / "pipe.csv", "a pipe or a device"),
        (tmp_path, "a folder"),
        (tmp_path / "none.csv", "No such file"),
        (tmp_path / "large.csv", "the limit is 100 MB"),
        ("x\0y.csv", "cannot be read"),
        ("x" * 10_000, "cannot be read: File name too long"),
    ):
        with pytest.raises(LabError, match=words):
            read_table(path)


def test_a_frame_is_a_table_too() -> None:
    table = table_of_frame(pd.DataFrame({"a": [1, 2], "b": [1.5, None], "c": ["x", None]}))
    assert table.first(9) == [["1", "1.5", "x"], ["2", "", ""]]
    with pytest.raises(LabError, match="columns 1 and 2"):
        table_of_frame(pd.DataFrame([[1, 2]], columns=["a", "A"]))
    with pytest.raises(LabError, match="holds bytes"):
        table_of_frame(pd.DataFrame({"a": [b"\xff"]}))


@pytest.mark.thorough
def test_a_task_that_takes_too_long_is_ended_and_the_next_one_has_a_new_process(
    tmp_path: Path,
) -> None:
    hurried = Worker(seconds=0.01)
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 300_000)
    with pytest.raises(LabError, match=r"more than 0\.01 seconds"):
        hurried.run("table", path, "x.csv", result=str(tmp_path / "out"))
    hurried.seconds = 60
    assert hurried.run("table", path, "x.csv", result=str(tmp_path / "out"))["separator"] == ","
    hurried.close()


def test_the_worker_has_no_key_and_says_nothing_but_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-1")
    worker = Worker()
    process = Path(f"/proc/{worker._started().pid}")
    if process.exists():
        assert b"SECRET_API_KEY" not in (process / "environ").read_bytes()
        assert (process / "fd" / "1").readlink() == Path(os.devnull)
    worker.close()


@pytest.mark.integration
def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n1,2\n")
    code = (
        "import os\nfrom rubriclab.data.tables import read_table\nfrom rubriclab.data.worker "
        "import WORKER\n"
        f"read_table({str(path)!r})\nprint(WORKER._process.pid, flush=True)\nos.kill(os.getpid(), "
        f"9)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=120,
    )
    child = int(parent.stdout)
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


# ---------------------------------------------------------------------------------------- files out
def test_formulas_get_an_apostrophe_and_numbers_stay() -> None:
    frame = pd.DataFrame(
        {"=id": ["=1+1", "@x", "-2+3", "'=1", "\tx", "-2.5", "x=1", None], "n": [-1.5] * 8}
    )
    text = csv_text(frame)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == ["'=id", "n"]
    assert [row[0] for row in rows[1:]] == [
        "'=1+1",
        "'@x",
        "'-2+3",
        "''=1",
        "'\tx",
        "-2.5",
        "x=1",
        "",
    ]
    assert {row[1] for row in rows[1:]} == {"-1.5"}
    assert delimited(text.encode(), "x.csv").column("=id") == [
        "=1+1",
        "@x",
        "-2+3",
        "'=1",
        "\tx",
        "-2.5",
        "x=1",
        "",
    ]
    assert csv_text(pd.DataFrame([["=1", 2]], columns=["a", "a"])) == "a,a\r\n'=1,2\r\n"


@given(st.text(alphabet="'=+-@\t\r ab1.\ud83d", max_size=6))
def test_every_text_comes_back(text: str) -> None:
    kept = shield(text)
    assert read_shielded(kept) == storable(text)
    assert (
        not FORMULA.match(kept)
        or kept.startswith("'")
        or kept.lstrip("+-").replace(".", "").replace("1", "") == ""
    )


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "new" / "x.csv", b"one")
    write_atomically(path, b"two")
    assert [child.name for child in path.parent.iterdir()] == ["x.csv"]
    with pytest.raises(LabError, match="is unchanged"):
        write_atomically(path / "below", b"three")
    assert path.read_bytes() == b"two"


def test_a_title_of_any_signs_has_a_plain_file_name() -> None:
    titles = ["../../x\u202e", "../../x", "\0", "", "ñandú / año", "n" * 30_000]
    names = [file_name(title, ".zip") for title in titles]
    assert all(re.fullmatch(r"[a-z0-9-]{1,49}\.zip", name) for name in names)
    assert len({*names}) == len(names)
    assert printable("\x1b[31m\u202ea\tb\u2028") == "\\u001b[31m\\u202ea\tb\\u2028"
