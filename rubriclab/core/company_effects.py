"""Compare all criteria in one call with each by itself, and decide what the company changes.

Scores of one call share its mood, so whole calls are dealt and never single scores: the j-th call
of each criterion by itself is one vector, and the vectors of a text are dealt over the two ways to
ask. The mean over criteria hides criteria that move apart, so the gate has a direction of its own
for them, and behind it each criterion has a verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.core.cells import Answers, from_arms
from rubriclab.core.fairness import constraint_reason
from rubriclab.core.judgments import Arm, grouped, widest
from rubriclab.core.permutation import ALPHA, Gate, centred, deal, standardised, together
from rubriclab.core.variant_effects import FormCards, calls_to_deal
from rubriclab.core.verdict import MeanVerdict, SingleVerdict, Terms, Verdicts, decide
from rubriclab.model.study import Smallest
from rubriclab.stats.resample import Floats, Ints, rank_within
from rubriclab.stats.tests import holm

ALONE, TOGETHER = 0, 1
"""The two ways to ask, as the two orders of ``Answers``."""
WEIGHTS = {"mean": 0.35, "criteria": 0.35, "single": 0.15, "moves": 0.15}
"""The share of the 5% for each direction: the mean over criteria, the mean of each criterion, each
text's scores, each text's means. Chosen by simulation: ``docs/method-check.md``."""
MOST_LEFT_OUT = 0.05
"""From this share of calls without all scores on, results carry a caution."""


@dataclass(frozen=True)
class Company:
    """What scoring all criteria in one call changes, for one judge on one data set.

    together: the arms that score all criteria in one call. alone: the arm that scores each by
    itself. names: of the criteria. verdicts: about the mean over criteria and single scores;
    criteria: about the mean of each criterion, in the order of ``names``, which share 5% by Holm's
    rule behind the gate. texts: compared, in both ways. left_out: the share of vectors of scores
    that lack one, alone and together.
    """

    together: tuple[Arm, ...]
    alone: Arm
    names: tuple[str, ...]
    verdicts: Verdicts
    criteria: tuple[MeanVerdict, ...]
    texts: int
    left_out: tuple[float, float]

    @property
    def mean(self) -> MeanVerdict:
        verdict = self.verdicts.mean
        assert verdict is not None  # scores have a mean
        return verdict

    @property
    def single(self) -> SingleVerdict:
        verdict = self.verdicts.single
        assert verdict is not None  # every form has this question
        return verdict

    @property
    def named(self) -> tuple[int, ...]:
        """The criteria whose means surely differ, as indexes of ``names``."""
        return tuple(k for k, verdict in enumerate(self.criteria) if verdict.above_zero)


def pairs_of_ways(arms: Sequence[Arm]) -> list[tuple[tuple[Arm, ...], Arm]]:
    """Return, for each judge and data set, the arms of all criteria in one call, and the one of
    each by itself.

    Texts with other criteria make another pair.
    """
    made = []
    for group in grouped(arms, lambda about: (about.judge, about.dataset, about.reorder)):
        alone = [arm for arm in group if arm.condition.asked_alone]
        if group[0].condition.reorder != "criteria" or not alone:
            continue
        joint = [arm for arm in group if arm.condition.joint]
        for same in grouped(joint, lambda about: (about.targets, about.variant_key)):
            made.append((tuple(same), alone[0]))
    return made


def company_effects(arms: Sequence[Arm], smallest: Smallest) -> list[Company]:
    """Return what company changes, for each judge and data set that was asked in both ways.

    Each is computed once for the same arms: rows, sentences and pictures all ask for it.
    """
    made = []
    for joint, alone in pairs_of_ways(arms):
        known, key = joint[0].made, ("company", smallest.model_dump_json())
        if key not in known:
            known[key] = _compared(joint, alone, smallest)
        made.append(known[key])
    return made


def _compared(joint: tuple[Arm, ...], alone: Arm, smallest: Smallest) -> Company:
    answers, left_out = both_ways(joint, alone)
    alpha = min(arm.alpha for arm in (*joint, alone))
    verdicts, criteria = decide_company(answers, smallest, alpha)
    return Company(
        together=joint,
        alone=alone,
        names=joint[0].condition.targets,
        verdicts=replace(verdicts, condition=widest(joint).code),
        criteria=criteria,
        texts=verdicts.items,
        left_out=left_out,
    )


# ------------------------------------------------------------------------------------ the vectors
def both_ways(joint: Sequence[Arm], alone: Arm) -> tuple[Answers, tuple[float, float]]:
    """Return the vectors of both ways as answers in two orders, and the share that was left out.

    Order 0: each criterion by itself. Order 1: all in one call, in the orders that the verdicts
    about orders use. A vector holds the score of each criterion; one that lacks a score is left
    out.
    """
    first = joint[0]
    names = first.condition.targets
    together_ = from_arms(joint)
    assert together_.item_code is not None  # made of a run
    item, code = vectors_alone(alone, names)
    place = np.full(len(first.run.items), -1)
    place[together_.item_code] = np.arange(len(together_.item_code))
    text = place[item]
    code, text = code[text >= 0], text[text >= 0]
    lost = float(1 - together_.parsed.mean()) if len(together_.parsed) else 0.0
    lost_alone = float((code < 0).any(axis=1).mean()) if len(code) else 0.0
    answers = with_vectors(together_, text, code)
    unsure = constraint_reason([*joint, alone])
    return replace(answers, unsure=unsure), (lost_alone, lost)


def with_vectors(together_: Answers, text: Ints, code: Ints) -> Answers:
    """Return calls about all criteria, and vectors of calls about each by itself, in two orders.

    text: (vectors,) the item of ``together_`` that each vector is about. code: (vectors, criteria)
    -1 where a score is lost. All orders of the criteria count as one, and calls that lack a score
    are left out.
    """
    text, code = regrouped(text, code)
    parsed = together_.parsed
    calls = np.bincount(together_.item[parsed], minlength=len(together_.unit))
    kept = as_many(text, calls)
    n = code.shape[1]
    return replace(
        together_,
        item=np.concatenate([text[kept], together_.item[parsed]]),
        order=np.repeat([ALONE, TOGETHER], [len(kept), int(parsed.sum())]),
        code=np.concatenate([code[kept], together_.code[parsed]]),
        orders=np.stack([np.arange(n)[::-1], np.arange(n)]),
        drawn=False,
    )


def vectors_alone(alone: Arm, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the text (its first item in the run) and the scores of each vector of single calls.

    The scores are codes, (vectors, criteria), -1 where a reply has none. The j-th calls of a text's
    criteria make one vector.
    """
    item = alone.item_code[alone.item]
    text = alone.run.text_of_item[item]
    of_target = np.array([names.index(name) if name in names else -1 for name in alone.names])
    column = of_target[alone.target[alone.item]]
    known = column >= 0
    vectors, row = np.unique(
        np.column_stack([text, alone.repeat.astype(np.int64)])[known], axis=0, return_inverse=True
    )
    code = np.full((len(vectors), len(names)), -1)
    code[row.ravel(), column[known]] = np.where(alone.ok, alone.score, -1)[known]
    return vectors[:, 0], code


def regrouped(text: Ints, code: Ints) -> tuple[Ints, Ints]:
    """Return complete vectors, made of each criterion's scores of a text in the order of its calls.

    Calls about one criterion by itself are independent of those about another, so a lost score
    costs one vector of the text and not one for each criterion.
    """
    order = np.argsort(text, kind="stable")
    text, code = text[order], code[order]
    packed = np.full_like(code, -1)
    for column in range(code.shape[1]):
        kept = np.flatnonzero(code[:, column] >= 0)
        row = np.searchsorted(text, text[kept]) + rank_within(text[kept])
        packed[row, column] = code[kept, column]
    complete = (packed >= 0).all(axis=1)
    return text[complete], packed[complete]


def as_many(text: Ints, calls: Ints) -> Ints:
    """Return indexes of at most ``calls[t]`` vectors of each text t.

    Scores of one call vary together, so their mean may vary more than that of single calls. A deal
    over more single calls than joint ones would take that for an effect.
    """
    return np.flatnonzero(rank_within(text) < calls[text])


# -------------------------------------------------------------------------------------- the gate
@dataclass(frozen=True, eq=False)
class VectorCards(FormCards):
    """Vectors of scores that are dealt over the two ways to ask, within their text.

    value: the points of each criterion first, then which score each criterion got.
    criteria: how many there are.
    """

    criteria: int = 1

    @property
    def width(self) -> int:
        """How many numbers ``sums`` gives."""
        return 3 * self.criteria

    def sums(self, seats: Ints, dealt: Ints) -> Floats:
        """(deals, texts, 3 x criteria): each criterion's difference together - alone, then their
        squares, then the squared differences of shares.
        """
        other = np.append(self.contrast[:, 0], 0)[seats]
        value = np.pad(self.value, ((0, 1), (0, 0)))
        differences = np.stack(
            [(column[dealt] * other).sum(axis=-1) for column in np.ascontiguousarray(value.T)],
            axis=-1,
        )
        points, shares = np.split(differences, [self.criteria], axis=-1)
        return np.concatenate([points, np.square(points), self._by_criterion(shares)], axis=-1)

    def _by_criterion(self, shares: Floats) -> Floats:
        """Return the sums of squares over the scores of each criterion: (..., criteria)."""
        scores = shares.shape[-1] // self.criteria
        squares = np.square(shares).reshape(*shares.shape[:-1], self.criteria, scores)
        return np.asarray(squares.sum(axis=-1))

    def expected(self, seats: Ints) -> Floats:
        """(3 x criteria,): the mean over all deals of the sums of these texts."""
        seated = seats[seats < len(self.group)]
        chance = np.broadcast_to(self.chance, len(self.group))[seated]
        points, shares = np.split(self.value[seated], [self.criteria], axis=-1)
        squares = [
            (part * chance[:, None]).sum(axis=0)
            for part in (np.square(points), self._by_criterion(shares))
        ]
        return np.concatenate([np.zeros(self.criteria), *squares])


def company_gate(answers: Answers, weights: Mapping[str, float] = WEIGHTS) -> Gate:
    """Test exactly "no text's scores depend on whether its criteria share a call".

    Directions: the mean difference over criteria; the sum over criteria of their squared mean
    differences, each in standard deviations of the deals, in which criteria that move apart do not
    cancel; the largest over criteria of each text's squared differences of shares; and of means.

    Of the squares the largest is taken, and not the sum: if the scores of one call share a mood and
    those of single calls do not, the sum over criteria varies more than its deals do (in simulated
    studies without any difference it rejected in .074), and that of one criterion does not.
    """
    cards = vector_cards(answers)
    if cards is None:
        return Gate(parts=dict.fromkeys(weights, 1.0))
    dealt = deal(cards)
    of_criteria, moves, single = np.split(dealt.sums, 3, axis=1)
    parts = {
        "mean": np.abs(standardised(of_criteria.mean(axis=1, keepdims=True)))[:, 0],
        "criteria": np.square(standardised(of_criteria)).sum(axis=1),
        "single": standardised(single).max(axis=1),
        "moves": standardised(moves).max(axis=1),
    }
    return together(parts, weights, dealt.exact)


def vector_cards(answers: Answers) -> VectorCards | None:
    """Return the vectors that are dealt; None where no deal changes anything."""
    calls = calls_to_deal(answers, np.arange(len(answers.unit)), _values_of_vectors)
    if calls is None:
        return None
    return VectorCards(
        group=calls.group,
        value=calls.values,
        shown=np.zeros((len(calls.group), 0), dtype=np.int64),
        score=np.zeros(len(calls.group)),
        contrast=calls.other[:, None].astype(np.float64),
        stratum=calls.stratum,
        chance=calls.chance,
        criteria=answers.code.shape[1],
    )


def _values_of_vectors(answers: Answers, lot: Ints, code: Ints) -> Floats:
    """(vectors, criteria + criteria x scores): points of each criterion, then the scores given.

    Both minus the mean of the text.
    """
    is_score = code[:, :, None] == np.arange(len(answers.points))
    given = is_score.reshape(len(code), -1) / np.sqrt(code.shape[1])
    own_text = np.unique(lot, return_inverse=True)[1]
    return centred(np.column_stack([answers.points[code], given]), own_text)


# ----------------------------------------------------------------------------------- the verdicts
def decide_company(
    answers: Answers, smallest: Smallest, alpha: float = ALPHA
) -> tuple[Verdicts, tuple[MeanVerdict, ...]]:
    """Return the verdicts about the mean over criteria and single scores, and about each criterion.

    The mean is tested at the full ``alpha`` behind the gate, the criteria by Holm's rule.
    ``answers``: as ``both_ways`` makes them. ``alpha``: 5%, or less at a look at part of a run.
    """
    gate = replace(company_gate(answers), spent=alpha)

    def decided(each: Answers, tested: int = 1) -> Verdicts:
        terms = Terms(alpha=alpha)
        return decide(each, smallest, passed=gate, of_form=True, tested=tested, terms=terms)

    verdicts = decided(answers)
    if _single_calls(answers):
        questions = dict(verdicts.questions)
        questions["single"] = SingleVerdict(why="one_call_a_way")
        verdicts = replace(verdicts, questions=questions)
    by_criterion = [_of_criterion(answers, k) for k in range(answers.code.shape[1])]
    first = [_mean_of(decided(each)) for each in by_criterion]
    p = np.array([1.0 if np.isnan(verdict.p) else verdict.p for verdict in first])
    named = gate.open & (holm(p) <= alpha)
    criteria = []
    for verdict, each, is_named in zip(first, by_criterion, named, strict=True):
        if verdict.above_zero and not is_named:  # rejected by itself, and not by Holm's rule
            verdict = _mean_of(decided(each, tested=len(p)))
        criteria.append(verdict)
    return verdicts, tuple(criteria)


def _single_calls(answers: Answers) -> bool:
    """Return whether every text was asked only once in one of the ways: noise is unknown."""
    calls = np.stack(
        [
            np.bincount(answers.item[answers.order == way], minlength=len(answers.unit))
            for way in (ALONE, TOGETHER)
        ]
    )
    both = calls.min(axis=0) > 0
    return bool(both.any()) and not bool((calls.min(axis=0)[both] > 1).any())


def _of_criterion(answers: Answers, criterion: int) -> Answers:
    """Return the scores of one criterion as answers about it alone."""
    n = len(answers.points)
    return replace(
        answers,
        code=answers.code[:, [criterion]],
        orders=np.stack([np.arange(n)[::-1], np.arange(n)]),
        criteria=False,
    )


def _mean_of(verdicts: Verdicts) -> MeanVerdict:
    verdict = verdicts.mean
    assert verdict is not None
    return verdict


def signed_ends(verdict: MeanVerdict) -> tuple[float, float]:
    """Return the interval of the signed difference that goes with a verdict's word.

    It leaves out 0 exactly where the test rejects, and reaches as far as the interval of the size.
    """
    low, high = verdict.interval
    if verdict.above_zero:
        return (low, high) if verdict.signed > 0 else (-high, -low)
    if not verdict.named:
        return low, high
    own = verdict.contrasts[verdict.named]
    below, above = min(own.low, 0.0), max(own.high, 0.0)
    if max(-below, above) < high:  # units that were not met could carry more
        return -high, high
    return below, above
