"""``python -m benchmarks choices|drift|helps|judgments|pages|peers|people|ranking|scale|verdicts ...``: speed as ratios; coverage of rows; false and found verdicts."""

from __future__ import annotations

import importlib
import sys

WHAT = ("choices", "drift", "helps", "judgments", "pages", "peers", "people", "ranking", "scale", "verdicts")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in WHAT:
        sys.exit(f"usage: python -m benchmarks {{{','.join(WHAT)}}} ... (--help after one of them says more)")
    importlib.import_module(f"benchmarks.{sys.argv.pop(1)}").main()
