"""Find app.py, its pages and ``data``, in a clone and in an installed wheel.

This module stands alone because every page needs it before anything heavy is loaded.
"""

from pathlib import Path


def lab_folder() -> Path:
    """Return the folder of app.py, the pages and ``data``.

    It is within the package if a wheel was installed, and otherwise next to it.
    """
    package = Path(__file__).resolve().parents[1]
    return package / "lab" if (package / "lab").is_dir() else package.parent
