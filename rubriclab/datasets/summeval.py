"""SummEval (Fabbri et al. 2021) in the two forms it is published in, and the one paired with the other.

``model_annotations.aligned.jsonl`` of its authors, one summary a line: ``id`` (``dm-test-HASH``),
``model_id`` (``M0`` to ``M23``), ``decoded`` (the summary), ``expert_annotations`` (three objects of
coherence, consistency, fluency and relevance, 1 to 5), ``turker_annotations`` (five of the same, not
read here), ``references`` (the newspaper's own summary first; ``reference`` in older copies) and
``filepath``. It leaves the articles out; the authors' own tool adds them as ``text``.

``data/summeval.json`` of the SummaC repository (Laban et al. 2022), 100 records by id:
``document`` (the article), ``claim`` (the summary), ``cnndm_id`` and ``model_name`` (as ``id`` and
``model_id`` above), ``annotations`` (the three experts' consistency), ``label``, ``cut``. Each of
SummEval's 100 articles is there once, so the one file gives the other its articles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rubriclab.datasets.published import drift, own_rubric, table_with, tables_with
from rubriclab.datasets.tables import place
from rubriclab.model import DataError, Dataset, Item
from rubriclab.model.language import tr

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
_ALIGNED = ("id", "model_id", "decoded", "expert_annotations")
_SUMMAC = ("cnndm_id", "model_name", "document", "claim", "annotations")


def read_summeval(_title: str, frames: Sequence[pd.DataFrame], _gold: str | None) -> Dataset:
    """The three experts are the human ratings, each a rating of its own.

    From the authors' file four criteria a summary, with articles where the file or a SummaC file
    beside it has them; from a SummaC file alone consistency. Raises DataError for another format.
    """
    paired = tables_with(frames, _SUMMAC)
    if paired and not tables_with(frames, _ALIGNED):
        return _read_summac(paired[0])
    frame = table_with(frames, _ALIGNED, tr("SummEval's annotations"))
    articles = {str(row["cnndm_id"]): str(row["document"]) for table in paired for row in table.to_dict("records")}
    items: list[Item] = []
    unpaired = 0
    for row, record in enumerate(frame.to_dict("records")):
        article = record.get("text") or articles.get(str(record["id"])) or ""
        unpaired += not article
        items.extend(_four_criteria(record, str(article), place(frame, row)))
    origin = f"({unpaired:,} of {len(frame):,} summaries without their article)" if unpaired else ""
    return Dataset("SummEval", tuple(items), own_rubric("summaries"), origin)


def _four_criteria(record: Mapping[Any, Any], article: str, where: str) -> list[Item]:
    experts = record["expert_annotations"]
    if not isinstance(experts, list) or not all(
        isinstance(expert, Mapping) and set(CRITERIA) <= set(expert) for expert in experts
    ):
        raise DataError(
            tr(
                "{where}, column “expert_annotations”: expected a list of {{{criteria}}}; the format of the file "
                "has changed.",
                where=where,
                criteria=", ".join(CRITERIA),
            )
        )
    references = record.get("references") or [record.get("reference")]
    best = references[0] if isinstance(references, list) else None
    return [
        _item(
            (str(record["id"]), str(record["model_id"])),
            article,
            str(record["decoded"]),
            criterion,
            tuple(_rating(expert[criterion], where) for expert in experts),
            {5: str(best)} if best else {},
        )
        for criterion in CRITERIA
    ]


def _read_summac(frame: pd.DataFrame) -> Dataset:
    """Consistency alone, three ratings a summary; records of SummaC's other sets are refused."""
    items = []
    for row, record in enumerate(frame.to_dict("records")):
        where, ratings = place(frame, row), record["annotations"]
        if record.get("dataset", "summeval") != "summeval":
            raise drift(frame, tr("{where} is of “{dataset}”, not of summeval", where=where, dataset=record["dataset"]))
        if not isinstance(ratings, list) or not ratings:
            raise DataError(
                tr("{where}, column “annotations”: expected a list of ratings; the format has changed.", where=where)
            )
        text = (str(record["cnndm_id"]), str(record["model_name"]))
        human = tuple(_rating(value, where) for value in ratings)
        items.append(_item(text, str(record["document"]), str(record["claim"]), "consistency", human, {}))
    return Dataset("SummEval (consistency)", tuple(items), own_rubric("summaries", {"consistency"}))


def _item(
    text: tuple[str, str],
    article: str,
    summary: str,
    criterion: str,
    human: tuple[float, ...],
    references: Mapping[int, str],
) -> Item:
    """``text``: the article's id and the model's; together they name the summary."""
    article_id, model = text
    return Item(
        item_id=f"{article_id}:{model}:{criterion}",
        instruction=f"Summarise this news article.\n\n{article}" if article else "Summarise the article.",
        response=summary,
        criterion=criterion,
        block=f"{article_id}:{model}",
        prompt=article_id,
        candidate=model,
        task="summarisation",
        human=human,
        references=references,
    )


def _rating(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise DataError(
            tr("{where}: the expert rating {value!r} is not a number.", where=where, value=value)
        ) from error
