"""Write the messages that the lab's own prompts send to a judge.

Each prompt is a file in ``judge_prompts``, of the same kind as one of the user's: messages that are
Jinja2 templates, and the rule by which a reply is read. A stored reply answered a prompt of this
``name``, so a file whose text changes by a byte needs a new name. A prompt whose sections are in
another order gets one.

Texts of others are values of a template, never templates themselves. The score options come last,
unless a study moves them: all orders of an item share the text above them, which a server's prefix
cache keeps.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rubriclab.model.data import Comparison, Criterion, Item
from rubriclab.model.judgment import Ordering
from rubriclab.model.study import AnswerFormat, AnswerPart, PromptFile, read_prompt
from rubriclab.study.labels import letters
from rubriclab.study.placeholders import (
    batch_names,
    comparison_names,
    criteria_names,
    examples_names,
    numbered,
    score_names,
)
from rubriclab.study.sandbox import compiled
from rubriclab.study.sections import cut

Family = Literal["brief", "mtbench", "devbench"]
CriteriaStem = Literal["criteria", "criterion"]
"""The prompts that ask about all criteria of a text, and about one of them by itself."""
ExamplesStem = Literal["examples", "examples-feedback"]
"""The prompts with examples: for the score alone, and for feedback before the score."""
Messages = tuple[dict[str, str], ...]

FILES = Path(__file__).with_name("judge_prompts")
SIZES = ("pairwise-", "listwise-")
"""What the name of a comparison's prompt begins with: of two candidates, and of several."""


@cache
def lab_prompt(stem: str, sections: str = "") -> PromptFile:
    """Return the lab's prompt in the file of that stem, with its sections in an order.

    ``sections``: their names, with blanks between them; empty for the order of the file. A prompt
    whose text differs from the file's has another name.
    """
    path = FILES / f"{stem}.toml"
    prompt = read_prompt(path.read_text("utf-8"), path.name)
    made = cut(prompt)
    if made is None:
        return prompt
    sent, order = made.arranged(sections.split()), made.order(sections.split())
    if order == made.order(()):
        return sent
    return sent.model_copy(update={"name": "-".join([prompt.name, *order])})


@cache
def answer_rule(template: str) -> AnswerPart:
    """Return the rule by which replies to a prompt of the lab's are read, by the prompt's name."""
    for size in SIZES:
        template = template.removeprefix(size)
    template = _ORDER_OF_SECTIONS.sub(r"\1", template)
    prompts = [lab_prompt(path.stem) for path in FILES.glob("*.toml")]
    rules = {prompt.name: prompt.answer for prompt in prompts}
    return rules.get(template, AnswerPart())  # a typed question needs no reading


_ORDER_OF_SECTIONS = re.compile(r"(\.v\d+)-[a-z-]+$")
"""The end of the name of a prompt whose sections are in another order than its file has."""


def filled_in(stem: str, names: Mapping[str, Any], sections: str = "") -> Messages:
    """Return the messages of the lab's prompt ``stem``, filled in with ``names``."""
    return tuple(
        {"role": message.role, "content": compiled(message.text).render(names)}
        for message in lab_prompt(stem, sections).messages
    )


def score_prompt(
    item: Item,
    criterion: Criterion,
    ordering: Ordering,
    *,
    answer: AnswerFormat = "score",
    sections: str = "",
    reference: int | None = None,
) -> Messages:
    """Return the message that asks for ``item``'s score under ``criterion``.

    ``ordering.shown[p]`` is the score at position p + 1, ``ordering.labels[p]`` its label.
    ``sections``: the order of the prompt's sections, see ``lab_prompt``.
    ``reference``: the score of the item's reference answer, None for the highest.
    """
    return filled_in(answer, score_names(item, criterion, ordering, reference), sections)


def bare_prompt(item: Item, criterion: Criterion) -> Messages:
    """Return the message that asks for a score on a scale whose options are not listed."""
    return filled_in("bare", score_names(item, criterion, numbered(criterion)))


def examples_prompt(
    item: Item,
    criterion: Criterion,
    scale: Ordering,
    examples: Sequence[tuple[str, str]],
    *,
    stem: ExamplesStem = "examples",
    passages: bool = False,
) -> Messages:
    """Return the message that shows examples and asks for ``item``'s score under ``criterion``.

    ``scale``: the scores with their labels. ``examples``: (text, label) in the order shown;
    an empty label is not shown. ``passages``: whether they are passages.
    """
    names = examples_names(item, criterion, scale, examples)
    return filled_in(stem, names | {"passages": passages})


def batch_prompt(items: Sequence[Item], criterion: Criterion) -> Messages:
    """Return the message that asks for a score for each of two or more items, in this order."""
    return filled_in("batch", batch_names(items, criterion))


def criteria_prompt(
    item: Item,
    criteria: Sequence[Criterion],
    ordering: Ordering,
    *,
    sections: str = "",
    stem: CriteriaStem = "criteria",
) -> Messages:
    """Return the message that asks for ``item``'s score under each of ``criteria``.

    ``ordering.shown`` holds their names by position. ``check_criteria`` has passed them.
    ``sections``: the order of the prompt's sections, see ``lab_prompt``. ``stem``: “criterion” for
    one by itself, which says the same in the singular.
    """
    scale = numbered(criteria[0])
    names = criteria_names(item, criteria, ordering, scale)
    return filled_in(stem, names, sections)


def comparison_prompt(
    comparison: Comparison, ordering: Ordering, *, tie: bool, family: Family
) -> Messages:
    """Return the messages that ask for the best of the candidates, in the order shown.

    ``mtbench`` and ``devbench`` ask for reasons before the verdict, ``brief`` for the letter alone.
    """
    labels = ordering.labels
    if tie:
        labels = (*labels, letters(len(labels), tie=True)[-1])
    return filled_in(family, comparison_names(comparison, ordering, labels))


def comparison_template(family: Family, candidates: int) -> str:
    """Return the versioned name of a comparison's prompt.

    Whether a tie may be given changes the text, which is part of a call's key, not the name.
    """
    return f"{SIZES[candidates != 2]}{lab_prompt(family).name}"
