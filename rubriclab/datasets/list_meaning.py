"""What a list in a prompt is: score options, criteria, candidates, or steps that only look like one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.datasets.listed import FoundList, number, values
from rubriclab.datasets.scale_words import UNIT, rank_of, rises
from rubriclab.model import Rubric
from rubriclab.model.language import tr

Kind = Literal["options", "criteria", "candidates"]

_SCALE = re.compile(
    r"\b(?:scor\w*|rating|rate|scale|rubric|grad(?:e|es|ing)|points?|levels?|stars?|Skala|Bewertung\w*|Noten?\w*|"
    r"Punkt\w*|Stufen?|Antwortmöglichkeiten|échelle|barème|notes?|escala|puntu\w*|rúbrica|scala|punteggio|pontu\w*)\b|"
    r"评分|分数|等级|оценк|шкал",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"\b(?:steps?|instructions?|guidelines?|rules?|notes?|requirements?|Schritte?|Anweisung\w*|Regeln|Hinweise|étapes|"
    r"consignes|pasos|instrucciones)\b",
    re.IGNORECASE,
)
_ASPECTS = re.compile(
    r"\b(?:criteri\w+|aspects?|dimensions?|qualit(?:y|ies)|Kriteri\w+|Aspekte?n?|critères?|criterios?)\b", re.IGNORECASE
)
_VERBS = re.compile(
    r"(?:read|write|assign|compare|evaluate|assess|check|identify|consider|do|don't|please|provide|give|output|return|"
    r"after|before|first|then|the output|think|review|rate|judge|use|be|avoid|you|lies|lesen|schreib\w*|prüf\w*|gib|"
    r"vergleich\w*|bewert\w*|bitte|lisez|lire|lea)\b",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(
    r"(?:the )?(?:response|answer|assistant|candidate|output|completion|model|summary|translation|reply|essay|story|text|"
    r"antwort|assistent|kandidat|ausgabe|réponse|respuesta)s?",
    re.IGNORECASE,
)
_SCORE_NAME = re.compile(
    r"(?:scores?|ratings?|levels?|grades?|points?|stars?|marks?|options?|stufe|note|punkte?|bewertung|wert|nivel|"
    r"niveau|puntuación|nota|choice)",
    re.IGNORECASE,
)

_LETTER = re.compile(r"\b(?:letter|Buchstaben?|lettre|letra|lettera)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a list is taken for and how much speaks for it (0: nothing, 3 or more: it says so itself)."""

    kind: Kind
    weight: int


def meaning(text: str, found: FoundList, *, rubric: Rubric | None = None) -> Meaning:
    """What ``found`` is, by its labels, its words, and the line above it."""
    above = heading(text, found.start)
    if _CANDIDATE.fullmatch(found.name) and values(found.labels):
        return Meaning("candidates", 4)
    known = _known(found, rubric)
    scale = sum(rank_of(label) is not None for label in found.labels)
    openings = {rank_of(re.split(r"[:;,.–—(-]", one, maxsplit=1)[0]) for one in found.texts} - {None}
    scale = max(scale, len(openings))
    scored = all(entry.value("score") for entry in found.entries) or values(found.labels) is not None
    aspects = _aspects(found, above, scale)
    if not known and aspects and not _SCORE_NAME.fullmatch(found.name):
        return Meaning(
            "criteria",
            1 + 2 * (bool(_ASPECTS.search(above)) and (not _SCALE.search(above) or not any(map(number, found.labels)))),
        )
    if not scored and scale < 2 and not known:
        return Meaning("criteria", 0)
    return Meaning("options", known + _weight(text, found, above, scale))


def _weight(text: str, found: FoundList, above: str, scale: int) -> int:
    numbers = [number(entry.value("score") or entry.value("label") or "") for entry in found.entries]
    known = [value for value in numbers if value is not None]
    verbs = sum(bool(_VERBS.match(one)) for one in found.texts)
    descends = len(known) > 1 and known != sorted(known)
    return (
        3 * bool(_SCORE_NAME.fullmatch(found.name))
        + 2 * (found.layout in ("a JSON list", "a JSON object", "a Markdown table", "lines with the score behind"))
        + 3 * (scale >= 2)
        + 2 * descends
        + 2 * _counted(text, found)
        + (3 if len(above) <= 40 else 2) * bool(_SCALE.search(above))
        + 2 * _range_named(text, found, known)
        + 1 * (0 in known)
        + 2 * (not known and bool(_LETTER.search(text[found.end : found.end + 2_000])))
        + 2 * (rises(list(found.texts)) is not None)
        - 3 * bool(_STEPS.search(above) and not _SCALE.search(above))
        - 3 * (verbs * 2 > len(found.entries))
        - 2 * (not any(found.texts))
    )


def _aspects(found: FoundList, above: str, scale: int) -> bool:
    """Whether the entries are names of criteria: words with an explanation each, no scale among them."""
    if scale >= 2 or any(entry.value("score") for entry in found.entries):
        return False
    if values(found.labels) is None:
        return True
    named = sum(
        bool(re.match(r"[*_\"“]{0,2}[^\W\d][\w /&-]{1,40}[*_\"”]{0,2}(?:\s\(.{1,40}?\))?\s?[:–—-]", one))
        for one in found.texts
    )
    return bool(_ASPECTS.search(above)) and named == len(found.entries)


def _known(found: FoundList, rubric: Rubric | None) -> int:
    """How well the entries are a criterion of the rubric that is known: 0 to 10."""
    if rubric is None:
        return 0
    mine = {" ".join(one.split()).casefold() for one in found.texts if one}
    best = 0.0
    for criterion in rubric.criteria:
        theirs = {" ".join((o.description or "").split()).casefold() for o in criterion.options} - {""}
        if theirs:
            best = max(best, len(mine & theirs) / len(theirs))
    return round(10 * best)


def _counted(text: str, found: FoundList) -> bool:
    """Whether a unit stands behind the labels ("2 points:")."""
    label = next((p for p in found.entries[-1].parts if p.kind in ("label", "score") and p.value), None)
    return label is not None and bool(re.match(rf"[ \t-]?(?:{UNIT})\b", text[label.end : label.end + 20]))


def _range_named(text: str, found: FoundList, known: Sequence[float]) -> bool:
    """Whether the prompt names the range of the labels elsewhere ("from 1 to 5")."""
    if len(known) < 2:
        return False
    low, high = f"{min(known):g}", f"{max(known):g}"
    between = re.compile(
        rf"(?<![\w.]){re.escape(low)}\s?(?:\([^()]{{0,40}}\)\s?)?(?:-|–|—|to|and|through|bis|und|à|a|y|e|до|~|至|到)\s?{re.escape(high)}(?![\w]|\.\d)"
    )
    return any(not found.start <= match.start() < found.end for match in between.finditer(text))


def heading(text: str, start: int) -> str:
    """The nearest line with text above ``start``, and what stands before it in its own line."""
    before = text[max(0, start - 400) : start]
    own = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    above = [line.strip() for line in re.split(r"[\r\n]+", before[: len(before) - len(own)]) if line.strip()]
    lines = [line for line in above if not re.fullmatch(r"[|\s:`{}\[\]-]*(?:json|xml)?|\|.*\||</?\w+>", line)]
    return f"{lines[-1] if lines else ''} {own.strip()}".strip()


# ---------------------------------------------------------------- scores


def scores_of(found: FoundList, rubric: Rubric | None) -> tuple[tuple[int, ...] | None, str]:
    """Each entry's score in the order of the text, and how it is known; None where it cannot be told.

    Whole numbers are their own scores; half points are counted in steps, their labels kept. Letters
    and words need descriptions, or words, that rise or fall.
    """
    shown = [entry.value("score") or entry.value("label") or "" for entry in found.entries]
    numbers = [number(one) for one in shown]
    known = [value for value in numbers if value is not None]
    if len(known) == len(shown):
        rising = rises([text for _, text in sorted(zip(known, found.texts, strict=True))])
        worse = tr(" By their descriptions a higher score is a worse one.") if rising is False else ""
        if all(value == int(value) for value in known):
            return tuple(int(value) for value in known), worse.strip()
        if all(2 * value == int(2 * value) for value in known):
            how = tr("Half points: a score in the rubric is twice what is shown.")
            return tuple(int(2 * value) for value in known), how + worse
    if rubric is not None and (matched := _by_description(found, rubric)) is not None:
        return matched, ""
    ranks = [rank_of(label) for label in found.labels]
    ranked = [rank for rank in ranks if rank is not None]
    if len(ranked) == len(shown) and len(set(ranked)) == len(ranked):
        return tuple(sorted(ranked).index(rank) + 1 for rank in ranked), tr(
            "Scores by what the words mean, 1 the worst."
        )
    rising = rises([text or label for label, text in zip(found.labels, found.texts, strict=True)])
    rising = rises(list(found.labels)) if rising is None else rising
    if rising is None:
        return None, ""
    if rising:
        return in_order(found, rising), tr("Scores by what the descriptions say: the first is the worst, 1.")
    return in_order(found, rising), tr("Scores by what the descriptions say: the last is the worst, 1.")


def in_order(found: FoundList, rising: bool) -> tuple[int, ...]:
    """Scores 1..n by the order of the labels, of the text where they are words."""
    scale = values(found.labels)
    order = list(scale[1]) if scale else [float(i) for i in range(len(found.entries))]
    ranked = sorted(order, reverse=not rising)
    return tuple(ranked.index(value) + 1 for value in order)


def _by_description(found: FoundList, rubric: Rubric) -> tuple[int, ...] | None:
    for criterion in rubric.criteria:
        by_text = {" ".join((o.description or "").split()): o.score for o in criterion.options}
        matched = [by_text.get(" ".join(one.split())) for one in found.texts]
        known = tuple(score for score in matched if score is not None)
        if len(known) == len(matched) and len(set(known)) == len(known):
            return known
    return None
