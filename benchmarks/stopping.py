"""Simulate runs that may stop early: what is said at any look, what is asked, what intervals hold.

Units are asked in a random order. A run is followed to its last look, and what it says at the look
where it stops is read from there. With nothing planted 299 deals are drawn, else 999, or 1,999 with
more than 100 units: the first looks may spend less than one deal of a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import foreign
from rubriclab.core.batches import planned_looks
from rubriclab.core.cells import Answers, of_items
from rubriclab.core.differences import differences, paired
from rubriclab.core.drift import drift
from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import Look, is_told, look_by_look, looks_at
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import Verdicts, decide
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.looks import RunLooks, Scope, ScopeLooks, asking_rank, batch_of_rank
from rubriclab.model.looks import looks_at as units_at_looks
from rubriclab.model.study import Smallest
from rubriclab.stats.resample import Ints

SMALLEST = Smallest()
ROUNDING = 1e-9


def followed(rng: np.random.Generator, answers: Answers, units: int, deals: int) -> list[Look]:
    """All looks of a run, as if it never stopped; its units are asked in a random order."""
    plan = planned_looks(units)
    batch = np.searchsorted(plan.units, rng.permutation(units), side="right")[answers.unit]

    def so_far() -> Iterator[tuple[Answers, Ints]]:
        for number in range(len(plan.units)):
            yield of_items(answers, batch <= number), batch[batch <= number]

    return [*look_by_look(so_far(), plan, SMALLEST, "known", deals)]


def stopped_study(
    rng: np.random.Generator,
    truth: Mapping[str, Any],
    *,
    maker: Callable[..., Answers],
    units: int,
    false: tuple[str, ...],
) -> dict[str, float | tuple[float, float]]:
    """Events of one run. ``truth``: of very many units; ``false``: questions with nothing true."""
    answers = maker(rng, units)
    nothing = "any" in false
    deals = 299 if nothing else 999 if units <= 100 else 1_999
    looks = followed(rng, answers, units, deals)
    known, decided = stops(looks)
    once = decide(answers, SMALLEST)
    word = "false" if nothing else "found"
    made: dict[str, float | tuple[float, float]] = {
        f"{word} anything told": any(map(told, (look.verdicts for look in looks))),
        f"{word} anything told, once at the end": told(once),
        "asked until known": looks[known].units / units,
        "asked until decided": looks[decided].units / units,
        "answered position at the stop": answered(looks[known].verdicts),
        "answered position once at the end": answered(once),
        "withdrawn words": withdrawn(looks),
    }
    leans = looks[known].verdicts.positions
    if leans is not None and leans.leans:
        made["error of position 1 at the stop"] = leans.leans[0] - float(truth["positions"][0])
    for name in ("positions", "mean", "single"):
        verdicts = [look.verdicts.questions.get(name) for look in looks]
        if name not in truth or any(verdict is None for verdict in verdicts):
            continue
        if name in false:
            made[f"false {name}"] = any(v is not None and v.above_zero for v in verdicts)
        largest = (
            truth["size"] if name == "positions" and "size" in truth else largest_of(truth[name])
        )
        if verdicts[0] is not None and largest >= verdicts[0].smallest:
            words = [v.word for v in verdicts if v is not None]
            made[f"equal {name}"] = "equivalent" in words
    for name, true in parts_of(truth).items():
        ends = [ends_of(look.verdicts, name) for look in looks]
        held = [low - ROUNDING <= true <= high + ROUNDING for low, high in ends]
        if not np.isnan(ends).any():
            low, high = ends[known]
            made[f"holds {name}, at the stop"] = held[known], high - low
            made[f"holds {name}, at all looks"] = all(held), ends[-1][1] - ends[-1][0]
            low, high = ends_of(once, name)
            made[f"holds {name}, once at the end"] = (
                low - ROUNDING <= true <= high + ROUNDING,
                high - low,
            )
    return made


def stops(looks: Sequence[Look]) -> tuple[int, int]:
    """The look at which the run stops by either rule, the last one where it never does."""
    last = len(looks) - 1
    known = next((k for k, look in enumerate(looks) if look.stops), last)
    decided = last
    for k, look in enumerate(looks):
        blocked = look.verdicts.unparsed_p <= 0.05
        if not blocked and is_told(look.verdicts, "decided", was_open=False):
            decided = k
            break
    return known, decided


def told(given: Verdicts) -> bool:
    return any(
        verdict.above_zero or verdict.word == "effect" for verdict in given.questions.values()
    )


def answered(given: Verdicts) -> bool:
    return given.positions is not None and given.positions.word != "undecided"


def withdrawn(looks: Sequence[Look]) -> bool:
    """Whether a later look takes back a Yes or a No; blocked ones say nothing."""
    said: dict[str, str] = {}
    for look in looks:
        if look.verdicts.unparsed_p <= 0.05:
            continue
        for name, verdict in look.verdicts.questions.items():
            before = said.get(name, "undecided")
            if before != "undecided" and verdict.word not in (before, "equivalent"):
                return True
            said[name] = verdict.word
    return False


def largest_of(true: Any) -> float:
    every = [*true.values()] if isinstance(true, dict) else np.atleast_1d(true)
    return float(np.max(np.abs(every)))


def parts_of(truth: Mapping[str, Any]) -> dict[str, float]:
    """The true position 1, contrasts, and changed single scores."""
    parts = {"position 1": float(truth["positions"][0])}
    parts |= {name: float(value) for name, value in truth.get("mean", {}).items()}
    if "single" in truth:
        parts["single"] = float(truth["single"])
    return parts


def ends_of(given: Verdicts, part: str) -> tuple[float, float]:
    """The single interval of a part; NaN where there is none."""
    none = np.nan, np.nan
    if part == "position 1":
        leans = given.positions
        return none if leans is None or not leans.intervals else leans.intervals[0]
    if part == "single":
        single = given.single
        if single is None or single.beyond_noise is None or single.noise != "all":
            return none
        return single.beyond_noise.low, single.beyond_noise.high
    contrasts = {} if given.mean is None else given.mean.contrasts
    return (contrasts[part].low, contrasts[part].high) if part in contrasts else none


# ----------------------------------------------------------------------- several judges, data sets
def two_settings(
    rng: np.random.Generator, _: Any, *, units: int, kind: str, size: float, how: str
) -> dict[str, float]:
    """Two judges of the same items, or one judge on two data sets: each stops by itself.

    Judges are of the same bias, so that no difference of theirs is true.
    """
    tables = [
        foreign.option_table(rng, units, "latent", kind or "nothing", size, fixed=0)
        for _ in range(2)
    ]
    judges = how == "two judges"
    table = together(tables, judges=judges)
    run = Judgments(table)
    looks = [looks_at(run, looked, SMALLEST) for looked in run.looked]
    ends = [look[stops(look)[0]] for look in looks]
    made: dict[str, float] = {
        "asked until known": float(np.mean([look.units for look in ends])) / units
    }
    if not kind:
        said = [any(told(look.verdicts) for look in each) for each in looks]
        made["false anything told, a setting"] = float(np.mean(said))
        made["says anything of either, each at its own .05"] = any(said)
    if judges:
        kept = np.ones(len(table.rows), dtype=bool)
        for looked, end in zip(run.looked, ends, strict=True):
            batches = looked.looks.units.index(end.units) + 1
            late = looked.looks.batch[table.rows["item"].to_numpy()] >= batches
            kept &= ~(np.isin(table.rows["condition"], looked.looks.conditions) & late)
        cut = replace(table, rows=table.rows[kept].reset_index(drop=True), state="interrupted")
        found = Findings(Judgments(cut))
        for row in differences(paired(found, 0, found, 1)):
            made[f"false {row.counts['question']} differs"] = row.verdict == "effect"
    return made


def together(tables: Sequence[JudgmentTable], *, judges: bool) -> JudgmentTable:
    """Two tables as one run, with an order of asking for each condition."""
    first, second = tables
    number = len(first.items)
    condition = replace(
        second.conditions[0], **({"judge": "other"} if judges else {"dataset": "essays"})
    )
    rows = second.rows.assign(
        condition=1,
        call=second.rows["call"] + len(first.rows),
        item=second.rows["item"] + (0 if judges else number),
    )
    items = first.items
    if not judges:
        items = pd.concat([items, second.items.assign(dataset="essays")], ignore_index=True)
    table = replace(
        first,
        conditions=(first.conditions[0], condition),
        items=items,
        rows=pd.concat([first.rows, rows], ignore_index=True),
    )
    return asked_in_batches(table)


def asked_in_batches(table: JudgmentTable) -> JudgmentTable:
    """A table as a run that may stop early: its calls are the plan, in an order drawn at random."""
    scopes: dict[Scope, ScopeLooks] = {}
    planned = []
    for code, about in enumerate(table.conditions):
        calls = table.rows.loc[table.rows["condition"] == code, "item"].tolist()
        texts = [str(item) for item in dict.fromkeys(calls)]
        units = units_at_looks(len(texts))
        rank = dict(zip(texts, asking_rank(texts, seed=1), strict=True))
        batch = {int(text): batch_of_rank(rank[text], units) for text in texts}
        scopes[about.dataset, about.reorder] = ScopeLooks(units, batch)
        made = np.bincount([batch[item] for item in calls], minlength=len(units))
        planned.append(tuple(made.tolist()))
    return replace(table, looks=RunLooks("known", scopes, tuple(planned)))


# --------------------------------------------------------------------------- drift between two runs
def two_stopped_runs(
    rng: np.random.Generator, _: Any, *, units: int, first: float, how: str
) -> dict[str, float]:
    """The same judge asked twice about the same texts. One run stops early, or both do.

    Nothing changes between the runs. first: log-odds of the option listed first. The first run has
    stopped because of its own answers, so these are no fair sample of what the judge does.
    """
    quality = 3 + rng.normal(0, 1, units)
    runs = [foreign.run_of(rng, quality, first=first) for _ in range(2)]
    before = stopped(runs[0])
    after = stopped(runs[1]) if how == "both runs stop early" else Judgments(runs[1])
    made = drift(before.arms, after.arms, SMALLEST)
    events: dict[str, float] = {"false anything changed": made.word == "effect"}
    for name, change in made.questions.items():
        events[f"false {name} changed"] = change.word == "effect"
    asked = before.arms[0].answers / units
    if asked < 1:
        events["false anything changed, after an early stop"] = made.word == "effect"
    return events | {"asked until known": asked}


def stopped(table: JudgmentTable) -> Judgments:
    """A run with the answers up to the look at which it stops."""
    whole = asked_in_batches(table)
    run = Judgments(whole)
    (looked,) = run.looked
    looks = looks_at(run, looked, SMALLEST)
    batches = stops(looks)[0] + 1
    early = looked.looks.batch[whole.rows["item"].to_numpy()] < batches
    rows = whole.rows[early].reset_index(drop=True)
    return Judgments(replace(whole, rows=rows, state="interrupted"))
