"""Measure how much the order of a rubric changes an LLM judge's scores.

``import rubriclab as rl`` offers ``rl.read`` (a file or a frame), ``rl.open`` (a store of runs),
``rl.run`` (a study) and ``rl.Judge`` (a judge card in your pipeline).
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"
__all__ = ["Judge", "LabError", "open", "read", "run"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import rubriclab`` costs nothing."""
    if name == "LabError":
        from rubriclab.model.text import LabError

        return LabError
    if name == "Judge":
        from rubriclab.apply.pipeline import Judge

        return Judge
    if name in ("open", "read", "run"):
        from rubriclab import api

        return {"open": api.Lab, "read": api.read, "run": api.run}[name]
    raise AttributeError(f"module rubriclab has no attribute {name!r}")
