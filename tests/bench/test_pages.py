"""The benchmark of pages: what it says of given seconds. No test asserts a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks import pages
from benchmarks.pages import CHOICES, FIRST, Found, add, main, table, verdicts
from benchmarks.visits import NEW_STORE, OTHER, Part, Visit
from rubriclab.app.ui import NAVIGATION


def found_of(*visits: Visit) -> Found:
    found: Found = {}
    for visit in visits:
        add(found, visit)
    return found


def test_best_of_each_side_counts_over_all_turns() -> None:
    found = found_of(Visit("position", "cold", (3.0,), (1.0,)), Visit("position", "cold", (2.4,), (2.0,)))
    assert found["position", "cold"].ratio == 2.4
    assert table(found).splitlines()[1].split() == ["position", "2.40", "2.40", "-", "-", "-", "-", "-", "-"]


def test_table_has_a_line_a_page_and_redraws_in_milliseconds() -> None:
    found = found_of(
        Visit("home", "load", (3.0,), (1.5,)),
        Visit("home", "cold", (1.2,), (1.0,)),
        Visit("choice", "redraw", (0.3, 0.25), (0.2, 0.125)),
        Visit(NEW_STORE, "first", (3.0,), (2.0,)),
    )
    told = {line[:18].strip(): line[18:].split() for line in table(found).splitlines()}
    assert told["home"] == ["1.20", "1.20", "-", "-", "-", "-", "3.00", "2.00"]
    assert told["choice"] == ["-", "-", "250", "2.00", "-", "-", "-", "-"]
    assert told[NEW_STORE] == ["-", "-", "-", "-", "3.00", "1.50", "-", "-"]


@pytest.mark.parametrize(
    ("part", "seconds", "ratio", "seconds_met"),
    [
        ("cold", 1.3, True, None),
        ("cold", 1.4, False, None),
        ("redraw", 0.29, True, True),
        ("redraw", 2.1, False, False),
        ("first", 3.9, None, True),
        ("first", 4.1, None, False),
        ("load", 1.5, True, None),
        ("load", 1.6, False, None),
    ],
)
def test_bars(part: Part, seconds: float, ratio: bool | None, seconds_met: bool | None) -> None:
    found = found_of(Visit("home", part, (seconds,), (1.0,)), Visit("data", part, (0.2,), (1.0,)))
    expected = [met for met in (ratio, seconds_met) if met is not None]
    assert list(verdicts(found, idle=True).values()) == expected
    # A busy machine tells no seconds; what stands in turns with its anchor is told.
    busy = [*([ratio] if ratio is not None else []), *([None] if seconds_met is not None else [])]
    assert list(verdicts(found, idle=False).values()) == busy


def test_a_missed_bar_names_the_worst_page_and_how_many() -> None:
    found = found_of(*(Visit(name, "cold", (took,), (1.0,)) for name, took in (("a", 1.5), ("b", 2.5), ("c", 1.0))))
    (told,) = verdicts(found, idle=True)
    assert told.endswith("(worst: b, 2.50; 2 of 3 over)")


def test_pages_that_are_named_are_pages(capsys: pytest.CaptureFixture[str]) -> None:
    known = {entry.file for entries in NAVIGATION.values() for entry in entries}
    assert {*CHOICES, *FIRST, OTHER} <= known
    assert main(["--pages", "nope"]) == 1
    assert "no page “nope”" in capsys.readouterr().err


class _Browser:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_ctrl_c_prints_what_was_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken_off(*_: Any, **__: Any) -> Iterator[Visit]:
        yield Visit("home", "cold", (1.2,), (1.0,))
        raise KeyboardInterrupt

    monkeypatch.setattr(pages, "visits", broken_off)
    monkeypatch.setattr(pages, "chromium", _Browser)
    assert main(["--json", "--parts", "cold"]) == 130
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["stopped"]
    assert [(one["page"], one["ratio"]) for one in document["pages"]] == [("home", 1.2)]
    progress = [line for line in said.err.splitlines() if line.startswith("[")]
    assert len(progress) == 1
    assert "home" in progress[0]
    assert "1.20 x bare" in progress[0]
    assert "left" in progress[0]
