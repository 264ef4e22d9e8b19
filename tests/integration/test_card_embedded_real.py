"""A card made from the recorded example asks the embedded judge as the lab does, and gets its scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from rubriclab import apply
from rubriclab.judges.embedded import EmbeddedJudge, start_embedded
from rubriclab.model import Study
from rubriclab.study.plan import plan
from tests.cards import example, item_value

pytestmark = pytest.mark.integration
ITEMS = range(10)


async def lab(about: Study, orders: Sequence[tuple[int | str, ...]]) -> list[tuple[float, float]]:
    """Means over orders of scores and expected scores, as the lab's own judge gives them."""
    prepared = plan(about)
    judge = EmbeddedJudge(about.judges[0])
    means = []
    for item in ITEMS:
        calls = {call.ordering.shown: call for call in prepared.calls_about(item, arm=0)}
        made = [prepared.read(calls[order], await judge.ask(calls[order])).outcomes[0] for order in orders]  # type: ignore[index]
        scores, expected = [float(o.score or 0) for o in made], [float(o.expected or 0) for o in made]
        means.append((sum(scores) / len(scores), sum(expected) / len(expected)))
    await judge.close()
    return means


def test_ten_items_get_the_labs_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    card, about = example()
    server = start_embedded(about.judges[0])
    monkeypatch.setenv("RUBRICLAB_CARD_API_KEY", server.key)
    judge = apply.load(card, base_url=server.url, key_env="RUBRICLAB_CARD_API_KEY", cure="orders-2")
    try:
        judged = [judge.score(item_value(about.dataset.items[item])) for item in ITEMS]
        expected = asyncio.run(lab(about, judge.cure.orders))
    finally:
        server.close()
    assert [one.unread for one in judged] == [0] * len(ITEMS)
    assert [one.score for one in judged] == [score for score, _ in expected]
    # A prefix that the server kept from the call before changes the last digits of a probability.
    assert [one.expected for one in judged] == pytest.approx([mean for _, mean in expected], abs=0.02)
