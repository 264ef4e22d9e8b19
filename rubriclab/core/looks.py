"""Look at a run at planned times, so that it can stop as soon as its answer is known.

Units are asked in a random order and in batches, and a run is looked at when 1/16, 1/8, 1/4, 1/2
and all of them are in. The 5% of the gate are spent over these looks: the deals of the batches add
up, which gives the joint null distribution of the gate at all looks. So an unbiased judge is
accused at any look in at most 5% of runs, exactly (alpha spending: Lan and DeMets 1983, Biometrika
70; by randomisation). Every other p is compared with the *level* of its look, and every interval is
drawn at 1 - level, so that the intervals of all looks hold together (repeated confidence intervals:
Jennison and Turnbull 1989, J. R. Stat. Soc. B 51). What was said at one look stays said.

The batches are planned before the first call (``model/looks.py``) and asked one after the other. A
judge ends where its last look ``stops``. Nothing but judgments is kept: a run that was killed is
looked at again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.core.batches import Looked, Looks, of_rows, planned_looks
from rubriclab.core.cells import FLAT, Answers, cells, from_arms, in_own_orders, of_items
from rubriclab.core.judgments import Arm, Judgments
from rubriclab.core.permutation import (
    ALPHA,
    DEALS,
    Directions,
    Gate,
    deal,
    order_cards,
    unparsed,
    upper_p,
    weighted_p,
)
from rubriclab.core.verdict import Terms, Verdict, Verdicts, decide
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.looks import (
    RunLooks,
    Scope,
    ScopeLooks,
    Stop,
    asking_rank,
    batch_of_rank,
)
from rubriclab.model.study import Smallest
from rubriclab.model.text import LabError, shorten
from rubriclab.stats.resample import Floats, Ints


@dataclass(frozen=True)
class Look:
    """What can be said at one look.

    units: how many are in. planned: how many there are at the last look. alpha: what p values are
    compared with; intervals are drawn at 1 - alpha. stops: further calls would not say more of what
    the run wants to know. verdicts: of one judge, data set and variant.
    """

    units: int
    planned: int
    alpha: float
    stops: bool
    verdicts: Verdicts


@dataclass(frozen=True)
class LastLook:
    """Where one judge is, in a data set and axis of a run that may stop early.

    condition: the first of its conditions.
    number: of the last look, from 1; 0 before the first one.
    units_at: how many units are asked in full at each look.
    unit: what a unit is: ``prompt``, ``block``, ``text`` or ``item``.
    alpha: what p values are compared with.
    spent: how much of the gate's 5% may be spent by this look.
    stops: the answer is known.
    all_no: it is known because every question has its No.
    needless: planned calls of the batches that are not complete, which nobody has made.
    begun: calls of those batches that were made; they count in no number.
    """

    judge: str
    scope: Scope
    condition: int
    number: int
    units_at: tuple[int, ...]
    unit: str
    alpha: float
    spent: float
    stops: bool
    all_no: bool
    needless: int
    begun: int = 0

    @property
    def units(self) -> int:
        """How many units were in at the last look."""
        return self.units_at[self.number - 1] if self.number else 0

    @property
    def early(self) -> bool:
        """Whether the judge stopped before its last planned call."""
        return self.stops and self.number < len(self.units_at)

    @property
    def open_end(self) -> bool:
        """Whether the answer is not known and calls are left."""
        return not self.stops and self.number < len(self.units_at)


def rehearsed(judgments: Judgments, stop: Stop = "known") -> RunLooks:
    """Return the looks that a finished run would have had, had it been allowed to stop early.

    Its calls are the plan. It shows what stopping early does; it is no result of the run.
    """
    names = judgments.unit_names
    scopes: dict[Scope, ScopeLooks] = {}
    for scope, items in _items_asked(judgments).items():
        units = np.unique(judgments.unit_of_item[items]).tolist()
        places = asking_rank([str(names[unit]) for unit in units], seed=0)
        place_of = dict(zip(units, places, strict=True))
        scopes[scope] = _scope_looks(judgments, items, place_of, len(units))
    return _with_calls_made(judgments, scopes, stop)


def growing(judgments: Judgments, planned_units: int, stop: Stop = "known") -> RunLooks:
    """Return the looks at judgments that come in over time, in a file that is read again and again.

    Units count in the order in which the file first names them. The last one is left out until
    another has begun, or all planned ones have: the file may still add calls to it. Calls that come
    later than that would change looks that were made, so log a unit's calls together.

    planned_units: how many units of each data set and axis the file will hold in the end. Raises
    LabError if it holds more already.
    """
    first_row = judgments.table.rows.drop_duplicates("item")["item"].tolist()
    row_of = {item: number for number, item in enumerate(first_row)}
    scopes: dict[Scope, ScopeLooks] = {}
    for scope, items in _items_asked(judgments).items():
        in_file = sorted(items, key=row_of.__getitem__)
        units = list(dict.fromkeys(judgments.unit_of_item[in_file].tolist()))
        if len(units) > planned_units:
            raise LabError(
                f"“{shorten(scope[0])}” holds {len(units):,} independent answers; "
                f"{planned_units:,} were planned. Looks must be planned before the data come in."
            )
        closed = units if len(units) == planned_units else units[:-1]
        place_of = {unit: place for place, unit in enumerate(closed)}
        scopes[scope] = _scope_looks(judgments, items, place_of, planned_units)
    return _with_calls_made(judgments, scopes, stop)


def with_planned_looks(table: JudgmentTable, units: int) -> JudgmentTable:
    """Return judgments that come in over time, with the looks at ``units`` of them in the end.

    Raises LabError for fewer than two units, and as ``growing`` does.
    """
    if units < 2:
        raise LabError(f"looks is {units}. Give the number of answers that you plan, 2 or more.")
    looks = growing(Judgments(table), units)
    return replace(table, looks=looks, planned=tuple(sum(calls) for calls in looks.planned))


def _items_asked(judgments: Judgments) -> dict[Scope, list[int]]:
    """Return the codes of the items that each data set and axis was asked about, by any judge."""
    items: dict[Scope, set[int]] = {}
    for arm in judgments.arms:
        items.setdefault(arm.condition.scope, set()).update(arm.item_code.tolist())
    return {scope: sorted(asked) for scope, asked in items.items()}


def _scope_looks(
    judgments: Judgments, items: Sequence[int], place_of: Mapping[int, int], units: int
) -> ScopeLooks:
    """Return the looks at ``units`` units. ``place_of``: of each unit, in the order of asking.

    Items of units that have no place are in no batch.
    """
    units_at = planned_looks(units).units
    batch = {}
    for item in items:
        place = place_of.get(int(judgments.unit_of_item[item]))
        if place is not None:
            batch[item] = batch_of_rank(place, units_at)
    return ScopeLooks(units=units_at, batch=batch)


def _with_calls_made(
    judgments: Judgments, scopes: Mapping[Scope, ScopeLooks], stop: Stop
) -> RunLooks:
    """Return the looks of a run whose plan is what was asked."""
    planned = []
    for arm in judgments.arms:
        looks = scopes[arm.condition.scope]
        batch = np.array([looks.batch.get(item, -1) for item in arm.item_code.tolist()])
        first_of_call = np.unique(arm.call, return_index=True)[1]
        of_call = batch[arm.item[first_of_call]]
        made = np.bincount(of_call[of_call >= 0], minlength=len(looks.units))
        planned.append(tuple(made.tolist()))
    return RunLooks(stop=stop, scopes=scopes, planned=tuple(planned))


# --------------------------------------------------------------------------------------- the looks
def looks_at(judgments: Judgments, looked: Looked, smallest: Smallest) -> list[Look]:
    """Return the look at a judge after each complete batch, by its first setting.

    The judge may stop where the last one ``stops``; there is none before the first batch is in.
    """
    codes = looked.looks.conditions
    first = judgments.conditions[codes[0]].setting
    arms = [judgments.arms[code] for code in codes if judgments.conditions[code].setting == first]
    return looks_of(arms, looked, smallest)


def is_over(judgments: Judgments, smallest: Smallest) -> bool:
    """Return whether a run with looks has nothing left to ask, as far as its judgments show.

    Each judge has all its planned calls, or a last look that has the answer. A run whose further
    calls were begun all the same is not over.
    """
    for known in judgments.looked:
        if known.complete < len(known.looks.units):
            looks = looks_at(judgments, known, smallest)
            if not looks or not looks[-1].stops:
                return False
    return bool(judgments.looked) and len(judgments.counted.rows) == len(judgments.table.rows)


def looks_of(arms: Sequence[Arm], looked: Looked, smallest: Smallest) -> list[Look]:
    """Return the look after each complete batch, at one setting of a judge.

    A look depends on the rows of its own batches alone: the same is said of it whatever is asked
    later. So every look reads the run as if it had ended there.
    """
    run = arms[0].run
    codes = [arm.code for arm in arms]
    batch = looked.looks.batch
    mine = np.isin(run.table.rows["condition"], codes)
    batch_of_row = np.where(mine, batch[run.table.rows["item"].to_numpy(dtype=np.int64)], -1)

    def so_far() -> Iterator[tuple[Answers, Ints]]:
        for number in range(looked.complete):
            kept = (batch_of_row >= 0) & (batch_of_row <= number)
            part = Judgments(of_rows(replace(run.table, looks=None), kept), run.unit)
            answers = from_arms([part.arms[code] for code in codes])
            yield answers, batch[answers.item_code]

    plan = planned_looks(looked.looks.units[-1])
    return [*look_by_look(so_far(), plan, smallest, looked.looks.stop)]


def look_by_look(
    so_far: Iterable[tuple[Answers, Ints]],
    plan: Looks,
    smallest: Smallest,
    stop: Stop,
    deals: int = DEALS,
) -> Iterator[Look]:
    """Yield each look: also those after one that stops, if the run continued all the same.

    so_far: at each look the calls that are in, and (items,) the batch of each item, from 0.
    """
    batches: list[Floats] = []
    said: dict[str, Verdict] = {}
    was_open = False
    for number, (answers, batch) in enumerate(so_far):
        answers = in_own_orders(answers)
        own = in_own_orders(of_items(answers, batch == number))
        batches.append(dealt_sums(own, number, deals))
        terms = Terms(
            alpha=plan.levels[number],
            earlier=said,
            unparsed_p=unparsed(answers, batch) if len(plan.units) > 1 else None,
        )
        passed = None
        if len(plan.units) > 1:
            passed = gates(batches, plan.spent[: number + 1], directions_of(answers))[-1]
        given = decide(answers, smallest, passed=passed, terms=terms)
        blocked = given.unparsed_p <= ALPHA
        if not blocked:  # else nothing is said at this look, and what was said before stays
            said = dict(given.questions)
        ends = not blocked and is_told(given, stop, was_open=was_open)
        yield Look(plan.units[number], plan.units[-1], plan.levels[number], ends, given)
        was_open = given.gate.open


def is_told(given: Verdicts, stop: Stop, *, was_open: bool) -> bool:
    """Return whether all is said that the run wants to know.

    was_open: the gate was open at the look before. Then one more look has tried to say how the
    order matters, and single scores alone may differ.
    """
    words = {name: verdict.word for name, verdict in given.questions.items()}
    if stop == "known" and given.gate.open:
        positionis_told = words.get("positions", "undecided") != "undecided"
        return was_open or positionis_told or words.get("mean") == "effect"
    if given.single is not None and not given.single.repeated and len(words) > 1:
        # Without repeats the noise of single scores is not known, so their No never comes.
        del words["single"]
    return "undecided" not in words.values()


# -------------------------------------------------------------------------------- the gate by looks
def directions_of(answers: Answers) -> Directions:
    """Return what the gate is made of, by the calls that were sent.

    Which of them could be parsed must not change it, or batches could not be added up.
    """
    asked = np.unique(np.column_stack([answers.item, answers.order]), axis=0)
    one_order = answers.drawn and len(asked) == len(np.unique(answers.item))
    by_criterion = answers.criteria and not answers.interchangeable and not one_order
    return Directions(answers.orders.shape[1], by_criterion, one_order)


def dealt_sums(batch: Answers, number: int, deals: int = DEALS) -> Floats:
    """(1 + deals, width): sums over the items of one batch, as observed and then dealt again.

    Those of several batches add up. They depend on the content of the batch and its number alone.
    """
    directions, table = directions_of(batch), cells(batch)
    names = [] if batch.choices else ["turn"] if batch.criteria else ["line", "turn"]
    cards = None
    if table.items and table.one_order_an_item == directions.one_order:
        cards = order_cards(table, {name: table.directions[name] for name in names})
    if cards is None:
        return np.zeros((1 + deals, directions.leans + len(names) + 1))
    return cards.with_constant(deal(cards, deals=deals, number=number + 1).sums)


def gates(batches: Sequence[Floats], spent: Sequence[float], directions: Directions) -> list[Gate]:
    """Return the gate at each look; once open it stays open, and its p stays what it was.

    p is the share of deals that open the gate at an earlier look, or are at least as extreme at
    this one (looks are ordered first, then sizes: Armitage 1957, Biometrika 44). It is at most
    ``spent`` exactly where the gate is open, because as many of the most extreme deals open it at
    each look as may be spent by then. Deals that tie open it together or not at all.

    batches: (1 + deals, width) of each batch. spent: of 5%, by each look.
    """
    made: list[Gate] = []
    total = np.zeros_like(batches[0])
    closed = np.ones(len(total), dtype=bool)
    for sums, budget in zip(batches, spent, strict=True):
        total = np.round(total + sums, 9)
        parts, weighted = weighted_p(directions.parts(total), directions.weights)
        if not closed[0]:
            made.append(replace(made[-1], parts=parts, spent=budget))
            continue
        as_extreme = np.round(upper_p(-weighted[closed]) * closed.sum())
        p = (np.count_nonzero(~closed) + as_extreme) / len(total)
        # Where no deal changes anything there is a single one, as in ``permutation.gate``.
        varies = bool((total != total[0]).any())
        dealt = len(total) if varies else 1
        made.append(Gate(float(p[0]), parts, dealt, not varies, float(p.min()), budget))
        closed[closed] = p > budget + FLAT
    return made
