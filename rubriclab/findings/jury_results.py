"""What is found of a jury: how its judges' errors hang together, every mix measured, the mix to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rubriclab.model.wording import many
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import Effect

Target = Literal["people", "panel"]
"""What a mix is held against: the mean rating of people, or the mean of all judges in all orders."""


@dataclass(frozen=True)
class Together:
    """Correlation of two judges' order errors in the same orders, with its 95 % interval."""

    one: str
    other: str
    correlation: float
    correlation_ci: Interval


@dataclass(frozen=True)
class Errors:
    """How the errors of two reads of a text correlate, each with its 95 % interval; NaN where it is not known.

    ``within``: of one judge in two orders; ``same``: of two judges in one order; ``other``: of two judges
    in two orders. Errors: what of a score a line on people's ratings does not give.
    """

    within: float
    within_ci: Interval
    same: float
    same_ci: Interval
    other: float
    other_ci: Interval


@dataclass(frozen=True)
class Mix:
    """Some judges, each in so many orders, on texts that did not choose it.

    ``shared``: all of them in the same orders, else each in orders of its own. ``calls`` an item; ``cost`` of
    an item in the budget's unit. ``error``: root mean square in points of what a line on its mean does not
    give of the target; ``agreement``: Pearson's r with the target; ``votes``: single reads that err
    independently and are worth as much. Of mixes cheaper than the best: ``distance`` from it, root of the added
    mean square in points; ``bound``: its upper end with all that are tested; ``not_worse``: below the margin.
    """

    name: str
    judges: tuple[str, ...]
    orders: int
    shared: bool
    calls: int
    cost: float
    error: float
    error_ci: Interval
    agreement: float
    agreement_ci: Interval
    votes: float
    distance: float
    bound: float
    affordable: bool
    not_worse: bool


@dataclass(frozen=True)
class Measured:
    """Mixes held against one target. ``best``, ``chosen``, ``single``, ``several``: places in ``mixes`` of the best
    within the budget, of the cheapest not worse than it, of the best of one judge, of the best jury; None
    where there is none. ``gain``: r of the best jury less that of the best judge alone. ``why``: no mix is
    recommended. ``n_items``, ``n_units``: that measure; ``n_choosing``: items that chose."""

    target: Target
    mixes: tuple[Mix, ...]
    best: int | None
    chosen: int | None
    single: int | None
    several: int | None
    gain: Effect
    tested: int
    margin: float
    n_items: int
    n_units: int
    n_choosing: int
    why: str


@dataclass(frozen=True)
class JuryOf:
    """One data set, scale and setting. ``orders``: read of each text by each judge. ``order_errors``: how order
    errors of all judges in the same orders correlate on average; ``order_votes``: what one read of each
    judge in the same order is worth, in reads whose order errors are independent. ``money``: the budget is
    in money for 1,000 items, else in calls an item. ``expected``: scores are expected scores."""

    dataset: str
    axis: str
    variant: str
    simulated: bool
    judges: tuple[str, ...]
    arms: tuple[int, ...]
    orders: int
    aligned: bool
    expected: bool
    n_items: int
    n_units: int
    unit: str
    left_out: int
    budget: float
    money: bool
    pairs: tuple[Together, ...]
    order_errors: float
    order_errors_ci: Interval
    order_votes: float
    errors: Errors | None
    targets: tuple[Measured, ...]
    warnings: tuple[str, ...]

    @property
    def name(self) -> str:
        return " · ".join(filter(None, (many(len(self.judges), "judge"), self.dataset, self.variant)))

    @property
    def people(self) -> Measured | None:
        return next((one for one in self.targets if one.target == "people"), None)


@dataclass(frozen=True)
class Jury:
    """Every jury that a run holds."""

    juries: tuple[JuryOf, ...]
