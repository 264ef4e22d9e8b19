"""What is found about who wins under two strategies of one judge."""

from __future__ import annotations

from dataclasses import dataclass

from rubriclab.model import Variant
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import Effect

MAX_LISTED = 500


@dataclass(frozen=True)
class Share:
    """A mean or share with its 95 % interval over prompts, out of ``n``."""

    value: float
    ci: Interval
    n: int


@dataclass(frozen=True)
class Flip:
    """A prompt whose winner changes. ``items``: run-wide codes of its candidates' items.

    ``margin``: by how much both sides together prefer their own winner, in score points.
    """

    prompt: str
    criterion: str | None
    winners_a: tuple[str, ...]
    winners_b: tuple[str, ...]
    items: tuple[int, ...]
    margin: float


@dataclass(frozen=True)
class Noise:
    """How often the winner changes, set against the judge's own noise, at ``reads`` an item.

    ``changed`` between the strategies and ``control`` between reads in the same orders (None
    where no order was read twice), among prompts where both sides name one winner: ``decided``
    of them on average over draws. ``p``: of exchanging reads of an item between the strategies.
    ``calls``: that a control would cost, where there is none. ``excess`` in percentage points of prompts.
    """

    reads: float
    changed: Share
    control: Share | None
    decided: float
    p: float
    calls: int
    excess: Effect


@dataclass(frozen=True)
class BestOf:
    """What a best-of-N choice is worth to humans under either strategy (mean over prompts).

    ``pick_change``: how often the pick differs when ties go to the first-listed candidate.
    ``gain``: human score of a's pick less that of b's; ``chance`` and ``best`` frame it.
    The human fields are None where no prompt is rated in full.
    """

    candidates: int
    pick_change: Share
    human_a: float | None
    human_b: float | None
    gain: Share | None
    chance: float | None
    best: float | None


@dataclass(frozen=True)
class RankReversal:
    """Strategy a against strategy b for one judge; ``code_a`` and ``code_b`` are their arms.

    ``prompts`` were compared; ``excluded`` of them have no tau because a side ties all its
    candidates (they stay in the flip shares, where all then win); ``too_few`` were not
    compared for want of two candidates scored on both sides. ``noise``: what of it is the
    order's; ``top1_flip``: the paper's count over all reads, noise included. ``flips`` lists up to
    MAX_LISTED prompts, clearest first; ``flip_count`` is how many there are.
    """

    judge: str
    dataset: str
    variant: Variant
    a: str
    b: str
    code_a: int
    code_b: int
    noise: Noise
    kendall_tau: Share
    top1_flip: Share
    top1_flip_strict: Share
    prompts: int
    excluded: int
    too_few: int
    best_of: BestOf
    flip_count: int
    flips: tuple[Flip, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class RankingResult:
    """Every two strategies of every judge."""

    pairs: tuple[RankReversal, ...]
    seed: int
    warnings: tuple[str, ...]
