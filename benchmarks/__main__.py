"""Run one of the benchmarks: ``python -m benchmarks WHAT ...``.

They measure speed as ratios, how often the lab is right, and how the code is written.
"""

from __future__ import annotations

import importlib
import sys

WHAT = (
    "first",
    "frozen",
    "house",
    "judgments",
    "method",
    "pages",
    "peers",
    "replies",
    "runs",
    "scale",
)

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in WHAT:
        sys.exit(
            f"usage: python -m benchmarks {{{','.join(WHAT)}}} ...\n"
            f"Add --help after one of them for its options."
        )
    importlib.import_module(f"benchmarks.{sys.argv.pop(1)}").main()
