"""Runs as a folder of pages that any web server shows, or the file system: an index, and for each run its report,
presentation, judgments, tables and charts. No page asks another host, and none runs a script but its own."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from rubriclab import __version__
from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.datasets.outfolder import Manifest, Sink
from rubriclab.figures.printed import Format
from rubriclab.figures.rows import figure_rows
from rubriclab.findings.topics import document
from rubriclab.model import LabError
from rubriclab.model.language import SOURCE, language, msg, speaking, tr
from rubriclab.model.wording import many
from rubriclab.report import words
from rubriclab.report.page import html_report
from rubriclab.report.paper import Paper
from rubriclab.report.presentation import presentation, story
from rubriclab.report.share_judgments import MOST_PAGES, ROWS, Page, judgments, write_csv, write_pages, write_parquet
from rubriclab.report.source import source
from rubriclab.report.template import file, render_page
from rubriclab.report.withheld import Scrub, cleared, scrub_of, wordless
from rubriclab.store import RunInfo, Store
from rubriclab.store.behind import answers_of

MANIFEST = "rubriclab-share.json"
"""The list of a shared folder's files: by it the lab knows a folder that it may replace."""
LEFT_OUT = msg("Texts, replies and names of raters")
TABLE_ROWS = 20_000
"""Judgments in a group of rows of a table."""


@dataclass(frozen=True)
class Sharing:
    """What is shared of runs. ``texts``: also what was judged and replied, and the names of raters; ``figures``:
    formats that charts are drawn in besides their numbers, which takes a Chromium."""

    title: str = ""
    texts: bool = False
    figures: tuple[Format, ...] = ()
    size: str = "column"


@dataclass(frozen=True)
class Link:
    """A file of a run: where it lies in its folder, what it is, and a few words about it."""

    path: str
    name: str
    about: str = ""


@dataclass
class _Shared:
    """One run as the index and its own page show it."""

    folder: str
    name: str
    simulated: bool
    headline: str
    facts: list[str]
    texts: bool
    main: list[Link] = field(default_factory=list)
    data: list[Link] = field(default_factory=list)
    charts: list[Link] = field(default_factory=list)
    tables: list[Link] = field(default_factory=list)
    pages: list[tuple[Link, str]] = field(default_factory=list)
    more: int = 0


def share(store: Store, runs: Sequence[str], sink: Sink, sharing: Sharing = Sharing()) -> dict[str, tuple[int, str]]:
    """Write runs of a store to ``sink``, a file at a time; each file's size and hash by its path.

    The same runs give the same bytes. Raises StoreError for a run that there is not, LabError for one that is
    being judged or has no judgment.
    """
    infos = [store.run(run) for run in dict.fromkeys(store.run(name).run for name in runs)]
    for info in infos:
        if info.state == "running":
            raise LabError(
                tr("Run “{run}” is being judged right now. Pause it or wait for its end, then share it.", run=info.name)
            )
        if not info.done:
            raise LabError(tr("Run “{run}” has no judgment yet. Start it, then share it.", run=info.name))
    out = Manifest(sink, MANIFEST)
    shared = [_run(store, info, out, sharing) for info in infos]
    title = sharing.title or (shared[0].name if len(shared) == 1 else many(len(shared), "run"))
    out.put("index.html", _page("share_index.html.jinja", title=title, runs=shared, left_out=tr(LEFT_OUT)))
    out.close(made_by=f"rubriclab {__version__}", texts=sharing.texts, runs=[info.run for info in infos])
    return out.files


def _page(template: str, **values: Any) -> str:
    return render_page(template, [], style=Markup(file("report.css") + file("share.css")), **values)


def _run(store: Store, info: RunInfo, out: Manifest, sharing: Sharing) -> _Shared:
    """All files of one run; what they were worked out of is let go with the return."""
    known = source(store, info.run)
    scrub = scrub_of(known)
    paper = Paper(cleared(known, texts=sharing.texts))
    made = _shared(info, paper, scrub, sharing)
    report = html_report([paper.source], known=[paper.findings], up="index.html")
    out.put(f"{made.folder}/report.html", scrub.page(report))
    made.main.append(Link("report.html", tr("Report"), tr("the answer, the numbers, the charts, the methods")))
    _presented(store, info, paper, out, made, scrub)
    _charts(paper, out, made, sharing)
    _tables(paper, out, made, scrub)
    _judged(store, info, paper, out, made, scrub)
    if sharing.texts:
        _texts(store, info, out, made)
    body = _page("share_run.html.jinja", title=made.name, run=made, left_out=tr(LEFT_OUT))
    out.put(f"{made.folder}/index.html", scrub.page(body))
    return made


def _shared(info: RunInfo, paper: Paper, scrub: Scrub, sharing: Sharing) -> _Shared:
    data = paper.source.data
    said = words.answers(paper.findings)
    headline = said[0].sentences[0] if len(said) == 1 and said[0].sentences else words.summary(paper.findings)
    judges = list(dict.fromkeys(scrub.text(arm.judge) for arm in data.arms))
    facts = [
        _judges(judges),
        tr("Data: {dataset}", dataset=paper.source.dataset),
        tr(
            "{judgments} of {items}",
            judgments=many(len(data.judgments), "judgment"),
            items=many(data.judgments["item"].nunique(), "item"),
        ),
        tr("Run {run}", run=info.run),
    ]
    if info.done < info.planned:
        planned = many(info.planned, "call")
        facts.append(tr("Not finished: {done:,} of {calls} {calls:has|have} an answer", done=info.done, calls=planned))
    return _Shared(
        folder=info.run if re.fullmatch(r"[a-z0-9][A-Za-z0-9._-]*", info.run) else f"run-{info.run_no}",
        name=data.name,
        simulated=info.simulated,
        headline=scrub.text(headline),
        facts=facts,
        texts=sharing.texts,
    )


def _judges(names: Sequence[str]) -> str:
    """Who judged, the first four by name."""
    if len(names) == 1:
        return tr("Judge: {name}", name=names[0])
    first = ", ".join(names[:4])
    if len(names) > 4:
        return tr("Judges: {names} and {left} more", names=first, left=len(names) - 4)
    return tr("Judges: {names}", names=first)


def _presented(store: Store, info: RunInfo, paper: Paper, out: Manifest, made: _Shared, scrub: Scrub) -> None:
    """The presentation, where the run has a text to show under several orders."""
    try:
        told = story(store, info.run, paper.findings)
    except LabError:
        return
    page = presentation(told if made.texts else wordless(told), up="index.html")
    out.put(f"{made.folder}/presentation.html", scrub.page(page))
    made.main.append(Link("presentation.html", tr("Presentation"), tr("three steps for a room of people")))


# ---------------------------------------------------------------- charts and tables


def _charts(paper: Paper, out: Manifest, made: _Shared, sharing: Sharing) -> None:
    for stem, drawn in zip(paper.stems(), paper.charts, strict=True):
        path = f"charts/{stem}.csv"
        out.put(f"{made.folder}/{path}", csv_bytes(figure_rows(drawn.chart.figure)))
        made.charts.append(Link(path, drawn.caption, tr("its numbers (CSV)")))
    if sharing.figures and paper.charts:
        captions = dict(zip(paper.stems(), (drawn.caption for drawn in paper.charts), strict=True))
        for path, body in paper.figures(sharing.figures, sharing.size):
            stem, form = Path(path).stem, Path(path).suffix[1:]
            out.put(f"{made.folder}/charts/{stem}.{form}", body)
            made.charts.append(Link(f"charts/{stem}.{form}", captions[stem], form.upper()))
        made.charts.sort(key=lambda link: link.path)


def _tables(paper: Paper, out: Manifest, made: _Shared, scrub: Scrub) -> None:
    """Every estimate, every finding, and the tables of results as text."""
    bodies = _bodies(paper)
    names = {
        "tables/estimates.csv": (tr("Every estimate"), tr("one a row (CSV)")),
        "tables/results.json": (tr("All findings"), tr("as the command results --json prints them")),
        "tables/results.md": (tr("Tables of results"), "Markdown"),
        "tables/results.tex": (tr("Tables of results"), "LaTeX"),
    }
    for path, (name, about) in names.items():
        out.put(f"{made.folder}/{path}", scrub.text(bodies[path]))
        made.tables.append(Link(path, name, about))


def _bodies(paper: Paper) -> dict[str, str]:
    """What programs and papers read: in English, whatever language the pages are in."""
    told = paper if language() == SOURCE else Paper(paper.source)
    with speaking(SOURCE):
        return {
            "tables/estimates.csv": csv_bytes(told.findings.estimates()).decode(),
            "tables/results.json": json.dumps(document(told.findings), ensure_ascii=False, indent=1),
            "tables/results.md": told.tables_markdown(),
            "tables/results.tex": told.tables_latex(),
        }


# ---------------------------------------------------------------- judgments


def _judged(store: Store, info: RunInfo, paper: Paper, out: Manifest, made: _Shared, scrub: Scrub) -> None:
    def tables(rows: int) -> Any:
        return judgments(store, info.run, paper.source.data.arms, scrub, texts=made.texts, rows=rows)

    total = write_csv(out, f"{made.folder}/data/judgments.csv", tables(TABLE_ROWS))
    write_parquet(out, f"{made.folder}/data/judgments.parquet", tables(TABLE_ROWS), texts=made.texts)
    pages = write_pages(out, made.folder, made.name, tables(ROWS), total, simulated=made.simulated)
    made.data.append(Link("data/judgments.csv", tr("Judgments (CSV)"), tr("all {total:,}, one a row", total=total)))
    made.data.append(Link("data/judgments.parquet", tr("Judgments (Parquet)"), tr("the same, with its types")))
    made.main.insert(
        1, Link("judgments/1.html", tr("Judgments"), tr("{total:,}, {rows} a page", total=total, rows=ROWS))
    )
    made.pages = [
        (Link(page.path, tr("Page {number}", number=number)), _items(page)) for number, page in enumerate(pages, 1)
    ]
    made.more = max(0, total - MOST_PAGES * ROWS)
    ratings = nameless_ratings(store, info.run, texts=made.texts)
    if len(ratings):
        out.put(f"{made.folder}/data/ratings.csv", csv_bytes(ratings))
        made.data.append(Link("data/ratings.csv", tr("Ratings of people"), tr("one a row (CSV)")))


def _items(page: Page) -> str:
    """Which items are on a page of judgments."""
    return page.first if page.first == page.last else tr("{first} to {last}", first=page.first, last=page.last)


def nameless_ratings(store: Store, run: str, *, texts: bool) -> pd.DataFrame:
    """Who rated what, one row a rating; without ``texts`` raters are numbered as the report numbers them."""
    table = store.ratings(run)
    if texts:
        return table
    numbers: dict[str, str] = {}
    who = [
        numbers.setdefault(name, f"person {len(numbers) + 1}") if isinstance(name, str) else None
        for name in table["rater"]
    ]
    return table.assign(rater=pd.Series(who, dtype=object, index=table.index))


def _texts(store: Store, info: RunInfo, out: Manifest, made: _Shared) -> None:
    items = store.item_table(info.run)
    rows = [
        (row["item_id"], row["criterion"], name or row["candidate"], row["instruction"], text)
        for row in items.to_dict("records")
        for name, text in (
            answers_of(row["more"] if isinstance(row["more"], str) else None) or (("", row["response"]),)
        )
    ]
    table = pd.DataFrame(rows, columns=["item_id", "criterion", "candidate", "instruction", "response"])
    out.put(f"{made.folder}/data/texts.csv", csv_bytes(table))
    made.data.append(Link("data/texts.csv", tr("Texts that were judged"), tr("one an item (CSV)")))
