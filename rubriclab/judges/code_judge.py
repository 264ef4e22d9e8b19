"""The judge that is a function of the user's own: what it is given, and what its answer says.

The function gets the messages exactly as a model would, and the item as a plain mapping. It
returns text, read as a model's would be; or a score; or a mapping of ``text`` or ``score`` with
``probabilities`` and ``tokens``. It never sees what people rated.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from rubriclab.judges.addresses import read_key
from rubriclab.judges.base import in_own_thread
from rubriclab.judges.code_entry import SHA256, check_code, check_pinned, find_entry
from rubriclab.judges.code_process import CodeFault, CodeProcess
from rubriclab.judges.faults import fault, redact, without_secrets
from rubriclab.judges.reading import MAX_TEXT, too_long
from rubriclab.model import Call, Comparison, Item, Judge, Reply, RubricError, Study
from rubriclab.model.answers import compose
from rubriclab.model.storable import storable_reply

_ANSWER = ("text", "score", "probabilities", "tokens")
_NOT_GIVEN = frozenset({"human", "raters", "references"})
"""Fields of an item that its judge must not see: what it is compared with."""


class CodeJudge:
    """Asks the function; made inside the event loop that uses it.

    A plain function runs in ``judge.concurrency`` processes, one call at a time in each; an ``async``
    one in one process with so many calls at once. A call that takes longer than ``judge.timeout``
    ends its process, another is started for the next. Raises LabError as ``check_code`` does.
    """

    def __init__(self, judge: Judge, study: Study | None, secrets: Mapping[str, str] | None = None) -> None:
        self.judge, self._study = judge, study
        self.entry = check_code(judge)
        key = read_key(judge, secrets)
        self._secrets = {judge.key_env: key} if judge.key_env and key else {}
        self._model = f"{judge.model}@{str(judge.options[SHA256])[:12]}"
        self._places = asyncio.Semaphore(judge.concurrency or 1)
        self._starting, self._apart = asyncio.Lock(), False
        self._started: list[CodeProcess] = []
        self._idle: list[CodeProcess] = []

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply. Raises LabError where the function cannot be had at all."""
        request = {"messages": [dict(message) for message in call.messages], "item": item_mapping(self._study, call)}
        async with self._places:
            process = await self._process()
            began = time.perf_counter()
            try:
                value = await process.ask(request, self.judge.timeout)
                reply = reply_of(value, call, model=self._model)
            except CodeFault as found:
                message = redact(str(found), self._secrets.values())
                reply = fault(found.kind, message).reply(model=self._model)
            finally:
                if process.alive and not process.asynchronous:
                    self._idle.append(process)
            latency = time.perf_counter() - began
        return without_secrets(storable_reply(replace(reply, latency=latency)), tuple(self._secrets.values()))

    async def close(self) -> None:
        """End all processes; safe to call twice."""
        started, self._started, self._idle = self._started, [], []
        await asyncio.gather(*(process.stop() for process in started))

    async def ready(self) -> None:
        """Import the function now. Raises LabError where that cannot be done."""
        process = await self._process()
        if not process.asynchronous:
            self._idle.append(process)

    async def _process(self) -> CodeProcess:
        """One that is free; for an asynchronous function the one there is."""
        if self._apart:
            return self._free() or await self._start()
        async with self._starting:
            return self._free() or await self._start()

    def _free(self) -> CodeProcess | None:
        self._started = [process for process in self._started if process.alive]
        self._idle = [process for process in self._idle if process.alive]
        if self._idle:
            return self._idle.pop()
        return next((process for process in self._started if process.asynchronous), None)

    async def _start(self) -> CodeProcess:
        # The file may have been written to since the last one was started.
        check_pinned(self.judge, find_entry(self.judge))
        process = await CodeProcess.start(self.entry, self._secrets)
        self._apart = not process.asynchronous
        self._started.append(process)
        return process


def import_now(judge: Judge, secrets: Mapping[str, str] | None = None) -> None:
    """Start the function's process once, for what only that shows. Raises LabError saying what is wrong."""

    async def start() -> None:
        made = CodeJudge(judge, None, secrets)
        try:
            await made.ready()
        finally:
            await made.close()

    in_own_thread(start)


# ---------------------------------------------------------------- what it is given


def item_mapping(study: Study | None, call: Call) -> dict[str, Any]:
    """The item (of several criteria the first one's), and what the call shows in which order.

    All that has a value of the item's own fields but the ratings of people and unseen reference
    answers; ``labels``; ``options`` (label, score and description of each, as shown), or
    ``criteria`` (names, as shown), or ``candidates`` and ``responses`` as shown.
    """
    shown, labels = call.ordering.shown, call.ordering.labels
    if study is None:
        return {"item_id": "", "labels": list(labels)}
    item = study.dataset.items[call.items[0]]
    given = {f.name: _jsonable(getattr(item, f.name)) for f in fields(item) if f.name not in _NOT_GIVEN}
    found: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, {}, [])}
    found["labels"] = list(labels)
    if isinstance(item, Comparison):
        answers = dict(zip(item.candidates, item.responses, strict=True))
        found |= {"candidates": list(shown), "responses": [list(answers[str(name)]) for name in shown]}
    elif all(isinstance(one, str) for one in shown):
        found |= {"criteria": list(shown), "scores": list(call.scores)}
        found.pop("criterion", None)
    else:
        found["options"] = _options(study, item, call)
    if isinstance(item, Item) and call.reference is not None and call.reference in item.references:
        found["reference"] = item.references[call.reference]
    return found


def _options(study: Study, item: Item, call: Call) -> list[dict[str, Any]]:
    descriptions: dict[Any, str | None] = {}
    rubric = study.rubric or study.dataset.rubric
    try:
        criterion = rubric.criterion(item.criterion) if rubric else None
    except RubricError:  # a call that has no criterion of the rubric's, as one for a reference answer
        criterion = None
    if criterion is not None and set(criterion.scores) == set(call.ordering.shown):
        descriptions = {option.score: option.description for option in criterion.options}
    pairs = zip(call.ordering.shown, call.ordering.labels, strict=False)
    return [{"label": label, "score": score, "description": descriptions.get(score) or ""} for score, label in pairs]


def _jsonable(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value


# ---------------------------------------------------------------- what it answers


def reply_of(value: Any, call: Call, *, model: str) -> Reply:
    """The function's answer as a Reply. Raises CodeFault for what is no answer."""
    answer = value if isinstance(value, dict) else {"text" if isinstance(value, str) else "score": value}
    if unknown := [name for name in answer if name not in _ANSWER]:
        raise CodeFault("code_reply", f"The answer has “{unknown[0][:60]}”; it may have {', '.join(_ANSWER)}")
    if ("text" in answer) == ("score" in answer):
        raise CodeFault("code_reply", "The answer needs either text or score")
    text = answer["text"] if "text" in answer else _score_text(answer["score"], call)
    if not isinstance(text, str):
        raise CodeFault("code_reply", f"The answer's text is {type(text).__name__}, not text")
    if len(text) > MAX_TEXT:
        found = too_long(text)
        raise CodeFault(found.kind, found.message)
    top = _top_tokens(answer.get("probabilities"), call)
    read, written = _tokens(answer.get("tokens"))
    return Reply(text=text, tokens_in=read, tokens_out=written, top_tokens=top, model=model)


def _score_text(score: Any, call: Call) -> str:
    """A score in the words in which the call asks for one."""
    if isinstance(score, dict):
        if not score or not all(map(_is_number, score.values())):
            raise CodeFault("code_reply", f"The scores {_brief(score)} are not one number for each criterion")
        return _criteria_text(score, call)
    if not _is_number(score):
        raise CodeFault("code_reply", f"{_brief(score)} is neither text nor score nor mapping of them")
    labels: dict[Any, str] = dict(zip(call.ordering.shown, call.ordering.labels, strict=False))
    if not labels or isinstance(next(iter(labels)), str):
        raise CodeFault("code_reply", f"A bare {score:g} is no answer to this question, which asks for text")
    if score not in labels:
        known = ", ".join(str(one) for one in sorted(labels))
        raise CodeFault("code_reply", f"{score:g} is none of the scores {known}")
    label = labels[score]  # 4.0 finds 4
    if call.reading is not None:
        return compose(call.reading.rule, {"": label}) or label
    return f"[RESULT] {label}" if call.template.startswith("prometheus") else label


def _criteria_text(scores: Mapping[str, Any], call: Call) -> str:
    """The scores of several criteria: a line each, or as the user's own prompt asks for them."""
    if call.reading is None:
        return "\n".join(f"[{name}] {one:g}" for name, one in scores.items())
    known = dict(zip(call.scores, call.reading.labels, strict=True))
    if unknown := [name for name, one in scores.items() if one not in known]:
        raise CodeFault(
            "code_reply",
            f"{scores[unknown[0]]:g} for {unknown[0][:60]} is none of the scores {', '.join(map(str, known))}",
        )
    labels = {name: known[one] for name, one in scores.items()}
    return compose(call.reading.rule, labels) or "\n".join(f"[{name}] {label}" for name, label in labels.items())


def _top_tokens(chances: Any, call: Call) -> tuple[tuple[str, float], ...]:
    """Probabilities of the labels, a list in the shown order or by label, as a server's would come."""
    if chances is None:
        return ()
    labels = call.ordering.labels
    if isinstance(chances, list):
        chances = dict(zip(labels, chances, strict=True)) if len(chances) == len(labels) else None
    if not isinstance(chances, dict) or not set(chances) <= set(labels):
        raise CodeFault("code_reply", f"The probabilities are not one for each label shown ({', '.join(labels)})")
    values = list(chances.values())
    if not all(_is_number(p) and 0 <= p <= 1 for p in values):
        raise CodeFault("code_reply", "The probabilities are not numbers from 0 to 1")
    if not 0 < math.fsum(values) <= 1 + 1e-6:
        raise CodeFault("code_reply", f"The probabilities add up to {math.fsum(values):g}, not to at most 1")
    if not call.want_probabilities:
        return ()
    pairs = [(label, math.log(max(p, 1e-30))) for label, p in chances.items()]
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def _tokens(tokens: Any) -> tuple[int | None, int | None]:
    """(read, written): of a mapping with ``input`` and ``output``, or a list of both."""
    if tokens is None:
        return None, None
    pair: Sequence[Any] = [tokens.get("input"), tokens.get("output")] if isinstance(tokens, dict) else tokens
    known = isinstance(pair, list) and len(pair) == 2
    if not known or not all(n is None or (isinstance(n, int) and not isinstance(n, bool) and n >= 0) for n in pair):
        raise CodeFault("code_reply", f'The tokens are {_brief(tokens)}; give {{"input": n, "output": n}}')
    return pair[0], pair[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _brief(value: Any) -> str:
    return f"{value!r:.80}"
