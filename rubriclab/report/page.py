"""One self-contained HTML file of one run or several: words, numbers, charts that need no network.

What stands here is the outline: which parts a report has, and what each is about. How a part is
written is the template's business (``report.html.jinja`` and, by the part's kind, ``parts.html.jinja``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from rubriclab.figures.embedded import figure_data, height, library
from rubriclab.findings.topic import Advice
from rubriclab.findings.topics import Findings, document
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.report import numbers, words
from rubriclab.report.charts import Drawn, Section, sections
from rubriclab.report.made import made_rows, record
from rubriclab.report.methods import by_topic, method_terms, references
from rubriclab.report.source import Source
from rubriclab.report.template import drawing_script, render
from rubriclab.report.text import as_text
from rubriclab.report.together import together

PARTS = {
    "charts": msg("Charts"),
    "shown": msg("What the judge was shown"),
    "methods": msg("How this was worked out"),
    "provenance": msg("What it was made with"),
    "numbers": msg("All numbers as text"),
}
"""What may be left out of a report. The answer, the advice, the key numbers and what limits
them are always in."""


@dataclass(frozen=True)
class _Run:
    """One run of the report: its findings, worked out once, and what else is known of it."""

    source: Source
    title: str
    seed: int
    known: Findings | None = None

    @cached_property
    def findings(self) -> Findings:
        return self.known or Findings(self.source.data, seed=self.seed)

    @cached_property
    def body(self) -> dict[str, Any]:
        return document(self.findings)

    @cached_property
    def answers(self) -> tuple[words.Answer, ...]:
        return words.answers(self.findings)

    @property
    def summary(self) -> str:
        return words.summary(self.findings)

    @property
    def rows(self) -> list[tuple[str, str]]:
        return made_rows(self.source, self.seed)

    @property
    def record(self) -> str:
        return record(self.source)


@dataclass
class _Figure:
    """A chart's place in the text, and its data for the end of the file. ``height`` in pixels."""

    caption: str
    alt: str
    height: int
    data: Markup
    number: int = 0


@dataclass
class _Part:
    """A part under its heading. ``kind``: the macro that writes ``content``, which is what that
    macro takes; ``terms``: what has to be known to read it, by glossary key."""

    kind: str
    title: str
    content: Any
    parts: tuple[_Part, ...] = ()
    terms: frozenset[str] = frozenset()
    number: int = 0


@dataclass(frozen=True)
class _Charts:
    sentences: tuple[str, ...]
    figures: tuple[_Figure, ...]


def html_report(
    sources: Sequence[Source],
    *,
    title: str = "",
    parts: Collection[str] = tuple(PARTS),
    seed: int = 0,
    known: Sequence[Findings] = (),
    up: str = "",
) -> str:
    """Everything that runs show, as one HTML document that needs no network to open.

    Several runs: a comparison first, then a part for each. ``parts``: keys of PARTS. plotly.js
    stands in the file once, each figure's data once. All names and texts are escaped, and the
    document allows no script but its own two and no connection. ``known``: the findings of the sources, where
    they are at hand; ``up``: a relative address of what the report is a part of, which it then links to.
    """
    given: Sequence[Findings | None] = known or [None] * len(sources)
    runs = [_Run(of, name, seed, one) for of, name, one in zip(sources, _titles(sources), given, strict=True)]
    outline = list(_outline(runs, parts))
    figures = _numbered(outline)
    simulated = [arm.judge for run in runs for arm in run.source.data.arms if arm.simulated]
    return render(
        [library(), drawing_script()] if figures else [],
        title=title or " · ".join(run.title for run in runs),
        runs=len(runs),
        up=up,
        facts_of_run=_facts(runs[0]),
        simulated=_listed(list(dict.fromkeys(simulated))),
        outline=outline,
        figures=figures,
    )


def _titles(sources: Sequence[Source]) -> list[str]:
    """A name for each run; runs that share theirs are told apart by their own names."""
    names = [of.data.name for of in sources]
    return [
        name if names.count(name) == 1 else f"{name} ({of.data.run})" for name, of in zip(names, sources, strict=True)
    ]


def _outline(runs: Sequence[_Run], wanted: Collection[str]) -> Iterator[_Part]:
    """All parts in their order; what is said once for all runs comes last."""
    if len(runs) == 1:
        parts = list(_of_run(runs[0], wanted))
    else:
        parts = [_comparison(runs, wanted)]
        parts += [_Part("run", run.title, _facts(run, marked=True), tuple(_of_run(run, wanted))) for run in runs]
    yield from parts
    terms = {key for part in _all(parts) for key in part.terms}
    for run in runs:
        terms |= method_terms(run.findings.axes)
    yield from _ending(runs, wanted, terms)


def _all(parts: Iterable[_Part]) -> Iterator[_Part]:
    """Every part, each before those within it."""
    for part in parts:
        yield part
        yield from _all(part.parts)


def _numbered(outline: Sequence[_Part]) -> list[_Figure]:
    """Give all parts and figures their numbers, from 1 in reading order; return the figures."""
    parts = list(_all(outline))
    figures = [f for part in parts if part.kind == "charts" for f in part.content.figures]
    for numbered in (parts, figures):
        for number, one in enumerate(numbered, 1):
            one.number = number
    return figures


# ---------------------------------------------------------------- one run


def _of_run(run: _Run, wanted: Collection[str]) -> Iterator[_Part]:
    """The parts of a report that are about one run, its answer first."""
    yield _Part("answers", tr("What was found"), run)
    if advice := run.findings.advice():
        yield _Part("advice", tr("What to do"), _by_judge(advice))
    tables = list(numbers.key_tables(run.body))
    yield _Part("numbers", tr("Key numbers"), [numbers.telling(t) for t in tables], terms=_terms(tables))
    if "charts" in wanted:
        yield from _chart_parts(sections(run.findings))
    if "shown" in wanted:
        yield _Part("shown", _called("shown"), {"source": run.source, "criteria": _criteria(run)})
    yield _Part("care", tr("Read with care"), _notes(run))


def _called(part: str) -> str:
    return tr(PARTS[part])


def _facts(run: _Run, *, marked: bool = False) -> list[str]:
    """Who judged what, and how much of it could be read, on one line.

    ``marked``: a simulated run says so here too.
    """
    data, arms = run.source.data, run.body["arms"]
    total = sum(arm["judgments"]["total"] for arm in arms)
    read = sum(arm["judgments"]["ok"] for arm in arms)
    gone = {
        one.judge: tr(
            "{judge} (dropped after {done:,} of {calls})",
            judge=one.judge,
            done=one.done,
            calls=many(one.planned, "call"),
        )
        for one in data.dropped
    }
    judges = list(dict.fromkeys(gone.get(arm.judge, arm.judge) for arm in data.arms))
    sets = list(dict.fromkeys(arm.dataset for arm in data.arms))
    facts = [
        tr("Judges: {names}", names=_listed(judges)) if len(judges) > 1 else tr("Judge: {name}", name=judges[0]),
        tr("Data: {names}", names=_listed(sets)),
        tr("{read:,} of {judgments} could be read", read=read, judgments=many(total, "judgment")),
        tr("simulated") if marked and data.simulated else "",
        tr("Run {run}", run=data.run),
    ]
    return [fact for fact in facts if fact]


def _listed(names: Sequence[str]) -> str:
    left = len(names) - 4
    return ", ".join(names[:4]) + (tr(" and {left} more", left=left) if left > 0 else "")


def _arms_listed(names: Sequence[str]) -> str:
    left = len(names) - 4
    return "; ".join(names[:4]) + (tr("; and {left} more", left=left) if left > 0 else "")


def _by_judge(advice: Sequence[Advice]) -> list[tuple[str, list[Advice]]]:
    groups: dict[str, list[Advice]] = {}
    for step in advice:
        groups.setdefault(step.about, []).append(step)
    return list(groups.items())


def _terms(shown: Iterable[numbers.KeyTable | Drawn]) -> frozenset[str]:
    return frozenset(key for one in shown for key in one.terms)


def _chart_parts(topics: Iterable[Section]) -> Iterator[_Part]:
    for topic in topics:
        if topic.drawn:
            charts = _Charts(topic.said, tuple(_figure(drawn) for drawn in topic.drawn))
            yield _Part("charts", topic.title, charts, terms=_terms(topic.drawn))


def _figure(drawn: Drawn) -> _Figure:
    chart = drawn.chart
    data = Markup(figure_data(chart.figure))  # JSON in which no sign ends the element around it
    return _Figure(drawn.caption, chart.alt, height(chart.figure), data)


def _criteria(run: _Run) -> list[tuple[Any, list[tuple[str, str]]]]:
    """The criteria of the rubric that was shown, each with its options as rows of a table."""
    shown = run.source.shown
    return [
        (one, [(str(o.score), o.description or tr("(the number alone)")) for o in one.options])
        for one in (shown.rubric.criteria if shown and shown.rubric else ())
    ]


def _notes(run: _Run) -> list[str]:
    notes = list(words.limits(run.findings, run.source))
    for text, arms in words.warnings(run.body).items():
        notes.append(f"{tr(text)} ({_arms_listed(arms)})" if arms else tr(text))
    return notes


# ---------------------------------------------------------------- several runs, and the end


def _comparison(runs: Sequence[_Run], wanted: Collection[str]) -> _Part:
    """What the runs say beside each other: a sentence a run, one table, shared scales, differences."""
    sentences = [
        f"{run.title}: {run.answers[0].sentences[0] if len(run.answers) == 1 else run.summary}" for run in runs
    ]
    tables = list(numbers.together([run.body for run in runs], [run.title for run in runs]))
    shared = together([run.findings for run in runs]) if "charts" in wanted else ()
    content = {"sentences": sentences, "tables": [numbers.telling(table) for table in tables]}
    parts = tuple(_chart_parts(shared))
    return _Part("comparison", tr("The comparison"), content, parts, _terms(tables))


def _ending(runs: Sequence[_Run], wanted: Collection[str], terms: Collection[str]) -> Iterator[_Part]:
    """What is said once for all runs: methods, references, provenance, all numbers."""
    if "methods" in wanted:
        yield _Part("methods", _called("methods"), by_topic(terms))
        yield _Part("references", tr("References"), references(terms))
    if "provenance" in wanted:
        yield _Part("provenance", _called("provenance"), runs)
    if "numbers" in wanted:
        yield _Part("text", _called("numbers"), [(run.title, as_text(run.body)) for run in runs])
