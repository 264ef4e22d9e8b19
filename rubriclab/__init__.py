"""rubriclab: does your judge read the rubric, or the order it is in? Files, studies and stores in,
rows and sentences out.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"
__all__ = ["Judge", "LabError", "open", "read", "run"]


def __getattr__(name: str) -> Any:
    """``open``, ``read``, ``run``, ``Judge`` and ``LabError``, imported when first asked for:
    ``import rubriclab`` costs nothing.
    """
    if name == "LabError":
        from rubriclab.model.text import LabError

        return LabError
    if name == "Judge":
        from rubriclab.apply.pipeline import Judge

        return Judge
    if name in ("open", "read", "run"):
        from rubriclab import api as notebook

        return {"open": notebook.Lab, "read": notebook.read, "run": notebook.run}[name]
    raise AttributeError(f"module rubriclab has no attribute {name!r}")
