"""One text under many orders: the study behind "Try it", and the search for the order that flips it.

A trial is a study of one item over a list of orders, the balanced ones first: asked in part, kept
like any run, gone on with when more orders are wanted. Its control is the usual order, listed twice
(of two responses: both orders, each twice): what differs there is the judge's noise.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rubriclab.findings.debiasing import place_prior
from rubriclab.findings.reads import reads_of
from rubriclab.findings.trial import Prior, Trial
from rubriclab.findings.trial_orders import CANDIDATES, first_reads, orders_of, trial_of
from rubriclab.model import (
    TRIAL_ORIGIN,
    Call,
    Comparison,
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    Judgment,
    LabError,
    Rubric,
    RunData,
    Strategy,
    Study,
    designs,
)
from rubriclab.model.language import tr
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import Limits
from rubriclab.runs.trial_search import MOST_READS, ExtremeSearch, known_reads
from rubriclab.store import Store
from rubriclab.study.plan import Plan, plan

ALL_ORDERS = 120
"""Up to so many orders (5 options) a trial's list holds them all; beyond, so many of them."""
FLIP_CALLS, STRATEGY = 12, "orders tried"
CONTROLS, PAIR_CALLS = 1, 4
"""Further calls in the usual order that a trial of one response begins with; calls a judge makes
about two responses: both orders, each twice."""

Kind = Literal["options", "criteria", "pairwise"]


@dataclass(frozen=True)
class Text:
    """What is judged: one response, or two of them to compare."""

    instruction: str
    responses: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.responses or not all(text.strip() for text in self.responses):
            raise LabError(tr("There is no response to judge: paste one, or choose an example."))

    @property
    def name(self) -> str:
        words = (self.instruction or self.responses[0]).split()
        return " ".join(words[:6])[:60]


def trial_study(
    text: Text,
    judges: Sequence[Judge],
    *,
    kind: Kind = "options",
    rubric: Rubric | None = None,
    criterion: str | None = None,
    seed: int = 0,
) -> Study:
    """The study of one text under every order of its trial (see ``trial_orders``).

    ``options`` judges under one ``criterion`` of the rubric, ``criteria`` under all of them in
    one call, ``pairwise`` compares two responses and needs no rubric. Raises LabError for parts
    that do not fit together.
    """
    name = f"Try it: {text.name}"
    if kind == "pairwise":
        strategy = Strategy("balanced", reads=PAIR_CALLS)
        design = Design(axis="pairwise", strategies=(strategy,), seed=seed)
        return Study(name=name, dataset=_pair(text), judges=tuple(judges), design=design)
    if rubric is None:
        raise LabError(tr("Choose a rubric to judge with."))
    orders: tuple[tuple[int | str, ...], ...]
    if kind == "options":
        chosen = rubric.criterion(criterion or rubric.criteria[0].name)
        rubric, orders = Rubric(rubric.name, (chosen,)), trial_orders(chosen.scores, seed=seed)
    else:
        _check_criteria(rubric.criteria)
        orders = trial_orders([one.name for one in rubric.criteria], seed=seed)
    item = Item("tried", instruction=text.instruction, response=text.responses[0])
    orderings: tuple[tuple[int | str, ...], ...] = (*[orders[0]] * CONTROLS, *orders)
    strategy = Strategy("custom", name=STRATEGY, orderings=orderings)
    design = Design(axis=kind, strategies=(strategy,), seed=seed, show_reference=False)
    return Study(
        name=name,
        dataset=Dataset("Try it", (item,), origin=TRIAL_ORIGIN),
        judges=tuple(judges),
        rubric=rubric,
        design=design,
    )


def _pair(text: Text) -> Dataset:
    if len(text.responses) != 2:
        raise LabError(tr("A comparison takes two responses, not {responses}.", responses=len(text.responses)))
    pair = Comparison("tried", (text.instruction,), CANDIDATES, tuple((r,) for r in text.responses))
    return Dataset("Try it", (pair,), origin=TRIAL_ORIGIN)


def _check_criteria(criteria: Sequence[Criterion]) -> None:
    if len(criteria) < 2:
        raise LabError(tr("This rubric has one criterion: there is no order of criteria to change."))
    if len({criterion.scores for criterion in criteria}) > 1:
        raise LabError(
            tr("The criteria of this rubric have different scores; choose one whose criteria share a scale.")
        )


def trial_orders(options: Sequence[designs.Option], *, seed: int = 0) -> tuple[tuple[designs.Option, ...], ...]:
    """The orders of a trial: the usual one, the rest of the balanced set shuffled, then others.

    All n! of them up to ALL_ORDERS, else as many, drawn at random.
    """
    rng = random.Random(f"{seed}|trial")
    usual: tuple[designs.Option, ...] = tuple(options)
    balanced = designs.orderings(Strategy("balanced"), usual)
    first = [order for order in dict.fromkeys(balanced) if order != usual]
    rng.shuffle(first)
    first.insert(0, usual)
    return tuple(first) + tuple(_others(usual, set(first), rng))


def _others(
    options: tuple[designs.Option, ...], known: set[tuple[designs.Option, ...]], rng: random.Random
) -> Iterator[tuple[designs.Option, ...]]:
    if math.factorial(len(options)) <= ALL_ORDERS:
        left = [order for order in itertools.permutations(options) if order not in known]
        rng.shuffle(left)
        yield from left
        return
    drawn = set(known)
    while len(drawn) < ALL_ORDERS:
        order = tuple(rng.sample(options, len(options)))
        if order not in drawn:
            drawn.add(order)
            yield order


# ---------------------------------------------------------------- what came of it


def read_trial(store: Store, run: str, *, priors: Mapping[str, Prior] | None = None) -> tuple[Trial, ...]:
    """What each judge of a trial's run has said so far (see ``findings.trial``).

    ``priors``: by judge, for the corrected call. Raises StoreError for a run that is not there.
    """
    study = store.study(run)
    reads = reads_of(store.judgments_behind(run, limit=MOST_READS))
    return trial_of(study, plan(study).arms, reads, priors=priors)


def control_calls(study: Study) -> int:
    """Further calls a judge makes in an order that it was asked in: none in trials of old."""
    strategy = study.design.strategies[0]
    return len(strategy.orderings or range(strategy.reads or 2)) - len(orders_of(study))


def measured_priors(store: Store, study: Study) -> dict[str, Prior]:
    """For each judge of a trial the prior of the places from the newest run that measured it.

    Only runs over whole data sets whose judge, answer mode and number of score options are the
    same; judges without one are left out.
    """
    if study.design.axis != "options":
        return {}
    n = len(orders_of(study)[0])
    priors: dict[str, Prior] = {}
    for info in store.runs():
        missing = [judge for judge in study.judges if judge.name not in priors]
        if not missing:
            break
        if info.axis != "options" or info.origin == TRIAL_ORIGIN or not info.done or info.state == "imported":
            continue
        known = store.study(info.run)
        if known.design.answer != study.design.answer:
            continue
        same = {j.name: mine.name for j in known.judges for mine in missing if j.identity() == mine.identity()}
        priors |= _priors_in(store.frame(info.run, probabilities=True), same, n) if same else {}
    return priors


def _priors_in(data: RunData, same: Mapping[str, str], n: int) -> dict[str, Prior]:
    """The priors of a run: ``same`` maps its judges' names to those of the trial."""
    priors: dict[str, Prior] = {}
    for code, arm in enumerate(data.arms):
        mine = same.get(arm.judge)
        if mine is None or mine in priors or len(arm.scores) != n:
            continue
        places = place_prior(data, code)
        if places is not None:
            priors[mine] = Prior(places, data.run, data.name)
    return priors


# ---------------------------------------------------------------- asking


def start_trial(
    manager: RunManager, study: Study, *, orders: int | None = None, secrets: Mapping[str, str] | None = None
) -> Run:
    """Ask the first ``orders`` orders of a trial (None: the balanced set) that are not asked yet,
    and its control."""
    prepared = plan(study)
    wanted = orders or first_reads(prepared.arms[0].n_positions)
    agenda = FirstOrders(prepared, wanted + control_calls(study))
    return manager.start(study, agenda=agenda, secrets=secrets)


def start_flip(
    manager: RunManager, study: Study, *, calls: int = FLIP_CALLS, secrets: Mapping[str, str] | None = None
) -> Run:
    """Look for the orders of the highest and the lowest score, with at most ``calls`` calls a judge.

    One call after the other, each chosen from what the trial's reads say so far; a search ends
    early where the whole scale has been seen. Raises LabError where there are two orders only.
    """
    if isinstance(study.dataset.items[0], Comparison):
        raise LabError(tr("Two responses have two orders, and both were asked: nothing is left to find."))
    study = replace(study, judges=tuple(replace(judge, concurrency=1) for judge in study.judges))
    prepared = plan(study)
    search = ExtremeSearch(prepared, calls, known=known_reads(manager.store, prepared))
    limits = Limits(max_calls=calls * len(study.judges))
    return manager.start(study, agenda=search, limits=limits, secrets=secrets)


class FirstOrders:
    """An agenda: the first calls of a trial's list, as they stand there."""

    def __init__(self, prepared: Plan, calls: int) -> None:
        self._plan, self._calls = prepared, calls

    def calls(self, judge: int) -> Iterator[Call]:
        return itertools.islice(self._plan.calls(judge), self._calls)

    def heard(self, judgment: Judgment) -> None:
        """What comes back changes nothing here."""
