"""All findings of a run as one JSON document, and as one self-contained HTML file."""

from __future__ import annotations
