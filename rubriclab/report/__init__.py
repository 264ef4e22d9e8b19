"""All findings of a run as one JSON document, as text, and as one self-contained HTML file."""

from rubriclab.report.document import results
from rubriclab.report.page import PARTS, html_report
from rubriclab.report.source import Source, source
from rubriclab.report.text import as_text

__all__ = ["PARTS", "Source", "as_text", "html_report", "results", "source"]
