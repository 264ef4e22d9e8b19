"""Write the state and the typed questions that a decision endpoint is sent instead of a chat.

The first message is the state, which is what is judged. Each further message is a question as
canonical JSON: ``type``, ``instructions``, and ``options`` in the order shown. No name in them
depends on the order, so that only the order changes. If a byte of them changes, the template needs
a new name.
"""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from rubriclab.model.data import Comparison, Criterion
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_options import DecisionOptions
from rubriclab.model.judgment import Call, Ordering, Reorder
from rubriclab.model.orders import Strategy
from rubriclab.model.study import DesignPart
from rubriclab.model.text import LabError, digest, shorten
from rubriclab.study.labels import check_criteria, heading_of, letters
from rubriclab.study.placeholders import (
    batch_names,
    comparison_names,
    numbered,
    score_names,
)
from rubriclab.study.prompts import Messages, filled_in
from rubriclab.study.sandbox import one_line
from rubriclab.study.subjects import Prompt, Shape, Subject

UP_AND_DOWN = "up and down"
"""The strategy of a score question, whose levels go up or down."""
MOST_QUESTIONS = 64
"""Questions of one request: vLLM takes 64, and OpenAI 400."""


def decision_options(judge: JudgeSettings) -> DecisionOptions | None:
    """Return the options of a judge that answers typed questions, None for any other judge.

    Raises LabError for a wrong option.
    """
    about = judge.about
    if not about.typed_questions:
        return None
    options = read_options(about.options, judge)
    assert isinstance(options, DecisionOptions)  # a record that is loaded was checked for it
    return options


def check_decisions(judges: Iterable[JudgeSettings], design: DesignPart, *, own: bool) -> None:
    """Raise LabError for what typed questions cannot ask. ``own``: whether the user has prompts."""
    for judge in judges:
        if decision_options(judge) is None:
            continue
        wrong = {
            "prompts of your own": own,
            f'answer = "{design.answer}"': design.answer != "score",
            "[design.vary] answer": bool(design.vary.answer),
            "another order of sections": bool(design.sections or design.vary.sections),
            f'template = "{design.template}"': design.template not in ("", "brief"),
            'reorder = "bare"': "bare" in design.axes,
            "alone": design.alone,
            'reorder = "examples"': "examples" in design.axes,
        }
        for words, given in wrong.items():
            if given:
                raise LabError(
                    f"“{shorten(judge.name)}” answers typed questions, so it cannot use {words}. "
                    f"Leave that out, or use the model as a chat judge (kind openai or vllm)."
                )


def asked_of(
    judge: JudgeSettings, axis: Reorder, shape: Shape, strategies: Sequence[Strategy]
) -> list[Strategy]:
    """Return the strategies that a judge can be asked.

    A score question lists its levels up or down, whatever the orders of the study.
    """
    options = decision_options(judge)
    if options is None or options.question == "choice" or axis != "options":
        return list(strategies)
    up, down = shape.scores, shape.scores[::-1]
    if all({*part.asked(up)} <= {up, down} for part in strategies):
        return list(strategies)
    return [
        Strategy("custom", UP_AND_DOWN, max(part.repeats for part in strategies), None, (up, down))
    ]


def packing_of(judge: JudgeSettings, axis: Reorder) -> str:
    """Return how calls share a request: ``packed``, ``reversed``, or "" if each is sent alone.

    Only orders of score options can share one, because only they are about the same state.
    """
    options = decision_options(judge)
    if options is None or axis != "options" or options.packing == "alone":
        return ""
    return options.packing


def packs(calls: Iterable[Call], done: Container[str] = ()) -> Iterator[list[Call]]:
    """Yield the calls of each request, without those that are done (so possibly none).

    A request has one call, unless the plan packs them. A packed request has the orders of one
    answer under one condition with the same repeat number, so that a repeat is the same request
    again. Their order in it comes from a hash.
    """
    for _, group in groupby(calls, key=lambda call: call.items):
        requests: dict[Any, list[Call]] = {}
        for call in group:
            together = call.condition, call.repeat, call.messages[0]["content"]
            requests.setdefault(together if call.pack else call.key, []).append(call)
        for pack in requests.values():
            if len(pack) > 1:
                pack.sort(
                    key=lambda call: digest([*call.messages]), reverse=pack[0].pack == "reversed"
                )
            for start in range(0, len(pack), MOST_QUESTIONS):
                yield [
                    call for call in pack[start : start + MOST_QUESTIONS] if call.key not in done
                ]


def decision_prompt(
    axis: Reorder,
    subject: Subject,
    ordering: Ordering,
    design: DesignPart,
    options: DecisionOptions,
) -> Prompt:
    """Return the state and the questions of one call."""
    if axis in ("pairs", "lists"):
        return _comparison(subject, ordering, tie=design.tie)
    criterion = subject.criteria[0]
    if axis == "criteria":
        check_criteria(subject.criteria)
        by_name = {criterion.name: criterion for criterion in subject.criteria}
        questions = [
            _numbered(by_name[str(name)], "the response", options) for name in ordering.shown
        ]
        return _sent(_state(subject, numbered(criterion)), questions, "decision-criteria.v1")
    if axis == "responses" and len(ordering.shown) == 1:
        question = _numbered(criterion, "the response", options)
        return _sent(_state(subject, numbered(criterion)), [question], "decision-alone.v1")
    if axis == "responses":
        by_id = {item.item_id: item for item in subject.answers}
        answers = [by_id[str(name)] for name in ordering.shown]
        state = filled_in("decision-responses", batch_names(answers, criterion))
        questions = [_numbered(criterion, label, options) for label in ordering.labels]
        return _sent(state, questions, "decision-batch.v1")
    question = _question(criterion, "the response", ordering, options.question)
    return _sent(_state(subject, ordering), [question], f"decision-{options.question}.v1")


def _state(subject: Subject, ordering: Ordering) -> Messages:
    """Return the state with one answer. ``ordering``: the labels of its scores."""
    names = score_names(subject.text, subject.criteria[0], ordering, subject.reference)
    return filled_in("decision-state", names)


def _sent(state: Messages, questions: Sequence[dict[str, Any]], template: str) -> Prompt:
    """Return the state and the questions as messages.

    Questions are plain JSON, which does not change with the version of a library.
    """
    written = [
        json.dumps(question, ensure_ascii=False, separators=(", ", ": ")) for question in questions
    ]
    asked = ({"role": "question", "content": text} for text in written)
    judged = {"role": "state", "content": state[0]["content"]}
    return Prompt((judged, *asked), template, brief=True)


def _question(criterion: Criterion, what: str, ordering: Ordering, type: str) -> dict[str, Any]:
    """Return the question for the score of ``what`` under a criterion."""
    about = {option.score: one_line(option.description) for option in criterion.options}
    options = [
        {"value": label, "description": about[int(score)]}
        for score, label in zip(ordering.shown, ordering.labels, strict=True)
    ]
    instructions = (
        f"Assess the quality of {what} strictly based on this criterion: {heading_of(criterion)}"
    )
    return {"type": type, "instructions": instructions, "options": options}


def _numbered(criterion: Criterion, what: str, options: DecisionOptions) -> dict[str, Any]:
    """Return the question for a score, lowest level first: something else is reordered."""
    return _question(criterion, what, numbered(criterion), options.question)


def _comparison(subject: Subject, ordering: Ordering, *, tie: bool) -> Prompt:
    """Return the answers as the state, marked by their letters, and the choice of the best."""
    assert isinstance(subject.text, Comparison)
    labels = ordering.labels
    best = "better" if len(labels) == 2 else "best"
    options = [{"value": label, "description": f"Response {label} is {best}"} for label in labels]
    if tie:
        tied = letters(len(labels), tie=True)[-1]
        options.append({"value": tied, "description": "No response is clearly ahead (a tie)"})
    instructions = (
        f"Which response serves the user {best}? Neither its length nor where it stands "
        "should count."
    )
    question = {"type": "choice", "instructions": instructions, "options": options}
    size = "pairwise" if len(labels) == 2 else "listwise"
    state = filled_in("decision-comparison", comparison_names(subject.text, ordering, labels))
    return _sent(state, [question], f"decision-{size}-brief.v1")
