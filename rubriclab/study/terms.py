"""What all calls of one judge under one arm share, and what of a call decides its answer: its key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from rubriclab.judges import JUDGE_KINDS
from rubriclab.model import AnswerMode, Arm, Judge, Sampling, Study, canonical_json
from rubriclab.study.protocols import PROTOCOLS, Unit
from rubriclab.study.protocols.base import answer_of

SAMPLING_FIELDS = frozenset(f.name for f in fields(Sampling)) - {"extra"}
STUDY_FACTORS = ("scale", "ids", "reference", "answer", "prompt", "rubric", "batch_size")


@dataclass(frozen=True)
class Terms:
    """What all calls of one judge under one arm share."""

    identity: Mapping[str, Any]
    sampling: Sampling
    sampling_values: list[Any]
    begun: str
    probabilities: bool
    twin: str
    """Tells judges apart that differ in nothing but their name: asking both is asking twice."""

    @cached_property
    def canonical(self) -> tuple[str, str]:
        """The judge, and what of a call comes after its messages, as they stand in what is hashed."""
        rest = canonical_json({"probabilities": self.probabilities, "sampling": self.sampling_values})
        return canonical_json(self.identity), rest[1:-1]


def call_digest(terms: Terms, template: str, messages: Sequence[Mapping[str, str]], unit: Unit) -> hashlib._Hash:
    """The sha256 of what decides the answer to a call, without its repeat: of the canonical JSON of an
    object of these six, of which four are the same from call to call and are written once."""
    judge, rest = terms.canonical
    text = (
        f'{{"item":{canonical_json(unit.id)},"judge":{judge},"messages":{canonical_json(messages)},'
        f'{rest},"template":{canonical_json(template)}}}'
    )
    return hashlib.sha256(text.encode())


def terms_of(study: Study, judge: int, arm: Arm) -> Terms:
    spec, protocol = study.judges[judge], PROTOCOLS[arm.axis]
    own = study.prompt_of(arm.variant)
    answer = answer_of(study, arm.variant)
    # The probabilities of an own prompt's answer are read where its label stands, however late.
    one_label = protocol.asks_one_label(arm)
    label_stands = one_label and (answer == "score" or own is not None)
    sampling = _sampling(spec, arm, answer if one_label else "feedback")
    twins = sum(
        other.identity() == spec.identity() and other.sampling == spec.sampling for other in study.judges[:judge]
    )
    return Terms(
        identity=spec.identity(),
        sampling=sampling,
        sampling_values=[getattr(sampling, f.name) for f in fields(Sampling)],
        begun=protocol.begins(arm) if own is None and answer == "score" and answer_is_begun(spec) else "",
        probabilities=label_stands and bool(spec.options.get("logprobs", True)),
        twin=f"|{twins}" if twins else "",
    )


def answer_is_begun(judge: Judge) -> bool:
    """Whether a judge's answer is begun for it in score mode, with its protocol's ``begun``.

    Embedded models are so small that they would chat first, and only 2 % of their first-token
    probability would fall on a label. Of five beginnings tried on eight sample items “The score
    is ” and “**Score: ” put the most there (87 %). With all criteria in one call such a model
    copies the task or the story unless the first line is begun. The judge's option
    ``prefill = false`` switches it off.
    """
    return JUDGE_KINDS[judge.kind].begun and bool(judge.options.get("prefill", True))


def with_answer_length(sampling: Sampling, judge: Judge, answer: AnswerMode) -> Sampling:
    """``sampling`` with the most tokens that an answer may have, where nobody named a number."""
    if sampling.max_tokens is not None or sampling.reasoning_effort is not None:
        return sampling
    return replace(sampling, max_tokens=JUDGE_KINDS[judge.kind].max_tokens(answer))


def _sampling(judge: Judge, arm: Arm, answer: AnswerMode) -> Sampling:
    """The judge's sampling with the arm's factor levels and a sensible answer length."""
    sampling = judge.sampling
    for name, level in arm.variant.levels:
        if name in SAMPLING_FIELDS:
            sampling = replace(sampling, **{name: level})
        elif name not in STUDY_FACTORS:
            sampling = replace(sampling, extra={**sampling.extra, name: level})
    return with_answer_length(sampling, judge, answer)
