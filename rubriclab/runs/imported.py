"""Read the zip of a run, and refuse calls that its own study would never have asked.

``store/bundle_checks.py`` refuses what no run can hold. A run that may stop early promises more:
that its batches were asked in full. Made-up judgments could fill a batch that was never asked, and
a look would be made of them. The zip has the study, so its calls can be planned again.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.text import LabError, count, shorten
from rubriclab.runs.manager import misfit, plan_of_run, refuse_other_versions, same_items
from rubriclab.runs.runner import made_with
from rubriclab.store.bundle import RunParts, read_parts
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan


def read_run(path: str | Path) -> RunParts:
    """Return what a zip holds, checked part by part and, if it has looks, against its own study.

    Raises LabError for what no run can hold, and for calls that the study would not ask.
    """
    parts = read_parts(path)
    why = not_of_its_study(parts)
    if why:
        raise LabError(
            f"{shorten(Path(path).name)} does not fit its own study ({why}). The file was changed. "
            "Export the run again."
        )
    return parts


def not_of_its_study(parts: RunParts) -> str:
    """Return why a run with looks cannot come from its own study; empty if it can.

    Empty too where that cannot be known: the zip has no texts, several data sets, pairs or lists
    (which cannot be planned again), or it was made with another version, whose prompts may differ.
    """
    table = parts.table
    version = "rubriclab"
    if table.looks is None or table.made_with.get(version) != made_with().get(version):
        return ""
    with Store.open(":memory:") as store:
        id = store.add_table(table, parts.calls, parts.study, origin="imported to be checked")
        try:
            planned = plan_of_run(store, id)
            refuse_other_versions(store, id, planned)
        except LabError:
            return ""
        if not same_items(table, planned):
            return ""
        return _without_keys(parts.calls) or misfit(store, id, planned) or _moved(parts, planned)


def _without_keys(calls: pd.DataFrame) -> str:
    """Return how many calls have no key; empty if all have one, as those of the lab do."""
    missing = len(calls) if "key" not in calls else int(calls["key"].isna().sum())
    if not missing:
        return ""
    return f"{count(missing, 'call')} in it {'has' if missing == 1 else 'have'} no key"


def _moved(parts: RunParts, planned: Plan) -> str:
    """Return which call has the key of another item, order or repeat; empty if none has."""
    keys = parts.calls["key"]
    call_of = dict(zip(keys.astype(str), parts.calls["call"].astype(int), strict=True))
    asked = _asked_by_call(parts.table)
    for call in planned.calls():
        number = call_of.pop(call.key, None)
        own = _Asked(call.condition, call.repeat, call.ordering.shown, frozenset(call.items))
        if number is not None and asked[number] != own:
            return f"call {number} has the key of another one"
        if not call_of:
            break
    return ""


class _Asked(NamedTuple):
    """What a call is about. items: their codes."""

    condition: int
    repeat: int
    shown: tuple[int | str, ...]
    items: frozenset[int]


def _asked_by_call(table: JudgmentTable) -> dict[int, _Asked]:
    """Return what each call of a table is about, by its number."""
    made: dict[int, _Asked] = {}
    columns = table.rows[["call", "condition", "repeat", "ordering", "item"]]
    for call, condition, repeat, ordering, item in columns.to_numpy(dtype=np.int64).tolist():
        known = made.get(call)
        items = frozenset({item}) if known is None else known.items | {item}
        made[call] = _Asked(condition, repeat, table.orderings[ordering].shown, items)
    return made
