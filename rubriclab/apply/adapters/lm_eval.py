"""lm-eval: a judge card as ``process_results`` of a task. A file beside the task's YAML::

    from rubriclab.apply.adapters.lm_eval import calls, of_card

    process_results = of_card("judge.card.json", base_url="http://127.0.0.1:8000/v1")

The metric ``judge`` is the score on the card's own scale; a document without a judgment has NaN there, which
lm-eval's aggregation ``nanmean`` leaves out, and counts in ``judge_unread``. ``judge_card`` holds every prompt
and reply for the logged samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rubriclab.apply import CardJudge, ItemError, load
from rubriclab.apply.adapters.shared import RECORD, Verdict, checked, item_of, refused, verdict

MakeItem = Callable[[Mapping[str, Any], str], Mapping[str, Any]]
Process = Callable[[Mapping[str, Any], Sequence[Any]], dict[str, Any]]


def of_card(
    card: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    served: str | None = None,
    cure: str | None = None,
    criterion: str | None = None,
    value: str = "score",
    columns: Mapping[str, str] | None = None,
    item: MakeItem | None = None,
) -> Process:
    """A task's ``process_results``: metrics by name for one document and the model's one answer.

    ``columns``: which columns of a document are the item's ``instruction`` and ``target`` (by those names
    themselves unless said). ``item``: what of the item differs, from the document and the answer.
    Of a card that scores all criteria in one call the metrics are ``judge`` and ``judge_CRITERION``.

    Raises CardError: the card, the address or the key cannot be used.
    """
    judge = load(card, base_url=base_url, key_env=key_env, model=served, cure=cure)
    checked(judge, value=value, criterion=criterion)
    names = {"instruction": "instruction", "target": "target", **(columns or {})}

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        response = str(results[0])
        about = _item(judge, names, doc, response, criterion) | dict(item(doc, response) if item else {})
        try:
            return _metrics(
                judge, verdict(judge, about, judge.score(about), value=value, criterion=criterion), criterion
            )
        except ItemError as fault:  # an exception here would end the whole run
            return _metrics(judge, refused(judge, about, fault), criterion)

    return process_results


def _item(
    judge: CardJudge, names: Mapping[str, str], doc: Mapping[str, Any], response: str, criterion: str | None
) -> dict[str, Any]:
    return item_of(
        judge.card,
        instruction=str(doc.get(names["instruction"]) or ""),
        response=response,
        target=str(doc.get(names["target"]) or ""),
        columns={name: part for name, part in doc.items() if name not in names.values()},
        criterion=criterion,
    )


def _metrics(judge: CardJudge, told: Verdict, criterion: str | None) -> dict[str, Any]:
    """The same metrics for every document, whatever could be read."""
    known = dict.fromkeys(judge.card.criteria if criterion is None else ()) | dict(told.criteria)
    parts = {f"judge_{name}": _number(score) for name, score in known.items()}
    unread = {"judge_unread": float(told.score is None)}
    return {"judge": _number(told.score), **parts, **unread, RECORD: dict(told.record)}


def _number(score: float | None) -> float:
    return math.nan if score is None else score


def calls(records: Sequence[Mapping[str, Any]]) -> int:
    """Aggregation of ``judge_card``, whose values are records and have no mean: how many calls were made."""
    return sum(len(record["reads"]) for record in records)
