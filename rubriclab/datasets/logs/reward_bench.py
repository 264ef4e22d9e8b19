"""Verdicts of generative judges on RewardBench's pairs.

RewardBench's own script (allenai/reward-bench, ``scripts/run_generative.py``) shows each pair once, in an
order drawn at random, and writes one object of columns, ``text_chosen, text_rejected, results, subset, id,
model, model_type``: a result is 1 where the chosen answer won, 0 where the rejected one did, 0.5 where no
verdict could be read. **It does not write the order down**, so such a file says nothing of it and each of
its results is counted as unread. Where the script's column ``is_shuffled`` is kept (true: the rejected answer
stood first) the order is known; columns or rows, with ``results`` or with ``winner`` A, B or error. Two rows
of one id and both orders are a pair judged in both.

Self-taught evaluators (facebookresearch/RAM, ``self_taught_evaluator/src/run_model.py``): ``prompt,
generated_output, judgment`` with model_a, model_b, tie or null; the prompt shows both answers under
“[The Start of Assistant A's Answer]”, and is what says the order. Which answer is the chosen one is not
in it, so the answers are called “answer 1” and “answer 2”, the same in both orders.

Written from the sources; tested on records of those shapes, not on published files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.logs.verdicts import (
    LETTERS,
    UNKNOWN,
    name_of,
    names_by_text,
    place,
    prompted_pair,
    question_with,
    turned,
)
from rubriclab.model.language import msg

COLUMNS = ("text_chosen", "text_rejected")
RESULTS = ("results", "winner")
LOGGED = ("prompt", "generated_output", "judgment")
_NO_PAIR = msg("no pair of RewardBench: it lacks text_chosen or text_rejected")
_NO_ORDER = msg("the file does not say which answer stood first (no column is_shuffled)")
_NO_RESULT = msg("the result is none of 0, 0.5, 1 and the winner none of A, B, tie, error")
_NO_PROMPT = msg("the prompt does not show two answers of assistants A and B")
_NO_WORD = msg("judgment is none of model_a, model_b, tie and null")
_JUDGED = {"model_a": 1, "model_b": 2, "tie": 0}
_RESULT: Mapping[float, int | None] = {1.0: 1, 0.0: 2, 0.5: None}


def _matches(source: Source) -> bool:
    pairs = source.has(*COLUMNS) and any(source.has(name) for name in RESULTS)
    return pairs or source.has(*LOGGED)


def _read(source: Source) -> Records:
    if source.has(*LOGGED):
        for line, record in source.records():
            yield _judged(line, record)
    else:
        for line, row in _rows(source):
            yield _pair(line, row)


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each pair: a record, or a row of an object of columns, of which there is one."""
    for line, record in source.records():
        ids = next((record[key] for key in (*RESULTS, "id") if isinstance(record.get(key), list)), None)
        if ids is None:
            yield line, record
        for row in range(len(ids or ())):
            yield row + 1, {key: _cell(value, row, len(ids or ())) for key, value in record.items()}


def _cell(value: Any, row: int, rows: int) -> Any:
    return value[row] if isinstance(value, list) and len(value) == rows else value


def _pair(line: int, row: Mapping[str, Any]) -> Logged | Unread:
    spoken = [_spoken(row.get(name)) for name in COLUMNS]
    if not all(answer for _, answer in spoken):
        return Unread(line, _NO_PAIR)
    shuffled = row.get("is_shuffled")
    if not isinstance(shuffled, bool):
        return Unread(line, _NO_ORDER)
    chosen = _chosen(row, shuffled)
    if chosen == UNKNOWN:
        return Unread(line, _NO_RESULT)
    names = ("rejected", "chosen") if shuffled else ("chosen", "rejected")
    answers = spoken[0][1], spoken[1][1]
    instruction = text_of(row.get("prompt")) or spoken[0][0]
    return Logged(
        axis="pairwise",
        judge=name_of(row.get("model")) or "judge",
        line=line,
        question=name_of(row.get("id")) or question_with(instruction, *answers),
        shown=names,
        chosen=chosen,
        task=name_of(row.get("subset")),
        prompt=text_of(row.get("text")),
        reply=text_of(row.get("judgement", row.get("judgment"))),
        instruction=instruction,
        responses=answers[::-1] if shuffled else answers,
        order_from=msg("field is_shuffled"),
    )


def _chosen(row: Mapping[str, Any], shuffled: bool) -> int | None:
    """The place that won."""
    winner, result = row.get("winner"), row.get("results")
    if winner == "error":
        return None
    if winner is not None:
        return place(winner, LETTERS)
    if isinstance(result, bool) or not isinstance(result, int | float) or result not in _RESULT:
        return UNKNOWN
    return turned(_RESULT[result]) if shuffled else _RESULT[result]


def _spoken(value: Any) -> tuple[str, str]:
    """(instruction, answer): of a text, or of messages of which the first asks."""
    if isinstance(value, str):
        return "", value
    turns = (
        [text_of(turn.get("content")) for turn in value if isinstance(turn, Mapping)] if isinstance(value, list) else []
    )
    return (turns[0], "\n\n".join(turns[1:])) if turns else ("", "")


def _judged(line: int, record: Mapping[str, Any]) -> Logged | Unread:
    prompt = text_of(record.get("prompt"))
    shown = prompted_pair(prompt)
    chosen = place(record.get("judgment"), _JUDGED)
    if shown is None:
        return Unread(line, _NO_PROMPT)
    if chosen == UNKNOWN:
        return Unread(line, _NO_WORD)
    instruction, answers = shown
    return Logged(
        axis="pairwise",
        judge=name_of(record.get("model")) or "judge",
        line=line,
        question=question_with(instruction, *answers),
        shown=names_by_text(*answers),
        chosen=chosen,
        prompt=prompt,
        reply=text_of(record.get("generated_output")),
        instruction=instruction,
        responses=answers,
        order_from=msg("the logged prompt"),
    )


REWARD_BENCH = LogFormat(
    msg("RewardBench: verdicts of a generative judge"),
    msg("text_chosen, text_rejected, is_shuffled, results or winner; or prompt, generated_output, judgment"),
    _matches,
    _read,
)
