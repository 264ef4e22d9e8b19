"""Make the presentation and the one-page report of a judge: the same words and pictures twice.

The presentation has four slides: the question, one answer in two orders, the picture, and what to
do. The report has one A4 sheet for each judge. Both are plain HTML without scripts and network, and
everything that a run brought along is escaped.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rubriclab.core.topic import Findings
from rubriclab.exports.report import ENVIRONMENT, default_title, footer, method_lines
from rubriclab.figures.evidence import Evidence, TextOf, evidence_of
from rubriclab.figures.first_pictures import first_picture
from rubriclab.figures.pictures import Shown
from rubriclab.model.study import Study
from rubriclab.model.text import LabError, shorten
from rubriclab.words.presented import Presented, presented, written_date
from rubriclab.words.subject import Subject, subjects

HERE = Path(__file__).parent
MOST_TEXT = 300
"""Characters of the judged text on a slide or a sheet, which have a fixed size."""
MOST_SHEETS = 20
"""Judges, data sets and settings of one file. More are reported in full instead."""
LONG_HEADLINE = 60
"""Characters from which a sheet's headline is set smaller."""
MOST_FACTS = 8
MOST_CAUTIONS = 2
MOST_METHOD_LINES = 3


@dataclass(frozen=True)
class Sheet:
    """What one sheet of the report shows. ``size``: a class for its headline."""

    said: Presented
    size: str
    facts: tuple[tuple[str, str], ...]
    shown: Shown
    seen: Evidence
    cautions: tuple[str, ...]
    method: tuple[str, ...]


def slides(
    findings: Findings,
    subject: Subject,
    *,
    study: Study | None = None,
    text_of: TextOf | None = None,
) -> list[str]:
    """Return the four slides about one judge, each as HTML.

    ``text_of``: None shows no judged text.
    """
    said = presented(findings, subject, study)
    template: Any = ENVIRONMENT.get_template("slides.html.jinja").module
    drawn = [
        template.question(said),
        template.example(said, _evidence(findings, subject, text_of)),
        template.picture(said, first_picture(findings, subject, subject.condition)),
        template.advice(said),
    ]
    return [str(slide).strip() for slide in drawn]


def one_page(
    findings: Findings,
    *,
    study: Study | None = None,
    text_of: TextOf | None = None,
    judge: str = "",
    run: str = "",
    printed: datetime | None = None,
) -> str:
    """Return the one-page report: one A4 sheet for each judge, data set and setting.

    ``text_of``: None shows no judged text. ``judge``: only this judge. ``run``: the ID of a run in
    a store, to name the command that computes it again. Raises LabError for an unknown judge, and
    for more than MOST_SHEETS sheets.
    """
    every = subjects(findings)
    if judge:
        judges = sorted({subject.judge for subject in every})
        every = [subject for subject in every if subject.judge == judge]
        if not every:
            raise LabError(
                f"The run has no judge “{shorten(judge)}”. It has "
                f"{shorten(', '.join(judges), 200)}."
            )
    if len(every) > MOST_SHEETS:
        raise LabError(
            f"A one-page report has a sheet for each judge and setting, {MOST_SHEETS} at most. "
            f"This run has {len(every)}. Name one judge, or write the full report."
        )
    return ENVIRONMENT.get_template("one_page.html.jinja").render(
        title=shorten(default_title(findings), 200),
        style=Markup((HERE / "one_page.css").read_text("utf-8")),
        sheets=[_sheet(findings, subject, study, text_of) for subject in every],
        run=shorten(findings.judgments.table.name, 80),
        printed=written_date(printed),
        footer=_repeated(findings, study, run),
    )


def _sheet(
    findings: Findings, subject: Subject, study: Study | None, text_of: TextOf | None
) -> Sheet:
    said = presented(findings, subject, study)
    return Sheet(
        said=said,
        size="long" if len(said.answer.headline) > LONG_HEADLINE else "",
        facts=said.facts[:MOST_FACTS],
        shown=first_picture(findings, subject, subject.condition),
        seen=_evidence(findings, subject, text_of),
        cautions=said.answer.cautions[:MOST_CAUTIONS],
        method=tuple(method_lines(findings, [subject])[:MOST_METHOD_LINES]),
    )


def _evidence(findings: Findings, subject: Subject, text_of: TextOf | None) -> Evidence:
    return evidence_of(findings, subject, text_of or (lambda _: ""), most=MOST_TEXT)


def _repeated(findings: Findings, study: Study | None, run: str) -> str:
    """Say what the numbers rest on, and how to compute or ask them again."""
    said = [footer(findings)]
    if run:
        said.append(f"numbers: rubriclab results {run}")
    if study is not None:
        said.append("ask again: rubriclab run study.toml (Export, Data)")
    return " · ".join(said)
