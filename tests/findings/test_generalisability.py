"""Reliability of a run: its facets, planted parts, what cannot be said, and the place in every account."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from rubriclab.datasets.scores import read_scores
from rubriclab.figures.generalisability import component_bars, design_curves, mix_forest
from rubriclab.findings.alignment import alignment
from rubriclab.findings.alignment_advice import budget_sentence
from rubriclab.findings.decision_study import best_mix, curves, plan_of, ranked_mixes
from rubriclab.findings.generalisability import (
    GENERALISABILITY,
    best_sentence,
    best_words,
    generalisability,
    study_sentence,
)
from rubriclab.findings.generalisability_results import GStudy
from rubriclab.findings.topics import Findings, document
from rubriclab.model import STATUSES, Arm, Ordering, RunData, Variant
from rubriclab.report.text import as_text
from rubriclab.report.text_reliability import study_lines

SCORES = (1, 2, 3, 4, 5)
LINES = (*(SCORES[k:] + SCORES[:k] for k in range(5)), SCORES[::-1])


def arms(judges: int, wordings: int) -> tuple[Arm, ...]:
    return tuple(
        Arm(
            f"j{j}",
            "d",
            "balanced",
            scores=SCORES,
            n_positions=5,
            variant=Variant((("prompt", f"w{w}"),) if wordings > 1 else ()),
        )
        for j, w in product(range(judges), range(wordings))
    )


def run(
    *,
    items: int = 40,
    judges: int = 3,
    wordings: int = 1,
    reads: int = 2,
    missing: float = 0.0,
    raters: int = 3,
    named: bool = False,
    own_orders: bool = False,
    whole: bool = False,
    seed: int = 0,
) -> RunData:
    """Every item by every judge in six orders; texts 0.8, judge × item 0.5, order × item 0.4, noise 0.5 (sd).

    ``whole``: rounded to the scale.
    """
    rng = np.random.default_rng(seed)
    shape = (judges, wordings, items, len(LINES), reads)
    j, w, i, o, r = (axis.ravel() for axis in np.indices(shape))
    score = (
        3.0
        + 0.8 * rng.normal(size=items)[i]
        + 0.3 * np.linspace(-1, 1, max(judges, 2))[j]
        + 0.5 * rng.normal(size=(judges, items))[j, i]
        + 0.4 * rng.normal(size=(items, len(LINES)))[i, o]
        + 0.5 * rng.normal(size=len(i))
    )
    if whole:
        score = np.clip(np.rint(score), 1, 5)
    ok = rng.random(len(score)) >= missing
    ordering = o + len(LINES) * i if own_orders else o
    shown = [tuple(map(str, rng.permutation(9))) for _ in range(items * len(LINES))] if own_orders else LINES
    table = pd.DataFrame(
        {
            "arm": j * wordings + w,
            "item": i,
            "ordering": ordering,
            "read": o,
            "repeat": r,
            "call": np.arange(len(i)),
            "status": np.where(ok, STATUSES.index("ok"), STATUSES.index("unparsed")),
            "score": np.where(ok, score, np.nan),
            "position": np.where(ok, 1, -1),
            "expected": np.nan,
            "mass": np.nan,
        }
    )
    rated = 3.0 + rng.normal(size=(items, 1)) + 0.6 * rng.normal(size=(items, raters)) + np.arange(raters)
    about = pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(items)],
            "dataset": "d",
            "criterion": None,
            "block": None,
            "prompt": None,
            "candidate": None,
            "task": None,
            "human": rated.mean(axis=1) if raters else np.nan,
            "raters": [tuple(row) for row in rated.tolist()],
            "rater_names": [tuple(f"r{k}" for k in range(raters)) if named else () for _ in range(items)],
            "n_chars": 10,
        }
    )
    orders = tuple(Ordering(line, tuple(map(str, line))) for line in shown)
    return RunData("run", "run", arms(judges, wordings), about, orders, table)


def all_judges(data: RunData) -> GStudy:
    return generalisability(data).studies[0]


def test_all_judges_each_alone_and_the_people_are_studied() -> None:
    result = generalisability(run())
    assert [one.judges for one in result.studies] == [("j0", "j1", "j2"), ("j0",), ("j1",), ("j2",), ("people",)]
    together, alone = result.studies[:2]
    assert [one.key for one in together.facets] == ["item", "judge", "order"]
    assert [one.key for one in alone.facets] == ["item", "order"]
    assert together.sources[-1].key == "noise"


def test_planted_parts_are_found() -> None:
    study = all_judges(run(items=400))
    found = {one.key: one.variance for one in study.sources}
    assert found["item"] == pytest.approx(0.64, rel=0.15)
    assert found["judge × item"] == pytest.approx(0.25, rel=0.15)
    assert found["order × item"] == pytest.approx(0.16, rel=0.15)
    assert found["noise"] == pytest.approx(0.25, rel=0.05)
    assert found["judge"] == pytest.approx(0.09, rel=0.4)
    assert found["judge × order × item"] == pytest.approx(0.0, abs=0.02)


def test_parts_of_too_few_judges_have_no_interval_and_neither_has_what_hangs_on_them() -> None:
    study = all_judges(run())
    few = {one.key: one.why for one in study.sources if one.why}
    assert set(few) == {"judge", "judge × order"}
    call, read, these = study.plans
    assert np.isfinite(call.relative_ci).all()
    assert not np.isfinite([*call.absolute_ci, *read.absolute_ci]).any()
    # With the judges as all there are, nothing hangs on how far others would differ.
    assert np.isfinite(these.absolute_ci).all()
    assert these.relative > read.relative
    assert any("3 judges are too few" in text for text in study.warnings)


def test_more_of_anything_is_more_reliable_and_calls_are_counted() -> None:
    study = all_judges(run())
    one, ten = (plan_of(study, "", np.array(numbers)) for numbers in ([1, 1, 1], [5, 2, 1]))
    assert (one.calls, ten.calls, ten.name) == (1, 10, "5 judges (3 read) × 2 orders")
    assert one.relative < ten.relative
    assert one.absolute <= one.relative


def test_the_best_mix_is_held_against_others_of_the_budget() -> None:
    study = all_judges(run(items=200))
    first, *others = ranked_mixes(study, 10)
    assert first.plan.calls <= 10
    assert all(first.plan.relative >= one.plan.relative for one in others)
    # Judges move texts more than orders do: ten orders of one judge are not the way.
    assert dict(first.plan.numbers)["judge"] > 1
    whole = best_mix(study, 12, fixed=("judge",))
    assert dict(whole.best.numbers)["judge"] == 3
    assert "best spent as" in best_sentence(best_mix(study, 10))


def test_orders_of_its_own_for_each_judge_are_worth_more() -> None:
    study = all_judges(run())
    numbers = np.array([3, 2, 1])
    assert plan_of(study, "", numbers, own=True).relative > plan_of(study, "", numbers).relative


def test_items_with_orders_of_their_own_have_nested_orders() -> None:
    study = all_judges(run(own_orders=True))
    assert [(one.key, one.within_item, one.levels) for one in study.facets][-1] == ("order", True, 6)
    assert {one.key for one in study.sources} == {
        "item",
        "judge",
        "judge × item",
        "order : item",
        "order : judge × item",
        "noise",
    }
    assert study.plans


def test_named_raters_are_crossed_and_slots_are_not() -> None:
    slots, persons = (generalisability(run(named=named)).studies[-1] for named in (False, True))
    assert [one.key for one in slots.sources] == ["item", "rater : item, e"]
    assert [one.key for one in persons.sources] == ["item", "rater", "rater × item, e"]
    # Raters who are milder on all texts by one step each: told from what they do to single ones.
    assert persons.sources[1].variance == pytest.approx(1.0, abs=0.2)
    assert slots.sources[1].variance == pytest.approx(
        persons.sources[1].variance + persons.sources[2].variance, rel=0.05
    )


def test_facets_that_never_varied_apart_are_one() -> None:
    data = run(judges=2, wordings=2)
    twins = data.judgments[data.judgments["arm"].isin([0, 3])]  # each judge in a wording of its own
    study = all_judges(replace(data, judgments=twins))
    assert [one.key for one in study.facets] == ["item", "judge and wording", "order"]
    assert any("never varied apart" in text for text in study.warnings)


def test_judges_that_share_no_item_are_not_put_together() -> None:
    data = run(judges=2)
    table = data.judgments
    apart = table[(table["arm"] == 0) == (table["item"] < 25)]
    study = all_judges(replace(data, judgments=apart))
    assert (study.n_items, [one.key for one in study.facets]) == (25, ["item", "order"])
    assert any("No item was read under two judges" in text for text in study.warnings)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"items": 1}, "One item cannot be told"),
        ({"items": 6}, "6 items are too few for intervals"),
        ({"reads": 1}, "Nothing was read twice"),
    ],
)
def test_what_cannot_be_said_is_said(how: dict[str, int], words: str) -> None:
    study = all_judges(run(judges=1, **how))
    assert any(words in text for text in study.warnings)
    assert study_sentence(study)
    if how.get("items", 40) < 10:
        assert all(not np.isfinite(one.share_ci.low) for one in study.sources)
        assert all(not np.isfinite(one.relative_ci.low) for one in study.plans)


def test_one_order_read_once_and_scores_that_are_all_the_same_say_so() -> None:
    data = run(judges=1, reads=1, raters=1)
    once = replace(data, judgments=data.judgments[data.judgments["ordering"] == 0])
    judged, rated = generalisability(once).studies
    assert any("Each item has one score" in text for text in judged.warnings)
    assert not judged.plans
    assert not rated.plans
    same = all_judges(replace(data, judgments=data.judgments.assign(score=3.0)))
    assert any("All scores are the same" in text for text in same.warnings)
    assert not same.plans


def test_a_run_of_which_nothing_was_read_has_no_study_of_judges() -> None:
    data = run(missing=1.0, raters=0, whole=True)
    result = generalisability(data)
    assert result.studies == ()
    assert GENERALISABILITY.document(result, data).beside == {"generalisability": []}


def test_noise_that_was_not_measured_is_not_counted_as_none() -> None:
    """Two judges that read every item once and hardly agree had a reliability of 1.00 “of these alone”."""
    data = run(judges=2, reads=1, raters=0)
    once = replace(data, judgments=data.judgments[data.judgments["ordering"] == 0])
    study = all_judges(once)
    assert study.parts is not None
    assert not study.parts.noisy
    assert [one.key for one in study.plans] == ["one call", "as read"]
    alone = ranked_mixes(study, 10, fixed=("judge",))
    assert np.isnan(alone[0].plan.relative)
    assert "Nothing was read twice" in best_words(study, alone)


def test_three_reads_of_each_item_are_three_as_read() -> None:
    """“As read, 1 call” was said of three, with the reliability of one."""
    data = run(judges=1, raters=0)
    first = data.judgments[(data.judgments["ordering"] == 0) & (data.judgments["repeat"] == 0)]
    thrice = pd.concat(
        [first.assign(repeat=k, score=first["score"] + 0.1 * k * (-1) ** first["item"]) for k in range(3)]
    )
    study = all_judges(replace(data, judgments=thrice.assign(call=np.arange(len(thrice)))))
    one, read = study.plans
    assert (read.name, read.calls) == ("3 repeats", 3)
    assert read.relative > one.relative


def test_no_mix_is_best_without_an_interval_or_before_the_end() -> None:
    """“10 calls are best spent as 10 orders (no interval)” was said of nine units, and of runs with calls left."""
    few = all_judges(run(items=8))
    assert "Too little was read to say how 10 calls" in best_sentence(best_mix(few, 10))
    assert "too little was read for an interval" in best_words(few, ranked_mixes(few, 10))
    data = run()
    waiting = generalisability(replace(data, planned=(len(data.judgments) + 9,)))
    texts = [one.text for one in GENERALISABILITY.sentences(waiting)]
    assert not any("are best spent as" in text for text in texts)
    assert any("best spent is open: the run is not finished: 9 of" in text for text in texts)
    first = waiting.studies[0]
    assert any("No mix of calls is recommended" in text for text in first.warnings)
    assert best_words(first, ranked_mixes(first, 10)).startswith("Left open: the run is not finished")


def test_a_budget_that_buys_no_more_is_left_out() -> None:
    """“10 calls, best spent as 10 judges” stood twice, the second time for a budget of 20."""
    data = run(judges=2, reads=1, raters=0)
    study = all_judges(replace(data, judgments=data.judgments[data.judgments["ordering"] == 0]))
    assert [one.best.numbers for one in study.budgets] == [(("judge", 5),), (("judge", 10),)]


def test_more_of_a_facet_than_was_read_is_named_as_extrapolated_where_it_is_said() -> None:
    """“10 calls an item are best spent as 10 judges” was said of two, with the caveat elsewhere."""
    data = run(judges=2, raters=0)
    study = all_judges(data)
    best = best_mix(study, 10)
    assert best.best.beyond == ("judge",)
    assert "best spent as 5 judges (2 read) × 2 orders" in best_sentence(best)
    assert "; extrapolated, if other judges are like those read)." in best_sentence(best)
    assert "5 judges (2 read)" in "\n".join(study_lines(document(Findings(data))["generalisability"][0]))
    assert "extrapolated" in best_words(study, ranked_mixes(study, 10))
    within = best_mix(study, 2)
    assert within.best.beyond == ()
    assert "extrapolated" not in best_sentence(within)
    assert "(2 read)" not in within.best.name


def test_one_read_is_as_dependable_beside_the_ratings_as_in_the_study_of_all_scores() -> None:
    """One judge's reads were called reliable to 0.26 on one page and to 0.37 on another."""
    data = run(items=200, judges=1, reads=1, whole=True)
    rows = data.judgments
    moved = np.clip(rows["score"] + np.array([2, 0, 0, 0, 0, -1])[rows["ordering"]], 1, 5)
    data = replace(data, judgments=rows.assign(score=moved))
    one_call, (arm,) = generalisability(data).studies[0].plans[0], alignment(data).arms
    assert arm.reliability is not None
    assert one_call.absolute == pytest.approx(arm.reliability.one, abs=1e-9)
    assert one_call.relative > one_call.absolute + 0.2, "orders lift and lower all scores here"
    assert "reach a dependability of 0.9 (extrapolated from 6); one read has 0.32" in budget_sentence(arm)


def test_the_text_says_why_a_part_has_no_interval_and_counts_ratings_of_people() -> None:
    text = "\n".join(line for one in document(Findings(run()))["generalisability"] for line in study_lines(one))
    assert "of the variance [no interval: 3 judges are too few to say]" in text
    assert "too few levels" not in text
    people = text.split("people · d")[1]
    assert "one rating: reliability" in people
    assert "ratings, best spent as" in people
    assert "call" not in people.split("note:")[0]


@pytest.mark.slow
def test_it_stands_in_the_document_the_text_and_the_estimates() -> None:
    found = Findings(run(missing=0.1, whole=True))
    whole = document(found)
    first = whole["generalisability"][0]
    assert first["design"] == "40 items × 3 judges × 6 orders"
    assert {one["key"] for one in first["plans"]} == {"one call", "as read", "as read, of these alone"}
    assert [one["calls"] for one in first["best"]] == [5, 10, 20]
    assert "parts" not in first
    assert "best spent as" in as_text(whole)
    table = found.estimates()
    mine = table[table["topic"] == "generalisability"]
    assert {"sources.share", "plans.relative", "plans.absolute", "budgets.best.relative"} <= set(mine["measure"])
    assert set(mine["judge"]) == {"j0, j1, j2", "j0", "j1", "j2", "people"}
    assert any("too few" in line for line in GENERALISABILITY.limits(found.of(GENERALISABILITY)))


def test_the_charts_show_the_parts_the_lines_and_the_mixes() -> None:
    study = all_judges(run())
    bars = component_bars(study)
    assert sorted(bars.figure.data[0].x, reverse=True) == list(bars.figure.data[0].x)
    assert "texts differ" in bars.alt
    lines = curves(study, most=20)
    assert [line.name for line in lines] == [
        "1 judge",
        "2 judges",
        "3 judges",
        "5 judges",
        "10 judges",
        "same call again",
    ]
    chart = design_curves(lines, calls=10)
    # Ten orders of one judge and two of five: both at ten calls, on lines of their own.
    at = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in chart.figure.data if trace.name}
    assert at["5 judges"][10] == plan_of(study, "", np.array([5, 2, 1])).relative
    assert at["1 judge"][10] == plan_of(study, "", np.array([1, 10, 1])).relative
    mixes = ranked_mixes(study, 10)
    assert len(mix_forest(mixes).figure.data[0].x) == len(mixes)


# ------------------------------------------------------------ beside an arm's own


def scored(unread: float) -> pd.DataFrame:
    """A judge's scores of 40 rated texts in two arms, low ones ``unread`` by chance."""
    rng, up = np.random.default_rng(5), [1, 2, 3, 4, 5]
    orders = [*(("balanced", up[k:] + up[:k]) for k in range(5)), *[("fixed", up)] * 3]
    rows = []
    for text in range(40):
        quality, human = rng.normal(3, 1), str(int(rng.integers(1, 6)))
        for strategy, order in orders:
            score = int(np.clip(np.round(quality + rng.normal(0, 0.9)), 1, 5))
            lost = score < 3 and rng.random() < unread
            rows.append(("J", "d", f"t{text}", " ".join(map(str, order)), "" if lost else str(score), strategy, human))
    table = pd.DataFrame(rows, columns=["judge", "dataset", "item_id", "ordering", "score", "strategy", "human"])
    return table.assign(repeat=table.groupby(["item_id", "strategy", "ordering"]).cumcount().astype(str))


def beside_the_arm(table: pd.DataFrame) -> tuple[str, float, float]:
    """The note, the dependability of one call of all arms together, and that of the first arm."""
    findings = Findings(read_scores(table, name="d"))
    study = next(one for one in findings["generalisability"].studies if not one.people)
    note = next((text for text in study.warnings if text.startswith("Every read of")), "")
    own = findings["alignment"].arms[0].reliability if findings["alignment"].arms else None
    return note, study.plans[0].absolute, float("nan") if own is None else own.one


def test_why_the_dependability_of_a_judge_is_not_that_of_its_arm_is_said() -> None:
    table = scored(0.5)
    note, together, own = beside_the_arm(table)
    assert note.startswith("Every read of 2 arms counts alike here")
    assert abs(together - own) > 0.005
    one_arm = table[table["strategy"] == "balanced"]
    assert beside_the_arm(one_arm)[0].startswith("Every read of 1 arm counts alike here")


def test_one_number_takes_no_words() -> None:
    """One arm without a gap, every text rated: the same number; without ratings an arm has none."""
    whole = scored(0.0)
    note, together, own = beside_the_arm(whole[whole["strategy"] == "balanced"])
    assert note == ""
    assert together == pytest.approx(own, abs=0.01)
    assert beside_the_arm(whole.assign(human=""))[0] == ""
