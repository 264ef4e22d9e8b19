"""What a run gives to a paper or a talk: methods, tables, references, figures and data, as files."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.figures.printed import Format, Wanted, printed
from rubriclab.findings.topics import Findings, document
from rubriclab.report.charts import Drawn, sections
from rubriclab.report.paper_data import data_files
from rubriclab.report.paper_methods import Methods, Paragraph
from rubriclab.report.paper_tables import Table, table_latex, table_markdown, tables
from rubriclab.report.paper_text import cited, name, to_latex, to_markdown
from rubriclab.report.references import bibtex
from rubriclab.report.source import Source, source
from rubriclab.store import Store
from rubriclab.study.plan import plan

DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=2.2cm]{geometry}
\usepackage{array,booktabs,graphicx}
\begin{document}
\section*{Methods}
\input{methods}
\section*{Results}
\input{tables}
%(figures)s\bibliographystyle{plain}
\bibliography{references}
\end{document}
"""
README = """\
For a paper or a talk: run {run}

methods.md, methods.tex    how it was done, as paragraphs; works are cited by their keys
tables.md, tables.tex      results; the LaTeX needs the packages booktabs and array
references.bib             the works that the methods cite
paper.tex                  a document of all of these: pdflatex, bibtex, pdflatex twice
estimates.csv              every estimate of the run, one a row
data/                      one row a judgment, and forms for R (data/README.txt)
{figures}"""


@dataclass(frozen=True)
class Paper:
    """One run; what is worked out of it is worked out once."""

    source: Source
    waiting: pd.DataFrame = field(default_factory=pd.DataFrame)
    seed: int = 0

    @cached_property
    def findings(self) -> Findings:
        return Findings(self.source.data, seed=self.seed)

    @cached_property
    def methods(self) -> tuple[Paragraph, ...]:
        return Methods(self.findings, self.source).paragraphs()

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        return tuple(tables(self.findings, document(self.findings)))

    @cached_property
    def charts(self) -> tuple[Drawn, ...]:
        return tuple(drawn for section in sections(self.findings) for drawn in section.drawn)

    @property
    def keys(self) -> list[str]:
        """Of the works that the methods cite."""
        return list(dict.fromkeys(key for part in self.methods for key in cited(part.text)))

    def methods_markdown(self) -> str:
        return "".join(f"**{part.heading}.** {to_markdown(part.text)}\n\n" for part in self.methods)

    def methods_latex(self) -> str:
        return "".join(f"\\paragraph{{{part.heading}.}} {to_latex(part.text)}\n\n" for part in self.methods)

    def tables_markdown(self) -> str:
        return "\n".join(map(table_markdown, self.tables))

    def tables_latex(self) -> str:
        return "\n".join(table_latex(table, table.key) for table in self.tables)

    def bibtex(self) -> str:
        return bibtex(self.keys)

    def files(self, formats: Sequence[Format] = (), size: str = "column") -> Iterator[tuple[str, bytes]]:
        """Every file by its name in the folder. Raises NoPrinter where there are ``formats`` and no browser."""
        figures = list(self.figures(formats, size)) if formats and self.charts else []
        included = "\\input{figures}\n" if "pdf" in formats and figures else ""
        about = f"figures/                   charts in the size of a {size}, captions in figures/captions.md\n"
        texts = {
            "README.txt": README.format(run=self.source.data.run, figures=about if figures else ""),
            "methods.md": self.methods_markdown(),
            "methods.tex": self.methods_latex(),
            "tables.md": self.tables_markdown(),
            "tables.tex": self.tables_latex(),
            "references.bib": self.bibtex(),
            "paper.tex": DOCUMENT % {"figures": included},
        }
        yield from ((path, text.encode()) for path, text in texts.items())
        yield "estimates.csv", csv_bytes(self.findings.estimates())
        yield from ((f"data/{path}", body) for path, body in data_files(self.source.data, self.waiting))
        yield from figures
        if figures:
            yield "figures/captions.md", self._captions().encode()
        if included:
            yield "figures.tex", self._figures_latex().encode()

    # ------------------------------------------------------------ figures

    def figures(self, formats: Sequence[Format], size: str) -> Iterator[tuple[str, bytes]]:
        wanted = [Wanted(drawn.chart.figure, drawn.caption) for drawn in self.charts]
        for stem, made in zip(self.stems(), printed(wanted, size, formats), strict=True):
            yield from ((f"figures/{stem}.{form}", body) for form, body in made.items())

    def stems(self) -> list[str]:
        """A name for each chart's files: its number, and its caption in plain letters."""
        captions = (unicodedata.normalize("NFKD", drawn.caption.lower()) for drawn in self.charts)
        letters = ("".join(sign for sign in caption if not unicodedata.combining(sign)) for caption in captions)
        words = (re.sub(r"[^a-z0-9]+", "-", caption).strip("-")[:40].strip("-") for caption in letters)
        return [f"{number:02d}-{word}".rstrip("-") for number, word in enumerate(words, 1)]

    def _captions(self) -> str:
        lines = (
            f"**{stem}** {to_markdown(_caption(drawn))}\n"
            for stem, drawn in zip(self.stems(), self.charts, strict=True)
        )
        return "\n".join(lines)

    def _figures_latex(self) -> str:
        return "\n".join(
            f"\\begin{{figure}}[tp]\n\\centering\n\\includegraphics[width=\\linewidth,height=0.8\\textheight,keepaspectratio]"
            f"{{figures/{stem}.pdf}}\n\\caption{{{to_latex(_caption(drawn))}}}\n\\end{{figure}}\n"
            + ("\\clearpage\n" if number % 12 == 0 else "")
            for number, (stem, drawn) in enumerate(zip(self.stems(), self.charts, strict=True), 1)
        )


def _caption(drawn: Drawn) -> str:
    return f"{name(drawn.caption)}. {name(drawn.chart.alt)}"


def paper(store: Store, run: str, **read_as: Any) -> Paper:
    """All that a paper says of a run of the store. ``read_as``: as of ``source``. Raises StoreError for no such run."""
    of = source(store, run, **read_as)
    return Paper(of, _waiting(store, of) if of.data.unanswered else pd.DataFrame())


def _waiting(store: Store, of: Source) -> pd.DataFrame:
    """The calls of an unfinished run that have no answer yet, one row an item (see ``ratings_long``)."""
    if of.study is None:
        return pd.DataFrame()
    done = store.done_keys(of.data.run)
    rows = [
        (call.arm, item, str(call.ordering), " ".join(call.ordering.labels), call.read, call.repeat)
        for call in plan(of.study).calls()
        if call.key not in done
        for item in call.items
    ]
    return pd.DataFrame(rows, columns=["arm", "item", "order", "labels", "read", "repeat"])


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The files as one zip, the same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, body in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, body)
    return buffer.getvalue()


def of_runs(papers: Sequence[Paper], formats: Sequence[Format] = (), size: str = "column") -> dict[str, bytes]:
    """The files of a run; of several, in a folder for each."""
    several = len(papers) > 1
    return {
        (f"{one.source.data.run}/{path}" if several else path): body
        for one in papers
        for path, body in one.files(formats, size)
    }
