"""What a check of the lab's own methods measures, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rubriclab.model.language import SOURCE, figure, language, msg, tr

Quantity = Literal["false effect", "false equivalent", "type-I error", "power", "coverage", "recovery"]
Way = Literal["pipeline", "arrays", "runs", "what pulls"]
Standing = Literal["holds", "cannot say", "misses", "not promised"]

LEVEL_RANGE, COVERAGE_RANGE = (0.03, 0.07), (0.93, 0.97)
ANY_ADVICE = msg("any advice of a run")
ANY_CHANGE = msg("any change that does nothing, in a run")
ANY_OF, ONE_READ = "any change of the ", "1 read of an order"
AT_LEAST = ", with what it holds with at once"
"""Of intervals that hold together with others: each by itself may hold more often than 95 %."""
CAREFUL = ", at least"
AT_LEAST_SINCE: Mapping[str, str] = {
    "position: bias_cost.without_noise.best": "its width is that of one third of the units, though splits are averaged",
    "position: bias_cost.without_noise.default": "its width is that of one third of the units, though splits are averaged",
    "position: bias_cost.without_noise.gain": "its width is that of one third of the units, though splits are averaged",
    "perturbation: most_stable.gain.estimate": "it holds whichever form is best, and no gain is below 0",
    "perturbation: best_agreement.gain.estimate": "it holds whichever form is best, and no gain is below 0",
    "alignment: reliability.enough": "it is a whole number of reads, and its ends are rounded up to one",
    "debiasing: nearer.estimate": "it is as wide as if the correction did nothing but err",
    "criteria: repeats.excess.estimate": "where few texts moved it is as wide as an exact bound of their share",
    "comparison: first_place.effect.estimate": "where few choices moved it is as wide as an exact bound of their share",
    "comparison: error": "a judge whose every reply can be read has a share of 0, which every interval from 0 up holds",
}
"""Of which intervals it is promised that they hold in 95 % of studies or more, and why not just so often."""


def loose(method: str) -> bool:
    """Whether an interval may hold more often than 95 % without breaking a promise."""
    return method.endswith((AT_LEAST, CAREFUL)) or method.startswith("advice: ")


ALL_JUDGES = msg("all families")
LAB_TEST = msg("average position effect (the lab's headline test)")
PAPERS_TEST = msg("chi² of pooled counts (as in the papers)")
ORDER_TEST = msg("any order sensitivity")
CHOICE_TEST = msg("position in the choice model")
DEFINITION = msg(
    "False effect, false equivalent: how often a run's advice says one of these although the truth "
    "is nothing, or twice the smallest effect of interest; at most 0.05. Type-I error: how often a "
    "test at 0.05 rejects although nothing is planted; it should be 0.05. Power: how often it "
    "rejects what is planted. Coverage: how often a 95 % interval holds the true value; it should be "
    "0.95. Recovery: mean estimate less what was planted. Each is an average over simulated studies, "
    "± its Monte Carlo standard error."
)


_FIELD = re.compile(r"(?!advice)[a-z_]+: [\w.]+")
"""A field of a run's findings, as “position: shift.mean”: the same in every language."""
_SIZE = re.compile(r"[+-]?\d+\.\d+")
PIECES = (
    msg("after the highest {size}"),
    msg("first {size}"),
    msg("label 1 {size}"),
    msg("true shift {size}"),
    msg("description length pulls {size} points"),
    msg("label pulls {size} points"),
    msg("one wording pulls {size} points"),
    msg("items lean"),
    msg("nothing pulls"),
    msg("no effect"),
    msg("no effect of criterion order"),
    msg("boundary"),
    msg("clustered"),
    msg("constant"),
    msg("latent trait"),
    msg("missing"),
    msg("mixed logit"),
    msg("ordinary"),
    msg("sharp"),
    msg("skewed"),
    msg("ties"),
    msg("two options"),
    msg("1 fixed against 10 balanced"),
    msg("10 fixed against 10 balanced"),
    msg("1 read of an order"),
    msg("2 reads of an order"),
    msg("pairs"),
    msg("both orders"),
    msg("one order twice"),
    msg("prompt forms"),
    msg("advice"),
    msg("“effect”"),
    msg("“equivalent”"),
    msg("best form"),
    msg("budget"),
    msg("consistency"),
    msg("criterion order"),
    msg("descending order"),
    msg("first place"),
    msg("form"),
    msg("letters"),
    msg("mean score"),
    msg("mitigation"),
    msg("one call"),
    msg("ranking"),
    msg("single items"),
    msg("single order"),
    msg("single scores"),
    msg("single texts"),
    msg("stable form"),
    msg("any change of the label"),
    msg("any change of the description length"),
    msg("any change of the one wording"),
    msg("description length"),
    msg("label"),
    msg("one wording"),
    msg("at least"),
    msg("with what it holds with at once"),
    msg("all changes that do nothing"),
    msg("at once"),
    msg("any change that does nothing"),
    msg("in a run"),
    msg("any advice of a run"),
    msg("on what is not moved or in the wrong direction"),
    msg("Friedman"),
    msg("any criterion after Holm"),
    msg("one criterion"),
    msg("carryover of a criterion"),
    msg("log-odds of label"),
    msg("log-odds of neighbour"),
    msg("log-odds of position"),
    msg("paired difference of r"),
    msg("share of a position"),
    msg("shift at a position"),
)
"""What the names of judges, designs and methods are put together of."""


def called(name: str) -> str:
    """The name of a judge, a design or a method of a check in the reader's language, piece by piece."""
    if language() == SOURCE:
        return name
    field = _FIELD.match(name)
    kept = field.group() if field else ""
    pieces = re.split("(: |, | · )", name.removeprefix(kept))
    return kept + "".join(part if at % 2 else _piece(part) for at, part in enumerate(pieces))


def _piece(piece: str) -> str:
    """A piece of a name, its size as the language writes numbers."""
    size = _SIZE.search(piece)
    if size is None:
        return tr(piece)
    form = "+g" if size.group()[0] in "+-" else "g"
    return tr(piece.replace(size.group(), "{size}"), size=figure(float(size.group()), form))


@dataclass(frozen=True)
class Planted:
    """What the simulated judge of the pipeline does wrong, in log-odds.

    ``first``, ``last``: for what stands first or last. ``label``: for the lowest label.
    ``neighbour``: for what follows the highest score. ``item_sd``: sd of each item's own
    leanings to positions, which cancel out over items. ``unread``: share of replies that
    cannot be read (0..1).
    """

    first: float = 0.5
    last: float = 0.0
    label: float = 0.0
    neighbour: float = 0.0
    item_sd: float = 0.0
    unread: float = 0.1

    def without_effects(self) -> Planted:
        """The same judge with no common effect: what type-I error is measured on."""
        return replace(self, first=0.0, last=0.0, label=0.0, neighbour=0.0)

    def options(self, n: int, seed: int) -> dict[str, Any]:
        """``Judge.options`` of the simulated judge over ``n`` score options."""
        return {
            "position": {"first": self.first, "last": self.last},
            "label": {"1": self.label} if self.label else {},
            "neighbour": {str(n): self.neighbour} if self.neighbour else 0.0,
            "item_position_sd": self.item_sd,
            "failures": {"unparsed": self.unread},
            "seed": seed,
        }


@dataclass(frozen=True)
class Check:
    """One measured property of a method. ``se``: Monte Carlo standard error of ``value``.

    ``accepted``: where the value should lie, None where nothing is promised (power; a test
    that is shown for comparison). ``standing``: whether it lies there; "cannot say" where it
    is outside by less than two errors, which more studies would settle. ``design``: what was
    asked, for checks of whole runs (way "runs").
    """

    quantity: Quantity
    method: str
    judge: str
    way: Way
    n_items: int
    n_options: int
    unread: float
    studies: int
    value: float
    se: float
    accepted: tuple[float, float] | None
    standing: Standing
    design: str = ""


@dataclass(frozen=True)
class CheckResult:
    """All checks of one call, with everything needed to repeat it."""

    checks: tuple[Check, ...]
    planted: Planted
    n_items: int
    n_options: int
    studies: int
    array_studies: int
    seed: int
    definition: str
    warnings: tuple[str, ...]


def check_of(row: Mapping[str, Any]) -> Check:
    """A check as :func:`rubriclab.findings.plain.plain` wrote it, read back."""
    given = dict(row)
    accepted = given.pop("accepted")
    numbers = {name: float("nan") if given[name] is None else given[name] for name in ("value", "se")}
    return Check(**{**given, **numbers, "accepted": tuple(accepted) if accepted else None})
