"""Read typed questions and their answers in a log as judgments with probabilities.

Both wire forms are known, System One's and OpenAI's. Options that are whole numbers are scores; a
choice between names is a choice from a list. A yes/no question lists nothing whose order could
matter.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from rubriclab.logs.source import Json, Record, Source, decoded, name_of, short_name, under
from rubriclab.model.decision import most_probable, named, option_shares
from rubriclab.model.text import LabError

NUMBER = re.compile(r"-?\d{1,7}\Z")


def decisions_in(request: Any, response: Any, judge: str = "") -> Iterator[Record | str]:
    """A record for each question of a request, or why it is none. ``request``: has ``questions``
    and what is judged as ``state`` or ``input``; ``response``: has ``answers``. A missing model is
    ``judge``.
    """
    questions, answers = under(request, "questions"), under(response, "answers")
    if isinstance(questions, Mapping):
        parts = [
            (str(name), question, under(answers, str(name))) for name, question in questions.items()
        ]
    else:
        asked = questions if isinstance(questions, list) else []
        whole = isinstance(answers, list) and len(answers) == len(asked)
        parts = [
            (name_of(under(part, "name")), part, answers[k] if whole else None)
            for k, part in enumerate(asked)
        ]
    if not parts:
        yield "it holds no questions"
    judged = under(request, "state") or under(request, "input")
    state = judged if isinstance(judged, str) else json.dumps(judged, ensure_ascii=False)
    cells = {"judge": name_of(under(response, "model") or under(request, "model")) or judge}
    for name, question, answer in parts:
        made = _judgment(state, name, question, answer)
        if isinstance(made, str):
            yield made
            continue
        prompt = (
            {"role": "state", "content": state},
            {"role": "question", "content": json.dumps(question, ensure_ascii=False)},
        )
        yield Record(made[0], cells | made[1], prompt, json.dumps(answer, ensure_ascii=False))


def _judgment(
    state: str, name: str, question: Any, answer: Any
) -> tuple[Literal["scores", "lists"], dict[str, str]] | str:
    """(kind, cells) of a question's judgment, or why it is none."""
    kind, shown = under(question, "type"), _options(question)
    if kind in ("noul", "predicate"):
        return "a yes/no question, which lists nothing whose order could matter"
    numbered = all(map(NUMBER.match, shown))
    lists = kind == "choice" and not numbered
    order = [name_of(option).replace("|", "/") for option in shown]
    if len(shown) < 2 or len(set(order if lists else shown)) < len(shown):
        return "a question that lists no two options"
    about = short_name(f"{name}: {state}" if name else state)
    shares: tuple[float, ...] = ()
    if under(answer, "type") != "refusal":
        try:
            shares = option_shares(
                answer if isinstance(answer, Mapping) else {}, shown, score=kind == "score"
            )
        except LabError:
            return "its answer has no probability for each option"
    best = most_probable(shares, "|".join((state, name, *shown))) if shares else None
    if lists:
        winner = "" if best is None else order[best]
        return "lists", {"question_id": about, "order": "|".join(order), "winner": winner}
    scores = shown if numbered else [str(k) for k in range(1, len(shown) + 1)]
    cells = {"item_id": about, "block": short_name(state), "ordering": " ".join(scores)}
    if best is not None:
        expected = math.fsum(
            share * int(score) for share, score in zip(shares, scores, strict=True)
        )
        cells |= {"score": scores[best], "expected": f"{expected:.9g}"}
    return "scores", cells


def _options(question: Any) -> list[str]:
    """What the options are called, in the order shown."""
    listed = next(
        (under(question, key) for key in ("criteria", "choices", "levels") if under(question, key)),
        (),
    )
    called = ([under(part, "value"), under(part, "label"), part] for part in listed)
    return [named(next((name for name in own if name is not None), None)) for own in called]


def promptfoo_decisions(result: Json, log: Source) -> Iterator[Record | str]:
    """Of a result whose provider is ``openai:decisions``: its questions stand in the log's
    configuration, what was judged is its prompt.
    """
    provider = under(result, "provider", "id") or under(result, "provider")
    parts = under(_config(log), "providers")
    own = (
        next((part for part in parts if under(part, "id") == provider), None)
        if isinstance(parts, list)
        else None
    )
    questions = under(result, "prompt", "config", "questions") or under(own, "config", "questions")
    response = under(result, "response", "raw") or under(result, "response", "output")
    response = decoded(response.encode()) if isinstance(response, str) else response
    request = {"questions": questions, "input": under(result, "prompt", "raw")}
    yield from decisions_in(request, response, name_of(provider).rpartition(":")[2])


@lru_cache(maxsize=1)
def _config(log: Source) -> Any:
    """Decoded once: it holds every test of the log."""
    return decoded(log.first.get("config"))
