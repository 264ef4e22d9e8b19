"""LLMBar's evaluator results: two outputs for an instruction, judged in both orders.

Shape (princeton-nlp/LLMBar, ``LLMEvaluator/evaluate.py``; ``evaluators/MODEL/STRATEGY/result.json``; Zeng et
al. 2024): ``input, output_1, output_2, label, results``. ``results`` is a list of rounds: a text that was
generated before (``[text, finish reason]``, no judgment), or ``{"swap = False": game, "swap = True": game}``
with ``game = {completion: [text, finish reason], winner, prompt}``. With ``swap = True`` output_2 stood
first; ``winner`` (“1”, “2” or null) is turned back to the outputs' own numbers. The swapping evaluators ask a
second time where the two disagree and show the first evaluations then: another judge, “... (synthesis)”.
Where a round has ``score_1`` the winners follow from two single ratings. ``label`` is the better output, so
the candidates are called “better” and “worse”. The file does not name the judge; its folder may.

Written from the source and a published file; tested on records of that shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread, text_of
from rubriclab.datasets.logs.source import Source
from rubriclab.datasets.logs.verdicts import UNKNOWN, lacks, name_of, names_by_text, place, question_with, turned
from rubriclab.model.language import msg

FIELDS = ("input", "output_1", "output_2", "results")
_SWAPS = ("swap = False", "swap = True")
_NO_PAIR = msg("no pair of LLMBar: it lacks an input, an output, or a list of results")
_NO_GAME = msg("no round of it has “swap = False” and “swap = True”")
_NO_WORD = msg("the winner is none of 1, 2 and null")
_RATED = msg("the winner follows from two single ratings; no pair was shown")
_NAMES = {"1": ("better", "worse"), "2": ("worse", "better")}
_PLACES = {"1": 1, "2": 2}


def _read(source: Source) -> Records:
    evaluator = _evaluator(source.place)
    for line, record in source.records():
        if lacks(record, *FIELDS[:3]) or not isinstance(record.get("results"), list):
            yield Unread(line, _NO_PAIR)
        else:
            yield from _rounds(line, record, evaluator)


def _evaluator(place: Path | bytes) -> str:
    """The evaluator by the folders that its results are published in, as GPT-4/Swap."""
    parts = place.parts if isinstance(place, Path) else ()
    at = parts.index("evaluators") + 1 if "evaluators" in parts else len(parts)
    return "/".join(parts[at:-1]) or "LLMBar evaluator"


def _rounds(line: int, record: Mapping[str, Any], evaluator: str) -> Iterator[Logged | Unread]:
    rounds = [one for one in record["results"] if isinstance(one, Mapping) and any(swap in one for swap in _SWAPS)]
    if not rounds:
        yield Unread(line, _NO_GAME)
    for number, games in enumerate(rounds):
        judge = f"{evaluator} (synthesis)" if number else evaluator
        for swapped, key in enumerate(_SWAPS):
            game = games.get(key)
            if "score_1" in games:
                yield Unread(line, _RATED)
            elif not isinstance(game, Mapping):
                yield Unread(line, _NO_GAME)
            else:
                yield _game(line, record, judge, bool(swapped), game)


def _game(line: int, record: Mapping[str, Any], judge: str, swapped: bool, game: Mapping[str, Any]) -> Logged | Unread:
    chosen = place(game.get("winner"), _PLACES)
    if chosen == UNKNOWN:
        return Unread(line, _NO_WORD)
    texts = text_of(record["output_1"]), text_of(record["output_2"])
    names = _NAMES.get(name_of(record.get("label"))) or names_by_text(*texts)
    step = -1 if swapped else 1
    completion = game.get("completion")
    said = completion[0] if isinstance(completion, list) and completion else completion
    return Logged(
        axis="pairwise",
        judge=judge,
        line=line,
        question=question_with(text_of(record["input"]), *texts),
        shown=names[::step],
        chosen=turned(chosen) if swapped else chosen,
        prompt=text_of(game.get("prompt")),
        reply=text_of(said),
        instruction=text_of(record["input"]),
        responses=texts[::step],
        order_from=msg("the fields “swap = False” and “swap = True”"),
    )


LLMBAR = LogFormat(
    msg("LLMBar: result.json of an evaluator"), ", ".join(FIELDS), lambda source: source.has(*FIELDS), _read
)
