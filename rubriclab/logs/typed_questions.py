"""Read typed questions and their answers in a log as judgments with probabilities.

We know both wire forms, System One's and OpenAI's. Options that are whole numbers are scores. A
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
"""An option that is a score. Names with more digits are ids."""


def decisions_in(request: Any, response: Any, judge: str = "") -> Iterator[Record | str]:
    """Yield a record for each question of a request, or why it is not a judgment.

    ``request``: has ``questions``, and what is judged as ``state`` or ``input``. ``response``: has
    ``answers``. ``judge``: the judge's name where neither names a model.
    """
    parts = _with_answers(under(request, "questions"), under(response, "answers"))
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
        kind, own_cells = made
        prompt = (
            {"role": "state", "content": state},
            {"role": "question", "content": json.dumps(question, ensure_ascii=False)},
        )
        yield Record(kind, cells | own_cells, prompt, json.dumps(answer, ensure_ascii=False))


def _with_answers(questions: Any, answers: Any) -> list[tuple[str, Any, Any]]:
    """Return (name, question, answer) of each question: by its key, or by its place in a list.

    Lists of different lengths give no answers: which answer belongs to which question is unknown.
    """
    if isinstance(questions, Mapping):
        return [
            (str(name), question, under(answers, str(name))) for name, question in questions.items()
        ]
    if not isinstance(questions, list):
        return []
    if not isinstance(answers, list) or len(answers) != len(questions):
        answers = [None] * len(questions)
    names = [name_of(under(question, "name")) for question in questions]
    return list(zip(names, questions, answers, strict=True))


def _judgment(
    state: str, name: str, question: Any, answer: Any
) -> tuple[Literal["scores", "lists"], dict[str, str]] | str:
    """Return (kind, cells) of a question's judgment, or why it is not one."""
    kind, shown = under(question, "type"), _options(question)
    if kind in ("noul", "predicate"):
        return "a yes/no question, which lists nothing whose order could matter"
    numbered = all(NUMBER.match(option) for option in shown)
    lists = kind == "choice" and not numbered
    # “|” separates the entries of an order, so no entry may have one.
    order = [name_of(option).replace("|", "/") for option in shown]
    if len(shown) < 2 or len(set(order if lists else shown)) < len(shown):
        return "a question that lists no two options"
    about = short_name(f"{name}: {state}" if name else state)
    shares: tuple[float, ...] = ()
    if under(answer, "type") != "refusal":
        given = answer if isinstance(answer, Mapping) else {}
        try:
            shares = option_shares(given, shown, score=kind == "score")
        except LabError:
            return "its answer has no probability for each option"
    best = None
    if shares:
        best = most_probable(shares, "|".join((state, name, *shown)))
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
    """Return the names of a question's options, in the order shown."""
    listed: Any = ()
    for key in ("criteria", "choices", "levels"):
        if under(question, key):
            listed = under(question, key)
            break
    return [_option_name(part) for part in listed]


def _option_name(part: Any) -> str:
    """Return the name of one option: its value, else its label, else the option itself."""
    for name in (under(part, "value"), under(part, "label")):
        if name is not None:
            return named(name)
    return named(part)


def promptfoo_decisions(result: Json, log: Source) -> Iterator[Record | str]:
    """Yield the judgments of a promptfoo result whose provider is ``openai:decisions``.

    Its questions are in the log's configuration, and its prompt is what was judged.
    """
    provider = under(result, "provider", "id") or under(result, "provider")
    own = None
    providers = under(_config(log), "providers")
    for part in providers if isinstance(providers, list) else ():
        if under(part, "id") == provider:
            own = part
            break
    questions = under(result, "prompt", "config", "questions") or under(own, "config", "questions")
    response = under(result, "response", "raw") or under(result, "response", "output")
    if isinstance(response, str):
        response = decoded(response.encode())
    request = {"questions": questions, "input": under(result, "prompt", "raw")}
    yield from decisions_in(request, response, name_of(provider).rpartition(":")[2])


@lru_cache(maxsize=1)
def _config(log: Source) -> Any:
    """Return the log's configuration, decoded only once because it holds every test."""
    return decoded(log.first.get("config"))
