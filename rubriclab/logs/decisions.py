"""Typed questions and their answers in a log in, judgments out: which options were shown in what order, and their probabilities.

In both wire forms, System One's and OpenAI's. Scores and options that are whole numbers are scores; a choice between names is
a choice from a list. A yes/no question lists nothing whose order could matter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from rubriclab.logs.source import Json, Record, Source, decoded, name_of, short_name, under

SUM_MAY_MISS = 0.02
"""How far from 1 logged probabilities may sum, as in ``judges/decisions.py``."""
NUMBER = re.compile(r"-?\d{1,7}\Z")


def decisions_in(request: Any, response: Any, judge: str = "") -> Iterator[Record | str]:
    """A record for each question of a request, or why it is none. ``request``: has ``questions`` and what is judged as
    ``state`` or ``input``; ``response``: has ``answers``. A missing model is ``judge``."""
    questions, answers = under(request, "questions"), under(response, "answers")
    if isinstance(questions, Mapping):
        parts = [(str(name), question, under(answers, str(name))) for name, question in questions.items()]
    else:
        asked = questions if isinstance(questions, list) else []
        whole = isinstance(answers, list) and len(answers) == len(asked)
        parts = [(name_of(under(part, "name")), part, answers[k] if whole else None) for k, part in enumerate(asked)]
    judged = under(request, "state") or under(request, "input")
    state = judged if isinstance(judged, str) else json.dumps(judged, ensure_ascii=False)
    judge = name_of(under(response, "model") or under(request, "model")) or judge
    for name, question, answer in parts:
        record = _judgment(state, name, question, answer)
        yield (
            record
            if isinstance(record, str)
            else Record(
                record.kind, record.cells | {"judge": judge}, record.prompt, json.dumps(answer, ensure_ascii=False)
            )
        )
    if not parts:
        yield "it holds no questions"


def _judgment(state: str, name: str, question: Any, answer: Any) -> Record | str:
    kind, shown = under(question, "type"), _options(question)
    if kind in ("noul", "predicate"):
        return "a yes/no question, which lists nothing whose order could matter"
    if len(shown) < 2 or len(set(shown)) < len(shown):
        return "a question that lists no two options"
    refused = under(answer, "type") == "refusal"
    shares = None if refused else _shares(answer, shown, by_index=kind == "score")
    if shares is None and not refused:
        return "its answer has no probability for each option"
    best = None if shares is None else shown[max(range(len(shown)), key=shares.__getitem__)]
    numbered = all(map(NUMBER.match, shown))
    about = short_name(f"{name}: {state}" if name else state)
    prompt = (
        {"role": "state", "content": state},
        {"role": "question", "content": json.dumps(question, ensure_ascii=False)},
    )
    if kind == "choice" and not numbered:
        order = [option.replace("|", "/") for option in shown]
        winner = "" if best is None else best.replace("|", "/")
        return Record("lists", {"question_id": about, "order": "|".join(order), "winner": winner}, prompt)
    scores = shown if numbered else [str(k) for k in range(1, len(shown) + 1)]
    cells = {"item_id": about, "block": short_name(state), "ordering": " ".join(scores)}
    if best is not None and shares is not None:
        expected = math.fsum(share * int(score) for share, score in zip(shares, scores, strict=True))
        cells |= {"score": scores[shown.index(best)], "expected": f"{expected:.9g}"}
    return Record("scores", cells, prompt)


def _options(question: Any) -> list[str]:
    """What the options are called, in the order shown."""
    listed = next((under(question, key) for key in ("criteria", "choices", "levels") if under(question, key)), ())
    names = ([under(part, "value"), under(part, "label"), part] for part in listed)
    return [name_of(next(name for name in own if name is not None)) for own in names]


def _shares(answer: Any, shown: list[str], *, by_index: bool) -> list[float] | None:
    """The probability of each option as shown; None where one is missing or they do not sum to 1."""
    given = under(answer, "probabilities")
    if isinstance(given, list):
        named = {name_of(under(part, "label") or under(part, "value")): under(part, "probability") for part in given}
    else:
        named = {str(name): share for name, share in given.items()} if isinstance(given, Mapping) else {}
        shown = [str(k) for k in range(len(shown))] if by_index else shown
    shares = [named.get(option) for option in shown]
    numbers = [float(share) for share in shares if isinstance(share, int | float) and 0 <= share <= 1 + SUM_MAY_MISS]
    right = len(numbers) == len(shown) == len(named) and abs(math.fsum(numbers) - 1) <= SUM_MAY_MISS
    return numbers if right else None


def promptfoo_decisions(result: Json, log: Source) -> Iterator[Record | str]:
    """Of a result whose provider is ``openai:decisions``: its questions stand in the log's configuration, what was judged
    is its prompt."""
    provider = under(result, "provider", "id") or under(result, "provider")
    parts = under(_config(log), "providers")
    own = next((part for part in parts if under(part, "id") == provider), None) if isinstance(parts, list) else None
    questions = under(result, "prompt", "config", "questions") or under(own, "config", "questions")
    response = under(result, "response", "raw") or under(result, "response", "output")
    response = decoded(response.encode()) if isinstance(response, str) else response
    request = {"questions": questions, "input": under(result, "prompt", "raw")}
    yield from decisions_in(request, response, name_of(provider).rpartition(":")[2])


@lru_cache(maxsize=1)
def _config(log: Source) -> Any:
    """Decoded once: it holds every test of the log."""
    return decoded(log.first.get("config"))
