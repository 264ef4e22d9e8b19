"""The command that sets the arms of several runs side by side."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from rubriclab.cli.common import EXIT_OK, command, existing_store, tell

MOST_PAIRS = 10
"""Differences that are worked out unless one is asked for; the page offers any two."""


def add_compare(parsers: Any) -> None:
    about = "Set the judges and strategies of runs side by side, and their differences."
    made = command(parsers, "compare", compare, about)
    made.add_argument("runs", nargs="+", metavar="RUN", help="a run's name, the beginning of it, or its title")
    made.add_argument(
        "--less",
        nargs=2,
        metavar=("A", "B"),
        help="only the difference A less B, each a run and an arm's number as RUN:3 "
        f"(default: every two arms that can be compared, at most {MOST_PAIRS})",
    )


def compare(arguments: argparse.Namespace) -> int:
    """Raises LabError for a run or an arm that is not there, or arms on different scales."""
    from rubriclab.findings.contrast import contrast, contrast_json
    from rubriclab.findings.summary import lines, lines_json
    from rubriclab.findings.topics import Findings

    with existing_store(arguments.store) as store:
        infos = {store.run(run).run: None for run in arguments.runs}
        data = {run: store.frame(run) for run in infos}
    compared = [line for run_data in data.values() for line in lines(Findings(run_data)).values()]
    pairs = [arguments.less] if arguments.less else _pairs(compared)
    asked = [_arm(data, name) for pair in pairs for name in pair]
    differences = [
        contrast(data[run_a], a, data[run_b], b) for (run_a, a), (run_b, b) in zip(asked[::2], asked[1::2], strict=True)
    ]
    if arguments.json:
        tell({"arms": lines_json(compared), "differences": [contrast_json(difference) for difference in differences]})
    else:
        tell(_as_text(compared, differences))
    return EXIT_OK


def _pairs(compared: Sequence[Any]) -> list[tuple[str, str]]:
    """The first comparable pairs, those that vary the order before those that do not."""
    from rubriclab.findings.matching import why_not
    from rubriclab.findings.summary import moves

    ranked = sorted(compared, key=lambda line: not moves(line))
    able = [(a, b) for a, b in combinations(ranked, 2) if not why_not(a.arm, b.arm)]
    able.sort(key=lambda pair: not (moves(pair[0]) and moves(pair[1])))
    return [(f"{a.run}:{a.code}", f"{b.run}:{b.code}") for a, b in able[:MOST_PAIRS]]


def _arm(data: dict[str, Any], name: str) -> tuple[str, int]:
    """``RUN:3`` as a run that was asked for and an arm of it."""
    from rubriclab.model import LabError

    run, _, code = name.rpartition(":")
    full = [one for one in data if run and one.startswith(run)]
    if len(full) != 1 or not code.isdigit() or int(code) >= len(data[full[0]].arms):
        raise LabError(f"“{name}” is no arm of the runs asked for: write RUN:NUMBER, as in {next(iter(data))}:0.")
    return full[0], int(code)


def _as_text(compared: Sequence[Any], differences: Sequence[Any]) -> str:
    from rubriclab.findings.contrast import contrast_sentence
    from rubriclab.findings.summary import lines_json, short_names
    from rubriclab.model.wording import interval, number

    parts = []
    for axis in dict.fromkeys(line.arm.axis for line in compared):
        some = [line for line in compared if line.arm.axis == axis]
        parts.append(_table(lines_json(some)))
    keys = [(line.run, line.code) for line in compared]
    names = {key: " · ".join(name) for key, name in zip(keys, short_names(compared), strict=True)}
    for difference in differences:
        a, b = names[difference.run_a, difference.code_a], names[difference.run_b, difference.code_b]
        how = "paired" if difference.paired else "independent"
        head = (
            f"{a} less {b} ({how}, {difference.n_a:,} and {difference.n_b:,}, {difference.units:,} {difference.unit}s)"
        )
        rows = [
            f"  {delta.measure:<28} {number(delta.a, '.3f', unknown='-')} "
            f"{number(delta.b, '.3f', unknown='-')} {number(delta.delta, '+.3f', unknown='-')}  "
            f"{interval(delta.ci_all, '+.3f')}{_verdict(delta)}"
            for delta in difference.deltas
        ]
        notes = [f"  note: {text}" for text in difference.warnings]
        parts.append("\n".join([head, f"  {contrast_sentence(difference, a, b)}", *rows, *notes]))
    return "\n\n".join(parts)


def _verdict(delta: Any) -> str:
    """One of three, beside a difference in score points."""
    if delta.effect is None:
        return ""
    why = f" ({delta.effect.why})" if delta.effect.why else ""
    return f"  {delta.effect.verdict}{why}, smallest effect of interest {delta.effect.sesoi:g}"


_NAMES = ("run", "arm", "judge", "dataset", "strategy", "variant", "simulated")
_HIDDEN = ("axis", "run_name")


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Columns of equal width; intervals as [low, high]."""
    heads = [*_NAMES, *(name for name in rows[0] if name not in (*_NAMES, *_HIDDEN))]
    body = [[_cell(row[name]) for name in heads] for row in rows]
    widths = [max(len(line[k]) for line in [heads, *body]) for k in range(len(heads))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in [heads, *body]
    )


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_cell(part) for part in value)}]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)
