"""Show what a study would ask, before it costs anything: the command ``plan``.

``plan --try N`` is the one exception: it asks N calls of each judge and leaves a paused run.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rubriclab.cli import common
from rubriclab.cli.common import Json, JudgeNames, KeyName, Outcome, StorePath, StudyName
from rubriclab.cli.studies import StudyOptions, run_facts
from rubriclab.data.limits import user_path
from rubriclab.model.consent import where_asked
from rubriclab.model.text import LabError, count

if TYPE_CHECKING:
    from rubriclab.model.judgment import Call
    from rubriclab.runs.forecast import Estimate, MachinePace
    from rubriclab.study.plan import Plan

LARGEST_EFFECT = 1e6
"""An effect of this size or more is a slip of the keyboard: no scale has so many points."""


def plan(
    study: StudyName,
    *,
    show: Annotated[
        int,
        Parameter(
            help="Show the first N prompts, and how your own judge prompt was proved to be the "
            "same."
        ),
    ] = 0,
    reply: Annotated[
        str | None,
        Parameter(help="Show which score your own judge prompt would read in this reply."),
    ] = None,
    judge: JudgeNames = None,
    pilot: Annotated[
        str | None, Parameter(help="Estimate noise, time and tokens from this earlier run.")
    ] = None,
    effect: Annotated[
        float | None,
        Parameter(help="Change to detect, in points (percentage points for pairs and lists)."),
    ] = None,
    try_calls: Annotated[
        int | None,
        Parameter(
            name="--try",
            help="Ask N calls of each judge and show how the replies are read. `run` continues "
            "from there.",
        ),
    ] = None,
    key_env: KeyName = None,
    trust: Annotated[
        bool,
        Parameter(
            help="With --try: run the study's own code, which you have read, and send its keys to "
            "its addresses."
        ),
    ] = False,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Show a study's calls, time, price and prompts before you run it.

    It also says which effects the study can detect.
    """
    from rubriclab.runs.machine_pace import busy_words

    judged_by = tuple(judge or ())
    if try_calls is not None:
        if try_calls < 1:
            raise LabError(f"--try is {try_calls}. Use 1 or more.")
        options = StudyOptions(judged_by=judged_by, key_env=key_env, trust=trust)
        return _tried(study, try_calls, common.store_path(store), options, json=json)
    # Planning runs no code and sends no key, so it needs no trust of the user's.
    planned = StudyOptions(judged_by=judged_by, trust=True).plan(study)
    shown = planned.previews()[:show]
    read = planned.try_reply(reply) if reply is not None else None
    if effect is not None and not 0 < effect < LARGEST_EFFECT:
        raise LabError(
            f"--effect is {effect:g}. Use points above 0 (percentage points for pairs and lists)."
        )
    forecast = _forecast(planned, pilot, effect, store)
    busy = busy_words(planned.study.judges)
    if json:
        document = _document(planned, forecast, read)
        document["notes"] += [busy] if busy else []
        if show:
            document["shown"] = [_shown_document(planned, call) for call in shown]
            document["proofs"] = [
                {"prompt": proof.prompt, "item": proof.item, "proof": proof.sentence()}
                for proof in planned.proofs
            ]
        return Outcome(document)
    lines = [dataset.taken for dataset, _ in planned.sources if dataset.taken]
    lines += [planned.study.name, *forecast.sentences(busy), *planned.notes]
    lines += where_asked(planned.study.judges)
    if read:
        lines.append(f"Parsed from this reply: {read['status']}, {read['read']}.")
    if show:
        lines += [proof.sentence() for proof in planned.proofs]
        if planned.proofs:
            lines += ["", *planned.proofs[0].side_by_side()]
        lines += _shown_lines(planned, shown)
    return Outcome("\n".join(lines))


def _forecast(
    planned: Plan, pilot: str | None, effect: float | None, store: Path | None
) -> Estimate:
    """Return what the study takes and what it can detect, from a pilot run if there is one."""
    from rubriclab.runs.forecast import estimate, measured

    if pilot is None:
        return estimate(planned, None, effect, _paces(planned, store))
    with common.opened(store) as lab:
        earlier = lab.run(pilot)
        seen = measured(earlier.findings, lab.store.calls(str(earlier.id)))
    return estimate(planned, seen, effect)


def _paces(planned: Plan, store: Path | None) -> dict[str, MachinePace]:
    """Return how fast the study's small models are on this machine, as far as the store tells."""
    from rubriclab.runs.machine_pace import machine_paces

    judges = planned.study.judges
    path = common.store_path(store)
    if not user_path(path).is_file() or not any(judge.about.small_model for judge in judges):
        return {}
    try:
        with common.opened(store) as lab:
            return machine_paces(lab.store, judges)
    except LabError:  # a plan needs no store
        return {}


def _document(planned: Plan, forecast: Estimate, read: dict[str, str] | None) -> dict[str, Any]:
    """Return the plan as JSON values."""
    conditions = []
    for condition, calls in zip(planned.conditions, planned.planned, strict=True):
        conditions.append(
            {
                "judge": condition.judge,
                "dataset": condition.dataset,
                "strategy": condition.strategy,
                "reorder": condition.reorder,
                "variant": dict(condition.variant),
                "calls": calls,
            }
        )
    document: dict[str, Any] = asdict(forecast)
    least = document.pop("at_least")
    if least is None:
        del document["looks"]
    else:
        document["calls_at_least"] = least["calls"]
        document["seconds_at_least"] = least["seconds"]
        document["price_at_least"] = least["price"]
    document["name"] = planned.study.name
    document["conditions"] = conditions
    document["columns"] = [dataset.taken for dataset, _ in planned.sources if dataset.taken]
    document["notes"] = list(planned.notes)
    if read:
        document["read"] = read
    return document


def _shown_document(planned: Plan, call: Call) -> dict[str, Any]:
    """Return one prompt that the study would send as JSON values."""
    condition = planned.conditions[call.condition]
    return {
        "order": list(call.ordering.names),
        "dataset": condition.dataset,
        "reorder": condition.reorder,
        "variant": dict(condition.variant),
        "messages": [dict(message) for message in call.messages],
    }


def _shown_lines(planned: Plan, calls: list[Call]) -> list[str]:
    """Return the prompts as text. A title names only what differs between the prompts."""
    several_sources = len(planned.sources) > 1
    several_axes = len(planned.study.design.axes) > 1
    lines = []
    for number, call in enumerate(calls, 1):
        condition = planned.conditions[call.condition]
        default = dict(planned.conditions[calls[0].condition].variant)
        title = f"Order {number}: {' · '.join(call.ordering.names)}"
        if several_sources:
            title += f", {condition.dataset}"
        if several_axes:
            title += f", {condition.reorder}"
        for name, level in dict(condition.variant).items():
            if level != default[name]:
                title += f", {name} = {level}"
        lines += ["", title]
        lines += [f"[{message['role']}]\n{message['content']}" for message in call.messages]
    return lines


def _tried(study: str, number: int, store: Path, options: StudyOptions, *, json: bool) -> Outcome:
    """Ask some calls of each judge and show how their replies are read. The run stays paused."""
    from rubriclab.api import run as run_study
    from rubriclab.runs.runner import TRIED

    planned = options.plan(study)
    with redirect_stdout(sys.stderr):
        made = run_study(
            planned,
            store,
            trust=options.agreed,
            tries=number,
            progress=common.progress_line(),
        )
    info, checks = made.info(), made.reading_checks
    made.close()
    if info.state == "paused" and info.reason == TRIED:
        code = common.DONE
    else:
        code = common.CODES_OF_STATES.get(info.state, common.STOPPED)
    if json:
        document = run_facts(info) | {"checks": [check.document() for check in checks]}
        return Outcome(document, code)
    lines = [f"{info.name}: {info.done:,} of {count(info.planned, 'call')} asked"]
    for check in checks:
        lines += ["", *check.text()]
    if info.reason:
        lines += ["", info.reason]
    return Outcome("\n".join(lines), code)
