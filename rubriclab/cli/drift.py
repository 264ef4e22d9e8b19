"""The command that asks frozen items again and says what of a change of scores is the judge's own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import (
    EXIT_CANNOT_TELL,
    EXIT_FAILS,
    EXIT_OK,
    EXIT_UNFINISHED,
    add_interest,
    add_trust,
    command,
    consent,
    existing_store,
    harmless,
    positive,
    reading,
    say,
    say_end,
    tell,
)
from rubriclab.model import LabError
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.findings.drift import Drift
    from rubriclab.model import RunData
    from rubriclab.store import Store

EXITS = {"equivalent": EXIT_OK, "effect": EXIT_FAILS, "undecided": EXIT_CANNOT_TELL}

EPILOG = """exit codes:
  0  the judge's level is the same as then, and nothing else about it was shown to have changed
  4  the judge was shown to have changed
  5  cannot tell: undecided
  3  the round stopped before its end; the same command goes on
  1  something you can mend; the message on standard error says what
  2  wrong arguments

See docs/drift.md for what is computed, and how often it errs."""


def add_drift(parsers: Any) -> None:
    about = (
        "Ask frozen items of a run again, as its judge card asks, and say how much of a change of scores is the judge's own, "
        "how much the order's, how much noise; or compare two runs that are there (--now)."
    )
    made = command(parsers, "drift", drift, about)
    made.epilog = EPILOG
    made.add_argument("card", nargs="?", metavar="CARD", help="the judge card of that run; not needed with --now")
    made.add_argument("--against", required=True, metavar="RUN", help="the earlier run")
    made.add_argument("--now", metavar="RUN", help="a later run about the same items: no call is asked")
    made.add_argument(
        "--new", metavar="RUN", help="a run of today's judge on newer data: the change is split into judge and data"
    )
    made.add_argument(
        "--anchors", type=positive, metavar="N", help="items to ask again (default: as many as are needed, 30 to 200)"
    )
    made.add_argument(
        "--name", metavar="NAME", help="of this round (default: today's date); one name is one run, asked once"
    )
    made.add_argument("--base-url", metavar="URL", help="ask at this address")
    made.add_argument("--model", metavar="NAME", help="ask this model")
    made.add_argument(
        "--max-calls", type=positive, metavar="N", help="at most so many calls: fewer items, and then a stop"
    )
    made.add_argument(
        "--retry-failed", action="store_true", help="ask again, and only, the calls that ended in an error"
    )
    made.add_argument("--arm", type=int, metavar="N", help="with --now: an arm of the judge then, by its number")
    made.add_argument("--arm-now", type=int, metavar="N", help="with --now: an arm of the judge now")
    made.add_argument("--out", type=Path, metavar="FILE.md", help="also write the findings as Markdown")
    add_interest(made)
    add_trust(made)


def drift(arguments: argparse.Namespace) -> int:
    """Raises LabError for a card that does not belong to the run, and runs that cannot be set beside each other."""
    from rubriclab.datasets.outfiles import write_file
    from rubriclab.findings.drift import drift as compared
    from rubriclab.findings.drift import drift_json
    from rubriclab.findings.drift_words import markdown, sentences

    if (arguments.card is None) == (arguments.now is None):
        raise LabError("Name the judge card to ask by, or with --now a later run that is there; one of the two.")
    with existing_store(arguments.store) as store:
        against = store.run(arguments.against).run
        then = store.frame(against, probabilities=True).read_as(*reading(arguments))
        more: dict[str, Any]
        if arguments.now is not None:
            now_run, more, arm, finished = store.run(arguments.now).run, {}, arguments.arm, True
        else:
            now_run, more, arm, finished = _asked(store, arguments, then)
        new = None if arguments.new is None else store.frame(arguments.new, probabilities=True)
        now = store.frame(now_run, probabilities=True)
        if not len(now.judgments):
            say("Nothing was answered, so nothing can be said.")
            return EXIT_UNFINISHED
        found = compared(then, now, new=new, arm=arm, arm_now=arguments.arm_now)
        notes = _models(store, found)
    if arguments.json:
        tell({**drift_json(found), **more, "notes": notes})
    else:
        tell(harmless("\n".join([*sentences(found), *notes])))
    if arguments.out is not None:
        write_file(arguments.out, (markdown(found) + "".join(f"\n{note}\n" for note in notes)).encode())
    return _exit(found, finished)


def _exit(found: Drift, finished: bool) -> int:
    return EXITS[found.verdict] if finished else EXIT_UNFINISHED


def _models(store: Store, found: Drift) -> list[str]:
    """What the servers call the models that answered, where that is not the same."""
    names = [store.models(run).get(arm.judge, ()) for run, _, arm in (found.then, found.now)]
    if not all(names) or names[0] == names[1]:
        return []
    return [f"The server called the model {', '.join(names[0])} then, and {', '.join(names[1])} now."]


def _asked(store: Store, arguments: argparse.Namespace, then: RunData) -> tuple[str, dict[str, Any], int, bool]:
    """(the round's run, what is to be said of it, the arm it belongs to, has it come to its end)."""
    from rubriclab.findings.plain import plain
    from rubriclab.runs.drift import drift_round
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.terminal import Signals, show_progress, watch
    from rubriclab.runs.terms import Limits

    asked = drift_round(
        store,
        arguments.card,
        then.run,
        then=then,
        anchors=arguments.anchors,
        max_calls=arguments.max_calls,
        base_url=arguments.base_url,
        model=arguments.model,
        name=arguments.name,
    )
    say(harmless(f"{asked.anchors.sentence} {many(asked.calls, 'call')}."))
    consent(store, asked.study.judges, trust=arguments.trust)
    with Signals() as signals:
        run = RunManager(store).start(
            asked.study,
            limits=Limits(max_calls=arguments.max_calls),
            only_failed=arguments.retry_failed,
            about=asked.provenance,
        )
        last = watch(run, signals, show_progress if sys.stderr.isatty() else None)
    say_end(last)
    more = {"run": last.run, "state": last.state, "asked": last.asked, "anchors": plain(asked.anchors)}
    return last.run, more, asked.arm, last.state == "finished"
