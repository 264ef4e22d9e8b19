"""What a difference of two arms may say: three answers, at once, and no more for more reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.contrast import contrast, contrast_json, contrast_sentence
from rubriclab.findings.contrast_results import Contrast, Delta
from rubriclab.findings.summary import lines, most_moved
from rubriclab.findings.topics import Findings
from rubriclab.model import Arm, Ordering, RunData, Strategy, designs
from tests.findings.test_contrast import two_options
from tests.simulated_runs import data_of

SCORES = (1, 2, 3, 4, 5)
BALANCED = designs.orderings(Strategy("balanced"), SCORES)
USUAL = (SCORES,)


def latent(n: int, seed: int, *arms: tuple[tuple[tuple[int, ...], ...], float]) -> RunData:
    """Judges with a latent trait: a logistic around the item's quality, cut to the scale.

    An arm is its orders and how often it takes what stands first, whatever it is.
    """
    rng = np.random.default_rng(seed)
    quality = np.clip(3 + 0.8 * rng.standard_t(4, n), 1, 5)
    orderings = list(dict.fromkeys(order for orders, _ in arms for order in orders))
    parts = []
    for code, (orders, lean) in enumerate(arms):
        for read, order in enumerate(orders):
            own = np.clip(np.round(quality + rng.logistic(0, 1, n)), 1, 5)
            score = np.where(rng.random(n) < lean, order[0], own)
            place = np.array([order.index(int(one)) + 1 for one in score])
            columns = {
                "arm": code,
                "item": np.arange(n),
                "read": read,
                "score": score,
                "ordering": orderings.index(order),
                "position": place,
            }
            parts.append(pd.DataFrame(columns))
    judged = pd.concat(parts, ignore_index=True)
    judged = judged.assign(repeat=0, status=0, expected=np.nan, mass=np.nan, call=range(len(judged)))
    items = pd.DataFrame(
        {
            "item_id": [f"i{k}" for k in range(n)],
            "dataset": "d",
            "criterion": None,
            "block": None,
            "human": quality + rng.normal(0, 0.5, n),
        }
    )
    return RunData(
        run="r",
        name="r",
        items=items,
        judgments=judged,
        arms=tuple(Arm(f"j{k}", "d", "balanced", "options", SCORES, 5) for k in range(len(arms))),
        orderings=tuple(Ordering(order) for order in orderings),
    )


def named(found: Contrast, measure: str) -> Delta:
    return next(one for one in found.deltas if one.measure == measure)


def test_more_reads_alone_agree_no_better_with_people() -> None:
    """One judge, read once and ten times: r of ten is higher, and that is no difference of arms."""
    told, longer = 0, 0.0
    for seed in range(20):
        data = latent(60, seed, (BALANCED, 0.0), (USUAL, 0.0))
        found = contrast(data, 0, data, 1, n_boot=400)
        r = named(found, "r with humans")
        told += r.ci.low > 0 or r.ci.high < 0
        ten = data.judgments[data.judgments["arm"] == 0].groupby("item")["score"].mean()
        longer += float(np.corrcoef(ten, data.items["human"])[0, 1]) - r.b
    assert longer / 20 > 0.1, "by their own means the longer arm looks far better"
    assert told <= 4
    assert any("r is that of means of 1 in both" in text for text in found.warnings)


def test_r_at_fewer_reads_by_hand() -> None:
    """A mean of one of an item's reads has, over the choices, the square of a read on average."""
    data = latent(12, 3, (BALANCED, 0.0), (USUAL, 0.0))
    grid = (
        data.judgments[data.judgments["arm"] == 0].pivot_table(index="item", columns="read", values="score").to_numpy()
    )
    human = data.items["human"].to_numpy()
    x, y = grid.mean(axis=1), human - human.mean()
    variance = (grid**2).mean() - x.mean() ** 2
    by_hand = (x * y).mean() / np.sqrt(variance * (y**2).mean())
    assert named(contrast(data, 0, data, 1), "r with humans").a == pytest.approx(by_hand)


@pytest.mark.slow
def test_places_are_told_by_intervals_that_hold_at_once() -> None:
    """Two judges that are alike: of five places some interval of its own leaves 0 out too often."""
    alone = at_once = effects = 0
    for seed in range(60):
        data = latent(40, seed, (BALANCED, 0.0), (BALANCED, 0.0))
        found = contrast(data, 0, data, 1, n_boot=400)
        shares = [one for one in found.deltas if one.kind == "share"]
        alone += any(one.ci.low > 0 or one.ci.high < 0 for one in shares)
        at_once += any(one.clear for one in shares)
        effects += any(one.effect.verdict == "effect" for one in found.deltas if one.effect)
        assert ("judgments" in contrast_sentence(found, "a", "b")) == any(one.clear for one in shares)
    assert alone > 6
    assert at_once <= 5
    assert effects <= 5


@pytest.mark.parametrize(("kind", "code"), [("options", 0), ("criteria", 2)])
def test_an_arm_less_itself_is_equivalent(kind: str, code: int) -> None:
    data = data_of(kind)
    found = contrast(data, code, data, code)
    verdicts = [one.effect for one in found.deltas if one.effect is not None]
    assert verdicts
    assert all((one.verdict, *one.interval) == ("equivalent", 0.0, 0.0) for one in verdicts)


def test_three_answers_in_words() -> None:
    lean = latent(200, 1, (BALANCED, 0.4), (BALANCED, 0.0))
    said = contrast_sentence(contrast(lean, 0, lean, 1), "one", "two")
    assert "one picks position 1" in said
    assert "Listed ascending instead of descending the mean score changes by -1." in said
    assert "smallest effect of interest 0.1" in said
    few = latent(15, 1, (BALANCED, 0.05), (BALANCED, 0.0))
    said = contrast_sentence(contrast(few, 0, few, 1), "one", "two")
    assert "Undecided whether listing ascending instead of descending" in said
    assert "more than" in said, "how large a difference of a place is still possible"
    for word in ("no difference", "alike as far", "chance."):
        assert word not in said
    wide = replace(few, smallest_effect=3.0)
    said = contrast_sentence(contrast(wide, 0, wide, 1), "one", "two")
    assert "changes by the same for one and two, to within 3:" in said


def test_arms_that_never_differ_may_still_do_so_on_items_not_seen() -> None:
    """The same scores on n items: up to 1 - 0.025^(1/n) of items may differ, by a step each."""
    verdicts = {}
    for n in (12, 30, 60):
        data = two_options([[1, 1]] * n, [[1, 1]] * n)
        one = named(contrast(data, 0, data, 1), "mean score").effect
        assert one is not None
        assert one.high == pytest.approx(1 - 0.025 ** (1 / n))
        verdicts[n] = one.verdict
    assert verdicts == {12: "undecided", 30: "undecided", 60: "equivalent"}


def test_arms_that_differ_by_the_same_everywhere_do_differ() -> None:
    data = two_options([[1, 2]] * 20, [[2, 1]] * 20)
    one = named(contrast(data, 0, data, 1), "mean score").effect
    assert one is not None
    assert (one.estimate, one.verdict) == (-1.0, "effect")


def test_few_items_and_unfinished_runs_leave_it_open() -> None:
    few = two_options([[1, 1], [1, 2]], [[2, 2], [1, 1]])
    one = named(contrast(few, 0, few, 1), "mean score").effect
    assert one is not None
    assert (one.verdict, one.why) == ("undecided", "only 2 items carry it")
    data = latent(60, 0, (BALANCED, 0.5), (BALANCED, 0.0))
    cut = replace(data, planned=(700, 600))
    one = named(contrast(data, 0, cut, 1), "mean score").effect
    assert one is not None
    assert one.verdict == "undecided"
    assert "100 of 1,300 calls wait" in one.why


def test_what_was_not_read_costs_reads_and_not_items() -> None:
    """One unread reply on every item: r still rests on all of them."""
    data = latent(30, 5, (BALANCED, 0.0), (BALANCED, 0.0))
    gone = (data.judgments["read"] == 4) & (data.judgments["arm"] == 0)
    judged = data.judgments.assign(
        status=np.where(gone, 1, 0),
        position=np.where(gone, -1, data.judgments["position"]),
        score=np.where(gone, np.nan, data.judgments["score"]),
    )
    holes = replace(data, judgments=judged)
    assert named(contrast(holes, 0, holes, 1), "r with humans").n_items == 30


def test_json_carries_the_verdict() -> None:
    data = latent(60, 2, (BALANCED, 0.4), (BALANCED, 0.0))
    told = {one["measure"]: one for one in contrast_json(contrast(data, 0, data, 1))["differences"]}
    shift, share = told["ascending less descending"], told["position 1"]
    assert (shift["verdict"], shift["unit"], shift["sesoi"]) == ("effect", "points", 0.1)
    assert shift["low"] < shift["estimate"] == shift["delta"] < shift["high"]
    assert (share["verdict"], share["sesoi"]) == (None, None)
    assert [share["low"], share["high"]] == share["ci_all"]


@pytest.mark.slow
def test_the_arm_that_is_moved_most_is_named_only_where_it_can_be_told() -> None:
    data = latent(40, 4, (BALANCED, 0.0), (BALANCED, 0.0), (BALANCED, 0.0))
    said = most_moved(list(lines(Findings(data)).values()))
    assert said.startswith("Undecided which of them the order moves most. Uneven picking without noise (V):")
    data = latent(60, 4, (BALANCED, 0.5), (BALANCED, 0.0))
    assert most_moved(list(lines(Findings(data)).values())).startswith("The order moves j0 most")
    assert most_moved(list(lines(Findings(data)).values())[:1]) == ""
    pairs = list(lines(Findings(data_of("pairs"))).values())
    assert "Consistency (PC)" in most_moved(pairs)
    assert most_moved(list(lines(Findings(data_of("criteria"))).values())) == ""
