"""Every page in another language: no English is left over.

The language of this test is made up: each text that passes through the catalogue comes back in brackets. Whatever a
page shows outside of brackets has not passed; names of the user's own and of the lab's code words may.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from pandas.api.types import is_float_dtype
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.proto.Dataframe_pb2 import Dataframe
from streamlit.proto.MultiSelect_pb2 import MultiSelect
from streamlit.proto.PlotlyChart_pb2 import PlotlyChart
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.ui.language import CHOSEN
from rubriclab.datasets.rubrics import rubric_to_value
from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.model import language

ROOT = Path(__file__).resolve().parents[2]
PAGES = [entry.file for entries in ui.NAVIGATION.values() for entry in entries]
OPEN, CLOSE = "⟦", "⟧"
CHARTED = {"text", "name", "hovertext"}
"""Fields of a chart that a reader sees, besides the texts in its lists."""
READ = {"label", "body", "help", "placeholder", "title", "caption", "text", "options", "alt", "headers", "value"}
"""Fields of an element that a reader sees or hears."""
WORDS_OF_FILES = ("rubriclab/report/references.toml", "data/sample.csv")
SENTENCE = re.compile(r"[A-Za-z’']{2,}(?: [a-z’']{2,}){2,}")
"""Three words on end, of which all but the first are small: no name looks like that."""


class Bracketed(Mapping[str, Any]):
    """A catalogue that has every text which the German one has."""

    known = language.catalogue("de")

    def get(self, message: str, default: Any = None) -> Any:
        if message not in self.known:
            return default
        if isinstance(default, str):
            return f"{OPEN}{message}{CLOSE}"
        return (f"{OPEN}{message}{CLOSE}", f"{OPEN}{message}s{CLOSE}")

    def __getitem__(self, message: str) -> str:
        return f"{OPEN}{message}{CLOSE}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new store, which begins with the recorded runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(tmp_path_factory.mktemp("german") / "lab.duckdb"))
        patch.setattr(language, "catalogue", lambda _code: Bracketed())
        patch.setattr("rubriclab.app.forms.trial.first_embedded", lambda _judges: None)
        st.cache_resource.clear()
        st.cache_data.clear()
        yield
        ui.manager().store.close()
        st.cache_resource.clear()
        st.cache_data.clear()


def shown(message: Any) -> Iterator[str]:
    """The texts of an element's message that are read."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated and not hasattr(value, "items") else [value]:
            if hasattr(one, "ListFields"):
                yield from shown(one)
            elif isinstance(one, str) and field.name in READ:
                yield one


def outside(text: str) -> str:
    """What of a text lies outside of all brackets, without code and links' targets."""
    found, depth = [], 0
    for sign in text:
        depth += (sign == OPEN) - (sign == CLOSE)
        found.append(sign if not depth and sign != CLOSE else " \n"[sign == CLOSE])
    return re.sub(
        r"(?s)<style.*?</style>|`[^`]*`|\]\([^)]*\)|:material/\w+:|<[^>]*>", " ", "".join(found).replace("\\", "")
    )


def messages(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        proto = getattr(child, "proto", None)
        if proto is not None:
            yield proto
        if hasattr(child, "children"):
            yield from messages(child)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_leaves_no_english(page: str) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params[CHOSEN] = "de"
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert app.title[0].value.startswith(OPEN)
    drawn = list(messages(app._tree))
    texts = [text for proto in drawn for text in (*shown(proto), *charted(proto), *celled(proto))]
    left = {match.group() for text in texts for match in SENTENCE.finditer(outside(text))}
    known = "\n".join(data_words())
    assert sorted(words for words in left if words not in known) == []
    assert [name for proto in drawn for name in english_columns(proto)] == []
    assert [proto.label for proto in drawn if isinstance(proto, MultiSelect) and OPEN not in proto.placeholder] == []
    first = [box for box in app.selectbox if box.proto.HasField("default")]
    assert [box.label for box in first if box.value is None] == [], "a browser shows None as nothing chosen"


def charted(message: Any) -> Iterator[str]:
    """The texts of a chart, line by line."""
    if isinstance(message, PlotlyChart):
        for text in told(json.loads(message.spec)):
            yield text.replace("<br>", "\n")


def told(part: Any) -> Iterator[str]:
    """All texts of a chart's lists, and of its fields those that are read."""
    for name, value in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(value, str) and (isinstance(name, int) or name in CHARTED):
            yield value
        elif isinstance(value, dict | list) and name != "template":
            yield from told(value)


def celled(message: Any) -> Iterator[str]:
    """The words in a table's cells."""
    if isinstance(message, Dataframe):
        for _, column in convert_arrow_bytes_to_pandas_df(message.arrow_data.data).items():
            yield from {cell for cell in column if isinstance(cell, str)}


def english_columns(message: Any) -> Iterator[str]:
    """Columns of a table whose numbers have a decimal point there, or whose gaps are called “None”; and all of one
    without rows, which is called “empty”."""
    if not isinstance(message, Dataframe):
        return
    frame = convert_arrow_bytes_to_pandas_df(message.arrow_data.data)
    if frame.empty:
        yield from map(str, frame.columns)
    for name, column in frame.items():
        pointed = is_float_dtype(column) and (column.dropna() % 1 != 0).any()
        if (pointed and not message.arrow_data.HasField("styler")) or (column.isna().any() and not message.placeholder):
            yield str(name)


@cache
def data_words() -> tuple[str, ...]:
    """What stays as it is: texts that are judged, rubrics, names of runs, titles of works."""
    rubrics = [json.dumps(rubric_to_value(one), ensure_ascii=False) for one in sample_rubrics()]
    items = [json.dumps(asdict(item), ensure_ascii=False, default=str) for item in sample_dataset().items]
    items += [str(item.prompt).replace("-", " ") for item in sample_dataset().items]
    runs = [name for info in ui.store().runs() for name in (info.name, *(a.dataset for a in ui.run_data(info).arms))]
    files = [(ROOT / path).read_text(encoding="utf-8") for path in WORDS_OF_FILES]
    return (*rubrics, *items, *runs, *files)


def test_no_list_offers_none() -> None:
    """A browser shows None as nothing chosen, in the old words still when another language is chosen."""
    pages = [*(ROOT / "rubriclab" / "app").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
    assert [path.name for path in pages if "[None, *" in path.read_text(encoding="utf-8")] == []


def test_what_lies_outside_of_brackets_is_found() -> None:
    assert SENTENCE.search(outside("⟦said⟧ and some more words"))
    assert not SENTENCE.search(outside("⟦a whole sentence is ⟦3 items of⟧ here⟧ · smollm2-135m `some code words here`"))


def test_numbers_of_tables_are_written_as_the_language_writes_them_and_stay_numbers() -> None:
    frame = pd.DataFrame({"share": [0.5, None], "gain": [1.25, -2.0], "name": ["a", "b"], "n": [1, 2]})
    assert ui.written(frame, {"share": "%.3f"}) is frame
    with language.speaking("de"):
        styled = ui.written(frame, {"share": "%.3f", "gain": "%+.1f"})
        cells = styled.to_html()
        shares = ui.written(frame, {"share": ui.PERCENT, "gain": "%.1f %%", "n": "%d"}).to_html()
        assert ui.number_column("share", "%.3f")["type_config"]["format"] is None
    assert styled.data is frame
    assert [words in cells for words in ("0,500", "+1,2", "-2,0", "0.5")] == [True, True, True, False]
    assert [words in shares for words in (">50\u00a0%<", ">1,2\u00a0%<", ">2<")] == [True, True, True]
    assert ui.number_column("share", "%.3f")["type_config"]["format"] == "%.3f"
