"""``python -m benchmarks BENCH``: how fast a run is, how near the embedded judge comes to its own speed, how well a
run uses a cache, how soon each view of Results answers, how soon each page stands in a browser and the command line
answers, how many calls a verdict takes, and what the proxy costs beyond its calls."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from rubriclab.model import LabError

OF_THEIR_OWN = {
    "embedded": "Calls per second of the embedded judge, against what its own reading speed allows.",
    "views": "Seconds to each view of Results on generated judgments, beside plain pandas.",
    "calls": "Calls until it is settled what the order does: the papers' design, half-way, the lab.",
    "proxy": "Items per second through the proxy, beside the same calls sent by the pipeline itself.",
    "pages": "Seconds until each page stands in a browser, beside a bare Streamlit page.",
    "commands": "Seconds until the command line answers, beside importing pandas.",
}
"""Benches whose module reads its arguments itself, and what each prints."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark; 0 where its bars are met, 1 where not, 2 for wrong arguments."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0] in OF_THEIR_OWN:
        return int(import_module(f"benchmarks.{given[0]}").main(given[1:]))
    options = _parser().parse_args(given)
    try:
        return _prefix(options) if options.bench == "prefix" else _runner(options)
    except LabError as fault:
        print(f"benchmarks: {fault}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    benches = parser.add_subparsers(dest="bench", required=True, metavar="BENCH")
    about = "Calls per second and processor time of a whole run, beside other clients."
    runner = benches.add_parser("runner", help=about, description=about)
    runner.add_argument("--calls", type=int, default=10_000, help="of the long run; the short one has a fifth")
    runner.add_argument("--concurrency", type=int, default=64)
    runner.add_argument("--latency-ms", type=float, default=20.0, help="of the local server")
    runner.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    runner.add_argument(
        "--peers", action="store_true", help="also lm-eval, inspect-ai and deepeval, each in its own environment"
    )
    runner.add_argument(
        "--peer-folder",
        type=Path,
        default=Path.home() / ".cache" / "rubriclab-bench",
        help="where the peers' environments are kept",
    )
    runner.add_argument("--json", action="store_true")
    about = "Prefix-cache hit rate of the runner's order on an attached vLLM."
    prefix = benches.add_parser("prefix", help=about, description=about)
    prefix.add_argument("--url", required=True, help="base URL of the server, as http://host:port/v1")
    prefix.add_argument("--model", help="default: the first the server names")
    prefix.add_argument("--items", type=int, default=24)
    prefix.add_argument("--concurrency", type=int, default=2)
    prefix.add_argument("--block", type=int, default=32, help="tokens of a cache block")
    prefix.add_argument("--json", action="store_true")
    for name, about in OF_THEIR_OWN.items():
        benches.add_parser(name, help=about, description=about, add_help=False)
    return parser


def _runner(options: argparse.Namespace) -> int:
    from benchmarks.runner import compare, fixed_cost, table, verdicts

    found = compare(
        calls=options.calls,
        concurrency=options.concurrency,
        latency_ms=options.latency_ms,
        rounds=options.rounds,
        peers=options.peer_folder if options.peers else None,
    )
    bars = verdicts(found)
    if options.json:
        print(json.dumps({"clients": [{**asdict(m), "rate": m.rate} for m in found], "bars": bars}))
    else:
        print(table(found, ceiling=options.concurrency / options.latency_ms * 1000))
        print(fixed_cost(found))
        print("\n".join(f"{'met   ' if met else 'MISSED'}  {bar}" for bar, met in bars.items()))
    return 0 if all(bars.values()) else 1


def _prefix(options: argparse.Namespace) -> int:
    from benchmarks.prefix import measure, sentence

    found = measure(
        options.url, model=options.model, items=options.items, concurrency=options.concurrency, block=options.block
    )
    print(json.dumps({**asdict(found), "of_best": found.of_best}) if options.json else sentence(found))
    return 0 if found.of_best >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
