"""What kept data sets are called where one of them is chosen."""

from __future__ import annotations

from rubriclab.app import ui
from rubriclab.model.language import msg, tr

KINDS = {"items": msg("items"), "comparisons": msg("comparisons")}
"""What a data set holds, by the store's word for it."""


def data_names() -> dict[str, str]:
    """The kept data sets by their ids, each with how much it holds."""
    rows = ui.store().datasets().to_dict("records")
    return {
        str(row["dataset"]): tr(
            "{name} · {n:,} {things}", name=row["name"], n=row["n_items"], things=tr(KINDS[str(row["kind"])])
        )
        for row in rows
    }
