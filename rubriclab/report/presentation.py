"""Three steps for a room of people: the text, the orders moving, the sentence; one HTML file.

The words of the last step are those of the findings, verdicts and intervals included; the text is one
item, chosen because it tells most, and is said to be.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rubriclab.findings.comparison import COMPARISON
from rubriclab.findings.criteria import CRITERIA
from rubriclab.findings.effects import words as effect_words
from rubriclab.findings.guide import MEANS_OF_READS, VARIED_ARMS
from rubriclab.findings.position import POSITION
from rubriclab.findings.reads import Read
from rubriclab.findings.topic import Advice, Sentence, Topic, about
from rubriclab.findings.topics import Findings
from rubriclab.findings.trial import OptionsTrial
from rubriclab.model import TRIAL_ORIGIN, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.option_sets import says_its_set
from rubriclab.model.wording import interval, many, number
from rubriclab.report.showing import Showing, showing
from rubriclab.report.template import clean, file, render_page
from rubriclab.report.words import scope
from rubriclab.store import RunInfo, Store

SHORT, LONG = 260, 800
"""Characters up to which a text is set very large, and beyond which it is set small."""
LONG_SENTENCE = 150
FEW = 4
"""Orders whose mean is set beside one order and beside all."""
HEADLINES: Mapping[str, Topic[Any]] = {
    "options": POSITION,
    "criteria": CRITERIA,
    "pairwise": COMPARISON,
    "listwise": COMPARISON,
}
"""The topic that answers, by what is reordered, whether the order moves anything."""
CHANGES = {
    "options": msg("Only the order of the descriptions changes"),
    "criteria": msg("Only the order of the criteria changes"),
    "pairwise": msg("Only the order of the responses changes"),
    "listwise": msg("Only the order of the responses changes"),
}


@dataclass(frozen=True)
class Verdict:
    """One question about the judge with its answer and the number it rests on."""

    verdict: str
    title: str
    answer: str
    number: str


@dataclass(frozen=True)
class Story:
    """All that is presented. ``headline``: the sentence; ``alarms``: what must be read before it;
    ``helps``: what averaging over orders buys, empty where that was not measured; ``withheld``: its texts are
    left out by whoever shares it."""

    name: str
    showing: Showing
    headline: str
    alarms: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    helps: str = ""
    notes: tuple[str, ...] = ()
    withheld: bool = False


def story(store: Store, run: str, findings: Findings | None = None, *, judge: str | None = None) -> Story:
    """What there is to present of a run or of a trial; ``findings``: the run's, where they are at hand.

    Raises LabError where there is nothing (see :func:`rubriclab.report.showing.showing`).
    """
    info = store.run(run)
    if info.axis not in HEADLINES:
        raise LabError(
            tr(
                "Run “{name}” scores several responses a call, and a presentation shows one text. "
                "Write its report instead.",
                name=info.name,
            )
        )
    if info.origin == TRIAL_ORIGIN:
        return _of_trial(info, showing(store, info.run, judge=judge))
    known = findings or Findings(store.frame(info.run, probabilities=True))
    return _of_run(info, showing(store, info.run, known.data, judge=judge), known)


def presentation(told: Story, *, up: str = "") -> str:
    """The story as one HTML document that needs no network, in which its own script alone runs.

    ``up``: a relative address of what it is a part of, which it then links to.
    """
    shown = told.showing
    script = file("presentation.js")
    return render_page(
        "presentation.html.jinja",
        [script],
        style=Markup(file("cards.css") + file("presentation.css")),
        told=told,
        up=up,
        showing=shown,
        sizes=_sizes(shown, told.headline),
        changes=tr(CHANGES[shown.axis]),
        heights=[shown.height(read) for read in shown.reads],
        words=[_read_words(shown, k) for k in range(len(shown.reads))],
        data=Markup(_data(shown)),
    )


# ---------------------------------------------------------------- what is said


def _of_trial(info: RunInfo, shown: Showing) -> Story:
    one = shown.trial
    notes = [shown.control.sentence]
    if isinstance(one, OptionsTrial) and one.running.mean:
        notes.append(
            tr(
                "Mean over {orders}: {mean} ({ends}, 95 %).",
                orders=many(len(one.running.read), "order"),
                mean=number(one.mean, ".2f"),
                ends=interval(one.ci, ".2f"),
            )
        )
    notes.append(
        tr("One text and one judge. How much the order moves this judge in general takes a study of many texts.")
    )
    return Story(info.name, shown, one.sentence if one else "", notes=tuple(notes))


def _of_run(info: RunInfo, shown: Showing, findings: Findings) -> Story:
    topic: Topic[Any] = HEADLINES[shown.axis]
    result = findings.of(topic)
    others = _other_scales(findings.data, shown)
    every = sorted(_about(topic.sentences(result), shown.judge), key=lambda one: one.rank)
    sentences = [one for one in every if one.about not in others]
    asked: dict[str, Verdict] = {}
    for one in topic.advice(result):
        if one.primary and one.of[0] == shown.judge and one.about not in others:
            asked.setdefault(one.question, _verdict(one))  # of several settings the first, as the sentence
    notes = [shown.chosen, shown.control.sentence, scope(findings)]
    first = {one.about: one.text for one in reversed(every) if one.about in others}
    notes += [tr("On another scale, {name}: {told}", name=name, told=text) for name, text in first.items()]
    if info.planned and info.done < info.planned:
        notes.insert(
            0,
            tr(
                "The run is not finished: {done:,} of {planned:,} calls have an answer.",
                done=info.done,
                planned=info.planned,
            ),
        )
    return Story(
        info.name,
        shown,
        next((one.text for one in sentences if one.rank >= 0), ""),
        tuple(findings.alarms()),
        tuple(asked.values()),
        averaging(findings, shown.judge, shown.scale),
        tuple(filter(None, notes)),
    )


def _about(sentences: Iterable[Sentence], judge: str) -> list[Sentence]:
    return [one for one in sentences if one.about == judge or one.about.startswith(f"{judge} · ")]


def _other_scales(data: RunData, shown: Showing) -> dict[str, None]:
    """What the judge's results on other scales of the same data set are about; empty where it has one scale."""
    mine = (arm for arm in data.arms if (arm.judge, arm.axis) == (shown.judge, shown.axis))
    return {about(arm): None for arm in mine if says_its_set(arm.dataset, arm.scores) and arm.scores != shown.scale}


def averaging(findings: Findings, judge: str, scale: tuple[int, ...] = ()) -> str:
    """What the mean over some orders buys, as it was measured; empty for runs without balanced orders.

    ``scale``: of arms on this one; of any without.
    """
    arms = findings.data.arms
    mine = [code for code in findings.of(VARIED_ARMS) if arms[code].judge == judge]
    mine = [code for code in mine if not scale or arms[code].scores == scale]
    if not mine:
        return ""
    one = findings.of(MEANS_OF_READS, arm=mine[0], k=1)
    if one.reads <= FEW or not one.names:
        return ""
    few = findings.of(MEANS_OF_READS, arm=mine[0], k=FEW)
    return tr(
        "The mean over several orders. A score from one order is typically {distance:.2f} points from "
        "the mean over all {reads} orders, the mean of {few} orders {distance_of_few:.2f} (noise included). It "
        "costs {few} calls an answer.",
        distance=one.distance,
        reads=one.reads,
        few=FEW,
        distance_of_few=few.distance,
    )


def _verdict(one: Advice) -> Verdict:
    return Verdict(one.effect.verdict, tr(one.title), tr(one.answer), effect_words(one.effect))


# ---------------------------------------------------------------- how it is shown


def _sizes(shown: Showing, headline: str) -> dict[str, str]:
    """Of what size the texts and the list are set: s is the largest."""
    length = sum(len(text) for _, text in shown.texts)
    rows = sum(min(len(row.text), 240) for row in shown.rows)
    return {
        "text": "s" if length <= SHORT else "m" if length <= LONG else "l",
        "sentence": "long" if len(headline) > LONG_SENTENCE else "",
        "rows": "s" if len(shown.rows) <= 5 and rows <= 500 else "m" if len(shown.rows) <= 7 else "l",
    }


def _read_words(shown: Showing, k: int) -> str:
    card = shown.card(shown.reads[k])
    told = {"order": card.order, "answer": card.answer, "place": card.place}
    if shown.reads[k].score is not None:
        return tr("{order}: score {answer}, {place}", **told)
    return tr("{order}: answer {answer}, {place}", **told)


def _data(shown: Showing) -> str:
    """The orders as JSON that may stand inside a script element: no sign in it ends the element."""
    place = {row.name: k for k, row in enumerate(shown.rows)}

    def plain(read: Read) -> dict[str, Any]:
        card = shown.card(read)
        return {
            "order": [place[name] for name in read.shown],
            "labels": [clean(label) for label in card.labels],
            "lit": card.lit,
            "answer": clean(card.answer),
        }

    text = json.dumps([plain(read) for read in shown.reads], separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
