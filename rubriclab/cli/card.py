"""The command that writes a judge card: the way of asking that a run chose, to take along."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, above_nothing, command, existing_store, say


def add_card(parsers: Any) -> None:
    about = (
        "Write a judge card: how a run's judge is asked, its measured bias, and the cheapest way of asking that is "
        "not worse than the best by a margin. rubriclab.apply asks by it, in a pipeline of yours."
    )
    made = command(parsers, "card", card, about)
    made.add_argument("run", metavar="RUN", help="a run's name, the beginning of it, or its title")
    made.add_argument(
        "--arm", type=_code, metavar="N", help="any arm of the judge and setting (default: the run's only one)"
    )
    made.add_argument(
        "--margin",
        type=above_nothing(1e6, "0.25"),
        metavar="X",
        help="how much worse than the best way a cheaper one may be, in score points (of pairs a share of the "
        "verdicts); default a quarter of a step, or 0.05",
    )
    made.add_argument("--out", type=Path, required=True, metavar="FILE", help="the card, as judge.card.json")
    made.add_argument(
        "--code",
        type=Path,
        metavar="FOLDER",
        help="also copy rubriclab.apply, and what it needs, into this new folder (or one file that ends in .zip)",
    )


def _code(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no arm's number; “results RUN --json” lists them from 0")
    return int(text)


def card(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.outfiles import write_file
    from rubriclab.runs.card import card_text, judge_card

    with existing_store(arguments.store) as store:
        made = judge_card(store, arguments.run, arm=arguments.arm, margin=arguments.margin)
    write_file(arguments.out, card_text(made))
    if arguments.code is not None:
        _copy(arguments.code)
    if arguments.json:
        print(json.dumps(made, ensure_ascii=False))
    else:
        print("\n".join(lines(made)))
        say(f"{arguments.out}: judge = rubriclab.apply.load(…); judge.score(item). See docs/card.md.")
    return EXIT_OK


def lines(made: dict[str, Any]) -> list[str]:
    """What a card says of every way of asking, one a line."""
    choice = made["choice"]
    told = [f"{made['name']}: {choice['sentence']}", ""]
    told.append(f"{'':2}{'way of asking':<54}{'calls':>7}{'distance':>22}{'r':>7}{'money/1000':>12}")
    for cure in made["cures"]:
        mark = "*" if cure["key"] == made["cure"] else " "
        agreement = cure["agreement"]
        told.append(
            f"{mark} {cure['title']:<54}{cure['calls']:>7.4g}{_ends(cure['distance']):>22}"
            f"{'' if agreement is None else format(agreement['value'], '.2f'):>7}{_money(cure['money_per_1000']):>12}"
            + (f"  {cure['note']}" if cure["note"] else "")
        )
    told += ["", f"Distance: from {choice['target']}, in {choice['unit']}; margin {choice['margin']:g}."]
    return [*told, *made["notes"]]


def _ends(part: dict[str, Any]) -> str:
    value = f"{part['value']:.3f}"
    return value if part["low"] is None else f"{value} [{part['low']:.3f}, {part['high']:.3f}]"


def _money(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _copy(target: Path) -> None:
    """Raises LabError for a folder that is already there: a copy is replaced by hand, knowingly."""
    from rubriclab.datasets.outfiles import write_file
    from rubriclab.model import LabError
    from rubriclab.runs.card_code import copied, zipped

    if target.suffix == ".zip":
        write_file(target, zipped(target.stem))
    else:
        if target.exists():
            raise LabError(f"{target} is there already. Name a new folder, or remove that one first.")
        for inside, text in copied(target.name).items():
            path = target / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text)
    say(f"{target}: rubriclab.apply and what it needs, of the standard library alone (own prompts: Jinja2).")
