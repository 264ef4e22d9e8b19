"""What pulls: planted dependences are found, judges without are not accused, and every account tells it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rubriclab.__main__ import main
from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.figures.pulls import pulls_bars
from rubriclab.findings.check import pulls_words, verdict_words
from rubriclab.findings.pulls import PullsGroup, pull_sentence, pulls
from rubriclab.findings.pulls_reads import arm_reads
from rubriclab.findings.topics import Findings, document
from rubriclab.judges.effects import read_effects
from rubriclab.judges.families import FAMILIES
from rubriclab.model import STATUSES, Dataset, Item, Judge, LabError, RubricError, RunData
from rubriclab.model.rubric_changes import changed_name, changes_in
from rubriclab.report.text import as_text
from rubriclab.runs.check_pulls import PULLS_PLANTED, SHIFTS, foreign_pulls, pulls_checks, pulls_rates, pulls_settings
from rubriclab.runs.pulls import pulls_plan
from rubriclab.runs.simulated import run_simulated
from rubriclab.stats.fractional import aliases, hadamard, screening
from rubriclab.stats.screening import screened
from rubriclab.study.rubric_changes import changed, changes_of, neutral_text, padded, told_apart, without_numbers

RUBRIC = sample_rubrics()[0]
ANY_LABEL = "“effect”: any change of the label"


def asked(options: dict[str, object], *, only: frozenset[str] | None = None, items: int = 14) -> RunData:
    judge = Judge("planted", "simulated", "simulated", options={"quality_weight": 0.3, **options})
    return run_simulated(pulls_plan(sample_dataset(), RUBRIC, judge, items=items, only=only).study)


def effects(group: PullsGroup) -> set[str]:
    return {one.key for one in group.pulls if one.effect.verdict == "effect"}


# ---------------------------------------------------------------- changes


def test_texts_have_the_length_they_are_asked_for_and_keep_what_was_there() -> None:
    assert [len(neutral_text(n).split()) for n in range(1, 40)] == list(range(1, 40))
    assert padded("Good. Very good!", 8) == "Good. Very good, as it is put here!"
    assert without_numbers("3: At least 3 errors, or 50% of two") == "At least some errors, or some of some"
    even = changed(RUBRIC, ["even-lengths"]).criteria[0]
    assert len({len((o.description or "").split()) for o in even.options}) == 1
    (neutral,) = changed(RUBRIC, ["neutral-5"]).criteria
    assert neutral.describe(5) == neutral_text(len((RUBRIC.criteria[0].describe(5) or "").split()))
    assert neutral.describe(4) == RUBRIC.criteria[0].describe(4)


def test_a_name_says_what_was_changed_and_any_other_name_says_nothing() -> None:
    both = changed(RUBRIC, ["labels-roman", "neutral-2"])
    assert changes_in(both.name) == ("Helpfulness", ("neutral-2", "labels-roman"))
    assert changes_in(changed_name("A [b]", ())) == ("A [b]", ())
    assert changes_in("Tone [draft, final]")[1] == ()
    with pytest.raises(RubricError, match="cannot both be made"):
        changed(RUBRIC, ["scale-3", "scale-7"])
    assert not told_apart(RUBRIC, "neutral-2", "scale-3")  # the second of five is not among three
    assert told_apart(RUBRIC, "neutral-1", "scale-3")


# ---------------------------------------------------------------- design


@pytest.mark.parametrize("n", [4, 8, 12, 16, 20, 24])
def test_a_hadamard_matrix_is_orthogonal(n: int) -> None:
    found = hadamard(n)
    np.testing.assert_array_equal(found @ found.T, n * np.eye(n))
    assert (found[0] == 1).all()


def test_plackett_and_burman_take_twelve_arms_for_eleven_changes() -> None:
    """Every effect is the difference of two means of half the arms: variance 1/6 + 1/6, or 1/4 + 1/4."""
    design = screening(11, arms=12)
    assert len(design.arms) == 12
    np.testing.assert_allclose(design.variance, 1 / 3)
    assert (design.arms[0] == 0).all()
    whole = screening(3)  # of three changes all eight arms there are
    np.testing.assert_allclose(whole.variance, 1 / 2)
    folded = screening(3, arms=24)
    assert folded.folded
    assert aliases(folded.arms) == []
    half = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]])  # the half fraction: each effect is a pair's
    assert {(one.of, abs(round(one.share, 9))) for one in aliases(half)} == {(0, 1.0), (1, 1.0), (2, 1.0)}


def test_changes_that_exclude_each_other_are_never_made_together() -> None:
    keys = [change.key for change in changes_of(RUBRIC)]
    apart = np.array([[a != b and not told_apart(RUBRIC, a, b) for b in keys] for a in keys])
    design = screening(len(keys), apart)
    assert not any(apart[np.ix_(row > 0, row > 0)].any() for row in design.arms)
    assert np.isfinite(design.variance).all()
    assert design.economy > 2
    with pytest.raises(ValueError, match="at least 14 arms"):
        screening(len(keys), apart, arms=9)


# ---------------------------------------------------------------- effects


def test_with_nothing_missing_an_effect_is_students_t_of_the_items_own() -> None:
    """Two arms: the effect is the mean difference; with one spare arm the interval is not narrower."""
    rng = np.random.default_rng(1)
    made = np.array([[0], [1]])
    response = rng.normal(0.0, 1.0, (20, 2)) + np.array([0.0, 2.0])
    found = screened(response, made, np.arange(20))
    apart = response[:, 1] - response[:, 0]
    error = apart.std(ddof=1) / np.sqrt(20)
    assert found.estimate[0] == pytest.approx(apart.mean())
    assert found.intervals[0].high == pytest.approx(apart.mean() + 2.093024 * error, abs=1e-5)
    assert found.base == pytest.approx(response[:, 0].mean())


def test_what_two_changes_do_only_together_is_seen_over_arms() -> None:
    """The same for every item, so sure to the last digit over items; the arms give it away."""
    design = screening(5).arms
    together = 1.0 * design[:, 0] * design[:, 1]
    response = together + 0.001 * np.random.default_rng(0).normal(size=(30, len(design)))
    found = screened(response, design, np.arange(30))
    assert found.spare == len(design) - 6 >= 8
    assert (found.p_holm[2:] > 0.05).all()


def test_missing_replies_shift_nothing() -> None:
    rng = np.random.default_rng(3)
    design = screening(4).arms
    response = rng.normal(0, 3, (40, 1)) + design @ np.array([1.0, 0.0, 0.0, -2.0])
    response[rng.random(response.shape) < 0.2] = np.nan
    np.testing.assert_allclose(screened(response, design, np.arange(40)).estimate, [1, 0, 0, -2], atol=1e-9)


# ---------------------------------------------------------------- judges


@pytest.mark.parametrize(
    ("options", "key", "others"),
    [
        ({"length_by_place": 3.0}, "even-lengths", {"labels-roman", "no-criterion"}),
        ({"wording_by_place": {"Excellent": 1.5}}, "neutral-5", {"neutral-1", "no-criterion"}),
        ({"label_by_place": {"1": 2.0}}, "labels-letters", {"neutral-1", "no-criterion"}),
    ],
)
def test_a_planted_dependence_is_found_and_nothing_else_accused(
    options: dict[str, object], key: str, others: set[str]
) -> None:
    (group,) = pulls(asked(options, only=frozenset({key, *others}))).groups
    assert effects(group) == {key}
    assert group.pulls[0].key == key
    assert group.simulated


def test_constant_effects_of_texts_do_not_act_through_the_order() -> None:
    """Ascending and descending hold the same lines; what is liked wherever it stands moves no order effect."""
    found = read_effects({"length": 1.0, "wording": {"Good": 0.5}, "label": {"5": 1.0}})
    lines = ("Bad " * 10, "Good", "Fair")
    up, down = found.of_lines(("1", "2", "3"), lines), found.of_lines(("3", "2", "1"), lines[::-1])
    np.testing.assert_allclose(up, down[::-1])
    by_place = read_effects({"length_by_place": 1.0}).of_lines(("1", "2"), ("x" * 100, "x" * 200))
    np.testing.assert_allclose(by_place, [-0.5, -0.5])  # half under the mean first; half over it last


def test_a_judge_of_another_kind_is_found_and_told_in_every_account() -> None:
    data = foreign_pulls("clustered", RUBRIC, items=60, shift=1.2, planted={"even-lengths": 1.0}, seed=5)
    assert "even-lengths" in effects(pulls(data).groups[0])
    data = asked({"length_by_place": 3.0}, only=frozenset({"even-lengths", "no-criterion"}), items=8)
    (group,) = pulls(data).groups
    found = Findings(data)
    body = document(found)
    assert body["pulls"][0]["changes"][0]["sentence"].startswith("With ")
    assert "What pulls" in as_text(body)
    chart = pulls_bars(group)
    assert "equally long" in chart.alt
    assert chart.behind


@pytest.mark.slow
@pytest.mark.parametrize("family", ["latent trait", "mixed logit", "missing", "ties", "constant"])
def test_a_judge_without_is_accused_in_one_run_of_twenty_at_most(family: str) -> None:
    """40 runs: more than 6 of them has a chance below 0.01 at a rate of 0.05."""
    assert pulls_rates(family, RUBRIC, runs=40, items=16).accused * 40 <= 6


@pytest.mark.slow
def test_checks_of_what_pulls_see_a_planted_pull_and_say_so() -> None:
    """A large plant in quiet judges; a family that nothing can be planted in, for which nothing is found."""
    made = pulls_checks("ties", studies=6, items=40, plant="label", shift=0.8)
    power = {check.method: check.value for check in made if check.quantity == "power"}
    assert set(power) == {*(f"“effect”: labels-{name}" for name in ("letters", "words", "roman")), ANY_LABEL}
    assert power[ANY_LABEL] >= max(power.values()) - 1e-9
    assert power[ANY_LABEL] > 0.5
    assert power != {c.method: c.value for c in pulls_checks("ties", studies=6, items=40, plant="label", shift=0.1)}
    still = pulls_checks("constant", studies=6, items=16)
    assert [(check.quantity, check.value) for check in still] == [("false effect", 0.0), ("coverage", 1.0)]
    rates, powers = pulls_words((*made, *still))
    assert "0.0% of 6 runs of judges that nothing pulls" in rates
    assert (
        f"With 40 items “What pulls?” found a planted pull of label of 0.8 points in {power[ANY_LABEL]:.0%} of 6 runs."
        == powers
    )
    assert verdict_words(made) == ()


def test_settings_without_a_pull_are_those_of_every_family() -> None:
    short, whole = pulls_settings(whole=False), pulls_settings(whole=True)
    still = {one["family"] for one in short if "plant" not in one}
    assert set(FAMILIES) - still == {"latent trait", "clustered", "ties"}, "16 items of theirs are 4 to 6 prompts"
    assert {one["family"] for one in whole} == set(FAMILIES)
    assert {one["plant"] for one in short if "plant" in one} == set(PULLS_PLANTED)
    assert all(one in whole for one in short)
    assert {one["shift"] for one in whole if "plant" in one} == set(SHIFTS)
    assert not {"constant", "two options"} & {one["family"] for one in whole if "plant" in one}


def test_a_run_with_calls_to_wait_for_gives_no_verdict() -> None:
    data = foreign_pulls("mixed logit", RUBRIC, items=12, shift=1.0, planted={"neutral-1": 1.0})
    part = RunData(**{**data.__dict__, "judgments": data.judgments.iloc[:-20]})
    (group,) = pulls(part).groups
    assert effects(group) == set()
    assert "not finished" in group.pulls[0].effect.why


def test_a_change_that_the_judge_does_not_answer_under_takes_nothing_from_the_others() -> None:
    """Replies without a score in every arm of one change: the other effects are those of the arms that are left."""
    data = asked({"length_by_place": 3.0}, only=frozenset({"even-lengths", "labels-words", "no-criterion"}))
    without = [
        k for k, arm in enumerate(data.arms) if "labels-words" not in changes_in(str(arm.variant.get("rubric")))[1]
    ]
    rows = data.judgments
    lost = ~rows["arm"].isin(without)
    silent = rows.assign(
        status=rows["status"].mask(lost, STATUSES.index("unparsed")),
        **{name: rows[name].mask(lost) for name in ("score", "expected", "mass")},
    )
    (group,) = pulls(replace(data, judgments=silent)).groups
    (words,) = (one for one in group.pulls if one.key == "labels-words")
    assert f"{lost.sum()} of {lost.sum()} replies under it gave no score" in words.effect.why
    assert words.effect.verdict == "undecided"
    assert "nothing is told" in pull_sentence(group, words)
    assert group.outcome == "expected"
    part, whole = arm_reads(data, without), arm_reads(replace(data, judgments=silent), range(len(data.arms)))
    assert part is not None
    assert whole is not None
    np.testing.assert_array_equal(part.order, whole.order)
    assert effects(group) == {"even-lengths"}


def test_an_arm_without_token_probabilities_does_not_take_them_from_all() -> None:
    data = asked({"length_by_place": 3.0}, only=frozenset({"even-lengths", "neutral-1", "no-criterion"}))
    rows = data.judgments
    bare = replace(data, judgments=rows.assign(expected=rows["expected"].mask(rows["arm"] == len(data.arms) - 1)))
    (group,) = pulls(bare).groups
    assert group.outcome == "expected"
    assert any(text.startswith("1 more arm") for text in group.warnings)


# ---------------------------------------------------------------- the command


def test_the_plan_says_arms_and_calls_before_asking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "lab.duckdb")
    wanted = ["pulls", "sample", "--store", store, "--items", "8", "--only", "even-lengths,no-criterion", "--plan"]
    assert main([*wanted, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["calls"] == len(plan["arms"]) * 8 * 2
    assert main(["pulls", "nothing", "--store", store]) == 1
    with pytest.raises(LabError, match="calls are too few"):
        pulls_plan(sample_dataset(), RUBRIC, Judge("s", "simulated", "simulated"), budget=10)


SHORT = "too few for an interval, so nothing will be settled: 8"
CAUTIONS = [
    (40, 4, 16, ""),
    (
        *(16, 4, 16),
        f"16 items of 4 prompts, whose answers count as one each, are {SHORT} prompts are needed. Take more items, of 8 "
        "prompts or more: here some 32 items.",
    ),
    (40, 4, 5, f"5 items are {SHORT} items are needed. Ask about 8 items or more."),
    (6, 1, 6, f"6 items are {SHORT} items are needed. Take data of 8 items or more."),
]


@pytest.mark.parametrize(("items", "each", "asked", "said"), CAUTIONS)
def test_a_plan_that_can_settle_nothing_says_so_and_what_would_do(items: int, each: int, asked: int, said: str) -> None:
    texts = tuple(Item(f"i{k}", "q", f"r{k}", prompt=f"p{k // each}") for k in range(items))
    planned = pulls_plan(
        Dataset("d", texts), RUBRIC, Judge("s", "simulated", "simulated"), items=asked, only=frozenset({"even-lengths"})
    )
    assert planned.caution() == said
    data = run_simulated(planned.study)
    (group,) = pulls(data).groups
    assert group.n_units == planned.units
    assert ("too few for an interval" in group.order.why) == bool(said), "the plan's promise is the finding's"
