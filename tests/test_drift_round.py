"""What a round of drift asks: the very calls of the run, about fewer items, on every axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import pytest

from rubriclab.model import Call, Reply, Strategy, Study
from rubriclab.runs.card import judge_card
from rubriclab.runs.drift import Round, drift_round
from rubriclab.store import Store
from rubriclab.store.provenance import provenance
from rubriclab.store.writer import RunWriter
from rubriclab.study.plan import plan
from tests.cards import API, asked
from tests.labkit import criteria_study, pairs_study, study


def round_of(made: Study, answer: Callable[[Call], str], *, anchors: int) -> tuple[Round, Round]:
    """(a round of ``anchors`` of a run of ``made``, the same once more)."""
    made = replace(made, judges=(API,))
    prepared = plan(made)
    with Store(":memory:") as store:
        run = store.open_run(prepared, provenance(prepared)).run
        with RunWriter(store, run) as writer:
            for call in prepared.calls():
                writer.put(prepared.read(call, Reply(text=answer(call), model="m")))
        store.set_state(run, "finished")
        with patch("rubriclab.runs.card.Findings.advice", return_value=()):
            card = judge_card(store, run, arm=0)
        first, second = (drift_round(store, card, run, anchors=anchors, name="again") for _ in range(2))
        return first, second


def criteria_answer(call: Call) -> str:
    return "\n".join(f"[{name}] {1 + k % 3}" for k, name in enumerate(call.ordering.shown))


def pair_answer(call: Call) -> str:
    return f"[[{call.ordering.labels[0]}]]"


@pytest.mark.parametrize(
    ("made", "answer", "each"),
    [
        (study(9, strategies=(Strategy("balanced"), Strategy("fixed", reads=4))), asked, 10 + 1),
        pytest.param(
            study(9, strategies=(Strategy("williams"), Strategy("fixed", reads=4))),
            asked,
            10 + 2,
            marks=pytest.mark.slow,
        ),
        pytest.param(study(9, strategies=(Strategy("random", reads=3),)), asked, 3, marks=pytest.mark.slow),
        pytest.param(study(9, strategies=(Strategy("balanced"),), repeats=3), asked, 2 * 10, marks=pytest.mark.slow),
        pytest.param(
            study(9, strategies=(Strategy("balanced"),), factors={"temperature": (0.0, 1.0)}),
            asked,
            10,
            marks=pytest.mark.slow,
        ),
        pytest.param(criteria_study(9), criteria_answer, 6, marks=pytest.mark.slow),
        (pairs_study(9), pair_answer, 2),
    ],
)
def test_a_round_asks_what_the_run_asked_about_some_of_its_items(
    made: Study, answer: Callable[[Call], str], each: int
) -> None:
    first, second = round_of(made, answer, anchors=4)
    assert first.study.id == second.study.id
    assert (first.calls, first.anchors.taken) == (4 * each, 4)
    before = {str(call.messages) for call in plan(replace(made, judges=(API,))).calls()}
    calls = list(plan(first.study).calls())
    assert {str(call.messages) for call in calls} <= before
    assert all(call.sampling == first_call(made).sampling for call in calls)
    assert len(first.provenance["drift"]["anchors"]) == 4
    assert first.study.name == f"Drift again {made.name}"


def first_call(made: Study) -> Call:
    return next(plan(replace(made, judges=(API,))).calls())
