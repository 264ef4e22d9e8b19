"""Write the report: one HTML file with the answer, its picture, an example, and the method.

All numbers are in a fold. Pictures are plain SVG of our own, so that the file needs no script and
no network, has some 30 kB, and prints.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from rubriclab.core.cells import SEED
from rubriclab.core.estimate import DRAWS
from rubriclab.core.judgments import widest
from rubriclab.core.permutation import DEALS
from rubriclab.core.topic import Findings
from rubriclab.exports.table import spoken
from rubriclab.figures.cards import example_of
from rubriclab.figures.marks import LIGHT, Picture, ink, shade
from rubriclab.figures.pictures import example_cells, score_cells, share_bars, target_cells
from rubriclab.model.text import LabError, count, shorten
from rubriclab.words.answer import judged, several_tests
from rubriclab.words.company import company_answer
from rubriclab.words.looks import method_words
from rubriclab.words.pass_fail import has_pass_fail, pass_fail_answer
from rubriclab.words.phrases import level_text, number, say
from rubriclab.words.subject import Subject, calls_in, sentence_tables, subjects
from rubriclab.words.what_helps import has_help, helps_answer
from rubriclab.words.with_people import has_people, people_answer

HERE = Path(__file__).parent
INCLUDE = ("answer", "charts", "example", "method", "numbers")
"""The parts that a report may have."""
MOST_SIGNS = 2_000
"""Characters of the judged text that an example shows: more pushes the method off the page."""
ENVIRONMENT = jinja2.Environment(
    autoescape=True,
    loader=jinja2.FileSystemLoader([HERE, HERE.parent / "figures"]),
    trim_blocks=True,
)
ENVIRONMENT.globals |= {
    "colours": LIGHT,
    "shade": shade,
    "ink": ink,
    "number": number,
    "shorten": shorten,
    "class_of": {
        "Biased": "effect",
        "Yes": "effect",
        "Yes, size unclear": "effect",
        "Bias too small to matter": "equivalent",
        "Too small to matter": "equivalent",
        "No bias that matters": "equivalent",
        "No": "equivalent",
        "No bias seen yet": "unseen",
        "Not seen yet": "unseen",
        "Can't tell yet": "undecided",
    },
}


def report_html(
    findings: Findings,
    *,
    title: str | None = None,
    include: Collection[str] = INCLUDE,
    texts: bool = False,
    text_of: Callable[[int], str] | None = None,
    descriptions: Mapping[Any, str] | None = None,
) -> str:
    """Return the report as one page.

    ``include``: of INCLUDE. ``texts``: show the judged text and the raters' names too. ``text_of``:
    the text that a call judged, where it is known. ``descriptions``: what each score stands for.
    Raises LabError for a part that does not exist.
    """
    unknown = set(include) - set(INCLUDE)
    if unknown:
        raise LabError(
            f"A report has no part “{shorten(min(unknown))}”; expected some of "
            f"{', '.join(INCLUDE)}."
        )
    every = subjects(findings)
    raters = {str(rater) for given in findings.judgments.items["ratings"] for rater in given or {}}
    parts = [
        _part(findings, subject, descriptions or {}, text_of if texts else None)
        for subject in every
    ]
    for part in [part for part in parts if part["cards"]][1:]:
        part["cards"] = ()  # one example is enough
    return ENVIRONMENT.get_template("report.html.jinja").render(
        title=shorten(title or default_title(findings), 200),
        style=Markup((HERE / "report.css").read_text("utf-8")),
        parts=parts,
        include=set(include),
        method=method_lines(findings, every),
        numbers=spoken(findings),
        raters=", ".join(shorten(name, 40) for name in sorted(raters)) if texts else "",
        footer=footer(findings),
    )


def default_title(findings: Findings) -> str:
    """Return “Does JUDGE depend on the order of the rubric?”"""
    judges = {condition.judge for condition in findings.conditions}
    who = f"Does {shorten(min(judges), 80)}" if len(judges) == 1 else "Do the judges"
    return f"{who} depend on the order of the rubric?"


def footer(findings: Findings) -> str:
    """Say what the numbers rest on, in one line."""
    table = findings.judgments.table
    orders = len({order.shown for order in table.orderings})
    calls = calls_in(table.rows["call"].to_numpy())
    items = table.rows["item"].nunique()
    made = ""
    if "rubriclab" in table.made_with:
        made = f" · rubriclab {table.made_with['rubriclab']}"
    return (
        f"{table.name}: {count(calls, 'call')}, {count(items, 'item')}, "
        f"{count(orders, 'order')}{made}"
    )


def method_lines(findings: Findings, every: list[Subject]) -> list[str]:
    """Say the method in six lines, then what was left out or changed when the run was planned or
    read.
    """
    subject = every[0]
    sizes = _method_sizes(findings, subject)
    lines = ("design", "test", "intervals", "seeds", "no", "data")
    noted = findings.judgments.table.made_with.get("note")
    said = [say(f"method_{line}", sentence_tables(subject), **sizes) for line in lines]
    if subject.look is not None and (looked := method_words(subject.look)):
        said.append(looked)
    if several := several_tests(findings):
        said.append(several)
    if noted:
        said.append(str(noted))
    return said


def method_brief(findings: Findings, subject: Subject) -> str:
    """Say in one sentence how the answer was computed: tests, intervals, draws and their seeds."""
    return say("method_brief", sentence_tables(subject), **_method_sizes(findings, subject))


def _method_sizes(findings: Findings, subject: Subject) -> dict[str, str]:
    """Return the numbers that sentences about the method name."""
    small = findings.reading.smallest
    return {
        "mean": number(findings.smallest_mean(subject.condition)),
        "share": f"{100 * small.share:.3g}",
        "single": f"{100 * small.single:.3g}",
        "units": count(subject.units, subject.unit),
        "level": level_text(subject.level),
        "seed": str(SEED),
        "deals": f"{DEALS:,}",
        "draws": f"{DRAWS:,}",
    }


def drawings_of(findings: Findings, subject: Subject) -> list[tuple[str, Picture]]:
    """Return (title, picture) of one judge, as far as they can be drawn."""
    drawn: dict[str, Picture | None] = {
        "Criterion by position, points from the criterion's own mean": target_cells(
            findings, subject.condition
        ),
        "Example by position, points from the answer's own mean": example_cells(
            findings, subject.condition
        ),
        "How often each position was chosen": share_bars(findings, subject),
        "Score by position": score_cells(findings, subject.condition),
    }
    return [(title, picture) for title, picture in drawn.items() if picture and not subject.variant]


def svg_of(picture: Picture) -> str:
    """Return bars or cells as an SVG file of their own."""
    pictures: Any = ENVIRONMENT.get_template("pictures.svg.jinja").module
    svg = str((pictures.bars if picture.kind == "bars" else pictures.cells)(picture)).strip()
    return svg.replace(
        "<svg ",
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13" ',
        1,
    )


def _part(
    findings: Findings,
    subject: Subject,
    descriptions: Mapping[Any, str],
    text_of: Callable[[int], str] | None,
) -> dict[str, Any]:
    """Return what the template shows of one judge."""
    arm, drawings = findings.judgments.arms[subject.condition], drawings_of(findings, subject)
    answer = judged(findings, subject)
    beside = []
    if not subject.variant:
        beside += [
            company_answer(findings, found)
            for found in findings.company
            if widest(found.together).code == subject.condition
        ]
    if not subject.variant and has_people(findings, subject.condition):
        beside.append(people_answer(findings, subject))
        if has_pass_fail(findings, subject.condition):
            beside.append(pass_fail_answer(findings, subject))
    if has_help(findings, subject):
        beside.append(helps_answer(findings, subject))
    cards = example_of(arm, descriptions, findings.pass_rate(arm.code))
    text = text_of(cards[0].call)[:MOST_SIGNS] if text_of and cards else ""
    return {
        "answer": answer,
        "line": answer.line_parts,
        "beside": beside,
        "drawings": drawings,
        "cards": cards,
        "text": text,
    }
