"""A chat model rewords a rubric: one wording to try, shown before it is used, and measured like any other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rubriclab.judges import JUDGE_KINDS, open_judge
from rubriclab.judges.base import in_own_thread
from rubriclab.judges.keys import KeepsConsent, require_consent
from rubriclab.model import Call, Criterion, Judge, LabError, Ordering, Reply, Rubric, Study, fingerprint
from rubriclab.model.language import language, speaking, tr
from rubriclab.runs.runner import Opener

TEMPLATE = "rubric-reword.v1"
MOST_SIGNS, SHOWN = 2_000, 160
"""Signs a description may have; how much of a reply that is none a message shows."""
TASK = """You improve the wording of a rating scale. Reword each description below so that all of them
- keep their meaning: who earned a score before must earn the same score after;
- have the same form: the same parts of a sentence in the same order;
- are about equally long;
- use no extreme words (excellent, terrible, perfect, useless) and no numbers.

Criterion: {name}
{about}
{options}

Answer with one JSON object and nothing else: a key for each score as it stands above, and its new description.
Example: {example}"""


def reworded_name(rubric: Rubric, writer: Judge) -> str:
    return f"{rubric.name}, reworded by {writer.name}"


def reword(
    study: Study,
    rubric: Rubric,
    writer: Judge,
    store: KeepsConsent,
    *,
    secrets: Mapping[str, str] | None = None,
    opener: Opener = open_judge,
) -> Rubric:
    """``rubric`` with other descriptions, as ``writer`` words them: one call a criterion; nothing is stored.

    ``study``: what the writer is opened for. Criteria without descriptions stay as they are. Raises ConsentNeeded
    where a key would go to an address that nobody here has said yes to, LabError for a judge that writes nothing
    (a simulated one), for a call that fails, and for a reply that is no description of every score.
    """
    if writer.simulated:
        raise LabError(tr("“{name}” is simulated: it answers with scores and writes no text.", name=writer.name))
    if not any(_described(criterion) for criterion in rubric.criteria):
        raise LabError(tr("Rubric “{name}” has no description that could be reworded.", name=rubric.name))
    require_consent((writer,), store)
    spoken = language()  # the thread knows no reader

    async def work() -> list[Criterion]:
        asking = opener(writer, study, secrets, None)
        try:
            with speaking(spoken):
                return [_read(c, await asking.ask(_call(c, writer))) if _described(c) else c for c in rubric.criteria]
        finally:
            await asking.close()

    return Rubric(reworded_name(rubric, writer), tuple(in_own_thread(work)))


def _described(criterion: Criterion) -> bool:
    return any(option.description for option in criterion.options)


def _call(criterion: Criterion, writer: Judge) -> Call:
    described = [option for option in criterion.options if option.description]
    keys = [str(option.score) for option in described]
    text = TASK.format(
        name=criterion.name,
        about=criterion.description,
        options="\n".join(f"{key}: {option.description}" for key, option in zip(keys, described, strict=True)),
        example=json.dumps(dict.fromkeys(keys, "…"), ensure_ascii=False),
    )
    messages = ({"role": "user", "content": text},)
    sampling = writer.sampling
    if sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=JUDGE_KINDS[writer.kind].feedback_tokens)
    return Call(
        key=fingerprint([TEMPLATE, writer.identity(), list(messages)]),
        judge=0,
        arm=0,
        items=(0,),
        read=0,
        repeat=0,
        ordering=Ordering(()),
        messages=messages,
        template=TEMPLATE,
        sampling=sampling,
    )


def _read(criterion: Criterion, reply: Reply) -> Criterion:
    """The criterion with the descriptions of a reply: of each score that has one, or LabError says what is amiss."""
    if reply.error is not None:
        raise LabError(
            tr("The writer could not be asked about “{name}”: {error}", name=criterion.name, error=reply.error)
        )
    texts = _object(criterion, reply.text)
    options = []
    for option in criterion.options:
        text = texts.get(str(option.score), "")
        if option.description and not (isinstance(text, str) and 0 < len(text.strip()) <= MOST_SIGNS):
            raise _unreadable(
                criterion,
                reply.text,
                tr("score {score} has no description of 1 to {most} signs", score=option.score, most=MOST_SIGNS),
            )
        options.append(replace(option, description=" ".join(text.split())) if option.description else option)
    return replace(criterion, options=tuple(options))


def _object(criterion: Criterion, text: str) -> dict[str, Any]:
    """The last JSON object of a reply: a model may think aloud before it."""
    decoder = json.JSONDecoder()
    for at in (i for i in range(len(text) - 1, -1, -1) if text[i] == "{"):
        try:
            value, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    raise _unreadable(criterion, text, tr("it holds no JSON object"))


def _unreadable(criterion: Criterion, text: str, why: str) -> LabError:
    begun = " ".join(text.split())[:SHOWN]
    return LabError(
        tr(
            "The writer's reply about “{name}” is no rewording: {why}. It began “{begun}”. Try again, take a "
            "larger model, or reword the rubric yourself.",
            name=criterion.name,
            why=why,
            begun=begun,
        )
    )
