"""Rewordings of a rubric by the lab's own rules: the same criterion always gives the same text, and a rule says why.

A rule is a guess at what may make the order of the options matter less. Whether it does is measured
(:mod:`rubriclab.runs.suggestions`), for a rule that helps one judge need not help another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rubriclab.model import Criterion, Rubric, ScoreOption
from rubriclab.model.language import msg
from rubriclab.study.rubric_changes import CHANGES, Apply, without_numbers

ALL_RULES = "all-rules"


@dataclass(frozen=True)
class Suggestion:
    """Another wording of a rubric. ``title``: also its version's name on a bench; ``why``: what it is hoped to do."""

    key: str
    title: str
    why: str
    rubric: Rubric


@dataclass(frozen=True)
class Rule:
    """``apply``: None where it changes nothing of a criterion."""

    key: str
    title: str
    why: str
    apply: Apply


PLAINER: Mapping[str, str] = {
    "excellent": "good",
    "outstanding": "good",
    "exceptional": "good",
    "superb": "good",
    "perfect": "good",
    "flawless": "good",
    "terrible": "poor",
    "awful": "poor",
    "horrible": "poor",
    "dreadful": "poor",
    "abysmal": "poor",
    "excellently": "well",
    "perfectly": "well",
    "flawlessly": "well",
    "terribly": "poorly",
    "awfully": "poorly",
}
"""Extremes, and the plain word in place of each."""
_EXTREME = re.compile(rf"\b({'|'.join(PLAINER)})\b", re.IGNORECASE)
_STRONGER = re.compile(
    r"\b(?:very|extremely|completely|totally|utterly|absolutely|entirely|highly|incredibly)\s+(?=\w)", re.IGNORECASE
)
_SUBJECT = re.compile(
    r"^\s*(?:(?:the|this|a|an)\s+)?(?:response|answer|text|reply|output|summary)\s+(?:that\s+)?(?=\w)", re.IGNORECASE
)
LEAD = "A response at this level: "


def without_extremes(text: str) -> str:
    """Extreme words as plain ones of the same direction, and no “very” before a word."""

    def plainer(found: re.Match[str]) -> str:
        word = PLAINER[found.group().lower()]
        return word.capitalize() if found.group()[0].isupper() else word

    calm = _STRONGER.sub("", _EXTREME.sub(plainer, text))
    calm = re.sub(r"\b([Aa])n (?=good|poor)", r"\1 ", calm)
    return calm[:1].upper() + calm[1:] if text[:1].isupper() else calm


def parallel(text: str) -> str:
    """Begun as all are begun, its own subject left out: “A response at this level: answers the question.”"""
    if text.startswith(LEAD):
        return text
    body = _SUBJECT.sub("", text).strip()
    first = body.split(" ", 1)[0]
    return LEAD + (body if first.isupper() and len(first) > 1 else body[:1].lower() + body[1:])


def closed(text: str) -> str:
    """With a capital at its beginning and a full stop at its end."""
    body = text.strip()
    return body[:1].upper() + body[1:] + ("" if body[-1:] in ".!?…" else ".")


def _texts(change: Callable[[str], str]) -> Apply:
    """The change in every description; None where all stay as they are."""

    def apply(criterion: Criterion) -> Criterion | None:
        options = tuple(_changed(option, change) for option in criterion.options)
        return None if options == criterion.options else replace(criterion, options=options)

    return apply


def _changed(option: ScoreOption, change: Callable[[str], str]) -> ScoreOption:
    return replace(option, description=change(option.description)) if option.description else option


def _apart(criterion: Criterion) -> Criterion | None:
    """No description begins with its own label or score."""

    def without(option: ScoreOption) -> ScoreOption:
        if not option.description:
            return option
        marks = "|".join(re.escape(mark) for mark in (option.label, str(option.score)) if mark)
        lead = re.compile(rf"^\s*(?:(?:score|rating|level|grade)\s+)?(?:{marks})\s*[:.)\-–—]\s*", re.IGNORECASE)
        kept = lead.sub("", option.description)
        return replace(option, description=kept[:1].upper() + kept[1:]) if kept else option

    options = tuple(map(without, criterion.options))
    return None if options == criterion.options else replace(criterion, options=options)


RULES: Mapping[str, Rule] = {
    rule.key: rule
    for rule in (
        Rule("labels-apart", msg("Labels apart from descriptions"), msg("a label said twice may pull twice"), _apart),
        Rule(
            "no-numbers",
            msg("No numbers in descriptions"),
            msg("a number in a description may be taken for a score"),
            _texts(without_numbers),
        ),
        Rule(
            "no-extremes",
            msg("No extremes"),
            msg("“excellent” or “terrible” may draw or repel whatever stands beside them"),
            _texts(without_extremes),
        ),
        Rule(
            "parallel",
            msg("Descriptions begun alike"),
            msg("what differs in form may stand out for its form"),
            _texts(parallel),
        ),
        Rule(
            "closed",
            msg("Descriptions as sentences"),
            msg("what differs in form may stand out for its form"),
            _texts(closed),
        ),
        Rule(
            "even-lengths",
            msg("Descriptions equally long"),
            msg("a longer description may weigh more for its length"),
            CHANGES["even-lengths"].apply,
        ),
        Rule(
            "letters",
            msg("Letters as labels"),
            msg("numerals carry habits of their own, letters others"),
            CHANGES["labels-letters"].apply,
        ),
    )
}
"""By key, in the order in which all are made together; another rule is a line here."""


def suggestions(rubric: Rubric) -> tuple[Suggestion, ...]:
    """What each rule makes of the rubric, and all of them but the labels' together; none twice, none as it was."""
    found = [Suggestion(rule.key, rule.title, rule.why, _all(rubric, (rule,))) for rule in RULES.values()]
    together = _all(rubric, [rule for rule in RULES.values() if rule.key != "letters"])
    found.append(Suggestion(ALL_RULES, msg("All rules of wording together"), msg("each may help a little"), together))
    kept: dict[str, Suggestion] = {}
    for one in found:
        if one.rubric.id != rubric.id:
            kept.setdefault(one.rubric.id, one)
    return tuple(kept.values())


def _all(rubric: Rubric, rules: tuple[Rule, ...] | list[Rule]) -> Rubric:
    criteria = []
    for criterion in rubric.criteria:
        for rule in rules:
            criterion = rule.apply(criterion) or criterion
        criteria.append(criterion)
    return Rubric(rubric.name, tuple(criteria))
