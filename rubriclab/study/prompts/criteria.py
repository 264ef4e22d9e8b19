"""The prompt that asks for all criteria of one item at once, in a given order.

Wording and layout follow Xu et al. v2, Appendix B, second prompt of Figure 5. The criteria
stand above the text there, so orderings of one item share no long prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.model import Criterion, Item, Ordering, StudyError
from rubriclab.model.language import tr

CRITERIA_TEMPLATE = "criteria.v1"
CRITERIA_ENDING = "Do not include any feedback, explanation, or extra text."


def render_criteria(
    item: Item, criteria: Sequence[Criterion], ordering: Ordering, *, scale: tuple[int, ...]
) -> tuple[dict[str, str], ...]:
    """The messages that ask for a score under each of ``criteria``: one user message.

    ``ordering.shown`` is the criteria's names by position; ``scale`` the scores allowed for
    every criterion, in any order. Texts are joined, never formatted.

    Raises StudyError where the ordering is not one of these criteria, or the scale is too short.
    """
    by_name = {criterion.name: criterion for criterion in criteria}
    names = [str(name) for name in ordering.shown]
    if sorted(names) != sorted(by_name) or len(by_name) < len(criteria):
        raise StudyError(
            tr(
                "The order “{names}” is not an order of the criteria “{criteria}”: name each of them once.",
                names=", ".join(names),
                criteria=", ".join(c.name for c in criteria),
            )
        )
    _check_names(names)
    count = len(names)
    shown = "\n".join(_bullet(by_name[name]) for name in names)
    noun = "criterion" if count == 1 else "criteria"
    lines = "line" if count == 1 else "lines"
    parts = [
        "###Task Description:\nYou are evaluating a response on multiple criteria. For each "
        f"criterion below, assign {_scale(scale)}. Do NOT include explanations or feedback.",
        "###Criteria (evaluate in this order):\n" + shown,
        *([f"###The instruction to evaluate:\n{item.instruction}"] if item.instruction else []),
        f"###Response to evaluate:\n{item.response}",
        f"###Output format:\nFor each of the {count} {noun}, write one line:\n[Criterion] N\n"
        f"Output exactly {count} {lines}, one per criterion. {CRITERIA_ENDING}",
    ]
    return ({"role": "user", "content": "\n\n".join(parts)},)


def _check_names(names: Sequence[str]) -> None:
    """Raises StudyError for a name that a reply cannot tell from another one."""
    keys = [name_key(name) for name in names]
    for name, key in zip(names, keys, strict=True):
        if not key or keys.count(key) > 1:
            raise StudyError(
                tr(
                    "The criterion name “{name}” cannot be told from another one in a reply: names must differ in "
                    "their letters and digits.",
                    name=name,
                )
            )


def name_key(name: str) -> str:
    """How criterion names are compared: letters and digits only, case ignored."""
    return "".join(filter(str.isalnum, name.casefold()))


def _bullet(criterion: Criterion) -> str:
    text = f"{criterion.name}: {criterion.description}" if criterion.description else criterion.name
    return "- " + " ".join(text.split())


def _scale(scale: tuple[int, ...]) -> str:
    """The scale in words: a range for three or more consecutive scores, else the list of them."""
    scores = sorted(set(scale))
    if len(scores) < 2:
        raise StudyError(tr("A scale needs at least two scores; this one has {n}.", n=len(scores)))
    if len(scores) > 2 and scores == list(range(scores[0], scores[-1] + 1)):
        return f"an integer score on a {scores[0]}-{scores[-1]} scale"
    return f"one of the scores {', '.join(map(str, scores))}"
