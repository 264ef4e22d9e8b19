"""``python -m benchmarks judgments|method|pages|peers|scale ...``: speed as ratios; how often what the lab says is true."""

from __future__ import annotations

import importlib
import sys

WHAT = ("judgments", "method", "pages", "peers", "scale")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in WHAT:
        sys.exit(
            f"usage: python -m benchmarks {{{','.join(WHAT)}}} ... (--help after one of them says more)"
        )
    importlib.import_module(f"benchmarks.{sys.argv.pop(1)}").main()
