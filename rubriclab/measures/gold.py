"""Say how often a gold winner is chosen, by its position, and what asking in every order gains."""

from collections.abc import Iterator
from functools import partial
from statistics import multimode
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.estimate import Reach, mean_over, share_of
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.measures.pairs import Compared, compared
from rubriclab.stats.resample import Bools, Ints

DEFAULT = "one order"
MAJORITY = "majority of orders"
STANDS = "winner in every order"
"""Methods: the default order; the commonest winner over all orders; only winners of every order."""


@topic(
    "gold", axes={"pairs", "lists"}, charts=(Chart("forest", "protocol_accuracy", by="protocol"),)
)
def gold(arm: Arm) -> Iterator[Row]:
    yield from accuracy(compared(arm))


def gold_winner(arm: Arm) -> Ints:
    """Return (items,) the winner, by rank of name, that most raters name; -1 where none is."""
    best = np.full(arm.items, -1, dtype=np.int64)
    for k, ratings in enumerate(arm.run.items["ratings"].iloc[arm.item_code]):
        votes = multimode(value for value in ratings.values() if pd.notna(value)) if ratings else []
        if len(votes) == 1 and 1 <= votes[0] <= arm.positions:
            best[k] = int(votes[0]) - 1
    return best


def better_of_two(arm: Arm, best: Ints) -> Row:
    """Return how often the gold winner is chosen more often than another candidate.

    Over all calls of an item, whatever their orders; equally often counts as half.
    """
    wins = np.zeros((arm.items, arm.positions))
    won = arm.ok & (arm.score >= 0) & (arm.score < arm.positions)
    np.add.at(wins, (arm.item[won], arm.score[won]), 1.0)
    gold = wins[np.arange(arm.items), np.maximum(best, 0)][:, None]
    preferred = (gold > wins) + 0.5 * (gold == wins)
    # The gold winner ties with itself: that half is taken off.
    share = (preferred.sum(axis=1) - 0.5) / max(arm.positions - 1, 1)
    asked = np.bincount(arm.item[arm.ok], minlength=arm.items) > 0
    known = asked & (best >= 0)
    rule = partial(Reach, 1.0, least=0.0, most=1.0)
    estimate = mean_over(
        np.where(known, share, np.nan), arm.unit, arm.unit_names, rule, none="nothing_rated"
    )
    pairs = int(known.sum()) * (arm.positions - 1)
    return Row("better_of_two", estimate, counts={"n": pairs})


def accuracy(made: Compared) -> Iterator[Row]:
    """Yield how often the gold winner is chosen: in all, by position, by order, and in every order.

    Gold is the one winner, by rank of name, that most raters name; where none is, the comparison is
    left out.
    """
    arm, best = made.arm, gold_winner(made.arm)
    known = arm.ok & (best[arm.item] >= 0) & (arm.shown[arm.order, 0] >= 0)
    if not known.any():
        return
    stood = (arm.shown[arm.order] == best[arm.item][:, None]).argmax(axis=1)
    parts: list[tuple[str, Bools, dict[str, Any]]] = [("accuracy", known, {})]
    parts += [
        ("gold_accuracy", known & (stood == p), {"position": p + 1}) for p in range(arm.positions)
    ]
    if len(arm.shown) <= 2 * arm.positions:
        orders = range(len(arm.shown))
        parts += [
            ("accuracy", known & (arm.order == k), {"order": arm.order_label(k)}) for k in orders
        ]
    for measure, which, of in parts:
        estimate = share_of(arm.score == best[arm.item], which, arm.unit[arm.item], arm.unit_names)
        yield Row(measure, estimate, of, counts={"n": int(which.sum())})
    whole = made.parsed & (best[made.item] >= 0)
    if whole.any():
        both = made.share(made.winner == best[made.item], whole)
        yield Row("accuracy_all_orders", both, counts={"n": int(whole.sum())})
        yield from protocols(made, best[made.item], whole)
    yield better_of_two(arm, best)


def protocols(made: Compared, best: Ints, whole: Bools) -> Iterator[Row]:
    """Yield the accuracy of each method, and the gain of the majority.

    ``whole``: the series that count; ``best``: (series,) the gold winner.

    Asking the default order as often as there are orders costs the same calls and has its accuracy.
    A tie, of a call or between winners, counts equally for each candidate. ``STANDS`` is of the
    series that it leaves a winner.
    """
    arm, p = made.arm, made.p
    winner = arm.score[made.calls]
    votes = np.stack([(winner == k).sum(axis=1) for k in range(p)], axis=1)
    top = votes == votes.max(axis=1, keepdims=True)
    series = np.arange(len(best))
    majority = top[series, best] / top.sum(axis=1)
    default = (arm.shown[arm.order[made.calls]] == np.arange(p)).all(axis=2).argmax(axis=1)
    first = winner[series, default]
    single = np.where(first < p, first == best, 1 / p)
    stands = whole & made.consistent & (made.winner >= 0) & (made.winner < p)
    rows = {
        DEFAULT: (single, whole),
        MAJORITY: (majority, whole),
        STANDS: (made.winner == best, stands),
    }
    for name, (right, which) in rows.items():
        estimate = share_of(right, which, made.unit, arm.unit_names, none="no_winner_stands")
        yield Row(
            "protocol_accuracy",
            estimate,
            {"protocol": name},
            counts={"n": int(which.sum()), "calls": p},
        )
    gains = np.where(whole, 100 * (majority - single), np.nan)
    rule = partial(Reach, 100.0, least=-100.0, most=100.0)
    gained = mean_over(gains, made.unit, arm.unit_names, rule)
    yield Row("gain_accuracy", gained, {"protocol": MAJORITY}, counts={"calls": p})
