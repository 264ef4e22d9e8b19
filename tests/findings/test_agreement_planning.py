"""How many ratings an interval on agreement takes: from a guess, and from a pilot run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.agreement_planning import AgreementAim, pilot_agreement, stated_agreement
from rubriclab.model import Arm, LabError, Ordering, RunData
from rubriclab.stats import agreement_planning as stats
from rubriclab.stats.inference import Floats

SCORES = (1, 2, 3, 4, 5)
ARM = Arm("j", "d", "fixed", scores=SCORES, n_positions=5)


def run_of(reads: Floats, ratings: list[tuple[float, ...]]) -> RunData:
    """A run of one arm in the usual order; ``reads`` (items, reads), NaN unread."""
    item, read = np.divmod(np.arange(reads.size), reads.shape[1])
    score = reads.ravel()
    known = np.isfinite(score)
    judgments = pd.DataFrame(
        {"arm": 0, "item": item, "ordering": 0, "read": read, "repeat": 0, "call": np.arange(reads.size)}
        | {"status": np.where(known, 0, 1), "score": score, "position": np.where(known, score, -1)}
    )
    judgments[["expected", "mass"]] = np.nan
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(len(reads))], "dataset": "d", "raters": ratings})
    items[["criterion", "block", "prompt", "candidate", "task"]] = None
    items["human"] = [float(np.mean(r)) if r else np.nan for r in ratings]
    return RunData("r", "r", (ARM,), items, (Ordering(SCORES, tuple("12345")),), judgments.astype({"position": int}))


def rated(n: int = 200) -> RunData:
    draw = np.random.default_rng(0)
    truth = draw.integers(1, 6, n)
    reads = np.clip(truth[:, None] + draw.integers(-1, 2, (n, 2)), 1, 5).astype(float)
    ratings = [tuple(map(float, np.clip(t + draw.integers(-1, 2, 2), 1, 5))) for t in truth]
    return run_of(reads, ratings)


def test_a_guess_is_planned_with_the_marginals_of_the_people() -> None:
    people = np.repeat([1.0, 2, 3, 4, 5], [5, 10, 20, 40, 25])
    kappa, icc = stated_agreement(
        AgreementAim({"kappa": 0.5, "icc": 0.6}, ratings=4), items=80, scores=SCORES, people=people
    )
    shares = np.array([5.5, 10.5, 20.5, 40.5, 25.5]) / 102.5
    table = stats.guessed_table(0.5, shares, shares, "plain")
    assert table is not None
    assert kappa.items_needed == stats.items_for_kappa(table, "plain", 0.1)
    assert kappa.guess == pytest.approx(0.5, abs=1e-5)
    assert "as the people of this data do" in " ".join(kappa.assumes)
    assert (icc.items_needed, icc.ratings) == (stats.items_for_icc(0.6, 4, 0.1), 4)
    assert (
        f"± 0.1 takes {icc.items_needed:,} rated items; 80 rated items give ± {icc.half_width_now:.2f}" in icc.sentence
    )


def test_ratings_between_scores_are_said_to_be_rounded() -> None:
    for people, said in ((np.array([2.5, 3.0]), True), (np.array([2.0, 3.0]), False)):
        (plan,) = stated_agreement(AgreementAim({"kappa": 0.5}), items=2, scores=SCORES, people=people)
        assert ("nearest score" in " ".join(plan.assumes)) == said
    data = rated()
    means = [(float(np.mean(r)),) for r in data.items["raters"]]
    plans, _ = pilot_agreement(replace(data, items=data.items.assign(raters=means)), ARM, items=50)
    assert "nearest score" in " ".join(plans[0].assumes)


def test_without_ratings_every_score_is_taken_to_be_as_frequent() -> None:
    (none,) = stated_agreement(AgreementAim({"kappa": 0.5}), items=0, scores=SCORES, people=np.empty(0))
    (off,) = stated_agreement(AgreementAim({"kappa": 0.5}), items=9, scores=SCORES, people=np.full(9, 70.0))
    assert none.items_needed == off.items_needed
    assert none.sentence.endswith("no rated items")
    assert "equally often" in " ".join(none.assumes)
    assert "equally often" in " ".join(off.assumes)


@pytest.mark.parametrize(
    ("aim", "said"),
    [
        (AgreementAim({"kappa": 1.0}), "cannot be planned"),
        (AgreementAim({"icc": -0.1}), "cannot be planned"),
        (AgreementAim({"kappa": float("nan")}), "cannot be planned"),
        (AgreementAim({"kappa": 0.5}, half_width=0.0), "half-width lies in 0..1"),
        (AgreementAim({"icc": 0.5}, ratings=1), "takes two ratings"),
    ],
)
def test_what_cannot_be_planned_is_said(aim: AgreementAim, said: str) -> None:
    with pytest.raises(LabError, match=said):
        stated_agreement(aim, items=9, scores=SCORES, people=np.empty(0))


def test_a_pilot_is_its_table_of_reads_and_ratings() -> None:
    data = rated()
    plans, reason = pilot_agreement(data, ARM, items=50)
    assert reason is None
    kappa, quadratic, icc = plans
    score = data.judgments["score"].to_numpy().reshape(-1, 2)
    table = np.zeros((5, 5))
    for reads, ratings in zip(score, data.items["raters"], strict=True):
        for a in reads:
            for b in ratings:
                table[int(a) - 1, int(b) - 1] += 1 / 4 / len(score)
    assert kappa.guess == pytest.approx(stats.kappa(table, "plain"))
    assert quadratic.items_needed == stats.items_for_kappa(table, "quadratic", 0.1)
    assert kappa.half_width_now == pytest.approx(stats.kappa_half_width(table, "plain", 50))
    matrix = np.column_stack([score[:, 0], np.array(data.items["raters"].tolist())])
    assert (icc.guess, icc.ratings) == (pytest.approx(stats.single_rating_icc(matrix)[0]), 3)


def test_a_pilot_that_says_nothing_says_why() -> None:
    nobody = run_of(np.full((20, 1), 3.0), [()] * 20)
    unread = run_of(np.full((20, 1), np.nan), [(3.0,)] * 20)
    off = run_of(np.full((20, 1), 3.0), [(70.0,)] * 20)
    for data in (nobody, unread, off, rated(9)):
        plans, reason = pilot_agreement(data, ARM, items=50)
        assert plans == ()
        assert reason is not None
        assert "10 needed" in reason


def test_a_pilot_of_one_score_says_that() -> None:
    plans, reason = pilot_agreement(run_of(np.full((20, 1), 3.0), [(3.0, 3.0)] * 20), ARM, items=50)
    assert plans == ()
    assert reason is not None
    assert "one score" in reason


def test_a_rater_who_missed_items_counts_where_they_rated() -> None:
    data = rated()
    gaps = [r if k % 3 else r[:1] for k, r in enumerate(data.items["raters"])]
    plans, _ = pilot_agreement(replace(data, items=data.items.assign(raters=gaps)), ARM, items=50)
    assert [plan.coefficient for plan in plans] == ["kappa", "kappa_quadratic", "icc"]
    assert all(np.isfinite(plan.items_needed) for plan in plans)
