"""What the pages share: the frame, the store and the run manager, caches, charts, messages.

Only ``ui``, ``views`` and ``forms`` import streamlit. Pages keep ids in session state, never
data; what they show comes from the store through the caches here.
"""

from __future__ import annotations

from rubriclab.app.ui.about import about
from rubriclab.app.ui.address import choose, choose_many, forget_address, search, slide
from rubriclab.app.ui.cache import finding, findings, run_data
from rubriclab.app.ui.charts import chart
from rubriclab.app.ui.choosing import choose_run
from rubriclab.app.ui.consent import start_or_ask
from rubriclab.app.ui.exports import export_row
from rubriclab.app.ui.frame import (
    MOVED,
    NAVIGATION,
    Entry,
    announce,
    duration,
    empty_state,
    enter,
    faults,
    forwarding,
    page,
    plain,
    secrets,
    soon_at_hand,
    verbatim,
)
from rubriclab.app.ui.guard import door
from rubriclab.app.ui.language import Awaited, dated, inside, language_chooser, speak_as_chosen
from rubriclab.app.ui.lasting import discard, fill_table, table, table_now, upload
from rubriclab.app.ui.listing import run_list, run_shelves
from rubriclab.app.ui.naming import name_input
from rubriclab.app.ui.notices import tab_title, watch_runs
from rubriclab.app.ui.numbers import PERCENT, number_column, written
from rubriclab.app.ui.reading import reading_fields
from rubriclab.app.ui.runs import (
    FINDINGS_PAGE,
    ended_run,
    example_run,
    judged_runs,
    manager,
    open_findings,
    run_label,
    run_progress,
    said_aside,
    store,
    store_care,
)
from rubriclab.app.ui.stores import STORE_VARIABLE, STORES_VARIABLE, follow_store, store_chooser

__all__ = [
    "FINDINGS_PAGE",
    "MOVED",
    "NAVIGATION",
    "PERCENT",
    "STORES_VARIABLE",
    "STORE_VARIABLE",
    "Awaited",
    "Entry",
    "about",
    "announce",
    "chart",
    "choose",
    "choose_many",
    "choose_run",
    "dated",
    "discard",
    "door",
    "duration",
    "empty_state",
    "ended_run",
    "enter",
    "example_run",
    "export_row",
    "faults",
    "fill_table",
    "finding",
    "findings",
    "follow_store",
    "forget_address",
    "forwarding",
    "inside",
    "judged_runs",
    "language_chooser",
    "manager",
    "name_input",
    "number_column",
    "open_findings",
    "page",
    "plain",
    "reading_fields",
    "run_data",
    "run_label",
    "run_list",
    "run_progress",
    "run_shelves",
    "said_aside",
    "search",
    "secrets",
    "slide",
    "soon_at_hand",
    "speak_as_chosen",
    "start_or_ask",
    "store",
    "store_care",
    "store_chooser",
    "tab_title",
    "table",
    "table_now",
    "upload",
    "verbatim",
    "watch_runs",
    "written",
]
