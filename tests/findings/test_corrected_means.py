"""Corrected means of a run: which items, which systems, what the order does, what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rubriclab.findings.corrected_means import CORRECTED_MEANS, corrected_means
from rubriclab.findings.corrected_means_words import buying_sentence, corrected_sentence
from rubriclab.findings.topics import Findings, document
from rubriclab.model import RunData
from rubriclab.report.text import as_text
from rubriclab.runs.foreign import foreign_run

NAN = np.nan


def few_rated(rated: int = 60, *, seed: int = 1, items: int = 300, strength: float = 0.8) -> RunData:
    """A judge pulled to what stands first, ten balanced reads, some items rated at random."""
    data = foreign_run("boundary", "1 fixed against 10 balanced", items=items, seed=seed, strength=strength)
    human = data.items["human"].to_numpy(copy=True)
    human[np.random.default_rng(seed).permutation(items)[rated:]] = NAN
    data.items["human"] = human
    return data


def test_the_order_moves_the_judges_mean_and_hardly_the_corrected_one() -> None:
    data = few_rated().read_as(smallest_effect=0.4)
    arm = next(arm for arm in corrected_means(data).arms if arm.arm.strategy == "balanced")
    whole = arm.systems[0]
    assert (whole.of, whole.n_items, whole.n_rated) == ("all items", 300, 60)
    plain, corrected = (np.array([getattr(one, name) for one in whole.orders]) for name in ("plain", "corrected"))
    assert len(plain) == 10
    assert np.ptp(corrected) < 0.6 * np.ptp(plain)
    assert whole.bias == pytest.approx(whole.plain - whole.corrected)
    assert "Over 10 orders" in corrected_sentence(arm, whole)
    assert whole.buying is not None
    assert whole.buying.judged < whole.buying.alone
    assert "ratings alone" in buying_sentence(whole.buying)


def test_candidates_and_criteria_have_means_of_their_own() -> None:
    data = few_rated()
    data.items["criterion"] = ["Tone", "Wit"] * 150
    systems = corrected_means(data).arms[0].systems
    assert [one.of for one in systems] == ["all items", "criterion Tone", "criterion Wit"]
    assert sum(one.n_items for one in systems[1:]) == 300


def test_where_all_are_rated_the_ratings_speak() -> None:
    data = foreign_run("latent trait", "1 fixed against 10 balanced", items=60, seed=1)
    arm = corrected_means(data).arms[0]
    whole = arm.systems[0]
    assert whole.corrected == pytest.approx(data.items["human"].mean())
    assert whole.corrected_ci == whole.rated_ci
    assert "the corrected one" not in corrected_sentence(arm, whole)
    assert any("All judged items are rated" in text for text in arm.warnings)


def test_nothing_corrected_is_said_once_an_arm() -> None:
    """Every criterion had its line of four means, of which none was corrected."""
    data = foreign_run("latent trait", "1 fixed against 10 balanced", items=60, seed=1)
    data.items["criterion"] = ["Tone", "Wit"] * 30
    text = as_text(document(Findings(data)))
    assert text.count("all 60 items are rated, so there is nothing to correct") == len(data.arms)
    assert "criterion Tone" not in text.split("Corrected means")[1].split("\n\n")[0]


def test_why_a_mean_cannot_be_corrected_is_said_once() -> None:
    data = few_rated(8)
    data.items["criterion"] = ["Tone", "Wit"] * 150
    text = as_text(document(Findings(data))).split("Corrected means")[1].split("\n\n")[0]
    assert "corrected unknown" in text
    assert text.count("8 rated items are too few") == len(data.arms)


def test_too_few_ratings_are_too_few_to_say() -> None:
    arm = corrected_means(few_rated(6)).arms[0]
    whole = arm.systems[0]
    assert "too few" in whole.why
    assert np.isnan(whole.corrected)
    assert whole.rate is None
    assert "cannot be corrected" in corrected_sentence(arm, whole)


def test_a_sample_that_was_chosen_is_doubted() -> None:
    data = few_rated(300)
    scores = data.judgments.groupby("item")["score"].mean().reindex(range(300))
    data.items["human"] = np.where(scores > 3.5, data.items["human"], NAN)
    arm = corrected_means(data).arms[0]
    assert any("do not look like a random sample" in text for text in arm.warnings)


def test_pass_rates_at_a_cut() -> None:
    data = few_rated(120)
    low, high = (corrected_means(data, cut=cut).arms[0].systems[0].rate for cut in (2.0, 5.0))
    assert low is not None
    assert high is not None
    assert low.corrected > high.corrected
    assert 0.0 <= high.corrected_ci.low <= high.corrected <= high.corrected_ci.high <= 1.0
    middle = corrected_means(data, cut=3.0).arms[0].systems[0].rate
    assert middle is not None
    assert middle.rogan_ci.low <= middle.rogan <= middle.rogan_ci.high
    assert corrected_means(data.read_as(cut=3.0)).arms[0].systems[0].rate == middle
    shared = few_rated(120)
    shared.items["prompt"] = [f"p{k // 3}" for k in range(300)]
    rate = corrected_means(shared).arms[0].systems[0].rate
    assert rate is not None
    assert np.isnan(rate.rogan)
    assert "independent" in rate.rogan_why


def test_nothing_rated_is_said() -> None:
    data = few_rated(0)
    found = corrected_means(data)
    assert found.arms == ()
    assert "No item has a human rating" in found.warnings[0]


@pytest.mark.slow
def test_the_document_stands_beside_the_arms() -> None:
    found = Findings(few_rated(20, items=60))
    entry = document(found)["corrected_means"][0]
    assert {"judge", "of", "plain", "rated", "corrected", "bias", "weight", "orders", "pass_rate", "buying"} <= set(
        entry
    )
    assert set(entry["corrected"]) == {"value", "low", "high"}
    measures = set(found.estimates().query("topic == 'corrected_means'")["measure"])
    assert {"systems.plain", "systems.corrected", "systems.bias", "systems.rate.corrected"} <= measures
    assert found.of(CORRECTED_MEANS).arms[0].systems[0].corrected == entry["corrected"]["value"]


def test_the_reference_draws_what_the_test_draws() -> None:
    """The frozen answers are of the data that tests/stats draws anew."""
    folder = Path(__file__).parents[1]
    texts = [folder / "references" / "prediction_powered.py", folder / "stats" / "test_prediction_powered.py"]
    drawn = [
        text.read_text().split("rng = np.random.default_rng(seed)")[1].split("return human[:n]")[0] for text in texts
    ]
    assert drawn[0] == drawn[1]


def test_people_who_rate_on_another_scale_correct_nothing() -> None:
    """“J's mean score is 2.84, people's 52.86: -50.02 points apart” was a difference of two scales."""
    data = few_rated()
    hundred = replace(data, items=data.items.assign(human=20.0 * data.items["human"]))
    found = corrected_means(hundred)
    assert not found.arms
    assert any("another scale" in text or "to 100" in text for text in found.warnings)
    assert corrected_means(data).arms
    assert not corrected_means(data).warnings
