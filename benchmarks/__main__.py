"""``python -m benchmarks WHAT ...``: speed as ratios, how often the lab is right, and the house."""

from __future__ import annotations

import importlib
import sys

WHAT = ("frozen", "judgments", "method", "pages", "peers", "replies", "scale")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in WHAT:
        sys.exit(
            f"usage: python -m benchmarks {{{','.join(WHAT)}}} ... (--help after one of them says "
            f"more)"
        )
    importlib.import_module(f"benchmarks.{sys.argv.pop(1)}").main()
