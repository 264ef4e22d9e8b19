"""The command that puts an endpoint in front of a judge's server: the same pipeline, asked in several orders."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rubriclab.cli.common import EXIT_OK, positive, say

if TYPE_CHECKING:
    from rubriclab.runs.proxy import Proxy, Settings

ORDERS = ("balanced", "all", "fixed")


def add_proxy(parsers: Any) -> None:
    about = (
        "An OpenAI-compatible endpoint on this machine: takes your own judge prompt, asks the upstream in several "
        "orders of its options or responses, and returns one answer in the same format. Runs until Ctrl-C."
    )
    made = parsers.add_parser("proxy", help=about, description=about)
    made.add_argument("--upstream", required=True, metavar="URL", help="the base URL of your judge until now")
    made.add_argument("--port", type=_port, default=8600, metavar="N", help="0 takes a free one (default: 8600)")
    made.add_argument(
        "--orders",
        type=_orders,
        default="balanced",
        metavar="balanced|all|K|fixed",
        help="each option at each place equally often (default; 2n calls, of a pair 2), all n! orders, K of the "
        "balanced ones, or the prompt's own alone",
    )
    made.add_argument(
        "--concurrency", type=positive, default=64, metavar="N", help="calls upstream at once (default: 64)"
    )
    _add_more(made)
    made.set_defaults(command=proxy)


def _add_more(made: argparse.ArgumentParser) -> None:
    made.add_argument("--timeout", type=_seconds, default=600.0, metavar="S", help="seconds a call (default: 600)")
    made.add_argument("--ca-file", metavar="FILE", help="a PEM file with the upstream's certificate or its authority's")
    made.add_argument(
        "--like",
        type=Path,
        metavar="LOG",
        help="a log of this pipeline's prompts, any that “import” reads: from it is known where responses end that "
        "a prompt alone leaves open (“## Answer B:”)",
    )
    made.add_argument(
        "--json-log",
        type=Path,
        metavar="FILE",
        help="add a line of JSON a request: what was done, without prompts, replies and keys",
    )
    made.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="listen there instead of on this machine alone: then whoever reaches it can use your upstream",
    )
    made.add_argument(
        "--json", action="store_true", help="print the address as a JSON document, and the status at the end"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 0 to 65535")
    return int(text)


def _orders(text: str) -> int | str:
    from rubriclab.study.proxied_request import MOST_ORDERS

    if text in ORDERS:
        return text
    if text.isdecimal() and 1 <= int(text) <= MOST_ORDERS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not one of {', '.join(ORDERS)} or a number from 1 to {MOST_ORDERS}")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return value


def proxy(arguments: argparse.Namespace) -> int:
    from rubriclab.judges.serving import LOOPBACK_HOSTS
    from rubriclab.runs.proxy import run

    if arguments.host not in LOOPBACK_HOSTS:
        say(
            f"Warning: this proxy listens on {arguments.host}. Whoever reaches it can use your upstream through it. "
            "It answers to that name, and to names in RUBRICLAB_HOSTS."
        )

    def ready(address: str, made: Proxy) -> None:
        if arguments.json:
            told = {"base_url": address, "upstream": made.behind.url, "orders": arguments.orders}
            print(json.dumps(told), flush=True)
        say(f"In front of {made.behind.url}. Give your pipeline the base URL {address} (Ctrl-C stops).")

    log = None if arguments.json_log is None else _log(arguments.json_log)
    try:
        status = run(_settings(arguments, log), ready)
    finally:
        if log is not None:
            log.close()
    del status["rubriclab_proxy"]
    if arguments.json:
        print(json.dumps(status), flush=True)
    passed, plain = sum(status["passed"].values()), sum(status["plain"].values())
    say(
        f"Stopped. {status['cured']} requests put together from several orders, {plain} answered plainly, {passed} "
        f"passed on untouched; {status['calls_upstream']} calls upstream."
    )
    return EXIT_OK


def _settings(arguments: argparse.Namespace, log: IO[str] | None) -> Settings:
    from rubriclab.datasets.logs import Source
    from rubriclab.runs.proxy import Settings
    from rubriclab.study.proxied_request import learnt_from

    names = ("upstream", "orders", "host", "port", "concurrency", "timeout", "ca_file")
    learnt = None if arguments.like is None else learnt_from(Source(arguments.like))
    return Settings(**{name: getattr(arguments, name) for name in names}, log=log, learnt=learnt)


def _log(path: Path) -> IO[str]:
    """The log, open to be added to; the user alone may read a new one. Raises LabError where it cannot be written."""
    from rubriclab.model import LabError

    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8")
    except OSError as error:
        raise LabError(f"The log {path} cannot be written: {error.strerror}.") from error
