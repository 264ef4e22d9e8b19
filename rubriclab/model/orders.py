"""Choose the orders in which the options (or criteria) of an item are shown."""

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rubriclab.model.text import LabError, count

Shown = TypeVar("Shown", int, str)
MAX_CALLS = 1_000
"""The most calls per item that a study may ask for."""
RANDOM_CALLS = 10
"""Random orders per item where the design gives no number: as many as balanced orders of five."""
ALL_WITHOUT_ASKING = 4
"""Options up to which all orders (24) are asked without a number of calls: five have 120."""


def rotations(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return the n cyclic rotations: each option at each position once.

    Source, for candidates: Shi et al., section 2.1.
    """
    line = tuple(options)
    return [line[shift:] + line[:shift] for shift in range(len(line))]


def balanced(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return n rotations and n rotations of the reverse: each option at each position twice.

    Source: Xu et al. v2, section 3.1.

    Two options have two distinct orders.
    """
    lines = tuple(options), tuple(options)[::-1]
    return list(
        dict.fromkeys(line[shift:] + line[:shift] for line in lines for shift in range(len(line)))
    )


def williams(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return a Williams (1949) square: balanced for position and for the option just before.

    n rows for even n, 2n for odd: the zigzag 0, 1, n-1, 2, n-2, ... shifted through all residues,
    and its mirror image where n is odd.
    """
    line = tuple(options)
    n: int = len(line)
    zigzag = [0, *((step + 1) // 2 if step % 2 else n - step // 2 for step in range(1, n))]
    rows = [tuple(line[(start + shift) % n] for start in zigzag) for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


def even_orders(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return the orders that an even number of swaps makes: half of all, the default first.

    Of four options these are 12, the fewest in which every pair is equally often at every pair of
    positions (the alternating group is sharply 2-transitive on four). So what is at one position
    says as little as can be of what is at another.
    """
    line = tuple(options)
    places = range(len(line))
    orders = []
    for order in itertools.permutations(places):
        swaps = sum(order[a] > order[b] for a in places for b in range(a + 1, len(line)))
        if swaps % 2 == 0:
            orders.append(tuple(line[place] for place in order))
    return orders


def orders_of_examples(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return the balanced orders of examples.

    With two or three these are all orders. With four, rotations would have the same two examples at
    opposite positions in every order, so that nobody could say which position a score follows:
    therefore ``even_orders``. With more, rotations tell positions apart well enough.
    """
    return even_orders(options) if len(options) == 4 else balanced(options)


def one_order(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return the default order alone."""
    return [tuple(options)]


def reversed_order(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return the default order reversed, alone."""
    return [tuple(options)[::-1]]


def all_orders(options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
    """Return all n! orders."""
    return list(itertools.permutations(options))


@dataclass(frozen=True)
class StrategyAbout:
    """One ordering strategy, as study files, forms and plans know it.

    name: in study files.
    title, caption: its label and help in Set up.
    orders: makes its orders of a list; None where they are drawn or listed.
    even: whether each option is at each position equally often, at least on average.
    drawn: whether its orders come from the seed.
    listed: whether its orders come from the user.
    """

    name: str
    title: str
    caption: str
    orders: Callable[[Sequence], list] | None = None  # type: ignore[type-arg]
    even: bool = False
    drawn: bool = False
    listed: bool = False


STRATEGIES: dict[str, StrategyAbout] = {
    strategy.name: strategy
    for strategy in (
        StrategyAbout(
            "balanced",
            "Balanced",
            "Every option at every position equally often: all rotations, forwards and backwards.",
            balanced,
            even=True,
        ),
        StrategyAbout(
            "random", "Random", "Orders drawn at random for each answer.", even=True, drawn=True
        ),
        StrategyAbout("fixed", "Fixed", "The default order again and again.", one_order),
        StrategyAbout("descending", "Descending", "The default order reversed.", reversed_order),
        StrategyAbout(
            "williams",
            "Williams",
            "Balanced for the position and for what stands just before.",
            williams,
            even=True,
        ),
        StrategyAbout("all", "All", "Every possible order.", all_orders, even=True),
        StrategyAbout(
            "min-bias",
            "Least biased",
            "One order that an earlier run found to be least biased.",
            listed=True,
        ),
        StrategyAbout("custom", "My own orders", "Orders that you write down.", listed=True),
    )
}
"""All strategies, by name. A new one is a function and an entry here."""


def known_strategy(name: str) -> str:
    """Return the name of a strategy. Raises ValueError that lists all, where there is none."""
    if name not in STRATEGIES:
        *names, last = [f"'{known}'" for known in STRATEGIES]
        raise ValueError(f"input should be {', '.join(names)} or {last}")
    return name


@dataclass(frozen=True)
class Strategy:
    """How the orders of an item are chosen.

    ``repeats``: how often each order is asked; ``calls``: calls an item with repeats in, instead;
    ``orders``: of ``custom`` and ``min-bias``, as score numbers, criterion names or 1-based
    indexes.
    """

    kind: str
    name: str
    repeats: int = 2
    calls: int | None = None
    orders: tuple[tuple[int | str, ...], ...] = ()

    @property
    def drawn(self) -> bool:
        return STRATEGIES[self.kind].drawn

    def asked(
        self, options: Sequence[Shown], *, seed: int = 0, item_id: str = ""
    ) -> list[tuple[Shown, ...]]:
        """Return the order of every call of one item, in the design's own order.

        Raises LabError for a number of calls that the strategy cannot have, and for orders that are
        none.
        """
        about = STRATEGIES[self.kind]
        if self.calls is not None and not 1 <= self.calls <= MAX_CALLS:
            raise LabError(
                f"[design] calls of “{self.name}” is {self.calls}; expected 1 to {MAX_CALLS:,}."
            )
        if (
            self.kind == "all"
            and len(options) > ALL_WITHOUT_ASKING
            and self.calls != math.factorial(len(options))
        ):
            needed = math.factorial(len(options))
            ask = (
                f"Set calls = {needed} to ask for that, or choose"
                if needed <= MAX_CALLS
                else "Choose"
            )
            raise LabError(
                f"“All” shows {len(options)} options in {needed:,} orders an answer. {ask} "
                f"balanced or random orders."
            )
        if about.drawn:
            # random.sample of a seeded generator: the same orders on every machine and processor.
            wanted = self.calls or RANDOM_CALLS
            seeded = hashlib.sha256(f"{seed}|{item_id}".encode("utf-8", "surrogatepass")).digest()
            rng = random.Random(int.from_bytes(seeded[:8], "big"))
            return [tuple(rng.sample(tuple(options), len(options))) for _ in range(wanted)]
        orders = self._listed(options) if about.orders is None else about.orders(options)
        if self.calls is None:
            return orders * self.repeats
        if self.calls % len(orders):
            below = max(1, self.calls // len(orders)) * len(orders)
            raise LabError(
                f"“{self.name}” shows {count(len(orders), 'order')} and cannot ask each equally "
                f"often in {self.calls} "
                f"calls; use {below} or {below + len(orders)}, or random orders."
            )
        return orders * (self.calls // len(orders))

    def _listed(self, options: Sequence[Shown]) -> list[tuple[Shown, ...]]:
        if not self.orders:
            raise LabError(
                f"“{self.name}” lists no orders; give at least one, as orders = [[5, 4, 3, 2, 1]]."
            )
        known = {str(option): option for option in options}
        out = []
        for order in self.orders:
            shown = tuple(known[str(name)] for name in order if str(name) in known)
            if len(order) != len(options) or len(set(shown)) != len(options):
                raise LabError(
                    f"“{self.name}” has the order {list(order)}; expected each of {list(options)} "
                    f"exactly once."
                )
            out.append(shown)
        return out
