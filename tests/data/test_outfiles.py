"""CSV that a spreadsheet runs nothing of, and files that are whole or as they were."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.data.outfiles import FORMULA, csv_text, read_shielded, shield, write_atomically
from rubriclab.data.tables import delimited
from rubriclab.model.text import LabError, file_name, printable, storable


def test_formulas_get_an_apostrophe_and_numbers_stay() -> None:
    frame = pd.DataFrame({"=id": ["=1+1", "@x", "-2+3", "'=1", "\tx", "-2.5", "x=1", None], "n": [-1.5] * 8})
    text = csv_text(frame)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == ["'=id", "n"]
    assert [row[0] for row in rows[1:]] == ["'=1+1", "'@x", "'-2+3", "''=1", "'\tx", "-2.5", "x=1", ""]
    assert {row[1] for row in rows[1:]} == {"-1.5"}
    assert delimited(text.encode(), "x.csv").column("=id") == ["=1+1", "@x", "-2+3", "'=1", "\tx", "-2.5", "x=1", ""]
    assert csv_text(pd.DataFrame([["=1", 2]], columns=["a", "a"])) == "a,a\r\n'=1,2\r\n"


@given(st.text(alphabet="'=+-@\t\r ab1.\ud83d", max_size=6))
def test_every_text_comes_back(text: str) -> None:
    kept = shield(text)
    assert read_shielded(kept) == storable(text)
    assert not FORMULA.match(kept) or kept.startswith("'") or kept.lstrip("+-").replace(".", "").replace("1", "") == ""


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "new" / "x.csv", b"one")
    write_atomically(path, b"two")
    assert [child.name for child in path.parent.iterdir()] == ["x.csv"]
    with pytest.raises(LabError, match="as it was"):
        write_atomically(path / "below", b"three")
    assert path.read_bytes() == b"two"


def test_a_title_of_any_signs_has_a_plain_file_name() -> None:
    titles = ["../../x\u202e", "../../x", "\0", "", "ñandú / año", "n" * 30_000]
    names = [file_name(title, ".zip") for title in titles]
    assert all(re.fullmatch(r"[a-z0-9-]{1,49}\.zip", name) for name in names)
    assert len({*names}) == len(names)
    assert printable("\x1b[31m\u202ea\tb\u2028") == "\\u001b[31m\\u202ea\tb\\u2028"
