"""One judge and data set with two option sets: each set answered apart, named, and learnt from alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest

from rubriclab.datasets.scores import read_scores
from rubriclab.findings.debiasing import debiasing
from rubriclab.findings.effects import confidence
from rubriclab.findings.frame import dataset_items
from rubriclab.findings.gate import gate
from rubriclab.findings.plain import plain
from rubriclab.findings.summary import lines, short_names
from rubriclab.findings.topic import Advice
from rubriclab.findings.topics import Findings, document
from rubriclab.model import Arm, RunData, Variant
from rubriclab.model.gate_limits import GateLimits
from rubriclab.model.option_sets import is_part_of, named_by_set, says_its_set
from rubriclab.model.wording import arm_name
from rubriclab.report.paper_data import ratings_long
from rubriclab.report.text import as_text
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive

FIVE, THREE = "J · d · 1–5", "J · d · 1–3"


def judged(n: int, items: int, pull: float, seed: int, *, rated: bool = True, candidates: int = 1) -> pd.DataFrame:
    """A latent-trait judge: log-odds fall with the distance from an item's quality, items lean by themselves.

    ``pull``: log-odds a step that higher scores gain in ascending order and lose in descending order.
    """
    rng = np.random.default_rng(seed)
    up = list(range(1, n + 1))
    turns = [up[i:] + up[:i] for i in range(n)]
    designs = {"balanced": [*turns, *(line[::-1] for line in turns)], "fixed": [up, up]}
    rows: list[dict[str, object]] = []
    for k in range(items):
        quality, leaning = rng.normal((n + 1) / 2, 1.0), 0.5 * rng.standard_t(4, n)
        people = np.clip(np.round(quality + rng.normal(0, 0.8, 2)), 1, n)
        for strategy, order in ((name, line) for name, lines_ in designs.items() for line in lines_):
            odds = -((np.array(up) - quality) ** 2) / 2 + leaning
            odds += pull * np.array(up) * ((order == up) - (order == up[::-1]))
            chance = np.exp(odds - odds.max())
            rows.append(
                {
                    "judge": "J",
                    "dataset": "d",
                    "item_id": f"{n}-{k}",
                    "ordering": " ".join(map(str, order)),
                    "score": int(rng.choice(up, p=chance / chance.sum())),
                    "strategy": strategy,
                    **({"human_1": people[0], "human_2": people[1]} if rated else {}),
                    **(
                        {"prompt": f"{n}-{k // candidates}", "candidate": f"c{k % candidates}"}
                        if candidates > 1
                        else {}
                    ),
                }
            )
    return pd.DataFrame(rows)


def run(*tables: pd.DataFrame) -> RunData:
    table = pd.concat(tables, ignore_index=True)
    repeat = table.groupby(["item_id", "strategy", "ordering"]).cumcount()
    return read_scores(table.assign(repeat=repeat).astype(str).replace("nan", ""), name="sets")


def told(data: RunData) -> dict[str, dict[str, Advice]]:
    """By setting and question."""
    found: dict[str, dict[str, Advice]] = {}
    for line in Findings(data).advice():
        found.setdefault(line.about, {})[line.question] = line
    return found


# ---------------------------------------------------------------- names


PLAIN = Variant()


def arm(scores: tuple[int, ...], judge: str = "J", variant: Variant = PLAIN, dataset: str = "d") -> Arm:
    return Arm(judge, dataset, "balanced", scores=scores, n_positions=len(scores), variant=variant)


def test_one_scale_keeps_its_names() -> None:
    arms = (arm((1, 2, 3)), arm((1, 2, 3), "K"), arm((1, 2), dataset="e"))
    assert named_by_set(arms) is arms
    # Two judges on a scale each, and a factor that changes the scale: told apart already.
    scale = Variant((("scale", 3),))
    for apart in ((arm((1, 2, 3)), arm((1, 2), "K")), (arm((1, 2, 3, 4)), arm((1, 2, 3), variant=scale))):
        assert named_by_set(apart) is apart


def test_every_scale_of_a_data_set_has_a_name() -> None:
    arms = (arm((1, 2, 3)), arm((1, 2, 3, 4, 5)), arm((1, 2, 3), "K"), arm((1, 2), dataset="e"))
    named = named_by_set(arms)
    assert [one.dataset for one in named] == ["d · 1–3", "d · 1–5", "d · 1–3", "e"]
    assert named_by_set(named) is named
    assert says_its_set("d · 1–3", (1, 2, 3))
    assert not says_its_set("d", (1, 2, 3))
    assert not says_its_set("d · 1–3", ())
    assert is_part_of("d · 1–3", "d")
    assert not is_part_of("d", "d")


def test_scales_that_share_their_ends_are_listed() -> None:
    named = named_by_set((arm((1, 3, 5)), arm((1, 2, 3, 4, 5)), arm((-1, 0, 1))))
    assert [one.dataset for one in named] == ["d · 1, 3, 5", "d · 1, 2, 3, 4, 5", "d · -1, 0, 1"]


# ---------------------------------------------------------------- answers

QUESTIONS = ("mean score", "single scores", "single order", "mitigation", "budget", "one call")


@pytest.mark.parametrize("pulls", [(0.0, 0.9), (0.6, 0.0)], ids=["three", "five"])
def test_an_effect_in_one_set_is_said_of_that_set_in_either_order(pulls: tuple[float, float]) -> None:
    five, three = judged(5, 40, pulls[0], 1), judged(3, 40, pulls[1], 2)
    forth, back = told(run(five, three)), told(run(three, five))
    assert set(forth) == set(back) == {FIVE, THREE}
    for name, lines_ in forth.items():
        assert set(lines_) == set(QUESTIONS) == set(back[name])
        moved = (name == FIVE) == (pulls[0] > 0)
        assert (lines_["mean score"].effect.verdict == "effect") == moved, name
        # No secondary answer of one set may rest on the primary one of the other.
        assert moved or all(line.effect.verdict != "effect" for line in lines_.values()), name
        for question, line in lines_.items():
            assert back[name][question].answer == line.answer, (name, question)


def test_a_set_is_answered_as_it_is_alone() -> None:
    """All but the verdicts that must hold at once: those are of more questions now, so wider."""
    five, three = judged(5, 40, 0.0, 1), judged(3, 40, 0.9, 2)
    both = told(run(five, three))
    for name, table in ((FIVE, five), (THREE, three)):
        (alone,) = told(run(table)).values()
        for question in ("single order", "budget", "one call"):
            assert both[name][question].answer == alone[question].answer, question


def test_what_is_learnt_on_one_set_is_not_tried_on_the_other() -> None:
    five, three = judged(5, 40, 0.0, 1), judged(3, 40, 0.9, 2)

    def entries(data: RunData) -> dict[str, list[object]]:
        found: dict[str, list[object]] = {}
        for entry in debiasing(data.sets_named()).entries:
            same = replace(entry, dataset="", code=0)
            found.setdefault(entry.dataset, []).append(plain(same))
        return found

    alone = {"d · 1–5": entries(run(five))["d"], "d · 1–3": entries(run(three))["d"]}
    assert entries(run(five, three)) == entries(run(three, five)) == alone


def test_the_smaller_set_first_is_told_and_not_an_error() -> None:
    data = run(judged(3, 25, 0.0, 3, rated=False), judged(5, 25, 0.0, 4, rated=False))
    text = as_text(document(Findings(data)))
    assert THREE in text
    assert FIVE in text


def test_two_sets_of_an_even_judge_share_the_false_alarms_of_one() -> None:
    alarms = 0
    for seed in range(50):
        data = run(*(judged(n, 30, 0.0, 10 * seed + n, rated=False) for n in (3, 5))).sets_named()
        assert confidence(data, "J") == pytest.approx(1 - 0.05 / 4)
        arms = Findings(data)["position"].arms
        verdicts = chain.from_iterable((one.shift.mean.verdict, one.shift.one.verdict) for one in arms)
        alarms += "effect" in verdicts
    # Of 50 runs at 5 % more than 6 have a chance of 1 %.
    assert alarms <= 6
    assert confidence(run(judged(5, 30, 0.0, 1)), "J") == pytest.approx(1 - 0.05 / 2)


# ---------------------------------------------------------------- titles


def test_no_two_settings_share_a_title() -> None:
    data = run(judged(5, 30, 0.0, 1), judged(3, 30, 0.9, 2))
    findings = Findings(data)
    titles = [arm_name(one) for one in findings.data.arms]
    assert len(set(titles)) == len(titles) == 4
    assert f"{THREE} · balanced" in titles
    compared = list(lines(findings).values())
    assert len(set(short_names(compared))) == len(compared)
    decisions = gate(data, GateLimits(max_shift=0.3)).decisions
    assert {one.about: one.outcome for one in decisions}[THREE] == "fails"
    assert len({one.about for one in decisions}) == len(decisions) == 2
    body = document(findings)
    for key in ("debiasing_gain", "generalisability", "rasch", "corrected_means"):
        named = [str((one["dataset"], one.get("judges"), one.get("strategy"))) for one in body[key]]
        assert len(set(named)) == len(named), key
    text = as_text(body)
    assert "J · d · balanced" not in text
    assert text.count("\n  d · 1–3\n") == 1


def test_people_are_not_pooled_over_scales_and_items_keep_their_data_set() -> None:
    data = run(judged(5, 24, 0.0, 1, candidates=4), judged(3, 24, 0.0, 2, candidates=4)).sets_named()
    sizes = {name: len(items) for name, items in dataset_items(data).items()}
    assert sizes == {"d · 1–5": 24, "d · 1–3": 24}
    findings = Findings(data)
    people = [one for one in findings["generalisability"].studies if one.people]
    assert [(one.dataset, one.n_items) for one in people] == [("d · 1–5", 24), ("d · 1–3", 24)]
    assert [(pair.dataset, pair.prompts) for pair in findings["ranking"].pairs] == [("d · 1–5", 6), ("d · 1–3", 6)]
    assert set(ratings_long(data)["dataset"]) == {"d"}


def test_an_item_that_nobody_read_keeps_the_plain_name() -> None:
    data = run(judged(5, 4, 0.0, 1), judged(3, 4, 0.0, 2)).sets_named()
    some = replace(data, judgments=data.judgments[data.judgments["item"] != 0])
    assert {name: len(items) for name, items in dataset_items(some).items()} == {"d": 1, "d · 1–5": 3, "d · 1–3": 4}


# ---------------------------------------------------------------- what is kept


def test_stores_and_archives_keep_the_plain_name() -> None:
    data = run(judged(5, 4, 0.0, 1), judged(3, 4, 0.0, 2))
    with Store(":memory:") as store, Store(":memory:") as other:
        name = store.import_run(data, provenance={})
        (again,) = read_archive(other, write_archive(store, name))
        for one, kept in ((store, name), (other, again)):
            assert {arm.dataset for arm in one.kept_frame(kept).arms} == {"d"}
            assert {arm.dataset for arm in one.frame(kept).arms} == {"d · 1–5", "d · 1–3"}
            assert one.offered(kept).arms == one.frame(kept).arms
            assert set(one.frame(kept).items["dataset"]) == {"d"}
        assert read_archive(other, write_archive(store, name)) == (again,)
