"""What runs say against the truth: families of judges by hand, a small check that can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from rubriclab.__main__ import main
from rubriclab.findings.check import ALL_JUDGES, ANY_ADVICE, Check, verdict_words
from rubriclab.findings.choice import choice
from rubriclab.findings.estimates import estimates
from rubriclab.findings.plain import plain
from rubriclab.findings.topic import Advice
from rubriclab.judges.families import FAMILIES, drawn, pair_chances, score_chances, strength_for, true_shift
from rubriclab.model import LabError
from rubriclab.runs import check_truth as settings
from rubriclab.runs import check_verdicts as runs
from rubriclab.runs.check_truth import Cell, cells
from rubriclab.runs.check_verdicts import check_verdicts, checks_of
from rubriclab.runs.foreign import CRITERIA, DESIGNS, axis_of, foreign_run
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import effect
from tests.calibration.run_calibration import published

ORDERS = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])


# ---------------------------------------------------------------- judges


def test_a_latent_trait_by_hand() -> None:
    family = FAMILIES["missing"]  # a logistic of scale 0.7, no tastes
    people = drawn(family, 2, places=5, leanings="none", rng=np.random.default_rng(0))
    chances = score_chances(family, people, ORDERS, strength=0.0)
    # Quality q has its centre at 4 q; the lowest score is what lies below 0.5.
    centre = 4 * people.quality[1]
    assert chances[1, 0, 0] == pytest.approx(1 / (1 + np.exp((centre - 0.5) / 0.7)))
    assert chances.sum(axis=-1) == pytest.approx(1.0)
    assert (chances[:, 0] == chances[:, 1]).all()
    # A pull of 0.8 steps to what stands first: half of it down where the lowest score does.
    pulled = score_chances(family, people, ORDERS, strength=0.8)
    assert pulled[1, 0, 0] == pytest.approx(1 / (1 + np.exp((centre - 0.4 - 0.5) / 0.7)))


def test_a_mixed_logit_by_hand() -> None:
    family = FAMILIES["mixed logit"]
    people = drawn(family, 1, places=5, leanings="own", rng=np.random.default_rng(1))
    shown = ORDERS[2]
    found = score_chances(family, people, ORDERS, strength=0.3)[0, 2]
    off = np.arange(5) - 4 * people.quality[0]
    utility = people.taste[0] - 0.4 * off**2
    utility[shown] += people.leaning[0] + np.array([0.3, 0, 0, 0, 0])
    assert found == pytest.approx(np.exp(utility) / np.exp(utility).sum())
    assert drawn(family, 4000, places=5, leanings="own", rng=np.random.default_rng(2)).leaning.std() == pytest.approx(
        1.3, rel=0.02
    )


def test_pairs_of_a_constant_judge_are_fair_and_ties_are_counted() -> None:
    constant = FAMILIES["constant"]
    people = drawn(constant, 3, places=2, leanings="own", rng=np.random.default_rng(0))
    assert pair_chances(constant, people, 5.0)[0].tolist() == [[0, 1, 0], [0, 0, 1]]
    ties = FAMILIES["ties"]
    one = drawn(ties, 1, places=2, leanings="none", rng=np.random.default_rng(0))
    tie, first, second = pair_chances(ties, one, 0.0)[0, 0]
    d = one.difference[0]
    assert first == pytest.approx(1 / (1 + np.exp(-(d - 2.0))))
    assert second == pytest.approx(1 / (1 + np.exp(d + 2.0)))
    assert tie + first + second == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "axis"), [*product(FAMILIES, ("options", "criteria", "pairwise"))])
def test_a_planted_shift_is_the_true_one(name, axis) -> None:
    places = len(CRITERIA) if axis == "criteria" else 0
    assert true_shift(name, axis, 0.0, places=places) == pytest.approx(0.0, abs=1e-9)
    if FAMILIES[name].constant:
        with pytest.raises(ValueError, match="No pull moves"):
            strength_for(name, axis, 0.2, places=places)
        return
    strength = strength_for(name, axis, 0.2, places=places)
    assert abs(true_shift(name, axis, strength, places=places)) == pytest.approx(0.2, abs=1e-6)


# ---------------------------------------------------------------- studies


def test_studies_show_the_planted_shift_and_what_is_missing() -> None:
    strength = strength_for("missing", "options", 0.5)
    data = foreign_run("missing", "10 fixed against 10 balanced", items=4_000, strength=strength)
    rows = data.judgments
    assert (rows["call"].to_numpy() == np.arange(len(rows))).all()
    assert data.unanswered == 0
    shown = [o.shown for o in data.orderings]
    mean = rows.groupby("ordering")["score"].mean()
    # The pull is towards what stands first; poor items are missing in both orders alike nearly.
    shift = mean[shown.index((1, 2, 3, 4, 5))] - mean[shown.index((5, 4, 3, 2, 1))]
    assert shift == pytest.approx(-0.5, abs=0.12)
    lost = rows["status"] != 0
    human = data.items["human"].to_numpy()[rows["item"]]
    assert lost[human < 2].mean() > 2 * lost[human > 4].mean()
    assert rows.loc[lost, "score"].isna().all()


def test_every_score_stands_where_its_row_says() -> None:
    for design in DESIGNS:
        data = foreign_run("clustered", design, items=8)
        rows = data.judgments[data.judgments["status"] == 0]
        for row in rows.itertuples():
            shown = data.orderings[row.ordering].shown
            if axis_of(design) == "options":
                assert shown[row.position - 1] == row.score
            elif axis_of(design) == "criteria":
                assert shown[row.position - 1] == data.items["criterion"][row.item]
            else:
                assert row.position in (0, 1, 2)


# ---------------------------------------------------------------- what runs say


@pytest.fixture
def short_long_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Long-run values over fewer items, where what is tested does not hang on how exact they are."""
    monkeypatch.setattr(settings, "LONG_RUN", 1_000)
    monkeypatch.setattr(settings, "PARTS", 2)
    settings.truth_of.cache_clear()
    yield
    settings.truth_of.cache_clear()


def advice(question: str, low: float, high: float) -> Advice:
    made = effect((low + high) / 2, Interval(low, high), 0.1)
    return Advice(("judge", "families", ""), question, question, "", made, primary=True)


def test_what_is_false_by_hand() -> None:
    truth = settings.Truth({"moved": 0.2, "still": 0.005, "between": 0.05}, None)  # type: ignore[arg-type]
    twice, lean = (Cell("ties", "prompt forms", 30, plant) for plant in ("twice", "own leanings"))
    said = [advice("moved", -0.05, 0.05), advice("still", 0.11, 0.3), advice("between", 0.11, 0.3)]
    row = runs._said(twice, said, truth)
    assert row[f"false equivalent|{ANY_ADVICE}"] == 1
    assert row["false equivalent|moved"] == 1
    assert row[f"false effect|{runs.OTHERWISE}"] == 1
    assert row["held|moved"] == 0
    assert "false effect|between" not in row
    row = runs._said(lean, said[2:], truth)
    assert row[f"false effect|{ANY_ADVICE}"] == 0
    assert runs._said(lean, said[1:], truth)[f"false effect|{ANY_ADVICE}"] == 1
    # Where nothing is planted every effect is false, whatever the number tends to.
    nothing = Cell("ties", "prompt forms", 30, "nothing")
    assert runs._said(nothing, said[2:], truth)[f"false effect|{ANY_ADVICE}"] == 1
    # The right answer in the wrong direction is false too.
    assert runs._said(twice, [advice("moved", -0.3, -0.15)], truth)["false effect|moved"] == 1


@pytest.mark.slow
@pytest.mark.usefixtures("short_long_run")
def test_what_is_fitted_to_a_part_of_the_items_is_true_on_the_mean_of_many_parts() -> None:
    cell = Cell("latent trait", "1 fixed against 10 balanced", 300, "own leanings")
    truth = settings.truth_of(cell.family, cell.design, cell.plant).estimates
    parts = [estimates("choice", choice(cell.run(2**31 + 2 + number).data)) for number in range(2)]
    mean = np.mean([part.loc[part["measure"] == "position", "value"] for part in parts], axis=0)
    places = truth[(truth["topic"] == "choice") & (truth["measure"] == "position")]
    assert places["truth"].to_numpy() == pytest.approx(mean, abs=1e-12)
    assert not truth.duplicated(settings.KEY).any()


@pytest.mark.slow
@pytest.mark.usefixtures("short_long_run")
def test_coverage_is_that_of_plain_arithmetic() -> None:
    cell = Cell("two options", "1 fixed against 10 balanced", 30, "twice")
    found = checks_of(cell, studies=8)
    share = next(c for c in found if c.method == "position: position.share")
    truth = settings.truth_of(cell.family, cell.design, cell.plant).estimates
    asked = truth[(truth["measure"] == "position.share") & (truth["level"] == "1")]
    held = []
    for number in range(8):
        shown = cell.run(runs._seed(cell, 0, number)).estimates().merge(asked, on=settings.KEY)
        held.append(((shown["low"] <= shown["truth"]) & (shown["truth"] <= shown["high"])).mean())
    # Two options: the share of the second position holds when that of the first does.
    assert share.value == pytest.approx(np.mean(held), abs=0.01)
    assert 0.5 <= share.value <= 1.0


def test_intervals_that_promise_to_hold_at_once_are_held_to_that() -> None:
    rows = [
        ("position", 0, "table", "score 1, position 1", 0.0, 1.0, ""),
        ("position", 0, "table", "score 1, position 2", 0.6, 1.0, ""),
        ("position", 1, "table", "score 1, position 1", 0.0, 1.0, ""),
        ("position", 0, "shift.ascending", "", 0.6, 1.0, ""),
        ("position", 1, "shift.ascending", "", 0.0, 1.0, ""),
        ("position", 0, "shift.mean.estimate", "", 0.0, 1.0, "effect: 97.5 % interval, smallest 0.1"),
        ("alignment", 0, "budget.mean_r", "1", 0.6, 1.0, ""),
        ("perturbation", 0, "best_agreement.gain.estimate", "letters", 0.0, 1.0, ""),
    ]
    shown = pd.DataFrame(rows, columns=[*settings.KEY, "low", "high", "note"])
    truth = settings.Truth({}, shown[settings.KEY].assign(truth=0.5))
    assert runs._held(shown, truth) == {
        # One arm of two missed in one cell, and so as a whole.
        f"position: table{runs.AT_LEAST}": 0.5,
        "position: shift.ascending": 0.5,
        f"position: shift.mean.estimate{runs.AT_LEAST}": 1.0,
        # Wider than it must be, by promise; the range of choices of reads is no interval.
        f"perturbation: best_agreement.gain.estimate{runs.CAREFUL}": 1.0,
    }


@pytest.mark.slow
@pytest.mark.usefixtures("short_long_run")
def test_what_a_study_learnt_is_held_against_what_it_does_elsewhere(monkeypatch) -> None:
    """The long run's own correction was taken for that of a study of 60: its interval held in 12 of 20."""
    monkeypatch.setattr(settings, "ELSEWHERE", 400)
    settings._elsewhere.cache_clear()
    cell, question = Cell("mixed logit", "10 fixed against 10 balanced", 60, "own leanings"), "one call"
    long_run = settings.truth_of(cell.family, cell.design, cell.plant)
    first, second = (settings.with_learnt(cell, cell.run(seed), long_run) for seed in (1, 2))
    settings._elsewhere.cache_clear()
    assert len({truth.advice[question] for truth in (long_run, first, second)}) == 3
    everything = long_run.advice.keys()
    assert [q for q in everything if first.advice[q] != long_run.advice[q]] == [question]
    rows = [truth.estimates.sort_values(settings.KEY, ignore_index=True) for truth in (long_run, first)]
    assert rows[0][settings.KEY].equals(rows[1][settings.KEY])
    other = (rows[0]["truth"] != rows[1]["truth"]) & rows[0]["truth"].notna()
    assert set(rows[0]["topic"][other]) == {"debiasing"}


def test_older_files_are_read_under_the_present_promises(tmp_path) -> None:
    check = Check("coverage", "comparison: error", "ties", "runs", 30, 5, 0.0, 900, 1.0, 0.0, (0.93, 0.97), "misses")
    line = {"family": "ties", "design": "criteria", "items": 30, "plant": "nothing", "studies": 900, "seed": 0}
    kept = tmp_path / "kept.jsonl"
    kept.write_text(json.dumps(line | {"checks": [plain(check)]}) + "\n")
    (read,) = runs.finished(kept)
    assert (read.method, read.standing) == (f"comparison: error{runs.CAREFUL}", "holds")


def test_verdicts_and_coverage_of_a_setting_may_stand_in_two_files(tmp_path) -> None:
    wanted = cells(families=["constant"], designs=["pairs, both orders"], items=[15])
    files = tmp_path / "verdicts.jsonl", tmp_path / "coverage.jsonl"
    check_verdicts(wanted, studies=4, kept=files[0], coverage=False)
    check_verdicts(wanted, studies=2, kept=files[1])
    found = runs.finished(*files)
    assert {c.studies for c in found if c.method == ANY_ADVICE} == {4}
    assert {c.studies for c in found if c.method == "comparison: pc"} == {2}


def test_pairs_that_lean_together_answer_one_prompt() -> None:
    """Each was its own prompt before, and the intervals took them for independent."""
    prompts = foreign_run("clustered", "pairs, both orders", items=8).items["prompt"]
    assert prompts.nunique() == 2
    assert foreign_run("latent trait", "pairs, both orders", items=8).items["prompt"].nunique() == 8


@pytest.mark.slow
@pytest.mark.usefixtures("short_long_run")
def test_a_check_that_was_stopped_goes_on_where_it_was(tmp_path) -> None:
    kept = tmp_path / "kept.jsonl"
    wanted = cells(families=["boundary", "constant"], designs=["pairs, both orders"], items=[15])
    assert len(wanted) == 4
    steps: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        steps.append((done, total))
        if done == 2:
            raise LabError("Stopped by you after 2 of 4 steps.")

    with pytest.raises(LabError, match="Stopped by you"):
        check_verdicts(wanted, studies=3, kept=kept, progress=stop)
    assert len(kept.read_text().splitlines()) == 2
    whole = check_verdicts(wanted, studies=3, kept=kept)
    assert len(kept.read_text().splitlines()) == 4
    assert repr(whole) == repr(check_verdicts(wanted, studies=3))
    check_verdicts(wanted[:1], studies=5, kept=kept)
    sizes = [check.studies for check in runs.finished(kept) if check.method == ANY_ADVICE]
    assert sizes[0] == 5, "of two checks of one seed the larger counts"
    assert set(sizes[1:]) == {3}
    kept.write_text("no setting\n")
    with pytest.raises(LabError, match=r"Line 1 of .* is no finished setting"):
        check_verdicts(wanted, studies=3, kept=kept)


def test_finished_settings_of_what_pulls_are_kept_beside_those_of_whole_runs(tmp_path) -> None:
    kept = tmp_path / "kept.jsonl"
    cell = Cell("ties", "criteria", 15, "nothing")
    check = runs._rate(cell, "false effect", ANY_ADVICE, np.array([0.0, 1.0]), (0.0, 0.05))
    row = {**asdict(cell), "studies": 2, "seed": 0, "checks": [plain(check)]}
    kept.write_text(json.dumps(row) + "\n")
    settings = [{"family": "ties", "items": 16}, {"family": "ties", "items": 16, "plant": "labels", "shift": 0.5}]
    worked: list[dict[str, object]] = []

    def work(**asked: object) -> tuple[Check, ...]:
        worked.append(asked)
        return (replace(check, way="what pulls", design=str(asked.get("plant"))),)

    def all_of(studies: int = 3) -> list[tuple[Check, ...]]:
        return [part() for part in runs.kept_pulls(settings, work, studies=studies, seed=0, kept=kept)]

    stopped, _ = runs.kept_pulls(settings, work, studies=3, seed=0, kept=kept)
    first = stopped()
    assert worked == [{"family": "ties", "items": 16, "studies": 3, "seed": 0}]
    assert all_of()[0] == first
    assert [one.get("plant") for one in worked] == [None, "labels"], "what was finished is not worked out again"
    assert all_of() == all_of()
    assert len(worked) == 2
    all_of(studies=4)
    assert len(worked) == 4, "another size is another setting"
    assert [one.way for one in runs.finished(kept)] == ["runs"], "no setting of a whole run"
    kept.write_text('{"pulls": {"family": "ties"}, "studies": 3}\n')
    with pytest.raises(LabError, match=r"Line 1 of .* is no finished setting"):
        all_of()


def test_published_checks_keep_every_rate_and_every_miss() -> None:
    def made(quantity, method, value, standing) -> Check:
        return Check(
            quantity, method, "ties", "runs", 30, 5, 0.0, 100, value, 0.01, (0.93, 0.97), standing, "prompt forms"
        )

    given = [
        made("false effect", ANY_ADVICE, 0.08, "misses"),
        made("coverage", "position: share", 0.95, "holds"),
        made("coverage", "position: share", 0.75, "misses"),
    ]
    kept = published(given)
    assert kept[:2] == (given[0], given[2])
    assert (kept[2].judge, kept[2].value, kept[2].studies) == (ALL_JUDGES, pytest.approx(0.85), 200)
    assert (kept[2].accepted, kept[2].standing) == ((0.93, 0.97), "misses")
    said = verdict_words(kept)
    assert "“effect” in 8.0% of 100 runs" in said[0]
    assert "By size: 8.0% of 100 runs of 30 items." in said[0]
    assert "30 items: of 1 kinds of interval" in said[1]
    assert "1 clearly too seldom, 0 clearly too often" in said[1]
    assert "1 kinds of interval held the long-run value clearly too seldom, 0" in said[2]


def test_studies_of_several_seeds_are_put_together(tmp_path) -> None:
    """Only those of the seed with the most studies counted."""
    files = []
    samples = {1: [0, 0, 0, 1], 2: [0, 1], 3: [1]}
    cell = Cell("ties", "criteria", 15, "nothing")
    for seed, values in samples.items():
        check = runs._rate(cell, "false effect", ANY_ADVICE, np.array(values, dtype=float), (0.0, 0.05))
        row = {**asdict(cell), "studies": len(values), "seed": seed, "checks": [plain(check)]}
        files.append(tmp_path / f"{seed}.jsonl")
        files[-1].write_text(json.dumps(row) + "\n")
    (found,) = runs.finished(*files)
    every = np.concatenate(list(samples.values()))
    assert (found.studies, found.value) == (7, pytest.approx(every.mean()))
    assert found.se == pytest.approx(every.std(ddof=1) / np.sqrt(7))
    assert found.standing == "cannot say"


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_no_family_stops_a_run_from_speaking(design) -> None:
    """Every family under every design, small enough to meet every edge: no warning, no fault."""
    for cell in cells(designs=[design], items=[15], plants=["nothing", "twice"]):
        found = cell.run(7)
        found.advice()
        assert len(found.estimates())


@pytest.mark.slow
@pytest.mark.usefixtures("short_long_run")
def test_command_checks_whole_runs(capsys, tmp_path, monkeypatch) -> None:
    # What the command checks without --all is a golden document.
    monkeypatch.setattr("rubriclab.runs.check.array_checks", lambda *_, **__: ())
    monkeypatch.setattr("rubriclab.runs.check.pulls_checks", lambda *_, **__: ())
    kept = tmp_path / "kept.jsonl"
    asked = [
        "check-methods",
        "--all",
        "--quick",
        "--family",
        "constant",
        "--design",
        "criteria",
        "--sizes",
        "15",
        "--items",
        "12",
        "--options",
        "2",
        "--kept",
        str(kept),
        "--json",
    ]
    assert main(asked) == 0
    first = json.loads(capsys.readouterr().out)["checks"][0]
    assert (first["quantity"], first["method"], first["value"]) == ("false effect", ANY_ADVICE, 0)
    assert main([*asked[:3], "--family", "clever", "--kept", str(kept)]) == 1
    assert "“clever” is none of the families" in capsys.readouterr().err
