"""Protocols keep their contract, and the plan takes a new one without knowing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest

from rubriclab.model import (
    Axis,
    Comparison,
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    Reply,
    Rubric,
    ScoreOption,
    Strategy,
    Study,
    StudyError,
    designs,
)
from rubriclab.model.designs import Balanced, Option
from rubriclab.study.plan import plan
from rubriclab.study.protocols import PROTOCOLS, Prompt
from rubriclab.study.protocols.options import Options

SCALE = (ScoreOption(1), ScoreOption(2), ScoreOption(3))
RUBRIC = Rubric("Style", tuple(Criterion(name, SCALE) for name in ("clarity", "depth", "tone")))
JUDGE = Judge("sim", "simulated", "simulated")
LETTERS = ("x", "y", "z")


def study(axis: Axis, strategy: Strategy | None = None) -> Study:
    """Two texts under three criteria (batches of both), or two questions with two or three answers."""
    data: Dataset
    if axis in ("options", "criteria", "batch"):
        data = Dataset("d", tuple(Item(name, "ask", f"answer {name}") for name in "ab"))
    else:
        names = LETTERS[: 2 if axis == "pairwise" else 3]
        answers = tuple((f"by {name}",) for name in names)
        data = Dataset("d", tuple(Comparison(name, ("ask",), names, answers) for name in "ab"))
    design = Design(axis=axis, strategies=(strategy or Strategy("balanced"),), batch_size=2)
    return Study("s", data, (JUDGE,), design, RUBRIC)


def test_every_axis_has_its_protocol() -> None:
    assert tuple(PROTOCOLS) == get_args(Axis)
    assert all(protocol.axis == axis for axis, protocol in PROTOCOLS.items())
    for protocol in PROTOCOLS.values():
        assert set(protocol.strategies or ()) <= set(designs.STRATEGIES)


@pytest.mark.parametrize("axis", get_args(Axis))
def test_each_call_is_about_the_items_of_one_unit_in_one_order(axis: Axis) -> None:
    planned = plan(study(axis))
    protocol = planned.protocol
    assert protocol is PROTOCOLS[axis]
    units, notes = protocol.units(planned.study)
    assert not notes
    asked = sorted(i for unit in units for i in unit.items)
    times = 2 if axis == "batch" else 1  # in a batch, and alone
    assert asked == [i for i in range(len(planned.study.dataset)) for _ in range(times)]
    about = {frozenset(unit.items) for unit in units}
    for call in planned.calls():
        assert frozenset(call.items) in about
        shown = call.ordering.shown
        assert len(set(shown)) == len(shown) == planned.arms[call.arm].n_positions
        assert len(call.ordering.labels) in (0, len(shown))


@pytest.mark.parametrize("axis", get_args(Axis))
@pytest.mark.parametrize(
    ("reply", "status", "kind"),
    [
        (Reply(error="down", kind="server_error"), "error", "server_error"),
        (Reply(text="", finish="content_filter"), "refused", "content_filter"),
        (Reply(text="I'm sorry, but I cannot judge this."), "refused", None),
        (Reply(text="It begins by", finish="length"), "truncated", None),
    ],
)
def test_a_reply_without_a_verdict_is_told_for_every_item(
    axis: Axis, reply: Reply, status: str, kind: str | None
) -> None:
    planned = plan(study(axis))
    call = next(planned.calls())
    outcomes = planned.read(call, reply).outcomes
    assert [outcome.item for outcome in outcomes] == list(call.items)
    assert {outcome.status for outcome in outcomes} == {status}
    assert kind is None or {outcome.kind for outcome in outcomes} == {kind}
    assert {outcome.score for outcome in outcomes} == {None}


class Whispered(Options):
    """The score options again, asked more quietly."""

    axis = "whispered"  # type: ignore[assignment]

    def prompt(self, *parts: object) -> Prompt | None:
        prompt = super().prompt(*parts)  # type: ignore[arg-type]
        assert prompt is not None
        quiet: tuple[Mapping[str, str], ...] = tuple(
            {**message, "content": message["content"].lower()} for message in prompt.messages
        )
        return Prompt("whispered.v1", quiet, prompt.items)


def test_a_new_protocol_is_a_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "whispered", Whispered())  # type: ignore[arg-type]
    usual, new = plan(study("options")), study("options")
    object.__setattr__(new.design, "axis", "whispered")
    planned = plan(new)
    assert planned.planned == usual.planned
    for call, other in zip(planned.calls(), usual.calls(), strict=True):
        assert call.template == "whispered.v1"
        assert call.messages[0]["content"] == other.messages[0]["content"].lower()
        assert call.ordering == other.ordering
        assert call.key != other.key
    (outcome,) = planned.read(call, Reply(text="2")).outcomes
    assert (outcome.status, outcome.score) == ("ok", 2)


class Halves(Balanced):
    """The rotations of the usual order alone."""

    def orders(self, canonical: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        return designs.rotations(canonical)

    @property
    def default_reads(self) -> int:
        return self.n


def test_a_new_strategy_is_a_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(designs.STRATEGIES, "halves", Halves)  # type: ignore[arg-type]
    planned = plan(study("options", Strategy("halves")))  # type: ignore[arg-type]
    calls = [call.ordering.shown for call in planned.calls_about(0, arm=0)]
    assert calls == [(1, 2, 3), (2, 3, 1), (3, 1, 2)]


def test_a_text_is_rated_on_its_own_scale_alone() -> None:
    five = tuple(ScoreOption(score) for score in range(1, 6))
    scales = {"clarity": SCALE, "depth": SCALE, "plot": five, "pace": five}
    rubric = Rubric("Two scales", tuple(Criterion(name, scale) for name, scale in scales.items()))
    items = tuple(
        Item(f"{block}-{name}", "ask", block, criterion=name, block=block)
        for block, names in (("essay", ("clarity", "depth")), ("story", ("plot", "pace")))
        for name in names
    )
    design = Design(axis="criteria", strategies=(Strategy("fixed", reads=1),))
    planned = plan(Study("s", Dataset("d", items), (JUDGE,), design, rubric))
    assert planned.planned == (1, 1)
    assert [(call.items, call.scores) for call in planned.calls()] == [((0, 1), (1, 2, 3)), ((2, 3), (1, 2, 3, 4, 5))]


@pytest.mark.parametrize("axis", get_args(Axis))
def test_written_orders_that_cannot_be_shown_are_told_before_the_first_call(axis: Axis) -> None:
    wrong = Strategy("custom", orderings=(("clarity", "depth", "humour"),))
    with pytest.raises(StudyError, match=r"“custom” has the ordering .*humour"):
        plan(study(axis, wrong))
