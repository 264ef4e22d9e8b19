"""Agreement beyond chance through a run: what counts, what is left out, what cannot be said."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.agreement import AGREEMENT, agreement
from rubriclab.findings.agreement_results import AgreementResult, ArmAgreement
from rubriclab.findings.agreement_words import agreement_sentence
from rubriclab.findings.plain import plain
from rubriclab.findings.topics import Findings, document
from rubriclab.model import STATUSES, Arm, Ordering, RunData, Variant
from rubriclab.runs.foreign import foreign_run

UP, DOWN = (1, 2, 3), (3, 2, 1)
OK, UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")
Scores = Sequence[Sequence[float]]


def run(up: Scores, ratings: Sequence[tuple[float, ...]], down: Scores = ()) -> RunData:
    """One judge; by item its reads in ascending and in descending order, NaN unread."""
    rows = []
    for order, by_item in enumerate((up, down)):
        for item, scores in enumerate(by_item):
            for read, score in enumerate(scores):
                shown = (UP, DOWN)[order]
                known = np.isfinite(score)
                place = shown.index(int(score)) + 1 if known else -1
                rows.append((item, order, order * 10 + read, OK if known else UNPARSED, score, place))
    frame = pd.DataFrame(rows, columns=["item", "ordering", "read", "status", "score", "position"])
    frame = frame.assign(arm=0, repeat=0, call=np.arange(len(frame)), expected=np.nan, mass=np.nan)
    items = pd.DataFrame(
        {
            "item_id": [f"i{k}" for k in range(len(ratings))],
            "dataset": "d",
            "criterion": None,
            "block": None,
            "prompt": None,
            "human": [float(np.mean(r)) if r else np.nan for r in ratings],
            "raters": list(ratings),
        }
    )
    arm = Arm("judge", "d", "balanced", axis="options", scores=UP)
    orders = tuple(Ordering(shown, tuple(map(str, shown))) for shown in (UP, DOWN))
    return RunData("r", "r", (arm,), items, orders, frame)


def only(result: AgreementResult) -> ArmAgreement:
    (arm,) = result.arms
    return arm


def test_items_that_do_not_count_are_counted() -> None:
    data = run([[1], [np.nan], [2, np.nan], [3]], [(1.0, 2.0), (1.0,), (2.0,), ()])
    arm = only(agreement(data))
    assert (arm.n_items, arm.unread, arm.unrated, arm.gaps, arm.raters) == (2, 1, 1, 1, 2)
    # Of item 0 one of two pairs is the same, of item 2 its only one.
    assert arm.one_read.exact.value == pytest.approx(0.75)
    assert any("2 of 4 items" in text for text in arm.warnings)


def test_each_order_by_itself_and_both_against_each_other() -> None:
    up = [[1], [2], [3], [1], [2], [3]]
    down = [[1], [2], [2], [1], [3], [3]]
    data = run(up, [(float(row[0]),) for row in up], down)
    arm = only(agreement(data))
    first, second = arm.orderings
    assert first.ordering == UP
    assert first.one_read.exact.value == 1.0
    assert second.one_read.exact.value == pytest.approx(4 / 6)
    assert arm.one_read.exact.value == pytest.approx(5 / 6)
    (panel,) = (one.panel for one in agreement(data).between if one.kind == "orders")
    assert panel.one_read.exact.value == pytest.approx(4 / 6)
    assert (panel.n_items, panel.complete) == (6, 6)


def test_repeats_of_one_order_are_the_judges_own_noise() -> None:
    data = run([[1, 1], [2, 3], [3, 3], [1, 1]], [(1.0,)] * 4)
    (panel,) = (one.panel for one in agreement(data).between if one.kind == "repeats")
    assert panel.one_read.exact.value == pytest.approx(0.75)
    assert not [one for one in agreement(data).between if one.kind == "orders"]


def test_averaging_brings_a_noisy_judge_to_its_nearest_option() -> None:
    data = run([[1, 1, 2], [2, 2, 3], [3, 3, 2]] * 4, [(1.0,), (2.0,), (3.0,)] * 4)
    arm = only(agreement(data))
    assert arm.one_read.exact.value == pytest.approx(2 / 3)
    assert arm.averaged.exact.value == 1.0


def test_without_people_there_is_still_agreement_inside_the_run() -> None:
    result = agreement(run([[1, 1], [2, 3], [3, 3]], [(), (), ()]))
    assert not result.arms
    assert result.warnings
    assert [one.kind for one in result.between] == ["repeats"]


@pytest.mark.parametrize(
    "data",
    [
        run([[2], [2], [2]], [(2.0,), (2.0,), (2.0,)]),
        run([[2]] * 20, [(2.0, 2.0)] * 20),
        run([[1], [2]], [(1.0,), (3.0,)]),
        run([[1]], [(1.0,)]),
        run([[np.nan], [np.nan]], [(1.0,), (2.0,)]),
        run([[1], [2], [3]] * 10, [(k / 7.0,) for k in range(30)]),
    ],
    ids=["three of one category", "one category", "two items", "one item", "nothing read", "measurements"],
)
def test_awkward_runs_say_what_they_cannot_say(data: RunData) -> None:
    findings = Findings(data)
    result = findings["agreement"]
    body = document(findings)
    assert json.dumps(body["arms"][0]["agreement"], allow_nan=False)
    for arm in result.arms:
        assert agreement_sentence(arm)
        for name, of in arm.one_read.__dict__.items():
            assert of.why or np.isfinite(of.ci.low), name
    list(AGREEMENT.sentences(result))


def test_one_category_has_shares_and_no_kappa() -> None:
    arm = only(agreement(run([[2]] * 20, [(2.0, 2.0)] * 20)))
    one = plain(arm.one_read)
    assert one["exact"]["value"] == one["ac1"]["value"] == 1.0
    assert one["kappa"]["value"] is None
    assert one["kappa"]["why"]
    assert 0.8 < one["exact"]["ci"][0] < 0.9  # Wilson: 20 of 20


def test_a_judge_that_gives_one_score_has_kappa_0_without_an_interval() -> None:
    arm = only(agreement(run([[2]] * 30, [(float(1 + k % 3),) for k in range(30)])))
    kappa = arm.one_read.kappa
    assert kappa.value == pytest.approx(0.0)
    assert np.isnan(kappa.ci.low)
    assert "does not vary" in kappa.why


def test_the_paradox_is_explained_where_one_category_takes_nearly_all() -> None:
    scores = [[3]] * 36 + [[2], [3], [3], [2]]
    ratings = [(3.0,)] * 36 + [(3.0,), (2.0,), (2.0,), (3.0,)]
    arm = only(agreement(run(scores, ratings)))
    assert arm.paradox
    assert "AC1" in agreement_sentence(arm)


def test_a_judge_further_from_people_than_people_are_is_called_so_only_by_its_interval() -> None:
    far = Findings(foreign_run("latent trait", "10 fixed against 10 balanced", items=100, seed=1))["agreement"].arms[0]
    assert far.below is not None
    assert far.below.high < 0
    assert "further from people than people are" in agreement_sentence(far)
    few = Findings(foreign_run("skewed", "10 fixed against 10 balanced", items=8, seed=1))["agreement"].arms[0]
    assert "further from people" not in agreement_sentence(few)


@pytest.mark.slow
def test_every_number_is_in_the_estimates() -> None:
    findings = Findings(foreign_run("two options", "prompt forms", items=30))
    table = findings.estimates()
    mine = set(table[table["topic"] == "agreement"]["measure"])
    assert {"one_read.kappa_quadratic", "means.icc2_1", "raters_own.one_read.exact", "averaged.exact"} <= mine


def test_wordings_are_compared_in_the_same_order_only() -> None:
    data = run([[1], [2], [3], [2]], [()] * 4)
    second = data.judgments.assign(arm=1, call=data.judgments["call"] + 100)
    arms = tuple(
        Arm("judge", "d", "fixed", axis="options", scores=UP, variant=_prompt(name)) for name in ("a.toml", "b.toml")
    )
    other = second.assign(ordering=[0, 0, 0, 1], score=[1.0, 2.0, 1.0, 2.0], position=[1, 2, 1, 2])
    both = RunData("r", "r", arms, data.items, data.orderings, pd.concat([data.judgments, other], ignore_index=True))
    (panel,) = (one.panel for one in agreement(both).between if one.kind == "prompts")
    # The fourth item was read in another order: three items, two of them alike.
    assert panel.n_items == 3
    assert panel.one_read.exact.value == pytest.approx(2 / 3)


def _prompt(name: str) -> Variant:
    return Variant((("prompt", name),))
