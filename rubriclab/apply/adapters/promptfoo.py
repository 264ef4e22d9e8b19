"""promptfoo: a judge card as a Python assertion and as a Python provider, configured in its YAML.

A file beside ``promptfooconfig.yaml`` with one line::

    from rubriclab.apply.adapters.promptfoo import call_api, get_assert

promptfoo's scores lie between 0 and 1: the lowest score of the card's scale is 0, its highest 1; ``reason`` has
the score on the card's own scale, ``metadata.judge_card`` every prompt and reply. An assertion of promptfoo must
give a number: an item without a judgment fails, has no named score, and has ``metadata.graderError``, as
promptfoo's own graders have when they fail. A provider gives an error, which promptfoo counts as one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rubriclab.apply import CardError, CardJudge, ItemError, load
from rubriclab.apply.adapters.shared import FIRST, RECORD, Verdict, checked, item_of, refused, tokens, verdict
from rubriclab.model import LabError

SETTINGS = ("card", "base_url", "key_env", "served", "cure", "criterion", "value", "threshold", "name", "columns")
"""What stands in ``config``. ``columns``: which variables of a test are the item's instruction, target, …"""
NAME = "judge"


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """What promptfoo takes from an assertion: pass, score, reason, namedScores, metadata.

    The item's instruction is the test's variable of that name, else the prompt as it was sent.
    """
    try:
        config = _config(context.get("config"))
        told = _told(config, _text(output), dict(context.get("vars") or {}), _text(context.get("prompt")))
    except LabError as fault:
        return {"pass": False, "score": 0.0, "reason": str(fault), "metadata": {"graderError": True}}
    return _graded(config, told) | {"metadata": _metadata(told), "tokensUsed": _tokens(told)}


def call_api(prompt: str, options: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """A provider whose output is the grade of what a test's variables hold: {pass, score, reason}.

    The response is the variable ``output``, as where promptfoo asks a grader (``llm-rubric``), else ``response``,
    else the prompt itself. An item without a judgment is ``error``.
    """
    values = dict(context.get("vars") or {})
    response = next((values[name] for name in ("output", FIRST) if values.get(name)), prompt)
    if "output" in values:  # promptfoo's own words to a grader are no column of the item
        values = {name: part for name, part in values.items() if name not in ("output", "rubric")}
    try:
        config = _config(options.get("config"))
        told = _told(config, _text(response), values, "")
    except LabError as fault:
        return {"error": str(fault)}
    if told.share is None:
        return {"error": told.why, "metadata": _metadata(told)}
    return {"output": _graded(config, told), "metadata": _metadata(told), "tokenUsage": _tokens(told)}


def _config(config: Any) -> dict[str, Any]:
    """Raises CardError for a setting that there is not: it would be a threshold that nothing is held to."""
    made = {name: part for name, part in dict(config or {}).items() if name not in _PROMPTFOOS_OWN}
    if wrong := sorted(set(made) - set(SETTINGS)):
        raise CardError(f"The config has {', '.join(wrong)}; a judge card takes {', '.join(SETTINGS)}.")
    if not made.get("card"):
        raise CardError("The config names no card: card: judge.card.json.")
    return made


_PROMPTFOOS_OWN = ("basePath", "pythonExecutable", "workers", "timeout")
"""Settings of every Python provider, which promptfoo reads itself."""


@lru_cache(maxsize=8)
def _judge(
    card: str, written: int, base_url: str | None, key_env: str | None, served: str | None, cure: str | None
) -> CardJudge:
    """One judge a process for each card as it was ``written`` (a worker of promptfoo asks many times)."""
    del written
    return load(card, base_url=base_url, key_env=key_env, model=served, cure=cure)


def _told(config: Mapping[str, Any], response: str, values: dict[str, Any], prompt: str) -> Verdict:
    card = str(config["card"])
    written = Path(card).stat().st_mtime_ns if Path(card).is_file() else 0
    judge = _judge(card, written, *(config.get(name) for name in ("base_url", "key_env", "served", "cure")))
    how = {"value": config.get("value", "score"), "criterion": config.get("criterion")}
    checked(judge, **how)
    item = _item(judge, config, response, values, prompt)
    try:
        return verdict(judge, item, judge.score(item), **how)
    except ItemError as fault:
        return refused(judge, item, fault)


def _item(
    judge: CardJudge, config: Mapping[str, Any], response: str, values: dict[str, Any], prompt: str
) -> dict[str, Any]:
    """The variables of a test by their own names; ``columns`` in the config says which others they have."""
    for name, variable in dict(config.get("columns") or {}).items():
        if variable not in values:
            raise ItemError(f"The test has no variable “{variable}”, which the config names for “{name}”.")
        values[name] = values[variable]
    values.pop(FIRST, None)
    instruction = values.pop("instruction", None)
    return item_of(
        judge.card,
        instruction=prompt if instruction is None else _text(instruction),
        response=response,
        target=_text(values.pop("target", "")),
        columns=values,
        criterion=config.get("criterion"),
    )


def _text(value: Any) -> str:
    """An output as it is; of an object its JSON, as promptfoo shows it."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _graded(config: Mapping[str, Any], told: Verdict) -> dict[str, Any]:
    if told.share is None:
        return {"pass": False, "score": 0.0, "reason": told.why}
    name = str(config.get("name") or config.get("criterion") or NAME)
    return {
        "pass": told.share >= float(config.get("threshold", 0.5)),
        "score": told.share,
        "reason": told.words,
        "namedScores": {name: told.share} | {f"{name}: {part}": share for part, share in told.shares.items()},
    }


def _tokens(told: Verdict) -> dict[str, int]:
    before, after = tokens(told.record)
    return {"total": before + after, "prompt": before, "completion": after, "numRequests": len(told.record["reads"])}


def _metadata(told: Verdict) -> dict[str, Any]:
    return {RECORD: dict(told.record)} | ({"graderError": True} if told.share is None else {})
