"""Judgments in, kept in one DuckDB file; a run's judgments as arrays, and archives, out.

The only place with SQL. One process owns a store file; inside it one writer thread commits
judgments in batches, and every reader works on a cursor of its own.
"""

from rubriclab.store.behind import Condition, ItemsBehind, ItemText, Offered
from rubriclab.store.faults import DamagedStore, ReadOnlyStore, StoreError
from rubriclab.store.lab import Store
from rubriclab.store.listing import RunInfo
from rubriclab.store.objects import run_name
from rubriclab.store.reused import REUSED, Answered
from rubriclab.store.schema import P_COLUMNS
from rubriclab.store.writer import RunWriter

__all__ = [
    "P_COLUMNS",
    "REUSED",
    "Answered",
    "Condition",
    "DamagedStore",
    "ItemText",
    "ItemsBehind",
    "Offered",
    "ReadOnlyStore",
    "RunInfo",
    "RunWriter",
    "Store",
    "StoreError",
    "run_name",
]
