"""What a run was made with: rows of a table that a person reads, and the whole record."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rubriclab.model.language import tr
from rubriclab.report.source import Source


def made_rows(of: Source, seed: int) -> list[tuple[str, str]]:
    """Versions, judges, seeds, dates and counts of a run, each under its name."""
    return [*_rows(of), (tr("Seed of the intervals"), str(seed))]


def record(of: Source) -> str:
    """The provenance as JSON, word for word; empty where there is none."""
    if not of.provenance:
        return ""
    return json.dumps(dict(of.provenance), ensure_ascii=False, indent=1, default=str)


def _rows(of: Source) -> Iterator[tuple[str, str]]:
    known = of.provenance
    yield tr("Run"), of.data.run
    if of.dataset:
        yield tr("Data set"), of.dataset
    if of.created is not None:
        yield tr("In this store since"), of.created.strftime(tr("%d %B %Y, %H:%M UTC"))
    if of.planned:
        yield tr("Calls"), tr("{done:,} of {planned:,}", done=of.done, planned=of.planned)
    yield from _spent(of)
    for judge in known.get("judges", ()):
        model = " · ".join(filter(None, (judge.get("kind"), judge.get("model"))))
        where = ", ".join(judge.get("endpoint") or ())
        told = tr("{model} at {where}", model=model, where=where) if where else model
        yield tr("Judge {name}", name=judge.get("name", "")), told
    named = {
        "file": tr("Imported from"),
        "sha256": tr("Its sha256"),
        "study": tr("Study id"),
        "dataset": tr("Data id"),
        "rubric": tr("Rubric id"),
        "seed": tr("Seed of the design"),
        "rubriclab": "rubriclab",
        "revision": tr("Revision"),
        "python": "Python",
        "platform": tr("Platform"),
    }
    for key, label in named.items():
        if known.get(key) is not None:
            yield label, str(known[key])
    versions = known.get("packages") or {}
    if versions:
        yield tr("Packages"), ", ".join(f"{name} {version}" for name, version in versions.items())
    for note in known.get("notes", ()):
        yield tr("Note"), str(note)


def _spent(of: Source) -> Iterator[tuple[str, str]]:
    tokens_in, tokens_out = of.usage.get("tokens_in", 0.0), of.usage.get("tokens_out", 0.0)
    if tokens_in or tokens_out:
        cached = of.usage.get("cached_tokens", 0.0)
        kept = tr(" ({cached:,.0f} of them from a cache)", cached=cached) if cached else ""
        yield (
            tr("Tokens"),
            tr(
                "{tokens_in:,.0f} read{kept}, {tokens_out:,.0f} written",
                tokens_in=tokens_in,
                kept=kept,
                tokens_out=tokens_out,
            ),
        )
    if seconds := of.usage.get("seconds"):
        yield tr("Time of the judges"), tr("{seconds:,.0f} s, added up over all calls", seconds=seconds)
