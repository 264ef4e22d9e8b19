"""Write the state and the typed questions that a judge of the kind ``decisions`` is sent instead of
a chat.

The first message is the state, which is what is judged; each further one a question as canonical
JSON: ``type``, ``instructions``, ``options`` in the order shown. Nothing in them is named after an
order, so that only the order changes. A change of any byte here is a new template name.
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
"""The strategy of a judge that is asked for scores: the levels from the lowest to the highest, and
back.
"""
MOST_QUESTIONS = 64
"""Of one request: what vLLM takes; OpenAI takes 400."""


def decision_options(judge: JudgeSettings) -> DecisionOptions | None:
    """The options of a judge that answers typed questions; None of another. Raises LabError for a
    wrong option.
    """
    about = judge.about
    if not about.typed_questions:
        return None
    options = read_options(about.options, judge)
    assert isinstance(options, DecisionOptions)  # a record that is loaded was checked for it
    return options


def check_decisions(judges: Iterable[JudgeSettings], design: DesignPart, *, own: bool) -> None:
    """Raises LabError for what typed questions cannot ask. ``own``: has the study prompts of its
    own?
    """
    for judge in judges:
        if decision_options(judge) is None:
            continue
        wrong = {
            "prompts of your own": own,
            'answer = "feedback"': design.answer != "score",
            f'template = "{design.template}"': design.template not in ("", "brief"),
            'reorder = "bare"': "bare" in design.axes,
        }
        for words, given in wrong.items():
            if given:
                cure = "Leave that out, or ask the model as a chat judge (kind openai or vllm)."
                typed = f"“{shorten(judge.name)}” answers typed questions with probabilities"
                raise LabError(f"{typed}, so {words} is nothing to it. {cure}")


def asked_of(
    judge: JudgeSettings, axis: Reorder, shape: Shape, strategies: Sequence[Strategy]
) -> list[Strategy]:
    """The strategies as a judge can be asked them: a score question lists levels up or down,
    whatever the study's orders.
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
    """How a call goes out with others: ``packed``, ``reversed``, or empty where it goes alone. Only
    the orders of a rubric's options are about one and the same state.
    """
    options = decision_options(judge)
    if options is None or axis != "options" or options.packing == "alone":
        return ""
    return options.packing


def packs(calls: Iterable[Call], done: Container[str] = ()) -> Iterator[list[Call]]:
    """The calls of each request, without those that are done (an empty list where that leaves
    none).

    One each, but where the plan packs them: there the orders that a condition asks about an answer
    for the same time, so that a repeat is the same request again. Their order is the answer's own,
    by a hash.
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
    """Return the one response that is judged. ``ordering``: the labels of its scores."""
    names = score_names(subject.text, subject.criteria[0], ordering, subject.reference)
    return filled_in("decision-state", names)


def _sent(state: Messages, questions: Sequence[dict[str, Any]], template: str) -> Prompt:
    """Return the state and the questions as messages.

    Questions are JSON that anybody can read and that does not change with a library's version.
    """
    written = [
        json.dumps(question, ensure_ascii=False, separators=(", ", ": ")) for question in questions
    ]
    asked = ({"role": "question", "content": text} for text in written)
    judged = {"role": "state", "content": state[0]["content"]}
    return Prompt((judged, *asked), template, brief=True)


def _question(criterion: Criterion, what: str, ordering: Ordering, type: str) -> dict[str, Any]:
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
    """Return the question for a score from the lowest to the highest, where something else is
    reordered.
    """
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
