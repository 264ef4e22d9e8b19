"""Compare each variant of the judge prompt with the default one, and decide what it changes.

A form is a variant (score ids, a reference answer, a temperature, ...), or an ordering strategy of
one order where the default is one too. The form takes the part of the order: the gate deals an
item's calls over the two forms, the mean is that of the other form less the default's, single
scores are compared across forms and within them (verdicts.md's rules).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubriclab.core.cells import FLAT, Answers, calls_of, fingerprints, sorted_items
from rubriclab.core.fairness import constraint_reason
from rubriclab.core.judgments import Arm, grouped, widest
from rubriclab.core.permutation import ALPHA, Cards, Gate, centred, deal, standardised, together
from rubriclab.core.verdict import Terms, Verdicts, decide
from rubriclab.model.judgment import Condition, variant_text
from rubriclab.model.study import Smallest
from rubriclab.stats.resample import Floats, Ints
from rubriclab.stats.tests import holm

WEIGHTS = {"mean": 0.5, "single": 0.25, "moves": 0.25}
"""The share of the 5% for each direction: the mean, each item's scores, each item's mean."""


@dataclass(frozen=True)
class Form:
    """A changed judge prompt or parameter, to be compared with the default.

    arms: in the form called ``name``. ``base``: in the default form, strategy by strategy.
    strategy: the form is another ordering strategy of one order; the verdict about the orders
        covers it.
    """

    name: str
    base: tuple[Arm, ...]
    arms: tuple[Arm, ...]
    strategy: bool = False


def forms(arms: Sequence[Arm]) -> list[Form]:
    """Return the forms of each judge on each data set; the first condition is the default."""

    def comparable(about: Condition) -> tuple[object, ...]:
        positions = 0 if about.reorder in ("options", "bare") else about.positions
        return about.judge, about.dataset, about.reorder, positions

    made = []
    for group in grouped(arms, comparable):
        first = group[0]
        base, *others = grouped(group, lambda condition: condition.variant_key)
        if one_order_an_item(first):
            made += _strategies_of_one_order(first, base[1:])
        made += [_variant(first, base, other) for other in others]
    return made


def _strategies_of_one_order(first: Arm, others: Sequence[Arm]) -> list[Form]:
    """Return each other strategy of one order per item, compared with the default's."""
    return [
        Form(arm.condition.strategy, (first,), (arm,), strategy=True)
        for arm in others
        if arm.condition.reorder == "options" and one_order_an_item(arm)
    ]


def _variant(first: Arm, base: Sequence[Arm], other: Sequence[Arm]) -> Form:
    """Return a variant, strategy by strategy; where it shares none, its first arm alone."""
    name = variant_text(other[0].condition.variant, first.condition.variant) or "default"
    default = {arm.condition.strategy: arm for arm in base}
    shared = [arm for arm in other if arm.condition.strategy in default]
    if not shared:
        return Form(name, (first,), (other[0],))
    return Form(name, tuple(default[arm.condition.strategy] for arm in shared), tuple(shared))


def one_order_an_item(arm: Arm) -> bool:
    """Return whether each item was asked in one order, however often."""
    order = np.zeros(arm.items, dtype=np.int64)
    order[arm.item] = arm.order
    return arm.items > 0 and bool((order[arm.item] == arm.order).all())


def side_by_side(form: Form) -> tuple[Answers, Ints] | None:
    """Return the calls of both forms as answers in two orders, and (lots,) the item of each lot.

    Order 0 is the default form, 1 the other. A lot is an item in an order that both forms asked it
    in, so that orders do not matter. Where fewer than half of the items have one (random orders,
    other scales), a lot is all calls of an item. None where the scales cannot be compared.
    """
    first = form.arms[0]
    about = first.condition
    points = _shared_points(form)
    if points is None:
        return None
    item, side, label, code = [], [], [], []
    for number, arms in enumerate((form.base, form.arms)):
        for arm in arms:
            own_item, order, given = calls_of(arm)
            labels = [arm.order_label(k) for k in range(len(arm.shown))]
            item.append(own_item)
            side.append(np.full(len(own_item), number))
            label.append(np.array(labels, dtype=object)[order])
            if about.chooses:
                code.append(given)
            else:
                rank = np.append(np.searchsorted(points, arm.scores), -1)  # -1, unparsed, stays
                code.append(rank[given])
    items, sides = np.concatenate(item), np.concatenate(side)
    lot = _lots(items, sides, np.concatenate(label).astype(str))
    present, code_of_lot = np.unique(lot, return_inverse=True)
    item_of_lot = np.zeros(len(present), dtype=np.int64)
    item_of_lot[code_of_lot] = items
    n = first.positions if about.chooses or about.joint else len(points)
    answers = Answers(
        item=code_of_lot,
        order=sides,
        code=np.concatenate(code),
        orders=np.stack([np.arange(n)[::-1], np.arange(n)]),
        unit=np.unique(first.run.unit_of_item[item_of_lot], return_inverse=True)[1],
        points=points,
        drawn=False,
        criteria=about.joint,
        condition=widest(form.arms).code,
        choices=about.chooses,
        unsure=constraint_reason([*form.base, *form.arms]),
    )
    return answers, item_of_lot


def _shared_points(form: Form) -> Floats | None:
    """Return the points of both forms' scales together, (points,); None if the ends differ.

    Of choices it is only a list of the winners, 0 to the number of positions for a tie.
    """
    scales = {arm.condition.scores for arm in (*form.base, *form.arms)}
    if len({(scale[0], scale[-1]) for scale in scales if scale}) > 1:
        return None
    first = form.arms[0]
    if first.condition.chooses:
        return np.arange(first.positions + 1.0)
    return np.unique(np.concatenate([np.array(scale) for scale in scales]))


def _lots(item: Ints, side: Ints, label: np.ndarray[Any, Any]) -> Ints:
    """(calls,): a code of the item in the order ``label``; of the item where few share orders."""
    names: Ints = np.unique(label, return_inverse=True)[1].ravel()
    lot = np.asarray(item * (names.max(initial=0) + 1) + names)
    if len(_both(item, lot, side)) < 0.5 * len(_both(item, item, side)):
        return item
    return lot


def _both(item: Ints, lot: Ints, side: Ints) -> Ints:
    """Return the items of lots that both forms asked."""
    shared = np.intersect1d(lot[side == 0], lot[side == 1])
    return np.unique(item[np.isin(lot, shared)])


@dataclass(frozen=True, eq=False)
class FormCards(Cards):
    """Single calls that are dealt over the two forms of the prompt, within their item.

    A card is a call, a group is an item, a seat is a call that was asked in one of the two forms.

    contrast: (cards, 1) 1 for seats of the other form, else 0.
    value, score: minus the mean of their lot, and scaled so that their sum over the seats of the
        other form is the item's difference between the forms, each lot counting once.
    chance: (cards,) what a card adds to the square of a sum, on average over all deals.
    """

    chance: Floats | float = 0.0

    @property
    def width(self) -> int:
        """How many numbers ``sums`` gives."""
        return 3

    def sums(self, seats: Ints, dealt: Ints) -> Floats:
        """(deals, groups, 3): mean difference, its square, and squared difference of shares."""
        other = np.append(self.contrast[:, 0], 0)[seats]
        value = np.pad(self.value, ((0, 1), (0, 0)))
        score = np.append(self.score, 0)
        by_score = [
            (column[dealt] * other).sum(axis=-1) for column in np.ascontiguousarray(value.T)
        ]
        shares = np.stack(by_score, axis=-1)
        mean = (score[dealt] * other).sum(axis=-1)
        return np.stack([mean, np.square(mean), np.square(shares).sum(axis=-1)], axis=-1)

    def expected(self, seats: Ints) -> Floats:
        """(3,): of m of M cards without return: sum of squares x m (M - m) / (M (M - 1))."""
        seated = seats[seats < len(self.group)]
        chance = np.broadcast_to(self.chance, len(self.group))[seated]
        squares = np.stack(
            [np.square(self.score[seated]), np.square(self.value[seated]).sum(axis=1)]
        )
        return np.append(0.0, (squares * chance).sum(axis=1))


def form_gate(answers: Answers, item_of_lot: Ints) -> Gate:
    """Test exactly "no item's answers depend on the form".

    An item's calls are dealt over the two forms, within each lot. Single calls are dealt, not whole
    prompts as for orders: a judge that answers each prompt by one fixed draw does change its scores
    with the form. Directions: the mean difference over items (weight 1/2), each item's squared
    difference of shares (1/4), and of means (1/4). Measured: ``docs/method-check.md``.
    """
    cards = form_cards(answers, item_of_lot)
    if cards is None:
        return Gate()
    dealt = deal(cards)
    parts = {
        "mean": np.abs(standardised(dealt.sums[:, :1]))[:, 0],
        "single": dealt.sums[:, 2],
        "moves": dealt.sums[:, 1],
    }
    return together(parts, WEIGHTS, dealt.exact)


def form_cards(answers: Answers, item_of_lot: Ints) -> FormCards | None:
    """Return the calls that are dealt over two forms; None where no deal changes anything."""
    calls = calls_to_deal(answers, item_of_lot, _values_of_calls)
    if calls is None:
        return None
    return FormCards(
        group=calls.group,
        value=calls.values[:, 1:],
        shown=np.zeros((len(calls.group), 0), dtype=np.int64),
        score=calls.values[:, 0],
        contrast=calls.other[:, None].astype(np.float64),
        stratum=calls.stratum,
        chance=calls.chance,
    )


@dataclass(frozen=True, eq=False)
class CallsToDeal:
    """Single calls that may be dealt over two forms, sorted by their content.

    group: (calls,) the item. other: (calls,) 1 for calls in the other form, else 0. values: (calls,
    k) minus the mean of their lot, and scaled so that their sum over the other form's calls is the
    item's difference between the forms. stratum, chance: as ``FormCards`` has them.
    """

    group: Ints
    other: Ints
    values: Floats
    stratum: Ints | None
    chance: Floats


def calls_to_deal(
    answers: Answers, item_of_lot: Ints, values_of: Callable[[Answers, Ints, Ints], Floats]
) -> CallsToDeal | None:
    """Return the parsed calls of lots that both forms asked; None where no deal changes anything.

    ``values_of(answers, lot, code)``: (calls, k) what is compared of calls in these lots, minus the
    mean of their lot. Lots of an item are sorted by their content, items by theirs, calls by form
    and answer: names decide nothing.
    """
    parsed = np.flatnonzero(answers.parsed)
    lots = len(item_of_lot)
    lot, form = answers.item[parsed], answers.order[parsed]
    calls = np.stack([np.bincount(lot[form == side], minlength=lots) for side in (0, 1)])
    kept = parsed[calls.min(axis=0)[lot] > 0]
    if not len(kept):
        return None
    lot, other, code = answers.item[kept], answers.order[kept], answers.code[kept]
    values = values_of(answers, lot, code)
    moves = np.zeros(int(item_of_lot.max()) + 1, dtype=bool)
    differs = np.flatnonzero(np.abs(values).max(axis=1) > FLAT)
    moves[item_of_lot[lot[differs]]] = True
    if not moves.any():
        return None

    rank_of_lot = _ranked_lots(lot, other, code, lots)
    mark = fingerprints(np.column_stack([rank_of_lot[lot], other, code]))
    item, _ = sorted_items(item_of_lot[lot], mark, np.arange(len(moves)))
    row = np.lexsort((*code.T, other, lot, rank_of_lot[lot], item))
    row = row[moves[item_of_lot[lot[row]]]]
    lot, other, values = lot[row], other[row], values[row]
    group = np.unique(item[row], return_inverse=True)[1]

    starts_lot = (np.diff(lot, prepend=-1) != 0) | (np.diff(group, prepend=-1) != 0)
    lots_of_group = np.bincount(group[starts_lot])
    stratum = None
    if (lots_of_group > 1).any():
        lot_number = np.cumsum(starts_lot) - 1
        first_of_group = np.searchsorted(group, np.arange(group[-1] + 1))
        stratum = lot_number - lot_number[first_of_group][group]

    calls_of_forms = calls[:, lot].astype(np.float64)
    size, product = calls_of_forms.sum(axis=0), calls_of_forms.prod(axis=0)
    values = values * (size / product / lots_of_group[group])[:, None]
    return CallsToDeal(
        group=group,
        other=other,
        values=values,
        stratum=stratum,
        chance=product / (size * (size - 1)),
    )


def _values_of_calls(answers: Answers, lot: Ints, code: Ints) -> Floats:
    """(calls, 1 + scores): points (0 of choices) and the score given, minus the mean of the lot."""
    is_score = code[:, :, None] == np.arange(len(answers.points))
    given = is_score.reshape(len(code), -1) / np.sqrt(code.shape[1])
    points = np.zeros(len(code))
    if not answers.choices:
        points = answers.points[code].mean(axis=1)
    own_lot = np.unique(lot, return_inverse=True)[1]
    return centred(np.column_stack([points, given]), own_lot)


def _ranked_lots(lot: Ints, other: Ints, code: Ints, lots: int) -> Ints:
    """(lots,): the rank of each lot by its content."""
    mark = np.zeros(lots, dtype=np.uint64)
    np.add.at(mark, lot, fingerprints(np.column_stack([other, code])))
    return np.unique(mark, return_inverse=True)[1].ravel()


def by_holm(
    family: Sequence[tuple[Answers, Gate]], smallest: Smallest, alpha: float = ALPHA
) -> list[Verdicts]:
    """Return the verdicts about the forms of one judge on a data set, which share its 5%.

    Holm's rule over their gates, and the same level inside each. ``alpha``: what they share, less
    than 5% at a look at part of the run (``core/looks.py``).
    """
    p = np.array([gate.p for _, gate in family])
    tested = len(p) - np.argsort(np.argsort(p, kind="stable"), kind="stable")
    return [
        decide(
            answers,
            smallest,
            passed=replace(gate, p=float(own_p), spent=alpha),
            of_form=True,
            tested=int(times),
            terms=Terms(alpha=alpha),
        )
        for (answers, gate), own_p, times in zip(family, holm(p), tested, strict=True)
    ]


def form_verdicts(arms: Sequence[Arm], smallest: Smallest) -> list[tuple[Form, Verdicts | None]]:
    """Return the verdicts about each variant of each judge.

    None where its scale has other ends than the default's.
    """
    said: list[tuple[Form, Verdicts | None]] = []
    families: dict[tuple[str, str], list[tuple[Form, int, Answers, Gate]]] = {}
    for form in forms(arms):
        if form.strategy:
            continue
        made = side_by_side(form)
        if made is None:
            said.append((form, None))
            continue
        answers, item = made
        parsed = answers.parsed
        items = len(_both(item[answers.item[parsed]], answers.item[parsed], answers.order[parsed]))
        about, default = form.arms[0].condition, form.base[0].condition
        # Sharing a request may change the answers of each order and no item's mean: then every lot
        # counts by itself.
        lots = about.variant.get("packing") != default.variant.get("packing")
        gate = form_gate(answers, np.arange(len(item)) if lots else item)
        families.setdefault((about.judge, about.dataset), []).append((form, items, answers, gate))
    for family in families.values():
        alpha = min(arm.alpha for form, *_ in family for arm in (*form.base, *form.arms))
        given = by_holm([part[2:] for part in family], smallest, alpha)
        said += [
            (form, _of_forms(own, items))
            for (form, items, *_), own in zip(family, given, strict=True)
        ]
    return said


def _of_forms(given: Verdicts, items: int) -> Verdicts:
    """Return the verdicts with reasons about forms, and items instead of lots."""
    lacking = "no_orders", "no_two_orders"
    questions = {
        name: replace(answer, why="no_two_forms") if answer.why in lacking else answer
        for name, answer in given.questions.items()
    }
    return replace(given, items=items, questions=questions)
