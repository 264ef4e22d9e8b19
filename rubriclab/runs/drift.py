"""Frozen items of a run asked again, by the card's judge and in the same orders: a run that drift is read from.

Such a run is one like any other: its answers are kept as they come, it is gone on with where it stopped, and its
provenance says which card, which run and which items (by the hash of their content) it belongs to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from rubriclab.apply.card import Card, read_card
from rubriclab.findings.drift_anchors import AnchorPlan, chosen, planned, scores_of
from rubriclab.findings.drift_reads import Reads, reads_of_setting
from rubriclab.findings.topic import clarity, setting
from rubriclab.judges import JUDGE_KINDS
from rubriclab.model import Arm, Design, Judge, LabError, RunData, Strategy, Study, Variant, fingerprint
from rubriclab.runs.card import asked_as
from rubriclab.store import Store
from rubriclab.store.schema import now
from rubriclab.study.plan import Plan, plan

KEPT_OPEN = timedelta(hours=24)
"""A round that was stopped is gone on with for so long; what is asked later belongs to another time."""
NOT_THE_WAY = frozenset({"name", "base_urls", "key_env", "timeout", "price_input", "price_output", "top_logprobs"})
"""Of a card's judge: what says nothing about what is asked and how."""
WORDS = {
    "judge": "the judge",
    "axis": "what changes places",
    "prompt": "the prompt",
    "rubric": "the rubric",
    "scores": "the scale",
    "criteria": "the criteria",
}


@dataclass(frozen=True)
class Round:
    """What is to be asked: ``study`` with its ``provenance``, how its ``anchors`` were planned, and of which ``arm`` of the
    earlier run (its number)."""

    study: Study
    provenance: Mapping[str, Any]
    anchors: AnchorPlan
    arm: int
    calls: int


def drift_round(
    store: Store,
    card: str | Path | Mapping[str, Any],
    run: str,
    *,
    then: RunData | None = None,
    anchors: int | None = None,
    max_calls: int | None = None,
    base_url: str | None = None,
    model: str | None = None,
    name: str | None = None,
) -> Round:
    """The study that asks anchors of ``run`` again as ``card`` (a file, or its values) asks.

    ``name``: of the round; without one that of a round stopped within KEPT_OPEN, else today's date. ``then``: the
    run's frame as it is to be read. Raises LabError where card and run do not belong together, naming what differs,
    and for runs whose texts are not there.
    """
    read = read_card(card)
    prepared = _prepared(store, run)
    against = store.run(run).run
    data = store.frame(against, probabilities=True) if then is None else then
    code = card_arm(read, prepared, against)
    study = prepared.study
    judge = _judge(next(one for one in study.judges if one.name == prepared.arms[code].judge), base_url, model)
    reads = reads_of_setting(data, data.arms[code])
    asked = replace(study, judges=(judge,), design=_design(study, prepared, prepared.arms[code], reads))
    items, hashes, counted = _anchors(asked, prepared, code, reads, anchors, max_calls)
    about = {"card": read.raw["digest"], "against": against, "anchors": hashes, "judge": judge.identity()}
    called = name or _going(store, about) or f"{now():%Y-%m-%d}"
    again = replace(
        asked,
        name=f"Drift {called} {study.name}",
        dataset=replace(study.dataset, items=items, origin=f"{against}, asked again"),
    )
    return Round(again, {"drift": {**about, "round": called}}, counted, code, len(plan(again)))


def _prepared(store: Store, run: str) -> Plan:
    """The plan of a run whose texts are there. Raises LabError for imported judgments."""
    info = store.run(run)
    if info.state == "imported":
        raise LabError(
            f"“{info.name}” was imported as judgments: neither its texts nor how they were asked is here, so nothing can be "
            "asked again. Two such runs can be set beside each other: drift --against RUN --now RUN."
        )
    return plan(store.study(info.run))


def _anchors(
    asked: Study, prepared: Plan, code: int, reads: Reads, wanted: int | None, max_calls: int | None
) -> tuple[tuple[Any, ...], list[str], AnchorPlan]:
    """(the items, the hash of each thing that a call is about, how many there were to be)."""
    study, arm = prepared.study, prepared.arms[code]
    groups = [unit.items for unit in prepared.units if prepared.protocol.fits(study, arm, unit)]
    scores = scores_of(reads, groups)
    each = _calls_each(asked, groups[0])
    affordable = None if max_calls is None else max_calls // each
    counted = planned(reads, available=int((scores == scores).sum()), asked=wanted, affordable=affordable)
    if not counted.taken:
        raise LabError(f"No item can be asked again with so few calls, or none was read: one takes {each} calls.")
    hashes = [_hash(study, group) for group in groups]
    picked = chosen(scores, hashes, counted.taken).tolist()
    return tuple(study.dataset.items[i] for k in picked for i in groups[k]), [hashes[k][:16] for k in picked], counted


# ---------------------------------------------------------------- does the card belong to the run?


def card_arm(card: Card, prepared: Plan, run: str) -> int:
    """The clearest arm of the run that is asked as the card says. Raises LabError naming what differs."""
    made = card.raw["made"]
    if made["run"] != run:
        raise LabError(
            f"The card is of the run “{made['run']}”, not of “{run}”. Write one of it: card {run} --out FILE."
        )
    if made["dataset_id"] != prepared.study.dataset.id:
        raise LabError(
            f"The texts of “{run}” are not those that the card was measured on (data {prepared.study.dataset.id[:12]} here, "
            f"{made['dataset_id'][:12]} in the card): frozen items must be the same ones."
        )
    found = []
    for code, arm in enumerate(prepared.arms):
        if arm.judge == card.judge.name and prepared.planned[code]:
            differs = list(_differences(card, asked_as(prepared, code)))
            found.append((len(differs), clarity(arm), code, differs))
    if not found:
        raise LabError(f"“{run}” has no judge “{card.judge.name}”, which the card is of.")
    _, _, code, differs = min(found)
    if differs:
        raise LabError(
            f"The card asks otherwise than “{run}” did: {'; '.join(differs[:3])}. What changed must be the judge alone."
        )
    return code


def _differences(card: Card, asked: Mapping[str, Any]) -> Iterator[str]:
    """In words, what of the card's way of asking is another one in the run."""
    own = json.loads(json.dumps(asked))
    for key, name in WORDS.items():
        mine, theirs = card.raw[key], own[key]
        if key == "judge":
            mine, theirs = ({k: v for k, v in part.items() if k not in NOT_THE_WAY} for part in (mine, theirs))
        if (where := _first_difference(mine, theirs)) is not None:
            place, one, other = where
            yield f"{name}{f' ({place})' if place else ''} is {_short(one)} in the card and {_short(other)} in the run"


def _first_difference(one: Any, other: Any, place: str = "") -> tuple[str, Any, Any] | None:
    if isinstance(one, dict) and isinstance(other, dict):
        parts = [(f"{place}.{key}".lstrip("."), one.get(key), other.get(key)) for key in dict.fromkeys((*one, *other))]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        parts = [(f"{place} {k + 1}".strip(), a, b) for k, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else (place, one, other)
    return next((found for at, a, b in parts if (found := _first_difference(a, b, at)) is not None), None)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"“{text[:60]}…”" if len(text) > 60 else f"“{text}”"


# ---------------------------------------------------------------- what is asked


def _judge(judge: Judge, base_url: str | None, model: str | None) -> Judge:
    if base_url is not None:
        if JUDGE_KINDS[judge.kind].own:
            raise LabError(
                f"Judge “{judge.name}” runs inside the lab and has no address. Leave --base-url out; --model names other weights."
            )
        judge = replace(judge, base_urls=(base_url,))
    return judge if model is None else replace(judge, model=model)


def _design(study: Study, prepared: Plan, arm: Arm, reads: Reads) -> Design:
    """One strategy that varies the order, under the arm's own variant, and what repeats an order as the run did."""
    listed = {strategy.name: strategy for strategy in study.design.strategies}
    mine = [one for code, one in enumerate(prepared.arms) if setting(one) == setting(arm) and prepared.planned[code]]
    kinds = {listed[one.strategy].kind: listed[one.strategy] for one in mine}
    main = listed[arm.strategy]
    design = replace(study.design, factors=_factors(arm.variant), crossed=False, repeats=min(study.design.repeats, 2))
    usual = kinds.get("fixed")
    if design.repeats > 1 or usual is None:
        return replace(design, strategies=(main,))
    if main.kind == "fixed":
        twice = reads.data.judgments.duplicated(["arm", "item", "ordering"]).any()
        return replace(design, strategies=(replace(main, reads=2 if twice else 1),))
    inside = main.kind in ("balanced", "all")
    return replace(design, strategies=(main, Strategy("fixed", usual.name, reads=1 if inside else 2)))


def _factors(variant: Variant) -> dict[str, tuple[Any, ...]]:
    return {name: (level,) for name, level in variant.levels}


def _calls_each(asked: Study, group: tuple[int, ...]) -> int:
    """The calls that one anchor takes."""
    items: tuple[Any, ...] = tuple(asked.dataset.items[item] for item in group)
    return len(plan(replace(asked, dataset=replace(asked.dataset, items=items))))


def _hash(study: Study, group: tuple[int, ...]) -> str:
    """Of what a judge is shown of these items, and of who they are; not of what people rated."""
    rows = [asdict(study.dataset.items[item]) for item in group]
    return fingerprint([{k: v for k, v in row.items() if k not in ("human", "raters")} for row in rows])


def _going(store: Store, about: Mapping[str, Any]) -> str | None:
    """The name of a round of the same anchors that was stopped not long ago."""
    for info in store.runs():
        kept = info.provenance.get("drift")
        if not isinstance(kept, Mapping) or info.state == "finished" or now() - info.changed > KEPT_OPEN:
            continue
        if all(kept.get(key) == json.loads(json.dumps(value)) for key, value in about.items()):
            return str(kept["round"])
    return None
