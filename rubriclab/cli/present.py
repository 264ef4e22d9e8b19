"""The command that writes a run or a trial as a presentation of three steps."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, add_language, command, existing_store, tell
from rubriclab.cli.report import write
from rubriclab.model.language import speaking


def add_present(parsers: Any) -> None:
    about = (
        "Write a run, or one text that was tried, as a presentation for a room of people: one HTML file that opens "
        "without a network, in three steps: the text, the orders moving, the sentence. Of a whole run it shows the "
        "text whose score the order moves most, and says so."
    )
    made = command(parsers, "present", present, about)
    add_language(made)
    made.add_argument("run", metavar="RUN", help="a run's name, the beginning of it, or its title; trials are runs too")
    made.add_argument("--judge", metavar="NAME", help="whose answers (default: the judge whose lie farthest apart)")
    made.add_argument("--out", type=_page, required=True, metavar="FILE.html", help="where it goes")


def _page(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() != ".html":
        raise argparse.ArgumentTypeError(f"{text} should end in .html")
    return path


def present(arguments: argparse.Namespace) -> int:
    from rubriclab.report.presentation import presentation, story

    with existing_store(arguments.store) as store, speaking(arguments.language):
        found = story(store, store.run(arguments.run).run, judge=arguments.judge)
        size = write(arguments.out, presentation(found).encode())
    if arguments.json:
        shown = found.showing
        tell(
            {
                "run": shown.run,
                "judge": shown.judge,
                "sentence": found.headline,
                "cards": [{"order": card.order, "answer": card.answer} for card in shown.cards],
                "file": str(arguments.out),
                "bytes": size,
            }
        )
    return EXIT_OK
