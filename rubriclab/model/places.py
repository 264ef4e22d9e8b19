"""Where the lab's own files lie: in a clone at the top level, installed in a folder of the package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = PACKAGE / "lab"  # setup.py puts the files there, laid out as at the top level
INSTALLED = (_INSTALLED / "app.py").is_file()
HOME = _INSTALLED if INSTALLED else PACKAGE.parent
"""The folder that holds ``app.py``, ``pages``, ``data`` and ``.streamlit``."""

APP = HOME / "app.py"
SERVE = PACKAGE / "app" / "serve.py"
"""What runs it."""
DATA = HOME / "data"
EXAMPLE = DATA / "example_run.zip"
"""The recorded run that a new store begins with."""
TOUR = tuple(DATA / f"example_{kind}.zip" for kind in ("batches", "criteria", "lists", "pairs", "forms"))
"""Recorded runs of the kinds that it is not, so that every page has something real to show."""
CALIBRATION = HOME / "tests" / "calibration" / "results.json"
"""The recorded check of the methods."""
LOGO = PACKAGE / "app" / "logo.svg"
MARK = PACKAGE / "app" / "mark.svg"
