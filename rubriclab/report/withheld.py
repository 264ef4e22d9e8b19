"""What a run that goes into the open leaves out: where judges were asked, where files lie, who rated, and texts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

import pandas as pd

from rubriclab.model import RunData
from rubriclab.report.presentation import Story
from rubriclab.report.showing import Row
from rubriclab.report.source import Source

ADDRESS, PATH = "(address left out)", "(path left out)"
KEPT = ("rubriclab", "revision", "python", "platform", "packages", "dataset", "rubric", "study", "seed", "sha256")
"""What is told of how a run was made; anything else of its record is not."""
_INSIDE = r"localhost|127\.[\d.]+|10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|\[[0-9a-f:]+\]"
_PRIVATE = re.compile(
    rf"(?:https?|wss?)://(?:{_INSIDE}|[\w.-]+\.(?:local|internal|lan|intranet|corp))(?::\d+)?[^\s\"'<>&\\),;]*", re.I
)
_LOCAL = re.compile(
    r"(?:file://|(?<![\w/.:]))(?:/(?:home|Users|root|tmp|var|mnt|media|srv|opt|private|Volumes|data|work)/|~/|[A-Za-z]:\\)"
    r"[^\s\"'<>&;,)]*"
)
_RUNS = re.compile(r"(<script>.*?</script>)", re.DOTALL)
"""The scripts of a page that run: their hashes stand in its policy, so not a sign of them may change."""


@dataclass(frozen=True)
class Scrub:
    """Takes addresses and paths out of a text. ``known``: those of a run, as (what, instead)."""

    known: tuple[tuple[str, str], ...] = ()

    def text(self, text: str) -> str:
        for what, instead in self.known:
            text = text.replace(what, instead)
        return _LOCAL.sub(PATH, _PRIVATE.sub(ADDRESS, text))

    def page(self, page: str) -> str:
        """A document of HTML; its scripts stay as they are."""
        parts = _RUNS.split(page)
        return "".join(part if at % 2 else self.text(part) for at, part in enumerate(parts))


def scrub_of(of: Source) -> Scrub:
    """All addresses and paths that the judges of a run name, the longest first."""
    judges = [asdict(judge) for judge in of.study.judges] if of.study else []
    known: dict[str, str] = {}
    for value in _strings([judges, of.provenance.get("judges", ()), list(map(dict, _records(of.provenance)))]):
        if "://" in value:
            known |= _parts_of_address(value)
        elif _is_path(value):
            known[value] = _last(value)
    known |= {html.escape(what): instead for what, instead in known.items()}
    return Scrub(tuple(sorted(known.items(), key=lambda one: (-len(one[0]), one[0]))))


def cleared(of: Source, *, texts: bool) -> Source:
    """The run as it may be shown to anybody. ``texts``: also the texts, replies and names of raters."""
    scrub = scrub_of(of)
    data = replace(
        of.data,
        dropped=tuple(replace(one, reason=scrub.text(one.reason)) for one in of.data.dropped),
        name=scrub.text(of.data.name),
    )
    shown = of.shown
    if shown is not None and not texts:
        shown = replace(shown, messages=(), reply="", withheld=True)
    return replace(
        of,
        data=data if texts else nameless(data),
        dataset=scrub.text(of.dataset),
        provenance=_told(of.provenance, scrub),
        shown=shown,
        models={},
    )


def nameless(data: RunData) -> RunData:
    """The same run with its raters as “person 1”, …, numbered as they come up first in the data."""
    if "rater_names" not in data.items:
        return data
    numbers: dict[str, str] = {}
    column = [
        tuple(numbers.setdefault(name, f"person {len(numbers) + 1}") for name in names)
        for names in data.items["rater_names"]
    ]
    items = data.items.assign(rater_names=pd.Series(column, dtype=object, index=data.items.index))
    return replace(data, items=items)


def wordless(told: Story) -> Story:
    """A presentation whose texts are left out; a rubric's descriptions are shown, answers that are compared are not."""
    shown = told.showing
    rows = shown.rows if shown.axis in ("options", "criteria") else tuple(Row(row.name, "") for row in shown.rows)
    showing = replace(shown, instruction="", texts=tuple((name, "") for name, _ in shown.texts), rows=rows)
    return replace(told, showing=showing, withheld=True)


# ---------------------------------------------------------------- what is known of where


def _told(provenance: Mapping[str, Any], scrub: Scrub) -> dict[str, Any]:
    told = {name: provenance[name] for name in KEPT if name in provenance}
    if isinstance(provenance.get("file"), str):
        told["file"] = _last(provenance["file"])
    told["judges"] = [
        {
            "name": judge.get("name", ""),
            "kind": judge.get("kind"),
            "model": scrub.text(_last_of_path(judge.get("model"))),
        }
        for judge in _records(provenance)
    ]
    return told


def _records(provenance: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    judges = provenance.get("judges", ())
    return [one for one in judges if isinstance(one, Mapping)] if isinstance(judges, Sequence) else []


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _strings(part)


def _parts_of_address(value: str) -> dict[str, str]:
    """The address, the same without its scheme, and its host where that says where it is."""
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        return {value: ADDRESS}
    found = {value: ADDRESS, value.rstrip("/"): ADDRESS, value.split("://", 1)[1].rstrip("/"): ADDRESS}
    if ":" in parts.netloc or "." in host:
        found[parts.netloc] = ADDRESS
    if "." in host:
        found[host] = ADDRESS
    return {what: instead for what, instead in found.items() if len(what) > 3}


def _is_path(value: str) -> bool:
    return len(value) > 3 and bool(re.match(r"(/|~|\.{1,2}/|[A-Za-z]:[\\/]|\\\\)", value)) and "\n" not in value


def _last_of_path(value: Any) -> str:
    return _last(value) if isinstance(value, str) and _is_path(value) else str(value or "")


def _last(path: str) -> str:
    return PureWindowsPath(PurePosixPath(path).name).name or PATH
