"""The command about juries: several judges and orders at one budget."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from rubriclab.cli.common import EXIT_OK, above_nothing, add_interest, command, existing_store, harmless, reading, tell


def add_jury(parsers: Any) -> None:
    about = (
        "Several judges or several orders? Every mix of the judges and orders that a run holds, measured on items that "
        "did not choose it; the best mix for a budget, and the cheapest that is not worse by a margin."
    )
    made = command(parsers, "jury", jury, about)
    made.add_argument("run", metavar="RUN", help="a run of two judges or more, each in several orders")
    spend = made.add_mutually_exclusive_group()
    spend.add_argument(
        "--budget",
        type=above_nothing(1e9, "10"),
        metavar="N",
        help="calls an item (default: as many as the orders of one judge)",
    )
    spend.add_argument(
        "--money",
        type=above_nothing(1e9, "10"),
        metavar="X",
        help="instead: money for 1,000 items, where every judge has a price",
    )
    made.add_argument(
        "--margin",
        type=above_nothing(1e9, "10"),
        metavar="X",
        help="how much farther than the best a cheaper mix may be, in score points (default: a quarter of a step)",
    )
    made.add_argument("--all", action="store_true", help="print every mix, not those that the budget pays for alone")
    add_interest(made)


def jury(arguments: argparse.Namespace) -> int:
    from rubriclab.findings.jury_words import document
    from rubriclab.report.text_reliability import jury_lines
    from rubriclab.runs.jury import jury_of_run

    with existing_store(arguments.store) as store:
        budget = arguments.budget if arguments.money is None else arguments.money
        found, data = jury_of_run(
            store,
            arguments.run,
            budget=budget,
            money=arguments.money is not None,
            margin=arguments.margin,
            read_as=reading(arguments),
        )
    made = document(found, data).beside["juries"]
    if arguments.json:
        tell({"run": data.run, "name": data.name, "simulated": data.simulated, "juries": made})
    else:
        print(harmless("\n\n".join("\n".join(_lines(one, jury_lines(one), every=arguments.all)) for one in made)))
    return EXIT_OK


def _lines(one: dict[str, Any], head: Iterator[str], *, every: bool) -> Iterator[str]:
    """The sentences, then the mixes of each target, the cheapest first."""
    yield from head
    for target in one["targets"]:
        shown = [(k, mix) for k, mix in enumerate(target["mixes"]) if every or mix["affordable"]]
        if not shown:
            continue
        yield ""
        held = "people" if target["target"] == "people" else "all judges"
        yield f"  {f'held against {held}':<62}{'cost' if one['money'] else 'calls':>7}{'error':>8}{'r':>7}{'votes':>7}"
        for k, mix in sorted(shown, key=lambda pair: (pair[1]["cost"], pair[1]["error"])):
            mark = "*" if k == target["chosen"] else "+" if k == target["best"] else " "
            numbers = [_cell(mix["error"], ".3f", 8), _cell(mix["agreement"], ".2f", 7), _cell(mix["votes"], ".1f", 7)]
            yield f"{mark} {mix['name']:<62}{mix['cost']:>7.4g}{''.join(numbers)}"
    yield ""
    yield "  * to take, + the best for the budget; error in points, of what a line on the mix does not give of the target."


def _cell(value: float | None, form: str, width: int) -> str:
    return f"{'–' if value is None else format(value, form):>{width}}"
