"""What the adapters have in common: a tool's texts become an item, and what was judged becomes its numbers.

Pure functions; standard library alone. A missing judgment is never a number here: ``Verdict.score`` is None,
and ``Verdict.why`` says why in words that each tool shows in its own way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rubriclab.apply import CardError, CardJudge, ItemError, Judged
from rubriclab.apply.card import Card
from rubriclab.apply.combine import Read, Scored
from rubriclab.model.wording import many

Value = Literal["score", "expected"]
"""Which number is a tool's score: the mean of the scores named, or of the expected ones."""
RECORD = "judge_card"
"""The name of the record in a tool's log, which ``rubriclab import`` reads."""
FIRST, SECOND = "response", "baseline"


@dataclass(frozen=True)
class Verdict:
    """What a tool gets for one item.

    ``score``: on the card's own scale (of a pair the share for its first candidate, 0 to 1); ``share``: the same
    from 0, the lowest score, to 1. ``criteria``: where all are scored in one call, each one's score or None.
    ``why``: why there is no score. ``record``: all that was asked and answered, as JSON's values.
    """

    score: float | None
    share: float | None
    criteria: Mapping[str, float | None]
    shares: Mapping[str, float]
    words: str
    why: str
    record: Mapping[str, Any]


def checked(judge: CardJudge, *, value: str = "score", criterion: str | None = None) -> None:
    """Raises CardError for a number or a criterion that the card cannot give."""
    card = judge.card
    if value not in get_args(Value):
        raise CardError(f"value is “{value}”; expected “score” or “expected”.")
    if value == "expected" and (card.axis == "criteria" or not card.probabilities):
        raise CardError("The card's judge is not asked for token probabilities: it has no expected score.")
    names = [one.name for one in card.rubric.criteria] if card.rubric else []
    if criterion is not None and criterion not in names:
        raise CardError(f"The card has no criterion “{criterion}”; it has {', '.join(names) or 'none'}.")


def item_of(
    card: Card,
    *,
    instruction: str,
    response: str,
    target: str = "",
    columns: Mapping[str, Any] | None = None,
    criterion: str | None = None,
) -> dict[str, Any]:
    """An item from a tool's texts.

    ``target``: the answer that the tool expects. It is the reference answer of the best score where the card
    shows that one, and what a response is compared with where the card compares pairs and no column
    “baseline” holds another text. ``columns``: what else the tool knows of the case; numbers and texts are kept.
    """
    plain = {
        str(name): part
        for name, part in (columns or {}).items()
        if isinstance(part, str | int | float) and not isinstance(part, bool)
    }
    if card.axis == "pairwise":
        second = str(plain.pop(SECOND, "") or target)
        pair = {"instruction": instruction, "responses": [response, second] if second else []}
        return {**_named(plain, "item_id", "prompt", "task"), **pair, "columns": plain}
    item = {**_named(plain, "item_id", "criterion", "block", "prompt", "candidate", "task"), "columns": plain}
    best = max(card.scores, default=None)
    if target and best is not None and card.reference in ("best", best):
        item["references"] = {best: target}
    if criterion is not None:
        item["criterion"] = criterion
    return {**item, "instruction": instruction, "response": response}


def _named(columns: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: columns[name] for name in names if name in columns}


def verdict(
    judge: CardJudge, item: Mapping[str, Any], judged: Judged, *, value: str = "score", criterion: str | None = None
) -> Verdict:
    """What a tool is to be given. ``criterion``: of all scored in one call this one alone."""
    criteria = {name: part.score for name, part in judged.criteria.items()}
    scored: Scored = judged
    if criterion is not None and judged.criteria:
        scored, criteria = judged.criteria[criterion], {}
    score = scored.expected if value == "expected" else scored.score
    if None in criteria.values():  # a mean over other criteria than the next item's is another number
        score = None
    why = "" if score is not None else _why(judged, criteria, value)
    return Verdict(
        score=score,
        share=None if score is None else share(judge.card, score),
        criteria=criteria,
        shares={name: share(judge.card, part) for name, part in criteria.items() if part is not None},
        words=why or _words(scored, judged),
        why=why,
        record=_record(judge, item, judged),
    )


def refused(judge: CardJudge, item: Mapping[str, Any], fault: ItemError) -> Verdict:
    """What a tool gets for an item that cannot be asked about, as an empty response: no score, and no call."""
    nothing = Judged(None, None, None, None, 0, cure=judge.cure.key, reads=(), unread=0, note=str(fault))
    why = f"No score: {fault}"
    return Verdict(None, None, {}, {}, why, why, _record(judge, item, nothing))


def share(card: Card, score: float) -> float:
    """A score from 0, the lowest of the scale, to 1, its highest; of a pair it is one already.

    A corrected call may lie a little beyond the scale's ends; tools take no more than 0 to 1.
    """
    if card.axis == "pairwise":
        return score
    low, high = min(card.scores), max(card.scores)
    return min(max((score - low) / (high - low), 0.0), 1.0)


def _why(judged: Judged, criteria: Mapping[str, float | None], value: str) -> str:
    missing = [name for name, score in criteria.items() if score is None]
    if missing and len(missing) < len(criteria):
        return f"No score: {', '.join(missing)} could not be read in any reply."
    faults = [read.error or read.status for read in judged.reads if read.status != "ok"]
    if not faults and value == "expected":
        return "No score: not every reply came with token probabilities."
    last = f" The first of them: {faults[0][:300]}" if faults else ""
    return f"No score: {judged.unread} of {many(len(judged.reads), 'reply')} gave no answer.{last}"


def _words(scored: Scored, judged: Judged) -> str:
    """The interval stands behind the mean that it is of: the expected scores' where there are any."""
    between = "" if scored.low is None else f" (95 % interval over orders {scored.low:.2f} to {scored.high:.2f})"
    parts = [f"score {scored.score:.2f}" + (between if scored.expected is None else "")]
    if scored.expected is not None:
        parts.append(f"expected score {scored.expected:.2f}{between}")
    parts.append(f"{len(judged.reads) - judged.unread} of {many(len(judged.reads), 'reply')} read")
    return f"Judge card, way “{judged.cure}”: {'; '.join(parts)}."


# ---------------------------------------------------------------- the record


def _record(judge: CardJudge, item: Mapping[str, Any], judged: Judged) -> dict[str, Any]:
    card = judge.card
    texts = [item.get("instruction"), item.get("turns"), item.get("response"), item.get("responses")]
    digest = hashlib.sha256(json.dumps(texts, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    return {
        "card": card.raw["digest"],
        "judge": card.judge.name,
        "model": card.judge.model,
        "axis": card.axis,
        "item": str(item.get("item_id") or digest.hexdigest()[:16]),
        "criterion": str(item.get("criterion") or ""),
        "cure": judged.cure,
        **{name: getattr(judged, name) for name in ("score", "expected", "low", "high", "n", "unread", "winner")},
        "note": judged.note,
        "criteria": {name: asdict(part) for name, part in judged.criteria.items()},
        "reads": [_read(read) for read in judged.reads],
    }


def _read(read: Read) -> dict[str, Any]:
    plain = {name: part for name, part in vars(read).items() if part is not None and part not in ((), {})}
    plain["order"] = list(read.order)
    plain["messages"] = [dict(message) for message in read.messages]
    if read.by_score is not None:
        plain["by_score"] = list(read.by_score)
    return plain


def tokens(judged: Mapping[str, Any]) -> tuple[int, int]:
    """Tokens in and out over the reads of a record, as far as the server says."""
    reads: Sequence[Mapping[str, Any]] = judged["reads"]
    return sum(read.get("tokens_in", 0) for read in reads), sum(read.get("tokens_out", 0) for read in reads)
