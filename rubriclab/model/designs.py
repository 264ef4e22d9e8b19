"""Which orderings an item is judged under, and how balanced they are (method: section 2)."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from rubriclab.model.faults import StudyError
from rubriclab.model.language import msg, tr
from rubriclab.model.study import Strategy, StrategyKind
from rubriclab.model.wording import many

Option = TypeVar("Option", int, str)
MAX_READS = 10_000
"""The most reads, or repeats, of one item that are planned."""
ALL_LIMIT = 5
"""The largest n for which every one of the n! orderings is offered (120 reads an item)."""


def orderings(
    strategy: Strategy, options: Sequence[Option], *, seed: int = 0, item_id: str = "", rotations_only: bool = False
) -> tuple[tuple[Option, ...], ...]:
    """The K orderings of ``options`` (in canonical order) that one item is read under.

    ``seed`` and ``item_id`` decide the draws of ``random`` (``item_id`` is left out of it
    for a shared draw). ``rotations_only`` leaves the reversed half out of ``balanced``: the
    design of pairwise and list-wise comparison. Raises StudyError where the strategy cannot
    be built for this many options or reads.
    """
    canonical = tuple(options)
    scheme = STRATEGIES[strategy.kind](
        strategy, len(canonical), rotations_only=rotations_only, seed=seed, item_id=item_id
    )
    reads = scheme.reads
    return tuple(itertools.islice(itertools.cycle(scheme.orders(canonical)), reads))


def n_reads(strategy: Strategy, n: int, *, rotations_only: bool = False) -> int:
    """K for this strategy and ``n`` options. Raises StudyError for a K it cannot have."""
    return STRATEGIES[strategy.kind](strategy, n, rotations_only=rotations_only).reads


def rotations(options: Sequence[Option]) -> tuple[tuple[Option, ...], ...]:
    """The n forward cyclic rotations: each option at each position once."""
    line = tuple(options)
    return tuple(line[shift:] + line[:shift] for shift in range(len(line)))


def williams(options: Sequence[Option]) -> tuple[tuple[Option, ...], ...]:
    """A Williams square: balanced for position and for the option read just before.

    n rows for even n, 2n for odd (Williams 1949): the zigzag 0, 1, n-1, 2, n-2, ... shifted
    through all residues, with its mirror image where n is odd.
    """
    line = tuple(options)
    n = len(line)
    zigzag = [0]
    for step in range(1, n):
        zigzag.append((step + 1) // 2 if step % 2 else n - step // 2)
    rows = tuple(tuple(line[(start + shift) % n] for start in zigzag) for shift in range(n))
    return rows if n % 2 == 0 else rows + tuple(row[::-1] for row in rows)


@dataclass(frozen=True)
class Balance:
    """How often each option stood at each position and right after each other option.

    ``exposure[o][p]`` and ``follows[a][b]`` (b directly before a) count reads; options are
    in canonical order. ``pair_balanced`` is None where no two options are ever adjacent.
    """

    options: tuple[int | str, ...]
    reads: int
    distinct: int
    exposure: tuple[tuple[int, ...], ...]
    follows: tuple[tuple[int, ...], ...]

    @property
    def position_balanced(self) -> bool:
        return len({count for row in self.exposure for count in row}) == 1

    @property
    def neighbour_balanced(self) -> bool:
        return len({c for a, row in enumerate(self.follows) for b, c in enumerate(row) if a != b}) == 1

    def sentence(self) -> str:
        if self.position_balanced and self.neighbour_balanced:
            return tr("Each option is at each position, and right after each other option, equally often.")
        if self.position_balanced:
            return tr("Each option is at each position equally often; neighbours are not balanced.")
        if self.distinct == 1:
            return tr("One order only: position and option cannot be told apart here.")
        return tr("Positions are not exactly balanced; tables divide by how often each was shown.")


def balance(options: Sequence[int | str], shown: Sequence[Sequence[int | str]]) -> Balance:
    """The balance check of a design: exposure counts of the orderings ``shown``."""
    index = {option: i for i, option in enumerate(options)}
    n = len(index)
    exposure = [[0] * n for _ in range(n)]
    follows = [[0] * n for _ in range(n)]
    for ordering in shown:
        for position, option in enumerate(ordering):
            exposure[index[option]][position] += 1
            if position:
                follows[index[option]][index[ordering[position - 1]]] += 1
    return Balance(
        options=tuple(options),
        reads=len(shown),
        distinct=len({tuple(o) for o in shown}),
        exposure=tuple(map(tuple, exposure)),
        follows=tuple(map(tuple, follows)),
    )


# ---------------------------------------------------------------- the strategies


@dataclass(frozen=True)
class Scheme(ABC):
    """A strategy for ``n`` options: its orders, how many reads it takes, what it is called.

    ``varies``: its reads show an item in different orders on purpose, so that the pull of a
    position can be told from that of an option. ``drawn``: its orders come from the seed.
    ``listed``: its orders are written down in the strategy. ``offered``: a form lists it.
    """

    strategy: Strategy
    n: int
    rotations_only: bool = False
    seed: int = 0
    item_id: str = ""

    title: ClassVar[str]
    about: ClassVar[str]
    varies: ClassVar[bool] = True
    drawn: ClassVar[bool] = False
    listed: ClassVar[bool] = False
    offered: ClassVar[bool] = True

    @abstractmethod
    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        """The orderings that it goes through before it starts again."""

    @property
    def step(self) -> int:
        """The number of reads that keeps the strategy's promise: K must be a multiple."""
        return 1

    @property
    def default_reads(self) -> int:
        """K where the study names none: the balanced design's, so that budgets match."""
        return self.n if self.rotations_only else 2 * self.n

    @property
    def reads(self) -> int:
        """K. Raises StudyError for one that the strategy cannot have."""
        step, name = self.step, self.strategy.name
        reads = self.default_reads if self.strategy.reads is None else self.strategy.reads
        if reads < 1:
            raise StudyError(tr("Strategy “{name}” has reads = {reads}; give at least 1.", name=name, reads=reads))
        if reads > MAX_READS:
            raise StudyError(
                tr(
                    "Strategy “{name}” has reads = {reads:,}; at most {most:,} are planned.",
                    name=name,
                    reads=reads,
                    most=MAX_READS,
                )
            )
        if reads % step:
            raise StudyError(
                tr(
                    "Strategy “{name}” with {n} options needs a multiple of {step} reads to stay balanced, not "
                    "{reads}. Use {below} or {above}, or the strategy “random”.",
                    name=name,
                    n=self.n,
                    step=step,
                    reads=reads,
                    below=max(1, reads // step) * step,
                    above=(reads // step + 1) * step,
                )
            )
        return reads


class Balanced(Scheme):
    """All rotations, forwards and (but for comparisons) of the reverse."""

    title = msg("Balanced")
    about = msg("Every rotation, forwards and reversed: each option at each place equally often.")

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        forward = rotations(canonical)
        return forward if self.rotations_only else forward + rotations(canonical[::-1])

    @property
    def step(self) -> int:
        return self.n


class Fixed(Scheme):
    title = msg("Fixed")
    about = msg("The given order again and again: the judge's own noise, to compare with.")
    varies = False

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return (canonical,)


class Descending(Scheme):
    title = msg("Descending")
    about = msg("The reverse order again and again.")
    varies = False

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return (canonical[::-1],)


class Random(Scheme):
    """Orders drawn for each item, or once for all items."""

    title = msg("Random")
    about = msg("Orders drawn at random, by the seed.")
    drawn = True

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        item_id = "" if self.strategy.shared else self.item_id
        digest = hashlib.sha256(f"{self.seed}|{item_id}".encode()).digest()
        rng = random.Random(int.from_bytes(digest[:8], "big"))
        return tuple(tuple(rng.sample(canonical, len(canonical))) for _ in range(self.reads))


class Williams(Scheme):
    """A Williams square (see :func:`williams`)."""

    title = msg("Williams")
    about = msg("Balanced for place and for what stands just before.")

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return williams(canonical)

    @property
    def step(self) -> int:
        return self.n if self.n % 2 == 0 else 2 * self.n

    @property
    def default_reads(self) -> int:
        return self.step


class Every(Scheme):
    title = msg("All")
    about = msg("Each of the n! orders, up to n = 5.")  # ALL_LIMIT

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return tuple(itertools.permutations(canonical))

    @property
    def step(self) -> int:
        count = math.factorial(self.n)
        if self.n > ALL_LIMIT:
            raise StudyError(
                tr(
                    "Strategy “{name}” would take {n}! = {reads} an item; it is offered up to {most} options. "
                    "Use “balanced” or “random”.",
                    name=self.strategy.name,
                    n=self.n,
                    reads=many(count, "read"),
                    most=ALL_LIMIT,
                )
            )
        return count

    @property
    def default_reads(self) -> int:
        return self.step


class Ends(Scheme):
    """Ascending and descending in turn: the two orders that are farthest apart, on a scale of any size."""

    title = msg("Both ends")
    about = msg("Ascending and descending in turn: the two orders that are farthest apart.")
    offered = False

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return canonical, canonical[::-1]

    @property
    def step(self) -> int:
        return 2

    @property
    def default_reads(self) -> int:
        return 2


class Listed(Scheme):
    """The orders that the strategy lists, in turn."""

    title = msg("Your own")
    about = msg("Orders you write down.")
    listed = True

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return tuple(_checked(self.strategy, line, canonical) for line in self.strategy.orderings)

    @property
    def step(self) -> int:
        if not self.strategy.orderings:
            raise StudyError(
                tr(
                    "Strategy “{name}” lists no orderings; give at least one, for example [[1, 2, 3, 4, 5]].",
                    name=self.strategy.name,
                )
            )
        return 1 if self.strategy.reads is not None else len(self.strategy.orderings)

    @property
    def default_reads(self) -> int:
        return len(self.strategy.orderings)


class LeastBiased(Listed):
    """Listed orders that were chosen so that the judge's own leanings cancel."""

    title = msg("Minimum bias")
    about = msg("Orders chosen from a run, so that the judge's own leanings cancel.")
    varies = False
    offered = False


def _checked(strategy: Strategy, ordering: Sequence[int | str], canonical: tuple[Option, ...]) -> tuple[Option, ...]:
    by_text = {str(option): option for option in canonical}
    shown = tuple(by_text[str(o)] for o in ordering if str(o) in by_text)
    if len(ordering) != len(canonical) or set(shown) != set(canonical):
        raise StudyError(
            tr(
                "Strategy “{name}” has the ordering {shown}; expected each of {options} exactly once.",
                name=strategy.name,
                shown=list(ordering),
                options=list(canonical),
            )
        )
    return shown


STRATEGIES: Mapping[StrategyKind, type[Scheme]] = {
    "balanced": Balanced,
    "fixed": Fixed,
    "descending": Descending,
    "random": Random,
    "williams": Williams,
    "all": Every,
    "ends": Ends,
    "custom": Listed,
    "min-bias": LeastBiased,
}
"""Every strategy, in the order in which forms offer them. A new one is a Scheme and a line here,
and a word in ``model.StrategyKind``."""
