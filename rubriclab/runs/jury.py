"""The juries of a run in a store, with what a call of each of its judges costs."""

from __future__ import annotations

from typing import Any

from rubriclab.findings.jury import Prices, jury
from rubriclab.findings.jury_results import Jury
from rubriclab.model import LabError, RunData
from rubriclab.model.language import tr
from rubriclab.runs.cost import price_of_call
from rubriclab.store import RunInfo, Store


def jury_of_run(
    store: Store,
    run: str,
    *,
    budget: float | None = None,
    money: bool = False,
    margin: float | None = None,
    read_as: tuple[Any, ...] = (),
) -> tuple[Jury, RunData]:
    """The juries of a run, and the judgments they were found in.

    ``budget`` in calls an item, with ``money`` in money for 1,000 items. Raises LabError for a run
    without a jury, and for a budget in money where a judge has no price.
    """
    info = store.run(run)
    data = store.frame(info.run, probabilities=True).read_as(*read_as)
    found = jury(data, budget=budget, prices=prices_of(store, info) if money else None, margin=margin)
    if not found.juries:
        raise LabError(
            tr(
                "“{name}” has no jury: no two of its judges read the same texts in two orders or more on one "
                "scale. Run a study with two judges and the strategy “balanced”.",
                name=info.name,
            )
        )
    return found, data


def prices_of(store: Store, info: RunInfo) -> Prices:
    """Money a call of every judge that has a price, by the mean tokens of the run's calls."""
    judges = [] if info.state == "imported" else store.study(info.run).judges
    known = ((judge.name, price_of_call(store, info, judge)) for judge in judges)
    return tuple((name, price) for name, price in known if price is not None)
