"""A run in; its findings as one JSON document, as text and as one HTML file out.

The file's maker, ``report.page``, is not imported here: it takes all figures, which
whoever wants a text or a term does not need.
"""

from typing import Any

from rubriclab.findings.topics import Findings, document
from rubriclab.model import RunData
from rubriclab.report.source import Source, source
from rubriclab.report.text import as_text

__all__ = ["Source", "as_text", "results", "source"]


def results(data: RunData, *, seed: int = 0) -> dict[str, Any]:
    """Every finding of a run as one document of plain JSON values."""
    return document(Findings(data, seed=seed))
