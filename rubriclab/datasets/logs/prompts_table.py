"""Any table with a judge's prompt and its reply: columns named by the user, or guessed where they are plain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubriclab.datasets.logs.exchange import Exchange, messages_in, reply_in
from rubriclab.datasets.logs.log import LogFormat, Records, text_of
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.rows import first_row, rows
from rubriclab.datasets.logs.source import Source
from rubriclab.model import DataError
from rubriclab.model.language import msg, tr

GUESSED: Mapping[str, tuple[str, ...]] = {
    "prompt": ("judge_prompt", "grading_prompt", "rendered_prompt", "prompt", "messages", "judge_input", "input"),
    "reply": ("judge_reply", "judge_response", "judge_output", "reply", "response", "completion", "output", "judgment"),
    "judge": ("judge", "judge_model", "annotator", "model", "model_name"),
    "task": ("task", "category"),
    "dataset": ("dataset",),
    "asked": ("asked", "timestamp", "created_at", "created"),
}
"""What a table's columns may be called, the surest name first."""


def columns_of(source: Source) -> dict[str, str]:
    """The column of each part: as the user named it, else by guess. Raises DataError for a named column
    that is not there."""
    names = {str(name).strip().casefold().replace(" ", "_"): str(name) for name in first_row(source)}
    found = {}
    for part, guesses in GUESSED.items():
        named = source.columns.get(part)
        if named is not None and named not in names.values():
            raise DataError(
                tr(
                    "“{name}” has no column “{column}”. It has {columns}.",
                    name=source.name,
                    column=named,
                    columns=", ".join(list(names.values())[:20]),
                )
            )
        guess = next((names[guess] for guess in guesses if guess in names), None)
        if named is not None or guess is not None:
            found[part] = named or str(guess)
    return found


def _matches(source: Source) -> bool:
    try:
        found = columns_of(source)
    except DataError:
        return False
    return "prompt" in found and "reply" in found


def _read(source: Source) -> Records:
    columns = columns_of(source)
    missing = [part for part in ("prompt", "reply") if part not in columns]
    if missing:
        raise DataError(
            tr(
                "“{name}”: which column is the judge's {part}? Name it (--{part}-column); there are {columns}.",
                name=source.name,
                part=missing[0],
                columns=", ".join(map(str, list(first_row(source))[:20])) or tr("none"),
            )
        )
    return judgments(_exchange(line, record, columns) for line, record in rows(source))


def _exchange(line: int, record: Mapping[str, Any], columns: Mapping[str, str]) -> Exchange:
    return Exchange(
        line=line,
        messages=messages_in(record.get(columns["prompt"])),
        reply=reply_in(record.get(columns["reply"])),
        **{part: text_of(record.get(columns[part])) for part in columns if part not in ("prompt", "reply")},
    )


TABLE = LogFormat(
    msg("Any table with a column of judge's prompts and one of replies (CSV, TSV, JSON lines, JSON, Parquet)"),
    msg("a prompt and a reply (response, completion, output) column"),
    _matches,
    _read,
)
