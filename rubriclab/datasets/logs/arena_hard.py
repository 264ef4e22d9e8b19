"""Arena-Hard's judgments: a model against the baseline, in both orders.

Shapes (lmarena/arena-hard-auto, ``gen_judgment.py``). Version 0.1: ``question_id, model, judge, games:
[{user_prompt, judgment, score}, ...]``; the baseline is not named in it and is called “baseline”. Version
2.0: ``uid, category, judge, model, baseline, games: [{score, judgment: {answer}, prompt: messages}, ...]``,
a game null where the call failed; category is the task. In both the baseline stands first in game 1 and the
model in game 2, and ``score`` (A>>B, A>B, A=B, B>A, B>>A, null) is written in the order shown. A judge that
was not run on pairs has one game with a number.

Written from the source; tested on records of that shape, not on a published file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.logs.verdicts import PREFERENCE, UNKNOWN, lacks, name_of, place, prompted_pair
from rubriclab.model.language import msg

FIELDS = ("model", "judge", "games")
_IDS = ("question_id", "uid")
_NO_RECORD = msg("no judgment of Arena-Hard: it lacks a question_id or uid, a model, a judge or a list of games")
_NO_GAME = msg("the call failed (the game is null)")
_NO_WORD = msg("the score is none of A>>B, A>B, A=B, B>A, B>>A")
_NUMBER = msg("the score is a number: one answer was rated, no pair was shown")
_MORE = msg("a third game, whose order is not known")


def _matches(source: Source) -> bool:
    return source.has(*FIELDS) and any(source.has(key) for key in _IDS)


def _read(source: Source) -> Records:
    for line, record in source.records():
        games = record.get("games")
        if lacks(record, "model", "judge") or all(lacks(record, key) for key in _IDS) or not isinstance(games, list):
            yield Unread(line, _NO_RECORD)
        else:
            for number, game in enumerate(games or [None]):
                yield _game(line, record, number, game)


def _game(line: int, record: Mapping[str, Any], number: int, game: Any) -> Logged | Unread:
    if number > 1:
        return Unread(line, _MORE)
    if not isinstance(game, Mapping):
        return Unread(line, _NO_GAME)
    score = game.get("score")
    chosen = place(score, PREFERENCE)
    if chosen == UNKNOWN:
        return Unread(line, _NUMBER if isinstance(score, int | float) else _NO_WORD)
    names = name_of(record.get("baseline")) or "baseline", name_of(record["model"])
    prompt = _prompt(game)
    instruction, responses = prompted_pair(prompt) or ("", ())
    judgment = game.get("judgment")
    return Logged(
        axis="pairwise",
        judge=name_of(record["judge"]),
        line=line,
        question=next(name_of(record[key]) for key in _IDS if not lacks(record, key)),
        shown=names if number == 0 else names[::-1],
        chosen=chosen,
        task=name_of(record.get("category")),
        prompt=prompt,
        reply=text_of(judgment.get("answer") if isinstance(judgment, Mapping) else judgment),
        instruction=instruction,
        responses=responses,
        order_from=msg("the number of the game"),
    )


def _prompt(game: Mapping[str, Any]) -> str:
    """The user's part of what was asked: a text, messages, or a text with pictures."""
    asked = game.get("user_prompt", game.get("prompt"))
    for part in reversed(asked) if isinstance(asked, list) else ():
        if isinstance(part, Mapping) and part.get("role") == "user":
            return text_of(part.get("content"))
    return text_of(asked)


ARENA_HARD = LogFormat(
    msg("Arena-Hard: judgments against the baseline"), msg("uid or question_id, model, judge, games"), _matches, _read
)
