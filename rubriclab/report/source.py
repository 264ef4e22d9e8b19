"""What a report says of a run besides its findings: what was shown to the judge, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rubriclab.model import Call, LabError, Rubric, RunData, Study, UnitChoice
from rubriclab.store import Store


@dataclass(frozen=True)
class Shown:
    """The rubric in its canonical order, and one call as it was sent and answered.

    No ``messages``: the templates have changed since, so they cannot be shown as they were; or, with
    ``withheld``, whoever shares the run has left its texts out.
    """

    rubric: Rubric | None
    arm: str
    item: str
    ordering: str
    messages: tuple[tuple[str, str], ...]
    reply: str
    withheld: bool = False


@dataclass(frozen=True)
class Source:
    """A run as a report takes it. ``shown`` is None where the lab did not send the prompts.

    ``usage``: totals of calls, tokens and seconds; ``planned`` and ``done`` count calls. ``study``: None
    where the run was imported; ``models``: by judge, what the servers called the model that answered.
    """

    data: RunData
    provenance: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = ""
    state: str = ""
    created: datetime | None = None
    planned: int = 0
    done: int = 0
    usage: Mapping[str, float] = field(default_factory=dict)
    shown: Shown | None = None
    study: Study | None = None
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def source(
    store: Store,
    run: str,
    smallest_effect: float | None = None,
    unit: UnitChoice | None = None,
    epsilon: float | None = None,
    cut: float | None = None,
) -> Source:
    """All that the store knows of a run. Raises StoreError where there is none of that name.

    ``smallest_effect``, ``unit``, ``epsilon``, ``cut``: how it is read (see RunData); None: as its study says.
    """
    info = store.run(run)
    return Source(
        data=store.frame(info.run, probabilities=True).read_as(smallest_effect, unit, epsilon, cut),
        provenance=info.provenance,
        dataset=info.dataset,
        state=info.state,
        created=info.created,
        planned=info.planned,
        done=info.done,
        usage=store.usage(info.run),
        shown=None if info.state == "imported" else _shown(store, info.run),
        study=None if info.state == "imported" else store.study(info.run),
        models=store.models(info.run),
    )


def _shown(store: Store, run: str) -> Shown | None:
    """The rubric and the first call of the first arm; without messages where the call's key says
    that what was sent cannot be made again."""
    # Imported here: it brings what writes prompts, which whoever wants numbers as text does not need.
    from rubriclab.study.plan import plan

    try:
        prepared = plan(store.study(run))
        call = prepared.first_call(0)
    except LabError:
        return None  # a plan that this version no longer makes: the findings stand without it
    known = store.done_keys(run)
    sent = call.key in known or not known  # else its templates are no longer the run's
    return Shown(
        rubric=prepared.study.rubric,
        arm=str(prepared.arms[0]),
        item=prepared.study.dataset.items[call.items[0]].item_id,
        ordering=" ".join(map(str, call.ordering.shown)),
        messages=tuple((m["role"], m["content"]) for m in call.messages) if sent else (),
        reply=_reply(store, run, call) if sent else "",
    )


def _reply(store: Store, run: str, call: Call) -> str:
    rows = store.judgments_behind(run, arm=call.arm, item=call.items[0], limit=1000)
    mine = rows[rows["key"] == call.key]
    if mine.empty:
        return ""
    text = mine.iloc[0]["text"]
    return text if isinstance(text, str) else ""
