"""What a run was made with, as a table that a person reads; the whole record folded below it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rubriclab.report import markup as m
from rubriclab.report.source import Source


def made_with(of: Source, seed: int, *, title: str) -> str:
    """Versions, judges, seeds, dates and counts of a run, and its provenance word for word."""
    rows = [*_rows(of), ("Seed of the intervals", str(seed))]
    shown = m.table(title, ("What", "Value"), rows)
    if of.provenance:
        record = json.dumps(dict(of.provenance), ensure_ascii=False, indent=1, default=str)
        shown += m.folded(
            "The whole record (JSON)", m.verbatim("As it is kept with the run", record)
        )
    return shown


def _rows(of: Source) -> Iterator[tuple[str, str]]:
    record = of.provenance
    yield "Run", of.data.run
    if of.dataset:
        yield "Data set", of.dataset
    if of.created is not None:
        yield "In this store since", f"{of.created:%d %B %Y, %H:%M} UTC"
    if of.planned:
        yield "Calls", f"{of.done:,} of {of.planned:,}"
    yield from _spent(of)
    for judge in record.get("judges", ()):
        model = " · ".join(filter(None, (judge.get("kind"), judge.get("model"))))
        where = ", ".join(judge.get("endpoint") or ())
        yield f"Judge {judge.get('name', '')}", f"{model}{' at ' + where if where else ''}"
    named = {
        "file": "Imported from", "sha256": "Its sha256", "study": "Study id", "dataset": "Data id",
        "rubric": "Rubric id", "seed": "Seed of the design", "rubriclab": "rubriclab",
        "revision": "Revision", "python": "Python", "platform": "Platform",
    }  # fmt: skip
    for key, label in named.items():
        if record.get(key) is not None:
            yield label, str(record[key])
    versions = record.get("packages") or {}
    if versions:
        yield "Packages", ", ".join(f"{name} {version}" for name, version in versions.items())
    for note in record.get("notes", ()):
        yield "Note", str(note)


def _spent(of: Source) -> Iterator[tuple[str, str]]:
    tokens_in, tokens_out = of.usage.get("tokens_in", 0.0), of.usage.get("tokens_out", 0.0)
    if tokens_in or tokens_out:
        cached = of.usage.get("cached_tokens", 0.0)
        kept = f" ({cached:,.0f} of them from a cache)" if cached else ""
        yield "Tokens", f"{tokens_in:,.0f} read{kept}, {tokens_out:,.0f} written"
    if seconds := of.usage.get("seconds"):
        yield "Time of the judges", f"{seconds:,.0f} s, added up over all calls"
