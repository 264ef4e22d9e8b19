"""What a generalisability study says: parts of the variance, designs, the best mix of a budget."""

from __future__ import annotations

from dataclasses import dataclass, field

from rubriclab.findings.facets import Facet
from rubriclab.findings.generalisability_words import term_words
from rubriclab.model.language import tr
from rubriclab.model.wording import listed, many
from rubriclab.stats.inference import Interval
from rubriclab.stats.variance_components import Components, FacetSet

FEWEST_UNITS = 20
"""With fewer units no share and no coefficient has an interval: at 15 items they held in as few as 82 % of studies."""
FEW = 5
"""Below so many levels a facet's own variance says nothing of other levels: of L - 1 degrees of
freedom it has, at L = 4, a 95 % interval from a third to 14 times itself."""


@dataclass(frozen=True)
class Source:
    """One thing that scores vary with. ``variance``: in squared points, as estimated: chance may put
    it below 0, which counts as 0 in all else. ``share``: of the total, with its 95 % interval for
    items like these and the levels of this run; ``why``: none is given."""

    key: str
    name: str
    variance: float
    share: float
    share_ci: Interval
    why: str = ""

    @property
    def term(self) -> str:
        """Its key as a reader is told it."""
        return term_words(self.key)


@dataclass(frozen=True)
class Plan:
    """A mean over so many levels of each facet. ``relative``: its generalisability coefficient,
    ``absolute``: its index of dependability; ``calls``: an item; ``fixed``: facets of which only
    the levels of this run count; ``beyond``: facets of which it has more than were read, so that it
    takes others to be like these."""

    key: str
    name: str
    numbers: tuple[tuple[str, int], ...]
    fixed: tuple[str, ...]
    calls: int
    relative: float
    relative_ci: Interval
    absolute: float
    absolute_ci: Interval
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True)
class Best:
    """The most reliable mix of at most ``calls`` an item; ``open``: mixes not told apart from it."""

    calls: int
    best: Plan
    open: tuple[str, ...]


@dataclass(frozen=True)
class GStudy:
    """The study of some judges (or of ``people``) on one data set, scale and setting.

    ``facets``: the item first, then what varied; ``alone``: what has one level; ``orders``: how many
    there can be; ``plans``: one call and the run's own design; ``parts``: what any other design
    follows from (None where nothing can be said). ``unfinished``: why no mix is recommended yet.
    """

    judges: tuple[str, ...]
    people: bool
    dataset: str
    axis: str
    variant: str
    simulated: bool
    facets: tuple[Facet, ...]
    alone: tuple[str, ...]
    n_items: int
    n_units: int
    unit: str
    n_reads: int
    left_out: int
    repeated: int
    orders: int
    sd: float
    sources: tuple[Source, ...]
    plans: tuple[Plan, ...]
    budgets: tuple[Best, ...]
    warnings: tuple[str, ...]
    parts: Components | None = field(repr=False, default=None)
    unfinished: str = ""

    @property
    def name(self) -> str:
        who = many(len(self.judges), "judge") if len(self.judges) > 2 else listed(self.judges)
        who = tr("people") if self.people else who
        return " · ".join(filter(None, (who, self.dataset, self.variant)))

    @property
    def numbered(self) -> tuple[str, ...]:
        """What a design has numbers of: every facet but the item, and the repeat where it is known."""
        repeat = ("repeat",) if self.parts is not None and self.parts.noisy else ()
        return (*(one.key for one in self.facets[1:]), *repeat)

    def fixed(self, keys: tuple[str, ...]) -> FacetSet:
        return frozenset(place for place, one in enumerate(self.facets) if one.key in keys)


@dataclass(frozen=True)
class Generalisability:
    """Every study of a run: all judges together, each alone, and the people."""

    studies: tuple[GStudy, ...]
