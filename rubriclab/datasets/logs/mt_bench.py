"""MT-Bench judgments as FastChat writes them: of pairs, each in both orders, and of single answers.

Pairs (lm-sys/FastChat, ``fastchat/llm_judge/common.py``, ``play_a_match_pair``; file ``gpt-4_pair.jsonl``):
``question_id, model_1, model_2, g1_winner, g2_winner, judge [model, template], g1_user_prompt, g1_judgment,
g2_user_prompt, g2_judgment, turn, tstamp``. Game 1 shows model_1 first, game 2 model_2; the winners model_1,
model_2, tie or error are turned back to these names. With ``m1_score, m2_score`` the winners were worked out
from single scores and no pair was shown. Turn and template are the task.

Single answers (``play_a_match_single``; ``gpt-4_single.jsonl``, of which early ones have no judge):
``question_id, model, judge, user_prompt, judgment, score, turn, tstamp``. The template asks for a rating “on
a scale of 1 to 10” and lists no options: a judgment on ten options in one order, of which the spread of the
scores can be learned and nothing about the order. A score of -1 could not be read.

Written from the source and a published file of each kind; tested on records of that shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.logs.verdicts import UNKNOWN, lacks, name_of, place, prompted_pair, turned, when, whole
from rubriclab.model.language import msg, tr

PAIR_FIELDS = ("question_id", "model_1", "model_2", "g1_winner", "g2_winner")
SINGLE_FIELDS = ("question_id", "model", "user_prompt", "judgment", "score")
SCALE = tuple(str(score) for score in range(1, 11))
ONE_ORDER = msg(
    "MT-Bench's single judgments rate one answer on a scale of 1 to 10 that lists no options: how "
    "the scores spread can be learned from them, whether an order of options matters cannot."
)
_NO_PAIR = msg("no pair of MT-Bench: it lacks a question_id, model_1 or model_2")
_NO_SINGLE = msg("no single judgment of MT-Bench: it lacks a question_id or a model")
_FAILED = msg("the call failed ($ERROR$)")
_NO_WORD = msg("the winner is none of model_1, model_2, tie, error")
_FROM_SCORES = msg("the winner follows from two single scores; no pair was shown")
_NO_SCORE = msg("the score is no number from 1 to 10")
_NOT_WHOLE = msg("the score is not whole, so it is none of the ten options")
_WINNERS = {"model_1": 1, "model_2": 2, "tie": 0}
_API_ERROR = "$ERROR$"


def _read_pairs(source: Source) -> Records:
    for line, record in source.records():
        if lacks(record, *PAIR_FIELDS[:3]):
            yield Unread(line, _NO_PAIR)
        elif "m1_score" in record:
            yield Unread(line, _FROM_SCORES)
        else:
            yield from _games(line, record)


def _games(line: int, record: Mapping[str, Any]) -> Iterator[Logged | Unread]:
    for number in (1, 2):
        winner, reply = record.get(f"g{number}_winner"), record.get(f"g{number}_judgment")
        chosen = None if winner == "error" else place(winner, _WINNERS)
        if reply == _API_ERROR:
            yield Unread(line, _FAILED)
        elif chosen == UNKNOWN or winner is None:
            yield Unread(line, _NO_WORD)
        else:
            prompt = text_of(record.get(f"g{number}_user_prompt"))
            instruction, responses = prompted_pair(prompt) or ("", ())
            judge, template = _judge(record)
            names = name_of(record["model_1"]), name_of(record["model_2"])
            yield Logged(
                axis="pairwise",
                judge=judge,
                line=line,
                question=name_of(record["question_id"]),
                shown=names if number == 1 else names[::-1],
                chosen=chosen if number == 1 else turned(chosen),
                task=", ".join(part for part in (_turn(record), template) if part),
                prompt=prompt,
                reply=text_of(reply),
                instruction=instruction,
                responses=responses,
                asked=when(record.get("tstamp")),
                order_from=msg("the number of the game"),
            )


def _judge(record: Mapping[str, Any]) -> tuple[str, str]:
    """(model, template) of the judge."""
    judge = record.get("judge")
    parts = [name_of(part) for part in judge] if isinstance(judge, list) else [name_of(judge)]
    return (parts[0] if parts else "") or "judge", parts[1] if len(parts) > 1 else ""


def _turn(record: Mapping[str, Any]) -> str:
    turn = whole(record.get("turn"))
    return "" if turn is None else f"turn {turn}"


def _read_singles(source: Source) -> Records:
    if (note := tr(ONE_ORDER)) not in source.notes:
        source.notes.append(note)
    for line, record in source.records():
        yield Unread(line, _NO_SINGLE) if lacks(record, "question_id", "model") else _single(line, record)


def _single(line: int, record: Mapping[str, Any]) -> Logged | Unread:
    given = record.get("score")
    score = whole(given)
    if record.get("judgment") == _API_ERROR:
        return Unread(line, _FAILED)
    if score is None and isinstance(given, float) and 1 < given < 10:
        return Unread(line, _NOT_WHOLE)
    if score is None or not (score == -1 or 1 <= score <= 10):
        return Unread(line, _NO_SCORE)
    model, turn = name_of(record["model"]), _turn(record)
    judge, template = _judge(record)
    question = name_of(record["question_id"])
    return Logged(
        axis="options",
        judge=judge,
        line=line,
        question=": ".join(part for part in (question, turn, template, model) if part),
        shown=SCALE,
        chosen=None if score == -1 else score,
        task=turn,
        block=question,
        candidate=model,
        prompt=text_of(record.get("user_prompt")),
        reply=text_of(record.get("judgment")),
        asked=when(record.get("tstamp")),
        order_from=msg("the template's scale, which lists no options"),
    )


MT_BENCH_PAIR = LogFormat(
    msg("MT-Bench: judgments of pairs"), ", ".join(PAIR_FIELDS), lambda source: source.has(*PAIR_FIELDS), _read_pairs
)
MT_BENCH_SINGLE = LogFormat(
    msg("MT-Bench: judgments of single answers"),
    ", ".join(SINGLE_FIELDS),
    lambda source: source.has(*SINGLE_FIELDS),
    _read_singles,
)
