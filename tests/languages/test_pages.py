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
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.ui.language import CHOSEN
from rubriclab.app.views.common import written
from rubriclab.datasets.rubrics import rubric_to_value
from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.model import language

ROOT = Path(__file__).resolve().parents[2]
PAGES = [entry.file for entries in ui.NAVIGATION.values() for entry in entries]
OPEN, CLOSE = "⟦", "⟧"
READ = {"label", "body", "help", "placeholder", "title", "caption", "text", "options", "alt", "headers", "value"}
"""Fields of an element that a reader sees or hears."""
WORDS_OF_FILES = ("rubriclab/report/references.toml", "tests/calibration/results.json", "data/sample.csv")
SENTENCE = re.compile(r"[A-Za-z’']{2,}(?: [a-z’']{2,}){2,}")
"""Three words on end, of which all but the first are small: no name looks like that."""


class Bracketed(Mapping[str, Any]):
    """A catalogue that has every text."""

    def get(self, message: str, default: Any = None) -> Any:
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
    left = {
        match.group()
        for proto in messages(app._tree)
        for text in shown(proto)
        for match in SENTENCE.finditer(outside(text))
    }
    known = "\n".join(data_words())
    assert sorted(words for words in left if words not in known) == []


@cache
def data_words() -> tuple[str, ...]:
    """What stays as it is: texts that are judged, rubrics, names of runs, titles of works, recorded results."""
    rubrics = [json.dumps(rubric_to_value(one), ensure_ascii=False) for one in sample_rubrics()]
    items = [json.dumps(asdict(item), ensure_ascii=False, default=str) for item in sample_dataset().items]
    items += [str(item.prompt).replace("-", " ") for item in sample_dataset().items]
    runs = [name for info in ui.store().runs() for name in (info.name, *(a.dataset for a in ui.run_data(info).arms))]
    files = [(ROOT / path).read_text(encoding="utf-8") for path in WORDS_OF_FILES]
    return (*rubrics, *items, *runs, *files)


def test_what_lies_outside_of_brackets_is_found() -> None:
    assert SENTENCE.search(outside("⟦said⟧ and some more words"))
    assert not SENTENCE.search(outside("⟦a whole sentence is ⟦3 items of⟧ here⟧ · smollm2-135m `some code words here`"))


def test_numbers_of_tables_are_written_as_the_language_writes_them_and_stay_numbers() -> None:
    frame = pd.DataFrame({"share": [0.5, None], "gain": [1.25, -2.0], "name": ["a", "b"], "n": [1, 2]})
    assert written(frame, {"%.3f": ["share"]}) is frame
    with language.speaking("de"):
        styled = written(frame, {"%.3f": ["share"], "%+.1f": ["gain"]})
        cells = styled.to_html()
    assert styled.data is frame
    assert [words in cells for words in ("0,500", "+1,2", "-2,0", "0.5")] == [True, True, True, False]
