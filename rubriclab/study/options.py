"""Apply the levels of a study's factors to its rubric, reference answer, labels and judge.

To add a factor, add a branch here and a line in ``FACTORS``.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Ordering, Reorder
from rubriclab.model.study import DesignPart, VaryPart
from rubriclab.model.text import LabError, look_alike, shorten
from rubriclab.study.subjects import Subject
from rubriclab.study.tokens import answer_is_begun

Variant = Mapping[str, Any]
"""A level of each factor that is varied, by the factor's name."""

RUBRIC_AXES: tuple[Reorder, ...] = ("options", "criteria", "responses", "bare")
OWN_AXES: tuple[Reorder, ...] = ("options", "criteria", "pairs", "lists", "bare", "examples")
"""The axes that a user's own prompt may have. With a bare score it lists nothing."""
FACTORS: dict[str, tuple[Reorder, ...]] = {
    "ids": ("options",),
    "reference": ("options",),
    "scale": RUBRIC_AXES,
    "wording": RUBRIC_AXES,
    "prompt": OWN_AXES,
    "packing": ("options",),
    "answer": ("options",),
    "sections": ("options", "criteria"),
}
"""The axes whose prompts each factor changes. Factors that are not here (temperature, effort,
fields of the request) change every call.
"""
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


def variants(vary: VaryPart, axis: Reorder) -> list[dict[str, Any]]:
    """Return the settings of the factors under an axis, the baseline first.

    If nothing is varied, there is one setting without levels. A setting that differs from the
    baseline only in a factor that does not apply to this axis is left out.
    """
    factors = vary.factors()
    base = {name: levels[0] for name, levels in factors.items()}
    if vary.crossed:
        rows = [
            dict(zip(factors, row, strict=True)) for row in itertools.product(*factors.values())
        ]
    else:
        rows = [
            base,
            *(base | {name: level} for name, levels in factors.items() for level in levels[1:]),
        ]
    idle = [name for name in factors if axis not in FACTORS.get(name, (axis,))]
    return [row for row in rows if all(row[name] == base[name] for name in idle)]


def check_factors(vary: VaryPart, axes: Sequence[Reorder], judges: Sequence[JudgeSettings]) -> None:
    """Raise LabError for a factor that would change no call of a study."""
    for name in vary.factors():
        allowed = FACTORS.get(name, axes)
        if not set(allowed) & set(axes):
            raise LabError(
                f"[design.vary] {name} changes nothing when {' and '.join(axes)} are reordered. "
                f"Leave it out, or add one of reorder = {', '.join(allowed)}."
            )
        for judge in judges:
            if judge.about.ignores(name):
                raise LabError(
                    f"[design.vary] {name} has no effect on the {judge.kind} judge "
                    f"“{shorten(judge.name)}”. Leave the factor or the judge out."
                )


def check_answers(design: DesignPart, judges: Sequence[JudgeSettings], *, own: bool) -> None:
    """Raise LabError for an answer format or sections that cannot be asked for.

    ``own``: whether the user has prompts, which say themselves what is answered.
    """
    if own and design.vary.answer:
        raise LabError(
            "[design.vary] answer changes nothing with prompts of your own, which say themselves "
            "what is answered. Leave it out, and name two prompts in [prompt] files instead."
        )
    if design.sections and not set(design.axes) & set(FACTORS["sections"]):
        raise LabError(
            f"[design] sections changes nothing when {' and '.join(design.axes)} are reordered. "
            f"Leave it out."
        )
    formats = design.vary.answer or (design.answer,)
    if own or "score-then-reason" not in formats:
        return
    if formats[0] == "score-then-reason" and design.axes != ("options",):
        raise LabError(
            'answer = "score-then-reason" needs reorder = "options" alone: no other prompt asks '
            "for a score and then a reason. Choose another answer or reorder."
        )
    for judge in judges:
        if answer_is_begun(judge):
            raise LabError(
                f'answer = "score-then-reason" cannot hold for the {judge.kind} judge '
                f"“{shorten(judge.name)}”: its reply is begun with “The score is” and cut after "
                f"the score, so it gives no reason. Leave that answer out, use another judge, or "
                f"set its option prefill = false."
            )


def design_at(design: DesignPart, variant: Variant) -> DesignPart:
    """Return the design with the variant's answer format and order of sections."""
    own = {name: variant[name] for name in ("answer", "sections") if name in variant}
    return design.model_copy(update=own)


def judge_at(judge: JudgeSettings, variant: Variant) -> JudgeSettings:
    """Return the judge with the variant's sampling, request fields and packing."""
    own: dict[str, Any] = {
        name: variant[name] for name in ("temperature", "reasoning_effort") if name in variant
    }
    extra: dict[str, Any] = judge.extra
    for name, level in variant.items():
        if name.startswith("extra."):
            extra = _with(extra, name.removeprefix("extra.").split("."), level)
    if "packing" in variant:
        own["options"] = judge.options | {"packing": variant["packing"]}
    return judge.model_copy(update=own | {"extra": extra})


def _with(table: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Return nested tables with ``value`` at ``path``."""
    if len(path) == 1:
        return {**table, path[0]: value}
    inner = table.get(path[0])
    return {**table, path[0]: _with(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


def rubric_at(rubric: Rubric, variant: Variant, wordings: Mapping[str, Rubric]) -> Rubric:
    """Return the rubric with the wording, the scale and the labels of a variant.

    Raises LabError for a wording whose criteria have other names: the same items are judged under
    every wording.
    """
    if "wording" in variant:
        other = wordings[variant["wording"]]
        names = [
            sorted(look_alike(criterion.name) for criterion in part.criteria)
            for part in (rubric, other)
        ]
        if names[0] != names[1]:
            raise LabError(
                f"[design.vary] wording: “{shorten(variant['wording'])}” has other criteria than "
                f"the study's rubric "
                f"({', '.join(shorten(criterion.name, 30) for criterion in rubric.criteria)}). "
                f"Give its criteria the same names. Descriptions and scores may differ."
            )
        rubric = other
    criteria = rubric.criteria
    if "scale" in variant:
        criteria = tuple(rescaled(criterion, variant["scale"]) for criterion in criteria)
    if "ids" in variant:
        criteria = tuple(_labelled(criterion, variant["ids"]) for criterion in criteria)
    return Rubric(rubric.name, criteria)


def rescaled(criterion: Criterion, n: int) -> Criterion:
    """Return the criterion with the scores 1 to n (Xu et al. v2, section 5.4).

    Each score gets the description that is equally far up the old scale. Of five, n = 3 keeps the
    1st, 3rd and 5th; n = 9 gives the five to the odd scores and none to the even ones. A score of a
    shorter scale that falls between two gets the nearest. The same number of options is unchanged.
    """
    old = criterion.options
    if n == len(old):
        return criterion
    sources = [_source(rank, n, len(old)) for rank in range(n)]
    # Keep labels only if every score has one: a scale of which half are words makes no sense.
    labelled = None not in sources
    options = []
    for score, source in enumerate(sources, start=1):
        if source is None:
            options.append(Option(score))
        else:
            label = old[source].label if labelled else ""
            options.append(Option(score, old[source].description, label))
    return Criterion(criterion.name, tuple(options), criterion.description)


def _source(rank: int, n: int, old: int) -> int | None:
    """Return which of ``old`` options is as far up as the one of ``rank`` among ``n``.

    If it falls between two, that is the nearest on a shorter scale, and None on a longer one.
    """
    steps, rest = divmod(rank * (old - 1), n - 1)
    if rest == 0:
        return steps
    return round(rank * (old - 1) / (n - 1)) if n < old else None


def _labelled(criterion: Criterion, style: str) -> Criterion:
    """Return the criterion with labels of a style.

    ``letters`` are like school grades, A for the highest score (Li et al., section 3). ``shuffled``
    labels start as numbers; ``dealt`` shuffles them for each subject.
    """
    n = len(criterion.options)
    labels = [str(score) for score in criterion.scores]
    if style == "letters":
        labels = [chr(ord("A") + n - 1 - rank) for rank in range(n)]
    elif style == "roman":
        labels = list(ROMAN[:n])
    options = (
        replace(option, label=label)
        for option, label in zip(criterion.options, labels, strict=True)
    )
    return Criterion(criterion.name, tuple(options), criterion.description)


def dealt(ordering: Ordering, subject: str, seed: int) -> Ordering:
    """Return the ordering with its labels shuffled by the subject and the seed.

    Over many subjects each label means every score. Repeats of an order have the same labels.
    """
    rng = random.Random(f"{seed}|ids|{subject}|{ordering.shown}")
    return Ordering(ordering.shown, tuple(rng.sample(ordering.labels, len(ordering.labels))))


def with_reference(subject: Subject, score: int) -> Subject | None:
    """Return the subject with the reference answer of a score (0: without one).

    It is in the item's column ``reference_SCORE``; the plain reference is one of the highest score.
    Returns None if the item has none. Raises LabError for a score that is not on the scale.
    """
    if score == 0:
        return replace(subject, text=replace(subject.text, reference=""))
    scores = subject.shape.scores
    if score not in scores:
        known = ", ".join(f"{part:g}" for part in scores)
        raise LabError(
            f"[design.vary] reference: {score} is not a score of "
            f"“{shorten(subject.criteria[0].name)}”. Use one of {known}, or 0 for no reference."
        )
    text = subject.text.columns.get(
        f"reference_{score}", subject.text.reference if score == scores[-1] else ""
    )
    if not text.strip():
        return None
    return replace(subject, text=replace(subject.text, reference=text), reference=score)
