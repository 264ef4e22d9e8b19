"""What a reader should know of data before a judge is asked: odd texts, and ratings beside the rubric's scale."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rubriclab.model import Dataset, Item, Rubric
from rubriclab.model.language import tr

LONG = 50_000
"""Characters of a text that many a judge's context does not hold."""
LOOKED_AT = 200


def remarks(dataset: Dataset, rubric: Rubric | None = None) -> tuple[str, ...]:
    """Sentences about data that can be judged but perhaps is not what was meant; none where all is well."""
    items = [item for item in dataset.items if isinstance(item, Item)]
    if not items:
        return ()
    found = (_long(items), _objects(items), _short(items), _prompts(items), _ratings(items, rubric))
    return tuple(sentence for sentence in found if sentence)


def _long(items: Sequence[Item]) -> str:
    longest = max(items, key=lambda item: len(item.response))
    n = len(longest.response)
    if n <= LONG:
        return ""
    return tr(
        "The longest response has {n:,} characters (item “{item}”): many a judge's context does not hold it.",
        n=n,
        item=longest.item_id,
    )


def _objects(items: Sequence[Item]) -> str:
    looked = items[:LOOKED_AT]
    n = sum(_is_object(item.response) for item in looked)
    if 2 * n <= len(looked):
        return ""
    return tr(
        "The responses are JSON objects, and the judge would see them so. If a text inside is meant, choose its column."
    )


def _is_object(text: str) -> bool:
    text = text.strip()
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))) or len(text) > LONG:
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def _short(items: Sequence[Item]) -> str:
    """Numbers, ids or labels where texts were expected."""
    looked = [item.response.strip() for item in items[:LOOKED_AT]]
    n = sum(text.replace(".", "").replace("-", "").isdecimal() for text in looked)
    if len(looked) < 3 or 2 * n <= len(looked):
        return ""
    return tr(
        "{n} of the first {total} responses are bare numbers, as “{example}”: is this the column with the texts?",
        n=n,
        total=len(looked),
        example=looked[0][:20],
    )


def _prompts(items: Sequence[Item]) -> str:
    """Answers to the same instructions that nothing says belong together: each would count as one by itself."""
    if any(item.prompt is not None or item.block is not None for item in items):
        return ""
    n = len({item.instruction for item in items if item.instruction.strip()})
    if not 1 < n <= len(items) / 2:
        return ""
    return tr(
        "{responses:,} responses answer {instructions:,} instructions. Name the prompt group too (the column of the "
        "instructions will do), so that intervals count the answers to one instruction as one unit.",
        responses=len(items),
        instructions=n,
    )


def _ratings(items: Sequence[Item], rubric: Rubric | None) -> str:
    given = [rating for item in items for rating in item.human]
    if not given or rubric is None:
        return ""
    low, high = min(given), max(given)
    scores = [score for criterion in rubric.criteria for score in criterion.scores]
    if len(given) >= 20 and (high < max(scores) - 1 or low > min(scores) + 1):
        what = tr("no rating uses the rest")
    elif low < min(scores) or high > max(scores):
        what = tr("some lie outside")
    else:
        return ""
    return tr(
        "Ratings by people run from {low:g} to {high:g}, the rubric's scores from {lowest} to {highest}: "
        "{what}. Agreement and distances compare the numbers as they are; check that both mean the same "
        "scale.",
        low=low,
        high=high,
        lowest=min(scores),
        highest=max(scores),
        what=what,
    )
