"""Judge cards that tests share: of the recorded example, and of small studies judged by a script."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from rubriclab.judges.client import ChatClient
from rubriclab.judges.embedded import TOP_LOGPROBS
from rubriclab.model import Call, Comparison, Item, Judge, Reply, Study
from rubriclab.model.places import EXAMPLE
from rubriclab.runs.card import judge_card
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.provenance import provenance
from rubriclab.store.writer import RunWriter
from rubriclab.study.plan import plan
from tests.servers import SteadyServer, completion, token_entry

API = Judge("api", "openai", "test-model", base_urls=("http://127.0.0.1:9/v1",), price_input=1.0, price_output=4.0)


def card_of_study(study: Study, texts: Any, **how: Any) -> dict[str, Any]:
    """The card of a study whose calls ``texts(call)`` answered."""
    prepared = plan(study)
    with Store(":memory:") as store:
        run = store.open_run(prepared, provenance(prepared)).run
        with RunWriter(store, run) as writer:
            for call in prepared.calls():
                writer.put(
                    prepared.read(call, Reply(text=texts(call), tokens_in=100, tokens_out=2, model="test-model"))
                )
        store.set_state(run, "finished")
        # What was found of the judge is another test's matter, and most of the time a card takes.
        with patch("rubriclab.runs.card.Findings.advice", return_value=()):
            return judge_card(store, run, **how)


@lru_cache(maxsize=4)
def _example(arm: int) -> tuple[str, Study]:
    with Store(":memory:") as store:
        (run,) = read_archive(store, EXAMPLE.read_bytes())
        return json.dumps(judge_card(store, run, arm=arm)), store.study(run)


def example(arm: int = 0) -> tuple[dict[str, Any], Study]:
    """The card of the recorded example, fresh, and its study."""
    text, study = _example(arm)
    return json.loads(text), study


def item_value(item: Item | Comparison) -> dict[str, Any]:
    """The item as a pipeline holds it."""
    if isinstance(item, Comparison):
        value: dict[str, Any] = {"turns": list(item.turns), "responses": [list(part) for part in item.responses]}
        return value | {"references": list(item.references), "task": item.task, "columns": dict(item.columns)}
    names = ("item_id", "instruction", "response", "criterion", "block", "prompt", "candidate", "task")
    given = {name: getattr(item, name) for name in names}
    return given | {"references": dict(item.references), "columns": dict(item.columns)}


class Opinionated(SteadyServer):
    """Answers a label by a hash of the whole prompt, so that every order may get another; with chances."""

    def answer_to(self, body: dict[str, Any]) -> dict[str, Any]:
        seed = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
        weights = [1 + byte for byte in seed[:5]]
        text = str(1 + weights.index(max(weights)))
        top = {str(k + 1): -1.0 - 5.0 / weight for k, weight in enumerate(weights)}
        entries = [token_entry(text, top)] if body.get("logprobs") else None
        return completion(text, model=self.model, logprobs=entries)


def asked(call: Call) -> str:
    """A label that depends on the item and on what stands first."""
    seed = hashlib.sha256(f"{call.items}{call.ordering.shown[0]}".encode()).digest()[0]
    return call.ordering.labels[seed % len(call.ordering.labels)] if call.ordering.labels else ""


async def lab_scores(
    about: Study, url: str, items: list[int], orders: set[tuple[Any, ...]]
) -> list[tuple[float, float]]:
    """What the lab's own client gets for items under the orders: means of scores and expected scores."""
    prepared = plan(about)
    made = []
    async with ChatClient(about.judges[0], base_urls=[url], top_logprobs=TOP_LOGPROBS) as client:
        for item in items:
            calls = [c for c in prepared.calls_about(item, arm=0) if c.ordering.shown in orders]
            outcomes = [prepared.read(call, await client.ask(call)).outcomes[0] for call in calls]
            assert len(outcomes) == len(orders)
            scores, expected = [o.score for o in outcomes], [o.expected for o in outcomes]
            made.append((sum(map(float, scores)) / len(scores), sum(expected) / len(expected)))  # type: ignore[arg-type]
    return made
