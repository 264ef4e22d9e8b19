"""Two versions of a rubric: what their difference rests on, and how often one of the same meaning is accused."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.frame import mixed
from rubriclab.findings.versions import version_difference
from rubriclab.model import STATUSES, Arm, Ordering, RunData, Strategy
from rubriclab.model.designs import orderings

SCORES = (1, 2, 3, 4, 5)
ORDERS = orderings(Strategy("balanced"), SCORES)
RUNS = int(os.environ.get("VERSION_RUNS", "24"))
OK, UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")


def direction(order: tuple[int, ...]) -> float:
    """1 for the ascending order, -1 for the descending one."""
    return float(np.corrcoef(order, SCORES)[0, 1])


def items_of(prompts: int, each: int = 1) -> pd.DataFrame:
    names = [f"p{p}-{k}" for p in range(prompts) for k in range(each)]
    return pd.DataFrame(
        {
            "item_id": names,
            "dataset": pd.Categorical(["d"] * len(names)),
            "criterion": pd.Categorical(["Clarity"] * len(names)),
            "block": [None] * len(names),
            "prompt": [name.split("-")[0] if each > 1 else None for name in names],
            "human": np.nan,
            "n_chars": 10,
        }
    )


def asked_order(items: pd.DataFrame) -> list[tuple[int, int]]:
    """(item, order) as a bench asks: of every item an order and its reverse, then the next two."""
    pairs = [(k, ORDERS.index(ORDERS[k][::-1])) for k in range(len(SCORES))]
    return [(item, order) for pair in pairs for item in mixed(items).tolist() for order in pair]


def run_of(
    items: pd.DataFrame, scores: np.ndarray, *, asked: int | None = None, run: str = "a", unread: tuple[int, ...] = ()
) -> RunData:
    """``scores`` (items, orders) as the judgments of a run of which ``asked`` calls were made (None: all)."""
    calls = asked_order(items)
    made = calls[:asked]
    rows = pd.DataFrame(made, columns=["item", "ordering"])
    status = np.where(np.isin(np.arange(len(rows)), unread), UNPARSED, OK)
    shown = np.array(ORDERS)
    value = scores[rows["item"], rows["ordering"]].astype(float)
    place = (shown[rows["ordering"]] == value[:, None]).argmax(axis=1) + 1
    rows = rows.assign(arm=0, read=0, repeat=0, call=np.arange(len(rows)), status=status, expected=np.nan, mass=np.nan)
    rows = rows.assign(score=np.where(status == OK, value, np.nan), position=np.where(status == OK, place, -1))
    arm = Arm("judge", "d", "balanced", "options", SCORES, 5)
    kept = tuple(Ordering(order, tuple(map(str, order))) for order in ORDERS)
    return RunData(run, run, (arm,), items, kept, rows, planned=(len(calls),))


# ---------------------------------------------------------------- by hand


def test_the_difference_of_means_is_that_of_the_reads_both_have() -> None:
    items = items_of(12)
    low, high = np.full((12, 10), 2), np.full((12, 10), 3)
    high[:6] = 4  # six items rise by two, six by one: 1.5
    found = version_difference(run_of(items, high), b=run_of(items, low, run="b"))
    assert (found.reads, found.items, found.unread, found.unfinished) == (120, 12, 0, "")
    score = found.effect("score")
    assert score is not None
    assert score.estimate == pytest.approx(1.5)
    assert score.verdict == "effect"
    # The order moves neither: nothing is another.
    shift = found.effect("shift")
    assert shift is not None
    assert shift.estimate == pytest.approx(0.0)


def test_a_version_that_is_being_asked_is_set_against_as_much_of_the_other() -> None:
    items = items_of(12)
    scores = np.full((12, 10), 2)
    scores[:, 2:] = 5  # the other orders give more: a whole run less a half one would differ by that
    scores[:, ORDERS.index(SCORES[::-1])] = 2
    half = run_of(items, scores, asked=24, run="b")
    found = version_difference(run_of(items, scores), b=half)
    assert (found.reads, found.items) == (24, 12)
    assert found.running is not None
    assert found.running.score.estimate == 0.0
    assert (found.running.orders, found.running.units) == (2, 12)
    delta = found.of("score")
    assert delta is not None
    assert delta.delta == 0.0
    assert delta.effect is not None
    assert delta.effect.verdict == "undecided"
    assert "not finished" in delta.effect.why


def test_a_read_of_which_one_side_is_missing_is_left_out_on_both() -> None:
    items = items_of(12)
    b = np.full((12, 10), 2)
    a = b.copy()
    item, order = asked_order(items)[0]
    a[item, order] = 5
    whole = version_difference(run_of(items, a), b=run_of(items, b, run="b"))
    delta = whole.of("score")
    assert delta is not None
    assert delta.delta == pytest.approx(3 / 120)
    lost = version_difference(run_of(items, a), b=run_of(items, b, run="b", unread=(0,)))
    delta = lost.of("score")
    assert (lost.reads, lost.unread) == (119, 1)
    assert delta is not None
    assert delta.delta == 0.0


def test_a_renamed_criterion_is_still_the_one_both_are_about() -> None:
    items = items_of(12)
    renamed = items.assign(criterion=pd.Categorical(["Plainness"] * 12))
    found = version_difference(run_of(items, np.full((12, 10), 3)), b=run_of(renamed, np.full((12, 10), 2), run="b"))
    assert (found.items, found.reads) == (12, 120)


def test_another_scale_is_refused_in_words() -> None:
    items = items_of(12)
    a, b = run_of(items, np.full((12, 10), 3)), run_of(items, np.full((12, 10), 3), run="b")
    short = Arm("judge", "d", "balanced", "options", (1, 2, 3), 3)
    b = RunData(**{**{name: getattr(b, name) for name in b.__dataclass_fields__}, "arms": (short,)})
    assert "Another number of options" in version_difference(a, b=b).why_not


def test_nothing_is_said_of_a_version_without_answers() -> None:
    items = items_of(12)
    empty = run_of(items, np.full((12, 10), 3), asked=0, run="b")
    assert version_difference(run_of(items, np.full((12, 10), 3)), b=empty).why_not == (
        "One of the two has no answer yet."
    )


# ---------------------------------------------------------------- false alarms, and effects found


def judged(rng: np.random.Generator, level: np.ndarray, leaning: np.ndarray, *, raised: float = 0.0) -> np.ndarray:
    """A latent-trait judge that is none of the lab's own: items' levels and leanings to the order, logistic noise."""
    turned = np.array([direction(order) for order in ORDERS])
    latent = level[:, None] + raised + leaning[:, None] * turned + rng.logistic(0.0, 0.35, (len(level), len(ORDERS)))
    return np.clip(np.round(latent), 1, 5)


def verdicts(seed: int, *, prompts: int, each: int, raised: float = 0.0, looks: int = 8) -> tuple[bool, bool]:
    """(called different at some look on the way, called different at the end), of one pair of versions.

    Versions of the same meaning still move single items, by 0.2 points either way.
    """
    rng = np.random.default_rng(seed)
    items = items_of(prompts, each)
    level = np.repeat(rng.beta(3.0, 1.5, prompts), each) * 4 + 1 + rng.normal(0.0, 0.5, prompts * each)
    leaning = 0.4 * rng.standard_t(5, len(items))
    first = judged(rng, level, leaning)
    second = judged(rng, level + rng.normal(0.0, 0.2, len(items)), leaning, raised=raised)
    whole, calls = run_of(items, first), len(asked_order(items))
    on_the_way = False
    for asked in np.linspace(calls / 10, calls - 1, looks).astype(int).tolist():
        found = version_difference(run_of(items, second, asked=asked, run="b"), b=whole)
        on_the_way |= _different(found.effect("score"), found.effect("shift"))
    end = version_difference(run_of(items, second, run="b"), b=whole)
    return on_the_way, _different(end.effect("score"), end.effect("shift"))


def _different(*effects: object) -> bool:
    return any(getattr(one, "verdict", "") == "effect" for one in effects)


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "each"), [(16, 1), (10, 2)])
def test_versions_of_the_same_meaning_are_rarely_called_different(prompts: int, each: int) -> None:
    """At any look or at the end: in at most 5 %, but for what chance does to so few runs."""
    said = [any(verdicts(seed, prompts=prompts, each=each)) for seed in range(RUNS)]
    print(f"{sum(said)} of {RUNS} pairs of versions called different, {prompts} prompts x {each}")
    assert sum(said) <= 0.05 * RUNS + 2.0 * np.sqrt(0.05 * 0.95 * RUNS)


@pytest.mark.slow
def test_a_version_that_raises_every_score_is_found_out_on_the_way() -> None:
    runs = max(10, RUNS // 6)
    said = [verdicts(seed, prompts=16, each=1, raised=0.8) for seed in range(runs)]
    print(
        f"raised by 0.8: {sum(way for way, _ in said)} of {runs} on the way, {sum(end for _, end in said)} at the end"
    )
    assert sum(end for _, end in said) >= 0.9 * runs
    assert sum(way for way, _ in said) >= 0.5 * runs
